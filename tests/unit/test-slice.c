/* SPDX-License-Identifier: Apache-2.0 */

/* agent/node/node-slice.c on the fake backend: the memory that is promised in the slice, and whether nmd or the
 * administrator has set the slice's memory.low. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/node/node-slice.h"
#include "cgroup/backend-fake.h"
#include "cgroup/backend.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "util/log.h"

#define MIB (UINT64_C(1) << 20)

struct fixture {
    char directory[64], proc_root[16];
    struct nm_manager m;
    struct nm_slice slice;
    struct nm_live_container lives[3];
    struct nm_live_container *live[3];
    struct nm_container containers[3];
    struct nm_policy_container *views[3];
};

/* Starts a new nmd. The memory of the former nmd is lost, and the files in its directories remain. */
static void begin_nmd(struct fixture *f)
{
    memset(&f->slice.note, 0, sizeof f->slice.note);
    f->slice.claimed_bytes = 0;
    for (size_t i = 0; i < NM_ARRAY_SIZE(f->lives); i++)
        memset(&f->lives[i].run.claim, 0, sizeof f->lives[i].run.claim);
    nm_slice_begin(&f->m);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct nm_cgroup_backend_params params = {.kind = NM_CGROUP_BACKEND_FAKE, .slice = "nmtest.slice"};

    nm_log_set_level(LOG_ERR);
    assert_non_null(f);
    (void)snprintf(f->directory, sizeof f->directory, "/tmp/nmd-test-slice-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    assert_true(sd_event_new(&f->m.event) >= 0);
    params.event = f->m.event;
    assert_int_equal(nm_cgroup_backend_new(&params, &f->m.backend, NULL), 0);
    assert_int_equal(nm_config_new_defaults(&f->m.config), 0);
    f->m.runtime_dir = f->directory;
    f->m.slice = &f->slice;
    (void)snprintf(f->proc_root, sizeof f->proc_root, "/proc");
    f->m.proc_root = f->proc_root;
    f->m.settings.capacity.memory_bytes = 1024 * MIB;
    f->m.live.all = f->live;
    f->m.live.views = f->views;
    for (size_t i = 0; i < NM_ARRAY_SIZE(f->lives); i++) {
        f->live[i] = &f->lives[i];
        f->lives[i].m = &f->m;
        f->lives[i].c = &f->containers[i];
        f->views[i] = &f->containers[i].view;
        nm_run_phase_set(&f->lives[i].phase, NM_RUN_CREATING);
        f->lives[i].limits = NM_CGROUP_LIMITS_NONE;
    }
    begin_nmd(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    nm_cgroup_backend_free(f->m.backend);
    nm_config_free(f->m.config);
    sd_event_unref(f->m.event);
    (void)remove_tree(f->directory);
    free(f);
    return 0;
}

static void settle(struct fixture *f)
{
    for (int i = 0; i < 20 && (f->slice.is_busy || f->slice.again); i++)
        assert_true(sd_event_run(f->m.event, 0) >= 0);
    assert_false(f->slice.is_busy);
}

static uint64_t low_of(const struct fixture *f)
{
    uint64_t is = 1;

    assert_int_equal(nm_cgroup_slice_read_low(f->m.backend, &is), 0);
    return is;
}

static void write_low(const struct fixture *f, uint64_t bytes)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%llu\n", (unsigned long long)bytes);
    assert_true(nm_write_file_at(f->m.backend->slice_fd, "memory.low", text) >= 0);
}

/* Sets up one guaranteed container for each number above 0, with a promise of that many MiB. */
static void add_promises(struct fixture *f, uint64_t a, uint64_t b)
{
    f->m.live.n = (a > 0) + (b > 0);
    f->lives[0].limits.memory_low_bytes = a * MIB;
    f->lives[1].limits.memory_low_bytes = b * MIB;
}

static void promise(struct fixture *f, uint64_t a, uint64_t b)
{
    add_promises(f, a, b);
    nm_slice_follow(&f->m);
    settle(f);
}

/* Creates the slice again, with another inode number. systemd then sets the value that nmd requested last. */
static void stop_and_start_slice(struct fixture *f, uint64_t remembered)
{
    _cleanup_close_ int fd = -EBADF;

    assert_int_equal(remove_tree(f->m.backend->slice_path), 0);
    assert_int_equal(mkdir(f->m.backend->slice_path, 0755), 0);
    assert_int_equal(nm_backend_open_slice(f->m.backend), 0);
    fd = openat(f->m.backend->slice_fd, "memory.low", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    write_low(f, remembered);
}

static void write_slice(const struct fixture *f, const char *file, const char *text)
{
    _cleanup_close_ int fd = openat(f->m.backend->slice_fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
}

static uint64_t max_of(const struct fixture *f)
{
    uint64_t is = 1;

    assert_int_equal(nm_cgroup_slice_read_max(f->m.backend, &is), 0);
    return is;
}

/* If memory.max were set below the use, the kernel would immediately kill processes, and choose other victims than the
 * policy. */
static void test_a_lowered_capacity_does_not_lower_memory_max_below_the_use(void **state)
{
    struct fixture *f = *state;

    write_slice(f, "memory.max", "2147483648\n");
    write_slice(f, "memory.stat",
                "anon 1610612736\nshmem 0\nkernel 0\nslab_reclaimable 0\nunevictable 0\n"
                "inactive_anon 1610612736\nactive_anon 0\n");
    begin_nmd(f);
    nm_slice_set(&f->m);
    settle(f);
    assert_int_equal(max_of(f), 2048 * MIB);
    assert_true(f->slice.limit_due);
    write_slice(f, "memory.stat",
                "anon 1\nshmem 0\nkernel 0\nslab_reclaimable 0\nunevictable 0\ninactive_anon 1\nactive_anon 0\n");
    begin_nmd(f);
    nm_slice_set(&f->m);
    settle(f);
    assert_int_equal(max_of(f), 1024 * MIB);
}

static void test_memory_low_of_the_slice_is_the_sum_of_the_claims(void **state)
{
    struct fixture *f = *state;

    promise(f, 64, 32);
    assert_int_equal(low_of(f), 96 * MIB);
    promise(f, 64, 0);
    assert_int_equal(low_of(f), 64 * MIB);
    promise(f, 0, 0);
    assert_int_equal(low_of(f), 0);
}

static void test_a_slice_that_was_created_again_has_the_value_of_nmd(void **state)
{
    struct fixture *f = *state;

    promise(f, 64, 0);
    promise(f, 64, 32);
    stop_and_start_slice(f, 96 * MIB);
    promise(f, 32, 0);
    assert_int_equal(low_of(f), 32 * MIB);
    stop_and_start_slice(f, 32 * MIB);
    begin_nmd(f); /* nmd wasn't running when the slice was created again */
    promise(f, 0, 0);
    nm_slice_set(&f->m);
    settle(f);
    assert_int_equal(low_of(f), 0);
    assert_int_equal(f->slice.note.own_bytes, 0);
}

/* nmd crashes between its request to systemd and the change. The change takes effect after the next nmd has started. */
static void test_a_value_of_a_former_nmd_that_takes_effect_late_is_replaced(void **state)
{
    struct fixture *f = *state;

    promise(f, 64, 0);
    add_promises(f, 64, 32);
    nm_slice_follow(&f->m);
    settle(f);
    write_low(f, 64 * MIB); /* systemd hasn't changed the value yet */
    begin_nmd(f);
    add_promises(f, 48, 0);
    nm_slice_set(&f->m);
    settle(f);
    write_low(f, 96 * MIB); /* the former nmd's change takes effect now */
    nm_slice_check_drift(&f->m);
    settle(f);
    assert_int_equal(low_of(f), 48 * MIB);
    promise(f, 0, 0);
    assert_int_equal(low_of(f), 0);
}

/* While the slice is stopped, memory.low can't be read. nmd still knows the administrator's value. */
static void test_memory_low_set_by_the_administrator_is_not_forgotten(void **state)
{
    struct fixture *f = *state;

    promise(f, 64, 0);
    write_low(f, 300 * MIB);
    promise(f, 128, 0);
    assert_int_equal(low_of(f), 300 * MIB);
    promise(f, 400, 0);
    assert_int_equal(low_of(f), 400 * MIB);
    begin_nmd(f);
    promise(f, 400, 32);
    assert_int_equal(low_of(f), 432 * MIB);
    assert_int_equal(unlinkat(f->m.backend->slice_fd, "memory.low", 0), 0);
    add_promises(f, 96, 0);
    nm_slice_follow(&f->m);
    settle(f);
    stop_and_start_slice(f, 300 * MIB);
    promise(f, 64, 0);
    assert_int_equal(low_of(f), 300 * MIB);
    write_low(f, 0); /* the administrator removes the value */
    promise(f, 48, 0);
    assert_int_equal(low_of(f), 48 * MIB);
}

/* ---- claims of containers -------------------------------------------------- */

#define SECONDS(n) ((n) * NM_USEC_PER_SEC)

static uint64_t claim(struct nm_slice_claim *c, uint64_t promised_mib, uint64_t charged_mib, uint64_t at_sec)
{
    return nm_slice_claim(c, promised_mib * MIB, charged_mib * MIB, SECONDS(at_sec)) / MIB;
}

static void test_idle_memory_is_not_claimed(void **state)
{
    struct nm_slice_claim c = {0};

    (void)state;
    /* a new container counts with its whole promise, since it will use the memory */
    assert_int_equal(nm_slice_claim(&c, 400 * MIB, 0, 0), 400 * MIB);
    for (uint64_t s = 100; s < 160; s++)
        assert_int_equal(claim(&c, 400, 3, s), 400);
    assert_in_range(claim(&c, 400, 3, 160), 3 + 12, 3 + 25);
    assert_int_equal(claim(&c, 500, 3, 161), 500); /* the promise has become larger */
    assert_int_equal(claim(&c, 100, 3, 162), 100);
    assert_int_equal(claim(&c, 0, 3, 163), 0); /* the container was demoted to opportunistic */
    assert_int_equal(claim(&c, 100, 3, 164), 100);
    c = (struct nm_slice_claim){0};
    for (uint64_t s = 0; s < 1000; s++)
        /* the memory that the cgroup is charged for is unknown */
        assert_int_equal(nm_slice_claim(&c, 400 * MIB, 0, SECONDS(s)), 400 * MIB);
}

/* A claim exceeds the charged memory by one step and by the growth since the last sample. It doesn't exceed the
 * promise. */
static void test_a_claim_exceeds_the_use_in_advance(void **state)
{
    struct nm_slice_claim c = {.promised_bytes = 640 * MIB};
    uint64_t held = 10, at = 100, before;

    (void)state;
    before = claim(&c, 640, held, at++);
    assert_in_range(before, 30, 60);
    for (uint64_t speed = 5; held < 640; speed += 10) {
        uint64_t next;

        held = NM_MIN(held + speed, UINT64_C(640));
        next = claim(&c, 640, held, at++);
        assert_true(next >= before);
        assert_true(next >= NM_MIN(held + NM_MAX(speed, UINT64_C(20)), UINT64_C(640)));
        before = next;
    }
    assert_int_equal(before, 640);
}

/* The claim doesn't change for memory that rises and falls within a minute. So no call to systemd is needed. */
static void test_a_claim_is_lowered_only_after_a_minute(void **state)
{
    struct nm_slice_claim c = {.promised_bytes = 640 * MIB};
    uint64_t top;

    (void)state;
    (void)claim(&c, 640, 100, 99);
    top = claim(&c, 640, 300, 100); /* the claim allows for the same growth again */
    assert_in_range(top, 500, 540);
    for (uint64_t s = 101; s < 1000; s++)
        assert_int_equal(claim(&c, 640, s % 40 == 0 ? 300 : 100, s), top);
    for (uint64_t s = 1000; s < 1120; s++)
        (void)claim(&c, 640, 100, s);
    assert_in_range(claim(&c, 640, 100, 1121), 120, 140);
}

/* Two containers have large promises, and only one of them uses its memory. The slice's memory.low is the sum of the
 * claims. */
static void test_memory_low_of_the_slice_follows_the_claims(void **state)
{
    struct fixture *f = *state;
    unsigned calls;

    promise(f, 400, 200);
    assert_int_equal(low_of(f), 600 * MIB);
    calls = nm_fake_n_calls(f->m.backend, NM_FAKE_SET_SLICE_LIMITS);
    for (unsigned s = 1; s <= 61; s++) {
        f->lives[0].run.sample = (struct nm_cgroup_sample){.at_usec = SECONDS(s), .charged_bytes = 3 * MIB};
        f->lives[1].run.sample = (struct nm_cgroup_sample){.at_usec = SECONDS(s), .charged_bytes = 195 * MIB + s};
        nm_slice_follow(&f->m);
        settle(f);
    }
    assert_in_range(low_of(f), 198 * MIB, 230 * MIB);
    assert_int_equal(nm_fake_n_calls(f->m.backend, NM_FAKE_SET_SLICE_LIMITS), calls + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_lowered_capacity_does_not_lower_memory_max_below_the_use,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_low_of_the_slice_is_the_sum_of_the_claims, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slice_that_was_created_again_has_the_value_of_nmd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_value_of_a_former_nmd_that_takes_effect_late_is_replaced,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_low_set_by_the_administrator_is_not_forgotten, set_up, tear_down),
        cmocka_unit_test(test_idle_memory_is_not_claimed),
        cmocka_unit_test(test_a_claim_exceeds_the_use_in_advance),
        cmocka_unit_test(test_a_claim_is_lowered_only_after_a_minute),
        cmocka_unit_test_setup_teardown(test_memory_low_of_the_slice_follows_the_claims, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
