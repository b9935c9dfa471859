/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stage that lends, over random histories: of asks, grants, ends, promotions, lost answers, attempts, and restarts
 * of nmd and of the ResourceManager, also before the node has a promotion, and with calls that fail for lack of memory
 * or of room on the disk. A master never sees an opportunistic container, also none of an earlier attempt, and never
 * more containers than it has asked for. In the end it has all of them. Each lent container is counted once, over all
 * attempts.
 */

#include "lend-stage-fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

#include "util/clock.h"
#include "yarn-tokens.h"

#define KEYS 3
#define CONTAINERS_MAX 4000
#define HISTORIES 30
#define STEPS 60

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

static bool is_likely(uint32_t percent)
{
    return random_below(100) < percent;
}

/* ---- the ResourceManager -------------------------------------------------------------------------- */

/* It keeps a guaranteed and an opportunistic count of each priority, 0 to KEYS - 1. */
struct container {
    int key;
    bool opportunistic; /* at present */
    bool lent;          /* was granted as opportunistic */
    bool released, ended, shown;
    int32_t attempt;
    int32_t version, known_version; /* as the ResourceManager has it, and as the master knows it */
    bool gone; /* ended between two attempts; its end was not reported yet */
    /* As the node has it. A restarted ResourceManager takes this over, and the node refuses older tokens then. */
    bool guaranteed_there;
    int32_t version_there;
    int32_t promoted_version, promoted_by, rm; /* the last promotion: version, attempt, run of the ResourceManager */
    bool unapplied; /* nmd doesn't know that the node has the promotion */
    bool limbo;  /* it counts as lent, until the node says that it is guaranteed */
};

struct world {
    struct lend_fixture l;
    int32_t counts[2][KEYS]; /* [1]: opportunistic */
    struct container all[CONTAINERS_MAX];
    int64_t n; /* the numbers are 1 to n */
    int32_t answered_id;
    bool grants_all;
    struct nm_yarn_lend_base base; /* the figures of the attempts that have ended */
    uint64_t adopted, left; /* containers that attempts have taken over, and that were lent at the ends of attempts */
    uint64_t resized, lent_again, had_got;
    int32_t rm; /* how often the ResourceManager was restarted */
    /* the master */
    int64_t resizes; /* the master asks for another size of this container in its next call; 0: of no container */
    int32_t wants[KEYS];
    bool asks[KEYS]; /* its next call contains this key */
};

static struct world *world;

static void grant(struct world *w, int key, bool opportunistic)
{
    const int32_t most = w->counts[opportunistic][key];
    int32_t n = w->grants_all ? most : (int32_t)random_below((uint32_t)most + 1);

    for (; n > 0 && w->n + 1 < CONTAINERS_MAX && w->l.n_granted < LEND_LIST_MAX; n--) {
        w->counts[opportunistic][key]--;
        w->all[++w->n] = (struct container){
            .key = key, .opportunistic = opportunistic, .lent = opportunistic, .attempt = w->l.attempt};
        w->l.granted[w->l.n_granted++] = (struct lend_container){
            .number = w->n, .priority = key + 1, .opportunistic = opportunistic};
    }
}

static void end_some(struct world *w)
{
    for (int64_t i = 1; i <= w->n && w->l.n_ended < NM_ARRAY_SIZE(w->l.ended); i++) {
        struct container *c = &w->all[i];

        if (c->ended || !(c->released || c->gone || (c->shown && is_likely(10))))
            continue;
        c->ended = true;
        lend_end(&w->l, i, c->released ? -100 : c->opportunistic && is_likely(50) ? -108 : 0, "over");
        w->l.ended[w->l.n_ended - 1].attempt = c->attempt;
    }
}

static void promote(struct world *w, const Masters__UpdateAsk *m)
{
    struct container *c = &w->all[m->id->id];

    assert_true(m->id->id > 0 && m->id->id <= w->n);
    if (c->ended || !c->opportunistic || m->version != c->version || is_likely(30) ||
        w->l.n_updated == NM_ARRAY_SIZE(w->l.updated))
        return;
    c->opportunistic = c->limbo = false;
    c->unapplied = true;
    c->promoted_by = w->l.attempt;
    c->promoted_version = c->version + 1;
    c->rm = w->rm;
    w->l.updated[w->l.n_updated++] = (struct lend_container){
        .number = m->id->id, .version = ++c->version, .attempt = c->attempt};
}

/* The master's own request never has a wrong version. */
static void change_size(struct world *w, const Masters__UpdateAsk *m)
{
    struct container *c = &w->all[m->id->id];

    if (c->ended || c->gone || (c->limbo && m->version != c->version))
        return;
    assert_int_equal(m->version, c->version);
    if (is_likely(30) || w->l.n_updated == NM_ARRAY_SIZE(w->l.updated))
        return;
    w->resized++;
    w->l.updated[w->l.n_updated++] = (struct lend_container){
        .number = m->id->id, .version = ++c->version, .attempt = c->attempt, .update = 1,
        .opportunistic = c->opportunistic};
}

static void on_call(struct lend_fixture *l, const Masters__AllocateRequest *request)
{
    struct world *w = world;

    if (request->response_id == w->answered_id)
        return; /* it repeats its answer */
    w->answered_id = request->response_id;
    l->n_granted = l->n_ended = l->n_updated = 0;
    for (size_t i = 0; i < request->n_asks; i++) {
        const Masters__Ask *a = request->asks[i];

        w->counts[a->type && a->type->execution_type == 2][a->priority->priority - 1] = a->count;
    }
    for (size_t i = 0; i < request->n_releases; i++)
        w->all[request->releases[i]->id].released = true;
    for (size_t i = 0; i < request->n_updates; i++)
        if (request->updates[i]->type == 2)
            promote(w, request->updates[i]);
        else
            change_size(w, request->updates[i]);
    for (int key = 0; key < KEYS; key++) {
        grant(w, key, false);
        grant(w, key, true);
    }
    if (!w->grants_all)
        end_some(w);
}

/* ---- the master ----------------------------------------------------------------------------------- */

static void add_asks(struct world *w)
{
    w->l.n_asks = 0;
    for (int key = 0; key < KEYS; key++)
        if (w->asks[key])
            lend_want(&w->l, key + 1, w->wants[key]);
    w->l.n_resizes = w->resizes > 0;
    if (w->resizes > 0)
        w->l.resizes[0] = (struct lend_resize){.number = w->resizes, .version = w->all[w->resizes].known_version,
                                               .attempt = w->all[w->resizes].attempt};
}

static void read_answer(struct world *w)
{
    const Masters__AllocateAnswer *m = (const Masters__AllocateAnswer *)w->l.w.answer;

    for (size_t i = 0; i < m->n_containers; i++) {
        struct container *c = &w->all[m->containers[i]->id->id];

        assert_int_equal(m->containers[i]->execution_type, 1);
        assert_false(c->shown);
        assert_true(w->wants[c->key] > 0);
        w->wants[c->key]--;
        c->shown = true;
    }
    for (size_t i = 0; i < m->n_ended; i++) {
        assert_true(w->all[m->ended[i]->id->id].shown);
        assert_int_not_equal(m->ended[i]->exit_status, -108);
        if (w->all[m->ended[i]->id->id].lent)
            assert_int_equal(m->ended[i]->execution_type, 1);
    }
    for (size_t i = 0; i < m->n_updated; i++) {
        struct container *c = &w->all[m->updated[i]->container->id->id];

        assert_int_equal(m->updated[i]->type, 1); /* it doesn't see promotions */
        assert_int_equal(m->updated[i]->container->execution_type, 1);
        c->known_version = c->version_there = m->updated[i]->container->version;
        c->guaranteed_there |= !c->opportunistic; /* the master takes the token to the node */
    }
    (void)memset(w->asks, 0, sizeof w->asks);
    w->resizes = 0;
}

/* Calls until there is an answer. */
static void call(struct world *w)
{
    const uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;

    w->l.response_id++;
    do {
        assert_true(nm_now_usec() < deadline);
        add_asks(w);
        (void)lend_call_again(&w->l);
    } while (!w->l.w.answer);
}

/* The answer is lost on its way to the master, which calls again. nmd may be restarted meanwhile. */
static void lose_answer(struct world *w)
{
    if (is_likely(50))
        lend_restart(&w->l);
    w->l.response_id--;
    call(w);
}

static void change_wants(struct world *w)
{
    const uint32_t key = random_below(KEYS);

    w->wants[key] = is_likely(70) ? w->wants[key] + (int32_t)random_below(5)
                                  : (int32_t)random_below((uint32_t)w->wants[key] + 1);
    w->asks[key] = true;
}

/* Some containers are resized several times, before and after their promotions. */
static void change_sizes(struct world *w)
{
    const int64_t i = 1 + (int64_t)random_below((uint32_t)w->n + 1) / 4 * 4;

    if (i <= w->n && w->all[i].shown && !w->all[i].ended && !w->all[i].gone)
        w->resizes = i;
}

/* ---- the node ------------------------------------------------------------------------------------- */

static bool has_guaranteed(struct lend_fixture *l, int64_t number)
{
    (void)l;
    return world->all[number].guaranteed_there;
}

static void answer_room(struct world *w)
{
    lend_tell_room(&w->l, w->l.asked_host, 4096, true);
    for (size_t i = 0; i < w->l.n_asked; i++) {
        struct container *c = &w->all[w->l.asked_numbers[i]];

        if (c->guaranteed_there)
            c->limbo = c->unapplied = false;
    }
}

/* The node gets a promotion. The answer may be lost. */
static void take_update(struct world *w)
{
    struct container *c = &w->all[w->l.updated_number];
    const bool is_valid = c->rm == w->rm && c->version_there < c->promoted_version && !c->ended && !c->gone;

    if (is_valid) {
        c->guaranteed_there = true;
        c->version_there = c->promoted_version;
    }
    if (is_likely(40)) {
        lend_restart(&w->l);
        return;
    }
    lend_tell_update(&w->l, is_valid ? 0 : -EREMOTEIO);
    c->unapplied &= !is_valid;
}

/* The ResourceManager takes over the containers from the node. It lists those of earlier attempts for the master. */
static void restart_resource_manager(struct world *w)
{
    w->rm++;
    for (int64_t i = 1; i <= w->n; i++) {
        struct container *c = &w->all[i];

        if (!c->lent || !c->shown || c->ended || c->gone)
            continue;
        if (!c->opportunistic && c->unapplied && c->promoted_by == w->l.attempt) {
            c->limbo = c->guaranteed_there;
            w->lent_again++;
            w->had_got += c->guaranteed_there;
        } else if (!c->opportunistic && !c->guaranteed_there) {
            w->l.previous[w->l.n_previous++] = (struct lend_container){
                .number = i, .priority = c->key + 1, .opportunistic = true, .attempt = c->attempt,
                .version = c->version_there};
            w->adopted++;
        }
        c->opportunistic = !c->guaranteed_there;
        c->version = c->version_there;
        c->unapplied = false;
    }
}

/* Asks the node until it has said of all containers what they are. */
static void settle(struct world *w)
{
    for (unsigned i = 0; i < 50; i++) {
        bool all = true;

        for (int64_t k = 1; k <= w->n; k++)
            all &= !w->all[k].limbo || w->all[k].ended || w->all[k].gone;
        if (all)
            return;
        lend_put_clock_forward(11 * NM_USEC_PER_SEC);
        lend_run_until(&w->l, &w->l.room_questions, w->l.room_questions + !lend_has_room_question(&w->l));
        answer_room(w);
    }
    fail_msg("a container is taken for lent although its node has it as guaranteed");
}

static void register_again(struct world *w)
{
    (void)memset(w->counts, 0, sizeof w->counts);
    w->answered_id = -1;
    restart_resource_manager(w);
    lend_register(&w->l);
    for (int key = 0; key < KEYS; key++)
        w->asks[key] = true;
}

/* ---- attempts ------------------------------------------------------------------------------------- */

static bool is_lent(const struct container *c)
{
    return c->lent && c->shown && c->opportunistic && !c->ended && !c->gone;
}

static void check_figures(const struct world *w)
{
    const struct nm_lend_figures f = lend_figures(&w->l);
    uint64_t granted = 0, lent = 0;

    for (int64_t i = 1; i <= w->n; i++) {
        granted += w->all[i].lent && w->all[i].shown && w->all[i].attempt == w->l.attempt;
        lent += is_lent(&w->all[i]);
    }
    assert_int_equal(f.granted, granted);
    assert_int_equal(f.lent, lent);
    assert_int_equal(f.granted + f.adopted + f.lent_again, f.lent + f.promoted + f.preempted + f.ended);
}

/* The attempt ends. Some of its containers end with it, and the others are listed for the next one. */
static void end_attempt(struct world *w)
{
    struct nm_yarn_lend_view v;

    settle(w);
    check_figures(w);
    nm_stage_lend.lending(w->l.lender, &v);
    nm_yarn_lend_view_ended(&w->base, &v);
    for (int64_t i = 1; i <= w->n; i++) {
        struct container *c = &w->all[i];

        w->left += is_lent(c);
        c->unapplied = c->limbo = false;
        c->ended |= !c->shown;
        c->gone |= is_likely(40);
        if (c->ended || c->gone)
            continue;
        assert_true(w->l.n_previous < LEND_LIST_MAX);
        w->l.previous[w->l.n_previous++] = (struct lend_container){
            .number = i, .priority = c->key + 1, .opportunistic = c->opportunistic, .attempt = c->attempt,
            .version = c->version};
        c->known_version = c->version;
        w->adopted += is_lent(c);
    }
}

static void begin_attempt(struct world *w)
{
    const Masters__RegisterMasterAnswer *m;

    (void)memset(w->counts, 0, sizeof w->counts);
    (void)memset(w->wants, 0, sizeof w->wants);
    (void)memset(w->asks, 0, sizeof w->asks);
    w->answered_id = -1;
    w->l.n_granted = w->l.n_ended = w->l.n_updated = 0;
    lend_launch(&w->l, w->l.attempt + 1);
    m = (const Masters__RegisterMasterAnswer *)w->l.w.answer;
    for (size_t i = 0; i < m->n_previous; i++)
        assert_int_equal(m->previous[i]->execution_type, 1);
}

static void step(struct world *w)
{
    if (is_likely(60))
        change_wants(w);
    if (is_likely(30))
        change_sizes(w);
    lend_put_clock_forward((uint64_t)random_below(8) * NM_USEC_PER_SEC);
    if (is_likely(10)) {
        w->l.w.refuses = NM_EXCEPTION_RETRY; /* the ResourceManager doesn't read the call */
        w->l.response_id++;
        add_asks(w);
        (void)lend_call_again(&w->l);
        w->l.response_id--;
        w->l.w.refuses = NULL;
    }
    if (is_likely(10))
        lend_restart(&w->l);
    call(w);
    if (is_likely(15))
        lose_answer(w);
    read_answer(w);
    if (lend_has_room_question(&w->l))
        answer_room(w);
    if (lend_has_update(&w->l) && is_likely(30))
        take_update(w);
    if (is_likely(5))
        register_again(w);
    if (is_likely(3)) {
        end_attempt(w);
        begin_attempt(w);
    }
}

static bool wants_something(const struct world *w)
{
    return w->wants[0] > 0 || w->wants[1] > 0 || w->wants[2] > 0;
}

/* The ResourceManager grants all that it knows of. */
static void drain(struct world *w)
{
    w->grants_all = true;
    for (unsigned i = 0; i < 20 && wants_something(w); i++) {
        call(w);
        read_answer(w);
        lend_put_clock_forward(70 * NM_USEC_PER_SEC);
    }
    assert_false(wants_something(w));
    w->grants_all = false;
}

/* What all histories have counted together, to show that they test something. */
static struct nm_yarn_lend_totals sum;
static uint64_t resized, had_got;

static void add_totals(const struct nm_yarn_lend_totals *t)
{
    sum.figures.granted += t->figures.granted;
    sum.figures.adopted += t->figures.adopted;
    sum.figures.lent_again += t->figures.lent_again;
    sum.figures.promoted += t->figures.promoted;
    sum.figures.preempted += t->figures.preempted;
    sum.figures.ended += t->figures.ended;
    sum.figures.lent += t->figures.lent;
    sum.attempt_ended += t->attempt_ended;
}

/* Each lent container is in `granted` once, and what became of it is counted once: those that a later attempt has taken
 * over are in `adopted` and in `attempt_ended`. */
static void check_totals(const struct world *w)
{
    struct nm_yarn_lend_totals t = {};
    struct nm_yarn_lend_view v;
    uint64_t granted = 0;

    nm_stage_lend.lending(w->l.lender, &v);
    nm_yarn_lend_view_fill(&w->base, &t);
    nm_yarn_lend_view_sum(&v, &t);
    for (int64_t i = 1; i <= w->n; i++)
        granted += w->all[i].lent && w->all[i].shown;
    assert_int_equal(t.figures.granted, granted);
    assert_int_equal(t.figures.adopted, w->adopted);
    assert_int_equal(t.attempt_ended, w->left);
    assert_int_equal(t.figures.lent_again, w->lent_again);
    assert_int_equal(granted + t.figures.lent_again, t.figures.lent + t.figures.promoted + t.figures.preempted +
                                                         t.figures.ended + (t.attempt_ended - t.figures.adopted));
    add_totals(&t);
    resized += w->resized;
    had_got += w->had_got;
}

static struct world *make_world(const char *rule)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    world = w;
    lend_set_up(&w->l, false, rule);
    w->l.repeats = true;
    w->l.on_call = on_call;
    w->l.headroom = 100000;
    w->l.has_guaranteed = has_guaranteed;
    w->answered_id = -1;
    return w;
}

static void free_world(struct world *w)
{
    lend_tear_down(&w->l);
    free(w);
}

static void test_random_histories(void **state)
{
    static const char *const rules[] = {"all", "percent:50", "overflow:5"};

    (void)state;
    for (unsigned i = 0; i < HISTORIES; i++) {
        struct world *w = make_world(rules[i % NM_ARRAY_SIZE(rules)]);

        seed = i + 1;
        lend_launch(&w->l, 1);
        for (unsigned s = 0; s < STEPS; s++)
            step(w);
        drain(w);
        settle(w);
        check_figures(w);
        check_totals(w);
        free_world(w);
    }
    print_message("lent %u, granted %" PRIu64 ", adopted %" PRIu64 ", promoted %" PRIu64 ", preempted %" PRIu64
                  ", ended %" PRIu64 ", ended with their attempt or later %" PRIu64 ", lent again %" PRIu64
                  " (%" PRIu64 " of which the node had as guaranteed)\n", sum.figures.lent,
                  sum.figures.granted, sum.figures.adopted, sum.figures.promoted, sum.figures.preempted,
                  sum.figures.ended, sum.attempt_ended, sum.figures.lent_again, had_got);
    assert_true(sum.figures.lent > 10 && sum.figures.promoted > 100 && sum.figures.preempted > 50 &&
                sum.figures.ended > 100 && sum.figures.adopted > 20 && sum.attempt_ended - sum.figures.adopted > 20);
    assert_true(resized > 100 && sum.figures.lent_again > 20 && had_got > 5);
}

/* ---- failures ------------------------------------------------------------------------------------- */

/* One allocation, event source or descriptor of a call fails. The master repeats the call, as it does for other
 * failures. It gets what it has asked for, and no more. */
static void test_a_call_without_memory_is_repeated(void **state)
{
    bool failed = true;

    (void)state;
    for (unsigned n = 1; failed; n++) {
        struct world *w = make_world("percent:50");

        lend_launch(&w->l, 1);
        w->grants_all = true;
        w->wants[0] = 4;
        w->asks[0] = true;
        add_asks(w);
        lend_begin_call(&w->l);
        fail_nth(FAIL_MEMORY | FAIL_EVENT | FAIL_OPEN, n);
        proxy_run_until(&w->l.w, proxy_is_done);
        failed = fail_stop();
        if (!w->l.w.answer) {
            w->l.response_id = -1;
            call(w);
        }
        read_answer(w);
        drain(w);
        free_world(w);
    }
}

static void fill_disk(bool full)
{
    struct rlimit rl;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &rl), 0);
    rl.rlim_cur = full ? 0 : rl.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &rl), 0);
}

/* If nmd can't save the state, the stage still forwards calls, but lends nothing more. It asks again for guaranteed
 * containers in place of the opportunistic ones that were not granted yet. */
static void test_nothing_is_lent_while_the_state_can_not_be_saved(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    fill_disk(true);
    lend_want(&l, 20, 2);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "");
    assert_non_null(strstr(proxy_log_message, "can't save what it has lent to appattempt_1410901177871_0001_000001 ("));
    assert_string_equal(lend_call(&l), "20 O * 0, 20 G * 2");
    lend_want(&l, 20, 3);
    assert_string_equal(lend_call(&l), "20 G * 3");
    fill_disk(false);
    assert_string_equal(lend_call(&l), "");
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 3");
    lend_tear_down(&l);
}

/* The saved state of the stage is invalid. The master is restored, and the log says what is lost. */
static void test_an_invalid_state_costs_only_what_was_lent(void **state)
{
    struct nm_yarn_proxy_store store;
    struct lend_fixture l;
    struct nm_yarn_stored_master m = {
        .attempt = {{TOKENS_RM, 1}, 1}, .submitter = "ada", .lending = nm_bytes_of("\x0a\x01\xff"), .master_number = 1,
        .token = {nm_bytes_of("first"), nm_bytes_of("secret"), nm_bytes_of(NM_TOKEN_KIND_AMRM), nm_bytes_of("")}};

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    l.w.proxy = nm_yarn_proxy_free(l.w.proxy);
    assert_int_equal(nm_yarn_proxy_store_open(l.w.dir, l.w.dir, &store), 0);
    assert_int_equal(nm_yarn_proxy_store_master(&store, &m), 0);
    nm_yarn_proxy_store_done(&store);
    proxy_start(&l.w);
    assert_non_null(strstr(proxy_log_message, "can't read what it has lent to appattempt_1410901177871_0001_000001"));
    assert_int_equal(lend_figures(&l).lent, 0);
    lend_tear_down(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_histories),
        cmocka_unit_test(test_a_call_without_memory_is_repeated),
        cmocka_unit_test(test_nothing_is_lent_while_the_state_can_not_be_saved),
        cmocka_unit_test(test_an_invalid_state_costs_only_what_was_lent),
    };
    sigset_t mask;

    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
