/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A host's addresses, or this host's own full name, from the name services. Those may take as long as they like, and
 * nmd has one thread: a process that does nothing else asks them, and is ended when it takes too long.
 */

#include <sys/socket.h>

#include <systemd/sd-event.h>

#include "util/macros.h"

#define NM_RESOLVED_MAX 8

struct nm_resolved {
    int error;      /* of getaddrinfo(): 0 or EAI_... */
    char name[256]; /* the host's name as name services complete it */
    unsigned n;     /* addresses, in the order in which they should be tried */
    struct sockaddr_storage addresses[NM_RESOLVED_MAX];
    socklen_t sizes[NM_RESOLVED_MAX];
};

struct nm_resolve;

/* r->error != 0: r has nothing else. It may free the nm_resolve. */
typedef void (*nm_resolve_cb_t)(const struct nm_resolved *r, void *userdata);

/* host: NULL: this host. Heard from the loop, even where nobody had to be asked. */
int nm_resolve_new(sd_event *event, const char *host, uint16_t port, nm_resolve_cb_t cb, void *userdata,
                   struct nm_resolve **ret);
/* Nothing is heard of it any more. */
struct nm_resolve *nm_resolve_free(struct nm_resolve *r);
NM_DEFINE_CLEANUP(struct nm_resolve *, nm_resolve_free)
