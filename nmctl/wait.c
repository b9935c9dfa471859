/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See wait.h. One poll loop handles one call for each container. nmd answers the call when the container has ended. The
 * code never waits for nmd beyond the deadline, so that an nmd that hangs or is unreachable doesn't delay the result.
 */

#include "nmctl/wait.h"

#include <errno.h>
#include <poll.h>

#include "nmctl/api.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/progress.h"
#include "nmctl/message.h"
#include "util/clock.h"

/* Maximum number of calls at the same time, because nmd limits the connections of all users together to half of its
 * descriptors. When nmd answers a call, a call for the next container is opened. */
#define MAX_CALLS 64u
#define CONNECT_USEC NM_USEC_PER_SEC
#define LATE_USEC NM_USEC_PER_SEC /* total time after the deadline for querying the final states */
#define MAX_POLL_MSEC 60000

struct wait {
    struct nm_ctl *ctl;
    struct nm_wait_result *all;
    size_t n;
    uint64_t deadline_usec;
    nm_wait_end_cb_t ended_cb;
    struct nm_progress progress;
    const struct nm_wait_result *shown; /* container that the messages name */
    struct nm_reconnect reconnect;
    int status; /* NM_CTL_OK while nmd can be reached */
};

bool nm_wait_has_ended(const json_t *c)
{
    return nm_streq(nm_json_str(c, "state"), "COMPLETED");
}

/* Returns the first container whose wait isn't over, or NULL. *ret_n: number of such containers. */
static struct nm_wait_result *first_remaining(const struct wait *w, unsigned *ret_n)
{
    struct nm_wait_result *first = NULL;

    *ret_n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (!w->all[i].over) {
            first = first ? first : &w->all[i];
            ++*ret_n;
        }
    return first;
}

static void close_call(struct nm_wait_result *x)
{
    x->call = nm_client_free(x->call);
    nm_client_answer_done(&x->answer);
}

static void set_over(struct nm_wait_result *x, int status)
{
    close_call(x);
    x->over = true;
    x->status = status;
}

/* Stores the end of a container. Erases the message that is being updated before the caller prints the end. The message
 * is printed again soon. */
static void take_end(struct wait *w, struct nm_wait_result *x)
{
    set_over(x, nm_container_exit_status(x->c));
    nm_progress_done();
    w->ended_cb(w->ctl, x->c);
    w->progress.next_usec = NM_MIN(w->progress.next_usec, nm_now_usec());
}

static void lose(struct wait *w, int r)
{
    unsigned n;
    const struct nm_wait_result *first = first_remaining(w, &n);
    char unaffected[160];

    for (size_t i = 0; i < w->n; i++)
        close_call(&w->all[i]);
    (void)snprintf(unaffected, sizeof unaffected, n == 1 ? "%s is not affected" : "%s and the others are not affected",
                   nm_json_str(first->c, "id"));
    w->status = nm_reconnect_is_loss(r) ? nm_reconnect_wait(&w->reconnect, w->ctl, r,
                                                            unaffected) : nm_api_report_unreachable(w->ctl, r);
    if (w->status != NM_CTL_OK && w->reconnect.since_usec > 0)
        nm_message("%s; see 'nmctl show %s'", unaffected, nm_json_str(first->c, "id"));
}

/* Opens a call that uses the container's id, because another container may have its name by now. */
static int open_call(const struct wait *w, struct nm_wait_result *x)
{
    char target[192];
    const struct nm_client_request q = {w->ctl->socket_path, "GET", target, NULL};
    uint64_t timeout = NM_MIN(CONNECT_USEC, nm_sub_u64(w->deadline_usec, nm_now_usec()));

    (void)snprintf(target, sizeof target, "/v1/containers/%s/wait", nm_json_str(x->c, "id"));
    return nm_client_new_within(&q, timeout, nm_client_answer_gather, &x->answer, &x->call);
}

static int open_calls(struct wait *w)
{
    unsigned open = 0;

    for (size_t i = 0; i < w->n && open < MAX_CALLS; i++) {
        struct nm_wait_result *x = &w->all[i];
        int r = x->over || x->call ? 0 : open_call(w, x);

        if (r < 0)
            return r;
        open += x->call != NULL;
    }
    return 0;
}

static void on_answer(struct wait *w, struct nm_wait_result *x)
{
    json_t *ended = NULL;
    int r = nm_client_process(x->call);

    if (r == NM_CLIENT_E_DONE) {
        x->answer.status = nm_client_status(x->call);
        r = nm_client_answer_gather("", 0, &x->answer); /* an empty body must be a string too */
        if (r == 0 && x->answer.status == 503)          /* nmd is stopping */
            r = -ECONNRESET;
        if (r == 0 && x->answer.status != 200) {
            set_over(x, nm_api_report_refused(w->ctl, &x->answer));
            return;
        }
        if (r == 0) {
            w->status = nm_api_parse(w->ctl, &x->answer, &ended);
            if (w->status != NM_CTL_OK)
                return;
            json_decref(x->c);
            x->c = ended;
            take_end(w, x);
        }
    }
    if (r < 0)
        lose(w, r);
}

static void retry(struct wait *w)
{
    int r = open_calls(w);

    if (r < 0) {
        lose(w, r);
        return;
    }
    nm_reconnect_done(&w->reconnect);
    nm_progress_resume(&w->progress);
}

/* Prints messages about one container, which also contain the number of the other containers. */
static void show_progress(struct wait *w)
{
    unsigned n;
    const struct nm_wait_result *first = first_remaining(w, &n);

    if (w->ctl->args.json || !first)
        return;
    if (first != w->shown) {
        nm_progress_init(&w->progress, true);
        w->progress.deadline_usec = w->deadline_usec;
        w->shown = first;
    }
    w->progress.others = n - 1;
    if (nm_now_usec() >= nm_progress_next(&w->progress))
        nm_progress_poll(&w->progress, w->ctl, nm_json_str(first->c, "id"));
}

/* Runs timed actions that are due. */
static void run_timers(struct wait *w)
{
    int r;

    if (w->reconnect.since_usec > 0) {
        if (nm_now_usec() >= w->reconnect.retry_usec)
            retry(w);
        return;
    }
    r = open_calls(w);
    if (r < 0)
        lose(w, r);
    else
        show_progress(w);
}

/* Returns the time until the next timed action. Rounds up, so that the loop doesn't spin in the last millisecond. */
static int timeout_msec(const struct wait *w)
{
    uint64_t now = nm_now_usec(), at = w->deadline_usec;

    if (w->reconnect.since_usec > 0)
        at = NM_MIN(at, w->reconnect.retry_usec);
    else if (!w->ctl->args.json)
        at = NM_MIN(at, nm_progress_next(&w->progress));
    return at <= now ? 0 : (int)NM_MIN((at - now) / NM_USEC_PER_MSEC + 1, (uint64_t)MAX_POLL_MSEC);
}

static void round_of(struct wait *w)
{
    struct nm_wait_result *of[MAX_CALLS];
    struct pollfd p[MAX_CALLS];
    unsigned n = 0;

    run_timers(w);
    for (size_t i = 0; i < w->n && n < MAX_CALLS; i++)
        if (w->all[i].call) {
            p[n] = (struct pollfd){nm_client_fd(w->all[i].call), nm_client_events(w->all[i].call), 0};
            of[n++] = &w->all[i];
        }
    if (w->status != NM_CTL_OK || poll(p, n, timeout_msec(w)) <= 0)
        return;
    /* An error closes all calls. */
    for (unsigned i = 0; i < n && w->status == NM_CTL_OK; i++)
        if (p[i].revents && of[i]->call)
            on_answer(w, of[i]);
}

/* Reports the timeout. fresh: the state comes from an answer that nmd has just sent. */
static void print_timed_out(const struct nm_wait_result *x, bool fresh)
{
    const char *id = nm_json_str(x->c, "id");
    char title[160], state[64];

    nm_message("%s has not ended in time%s: it %s %s%s. 'nmctl explain %s' shows why, 'nmctl kill %s' ends it",
               nm_container_title(x->c, title, sizeof title), fresh ? "" : ", as far as nmctl knows", fresh ? "is"
                   : "was",
               nm_container_display_state(x->c, state, sizeof state),
               fresh ? ", and continues" : " when nmd answered last", id, id);
}

/* Queries the final states of the remaining containers, unless nmd is unreachable or doesn't answer. The message that
 * was being updated remains until the next message is printed. */
static void give_up(struct wait *w)
{
    uint64_t until = nm_now_usec() + LATE_USEC;
    bool there = w->reconnect.since_usec == 0 && !w->progress.silent;

    for (size_t i = 0; i < w->n; i++) {
        struct nm_wait_result *x = &w->all[i];
        uint64_t left = nm_sub_u64(until, nm_now_usec());
        json_t *now = NULL;
        char target[192];

        if (x->over)
            continue;
        (void)snprintf(target, sizeof target, "/v1/containers/%s", nm_json_str(x->c, "id"));
        if (there && left > 0 && nm_api_try_get(w->ctl, target, left, &now) == 0) {
            json_decref(x->c);
            x->c = now;
        }
        if (nm_wait_has_ended(x->c)) {
            take_end(w, x);
            continue;
        }
        set_over(x, NM_CTL_TIMED_OUT);
        print_timed_out(x, now);
    }
}

void nm_wait_for_ends(struct nm_ctl *ctl, struct nm_wait_result *all, size_t n, uint64_t deadline_usec,
                      nm_wait_end_cb_t ended_cb)
{
    struct wait w = {.ctl = ctl, .all = all, .n = n, .deadline_usec = deadline_usec, .ended_cb = ended_cb,
                     .status = NM_CTL_OK};
    unsigned left;

    while (first_remaining(&w, &left) && w.status == NM_CTL_OK && nm_now_usec() < deadline_usec)
        round_of(&w);
    if (w.status == NM_CTL_OK)
        give_up(&w);
    for (size_t i = 0; i < n; i++)
        if (!all[i].over)
            set_over(&all[i], w.status);
    nm_progress_done();
}

static void print_no_end(struct nm_ctl *ctl, const json_t *ended)
{
    (void)ctl;
    (void)ended;
}

int nm_wait_for_end(struct nm_ctl *ctl, json_t *c, json_t **ret)
{
    struct nm_wait_result x = {.c = json_incref(c)};
    bool ended = nm_wait_has_ended(c);

    if (!ended) {
        nm_wait_for_ends(ctl, &x, 1, UINT64_MAX, print_no_end);
        ended = nm_wait_has_ended(x.c);
    }
    if (!ended) {
        json_decref(x.c);
        return x.status;
    }
    *ret = x.c;
    return NM_CTL_OK;
}
