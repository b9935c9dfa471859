/* SPDX-License-Identifier: Apache-2.0 */

/* Which lent container becomes guaranteed, and when; which nodes are asked (yarn/lend/lend.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lend-fixture.h"

static const struct nm_lend_size plenty = {1 << 20, 1000};

/* One answer of a node. */
static void answer_room(struct fixture *w, const char *host, int64_t memory_mib, uint64_t at_usec)
{
    assert_int_equal(nm_lend_set_room(w->l, &(struct nm_lend_node_room){host, 4501, {memory_mib, 10}, at_usec}), 0);
}

/* Two answers, of which the second confirms the first. */
static void set_room(struct fixture *w, const char *host, int64_t memory_mib)
{
    answer_room(w, host, memory_mib, w->now_usec - SECONDS(5));
    answer_room(w, host, memory_mib, w->now_usec);
}

/* Returns the number of the container to promote, or 0. */
static int64_t promote_with(struct fixture *w, struct nm_lend_size headroom)
{
    struct nm_lend_promotion p;

    return nm_lend_next_promotion(w->l, &headroom, w->now_usec, &p) ? p.id.number : 0;
}

static int64_t promote(struct fixture *w)
{
    return promote_with(w, plenty);
}

static bool ended(struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);

    return nm_lend_ended(w->l, &id, true, w->now_usec);
}

/* ---- promotions --------------------------------------------------------------------------------- */

static void the_oldest_container_is_promoted_with_its_version(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_promotion p;

    set_room(w, "one", 4096);
    assert_int_equal(nm_lend_next_promotion(w->l, &plenty, w->now_usec, &p), 1);
    assert_int_equal(p.id.number, 1);
    assert_int_equal(p.version, 0);
    assert_int_equal(p.size.memory_mib, 1024);
}

static void without_known_room_nothing_is_promoted(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(promote(w), 0);
    set_room(w, "one", 1023);
    assert_int_equal(promote(w), 0);
    set_room(w, "one", 1024);
    w->now_usec += SECONDS(15) + 1; /* too old */
    assert_int_equal(promote(w), 0);
    set_room(w, "two", 1024);
    assert_int_equal(promote(w), 3);
}

static void without_headroom_nothing_is_promoted(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    set_room(w, "two", 4096);
    assert_int_equal(promote_with(w, (struct nm_lend_size){1023, 10}), 0);
    assert_int_equal(promote_with(w, (struct nm_lend_size){4096, 0}), 0);
    assert_int_equal(promote_with(w, (struct nm_lend_size){2047, 10}), 1);
    assert_int_equal(promote_with(w, (struct nm_lend_size){2047, 10}), 0); /* the first one needs 1024 of it */
    assert_int_equal(promote_with(w, (struct nm_lend_size){2048, 10}), 3);
}

static void one_promotion_is_outstanding_on_a_node(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_int_equal(promote(w), 0);
    assert_true(promoted(w, 1));
    assert_int_equal(promote(w), 2);
}

/* The ResourceManager gives room to an application that waits for it with the next heartbeat of the node. The node
 * knows of that container when it is launched. */
static void room_must_be_in_two_answers_of_its_node(void **state)
{
    struct fixture *w = *state;

    answer_room(w, "one", 4096, w->now_usec);
    assert_int_equal(promote(w), 0);
    w->now_usec += SECONDS(4) - 1; /* too early */
    answer_room(w, "one", 4096, w->now_usec);
    assert_int_equal(promote(w), 0);
    w->now_usec += 1;
    answer_room(w, "one", 1023, w->now_usec);
    assert_int_equal(promote(w), 0);
    w->now_usec += SECONDS(5);
    answer_room(w, "one", 1024, w->now_usec); /* the answer before had less */
    assert_int_equal(promote(w), 0);
    w->now_usec += SECONDS(5);
    answer_room(w, "one", 1024, w->now_usec);
    assert_int_equal(promote(w), 1);
}

static void an_answer_that_follows_too_early_lowers_the_room(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    w->now_usec += SECONDS(1);
    answer_room(w, "one", 1023, w->now_usec);
    assert_int_equal(promote(w), 0);
    w->now_usec += SECONDS(4);
    answer_room(w, "one", 4096, w->now_usec);
    assert_int_equal(promote(w), 0);
}

static void answers_far_apart_do_not_confirm_each_other(void **state)
{
    struct fixture *w = *state;

    answer_room(w, "one", 1024, w->now_usec);
    w->now_usec += SECONDS(90) + 1;
    answer_room(w, "one", 1024, w->now_usec);
    assert_int_equal(promote(w), 0);
    w->now_usec += SECONDS(90);
    answer_room(w, "one", 1024, w->now_usec);
    assert_int_equal(promote(w), 1);
}

/* The answer that comes before the node has the new token still contains the room. */
static void a_promotion_takes_its_room(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 2047);
    assert_int_equal(promote(w), 1);
    assert_true(promoted(w, 1));
    assert_int_equal(promote(w), 0);
    w->now_usec += SECONDS(5);
    answer_room(w, "one", 2047, w->now_usec);
    assert_int_equal(promote(w), 0);
    w->now_usec += SECONDS(5);
    answer_room(w, "one", 1023, w->now_usec);
    assert_int_equal(promote(w), 0);
}

static void a_container_that_does_not_run_is_not_promoted(void **state)
{
    struct fixture *w = *state;

    set_running(w, 1, false);
    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 2);
}

static void a_promoted_container_is_not_lent_any_more(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_container_id id = id_of(1);
    struct nm_lend_history h;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    for (int i = 0; i < 2; i++) { /* the second time in a repeated answer */
        assert_true(promoted(w, 1));
        assert_int_equal(figures(w).promoted, 1);
        assert_int_equal(figures(w).lent, 2);
        assert_int_equal(figures(w).lent_memory_mib, 2048);
    }
    assert_false(nm_lend_is_lent(w->l, &id));
    assert_true(nm_lend_find_history(w->l, &id, &h));
    assert_int_equal(h.promoted_usec, w->now_usec);
    assert_int_equal(h.ended_usec, 0);
    assert_false(promoted(w, 77));
}

/* Its node may not have been told of the promotion yet, and may still preempt it. */
static void the_end_of_a_promoted_container_is_noted(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_container_id id = id_of(1);
    struct nm_lend_history h;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_true(promoted(w, 1));
    w->now_usec += SECONDS(1);
    assert_true(ended(w, 1));
    assert_true(nm_lend_find_history(w->l, &id, &h));
    assert_true(h.preempted);
    assert_int_equal(h.ended_usec, w->now_usec);
    assert_int_equal(figures(w).preempted, 0);
    assert_int_equal(view_of(w, 20).backs_off_until_usec, w->now_usec + MINUTES(1));
}

static void a_refused_promotion_is_asked_for_again_after_a_minute(void **state)
{
    struct fixture *w = *state;

    assert_false(refused(w, 1, false)); /* the books have not asked */
    set_room(w, "one", 1024);
    assert_int_equal(promote(w), 1);
    assert_true(refused(w, 1, false));
    assert_int_equal(promote(w), 2);
    assert_true(promoted(w, 2));
    w->now_usec += SECONDS(59);
    set_room(w, "one", 1024);
    assert_int_equal(promote(w), 0);
    w->now_usec += SECONDS(1);
    assert_int_equal(promote(w), 1);
}

/* A later call repeats the promotion, because the ResourceManager may not have read the first one. */
static void an_outstanding_promotion_stays_outstanding(void **state)
{
    const struct nm_yarn_container_id one = id_of(1);
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_true(nm_lend_repeat_promotion(w->l, &one));
    assert_true(refused(w, 1, true));
    w->now_usec += SECONDS(61);
    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 0);
    assert_true(promoted(w, 1));
}

/* No call before this one had the promotion, so an update that the master has asked for is outstanding. Other
 * containers of the node are promoted meanwhile, and the container itself when that update is done. */
static void an_outstanding_update_of_the_master_is_not_taken_for_a_promotion(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 1024);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(promote(w), 1);
        assert_true(refused(w, 1, true));
        if (i == 0) {
            assert_int_equal(promote(w), 2);
            assert_true(promoted(w, 2));
        }
        w->now_usec += SECONDS(61);
        set_room(w, "one", 1024);
    }
}

/* The ResourceManager accepts one update of a container at a time, and the master's update may cancel the promotion. */
static void an_update_of_the_master_ends_the_promotion_of_its_container(void **state)
{
    const struct nm_yarn_container_id one = id_of(1);
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    nm_lend_own_update(w->l, &one, w->now_usec);
    assert_false(nm_lend_repeat_promotion(w->l, &one));
    assert_int_equal(promote(w), 2);
    assert_true(promoted(w, 2));
    w->now_usec += SECONDS(61);
    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_true(refused(w, 1, true)); /* the ResourceManager takes the cancelled one for outstanding */
    w->now_usec += SECONDS(61);
    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
}

static void the_end_of_a_container_ends_its_promotion(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_true(ended(w, 1));
    assert_true(promoted(w, 1)); /* the answer may still come */
    assert_int_equal(figures(w).promoted, 0);
    assert_int_equal(promote(w), 2);
}

static void after_a_registration_promotions_are_asked_for_again(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    nm_lend_registered(w->l);
    assert_int_equal(promote(w), 1);
}

static void an_outstanding_promotion_survives_a_restart(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    restart(w);
    set_room(w, "one", 4096);
    set_room(w, "two", 4096);
    assert_int_equal(promote_with(w, (struct nm_lend_size){2047, 10}), 0);
    assert_int_equal(promote(w), 3);
    assert_true(refused(w, 1, true));
}

/* ---- nodes -------------------------------------------------------------------------------------- */

static size_t nodes_to_ask(struct fixture *w, struct nm_lend_node *ret, size_t n)
{
    return nm_lend_nodes_to_ask(w->l, w->now_usec, ret, n);
}

/* Room that isn't confirmed yet is asked for again soon. */
static void a_node_with_more_room_than_before_is_asked_after_5_s(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_node nodes[3];

    assert_int_equal(nodes_to_ask(w, nodes, 3), 2);
    answer_room(w, "one", 1024, w->now_usec);
    w->now_usec += SECONDS(5);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 1);
    assert_string_equal(nodes[0].host, "one");
    answer_room(w, "one", 1024, w->now_usec); /* confirmed */
    w->now_usec += SECONDS(5);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 1);
    assert_string_equal(nodes[0].host, "two");
    w->now_usec += SECONDS(5);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 1);
    assert_string_equal(nodes[0].host, "one");
}

static void nodes_are_asked_the_longest_unasked_first(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_node nodes[3];

    assert_int_equal(nodes_to_ask(w, nodes, 1), 1);
    assert_string_equal(nodes[0].host, "one");
    assert_int_equal(nodes[0].port, 4501);
    w->now_usec += SECONDS(1);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 1);
    assert_string_equal(nodes[0].host, "two");
    assert_int_equal(nodes_to_ask(w, nodes, 3), 0);
}

static void a_node_is_asked_every_5_s_until_its_containers_run_and_then_every_10_s(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_node nodes[3];

    set_running(w, 2, false);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 2);
    w->now_usec += SECONDS(5);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 1);
    assert_string_equal(nodes[0].host, "one");
    w->now_usec += SECONDS(5);
    set_running(w, 2, true);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 1);
    assert_string_equal(nodes[0].host, "two");
    w->now_usec += SECONDS(5);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 1);
    assert_string_equal(nodes[0].host, "one");
}

/* The room that was noted before the clock was set back isn't believed until that time comes again, and the nodes are
 * asked at once. */
static void after_the_clock_is_set_back_nodes_are_asked_again(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_node nodes[4];

    w->now_usec += MINUTES(60);
    assert_int_equal(nodes_to_ask(w, nodes, 4), 2);
    set_room(w, "one", 4096);
    w->now_usec -= MINUTES(59);
    assert_int_equal(promote(w), 0);
    assert_int_equal(nodes_to_ask(w, nodes, 4), 2);
    assert_int_equal(nodes_to_ask(w, nodes, 4), 0);
    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
}

static void a_node_without_lent_containers_is_not_asked(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_node nodes[3];

    set_room(w, "three", 4096);
    assert_true(ended(w, 3));
    assert_int_equal(nodes_to_ask(w, nodes, 3), 1);
    assert_string_equal(nodes[0].host, "one");
}

static void the_containers_of_a_node_are_listed(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_container_id ids[4];

    assert_int_equal(nm_lend_containers_on(w->l, "one", 4501, ids, 4), 2);
    assert_int_equal(ids[0].number, 1);
    assert_int_equal(ids[1].number, 2);
    assert_int_equal(nm_lend_containers_on(w->l, "one", 4501, ids, 1), 1);
    assert_int_equal(nm_lend_containers_on(w->l, "one", 1, ids, 4), 0);
    assert_int_equal(nm_lend_containers_on(w->l, "three", 4501, ids, 4), 0);
}

/* A question names a limited number of containers. */
static void containers_that_are_not_known_to_run_are_listed_first(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_container_id ids[3];

    note_count(w, 1);
    call(w);
    answer(w);
    assert_int_equal(grant(w, opportunistic(4)), NM_LEND_SHOW);
    assert_int_equal(nm_lend_containers_on(w->l, "one", 4501, ids, 3), 3);
    assert_int_equal(ids[0].number, 4);
    assert_int_equal(ids[1].number, 1);
    set_running(w, 4, true);
    set_running(w, 2, false);
    assert_int_equal(nm_lend_containers_on(w->l, "one", 4501, ids, 1), 1);
    assert_int_equal(ids[0].number, 2);
    set_running(w, 2, true);
    nm_lend_registered(w->l); /* then no state is certain */
    set_running(w, 1, true);
    assert_int_equal(nm_lend_containers_on(w->l, "one", 4501, ids, 3), 3);
    assert_int_equal(ids[0].number, 2);
    assert_int_equal(ids[1].number, 4);
    assert_int_equal(ids[2].number, 1);
}

static void the_room_of_the_newest_256_nodes_is_kept(void **state)
{
    struct fixture *w = *state;
    char host[24];

    set_room(w, "one", 4096);
    for (int i = 0; i < 256; i++) {
        w->now_usec += 1;
        snprintf(host, sizeof host, "other%d", i);
        set_room(w, host, 4096);
    }
    assert_int_equal(promote(w), 0);
    w->now_usec += 1;
    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
}

static void a_container_on_a_node_without_a_usable_name_is_not_promoted(void **state)
{
    struct fixture *w = *state;
    char host[300] = "";
    struct nm_lend_grant g = opportunistic(4), far = opportunistic(5);
    struct nm_lend_node nodes[3];

    memset(host, 'h', sizeof host - 1);
    g.host = NULL;
    far.host = host;
    ask(w, 2);
    assert_int_equal(grant(w, g), NM_LEND_SHOW);
    assert_int_equal(grant(w, far), NM_LEND_SHOW);
    set_running(w, 4, true);
    set_running(w, 5, true);
    set_room(w, host, 4096);
    assert_int_equal(promote(w), 0);
    assert_int_equal(nodes_to_ask(w, nodes, 3), 2);
    restart(w);
    assert_int_equal(figures(w).lent, 5);
}

/* ---- containers that their nodes don't know ----------------------------------------------------- */

static bool set_unknown(struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);

    return nm_lend_set_unknown(w->l, &id, w->now_usec);
}

/* Returns whether the container counts as ended after answers at these intervals. */
static bool stays_unknown(struct fixture *w, int64_t number, unsigned n, uint64_t usec)
{
    bool ended_so = set_unknown(w, number);

    for (; n > 0 && !ended_so; n--) {
        w->now_usec += usec;
        ended_so = set_unknown(w, number);
    }
    return ended_so;
}

/* The master may launch it later, and the ResourceManager knows it. */
static void without_a_registration_an_unknown_container_stays_lent(void **state)
{
    struct fixture *w = *state;

    assert_false(stays_unknown(w, 1, 100, SECONDS(60)));
    assert_false(set_unknown(w, 9));
}

static void after_a_registration_an_unknown_container_ends_after_2_minutes(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_history h;
    const struct nm_yarn_container_id id = id_of(1);

    (void)stays_unknown(w, 1, 1, SECONDS(60)); /* that was before */
    nm_lend_registered(w->l);
    assert_false(stays_unknown(w, 1, 10, SECONDS(90) + 1)); /* too far apart */
    assert_false(stays_unknown(w, 1, 2, SECONDS(60) - 1));
    restart(w);
    assert_false(stays_unknown(w, 1, 1, SECONDS(90)));
    w->now_usec += SECONDS(30);
    assert_true(set_unknown(w, 1));
    assert_false(set_unknown(w, 1));
    assert_int_equal(figures(w).lent, 2);
    assert_int_equal(figures(w).ended, 1);
    assert_true(nm_lend_find_history(w->l, &id, &h));
    assert_int_equal(h.ended_usec, w->now_usec);
    assert_true(ended(w, 1)); /* it did exist: its end is still that of a lent container */
    assert_int_equal(figures(w).preempted, 0);
}

/* The node registers its containers with the ResourceManager, which then reports their ends. */
static void a_container_that_was_reported_since_the_registration_stays_lent(void **state)
{
    struct fixture *w = *state;
    const struct nm_lend_grant g = opportunistic(2);

    nm_lend_registered(w->l);
    assert_false(stays_unknown(w, 1, 2, SECONDS(50)));
    set_running(w, 1, false);
    assert_int_equal(nm_lend_adopt(w->l, &g, w->now_usec), 0);
    restart(w);
    assert_false(stays_unknown(w, 1, 10, SECONDS(60)));
    assert_false(stays_unknown(w, 2, 10, SECONDS(60)));
    assert_true(stays_unknown(w, 3, 10, SECONDS(60)));
}

/* The promotion, and the limits, are for the size that the container has now. */
static void a_container_that_the_master_has_resized_has_its_new_size(void **state)
{
    const struct nm_lend_size larger = {3072, 2}, invalid = {-1, 1};
    const struct nm_yarn_container_id one = id_of(1);
    struct fixture *w = *state;

    assert_true(nm_lend_updated(w->l, &one, 1, &larger));
    assert_true(nm_lend_updated(w->l, &one, 2, &invalid));
    assert_int_equal(figures(w).lent_memory_mib, 5120);
    assert_int_equal(nm_lend_memory_on(w->l, "one", 4501), 4096);
    restart(w);
    assert_int_equal(figures(w).lent_memory_mib, 5120);
    assert_true(ended(w, 1));
    assert_int_equal(figures(w).lent_memory_mib, 2048);
    assert_true(ended(w, 2));
    assert_int_equal(nm_lend_memory_on(w->l, "one", 4501), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up_running, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_oldest_container_is_promoted_with_its_version),
        TEST(without_known_room_nothing_is_promoted),
        TEST(without_headroom_nothing_is_promoted),
        TEST(one_promotion_is_outstanding_on_a_node),
        TEST(room_must_be_in_two_answers_of_its_node),
        TEST(an_answer_that_follows_too_early_lowers_the_room),
        TEST(answers_far_apart_do_not_confirm_each_other),
        TEST(a_promotion_takes_its_room),
        TEST(a_container_that_does_not_run_is_not_promoted),
        TEST(a_promoted_container_is_not_lent_any_more),
        TEST(the_end_of_a_promoted_container_is_noted),
        TEST(a_refused_promotion_is_asked_for_again_after_a_minute),
        TEST(an_outstanding_promotion_stays_outstanding),
        TEST(an_outstanding_update_of_the_master_is_not_taken_for_a_promotion),
        TEST(an_update_of_the_master_ends_the_promotion_of_its_container),
        TEST(the_end_of_a_container_ends_its_promotion),
        TEST(after_a_registration_promotions_are_asked_for_again),
        TEST(an_outstanding_promotion_survives_a_restart),
        TEST(a_node_with_more_room_than_before_is_asked_after_5_s),
        TEST(nodes_are_asked_the_longest_unasked_first),
        TEST(a_node_is_asked_every_5_s_until_its_containers_run_and_then_every_10_s),
        TEST(after_the_clock_is_set_back_nodes_are_asked_again),
        TEST(a_node_without_lent_containers_is_not_asked),
        TEST(the_containers_of_a_node_are_listed),
        TEST(containers_that_are_not_known_to_run_are_listed_first),
        TEST(the_room_of_the_newest_256_nodes_is_kept),
        TEST(a_container_on_a_node_without_a_usable_name_is_not_promoted),
        TEST(without_a_registration_an_unknown_container_stays_lent),
        TEST(after_a_registration_an_unknown_container_ends_after_2_minutes),
        TEST(a_container_that_was_reported_since_the_registration_stays_lent),
        TEST(a_container_that_the_master_has_resized_has_its_new_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
