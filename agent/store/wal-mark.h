/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A file beside the journal that records the length of its log. SQLite's log (nmd.db-wal) is a row of frames with
 * checksums, and SQLite ignores all frames after the first wrong frame. One flipped byte thus silently undoes all
 * changes since the last checkpoint. Therefore, after each commit, nmd writes the identity of the log (its salt) and
 * its number of frames to nmd.db-mark. A log with fewer sound frames has lost committed changes. The mark is written
 * without sync. The mark survives a crash of nmd. After a crash of the host, which may lose the newest writes, the mark
 * is ignored.
 */

#include <stdbool.h>
#include <stdint.h>

struct nm_wal_mark {
    int fd, log_fd;
    char *log_path;
    uint32_t salt[2];
};

#define NM_WAL_MARK_NULL {.fd = -1, .log_fd = -1}

/* Checks the log of database `path`, before the database is opened, against its mark. Returns 0 if the log is complete
 * or has no usable mark, or -EUCLEAN if only *ret_frames of *ret_promised frames are sound. boot_id: text; a mark of
 * another boot is not used. */
int nm_wal_mark_check(const char *path, const char *boot_id, uint32_t *ret_frames, uint32_t *ret_promised);

/* Opens or makes the mark of an open database. After a failure the database has no mark. */
void nm_wal_mark_open(struct nm_wal_mark *k, const char *path, const char *boot_id);
/* Records that the log has n frames now. */
void nm_wal_mark_put(struct nm_wal_mark *k, uint32_t n);
/* Clears the mark, because its log is about to disappear. */
void nm_wal_mark_clear(struct nm_wal_mark *k);
void nm_wal_mark_done(struct nm_wal_mark *k);

#define NM_WAL_MARK_SUFFIX "-mark"
