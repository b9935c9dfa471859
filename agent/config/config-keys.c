/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table of keys. It has all facts about a key that a user may see (allowed values, default, meaning). The packaged
 * nmd.conf, nmd.conf(5), `nmctl config` and the error messages are made from it, so they always agree with the parser.
 * Defaults and ranges are written as in a file and pass through the same parser.
 */

#include "agent/config/config-keys.h"

#include <assert.h>

const struct nm_config_section nm_config_sections[] = {
    {"node", "What the node offers to containers. The sum of both kinds of containers is held "
             "below it by the kernel."},
    {"over-allocation", "Opportunistic containers on measured instead of requested resources."},
    {"queue", "Where opportunistic containers wait for room."},
    {"preemption",
     "Taking resources back from opportunistic containers when the node gets too full."},
    {"sampling", "How often, and on which events, the node is measured."},
    {"containers", "Defaults and limits of single containers, and who they may run as."},
    {"interface", "The local socket and the read-only HTTP address."},
    {"yarn", "The node as part of a Hadoop cluster, whose own configuration files say the rest."},
    {"health", "When the node counts as unhealthy: it then starts nothing new and says why."},
    {"paths", "Where things are kept."},
};
const size_t nm_config_n_sections = NM_ARRAY_SIZE(nm_config_sections);

#define FIELD(field) .offset = offsetof(struct nm_config, field)
#define RANGE(low, high) .min = (low), .max = (high)
#define WORD(text, value) .word = (text), .word_value = (value)
#define OR_WORD(text, value) .other = (text), .other_value = (value)

const struct nm_config_key nm_config_keys[] = {
    {"node", "memory", NM_CONFIG_SIZE, FIELD(memory_bytes), .fallback = "auto",
     RANGE("16M", "1024T"), WORD("auto", 0),
     .meaning = "Memory for containers, all together. auto: the node's memory less "
                "system-reserved-memory and what is in pools of huge pages. More than the node has "
                "is refused; memory beyond it belongs to the rest of the system. When the node's "
                "memory changes (a balloon, a pool of huge pages), auto follows, and a size that no "
                "longer fits shrinks for as long."},
    {"node", "vcores", NM_CONFIG_COUNT, FIELD(vcores), .fallback = "auto", RANGE("1", "100000"),
     WORD("auto", 0),
     .meaning = "Into how many vcores the online CPUs are divided. auto: one vcore is one CPU. "
                "With 16 on a node of 8 CPUs, one vcore is half a CPU, and a quarter while only 4 are "
                "online."},
    {"node", "system-reserved-memory", NM_CONFIG_SIZE, FIELD(system_reserved_memory_bytes),
     .fallback = "auto", RANGE("0", "1024T"), WORD("auto", UINT64_MAX),
     .meaning = "Memory that is kept for the kernel, system services and nmd itself when memory is "
                "auto. auto: 5 % of the node's memory, at least 256M and at most 2G, but never "
                "more than half of it."},
    {"node", "system-reserved-vcores", NM_CONFIG_VCORES, FIELD(system_reserved_vcores_milli),
     .fallback = "0", RANGE("0", "100000"),
     .meaning = "CPU that is kept for the system, in vcores."},

    {"over-allocation", "enabled", NM_CONFIG_BOOL, FIELD(over_allocation), .fallback = "yes",
     .meaning = "yes: opportunistic containers start while measured use leaves room. no: only "
                "while all requests together fit the node, and nothing is taken back but to make "
                "room for guaranteed containers."},
    {"over-allocation", "memory-threshold", NM_CONFIG_FRACTION,
     FIELD(over_allocation_threshold.memory), .fallback = "0.8", RANGE("0", "1"),
     .min_exclusive = true,
     .meaning = "Over-allocation threshold (alpha) of memory: no opportunistic container starts or "
                "resumes while use is at or above this share of capacity. Must be below "
                "[preemption] memory-threshold: the gap is what keeps containers from being "
                "started and taken back in turns."},
    {"over-allocation", "cpu-threshold", NM_CONFIG_FRACTION, FIELD(over_allocation_threshold.cpu),
     .fallback = "auto", RANGE("0", "1"), .min_exclusive = true, WORD("auto", 0),
     .meaning = "The same for CPU. Must be below [preemption] cpu-threshold. auto: 0.99 where the "
                "kernel gives opportunistic containers only the CPU that others leave (cpu.idle) and "
                "shows how long guaranteed ones wait for it (cpu.pressure), else 0.8. `nmctl config` "
                "says which holds here, and why."},
    {"over-allocation", "warmup", NM_CONFIG_DURATION, FIELD(warmup_usec), .fallback = "15s",
     RANGE("0s", "1h"),
     .meaning = "For this long after its start a container counts with at least what it asked for, "
                "because it has hardly begun to use it. Too short, and a burst of starts "
                "overshoots."},
    {"over-allocation", "warmup-samples", NM_CONFIG_COUNT, FIELD(warmup_samples), .fallback = "3",
     RANGE("0", "100"),
     .meaning = "Samples that a container must also have before its measured use is believed."},
    {"over-allocation", "surge-margin", NM_CONFIG_DURATION, FIELD(margin_usec), .fallback = "10min",
     RANGE("0s", "1d"),
     .meaning = "Where guaranteed containers take back their memory so often that more than 7 % of "
                "the opportunistic work is lost, room for such a surge is kept free for this long "
                "after each, and up to four times as long while that was not enough. 0s: never, where "
                "work that is lost costs nothing."},
    {"over-allocation", "shadow", NM_CONFIG_BOOL, FIELD(shadow), .fallback = "no",
     .meaning = "yes: decide and record, but act on nothing. For judging settings by `nmctl "
                "explain` before they are let loose."},

    {"queue", "max-length", NM_CONFIG_COUNT, FIELD(queue_max_length), .fallback = "500",
     RANGE("0", "1000000"),
     .meaning = "Opportunistic containers that may wait: enough for a batch that a person submits in a "
                "loop. One more is refused at once, so that whoever submits can choose another node. "
                "Guaranteed containers are not counted. Where a lower limit finds more, the newest are discarded."},
    {"queue", "policy", NM_CONFIG_QUEUE_POLICY, FIELD(queue_policy), .fallback = "by-length",
     .meaning = "How much may wait. by-length: max-length opportunistic containers. by-resources: any number whose "
                "requests, with those of guaranteed containers that wait, together fit the node: one more is refused."},
    {"queue", "max-per-user", NM_CONFIG_COUNT, FIELD(queue_max_per_user), .fallback = "auto",
     RANGE("1", "1000000"), WORD("auto", 0),
     .meaning = "How many of these one user may have waiting, so that nobody fills the queue for all others. "
                "Administrators are not bound by it. auto: three quarters of max-length."},
    {"queue", "order", NM_CONFIG_QUEUE_ORDER, FIELD(queue_order), .fallback = "fifo",
     .meaning = "Who is next. smallest-first: smallest dominant share of the node; "
                "shortest-expected-first: by the expected run time given at submission; "
                "nearly-done-app-first: the application with the highest completed share."},
    {"queue", "give-back", NM_CONFIG_DURATION, FIELD(give_back_usec), .fallback = "1min", RANGE("0s", "1d"),
     .meaning = "A cluster's container that has waited so long goes back to the cluster, which places it elsewhere, "
                "if no opportunistic container has started or been resumed on this node meanwhile: what else the host "
                "does leaves no room. Ten times as long while an opportunistic container runs here, whose end may let "
                "the next one start; when the last of them has ended, the wait begins anew. Whatever starts meanwhile, "
                "no wait is longer than twenty times that, and none of a container that asks for more than the host's "
                "other work leaves of the node is longer than ten times that. Containers of local users wait on. 0s: "
                "never."},
    {"queue", "backfill", NM_CONFIG_DURATION, FIELD(backfill_usec), .fallback = "10min",
     RANGE("0s", "1d"),
     .meaning = "While the first in the queue is too large for the memory that is left, smaller ones "
                "may pass it. Once it is only they that keep it out, none passes any more, and they "
                "have this long to end, together; then as many are killed as it needs. As long as a "
                "pause may last, by default: less loses work, more makes the large one wait. 0s: none "
                "passes, except one that is too large for the node as it is."},

    {"preemption", "memory-threshold", NM_CONFIG_FRACTION, FIELD(preemption_threshold.memory),
     .fallback = "0.95", RANGE("0", "1"), .min_exclusive = true,
     .meaning = "Preemption threshold (beta) of memory: above this share of capacity, memory is "
                "taken back from opportunistic containers; one fresh sample is enough. Nothing that "
                "relies on others' unused share is started if use would exceed it."},
    {"preemption", "cpu-threshold", NM_CONFIG_FRACTION, FIELD(preemption_threshold.cpu),
     .fallback = "auto", RANGE("0", "1"), .min_exclusive = true, WORD("auto", 0),
     .meaning = "The same for CPU, which must stay above it for cpu-samples samples. auto: 1 where the "
                "over-allocation threshold's auto is 0.99: a full CPU then hurts nobody, and what takes CPU back is "
                "stall-margin; else 0.95. With 1 there, an opportunistic container starts when half of the CPU that it "
                "asks for is free, and shares the rest with its like, unless surges of memory cost them work."},
    {"preemption", "stall-margin", NM_CONFIG_FRACTION, FIELD(stall_margin), .fallback = "0.1",
     RANGE("0", "1"),
     .meaning = "Opportunistic containers are squeezed when a guaranteed one waits for CPUs for a share "
                "of the time (cpu.pressure) that is higher by more than this than what it waits without "
                "them, which nmd learns. 1: never. Needs squeeze, cpu.idle and cpu.pressure."},
    {"preemption", "cpu-samples", NM_CONFIG_COUNT, FIELD(cpu_samples), .fallback = "4",
     RANGE("1", "100"),
     .meaning = "Consecutive samples over the CPU threshold before containers are paused: CPU "
                "peaks are short and harm nobody, and the kernel already prefers guaranteed "
                "containers."},
    {"preemption", "settle-samples", NM_CONFIG_COUNT, FIELD(settle_samples), .fallback = "2",
     RANGE("2", "100"),
     .meaning = "Samples to wait, after what was taken back is really gone, before taking more."},
    {"preemption", "victim-order", NM_CONFIG_VICTIM_ORDER, FIELD(victim_order),
     .fallback = "reverse-arrival",
     .meaning = "From whom to take first. reverse-arrival: latest-started; least-work-lost: least "
                "CPU time used so far; fewest-victims: the smallest set that suffices; app-fair: "
                "the application that holds the most."},
    {"preemption", "pause", NM_CONFIG_BOOL, FIELD(pause), .fallback = "yes",
     .meaning = "Take CPU back by freezing containers, which lose no work. no: kill them instead, "
                "as plain YARN does."},
    {"preemption", "pause-deadline", NM_CONFIG_DURATION, FIELD(pause_deadline_usec),
     .fallback = "10min", RANGE("1s", "30d"),
     .meaning = "A container that is paused for longer is killed, so that it can be tried "
                "elsewhere."},
    {"preemption", "kills-per-minute", NM_CONFIG_COUNT, FIELD(kills_per_minute), .fallback = "20",
     RANGE("1", "64"),
     .meaning = "At most so many containers are killed in any minute because use was over a "
                "threshold, against a wrong measurement emptying the node. Kills that make room for "
                "a guaranteed container are counted, but not held back."},
    {"preemption", "breaker", NM_CONFIG_DURATION, FIELD(breaker_usec), .fallback = "10s",
     RANGE("0s", "1h"),
     .meaning = "No opportunistic container starts for this long after one was killed because memory "
                "or CPU was short, by nmd or the kernel, and for twice as long while such kills keep "
                "coming. Longer costs more work than it saves. Kills that make room for a guaranteed "
                "container don't count. `nmctl close-breaker` ends it."},
    {"preemption", "reclaim", NM_CONFIG_BOOL, FIELD(reclaim), .fallback = "yes",
     .meaning = "Push the memory of paused containers to swap before anything is killed. Needs "
                "swap and memory.reclaim (Linux 5.19)."},
    {"preemption", "reclaim-running", NM_CONFIG_DURATION, FIELD(reclaim_running_usec),
     .fallback = "2s", RANGE("0s", "1min"),
     .meaning = "Before a running container is killed for memory, push a part of its memory to swap, if "
                "that is likely to do within this time: by the speed of earlier reclaims, the free swap, "
                "and the growth of use, which must not reach the capacity meanwhile. Then the kill "
                "follows. Longer than some seconds, and guaranteed containers would feel the node's lack "
                "of memory. 0s: never. Needs what reclaim needs, and reclaim = yes."},
    {"preemption", "squeeze", NM_CONFIG_BOOL, FIELD(squeeze), .fallback = "yes",
     .meaning = "Limit the CPU of opportunistic containers as soon as CPU is over its threshold "
                "once, before any is paused. Needs the cpu controller."},
    {"preemption", "squeeze-floor", NM_CONFIG_VCORES, FIELD(squeeze_floor_vcores_milli),
     .fallback = "0.05", RANGE("0.01", "1000"),
     .meaning = "The least CPU that a squeezed container is left with, so that what it holds "
                "(locks, connections) still moves."},
    {"preemption", "kill-grace", NM_CONFIG_DURATION, FIELD(kill_grace_usec), .fallback = "10s",
     RANGE("0s", "1h"),
     .meaning = "From SIGTERM to SIGKILL when a person ends a container. Preemption never waits."},

    {"sampling", "period", NM_CONFIG_DURATION, FIELD(period_usec), .fallback = "3s",
     RANGE("100ms", "60s"), .meaning = "Time between two samples of the node and all containers."},
    {"sampling", "glance", NM_CONFIG_BOOL, FIELD(glance), .fallback = "yes",
     .meaning = "Whether the node's free memory and the containers' CPU time are looked at between "
                "two samples, while there are opportunistic containers; what may cross a "
                "preemption threshold is then seen in a fraction of the period. A glance reads "
                "two small files, up to 50 times a second."},
    {"sampling", "pressure-stall", NM_CONFIG_DURATION, FIELD(pressure_stall_usec),
     .fallback = "50ms", RANGE("1ms", "10s"),
     .meaning = "The kernel wakes nmd at once when tasks waited for memory for this long within "
                "pressure-window. A wake-up costs one sample; it takes nothing back by itself."},
    {"sampling", "pressure-window", NM_CONFIG_DURATION, FIELD(pressure_window_usec),
     .fallback = "500ms", RANGE("500ms", "10s"),
     .meaning = "See pressure-stall, which must be shorter. The kernel looks ten times in a "
                "window."},
    {"sampling", "history", NM_CONFIG_DURATION, FIELD(history_usec), .fallback = "10min",
     RANGE("1min", "1h"),
     .meaning = "How long samples are kept in memory for `nmctl top` and the status page."},
    {"sampling", "uplink-threshold", NM_CONFIG_FRACTION, FIELD(uplink_threshold), .fallback = "off",
     RANGE("0", "1"), .min_exclusive = true, WORD("off", 0),
     .meaning = "No opportunistic container starts while the link of the default route is busier "
                "than this share of its speed. off: links are measured, but hold nobody back."},
    {"sampling", "uplink-speed-mbit", NM_CONFIG_COUNT64, FIELD(uplink_speed_mbit), .restart = true,
     .fallback = "auto", RANGE("1", "10000000"), WORD("auto", 0),
     .meaning = "Speed of the uplink in Mbit/s. auto: as the link itself says, which virtual ones "
                "don't."},

    {"containers", "default-memory", NM_CONFIG_SIZE, FIELD(default_memory_bytes),
     .fallback = "256M", RANGE("1M", "1024T"),
     .meaning = "Memory of a container whose request names none."},
    {"containers", "default-vcores", NM_CONFIG_VCORES, FIELD(default_vcores_milli), .fallback = "1",
     RANGE("0.001", "100000"), .meaning = "Vcores of a container whose request names none."},
    {"containers", "max-containers", NM_CONFIG_COUNT, FIELD(max_containers), .fallback = "2000",
     RANGE("1", "100000"),
     .meaning = "Containers that may live at a time, those in the queue included."},
    {"containers", "max-per-user", NM_CONFIG_COUNT, FIELD(max_per_user), .fallback = "auto",
     RANGE("1", "100000"), WORD("auto", 0),
     .meaning = "How many of these one user may have. Administrators are not bound by it. auto: a "
                "quarter of max-containers."},
    {"containers", "keep-ended", NM_CONFIG_DURATION, FIELD(keep_ended_usec), .fallback = "1h",
     RANGE("0s", "30d"), .meaning = "How long ended containers stay listed (`nmctl list --all`)."},
    {"containers", "pids-max", NM_CONFIG_COUNT64, FIELD(pids_max), .fallback = "auto",
     RANGE("1", "4194304"), WORD("auto", 0), OR_WORD("none", NM_CGROUP_NONE),
     .meaning = "Processes and threads in one container, against fork bombs. auto: 16384, but at "
                "most three eighths of what the kernel takes on this node (threads-max, pid_max). All "
                "containers together get three quarters of that, whatever stands here, so that the "
                "rest of the system can still start something. Needs the pids controller."},
    {"containers", "output-max", NM_CONFIG_SIZE, FIELD(output_max_bytes), .fallback = "128M",
     RANGE("64K", "1024T"),
     .meaning = "How much of what a container writes to its standard output is kept, and as much of "
                "its standard error: between a half and all of it, the newest; a line in the log says "
                "how much came before. A job's own words fit in by far; one that writes without end "
                "fills no disk. When it was written is noted beside it, in a sixteenth as much at most. It is less "
                "where output-share is nearly used up. Holds for containers that start from then on."},
    {"containers", "output-share", NM_CONFIG_FRACTION, FIELD(output_share), .fallback = "0.5",
     RANGE("0.01", "1"),
     .meaning = "Share of the file system of log-dir that the output of all containers may take up, "
                "so that the journal always has room. It is divided beforehand: a container starts "
                "with at most a sixteenth of what is left of it, 128K at least; logs of ended containers "
                "are shortened for those that start, the oldest first."},
    {"containers", "min-uid", NM_CONFIG_COUNT, FIELD(min_uid), .fallback = "1000",
     RANGE("0", "4294967294"),
     .meaning = "No container runs as a user with a smaller uid, unless root asks for it by name; nor as "
                "root when root asks and names nobody."},
    {"containers", "banned-users", NM_CONFIG_USERS, FIELD(banned_users),
     .fallback = "hdfs yarn mapred bin",
     .meaning = "No container runs as one of these users (login names or uids), unless root asks "
                "for it by name; what waits when its user is named here is not started any more. "
                "Where logins share a uid, give the uid. May be given several times in a file to "
                "name more; the first in a file starts the list anew, and an empty value names nobody."},
    {"containers", "no-new-privs", NM_CONFIG_BOOL, FIELD(no_new_privs), .fallback = "yes",
     .meaning = "Containers can't gain privileges through set-uid programs or file capabilities. "
                "An administrator can lift it for a single container."},
    {"containers", "confine", NM_CONFIG_BOOL, FIELD(confine), .fallback = "yes",
     .meaning = "Containers get namespaces of their own (user and mount), in which /run/user and "
                "/run/dbus are empty and the processes outside can be neither traced nor entered: "
                "else a user's own service manager would start work for a container outside of its "
                "limits (systemd-run --user). Not for root's containers, nor for those that may "
                "gain privileges. no: for jobs that need the system's bus, the user's keyring, or "
                "to look into the user's other processes."},
    {"containers", "private-ipc", NM_CONFIG_BOOL, FIELD(private_ipc), .fallback = "yes",
     .meaning = "With confine, containers also get a /dev/shm, System V segments and message queues "
                "of their own: what they leave there goes with them. no: for jobs that share memory "
                "with other containers or processes of their user; what stays after their end then "
                "counts as use of the slice, and nobody takes it away."},

    {"interface", "socket-mode", NM_CONFIG_MODE, FIELD(socket_mode), .restart = true,
     .fallback = "0660", RANGE("0600", "0777"),
     .meaning = "Permissions of the socket, which belongs to root and admin-group. 0666 lets every "
                "local user run containers as itself. Where systemd makes the socket, nmd.socket "
                "decides."},
    {"interface", "admin-group", NM_CONFIG_GROUP, FIELD(admin_group), .restart = true,
     .fallback = "nmd",
     .meaning = "Members may do everything that root may, except run containers as system users. "
                "Empty: only root."},
    {"interface", "http-address", NM_CONFIG_ADDRESS, FIELD(http_address), .restart = true,
     .fallback = "",
     .meaning = "Read-only HTTP for /metrics and the status page, such as 127.0.0.1:8042. Anybody "
                "who reaches it can read it. Empty: off."},
    {"interface", "http-hosts", NM_CONFIG_HOSTS, FIELD(http_hosts), .restart = true,
     .fallback = "",
     .meaning = "More names and addresses that the Host header of a request over TCP may have, with spaces or commas "
                "between them. Accepted without this: localhost, the addresses of the host's interfaces, its name with "
                "and without domain (from /etc/hosts and the search list of /etc/resolv.conf), and the names that the "
                "cluster has for it. All others are refused with 421, so that no web page can have a browser read from "
                "here by a name of its own (DNS rebinding)."},

    {"yarn", "enabled", NM_CONFIG_BOOL, FIELD(yarn), .restart = true, .fallback = "no",
     .meaning = "yes: the node registers with the ResourceManager that the files in conf-dir name, as a NodeManager. "
                "`nmctl config` shows which of their properties are obeyed."},
    {"yarn", "conf-dir", NM_CONFIG_PATH, FIELD(yarn_conf_dir), .restart = true, .fallback = "/etc/hadoop/conf",
     .meaning = "Where the cluster's yarn-site.xml, core-site.xml and others are."},

    {"health", "script", NM_CONFIG_PATH, FIELD(health_script), .fallback = "",
     .meaning = "A program that is run every period, as nmd itself: only root and nmd may be able to change it "
                "or a directory above it. The node is unhealthy when it prints a line "
                "that begins with ERROR, or runs into the timeout; its exit status doesn't matter. "
                "Empty: none."},
    {"health", "period", NM_CONFIG_DURATION, FIELD(health_period_usec), .fallback = "1min",
     RANGE("1s", "1d"),
     .meaning = "Time between two health checks. A script that still runs is not started again."},
    {"health", "timeout", NM_CONFIG_DURATION, FIELD(health_timeout_usec), .fallback = "20s",
     RANGE("100ms", "1h"),
     .meaning = "A script that runs for longer is killed, and the node is unhealthy."},
    {"health", "disk-min-free", NM_CONFIG_FRACTION, FIELD(disk_min_free), .fallback = "0.05",
     RANGE("0", "0.99"),
     .meaning = "Share of the file systems of the state and log directories, space and inodes, "
                "that must be free. 0: not looked at."},

    {"paths", "log-dir", NM_CONFIG_PATH, FIELD(log_dir), .restart = true, .fallback = "",
     .meaning = "Where the containers' output is written: a directory of nmd's or root's that nobody "
                "else may write to. Empty: logs/ below the state directory."},
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

/* Returns the number of letters to add, drop or change to turn a into b (Levenshtein); '_' and '-' count as equal. */
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

/* Two typing errors are likely in a long word; in a short word they make a different word. */
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
        /* The right name in the wrong section counts as less similar than a typo in the right section. */
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
