/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Looks up a host's addresses, or this host's own full name, in the name services. A name service may block for any
 * time, and nmd has only one thread. So a child process does the lookup. If the lookup takes too long, the child
 * process is killed.
 */

#include <sys/socket.h>

#include <systemd/sd-event.h>

#include "util/macros.h"

#define NM_RESOLVED_MAX 8

struct nm_resolved {
    int error;      /* result of getaddrinfo(): 0 or EAI_... */
    char name[256]; /* the host's full name according to the name services */
    unsigned n;     /* number of addresses, in the order in which the caller should try them */
    struct sockaddr_storage addresses[NM_RESOLVED_MAX];
    socklen_t sizes[NM_RESOLVED_MAX];
};

struct nm_resolve;

/* If r->error != 0, no other member of r is valid. The callback may free the nm_resolve. */
typedef void (*nm_resolve_cb_t)(const struct nm_resolved *r, void *userdata);

/* host NULL: look up the name of this host. The callback is always called from the event loop, even if no lookup is
 * needed. */
int nm_resolve_new(sd_event *event, const char *host, uint16_t port, nm_resolve_cb_t cb, void *userdata,
                   struct nm_resolve **ret);
/* Cancels the lookup. The callback will not be called. */
struct nm_resolve *nm_resolve_free(struct nm_resolve *r);
NM_DEFINE_CLEANUP(struct nm_resolve *, nm_resolve_free)
