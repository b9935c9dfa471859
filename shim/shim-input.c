/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The connection of whoever asked for a container: standard input of its command (nmctl run -i), or all that its
 * terminal says and hears (-t), in frames (util/frame.h). The shim has it from its birth on, so that a restart of nmd
 * is no matter.
 *
 * With a pipe, whoever goes, or says what isn't input, has ended it; the command goes on, and reads to the end. With a
 * terminal he has hung up (shim-output.c). While he doesn't read, that isn't read either, as with any terminal: the
 * command waits in its write(). He has the first word (the terminal's size, mostly), since the command may run before
 * nmd has got round to its answer, which nothing may be ahead of; what he gets for it says that the command runs.
 */

#include "agent/launch/shim.h"

#include <assert.h>
#include <poll.h>
#include <sys/socket.h>

#include "util/frame.h"

/* How long the command's end waits for a reader who takes nothing at all. */
#define FLUSH_MSEC 2000

enum { CLIENT, COMMAND };

static int client = -EBADF, command = -EBADF; /* where it comes from, and where it goes */
static bool is_terminal, is_heard, owes_taken;
static struct nm_frame in, pending, out; /* what comes, what waits for the command to read, what waits for the client */
static size_t put, sent;                 /* of pending and out */

int nm_shim_input_open(const struct nm_shim_spec *spec, int *ret_read_fd)
{
    int r = 0;

    if (!spec->terms.has_input)
        return 0;
    is_terminal = spec->terms.rows > 0;
    if (is_terminal)
        command = NM_SHIM_FD_OUTPUT; /* whose file takes care of it */
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

/* ---- to the client ----------------------------------------------------------------------------- */

static void flush(void)
{
    while (client >= 0 && sent < out.len) {
        ssize_t n = send(client, out.data + sent, out.len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            sent += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR) {
            if (is_terminal) /* a pipe's input may be on its way still */
                end_input();
            break;
        }
    }
    out.len = sent = 0;
    if (!owes_taken || client < 0)
        return;
    owes_taken = false;
    nm_frame_make(&out, NM_FRAME_TAKEN, 0);
    flush();
}

static void tell_taken(void)
{
    owes_taken = true;
    if (out.len == 0)
        flush();
}

bool nm_shim_input_may_show(void)
{
    return client < 0 || (is_heard && out.len == 0);
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

/* ---- to the command ---------------------------------------------------------------------------- */

static void put_pending(void)
{
    while (put < nm_frame_size(&pending)) {
        ssize_t n = write(command, nm_frame_body(&pending) + put, nm_frame_size(&pending) - put);

        if (n > 0)
            put += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            return;
        else if (n < 0 && errno != EINTR) {
            end_input(); /* nobody reads it any more */
            return;
        }
    }
    pending.len = put = 0;
    tell_taken();
}

/* 0, or -EBADMSG: this is none that there can be, or the end of a pipe's input. */
static int take_frame(void)
{
    uint16_t rows, columns;

    if (nm_frame_type(&in) == NM_FRAME_SIZE && is_terminal) {
        if (nm_frame_parse_size(&in, &rows, &columns) < 0)
            return -EBADMSG;
        nm_shim_terminal_resize(command, rows, columns);
        if (!is_heard)
            tell_taken();
        return 0;
    }
    if (nm_frame_type(&in) != NM_FRAME_INPUT || pending.len > 0)
        return -EBADMSG;
    if (nm_frame_size(&in) == 0) /* nothing is typed any more, but somebody still reads */
        return is_terminal ? 0 : -EBADMSG;
    pending = in;
    put = 0;
    put_pending();
    return 0;
}

static void hear_client(void)
{
    ssize_t n = recv(client, in.data + in.len, nm_frame_wants(&in), MSG_DONTWAIT);
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    r = n > 0 ? nm_frame_took(&in, (size_t)n) : -EPIPE;
    if (r == NM_FRAME_E_WHOLE) {
        r = take_frame();
        in.len = 0;
        is_heard = true;
    }
    if (r < 0)
        end_input();
}

void nm_shim_input_flush(void)
{
    while (!nm_shim_input_may_show()) {
        struct pollfd p = {.fd = client, .events = is_heard ? POLLOUT : POLLIN};

        if (poll(&p, 1, FLUSH_MSEC) == 0)
            end_input();
        else if (is_heard)
            flush();
        else
            hear_client();
    }
}

/* Through a pipe what comes next waits until this has been read. With a terminal other things may be said meanwhile,
 * and that nobody is there any more is to be heard at once. */
void nm_shim_input_poll(struct pollfd p[NM_SHIM_INPUT_POLLS])
{
    int events = (is_terminal || pending.len == 0 ? POLLIN : 0) | (out.len > 0 ? POLLOUT : 0);

    p[CLIENT] = (struct pollfd){.fd = events ? client : -1, .events = (short)events};
    /* without a wish for more, a reader of a pipe that has gone is still told */
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
        hear_client();
}
