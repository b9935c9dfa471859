/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See reply.h. The parser has one state per part of the reply. Lines are collected in a fixed buffer. Bytes of the body
 * are passed to the callback.
 *
 * The peer on the socket may be a program other than nmd. The parser is therefore strict where the end of the body
 * would otherwise be ambiguous. Lines end in CRLF. A length together with chunks, two different lengths, and encodings
 * other than "chunked" are rejected. All sizes are limited: the length of lines, the number of lines, and a chunk's
 * size (15 hex digits, which can't overflow 64 bits).
 */

#include "rpc/local/client/reply.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "util/macros.h"
#include "util/parse.h"

void nm_reply_init(struct nm_reply *r, nm_reply_body_cb_t body_cb, void *userdata)
{
    memset(r, 0, offsetof(struct nm_reply, line));
    r->body_cb = body_cb;
    r->userdata = userdata;
}

/* Parses "HTTP/1.1 200 OK". The reason phrase is optional and ignored. */
static int take_status_line(struct nm_reply *r)
{
    const char *p = r->line;

    if (strncmp(p, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)p[7]) || p[8] != ' ')
        return -EBADMSG;
    p += 9;
    for (int i = 0; i < 3; i++)
        if (!isdigit((unsigned char)p[i]))
            return -EBADMSG;
    if (p[3] != '\0' && p[3] != ' ')
        return -EBADMSG;
    r->status = (unsigned)((p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0'));
    if (r->status < 100)
        return -EBADMSG;
    r->state = NM_REPLY_HEADER;
    return 0;
}

/* Parses at most 18 digits, so that sums of sizes can't overflow. */
static int parse_number(const char *value, uint64_t *ret)
{
    return strlen(value) > 18 || nm_parse_u64(value, ret) < 0 ? -EBADMSG : 0;
}

/* Parses Content-Length. A repeated header with the same length is unambiguous and is accepted. */
static int take_length(struct nm_reply *r, const char *value)
{
    uint64_t v;
    int e = parse_number(value, &v);

    if (e < 0 || r->chunked)
        return -EBADMSG;
    if (r->has_length && v != r->left)
        return -EBADMSG;
    r->has_length = true;
    r->left = v;
    return 0;
}

/* Parses Transfer-Encoding. Accepts only "chunked", because the client requests no other encoding. */
static int take_encoding(struct nm_reply *r, const char *value)
{
    if (strcasecmp(value, "chunked") != 0 || r->chunked || r->has_length)
        return -EBADMSG;
    r->chunked = true;
    return 0;
}

/* Parses the log position. Ignores an invalid number, because only resuming a log needs the position. */
static int take_log_position(struct nm_reply *r, const char *value)
{
    r->has_log_position = parse_number(value, &r->log_position) == 0;
    return 0;
}

/* Determines which part follows the empty line that ends the headers. */
static int end_headers(struct nm_reply *r)
{
    if (r->status < 200) { /* interim reply, such as 100 Continue: the final reply follows */
        if (r->chunked || r->has_length)
            return -EBADMSG;
        r->state = NM_REPLY_STATUS_LINE;
    } else if (r->status == 204 || r->status == 304)
        r->state = NM_REPLY_DONE;
    else if (r->chunked)
        r->state = NM_REPLY_CHUNK_SIZE;
    else if (!r->has_length)
        r->state = NM_REPLY_BODY_EOF;
    else
        r->state = r->left > 0 ? NM_REPLY_BODY_LENGTH : NM_REPLY_DONE;
    return 0;
}

static int take_header(struct nm_reply *r)
{
    char *colon = strchr(r->line, ':'), *value, *end;

    if (!r->line[0])
        return end_headers(r);
    /* Reject a space before the colon and continued lines, which are used for request smuggling. */
    if (!colon || colon == r->line || strcspn(r->line, " \t") < (size_t)(colon - r->line))
        return -EBADMSG;
    *colon = '\0';
    value = colon + 1 + strspn(colon + 1, " \t");
    for (end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t'); end--)
        ;
    *end = '\0';
    if (strcasecmp(r->line, "Content-Length") == 0)
        return take_length(r, value);
    if (strcasecmp(r->line, "Transfer-Encoding") == 0)
        return take_encoding(r, value);
    if (strcasecmp(r->line, NM_REPLY_LOG_POSITION) == 0)
        return take_log_position(r, value);
    return 0;
}

/* Parses "1a2b" or "1a2b;extension". Size 0 is the last chunk, after which trailers may follow. */
static int take_chunk_size(struct nm_reply *r)
{
    size_t n = strspn(r->line, "0123456789abcdefABCDEF");
    uint64_t v = 0;

    if (n == 0 || n > 15 || (r->line[n] && !strchr("; \t", r->line[n])))
        return -EBADMSG;
    for (size_t i = 0; i < n; i++)
        v = v * 16 + (uint64_t)nm_hex_digit(r->line[i]);
    r->left = v;
    r->state = v > 0 ? NM_REPLY_CHUNK : NM_REPLY_TRAILER;
    return 0;
}

/* Processes a complete line according to the state. */
static int take_line(struct nm_reply *r)
{
    /* Size lines of chunks aren't limited, because a stream may be endless. */
    bool counted = r->state != NM_REPLY_CHUNK_SIZE && r->state != NM_REPLY_CHUNK_END;

    if (counted && ++r->n_lines > NM_REPLY_LINES_MAX)
        return -E2BIG;
    switch (r->state) {
    case NM_REPLY_STATUS_LINE:
        return take_status_line(r);
    case NM_REPLY_HEADER:
        return take_header(r);
    case NM_REPLY_CHUNK_SIZE:
        return take_chunk_size(r);
    case NM_REPLY_CHUNK_END:
        r->state = NM_REPLY_CHUNK_SIZE;
        return r->line[0] ? -EBADMSG : 0;
    default: /* NM_REPLY_TRAILER */
        if (!r->line[0])
            r->state = NM_REPLY_DONE;
        return 0;
    }
}

/* Collects bytes up to CRLF. Returns the number of bytes used, or a negative errno. */
static ssize_t feed_line(struct nm_reply *r, const char *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)data[i];

        if (c == '\n') {
            int e;

            if (r->line_len == 0 || r->line[r->line_len - 1] != '\r')
                return -EBADMSG;
            r->line[r->line_len - 1] = '\0';
            r->line_len = 0;
            e = take_line(r);
            return e < 0 ? e : (ssize_t)i + 1;
        }
        /* CR is valid only at the end of the line. NUL and other control characters are always invalid. */
        if ((c < 0x20 && c != '\t' && c != '\r') ||
            (r->line_len > 0 && r->line[r->line_len - 1] == '\r'))
            return -EBADMSG;
        if (r->line_len > NM_REPLY_LINE_MAX)
            return -E2BIG;
        r->line[r->line_len++] = (char)c;
    }
    return (ssize_t)n;
}

/* Passes the bytes that belong to the body or the current chunk to the callback. Returns their number, or a negative
 * errno. */
static ssize_t feed_body(struct nm_reply *r, const char *data, size_t n)
{
    int e;

    if (r->state != NM_REPLY_BODY_EOF && n > r->left)
        n = (size_t)r->left;
    e = r->body_cb(data, n, r->userdata);
    if (e < 0)
        return e;
    if (r->state == NM_REPLY_BODY_EOF)
        return (ssize_t)n;
    r->left -= n;
    if (r->left == 0)
        r->state = r->state == NM_REPLY_CHUNK ? NM_REPLY_CHUNK_END : NM_REPLY_DONE;
    return (ssize_t)n;
}

/* Processes the bytes according to the parser's state. The input may be split anywhere. After an error the parser
 * accepts no more input, because it can't interpret the following bytes. */
int nm_reply_feed(struct nm_reply *r, const char *data, size_t n)
{
    if (r->failed < 0)
        return r->failed;
    assert(data || n == 0);
    while (n > 0 && r->state != NM_REPLY_DONE) {
        bool body = r->state == NM_REPLY_BODY_LENGTH || r->state == NM_REPLY_BODY_EOF ||
                    r->state == NM_REPLY_CHUNK;
        ssize_t used = body ? feed_body(r, data, n) : feed_line(r, data, n);

        if (used < 0)
            return r->failed = (int)used;
        data += used;
        n -= (size_t)used;
    }
    return r->state == NM_REPLY_DONE ? NM_REPLY_E_DONE : 0;
}

/* Handles the end of the connection. Only a body without an announced length may end with the connection. In all other
 * cases the daemon crashed before the end of the reply, and an error is returned. */
int nm_reply_feed_eof(struct nm_reply *r)
{
    if (r->failed < 0)
        return r->failed;
    if (r->state == NM_REPLY_BODY_EOF)
        r->state = NM_REPLY_DONE;
    return r->state == NM_REPLY_DONE ? NM_REPLY_E_DONE : -ECONNRESET;
}
