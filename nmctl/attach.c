/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See attach.h. One poll loop handles up to three calls (stdout, stderr, the container's end) and two output
 * descriptors. A stream is read only while its buffer is empty, and the buffer is written only as far as poll()
 * guarantees that write() doesn't block. A slow reader therefore delays only its own stream, and Ctrl-C always works.
 *
 * A container outlives nmd. If nmd becomes unreachable, for instance during an upgrade, the loop waits until nmd can be
 * reached again and continues to follow the logs at the same position.
 */

#include "nmctl/attach.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "nmctl/api.h"
#include "nmctl/json.h"
#include "nmctl/progress.h"
#include "nmctl/message.h"
#include "util/clock.h"
#include "util/error.h"

#define BUFFER_SIZE 16384 /* at least the number of bytes that one nm_client_process() reads */
#define DRAIN_USEC (10 * NM_USEC_PER_SEC)    /* maximum time without data after the container's end */
#define KILL_TIMEOUT_USEC (5 * NM_USEC_PER_SEC)
#define NEVER UINT64_MAX

struct stream {
    const char *name;
    bool wanted, ended, stamped;
    int out_fd;             /* -EBADF: the reader has closed the output, and further output is discarded */
    struct nm_client *call;
    uint64_t position;      /* position in the output after the received bytes; NM_CTL_UNSET: unknown */
    bool located;           /* the call's answer has begun, so its position was taken */
    bool in_line;           /* output of the current line was received */
    size_t stamp_len;       /* received bytes of the time before the current line; the time isn't part of the output */
    size_t repeated;        /* bytes at the beginning of the call's answer that an earlier call has received */
    char buf[BUFFER_SIZE];
    size_t len, at;
    struct nm_client_answer refusal;
};

struct attach {
    struct nm_ctl *ctl;
    const struct nm_attach_params *p;
    struct stream streams[2];
    struct nm_client *end_call;
    struct nm_client_answer end_answer;
    json_t *container;      /* the ended container */
    struct nm_progress progress;
    int n_signals, signal;
    bool was_connected, kill_sent, until, until_over;
    struct nm_reconnect reconnect;
    uint64_t progress_usec; /* time of the last data or of the end */
    int status;             /* NM_CTL_OK until an error occurs */
};

#define STAMP_BYTES 25 /* "2026-11-24T18:17:55.123Z " */

/* Counts the bytes of output without the times that nmd adds to lines, because positions in a log don't count these
 * times. */
static void count(struct stream *s, const char *data, size_t n)
{
    while (n > 0) {
        size_t stamp = s->stamped && !s->in_line ? NM_MIN(n, STAMP_BYTES - s->stamp_len) : 0, k;
        const char *end = memchr(data + stamp, '\n', n - stamp);

        s->stamp_len += stamp;
        k = end ? (size_t)(end - data) - stamp + 1 : n - stamp;
        if (s->position != NM_CTL_UNSET)
            s->position += k;
        s->in_line = k > 0 && !end;
        if (end)
            s->stamp_len = 0;
        data += stamp + k;
        n -= stamp + k;
    }
}

/* Takes the position at which the call's answer begins. It differs from the requested position if the log was cut, or
 * if the call requested the newest lines. The answer then begins with a whole line. */
static void locate(struct stream *s)
{
    uint64_t position;

    if (s->located || nm_client_status(s->call) != 200)
        return;
    s->located = true;
    if (nm_client_log_position(s->call, &position) < 0 || position == s->position)
        return;
    s->position = position;
    s->in_line = false;
    s->stamp_len = s->repeated = 0;
}

/* Receives the body of a log answer. The body of an error answer is kept for the message. */
static int take_output(const char *data, size_t n, void *userdata)
{
    struct stream *s = userdata;
    size_t repeated;

    if (nm_client_status(s->call) != 200)
        return nm_client_answer_gather(data, n, &s->refusal);
    if (n > sizeof s->buf - s->len)
        return -E2BIG;
    locate(s);
    count(s, data, n);
    repeated = NM_MIN(n, s->repeated);
    memcpy(s->buf + s->len, data + repeated, n - repeated);
    s->len += n - repeated;
    s->repeated -= repeated;
    return 0;
}

static void close_stream(struct stream *s)
{
    if (s->call)
        locate(s);
    s->call = nm_client_free(s->call);
}

/* Prepares the counts for a further call. nmd repeats the whole time of a line of which no output was received. */
static void rewind_stamp(struct stream *s)
{
    if (s->in_line)
        return;
    s->repeated += s->stamp_len;
    s->stamp_len = 0;
}

/* Requests the log. After a reconnect requests it from the position that the previous call has reached. */
static int open_stream(struct attach *a, struct stream *s)
{
    char target[320], tail[48] = "", from[48] = "", since[48] = "";
    const struct nm_client_request q = {a->ctl->socket_path, "GET", target, NULL};

    assert(!s->call && !s->ended);
    s->located = false;
    rewind_stamp(s);
    if (s->position != NM_CTL_UNSET) {
        if (s->position > 0)
            (void)snprintf(from, sizeof from, "&from=%" PRIu64, s->position);
    } else {
        if (a->p->tail != NM_CTL_UNSET)
            (void)snprintf(tail, sizeof tail, "&tail=%" PRIu64, a->p->tail);
        if (a->p->since_usec > 0)
            (void)snprintf(since, sizeof since, "&since_usec=%" PRIu64, a->p->since_usec);
    }
    (void)snprintf(target, sizeof target, "/v1/containers/%s/logs?stream=%s%s%s%s%s%s", a->p->id, s->name,
                   a->p->follow ? "&follow=true" : "", a->p->timestamps ? "&timestamps=true" : "", tail, since, from);
    return nm_client_new(&q, take_output, s, &s->call);
}

/* Closes all calls. The streams keep their positions, which open_stream() uses. */
static void close_calls(struct attach *a)
{
    for (int i = 0; i < 2; i++)
        close_stream(&a->streams[i]);
    a->end_call = nm_client_free(a->end_call);
    nm_client_answer_done(&a->end_answer);
}

/* Opens the calls that are still needed. After an error lose() closes the calls that were opened. */
static int open_calls(struct attach *a)
{
    char target[256];
    const struct nm_client_request q = {a->ctl->socket_path, "GET", target, NULL};
    int r = 0;

    (void)snprintf(target, sizeof target, "/v1/containers/%s/wait", a->p->id);
    if (a->p->want_end && !a->container)
        r = nm_client_new(&q, nm_client_answer_gather, &a->end_answer, &a->end_call);
    for (int i = 0; i < 2 && r == 0; i++)
        if (a->streams[i].wanted && !a->streams[i].ended)
            r = open_stream(a, &a->streams[i]);
    return r;
}

/* Returns whether the log can be continued after the connection was lost. If the position isn't known, for instance of
 * the newest lines of a log, output would be repeated or omitted. */
static bool may_return(const struct attach *a, int r)
{
    bool known = true;

    for (int i = 0; i < 2; i++)
        known = known && (!a->streams[i].wanted || a->streams[i].position != NM_CTL_UNSET);
    return a->was_connected && a->p->follow && known && nm_reconnect_is_loss(r);
}

/* Handles a failed or lost connection to nmd. */
static void lose(struct attach *a, int r)
{
    char unaffected[160];

    close_calls(a);
    /* nmd ends the streams when it stops normally. Therefore the end of a stream means the end of the log only if the
     * container has ended. */
    for (int i = 0; i < 2 && !a->container; i++)
        a->streams[i].ended = false;
    if (!may_return(a, r) || a->n_signals > 0) {
        a->status = nm_api_report_unreachable(a->ctl, r);
        if (a->n_signals > 0)
            nm_message("%s could not be killed and may continue", a->p->id);
        return;
    }
    (void)snprintf(unaffected, sizeof unaffected, "%s is not affected", a->p->id);
    a->status = nm_reconnect_wait(&a->reconnect, a->ctl, r, unaffected);
    if (a->status != NM_CTL_OK)
        nm_message("%s; see 'nmctl show %s' and 'nmctl logs %s'", unaffected, a->p->id, a->p->id);
}

/* ---- killing --------------------------------------------------------------------------------- */

/* Sends a kill request, with a short timeout and without retries, because the user is waiting and can press Ctrl-C
 * again. */
static void send_kill(struct attach *a, bool now)
{
    _cleanup_(nm_client_answer_done) struct nm_client_answer answer = {0};
    char target[256];
    const struct nm_client_request q = {a->ctl->socket_path, "POST", target,
                                        now ? "{\"now\":true}" : "{\"now\":false}"};
    int r;

    (void)snprintf(target, sizeof target, "/v1/containers/%s/kill", a->p->id);
    r = nm_client_fetch(&q, KILL_TIMEOUT_USEC, &answer);
    if (r < 0)
        lose(a, r);
    else if (answer.status >= 300 && answer.status != 409) /* 409: the container has just ended */
        (void)nm_api_report_refused(a->ctl, &answer);
    /* An nmd that is stopping answers 503. Send the kill again later; a second kill is harmless. */
    a->kill_sent = r >= 0 && answer.status != 503;
}

/* Returns whether the reader of the container's output has closed it. Only for containers that nmctl started. */
static bool reader_is_gone(const struct attach *a)
{
    return a->p->signal_fd >= 0 && (a->streams[0].out_fd < 0 || a->streams[1].out_fd < 0);
}

/* Reopens the calls. A successful connect means that nmd can be reached again. If the new connection is lost too,
 * lose() waits again. */
static void retry(struct attach *a)
{
    int r = open_calls(a);

    if (r < 0) {
        lose(a, r);
        return;
    }
    nm_reconnect_done(&a->reconnect);
    nm_progress_resume(&a->progress);
    if (!a->kill_sent && reader_is_gone(a))
        send_kill(a, false);
}

/* Handles a signal in three steps: the first signal asks the container to end, the second signal kills the container,
 * and the third signal ends nmctl. */
static void on_signal(struct attach *a, int signal)
{
    a->signal = signal;
    a->n_signals++;
    if (a->n_signals == 1) {
        nm_message("%s: killing %s (repeat to kill at once)", signal == SIGINT ? "Ctrl-C" : strsignal(signal),
                   a->p->id);
        send_kill(a, false);
    } else if (a->n_signals == 2) {
        nm_message("killing %s at once", a->p->id);
        send_kill(a, true);
    } else {
        nm_message("exiting; %s is being killed", a->p->id);
        a->status = 128 + signal;
    }
}

/* Reads a signal from the signalfd, so that signals are handled in the poll loop and don't interrupt calls. */
static void read_signal(struct attach *a)
{
    struct signalfd_siginfo info;

    if (read(a->p->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        on_signal(a, (int)info.ssi_signo);
}

/* ---- handling of one descriptor that is ready ------------------------------------------------ */

/* Handles log data. Reports a log that can't be read, for instance because it belongs to another user. Continues with
 * the other log, if there is one. */
static void on_stream(struct attach *a, struct stream *s)
{
    int r = nm_client_process(s->call);

    if (r == 0 || r == NM_CLIENT_E_DONE)
        a->progress_usec = nm_now_usec();
    if (r < 0) {
        lose(a, r);
    } else if (r == NM_CLIENT_E_DONE) {
        s->ended = true;
        if (nm_client_status(s->call) != 200) {
            s->refusal.status = nm_client_status(s->call);
            (void)nm_client_answer_gather("", 0, &s->refusal);
            (void)nm_api_report_refused(a->ctl, &s->refusal);
            if (a->p->signal_fd < 0)
                a->status = NM_CTL_FAILED;
        }
        close_stream(s);
    }
}

/* Handles the answer of the wait call: the ended container, or the reason why the container can't be waited for. */
static void on_end(struct attach *a)
{
    int r = nm_client_process(a->end_call);

    if (r < 0)
        lose(a, r);
    if (r != NM_CLIENT_E_DONE)
        return;
    a->end_answer.status = nm_client_status(a->end_call);
    if (a->end_answer.status == 503) { /* nmd is stopping */
        lose(a, -ECONNRESET);
        return;
    }
    if (a->end_answer.status == 200)
        a->status = nm_api_parse(a->ctl, &a->end_answer, &a->container);
    else {
        (void)nm_client_answer_gather("", 0, &a->end_answer);
        a->status = nm_api_report_refused(a->ctl, &a->end_answer);
    }
    a->end_call = nm_client_free(a->end_call);
    a->progress_usec = nm_now_usec();
}

static void on_writable(struct attach *a, struct stream *s)
{
    ssize_t n;

    nm_progress_done(); /* erase the message first, otherwise it would erase lines of the output */
    /* A pipe that polls writable accepts PIPE_BUF bytes without blocking. */
    n = write(s->out_fd, s->buf + s->at, NM_MIN(s->len - s->at, (size_t)PIPE_BUF));
    if (n >= 0) {
        s->at += (size_t)n;
    } else if (errno != EINTR && errno != EAGAIN) {
        bool closed = errno == EPIPE;

        if (!closed)
            nm_message("can't write to %s: %s", s->name, strerror(errno));
        s->out_fd = -EBADF;
        s->at = s->len;
        if (a->p->signal_fd < 0)
            a->status = closed ? 128 + SIGPIPE : NM_CTL_FAILED;
        else if (!a->kill_sent) {
            /* The reader has closed the output: end the container, as a closed pipe in a shell ends a command. */
            nm_message("%s is closed: killing %s", s->name, a->p->id);
            send_kill(a, false);
        }
    }
    if (s->at == s->len)
        s->at = s->len = 0;
}

/* Handles the terminal connection when it becomes readable. The connection ends without data if the command couldn't be
 * executed. It also ends without data if nmd was restarted while the container was queued, because the new nmd doesn't
 * have the connection. */
static void on_until(struct attach *a)
{
    char first;
    ssize_t n = recv(a->p->until_fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    int r = 0;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    a->until = n > 0 && !a->container;
    a->until_over = true;
    for (int i = 0; i < 2 && !a->until && r == 0; i++) {
        a->streams[i].wanted = true;
        if (a->reconnect.since_usec == 0)
            r = open_stream(a, &a->streams[i]);
    }
    if (r < 0)
        lose(a, r);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Returns whether a stream is still open or has data that hasn't been written. A slow reader still gets the remaining
 * data. */
static bool stream_is_open(const struct stream *s)
{
    return s->wanted && (!s->ended || s->len > 0);
}

static bool is_finished(const struct attach *a)
{
    bool output = stream_is_open(&a->streams[0]) || stream_is_open(&a->streams[1]);

    if (a->status != NM_CTL_OK || a->until)
        return true;
    if (a->p->want_end && !a->container)
        return false;
    /* After the container's end, reading the remaining output has a time limit, so that a stream without an end can't
     * block nmctl forever. */
    return !output || (a->p->want_end && nm_now_usec() - a->progress_usec > DRAIN_USEC);
}

/* Returns the time until the next timed action. Rounds up, so that the loop doesn't spin in the last millisecond. */
static int timeout_msec(const struct attach *a)
{
    uint64_t now = nm_now_usec(), at = a->p->show_progress ? nm_progress_next(&a->progress) : NEVER;

    if (a->reconnect.since_usec > 0)
        at = a->reconnect.retry_usec;
    if (a->container)
        at = NM_MIN(at, a->progress_usec + DRAIN_USEC + NM_USEC_PER_MSEC);
    if (at == NEVER)
        return -1;
    return at <= now ? 0 : (int)NM_MIN((at - now) / NM_USEC_PER_MSEC + 1, (uint64_t)60000);
}

/* Runs timed actions that are due. */
static void run_timers(struct attach *a)
{
    if (a->reconnect.since_usec > 0) {
        if (nm_now_usec() >= a->reconnect.retry_usec)
            retry(a);
    } else if (a->p->show_progress && !a->container && nm_now_usec() >= nm_progress_next(&a->progress))
        nm_progress_poll(&a->progress, a->ctl, a->p->id);
}

/* Runs one iteration of the loop. poll() ignores a descriptor of -1. This value is used for reading a stream while its
 * buffer is full, and for writing while its buffer is empty. */
static void round_of(struct attach *a)
{
    enum { SIGNAL, UNTIL, END, STREAM, N = STREAM + 2 };
    struct pollfd p[N] = {[SIGNAL] = {a->p->signal_fd, POLLIN, 0},
                          [UNTIL] = {a->p->until_fd > 0 && !a->until_over ? a->p->until_fd : -1, POLLIN, 0},
                          [END] = {-1, 0, 0}};

    if (a->end_call)
        p[END] = (struct pollfd){nm_client_fd(a->end_call), nm_client_events(a->end_call), 0};
    for (int i = 0; i < 2; i++) {
        struct stream *s = &a->streams[i];

        p[STREAM + i].fd = -1;
        if (s->len > 0)
            p[STREAM + i] = (struct pollfd){s->out_fd, POLLOUT, 0};
        else if (s->call)
            p[STREAM + i] = (struct pollfd){nm_client_fd(s->call), nm_client_events(s->call), 0};
    }
    if (poll(p, N, timeout_msec(a)) <= 0)
        return run_timers(a);
    for (int i = 0; i < 2 && a->status == NM_CTL_OK; i++) {
        struct stream *s = &a->streams[i];

        if (!p[STREAM + i].revents)
            continue;
        if (s->len > 0)
            on_writable(a, s);
        else if (s->call)
            on_stream(a, s);
        if (s->out_fd < 0)
            s->at = s->len = 0;
    }
    if (p[END].revents && a->end_call)
        on_end(a);
    if (p[SIGNAL].revents && a->status == NM_CTL_OK)
        read_signal(a);
    if (p[UNTIL].revents && a->status == NM_CTL_OK)
        on_until(a);
    if (!a->until)
        run_timers(a);
}

/* Allocates the struct on the heap, because its buffers are large. When nmctl exits, the container keeps running,
 * unless nmctl received a signal or its stdout was closed. */
int nm_attach_run(struct nm_ctl *ctl, const struct nm_attach_params *p,
                  struct nm_attach_result *ret)
{
    struct attach *a = calloc(1, sizeof *a);
    int r, status;

    if (!a)
        nm_message_oom();
    a->ctl = ctl;
    a->p = p;
    a->status = NM_CTL_OK;
    a->streams[0] =
        (struct stream){.name = "stdout", .wanted = p->want_stdout, .out_fd = STDOUT_FILENO};
    a->streams[1] =
        (struct stream){.name = "stderr", .wanted = p->want_stderr, .out_fd = STDERR_FILENO};
    for (int i = 0; i < 2; i++) {
        a->streams[i].position = p->tail == NM_CTL_UNSET && p->since_usec == 0 ? 0 : NM_CTL_UNSET;
        a->streams[i].stamped = p->timestamps;
    }
    a->progress_usec = nm_now_usec();
    /* nmd was reachable a moment ago, because it created the container. */
    a->was_connected = p->want_end;
    if (p->show_progress)
        nm_progress_init(&a->progress, false);
    r = open_calls(a);
    if (r < 0)
        lose(a, r);
    else
        a->was_connected = true;
    if (p->signal && a->status == NM_CTL_OK)
        on_signal(a, p->signal);
    while (!is_finished(a))
        round_of(a);
    nm_progress_done();
    close_calls(a);
    for (int i = 0; i < 2; i++)
        nm_client_answer_done(&a->streams[i].refusal);
    status = a->status;
    *ret = (struct nm_attach_result){.container = a->container, .signal = a->signal, .until = a->until};
    free(a);
    return status;
}
