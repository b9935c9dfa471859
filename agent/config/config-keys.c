/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of keys. It has all information about a key that is shown to users (allowed values, default, meaning). The
 * packaged nmd.conf, nmd.conf(5), `nmctl config` and the error messages are made from the table, so they always agree
 * with the parser. Defaults and ranges have the same text form as values in a file, and are converted by the same
 * parser.
 */

#include "agent/config/config-keys.h"

#include <assert.h>

const struct nm_config_section nm_config_sections[] = {
    {"node", "The resources that the node offers to containers. The kernel limits the sum of all containers to them."},
    {"over-allocation", "Starts of opportunistic containers by measured use instead of requests."},
    {"queue", "The queue in which opportunistic containers wait for room."},
    {"preemption",
     "How resources are taken back from opportunistic containers when use is too high."},
    {"sampling", "How often and on which events the node is measured."},
    {"containers", "Defaults and limits of single containers, and the users that they may run as."},
    {"interface", "The local socket and the read-only HTTP address."},
    {"yarn", "The node as part of a Hadoop cluster. The cluster's own configuration files have all other settings."},
    {"health", "When the node counts as unhealthy. An unhealthy node starts no containers, and its status has the "
               "reason."},
    {"paths", "Directories of nmd."},
};
const size_t nm_config_n_sections = NM_ARRAY_SIZE(nm_config_sections);

#define FIELD(field) .offset = offsetof(struct nm_config, field)
#define RANGE(low, high) .min = (low), .max = (high)
#define WORD(text, value) .word = (text), .word_value = (value)
#define OR_WORD(text, value) .other = (text), .other_value = (value)

const struct nm_config_key nm_config_keys[] = {
    {"node", "memory", NM_CONFIG_SIZE, FIELD(memory_bytes), .fallback = "auto",
     RANGE("16M", "1024T"), WORD("auto", 0),
     .meaning = "Memory for all containers together. auto: the node's memory, less system-reserved-memory and pools of "
                "huge pages. A size larger than the node's memory is refused. The rest of the node's memory is for the "
                "system. When the node's memory changes (a balloon, a pool of huge pages), auto follows. A "
                "configured size that no longer fits is reduced for as long as it doesn't fit."},
    {"node", "vcores", NM_CONFIG_COUNT, FIELD(vcores), .fallback = "auto", RANGE("1", "100000"),
     WORD("auto", 0),
     .meaning = "Number of vcores into which the online CPUs are divided. auto: one vcore is one CPU. Example: with 16 "
                "on a node of 8 CPUs, one vcore is half a CPU, or a quarter of a CPU while only 4 CPUs are online."},
    {"node", "system-reserved-memory", NM_CONFIG_SIZE, FIELD(system_reserved_memory_bytes),
     .fallback = "auto", RANGE("0", "1024T"), WORD("auto", UINT64_MAX),
     .meaning = "Memory that is kept for the kernel, system services and nmd itself when memory is "
                "auto. auto: 5 % of the node's memory, at least 256M and at most 2G, but never "
                "more than half of it."},
    {"node", "system-reserved-vcores", NM_CONFIG_VCORES, FIELD(system_reserved_vcores_milli),
     .fallback = "0", RANGE("0", "100000"),
     .meaning = "CPU that is kept for the system, in vcores."},

    {"over-allocation", "enabled", NM_CONFIG_BOOL, FIELD(over_allocation), .fallback = "yes",
     .meaning = "yes: opportunistic containers start while measured use is low enough. no: an opportunistic container "
                "starts only if the requests of all containers together fit the node, and resources are taken back "
                "only to make room for guaranteed containers."},
    {"over-allocation", "memory-threshold", NM_CONFIG_FRACTION,
     FIELD(over_allocation_threshold.memory), .fallback = "0.8", RANGE("0", "1"),
     .min_exclusive = true,
     .meaning = "Over-allocation threshold (alpha) of memory: no opportunistic container starts or resumes while use "
                "is at or above this share of capacity. Must be below [preemption] memory-threshold: the difference "
                "prevents containers from being started and taken back alternately."},
    {"over-allocation", "cpu-threshold", NM_CONFIG_FRACTION, FIELD(over_allocation_threshold.cpu),
     .fallback = "auto", RANGE("0", "1"), .min_exclusive = true, WORD("auto", 0),
     .meaning = "Over-allocation threshold (alpha) of CPU: no opportunistic container starts or resumes while CPU use "
                "is at or above this share of capacity. Must be below [preemption] cpu-threshold. auto: 0.99 if the "
                "kernel gives opportunistic containers only the CPU that others leave (cpu.idle) and measures how long "
                "guaranteed containers wait for CPU (cpu.pressure), otherwise 0.8. nmctl config shows the value in "
                "force and the reason."},
    {"over-allocation", "warmup", NM_CONFIG_DURATION, FIELD(warmup_usec), .fallback = "15s",
     RANGE("0s", "1h"),
     .meaning = "For this time after its start, a container counts with at least its request, because it does not use "
                "all of it yet. If the time is too short, a burst of starts exceeds the capacity."},
    {"over-allocation", "warmup-samples", NM_CONFIG_COUNT, FIELD(warmup_samples), .fallback = "3",
     RANGE("0", "100"),
     .meaning = "Number of samples that a container must also have before its measured use counts."},
    {"over-allocation", "surge-margin", NM_CONFIG_DURATION, FIELD(margin_usec), .fallback = "10min",
     RANGE("0s", "1d"),
     .meaning = "If surges of guaranteed containers destroy more than 7 % of the opportunistic work, nmd keeps memory "
                "free for another surge: for this time after each surge, and for up to four times as long if too much "
                "work is still lost. Meanwhile the second half of the queue is kept for containers that ask for more "
                "CPU per memory than most of the waiting containers, or are expected to end between two surges. Other "
                "containers are refused then, except those of a cluster. 0s: never, for nodes on which lost work does "
                "not matter."},
    {"over-allocation", "shadow", NM_CONFIG_BOOL, FIELD(shadow), .fallback = "no",
     .meaning = "yes: make and record decisions, but do not carry them out. `nmctl explain` then shows the effect of "
                "settings before they are used."},

    {"queue", "max-length", NM_CONFIG_COUNT, FIELD(queue_max_length), .fallback = "500",
     RANGE("0", "1000000"),
     .meaning = "Maximum number of opportunistic containers that wait. The default is enough for a batch that a person "
                "submits in a loop. Further containers are refused immediately, so that the submitter can choose "
                "another node. Guaranteed containers are not counted. If the limit is lowered below the present "
                "number, the newest containers are discarded."},
    {"queue", "policy", NM_CONFIG_QUEUE_POLICY, FIELD(queue_policy), .fallback = "by-length",
     .meaning = "Limit of the queue. by-length: max-length opportunistic containers. by-resources: the requests of all "
                "waiting containers, guaranteed ones included, must together fit the node; further containers are "
                "refused."},
    {"queue", "max-per-user", NM_CONFIG_COUNT, FIELD(queue_max_per_user), .fallback = "auto",
     RANGE("1", "1000000"), WORD("auto", 0),
     .meaning = "Maximum number of waiting opportunistic containers of one user, so that a single user can't fill the "
                "queue. Does not apply to administrators. auto: three quarters of max-length."},
    {"queue", "order", NM_CONFIG_QUEUE_ORDER, FIELD(queue_order), .fallback = "fifo",
     .meaning = "Which container of the queue starts next. fifo: the first to arrive; smallest-first: smallest "
                "dominant share of the node; shortest-expected-first: by the expected run time given at submission; "
                "nearly-done-app-first: the application with the highest completed share."},
    {"queue", "give-back", NM_CONFIG_DURATION, FIELD(give_back_usec), .fallback = "1min", RANGE("0s", "1d"),
     .meaning = "Only for containers of a cluster. A container that has waited for this time is returned to the "
                "cluster, which places it on another node, if no opportunistic container has started or been resumed "
                "on this node during this time because other work of the host leaves too few resources. While an "
                "opportunistic container runs on this node, the time is ten times as long, because the end of this "
                "container may let the next one start. When the last opportunistic container has ended, the wait "
                "begins again. In any case, a container waits for at most twenty times this time, or for at most ten "
                "times if it asks for more than other work of the host leaves of the node. Containers of local users "
                "are not returned. 0s: never."},
    {"queue", "backfill", NM_CONFIG_DURATION, FIELD(backfill_usec), .fallback = "10min",
     RANGE("0s", "1d"),
     .meaning = "While the first container of the queue is too large for the remaining memory, smaller containers may "
                "start before it. When only these smaller containers still prevent the start of the first container, "
                "no more containers may start before it, and the smaller ones together may delay it for this time. "
                "Then nmd kills as many of the smaller containers as it needs. The default is the default of "
                "pause-deadline. With a shorter time, more work is lost. With a longer time, the large container waits "
                "longer. 0s: no container starts before the first one, unless the first one is too large for the node "
                "at its present size."},

    {"preemption", "memory-threshold", NM_CONFIG_FRACTION, FIELD(preemption_threshold.memory),
     .fallback = "0.95", RANGE("0", "1"), .min_exclusive = true,
     .meaning = "Preemption threshold (beta) of memory: above this share of capacity, memory is taken back from "
                "opportunistic containers. One fresh sample is enough. No container that relies on unused resources of "
                "others is started if use would exceed the threshold."},
    {"preemption", "cpu-threshold", NM_CONFIG_FRACTION, FIELD(preemption_threshold.cpu),
     .fallback = "auto", RANGE("0", "1"), .min_exclusive = true, WORD("auto", 0),
     .meaning = "Preemption threshold (beta) of CPU: CPU is taken back from opportunistic containers when use has been "
                "above this share of capacity in cpu-samples samples in a row. auto: 1 if auto of [over-allocation] "
                "cpu-threshold is 0.99, otherwise 0.95. With 1, a full CPU does not slow guaranteed containers "
                "down, and CPU is taken back by stall-margin. An opportunistic container then starts when half of the "
                "CPU that it asks for is free, and shares the rest with other opportunistic containers, unless they "
                "lose work to surges of memory."},
    {"preemption", "stall-margin", NM_CONFIG_FRACTION, FIELD(stall_margin), .fallback = "0.1",
     RANGE("0", "1"),
     .meaning = "Opportunistic containers are squeezed if a guaranteed container waits for CPUs (cpu.pressure) for a "
                "larger share of time than it does without opportunistic containers, and the difference exceeds this "
                "value. nmd measures the share without opportunistic containers. 1: never. Needs squeeze, cpu.idle and "
                "cpu.pressure."},
    {"preemption", "cpu-samples", NM_CONFIG_COUNT, FIELD(cpu_samples), .fallback = "4",
     RANGE("1", "100"),
     .meaning = "Number of consecutive samples over the CPU threshold before containers are paused. Short CPU peaks "
                "are harmless, because the kernel already prefers guaranteed containers."},
    {"preemption", "settle-samples", NM_CONFIG_COUNT, FIELD(settle_samples), .fallback = "2",
     RANGE("2", "100"),
     .meaning = "Number of samples to wait after resources were freed, before more are taken back."},
    {"preemption", "victim-order", NM_CONFIG_VICTIM_ORDER, FIELD(victim_order),
     .fallback = "reverse-arrival",
     .meaning = "The containers from which resources are taken back first. reverse-arrival: latest-started; "
                "least-work-lost: least CPU time used so far; fewest-victims: the smallest set that suffices; "
                "app-fair: the application that holds the most."},
    {"preemption", "pause", NM_CONFIG_BOOL, FIELD(pause), .fallback = "yes",
     .meaning = "yes: take CPU back by freezing containers, which lose no work. no: kill them instead, as plain YARN "
                "does."},
    {"preemption", "pause-deadline", NM_CONFIG_DURATION, FIELD(pause_deadline_usec),
     .fallback = "10min", RANGE("1s", "30d"),
     .meaning = "A container that is paused for longer is killed, so that it can be started elsewhere."},
    {"preemption", "kills-per-minute", NM_CONFIG_COUNT, FIELD(kills_per_minute), .fallback = "20",
     RANGE("1", "64"),
     .meaning = "Maximum number of containers that are killed in any minute because use was over a threshold, so that "
                "a wrong measurement can't empty the node. Kills that make room for a guaranteed container are "
                "counted, but not limited."},
    {"preemption", "breaker", NM_CONFIG_DURATION, FIELD(breaker_usec), .fallback = "10s",
     RANGE("0s", "1h"),
     .meaning = "After nmd or the kernel has killed an opportunistic container because memory or CPU was short, no "
                "opportunistic container starts for this time, and for twice this time while such kills continue. If "
                "the time is longer, starts that wait lose more work than the time saves. Kills that make room for a "
                "guaranteed container don't count. `nmctl close-breaker` ends the stop."},
    {"preemption", "reclaim", NM_CONFIG_BOOL, FIELD(reclaim), .fallback = "yes",
     .meaning = "Move memory of paused containers to swap before any container is killed. Needs swap and "
                "memory.reclaim (Linux 5.19)."},
    {"preemption", "reclaim-running", NM_CONFIG_DURATION, FIELD(reclaim_running_usec),
     .fallback = "2s", RANGE("0s", "1min"),
     .meaning = "Before a running container is killed for memory, move a part of its memory to swap, if this is likely "
                "to suffice within this time. nmd estimates this from the speed of earlier reclaims, the free swap and "
                "the growth of use, which must not reach the capacity meanwhile. If it did not suffice, the container "
                "is killed. With more than some seconds, the lack of memory affects guaranteed containers. 0s: never. "
                "Needs reclaim = yes, swap and memory.reclaim."},
    {"preemption", "squeeze", NM_CONFIG_BOOL, FIELD(squeeze), .fallback = "yes",
     .meaning = "Limit the CPU of opportunistic containers together as soon as CPU use exceeds its threshold in one "
                "sample, before any container is paused. Needs the cpu controller."},
    {"preemption", "squeeze-floor", NM_CONFIG_VCORES, FIELD(squeeze_floor_vcores_milli),
     .fallback = "0.05", RANGE("0.01", "1000"),
     .meaning = "Minimum CPU of a squeezed container, so that its locks and connections still make progress."},
    {"preemption", "kill-grace", NM_CONFIG_DURATION, FIELD(kill_grace_usec), .fallback = "10s",
     RANGE("0s", "1h"),
     .meaning = "Time from SIGTERM to SIGKILL when a person ends a container. Preemption does not wait."},

    {"sampling", "period", NM_CONFIG_DURATION, FIELD(period_usec), .fallback = "3s",
     RANGE("100ms", "60s"),
     .meaning = "Time between two samples of the node and all containers. A node without containers is sampled every "
                "two periods."},
    {"sampling", "glance", NM_CONFIG_BOOL, FIELD(growth_probe), .fallback = "yes",
     .meaning = "yes: read the node's free memory and the containers' CPU time between two samples while there are "
                "opportunistic containers, so that use that may cross a preemption threshold is noticed in a fraction "
                "of the period. This reads two small files, up to 50 times a second."},
    {"sampling", "pressure-stall", NM_CONFIG_DURATION, FIELD(pressure_stall_usec),
     .fallback = "50ms", RANGE("1ms", "10s"),
     .meaning = "The kernel wakes nmd immediately when tasks have waited for memory for this time within "
                "pressure-window. nmd then takes a sample, and takes resources back only if the sample shows that this "
                "is necessary."},
    {"sampling", "pressure-window", NM_CONFIG_DURATION, FIELD(pressure_window_usec),
     .fallback = "500ms", RANGE("500ms", "10s"),
     .meaning = "Time in which tasks must have waited for memory for pressure-stall before the kernel wakes nmd. Must "
                "be longer than pressure-stall. The kernel checks ten times per window."},
    {"sampling", "history", NM_CONFIG_DURATION, FIELD(history_usec), .fallback = "10min",
     RANGE("1min", "1h"),
     .meaning = "Time for which samples are kept in memory for `nmctl top` and the status page."},
    {"sampling", "uplink-threshold", NM_CONFIG_FRACTION, FIELD(uplink_threshold), .fallback = "off",
     RANGE("0", "1"), .min_exclusive = true, WORD("off", 0),
     .meaning = "No opportunistic container starts while the link of the default route is busier than this share of "
                "its speed. off: links are measured, but do not prevent starts."},
    {"sampling", "uplink-speed-mbit", NM_CONFIG_COUNT64, FIELD(uplink_speed_mbit), .restart = true,
     .fallback = "auto", RANGE("1", "10000000"), WORD("auto", 0),
     .meaning = "Speed of the uplink in Mbit/s. auto: the speed that the link reports. Virtual links report none."},

    {"containers", "default-memory", NM_CONFIG_SIZE, FIELD(default_memory_bytes),
     .fallback = "256M", RANGE("1M", "1024T"),
     .meaning = "Memory of a container whose request has no memory size."},
    {"containers", "default-vcores", NM_CONFIG_VCORES, FIELD(default_vcores_milli), .fallback = "1",
     RANGE("0.001", "100000"), .meaning = "Vcores of a container whose request has no number of vcores."},
    {"containers", "max-containers", NM_CONFIG_COUNT, FIELD(max_containers), .fallback = "2000",
     RANGE("1", "100000"),
     .meaning = "Maximum number of live containers, those in the queue included."},
    {"containers", "max-per-user", NM_CONFIG_COUNT, FIELD(max_per_user), .fallback = "auto",
     RANGE("1", "100000"), WORD("auto", 0),
     .meaning = "Maximum number of live containers of one user. Does not apply to administrators. auto: a quarter of "
                "max-containers."},
    {"containers", "keep-ended", NM_CONFIG_DURATION, FIELD(keep_ended_usec), .fallback = "1h",
     RANGE("0s", "30d"), .meaning = "Time for which ended containers stay listed (`nmctl list --all`)."},
    {"containers", "pids-max", NM_CONFIG_COUNT64, FIELD(pids_max), .fallback = "auto",
     RANGE("1", "4194304"), WORD("auto", 0), OR_WORD("none", NM_CGROUP_NONE),
     .meaning = "Maximum number of processes and threads in one container, against fork bombs. auto: 16384, but at "
                "most three eighths of the kernel's limit on this node (threads-max, pid_max). All containers together "
                "get three quarters of the kernel's limit, whatever the value of this key, so that the rest of the "
                "system can still start processes. Needs the pids controller."},
    {"containers", "output-max", NM_CONFIG_SIZE, FIELD(output_max_bytes), .fallback = "128M",
     RANGE("64K", "1024T"),
     .meaning = "Maximum size of the log of a container's standard output, and of the log of its standard error. nmd "
                "keeps the newest output, between half of the maximum and the maximum, and a line in the log shows how "
                "many earlier bytes were removed. This is enough for the output of usual jobs, and a job with endless "
                "output does not fill the disk. The times of the output are stored in a second file of at most a "
                "sixteenth of the size. The maximum is smaller if output-share is nearly used up. A change applies to "
                "containers that start later."},
    {"containers", "output-share", NM_CONFIG_FRACTION, FIELD(output_share), .fallback = "0.5",
     RANGE("0.01", "1"),
     .meaning = "Share of the file system of log-dir that the output of all containers may use, so that the journal "
                "always has room. The share is divided when containers start: a container gets at most a sixteenth of "
                "the remaining share, and at least 128K. To make room for starting containers, logs of ended "
                "containers are shortened, the oldest first."},
    {"containers", "min-uid", NM_CONFIG_COUNT, FIELD(min_uid), .fallback = "1000",
     RANGE("0", "4294967294"),
     .meaning = "No container runs as a user with a smaller uid, unless root asks for that user by name. A request of "
                "root that names no user is refused, because the container would run as root."},
    {"containers", "banned-users", NM_CONFIG_USERS, FIELD(banned_users),
     .fallback = "hdfs yarn mapred bin",
     .meaning = "No container runs as one of these users (login names or uids), unless root asks for that user by "
                "name. Waiting containers of a user who is added to the list are not started. If several logins share "
                "a uid, give the uid. The key may be given several times in a file to add users. The first occurrence "
                "in a file replaces the list, and an empty value clears it."},
    {"containers", "no-new-privs", NM_CONFIG_BOOL, FIELD(no_new_privs), .fallback = "yes",
     .meaning = "yes: containers can't gain privileges through set-uid programs or file capabilities. An administrator "
                "can make an exception for a single container."},
    {"containers", "confine", NM_CONFIG_BOOL, FIELD(confine), .fallback = "yes",
     .meaning = "yes: containers get separate user and mount namespaces, in which /run/user and /run/dbus are empty "
                "and processes outside can be neither traced nor entered. Otherwise a user's own service manager could "
                "start processes for a container outside of its limits (systemd-run --user). Does not apply to "
                "containers of root and to containers that may gain privileges. no: for jobs that need the system's "
                "bus, the user's keyring or access to other processes of the user."},
    {"containers", "private-ipc", NM_CONFIG_BOOL, FIELD(private_ipc), .fallback = "yes",
     .meaning = "yes: with confine, containers also get a separate /dev/shm and separate System V segments and message "
                "queues, which are removed at the container's end. no: for jobs that share memory with other "
                "containers or processes of their user. Memory that containers leave there then counts as use of the "
                "slice, and nmd does not remove it."},

    {"interface", "socket-mode", NM_CONFIG_MODE, FIELD(socket_mode), .restart = true,
     .fallback = "0660", RANGE("0600", "0777"),
     .meaning = "Permissions of the socket, which belongs to root and admin-group. With 0666, every local user may run "
                "containers as this user. If systemd creates the socket, nmd.socket sets its permissions."},
    {"interface", "admin-group", NM_CONFIG_GROUP, FIELD(admin_group), .restart = true,
     .fallback = "nmd",
     .meaning = "Members may do everything that root may, except run containers as system users. "
                "Empty: only root."},
    {"interface", "http-address", NM_CONFIG_ADDRESS, FIELD(http_address), .restart = true,
     .fallback = "",
     .meaning = "Address for read-only HTTP with /metrics and the status page, such as 127.0.0.1:8042. Everybody who "
                "can connect can read it. Empty: off."},
    {"interface", "http-hosts", NM_CONFIG_HOSTS, FIELD(http_hosts), .restart = true,
     .fallback = "",
     .meaning = "More names and addresses that the Host header of a request over TCP may have, separated by spaces or "
                "commas. Always accepted are localhost, the addresses of the host's interfaces, its name with and "
                "without domain (from /etc/hosts and the search list of /etc/resolv.conf), and the names that the "
                "cluster uses for the host. All others are refused with 421, so that a web page can't make a browser "
                "read from nmd by a name of that page (DNS rebinding)."},

    {"yarn", "enabled", NM_CONFIG_BOOL, FIELD(upstream.enabled), .restart = true, .fallback = "no",
     .meaning = "yes: the node registers with the ResourceManager that the files in conf-dir name, as a NodeManager. "
                "`nmctl config` shows which of their properties nmd uses."},
    {"yarn", "conf-dir", NM_CONFIG_PATH, FIELD(upstream.conf_dir), .restart = true, .fallback = "/etc/hadoop/conf",
     .meaning = "Directory with the cluster's yarn-site.xml, core-site.xml and other files."},

    {"health", "script", NM_CONFIG_PATH, FIELD(health_script), .fallback = "",
     .meaning = "A program that nmd runs once per period as its own user. Only root and nmd's user may be able to "
                "change the program or a directory above it. The node is unhealthy if the program prints a line that "
                "begins with ERROR, or exceeds the timeout. The exit status is ignored. Empty: no script is run."},
    {"health", "period", NM_CONFIG_DURATION, FIELD(health_period_usec), .fallback = "1min",
     RANGE("1s", "1d"),
     .meaning = "Time between two health checks. A script that still runs is not started again."},
    {"health", "timeout", NM_CONFIG_DURATION, FIELD(health_timeout_usec), .fallback = "20s",
     RANGE("100ms", "1h"),
     .meaning = "A script that runs for longer is killed, and the node is unhealthy."},
    {"health", "disk-min-free", NM_CONFIG_FRACTION, FIELD(disk_min_free), .fallback = "0.05",
     RANGE("0", "0.99"),
     .meaning = "Share of the space and of the inodes that must be free on the file systems of the state and log "
                "directories. 0: not checked."},

    {"paths", "log-dir", NM_CONFIG_PATH, FIELD(log_dir), .restart = true, .fallback = "",
     .meaning = "Directory for the containers' output. It must belong to nmd's user or root, and other users must not "
                "be able to write to it. Empty: logs/ below the state directory."},
};
const size_t nm_config_n_keys = NM_ARRAY_SIZE(nm_config_keys);

bool nm_config_has_section(const char *section)
{
    for (size_t i = 0; i < nm_config_n_sections; i++)
        if (nm_streq(nm_config_sections[i].name, section))
            return true;
    return false;
}

const struct nm_config_key *nm_config_find_key(const char *section, const char *name)
{
    assert(section && name);
    for (size_t i = 0; i < nm_config_n_keys; i++)
        if (nm_streq(nm_config_keys[i].section, section) && nm_streq(nm_config_keys[i].name, name))
            return &nm_config_keys[i];
    return NULL;
}

/* Returns the Levenshtein distance: the number of letters to add, remove or change to get b from a. '_' and '-' count
 * as equal. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);

    assert(a && b);
    if (n >= NM_ARRAY_SIZE(row) || strlen(a) >= NM_ARRAY_SIZE(row))
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        char x = (char)(a[i - 1] == '_' ? '-' : a[i - 1]);
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t changed = diagonal + (x != b[j - 1]), moved = NM_MIN(row[j], row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = NM_MIN(changed, moved);
        }
    }
    return row[n];
}

/* Returns whether a name is similar. In a long word, up to three typing errors are likely. In a word of up to four
 * letters, more than one error usually means a different word. */
static bool is_near(size_t d, const char *name)
{
    return d <= (strlen(name) <= 4 ? 1u : 3u);
}

const struct nm_config_key *nm_config_nearest_key(const char *section, const char *name)
{
    const struct nm_config_key *best = NULL;
    size_t best_distance = SIZE_MAX;

    assert(name);
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        const struct nm_config_key *k = &nm_config_keys[i];
        size_t d = distance(name, k->name);
        if (!is_near(d, k->name))
            continue;
        /* A name with one typing error in the given section is more similar than the same name in another section. */
        d = d * 2 + (nm_streq(k->section, section) ? 0 : 3);
        if (d < best_distance) {
            best = k;
            best_distance = d;
        }
    }
    return best;
}

const char *nm_config_nearest_section(const char *section)
{
    assert(section);
    for (size_t i = 0; i < nm_config_n_sections; i++)
        if (is_near(distance(section, nm_config_sections[i].name), nm_config_sections[i].name))
            return nm_config_sections[i].name;
    return NULL;
}
