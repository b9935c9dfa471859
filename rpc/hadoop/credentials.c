/* SPDX-License-Identifier: Apache-2.0 */

/* See token.h. */

#include "rpc/hadoop/token.h"

#include <errno.h>

#include "rpc/hadoop/packet.h"

#define MAGIC "HDTS"
enum { FORMAT_WRITABLE = 0, FORMAT_PROTOBUF = 1 };

/* Minimum sizes in bytes: a token has five lengths of at least one byte, a secret has two. With these sizes an
 * impossible count of entries is rejected before memory is allocated. */
enum { TOKEN_MIN = 5, SECRET_MIN = 2 };

static int take_count(struct nm_bytes *from, size_t entry_min, size_t *ret)
{
    int64_t n;

    if (nm_writable_vint(from, &n) < 0 || n < 0 || (uint64_t)n > from->size / entry_min)
        return -EBADMSG;
    *ret = (size_t)n;
    return 0;
}

static int read_tokens(struct nm_arena *a, struct nm_bytes *from, struct nm_credentials *c)
{
    int r = take_count(from, TOKEN_MIN, &c->n_tokens);

    if (r < 0)
        return r;
    c->tokens = nm_arena_alloc(a, c->n_tokens * sizeof *c->tokens);
    if (!c->tokens)
        return -ENOMEM;
    for (size_t i = 0; i < c->n_tokens; i++)
        if (nm_writable_bytes(from, &c->tokens[i].alias) < 0 || nm_token_read(from, &c->tokens[i].token) < 0)
            return -EBADMSG;
    return 0;
}

static int read_secrets(struct nm_arena *a, struct nm_bytes *from, struct nm_credentials *c)
{
    int r = take_count(from, SECRET_MIN, &c->n_secrets);

    if (r < 0)
        return r;
    c->secrets = nm_arena_alloc(a, c->n_secrets * sizeof *c->secrets);
    if (!c->secrets)
        return -ENOMEM;
    for (size_t i = 0; i < c->n_secrets; i++)
        if (nm_writable_bytes(from, &c->secrets[i].alias) < 0 || nm_writable_bytes(from, &c->secrets[i].value) < 0)
            return -EBADMSG;
    return 0;
}

static int parse_writable(struct nm_arena *a, struct nm_bytes data, struct nm_credentials *c)
{
    int r = read_tokens(a, &data, c);

    if (r >= 0)
        r = read_secrets(a, &data, c);
    if (r >= 0 && data.size > 0)
        r = -EBADMSG;
    return r;
}

/* Converts a message. Rejects an entry without its token or secret, because Java never writes one. */
static int from_message(struct nm_arena *a, const Hadoop__Credentials *m, struct nm_credentials *c)
{
    c->tokens = nm_arena_alloc(a, m->n_tokens * sizeof *c->tokens);
    c->secrets = nm_arena_alloc(a, m->n_secrets * sizeof *c->secrets);
    if (!c->tokens || !c->secrets)
        return -ENOMEM;
    for (; c->n_tokens < m->n_tokens; c->n_tokens++) {
        const Hadoop__Credential *from = m->tokens[c->n_tokens];

        if (!from->token)
            return -EBADMSG;
        c->tokens[c->n_tokens] = (struct nm_credential){.alias = nm_bytes_of(from->alias),
                                                        .token = nm_token_from_message(from->token)};
    }
    for (; c->n_secrets < m->n_secrets; c->n_secrets++) {
        const Hadoop__Credential *from = m->secrets[c->n_secrets];

        if (!from->has_secret)
            return -EBADMSG;
        c->secrets[c->n_secrets] = (struct nm_secret){.alias = nm_bytes_of(from->alias),
                                                      .value = {from->secret.data, from->secret.len}};
    }
    return 0;
}

static int parse_protobuf(struct nm_arena *a, struct nm_bytes data, struct nm_credentials *c)
{
    const Hadoop__Credentials *m;
    struct nm_bytes message;
    int r = nm_packet_next(&data, &message);

    if (r < 0 || data.size > 0)
        return -EBADMSG;
    m = (const Hadoop__Credentials *)nm_arena_unpack(a, &hadoop__credentials__descriptor, message);
    return m ? from_message(a, m, c) : nm_arena_error(a);
}

int nm_credentials_parse(struct nm_arena *a, struct nm_bytes data, struct nm_credentials *ret)
{
    struct nm_credentials c = {};
    uint8_t format;
    int r;

    if (data.size < sizeof MAGIC || memcmp(data.data, MAGIC, strlen(MAGIC)) != 0)
        return -EBADMSG;
    (void)nm_bytes_take(&data, strlen(MAGIC));
    format = *nm_bytes_take(&data, 1).data;
    if (format == FORMAT_WRITABLE)
        r = parse_writable(a, data, &c);
    else if (format == FORMAT_PROTOBUF)
        r = parse_protobuf(a, data, &c);
    else
        r = -EBADMSG;
    if (r >= 0)
        *ret = c;
    return r;
}

void nm_credentials_write(const struct nm_credentials *c, struct nm_writer *w)
{
    const uint8_t format = FORMAT_WRITABLE;

    nm_writer_put(w, nm_bytes_of(MAGIC));
    nm_writer_put(w, (struct nm_bytes){&format, 1});
    nm_writer_vint(w, (int64_t)c->n_tokens);
    for (size_t i = 0; i < c->n_tokens; i++) {
        nm_writer_bytes(w, c->tokens[i].alias);
        nm_token_write(&c->tokens[i].token, w);
    }
    nm_writer_vint(w, (int64_t)c->n_secrets);
    for (size_t i = 0; i < c->n_secrets; i++) {
        nm_writer_bytes(w, c->secrets[i].alias);
        nm_writer_bytes(w, c->secrets[i].value);
    }
}
