/* SPDX-License-Identifier: Apache-2.0 */

/* The two texts that nmd and its shim exchange: the record and the spec. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/launch/record.h"
#include "agent/launch/shim.h"

static void assert_same_record(const struct nm_launch_record *a, const struct nm_launch_record *b)
{
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->started_usec, b->started_usec);
    assert_int_equal(a->started_realtime_usec, b->started_realtime_usec);
    assert_int_equal(a->ended_usec, b->ended_usec);
    assert_int_equal(a->ended_realtime_usec, b->ended_realtime_usec);
    assert_int_equal(a->failed_stage, b->failed_stage);
    assert_int_equal(a->failed_errno, b->failed_errno);
    assert_int_equal(a->exit_code, b->exit_code);
    assert_int_equal(a->exit_signal, b->exit_signal);
    assert_int_equal(a->max_rss_bytes, b->max_rss_bytes);
    if (b->exit_code >= 0 || b->exit_signal > 0)
        assert_int_equal(a->ooms, b->ooms);
}

static void test_a_record_reads_back_as_written(void **state)
{
    const struct nm_launch_record records[] = {
        {.phase = NM_LAUNCH_WAITING, .exit_code = -1},
        {.phase = NM_LAUNCH_STARTED,
         .pid = 1,
         .started_usec = 2,
         .started_realtime_usec = 3,
         .exit_code = -1},
        {.phase = NM_LAUNCH_ENDED,
         .pid = INT32_MAX,
         .started_usec = 1,
         .started_realtime_usec = 1,
         .ended_usec = UINT64_MAX,
         .ended_realtime_usec = UINT64_MAX,
         .exit_code = 255,
         .max_rss_bytes = UINT64_MAX,
         .ooms = 3},
        {.phase = NM_LAUNCH_ENDED, .pid = 7, .started_usec = 1, .ended_usec = 1, .exit_code = 0},
        {.phase = NM_LAUNCH_ENDED,
         .pid = 7,
         .started_usec = 1,
         .ended_usec = 1,
         .exit_code = -1,
         .exit_signal = 64,
         .max_rss_bytes = 4096,
         .ooms = NM_LAUNCH_OOMS_UNKNOWN},
        {.phase = NM_LAUNCH_ENDED,
         .ended_usec = 5,
         .ended_realtime_usec = 6,
         .exit_code = -1,
         .failed_stage = NM_LAUNCH_STAGE_EXEC,
         .failed_errno = 2},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(records); i++) {
        char text[NM_LAUNCH_RECORD_SIZE];
        struct nm_launch_record r;

        assert_int_equal(nm_launch_record_print(&records[i], text, sizeof text), 0);
        assert_int_equal(nm_launch_record_parse(text, &r), 0);
        assert_same_record(&r, &records[i]);
        /* with a buffer that is too small, and with the text cut off at each byte */
        assert_int_equal(nm_launch_record_print(&records[i], text, 20), -E2BIG);
        assert_int_equal(nm_launch_record_print(&records[i], text, sizeof text), 0);
        if (records[i].phase != NM_LAUNCH_ENDED)
            continue;
        for (char *cut = strstr(text, "max_rss") ?: text + strlen(text); cut > text; cut--) {
            *cut = '\0';
            if (cut[-1] != '\n')
                assert_int_equal(nm_launch_record_parse(text, &r), -EBADMSG);
        }
    }
}

#define HEAD "nm-launch-record 1\n"
#define STARTED "pid 7\nstarted_usec 1\nstarted_realtime_usec 2\n"
#define ENDED "ended_usec 3\nended_realtime_usec 4\n"

static void test_a_malformed_record_is_refused(void **state)
{
    static const char *const bad[] = {
        "", "\n", "phase started\n" STARTED, "nm-launch-record 2\nphase started\n" STARTED,
        HEAD, HEAD STARTED, HEAD "phase started\n", HEAD "phase begun\n" STARTED,
        HEAD "phase started\npid 0\nstarted_usec 1\nstarted_realtime_usec 2\n",
        HEAD "phase started\npid -7\nstarted_usec 1\nstarted_realtime_usec 2\n",
        HEAD "phase started\npid 2147483648\nstarted_usec 1\nstarted_realtime_usec 2\n",
        HEAD "phase started\npid 7x\nstarted_usec 1\nstarted_realtime_usec 2\n",
        HEAD "phase started\npid 7\nstarted_usec 18446744073709551616\nstarted_realtime_usec 2\n",
        HEAD "phase started\n" STARTED "pid 7\n",
        HEAD "phase started\n" STARTED "output_max_bytes 1\n",
        HEAD "phase started\n" STARTED "output_max_bytes 65535\n",
        HEAD "phase started\n" STARTED "\n",
        HEAD "phase started\n" STARTED " x\n",
        HEAD "phase started\n" STARTED "junk\n",
        HEAD "phase started\n" STARTED "x 1",
        HEAD "phase ended\n" STARTED ENDED,
        HEAD "phase ended\n" STARTED ENDED "exit_code 256\n",
        HEAD "phase ended\n" STARTED ENDED "exit_code -1\n",
        HEAD "phase ended\n" STARTED ENDED "exit_signal 0\n",
        HEAD "phase ended\n" STARTED ENDED "exit_signal 65\n",
        HEAD "phase ended\n" STARTED ENDED "exit_code 0\nexit_signal 9\n",
        HEAD "phase ended\n" ENDED "exit_code 0\n",
        HEAD "phase ended\n" STARTED "exit_code 0\n",
        HEAD "phase ended\n" ENDED "failed_stage exec\n",
        HEAD "phase ended\n" ENDED "failed_errno 2\n",
        HEAD "phase ended\n" ENDED "failed_stage none\nfailed_errno 2\n",
        HEAD "phase ended\n" ENDED "failed_stage nowhere\nfailed_errno 2\n",
        HEAD "phase ended\n" ENDED "failed_stage exec\nfailed_errno 4096\n",
        HEAD "phase ended\n" ENDED "failed_stage exec\nfailed_errno 2\nexit_code 1\n",
    };
    char longest[400] = HEAD "phase started\n" STARTED "future ";

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        struct nm_launch_record r = {.pid = 4711};

        assert_int_equal(nm_launch_record_parse(bad[i], &r), -EBADMSG);
        assert_int_equal(r.pid, 4711);
    }
    memset(longest + strlen(longest), 'x', 200);
    strcat(longest, "\n");
    assert_int_equal(nm_launch_record_parse(longest, &(struct nm_launch_record){0}), -EBADMSG);
}

static void test_a_record_of_a_later_version_is_read(void **state)
{
    struct nm_launch_record r;

    (void)state;
    assert_int_equal(nm_launch_record_parse(
                         HEAD "phase ended\ncgroup a b c\n" STARTED ENDED "exit_code 3\nz 1\n", &r),
                     0);
    assert_int_equal(r.exit_code, 3);
    assert_int_equal(r.max_rss_bytes, 0);
}

/* The smallest limit and "no limit" are read back as written. */
static void test_the_limit_of_output_reads_back_as_written(void **state)
{
    struct nm_launch_record r;

    (void)state;
    assert_int_equal(nm_launch_record_parse(HEAD "phase started\n" STARTED "output_max_bytes 65536\n", &r), 0);
    assert_int_equal(r.output_max_bytes, 65536);
    assert_int_equal(nm_launch_record_parse(HEAD "phase started\n" STARTED "output_max_bytes 0\n", &r), 0);
    assert_int_equal(r.output_max_bytes, 0);
}

static const struct nm_command plain = {
    .argv = (char *[]){(char *)"echo", (char *)"", (char *)"a=b\nc", NULL},
    .env = (char *[]){(char *)"A=1=2", (char *)"B=", NULL},
    .workdir = (char *)"",
    .user = (char *)"nobody",
    .uid = 65534,
    .gid = 4294967294,
    .no_new_privs = true,
};

static const struct nm_shim_account nobody = {
    .name = (char *)"nobody",
    .home = (char *)"/nonexistent",
    .shell = (char *)"",
    .groups = (gid_t[]){65534, 0, 4294967294},
    .n_groups = 3,
    .error = ESTALE,
};

static void test_a_spec_reads_back_as_written(void **state)
{
    _cleanup_free_ char *text = NULL;
    const struct nm_shim_options options = {.oom_score_adj = -999, .confine = true, .output_max_bytes = 65536,
                                            .has_input = true, .rows = 24, .columns = 65535};
    struct nm_shim_spec s;
    size_t size;

    (void)state;
    assert_int_equal(nm_shim_spec_print(&plain, &nobody, &options, &text, &size), 0);
    assert_int_equal(nm_shim_spec_parse(text, size, &s), 0);
    assert_string_equal(s.account.name, "nobody");
    assert_string_equal(s.account.home, "/nonexistent");
    assert_string_equal(s.account.shell, "");
    assert_int_equal(s.account.error, ESTALE);
    assert_int_equal(s.account.n_groups, 3);
    assert_memory_equal(s.account.groups, nobody.groups, 3 * sizeof(gid_t));
    assert_string_equal(s.workdir, "");
    assert_int_equal(s.uid, 65534);
    assert_int_equal(s.gid, 4294967294);
    assert_int_equal(s.options.oom_score_adj, -999);
    assert_true(s.options.confine);
    assert_int_equal(s.options.output_max_bytes, 65536);
    assert_true(s.options.has_input);
    assert_int_equal(s.options.rows, 24);
    assert_int_equal(s.options.columns, 65535);
    assert_true(s.no_new_privs);
    assert_string_equal(s.argv[0], "echo");
    assert_string_equal(s.argv[1], "");
    assert_string_equal(s.argv[2], "a=b\nc");
    assert_null(s.argv[3]);
    assert_string_equal(s.env[0], "A=1=2");
    assert_string_equal(s.env[1], "B=");
    assert_null(s.env[2]);
    nm_shim_spec_done(&s);
}

static void test_a_spec_of_a_session_reads_back_as_written(void **state)
{
    _cleanup_free_ char *text = NULL;
    struct nm_shim_options options = {.session = {.shim_pid = 17, .command_pid = 18, .n_more = 2, .input = true},
                                      .rows = 24, .columns = 65535};
    struct nm_shim_spec s;
    size_t size;

    (void)state;
    assert_int_equal(nm_shim_spec_print(&plain, &nobody, &options, &text, &size), 0);
    assert_int_equal(nm_shim_spec_parse(text, size, &s), 0);
    assert_int_equal(s.options.session.shim_pid, 17);
    assert_int_equal(s.options.session.command_pid, 18);
    assert_int_equal(s.options.session.n_more, 2);
    assert_true(s.options.session.input);
    assert_int_equal(s.options.rows, 24);
    assert_int_equal(s.options.columns, 65535);
    nm_shim_spec_done(&s);
    nm_freep(&text);
    options.rows = options.columns = 0; /* without a terminal */
    assert_int_equal(nm_shim_spec_print(&plain, &nobody, &options, &text, &size), 0);
    assert_int_equal(nm_shim_spec_parse(text, size, &s), 0);
    assert_int_equal(s.options.rows, 0);
    nm_shim_spec_done(&s);
    nm_freep(&text);
    options.session.n_more = 3; /* the environment has only two variables */
    assert_int_equal(nm_shim_spec_print(&plain, &nobody, &options, &text, &size), 0);
    assert_int_equal(nm_shim_spec_parse(text, size, &s), -EBADMSG);
}

static void test_an_incomplete_spec_is_refused(void **state)
{
    const struct nm_shim_options options = {.oom_score_adj = 1000};
    _cleanup_free_ char *text = NULL;
    size_t size;

    (void)state;
    assert_int_equal(nm_shim_spec_print(&plain, &nobody, &options, &text, &size), 0);
    for (size_t n = 0; n < size; n++) {
        _cleanup_free_ char *cut = malloc(n + 1);
        struct nm_shim_spec s;

        memcpy(cut, text, n);
        assert_int_equal(nm_shim_spec_parse(cut, n, &s), -EBADMSG);
    }
}

#define ACCOUNT "confine=0\0private_ipc=1\0output_max=0\0home=/\0shell=/bin/sh\0account_error=0\0"
#define SPEC_HEAD "nm-shim-spec 3\0user=u\0" ACCOUNT "uid=1\0gid=1\0workdir=\0"
#define SESSION "shim_pid=17\0command_pid=18\0n_more=0\0"
#define END_OF_SPEC "oom_score_adj=0\0no_new_privs=1\0arg=x\0end"

static void test_a_malformed_spec_is_refused(void **state)
{
#define BAD(s) {s, sizeof(s)}
    static const struct {
        const char *text;
        size_t size;
    } bad[] = {
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0arg=\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0env=A=1\0arg=x\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0arg=x\0env=A=1\0arg=x\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=2\0arg=x\0end"),
        BAD(SPEC_HEAD "oom_score_adj=-1001\0no_new_privs=1\0arg=x\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0arg=x\0end"),
        BAD(SPEC_HEAD "output_max=65536\0" END_OF_SPEC),
        BAD("nm-shim-spec 3\0user=u\0confine=0\0output_max=65535\0home=/\0shell=\0account_error=0\0"
            "uid=1\0gid=1\0workdir=\0" END_OF_SPEC),
        BAD("nm-shim-spec 3\0user=u\0confine=0\0output_max=-1\0home=/\0shell=\0account_error=0\0"
            "uid=1\0gid=1\0workdir=\0" END_OF_SPEC),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0uid=0\0arg=x\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0seccomp=1\0arg=x\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0arg\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0group=4294967295\0arg=x\0end"),
        BAD(SPEC_HEAD "oom_score_adj=0\0no_new_privs=1\0account_error=0\0arg=x\0end"),
        BAD("nm-shim-spec 3\0user=u\0" ACCOUNT "uid=4294967295\0gid=1\0workdir=\0" END_OF_SPEC),
        BAD("nm-shim-spec 3\0user=\0" ACCOUNT "uid=1\0gid=1\0workdir=\0" END_OF_SPEC),
        BAD("nm-shim-spec 3\0user=u\0uid=1\0gid=1\0workdir=\0" END_OF_SPEC),
        BAD("nm-shim-spec 3\0user=u\0home=/\0shell=\0account_error=0\0uid=1\0gid=1\0workdir=\0" END_OF_SPEC),
        BAD(SPEC_HEAD "confine=1\0" END_OF_SPEC),
        BAD(SPEC_HEAD SESSION "input=2\0" END_OF_SPEC),
        BAD(SPEC_HEAD SESSION "input=1\0rows=24\0" END_OF_SPEC),
        BAD(SPEC_HEAD "has_input=1\0columns=80\0" END_OF_SPEC),
        BAD(SPEC_HEAD "has_input=1\0rows=24\0columns=80\0rows=1\0" END_OF_SPEC),
        BAD(SPEC_HEAD "has_input=1\0rows=0\0columns=80\0" END_OF_SPEC),
        BAD(SPEC_HEAD SESSION END_OF_SPEC),
        BAD(SPEC_HEAD "has_input=2\0" END_OF_SPEC),
        BAD(SPEC_HEAD SESSION "input=1\0rows=24\0columns=65536\0" END_OF_SPEC),
        BAD(SPEC_HEAD "shim_pid=17\0" END_OF_SPEC),
        BAD(SPEC_HEAD "rows=24\0columns=80\0" END_OF_SPEC),
        BAD(SPEC_HEAD "shim_pid=1\0command_pid=18\0n_more=0\0input=0\0" END_OF_SPEC),
        BAD("nm-shim-spec 3\0user=u\0confine=0\0private_ipc=1\0output_max=0\0home=/\0shell=\0account_error=-2\0"
            "uid=1\0gid=1\0workdir=\0" END_OF_SPEC),
        BAD("nm-shim-spec 9\0user=u\0" ACCOUNT "uid=1\0gid=1\0workdir=\0" END_OF_SPEC),
    };

    char good[256];
    struct nm_shim_spec spec;

    (void)state;
    memcpy(good, SPEC_HEAD END_OF_SPEC, sizeof SPEC_HEAD END_OF_SPEC);
    assert_int_equal(nm_shim_spec_parse(good, sizeof SPEC_HEAD END_OF_SPEC, &spec), 0);
    nm_shim_spec_done(&spec);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        char text[256];
        struct nm_shim_spec s;

        memcpy(text, bad[i].text, bad[i].size);
        assert_int_equal(nm_shim_spec_parse(text, bad[i].size, &s), -EBADMSG);
    }
}

static void test_a_spec_without_a_command_or_above_the_limit_is_not_written(void **state)
{
    struct nm_command c = plain;
    _cleanup_free_ char *huge = calloc(1, NM_SHIM_SPEC_MAX_BYTES + 1), *text = NULL;
    size_t size;

    (void)state;
    c.argv = (char *[]){NULL};
    assert_int_equal(nm_shim_spec_print(&c, &nobody, 0, &text, &size), -EINVAL);
    memset(huge, 'x', NM_SHIM_SPEC_MAX_BYTES);
    c.argv = (char *[]){(char *)"x", huge, NULL};
    assert_int_equal(nm_shim_spec_print(&c, &nobody, 0, &text, &size), -E2BIG);
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_record_reads_back_as_written),
        cmocka_unit_test(test_a_malformed_record_is_refused),
        cmocka_unit_test(test_a_record_of_a_later_version_is_read),
        cmocka_unit_test(test_the_limit_of_output_reads_back_as_written),
        cmocka_unit_test(test_a_spec_reads_back_as_written),
        cmocka_unit_test(test_a_spec_of_a_session_reads_back_as_written),
        cmocka_unit_test(test_an_incomplete_spec_is_refused),
        cmocka_unit_test(test_a_malformed_spec_is_refused),
        cmocka_unit_test(test_a_spec_without_a_command_or_above_the_limit_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
