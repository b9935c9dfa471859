/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A directory that stands for the root directory of a host, for tests of `nmd --yarn-setup`. Include it after
 * cmocka.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "remove-tree.h"
#include "yarn/setup/setup.h"

static char root[] = "/tmp/nmd-setup.XXXXXX";

/* Returns the path below the root. The string is valid until the fourth call after this one. */
static inline const char *in_root(const char *path)
{
    static char full[4][300];
    static unsigned n;

    n = (n + 1) % 4;
    (void)snprintf(full[n], sizeof full[n], "%s%s", root, path);
    return full[n];
}

static inline void put(const char *path, const char *text)
{
    FILE *f = fopen(in_root(path), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static inline void make_dir(const char *path, mode_t mode)
{
    assert_int_equal(mkdir(in_root(path), 0700), 0);
    assert_int_equal(chmod(in_root(path), mode), 0);
}

static inline void make_program(const char *path)
{
    put(path, "");
    assert_int_equal(chmod(in_root(path), 0755), 0);
}

static inline void make_hadoop(void)
{
    make_dir("/opt/hadoop", 0755);
    make_dir("/opt/hadoop/bin", 0755);
    make_program("/opt/hadoop/bin/hadoop");
}

/* Makes a new root with these directories, which must include /opt/java/bin, and puts a Java there. */
static inline void make_root(const char *const *dirs, size_t n)
{
    strcpy(root + strlen(root) - 6, "XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < n; i++)
        make_dir(dirs[i], 0755);
    make_program("/opt/java/bin/java");
}

/* Asserts that the output contains these words. */
static inline void assert_prints(const char *printed, const char *words)
{
    if (!strstr(printed, words))
        fail_msg("'%s' isn't in\n%s", words, printed);
}

static inline int remove_root(void **state)
{
    (void)state;
    return remove_tree(root);
}

static inline struct nm_yarn_setup_params params(bool is_dry)
{
    return (struct nm_yarn_setup_params){.conf_dir = "/etc/hadoop/conf", .config_path = "/etc/nmd/nmd.conf",
                                         .state_dir = "/var/lib/nmd", .root = root, .is_dry = is_dry};
}
