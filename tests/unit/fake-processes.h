/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A cgroup of plain files that lists processes which don't exist, and a fake kernel for the calls on them: each call
 * fails as the test says, and signals are only counted. At the start the cgroup lists the processes 100 and 200.
 * Include it after cmocka.h.
 */

#include <stdbool.h>

#include "cgroup/cgroup.h"
#include "tests/unit/fake-tree.h"

#define NAME "nmtest-c1.scope"

struct fake_process_kernel {
    const char *member; /* content of /proc/PID/cgroup for any process */
    const char *stat;   /* content of the stat file of any thread */
    int read_fails[4];  /* errors of reads of lists, in order; 0: success */
    unsigned n_reads;
    int fdopendir_fails;
    int pidfd_open_fails, send_fails;
    unsigned n_signals; /* number of signals that were sent; the fake kernel delivers none of them */
    int bpf_fails[2];   /* errors of the call that loads the program, and of the next call */
};
extern struct fake_process_kernel kernel;

struct fixture {
    struct fake_tree dir;
    struct nm_cgroup *cg;
};

int fake_processes_set_up(void **state);
int fake_processes_tear_down(void **state);

/* Lists n processes in this file, in ascending order. */
void write_processes(struct fixture *w, const char *name, int first, int n);
