/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The keys that sign tokens. The ResourceManager sends the keys of the cluster's tokens to all nodes, and replaces them
 * periodically. The proxy for application masters makes keys for its own tokens.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "yarn/tracker.pb-c.h"

#define NM_YARN_KEY_MAX 64u
struct nm_yarn_master_key {
    int32_t id;
    uint8_t bytes[NM_YARN_KEY_MAX];
    size_t size; /* 0: the key is not set */
};

/* The current key, and the previous key, which has signed tokens that are still in use. */
struct nm_yarn_keys {
    struct nm_yarn_master_key current, previous;
};

/* The keys of the cluster's two kinds of tokens. */
struct nm_yarn_cluster_keys {
    struct nm_yarn_keys container, nm;
};

/* Converts a key to a message. The message points to the bytes of the key, so the key must outlive the message. */
Yarn__MasterKey nm_yarn_key_message(const struct nm_yarn_master_key *key);
/* Returns false if m is NULL, or the key is missing or too long. */
bool nm_yarn_is_key(const Yarn__MasterKey *m);
/* Returns the result of nm_yarn_is_key(). If it is false, *ret is unchanged. */
bool nm_yarn_key_from_message(const Yarn__MasterKey *m, struct nm_yarn_master_key *ret);
