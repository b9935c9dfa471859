/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection of a reducer. The loop's thread calls the functions below; it waits for all connections, and reads
 * their requests. A thread of the pool has a connection only from the arrival of a whole request to the end of the
 * answer, and not while the reducer doesn't read, or while its job has no share left. The memory of a connection is
 * freed when it ends.
 */

#include "shuffle/service.h"

/* Begins a connection from this host, and takes ownership of the accepted descriptor in all cases; it must not
 * block. The connection gets a slot, which limits the cost of unauthenticated clients. Returns -EBUSY if there is no
 * slot, -ECANCELED if the server stops, else -errno. */
int nm_shuffle_connection_begin(struct nm_shuffle_service *s, int accepted, const char *host);

/* The functions of struct nm_shuffle_acceptor_ops. */
void nm_shuffle_connection_ready(struct nm_shuffle_turns *t);
void nm_shuffle_connection_expired(struct nm_shuffle_turns *t);
/* Answers the requests that have arrived. */
int nm_shuffle_connection_answer(struct nm_shuffle_turns *t, struct nm_shuffle_wait *ret_wait);
void nm_shuffle_connection_end(struct nm_shuffle_turns *t, int result);
