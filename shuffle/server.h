/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Takes connections and gives each a thread of its own, since both disk and network make it wait. A thread has little:
 * its stack holds all it needs.
 */

#include "shuffle/answer.h"

struct nm_shuffle_server;

/* Listens at "ADDRESS:PORT", "[V6]:PORT" or "PORT" (all addresses), port 0 for any, and sets s->port. The service and
 * what it points to must stay until the server is freed. -EINVAL: no such address; else -errno; *ret_message as
 * nm_fail(). */
int nm_shuffle_server_new(struct nm_shuffle_service *s, const char *address, struct nm_shuffle_server **ret,
                          char **ret_message);
/* Cuts the connections. */
struct nm_shuffle_server *nm_shuffle_server_free(struct nm_shuffle_server *server);
NM_DEFINE_CLEANUP(struct nm_shuffle_server *, nm_shuffle_server_free)
