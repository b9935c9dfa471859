/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The shim of a session: another command in a running container (nmctl exec). The shim is created in the container's
 * cgroup, so the session is accounted, frozen and killed with the container. The command gets the container's user,
 * directory, namespaces and environment.
 *
 * nmd hands the client's connection to this shim, and client and shim communicate directly (util/frame.h). The data
 * does not pass through nmd's event loop, a restart of nmd does not affect the session, and the session's memory (three
 * buffers of a frame's size) is charged to the container. The client's descriptors are not passed instead, since a
 * user's process must not get an administrator's terminal.
 *
 * The session ends with its command, as a container does: background processes of the command continue in the
 * container, but their output is no longer read. If the connection ends first, the command receives SIGHUP, as from a
 * terminal that was hung up, and is killed if it does not end.
 */

#include "shim/shim-internal.h"

#include <assert.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "util/clock.h"
#include "util/frame.h"

#define HANG_UP_USEC (5 * NM_USEC_PER_SEC) /* time from SIGHUP to SIGKILL */
/* Data written to a terminal becomes readable a moment later, and its amount cannot be queried. */
#define LINGER_USEC (100 * NM_USEC_PER_MSEC)
#define TERMINAL_REST ((size_t)64 << 10)

static struct {
    pid_t pid; /* pid of the command; 0: the command has been reaped */
    int client;            /* connection of the client; -EBADF: the client has disconnected */
    int input;             /* destination of input; -EBADF: the command reads no input (any more) */
    int output[2];         /* sources of output; -EBADF: the output has ended */
    bool is_terminal;
    size_t left[2];        /* bytes still to be read after the command's end */
    uint64_t rest_usec;    /* time until which a terminal's rest is read */
    uint64_t hung_up_usec; /* time of the SIGKILL; 0: no SIGKILL is due */
    bool ack_pending;
    size_t sent, put;      /* bytes written of `out` and `pending` */
    /* frames: received from the client; waiting for the command; waiting for the client */
    struct nm_frame in, pending, out;
    struct nm_frame_end end;
} s = {.client = NM_SHIM_FD_CLIENT, .input = -EBADF, .output = {-EBADF, -EBADF}};

static void drop_input(void)
{
    s.pending.len = 0;
    if (!s.is_terminal) /* a terminal's descriptor is also used for output */
        (void)nm_close(s.input);
    s.input = -EBADF;
}

static void close_terminal(void)
{
    s.client = nm_close(s.client);
    s.out.len = 0;
    drop_input();
    if (s.is_terminal) /* the kernel then sends SIGHUP to the terminal's processes */
        s.output[0] = nm_close(s.output[0]);
    if (s.pid == 0)
        return;
    (void)kill(-s.pid, SIGHUP);
    s.hung_up_usec = nm_now_usec() + HANG_UP_USEC;
}

/* ---- data to the client ----------------------------------------------------------------------- */

static void flush(void)
{
    ssize_t n;

    while (s.client >= 0 && s.sent < s.out.len) {
        n = send(s.client, s.out.data + s.sent, s.out.len - s.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            s.sent += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR)
            close_terminal();
    }
    s.out.len = s.sent = 0;
    if (!s.ack_pending || s.client < 0)
        return;
    s.ack_pending = false;
    nm_frame_make(&s.out, NM_FRAME_TAKEN, 0);
    flush();
}

static bool may_send(void)
{
    return s.out.len == 0;
}

/* ---- data to the command ---------------------------------------------------------------------- */

static void put_pending(void)
{
    while (s.input >= 0 && s.put < nm_frame_size(&s.pending)) {
        ssize_t n = write(s.input, nm_frame_body(&s.pending) + s.put, nm_frame_size(&s.pending) - s.put);

        if (n > 0)
            s.put += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR)
            drop_input(); /* no process reads the input any more: further input is read and dropped */
    }
    s.pending.len = s.put = 0;
    s.ack_pending = true;
    if (may_send())
        flush();
}

static int take_input(void)
{
    if (s.pending.len > 0)
        return -EBADMSG; /* the client must not send more yet */
    if (nm_frame_size(&s.in) == 0) {
        drop_input();
        return 0;
    }
    s.pending = s.in;
    s.put = 0;
    put_pending();
    return 0;
}

static int take_signal(void)
{
    int signal = nm_frame_body(&s.in)[0];

    if (nm_frame_size(&s.in) != 1 || signal < 1 || signal > 31)
        return -EBADMSG;
    if (s.pid > 0)
        (void)kill(-s.pid, signal);
    return 0;
}

static int take_size(void)
{
    uint16_t rows, columns;
    int r = nm_frame_parse_size(&s.in, &rows, &columns);

    if (r == 0 && s.is_terminal && s.output[0] >= 0)
        nm_shim_terminal_resize(s.output[0], rows, columns);
    return r;
}

static int take_frame(void)
{
    switch (nm_frame_type(&s.in)) {
    case NM_FRAME_INPUT:
        return take_input();
    case NM_FRAME_SIGNAL:
        return take_signal();
    case NM_FRAME_SIZE:
        return take_size();
    default:
        return -EBADMSG;
    }
}

/* Reads the client's frames. An invalid frame ends the connection. */
static void read_client(void)
{
    ssize_t n = recv(s.client, s.in.data + s.in.len, nm_frame_missing_bytes(&s.in), MSG_DONTWAIT);
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    r = n > 0 ? nm_frame_received(&s.in, (size_t)n) : -EPIPE;
    if (r == NM_FRAME_E_WHOLE) {
        r = take_frame();
        s.in.len = 0;
    }
    if (r < 0)
        close_terminal();
}

/* ---- data from the command -------------------------------------------------------------------- */

static void end_output(int i)
{
    s.output[i] = nm_close(s.output[i]);
    if (s.is_terminal)
        s.input = -EBADF;
}

/* Copies up to a frame of output if there is room. Without a client the output is read and dropped, so that no writer
 * blocks. */
static void pass_on(int i)
{
    size_t max = s.pid == 0 ? NM_MIN(s.left[i], (size_t)NM_FRAME_MAX) : NM_FRAME_MAX;
    ssize_t n = read(s.output[i], s.out.data + NM_FRAME_HEAD, max);

    assert(may_send() && max > 0);
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && (s.pid > 0 || s.is_terminal))))
        return;
    if (n <= 0) { /* EIO: no process has the terminal open */
        end_output(i);
        return;
    }
    if (s.pid == 0 && (s.left[i] -= (size_t)n) == 0)
        end_output(i);
    if (s.client < 0)
        return;
    nm_frame_make(&s.out, i == 0 ? NM_FRAME_STDOUT : NM_FRAME_STDERR, (size_t)n);
    flush();
}

/* Limits the output that is still read after the command's end, because remaining processes may write forever. */
static void begin_rest(void)
{
    s.rest_usec = nm_now_usec() + LINGER_USEC;
    for (int i = 0; i < 2; i++) {
        int left = 0;

        if (s.output[i] >= 0 && !s.is_terminal)
            (void)ioctl(s.output[i], FIONREAD, &left);
        s.left[i] = s.is_terminal ? TERMINAL_REST : (size_t)left;
        if (s.output[i] >= 0 && s.left[i] == 0)
            end_output(i);
    }
}

static int read_child_events(int fd)
{
    struct rusage usage;
    int status, r;

    nm_shim_children_drain(fd);
    if (s.pid == 0)
        return 0;
    r = nm_shim_reap(s.pid, &status, &usage);
    if (r <= 0)
        return r;
    s.end.code = WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0;
    s.end.signal = WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0;
    s.pid = 0;
    drop_input();
    begin_rest();
    return 0;
}

/* ---- start, loop, end ------------------------------------------------------------------------- */

/* Waits for a slow client as long as it is connected. */
static _Noreturn void end(void)
{
    while (s.client >= 0 && s.out.len > 0) {
        struct pollfd p = {.fd = s.client, .events = POLLOUT};

        (void)poll(&p, 1, -1);
        flush();
    }
    if (s.client >= 0) {
        const uint8_t body[NM_FRAME_END_SIZE] = {s.end.stage, s.end.code, s.end.signal, s.end.error};

        nm_frame_make(&s.out, NM_FRAME_END, sizeof body);
        memcpy(s.out.data + NM_FRAME_HEAD, body, sizeof body);
        flush(); /* a small amount of data fits into an empty socket */
    }
    _exit(0);
}

static _Noreturn void end_failed(int stage, int error)
{
    s.end = (struct nm_frame_end){.stage = (uint8_t)stage, .error = (uint8_t)(error < 0 ? -error : error)};
    end();
}

static int open_stdio(const struct nm_shim_spec *spec, int ret[3])
{
    const struct nm_shim_session *session = &spec->options.session;
    int r = 0;

    s.is_terminal = spec->options.rows > 0;
    if (s.is_terminal) {
        r = nm_shim_terminal_open(spec, &s.output[0], &ret[0]);
        ret[1] = ret[2] = ret[0];
        s.input = session->input ? s.output[0] : -EBADF;
        return r;
    }
    if (session->input)
        r = nm_shim_pipe_open(spec, 1, &s.input, &ret[0]);
    for (int i = 0; i < 2 && r == 0; i++)
        r = nm_shim_pipe_open(spec, 0, &s.output[i], &ret[1 + i]);
    return r;
}

static void start_command(struct nm_shim_spec *spec)
{
    int namespaces[NM_SHIM_N_NAMESPACES], failed, error;
    struct nm_shim_stdio io = {.fd = {-EBADF, -EBADF, -EBADF}};
    int r = nm_shim_namespaces_find(spec->options.session.shim_pid, NM_SHIM_FD_OWNER, namespaces);

    if (r == 0)
        io.namespaces = namespaces;
    else if (r != -ENOENT) /* -ENOENT: the container shares the host's namespaces, or has an older shim; then the
                              session gets new namespaces */
        end_failed(NM_LAUNCH_STAGE_CONFINE, r);
    if (spec->account.error > 0)
        end_failed(NM_LAUNCH_STAGE_USER, spec->account.error);
    r = open_stdio(spec, io.fd);
    if (r < 0)
        end_failed(NM_LAUNCH_STAGE_LOGS, r);
    io.is_terminal = s.is_terminal;
    failed = nm_shim_start(spec, &io, &s.pid, &error);
    if (failed != NM_LAUNCH_STAGE_NONE)
        end_failed(failed, error);
}

static int timeout_msec(void)
{
    uint64_t now = nm_now_usec(), at = s.pid == 0 ? s.rest_usec : s.hung_up_usec;

    if (at == 0)
        return -1;
    return at <= now ? 0 : (int)((at - now) / NM_USEC_PER_MSEC + 1);
}

static void check_deadlines(void)
{
    uint64_t now = nm_now_usec();

    if (s.pid > 0 && s.hung_up_usec > 0 && now >= s.hung_up_usec) {
        (void)kill(-s.pid, SIGKILL);
        s.hung_up_usec = now + HANG_UP_USEC;
    }
    if (s.pid == 0 && s.is_terminal && now >= s.rest_usec && may_send())
        end_output(0);
}

static void round_of(int children)
{
    enum { CLIENT, INPUT, OUTPUT, CHILDREN = OUTPUT + 2, N };
    struct pollfd p[N] = {
        [CLIENT] = {s.client, (short)(POLLIN | (s.out.len > 0 ? POLLOUT : 0)), 0},
        [INPUT] = {s.pending.len > 0 || !s.is_terminal ? s.input : -1, s.pending.len > 0 ? POLLOUT : 0, 0},
        [OUTPUT] = {may_send() ? s.output[0] : -1, POLLIN, 0},
        [OUTPUT + 1] = {may_send() ? s.output[1] : -1, POLLIN, 0},
        [CHILDREN] = {children, POLLIN, 0},
    };

    if (poll(p, N, timeout_msec()) < 0)
        return;
    if (p[CHILDREN].revents && read_child_events(children) < 0)
        end_failed(NM_LAUNCH_STAGE_SHIM, ECHILD); /* cannot happen: only this shim reaps its child */
    for (int i = 0; i < 2; i++)
        if (p[OUTPUT + i].revents && s.output[i] >= 0 && may_send())
            pass_on(i);
    if (p[CLIENT].revents & POLLOUT)
        flush();
    if (p[CLIENT].revents & (POLLIN | POLLHUP | POLLERR) && s.client >= 0)
        read_client();
    if (p[INPUT].revents & POLLERR && !s.is_terminal)
        drop_input();
    if (p[INPUT].revents && s.pending.len > 0)
        put_pending();
    check_deadlines();
}

_Noreturn void nm_shim_session_run(struct nm_shim_spec *spec)
{
    int children = nm_shim_children_open(); /* without this descriptor no command is started */

    if (children < 0)
        end_failed(NM_LAUNCH_STAGE_SHIM, children);
    start_command(spec);
    nm_shim_spec_done(spec);
    (void)close(NM_SHIM_FD_OWNER);
    nm_shim_drop_capabilities(1U << CAP_KILL); /* the shim needs CAP_KILL for signals that the client sends */
    (void)read_child_events(children); /* no signal announces children that have already ended */
    while (s.pid > 0 || s.output[0] >= 0 || s.output[1] >= 0)
        round_of(children);
    end();
}
