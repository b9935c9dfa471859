/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Starts of containers: see node.h. A request is refused only for a reason for which Hadoop refuses it too. In all
 * other cases the container is accepted and reported as ended, with the reason, so that the application handles it like
 * any other end.
 */

#include "yarn/node/node-state.h"

#include "util/error.h"
#include "util/fault.h"
#include "yarn/id-messages.h"
#include "yarn/launch/aux-host.h"
#include "yarn/launch/shuffle-service.h"
#include "yarn/launch/spark-service.h"
#include "yarn/launch/user.h"

/* the environment variable that names the runtime that a container requires */
#define RUNTIME "YARN_CONTAINER_RUNTIME_TYPE"
#define COMMAND_MAX (64u << 10)
#define UID_SIZE 16

/* ---- refusals ----------------------------------------------------------------------------- */

static bool is_of_spark(const struct nm_yarn_node *n, const char *name)
{
    return n->p.spark && nm_streq(name, nm_yarn_spark_name(n->p.spark));
}

/* *ret_why: the words for a service that the node has, but that isn't running yet. */
static bool has_service(const struct nm_yarn_node *n, const char *name, const char **ret_why)
{
    bool was_running;

    *ret_why = "does not exist";
    if ((n->p.shuffle && nm_streq(name, NM_YARN_SHUFFLE)) || is_of_spark(n, name))
        return true;
    if (!n->p.aux_host || !nm_yarn_aux_host_has(n->p.aux_host, name, &was_running))
        return false;
    *ret_why = "is not running yet on this node";
    return was_running;
}

static int check_services(const struct nm_yarn_node *n, const Yarn__LaunchContext *context, struct nm_exception *why)
{
    for (size_t k = 0; k < context->n_service_data; k++) {
        const char *name = context->service_data[k]->key ?: "", *words;

        if (!has_service(n, name, &words)) {
            nm_exception_set(why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_INVALID_AUX_SERVICE,
                             "The auxService:%.120s %s", name, words);
            return NM_YARN_REFUSED;
        }
    }
    return 0;
}

static int check(const struct nm_yarn_node *n, const struct nm_yarn_container_id *id,
                 const Yarn__LaunchContext *context, struct nm_exception *why)
{
    char text[NM_YARN_ID_SIZE];

    (void)nm_yarn_container_id_format(id, text);
    if (nm_yarn_container_table_by_text(&n->containers, text))
        return nm_yarn_refuse(why, "Attempt to relaunch the same container with id %s.", text);
    if (n->containers.n >= NM_YARN_CONTAINERS_MAX)
        return nm_yarn_refuse(why, "This node has %zu containers whose end the ResourceManager hasn't acknowledged "
                              "yet, and accepts no more.", n->containers.n);
    if (context->n_command == 0)
        return nm_yarn_refuse(why, "Container %s has no command.", text);
    return check_services(n, context, why);
}

/* Returns the runtime that the container requires, or NULL if it requires no runtime. If this node doesn't have the
 * runtime, the container must be refused, because it must not run in another runtime. */
static const char *wanted_runtime(const Yarn__LaunchContext *context)
{
    for (size_t k = 0; k < context->n_environment; k++) {
        const Yarn__Text *e = context->environment[k];

        if (e->key && e->value && nm_streq(e->key, RUNTIME) && *e->value && !nm_streq(e->value, "default"))
            return e->value;
    }
    return NULL;
}

int nm_yarn_refuse_runtime(const Yarn__LaunchContext *context, struct nm_exception *why)
{
    const char *runtime = wanted_runtime(context);

    if (!runtime)
        return 0;
    return nm_yarn_refuse(why, "The container requests the runtime '%.60s' (" RUNTIME "), but this node has "
                          "only the default one.", runtime);
}

/* ---- directories and users ---------------------------------------------------------------- */

/* Packs the container's record with the user and the directories that were chosen, so that they survive a restart of
 * nmd. */
static int make_blob(struct nm_bytes identifier, const Yarn__LaunchContext *context, const char *user,
                     const struct nm_yarn_container_dirs *dirs, struct nm_blob *ret)
{
    Yarn__Record record = YARN__RECORD__INIT;

    record.context = (Yarn__LaunchContext *)(uintptr_t)context;
    record.user = (char *)(uintptr_t)user;
    record.local_dir = (char *)(uintptr_t)dirs->local_dir;
    record.log_dir = (char *)(uintptr_t)dirs->log_dir;
    return nm_yarn_record_pack(&record, identifier, ret);
}

static void give_service_data(struct nm_yarn_container *i)
{
    const Yarn__LaunchContext *context = i->record->context;
    const struct nm_yarn_node_params *p = &i->node->p;

    nm_yarn_container_begin_services(i);
    for (size_t k = 0; k < context->n_service_data; k++) {
        const Yarn__Data *d = context->service_data[k];
        const struct nm_bytes data = {d->value.data, d->value.len};

        if (nm_yarn_aux_is_hosted(p->settings, d->key ?: ""))
            nm_yarn_aux_host_add_data(p->aux_host, i->app->text, i->app->submitter, d->key, data);
        else if (is_of_spark(i->node, d->key ?: ""))
            (void)nm_yarn_spark_add(p->spark, i->app->submitter, i->record->user, i->app->text, data);
        else
            (void)nm_yarn_shuffle_add(p->shuffle, i->app->submitter, i->record->user, i->app->text, data);
    }
}

/* ---- submission --------------------------------------------------------------------------- */

/* Returns the exit status of an opportunistic container that doesn't fit on this node now. If the node would also
 * refuse a retry, the status must count as a failure. The ResourceManager doesn't count -100, -102 and -108 against
 * the attempts of an application. MapReduce doesn't count them against the attempts of a task. So with these statuses,
 * both would retry on this node forever. As with Hadoop's NodeManager, an opportunistic container beyond the queue's
 * limit gets -108. It is placed on another node, since the next heartbeats report a full queue. If the ResourceManager
 * has received such a heartbeat and still sends containers, the status counts as a failure, too. */
static int32_t full_status(const struct nm_yarn_node *n)
{
    return n->p.no_room(n->p.userdata) ? NM_YARN_INVALID : NM_YARN_KILLED_BY_NODE;
}

/* Returns the exit status of a start that the manager refuses with this outcome. */
static int32_t status_of(const struct nm_yarn_container *i, int outcome)
{
    const bool is_for_now = outcome == NM_AGENT_E_QUEUE_FULL || outcome == NM_AGENT_E_UNAVAILABLE;

    if (!is_for_now || nm_yarn_token_type(i->token) != NM_OPPORTUNISTIC)
        return NM_YARN_INVALID;
    return full_status(i->node);
}

/* Returns whether a draining node ends the container without a failure, so that the container is placed on another
 * node. The result is true for containers that were sent before the ResourceManager knew of the draining. The next
 * heartbeats report the draining as an unhealthy node or as a smaller size. In two cases the node can't report the
 * draining, and the ResourceManager continues to send containers: only opportunistic containers are left, or the
 * ResourceManager has its own value for the node's size. */
static bool sends_back(const struct nm_yarn_container *i)
{
    bool has_any = false, has_guaranteed = false;

    for (const struct nm_yarn_container *other = i->node->containers.first; other; other = other->next) {
        const struct nm_container *c;

        if (other == i || other->completed)
            continue;
        c = nm_yarn_container_core(other);
        has_any = true;
        has_guaranteed = has_guaranteed || (c ? c->view.type : nm_yarn_token_type(other->token)) == NM_GUARANTEED;
    }
    return i->node->reported_unhealthy || !has_any || (has_guaranteed && !i->node->rm_uses_full_size);
}

static void refuse_to_drain(struct nm_yarn_container *i)
{
    if (nm_yarn_token_type(i->token) == NM_OPPORTUNISTIC)
        nm_yarn_container_end_early(i, NM_YARN_KILLED_BY_NODE, "The node is draining and accepts no new containers.");
    else if (sends_back(i))
        nm_yarn_container_end_early(i, NM_YARN_ABORTED,
                                    "The node is draining and accepts no new containers. This container was sent "
                                    "before the ResourceManager was informed, so this doesn't count as a failure.");
    else
        nm_yarn_container_end_early(i, NM_YARN_INVALID, "The node is draining and accepts no new containers, but the "
                                    "ResourceManager still counts on its resources. Until that changes, each start "
                                    "on this node counts as a failure. To make the ResourceManager send no more "
                                    "containers, run 'yarn rmadmin -refreshNodes -g' with the node excluded. To make "
                                    "the node accept containers again, run 'nmctl undrain' on the node.");
}

/* Refuses a start. The ResourceManager doesn't know the node's own limits (live containers, descriptors, stored
 * results). The node can only report that its queue has no room for opportunistic containers. */
static void refuse(struct nm_yarn_container *i, int outcome, const char *why)
{
    const int32_t status = status_of(i, outcome);
    const bool is_opportunistic = nm_yarn_token_type(i->token) == NM_OPPORTUNISTIC;
    const bool repeats = status == NM_YARN_INVALID &&
                         (outcome == NM_AGENT_E_UNAVAILABLE || outcome == NM_AGENT_E_QUEUE_FULL);
    _cleanup_free_ char *text =
        repeats ? nm_strdup_printf("%s The ResourceManager %s and continues to send containers, so each start counts "
                                   "as a failure.", why,
                                   is_opportunistic ? "has been informed that there is no room"
                                                    : "hasn't been informed of this")
                : NULL;

    nm_yarn_container_end_early(i, status, text ?: why);
}

static bool is_draining(const struct nm_yarn_node *n)
{
    struct nm_status s;

    nm_manager_get_summary(n->p.manager, &s);
    return s.state == NM_NODE_DRAINING;
}

/* Returns the caller's identity with the container's user, so that this user may see the container. */
static struct nm_caller caller_of(const struct nm_yarn_container *i)
{
    struct nm_caller who = nm_yarn_admin;

    if (nm_yarn_user_find(i->record->user, &who.uid, &who.gid) < 0)
        who = nm_yarn_admin;
    return who;
}

/* Returns the user for nm_manager_submit(), which interprets digits as a uid. A submitter's name may consist of digits,
 * and another account may have that uid, so such a name is replaced by its uid. NULL: the account no longer exists. */
static const char *user_of(const struct nm_yarn_container *i, char uid_text[static UID_SIZE])
{
    const char *name = i->record->user;
    uid_t uid;
    gid_t gid;

    if (name[strspn(name, "0123456789")] != '\0')
        return name;
    if (nm_yarn_user_find(name, &uid, &gid) < 0)
        return NULL;
    (void)snprintf(uid_text, UID_SIZE, "%u", (unsigned)uid);
    return uid_text;
}

static int submit(struct nm_yarn_container *i, const struct nm_blob *blob, struct nm_problem *problem)
{
    const Hadoop__ContainerTokenIdentifier *t = i->token;
    _cleanup_free_ char *workdir =
        nm_yarn_work_dir(i->record->local_dir, i->app->submitter, i->app->text, i->text);
    _cleanup_free_ char *log_dir = nm_yarn_log_dir(i->record->log_dir, i->app->text, i->text);
    bool is_master = t->container_type == HADOOP__CONTAINER_TOKEN_IDENTIFIER__CONTAINER_TYPE__APPLICATION_MASTER;
    struct nm_caller who = caller_of(i);
    const struct nm_container *c;
    struct nm_arena arena;
    char uid_text[UID_SIZE];
    const char *user = user_of(i, uid_text);
    int r = -ENOMEM;

    if (!user) {
        (void)snprintf(problem->message, sizeof problem->message, "The user %s doesn't exist on this node any more.",
                       i->record->user);
        return NM_AGENT_E_INVALID;
    }

    nm_arena_init(&arena, COMMAND_MAX, NULL);
    struct nm_submit s = {
        .type = nm_yarn_token_type(t),
        .name = is_master ? "master" : NULL,
        .app = i->app->text,
        .memory_bytes = (uint64_t)t->resource->memory * NM_MIB,
        .vcores_milli = (uint32_t)t->resource->vcores * 1000,
        .argv = nm_yarn_launcher_command(i->record->context, &arena),
        .workdir = workdir,
        .log_dir = log_dir,
        .user = user,
        .exempt = is_master,
        .cpu_is_share = true, /* YARN's default scheduler counts only memory */
        .owner = NM_YARN_OWNER,
        .id = i->text,
        .blob = *blob,
        .prepare = true,
        .keep_result = true,
    };
    if (s.argv && workdir && log_dir)
        r = nm_manager_submit(i->node->p.manager, &who, &s, &c, problem);
    nm_arena_done(&arena);
    return r;
}

static void submit_and_prepare(struct nm_yarn_container *i, const struct nm_blob *blob)
{
    struct nm_problem problem = {0};
    int r;

    give_service_data(i); /* before the container is journalled, so that a restarted nmd has both or neither */
    NM_FAULT("service-data-saved");
    r = submit(i, blob, &problem);
    if (r == NM_AGENT_E_UNAVAILABLE && is_draining(i->node)) {
        refuse_to_drain(i);
        return;
    }
    if (r != 0) {
        refuse(i, r, r > 0 ? problem.message : strerror(-r));
        return;
    }
    nm_yarn_container_begin(i);
}

/* ---- start -------------------------------------------------------------------------------- */

static bool has_sizes(const Hadoop__ContainerTokenIdentifier *t)
{
    return t->resource && t->resource->memory > 0 && t->resource->memory <= INT32_MAX && t->resource->vcores > 0 &&
           t->resource->vcores <= 100000;
}

/* The parameters of a container. If status isn't 0, they hold the reason why the container can't be submitted. */
struct plan {
    struct nm_yarn_container_dirs dirs;
    char *user;
    int32_t status;
    char *why;
};

static void plan_done(struct plan *p)
{
    free(p->user);
    free(p->why);
}

static int fail_plan(struct plan *p, int32_t status, char *why)
{
    if (!why)
        return -ENOMEM;
    p->status = status;
    p->why = why;
    return 0;
}

/* Stops a start because no directory is good. The status -101 doesn't count against a master's attempts. So this status
 * is used only after the ResourceManager has been informed that the node is unhealthy. Before that, the ResourceManager
 * would start one attempt after the other on this node. */
static int fail_for_disks(const struct nm_yarn_node *n, struct plan *p, const char *why)
{
    if (n->reported_unhealthy)
        return fail_plan(p, NM_YARN_DISKS_FAILED, nm_strdup_printf("%s", why));
    return fail_plan(p, NM_YARN_INVALID,
                     nm_strdup_printf("%s. The ResourceManager is informed with the node's next heartbeat. Until then "
                                      "each start on this node counts as a failure.", why));
}

static int make_plan(const struct nm_yarn_node *n, const struct nm_yarn_container_id *id,
                     const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context, struct plan *p)
{
    const char *runtime = wanted_runtime(context);
    _cleanup_free_ char *no_dirs = NULL;
    char *why = NULL;
    int r;

    if (nm_yarn_recent_has_app(n, &id->attempt.application))
        return fail_plan(p, NM_YARN_KILLED_AFTER_APP,
                         nm_strdup_printf("Container launched after its application had ended."));
    if (runtime)
        return fail_plan(p, NM_YARN_INVALID,
                         nm_strdup_printf("The container requests the runtime '%.60s' (" RUNTIME "), but this "
                                          "node has only the default one: it runs containers as processes without "
                                          "images.", runtime));
    why = nm_yarn_resource_find_lack(n, token);
    if (why)
        return fail_plan(p, NM_YARN_INVALID, why);
    r = nm_yarn_launcher_user(n->p.launcher, token->submitter, &p->user, &why);
    if (r < 0)
        return fail_plan(p, NM_YARN_INVALID, why ?: nm_strdup_printf("%s", strerror(-r)));
    r = nm_yarn_launcher_choose_dirs(n->p.launcher, &p->dirs, &no_dirs);
    return r < 0 ? fail_for_disks(n, p, no_dirs ?: strerror(-r)) : 0;
}

static int add(struct nm_yarn_node *n, struct nm_bytes identifier, const Yarn__LaunchContext *context,
               const struct plan *p, struct nm_exception *why)
{
    _cleanup_free_ void *data = NULL;
    struct nm_yarn_container *i;
    struct nm_blob blob;
    int r = make_blob(identifier, context, p->user, &p->dirs, &blob);

    if (r < 0)
        return r;
    data = blob.data;
    if (blob.bytes > NM_BLOB_MAX)
        return nm_yarn_refuse(why, "The launch context takes %zu bytes, but at most %u are allowed.",
                              blob.bytes, NM_BLOB_MAX);
    r = nm_yarn_node_add(n, (struct nm_bytes){data, blob.bytes}, &i);
    if (r < 0)
        return r;
    n->counted.launched++;
    if (p->status == 0)
        submit_and_prepare(i, &blob);
    else
        nm_yarn_container_end_early(i, p->status, p->why);
    return 0;
}

int nm_yarn_node_start(struct nm_yarn_node *n, struct nm_bytes identifier,
                       const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context,
                       struct nm_exception *why)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(token->container);
    _cleanup_(plan_done) struct plan p = {0};
    int r = check(n, &id, context, why);

    if (r == 0 && !has_sizes(token))
        r = nm_yarn_refuse(why, "The resource in the token is not valid for a container.");
    if (r == 0)
        r = make_plan(n, &id, token, context, &p);
    return r == 0 ? add(n, identifier, context, &p, why) : r;
}
