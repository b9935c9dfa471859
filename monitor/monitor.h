/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * monitor/ contains the samplers. The samplers convert kernel files to plain structs and contain no policy. Each
 * sampler keeps its descriptors open between samples and allocates no memory while sampling. -ENOENT (the object no
 * longer exists) is a normal result. `now_usec` is CLOCK_BOOTTIME and always a parameter.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroup/cgroup.h"
#include "util/macros.h"

/* ---- node (monitor/node-sampler.c) ------------------------------------------------------------------------------- */

struct nm_node_sample {
    uint64_t at_usec; /* time of the sample */
    uint64_t memory_total_bytes;     /* memory available as normal pages: without pools of huge pages */
    uint64_t memory_available_bytes; /* MemAvailable */
    uint64_t hugetlb_bytes;          /* pools of huge pages of all sizes, used or not */
    uint64_t memory_held_bytes;      /* AnonPages and Shmem: memory of processes without page cache; 0 if unknown */
    uint64_t swap_total_bytes, swap_free_bytes;
    uint32_t n_cpus;           /* number of online CPUs */
    /* CPU use since the previous sample: all time except idle and iowait; steal counts as busy */
    uint32_t cpu_busy_millicores;
    bool cpu_valid;            /* false for the first sample, which has no predecessor */
    double memory_pressure_some_avg10, memory_pressure_full_avg10, cpu_pressure_some_avg10; /* percent; 0 if no PSI */
};

struct nm_node_sampler;
/* Makes a sampler. proc_root: "/proc", or a directory with meminfo and stat (and pressure/) for tests. */
int nm_node_sampler_new(const char *proc_root, struct nm_node_sampler **ret);
struct nm_node_sampler *nm_node_sampler_free(struct nm_node_sampler *s);
NM_DEFINE_CLEANUP(struct nm_node_sampler *, nm_node_sampler_free)
int nm_node_sampler_sample(struct nm_node_sampler *s, uint64_t now_usec, struct nm_node_sample *ret);
/* Samples only memory and swap, from one small file; /proc/stat takes long on a machine with many CPUs and interrupts.
 * The rest of *ret is 0, and the next whole sample is not affected. */
int nm_node_sampler_sample_memory(struct nm_node_sampler *s, uint64_t now_usec, struct nm_node_sample *ret);
/* Reads the kernel's limit of tasks (processes and threads) for all users of this node together. */
int nm_tasks_max(const char *proc_root, uint64_t *ret);

/* ---- one container (monitor/cgsample.c; /proc fallback in monitor/procmem.c) -------------------------------- */

/*
 * memory_bytes = anon + shmem + kernel (without reclaimable slab) + unevictable page cache: memory that can only be
 * freed by swapping or killing. If the cgroup2 mount has no memory controller, memory_bytes is estimated from /proc/PID
 * of the cgroup's processes (anonymous + shared resident memory), and `from_proc` is true. A container needs 6
 * descriptors, or 3 and one per process (at most 64), and one for its stall: raise RLIMIT_NOFILE.
 *
 * The memory of a container that has used hardly any CPU time since it was last read (up to 0.1 ms) is not read again
 * for up to 10 s, unless memory.current has changed. nm_cgroup_sampler_set_exact() changes this. Figures that seldom
 * change (oom_kills, peaks between two samples, swap_bytes while it is 0) can be 10 s old, unless memory.current has
 * changed by much.
 */
struct nm_cgroup_sample {
    uint64_t at_usec;
    uint64_t memory_bytes;
    uint64_t charged_bytes;      /* memory.current: includes page cache; 0: not known */
    uint64_t memory_peak_bytes;  /* memory.peak, or the highest memory_bytes of all samples */
    uint64_t swap_bytes;         /* memory in swap, including pages in zswap */
    uint64_t zswap_bytes;        /* compressed size in zswap, which is also part of memory_bytes */
    uint64_t cpu_usage_usec;     /* CPU time since the container's start */
    uint64_t cpu_throttled_usec; /* 0 without the cpu controller */
    uint32_t cpu_millicores;     /* rate since the previous sample */
    bool cpu_valid;              /* false for the first sample */
    /* Share of time in which some of the container's processes waited for a CPU (cpu.pressure). The time since an
     * earlier sample is at least 250 ms; a sample that follows sooner repeats the previous share. The share is only
     * known after nm_cgroup_sampler_watch_stall(). */
    bool stall_known;
    uint32_t stall_permille;
    bool from_proc;
    uint64_t oom_kills;          /* memory.events oom_kill */
};

struct nm_cgroup_sampler;
/* Makes a sampler, which opens its own files and keeps no reference to cg. proc_root: as for nm_node_sampler_new(). */
int nm_cgroup_sampler_new(const struct nm_cgroup *cg, bool memory_controller, const char *proc_root,
                          struct nm_cgroup_sampler **ret);
struct nm_cgroup_sampler *nm_cgroup_sampler_free(struct nm_cgroup_sampler *s);
NM_DEFINE_CLEANUP(struct nm_cgroup_sampler *, nm_cgroup_sampler_free)
/* Sets the container's shim, whose memory does not change: without the memory controller the shim's memory is read only
 * every 10 s. 0: the container has no shim (any more). */
void nm_cgroup_sampler_set_shim(struct nm_cgroup_sampler *s, pid_t shim);
/* Sets how many samplers share the time of one turn. Without the memory controller, one sample of a container with many
 * processes reads fewer of them if there are more samplers. */
void nm_cgroup_sampler_set_n_samplers(struct nm_cgroup_sampler *s, size_t n);
/* Sets whether the next samples read the memory of each container that has used any CPU time since it was last read. Is
 * for samples that follow a sign of growth. */
void nm_cgroup_sampler_set_exact(struct nm_cgroup_sampler *s, bool exact);
void nm_cgroup_sampler_reap(void); /* reaps helper processes of freed samplers; call this function regularly */
/* Starts or stops measuring the container's stall in each sample, which needs one more descriptor. Returns -EOPNOTSUPP
 * if there is no cpu.pressure. */
int nm_cgroup_sampler_watch_stall(struct nm_cgroup_sampler *s, const struct nm_cgroup *cg, bool on);
int nm_cgroup_sampler_sample(struct nm_cgroup_sampler *s, uint64_t now_usec, struct nm_cgroup_sample *ret);
/*
 * Makes the kernel collect the statistics of all cgroups below one cgroup in one pass, before these cgroups are
 * sampled. The collection changes no figure, but makes the cost of reading the cgroups linear in their number
 * (cgsample.c). stat_fd: cpu.stat of the upper cgroup, and in a second call its memory.stat, because Linux 6.16 and
 * later collect both files separately. Returns -ENOENT if the cgroup no longer exists.
 */
int nm_cgroup_collect(int stat_fd);
/* Reads the memory of a cgroup and all cgroups below it, counted like a container's memory_bytes. Collects memory.stat
 * as nm_cgroup_collect() does. */
int nm_cgroup_read_used(int memory_stat_fd, uint64_t *ret);

/* ---- network links (monitor/link.c) ---------------------------------------------------------------------- */

struct nm_link_sample {
    char name[16];
    bool up, uplink;             /* uplink: the default route uses this link */
    uint64_t rx_bytes, tx_bytes; /* counters */
    uint64_t rx_bytes_per_sec, tx_bytes_per_sec;
    uint64_t speed_mbit;         /* 0: unknown (virtual links) */
    double utilization;          /* higher of both directions' shares of the speed; 0 if the speed is unknown */
};

#define NM_LINKS_MAX 32

struct nm_link_sampler;
/* configured_speed_mbit: speed of links that report no speed; 0 if the speed of such links is unknown. */
int nm_link_sampler_new(uint64_t configured_speed_mbit, struct nm_link_sampler **ret);
struct nm_link_sampler *nm_link_sampler_free(struct nm_link_sampler *s);
NM_DEFINE_CLEANUP(struct nm_link_sampler *, nm_link_sampler_free)
/* keep: the next samples look for the uplinks only once per minute. */
void nm_link_sampler_keep_uplinks(struct nm_link_sampler *s, bool keep);
/* Fills in up to NM_LINKS_MAX links, without loopback. */
int nm_link_sampler_sample(struct nm_link_sampler *s, uint64_t now_usec, struct nm_link_sample links[NM_LINKS_MAX],
                           unsigned *ret_n);

/* ---- file systems (monitor/disk.c) ------------------------------------------------------------------------ */

struct nm_disk_sample {
    uint64_t total_bytes, available_bytes; /* available: without root's reserve */
    uint64_t total_inodes, available_inodes;
};
int nm_disk_sample(const char *path, struct nm_disk_sample *ret);

/* ---- history (monitor/history.c) -------------------------------------------------------------------------- */

/* The parts of the node's use, as the policy counted them, and the promises. */
enum nm_history_part {
    NM_HISTORY_USED_BY_GUARANTEED, /* measured use of guaranteed containers */
    NM_HISTORY_USED_BY_OPPORTUNISTIC,
    NM_HISTORY_USED_BY_OTHERS,
    NM_HISTORY_RESERVED,           /* reserved for containers in their warm-up, beyond their measured use */
    NM_HISTORY_ALLOCATED_GUARANTEED,
    NM_HISTORY_ALLOCATED_OPPORTUNISTIC,
    NM_HISTORY_PARTS,
};

struct nm_history_use {
    uint64_t memory_bytes, cpu_millicores;
};

/* Pressure of the node (PSI) in the last ten seconds. */
enum nm_history_pressure {
    NM_HISTORY_MEMORY_SOME, /* some task waited for memory, ... */
    NM_HISTORY_MEMORY_FULL, /* ... or all tasks waited at the same time */
    NM_HISTORY_CPU_SOME,
    NM_HISTORY_PRESSURES,
};

/* One sample, or the merged samples of one step of the history. */
struct nm_history_point {
    uint64_t at_usec, realtime_usec; /* times of the newest sample */
    struct nm_history_use use[NM_HISTORY_PARTS];
    uint16_t guaranteed_running, opportunistic_running, paused, queued;
    uint32_t uplink_permille;
    uint32_t sample_cost_usec;
    uint16_t pressure[NM_HISTORY_PRESSURES]; /* permille of the time; highest of the samples */
};

/* The node's history: the last span_usec in about 600 steps. */
struct nm_history;
int nm_history_new(uint64_t span_usec, struct nm_history **ret);
struct nm_history *nm_history_free(struct nm_history *h);
NM_DEFINE_CLEANUP(struct nm_history *, nm_history_free)
/* Adds a point, which must not be older than the newest point. */
void nm_history_add(struct nm_history *h, const struct nm_history_point *p);
unsigned nm_history_n(const struct nm_history *h);
uint64_t nm_history_step_usec(const struct nm_history *h);
/* Returns point i, or NULL past the end. Point 0 is the oldest. */
const struct nm_history_point *nm_history_get(const struct nm_history *h, unsigned i);
/* Returns the index of the first point that is not older than at_usec, or nm_history_n() if all are older. */
unsigned nm_history_since(const struct nm_history *h, uint64_t at_usec);
/* Drops points that are newer than at_usec. */
void nm_history_cut(struct nm_history *h, uint64_t at_usec);
/* Sets the span and keeps the existing points that lie within it. */
int nm_history_set_span(struct nm_history *h, uint64_t span_usec);
