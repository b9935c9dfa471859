/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The journal: SQLite in WAL mode, <state>/nmd.db. A container's row is written *before* any action on the container,
 * so that a restarted nmd knows the intention. With synchronous=NORMAL a crash of nmd loses no writes. A crash of the
 * host may lose the newest writes. All processes have ended then, but a row that says "waiting" does not prove that the
 * container was never started.
 *
 * A damaged file is renamed to nmd.db.damaged-<time>, and a new file is begun with the sound rows of the old one. A
 * full disk is reported (-ENOSPC; a quota as -EDQUOT, a limit on the size of files as -EFBIG). Failed writes are kept
 * in memory and written when there is room: nm_store_flush() is cheap to call often.
 */

#include "agent/container.h"
#include "agent/decision/decision.h"

#define NM_STORE_FILE "nmd.db" /* in the state directory */

struct nm_store;

/* Rows that were read from a damaged file and are in the new one. */
struct nm_store_saved {
    unsigned n_containers, n_decisions;
    bool incomplete; /* some rows could not be read */
};

struct nm_store_opened {
    bool is_new;             /* no usable file existed, so at best a part of the earlier state is known */
    bool was_damaged;
    bool was_rolled_back;    /* the file's log was cut off in the middle: rows may be older than the newest actions */
    uint32_t log_frames, log_promised; /* with was_rolled_back: number of sound frames, and of expected frames */
    char set_aside[256];     /* new path of the damaged file */
    struct nm_store_saved saved;
    /* 0, or the error if no file could be made: -EIO or lack of space. All rows are kept in memory until a file can be
     * made */
    int problem;
    /* the earlier nmd closed the file properly: the file has all writes, even after a power cut */
    bool was_closed;
    bool same_boot;          /* the rows were written since the host's last boot */
    uint64_t epoch;          /* realtime seconds of the store's creation: part of new container ids */
    uint64_t last_seq;       /* highest container number assigned */
    uint64_t last_decision;  /* highest decision number */
};

/*
 * Errors of the functions below. -ENOSPC, -EDQUOT, -EFBIG, -EIO, -EROFS, -EBUSY, -EMFILE: the write is not on disk,
 * but is kept for later. -EUCLEAN: the write is kept, too, but the file is damaged: call nm_store_restart(), then put
 * all known state. Other codes (-ENOMEM, -EINVAL, -EILSEQ for a command that is not UTF-8): the write is not kept.
 */

/* Returns whether r is -ENOSPC, -EDQUOT or -EFBIG. */
bool nm_store_has_no_room(int r);
/* Returns what an administrator can do about this error, as the end of a sentence, or NULL if there is no advice. */
const char *nm_store_error_advice(int r);

/* Opens the journal. dir: the state directory, which must exist. boot_id: text of /proc/sys/kernel/random/boot_id
 * (without the newline), or any text in tests. Returns -EBUSY if another nmd has the journal open. */
int nm_store_open(const char *dir, const char *boot_id, struct nm_store **ret, struct nm_store_opened *ret_opened);
/* Renames the current file to ret_opened->set_aside, and creates a new file with the readable rows and a new epoch (see
 * nm_store_opened.epoch). Keeps writes that were not on disk yet. */
int nm_store_restart(struct nm_store *s, struct nm_store_opened *ret_opened);
/* Marks the file as no longer closed, until nm_store_free(). Call it after the rows were processed, and before any
 * action that the rows do not record. */
void nm_store_mark_open(struct nm_store *s);
/* Flushes once more and frees the store. If nm_store_mark_open() was called and all writes are on disk, marks the file
 * as closed. Otherwise does not change whether the file is marked as closed. */
struct nm_store *nm_store_free(struct nm_store *s);
NM_DEFINE_CLEANUP(struct nm_store *, nm_store_free)

/* Inserts or updates all of c's columns, except c->command and c->blob, which are written once. Uses one transaction
 * unless inside begin/commit. */
int nm_store_put_container(struct nm_store *s, const struct nm_container *c);
/* Returns whether the rows of two versions of a container differ in more than measurements. */
bool nm_store_container_differs(const struct nm_container *a, const struct nm_container *b);
/* Replaces the stored command by c->command. */
int nm_store_put_command(struct nm_store *s, const struct nm_container *c);
/* Replaces the stored blob by c->blob, or removes it if c has no blob. */
int nm_store_put_blob(struct nm_store *s, const struct nm_container *c);
int nm_store_delete_container(struct nm_store *s, const char *id);
/* Calls cb for each container, newest rows last; cb takes ownership of c. A row that cannot be read is skipped and
 * counted. The command of a container that has ended is returned without its environment. */
typedef void (*nm_store_container_cb_t)(struct nm_container *c, void *userdata);
int nm_store_load_containers(struct nm_store *s, nm_store_container_cb_t cb, void *userdata, unsigned *ret_n_bad);

/* Writes a decision. A second call, with the decision's outcome, replaces the first record. */
int nm_store_put_decision(struct nm_store *s, const struct nm_decision *d);
/* Keeps the newest keep_max decisions (0: all decisions). */
int nm_store_trim_decisions(struct nm_store *s, uint64_t keep_max);
typedef void (*nm_store_decision_cb_t)(const struct nm_decision *d, void *userdata);
/* container_id NULL: all containers. Calls cb in ascending order for at most `max` of the newest decisions with numbers
 * below `before`, including decisions that are not on disk yet (is_unsaved). */
int nm_store_load_decisions(struct nm_store *s, const char *container_id, uint64_t before,
                            unsigned max, nm_store_decision_cb_t cb, void *userdata);

/* Named small texts that survive a restart: counters, policy memory, drain state. Keys are shorter than
 * NM_STORE_KEY_SIZE; the prefix "store." is reserved for the store. */
#define NM_STORE_KEY_SIZE (NM_ID_SIZE + 16)
int nm_store_put_value(struct nm_store *s, const char *key, const char *value);
/* Returns -ENOENT if the key has no value. */
int nm_store_get_value(struct nm_store *s, const char *key, char *buf, size_t size);
int nm_store_delete_value(struct nm_store *s, const char *key);
/* Calls cb for all values whose keys begin with prefix, in the order of their keys. The prefix ends with an ASCII
 * character. */
typedef void (*nm_store_value_cb_t)(const char *key, const char *value, void *userdata);
int nm_store_load_values(struct nm_store *s, const char *prefix, nm_store_value_cb_t cb, void *userdata);

int nm_store_begin(struct nm_store *s);  /* groups writes into one transaction; nests; never fails */
int nm_store_commit(struct nm_store *s); /* the outermost call returns the result of the whole transaction */
bool nm_store_in_transaction(const struct nm_store *s);
/* Writes items left from earlier failures. Returns 0, or the error that still prevents writing (-ENOSPC, -EIO). Returns
 * -EUCLEAN also if the file in use was renamed or removed, so that the next nmd would not find it. */
int nm_store_flush(struct nm_store *s);
/* Moves a long log into the database, which syncs both. Is called from time to time, outside of transactions. */
void nm_store_checkpoint(struct nm_store *s);
