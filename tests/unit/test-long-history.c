/* SPDX-License-Identifier: Apache-2.0 */

/* The history of the node's last day and of ended applications: the data that survives a restart, and the effect of a
 * damaged file. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/journal/slot-file.h"
#include "tests/unit/remove-tree.h"

#define SECOND NM_USEC_PER_SEC
#define HOUR (3600 * SECOND)
#define NOW (UINT64_C(1700000000) * SECOND) /* not a multiple of the fine or the coarse step */

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/nm-long-history.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(dir);
    return 0;
}

/* Flips one bit of every byte at a distance of `step`, beginning at offset `from`. */
static void damage(const char *name, off_t from, off_t step)
{
    char path[96], byte;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (off_t at = from; pread(fd, &byte, 1, at) == 1; at += step) {
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    (void)close(fd);
}

static off_t size_of(const char *name)
{
    char path[96];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* ---- history of the day ---------------------------------------------------------------------- */

static struct nm_long_history *open_at(uint64_t now)
{
    struct nm_long_history *h;
    int error = 1;

    assert_int_equal(nm_long_history_new(dir, now, &h, &error), 0);
    assert_int_equal(error, 0);
    return h;
}

static struct nm_history_point point_at(uint64_t now)
{
    struct nm_history_point p = {.at_usec = 7, .realtime_usec = now, .paused = 3, .pressure = {1, 2, 3}};

    p.use[NM_HISTORY_RESERVED] = (struct nm_history_use){now / SECOND, 5};
    return p;
}

static void add(struct nm_long_history *h, uint64_t now)
{
    struct nm_history_point p = point_at(now);

    assert_in_range(nm_long_history_add(h, &p), 0, 1);
}

static void test_the_text_of_the_history_contains_each_point(void **state)
{
    struct nm_history_point p = {.at_usec = INT64_MAX, .realtime_usec = INT64_MAX, .guaranteed_running = UINT16_MAX,
                                 .opportunistic_running = UINT16_MAX, .paused = UINT16_MAX, .queued = UINT16_MAX,
                                 .uplink_permille = UINT32_MAX, .sample_cost_usec = UINT32_MAX,
                                 .pressure = {UINT16_MAX, 0, 1000}}, q;
    char text[NM_LONG_HISTORY_SLOT_BYTES], copy[NM_LONG_HISTORY_SLOT_BYTES];
    static const char *const bad[] = {"", "nm-history-2", "nm-history-1", "nm-history-1 1 2 3", "x"};

    (void)state;
    for (int k = 0; k < NM_HISTORY_PARTS; k++)
        p.use[k] = (struct nm_history_use){INT64_MAX - (uint64_t)k, INT64_MAX};
    nm_long_history_print(&p, text, sizeof text);
    memcpy(copy, text, sizeof copy);
    assert_int_equal(nm_long_history_parse(copy, &q), 0);
    assert_memory_equal(&p.use, &q.use, sizeof p.use);
    assert_memory_equal(&p.pressure, &q.pressure, sizeof p.pressure);
    assert_true(q.realtime_usec == INT64_MAX && q.at_usec == INT64_MAX && q.queued == UINT16_MAX &&
                q.uplink_permille == UINT32_MAX && q.sample_cost_usec == UINT32_MAX);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        (void)snprintf(copy, sizeof copy, "%s", bad[i]);
        assert_int_equal(nm_long_history_parse(copy, &q), -EBADMSG);
    }
    memcpy(copy, text, sizeof copy);
    strcat(copy, " 1"); /* one number more than the format permits */
    assert_int_equal(nm_long_history_parse(copy, &q), -EBADMSG);
    memcpy(copy, text, sizeof copy);
    *strrchr(copy, ' ') = '\0'; /* one number less than the format requires */
    assert_int_equal(nm_long_history_parse(copy, &q), -EBADMSG);
}

/* Adds a sample per second for a day and an hour. */
static void test_a_time_span_has_one_point_per_step(void **state)
{
    struct nm_long_history *h = open_at(NOW);
    const struct nm_history *hours = nm_long_history_get(h, HOUR), *day = nm_long_history_get(h, 24 * HOUR);
    uint64_t end = NOW + 25 * HOUR;

    (void)state;
    assert_ptr_equal(hours, nm_long_history_get(h, 2 * HOUR));
    assert_ptr_equal(day, nm_long_history_get(h, 2 * HOUR + 1));
    assert_ptr_equal(day, nm_long_history_get(h, UINT64_MAX));
    assert_true(nm_history_step_usec(hours) == 12 * SECOND && nm_history_step_usec(day) == 144 * SECOND);
    for (uint64_t at = NOW; at <= end; at += SECOND)
        add(h, at);
    assert_true(nm_history_n(hours) >= 600 && nm_history_n(day) >= 600);
    assert_true(nm_history_get(day, 0)->at_usec >= end - 24 * HOUR);
    assert_true(nm_history_get(day, 0)->at_usec <= end - 24 * HOUR + 144 * SECOND);
    assert_int_equal(nm_history_get(day, 5)->pressure[1], 2);
    nm_long_history_free(h);
    assert_true(size_of("history") <= 2 * 640 * NM_LONG_HISTORY_SLOT_BYTES);
}

/* After a restart all points are present, including the point of the step that had begun. New points follow them. */
static void test_all_points_of_the_history_survive_a_restart(void **state)
{
    struct nm_long_history *h = open_at(NOW);
    const struct nm_history *day;
    unsigned n;

    (void)state;
    for (uint64_t at = NOW; at < NOW + 3 * HOUR; at += 3 * SECOND)
        add(h, at);
    n = nm_history_n(nm_long_history_get(h, 24 * HOUR));
    nm_long_history_free(h);
    h = open_at(NOW + 4 * HOUR);
    day = nm_long_history_get(h, 24 * HOUR);
    assert_int_equal(nm_history_n(day), n);
    assert_true(nm_history_get(day, 0)->at_usec < NOW + 144 * SECOND);
    assert_true(nm_history_get(day, n - 1)->at_usec >= NOW + 3 * HOUR - 3 * SECOND);
    assert_int_equal(nm_history_get(day, 3)->paused, 3);
    assert_int_equal(nm_history_get(day, 3)->use[NM_HISTORY_RESERVED].cpu_millicores, 5);
    assert_true(nm_history_n(nm_long_history_get(h, HOUR)) >= 290); /* the fine steps cover two hours, and one of
                                                                       them has passed */
    add(h, NOW + 4 * HOUR);
    assert_int_equal(nm_history_n(day), n + 1);
    nm_long_history_free(h);
    h = open_at(NOW + 40 * HOUR);
    assert_int_equal(nm_history_n(nm_long_history_get(h, 24 * HOUR)), 0);
    nm_long_history_free(h);
    h = open_at(NOW + HOUR); /* the clock was set back: points that are now in the future are left out */
    day = nm_long_history_get(h, 24 * HOUR);
    assert_true(nm_history_get(day, nm_history_n(day) - 1)->at_usec <= NOW + HOUR);
    nm_long_history_free(h);
}

static void test_points_survive_when_the_clock_is_set_back(void **state)
{
    struct nm_long_history *h = open_at(NOW);
    const struct nm_history *day = nm_long_history_get(h, 24 * HOUR);

    (void)state;
    for (uint64_t at = NOW; at < NOW + 5 * HOUR; at += 60 * SECOND)
        add(h, at);
    add(h, NOW + 2 * HOUR);
    assert_true(nm_history_get(day, nm_history_n(day) - 1)->at_usec == NOW + 2 * HOUR);
    for (unsigned i = 1; i < nm_history_n(day); i++)
        assert_true(nm_history_get(day, i)->at_usec > nm_history_get(day, i - 1)->at_usec);
    nm_long_history_free(h);
}

/* One damaged slot loses one point. A file in another format, or a file that can't be written, is ignored and causes no
 * error. */
static void test_a_damaged_slot_of_the_file_loses_only_one_point(void **state)
{
    struct nm_long_history *h = open_at(NOW);
    unsigned n, left;
    char path[96];
    int error;

    (void)state;
    for (uint64_t at = NOW; at < NOW + HOUR; at += 3 * SECOND)
        add(h, at);
    n = nm_history_n(nm_long_history_get(h, HOUR));
    nm_long_history_free(h);
    damage("history", 30, 2 * NM_LONG_HISTORY_SLOT_BYTES);
    h = open_at(NOW + HOUR);
    left = nm_history_n(nm_long_history_get(h, HOUR));
    assert_true(left >= n / 2 - 1 && left <= n / 2 + 1);
    nm_long_history_free(h);
    (void)snprintf(path, sizeof path, "%s/history", dir);
    assert_int_equal(truncate(path, 1000), 0);
    nm_long_history_free(open_at(NOW + HOUR));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(nm_long_history_new(dir, NOW, &h, &error), 0);
    assert_true(error < 0);
    add(h, NOW); /* the history is only in memory */
    assert_int_equal(nm_history_n(nm_long_history_get(h, HOUR)), 1);
    nm_long_history_free(h);
}

/* ---- applications ---------------------------------------------------------------------------- */

static struct nm_ended_apps *open_apps(void)
{
    struct nm_ended_apps *a;
    int error = 1;

    assert_int_equal(nm_ended_apps_new(dir, &a, &error), 0);
    assert_int_equal(error, 0);
    return a;
}

static void end_one(struct nm_ended_apps *a, const char *app, uid_t uid, enum nm_exit_reason reason, int code,
                    uint64_t at)
{
    struct nm_container *c;

    assert_int_equal(nm_container_new(&c), 0);
    (void)snprintf(c->app, sizeof c->app, "%s", app);
    c->submitter_uid = uid;
    c->view.state = NM_COMPLETED;
    c->exit_reason = reason;
    c->exit_code = code;
    c->submitted_realtime_usec = at - 10;
    c->finished_realtime_usec = at;
    c->view.cpu_usage_usec = 1000;
    c->memory_peak_bytes = at;
    assert_int_equal(nm_ended_apps_add(a, c), app[0] != '\0');
    nm_container_free(c);
}

static const struct nm_ended_app *app_of(const struct nm_ended_apps *a, const char *name, uid_t uid)
{
    for (unsigned i = 0; i < NM_ENDED_APPS; i++) {
        const struct nm_ended_app *e = nm_ended_apps_get(a, i, 0);

        if (e && nm_streq(e->name, name) && e->submitter_uid == uid)
            return e;
    }
    return NULL;
}

static void test_ended_applications_are_counted(void **state)
{
    struct nm_ended_apps *a = open_apps();

    (void)state;
    for (int again = 0; again < 2; again++) {
        const struct nm_ended_app *e;

        if (again == 0) {
            end_one(a, "job", 7, NM_EXIT_EXITED, 0, 1000);
            end_one(a, "job", 7, NM_EXIT_EXITED, 3, 3000);
            end_one(a, "job", 7, NM_EXIT_PREEMPTED, 137, 2000);
            end_one(a, "job", 8, NM_EXIT_NOT_FOUND, -1, 2000);
            end_one(a, "", 7, NM_EXIT_EXITED, 0, 9000);
        }
        e = app_of(a, "job", 7);
        assert_non_null(e);
        assert_true(e->succeeded == 1 && e->failed == 1 && e->killed == 1 && e->cpu_time_usec == 3000);
        assert_true(e->first_submitted_usec == 990 && e->last_ended_usec == 3000 && e->memory_peak_bytes == 3000);
        assert_true(app_of(a, "job", 8)->failed == 1);
        assert_null(app_of(a, "", 7));
        for (unsigned i = 0; i < NM_ENDED_APPS; i++)
            assert_null(nm_ended_apps_get(a, i, 3001));
        nm_ended_apps_free(a);
        a = open_apps();
    }
    /* the next application is written at the position after the last one */
    end_one(a, "job", 7, NM_EXIT_EXITED, 0, 4000);
    assert_true(app_of(a, "job", 7)->succeeded == 2);
    nm_ended_apps_free(a);
}

/* A thousand ended applications of one user don't displace the applications of other users. The oldest applications of
 * this user are dropped. */
static void test_ended_applications_of_one_user_do_not_displace_those_of_others(void **state)
{
    struct nm_ended_apps *a = open_apps();
    char name[16];
    unsigned n = 0;

    (void)state;
    end_one(a, "other", 8, NM_EXIT_EXITED, 0, 1);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "job-%u", i);
        end_one(a, name, 7, NM_EXIT_EXITED, 0, 1000 + i);
    }
    for (unsigned i = 0; i < NM_ENDED_APPS; i++) {
        const struct nm_ended_app *e = nm_ended_apps_get(a, i, 0);

        n += e && e->submitter_uid == 7;
    }
    assert_int_equal(n, NM_ENDED_APPS_PER_USER);
    assert_non_null(app_of(a, "other", 8));
    assert_non_null(app_of(a, "job-999", 7));
    assert_null(app_of(a, "job-0", 7));
    for (unsigned i = 0; i < 1000; i++) { /* only the size of the table limits the number of root's applications */
        (void)snprintf(name, sizeof name, "job-%u", i);
        end_one(a, name, 0, NM_EXIT_EXITED, 0, 5000 + i);
    }
    assert_non_null(app_of(a, "job-999", 0));
    assert_null(app_of(a, "other", 8));
    nm_ended_apps_free(a);
    assert_true(size_of("ended-applications") <= NM_ENDED_APPS * NM_ENDED_APP_SLOT_BYTES);
    damage("ended-applications", 20, NM_ENDED_APP_SLOT_BYTES);
    a = open_apps();
    for (unsigned i = 0; i < NM_ENDED_APPS; i++)
        assert_null(nm_ended_apps_get(a, i, 0));
    nm_ended_apps_free(a);
}

static void test_the_text_contains_each_ended_application(void **state)
{
    struct nm_ended_app e = {.submitter_uid = UINT32_MAX,
                             .first_submitted_usec = INT64_MAX,
                             .last_ended_usec = INT64_MAX,
                             .succeeded = INT64_MAX,
                             .failed = INT64_MAX,
                             .killed = INT64_MAX,
                             .cpu_time_usec = INT64_MAX,
                             .memory_peak_bytes = INT64_MAX}, f;
    static const char *const bad[] = {"", "nm-app-1", "nm-app-1 x", "nm-app-1 x 1 2 3 4 5 6 7",
                                      "nm-app-1 x 1 2 3 4 5 6 7 8 9", "nm-app-2 x 1 2 3 4 5 6 7 8",
                                      "nm-app-1 /x 1 2 3 4 5 6 7 8", "nm-app-1 x 4294967296 2 3 4 5 6 7 8",
                                      "nm-app-1 x 1 2 3 4 5 6 7 9223372036854775808"};
    char text[NM_ENDED_APP_SLOT_BYTES];

    (void)state;
    memset(e.name, 'n', sizeof e.name - 1);
    nm_ended_app_print(&e, text, sizeof text);
    assert_int_equal(nm_ended_app_parse(text, &f), 0);
    assert_string_equal(f.name, e.name);
    assert_true(f.submitter_uid == UINT32_MAX && f.memory_peak_bytes == INT64_MAX && f.killed == INT64_MAX);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        (void)snprintf(text, sizeof text, "%s", bad[i]);
        assert_int_equal(nm_ended_app_parse(text, &f), -EBADMSG);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_text_of_the_history_contains_each_point),
        TEST(test_a_time_span_has_one_point_per_step),
        TEST(test_all_points_of_the_history_survive_a_restart),
        TEST(test_points_survive_when_the_clock_is_set_back),
        TEST(test_a_damaged_slot_of_the_file_loses_only_one_point),
        TEST(test_ended_applications_are_counted),
        TEST(test_ended_applications_of_one_user_do_not_displace_those_of_others),
        cmocka_unit_test(test_the_text_contains_each_ended_application),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
