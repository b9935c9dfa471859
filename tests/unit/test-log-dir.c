/* SPDX-License-Identifier: Apache-2.0 */

/* Logs in a directory that the container's user can write to. nmd opens the files of this directory as root. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "tests/unit/manager-fixture.h"
#include "agent/journal/containers.h"

#define ID "container_a"
#define TEST(name) cmocka_unit_test_setup_teardown(name, manager_fixture_set_up, manager_fixture_tear_down)

static int try_submit(struct manager_fixture *w, const char *log_dir, struct nm_problem *p)
{
    static const char *const argv[] = {"/bin/true", NULL};
    struct nm_submit s = {.type = NM_GUARANTEED, .memory_bytes = MIB, .argv = argv, .owner = "upstream", .id = ID,
                          .log_dir = log_dir};
    const struct nm_container *c;

    return manager_fixture_try(w, &s, &c, p);
}

static const char *beneath(const struct manager_fixture *w, const char *name, char *buf, size_t size)
{
    assert_true((size_t)snprintf(buf, size, "%s/%s", w->tree.path, name) < size);
    return buf;
}

static void submit(struct manager_fixture *w)
{
    struct nm_problem p;
    char dir[128];

    assert_int_equal(try_submit(w, beneath(w, "owner/1", dir, sizeof dir), &p), 0);
}

static int read_log(struct manager_fixture *w, char *buf, size_t size)
{
    struct nm_output_piece piece;
    struct nm_problem p;
    ssize_t n;
    int r = nm_manager_open_log(w->m, &manager_fixture_admin, ID, "stdout", 0, &piece, &p);

    if (r != 0)
        return r;
    assert_true(piece.newest && piece.base == 0 && piece.head == 0);
    n = read(piece.fd, buf, size - 1);
    assert_true(n >= 0);
    buf[n] = '\0';
    (void)nm_close(piece.fd);
    return 0;
}

static void assert_log(struct manager_fixture *w, const char *expected)
{
    char text[64];

    assert_int_equal(read_log(w, text, sizeof text), 0);
    assert_string_equal(text, expected);
}

static void assert_no_log(struct manager_fixture *w, int r)
{
    char text[64];

    assert_int_equal(read_log(w, text, sizeof text), r);
}

/* nmd opens only a plain file, and follows no symlink. The command may create the file late and may remove it. */
static void test_only_a_plain_log_file_is_opened(void **state)
{
    struct manager_fixture *w = *state;
    char file[128];

    fake_tree_write(&w->tree, "owner/1/other", "not this");
    (void)beneath(w, "owner/1/stdout", file, sizeof file);
    submit(w);
    for (int i = 0; i < 2; i++) {
        assert_no_log(w, -ENOENT);
        fake_tree_write(&w->tree, "owner/1/stdout", "its own words");
        assert_log(w, "its own words");
        assert_int_equal(unlink(file), 0);
        assert_int_equal(symlink("other", file), 0);
        assert_no_log(w, NM_AGENT_E_CONFLICT);
        assert_int_equal(unlink(file), 0);
        assert_int_equal(mkfifo(file, 0600), 0); /* the pipe has no writer, and nmd doesn't wait for a writer */
        assert_no_log(w, NM_AGENT_E_CONFLICT);
        assert_int_equal(unlink(file), 0);
        manager_fixture_restart(w);
    }
}

/* The log is a hard link to a file of another user, or another directory has replaced the log directory. */
static void test_a_log_file_of_another_user_is_not_opened(void **state)
{
    struct manager_fixture *w = *state;
    char dir[128], moved[128];
    struct nm_container *c;

    (void)beneath(w, "owner", dir, sizeof dir);
    (void)beneath(w, "moved", moved, sizeof moved);
    fake_tree_write(&w->tree, "owner/1/stdout", "its own words");
    submit(w);
    c = nm_lists_by_id(w->m, ID);
    assert_log(w, "its own words");
    c->command.uid++;
    assert_no_log(w, NM_AGENT_E_CONFLICT);
    c->command.uid--;
    assert_int_equal(rename(dir, moved), 0);
    assert_no_log(w, -ENOENT);
    assert_int_equal(symlink(moved, dir), 0);
    assert_no_log(w, NM_AGENT_E_CONFLICT);
}

/* The output that the shim received is the container's log only if the container has no log file and can't create one
 * any more. */
static void test_output_to_the_shim_is_the_log_only_without_a_log_file(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_problem p;

    submit(w);
    fake_tree_write(&w->tree, "state/logs/" ID "/stdout", "what bash said");
    assert_no_log(w, -ENOENT);
    assert_int_equal(nm_manager_kill(w->m, &manager_fixture_admin, ID, true, &p), 0);
    manager_fixture_settle(w);
    /* nmd has removed this file, since the command hasn't run */
    fake_tree_write(&w->tree, "state/logs/" ID "/stdout", "what bash said");
    assert_log(w, "what bash said");
    fake_tree_write(&w->tree, "owner/1/stdout", "its own words");
    assert_log(w, "its own words");
    (void)nm_lists_drop_ended(w->m, UINT64_MAX);
    assert_true(fake_tree_has(&w->tree, "owner/1/stdout"));
}

static void test_an_invalid_log_directory_is_refused(void **state)
{
    static const char *const bad[] = {"relative", "/with\na line"};
    struct manager_fixture *w = *state;
    struct nm_problem p;

    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        assert_int_equal(try_submit(w, bad[i], &p), NM_AGENT_E_INVALID);
        assert_string_equal(p.thing, "log_dir");
    }
    assert_int_equal(try_submit(w, "", &p), 0);
    assert_null(((struct nm_container *)nm_lists_by_id(w->m, ID))->log_dir);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_only_a_plain_log_file_is_opened),
        TEST(test_a_log_file_of_another_user_is_not_opened),
        TEST(test_output_to_the_shim_is_the_log_only_without_a_log_file),
        TEST(test_an_invalid_log_directory_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
