/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reclaims memory to swap in pieces that the swap device can write within about 100 ms.
 *
 * The kernel counts only pages that were written as reclaimed. It sends more pages to swap until the written pages
 * reach the requested amount. With a slow device, a single write to memory.reclaim, which can't be interrupted, may
 * send the memory of the whole cgroup to swap. During the write, the cgroup can't be removed. A process that tries to
 * remove it (systemd, as soon as a scope is empty) blocks all other changes of cgroups on the host. So memory.swap.max
 * is raised by one piece at a time, and the next piece waits until most of the previous piece is written.
 */

#include "agent/node/cgroups.h"

#include <assert.h>
#include <errno.h>

#include "monitor/monitor.h"
#include "util/clock.h"

/* memory.swap.max counts whole pages, and the kernel swaps many pages at a time. With a smaller piece, for example for
 * the rest of a reclaim, it would swap nothing. */
#define PIECE_MIN_BYTES NM_MIB
#define PIECE_MAX_BYTES (16 * NM_MIB)
/* The size of a piece is the average amount that the device has written in this time since the reclaim began. */
#define PIECE_USEC (100 * NM_USEC_PER_MSEC)
#define POLL_USEC (5 * NM_USEC_PER_MSEC)
/* Maximum number of pieces. Without this limit, the reclaim may not end, because the kernel reclaims page cache first,
 * and a container that reads files constantly gets new page cache. */
#define MAX_PIECES 8192
/* After this time and this number of checks without progress, the remaining memory is assumed to be locked or in
 * constant use. On a slow machine, a check in which the kernel finds nothing to reclaim takes a quarter of a second. */
#define MAX_IDLE_USEC NM_USEC_PER_SEC
#define MAX_IDLE_CHECKS 20

struct swap_reclaim {
    const struct nm_cgroup *cg;
    struct nm_cgroup_sampler *sampler;
    uint64_t begun_usec, progress_usec, before_bytes, swap_before_bytes;
    uint64_t gained_bytes, swap_bytes; /* since the begin: reduction of use, and increase of swap, including pages
                                          being written */
    unsigned n_pieces, n_idle;
};

static void note_progress(struct swap_reclaim *p, bool any)
{
    p->n_idle = any ? 0 : p->n_idle + 1;
    if (any)
        p->progress_usec = nm_now_usec();
}

static bool is_stuck(const struct swap_reclaim *p)
{
    return p->n_idle >= MAX_IDLE_CHECKS && nm_now_usec() - p->progress_usec >= MAX_IDLE_USEC;
}

static int update_gain(struct swap_reclaim *p)
{
    uint64_t gained_before = p->gained_bytes, swapped_before = p->swap_bytes, swap;
    struct nm_cgroup_sample s;
    int r = nm_cgroup_sampler_sample(p->sampler, nm_now_usec(), &s);

    if (r >= 0)
        r = nm_cgroup_read_swap(p->cg, &swap);
    if (r < 0)
        return r;
    p->gained_bytes = nm_sub_u64(p->before_bytes, s.memory_bytes);
    p->swap_bytes = nm_sub_u64(swap, p->swap_before_bytes);
    note_progress(p, p->gained_bytes > gained_before || p->swap_bytes > swapped_before);
    return 0;
}

static int begin(struct swap_reclaim *p)
{
    struct nm_cgroup_sample s;
    int r = nm_cgroup_sampler_new(p->cg, true, "/proc", &p->sampler);

    p->begun_usec = p->progress_usec = nm_now_usec();
    if (r >= 0)
        r = nm_cgroup_sampler_sample(p->sampler, p->begun_usec, &s);
    if (r >= 0)
        r = nm_cgroup_read_swap(p->cg, &p->swap_before_bytes);
    if (r >= 0)
        p->before_bytes = s.memory_bytes;
    return r;
}

static uint64_t piece_of(const struct swap_reclaim *p)
{
    uint64_t took = NM_MAX(nm_now_usec() - p->begun_usec, UINT64_C(1));
    uint64_t piece = (uint64_t)((unsigned __int128)p->gained_bytes * PIECE_USEC / took);

    return NM_MIN(NM_MAX(piece, PIECE_MIN_BYTES), PIECE_MAX_BYTES);
}

/* Reclaims one piece. Returns 0 also if the kernel returns -EAGAIN, because it reclaimed only a part of the piece. */
static int send(struct swap_reclaim *p, uint64_t bytes)
{
    int r = nm_cgroup_set_swap_max(p->cg, nm_add_u64(nm_add_u64(p->swap_before_bytes, p->swap_bytes), bytes));

    if (r < 0)
        return r;
    p->n_pieces++;
    r = nm_cgroup_reclaim(p->cg, bytes);
    if (r >= 0)
        note_progress(p, true); /* even if only page cache was reclaimed */
    return r == -EAGAIN ? 0 : r;
}

static int swap_reclaim(struct swap_reclaim *p, uint64_t bytes, uint64_t within_usec)
{
    const struct timespec again = {.tv_nsec = (long)(POLL_USEC * NM_NSEC_PER_USEC)};

    while (p->n_pieces < MAX_PIECES && !is_stuck(p)) {
        uint64_t piece = piece_of(p);
        int r = 0;

        if (p->gained_bytes >= bytes)
            return 0;
        if (within_usec > 0 && nm_now_usec() - p->begun_usec >= within_usec)
            break;
        if (nm_sub_u64(p->swap_bytes, p->gained_bytes) < piece)
            r = send(p, NM_MIN(NM_MAX(bytes - p->gained_bytes, PIECE_MIN_BYTES), piece));
        if (r >= 0)
            r = update_gain(p);
        if (r < 0)
            return r;
        if (p->n_idle > 0)
            (void)nanosleep(&again, NULL);
    }
    return -EAGAIN;
}

int nm_swap_reclaim(const struct nm_cgroup *cg, uint64_t bytes, uint64_t within_usec)
{
    struct swap_reclaim p = {.cg = cg};
    int r;

    assert(bytes > 0);
    r = begin(&p);
    if (r >= 0)
        r = swap_reclaim(&p, bytes, within_usec);
    (void)nm_cgroup_set_swap_max(cg, NM_CGROUP_NONE);
    nm_cgroup_sampler_free(p.sampler);
    return r;
}
