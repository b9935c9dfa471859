/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes requests to a node's port. The input is a request with container tokens, a list of ids, or the identifier of
 * the caller's token. Tokens with a wrong signature must be refused. The target then signs the tokens with the correct
 * key, to reach the code after the check of the signature.
 */

#include <stdio.h>
#include <stdlib.h>

#include "rpc/hadoop/digest.h"
#include "yarn/containers.pb-c.h"
#include "yarn/cm-protocol/token-check.h"
#include "yarn/id-messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1500000000000

struct fixture {
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_gate gate;
    struct nm_exception why;
};

static void begin(struct fixture *w)
{
    const struct nm_yarn_master_key key = {.id = 5, .bytes = "eight...", .size = 8};

    *w = (struct fixture){};
    w->keys.container.current = w->keys.nm.current = key;
    if (nm_yarn_keyring_new(&w->keys, &w->keyring) < 0 || nm_yarn_used_new(&w->used) < 0)
        abort();
    w->gate = (struct nm_yarn_gate){"node07", 4711, 1410901177871, w->keyring, w->used};
}

static void end(struct fixture *w)
{
    nm_yarn_used_free(w->used);
    nm_yarn_keyring_free(w->keyring);
}

static void use(struct fixture *w, const Hadoop__ContainerTokenIdentifier *token)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(token->container);
    Hadoop__NMTokenIdentifier caller = HADOOP__NMTOKEN_IDENTIFIER__INIT;

    caller.attempt = token->container->attempt;
    (void)nm_yarn_check_update(&w->gate, &caller, token, NOW, &w->why);
    if (nm_yarn_check_start(&w->gate, &caller, token, NOW, &w->why) != 0)
        return;
    if (nm_yarn_used_make_room(w->used, NOW) < 0)
        return;
    nm_yarn_used_add(w->used, &id, token->expires_msec);
    if (nm_yarn_check_start(&w->gate, &caller, token, NOW, &w->why) == 0)
        abort(); /* a token must be accepted only once */
}

static void try_token(struct fixture *w, const Hadoop__Token *m, struct nm_arena *a)
{
    const struct nm_yarn_master_key *key = &w->keys.container.current;
    const Hadoop__ContainerTokenIdentifier *token;
    uint8_t password[NM_DIGEST_SIZE];
    Hadoop__Token good = *m;
    int r = nm_yarn_check_container(&w->gate, m, a, &token, &w->why);

    if (nm_digest_hmac(key->bytes, key->size, m->identifier.data, m->identifier.len, password) < 0)
        abort();
    if (r == 0 && !nm_digest_equal(password, sizeof password, m->password.data, m->password.len))
        abort();
    good.password = (ProtobufCBinaryData){sizeof password, password};
    good.kind = (char *)"ContainerToken";
    if (nm_yarn_check_container(&w->gate, &good, a, &token, &w->why) == 0)
        use(w, token);
}

static void try_start(struct fixture *w, struct nm_bytes bytes, struct nm_arena *a)
{
    const Yarn__StartRequest *r =
        (const Yarn__StartRequest *)nm_arena_unpack(a, &yarn__start_request__descriptor, bytes);

    for (size_t i = 0; r && i < r->n_starts; i++)
        if (r->starts[i]->token)
            try_token(w, r->starts[i]->token, a);
}

static void try_ids(struct fixture *w, struct nm_bytes bytes, struct nm_arena *a)
{
    const Yarn__Ids *r = (const Yarn__Ids *)nm_arena_unpack(a, &yarn__ids__descriptor, bytes);
    Hadoop__NMTokenIdentifier caller = HADOOP__NMTOKEN_IDENTIFIER__INIT;

    for (size_t i = 0; r && i < r->n_ids; i++) {
        if (!nm_yarn_is_container(r->ids[i])) {
            if (nm_yarn_check_owner(&caller, r->ids[i], "see", &w->why) == 0)
                abort();
            continue;
        }
        caller.attempt = caller.attempt ?: r->ids[i]->attempt;
        (void)nm_yarn_check_owner(&caller, r->ids[i], "see", &w->why);
    }
}

static void try_bearer(struct fixture *w, struct nm_bytes bytes, struct nm_arena *a)
{
    const struct nm_yarn_master_key *key;
    const Hadoop__NMTokenIdentifier *token;

    if (nm_yarn_check_bearer(&w->gate, bytes, a, &token, &key, &w->why) != 0)
        return;
    if (strcmp(token->node->host, "node07") != 0 || token->node->port != 4711 ||
        nm_yarn_keyring_add(w->keyring, token) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_bytes whole = {data, size};
    struct fixture w;
    struct nm_arena a;

    begin(&w);
    nm_arena_init(&a, 8 * nm_arena_limit(size), NULL);
    try_bearer(&w, whole, &a);
    try_ids(&w, whole, &a);
    try_start(&w, whole, &a);
    nm_arena_done(&a);
    end(&w);
    return 0;
}
