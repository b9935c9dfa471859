/* SPDX-License-Identifier: Apache-2.0 */

/* Signatures of the proxy of application masters: its own keys over time, the token that replaces that of the
 * ResourceManager, and tokens for containers on other nodes, which must accept these tokens. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "yarn-tokens.h"
#include "yarn/cm-protocol/token-check.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/local-tokens.h"
#include "yarn/sign.h"

#define NOW UINT64_C(1500000000000000)
#define EVERY (100 * NM_USEC_PER_SEC)
#define DELAY (30 * NM_USEC_PER_SEC)

/* ---- the proxy's own keys ----------------------------------------------------------------- */

static struct nm_yarn_local_random random_bytes(uint8_t first)
{
    struct nm_yarn_local_random c = {.number = 0xfffffffe};

    (void)memset(c.key, first, sizeof c.key);
    return c;
}

static void test_keys_are_replaced_after_their_time(void **state)
{
    struct nm_yarn_local_keys k = {.every_usec = EVERY, .delay_usec = DELAY};
    struct nm_yarn_local_random first = random_bytes(1), second = random_bytes(2), third = random_bytes(3);
    const int32_t id = INT32_MAX - 1;

    (void)state;
    assert_null(nm_yarn_local_keys_find(&k, 0));
    assert_true(nm_yarn_local_keys_step(&k, NOW, &first));
    assert_int_equal(nm_yarn_local_keys_signing(&k)->id, id);
    assert_false(nm_yarn_local_keys_step(&k, NOW + EVERY - 1, &second));
    assert_int_equal(nm_yarn_local_keys_due(&k), NOW + EVERY);

    assert_true(nm_yarn_local_keys_step(&k, NOW + EVERY, &second));
    assert_int_equal(nm_yarn_local_keys_signing(&k)->id, INT32_MAX);
    assert_int_equal(nm_yarn_local_keys_signing(&k)->bytes[0], 2);
    assert_int_equal(nm_yarn_local_keys_find(&k, id)->bytes[0], 1); /* application masters still use this key */
    assert_int_equal(nm_yarn_local_keys_due(&k), NOW + EVERY + DELAY);
    assert_false(nm_yarn_local_keys_step(&k, NOW + EVERY + DELAY - 1, &third));

    assert_true(nm_yarn_local_keys_step(&k, NOW + EVERY + DELAY, &third));
    assert_null(nm_yarn_local_keys_find(&k, id));
    assert_int_equal(nm_yarn_local_keys_signing(&k)->bytes[0], 2);
    /* The interval between two keys is independent of the delay before a key is used. */
    assert_false(nm_yarn_local_keys_step(&k, NOW + 2 * EVERY - 1, &third));
    assert_true(nm_yarn_local_keys_step(&k, NOW + 2 * EVERY, &third));
    assert_int_equal(nm_yarn_local_keys_signing(&k)->id, 0); /* the key number that follows the largest number */
}

/* Both times have passed while nmd was stopped. The next key becomes the current key, and a further key is made. */
static void test_after_a_long_stop_the_next_key_is_current(void **state)
{
    struct nm_yarn_local_keys k = {.every_usec = EVERY, .delay_usec = DELAY};
    struct nm_yarn_local_random first = random_bytes(1), second = random_bytes(2), third = random_bytes(3);

    (void)state;
    assert_true(nm_yarn_local_keys_step(&k, NOW, &first));
    assert_true(nm_yarn_local_keys_step(&k, NOW + EVERY, &second));
    assert_true(nm_yarn_local_keys_step(&k, NOW + 9 * EVERY, &third));
    assert_int_equal(k.current.bytes[0], 2);
    assert_int_equal(k.next.bytes[0], 3);
}

/* If the clock is set back by a day, this must not extend the lifetime of a key. */
static void test_a_clock_set_back_does_not_extend_the_lifetime_of_a_key(void **state)
{
    struct nm_yarn_local_keys k = {.every_usec = EVERY, .delay_usec = DELAY};
    struct nm_yarn_local_random first = random_bytes(1), second = random_bytes(2);
    const uint64_t back = NOW - 86400 * NM_USEC_PER_SEC;

    (void)state;
    assert_true(nm_yarn_local_keys_step(&k, NOW, &first));
    assert_true(nm_yarn_local_keys_step(&k, back, &second));
    assert_int_equal(nm_yarn_local_keys_due(&k), back + EVERY);
    assert_true(nm_yarn_local_keys_step(&k, back + EVERY, &second));
    assert_int_equal(nm_yarn_local_keys_signing(&k)->bytes[0], 2);
}

/* ---- the token that replaces the ResourceManager's ---------------------------------------- */

static struct nm_token token_of(const char *kind, const char *identifier)
{
    return (struct nm_token){.identifier = nm_bytes_of(identifier), .password = nm_bytes_of("secret"),
                             .kind = nm_bytes_of(kind), .service = nm_bytes_of("")};
}

static struct nm_token *our_token(void)
{
    const struct nm_yarn_attempt_id attempt = {{TOKENS_RM, 7}, 1};
    const struct nm_yarn_master_key key = tokens_key(4, 80);
    struct nm_token *ours;

    assert_int_equal(nm_yarn_local_token(&key, &attempt, &ours), 0);
    assert_int_equal(nm_token_verify(ours, NM_TOKEN_KIND_AMRM, key.bytes, key.size), 0);
    return ours;
}

static void test_the_token_of_the_resourcemanager_is_replaced(void **state)
{
    struct nm_credential tokens[] = {
        {nm_bytes_of("hdfs"), token_of("HDFS_DELEGATION_TOKEN", "h")},
        {nm_bytes_of("an alias"), token_of(NM_TOKEN_KIND_AMRM, "theirs")},
        {nm_bytes_of("another"), token_of(NM_TOKEN_KIND_AMRM, "theirs, too")},
    };
    struct nm_secret secret = {nm_bytes_of("s"), nm_bytes_of("value")};
    const struct nm_credentials before = {tokens, 3, &secret, 1};
    struct nm_credentials after;
    struct nm_token *ours = our_token(), *theirs;
    struct nm_writer w = {};
    struct nm_bytes bytes, replaced;
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 16, NULL);
    nm_credentials_write(&before, &w);
    assert_int_equal(nm_writer_result(&w, &bytes), 0);
    assert_int_equal(nm_yarn_replace_token(&a, bytes, ours, &replaced, &theirs), 0);
    assert_true(nm_bytes_equal(theirs->identifier, nm_bytes_of("theirs")));
    assert_int_equal(nm_credentials_parse(&a, replaced, &after), 0);
    assert_int_equal(after.n_tokens, 2);
    assert_true(nm_bytes_equal(after.tokens[0].token.identifier, nm_bytes_of("h")));
    assert_true(nm_bytes_equal(after.tokens[1].alias, nm_bytes_of("an alias")));
    assert_true(nm_bytes_equal(after.tokens[1].token.identifier, ours->identifier));
    assert_int_equal(after.n_secrets, 1);
    assert_true(nm_bytes_equal(after.secrets[0].value, nm_bytes_of("value")));
    nm_token_free(theirs);
    nm_token_free(ours);
    nm_writer_done(&w);
    nm_arena_done(&a);
}

static void test_credentials_without_the_token_of_the_resourcemanager_are_refused(void **state)
{
    struct nm_credential other = {nm_bytes_of("hdfs"), token_of("HDFS_DELEGATION_TOKEN", "h")};
    const struct nm_credentials without = {&other, 1, NULL, 0};
    struct nm_token *ours = our_token(), *theirs = NULL;
    struct nm_bytes bytes, replaced = {};
    struct nm_writer w = {};
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 16, NULL);
    nm_credentials_write(&without, &w);
    assert_int_equal(nm_writer_result(&w, &bytes), 0);
    assert_int_equal(nm_yarn_replace_token(&a, bytes, ours, &replaced, &theirs), -ENOKEY);
    bytes.size--;
    assert_int_equal(nm_yarn_replace_token(&a, bytes, ours, &replaced, &theirs), -EBADMSG);
    assert_int_equal(nm_yarn_replace_token(&a, (struct nm_bytes){}, ours, &replaced, &theirs), -EBADMSG);
    assert_null(theirs);
    assert_null(replaced.data);
    nm_token_free(ours);
    nm_writer_done(&w);
    nm_arena_done(&a);
}

/* ---- containers on other nodes ------------------------------------------------------------ */

/* The other node, which checks the tokens. */
struct fixture {
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_gate gate;
    struct nm_yarn_signer signer;
    struct nm_arena arena;
    struct nm_exception why;
};

static void set_up(struct fixture *w)
{
    *w = (struct fixture){};
    tokens_cluster(&w->keys);
    assert_int_equal(nm_yarn_keyring_new(&w->keys, &w->keyring), 0);
    assert_int_equal(nm_yarn_used_new(&w->used), 0);
    w->gate = (struct nm_yarn_gate){TOKENS_HOST, TOKENS_PORT, TOKENS_RM, w->keyring, w->used};
    w->signer.keys = &w->keys;
    w->signer.rm_identifier = TOKENS_RM;
    nm_arena_init(&w->arena, 1 << 20, NULL);
}

static void tear_down(struct fixture *w)
{
    nm_arena_done(&w->arena);
    nm_yarn_used_free(w->used);
    nm_yarn_keyring_free(w->keyring);
}

static struct nm_yarn_grant grant(void)
{
    return (struct nm_yarn_grant){.id = {{{TOKENS_RM, 7}, 1}, -1}, .submitter = "ada", .host = TOKENS_HOST,
                                  .port = TOKENS_PORT, .memory_mib = 1024, .vcores = 2,
                                  .created_msec = NOW / 1000, .expires_msec = NOW / 1000 + 600000,
                                  .request_id = 5, .priority = 20};
}

static void test_the_token_of_a_container_on_another_node_is_signed(void **state)
{
    const Hadoop__ContainerTokenIdentifier *id;
    const Hadoop__NMTokenIdentifier *caller;
    const struct nm_yarn_master_key *key;
    struct nm_yarn_grant g = grant();
    Hadoop__Token *token, *nm;
    struct nm_bytes bearer;
    struct fixture w;

    (void)state;
    set_up(&w);
    assert_int_equal(nm_yarn_sign_container(&w.signer, &g, NOW, &w.arena, &token), 0);
    assert_string_equal(token->service, TOKENS_HOST ":4711");
    assert_int_equal(nm_yarn_check_container(&w.gate, token, &w.arena, &id, &w.why), 0);
    assert_int_equal(id->container->id, -1);
    assert_int_equal(id->execution_type, HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__OPPORTUNISTIC);
    assert_int_equal(id->container_type, HADOOP__CONTAINER_TOKEN_IDENTIFIER__CONTAINER_TYPE__TASK);
    assert_int_equal(id->resource->memory, 1024);
    assert_int_equal(id->resource->vcores, 2);
    assert_int_equal(id->priority->priority, 20);
    assert_int_equal(id->allocation_request, 5);

    assert_int_equal(nm_yarn_sign_nm(&w.signer, &g.id.attempt, "ada", TOKENS_HOST, TOKENS_PORT, NOW, &w.arena, &nm), 0);
    bearer = nm_token_from_message(nm).identifier;
    assert_int_equal(nm_yarn_check_bearer(&w.gate, bearer, &w.arena, &caller, &key, &w.why), 0);
    assert_int_equal(nm_yarn_check_start(&w.gate, caller, id, NOW / 1000, &w.why), 0);
    g.host = "node08"; /* this node must not accept a token for another node */
    assert_int_equal(nm_yarn_sign_container(&w.signer, &g, NOW, &w.arena, &token), 0);
    assert_int_equal(nm_yarn_check_container(&w.gate, token, &w.arena, &id, &w.why), NM_YARN_TOKEN_E_INVALID);
    tear_down(&w);
}

/* A new key is used for signing only after a delay, since other nodes may not know the key yet. */
static void test_a_new_key_is_used_for_signing_after_a_delay(void **state)
{
    const Hadoop__ContainerTokenIdentifier *id;
    struct nm_yarn_grant g = grant();
    Hadoop__Token *token;
    struct fixture here, late;

    (void)state;
    set_up(&here);
    set_up(&late);
    assert_int_equal(nm_yarn_sign_container(&here.signer, &g, NOW, &here.arena, &token), 0);
    here.keys.container.previous = here.keys.container.current;
    here.keys.container.current = tokens_key(TOKENS_CONTAINER_KEY + 1, 90);
    for (uint64_t t = 0; t < NM_YARN_SIGN_SETTLED_USEC; t += NM_YARN_SIGN_SETTLED_USEC / 3) {
        assert_int_equal(nm_yarn_sign_container(&here.signer, &g, NOW + t, &here.arena, &token), 0);
        assert_int_equal(nm_yarn_check_container(&late.gate, token, &late.arena, &id, &late.why), 0);
    }
    assert_int_equal(
        nm_yarn_sign_container(&here.signer, &g, NOW + NM_YARN_SIGN_SETTLED_USEC, &here.arena, &token), 0);
    assert_int_equal(nm_yarn_check_container(&late.gate, token, &late.arena, &id, &late.why),
                     NM_YARN_TOKEN_E_INVALID);
    assert_int_equal(nm_yarn_check_container(&here.gate, token, &here.arena, &id, &here.why), 0);
    tear_down(&late);
    tear_down(&here);
}

static void test_without_a_key_no_token_is_signed(void **state)
{
    struct nm_yarn_grant g = grant();
    Hadoop__Token *token = NULL;
    struct fixture w;

    (void)state;
    set_up(&w);
    w.keys.container.current.size = w.keys.nm.current.size = 0;
    assert_int_equal(nm_yarn_sign_container(&w.signer, &g, NOW, &w.arena, &token), -ENOKEY);
    assert_int_equal(nm_yarn_sign_nm(&w.signer, &g.id.attempt, "ada", "h", 1, NOW, &w.arena, &token), -ENOKEY);
    assert_null(token);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_replaced_after_their_time),
        cmocka_unit_test(test_after_a_long_stop_the_next_key_is_current),
        cmocka_unit_test(test_a_clock_set_back_does_not_extend_the_lifetime_of_a_key),
        cmocka_unit_test(test_the_token_of_the_resourcemanager_is_replaced),
        cmocka_unit_test(test_credentials_without_the_token_of_the_resourcemanager_are_refused),
        cmocka_unit_test(test_the_token_of_a_container_on_another_node_is_signed),
        cmocka_unit_test(test_a_new_key_is_used_for_signing_after_a_delay),
        cmocka_unit_test(test_without_a_key_no_token_is_signed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
