/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Packets that client and server build in the same way: the packets of packet.h with their headers.
 *
 * A connection begins with a preamble (packet.h). If the preamble selects SASL, both sides exchange RpcSasl packets
 * until the server sends SUCCESS. The client then sends its context, which has no answer, and then its calls. Answers
 * may arrive in any order.
 */

#include "rpc/hadoop/exception.h"
#include "rpc/hadoop/packet.h"
#include "rpc/hadoop/rpc.pb-c.h"

/* Call ids with a special meaning. */
enum {
    NM_PROTOCOL_NO_CALL = -1, /* an answer that belongs to no call and ends the connection */
    NM_PROTOCOL_CONTEXT = -3,
    NM_PROTOCOL_PING = -4,
    NM_PROTOCOL_SASL = -33,
};

/* Java's clients use ids of 16 bytes, and an empty id during SASL. */
#define NM_PROTOCOL_CLIENT_ID_SIZE 16u

/* Maximum packet size before the client is authenticated: enough for a token's identifier in base64 and a few
 * strings. */
#define NM_PROTOCOL_UNAUTHENTICATED_MAX (16u << 10)

struct nm_protocol_id {
    int32_t call, retry;
    uint8_t client[NM_PROTOCOL_CLIENT_ID_SIZE];
    size_t client_size; /* 0 or 16 */
    /* context of a request as received; the bytes belong to another object; empty: the request has no context */
    struct nm_bytes caller_context;
};

/* Builds a client's packet: RPC header, an optional second header, and a message. */
int nm_protocol_request(const struct nm_protocol_id *id, const ProtobufCMessage *header,
                        const ProtobufCMessage *message, struct nm_packet_frame **ret);
/* Build a server's packet with an answer, or with an exception. */
int nm_protocol_answer(const struct nm_protocol_id *id, const ProtobufCMessage *message,
                       struct nm_packet_frame **ret);
int nm_protocol_error(const struct nm_protocol_id *id, const struct nm_exception *e, struct nm_packet_frame **ret);

/* Returns whether this error ends the connection. */
static inline bool nm_protocol_is_fatal(const struct nm_exception *e)
{
    return e->detail >= NM_EXCEPTION_FATAL_UNKNOWN;
}
