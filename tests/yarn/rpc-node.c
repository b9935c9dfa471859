/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A node that only says that it is there: registers with a resource manager by rpc/hadoop/'s client, sends heartbeats,
 * and unregisters on SIGTERM.
 *   rpc-node RM-PORT NODE-HOST NODE-PORT
 * What it hears is printed, a line each. Exits with 1 when something isn't as it should be.
 */

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>

#include "rpc/hadoop/client.h"
#include "tests/yarn/nodes.pb-c.h"
#include "util/clock.h"

struct node {
    sd_event *event;
    sd_event_source *timer;
    struct nm_hadoop_client *client;
    Hadoop__NodeId id;
    YarnTest__Health health;
    YarnTest__Utilization use;
    YarnTest__NodeStatus status;
    uint64_t interval_usec;
    unsigned n_beats;
};

static void leave(struct node *n, int status)
{
    (void)sd_event_exit(n->event, status);
}

/* What came, if it is what was asked for. */
static const void *expect(struct node *n, const char *what, int error, const ProtobufCMessage *answer,
                          const struct nm_exception *why)
{
    if (error == 0)
        return answer;
    printf("%s: %s%s%s%s%s\n", what, strerror(-error), why ? ": " : "", why ? why->class_name : "", why ? ": " : "",
           why ? why->message : "");
    leave(n, 1);
    return NULL;
}

static void call(struct node *n, const char *method, const ProtobufCMessage *request,
                 const ProtobufCMessageDescriptor *answer, nm_hadoop_reply reply)
{
    int r = nm_hadoop_client_call(n->client, method, request, answer, 0, 30 * NM_USEC_PER_SEC, reply, n);

    if (r < 0) {
        printf("%s: %s\n", method, strerror(-r));
        leave(n, 1);
    }
}

/* ---- heartbeats --------------------------------------------------------------------------- */

static void on_beat(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct node *n = userdata;
    const YarnTest__HeartbeatResponse *r = expect(n, "heartbeat", error, answer, why);

    if (!r)
        return;
    if (r->action != YARN_TEST__ACTION__NORMAL || r->response_id != n->status.response_id + 1) {
        printf("heartbeat: action %d, response %d after %d: %s\n", (int)r->action, r->response_id,
               n->status.response_id, r->diagnostics ?: "");
        leave(n, 1);
        return;
    }
    n->status.response_id = r->response_id;
    printf("heartbeat %u\n", ++n->n_beats);
    (void)sd_event_source_set_time_relative(n->timer, n->interval_usec);
    (void)sd_event_source_set_enabled(n->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    YarnTest__HeartbeatRequest request = YARN_TEST__HEARTBEAT_REQUEST__INIT;
    struct node *n = userdata;

    (void)source, (void)usec;
    request.status = &n->status;
    n->health.reported_msec = (int64_t)(nm_realtime_usec() / 1000);
    call(n, "nodeHeartbeat", &request.base, &yarn_test__heartbeat_response__descriptor, on_beat);
    return 0;
}

/* ---- coming and going --------------------------------------------------------------------- */

static void on_registered(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct node *n = userdata;
    const YarnTest__RegisterResponse *r = expect(n, "register", error, answer, why);

    if (!r)
        return;
    printf("registered with %s: action %d, keys of %zu and %zu bytes\n", r->rm_version ?: "?", (int)r->action,
           r->container_token_key ? r->container_token_key->key.len : 0,
           r->nm_token_key ? r->nm_token_key->key.len : 0);
    (void)on_timer(n->timer, 0, n);
}

static void enrol(struct node *n)
{
    YarnTest__RegisterRequest request = YARN_TEST__REGISTER_REQUEST__INIT;
    Hadoop__Resource resource = HADOOP__RESOURCE__INIT;

    resource.has_memory = resource.has_vcores = request.has_http_port = 1;
    resource.memory = 4096;
    resource.vcores = 4;
    request.node = &n->id;
    request.http_port = 8042;
    request.resource = &resource;
    request.version = (char *)"3.4.2";
    request.status = &n->status;
    call(n, "registerNodeManager", &request.base, &yarn_test__register_response__descriptor, on_registered);
}

static void on_unregistered(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    if (expect(userdata, "unregister", error, answer, why)) {
        printf("unregistered\n");
        leave(userdata, 0);
    }
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata)
{
    YarnTest__UnregisterRequest request = YARN_TEST__UNREGISTER_REQUEST__INIT;
    struct node *n = userdata;

    (void)source, (void)si;
    request.node = &n->id;
    call(n, "unRegisterNodeManager", &request.base, &yarn_test__unregister_response__descriptor, on_unregistered);
    return 0;
}

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    (void)why;
    printf("closed: %s\n", error ? strerror(-error) : "by the resource manager");
    leave(userdata, 1);
}

/* ---- beginning ---------------------------------------------------------------------------- */

static void set_up(struct node *n, char **argv)
{
    n->id = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    n->id.host = argv[2];
    n->id.has_port = 1;
    n->id.port = atoi(argv[3]);
    n->health = (YarnTest__Health)YARN_TEST__HEALTH__INIT;
    n->health.has_healthy = n->health.healthy = n->health.has_reported_msec = 1;
    n->health.report = (char *)"";
    n->status = (YarnTest__NodeStatus)YARN_TEST__NODE_STATUS__INIT;
    n->status.node = &n->id;
    n->status.health = &n->health;
    n->status.has_response_id = 1;
    n->use = (YarnTest__Utilization)YARN_TEST__UTILIZATION__INIT;
    n->use.has_memory_mib = n->use.has_virtual_mib = n->use.has_cpu = 1;
    n->use.memory_mib = n->use.virtual_mib = 1234;
    n->status.containers_use = n->status.node_use = &n->use;
    n->interval_usec = 100 * NM_USEC_PER_MSEC;
}

static int add_sources(struct node *n)
{
    sigset_t set;
    int r;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    r = sd_event_new(&n->event);
    if (r >= 0)
        r = sd_event_add_time_relative(n->event, &n->timer, CLOCK_BOOTTIME, 0, 0, on_timer, n);
    if (r >= 0)
        r = sd_event_source_set_enabled(n->timer, SD_EVENT_OFF);
    return r < 0 ? r : sd_event_add_signal(n->event, NULL, SIGTERM, on_signal, n);
}

int main(int argc, char **argv)
{
    struct sockaddr_in rm = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct nm_hadoop_client_options options = {
        .address = (struct sockaddr *)&rm, .address_size = sizeof rm,
        .protocol = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB", .version = 1, .user = "yarn",
        .closed = on_closed};
    struct node n = {};
    int r;

    if (argc != 4)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    rm.sin_port = htons((uint16_t)atoi(argv[1]));
    set_up(&n, argv);
    options.userdata = &n;
    r = add_sources(&n);
    if (r >= 0)
        r = nm_hadoop_client_new(n.event, &options, &n.client);
    if (r < 0)
        return 1;
    enrol(&n);
    r = sd_event_loop(n.event);
    nm_hadoop_client_free(n.client);
    sd_event_source_disable_unref(n.timer);
    sd_event_unref(n.event);
    return r == 0 ? 0 : 1;
}
