/* SPDX-License-Identifier: Apache-2.0 */

/* See leftovers.h. */

#include "localize/leftovers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "util/clock.h"

struct item {
    STAILQ_ENTRY(item) link;
    uint64_t id;
};

/* A user with failed removals. */
struct user {
    TAILQ_ENTRY(user) link;
    struct nm_leftovers *all;
    STAILQ_HEAD(, item) waiting;
    uint64_t trying[NM_LEFTOVERS_ROUND];
    unsigned n_trying;
    bool is_starting; /* on_round() is starting the attempts of the round */
    bool has_removed; /* an item was removed in the round */
    uint64_t pause_usec;
    sd_event_source *timer; /* timer of the next round */
    char name[];
};

struct nm_leftovers {
    struct nm_leftovers_params params;
    TAILQ_HEAD(, user) users;
};

static void free_user(struct user *u)
{
    struct item *item;

    while ((item = STAILQ_FIRST(&u->waiting))) {
        STAILQ_REMOVE_HEAD(&u->waiting, link);
        free(item);
    }
    TAILQ_REMOVE(&u->all->users, u, link);
    (void)sd_event_source_disable_unref(u->timer);
    free(u);
}

/* ---- rounds ---- */

static void begin_round_after(struct user *u, uint64_t pause_usec)
{
    (void)sd_event_source_set_time(u->timer, nm_add_u64(nm_now_usec(), pause_usec));
    (void)sd_event_source_set_enabled(u->timer, SD_EVENT_ONESHOT);
}

/* Is called when the results of all attempts of the round are known. */
static void end_round(struct user *u)
{
    const struct nm_leftovers_params *p = &u->all->params;

    if (STAILQ_EMPTY(&u->waiting)) {
        free_user(u);
        return;
    }
    u->pause_usec = u->has_removed ? p->first_usec : NM_MIN(2 * u->pause_usec, p->most_usec);
    begin_round_after(u, u->pause_usec);
}

/* Starts a round. Items that are being tried aren't in the list, so an item that fails again is added to the end of the
 * list. */
static int on_round(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct user *u = userdata;
    struct nm_leftovers *l = u->all;
    uint64_t ids[NM_LEFTOVERS_ROUND];
    unsigned n = 0;
    struct item *item;

    (void)source, (void)usec;
    u->has_removed = false;
    u->is_starting = true;
    while (n < NM_LEFTOVERS_ROUND && (item = STAILQ_FIRST(&u->waiting))) {
        STAILQ_REMOVE_HEAD(&u->waiting, link);
        ids[n] = u->trying[n] = item->id;
        n++;
        free(item);
    }
    u->n_trying = n;
    for (unsigned i = 0; i < n; i++)
        l->params.retry(ids[i], l->params.userdata);
    u->is_starting = false;
    if (u->n_trying == 0)
        end_round(u);
    return 0;
}

/* Returns whether this round has tried the item, and removes it from the round. */
static bool take_tried(struct user *u, uint64_t id)
{
    for (unsigned i = 0; i < u->n_trying; i++)
        if (u->trying[i] == id) {
            u->trying[i] = u->trying[--u->n_trying];
            return true;
        }
    return false;
}

/* ---- failed removals ---- */

static struct user *find_user(struct nm_leftovers *l, const char *name)
{
    struct user *u;

    TAILQ_FOREACH(u, &l->users, link)
        if (nm_streq(u->name, name))
            return u;
    return NULL;
}

static struct user *add_user(struct nm_leftovers *l, const char *name)
{
    const size_t size = strlen(name) + 1;
    struct user *u = calloc(1, sizeof *u + size);

    if (!u)
        return NULL;
    memcpy(u->name, name, size);
    u->all = l;
    u->pause_usec = l->params.first_usec;
    STAILQ_INIT(&u->waiting);
    TAILQ_INSERT_TAIL(&l->users, u, link);
    if (sd_event_add_time(l->params.event, &u->timer, CLOCK_BOOTTIME, 0, 0, on_round, u) < 0) {
        free_user(u);
        return NULL;
    }
    (void)sd_event_source_set_description(u->timer, "localizer-leftovers");
    begin_round_after(u, u->pause_usec);
    return u;
}

int nm_leftovers_put(struct nm_leftovers *l, const char *user, uint64_t id)
{
    struct item *item = malloc(sizeof *item);
    struct user *u = find_user(l, user);
    const bool is_first = !u, was_tried = u && take_tried(u, id);

    u = u ?: add_user(l, user);
    if (item && u) {
        item->id = id;
        STAILQ_INSERT_TAIL(&u->waiting, item, link);
    }
    if (was_tried && u->n_trying == 0 && !u->is_starting)
        end_round(u);
    if (item && u)
        return is_first ? NM_LEFTOVERS_E_FIRST : 0;
    if (is_first && u)
        free_user(u);
    free(item);
    return -ENOMEM;
}

void nm_leftovers_gone(struct nm_leftovers *l, const char *user, uint64_t id)
{
    struct user *u = find_user(l, user);

    if (!u || !take_tried(u, id))
        return;
    u->has_removed = true;
    if (u->n_trying == 0 && !u->is_starting)
        end_round(u);
}

void nm_leftovers_restart(struct nm_leftovers *l)
{
    struct user *u;

    TAILQ_FOREACH(u, &l->users, link) {
        u->pause_usec = l->params.first_usec;
        if (u->n_trying == 0 && !u->is_starting)
            begin_round_after(u, 0);
    }
}

/* ---- construction ---- */

int nm_leftovers_new(const struct nm_leftovers_params *params, struct nm_leftovers **ret)
{
    struct nm_leftovers *l = calloc(1, sizeof *l);

    if (!l)
        return -ENOMEM;
    l->params = *params;
    if (l->params.first_usec == 0)
        l->params.first_usec = NM_LEFTOVERS_FIRST_USEC;
    if (l->params.most_usec == 0)
        l->params.most_usec = NM_LEFTOVERS_MOST_USEC;
    TAILQ_INIT(&l->users);
    *ret = l;
    return 0;
}

struct nm_leftovers *nm_leftovers_free(struct nm_leftovers *l)
{
    struct user *u;

    if (!l)
        return NULL;
    while ((u = TAILQ_FIRST(&l->users)))
        free_user(u);
    free(l);
    return NULL;
}
