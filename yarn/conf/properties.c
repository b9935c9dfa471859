/* SPDX-License-Identifier: Apache-2.0 */

/* See properties.h. This file is only a table. */

#include "yarn/conf/properties.h"

#include "util/macros.h"

#define FIELD(field) .offset = offsetof(struct nm_yarn_settings, field)
#define RANGE(low, high) .min = (low), .max = (high)
#define HOUR_MSEC (3600 * INT64_C(1000))
#define SPARK "spark."
#define AUX "nmd.aux-host."
#define OVER_ALLOCATION "yarn.nodemanager.overallocation."
#define HEALTH "yarn.nodemanager.health-checker."
#define DISKS "yarn.nodemanager.disk-health-checker."
#define REMOTE_LOGS "yarn.nodemanager.remote-app-log-dir"
#define UPLOADS "yarn.nodemanager.log-aggregation."
#define LOG_POLICIES "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation."
#define LABELS NM_YARN_LABELS_PREFIX
#define ATTRIBUTES NM_YARN_ATTRIBUTES_PREFIX
#define GPU NM_YARN_PLUGINS ".gpu."
#define EXECUTOR "org.apache.hadoop.yarn.server.nodemanager."

const struct nm_yarn_key nm_yarn_keys[] = {
    {"yarn.resourcemanager.hostname", NM_YARN_HOST, FIELD(tracker.host), "0.0.0.0",
     .meaning = "Host of the ResourceManager. Used for its addresses that aren't set."},
    {"yarn.resourcemanager.resource-tracker.address", NM_YARN_ADDRESS, FIELD(tracker),
     "${yarn.resourcemanager.hostname}:8031", RANGE(1, 65535),
     .meaning = "Address at which the ResourceManager serves NodeManagers."},
    {"yarn.resourcemanager.ha.enabled", NM_YARN_BOOL, FIELD(ha), "false",
     .meaning = "The cluster has several ResourceManagers, and one of them is active. nmd tries them one after the "
                "other, and waits between two rounds."},
    {"yarn.resourcemanager.ha.rm-ids", NM_YARN_LIST, FIELD(rm_ids), "", .unlisted = true,
     .meaning = "Ids of the ResourceManagers in yarn.resourcemanager.resource-tracker.address.ID and "
                "yarn.resourcemanager.hostname.ID."},
    {"yarn.resourcemanager.connect.retry-interval.ms", NM_YARN_MSEC, FIELD(any_retry_usec), "30000",
     RANGE(10, HOUR_MSEC), .meaning = "Default of yarn.nodemanager.resourcemanager.connect.retry-interval.ms."},
    {"yarn.nodemanager.resourcemanager.connect.retry-interval.ms", NM_YARN_MSEC, FIELD(retry_usec),
     "${yarn.resourcemanager.connect.retry-interval.ms}", RANGE(10, HOUR_MSEC), .unlisted = true,
     .meaning = "Maximum time between two attempts to connect to the ResourceManager, or to all of several. The first "
                "intervals are shorter, and the number of attempts isn't limited."},
    {"ipc.client.connect.timeout", NM_YARN_MSEC, FIELD(connect_usec), "20000", RANGE(10, HOUR_MSEC),
     .meaning = "Maximum time to establish a connection. If the other host acknowledges no data for this time, the "
                "connection is closed as well."},
    {"ipc.client.rpc-timeout.ms", NM_YARN_MSEC, FIELD(rpc_timeout_usec), "120000", RANGE(0, 24 * HOUR_MSEC),
     .meaning = "Maximum time to wait for an answer before the connection is closed. 0: no limit."},
    {"yarn.nodemanager.hostname", NM_YARN_HOST, FIELD(node.host), "0.0.0.0",
     .meaning = "Name of the node. All hosts of the cluster must be able to resolve it. 0.0.0.0: the name of the "
                "host, as completed by name services."},
    {"yarn.nodemanager.address", NM_YARN_ADDRESS, FIELD(node), "${yarn.nodemanager.hostname}:0", RANGE(0, 65535),
     .meaning = "Name and port by which the cluster knows the node. Port 0: any free port."},
    {"yarn.nodemanager.webapp.address", NM_YARN_ADDRESS, FIELD(web), "${yarn.nodemanager.hostname}:8042",
     RANGE(0, 65535),
     .meaning = "Address of nmd's page, /metrics and the web services of a NodeManager (/ws/v1/node), all read-only "
                "as on [interface] http-address. nmd listens on bind-host; if that is empty, on this address if it is "
                "an IP address, otherwise on all addresses of the host. If the port is in use, nmd continues without "
                "these pages. Port 0: any free port."},
    {"nmd.yarn.webapp", NM_YARN_BOOL, FIELD(serves_web), "true",
     .meaning = "false: nmd doesn't serve the pages at yarn.nodemanager.webapp.address. The pages of the "
                "ResourceManager still link to that port."},
    {"nmd.web.container-logs", NM_YARN_BOOL, FIELD(serves_logs), "true",
     .meaning = "true: as Hadoop's NodeManager, nmd serves the log files of the cluster's containers over TCP, and "
                "shows users and messages of containers. Everyone who can reach the port can read them. false: nmd "
                "does not serve this data over TCP, so yarn logs works only for logs that were aggregated."},
    {"yarn.acl.enable", NM_YARN_BOOL, FIELD(has_acls), "false",
     .meaning = "true: a request that names its user (user.name, or its cookie) gets data of users only if that user "
                "is the application's owner, an administrator, or in the application's view ACL. As with Hadoop, "
                "requests without a name get all data."},
    {"yarn.admin.acl", NM_YARN_TEXT, FIELD(admin_acl), "*",
     .meaning = "Administrators of the cluster: users, separated by commas, a space, and groups. *: all users."},
    {"yarn.log.server.url", NM_YARN_TEXT, FIELD(log_server), "", .unlisted = true,
     .meaning = "Where the pages of logs that are no longer on this node are found, such as "
                "http://HOST:19888/jobhistory/logs. Empty: nowhere."},
    {"yarn.log.server.web-service.url", NM_YARN_TEXT, FIELD(log_web_service), "", .unlisted = true,
     .meaning = "Where programs find logs that are no longer on this node, such as http://HOST:19888/ws/v1/history. "
                "Empty: nowhere."},
    {"hadoop.security.sensitive-config-keys", NM_YARN_LIST, FIELD(sensitive_keys),
     "secret$,password$,ssl.keystore.pass$,fs.s3a.server-side-encryption.key,fs.s3a.*.server-side-encryption.key,"
     "fs.s3a.encryption.algorithm,fs.s3a.encryption.key,fs.s3a.secret.key,fs.s3a.*.secret.key,fs.s3a.session.key,"
     "fs.s3a.*.session.key,fs.s3a.session.token,fs.s3a.*.session.token,fs.azure.account.key.*,fs.azure.oauth2.*,"
     "fs.adl.oauth2.*,fs.gs.encryption.*,fs.gs.proxy.*,fs.gs.auth.*,credential$,oauth.*secret,oauth.*password,"
     "oauth.*token,hadoop.security.sensitive-config-keys",
     .meaning = "Regular expressions. The page /conf doesn't show the value of a property if an expression is found in "
                "its name."},
    {"yarn.nodemanager.resource.detect-hardware-capabilities", NM_YARN_BOOL, FIELD(detects_hardware), "false",
     .meaning = "Meaning of -1 in resource.memory-mb and resource.cpu-vcores. true: the resources of the host. false: "
                "Hadoop's defaults."},
    {"yarn.nodemanager.resource.memory-mb", NM_YARN_NUMBER, FIELD(memory_mib), "-1", RANGE(-1, INT32_MAX),
     .meaning = "Memory for containers, if nmd.conf doesn't set [node] memory. -1: 8192, or the memory of the host if "
                "that is below 10240 or detect-hardware-capabilities is true."},
    {"yarn.nodemanager.resource.cpu-vcores", NM_YARN_NUMBER, FIELD(vcores), "-1", RANGE(-1, 100000),
     .meaning = "Number of vcores of the node, if nmd.conf doesn't set [node] vcores. -1: 8, or the number of CPUs if "
                "detect-hardware-capabilities is true."},
    {"yarn.nodemanager.resource.system-reserved-memory-mb", NM_YARN_NUMBER, FIELD(reserved_memory_mib), "-1",
     RANGE(-1, INT32_MAX),
     .meaning = "Memory that isn't offered to containers when the node offers the memory of the host, if nmd.conf "
                "doesn't set [node] system-reserved-memory. -1: nmd's default."},
    {"yarn.nodemanager.opportunistic-containers-max-queue-length", NM_YARN_NUMBER, FIELD(queue_max_length), "0",
     RANGE(0, 1000000),
     .meaning = "Maximum number of opportunistic containers in the queue of this node, if nmd.conf doesn't set "
                "[queue] max-length. 0: the cluster sends no opportunistic containers."},
    {"yarn.nodemanager.opportunistic-containers-queue-policy", NM_YARN_QUEUE_POLICY, FIELD(queue_by_resources),
     "BY_QUEUE_LEN",
     .meaning = "Limit of the queue, if nmd.conf doesn't set [queue] policy. BY_QUEUE_LEN: the number in "
                "opportunistic-containers-max-queue-length. BY_RESOURCES: the resources of the node."},
    {"yarn.nodemanager.opportunistic-containers-use-pause-for-preemption", NM_YARN_BOOL, FIELD(pauses), "false",
     .meaning = "true: to take back CPU, nmd pauses opportunistic containers, and they lose no work (recommended). "
                "false: nmd kills them. Used if nmd.conf doesn't set [preemption] pause."},
    {"yarn.nodemanager.sleep-delay-before-sigkill.ms", NM_YARN_MSEC, FIELD(term_usec), "250", RANGE(0, HOUR_MSEC),
     .meaning = "Time from SIGTERM to SIGKILL when a user or the cluster ends a container, if nmd.conf doesn't set "
                "[preemption] kill-grace."},
    /*
     * Names from the branch of YARN-1011, which is in no release of Hadoop. A cluster's files may contain these names
     * for nodes that were built from that branch. The branch defines constants for the thresholds of preemption, but
     * their spelling can no longer be found. So the names of the three preemption properties are nmd's own.
     */
    {OVER_ALLOCATION "general-utilization-threshold", NM_YARN_SHARE, FIELD(general_alpha), "-1.0", RANGE(-1, 1),
     .unlisted = true,
     .meaning = "Opportunistic containers start while use is below this fraction of the node's capacity. Default of "
                "memory-utilization-threshold and cpu-utilization-threshold."},
    {OVER_ALLOCATION "memory-utilization-threshold", NM_YARN_SHARE, FIELD(memory_alpha),
     "${" OVER_ALLOCATION "general-utilization-threshold}", RANGE(-1, 1), .unlisted = true,
     .meaning = "Opportunistic containers start while memory use is below this fraction of the node's capacity, if "
                "nmd.conf doesn't set [over-allocation] memory-threshold. 0 or less: nmd's default."},
    {OVER_ALLOCATION "cpu-utilization-threshold", NM_YARN_SHARE, FIELD(cpu_alpha),
     "${" OVER_ALLOCATION "general-utilization-threshold}", RANGE(-1, 1), .unlisted = true,
     .meaning = "Opportunistic containers start while CPU use is below this fraction of the node's capacity, if "
                "nmd.conf doesn't set [over-allocation] cpu-threshold. 0 or less: nmd's default."},
    {OVER_ALLOCATION "preemption.memory", NM_YARN_SHARE, FIELD(memory_beta), "-1.0", RANGE(-1, 1), .unlisted = true,
     .meaning = "If memory use is above this fraction of the node's capacity, nmd takes memory back from "
                "opportunistic containers. Used if nmd.conf doesn't set [preemption] memory-threshold. 0 or less: "
                "nmd's default."},
    {OVER_ALLOCATION "preemption.cpu", NM_YARN_SHARE, FIELD(cpu_beta), "-1.0", RANGE(-1, 1), .unlisted = true,
     .meaning = "If CPU use is above this fraction of the node's capacity, nmd takes CPU back from opportunistic "
                "containers. Used if nmd.conf doesn't set [preemption] cpu-threshold. 0 or less: nmd's default."},
    {OVER_ALLOCATION "preemption.cpu.count", NM_YARN_NUMBER, FIELD(cpu_samples), "0", RANGE(0, 100), .unlisted = true,
     .meaning = "Number of consecutive samples above preemption.cpu before nmd takes CPU back, if nmd.conf doesn't "
                "set [preemption] cpu-samples. 0: nmd's default."},
    {HEALTH "script.path", NM_YARN_TEXT, FIELD(health_script), "", .unlisted = true,
     .meaning = "Program that reports whether the node is healthy, if nmd.conf doesn't set [health] script. Empty: no "
                "program."},
    {HEALTH "interval-ms", NM_YARN_MSEC, FIELD(any_health_period_usec), "600000", RANGE(1000, 24 * HOUR_MSEC),
     .meaning = "Default of health-checker.script.interval-ms."},
    {HEALTH "script.interval-ms", NM_YARN_MSEC, FIELD(health_period_usec), "${" HEALTH "interval-ms}",
     RANGE(1000, 24 * HOUR_MSEC), .unlisted = true,
     .meaning = "Interval between two runs of the health script, if nmd.conf doesn't set "
                                             "[health] period."},
    {HEALTH "timeout-ms", NM_YARN_MSEC, FIELD(any_health_timeout_usec), "1200000", RANGE(100, HOUR_MSEC),
     .meaning = "Default of health-checker.script.timeout-ms."},
    {HEALTH "script.timeout-ms", NM_YARN_MSEC, FIELD(health_timeout_usec), "${" HEALTH "timeout-ms}",
     RANGE(100, HOUR_MSEC), .unlisted = true,
     .meaning = "Maximum duration of one run of the health script, if nmd.conf doesn't set "
                                       "[health] timeout."},
    {NM_YARN_PLUGINS, NM_YARN_LIST, FIELD(gpus.plugins), "", .unlisted = true,
     .meaning = "Plugins that assign devices to containers. nmd has yarn.io/gpu: each container gets the GPUs that it "
                "requests."},
    {GPU "allowed-gpu-devices", NM_YARN_TEXT, FIELD(gpus.allowed), "auto",
     .meaning = "The GPUs that this node offers: INDEX:MINOR, separated by commas, such as 0:0,1:1 for /dev/nvidia0 "
                "and /dev/nvidia1. auto: those that nvidia-smi reports."},
    {GPU "path-to-discovery-executables", NM_YARN_TEXT, FIELD(gpus.executables), "", .unlisted = true,
     .meaning = "nvidia-smi, or the directory that has it. nmd runs it as its own user, so only root may be able to "
                "change it. Empty: /usr/bin, /bin or /usr/local/nvidia/bin."},
    {GPU "discovery-timeout", NM_YARN_MSEC, FIELD(gpus.timeout_usec), "10s", RANGE(100, HOUR_MSEC), .unlisted = true,
     .meaning = "Time after which nvidia-smi is killed."},
    {GPU "discovery-max-errors", NM_YARN_NUMBER, FIELD(gpus.max_errors), "10", RANGE(-1, 1000000), .unlisted = true,
     .meaning = "Number of failed runs of nvidia-smi after which nmd runs it no more. -1: no limit."},
    {NM_YARN_PLUGINS ".fail-fast", NM_YARN_TEXT, FIELD(gpus.fail_fast_text), "", .unlisted = true,
     .meaning = "true, or empty: the node joins the cluster only after its GPUs were found. false: if they aren't "
                "found within a minute, the node joins without GPUs."},
    {LABELS "provider", NM_YARN_TEXT, FIELD(labels.provider), "", .unlisted = true,
     .meaning = "Source of the node's label, which the node reports to the ResourceManager. config: "
                "the property provider.configured-node-partition. script: the output of a script. "
                "Empty: only the ResourceManager knows the label."},
    {NM_YARN_LABELS_VALUE, NM_YARN_TEXT, FIELD(labels.value), "", .unlisted = true,
     .meaning = "The label, if the provider is config. The file is read again at "
                "provider.fetch-interval-ms. Empty: none."},
    {LABELS "provider.script.path", NM_YARN_TEXT, FIELD(labels.script), "", .unlisted = true,
     .meaning = "Script that prints a line NODE_PARTITION:LABEL, if the provider is script. Only root "
                "and nmd's user may be able to change it."},
    {LABELS "provider.script.opts", NM_YARN_LIST, FIELD(labels.script_args), "", .unlisted = true,
     .meaning = "Arguments of the script."},
    {LABELS "provider.fetch-interval-ms", NM_YARN_NUMBER, FIELD(labels.interval_msec), "600000",
     RANGE(-1, 24 * HOUR_MSEC),
     .meaning = "Milliseconds between two runs of the script, or between two readings of the file; at "
                "least one second. -1: only once."},
    {LABELS "provider.fetch-timeout-ms", NM_YARN_NUMBER, FIELD(labels.timeout_msec), "1200000",
     RANGE(100, HOUR_MSEC),
     .meaning = "Milliseconds after which the script is killed."},
    {LABELS "resync-interval-ms", NM_YARN_NUMBER, FIELD(labels.resync_msec), "120000",
     RANGE(0, 24 * HOUR_MSEC),
     .meaning = "Milliseconds after which an unchanged label is reported again."},
    {ATTRIBUTES "provider", NM_YARN_TEXT, FIELD(attributes.provider), "", .unlisted = true,
     .meaning = "Source of the node's attributes, which the node reports to the ResourceManager. "
                "config: the property provider.configured-node-attributes. script: the output of a "
                "script. Empty: the node reports no attributes."},
    {NM_YARN_ATTRIBUTES_VALUE, NM_YARN_TEXT, FIELD(attributes.value), "", .unlisted = true,
     .meaning = "The attributes, if the provider is config: NAME,STRING,VALUE, separated by colons. "
                "The file is read again at provider.fetch-interval-ms. Empty: none."},
    {ATTRIBUTES "provider.script.path", NM_YARN_TEXT, FIELD(attributes.script), "", .unlisted = true,
     .meaning = "Script that prints a line NODE_ATTRIBUTE:NAME,STRING,VALUE for each attribute, if "
                "the provider is script. Only root and nmd's user may be able to change it."},
    {ATTRIBUTES "provider.script.opts", NM_YARN_LIST, FIELD(attributes.script_args), "", .unlisted = true,
     .meaning = "Arguments of the script."},
    {ATTRIBUTES "provider.fetch-interval-ms", NM_YARN_NUMBER, FIELD(attributes.interval_msec), "600000",
     RANGE(-1, 24 * HOUR_MSEC),
     .meaning = "Milliseconds between two runs of the script, or between two readings of the file; at "
                "least one second. -1: only once."},
    {ATTRIBUTES "provider.fetch-timeout-ms", NM_YARN_NUMBER, FIELD(attributes.timeout_msec), "1200000",
     RANGE(100, HOUR_MSEC),
     .meaning = "Milliseconds after which the script is killed."},
    {ATTRIBUTES "resync-interval-ms", NM_YARN_NUMBER, FIELD(attributes.resync_msec), "120000",
     RANGE(0, 24 * HOUR_MSEC),
     .meaning = "Milliseconds after which an unchanged set of attributes is reported again."},
    {"yarn.nodemanager.recovery.enabled", NM_YARN_BOOL, FIELD(recovery), "false",
     .meaning = "If recovery.supervised is also true, nmd is restarted after it exits, and therefore doesn't "
                "unregister the node."},
    {"yarn.nodemanager.recovery.supervised", NM_YARN_BOOL, FIELD(supervised), "false",
     .meaning = "If recovery.enabled is also true, a supervisor restarts nmd after it exits."},
    {"yarn.resourcemanager.work-preserving-recovery.enabled", NM_YARN_BOOL, FIELD(rm_recovers), "true",
     .meaning = "true: containers keep running while the ResourceManager restarts. false: containers are ended "
                "when the node registers again."},
    {"yarn.nodemanager.bind-host", NM_YARN_TEXT, FIELD(bind_host), "", .unlisted = true,
     .meaning = "Address of the host on which the node listens. Empty: all addresses."},
    {"yarn.nodemanager.aux-services", NM_YARN_LIST, FIELD(aux_services), "", .unlisted = true,
     .meaning = "Services of the node. mapreduce_shuffle serves map outputs to reducers. A service whose class "
                "(yarn.nodemanager.aux-services.NAME.class) is Spark's YarnShuffleService, by default spark_shuffle, "
                "serves the shuffle files of Spark's executors. Any other service runs in a process of Java."},
    {AUX "services", NM_YARN_LIST, FIELD(aux.java_services), "",
     .meaning = "Names of auxiliary services that run in the process of Java although nmd has a program for them."},
    {AUX "java", NM_YARN_TEXT, FIELD(aux.java), "",
     .meaning = "Path of the java program for auxiliary services. Empty: $JAVA_HOME/bin/java, or java in PATH."},
    {AUX "class-path", NM_YARN_TEXT, FIELD(aux.class_path), "",
     .meaning = "Class path of that process, after the directory of the cluster's files: absolute paths, separated by "
                "':', as hadoop classpath prints them. Empty: the jars below $HADOOP_HOME/share/hadoop."},
    {AUX "jar", NM_YARN_TEXT, FIELD(aux.jar), "/usr/share/java/nmd-aux-host.jar",
     .meaning = "Path of nmd's own jar for that process, from the package nmd-aux-host."},
    {AUX "java-options", NM_YARN_TEXT, FIELD(aux.options), "",
     .meaning = "Further options for java, separated by blanks."},
    {AUX "heap-mb", NM_YARN_NUMBER, FIELD(aux.heap_mib), "512", RANGE(32, INT32_MAX),
     .meaning = "Maximum heap of that process (-Xmx)."},
    {AUX "memory-mb", NM_YARN_NUMBER, FIELD(aux.memory_mib), "1536", RANGE(64, INT32_MAX),
     .meaning = "Maximum memory of that process, with its page cache and what it uses beside the heap. If it needs "
                "more, the kernel kills it, and nmd starts it again."},
    {AUX "hadoop-user", NM_YARN_TEXT, FIELD(aux.user), "yarn",
     .meaning = "Name under which that process reads HDFS (HADOOP_USER_NAME). The jars of a remote class path must "
                "belong to this user."},
    {AUX "start-timeout-ms", NM_YARN_MSEC, FIELD(aux.start_usec), "30000", RANGE(1000, HOUR_MSEC),
     .meaning = "nmd's start waits for the auxiliary services at most for this time, and then continues without "
                "them."},
    {"yarn.nodemanager.container-executor.class", NM_YARN_TEXT, FIELD(executor), EXECUTOR "DefaultContainerExecutor",
     .meaning = "nmd doesn't run these Java classes, but starts containers as the same users. LinuxContainerExecutor: "
                "nmd runs as root, and containers run as other users. DefaultContainerExecutor: containers run as "
                "the user of nmd. If that user is root, they run as with LinuxContainerExecutor. No container of "
                "the cluster runs as root unless nmd.yarn.allow-root is true."},
    {"yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users", NM_YARN_BOOL, FIELD(limit_users), "true",
     .meaning = "If nmd runs as root: true: all containers run as nonsecure-mode.local-user. false: each container "
                "runs as the user who submitted its application."},
    {"yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user", NM_YARN_TEXT, FIELD(local_user), "nobody",
     .meaning = "User of all containers if nonsecure-mode.limit-users is true."},
    {"yarn.nodemanager.linux-container-executor.nonsecure-mode.user-pattern", NM_YARN_TEXT, FIELD(user_pattern),
     NM_YARN_USER_PATTERN,
     .meaning = "Regular expression that the names of submitters must match."},
    {"nmd.yarn.allow-root", NM_YARN_BOOL, FIELD(allow_root), "false",
     .meaning = "true: a container runs as root if limit-users is false and root has submitted its application, or if "
                "local-user is root. Without Kerberos any user in the cluster can claim to be root."},
    {"hadoop.tmp.dir", NM_YARN_TEXT, FIELD(tmp_dir), "/tmp/hadoop-${user.name}",
     .meaning = "Default parent of yarn.nodemanager.local-dirs and yarn.log.dir."},
    {"yarn.nodemanager.local-dirs", NM_YARN_DIRS, FIELD(local_dirs), "${hadoop.tmp.dir}/nm-local-dir",
     .meaning = "Directories for the containers' working directories and resources, one per disk. nmd stores new "
                "resources in one good directory, and changes to another good directory when that directory fails."},
    {"yarn.log.dir", NM_YARN_TEXT, FIELD(base_log_dir), "${hadoop.tmp.dir}/logs", .unlisted = true,
     .meaning = "Default parent of yarn.nodemanager.log-dirs. Hadoop's scripts set it."},
    {"yarn.nodemanager.log-dirs", NM_YARN_DIRS, FIELD(log_dirs), "${yarn.log.dir}/userlogs",
     .meaning = "Directories for the containers' logs, one per disk."},
    {DISKS "enable", NM_YARN_BOOL, FIELD(checks_disks), "true",
     .meaning = "nmd doesn't use directories that are full or not writable for containers."},
    {DISKS "interval-ms", NM_YARN_MSEC, FIELD(check_disks_usec), "120000",
     RANGE(1000, 24 * HOUR_MSEC), .meaning = "Interval between two checks of the directories."},
    {DISKS "disk-utilization-threshold.enabled", NM_YARN_BOOL, FIELD(checks_disk_use), "true",
     .meaning = "Check the used fraction of each disk."},
    {DISKS "max-disk-utilization-per-disk-percentage", NM_YARN_SHARE, FIELD(max_disk_percent), "90.0", RANGE(0, 100),
     .meaning = "A directory is full if the use of its file system is above this percentage."},
    {DISKS "disk-utilization-watermark-low-per-disk-percentage", NM_YARN_SHARE, FIELD(low_disk_percent),
     "${" DISKS "max-disk-utilization-per-disk-percentage}", RANGE(0, 100), .unlisted = true,
     .meaning = "A full directory is usable again when the use is at or below this percentage."},
    {DISKS "disk-free-space-threshold.enabled", NM_YARN_BOOL, FIELD(checks_disk_room), "true",
     .meaning = "Check the free space of each disk."},
    {DISKS "min-free-space-per-disk-mb", NM_YARN_NUMBER, FIELD(min_free_disk_mib), "0",
     RANGE(0, INT32_MAX), .meaning = "A directory is full if its file system has less free space than this."},
    {DISKS "min-free-space-per-disk-watermark-high-mb", NM_YARN_NUMBER, FIELD(high_free_disk_mib), "0",
     RANGE(0, INT32_MAX), .meaning = "A full directory is usable again when its file system has this free space."},
    {DISKS "min-healthy-disks", NM_YARN_SHARE, FIELD(min_healthy_disks), "0.25",
     RANGE(0, 1), .meaning = "The node is unhealthy if the fraction of good directories is below this value."},
    {"yarn.nodemanager.env-whitelist", NM_YARN_LIST, FIELD(env_whitelist),
     "JAVA_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,CLASSPATH_PREPEND_DISTCACHE,HADOOP_YARN_HOME,"
     "HADOOP_HOME,PATH,LANG,TZ",
     .meaning = "Names of variables. If a container doesn't set such a variable, it gets the value in nmd's "
                "environment."},
    {"yarn.nodemanager.admin-env", NM_YARN_TEXT, FIELD(admin_env), "MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX",
     .meaning = "Variables for all containers: NAME=value, separated by commas. If a container sets the same variable, "
                "this value is appended after a ':'. $NAME is the value in the container's or in nmd's environment."},
    {"yarn.nodemanager.force.path", NM_YARN_TEXT, FIELD(force_path), "", .unlisted = true,
     .meaning = "Directories, separated by ':', that are put before the PATH of a container."},
    {"yarn.nodemanager.user-home-dir", NM_YARN_TEXT, FIELD(user_home_dir), "/home/", .unlisted = true,
     .meaning = "Value of HOME in containers."},
    {"nmd.yarn.java-version", NM_YARN_NUMBER, FIELD(java_version), "0", RANGE(0, 1000),
     .meaning = "Version of the Java that runs containers. From 17 on, <ADD_OPENS> in a command is replaced by the "
                "options that Hadoop needs. 0: the version in the file $JAVA_HOME/release."},
    {"yarn.nodemanager.localizer.cache.target-size-mb", NM_YARN_NUMBER, FIELD(cache_target_mib), "10240",
     RANGE(0, INT32_MAX), .meaning = "nmd removes unused resources when all resources together are larger than this."},
    {"yarn.nodemanager.localizer.fetch.thread-count", NM_YARN_NUMBER, FIELD(localizer_threads), "4", RANGE(1, 100),
     .meaning = "Maximum number of processes that fetch or remove resources at the same time."},
    {"nmd.yarn.localizer-memory-mb", NM_YARN_NUMBER, FIELD(localizer_memory_mib), "512", RANGE(64, INT32_MAX),
     .meaning = "Maximum memory of each process that fetches or removes resources or uploads logs, except fetch "
                "commands (nmd.fetch-command.*). It is also HADOOP_HEAPSIZE_MAX of fetch commands if nmd's environment "
                "doesn't set that variable."},
    {"nmd.yarn.localizer-timeout-ms", NM_YARN_MSEC, FIELD(localizer_timeout_usec), "300000", RANGE(5000, HOUR_MSEC),
     .meaning = "A worker (nm-localizer) that reports no progress for this time is killed. For example, its user may "
                "have stopped it with SIGSTOP. A worker that waits for a slow server reports progress."},
    {"nmd.yarn.fetch-command-memory-mb", NM_YARN_NUMBER, FIELD(command_memory_mib), "0", RANGE(0, INT32_MAX),
     .meaning = "Maximum writable memory (RLIMIT_DATA) of each process of a fetch command. A JVM needs more "
                "writable memory on a larger host. 0: no limit, but the heap of a JVM is limited by "
                "nmd.yarn.localizer-memory-mb."},
    {"nmd.webhdfs.ca-file", NM_YARN_TEXT, FIELD(webhdfs_ca_file), "",
     .meaning = "PEM file, readable for all users, with the CA certificates of HDFS's servers. Used if "
                "dfs.http.policy is HTTPS_ONLY, and for swebhdfs: URIs. nmd can't read the Java truststore of "
                "ssl-client.xml. Empty: the store of the system."},
    {"yarn.nodemanager.log.retain-seconds", NM_YARN_NUMBER, FIELD(log_retain_sec), "10800", RANGE(0, INT32_MAX),
     .meaning = "Time for which the logs of an application are kept after its end, if they aren't uploaded or if their "
                "upload was given up."},
    {"yarn.log-aggregation-enable", NM_YARN_BOOL, FIELD(logs.enabled), "false",
     .meaning = "true: the logs of an application are uploaded to yarn.nodemanager.remote-app-log-dir, and are then "
                "removed from the node."},
    {"yarn.log-aggregation.file-formats", NM_YARN_LIST, FIELD(logs.formats), "TFile",
     .meaning = "Names of the formats of uploaded logs. nmd writes the first one. "
                "yarn.log-aggregation.file-controller.NAME.class defines a name: TFile or IndexedFile."},
    {REMOTE_LOGS, NM_YARN_TEXT, FIELD(logs.base_dir), "/tmp/logs",
     .meaning = "Directory to which logs are uploaded: a path of the default file system, or an hdfs:, webhdfs:, "
                "swebhdfs: or file: URI. yarn.log-aggregation.NAME.remote-app-log-dir replaces it for one format."},
    {REMOTE_LOGS "-suffix", NM_YARN_TEXT, FIELD(logs.base_suffix), "logs",
     .meaning = "Part of the names of the directories below. The format's name is appended to it, in lower case. "
                "yarn.log-aggregation.NAME.remote-app-log-dir-suffix replaces both for one format."},
    {REMOTE_LOGS ".groupname", NM_YARN_TEXT, FIELD(logs.group), "", .unlisted = true,
     .meaning = "Group of the remote directory, which nmd sets when it creates the directory. Empty: the group that "
                "the file system chooses."},
    {UPLOADS "roll-monitoring-interval-seconds", NM_YARN_NUMBER, FIELD(logs.roll_sec), "-1", RANGE(-1, INT32_MAX),
     .meaning = "Interval between two uploads of a running application that has a pattern for rolled logs. 0 or less: "
                "logs are uploaded only at the end of the application."},
    {UPLOADS "roll-monitoring-interval-seconds.min", NM_YARN_NUMBER, FIELD(logs.roll_min_sec), "3600",
     RANGE(-1, INT32_MAX),
     .meaning = "Minimum of roll-monitoring-interval-seconds. Shorter intervals are raised to it."},
    {UPLOADS "num-log-files-per-app", NM_YARN_NUMBER, FIELD(logs.max_files), "30", RANGE(1, 100000),
     .meaning = "Maximum number of files that this node keeps for a running application (TFile). The oldest files are "
                "deleted."},
    {UPLOADS "policy.class", NM_YARN_TEXT, FIELD(logs.policy), LOG_POLICIES "AllContainerLogAggregationPolicy",
     .meaning = "Containers whose logs are uploaded, if the application doesn't choose them: one of Hadoop's "
                "policies."},
    {UPLOADS "policy.parameters", NM_YARN_TEXT, FIELD(logs.policy_parameters), "", .unlisted = true,
     .meaning = "Parameters of policy.class."},
    {"yarn.log-aggregation.enable-local-cleanup", NM_YARN_BOOL, FIELD(logs.cleans_up), "true",
     .meaning = "false: nmd doesn't remove uploaded logs from the node."},
    {"yarn.log-aggregation.retain-seconds", NM_YARN_NUMBER, FIELD(logs.retain_sec), "-1", RANGE(INT32_MIN, INT32_MAX),
     .meaning = "Age at which the JobHistory server deletes uploaded logs. nmd doesn't upload the logs of an "
                "application that ended earlier than this. 0 or less: no limit."},
    {"nmd.log-aggregation.uploads", NM_YARN_NUMBER, FIELD(logs.uploads), "4", RANGE(1, 64),
     .meaning = "Maximum number of applications whose logs are uploaded at the same time."},
    {"nmd.log-aggregation.retry-seconds", NM_YARN_NUMBER, FIELD(logs.retry_sec), "3600", RANGE(0, INT32_MAX),
     .meaning = "Time for which nmd repeats the last upload of an application that fails. Afterwards the logs stay on "
                "the node for yarn.nodemanager.log.retain-seconds."},
    {"nmd.log-aggregation.owner", NM_YARN_TEXT, FIELD(logs.owner), "yarn",
     .meaning = "User that creates the remote directory: the user of NodeManagers in HDFS."},
    {"yarn.nodemanager.delete.debug-delay-sec", NM_YARN_NUMBER, FIELD(delete_delay_sec), "0", RANGE(-1, INT32_MAX),
     .meaning = "Time for which the files of a container are kept after its end. -1: no limit."},
    {"yarn.nodemanager.container.stderr.tail.bytes", NM_YARN_NUMBER, FIELD(stderr_tail_bytes), "4096",
     RANGE(0, 65536), .meaning = "Maximum number of bytes of a failed container's standard error in its diagnostics."},
    {"yarn.nodemanager.container.stderr.pattern", NM_YARN_TEXT, FIELD(stderr_pattern), "{*stderr*,*STDERR*}",
     .meaning = "Log files with the container's standard error: a pattern, or {several,patterns}. nmd shows the "
                "newest file that matches."},
    {"yarn.nodemanager.log-container-debug-info.enabled", NM_YARN_BOOL, FIELD(debug_info), "true",
     .meaning = "The logs of a container include a copy of its launch_container.sh, and directory.info, a list of the "
                "files in its working directory."},
    {"yarn.nodemanager.amrmproxy.enabled", NM_YARN_BOOL, FIELD(proxy), "false",
     .meaning = "nmd runs a proxy between the application masters on this node and the ResourceManager. Masters use "
                "it if yarn.resourcemanager.scheduler.address in their configuration is the proxy's address. If there "
                "are several ResourceManagers, yarn.resourcemanager.scheduler.address.ID must be it for each ID."},
    {"yarn.nodemanager.distributed-scheduling.enabled", NM_YARN_BOOL, FIELD(distributed), "false",
     .meaning = "nmd runs the proxy, and the proxy places opportunistic containers on the nodes that the "
                "ResourceManager lists as the least loaded. This property must also be true for the ResourceManager."},
    {"yarn.nodemanager.amrmproxy.address", NM_YARN_ADDRESS, FIELD(proxy_address), "0.0.0.0:8049", RANGE(0, 65535),
     .meaning = "Address on which the proxy listens. 0.0.0.0: all addresses of the host. Port 0: any free port."},
    {"yarn.nodemanager.amrmproxy.interceptor-class.pipeline", NM_YARN_LIST, FIELD(proxy_stages),
     "org.apache.hadoop.yarn.server.nodemanager.amrmproxy.DefaultRequestInterceptor",
     .meaning = "Stages that process a master's calls, named by the equivalent Java classes. If distributed "
                "scheduling is enabled, its stage comes first."},
    {"nmd.distributed-scheduling.fill-nodes", NM_YARN_BOOL, FIELD(fill_nodes), "false",
     .meaning = "true: the proxy may place several containers of an application on a node in one heartbeat, as long as "
                "the node's queue has room. false: it places at most one per heartbeat of the application's master, "
                "as Hadoop's proxy does."},
    {"yarn.resourcemanager.opportunistic.max.container-allocation.per.am.heartbeat", NM_YARN_NUMBER,
     FIELD(per_am_heartbeat), "-1", RANGE(-1, INT32_MAX),
     .meaning = "Maximum number of containers that distributed scheduling allocates in one heartbeat of a master. -1: "
                "no limit."},
    {"nmd.lending", NM_YARN_LENDING_TEXT, FIELD(lending.text), "off",
     .meaning = "What the proxy lends to applications that ask for guaranteed containers only, as opportunistic "
                "containers. allowed: what NMD_LEND of the application requests. overflow: what was not granted for "
                "this time. percent: at most this share of the containers of each ask. observe: nothing; nmd reports "
                "what overflow:30 would lend. nmd.lending.user.NAME, nmd.lending.queue.NAME and nmd.lending.type.TYPE "
                "replace the value for some applications."},
    {"nmd.lending.types", NM_YARN_LIST, FIELD(lending.types), "MAPREDUCE,SPARK,TEZ",
     .meaning = "Types of the applications to which anything is lent."},
    {"nmd.lending.application-max-mb", NM_YARN_NUMBER, FIELD(lending.application_max_mib), "-1", RANGE(-1, INT32_MAX),
     .meaning = "Maximum memory that is lent to an application at the same time. -1: no limit."},
    {"nmd.lending.queue-max-mb", NM_YARN_NUMBER, FIELD(lending.queue_max_mib), "-1", RANGE(-1, INT32_MAX),
     .meaning = "Maximum memory that is lent at the same time to those applications of a queue whose masters run on "
                "this node. -1: no limit."},
    {"nmd.lending.node-max-mb", NM_YARN_NUMBER, FIELD(lending.node_max_mib), "-1", RANGE(-1, INT32_MAX),
     .meaning = "Maximum memory that is lent to an application on one node at the same time. -1: no limit."},
    {"nmd.lending.central", NM_YARN_BOOL, FIELD(lending.central), "false",
     .meaning = "true: the proxy may lend without distributed scheduling. Then the ResourceManager places lent "
                "containers, so all nodes must run nmd: on a Java NodeManager, such a container only waits."},
    {"yarn.resourcemanager.scheduler.address", NM_YARN_ADDRESS, FIELD(scheduler),
     "${yarn.resourcemanager.hostname}:8030", RANGE(1, 65535),
     .meaning = "Address at which the ResourceManager serves application masters. The proxy forwards calls to it."},
    {"yarn.resourcemanager.address", NM_YARN_ADDRESS, FIELD(rm_client), "${yarn.resourcemanager.hostname}:8032",
     RANGE(1, 65535),
     .meaning = "Address at which the ResourceManager serves clients. The proxy asks it for the type and the queue of "
                "applications if containers may be lent."},
    {"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs", NM_YARN_NUMBER, FIELD(amrm_roll_sec),
     "86400", RANGE(1, INT32_MAX),
     .meaning = "Interval at which the proxy makes a new key for its tokens, as the ResourceManager does."},
    {"yarn.am.liveness-monitor.expiry-interval-ms", NM_YARN_MSEC, FIELD(am_expiry_usec), "600000",
     RANGE(1, 24 * HOUR_MSEC),
     .meaning = "A master that sends no heartbeat for this time is considered dead. The proxy uses a new key after "
                "1.5 times this time."},
    {"mapreduce.shuffle.port", NM_YARN_NUMBER, FIELD(shuffle_port), "13562", RANGE(0, 65535),
     .meaning = "Port at which reducers fetch map outputs. 0: any free port."},
    {"mapreduce.shuffle.max.connections", NM_YARN_NUMBER, FIELD(shuffle_max_connections), "0", RANGE(0, 8192),
     .meaning = "Maximum number of connections from reducers. 0: 8192."},
    {SPARK "shuffle.service.port", NM_YARN_NUMBER, FIELD(spark.port), "7337", RANGE(0, 65535), .unlisted = true,
     .meaning = "Port at which Spark's auxiliary service serves the shuffle files of executors, which read this "
                "property from yarn-site.xml or from the configuration of their job. 0: any free port, for tests."},
    {SPARK "authenticate", NM_YARN_BOOL, FIELD(spark.authenticates), "false", .unlisted = true,
     .meaning = "Clients of Spark's service must know the secret of their application."},
    {SPARK "network.crypto.enabled", NM_YARN_BOOL, FIELD(spark.has_crypto), "false", .unlisted = true,
     .meaning = "Clients of Spark's service may use Spark's own handshake, which encrypts the connection with AES."},
    {SPARK "network.crypto.saslFallback", NM_YARN_BOOL, FIELD(spark.falls_back), "true", .unlisted = true,
     .meaning = "With spark.network.crypto.enabled, clients of Spark's service may use SASL, too."},
    {SPARK "network.crypto.authEngineVersion", NM_YARN_NUMBER, FIELD(spark.crypto_version), "1", RANGE(1, 2),
     .unlisted = true,
     .meaning = "Version of Spark's own handshake. It is not negotiated: applications must have the same value."},
    {SPARK "network.sasl.serverAlwaysEncrypt", NM_YARN_BOOL, FIELD(spark.must_encrypt), "false", .unlisted = true,
     .meaning = "Clients of Spark's service that use SASL must encrypt their connections."},
    {SPARK "shuffle.maxChunksBeingTransferred", NM_YARN_NUMBER, FIELD(spark.max_chunks), "9223372036854775807",
     RANGE(1, INT64_MAX), .unlisted = true,
     .meaning = "Number of blocks that Spark's service sends at the same time. A client that asks for another block "
                "loses its connection, and tries again."},
    {SPARK "network.timeout", NM_YARN_SPARK_TIME, FIELD(spark.network_timeout_usec), "120s",
     RANGE(1000, 24 * HOUR_MSEC), .unlisted = true,
     .meaning = "Default of spark.shuffle.io.connectionTimeout."},
    {SPARK "shuffle.io.connectionTimeout", NM_YARN_SPARK_TIME, FIELD(spark.timeout_usec), "${spark.network.timeout}",
     RANGE(1000, 24 * HOUR_MSEC), .unlisted = true,
     .meaning = "Spark's service closes a connection on which nothing is sent or received for this time. If neither "
                "this property nor spark.network.timeout is set: 240 s without a request, or 60 s in which the client "
                "doesn't read."},
    {SPARK "shuffle.io.backLog", NM_YARN_NUMBER, FIELD(spark.backlog), "-1", RANGE(-1, 65535), .unlisted = true,
     .meaning = "Number of connections that may wait until Spark's service accepts them. -1 or 0: 512."},
    {SPARK "shuffle.io.enableTcpKeepAlive", NM_YARN_BOOL, FIELD(spark.keeps_alive), "false", .unlisted = true,
     .meaning = "The kernel checks whether the clients of idle connections of Spark's service are still there."},
    {SPARK "yarn.shuffle.stopOnFailure", NM_YARN_BOOL, FIELD(spark.must_start), "true", .unlisted = true,
     .meaning = "true: nmd doesn't start if Spark's service can't listen. false: nmd starts, and starts the service "
                "again until it can."},
    {SPARK "yarn.shuffle.service.metrics.namespace", NM_YARN_TEXT, FIELD(spark.bean), "sparkShuffleService",
     .unlisted = true, .meaning = "Name of the bean at /jmx that has the figures of Spark's auxiliary service."},
    {"mapreduce.shuffle.manage.os.cache", NM_YARN_BOOL, FIELD(shuffle_drops_cache), "true", .unlisted = true,
     .meaning = "Map outputs that must be read from a disk are removed from the page cache after they are sent. "
                "Outputs in the page cache stay there."},
};
const size_t nm_yarn_n_keys = NM_ARRAY_SIZE(nm_yarn_keys);
