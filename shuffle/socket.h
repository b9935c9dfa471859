/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the kernel may keep for a connection. Without these limits, it lets the buffers of a socket grow with the
 * connection, to 4 MiB and 6 MiB by default (net.ipv4.tcp_wmem and tcp_rmem). Clients that don't read could then take
 * the memory that TCP has on the node.
 *
 * The kernel's limit is twice the size that is set, because it counts its own overhead, too. It exceeds the limit by at
 * most one packet, of up to 64 KiB.
 */

#include <stddef.h>

/* Enough for 1 GB/s at a round trip of 0.2 ms. The kernel caps larger values by net.core.wmem_max, 208 KiB by
 * default. */
#define NM_SHUFFLE_SEND_BUFFER_BYTES (128 << 10)
/* The send buffer of a connection whose job or user has many (shuffle/connections.h). */
#define NM_SHUFFLE_SMALL_SEND_BUFFER_BYTES (32 << 10)
/* The longest request of a reducer has 16 KiB, and those of executors seldom have more. */
#define NM_SHUFFLE_RECEIVE_BUFFER_BYTES (32 << 10)
/* Bytes that the kernel may still send for a connection after it was closed: an answer that refuses a request. */
#define NM_SHUFFLE_TAIL_BYTES 4096u

/* Sets the buffers of the connections that this socket will accept. */
void nm_shuffle_socket_limit(int listener);
/* Makes the send buffer small. What is in it is kept. */
void nm_shuffle_socket_shrink(int fd);
/* Returns how many bytes the client has not acknowledged. */
size_t nm_shuffle_socket_unread(int fd);
/* Closes a connection. Returns -EBADF. If the client has not acknowledged more than NM_SHUFFLE_TAIL_BYTES, they are
 * discarded, and the client sees a reset. Otherwise, the kernel would keep them for minutes, without a limit for the
 * client's user. */
int nm_shuffle_socket_close(int fd);
