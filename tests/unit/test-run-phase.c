/* SPDX-License-Identifier: Apache-2.0 */

/* agent/state/run-phase.h: compares the transitions between phases with a second, independent table. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/state/run-phase.h"
#include "util/macros.h"

/* One row and one column per phase, in the order of the enum. 'x' permits the transition from the row's phase to the
 * column's phase. */
static const char *const allowed[NM_RUN_PHASE_COUNT] = {
    /*                           n c p g l L s S w W e q a r */
    [NM_RUN_NONE] =             ".x.xx.x.x.....",
    [NM_RUN_CREATING] =         "..x.x.x.x.....",
    [NM_RUN_KILL_PENDING] =     "....x.x.x.....",
    [NM_RUN_AT_GATE] =          "....xxx.x..x..",
    [NM_RUN_LAUNCHED] =         ".....xx...x...",
    [NM_RUN_LAUNCHED_KILLED] =  ".......x..x...",
    [NM_RUN_SHIM_GONE] =        ".......x..x...",
    [NM_RUN_SHIM_GONE_KILLED] = "..........x...",
    [NM_RUN_WITHDRAWN] =        ".........x.x..",
    [NM_RUN_WITHDRAWN_KILLED] = "...........x..",
    [NM_RUN_ENDING] =           "x...........xx",
    [NM_RUN_REQUEUEING] =       "x............x",
    [NM_RUN_ASKING_OWNER] =     "..........x...",
    [NM_RUN_REMOVED] =          "..............",
};

/* Sets the phase in a child process. Returns 0, or the number of the signal that killed the child process. */
static int signal_of_setting(enum nm_run_phase from, enum nm_run_phase to)
{
    enum nm_run_phase phase = from;
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        nm_run_phase_set(&phase, to);
        _exit(phase == to ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_each_transition_between_phases_is_permitted_or_refused(void **state)
{
    (void)state;
    for (enum nm_run_phase from = 0; from < NM_RUN_PHASE_COUNT; from++) {
        for (enum nm_run_phase to = 0; to < NM_RUN_PHASE_COUNT; to++) {
            bool expected = allowed[from][to] == 'x';

            if (nm_run_phase_may_become(from, to) != expected ||
                signal_of_setting(from, to) != (expected ? 0 : SIGABRT))
                fail_msg("%s -> %s: should be %s", nm_run_phase_name(from), nm_run_phase_name(to),
                         expected ? "legal" : "illegal");
        }
    }
    assert_false(nm_run_phase_may_become(NM_RUN_PHASE_COUNT, NM_RUN_REMOVED));
    assert_false(nm_run_phase_may_become(NM_RUN_NONE, NM_RUN_PHASE_COUNT));
}

/* Returns the set of phases, as bits, from which `to` can be reached by any number of transitions. */
static unsigned all_that_reach(enum nm_run_phase to)
{
    unsigned reach = 1u << to, before = 0;

    while (reach != before) {
        before = reach;
        for (enum nm_run_phase from = 0; from < NM_RUN_PHASE_COUNT; from++)
            for (enum nm_run_phase next = 0; next < NM_RUN_PHASE_COUNT; next++)
                if (reach & 1u << next && nm_run_phase_may_become(from, next))
                    reach |= 1u << from;
    }
    return reach;
}

/* From each phase the end can be reached. A container that is stuck in a phase would hold its resources permanently. */
static void test_from_each_phase_the_end_can_be_reached(void **state)
{
    (void)state;
    assert_int_equal(all_that_reach(NM_RUN_REMOVED), (1u << NM_RUN_PHASE_COUNT) - 1);
    for (enum nm_run_phase phase = 0; phase < NM_RUN_PHASE_COUNT; phase++)
        assert_true(all_that_reach(phase) & 1u << NM_RUN_NONE);
}

/* For each event, the phase that follows each phase. An event that changes nothing leads to the same phase. */
static void test_each_event_leads_to_the_right_phase(void **state)
{
    static const struct {
        enum nm_run_phase before, sigkill, end_with_record, end_without;
    } cases[NM_RUN_PHASE_COUNT] = {
#define SAME(p) {NM_RUN_##p, NM_RUN_##p, NM_RUN_##p, NM_RUN_##p}
        SAME(NONE),
        SAME(CREATING),
        SAME(KILL_PENDING),
        {NM_RUN_AT_GATE, NM_RUN_LAUNCHED_KILLED, NM_RUN_SHIM_GONE, NM_RUN_WITHDRAWN},
        {NM_RUN_LAUNCHED, NM_RUN_LAUNCHED_KILLED, NM_RUN_SHIM_GONE, NM_RUN_SHIM_GONE},
        {NM_RUN_LAUNCHED_KILLED, NM_RUN_LAUNCHED_KILLED, NM_RUN_SHIM_GONE_KILLED, NM_RUN_SHIM_GONE_KILLED},
        {NM_RUN_SHIM_GONE, NM_RUN_SHIM_GONE_KILLED, NM_RUN_SHIM_GONE, NM_RUN_SHIM_GONE},
        SAME(SHIM_GONE_KILLED),
        {NM_RUN_WITHDRAWN, NM_RUN_WITHDRAWN_KILLED, NM_RUN_WITHDRAWN, NM_RUN_WITHDRAWN},
        SAME(WITHDRAWN_KILLED),
        SAME(ENDING),
        SAME(REQUEUEING),
        SAME(ASKING_OWNER),
        SAME(REMOVED),
#undef SAME
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        enum nm_run_phase sigkill = cases[i].before, with = cases[i].before, without = cases[i].before;

        nm_run_phase_note_sigkill(&sigkill);
        nm_run_phase_note_shim_end(&with, true);
        nm_run_phase_note_shim_end(&without, false);
        if (sigkill != cases[i].sigkill || with != cases[i].end_with_record || without != cases[i].end_without)
            fail_msg("%s: %s, %s, %s", nm_run_phase_name(cases[i].before), nm_run_phase_name(sigkill),
                     nm_run_phase_name(with), nm_run_phase_name(without));
    }
}

/* A container returns to the queue only after a run that has certainly not started the command. */
static void test_only_a_run_that_started_no_command_returns_to_the_queue(void **state)
{
    static const struct {
        enum nm_run_phase before, after;
    } cases[] = {
        {NM_RUN_AT_GATE, NM_RUN_REQUEUEING},
        {NM_RUN_WITHDRAWN, NM_RUN_REQUEUEING},
        {NM_RUN_WITHDRAWN_KILLED, NM_RUN_REQUEUEING},
        {NM_RUN_LAUNCHED, NM_RUN_ENDING},
        {NM_RUN_LAUNCHED_KILLED, NM_RUN_ENDING},
        {NM_RUN_SHIM_GONE, NM_RUN_ENDING},
        {NM_RUN_SHIM_GONE_KILLED, NM_RUN_ENDING},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        enum nm_run_phase phase = cases[i].before;

        nm_run_phase_note_empty(&phase);
        assert_int_equal(phase, cases[i].after);
    }
}

/* One row per predicate of phases, with one character per phase in the order of the enum. */
static void test_each_predicate_is_true_for_the_right_phases(void **state)
{
    static const struct {
        bool (*is)(enum nm_run_phase phase);
        const char *yes;
    } cases[] = {
        /*                             n c p g l L s S w W e q a r */
        {nm_run_phase_is_creating,    ".xx..........."},
        {nm_run_phase_is_killed,      ".....x.x.x...."},
        {nm_run_phase_is_shim_gone,   "......xxxx...."},
        {nm_run_phase_is_ending,      "..........xxx."},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        for (enum nm_run_phase phase = 0; phase < NM_RUN_PHASE_COUNT; phase++)
            assert_int_equal(cases[i].is(phase), cases[i].yes[phase] == 'x');
}

static void test_names_of_phases_are_parsed_as_written(void **state)
{
    (void)state;
    for (enum nm_run_phase a = 0; a < NM_RUN_PHASE_COUNT; a++)
        for (enum nm_run_phase b = 0; b < a; b++)
            assert_string_not_equal(nm_run_phase_name(a), nm_run_phase_name(b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_transition_between_phases_is_permitted_or_refused),
        cmocka_unit_test(test_from_each_phase_the_end_can_be_reached),
        cmocka_unit_test(test_each_event_leads_to_the_right_phase),
        cmocka_unit_test(test_only_a_run_that_started_no_command_returns_to_the_queue),
        cmocka_unit_test(test_each_predicate_is_true_for_the_right_phases),
        cmocka_unit_test(test_names_of_phases_are_parsed_as_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
