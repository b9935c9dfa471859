/* SPDX-License-Identifier: Apache-2.0 */

/* See sasl.h. */

#include "rpc/hadoop/sasl.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>

enum phase { BEGUN, INITIATED, RESPONDED, OVER };

struct nm_sasl_client {
    Gsasl *library;
    Gsasl_session *session;
    const struct nm_token *token;
    bool accepts_simple_auth;
    enum phase phase;
    char *reply; /* text that libgsasl has allocated; `out` points to this text */
    Hadoop__RpcSasl out;
    Hadoop__RpcSasl__Auth auth, *auths[1];
    char *words[2]; /* SASL service name and host name from the server's offer */
};

int nm_sasl_client_new(Gsasl *library, const struct nm_token *token, bool accepts_simple_auth,
                       struct nm_sasl_client **ret)
{
    struct nm_sasl_client *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    c->library = library;
    c->token = token;
    c->accepts_simple_auth = accepts_simple_auth;
    *ret = c;
    return 0;
}

struct nm_sasl_client *nm_sasl_client_free(struct nm_sasl_client *c)
{
    if (!c)
        return NULL;
    if (c->session)
        gsasl_finish(c->session);
    gsasl_free(c->reply);
    free(c->words[0]);
    free(c->words[1]);
    free(c);
    return NULL;
}

const Hadoop__RpcSasl *nm_sasl_client_begin(struct nm_sasl_client *c)
{
    assert(c->phase == BEGUN);
    c->out = (Hadoop__RpcSasl)HADOOP__RPC_SASL__INIT;
    c->out.state = HADOOP__RPC_SASL__STATE__NEGOTIATE;
    return &c->out;
}

nm_printf(3, 4) static int refuse(struct nm_sasl_client *c, struct nm_exception *why, const char *format, ...)
{
    char message[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_SASL, "%s", message);
    c->phase = OVER;
    return -EACCES;
}

/* ---- libgsasl ----------------------------------------------------------------------------- */

static int set_base64(Gsasl_session *session, Gsasl_property property, struct nm_bytes value)
{
    char *text = NULL;
    size_t size;
    int r = gsasl_base64_to((const char *)value.data, value.size, &text, &size);

    if (r != GSASL_OK)
        return r;
    r = gsasl_property_set(session, property, text);
    explicit_bzero(text, size);
    gsasl_free(text);
    return r;
}

static int start(struct nm_sasl_client *c)
{
    int r = gsasl_client_start(c->library, NM_SASL_MECHANISM, &c->session);

    if (r == GSASL_OK)
        r = set_base64(c->session, GSASL_AUTHID, c->token->identifier);
    if (r == GSASL_OK)
        r = set_base64(c->session, GSASL_PASSWORD, c->token->password);
    if (r == GSASL_OK) /* the protocol and host name form the digest-uri: "/default" */
        r = gsasl_property_set(c->session, GSASL_SERVICE, c->words[0]);
    if (r == GSASL_OK)
        r = gsasl_property_set(c->session, GSASL_HOSTNAME, c->words[1]);
    if (r == GSASL_OK)
        r = gsasl_property_set(c->session, GSASL_QOP, "qop-auth");
    return r;
}

static int step(struct nm_sasl_client *c, const ProtobufCBinaryData *in, enum _Hadoop__RpcSasl__State state)
{
    size_t size = 0;
    int r;

    gsasl_free(c->reply);
    c->reply = NULL;
    r = gsasl_step(c->session, (const char *)in->data, in->len, &c->reply, &size);
    c->out = (Hadoop__RpcSasl)HADOOP__RPC_SASL__INIT;
    c->out.state = state;
    c->out.has_token = 1;
    c->out.token = (ProtobufCBinaryData){size, (uint8_t *)c->reply};
    return r;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void attach_auth(struct nm_sasl_client *c, const char *method, const char *mechanism)
{
    c->auth = (Hadoop__RpcSasl__Auth)HADOOP__RPC_SASL__AUTH__INIT;
    c->auth.method = (char *)method;
    c->auth.mechanism = (char *)mechanism;
    c->auth.protocol = c->words[0];
    c->auth.server_id = c->words[1];
    c->auths[0] = &c->auth;
    c->out.auths = c->auths;
    c->out.n_auths = 1;
}

static const Hadoop__RpcSasl__Auth *find(const Hadoop__RpcSasl *in, const char *method, const char *mechanism)
{
    for (size_t i = 0; i < in->n_auths; i++)
        if (nm_streq(in->auths[i]->method, method) && (!mechanism || nm_streq(in->auths[i]->mechanism, mechanism)))
            return in->auths[i];
    return NULL;
}

/* Answers the server's challenge, which is part of its offer or follows later. */
static int respond(struct nm_sasl_client *c, const ProtobufCBinaryData *challenge, enum _Hadoop__RpcSasl__State state,
                   struct nm_exception *why)
{
    int r;

    if (!nm_sasl_is_text(challenge))
        return refuse(c, why, "The server's challenge is missing, empty or contains NUL.");
    r = step(c, challenge, state);
    if (r != GSASL_NEEDS_MORE && r != GSASL_OK)
        return refuse(c, why, "The server's challenge is not valid: %s.", gsasl_strerror(r));
    c->phase = RESPONDED;
    return 0;
}

/* Accepts an offer. If the offer has no challenge, the response is empty, and the server sends the challenge in its
 * next message. */
static int answer_offer(struct nm_sasl_client *c, const Hadoop__RpcSasl__Auth *offer, struct nm_exception *why)
{
    int r;

    c->words[0] = strdup(offer->protocol ?: "");
    c->words[1] = strdup(offer->server_id ?: "");
    if (!c->words[0] || !c->words[1])
        return -ENOMEM;
    r = start(c);
    if (r != GSASL_OK)
        return refuse(c, why, NM_SASL_MECHANISM " can't be started: %s.", gsasl_strerror(r));
    if (offer->has_challenge) {
        r = respond(c, &offer->challenge, HADOOP__RPC_SASL__STATE__INITIATE, why);
        if (r < 0)
            return r;
    } else {
        c->out = (Hadoop__RpcSasl)HADOOP__RPC_SASL__INIT;
        c->out.state = HADOOP__RPC_SASL__STATE__INITIATE;
        c->out.has_token = 1;
        c->phase = INITIATED;
    }
    attach_auth(c, NM_SASL_METHOD, NM_SASL_MECHANISM);
    return 0;
}

static int negotiate(struct nm_sasl_client *c, const Hadoop__RpcSasl *in, struct nm_exception *why)
{
    const Hadoop__RpcSasl__Auth *offer = find(in, NM_SASL_METHOD, NM_SASL_MECHANISM);

    if (offer)
        return answer_offer(c, offer, why);
    if (!c->accepts_simple_auth || !find(in, "SIMPLE", NULL))
        return refuse(c, why, "The server offers no " NM_SASL_METHOD " with " NM_SASL_MECHANISM ".");
    c->out = (Hadoop__RpcSasl)HADOOP__RPC_SASL__INIT;
    c->out.state = HADOOP__RPC_SASL__STATE__INITIATE;
    attach_auth(c, "SIMPLE", "");
    c->phase = OVER;
    return NM_SASL_E_SIMPLE;
}

static int accepted(struct nm_sasl_client *c, const Hadoop__RpcSasl *in, struct nm_exception *why)
{
    int r;

    if (c->phase == BEGUN && c->accepts_simple_auth) {
        c->phase = OVER;
        return NM_SASL_E_SIMPLE;
    }
    if (c->phase != RESPONDED || !in->has_token || !nm_sasl_is_text(&in->token))
        return refuse(c, why, "The server accepted the connection without a proof that it knows the token's password.");
    r = step(c, &in->token, HADOOP__RPC_SASL__STATE__RESPONSE);
    if (r != GSASL_OK)
        return refuse(c, why, "The server doesn't know the token's password: %s.", gsasl_strerror(r));
    c->phase = OVER;
    return NM_SASL_E_DONE;
}

int nm_sasl_client_step(struct nm_sasl_client *c, const Hadoop__RpcSasl *in, const Hadoop__RpcSasl **ret_out,
                        struct nm_exception *why)
{
    int r;

    if (in->state == HADOOP__RPC_SASL__STATE__NEGOTIATE && c->phase == BEGUN) {
        r = negotiate(c, in, why);
        if (r >= 0)
            *ret_out = &c->out;
        return r;
    }
    if (in->state == HADOOP__RPC_SASL__STATE__SUCCESS && c->phase != OVER) {
        r = accepted(c, in, why);
        if (r >= 0)
            *ret_out = NULL;
        return r;
    }
    if (in->state != HADOOP__RPC_SASL__STATE__CHALLENGE || c->phase != INITIATED)
        return refuse(c, why, "The server sent an unexpected SASL state: %d.", (int)in->state);
    r = respond(c, &in->token, HADOOP__RPC_SASL__STATE__RESPONSE, why);
    if (r == 0)
        *ret_out = &c->out;
    return r;
}
