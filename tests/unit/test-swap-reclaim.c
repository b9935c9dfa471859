/* SPDX-License-Identifier: Apache-2.0 */

/* Reclaim of memory to swap in pieces. The test acts as the kernel: it "swaps" within each write to memory.reclaim. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "agent/node/cgroups.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "util/macros.h"

#define HELD (64 * NM_MIB)
#define SWAPPED (5 * NM_MIB) /* bytes in swap at the beginning */
#define CLUSTER (32 * UINT64_C(4096))

struct fixture {
    char path[64];
    struct nm_cgroup cg;
    uint64_t anon_bytes, swap_bytes, largest_bytes; /* largest_bytes: the largest amount that a write could swap */
};

static struct fixture *swapping; /* the fixture whose memory the "kernel" can swap; NULL: it swaps nothing */

/* Writes a file in one call, so that readers never see an incomplete file. */
static void put(const struct fixture *w, const char *file, const char *text)
{
    int fd = openat(w->cg.dir_fd, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    (void)close(fd);
}

static void hold(const struct fixture *w, uint64_t anon, uint64_t swap)
{
    char text[200];

    (void)snprintf(text, sizeof text,
                   "anon %012ju\nshmem 0\nkernel 0\nslab_reclaimable 0\nunevictable 0\ninactive_anon %012ju\n"
                   "active_anon 0\n",
                   (uintmax_t)anon, (uintmax_t)anon);
    put(w, "memory.stat", text);
    (void)snprintf(text, sizeof text, "%012ju\n", (uintmax_t)swap);
    put(w, "memory.swap.current", text);
    (void)snprintf(text, sizeof text, "%012ju\n", (uintmax_t)anon);
    put(w, "memory.current", text);
}

static uint64_t limit_of(const struct fixture *w)
{
    char text[32];

    return nm_read_file_at(w->cg.dir_fd, "memory.swap.max", text, sizeof text, NULL) < 0 ? 0 : strtoull(text, NULL, 10);
}

/* Swaps as many clusters of pages as memory.swap.max allows. */
static void swap_out(struct fixture *w)
{
    uint64_t room = nm_sub_u64(limit_of(w), w->swap_bytes) / CLUSTER * CLUSTER;

    w->largest_bytes = NM_MAX(w->largest_bytes, room);
    w->anon_bytes -= room;
    w->swap_bytes += room;
    hold(w, w->anon_bytes, w->swap_bytes);
}

int __real_nm_cgroup_reclaim(const struct nm_cgroup *cg, uint64_t bytes);
int __wrap_nm_cgroup_reclaim(const struct nm_cgroup *cg, uint64_t bytes);

int __wrap_nm_cgroup_reclaim(const struct nm_cgroup *cg, uint64_t bytes)
{
    int r = __real_nm_cgroup_reclaim(cg, bytes);

    if (r == 0 && swapping)
        swap_out(swapping);
    return r;
}

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)snprintf(w->path, sizeof w->path, "/tmp/nmd-test-swap-reclaim-XXXXXX");
    assert_non_null(mkdtemp(w->path));
    w->cg.dir_fd = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(w->cg.dir_fd >= 0);
    put(w, "cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n");
    put(w, "memory.swap.max", "max\n");
    put(w, "memory.reclaim", "");
    w->anon_bytes = HELD;
    w->swap_bytes = SWAPPED;
    hold(w, HELD, SWAPPED);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    swapping = NULL;
    (void)nm_close(w->cg.dir_fd);
    (void)remove_tree(w->path);
    free(w);
    return 0;
}

static void assert_unlimited(const struct fixture *w)
{
    char text[32];

    assert_int_equal(nm_read_file_at(w->cg.dir_fd, "memory.swap.max", text, sizeof text, NULL), 0);
    assert_memory_equal(text, "max", 3);
}

static void test_memory_is_reclaimed_in_pieces(void **state)
{
    struct fixture *w = *state;
    uint64_t swap = 0;

    swapping = w;
    assert_int_equal(nm_swap_reclaim(&w->cg, 20 * NM_MIB, 0), 0);
    assert_int_equal(nm_cgroup_read_swap(&w->cg, &swap), 0);
    assert_in_range(swap, SWAPPED + 20 * NM_MIB, SWAPPED + 20 * NM_MIB + 16 * NM_MIB);
    assert_unlimited(w);
    assert_in_range(w->largest_bytes, CLUSTER, 17 * NM_MIB); /* on a slow machine, all pieces are small */
}

static void test_an_amount_that_ends_within_a_page_is_reclaimed(void **state)
{
    struct fixture *w = *state;
    uint64_t swap = 0;

    swapping = w;
    assert_int_equal(nm_swap_reclaim(&w->cg, 3 * NM_MIB + 100, 0), 0);
    assert_int_equal(nm_cgroup_read_swap(&w->cg, &swap), 0);
    assert_in_range(swap, SWAPPED + 3 * NM_MIB + 100, SWAPPED + 5 * NM_MIB);
    assert_unlimited(w);
}

/* The kernel can't swap locked memory. */
static void test_locked_memory_is_not_reclaimed(void **state)
{
    struct fixture *w = *state;

    put(w, "memory.swap.current", "000000000000\n");
    assert_int_equal(nm_swap_reclaim(&w->cg, NM_MIB, 20 * NM_USEC_PER_MSEC), -EAGAIN);
    assert_unlimited(w);
}

static void test_a_cgroup_without_memory_stat_is_an_error(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(unlinkat(w->cg.dir_fd, "memory.stat", 0), 0);
    assert_true(nm_swap_reclaim(&w->cg, NM_MIB, 0) < 0);
}

static void make_unwritable(const struct fixture *w, const char *file)
{
    assert_int_equal(unlinkat(w->cg.dir_fd, file, 0), 0);
    assert_int_equal(mkdirat(w->cg.dir_fd, file, 0700), 0);
}

/* If the swap of the cgroup can't be limited, nmd requests no reclaim, since the kernel might swap all memory of the
 * cgroup. */
static void test_if_swap_can_not_be_limited_no_memory_is_reclaimed(void **state)
{
    struct fixture *w = *state;

    char text[32];

    put(w, "memory.reclaim", "untouched");
    make_unwritable(w, "memory.swap.max");
    assert_int_equal(nm_swap_reclaim(&w->cg, NM_MIB, 0), -EISDIR);
    assert_int_equal(nm_read_file_at(w->cg.dir_fd, "memory.reclaim", text, sizeof text, NULL), 0);
    assert_string_equal(text, "untouched");
}

static void test_a_failed_reclaim_restores_the_swap_limit(void **state)
{
    struct fixture *w = *state;

    make_unwritable(w, "memory.reclaim");
    assert_int_equal(nm_swap_reclaim(&w->cg, NM_MIB, 0), -EISDIR);
    assert_unlimited(w);
}

static void test_without_swap_accounting_no_memory_is_reclaimed(void **state)
{
    struct fixture *w = *state;

    put(w, "memory.reclaim", "untouched");
    make_unwritable(w, "memory.swap.current");
    assert_true(nm_swap_reclaim(&w->cg, NM_MIB, 0) < 0);
    assert_unlimited(w);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_memory_is_reclaimed_in_pieces),
        TEST(test_an_amount_that_ends_within_a_page_is_reclaimed),
        TEST(test_locked_memory_is_not_reclaimed),
        TEST(test_a_cgroup_without_memory_stat_is_an_error),
        TEST(test_if_swap_can_not_be_limited_no_memory_is_reclaimed),
        TEST(test_a_failed_reclaim_restores_the_swap_limit),
        TEST(test_without_swap_accounting_no_memory_is_reclaimed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
