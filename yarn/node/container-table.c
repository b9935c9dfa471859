/* SPDX-License-Identifier: Apache-2.0 */

/* See container-table.h. */

#include "yarn/node/container-table.h"

#include <assert.h>

#include "rpc/hadoop/token.h"
#include "util/fnv1a.h"
#include "yarn/id-messages.h"

static size_t bucket_of(const char *text)
{
    return nm_fnv1a_32(text, strlen(text)) % NM_YARN_BUCKETS;
}

/* ---- search ------------------------------------------------------------------------------- */

struct nm_yarn_app *nm_yarn_container_table_app(const struct nm_yarn_container_table *all,
                                                const struct nm_yarn_application_id *id)
{
    struct nm_yarn_app *a = all->apps;

    while (a && !nm_yarn_same_application(&a->id, id))
        a = a->next;
    return a;
}

struct nm_yarn_container *nm_yarn_container_table_by_text(const struct nm_yarn_container_table *all, const char *text)
{
    struct nm_yarn_container *i = all->buckets[bucket_of(text)];

    while (i && !nm_streq(i->text, text))
        i = i->next_in_bucket;
    return i;
}

/* Finds a container by the text of its id, which is the manager's key too. Then compares the numbers, since two ids can
 * have the same text (ids.h). */
struct nm_yarn_container *nm_yarn_container_table_find(const struct nm_yarn_container_table *all,
                                                       const struct nm_yarn_container_id *id)
{
    char text[NM_YARN_ID_SIZE];
    struct nm_yarn_container *i = nm_yarn_container_table_by_text(all, nm_yarn_container_id_format(id, text));

    return i && nm_yarn_same_container(&i->id, id) ? i : NULL;
}

/* ---- addition and removal ---------------------------------------------------------------- */

void nm_yarn_container_table_init(struct nm_yarn_container_table *all)
{
    *all = (struct nm_yarn_container_table){};
    all->last = &all->first;
}

struct nm_yarn_record_version *nm_yarn_record_version_free(struct nm_yarn_record_version *kept)
{
    if (!kept)
        return NULL;
    nm_arena_done(&kept->arena);
    free(kept);
    return NULL;
}

int nm_yarn_record_version_new(struct nm_bytes blob, struct nm_yarn_record_version **ret)
{
    _cleanup_(nm_yarn_record_version_freep) struct nm_yarn_record_version *k = calloc(1, sizeof *k);

    if (!k)
        return -ENOMEM;
    nm_arena_init(&k->arena, nm_arena_limit(blob.size), NULL);
    k->record = (const Yarn__Record *)nm_arena_unpack(&k->arena, &yarn__record__descriptor, blob);
    if (!k->record)
        return nm_arena_error(&k->arena);
    if (!k->record->has_identifier || !k->record->context)
        return -EBADMSG;
    *ret = STEAL_PTR(k);
    return 0;
}

void nm_yarn_container_take_record(struct nm_yarn_container *container, struct nm_yarn_record_version *kept)
{
    kept->next = container->records;
    container->records = kept;
    container->record = kept->record;
}

void nm_yarn_container_drop_records(struct nm_yarn_container *container)
{
    struct nm_yarn_record_version *older = container->records->next;

    container->records->next = NULL;
    while (older) {
        struct nm_yarn_record_version *k = older;

        older = k->next;
        nm_yarn_record_version_free(k);
    }
}

void nm_yarn_container_drop_extras(struct nm_yarn_container *container)
{
    while (container->extras) {
        struct nm_yarn_extra *e = container->extras;

        container->extras = e->next;
        nm_yarn_preparation_free(e->preparation);
        nm_arena_done(&e->arena);
        free(e);
    }
    container->n_extras = 0;
    container->reinit = NULL;
}

static struct nm_yarn_container *container_free(struct nm_yarn_container *i)
{
    if (!i)
        return NULL;
    nm_yarn_preparation_free(i->preparation);
    nm_yarn_container_drop_extras(i);
    nm_arena_done(&i->token_arena);
    if (i->records)
        nm_yarn_container_drop_records(i);
    nm_yarn_record_version_free(i->records);
    free(i->messages);
    free(i->diagnostics);
    free(i);
    return NULL;
}
NM_DEFINE_CLEANUP(struct nm_yarn_container *, container_free)

enum nm_execution_type nm_yarn_token_type(const Hadoop__ContainerTokenIdentifier *token)
{
    return token->execution_type == HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__OPPORTUNISTIC ? NM_OPPORTUNISTIC
                                                                                                      : NM_GUARANTEED;
}

int nm_yarn_token_read(struct nm_bytes identifier, struct nm_yarn_read_token *ret)
{
    int r;

    nm_arena_init(&ret->arena, nm_arena_limit(identifier.size), NULL);
    r = nm_token_parse_container(&ret->arena, identifier, &ret->token);
    if (r < 0)
        nm_arena_done(&ret->arena);
    return r;
}

/* Moves the arena of a token into the container. The arena's head is copied. The parsed message remains valid, because
 * it lies in the arena's blocks, which are not moved. */
void nm_yarn_container_take_token(struct nm_yarn_container *container, const struct nm_yarn_read_token *token)
{
    nm_arena_done(&container->token_arena);
    container->token_arena = token->arena;
    container->token_arena.allocator.allocator_data = &container->token_arena;
    container->token = token->token;
}

static int unpack(struct nm_yarn_container *i, struct nm_bytes blob)
{
    struct nm_yarn_read_token token;
    struct nm_yarn_record_version *kept;
    int r = nm_yarn_record_version_new(blob, &kept);

    if (r < 0)
        return r;
    nm_yarn_container_take_record(i, kept);
    i->increased = i->record->increased;
    r = nm_yarn_token_read((struct nm_bytes){i->record->identifier.data, i->record->identifier.len}, &token);
    if (r == 0)
        nm_yarn_container_take_token(i, &token);
    return r;
}

int nm_yarn_container_table_add_app(struct nm_yarn_container_table *all, const struct nm_yarn_application_id *id,
                                    const char *submitter,
                                    struct nm_yarn_app **ret)
{
    struct nm_yarn_app *a = nm_yarn_container_table_app(all, id);
    _cleanup_free_ char *copy = a ? NULL : strdup(submitter);

    if (!a && !copy)
        return -ENOMEM;
    if (!a) {
        a = calloc(1, sizeof *a);
        if (!a)
            return -ENOMEM;
        a->id = *id;
        (void)nm_yarn_application_id_format(id, a->text);
        a->submitter = STEAL_PTR(copy);
        a->next = all->apps;
        all->apps = a;
    }
    *ret = a;
    return 0;
}

int nm_yarn_container_table_add(struct nm_yarn_container_table *all, struct nm_bytes blob,
                                struct nm_yarn_container **ret)
{
    _cleanup_(container_freep) struct nm_yarn_container *i = calloc(1, sizeof *i);
    struct nm_yarn_container **bucket;
    int r;

    if (!i)
        return -ENOMEM;
    r = unpack(i, blob);
    if (r < 0)
        return r;
    i->id = nm_yarn_container_of(i->token->container);
    (void)nm_yarn_container_id_format(&i->id, i->text);
    r = nm_yarn_container_table_add_app(all, &i->id.attempt.application, i->token->submitter, &i->app);
    if (r < 0)
        return r;
    i->app->n_containers++;
    bucket = &all->buckets[bucket_of(i->text)];
    i->next_in_bucket = *bucket;
    *bucket = i;
    i->link = all->last;
    *all->last = i;
    all->last = &i->next;
    all->n++;
    *ret = STEAL_PTR(i);
    return 0;
}

void nm_yarn_container_table_remove(struct nm_yarn_container_table *all, struct nm_yarn_container *container)
{
    struct nm_yarn_container **p = &all->buckets[bucket_of(container->text)];

    while (*p != container)
        p = &(*p)->next_in_bucket;
    *p = container->next_in_bucket;
    *container->link = container->next;
    if (container->next)
        container->next->link = container->link;
    else
        all->last = container->link;
    container->app->n_containers--;
    all->n--;
    container_free(container);
}

void nm_yarn_container_table_drop_app(struct nm_yarn_container_table *all, struct nm_yarn_app *app)
{
    struct nm_yarn_app **p = &all->apps;

    assert(app->n_containers == 0);
    while (*p != app)
        p = &(*p)->next;
    *p = app->next;
    free(app->submitter);
    free(app->view_acl);
    free(app);
}

void nm_yarn_container_table_done(struct nm_yarn_container_table *all)
{
    while (all->first)
        nm_yarn_container_table_remove(all, all->first);
    while (all->apps)
        nm_yarn_container_table_drop_app(all, all->apps);
}

int nm_yarn_record_pack(const Yarn__Record *record, struct nm_bytes identifier, struct nm_blob *ret)
{
    Yarn__Record r = *record;
    void *data;

    r.has_identifier = 1;
    r.identifier = (ProtobufCBinaryData){identifier.size, (uint8_t *)(uintptr_t)identifier.data};
    data = malloc(NM_MAX(yarn__record__get_packed_size(&r), (size_t)1));
    if (!data)
        return -ENOMEM;
    *ret = (struct nm_blob){data, yarn__record__pack(&r, data)};
    return 0;
}

int nm_yarn_record_repack(const Yarn__Record *record, struct nm_blob *ret, struct nm_yarn_record_version **ret_kept)
{
    _cleanup_free_ void *data = NULL;
    struct nm_blob blob;
    int r = nm_yarn_record_pack(record, (struct nm_bytes){record->identifier.data, record->identifier.len}, &blob);

    if (r < 0)
        return r;
    data = blob.data;
    r = nm_yarn_record_version_new((struct nm_bytes){blob.data, blob.bytes}, ret_kept);
    if (r < 0)
        return r;
    (void)STEAL_PTR(data);
    *ret = blob;
    return 0;
}
