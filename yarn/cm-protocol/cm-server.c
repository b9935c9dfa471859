/* SPDX-License-Identifier: Apache-2.0 */

/* See cm-server.h. */

#include "yarn/cm-protocol/cm-server.h"

#include <errno.h>

#include "rpc/hadoop/digest.h"
#include "util/loop.h"
#include "yarn/cm-protocol/cm-call.h"
#include "yarn/id-messages.h"
#include "yarn/peer/peer.h"
#include "yarn/peer/peer.pb-c.h"

/* ---- the server --------------------------------------------------------------------------- */

#define PROTOCOL "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

static const struct nm_hadoop_method methods[] = {
    {"startContainers", &yarn__start_request__descriptor, nm_cm_start},
    {"stopContainers", &yarn__ids__descriptor, nm_cm_stop},
    {"getContainerStatuses", &yarn__ids__descriptor, nm_cm_statuses},
    {"updateContainer", &yarn__update_request__descriptor, nm_cm_update},
    {"increaseContainersResource", &yarn__update_request__descriptor, nm_cm_update},
    {"signalToContainer", &yarn__signal_request__descriptor, nm_cm_signal},
    {"localize", &yarn__localize_request__descriptor, nm_cm_localize},
    {"getLocalizationStatuses", &yarn__ids__descriptor, nm_cm_localizations},
    {"reInitializeContainer", &yarn__reinitialize_request__descriptor, nm_cm_reinitialize},
    {"restartContainer", &hadoop__container_id__descriptor, nm_cm_restart},
    {"rollbackLastReInitialization", &hadoop__container_id__descriptor, nm_cm_roll_back},
    {"commitLastReInitialization", &hadoop__container_id__descriptor, nm_cm_commit},
};

static const struct nm_hadoop_method peer_methods[] = {
    {NM_PEER_METHOD_ROOM, &peer__room_request__descriptor, nm_cm_room},
};

static const struct nm_hadoop_protocol protocols[] = {
    {PROTOCOL, 1, methods, NM_ARRAY_SIZE(methods)},
    {NM_PEER_PROTOCOL, 1, peer_methods, NM_ARRAY_SIZE(peer_methods)},
};

/* Derives the password of the caller's NMToken from the token's identifier. The derivation requires a key that only the
 * ResourceManager and the nodes have. */
static int make_bearer(const struct nm_yarn_gate *g, struct nm_bytes identifier, struct nm_arena *a,
                       struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    const struct nm_yarn_master_key *key;
    const Hadoop__NMTokenIdentifier *token;
    struct nm_yarn_attempt_id attempt;
    char name[NM_YARN_ID_SIZE];
    int r;

    if (nm_yarn_check_bearer(g, identifier, a, &token, &key, why) != 0)
        return -EKEYREJECTED;
    r = nm_digest_hmac(key->bytes, key->size, identifier.data, identifier.size, ret->password);
    if (r < 0)
        return r;
    ret->password_size = NM_DIGEST_SIZE;
    attempt = nm_yarn_attempt_of(token->attempt);
    (void)snprintf(ret->user, sizeof ret->user, "%s", nm_yarn_attempt_id_format(&attempt, name));
    return 0;
}

static int look_up(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    const struct nm_yarn_cm_server *m = userdata;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(identifier.size), NULL);
    r = make_bearer(&m->gate, identifier, &a, ret, why);
    nm_arena_done(&a);
    return r;
}

void nm_yarn_cm_server_set_node(struct nm_yarn_cm_server *m, const char *host, int32_t port)
{
    (void)snprintf(m->host, sizeof m->host, "%s", host);
    m->gate.port = port;
}

void nm_yarn_cm_server_set_rm(struct nm_yarn_cm_server *m, int64_t rm_identifier)
{
    m->gate.rm_identifier = rm_identifier;
}

void nm_yarn_cm_server_set_key_store(struct nm_yarn_cm_server *m, struct nm_yarn_key_store *key_store)
{
    m->key_store = key_store;
}

void nm_yarn_cm_server_set_master_hooks(struct nm_yarn_cm_server *m, const struct nm_yarn_master_hooks *masters)
{
    m->masters = *masters;
}

int nm_yarn_cm_server_new(sd_event *event, int listen_fd, struct nm_yarn_keyring *keyring, struct nm_yarn_used *used,
                          struct nm_yarn_node *node, struct nm_yarn_cm_server **ret)
{
    _cleanup_(nm_yarn_cm_server_freep) struct nm_yarn_cm_server *m = calloc(1, sizeof *m);
    struct nm_hadoop_server_options options = {
        .protocols = protocols, .n_protocols = NM_ARRAY_SIZE(protocols), .lookup = look_up, .userdata = m,
        .priority = NM_LOOP_WORK};
    int r;

    if (!m) {
        (void)nm_close(listen_fd);
        return -ENOMEM;
    }
    m->keyring = keyring;
    m->used = used;
    m->node = node;
    m->gate = (struct nm_yarn_gate){.host = m->host, .keyring = keyring, .used = m->used};
    r = nm_hadoop_server_new(event, listen_fd, &options, &m->server);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(m);
    return 0;
}

struct nm_yarn_cm_server *nm_yarn_cm_server_free(struct nm_yarn_cm_server *m)
{
    if (!m)
        return NULL;
    nm_hadoop_server_free(m->server);
    free(m);
    return NULL;
}

/* ---- requests in the answer to a heartbeat ------------------------------------------------ */

/* Ends containers. A container that is unknown or has ended is skipped. */
static void end_containers(struct nm_yarn_node *n, const Yarn__HeartbeatResponse *answer)
{
    struct nm_exception why;

    for (size_t i = 0; i < answer->n_containers_to_end; i++)
        if (nm_yarn_is_container(answer->containers_to_end[i]))
            (void)nm_yarn_node_stop(n, answer->containers_to_end[i], NM_YARN_KILLED_BY_RM,
                                    "Container killed by the ResourceManager.", &why);
}

static void signal_containers(struct nm_yarn_node *n, const Yarn__HeartbeatResponse *answer)
{
    struct nm_exception why;

    for (size_t i = 0; i < answer->n_containers_to_signal; i++)
        if (nm_yarn_is_container(answer->containers_to_signal[i]->id))
            (void)nm_yarn_node_signal(n, answer->containers_to_signal[i]->id,
                                      answer->containers_to_signal[i]->command, &why);
}

/* Updates containers. The application's master may have sent the same tokens before. */
static void update_containers(struct nm_yarn_cm_server *m, const Yarn__HeartbeatResponse *answer)
{
    struct nm_exception why;

    for (size_t i = 0; i < answer->n_containers_to_update; i++) {
        const Hadoop__Token *token = answer->containers_to_update[i]->token;
        struct nm_arena a;

        if (!token)
            continue;
        nm_arena_init(&a, nm_arena_limit(token->identifier.len), NULL);
        (void)nm_cm_update_one(m, token, &a, &why);
        nm_arena_done(&a);
    }
}

void nm_yarn_apply_response(struct nm_yarn_node *n, struct nm_yarn_cm_server *m, const Yarn__HeartbeatResponse *answer)
{
    for (size_t i = 0; i < answer->n_containers_acknowledged; i++)
        if (nm_yarn_is_container(answer->containers_acknowledged[i]))
            nm_yarn_node_acknowledge(n, answer->containers_acknowledged[i]);
    end_containers(n, answer);
    for (size_t i = 0; i < answer->n_applications_to_end; i++)
        if (nm_yarn_is_application(answer->applications_to_end[i]))
            nm_yarn_node_end_application(n, answer->applications_to_end[i]);
    signal_containers(n, answer);
    update_containers(m, answer);
}
