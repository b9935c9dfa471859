/* SPDX-License-Identifier: Apache-2.0 */

/* agent/container.h: state transitions, compared with a second, independent table, and copies of containers. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "agent/container.h"

/* Permitted transitions. There is one row and one column for each state from NEW to COMPLETED. x: a container in the
 * row's state may enter the column's state. */
static const char *const allowed[NM_STATE_COUNT] = {
    /*                  N L S R p P r K C */
    [NM_NEW] =         ".xx....xx",
    [NM_LOCALIZING] =  "..x....xx",
    [NM_SCHEDULED] =   "...x...xx",
    [NM_RUNNING] =     "x...x..xx",
    [NM_PAUSING] =     "x..x.xxxx",
    [NM_PAUSED] =      "x.....xxx",
    [NM_RESUMING] =    "x..xxx.xx",
    [NM_KILLING] =     "........x",
    [NM_COMPLETED] =   ".........",
};

static void test_each_pair_of_states_is_permitted_or_refused(void **state)
{
    (void)state;
    for (unsigned from = 0; from < NM_STATE_COUNT; from++) {
        for (unsigned to = 0; to < NM_STATE_COUNT; to++) {
            _cleanup_(nm_container_freep) struct nm_container *c = NULL;
            bool expected = allowed[from][to] == 'x';
            int r;

            assert_int_equal(nm_container_new(&c), 0);
            c->view.state = (enum nm_state)from;
            r = nm_container_set_state(c, (enum nm_state)to);
            if (r != (expected ? 0 : -EPROTO) || c->view.state != (expected ? to : from) ||
                nm_container_may_become((enum nm_state)from, (enum nm_state)to) != expected)
                fail_msg("%s -> %s: got %d, now %s", nm_state_name((enum nm_state)from),
                         nm_state_name((enum nm_state)to), r, nm_state_name(c->view.state));
        }
    }
}

static void test_an_unknown_state_is_refused(void **state)
{
    (void)state;
    assert_false(nm_container_may_become(NM_STATE_COUNT, NM_COMPLETED));
    assert_false(nm_container_may_become(NM_RUNNING, NM_STATE_COUNT));
}

/* Each live state must have a path to COMPLETED. Otherwise a container could remain in this state for ever. */
static void test_each_live_state_has_a_path_to_completed(void **state)
{
    unsigned reaches = 1u << NM_COMPLETED;

    (void)state;
    for (int round = 0; round < NM_STATE_COUNT; round++)
        for (unsigned from = 0; from < NM_STATE_COUNT; from++)
            for (unsigned to = 0; to < NM_STATE_COUNT; to++)
                if (nm_container_may_become((enum nm_state)from, (enum nm_state)to) &&
                    (reaches & (1u << to)))
                    reaches |= 1u << from;
    assert_int_equal(reaches, (1u << NM_STATE_COUNT) - 1);
}

/* A rerun is requested for a container that has started, and lasts until its next run begins or a kill ends it. */
static void test_a_rerun_is_over_when_the_container_is_new_or_killed(void **state)
{
    (void)state;
    for (enum nm_state from = NM_RUNNING; from < NM_KILLING; from++) {
        for (enum nm_state to = 0; to < NM_STATE_COUNT; to++) {
            _cleanup_(nm_container_freep) struct nm_container *c = NULL;

            assert_int_equal(nm_container_new(&c), 0);
            c->view.state = from;
            nm_container_request_rerun(c);
            assert_true(nm_container_is_being_ended(c));
            if (nm_container_set_state(c, to) < 0)
                assert_true(c->rerun);
            else
                assert_int_equal(c->rerun, to != NM_NEW && to != NM_KILLING);
        }
    }
}

static void test_a_new_container_has_its_defaults(void **state)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;

    (void)state;
    assert_int_equal(nm_container_new(&c), 0);
    assert_int_equal(c->view.state, NM_NEW);
    assert_int_equal(c->exit_code, -1);
    assert_int_equal(c->exit_reason, NM_EXIT_NONE);
    assert_true(c->view.pause_deadline_usec == UINT64_MAX);
    assert_true(c->command.no_new_privs);
    assert_null(nm_container_free(NULL));
}

static void test_a_copy_of_a_container_shares_no_memory_with_it(void **state)
{
    char a0[] = "sh", a1[] = "-c", e0[] = "A=b", workdir[] = "/tmp", user[] = "me";
    char *argv[] = {a0, a1, NULL}, *env[] = {e0, NULL};
    struct nm_command from = {argv, env, workdir, user, 7, 8, true};
    _cleanup_(nm_command_done) struct nm_command to = {0};

    (void)state;
    assert_int_equal(nm_command_copy(&from, &to), 0);
    a0[0] = e0[0] = workdir[0] = user[0] = '!';
    assert_string_equal(to.argv[0], "sh");
    assert_string_equal(to.argv[1], "-c");
    assert_null(to.argv[2]);
    assert_string_equal(to.env[0], "A=b");
    assert_null(to.env[1]);
    assert_string_equal(to.workdir, "/tmp");
    assert_string_equal(to.user, "me");
    assert_int_equal(to.uid, 7);
    assert_int_equal(to.gid, 8);
    assert_true(to.no_new_privs);
}

static void test_a_copy_of_an_empty_container_is_complete(void **state)
{
    char *argv[] = {NULL};
    struct nm_command from = {.argv = argv};
    struct nm_command to = {0};

    (void)state;
    assert_int_equal(nm_command_copy(&from, &to), 0);
    assert_non_null(to.argv);
    assert_null(to.argv[0]);
    assert_null(to.env);
    assert_null(to.workdir);
    nm_command_done(&to);
    assert_null(to.argv);
    nm_command_done(&to);
}

/* The size is computed as execve() computes it, from bytes, terminating NULs and pointers. */
static void test_the_size_of_a_command_counts_pointers_and_nuls(void **state)
{
    const char *v[] = {"ab", "", NULL};
    struct rlimit rl, old;

    (void)state;
    assert_int_equal(nm_strv_bytes(NULL), 8);
    assert_int_equal(nm_strv_bytes(v), 3 + 1 + 3 * 8);
    assert_int_equal(getrlimit(RLIMIT_STACK, &old), 0);
    rl = old;
    rl.rlim_cur = 8 << 20;
    assert_int_equal(setrlimit(RLIMIT_STACK, &rl), 0);
    assert_int_equal(nm_command_room(), NM_COMMAND_BYTES_MAX);
    rl.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_STACK, &rl), 0);
    assert_int_equal(nm_command_room(), (256 - 16) << 10);
    rl.rlim_cur = 64 << 10; /* the kernel permits at least 128 KiB */
    assert_int_equal(setrlimit(RLIMIT_STACK, &rl), 0);
    assert_int_equal(nm_command_room(), (128 - 16) << 10);
    assert_int_equal(setrlimit(RLIMIT_STACK, &old), 0);
}

/* execve() with the same stack limit accepts a command of nm_command_room() bytes, and refuses a slightly larger
 * one. */
static void test_the_size_limit_of_a_command_equals_that_of_execve(void **state)
{
    static const rlim_t stacks[] = {256 << 10, 1 << 20};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(stacks); i++)
        for (int more = 0; more < 2; more++) {
            pid_t pid = fork();
            int status;
            if (pid == 0) {
                struct rlimit rl = {stacks[i], stacks[i]};
                char *env[] = {NULL}, **argv;
                size_t n;
                (void)setrlimit(RLIMIT_STACK, &rl);
                n = (size_t)nm_command_room() / 9 + (size_t)more * 4000; /* empty arguments */
                argv = calloc(n + 1, sizeof *argv);
                for (size_t k = 0; k < n; k++)
                    argv[k] = (char *)"";
                execve("/bin/true", argv, env);
                _exit(errno == E2BIG ? 7 : 8);
            }
            assert_int_equal(waitpid(pid, &status, 0), pid);
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), more ? 7 : 0);
        }
}

static void test_a_long_command_is_shortened(void **state)
{
    char long_word[3001];
    const char *few[] = {"sh", "-c", "exit"}, *long_ones[] = {"sh", "-c", long_word, "x"};
    const char *first[] = {long_word, "x"}, *env[] = {"A=1"};
    struct nm_command c = {.argv = nm_strv_pack(few, 3), .env = nm_strv_pack(env, 1)};

    (void)state;
    memset(long_word, 'x', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    nm_command_shorten(&c, 1024);
    assert_string_equal(c.argv[2], "exit");
    assert_null(c.argv[3]);
    assert_null(c.env[0]);
    nm_command_done(&c);
    c.argv = nm_strv_pack(long_ones, 4);
    nm_command_shorten(&c, 1024);
    assert_string_equal(c.argv[1], "-c");
    assert_string_equal(c.argv[2], "...");
    assert_null(c.argv[3]);
    assert_in_range(nm_command_bytes(&c), 1, 1024);
    nm_command_done(&c);
    c.argv = nm_strv_pack(first, 2);
    nm_command_shorten(&c, 1024);
    assert_int_equal(strlen(c.argv[0]), 512);
    assert_in_range(nm_command_bytes(&c), 1, 1024);
    nm_command_done(&c);
    memcpy(long_word + 511, "\xc3\xbc", 2); /* a character of two bytes at the cut is left out */
    c.argv = nm_strv_pack(first, 2);
    nm_command_shorten(&c, 1024);
    assert_int_equal(strlen(c.argv[0]), 511);
    nm_command_done(&c);
}

/* A limit includes the pointers. Shortens a command of 100 words of this length. */
static void assert_shortened(size_t length, size_t max)
{
    char word[64] = "";
    const char *words[100];
    struct nm_command c = {0};
    uint64_t bytes;
    size_t n = 0;

    memset(word, 'x', length);
    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        words[i] = word;
    c.argv = nm_strv_pack(words, NM_ARRAY_SIZE(words));
    nm_command_shorten(&c, max);
    while (c.argv[n])
        n++;
    bytes = nm_strv_bytes((const char *const *)c.argv);
    assert_true(bytes <= max);
    assert_true(n >= 64 || bytes + length + 1 + sizeof *words > max); /* no further word fits */
    nm_command_done(&c);
}

static void test_a_shortened_command_is_as_long_as_the_limit_permits(void **state)
{
    (void)state;
    for (size_t length = 0; length < 64; length++)
        for (size_t max = 64; max <= 1024; max += 7)
            assert_shortened(length, max);
}

static void test_the_label_of_a_container_has_its_id_and_name(void **state)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    char buf[NM_ID_SIZE + NM_NAME_SIZE + 4];

    (void)state;
    assert_int_equal(nm_container_new(&c), 0);
    (void)snprintf(c->id, sizeof c->id, "container_1_000001");
    assert_string_equal(nm_container_label(c, buf, sizeof buf), "container_1_000001");
    (void)snprintf(c->name, sizeof c->name, "hash");
    assert_string_equal(nm_container_label(c, buf, sizeof buf), "container_1_000001 (hash)");
    assert_string_equal(nm_container_label(c, buf, 8), "contain");
}

static void test_the_text_of_an_end_has_the_exit_code_or_the_reason(void **state)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    char buf[64];

    (void)state;
    assert_int_equal(nm_container_new(&c), 0);
    c->exit_reason = NM_EXIT_EXITED;
    c->exit_code = 3;
    assert_string_equal(nm_container_end_text(c, buf, sizeof buf), "exited, exit code 3");
    c->exit_reason = NM_EXIT_DRAINED;
    c->exit_code = -1; /* the command never ran */
    assert_string_equal(nm_container_end_text(c, buf, sizeof buf), "drained");
}

static enum nm_container_end end_of(const char *text)
{
    return *text == 'S' ? NM_END_SUCCEEDED : *text == 'F' ? NM_END_FAILED : NM_END_KILLED;
}

/* Each kind of end has its own text, and only the text of a success means success. */
static void test_each_state_and_each_kind_of_end_has_its_own_text(void **state)
{
    static const struct {
        enum nm_exit_reason reason;
        int code, signal;
        const char *text;
    } ends[] = {
        {NM_EXIT_EXITED, 0, 0, "Succeeded"},
        {NM_EXIT_EXITED, 255, 0, "Failed (255)"},
        {NM_EXIT_SIGNALED, 139, 11, "Failed (SIGSEGV)"},
        {NM_EXIT_SIGNALED, 170, 42, "Failed (signal 42)"},
        {NM_EXIT_PREEMPTED, 137, 9, "Killed (preempted)"},
        {NM_EXIT_KILLED, 0, 0, "Killed (on request)"}, /* the command handled SIGTERM and exited with 0 */
        {NM_EXIT_SHED, -1, 0, "Killed (discarded from the queue)"},
        {NM_EXIT_NOT_FOUND, 127, 0, "Failed (command not found)"},
    };
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    char buf[NM_STATE_TEXT_SIZE];

    (void)state;
    assert_int_equal(nm_container_new(&c), 0);
    c->view.state = NM_SCHEDULED;
    assert_string_equal(nm_container_state_text(c, buf, sizeof buf), "QUEUED");
    c->view.state = NM_PAUSING;
    assert_string_equal(nm_container_state_text(c, buf, sizeof buf), "PAUSING");
    c->view.state = NM_COMPLETED;
    for (size_t i = 0; i < NM_ARRAY_SIZE(ends); i++) {
        c->exit_reason = ends[i].reason;
        c->exit_code = ends[i].code;
        c->exit_signal = ends[i].signal;
        assert_string_equal(nm_container_state_text(c, buf, sizeof buf), ends[i].text);
        assert_int_equal(nm_container_end_kind(c), end_of(buf));
    }
    for (unsigned i = NM_EXIT_NONE + 1; i < NM_EXIT_REASON_COUNT; i++) {
        c->exit_reason = (enum nm_exit_reason)i;
        c->exit_code = 1;
        c->exit_signal = 1;
        (void)nm_container_state_text(c, buf, sizeof buf);
        assert_true(strlen(buf) + 1 < sizeof buf);
        assert_int_equal(nm_container_end_kind(c), end_of(buf));
        if (strncmp(buf, "Failed (", 8) != 0 && strncmp(buf, "Killed (", 8) != 0)
            fail_msg("%s is shown as %s", nm_exit_reason_name((enum nm_exit_reason)i), buf);
    }
}

static void test_names_of_enum_values_are_parsed_as_the_same_values(void **state)
{
    (void)state;
    assert_string_equal(nm_state_word(NM_SCHEDULED), "QUEUED");
    assert_string_equal(nm_state_word(NM_COMPLETED), "ENDED");
    assert_string_equal(nm_state_word(NM_RUNNING), "RUNNING");
    for (unsigned i = 0; i < NM_STATE_COUNT; i++) {
        enum nm_state s = NM_STATE_COUNT;
        assert_int_equal(nm_state_from_string(nm_state_name((enum nm_state)i), &s), 0);
        assert_int_equal(s, i);
    }
    for (unsigned i = 0; i < NM_EXIT_REASON_COUNT; i++) {
        enum nm_exit_reason r = NM_EXIT_REASON_COUNT;
        const char *name = nm_exit_reason_name((enum nm_exit_reason)i);
        assert_int_equal(nm_exit_reason_from_string(name, &r), 0);
        assert_int_equal(r, i);
    }
    {
        enum nm_execution_type t = NM_GUARANTEED;
        assert_int_equal(nm_execution_type_from_string("opportunistic", &t), 0);
        assert_int_equal(t, NM_OPPORTUNISTIC);
        assert_int_equal(nm_execution_type_from_string("", &t), -EINVAL);
        assert_int_equal(t, NM_OPPORTUNISTIC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_pair_of_states_is_permitted_or_refused),
        cmocka_unit_test(test_an_unknown_state_is_refused),
        cmocka_unit_test(test_each_live_state_has_a_path_to_completed),
        cmocka_unit_test(test_a_rerun_is_over_when_the_container_is_new_or_killed),
        cmocka_unit_test(test_a_new_container_has_its_defaults),
        cmocka_unit_test(test_a_copy_of_a_container_shares_no_memory_with_it),
        cmocka_unit_test(test_a_copy_of_an_empty_container_is_complete),
        cmocka_unit_test(test_the_label_of_a_container_has_its_id_and_name),
        cmocka_unit_test(test_the_text_of_an_end_has_the_exit_code_or_the_reason),
        cmocka_unit_test(test_each_state_and_each_kind_of_end_has_its_own_text),
        cmocka_unit_test(test_names_of_enum_values_are_parsed_as_the_same_values),
        cmocka_unit_test(test_the_size_of_a_command_counts_pointers_and_nuls),
        cmocka_unit_test(test_the_size_limit_of_a_command_equals_that_of_execve),
        cmocka_unit_test(test_a_long_command_is_shortened),
        cmocka_unit_test(test_a_shortened_command_is_as_long_as_the_limit_permits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
