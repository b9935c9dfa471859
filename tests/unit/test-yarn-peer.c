/* SPDX-License-Identifier: Apache-2.0 */

/* Calls to other nodes and to the ResourceManager, over loopback: a node with nmd's server, a NodeManager that doesn't
 * know nmd's protocol, and nodes that can't be reached. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>

#include "fake-yarn-node.h"
#include "loopback.h"
#include "rpc/hadoop/digest.h"
#include "run-until.h"
#include "yarn-tokens.h"
#include "yarn/cm-protocol/cm-server.h"
#include "yarn/peer/peer-state.h"
#include "yarn/peer/peer.pb-c.h"

#define HOST "127.0.0.1"
#define OTHER_PROTOCOL "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"
#define CLIENT_PROTOCOL "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
#define STANDBY "org.apache.hadoop.ipc.StandbyException"
#define WITHIN (20 * NM_USEC_PER_SEC)

struct fixture {
    sd_event *event;
    struct nm_yarn_settings settings;
    struct nm_yarn_address rms[2];
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_signer signer;
    struct nm_peers *peers;
    /* the node */
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_node node;
    struct nm_yarn_cm_server *cm_server;
    int32_t port;
    /* the ResourceManagers */
    struct nm_hadoop_server *rm[2];
    const char *refuses;       /* class of the exception with which the first one refuses calls */
    unsigned n_asked;
    const char *label; /* that the ResourceManager reports */
    const char *queue_label, *refuses_queue;
    bool has_no_queue; /* in the report */
    unsigned n_queues;
    bool labelled; /* the result */
    struct nm_hadoop_call *held;
    bool holds;
    /* the last result */
    unsigned n_results;
    int error;
    struct nm_peer_room room;
    enum nm_peer_container_state states[4];
    bool guaranteed[4];
    char type[32], queue[32];
};

static const struct nm_yarn_attempt_id first = {{TOKENS_RM, 1}, 1}, second = {{TOKENS_RM, 2}, 1};

static struct nm_peer_caller caller_of(const struct nm_yarn_attempt_id *attempt)
{
    return (struct nm_peer_caller){.attempt = *attempt, .submitter = "ada"};
}

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
    nm_yarn_cm_server_set_rm(w->cm_server, TOKENS_RM);
    w->node.room = (struct nm_yarn_node_room){.memory_mib = 8192, .vcores = 8, .guaranteed_free_memory_mib = 2048,
                                              .guaranteed_free_vcores = 3, .unused_memory_mib = 5000,
                                              .queue_length = 1, .queue_max = 10, .admits = true};
    params = (struct nm_peers_params){.event = w->event, .settings = &w->settings, .signer = &w->signer};
    assert_int_equal(nm_peers_new(&params, &w->peers), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_peers_free(w->peers);
    for (size_t i = 0; i < NM_ARRAY_SIZE(w->rm); i++)
        if (w->rm[i])
            (void)end_rm(w->rm[i], &w->held);
    nm_yarn_cm_server_free(w->cm_server);
    nm_yarn_used_free(w->used);
    nm_yarn_keyring_free(w->keyring);
    sd_event_unref(w->event);
    free(w);
    return 0;
}

/* ---- rooms -------------------------------------------------------------------------------- */

static void on_room(void *userdata, const char *host, int32_t port, int error, const struct nm_peer_room *room)
{
    struct fixture *w = userdata;

    assert_string_equal(host, HOST);
    assert_true(port > 0);
    w->n_results++;
    w->error = error;
    if (error != 0)
        return;
    w->room = *room;
    assert_true(room->n <= NM_ARRAY_SIZE(w->states));
    for (size_t i = 0; i < room->n; i++) {
        w->states[i] = room->states[i];
        w->guaranteed[i] = room->guaranteed[i];
    }
}

static int try_ask(struct fixture *w, const struct nm_yarn_attempt_id *attempt, int32_t port,
                   const struct nm_yarn_container_id *ids, size_t n)
{
    const struct nm_peer_caller caller = caller_of(attempt);

    return nm_peers_ask_room(w->peers, &caller, HOST, port, ids, n, on_room, w);
}

static int ask(struct fixture *w, int32_t port, const struct nm_yarn_container_id *ids, size_t n)
{
    const unsigned before = w->n_results;

    assert_int_equal(try_ask(w, &first, port, ids, n), 0);
    assert_int_equal(w->n_results, before); /* the callback is never called immediately */
    RUN_UNTIL_WITHIN(w, WITHIN, w->n_results > before);
    return w->error;
}

static void test_a_node_reports_its_room_and_the_states_of_containers(void **state)
{
    const struct nm_yarn_container_id ids[] = {{first, 3}, {first, 4}, {{first.application, 2}, 5}};
    struct fixture *w = *state;

    w->node.queued = 3;
    w->node.running = 5;
    assert_int_equal(nm_peers_kind(w->peers, HOST, w->port), NM_PEER_UNKNOWN);
    assert_int_equal(ask(w, w->port, ids, 3), 0);
    assert_int_equal(w->room.memory_mib, 8192);
    assert_int_equal(w->room.guaranteed_free_memory_mib, 2048);
    assert_int_equal(w->room.vcores, 8);
    assert_int_equal(w->room.guaranteed_free_vcores, 3);
    assert_int_equal(w->room.unused_memory_mib, 5000);
    assert_int_equal(w->room.queue_length, 1);
    assert_int_equal(w->room.queue_max, 10);
    assert_true(w->room.admits);
    assert_int_equal(w->room.n, 3);
    assert_int_equal(w->states[0], NM_PEER_CONTAINER_QUEUED);
    assert_int_equal(w->states[1], NM_PEER_CONTAINER_UNKNOWN);
    assert_int_equal(w->states[2], NM_PEER_CONTAINER_RUNNING);
    assert_false(w->guaranteed[0] || w->guaranteed[1] || w->guaranteed[2]);
    w->node.running_is_guaranteed = true;
    assert_int_equal(ask(w, w->port, ids, 3), 0);
    assert_true(w->guaranteed[2] && !w->guaranteed[0] && !w->guaranteed[1]);
    assert_int_equal(nm_peers_kind(w->peers, HOST, w->port), NM_PEER_NMD);
    assert_int_equal(w->peers->n_links, 1);
    assert_int_equal(ask(w, w->port, NULL, 0), 0); /* by the same connection */
    assert_int_equal(w->room.n, 0);
    assert_int_equal(w->peers->n_links, 1);
}

static void test_a_master_may_ask_about_its_own_containers_only(void **state)
{
    const struct nm_yarn_container_id ids[] = {{first, 3}, {second, 4}};
    struct fixture *w = *state;

    assert_int_equal(ask(w, w->port, ids, 2), -EREMOTEIO);
    assert_int_equal(nm_peers_kind(w->peers, HOST, w->port), NM_PEER_UNKNOWN);
    assert_int_equal(ask(w, w->port, ids, 1), 0); /* a refusal doesn't make the node unreachable */
}

static void test_a_token_of_another_cluster_is_refused(void **state)
{
    struct nm_yarn_cluster_keys theirs = {.nm.current = tokens_key(TOKENS_NM_KEY, 99)};
    struct fixture *w = *state;

    w->signer = (struct nm_yarn_signer){.keys = &theirs};
    assert_int_equal(ask(w, w->port, NULL, 0), -EACCES);
    assert_int_equal(nm_peers_kind(w->peers, HOST, w->port), NM_PEER_UNKNOWN);
    assert_int_equal(try_ask(w, &first, w->port, NULL, 0), -EHOSTUNREACH);
}

static void test_without_keys_no_node_is_asked(void **state)
{
    struct nm_yarn_cluster_keys none = {};
    struct fixture *w = *state;

    w->signer = (struct nm_yarn_signer){.keys = &none};
    assert_int_equal(try_ask(w, &first, w->port, NULL, 0), -ENOKEY);
    assert_int_equal(w->peers->n_links, 0);
}

static void test_an_unreachable_node_is_not_tried_again_for_some_time(void **state)
{
    struct fixture *w = *state;
    uint16_t port = 0;

    (void)nm_close(listen_on_loopback(&port)); /* no server listens on this port */
    assert_int_equal(ask(w, port, NULL, 0), -ECONNREFUSED);
    assert_int_equal(try_ask(w, &first, port, NULL, 0), -EHOSTUNREACH);
    assert_int_equal(nm_peers_kind(w->peers, HOST, port), NM_PEER_UNKNOWN);
    nm_peer_nodes_find(w->peers, HOST, port)->retry_usec = nm_now_usec();
    assert_int_equal(ask(w, port, NULL, 0), -ECONNREFUSED);
}

static void test_a_node_that_never_answers_is_given_up(void **state)
{
    struct fixture *w = *state;
    uint16_t port = 0;
    int fd = listen_on_loopback(&port);

    assert_int_equal(try_ask(w, &first, port, NULL, 0), 0);
    RUN_UNTIL_WITHIN(w, WITHIN, w->peers->links->client); /* the node's name is resolved */
    nm_peer_links_tick(w->peers, nm_now_usec());
    assert_int_equal(w->n_results, 0);
    nm_peer_links_tick(w->peers, nm_now_usec() + NM_PEER_CALL_USEC);
    assert_int_equal(w->n_results, 1);
    assert_int_equal(w->error, -ETIMEDOUT);
    assert_int_equal(w->peers->n_links, 0);
    assert_int_equal(try_ask(w, &first, port, NULL, 0), -EHOSTUNREACH);
    (void)nm_close(fd);
}

static void test_invalid_nodes_and_too_many_containers_are_refused(void **state)
{
    static struct nm_yarn_container_id ids[NM_PEER_CONTAINERS_MAX + 1];
    const struct nm_peer_caller caller = caller_of(&first);
    struct fixture *w = *state;
    char long_name[300];

    (void)memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(try_ask(w, &first, 0, NULL, 0), -EINVAL);
    assert_int_equal(try_ask(w, &first, 65536, NULL, 0), -EINVAL);
    assert_int_equal(try_ask(w, &first, w->port, ids, NM_PEER_CONTAINERS_MAX + 1), -EINVAL);
    assert_int_equal(nm_peers_ask_room(w->peers, &caller, "", w->port, NULL, 0, on_room, w), -EINVAL);
    assert_int_equal(nm_peers_ask_room(w->peers, &caller, long_name, w->port, NULL, 0, on_room, w), -EINVAL);
    assert_int_equal(w->peers->n_nodes, 0);
}

/* ---- another NodeManager ------------------------------------------------------------------ */

static int accept_all(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    const struct fixture *w = userdata;

    (void)why;
    ret->password_size = NM_DIGEST_SIZE;
    return nm_digest_hmac(w->keys.nm.current.bytes, w->keys.nm.current.size, identifier.data, identifier.size,
                          ret->password);
}

/* Refuses as Java does if hadoop.security.authorization is true. */
static int refuse_protocol(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret,
                           struct nm_exception *why)
{
    (void)userdata, (void)identifier, (void)ret;
    nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED,
                     "org.apache.hadoop.security.authorize.AuthorizationException",
                     "Unknown protocol: " NM_PEER_PROTOCOL);
    return -EACCES;
}

static void check_other(struct fixture *w, nm_sasl_lookup lookup)
{
    static const struct nm_hadoop_protocol protocol = {OTHER_PROTOCOL, 1, NULL, 0};
    const struct nm_hadoop_server_options o = {.protocols = &protocol, .n_protocols = 1, .lookup = lookup,
                                               .userdata = w};
    struct nm_hadoop_server *server;
    uint16_t port = 0;

    assert_int_equal(nm_hadoop_server_new(w->event, listen_on_loopback(&port), &o, &server), 0);
    assert_int_equal(ask(w, port, NULL, 0), NM_PEER_E_OTHER);
    assert_int_equal(nm_peers_kind(w->peers, HOST, port), NM_PEER_OTHER);
    assert_null(nm_peer_nodes_find(w->peers, HOST, port)->addresses); /* the name is resolved again */
    assert_int_equal(try_ask(w, &first, port, NULL, 0), -EOPNOTSUPP); /* the node isn't disturbed again */
    nm_peer_nodes_find(w->peers, HOST, port)->known_until_usec = nm_now_usec();
    assert_int_equal(nm_peers_kind(w->peers, HOST, port), NM_PEER_UNKNOWN);
    while (w->peers->links)
        nm_peer_links_tick(w->peers, nm_now_usec() + NM_PEER_IDLE_USEC);
    nm_hadoop_server_free(server);
}

static void test_another_nodemanager_is_recognized_by_its_refusal(void **state)
{
    check_other(*state, accept_all);
    check_other(*state, refuse_protocol);
}

/* ---- limits ------------------------------------------------------------------------------- */

static void test_a_caller_has_one_question_to_a_node_at_a_time(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(try_ask(w, &first, w->port, NULL, 0), 0);
    assert_int_equal(try_ask(w, &first, w->port, NULL, 0), -EBUSY);
    assert_int_equal(try_ask(w, &second, w->port, NULL, 0), -EBUSY);
    RUN_UNTIL_WITHIN(w, WITHIN, w->n_results > 0);
    assert_int_equal(try_ask(w, &second, w->port, NULL, 0), 0);
    assert_int_equal(w->peers->n_links, 2); /* one per attempt */
    RUN_UNTIL_WITHIN(w, WITHIN, w->n_results > 1);
    assert_int_equal(w->error, 0);
}

static void ignore_room(void *userdata, const char *host, int32_t port, int error, const struct nm_peer_room *room)
{
    unsigned *n = userdata;

    (void)host, (void)port, (void)error, (void)room;
    ++*n;
}

static int ask_for(struct fixture *w, struct nm_peer_caller *caller, int32_t port, unsigned *results)
{
    return nm_peers_ask_room(w->peers, caller, HOST, port, NULL, 0, ignore_room, results);
}

static void test_calls_and_connections_are_limited(void **state)
{
    static unsigned results[NM_PEER_LINKS_MAX + NM_PEER_LINK_CALLS_MAX + 1];
    struct fixture *w = *state;
    struct nm_peer_caller caller = caller_of(&first);
    uint16_t silent = 0; /* the port of a node that doesn't answer */
    int fd = listen_on_loopback(&silent);
    size_t n = 0;

    nm_peers_start_timer(w->peers);
    assert_true(sd_event_source_set_time_relative(w->peers->timer, 3600 * NM_USEC_PER_SEC) >= 0);
    assert_int_equal(ask(w, w->port, NULL, 0), 0);
    for (; n < NM_PEER_LINK_CALLS_MAX; n++)
        assert_int_equal(ask_for(w, &caller, silent, &results[n]), 0);
    assert_int_equal(ask_for(w, &caller, silent, &results[n]), -EBUSY);
    while (w->peers->n_links < NM_PEER_LINKS_MAX) {
        caller.attempt.number++;
        assert_int_equal(ask_for(w, &caller, silent, &results[n++]), 0);
    }
    /* the idle connection to the other node makes room */
    caller.attempt.number++;
    assert_int_equal(ask_for(w, &caller, silent, &results[n++]), 0);
    assert_int_equal(w->peers->n_links, NM_PEER_LINKS_MAX);
    caller.attempt.number++;
    assert_int_equal(ask_for(w, &caller, silent, &results[n]), -EBUSY);
    nm_peer_links_tick(w->peers, nm_now_usec() + NM_PEER_CALL_USEC);
    assert_int_equal(w->peers->n_links, 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(results[i], 1);
    (void)nm_close(fd);
}

static void test_an_idle_connection_is_closed(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(ask(w, w->port, NULL, 0), 0);
    nm_peer_links_tick(w->peers, w->peers->links->used_usec + NM_PEER_IDLE_USEC - 1);
    assert_int_equal(w->peers->n_links, 1);
    nm_peer_links_tick(w->peers, w->peers->links->used_usec + NM_PEER_IDLE_USEC);
    assert_int_equal(w->peers->n_links, 0);
    assert_int_equal(ask(w, w->port, NULL, 0), 0);
}

static void test_the_number_of_remembered_nodes_is_limited(void **state)
{
    struct fixture *w = *state;
    struct nm_peer_node *node;
    char host[32];

    assert_int_equal(ask(w, w->port, NULL, 0), 0);
    for (unsigned i = 0; i <= NM_PEER_NODES_MAX; i++) {
        (void)snprintf(host, sizeof host, "n%u", i);
        assert_int_equal(nm_peer_nodes_get(w->peers, host, 1, nm_now_usec() + 1 + i, &node), 0);
    }
    assert_int_equal(w->peers->n_nodes, NM_PEER_NODES_MAX);
    assert_null(nm_peer_nodes_find(w->peers, "n0", 1));
    assert_non_null(nm_peer_nodes_find(w->peers, "n2", 1));
    assert_non_null(nm_peer_nodes_find(w->peers, HOST, w->port)); /* it has a connection */
}

static void test_forgotten_calls_have_no_callback(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(try_ask(w, &first, w->port, NULL, 0), 0);
    nm_peers_forget(w->peers, w);
    RUN_UNTIL_WITHIN(w, WITHIN, !w->peers->links->calls);
    assert_int_equal(w->n_results, 0);
    assert_int_equal(nm_peers_kind(w->peers, HOST, w->port), NM_PEER_NMD);
}

/* ---- updates ------------------------------------------------------------------------------ */

static void on_update(void *userdata, const struct nm_yarn_container_id *id, int error)
{
    struct fixture *w = userdata;

    assert_int_equal(id->number, 7);
    w->n_results++;
    w->error = error;
}

static int update(struct fixture *w, Hadoop__Token *token)
{
    const struct nm_yarn_container_id id = {first, 7};
    const struct nm_peer_caller caller = caller_of(&first);
    const unsigned before = w->n_results;

    assert_int_equal(nm_peers_update(w->peers, &caller, HOST, w->port, &id, token, on_update, w), 0);
    RUN_UNTIL_WITHIN(w, WITHIN, w->n_results > before);
    return w->error;
}

static void test_a_new_token_is_taken_to_the_node(void **state)
{
    struct fixture *w = *state;
    struct tokens_id t;
    char address[64];

    (void)snprintf(address, sizeof address, "%s:%d", HOST, (int)w->port);
    tokens_make(&t, 1, 1, 7, (int64_t)(nm_realtime_usec() / 1000) + 600000);
    t.token.node_address = address;
    assert_int_equal(update(w, tokens_sign(&t, &w->keys.container.current)), 0);
    assert_string_equal(w->node.calls, "update container_1410901177871_0001_01_000007 to 1024\n");
    w->node.result = NM_YARN_REFUSED;
    nm_exception_set(&w->node.why, 1, NM_EXCEPTION_YARN, "It has ended.");
    assert_int_equal(update(w, &t.message), -EREMOTEIO);
    nm_yarn_cm_server_set_rm(w->cm_server, 0); /* the node is registering */
    assert_int_equal(update(w, &t.message), -EREMOTEIO);
    tokens_done(&t);
}

/* ---- the ResourceManager ------------------------------------------------------------------ */

static void rm_report(struct nm_hadoop_call *call, void *userdata)
{
    const Peer__ApplicationRequest *request = (const Peer__ApplicationRequest *)nm_hadoop_call_request(call);
    Peer__ApplicationAnswer answer = PEER__APPLICATION_ANSWER__INIT;
    Peer__ApplicationReport report = PEER__APPLICATION_REPORT__INIT;
    struct fixture *w = userdata;
    struct nm_exception why;

    w->n_asked++;
    if (w->holds) {
        w->held = call;
        return;
    }
    if (w->refuses) {
        nm_exception_set(&why, NM_EXCEPTION_APPLICATION, w->refuses, "No.");
        nm_hadoop_call_refuse(call, &why);
        return;
    }
    assert_int_equal(request->id->id, 1);
    report.type = (char *)"SPARK";
    report.queue = w->has_no_queue ? NULL : (char *)"root.a";
    report.label = (char *)w->label;
    answer.report = &report;
    nm_hadoop_call_answer(call, &answer.base);
}

static void rm_queue(struct nm_hadoop_call *call, void *userdata)
{
    const Peer__QueueRequest *request = (const Peer__QueueRequest *)nm_hadoop_call_request(call);
    Peer__QueueAnswer answer = PEER__QUEUE_ANSWER__INIT;
    Peer__QueueInfo info = PEER__QUEUE_INFO__INIT;
    struct fixture *w = userdata;
    struct nm_exception why;

    w->n_queues++;
    assert_string_equal(request->queue, "root.a");
    if (w->refuses_queue) {
        nm_exception_set(&why, NM_EXCEPTION_APPLICATION, w->refuses_queue, "No.");
        if (nm_streq(w->refuses_queue, STANDBY))
            w->refuses_queue = NULL; /* the other one is active */
        nm_hadoop_call_refuse(call, &why);
        return;
    }
    info.label = (char *)w->queue_label;
    answer.info = &info;
    nm_hadoop_call_answer(call, &answer.base);
}

static const struct nm_hadoop_method rm_methods[] = {
    {"getApplicationReport", &peer__application_request__descriptor, rm_report},
    {"getQueueInfo", &peer__queue_request__descriptor, rm_queue},
};
static const struct nm_hadoop_protocol rm_protocol = {CLIENT_PROTOCOL, 1, rm_methods, NM_ARRAY_SIZE(rm_methods)};

static void start_rm(struct fixture *w, size_t i)
{
    const struct nm_hadoop_server_options o = {.protocols = &rm_protocol, .n_protocols = 1, .userdata = w};
    uint16_t port = 0;

    assert_int_equal(nm_hadoop_server_new(w->event, listen_on_loopback(&port), &o, &w->rm[i]), 0);
    w->rms[i] = (struct nm_yarn_address){(char *)HOST, port};
}

static void start_both_rms(struct fixture *w)
{
    start_rm(w, 0);
    start_rm(w, 1);
    w->settings.ha = true;
    w->settings.rm_clients = w->rms;
    w->settings.n_rm_clients = 2;
}

static void on_application(void *userdata, int error, const struct nm_peer_application *a)
{
    struct fixture *w = userdata;

    w->n_results++;
    w->error = error;
    (void)snprintf(w->type, sizeof w->type, "%s", a && a->type ? a->type : "");
    (void)snprintf(w->queue, sizeof w->queue, "%s", a && a->queue ? a->queue : "");
    w->labelled = a && a->labelled;
}

static int try_application(struct fixture *w)
{
    return nm_peers_ask_application(w->peers, &first.application, on_application, w);
}

static int ask_application(struct fixture *w)
{
    const unsigned before = w->n_results;

    assert_int_equal(try_application(w), 0);
    RUN_UNTIL_WITHIN(w, WITHIN, w->n_results > before);
    return w->error;
}

static void test_the_resourcemanager_reports_type_and_queue(void **state)
{
    struct fixture *w = *state;

    start_rm(w, 0);
    w->settings.rm_client = w->rms[0];
    assert_int_equal(ask_application(w), 0);
    assert_string_equal(w->type, "SPARK");
    assert_string_equal(w->queue, "root.a");
    w->refuses = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException";
    assert_int_equal(ask_application(w), -EREMOTEIO);
    w->refuses = NULL;
    assert_int_equal(ask_application(w), 0); /* immediately: the ResourceManager is reachable */
    assert_int_equal(try_application(w), 0);
    assert_int_equal(try_application(w), -EBUSY);
    RUN_UNTIL_WITHIN(w, WITHIN, w->n_results > 3);
    nm_peer_rm_tick(w->peers, nm_now_usec() + NM_PEER_IDLE_USEC);
    assert_null(w->peers->rm.client);
    assert_int_equal(ask_application(w), 0);
}

static void test_the_resourcemanager_reports_a_label(void **state)
{
    static const char *const none[] = {NULL, "", "<Not set>", "<DEFAULT_PARTITION>"};
    struct fixture *w = *state;

    start_rm(w, 0);
    w->settings.rm_client = w->rms[0];
    w->label = "gpu";
    assert_int_equal(ask_application(w), 0);
    assert_true(w->labelled);
    for (size_t i = 0; i < NM_ARRAY_SIZE(none); i++) {
        w->label = none[i];
        assert_int_equal(ask_application(w), 0);
        assert_false(w->labelled);
    }
}

static void test_the_default_label_of_the_queue_counts(void **state)
{
    static const char *const none[] = {NULL, "", "<DEFAULT_PARTITION>"};
    struct fixture *w = *state;

    start_rm(w, 0);
    w->settings.rm_client = w->rms[0];
    w->queue_label = "gpu";
    assert_int_equal(ask_application(w), 0);
    assert_true(w->labelled);
    assert_string_equal(w->type, "SPARK");
    assert_string_equal(w->queue, "root.a");
    for (size_t i = 0; i < NM_ARRAY_SIZE(none); i++) {
        w->queue_label = none[i];
        assert_int_equal(ask_application(w), 0);
        assert_false(w->labelled);
    }
    assert_int_equal(w->n_queues, 4);
    w->label = "gpu"; /* the application's own label makes the question needless, as a missing queue does */
    assert_int_equal(ask_application(w), 0);
    assert_true(w->labelled);
    w->label = NULL;
    w->has_no_queue = true;
    assert_int_equal(ask_application(w), 0);
    assert_false(w->labelled);
    assert_int_equal(w->n_queues, 4);
}

static void test_an_application_is_known_without_its_queue(void **state)
{
    struct fixture *w = *state;

    start_both_rms(w);
    w->queue_label = "gpu";
    w->refuses_queue = "org.apache.hadoop.yarn.exceptions.YarnException";
    assert_int_equal(ask_application(w), 0);
    assert_string_equal(w->type, "SPARK");
    assert_false(w->labelled);
    w->refuses_queue = STANDBY; /* it became the standby one between the two calls */
    assert_int_equal(ask_application(w), 0);
    assert_true(w->labelled);
    assert_int_equal(w->n_queues, 3);
}

/* The first one refuses with StandbyException, or doesn't listen any more. */
static void test_the_active_resourcemanager_is_found(void **state)
{
    struct fixture *w = *state;

    start_both_rms(w);
    w->rm[1] = nm_hadoop_server_free(w->rm[1]);
    w->peers->rm.which = 1;
    assert_int_equal(ask_application(w), 0);
    assert_int_equal(w->n_asked, 1);
    w->refuses = STANDBY;
    assert_int_equal(ask_application(w), -ECONNREFUSED); /* of the other one */
    assert_int_equal(try_application(w), -EHOSTUNREACH); /* neither is asked again for some time */
    w->peers->rm.retry_usec = 0;
    w->refuses = NULL;
    assert_int_equal(ask_application(w), 0);
}

static void test_a_resourcemanager_that_hangs_is_given_up(void **state)
{
    struct fixture *w = *state;

    start_rm(w, 0);
    w->settings.rm_client = w->rms[0];
    w->holds = true;
    assert_int_equal(try_application(w), 0);
    RUN_UNTIL_WITHIN(w, WITHIN, w->held);
    nm_peer_rm_tick(w->peers, nm_now_usec());
    assert_int_equal(w->n_results, 0);
    nm_peer_rm_tick(w->peers, nm_now_usec() + NM_PEER_CALL_USEC);
    assert_int_equal(w->n_results, 1);
    assert_int_equal(w->error, -ETIMEDOUT);
    assert_int_equal(try_application(w), -EHOSTUNREACH);
}

/* With Kerberos, the ResourceManager refuses the connection. The call fails, and isn't repeated for some time. */
static void test_a_refused_connection_is_not_repeated_immediately(void **state)
{
    struct nm_hadoop_server_options o = {.protocols = &rm_protocol, .n_protocols = 1, .lookup = accept_all};
    struct fixture *w = *state;
    uint16_t port = 0;

    o.userdata = w;
    assert_int_equal(nm_hadoop_server_new(w->event, listen_on_loopback(&port), &o, &w->rm[0]), 0);
    w->settings.rm_client = (struct nm_yarn_address){(char *)HOST, port};
    assert_int_equal(ask_application(w), -EACCES);
    assert_int_equal(try_application(w), -EHOSTUNREACH);
    assert_int_equal(w->n_asked, 0);
}

static void test_without_an_address_nothing_is_asked(void **state)
{
    struct fixture *w = *state;

    w->settings.ha = true; /* with several ResourceManagers, none of which has an address for clients */
    assert_int_equal(try_application(w), -EADDRNOTAVAIL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_node_reports_its_room_and_the_states_of_containers),
        TEST(test_a_master_may_ask_about_its_own_containers_only),
        TEST(test_a_token_of_another_cluster_is_refused),
        TEST(test_without_keys_no_node_is_asked),
        TEST(test_an_unreachable_node_is_not_tried_again_for_some_time),
        TEST(test_a_node_that_never_answers_is_given_up),
        TEST(test_invalid_nodes_and_too_many_containers_are_refused),
        TEST(test_another_nodemanager_is_recognized_by_its_refusal),
        TEST(test_a_caller_has_one_question_to_a_node_at_a_time),
        TEST(test_calls_and_connections_are_limited),
        TEST(test_an_idle_connection_is_closed),
        TEST(test_the_number_of_remembered_nodes_is_limited),
        TEST(test_forgotten_calls_have_no_callback),
        TEST(test_a_new_token_is_taken_to_the_node),
        TEST(test_the_resourcemanager_reports_type_and_queue),
        TEST(test_the_resourcemanager_reports_a_label),
        TEST(test_the_default_label_of_the_queue_counts),
        TEST(test_an_application_is_known_without_its_queue),
        TEST(test_the_active_resourcemanager_is_found),
        TEST(test_a_resourcemanager_that_hangs_is_given_up),
        TEST(test_a_refused_connection_is_not_repeated_immediately),
        TEST(test_without_an_address_nothing_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
