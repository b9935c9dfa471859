/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keys and used tokens in a file of the state directory, over a restart of nmd: an application's master that comes
 * while the node isn't registered yet is known, and so is one whose key only this node remembers.
 */

#include "yarn/cm-protocol/keyring.h"
#include "yarn/cm-protocol/used-tokens.h"

#define NM_YARN_KEPT_FILE "yarn-keys"

struct nm_yarn_kept;

/* Takes over what an earlier nmd has left: into all three, which must outlive it. A file that can't be read is as
 * none. */
int nm_yarn_key_store_new(const char *state_dir, struct nm_yarn_state *state, struct nm_yarn_keyring *keyring,
                          struct nm_yarn_used *used, struct nm_yarn_kept **ret);
/* Writes what is new. */
struct nm_yarn_kept *nm_yarn_key_store_free(struct nm_yarn_kept *k);
NM_DEFINE_CLEANUP(struct nm_yarn_kept *, nm_yarn_key_store_free)

/* Writes the file if it isn't as things are. If it can't be written, it is tried again the next time. */
void nm_yarn_key_store_save(struct nm_yarn_kept *k);
