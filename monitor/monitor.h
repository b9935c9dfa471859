/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * monitor/: samplers. They turn kernel files into plain structs and know no policy. Each keeps its descriptors open
 * between samples and allocates nothing while sampling. "It has gone" (-ENOENT) is a normal result. `now_usec` is
 * CLOCK_BOOTTIME and always a parameter.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup/cgroup.h"
#include "util/macros.h"

/* ---- node (monitor/node.c) ------------------------------------------------------------------------------- */

struct nm_node_sample {
    uint64_t at_usec; /* when it was taken */
    uint64_t memory_total_bytes;     /* what can be given out by the page: without pools of huge pages */
    uint64_t memory_available_bytes; /* MemAvailable */
    uint64_t hugetlb_bytes;          /* in pools of huge pages, of all sizes, in use or not */
    uint64_t memory_held_bytes;      /* AnonPages and Shmem: what processes hold that is no file's; 0 if not told */
    uint64_t swap_total_bytes, swap_free_bytes;
    uint32_t n_cpus;           /* online */
    uint32_t cpu_busy_millicores; /* since the previous sample: all but idle and iowait; steal counts as busy */
    bool cpu_valid;            /* false for the first sample, which has no previous one */
    double memory_pressure_some_avg10, memory_pressure_full_avg10, cpu_pressure_some_avg10; /* percent; 0 if no PSI */
};

struct nm_node_sampler;
/* proc_root: "/proc", or a directory with meminfo and stat (and pressure/) for tests. */
int nm_node_sampler_new(const char *proc_root, struct nm_node_sampler **ret);
struct nm_node_sampler *nm_node_sampler_free(struct nm_node_sampler *s);
NM_DEFINE_CLEANUP(struct nm_node_sampler *, nm_node_sampler_free)
int nm_node_sampler_sample(struct nm_node_sampler *s, uint64_t now_usec, struct nm_node_sample *ret);
/* Memory and swap alone: one small file, where /proc/stat takes long on a machine of many CPUs and interrupts. The rest
 * of *ret is 0, and what the next whole sample says is the same as without this one. */
int nm_node_sampler_sample_memory(struct nm_node_sampler *s, uint64_t now_usec, struct nm_node_sample *ret);

/* ---- one container (monitor/cgsample.c; /proc fallback in monitor/procmem.c) -------------------------------- */

/*
 * memory_bytes = anon + shmem + kernel (without reclaimable slab) + unevictable page cache: what can't be had back
 * without swapping or killing. Where the cgroup2 mount has no memory controller, the same is estimated from
 * /proc/PID of the processes in the cgroup (anonymous + shared resident memory), and `from_proc` says so.
 * Descriptors per container: 6, or 3 and one per process (64 at most), and one for its stall: raise RLIMIT_NOFILE.
 *
 * A container that has used no CPU time since the last sample is not looked at again for up to 10 s, unless
 * memory.current has moved. What changes seldom (oom_kills, peaks between two samples, swap_bytes while there is none)
 * can be 10 s old, unless memory.current has leapt.
 */
struct nm_cgroup_sample {
    uint64_t at_usec;
    uint64_t memory_bytes;
    uint64_t charged_bytes;      /* memory.current: with page cache; 0: not known */
    uint64_t memory_peak_bytes;  /* memory.peak, or the highest memory_bytes seen */
    uint64_t swap_bytes;         /* in swap, or in zswap on its way there */
    uint64_t zswap_bytes;        /* what zswap takes for it, which is in memory_bytes, too */
    uint64_t cpu_usage_usec;     /* since the container's start */
    uint64_t cpu_throttled_usec; /* 0 without the cpu controller */
    uint32_t cpu_millicores;     /* rate since the previous sample */
    bool cpu_valid;              /* false for the first sample */
    /* How long some of its processes waited for a CPU (cpu.pressure), as a share of the time since an earlier
     * sample, at least 250 ms; of one that comes sooner after another, it is that one's. Only after
     * nm_cgroup_sampler_watch_stall(). */
    bool stall_known;
    uint32_t stall_permille;
    bool from_proc;
    uint64_t oom_kills;          /* memory.events oom_kill */
};

struct nm_cgroup_sampler;
/* Keeps no reference to cg after the call: it opens what it needs. proc_root as above. */
int nm_cgroup_sampler_new(const struct nm_cgroup *cg, bool memory_controller, const char *proc_root,
                          struct nm_cgroup_sampler **ret);
struct nm_cgroup_sampler *nm_cgroup_sampler_free(struct nm_cgroup_sampler *s);
NM_DEFINE_CLEANUP(struct nm_cgroup_sampler *, nm_cgroup_sampler_free)
/* The container's shim, whose memory doesn't change: without the memory controller it is looked at every 10 s only.
 * 0: none (any more). */
void nm_cgroup_sampler_set_shim(struct nm_cgroup_sampler *s, pid_t shim);
/* From now on the samples say how long the container is stalled; false: no longer. One more descriptor. -EOPNOTSUPP:
 * there is no cpu.pressure. */
int nm_cgroup_sampler_watch_stall(struct nm_cgroup_sampler *s, const struct nm_cgroup *cg, bool on);
int nm_cgroup_sampler_sample(struct nm_cgroup_sampler *s, uint64_t now_usec, struct nm_cgroup_sample *ret);
/*
 * Before all cgroups below one are sampled: has the kernel collect their statistics at once, which changes no figure
 * but makes reading them linear in their number (cgsample.c). stat_fd: the upper one's cpu.stat; and, since Linux 6.16
 * keeps these apart, its memory.stat in a second call. -ENOENT: it has gone.
 */
int nm_cgroup_collect(int stat_fd);
/* Memory that a cgroup and all below it hold, counted as a container's is; collects memory.stat as above. */
int nm_cgroup_read_used(int memory_stat_fd, uint64_t *ret);

/* ---- network links (monitor/link.c) ---------------------------------------------------------------------- */

struct nm_link_sample {
    char name[16];
    bool up, uplink;             /* uplink: carries the default route */
    uint64_t rx_bytes, tx_bytes; /* counters */
    uint64_t rx_bytes_per_sec, tx_bytes_per_sec;
    uint64_t speed_mbit;         /* 0: unknown (virtual links) */
    double utilization;          /* busier direction against speed; 0 if speed is unknown */
};

#define NM_LINKS_MAX 32

struct nm_link_sampler;
/* configured_speed_mbit: used where the link itself names none; 0 for none. */
int nm_link_sampler_new(uint64_t configured_speed_mbit, struct nm_link_sampler **ret);
struct nm_link_sampler *nm_link_sampler_free(struct nm_link_sampler *s);
NM_DEFINE_CLEANUP(struct nm_link_sampler *, nm_link_sampler_free)
/* Fills up to NM_LINKS_MAX links (loopback left out). */
int nm_link_sampler_sample(struct nm_link_sampler *s, uint64_t now_usec, struct nm_link_sample links[NM_LINKS_MAX],
                           unsigned *ret_n);

/* ---- file systems (monitor/disk.c) ------------------------------------------------------------------------ */

struct nm_disk_sample {
    uint64_t total_bytes, available_bytes; /* available to root's reserve excluded */
    uint64_t total_inodes, available_inodes;
};
int nm_disk_sample(const char *path, struct nm_disk_sample *ret);

/* ---- processes and threads (monitor/tasks.c) --------------------------------------------------------------- */

/* The most that the kernel takes, of all users and systems of this node together. */
int nm_tasks_max(const char *proc_root, uint64_t *ret);

/* ---- history (monitor/history.c) -------------------------------------------------------------------------- */

/* What the node's use is made of, as policy saw it, and what is promised. */
enum nm_history_part {
    NM_HISTORY_USED_BY_GUARANTEED, /* as measured */
    NM_HISTORY_USED_BY_OPPORTUNISTIC,
    NM_HISTORY_USED_BY_OTHERS,
    NM_HISTORY_RESERVED,           /* for containers that warm up, beyond what is measured of them */
    NM_HISTORY_ALLOCATED_GUARANTEED,
    NM_HISTORY_ALLOCATED_OPPORTUNISTIC,
    NM_HISTORY_PARTS,
};

struct nm_history_use {
    uint64_t memory_bytes, cpu_millicores;
};

/* Of the node (PSI), in the last ten seconds. */
enum nm_history_pressure {
    NM_HISTORY_MEMORY_SOME, /* some task waited for memory, ... */
    NM_HISTORY_MEMORY_FULL, /* ... or all of them at once */
    NM_HISTORY_CPU_SOME,
    NM_HISTORY_PRESSURES,
};

/* One sample, or some that came so soon after each other that nobody could tell them apart. */
struct nm_history_point {
    uint64_t at_usec, realtime_usec; /* of the newest */
    struct nm_history_use use[NM_HISTORY_PARTS];
    uint16_t guaranteed_running, opportunistic_running, paused, queued;
    uint32_t uplink_permille;
    uint32_t sample_cost_usec;
    uint16_t pressure[NM_HISTORY_PRESSURES]; /* permille of the time; the highest of some samples */
};

/* The last span_usec, in about 600 steps. */
struct nm_history;
int nm_history_new(uint64_t span_usec, struct nm_history **ret);
struct nm_history *nm_history_free(struct nm_history *h);
NM_DEFINE_CLEANUP(struct nm_history *, nm_history_free)
/* Not older than the newest. */
void nm_history_add(struct nm_history *h, const struct nm_history_point *p);
unsigned nm_history_n(const struct nm_history *h);
uint64_t nm_history_step_usec(const struct nm_history *h);
/* i = 0 is the oldest. NULL past the end. */
const struct nm_history_point *nm_history_get(const struct nm_history *h, unsigned i);
/* The first point that is not older than at_usec; nm_history_n() if all are. */
unsigned nm_history_since(const struct nm_history *h, uint64_t at_usec);
/* Drops what is newer than that. */
void nm_history_cut(struct nm_history *h, uint64_t at_usec);
/* Keeps what there is, as far as it is not older than that. */
int nm_history_set_span(struct nm_history *h, uint64_t span_usec);
