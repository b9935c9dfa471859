/* SPDX-License-Identifier: Apache-2.0 */

/* SASL without a socket: nmd's server gets responses that the test computes from RFC 2831. nmd's client talks to nmd's
 * server. Both get all messages that they must refuse. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <nettle/base64.h>
#include <nettle/md5.h>

#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/sasl.h"
#include "util/error.h"

static const char identifier[] = "an identifier \xff\0\x01";
static const uint8_t password[20] = "0123456789abcdefghij";

/* ---- RFC 2831 ----------------------------------------------------------------------------- */

static void md5(const void *data, size_t size, uint8_t out[16])
{
    struct md5_ctx context;

    md5_init(&context);
    md5_update(&context, size, data);
    md5_digest(&context, MD5_DIGEST_SIZE, out);
}

static void hex(const uint8_t in[16], char out[33])
{
    for (unsigned i = 0; i < 16; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", in[i]);
}

static void hex_of_text(const char *text, char out[33])
{
    uint8_t sum[16];

    md5(text, strlen(text), sum);
    hex(sum, out);
}

/* HEX(KD(HEX(H(A1)), nonce:00000001:cnonce:auth:HEX(H(A2)))) */
static void digest(const char *user, const char *realm, const char *secret, const char *nonce, const char *cnonce,
                   const char *a2, char out[33])
{
    char text[1024], ha1[33], ha2[33];
    uint8_t a1[512];
    int n = snprintf(text, sizeof text, "%s:%s:%s", user, realm, secret);

    md5(text, (size_t)n, a1);
    n = snprintf((char *)a1 + 16, sizeof a1 - 16, ":%s:%s", nonce, cnonce);
    uint8_t sum[16];
    md5(a1, 16 + (size_t)n, sum);
    hex(sum, ha1);
    hex_of_text(a2, ha2);
    (void)snprintf(text, sizeof text, "%s:%s:00000001:%s:auth:%s", ha1, nonce, cnonce, ha2);
    hex_of_text(text, out);
}

/* The example of the RFC's section 4. */
static void test_the_example_of_the_rfc_is_accepted(void **state)
{
    char out[33];

    (void)state;
    digest("chris", "elwood.innosoft.com", "secret", "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk",
           "AUTHENTICATE:imap/elwood.innosoft.com", out);
    assert_string_equal(out, "d388dad90d4bbd760a152321f2143af7");
    digest("chris", "elwood.innosoft.com", "secret", "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk",
           ":imap/elwood.innosoft.com", out);
    assert_string_equal(out, "ea40f60335c427b5527b84dbabcdfffd");
}

/* ---- the server --------------------------------------------------------------------------- */

static unsigned n_lookups;

static int lookup(void *userdata, struct nm_bytes id, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    const struct nm_bytes known = {(const uint8_t *)identifier, sizeof identifier};

    n_lookups++;
    if (!nm_bytes_equal(id, known)) {
        nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_INVALID_TOKEN, "%s", (char *)userdata);
        return -EKEYREJECTED;
    }
    (void)memcpy(ret->password, password, sizeof password);
    ret->password_size = sizeof password;
    (void)strcpy(ret->user, "somebody");
    return 0;
}

struct fixture {
    Gsasl *library;
    struct nm_sasl_server *server;
    const Hadoop__RpcSasl *out;
    struct nm_exception why;
};

static void set_up(struct fixture *w)
{
    *w = (struct fixture){};
    n_lookups = 0;
    assert_int_equal(gsasl_init(&w->library), GSASL_OK);
    assert_int_equal(nm_sasl_server_new(w->library, lookup, (void *)"no such token", &w->server), 0);
}

static void tear_down(struct fixture *w)
{
    nm_sasl_server_free(w->server);
    gsasl_done(w->library);
}

static int server_step(struct fixture *w, enum _Hadoop__RpcSasl__State state, const char *mechanism, const char *token)
{
    Hadoop__RpcSasl__Auth auth = HADOOP__RPC_SASL__AUTH__INIT, *auths[] = {&auth};
    Hadoop__RpcSasl in = HADOOP__RPC_SASL__INIT;

    in.state = state;
    auth.method = (char *)"TOKEN";
    auth.mechanism = (char *)mechanism;
    if (mechanism) {
        in.auths = auths;
        in.n_auths = 1;
    }
    if (token) {
        in.has_token = 1;
        in.token = (ProtobufCBinaryData){strlen(token), (uint8_t *)token};
    }
    return nm_sasl_server_step(w->server, &in, &w->out, &w->why);
}

/* Returns the nonce of a challenge. Asserts that the rest of the challenge equals that of a Java node. */
static void get_nonce(struct fixture *w, char *nonce, size_t size)
{
    char challenge[256];
    int end = 0;

    assert_int_equal(server_step(w, HADOOP__RPC_SASL__STATE__NEGOTIATE, NULL, NULL), 0);
    assert_int_equal(w->out->state, HADOOP__RPC_SASL__STATE__NEGOTIATE);
    assert_int_equal(w->out->n_auths, 1);
    assert_string_equal(w->out->auths[0]->method, "TOKEN");
    assert_string_equal(w->out->auths[0]->mechanism, "DIGEST-MD5");
    assert_string_equal(w->out->auths[0]->protocol, "");
    assert_string_equal(w->out->auths[0]->server_id, "default");
    (void)snprintf(challenge, sizeof challenge, "%.*s", (int)w->out->auths[0]->challenge.len,
                   (const char *)w->out->auths[0]->challenge.data);
    assert_int_equal(sscanf(challenge, "realm=\"default\", nonce=\"%127[^\"]\"%n", nonce, &end), 1);
    assert_true(end > 0 && strlen(nonce) >= 16 && strlen(nonce) < size);
    assert_non_null(strstr(challenge, "qop=\"auth\""));
    assert_non_null(strstr(challenge, "charset=utf-8"));
    assert_non_null(strstr(challenge, "algorithm=md5-sess"));
}

static void base64_text(char *ret, const uint8_t *data, size_t size)
{
    base64_encode_raw(ret, size, data);
    ret[BASE64_ENCODE_RAW_LENGTH(size)] = '\0';
}

/* Writes a response as Java's client does. */
static void respond(const char *nonce, const uint8_t *id, size_t id_size, const uint8_t *pass, char *out, size_t size,
                    char rspauth[33])
{
    char user[128], secret[64], response[33];

    base64_text(user, id, id_size);
    base64_text(secret, pass, 20);
    digest(user, "default", secret, nonce, "Y25vbmNl", "AUTHENTICATE:/default", response);
    digest(user, "default", secret, nonce, "Y25vbmNl", ":/default", rspauth);
    (void)snprintf(out, size,
                   "charset=utf-8,username=\"%s\",realm=\"default\",nonce=\"%s\",nc=00000001,cnonce=\"Y25vbmNl\","
                   "digest-uri=\"/default\",maxbuf=65536,response=%s,qop=auth",
                   user, nonce, response);
}

static void test_the_server_accepts_a_valid_response(void **state)
{
    char nonce[128], response[1024], rspauth[33], proof[64];
    struct fixture w;

    (void)state;
    set_up(&w);
    get_nonce(&w, nonce, sizeof nonce);
    respond(nonce, (const uint8_t *)identifier, sizeof identifier, password, response, sizeof response, rspauth);
    assert_int_equal(server_step(&w, HADOOP__RPC_SASL__STATE__INITIATE, "DIGEST-MD5", response), NM_SASL_E_DONE);
    assert_int_equal(w.out->state, HADOOP__RPC_SASL__STATE__SUCCESS);
    (void)snprintf(proof, sizeof proof, "rspauth=%s", rspauth);
    assert_int_equal(w.out->token.len, strlen(proof));
    assert_memory_equal(w.out->token.data, proof, strlen(proof));
    assert_int_equal(nm_sasl_server_identifier(w.server).size, sizeof identifier);
    assert_memory_equal(nm_sasl_server_identifier(w.server).data, identifier, sizeof identifier);
    assert_string_equal(nm_sasl_server_user(w.server), "somebody");
    assert_int_equal(n_lookups, 1);
    /* a second response is refused */
    assert_int_equal(server_step(&w, HADOOP__RPC_SASL__STATE__INITIATE, "DIGEST-MD5", response), -EACCES);
    tear_down(&w);
}

/* Each case is refused. The Java class of the exception depends on whether the token or the response was wrong. */
static void test_the_server_refuses_an_invalid_response(void **state)
{
    static const struct {
        const char *what, *class_name;
    } cases[] = {
        {"wrong password", NM_EXCEPTION_SASL},      {"unknown token", NM_EXCEPTION_INVALID_TOKEN},
        {"old nonce", NM_EXCEPTION_SASL},           {"other mechanism", NM_EXCEPTION_SASL},
        {"no response", NM_EXCEPTION_SASL},         {"garbage", NM_EXCEPTION_SASL},
        {"RESPONSE too early", NM_EXCEPTION_SASL},  {"user is no base64", NM_EXCEPTION_SASL},
        {"NEGOTIATE twice", NM_EXCEPTION_SASL},
    };
    char nonce[128], response[1024], rspauth[33];
    uint8_t other[20] = "0123456789abcdefghik";

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        enum _Hadoop__RpcSasl__State s = i == 6   ? HADOOP__RPC_SASL__STATE__RESPONSE
                                         : i == 8 ? HADOOP__RPC_SASL__STATE__NEGOTIATE
                                                  : HADOOP__RPC_SASL__STATE__INITIATE;
        struct fixture w;

        print_message("# %s\n", cases[i].what);
        set_up(&w);
        get_nonce(&w, nonce, sizeof nonce);
        respond(i == 2 ? "c29tZWJvZHkgZWxzZQ==" : nonce, (const uint8_t *)(i == 1 ? "another" : identifier),
                i == 1 ? 7 : sizeof identifier, i == 0 ? other : password, response, sizeof response, rspauth);
        if (i == 5)
            (void)strcpy(response, "response=,,,=\"");
        if (i == 7)
            (void)memset(strstr(response, "username=\"") + 10, '*', 8);
        assert_int_equal(server_step(&w, s, i == 3 ? "PLAIN" : "DIGEST-MD5", i == 4 ? NULL : response), -EACCES);
        assert_string_equal(w.why.class_name, cases[i].class_name);
        assert_int_equal(w.why.detail, NM_EXCEPTION_FATAL_UNAUTHORIZED);
        assert_true(strlen(w.why.message) > 5);
        /* after a refusal the exchange has ended */
        assert_int_equal(server_step(&w, HADOOP__RPC_SASL__STATE__NEGOTIATE, NULL, NULL), -EACCES);
        tear_down(&w);
    }
}

/* SASL tokens that aren't text, although libgsasl would read them as text. protobuf-c gives an empty token no data
 * pointer. */
static const ProtobufCBinaryData no_text[] = {
    {0, NULL}, {0, (uint8_t *)(uintptr_t)""}, {1, (uint8_t *)(uintptr_t)""}, {5, (uint8_t *)(uintptr_t)"a=\0\"b"}};

static void test_the_server_refuses_invalid_text(void **state)
{
    Hadoop__RpcSasl__Auth auth = HADOOP__RPC_SASL__AUTH__INIT, *auths[] = {&auth};
    Hadoop__RpcSasl in = HADOOP__RPC_SASL__INIT;
    char nonce[128];

    (void)state;
    auth.method = (char *)"TOKEN";
    auth.mechanism = (char *)"DIGEST-MD5";
    in.state = HADOOP__RPC_SASL__STATE__INITIATE;
    in.auths = auths;
    in.n_auths = 1;
    in.has_token = 1;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(no_text); i++) {
        struct fixture w;

        set_up(&w);
        get_nonce(&w, nonce, sizeof nonce);
        in.token = no_text[i];
        assert_int_equal(nm_sasl_server_step(w.server, &in, &w.out, &w.why), -EACCES);
        assert_true(nm_exception_is(&w.why, NM_EXCEPTION_SASL));
        assert_int_equal(n_lookups, 0);
        tear_down(&w);
    }
}

static void test_the_server_first_sends_its_offer(void **state)
{
    struct fixture w;

    (void)state;
    set_up(&w);
    assert_int_equal(server_step(&w, HADOOP__RPC_SASL__STATE__INITIATE, "DIGEST-MD5", "x"), -EACCES);
    tear_down(&w);
}

/* ---- the client --------------------------------------------------------------------------- */

static const struct nm_token token = {
    .identifier = {(const uint8_t *)identifier, sizeof identifier},
    .password = {password, sizeof password},
};

static int client_step(struct nm_sasl_client *c, const Hadoop__RpcSasl *in, const Hadoop__RpcSasl **out)
{
    struct nm_exception why = {};
    int r = nm_sasl_client_step(c, in, out, &why);

    assert_int_equal(r == -EACCES, nm_exception_is(&why, NM_EXCEPTION_SASL));
    return r;
}

static void test_client_and_server_authenticate_each_other(void **state)
{
    struct nm_sasl_client *c;
    const Hadoop__RpcSasl *out;
    Gsasl *library;
    struct fixture w;

    (void)state;
    set_up(&w);
    assert_int_equal(gsasl_init(&library), GSASL_OK);
    assert_int_equal(nm_sasl_client_new(library, &token, false, &c), 0);
    assert_int_equal(nm_sasl_server_step(w.server, nm_sasl_client_begin(c), &w.out, &w.why), 0);
    assert_int_equal(client_step(c, w.out, &out), 0);
    assert_int_equal(out->state, HADOOP__RPC_SASL__STATE__INITIATE);
    assert_false(out->auths[0]->has_challenge);
    assert_int_equal(nm_sasl_server_step(w.server, out, &w.out, &w.why), NM_SASL_E_DONE);
    assert_int_equal(client_step(c, w.out, &out), NM_SASL_E_DONE);
    assert_null(out);
    nm_sasl_client_free(c);
    gsasl_done(library);
    tear_down(&w);
}

/* The server sends the challenge in a separate message. */
static void test_the_client_accepts_a_challenge_in_a_separate_message(void **state)
{
    Hadoop__RpcSasl__Auth auth, *auths[] = {&auth};
    Hadoop__RpcSasl offer, later = HADOOP__RPC_SASL__INIT, initiate = HADOOP__RPC_SASL__INIT;
    struct nm_sasl_client *c;
    const Hadoop__RpcSasl *out;
    Gsasl *library;
    struct fixture w;

    (void)state;
    set_up(&w);
    assert_int_equal(gsasl_init(&library), GSASL_OK);
    assert_int_equal(nm_sasl_client_new(library, &token, false, &c), 0);
    assert_int_equal(nm_sasl_server_step(w.server, nm_sasl_client_begin(c), &w.out, &w.why), 0);
    offer = *w.out;
    auth = *offer.auths[0];
    auth.has_challenge = 0;
    offer.auths = auths;
    assert_int_equal(client_step(c, &offer, &out), 0);
    assert_int_equal(out->state, HADOOP__RPC_SASL__STATE__INITIATE);
    later.state = HADOOP__RPC_SASL__STATE__CHALLENGE;
    later.has_token = 1;
    later.token = w.out->auths[0]->challenge;
    assert_int_equal(client_step(c, &later, &out), 0);
    assert_int_equal(out->state, HADOOP__RPC_SASL__STATE__RESPONSE);
    initiate = *out; /* nmd's server expects the response in INITIATE */
    initiate.state = HADOOP__RPC_SASL__STATE__INITIATE;
    initiate.auths = auths;
    initiate.n_auths = 1;
    assert_int_equal(nm_sasl_server_step(w.server, &initiate, &w.out, &w.why), NM_SASL_E_DONE);
    assert_int_equal(client_step(c, w.out, &out), NM_SASL_E_DONE);
    nm_sasl_client_free(c);
    gsasl_done(library);
    tear_down(&w);
}

/* A server must prove that it knows the client's secret. A server that requires no authentication is refused unless
 * accepts_simple_auth. */
static void test_the_client_refuses_a_server_that_does_not_prove_its_identity(void **state)
{
    Hadoop__RpcSasl in = HADOOP__RPC_SASL__INIT;
    Hadoop__RpcSasl__Auth simple = HADOOP__RPC_SASL__AUTH__INIT, *auths[] = {&simple};
    struct nm_sasl_client *c;
    const Hadoop__RpcSasl *out;
    Gsasl *library;

    (void)state;
    simple.method = (char *)"SIMPLE";
    simple.mechanism = (char *)"";
    assert_int_equal(gsasl_init(&library), GSASL_OK);
    for (unsigned will_do = 0; will_do < 2; will_do++)
        for (unsigned i = 0; i < 4; i++) {
            static const enum _Hadoop__RpcSasl__State states[] = {
                HADOOP__RPC_SASL__STATE__SUCCESS, HADOOP__RPC_SASL__STATE__NEGOTIATE,
                HADOOP__RPC_SASL__STATE__CHALLENGE, HADOOP__RPC_SASL__STATE__WRAP};

            assert_int_equal(nm_sasl_client_new(library, &token, will_do, &c), 0);
            in.state = states[i];
            in.auths = auths;
            in.n_auths = 1;
            assert_int_equal(client_step(c, &in, &out), will_do && i < 2 ? NM_SASL_E_SIMPLE : -EACCES);
            nm_sasl_client_free(c);
        }
    gsasl_done(library);
}

/* The client refuses invalid text in a challenge with the offer, in a later challenge, and in the final proof. */
static void test_the_client_refuses_invalid_text(void **state)
{
    Gsasl *library;

    (void)state;
    assert_int_equal(gsasl_init(&library), GSASL_OK);
    for (unsigned i = 0; i <= NM_ARRAY_SIZE(no_text); i++)
        for (unsigned stage = 0; stage < 3; stage++) {
            Hadoop__RpcSasl__Auth auth, *auths[] = {&auth};
            Hadoop__RpcSasl offer, in = HADOOP__RPC_SASL__INIT;
            struct nm_sasl_client *c;
            const Hadoop__RpcSasl *out;
            struct fixture w;

            set_up(&w);
            assert_int_equal(nm_sasl_client_new(library, &token, false, &c), 0);
            assert_int_equal(nm_sasl_server_step(w.server, nm_sasl_client_begin(c), &w.out, &w.why), 0);
            offer = *w.out;
            auth = *offer.auths[0];
            offer.auths = auths;
            in.has_token = i < NM_ARRAY_SIZE(no_text); /* the last case has no token */
            if (in.has_token)
                in.token = no_text[i];
            auth.has_challenge = stage == 2 || (stage == 0 && in.has_token);
            if (stage == 0)
                auth.challenge = in.token;
            assert_int_equal(client_step(c, &offer, &out), stage == 0 && in.has_token ? -EACCES : 0);
            in.state = stage == 2 ? HADOOP__RPC_SASL__STATE__SUCCESS : HADOOP__RPC_SASL__STATE__CHALLENGE;
            assert_int_equal(client_step(c, &in, &out), -EACCES);
            nm_sasl_client_free(c);
            tear_down(&w);
        }
    gsasl_done(library);
}

static void test_the_client_requires_the_final_proof(void **state)
{
    Hadoop__RpcSasl in = HADOOP__RPC_SASL__INIT;
    struct nm_sasl_client *c;
    const Hadoop__RpcSasl *out;
    Gsasl *library;

    (void)state;
    assert_int_equal(gsasl_init(&library), GSASL_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct fixture w;

        set_up(&w);
        assert_int_equal(nm_sasl_client_new(library, &token, false, &c), 0);
        assert_int_equal(nm_sasl_server_step(w.server, nm_sasl_client_begin(c), &w.out, &w.why), 0);
        assert_int_equal(client_step(c, w.out, &out), 0);
        in.state = HADOOP__RPC_SASL__STATE__SUCCESS;
        in.has_token = i == 0;
        in.token = (ProtobufCBinaryData){40, (uint8_t *)"rspauth=00000000000000000000000000000000"};
        assert_int_equal(client_step(c, &in, &out), -EACCES);
        nm_sasl_client_free(c);
        tear_down(&w);
    }
    gsasl_done(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example_of_the_rfc_is_accepted),
        cmocka_unit_test(test_the_server_accepts_a_valid_response),
        cmocka_unit_test(test_the_server_refuses_an_invalid_response),
        cmocka_unit_test(test_the_server_refuses_invalid_text),
        cmocka_unit_test(test_the_server_first_sends_its_offer),
        cmocka_unit_test(test_client_and_server_authenticate_each_other),
        cmocka_unit_test(test_the_client_accepts_a_challenge_in_a_separate_message),
        cmocka_unit_test(test_the_client_refuses_a_server_that_does_not_prove_its_identity),
        cmocka_unit_test(test_the_client_refuses_invalid_text),
        cmocka_unit_test(test_the_client_requires_the_final_proof),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
