/* SPDX-License-Identifier: Apache-2.0 */

/* Streams events, those in the manager's ring and future ones, as one line of JSON each. */

#include "rpc/local/handlers.h"

#include <errno.h>

#include "rpc/local/messages.h"
#include "rpc/local/stream.h"
#include "util/json-text.h"

#define EVENTS_PER_REFILL 32u

/* Used to read the ring with the rights of an administrator, in order to detect events that the ring no longer has.
 * visible() filters the events afterwards. */
static const struct nm_caller everything = {.uid = 0, .gid = 0, .pid = 0, .admin = true};

struct refill {
    struct nm_stream *stream;
    FILE *f;
    unsigned n;
    bool any;
    int error;
};

/* Returns whether the reader may see the event: events of the reader's own containers and of the node. */
static bool visible(const struct nm_caller *who, const struct nm_event_record *e)
{
    return who->admin || e->kind == NM_EVENT_NODE || e->submitter_uid == who->uid;
}

static int write_event(FILE *f, const struct nm_event_record *e)
{
    json_t *j = nm_messages_event(e);
    _cleanup_free_ char *text = nm_json_text(j, NM_MESSAGES_DUMP_FLAGS);

    json_decref(j);
    return text && fprintf(f, "%s\n", text) >= 0 ? 0 : -ENOMEM;
}

static void refill_event(const struct nm_event_record *e, void *userdata)
{
    struct refill *f = userdata;
    struct nm_stream *s = f->stream;

    if (f->n >= EVENTS_PER_REFILL || f->error < 0)
        return;
    if (s->after > 0 && e->number > s->after + 1) {
        (void)fprintf(f->f, "{\"lost\":%llu}\n", (unsigned long long)(e->number - s->after - 1));
        f->n++;
    }
    s->after = e->number;
    f->any = true;
    if (!visible(&s->call->caller, e))
        return;
    f->error = write_event(f->f, e);
    f->n++;
}

/* Writes the lines of the next events. */
static int refill(struct nm_stream *s, FILE *to)
{
    struct refill f = {.stream = s, .f = to};

    do {
        f.any = false;
        nm_manager_foreach_event(s->call->manager, &everything, s->after, refill_event, &f);
    } while (f.any && f.n == 0); /* repeat while no event was visible to the reader */
    if (f.error < 0)
        return f.error; /* the connection ends, and the client requests the missing events again */
    return f.n > 0 ? 0 : -ENODATA;
}

static ssize_t read_events(void *userdata, uint64_t pos, char *buf, size_t max)
{
    (void)pos;
    return nm_stream_read_text(userdata, refill, buf, max);
}

static void find_newest(const struct nm_event_record *e, void *userdata)
{
    *(uint64_t *)userdata = e->number;
}

/* Sends the events after number `after` (0: all events in the ring). With `follow` also sends future events. Event
 * numbers continue after a restart. If `after` exceeds the newest number, the reader got it from another nmd, or from
 * an nmd whose events were lost. All events are sent in this case. */
static int answer_events(struct nm_call *call, uint64_t after, bool follow)
{
    uint64_t newest = 0;
    int r = nm_stream_new(call, NM_STREAM_EVENTS);

    if (r < 0)
        return r;
    nm_manager_foreach_event(call->manager, &everything, 0, find_newest, &newest);
    call->stream->after = after <= newest ? after : 0;
    call->stream->follow = follow;
    return nm_stream_answer(call->stream, MHD_SIZE_UNKNOWN, "application/x-ndjson", read_events);
}

int nm_handle_events(struct nm_call *call)
{
    bool follow = false;
    uint64_t after = 0;
    int r = nm_call_query_bool(call, "follow", &follow);

    if (r == 0)
        r = nm_call_query_u64(call, "after", 0, INT64_MAX, &after);
    if (r != 0)
        return r;
    if (follow && call->tcp)
        return nm_messages_problem(&call->problem, NM_AGENT_E_FORBIDDEN, "follow", "true",
                                   "Events can't be followed over TCP; use the UNIX socket.");
    return answer_events(call, after, follow);
}
