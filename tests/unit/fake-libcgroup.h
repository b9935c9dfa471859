/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A fake libcgroup for tests of the direct backend. It replaces the calls of the library that would read mounts or
 * use the kernel: they do the same to the tree of plain files of direct-world.h, or fail with the real errors. The
 * library's data in memory is real. Include it after cmocka.h.
 */

#include <libcgroup.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/unit/direct-world.h"

struct fake_libcgroup {
    struct world *w;
    const char *mounted_at; /* NULL: at the usual place */
    bool mounts_none;
    int init_fails;
    unsigned n_inits;
    cgroup_logger_callback logger;
    int fails; /* result of each call that uses the kernel */
    int last_errno;
    bool does_nothing; /* but reports success */
    unsigned n_created, n_modified, n_deleted;
    unsigned memory_left; /* 1: the next allocation fails */
    char name[80];        /* name of the group that was made last */
    struct fake_libcgroup_value {
        char file[32], text[64];
    } values[16];
    size_t n_values;
};
extern struct fake_libcgroup fake_libcgroup;

/* Setups: the files alone, or with the backend, which reads the mount point through the library. */
int fake_libcgroup_alone(void **state);
int fake_libcgroup_started(void **state);

/* Logs a message as the library does. */
void fake_libcgroup_log(const char *format, ...);
