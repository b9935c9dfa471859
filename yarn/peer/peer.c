/* SPDX-License-Identifier: Apache-2.0 */

/* See peer.h. */

#include "yarn/peer/peer.h"

#include <errno.h>

struct nm_peers {
    struct nm_peers_params p;
};

int nm_peers_new(const struct nm_peers_params *p, struct nm_peers **ret)
{
    struct nm_peers *all = calloc(1, sizeof *all);

    if (!all)
        return -ENOMEM;
    all->p = *p;
    *ret = all;
    return 0;
}

struct nm_peers *nm_peers_free(struct nm_peers *all)
{
    free(all);
    return NULL;
}

void nm_peers_forget(struct nm_peers *all, const void *userdata)
{
    (void)all, (void)userdata;
}

enum nm_peer_kind nm_peers_kind(const struct nm_peers *all, const char *host, int32_t port)
{
    (void)all, (void)host, (void)port;
    return NM_PEER_UNKNOWN;
}

int nm_peers_ask_room(struct nm_peers *all, const struct nm_peer_caller *caller, const char *host, int32_t port,
                      const struct nm_yarn_container_id *ids, size_t n, nm_peer_room_cb_t cb, void *userdata)
{
    (void)all, (void)caller, (void)host, (void)port, (void)ids, (void)n, (void)cb, (void)userdata;
    return -EHOSTUNREACH;
}

int nm_peers_update(struct nm_peers *all, const struct nm_peer_caller *caller, const char *host, int32_t port,
                    const struct nm_yarn_container_id *id, const Hadoop__Token *token, nm_peer_update_cb_t cb,
                    void *userdata)
{
    (void)all, (void)caller, (void)host, (void)port, (void)id, (void)token, (void)cb, (void)userdata;
    return -EHOSTUNREACH;
}

int nm_peers_ask_application(struct nm_peers *all, const struct nm_yarn_application_id *id,
                             nm_peer_application_cb_t cb, void *userdata)
{
    (void)all, (void)id, (void)cb, (void)userdata;
    return -EHOSTUNREACH;
}
