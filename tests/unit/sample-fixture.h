/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A fake cgroup and a fake /proc for the cgroup sampler, and functions that write their files. Include it after
 * cmocka.h. */

#include <stdint.h>

#include "monitor/monitor.h"
#include "tests/unit/fake-tree.h"

#define PAGE ((uint64_t)sysconf(_SC_PAGESIZE))

struct fixture {
    struct fake_tree cgroup, proc;
    struct nm_cgroup cg;
    struct nm_cgroup_sampler *sampler;
    unsigned usage_usec;
};

#define MEMORY_STAT \
    "anon 1000\nfile 5000\nkernel 200\nshmem 100\ninactive_anon 600\nactive_anon 500\n" \
    "unevictable 0\nslab_reclaimable 50\n"

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Write files of a process in /proc. Amounts are in pages or in KiB, as in the kernel's files. */
void write_statm(struct fixture *f, int pid, uint64_t anon_pages, uint64_t shared_pages);
void write_status(struct fixture *f, int pid, uint64_t anon_kb, uint64_t shmem_kb, uint64_t swap_kb);
void write_process(struct fixture *f, int pid, uint64_t anon_pages, uint64_t shmem_pages);
void write_rollup(struct fixture *f, int pid, uint64_t anon_pages, uint64_t shmem_pages);

/* Increases the cgroup's CPU time. Without an increase the sampler need not read the processes again. */
void use_cpu(struct fixture *f);
void use_cpu_for(struct fixture *f, unsigned usec);
