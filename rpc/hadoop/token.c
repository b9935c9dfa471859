/* SPDX-License-Identifier: Apache-2.0 */

/* See token.h. */

#include "rpc/hadoop/token.h"

#include <errno.h>

#include "rpc/hadoop/digest.h"

int nm_token_read(struct nm_bytes *from, struct nm_token *ret)
{
    struct nm_bytes rest = *from;
    struct nm_token t;

    if (nm_writable_bytes(&rest, &t.identifier) < 0 || nm_writable_bytes(&rest, &t.password) < 0 ||
        nm_writable_bytes(&rest, &t.kind) < 0 || nm_writable_bytes(&rest, &t.service) < 0)
        return -EBADMSG;
    if (t.identifier.size > NM_TOKEN_PART_MAX || t.password.size > NM_TOKEN_PART_MAX)
        return -EBADMSG;
    if (nm_bytes_have_nul(t.kind) || nm_bytes_have_nul(t.service)) /* kind and service become C strings */
        return -EBADMSG;
    *from = rest;
    *ret = t;
    return 0;
}

void nm_token_write(const struct nm_token *t, struct nm_writer *w)
{
    nm_writer_bytes(w, t->identifier);
    nm_writer_bytes(w, t->password);
    nm_writer_bytes(w, t->kind);
    nm_writer_bytes(w, t->service);
}

static struct nm_bytes copy_part(uint8_t **to, struct nm_bytes part)
{
    struct nm_bytes copy = {*to, part.size};

    if (part.size > 0)
        *to = mempcpy(*to, part.data, part.size);
    return copy;
}

int nm_token_copy(const struct nm_token *t, struct nm_token **ret)
{
    struct nm_token *copy = malloc(sizeof *copy + t->identifier.size + t->password.size + t->kind.size +
                                   t->service.size);
    uint8_t *to = (uint8_t *)(copy + 1);

    if (!copy)
        return -ENOMEM;
    copy->identifier = copy_part(&to, t->identifier);
    copy->password = copy_part(&to, t->password);
    copy->kind = copy_part(&to, t->kind);
    copy->service = copy_part(&to, t->service);
    *ret = copy;
    return 0;
}

struct nm_token *nm_token_free(struct nm_token *t)
{
    if (t)
        explicit_bzero((uint8_t *)(t + 1), t->identifier.size + t->password.size);
    free(t);
    return NULL;
}

struct nm_token nm_token_from_message(const Hadoop__Token *m)
{
    return (struct nm_token){
        .identifier = {m->identifier.data, m->identifier.len},
        .password = {m->password.data, m->password.len},
        .kind = nm_bytes_of(m->kind),
        .service = nm_bytes_of(m->service),
    };
}

int nm_token_verify(const struct nm_token *t, const char *kind, const uint8_t *key, size_t key_size)
{
    if (!nm_bytes_equal(t->kind, nm_bytes_of(kind)))
        return -EKEYREJECTED;
    return nm_digest_verify(key, key_size, t->identifier.data, t->identifier.size, t->password.data,
                            t->password.size);
}

/* ---- identifiers -------------------------------------------------------------------------- */

static bool is_named(const char *s)
{
    return s && *s;
}

static bool is_whole(const Hadoop__AttemptId *id)
{
    return id && id->has_attempt && id->application && id->application->has_id &&
           id->application->has_cluster_timestamp;
}

static const ProtobufCMessage *unpack(struct nm_arena *a, const ProtobufCMessageDescriptor *type,
                                      struct nm_bytes identifier)
{
    if (identifier.size == 0 || identifier.size > NM_TOKEN_PART_MAX)
        return NULL;
    return nm_arena_unpack(a, type, identifier);
}

int nm_token_parse_container(struct nm_arena *a, struct nm_bytes identifier,
                             const Hadoop__ContainerTokenIdentifier **ret)
{
    const Hadoop__ContainerTokenIdentifier *id = (const Hadoop__ContainerTokenIdentifier *)unpack(
        a, &hadoop__container_token_identifier__descriptor, identifier);

    if (!id)
        return nm_arena_error(a);
    if (!id->container || !id->container->has_id || !is_whole(id->container->attempt) ||
        !is_named(id->submitter) || !is_named(id->node_address) || !id->resource || !id->resource->has_memory ||
        !id->resource->has_vcores)
        return -EBADMSG;
    *ret = id;
    return 0;
}

int nm_token_parse_nm(struct nm_arena *a, struct nm_bytes identifier, const Hadoop__NMTokenIdentifier **ret)
{
    const Hadoop__NMTokenIdentifier *id =
        (const Hadoop__NMTokenIdentifier *)unpack(a, &hadoop__nmtoken_identifier__descriptor, identifier);

    if (!id)
        return nm_arena_error(a);
    if (!is_whole(id->attempt) || !is_named(id->submitter) || !id->node || !is_named(id->node->host) ||
        !id->node->has_port)
        return -EBADMSG;
    *ret = id;
    return 0;
}

int nm_token_parse_amrm(struct nm_arena *a, struct nm_bytes identifier, const Hadoop__AMRMTokenIdentifier **ret)
{
    const Hadoop__AMRMTokenIdentifier *id =
        (const Hadoop__AMRMTokenIdentifier *)unpack(a, &hadoop__amrmtoken_identifier__descriptor, identifier);

    if (!id)
        return nm_arena_error(a);
    if (!is_whole(id->attempt))
        return -EBADMSG;
    *ret = id;
    return 0;
}

int nm_token_sign(const ProtobufCMessage *identifier, const char *kind, const char *service, const uint8_t *key,
                  size_t key_size, struct nm_token **ret)
{
    size_t size = protobuf_c_message_get_packed_size(identifier);
    _cleanup_free_ uint8_t *packed = NULL;
    uint8_t password[NM_DIGEST_SIZE];
    int r;

    if (size > NM_TOKEN_PART_MAX)
        return -EMSGSIZE;
    packed = malloc(size + 1);
    if (!packed)
        return -ENOMEM;
    (void)protobuf_c_message_pack(identifier, packed);
    r = nm_digest_hmac(key, key_size, packed, size, password);
    if (r < 0)
        return r;
    r = nm_token_copy(&(struct nm_token){.identifier = {packed, size},
                                         .password = {password, sizeof password},
                                         .kind = nm_bytes_of(kind),
                                         .service = nm_bytes_of(service)},
                      ret);
    explicit_bzero(password, sizeof password);
    return r;
}
