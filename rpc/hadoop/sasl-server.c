/* SPDX-License-Identifier: Apache-2.0 */

/* See sasl.h. */

#include "rpc/hadoop/sasl.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>

enum phase { FRESH, CHALLENGED, DONE, OVER };

struct nm_sasl_server {
    Gsasl *library;
    Gsasl_session *session;
    nm_sasl_lookup lookup;
    void *userdata;
    enum phase phase;
    char *identifier; /* allocated by libgsasl */
    size_t identifier_size;
    struct nm_sasl_bearer bearer;
    struct nm_exception why; /* reason from the look-up function, if that function refused the client */
    char *token;             /* text that libgsasl has allocated; `out` points to this text */
    Hadoop__RpcSasl out;
    Hadoop__RpcSasl__Auth auth, *auths[1];
};

int nm_sasl_server_new(Gsasl *library, nm_sasl_lookup lookup, void *userdata, struct nm_sasl_server **ret)
{
    struct nm_sasl_server *s = calloc(1, sizeof *s);

    if (!s)
        return -ENOMEM;
    s->library = library;
    s->lookup = lookup;
    s->userdata = userdata;
    *ret = s;
    return 0;
}

static void drop_session(struct nm_sasl_server *s)
{
    if (s->session)
        gsasl_finish(s->session);
    s->session = NULL;
    explicit_bzero(s->bearer.password, sizeof s->bearer.password);
}

struct nm_sasl_server *nm_sasl_server_free(struct nm_sasl_server *s)
{
    if (!s)
        return NULL;
    drop_session(s);
    gsasl_free(s->identifier);
    gsasl_free(s->token);
    free(s);
    return NULL;
}

struct nm_bytes nm_sasl_server_identifier(const struct nm_sasl_server *s)
{
    assert(s->phase == DONE);
    return (struct nm_bytes){(const uint8_t *)s->identifier, s->identifier_size};
}

const char *nm_sasl_server_user(const struct nm_sasl_server *s)
{
    assert(s->phase == DONE);
    return s->bearer.user;
}

/* ---- callbacks of libgsasl ------------------------------------------------------------------- */

static int find_bearer(struct nm_sasl_server *s, const char *user)
{
    if (s->identifier ||
        gsasl_base64_from(user, strlen(user), &s->identifier, &s->identifier_size) != GSASL_OK) {
        nm_exception_set(&s->why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_SASL,
                         "The user name of the SASL response is not a token's identifier in base64.");
        return -EACCES;
    }
    return s->lookup(s->userdata, (struct nm_bytes){(const uint8_t *)s->identifier, s->identifier_size}, &s->bearer,
                     &s->why);
}

static int give_password(struct nm_sasl_server *s, Gsasl_session *session)
{
    const char *user = gsasl_property_fast(session, GSASL_AUTHID);
    char *password = NULL;
    size_t size;
    int r;

    if (!user || find_bearer(s, user) < 0)
        return GSASL_AUTHENTICATION_ERROR;
    if (gsasl_base64_to((const char *)s->bearer.password, s->bearer.password_size, &password, &size) != GSASL_OK)
        return GSASL_MALLOC_ERROR;
    r = gsasl_property_set(session, GSASL_PASSWORD, password);
    explicit_bzero(password, size);
    gsasl_free(password);
    return r;
}

static int on_property(Gsasl *library, Gsasl_session *session, Gsasl_property property)
{
    (void)library;
    switch ((int)property) {
    case GSASL_REALM:
        return gsasl_property_set(session, GSASL_REALM, NM_SASL_REALM);
    case GSASL_QOPS:
        return gsasl_property_set(session, GSASL_QOPS, "qop-auth");
    case GSASL_PASSWORD:
        return give_password(gsasl_session_hook_get(session), session);
    default:
        return GSASL_NO_CALLBACK;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

nm_printf(3, 4) static int refuse(struct nm_sasl_server *s, struct nm_exception *why, const char *format, ...)
{
    char message[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);
    nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_SASL, "%s", message);
    drop_session(s);
    s->phase = OVER;
    return -EACCES;
}

static int step(struct nm_sasl_server *s, const ProtobufCBinaryData *in)
{
    size_t size = 0;
    int r;

    gsasl_free(s->token);
    s->token = NULL;
    r = gsasl_step(s->session, in ? (const char *)in->data : NULL, in ? in->len : 0, &s->token, &size);
    s->out = (Hadoop__RpcSasl)HADOOP__RPC_SASL__INIT;
    s->out.token = (ProtobufCBinaryData){size, (uint8_t *)s->token};
    return r;
}

static int challenge(struct nm_sasl_server *s, const Hadoop__RpcSasl *in, struct nm_exception *why)
{
    int r;

    if (in->state != HADOOP__RPC_SASL__STATE__NEGOTIATE)
        return refuse(s, why, "SASL begins with NEGOTIATE (1), not with state %d.", (int)in->state);
    gsasl_callback_set(s->library, on_property);
    r = gsasl_server_start(s->library, NM_SASL_MECHANISM, &s->session);
    if (r != GSASL_OK)
        return refuse(s, why, NM_SASL_MECHANISM " can't be started: %s.", gsasl_strerror(r));
    gsasl_session_hook_set(s->session, s);
    r = step(s, NULL);
    if (r != GSASL_NEEDS_MORE)
        return refuse(s, why, NM_SASL_MECHANISM " has no challenge: %s.", gsasl_strerror(r));
    s->auth = (Hadoop__RpcSasl__Auth)HADOOP__RPC_SASL__AUTH__INIT;
    s->auth.method = (char *)NM_SASL_METHOD;
    s->auth.mechanism = (char *)NM_SASL_MECHANISM;
    s->auth.protocol = (char *)""; /* Java requires this member */
    s->auth.server_id = (char *)NM_SASL_REALM;
    s->auth.has_challenge = 1;
    s->auth.challenge = s->out.token;
    s->auths[0] = &s->auth;
    s->out.state = HADOOP__RPC_SASL__STATE__NEGOTIATE;
    s->out.auths = s->auths;
    s->out.n_auths = 1;
    s->phase = CHALLENGED;
    return 0;
}

static int verify(struct nm_sasl_server *s, const Hadoop__RpcSasl *in, struct nm_exception *why)
{
    int r;

    if (in->state != HADOOP__RPC_SASL__STATE__INITIATE)
        return refuse(s, why, "INITIATE (2) must follow the challenge, not state %d.", (int)in->state);
    if (in->n_auths != 1 || !nm_streq(in->auths[0]->method, NM_SASL_METHOD) ||
        !nm_streq(in->auths[0]->mechanism, NM_SASL_MECHANISM))
        return refuse(s, why, "Only " NM_SASL_METHOD " with " NM_SASL_MECHANISM " is accepted here.");
    if (!in->has_token)
        return refuse(s, why, "INITIATE has no response to the challenge.");
    if (!nm_sasl_is_text(&in->token))
        return refuse(s, why, "The response to the challenge is empty or contains NUL.");
    r = step(s, &in->token);
    if (r != GSASL_OK && *s->why.class_name) { /* the reason from the look-up function is more precise */
        int detail = s->why.detail;

        *why = s->why;
        why->detail = detail >= NM_EXCEPTION_FATAL_UNKNOWN ? detail : NM_EXCEPTION_FATAL_UNAUTHORIZED;
        drop_session(s);
        s->phase = OVER;
        return -EACCES;
    }
    if (r != GSASL_OK)
        return refuse(s, why, NM_SASL_MECHANISM ": the response doesn't match the token's password.");
    drop_session(s);
    s->out.state = HADOOP__RPC_SASL__STATE__SUCCESS;
    s->out.has_token = 1;
    s->phase = DONE;
    return NM_SASL_E_DONE;
}

int nm_sasl_server_step(struct nm_sasl_server *s, const Hadoop__RpcSasl *in, const Hadoop__RpcSasl **ret_out,
                        struct nm_exception *why)
{
    int r;

    if (s->phase == FRESH)
        r = challenge(s, in, why);
    else if (s->phase == CHALLENGED)
        r = verify(s, in, why);
    else
        r = refuse(s, why, "SASL has already ended.");
    if (r >= 0)
        *ret_out = &s->out;
    return r;
}
