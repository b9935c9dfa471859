/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parser of HTTP/1.1 replies: bytes in, in pieces of any size, body bytes out. It does no I/O
 * and allocates nothing, so that it can be fuzzed and tested at every split. See reply.c for what
 * it refuses.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_REPLY_LINE_MAX 4096 /* status line, header line or chunk-size line, without its CRLF */
#define NM_REPLY_LINES_MAX 128 /* of all headers and trailers of one reply, interim ones included  \
                                */

/* The byte of a container's output with which the answer begins. */
#define NM_REPLY_LOG_POSITION "Nmd-Log-Position"

/* Positive outcome: the reply is complete; bytes after its end were not looked at. */
enum { NM_REPLY_E_DONE = 1 };

/* A piece of the body. 0, or a negative errno that stops the parser and is handed to the feeder. */
typedef int (*nm_reply_body_cb_t)(const char *data, size_t n, void *userdata);

enum nm_reply_state {
    NM_REPLY_STATUS_LINE,
    NM_REPLY_HEADER,
    NM_REPLY_BODY_LENGTH, /* Content-Length */
    NM_REPLY_BODY_EOF,    /* neither length nor chunks: ends with the connection */
    NM_REPLY_CHUNK_SIZE,
    NM_REPLY_CHUNK,
    NM_REPLY_CHUNK_END,   /* the CRLF after a chunk's bytes */
    NM_REPLY_TRAILER,
    NM_REPLY_DONE,
};

/* Members are the parser's own, except status (0 before the status line; valid once the headers are
 * done). */
struct nm_reply {
    unsigned status;
    enum nm_reply_state state;
    int failed;      /* the error that stopped it: it stays stopped */
    bool has_length, chunked;
    bool has_log_position;
    uint64_t log_position; /* what the header NM_REPLY_LOG_POSITION says */
    uint64_t left;   /* of the body or of the current chunk */
    unsigned n_lines;
    size_t line_len;
    char line[NM_REPLY_LINE_MAX + 2];
    nm_reply_body_cb_t body_cb;
    void *userdata;
};

void nm_reply_init(struct nm_reply *r, nm_reply_body_cb_t body_cb, void *userdata);

/* Takes the next n bytes. Returns 0 (more is wanted), NM_REPLY_E_DONE, -EBADMSG (not an HTTP
 * reply), -E2BIG (a line or the headers are too long), or what body_cb returned. */
int nm_reply_feed(struct nm_reply *r, const char *data, size_t n);

/* The connection has ended. NM_REPLY_E_DONE if the reply may end here, else -ECONNRESET. */
int nm_reply_feed_eof(struct nm_reply *r);

/* True once status is known and body bytes may follow. */
static inline bool nm_reply_in_body(const struct nm_reply *r)
{
    return r->state > NM_REPLY_HEADER;
}
