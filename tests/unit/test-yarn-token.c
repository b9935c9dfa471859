/* SPDX-License-Identifier: Apache-2.0 */

/* Valid tokens and their use: the keys, and each reason for which a token is refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "yarn-tokens.h"
#include "yarn/cm-protocol/token-check.h"
#include "yarn/id-messages.h"

#define NOW 1500000000000
#define LATER (NOW + 600000)

struct fixture {
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_gate gate;
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
    nm_arena_init(&w->arena, 1 << 20, NULL);
}

static void tear_down(struct fixture *w)
{
    nm_arena_done(&w->arena);
    nm_yarn_used_free(w->used);
    nm_yarn_keyring_free(w->keyring);
}

/* Makes the next key the current key, as a heartbeat does. */
static void roll(struct nm_yarn_keys *keys, uint8_t first)
{
    keys->previous = keys->current;
    keys->current = tokens_key(keys->current.id + 1, first);
}

/* ---- keys --------------------------------------------------------------------------------- */

static bool has_attempt_key(struct fixture *w, const struct tokens_id *t, uint8_t first)
{
    const struct nm_yarn_master_key *k = nm_yarn_keyring_for_attempt(w->keyring, &t->nm);

    return k && k->bytes[0] == first;
}

static void test_tokens_of_the_current_and_the_previous_key_are_accepted(void **state)
{
    struct tokens_id t;
    struct fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&t, 1, 1, 2, LATER);
    assert_true(has_attempt_key(&w, &t, 50));
    assert_int_equal(nm_yarn_keyring_for_container(w.keyring, &t.token)->bytes[0], 10);
    roll(&w.keys.nm, 60);
    roll(&w.keys.container, 20);
    assert_true(has_attempt_key(&w, &t, 50));
    assert_int_equal(nm_yarn_keyring_for_container(w.keyring, &t.token)->bytes[0], 10);
    roll(&w.keys.nm, 70);
    roll(&w.keys.container, 30);
    assert_null(nm_yarn_keyring_for_attempt(w.keyring, &t.nm));
    assert_null(nm_yarn_keyring_for_container(w.keyring, &t.token));
    w.keys.nm.current.size = 0; /* the key is missing, although its id is unchanged */
    t.nm.key_id = w.keys.nm.current.id;
    assert_null(nm_yarn_keyring_for_attempt(w.keyring, &t.nm));
    assert_true(nm_yarn_keyring_is_empty(w.keyring));
    tear_down(&w);
}

/* The key of an attempt that has started a container stays valid for this attempt until the end of its application. */
static void test_the_key_of_an_attempt_with_a_container_is_remembered(void **state)
{
    struct nm_yarn_application_id application;
    struct tokens_id t, other;
    struct fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&t, 1, 1, 2, LATER);
    tokens_make(&other, 1, 2, 2, LATER);
    assert_int_equal(nm_yarn_keyring_add(w.keyring, &t.nm), 0);
    for (uint8_t i = 0; i < 3; i++) {
        roll(&w.keys.nm, (uint8_t)(60 + i));
        assert_true(has_attempt_key(&w, &t, 50));
        assert_int_equal(nm_yarn_keyring_add(w.keyring, &t.nm), 0); /* the attempt keeps using the key */
    }
    assert_null(nm_yarn_keyring_for_attempt(w.keyring, &other.nm));
    t.nm.key_id = 1234; /* a key that has never existed */
    assert_null(nm_yarn_keyring_for_attempt(w.keyring, &t.nm));
    t.nm.key_id = w.keys.nm.current.id; /* the attempt has a new token, signed with the current key */
    assert_int_equal(nm_yarn_keyring_add(w.keyring, &t.nm), 0);
    roll(&w.keys.nm, 70);
    roll(&w.keys.nm, 80);
    assert_true(has_attempt_key(&w, &t, 62));
    application = nm_yarn_application_of(&t.application);
    application.number++;
    nm_yarn_keyring_drop(w.keyring, &application);
    assert_true(has_attempt_key(&w, &t, 62));
    application.number--;
    nm_yarn_keyring_drop(w.keyring, &application);
    assert_null(nm_yarn_keyring_for_attempt(w.keyring, &t.nm));
    tear_down(&w);
}

static void test_the_keys_of_many_attempts_are_remembered(void **state)
{
    struct tokens_id t;
    struct fixture w;

    (void)state;
    set_up(&w);
    for (int32_t i = 0; i < 1000; i++) {
        tokens_make(&t, i / 2, i % 2, 1, LATER);
        assert_int_equal(nm_yarn_keyring_add(w.keyring, &t.nm), 0);
    }
    roll(&w.keys.nm, 60);
    roll(&w.keys.nm, 70);
    for (int32_t i = 0; i < 1000; i += 7) {
        struct nm_yarn_application_id id = {TOKENS_RM, i / 2};

        tokens_make(&t, i / 2, i % 2, 1, LATER);
        assert_true(has_attempt_key(&w, &t, 50));
        nm_yarn_keyring_drop(w.keyring, &id);
        assert_null(nm_yarn_keyring_for_attempt(w.keyring, &t.nm));
    }
    tear_down(&w);
}

/* ---- used tokens -------------------------------------------------------------------------- */

static void test_used_tokens_are_remembered_until_they_expire(void **state)
{
    struct nm_yarn_container_id id = {{{TOKENS_RM, 1}, 1}, 0};
    struct nm_yarn_used *u;

    (void)state;
    assert_int_equal(nm_yarn_used_new(&u), 0);
    for (id.number = 0; id.number < NM_YARN_USED_MAX; id.number++) {
        assert_int_equal(nm_yarn_used_make_room(u, id.number >= 64 ? 0 : NOW), 0);
        nm_yarn_used_add(u, &id, NOW + id.number);
    }
    assert_int_equal(nm_yarn_used_make_room(u, NOW), -ENOBUFS);
    id.number = 3;
    assert_true(nm_yarn_used_has(u, &id));
    id.attempt.number = 2;
    assert_false(nm_yarn_used_has(u, &id));
    id.attempt.number = 1;
    assert_int_equal(nm_yarn_used_make_room(u, NOW + 3), 0); /* tokens 0 to 2 have expired, and token 3 expires now */
    assert_true(nm_yarn_used_has(u, &id));
    id.number = 2;
    assert_false(nm_yarn_used_has(u, &id));
    nm_yarn_used_free(u);
}

/* ---- callers of ContainerManagementProtocol ----------------------------------------------- */

static int check_bearer(struct fixture *w, struct tokens_id *t)
{
    const struct nm_yarn_master_key *key = NULL;
    const Hadoop__NMTokenIdentifier *ret = NULL;
    struct nm_yarn_master_key any = tokens_key(0, 0);
    int r;

    tokens_sign_nm(t, &any);
    r = nm_yarn_check_bearer(&w->gate, t->signed_nm->identifier, &w->arena, &ret, &key, &w->why);
    if (r == 0) {
        assert_int_equal(key->id, t->nm.key_id);
        assert_int_equal(ret->attempt->attempt, t->attempt.attempt);
    } else {
        assert_null(key);
    }
    tokens_done(t);
    return r;
}

static void test_an_invalid_token_of_a_caller_is_refused(void **state)
{
    struct tokens_id t;
    struct fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&t, 1, 1, 2, LATER);
    assert_int_equal(check_bearer(&w, &t), 0);
    t.node.host = (char *)"node7";
    assert_int_equal(check_bearer(&w, &t), NM_YARN_TOKEN_E_INVALID);
    assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    assert_non_null(strstr(w.why.message, "expected : node07:4711 found : node7:4711"));
    t.node.host = (char *)TOKENS_HOST;
    t.node.port++;
    assert_int_equal(check_bearer(&w, &t), NM_YARN_TOKEN_E_INVALID);
    t.node.port--;
    t.nm.key_id++;
    assert_int_equal(check_bearer(&w, &t), NM_YARN_TOKEN_E_INVALID);
    assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    assert_non_null(strstr(w.why.message, "_0001_000001 seems to have been generated illegally"));
    t.nm.key_id--;
    t.nm.submitter = NULL;
    assert_int_equal(check_bearer(&w, &t), NM_YARN_TOKEN_E_INVALID);
    t.nm.submitter = (char *)"ada";
    w.keys.nm.current.size = 0;
    assert_int_equal(check_bearer(&w, &t), NM_YARN_TOKEN_E_REFUSED);
    assert_string_equal(w.why.class_name, NM_EXCEPTION_NOT_YET_READY);
    tear_down(&w);
}

/* ---- container tokens --------------------------------------------------------------------- */

struct spoiled {
    const char *name;
    void (*spoil)(struct tokens_id *t);
    int outcome;
    const char *class_name, *words;
};

static void leave(struct tokens_id *t)
{
    (void)t;
}
static void other_host(struct tokens_id *t)
{
    t->token.node_address = (char *)"node7:4711";
}
static void other_port(struct tokens_id *t)
{
    t->token.node_address = (char *)"node07:47110";
}
static void unknown_key(struct tokens_id *t)
{
    t->token.key_id++;
}
static void no_key(struct tokens_id *t)
{
    t->token.has_key_id = 0;
}
static void no_submitter(struct tokens_id *t)
{
    t->token.submitter = NULL;
}
static void incomplete_id(struct tokens_id *t)
{
    t->attempt.has_attempt = 0;
}
static void of_another(struct tokens_id *t)
{
    t->application.id++;
}
static void of_another_attempt(struct tokens_id *t)
{
    t->attempt.attempt++;
}
static void expired(struct tokens_id *t)
{
    t->token.expires_msec = NOW - 1;
}
static void no_expiry_time(struct tokens_id *t)
{
    t->token.has_expires_msec = 0;
}
static void expires_now(struct tokens_id *t)
{
    t->token.expires_msec = NOW;
}
static void former_rm(struct tokens_id *t)
{
    t->token.rm_identifier--;
}
static void no_rm(struct tokens_id *t)
{
    t->token.has_rm_identifier = 0;
}

#define INVALID NM_YARN_TOKEN_E_INVALID, NM_EXCEPTION_INVALID_TOKEN
#define REFUSED NM_YARN_TOKEN_E_REFUSED, NM_EXCEPTION_YARN

static const struct spoiled table[] = {
    {"unchanged", leave, 0, NULL, NULL},
    {"another host", other_host, INVALID, "Expected : node07:4711 Found : node7:4711"},
    {"another port", other_port, INVALID, "identifier is not valid for current Node manager"},
    {"an unknown key", unknown_key, INVALID, "illegally generated token"},
    {"no key", no_key, INVALID, "illegally generated token"},
    {"without a submitter", no_submitter, INVALID, "Invalid ContainerToken"},
    {"incomplete id", incomplete_id, INVALID, "Invalid ContainerToken"},
    {"of another application", of_another, REFUSED, "appattempt_1410901177871_0001_000001 was used for starting"},
    {"of a later attempt", of_another_attempt, 0, NULL, NULL},
    {"expired", expired, REFUSED, "This token is expired"},
    {"without an expiry time", no_expiry_time, REFUSED, "This token is expired"},
    {"at its expiry time", expires_now, 0, NULL, NULL},
    {"of a former ResourceManager", former_rm, NM_YARN_TOKEN_E_REFUSED, NM_EXCEPTION_INVALID_CONTAINER,
     "container_1410901177871_0001_01_000002 rejected as it is allocated by a previous RM"},
    {"without a ResourceManager", no_rm, NM_YARN_TOKEN_E_REFUSED, NM_EXCEPTION_INVALID_CONTAINER, "previous RM"},
};

static int check_start(struct fixture *w, struct tokens_id *t, const struct tokens_id *caller)
{
    const Hadoop__ContainerTokenIdentifier *token;
    const Hadoop__Token *m = tokens_sign(t, &w->keys.container.current);
    int r = nm_yarn_check_container(&w->gate, m, &w->arena, &token, &w->why);

    if (r == 0)
        r = nm_yarn_check_start(&w->gate, &caller->nm, token, NOW, &w->why);
    tokens_done(t);
    return r;
}

static void test_an_invalid_token_of_a_container_is_refused(void **state)
{
    struct tokens_id t, caller;
    struct fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 2, LATER);
    for (size_t i = 0; i < NM_ARRAY_SIZE(table); i++) {
        const struct spoiled *s = &table[i];

        tokens_make(&t, 1, 1, 2, LATER);
        s->spoil(&t);
        if (check_start(&w, &t, &caller) != s->outcome)
            fail_msg("%s: %s", s->name, w.why.message);
        if (s->outcome == 0)
            continue;
        assert_string_equal(w.why.class_name, s->class_name);
        if (!strstr(w.why.message, s->words))
            fail_msg("%s: %s", s->name, w.why.message);
    }
    w.gate.rm_identifier = 0;
    tokens_make(&t, 1, 1, 2, LATER);
    t.token.rm_identifier = 0; /* 0 is no valid id of a ResourceManager */
    assert_int_equal(check_start(&w, &t, &caller), NM_YARN_TOKEN_E_REFUSED);
    tear_down(&w);
}

/* Any changed bit of a token is detected: in the identifier, in the password and in the kind. */
static void test_a_changed_bit_of_a_token_is_detected(void **state)
{
    const Hadoop__ContainerTokenIdentifier *token;
    struct tokens_id t;
    Hadoop__Token *m;
    struct fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&t, 1, 1, 2, LATER);
    m = tokens_sign(&t, &w.keys.container.current);
    for (size_t bit = 0; bit < 8 * m->identifier.len; bit++) {
        m->identifier.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(nm_yarn_check_container(&w.gate, m, &w.arena, &token, &w.why), NM_YARN_TOKEN_E_INVALID);
        m->identifier.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        nm_arena_done(&w.arena);
        nm_arena_init(&w.arena, 1 << 20, NULL);
    }
    for (size_t bit = 0; bit < 8 * m->password.len; bit++) {
        m->password.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(nm_yarn_check_container(&w.gate, m, &w.arena, &token, &w.why), NM_YARN_TOKEN_E_INVALID);
        assert_string_equal(w.why.message, "Invalid container token used for starting container on : node07:4711");
        m->password.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    m->password.len--;
    assert_int_equal(nm_yarn_check_container(&w.gate, m, &w.arena, &token, &w.why), NM_YARN_TOKEN_E_INVALID);
    m->password.len++;
    t.kind[0] = 'X';
    assert_int_equal(nm_yarn_check_container(&w.gate, m, &w.arena, &token, &w.why), NM_YARN_TOKEN_E_INVALID);
    t.kind[0] = 'C';
    assert_int_equal(nm_yarn_check_container(&w.gate, NULL, &w.arena, &token, &w.why), NM_YARN_TOKEN_E_INVALID);
    assert_int_equal(nm_yarn_check_container(&w.gate, m, &w.arena, &token, &w.why), 0);
    tokens_done(&t);
    tear_down(&w);
}

static void test_a_used_or_expired_token_is_refused(void **state)
{
    struct nm_yarn_container_id id;
    struct tokens_id t, caller;
    struct fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 1, 2, LATER);
    tokens_make(&t, 1, 1, 2, LATER);
    id = nm_yarn_container_of(&t.container);
    assert_int_equal(nm_yarn_used_make_room(w.used, NOW), 0);
    nm_yarn_used_add(w.used, &id, LATER);
    assert_int_equal(check_start(&w, &t, &caller), NM_YARN_TOKEN_E_REFUSED);
    assert_non_null(strstr(w.why.message, "Attempt to relaunch the same container"));
    assert_int_equal(nm_yarn_check_update(&w.gate, &caller.nm, &t.token, NOW, &w.why), 0);
    assert_int_equal(nm_yarn_check_update(&w.gate, &caller.nm, &t.token, LATER + 1, &w.why), NM_YARN_TOKEN_E_REFUSED);
    assert_non_null(strstr(w.why.message, "increase container resource. This token is expired"));
    tear_down(&w);
}

static void test_only_the_application_of_a_container_may_control_it(void **state)
{
    struct tokens_id t, caller;
    struct fixture w;

    (void)state;
    set_up(&w);
    tokens_make(&caller, 1, 2, 2, LATER);
    tokens_make(&t, 1, 1, 7, LATER);
    assert_int_equal(nm_yarn_check_owner(&caller.nm, &t.container, "stop", &w.why), 0);
    t.application.id = 2;
    assert_int_equal(nm_yarn_check_owner(&caller.nm, &t.container, "stop", &w.why), NM_YARN_TOKEN_E_REFUSED);
    assert_string_equal(w.why.class_name, NM_EXCEPTION_YARN);
    assert_string_equal(w.why.message, "appattempt_1410901177871_0001_000002 attempted to stop non-application "
                                       "container : container_1410901177871_0002_01_000007");
    t.application.id = 1;
    t.application.cluster_timestamp++;
    assert_int_equal(nm_yarn_check_owner(&caller.nm, &t.container, "stop", &w.why), NM_YARN_TOKEN_E_REFUSED);
    t.application.cluster_timestamp--;
    t.container.attempt = NULL;
    assert_int_equal(nm_yarn_check_owner(&caller.nm, &t.container, "stop", &w.why), NM_YARN_TOKEN_E_REFUSED);
    t.container.attempt = &t.attempt;
    t.container.has_id = 0;
    assert_int_equal(nm_yarn_check_owner(&caller.nm, &t.container, "stop", &w.why), NM_YARN_TOKEN_E_REFUSED);
    assert_int_equal(nm_yarn_check_owner(&caller.nm, NULL, "stop", &w.why), NM_YARN_TOKEN_E_REFUSED);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_of_the_current_and_the_previous_key_are_accepted),
        cmocka_unit_test(test_the_key_of_an_attempt_with_a_container_is_remembered),
        cmocka_unit_test(test_the_keys_of_many_attempts_are_remembered),
        cmocka_unit_test(test_used_tokens_are_remembered_until_they_expire),
        cmocka_unit_test(test_an_invalid_token_of_a_caller_is_refused),
        cmocka_unit_test(test_an_invalid_token_of_a_container_is_refused),
        cmocka_unit_test(test_a_changed_bit_of_a_token_is_detected),
        cmocka_unit_test(test_a_used_or_expired_token_is_refused),
        cmocka_unit_test(test_only_the_application_of_a_container_may_control_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
