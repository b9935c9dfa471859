/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The keys of the proxy's own AMRM tokens, which application masters bear on this node in the place of the
 * ResourceManager's. As with that one, a new key is made every so often and signs new tokens at once; the one before
 * is accepted until the new one has become current, so that masters have time to fetch a token of it. Numbers begin
 * anywhere and go up by one, also over restarts of nmd.
 *
 * Pure: time and chance are given. Time is that of the day, which goes on while nmd is away; if it is set back, a key
 * lives no longer than it would have.
 */

#include <stdbool.h>

#include "rpc/hadoop/token.h"
#include "yarn/ids.h"
#include "yarn/state.h"

#define NM_YARN_LOCAL_KEY_SIZE 20u

struct nm_yarn_local_keys {
    struct nm_yarn_master_key current, next; /* size 0: there is none */
    uint64_t rolled_usec;                    /* when the newest of them was made */
    uint64_t every_usec, delay_usec;         /* until another one is made; until that is current. Set by the owner. */
};

/* As many bytes of chance as a step may need. */
struct nm_yarn_local_chance {
    uint8_t key[NM_YARN_LOCAL_KEY_SIZE];
    uint32_t number; /* of the first key */
};

/* Makes keys, and takes them over, as it is time. True: something has changed, and should outlive nmd. */
bool nm_yarn_local_keys_step(struct nm_yarn_local_keys *k, uint64_t now_usec,
                             const struct nm_yarn_local_chance *chance);
/* When the next step changes something, at the latest. */
uint64_t nm_yarn_local_keys_due(const struct nm_yarn_local_keys *k);

/* What new tokens are signed with: there is one after the first step. */
const struct nm_yarn_master_key *nm_yarn_local_keys_signing(const struct nm_yarn_local_keys *k);
/* NULL: not, or no longer, a key. */
const struct nm_yarn_master_key *nm_yarn_local_keys_find(const struct nm_yarn_local_keys *k, int32_t id);

/* A token for that attempt, signed with the key: kind YARN_AM_RM_TOKEN, with an empty service, as masters look for it.
 * The caller frees it. */
int nm_yarn_local_token(const struct nm_yarn_master_key *key, const struct nm_yarn_attempt_id *attempt,
                        struct nm_token **ret);
