/* SPDX-License-Identifier: Apache-2.0 */

/* The stage that lends, and the attempts of an application: what a later attempt sees of containers that were lent to
 * earlier ones. */

#include "lend-stage-fixture.h"

#include <errno.h>
#include <signal.h>

#include "yarn-tokens.h"

/* Lends a container with this number to the present attempt. */
static void lend_one(struct lend_fixture *l, int64_t number)
{
    lend_want(l, 20, 1);
    (void)lend_call(l);
    lend_grant(l, number, true);
    (void)lend_call(l);
}

/* The ResourceManager reports the end of a container of that attempt. Returns what the master sees. */
static const char *end_of(struct lend_fixture *l, int32_t attempt, int64_t number, int32_t status)
{
    l->ended[l->n_ended++] = (struct lend_end){.number = number, .status = status, .diagnostics = "x",
                                               .attempt = attempt};
    (void)lend_call(l);
    return lend_seen(l);
}

/* ---- ends between two attempts -------------------------------------------------------------------- */

static void test_a_container_that_ended_between_two_attempts_was_lent(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (unsigned restarts = 0; restarts < 2; restarts++) {
        lend_set_up(&l, false, "all");
        lend_launch(&l, 1);
        lend_one(&l, 2);
        lend_one(&l, 3);
        lend_launch(&l, 2); /* no container of the first attempt lives any more */
        if (restarts)
            lend_restart(&l);
        assert_string_equal(end_of(&l, 1, 2, -108), "; ended 2 -102 G Lent by nmd: x");
        assert_non_null(strstr(proxy_log_message, "_01_000002 of appattempt_1410901177871_0001_000002 was preempted"));
        assert_string_equal(end_of(&l, 1, 3, 143), "; ended 3 143 G x");
        assert_string_equal(end_of(&l, 1, 4, -108), "; ended 4 -108 O x"); /* the application's own */
        assert_string_equal(end_of(&l, 2, 5, -108), "; ended 5 -108 O x");
        lend_tear_down(&l);
    }
}

/* The former attempt may have ended before it could acknowledge the answer with the end. */
static void test_an_end_may_be_reported_to_two_attempts(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_one(&l, 2);
    assert_string_equal(end_of(&l, 1, 2, -108), "; ended 2 -102 G Lent by nmd: x");
    assert_int_equal(lend_figures(&l).lent, 0);
    lend_launch(&l, 2);
    lend_restart(&l);
    assert_string_equal(end_of(&l, 1, 2, -108), "; ended 2 -102 G Lent by nmd: x");
    lend_tear_down(&l);
}

/* The node preempted the container before it knew of the promotion. The ResourceManager has told it of the promotion
 * itself, so the stage has no token for the node. */
static void test_a_promoted_container_may_end_between_two_attempts(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_one(&l, 2);
    l.updated[l.n_updated++] = (struct lend_container){.number = 2, .version = 1};
    (void)lend_call(&l);
    lend_tell_update(&l, 0);
    lend_launch(&l, 2);
    assert_string_equal(end_of(&l, 1, 2, -108), "; ended 2 -102 G Lent by nmd: x");
    lend_tear_down(&l);
}

/* The third attempt sees the ends of containers of the first one and of the second one. The second one has registered
 * or not, and taken over the container of the first one or not. */
static void test_a_later_attempt_knows_the_containers_of_all_earlier_ones(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        lend_set_up(&l, false, "all");
        lend_launch(&l, 1);
        lend_one(&l, 2);
        l.attempt = 2;
        if (way == 0)
            proxy_launch(&l.w, 2);
        if (way > 1)
            l.previous[l.n_previous++] = (struct lend_container){.number = 2, .attempt = 1, .opportunistic = true};
        if (way > 0) {
            lend_launch(&l, 2);
            lend_one(&l, 3);
        }
        if (way == 3)
            lend_restart(&l);
        lend_launch(&l, 3);
        if (way == 3)
            lend_restart(&l);
        assert_string_equal(end_of(&l, 1, 2, -108), "; ended 2 -102 G Lent by nmd: x");
        if (way > 0)
            assert_string_equal(end_of(&l, 2, 3, -108), "; ended 3 -102 G Lent by nmd: x");
        assert_string_equal(end_of(&l, 1, 9, -108), "; ended 9 -108 O x");
        assert_string_equal(end_of(&l, 2, 9, -108), "; ended 9 -108 O x");
        lend_tear_down(&l);
    }
}

/* The proxy has lent nothing to the first attempt. Its master itself has asked for the opportunistic container. */
static void test_own_containers_of_an_earlier_attempt_stay_as_they_are(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_ask(&l, (struct lend_ask){.priority = 20, .count = 2, .opportunistic = true});
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    lend_grant(&l, 3, true);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "2 O, 3 O");
    l.previous[l.n_previous++] = (struct lend_container){.number = 2, .attempt = 1, .opportunistic = true};
    lend_launch(&l, 2);
    assert_string_equal(lend_seen_previous(&l), "2 O");
    lend_restart(&l);
    assert_string_equal(end_of(&l, 1, 2, -108), "; ended 2 -108 O x");
    assert_string_equal(end_of(&l, 1, 3, -108), "; ended 3 -108 O x");
    lend_tear_down(&l);
}

/* If the application keeps its containers, the ResourceManager lists those of the present attempt, too, when the master
 * registers again. The books know which of them were lent. The attempt before this one may have run on another node. */
static void test_own_containers_of_the_present_attempt_stay_as_they_are(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (int32_t attempt = 1; attempt < 3; attempt++) {
        lend_set_up(&l, false, "all");
        l.attempt = attempt;
        proxy_launch(&l.w, attempt);
        lend_run_until(&l, &l.type_questions, 1);
        lend_tell_type(&l, "MAPREDUCE");
        lend_register(&l);
        lend_one(&l, 2);
        lend_ask(&l, (struct lend_ask){.priority = 30, .count = 1, .opportunistic = true});
        (void)lend_call(&l);
        l.granted[l.n_granted++] = (struct lend_container){.number = 3, .priority = 30, .opportunistic = true};
        (void)lend_call(&l);
        assert_string_equal(lend_seen(&l), "3 O");
        l.previous[l.n_previous++] = (struct lend_container){.number = 2, .opportunistic = true};
        l.previous[l.n_previous++] = (struct lend_container){.number = 3, .opportunistic = true};
        lend_register(&l);
        assert_string_equal(lend_seen_previous(&l), "2 G, 3 O");
        assert_int_equal(lend_figures(&l).lent, 1);
        assert_int_equal(lend_figures(&l).adopted, 0);
        assert_string_equal(end_of(&l, attempt, 3, -108), "; ended 3 -108 O x");
        lend_tear_down(&l);
    }
}

/* The first attempt ran on another node, the second and the third one on this node. The container of the first one
 * counts as lent, unless nothing is lent. */
static void test_ends_of_an_attempt_elsewhere_are_those_of_lent_containers(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        lend_set_up(&l, false, way == 0 ? "off" : "all");
        l.attempt = 2;
        proxy_launch(&l.w, 2);
        lend_run_until(&l, &l.type_questions, 1);
        lend_tell_type(&l, "MAPREDUCE");
        lend_register(&l);
        if (way == 2) {
            lend_launch(&l, 3);
            lend_restart(&l);
        }
        assert_string_equal(end_of(&l, 1, 2, -108),
                            way == 0 ? "; ended 2 -108 O x" : "; ended 2 -102 G Lent by nmd: x");
        if (way == 2)
            assert_string_equal(end_of(&l, 2, 2, -108), "; ended 2 -108 O x");
        lend_tear_down(&l);
    }
}

/* ---- histories ------------------------------------------------------------------------------------ */

static struct nm_lend_history history_of(const struct lend_fixture *l, int64_t number)
{
    const struct nm_yarn_container_id id = {{{TOKENS_RM, 1}, 1}, number};
    struct nm_lend_history h;

    assert_true(nm_lend_find_history(l->lender->books, &id, &h));
    return h;
}

/* The next attempts take a container over, and its history. The books of one attempt are restored. */
static void test_an_adopted_container_keeps_its_history(void **state)
{
    const struct lend_container previous = {.number = 2, .attempt = 1, .opportunistic = true};
    struct nm_lend_history before, h;
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_put_clock_forward(20 * NM_USEC_PER_SEC);
    lend_grant(&l, 2, true);
    (void)lend_call(&l);
    before = history_of(&l, 2);
    assert_int_equal(before.adoptions, 0);
    for (int32_t attempt = 2; attempt < 4; attempt++) {
        lend_put_clock_forward(100 * NM_USEC_PER_SEC);
        l.previous[l.n_previous++] = previous;
        lend_launch(&l, attempt);
        lend_restart(&l);
        if (attempt == 2) /* while the ResourceManager is restarted, the master registers again */
            l.previous[l.n_previous++] = previous;
        (void)lend_call(&l);
        h = history_of(&l, 2);
        assert_int_equal(h.asked_usec, before.asked_usec);
        assert_int_equal(h.lent_usec, before.lent_usec);
        assert_int_equal(h.mode, NM_LEND_ALL);
        assert_int_equal(h.adoptions, attempt - 1);
        assert_in_range(h.adopted_usec - h.lent_usec, 100 * (uint64_t)(attempt - 1) * NM_USEC_PER_SEC,
                        100 * (uint64_t)attempt * NM_USEC_PER_SEC);
    }
    assert_int_equal(lend_figures(&l).oldest_since_usec, before.lent_usec);
    lend_tear_down(&l);
}

/* The application may be moved to another queue. The answer to a registration says in which one it is. */
static void test_a_registration_says_the_queue(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    l.queue = "root.b";
    lend_register(&l); /* after a restart of the ResourceManager */
    assert_string_equal(l.lender->queue, "root.b");
    lend_restart(&l);
    assert_string_equal(l.lender->queue, "root.b");
    l.queue = NULL;
    lend_register(&l);
    assert_string_equal(l.lender->queue, "root.b");
    l.queue = "root.c";
    lend_launch(&l, 2);
    assert_string_equal(l.lender->queue, "root.c");
    lend_tear_down(&l);
}

/* The default label of the new queue is asked for. */
static void test_the_label_of_a_new_queue_counts(void **state)
{
    struct lend_fixture l;
    unsigned before;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    before = l.type_questions;
    l.queue = "root.b";
    lend_register(&l);
    assert_int_equal(l.type_questions, before + 1);
    l.labelled = true;
    lend_tell_type(&l, "SPARK");
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 2");
    assert_int_equal(l.type_questions, before + 1);
    lend_tear_down(&l);
}

/* The ResourceManager adds the label of the application to asks without one. */
static void test_an_application_with_a_label_is_left_alone(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.labelled = true;
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 2");
    lend_restart(&l);
    lend_want(&l, 20, 3);
    assert_string_equal(lend_call(&l), "20 G * 3");
    lend_launch(&l, 2);
    lend_want(&l, 20, 1);
    assert_string_equal(lend_call(&l), "20 G * 1");
    lend_tear_down(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_container_that_ended_between_two_attempts_was_lent),
        cmocka_unit_test(test_an_end_may_be_reported_to_two_attempts),
        cmocka_unit_test(test_a_promoted_container_may_end_between_two_attempts),
        cmocka_unit_test(test_a_later_attempt_knows_the_containers_of_all_earlier_ones),
        cmocka_unit_test(test_own_containers_of_an_earlier_attempt_stay_as_they_are),
        cmocka_unit_test(test_own_containers_of_the_present_attempt_stay_as_they_are),
        cmocka_unit_test(test_ends_of_an_attempt_elsewhere_are_those_of_lent_containers),
        cmocka_unit_test(test_an_adopted_container_keeps_its_history),
        cmocka_unit_test(test_a_registration_says_the_queue),
        cmocka_unit_test(test_the_label_of_a_new_queue_counts),
        cmocka_unit_test(test_an_application_with_a_label_is_left_alone),
    };
    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
