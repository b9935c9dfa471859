/* SPDX-License-Identifier: Apache-2.0 */

/* Answers with a page of the upstream, such as a log of one of YARN's containers. The page may have a part of a file.
 * The file is read in pieces when libmicrohttpd requests data, so a page needs no memory for the file. */

#include "rpc/local/handlers.h"

#include <assert.h>
#include <unistd.h>

#include "rpc/local/stream.h"

#define ESCAPED_MAX 6 /* bytes of the longest escape, "&quot;" */

/* Returns the escape of a character that HTML gives a meaning, or NULL. */
static const char *escape_of(char c)
{
    return c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : NULL;
}

/* Escapes n bytes at the end of the buffer into its start. The escapes need at most ESCAPED_MAX times n bytes, so the
 * output doesn't reach bytes that haven't been read yet. Returns the number of bytes. */
static size_t escape(char *buf, const char *from, size_t n)
{
    char *to = buf;

    for (size_t i = 0; i < n; i++) {
        const char c = from[i], *e = escape_of(c);

        if (e)
            to = mempcpy(to, e, strlen(e));
        else
            *to++ = c;
    }
    return (size_t)(to - buf);
}

/* Returns the next bytes of `before` or `after`, or 0 if all bytes have been returned. */
static ssize_t read_text(struct nm_stream *s, const char *text, char *buf, size_t max)
{
    size_t n = NM_MIN(strlen(text + s->pending_pos), max);

    memcpy(buf, text + s->pending_pos, n);
    s->pending_pos += n;
    return (ssize_t)n;
}

/* Returns the next bytes of the file, or 0 at the end of the part or of the file. Another process may have made the
 * file shorter or longer in the meantime. */
static ssize_t read_file(struct nm_upstream_page *p, char *buf, size_t max)
{
    size_t room = p->is_html ? NM_MAX(max / ESCAPED_MAX, (size_t)1) : max;
    char *to = p->is_html ? buf + max - room : buf;
    ssize_t n = p->fd < 0 || p->size == 0 ? 0 : pread(p->fd, to, NM_MIN(room, p->size), (off_t)p->from);

    if (n < 0)
        return -errno;
    p->from += (uint64_t)n;
    p->size -= (uint64_t)n;
    return p->is_html ? (ssize_t)escape(buf, to, (size_t)n) : n;
}

/* Returns the next bytes of the page. */
static ssize_t read_part(struct nm_stream *s, char *buf, size_t max)
{
    struct nm_upstream_page *p = &s->page;
    ssize_t n = s->begun ? 0 : read_text(s, p->before ?: "", buf, max);

    if (n != 0)
        return n;
    if (!s->begun)
        s->pending_pos = 0;
    s->begun = true;
    n = s->ended ? 0 : read_file(p, buf, max);
    if (n != 0)
        return n;
    s->ended = true;
    return read_text(s, p->after ?: "", buf, max);
}

static ssize_t read_page(void *userdata, uint64_t pos, char *buf, size_t max)
{
    struct nm_stream *s = userdata;
    ssize_t n;

    (void)pos;
    if (nm_stream_stopped(s))
        return MHD_CONTENT_READER_END_OF_STREAM;
    /* libmicrohttpd's buffers are larger. A smaller one could not hold an escape. */
    if (max < ESCAPED_MAX)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (!nm_stream_begin_turn(s))
        return 0;
    n = read_part(s, buf, max);
    nm_call_end_turn(s->call);
    return n > 0 ? n : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

/* ---- the handler -------------------------------------------------------------------------- */

/* Starts to send the page. A list of files may be a long text, and a client may read it slowly, so it is reserved in
 * the quota of the account. */
static int answer_stream(struct nm_call *call, struct nm_upstream_page *p)
{
    const size_t text = strlen(p->before ?: "") + strlen(p->after ?: "");
    const size_t rationed = text > NM_ANSWER_TEXT_FREE_BYTES ? text : 0;
    struct nm_stream *s;
    int r;

    if (rationed > 0 && !nm_quota_account_take(call->account, rationed))
        return -ENOBUFS;
    r = nm_stream_new(call, NM_STREAM_PAGE);
    if (r < 0) {
        nm_quota_account_give(call->account, rationed);
        return r;
    }
    s = call->stream;
    s->rationed = rationed;
    s->page = *p;
    *p = NM_UPSTREAM_PAGE_NULL;
    return nm_stream_answer(s, MHD_SIZE_UNKNOWN, s->page.content_type, read_page);
}

/* Adds the headers of a page. Browsers must not run scripts that a container has written into its log. */
static void add_headers(struct nm_call *call, const char *location)
{
    (void)MHD_add_response_header(call->answer, "Content-Security-Policy",
                                  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                                  "frame-ancestors 'none'");
    if (location)
        (void)MHD_add_response_header(call->answer, MHD_HTTP_HEADER_LOCATION, location);
}

int nm_handle_upstream_page(struct nm_call *call)
{
    char user[NM_CLAIMED_USER_SIZE];
    const struct nm_upstream_query q = nm_call_upstream_query(call, user);
    _cleanup_(nm_upstream_page_done) struct nm_upstream_page page = NM_UPSTREAM_PAGE_NULL;
    _cleanup_free_ char *location = NULL;
    unsigned status;
    int r = nm_manager_query_upstream_page(call->manager, &q, &page, &call->problem);

    if (r != 0)
        return r;
    assert(page.status >= 200);
    if (page.json)
        return nm_call_answer_json(call, page.status, STEAL_PTR(page.json));
    location = STEAL_PTR(page.location);
    status = page.status;
    r = answer_stream(call, &page);
    if (r < 0)
        return r;
    call->answer_status = status;
    add_headers(call, location);
    return 0;
}
