/* SPDX-License-Identifier: Apache-2.0 */

/* Work sources of the event loop. tests/unit/test-starts.c has the order of several sources. */

#include "util/loop.h"

#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/macros.h"

struct work {
    sd_event_source *source;
    unsigned turns, again; /* again: number of turns that schedule a further turn */
    bool ends;             /* the handler releases the source */
};

static int on_work(sd_event_source *source, void *userdata)
{
    struct work *w = userdata;

    w->turns++;
    if (w->ends)
        w->source = sd_event_source_disable_unref(w->source);
    if (w->again == 0)
        return 0;
    w->again--;
    return nm_loop_schedule_work(source);
}

/* Runs all turns that are due. */
static void run(sd_event *event)
{
    while (sd_event_run(event, 0) > 0)
        ;
}

static unsigned count_descriptors(const char *kind)
{
    _cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char target[PATH_MAX];
        ssize_t k = readlinkat(dirfd(dir), e->d_name, target, sizeof target - 1);

        target[k > 0 ? k : 0] = '\0';
        n += strstr(target, kind) != NULL;
    }
    return n;
}

static void test_schedules_before_and_during_a_turn_lead_to_one_turn_each(void **state)
{
    _cleanup_(sd_event_unrefp) sd_event *event = NULL;
    struct work w = {0};

    (void)state;
    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(nm_loop_add_work(event, "work", on_work, &w, &w.source), 0);
    run(event);
    assert_int_equal(w.turns, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(nm_loop_schedule_work(w.source), 0);
    run(event);
    assert_int_equal(w.turns, 1);
    w.again = 2;
    assert_int_equal(nm_loop_schedule_work(w.source), 0);
    run(event);
    assert_int_equal(w.turns, 4);
    sd_event_source_disable_unref(w.source);
}

static void test_a_handler_may_release_its_source(void **state)
{
    _cleanup_(sd_event_unrefp) sd_event *event = NULL;
    const unsigned before = count_descriptors("[eventfd]");
    struct work w = {.ends = true};

    (void)state;
    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(nm_loop_add_work(event, "work", on_work, &w, &w.source), 0);
    assert_int_equal(nm_loop_schedule_work(w.source), 0);
    assert_int_equal(count_descriptors("[eventfd]"), before + 1);
    run(event);
    assert_int_equal(w.turns, 1);
    assert_null(w.source);
    assert_int_equal(count_descriptors("[eventfd]"), before);
}

/* A timer that is due at once costs a timer interrupt. */
static void test_a_turn_needs_no_timer(void **state)
{
    _cleanup_(sd_event_unrefp) sd_event *event = NULL;
    struct work w = {0};

    (void)state;
    assert_int_equal(sd_event_new(&event), 0);
    assert_int_equal(nm_loop_add_work(event, "work", on_work, &w, &w.source), 0);
    assert_int_equal(nm_loop_schedule_work(w.source), 0);
    run(event);
    assert_int_equal(w.turns, 1);
    assert_int_equal(count_descriptors("[timerfd]"), 0);
    sd_event_source_disable_unref(w.source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules_before_and_during_a_turn_lead_to_one_turn_each),
        cmocka_unit_test(test_a_handler_may_release_its_source),
        cmocka_unit_test(test_a_turn_needs_no_timer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
