/* SPDX-License-Identifier: Apache-2.0 */

/* See lend-log.h. */

#include "yarn/proxy/lend-log.h"

#include "util/clock.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/proxy-store.pb-c.h"

#define NAME_MAX_BYTES 255u /* a longer name of a user or a queue is cut, so that each entry fits into a slot */

struct entry {
    struct nm_yarn_slot_entry is;
    struct nm_lend_history history;
    char *user, *queue; /* NULL: not known */
};

/* Without memory, a name is not known. */
static void set_names(struct entry *e, const char *user, const char *queue)
{
    e->user = user ? strndup(user, NAME_MAX_BYTES) : NULL;
    e->queue = queue ? strndup(queue, NAME_MAX_BYTES) : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_entry(const struct nm_yarn_slot_log *l, const struct entry *e, uint64_t n)
{
    const struct nm_lend_history *h = &e->history;
    struct nm_yarn_container_message container, master;
    Yarn__StoredLent m = YARN__STORED_LENT__INIT;

    m.number = n;
    m.container = nm_yarn_container_message_set(&container, &h->id);
    m.master = nm_yarn_container_message_set(&master, &e->is.master);
    m.user = e->user;
    m.queue = e->queue;
    m.priority = h->key.priority;
    m.request_id = h->key.request_id;
    m.memory_mib = h->size.memory_mib;
    m.vcores = h->size.vcores;
    m.asked_usec = h->asked_usec;
    m.lent_usec = h->lent_usec;
    m.has_adopted_usec = h->adopted_usec > 0;
    m.adopted_usec = h->adopted_usec;
    m.has_adoptions = h->adoptions > 0;
    m.adoptions = h->adoptions;
    m.promoted_usec = h->promoted_usec;
    m.has_demoted_usec = h->demoted_usec > 0;
    m.demoted_usec = h->demoted_usec;
    m.ended_usec = h->ended_usec;
    m.preempted = h->preempted;
    m.with_attempt = h->with_attempt;
    m.mode = (uint32_t)h->mode;
    nm_yarn_slot_log_write(l, n, &m.base);
}

struct list {
    const struct nm_lend_history **items; /* NULL: only count */
    size_t n;
};

static void collect(const struct nm_lend_history *h, void *userdata)
{
    struct list *list = userdata;

    if (list->items)
        list->items[list->n] = h;
    list->n++;
}

static int by_time(const void *a, const void *b)
{
    const struct nm_lend_history *const *x = a, *const *y = b;

    return ((*x)->lent_usec > (*y)->lent_usec) - ((*x)->lent_usec < (*y)->lent_usec);
}

static void add_entry(struct nm_yarn_slot_log *l, const struct nm_lend_history *from,
                      const struct nm_yarn_lend_view *v)
{
    uint64_t number;
    struct entry *e = nm_yarn_slot_log_add(l, &from->id, &v->master, &number);

    e->history = *from;
    e->history.running = e->history.queued = false;
    if (from->ended_usec == 0) {
        e->history.ended_usec = v->now_usec;
        e->history.with_attempt = true;
    }
    set_names(e, v->user, v->queue);
    write_entry(l, e, number);
}

struct correction {
    struct nm_yarn_slot_log *log;
    const struct nm_lend *books;
};

/* Corrects the entry of a container that has outlived its attempt: it says that it ended with that attempt. */
static void correct(const struct nm_lend_history *h, void *userdata)
{
    const struct correction *c = userdata;
    struct entry *e;
    uint64_t number;

    if (h->ended_usec == 0 || nm_lend_knows(c->books, &h->id))
        return;
    e = nm_yarn_slot_log_get(c->log, &h->id, &number);
    if (!e || !e->history.with_attempt)
        return;
    e->history = *h;
    e->history.running = e->history.queued = false;
    write_entry(c->log, e, number);
}

void nm_yarn_lend_log_add(struct nm_yarn_slot_log *l, const struct nm_yarn_lend_view *v)
{
    struct correction c = {l, v->books};
    _cleanup_free_ const struct nm_lend_history **items = NULL;
    struct list list = {};

    if (v->former)
        nm_lend_each_history(v->former, correct, &c);
    nm_lend_each_history(v->books, collect, &list);
    if (list.n == 0)
        return;
    items = calloc(list.n, sizeof(*items));
    if (!items)
        return;
    list = (struct list){items, 0};
    nm_lend_each_history(v->books, collect, &list);
    qsort(items, list.n, sizeof(*items), by_time);
    for (size_t i = list.n - NM_MIN(list.n, (size_t)NM_YARN_SLOTS); i < list.n; i++)
        add_entry(l, items[i], v);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool load_entry(const ProtobufCMessage *message, struct nm_yarn_slot_head *ret_head, void *entry)
{
    const Yarn__StoredLent *m = (const Yarn__StoredLent *)message;
    struct entry *e = entry;

    *ret_head = (struct nm_yarn_slot_head){m->number, m->container, m->master};
    if (m->lent_usec == 0 || m->mode >= NM_LEND_N_MODES || !nm_yarn_is_container(m->container))
        return false;
    e->history = (struct nm_lend_history){
        .id = nm_yarn_container_of(m->container),
        .key = {m->priority, m->request_id},
        .size = {m->memory_mib, m->vcores},
        .asked_usec = m->asked_usec,
        .lent_usec = m->lent_usec,
        .adopted_usec = m->adopted_usec,
        .adoptions = m->adoptions,
        .promoted_usec = m->promoted_usec,
        .demoted_usec = m->demoted_usec,
        .ended_usec = m->ended_usec,
        .preempted = m->preempted,
        .with_attempt = m->with_attempt,
        .mode = (enum nm_lend_mode)m->mode,
    };
    set_names(e, m->user, m->queue);
    return true;
}

static void entry_done(void *entry)
{
    struct entry *e = entry;

    free(e->user);
    free(e->queue);
}

static const struct nm_yarn_slot_type lent = {
    .file_name = "lent",
    .message = &yarn__stored_lent__descriptor,
    .entry_bytes = sizeof(struct entry),
    .load = load_entry,
    .done = entry_done,
};

/* ---- interface ------------------------------------------------------------------------------- */

int nm_yarn_lend_log_new(int dir_fd, struct nm_yarn_slot_log **ret)
{
    return nm_yarn_slot_log_new(dir_fd, &lent, ret);
}

bool nm_yarn_lend_log_find(const struct nm_yarn_slot_log *l, const char *container, struct nm_lend_history *ret,
                           struct nm_yarn_lend_view *ret_v)
{
    const struct entry *e = nm_yarn_slot_log_find(l, container);

    if (!e)
        return false;
    *ret = e->history;
    *ret_v = (struct nm_yarn_lend_view){.queue = e->queue, .user = e->user, .master = e->is.master,
                                        .now_usec = nm_steady_usec()};
    return true;
}
