/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Standard input of a container's command (nmctl run -i), which comes over the connection that asked for the container,
 * in frames (util/frame.h). The shim has it from its birth on, so that a restart of nmd is no matter. Whoever goes, or
 * says what isn't input, has ended it; the command goes on, and reads to the end.
 */

#include "agent/launch/shim.h"

#include <assert.h>
#include <poll.h>
#include <sys/socket.h>

#include "util/frame.h"

enum { CLIENT, COMMAND };

static int client = -EBADF, command = -EBADF; /* where it comes from, and where it goes */
static struct nm_frame in, pending;
static size_t put;

int nm_shim_input_open(const struct nm_shim_spec *spec, int *ret_read_fd)
{
    int r;

    if (!spec->terms.has_input)
        return 0;
    r = nm_shim_pipe_open(spec, 1, &command, ret_read_fd);
    if (r >= 0)
        client = NM_SHIM_FD_INPUT;
    return r;
}

static void end_input(void)
{
    client = nm_close(client);
    command = nm_close(command);
    pending.len = 0;
}

static void put_pending(void)
{
    static const uint8_t taken[NM_FRAME_HEAD] = {NM_FRAME_TAKEN};

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
    /* one for each frame, and four bytes: who doesn't read them has no use for them */
    (void)send(client, taken, sizeof taken, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void hear_client(void)
{
    ssize_t n = recv(client, in.data + in.len, nm_frame_wants(&in), MSG_DONTWAIT);
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    r = n > 0 ? nm_frame_took(&in, (size_t)n) : -EPIPE;
    if (r == 0)
        return;
    if (r < 0 || nm_frame_type(&in) != NM_FRAME_INPUT || nm_frame_size(&in) == 0) {
        end_input();
        return;
    }
    pending = in;
    in.len = put = 0;
    put_pending();
}

/* What comes next waits until this has been read. */
void nm_shim_input_poll(struct pollfd p[NM_SHIM_INPUT_POLLS])
{
    p[CLIENT] = (struct pollfd){.fd = pending.len == 0 ? client : -1, .events = POLLIN};
    /* without a wish for more, a reader that has gone is still told */
    p[COMMAND] = (struct pollfd){.fd = command, .events = pending.len > 0 ? POLLOUT : 0};
}

void nm_shim_input_pass(const struct pollfd p[NM_SHIM_INPUT_POLLS])
{
    assert(p);
    if (p[COMMAND].revents & POLLERR)
        end_input();
    else if (p[COMMAND].revents && pending.len > 0)
        put_pending();
    if (p[CLIENT].revents && client >= 0)
        hear_client();
}
