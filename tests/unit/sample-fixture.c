/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/sample-fixture.h"

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    fake_tree_init(&f->cgroup);
    fake_tree_init(&f->proc);
    f->cg.dir_fd = open(f->cgroup.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(f->cg.dir_fd >= 0);
    f->usage_usec = 1000;
    fake_tree_write(&f->cgroup, "cpu.stat", "usage_usec 1000\n");
    fake_tree_write(&f->cgroup, "cgroup.procs", "");
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;

    f->sampler = nm_cgroup_sampler_free(f->sampler);
    f->cg.dir_fd = nm_close(f->cg.dir_fd);
    fake_tree_done(&f->cgroup);
    fake_tree_done(&f->proc);
    free(f);
    return 0;
}

void write_statm(struct fixture *f, int pid, uint64_t anon_pages, uint64_t shared_pages)
{
    char name[32], text[256];

    (void)snprintf(name, sizeof name, "%d/statm", pid);
    (void)snprintf(text, sizeof text, "99999 %ju %ju 5 0 123 0\n",
                   (uintmax_t)(anon_pages + shared_pages),
                   (uintmax_t)shared_pages);
    fake_tree_write(&f->proc, name, text);
}

void write_status(struct fixture *f, int pid, uint64_t anon_kb, uint64_t shmem_kb, uint64_t swap_kb)
{
    char name[32], text[256];

    (void)snprintf(name, sizeof name, "%d/status", pid);
    (void)snprintf(text, sizeof text,
                   "Name:\tx\nVmRSS:\t%ju kB\nRssAnon:\t%ju kB\nRssShmem:\t%ju kB\nVmSwap:\t%ju kB\n"
                   "Threads:\t1\n",
                   (uintmax_t)(anon_kb + shmem_kb), (uintmax_t)anon_kb, (uintmax_t)shmem_kb, (uintmax_t)swap_kb);
    fake_tree_write(&f->proc, name, text);
}

void write_process(struct fixture *f, int pid, uint64_t anon_pages, uint64_t shmem_pages)
{
    write_statm(f, pid, anon_pages, shmem_pages);
    write_status(f, pid, anon_pages * PAGE / 1024, shmem_pages * PAGE / 1024, 0);
}

void write_rollup(struct fixture *f, int pid, uint64_t anon_pages, uint64_t shmem_pages)
{
    char name[32], text[256];

    (void)snprintf(name, sizeof name, "%d/smaps_rollup", pid);
    (void)snprintf(text, sizeof text, "Pss_Anon: %ju kB\nPss_Shmem: %ju kB\n",
                   (uintmax_t)(anon_pages * PAGE / 1024),
                   (uintmax_t)(shmem_pages * PAGE / 1024));
    fake_tree_write(&f->proc, name, text);
}

void use_cpu(struct fixture *f)
{
    use_cpu_for(f, 1000);
}

void use_cpu_for(struct fixture *f, unsigned usec)
{
    char text[64];

    f->usage_usec += usec;
    (void)snprintf(text, sizeof text, "usage_usec %u\n", f->usage_usec);
    fake_tree_write(&f->cgroup, "cpu.stat", text);
}
