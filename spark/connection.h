/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection of a client. As in shuffle/connection.h, a thread of the pool has the connection only from the arrival
 * of a whole frame to the end of its answer, and not while the client doesn't read, or while its application has no
 * share left. Frames are answered in the order of their arrival, and the next one is read only then: clients find some
 * answers only by their order, and a client that sends without reading is stopped by its socket.
 */

#include "spark/service.h"

/* Begins a connection from this host, and takes ownership of the accepted descriptor in all cases; it must not block.
 * Returns -EBUSY if there is no slot, -ECANCELED if the server stops, else -errno. */
int nm_spark_connection_begin(struct nm_spark_service *s, int accepted, const char *host);

/* The functions of struct nm_shuffle_acceptor_ops. */
void nm_spark_connection_ready(struct nm_shuffle_turns *t);
void nm_spark_connection_expired(struct nm_shuffle_turns *t);
/* Answers the frames that have arrived. */
int nm_spark_connection_answer(struct nm_shuffle_turns *t, struct nm_shuffle_wait *ret_wait);
void nm_spark_connection_end(struct nm_shuffle_turns *t, int result);
