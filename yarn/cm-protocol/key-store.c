/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See key-store.h. The file contains some dozens of bytes for each attempt and for each start of the last minutes. It
 * is rewritten completely each time. Only root can read the file, because the keys allow signing any token.
 */

#include "yarn/cm-protocol/key-store.h"

#include <errno.h>

#include "rpc/hadoop/arena.h"
#include "util/error.h"
#include "util/fileio.h"
#include "yarn/id-messages.h"
#include "yarn/tracker.pb-c.h"

#define FILE_MAX (16 * NM_MIB)

struct nm_yarn_key_store {
    int dir_fd;
    struct nm_yarn_cluster_keys *cluster;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_cluster_keys saved; /* these three members have the values that were last saved */
    uint64_t keyring_changes, used_changes;
};

/* ---- reading ------------------------------------------------------------------------------ */

static void take_keys(Yarn__MasterKey *const *list, size_t n, struct nm_yarn_keys *ret)
{
    if (n > 0 && nm_yarn_key_from_message(list[0], &ret->current) && n > 1)
        (void)nm_yarn_key_from_message(list[1], &ret->previous);
}

static int take_all(struct nm_yarn_key_store *k, const Yarn__StoredKeys *m)
{
    int r = 0;

    take_keys(m->container_keys, m->n_container_keys, &k->cluster->container);
    take_keys(m->nm_keys, m->n_nm_keys, &k->cluster->nm);
    for (size_t i = 0; r == 0 && i < m->n_attempts; i++) {
        struct nm_yarn_attempt_id id;
        struct nm_yarn_master_key key;

        if (!nm_yarn_is_attempt(m->attempts[i]->attempt) ||
            !nm_yarn_key_from_message(m->attempts[i]->key, &key))
            continue;
        id = nm_yarn_attempt_of(m->attempts[i]->attempt);
        r = nm_yarn_keyring_restore(k->keyring, &id, &key);
    }
    for (size_t i = 0; r == 0 && i < m->n_used; i++) {
        struct nm_yarn_container_id id;

        if (!nm_yarn_is_container(m->used[i]->container))
            continue;
        id = nm_yarn_container_of(m->used[i]->container);
        r = nm_yarn_used_make_room(k->used, INT64_MIN);
        if (r == 0)
            nm_yarn_used_add(k->used, &id, m->used[i]->expires_msec);
    }
    return r;
}

static int load(struct nm_yarn_key_store *k)
{
    _cleanup_free_ uint8_t *data = NULL;
    const Yarn__StoredKeys *m;
    struct nm_arena a;
    size_t size;
    int r = nm_read_regular_at(k->dir_fd, NM_YARN_KEY_STORE_FILE, FILE_MAX, &data, &size);

    if (r == -ENOENT || r == -EBADMSG)
        return 0;
    if (r < 0)
        return r;
    nm_arena_init(&a, nm_arena_limit(size), NULL);
    m = (const Yarn__StoredKeys *)nm_arena_unpack(&a, &yarn__stored_keys__descriptor, (struct nm_bytes){data, size});
    if (m)
        r = take_all(k, m);
    else if (nm_arena_error(&a) == -ENOMEM)
        r = -ENOMEM; /* the file may be valid, and nmd would overwrite it later */
    nm_arena_done(&a);
    explicit_bzero(data, size);
    return r;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* A message, and the arena that contains the objects it points to. */
struct pieces {
    Yarn__StoredKeys message;
    struct nm_arena arena;
};

static Yarn__MasterKey *make_key(struct nm_arena *a, const struct nm_yarn_master_key *key)
{
    Yarn__MasterKey *m = nm_arena_alloc(a, sizeof *m);

    if (m)
        *m = nm_yarn_key_message(key);
    return m;
}

static int make_keys(struct nm_arena *a, const struct nm_yarn_keys *keys, Yarn__MasterKey ***ret, size_t *ret_n)
{
    const struct nm_yarn_master_key *both[] = {&keys->current, &keys->previous};

    *ret = nm_arena_alloc(a, 2 * sizeof **ret);
    for (size_t i = 0; *ret && i < 2 && both[i]->size > 0; i++) {
        (*ret)[i] = make_key(a, both[i]);
        if (!(*ret)[i])
            return -ENOMEM;
        *ret_n = i + 1;
    }
    return *ret ? 0 : -ENOMEM;
}

static Hadoop__AttemptId *make_attempt(struct nm_arena *a, const struct nm_yarn_attempt_id *id)
{
    struct nm_yarn_attempt_message *m = nm_arena_alloc(a, sizeof *m);

    return m ? nm_yarn_attempt_message_set(m, id) : NULL;
}

static int make_attempts(const struct nm_yarn_key_store *k, struct pieces *p)
{
    const struct nm_yarn_master_key *key;
    struct nm_yarn_attempt_id id;
    size_t n = 0;

    while (nm_yarn_keyring_get(k->keyring, n, &id, &key))
        n++;
    p->message.attempts = nm_arena_alloc(&p->arena, (n + 1) * sizeof *p->message.attempts);
    for (size_t i = 0; p->message.attempts && nm_yarn_keyring_get(k->keyring, i, &id, &key); i++) {
        Yarn__KnownAttempt *m = nm_arena_alloc(&p->arena, sizeof *m);

        if (!m)
            return -ENOMEM;
        *m = (Yarn__KnownAttempt)YARN__KNOWN_ATTEMPT__INIT;
        m->attempt = make_attempt(&p->arena, &id);
        m->key = make_key(&p->arena, key);
        if (!m->attempt || !m->key)
            return -ENOMEM;
        p->message.attempts[p->message.n_attempts++] = m;
    }
    return p->message.attempts ? 0 : -ENOMEM;
}

static int make_used(const struct nm_yarn_key_store *k, struct pieces *p)
{
    struct nm_yarn_container_id id;
    int64_t expires_msec;
    size_t n = 0;

    while (nm_yarn_used_get(k->used, n, &id, &expires_msec))
        n++;
    p->message.used = nm_arena_alloc(&p->arena, (n + 1) * sizeof *p->message.used);
    for (size_t i = 0; p->message.used && nm_yarn_used_get(k->used, i, &id, &expires_msec); i++) {
        Yarn__UsedToken *m = nm_arena_alloc(&p->arena, sizeof *m);

        if (!m)
            return -ENOMEM;
        *m = (Yarn__UsedToken)YARN__USED_TOKEN__INIT;
        m->container = nm_yarn_container_message_new(&p->arena, &id);
        m->has_expires_msec = 1;
        m->expires_msec = expires_msec;
        if (!m->container)
            return -ENOMEM;
        p->message.used[p->message.n_used++] = m;
    }
    return p->message.used ? 0 : -ENOMEM;
}

static int write_message(int dir_fd, const ProtobufCMessage *m)
{
    size_t size = protobuf_c_message_get_packed_size(m);
    _cleanup_free_ uint8_t *data = malloc(size + 1);
    int r;

    if (!data)
        return -ENOMEM;
    (void)protobuf_c_message_pack(m, data);
    r = nm_write_bytes_atomic_at(dir_fd, NM_YARN_KEY_STORE_FILE, data, size, 0600);
    explicit_bzero(data, size);
    return r;
}

static int save(const struct nm_yarn_key_store *k)
{
    struct pieces p = {.message = YARN__STORED_KEYS__INIT};
    int r;

    nm_arena_init(&p.arena, 64 * NM_MIB, NULL);
    r = make_keys(&p.arena, &k->cluster->container, &p.message.container_keys, &p.message.n_container_keys);
    if (r == 0)
        r = make_keys(&p.arena, &k->cluster->nm, &p.message.nm_keys, &p.message.n_nm_keys);
    if (r == 0)
        r = make_attempts(k, &p);
    if (r == 0)
        r = make_used(k, &p);
    if (r == 0)
        r = write_message(k->dir_fd, &p.message.base);
    nm_arena_done(&p.arena);
    return r;
}

/* ---- changes ------------------------------------------------------------------------------ */

static bool are_same(const struct nm_yarn_keys *a, const struct nm_yarn_keys *b)
{
    return a->current.id == b->current.id && a->current.size == b->current.size && a->previous.id == b->previous.id &&
           a->previous.size == b->previous.size &&
           memcmp(a->current.bytes, b->current.bytes, sizeof a->current.bytes) == 0 &&
           memcmp(a->previous.bytes, b->previous.bytes, sizeof a->previous.bytes) == 0;
}

/* Records that the file contains the current state. */
static void note(struct nm_yarn_key_store *k)
{
    k->saved = *k->cluster;
    k->keyring_changes = nm_yarn_keyring_changes(k->keyring);
    k->used_changes = nm_yarn_used_changes(k->used);
}

void nm_yarn_key_store_save(struct nm_yarn_key_store *k)
{
    if (are_same(&k->saved.container, &k->cluster->container) && are_same(&k->saved.nm, &k->cluster->nm) &&
        k->keyring_changes == nm_yarn_keyring_changes(k->keyring) && k->used_changes == nm_yarn_used_changes(k->used))
        return;
    if (save(k) == 0)
        note(k);
}

int nm_yarn_key_store_new(const char *state_dir, struct nm_yarn_cluster_keys *cluster, struct nm_yarn_keyring *keyring,
                          struct nm_yarn_used *used, struct nm_yarn_key_store **ret)
{
    _cleanup_(nm_yarn_key_store_freep) struct nm_yarn_key_store *k = calloc(1, sizeof *k);
    int r;

    if (!k)
        return -ENOMEM;
    *k = (struct nm_yarn_key_store){.cluster = cluster, .keyring = keyring, .used = used};
    k->dir_fd = RET_NERRNO(open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    r = k->dir_fd < 0 ? k->dir_fd : load(k);
    note(k);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(k);
    return 0;
}

struct nm_yarn_key_store *nm_yarn_key_store_free(struct nm_yarn_key_store *k)
{
    if (!k)
        return NULL;
    if (k->dir_fd >= 0)
        nm_yarn_key_store_save(k);
    (void)nm_close(k->dir_fd);
    explicit_bzero(k, sizeof *k);
    free(k);
    return NULL;
}
