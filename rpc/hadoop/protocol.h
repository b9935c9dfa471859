/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What both ends of a connection say in the same way: the packets of packet.h with their headers.
 *
 * A connection begins with a preamble (frame.h). If it says SASL, RpcSasl packets go to and fro until the server says
 * SUCCESS. Then the client sends its context, to which there is no answer, and calls. Calls may overtake each other.
 */

#include "rpc/hadoop/exception.h"
#include "rpc/hadoop/packet.h"
#include "rpc/hadoop/rpc.pb-c.h"

/* Call ids that are no calls. */
enum {
    NM_PROTOCOL_NO_CALL = -1, /* an answer that ends the connection, to nothing in particular */
    NM_PROTOCOL_CONTEXT = -3,
    NM_PROTOCOL_PING = -4,
    NM_PROTOCOL_SASL = -33,
};

/* Java's clients have ids of 16 bytes, and none during SASL. */
#define NM_PROTOCOL_CLIENT_ID_SIZE 16u

/* Until a client is known, its packets must be no larger: a token's identifier in base64, and some words. */
#define NM_PROTOCOL_STRANGER_MAX (16u << 10)

struct nm_protocol_id {
    int32_t call, retry;
    uint8_t client[NM_PROTOCOL_CLIENT_ID_SIZE];
    size_t client_size; /* 0 or 16 */
    struct nm_bytes caller_context; /* of a request: as it came, and somebody else's; empty: none */
};

/* A client's packet: behind its header another one, or none, and a message. */
int nm_protocol_request(const struct nm_protocol_id *id, const ProtobufCMessage *header,
                        const ProtobufCMessage *message, struct nm_packet_frame **ret);
/* A server's packet when all went well, and when it didn't: then exception, and no message. */
int nm_protocol_answer(const struct nm_protocol_id *id, const ProtobufCMessage *message,
                       struct nm_packet_frame **ret);
int nm_protocol_error(const struct nm_protocol_id *id, const struct nm_exception *e, struct nm_packet_frame **ret);

/* Does this error end the connection? */
static inline bool nm_protocol_is_fatal(const struct nm_exception *e)
{
    return e->detail >= NM_EXCEPTION_FATAL_UNKNOWN;
}
