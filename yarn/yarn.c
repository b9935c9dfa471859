/* SPDX-License-Identifier: Apache-2.0 */

/* See yarn.h. yarn-state.h describes the files. */

#include "yarn/yarn.h"

#include <errno.h>
#include <sys/random.h>
#include <syslog.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/host.h"
#include "yarn/launch/dirs.h"
#include "yarn/launch/config-warnings.h"
#include "yarn/listeners.h"
#include "yarn/port.h"
#include "yarn/yarn-state.h"

#define LEAVE_USEC (2 * NM_USEC_PER_SEC)
#define LEAVE_GRACE_MAX_USEC (60 * NM_USEC_PER_SEC)

static void check_leave_soon(struct nm_yarn *y)
{
    (void)sd_event_source_set_time(y->leave_timer, 0);
    (void)sd_event_source_set_enabled(y->leave_timer, SD_EVENT_ONESHOT);
}

static void on_event(const struct nm_event *e, void *userdata)
{
    struct nm_yarn *y = userdata;
    const struct nm_container *c = e->container;

    if (e->kind == NM_EVENT_STATE && e->to == NM_COMPLETED && y->on_unregistered)
        check_leave_soon(y);
    if (e->kind == NM_EVENT_STATE && e->to == NM_RUNNING && c->view.type == NM_OPPORTUNISTIC)
        nm_yarn_heartbeat_note_start(&y->memory);
    if (e->kind == NM_EVENT_STATE && e->to == NM_COMPLETED && c->exit_cause == NM_REASON_WAITED_TOO_LONG)
        nm_yarn_heartbeat_note_given_back(&y->memory, nm_now_usec(), nm_manager_config(y->manager)->give_back_usec);
    if (e->kind == NM_EVENT_STATE && e->to == NM_COMPLETED && c->view.type == NM_OPPORTUNISTIC &&
        c->view.started_usec > 0 && (c->exit_reason == NM_EXIT_EXITED || c->exit_reason == NM_EXIT_SIGNALED))
        nm_yarn_heartbeat_note_run(&y->memory, nm_sub_u64(c->finished_usec, c->view.started_usec));
}

static bool on_no_room(void *userdata)
{
    struct nm_yarn *y = userdata;

    return nm_yarn_heartbeat_note_refused(&y->memory, nm_now_usec());
}

/* Returns whether nmd's own HTTP server uses the port of the node's web pages. In that case the node reports the
 * server's port to the cluster. */
static bool is_served_already(const struct nm_yarn_params *p)
{
    return p->settings->serves_web && p->settings->web.port != 0 &&
           p->settings->web.port == nm_yarn_http_port(p->http_address);
}

static void report_private_web(const struct nm_yarn_params *p)
{
    char sentence[300];

    if (!nm_peer_is_loopback(p->http_address))
        return;
    (void)snprintf(sentence, sizeof sentence,
                   "[interface] http-address uses port %u on a loopback address, so the cluster can't reach the "
                   "node's page at this port (" NM_YARN_WEB_ADDRESS "); choose another port for "
                   "http-address, or remove http-address", p->settings->web.port);
    p->report_cb(LOG_WARNING, sentence);
}

/* Opens the port of the web pages, after all ports that the node requires. If the port can't be opened, nmd logs a
 * warning, and the node runs without web pages. The node still reports the configured port to the cluster. */
static void open_web(struct nm_yarn *y, const struct nm_yarn_params *p)
{
    const struct nm_yarn_settings *s = p->settings;
    _cleanup_free_ char *message = NULL;

    y->web_port = s->web.port;
    if (is_served_already(p))
        report_private_web(p);
    else if (s->serves_web &&
             nm_yarn_port_open(nm_yarn_web_bind_host(s), s->web.port, NM_YARN_WEB_ADDRESS, NM_YARN_WEB_ADDRESS,
                               &y->web_fd, &y->web_port, &message) < 0)
        nm_yarn_report_no_web(p->report_cb, message);
}

static void check_web(const struct nm_yarn_params *p, bool may_be_ours)
{
    const struct nm_yarn_settings *s = p->settings;
    _cleanup_free_ char *message = NULL;

    if (is_served_already(p))
        report_private_web(p);
    else if (s->serves_web &&
             nm_yarn_port_check(nm_yarn_web_bind_host(s), s->web.port, NM_YARN_WEB_ADDRESS, NM_YARN_WEB_ADDRESS,
                                may_be_ours, &message) < 0)
        nm_yarn_report_no_web(p->report_cb, message);
}

int nm_yarn_take_web(struct nm_yarn *y)
{
    return STEAL_FD(y->web_fd);
}

#define BIND_HOST "yarn.nodemanager.bind-host"

int nm_yarn_lock(const struct nm_yarn_settings *settings, const char *state_dir, nm_yarn_report_t report_cb,
                 char **ret_message)
{
    *ret_message = NULL;
    return nm_yarn_dirs_lock(settings->local_dirs, state_dir, report_cb, ret_message);
}

int nm_yarn_check(const struct nm_yarn_params *p, bool may_be_ours, char **ret_message)
{
    const struct nm_yarn_services_params params = {.settings = p->settings, .localizer_program = p->localizer_program,
                                                   .uploader_program = p->uploader_program,
                                                   .shuffle_program = p->shuffle_program,
                                                   .spark_program = p->spark_program, .report_cb = p->report_cb};
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r = nm_yarn_port_check(nm_yarn_bind_host(p->settings), p->settings->node.port, BIND_HOST, NM_YARN_ADDRESS,
                               may_be_ours, &message);
    const bool has_host = r != -EADDRNOTAVAIL;

    *ret_message = NULL;
    nm_yarn_config_warnings_report(p->settings, geteuid(), p->localizer_program, p->report_cb);
    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0)
        r = nm_yarn_services_check(&params, may_be_ours, &message);
    r = nm_refusals_add(&refusals, r, message);
    if (has_host) /* otherwise the web port would fail for the same reason, which the refusal contains already */
        check_web(p, may_be_ours);
    if (r == 0)
        r = nm_yarn_listeners_check(p->settings, p->http_address, p->report_cb, &refusals);
    if (r == 0)
        r = nm_yarn_labels_check(p->settings, &refusals);
    if (r == 0)
        r = nm_yarn_gpus_check(p->settings, &refusals);
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

/* Ends the departure when the ResourceManager has been informed and the containers have ended. Without nmd, no process
 * would end the containers that ignore SIGTERM. */
static int on_leave_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn *y = userdata;

    (void)usec;
    if (!y->is_signed_off || y->has_left)
        return 0;
    if (nm_yarn_node_has_live(y->services->node) && nm_now_usec() < y->leave_until_usec) {
        (void)sd_event_source_set_time(source, y->leave_until_usec);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    }
    y->has_left = true;
    y->on_unregistered(y->on_unregistered_userdata);
    return 0;
}

static int host_containers(struct nm_yarn *y, const struct nm_yarn_params *p, char **ret_message)
{
    const struct nm_yarn_services_params params = {
        .event = p->event, .manager = p->manager, .settings = p->settings, .keys = &y->state.keys,
        .localizer_program = p->localizer_program, .uploader_program = p->uploader_program,
        .shuffle_program = p->shuffle_program, .spark_program = p->spark_program, .shim_program = p->shim_program,
        .state_dir = p->state_dir,
        .runtime_dir = p->runtime_dir, .report_cb = p->report_cb, .on_change = nm_yarn_step_on_change,
        .no_room = on_no_room,
        .userdata = y};
    int fd, r;

    y->id = (Hadoop__NodeId)HADOOP__NODE_ID__INIT;
    y->id.host = y->host;
    y->id.has_port = 1;
    r = nm_yarn_port_open(nm_yarn_bind_host(p->settings), p->settings->node.port, BIND_HOST, NM_YARN_ADDRESS, &fd,
                          &y->id.port, ret_message);
    if (r == 0)
        r = nm_yarn_services_new(&params, fd, &y->services, ret_message);
    if (r < 0)
        return r;
    open_web(y, p);
    if (!nm_streq(p->settings->node.host, "0.0.0.0")) {
        (void)snprintf(y->host, sizeof y->host, "%s", p->settings->node.host);
        nm_yarn_connect_report_name(y);
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
    y->report_cb = p->report_cb;
    y->state_dir = p->state_dir;
    y->web_fd = -EBADF;
    nm_yarn_state_init(&y->state, p->settings->retry_usec);
    y->state.n_rms = (unsigned)p->settings->n_trackers;
    if (getrandom(y->client_id, sizeof y->client_id, 0) != sizeof y->client_id)
        return -EIO;
    (void)memcpy(&y->random, y->client_id, sizeof y->random);
    r = sd_event_add_time_relative(p->event, &y->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC,
                                   nm_yarn_connect_on_due, y);
    if (r >= 0)
        r = sd_event_add_time(p->event, &y->leave_timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC, on_leave_timer, y);
    if (r >= 0)
        r = sd_event_source_set_enabled(y->leave_timer, SD_EVENT_OFF);
    if (r >= 0)
        r = host_containers(y, p, ret_message);
    if (r >= 0)
        r = nm_yarn_labels_new(y, nm_yarn_step_on_labels, ret_message);
    if (r >= 0)
        r = nm_manager_subscribe(p->manager, on_event, y, &y->subscription);
    if (r < 0)
        return r;
    nm_yarn_config_warnings_report(p->settings, geteuid(), p->localizer_program, p->report_cb);
    y->manager = p->manager;
    r = nm_yarn_gpus_new(y, nm_yarn_step_on_gpus);
    if (r < 0)
        return r;
    nm_yarn_size_load(y);
    nm_yarn_show(y);
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
    sd_event_source_disable_unref(y->leave_timer);
    nm_yarn_labels_done(y);
    nm_yarn_local_groups_done(&y->local_groups);
    nm_yarn_gpus_done(y);
    nm_yarn_services_free(y->services);
    nm_close(y->web_fd);
    sd_event_unref(y->event);
    free(y);
    return NULL;
}

/* Ends the wait for the unregistration, whether the request has succeeded or not. */
static void on_signed_off(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;

    (void)error, (void)answer, (void)why;
    y->is_signed_off = true;
    check_leave_soon(y);
}

/* Returns false if the ResourceManager can't be informed. */
static bool sign_off(struct nm_yarn *y)
{
    Yarn__UnregisterRequest request = YARN__UNREGISTER_REQUEST__INIT;

    if (y->state.phase != NM_YARN_RUNNING || !y->client)
        return false;
    request.node = &y->id;
    nm_yarn_size_drop(y);
    return nm_hadoop_client_call(y->client, "unRegisterNodeManager", &request.base,
                                 &yarn__unregister_response__descriptor, 0, LEAVE_USEC, on_signed_off, y) >= 0;
}

bool nm_yarn_unregister(struct nm_yarn *y, void (*done)(void *userdata), void *userdata)
{
    const uint64_t grace_usec = nm_manager_config(y->manager)->kill_grace_usec;
    const bool resumes_later = y->settings->recovery && y->settings->supervised;
    bool is_informed;

    if (y->on_unregistered)
        return true;
    if (resumes_later)
        return false;
    is_informed = sign_off(y);
    if (!is_informed && !nm_yarn_node_has_live(y->services->node))
        return false;
    y->on_unregistered = done;
    y->on_unregistered_userdata = userdata;
    y->is_signed_off = !is_informed;
    y->leave_until_usec = nm_now_usec() + NM_MIN(grace_usec, LEAVE_GRACE_MAX_USEC) + LEAVE_USEC;
    nm_yarn_cm_server_set_rm(y->services->cm_server, 0);
    nm_yarn_node_end_all(y->services->node, NM_YARN_KILLED_BY_RM, "The node has left the cluster.");
    (void)sd_event_source_set_enabled(y->timer, SD_EVENT_OFF);
    check_leave_soon(y);
    return true;
}
