/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See yarn.h. state.c says what is due and when; here it is done: names are resolved, a connection is made where there
 * is none, the request is sent, and its answer goes back to state.c. There is one request under way at a time, and one
 * timer, which is off meanwhile.
 */

#include "rpc/yarn/yarn.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <syslog.h>

#include "rpc/hadoop/client.h"
#include "rpc/yarn/report.h"
#include "rpc/yarn/resolve.h"
#include "rpc/yarn/state.h"
#include "util/clock.h"

#define PROTOCOL "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
#define USER "yarn" /* what every daemon of a cluster without Kerberos may call itself */
/* Hadoop's, whose protocol this is: a ResourceManager may insist on a minimum. */
#define VERSION "3.4.2"
#define LEAVE_USEC (2 * NM_USEC_PER_SEC)

struct nm_yarn {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    nm_yarn_tell_t tell;
    struct nm_subscription *subscription;
    sd_event_source *timer;
    struct nm_resolve *resolve;
    struct nm_hadoop_client *client;
    int port_fd; /* keeps the node's port, so that nobody else gets it */

    struct nm_yarn_state state;
    struct nm_yarn_step step; /* what the timer is set for, or under way */
    struct nm_report_memory memory;
    struct nm_report report;
    Hadoop__NodeId id;
    char host[256];  /* "": not known yet */
    uint8_t client_id[16];
    unsigned attempts; /* of connections, for one address after the other */
    bool well;       /* as the log has it */
    uint64_t sent_usec, beat_usec;
    struct nm_upstream shown;

    void (*left)(void *userdata);
    void *left_userdata;
};

/* ---- what there is to see ----------------------------------------------------------------- */

static const char *state_name(const struct nm_yarn *y)
{
    if (y->state.phase == NM_YARN_STOPPED)
        return "stopped";
    if (y->state.failures > 0)
        return "unreachable";
    return y->state.phase == NM_YARN_RUNNING ? "running" : "registering";
}

static void show(void *userdata, struct nm_upstream *ret)
{
    const struct nm_yarn *y = userdata;

    *ret = y->shown;
    ret->kind = "yarn";
    ret->state = state_name(y);
    (void)snprintf(ret->address, sizeof ret->address, "%s:%u", y->settings->tracker.host,
                   (unsigned)y->settings->tracker.port);
    if (*y->host)
        (void)snprintf(ret->node, sizeof ret->node, "%s:%d", y->host, y->id.port);
    (void)snprintf(ret->trouble, sizeof ret->trouble, "%s", y->state.trouble);
    ret->memory_bytes = (uint64_t)y->state.memory_mib * NM_MIB;
    ret->vcores = (uint32_t)y->state.vcores;
}

static json_t *show_settings(void *userdata)
{
    const struct nm_yarn *y = userdata;

    return nm_yarn_settings_to_json(y->settings);
}

static const struct nm_upstream_ops upstream_ops = {.status = show, .config = show_settings};

nm_printf(3, 4) static void say(struct nm_yarn *y, int level, const char *format, ...)
{
    char text[700];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    y->tell(level, text);
}

/* The log hears of changes, not of each of a thousand attempts. */
static void note_change(struct nm_yarn *y)
{
    const struct nm_yarn_address *rm = &y->settings->tracker;
    bool well = y->state.phase == NM_YARN_RUNNING && y->state.failures == 0 && y->shown.heartbeats > 0;

    if (y->state.phase == NM_YARN_STOPPED)
        say(y, LOG_WARNING, "%s; nmd goes on without it until it is started anew", y->state.trouble);
    else if (well && !y->well)
        say(y, LOG_INFO, "node %s:%d is registered with the ResourceManager at %s:%u", y->host, y->id.port, rm->host,
            (unsigned)rm->port);
    else if (!well && (y->well || (y->state.failures == 1 && y->shown.heartbeats == 0)))
        say(y, LOG_WARNING, "no ResourceManager at %s:%u: %s; nmd goes on, and keeps trying", rm->host,
            (unsigned)rm->port, y->state.trouble);
    y->well = well;
}

/* ---- steps -------------------------------------------------------------------------------- */

static uint32_t any_number(void)
{
    uint32_t v = 0;

    (void)getrandom(&v, sizeof v, GRND_NONBLOCK);
    return v;
}

static void take_step(struct nm_yarn *y, struct nm_yarn_step step)
{
    y->step = step;
    note_change(y);
    if (step.task == NM_YARN_REST) {
        y->client = nm_hadoop_client_free(y->client);
        return;
    }
    (void)sd_event_source_set_time_relative(y->timer, step.after_usec);
    (void)sd_event_source_set_enabled(y->timer, SD_EVENT_ONESHOT);
}

static void failed(struct nm_yarn *y, int error, const struct nm_exception *why)
{
    if (y->left)
        return;
    y->shown.failures++;
    take_step(y, nm_yarn_state_failed(&y->state, error, why, any_number()));
}

static void note_answer(struct nm_yarn *y)
{
    y->shown.round_trip_usec = nm_now_usec() - y->sent_usec;
    nm_histogram_add(&y->shown.rpc, y->shown.round_trip_usec);
}

static void on_registered(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;

    if (y->left)
        return;
    if (error < 0) {
        failed(y, error, why);
        return;
    }
    note_answer(y);
    take_step(y, nm_yarn_state_registered(&y->state, (const Yarn__RegisterResponse *)answer, any_number()));
}

static void on_beat(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;
    uint64_t now = nm_now_usec();

    if (y->left)
        return;
    if (error < 0) {
        failed(y, error, why);
        return;
    }
    note_answer(y);
    if (y->beat_usec > 0)
        nm_histogram_add(&y->shown.heartbeat, now - y->beat_usec);
    y->beat_usec = now;
    y->shown.heartbeats++;
    y->shown.last_heartbeat_realtime_usec = nm_realtime_usec();
    take_step(y, nm_yarn_state_answered(&y->state, (const Yarn__HeartbeatResponse *)answer, any_number()));
}

/* ---- requests ----------------------------------------------------------------------------- */

/* To be had by the cluster is what its own files say; what waits here beyond that is the node's own business. */
static uint32_t queue_capacity(const struct nm_yarn *y, const struct nm_status *s)
{
    return NM_MIN((uint32_t)y->settings->queue_max_length, s->settings.queue_max_length);
}

static void make_report(struct nm_yarn *y)
{
    struct nm_status s;

    nm_manager_get_status(y->manager, &s);
    nm_report_make(&y->report, &y->memory, &s, queue_capacity(y, &s), nm_now_usec(), nm_realtime_usec());
    y->report.status.node = &y->id;
    y->report.status.has_response_id = 1;
    y->report.status.response_id = y->state.phase == NM_YARN_RUNNING ? y->state.response_id : 0;
    if (y->state.memory_mib > 0) {
        y->report.offered.memory = y->state.memory_mib;
        y->report.offered.vcores = y->state.vcores;
    }
}

static int call(struct nm_yarn *y, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *answer, nm_hadoop_reply reply)
{
    uint64_t timeout = y->settings->rpc_timeout_usec ?: UINT64_MAX;

    y->sent_usec = nm_now_usec();
    return nm_hadoop_client_call(y->client, method, request, answer, (int)NM_MIN(y->state.retries, (unsigned)INT_MAX),
                                 timeout, reply, y);
}

static int send_registration(struct nm_yarn *y)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;

    make_report(y);
    request.node = &y->id;
    request.has_http_port = 1;
    request.http_port = y->settings->web.port;
    request.resource = &y->report.offered;
    request.physical = &y->report.physical;
    request.version = (char *)VERSION;
    request.status = &y->report.status;
    return call(y, "registerNodeManager", &request.base, &yarn__register_response__descriptor, on_registered);
}

static Yarn__MasterKey *name_key(Yarn__MasterKey *message, const struct nm_yarn_keys *keys)
{
    *message = (Yarn__MasterKey)YARN__MASTER_KEY__INIT;
    message->has_id = 1;
    message->id = keys->current.id;
    return message;
}

static int send_beat(struct nm_yarn *y)
{
    Yarn__HeartbeatRequest request = YARN__HEARTBEAT_REQUEST__INIT;
    Yarn__MasterKey container_key, nm_key;

    make_report(y);
    request.status = &y->report.status;
    request.last_container_token_key = name_key(&container_key, &y->state.container_keys);
    request.last_nm_token_key = name_key(&nm_key, &y->state.nm_keys);
    request.has_token_sequence = 1;
    request.token_sequence = y->state.token_sequence;
    return call(y, "nodeHeartbeat", &request.base, &yarn__heartbeat_response__descriptor, on_beat);
}

static void send_due(struct nm_yarn *y)
{
    int r = y->step.task == NM_YARN_BEAT ? send_beat(y) : send_registration(y);

    if (r < 0)
        failed(y, r, NULL);
}

/* ---- names and connections ---------------------------------------------------------------- */

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;

    (void)error, (void)why; /* who waited for an answer has heard; else the next request makes another one */
    y->client = nm_hadoop_client_free(y->client);
}

static int connect_to(struct nm_yarn *y, const struct nm_resolved *rm)
{
    unsigned i = y->attempts++ % rm->n;
    struct nm_hadoop_client_options o = {
        .address = (const struct sockaddr *)&rm->addresses[i], .address_size = rm->sizes[i], .protocol = PROTOCOL,
        .version = 1, .user = USER, .client_id = y->client_id, .closed = on_closed, .userdata = y,
        .connect_usec = y->settings->connect_usec};

    return nm_hadoop_client_new(y->event, &o, &y->client);
}

static void fail_to_resolve(struct nm_yarn *y, const char *host, int error)
{
    struct nm_exception why;

    nm_exception_set(&why, 0, "name services", "%s: %s", host, gai_strerror(error));
    failed(y, -EHOSTUNREACH, &why);
}

static void on_rm_resolved(const struct nm_resolved *rm, void *userdata)
{
    struct nm_yarn *y = userdata;
    int r;

    y->resolve = nm_resolve_free(y->resolve);
    if (y->left)
        return;
    if (rm->error != 0 || rm->n == 0) {
        fail_to_resolve(y, y->settings->tracker.host, rm->error ?: EAI_NONAME);
        return;
    }
    r = connect_to(y, rm);
    if (r < 0)
        failed(y, r, NULL);
    else
        send_due(y);
}

/* Each time anew: a ResourceManager may have moved, and that is a reason why it doesn't answer. */
static void find_rm(struct nm_yarn *y)
{
    const struct nm_yarn_address *rm = &y->settings->tracker;
    int r = nm_resolve_new(y->event, rm->host, rm->port, on_rm_resolved, y, &y->resolve);

    if (r < 0)
        failed(y, r, NULL);
}

/* A host that name services don't know still has the name that it gives itself. */
static void on_own_name(const struct nm_resolved *own, void *userdata)
{
    struct nm_yarn *y = userdata;

    y->resolve = nm_resolve_free(y->resolve);
    (void)snprintf(y->host, sizeof y->host, "%s", *own->name ? own->name : "localhost");
    if (!y->left)
        find_rm(y);
}

static int on_due(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn *y = userdata;
    int r = 0;

    (void)source, (void)usec;
    if (y->step.reconnect)
        y->client = nm_hadoop_client_free(y->client);
    if (y->client)
        send_due(y);
    else if (*y->host)
        find_rm(y);
    else
        r = nm_resolve_new(y->event, NULL, 0, on_own_name, y, &y->resolve);
    if (r < 0)
        failed(y, r, NULL);
    return 0;
}

/* ---- coming and going --------------------------------------------------------------------- */

static void on_event(const struct nm_event *e, void *userdata)
{
    struct nm_yarn *y = userdata;
    const struct nm_container *c = e->container;

    if (e->kind == NM_EVENT_STATE && e->to == NM_COMPLETED && c->view.type == NM_OPPORTUNISTIC &&
        c->started_realtime_usec > 0 && (c->exit_reason == NM_EXIT_EXITED || c->exit_reason == NM_EXIT_SIGNALED))
        nm_report_note_run(&y->memory, nm_sub_u64(c->finished_realtime_usec, c->started_realtime_usec));
}

static int keep_port(struct nm_yarn *y, char **ret_message)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(y->settings->node.port)};
    socklen_t size = sizeof any;
    int on = 1;

    y->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (y->port_fd < 0)
        return -errno;
    (void)setsockopt(y->port_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(y->port_fd, (struct sockaddr *)&any, sizeof any) < 0 ||
        getsockname(y->port_fd, (struct sockaddr *)&any, &size) < 0) {
        int error = errno;
        return nm_fail(ret_message, -error, "yarn.nodemanager.address: port %u: %s", (unsigned)y->settings->node.port,
                       strerror(error));
    }
    y->id = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    y->id.host = y->host;
    y->id.has_port = 1;
    y->id.port = ntohs(any.sin_port);
    return 0;
}

int nm_yarn_new(sd_event *event, struct nm_manager *m, const struct nm_yarn_settings *settings,
                nm_yarn_tell_t tell, struct nm_yarn **ret, char **ret_message)
{
    _cleanup_(nm_yarn_freep) struct nm_yarn *y = calloc(1, sizeof *y);
    int r;

    assert(m && settings && tell);
    *ret_message = NULL;
    if (!y)
        return -ENOMEM;
    y->event = sd_event_ref(event);
    y->settings = settings;
    y->tell = tell;
    y->port_fd = -EBADF;
    nm_yarn_state_init(&y->state, settings->retry_usec);
    if (!nm_streq(settings->node.host, "0.0.0.0"))
        (void)snprintf(y->host, sizeof y->host, "%s", settings->node.host);
    if (getrandom(y->client_id, sizeof y->client_id, 0) != sizeof y->client_id)
        return -EIO;
    r = keep_port(y, ret_message);
    if (r >= 0)
        r = sd_event_add_time_relative(event, &y->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC, on_due, y);
    if (r >= 0)
        r = nm_manager_subscribe(m, on_event, y, &y->subscription);
    if (r < 0)
        return r;
    y->manager = m;
    nm_manager_set_upstream(m, &upstream_ops, y);
    *ret = STEAL_PTR(y);
    return 0;
}

struct nm_yarn *nm_yarn_free(struct nm_yarn *y)
{
    if (!y)
        return NULL;
    if (y->manager)
        nm_manager_set_upstream(y->manager, NULL, NULL);
    nm_subscription_free(y->subscription);
    nm_resolve_free(y->resolve);
    nm_hadoop_client_free(y->client);
    sd_event_source_disable_unref(y->timer);
    (void)nm_close(y->port_fd);
    sd_event_unref(y->event);
    free(y);
    return NULL;
}

/* Whether it is heard or not: nobody waits any longer. */
static void on_signed_off(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;

    (void)error, (void)answer, (void)why;
    y->left(y->left_userdata);
}

bool nm_yarn_leave(struct nm_yarn *y, void (*done)(void *userdata), void *userdata)
{
    Yarn__UnregisterRequest request = YARN__UNREGISTER_REQUEST__INIT;
    bool comes_back = y->settings->recovery && y->settings->supervised;

    if (y->left)
        return true;
    if (comes_back || y->state.phase != NM_YARN_RUNNING || !y->client)
        return false;
    request.node = &y->id;
    if (nm_hadoop_client_call(y->client, "unRegisterNodeManager", &request.base,
                              &yarn__unregister_response__descriptor, 0, LEAVE_USEC, on_signed_off, y) < 0)
        return false;
    (void)sd_event_source_set_enabled(y->timer, SD_EVENT_OFF);
    y->left = done;
    y->left_userdata = userdata;
    return true;
}
