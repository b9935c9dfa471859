/* SPDX-License-Identifier: Apache-2.0 */

/* See keyring.h. The keyring remembers the key of an attempt and not its token, because the attempt may have several
 * tokens that were signed with the same key. */

#include "yarn/cm-protocol/keyring.h"

#include <assert.h>
#include <errno.h>

#include "util/macros.h"
#include "yarn/id-messages.h"

struct remembered {
    struct nm_yarn_attempt_id attempt;
    struct nm_yarn_master_key key;
};

struct nm_yarn_keyring {
    const struct nm_yarn_cluster_keys *cluster;
    struct remembered *list;
    size_t n, allocated;
    uint64_t changes;
};

int nm_yarn_keyring_new(const struct nm_yarn_cluster_keys *cluster, struct nm_yarn_keyring **ret)
{
    struct nm_yarn_keyring *k = calloc(1, sizeof *k);

    if (!k)
        return -ENOMEM;
    k->cluster = cluster;
    *ret = k;
    return 0;
}

struct nm_yarn_keyring *nm_yarn_keyring_free(struct nm_yarn_keyring *k)
{
    if (!k)
        return NULL;
    if (k->list)
        explicit_bzero(k->list, k->allocated * sizeof *k->list);
    free(k->list);
    free(k);
    return NULL;
}

bool nm_yarn_keyring_is_empty(const struct nm_yarn_keyring *k)
{
    return k->n == 0 && k->cluster->nm.current.size == 0;
}

/* ---- keys --------------------------------------------------------------------------------- */

static const struct nm_yarn_master_key *find_key(const struct nm_yarn_keys *keys, int32_t id)
{
    if (keys->current.size > 0 && keys->current.id == id)
        return &keys->current;
    if (keys->previous.size > 0 && keys->previous.id == id)
        return &keys->previous;
    return NULL;
}

static struct remembered *find_attempt(const struct nm_yarn_keyring *k, const struct nm_yarn_attempt_id *id)
{
    for (size_t i = 0; i < k->n; i++)
        if (nm_yarn_same_attempt(&k->list[i].attempt, id))
            return &k->list[i];
    return NULL;
}

const struct nm_yarn_master_key *nm_yarn_keyring_for_container(const struct nm_yarn_keyring *k,
                                                               const Hadoop__ContainerTokenIdentifier *token)
{
    return find_key(&k->cluster->container, token->key_id);
}

const struct nm_yarn_master_key *nm_yarn_keyring_for_attempt(const struct nm_yarn_keyring *k,
                                                             const Hadoop__NMTokenIdentifier *token)
{
    const struct nm_yarn_master_key *key = find_key(&k->cluster->nm, token->key_id);
    struct nm_yarn_attempt_id id = nm_yarn_attempt_of(token->attempt);
    const struct remembered *r;

    if (key)
        return key;
    r = find_attempt(k, &id);
    return r && r->key.id == token->key_id ? &r->key : NULL;
}

/* ---- attempts ----------------------------------------------------------------------------- */

static int add_attempt(struct nm_yarn_keyring *k, const struct nm_yarn_attempt_id *id, struct remembered **ret)
{
    if (k->n == k->allocated) {
        size_t n = k->allocated ? 2 * k->allocated : 8;
        struct remembered *list = n <= NM_YARN_KEYRING_MAX ? calloc(n, sizeof *list) : NULL;

        if (!list)
            return n <= NM_YARN_KEYRING_MAX ? -ENOMEM : -ENOBUFS;
        if (k->list) {
            (void)memcpy(list, k->list, k->n * sizeof *list);
            explicit_bzero(k->list, k->n * sizeof *list);
        }
        free(k->list);
        k->list = list;
        k->allocated = n;
    }
    k->list[k->n] = (struct remembered){.attempt = *id};
    *ret = &k->list[k->n++];
    return 0;
}

int nm_yarn_keyring_add(struct nm_yarn_keyring *k, const Hadoop__NMTokenIdentifier *token)
{
    const struct nm_yarn_master_key *key = find_key(&k->cluster->nm, token->key_id);
    struct nm_yarn_attempt_id id = nm_yarn_attempt_of(token->attempt);
    struct remembered *found = find_attempt(k, &id);
    int r;

    if (!key) /* the token was signed with the remembered key */
        return 0;
    if (!found) {
        r = add_attempt(k, &id, &found);
        if (r < 0)
            return r;
    }
    if (found->key.size == 0 || found->key.id != key->id)
        k->changes++;
    found->key = *key;
    return 0;
}

void nm_yarn_keyring_drop(struct nm_yarn_keyring *k, const struct nm_yarn_application_id *application)
{
    for (size_t i = 0; i < k->n;)
        if (nm_yarn_same_application(&k->list[i].attempt.application, application)) {
            k->list[i] = k->list[--k->n];
            explicit_bzero(&k->list[k->n], sizeof k->list[k->n]);
            k->changes++;
        } else {
            i++;
        }
}

/* ---- restart ------------------------------------------------------------------------------ */

bool nm_yarn_keyring_get(const struct nm_yarn_keyring *k, size_t i, struct nm_yarn_attempt_id *ret,
                         const struct nm_yarn_master_key **ret_key)
{
    if (i >= k->n)
        return false;
    *ret = k->list[i].attempt;
    *ret_key = &k->list[i].key;
    return true;
}

int nm_yarn_keyring_restore(struct nm_yarn_keyring *k, const struct nm_yarn_attempt_id *id,
                            const struct nm_yarn_master_key *key)
{
    struct remembered *r = find_attempt(k, id);
    int e = r ? 0 : add_attempt(k, id, &r);

    if (e == 0)
        r->key = *key;
    return e;
}

uint64_t nm_yarn_keyring_changes(const struct nm_yarn_keyring *k)
{
    return k->changes;
}
