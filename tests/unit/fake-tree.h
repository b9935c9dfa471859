/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A temporary directory that stands in for /proc or a cgroup. Files are overwritten in place, as
 * the kernel's files change in place, so that the descriptors which samplers keep open see the new
 * text. Include it after cmocka.h.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "util/macros.h"

struct fake_tree {
    char path[64];
};

static inline void fake_tree_init(struct fake_tree *t)
{
    (void)snprintf(t->path, sizeof t->path, "/tmp/nm-test-XXXXXX");
    assert_non_null(mkdtemp(t->path));
}

static inline void fake_tree_done(struct fake_tree *t)
{
    assert_int_equal(remove_tree(t->path), 0);
}

/* Writes a file, and makes the directories in its name. */
static inline void fake_tree_write(const struct fake_tree *t, const char *name, const char *text)
{
    char path[256], *slash;
    _cleanup_close_ int fd = -EBADF;

    (void)snprintf(path, sizeof path, "%s/%s", t->path, name);
    slash = strrchr(path, '/');
    *slash = '\0';
    assert_int_equal(nm_mkdir_p(path, 0700), 0);
    *slash = '/';
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static inline bool fake_tree_has(const struct fake_tree *t, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", t->path, name);
    return access(path, F_OK) == 0;
}

static inline void fake_tree_unlink(const struct fake_tree *t, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", t->path, name);
    assert_int_equal(remove(path), 0);
}
