/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state of the proxy that survives a restart of nmd. It consists of the keys of the proxy's own tokens and, for
 * each application master, the data that the proxy can't request from the master again. So a restart of nmd only delays
 * a master's calls, even if nmd was killed between two calls or during a call:
 *
 *   - The master's token stays valid. The key that signed the token is saved before the master gets the token. The key
 *     is kept for the master after the proxy has replaced it.
 *   - The ResourceManager accepts the attempt's token. A new token is saved before the former token is dropped.
 *   - A number is used for one container only, and an ask is placed only once. Numbers, asks and the containers placed
 *     for a call are saved in one write before the master and the ResourceManager are informed of the containers.
 *   - A lost answer is repeated. A master that calls again with the response id of its last call gets the same
 *     containers.
 *
 * So each write precedes the action that depends on it. Only root can read the files, since they contain keys and
 * tokens. A master's file is written with every call that places containers, before the call is forwarded to the
 * ResourceManager. The files of masters are in the runtime directory, which is in memory. On a disk, the renaming of a
 * file took longer than the rest of the call (0.3 ms, and 20 ms in 1 % of the cases). The files need not survive a
 * reboot, because no master survives a reboot.
 */

#include "rpc/hadoop/token.h"
#include "yarn/ids.h"
#include "yarn/proxy/local-tokens.h"

/* Size limit of a file. A master with the maximum number of asks needs less than this. */
#define NM_YARN_MASTER_FILE_MAX_BYTES (16 * NM_MIB)

struct nm_yarn_stored_node {
    const char *host;
    int32_t port;
};

/* The saved state of a master. The caller owns the data that the pointers lead to. */
struct nm_yarn_stored_master {
    struct nm_yarn_attempt_id attempt;
    const char *submitter;
    int64_t master_number;         /* number of the master's own container */
    uint64_t since_realtime_usec;  /* when the master was started */
    struct nm_token token;         /* the ResourceManager's newest token for the attempt */
    struct nm_yarn_master_key used_key, given_key; /* keys of the proxy's tokens for the master (pipeline-call.c);
                                                      size 0: no key */
    struct nm_bytes registered;    /* packed answer of the ResourceManager to the registration; empty: not registered */
    struct nm_bytes asks;          /* result of nm_yarn_allocator_pack(); empty: no asks were saved */
    bool has_number;               /* last_number is valid */
    int64_t last_number;           /* number of the newest container; each new container gets a lower number */
    int32_t response_id;           /* response id of the call for which the containers in `placed` were placed */
    const struct nm_bytes *placed; /* packed Containers */
    size_t n_placed;
    const struct nm_yarn_stored_node *known_nodes; /* nodes for which the master has an NMToken */
    size_t n_known_nodes;
    struct nm_bytes lending;       /* packed state of the stage for lending; empty: the state has none */
    const char *wish;              /* NMD_LEND of the master; NULL: not set */
};

struct nm_yarn_proxy_store {
    int dir_fd, masters_fd;
    void (*report_cb)(int level, const char *sentence); /* NULL after open() */
};

/* Returns whether an earlier nmd has saved the state of a master in that directory. */
bool nm_yarn_proxy_store_has_masters(const char *runtime_dir);

/* Opens the store. The caller must call nm_yarn_proxy_store_done(), even if this function fails. */
int nm_yarn_proxy_store_open(const char *state_dir, const char *runtime_dir, struct nm_yarn_proxy_store *ret);
void nm_yarn_proxy_store_done(struct nm_yarn_proxy_store *k);

/* Save the keys or a master. -errno: saving failed, so the caller must not do the action that depends on it. -EFBIG:
 * the state is too large. */
int nm_yarn_proxy_store_keys(const struct nm_yarn_proxy_store *k, const struct nm_yarn_local_keys *keys);
int nm_yarn_proxy_store_master(const struct nm_yarn_proxy_store *k, const struct nm_yarn_stored_master *m);
/* Removes the file of an attempt that is over. Further calls have no effect. */
void nm_yarn_proxy_store_drop(const struct nm_yarn_proxy_store *k, const struct nm_yarn_attempt_id *id);

/* Sets current, next and rolled_usec of the keys. If the file is missing or invalid, leaves them unchanged. */
int nm_yarn_proxy_store_load_keys(const struct nm_yarn_proxy_store *k, struct nm_yarn_local_keys *keys);
/* Calls cb for each saved master. The data is valid during the call only. Removes and reports invalid
 * files. */
typedef void (*nm_yarn_stored_master_cb_t)(const struct nm_yarn_stored_master *m, void *userdata);
int nm_yarn_proxy_store_load_masters(const struct nm_yarn_proxy_store *k, nm_yarn_stored_master_cb_t cb,
                                     void *userdata);

/* Parses the contents of a master's file. name: the name of the file. -EBADMSG: the contents are invalid. */
int nm_yarn_proxy_store_parse(struct nm_arena *a, const char *name, struct nm_bytes content,
                              struct nm_yarn_stored_master *ret);
