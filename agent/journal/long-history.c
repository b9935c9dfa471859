/* SPDX-License-Identifier: Apache-2.0 */

/* See slot-file.h. */

#include "agent/journal/slot-file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/error.h"
#include "util/parse.h"

#define HEAD "nm-history-1"
#define TEXT_BYTES (NM_LONG_HISTORY_SLOT_BYTES - NM_SLOT_SUM_BYTES)
#define SLOTS 640u /* per level: more than a history has steps */

static const uint64_t spans_usec[] = {2 * 3600 * NM_USEC_PER_SEC, NM_LONG_HISTORY_SPAN_USEC};
#define LEVELS NM_ARRAY_SIZE(spans_usec)

struct nm_long_history {
    int fd;
    struct nm_history *level[LEVELS];
};

/* ---- text format ----------------------------------------------------------------------------- */

enum number {
    TIME,
    MEMORY,
    CPU = MEMORY + NM_HISTORY_PARTS,
    GUARANTEED = CPU + NM_HISTORY_PARTS,
    OPPORTUNISTIC,
    PAUSED,
    QUEUED,
    UPLINK,
    COST,
    PRESSURE,
    N_NUMBERS = PRESSURE + NM_HISTORY_PRESSURES,
};

static void to_numbers(const struct nm_history_point *p, uint64_t n[N_NUMBERS])
{
    n[TIME] = p->realtime_usec;
    for (int k = 0; k < NM_HISTORY_PARTS; k++) {
        n[MEMORY + k] = p->use[k].memory_bytes;
        n[CPU + k] = p->use[k].cpu_millicores;
    }
    n[GUARANTEED] = p->guaranteed_running;
    n[OPPORTUNISTIC] = p->opportunistic_running;
    n[PAUSED] = p->paused;
    n[QUEUED] = p->queued;
    n[UPLINK] = p->uplink_permille;
    n[COST] = p->sample_cost_usec;
    for (int k = 0; k < NM_HISTORY_PRESSURES; k++)
        n[PRESSURE + k] = p->pressure[k];
}

static void from_numbers(const uint64_t n[N_NUMBERS], struct nm_history_point *p)
{
    *p = (struct nm_history_point){.at_usec = n[TIME], .realtime_usec = n[TIME]};
    for (int k = 0; k < NM_HISTORY_PARTS; k++)
        p->use[k] = (struct nm_history_use){n[MEMORY + k], n[CPU + k]};
    p->guaranteed_running = (uint16_t)n[GUARANTEED];
    p->opportunistic_running = (uint16_t)n[OPPORTUNISTIC];
    p->paused = (uint16_t)n[PAUSED];
    p->queued = (uint16_t)n[QUEUED];
    p->uplink_permille = (uint32_t)n[UPLINK];
    p->sample_cost_usec = (uint32_t)n[COST];
    for (int k = 0; k < NM_HISTORY_PRESSURES; k++)
        p->pressure[k] = (uint16_t)n[PRESSURE + k];
}

static uint64_t most_of(int number)
{
    return number < GUARANTEED ? INT64_MAX : number == UPLINK || number == COST ? UINT32_MAX : UINT16_MAX;
}

void nm_long_history_print(const struct nm_history_point *p, char *text, size_t size)
{
    uint64_t n[N_NUMBERS];
    size_t len;

    assert(size >= TEXT_BYTES);
    memset(text, 0, size);
    to_numbers(p, n);
    len = (size_t)snprintf(text, size, HEAD);
    for (int i = 0; i < N_NUMBERS; i++)
        len += (size_t)snprintf(text + len, size - len, " %" PRIu64, NM_MIN(n[i], most_of(i)));
    assert(len < size);
}

int nm_long_history_parse(char *text, struct nm_history_point *ret)
{
    uint64_t n[N_NUMBERS];
    char *save = NULL, *word = strtok_r(text, " ", &save);

    if (!word || !nm_streq(word, HEAD))
        return -EBADMSG;
    for (int i = 0; i < N_NUMBERS; i++)
        if (!(word = strtok_r(NULL, " ", &save)) || nm_parse_u64(word, &n[i]) < 0 || n[i] > most_of(i))
            return -EBADMSG;
    if (strtok_r(NULL, " ", &save))
        return -EBADMSG;
    from_numbers(n, ret);
    return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static uint64_t slot_of(const struct nm_long_history *h, size_t level, const struct nm_history_point *p)
{
    return level * SLOTS + p->at_usec / nm_history_step_usec(h->level[level]) % SLOTS;
}

static int put(const struct nm_long_history *h, size_t level, const struct nm_history_point *p)
{
    char text[TEXT_BYTES];
    int r;

    if (h->fd < 0)
        return 0; /* the error was logged at startup */
    nm_long_history_print(p, text, sizeof text);
    r = nm_slot_file_put(h->fd, slot_of(h, level, p), NM_LONG_HISTORY_SLOT_BYTES, text);
    return r < 0 ? r : 1;
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = ((const struct nm_history_point *)a)->at_usec, y = ((const struct nm_history_point *)b)->at_usec;

    return x < y ? -1 : x > y;
}

/* A slot with a point of another slot was written by another program and is left out. Points older than the span, or in
 * the future (after the clock was set back), are left out, too. */
static void load(struct nm_long_history *h, size_t level, uint64_t now, struct nm_history_point points[SLOTS])
{
    char text[TEXT_BYTES + 1];
    size_t n = 0;

    for (uint64_t i = 0; i < SLOTS; i++) {
        struct nm_history_point *p = &points[n];

        if (nm_slot_file_get(h->fd, level * SLOTS + i, NM_LONG_HISTORY_SLOT_BYTES, text) &&
            nm_long_history_parse(text, p) == 0 && slot_of(h, level, p) == level * SLOTS + i && p->at_usec <= now &&
            nm_add_u64(p->at_usec, spans_usec[level]) > now)
            n++;
    }
    qsort(points, n, sizeof *points, by_time);
    for (size_t i = 0; i < n; i++)
        nm_history_add(h->level[level], &points[i]);
}

/* ---- the histories --------------------------------------------------------------------------- */

int nm_long_history_new(const char *state_dir, uint64_t realtime_usec, struct nm_long_history **ret, int *ret_error)
{
    _cleanup_free_ struct nm_history_point *points = calloc(SLOTS, sizeof *points);
    _cleanup_(nm_long_history_freep) struct nm_long_history *h = calloc(1, sizeof *h);
    int r = points && h ? 0 : -ENOMEM;

    if (h)
        h->fd = -EBADF;
    for (size_t i = 0; r >= 0 && i < LEVELS; i++)
        r = nm_history_new(spans_usec[i], &h->level[i]);
    if (r < 0)
        return r;
    h->fd = nm_slot_file_open(state_dir, "history");
    for (size_t i = 0; h->fd >= 0 && i < LEVELS; i++)
        load(h, i, realtime_usec, points);
    *ret_error = NM_MIN(h->fd, 0);
    *ret = STEAL_PTR(h);
    return 0;
}

static const struct nm_history_point *newest(const struct nm_history *h)
{
    return nm_history_n(h) > 0 ? nm_history_get(h, nm_history_n(h) - 1) : NULL;
}

struct nm_long_history *nm_long_history_free(struct nm_long_history *h)
{
    if (!h)
        return NULL;
    for (size_t i = 0; i < LEVELS; i++) {
        if (h->level[i] && newest(h->level[i]))
            (void)put(h, i, newest(h->level[i]));
        nm_history_free(h->level[i]);
    }
    if (h->fd >= 0)
        (void)nm_close(h->fd);
    free(h);
    return NULL;
}

/* If the clock was set back, points that are now in the future are removed. */
static int add(struct nm_long_history *h, size_t level, const struct nm_history_point *p)
{
    uint64_t step = nm_history_step_usec(h->level[level]);
    const struct nm_history_point *last;
    int r = 0;

    nm_history_cut(h->level[level], p->at_usec);
    last = newest(h->level[level]);
    if (last && last->at_usec / step != p->at_usec / step)
        r = put(h, level, last);
    nm_history_add(h->level[level], p);
    return r;
}

int nm_long_history_add(struct nm_long_history *h, const struct nm_history_point *p)
{
    struct nm_history_point by_day = *p;
    int r = 0;

    by_day.at_usec = p->realtime_usec;
    for (size_t i = 0; i < LEVELS; i++) {
        int r2 = add(h, i, &by_day);

        r = r < 0 || r2 == 0 ? r : r2;
    }
    return r;
}

const struct nm_history *nm_long_history_get(const struct nm_long_history *h, uint64_t span_usec)
{
    size_t i = 0;

    while (i + 1 < LEVELS && spans_usec[i] < span_usec)
        i++;
    return h->level[i];
}
