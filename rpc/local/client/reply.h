/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parser of HTTP/1.1 replies. The parser takes input in pieces of any size and passes the body to a callback. It does
 * no I/O and allocates no memory, so that it can be fuzzed and tested with every split of the input. reply.c lists what
 * the parser rejects.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_REPLY_LINE_MAX 4096 /* status line, header line or chunk-size line, without its CRLF */
#define NM_REPLY_LINES_MAX 128 /* all headers and trailers of one reply, including interim replies */

/* Header with the position in a container's output at which the answer begins, in bytes. */
#define NM_REPLY_LOG_POSITION "Nmd-Log-Position"

/* Positive return value: the reply is complete. Bytes after the end of the reply are ignored. */
enum { NM_REPLY_E_DONE = 1 };

/* Receives a piece of the body. Returns 0, or a negative errno that stops the parser and that nm_reply_feed()
 * returns. */
typedef int (*nm_reply_body_cb_t)(const char *data, size_t n, void *userdata);

enum nm_reply_state {
    NM_REPLY_STATUS_LINE,
    NM_REPLY_HEADER,
    NM_REPLY_BODY_LENGTH, /* Content-Length */
    NM_REPLY_BODY_EOF,    /* neither length nor chunks: the body ends when the connection ends */
    NM_REPLY_CHUNK_SIZE,
    NM_REPLY_CHUNK,
    NM_REPLY_CHUNK_END,   /* the CRLF after a chunk's bytes */
    NM_REPLY_TRAILER,
    NM_REPLY_DONE,
};

/* All members except status are private to the parser. status is 0 before the status line, and valid once the headers
 * are complete. */
struct nm_reply {
    unsigned status;
    enum nm_reply_state state;
    int failed;      /* the error after which the parser accepts no more input; 0: no error */
    bool has_length, chunked;
    bool has_log_position;
    uint64_t log_position; /* value of the header NM_REPLY_LOG_POSITION */
    uint64_t left;   /* remaining bytes of the body or the current chunk */
    unsigned n_lines;
    size_t line_len;
    char line[NM_REPLY_LINE_MAX + 2];
    nm_reply_body_cb_t body_cb;
    void *userdata;
};

void nm_reply_init(struct nm_reply *r, nm_reply_body_cb_t body_cb, void *userdata);

/* Parses the next n bytes. Returns 0 (incomplete), NM_REPLY_E_DONE, -EBADMSG (not an HTTP reply), -E2BIG (a line or
 * the headers are too long), or the error of body_cb. */
int nm_reply_feed(struct nm_reply *r, const char *data, size_t n);

/* Handles the end of the connection. Returns NM_REPLY_E_DONE if the reply may end here, else -ECONNRESET. */
int nm_reply_feed_eof(struct nm_reply *r);

/* Returns true once the status is known and bytes of the body may follow. */
static inline bool nm_reply_in_body(const struct nm_reply *r)
{
    return r->state > NM_REPLY_HEADER;
}
