/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of launches: real shims and real commands in a temporary directory of each test, and the
 * events that the launch reported. The environment variable NMD_SHIM names a shim other than the one
 * that was just built.
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/launch/launch.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)

struct fixture {
    char root[64], dir[96], logs[96], cgroup[128];
    int cgroup_fd; /* cgroup in which the shim is started, or -EBADF */
    sd_event *event;
    struct nm_launch *launch;
    struct nm_spawner *spawner; /* NULL: shims are forked; tear_down() frees it */
    struct nm_command command;
    char *argv[16], *env[16];
    const char *shim, *id; /* NULL: the shim that was just built, and a default id */
    int oom_score_adj;
    int input_fd;
    uint16_t rows, columns;
    bool confine;
    uint64_t output_max_bytes;
    /* the reported events */
    unsigned n_started, n_ended;
    bool without_record;
    struct nm_launch_record started, ended;
};

#define set_argv(w, ...) \
    memcpy((w)->argv, ((char *[16]){__VA_ARGS__, NULL}), sizeof(w)->argv)
#define shell(w, script) set_argv(w, (char *)"/bin/sh", (char *)"-c", (char *)(script))

int set_up(void **state);
int tear_down(void **state);
void on_launch(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
               void *userdata);
int launch(struct fixture *w);
void free_launch(struct fixture *w);
void wait_for(struct fixture *w, const unsigned *counter);
void run(struct fixture *w);
/* Asserts that no command wrote output. Its shim may have made an empty file. */
void assert_nothing_written(const struct fixture *w);
const char *output(const struct fixture *w, const char *stream);
void use_user(struct fixture *w, const char *name);
void wait_until_dead(pid_t pid);
