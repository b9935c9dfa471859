/* SPDX-License-Identifier: Apache-2.0 */

/* Passes over all processes of a cgroup. One turn of the loop visits a limited number of processes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cgroup/procs.h"
#include "tests/unit/fake-processes.h"

#define COPIED 4711 /* value of the userdata, which the pass must copy */

enum { VISITED_MAX = 2000 };
static unsigned visits[VISITED_MAX], n_visits, n_ended;

static int visit(pid_t pid, void *userdata)
{
    assert_int_equal(*(int *)userdata, COPIED);
    assert_in_range(pid, 1, VISITED_MAX - 1);
    visits[pid]++;
    n_visits++;
    return 0;
}

static void count_end(int r, void *userdata)
{
    assert_int_equal(r, 0);
    (void)userdata;
    n_ended++;
}

/* Runs the loop until the pass is over. Returns the number of turns. */
static unsigned run_pass(sd_event *event, const struct nm_procs_pass *p)
{
    unsigned n = 0, before;

    for (; nm_procs_pass_is_on(p); n++) {
        before = n_visits;
        assert_true(sd_event_run(event, UINT64_MAX) >= 0);
        assert_true(n_visits - before <= NM_PROCS_PASS_PER_TURN);
    }
    return n;
}

/* The pass of a test, and its event loop. */
struct passes {
    struct nm_procs_pass *p;
    sd_event *event;
};

static void begin_cases(struct passes *s)
{
    *s = (struct passes){0};
    memset(visits, 0, sizeof visits);
    n_visits = n_ended = 0;
    assert_true(sd_event_new(&s->event) >= 0);
}

static int begin_pass(struct passes *s, const struct fixture *w, unsigned rounds)
{
    int data = COPIED, r = nm_procs_pass_begin(&s->p, s->event, w->cg->dir_fd, rounds, visit, &data, sizeof data);

    data = 0;
    return r;
}

static void end_cases(struct passes *s)
{
    assert_null(nm_procs_pass_free(s->p));
    sd_event_unref(s->event);
}

/* A pass visits each process once in each round, including the processes in subgroups. */
static void test_a_pass_visits_each_process_once_per_round(void **state)
{
    enum { N = 1000, BELOW = 300, ROUNDS = 2 };
    struct fixture *w = *state;
    struct passes s;

    begin_cases(&s);
    write_processes(w, "cgroup.procs", 1, N);
    write_processes(w, "below/cgroup.procs", 1 + N, BELOW);
    assert_int_equal(begin_pass(&s, w, ROUNDS), 0);
    assert_in_range(n_visits, 1, NM_PROCS_PASS_PER_TURN);
    assert_true(nm_procs_pass_is_on(s.p));
    nm_procs_pass_set_ended(s.p, count_end, NULL);
    assert_true(run_pass(s.event, s.p) >= ROUNDS * (N + BELOW) / NM_PROCS_PASS_PER_TURN);
    assert_int_equal(n_ended, 1);
    for (int pid = 1; pid <= N + BELOW; pid++)
        if (visits[pid] != ROUNDS)
            fail_msg("process %d was visited %u times", pid, visits[pid]);
    assert_int_equal(n_visits, ROUNDS * (N + BELOW));
    end_cases(&s);
}

/* The second pass is over a small cgroup, so it needs no further turn. */
static void test_a_second_pass_replaces_the_first(void **state)
{
    struct fixture *w = *state;
    struct passes s;

    begin_cases(&s);
    write_processes(w, "cgroup.procs", 1, 1000);
    assert_int_equal(begin_pass(&s, w, 1), 0);
    write_processes(w, "cgroup.procs", 7, 1);
    n_visits = visits[7] = 0;
    assert_int_equal(begin_pass(&s, w, 1), 0);
    assert_false(nm_procs_pass_is_on(s.p));
    assert_true(n_visits == 1 && visits[7] == 1);
    end_cases(&s);
}

static void test_a_pass_over_a_removed_cgroup_is_an_error(void **state)
{
    struct fixture *w = *state;
    struct passes s;

    begin_cases(&s);
    fake_tree_unlink(&w->dir, "cgroup.procs");
    assert_int_equal(begin_pass(&s, w, 1), -ENOENT);
    assert_false(nm_procs_pass_is_on(s.p));
    end_cases(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_processes_set_up, fake_processes_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_pass_visits_each_process_once_per_round),
        TEST(test_a_second_pass_replaces_the_first),
        TEST(test_a_pass_over_a_removed_cgroup_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
