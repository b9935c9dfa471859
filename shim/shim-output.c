/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Copies the command's output into the log (output.h). The shim reads a pipe whenever the pipe has data, and waits for
 * the disk only during a write. Output that cannot be written is dropped, so that a full disk does not stop the
 * command. The buffer's pages become resident only for commands that write much.
 *
 * The pipes belong to the command's user, who may open them by name (/dev/stdout, /proc/self/fd/1). A pipe cannot be
 * truncated, and has no file position that could be moved.
 *
 * All output of a terminal (nmctl run -t) is standard output, and also goes to the terminal's user. When the user's
 * connection is closed, the terminal hangs up: the kernel sends SIGHUP to the command, and processes that continue can
 * no longer write to the terminal.
 */

#include "shim/shim-internal.h"

#include <assert.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "agent/launch/output.h"
#include "util/clock.h"
#include "util/frame.h"

#define BUFFER_SIZE 16384
/* Data written to a terminal becomes readable a moment later, and its amount cannot be queried. */
#define LINGER_USEC (100 * NM_USEC_PER_MSEC)
#define TERMINAL_REST ((size_t)64 << 10)

static_assert(BUFFER_SIZE <= NM_FRAME_MAX, "the data of one read fits into one frame");

static struct nm_output outputs[NM_OUTPUT_N_STREAMS];
static char buffer[BUFFER_SIZE];
/* The command's side of the terminal, held open so that the terminal does not end while no process has it open. Used
 * for terminals only. */
static int slave = -EBADF;
static int children = -EBADF; /* descriptor that becomes readable when a child has ended */

/* Makes the command's standard output or error; moves the reading end to the descriptor `number`. */
static int make_pipe(const struct nm_shim_spec *spec, int number, int *ret)
{
    _cleanup_close_ int other = -EBADF;
    int ours, r = nm_shim_pipe_open(spec, 0, &ours, &other);

    if (r < 0)
        return r;
    r = RET_NERRNO(dup3(ours, number, O_CLOEXEC));
    (void)close(ours);
    if (r < 0)
        return r;
    *ret = STEAL_FD(other);
    return 0;
}

/* Makes the terminal; moves the shim's end to NM_SHIM_FD_OUTPUT. */
static int make_terminal(const struct nm_shim_spec *spec, int ret[2])
{
    _cleanup_close_ int other = -EBADF;
    int ours, r = nm_shim_terminal_open(spec, &ours, &other);

    if (r < 0)
        return r;
    r = RET_NERRNO(dup3(ours, NM_SHIM_FD_OUTPUT, O_CLOEXEC));
    (void)close(ours);
    if (r >= 0)
        r = slave = RET_NERRNO(fcntl(other, F_DUPFD_CLOEXEC, NM_SHIM_FD_END));
    if (r < 0)
        return r;
    ret[0] = ret[1] = STEAL_FD(other);
    return 0;
}

int nm_shim_output_open(const struct nm_shim_spec *spec, int ret_write_fd[2])
{
    bool is_terminal = spec->options.rows > 0;

    children = nm_shim_children_open(); /* opened before any process runs that a failure would have to end */
    if (children < 0)
        return children;
    for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++) {
        int r = nm_output_open(NM_SHIM_FD_LOGS, nm_output_streams[i], spec->options.output_max_bytes, &outputs[i]);

        if (r >= 0 && !is_terminal)
            r = make_pipe(spec, NM_SHIM_FD_OUTPUT + i, &ret_write_fd[i]);
        if (r < 0)
            return r;
    }
    return is_terminal ? make_terminal(spec, ret_write_fd) : 0;
}

/* Copies output. Returns the number of bytes; 0: all writers have closed the pipe or terminal, -EAGAIN: no data at
 * present. */
static ssize_t pass_on(int i, size_t max)
{
    ssize_t n = read(NM_SHIM_FD_OUTPUT + i, buffer, NM_MIN(max, sizeof buffer));

    if (n > 0)
        nm_output_write(&outputs[i], buffer, (size_t)n);
    if (n > 0 && slave >= 0)
        nm_shim_input_show(buffer, (size_t)n);
    return n < 0 ? -errno : n;
}

/* Copies only output that was written before the command's end, because remaining processes may write forever. */
static void take_rest(int i)
{
    int left = 0;

    if (ioctl(NM_SHIM_FD_OUTPUT + i, FIONREAD, &left) < 0)
        return;
    while (left > 0) {
        ssize_t n = pass_on(i, (size_t)left);

        if (n == -EINTR)
            continue;
        if (n <= 0)
            break;
        left -= (int)n;
    }
}

/* Copies the rest of a terminal's output as take_rest() does, and also sends this output to the user. */
static void take_terminal_rest(void)
{
    uint64_t until = nm_now_usec() + LINGER_USEC;
    size_t left = TERMINAL_REST;
    struct pollfd p = {.fd = NM_SHIM_FD_OUTPUT, .events = POLLIN};

    (void)close(slave); /* the terminal ends as soon as no other process has it open */
    while (left > 0) {
        uint64_t now = nm_now_usec();
        ssize_t n;

        nm_shim_input_flush();
        if (poll(&p, 1, now < until ? (int)((until - now) / NM_USEC_PER_MSEC + 1) : 0) == 0)
            break;
        n = pass_on(0, left);
        if (n <= 0 && n != -EAGAIN && n != -EINTR)
            break; /* EIO: no process has the terminal open */
        left -= n > 0 ? (size_t)n : 0;
    }
    nm_shim_input_flush();
}

/* Hangs up the terminal. Output written before is still copied to the log. */
static void close_terminal(void)
{
    size_t left = TERMINAL_REST;
    ssize_t n;

    while (left > 0 && (n = pass_on(0, left)) > 0)
        left -= (size_t)n;
    (void)close(NM_SHIM_FD_OUTPUT);
    slave = nm_close(slave);
}

/* Returns the descriptor to poll for the terminal. */
static int terminal_fd(void)
{
    if (slave >= 0 && !nm_shim_input_has_client())
        close_terminal();
    return slave >= 0 && nm_shim_input_may_show() ? NM_SHIM_FD_OUTPUT : -1;
}

int nm_shim_output_pump(pid_t pid, int *ret_status, struct rusage *ret_usage)
{
    enum { CHILDREN = NM_OUTPUT_N_STREAMS, INPUT, N = INPUT + NM_SHIM_INPUT_POLLS };
    const bool is_terminal = slave >= 0;
    struct pollfd p[N];
    int r;

    assert(pid > 0 && children >= 0);
    for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++)
        p[i] = (struct pollfd){.fd = is_terminal ? -1 : NM_SHIM_FD_OUTPUT + i, .events = POLLIN};
    p[CHILDREN] = (struct pollfd){.fd = children, .events = POLLIN};
    /* reap once first: for children that ended before the descriptor existed, no signal arrives */
    while ((r = nm_shim_reap(pid, ret_status, ret_usage)) == 0) {
        if (is_terminal)
            p[0].fd = terminal_fd();
        nm_shim_input_poll(p + INPUT);
        if (poll(p, N, -1) < 0)
            continue;
        nm_shim_input_pass(p + INPUT);
        if (p[CHILDREN].revents)
            nm_shim_children_drain(children);
        for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++)
            if (p[i].revents && (!is_terminal || nm_shim_input_may_show()) && pass_on(i, sizeof buffer) == 0)
                p[i].fd = -1;
    }
    if (slave >= 0)
        take_terminal_rest();
    for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++) {
        if (p[i].fd >= 0 && !is_terminal)
            take_rest(i);
        nm_output_close(&outputs[i]);
    }
    (void)close(children);
    return r < 0 ? r : 0;
}

uint64_t nm_shim_output_lost(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < NM_OUTPUT_N_STREAMS; i++)
        sum += outputs[i].lost_total;
    return sum;
}
