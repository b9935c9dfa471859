/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The keys that signed the tokens for this node: the current key and the previous key of each kind. An attempt uses the
 * same NMToken for this node until it ends. So when an attempt has started a container on this node, the keyring
 * remembers the key of its NMToken. This key is accepted even when the ResourceManager has sent newer keys. The code is
 * pure. rpc/hadoop/token.h has parsed the token identifiers, so they have all their parts.
 */

#include <stdbool.h>

#include "rpc/hadoop/security.pb-c.h"
#include "util/macros.h"
#include "yarn/ids.h"
#include "yarn/master-key.h"

/* Maximum number of attempts that are remembered at the same time. It is larger than the number of containers on a
 * node. */
#define NM_YARN_KEYRING_MAX 65536u

struct nm_yarn_keyring;

/* cluster: the keys that the ResourceManager has sent. They must outlive the keyring. */
int nm_yarn_keyring_new(const struct nm_yarn_cluster_keys *cluster, struct nm_yarn_keyring **ret);
struct nm_yarn_keyring *nm_yarn_keyring_free(struct nm_yarn_keyring *k);
NM_DEFINE_CLEANUP(struct nm_yarn_keyring *, nm_yarn_keyring_free)

/* Returns true if the node has not received a key yet, so that no token can be verified. */
bool nm_yarn_keyring_is_empty(const struct nm_yarn_keyring *k);

/* Return NULL if the key is unknown or no longer valid. */
const struct nm_yarn_master_key *nm_yarn_keyring_for_container(const struct nm_yarn_keyring *k,
                                                               const Hadoop__ContainerTokenIdentifier *token);
const struct nm_yarn_master_key *nm_yarn_keyring_for_attempt(const struct nm_yarn_keyring *k,
                                                             const Hadoop__NMTokenIdentifier *token);

/* Remembers that the attempt has started a container on this node with this token. -ENOBUFS: too many attempts. */
int nm_yarn_keyring_add(struct nm_yarn_keyring *k, const Hadoop__NMTokenIdentifier *token);
void nm_yarn_keyring_drop(struct nm_yarn_keyring *k, const struct nm_yarn_application_id *application);

/* ---- persistence across a restart of nmd ---- */

/* Returns the i-th remembered attempt and its key. Returns false if i is past the end. */
bool nm_yarn_keyring_get(const struct nm_yarn_keyring *k, size_t i, struct nm_yarn_attempt_id *ret,
                         const struct nm_yarn_master_key **ret_key);
/* Restores an attempt that an earlier nmd has saved. */
int nm_yarn_keyring_restore(struct nm_yarn_keyring *k, const struct nm_yarn_attempt_id *id,
                            const struct nm_yarn_master_key *key);
/* Returns a counter that changes whenever the remembered attempts or their keys change. */
uint64_t nm_yarn_keyring_changes(const struct nm_yarn_keyring *k);
