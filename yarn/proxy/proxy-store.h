/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of the proxy that survives a restart of nmd: the keys of its own tokens, and for each application master
 * the data that the master can't be asked for again. So a restart of nmd only delays a master's calls, even if nmd was
 * killed between two calls or within one:
 *
 *   - The master's token stays valid. The key that signed it is saved before the token is given to the master, and is
 *     kept for the master when the proxy has replaced the key.
 *   - The ResourceManager accepts the attempt's token. A new token is saved before the former one is dropped.
 *   - A number is used for one container only, and an ask is placed only once. Numbers, asks and the containers placed
 *     for a call are saved in one write before the containers are announced.
 *   - A lost announcement is repeated. A master that calls again with the response id of its last call gets the same
 *     containers.
 *
 * So each write precedes the action that depends on it. Only root can read the files, since they contain keys and
 * tokens. The files of masters are written with every call that places containers, before the call is forwarded to the
 * ResourceManager. These files lie in the runtime directory, in memory, because renaming a file on a disk took longer
 * than the rest of the call (0.3 ms, and 20 ms in 1 % of the cases). They are useless after a boot, because no master
 * survives the boot.
 */

#include "rpc/hadoop/token.h"
#include "yarn/ids.h"
#include "yarn/proxy/local-tokens.h"

/* Size limit of a file. A master with the maximum number of asks needs less. */
#define NM_YARN_KEEP_MAX_BYTES (16 * NM_MIB)

struct nm_yarn_stored_node {
    const char *host;
    int32_t port;
};

/* The saved state of a master. The pointers refer to data of the caller. */
struct nm_yarn_stored_master {
    struct nm_yarn_attempt_id attempt;
    const char *submitter;
    int64_t master_number;         /* number of the master's own container */
    uint64_t since_realtime_usec;  /* when the master was started */
    struct nm_token token;         /* the ResourceManager's newest token for the attempt */
    struct nm_yarn_master_key borne, given; /* keys of the proxy's tokens for the master (pipeline.c); size 0: no key */
    struct nm_bytes registered;    /* packed answer of the ResourceManager to the registration; empty: not registered */
    struct nm_bytes asks;          /* result of nm_yarn_allocator_pack(); empty: no asks were saved */
    bool has_number;               /* last_number is valid */
    int64_t last_number;           /* number of the newest container; numbers are descending */
    int32_t response_id;           /* response id of the call for which the containers in `placed` were placed */
    const struct nm_bytes *placed; /* packed Containers */
    size_t n_placed;
    const struct nm_yarn_stored_node *known_nodes; /* nodes with an NMToken of the ResourceManager */
    size_t n_known_nodes;
};

struct nm_yarn_proxy_store {
    int dir_fd, masters_fd;
};

/* Opens the store. The caller calls nm_yarn_proxy_store_done() whether or not the opening succeeds. */
int nm_yarn_proxy_store_open(const char *state_dir, const char *runtime_dir, struct nm_yarn_proxy_store *ret);
void nm_yarn_proxy_store_done(struct nm_yarn_proxy_store *k);

/* Save the keys or a master. -errno: saving failed, so the action that depends on it must not be done. -EFBIG: the
 * state is too large. */
int nm_yarn_proxy_store_keys(const struct nm_yarn_proxy_store *k, const struct nm_yarn_local_keys *keys);
int nm_yarn_proxy_store_master(const struct nm_yarn_proxy_store *k, const struct nm_yarn_stored_master *m);
/* Removes the file of an attempt that is over. Further calls have no effect. */
void nm_yarn_proxy_store_drop(const struct nm_yarn_proxy_store *k, const struct nm_yarn_attempt_id *id);

/* Sets current, next and rolled_usec. Leaves them unchanged if the file is missing or invalid. */
int nm_yarn_proxy_store_load_keys(const struct nm_yarn_proxy_store *k, struct nm_yarn_local_keys *keys);
/* Calls cb for each saved master, whose data is valid during the call. Removes invalid files. */
typedef void (*nm_yarn_stored_master_cb_t)(const struct nm_yarn_stored_master *m, void *userdata);
int nm_yarn_proxy_store_load_masters(const struct nm_yarn_proxy_store *k, nm_yarn_stored_master_cb_t cb,
                                     void *userdata);

/* Parses the contents of a file as a master of that name. -EBADMSG: the contents are invalid. */
int nm_yarn_proxy_store_parse(struct nm_arena *a, const char *name, struct nm_bytes content,
                              struct nm_yarn_stored_master *ret);
