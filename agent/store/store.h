/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The journal: SQLite in WAL mode, <state>/nmd.db. A container's row is written *before* anything
 * is done about it, so that a restarted nmd knows what was meant. synchronous=NORMAL: a crash of
 * nmd loses nothing. A crash of the host may lose the newest writes: what ran is gone anyway, but
 * that something waits is then no proof that it has not been started.
 *
 * A damaged file is renamed to nmd.db.damaged-<time> and a new one begun, with what is sound in it;
 * a full disk is reported (-ENOSPC; a quota as -EDQUOT, a limit on the size of files as -EFBIG) and what could not be
 * written is kept in memory and written when there is room: nm_store_flush() is cheap to call often.
 */

#include "agent/container.h"
#include "agent/decision/decision.h"

#define NM_STORE_FILE "nmd.db" /* in the state directory */

struct nm_store;

/* What could be read of a damaged file, and is in the new one. */
struct nm_store_saved {
    unsigned n_containers, n_decisions;
    bool incomplete; /* not all could be read */
};

struct nm_store_opened {
    bool is_new;             /* no file was there, or none that could be used: at best a part is known of before */
    bool was_damaged;
    bool was_rolled_back;    /* its log was cut off in the middle: rows may be older than what happened to containers */
    uint32_t log_frames, log_promised; /* with was_rolled_back: sound ones, and those that there were */
    char set_aside[256];     /* where the damaged file went */
    struct nm_store_saved saved;
    int problem;             /* 0, -EIO or want of room: no file could be made, all is kept in memory until one can */
    bool was_closed;         /* by who had it in use: all that was written is there, even after a power cut */
    bool same_boot;          /* the rows were written since the host's last boot */
    uint64_t epoch;          /* realtime seconds when the store was begun: part of new container ids */
    uint64_t last_seq;       /* highest container number given out */
    uint64_t last_decision;  /* highest decision number */
};

/*
 * Errors of everything below: -ENOSPC, -EDQUOT, -EFBIG, -EIO, -EROFS, -EBUSY, -EMFILE: not on disk, but kept for later.
 * -EUCLEAN: the same, and the file has turned out to be damaged: nm_store_restart(), then put everything that is known.
 * Other codes (-ENOMEM, -EINVAL, -EILSEQ for a command that isn't UTF-8): not kept.
 */

/* -ENOSPC, -EDQUOT or -EFBIG. */
bool nm_store_has_no_room(int r);
/* Returns what an administrator can do about this error, as the end of a sentence, or NULL if there is no advice. */
const char *nm_store_advice(int r);

/* dir: the state directory, which must exist. boot_id: text of /proc/sys/kernel/random/boot_id (newline taken off), or
 * anything in tests. -EBUSY: another nmd has it open. */
int nm_store_open(const char *dir, const char *boot_id, struct nm_store **ret, struct nm_store_opened *ret_opened);
/* Sets the file in use aside and begins a new one with what can be read of it; the epoch begins anew. What was not on
 * disk yet is kept. */
int nm_store_restart(struct nm_store *s, struct nm_store_opened *ret_opened);
/* When the rows have been dealt with, and before anything is done that they don't tell of: from here on the file isn't
 * closed any more, until nm_store_free(). */
void nm_store_take_into_use(struct nm_store *s);
/* Flushes once more. A file that was not taken into use is left as closed, or not, as it was found. */
struct nm_store *nm_store_free(struct nm_store *s);
NM_DEFINE_CLEANUP(struct nm_store *, nm_store_free)

/* Inserts or updates all of c's columns, but for c->command and c->blob, which are written once. One transaction unless
 * inside begin/commit. */
int nm_store_put_container(struct nm_store *s, const struct nm_container *c);
/* c->command, which is another one now. */
int nm_store_put_command(struct nm_store *s, const struct nm_container *c);
/* c->blob, which is another one now, or none. */
int nm_store_put_blob(struct nm_store *s, const struct nm_container *c);
int nm_store_delete_container(struct nm_store *s, const char *id);
/* Newest rows last. A row that can't be read is skipped and counted. cb takes ownership of c. */
typedef void (*nm_store_container_cb_t)(struct nm_container *c, void *userdata);
int nm_store_load_containers(struct nm_store *s, nm_store_container_cb_t cb, void *userdata, unsigned *ret_n_bad);

/* Decisions. Putting one again (its outcome is known now) replaces it. */
int nm_store_put_decision(struct nm_store *s, const struct nm_decision *d);
/* Keeps the newest keep_max (0: all). */
int nm_store_trim_decisions(struct nm_store *s, uint64_t keep_max);
typedef void (*nm_store_decision_cb_t)(const struct nm_decision *d, void *userdata);
/* container_id NULL: all. Oldest first, at most `max` of the newest with numbers below `before`; those that are not
 * on disk yet among them, as is_unsaved says. */
int nm_store_load_decisions(struct nm_store *s, const char *container_id, uint64_t before,
                            unsigned max, nm_store_decision_cb_t cb, void *userdata);

/* Named small texts that survive a restart: counters, policy memory, drain state. Keys are shorter than
 * NM_STORE_KEY_SIZE; "store." is the store's own prefix. */
#define NM_STORE_KEY_SIZE (NM_ID_SIZE + 16)
int nm_store_put_value(struct nm_store *s, const char *key, const char *value);
int nm_store_get_value(struct nm_store *s, const char *key, char *buf, size_t size); /* -ENOENT */
int nm_store_delete_value(struct nm_store *s, const char *key);
/* All whose keys begin with prefix, in the order of their keys. */
typedef void (*nm_store_value_cb_t)(const char *key, const char *value, void *userdata);
int nm_store_load_values(struct nm_store *s, const char *prefix, nm_store_value_cb_t cb, void *userdata);

int nm_store_begin(struct nm_store *s);  /* groups writes into one transaction; nests; never fails */
int nm_store_commit(struct nm_store *s); /* the outermost one tells how all of it went */
bool nm_store_in_transaction(const struct nm_store *s);
/* Writes what an earlier failure left over. Returns 0, or what still stands in the way (-ENOSPC,
 * -EIO); -EUCLEAN also when the file in use is no longer the one that the next nmd will find: it
 * was renamed or removed. */
int nm_store_flush(struct nm_store *s);
