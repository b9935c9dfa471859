/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Both sides of SASL, message by message, without I/O. Clients authenticate with a token through DIGEST-MD5
 * (RFC 2831, by libgsasl). The user name is the token's identifier in base64, and the password is the token's password
 * in base64.
 *
 *   client  NEGOTIATE
 *   server  NEGOTIATE, auths {TOKEN, DIGEST-MD5, "", "default", the challenge}
 *   client  INITIATE, the offered entry without its challenge, and the response to the challenge
 *   server  SUCCESS, and the proof that the server knows the password too
 *
 * A server may also send its challenge in a separate CHALLENGE message, which the client answers with RESPONSE. A
 * server that doesn't authenticate clients sends SUCCESS immediately, or offers SIMPLE.
 *
 * Only authentication is supported (qop=auth): packets aren't wrapped afterwards.
 */

#include <gsasl.h>

#include "rpc/hadoop/bytes.h"
#include "rpc/hadoop/exception.h"
#include "rpc/hadoop/rpc.pb-c.h"
#include "rpc/hadoop/token.h"

#define NM_SASL_METHOD "TOKEN"
#define NM_SASL_MECHANISM "DIGEST-MD5"
#define NM_SASL_REALM "default"

enum {
    NM_SASL_E_DONE = 1,   /* the client is authenticated; *ret_out is the last message */
    NM_SASL_E_SIMPLE = 2, /* clients only: the server doesn't authenticate clients */
};

/* Returns whether libgsasl can process the token. libgsasl copies a token as text: an empty token, whose data is NULL
 * in protobuf-c, would crash libgsasl, and a NUL would truncate the token. DIGEST-MD5 has no empty messages. */
static inline bool nm_sasl_is_text(const ProtobufCBinaryData *token)
{
    return token->data && token->len > 0 && !memchr(token->data, '\0', token->len);
}

/* ---- server: sasl-server.c ---------------------------------------------------------------- */

/* Properties of the bearer of a token. */
struct nm_sasl_bearer {
    uint8_t password[64];
    size_t password_size;
    char user[256]; /* user name allowed in a connection context; "": no user name is allowed */
};

/* Finds the password for the identifier that a client sent. Returns -EKEYREJECTED and *why if there is no password. */
typedef int (*nm_sasl_lookup)(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret,
                              struct nm_exception *why);

struct nm_sasl_server;

/* Creates a session. library must outlive the session. */
int nm_sasl_server_new(Gsasl *library, nm_sasl_lookup lookup, void *userdata, struct nm_sasl_server **ret);
struct nm_sasl_server *nm_sasl_server_free(struct nm_sasl_server *s);
NM_DEFINE_CLEANUP(struct nm_sasl_server *, nm_sasl_server_free)

/* Processes a client's message. Returns 0 or NM_SASL_E_DONE, and in *ret_out the message to send, which the session
 * owns until its next step. Returns -EACCES if the client is refused; *why is the reason, and the session has ended. */
int nm_sasl_server_step(struct nm_sasl_server *s, const Hadoop__RpcSasl *in, const Hadoop__RpcSasl **ret_out,
                        struct nm_exception *why);

/* The identifier is valid after NM_SASL_E_DONE. */
struct nm_bytes nm_sasl_server_identifier(const struct nm_sasl_server *s);
const char *nm_sasl_server_user(const struct nm_sasl_server *s);

/* ---- client: sasl-client.c ---------------------------------------------------------------- */

struct nm_sasl_client;

/* Creates a session. library and token must outlive the session. */
int nm_sasl_client_new(Gsasl *library, const struct nm_token *token, bool accepts_simple_auth,
                       struct nm_sasl_client **ret);
struct nm_sasl_client *nm_sasl_client_free(struct nm_sasl_client *c);
NM_DEFINE_CLEANUP(struct nm_sasl_client *, nm_sasl_client_free)

/* Returns the client's first message. */
const Hadoop__RpcSasl *nm_sasl_client_begin(struct nm_sasl_client *c);

/* Processes a message of the server. Returns 0: send *ret_out. Returns NM_SASL_E_DONE or NM_SASL_E_SIMPLE: send
 * *ret_out unless *ret_out is NULL, then send the context. Returns -EACCES: the server refuses the client, or the
 * client refuses the server; *why is the reason. */
int nm_sasl_client_step(struct nm_sasl_client *c, const Hadoop__RpcSasl *in, const Hadoop__RpcSasl **ret_out,
                        struct nm_exception *why);
