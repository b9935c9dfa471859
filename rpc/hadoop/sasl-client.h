/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The client's side of what sasl-server.h describes. A server may also send its challenge later, in a CHALLENGE that is
 * answered by a RESPONSE; and one that doesn't want to know who its clients are says SUCCESS at once, or offers SIMPLE.
 */

#include "rpc/hadoop/sasl-server.h"
#include "rpc/hadoop/token.h"

struct nm_sasl_client;

/* library and token must outlive it. */
int nm_sasl_client_new(Gsasl *library, const struct nm_token *token, bool simple_will_do,
                       struct nm_sasl_client **ret);
struct nm_sasl_client *nm_sasl_client_free(struct nm_sasl_client *c);
NM_DEFINE_CLEANUP(struct nm_sasl_client *, nm_sasl_client_free)

/* What begins it all. */
const Hadoop__RpcSasl *nm_sasl_client_begin(struct nm_sasl_client *c);

/* 0: send *ret_out; NM_SASL_E_DONE or _SIMPLE: send *ret_out unless it is NULL, and then the context. -EACCES: the
 * server refuses us, or we refuse it; *why says which. */
int nm_sasl_client_step(struct nm_sasl_client *c, const Hadoop__RpcSasl *in, const Hadoop__RpcSasl **ret_out,
                        struct nm_exception *why);
