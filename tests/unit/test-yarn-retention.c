/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests nm_yarn_launcher_retain(): nmd is restarted while a container runs, with a cache that may keep nothing. The
 * files that the container may use stay where they are, in both local directories. The file "unused", which no
 * container needs, shows that removals have begun.
 */

#include "launcher-fixture.h"

#include <sys/stat.h>

#include "tests/unit/remove-tree.h"
#include "util/loop.h"

#define CACHE "/usercache/alice@corp$/filecache"
#define QUICK_CHECKS \
    "<property><name>yarn.nodemanager.disk-health-checker.interval-ms</name><value>1000</value></property>" \
    "<property><name>yarn.nodemanager.disk-health-checker.enable</name><value>true</value></property>"
#define KEEPS_NOTHING \
    QUICK_CHECKS "<property><name>yarn.nodemanager.localizer.cache.target-size-mb</name><value>0</value></property>"
#define PRIVATE 2

/* If set, each read of the clock advances it by the maximum length of a turn of the event loop. */
static bool turns_are_over;
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    static long ahead_nsec;
    int r = __real_clock_gettime(clock, ts);

    if (clock != CLOCK_BOOTTIME)
        return r;
    ahead_nsec += turns_are_over ? (long)NM_LOOP_TURN_USEC * 1000 : 0;
    ts->tv_sec += (ts->tv_nsec + ahead_nsec) / 1000000000;
    ts->tv_nsec = (ts->tv_nsec + ahead_nsec) % 1000000000;
    return r;
}

/* Prepares a container that needs these files. `o` keeps them in use. */
static void prepare_with(struct fixture *w, struct owner *o, const char *local_dir, const char *const *names)
{
    w->local_dir = local_dir;
    w->context.n_resources = 0;
    for (; *names; names++)
        add_file(w, *names, *names, "text", PRIVATE);
    prepare_all(w, o);
    assert_string_equal(o->message, "");
    assert_int_equal(o->result, 0);
}
#define PREPARE_WITH(w, o, local_dir, ...) prepare_with(w, o, local_dir, (const char *const[]){__VA_ARGS__, NULL})

/* Starts a new launcher, as a restarted nmd does. Removals aren't allowed yet. */
static void restart(struct fixture *w)
{
    char *message = NULL;

    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)nm_yarn_settings_free(w->settings);
    w->settings = read_settings(w, KEEPS_NOTHING);
    if (try_start(w, &message) < 0)
        fail_msg("%s", message ?: "no message");
}

static void break_dir(struct fixture *w, const char *name)
{
    char path[60];

    (void)snprintf(path, sizeof path, "%s/.nmd-probe", name);
    assert_int_equal(mkdirat(w->root_fd, path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/.nmd-probe/x", name);
    assert_int_equal(mkdirat(w->root_fd, path, 0700), 0);
}

static void mend_dir(struct fixture *w, const char *name)
{
    char path[100];

    (void)snprintf(path, sizeof path, "%s/%s/.nmd-probe", w->root, name);
    assert_int_equal(remove_tree(path), 0);
}

static size_t count_bad(struct fixture *w)
{
    struct nm_yarn_launcher_figures f;
    char report[1000];

    (void)nm_yarn_launcher_is_healthy(w->launcher, report, sizeof report);
    nm_yarn_launcher_get_figures(w->launcher, &f);
    return f.n_bad_local;
}

/* Fetches the files "f" and "unused" to both local directories: the first one was bad for a while. */
static void fetch_to_both(struct fixture *w)
{
    struct owner first, second;

    start(w, QUICK_CHECKS);
    set_command(w, "true");
    PREPARE_WITH(w, &first, "local", "f", "unused");
    break_dir(w, "local");
    RUN_UNTIL(w, count_bad(w) == 1);
    w->local_dir = "second";
    prepare_all(w, &second);
    mend_dir(w, "local");
    assert_true(exists(w, "local" CACHE "/10/f") && exists(w, "second" CACHE "/10/f"));
    assert_true(exists(w, "local" CACHE "/11/unused") && exists(w, "second" CACHE "/11/unused"));
    give_back(&second);
    give_back(&first);
    w->context.n_resources = 1; /* "f" */
}

static void test_resources_stay_in_each_directory_until_the_container_ends(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    fetch_to_both(w);
    restart(w);
    prepare_so(w, &o, RETAIN);
    nm_yarn_launcher_allow_removals(w->launcher);
    RUN_UNTIL(w, !exists(w, "local" CACHE "/11") && !exists(w, "second" CACHE "/11"));
    assert_int_equal(o.ended, 1);
    assert_int_equal(o.result, 0);
    assert_int_equal(nm_yarn_preparation_state(o.p, 0, NULL), 2); /* completed */
    assert_true(exists(w, "local" CACHE "/10/f") && exists(w, "second" CACHE "/10/f"));
    give_back(&o);
    RUN_UNTIL(w, !exists(w, "local" CACHE "/10") && !exists(w, "second" CACHE "/10"));
}

/* A disk is missing when nmd starts, and is mounted later. */
static void test_resources_stay_in_a_directory_that_is_opened_later(void **state)
{
    struct fixture *w = *state;
    struct owner o;
    int fd;

    fetch_to_both(w);
    assert_int_equal(renameat(w->root_fd, "second", w->root_fd, "away"), 0);
    fd = openat(w->root_fd, "second", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(close(fd), 0);
    restart(w);
    prepare_so(w, &o, RETAIN);
    nm_yarn_launcher_allow_removals(w->launcher);
    RUN_UNTIL(w, !exists(w, "local" CACHE "/11"));
    assert_int_equal(count_bad(w), 1);
    assert_int_equal(unlinkat(w->root_fd, "second", 0), 0);
    assert_int_equal(renameat(w->root_fd, "away", w->root_fd, "second"), 0);
    RUN_UNTIL(w, count_bad(w) == 0 && !exists(w, "second" CACHE "/11"));
    assert_true(exists(w, "local" CACHE "/10/f") && exists(w, "second" CACHE "/10/f"));
    assert_int_equal(o.ended, 1); /* once */
    give_back(&o);
    RUN_UNTIL(w, !exists(w, "second" CACHE "/10"));
}

/* The launcher needs several turns for the containers that run. The caches must not remove anything between them. */
static void test_nothing_is_removed_before_the_last_container_is_known(void **state)
{
    struct fixture *w = *state;
    struct owner first, second;
    Yarn__LaunchContext other;

    set_command(w, "true");
    PREPARE_WITH(w, &first, "local", "f", "g", "unused");
    give_back(&first);
    restart(w);
    other = w->context;
    other.resources = &w->resources[1]; /* "g" */
    other.n_resources = w->context.n_resources = 1;
    prepare_so(w, &first, RETAIN);
    w->other = &other;
    prepare_so(w, &second, RETAIN);
    w->other = NULL;
    nm_yarn_launcher_allow_removals(w->launcher);
    turns_are_over = true;
    for (int i = 0; i < 50; i++)
        assert_true(sd_event_run(w->event, NM_USEC_PER_MSEC) >= 0);
    turns_are_over = false;
    RUN_UNTIL(w, !exists(w, "local" CACHE "/12"));
    assert_true(first.ended && second.ended);
    assert_true(exists(w, "local" CACHE "/10/f") && exists(w, "local" CACHE "/11/g"));
    give_back(&second);
    RUN_UNTIL(w, !exists(w, "local" CACHE "/11"));
    assert_true(exists(w, "local" CACHE "/10/f"));
    give_back(&first);
}

/* A resource was found damaged and fetched again. The container that began before may use what is left of it. */
static void test_a_damaged_resource_stays_for_the_container_that_used_it(void **state)
{
    struct fixture *w = *state;
    struct owner first, second;
    char path[100];

    set_command(w, "true");
    PREPARE_WITH(w, &first, "local", "f", "unused");
    (void)snprintf(path, sizeof path, "%s/local" CACHE "/10/f", w->root);
    assert_int_equal(truncate(path, 1), 0);
    w->context.n_resources = 1;
    prepare_all(w, &second);
    assert_true(exists(w, "local" CACHE "/12/f"));
    give_back(&second);
    give_back(&first);
    restart(w);
    prepare_so(w, &first, RETAIN);
    nm_yarn_launcher_allow_removals(w->launcher);
    RUN_UNTIL(w, !exists(w, "local" CACHE "/11"));
    assert_true(exists(w, "local" CACHE "/10/f") && exists(w, "local" CACHE "/12/f"));
    give_back(&first);
    RUN_UNTIL(w, !exists(w, "local" CACHE "/10") && !exists(w, "local" CACHE "/12"));
}

/* If nmd does not know which files a container uses, nmd removes no file until the container has ended. */
static void test_nothing_is_removed_beside_a_container_with_unknown_files(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    set_command(w, "true");
    PREPARE_WITH(w, &o, "local", "f", "unused");
    give_back(&o);
    restart(w);
    w->resources[0]->value->type = 99;
    prepare_so(w, &o, RETAIN);
    nm_yarn_launcher_allow_removals(w->launcher);
    RUN_UNTIL(w, o.ended);
    assert_int_equal(o.result, -EINVAL);
    assert_non_null(strstr(reported, "The files that container " CONTAINER " uses can't be determined ("));
    for (int i = 0; i < 50; i++)
        assert_true(sd_event_run(w->event, NM_USEC_PER_MSEC) >= 0);
    assert_true(exists(w, "local" CACHE "/10/f") && exists(w, "local" CACHE "/11/unused"));
    give_back(&o);
    RUN_UNTIL(w, !exists(w, "local" CACHE "/10") && !exists(w, "local" CACHE "/11"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_resources_stay_in_each_directory_until_the_container_ends),
        TEST(test_resources_stay_in_a_directory_that_is_opened_later),
        TEST(test_nothing_is_removed_before_the_last_container_is_known),
        TEST(test_a_damaged_resource_stays_for_the_container_that_used_it),
        TEST(test_nothing_is_removed_beside_a_container_with_unknown_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
