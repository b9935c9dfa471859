/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The keys with which tokens that come to this node were signed: of each kind the current one and the one before. An
 * attempt that has started a container here is remembered with the key of its NMToken, which it uses for as long as it
 * runs, whatever keys come after. Pure; identifiers of tokens were parsed by rpc/hadoop/token.h: they have all their
 * parts.
 */

#include <stdbool.h>

#include "rpc/hadoop/security.pb-c.h"
#include "util/macros.h"
#include "yarn/ids.h"
#include "yarn/state.h"

/* Attempts that are remembered at the same time, at most: more than a node has containers. */
#define NM_YARN_KEYRING_MAX 65536u

struct nm_yarn_keyring;

/* state has the keys as the ResourceManager tells them; it must outlive this. */
int nm_yarn_keyring_new(const struct nm_yarn_state *state, struct nm_yarn_keyring **ret);
struct nm_yarn_keyring *nm_yarn_keyring_free(struct nm_yarn_keyring *k);
NM_DEFINE_CLEANUP(struct nm_yarn_keyring *, nm_yarn_keyring_free)

/* No key was heard of yet, so that nobody's token could be a good one. */
bool nm_yarn_keyring_is_empty(const struct nm_yarn_keyring *k);

/* NULL: no such key, or no longer. */
const struct nm_yarn_master_key *nm_yarn_keyring_for_container(const struct nm_yarn_keyring *k,
                                                               const Hadoop__ContainerTokenIdentifier *token);
const struct nm_yarn_master_key *nm_yarn_keyring_for_attempt(const struct nm_yarn_keyring *k,
                                                             const Hadoop__NMTokenIdentifier *token);

/* The attempt has started a container here by this token. -ENOBUFS: there are too many. */
int nm_yarn_keyring_remember(struct nm_yarn_keyring *k, const Hadoop__NMTokenIdentifier *token);
void nm_yarn_keyring_forget(struct nm_yarn_keyring *k, const struct nm_yarn_application_id *application);

/* ---- over a restart of nmd ---- */

/* The i-th attempt that is remembered, and its key; false: there are no more. */
bool nm_yarn_keyring_get(const struct nm_yarn_keyring *k, size_t i, struct nm_yarn_attempt_id *ret,
                         const struct nm_yarn_master_key **ret_key);
/* One that an earlier nmd remembered. */
int nm_yarn_keyring_restore(struct nm_yarn_keyring *k, const struct nm_yarn_attempt_id *id,
                            const struct nm_yarn_master_key *key);
/* Changes with what is remembered. */
uint64_t nm_yarn_keyring_changes(const struct nm_yarn_keyring *k);
