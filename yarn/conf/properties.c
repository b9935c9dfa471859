/* SPDX-License-Identifier: Apache-2.0 */

/* See properties.h. This file is only a table. */

#include "yarn/conf/properties.h"

#include "util/macros.h"

#define FIELD(field) .offset = offsetof(struct nm_yarn_settings, field)
#define RANGE(low, high) .min = (low), .max = (high)
#define HOUR_MSEC (3600 * INT64_C(1000))
#define OVER_ALLOCATION "yarn.nodemanager.overallocation."
#define HEALTH "yarn.nodemanager.health-checker."
#define DISKS "yarn.nodemanager.disk-health-checker."
#define EXECUTOR "org.apache.hadoop.yarn.server.nodemanager."

const struct nm_yarn_key nm_yarn_keys[] = {
    {"yarn.resourcemanager.hostname", NM_YARN_HOST, FIELD(tracker.host), "0.0.0.0",
     .meaning = "The ResourceManager's host, for its addresses that aren't set."},
    {"yarn.resourcemanager.resource-tracker.address", NM_YARN_ADDRESS, FIELD(tracker),
     "${yarn.resourcemanager.hostname}:8031", RANGE(1, 65535),
     .meaning = "Where the ResourceManager hears nodes."},
    {"yarn.resourcemanager.ha.enabled", NM_YARN_BOOL, FIELD(ha), "false",
     .meaning = "There are several ResourceManagers, of which one at a time is active: nmd tries one after the other."},
    {"yarn.resourcemanager.ha.rm-ids", NM_YARN_LIST, FIELD(rm_ids), "",
     .meaning = "What they are called in yarn.resourcemanager.resource-tracker.address.ID, or hostname.ID."},
    {"yarn.resourcemanager.connect.retry-interval.ms", NM_YARN_MSEC, FIELD(any_retry_usec), "30000",
     RANGE(10, HOUR_MSEC), .meaning = "The next, where that isn't set."},
    {"yarn.nodemanager.resourcemanager.connect.retry-interval.ms", NM_YARN_MSEC, FIELD(retry_usec),
     "${yarn.resourcemanager.connect.retry-interval.ms}", RANGE(10, HOUR_MSEC),
     .meaning = "The longest time between two attempts to reach the ResourceManager; the first ones come sooner, and "
                "they never end."},
    {"ipc.client.connect.timeout", NM_YARN_MSEC, FIELD(connect_usec), "20000", RANGE(10, HOUR_MSEC),
     .meaning = "For so long a connection may take to come about."},
    {"ipc.client.rpc-timeout.ms", NM_YARN_MSEC, FIELD(rpc_timeout_usec), "120000", RANGE(0, 24 * HOUR_MSEC),
     .meaning = "For so long an answer may take before the connection is given up. 0: for as long as it lives."},
    {"yarn.nodemanager.hostname", NM_YARN_HOST, FIELD(node.host), "0.0.0.0",
     .meaning = "The node's name, which everybody in the cluster must be able to resolve. 0.0.0.0: the host's own, as "
                "name services complete it."},
    {"yarn.nodemanager.address", NM_YARN_ADDRESS, FIELD(node), "${yarn.nodemanager.hostname}:0", RANGE(0, 65535),
     .meaning = "Name and port by which the cluster knows the node. Port 0: one that is free."},
    {"yarn.nodemanager.webapp.address", NM_YARN_ADDRESS, FIELD(web), "${yarn.nodemanager.hostname}:8042",
     RANGE(0, 65535),
     .meaning = "Where nmd serves its page, /metrics and a node's web services (/ws/v1/node), all read-only, as on "
                "[interface] http-address: on bind-host, on this address if it is one and no name, else on all of the "
                "host's. If the port is taken, nmd does without. 0: one that is free."},
    {"nmd.yarn.webapp", NM_YARN_BOOL, FIELD(serves_web), "true",
     .meaning = "false: nmd doesn't listen there; the ResourceManager's pages link to the port nevertheless."},
    {"yarn.nodemanager.resource.detect-hardware-capabilities", NM_YARN_BOOL, FIELD(detects_hardware), "false",
     .meaning = "What -1 means in the next two: true: as the node has; false: what Hadoop takes a node for."},
    {"yarn.nodemanager.resource.memory-mb", NM_YARN_NUMBER, FIELD(memory_mib), "-1", RANGE(-1, INT32_MAX),
     .meaning = "Memory for containers, where nmd.conf doesn't set [node] memory. -1: 8192, but as the node has where "
                "that is less than 10240, or the former is true."},
    {"yarn.nodemanager.resource.cpu-vcores", NM_YARN_NUMBER, FIELD(vcores), "-1", RANGE(-1, 100000),
     .meaning = "Into how many vcores the CPUs are divided, where nmd.conf doesn't set [node] vcores. -1: 8, or one "
                "for each CPU where detect-hardware-capabilities is true."},
    {"yarn.nodemanager.resource.system-reserved-memory-mb", NM_YARN_NUMBER, FIELD(reserved_memory_mib), "-1",
     RANGE(-1, INT32_MAX),
     .meaning = "Memory that is kept for everything else where the node offers what it has and nmd.conf doesn't "
                "set [node] system-reserved-memory. -1: nmd's own default."},
    {"yarn.nodemanager.opportunistic-containers-max-queue-length", NM_YARN_NUMBER, FIELD(queue_max_length), "0",
     RANGE(0, 1000000),
     .meaning = "Opportunistic containers that may wait here, where nmd.conf doesn't set [queue] max-length. 0: the "
                "cluster sends none."},
    {"yarn.nodemanager.opportunistic-containers-queue-policy", NM_YARN_QUEUE_POLICY, FIELD(queue_by_resources),
     "BY_QUEUE_LEN",
     .meaning = "How much may wait, where nmd.conf doesn't set [queue] policy. BY_QUEUE_LEN: as many as the former "
                "says. BY_RESOURCES: as many as the node has resources for."},
    {"yarn.nodemanager.opportunistic-containers-use-pause-for-preemption", NM_YARN_BOOL, FIELD(pauses), "false",
     .meaning = "true: opportunistic containers are paused where CPU is taken back from them, and lose no work, which "
                "is what nmd is for; false: they are killed. Where nmd.conf doesn't set [preemption] pause."},
    {"yarn.nodemanager.sleep-delay-before-sigkill.ms", NM_YARN_MSEC, FIELD(term_usec), "250", RANGE(0, HOUR_MSEC),
     .meaning = "From SIGTERM to SIGKILL when somebody ends a container, where nmd.conf doesn't set [preemption] "
                "kill-grace."},
    /*
     * Names from the branch of YARN-1011, which is in no release of Hadoop. A cluster's files may contain them for
     * nodes built from that branch. The branch has constants for the thresholds of preemption, but their spelling can
     * no longer be found, so these three names are nmd's own.
     */
    {OVER_ALLOCATION "general-utilization-threshold", NM_YARN_SHARE, FIELD(general_alpha), "-1.0", RANGE(-1, 1),
     .meaning = "Opportunistic containers start while use is below this share of what the node offers: for the next "
                "two where they aren't set."},
    {OVER_ALLOCATION "memory-utilization-threshold", NM_YARN_SHARE, FIELD(memory_alpha),
     "${" OVER_ALLOCATION "general-utilization-threshold}", RANGE(-1, 1),
     .meaning = "The same for memory, where nmd.conf doesn't set [over-allocation] memory-threshold. 0 or less: nmd's "
                "own default."},
    {OVER_ALLOCATION "cpu-utilization-threshold", NM_YARN_SHARE, FIELD(cpu_alpha),
     "${" OVER_ALLOCATION "general-utilization-threshold}", RANGE(-1, 1),
     .meaning = "The same for CPU, and [over-allocation] cpu-threshold."},
    {OVER_ALLOCATION "preemption.memory", NM_YARN_SHARE, FIELD(memory_beta), "-1.0", RANGE(-1, 1),
     .meaning = "Above this share of use memory is taken back, where nmd.conf doesn't set [preemption] "
                "memory-threshold. 0 or less: nmd's own default."},
    {OVER_ALLOCATION "preemption.cpu", NM_YARN_SHARE, FIELD(cpu_beta), "-1.0", RANGE(-1, 1),
     .meaning = "The same for CPU, and [preemption] cpu-threshold."},
    {OVER_ALLOCATION "preemption.cpu.count", NM_YARN_NUMBER, FIELD(cpu_samples), "0", RANGE(0, 100),
     .meaning = "So many samples in a row must be above the former, where nmd.conf doesn't set [preemption] "
                "cpu-samples. 0: nmd's own default."},
    {HEALTH "script.path", NM_YARN_TEXT, FIELD(health_script), "",
     .meaning = "A program that says whether the node is healthy, where nmd.conf doesn't set [health] script. Nothing: "
                "none."},
    {HEALTH "interval-ms", NM_YARN_MSEC, FIELD(any_health_period_usec), "600000", RANGE(1000, 24 * HOUR_MSEC),
     .meaning = "The next, where that isn't set."},
    {HEALTH "script.interval-ms", NM_YARN_MSEC, FIELD(health_period_usec), "${" HEALTH "interval-ms}",
     RANGE(1000, 24 * HOUR_MSEC), .meaning = "So often it is run, where nmd.conf doesn't set [health] period."},
    {HEALTH "timeout-ms", NM_YARN_MSEC, FIELD(any_health_timeout_usec), "1200000", RANGE(100, HOUR_MSEC),
     .meaning = "The next, where that isn't set."},
    {HEALTH "script.timeout-ms", NM_YARN_MSEC, FIELD(health_timeout_usec), "${" HEALTH "timeout-ms}",
     RANGE(100, HOUR_MSEC), .meaning = "So long it may run, where nmd.conf doesn't set [health] timeout."},
    {"yarn.nodemanager.recovery.enabled", NM_YARN_BOOL, FIELD(recovery), "false",
     .meaning = "With the next one: nmd comes back after it has left, and so doesn't sign off."},
    {"yarn.nodemanager.recovery.supervised", NM_YARN_BOOL, FIELD(supervised), "false",
     .meaning = "With the former: something starts nmd again when it has left."},
    {"yarn.resourcemanager.work-preserving-recovery.enabled", NM_YARN_BOOL, FIELD(rm_recovers), "true",
     .meaning = "Containers go on while the ResourceManager is started anew. false: they end when the node registers "
                "with it again."},
    {"yarn.nodemanager.bind-host", NM_YARN_TEXT, FIELD(bind_host), "",
     .meaning = "On which of the host's addresses the node listens. Nothing: on all of them."},
    {"yarn.nodemanager.aux-services", NM_YARN_LIST, FIELD(aux_services), "",
     .meaning = "With mapreduce_shuffle in it the node serves what maps leave for reducers."},
    {"yarn.nodemanager.container-executor.class", NM_YARN_TEXT, FIELD(executor), EXECUTOR "DefaultContainerExecutor",
     .meaning = "Neither class runs here; what it means does. LinuxContainerExecutor: nmd is root, and containers run "
                "as other users. DefaultContainerExecutor: as who runs nmd, but if that is root, as with the former: "
                "nothing of the cluster's runs as root unless nmd.yarn.allow-root says so."},
    {"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users", NM_YARN_BOOL, FIELD(limit_users), "true",
     .meaning = "If nmd is root: true: all containers run as the user of the next key; false: as who submitted them."},
    {"yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user", NM_YARN_TEXT, FIELD(local_user), "nobody",
     .meaning = "As whom containers run where the former is true."},
    {"yarn.nodemanager.linux-container-executor.nonsecure-mode.user-pattern", NM_YARN_TEXT, FIELD(user_pattern),
     "^[_.A-Za-z0-9][-@_.A-Za-z0-9]{0,255}?[$]?$",
     .meaning = "A regular expression that the name of a submitter must match."},
    {"nmd.yarn.allow-root", NM_YARN_BOOL, FIELD(allow_root), "false",
     .meaning = "Containers may run as root: if limit-users is false and root has submitted them, or if local-user is "
                "root. Without Kerberos anybody in the cluster can say to be root."},
    {"hadoop.tmp.dir", NM_YARN_TEXT, FIELD(tmp_dir), "/tmp/hadoop-${user.name}",
     .meaning = "In which directories are that aren't set."},
    {"yarn.nodemanager.local-dirs", NM_YARN_DIRS, FIELD(local_dirs), "${hadoop.tmp.dir}/nm-local-dir",
     .meaning = "Where containers' working directories and resources are, one for each disk. New "
                "resources are kept in one that is good, and in another when that one no longer is."},
    {"yarn.log.dir", NM_YARN_TEXT, FIELD(base_log_dir), "${hadoop.tmp.dir}/logs",
     .meaning = "In which the next is by default; Hadoop's own scripts set it."},
    {"yarn.nodemanager.log-dirs", NM_YARN_DIRS, FIELD(log_dirs), "${yarn.log.dir}/userlogs",
     .meaning = "Where containers' logs are, one for each disk."},
    {DISKS "enable", NM_YARN_BOOL, FIELD(checks_disks), "true",
     .meaning = "Directories that are full or can't be written to are given to no container."},
    {DISKS "interval-ms", NM_YARN_MSEC, FIELD(check_disks_usec), "120000",
     RANGE(1000, 24 * HOUR_MSEC), .meaning = "So often they are looked at."},
    {DISKS "disk-utilization-threshold.enabled", NM_YARN_BOOL, FIELD(checks_disk_use), "true",
     .meaning = "The share that is used counts."},
    {DISKS "max-disk-utilization-per-disk-percentage", NM_YARN_SHARE, FIELD(max_disk_percent), "90.0", RANGE(0, 100),
     .meaning = "A directory whose file system is fuller than that, in percent, is full."},
    {DISKS "disk-utilization-watermark-low-per-disk-percentage", NM_YARN_SHARE, FIELD(low_disk_percent),
     "${" DISKS "max-disk-utilization-per-disk-percentage}", RANGE(0, 100),
     .meaning = "And stays full until it is no fuller than that."},
    {DISKS "disk-free-space-threshold.enabled", NM_YARN_BOOL, FIELD(checks_disk_room), "true",
     .meaning = "The space that is left counts."},
    {DISKS "min-free-space-per-disk-mb", NM_YARN_NUMBER, FIELD(min_free_disk_mib), "0",
     RANGE(0, INT32_MAX), .meaning = "One that has less left than that is full, too."},
    {DISKS "min-free-space-per-disk-watermark-high-mb", NM_YARN_NUMBER, FIELD(high_free_disk_mib), "0",
     RANGE(0, INT32_MAX), .meaning = "And stays full until that is left."},
    {DISKS "min-healthy-disks", NM_YARN_SHARE, FIELD(min_healthy_disks), "0.25",
     RANGE(0, 1), .meaning = "If the share of good ones is below that, the node is unhealthy."},
    {"yarn.nodemanager.env-whitelist", NM_YARN_LIST, FIELD(env_whitelist),
     "JAVA_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,CLASSPATH_PREPEND_DISTCACHE,HADOOP_YARN_HOME,"
     "HADOOP_HOME,PATH,LANG,TZ",
     .meaning = "Variables of nmd's own environment that containers get if they don't set them."},
    {"yarn.nodemanager.admin-env", NM_YARN_TEXT, FIELD(admin_env), "MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX",
     .meaning = "Variables for all containers, NAME=value with commas between them, appended to what they set; $NAME "
                "is nmd's own."},
    {"yarn.nodemanager.force.path", NM_YARN_TEXT, FIELD(force_path), "",
     .meaning = "Directories with ':' between them that are put before a container's PATH."},
    {"yarn.nodemanager.user-home-dir", NM_YARN_TEXT, FIELD(user_home_dir), "/home/",
     .meaning = "What containers find as HOME."},
    {"nmd.yarn.java-version", NM_YARN_NUMBER, FIELD(java_version), "0", RANGE(0, 1000),
     .meaning = "Of the Java that runs containers: from 17 on <ADD_OPENS> in their commands stands for the options "
                "that Hadoop needs. 0: what the file release in $JAVA_HOME says."},
    {"yarn.nodemanager.localizer.cache.target-size-mb", NM_YARN_NUMBER, FIELD(cache_target_mib), "10240",
     RANGE(0, INT32_MAX), .meaning = "Resources that nobody uses are removed when all take more than that."},
    {"yarn.nodemanager.localizer.fetch.thread-count", NM_YARN_NUMBER, FIELD(localizer_threads), "4", RANGE(1, 100),
     .meaning = "So many processes fetch or remove at the same time."},
    {"nmd.yarn.localizer-memory-mb", NM_YARN_NUMBER, FIELD(localizer_memory_mib), "512", RANGE(64, INT32_MAX),
     .meaning = "So much memory each of them may take, but for a command that fetches for it (nmd.fetch-command.*); "
                "and that one's HADOOP_HEAPSIZE_MAX, where nmd's own environment has none."},
    {"nmd.yarn.localizer-timeout-ms", NM_YARN_MSEC, FIELD(localizer_timeout_usec), "300000", RANGE(5000, HOUR_MSEC),
     .meaning = "A worker (nm-localizer) that has reported no progress for so long is ended, for instance because its "
                "user has stopped it. A worker that waits for a slow server keeps reporting."},
    {"nmd.yarn.fetch-command-memory-mb", NM_YARN_NUMBER, FIELD(command_memory_mib), "0", RANGE(0, INT32_MAX),
     .meaning = "So much memory each process of such a command may reserve for writing (RLIMIT_DATA), of which a JVM "
                "needs the more the larger the host is. 0: any; its heap is limited nevertheless."},
    {"nmd.webhdfs.ca-file", NM_YARN_TEXT, FIELD(webhdfs_ca_file), "",
     .meaning = "A PEM file, readable by everybody, with the certificates that vouch for HDFS's servers where "
                "dfs.http.policy is HTTPS_ONLY, and for swebhdfs: URIs; the truststore of ssl-client.xml is for "
                "Java alone. Nothing: the system's store."},
    {"yarn.nodemanager.log.retain-seconds", NM_YARN_NUMBER, FIELD(log_retain_sec), "10800", RANGE(0, INT32_MAX),
     .meaning = "For so long after an application's end its logs are kept."},
    {"yarn.nodemanager.delete.debug-delay-sec", NM_YARN_NUMBER, FIELD(delete_delay_sec), "0", RANGE(-1, INT32_MAX),
     .meaning = "For so long after its end a container's files are kept. -1: for good."},
    {"yarn.nodemanager.container.stderr.tail.bytes", NM_YARN_NUMBER, FIELD(stderr_tail_bytes), "4096",
     RANGE(0, 65536), .meaning = "So much of a failed container's standard error its application is shown."},
    {"yarn.nodemanager.container.stderr.pattern", NM_YARN_TEXT, FIELD(stderr_pattern), "{*stderr*,*STDERR*}",
     .meaning = "Which of its logs that is: a pattern, or {several,of them}; the newest file that matches."},
    {"yarn.nodemanager.log-container-debug-info.enabled", NM_YARN_BOOL, FIELD(debug_info), "true",
     .meaning = "Among a container's logs are a copy of its launch_container.sh, and directory.info, a list of what it "
                "found in its working directory."},
    {"yarn.nodemanager.amrmproxy.enabled", NM_YARN_BOOL, FIELD(proxy), "false",
     .meaning = "Between application masters on this node and the ResourceManager stands a proxy, to which masters "
                "come whose configuration has its address as yarn.resourcemanager.scheduler.address."},
    {"yarn.nodemanager.distributed-scheduling.enabled", NM_YARN_BOOL, FIELD(distributed), "false",
     .meaning = "The proxy is there, and allocates opportunistic containers itself, on the nodes that the "
                "ResourceManager lists as the least loaded. The ResourceManager needs the same setting."},
    {"yarn.nodemanager.amrmproxy.address", NM_YARN_ADDRESS, FIELD(proxy_address), "0.0.0.0:8049", RANGE(0, 65535),
     .meaning = "Where the proxy listens. 0.0.0.0: on all of the host's addresses; port 0: one that is free."},
    {"yarn.nodemanager.amrmproxy.interceptor-class.pipeline", NM_YARN_LIST, FIELD(proxy_stages),
     "org.apache.hadoop.yarn.server.nodemanager.amrmproxy.DefaultRequestInterceptor",
     .meaning = "Through which stages a master's calls go, by the names of Java's classes that do the same. "
                "Distributed scheduling goes before them where it is enabled."},
    {"nmd.distributed-scheduling.fill-nodes", NM_YARN_BOOL, FIELD(fill_nodes), "false",
     .meaning = "A node gets several containers of an application in one heartbeat, as far as its queue has room: they "
                "are there at once, not one after the other. false: one for each of its heartbeats, as Java's proxy "
                "does."},
    {"yarn.resourcemanager.opportunistic.max.container-allocation.per.am.heartbeat", NM_YARN_NUMBER,
     FIELD(per_am_heartbeat), "-1", RANGE(-1, INT32_MAX),
     .meaning = "So many containers distributed scheduling allocates at most in one heartbeat of a master. -1: no "
                "limit."},
    {"yarn.resourcemanager.scheduler.address", NM_YARN_ADDRESS, FIELD(scheduler),
     "${yarn.resourcemanager.hostname}:8030", RANGE(1, 65535),
     .meaning = "Where the ResourceManager hears application masters: the proxy goes on to there."},
    {"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs", NM_YARN_NUMBER, FIELD(amrm_roll_sec),
     "86400", RANGE(1, INT32_MAX),
     .meaning = "So often the proxy makes a new key for its tokens, as the ResourceManager does."},
    {"yarn.am.liveness-monitor.expiry-interval-ms", NM_YARN_MSEC, FIELD(am_expiry_usec), "600000",
     RANGE(1, 24 * HOUR_MSEC),
     .meaning = "A master that is silent for so long is taken for dead: a new key counts when one and a half of that "
                "have gone by."},
    {"mapreduce.shuffle.port", NM_YARN_NUMBER, FIELD(shuffle_port), "13562", RANGE(0, 65535),
     .meaning = "Where reducers fetch what maps have left. 0: a port that is free."},
    {"mapreduce.shuffle.max.connections", NM_YARN_NUMBER, FIELD(shuffle_max_connections), "0", RANGE(0, 8192),
     .meaning = "So many of them at once. 0: 8192."},
};
const size_t nm_yarn_n_keys = NM_ARRAY_SIZE(nm_yarn_keys);
