/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What call.c and stream.c need of the server. */

#include "rpc/local/call.h"
#include "rpc/local/server.h"

/* One accepted connection; libmicrohttpd's socket context. */
struct nm_connection {
    struct nm_local_server *server;
    struct nm_connection *next, **prev_next;
    int fd; /* libmicrohttpd's */
    struct nm_caller caller;
    bool tcp;
    bool heard; /* its request has been taken in, or is being answered */
    uint64_t deadline_usec; /* CLOCK_BOOTTIME; shut down when it has passed. UINT64_MAX: none */
};

struct nm_connection *nm_local_server_connection(struct MHD_Connection *c);
sd_event *nm_local_server_event(struct nm_local_server *s);
struct nm_manager *nm_local_server_manager(struct nm_local_server *s);
struct nm_streams *nm_local_server_streams(struct nm_local_server *s);
uint64_t nm_local_server_timeout_usec(const struct nm_local_server *s);

/* Memory that bodies and answers of all connections hold together. take: false if that would be too
 * much now. */
bool nm_local_server_take_memory(struct nm_local_server *s, bool admin, size_t bytes);
void nm_local_server_give_memory(struct nm_local_server *s, size_t bytes);

/* Lets a suspended connection go on, in the next round. */
void nm_local_server_resume(struct nm_local_server *s, struct MHD_Connection *c);

/* Has this round of the loop spent so much on requests that samples and kills would have to wait?
 * Then the call is suspended and comes up again in a later round. */
bool nm_local_server_defer(struct nm_local_server *s, struct nm_call *call);
void nm_local_server_forget(struct nm_local_server *s, struct nm_call *call);
