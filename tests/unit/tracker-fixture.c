/* SPDX-License-Identifier: Apache-2.0 */

/* See tracker-fixture.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/tracker-fixture.h"

#include "util/clock.h"
#include "util/fileio.h"

#define PROTOCOL "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
#define WAIT_USEC (60 * NM_USEC_PER_SEC)

struct tracker_logged tracker_logged;

/* ---- the ResourceManager ------------------------------------------------------------------ */

static void reply(struct tracker_fixture *w, struct nm_hadoop_call *call, const ProtobufCMessage *answer)
{
    struct nm_exception why;

    if (w->refuses) {
        nm_exception_set(&why, NM_EXCEPTION_APPLICATION, w->refuses, "No.");
        nm_hadoop_call_refuse(call, &why);
    } else if (w->holds && !w->held) {
        w->held = call;
    } else {
        nm_hadoop_call_answer(call, answer);
    }
}

static Yarn__MasterKey make_key(int32_t id, uint8_t *bytes)
{
    Yarn__MasterKey m = YARN__MASTER_KEY__INIT;

    m.has_id = m.has_key = 1;
    m.id = id;
    m.key = (ProtobufCBinaryData){8, bytes};
    return m;
}

static void take_labels(struct tracker_fixture *w, const Yarn__NodeLabels *l, const Yarn__NodeAttributes *a)
{
    w->n_labels += l != NULL;
    w->n_attributes += a != NULL;
    if (l)
        w->labels[0] = '\0';
    if (a)
        w->attributes[0] = '\0';
    for (size_t i = 0; l && i < l->n_labels; i++)
        (void)snprintf(w->labels + strlen(w->labels), sizeof w->labels - strlen(w->labels), "%s ", l->labels[i]->name);
    for (size_t i = 0; a && i < a->n_attributes; i++)
        (void)snprintf(w->attributes + strlen(w->attributes), sizeof w->attributes - strlen(w->attributes),
                       "%s/%s=%s ", a->attributes[i]->key->prefix, a->attributes[i]->key->name,
                       a->attributes[i]->value);
}

static void take_resources(struct tracker_fixture *w, const Hadoop__Resource *r)
{
    w->resources[0] = '\0';
    for (size_t i = 0; i < r->n_values; i++)
        (void)snprintf(w->resources + strlen(w->resources), sizeof w->resources - strlen(w->resources),
                       "%s=%d%s ", r->values[i]->name, (int)r->values[i]->value, r->values[i]->units);
}

static void on_register(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__RegisterRequest *request = (const Yarn__RegisterRequest *)nm_hadoop_call_request(call);
    static uint8_t bytes[8] = "keykeyk";
    Yarn__RegisterResponse m = YARN__REGISTER_RESPONSE__INIT;
    Yarn__MasterKey container = make_key(TOKENS_CONTAINER_KEY, bytes), nm = make_key(TOKENS_NM_KEY, bytes);
    Hadoop__Resource wanted = HADOOP__RESOURCE__INIT;
    struct tracker_fixture *w = userdata;

    w->registrations++;
    take_resources(w, request->resource);
    take_labels(w, request->labels, request->attributes);
    m.has_labels_accepted = m.has_attributes_accepted = 1;
    m.labels_accepted = request->labels && !w->refuses_labels;
    m.attributes_accepted = request->attributes && !w->refuses_labels;
    m.diagnostics = (char *)(uintptr_t)w->why;
    w->http_port = request->http_port;
    w->offered_mib = (int32_t)request->resource->memory;
    w->n_containers = request->n_containers;
    w->n_applications = request->n_applications;
    w->node_port = request->node->port;
    w->queue_capacity = request->status->opportunistic ? request->status->opportunistic->queue_capacity : -1;
    (void)snprintf(w->node_host, sizeof w->node_host, "%s", request->node->host);
    m.has_action = !w->no_action;
    m.action = YARN__ACTION__NORMAL;
    m.has_rm_identifier = 1;
    m.rm_identifier = TOKENS_RM;
    m.container_token_key = w->no_keys ? NULL : &container;
    m.nm_token_key = w->no_keys ? NULL : &nm;
    if (w->memory_mib > 0) {
        wanted.has_memory = wanted.has_vcores = 1;
        wanted.memory = w->memory_mib;
        wanted.vcores = 3;
        m.resource = &wanted;
    }
    reply(w, call, &m.base);
}

static void on_heartbeat(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__HeartbeatRequest *request = (const Yarn__HeartbeatRequest *)nm_hadoop_call_request(call);
    Yarn__HeartbeatResponse m = YARN__HEARTBEAT_RESPONSE__INIT;
    Yarn__QueuingLimit limit = YARN__QUEUING_LIMIT__INIT;
    struct tracker_fixture *w = userdata;

    w->beats++;
    w->n_containers = request->status->n_containers;
    if (w->n_containers > 0) {
        w->container_state = request->status->containers[0]->state;
        w->exit_status = request->status->containers[0]->exit_status;
    }
    w->wait_queue_length = request->status->opportunistic->wait_queue_length;
    w->healthy = request->status->health->healthy;
    (void)snprintf(w->health, sizeof w->health, "%s", request->status->health->report);
    m.has_action = !w->no_action;
    m.action = w->action;
    m.diagnostics = (char *)(uintptr_t)(w->action == YARN__ACTION__NORMAL ? w->why ?: "" : "You know why.");
    take_labels(w, request->labels, request->attributes);
    m.has_labels_accepted = m.has_attributes_accepted = 1;
    m.labels_accepted = request->labels && !w->refuses_labels;
    m.attributes_accepted = request->attributes && !w->refuses_labels;
    w->action = YARN__ACTION__NORMAL;
    m.has_response_id = m.has_next_msec = 1;
    m.response_id = request->status->response_id + !w->old_number;
    m.next_msec = w->heartbeat_msec;
    if (w->add_actions)
        STEAL_PTR(w->add_actions)(&m);
    if (w->queue_limit >= 0) {
        limit.has_max_length = 1;
        limit.max_length = w->queue_limit;
        m.queuing_limit = &limit;
    }
    reply(w, call, &m.base);
}

static void on_unregister(struct nm_hadoop_call *call, void *userdata)
{
    Yarn__UnregisterResponse m = YARN__UNREGISTER_RESPONSE__INIT;
    struct tracker_fixture *w = userdata;

    w->unregistrations++;
    reply(w, call, &m.base);
}

static const struct nm_hadoop_method methods[] = {
    {"registerNodeManager", &yarn__register_request__descriptor, on_register},
    {"nodeHeartbeat", &yarn__heartbeat_request__descriptor, on_heartbeat},
    {"unRegisterNodeManager", &yarn__unregister_request__descriptor, on_unregister},
};
static const struct nm_hadoop_protocol protocol = {PROTOCOL, 1, methods, NM_ARRAY_SIZE(methods)};

void tracker_start_rm(struct tracker_fixture *w)
{
    const struct nm_hadoop_server_options o = {.protocols = &protocol, .n_protocols = 1, .userdata = w};

    assert_int_equal(nm_hadoop_server_new(w->node->event, listen_on_loopback(&w->port), &o, &w->rm), 0);
}

void tracker_stop_rm(struct tracker_fixture *w)
{
    w->rm = end_rm(w->rm, &w->held);
}

/* ---- the node ----------------------------------------------------------------------------- */

void tracker_configure(struct tracker_fixture *w, const char *more)
{
    struct nm_yarn_conf *c;
    char text[4000], *message = NULL;

    (void)snprintf(text, sizeof text,
                   "<configuration>" TRACKER_PROPERTY("yarn.resourcemanager.resource-tracker.address", "127.0.0.1:%u")
                       TRACKER_PROPERTY("yarn.nodemanager.address", "127.0.0.1:0")
                       TRACKER_PROPERTY("yarn.nodemanager.webapp.address", "127.0.0.1:0")
                       TRACKER_PROPERTY("yarn.nodemanager.resourcemanager.connect.retry-interval.ms", "10")
                       TRACKER_PROPERTY("yarn.nodemanager.local-dirs", "%s/local")
                       TRACKER_PROPERTY("yarn.nodemanager.log-dirs", "%s/logs")
                       TRACKER_PROPERTY("yarn.nodemanager.disk-health-checker.enable", "false") "%s</configuration>",
                   w->port, w->node->tree.path, w->node->tree.path, more);
    (void)nm_yarn_settings_free(w->settings);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "yarn-site.xml", text, strlen(text), &message), 0);
    if (nm_yarn_settings_read(c, NULL, NULL, &w->settings, &message) < 0)
        fail_msg("%s", message);
    (void)nm_yarn_conf_free(c);
}

static void report_cb(int level, const char *sentence)
{
    size_t n = strlen(tracker_logged.all);

    tracker_logged.n++;
    tracker_logged.level = level;
    (void)snprintf(tracker_logged.sentence, sizeof tracker_logged.sentence, "%s", sentence);
    (void)snprintf(tracker_logged.all + n, sizeof tracker_logged.all - n, "%s\n", sentence);
}

struct nm_yarn_params tracker_params(struct tracker_fixture *w)
{
    return (struct nm_yarn_params){
        .event = w->node->event, .manager = w->node->m, .settings = w->settings, .localizer_program = w->localizer,
        .shuffle_program = w->shuffle, .state_dir = w->node->m->state_dir, .runtime_dir = w->node->m->runtime_dir,
        .report_cb = report_cb};
}

pid_t tracker_helper(const struct tracker_fixture *w)
{
    char text[32];
    const int slice = w->node->m->backend->slice_fd;

    if (nm_read_file_at(slice, "../nmtest_shuffle.scope/cgroup.procs", text, sizeof text, NULL) < 0)
        return 0;
    return (pid_t)strtol(text, NULL, 10);
}

void tracker_join(struct tracker_fixture *w)
{
    const struct nm_yarn_params p = tracker_params(w);
    char *message = NULL;
    int r = nm_yarn_new(&p, &w->yarn, &message);

    if (r < 0)
        fail_msg("%s", message ?: strerror(-r));
    assert_null(message);
}

int tracker_set_up(void **state)
{
    struct tracker_fixture *w = calloc(1, sizeof *w);
    void *node;

    assert_non_null(w);
    if (manager_fixture_set_up(&node) < 0)
        return -1;
    assert_int_equal(setenv("JAVA_HOME", "/nowhere", 1), 0); /* without this setting the node logs a warning */
    w->node = node;
    manager_fixture_start(w->node);
    (void)snprintf(w->localizer, sizeof w->localizer, "./nm-localizer");
    (void)snprintf(w->shuffle, sizeof w->shuffle, "./nm-shuffle");
    w->queue_limit = -1;
    w->heartbeat_msec = 1;
    tracker_logged = (struct tracker_logged){};
    tracker_start_rm(w);
    tracker_configure(w, "");
    *state = w;
    return 0;
}

int tracker_tear_down(void **state)
{
    struct tracker_fixture *w = *state;
    void *node = w->node;
    int r;

    nm_yarn_free(w->yarn);
    tracker_stop_rm(w);
    r = manager_fixture_tear_down(&node);
    (void)nm_yarn_settings_free(w->settings);
    free(w);
    return r;
}

void tracker_run_until(struct tracker_fixture *w, bool (*is)(const struct tracker_fixture *w))
{
    const uint64_t deadline = nm_now_usec() + WAIT_USEC;

    while (!is(w)) {
        if (nm_now_usec() >= deadline)
            fail_msg("the condition did not become true in time; the log: %s", tracker_logged.all);
        assert_true(sd_event_run(w->node->event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
}

void tracker_run_beats(struct tracker_fixture *w, unsigned n)
{
    const uint64_t deadline = nm_now_usec() + WAIT_USEC, until = tracker_shown(w).heartbeats + n;

    while (tracker_shown(w).heartbeats < until) {
        assert_true(nm_now_usec() < deadline);
        assert_true(sd_event_run(w->node->event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
}

struct nm_upstream tracker_shown(const struct tracker_fixture *w)
{
    struct nm_status s;

    nm_manager_get_status(w->node->m, &s);
    return s.upstream;
}

json_t *tracker_masters(const struct tracker_fixture *w, const struct nm_caller *who)
{
    json_t *details = nm_manager_upstream_details(w->node->m, who, true);
    json_t *masters = json_incref(json_object_get(details, "masters"));

    json_decref(details);
    return masters;
}

bool tracker_is_running(const struct tracker_fixture *w)
{
    return nm_streq(tracker_shown(w).state, "running");
}

void tracker_set_size_zero(Yarn__HeartbeatResponse *m)
{
    static Hadoop__Resource nothing;

    nothing = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    nothing.has_memory = nothing.has_vcores = 1;
    m->resource = &nothing;
}
