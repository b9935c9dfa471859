/* SPDX-License-Identifier: Apache-2.0 */

/* See node-services.h. */

#include "yarn/node-services.h"

#include <errno.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/error.h"
#include "yarn/id-messages.h"

static void on_application_ended(const struct nm_yarn_application_id *id, void *userdata)
{
    struct nm_yarn_services *h = userdata;

    nm_yarn_keyring_drop(h->keyring, id);
    if (h->proxy)
        nm_yarn_proxy_end_application(h->proxy, id);
}

static int on_master_begins(void *userdata, const Hadoop__ContainerTokenIdentifier *token,
                            const Yarn__LaunchContext *context, struct nm_arena *a, const Yarn__LaunchContext **ret,
                            struct nm_exception *why)
{
    return nm_yarn_proxy_begin(userdata, token, context, a, ret, why);
}

static bool is_application_here(void *userdata, const struct nm_yarn_application_id *id)
{
    return nm_yarn_node_has_application(userdata, id);
}

static void on_master_abandoned(void *userdata, const Hadoop__ContainerTokenIdentifier *token)
{
    nm_yarn_proxy_abandon(userdata, token);
}

static void on_node_change(void *userdata)
{
    struct nm_yarn_services *h = userdata;

    h->on_change(h->userdata);
}

static bool on_no_room(void *userdata)
{
    struct nm_yarn_services *h = userdata;

    return h->no_room(h->userdata);
}

/* ---- creation and end --------------------------------------------------------------------- */

static void on_event(int level, const char *sentence, void *userdata)
{
    nm_manager_report_event(userdata, level, sentence);
}

static int make_launcher(const struct nm_yarn_services_params *p, struct nm_yarn_services *h, char **ret_message)
{
    const struct nm_yarn_launcher_params params = {
        .event = p->event, .settings = p->settings, .localizer_program = p->localizer_program,
        .shim_program = p->shim_program, .state_dir = p->state_dir, .report_cb = p->report_cb, .on_event = on_event,
        .userdata = p->manager};

    return nm_yarn_launcher_new(&params, &h->launcher, ret_message);
}

static int make_shuffle(const struct nm_yarn_services_params *p, struct nm_yarn_services *h, char **ret_message)
{
    const struct nm_yarn_shuffle_params params = {
        .event = p->event, .manager = p->manager, .settings = p->settings, .program = p->shuffle_program,
        .state_dir = p->state_dir, .report_cb = p->report_cb};

    if (!nm_yarn_shuffle_is_wanted(p->settings))
        return 0;
    return nm_yarn_shuffle_new(&params, &h->shuffle, ret_message);
}

static int make_spark(const struct nm_yarn_services_params *p, struct nm_yarn_services *h, char **ret_message)
{
    const struct nm_yarn_spark_params params = {
        .event = p->event, .manager = p->manager, .settings = p->settings, .program = p->spark_program,
        .state_dir = p->state_dir, .report_cb = p->report_cb};

    if (!nm_yarn_spark_is_wanted(p->settings))
        return 0;
    return nm_yarn_spark_new(&params, &h->spark, ret_message);
}

static int make_aux_host(const struct nm_yarn_services_params *p, struct nm_yarn_services *h, char **ret_message)
{
    const struct nm_yarn_aux_host_params params = {
        .event = p->event, .manager = p->manager, .settings = p->settings, .state_dir = p->state_dir,
        .report_cb = p->report_cb, .on_event = on_event, .userdata = p->manager};

    if (!nm_yarn_aux_host_is_wanted(p->settings))
        return 0;
    return nm_yarn_aux_host_new(&params, &h->aux_host, ret_message);
}

static bool is_app_here(void *userdata, const char *application)
{
    struct nm_yarn_application_id id;

    return nm_yarn_application_id_parse(application, &id) >= 0 && nm_yarn_node_has_application(userdata, &id);
}

/* Waits for the auxiliary services before the node registers, because the answers to start requests contain their
 * metadata. */
static int begin_aux_host(struct nm_yarn_services *h, char **ret_message)
{
    if (!h->aux_host)
        return 0;
    nm_yarn_aux_host_end_strays(h->aux_host, is_app_here, h->node);
    return nm_yarn_aux_host_wait(h->aux_host, ret_message);
}

static int make_logs(const struct nm_yarn_services_params *p, struct nm_yarn_services *h, char **ret_message)
{
    const struct nm_yarn_logs_params params = {
        .event = p->event, .settings = p->settings, .launcher = h->launcher, .program = p->uploader_program,
        .state_dir = p->state_dir, .report_cb = p->report_cb, .on_event = on_event, .event_userdata = p->manager,
        .on_change = on_node_change, .userdata = h};

    if (!nm_yarn_logs_are_wanted(p->settings))
        return 0;
    return nm_yarn_logs_new(&params, &h->logs, ret_message);
}

static int make_node(const struct nm_yarn_services_params *p, struct nm_yarn_services *h)
{
    const struct nm_yarn_node_params params = {
        .event = p->event, .manager = p->manager, .settings = p->settings, .launcher = h->launcher,
        .shuffle = h->shuffle, .spark = h->spark, .aux_host = h->aux_host, .logs = h->logs,
        .state_dir = p->state_dir, .on_change = on_node_change, .no_room = on_no_room,
        .application_ended = on_application_ended, .userdata = h, .report_cb = p->report_cb};
    int r = nm_yarn_node_new(&params, &h->node);

    if (r == 0 && h->logs)
        nm_yarn_logs_end_strays(h->logs, is_application_here, h->node);
    return r;
}

/* Marks the token of an adopted container as used. The file of keys is written with each heartbeat. So if the earlier
 * nmd was killed, the file may lack the tokens that were used since the last heartbeat. Their containers are in the
 * journal. */
static void note_used(const Hadoop__ContainerTokenIdentifier *token, void *userdata)
{
    const struct nm_yarn_container_id id = nm_yarn_container_of(token->container);
    const int64_t now = nm_realtime_msec();
    struct nm_yarn_services *h = userdata;

    if (token->expires_msec >= now && !nm_yarn_used_has(h->used, &id) && nm_yarn_used_make_room(h->used, now) == 0)
        nm_yarn_used_add(h->used, &id, token->expires_msec);
}

static int make_server(const struct nm_yarn_services_params *p, struct nm_yarn_services *h, int listen_fd)
{
    int r;

    nm_yarn_node_foreach_token(h->node, note_used, h);
    r = nm_yarn_cm_server_new(p->event, listen_fd, h->keyring, h->used, h->node, &h->cm_server);
    if (r == 0)
        nm_yarn_cm_server_set_key_store(h->cm_server, h->key_store);
    return r;
}

/* The configuration doesn't enable the proxy any more. It serves the masters from before until the next restart of nmd
 * after their end. If it can't, they end as without it. */
static int keep_proxy(const struct nm_yarn_services_params *p, struct nm_yarn_services *h, int error,
                      char **ret_message)
{
    struct nm_yarn_master_stats m;

    if (error < 0) {
        free(*ret_message);
        *ret_message = NULL;
        p->report_cb(LOG_WARNING, "The proxy for application masters can't serve those that it has started before it "
                                  "was disabled.");
        return 0;
    }
    nm_yarn_proxy_end_strays(h->proxy, is_application_here, h->node);
    nm_yarn_proxy_show(h->proxy, &m);
    if (m.pipelines == 0)
        h->proxy = nm_yarn_proxy_free(h->proxy);
    else
        p->report_cb(LOG_NOTICE, "The proxy for application masters is disabled. It serves those that it has started "
                                 "before until they end.");
    return 0;
}

static int make_proxy(const struct nm_yarn_services_params *p, struct nm_yarn_services *h, char **ret_message)
{
    const struct nm_yarn_proxy_params params = {.event = p->event, .settings = p->settings, .keys = p->keys,
                                                .state_dir = p->state_dir, .runtime_dir = p->runtime_dir,
                                                .report_cb = p->report_cb};
    struct nm_yarn_master_hooks masters = {on_master_begins, on_master_abandoned, NULL};
    int r;

    if (!nm_yarn_proxy_is_needed(p->settings, p->runtime_dir))
        return 0;
    r = nm_yarn_proxy_new(&params, &h->proxy, ret_message);
    if (!p->settings->proxy)
        return keep_proxy(p, h, r, ret_message);
    if (r < 0)
        return r;
    nm_yarn_proxy_end_strays(h->proxy, is_application_here, h->node);
    masters.userdata = h->proxy;
    nm_yarn_cm_server_set_master_hooks(h->cm_server, &masters);
    return 0;
}

int nm_yarn_services_check(const struct nm_yarn_services_params *p, bool may_be_ours, char **ret_message)
{
    const struct nm_yarn_settings *s = p->settings;
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r = nm_yarn_launcher_check(s, p->localizer_program, p->report_cb, &message);

    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0 && nm_yarn_shuffle_is_wanted(s)) {
        r = nm_yarn_shuffle_check(s, p->shuffle_program, may_be_ours, &message);
        r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    }
    if (r == 0 && nm_yarn_spark_is_wanted(s)) {
        r = nm_yarn_spark_check(s, p->spark_program, may_be_ours, &message);
        r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    }
    if (r == 0 && nm_yarn_aux_host_is_wanted(s)) {
        r = nm_yarn_aux_host_check(s, &message);
        r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    }
    if (r == 0 && nm_yarn_logs_are_wanted(s)) {
        r = nm_yarn_logs_check(p->uploader_program, &message);
        r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    }
    if (r == 0 && s->proxy) {
        r = nm_yarn_proxy_check(s, may_be_ours, &message);
        r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

int nm_yarn_services_new(const struct nm_yarn_services_params *p, int listen_fd, struct nm_yarn_services **ret,
                         char **ret_message)
{
    _cleanup_(nm_yarn_services_freep) struct nm_yarn_services *h = calloc(1, sizeof *h);
    _cleanup_close_ int fd = listen_fd;
    int r;

    if (!h)
        return -ENOMEM;
    h->on_change = p->on_change;
    h->no_room = p->no_room;
    h->userdata = p->userdata;
    r = nm_yarn_keyring_new(p->keys, &h->keyring);
    if (r >= 0)
        r = nm_yarn_used_new(&h->used);
    if (r >= 0)
        r = nm_yarn_key_store_new(p->state_dir, p->keys, h->keyring, h->used, &h->key_store);
    if (r >= 0)
        r = make_launcher(p, h, ret_message);
    if (r >= 0)
        r = make_shuffle(p, h, ret_message);
    if (r >= 0)
        r = make_spark(p, h, ret_message);
    if (r >= 0)
        r = make_aux_host(p, h, ret_message);
    if (r >= 0)
        r = make_logs(p, h, ret_message);
    if (r >= 0)
        r = make_node(p, h);
    if (r >= 0)
        r = begin_aux_host(h, ret_message);
    if (r >= 0)
        r = make_server(p, h, STEAL_FD(fd));
    if (r >= 0)
        r = make_proxy(p, h, ret_message);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(h);
    return 0;
}

struct nm_yarn_services *nm_yarn_services_free(struct nm_yarn_services *h)
{
    if (!h)
        return NULL;
    nm_yarn_cm_server_free(h->cm_server);
    nm_yarn_proxy_free(h->proxy);
    nm_yarn_node_free(h->node);
    nm_yarn_logs_free(h->logs);
    nm_yarn_aux_host_free(h->aux_host);
    nm_yarn_spark_free(h->spark);
    nm_yarn_shuffle_free(h->shuffle);
    nm_yarn_launcher_free(h->launcher);
    nm_yarn_key_store_free(h->key_store);
    nm_yarn_used_free(h->used);
    nm_yarn_keyring_free(h->keyring);
    free(h);
    return NULL;
}

void nm_yarn_services_set_rm(struct nm_yarn_services *h, int64_t rm_identifier, int32_t queue_max_length)
{
    nm_yarn_cm_server_set_rm(h->cm_server, rm_identifier);
    if (h->proxy)
        nm_yarn_proxy_set_rm(h->proxy, rm_identifier, queue_max_length);
}

void nm_yarn_services_save(struct nm_yarn_services *h)
{
    nm_yarn_key_store_save(h->key_store);
}
