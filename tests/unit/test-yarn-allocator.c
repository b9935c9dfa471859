/* SPDX-License-Identifier: Apache-2.0 */

/* The rules of the allocator, one by one (yarn/allocator/allocator.h). An ask is a resource request of an application
 * master. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "yarn/allocator/allocator.h"

static const struct nm_yarn_alloc_limits usual = {
    .min = {1024, 1},
    .max = {8192, 4},
    .increment = {1024, 1},
    .per_heartbeat = -1,
    .queue_length = 10,
    .window_usec = 800000, /* placements older than 0.8 s are no longer counted */
};

static const struct nm_yarn_alloc_node three[] = {
    {"one", 4501, "one:8042", "/left", "", -1},
    {"two", 4502, "two:8042", "/left", NULL, -1},
    {"six", 4503, "six:8042", "/right", "", -1},
};

struct fixture {
    struct nm_yarn_allocator *a;
    uint64_t now_usec;
    const struct nm_yarn_placement *placed;
    size_t n;
    struct nm_yarn_alloc_measure measures[3]; /* of the nodes of `three` */
};

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    assert_int_equal(nm_yarn_allocator_new(&w->a), 0);
    nm_yarn_allocator_set_limits(w->a, &usual);
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, NM_ARRAY_SIZE(three)), 0);
    w->now_usec = 1000 * NM_USEC_PER_SEC;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_yarn_allocator_free(w->a);
    free(w);
    return 0;
}

static struct nm_yarn_ask want(int32_t count, const char *where)
{
    return (struct nm_yarn_ask){
        .priority = 20, .request_id = -1, .size = {512, 1}, .count = count, .where = where, .relax = true};
}

static int ask_for(struct fixture *w, struct nm_yarn_ask ask)
{
    return nm_yarn_allocator_ask(w->a, &(struct nm_yarn_alloc_request){.asks = &ask, .n_asks = 1}, w->now_usec);
}

static void ask(struct fixture *w, int32_t count, const char *where)
{
    assert_int_equal(ask_for(w, want(count, where)), 0);
}

/* Makes a heartbeat of the application master, one second after the last heartbeat. */
static size_t beat(struct fixture *w)
{
    w->now_usec += NM_USEC_PER_SEC;
    assert_int_equal(nm_yarn_allocator_allocate(w->a, w->now_usec, &w->placed, &w->n), 0);
    return w->n;
}

static void at(const struct fixture *w, size_t i, const char *host, enum nm_yarn_alloc_rule rule)
{
    assert_true(i < w->n);
    assert_string_equal(w->placed[i].node->host, host);
    assert_int_equal(w->placed[i].why.rule, rule);
}

static uint64_t outstanding(const struct fixture *w)
{
    return nm_yarn_allocator_figures(w->a).outstanding;
}

/* ---- asks --------------------------------------------------------------------------------------- */

static void test_the_count_of_an_ask_replaces_the_former_count(void **state)
{
    struct fixture *w = *state;

    ask(w, 5, "*");
    ask(w, 2, "*");
    assert_int_equal(outstanding(w), 2);
    ask(w, 0, "*");
    assert_int_equal(outstanding(w), 0);
    assert_int_equal(beat(w), 0);
    assert_int_equal(nm_yarn_allocator_figures(w->a).asks, 0);
}

static void test_asks_for_hosts_and_racks_alone_place_no_containers(void **state)
{
    struct fixture *w = *state;

    ask(w, 3, "two");
    ask(w, 3, "/left");
    assert_int_equal(beat(w), 0);
    ask(w, 1, "*");
    assert_int_equal(beat(w), 1);
    at(w, 0, "two", NM_YARN_ALLOC_NODE_LOCAL);
    assert_int_equal(beat(w), 0);
}

static void test_requested_sizes_are_rounded_and_limited(void **state)
{
    static const struct {
        struct nm_yarn_alloc_size asked, given;
    } sizes[] = {
        {{512, 1}, {1024, 1}},   {{0, 0}, {1024, 1}},     {{1025, 2}, {2048, 2}},
        {{8192, 4}, {8192, 4}},  {{9000, 9}, {8192, 4}},  {{INT64_MAX, INT32_MAX}, {8192, 4}},
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++) {
        struct nm_yarn_ask a = want(1, "*");

        a.size = sizes[i].asked;
        assert_int_equal(ask_for(w, a), 0);
        assert_int_equal(beat(w), 1);
        assert_int_equal(w->placed[0].size.memory_mib, sizes[i].given.memory_mib);
        assert_int_equal(w->placed[0].size.vcores, sizes[i].given.vcores);
    }
}

static void test_with_an_increment_of_zero_sizes_are_not_rounded(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_alloc_limits limits = usual;

    limits.increment = (struct nm_yarn_alloc_size){0, 0};
    limits.min = (struct nm_yarn_alloc_size){100, 1};
    nm_yarn_allocator_set_limits(w->a, &limits);
    ask(w, 1, "*");
    assert_int_equal(beat(w), 1);
    assert_int_equal(w->placed[0].size.memory_mib, 512);
}

static void test_invalid_asks_are_refused(void **state)
{
    char longest[NM_YARN_ALLOC_NAME_MAX + 2];
    struct fixture *w = *state;
    struct nm_yarn_ask bad[] = {want(-1, "*"), want(1, ""), want(1, NULL), want(1, longest), want(1, "*"),
                                want(1, "*"),  want(1, "*")};

    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    bad[4].size.memory_mib = -1;
    bad[5].size.vcores = -1;
    bad[6].partition = longest;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++)
        assert_int_equal(ask_for(w, bad[i]), NM_YARN_ALLOC_INVALID);
    assert_int_equal(outstanding(w), 0);
    longest[NM_YARN_ALLOC_NAME_MAX] = 0;
    assert_int_equal(ask_for(w, want(1, longest)), 0);
}

static void test_the_number_of_asks_of_one_application_master_is_limited(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_ask a = want(INT32_MAX, "*");
    const char *name[1];
    char host[16];

    for (uint32_t i = 0; i < NM_YARN_ALLOC_ASKS_MAX; i++) {
        a.request_id = i;
        assert_int_equal(ask_for(w, a), 0);
    }
    a.request_id++;
    assert_int_equal(ask_for(w, a), NM_YARN_ALLOC_TOO_MUCH);
    a.request_id = 0;
    assert_int_equal(ask_for(w, a), 0);

    for (uint32_t i = 0; i <= NM_YARN_ALLOC_LOCATIONS_MAX; i++) {
        (void)snprintf(host, sizeof host, "%s%u", i % 2 ? "/" : "", i);
        a.where = host;
        assert_int_equal(ask_for(w, a), i < NM_YARN_ALLOC_LOCATIONS_MAX ? 0 : NM_YARN_ALLOC_TOO_MUCH);
    }
    for (uint32_t i = 0; i <= NM_YARN_ALLOC_BLACKLIST_MAX; i++) {
        const struct nm_yarn_alloc_request r = {.blacklist = name, .n_blacklist = 1};

        (void)snprintf(host, sizeof host, "%u", i);
        name[0] = host;
        assert_int_equal(nm_yarn_allocator_ask(w->a, &r, 0),
                         i < NM_YARN_ALLOC_BLACKLIST_MAX ? 0 : NM_YARN_ALLOC_TOO_MUCH);
    }
    assert_int_equal(outstanding(w), (uint64_t)NM_YARN_ALLOC_ASKS_MAX * INT32_MAX);
}

/* ---- placement of containers --------------------------------------------------------------------- */

/* As with Hadoop's allocator, a host gets one container per heartbeat. Eight heartbeats place eight containers on one
 * node. */
static void test_a_host_gets_one_container_per_heartbeat(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, 1), 0);
    ask(w, 8, "*");
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(beat(w), 1);
        assert_int_equal(outstanding(w), 7 - i);
    }
    assert_int_equal(beat(w), 0);
}

static void test_with_fill_a_host_gets_several_containers_per_heartbeat(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_alloc_limits limits = usual;

    limits.fill = true;
    nm_yarn_allocator_set_limits(w->a, &limits);
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, 1), 0);
    ask(w, 8, "*");
    assert_int_equal(beat(w), 8);
    ask(w, 100, "*");
    assert_int_equal(beat(w), 10); /* after a second the queue lengths in the list include the first eight containers */

    /* All nodes get the same number of containers. */
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, 3), 0);
    ask(w, 6, "*");
    w->now_usec += NM_USEC_PER_SEC;
    assert_int_equal(beat(w), 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(w->placed[i].node->host, three[i % 3].host);
}

static void test_with_fill_containers_are_placed_while_queues_have_room(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_alloc_limits limits = usual;
    struct nm_yarn_alloc_node nodes[] = {three[0], three[1]};

    limits.fill = true;
    nodes[0].room = 3;
    nodes[1].room = 0;
    nm_yarn_allocator_set_limits(w->a, &limits);
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, nodes, 2), 0);
    ask(w, 100, "*");
    assert_int_equal(beat(w), 3);
    /* A new list at the same time doesn't contain the placed containers in its queue lengths yet. */
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, nodes, 2), 0);
    assert_int_equal(nm_yarn_allocator_allocate(w->a, w->now_usec, &w->placed, &w->n), 0);
    assert_int_equal(w->n, 0);
    assert_int_equal(beat(w), 3);

    /* If the limits of the queues are unknown, a host still gets one container per heartbeat. */
    limits.queue_length = 0;
    nm_yarn_allocator_set_limits(w->a, &limits);
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, 3), 0);
    assert_int_equal(beat(w), 3);
}

static void test_named_hosts_are_served_before_racks_and_any_host(void **state)
{
    struct fixture *w = *state;

    ask(w, 4, "*");
    ask(w, 1, "six");
    ask(w, 1, "/left");
    assert_int_equal(beat(w), 3);
    at(w, 0, "six", NM_YARN_ALLOC_NODE_LOCAL);
    at(w, 1, "one", NM_YARN_ALLOC_RACK_LOCAL);
    at(w, 2, "two", NM_YARN_ALLOC_ANY);
    assert_int_equal(w->placed[0].why.hosts, 1);
    assert_int_equal(w->placed[1].why.hosts, 0); /* this host got the container of the ask for host "six" */
    assert_int_equal(beat(w), 1);
    at(w, 0, "one", NM_YARN_ALLOC_ANY);
}

/* An application master that asks often gets containers continuously: as soon as the list can contain the former
 * placements, more containers are placed. */
static void test_a_new_list_of_nodes_permits_further_placements(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_alloc_limits limits = usual;
    size_t n = 0;

    limits.fill = true;
    limits.queue_length = 4;
    limits.window_usec = NM_USEC_PER_SEC;
    nm_yarn_allocator_set_limits(w->a, &limits);
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, 1), 0);
    for (unsigned i = 0; i < 40; i++) { /* ten seconds, with one container per heartbeat */
        ask(w, 1, "*");
        w->now_usec += 250000;
        assert_int_equal(nm_yarn_allocator_allocate(w->a, w->now_usec, &w->placed, &w->n), 0);
        n += w->n;
        ask(w, 0, "*");
    }
    assert_true(n >= 30 && n <= 40);

    /* If the clock is set back, placements don't wait until the clock reaches its old time. */
    ask(w, 100, "*");
    w->now_usec += NM_USEC_PER_SEC;
    assert_true(beat(w) == 4 && beat(w) == 0);
    w->now_usec -= 3600 * NM_USEC_PER_SEC;
    assert_int_equal(beat(w), 4);

    /* With fill off, a host gets one container per heartbeat, as with Hadoop's allocator. */
    limits.fill = false;
    nm_yarn_allocator_set_limits(w->a, &limits);
    ask(w, 100, "*");
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(nm_yarn_allocator_allocate(w->a, w->now_usec, &w->placed, &w->n), 0);
        assert_int_equal(w->n, 1);
    }
}

/* A host that asks name gets all containers of these asks in one heartbeat. */
static void test_a_host_named_in_asks_gets_several_containers_per_heartbeat(void **state)
{
    struct fixture *w = *state;

    ask(w, 5, "*");
    ask(w, 3, "six");
    assert_int_equal(beat(w), 5);
    for (size_t i = 0; i < 3; i++)
        at(w, i, "six", NM_YARN_ALLOC_NODE_LOCAL);
    at(w, 3, "one", NM_YARN_ALLOC_ANY);
    at(w, 4, "two", NM_YARN_ALLOC_ANY);
}

static void test_without_relaxed_locality_containers_are_placed_only_as_asked(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_ask any = want(2, "*"), rack = want(2, "/right");

    any.relax = rack.relax = false;
    assert_int_equal(ask_for(w, any), 0);
    assert_int_equal(ask_for(w, rack), 0);
    ask(w, 2, "elsewhere");
    assert_int_equal(beat(w), 0);
    rack.relax = true;
    assert_int_equal(ask_for(w, rack), 0);
    assert_int_equal(beat(w), 1);
    at(w, 0, "six", NM_YARN_ALLOC_RACK_LOCAL);
}

static void test_asks_match_only_nodes_of_their_partition(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_alloc_node nodes[] = {three[0], three[1]};
    struct nm_yarn_ask a = want(2, "*");

    nodes[1].partition = "gpu";
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, nodes, 2), 0);
    a.partition = "gpu";
    assert_int_equal(ask_for(w, a), 0);
    assert_int_equal(beat(w), 1);
    at(w, 0, "two", NM_YARN_ALLOC_ANY);
    assert_int_equal(w->placed[0].why.skipped[NM_YARN_SKIP_OTHER_PARTITION], 1);
    a.partition = "";
    assert_int_equal(ask_for(w, a), 0);
    assert_int_equal(beat(w), 1);
    at(w, 0, "one", NM_YARN_ALLOC_ANY);
}

static void test_blacklisted_hosts_get_no_container(void **state)
{
    static const char *const hosts[] = {"one", "six"};
    struct fixture *w = *state;
    struct nm_yarn_alloc_request r = {.blacklist = hosts, .n_blacklist = 2};

    ask(w, 5, "*");
    ask(w, 5, "one");
    assert_int_equal(nm_yarn_allocator_ask(w->a, &r, 0), 0);
    assert_int_equal(beat(w), 1);
    at(w, 0, "two", NM_YARN_ALLOC_ANY);
    assert_int_equal(w->placed[0].why.skipped[NM_YARN_SKIP_BLACKLISTED], 1);
    /* Removals from the blacklist are applied before additions to it. */
    r = (struct nm_yarn_alloc_request){
        .unblacklist = hosts, .n_unblacklist = 2, .blacklist = &hosts[1], .n_blacklist = 1};
    assert_int_equal(nm_yarn_allocator_ask(w->a, &r, 0), 0);
    assert_int_equal(nm_yarn_allocator_figures(w->a).blacklisted, 1);
    assert_int_equal(beat(w), 4);
    at(w, 0, "one", NM_YARN_ALLOC_NODE_LOCAL);
}

static void test_asks_with_a_smaller_priority_number_are_served_first(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_ask later = want(2, "*"), sooner = want(2, "*"), last = want(2, "*");
    struct nm_yarn_alloc_limits limits = usual;

    sooner.priority = 5;
    sooner.request_id = 9;
    last.request_id = 3;
    limits.per_heartbeat = 2;
    nm_yarn_allocator_set_limits(w->a, &limits);
    assert_int_equal(ask_for(w, last), 0);
    assert_int_equal(ask_for(w, later), 0);
    assert_int_equal(ask_for(w, sooner), 0);
    assert_int_equal(beat(w), 2);
    assert_int_equal(w->placed[0].priority, 5);
    assert_int_equal(w->placed[0].request_id, 9);
    assert_int_equal(w->placed[1].priority, 20);
    assert_int_equal(w->placed[1].request_id, -1);
    assert_int_equal(outstanding(w), 4);
}

/* ---- nodes, limits and explanations -------------------------------------------------------------- */

static void test_a_new_list_of_nodes_replaces_the_former_list(void **state)
{
    const struct nm_yarn_alloc_node odd[] = {
        three[2], {.host = "six", .port = 1}, {.host = "", .port = 1}, {.host = "x", .port = 0},
        {.host = NULL, .port = 1}, {.host = "bare", .port = 65535, .room = -1},
    };
    struct fixture *w = *state;

    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, odd, NM_ARRAY_SIZE(odd)), 0);
    ask(w, 9, "*");
    assert_int_equal(beat(w), 2);
    assert_int_equal(w->placed[0].node->port, 4503);
    assert_string_equal(w->placed[1].node->host, "bare");
    assert_string_equal(w->placed[1].node->web_address, "");
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, NULL, 0), 0);
    assert_int_equal(beat(w), 0);
}

static void test_without_limits_no_container_is_placed(void **state)
{
    struct fixture *w = *state;

    nm_yarn_allocator_free(w->a);
    assert_int_equal(nm_yarn_allocator_new(&w->a), 0);
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, 3), 0);
    ask(w, 1, "*");
    assert_int_equal(beat(w), 0);
    nm_yarn_allocator_set_limits(w->a, &usual);
    assert_int_equal(beat(w), 1);
}

static void test_each_placement_records_its_reason(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_alloc_why *why;
    struct nm_yarn_ask other = want(1, "*");

    other.priority = 1;
    ask(w, 1, "*");
    w->now_usec += 4 * NM_USEC_PER_SEC;
    assert_int_equal(ask_for(w, other), 0);
    assert_int_equal(beat(w), 2);
    why = &w->placed[1].why;
    assert_int_equal(w->placed[1].priority, 20);
    assert_int_equal(why->listed, 3);
    assert_int_equal(why->position, 2);
    assert_int_equal(why->skipped[NM_YARN_SKIP_USED], 1);
    assert_int_equal(why->waited_usec, 5 * NM_USEC_PER_SEC);
    assert_int_equal(w->placed[0].why.waited_usec, NM_USEC_PER_SEC);
    assert_int_equal(nm_yarn_allocator_figures(w->a).placed[NM_YARN_ALLOC_ANY], 2);
}

/* ---- measured room -------------------------------------------------------------------------------- */

static void look_up(void *userdata, const struct nm_yarn_alloc_node *node, struct nm_yarn_alloc_measure *ret)
{
    const struct fixture *w = userdata;

    for (size_t i = 0; i < NM_ARRAY_SIZE(three); i++)
        if (strcmp(node->host, three[i].host) == 0)
            *ret = w->measures[i];
}

/* The i-th node has this much unused memory now. */
static void tell(struct fixture *w, size_t i, int64_t unused_memory_mib)
{
    w->measures[i] = (struct nm_yarn_alloc_measure){.kind = NM_YARN_ALLOC_NMD, .measured = true, .admits = true,
                                                    .unused_memory_mib = unused_memory_mib, .at_usec = w->now_usec};
}

static size_t measured_beat(struct fixture *w)
{
    nm_yarn_allocator_measure(w->a, w->now_usec, look_up, w);
    return beat(w);
}

static void set_lending(struct fixture *w, bool lends_to_unknown, bool fill)
{
    struct nm_yarn_alloc_limits limits = usual;

    limits.lends = true;
    limits.lends_to_unknown = lends_to_unknown;
    limits.fill = fill;
    nm_yarn_allocator_set_limits(w->a, &limits);
}

static void test_among_equal_nodes_the_one_with_most_unused_memory_is_chosen(void **state)
{
    struct fixture *w = *state;

    tell(w, 1, 2048);
    tell(w, 2, 4096);
    ask(w, 3, "*");
    assert_int_equal(measured_beat(w), 3);
    at(w, 0, "six", NM_YARN_ALLOC_ANY);
    at(w, 1, "two", NM_YARN_ALLOC_ANY);
    at(w, 2, "one", NM_YARN_ALLOC_ANY); /* its room is unknown */
    assert_int_equal(w->placed[0].why.skipped[NM_YARN_SKIP_LESS_MEMORY], 2);
    assert_int_equal(w->placed[1].why.skipped[NM_YARN_SKIP_LESS_MEMORY], 1);
}

static void test_containers_wait_on_a_node_only_if_no_other_node_has_room(void **state)
{
    struct fixture *w = *state;

    tell(w, 0, 1023);
    tell(w, 1, 8192);
    w->measures[1].admits = false;
    tell(w, 2, 1024);
    ask(w, 3, "*");
    assert_int_equal(measured_beat(w), 3);
    at(w, 0, "six", NM_YARN_ALLOC_ANY);
    assert_int_equal(w->placed[0].why.skipped[NM_YARN_SKIP_NO_MEMORY], 1);
    assert_int_equal(w->placed[0].why.skipped[NM_YARN_SKIP_NOT_ADMITTING], 1);
    at(w, 1, "two", NM_YARN_ALLOC_ANY);
    at(w, 2, "one", NM_YARN_ALLOC_ANY);
}

static void test_a_lent_container_is_placed_only_where_it_can_start(void **state)
{
    struct fixture *w = *state;

    set_lending(w, false, true);
    tell(w, 0, 2047);
    tell(w, 1, 8192);
    w->measures[1].admits = false;
    tell(w, 2, 3072);
    ask(w, 6, "*");
    assert_int_equal(measured_beat(w), 4); /* one on the first node, and three on the last one */
    assert_int_equal(measured_beat(w), 0);
    w->now_usec += 4 * NM_USEC_PER_SEC;
    assert_int_equal(measured_beat(w), 0); /* the nodes have not said anything new */
    tell(w, 0, 1024);
    assert_int_equal(measured_beat(w), 1);
    at(w, 0, "one", NM_YARN_ALLOC_ANY);
    assert_int_equal(outstanding(w), 1);
}

/* The newest placements may not be part of a measurement yet. */
static void test_a_new_measurement_does_not_include_the_newest_placements(void **state)
{
    struct fixture *w = *state;

    set_lending(w, false, true);
    tell(w, 2, 2048);
    ask(w, 9, "*");
    assert_int_equal(measured_beat(w), 2);
    tell(w, 2, 4096); /* at the time of the placements */
    w->measures[2].at_usec++;
    assert_int_equal(measured_beat(w), 2);
    w->now_usec += 4 * NM_USEC_PER_SEC;
    tell(w, 2, 4096);
    assert_int_equal(measured_beat(w), 4);
}

static void test_a_lent_container_is_placed_only_on_nodes_that_run_nmd(void **state)
{
    struct fixture *w = *state;

    set_lending(w, false, false);
    w->measures[0] = (struct nm_yarn_alloc_measure){.kind = NM_YARN_ALLOC_OTHER};
    w->measures[1] = (struct nm_yarn_alloc_measure){.kind = NM_YARN_ALLOC_UNKNOWN, .awaited = true};
    tell(w, 2, 8192);
    ask(w, 3, "*");
    ask(w, 3, "one");
    assert_int_equal(measured_beat(w), 1);
    at(w, 0, "six", NM_YARN_ALLOC_ANY);
    assert_int_equal(w->placed[0].why.skipped[NM_YARN_SKIP_OTHER_KIND], 1);
    assert_int_equal(w->placed[0].why.skipped[NM_YARN_SKIP_UNANSWERED], 1);
    set_lending(w, true, false); /* the configuration says that all nodes run nmd, but the answer is awaited */
    assert_int_equal(measured_beat(w), 1);
    w->measures[1].awaited = false;
    assert_int_equal(measured_beat(w), 1);
    at(w, 0, "six", NM_YARN_ALLOC_ANY);
    ask(w, 2, "*");
    assert_int_equal(measured_beat(w), 2);
    at(w, 1, "two", NM_YARN_ALLOC_ANY);
}

static bool is_own(const void *userdata, int32_t priority, int64_t request_id)
{
    (void)request_id;
    return priority == *(const int32_t *)userdata;
}

/* An application to which containers are lent may ask for opportunistic containers itself, with other keys. */
static void test_containers_that_are_not_lent_are_placed_as_without_lending(void **state)
{
    static const int32_t own = 7;
    struct nm_yarn_alloc_limits limits = usual;
    struct fixture *w = *state;
    struct nm_yarn_ask a;

    limits.lends = true;
    limits.is_own = is_own;
    limits.userdata = &own;
    nm_yarn_allocator_set_limits(w->a, &limits);
    for (size_t i = 0; i < 3; i++)
        w->measures[i] = (struct nm_yarn_alloc_measure){.kind = NM_YARN_ALLOC_OTHER};
    ask(w, 3, "*"); /* lent */
    assert_int_equal(measured_beat(w), 0);
    a = want(2, "*");
    a.priority = own;
    assert_int_equal(ask_for(w, a), 0);
    assert_int_equal(measured_beat(w), 2);
    assert_int_equal(w->placed[0].priority, own);
    assert_int_equal(outstanding(w), 3);
}

static int64_t lendable(const void *userdata, const char *host, int32_t port)
{
    const int64_t *six_mib = userdata;

    assert_int_equal(port, strcmp(host, "one") == 0 ? 4501 : strcmp(host, "two") == 0 ? 4502 : 4503);
    return strcmp(host, "six") == 0 ? *six_mib : strcmp(host, "two") == 0 ? 1023 : -1;
}

/* The first heartbeat already keeps the limit, although all nodes have room for all containers. */
static void test_the_memory_that_is_lent_on_a_node_is_limited(void **state)
{
    struct nm_yarn_alloc_limits limits = usual;
    struct fixture *w = *state;
    int64_t six_mib = 2048;

    limits.lends = limits.fill = true;
    limits.lendable = lendable;
    limits.userdata = &six_mib;
    nm_yarn_allocator_set_limits(w->a, &limits);
    for (size_t i = 0; i < 3; i++)
        tell(w, i, 8192);
    ask(w, 5, "*");
    ask(w, 5, "one");
    assert_int_equal(measured_beat(w), 2);
    at(w, 0, "six", NM_YARN_ALLOC_ANY);
    at(w, 1, "six", NM_YARN_ALLOC_ANY);
    assert_int_equal(w->placed[0].why.skipped[NM_YARN_SKIP_LENT_LIMIT], 2);
    six_mib = 0;
    assert_int_equal(measured_beat(w), 0);
    limits.lends = false;
    nm_yarn_allocator_set_limits(w->a, &limits);
    assert_int_equal(measured_beat(w), 3);
}

static void test_an_old_measurement_is_not_used(void **state)
{
    struct fixture *w = *state;

    set_lending(w, false, false);
    tell(w, 2, 8192);
    ask(w, 3, "*");
    w->now_usec += NM_YARN_ALLOC_FRESH_USEC - 2 * NM_USEC_PER_SEC;
    assert_int_equal(measured_beat(w), 1);
    assert_int_equal(measured_beat(w), 0);
    w->now_usec = w->measures[2].at_usec - 2 * NM_USEC_PER_SEC; /* the clock was set back */
    assert_int_equal(measured_beat(w), 0);
}

static void test_a_new_list_of_nodes_keeps_the_measurements(void **state)
{
    struct fixture *w = *state;

    set_lending(w, false, true);
    tell(w, 2, 2048);
    ask(w, 3, "*");
    assert_int_equal(measured_beat(w), 2);
    assert_int_equal(nm_yarn_allocator_set_nodes(w->a, three, NM_ARRAY_SIZE(three)), 0);
    assert_int_equal(beat(w), 0); /* the placements still count */
    assert_int_equal(measured_beat(w), 0);
}

/* ---- state that survives a restart of nmd --------------------------------------------------------- */

static void test_a_full_table_of_asks_can_be_restored(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_ask a = want(1, "*");
    _cleanup_(nm_yarn_allocator_freep) struct nm_yarn_allocator *again = NULL;
    _cleanup_free_ uint8_t *packed = NULL, *packed_again = NULL;
    size_t size, size_again;
    char host[16];

    for (uint32_t i = 0; i < NM_YARN_ALLOC_LOCATIONS_MAX; i++) {
        a.request_id = i % NM_YARN_ALLOC_ASKS_MAX;
        (void)snprintf(host, sizeof host, "%x", i);
        a.where = i < NM_YARN_ALLOC_ASKS_MAX / 2 ? "*" : host;
        assert_int_equal(ask_for(w, a), 0);
    }
    assert_int_equal(nm_yarn_allocator_pack(w->a, &packed, &size), 0);
    assert_int_equal(nm_yarn_allocator_restore((struct nm_bytes){packed, size}, &again), 0);
    assert_int_equal(nm_yarn_allocator_pack(again, &packed_again, &size_again), 0);
    assert_int_equal(size, size_again);
    assert_int_equal(memcmp(packed, packed_again, size), 0);
}

static void test_invalid_saved_asks_are_refused(void **state)
{
    static const char *const junk[] = {
        "\x0a\x05hello",                          /* an invalid protobuf message */
        "\x12\x00",                               /* a blacklisted host without a name */
        "\x0a\x0b\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", /* an ask with a count of -1 */
        "\x0a\x07\x4a\x05\x0a\x01*\x10\x01",      /* the location "*", which stands for the total, as a host */
        "\x0a\x04\x4a\x02\x10\x01",               /* an ask for a host without a name */
    };
    static const size_t sizes[] = {7, 2, 13, 9, 6};
    struct nm_yarn_allocator *never = NULL;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(junk); i++) {
        assert_int_equal(nm_yarn_allocator_restore((struct nm_bytes){(const uint8_t *)junk[i], sizes[i]}, &never),
                         -EBADMSG);
        assert_null(never);
    }
}

static void test_each_change_of_the_asks_is_counted(void **state)
{
    struct fixture *w = *state;
    uint64_t before;

    ask(w, 1, "*");
    ask(w, 2, "one");
    before = nm_yarn_allocator_revision(w->a);
    ask(w, 1, "*");
    ask(w, 2, "one");
    assert_int_equal(nm_yarn_allocator_revision(w->a), before);
    ask(w, 1, "one");
    assert_int_not_equal(nm_yarn_allocator_revision(w->a), before);
    before = nm_yarn_allocator_revision(w->a);
    assert_int_equal(beat(w), 1);
    assert_int_not_equal(nm_yarn_allocator_revision(w->a), before);
    before = nm_yarn_allocator_revision(w->a);
    assert_int_equal(beat(w), 0);
    assert_int_equal(nm_yarn_allocator_revision(w->a), before);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_count_of_an_ask_replaces_the_former_count),
        TEST(test_asks_for_hosts_and_racks_alone_place_no_containers),
        TEST(test_requested_sizes_are_rounded_and_limited),
        TEST(test_with_an_increment_of_zero_sizes_are_not_rounded),
        TEST(test_invalid_asks_are_refused),
        TEST(test_the_number_of_asks_of_one_application_master_is_limited),
        TEST(test_a_host_gets_one_container_per_heartbeat),
        TEST(test_with_fill_a_host_gets_several_containers_per_heartbeat),
        TEST(test_with_fill_containers_are_placed_while_queues_have_room),
        TEST(test_a_new_list_of_nodes_permits_further_placements),
        TEST(test_named_hosts_are_served_before_racks_and_any_host),
        TEST(test_a_host_named_in_asks_gets_several_containers_per_heartbeat),
        TEST(test_without_relaxed_locality_containers_are_placed_only_as_asked),
        TEST(test_asks_match_only_nodes_of_their_partition),
        TEST(test_blacklisted_hosts_get_no_container),
        TEST(test_asks_with_a_smaller_priority_number_are_served_first),
        TEST(test_a_new_list_of_nodes_replaces_the_former_list),
        TEST(test_without_limits_no_container_is_placed),
        TEST(test_each_placement_records_its_reason),
        TEST(test_among_equal_nodes_the_one_with_most_unused_memory_is_chosen),
        TEST(test_containers_wait_on_a_node_only_if_no_other_node_has_room),
        TEST(test_a_lent_container_is_placed_only_where_it_can_start),
        TEST(test_a_new_measurement_does_not_include_the_newest_placements),
        TEST(test_a_lent_container_is_placed_only_on_nodes_that_run_nmd),
        TEST(test_containers_that_are_not_lent_are_placed_as_without_lending),
        TEST(test_the_memory_that_is_lent_on_a_node_is_limited),
        TEST(test_an_old_measurement_is_not_used),
        TEST(test_a_new_list_of_nodes_keeps_the_measurements),
        TEST(test_a_full_table_of_asks_can_be_restored),
        TEST(test_invalid_saved_asks_are_refused),
        TEST(test_each_change_of_the_asks_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
