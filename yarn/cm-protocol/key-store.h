/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeps keys and used tokens in a file of the state directory across a restart of nmd. With it, nmd recognizes an
 * application's master that connects before the node is registered, and a master whose key only this node remembers.
 */

#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/used-tokens.h"

#define NM_YARN_KEY_STORE_FILE "yarn-keys"

struct nm_yarn_key_store;

/* Restores the contents of the file into all three objects, which must outlive *ret. A file that can't be read counts
 * as missing. */
int nm_yarn_key_store_new(const char *state_dir, struct nm_yarn_state *state, struct nm_yarn_keyring *keyring,
                          struct nm_yarn_used *used, struct nm_yarn_key_store **ret);
/* Saves changes before it frees the store. */
struct nm_yarn_key_store *nm_yarn_key_store_free(struct nm_yarn_key_store *k);
NM_DEFINE_CLEANUP(struct nm_yarn_key_store *, nm_yarn_key_store_free)

/* Writes the file if its contents are out of date. After a failure, the next call writes the file again. */
void nm_yarn_key_store_save(struct nm_yarn_key_store *k);
