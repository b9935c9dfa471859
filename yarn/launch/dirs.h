/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The node's local directories and those for logs: opened once, judged by how full their disks are, and given to
 * containers in turn, more often those that have more room.
 */

#include <stdbool.h>

#include "util/error.h"
#include "yarn/conf/properties.h"

struct nm_yarn_dir {
    const char *name; /* the settings' */
    int fd;           /* -EBADF: it can't be used at all */
    bool is_good;
    bool is_full; /* when it was last looked at */
    double free, credit; /* the share that is free; what it is owed of its turns */
    bool was_good;       /* at the last nm_yarn_dirs_tell() */
    char why[200];       /* the reason if it isn't good */
};

struct nm_yarn_dirs {
    struct nm_yarn_dir *all;
    size_t n;
    const struct nm_yarn_settings *settings;
    uint64_t checked_usec;
    bool is_doubted;
    bool are_locked; /* each is locked before it is used */
};

/* Opens the directories, and makes those that don't exist. are_locked: lock each one, now or when it can be opened
 * later; one that another nmd has locked can't be used until it is free. -ENOTDIR and *ret_message: none can be
 * used. */
int nm_yarn_dirs_open(const struct nm_yarn_settings *s, char *const *names, bool are_locked, struct nm_yarn_dirs *ret,
                      char **ret_message);
/* Returns what nm_yarn_dirs_open() would, without making anything. If some directories can be used, it calls `tell`,
 * which may be NULL, for each that can't. */
int nm_yarn_dirs_look(char *const *names, void (*tell)(const struct nm_yarn_dir *d, void *userdata), void *userdata,
                      char **ret_message);
/* Locks each of them that can be used until the process ends, and makes it before. It waits a moment for another nmd
 * that has locked it, and tells that. -EBUSY and *ret_message: that one goes on, and its containers may run there. */
int nm_yarn_dirs_lock(char *const *names, void (*tell)(int level, const char *sentence), char **ret_message);
void nm_yarn_dirs_done(struct nm_yarn_dirs *dirs);

/* Looks at the disks, if it is time again. */
void nm_yarn_dirs_check(struct nm_yarn_dirs *dirs);
/* Something failed that a bad disk may have caused: the next look comes within a second. */
void nm_yarn_dirs_doubt(struct nm_yarn_dirs *dirs);
/* Checks now, for a caller that needs the result, unless the last check was a moment ago. */
void nm_yarn_dirs_check_again(struct nm_yarn_dirs *dirs);
/* Calls `tell` for each directory that has turned good or bad since the last call; before the first all were good. */
void nm_yarn_dirs_tell(struct nm_yarn_dirs *dirs, void (*tell)(const struct nm_yarn_dir *d, void *userdata),
                       void *userdata);
/* Returns the next good directory in turn, but not the one with the name `but`, if that isn't NULL. NULL: there is
 * none. */
struct nm_yarn_dir *nm_yarn_dirs_next(struct nm_yarn_dirs *dirs, const char *but);
size_t nm_yarn_dirs_count_good(const struct nm_yarn_dirs *dirs);
