/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Sums the memory of a cgroup's processes without a memory controller. Three files of /proc/PID are useful:
 *
 *   statm         cheapest by far, but its "shared" lumps page cache and shared memory together;
 *   status        separates anonymous, file and shared memory, and swap, but has 60 lines to format;
 *   smaps_rollup  only this file accounts for sharing between processes, but walks every page table,
 *                 some milliseconds per GiB, under a lock (pagewalk.c explains the consequences).
 *
 * So statm is read each time, through a descriptor that stays open, and determines whether the other two files must be
 * read. status is read if "shared" has changed, if anonymous memory has shrunk (it may have been swapped out) or if
 * swap is in use (pages may come back). smaps_rollup is read only if processes may share much memory. Forked workers
 * do: copy-on-write pages are resident in each of them and would be counted once per worker. Sharing can affect at most
 * the sum without the largest process, so a container with one large process and a few helpers, the usual case, needs
 * no walk.
 *
 * If no CPU time was used since the last sample, no process can have allocated memory, and no file is read. Of a
 * thousand containers most are idle or paused most of the time.
 *
 * A container's shim is nmd's own program and does not grow. After two equal readings, the shim's figures are kept for
 * as long as the figures of an idle container.
 *
 * A container may have any number of processes, but one sample reads only a limited number of them. The first processes
 * have open descriptors and are read in each sample. Of the rest, each sample reads a part and continues where the
 * previous sample stopped, so that all have been read after some samples. Until a process is read again it counts with
 * its last figures, because its memory must not count as freed without a reading: the sum falls only if a process was
 * read again or is no longer listed. A process that was not read yet counts with the mean of the processes that were
 * read for the first time in the same sample, since they were probably started around the same time. The largest of
 * them is left out of the mean: otherwise one large process would be multiplied by thousands of small processes.
 *
 * Each open descriptor costs a page of kernel memory (a seq_file keeps its buffer), and saves half of the cost of
 * opening, reading and closing.
 *
 * This method does not count tmpfs pages that no process maps, kernel memory, and mlocked page cache.
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
#include "monitor/procmem-internal.h"
#include "util/error.h"
#include "util/fileio.h"

/* Maximum number of processes whose statm stays open, because a container can start any number of them. */
#define CACHE_MAX 64u
/* Processes that were never read get all reads divided by this number, and the reads that the other processes do not
 * need. With a larger part, a container that forks constantly could prevent nmd from renewing the figures of its older
 * processes. */
#define UNREAD_DIVISOR 2
/* Maximum number of listed processes. The memory of a container with more processes is unknown. */
#define LISTED_MAX 65536u
/* Maximum number of threads read if a process's first thread has ended. A process can keep ended threads listed by
 * tracing them from another process. */
#define THREADS_MAX 32u
#define PROCS_TEXT_SIZE ((size_t)64 << 10)

/* How long the figures of a container that used no CPU are kept. The figures may still change: the kernel swaps out,
 * and a process may be moved into the cgroup. */
#define IDLE_MAX_AGE_USEC (10 * NM_USEC_PER_SEC)

/* Shared memory may grow by this many pages without a new reading: the kernel's own counters, which it updates in
 * batches per thread or CPU, are not more exact. */
#define SLACK_PAGES 64u

struct process {
    pid_t pid;
    int statm_fd;
    struct nm_proc_statm statm;   /* figures at the last reading of status */
    struct nm_proc_memory memory; /* the current figures */
    bool known;
    struct nm_proc_statm latest; /* figures read at the time read_usec */
    uint64_t read_usec;
    bool at_rest; /* latest equals the reading before */
};

struct nm_procmem {
    int cgroup_fd, procs_fd;
    char *proc_root;
    uint64_t page_bytes;
    pid_t shim; /* 0: the container has no shim */
    unsigned max_reads; /* maximum number of processes without an open descriptor that one sample reads */

    /* The latest result, and the cgroup's CPU time read just before. */
    bool measured;
    uint64_t measured_usec, cpu_usage_usec;
    struct nm_proc_memory memory;

    /* All processes; the last process that was read again; and the number of readings that are still needed until each
     * process was read after the cgroup's last use of CPU time. */
    struct nm_proctable table;
    pid_t read_last;
    unsigned n_outdated;

    /* The first processes of the table, as far as possible in the same order. */
    struct process *cache;
    unsigned n_cached, cache_size;

    struct nm_sharing sharing;
};

/* The list of one sample. */
struct census {
    pid_t pid[LISTED_MAX];
    unsigned n, total; /* total: LISTED_MAX + 1 if there are more */
};

struct nm_procmem *nm_procmem_free(struct nm_procmem *p)
{
    if (!p)
        return NULL;
    for (unsigned i = 0; i < p->n_cached; i++)
        p->cache[i].statm_fd = nm_close(p->cache[i].statm_fd);
    nm_sharing_done(&p->sharing);
    nm_proctable_done(&p->table);
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
    nm_sharing_init(&p->sharing);
    p->max_reads = NM_PROCMEM_READS_MAX;
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

void nm_procmem_limit_reads(struct nm_procmem *p, unsigned max)
{
    p->max_reads = NM_MAX(max, NM_PROCMEM_READS_MIN);
    p->max_reads = NM_MIN(p->max_reads, NM_PROCMEM_READS_MAX);
}

static int open_proc(const struct nm_procmem *p, pid_t pid, const char *name)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/%d/%s", p->proc_root, (int)pid,
                         name) >= sizeof path)
        return -ENAMETOOLONG;
    return RET_NERRNO(open(path, O_RDONLY | O_CLOEXEC));
}

/* ---- listing the processes ------------------------------------------------------------------- */

/* A privileged container (root, or delegated) can hide processes in cgroups of its own; cgroup.procs lists only the
 * processes of one cgroup. kernfs maintains the link count of directories, so one fstat shows that there are no cgroups
 * below. */
static bool has_children(int cgroup_fd)
{
    struct stat st;

    return fstat(cgroup_fd, &st) >= 0 && st.st_nlink > 2;
}

static int count_process(pid_t pid, void *userdata)
{
    struct census *c = userdata;

    if (c->n < LISTED_MAX)
        c->pid[c->n++] = pid;
    return c->total++ < LISTED_MAX ? 0 : NM_PROCS_CUT;
}

static int add_to_census(struct census *c, const char *text)
{
    unsigned n, total;
    int r = nm_monitor_parse_procs(text, c->pid + c->n, LISTED_MAX - c->n, &n, &total);

    if (r < 0)
        return r;
    c->n += n;
    c->total += total;
    return 0;
}

/* Reads the list in pieces without a gap: at any other position the kernel would generate the list again, with other
 * processes. The beginning of a number that ends a piece is put before the next piece. */
static int list_flat(int procs_fd, struct census *c)
{
    char text[PROCS_TEXT_SIZE];
    size_t kept = 0;
    off_t at = 0;

    while (c->total <= LISTED_MAX) {
        int n = nm_monitor_read_at(procs_fd, at, text + kept, sizeof text - kept), r;
        bool more = n == (int)(sizeof text - kept) - 1;
        char *last = more ? strrchr(text, '\n') : NULL;

        if (n < 0 || (more && !last))
            return n < 0 ? n : -EBADMSG;
        if (last)
            *last = '\0';
        r = add_to_census(c, text);
        if (r < 0 || !more)
            return r;
        kept = strlen(last + 1);
        memmove(text, last + 1, kept);
        at += n;
    }
    return 0;
}

/* If there are too many processes, or too many cgroups below, the memory counts as unknown, not as the memory of a part
 * of the processes. */
static int list_processes(struct nm_procmem *p)
{
    struct census c;
    int r;

    c.n = c.total = 0;
    r = has_children(p->cgroup_fd) ? nm_procs_walk(p->cgroup_fd, count_process, &c) : list_flat(p->procs_fd, &c);
    if (r < 0)
        return r;
    if (r == NM_PROCS_CUT || c.total > LISTED_MAX)
        return -E2BIG;
    nm_proctable_update(&p->table, c.pid, c.n);
    return 0;
}

/* ---- one process ----------------------------------------------------------------------------- */

/* Reads the status of a process or a thread. Returns NM_MONITOR_THREAD_ENDED if this thread has ended. */
static int read_status_file(const struct nm_procmem *p, pid_t pid, const char *name, struct nm_proc_memory *ret)
{
    _cleanup_close_ int fd = open_proc(p, pid, name);
    char buf[512];
    int r = fd < 0 ? fd
                   : nm_monitor_read_lines(fd, nm_monitor_status_lines, NM_MONITOR_N_STATUS_LINES, buf, sizeof buf);

    return r < 0 ? r : nm_monitor_parse_status(buf, ret);
}

/* Reads the memory from another thread, since the first thread has ended and its file lacks the figures. The file of
 * any live thread has the figures. Returns -EBADMSG if the first threads of the list have all ended; the memory is then
 * unknown, and not 0. */
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
    /* All threads may have ended since then: the process no longer exists, or is a zombie without memory. */
    r = read_status_file(p, pid, "status", ret);
    return r == NM_MONITOR_THREAD_ENDED ? -EBADMSG : r;
}

static int read_status(const struct nm_procmem *p, pid_t pid, struct nm_proc_memory *ret)
{
    int r = read_status_file(p, pid, "status", ret);

    return r == NM_MONITOR_THREAD_ENDED ? read_thread_status(p, pid, ret) : r;
}

/* Returns whether status must be read again. statm is all zero if the first thread has ended, even if the other threads
 * use memory. */
static bool status_is_stale(const struct process *q, const struct nm_proc_statm *now)
{
    uint64_t anon = now->resident_pages - NM_MIN(now->shared_pages, now->resident_pages);
    uint64_t old_anon =
        q->statm.resident_pages - NM_MIN(q->statm.shared_pages, q->statm.resident_pages);
    uint64_t shared = now->shared_pages, old_shared = q->statm.shared_pages;

    return !q->known || now->resident_pages == 0 || q->memory.swap_bytes > 0 || shared > old_shared + SLACK_PAGES ||
           old_shared > shared + SLACK_PAGES || old_anon > anon + SLACK_PAGES;
}

/* Returns whether the shim's figures can be kept without a new reading. */
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

/* Returns the entry for pid at index i. The entry is already there unless processes before it have ended since the last
 * sample. */
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
    if (i < p->n_cached && p->n_cached == CACHE_MAX) { /* drops one entry; its process is added again if alive */
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

/* Returns -ENOENT if the process has ended. */
static int measure_cached(struct nm_procmem *p, struct process *q, uint64_t now_usec)
{
    bool was_open = q->statm_fd >= 0;
    int r;

    if (is_shim_at_rest(p, q, now_usec))
        return 0;
    r = measure(p, q, now_usec);
    /* A new process may have the same pid now, which the old descriptor never shows. */
    if (r == -ENOENT && was_open) {
        process_reset(q, q->pid);
        r = measure(p, q, now_usec);
    }
    if (r < 0)
        process_reset(q, q->pid);
    return r;
}

/* ---- all processes --------------------------------------------------------------------------- */

/* Stores the result of a reading. A process that has ended since it was listed has no memory. */
static int note(struct nm_proc_figures *f, int r, const struct nm_proc_memory *m)
{
    bool failed = r < 0 && r != -ENOENT;

    f->memory = r < 0 ? (struct nm_proc_memory){0} : *m;
    f->known = failed ? NM_PROC_FAILED : NM_PROC_READ;
    return failed ? r : 0;
}

static int read_one(const struct nm_procmem *p, struct nm_proc_figures *f)
{
    struct nm_proc_memory m;
    int r = read_status(p, f->pid, &m);

    return note(f, r, &m);
}

/* Reads the processes that have open descriptors, or may have them. Returns their number. */
static int measure_first(struct nm_procmem *p, uint64_t now_usec)
{
    unsigned n = NM_MIN(p->table.n, CACHE_MAX), i;

    for (i = 0; i < n; i++) {
        struct nm_proc_figures *f = &nm_proctable_get(&p->table)[i];
        struct process *q = cache_entry(p, i, f->pid);
        int r;

        if (!q)
            break; /* out of memory; the process is read like a process without an open descriptor */
        r = measure_cached(p, q, now_usec);
        r = note(f, r, &q->memory);
        if (r < 0)
            return r;
    }
    cache_truncate(p, i);
    return (int)i;
}

/* Sum of several processes' memory. n: number of these processes that have memory. */
struct tally {
    unsigned n;
    struct nm_proc_memory sum, largest;
};

static uint64_t all_bytes(const struct nm_proc_memory *m)
{
    return m->anon_bytes + m->shmem_bytes + m->swap_bytes;
}

/* Processes that have ended do not count in n, since their 0 is no information about the others. */
static void add_to_tally(struct tally *t, const struct nm_proc_memory *m)
{
    t->n += all_bytes(m) > 0;
    t->sum.anon_bytes += m->anon_bytes;
    t->sum.shmem_bytes += m->shmem_bytes;
    t->sum.swap_bytes += m->swap_bytes;
    if (all_bytes(m) > all_bytes(&t->largest))
        t->largest = *m;
}

/* Reads up to max of the processes from index `from` on whose state is `known`, and adds them to `new`. Returns their
 * number. */
static int measure_new(struct nm_procmem *p, unsigned from, enum nm_proc_known known, unsigned max,
                       struct tally *new)
{
    unsigned n = 0;

    for (unsigned i = from; i < p->table.n && n < max; i++) {
        struct nm_proc_figures *f = &nm_proctable_get(&p->table)[i];
        int r;

        if (f->known != known)
            continue;
        r = read_one(p, f);
        if (r < 0)
            return r;
        n++;
        add_to_tally(new, &f->memory);
    }
    return (int)n;
}

/* Reads up to max processes again, and continues after the last process of the previous call. */
static int measure_again(struct nm_procmem *p, unsigned from, unsigned max)
{
    unsigned at = NM_MAX(from, nm_proctable_after(&p->table, p->read_last)), n = 0;

    for (unsigned seen = from; seen < p->table.n && n < max; seen++, at++) {
        struct nm_proc_figures *f;
        int r;

        at = at < p->table.n ? at : from;
        f = &nm_proctable_get(&p->table)[at];
        if (f->known != NM_PROC_READ)
            continue;
        r = read_one(p, f);
        if (r < 0)
            return r;
        p->read_last = f->pid;
        n++;
    }
    return (int)n;
}

static unsigned count_known(struct nm_procmem *p, unsigned from, enum nm_proc_known known)
{
    unsigned n = 0;

    for (unsigned i = from; i < p->table.n; i++)
        n += nm_proctable_get(&p->table)[i].known == known;
    return n;
}

/* Reads as many of the processes from index `from` on as are allowed, and adds the processes that are read for the
 * first time to `new`. A process that could not be read comes first: as long as its memory is unknown, the memory of
 * the container is unknown, too. */
static int measure_rest(struct nm_procmem *p, unsigned from, struct tally *new)
{
    struct tally failed = {0};
    int n_failed = measure_new(p, from, NM_PROC_FAILED, p->max_reads, &failed), n_again, n_new;
    unsigned max, n_unread, n_read, left, for_unread;

    if (n_failed < 0)
        return n_failed;
    max = p->max_reads - (unsigned)n_failed;
    n_unread = count_known(p, from, NM_PROC_UNREAD);
    n_read = p->table.n - from - n_unread;
    left = max - NM_MIN(n_read, max);
    for_unread = NM_MAX(max / UNREAD_DIVISOR, left);
    for_unread = NM_MIN(n_unread, for_unread);
    n_again = measure_again(p, from, NM_MIN(n_read, max - for_unread));
    if (n_again < 0)
        return n_again;
    n_new = measure_new(p, from, NM_PROC_UNREAD, for_unread, new);
    if (n_new < 0)
        return n_new;
    p->n_outdated -= NM_MIN((unsigned)n_again, p->n_outdated);
    if ((unsigned)n_new < n_unread)
        p->n_outdated = NM_MAX(p->n_outdated, 1u);
    else if ((unsigned)n_again == n_read)
        p->n_outdated = 0;
    return 0;
}

static uint64_t scale(uint64_t v, unsigned total, unsigned n)
{
    return (uint64_t)((unsigned __int128)v * total / n);
}

/* Adds the mean of the n processes, of which the largest is left out, for each of n_more. */
static void add_mean(struct nm_proc_memory *to, const struct tally *of, unsigned n_more)
{
    unsigned n = of->n;
    struct nm_proc_memory sum = of->sum;

    if (n == 0 || n_more == 0)
        return;
    if (n > 1) {
        sum.anon_bytes -= of->largest.anon_bytes;
        sum.shmem_bytes -= of->largest.shmem_bytes;
        sum.swap_bytes -= of->largest.swap_bytes;
        n--;
    }
    to->anon_bytes += scale(sum.anon_bytes, n_more, n);
    to->shmem_bytes += scale(sum.shmem_bytes, n_more, n);
    to->swap_bytes += scale(sum.swap_bytes, n_more, n);
}

/* Sums up the known figures of all processes, and estimates the unknown figures. */
static void sum_up(struct nm_procmem *p, const struct tally *new, struct nm_proc_memory *ret)
{
    const struct nm_proc_figures *all = nm_proctable_get(&p->table);
    struct tally known = {0};

    for (unsigned i = 0; i < p->table.n; i++)
        add_to_tally(&known, &all[i].memory);
    *ret = known.sum;
    add_mean(ret, new->n > 0 ? new : &known, count_known(p, 0, NM_PROC_UNREAD) + p->table.n_beyond);
}

static int measure_all(struct nm_procmem *p, uint64_t now_usec, struct nm_proc_memory *sum)
{
    struct tally new = {0};
    int r = measure_first(p, now_usec);

    if (r >= 0)
        r = measure_rest(p, (unsigned)r, &new);
    if (r < 0)
        return r;
    sum_up(p, &new, sum);
    return 0;
}

static int sample(struct nm_procmem *p, uint64_t now_usec, bool used_cpu, struct nm_proc_memory *ret)
{
    struct nm_proc_memory sum;
    uint64_t twice, from_anon;
    int r = list_processes(p);

    if (r < 0)
        return r;
    if (used_cpu)
        p->n_outdated = p->table.n;
    r = measure_all(p, now_usec, &sum);
    if (r < 0)
        return r;
    twice = nm_sharing_overcount(&p->sharing, &(struct nm_sharing_input){
        .proc_root = p->proc_root, .all = nm_proctable_get(&p->table), .n = p->table.n,
        .now_usec = now_usec, .sum_bytes = sum.anon_bytes + sum.shmem_bytes});
    /* It does not matter which of the two sums, anonymous or shared, is reduced. */
    from_anon = NM_MIN(twice, sum.anon_bytes);
    sum.anon_bytes -= from_anon;
    sum.shmem_bytes -= NM_MIN(twice - from_anon, sum.shmem_bytes);
    *ret = sum;
    return 0;
}

int nm_procmem_sample(struct nm_procmem *p, uint64_t now_usec, uint64_t cpu_usage_usec,
                      struct nm_proc_memory *ret)
{
    bool used_cpu = !p->measured || cpu_usage_usec != p->cpu_usage_usec || now_usec < p->measured_usec ||
                    now_usec - p->measured_usec >= IDLE_MAX_AGE_USEC;
    int r;

    if (used_cpu || nm_sharing_is_walking(&p->sharing) || p->n_outdated > 0) {
        r = sample(p, now_usec, used_cpu, &p->memory);
        p->measured = r >= 0;
        if (r < 0)
            return r;
        p->measured_usec = now_usec;
        p->cpu_usage_usec = cpu_usage_usec;
    }
    *ret = p->memory;
    return 0;
}
