/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The client's side of SASL; see sasl-server.h. A server may also send its challenge in a separate CHALLENGE message,
 * which the client answers with RESPONSE. A server that doesn't authenticate clients sends SUCCESS at once, or offers
 * SIMPLE.
 */

#include "rpc/hadoop/sasl-server.h"
#include "rpc/hadoop/token.h"

struct nm_sasl_client;

/* Creates a session. library and token must outlive it. */
int nm_sasl_client_new(Gsasl *library, const struct nm_token *token, bool simple_will_do,
                       struct nm_sasl_client **ret);
struct nm_sasl_client *nm_sasl_client_free(struct nm_sasl_client *c);
NM_DEFINE_CLEANUP(struct nm_sasl_client *, nm_sasl_client_free)

/* Returns the client's first message. */
const Hadoop__RpcSasl *nm_sasl_client_begin(struct nm_sasl_client *c);

/* Processes a message of the server. Returns 0: send *ret_out. Returns NM_SASL_E_DONE or _SIMPLE: send *ret_out unless
 * it is NULL, and then the context. Returns -EACCES: the server refuses the client, or the client refuses the server;
 * *why is the reason. */
int nm_sasl_client_step(struct nm_sasl_client *c, const Hadoop__RpcSasl *in, const Hadoop__RpcSasl **ret_out,
                        struct nm_exception *why);
