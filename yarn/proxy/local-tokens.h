/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The proxy's own AMRM tokens. Application masters on this node get such a token in place of the ResourceManager's
 * token. This code manages the keys of these tokens, and replaces the token in a master's credentials.
 *
 * As in the ResourceManager, a new key is made periodically. It immediately signs new tokens. The previous key is
 * accepted until the new key has become the current key, so that masters have time to fetch a new token. The number of
 * the first key is random. Each further key has the next number, also after a restart of nmd.
 *
 * The code is pure: the caller provides time and random bytes. The time is that of a clock that continues while nmd is
 * not running. If the clock is set back meanwhile, a key is not used longer than usual.
 */

#include <stdbool.h>

#include "rpc/hadoop/token.h"
#include "yarn/ids.h"
#include "yarn/master-key.h"

#define NM_YARN_LOCAL_KEY_SIZE 20u

struct nm_yarn_local_keys {
    struct nm_yarn_master_key current, next; /* size 0: the key is not set */
    uint64_t rolled_usec;                    /* when the newest key was made */
    uint64_t every_usec, delay_usec; /* interval between keys; delay until a new key is current; set by the caller */
};

/* The random bytes that a step may need. */
struct nm_yarn_local_random {
    uint8_t key[NM_YARN_LOCAL_KEY_SIZE];
    uint32_t number; /* number of the first key */
};

/* Makes a key if one is due. Makes the next key current after its delay. Returns true if the keys have changed and must
 * be saved. */
bool nm_yarn_local_keys_step(struct nm_yarn_local_keys *k, uint64_t now_usec,
                             const struct nm_yarn_local_random *random_bytes);
/* Returns the latest time for the next call of nm_yarn_local_keys_step(). */
uint64_t nm_yarn_local_keys_due(const struct nm_yarn_local_keys *k);

/* Returns the key that signs new tokens. This key exists after the first step. */
const struct nm_yarn_master_key *nm_yarn_local_keys_signing(const struct nm_yarn_local_keys *k);
/* Returns NULL if the key is unknown or no longer accepted. */
const struct nm_yarn_master_key *nm_yarn_local_keys_find(const struct nm_yarn_local_keys *k, int32_t id);

/* Makes a token for that attempt and signs it with the key. Its kind is YARN_AM_RM_TOKEN and its service is empty,
 * because masters look for such a token. The caller frees *ret. */
int nm_yarn_local_token(const struct nm_yarn_master_key *key, const struct nm_yarn_attempt_id *attempt,
                        struct nm_token **ret);

/* ---- credentials of a master -------------------------------------------------------------- */

/*
 * Replaces the AMRM token in the credentials of an application's master. The proxy keeps the ResourceManager's token,
 * and puts its own token under the same alias. All other credentials are unchanged.
 *
 * credentials: from a launch context. *ret: the credentials with the token `ours`, in the arena. *ret_theirs: the
 * replaced token, which the caller frees. -ENOKEY: the credentials have no AMRM token; -EBADMSG: the credentials are
 * invalid; -ENOMEM. If there are several AMRM tokens, *ret_theirs is the first one, as in Java's proxy, and all of them
 * are removed.
 */
int nm_yarn_replace_token(struct nm_arena *a, struct nm_bytes credentials, const struct nm_token *ours,
                          struct nm_bytes *ret, struct nm_token **ret_theirs);
