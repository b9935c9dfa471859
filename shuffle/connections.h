/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The connections that are open. Each has a thread, so there is a limit; and no user may have more than half of it, and
 * no job more than three quarters of that, or one with reducers that read nothing would keep all others from their
 * maps' outputs. Whose a connection is, is known once it has signed a request. Of those that haven't, one host has a
 * quarter: a stranger who only holds its connections open is in the way of its own host alone. May be used by several
 * threads.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "util/macros.h"

/* Beyond the limit so many more are listened to, to be told that there is no room. */
#define NM_SHUFFLE_SPARE_PLACES 32u

struct nm_shuffle_connections;

int nm_shuffle_connections_new(unsigned max, struct nm_shuffle_connections **ret);
/* Nobody may have a place any more. */
struct nm_shuffle_connections *nm_shuffle_connections_free(struct nm_shuffle_connections *p);
NM_DEFINE_CLEANUP(struct nm_shuffle_connections *, nm_shuffle_connections_free)

/* Takes a place for the connection fd from this host (nm_peer_name()). Returns 0, or NM_SHUFFLE_PLACES_E_SPARE: the
 * place is a spare one, since the limit or the host's share is reached; one host has at most half of the spare places.
 * -EBUSY: there is no spare place either. -ECANCELED: the places are being closed. */
enum { NM_SHUFFLE_PLACES_E_SPARE = 1 };
int nm_shuffle_connections_enter(struct nm_shuffle_connections *p, int fd, const char *host, unsigned *ret_place);
/* False: the user, or the job, has as many as it may. */
bool nm_shuffle_connections_belongs(struct nm_shuffle_connections *p, unsigned place, uid_t uid, const char *job);
/* Closes the connection. Its caller touches nothing of p any more. */
void nm_shuffle_connections_leave(struct nm_shuffle_connections *p, unsigned place);
unsigned nm_shuffle_connections_count(struct nm_shuffle_connections *p);

/* Cuts all connections, takes none any more, and waits until the last has left. */
void nm_shuffle_connections_close(struct nm_shuffle_connections *p);
