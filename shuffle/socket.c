/* SPDX-License-Identifier: Apache-2.0 */

/* See socket.h. */

#include "shuffle/socket.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "util/error.h"
#include "util/macros.h"

static void set(int fd, int option, int bytes)
{
    (void)setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
}

/* Accepted sockets inherit the sizes, so no connection needs a call. The kernel computes the window of a new connection
 * before it is accepted. */
void nm_shuffle_socket_limit(int listener)
{
    set(listener, SO_SNDBUF, NM_SHUFFLE_SEND_BUFFER_BYTES);
    set(listener, SO_RCVBUF, NM_SHUFFLE_RECEIVE_BUFFER_BYTES);
}

void nm_shuffle_socket_shrink(int fd)
{
    set(fd, SO_SNDBUF, NM_SHUFFLE_SMALL_SEND_BUFFER_BYTES);
}

size_t nm_shuffle_socket_unread(int fd)
{
    int bytes = 0;

    return ioctl(fd, SIOCOUTQ, &bytes) < 0 ? 0 : (size_t)NM_MAX(bytes, 0);
}

int nm_shuffle_socket_close(int fd)
{
    const struct linger discard = {.l_onoff = 1};

    if (nm_shuffle_socket_unread(fd) > NM_SHUFFLE_TAIL_BYTES)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &discard, sizeof discard);
    return nm_close(fd);
}
