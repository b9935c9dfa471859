/* SPDX-License-Identifier: Apache-2.0 */

/* See local-keys.h. */

#include "yarn/proxy/local-keys.h"

#include <assert.h>
#include <string.h>

#include "yarn/message-ids.h"

static struct nm_yarn_master_key make_key(int32_t id, const struct nm_yarn_local_chance *chance)
{
    struct nm_yarn_master_key key = {.id = id, .size = sizeof chance->key};

    static_assert(sizeof chance->key <= NM_YARN_KEY_MAX, "it has room");
    (void)memcpy(key.bytes, chance->key, sizeof chance->key);
    return key;
}

/* Returns the next number. After the largest number comes 0. */
static int32_t after(int32_t id)
{
    return id == INT32_MAX ? 0 : id + 1;
}

static uint64_t since(const struct nm_yarn_local_keys *k, uint64_t now_usec)
{
    return now_usec > k->rolled_usec ? now_usec - k->rolled_usec : 0;
}

bool nm_yarn_local_keys_step(struct nm_yarn_local_keys *k, uint64_t now_usec,
                             const struct nm_yarn_local_chance *chance)
{
    bool changed = false;

    if (k->current.size == 0) {
        k->current = make_key((int32_t)(chance->number & INT32_MAX), chance);
        k->rolled_usec = now_usec;
        return true;
    }
    if (now_usec < k->rolled_usec) { /* the clock was set back: the interval restarts now */
        k->rolled_usec = now_usec;
        changed = true;
    }
    if (k->next.size > 0 && since(k, now_usec) >= k->delay_usec) {
        k->current = k->next;
        explicit_bzero(&k->next, sizeof k->next);
        changed = true;
    }
    if (k->next.size == 0 && since(k, now_usec) >= k->every_usec) {
        k->next = make_key(after(k->current.id), chance);
        k->rolled_usec = now_usec;
        changed = true;
    }
    return changed;
}

uint64_t nm_yarn_local_keys_due(const struct nm_yarn_local_keys *k)
{
    return k->rolled_usec + (k->next.size > 0 ? k->delay_usec : k->every_usec);
}

const struct nm_yarn_master_key *nm_yarn_local_keys_signing(const struct nm_yarn_local_keys *k)
{
    const struct nm_yarn_master_key *key = k->next.size > 0 ? &k->next : &k->current;

    assert(key->size > 0);
    return key;
}

const struct nm_yarn_master_key *nm_yarn_local_keys_find(const struct nm_yarn_local_keys *k, int32_t id)
{
    if (k->current.size > 0 && k->current.id == id)
        return &k->current;
    return k->next.size > 0 && k->next.id == id ? &k->next : NULL;
}

int nm_yarn_local_token(const struct nm_yarn_master_key *key, const struct nm_yarn_attempt_id *attempt,
                        struct nm_token **ret)
{
    Hadoop__AMRMTokenIdentifier id = HADOOP__AMRMTOKEN_IDENTIFIER__INIT;
    struct nm_yarn_attempt_message ids;

    id.attempt = nm_yarn_attempt_message_set(&ids, attempt);
    id.has_key_id = 1;
    id.key_id = key->id;
    return nm_token_sign(&id.base, NM_TOKEN_KIND_AMRM, "", key->bytes, key->size, ret);
}
