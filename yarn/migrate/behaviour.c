/* SPDX-License-Identifier: Apache-2.0 */

/* See behaviour.h. */

#include "yarn/migrate/behaviour.h"

#include "util/macros.h"

#define NM "yarn.nodemanager."
#define IF_SET NM_MIGRATE_IF_SET
#define IF_UNSET NM_MIGRATE_IF_UNSET
#define ALWAYS NM_MIGRATE_ALWAYS
#define THREADS "Threads, timers and JVMs of Hadoop's NodeManager. nmd doesn't have them."
#define MEASURES \
    "nmd measures containers by their control groups, at its own interval ([sampling] period in nmd.conf)."
#define OWN_GROUPS "nmd makes its own control groups in nm.slice, without a setuid program."
#define NO_KERBEROS "Without effect, because nmd supports only clusters without Kerberos."
#define NO_SUCH_FUNCTION "A detail of a function that nmd doesn't have."
#define AGGREGATION "nmd uploads logs in its own way: nmd.log-aggregation.uploads limits the uploads at a time."
#define OWN_DIRS "nmd checks and arranges its directories in its own way."
#define METRICS \
    "The node's metrics are served at /jmx as by Hadoop's NodeManager, and at /metrics for Prometheus. There are no " \
    "metrics of single containers, no port of JMX and no sinks of hadoop-metrics2."
#define LIMITED "The kernel enforces memory limits by cgroup v2."

const struct nm_migrate_behaviour nm_migrate_behaviours[] = {
    /* supported properties whose function works in another way */
    {NM "pmem-check-enabled", true, ALWAYS,
     "The kernel enforces the memory limit of each container by cgroup v2, and kills a container as soon as it exceeds "
     "the limit. Hadoop's NodeManager adds up the memory of the processes every few seconds. The page cache that a "
     "container uses counts for its limit, but is reclaimed before the container is killed."},
    {NM "resource.cpu-vcores", true, ALWAYS,
     "The vcores of a container are its share of the node's CPUs, in proportion to the vcores of the other containers. "
     "A container can use idle CPU. Hadoop's DefaultContainerExecutor doesn't divide the CPUs at all."},
    {NM "resource.memory-mb", true, IF_UNSET,
     "If no file sets the size, it is Hadoop's default of 8192 MB, but a host with less than 10 GiB offers only the "
     "memory that it has."},
    {NM "opportunistic-containers-max-queue-length", true, ALWAYS,
     "Opportunistic containers start while the measured use of the node leaves room, not only while resources are "
     "unallocated. nmd takes resources back from them when the use of the node rises. A container that waits too long "
     "is returned to the ResourceManager ([queue] give-back in nmd.conf)."},
    {NM "container-executor.class", true, ALWAYS,
     "nmd runs as root and starts containers itself. With either executor containers run as the user nobody or as "
     "their submitter, and never as the user of the NodeManager."},
    {NM "local-dirs", true, ALWAYS,
     "These directories and the directories above them must belong to root. nmd --yarn-setup gives them to root. A "
     "directory with more free space gets more containers. New resources are kept in one of the directories."},
    {NM "log-dirs", true, ALWAYS,
     "These directories and the directories above them must belong to root. nmd --yarn-setup gives them to root."},
    {NM "health-checker.script.path", true, IF_SET,
     "nmd runs the script as its own user, which is root in the service. Only root may be able to change the script or "
     "a directory above it. The node reports that it is unhealthy only after 30 seconds."},
    {NM "env-whitelist", true, ALWAYS,
     "Containers get these variables from nmd's own environment. nmd doesn't run yarn-env.sh or hadoop-env.sh. nmd "
     "--yarn-setup copies JAVA_HOME and the variables of Hadoop to the unit of nmd."},
    {NM "recovery.enabled", true, ALWAYS,
     "nmd always saves its state, and adopts the containers after a crash whatever the value. If the value or "
     "recovery.supervised is false, the cluster's containers end when nmd is stopped or upgraded."},
    {NM "webapp.address", true, ALWAYS,
     "The pages below /node are nmd's own and read-only. The web services below /ws/v1/node, /jmx, /conf and the logs "
     "of containers answer as with Hadoop's NodeManager. /conf has only the properties that nmd reads, and /logLevel "
     "and /stacks don't exist."},
    {NM "localizer.address", true, ALWAYS,
     "nmd has no localizer port. nm-localizer, a process of the container's user, fetches resources. It reads HDFS by "
     "WebHDFS, so the node must reach the HTTP ports of the name nodes and data nodes."},
    {NM "container-metrics.enable", true, ALWAYS, METRICS},
    {NM "container-metrics.", true, IF_SET, METRICS},
    {NM "resource-plugins", true, IF_SET,
     "A GPU is isolated by systemd's DeviceAllow, in place of a setuid program. The node needs systemd as PID 1; else "
     "nmd warns that containers can open all GPUs. A container gets CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES. A "
     "guaranteed container that needs a GPU ends opportunistic containers that have one, the latest-started first."},
    {NM "resource-type.", true, IF_SET,
     "A guaranteed container that needs the resource ends opportunistic containers that have it. An opportunistic "
     "container waits on the node until the resource is free."},
    {NM "aux-services", false, IF_SET,
     "nm-shuffle and nm-spark-shuffle, processes of their own, serve the files of MapReduce and of Spark at the same "
     "ports and with the same protocols. Other services run in one process of Java beside nmd, which needs Java and "
     "Hadoop's jars on the node."},
    {"fs.defaultFS", false, IF_SET,
     "Resources without a scheme are fetched from this file system."},
    {"dfs.nameservices", false, IF_SET, "nm-localizer finds the name nodes by this property."},
    {"dfs.ha.namenodes.", false, IF_SET, "nm-localizer finds the name nodes by this property."},
    {"dfs.namenode.http-address", false, IF_SET, "nm-localizer reads from this address by WebHDFS."},
    {"dfs.namenode.http-address.", false, IF_SET, "nm-localizer reads from this address by WebHDFS."},
    {"dfs.namenode.https-address", false, IF_SET,
     "nm-localizer reads from this address if dfs.http.policy requires it."},
    {"dfs.namenode.https-address.", false, IF_SET,
     "nm-localizer reads from this address if dfs.http.policy requires it."},
    {NM "admin-env.", false, IF_SET, "The variable is set for all containers."},
    {"nmd.", false, IF_SET, "A setting of nmd itself."},

    /* resources */
    {NM "vmem-check-enabled", true, IF_SET, "nmd doesn't limit virtual memory, whatever the value. " LIMITED},
    {NM "vmem-pmem-ratio", true, IF_SET, "nmd doesn't limit virtual memory. " LIMITED},
    {NM "resource.memory.enabled", false, IF_SET, "nmd always limits memory. " LIMITED},
    {NM "resource.memory.cgroups.", true, IF_SET,
     "nmd itself chooses the soft limit and the swap of a container, by its execution type."},
    {NM "resource.cpu.enabled", false, IF_SET, "nmd always divides the CPUs by cgroup weights."},
    {NM "resource.count-logical-processors-as-cores", true, IF_SET, "nmd counts logical processors as CPUs."},
    {NM "resource.disk.", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "resource.network.", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "elastic-memory-control.", true, IF_SET, "nmd handles a lack of memory itself. " LIMITED},
    {NM "resource-monitor.interval-ms", true, IF_SET, MEASURES},
    {NM "resource-calculator.class", true, IF_SET, MEASURES},
    {NM "container-monitor.", true, IF_SET, MEASURES},
    {NM "linux-container-executor.group", true, IF_SET, OWN_GROUPS},
    {NM "linux-container-executor.path", true, IF_SET, OWN_GROUPS},
    {NM "linux-container-executor.resources-handler.class", true, IF_SET, OWN_GROUPS},
    {NM "linux-container-executor.cgroups.", true, IF_SET, OWN_GROUPS},
    {NM "numa-awareness.", true, IF_SET, NO_SUCH_FUNCTION},

    /* functions that a rule refuses or warns of */
    {NM "runtime.linux.", true, IF_SET, "nmd runs containers as processes without images, so this has no effect."},
    {NM "resource-plugins.gpu.docker-plugin", true, IF_SET,
     "nmd runs containers as processes without images, so this has no effect."},
    {NM "resource-plugins.gpu.docker-plugin.", true, IF_SET,
     "nmd runs containers as processes without images, so this has no effect."},
    {NM "resource-plugins.", true, IF_SET, "nmd offers no devices except GPUs, so this has no effect."},
    {NM "pluggable-device-framework.", true, IF_SET, "nmd offers no devices except GPUs, so this has no effect."},
    {NM "aux-services.manifest", true, IF_SET, "nmd reads no manifest of auxiliary services, so this has no effect."},
    {NM "aux-services.manifest.", true, IF_SET, "nmd reads no manifest of auxiliary services, so this has no effect."},
    {NM "aux-services.", false, IF_SET,
     "The programs of the services of MapReduce and of Spark are parts of nmd, which only looks for "
     "spark-shuffle-site.xml in the class path of Spark's service. Other services run in one process of Java beside "
     "nmd."},
    {NM "csi-driver.", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "csi-driver-adaptor.", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "network-tagging", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "network-tagging.", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "container-log-monitor.", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "log.delete.threshold", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "emit-container-events", true, IF_SET, "nmd publishes nothing to the timeline service."},
    {NM "collector-service.", true, IF_SET, "nmd publishes nothing to the timeline service, and opens no such port."},
    {NM "health-checker.", true, IF_SET, "nmd runs only one health script, and this has no effect on it."},
    {NM "remote-app-log-dir-", true, IF_SET, AGGREGATION},
    {NM "log-aggregation.", true, IF_SET, AGGREGATION},
    {NM "logaggregation.", true, IF_SET, AGGREGATION},
    {NM "amrmproxy.wait.uam-register.done", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "amrmproxy.address.splitmerge.printmaxrrcount", true, IF_SET, NO_SUCH_FUNCTION},
    {NM "least-load-policy-selector.", true, IF_SET, NO_SUCH_FUNCTION},

    /* the network and its protection */
    {NM "keytab", true, IF_SET, NO_KERBEROS},
    {NM "principal", true, IF_SET, NO_KERBEROS},
    {NM "webapp.spnego-", true, IF_SET, NO_KERBEROS},
    {NM "webapp.https.address", true, IF_SET, "nmd serves its pages without TLS, and opens no such port."},
    {NM "webapp.rest-csrf.", false, IF_SET, "nmd's pages are read-only, so they need no such protection."},
    {NM "webapp.xfs-filter.", false, IF_SET, "nmd's pages can't be shown in a frame of another page."},
    {"mapreduce.shuffle.", false, IF_SET, "nm-shuffle chooses the sizes of its threads and buffers itself."},

    /* directories */
    {NM "recovery.dir", true, IF_SET, "nmd saves its state in its own directory, /var/lib/nmd (--state-dir)."},
    {NM "disk-health-checker.working-dir-content-accessibility-validation.enabled", true, IF_SET, OWN_DIRS},
    {NM "local-cache.max-files-per-directory", false, IF_SET, OWN_DIRS},
    {NM "disk-validator", true, IF_SET, OWN_DIRS},
    {NM "container-diagnostics-maximum-size", true, IF_SET, "nmd has its own limits for the texts of a container."},
    {NM "good-local-dirs", false, IF_SET, "Hadoop's NodeManager sets this itself and doesn't read it from files."},
    {NM "good-log-dirs", false, IF_SET, "Hadoop's NodeManager sets this itself and doesn't read it from files."},

    /* Java */
    {NM "container-localizer.", true, IF_SET,
     "The localizer is a program in C. nmd.yarn.localizer-memory-mb limits its memory."},
    {NM "localizer.client.thread-count", false, IF_SET, THREADS},
    {NM "localizer.cache.cleanup.interval-ms", false, IF_SET, "nmd removes unused resources when they are too large."},
    {NM "container-manager.thread-count", false, IF_SET, THREADS},
    {NM "amrmproxy.client.thread-count", false, IF_SET, THREADS},
    {NM "delete.thread-count", false, IF_SET, THREADS},
    {NM "log.deletion-threads-count", false, IF_SET, THREADS},
    {NM "container-executor.exit-code-file.timeout-ms", false, IF_SET, THREADS},
    {NM "process-kill-wait.ms", false, IF_SET, "nmd waits for the kernel's report that all processes have ended."},
    {NM "recovery.compaction-interval-secs", false, IF_SET, THREADS},
    {NM "dispatcher.metric.enable", false, IF_SET, THREADS},
    {NM "duration-to-track-stopped-containers", false, IF_SET, THREADS},
    {NM "resourcemanager.connect.max-wait.ms", true, IF_SET,
     "nmd never gives up: it tries to connect to the ResourceManager without a limit of time."},
    {NM "windows-", false, IF_SET, "Applies only to Windows."},
};
const size_t nm_migrate_n_behaviours = NM_ARRAY_SIZE(nm_migrate_behaviours);

const struct nm_migrate_behaviour *nm_migrate_find_behaviour(const char *name)
{
    const struct nm_migrate_behaviour *of_prefix = NULL;

    for (size_t i = 0; i < nm_migrate_n_behaviours; i++) {
        const struct nm_migrate_behaviour *b = &nm_migrate_behaviours[i];
        const size_t n = strlen(b->name);

        if (nm_streq(b->name, name))
            return b;
        if (!of_prefix && strchr(".-", b->name[n - 1]) && strncmp(b->name, name, n) == 0)
            of_prefix = b;
    }
    return of_prefix;
}
