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

#define HEAD "nm-app-1"
#define TEXT_BYTES (NM_ENDED_APP_SLOT_BYTES - NM_SLOT_SUM_BYTES)

struct nm_ended_apps {
    int fd;
    struct nm_ended_app apps[NM_ENDED_APPS];
};

/* ---- text format ----------------------------------------------------------------------------- */

void nm_ended_app_print(const struct nm_ended_app *e, char *text, size_t size)
{
    int n;

    assert(size >= TEXT_BYTES && e->name[0]);
    memset(text, 0, size);
    n = snprintf(text, size, HEAD " %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                 " %" PRIu64, e->name, (uint64_t)e->submitter_uid, e->first_submitted_usec, e->last_ended_usec,
                 e->succeeded, e->failed, e->killed, e->cpu_time_usec, e->memory_peak_bytes);
    assert((size_t)n < size);
    (void)n;
}

int nm_ended_app_parse(char *text, struct nm_ended_app *ret)
{
    struct nm_ended_app e = {0};
    uint64_t uid, *const numbers[] = {&uid, &e.first_submitted_usec, &e.last_ended_usec, &e.succeeded, &e.failed,
                                      &e.killed, &e.cpu_time_usec, &e.memory_peak_bytes};
    char *save = NULL, *word = strtok_r(text, " ", &save);

    if (!word || !nm_streq(word, HEAD) || !(word = strtok_r(NULL, " ", &save)) || !nm_name_is_valid(word) ||
        (size_t)snprintf(e.name, sizeof e.name, "%s", word) >= sizeof e.name)
        return -EBADMSG;
    for (size_t i = 0; i < NM_ARRAY_SIZE(numbers); i++)
        if (!(word = strtok_r(NULL, " ", &save)) || nm_parse_u64(word, numbers[i]) < 0 || *numbers[i] > INT64_MAX)
            return -EBADMSG;
    if (uid > UINT32_MAX || strtok_r(NULL, " ", &save))
        return -EBADMSG;
    e.submitter_uid = (uid_t)uid;
    *ret = e;
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool is(const struct nm_ended_app *e, const char *name, uid_t uid)
{
    return e->submitter_uid == uid && nm_streq(e->name, name);
}

static struct nm_ended_app *find(struct nm_ended_apps *a, const char *name, uid_t uid)
{
    for (unsigned i = 0; i < NM_ENDED_APPS; i++)
        if (is(&a->apps[i], name, uid))
            return &a->apps[i];
    return NULL;
}

/* Returns an empty entry or the oldest entry. If the user has as many entries as allowed, returns the user's oldest
 * entry. */
static struct nm_ended_app *make_room(struct nm_ended_apps *a, uid_t uid)
{
    struct nm_ended_app *oldest = NULL, *own = NULL;
    unsigned n_own = 0;

    for (unsigned i = 0; i < NM_ENDED_APPS; i++) {
        struct nm_ended_app *e = &a->apps[i];
        bool mine = e->name[0] && e->submitter_uid == uid;

        n_own += mine;
        if (mine && (!own || e->last_ended_usec < own->last_ended_usec))
            own = e;
        /* an empty entry has time 0, so the empty entry counts as the oldest */
        if (!oldest || e->last_ended_usec < oldest->last_ended_usec)
            oldest = e;
    }
    return uid != 0 && n_own >= NM_ENDED_APPS_PER_USER ? own : oldest;
}

static void count(struct nm_ended_app *e, const struct nm_container *c)
{
    enum nm_container_end end = nm_container_end_kind(c);
    uint64_t submitted = c->submitted_realtime_usec;

    e->succeeded += end == NM_END_SUCCEEDED;
    e->failed += end == NM_END_FAILED;
    e->killed += end == NM_END_KILLED;
    e->first_submitted_usec = e->first_submitted_usec ? NM_MIN(e->first_submitted_usec, submitted) : submitted;
    e->last_ended_usec = NM_MAX(e->last_ended_usec, c->finished_realtime_usec);
    e->cpu_time_usec = nm_add_u64(e->cpu_time_usec, c->view.cpu_usage_usec);
    e->memory_peak_bytes = NM_MAX(e->memory_peak_bytes, c->memory_peak_bytes);
}

int nm_ended_apps_add(struct nm_ended_apps *a, const struct nm_container *c)
{
    char text[TEXT_BYTES];
    struct nm_ended_app *e;
    int r;

    assert(c->view.state == NM_COMPLETED);
    if (!c->app[0])
        return 0;
    e = find(a, c->app, c->submitter_uid);
    if (!e) {
        e = make_room(a, c->submitter_uid);
        *e = (struct nm_ended_app){.submitter_uid = c->submitter_uid};
        (void)snprintf(e->name, sizeof e->name, "%s", c->app);
    }
    count(e, c);
    if (a->fd < 0)
        return 0; /* the error was logged at startup */
    nm_ended_app_print(e, text, sizeof text);
    r = nm_slot_file_put(a->fd, (uint64_t)(e - a->apps), NM_ENDED_APP_SLOT_BYTES, text);
    return r < 0 ? r : 1;
}

const struct nm_ended_app *nm_ended_apps_get(const struct nm_ended_apps *a, unsigned i, uint64_t since_usec)
{
    assert(i < NM_ENDED_APPS);
    return a->apps[i].name[0] && a->apps[i].last_ended_usec >= since_usec ? &a->apps[i] : NULL;
}

/* ---- loading and opening --------------------------------------------------------------------- */

/* Entries that another program has duplicated are loaded once. */
static void load(struct nm_ended_apps *a)
{
    char text[TEXT_BYTES + 1];

    for (unsigned i = 0; i < NM_ENDED_APPS; i++) {
        struct nm_ended_app e;

        if (nm_slot_file_get(a->fd, i, NM_ENDED_APP_SLOT_BYTES, text) && nm_ended_app_parse(text, &e) == 0 &&
            !find(a, e.name, e.submitter_uid))
            a->apps[i] = e;
    }
}

int nm_ended_apps_new(const char *state_dir, struct nm_ended_apps **ret, int *ret_error)
{
    struct nm_ended_apps *a = calloc(1, sizeof *a);

    if (!a)
        return -ENOMEM;
    a->fd = nm_slot_file_open(state_dir, "ended-applications");
    if (a->fd >= 0)
        load(a);
    *ret_error = NM_MIN(a->fd, 0);
    *ret = a;
    return 0;
}

struct nm_ended_apps *nm_ended_apps_free(struct nm_ended_apps *a)
{
    if (a && a->fd >= 0)
        (void)nm_close(a->fd);
    free(a);
    return NULL;
}
