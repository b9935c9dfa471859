/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See sign.h. Java parses an identifier, serializes it again, and verifies the password for the result. So the fields
 * must be packed in the order of their numbers, as Java does it.
 */

#include "yarn/sign.h"

#include <errno.h>

#include "util/error.h"
#include "yarn/id-messages.h"

/* ---- keys --------------------------------------------------------------------------------- */

static const struct nm_yarn_master_key *choose(const struct nm_yarn_keys *keys, struct nm_yarn_current_key *current,
                                               uint64_t now_usec)
{
    if (!current->known || current->id != keys->current.id)
        *current = (struct nm_yarn_current_key){keys->current.id, true, now_usec};
    if (keys->previous.size > 0 && now_usec - current->since_usec < NM_YARN_SIGN_SETTLED_USEC)
        return &keys->previous;
    return &keys->current;
}

/* ---- messages ----------------------------------------------------------------------------- */

int nm_yarn_token_message(const struct nm_token *t, struct nm_arena *a, Hadoop__Token **ret)
{
    Hadoop__Token *m = nm_arena_alloc(a, sizeof *m);

    if (!m)
        return -ENOMEM;
    *m = (Hadoop__Token)HADOOP__TOKEN__INIT;
    m->identifier = (ProtobufCBinaryData){t->identifier.size, (uint8_t *)nm_arena_text(a, t->identifier)};
    m->password = (ProtobufCBinaryData){t->password.size, (uint8_t *)nm_arena_text(a, t->password)};
    m->kind = nm_arena_text(a, t->kind);
    m->service = nm_arena_text(a, t->service);
    if (!m->identifier.data || !m->password.data || !m->kind || !m->service)
        return -ENOMEM;
    *ret = m;
    return 0;
}

static int sign(const ProtobufCMessage *identifier, const char *kind, const char *service,
                const struct nm_yarn_master_key *key, struct nm_arena *a, Hadoop__Token **ret)
{
    _cleanup_(nm_token_freep) struct nm_token *t = NULL;
    int r = nm_token_sign(identifier, kind, service, key->bytes, key->size, &t);

    return r < 0 ? r : nm_yarn_token_message(t, a, ret);
}

/* Maximum size of a node's address. */
#define ADDRESS_SIZE (256 + sizeof ":65535")

int nm_yarn_sign_container(struct nm_yarn_signer *s, const struct nm_yarn_grant *g, uint64_t now_usec,
                           struct nm_arena *a, Hadoop__Token **ret)
{
    const struct nm_yarn_master_key *key = choose(&s->keys->container, &s->container, now_usec);
    Hadoop__ContainerTokenIdentifier id = HADOOP__CONTAINER_TOKEN_IDENTIFIER__INIT;
    Hadoop__Resource resource = HADOOP__RESOURCE__INIT;
    Hadoop__Priority priority = HADOOP__PRIORITY__INIT;
    struct nm_yarn_container_message ids;
    char address[ADDRESS_SIZE];

    if (key->size == 0)
        return -ENOKEY;
    resource.has_memory = resource.has_vcores = priority.has_priority = 1;
    resource.memory = g->memory_mib;
    resource.vcores = g->vcores;
    priority.priority = g->priority;
    (void)snprintf(address, sizeof address, "%s:%d", g->host, g->port);
    id.container = nm_yarn_container_message_set(&ids, &g->id);
    id.node_address = address;
    id.submitter = (char *)g->submitter;
    id.resource = &resource;
    id.has_expires_msec = id.has_key_id = id.has_rm_identifier = id.has_created_msec = id.has_container_type = 1;
    id.expires_msec = g->expires_msec;
    id.key_id = key->id;
    id.rm_identifier = s->rm_identifier;
    id.priority = &priority;
    id.created_msec = g->created_msec;
    id.node_label = (char *)"";
    id.container_type = HADOOP__CONTAINER_TOKEN_IDENTIFIER__CONTAINER_TYPE__TASK;
    id.has_execution_type = id.has_version = id.has_allocation_request = 1;
    id.execution_type = HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__OPPORTUNISTIC;
    id.version = 0;
    id.allocation_request = g->request_id;
    return sign(&id.base, NM_TOKEN_KIND_CONTAINER, address, key, a, ret);
}

int nm_yarn_sign_nm(struct nm_yarn_signer *s, const struct nm_yarn_attempt_id *attempt, const char *submitter,
                    const char *host, int32_t port, uint64_t now_usec, struct nm_arena *a, Hadoop__Token **ret)
{
    const struct nm_yarn_master_key *key = choose(&s->keys->nm, &s->nm, now_usec);
    Hadoop__NMTokenIdentifier id = HADOOP__NMTOKEN_IDENTIFIER__INIT;
    Hadoop__NodeId node = HADOOP__NODE_ID__INIT;
    char address[ADDRESS_SIZE];
    struct nm_yarn_attempt_message ids;

    if (key->size == 0)
        return -ENOKEY;
    node.host = (char *)host;
    node.has_port = id.has_key_id = 1;
    node.port = port;
    id.attempt = nm_yarn_attempt_message_set(&ids, attempt);
    id.node = &node;
    id.submitter = (char *)submitter;
    id.key_id = key->id;
    (void)snprintf(address, sizeof address, "%s:%d", host, port);
    return sign(&id.base, NM_TOKEN_KIND_NM, address, key, a, ret);
}
