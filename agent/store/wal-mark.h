/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How far the journal had come, written beside it. SQLite's log (nmd.db-wal) is a row of frames with checksums, and
 * what comes after the first frame that is wrong counts as never written: one flipped byte undoes everything since the
 * last checkpoint, without a word. So after each commit nmd.db-mark says which log it is in (its salt) and how many
 * frames it has; a log that has fewer sound ones has lost what was promised. It is written without being synced: a
 * crash of nmd leaves it whole, and after one of the host, which may lose the newest writes, it isn't asked.
 */

#include <stdbool.h>
#include <stdint.h>

struct nm_wal_mark {
    int fd, log_fd;
    char *log_path;
    uint32_t salt[2];
};

#define NM_STORE_MARK_NULL {.fd = -1, .log_fd = -1}

/* The log of database `path`, before anybody has opened that: is everything there that its mark speaks of? 0: yes, or
 * nothing is known. -EUCLEAN: no, and *ret_frames of *ret_promised are sound. boot_id: text; of another boot nothing is
 * known. */
int nm_wal_mark_check(const char *path, const char *boot_id, uint32_t *ret_frames, uint32_t *ret_promised);

/* Opens or makes the mark of an open database. Where that fails there is none. */
void nm_wal_mark_open(struct nm_wal_mark *k, const char *path, const char *boot_id);
/* The log has n frames now. */
void nm_wal_mark_put(struct nm_wal_mark *k, uint32_t n);
/* From here on there is no log that it could speak of. */
void nm_wal_mark_clear(struct nm_wal_mark *k);
void nm_wal_mark_done(struct nm_wal_mark *k);

#define NM_STORE_MARK_SUFFIX "-mark"
