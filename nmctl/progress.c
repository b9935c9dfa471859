/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See progress.h. Queries nmd once a second while the container is queued. Afterwards queries nmd every two seconds, if
 * stderr is a terminal or if nmctl does nothing but wait. A terminal shows one message, which is updated. Otherwise a
 * new message is printed when the state, position or reason changes, but not for every changed figure. If these don't
 * change, the message is repeated: every ten seconds while the container is queued, because the user expects its start,
 * otherwise once a minute.
 */

#include "nmctl/progress.h"

#include <errno.h>

#include "nmctl/api.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/message.h"
#include "util/clock.h"
#include "util/parse.h"

#define GRACE_USEC                                                                                 \
    (300 * NM_USEC_PER_MSEC) /* by then most containers have started, and no message is needed */
#define NO_REASON_USEC (2 * NM_USEC_PER_SEC) /* time after which a message is printed even if the reason isn't known */
#define QUEUED_PERIOD_USEC NM_USEC_PER_SEC
#define RUNNING_PERIOD_USEC (2 * NM_USEC_PER_SEC)
#define REPEAT_USEC (60 * NM_USEC_PER_SEC)
#define REPEAT_QUEUED_USEC (10 * NM_USEC_PER_SEC)
#define TIMEOUT_USEC NM_USEC_PER_SEC /* a short limit, because the caller can do no other work during a query */
#define SILENT_USEC (3 * NM_USEC_PER_SEC) /* time without an answer after which a message is printed */

static bool is_queued(const json_t *c)
{
    const char *state = nm_json_str(c, "state");

    return nm_streq(state, "SCHEDULED") || nm_streq(state, "NEW");
}

static bool is_paused(const json_t *c)
{
    const char *state = nm_json_str(c, "state");

    return nm_streq(state, "PAUSED") || nm_streq(state, "PAUSING");
}

static uint64_t patience(const struct nm_progress *n)
{
    return NM_MIN(TIMEOUT_USEC, nm_sub_u64(n->deadline_usec, nm_now_usec()));
}

/* Prints a message. Adds the container's name to the first message and to repeated messages. */
nm_printf(4, 5) static void print_message(struct nm_progress *n, const json_t *c, bool again, const char *format, ...)
{
    bool live = again && nm_message_can_rewrite();
    _cleanup_free_ char *text = NULL;
    char head[240] = "", tail[48] = "";
    va_list ap;

    va_start(ap, format);
    text = nm_xvasprintf(format, ap);
    va_end(ap);
    if (n->waits && (again || !*n->printed_state))
        (void)snprintf(head, sizeof head, "%swaiting for %s, which %s ", again && !live ? "still " : "",
                       n->title, again && is_queued(c) ? "has been" : "is");
    if (*head && n->others > 0)
        (void)snprintf(tail, sizeof tail, "; and for %u more", n->others);
    if (live)
        nm_message_again("%s%s%s", head, text, tail);
    else
        nm_message("%s%s%s", head, text, tail);
}

/* Prints why the container waits. Fetches figures only when a message is printed. again: adds how long the state has
 * lasted. */
static void print_queued(struct nm_progress *n, struct nm_ctl *ctl, const json_t *c, bool again)
{
    _cleanup_json_ json_t *status = NULL;
    uint64_t position = nm_json_u64(c, "queue_position");
    char why[1024], age[32], at[48] = "", waited[48] = "";

    (void)nm_api_try_get(ctl, "/v1/status", patience(n), &status);
    nm_queue_reason_text(nm_json_str(c, "hold"), c, status, why, sizeof why);
    if (again)
        (void)snprintf(waited, sizeof waited, " for %s%s", nm_container_age(c, age, sizeof age),
                       position > 0 ? "," : "");
    if (position > 0)
        (void)snprintf(at, sizeof at, " at position %llu", (unsigned long long)position);
    print_message(n, c, again, "queued%s%s%s%s", waited, at, *why ? ": " : "", why);
    n->reported_waiting = true;
}

static void print_paused(struct nm_progress *n, const json_t *c, bool again)
{
    uint64_t deadline = nm_json_u64(c, "pause_deadline_usec"), now = nm_realtime_usec();
    uint64_t since = nm_json_u64(c, "paused_usec");
    char left[32], passed[32], so_far[64] = "", end[96] = "";

    nm_format_duration(nm_sub_u64(deadline, now), left, sizeof left);
    if (again && since > 0)
        (void)snprintf(so_far, sizeof so_far, ", for %s so far",
                       nm_format_duration(nm_sub_u64(now, since), passed, sizeof passed));
    if (deadline > now)
        (void)snprintf(end, sizeof end, "; will be %s if still paused in %s",
                       nm_container_is_guaranteed(c) ? "resumed" : "killed", left);
    print_message(n, c, again, "paused%s%s; 'nmctl explain %s' shows why", so_far, end, nm_json_str(c, "id"));
}

/* Prints a state of the container other than queued and paused. nmctl prints such states only for commands that wait
 * for the container and do not show its output. */
static void print_state(struct nm_progress *n, const json_t *c, bool again)
{
    const char *state = nm_json_str(c, "state"), *progress = nm_json_str(c, "progress");
    char age[32];

    if (nm_streq(state, "RUNNING"))
        print_message(n, c, again, "RUNNING, for %s so far", nm_container_age(c, age, sizeof age));
    else if (nm_streq(state, "KILLING"))
        print_message(n, c, again, "being killed, and has not ended yet");
    else
        print_message(n, c, again, "%s%s%s", nm_container_state_word(state), *progress ? ": " : "", progress);
}

/* Prints that the container has started or resumed, but only if a message about its wait or pause was printed before.
 * Returns whether a message was printed. */
static bool print_continuation(struct nm_progress *n, const json_t *c)
{
    uint64_t submitted = nm_json_u64(c, "submitted_usec"), started = nm_json_u64(c, "started_usec");
    bool starts = !n->started && n->reported_waiting && started > submitted, resumes = n->paused && !is_paused(c);
    char waited[32];

    if (starts)
        nm_message("started after %s", nm_format_duration(started - submitted, waited, sizeof waited));
    else if (resumes && nm_streq(nm_json_str(c, "state"), "RUNNING"))
        nm_message("resumed");
    else
        return false;
    return true;
}

/* Prints what has changed since the last message, or that the container still waits in the same state. */
static void print_progress(struct nm_progress *n, struct nm_ctl *ctl, const json_t *c)
{
    bool queued = is_queued(c) && !n->started, paused = is_paused(c), live, changed, again, reported;
    const char *state = nm_json_str(c, "state");
    bool ended = nm_streq(state, "COMPLETED"); /* another message reports how the container ended */
    uint64_t now = nm_now_usec();
    char of[sizeof n->printed_state];

    /* A container without a reason is new, and no round has processed it yet. The first round starts most
     * containers. */
    if (queued && !*nm_json_str(c, "hold") && now < nm_add_u64(n->begun_usec, NO_REASON_USEC))
        return;
    reported = !queued && print_continuation(n, c);
    n->started = n->started || (!queued && *state && !nm_streq(state, "LOCALIZING"));
    (void)snprintf(of, sizeof of, "%s %s %llu", paused ? "PAUSED" : state, nm_json_str(c, "hold"),
                   (unsigned long long)nm_json_u64(c, "queue_position"));
    changed = !nm_streq(of, n->printed_state);
    live = (queued || n->waits) && nm_message_can_rewrite();
    again = live || (!changed && (queued || n->waits) &&
                     now >= nm_add_u64(n->printed_usec, queued ? REPEAT_QUEUED_USEC : REPEAT_USEC));
    if (queued && (changed || again))
        print_queued(n, ctl, c, again);
    else if (paused && (n->waits ? changed || again : !n->paused))
        print_paused(n, c, again);
    else if (!queued && !paused && !ended && n->waits && (again || (changed && !reported)))
        print_state(n, c, again);
    n->paused = paused;
    if (changed || again) {
        n->printed_usec = now;
        (void)snprintf(n->printed_state, sizeof n->printed_state, "%s", of);
    }
}

/* Sets the time of the next query. A script that reads the stderr of `run` gets the reason why the container waits.
 * While the container runs, no query is sent for such a script. */
static void plan(struct nm_progress *n)
{
    uint64_t now = nm_now_usec();

    if (!n->started || n->silent)
        n->next_usec = now + QUEUED_PERIOD_USEC;
    else
        n->next_usec = n->tty || n->waits ? now + RUNNING_PERIOD_USEC : UINT64_MAX;
}

void nm_progress_done(void)
{
    nm_message_erase();
}

/* Initializes the messages. Without a terminal, messages about pauses are omitted, because a log file should contain
 * the wait and the end, but not each pause. */
void nm_progress_init(struct nm_progress *n, bool waits)
{
    *n = (struct nm_progress){
        .waits = waits,
        .tty = isatty(STDERR_FILENO),
        .begun_usec = nm_now_usec(),
        .next_usec = nm_now_usec() + GRACE_USEC,
        .deadline_usec = UINT64_MAX,
        .answered_usec = nm_now_usec(),
    };
}

uint64_t nm_progress_next(const struct nm_progress *n)
{
    return n->next_usec;
}

/* Reports that nmd doesn't answer, because otherwise the last message would seem to be current. */
static void report_silence(struct nm_progress *n, const char *id)
{
    uint64_t now = nm_now_usec(), passed = nm_sub_u64(now, n->answered_usec);
    bool live = nm_message_can_rewrite();
    char text[32], others[32] = "";

    if ((!n->waits && (!n->reported_waiting || n->started)) || passed < SILENT_USEC ||
        (!live && n->silent && now < nm_add_u64(n->printed_usec, REPEAT_USEC)))
        return;
    n->silent = true;
    n->printed_usec = now;
    nm_format_duration(passed - passed % NM_USEC_PER_SEC, text, sizeof text);
    if (n->others > 0)
        (void)snprintf(others, sizeof others, " and %u more", n->others);
    (live ? nm_message_again : nm_message)("waiting for %s%s; nmd has not answered for %s", *n->title ? n->title : id,
                                           others,
                                           text);
}

void nm_progress_resume(struct nm_progress *n)
{
    n->silent = false;
    n->answered_usec = nm_now_usec();
}

/* Reports that nmd answers again. On a terminal the message about the current state replaces the message about nmd. */
static void report_answer(struct nm_progress *n)
{
    if (n->silent && !nm_message_can_rewrite())
        nm_message("nmd answers again");
    nm_progress_resume(n);
}

/* Queries nmd. Doesn't report a lost connection. The code that follows the streams or waits for the container's end
 * reports it. */
void nm_progress_poll(struct nm_progress *n, struct nm_ctl *ctl, const char *id)
{
    _cleanup_json_ json_t *c = NULL;
    char target[128];
    int r;

    (void)snprintf(target, sizeof target, "/v1/containers/%s", id);
    r = nm_api_try_get(ctl, target, patience(n), &c);
    if (r == -ETIMEDOUT)
        report_silence(n, id);
    else
        report_answer(n);
    if (r == 0) {
        (void)nm_container_title(c, n->title, sizeof n->title);
        print_progress(n, ctl, c);
    }
    plan(n);
}

/* Prints how the container ended, unless the command exited by its own decision. For other ends the exit status alone
 * (such as 137) is ambiguous. */
void nm_progress_end(const json_t *c)
{
    char text[512];

    if (!nm_streq(nm_json_str(c, "exit_reason"), "exited") && *nm_container_end(c, text, sizeof text))
        nm_message("%s %s", nm_json_str(c, "id"), text);
}
