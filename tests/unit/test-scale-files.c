/* SPDX-License-Identifier: Apache-2.0 */

/* Files of nmscale: the exclude file byte by byte, its saved state, atomic replacement, locks, and commands. */

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "nmscale/exclude.h"
#include "nmscale/memory.h"
#include "nmscale/system.h"
#include "tests/unit/remove-tree.h"
#include "tests/unit/scale-model.h"
#include "util/fileio.h"
#include "util/inherited.h"

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/test-scale-files.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(dir);
    return 0;
}

static char *path_of(const char *name)
{
    char *path;

    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    return path;
}

static void test_lines_are_added_to_and_removed_from_the_exclude_file(void **state)
{
    static const char admins[] = "old1 old2 # ours\n\n  old3\t\n# n1\nold4 # nmscale was here\n";
    char n1[] = "n1", old2[] = "old2", n2[] = "n2", *hosts[] = {n1, old2, n2};
    _cleanup_free_ char *more = nm_scale_exclude_add(admins, hosts, 3), *less = NULL, *one = NULL;
    char **marked;
    size_t n;

    (void)state;
    assert_string_equal(more, "old1 old2 # ours\n\n  old3\t\n# n1\nold4 # nmscale was here\n"
                              "n1 # nmscale\nn2 # nmscale\n");
    assert_true(nm_scale_exclude_has(more, "n1"));
    assert_false(nm_scale_exclude_has(admins, "n1")); /* the name of the host is only in a comment */
    assert_true(nm_scale_exclude_has(admins, "old2"));
    assert_true(nm_scale_exclude_has(admins, "old3"));
    assert_false(nm_scale_exclude_has(admins, "ours"));
    assert_false(nm_scale_exclude_has(admins, "old"));
    assert_int_equal(nm_scale_exclude_marked(more, &marked, &n), 0);
    assert_int_equal(n, 2);
    assert_string_equal(marked[0], "n1");
    assert_string_equal(marked[1], "n2");
    nm_scale_words_free(marked, n);
    one = nm_scale_exclude_remove(more, hosts, 1);
    assert_false(nm_scale_exclude_has(one, "n1"));
    assert_true(nm_scale_exclude_has(one, "n2"));
    less = nm_scale_exclude_remove(more, hosts, 3);
    assert_string_equal(less, admins); /* the administrator has added old2 meanwhile */
}

/* Exclude files without a final newline, with other line ends, and empty files. */
static void test_exclude_files_of_each_form_are_changed(void **state)
{
    char host[] = "n1", *n1[] = {host};
    static const struct {
        const char *before, *after, *back;
    } rows[] = {
        {"", "n1 # nmscale\n", ""},
        {"a", "a\nn1 # nmscale\n", "a\n"},
        {"a\r\nb\r\n", "a\r\nb\r\nn1 # nmscale\n", "a\r\nb\r\n"},
        {"n1", "n1\n", "n1\n"},
        /* nmscale never writes two hosts in one line */
        {"n1 n2 # nmscale\n", "n1 n2 # nmscale\n", "n1 n2 # nmscale\n"},
        {"n1\t#nmscale\n", "n1\t#nmscale\n", "n1\t#nmscale\n"},
        {"  n1 # nmscale \r\n", "  n1 # nmscale \r\n", ""},
        {"n1 # nmscale", "n1 # nmscale\n", ""},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *after = nm_scale_exclude_add(rows[i].before, n1, 1), *back = NULL;

        assert_string_equal(after, rows[i].after);
        back = nm_scale_exclude_remove(after, n1, 1);
        assert_string_equal(back, rows[i].back);
    }
}

static void test_an_exclude_file_is_read(void **state)
{
    _cleanup_free_ char *plain = path_of("exclude"), *xml = path_of("exclude.xml"), *text = NULL, *message = NULL;

    (void)state;
    assert_int_equal(nm_scale_exclude_read(plain, &text, &message), 0); /* a missing file is read as an empty file */
    assert_string_equal(text, "");
    assert_int_equal(nm_scale_replace_file(xml, "", 0600), 0);
    assert_int_equal(nm_scale_exclude_read(xml, &text, &message), -EPROTO);
    assert_non_null(strstr(message, "XML"));
    assert_int_equal(nm_scale_replace_file(plain, " <?xml", 0600), 0);
    assert_int_equal(nm_scale_exclude_read(plain, &text, NULL), -EPROTO);
    assert_int_equal(nm_scale_exclude_read(dir, &text, NULL), -EISDIR);
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode;
}

static void test_a_file_is_replaced_completely(void **state)
{
    _cleanup_free_ char *path = path_of("f"), *link = path_of("link"), *text = NULL;
    size_t size;

    (void)state;
    assert_int_equal(nm_scale_replace_file(path, "one", 0640), 0);
    assert_int_equal(mode_of(path) & 07777, 0640);
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(symlink("f", link), 0);
    assert_int_equal(nm_scale_replace_file(link, "two", 0600), 0);
    assert_true(S_ISLNK(mode_of(link)));
    assert_int_equal(mode_of(path) & 07777, 0604); /* the file mode is unchanged */
    assert_int_equal(nm_scale_read_file(path, 100, &text, &size), 0);
    assert_string_equal(text, "two");
    assert_int_equal(size, 3);
    assert_int_equal(nm_scale_read_file(path, 2, &text, &size), -E2BIG);
    assert_int_equal(nm_scale_replace_file("/nonexistent/x", "", 0600), -ENOENT);
    /* no temporary file remains */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void test_a_second_lock_is_refused(void **state)
{
    _cleanup_free_ char *path = path_of("f");
    int first = -1, second = -1;

    (void)state;
    assert_int_equal(nm_scale_lock(path, &first), 0);
    assert_int_equal(nm_scale_lock(path, &second), -EWOULDBLOCK);
    (void)close(first);
    assert_int_equal(nm_scale_lock(path, &second), 0);
    (void)close(second);
}

static void fill_memory(struct nm_scale_memory *m)
{
    _cleanup_(nm_scale_model_done) struct nm_scale_model model = {0};

    model_node(&model, "b");
    model_node(&model, "a");
    assert_int_equal(nm_scale_memory_update(m, &model, 1000, 5000), 0);
    model_app(&model, "app2", "b:1");
    model_app(&model, "app1", "a:1");
    assert_int_equal(nm_scale_memory_update(m, &model, 2000, 5000), 0);
}

static void test_the_state_is_read_as_it_was_written(void **state)
{
    _cleanup_(nm_scale_memory_done) struct nm_scale_memory m = {0}, again = {0};
    _cleanup_free_ char *path = path_of("state"), *before = NULL, *after = NULL, *message = NULL;

    (void)state;
    assert_int_equal(nm_scale_memory_load(path, "rm", &again, NULL), 0); /* a missing file is read as an empty state */
    assert_int_equal(again.looked_msec, 0);
    fill_memory(&m);
    assert_int_equal(nm_scale_memory_save(path, "rm", &m, NULL), 0);
    assert_int_equal(mode_of(path) & 07777, 0600);
    assert_int_equal(nm_scale_memory_load(path, "rm", &again, NULL), 0);
    before = nm_scale_memory_format(&m, "rm");
    after = nm_scale_memory_format(&again, "rm");
    assert_string_equal(before, after);
    assert_int_equal(again.looked_msec, 2000);
    assert_int_equal(nm_scale_memory_idle_since(&again, "a:1"), 1000);
    assert_int_equal(nm_scale_memory_idle_since(&again, "c:1"), 0);
    assert_true(nm_scale_memory_app(&again, "app1")->followed);
    assert_true(nm_scale_memory_was_on(nm_scale_memory_app(&again, "app2"), "b:1"));
    assert_false(nm_scale_memory_was_on(nm_scale_memory_app(&again, "app2"), "a:1"));
    nm_scale_memory_restart(&again, "a:1", 3000);
    assert_int_equal(nm_scale_memory_idle_since(&again, "a:1"), 3000);
    nm_scale_memory_done(&again);
    assert_int_equal(nm_scale_memory_load(path, "other", &again, &message), -EBADMSG);
    assert_non_null(strstr(message, "belongs to rm, not to other"));
}

static void test_a_damaged_state_is_refused(void **state)
{
    static const char *const rows[] = {
        "", "{", "[]", "{}", "{\"format\":2}",
        "{\"format\":1,\"cluster\":\"rm\",\"looked_msec\":-1,\"low_since_msec\":{},\"applications\":{}}",
        "{\"format\":1,\"cluster\":\"rm\",\"looked_msec\":1,\"low_since_msec\":{\"a\":\"x\"},\"applications\":{}}",
        "{\"format\":1,\"cluster\":\"rm\",\"looked_msec\":1,\"low_since_msec\":{},\"applications\":{\"a\":{}}}",
        "{\"format\":1,\"cluster\":\"rm\",\"looked_msec\":1,\"low_since_msec\":{},"
        "\"applications\":{\"a\":{\"followed\":true,\"nodes\":[\"n\",1]}}}",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        struct nm_scale_memory m = {.looked_msec = 7};
        _cleanup_free_ char *message = NULL;

        assert_int_equal(nm_scale_memory_parse(rows[i], strlen(rows[i]), "rm", &m, &message), -EBADMSG);
        assert_int_equal(m.looked_msec, 7);
        assert_non_null(strstr(message, "remove the file"));
    }
}

static void test_the_result_of_a_command_is_returned(void **state)
{
    const char *none[] = {NULL}, *script[] = {"-c", "echo one; echo two >&2; exit 3", NULL};
    const char *sleeper[] = {"60", NULL};
    _cleanup_free_ char *failed = NULL, *missing = NULL, *late = NULL;

    (void)state;
    assert_int_equal(nm_scale_command("true", none, NM_USEC_PER_SEC * 60, NULL), 0);
    assert_int_equal(nm_scale_command("sh", script, NM_USEC_PER_SEC * 60, &failed), -EREMOTEIO);
    assert_non_null(strstr(failed, "exit status 3"));
    assert_non_null(strstr(failed, "two"));
    assert_int_equal(nm_scale_command("/nonexistent/yarn rmadmin", none, NM_USEC_PER_SEC, &missing), -ENOENT);
    assert_non_null(strstr(missing, "/nonexistent/yarn"));
    assert_int_equal(nm_scale_command("sleep", sleeper, NM_USEC_PER_SEC / 5, &late), -ETIMEDOUT);
    assert_non_null(strstr(late, "killed"));
    assert_int_equal(nm_scale_command(" ", none, NM_USEC_PER_SEC, NULL), -EINVAL);
}

/* If the parent process ignored SIGCHLD, the exit status of a command is unknown. This counts as a failure. */
static void test_an_unknown_exit_status_counts_as_a_failure(void **state)
{
    const char *none[] = {NULL};
    _cleanup_free_ char *unknown = NULL, *failed = NULL;

    (void)state;
    (void)signal(SIGCHLD, SIG_IGN);
    assert_int_equal(nm_scale_command("false", none, NM_USEC_PER_SEC * 60, &unknown), -ECHILD);
    assert_non_null(strstr(unknown, "can't get the exit status of false"));
    nm_inherited_keep_children();
    assert_int_equal(nm_scale_command("false", none, NM_USEC_PER_SEC * 60, &failed), -EREMOTEIO);
    assert_non_null(strstr(failed, "exit status 1"));
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(test_lines_are_added_to_and_removed_from_the_exclude_file),
        FILE_TEST(test_exclude_files_of_each_form_are_changed),
        FILE_TEST(test_an_exclude_file_is_read),
        FILE_TEST(test_a_file_is_replaced_completely),
        FILE_TEST(test_a_second_lock_is_refused),
        FILE_TEST(test_the_state_is_read_as_it_was_written),
        FILE_TEST(test_a_damaged_state_is_refused),
        FILE_TEST(test_the_result_of_a_command_is_returned),
        FILE_TEST(test_an_unknown_exit_status_counts_as_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
