/* SPDX-License-Identifier: Apache-2.0 */

/* See lend-fixture.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lend-fixture.h"

const struct nm_lend_key twenty = {20, -1};

int lend_fixture_set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    assert_int_equal(nm_lend_new(&w->l), 0);
    w->limits = (struct nm_lend_limits){-1, -1, -1, -1, false, NULL, NULL};
    w->now_usec = SECONDS(1000);
    *state = w;
    return 0;
}

int lend_fixture_tear_down(void **state)
{
    struct fixture *w = *state;

    nm_lend_free(w->l);
    free(w);
    return 0;
}

void set_mode(struct fixture *w, enum nm_lend_mode mode)
{
    nm_lend_set_rule(w->l, &(struct nm_lend_rule){.mode = mode, .after_usec = SECONDS(30), .percent = 50});
}

void set_overflow(struct fixture *w, uint64_t seconds)
{
    nm_lend_set_rule(w->l, &(struct nm_lend_rule){.mode = NM_LEND_OVERFLOW, .after_usec = SECONDS(seconds)});
}

void set_percent(struct fixture *w, unsigned percent)
{
    nm_lend_set_rule(w->l, &(struct nm_lend_rule){.mode = NM_LEND_PERCENT, .percent = percent});
}

/* ---- asks --------------------------------------------------------------------------------------- */

struct nm_lend_ask ask_of(int32_t priority, int32_t count)
{
    return (struct nm_lend_ask){
        .key = {priority, -1}, .size = {1024, 1}, .count = count, .any = true, .relax = true};
}

void note(struct fixture *w, struct nm_lend_ask ask)
{
    assert_int_equal(nm_lend_ask(w->l, &ask, 1, w->now_usec), 0);
}

void note_count(struct fixture *w, int32_t count)
{
    note(w, ask_of(20, count));
}

void call(struct fixture *w)
{
    assert_int_equal(nm_lend_plan(w->l, &w->limits, w->now_usec, &w->changes, &w->n), 0);
}

void expect_no_change(struct fixture *w)
{
    call(w);
    assert_int_equal(w->n, 0);
}

void expect_change(struct fixture *w, int32_t guaranteed, int32_t opportunistic)
{
    call(w);
    assert_int_equal(w->n, 1);
    assert_int_equal(w->changes[0].key.priority, 20);
    assert_int_equal(w->changes[0].guaranteed, guaranteed);
    assert_int_equal(w->changes[0].with_opportunistic ? w->changes[0].opportunistic : -1, opportunistic);
    assert_false(w->changes[0].only_opportunistic);
}

void answer(struct fixture *w)
{
    assert_false(nm_lend_begin_answer(w->l, ++w->response_id));
}

void ask(struct fixture *w, int32_t count)
{
    note_count(w, count);
    call(w);
    answer(w);
}

/* ---- grants ------------------------------------------------------------------------------------- */

struct nm_yarn_container_id id_of(int64_t number)
{
    return (struct nm_yarn_container_id){{{1410901177871, 7}, 1}, number};
}

struct nm_lend_grant opportunistic(int64_t number)
{
    return (struct nm_lend_grant){.id = id_of(number), .key = twenty, .size = {1024, 1}, .host = "one", .port = 4501,
                                  .opportunistic = true};
}

struct nm_lend_grant guaranteed(int64_t number)
{
    struct nm_lend_grant g = opportunistic(number);

    g.opportunistic = false;
    return g;
}

enum nm_lend_verdict grant(struct fixture *w, struct nm_lend_grant g)
{
    enum nm_lend_verdict verdict;

    assert_int_equal(nm_lend_granted(w->l, &g, w->now_usec, &verdict), 0);
    return verdict;
}

void lend(struct fixture *w, int32_t n)
{
    ask(w, n);
    for (int32_t i = 1; i <= n; i++)
        assert_int_equal(grant(w, opportunistic(i)), NM_LEND_SHOW);
}

/* ---- state -------------------------------------------------------------------------------------- */

static void find_view(const struct nm_lend_key_view *v, void *userdata)
{
    struct nm_lend_key_view *ret = userdata;

    if (v->key.priority == ret->key.priority)
        *ret = *v;
}

struct nm_lend_key_view view_of(const struct fixture *w, int32_t priority)
{
    struct nm_lend_key_view v = {.key.priority = priority};

    nm_lend_each_key(w->l, find_view, &v);
    return v;
}

enum nm_lend_reason reason_of(const struct fixture *w)
{
    return view_of(w, 20).reason;
}

struct nm_lend_figures figures(const struct fixture *w)
{
    return nm_lend_figures(w->l);
}

void restart(struct fixture *w)
{
    uint8_t *packed, *again;
    size_t size, size_again;

    assert_int_equal(nm_lend_pack(w->l, &packed, &size), 0);
    nm_lend_free(w->l);
    w->l = NULL;
    assert_int_equal(nm_lend_restore((struct nm_bytes){packed, size}, &w->l), 0);
    assert_int_equal(nm_lend_pack(w->l, &again, &size_again), 0);
    assert_int_equal(size, size_again);
    assert_memory_equal(packed, again, size);
    free(packed);
    free(again);
}

void set_running(struct fixture *w, int64_t number, bool running)
{
    const struct nm_yarn_container_id id = id_of(number);

    nm_lend_set_running(w->l, &id, running);
}

int lend_fixture_set_up_running(void **state)
{
    struct fixture *w;
    struct nm_lend_grant g = opportunistic(3);

    lend_fixture_set_up(state);
    w = *state;
    set_mode(w, NM_LEND_ALL);
    ask(w, 3);
    for (int64_t i = 1; i <= 2; i++) {
        assert_int_equal(grant(w, opportunistic(i)), NM_LEND_SHOW);
        w->now_usec += SECONDS(1);
    }
    g.host = "two";
    assert_int_equal(grant(w, g), NM_LEND_SHOW);
    for (int64_t i = 1; i <= 3; i++)
        set_running(w, i, true);
    return 0;
}

bool promoted(struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);

    return nm_lend_promoted(w->l, &id, 1, w->now_usec);
}

bool refused(struct fixture *w, int64_t number, bool outstanding)
{
    const struct nm_yarn_container_id id = id_of(number);

    return nm_lend_promotion_refused(w->l, &id, outstanding, w->now_usec);
}

bool is_lent(const struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);

    return nm_lend_is_lent(w->l, &id);
}

struct nm_lend_history history_of(const struct fixture *w, int64_t number)
{
    const struct nm_yarn_container_id id = id_of(number);
    struct nm_lend_history h;

    assert_true(nm_lend_find_history(w->l, &id, &h));
    return h;
}
