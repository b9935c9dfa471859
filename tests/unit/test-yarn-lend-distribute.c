/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random histories of one application master, to which the proxy lends containers that it places itself (lending with
 * distributed scheduling). The proxy is the real one. The ResourceManager and the nodes are models: guaranteed
 * containers are granted, containers end, are preempted and promoted, and the room of nodes changes. Calls and answers
 * are lost and repeated, nmd is restarted and killed during calls, and the ResourceManager is restarted. In every
 * history:
 *
 *   - the master never sees an opportunistic container, nor more containers than it asked for
 *   - the ResourceManager gets no opportunistic ask, and no promotion of the proxy is shown to the master
 *   - each lent container is accounted once
 *   - no ask is lost: with room, the master gets all that it waits for
 *
 *   test-yarn-lend-distribute [HISTORIES [SEED]]
 *
 * History number i has the seed SEED + i. A failure prints the seed of its history.
 */

#include "lend-stage-fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "util/clock.h"
#include "yarn-tokens.h"

#define N_KEYS 2
#define CALLS 60
#define CONTAINERS_MAX 4096u
#define OF_NODE (INT64_C(1) << 39) /* the proxy gives larger numbers to its containers */
#define KILLED_BY_NODE (-108)
#define PREEMPTED (-102)
#define RELEASED (-100)

static const int32_t priorities[N_KEYS] = {10, 20};
static const char *const hosts[] = {TOKENS_HOST, "two", "three"};

struct container {
    int64_t number;
    bool shown, ended, promoted; /* as the master and the books have been told */
    bool promoting, released, over; /* as the ResourceManager knows it; over: has ended or is promoted */
};

struct answer {
    int32_t id;
    struct lend_container granted[LEND_LIST_MAX], updated[8];
    struct lend_end ended[8];
    struct lend_error errors[8];
    size_t n_granted, n_updated, n_ended, n_errors;
};

struct model {
    struct lend_fixture l; /* first member */
    uint64_t seed, random;
    int32_t needs[N_KEYS]; /* what the master waits for */
    bool must_ask[N_KEYS];
    int32_t guaranteed[N_KEYS]; /* what the ResourceManager has to grant */
    bool has_room;
    int64_t last_number;
    struct answer answer; /* the ResourceManager's last one */
    struct container containers[CONTAINERS_MAX];
    size_t n;
    unsigned updates;
};

static struct totals {
    uint64_t calls, lent, guaranteed, preempted, promoted, released, lost, restarts, kills, registrations;
} totals;

static unsigned long n_histories = 12, first_seed = 1;

#define CHECK(w, condition) \
    do { \
        if (!(condition)) \
            fail_msg("seed %llu: %s", (unsigned long long)(w)->seed, #condition); \
    } while (0)

static uint64_t random_number(struct model *w, uint64_t below)
{
    uint64_t z = (w->random += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

static bool one_in(struct model *w, uint64_t n)
{
    return random_number(w, n) == 0;
}

static struct container *find(struct model *w, int64_t number)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->containers[i].number == number)
            return &w->containers[i];
    return NULL;
}

static struct container *find_or_add(struct model *w, int64_t number)
{
    struct container *c = find(w, number);

    if (c)
        return c;
    CHECK(w, w->n < CONTAINERS_MAX);
    c = &w->containers[w->n++];
    *c = (struct container){.number = number};
    return c;
}

static int key_of(const struct model *w, int32_t priority)
{
    int k = 0;

    while (k < N_KEYS && priorities[k] != priority)
        k++;
    CHECK(w, k < N_KEYS);
    return k;
}

/* ---- the ResourceManager ---------------------------------------------------------------------------- */

static void read_asks(struct model *w, const Masters__AllocateRequest *request)
{
    for (size_t i = 0; i < request->n_asks; i++) {
        const Masters__Ask *a = request->asks[i];

        CHECK(w, !a->type || a->type->execution_type != NM_LENDER_OPPORTUNISTIC);
        w->guaranteed[key_of(w, a->priority->priority)] = a->count;
    }
    for (size_t i = 0; i < w->l.w.placed; i++)
        (void)find_or_add(w, w->l.w.numbers[i]);
    for (size_t i = 0; i < request->n_releases; i++)
        find_or_add(w, request->releases[i]->id)->released = true;
}

static void read_promotions(struct model *w, const Masters__AllocateRequest *request)
{
    struct lend_fixture *l = &w->l;

    for (size_t i = 0; i < request->n_updates; i++) {
        struct container *c = find(w, request->updates[i]->id->id);

        CHECK(w, c && c->shown && !c->promoted);
        if (c->over || l->n_errors == NM_ARRAY_SIZE(l->errors))
            continue;
        if (c->promoting || one_in(w, 6))
            l->errors[l->n_errors++] = (struct lend_error){
                .number = c->number, .reason = c->promoting ? "UPDATE_OUTSTANDING_ERROR" : "x", .type = 2};
        else
            c->promoting = true;
    }
}

static void grant(struct model *w)
{
    for (int k = 0; w->has_room && k < N_KEYS; k++)
        for (; w->guaranteed[k] > 0 && !one_in(w, 3); w->guaranteed[k]--) {
            lend_grant(&w->l, ++w->last_number, false);
            w->l.granted[w->l.n_granted - 1].priority = priorities[k];
        }
}

static void end_one(struct model *w, struct container *c, int32_t status)
{
    if (w->l.n_ended == NM_ARRAY_SIZE(w->l.ended))
        return;
    lend_end(&w->l, c->number, status, "x");
    c->over = true;
}

static void end_and_promote(struct model *w)
{
    struct lend_fixture *l = &w->l;

    for (size_t i = 0; i < w->n; i++) {
        struct container *c = &w->containers[i];

        if (c->over || c->number < OF_NODE)
            continue;
        if (c->released)
            end_one(w, c, RELEASED);
        else if (c->shown && one_in(w, 12))
            end_one(w, c, one_in(w, 2) ? KILLED_BY_NODE : 0);
        else if (c->promoting && one_in(w, 2) && l->n_updated < NM_ARRAY_SIZE(l->updated)) {
            l->updated[l->n_updated++] = (struct lend_container){.number = c->number, .version = 1};
            c->over = true;
        }
    }
}

/* A repeated call gets the answer of the first one. */
static void repeat_answer(struct lend_fixture *l, const struct answer *a)
{
    (void)memcpy(l->granted, a->granted, sizeof a->granted);
    (void)memcpy(l->updated, a->updated, sizeof a->updated);
    (void)memcpy(l->ended, a->ended, sizeof a->ended);
    (void)memcpy(l->errors, a->errors, sizeof a->errors);
    l->n_granted = a->n_granted;
    l->n_updated = a->n_updated;
    l->n_ended = a->n_ended;
    l->n_errors = a->n_errors;
}

static void keep_answer(const struct lend_fixture *l, int32_t id, struct answer *ret)
{
    ret->id = id;
    (void)memcpy(ret->granted, l->granted, sizeof ret->granted);
    (void)memcpy(ret->updated, l->updated, sizeof ret->updated);
    (void)memcpy(ret->ended, l->ended, sizeof ret->ended);
    (void)memcpy(ret->errors, l->errors, sizeof ret->errors);
    ret->n_granted = l->n_granted;
    ret->n_updated = l->n_updated;
    ret->n_ended = l->n_ended;
    ret->n_errors = l->n_errors;
}

static void on_call(struct lend_fixture *l, const Masters__AllocateRequest *request)
{
    struct model *w = (struct model *)l;

    if (request->response_id == w->answer.id) {
        for (size_t i = 0; i < l->w.placed; i++) /* which a repeated call may report, too */
            (void)find_or_add(w, l->w.numbers[i]);
        repeat_answer(l, &w->answer);
        return;
    }
    read_asks(w, request);
    read_promotions(w, request);
    grant(w);
    end_and_promote(w);
    keep_answer(l, request->response_id, &w->answer);
}

/* ---- the master ------------------------------------------------------------------------------------- */

static void change_needs(struct model *w)
{
    for (int k = 0; k < N_KEYS; k++) {
        if (!one_in(w, 3))
            continue;
        w->needs[k] = one_in(w, 6) ? w->needs[k] / 2 : w->needs[k] + (int32_t)random_number(w, 4);
        w->needs[k] = NM_MIN(w->needs[k], 12);
        w->must_ask[k] = true;
    }
}

static void add_asks(struct model *w)
{
    w->l.n_asks = 0;
    for (int k = 0; k < N_KEYS; k++)
        if (w->must_ask[k])
            lend_want(&w->l, priorities[k], w->needs[k]);
}

static void see_container(struct model *w, const Masters__Container *m)
{
    struct container *c = find_or_add(w, m->id->id);
    const int k = key_of(w, m->priority->priority);

    CHECK(w, m->execution_type == NM_LENDER_GUARANTEED);
    CHECK(w, !c->shown && !c->released);
    CHECK(w, w->needs[k] > 0);
    w->needs[k]--;
    c->shown = true;
    totals.lent += c->number > OF_NODE;
    totals.guaranteed += c->number < OF_NODE;
}

static void see_end(struct model *w, const Masters__Ended *m)
{
    struct container *c = find(w, m->id->id);

    CHECK(w, c && c->shown && !c->ended);
    CHECK(w, m->execution_type == NM_LENDER_GUARANTEED && m->exit_status != KILLED_BY_NODE);
    c->ended = true;
    totals.preempted += m->exit_status == PREEMPTED;
}

/* The promotions of the last answer are not shown, so the model counts them by itself. */
static void note_promotions(struct model *w)
{
    for (size_t i = 0; i < w->answer.n_updated; i++) {
        struct container *c = find(w, w->answer.updated[i].number);

        c->promoted = true;
        totals.promoted++;
    }
}

static void check_books(struct model *w)
{
    const struct nm_lend_figures f = lend_figures(&w->l);
    uint64_t lent = 0, wanted = 0;

    for (size_t i = 0; i < w->n; i++)
        lent += w->containers[i].number > OF_NODE && w->containers[i].shown && !w->containers[i].ended &&
                !w->containers[i].promoted;
    for (int k = 0; k < N_KEYS; k++)
        wanted += (uint64_t)w->needs[k];
    CHECK(w, f.granted + f.adopted == f.lent + f.promoted + f.preempted + f.ended);
    CHECK(w, f.lent == lent);
    CHECK(w, f.wanted == wanted);
}

/* The master gets the answer. */
static void deliver(struct model *w)
{
    const Masters__AllocateAnswer *m = (const Masters__AllocateAnswer *)w->l.w.answer;

    CHECK(w, m);
    for (size_t i = 0; i < m->n_containers; i++)
        see_container(w, m->containers[i]);
    for (size_t i = 0; i < m->n_ended; i++)
        see_end(w, m->ended[i]);
    CHECK(w, m->n_updated == 0 && m->n_update_errors == 0);
    note_promotions(w);
    for (int k = 0; k < N_KEYS; k++)
        w->must_ask[k] = false;
    check_books(w);
    totals.calls++;
}

/* ---- the nodes -------------------------------------------------------------------------------------- */

static void answer_questions(struct model *w)
{
    struct lend_fixture *l = &w->l;

    for (unsigned i = 0; i < 8 && lend_has_room_question(l) && !one_in(w, 5); i++)
        lend_tell_room(l, l->asked_host, one_in(w, 8) ? -1 : (int64_t)random_number(w, 8000), !one_in(w, 5));
    if (l->updates > w->updates)
        lend_tell_update(l, one_in(w, 4) ? -ECONNRESET : one_in(w, 4) ? -EREMOTEIO : 0);
    w->updates = l->updates;
}

static void change_settings(struct model *w)
{
    static const int64_t limits[] = {-1, -1, 3000, 6000};
    struct nm_yarn_settings *s = &w->l.w.settings;

    if (one_in(w, 8))
        s->lending.cluster.rule = (struct nm_lend_rule){
            (enum nm_lend_mode)random_number(w, NM_LEND_N_MODES), random_number(w, 40) * NM_USEC_PER_SEC,
            1 + (unsigned)random_number(w, 100)};
    if (one_in(w, 8))
        s->fill_nodes = one_in(w, 2);
    if (one_in(w, 8))
        s->lending.node_max_mib = limits[random_number(w, NM_ARRAY_SIZE(limits))];
    if (one_in(w, 8))
        s->lending.application_max_mib = limits[random_number(w, NM_ARRAY_SIZE(limits))];
    if (one_in(w, 3))
        w->has_room = one_in(w, 3);
    w->l.w.listed_host = hosts[random_number(w, NM_ARRAY_SIZE(hosts))];
    w->l.headroom = (int64_t)random_number(w, 6000);
}

/* ---- histories -------------------------------------------------------------------------------------- */

static void restart(struct model *w)
{
    lend_restart(&w->l);
    w->updates = w->l.updates;
    totals.restarts++;
}

static void good_call(struct model *w)
{
    add_asks(w);
    (void)lend_call(&w->l);
    deliver(w);
}

/* The call is lost, or its answer on its way to the master. The master calls again. */
static void lost_call(struct model *w)
{
    add_asks(w);
    if (one_in(w, 2))
        w->l.w.refuses = NM_EXCEPTION_RETRY;
    (void)lend_call(&w->l);
    w->l.w.refuses = NULL;
    if (one_in(w, 2))
        restart(w);
    add_asks(w);
    (void)lend_call_again(&w->l);
    deliver(w);
    totals.lost++;
}

/* nmd is killed while the ResourceManager handles a call. */
static void killed_call(struct model *w)
{
    struct fixture *p = &w->l.w;

    add_asks(w);
    p->holds = true;
    lend_begin_call(&w->l);
    proxy_run_until(p, proxy_has_held);
    p->proxy = nm_yarn_proxy_free(p->proxy);
    p->client = nm_hadoop_client_free(p->client);
    proxy_stop_rm(p);
    proxy_start_rm(p);
    p->holds = false;
    proxy_start(p);
    w->updates = w->l.updates;
    (void)lend_call_again(&w->l);
    deliver(w);
    totals.kills++;
}

/* The ResourceManager knows its containers from their nodes, but has forgotten asks and promotions. */
static void restart_resource_manager(struct model *w)
{
    w->l.w.refuses = NOT_REGISTERED;
    w->l.n_asks = 0;
    (void)lend_call(&w->l);
    w->l.w.refuses = NULL;
    lend_register(&w->l);
    w->answer.id = INT32_MAX;
    w->answer.n_updated = 0;
    for (int k = 0; k < N_KEYS; k++) {
        w->guaranteed[k] = 0;
        w->must_ask[k] = w->needs[k] > 0;
    }
    for (size_t i = 0; i < w->n; i++) {
        w->containers[i].promoting = false;
        w->containers[i].over |= !w->containers[i].shown; /* the master never gets it, and can't start it */
    }
    good_call(w);
    totals.registrations++;
}

static void step(struct model *w)
{
    change_settings(w);
    change_needs(w);
    switch (random_number(w, 12)) {
    case 0:
        lost_call(w);
        break;
    case 1:
        killed_call(w);
        break;
    default:
        good_call(w);
    }
    answer_questions(w);
    if (one_in(w, 30))
        restart(w);
    if (one_in(w, 30))
        restart_resource_manager(w);
    lend_put_clock_forward(random_number(w, 9) * NM_USEC_PER_SEC);
}

/* With room, the master gets all containers that it waits for. */
static void check_grants(struct model *w)
{
    int32_t waits = 1;

    w->has_room = true;
    for (int i = 0; waits > 0 && i < 40; i++) {
        good_call(w);
        answer_questions(w);
        lend_put_clock_forward(31 * NM_USEC_PER_SEC);
        waits = 0;
        for (int k = 0; k < N_KEYS; k++)
            waits += w->needs[k];
    }
    CHECK(w, waits == 0);
}

static void history(uint64_t seed)
{
    struct model *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->seed = w->random = seed;
    w->answer.id = INT32_MAX;
    lend_set_up(&w->l, true, "all");
    w->l.w.settings.lending.central = one_in(w, 4);
    w->l.on_call = on_call;
    lend_launch(&w->l, 1);
    for (int i = 0; i < CALLS; i++)
        step(w);
    check_grants(w);
    for (size_t i = 0; i < w->n; i++)
        totals.released += w->containers[i].released;
    lend_tear_down(&w->l);
    free(w);
}

static void test_histories(void **state)
{
    (void)state;
    for (unsigned long i = 0; i < n_histories; i++)
        history(first_seed + i);
    printf("%lu histories, %llu calls: %llu lent, %llu guaranteed, %llu preempted, %llu promoted, %llu released; %llu "
           "calls lost, %llu restarts, %llu kills, %llu registrations\n",
           n_histories, (unsigned long long)totals.calls, (unsigned long long)totals.lent,
           (unsigned long long)totals.guaranteed, (unsigned long long)totals.preempted,
           (unsigned long long)totals.promoted, (unsigned long long)totals.released, (unsigned long long)totals.lost,
           (unsigned long long)totals.restarts, (unsigned long long)totals.kills,
           (unsigned long long)totals.registrations);
    /* each case has happened */
    assert_true(n_histories < 12 || (totals.lent && totals.guaranteed && totals.preempted && totals.promoted &&
                                     totals.lost && totals.restarts && totals.kills && totals.registrations));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_histories)};
    sigset_t mask;

    n_histories = argc > 1 ? strtoul(argv[1], NULL, 10) : n_histories;
    first_seed = argc > 2 ? strtoul(argv[2], NULL, 10) : first_seed;
    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
