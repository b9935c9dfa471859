/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A packet is what stands in a frame: protobuf messages, each behind its length as a varint
 *
 *   request    RpcRequest  | RequestHeader | the request's message
 *   answer     RpcResponse | the answer's message, if all went well
 *   context    RpcRequest (call id -3) | ConnectionContext
 *   SASL       RpcRequest or RpcResponse (call id -33) | RpcSasl
 *   ping       RpcRequest (call id -4)
 *
 * and nothing behind the last: Java closes the connection otherwise. A frame is the packet behind its length in four
 * bytes, the highest first (frame.h).
 */

#include <protobuf-c/protobuf-c.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"

/* Takes the next message's bytes from the front of a packet. -EBADMSG: there is no whole one. */
int nm_packet_next(struct nm_bytes *packet, struct nm_bytes *ret_message);

/* A frame that is to be sent: in one block with its list entry, see wire.h. */
struct nm_packet_frame {
    struct nm_packet_frame *next;
    size_t size, sent;
    uint8_t data[];
};

/* The frame of up to four messages; NULL ends them. last: more bytes that are a message already (size 0 is one, too),
 * or NULL. -EMSGSIZE: too large for any frame. */
int nm_packet_build(const ProtobufCMessage *const *messages, const struct nm_bytes *last,
                    struct nm_packet_frame **ret);
