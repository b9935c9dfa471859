/* SPDX-License-Identifier: Apache-2.0 */

/* The promotions of the stage that lends: when they are asked for, what the master sees of them, and how the node gets
 * the new token. Also what the stage does about containers that their nodes don't know. */

#include "lend-stage-fixture.h"

#include <errno.h>
#include <signal.h>

#include "util/clock.h"
#include "yarn-tokens.h"

#define MINUTE (60 * NM_USEC_PER_SEC)

/* Lends container 2, which runs. */
static void lend_one(struct lend_fixture *l)
{
    lend_launch(l, 1);
    lend_want(l, 20, 1);
    (void)lend_call(l);
    lend_grant(l, 2, true);
    (void)lend_call(l);
    lend_run_until(l, &l->room_questions, 1);
}

static void test_a_container_is_promoted_when_there_is_room(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_one(&l);
    lend_confirm_room(&l, TOKENS_HOST, 1024);
    assert_string_equal(lend_call(&l), ""); /* the headroom isn't known */
    l.headroom = 256;
    (void)lend_call(&l);
    assert_string_equal(lend_call(&l), ""); /* it is too small */
    l.headroom = 1024;
    (void)lend_call(&l);
    assert_string_equal(lend_call(&l), "; promotes 2/0");
    assert_string_equal(lend_call(&l), ""); /* it is outstanding */
    l.updated[l.n_updated++] = (struct lend_container){.number = 2, .version = 1};
    l.updated[l.n_updated++] = (struct lend_container){.number = 7, .version = 1}; /* the master's own update */
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; updated 7");
    assert_int_equal(l.updates, 1);
    assert_int_equal(l.updated_number, 2);
    assert_string_equal(l.updated_host, TOKENS_HOST);
    assert_string_equal(l.updated_token, "new token");
    assert_int_equal(lend_figures(&l).promoted, 1);
    assert_int_equal(lend_figures(&l).lent, 0);
    lend_tell_update(&l, 0);
    assert_int_equal(l.lender->n_updates, 0);
    lend_end(&l, 2, 0, "ok");
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 2 0 G ok");
    lend_tear_down(&l);
}

static void test_no_promotion_without_known_room(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.headroom = 4096;
    lend_one(&l);
    assert_string_equal(lend_call(&l), "");
    lend_tell_room(&l, TOKENS_HOST, -1, true); /* the node was not reached */
    assert_string_equal(lend_call(&l), "");
    lend_put_clock_forward(6 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, 2);
    lend_tell_room(&l, TOKENS_HOST, 512, true); /* it is not confirmed */
    assert_string_equal(lend_call(&l), "");
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, 3);
    lend_tell_room(&l, TOKENS_HOST, 512, false); /* it still waits in the queue */
    assert_string_equal(lend_call(&l), "");
    lend_put_clock_forward(6 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, 4);
    lend_tell_room(&l, TOKENS_HOST, 512, true);
    assert_string_equal(lend_call(&l), "; promotes 2/0");
    lend_tear_down(&l);
}

/* The scheduler counts memory only. Its headroom has no vcores then. */
static void test_vcores_count_only_if_the_scheduler_counts_them(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (int types = 1; types < 3; types++) {
        lend_set_up(&l, false, "all");
        l.resource_types = types;
        l.headroom_has_no_vcores = true;
        l.headroom = 4096;
        lend_one(&l);
        lend_tell_room(&l, TOKENS_HOST, 512, true);
        lend_restart(&l);
        (void)lend_call(&l);
        lend_put_clock_forward(6 * NM_USEC_PER_SEC);
        lend_run_until(&l, &l.room_questions, 2);
        lend_confirm_room(&l, TOKENS_HOST, 512);
        assert_string_equal(lend_call(&l), types == 1 ? "; promotes 2/0" : "");
        lend_tear_down(&l);
    }
}

/* The token is taken to the node until the node has it, also after a restart of nmd. */
static void test_the_token_of_a_promotion_is_taken_to_the_node(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_one(&l);
    l.refuses_calls = -EBUSY;
    l.updated[l.n_updated++] = (struct lend_container){.number = 2, .version = 1};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "");
    assert_int_equal(l.updates, 1);
    l.refuses_calls = 0;
    lend_put_clock_forward(2 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.updates, 2);
    lend_tell_update(&l, -ECONNREFUSED);
    assert_int_equal(l.lender->n_updates, 1);
    lend_restart(&l);
    lend_run_until(&l, &l.updates, 3);
    assert_string_equal(l.updated_token, "new token");
    for (unsigned i = 4; i < 8; i++) { /* the node refuses the token */
        lend_tell_update(&l, -EREMOTEIO);
        assert_int_equal(l.lender->n_updates, 1);
        lend_put_clock_forward(20 * NM_USEC_PER_SEC);
        lend_run_until(&l, &l.updates, i);
    }
    lend_tell_update(&l, -EREMOTEIO);
    assert_int_equal(l.lender->n_updates, 0);
    lend_tear_down(&l);
}

/* The attempt ends while the node can't be reached, once with the call to the node in progress. The next attempt takes
 * the token to the node, also after a restart of nmd. */
static void test_the_next_attempt_takes_the_token_to_the_node(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (unsigned in_progress = 0; in_progress < 2; in_progress++) {
        lend_set_up(&l, false, "all");
        lend_one(&l);
        l.refuses_calls = in_progress ? 0 : -EHOSTUNREACH;
        l.updated[l.n_updated++] = (struct lend_container){.number = 2, .version = 1};
        (void)lend_call(&l);
        assert_int_equal(l.updates, 1);
        l.refuses_calls = 0;
        lend_launch(&l, 2);
        assert_int_equal(l.lender->n_updates, 1);
        lend_run_until(&l, &l.updates, 2);
        assert_int_equal(l.updated_number, 2);
        assert_string_equal(l.updated_host, TOKENS_HOST);
        assert_string_equal(l.updated_token, "new token");
        lend_restart(&l);
        lend_run_until(&l, &l.updates, 3);
        if (in_progress) {
            lend_tell_update(&l, 0);
        } else { /* the node preempts the container before it has the token */
            l.ended[l.n_ended++] = (struct lend_end){.number = 2, .status = -108, .diagnostics = "x", .attempt = 1};
            (void)lend_call(&l);
            assert_string_equal(lend_seen(&l), "; ended 2 -102 G Lent by nmd: x");
        }
        assert_int_equal(l.lender->n_updates, 0);
        lend_tear_down(&l);
    }
}

/* The ResourceManager's answer says that the container has ended, so its node isn't called any more. With
 * auto-update.containers the answer may lack the token. The node may have preempted the container before it knew of the
 * promotion. */
static void test_a_promoted_container_ends(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_one(&l);
    l.refuses_calls = -EHOSTUNREACH;
    l.updated[l.n_updated++] = (struct lend_container){.number = 2, .version = 1};
    (void)lend_call(&l);
    assert_int_equal(l.lender->n_updates, 1);
    lend_end(&l, 2, -108, "x");
    (void)lend_call(&l);
    assert_int_equal(l.lender->n_updates, 0);
    assert_string_equal(lend_seen(&l), "; ended 2 -102 G Lent by nmd: x");
    lend_tear_down(&l);
}

/* A promotion in a call that wasn't answered is asked for again: with the next call, and after a restart of nmd. After
 * a registration, the ResourceManager has forgotten it. */
static void test_a_promotion_is_asked_for_again(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.headroom = 4096;
    lend_one(&l);
    lend_confirm_room(&l, TOKENS_HOST, 512);
    l.w.refuses = NM_EXCEPTION_RETRY;
    assert_string_equal(lend_call(&l), "; promotes 2/0");
    assert_string_equal(lend_call_again(&l), "; promotes 2/0");
    lend_restart(&l);
    l.w.refuses = NULL;
    assert_string_equal(lend_call_again(&l), "; promotes 2/0");
    /* the ResourceManager may have answered an earlier call, so the stage repeats the promotion once */
    assert_string_equal(lend_call(&l), "; promotes 2/0");
    assert_string_equal(lend_call(&l), "");
    lend_register(&l);
    (void)lend_call(&l);
    lend_put_clock_forward(6 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, l.room_questions + !lend_has_room_question(&l));
    lend_confirm_room(&l, TOKENS_HOST, 512);
    assert_string_equal(lend_call(&l), "; promotes 2/0");
    lend_tear_down(&l);
}

/* The master doesn't see the errors of promotions that it didn't ask for. */
static void test_errors_of_promotions_are_hidden(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.headroom = 4096;
    lend_one(&l);
    lend_confirm_room(&l, TOKENS_HOST, 512);
    assert_string_equal(lend_call(&l), "; promotes 2/0");
    l.errors[l.n_errors++] = (struct lend_error){2, "UPDATE_OUTSTANDING_ERROR", 2, 0};
    l.errors[l.n_errors++] = (struct lend_error){7, "INVALID_CONTAINER_ID", 2, 0};
    l.errors[l.n_errors++] = (struct lend_error){2, "RM_ERROR", 0, 0}; /* the master's own request for more memory */
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; errors 7, 2");
    assert_string_equal(lend_call(&l), "");
    l.errors[l.n_errors++] = (struct lend_error){2, "INCORRECT_CONTAINER_VERSION_ERROR", 2, 0};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "");
    lend_put_clock_forward(MINUTE + NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, l.room_questions + !lend_has_room_question(&l));
    lend_tell_room(&l, TOKENS_HOST, 512, true);
    assert_string_equal(lend_call(&l), "; promotes 2/0");
    lend_tear_down(&l);
}

/* ---- the version of a promoted container ---------------------------------------------------------- */

/* The master asks for another size of container 2. Returns what the ResourceManager gets. */
static const char *resize(struct lend_fixture *l, int32_t version)
{
    l->resizes[l->n_resizes++] = (struct lend_resize){.number = 2, .version = version};
    return lend_call(l);
}

/* The ResourceManager answers a request for another size. Returns what the master sees. */
static const char *answer_resize(struct lend_fixture *l, int32_t version)
{
    l->updated[l->n_updated++] = (struct lend_container){.number = 2, .version = version, .update = 1};
    (void)lend_call(l);
    return lend_seen(l);
}

static void promote(struct lend_fixture *l, int32_t version)
{
    l->updated[l->n_updated++] = (struct lend_container){.number = 2, .version = version};
    (void)lend_call(l);
    assert_string_equal(lend_seen(l), "");
}

/* A promotion raises the version, and the master doesn't see it. The ResourceManager refuses a request with another
 * version than its own. */
static void test_requests_of_the_master_have_the_version_of_a_promotion(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_one(&l);
    assert_string_equal(resize(&l, 0), "; resizes 2/0");
    promote(&l, 1);
    l.resizes[l.n_resizes++] = (struct lend_resize){.number = 7, .version = 0}; /* a guaranteed one */
    assert_string_equal(resize(&l, 0), "; resizes 7/0, 2/1");
    lend_restart(&l);
    assert_string_equal(resize(&l, 0), "; resizes 2/1");
    assert_string_equal(resize(&l, 5), "; resizes 2/5"); /* that is wrong without lending, too */
    assert_string_equal(answer_resize(&l, 2), "; updated 2");
    assert_string_equal(resize(&l, 2), "; resizes 2/2");
    assert_string_equal(resize(&l, 0), "; resizes 2/0"); /* the master has seen a newer one */
    lend_restart(&l);
    assert_string_equal(resize(&l, 2), "; resizes 2/2");
    lend_tear_down(&l);
}

/* The master has changed the size before the promotion, or in the same answer. */
static void test_promotions_and_other_updates_follow_each_other(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_one(&l);
    assert_string_equal(answer_resize(&l, 1), "; updated 2");
    assert_string_equal(resize(&l, 1), "; resizes 2/1");
    promote(&l, 2);
    assert_string_equal(resize(&l, 1), "; resizes 2/2");
    lend_tear_down(&l);

    lend_set_up(&l, false, "all");
    lend_one(&l);
    l.updated[l.n_updated++] = (struct lend_container){.number = 2, .version = 2, .update = 1};
    l.updated[l.n_updated++] = (struct lend_container){.number = 2, .version = 1};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; updated 2");
    assert_string_equal(resize(&l, 2), "; resizes 2/2");
    lend_tear_down(&l);
}

/* The ResourceManager accepts one update of a container in a call. The master's own goes first, also if the promotion
 * was in a call without an answer. */
static void test_the_masters_own_update_precedes_a_promotion(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (unsigned is_lost = 0; is_lost < 2; is_lost++) {
        lend_set_up(&l, false, "all");
        l.headroom = 4096;
        lend_one(&l);
        lend_confirm_room(&l, TOKENS_HOST, 512);
        if (is_lost) {
            l.w.refuses = NM_EXCEPTION_RETRY;
            assert_string_equal(lend_call(&l), "; promotes 2/0");
            l.w.refuses = NULL;
        }
        assert_string_equal(resize(&l, 0), "; resizes 2/0");
        assert_string_equal(lend_call(&l), "");
        assert_string_equal(answer_resize(&l, 1), "; updated 2");
        lend_put_clock_forward(MINUTE + NM_USEC_PER_SEC);
        lend_run_until(&l, &l.room_questions, l.room_questions + !lend_has_room_question(&l));
        lend_confirm_room(&l, TOKENS_HOST, 512);
        assert_string_equal(lend_call(&l), "; promotes 2/1");
        lend_tear_down(&l);
    }
}

/* A restarted ResourceManager has the version of the node, which may not know of the promotion yet. */
static void test_an_error_tells_the_version(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.headroom = 4096;
    lend_one(&l);
    l.errors[l.n_errors++] = (struct lend_error){2, "INCORRECT_CONTAINER_VERSION_ERROR", 0, 3};
    l.errors[l.n_errors++] = (struct lend_error){7, "INCORRECT_CONTAINER_VERSION_ERROR", 0, 3};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; errors 2, 7");
    assert_string_equal(resize(&l, 0), "; resizes 2/3");
    assert_string_equal(resize(&l, 3), "; resizes 2/3");
    lend_confirm_room(&l, TOKENS_HOST, 512);
    lend_restart(&l);
    lend_put_clock_forward(6 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, l.room_questions + 1);
    (void)lend_call(&l);
    lend_confirm_room(&l, TOKENS_HOST, 512);
    assert_string_equal(lend_call(&l), "; promotes 2/3");
    promote(&l, 4);
    l.errors[l.n_errors++] = (struct lend_error){2, "INCORRECT_CONTAINER_VERSION_ERROR", 0, 3};
    (void)lend_call(&l);
    assert_string_equal(resize(&l, 0), "; resizes 2/3");
    lend_tear_down(&l);
}

/* ---- restarts of the ResourceManager --------------------------------------------------------------- */

/* Has container 2 promoted. */
static void promote_one(struct lend_fixture *l)
{
    lend_set_up(l, false, "all");
    l->headroom = 4096;
    lend_one(l);
    lend_confirm_room(l, TOKENS_HOST, 512);
    assert_string_equal(lend_call(l), "; promotes 2/0");
    promote(l, 1);
}

/* Answers the next question for the room, and has the room confirmed. */
static void confirm_room(struct lend_fixture *l)
{
    lend_put_clock_forward(6 * NM_USEC_PER_SEC);
    lend_run_until(l, &l->room_questions, l->room_questions + !lend_has_room_question(l));
    lend_confirm_room(l, TOKENS_HOST, 512);
}

/* The node registers the container as opportunistic, and refuses the token of the former ResourceManager. */
static void test_a_promotion_that_the_node_has_not_got_is_asked_for_again(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (unsigned case_ = 0; case_ < 3; case_++) {
        promote_one(&l);
        if (case_ == 1) { /* the node registers first */
            for (unsigned i = 2; i <= 5; i++) {
                lend_tell_update(&l, -EREMOTEIO);
                lend_put_clock_forward(20 * NM_USEC_PER_SEC);
                lend_run_until(&l, &l.updates, i);
            }
            lend_tell_update(&l, -EREMOTEIO);
            assert_int_equal(l.lender->n_updates, 0);
        } else if (case_ == 2) {
            lend_restart(&l);
        }
        lend_register(&l);
        assert_int_equal(l.lender->n_updates, 0);
        assert_int_equal(lend_figures(&l).lent, 1);
        assert_int_equal(lend_figures(&l).lent_again, 1);
        (void)lend_call(&l);
        confirm_room(&l);
        assert_string_equal(lend_call(&l), "; promotes 2/0");
        promote(&l, 1);
        lend_tell_update(&l, 0);
        lend_register(&l);
        assert_int_equal(lend_figures(&l).lent, 0);
        assert_int_equal(lend_figures(&l).promoted, 2);
        lend_end(&l, 2, 0, "ok");
        (void)lend_call(&l);
        assert_string_equal(lend_seen(&l), "; ended 2 0 G ok");
        lend_tear_down(&l);
    }
}

static bool has_all(struct lend_fixture *l, int64_t number)
{
    (void)l;
    return number > 0;
}

/* The node had got the promotion, and the ResourceManager has taken over that the container is guaranteed. It would not
 * answer a further promotion. */
static void test_a_node_tells_that_it_had_got_the_promotion(void **state)
{
    struct lend_fixture l;

    (void)state;
    promote_one(&l);
    lend_register(&l);
    assert_int_equal(lend_figures(&l).lent, 1);
    (void)lend_call(&l);
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, l.room_questions + !lend_has_room_question(&l));
    l.has_guaranteed = has_all;
    lend_tell_room(&l, TOKENS_HOST, 512, true);
    assert_int_equal(lend_figures(&l).lent, 0);
    assert_int_equal(lend_figures(&l).promoted, 2);
    assert_string_equal(resize(&l, 0), "; resizes 2/1");
    lend_register(&l);
    assert_int_equal(lend_figures(&l).lent, 0);
    lend_tear_down(&l);
}

/* ---- demotions by the master ------------------------------------------------------------------------ */

/* The master asks for a promotion (2) or a demotion (3) of container 2. Returns what the ResourceManager gets. */
static const char *update(struct lend_fixture *l, int32_t type, int32_t version)
{
    l->resizes[l->n_resizes++] = (struct lend_resize){.number = 2, .version = version, .type = type};
    return lend_call(l);
}

/* Returns what the master sees. */
static const char *answer_update(struct lend_fixture *l, int32_t type, int32_t version)
{
    l->updated[l->n_updated++] = (struct lend_container){
        .number = 2, .version = version, .update = type, .opportunistic = type == 3};
    (void)lend_call(l);
    return lend_seen(l);
}

/* It is what the master has asked for: it sees all of it, and the end with the status of its own opportunistic ones. */
static void test_a_master_demotes_a_promoted_container_and_promotes_it(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (unsigned ends = 0; ends < 2; ends++) {
        promote_one(&l);
        assert_string_equal(update(&l, 3, 0), "; demotes 2/1"); /* the master hasn't seen the version */
        assert_string_equal(answer_update(&l, 3, 2), "; updated 2 O");
        assert_int_equal(l.lender->n_updates, 0); /* the node must not get the promotion any more */
        lend_restart(&l);
        if (ends == 0) {
            assert_string_equal(update(&l, 2, 2), "; promotes 2/2");
            l.errors[l.n_errors++] = (struct lend_error){2, "UPDATE_OUTSTANDING_ERROR", 2, 0};
            (void)lend_call(&l);
            assert_string_equal(lend_seen(&l), "; errors 2");
            l.repeats = true;
            for (unsigned i = 0; i < 2; i++) {
                assert_string_equal(answer_update(&l, 2, 3), "; updated 2");
                (void)lend_call_again(&l);
                assert_string_equal(lend_seen(&l), "; updated 2");
                l.n_updated = 0;
            }
            l.repeats = false;
            assert_string_equal(update(&l, 3, 3), "; demotes 2/3");
            assert_string_equal(answer_update(&l, 3, 4), "; updated 2 O");
        }
        assert_int_equal(l.updates, 1);
        lend_register(&l);
        assert_int_equal(lend_figures(&l).lent, 0);
        l.previous[l.n_previous++] = (struct lend_container){.number = 2, .version = 2, .opportunistic = true};
        lend_end(&l, 2, -108, "x");
        (void)lend_call(&l);
        assert_string_equal(lend_seen(&l), "; ended 2 -108 O x; previous 2 O");
        assert_int_equal(lend_figures(&l).promoted, 1);
        assert_int_equal(lend_figures(&l).preempted, 0);
        lend_want(&l, 20, 1);
        assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1"); /* the priority doesn't back off */
        lend_tear_down(&l);
    }
}

/* It is opportunistic already, so the ResourceManager doesn't answer. */
static void test_a_lent_container_that_its_master_demotes_is_not_promoted(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.headroom = 4096;
    lend_one(&l);
    (void)lend_call(&l);
    assert_string_equal(update(&l, 3, 7), "; demotes 2/7"); /* a wrong version is refused */
    assert_false(nm_lend_was_demoted(l.lender->books, &(struct nm_yarn_container_id){{{TOKENS_RM, 1}, 1}, 2}));
    assert_string_equal(update(&l, 3, 0), "; demotes 2/0");
    lend_restart(&l);
    (void)lend_call(&l);
    confirm_room(&l);
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(lend_figures(&l).lent, 1);
    lend_end(&l, 2, -108, "x");
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 2 -108 O x");
    assert_int_equal(lend_figures(&l).preempted, 1);
    lend_tear_down(&l);
}

/* The next attempt sees it as it is, too. */
static void test_the_next_attempt_sees_a_demoted_container_as_it_is(void **state)
{
    struct lend_fixture l;

    (void)state;
    promote_one(&l);
    assert_string_equal(answer_update(&l, 3, 2), "; updated 2 O");
    l.previous[l.n_previous++] = (struct lend_container){
        .number = 2, .version = 2, .opportunistic = true, .attempt = 1};
    lend_launch(&l, 2);
    assert_string_equal(lend_seen_previous(&l), "2 O");
    assert_int_equal(lend_figures(&l).lent, 0);
    l.ended[l.n_ended++] = (struct lend_end){.number = 2, .status = -108, .diagnostics = "x", .attempt = 1};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 2 -108 O x");
    lend_tear_down(&l);
}

/* ---- containers that their nodes don't know ------------------------------------------------------- */

/* Lends container 2 and has the ResourceManager restarted. The node doesn't know the container. */
static void forget_one(struct lend_fixture *l)
{
    lend_set_up(l, false, "all");
    l->w.settings.lending.application_max_mib = 512;
    lend_launch(l, 1);
    lend_want(l, 20, 1);
    (void)lend_call(l);
    lend_grant(l, 2, true);
    (void)lend_call(l);
    lend_run_until(l, &l->room_questions, 1);
    lend_tell_unknown(l, TOKENS_HOST);
    lend_register(l);
}

/* The node answers n questions. */
static void answer_unknown(struct lend_fixture *l, unsigned n, uint64_t seconds)
{
    for (unsigned i = 0; i < n; i++) {
        lend_put_clock_forward(seconds * NM_USEC_PER_SEC);
        lend_run_until(l, &l->room_questions, l->room_questions + 1);
        lend_tell_unknown(l, TOKENS_HOST);
    }
}

/* Neither the restarted ResourceManager nor its node knows a container that wasn't launched. It must not take up the
 * limit for ever. */
static void test_a_container_that_was_never_launched_is_given_up(void **state)
{
    struct lend_fixture l;

    (void)state;
    forget_one(&l);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 2");
    answer_unknown(&l, 7, 20); /* two minutes after the first answer */
    assert_int_equal(lend_figures(&l).lent, 0);
    assert_int_equal(lend_figures(&l).ended, 1);
    assert_int_equal(l.lender->memory_mib, 0);
    assert_non_null(strstr(proxy_log_message, "_000002 of appattempt_1410901177871_0001_000001 counts as ended"));
    assert_string_equal(lend_call(&l), "20 G * 1, 20 O * 1");
    lend_end(&l, 2, -108, "x"); /* it did exist */
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 2 -102 G Lent by nmd: x");
    lend_tear_down(&l);
}

/* A node that is restarted doesn't answer meanwhile, and nmd's own restart begins the time again. */
static void test_a_node_that_restarts_has_not_forgotten_its_containers(void **state)
{
    struct lend_fixture l;

    (void)state;
    forget_one(&l);
    answer_unknown(&l, 6, 19);
    lend_put_clock_forward(80 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, l.room_questions + 1);
    lend_tell_room(&l, TOKENS_HOST, -1, true); /* not reached */
    answer_unknown(&l, 6, 20);
    assert_int_equal(lend_figures(&l).lent, 1);
    lend_restart(&l);
    answer_unknown(&l, 6, 20);
    assert_int_equal(lend_figures(&l).lent, 1);
    lend_put_clock_forward(20 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.room_questions, l.room_questions + 1);
    lend_tell_room(&l, TOKENS_HOST, 0, true);
    answer_unknown(&l, 10, 20); /* the node reports it to the ResourceManager, which then reports its end */
    assert_int_equal(lend_figures(&l).lent, 1);
    lend_tear_down(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_container_is_promoted_when_there_is_room),
        cmocka_unit_test(test_no_promotion_without_known_room),
        cmocka_unit_test(test_vcores_count_only_if_the_scheduler_counts_them),
        cmocka_unit_test(test_the_token_of_a_promotion_is_taken_to_the_node),
        cmocka_unit_test(test_the_next_attempt_takes_the_token_to_the_node),
        cmocka_unit_test(test_a_promoted_container_ends),
        cmocka_unit_test(test_a_promotion_is_asked_for_again),
        cmocka_unit_test(test_errors_of_promotions_are_hidden),
        cmocka_unit_test(test_requests_of_the_master_have_the_version_of_a_promotion),
        cmocka_unit_test(test_promotions_and_other_updates_follow_each_other),
        cmocka_unit_test(test_the_masters_own_update_precedes_a_promotion),
        cmocka_unit_test(test_an_error_tells_the_version),
        cmocka_unit_test(test_a_promotion_that_the_node_has_not_got_is_asked_for_again),
        cmocka_unit_test(test_a_node_tells_that_it_had_got_the_promotion),
        cmocka_unit_test(test_a_master_demotes_a_promoted_container_and_promotes_it),
        cmocka_unit_test(test_a_lent_container_that_its_master_demotes_is_not_promoted),
        cmocka_unit_test(test_the_next_attempt_sees_a_demoted_container_as_it_is),
        cmocka_unit_test(test_a_container_that_was_never_launched_is_given_up),
        cmocka_unit_test(test_a_node_that_restarts_has_not_forgotten_its_containers),
    };
    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
