/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Accepts connections and starts a thread for each, because disk and network block. All data of a thread are on its
 * stack.
 */

#include "shuffle/answer.h"

struct nm_shuffle_server;

/* Listens at "ADDRESS:PORT", "[V6]:PORT" or "PORT" (all addresses), port 0 for any, and sets s->port. The service and
 * the objects to which it points must exist until the server is freed. Returns -EINVAL if the address is not valid,
 * else -errno; *ret_message as in nm_fail(). */
int nm_shuffle_server_new(struct nm_shuffle_service *s, const char *address, struct nm_shuffle_server **ret,
                          char **ret_message);
/* Shuts down the connections and frees the server. */
struct nm_shuffle_server *nm_shuffle_server_free(struct nm_shuffle_server *server);
NM_DEFINE_CLEANUP(struct nm_shuffle_server *, nm_shuffle_server_free)
