/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The keys of a cluster, and tokens that are signed with these keys. tokens_cluster() makes the keys that a node has
 * after a registration. The identifiers are valid for node07:4711 until a test changes them.
 */

#include "rpc/hadoop/token.h"
#include "yarn/master-key.h"

#define TOKENS_HOST "node07"
#define TOKENS_PORT 4711
#define TOKENS_RM 1410901177871
#define TOKENS_CONTAINER_KEY 5
#define TOKENS_NM_KEY (-9)

static inline struct nm_yarn_master_key tokens_key(int32_t id, uint8_t first)
{
    struct nm_yarn_master_key k = {.id = id, .size = 8};

    for (size_t i = 0; i < k.size; i++)
        k.bytes[i] = (uint8_t)(first + i);
    return k;
}

static inline void tokens_cluster(struct nm_yarn_cluster_keys *k)
{
    *k = (struct nm_yarn_cluster_keys){.container.current = tokens_key(TOKENS_CONTAINER_KEY, 10),
                                       .nm.current = tokens_key(TOKENS_NM_KEY, 50)};
}

/* Identifiers, with all objects to which they point. Do not copy this structure, since its members point to each
 * other. */
struct tokens_id {
    Hadoop__ApplicationId application;
    Hadoop__AttemptId attempt;
    Hadoop__ContainerId container;
    Hadoop__NodeId node;
    Hadoop__Resource resource;
    Hadoop__NMTokenIdentifier nm;
    Hadoop__ContainerTokenIdentifier token;
    struct nm_token *signed_nm, *signed_token;
    Hadoop__Token message;
    char kind[32];
};

static inline void tokens_ids(struct tokens_id *t, int32_t application, int32_t attempt, int64_t container)
{
    *t = (struct tokens_id){.application = HADOOP__APPLICATION_ID__INIT, .attempt = HADOOP__ATTEMPT_ID__INIT,
                            .container = HADOOP__CONTAINER_ID__INIT};
    t->application.has_id = t->application.has_cluster_timestamp = 1;
    t->application.id = application;
    t->application.cluster_timestamp = TOKENS_RM;
    t->attempt.application = &t->application;
    t->attempt.has_attempt = 1;
    t->attempt.attempt = attempt;
    t->container.attempt = &t->attempt;
    t->container.has_id = 1;
    t->container.id = container;
}

static inline void tokens_nm(struct tokens_id *t)
{
    t->node = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    t->node.host = (char *)TOKENS_HOST;
    t->node.has_port = 1;
    t->node.port = TOKENS_PORT;
    t->nm = (Hadoop__NMTokenIdentifier)HADOOP__NMTOKEN_IDENTIFIER__INIT;
    t->nm.attempt = &t->attempt;
    t->nm.node = &t->node;
    t->nm.submitter = (char *)"ada";
    t->nm.has_key_id = 1;
    t->nm.key_id = TOKENS_NM_KEY;
}

static inline void tokens_container(struct tokens_id *t, int64_t expires_msec)
{
    t->resource = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    t->resource.has_memory = t->resource.has_vcores = 1;
    t->resource.memory = 1024;
    t->resource.vcores = 1;
    t->token = (Hadoop__ContainerTokenIdentifier)HADOOP__CONTAINER_TOKEN_IDENTIFIER__INIT;
    t->token.container = &t->container;
    t->token.node_address = (char *)TOKENS_HOST ":4711";
    t->token.submitter = (char *)"ada";
    t->token.resource = &t->resource;
    t->token.has_expires_msec = t->token.has_key_id = t->token.has_rm_identifier = 1;
    t->token.expires_msec = expires_msec;
    t->token.key_id = TOKENS_CONTAINER_KEY;
    t->token.rm_identifier = TOKENS_RM;
}

/* Fills in all ids, and the identifiers of both tokens. */
static inline void tokens_make(struct tokens_id *t, int32_t application, int32_t attempt, int64_t container,
                               int64_t expires_msec)
{
    tokens_ids(t, application, attempt, container);
    tokens_nm(t);
    tokens_container(t, expires_msec);
}

static inline void tokens_sign_nm(struct tokens_id *t, const struct nm_yarn_master_key *k)
{
    assert_int_equal(nm_token_sign(&t->nm.base, NM_TOKEN_KIND_NM, "", k->bytes, k->size, &t->signed_nm), 0);
}

/* Signs the container token and returns it as a message. */
static inline Hadoop__Token *tokens_sign(struct tokens_id *t, const struct nm_yarn_master_key *k)
{
    int r = nm_token_sign(&t->token.base, NM_TOKEN_KIND_CONTAINER, "", k->bytes, k->size, &t->signed_token);

    assert_int_equal(r, 0);
    (void)strcpy(t->kind, NM_TOKEN_KIND_CONTAINER);
    t->message = (Hadoop__Token)HADOOP__TOKEN__INIT;
    t->message.identifier = (ProtobufCBinaryData){t->signed_token->identifier.size,
                                                  (uint8_t *)t->signed_token->identifier.data};
    t->message.password = (ProtobufCBinaryData){t->signed_token->password.size,
                                                (uint8_t *)t->signed_token->password.data};
    t->message.kind = t->kind;
    t->message.service = (char *)"";
    return &t->message;
}

static inline void tokens_done(struct tokens_id *t)
{
    t->signed_nm = nm_token_free(t->signed_nm);
    t->signed_token = nm_token_free(t->signed_token);
}
