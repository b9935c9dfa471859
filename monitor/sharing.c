/* SPDX-License-Identifier: Apache-2.0 */

/* See procmem-internal.h. The page table walks (pagewalk.h) are run only if much memory may be shared, and not in each
 * sample. Between two walks the last result is adapted to the current processes. */

#include "monitor/procmem-internal.h"

#include <assert.h>

#include "util/clock.h"

/* Maximum number of processes that a page table walk is given; the rest is extrapolated. */
#define PROCESSES_MAX 1024u
/* Page table walks: maximum age of a result, maximum memory per walk (the rest is extrapolated), and the amount of
 * possible sharing that justifies a walk. */
#define WALK_MAX_AGE_USEC (10 * NM_USEC_PER_SEC)
#define WALK_MAX_BYTES (2048 * NM_MIB)
#define SHARING_MIN_BYTES (16 * NM_MIB)
/* A process is large if its memory is at least this multiple of the mean. */
#define LARGE_FACTOR 4u
/* Most walks end within this time. The result of a longer walk is collected at the next sample. */
#define WALK_WAIT_MSEC 5

void nm_sharing_init(struct nm_sharing *s)
{
    *s = (struct nm_sharing){.walk = NM_PAGEWALK_NULL};
}

void nm_sharing_done(struct nm_sharing *s)
{
    nm_pagewalk_done(&s->walk);
}

bool nm_sharing_is_walking(const struct nm_sharing *s)
{
    return s->walk.pid != 0;
}

static uint64_t resident(const struct nm_proc_memory *m)
{
    return m->anon_bytes + m->shmem_bytes;
}

/* Extrapolates, because the walk may have covered only a part of the memory. */
static uint64_t unique_of(uint64_t bytes, const struct nm_pagewalk_sum *walked)
{
    uint64_t unique = NM_MIN(walked->unique_bytes, walked->resident_bytes);

    return walked->resident_bytes > 0 ? (uint64_t)((unsigned __int128)bytes * unique / walked->resident_bytes) : 0;
}

/* Stores the result of the walk. The walk has no result if all processes of a group ended before it read them. Then the
 * result of the last complete walk is kept, and the next sample starts another walk. */
static void walk_finish(struct nm_sharing *s, const struct nm_pagewalk_result *result)
{
    uint64_t other_bytes = s->resident_bytes - s->large_bytes, unique;

    s->walked = (result->large.resident_bytes > 0 || s->large_bytes == 0) &&
                (result->others.resident_bytes > 0 || other_bytes == 0);
    if (!s->walked)
        return;
    unique = unique_of(s->large_bytes, &result->large) + unique_of(other_bytes, &result->others);
    s->overcount_bytes = s->resident_bytes - NM_MIN(unique, s->resident_bytes);
    s->finished_bytes = s->resident_bytes;
    s->finished_n = s->walked_n;
    s->overcount_known = true;
}

/* Collects the result of a walk, if the walk has ended by now. */
static void walk_poll(struct nm_sharing *s, int timeout_msec)
{
    struct nm_pagewalk_result result;
    int r;

    if (s->walk.pid == 0)
        return;
    r = nm_pagewalk_collect(&s->walk, timeout_msec, &result);
    if (r >= 0)
        walk_finish(s, &result);
    else if (r != -EAGAIN)
        s->overcount_known = false;
}

static bool walk_is_due(const struct nm_sharing *s, const struct nm_sharing_input *in)
{
    uint64_t old = s->resident_bytes;
    uint64_t change = in->sum_bytes > old ? in->sum_bytes - old : old - in->sum_bytes;

    if (s->walk.pid != 0)
        return false;
    /* Age matters, too: when a worker writes to a shared page, memory is used up without a change of any resident
     * figure. */
    return !s->walked || in->now_usec < s->walked_usec ||
           in->now_usec - s->walked_usec >= WALK_MAX_AGE_USEC ||
           change > NM_MAX(old / 8, SHARING_MIN_BYTES);
}

struct walk_list {
    pid_t pids[PROCESSES_MAX];
    uint64_t bytes[PROCESSES_MAX];
    unsigned n;
    uint64_t all_bytes; /* bytes of all processes that belong to the list, including processes that do not fit into
                           it */
};

/* Adds the large processes, or the other processes, up to max entries in the list. */
static void add_to_walk(const struct nm_sharing_input *in, bool large, unsigned max, struct walk_list *list)
{
    for (unsigned i = 0; i < in->n; i++) {
        uint64_t bytes = resident(&in->all[i].memory);

        if (bytes == 0 || (bytes / LARGE_FACTOR >= in->sum_bytes / in->n) != large)
            continue;
        list->all_bytes += bytes;
        if (list->n == max)
            continue;
        list->pids[list->n] = in->all[i].pid;
        list->bytes[list->n++] = bytes;
    }
}

static void walk_start(struct nm_sharing *s, const struct nm_sharing_input *in)
{
    struct walk_list list = {0};
    unsigned n_large;
    int r;

    assert(s->walk.pid == 0);
    add_to_walk(in, true, PROCESSES_MAX / 2, &list); /* leaves room for other processes, without which the walk would
                                                        have no result */
    n_large = list.n;
    s->large_bytes = NM_MIN(list.all_bytes, in->sum_bytes);
    add_to_walk(in, false, PROCESSES_MAX, &list);
    r = nm_pagewalk_start(&s->walk, in->proc_root, list.pids, list.bytes, list.n, n_large, WALK_MAX_BYTES);
    s->walked = true;
    s->walked_usec = in->now_usec;
    s->resident_bytes = in->sum_bytes;
    s->walked_n = in->n;
    if (r < 0)
        s->overcount_known = false;
    else
        walk_poll(s, WALK_WAIT_MSEC);
}

/* Returns the result of the last walk in proportion to the current number of processes, because workers may have
 * started or ended since then. Memory that the same processes have added does not count as shared. A process that has
 * started or ended changes the result by its own memory at most, so small processes do not multiply it. */
static uint64_t overcount_now(const struct nm_sharing *s, const struct nm_sharing_input *in)
{
    uint64_t added = nm_sub_u64(in->sum_bytes, s->finished_bytes);
    uint64_t removed = nm_sub_u64(s->finished_bytes, in->sum_bytes), scaled;

    if (s->finished_n == 0)
        return 0;
    scaled = (uint64_t)((unsigned __int128)s->overcount_bytes * in->n / s->finished_n);
    scaled = NM_MAX(scaled, nm_sub_u64(s->overcount_bytes, removed));
    return NM_MIN(scaled, s->overcount_bytes + added);
}

/* Returns the overcount that is assumed until a walk has a result: memory that may be shared and was not walked yet
 * counts as shared. Otherwise a fork could cause a kill. The node's own figures still include all use. */
static uint64_t assume_overcount(const struct nm_sharing *s, const struct nm_sharing_input *in,
                                 uint64_t possible_bytes)
{
    uint64_t added_bytes = in->sum_bytes - NM_MIN(s->finished_bytes, in->sum_bytes);

    if (!s->overcount_known)
        return possible_bytes;
    return added_bytes > 0 ? NM_MIN(s->overcount_bytes + added_bytes, possible_bytes)
                           : NM_MIN(overcount_now(s, in), possible_bytes);
}

/* A walk that does not end (its target can cause that) must not hide memory for long. */
uint64_t nm_sharing_overcount(struct nm_sharing *s, const struct nm_sharing_input *in)
{
    uint64_t largest = 0, possible;

    for (unsigned i = 0; i < in->n; i++)
        largest = NM_MAX(largest, resident(&in->all[i].memory));
    possible = in->sum_bytes - largest;
    if (possible <= SHARING_MIN_BYTES + in->sum_bytes / 16) {
        nm_pagewalk_done(&s->walk);
        s->walked = s->overcount_known = false;
        return 0;
    }
    walk_poll(s, 0);
    if (walk_is_due(s, in))
        walk_start(s, in);
    if (s->walk.pid != 0 && in->now_usec - s->walked_usec >= WALK_MAX_AGE_USEC)
        return 0;
    if (s->walk.pid != 0 || !s->walked)
        return assume_overcount(s, in, possible);
    return s->overcount_known ? NM_MIN(overcount_now(s, in), possible) : 0;
}
