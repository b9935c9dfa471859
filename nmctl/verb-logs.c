/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `nmctl logs` and `nmctl events`: print streams. Logs are copied unchanged: the container's stdout to stdout, and its
 * stderr to stderr. The loop of `nmctl run` (attach.c) copies them. Events are lines of JSON, which are formatted as
 * text.
 */

#include <inttypes.h>
#include <poll.h>
#include <time.h>

#include "nmctl/api.h"
#include "nmctl/attach.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/message.h"
#include "nmctl/term.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/parse.h"

#define LINE_MAX_BYTES 65536
#define RETRY_MSEC 250

/* Prints logs. Prints both streams if neither or both of --stdout and --stderr are given. Waits for the container's end
 * only with --follow, because otherwise the stream ends at the end of the existing log. */
int nm_logs_verb(struct nm_ctl *ctl)
{
    const struct nm_args *a = &ctl->args;
    bool both = a->only_stdout == a->only_stderr;
    uint64_t now = nm_realtime_usec();
    struct nm_attach_params p = {.id = ctl->operands[0], .want_stdout = both || a->only_stdout,
                                 .want_stderr = both || a->only_stderr, .want_end = a->follow,
                                 .follow = a->follow, .tail = a->tail, .timestamps = a->timestamps,
                                 .signal_fd = -EBADF};
    struct nm_attach_result result;
    char target[128];
    int r = nm_api_container_target(p.id, "", target, sizeof target);

    if (r != NM_CTL_OK)
        return r;
    if (a->since_usec != NM_CTL_UNSET)
        p.since_usec = a->since_usec < now ? now - a->since_usec : 1;
    r = nm_attach_run(ctl, &p, &result);
    json_decref(result.container);
    return r;
}

/* ---- events ---------------------------------------------------------------------------------- */

#define EVENT_INDENT 10 /* columns of "HH:MM:SS  " */

struct events {
    struct nm_ctl *ctl;
    struct nm_client *call;
    struct nm_term term;
    const char *only; /* id, name or number of the wanted container; NULL: all containers */
    char id[64];      /* id of the container that `only` refers to; "": unknown */
    uint64_t from_usec; /* CLOCK_REALTIME; earlier events are omitted */
    json_t *kept;       /* past events, of which the newest are printed at the end; NULL: print events immediately */
    uint64_t newest;    /* largest number of an event received until now */
    bool on;            /* the stream has future events and ends only with nmd */
    bool connected;     /* nmd has answered */
    bool lost;          /* the connection to nmd was lost */
    char line[LINE_MAX_BYTES];
    size_t len;
    struct nm_client_answer refusal;
};

/* Prints one event as a line. Reports a gap in nmd's events. */
static void print_event(const struct events *e, const json_t *j)
{
    time_t t = (time_t)(nm_json_u64(j, "time_usec") / NM_USEC_PER_SEC);
    const char *name = nm_json_str(j, "container_name"), *text = nm_json_str(j, "text");
    const char *from = nm_container_state_word(nm_json_str(j, "from"));
    const char *to = nm_container_state_word(nm_json_str(j, "to"));
    const bool unsaved = nm_json_has(j, "durable") && !nm_json_bool(j, "durable");
    _cleanup_free_ char *line = NULL, *whole = NULL;
    char when[16] = "";
    struct tm tm;
    int n;

    if (nm_json_has(j, "lost")) {
        nm_message("events: %" PRIu64 " %s no longer available", nm_json_u64(j, "lost"),
                   nm_json_u64(j, "lost") == 1 ? "was" : "were");
        return;
    }
    if (localtime_r(&t, &tm))
        (void)strftime(when, sizeof when, "%H:%M:%S", &tm);
    if (nm_streq(nm_json_str(j, "kind"), "state"))
        n = asprintf(&line, "%s%s%s%s  %s%s%s%s%s", nm_json_str(j, "container_id"),
                       *name ? " (" : "", name, *name ? ")" : "", nm_streq(from, to) ? "" : from,
                       nm_streq(from, to) ? "" : " -> ", to, *text ? ": " : "", text);
    else
        n = asprintf(&line, "%s", text);
    if (n < 0 || asprintf(&whole, "%s%s%s  %s%s", nm_term_on(&e->term, NM_STYLE_DIM), when,
                          nm_term_off(&e->term, NM_STYLE_DIM), nm_term_clean(line),
                          unsaved ? " [not on disk yet]" : "") < 0)
        nm_message_oom();
    (void)nm_term_wrap(stdout, whole, e->term.width, EVENT_INDENT);
}

/* Returns whether an id ends in the given number. Events don't contain the short numbers of containers, but ids end in
 * these numbers. This also works for containers that nmd no longer has. */
static bool ends_in(const char *id, const char *number)
{
    const char *last = strrchr(id, '_');
    uint64_t end, wanted;

    return last && nm_parse_u64(last + 1, &end) == 0 && nm_parse_u64(number, &wanted) == 0 && end == wanted;
}

/* Returns whether the event matches. nmctl filters the events itself, because the stream is short and every reader
 * needs the reports of gaps in it. */
static bool is_wanted(const struct events *e, const json_t *j)
{
    if (nm_json_has(j, "lost"))
        return true;
    return nm_json_u64(j, "time_usec") >= e->from_usec &&
           (!e->only || nm_streq(e->only, nm_json_str(j, "container_id")) ||
            nm_streq(e->only, nm_json_str(j, "container_name")) ||
            (*e->id ? nm_streq(e->id, nm_json_str(j, "container_id"))
                    : ends_in(nm_json_str(j, "container_id"), e->only)));
}

static void output_event(const struct events *e, const json_t *j)
{
    if (e->ctl->args.json)
        nm_api_print_json(j, true);
    else
        print_event(e, j);
}

/* Keeps the newest events, as many as requested. Discards reports of gaps, because gaps only concern older events. */
static void keep(struct events *e, json_t *j)
{
    if (nm_json_has(j, "lost"))
        return;
    if (json_array_append(e->kept, j) < 0)
        nm_message_oom();
    if (json_array_size(e->kept) > e->ctl->args.last)
        (void)json_array_remove(e->kept, 0);
}

static void output_kept(struct events *e)
{
    const json_t *j;
    size_t i;

    json_array_foreach(e->kept, i, j)
        output_event(e, j);
    json_decref(e->kept);
    e->kept = NULL;
    (void)fflush(stdout);
}

/* Handles a line. Skips a line that isn't JSON, which no known nmd sends. */
static void take_line(struct events *e)
{
    _cleanup_json_ json_t *j = json_loadb(e->line, e->len, 0, NULL);

    if (j && nm_json_has(j, "number"))
        e->newest = nm_json_u64(j, "number");
    if (!j || !is_wanted(e, j))
        return;
    if (e->kept)
        keep(e, j);
    else
        output_event(e, j);
}

/* Assembles lines from pieces of any size. Flushes stdout after each piece, because otherwise lines in a pipe would be
 * delayed with -f. */
static int take_bytes(const char *data, size_t n, void *userdata)
{
    struct events *e = userdata;

    if (nm_client_status(e->call) != 200)
        return nm_client_answer_gather(data, n, &e->refusal);
    for (size_t i = 0; i < n; i++) {
        if (data[i] == '\n') {
            take_line(e);
            e->len = 0;
            continue;
        }
        if (e->len == sizeof e->line)
            return -E2BIG;
        e->line[e->len++] = data[i];
    }
    (void)fflush(stdout);
    return ferror(stdout) ? -EIO : 0;
}

/* Returns whether the connection to nmd was lost. nmd ends the stream when it stops normally. If nmd is killed, the
 * connection is reset. */
static bool nmd_has_exited(struct events *e, int r)
{
    e->connected = e->connected || nm_client_status(e->call) == 200;
    e->lost = e->on && e->connected && (r == NM_CLIENT_E_DONE || r == -ECONNRESET || r == -EPIPE || r == -ETIMEDOUT);
    return e->lost;
}

/* Processes the stream until nmd ends it or Ctrl-C ends nmctl. */
static int follow(struct events *e)
{
    for (;;) {
        struct pollfd p = {nm_client_fd(e->call), nm_client_events(e->call), 0};
        int r = RET_NERRNO(poll(&p, 1, -1));

        if (r >= 0)
            r = nm_client_process(e->call);
        else if (r == -EINTR)
            continue;
        if (r == -EIO) /* stdout failed, which is reported at the end */
            return NM_CTL_OK;
        if (r != 0 && (r < 0 || nm_client_status(e->call) == 200) && nmd_has_exited(e, r))
            return NM_CTL_OK;
        if (r < 0)
            return nm_api_report_unreachable(e->ctl, r);
        if (r == NM_CLIENT_E_DONE)
            break;
    }
    if (nm_client_status(e->call) == 200)
        return NM_CTL_OK;
    e->refusal.status = nm_client_status(e->call);
    (void)nm_client_answer_gather("", 0, &e->refusal);
    return nm_api_report_refused(e->ctl, &e->refusal);
}

/* Reads one stream to its end: the events after number `after` (NM_CTL_UNSET: all events that nmd has), and with `on`
 * also future events. */
static int read_stream(struct events *e, uint64_t after, bool on)
{
    char target[96], from[40] = "";
    const struct nm_client_request q = {e->ctl->socket_path, "GET", target, NULL};
    int r;

    e->on = on;
    e->lost = false;
    e->len = 0;
    if (after != NM_CTL_UNSET)
        (void)snprintf(from, sizeof from, "after=%" PRIu64, after);
    (void)snprintf(target, sizeof target, "/v1/events%s%s%s%s", on || *from ? "?" : "", on ? "follow=true" : "",
                   on && *from ? "&" : "", from);
    r = nm_client_new(&q, take_bytes, e, &e->call);
    r = r < 0 ? nm_api_report_unreachable(e->ctl, r) : follow(e);
    e->call = nm_client_free(e->call);
    return r;
}

/* Waits until nmd can be reached again, which takes a few seconds in an upgrade. Doesn't check that it is the same nmd,
 * because event numbers continue after a restart. */
static bool nmd_has_returned(struct events *e)
{
    struct nm_reconnect reconnect = {0};
    int r = -ECONNRESET;

    while (nm_reconnect_wait(&reconnect, e->ctl, r, "") == NM_CTL_OK) {
        _cleanup_json_ json_t *version = NULL;

        (void)poll(NULL, 0, RETRY_MSEC);
        r = nm_api_try_get(e->ctl, "/v1/version", RETRY_MSEC * NM_USEC_PER_MSEC, &version);
        if (r == 0) {
            nm_reconnect_done(&reconnect);
            return true;
        }
    }
    return false;
}

/* Follows events across restarts of nmd. Continues after the last event received, so that no event is repeated or
 * omitted. */
static int follow_on(struct events *e, uint64_t after)
{
    int r;

    e->newest = after;
    while ((r = read_stream(e, e->newest, true)) == NM_CTL_OK && e->lost)
        if (!nmd_has_returned(e))
            return NM_CTL_UNREACHABLE;
    return r;
}

/* Reads events. With --last all past events are kept until the last past event has arrived, because only then the
 * newest events are known. */
static int read_events(struct events *e)
{
    const struct nm_args *a = &e->ctl->args;
    int r;

    if (a->last == NM_CTL_UNSET)
        return a->follow ? follow_on(e, a->after) : read_stream(e, a->after, false);
    e->kept = json_array();
    if (!e->kept)
        nm_message_oom();
    e->newest = a->after;
    r = read_stream(e, a->after, false);
    output_kept(e);
    return r == NM_CTL_OK && a->follow ? follow_on(e, e->newest) : r;
}

static void resolve(struct events *e)
{
    _cleanup_json_ json_t *c = NULL;
    char target[128];

    if (e->only && nm_name_is_valid(e->only) &&
        nm_api_container_target(e->only, "", target, sizeof target) == NM_CTL_OK &&
        nm_api_try_get(e->ctl, target, NM_API_TIMEOUT_USEC, &c) == 0)
        (void)snprintf(e->id, sizeof e->id, "%s", nm_json_str(c, "id"));
}

/* Allocates the struct on the heap, because its line buffer is large. */
int nm_events_verb(struct nm_ctl *ctl)
{
    struct events *e = calloc(1, sizeof *e);
    uint64_t now = nm_realtime_usec();
    int r;

    if (!e)
        nm_message_oom();
    e->ctl = ctl;
    e->only = ctl->n_operands > 0 ? ctl->operands[0] : NULL;
    e->from_usec = ctl->args.since_usec < now ? now - ctl->args.since_usec : 0;
    nm_term_init(&e->term, STDOUT_FILENO, ctl->args.no_color);
    resolve(e);
    r = read_events(e);
    nm_client_answer_done(&e->refusal);
    free(e);
    return r;
}
