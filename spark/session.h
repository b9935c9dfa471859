/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a client has done on its connection, and the answers to its frames. A session belongs to one application: the
 * one whose secret the client knows, or without authentication the one that the first message names. It does not use
 * the connection itself.
 *
 * Data that is missing is a failure for the client, which then makes it again. If the server lacks something, the
 * connection must be closed instead, because the client retries.
 */

#include "spark/auth.h"
#include "spark/frame.h"

/* Bytes of an upload of push-based shuffle that are discarded, so that the client gets its refusal. Executors push
 * blocks of at most 1 MiB (spark.shuffle.push.maxBlockSizeToPush). */
#define NM_SPARK_SKIPPED_MAX (UINT64_C(16) << 20)

/* Takes memory of the application for an answer, before the answer is made. Returns -EBUSY if it may not have more. */
struct nm_spark_reserve {
    int (*take)(uint64_t bytes, void *userdata);
    void *userdata;
};

struct nm_spark_session {
    struct nm_spark_applications *applications;
    struct nm_spark_auth auth;
    struct nm_spark_application application; /* id is empty before the first message */
    struct nm_spark_streams streams;
    struct nm_spark_lookup_state lookups; /* for blocks of the following frames */
    const struct nm_spark_reserve *reserve; /* NULL: no limit */
    bool has_room; /* for another block; false: a request for a block closes the connection */
};

void nm_spark_session_init(struct nm_spark_session *s, struct nm_spark_applications *applications,
                           const struct nm_spark_auth_settings *settings);
void nm_spark_session_done(struct nm_spark_session *s);

/* The answer to a frame. */
struct nm_spark_answer {
    bool has_failed;            /* a block that was requested is missing */
    uint64_t skipped_bytes;     /* bytes after the frame that are not frames */
    bool closes;                /* the connection must be closed after the answer */
    struct nm_spark_cipher *cipher; /* for all bytes after the frame and the answer, which the caller frees; or NULL */
    struct nm_spark_part part;  /* follows the frame that was appended to the writer */
};

/* Returns whether the frame makes the server use much CPU time for a client that has no application yet. */
bool nm_spark_session_is_handshake(const struct nm_spark_session *s, struct nm_bytes frame);

/* Appends the answer to a frame, and opens the part of a file that follows it, which nm_spark_part_close() closes. May
 * block on a disk. Returns -errno if the connection must be closed. */
int nm_spark_session_answer(struct nm_spark_session *s, struct nm_bytes frame, struct nm_writer *w,
                            struct nm_spark_answer *ret);
