/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Calls from this nmd to other nodes and to the ResourceManager's client port, on behalf of application masters of this
 * node (for lending):
 *
 *   - the room of a node, and which of some containers it runs. The protocol is nmd's own (peer.proto), on the node's
 *     port for containers. A Java NodeManager refuses the unknown protocol, by which it is recognized.
 *   - updateContainer of ContainerManagementProtocol, which takes the ResourceManager's new token of a promoted
 *     container to its node
 *   - the type and the queue of an application, from the ResourceManager (getApplicationReport)
 *
 * Calls to nodes carry an NMToken that this node signs for the attempt. No function blocks. The number of connections
 * and of calls is limited: there are at most 64 connections to nodes, each for one node, attempt and protocol, and at
 * most 16 calls on each. A connection is closed after 10 s without a call, or if another one needs its place. Each call
 * ends within 10 s. A node that couldn't be reached is not tried again for 10 s; the same holds for the
 * ResourceManager.
 *
 * Callbacks are called from the event loop only. They may call all functions except nm_peers_free().
 */

#include <systemd/sd-event.h>

#include "yarn/conf/settings.h"
#include "yarn/ids.h"
#include "yarn/sign.h"

#define NM_PEER_CONTAINERS_MAX 256u /* containers of one question */

struct nm_peers;

struct nm_peers_params {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_signer *signer;
};

/* The objects that params point to must outlive *ret. */
int nm_peers_new(const struct nm_peers_params *p, struct nm_peers **ret);
/* Frees everything. Callbacks of calls in progress are not called. */
struct nm_peers *nm_peers_free(struct nm_peers *p);
NM_DEFINE_CLEANUP(struct nm_peers *, nm_peers_free)
/* Forgets the calls with this userdata: their callbacks are not called. */
void nm_peers_forget(struct nm_peers *p, const void *userdata);

/* A master on whose behalf a node is called. The strings must be valid during the call of the function only. */
struct nm_peer_caller {
    struct nm_yarn_attempt_id attempt;
    const char *submitter;
    /* Of a question for the room, while it is only observed what would be lent: the memory of the containers that this
     * nmd would have lent there, and the number that nmd has chosen for itself. 0: it doesn't observe. */
    uint64_t observer;
    int64_t observed_mib;
};

enum nm_peer_kind {
    NM_PEER_UNKNOWN, /* not asked yet, or not reachable */
    NM_PEER_NMD,
    NM_PEER_OTHER,   /* a NodeManager that isn't nmd */
};
/* Returns what is known of a node: at most 1024 nodes are remembered, for 10 minutes each. */
enum nm_peer_kind nm_peers_kind(const struct nm_peers *p, const char *host, int32_t port);

enum nm_peer_container_state { NM_PEER_CONTAINER_UNKNOWN, NM_PEER_CONTAINER_QUEUED, NM_PEER_CONTAINER_RUNNING };

struct nm_peer_room {
    int64_t memory_mib, guaranteed_free_memory_mib; /* capacity; the part that no guaranteed container is allocated */
    int32_t vcores, guaranteed_free_vcores;
    int64_t unused_memory_mib;    /* what opportunistic containers could be admitted to now, by measured use */
    int32_t queue_length, queue_max;
    int64_t observed_mib;         /* memory of the containers that other nmds would have lent there */
    bool admits;                  /* opportunistic containers are admitted at present (no breaker, no drain, healthy) */
    const struct nm_yarn_container_id *ids; /* those of the question */
    const enum nm_peer_container_state *states;
    const bool *guaranteed; /* false: it is not, or the node doesn't say */
    size_t n;
};

/* error 0: *room is the answer. NM_PEER_E_OTHER: not an nmd. -EREMOTEIO: refused. Other -errno: not reached. */
enum { NM_PEER_E_OTHER = 1 };
typedef void (*nm_peer_room_cb_t)(void *userdata, const char *host, int32_t port, int error,
                                  const struct nm_peer_room *room);
/* Asks a node. Returns 0 if cb will be called (later), -EBUSY if a limit is reached or a call of this userdata to this
 * node is in progress, -EHOSTUNREACH if it was not reachable a short time ago, -EOPNOTSUPP if it is known not to be an
 * nmd, or another -errno. */
int nm_peers_ask_room(struct nm_peers *p, const struct nm_peer_caller *caller, const char *host, int32_t port,
                      const struct nm_yarn_container_id *ids, size_t n, nm_peer_room_cb_t cb, void *userdata);

/* Takes a container's new token to its node. error: 0: the node has applied it; -EREMOTEIO: the node refuses it (the
 * container has ended); other -errno: not reached; the caller may try again. */
typedef void (*nm_peer_update_cb_t)(void *userdata, const struct nm_yarn_container_id *id, int error);
int nm_peers_update(struct nm_peers *p, const struct nm_peer_caller *caller, const char *host, int32_t port,
                    const struct nm_yarn_container_id *id, const Hadoop__Token *token, nm_peer_update_cb_t cb,
                    void *userdata);

/* Asks the ResourceManager for an application's type, queue and node label, and for its queue's label. error 0, or
 * -errno: not known at the moment; the caller asks again. The strings are valid during the call of cb. Returns 0 if cb
 * will be called (later), -EBUSY and -EHOSTUNREACH as nm_peers_ask_room() does, -EADDRNOTAVAIL if the configuration has
 * no address, or another -errno. */
struct nm_peer_application {
    const char *type, *queue; /* NULL: the answer does not have it */
    bool labelled; /* it or its queue has a node label, which the ResourceManager adds to asks without one */
};
typedef void (*nm_peer_application_cb_t)(void *userdata, int error, const struct nm_peer_application *a);
int nm_peers_ask_application(struct nm_peers *p, const struct nm_yarn_application_id *id, nm_peer_application_cb_t cb,
                             void *userdata);

/* ---- the node's side --------------------------------------------------------------------------- */

/* nmd's own protocol on the node's port for containers, version 1 (cm-protocol/ serves it), and its method. */
#define NM_PEER_PROTOCOL "io.nmd.PeerProtocolPB"
#define NM_PEER_METHOD_ROOM "getRoom" /* request RoomRequest, answer RoomAnswer of peer.proto */
