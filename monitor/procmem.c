/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory of a cgroup's processes without a memory controller. Three files of /proc/PID know
 * something:
 *
 *   statm         cheapest by far, but its "shared" lumps page cache and shared memory together;
 *   status        tells anonymous, file and shared memory apart, and swap; formats 60 lines for it;
 *   smaps_rollup  alone knows what is shared between processes, but walks every page table, some
 *                 milliseconds per GiB, under a lock (pagewalk.c says what follows from that).
 *
 * So statm is read each time, through a descriptor that stays open, and tells whether the others
 * need to be: status when "shared" has moved, anonymous memory has shrunk (it may have been swapped
 * out) or something is in swap (and may come back); smaps_rollup only where processes may share a
 * lot. Forked workers do: copy-on-write pages are resident in each of them and would be counted once
 * per worker. What sharing can hide is at most the sum without the largest process, so that a
 * container with one large process and a few helpers, the usual case, never pays for it.
 *
 * Best of all is to read nothing: where no CPU time was used since the last sample, nothing ran
 * that could have taken memory. Of a thousand containers most are idle or paused most of the time.
 *
 * A container's shim is nmd's own program and stays as it is, so that its figures are believed for as
 * long as those of a container that doesn't run, once two looks at it were the same.
 *
 * Each descriptor that is kept costs a page of kernel memory (a seq_file holds on to its buffer),
 * and saves half of what opening, reading and closing costs.
 *
 * What one can't see from here: tmpfs pages that no process maps, kernel memory, mlocked page
 * cache.
 */

#include "monitor/procmem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cgroup/procs.h"
#include "monitor/kread.h"
#include "monitor/pagewalk.h"
#include "util/error.h"
#include "util/fileio.h"

/* Processes whose statm stays open. A container can start as many as it likes, so that this must
 * have a bound. */
#define CACHE_MAX 64u
/* Processes that are looked at; a fork bomb's others are taken to be alike. Bounds the time of one
 * sample. */
#define PROCESSES_MAX 1024u
/* Of a list as long as this the rest isn't read: it is taken to have no more. */
#define LISTED_MAX 65536u
/* Threads that are looked at where a process's first one has ended. A process can keep ended ones listed: by tracing
 * them from another. */
#define THREADS_MAX 32u
#define PROCS_TEXT_SIZE ((size_t)64 << 10)

/* Page table walks: how old a result may get, how much one walk covers (the rest by extrapolation),
 * and from how much possible sharing on it is worth it. */
#define WALK_MAX_AGE_USEC (10 * NM_USEC_PER_SEC)
#define WALK_MAX_BYTES (2048 * NM_MIB)
#define SHARING_MIN_BYTES (16 * NM_MIB)
/* Most walks end within this. One that doesn't is asked for its result at the next sample. */
#define WALK_WAIT_MSEC 5

/* How long figures of a container that used no CPU are taken to hold. Others may still change them:
 * the kernel swaps out, and a process may be moved in. */
#define IDLE_MAX_AGE_USEC (10 * NM_USEC_PER_SEC)

/* Within this many pages shared memory may grow unseen by us: the kernel's own counters, which it
 * updates in batches per thread or CPU, are no more exact. */
#define SLACK_PAGES 64u

struct process {
    pid_t pid;
    int statm_fd;
    struct nm_proc_statm statm;   /* when status was read last */
    struct nm_proc_memory memory; /* the present figures */
    bool known;
    struct nm_proc_statm latest; /* at read_usec */
    uint64_t read_usec;
    bool at_rest; /* and the same as before */
};

struct nm_procmem {
    int cgroup_fd, procs_fd;
    char *proc_root;
    uint64_t page_bytes;
    pid_t shim; /* 0: none */

    /* The latest result, and the CPU time that the cgroup had used before it was taken. */
    bool measured;
    uint64_t measured_usec, cpu_usage_usec;
    struct nm_proc_memory memory;

    /* The first processes of cgroup.procs, in its order as far as possible. */
    struct process *cache;
    unsigned n_cached, cache_size;

    /* The page table walk that was started last, and what one has found: of resident_bytes,
     * overcount_bytes are there more than once. */
    struct nm_pagewalk walk;
    bool walked, overcount_known;
    uint64_t walked_usec, resident_bytes, overcount_bytes;
};

/* The processes of one sample. */
struct census {
    pid_t pid[PROCESSES_MAX];
    unsigned n, total;
    uint64_t bytes[PROCESSES_MAX]; /* anonymous and shared memory, resident */
};

struct nm_procmem *nm_procmem_free(struct nm_procmem *p)
{
    if (!p)
        return NULL;
    for (unsigned i = 0; i < p->n_cached; i++)
        p->cache[i].statm_fd = nm_close(p->cache[i].statm_fd);
    nm_pagewalk_done(&p->walk);
    free(p->cache);
    free(p->proc_root);
    p->cgroup_fd = nm_close(p->cgroup_fd);
    p->procs_fd = nm_close(p->procs_fd);
    free(p);
    return NULL;
}

int nm_procmem_new(int cgroup_fd, const char *proc_root, struct nm_procmem **ret)
{
    _cleanup_(nm_procmem_freep) struct nm_procmem *p = calloc(1, sizeof *p);

    assert(cgroup_fd >= 0 && proc_root && ret);
    if (!p)
        return -ENOMEM;
    p->cgroup_fd = p->procs_fd = -EBADF;
    p->walk = NM_PAGEWALK_NULL;
    p->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    p->proc_root = strdup(proc_root);
    if (!p->proc_root)
        return -ENOMEM;
    p->cgroup_fd = fcntl(cgroup_fd, F_DUPFD_CLOEXEC, 3);
    if (p->cgroup_fd < 0)
        return -errno;
    p->procs_fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (p->procs_fd < 0)
        return errno == ENODEV ? -ENOENT : -errno;
    *ret = STEAL_PTR(p);
    return 0;
}

void nm_procmem_set_shim(struct nm_procmem *p, pid_t shim)
{
    p->shim = shim;
}

static int open_proc(const struct nm_procmem *p, pid_t pid, const char *name)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/%d/%s", p->proc_root, (int)pid,
                         name) >= sizeof path)
        return -ENAMETOOLONG;
    return RET_NERRNO(open(path, O_RDONLY | O_CLOEXEC));
}

/* ---- which processes there are --------------------------------------------------------------- */

/* A container that may (run as root, or delegated) can hide processes in cgroups of its own;
 * cgroup.procs lists only those of one cgroup. kernfs keeps the link count of directories, which
 * makes "none below" one fstat. */
static bool has_children(int cgroup_fd)
{
    struct stat st;

    return fstat(cgroup_fd, &st) >= 0 && st.st_nlink > 2;
}

static int count_process(pid_t pid, void *userdata)
{
    struct census *c = userdata;

    if (c->n < PROCESSES_MAX)
        c->pid[c->n++] = pid;
    c->total++;
    return c->total < LISTED_MAX ? 0 : NM_PROCS_CUT;
}

static int add_to_census(struct census *c, const char *text)
{
    unsigned n, total;
    int r = nm_monitor_parse_procs(text, c->pid + c->n, PROCESSES_MAX - c->n, &n, &total);

    if (r < 0)
        return r;
    c->n += n;
    c->total += total;
    return 0;
}

/* By pieces, each of which ends with a whole number. */
static int list_flat(int procs_fd, struct census *c)
{
    char text[PROCS_TEXT_SIZE];
    off_t at = 0;

    while (c->total < LISTED_MAX) {
        int n = nm_monitor_read_at(procs_fd, at, text, sizeof text), r;
        bool more = n == (int)sizeof text - 1;
        const char *last = more ? strrchr(text, '\n') : NULL;

        if (n < 0 || (more && !last))
            return n < 0 ? n : -EBADMSG;
        if (last) {
            n = (int)(last - text) + 1;
            text[n] = '\0';
        }
        r = add_to_census(c, text);
        if (r < 0 || !more)
            return r;
        at += n;
    }
    return 0;
}

/* Where cgroups below are so many that they aren't all looked into, what is in them is unknown, which isn't nothing. */
static int list_processes(const struct nm_procmem *p, struct census *c)
{
    int r;

    c->n = c->total = 0;
    if (!has_children(p->cgroup_fd))
        return list_flat(p->procs_fd, c);
    r = nm_procs_walk(p->cgroup_fd, count_process, c);
    return r == NM_PROCS_CUT && c->total < LISTED_MAX ? -E2BIG : NM_MIN(r, 0);
}

/* ---- one process ----------------------------------------------------------------------------- */

/* Of a process or a thread, or NM_MONITOR_THREAD_ENDED. */
static int read_status_file(const struct nm_procmem *p, pid_t pid, const char *name, struct nm_proc_memory *ret)
{
    _cleanup_close_ int fd = open_proc(p, pid, name);
    char buf[512];
    int r = fd < 0 ? fd
                   : nm_monitor_read_lines(fd, nm_monitor_status_lines, NM_MONITOR_N_STATUS_LINES, buf, sizeof buf);

    return r < 0 ? r : nm_monitor_parse_status(buf, ret);
}

/* The first thread has ended and its file no longer knows of the memory, which is all there: any thread that lives
 * tells. -EBADMSG: none was found among the first; the memory is unknown then, and not nothing. */
static int read_thread_status(const struct nm_procmem *p, pid_t pid, struct nm_proc_memory *ret)
{
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *entry;
    int r = nm_fdopendir(open_proc(p, pid, "task"), &dir);

    if (r < 0)
        return r;
    for (unsigned n = 0; n < THREADS_MAX && (entry = readdir(dir)); n++) {
        char name[NAME_MAX + sizeof "task//status"];

        if (entry->d_name[0] == '.' || atoi(entry->d_name) == pid)
            continue;
        (void)snprintf(name, sizeof name, "task/%s/status", entry->d_name);
        r = read_status_file(p, pid, name, ret);
        if (r != NM_MONITOR_THREAD_ENDED && r != -ENOENT)
            return r;
    }
    /* All may have ended meanwhile: then the process is gone, or a zombie that uses nothing. */
    r = read_status_file(p, pid, "status", ret);
    return r == NM_MONITOR_THREAD_ENDED ? -EBADMSG : r;
}

static int read_status(const struct nm_procmem *p, pid_t pid, struct nm_proc_memory *ret)
{
    int r = read_status_file(p, pid, "status", ret);

    return r == NM_MONITOR_THREAD_ENDED ? read_thread_status(p, pid, ret) : r;
}

/* Must status be read, or does what it said last go on being true? statm is all zero where the first thread has
 * ended, whatever the others use. */
static bool status_is_stale(const struct process *q, const struct nm_proc_statm *now)
{
    uint64_t anon = now->resident_pages - NM_MIN(now->shared_pages, now->resident_pages);
    uint64_t old_anon =
        q->statm.resident_pages - NM_MIN(q->statm.shared_pages, q->statm.resident_pages);
    uint64_t shared = now->shared_pages, old_shared = q->statm.shared_pages;

    return !q->known || now->resident_pages == 0 || q->memory.swap_bytes > 0 || shared > old_shared + SLACK_PAGES ||
           old_shared > shared + SLACK_PAGES || old_anon > anon + SLACK_PAGES;
}

/* Need not be looked at. */
static bool is_shim_at_rest(const struct nm_procmem *p, const struct process *q, uint64_t now_usec)
{
    return q->pid == p->shim && q->at_rest && now_usec >= q->read_usec &&
           now_usec - q->read_usec < IDLE_MAX_AGE_USEC;
}

static void note_rest(struct process *q, const struct nm_proc_statm *now, uint64_t now_usec)
{
    q->at_rest = q->latest.resident_pages == now->resident_pages &&
                 q->latest.shared_pages == now->shared_pages;
    q->latest = *now;
    q->read_usec = now_usec;
}

static int measure(const struct nm_procmem *p, struct process *q, uint64_t now_usec)
{
    struct nm_proc_statm now;
    char buf[256];
    int r;

    assert(q->pid > 0);
    if (q->statm_fd < 0) {
        q->statm_fd = open_proc(p, q->pid, "statm");
        if (q->statm_fd < 0)
            return q->statm_fd;
    }
    r = nm_monitor_read(q->statm_fd, buf, sizeof buf);
    if (r >= 0)
        r = nm_monitor_parse_statm(buf, &now);
    if (r < 0)
        return r;
    if (status_is_stale(q, &now)) {
        r = read_status(p, q->pid, &q->memory);
        if (r < 0)
            return r;
        q->statm = now;
        q->known = true;
    } else {
        q->memory.anon_bytes =
            (now.resident_pages - NM_MIN(now.shared_pages, now.resident_pages)) * p->page_bytes;
    }
    note_rest(q, &now, now_usec);
    return 0;
}

static void process_reset(struct process *q, pid_t pid)
{
    q->statm_fd = nm_close(q->statm_fd);
    *q = (struct process){.pid = pid, .statm_fd = -EBADF};
}

static bool make_room(struct nm_procmem *p)
{
    unsigned size = NM_MIN(NM_MAX(2u, 2 * p->cache_size), CACHE_MAX);
    struct process *cache;

    if (p->n_cached < p->cache_size)
        return true;
    cache = size > p->cache_size ? realloc(p->cache, size * sizeof *cache) : NULL;
    if (!cache)
        return false;
    p->cache = cache;
    p->cache_size = size;
    return true;
}

/* An entry for pid at place i, where it was last time unless processes before it have ended. */
static struct process *cache_entry(struct nm_procmem *p, unsigned i, pid_t pid)
{
    assert(i < CACHE_MAX && p->n_cached <= p->cache_size);
    for (unsigned k = i; k < p->n_cached; k++) {
        if (p->cache[k].pid == pid) {
            struct process found = p->cache[k];

            p->cache[k] = p->cache[i];
            p->cache[i] = found;
            return &p->cache[i];
        }
    }
    if (i < p->n_cached && p->n_cached == CACHE_MAX) { /* one must go; if it lives, it comes back */
        process_reset(&p->cache[i], pid);
        return &p->cache[i];
    }
    if (i > p->n_cached || !make_room(p))
        return NULL;
    p->cache[p->n_cached++] = p->cache[i];
    p->cache[i] = (struct process){.pid = pid, .statm_fd = -EBADF};
    return &p->cache[i];
}

static void cache_truncate(struct nm_procmem *p, unsigned n)
{
    assert(n <= CACHE_MAX);
    while (p->n_cached > n)
        process_reset(&p->cache[--p->n_cached], 0);
}

/* -ENOENT: it has ended. */
static int measure_cached(struct nm_procmem *p, struct process *q, uint64_t now_usec)
{
    bool was_open = q->statm_fd >= 0;
    int r;

    if (is_shim_at_rest(p, q, now_usec))
        return 0;
    r = measure(p, q, now_usec);
    /* The number may belong to a new process by now, which the old descriptor never shows. */
    if (r == -ENOENT && was_open) {
        process_reset(q, q->pid);
        r = measure(p, q, now_usec);
    }
    if (r < 0)
        process_reset(q, q->pid);
    return r;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int measure_all(struct nm_procmem *p, struct census *c, uint64_t now_usec,
                       struct nm_proc_memory *sum)
{
    unsigned cached = 0;

    assert(c->n <= PROCESSES_MAX && c->n <= c->total);
    *sum = (struct nm_proc_memory){0};
    for (unsigned i = 0; i < c->n; i++) {
        struct process *q = i < CACHE_MAX ? cache_entry(p, i, c->pid[i]) : NULL;
        struct nm_proc_memory m = {0};
        int r;

        if (q) {
            cached = i + 1;
            r = measure_cached(p, q, now_usec);
            m = q->memory;
        } else {
            r = read_status(p, c->pid[i], &m);
        }
        c->bytes[i] = 0;
        if (r == -ENOENT)
            continue; /* ended since it was listed */
        if (r < 0)
            return r;
        c->bytes[i] = m.anon_bytes + m.shmem_bytes;
        sum->anon_bytes += m.anon_bytes;
        sum->shmem_bytes += m.shmem_bytes;
        sum->swap_bytes += m.swap_bytes;
    }
    cache_truncate(p, cached);
    return 0;
}

static void walk_finish(struct nm_procmem *p, const struct nm_pagewalk_result *result)
{
    uint64_t unique = NM_MIN(result->unique_bytes, result->resident_bytes);
    unsigned __int128 sum = p->resident_bytes;

    if (result->resident_bytes > 0) /* the walk may have covered only a part */
        unique = (uint64_t)(sum * unique / result->resident_bytes);
    p->overcount_bytes = p->resident_bytes - NM_MIN(unique, p->resident_bytes);
    p->overcount_known = true;
}

/* Takes the result of a walk, if there is one by now. */
static void walk_poll(struct nm_procmem *p, int timeout_msec)
{
    struct nm_pagewalk_result result;
    int r;

    if (p->walk.pid == 0)
        return;
    r = nm_pagewalk_collect(&p->walk, timeout_msec, &result);
    if (r >= 0)
        walk_finish(p, &result);
    else if (r != -EAGAIN)
        p->overcount_known = false;
}

static bool walk_is_due(const struct nm_procmem *p, uint64_t now_usec, uint64_t sum_bytes)
{
    uint64_t old = p->resident_bytes;
    uint64_t change = sum_bytes > old ? sum_bytes - old : old - sum_bytes;

    if (p->walk.pid != 0)
        return false;
    /* By age too: when a worker writes to a shared page, memory is used up but no resident figure
     * moves. */
    return !p->walked || now_usec < p->walked_usec ||
           now_usec - p->walked_usec >= WALK_MAX_AGE_USEC ||
           change > NM_MAX(old / 8, SHARING_MIN_BYTES);
}

static void walk_start(struct nm_procmem *p, const struct census *c, uint64_t now_usec,
                       uint64_t sum_bytes)
{
    int r;

    assert(p->walk.pid == 0);
    r = nm_pagewalk_start(&p->walk, p->proc_root, c->pid, c->bytes, c->n, WALK_MAX_BYTES);
    p->walked = true;
    p->walked_usec = now_usec;
    p->resident_bytes = sum_bytes;
    if (r < 0)
        p->overcount_known = false;
    else
        walk_poll(p, WALK_WAIT_MSEC);
}

/*
 * Bytes of sum_bytes that are counted more than once. While the first walk goes on, all that may be
 * shared is taken to be: the node's own figures still show what is really used, and nobody should
 * be killed for a fork. But a walk that doesn't end (its target can see to that) must not hide
 * anything for long.
 */
static uint64_t overcount(struct nm_procmem *p, const struct census *c, uint64_t now_usec,
                          uint64_t sum_bytes)
{
    uint64_t largest = 0, possible;

    for (unsigned i = 0; i < c->n; i++)
        largest = NM_MAX(largest, c->bytes[i]);
    possible = sum_bytes - largest;
    if (possible <= SHARING_MIN_BYTES + sum_bytes / 16) {
        nm_pagewalk_done(&p->walk);
        p->walked = p->overcount_known = false;
        return 0;
    }
    walk_poll(p, 0);
    if (walk_is_due(p, now_usec, sum_bytes))
        walk_start(p, c, now_usec, sum_bytes);
    if (p->walk.pid != 0 && now_usec - p->walked_usec >= WALK_MAX_AGE_USEC)
        return 0;
    if (p->overcount_known)
        return NM_MIN(p->overcount_bytes, possible);
    return p->walk.pid != 0 ? possible : 0;
}

static uint64_t scale(uint64_t v, unsigned total, unsigned n)
{
    return (uint64_t)((unsigned __int128)v * total / n);
}

static int sample(struct nm_procmem *p, uint64_t now_usec, struct nm_proc_memory *ret)
{
    struct census c;
    struct nm_proc_memory sum;
    uint64_t twice, from_anon;
    int r = list_processes(p, &c);

    if (r >= 0)
        r = measure_all(p, &c, now_usec, &sum);
    if (r < 0)
        return r;
    twice = overcount(p, &c, now_usec, sum.anon_bytes + sum.shmem_bytes);
    /* Which of the two is shared doesn't matter to anyone. */
    from_anon = NM_MIN(twice, sum.anon_bytes);
    sum.anon_bytes -= from_anon;
    sum.shmem_bytes -= NM_MIN(twice - from_anon, sum.shmem_bytes);
    if (c.total > c.n) {
        sum.anon_bytes = scale(sum.anon_bytes, c.total, c.n);
        sum.shmem_bytes = scale(sum.shmem_bytes, c.total, c.n);
        sum.swap_bytes = scale(sum.swap_bytes, c.total, c.n);
    }
    *ret = sum;
    return 0;
}

int nm_procmem_sample(struct nm_procmem *p, uint64_t now_usec, uint64_t cpu_usage_usec,
                      struct nm_proc_memory *ret)
{
    int r;

    if (!p->measured || p->walk.pid != 0 || cpu_usage_usec != p->cpu_usage_usec ||
        now_usec < p->measured_usec ||
        now_usec - p->measured_usec >= IDLE_MAX_AGE_USEC) {
        r = sample(p, now_usec, &p->memory);
        p->measured = r >= 0;
        if (r < 0)
            return r;
        p->measured_usec = now_usec;
        p->cpu_usage_usec = cpu_usage_usec;
    }
    *ret = p->memory;
    return 0;
}
