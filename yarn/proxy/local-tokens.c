/* SPDX-License-Identifier: Apache-2.0 */

/* See local-tokens.h. */

#include "yarn/proxy/local-tokens.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "util/error.h"
#include "yarn/id-messages.h"

/* ---- keys and tokens ---------------------------------------------------------------------- */

static struct nm_yarn_master_key make_key(int32_t id, const struct nm_yarn_local_random *random_bytes)
{
    struct nm_yarn_master_key key = {.id = id, .size = sizeof random_bytes->key};

    static_assert(sizeof random_bytes->key <= NM_YARN_KEY_MAX, "a key of the proxy fits");
    (void)memcpy(key.bytes, random_bytes->key, sizeof random_bytes->key);
    return key;
}

/* Returns the number after this number. The number after the largest number is 0. */
static int32_t after(int32_t id)
{
    return id == INT32_MAX ? 0 : id + 1;
}

static uint64_t since(const struct nm_yarn_local_keys *k, uint64_t now_usec)
{
    return now_usec > k->rolled_usec ? now_usec - k->rolled_usec : 0;
}

bool nm_yarn_local_keys_step(struct nm_yarn_local_keys *k, uint64_t now_usec,
                             const struct nm_yarn_local_random *random_bytes)
{
    bool changed = false;

    if (k->current.size == 0) {
        k->current = make_key((int32_t)(random_bytes->number & INT32_MAX), random_bytes);
        k->rolled_usec = now_usec;
        return true;
    }
    if (now_usec < k->rolled_usec) { /* the clock was set back, so the interval starts again */
        k->rolled_usec = now_usec;
        changed = true;
    }
    if (k->next.size > 0 && since(k, now_usec) >= k->delay_usec) {
        k->current = k->next;
        explicit_bzero(&k->next, sizeof k->next);
        changed = true;
    }
    if (k->next.size == 0 && since(k, now_usec) >= k->every_usec) {
        k->next = make_key(after(k->current.id), random_bytes);
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

/* ---- credentials of a master -------------------------------------------------------------- */

static bool is_amrm(const struct nm_token *t)
{
    return nm_bytes_equal(t->kind, nm_bytes_of(NM_TOKEN_KIND_AMRM));
}

/* Replaces the first AMRM token by our token, and removes all other AMRM tokens. A client that looks for this kind of
 * token couldn't distinguish them. NULL: the credentials have no AMRM token. */
static const struct nm_credential *put_first(struct nm_credentials *c, const struct nm_token *ours,
                                             struct nm_token *theirs)
{
    const struct nm_credential *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < c->n_tokens; i++) {
        struct nm_credential *t = &c->tokens[i];

        if (is_amrm(&t->token) && found)
            continue;
        c->tokens[n] = *t;
        if (is_amrm(&t->token)) {
            *theirs = t->token;
            c->tokens[n].token = *ours;
            found = &c->tokens[n];
        }
        n++;
    }
    c->n_tokens = n;
    return found;
}

int nm_yarn_replace_token(struct nm_arena *a, struct nm_bytes credentials, const struct nm_token *ours,
                          struct nm_bytes *ret, struct nm_token **ret_theirs)
{
    _cleanup_(nm_token_freep) struct nm_token *kept = NULL;
    _cleanup_(nm_writer_done) struct nm_writer w = {};
    struct nm_credentials c;
    struct nm_token theirs;
    struct nm_bytes written;
    char *copy;
    int r = nm_credentials_parse(a, credentials, &c);

    if (r < 0)
        return r;
    if (!put_first(&c, ours, &theirs))
        return -ENOKEY;
    r = nm_token_copy(&theirs, &kept);
    if (r < 0)
        return r;
    nm_credentials_write(&c, &w);
    r = nm_writer_result(&w, &written);
    if (r < 0)
        return r;
    copy = nm_arena_text(a, written);
    if (!copy)
        return -ENOMEM;
    *ret = (struct nm_bytes){(const uint8_t *)copy, written.size};
    *ret_theirs = STEAL_PTR(kept);
    return 0;
}
