/* SPDX-License-Identifier: Apache-2.0 */

/* The asks (resource requests) in a call of an application master that the node itself handles: their execution type,
 * their number, and the account from which their memory is taken. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "each-arena-size.h"
#include "remove-tree.h"
#include "util/clock.h"
#include "yarn-tokens.h"
#include "yarn/proxy/distribute-state.h"

/* twice the maximum number of asks */
#define MOST (2 * (NM_YARN_ALLOC_ASKS_MAX + NM_YARN_ALLOC_LOCATIONS_MAX))

struct fixture {
    struct nm_distribute d;
    struct nm_stage_call c;
    struct nm_quota *quota;
    Masters__AllocateRequest request;
    Masters__ExecutionTypeAsked opportunistic;
    Hadoop__Resource size;
    Masters__Ask *asks, **list;
};

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    assert_int_equal(nm_yarn_allocator_new(&w->d.allocator), 0);
    assert_int_equal(nm_quota_new(32 * NM_MIB, &w->quota), 0);
    assert_int_equal(nm_quota_account_of(w->quota, "a master", false, &w->c.account), 0);
    nm_arena_init(&w->c.arena, 8 * NM_MIB, w->c.account);
    w->request = (Masters__AllocateRequest)MASTERS__ALLOCATE_REQUEST__INIT;
    w->opportunistic = (Masters__ExecutionTypeAsked)MASTERS__EXECUTION_TYPE_ASKED__INIT;
    w->opportunistic.execution_type = NM_DISTRIBUTE_OPPORTUNISTIC;
    w->size = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    w->size.memory = 512;
    w->size.vcores = 1;
    w->c.request = &w->request.base;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_arena_done(&w->c.arena);
    assert_int_equal(nm_quota_account_bytes(w->c.account), 0);
    nm_quota_account_unref(w->c.account);
    nm_quota_free(w->quota);
    nm_yarn_allocator_free(w->d.allocator);
    free(w->asks);
    free(w->list);
    free(w);
    return 0;
}

/* Makes n asks for one container each. The last asks are guaranteed, and the others are opportunistic. */
static void ask(struct fixture *w, size_t n, size_t guaranteed)
{
    w->asks = calloc(n, sizeof *w->asks);
    w->list = calloc(n, sizeof(*w->list));
    assert_true(w->asks && w->list);
    for (size_t i = 0; i < n; i++) {
        w->asks[i] = (Masters__Ask)MASTERS__ASK__INIT;
        w->asks[i].where = (char *)"*";
        w->asks[i].resource = &w->size;
        w->asks[i].count = 1;
        w->asks[i].request_id = (int64_t)(i % 2);
        w->asks[i].type = i < n - guaranteed ? &w->opportunistic : NULL;
        w->list[i] = &w->asks[i];
    }
    w->request.asks = w->list;
    w->request.n_asks = n;
}

static uint64_t outstanding(const struct fixture *w)
{
    return nm_yarn_allocator_figures(w->d.allocator).outstanding;
}

static void test_asks_are_split_by_execution_type(void **state)
{
    Masters__AllocateRequest *rest;
    struct fixture *w = *state;
    struct nm_exception why;

    ask(w, 5, 3);
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), 0);
    assert_int_equal(outstanding(w), 2);
    assert_int_equal(nm_distribute_split(&w->c, &rest), 0);
    assert_int_equal(rest->n_asks, 3);
    assert_ptr_equal(rest->asks[0], &w->asks[2]);
    assert_true(nm_quota_account_bytes(w->c.account) > 0);
}

/* The maximum number of asks is accepted, even if many of them are equal. Guaranteed asks don't count. */
static void test_the_maximum_number_of_asks_is_accepted(void **state)
{
    struct fixture *w = *state;
    struct nm_exception why;

    ask(w, MOST + 100, 100);
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), 0);
    assert_int_equal(outstanding(w), 2);
}

/* With one ask more than the maximum, no ask is accepted and no memory is charged. */
static void test_one_ask_more_than_the_maximum_refuses_the_call(void **state)
{
    struct fixture *w = *state;
    struct nm_exception why;

    ask(w, MOST + 1, 0);
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), NM_STAGE_E_REFUSED);
    assert_non_null(strstr(why.message, "The request is too large"));
    assert_int_equal(outstanding(w), 0);
    assert_int_equal(nm_quota_account_bytes(w->c.account), 0);
}

/* Other calls have taken all of the memory. The call fails with a temporary error, so the application master repeats
 * it. */
static void test_a_call_fails_temporarily_while_other_calls_use_all_memory(void **state)
{
    struct nm_quota_account *other;
    struct fixture *w = *state;
    struct nm_exception why;
    size_t held = 0;

    assert_int_equal(nm_quota_account_of(w->quota, "others", false, &other), 0);
    for (size_t size = 8 * NM_MIB; size > 0; size /= 2)
        for (; nm_quota_account_take(other, size); held += size)
            ;
    while (nm_quota_account_take(w->c.account, 1024))
        ;
    ask(w, 5000, 0);
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), -ENOMEM);
    assert_int_equal(outstanding(w), 0);
    nm_quota_account_give(other, held);
    nm_quota_account_unref(other);
    nm_quota_account_give(w->c.account, nm_quota_account_bytes(w->c.account));
}

/* ---- invalid asks and delivered containers --------------------------------------------------- */

static void test_invalid_asks_are_refused(void **state)
{
    struct fixture *w = *state;
    struct nm_exception why;

    ask(w, 2, 0);
    w->asks[1].count = -1;
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), NM_STAGE_E_REFUSED);
    assert_non_null(strstr(why.class_name, "InvalidResourceRequestException"));
    assert_non_null(strstr(why.message, "one of 2 opportunistic requests has a negative number"));
    assert_int_equal(outstanding(w), 1); /* the valid ask is kept, and a repetition of it has the same meaning */
    w->asks[1].count = 1;
    w->asks[1].where = (char *)"";
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), NM_STAGE_E_REFUSED);
    assert_int_equal(outstanding(w), 1);
    w->asks[1].where = NULL; /* NULL stands for any host */
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), 0);
    assert_int_equal(outstanding(w), 2);
}

static void test_additions_to_the_blacklist_are_kept_until_removed(void **state)
{
    char *names[] = {(char *)"a.host", (char *)"b.host"};
    Masters__Blacklist list = MASTERS__BLACKLIST__INIT;
    struct fixture *w = *state;
    struct nm_exception why;

    w->request.blacklist = &list;
    list.add = names;
    list.n_add = 2;
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), 0);
    assert_int_equal(nm_yarn_allocator_figures(w->d.allocator).blacklisted, 2);
    list.n_add = 0;
    list.remove = names;
    list.n_remove = 1;
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, NULL, 0, &why), 0);
    assert_int_equal(nm_yarn_allocator_figures(w->d.allocator).blacklisted, 1);
}

/* An ask for four containers was made before the application master received one of them. Only this container is
 * subtracted from the ask, and no other container. */
static void test_containers_delivered_since_an_ask_are_subtracted_from_it(void **state)
{
    Hadoop__Priority priorities[2] = {HADOOP__PRIORITY__INIT, HADOOP__PRIORITY__INIT};
    Hadoop__Resource small = HADOOP__RESOURCE__INIT, narrow;
    Masters__Container made[7], *delivered[7];
    struct fixture *w = *state;
    struct nm_exception why;

    small.memory = 100;
    small.vcores = 1;
    narrow = w->size;
    narrow.vcores = 0;
    priorities[1].priority = 1;
    for (size_t i = 0; i < NM_ARRAY_SIZE(made); i++) {
        made[i] = (Masters__Container)MASTERS__CONTAINER__INIT;
        made[i].priority = &priorities[0];
        made[i].resource = &w->size;
        made[i].request_id = 0;
        delivered[i] = &made[i];
    }
    made[0].priority = &priorities[1];
    made[1].priority = NULL;
    made[2].request_id = 9;
    made[3].resource = NULL;
    made[4].resource = &small;
    made[5].resource = &narrow;
    ask(w, 2, 0);
    w->asks[0].count = 4;
    w->asks[1].request_id = 0;
    w->asks[1].where = (char *)"a.rack"; /* the location of the same four containers */
    assert_int_equal(nm_distribute_ask(&w->d, &w->c, delivered, NM_ARRAY_SIZE(delivered), &why), 0);
    assert_int_equal(outstanding(w), 3);
}

/* ---- lack of memory in a call ------------------------------------------------------------------- */

/* Calls `operation` with memory from this arena. */
static int in(struct nm_arena *arena, struct fixture *w, int (*operation)(struct fixture *w))
{
    const struct nm_arena before = w->c.arena;
    int r;

    w->c.arena = *arena;
    w->c.arena.allocator.allocator_data = &w->c.arena;
    r = operation(w);
    *arena = w->c.arena;
    arena->allocator.allocator_data = arena;
    w->c.arena = before;
    return r;
}

static int ask_now(struct fixture *w)
{
    struct nm_exception why;

    return nm_distribute_ask(&w->d, &w->c, NULL, 0, &why);
}

static int split_now(struct fixture *w)
{
    Masters__AllocateRequest *rest;

    return nm_distribute_split(&w->c, &rest);
}

static int grant_now(struct fixture *w)
{
    static const struct nm_yarn_alloc_node node = {"a.host", 1, "a.host:2", "/r", "", 5};
    const struct nm_yarn_placement p = {&node, {512, 1}, 1, -1, {.rule = NM_YARN_ALLOC_ANY}};
    Masters__AllocateAnswer answer = MASTERS__ALLOCATE_ANSWER__INIT;
    Masters__Container *m = NULL;
    int r = nm_distribute_grant(&w->d, &w->c, &p, &m);

    if (r < 0)
        assert_null(m);
    else
        r = nm_distribute_add_node_tokens(&w->d, &w->c, &m, 1, &answer);
    assert_int_equal(answer.n_node_tokens, r == 0);
    return r;
}

static int ask_in(struct nm_arena *arena, void *userdata)
{
    return in(arena, userdata, ask_now);
}

static int split_in(struct nm_arena *arena, void *userdata)
{
    return in(arena, userdata, split_now);
}

static int grant_in(struct nm_arena *arena, void *userdata)
{
    return in(arena, userdata, grant_now);
}

static void test_after_each_failed_allocation_the_asks_are_unchanged(void **state)
{
    char path[] = "/tmp/nmd-test-asks.XXXXXX";
    struct nm_stage_context around = {};
    struct nm_yarn_cluster_keys keys = {};
    struct nm_stage_master m = {.context = &around, .submitter = (char *)"ada"};
    struct fixture *w = *state;
    int dir_fd;

    assert_non_null(mkdtemp(path));
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(nm_yarn_proxy_stats_new(dir_fd, &around.stats), 0);
    tokens_cluster(&keys);
    around.signer.keys = &keys;
    w->d.m = &m;
    ask(w, 5, 3);
    assert_true(each_room(ask_in, w) > 16);
    assert_true(each_room(split_in, w) > 16);
    assert_true(each_room(grant_in, w) > 500);
    nm_yarn_proxy_stats_free(around.stats);
    (void)close(dir_fd);
    remove_tree(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_asks_are_split_by_execution_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_maximum_number_of_asks_is_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_ask_more_than_the_maximum_refuses_the_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_call_fails_temporarily_while_other_calls_use_all_memory,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_asks_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_additions_to_the_blacklist_are_kept_until_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_containers_delivered_since_an_ask_are_subtracted_from_it,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_after_each_failed_allocation_the_asks_are_unchanged, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
