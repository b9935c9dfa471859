/* SPDX-License-Identifier: Apache-2.0 */

/* The table of the nodes' rooms, with a node over loopback. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>

#include "fake-yarn-node.h"
#include "loopback.h"
#include "run-until.h"
#include "yarn-tokens.h"
#include "yarn/cm-protocol/cm-server.h"
#include "yarn/cm-protocol/observers.h"
#include "yarn/proxy/node-rooms.h"

#define HOST "127.0.0.1"
#define WITHIN (20 * NM_USEC_PER_SEC)

struct fixture {
    sd_event *event;
    struct nm_yarn_settings settings;
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_signer signer;
    struct nm_peers *peers;
    struct nm_node_rooms *rooms;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_node node;
    struct nm_yarn_cm_server *cm_server;
    int32_t port;
};

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);
    struct nm_peers_params params;
    sigset_t child;
    uint16_t port = 0;
    int fd;

    assert_non_null(w);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    assert_true(sd_event_new(&w->event) >= 0);
    tokens_cluster(&w->keys);
    w->signer.keys = &w->keys;
    fd = listen_on_loopback(&port);
    w->port = port;
    assert_int_equal(nm_yarn_keyring_new(&w->keys, &w->keyring), 0);
    assert_int_equal(nm_yarn_used_new(&w->used), 0);
    assert_int_equal(nm_yarn_cm_server_new(w->event, fd, w->keyring, w->used, &w->node, &w->cm_server), 0);
    nm_yarn_cm_server_set_node(w->cm_server, HOST, w->port);
    params = (struct nm_peers_params){.event = w->event, .settings = &w->settings, .signer = &w->signer};
    assert_int_equal(nm_peers_new(&params, &w->peers), 0);
    assert_int_equal(nm_node_rooms_new(w->peers, true, &w->rooms), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_node_rooms_free(w->rooms);
    nm_peers_free(w->peers);
    nm_yarn_cm_server_free(w->cm_server);
    nm_yarn_used_free(w->used);
    nm_yarn_keyring_free(w->keyring);
    sd_event_unref(w->event);
    free(w);
    return 0;
}

static struct nm_yarn_alloc_measure look_up(struct fixture *w, const char *host, int32_t port)
{
    const struct nm_peer_caller caller = {.attempt = {{TOKENS_RM, 1}, 1}, .submitter = "ada"};
    struct nm_yarn_alloc_measure m = {};

    nm_node_rooms_look_up(w->rooms, &caller, host, port, &m);
    return m;
}

static bool is_measured(struct fixture *w)
{
    return look_up(w, HOST, w->port).measured;
}

static void test_an_unknown_node_is_asked_and_its_answer_is_awaited(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_alloc_measure m;

    w->node.room = (struct nm_yarn_node_room){.unused_memory_mib = 3000, .admits = true};
    m = look_up(w, HOST, w->port);
    assert_true(m.awaited);
    assert_false(m.measured);
    assert_int_equal(m.kind, NM_YARN_ALLOC_UNKNOWN);
    RUN_UNTIL_WITHIN(w, WITHIN, is_measured(w));
    m = look_up(w, HOST, w->port);
    assert_false(m.awaited);
    assert_true(m.admits);
    assert_int_equal(m.unused_memory_mib, 3000);
    assert_int_equal(m.kind, NM_YARN_ALLOC_NMD);
    assert_in_range(nm_steady_usec() - m.at_usec, 0, WITHIN);
}

/* The first answer holds until the node is asked again, after some seconds. */
static void test_a_node_is_not_asked_again_immediately(void **state)
{
    struct fixture *w = *state;

    w->node.room.unused_memory_mib = 1000;
    RUN_UNTIL_WITHIN(w, WITHIN, is_measured(w));
    w->node.room.unused_memory_mib = 2000;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(look_up(w, HOST, w->port).unused_memory_mib, 1000);
        assert_true(sd_event_run(w->event, NM_USEC_PER_MSEC) >= 0);
    }
    RUN_UNTIL_WITHIN(w, WITHIN, look_up(w, HOST, w->port).unused_memory_mib == 2000);
}

static void test_an_unreachable_node_is_awaited_for_a_limited_time(void **state)
{
    struct fixture *w = *state;
    uint16_t port = 0;

    (void)nm_close(listen_on_loopback(&port)); /* no server listens on this port */
    assert_true(look_up(w, HOST, port).awaited);
    RUN_UNTIL_WITHIN(w, WITHIN, !look_up(w, HOST, port).awaited);
    assert_false(look_up(w, HOST, port).measured);
    assert_int_equal(look_up(w, HOST, port).kind, NM_YARN_ALLOC_UNKNOWN);
}

static int64_t claimed_mib(struct fixture *w)
{
    return look_up(w, HOST, w->port).claimed_mib;
}

/* What one master has placed is claimed for all masters, until the node has answered some seconds later. */
static void test_placements_are_claimed_until_an_answer_includes_them(void **state)
{
    struct fixture *w = *state;

    nm_node_rooms_claim(w->rooms, HOST, w->port, 100); /* the node isn't known yet */
    w->node.room.unused_memory_mib = 9000;
    assert_int_equal(claimed_mib(w), 0);
    nm_node_rooms_claim(w->rooms, HOST, w->port, 1000);
    RUN_UNTIL_WITHIN(w, WITHIN, is_measured(w));
    assert_int_equal(claimed_mib(w), 1000); /* its container had no time to start */
    for (int i = 0; i < 50; i++)
        nm_node_rooms_claim(w->rooms, HOST, w->port, 10);
    nm_node_rooms_claim(w->rooms, HOST, w->port + 1, 7777);
    assert_int_equal(claimed_mib(w), 1500);
    RUN_UNTIL_WITHIN(w, WITHIN, claimed_mib(w) == 0);
    assert_true(look_up(w, HOST, w->port).measured);
}

static void test_observed_memory_counts_until_it_is_taken_back(void **state)
{
    struct fixture *w = *state;

    nm_node_rooms_observe(w->rooms, HOST, w->port, 100); /* not known yet */
    RUN_UNTIL_WITHIN(w, WITHIN, is_measured(w));
    assert_int_equal(look_up(w, HOST, w->port).observed_mib, 0);
    nm_node_rooms_observe(w->rooms, HOST, w->port, 2048);
    nm_node_rooms_observe(w->rooms, HOST, w->port, 1024);
    assert_int_equal(look_up(w, HOST, w->port).observed_mib, 3072);
    assert_int_equal(claimed_mib(w), 0);
    nm_node_rooms_observe(w->rooms, HOST, w->port, -2048);
    assert_int_equal(look_up(w, HOST, w->port).observed_mib, 1024);
    nm_node_rooms_observe(w->rooms, HOST, w->port, -4096);
    assert_int_equal(look_up(w, HOST, w->port).observed_mib, 0);
}

static void look_up_by(struct nm_node_rooms *rooms, int32_t port, struct nm_yarn_alloc_measure *ret)
{
    const struct nm_peer_caller caller = {.attempt = {{TOKENS_RM, 2}, 1}, .submitter = "bob"};

    nm_node_rooms_look_up(rooms, &caller, HOST, port, ret);
}

/* The proxies of two nodes observe. The node tells each of them what the other one would have lent there. */
static void test_observed_memory_is_told_to_other_nodes(void **state)
{
    struct nm_node_rooms *others;
    struct nm_yarn_alloc_measure m;
    struct fixture *w = *state;

    assert_int_equal(nm_node_rooms_new(w->peers, true, &others), 0);
    RUN_UNTIL_WITHIN(w, WITHIN, is_measured(w));
    nm_node_rooms_observe(w->rooms, HOST, w->port, 2048);
    RUN_UNTIL_WITHIN(w, WITHIN, (look_up_by(others, w->port, &m), m.measured));
    nm_node_rooms_observe(others, HOST, w->port, 1024);
    RUN_UNTIL_WITHIN(w, WITHIN, (look_up(w, HOST, w->port), look_up_by(others, w->port, &m), m.observed_mib == 3072));
    RUN_UNTIL_WITHIN(w, WITHIN, look_up(w, HOST, w->port).observed_mib == 3072);
    nm_node_rooms_observe(others, HOST, w->port, -1024);
    RUN_UNTIL_WITHIN(w, WITHIN, (look_up_by(others, w->port, &m), look_up(w, HOST, w->port).observed_mib == 2048));
    nm_node_rooms_free(others);
}

static void test_observers_are_bounded(void **state)
{
    struct nm_observers o = {};

    (void)state;
    for (uint64_t i = 1; i <= 2 * NM_OBSERVERS_MAX; i++)
        (void)nm_observers_tell(&o, i, 10, i);
    assert_int_equal(nm_observers_tell(&o, 1, 0, 200), 10 * NM_OBSERVERS_MAX);
    assert_int_equal(nm_observers_tell(&o, 2 * NM_OBSERVERS_MAX, INT64_MAX, 200), 10 * (NM_OBSERVERS_MAX - 1));
    assert_int_equal(nm_observers_tell(&o, 1, -5, 200), 10 * (NM_OBSERVERS_MAX - 1) + (int64_t)INT32_MAX);
    assert_int_equal(nm_observers_tell(&o, 1, 7, 201 + NM_OBSERVERS_USEC), 0);
    assert_int_equal(nm_observers_tell(&o, 1, 0, 201 + NM_OBSERVERS_USEC), 0); /* its own number doesn't count */
}

static void test_the_number_of_nodes_is_limited(void **state)
{
    struct nm_yarn_cluster_keys none = {};
    struct fixture *w = *state;
    char host[32];

    w->signer = (struct nm_yarn_signer){.keys = &none}; /* no node can be asked */
    for (unsigned i = 0; i < 2 * NM_NODE_ROOMS_MAX; i++) {
        (void)snprintf(host, sizeof host, "n%u", i);
        assert_true(look_up(w, host, 1).awaited);
        assert_true(look_up(w, host, 2).awaited); /* another NodeManager on the same host */
    }
    assert_false(look_up(w, "n7", 1).measured);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_an_unknown_node_is_asked_and_its_answer_is_awaited),
        TEST(test_a_node_is_not_asked_again_immediately),
        TEST(test_an_unreachable_node_is_awaited_for_a_limited_time),
        TEST(test_placements_are_claimed_until_an_answer_includes_them),
        TEST(test_observed_memory_counts_until_it_is_taken_back),
        TEST(test_observed_memory_is_told_to_other_nodes),
        cmocka_unit_test(test_observers_are_bounded),
        TEST(test_the_number_of_nodes_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
