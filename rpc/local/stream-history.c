/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Streams the history a few points at a time. All six hundred points together would need a JSON tree of megabytes and
 * block the event loop for tens of milliseconds. The position in the stream is a time, so no point is sent twice when
 * the ring drops old points meanwhile.
 */

#include "rpc/local/handlers.h"

#include <errno.h>
#include <inttypes.h>

#include "monitor/monitor.h"
#include "rpc/local/messages.h"
#include "rpc/local/stream.h"
#include "util/json-text.h"

#define POINTS_PER_REFILL 16u
#define DAY_USEC (24 * 3600 * NM_USEC_PER_SEC)

static int write_point(FILE *f, const struct nm_history_point *p)
{
    json_t *j = nm_messages_history_point(p);
    _cleanup_free_ char *text = nm_json_text(j, NM_MESSAGES_DUMP_FLAGS);

    json_decref(j);
    return text && fputs(text, f) >= 0 ? 0 : -ENOMEM;
}

static int write_points(struct nm_stream *s, FILE *f)
{
    const struct nm_history *h = nm_manager_history(s->call->manager, s->span_usec);
    unsigned i = nm_history_since(h, s->next_usec), last = i + POINTS_PER_REFILL;
    const struct nm_history_point *p;
    int r = 0;

    for (; r == 0 && i < last && (p = nm_history_get(h, i)) && p->at_usec < s->end_usec; i++) {
        if (s->another)
            (void)fputc(',', f);
        r = write_point(f, p);
        s->another = true;
        s->next_usec = p->at_usec + 1;
    }
    s->ended = i < last;
    return r;
}

static int refill(struct nm_stream *s, FILE *f)
{
    int r;

    if (s->ended)
        return -ENODATA;
    if (!s->begun)
        (void)fprintf(f, "{\"step_usec\":%" PRIu64 ",\"points\":[",
                      nm_history_step_usec(nm_manager_history(s->call->manager, s->span_usec)));
    s->begun = true;
    r = write_points(s, f);
    if (s->ended)
        (void)fputs("]}\n", f);
    return r;
}

static ssize_t read_history(void *userdata, uint64_t pos, char *buf, size_t max)
{
    (void)pos;
    return nm_stream_read_text(userdata, refill, buf, max);
}

/* Sends the points of the last span_usec that exist now; 0: the last minutes. Omits points that are added while the
 * history is sent, because the stream of a slow reader would otherwise not end. */
static int answer_history(struct nm_call *call, uint64_t span_usec)
{
    const struct nm_history *h = nm_manager_history(call->manager, span_usec);
    unsigned n = nm_history_n(h);
    int r = nm_stream_new(call, NM_STREAM_HISTORY);

    if (r < 0)
        return r;
    call->stream->span_usec = span_usec;
    call->stream->end_usec = n > 0 ? nm_history_get(h, n - 1)->at_usec + 1 : 0;
    call->stream->next_usec = span_usec > 0 ? nm_sub_u64(call->stream->end_usec, span_usec) : 0;
    return nm_stream_answer(call->stream, MHD_SIZE_UNKNOWN, "application/json", read_history);
}

int nm_handle_history(struct nm_call *call)
{
    uint64_t span_usec = 0;
    int r = nm_call_query_u64(call, "span_usec", 1, DAY_USEC, &span_usec);

    return r != 0 ? r : answer_history(call, span_usec);
}
