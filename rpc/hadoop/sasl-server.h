/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server's side of SASL, message by message and without a socket. Clients have a token: DIGEST-MD5 (RFC 2831, by
 * libgsasl) with the token's identifier in base64 for a user, and its password in base64 for a password.
 *
 *   client  NEGOTIATE
 *   server  NEGOTIATE, auths {TOKEN, DIGEST-MD5, "", "default", the challenge}
 *   client  INITIATE, the same entry without its challenge, and the response to it
 *   server  SUCCESS, and the proof that it knows the password, too
 *
 * Only authentication (qop=auth): nothing is wrapped afterwards.
 */

#include <gsasl.h>

#include "rpc/hadoop/bytes.h"
#include "rpc/hadoop/exception.h"
#include "rpc/hadoop/rpc.pb-c.h"

#define NM_SASL_METHOD "TOKEN"
#define NM_SASL_MECHANISM "DIGEST-MD5"
#define NM_SASL_REALM "default"

enum {
    NM_SASL_E_DONE = 1,   /* who it is has been settled; what there is to be sent is the last */
    NM_SASL_E_SIMPLE = 2, /* of clients: the server doesn't want to know, and takes their word */
};

/* Returns whether libgsasl can be given this token. libgsasl copies a token as text: an empty one, whose data
 * protobuf-c leaves NULL, would crash it, and one with a NUL inside would be cut there. No message of DIGEST-MD5 is
 * empty. */
static inline bool nm_sasl_is_text(const ProtobufCBinaryData *token)
{
    return token->data && token->len > 0 && !memchr(token->data, '\0', token->len);
}

/* What is known of who bears a token. */
struct nm_sasl_bearer {
    uint8_t password[64];
    size_t password_size;
    char user[256]; /* what a connection context may say; "": nothing */
};

/* Finds the password of the identifier that a client names. -EKEYREJECTED: there is none, and why says so. */
typedef int (*nm_sasl_lookup)(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret,
                              struct nm_exception *why);

struct nm_sasl_server;

/* library must outlive it. */
int nm_sasl_server_new(Gsasl *library, nm_sasl_lookup lookup, void *userdata, struct nm_sasl_server **ret);
struct nm_sasl_server *nm_sasl_server_free(struct nm_sasl_server *s);
NM_DEFINE_CLEANUP(struct nm_sasl_server *, nm_sasl_server_free)

/* 0 or NM_SASL_E_DONE, and what is to be sent, which stays the session's until its next step; -EACCES: refused, for
 * *why, and the session is over. */
int nm_sasl_server_step(struct nm_sasl_server *s, const Hadoop__RpcSasl *in, const Hadoop__RpcSasl **ret_out,
                        struct nm_exception *why);

/* Once it is done. */
struct nm_bytes nm_sasl_server_identifier(const struct nm_sasl_server *s);
const char *nm_sasl_server_user(const struct nm_sasl_server *s);
