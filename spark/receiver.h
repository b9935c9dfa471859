/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Receives the frames of a connection. The socket does not block. */

#include "spark/frame.h"
#include "spark/service.h"

#define NM_SPARK_RECEIVER_BYTES 4096u

struct nm_spark_receiver {
    struct nm_spark_service *service;
    int fd;
    const struct nm_spark_application *application; /* that pays for the memory of frames, if is_known */
    uint64_t host;                     /* that pays otherwise */
    bool is_known;                     /* the connection belongs to an application */
    uint64_t guest_deadline_usec;      /* time until which it must belong to one */
    struct nm_spark_cipher *cipher;    /* NULL: what arrives is not encrypted */
    struct nm_writer plain;            /* decrypted bytes */
    size_t plain_used;
    uint64_t deadline_usec;            /* time until which a whole frame must have arrived; 0: begins with the wait */
    uint64_t skipped_bytes;            /* bytes that are discarded before the next frame */
    size_t at, end;                    /* bytes of `in` that are not yet used */
    size_t in_use;                     /* size of the frame that was returned from `in` */
    uint8_t *large;                    /* a frame that does not fit into `in` */
    uint64_t large_size, large_room, large_received;
    uint8_t in[NM_SPARK_RECEIVER_BYTES];
};

void nm_spark_receiver_init(struct nm_spark_receiver *r, struct nm_spark_service *service, int fd,
                            const struct nm_spark_application *application, uint64_t host);
void nm_spark_receiver_done(struct nm_spark_receiver *r);

/* Receives the next frame, which is valid until nm_spark_receiver_next() is called. Returns 1, or 0 if more bytes must
 * arrive. Returns -EBADMSG if they are no frame, -EMSGSIZE if the frame is too large, -ENOBUFS if the application, or
 * without one the host, receives too much, -ETIMEDOUT, -ECONNRESET if the client has closed, or another
 * -errno. */
int nm_spark_receiver_frame(struct nm_spark_receiver *r, struct nm_bytes *ret);
/* All bytes after the frame are encrypted. Call it before nm_spark_receiver_next(). The cipher must exist as long as
 * the receiver. */
int nm_spark_receiver_encrypt(struct nm_spark_receiver *r, struct nm_spark_cipher *cipher);
/* Removes the frame, and begins to wait for the next one. */
void nm_spark_receiver_next(struct nm_spark_receiver *r, uint64_t skipped_bytes);
/* Returns the memory of encrypted and decrypted bytes that are no whole block or frame yet. */
uint64_t nm_spark_receiver_memory(const struct nm_spark_receiver *r);
/* The time for the next frame begins again, because the client has just got a part of an answer. */
void nm_spark_receiver_restart(struct nm_spark_receiver *r);
