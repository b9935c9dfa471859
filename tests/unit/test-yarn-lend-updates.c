/* SPDX-License-Identifier: Apache-2.0 */

/* What becomes of a promotion if the ResourceManager is restarted before the node has it, and if the master itself
 * demotes the container (yarn/lend/lend.h). */

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
static int64_t promote(struct fixture *w)
{
    struct nm_lend_promotion p;

    return nm_lend_next_promotion(w->l, &plenty, w->now_usec, &p) ? p.id.number : 0;
}

static bool ended(struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);

    return nm_lend_ended(w->l, &id, true, w->now_usec);
}

/* ---- promotions that the node may not have -------------------------------------------------------- */

static void register_again(struct fixture *w)
{
    const struct nm_lend_figures f = figures(w);

    nm_lend_registered(w->l);
    assert_int_equal(f.granted + f.adopted + f.lent_again, f.lent + f.promoted + f.preempted + f.ended);
}

/* A restarted ResourceManager takes over from the node what the container is. If the node had got the promotion by
 * then, it refuses the token of the former one. */
static void a_promotion_without_its_node_is_asked_for_again_after_a_registration(void **state)
{
    struct fixture *w = *state;
    struct nm_lend_promotion p;

    for (uint64_t i = 1; i <= 3; i++) {
        set_room(w, "one", 4096);
        assert_int_equal(nm_lend_next_promotion(w->l, &plenty, w->now_usec, &p), 1);
        assert_int_equal(p.id.number, 1); /* it is still the oldest */
        assert_int_equal(p.version, 0);
        assert_true(promoted(w, 1));
        assert_int_equal(history_of(w, 1).version, 1);
        restart(w);
        register_again(w);
        assert_true(is_lent(w, 1));
        assert_int_equal(figures(w).promoted, i);
        assert_int_equal(figures(w).lent_again, i);
        assert_int_equal(figures(w).lent, 3);
        assert_int_equal(figures(w).lent_memory_mib, 3072);
        assert_int_equal(nm_lend_memory_on(w->l, "one", 4501), 2048);
        assert_int_equal(history_of(w, 1).promoted_usec, 0);
        set_room(w, "one", 4096);
        assert_int_not_equal(promote(w), 1); /* its node has to say that it runs */
        nm_lend_registered(w->l);
        set_running(w, 1, true);
    }
    assert_true(ended(w, 1));
    assert_int_equal(figures(w).preempted, 1);
    register_again(w);
    assert_false(is_lent(w, 1));
}

static void a_promotion_that_its_node_has_stays(void **state)
{
    const struct nm_yarn_container_id one = id_of(1);
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_true(promoted(w, 1));
    nm_lend_set_applied(w->l, &one);
    restart(w);
    register_again(w);
    assert_false(is_lent(w, 1));
    assert_int_equal(figures(w).lent_again, 0);
}

/* The container has ended before the registration, or is no longer known to have been lent. */
static void an_ended_container_is_not_lent_again(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_true(promoted(w, 1));
    assert_true(ended(w, 1));
    register_again(w);
    assert_false(is_lent(w, 1));
    assert_true(history_of(w, 1).promoted_usec > 0);
}

/* The node had got the promotion, but its answer was lost; or the ResourceManager has informed it, and its own answer
 * comes later. */
static void a_container_that_is_guaranteed_on_its_node_is_promoted(void **state)
{
    const struct nm_yarn_container_id one = id_of(1), two = id_of(2);
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_true(promoted(w, 1));
    register_again(w);
    assert_true(nm_lend_set_guaranteed(w->l, &one, w->now_usec));
    assert_false(nm_lend_set_guaranteed(w->l, &one, w->now_usec));
    assert_int_equal(history_of(w, 1).version, 1);
    assert_int_equal(history_of(w, 1).master_version, 0);
    assert_true(nm_lend_set_guaranteed(w->l, &two, w->now_usec));
    assert_true(promoted(w, 2));
    assert_int_equal(figures(w).promoted, 3);
    assert_int_equal(figures(w).lent_again, 1);
    assert_int_equal(figures(w).lent, 1);
    register_again(w);
    assert_int_equal(figures(w).lent, 1);
}

/* The histories are a ring, from which the container is taken. */
static void the_history_of_a_container_that_is_lent_again_begins_anew(void **state)
{
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    for (int64_t n = 4; n < 1050; n++) {
        if (n == 600)
            assert_true(promoted(w, 1));
        ask(w, 1);
        assert_int_equal(grant(w, opportunistic(n)), NM_LEND_SHOW);
        assert_true(ended(w, n));
        w->now_usec += MINUTES(60);
    }
    register_again(w);
    for (int64_t n = 27; n < 1050; n++)
        assert_int_equal(history_of(w, n).ended_usec > 0, 1);
    assert_int_equal(history_of(w, 1).promoted_usec, 0);
    restart(w);
    for (int64_t n = 1050; n < 1060; n++) {
        ask(w, 1);
        assert_int_equal(grant(w, opportunistic(n)), NM_LEND_SHOW);
        assert_true(ended(w, n));
        w->now_usec += MINUTES(60);
    }
    for (int64_t n = 36; n < 1060; n++)
        assert_true(history_of(w, n).ended_usec > 0);
}

/* ---- demotions by the master ---------------------------------------------------------------------- */

static void demote(struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);

    nm_lend_demoted(w->l, &id, w->now_usec);
    assert_true(nm_lend_was_demoted(w->l, &id));
}

/* It is counted as promoted, and its further updates and its end are the master's. */
static void a_promoted_container_that_its_master_demotes_is_the_masters_own(void **state)
{
    const struct nm_yarn_container_id one = id_of(1);
    const struct nm_lend_size size = {1024, 1};
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    assert_true(promoted(w, 1));
    assert_false(nm_lend_was_demoted(w->l, &one));
    demote(w, 1);
    assert_false(nm_lend_updated(w->l, &one, 2, &size)); /* it is shown as it is */
    assert_true(history_of(w, 1).demoted_usec > history_of(w, 1).promoted_usec);
    assert_false(refused(w, 1, true)); /* the master's own promotion */
    register_again(w);
    assert_false(is_lent(w, 1));
    restart(w);
    for (int i = 0; i < 2; i++) { /* again in a repeated answer */
        assert_true(promoted(w, 1)); /* by the master */
        assert_true(history_of(w, 1).demoted_usec < history_of(w, 1).promoted_usec);
    }
    w->now_usec += SECONDS(1);
    demote(w, 1);
    assert_true(history_of(w, 1).demoted_usec > history_of(w, 1).promoted_usec);
    assert_true(ended(w, 1));
    assert_int_equal(figures(w).promoted, 1);
    assert_int_equal(figures(w).preempted, 0);
    assert_int_equal(view_of(w, 20).backs_off_until_usec, 0);
    demote(w, 1); /* too late */
    assert_true(history_of(w, 1).demoted_usec < history_of(w, 1).ended_usec + 1);
}

static void a_lent_container_that_its_master_demotes_is_not_promoted(void **state)
{
    const struct nm_yarn_container_id one = id_of(1);
    struct fixture *w = *state;

    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 1);
    demote(w, 1);
    assert_false(nm_lend_repeat_promotion(w->l, &one));
    assert_int_equal(promote(w), 2);
    assert_true(promoted(w, 2));
    w->now_usec += MINUTES(10);
    restart(w);
    set_room(w, "one", 4096);
    assert_int_equal(promote(w), 0);
    assert_false(nm_lend_set_guaranteed(w->l, &one, w->now_usec));
    assert_true(is_lent(w, 1)); /* it is counted, until it ends or its master promotes it */
    assert_true(promoted(w, 1));
    assert_int_equal(figures(w).promoted, 2);
    register_again(w);
    assert_false(is_lent(w, 1));
    assert_true(is_lent(w, 2));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, lend_fixture_set_up_running, lend_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_promotion_without_its_node_is_asked_for_again_after_a_registration),
        TEST(a_promotion_that_its_node_has_stays),
        TEST(an_ended_container_is_not_lent_again),
        TEST(a_container_that_is_guaranteed_on_its_node_is_promoted),
        TEST(the_history_of_a_container_that_is_lent_again_begins_anew),
        TEST(a_promoted_container_that_its_master_demotes_is_the_masters_own),
        TEST(a_lent_container_that_its_master_demotes_is_not_promoted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
