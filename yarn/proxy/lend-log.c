/* SPDX-License-Identifier: Apache-2.0 */

/* See lend-log.h. The file is a copy of the ring in memory. Each entry contains its number in the sequence of all
 * entries. A restarted nmd finds the newest entry by this number. */

#include "yarn/proxy/lend-log.h"

#include <errno.h>

#include "util/clock.h"
#include "util/utf8.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/proxy-store.pb-c.h"
#include "yarn/proxy/slot-file.h"

#define LENT_FILE "lent"
#define NAME_MAX_BYTES 255u /* a longer name of a user or a queue is cut, so that each entry fits into a slot */

_Static_assert(NM_YARN_LENT_MAX == NM_YARN_SLOTS, "the file is a copy of the ring");

struct entry {
    struct nm_lend_history is; /* lent_usec 0: the slot is empty */
    struct nm_yarn_container_id master;
    char *user, *queue;        /* NULL: not known */
};

struct nm_yarn_lend_log {
    struct nm_yarn_slot_file file;
    uint64_t count; /* number of all entries that were ever added */
    struct entry ring[NM_YARN_LENT_MAX];
};

/* Replaces the entry of a slot. Without memory, a name is not known. */
static void set_entry(struct entry *e, const struct nm_lend_history *h, const struct nm_yarn_container_id *master,
                      const char *user, const char *queue)
{
    free(e->user);
    free(e->queue);
    *e = (struct entry){*h, *master, user ? strndup(user, NAME_MAX_BYTES) : NULL,
                        queue ? strndup(queue, NAME_MAX_BYTES) : NULL};
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_entry(const struct nm_yarn_lend_log *l, uint64_t n)
{
    const struct entry *e = &l->ring[n % NM_YARN_LENT_MAX];
    const struct nm_lend_history *h = &e->is;
    struct nm_yarn_container_message container, master;
    Yarn__StoredLent m = YARN__STORED_LENT__INIT;

    m.number = n;
    m.container = nm_yarn_container_message_set(&container, &h->id);
    m.master = nm_yarn_container_message_set(&master, &e->master);
    m.user = e->user;
    m.queue = e->queue;
    m.priority = h->key.priority;
    m.request_id = h->key.request_id;
    m.memory_mib = h->size.memory_mib;
    m.vcores = h->size.vcores;
    m.asked_usec = h->asked_usec;
    m.lent_usec = h->lent_usec;
    m.promoted_usec = h->promoted_usec;
    m.ended_usec = h->ended_usec;
    m.preempted = h->preempted;
    m.with_attempt = h->with_attempt;
    m.mode = (uint32_t)h->mode;
    nm_yarn_slot_file_write(&l->file, n, &m.base);
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

static void add_entry(struct nm_yarn_lend_log *l, const struct nm_lend_history *from,
                      const struct nm_yarn_lend_view *v)
{
    struct nm_lend_history h = *from;

    h.running = h.queued = false;
    if (h.ended_usec == 0) {
        h.ended_usec = v->now_usec;
        h.with_attempt = true;
    }
    set_entry(&l->ring[l->count % NM_YARN_LENT_MAX], &h, &v->master, v->user, v->queue);
    write_entry(l, l->count++);
}

void nm_yarn_lend_log_add(struct nm_yarn_lend_log *l, const struct nm_yarn_lend_view *v)
{
    _cleanup_free_ const struct nm_lend_history **items = NULL;
    struct list list = {};

    nm_lend_each_history(v->books, collect, &list);
    if (list.n == 0)
        return;
    items = calloc(list.n, sizeof(*items));
    if (!items)
        return;
    list = (struct list){items, 0};
    nm_lend_each_history(v->books, collect, &list);
    qsort(items, list.n, sizeof(*items), by_time);
    for (size_t i = list.n - NM_MIN(list.n, (size_t)NM_YARN_LENT_MAX); i < list.n; i++)
        add_entry(l, items[i], v);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Checks an entry. An entry with the maximum number is refused, because no newer entry could have a higher number. */
static bool is_whole(const Yarn__StoredLent *m, size_t slot)
{
    return m->number < INT64_MAX && m->number % NM_YARN_LENT_MAX == slot && nm_yarn_is_container(m->container) &&
           nm_yarn_is_container(m->master) && m->lent_usec > 0 && m->mode < NM_LEND_N_MODES;
}

static void load_entry(const ProtobufCMessage *message, size_t slot, void *userdata)
{
    const Yarn__StoredLent *m = (const Yarn__StoredLent *)message;
    struct nm_yarn_lend_log *l = userdata;
    struct nm_yarn_container_id master;
    struct nm_lend_history h;

    if (!is_whole(m, slot))
        return;
    h = (struct nm_lend_history){
        .id = nm_yarn_container_of(m->container),
        .key = {m->priority, m->request_id},
        .size = {m->memory_mib, m->vcores},
        .asked_usec = m->asked_usec,
        .lent_usec = m->lent_usec,
        .promoted_usec = m->promoted_usec,
        .ended_usec = m->ended_usec,
        .preempted = m->preempted,
        .with_attempt = m->with_attempt,
        .mode = (enum nm_lend_mode)m->mode,
    };
    master = nm_yarn_container_of(m->master);
    set_entry(&l->ring[slot], &h, &master, m->user, m->queue);
    if (m->number >= l->count)
        l->count = m->number + 1;
}

/* ---- interface ------------------------------------------------------------------------------- */

int nm_yarn_lend_log_new(int dir_fd, struct nm_yarn_lend_log **ret)
{
    struct nm_yarn_lend_log *l = calloc(1, sizeof *l);

    if (!l)
        return -ENOMEM;
    nm_yarn_slot_file_open(dir_fd, LENT_FILE, &l->file);
    nm_yarn_slot_file_read(&l->file, &yarn__stored_lent__descriptor, load_entry, l);
    *ret = l;
    return 0;
}

int nm_yarn_lend_log_error(const struct nm_yarn_lend_log *l)
{
    return l->file.error;
}

struct nm_yarn_lend_log *nm_yarn_lend_log_free(struct nm_yarn_lend_log *l)
{
    if (!l)
        return NULL;
    for (size_t i = 0; i < NM_YARN_LENT_MAX; i++) {
        free(l->ring[i].user);
        free(l->ring[i].queue);
    }
    nm_yarn_slot_file_done(&l->file);
    free(l);
    return NULL;
}

bool nm_yarn_lend_log_find(const struct nm_yarn_lend_log *l, const char *container, struct nm_lend_history *ret,
                           struct nm_yarn_lend_view *ret_v)
{
    const uint64_t n = NM_MIN(l->count, (uint64_t)NM_YARN_LENT_MAX);
    char text[NM_YARN_ID_SIZE];

    for (uint64_t i = 1; i <= n; i++) {
        const struct entry *e = &l->ring[(l->count - i) % NM_YARN_LENT_MAX];

        if (e->is.lent_usec == 0 || !nm_streq(nm_yarn_container_id_format(&e->is.id, text), container))
            continue;
        *ret = e->is;
        *ret_v = (struct nm_yarn_lend_view){.queue = e->queue, .user = e->user, .master = e->master,
                                            .now_usec = nm_realtime_usec()};
        return true;
    }
    return false;
}
