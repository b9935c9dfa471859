/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Samples the whole node: /proc/meminfo, /proc/stat and /proc/pressure. Five small files are opened once. Pressure
 * files may be missing (CONFIG_PSI=n) or unreadable (booted with psi=0): pressure is then reported as zero, because the
 * policy uses it only as a hint. Without meminfo or stat there is no sample. Also reads the kernel's limit of tasks
 * (processes and threads) on the node.
 */

#include "monitor/monitor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/kread.h"
#include "monitor/parse.h"
#include "monitor/rate.h"
#include "util/error.h"
#include "util/fileio.h"

/* Large enough for the cpu lines of 8192 CPUs, the kernel's maximum; the interrupt counts after them may be cut off. */
#define BUF_SIZE ((size_t)1 << 20)

struct nm_node_sampler {
    int meminfo_fd, stat_fd;
    int memory_pressure_fd, cpu_pressure_fd;
    uint64_t cpu_at_usec;
    struct nm_cpu_ticks ticks; /* ticks at the time cpu_at_usec */
    uint32_t cpu_busy_millicores;
    bool primed, cpu_valid;
    char buf[BUF_SIZE];
};

struct nm_node_sampler *nm_node_sampler_free(struct nm_node_sampler *s)
{
    if (!s)
        return NULL;
    s->meminfo_fd = nm_close(s->meminfo_fd);
    s->stat_fd = nm_close(s->stat_fd);
    s->memory_pressure_fd = nm_close(s->memory_pressure_fd);
    s->cpu_pressure_fd = nm_close(s->cpu_pressure_fd);
    free(s);
    return NULL;
}

static int open_proc(int proc_fd, const char *name)
{
    return RET_NERRNO(openat(proc_fd, name, O_RDONLY | O_CLOEXEC));
}

int nm_node_sampler_new(const char *proc_root, struct nm_node_sampler **ret)
{
    _cleanup_(nm_node_sampler_freep) struct nm_node_sampler *s = malloc(sizeof *s);
    _cleanup_close_ int proc_fd = -EBADF;

    assert(proc_root && ret);
    if (!s)
        return -ENOMEM;
    /* Do not clear the buffer, so that only the pages into which the kernel writes text become resident. */
    memset(s, 0, offsetof(struct nm_node_sampler, buf));
    s->meminfo_fd = s->stat_fd = s->memory_pressure_fd = s->cpu_pressure_fd = -EBADF;

    proc_fd = open(proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (proc_fd < 0)
        return -errno;
    s->meminfo_fd = open_proc(proc_fd, "meminfo");
    if (s->meminfo_fd < 0)
        return s->meminfo_fd;
    s->stat_fd = open_proc(proc_fd, "stat");
    if (s->stat_fd < 0)
        return s->stat_fd;
    s->memory_pressure_fd = open_proc(proc_fd, "pressure/memory");
    s->cpu_pressure_fd = open_proc(proc_fd, "pressure/cpu");
    *ret = STEAL_PTR(s);
    return 0;
}

static int sample_memory(struct nm_node_sampler *s, struct nm_node_sample *out)
{
    struct nm_meminfo m;
    int r;

    assert(s->meminfo_fd >= 0);
    r = nm_monitor_read(s->meminfo_fd, s->buf, sizeof s->buf);
    if (r >= 0)
        r = nm_monitor_parse_meminfo(s->buf, &m);
    if (r < 0)
        return r;
    /* Pages in a pool of huge pages cannot be used for other purposes, even if no process uses them. MemTotal includes
     * them, but neither MemAvailable nor any container's figures do. */
    out->hugetlb_bytes = NM_MIN(m.hugetlb_bytes, m.memory_total_bytes);
    out->memory_total_bytes = m.memory_total_bytes - out->hugetlb_bytes;
    out->memory_available_bytes = m.memory_available_bytes;
    out->memory_held_bytes = m.anon_bytes + m.shmem_bytes;
    out->swap_total_bytes = m.swap_total_bytes;
    out->swap_free_bytes = m.swap_free_bytes;
    return 0;
}

/*
 * Computes the busy share of the elapsed ticks, times the CPUs; unlike ticks per elapsed time, this share cannot exceed
 * the machine's CPUs. Idle ticks may decrease by a few, because the kernel recomputes them for CPUs in a tickless sleep
 * (and documents iowait as unreliable). Such a decrease counts as zero. Any other decrease is a reset, after which
 * there is no rate. A CPU that goes online or offline is also a reset, because the kernel computes the idle time of
 * offline CPUs in another way.
 */
static bool busy_millicores(const struct nm_cpu_ticks *old, const struct nm_cpu_ticks *now,
                            uint32_t *ret)
{
    uint64_t busy, idle = 0;

    if (now->n_cpus != old->n_cpus || now->busy < old->busy || now->idle + now->n_cpus < old->idle)
        return false;
    busy = now->busy - old->busy;
    if (now->idle > old->idle)
        idle = now->idle - old->idle;
    if (busy + idle == 0) {
        /* No ticks at all: the kernel has not yet updated a sleeping machine's counters. */
        *ret = 0;
        return true;
    }
    *ret = (uint32_t)((unsigned __int128)busy * now->n_cpus * 1000 /
                      ((unsigned __int128)busy + idle));
    return true;
}

static int sample_cpu(struct nm_node_sampler *s, uint64_t now_usec, struct nm_node_sample *out)
{
    struct nm_cpu_ticks t;
    int r = nm_monitor_read_at(s->stat_fd, 0, s->buf, sizeof s->buf);

    if (r == (int)sizeof s->buf - 1 && !strstr(s->buf, "\nintr "))
        r = -E2BIG; /* the cpu lines may have been cut off */
    if (r >= 0)
        r = nm_monitor_parse_stat(s->buf, &t);
    if (r < 0)
        return r;
    /* Ticks are 10 ms: over less than a few ticks a share is meaningless, and the previous share is kept. */
    if (!s->primed || now_usec < s->cpu_at_usec || now_usec - s->cpu_at_usec >= NM_RATE_MIN_USEC) {
        s->cpu_valid = s->primed && now_usec > s->cpu_at_usec &&
                       busy_millicores(&s->ticks, &t, &s->cpu_busy_millicores);
        s->ticks = t;
        s->cpu_at_usec = now_usec;
        s->primed = true;
    }
    out->n_cpus = t.n_cpus;
    out->cpu_valid = s->cpu_valid;
    out->cpu_busy_millicores = s->cpu_valid ? s->cpu_busy_millicores : 0;
    return 0;
}

static struct nm_psi read_pressure(struct nm_node_sampler *s, int fd)
{
    struct nm_psi psi;

    if (fd < 0 || nm_monitor_read(fd, s->buf, sizeof s->buf) < 0 || nm_psi_parse(s->buf, &psi) < 0)
        return (struct nm_psi){0};
    return psi;
}

int nm_node_sampler_sample_memory(struct nm_node_sampler *s, uint64_t now_usec, struct nm_node_sample *ret)
{
    struct nm_node_sample out = {.at_usec = now_usec};
    int r = sample_memory(s, &out);

    if (r >= 0)
        *ret = out;
    return r;
}

int nm_node_sampler_sample(struct nm_node_sampler *s, uint64_t now_usec, struct nm_node_sample *ret)
{
    struct nm_node_sample out = {.at_usec = now_usec};
    struct nm_psi memory, cpu;
    int r = sample_memory(s, &out);

    assert(s && ret);
    if (r >= 0)
        r = sample_cpu(s, now_usec, &out);
    if (r < 0)
        return r;
    memory = read_pressure(s, s->memory_pressure_fd);
    cpu = read_pressure(s, s->cpu_pressure_fd);
    out.memory_pressure_some_avg10 = memory.some.avg10;
    out.memory_pressure_full_avg10 = memory.full.avg10;
    out.cpu_pressure_some_avg10 = cpu.some.avg10;
    *ret = out;
    return 0;
}

static int read_number(int dir_fd, const char *name, uint64_t *ret)
{
    char text[32];
    int r = nm_read_file_at(dir_fd, name, text, sizeof text, NULL);

    return r < 0 ? r : nm_monitor_parse_counter(text, ret);
}

/* threads-max depends on the memory: some 8 per MiB. The limit of process ids may be lower. */
int nm_tasks_max(const char *proc_root, uint64_t *ret)
{
    _cleanup_close_ int fd = open(proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    uint64_t threads, pids;
    int r;

    assert(ret);
    if (fd < 0)
        return -errno;
    r = read_number(fd, "sys/kernel/threads-max", &threads);
    if (r >= 0)
        r = read_number(fd, "sys/kernel/pid_max", &pids);
    if (r < 0)
        return r;
    *ret = NM_MIN(threads, pids);
    return 0;
}
