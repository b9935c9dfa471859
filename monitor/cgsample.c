/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Samples one container's cgroup. Every cgroup2 cgroup has cpu.stat, with or without the cpu controller. The memory use
 * comes from memory.stat or, without the memory controller, from the processes (procmem.c).
 *
 * Every file is opened once. Each later read needs one system call, and cannot reach another cgroup that gets the same
 * path later: after a removal the kernel returns ENODEV.
 *
 * memory.current includes page cache that can be dropped, which the policy must not count as use. But it is a single
 * number, whereas for memory.stat the kernel collects data from all CPUs and prints fifty lines. If memory.current is
 * unchanged and hardly any CPU time was used (KEPT_CPU_USEC), the other files are not read. The same holds for the
 * processes' files, which replace the memory files where there is no memory controller. Decision 52 has the reasons.
 *
 * memory.peak, memory.swap.current and memory.events change seldom, and nearly always together with a large change of
 * memory.current: swapping out and the OOM killer lower memory.current, and a new peak raises it. So these files are
 * read after a large change, and otherwise every few seconds. No decision uses peak and events from here: a watch on
 * memory.events reports OOM kills to nmd, and the shim reports the last peak. The amount in swap matters when a paused
 * container is to be resumed. While this amount is above 0, it is read in each sample, because a container at its limit
 * swaps some pages in and others out while its total does not change.
 *
 * The kernel keeps changed cgroups in lists, one per CPU, and removes a cgroup from its parent's list when the cgroup's
 * statistics are read. The list is singly linked and searched from its head. Reading a thousand active siblings one
 * after the other thus costs half a million steps, a third of all sampling. nm_cgroup_collect() reads the parent first,
 * which empties the lists in one pass.
 */

#include "monitor/monitor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "monitor/kread.h"
#include "monitor/pagewalk.h"
#include "monitor/parse.h"
#include "monitor/procmem.h"
#include "monitor/rate.h"
#include "util/error.h"

#define BUF_SIZE ((size_t)8 << 10) /* memory.stat has 1.5 to 3 KiB */

/* Maximum time to assume that a container's figures are unchanged: page cache can become locked, for example, without a
 * change of the total. */
#define IDLE_MAX_AGE_USEC (10 * NM_USEC_PER_SEC)

/* CPU time since the last reading of the memory files up to which their figures are kept. A process needs CPU time to
 * get memory, since it clears the pages. In this time it gets one to three MiB at the most. */
#define KEPT_CPU_USEC UINT64_C(100)

/* Change of memory.current below which the seldom changing files are not read. The kernel's counters are not more
 * exact: it charges in batches, per CPU. */
#define LEAP_BYTES ((uint64_t)256 << 10)

/* Over a shorter time a single delay of some milliseconds would be a large share. */
#define STALL_MIN_USEC (250 * NM_USEC_PER_MSEC)

/* Number of processes that all samplers together read in one turn, without the processes that have open descriptors. */
#define TURN_READS 512u

struct nm_cgroup_sampler {
    int cpu_stat_fd;
    int memory_stat_fd; /* -EBADF: procs is used instead of this file */
    /* -EBADF: this kernel has no such file */
    int memory_current_fd, memory_peak_fd, memory_events_fd, memory_swap_fd;
    struct nm_procmem *procs;
    bool exact;             /* memory files are read after any use of CPU time */
    uint64_t read_cpu_usec; /* the container's CPU time at the last use of CPU time after which they were read */
    /* The last reading of memory.stat, and of memory.current just before it. */
    bool read_before;
    struct nm_cgroup_sample last;
    uint64_t last_current_bytes, last_cpu_usec;
    /* The last reading of the seldom changing files, and of memory.current then. */
    bool seldom_read_before;
    uint64_t seldom_usec, seldom_current_bytes;
    struct nm_rate cpu;
    int cpu_pressure_fd; /* -EBADF: the stall is not watched */
    struct nm_rate stall;
    uint64_t highest_bytes;
};

int nm_cgroup_collect(int stat_fd)
{
    char byte;

    assert(stat_fd >= 0);
    /* The kernel collects all statistics to return the first byte. */
    if (pread(stat_fd, &byte, 1, 0) >= 0)
        return 0;
    return errno == ENODEV ? -ENOENT : -errno;
}

int nm_cgroup_read_used(int memory_stat_fd, uint64_t *ret)
{
    struct nm_memory_stat stat;
    char buf[BUF_SIZE];
    int r = nm_monitor_read(memory_stat_fd, buf, sizeof buf);

    if (r >= 0)
        r = nm_monitor_parse_memory_stat(buf, &stat);
    if (r < 0)
        return r;
    *ret = nm_memory_stat_used_bytes(&stat);
    return 0;
}

struct nm_cgroup_sampler *nm_cgroup_sampler_free(struct nm_cgroup_sampler *s)
{
    if (!s)
        return NULL;
    s->cpu_stat_fd = nm_close(s->cpu_stat_fd);
    s->cpu_pressure_fd = nm_close(s->cpu_pressure_fd);
    s->memory_stat_fd = nm_close(s->memory_stat_fd);
    s->memory_current_fd = nm_close(s->memory_current_fd);
    s->memory_peak_fd = nm_close(s->memory_peak_fd);
    s->memory_events_fd = nm_close(s->memory_events_fd);
    s->memory_swap_fd = nm_close(s->memory_swap_fd);
    s->procs = nm_procmem_free(s->procs);
    free(s);
    return NULL;
}

static int open_file(const struct nm_cgroup *cg, const char *name, int *ret_fd)
{
    int fd = openat(cg->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return errno == ENODEV ? -ENOENT : -errno;
    *ret_fd = fd;
    return 0;
}

/* Opens a file that only some kernel versions and configurations have. */
static int open_optional(const struct nm_cgroup *cg, const char *name, int *ret_fd)
{
    int r = open_file(cg, name, ret_fd);

    return r == -ENOENT ? 0 : r;
}

static int open_memory_files(struct nm_cgroup_sampler *s, const struct nm_cgroup *cg)
{
    int r = open_optional(cg, "memory.stat", &s->memory_stat_fd);

    if (r < 0 || s->memory_stat_fd < 0)
        return r;
    r = open_optional(cg, "memory.current", &s->memory_current_fd);
    if (r < 0)
        return r;
    r = open_optional(cg, "memory.peak", &s->memory_peak_fd); /* Linux 5.19 */
    if (r < 0)
        return r;
    r = open_optional(cg, "memory.events", &s->memory_events_fd);
    if (r < 0)
        return r;
    return open_optional(cg, "memory.swap.current", &s->memory_swap_fd);
}

int nm_cgroup_sampler_new(const struct nm_cgroup *cg, bool memory_controller, const char *proc_root,
                          struct nm_cgroup_sampler **ret)
{
    _cleanup_(nm_cgroup_sampler_freep) struct nm_cgroup_sampler *s = calloc(1, sizeof *s);
    int r;

    assert(cg->dir_fd >= 0 && proc_root && ret);
    if (!s)
        return -ENOMEM;
    s->cpu_stat_fd = s->cpu_pressure_fd = s->memory_stat_fd = -EBADF;
    s->memory_current_fd = s->memory_peak_fd = s->memory_events_fd = s->memory_swap_fd = -EBADF;

    r = open_file(cg, "cpu.stat", &s->cpu_stat_fd);
    if (r < 0)
        return r;
    if (memory_controller) {
        r = open_memory_files(s, cg);
        if (r < 0)
            return r;
    }
    /* The mount may have the controller while the parent of this cgroup has not enabled it. */
    if (s->memory_stat_fd < 0) {
        r = nm_procmem_new(cg->dir_fd, proc_root, &s->procs);
        if (r < 0)
            return r;
    }
    *ret = STEAL_PTR(s);
    return 0;
}

void nm_cgroup_sampler_set_shim(struct nm_cgroup_sampler *s, pid_t shim)
{
    assert(shim >= 0);
    if (s->procs)
        nm_procmem_set_shim(s->procs, shim);
}

void nm_cgroup_sampler_reap(void)
{
    nm_pagewalk_reap();
}

void nm_cgroup_sampler_set_n_samplers(struct nm_cgroup_sampler *s, size_t n)
{
    if (s->procs)
        nm_procmem_limit_reads(s->procs, (unsigned)(TURN_READS / NM_MAX(n, (size_t)1)));
}

void nm_cgroup_sampler_set_exact(struct nm_cgroup_sampler *s, bool exact)
{
    s->exact = exact;
}

int nm_cgroup_sampler_watch_stall(struct nm_cgroup_sampler *s, const struct nm_cgroup *cg, bool on)
{
    int r;

    if (on == (s->cpu_pressure_fd >= 0))
        return 0;
    s->stall = (struct nm_rate){0};
    s->cpu_pressure_fd = nm_close(s->cpu_pressure_fd);
    if (!on)
        return 0;
    r = open_file(cg, "cpu.pressure", &s->cpu_pressure_fd);
    return r == -ENOENT ? -EOPNOTSUPP : r;
}

/* Reads one number, or returns 0 if the file is missing. */
static int read_counter(int fd, uint64_t *ret)
{
    char buf[32];
    int r;

    if (fd < 0) {
        *ret = 0;
        return 0;
    }
    r = nm_monitor_read(fd, buf, sizeof buf);
    return r < 0 ? r : nm_monitor_parse_counter(buf, ret);
}

static int read_oom_kills(int fd, uint64_t *ret)
{
    struct nm_cgroup_memory_events events;
    char buf[512];
    int r;

    if (fd < 0) {
        *ret = 0;
        return 0;
    }
    r = nm_monitor_read(fd, buf, sizeof buf);
    if (r >= 0)
        r = nm_cgroup_parse_memory_events(buf, &events);
    if (r < 0)
        return r;
    *ret = events.oom_kill;
    return 0;
}

static int read_memory_stat(struct nm_cgroup_sampler *s, struct nm_cgroup_sample *out)
{
    struct nm_memory_stat stat;
    char buf[BUF_SIZE];
    int r = nm_monitor_read(s->memory_stat_fd, buf, sizeof buf);

    if (r >= 0)
        r = nm_monitor_parse_memory_stat(buf, &stat);
    if (r < 0)
        return r;
    out->memory_bytes = nm_memory_stat_used_bytes(&stat);
    out->zswap_bytes = stat.zswap;
    return 0;
}

static bool seldom_is_stale(const struct nm_cgroup_sampler *s, uint64_t now_usec,
                            uint64_t current_bytes)
{
    uint64_t old = s->seldom_current_bytes;
    uint64_t moved = current_bytes > old ? current_bytes - old : old - current_bytes;

    return !s->seldom_read_before || s->memory_current_fd < 0 || moved > LEAP_BYTES ||
           now_usec < s->seldom_usec || now_usec - s->seldom_usec >= IDLE_MAX_AGE_USEC;
}

static int read_seldom(struct nm_cgroup_sampler *s, uint64_t current_bytes,
                       struct nm_cgroup_sample *out)
{
    int r;

    if (!seldom_is_stale(s, out->at_usec, current_bytes)) {
        out->memory_peak_bytes = NM_MAX(s->last.memory_peak_bytes, current_bytes);
        out->oom_kills = s->last.oom_kills;
        return s->last.swap_bytes > 0 ? read_counter(s->memory_swap_fd, &out->swap_bytes) : 0;
    }
    s->seldom_read_before = false;
    r = read_counter(s->memory_peak_fd, &out->memory_peak_bytes);
    if (r >= 0)
        r = read_counter(s->memory_swap_fd, &out->swap_bytes);
    if (r >= 0)
        r = read_oom_kills(s->memory_events_fd, &out->oom_kills);
    if (r < 0)
        return r;
    s->seldom_read_before = true;
    s->seldom_usec = out->at_usec;
    s->seldom_current_bytes = current_bytes;
    return 0;
}

static bool is_unchanged(const struct nm_cgroup_sampler *s, const struct nm_cgroup_sample *now,
                         uint64_t current_bytes, uint64_t cpu_usec)
{
    return s->read_before && s->memory_current_fd >= 0 && current_bytes == s->last_current_bytes &&
           cpu_usec == s->last_cpu_usec && now->at_usec >= s->last.at_usec &&
           now->at_usec - s->last.at_usec < IDLE_MAX_AGE_USEC;
}

/* Reads the memory files. The caller has already read the CPU time into `out`: memory that is allocated after this
 * reading uses CPU time, so the next sample reads the files again. */
static int sample_memory_files(struct nm_cgroup_sampler *s, uint64_t cpu_usec, struct nm_cgroup_sample *out)
{
    uint64_t current_bytes;
    int r;

    assert(s->memory_stat_fd >= 0 && !s->procs);
    r = read_counter(s->memory_current_fd, &current_bytes);
    if (r < 0)
        return r;
    out->charged_bytes = current_bytes;
    if (is_unchanged(s, out, current_bytes, cpu_usec)) {
        out->memory_bytes = s->last.memory_bytes;
        out->memory_peak_bytes = s->last.memory_peak_bytes;
        out->swap_bytes = s->last.swap_bytes;
        out->zswap_bytes = s->last.zswap_bytes;
        out->oom_kills = s->last.oom_kills;
        return 0;
    }
    s->read_before = false;
    r = read_memory_stat(s, out);
    if (r >= 0)
        r = read_seldom(s, current_bytes, out);
    if (r < 0)
        return r;
    s->read_before = true;
    s->last = *out;
    s->last_current_bytes = current_bytes;
    s->last_cpu_usec = cpu_usec;
    return 0;
}

static int sample_processes(struct nm_cgroup_sampler *s, uint64_t now_usec, uint64_t cpu_usec,
                            struct nm_cgroup_sample *out)
{
    struct nm_proc_memory m;
    int r = nm_procmem_sample(s->procs, now_usec, cpu_usec, &m);

    if (r < 0)
        return r;
    out->memory_bytes = m.anon_bytes + m.shmem_bytes;
    out->swap_bytes = m.swap_bytes;
    out->from_proc = true;
    return 0;
}

static int sample_cpu(struct nm_cgroup_sampler *s, uint64_t now_usec, struct nm_cgroup_sample *out)
{
    struct nm_cpu_stat cpu;
    char buf[1024];
    int r = nm_monitor_read(s->cpu_stat_fd, buf, sizeof buf);

    if (r >= 0)
        r = nm_monitor_parse_cpu_stat(buf, &cpu);
    if (r < 0)
        return r;
    nm_rate_update(&s->cpu, now_usec, cpu.usage_usec);
    out->cpu_usage_usec = cpu.usage_usec;
    out->cpu_throttled_usec = cpu.throttled_usec;
    out->cpu_valid = s->cpu.valid;
    /* usec of CPU per second / 1000 = thousandths of a CPU */
    out->cpu_millicores = (uint32_t)NM_MIN(s->cpu.per_sec / 1000, (uint64_t)UINT32_MAX);
    return 0;
}

/* The kernel updates the total when it is read; its averages are too coarse here. A file that cannot be read (pressure
 * may be disabled per cgroup: EOPNOTSUPP) makes the stall unknown, but the other figures are still sampled. */
static void sample_stall(struct nm_cgroup_sampler *s, uint64_t now_usec, struct nm_cgroup_sample *out)
{
    struct nm_psi psi;
    char buf[256];

    if (s->cpu_pressure_fd < 0 || nm_monitor_read(s->cpu_pressure_fd, buf, sizeof buf) < 0 ||
        nm_psi_parse(buf, &psi) < 0)
        return;
    /* If an extra sample between two periodic samples was taken only a moment ago, its rate is kept. */
    (void)nm_rate_update_over(&s->stall, now_usec, psi.some.total_usec, STALL_MIN_USEC);
    out->stall_known = s->stall.valid;
    out->stall_permille = (uint32_t)NM_MIN(s->stall.per_sec / 1000, UINT64_C(1000));
}

/* Returns the CPU time that controls the reading of the memory files: they are read when it changes. It leaves out
 * short use of CPU time. */
static uint64_t cpu_for_memory(struct nm_cgroup_sampler *s, uint64_t usage_usec)
{
    const uint64_t kept_usec = s->exact ? 0 : KEPT_CPU_USEC;

    if (usage_usec < s->read_cpu_usec || usage_usec - s->read_cpu_usec > kept_usec)
        s->read_cpu_usec = usage_usec;
    return s->read_cpu_usec;
}

int nm_cgroup_sampler_sample(struct nm_cgroup_sampler *s, uint64_t now_usec,
                             struct nm_cgroup_sample *ret)
{
    struct nm_cgroup_sample out = {.at_usec = now_usec};
    int r = sample_cpu(s, now_usec, &out); /* must be first: see nm_procmem_sample() */

    if (r >= 0 && s->procs)
        r = sample_processes(s, now_usec, cpu_for_memory(s, out.cpu_usage_usec), &out);
    else if (r >= 0)
        r = sample_memory_files(s, cpu_for_memory(s, out.cpu_usage_usec), &out);
    if (r < 0)
        return r;
    sample_stall(s, now_usec, &out);
    s->highest_bytes = NM_MAX(s->highest_bytes, out.memory_bytes);
    if (s->memory_peak_fd < 0)
        out.memory_peak_bytes = s->highest_bytes;
    *ret = out;
    return 0;
}
