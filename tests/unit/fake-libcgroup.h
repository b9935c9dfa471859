/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A fake libcgroup for tests of the direct backend. It replaces the functions of the library that would read mounts or
 * use the kernel. The replacements do the same to the plain files of direct-fixture.h, or fail with the library's real
 * errors. Functions that only use memory are not replaced. Include it after cmocka.h.
 */

#include <libcgroup.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/unit/direct-fixture.h"

struct fake_libcgroup {
    struct fixture *w;
    const char *mounted_at; /* NULL: the directory of direct-fixture.h */
    bool mounts_none;
    int init_fails;
    unsigned n_inits;
    cgroup_logger_callback logger;
    int fails; /* result of each call that uses the kernel */
    int last_errno;
    bool does_nothing; /* the calls that use the kernel change no file, and report success */
    unsigned n_created, n_modified, n_deleted;
    unsigned memory_left; /* 1: the next allocation fails */
    char name[80];        /* name of the newest group */
    struct fake_libcgroup_value {
        char file[32], text[64];
    } values[16];
    size_t n_values;
};
extern struct fake_libcgroup fake_libcgroup;

/* Setups of a test. The first makes only the files. The second also starts the backend, which reads the mount point
 * through the library. */
int fake_libcgroup_alone(void **state);
int fake_libcgroup_started(void **state);

/* Logs a message as the library does. */
void fake_libcgroup_log(const char *format, ...);
