/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A directory of the test, and an owner whose containers run as another user if the test runs as root. Include it
 * after cmocka.h.
 */

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "yarn/launch/container-dirs.h"

struct fixture {
    char root[40], path[PATH_MAX];
    int fd;
    struct nm_yarn_dirs_owner owner;
};

int dirs_fixture_set_up(void **state);
int dirs_fixture_tear_down(void **state);

/* Returns the path of this name in the directory, until the next call. */
const char *path_in(struct fixture *w, const char *name);

bool exists(const struct fixture *w, const char *name);

/* Returns the uid that this thread has for files. */
uid_t file_uid(void);

int make_one_link(int dir_fd, const struct nm_yarn_dirs_owner *o, const char *name, const char *target);
