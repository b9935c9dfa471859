/* SPDX-License-Identifier: Apache-2.0 */

/* Applications and their executors: which registrations are accepted, and that they persist over a restart. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "spark-fixture.h"
#include "spark/applications.h"
#include "util/macros.h"

static struct spark_fixture fixture;
static struct nm_spark_applications *applications;
static int state_fd;
static const char *why;
static struct nm_spark_executor executor;

static void start(void)
{
    assert_int_equal(nm_spark_applications_new(&fixture.locals, state_fd, &applications), 0);
}

static void add(bool is_stored)
{
    assert_int_equal(nm_spark_applications_add(applications, &fixture.application, nm_bytes_of("secret"), is_stored),
                     0);
}

/* Starts again, with the stored executors. */
static void restart(void)
{
    applications = nm_spark_applications_free(applications);
    start();
    add(true);
}

static int set_up(void **state)
{
    (void)state;
    spark_fixture_new(&fixture);
    state_fd = open(fixture.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(state_fd >= 0);
    start();
    add(true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    applications = nm_spark_applications_free(applications);
    nm_close(state_fd);
    spark_fixture_done(&fixture);
    return 0;
}

static int register_at(const char *app, const char *exec, const char *const *dirs)
{
    struct nm_writer w = {};
    struct nm_bytes message;
    int r;

    spark_fixture_registration(&w, app, exec, dirs);
    assert_int_equal(nm_writer_result(&w, &message), 0);
    r = nm_spark_applications_register(applications, message, &why);
    nm_writer_done(&w);
    return r;
}

static int register_local(const char *exec, unsigned local)
{
    return register_at(SPARK_APP, exec, (const char *const[]){spark_fixture_registered(&fixture, local), NULL});
}

static int find(const char *exec)
{
    return nm_spark_applications_executor(applications, SPARK_APP, exec, &executor);
}

static void test_an_executor_is_registered(void **state)
{
    char *b = strdup(spark_fixture_registered(&fixture, 1));

    (void)state;
    assert_non_null(b);
    assert_int_equal(find("1"), -ENOENT);
    assert_int_equal(register_at(SPARK_APP, "1",
                                 (const char *const[]){b, spark_fixture_registered(&fixture, 0), NULL}), 0);
    assert_int_equal(find("1"), 0);
    assert_int_equal(executor.n_sub_dirs, 64);
    assert_int_equal(executor.n, 2);
    assert_int_equal(executor.dirs[0].local, 1);
    assert_string_equal(executor.dirs[0].name, "blockmgr-one");
    assert_int_equal(executor.dirs[1].local, 0);
    assert_string_equal(executor.dirs[1].name, "blockmgr-two");
    assert_int_equal(find("2"), -ENOENT);
    free(b);
}

static void test_a_later_registration_replaces_the_former(void **state)
{
    (void)state;
    assert_int_equal(register_local("1", 0), 0);
    assert_int_equal(register_local("1", 1), 0);
    assert_int_equal(find("1"), 0);
    assert_int_equal(executor.n, 1);
    assert_int_equal(executor.dirs[0].local, 1);
    assert_int_equal(nm_spark_applications_count(applications).executors, 1);
}

static void test_other_registrations_are_refused(void **state)
{
    const char *const own = spark_fixture_registered(&fixture, 0);

    (void)state;
    assert_int_equal(register_at("application_1_0002", "1", (const char *const[]){own, NULL}), -ENOENT);
    assert_string_equal(why, "The application is not known to this node");
    assert_int_equal(register_at("..", "1", (const char *const[]){own, NULL}), -ENOENT);
    assert_int_equal(register_at(SPARK_APP, "../1", (const char *const[]){own, NULL}), -EINVAL);
    assert_int_equal(register_at(SPARK_APP, "1", (const char *const[]){"/etc", NULL}), -EINVAL);
    assert_non_null(strstr(why, "localDirs"));
    assert_int_equal(register_at(SPARK_APP, "1", (const char *const[]){own, "/etc", NULL}), -EINVAL);
    assert_int_equal(register_at(SPARK_APP, "1", (const char *const[]){NULL}), -EINVAL);
    assert_int_equal(register_at(SPARK_APP, "1", (const char *const[]){own, own, own, NULL}), -EINVAL);
    assert_int_equal(find("1"), -ENOENT);
}

/* Registers with another number of subdirectories, which is before the last text of a message. */
static int register_with(int32_t n_sub_dirs)
{
    struct nm_writer w = {};
    struct nm_bytes message;
    const size_t last = sizeof(int32_t) + strlen("org.apache.spark.shuffle.sort.SortShuffleManager");
    int r;

    spark_fixture_registration(&w, SPARK_APP, "1",
                               (const char *const[]){spark_fixture_registered(&fixture, 0), NULL});
    for (unsigned i = 0; i < 4; i++)
        w.data[w.size - last - 4 + i] = (uint8_t)((uint32_t)n_sub_dirs >> (24 - 8 * i));
    assert_int_equal(nm_writer_result(&w, &message), 0);
    r = nm_spark_applications_register(applications, message, &why);
    nm_writer_done(&w);
    return r;
}

static void test_the_number_of_subdirectories_has_limits(void **state)
{
    (void)state;
    assert_int_equal(register_with(0), -EINVAL);
    assert_int_equal(register_with(-1), -EINVAL);
    assert_int_equal(register_with(NM_SPARK_SUB_DIRS_MAX + 1), -EINVAL);
    assert_int_equal(register_with(NM_SPARK_SUB_DIRS_MAX), 0);
    assert_int_equal(find("1"), 0);
    assert_int_equal(executor.n_sub_dirs, NM_SPARK_SUB_DIRS_MAX);
}

static void test_executors_have_a_limit(void **state)
{
    char exec[16];

    (void)state;
    assert_int_equal(nm_spark_applications_remove(applications, SPARK_APP), 0);
    add(false);
    for (unsigned i = 0; i < NM_SPARK_EXECUTORS_MAX; i++) {
        snprintf(exec, sizeof exec, "%u", i);
        assert_int_equal(register_local(exec, 0), 0);
    }
    assert_int_equal(register_local("another", 0), -ENOSPC);
    assert_string_equal(why, "The application has registered too many executors");
    assert_int_equal(register_local("0", 1), 0);
}

static void test_executors_persist(void **state)
{
    (void)state;
    assert_int_equal(register_local("1", 0), 0);
    assert_int_equal(register_local("2", 0), 0);
    assert_int_equal(register_local("2", 1), 0);
    restart();
    assert_int_equal(find("1"), 0);
    assert_int_equal(executor.dirs[0].local, 0);
    assert_int_equal(find("2"), 0);
    assert_int_equal(executor.dirs[0].local, 1);
    assert_int_equal(nm_spark_applications_count(applications).executors, 2);
}

static void test_an_unchanged_registration_is_not_written(void **state)
{
    struct stat first, second;

    (void)state;
    assert_int_equal(register_local("1", 0), 0);
    assert_int_equal(fstatat(state_fd, SPARK_APP, &first, 0), 0);
    assert_int_equal(first.st_mode & 07777, 0600);
    assert_int_equal(register_local("1", 0), 0);
    assert_int_equal(fstatat(state_fd, SPARK_APP, &second, 0), 0);
    assert_int_equal(first.st_size, second.st_size);
}

static void test_removed_applications_leave_nothing(void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal(register_local("1", 0), 0);
    assert_int_equal(nm_spark_applications_remove(applications, SPARK_APP), 0);
    assert_int_equal(nm_spark_applications_remove(applications, SPARK_APP), -ENOENT);
    assert_int_equal(fstatat(state_fd, SPARK_APP, &st, 0), -1);
    assert_int_equal(register_local("1", 0), -ENOENT);
    assert_int_equal(nm_spark_applications_count(applications).executors, 0);
    add(true);
    assert_int_equal(find("1"), -ENOENT);
}

static void test_an_application_may_ask_not_to_be_stored(void **state)
{
    (void)state;
    assert_int_equal(nm_spark_applications_remove(applications, SPARK_APP), 0);
    add(false);
    assert_int_equal(register_local("1", 0), 0);
    restart();
    assert_int_equal(find("1"), -ENOENT);
}

/* Adds bytes to the end of the application's file. */
static void damage(const void *bytes, size_t size)
{
    int fd = openat(state_fd, SPARK_APP, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    nm_close(fd);
}

static void test_an_incomplete_registration_is_cut_off(void **state)
{
    (void)state;
    assert_int_equal(register_local("1", 0), 0);
    damage("\0\0\1\0half", 8);
    restart();
    assert_int_equal(find("1"), 0);
    assert_int_equal(register_local("2", 0), 0);
    restart();
    assert_int_equal(find("1"), 0);
    assert_int_equal(find("2"), 0);
}

static void test_foreign_registrations_in_the_file_are_ignored(void **state)
{
    struct nm_writer w = {}, message = {};
    struct nm_bytes bytes;

    (void)state;
    assert_int_equal(register_local("1", 0), 0);
    spark_fixture_registration(&message, "application_1_0002", "3", (const char *const[]){"/etc", NULL});
    nm_spark_put_text(&w, (struct nm_bytes){message.data, message.size});
    nm_spark_put_text(&w, nm_bytes_of("not a message"));
    assert_int_equal(nm_writer_result(&w, &bytes), 0);
    damage(bytes.data, bytes.size);
    nm_writer_done(&w);
    nm_writer_done(&message);
    restart();
    assert_int_equal(find("1"), 0);
    assert_int_equal(nm_spark_applications_count(applications).executors, 1);
}

static void test_a_registration_that_cannot_be_stored_is_accepted(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("elsewhere", state_fd, SPARK_APP), 0);
    assert_int_equal(register_local("1", 0), 0);
    assert_int_equal(find("1"), 0);
    assert_int_equal(nm_spark_applications_count(applications).not_stored, 1);
}

static void test_secrets_and_users_are_replaced(void **state)
{
    struct nm_spark_application found;
    uint8_t secret[NM_SPARK_SECRET_MAX];
    size_t size;

    (void)state;
    assert_int_equal(register_local("1", 0), 0);
    assert_int_equal(nm_spark_applications_secret(applications, SPARK_APP, secret, &size), 0);
    assert_int_equal(size, 6);
    assert_memory_equal(secret, "secret", 6);
    fixture.application.uid = 12;
    assert_int_equal(nm_spark_applications_add(applications, &fixture.application, (struct nm_bytes){}, true), 0);
    assert_int_equal(nm_spark_applications_secret(applications, SPARK_APP, secret, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(nm_spark_applications_find(applications, SPARK_APP, &found), 0);
    assert_int_equal(found.uid, 12);
    assert_int_equal(find("1"), 0);
    assert_int_equal(nm_spark_applications_secret(applications, "application_1_0002", secret, &size), -ENOENT);
    assert_int_equal(nm_spark_applications_find(applications, "application_1_0002", &found), -ENOENT);
    snprintf(fixture.application.id, sizeof fixture.application.id, "../x");
    assert_int_equal(nm_spark_applications_add(applications, &fixture.application, (struct nm_bytes){}, true), -EINVAL);
}

static void test_work_is_booked(void **state)
{
    uint64_t wait_usec;

    (void)state;
    assert_int_equal(nm_spark_applications_charge(applications, "application_1_0002", 1, 1, &wait_usec), -ENOENT);
    assert_int_equal(nm_spark_applications_charge(applications, SPARK_APP, 2000000, 1, &wait_usec), 0);
    assert_int_equal(wait_usec, 0);
    assert_int_equal(nm_spark_applications_charge(applications, SPARK_APP, 1, 1, &wait_usec), 0);
    assert_int_equal(wait_usec, 4000000);
}

static void add_as(unsigned number, uid_t uid)
{
    struct nm_spark_application a = {.user = "alice", .uid = uid};

    snprintf(a.id, sizeof a.id, "application_1_%u", number);
    assert_int_equal(nm_spark_applications_add(applications, &a, (struct nm_bytes){}, false), 0);
}

/* Registers executors of an application until one is refused, and at most as many as an application may have. */
static int fill(unsigned number)
{
    char app[64], exec[32], dir[PATH_MAX];
    int r = 0;

    snprintf(app, sizeof app, "application_1_%u", number);
    snprintf(dir, sizeof dir, "%s/usercache/alice/appcache/%s/blockmgr-x", fixture.locals.names[0], app);
    for (unsigned i = 0; i < NM_SPARK_EXECUTORS_MAX && r == 0; i++) {
        snprintf(exec, sizeof exec, "%u", i);
        r = register_at(app, exec, (const char *const[]){dir, NULL});
    }
    return r;
}

/* All applications of a user have half of the memory for executors. */
static void test_executors_of_a_user_have_a_limit(void **state)
{
    const uint64_t least_bytes = 64; /* of an executor */
    const unsigned most = NM_SPARK_EXECUTORS_BYTES_MAX / 2 / least_bytes / NM_SPARK_EXECUTORS_MAX;
    unsigned n = 0, n_executors;
    int r;

    (void)state;
    do {
        assert_true(n < most);
        add_as(++n, 7);
    } while ((r = fill(n)) == 0);
    assert_int_equal(r, -EBUSY);
    assert_string_equal(why, "The application, or its user, has registered too many executors");
    n_executors = nm_spark_applications_count(applications).executors;
    assert_true(n_executors > NM_SPARK_EXECUTORS_MAX);
    add_as(1000, 8);
    assert_int_equal(fill(1000), 0); /* another user's */
    assert_int_equal(nm_spark_applications_remove(applications, "application_1_1"), 0);
    assert_int_equal(fill(n), 0); /* there is room again */
}

static void settle(const struct nm_spark_usage *change)
{
    assert_int_equal(nm_spark_applications_settle(applications, SPARK_APP, change, 0, 1), 0);
}

static void test_the_usage_of_an_application_is_counted(void **state)
{
    struct nm_spark_usage usage;

    (void)state;
    settle(&(struct nm_spark_usage){.blocks_ok = 2, .sent_bytes = 10, .connections = 1, .streams = 3, .stalled = 1});
    settle(&(struct nm_spark_usage){.blocks_failed = 1, .sent_bytes = 5, .slow = 1, .streams = (uint64_t)-2});
    assert_int_equal(nm_spark_applications_usage(applications, SPARK_APP, &usage), 0);
    assert_memory_equal(&usage, (&(struct nm_spark_usage){2, 1, 15, 1, 1, 1, 1}), sizeof usage);
    assert_int_equal(nm_spark_applications_count(applications).stalled, 1);
    /* an application that is added again doesn't know the connections of the former one */
    assert_int_equal(nm_spark_applications_remove(applications, SPARK_APP), 0);
    assert_int_equal(nm_spark_applications_count(applications).stalled, 0);
    assert_int_equal(nm_spark_applications_settle(applications, SPARK_APP, &usage, 5, 1), -ENOENT);
    add(false);
    settle(&(struct nm_spark_usage){.connections = (uint64_t)-1, .streams = (uint64_t)-1, .stalled = (uint64_t)-1});
    assert_int_equal(nm_spark_applications_usage(applications, SPARK_APP, &usage), 0);
    assert_int_equal(usage.connections + usage.streams + usage.stalled, 0);
    assert_int_equal(nm_spark_applications_count(applications).stalled, 0);
}

/* Applications with stalled clients come first, then those that were sent most. */
static void test_the_busiest_applications_are_found(void **state)
{
    static const uint64_t sent[] = {5, 50, 20, 40, 10};
    struct nm_spark_application_usage top[3];

    (void)state;
    assert_int_equal(nm_spark_applications_top(applications, top, 3), 1);
    for (unsigned i = 0; i < NM_ARRAY_SIZE(sent); i++) {
        char id[64];

        add_as(i, 7);
        snprintf(id, sizeof id, "application_1_%u", i);
        assert_int_equal(nm_spark_applications_settle(applications, id,
                                                      &(struct nm_spark_usage){.sent_bytes = sent[i],
                                                                               .stalled = i == 0}, 0, 1), 0);
    }
    assert_int_equal(nm_spark_applications_top(applications, top, 3), 3);
    assert_string_equal(top[0].id, "application_1_0");
    assert_string_equal(top[1].id, "application_1_1");
    assert_string_equal(top[2].id, "application_1_3");
    assert_int_equal(top[2].usage.sent_bytes, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_executor_is_registered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_later_registration_replaces_the_former, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_registrations_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_number_of_subdirectories_has_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_executors_have_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_executors_persist, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_unchanged_registration_is_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_removed_applications_leave_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_application_may_ask_not_to_be_stored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_incomplete_registration_is_cut_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_registrations_in_the_file_are_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_registration_that_cannot_be_stored_is_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_secrets_and_users_are_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work_is_booked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_executors_of_a_user_have_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_usage_of_an_application_is_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_busiest_applications_are_found, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
