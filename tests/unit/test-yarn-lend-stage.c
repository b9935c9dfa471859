/* SPDX-License-Identifier: Apache-2.0 */

/* The stage that lends opportunistic containers to a master that asks for guaranteed ones. The proxy is the real one,
 * and the ResourceManager gives the answers that a test sets. */

#include "lend-stage-fixture.h"

#include <errno.h>
#include <signal.h>

#include "util/clock.h"
#include "yarn-tokens.h"

#define MINUTE (60 * NM_USEC_PER_SEC)
#define NODE_FIRST ((INT64_C(1) << 40) - 1) /* the number of the first container that the node places */

/* ---- asks ----------------------------------------------------------------------------------------- */

/* What isn't granted for 30 seconds becomes an opportunistic ask in the next call, which the master makes without
 * asks. Asks for hosts and racks stay. The stage repeats nothing that the ResourceManager has read. */
static void test_an_ask_is_lent_after_its_time(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "overflow:30");
    lend_launch(&l, 1);
    lend_ask(&l, (struct lend_ask){.priority = 20, .count = 3, .where = "node1"});
    lend_ask(&l, (struct lend_ask){.priority = 20, .count = 3, .where = "/rack"});
    lend_want(&l, 20, 3);
    assert_string_equal(lend_call(&l), "20 G node1 3, 20 G /rack 3, 20 G * 3");
    lend_put_clock_forward(29 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "");
    lend_grant(&l, 2, false);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "2 G");
    lend_put_clock_forward(2 * NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    assert_string_equal(lend_call(&l), "");
    lend_grant(&l, 3, true);
    lend_grant(&l, 4, true);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "3 G, 4 G");
    lend_tear_down(&l);
}

static void test_a_share_is_lent_at_once(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "percent:50");
    lend_launch(&l, 1);
    lend_want(&l, 20, 4);
    lend_ask(&l, (struct lend_ask){.priority = 10, .count = 2, .memory = 1024});
    assert_string_equal(lend_call(&l), "10 G * 1 of 1024, 20 G * 2, 10 O * 1 of 1024, 20 O * 2");
    lend_tear_down(&l);
}

/* All guaranteed asks precede all opportunistic ones, except those with the count 0. The master's own opportunistic
 * asks pass, and their key is left alone. */
static void test_the_order_of_asks_is_right_for_each_resourcemanager(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 10, 1);
    lend_want(&l, 20, 2);
    lend_ask(&l, (struct lend_ask){.priority = 20, .count = 2, .where = "node1"});
    lend_ask(&l, (struct lend_ask){.priority = 30, .count = 1, .opportunistic = true});
    lend_want(&l, 30, 5);
    assert_string_equal(lend_call(&l), "10 G * 0, 20 G * 0, 20 G node1 2, 30 G * 5, 30 O * 1, 10 O * 1, 20 O * 2");
    lend_want(&l, 20, 0);
    lend_want(&l, 10, 3);
    assert_string_equal(lend_call(&l), "20 O * 0, 10 G * 0, 20 G * 0, 10 O * 3");
    lend_tear_down(&l);
}

/* The ResourceManager has an opportunistic count for each size. The former one must be withdrawn. */
static void test_a_new_size_withdraws_the_former_one(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    lend_ask(&l, (struct lend_ask){.priority = 20, .count = 2, .memory = 2048});
    assert_string_equal(lend_call(&l), "20 O * 0, 20 G * 0 of 2048, 20 O * 2 of 2048");
    lend_tear_down(&l);
}

/* For the ResourceManager, a negative count is 0. */
static void test_a_negative_count_withdraws_the_ask(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    lend_want(&l, 20, -1);
    assert_string_equal(lend_call(&l), "20 O * 0, 20 G * 0");
    assert_int_equal(lend_figures(&l).wanted, 0);
    lend_tear_down(&l);
}

/* Labels, strict locality and other resource types are left alone. Java sends memory and vcores in the map of
 * resources, too. */
static void test_some_asks_are_left_alone(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_ask(&l, (struct lend_ask){.priority = 1, .count = 1, .label = "gpu-nodes"});
    lend_ask(&l, (struct lend_ask){.priority = 2, .count = 1, .strict = true});
    lend_ask(&l, (struct lend_ask){.priority = 3, .count = 1, .other = "yarn.io/gpu"});
    lend_ask(&l, (struct lend_ask){.priority = 4, .count = 1, .label = ""});
    assert_string_equal(lend_call(&l), "4 G * 0, 1 G * 1, 2 G * 1, 3 G * 1, 4 O * 1");
    lend_tear_down(&l);
}

/* With "observe", the ResourceManager gets exactly what the master sends. The figures say what would be lent. */
static void test_observation_changes_nothing(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "observe");
    lend_launch(&l, 1);
    lend_want(&l, 20, 3);
    lend_ask(&l, (struct lend_ask){.priority = 20, .count = 3, .where = "node1"});
    assert_string_equal(lend_call(&l), "20 G * 3, 20 G node1 3");
    lend_put_clock_forward(MINUTE);
    assert_string_equal(lend_call(&l), "");
    lend_tell_room(&l, TOKENS_HOST, 8192, true);
    for (unsigned i = 1; i < 5; i++) {
        assert_string_equal(lend_call(&l), "");
        assert_int_equal(lend_figures(&l).observed, NM_MIN(i, 3u)); /* each call could lend one on each node */
    }
    lend_tear_down(&l);
}

/* ---- the rule of an application ------------------------------------------------------------------- */

static const char *ask_with(const char *rule, const char *wish, const char *type)
{
    static struct lend_fixture l;

    lend_set_up(&l, false, rule);
    l.w.wish = wish;
    l.attempt = 1;
    proxy_launch(&l.w, 1);
    lend_run_until(&l, &l.type_questions, 1);
    lend_tell_type(&l, type);
    lend_register(&l);
    lend_want(&l, 20, 4);
    (void)lend_call(&l);
    lend_tear_down(&l);
    return l.sent;
}

static void test_the_application_lowers_the_rule_and_raises_it_where_allowed(void **state)
{
    (void)state;
    assert_string_equal(ask_with("all", NULL, "MAPREDUCE"), "20 G * 0, 20 O * 4");
    assert_string_equal(ask_with("all", "percent:25", "MAPREDUCE"), "20 G * 3, 20 O * 1");
    assert_string_equal(ask_with("all", "off", "MAPREDUCE"), "20 G * 4");
    assert_string_equal(ask_with("all", "yes please", "MAPREDUCE"), "20 G * 4");
    assert_string_equal(ask_with("all", "all                                                                ", "SPARK"),
                        "20 G * 4");
    assert_string_equal(ask_with("percent:25", "all", "SPARK"), "20 G * 3, 20 O * 1");
    assert_string_equal(ask_with("allowed", NULL, "SPARK"), "20 G * 4");
    assert_string_equal(ask_with("allowed", "all", "SPARK"), "20 G * 0, 20 O * 4");
    assert_string_equal(ask_with("off", "all", "SPARK"), "20 G * 4");
    assert_string_equal(ask_with("all", NULL, "Apache Flink"), "20 G * 4");
    assert_string_equal(ask_with("all", NULL, NULL), "20 G * 4"); /* the type isn't known */
}

/* The type is asked for again until it is known. The asks that were made meanwhile are lent then. */
static void test_the_type_is_asked_for_until_it_is_known(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.attempt = 1;
    l.refuses_calls = -EHOSTUNREACH;
    proxy_launch(&l.w, 1);
    lend_run_until(&l, &l.type_questions, 1);
    lend_register(&l);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 2");
    l.refuses_calls = 0;
    (void)lend_call(&l);
    assert_int_equal(l.type_questions, 1);
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    lend_run_until(&l, &l.type_questions, 2);
    lend_tell_type(&l, "MAPREDUCE");
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 2");
    lend_put_clock_forward(11 * NM_USEC_PER_SEC);
    (void)lend_call(&l);
    assert_int_equal(l.type_questions, 2);
    lend_tear_down(&l);
}

/* The ResourceManager's own allocator also chooses Java NodeManagers. */
static void test_lending_needs_distributed_scheduling_or_permission(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.w.settings.lending.central = false;
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 2");
    lend_tear_down(&l);
}

/* The master's node places the opportunistic containers, as soon as it knows that another node has room. The
 * ResourceManager never sees the asks. */
static void test_lent_containers_are_placed_by_the_node(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, true, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    assert_string_equal(lend_call(&l), "20 G * 2");
    assert_int_equal(l.w.placed, 0);
    lend_tell_room(&l, TOKENS_HOST, 4096, true);
    for (unsigned i = 1; i < 3; i++) {
        assert_string_equal(lend_call(&l), i == 1 ? "20 G * 1" : "20 G * 0");
        assert_int_equal(l.w.placed, 1);
        assert_string_equal(lend_seen(&l), i == 1 ? "1099511627775 G" : "1099511627774 G");
    }
    lend_end(&l, NODE_FIRST, -108, "The node was full.");
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 1099511627775 -102 G Lent by nmd: The node was full.");
    lend_tear_down(&l);
}

/* Memory is unused, but a heartbeat places one container on a node, or as many as the node's queue takes. The others
 * stay in the line for guaranteed containers. */
static void test_no_more_is_lent_than_the_call_places(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, true, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 5);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 16384, true);
    assert_string_equal(lend_call(&l), "20 G * 4");
    assert_int_equal(l.w.placed, 1);
    l.w.settings.fill_nodes = true;
    l.w.settings.queue_max_length = 3;
    lend_register(&l);
    lend_want(&l, 20, 6);
    assert_string_equal(lend_call(&l), "20 G * 4"); /* the one from before may still be on its way to the queue */
    assert_int_equal(l.w.placed, 2);
    assert_string_equal(lend_call(&l), "");
    assert_int_equal(l.w.placed, 0);
    lend_tear_down(&l);
}

/* The node doesn't know yet that the other node runs nmd. Only lent containers wait for its answer. */
static void test_opportunistic_containers_of_the_master_do_not_wait_for_answers(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, true, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    lend_ask(&l, (struct lend_ask){.priority = 19, .count = 1, .opportunistic = true});
    (void)lend_call(&l);
    assert_int_equal(l.w.placed, 1);
    assert_string_equal(lend_seen(&l), "1099511627775 O");
    lend_tear_down(&l);
}

/* ---- limits --------------------------------------------------------------------------------------- */

static void test_the_memory_of_an_application_is_limited(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.w.settings.lending.application_max_mib = 1100;
    lend_launch(&l, 1);
    lend_want(&l, 20, 5);
    assert_string_equal(lend_call(&l), "20 G * 3, 20 O * 2");
    lend_grant(&l, 2, true);
    lend_grant(&l, 3, true);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "2 G, 3 G");
    assert_string_equal(lend_call(&l), "");
    lend_end(&l, 2, 0, NULL);
    (void)lend_call(&l);
    assert_string_equal(lend_call(&l), "20 G * 2, 20 O * 1");
    lend_tear_down(&l);
}

/* Where the node of the master places the containers, the first call already keeps the limit of a node. The
 * ResourceManager's smallest container has 1024 MiB. */
static void test_the_memory_on_a_node_is_limited(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, true, "all");
    l.w.settings.lending.node_max_mib = 2100;
    l.w.settings.fill_nodes = true;
    l.w.settings.queue_max_length = 10;
    lend_launch(&l, 1);
    lend_want(&l, 20, 5);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 8192, true);
    (void)lend_call(&l);
    assert_int_equal(l.w.placed, 2);
    assert_string_equal(lend_seen(&l), "1099511627775 G, 1099511627774 G");
    lend_end(&l, NODE_FIRST, 0, "ok");
    (void)lend_call(&l);
    assert_int_equal(l.w.placed, 0);
    (void)lend_call(&l);
    assert_int_equal(l.w.placed, 1);
    assert_string_equal(lend_seen(&l), "1099511627773 G");
    lend_tear_down(&l);
}

/* The node of the master knows which nodes may get the next container. */
static void test_lending_continues_on_another_node_if_one_has_its_limit(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, true, "all");
    l.w.settings.lending.node_max_mib = 1100;
    lend_launch(&l, 1);
    lend_want(&l, 20, 3);
    (void)lend_call(&l);
    lend_tell_room(&l, TOKENS_HOST, 8192, true);
    assert_string_equal(lend_call(&l), "20 G * 2"); /* these stay in the line for guaranteed containers */
    assert_int_equal(l.w.placed, 1);
    l.w.listed_host = "far";
    assert_string_equal(lend_call(&l), "");
    assert_string_equal(lend_call(&l), "");
    lend_tell_room(&l, "far", 8192, true);
    assert_string_equal(lend_call(&l), "20 G * 1");
    assert_int_equal(l.w.placed, 1);
    assert_int_equal(lend_figures(&l).lent, 2);
    lend_tear_down(&l);
}

/* The limit of a queue holds for all masters of the node together. */
static void test_the_memory_of_a_queue_is_limited(void **state)
{
    struct nm_lender other = {.memory_mib = 1024, .queue = (char *)"root.a"};
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.w.settings.lending.queue_max_mib = 2048;
    lend_launch(&l, 1);
    other.m = l.lender->m;
    nm_lender_enlist(&other);
    lend_want(&l, 20, 5);
    assert_string_equal(lend_call(&l), "20 G * 3, 20 O * 2");
    other.queue = (char *)"root.b";
    assert_string_equal(lend_call(&l), "20 G * 1, 20 O * 4");
    other.queue = (char *)"root.a";
    other.memory_mib = 4096;
    assert_string_equal(lend_call(&l), ""); /* what is asked for already stays */
    nm_lender_delist(&other);
    lend_tear_down(&l);
}

static struct nm_lender *other_master;

static void ask_meanwhile(struct lend_fixture *l, const Masters__AllocateRequest *request)
{
    (void)l, (void)request;
    other_master->memory_mib = 2488;
}

/* Another master asks for the rest of the queue's memory after the call. Then the ResourceManager grants a larger
 * container than this call has asked for. */
static void test_a_larger_container_does_not_use_what_another_master_has_asked_for(void **state)
{
    struct nm_lender other = {.queue = (char *)"root.a"};
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    l.w.settings.lending.queue_max_mib = 3000;
    lend_launch(&l, 1);
    other.m = l.lender->m;
    other_master = &other;
    l.lender->next = &other;
    lend_want(&l, 20, 1);
    lend_grant(&l, 2, true);
    l.granted[0].memory = 1024;
    l.on_call = ask_meanwhile;
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1");
    assert_string_equal(lend_seen(&l), "");
    assert_int_equal(lend_figures(&l).released, 1);
    other.memory_mib = 0;
    l.on_call = NULL;
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1; releases 2");
    lend_grant(&l, 3, true);
    l.granted[0].memory = 1024;
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "3 G");
    nm_lender_delist(&other);
    lend_tear_down(&l);
}

static void test_nothing_is_lent_for_a_while_after_a_preemption(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    (void)lend_call(&l);
    lend_end(&l, 2, -108, "x");
    (void)lend_call(&l);
    assert_string_equal(proxy_log_message, "The lent container container_1410901177871_0001_01_000002 of "
                                           "appattempt_1410901177871_0001_000001 was preempted by its node.");
    lend_want(&l, 20, 1);
    assert_string_equal(lend_call(&l), "20 O * 0, 20 G * 1");
    lend_put_clock_forward(MINUTE + NM_USEC_PER_SEC);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1");
    lend_tear_down(&l);
}

/* The kernel has killed the container, because the node was out of memory. */
static void test_a_kill_by_the_kernel_is_a_preemption(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    (void)lend_call(&l);
    lend_end(&l, 2, -102, "out of memory");
    lend_end(&l, 9, -102, "not lent");
    l.repeats = true;
    for (unsigned i = 0; i < 2; i++) {
        (void)(i == 0 ? lend_call(&l) : lend_call_again(&l));
        assert_string_equal(lend_seen(&l), "; ended 2 -102 G out of memory, 9 -102 O not lent");
        assert_int_equal(lend_figures(&l).preempted, 1);
        assert_int_equal(lend_figures(&l).ended, 0);
    }
    l.repeats = false;
    lend_want(&l, 20, 1);
    assert_string_equal(lend_call(&l), "20 O * 0, 20 G * 1");
    lend_tear_down(&l);
}

/* While a lent container waits in its node's queue, no further one is asked for. The node is asked for it. */
static void test_nothing_is_lent_while_a_lent_container_waits(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    (void)lend_call(&l);
    lend_run_until(&l, &l.room_questions, 1);
    assert_int_equal(l.n_asked, 1);
    assert_int_equal(l.asked_numbers[0], 2);
    lend_tell_room(&l, TOKENS_HOST, 0, false);
    lend_put_clock_forward(10 * NM_USEC_PER_SEC);
    lend_want(&l, 20, 1);
    assert_string_equal(lend_call(&l), "20 O * 0, 20 G * 1");
    lend_run_until(&l, &l.room_questions, 2);
    lend_tell_room(&l, TOKENS_HOST, 0, true);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 1");
    lend_tear_down(&l);
}

/* ---- what the master sees ------------------------------------------------------------------------- */

/* A preemption of a lent container is one that frameworks don't count. Other ends, and the ends of other containers,
 * stay as they are. */
static void test_ends_are_shown_as_those_of_guaranteed_containers(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 3);
    (void)lend_call(&l);
    for (int64_t i = 2; i < 5; i++)
        lend_grant(&l, i, true);
    (void)lend_call(&l);
    assert_string_equal(proxy_log_message,
                        "Lends to appattempt_1410901177871_0001_000001 (queue root.a): the first container is "
                        "container_1410901177871_0001_01_000002 with 512 MiB on node07. The rule is all.");
    lend_end(&l, 2, -108, "Container killed.");
    lend_end(&l, 3, -108, NULL);
    lend_end(&l, 4, 143, "Killed.");
    lend_end(&l, 9, -108, "not lent");
    l.repeats = true;
    for (unsigned i = 0; i < 2; i++) { /* a repeated answer is changed again, and counted once */
        (void)(i == 0 ? lend_call(&l) : lend_call_again(&l));
        assert_string_equal(lend_seen(&l), "; ended 2 -102 G Lent by nmd: Container killed., 3 -102 G Lent by nmd: , "
                                           "4 143 G Killed., 9 -108 O not lent");
        assert_int_equal(lend_figures(&l).preempted, 2);
        assert_int_equal(lend_figures(&l).ended, 1);
        assert_int_equal(lend_figures(&l).lent, 0);
    }
    lend_tear_down(&l);
}

/* The master calls again with the same response id, since the answer was lost. The ResourceManager repeats its answer
 * and doesn't read the call. So the counts of the repeated call are sent again. */
static void test_a_repeated_answer_is_counted_once(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 4);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    lend_grant(&l, 3, true);
    l.repeats = true;
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "2 G, 3 G");
    lend_want(&l, 20, 5); /* 4 and one more: the master hasn't seen the two */
    (void)lend_call_again(&l);
    assert_string_equal(lend_seen(&l), "2 G, 3 G");
    assert_int_equal(lend_figures(&l).lent, 2);
    assert_int_equal(lend_figures(&l).wanted, 3);
    l.repeats = false;
    l.n_granted = 0;
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 3");
    lend_tear_down(&l);
}

/* The master lowers its count while the ResourceManager grants. The surplus is hidden and released, until the end of
 * the container has been reported. */
static void test_a_surplus_container_is_hidden_and_released(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    (void)lend_call(&l);
    lend_want(&l, 20, 1);
    for (int64_t i = 2; i < 4; i++)
        lend_grant(&l, i, true);
    l.repeats = true;
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "2 G");
    (void)lend_call_again(&l);
    assert_string_equal(lend_seen(&l), "2 G");
    l.repeats = false;
    l.n_granted = 0;
    l.w.refuses = NM_EXCEPTION_RETRY;
    assert_non_null(strstr(lend_call(&l), "; releases 3"));
    l.w.refuses = NULL;
    lend_restart(&l);
    assert_non_null(strstr(lend_call_again(&l), "; releases 3"));
    assert_string_equal(lend_seen(&l), "");
    /* after a restart, the ResourceManager may have answered an earlier call, so the stage repeats the release */
    assert_non_null(strstr(lend_call(&l), "; releases 3"));
    lend_end(&l, 3, -100, "released");
    assert_string_equal(lend_call(&l), "");
    assert_string_equal(lend_seen(&l), "");
    lend_end(&l, 2, 0, "ok");
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 2 0 G ok");
    assert_int_equal(l.lender->n_hidden, 0);
    lend_tear_down(&l);
}

/* Without opportunistic allocation, the ResourceManager grants a guaranteed container to an opportunistic ask. Lending
 * switches itself off. The log says so once. */
static void test_a_resourcemanager_without_opportunistic_containers(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 3);
    assert_string_equal(lend_call(&l), "20 G * 0, 20 O * 3");
    lend_grant(&l, 2, false);
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "2 G");
    assert_string_equal(lend_call(&l), "20 G * 2");
    assert_non_null(strstr(proxy_log_message,
                           "Nothing can be lent to appattempt_1410901177871_0001_000001: the ResourceManager grants "
                           "guaranteed containers only."));
    lend_want(&l, 20, 5);
    assert_string_equal(lend_call(&l), "20 G * 5");
    lend_tear_down(&l);
}

/* ---- attempts ------------------------------------------------------------------------------------- */

/* A second attempt on the same node. The books of the first one say which of its containers are lent: 2, and not 3. */
static void test_containers_of_the_attempt_before_are_known(void **state)
{
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "all");
    lend_launch(&l, 1);
    lend_want(&l, 20, 1);
    (void)lend_call(&l);
    lend_grant(&l, 2, true);
    (void)lend_call(&l);
    l.previous[l.n_previous++] = (struct lend_container){.number = 2, .attempt = 1, .opportunistic = true};
    l.previous[l.n_previous++] = (struct lend_container){.number = 3, .attempt = 1, .opportunistic = true};
    l.previous[l.n_previous++] = (struct lend_container){.number = 4, .attempt = 1};
    lend_launch(&l, 2);
    assert_string_equal(lend_seen_previous(&l), "2 G, 3 O, 4 G");
    assert_int_equal(lend_figures(&l).lent, 1);
    assert_int_equal(l.type_questions, 1);
    lend_restart(&l);
    l.previous[l.n_previous++] = (struct lend_container){.number = 2, .attempt = 1, .opportunistic = true};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; previous 2 G");
    assert_int_equal(lend_figures(&l).lent, 1);
    l.ended[l.n_ended++] = (struct lend_end){.number = 2, .status = -108, .diagnostics = "x", .attempt = 1};
    (void)lend_call(&l);
    assert_string_equal(lend_seen(&l), "; ended 2 -102 G Lent by nmd: x");
    lend_tear_down(&l);
}

/* The first attempt ran on another node, so its books aren't here. */
static void test_containers_of_an_attempt_elsewhere_count_as_lent(void **state)
{
    struct lend_fixture l;

    (void)state;
    for (unsigned off = 0; off < 2; off++) {
        lend_set_up(&l, false, off ? "off" : "all");
        l.attempt = 2;
        l.previous[l.n_previous++] = (struct lend_container){.number = 2, .attempt = 1, .opportunistic = true};
        proxy_launch(&l.w, 2);
        lend_run_until(&l, &l.type_questions, 1);
        lend_tell_type(&l, "MAPREDUCE");
        lend_register(&l);
        assert_string_equal(lend_seen_previous(&l), off ? "2 O" : "2 G");
        assert_int_equal(lend_figures(&l).lent, !off);
        lend_tear_down(&l);
    }
}

/* ---- status --------------------------------------------------------------------------------------- */

static void test_the_status_shows_the_books(void **state)
{
    struct nm_yarn_lend_view v;
    struct lend_fixture l;

    (void)state;
    lend_set_up(&l, false, "percent:50");
    lend_launch(&l, 1);
    lend_want(&l, 20, 2);
    (void)lend_call(&l);
    nm_stage_lend.lending(l.lender, &v);
    assert_int_equal(nm_lend_figures(v.books).asked, 1);
    assert_int_equal(v.choice.source, NM_YARN_LENDING_CLUSTER);
    assert_int_equal(v.choice.rule.percent, 50);
    assert_string_equal(v.queue, "root.a");
    assert_string_equal(v.type, "MAPREDUCE");
    assert_true(v.now_usec > 0);
    assert_null(v.former);
    lend_tear_down(&l);
}

static void test_the_stage_is_the_first_of_the_chain(void **state)
{
    char *last[] = {(char *)FORWARD, NULL};
    const struct nm_yarn_settings s = {.distributed = true, .proxy_stages = last, .lending.enabled = true};
    const struct nm_stage_type *types[NM_STAGES_MAX];
    char *message = NULL;
    size_t n;

    (void)state;
    assert_int_equal(nm_stages_choose(&s, types, &n, &message), 0);
    assert_int_equal(n, 3);
    assert_string_equal(types[0]->name, "lend");
    assert_string_equal(types[1]->name, "distribute");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_ask_is_lent_after_its_time),
        cmocka_unit_test(test_a_share_is_lent_at_once),
        cmocka_unit_test(test_the_order_of_asks_is_right_for_each_resourcemanager),
        cmocka_unit_test(test_a_new_size_withdraws_the_former_one),
        cmocka_unit_test(test_a_negative_count_withdraws_the_ask),
        cmocka_unit_test(test_some_asks_are_left_alone),
        cmocka_unit_test(test_observation_changes_nothing),
        cmocka_unit_test(test_the_application_lowers_the_rule_and_raises_it_where_allowed),
        cmocka_unit_test(test_the_type_is_asked_for_until_it_is_known),
        cmocka_unit_test(test_lending_needs_distributed_scheduling_or_permission),
        cmocka_unit_test(test_lent_containers_are_placed_by_the_node),
        cmocka_unit_test(test_no_more_is_lent_than_the_call_places),
        cmocka_unit_test(test_opportunistic_containers_of_the_master_do_not_wait_for_answers),
        cmocka_unit_test(test_the_memory_of_an_application_is_limited),
        cmocka_unit_test(test_the_memory_on_a_node_is_limited),
        cmocka_unit_test(test_lending_continues_on_another_node_if_one_has_its_limit),
        cmocka_unit_test(test_the_memory_of_a_queue_is_limited),
        cmocka_unit_test(test_a_larger_container_does_not_use_what_another_master_has_asked_for),
        cmocka_unit_test(test_nothing_is_lent_for_a_while_after_a_preemption),
        cmocka_unit_test(test_a_kill_by_the_kernel_is_a_preemption),
        cmocka_unit_test(test_nothing_is_lent_while_a_lent_container_waits),
        cmocka_unit_test(test_ends_are_shown_as_those_of_guaranteed_containers),
        cmocka_unit_test(test_a_repeated_answer_is_counted_once),
        cmocka_unit_test(test_a_surplus_container_is_hidden_and_released),
        cmocka_unit_test(test_a_resourcemanager_without_opportunistic_containers),
        cmocka_unit_test(test_containers_of_the_attempt_before_are_known),
        cmocka_unit_test(test_containers_of_an_attempt_elsewhere_count_as_lent),
        cmocka_unit_test(test_the_status_shows_the_books),
        cmocka_unit_test(test_the_stage_is_the_first_of_the_chain),
    };
    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
