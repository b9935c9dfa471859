/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A packet is the content of a frame. It consists of protobuf messages, each preceded by its length as a varint:
 *
 *   request    RpcRequest  | RequestHeader | the request's message
 *   answer     RpcResponse | the answer's message, on success
 *   context    RpcRequest (call id -3) | ConnectionContext
 *   SASL       RpcRequest or RpcResponse (call id -33) | RpcSasl
 *   ping       RpcRequest (call id -4)
 *
 * No bytes may follow the last message, because Java would close the connection. A frame is a packet preceded by its
 * length in four bytes, big endian (frame.h).
 */

#include <protobuf-c/protobuf-c.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"

/* Removes the next message from the front of a packet. Returns -EBADMSG if it is incomplete. */
int nm_packet_next(struct nm_bytes *packet, struct nm_bytes *ret_message);

/* A frame to send, allocated together with its list entry; see wire.h. */
struct nm_packet_frame {
    struct nm_packet_frame *next;
    size_t size, sent;
    uint8_t data[];
};

/* Builds a frame of up to four messages; a NULL ends the list. last: an additional message that is already packed (its
 * size may be 0), or NULL. Returns -EMSGSIZE if the frame is too large. */
int nm_packet_build(const ProtobufCMessage *const *messages, const struct nm_bytes *last,
                    struct nm_packet_frame **ret);
