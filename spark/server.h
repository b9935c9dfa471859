/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The server. One thread accepts connections and waits for all of them, and a few others answer (shuffle/acceptor.h).
 */

#include "spark/service.h"

struct nm_spark_server;

/* How the server listens (struct nm_shuffle_acceptor_params). */
struct nm_spark_listen {
    const char *address;
    uint32_t backlog;
    bool keeps_alive;
};

/* Listens, and sets the idle connections and the pool of s. The service must exist
 * until the server is freed. *ret_message as in nm_fail(). */
int nm_spark_server_new(struct nm_spark_service *s, const struct nm_spark_listen *listen, struct nm_spark_server **ret,
                        char **ret_message);
uint16_t nm_spark_server_port(const struct nm_spark_server *server);
/* Shuts down the connections and frees the server. */
struct nm_spark_server *nm_spark_server_free(struct nm_spark_server *server);
NM_DEFINE_CLEANUP(struct nm_spark_server *, nm_spark_server_free)
