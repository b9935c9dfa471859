/* SPDX-License-Identifier: Apache-2.0 */

/* Exit statuses and diagnostics of containers, as YARN defines them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "yarn/node/exit-code.h"
#include "yarn/node/node.h"

struct end {
    enum nm_exit_reason reason;
    enum nm_reason cause;
    int32_t exit_code, owner_code;
    const char *message;
    int32_t code;
    const char *text; /* a part of the diagnostics */
    bool is_failure, is_external;
};

static const struct end ends[] = {
    {NM_EXIT_EXITED, NM_REASON_NONE, 0, 0, "", 0, "", false, false},
    {NM_EXIT_EXITED, NM_REASON_NONE, 3, 0, "", 3, "non-zero exit code 3", true, false},
    {NM_EXIT_SIGNALED, NM_REASON_NONE, 139, 0, "", 139, "that the NodeManager did not send", true, false},
    {NM_EXIT_SIGNALED, NM_REASON_NONE, 137, 0, "", 137, "exit code 137.\n[", true, true},
    {NM_EXIT_SIGNALED, NM_REASON_NONE, 137, 0, "", 137, "]Container killed on request. Exit code is 137\n[", true,
     true},
    {NM_EXIT_SIGNALED, NM_REASON_NONE, 143, 0, "", 143, "]Killed by external signal\n", true, true},
    {NM_EXIT_EXITED, NM_REASON_NONE, 143, 0, "", 143, "]Killed by external signal\n", true, true},
    {NM_EXIT_NOT_FOUND, NM_REASON_NONE, 127, 0, "", 127, "command-not-found", true, false},
    {NM_EXIT_PREEMPTED, NM_REASON_ROOM_FOR_GUARANTEED, 143, 0, "", NM_YARN_KILLED_BY_NODE,
     "a guaranteed container needs the room", false, false},
    {NM_EXIT_PAUSE_DEADLINE, NM_REASON_NONE, 137, 0, "", NM_YARN_KILLED_BY_NODE, "pause-deadline", false, false},
    {NM_EXIT_SHED, NM_REASON_NONE, -1, 0, "", NM_YARN_KILLED_BY_NODE, "shed", false, false},
    {NM_EXIT_OOM, NM_REASON_NONE, 137, 0, "", NM_YARN_OVER_MEMORY, "beyond the 'PHYSICAL' memory limit. Current "
     "usage: 100.0 MB of 64.0 MB physical memory used", true, false},
    {NM_EXIT_OOM, NM_REASON_KERNEL_OOM, 137, 0, "", NM_YARN_PREEMPTED, "the node was out of memory", false, false},
    {NM_EXIT_KILLED, NM_REASON_OWNER, 143, NM_YARN_KILLED_BY_MASTER, "Asked for.", NM_YARN_KILLED_BY_MASTER,
     "]Container killed on request. Exit code is 143\n[", false, false},
    {NM_EXIT_KILLED, NM_REASON_OWNER, 143, NM_YARN_KILLED_BY_MASTER, "Asked for.", NM_YARN_KILLED_BY_MASTER,
     "Asked for.", false, false},
    {NM_EXIT_KILLED, NM_REASON_OWNER, 137, 137, "Forcefully.", 137, "]Killed by external signal\n", false, true},
    {NM_EXIT_KILLED, NM_REASON_OWNER, -1, 137, "Forcefully.", 137, "]Forcefully.\n", false, false},
    {NM_EXIT_KILLED, NM_REASON_USER, 143, 0, "", NM_YARN_ABORTED, "on the node", false, false},
    {NM_EXIT_DRAINED, NM_REASON_NONE, 143, 0, "", NM_YARN_ABORTED, "drained", false, false},
    {NM_EXIT_LOST, NM_REASON_NONE, -1, 0, "", NM_YARN_ABORTED, "lost", false, false},
    {NM_EXIT_STOPPED, NM_REASON_NONE, 143, 0, "", NM_YARN_ABORTED, "stopped", false, false},
    {NM_EXIT_LOCALIZATION_FAILED, NM_REASON_NONE, -1, 0, "No such file.", NM_YARN_INVALID, "No such file.", false,
     false},
    {NM_EXIT_LAUNCH_FAILED, NM_REASON_NONE, -1, 0, "", NM_YARN_INVALID, "launch-failed", false, false},
};

static void set(struct nm_container *c, const struct end *e)
{
    c->exit_reason = e->reason;
    c->exit_cause = e->cause;
    c->exit_code = e->exit_code;
    c->owner_code = e->owner_code;
    c->view.request.memory_bytes = 64 << 20;
    c->memory_peak_bytes = 100 << 20;
    (void)snprintf(c->message, sizeof c->message, "%s", e->message);
}

static void test_each_cause_of_an_end_has_its_exit_status_of_yarn(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(ends); i++) {
        _cleanup_(nm_container_freep) struct nm_container *c = NULL;
        struct nm_arena arena;
        const char *text;

        assert_int_equal(nm_container_new(&c), 0);
        set(c, &ends[i]);
        nm_arena_init(&arena, 1 << 20, NULL);
        assert_int_equal(nm_yarn_exit_code(c), ends[i].code);
        assert_int_equal(nm_yarn_exit_is_failure(c), ends[i].is_failure);
        text = nm_yarn_exit_text(c, "its last words", &arena);
        assert_non_null(text);
        if (!strstr(text, ends[i].text))
            fail_msg("'%s' isn't in '%s'", ends[i].text, text);
        assert_int_equal(nm_yarn_exit_is_external(c), ends[i].is_external);
        assert_int_equal(strstr(text, "its last words") != NULL, *ends[i].text != '\0' && !ends[i].is_external);
        nm_arena_done(&arena);
    }
}

/* A size just below a unit is rounded up to this unit, as in Hadoop. */
static void test_a_rounded_size_has_the_right_unit(void **state)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    struct nm_arena arena;

    (void)state;
    assert_int_equal(nm_container_new(&c), 0);
    c->exit_reason = NM_EXIT_OOM;
    c->view.request.memory_bytes = 1072640819; /* 1022.95 MB */
    c->memory_peak_bytes = (1 << 30) - 1;
    nm_arena_init(&arena, 1 << 20, NULL);
    assert_non_null(strstr(nm_yarn_exit_text(c, "", &arena), "usage: 1.0 GB of 1022.9 MB physical memory"));
    nm_arena_done(&arena);
}

static void test_the_length_of_the_diagnostics_is_limited(void **state)
{
    struct end e = {NM_EXIT_EXITED, NM_REASON_NONE, 1, 0, "", 1, "", true, false};
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    static char words[3 * NM_YARN_DIAGNOSTICS_MAX];
    struct nm_arena arena;
    const char *text;

    (void)state;
    memset(words, 'w', sizeof words - 1);
    /* Puts a character of two bytes at each position, so that the cut can fall within this character. */
    for (size_t i = 0; i + 2 < sizeof words; i += 2)
        memcpy(words + i, "\xc3\xa9", 2);
    assert_int_equal(nm_container_new(&c), 0);
    set(c, &e);
    nm_arena_init(&arena, 1 << 20, NULL);
    text = nm_yarn_exit_text(c, words, &arena);
    assert_non_null(text);
    assert_in_range(strlen(text), NM_YARN_DIAGNOSTICS_MAX - 4, NM_YARN_DIAGNOSTICS_MAX);
    assert_true((unsigned char)text[strlen(text) - 1] != 0xc3);
    nm_arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_cause_of_an_end_has_its_exit_status_of_yarn),
        cmocka_unit_test(test_a_rounded_size_has_the_right_unit),
        cmocka_unit_test(test_the_length_of_the_diagnostics_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
