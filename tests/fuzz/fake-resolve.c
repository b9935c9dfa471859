/* SPDX-License-Identifier: Apache-2.0 */

/* Implements yarn/resolve.h without a process for each name. All names resolve to this host. The answer comes in the
 * next turn of the event loop. */

#include "yarn/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

struct nm_resolve {
    sd_event_source *defer;
    uint16_t port;
    nm_resolve_cb_t cb;
    void *userdata;
};

static int on_turn(sd_event_source *source, void *userdata)
{
    struct nm_resolved answer = {.name = "localhost", .n = 1, .sizes = {sizeof(struct sockaddr_in)}};
    const struct nm_resolve *r = userdata;

    (void)source;
    *(struct sockaddr_in *)&answer.addresses[0] = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(r->port)};
    r->cb(&answer, r->userdata);
    return 0;
}

int nm_resolve_new(sd_event *event, const char *host, uint16_t port, nm_resolve_cb_t cb, void *userdata,
                   struct nm_resolve **ret)
{
    struct nm_resolve *r = calloc(1, sizeof *r);
    int error;

    (void)host;
    if (!r)
        return -ENOMEM;
    *r = (struct nm_resolve){.port = port, .cb = cb, .userdata = userdata};
    error = sd_event_add_defer(event, &r->defer, on_turn, r);
    if (error < 0) {
        free(r);
        return error;
    }
    *ret = r;
    return 0;
}

struct nm_resolve *nm_resolve_free(struct nm_resolve *r)
{
    if (!r)
        return NULL;
    sd_event_source_disable_unref(r->defer);
    free(r);
    return NULL;
}
