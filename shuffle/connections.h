/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The open connections. Each has a descriptor and memory, so their number is limited. A user may have at most
 * half of the connections, and a job three quarters of a user's maximum. Otherwise a job whose reducers do not read
 * could prevent all other reducers from fetching. A connection belongs to a user once it has signed a request. Of the
 * connections that have not signed a request, one host may have a quarter: a host that only holds connections open thus
 * blocks only itself.
 *
 * The kernel also has memory for each connection (shuffle/socket.h). So a job, a user and all of them may have a number
 * of connections with large send buffers. Those beyond it have small ones. Several threads may use these functions.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "util/macros.h"

/* Number of connections beyond the limit that are accepted only to answer that there is no room. */
#define NM_SHUFFLE_SPARE_SLOTS 32u

/* Connections with large send buffers: 64 MiB of a job, 128 MiB of a user, and 256 MiB of all. */
#define NM_SHUFFLE_JOB_LARGE_MAX 256u
#define NM_SHUFFLE_USER_LARGE_MAX 512u
#define NM_SHUFFLE_LARGE_MAX 1024u

struct nm_shuffle_connections;

int nm_shuffle_connections_new(unsigned max, struct nm_shuffle_connections **ret);
/* Sets how many connections without a user one host, and all hosts together, may have. Otherwise, a host has a quarter
 * of all connections. */
void nm_shuffle_connections_limit_guests(struct nm_shuffle_connections *p, unsigned host, unsigned all);
/* Frees the struct. All connections must have left their slots before. */
struct nm_shuffle_connections *nm_shuffle_connections_free(struct nm_shuffle_connections *p);
NM_DEFINE_CLEANUP(struct nm_shuffle_connections *, nm_shuffle_connections_free)

/* Takes a slot for the connection fd from this host (nm_peer_name()). Returns 0, or NM_SHUFFLE_CONNECTIONS_E_SPARE: the
 * slot is a spare slot, because the limit or the host's share is reached; one host has at most half of the spare slots.
 * Returns -EBUSY if there is no spare slot either, -ECANCELED if the slots are being closed. */
enum { NM_SHUFFLE_CONNECTIONS_E_SPARE = 1 };
int nm_shuffle_connections_enter(struct nm_shuffle_connections *p, int fd, const char *host, unsigned *ret_slot);
/* Assigns the connection to a user and job. Returns false if the user or the job already has as many connections as
 * allowed. */
bool nm_shuffle_connections_belongs(struct nm_shuffle_connections *p, unsigned slot, uid_t uid, const char *job);
/* Closes the connection (nm_shuffle_socket_close()) and frees its slot. The caller must not use p afterwards. */
void nm_shuffle_connections_leave(struct nm_shuffle_connections *p, unsigned slot);
unsigned nm_shuffle_connections_count(struct nm_shuffle_connections *p);
/* Returns how many connections there may be at the same time, with those in spare slots. */
unsigned nm_shuffle_connections_room(const struct nm_shuffle_connections *p);

/* Shuts down all connections, refuses new ones, and waits until the last connection has left its slot. */
void nm_shuffle_connections_close(struct nm_shuffle_connections *p);
