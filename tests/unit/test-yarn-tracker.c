/* SPDX-License-Identifier: Apache-2.0 */

/* A complete node and its ResourceManager: the messages between them. test-yarn-check.c tests the reasons for which a
 * node can't start. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>

#include "agent/node/cgroups.h"
#include "cgroup/backend-fake.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/open-descriptors.h"
#include "tests/unit/tracker-fixture.h"
#include "util/clock.h"
#include "yarn/yarn-state.h"

#define EVENTS_SIZE 4000u
#define STANDBY "org.apache.hadoop.ipc.StandbyException"
static bool is_unreachable(const struct tracker_fixture *w)
{
    return nm_streq(tracker_shown(w).state, "unreachable");
}

static bool is_stopped(const struct tracker_fixture *w)
{
    return nm_streq(tracker_shown(w).state, "stopped");
}

static void assert_reported(const char *part)
{
    if (!strstr(tracker_logged.all, part))
        fail_msg("'%s' was not logged; the log: %s", part, tracker_logged.all);
}

static bool has_helper(const struct tracker_fixture *w)
{
    return tracker_helper(w) > 0 && nm_helper_is_attached(w->node->m->helper, "shuffle");
}

static bool helper_is_refused(const struct tracker_fixture *w)
{
    return w && strstr(tracker_logged.all, "can't move nm-shuffle to a cgroup of its own");
}

static const struct nm_caller root = {.admin = true};

/* Returns the services in the details of the upstream, as JSON. */
static const char *services_of(const struct tracker_fixture *w)
{
    static char text[2000];
    json_t *details = nm_manager_upstream_details(w->node->m, &root, true);
    char *services = json_dumps(json_object_get(details, "services"), JSON_COMPACT);

    (void)snprintf(text, sizeof text, "%s", services ?: "");
    free(services);
    json_decref(details);
    return text;
}

static void append_event(const struct nm_event_record *e, void *userdata)
{
    char *text = userdata;
    const size_t n = strlen(text);

    (void)snprintf(text + n, EVENTS_SIZE - n, "%s\n", e->text);
}

static const char *events_of(const struct tracker_fixture *w)
{
    static char text[EVENTS_SIZE];

    *text = '\0';
    nm_manager_foreach_event(w->node->m, &root, 0, append_event, text);
    return text;
}

/* nm-shuffle gets a CPU weight, or a nice value if it can't get a weight. */
static void test_nm_shuffle_gets_a_cpu_weight_or_a_nice_value(void **state)
{
    struct tracker_fixture *w = *state;
    tracker_configure(w, TRACKER_PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle")
                      TRACKER_PROPERTY("mapreduce.shuffle.port", "0"));
    tracker_join(w);
    tracker_run_until(w, has_helper);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)tracker_helper(w)), 0);
    assert_non_null(strstr(services_of(w), "{\"name\":\"mapreduce_shuffle\",\"program\":\"nm-shuffle\",\"up\":true,"));
    assert_non_null(strstr(services_of(w), "\"restarts\":0,\"trouble\":null,\"applications\":0,\"connections\":0,"));
    nm_fake_fail_next(w->node->m->backend, NM_FAKE_ATTACH_HELPER, -EACCES);
    /* The next nm-shuffle can't be moved to a cgroup. */
    assert_int_equal(kill(tracker_helper(w), SIGKILL), 0);
    tracker_run_until(w, helper_is_refused);
    assert_non_null(strstr(tracker_logged.all, "(the test said so); it runs at nice 10 instead"));
    assert_non_null(strstr(services_of(w), "\"up\":true,"));
    assert_non_null(strstr(services_of(w), "\"restarts\":1,"));
    assert_non_null(strstr(events_of(w), "nm-shuffle was killed by signal 9; restarting it"));
    assert_non_null(strstr(events_of(w), "nm-shuffle listens at port "));
}

/* ---- requests to the ResourceManager ------------------------------------------------------ */

static void test_a_node_registers_and_unregisters(void **state)
{
    struct tracker_fixture *w = *state;
    struct nm_upstream shown;
    char node[80];

    w->queue_limit = 7;
    w->memory_mib = 600;
    tracker_join(w);
    shown = tracker_shown(w);
    assert_string_equal(shown.state, "registering");
    tracker_run_beats(w, 2);
    shown = tracker_shown(w);
    assert_string_equal(shown.kind, "yarn");
    assert_string_equal(shown.state, "running");
    assert_string_equal(shown.trouble, "");
    assert_int_equal(shown.memory_bytes, 600 * MIB);
    assert_int_equal(shown.vcores, 3);
    assert_int_equal(shown.failures, 0);
    (void)snprintf(node, sizeof node, "127.0.0.1:%d", w->node_port);
    assert_string_equal(shown.node, node);
    assert_int_equal(w->registrations, 1);
    assert_int_equal(w->offered_mib, 800);
    assert_true(w->healthy);
    assert_int_equal(tracker_logged.n, 1);
    assert_int_equal(tracker_logged.level, LOG_INFO);
    assert_reported("is registered with the ResourceManager at 127.0.0.1:");

    w->action = YARN__ACTION__RESYNC; /* the ResourceManager was restarted and requires a registration */
    while (w->registrations < 2)
        tracker_run_beats(w, 1);
    w->old_number = true; /* the answer has the response id of another heartbeat */
    tracker_run_until(w, is_unreachable);
    w->old_number = false;
    tracker_run_beats(w, 1);
    assert_true(w->registrations >= 3);

    w->action = YARN__ACTION__SHUTDOWN;
    tracker_run_until(w, is_stopped);
    assert_int_equal(tracker_logged.level, LOG_WARNING);
    assert_reported("You know why.; nmd continues without the cluster until it is restarted");
    assert_false(nm_yarn_unregister(w->yarn, NULL, NULL));
}

/* The ResourceManager is unavailable when the node starts, and again later. Each change is logged once. */
static void test_each_time_the_resourcemanager_is_unavailable_is_logged_once(void **state)
{
    struct tracker_fixture *w = *state;

    tracker_stop_rm(w);
    tracker_join(w);
    tracker_run_until(w, is_unreachable);
    assert_reported("not connected to the ResourceManager at 127.0.0.1:");
    assert_true(*tracker_shown(w).trouble);
    tracker_start_rm(w);
    tracker_run_until(w, tracker_is_running);
    tracker_run_beats(w, 1);
    tracker_stop_rm(w);
    tracker_run_until(w, is_unreachable);
    tracker_start_rm(w);
    tracker_run_beats(w, 1);
    tracker_run_until(w, tracker_is_running);
    assert_int_equal(tracker_logged.n, 4);
    assert_true(tracker_shown(w).failures >= 2);
}

/* After invalid answers and refusals, the node repeats its requests until it receives a valid answer. */
static void test_after_an_invalid_answer_the_request_is_repeated(void **state)
{
    struct tracker_fixture *w = *state;

    w->no_keys = true;
    tracker_join(w);
    tracker_run_until(w, is_unreachable);
    assert_int_equal(w->beats, 0);
    w->no_keys = false;
    tracker_run_beats(w, 1);
    w->no_action = true;
    tracker_run_until(w, is_unreachable);
    w->no_action = false;
    tracker_run_beats(w, 1);
    w->refuses = NM_EXCEPTION_YARN;
    tracker_run_until(w, is_unreachable);
    assert_non_null(strstr(tracker_shown(w).trouble, NM_EXCEPTION_YARN));
    w->refuses = NULL;
    tracker_run_beats(w, 1);
}

/* The ResourceManager doesn't answer any more, but doesn't close the connection. The node closes the connection and
 * opens a new one. */
static void test_a_connection_on_which_no_answer_arrives_is_closed(void **state)
{
    struct tracker_fixture *w = *state;

    w->settings->rpc_timeout_usec = 50 * NM_USEC_PER_MSEC;
    tracker_join(w);
    tracker_run_beats(w, 1);
    w->holds = true;
    tracker_run_until(w, is_unreachable);
    tracker_run_beats(w, 1);
    w->holds = false;
}

static bool has_registered(const struct tracker_fixture *w)
{
    return w->registrations > 0 && !w->refuses && tracker_is_running(w);
}

/* If the first of two ResourceManagers is in standby or unreachable, the node uses the second one. */
static void test_the_active_resourcemanager_is_found(void **state)
{
    static const char *const first[] = {"127.0.0.1:1", "a..b:1"};
    struct tracker_fixture *w = *state;
    char properties[600], address[40];

    for (size_t i = 0; i < NM_ARRAY_SIZE(first); i++) {
        w->yarn = nm_yarn_free(w->yarn);
        w->registrations = 0;
        (void)snprintf(properties, sizeof properties,
                       TRACKER_PROPERTY("yarn.resourcemanager.ha.enabled", "true")
                           TRACKER_PROPERTY("yarn.resourcemanager.ha.rm-ids", "a,b")
                               TRACKER_PROPERTY("yarn.resourcemanager.resource-tracker.address.a", "%s")
                                   TRACKER_PROPERTY("yarn.resourcemanager.resource-tracker.address.b", "127.0.0.1:%u"),
                       i == 0 ? first[0] : "127.0.0.1:1", w->port);
        tracker_configure(w, properties);
        if (i == 1) {
            free(w->settings->trackers[0].host);
            w->settings->trackers[0].host = strdup("a..b"); /* a host name that can't be resolved */
        }
        tracker_join(w);
        tracker_run_until(w, has_registered);
        (void)snprintf(address, sizeof address, "127.0.0.1:%u", w->port);
        assert_string_equal(tracker_shown(w).address, address);
    }
    w->refuses = STANDBY;
    tracker_run_until(w, is_unreachable);
    w->refuses = NULL;
    tracker_run_until(w, tracker_is_running);
}

/* Without a configured name, the node uses the name of the host. */
static void test_the_name_of_the_host_is_the_default_name_of_the_node(void **state)
{
    struct tracker_fixture *w = *state;

    free(w->settings->node.host);
    w->settings->node.host = strdup("0.0.0.0");
    tracker_join(w);
    assert_string_equal(tracker_shown(w).node, "");
    tracker_run_until(w, tracker_is_running);
    assert_true(*w->node_host);
    assert_string_not_equal(w->node_host, "0.0.0.0");
}

/* ---- status of the node ------------------------------------------------------------------- */

static const char *no_parameter(const void *request, const char *name)
{
    (void)request, (void)name;
    return NULL;
}

static int ask(struct tracker_fixture *w, struct nm_upstream_query q, const char *message)
{
    static const struct nm_caller somebody = {.uid = 12345};
    struct nm_problem problem = {};
    json_t *j = NULL;
    int r;

    q.who = q.who ?: &somebody;
    q.parameter = no_parameter;
    r = nm_manager_query_upstream(w->node->m, &q, &j, &problem);
    if (r != 0)
        assert_string_equal(problem.message, message);
    else
        assert_non_null(j);
    json_decref(j);
    return r;
}

#define QUESTION(...) ((struct nm_upstream_query){__VA_ARGS__})
#define NODE "/ws/v1/node"
#define ILLEGAL "java.lang.IllegalArgumentException: "

static void test_the_state_of_the_connection_is_reported(void **state)
{
    struct tracker_fixture *w = *state;

    tracker_join(w);
    assert_int_equal(ask(w, QUESTION(.path = NODE), ""), 0); /* the state is also reported before the registration */
    tracker_run_beats(w, 1);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/info"), ""), 0);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps"), ""), 0);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps", .state = "", .with_users = true, .user = "ada"), ""), 0);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/containers"), ""), 0);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/disks"), NODE "/disks: there is no such path"),
                     NM_AGENT_E_NOT_FOUND);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps", .state = "running"),
                         "invalid state of an application: running"), NM_AGENT_E_INVALID);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps", .user = ""),
                         "Error: You must specify a non-empty string for the user"), NM_AGENT_E_INVALID);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps", .user = "ada"), ""), 0);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps/{id}", .id = "app_1"),
                         ILLEGAL "Invalid ApplicationId prefix: app_1. The valid ApplicationId should start with "
                                 "prefix application"), NM_AGENT_E_INVALID);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps/{id}", .id = "application_1"),
                         ILLEGAL "Invalid ApplicationId: application_1"), NM_AGENT_E_INVALID);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps/{id}", .id = "application_1_0001"),
                         "app with id application_1_0001 not found"), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/containers/{id}", .id = "container_1"),
                         "invalid container id, container_1"), NM_AGENT_E_INVALID);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/containers/{id}", .id = "container_1_0001_01_000001"),
                         "container with id, container_1_0001_01_000001, not found"), NM_AGENT_E_NOT_FOUND);
}

static void test_users_are_not_shown_over_tcp_if_logs_are_not(void **state)
{
    struct tracker_fixture *w = *state;

    tracker_configure(w, TRACKER_PROPERTY("nmd.web.container-logs", "false"));
    tracker_join(w);
    tracker_run_beats(w, 1);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps"), ""), 0);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps", .user = "ada"),
                         "This node doesn't show the users of applications over TCP (nmd.web.container-logs is "
                         "false)."),
                     NM_AGENT_E_FORBIDDEN);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps", .with_users = true, .user = "ada"), ""), 0);
}

/* The state of the proxy of application masters is reported on a node without a proxy and on a node with a proxy. */
static void test_the_state_of_the_proxy_is_reported(void **state)
{
    static const struct nm_caller somebody = {.uid = 12345};
    static const char *const not_placed =
        "This node has no record of placing container container_1_0001_01_000001.";
    const struct nm_upstream_query placement = {
        .who = &manager_fixture_admin, .path = "/v1/placements/{id}", .id = "container_1_0001_01_000001"};
    struct tracker_fixture *w = *state;
    char properties[400];

    for (unsigned i = 0; i < 2; i++) {
        json_t *masters;

        tracker_join(w);
        masters = tracker_masters(w, &somebody);
        assert_int_equal(json_is_object(masters), i == 1);
        assert_int_equal(json_is_null(masters), i == 0);
        assert_int_equal(json_array_size(json_object_get(masters, "pipelines")), 0);
        json_decref(masters);
        assert_int_equal(ask(w, placement, not_placed), NM_AGENT_E_NOT_FOUND);
        tracker_run_beats(w, 1);
        w->yarn = nm_yarn_free(w->yarn);
        (void)snprintf(properties, sizeof properties, TRACKER_PROXIED, 0);
        tracker_configure(w, properties);
    }
}

/* Without a cluster, the same pages exist, and each page says that there is no cluster. */
static void test_without_a_cluster_each_page_reports_no_cluster(void **state)
{
    static const char *const nothing = "This node doesn't belong to a YARN cluster, so it has no data of YARN.";
    static const char *const paths[] = {NODE, NODE "/info", NODE "/apps", NODE "/apps/{id}", NODE "/containers",
                                        NODE "/containers/{id}"};
    struct nm_upstream_query q = {.who = &manager_fixture_admin, .path = "/v1/placements/{id}", .id = "container_1"};
    struct tracker_fixture *w = *state;
    struct nm_problem problem = {};
    json_t *j = NULL;

    assert_int_equal(nm_yarn_none(w->node->m), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(paths); i++)
        assert_int_equal(ask(w, QUESTION(.path = paths[i], .id = "a"), nothing), NM_AGENT_E_NOT_FOUND);
    assert_int_equal(nm_manager_query_upstream(w->node->m, &q, &j, &problem), NM_AGENT_E_NOT_FOUND);
    assert_string_equal(problem.thing, "id");
    assert_string_equal(problem.value, "container_1");
    assert_string_equal(problem.message, "This node has no record of placing container container_1.");
    assert_string_equal(tracker_shown(w).kind, "none");
    j = nm_manager_config_to_json(w->node->m);
    assert_true(json_array_size(j) > 0);
    json_decref(j);
}

/* ---- logs of containers -------------------------------------------------------------------- */

#define GONE "container_1_0001_01_000001"
#define LOGS "/ws/v1/node/containers/{id}/logs"

/* One request for logs. `name` is the user that it names, `again` its redirected_from_node. */
struct log_query {
    const char *file, *owner, *name, *again;
    bool on_socket, as_admin;
    const char *id; /* NULL: GONE */
};

static const char *log_parameter(const void *request, const char *name)
{
    const struct log_query *q = request;

    return nm_streq(name, "redirected_from_node") ? q->again : NULL;
}

/* Returns the status of the answer, and its text or location in `text`. */
static unsigned ask_logs(struct tracker_fixture *w, struct log_query l, char *text, size_t size)
{
    static const struct nm_caller somebody = {.uid = 12345};
    const struct nm_upstream_query q = {
        .who = l.as_admin || !l.on_socket ? &manager_fixture_admin : &somebody,
        .with_users = l.on_socket,
        .path = LOGS,
        .id = l.id ?: GONE,
        .file = l.file,
        .owner = l.owner,
        .raw_query = "a=b",
        .claimed_user = l.name,
        .parameter = log_parameter,
        .request = &l,
    };
    struct nm_upstream_page page = NM_UPSTREAM_PAGE_NULL;
    struct nm_problem problem = {};
    int r = nm_manager_query_upstream_page(w->node->m, &q, &page, &problem);
    unsigned status = page.status;

    assert_true(r >= 0);
    assert_true(page.fd < 0);
    (void)snprintf(text, size, "%s", r > 0 ? problem.message : page.location ?: page.before ?: "");
    if (r > 0)
        status = r == NM_AGENT_E_NOT_FOUND ? 404 : r == NM_AGENT_E_FORBIDDEN ? 403 : r == NM_AGENT_E_INVALID ? 400 : 0;
    nm_upstream_page_done(&page);
    return status;
}

static void test_logs_that_are_not_on_the_node_are_elsewhere_or_not_found(void **state)
{
    static const struct {
        const char *properties; /* "": as configured before */
        struct log_query query;
        unsigned status;
        const char *text; /* a part of the text */
    } cases[] = {
        {NULL, {}, 404, "Unknown container"},
        {"", {.file = "a"}, 404, "Unknown container"},
        {"", {.owner = "u"}, 404, "<p>Unknown container"},
        {"", {.owner = "u", .file = "a"}, 404, "<p>Unknown container"},
        {"", {.on_socket = true}, 404, "Unknown container"},
        {"", {.on_socket = true, .as_admin = true}, 404, "Unknown container"},
        {"", {.id = "x<y"}, 400, "invalid container id, x<y"},
        {"", {.id = "x<y", .owner = "u"}, 400, "invalid container id, x&#60;y"},
        {"", {.name = "bob"}, 404, "Unknown container"}, /* there are no ACLs */
        {TRACKER_PROPERTY("yarn.log.server.url", "http://h/logs")
             TRACKER_PROPERTY("yarn.log.server.web-service.url", "http://h/ws"),
         {}, 307, "http://h/ws/containers/" GONE "/logs?a=b&redirected_from_node=true"},
        {"", {.file = "a b"}, 307, "http://h/ws/containerlogs/" GONE "/a%20b?a=b&redirected_from_node=true"},
        {"", {.file = "a", .again = "true"}, 404, "Unknown container"},
        {"", {.file = "a", .again = "false"}, 307, "/ws/containerlogs/" GONE "/a?a=b"},
        {"", {.owner = "u"}, 307, "/" GONE "/" GONE "/u?a=b"},
        {"", {.owner = "u", .file = "a/b"}, 307, "/" GONE "/" GONE "/u/a%2Fb?a=b"},
        {"", {.on_socket = true}, 404, "Unknown container"}, /* a user is told nothing about other users' containers */
        {TRACKER_PROPERTY("yarn.acl.enable", "true") TRACKER_PROPERTY("yarn.admin.acl", "root"), {}, 404, "Unknown"},
        {"", {.name = "root"}, 404, "Unknown container"},
        {"", {.name = "bob"}, 404, "Unknown container"}, /* the node doesn't know the application */
        {"", {.name = "bob", .file = "a", .owner = "u"}, 404, "<p>Unknown container"},
        {"", {.name = "bob", .on_socket = true, .as_admin = true}, 404, "Unknown container"},
        {TRACKER_PROPERTY("yarn.acl.enable", "true") TRACKER_PROPERTY("yarn.admin.acl", "root")
             TRACKER_PROPERTY("yarn.log.server.web-service.url", "http://h/ws"),
         {.name = "bob"}, 307, "http://h/ws/containers/" GONE "/logs?a=b&redirected_from_node=true"},
        {TRACKER_PROPERTY("nmd.web.container-logs", "false"), {}, 403, "nmd.web.container-logs is false"},
        {"", {.file = "a"}, 403, "nmd.web.container-logs is false"},
        {"", {.owner = "u"}, 403, "nmd.web.container-logs is false"},
        {"", {.on_socket = true, .as_admin = true}, 404, "Unknown container"},
    };
    struct tracker_fixture *w = *state;
    char text[2000];

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        if (!cases[i].properties || *cases[i].properties) {
            w->yarn = nm_yarn_free(w->yarn);
            tracker_configure(w, cases[i].properties ?: "");
            tracker_join(w);
            tracker_run_beats(w, 1);
        }
        assert_int_equal(ask_logs(w, cases[i].query, text, sizeof text), cases[i].status);
        if (!strstr(text, cases[i].text))
            fail_msg("case %zu: %s", i, text);
    }
    w->yarn = nm_yarn_free(w->yarn);
    assert_int_equal(nm_yarn_none(w->node->m), 0);
    assert_int_equal(ask_logs(w, (struct log_query){.file = "a"}, text, sizeof text), 404);
    assert_non_null(strstr(text, "doesn't belong to a YARN cluster"));
}

/* ---- ends of containers ------------------------------------------------------------------- */

static void start_one(struct tracker_fixture *w, struct tokens_id *t, bool is_opportunistic, int64_t mib)
{
    static char *command[] = {(char *)(uintptr_t) "true"};
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    struct nm_exception why;
    uint8_t bytes[512];
    size_t size;

    tokens_make(t, 1, 1, 5, INT64_MAX);
    t->resource.memory = mib;
    t->token.has_execution_type = is_opportunistic;
    t->token.execution_type = HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__OPPORTUNISTIC;
    size = hadoop__container_token_identifier__pack(&t->token, bytes);
    context.command = command;
    context.n_command = 1;
    if (nm_yarn_node_start(w->yarn->services->node, (struct nm_bytes){bytes, size}, &t->token, &context, &why) != 0)
        fail_msg("%s", why.message);
}

/* Starts a container that is larger than the node, so that it ends immediately. */
static void start_too_large(struct tracker_fixture *w, struct tokens_id *t)
{
    start_one(w, t, false, 100000);
}

static struct tokens_id target; /* the container to which the actions of the ResourceManager refer */

/* Besides the valid actions, the message contains incomplete ids and invalid tokens. The node ignores these. */
static void add_end_actions(Yarn__HeartbeatResponse *m)
{
    static Hadoop__ContainerId no_id, *ends[] = {&no_id, &target.container};
    static Hadoop__ApplicationId no_application, *applications[] = {&no_application};
    static Yarn__SignalRequest no_signal, signal, *signals[] = {&no_signal, &signal};
    static Yarn__Container no_token, bad_token, *updates[] = {&no_token, &bad_token};
    static Hadoop__Token token;

    no_id = (Hadoop__ContainerId)HADOOP__CONTAINER_ID__INIT;
    no_application = (Hadoop__ApplicationId)HADOOP__APPLICATION_ID__INIT;
    no_signal = signal = (Yarn__SignalRequest)YARN__SIGNAL_REQUEST__INIT;
    signal.id = &target.container;
    signal.command = 1;
    no_token = bad_token = (Yarn__Container)YARN__CONTAINER__INIT;
    token = (Hadoop__Token)HADOOP__TOKEN__INIT;
    token.kind = token.service = (char *)(uintptr_t) "";
    bad_token.token = &token;
    m->containers_to_end = m->containers_acknowledged = ends;
    m->n_containers_to_end = m->n_containers_acknowledged = 2;
    m->applications_to_end = applications;
    m->n_applications_to_end = 1;
    m->containers_to_signal = signals;
    m->n_containers_to_signal = 2;
    m->containers_to_update = updates;
    m->n_containers_to_update = 2;
}

static void add_application_end(Yarn__HeartbeatResponse *m)
{
    static Hadoop__ApplicationId *applications[] = {&target.application};

    m->applications_to_end = applications;
    m->n_applications_to_end = 1;
}

static bool has_received_end(const struct tracker_fixture *w)
{
    return w->container_state == 3;
}

static bool got_no_container(const struct tracker_fixture *w)
{
    return w->n_containers == 0;
}

static bool has_sent_actions(const struct tracker_fixture *w)
{
    return !w->add_actions;
}

/* The node reports the end of a container to the ResourceManager immediately, and repeats the report until the
 * ResourceManager acknowledges it. Permitted callers can query the container until then. */
static void test_the_end_of_a_container_is_repeated_until_acknowledged(void **state)
{
    struct tracker_fixture *w = *state;
    struct nm_upstream_query q = {.path = NODE "/apps/{id}", .id = "application_1410901177871_0001"};
    uint64_t began_usec;

    w->heartbeat_msec = 600000;
    tracker_join(w);
    tracker_run_beats(w, 1);
    began_usec = nm_now_usec();
    start_too_large(w, &target);
    tracker_run_until(w, has_received_end);
    assert_true(nm_now_usec() - began_usec < 60 * NM_USEC_PER_SEC); /* long before the next regular heartbeat */
    assert_int_equal(w->exit_status, NM_YARN_INVALID); /* this end counts as a failure, so that retries are limited */
    assert_int_equal(ask(w, q, "app with id application_1410901177871_0001 not found"), NM_AGENT_E_NOT_FOUND);
    q.who = &manager_fixture_admin;
    assert_int_equal(ask(w, q, ""), 0);
    q = QUESTION(.path = NODE "/containers/{id}", .id = "container_1410901177871_0001_01_000005", .who = q.who);
    assert_int_equal(ask(w, q, ""), 0);

    w->heartbeat_msec = 1;
    w->action = YARN__ACTION__RESYNC; /* a registration also reports the end */
    nm_yarn_step_on_change(w->yarn);
    while (w->registrations < 2)
        tracker_run_beats(w, 1);
    w->container_state = 0;
    tracker_run_until(w, has_received_end);
    w->add_actions = add_end_actions;
    tracker_run_until(w, got_no_container);
    w->add_actions = add_application_end;
    tracker_run_until(w, has_sent_actions);
    tracker_run_beats(w, 1);
    assert_int_equal(ask(w, QUESTION(.path = NODE "/apps/{id}", .id = "application_1410901177871_0001", .who = q.who),
                         "app with id application_1410901177871_0001 not found"), NM_AGENT_E_NOT_FOUND);
}

static bool got_full_queue(const struct tracker_fixture *w)
{
    return w->wait_queue_length > 0 && w->wait_queue_length == w->queue_capacity;
}

static bool got_empty_queue(const struct tracker_fixture *w)
{
    return w->wait_queue_length == 0;
}

/* When a limit of the node is reached, the next heartbeat reports that the node has no room. A container that is sent
 * long after this report counts as a failure. */
static void test_a_full_node_reports_that_it_has_no_room(void **state)
{
    struct tracker_fixture *w = *state;
    const uint32_t max = w->node->m->config->max_containers;

    w->settings->queue_max_length = 10;
    w->heartbeat_msec = 1;
    tracker_join(w);
    tracker_run_beats(w, 1);
    assert_true(got_empty_queue(w));
    w->node->m->config->max_containers = 0;
    start_one(w, &target, true, 64);
    tracker_run_until(w, has_received_end);
    assert_int_equal(w->exit_status, NM_YARN_KILLED_BY_NODE);
    assert_true(got_full_queue(w));
    w->add_actions = add_end_actions;
    tracker_run_until(w, got_no_container);
    w->container_state = 0;
    w->yarn->memory.no_room_reported_usec -= NM_YARN_HEARTBEAT_IN_FLIGHT_USEC;
    start_one(w, &target, true, 64);
    tracker_run_until(w, has_received_end);
    assert_int_equal(w->exit_status, NM_YARN_INVALID);
    w->node->m->config->max_containers = max;
    w->yarn->memory.no_room_until_usec = nm_now_usec();
    tracker_run_until(w, got_empty_queue);
}

/* When the ResourceManager shuts the node down, or restarts without recovery, all running containers of the cluster are
 * ended. */
static void test_after_a_shutdown_by_the_resourcemanager_all_containers_end(void **state)
{
    struct tracker_fixture *w = *state;

    w->settings->rm_recovers = false;
    tracker_join(w);
    tracker_run_beats(w, 1);
    start_too_large(w, &target);
    tracker_run_until(w, has_received_end);
    w->action = YARN__ACTION__RESYNC;
    while (w->registrations < 2)
        tracker_run_beats(w, 1);
    w->action = YARN__ACTION__SHUTDOWN;
    tracker_run_until(w, is_stopped);
}

/* ---- failures of allocations -------------------------------------------------------------- */

static int try_to_join(struct tracker_fixture *w, unsigned kinds, unsigned n, bool *ret_failed)
{
    const struct nm_yarn_params p = tracker_params(w);
    const unsigned before = open_descriptors();
    struct nm_yarn *y = NULL;
    char *message = NULL;
    int r;

    fail_nth(kinds, n);
    r = nm_yarn_new(&p, &y, &message);
    *ret_failed = fail_stop();
    free(message);
    if (r < 0) {
        assert_true(*ret_failed);
        assert_null(y);
        assert_string_equal(tracker_shown(w).kind ?: "none", "none");
    } else {
        nm_yarn_free(y);
    }
    assert_int_equal(open_descriptors(), before);
    return r;
}

/* A failed start of the node leaves no resources, and the next start succeeds. */
static void test_a_failed_start_of_the_node_can_be_repeated(void **state)
{
    static const unsigned kinds[] = {FAIL_MEMORY, FAIL_EVENT, FAIL_OPEN};
    struct tracker_fixture *w = *state;
    char properties[400];

    (void)snprintf(properties, sizeof properties, TRACKER_PROXIED, 0);
    tracker_configure(w, properties);
    for (size_t i = 0; i < NM_ARRAY_SIZE(kinds); i++) {
        unsigned refused = 0;
        bool failed = true;

        for (unsigned n = 1; failed; n++)
            refused += try_to_join(w, kinds[i], n, &failed) < 0;
        assert_true(refused > 2);
    }
    tracker_join(w);
    tracker_run_beats(w, 1);
}

/* After any failed call during a registration or a heartbeat, on the node or in the ResourceManager, the node makes
 * another registration or heartbeat. */
static void test_a_failed_registration_or_heartbeat_is_repeated(void **state)
{
    struct tracker_fixture *w = *state;
    bool failed = true;

    tracker_join(w);
    tracker_run_beats(w, 1);
    for (unsigned n = 1; failed; n++) {
        w->action = YARN__ACTION__RESYNC; /* so that the node also registers */
        fail_nth(FAIL_MEMORY | FAIL_EVENT, n);
        tracker_run_beats(w, 2);
        failed = fail_stop();
        tracker_run_until(w, tracker_is_running);
    }
    tracker_run_beats(w, 2);
    assert_string_equal(tracker_shown(w).trouble, "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tracker_set_up, tracker_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_nm_shuffle_gets_a_cpu_weight_or_a_nice_value),
        TEST(test_a_node_registers_and_unregisters),
        TEST(test_a_connection_on_which_no_answer_arrives_is_closed),
        TEST(test_after_an_invalid_answer_the_request_is_repeated),
        TEST(test_each_time_the_resourcemanager_is_unavailable_is_logged_once),
        TEST(test_the_active_resourcemanager_is_found),
        TEST(test_the_name_of_the_host_is_the_default_name_of_the_node),
        TEST(test_the_state_of_the_connection_is_reported),
        TEST(test_users_are_not_shown_over_tcp_if_logs_are_not),
        TEST(test_the_state_of_the_proxy_is_reported),
        TEST(test_without_a_cluster_each_page_reports_no_cluster),
        TEST(test_logs_that_are_not_on_the_node_are_elsewhere_or_not_found),
        TEST(test_a_failed_start_of_the_node_can_be_repeated),
        TEST(test_a_failed_registration_or_heartbeat_is_repeated),
        TEST(test_the_end_of_a_container_is_repeated_until_acknowledged),
        TEST(test_a_full_node_reports_that_it_has_no_room),
        TEST(test_after_a_shutdown_by_the_resourcemanager_all_containers_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
