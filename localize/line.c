/* SPDX-License-Identifier: Apache-2.0 */

/* See line.h. */

#include "localize/line.h"

#include <assert.h>
#include <errno.h>

#include "util/macros.h"

/* A user with waiting or running items. */
struct nm_line_user {
    TAILQ_ENTRY(nm_line_user) link;
    TAILQ_HEAD(, nm_line_item) waiting;
    unsigned n_running; /* includes running items whose slots were freed by nm_line_write_off() */
    char name[];
};

void nm_line_init(struct nm_line *line, unsigned max, unsigned own, unsigned most)
{
    assert(own > 0 && own <= max && max <= most);
    *line = (struct nm_line){.max = max, .own = own, .most = most};
    TAILQ_INIT(&line->users);
}

static struct nm_line_user *find_user(struct nm_line *line, const char *name)
{
    struct nm_line_user *u;

    TAILQ_FOREACH(u, &line->users, link)
        if (nm_streq(u->name, name))
            return u;
    return NULL;
}

static struct nm_line_user *add_user(struct nm_line *line, const char *name)
{
    size_t size = strlen(name) + 1;
    struct nm_line_user *u = calloc(1, sizeof *u + size);

    if (!u)
        return NULL;
    memcpy(u->name, name, size);
    TAILQ_INIT(&u->waiting);
    TAILQ_INSERT_TAIL(&line->users, u, link);
    return u;
}

int nm_line_put(struct nm_line *line, struct nm_line_item *item, const char *user)
{
    struct nm_line_user *u = find_user(line, user) ?: add_user(line, user);

    if (!u)
        return -ENOMEM;
    *item = (struct nm_line_item){.user = u, .arrival = line->n_arrived++};
    TAILQ_INSERT_TAIL(&u->waiting, item, link);
    return 0;
}

static bool may_run(const struct nm_line *line, const struct nm_line_user *u)
{
    if (TAILQ_EMPTY(&u->waiting))
        return false;
    if (u->n_running < line->own)
        return line->n_running < line->most;
    return line->n_running < line->max && u->n_running + 1 < line->max;
}

static bool goes_before(const struct nm_line_user *a, const struct nm_line_user *b)
{
    if (a->n_running != b->n_running)
        return a->n_running < b->n_running;
    return TAILQ_FIRST(&a->waiting)->arrival < TAILQ_FIRST(&b->waiting)->arrival;
}

struct nm_line_item *nm_line_next(struct nm_line *line)
{
    struct nm_line_user *u, *next = NULL;
    struct nm_line_item *item;

    TAILQ_FOREACH(u, &line->users, link)
        if (may_run(line, u) && (!next || goes_before(u, next)))
            next = u;
    if (!next)
        return NULL;
    item = TAILQ_FIRST(&next->waiting);
    TAILQ_REMOVE(&next->waiting, item, link);
    item->is_running = true;
    next->n_running++;
    line->n_running++;
    return item;
}

void nm_line_write_off(struct nm_line *line, struct nm_line_item *item)
{
    assert(item->is_running && !item->is_written_off);
    item->is_written_off = true;
    line->n_running--;
}

void nm_line_leave(struct nm_line *line, struct nm_line_item *item)
{
    struct nm_line_user *u = item->user;

    if (item->is_running) {
        u->n_running--;
        line->n_running -= !item->is_written_off;
    } else {
        TAILQ_REMOVE(&u->waiting, item, link);
    }
    *item = (struct nm_line_item){0};
    if (u->n_running == 0 && TAILQ_EMPTY(&u->waiting)) {
        TAILQ_REMOVE(&line->users, u, link);
        free(u);
    }
}
