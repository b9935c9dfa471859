/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See yarn.h. state.c says what is due and when; here it is done: names are resolved, a connection is made where there
 * is none, the request is sent, and its answer goes back to state.c. There is one request under way at a time, and one
 * timer, which is off meanwhile. A heartbeat is sent before its time when there is something that others wait for.
 */

#include "rpc/yarn/yarn.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <sys/random.h>
#include <syslog.h>

#include "rpc/hadoop/client.h"
#include "rpc/yarn/hosting.h"
#include "rpc/yarn/orders.h"
#include "rpc/yarn/port.h"
#include "rpc/yarn/report.h"
#include "rpc/yarn/resolve.h"
#include "rpc/yarn/state.h"
#include "util/clock.h"

#define PROTOCOL "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
#define USER "yarn" /* what every daemon of a cluster without Kerberos may call itself */
/* Hadoop's, whose protocol this is: a ResourceManager may insist on a minimum. */
#define VERSION "3.4.2"
#define LEAVE_USEC (2 * NM_USEC_PER_SEC)
/* From one heartbeat to the next that isn't due yet: a job whose tasks end ten at a time is told ten times a second. */
#define NEWS_USEC (100 * NM_USEC_PER_MSEC)
/* What a request may say of containers: thousands, each with the most that is told of its end. */
#define REPORT_BYTES (64 * NM_MIB)

struct nm_yarn {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    nm_yarn_tell_t tell;
    struct nm_subscription *subscription;
    sd_event_source *timer;
    struct nm_resolve *resolve;
    struct nm_hadoop_client *client;
    struct nm_yarn_hosting *hosting;

    struct nm_yarn_state state;
    struct nm_yarn_step step; /* what the timer is set for, or under way */
    uint64_t due_usec;        /* when the timer comes; 0: it is under way */
    bool news;                /* since the last heartbeat began */
    bool repeats;             /* the heartbeat under way was sent before */
    struct nm_report_memory memory;
    struct nm_report report;
    int64_t own_memory_mib; /* the node's size as nmd has it, told at the last registration */
    int32_t own_vcores;
    uint64_t disks_checked_usec; /* 0: never */
    bool disks_good;
    char disks_trouble[200];
    Hadoop__NodeId id;
    char host[256];  /* "": not known yet */
    uint8_t client_id[16];
    unsigned attempts; /* of connections, for one address after the other */
    unsigned tracker;  /* counts the ResourceManagers that were given up, for one after the other */
    bool well;       /* as the log has it */
    uint64_t sent_usec, beat_usec;
    struct nm_upstream shown;

    void (*left)(void *userdata);
    void *left_userdata;
};

/* The ResourceManager that is asked now. */
static const struct nm_yarn_address *tracker_of(const struct nm_yarn *y)
{
    return y->settings->n_trackers > 0 ? &y->settings->trackers[y->tracker % y->settings->n_trackers]
                                       : &y->settings->tracker;
}

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
    (void)snprintf(ret->address, sizeof ret->address, "%s:%u", tracker_of(y)->host, (unsigned)tracker_of(y)->port);
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
    const struct nm_yarn_address *rm = tracker_of(y);
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

static void set_timer(struct nm_yarn *y, uint64_t after_usec)
{
    y->due_usec = nm_now_usec() + after_usec;
    (void)sd_event_source_set_time_relative(y->timer, after_usec);
    (void)sd_event_source_set_enabled(y->timer, SD_EVENT_ONESHOT);
}

/* Brings a heartbeat forward if there are news. One that is to be tried again keeps its time: whoever is in trouble
 * isn't to be pressed. */
static void hasten(struct nm_yarn *y)
{
    uint64_t now = nm_now_usec(), due = NM_MAX(now, y->sent_usec + NEWS_USEC);

    if (y->news && y->due_usec > due && y->step.task == NM_YARN_BEAT && y->state.failures == 0 && !y->left)
        set_timer(y, due - now);
}

static void on_news(void *userdata)
{
    struct nm_yarn *y = userdata;

    y->news = true;
    hasten(y);
}

/* Shut out for good. What ran for the cluster is nobody's any more. */
static void rest(struct nm_yarn *y)
{
    y->due_usec = 0;
    y->client = nm_hadoop_client_free(y->client);
    nm_yarn_node_end_all(y->hosting->node, NM_YARN_KILLED_BY_RM, "The ResourceManager shut this node out.");
}

/* Nothing is started while the node registers: what it tells of itself then must be all. */
static void take_step(struct nm_yarn *y, struct nm_yarn_step step)
{
    y->step = step;
    note_change(y);
    nm_yarn_manage_set_rm(y->hosting->manage, y->state.rm_identifier);
    nm_yarn_hosting_keep(y->hosting);
    if (step.task == NM_YARN_REST) {
        rest(y);
        return;
    }
    set_timer(y, step.after_usec);
    hasten(y);
}

/* Of several ResourceManagers the next may be the active one: one that isn't may answer as well, to say so. */
static void failed(struct nm_yarn *y, int error, const struct nm_exception *why)
{
    struct nm_yarn_step step;

    if (y->left)
        return;
    y->shown.failures++;
    step = nm_yarn_state_failed(&y->state, error, why, any_number());
    step.reconnect |= y->settings->ha;
    take_step(y, step);
    y->tracker++;
}

static void note_answer(struct nm_yarn *y)
{
    y->shown.round_trip_usec = nm_now_usec() - y->sent_usec;
    nm_histogram_add(&y->shown.rpc, y->shown.round_trip_usec);
}

/* What the ResourceManager allows to wait here. */
static void limit_queue(struct nm_yarn *y)
{
    struct nm_status s;

    nm_manager_get_status(y->manager, &s);
    nm_manager_set_queue_limit(y->manager, NM_YARN_OWNER,
                               nm_report_queue_limit(&y->memory, y->state.queue_max_length,
                                                     y->state.queue_max_wait_msec, s.opportunistic_running));
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

static void obey(struct nm_yarn *y, const Yarn__HeartbeatResponse *answer)
{
    if (y->state.phase == NM_YARN_RUNNING && y->state.failures == 0) {
        /* The answer to one that was sent twice may be to the first, which knew less. */
        if (!y->repeats)
            nm_yarn_node_reported(y->hosting->node);
        nm_yarn_obey(y->hosting->node, y->hosting->manage, answer);
        limit_queue(y);
    } else if (y->state.phase == NM_YARN_REGISTERING && !y->settings->rm_recovers) {
        nm_yarn_node_end_all(y->hosting->node, NM_YARN_KILLED_BY_RM,
                             "The ResourceManager was started anew, and doesn't recover what ran.");
    }
}

static void on_beat(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;
    const Yarn__HeartbeatResponse *r = (const Yarn__HeartbeatResponse *)answer;
    uint64_t now = nm_now_usec();
    struct nm_yarn_step step;

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
    step = nm_yarn_state_answered(&y->state, r, any_number());
    obey(y, r);
    take_step(y, step);
}

/* ---- requests ----------------------------------------------------------------------------- */

/* To be had by the cluster is what its own files say; what waits here beyond that is the node's own business. */
static uint32_t queue_capacity(const struct nm_yarn *y, const struct nm_status *s)
{
    return NM_MIN((uint32_t)y->settings->queue_max_length, s->settings.queue_max_length);
}

/* A node without a directory to put containers in is of no use. */
static void check_disks(struct nm_yarn *y, struct nm_status *s)
{
    uint64_t now = nm_now_usec();

    if (y->disks_checked_usec == 0 || now - y->disks_checked_usec >= y->settings->check_disks_usec) {
        y->disks_checked_usec = now;
        y->disks_good = nm_yarn_launcher_is_healthy(y->hosting->launcher, y->disks_trouble, sizeof y->disks_trouble);
    }
    if (s->healthy && !y->disks_good) {
        s->healthy = false;
        (void)snprintf(s->health_reason, sizeof s->health_reason, "%s", y->disks_trouble);
    }
}

static void make_report(struct nm_yarn *y)
{
    struct nm_status s;

    nm_manager_get_status(y->manager, &s);
    check_disks(y, &s);
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
    struct nm_arena a;
    int r;

    y->own_memory_mib = y->report.own_memory_mib;
    y->own_vcores = y->report.own_vcores;
    request.node = &y->id;
    request.has_http_port = 1;
    request.http_port = y->settings->web.port;
    request.resource = &y->report.offered;
    request.physical = &y->report.physical;
    request.version = (char *)VERSION;
    request.status = &y->report.status;
    nm_arena_init(&a, REPORT_BYTES, NULL);
    r = nm_yarn_node_report_all(y->hosting->node, &a, &request);
    if (r == 0)
        r = call(y, "registerNodeManager", &request.base, &yarn__register_response__descriptor, on_registered);
    nm_arena_done(&a);
    return r;
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
    struct nm_arena a;
    int r;

    y->news = false;
    y->repeats = y->state.retries > 0;
    request.status = &y->report.status;
    request.last_container_token_key = name_key(&container_key, &y->state.container_keys);
    request.last_nm_token_key = name_key(&nm_key, &y->state.nm_keys);
    request.has_token_sequence = 1;
    request.token_sequence = y->state.token_sequence;
    /* All of them or nothing: those that are missing would be taken for lost. */
    nm_arena_init(&a, REPORT_BYTES, NULL);
    r = nm_yarn_node_report(y->hosting->node, &a, &y->report.status);
    if (r == 0)
        r = call(y, "nodeHeartbeat", &request.base, &yarn__heartbeat_response__descriptor, on_beat);
    nm_arena_done(&a);
    return r;
}

/* nmd's configuration was read anew: the cluster counts on another size than there is. */
static bool is_resized(const struct nm_yarn *y)
{
    return y->report.own_memory_mib != y->own_memory_mib || y->report.own_vcores != y->own_vcores;
}

static void send_due(struct nm_yarn *y)
{
    int r;

    make_report(y);
    if (y->step.task == NM_YARN_BEAT && is_resized(y)) {
        y->step = nm_yarn_state_resized(&y->state);
        nm_yarn_manage_set_rm(y->hosting->manage, 0);
        make_report(y);
    }
    r = y->step.task == NM_YARN_BEAT ? send_beat(y) : send_registration(y);

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
        fail_to_resolve(y, tracker_of(y)->host, rm->error ?: EAI_NONAME);
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
    const struct nm_yarn_address *rm = tracker_of(y);
    int r = nm_resolve_new(y->event, rm->host, rm->port, on_rm_resolved, y, &y->resolve);

    if (r < 0)
        failed(y, r, NULL);
}

static void tell_name(struct nm_yarn *y)
{
    nm_yarn_node_set_address(y->hosting->node, y->host, y->id.port, y->settings->web.port);
    nm_yarn_manage_set_node(y->hosting->manage, y->host, y->id.port);
}

/* A host that name services don't know still has the name that it gives itself. */
static void on_own_name(const struct nm_resolved *own, void *userdata)
{
    struct nm_yarn *y = userdata;

    y->resolve = nm_resolve_free(y->resolve);
    (void)snprintf(y->host, sizeof y->host, "%s", *own->name ? own->name : "localhost");
    tell_name(y);
    if (!y->left)
        find_rm(y);
}

static int on_due(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn *y = userdata;
    int r = 0;

    (void)source, (void)usec;
    y->due_usec = 0;
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

static int host_containers(struct nm_yarn *y, const struct nm_yarn_params *p, char **ret_message)
{
    const struct nm_yarn_hosting_params params = {
        .event = p->event, .manager = p->manager, .settings = p->settings, .state = &y->state,
        .localizer_program = p->localizer_program, .shuffle_program = p->shuffle_program, .state_dir = p->state_dir,
        .tell = p->tell, .news = on_news, .userdata = y};
    int fd, r;

    y->id = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    y->id.host = y->host;
    y->id.has_port = 1;
    r = nm_yarn_port_open(p->settings, &fd, &y->id.port, ret_message);
    if (r == 0)
        r = nm_yarn_hosting_new(&params, fd, &y->hosting, ret_message);
    if (r < 0)
        return r;
    if (!nm_streq(p->settings->node.host, "0.0.0.0")) {
        (void)snprintf(y->host, sizeof y->host, "%s", p->settings->node.host);
        tell_name(y);
    }
    return 0;
}

int nm_yarn_new(const struct nm_yarn_params *p, struct nm_yarn **ret, char **ret_message)
{
    _cleanup_(nm_yarn_freep) struct nm_yarn *y = calloc(1, sizeof *y);
    int r;

    *ret_message = NULL;
    if (!y)
        return -ENOMEM;
    y->event = sd_event_ref(p->event);
    y->settings = p->settings;
    y->tell = p->tell;
    nm_yarn_state_init(&y->state, p->settings->retry_usec);
    if (getrandom(y->client_id, sizeof y->client_id, 0) != sizeof y->client_id)
        return -EIO;
    r = sd_event_add_time_relative(p->event, &y->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC, on_due, y);
    if (r >= 0)
        r = host_containers(y, p, ret_message);
    if (r >= 0)
        r = nm_manager_subscribe(p->manager, on_event, y, &y->subscription);
    if (r < 0)
        return r;
    y->manager = p->manager;
    nm_manager_set_upstream(y->manager, &upstream_ops, y);
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
    nm_yarn_hosting_free(y->hosting);
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
    nm_yarn_manage_set_rm(y->hosting->manage, 0);
    nm_yarn_node_end_all(y->hosting->node, NM_YARN_KILLED_BY_RM, "The node has left the cluster.");
    (void)sd_event_source_set_enabled(y->timer, SD_EVENT_OFF);
    y->left = done;
    y->left_userdata = userdata;
    return true;
}
