/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What of the proxy outlives nmd: the keys of its own tokens, and of each application master what it can't be asked for
 * again. So a master goes on as if nothing had been; that nmd was killed between two of its calls, or within one, costs
 * it nothing but time:
 *
 *   - Its token is good: the key that signed it is kept before the token is given away, and stays with the master when
 *     the proxy has rolled it away.
 *   - The ResourceManager knows it: the token that it gave last is kept before the former is forgotten.
 *   - No number is given to two containers, and no ask is met twice: numbers, asks and the containers that were placed
 *     for a call are kept in one piece, before anybody hears of those containers.
 *   - Containers whose announcement was lost aren't: a master that calls again with the response id of its last call
 *     gets the same ones.
 *
 * So each write comes before that which it allows. The files are root's alone, for they have keys and tokens. Those of
 * masters are written with every call that places something, before it goes on to the ResourceManager: they lie in the
 * runtime directory, in memory, for a disk took longer to rename one than all the rest (0.3 ms, and 20 in one of a
 * hundred). They are of no use after a boot, which no master outlives.
 */

#include "rpc/hadoop/token.h"
#include "yarn/ids.h"
#include "yarn/proxy/local-keys.h"

/* Larger is nothing that a master with as many asks as it may have would need. */
#define NM_YARN_KEEP_MAX_BYTES (16 * NM_MIB)

struct nm_yarn_stored_node {
    const char *host;
    int32_t port;
};

/* Of a master. All that it points to is somebody else's. */
struct nm_yarn_stored_master {
    struct nm_yarn_attempt_id attempt;
    const char *submitter;
    int64_t master_number;         /* of its own container */
    uint64_t since_realtime_usec;  /* when it was started */
    struct nm_token token;         /* the ResourceManager's, the last that it gave */
    struct nm_yarn_master_key borne, given; /* of the proxy's tokens for it; size 0: of none (pipeline.c) */
    struct nm_bytes registered;    /* the ResourceManager's answer to its registration, packed; empty: it has none */
    struct nm_bytes asks;          /* nm_yarn_allocator_pack()'s; empty: none */
    bool has_number;               /* the next is true: */
    int64_t last_number;           /* of the container that was numbered last; they go down */
    int32_t response_id;           /* of the call for which these containers were placed */
    const struct nm_bytes *placed; /* each a Container, packed */
    size_t n_placed;
    const struct nm_yarn_stored_node *known_nodes; /* for which the ResourceManager itself has given an NMToken */
    size_t n_known_nodes;
};

struct nm_yarn_proxy_store {
    int dir_fd, masters_fd;
};

/* Done with or without success. */
int nm_yarn_proxy_store_open(const char *state_dir, const char *runtime_dir, struct nm_yarn_proxy_store *ret);
void nm_yarn_proxy_store_done(struct nm_yarn_proxy_store *k);

/* -errno: it isn't kept, and what it was to allow must not be done. -EFBIG: it is too large. */
int nm_yarn_proxy_store_keys(const struct nm_yarn_proxy_store *k, const struct nm_yarn_local_keys *keys);
int nm_yarn_proxy_store_master(const struct nm_yarn_proxy_store *k, const struct nm_yarn_stored_master *m);
/* The attempt is over. Any number of times. */
void nm_yarn_proxy_store_drop(const struct nm_yarn_proxy_store *k, const struct nm_yarn_attempt_id *id);

/* Sets current, next and rolled_usec; without a file, or one that is none, all stay as they are. */
int nm_yarn_proxy_store_load_keys(const struct nm_yarn_proxy_store *k, struct nm_yarn_local_keys *keys);
/* All masters. What they point to lives as long as the call. A file that is none is removed. */
typedef void (*nm_yarn_key_store_cb_t)(const struct nm_yarn_stored_master *m, void *userdata);
int nm_yarn_proxy_store_load_masters(const struct nm_yarn_proxy_store *k, nm_yarn_key_store_cb_t cb, void *userdata);

/* A file's content as a master of that name. -EBADMSG: it is none. */
int nm_yarn_proxy_store_parse(struct nm_arena *a, const char *name, struct nm_bytes content,
                              struct nm_yarn_stored_master *ret);
