/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The node's local directories and log directories. New containers use them alternately, and use directories with more
 * free space more often. A directory stays open while it is good or full. After an error of its disk, it is closed, so
 * that an administrator can unmount the disk, and each check tries to open it again.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"
#include "yarn/conf/properties.h"
#include "yarn/launch/dir-id.h"

struct nm_yarn_dir {
    const char *name; /* path; owned by the settings */
    int fd;           /* -EBADF: the directory can't be opened, or was closed after an error of its disk */
    unsigned n_opened; /* how often the directory was opened */
    dev_t dev; /* dev and ino: the directory that was opened last; ino 0: no directory was opened yet */
    ino_t ino;
    char id[NM_YARN_DIR_ID_SIZE]; /* the directory's id; until nmd opens it, the id that an earlier nmd noted; or "" */
    char *mount; /* path at which the directory's disk was mounted; NULL: unknown, or the disk of "/" */
    bool is_good;
    bool is_full; /* the disk was full at the last check */
    bool lacks_room; /* the directory isn't good because the disk is full, and not because of an error */
    uint64_t total_bytes; /* size of the disk */
    double free, credit; /* free: the free share of the disk; credit: see nm_yarn_dirs_next() */
    bool was_good;       /* the state that nm_yarn_dirs_report() last reported */
    char why[200];       /* the reason if the directory isn't good */
};

struct nm_yarn_dirs {
    struct nm_yarn_dir *all;
    size_t n;
    const struct nm_yarn_settings *settings;
    const char *state_dir; /* nmd's state directory, in which nmd notes ids and mounts; NULL: nmd notes nothing */
    uint64_t checked_usec;
    bool is_suspected;
    bool are_locked; /* each directory must be locked before it is used */
    bool is_opening; /* the first check: it leaves bad directories open, since running containers have files there */
    /* Is called when all[i] has been opened and is another directory than before, since its disk was replaced. NULL: no
     * such function. */
    void (*replaced_cb)(size_t i, void *userdata);
    void *userdata;
};

/* Opens the directories, and makes missing directories. state_dir: nmd's state directory, which must outlive them;
 * NULL: nothing is known of earlier nmds. are_locked: lock each directory when it is opened, now or later. A directory
 * that another nmd has locked can't be used until the other nmd exits. -ENOTDIR and *ret_message: no directory can be
 * used. */
int nm_yarn_dirs_open(const struct nm_yarn_settings *s, char *const *names, const char *state_dir, bool are_locked,
                      struct nm_yarn_dirs *ret, char **ret_message);
/* Returns the result that nm_yarn_dirs_open() would return, without making or locking directories. If some but not all
 * directories can be used, calls report_cb for each directory that can't be used. report_cb may be NULL. */
int nm_yarn_dirs_examine(char *const *names, void (*report_cb)(const struct nm_yarn_dir *d, void *userdata),
                         void *userdata, char **ret_message);
/* Makes and locks each directory that can be used. state_dir: as above. The locks are held until the process exits. If
 * another nmd has locked a directory, the function reports the conflict and waits briefly. -EBUSY and *ret_message: the
 * other nmd is still running, and its containers may use the directory. */
int nm_yarn_dirs_lock(char *const *names, const char *state_dir, void (*report_cb)(int level, const char *sentence),
                      char **ret_message);
void nm_yarn_dirs_done(struct nm_yarn_dirs *dirs);

/* Checks the disks if the next periodic check is due. */
void nm_yarn_dirs_check(struct nm_yarn_dirs *dirs);
/* Schedules a check within a second. Is called after a failure that a bad disk may have caused. */
void nm_yarn_dirs_schedule_check(struct nm_yarn_dirs *dirs);
/* Checks the disks now, unless the last check was less than AGAIN_USEC ago. */
void nm_yarn_dirs_check_again(struct nm_yarn_dirs *dirs);
/* Calls report_cb for each directory that has become good or bad since the last call. Before the first call, all
 * directories are considered good. */
void nm_yarn_dirs_report(struct nm_yarn_dirs *dirs, void (*report_cb)(const struct nm_yarn_dir *d, void *userdata),
                         void *userdata);
/* Returns the next good directory, except the directory named `but`. `but` may be NULL. NULL: there is no such
 * directory. */
struct nm_yarn_dir *nm_yarn_dirs_next(struct nm_yarn_dirs *dirs, const char *but);
size_t nm_yarn_dirs_count_good(const struct nm_yarn_dirs *dirs);
/* Returns the id of the directory (dir-id.h). "": it can't be used now. */
const char *nm_yarn_dirs_id(const struct nm_yarn_dir *d);
/* Returns 1 if the configured path is still the directory that nmd opened last, or if neither this nor an earlier nmd
 * has opened one. Returns 0 if the path is another directory or does not exist, for instance because the disk is not
 * mounted. Returns -errno if the path can't be examined: the disk may have failed. */
int nm_yarn_dirs_is_in_place(const struct nm_yarn_dir *d);
