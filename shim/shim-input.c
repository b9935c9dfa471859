/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The connection of a container's client: standard input of its command (nmctl run -i), or input and output of its
 * terminal (-t), in frames (util/frame.h). The shim has the connection from its start, so a restart of nmd does not
 * affect it.
 *
 * With a pipe, the input ends when the client disconnects or sends anything other than input. The command then reads
 * end-of-file and keeps running. With a terminal, the terminal hangs up when the client disconnects (shim-output.c).
 * While the client does not read, the terminal is not read either, so the command blocks in write(), as with any
 * terminal. The client sends the first frame (mostly the terminal's size), because the command may run before nmd has
 * sent its answer, which must be the first data that the client receives. Output frames show the client that the
 * command runs.
 */

#include "shim/shim-internal.h"

#include <assert.h>
#include <poll.h>
#include <sys/socket.h>

#include "util/frame.h"

/* Maximum wait at the command's end for a client that does not read. */
#define FLUSH_MSEC 2000

enum { CLIENT, COMMAND };

static int client = -EBADF, command = -EBADF; /* source and destination of input */
static bool is_terminal, has_first_frame, ack_pending;
/* frames: received from the client; waiting for the command; waiting for the client */
static struct nm_frame in, pending, out;
static size_t put, sent;                 /* bytes written of pending and out */

int nm_shim_input_open(const struct nm_shim_spec *spec, int *ret_read_fd)
{
    int r = 0;

    if (!spec->options.has_input)
        return 0;
    is_terminal = spec->options.rows > 0;
    if (is_terminal)
        command = NM_SHIM_FD_OUTPUT; /* shim-output.c closes this descriptor */
    else
        r = nm_shim_pipe_open(spec, 1, &command, ret_read_fd);
    if (r >= 0)
        client = NM_SHIM_FD_INPUT;
    return r;
}

static void end_input(void)
{
    client = nm_close(client);
    if (!is_terminal)
        (void)nm_close(command);
    command = -EBADF;
    pending.len = out.len = 0;
}

bool nm_shim_input_has_client(void)
{
    return client >= 0;
}

/* ---- data to the client ------------------------------------------------------------------------ */

static void flush(void)
{
    while (client >= 0 && sent < out.len) {
        ssize_t n = send(client, out.data + sent, out.len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            sent += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR) {
            if (is_terminal) /* input for a pipe may still be in flight */
                end_input();
            break;
        }
    }
    out.len = sent = 0;
    if (!ack_pending || client < 0)
        return;
    ack_pending = false;
    nm_frame_make(&out, NM_FRAME_TAKEN, 0);
    flush();
}

static void report_taken(void)
{
    ack_pending = true;
    if (out.len == 0)
        flush();
}

bool nm_shim_input_may_show(void)
{
    return client < 0 || (has_first_frame && out.len == 0);
}

void nm_shim_input_show(const char *data, size_t n)
{
    assert(nm_shim_input_may_show());
    if (client < 0)
        return;
    memcpy(out.data + NM_FRAME_HEAD, data, n);
    nm_frame_make(&out, NM_FRAME_STDOUT, n);
    flush();
}

/* ---- data to the command ----------------------------------------------------------------------- */

static void put_pending(void)
{
    while (put < nm_frame_size(&pending)) {
        ssize_t n = write(command, nm_frame_body(&pending) + put, nm_frame_size(&pending) - put);

        if (n > 0)
            put += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR) {
            end_input(); /* no process reads the pipe any more */
            return;
        }
    }
    pending.len = put = 0;
    report_taken();
}

/* Handles a frame. Returns 0, or -EBADMSG for an invalid frame or the end of a pipe's input. */
static int take_frame(void)
{
    uint16_t rows, columns;

    if (nm_frame_type(&in) == NM_FRAME_SIZE && is_terminal) {
        if (nm_frame_parse_size(&in, &rows, &columns) < 0)
            return -EBADMSG;
        nm_shim_terminal_resize(command, rows, columns);
        if (!has_first_frame)
            report_taken();
        return 0;
    }
    if (nm_frame_type(&in) != NM_FRAME_INPUT || pending.len > 0)
        return -EBADMSG;
    if (nm_frame_size(&in) == 0) /* no more input comes, but the client may still read */
        return is_terminal ? 0 : -EBADMSG;
    pending = in;
    put = 0;
    put_pending();
    return 0;
}

static void read_client(void)
{
    ssize_t n = recv(client, in.data + in.len, nm_frame_missing_bytes(&in), MSG_DONTWAIT);
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    r = n > 0 ? nm_frame_received(&in, (size_t)n) : -EPIPE;
    if (r == NM_FRAME_E_WHOLE) {
        r = take_frame();
        in.len = 0;
        has_first_frame = true;
    }
    if (r < 0)
        end_input();
}

void nm_shim_input_flush(void)
{
    while (!nm_shim_input_may_show()) {
        struct pollfd p = {.fd = client, .events = has_first_frame ? POLLOUT : POLLIN};

        if (poll(&p, 1, FLUSH_MSEC) == 0)
            end_input();
        else if (has_first_frame)
            flush();
        else
            read_client();
    }
}

/* Sets the descriptors and events to poll. With a pipe the next frame is read after the current frame was written. With
 * a terminal other frames may come before that, and a disconnection of the client must be detected immediately. */
void nm_shim_input_poll(struct pollfd p[NM_SHIM_INPUT_POLLS])
{
    int events = (is_terminal || pending.len == 0 ? POLLIN : 0) | (out.len > 0 ? POLLOUT : 0);

    p[CLIENT] = (struct pollfd){.fd = events ? client : -1, .events = (short)events};
    /* poll() reports the end of a pipe's reader even without requested events */
    p[COMMAND] = (struct pollfd){.fd = is_terminal && pending.len == 0 ? -1 : command,
                                 .events = pending.len > 0 ? POLLOUT : 0};
}

void nm_shim_input_pass(const struct pollfd p[NM_SHIM_INPUT_POLLS])
{
    assert(p);
    if (p[COMMAND].revents & POLLERR && !is_terminal)
        end_input();
    else if (p[COMMAND].revents && pending.len > 0)
        put_pending();
    if (p[CLIENT].revents & POLLOUT)
        flush();
    if (p[CLIENT].revents & (POLLIN | POLLHUP | POLLERR) && client >= 0 && (is_terminal || pending.len == 0))
        read_client();
}
