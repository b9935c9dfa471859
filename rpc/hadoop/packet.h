/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Frames and packets. A packet is the content of a frame. It consists of protobuf messages, each preceded by its length
 * as a varint:
 *
 *   request    RpcRequest  | RequestHeader | the request's message
 *   answer     RpcResponse | the answer's message, on success
 *   context    RpcRequest (call id -3) | ConnectionContext
 *   SASL       RpcRequest or RpcResponse (call id -33) | RpcSasl
 *   ping       RpcRequest (call id -4)
 *
 * No bytes may follow the last message, because Java would close the connection. A frame is a packet preceded by its
 * length in four bytes, big endian.
 */

#include <protobuf-c/protobuf-c.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"
#include "util/quota.h"

/* Removes the next message from the front of a packet. Returns -EBADMSG if it is incomplete. */
int nm_packet_next(struct nm_bytes *packet, struct nm_bytes *ret_message);

/* A frame to send, allocated together with its list entry (wire.h). */
struct nm_packet_frame {
    struct nm_packet_frame *next;
    size_t size, sent;
    uint8_t data[];
};

#define NM_PACKET_MESSAGES_MAX 4

/* Builds a frame of up to NM_PACKET_MESSAGES_MAX messages. The array ends with NULL. last: an additional
 * message that is already packed and may be empty, or NULL. Returns -EMSGSIZE if the frame is too large. */
int nm_packet_build(const ProtobufCMessage *const *messages, const struct nm_bytes *last,
                    struct nm_packet_frame **ret);

/* ---- reading frames ----------------------------------------------------------------------- */

/*
 * The reader of frames. It returns the address at which to store the next bytes, so that the bytes are copied only
 * once. It reads at most one frame from the socket. Memory is allocated as bytes arrive, so a peer that only announces
 * a large length uses no memory.
 */

/* A connection begins with "hrpc", the version, an unused service class, and the authentication method: 0 (no
 * authentication) or SASL. */
#define NM_HADOOP_FRAME_MAGIC "hrpc"
#define NM_HADOOP_FRAME_VERSION 9
#define NM_HADOOP_FRAME_AUTH_NONE 0x00
#define NM_HADOOP_FRAME_AUTH_SASL 0xdf
#define NM_HADOOP_FRAME_PREAMBLE_SIZE 7

enum {
    NM_HADOOP_FRAME_E_WHOLE = 1, /* data and size contain a frame; nm_hadoop_frame_drop() starts the next frame */
};

struct nm_hadoop_frame {
    struct nm_quota_account *account; /* account charged for the memory, or NULL */
    size_t max;                 /* maximum length of a frame; longer frames are refused */
    uint8_t head[4];
    unsigned n_head;
    uint8_t *data;
    size_t size, n, room; /* announced length, received bytes, allocated bytes */
};

/* Initialize a reader, or reset it between two frames. */
void nm_hadoop_frame_init(struct nm_hadoop_frame *f, size_t max, struct nm_quota_account *account);
void nm_hadoop_frame_drop(struct nm_hadoop_frame *f);

/* Returns whether some bytes of a frame have been received. */
bool nm_hadoop_frame_begun(const struct nm_hadoop_frame *f);

/* Returns the address at which to store the next bytes, and their maximum number. -ENOBUFS: the account has no bytes
 * left. */
int nm_hadoop_frame_want(struct nm_hadoop_frame *f, uint8_t **ret_to, size_t *ret_size);

/* Reports that n bytes were stored. Returns 0 (incomplete), NM_HADOOP_FRAME_E_WHOLE, -EMSGSIZE (longer than max), or
 * -EBADMSG (length 0, which no peer sends). */
int nm_hadoop_frame_got(struct nm_hadoop_frame *f, size_t n);
