/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes the parser of HTTP replies. The first byte is the size of the pieces. Apart from crashes, the target detects
 * differences: a reply that arrives in pieces must have the same result, status and body as the whole reply.
 */

#include "rpc/local/client/reply.h"
#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t hash; /* FNV-1a over the body */
    size_t len;
};

static int hash_body(const char *data, size_t n, void *userdata)
{
    struct seen *s = userdata;

    if (n == 0)
        abort();
    for (size_t i = 0; i < n; i++)
        s->hash = (s->hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    s->len += n;
    return 0;
}

static int feed(struct nm_reply *r, struct seen *s, const uint8_t *data, size_t size, size_t step)
{
    int e = 0;

    *s = (struct seen){.hash = UINT64_C(0xcbf29ce484222325)};
    nm_reply_init(r, hash_body, s);
    for (size_t at = 0; at < size && e == 0; at += step)
        e = nm_reply_feed(r, (const char *)data + at, NM_MIN(step, size - at));
    return e == 0 ? nm_reply_feed_eof(r) : e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nm_reply whole, pieces;
    struct seen a, b;
    int ra, rb;

    if (size < 1)
        return 0;
    ra = feed(&whole, &a, data + 1, size - 1, size);
    rb = feed(&pieces, &b, data + 1, size - 1, (size_t)data[0] + 1);
    if (ra == 0 || ra != rb || whole.status != pieces.status || a.len != b.len || a.hash != b.hash)
        abort();
    if (ra == NM_REPLY_E_DONE && (whole.status < 200 || whole.status > 999))
        abort();
    return 0;
}
