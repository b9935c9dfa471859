/* SPDX-License-Identifier: Apache-2.0 */

/* See proxy.h. */

#include "yarn/proxy/proxy.h"

#include <errno.h>
#include <sys/random.h>
#include <syslog.h>

#include "rpc/hadoop/digest.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/loop.h"
#include "yarn/id-messages.h"
#include "yarn/port.h"
#include "yarn/proxy/local-tokens.h"

#define PROTOCOL "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
#define ADDRESS "yarn.nodemanager.amrmproxy.address"
/* Interval between two checks of the keys. The regular checks ensure that a key isn't used too long if the clock is
 * set. */
#define CHECK_USEC (60 * NM_USEC_PER_SEC)

struct nm_yarn_proxy {
    struct nm_stage_context context;
    struct nm_yarn_local_keys keys;
    struct nm_pipelines *pipelines;
    struct nm_hadoop_server *server;
    sd_event_source *timer; /* fires when the next key is due */
};

/* ---- keys ------------------------------------------------------------------------------------- */

/* Makes new keys if they are due. A new key is used only after it was saved. Otherwise the tokens that it signed would
 * be invalid after a restart. */
static int step_keys(struct nm_yarn_proxy *p)
{
    struct nm_yarn_local_keys next = p->keys;
    struct nm_yarn_local_random random_bytes;
    int r = 0;

    if (getrandom(&random_bytes, sizeof random_bytes, 0) != sizeof random_bytes)
        return -EIO;
    if (nm_yarn_local_keys_step(&next, nm_steady_usec(), &random_bytes))
        r = nm_yarn_proxy_store_keys(&p->context.store, &next);
    if (r == 0)
        p->keys = next;
    explicit_bzero(&random_bytes, sizeof random_bytes);
    explicit_bzero(&next, sizeof next);
    return r;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn_proxy *p = userdata;
    uint64_t now, due;

    (void)usec;
    if (step_keys(p) < 0)
        p->context.report_cb(LOG_WARNING, "The proxy can't save its new key, and continues with the current one.");
    now = nm_steady_usec();
    due = nm_yarn_local_keys_due(&p->keys);
    due = due > now ? due - now : NM_USEC_PER_SEC;
    (void)sd_event_source_set_time_relative(source, NM_MIN(due, CHECK_USEC));
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

/* ---- callers ---------------------------------------------------------------------------------- */

static int refuse_bearer(struct nm_exception *why, const char *name)
{
    nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_INVALID_TOKEN,
                     "The token was not issued by the proxy on this node, or has expired: %s", name);
    return -EKEYREJECTED;
}

/* Asks the master to retry. If a valid token were refused for lack of memory, the master would exit. */
static int set_no_memory(struct nm_exception *why)
{
    nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_RETRY, "This node has no memory for this call "
        "at the moment.");
    return -ENOMEM;
}

/* Returns the attempt that a token's identifier names, and the key that must have signed the token. */
static int find_bearer(const struct nm_yarn_proxy *p, const Hadoop__AMRMTokenIdentifier *id, struct nm_pipeline **ret,
                       const struct nm_yarn_master_key **ret_key)
{
    const struct nm_yarn_attempt_id attempt = nm_yarn_attempt_of(id->attempt);

    *ret = nm_pipelines_find(p->pipelines, &attempt);
    if (!*ret)
        return -EKEYREJECTED;
    *ret_key = nm_yarn_local_keys_find(&p->keys, id->key_id) ?: nm_pipeline_find_key(*ret, id->key_id);
    return *ret_key ? 0 : -EKEYREJECTED;
}

static int make_bearer(const struct nm_yarn_proxy *p, struct nm_bytes identifier, struct nm_arena *a,
                       struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    const struct nm_yarn_master_key *key;
    const Hadoop__AMRMTokenIdentifier *id;
    struct nm_yarn_attempt_id attempt;
    struct nm_pipeline *pipeline;
    char name[NM_YARN_ID_SIZE];
    int r;

    r = nm_token_parse_amrm(a, identifier, &id);
    if (r == -ENOMEM)
        return set_no_memory(why);
    if (r < 0)
        return refuse_bearer(why, "it is not an AMRMToken");
    attempt = nm_yarn_attempt_of(id->attempt);
    (void)nm_yarn_attempt_id_format(&attempt, name);
    if (find_bearer(p, id, &pipeline, &key) < 0)
        return refuse_bearer(why, name);
    r = nm_digest_hmac(key->bytes, key->size, identifier.data, identifier.size, ret->password);
    if (r < 0)
        return r;
    ret->password_size = NM_DIGEST_SIZE;
    (void)snprintf(ret->user, sizeof ret->user, "%s", name);
    return 0;
}

static int look_up(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(identifier.size), NULL);
    r = make_bearer(userdata, identifier, &a, ret, why);
    nm_arena_done(&a);
    return r;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* Handles a call. The attempt may be over, since the master may have opened the connection before the attempt ended. */
static void take_call(struct nm_hadoop_call *call, struct nm_yarn_proxy *p, enum nm_masters_method method)
{
    const struct nm_yarn_master_key *key;
    const Hadoop__AMRMTokenIdentifier *id;
    struct nm_pipeline *pipeline = NULL;
    struct nm_exception why;
    int r = nm_token_parse_amrm(nm_hadoop_call_arena(call), nm_hadoop_call_identifier(call), &id);

    if (r == 0 && find_bearer(p, id, &pipeline, &key) == 0) {
        nm_pipeline_call(pipeline, method, id->key_id, call);
        return;
    }
    if (r == -ENOMEM)
        (void)set_no_memory(&why);
    else
        (void)refuse_bearer(&why, nm_hadoop_call_user(call));
    why.detail = NM_EXCEPTION_APPLICATION;
    nm_hadoop_call_refuse(call, &why);
}

static void on_register(struct nm_hadoop_call *call, void *userdata)
{
    take_call(call, userdata, NM_MASTERS_REGISTER);
}

static void on_allocate(struct nm_hadoop_call *call, void *userdata)
{
    take_call(call, userdata, NM_MASTERS_ALLOCATE);
}

static void on_finish(struct nm_hadoop_call *call, void *userdata)
{
    take_call(call, userdata, NM_MASTERS_FINISH);
}

static const struct nm_hadoop_method methods[] = {
    {"registerApplicationMaster", &masters__anything__descriptor, on_register},
    {"allocate", &masters__allocate_request__descriptor, on_allocate},
    {"finishApplicationMaster", &masters__anything__descriptor, on_finish},
};
static const struct nm_hadoop_protocol protocol = {PROTOCOL, 1, methods, NM_ARRAY_SIZE(methods)};

/* ---- starts of masters ------------------------------------------------------------------------ */

#define WISH "NMD_LEND"
#define WISH_MAX 63u

/* Returns the application's wish about lending. A longer text isn't a valid wish in any case. */
static const char *wish_of(const Yarn__LaunchContext *context)
{
    const char *found = NULL;

    for (size_t i = 0; i < context->n_environment; i++)
        if (context->environment[i]->key && nm_streq(context->environment[i]->key, WISH))
            found = context->environment[i]->value ?: "";
    return found && strlen(found) > WISH_MAX ? "too long" : found;
}

static int refuse_start(struct nm_exception *why, const struct nm_yarn_attempt_id *attempt, const char *what)
{
    char name[NM_YARN_ID_SIZE];

    nm_exception_set(why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_YARN,
                     "%s in the start container request for application:%s", what,
                     nm_yarn_attempt_id_format(attempt, name));
    return NM_STAGE_E_REFUSED;
}

static int replace_token(struct nm_yarn_proxy *p, const struct nm_yarn_attempt_id *attempt,
                         const Yarn__LaunchContext *context, struct nm_arena *a, Yarn__LaunchContext **ret,
                         struct nm_token **ret_theirs)
{
    _cleanup_(nm_token_freep) struct nm_token *ours = NULL;
    Yarn__LaunchContext *copy = nm_arena_alloc(a, sizeof *copy);
    struct nm_bytes tokens = {};
    int r = copy ? nm_yarn_local_token(nm_yarn_local_keys_signing(&p->keys), attempt, &ours) : -ENOMEM;

    if (r == 0)
        r = nm_yarn_replace_token(a, (struct nm_bytes){context->tokens.data, context->tokens.len}, ours, &tokens,
                                  ret_theirs);
    if (r < 0)
        return r;
    *copy = *context;
    copy->has_tokens = 1;
    copy->tokens = (ProtobufCBinaryData){tokens.size, (uint8_t *)(uintptr_t)tokens.data};
    *ret = copy;
    return 0;
}

int nm_yarn_proxy_begin(struct nm_yarn_proxy *p, const Hadoop__ContainerTokenIdentifier *token,
                        const Yarn__LaunchContext *context, struct nm_arena *a, const Yarn__LaunchContext **ret,
                        struct nm_exception *why)
{
    const struct nm_yarn_container_id master = nm_yarn_container_of(token->container);
    _cleanup_(nm_token_freep) struct nm_token *theirs = NULL;
    Yarn__LaunchContext *copy = NULL;
    int r = replace_token(p, &master.attempt, context, a, &copy, &theirs);

    if (r == -ENOKEY)
        return refuse_start(why, &master.attempt, "AMRMToken not found");
    if (r == -EBADMSG)
        return refuse_start(why, &master.attempt, "Invalid credentials");
    if (r == 0)
        r = nm_pipeline_begin(p->pipelines, &master, token->submitter, wish_of(context), &theirs);
    if (r == 0) {
        nm_lenders_note_address(&p->context, token->node_address);
        *ret = copy;
    }
    return r;
}

void nm_yarn_proxy_abandon(struct nm_yarn_proxy *p, const Hadoop__ContainerTokenIdentifier *token)
{
    const struct nm_yarn_attempt_id attempt = nm_yarn_attempt_of(token->container->attempt);

    nm_pipelines_end_attempt(p->pipelines, &attempt);
}

void nm_yarn_proxy_end_application(struct nm_yarn_proxy *p, const struct nm_yarn_application_id *id)
{
    nm_pipelines_end_application(p->pipelines, id);
}

void nm_yarn_proxy_end_strays(struct nm_yarn_proxy *p, nm_pipelines_lives_t lives, void *userdata)
{
    nm_pipelines_end_strays(p->pipelines, lives, userdata);
}

/* ---- queries ---------------------------------------------------------------------------------- */

void nm_yarn_proxy_show(const struct nm_yarn_proxy *p, struct nm_yarn_master_stats *ret)
{
    const struct nm_yarn_address *a = &p->context.settings->proxy_address;

    *ret = (struct nm_yarn_master_stats){};
    ret->lending.exists = p->context.settings->lending.enabled;
    ret->lending.observes = p->context.settings->lending.observes;
    nm_yarn_proxy_stats_fill(p->context.stats, ret);
    (void)snprintf(ret->address, sizeof ret->address, "%s:%u", a->host, (unsigned)a->port);
    nm_pipelines_sum(p->pipelines, ret);
}

json_t *nm_yarn_proxy_show_pipelines(const struct nm_yarn_proxy *p, nm_pipelines_may_see_t may_see, void *userdata,
                                     bool with_users)
{
    return nm_pipelines_to_json(p->pipelines, may_see, userdata, with_users);
}

json_t *nm_yarn_proxy_to_json(const struct nm_yarn_proxy *p, nm_pipelines_may_see_t may_see, void *userdata,
                              bool with_users)
{
    struct nm_yarn_master_stats m;

    nm_yarn_proxy_show(p, &m);
    return nm_yarn_proxy_stats_to_json(&m, nm_yarn_proxy_show_pipelines(p, may_see, userdata, with_users));
}

void nm_yarn_proxy_write_metrics(const struct nm_yarn_proxy *p, const struct nm_metric_writer *w)
{
    struct nm_yarn_master_stats m;

    nm_yarn_proxy_show(p, &m);
    nm_yarn_proxy_stats_write_metrics(&m, w);
}

/* Returns a record if the viewer may see the container of its master. Otherwise drops it and returns NULL. */
static json_t *show_record(json_t *record, const struct nm_yarn_container_id *master, nm_pipelines_may_see_t may_see,
                           void *userdata)
{
    char text[NM_YARN_ID_SIZE];

    if (record && !may_see(userdata, nm_yarn_container_id_format(master, text))) {
        json_decref(record);
        record = NULL;
    }
    return record;
}

json_t *nm_yarn_proxy_show_placement(const struct nm_yarn_proxy *p, const char *container,
                                     nm_pipelines_may_see_t may_see, void *userdata)
{
    struct nm_yarn_container_id master = {};
    json_t *found = nm_yarn_proxy_stats_placement(p->context.stats, container, &master);

    return show_record(found, &master, may_see, userdata);
}

json_t *nm_yarn_proxy_show_lending(const struct nm_yarn_proxy *p, const char *container, nm_pipelines_may_see_t may_see,
                                   void *userdata, bool with_users)
{
    json_t *found = nm_pipelines_explain_lending(p->pipelines, container, may_see, userdata, with_users);
    struct nm_yarn_container_id master = {};

    if (found)
        return found;
    found = nm_yarn_proxy_stats_lent(p->context.stats, container, with_users, &master);
    return show_record(found, &master, may_see, userdata);
}

/* ---- creation and end ------------------------------------------------------------------------- */

static int begin_keys(struct nm_yarn_proxy *p)
{
    const struct nm_yarn_settings *s = p->context.settings;
    int r = nm_yarn_proxy_store_load_keys(&p->context.store, &p->keys);

    p->keys.every_usec = (uint64_t)s->amrm_roll_sec * NM_USEC_PER_SEC;
    p->keys.delay_usec = s->am_expiry_usec / 2 * 3;
    if (r == 0)
        r = step_keys(p);
    if (r == 0)
        r = sd_event_add_time_relative(p->context.event, &p->timer, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC, on_timer, p);
    return r < 0 ? r : 0;
}

static int listen_for_masters(struct nm_yarn_proxy *p, char **ret_message)
{
    const struct nm_hadoop_server_options options = {
        .protocols = &protocol, .n_protocols = 1, .lookup = look_up, .userdata = p,
        .priority = NM_LOOP_WORK};
    const struct nm_yarn_address *a = &p->context.settings->proxy_address;
    int32_t port;
    int fd, r = nm_yarn_port_open(a->host, a->port, ADDRESS, ADDRESS, &fd, &port, ret_message);

    return r < 0 ? r : nm_hadoop_server_new(p->context.event, fd, &options, &p->server);
}

bool nm_yarn_proxy_is_needed(const struct nm_yarn_settings *s, const char *runtime_dir)
{
    return s->proxy || (s->proxy_possible && nm_yarn_proxy_store_has_masters(runtime_dir));
}

int nm_yarn_proxy_check(const struct nm_yarn_settings *s, bool may_be_ours, char **ret_message)
{
    const struct nm_yarn_address *a = &s->proxy_address;
    const struct nm_stage_type *types[NM_STAGES_MAX];
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    size_t n;
    int r = nm_stages_choose(s, types, &n, &message);

    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0) {
        r = nm_yarn_port_check(a->host, a->port, ADDRESS, ADDRESS, may_be_ours, &message);
        r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

static void report_unsaved(struct nm_yarn_proxy *p, const char *what, const char *file, int error)
{
    char sentence[160];

    if (error == 0)
        return;
    (void)snprintf(sentence, sizeof sentence,
                   "The proxy can't save %s in its file \"%s\" (%s); they are lost when nmd restarts.", what, file,
                   strerror(-error));
    p->context.report_cb(LOG_NOTICE, sentence);
}

/* Opens the statistics. If a file can't be used, the proxy only logs a warning, because no other function needs the
 * file. */
static int open_stats(struct nm_yarn_proxy *p)
{
    int r = nm_yarn_proxy_stats_new(p->context.store.dir_fd, &p->context.stats);

    if (r < 0)
        return r;
    report_unsaved(p, "the reasons of placements", "placements", nm_yarn_proxy_stats_error(p->context.stats));
    report_unsaved(p, "the histories of lent containers", "lent", nm_yarn_proxy_stats_lent_error(p->context.stats));
    return 0;
}

static int open_peers(struct nm_yarn_proxy *p)
{
    const struct nm_peers_params params = {.event = p->context.event, .settings = p->context.settings,
                                           .signer = &p->context.signer};
    int r = nm_peers_new(&params, &p->context.peers);

    return r < 0 ? r : nm_node_rooms_new(p->context.peers, p->context.settings->lending.observes,
                                           &p->context.rooms);
}

int nm_yarn_proxy_new(const struct nm_yarn_proxy_params *params, struct nm_yarn_proxy **ret, char **ret_message)
{
    _cleanup_(nm_yarn_proxy_freep) struct nm_yarn_proxy *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return -ENOMEM;
    p->context = (struct nm_stage_context){.event = params->event, .settings = params->settings,
                                           .signer = {.keys = params->keys}, .queue_max_length = -1,
                                           .report_cb = params->report_cb};
    r = nm_yarn_proxy_store_open(params->state_dir, params->runtime_dir, &p->context.store);
    p->context.store.report_cb = params->report_cb;
    if (r == 0)
        r = open_stats(p);
    if (r == 0)
        r = open_peers(p);
    if (r == 0)
        r = begin_keys(p);
    if (r == 0)
        r = nm_pipelines_new(&p->context, &p->keys, &p->pipelines, ret_message);
    if (r == 0)
        r = listen_for_masters(p, ret_message);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(p);
    return 0;
}

void nm_yarn_proxy_set_rm(struct nm_yarn_proxy *p, int64_t rm_identifier, int32_t queue_max_length)
{
    p->context.signer.rm_identifier = rm_identifier;
    p->context.queue_max_length = queue_max_length;
}

struct nm_yarn_proxy *nm_yarn_proxy_free(struct nm_yarn_proxy *p)
{
    if (!p)
        return NULL;
    nm_pipelines_free(p->pipelines); /* this answers all calls, so it must precede the end of the server */
    nm_lenders_done(&p->context.lenders);
    nm_hadoop_server_free(p->server);
    nm_node_rooms_free(p->context.rooms);
    nm_peers_free(p->context.peers);
    sd_event_source_disable_unref(p->timer);
    nm_yarn_proxy_stats_free(p->context.stats);
    nm_yarn_proxy_store_done(&p->context.store);
    explicit_bzero(&p->keys, sizeof p->keys);
    free(p);
    return NULL;
}
