/* SPDX-License-Identifier: Apache-2.0 */

/* Events. The newest events are kept in a ring in memory and in a file beside the journal. Subscribers are called for
 * each event. */

#include "agent/journal/records.h"

#include <assert.h>
#include <sys/mman.h>

#include "agent/journal/journal.h"
#include "agent/journal/slot-file.h"
#include "agent/message-ids.h"
#include "util/clock.h"
#include "util/log.h"

struct nm_subscription {
    struct nm_manager *m;
    nm_event_cb_t cb;
    void *userdata;
    struct nm_subscription *next;
};

struct nm_events {
    struct nm_event_record ring[NM_EVENT_RING];
    uint64_t next;         /* number of the next event */
    uint64_t next_unsaved; /* next number to write to the file */
    int fd, error;         /* descriptor for event-file.c; result of the newest write */
    struct nm_subscription *subscriptions;
};

struct nm_events *nm_events_new(void)
{
    /* Use a mapping: its pages become resident only when events are written. calloc() could reuse freed memory and
     * clear all pages. */
    struct nm_events *e = mmap(NULL, sizeof *e, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (e == MAP_FAILED)
        return NULL;
    e->next = 1;
    e->fd = -EBADF;
    return e;
}

struct nm_events *nm_events_free(struct nm_events *e)
{
    if (!e)
        return NULL;
    while (e->subscriptions)
        (void)nm_subscription_free(e->subscriptions);
    (void)nm_close(e->fd);
    (void)munmap(e, sizeof *e);
    return NULL;
}

bool nm_events_have_subscribers(const struct nm_events *e)
{
    return e->subscriptions;
}

const struct nm_event_record *nm_events_newest(const struct nm_events *e)
{
    return &e->ring[(e->next - 1) % NM_EVENT_RING];
}

/* Overwrites the oldest event of the ring. Numbers continue, so that a reader can detect missed events. */
static struct nm_event_record *next_record(struct nm_manager *m, enum nm_event_kind kind)
{
    struct nm_event_record *e = &m->events->ring[m->events->next % NM_EVENT_RING];

    *e = (struct nm_event_record){
        .number = m->events->next++, .realtime_usec = nm_realtime_usec(), .kind = kind, .is_unsaved = true};
    return e;
}

/* Logs when writes to the file begin to fail and when they succeed again. A failure has no other effect. */
static void report_error(struct nm_manager *m, int r)
{
    if (r == m->events->error)
        return;
    m->events->error = r;
    if (r < 0)
        nm_notice("can't save events in %s: %s; events from now on are lost if nmd restarts", m->state_dir,
                  strerror(-r));
    else
        nm_info("events can be saved again");
}

uint64_t nm_events_load(struct nm_manager *m)
{
    struct nm_events *e = m->events;
    uint64_t last = 0;

    assert(e->next > 0 && e->fd < 0);
    e->fd = nm_event_file_open(m->state_dir, e->ring, &e->next);
    e->next_unsaved = e->next;
    for (size_t i = 0; i < NM_EVENT_RING; i++)
        if (e->ring[i].decision_number < INT64_MAX)
            last = NM_MAX(last, e->ring[i].decision_number);
    if (e->fd < 0)
        report_error(m, e->fd);
    return last;
}

void nm_events_write_unsaved(struct nm_manager *m)
{
    uint64_t first = m->events->next > NM_EVENT_RING ? m->events->next - NM_EVENT_RING : 1;

    if (nm_store_in_transaction(m->store))
        return;
    for (uint64_t n = NM_MAX(first, m->events->next_unsaved); n < m->events->next && m->events->fd >= 0; n++) {
        struct nm_event_record *e = &m->events->ring[n % NM_EVENT_RING];
        int r = nm_event_file_put(m->events->fd, e);

        report_error(m, r);
        if (r < 0)
            return;
        e->is_unsaved = false;
        m->events->next_unsaved = n + 1;
    }
}

static void publish(struct nm_manager *m, const struct nm_event *e)
{
    struct nm_subscription *next;

    assert(e->number != 0);
    nm_events_write_unsaved(m);
    for (struct nm_subscription *s = m->events->subscriptions; s; s = next) {
        next = s->next; /* a subscriber may unsubscribe in its callback */
        s->cb(e, s->userdata);
    }
}

/* Copies the container's names and submitter into the event. Events outlive their container, and the submitter
 * determines later who may read them. */
static void name_container(struct nm_event_record *e, const struct nm_container *c)
{
    (void)snprintf(e->container_id, sizeof e->container_id, "%s", c->id);
    (void)snprintf(e->container_name, sizeof e->container_name, "%s", c->name);
    e->submitter_uid = c->submitter_uid;
    e->type = c->view.type;
}

/* Only events with an entry in the catalog (journalctl -x) have a message id. */
static const char *end_message_id(const struct nm_container *c, enum nm_state to)
{
    if (to != NM_COMPLETED)
        return NULL;
    return c->exit_reason == NM_EXIT_OOM ? NM_MESSAGE_OOM : NM_MESSAGE_ENDED;
}

/* Logs ends at a visible level, since readers of a log look for ends, and other state changes at debug. */
void nm_events_publish_state(struct nm_live_container *l, enum nm_state from, enum nm_state to)
{
    struct nm_event_record *r = next_record(l->m, NM_EVENT_STATE);
    struct nm_event e = {.number = r->number,
                         .realtime_usec = r->realtime_usec,
                         .kind = NM_EVENT_STATE,
                         .container = l->c,
                         .from = from,
                         .to = to};
    char label[160], end[64];

    name_container(r, l->c);
    r->from = from;
    r->to = to;
    nm_container_label(l->c, label, sizeof label);
    if (to == NM_COMPLETED)
        (void)snprintf(r->text, sizeof r->text, "%s%s%s",
                       nm_container_end_text(l->c, end, sizeof end), l->c->message[0] ? ": " : "",
                       l->c->message);
    if (to == NM_COMPLETED)
        nm_saved_history_add_end(l->m, l->c);
    nm_log_container(to == NM_COMPLETED ? LOG_INFO : LOG_DEBUG, l->c->id, NULL,
                     end_message_id(l->c, to), "%s: %s%s%s", label, nm_state_word(to),
                     r->text[0] ? ", " : "", r->text);
    publish(l->m, &e);
}

void nm_events_publish_node(struct nm_manager *m, const char *text)
{
    nm_events_publish_node_at(m, LOG_INFO, text);
}

void nm_events_publish_node_at(struct nm_manager *m, int level, const char *text)
{
    struct nm_event_record *r = next_record(m, NM_EVENT_NODE);
    struct nm_event e = {.number = r->number,
                         .realtime_usec = r->realtime_usec,
                         .kind = NM_EVENT_NODE,
                         .text = text};

    assert(text && *text);
    (void)snprintf(r->text, sizeof r->text, "%s", text);
    nm_log(level, "%s", text);
    publish(m, &e);
}

void nm_events_publish_decision(struct nm_manager *m, const struct nm_container *c, const struct nm_decision *d)
{
    struct nm_event_record *r = next_record(m, NM_EVENT_DECISION);
    struct nm_event e = {.number = r->number,
                         .realtime_usec = r->realtime_usec,
                         .kind = NM_EVENT_DECISION,
                         .container = c,
                         .decision = d};

    if (c)
        name_container(r, c);
    r->decision_number = d->number;
    r->decision_kind = d->kind;
    nm_decision_summary(d, r->text, sizeof r->text);
    publish(m, &e);
}

int nm_manager_subscribe(struct nm_manager *m, nm_event_cb_t cb, void *userdata,
                         struct nm_subscription **ret)
{
    struct nm_subscription *s = calloc(1, sizeof *s);

    assert(cb);
    if (!s)
        return -ENOMEM;
    *s = (struct nm_subscription){.m = m, .cb = cb, .userdata = userdata, .next = m->events->subscriptions};
    m->events->subscriptions = s;
    *ret = s;
    return 0;
}

struct nm_subscription *nm_subscription_free(struct nm_subscription *s)
{
    struct nm_subscription **p;

    if (!s)
        return NULL;
    for (p = &s->m->events->subscriptions; *p != s; p = &(*p)->next)
        ;
    *p = s->next;
    free(s);
    return NULL;
}

static bool may_see(const struct nm_caller *who, const struct nm_event_record *e)
{
    return !who || who->admin || e->kind == NM_EVENT_NODE || e->submitter_uid == who->uid;
}

void nm_manager_foreach_event(struct nm_manager *m, const struct nm_caller *who,
                              uint64_t after_number, nm_manager_event_cb_t cb, void *userdata)
{
    uint64_t first = m->events->next > NM_EVENT_RING ? m->events->next - NM_EVENT_RING : 1;

    for (uint64_t n = NM_MAX(first, after_number + 1); n < m->events->next; n++) {
        const struct nm_event_record *e = &m->events->ring[n % NM_EVENT_RING];

        if (e->number == n && may_see(who, e)) /* false if an earlier nmd could not write the event */
            cb(e, userdata);
    }
}
