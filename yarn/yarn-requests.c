/* SPDX-License-Identifier: Apache-2.0 */

/* The two requests of a node (registration and heartbeat), and the handling of their answers. */

#include "yarn/yarn-state.h"

#include <limits.h>

#include "util/clock.h"
#include "yarn/cm-protocol/cm-server.h"

/* Limit of the memory for a request's structures, sufficient for the maximum number of containers. Texts aren't copied,
 * and have a separate limit. */
#define REPORT_BYTES (32 * NM_MIB)

/* ---- answers ------------------------------------------------------------------------------ */

/* Returns whether the answer must be handled. False: the call has failed, or the answer has arrived after the node has
 * unregistered. */
static bool accept_answer(struct nm_yarn *y, int error, const struct nm_exception *why)
{
    if (y->on_unregistered)
        return false;
    if (error < 0) {
        nm_yarn_step_failed(y, error, why);
        return false;
    }
    y->shown.round_trip_usec = nm_now_usec() - y->sent_usec;
    nm_histogram_add(&y->shown.rpc, y->shown.round_trip_usec);
    return true;
}

static uint32_t n_opportunistic_running(const struct nm_yarn *y)
{
    struct nm_status s;

    nm_manager_get_summary(y->manager, &s);
    return s.opportunistic_running;
}

/* Applies the ResourceManager's limit for the length of the queue. Only a limit of the wait depends on the number of
 * running containers. */
static void limit_queue(struct nm_yarn *y)
{
    uint32_t running = y->state.queue_max_wait_msec >= 0 ? n_opportunistic_running(y) : 0;

    nm_manager_set_queue_limit(y->manager, NM_YARN_OWNER,
                               nm_yarn_heartbeat_queue_limit(&y->memory, y->state.queue_max_length,
                                                             y->state.queue_max_wait_msec, running));
}

/* Resets the state after a registration. Some ResourceManagers ignore the health in a registration. A ResourceManager
 * that has its own value for the node's size returns this size and uses it. */
static void start_heartbeats(struct nm_yarn *y, const Yarn__RegisterResponse *r)
{
    const int64_t limit = y->limit_reported_mib;

    y->empty_beats = 0;
    nm_yarn_node_set_awaits_ends(y->services->node, !nm_yarn_node_is_empty(y->services->node));
    y->shown.unhealthy[0] = '\0';
    nm_yarn_node_set_reported_unhealthy(y->services->node, false);
    nm_yarn_node_set_rm_uses_full_size(y->services->node, limit > 0 && r->resource && r->resource->memory > limit);
}

static void on_registered(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;

    if (!accept_answer(y, error, why))
        return;
    start_heartbeats(y, (const Yarn__RegisterResponse *)answer);
    nm_yarn_labels_registered(y, (const Yarn__RegisterResponse *)answer);
    nm_yarn_step_take(
        y, nm_yarn_state_registered(&y->state, (const Yarn__RegisterResponse *)answer, nm_yarn_jitter(y)));
}

static void apply_answer(struct nm_yarn *y, const Yarn__HeartbeatResponse *answer)
{
    if (y->state.phase == NM_YARN_RUNNING && y->state.failures == 0) {
        nm_yarn_labels_answered(y, answer);
        /* If the heartbeat was sent twice, this may be the answer to the first one, which may have contained fewer
         * reports. */
        if (!y->repeats) {
            nm_yarn_node_set_reported_unhealthy(y->services->node, !y->report.health.healthy);
            (void)snprintf(y->shown.unhealthy, sizeof y->shown.unhealthy, "%.*s", (int)sizeof y->shown.unhealthy - 1,
                           y->report.health.healthy ? "" : y->report.health_text);
            nm_yarn_node_reported(y->services->node);
            if (y->services->logs)
                nm_yarn_logs_reported(y->services->logs);
            y->empty_beats = nm_yarn_node_is_empty(y->services->node) ? y->empty_beats + 1 : 0;
        }
        nm_yarn_apply_response(y->services->node, y->services->cm_server, answer);
        if (y->state.response_id >= 2) /* the first answer was made before the ResourceManager has read the report */
            nm_yarn_node_set_awaits_ends(y->services->node, false);
        limit_queue(y);
    } else if (y->state.phase == NM_YARN_REGISTERING && !y->settings->rm_recovers) {
        nm_yarn_node_end_all(y->services->node, NM_YARN_KILLED_BY_RM,
                             "The ResourceManager was restarted and doesn't recover containers.");
    }
}

static void on_heartbeat(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;
    const Yarn__HeartbeatResponse *r = (const Yarn__HeartbeatResponse *)answer;
    uint64_t now = nm_now_usec();
    struct nm_yarn_step step;

    if (!accept_answer(y, error, why))
        return;
    if (y->heartbeat_usec > 0)
        nm_histogram_add(&y->shown.heartbeat, now - y->heartbeat_usec);
    y->heartbeat_usec = now;
    y->shown.heartbeats++;
    y->shown.last_heartbeat_realtime_usec = nm_realtime_usec();
    step = nm_yarn_state_answered(&y->state, r, nm_yarn_jitter(y));
    nm_yarn_services_save(y->services); /* before containers with used tokens are removed */
    apply_answer(y, r);
    nm_yarn_step_take(y, step);
}

/* ---- requests ----------------------------------------------------------------------------- */

/* Returns the queue capacity that is reported to the cluster: the value in the cluster's files, but at most the node's
 * own limit. */
static uint32_t queue_capacity(const struct nm_yarn *y, const struct nm_status *s)
{
    return NM_MIN((uint32_t)y->settings->queue_max_length, s->settings.queue_max_length);
}

/* Checks the disks. The launcher decides whether a check is due, and the result includes failures that the launcher
 * found since the last check. */
static void check_disks(struct nm_yarn *y, struct nm_status *s)
{
    if (nm_yarn_launcher_is_healthy(y->services->launcher, y->disks_report, sizeof y->disks_report) || !s->healthy)
        return;
    s->healthy = false;
    (void)snprintf(s->health_reason, sizeof s->health_reason, "%.*s", (int)sizeof s->health_reason - 1,
                   y->disks_report);
}

/* Reports the node as unhealthy if every start of a container fails, so that the ResourceManager sends no more
 * containers. Every start fails if no directory is usable or the node is draining. A draining node is reported as
 * unhealthy only when it has no containers, because the ResourceManager would kill them. */
static void check_use(struct nm_yarn *y, bool is_draining)
{
    if (!nm_yarn_launcher_has_good_dirs(y->services->launcher))
        nm_yarn_heartbeat_set_out(&y->report, y->disks_report);
    else if (is_draining && y->empty_beats >= NM_YARN_EMPTY_BEATS)
        nm_yarn_heartbeat_set_out(&y->report, "draining: requested on this node (nmctl drain), and no container of the "
                                      "cluster is left; run nmctl undrain to accept containers again");
}

static void make_report(struct nm_yarn *y)
{
    struct nm_status s;
    bool is_draining;

    nm_manager_get_summary(y->manager, &s);
    is_draining = s.state == NM_NODE_DRAINING;
    check_disks(y, &s);
    nm_yarn_heartbeat_make(&y->report, &y->memory, &s, queue_capacity(y, &s), nm_now_usec(), nm_realtime_usec());
    nm_yarn_heartbeat_add_report(&y->report, y->disks_report);
    check_use(y, is_draining);
    y->report.status.node = &y->id;
    y->report.status.has_response_id = 1;
    y->report.status.response_id = y->state.phase == NM_YARN_RUNNING ? y->state.response_id : 0;
    if (y->step.task == NM_YARN_REGISTER)
        nm_yarn_size_offer(y);
    if (y->state.sized) {
        y->report.offered.memory = y->state.memory_mib;
        y->report.offered.vcores = y->state.vcores;
    }
    nm_yarn_size_limit(y, is_draining);
    if (y->limit_mib > 0)
        y->report.offered.memory = NM_MIN(y->report.offered.memory, y->limit_mib);
}

static int call(struct nm_yarn *y, const char *method, const ProtobufCMessage *request,
                const ProtobufCMessageDescriptor *answer, uint64_t timeout_usec, nm_hadoop_reply reply)
{
    y->sent_usec = nm_now_usec();
    return nm_hadoop_client_call(y->client, method, request, answer, (int)NM_MIN(y->state.retries, (unsigned)INT_MAX),
                                 timeout_usec, reply, y);
}

static int send_registration(struct nm_yarn *y)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;
    Hadoop__Resource offered = y->report.offered;
    struct nm_arena a;
    int r;

    y->own_memory_mib = y->report.own_memory_mib;
    y->own_vcores = y->report.own_vcores;
    y->limit_reported_mib = y->limit_mib;
    nm_yarn_gpus_report(y);
    request.node = &y->id;
    request.has_http_port = 1;
    request.http_port = y->web_port;
    request.resource = &offered;
    request.physical = &y->report.physical;
    request.version = (char *)NM_YARN_VERSION;
    request.status = &y->report.status;
    nm_arena_init(&a, REPORT_BYTES, NULL);
    r = nm_yarn_node_offer_resources(y->services->node, &a, &offered);
    if (r == 0)
        r = nm_yarn_node_report_all(y->services->node, &a, &request);
    if (r == 0 && y->services->logs)
        r = nm_yarn_logs_report_all(y->services->logs, &a, &request);
    if (r == 0)
        r = nm_yarn_labels_register(y, &a, &request);
    if (r == 0)
        r = call(y, "registerNodeManager", &request.base, &yarn__register_response__descriptor,
                 y->settings->rpc_timeout_usec ?: UINT64_MAX, on_registered);
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

static int send_heartbeat(struct nm_yarn *y)
{
    Yarn__HeartbeatRequest request = YARN__HEARTBEAT_REQUEST__INIT;
    Yarn__MasterKey container_key, nm_key;
    struct nm_arena a;
    int r;

    y->has_change = false;
    y->repeats = y->state.retries > 0;
    request.status = &y->report.status;
    request.last_container_token_key = name_key(&container_key, &y->state.keys.container);
    request.last_nm_token_key = name_key(&nm_key, &y->state.keys.nm);
    request.has_token_sequence = 1;
    request.token_sequence = y->state.token_sequence;
    /* Report all containers or fail, because the ResourceManager would count missing containers as lost. */
    nm_arena_init(&a, REPORT_BYTES, NULL);
    r = nm_yarn_node_report(y->services->node, &a, &y->report.status);
    if (r == 0 && y->services->logs)
        r = nm_yarn_logs_report(y->services->logs, &a, &request);
    if (r == 0)
        r = nm_yarn_labels_beat(y, &a, &request);
    if (r == 0)
        r = call(y, "nodeHeartbeat", &request.base, &yarn__heartbeat_response__descriptor,
                 nm_yarn_heartbeat_timeout_usec(y->settings), on_heartbeat);
    nm_arena_done(&a);
    return r;
}

/* Returns true if the node's size in nmd's configuration has changed since the registration. */
static bool is_resized(const struct nm_yarn *y)
{
    return y->report.own_memory_mib != y->own_memory_mib || y->report.own_vcores != y->own_vcores;
}

/* If the size or the number of GPUs has changed, replaces the due heartbeat by a registration. */
static bool must_register(struct nm_yarn *y)
{
    if (y->step.task != NM_YARN_HEARTBEAT ||
        (!is_resized(y) && y->limit_mib == y->limit_reported_mib && !nm_yarn_gpus_have_changed(y)))
        return false;
    y->step = is_resized(y) ? nm_yarn_state_resized(&y->state) : nm_yarn_state_restart(&y->state);
    return true;
}

void nm_yarn_request_due(struct nm_yarn *y)
{
    int r;

    make_report(y);
    if (must_register(y)) {
        nm_yarn_services_set_rm(y->services, y->state.rm_identifier, y->state.queue_max_length);
        make_report(y);
    }
    r = y->step.task == NM_YARN_HEARTBEAT ? send_heartbeat(y) : send_registration(y);

    if (r < 0)
        nm_yarn_step_failed(y, r, NULL);
}
