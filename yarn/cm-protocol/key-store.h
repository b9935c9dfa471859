/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Saves keys and used tokens in a file of the state directory, so that they survive a restart of nmd. A restarted nmd
 * can then verify the token of an application's master that connects before the node is registered. It can also verify
 * the token of a master whose key only this node still has.
 */

#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/used-tokens.h"

#define NM_YARN_KEY_STORE_FILE "yarn-keys"

struct nm_yarn_key_store;

/* Restores the contents of the file into the three objects, which must outlive *ret. Ignores a missing or invalid file.
 * Fails if the file can't be read, because nmd would overwrite it later. */
int nm_yarn_key_store_new(const char *state_dir, struct nm_yarn_cluster_keys *cluster, struct nm_yarn_keyring *keyring,
                          struct nm_yarn_used *used, struct nm_yarn_key_store **ret);
/* Saves unsaved changes, and frees the store. */
struct nm_yarn_key_store *nm_yarn_key_store_free(struct nm_yarn_key_store *k);
NM_DEFINE_CLEANUP(struct nm_yarn_key_store *, nm_yarn_key_store_free)

/* Writes the file if the three objects have changed since the last save. After a failure, the next call tries again. */
void nm_yarn_key_store_save(struct nm_yarn_key_store *k);
