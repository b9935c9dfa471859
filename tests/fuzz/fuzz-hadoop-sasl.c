/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes a server and a client of SASL with RpcSasl messages. The length of each message precedes the message. The
 * input can't contain a valid password, so a server that requires a password must never accept. */

#include <errno.h>
#include <stdlib.h>

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/packet.h"
#include "rpc/hadoop/sasl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int lookup(void *userdata, struct nm_bytes id, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    (void)userdata, (void)why;
    if (id.size > 0 && id.data[0] == 'n') {
        nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_INVALID_TOKEN, "not this one");
        return -EKEYREJECTED;
    }
    (void)memcpy(ret->password, "a secret", 8);
    ret->password_size = 8;
    return 0;
}

static void step_both(struct nm_sasl_server *s, struct nm_sasl_client *c, const Hadoop__RpcSasl *in)
{
    struct nm_exception why = {};
    const Hadoop__RpcSasl *out = NULL;
    int r = nm_sasl_server_step(s, in, &out, &why);

    if (r == NM_SASL_E_DONE || (r == 0 && !protobuf_c_message_check(&out->base)) || (r == -EACCES && !*why.message))
        abort();
    out = NULL;
    r = nm_sasl_client_step(c, in, &out, &why);
    if (r == NM_SASL_E_DONE || (out && !protobuf_c_message_check(&out->base)) || (r == -EACCES && !*why.message))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct nm_token token = {.identifier = {(const uint8_t *)"id", 2},
                                          .password = {(const uint8_t *)"p", 1}};
    struct nm_bytes rest = {data, size}, message;
    struct nm_sasl_server *s;
    struct nm_sasl_client *c;
    Gsasl *libraries[2];

    if (gsasl_init(&libraries[0]) != GSASL_OK || gsasl_init(&libraries[1]) != GSASL_OK ||
        nm_sasl_server_new(libraries[0], lookup, NULL, &s) < 0 ||
        nm_sasl_client_new(libraries[1], &token, true, &c) < 0)
        abort();
    (void)nm_sasl_client_begin(c);
    while (nm_packet_next(&rest, &message) == 0) {
        const Hadoop__RpcSasl *in;
        struct nm_arena a;

        nm_arena_init(&a, nm_arena_limit(message.size), NULL);
        in = (const Hadoop__RpcSasl *)nm_arena_unpack(&a, &hadoop__rpc_sasl__descriptor, message);
        if (in)
            step_both(s, c, in);
        nm_arena_done(&a);
    }
    nm_sasl_server_free(s);
    nm_sasl_client_free(c);
    gsasl_done(libraries[0]);
    gsasl_done(libraries[1]);
    return 0;
}
