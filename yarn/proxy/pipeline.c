/* SPDX-License-Identifier: Apache-2.0 */

/* See pipeline.h. */

#include "yarn/proxy/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/error.h"
#include "yarn/message-ids.h"

/* Limit of a call's arena. It must hold the containers of a heartbeat, each with its tokens. */
#define CALL_BYTES (8 * NM_MIB)

struct nm_pipeline {
    struct nm_stage_master m; /* first member: a pointer to `m` is also a pointer to the pipeline */
    struct nm_pipelines *all;
    void *stages[NM_STAGES_MAX];
    /* used_key: the key of the token that the master used last. given_key: the key of the token that the proxy gave the
     * master last. An open connection keeps using the former token, and the next connection uses the latter token.
     * Tokens with either key are accepted at any age, because the master can't get a new token while the
     * ResourceManager is unreachable. */
    struct nm_yarn_master_key used_key, given_key;
    const char *state; /* name of the state (see proxy-stats.h) */
    uint64_t since_realtime_usec, last_allocate_realtime_usec;
    struct nm_pipeline *next;
};

struct nm_pipelines {
    struct nm_stage_context *context;
    const struct nm_yarn_local_keys *keys;
    const struct nm_stage_type *types[NM_STAGES_MAX];
    size_t n_types;
    struct nm_pipeline *first;
};

/* ---- creation and end ------------------------------------------------------------------------- */

static struct nm_pipeline *free_pipeline(struct nm_pipeline *p)
{
    if (!p)
        return NULL;
    for (size_t i = p->all->n_types; i-- > 0;)
        if (p->stages[i])
            p->all->types[i]->close(p->stages[i]);
    nm_token_free(p->m.token);
    free(p->m.submitter);
    explicit_bzero(&p->used_key, sizeof p->used_key);
    explicit_bzero(&p->given_key, sizeof p->given_key);
    free(p);
    return NULL;
}
NM_DEFINE_CLEANUP(struct nm_pipeline *, free_pipeline)

/* Saves the pipeline. Each stage adds its state, and the whole state is written with one write. */
static int save(struct nm_stage_master *m)
{
    struct nm_pipeline *p = (struct nm_pipeline *)m;
    struct nm_yarn_stored_master kept = {
        .attempt = m->attempt, .submitter = m->submitter, .token = *m->token, .master_number = m->container.number,
        .used_key = p->used_key, .given_key = p->given_key, .since_realtime_usec = p->since_realtime_usec};
    int r = 0;

    for (size_t i = 0; r == 0 && i < p->all->n_types; i++)
        if (p->all->types[i]->keep)
            r = p->all->types[i]->keep(p->stages[i], &kept);
    if (r == 0)
        r = nm_yarn_proxy_store_master(&m->context->store, &kept);
    explicit_bzero(&kept, sizeof kept);
    return r;
}

static int make_pipeline(struct nm_pipelines *all, const struct nm_yarn_container_id *master, const char *submitter,
                         const struct nm_yarn_stored_master *kept, struct nm_pipeline **ret)
{
    _cleanup_(free_pipelinep) struct nm_pipeline *p = calloc(1, sizeof *p);
    int r = 0;

    if (!p)
        return -ENOMEM;
    p->all = all;
    p->m = (struct nm_stage_master){.context = all->context, .attempt = master->attempt, .container = *master,
                                    .submitter = strdup(submitter), .save = save};
    p->state = kept && kept->registered.size > 0 ? "running" : "starting";
    p->since_realtime_usec = kept ? kept->since_realtime_usec : nm_realtime_usec();
    p->given_key = kept ? kept->given_key : *nm_yarn_local_keys_signing(all->keys);
    if (kept)
        p->used_key = kept->used_key;
    for (size_t i = 0; i < all->n_types; i++)
        p->m.distributed |= all->types[i]->distributed;
    (void)nm_yarn_attempt_id_format(&master->attempt, p->m.name);
    if (!p->m.submitter)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < all->n_types; i++)
        r = all->types[i]->open(&p->m, kept, &p->stages[i]);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(p);
    return 0;
}

static void add_pipeline(struct nm_pipelines *all, struct nm_pipeline *p)
{
    p->next = all->first;
    all->first = p;
}

/* Ends all pipelines for which matches() returns true. */
static void end_some(struct nm_pipelines *all, bool (*matches)(const struct nm_yarn_attempt_id *a, const void *b),
                     const void *b)
{
    struct nm_pipeline **at = &all->first;

    while (*at) {
        const uint64_t began_usec = nm_now_usec();
        struct nm_pipeline *p = *at;

        if (!matches(&p->m.attempt, b)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        nm_yarn_proxy_store_drop(&all->context->store, &p->m.attempt);
        free_pipeline(p);
        nm_yarn_proxy_stats_answered(all->context->stats, NM_MASTER_STOP, nm_now_usec() - began_usec);
    }
}

static bool is_of_application(const struct nm_yarn_attempt_id *a, const void *b)
{
    return nm_yarn_same_application(&a->application, b);
}

static bool is_attempt(const struct nm_yarn_attempt_id *a, const void *b)
{
    return nm_yarn_same_attempt(a, b);
}

static bool is_earlier_or_same(const struct nm_yarn_attempt_id *a, const void *b)
{
    const struct nm_yarn_attempt_id *later = b;

    return nm_yarn_same_application(&a->application, &later->application) && a->number <= later->number;
}

void nm_pipelines_end_attempt(struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt)
{
    end_some(all, is_attempt, attempt);
}

void nm_pipelines_end_application(struct nm_pipelines *all, const struct nm_yarn_application_id *application)
{
    end_some(all, is_of_application, application);
}

struct living {
    nm_pipelines_lives_t lives;
    void *userdata;
};

static bool is_stray(const struct nm_yarn_attempt_id *a, const void *b)
{
    const struct living *l = b;

    return !l->lives(l->userdata, &a->application);
}

void nm_pipelines_end_strays(struct nm_pipelines *all, nm_pipelines_lives_t lives, void *userdata)
{
    const struct living l = {lives, userdata};

    end_some(all, is_stray, &l);
}

int nm_pipeline_begin(struct nm_pipelines *all, const struct nm_yarn_container_id *master, const char *submitter,
                      struct nm_token **theirs)
{
    const uint64_t began_usec = nm_now_usec();
    _cleanup_(free_pipelinep) struct nm_pipeline *p = NULL;
    int r = make_pipeline(all, master, submitter, NULL, &p);

    if (r == 0) {
        end_some(all, is_earlier_or_same, &master->attempt);
        p->m.token = *theirs;
        r = save(&p->m);
    }
    if (r < 0) {
        if (p)
            p->m.token = NULL;
        nm_yarn_proxy_stats_failed(all->context->stats, NM_MASTER_START);
        return r;
    }
    *theirs = NULL;
    add_pipeline(all, STEAL_PTR(p));
    nm_yarn_proxy_stats_answered(all->context->stats, NM_MASTER_START, nm_now_usec() - began_usec);
    return 0;
}

static void take_up(const struct nm_yarn_stored_master *kept, void *userdata)
{
    const struct nm_yarn_container_id master = {kept->attempt, kept->master_number};
    const uint64_t began_usec = nm_now_usec();
    struct nm_pipelines *all = userdata;
    _cleanup_(free_pipelinep) struct nm_pipeline *p = NULL;
    int r = make_pipeline(all, &master, kept->submitter, kept, &p);

    if (r == 0)
        r = nm_token_copy(&kept->token, &p->m.token);
    if (r < 0) {
        nm_yarn_proxy_stats_failed(all->context->stats, NM_MASTER_RECOVER);
        all->context->report_cb(LOG_WARNING, "The proxy can't restore the saved state of an application master.");
        return;
    }
    add_pipeline(all, STEAL_PTR(p));
    nm_yarn_proxy_stats_answered(all->context->stats, NM_MASTER_RECOVER, nm_now_usec() - began_usec);
}

int nm_pipelines_new(struct nm_stage_context *context, const struct nm_yarn_local_keys *keys, struct nm_pipelines **ret,
                     char **ret_message)
{
    _cleanup_(nm_pipelines_freep) struct nm_pipelines *all = calloc(1, sizeof *all);
    int r;

    if (!all)
        return -ENOMEM;
    all->context = context;
    all->keys = keys;
    r = nm_stages_choose(context->settings, all->types, &all->n_types, ret_message);
    if (r == 0)
        r = nm_yarn_proxy_store_load_masters(&context->store, take_up, all);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(all);
    return 0;
}

struct nm_pipelines *nm_pipelines_free(struct nm_pipelines *all)
{
    if (!all)
        return NULL;
    for (struct nm_pipeline *p; (p = all->first);) {
        all->first = p->next;
        free_pipeline(p);
    }
    free(all);
    return NULL;
}

struct nm_pipeline *nm_pipelines_find(const struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt)
{
    struct nm_pipeline *p = all->first;

    while (p && !nm_yarn_same_attempt(&p->m.attempt, attempt))
        p = p->next;
    return p;
}

const struct nm_yarn_master_key *nm_pipeline_find_key(const struct nm_pipeline *p, int32_t id)
{
    if (p->used_key.size > 0 && p->used_key.id == id)
        return &p->used_key;
    return p->given_key.size > 0 && p->given_key.id == id ? &p->given_key : NULL;
}

/* Stores the key of a token. Returns false if the key couldn't be saved. In this case the stored key is unchanged. */
static bool hold(struct nm_pipeline *p, struct nm_yarn_master_key *as, const struct nm_yarn_master_key *key)
{
    const struct nm_yarn_master_key before = *as;

    if (before.size > 0 && before.id == key->id)
        return true;
    *as = *key;
    if (save(&p->m) == 0)
        return true;
    *as = before;
    return false;
}

/* ---- queries ---------------------------------------------------------------------------------- */

static struct nm_yarn_pipeline_view view_of(const struct nm_pipeline *p, bool with_user, char master[NM_YARN_ID_SIZE])
{
    struct nm_yarn_pipeline_view v = {
        .attempt = p->m.name, .master = nm_yarn_container_id_format(&p->m.container, master),
        .user = with_user ? p->m.submitter : NULL, .state = p->state,
        .since_realtime_usec = p->since_realtime_usec,
        .last_allocate_realtime_usec = p->last_allocate_realtime_usec};

    for (size_t i = 0; i < p->all->n_types; i++)
        if (p->all->types[i]->figures)
            v.figures = p->all->types[i]->figures(p->stages[i]);
    return v;
}

json_t *nm_pipelines_to_json(const struct nm_pipelines *all, nm_pipelines_may_see_t may_see, void *userdata,
                             bool with_users)
{
    json_t *list = json_array();

    for (const struct nm_pipeline *p = all->first; list && p; p = p->next) {
        char master[NM_YARN_ID_SIZE];
        const struct nm_yarn_pipeline_view v = view_of(p, with_users, master);

        if (may_see(userdata, master) && json_array_append_new(list, nm_yarn_proxy_stats_pipeline(&v)) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

void nm_pipelines_sum(const struct nm_pipelines *all, struct nm_masters *ret)
{
    for (const struct nm_pipeline *p = all->first; p; p = p->next) {
        char master[NM_YARN_ID_SIZE];
        const struct nm_yarn_pipeline_view v = view_of(p, false, master);

        nm_yarn_proxy_stats_sum(&v, ret);
    }
}

/* ---- calls ------------------------------------------------------------------------------------ */

static void end_call(struct nm_stage_call *c)
{
    nm_arena_done(&c->arena);
    nm_quota_account_unref(c->account);
    free(c);
}

static struct nm_pipeline *pipeline_of(const struct nm_stage_call *c)
{
    return (struct nm_pipeline *)c->master;
}

static const enum nm_master_call shown_as[NM_MASTERS_N_METHODS] = {
    [NM_MASTERS_REGISTER] = NM_MASTER_REGISTER,
    [NM_MASTERS_ALLOCATE] = NM_MASTER_ALLOCATE,
    [NM_MASTERS_FINISH] = NM_MASTER_FINISH,
};

/* Records an answered call. above_usec: the time that the call spent in the last stage, which is the time of the
 * ResourceManager. */
static void note_answered(const struct nm_stage_call *c, uint64_t above_usec)
{
    struct nm_pipeline *p = pipeline_of(c);
    const uint64_t took_usec = nm_now_usec() - c->came_usec;

    nm_yarn_proxy_stats_answered(p->m.context->stats, shown_as[c->method], took_usec);
    if (c->method == NM_MASTERS_ALLOCATE) {
        nm_yarn_proxy_stats_added(p->m.context->stats, nm_sub_u64(took_usec, above_usec));
        p->last_allocate_realtime_usec = nm_realtime_usec();
    }
    p->state = c->method == NM_MASTERS_FINISH ? "finished" : "running";
}

static void refuse(struct nm_stage_call *c, int r, const struct nm_exception *why)
{
    struct nm_exception own;

    if (!why || r < 0) {
        nm_exception_set(&own, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_RETRY, "This node can't do this at the moment: "
            "%s",
                         strerror(r < 0 ? -r : EIO));
        why = &own;
    }
    nm_yarn_proxy_stats_failed(c->master->context->stats, shown_as[c->method]);
    nm_hadoop_call_refuse(c->call, why);
    end_call(c);
}

/* Stores a new token from the ResourceManager. The proxy uses this token itself and doesn't pass it on to the
 * master. */
static void take_token(struct nm_pipeline *p, const Hadoop__Token *m)
{
    const struct nm_token theirs = nm_token_from_message(m);
    const uint64_t began_usec = nm_now_usec();
    struct nm_token *copy;

    if (nm_token_copy(&theirs, &copy) < 0) {
        nm_yarn_proxy_stats_failed(p->m.context->stats, NM_MASTER_TOKEN);
        return; /* the ResourceManager repeats the token until the proxy uses it */
    }
    nm_token_free(p->m.token);
    p->m.token = copy;
    p->m.token_changes++;
    nm_yarn_proxy_stats_answered(p->m.context->stats, NM_MASTER_TOKEN, nm_now_usec() - began_usec);
    if (save(&p->m) < 0)
        p->m.context->report_cb(LOG_WARNING,
                                "The proxy can't save the ResourceManager's token of an application master.");
}

/* While the master uses a token with an older key, adds a token with the newest key to each answer. If the key can't be
 * saved, a later answer contains the token. */
static int give_token(struct nm_pipeline *p, struct nm_stage_call *c, Masters__AllocateAnswer *answer)
{
    const struct nm_yarn_master_key *key = nm_yarn_local_keys_signing(p->all->keys);
    _cleanup_(nm_token_freep) struct nm_token *ours = NULL;
    int r;

    if (key->id == c->key_id || !hold(p, &p->given_key, key))
        return 0;
    r = nm_yarn_local_token(key, &p->m.attempt, &ours);
    return r < 0 ? r : nm_yarn_token_message(ours, &c->arena, &answer->master_token);
}

static int change_tokens(struct nm_stage_call *c, const ProtobufCMessage **answer)
{
    Masters__AllocateAnswer *copy = nm_arena_alloc(&c->arena, sizeof *copy);
    struct nm_pipeline *p = pipeline_of(c);

    if (!copy)
        return -ENOMEM;
    *copy = *(const Masters__AllocateAnswer *)*answer;
    if (copy->master_token)
        take_token(p, copy->master_token);
    copy->master_token = NULL;
    *answer = &copy->base;
    return give_token(p, c, copy);
}

void nm_stage_answer(struct nm_stage_call *c, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    const uint64_t above_usec = nm_now_usec() - c->taken_usec;
    struct nm_pipeline *p = pipeline_of(c);
    struct nm_exception own;
    int r = 0;

    while (answer && r == 0 && c->at-- > 0) {
        const struct nm_stage_type *type = p->all->types[c->at];

        if (type->answer)
            r = type->answer(p->stages[c->at], c, &answer, &own);
    }
    if (answer && r == 0 && c->method == NM_MASTERS_ALLOCATE)
        r = change_tokens(c, &answer);
    if (!answer || r != 0) {
        refuse(c, r, answer ? &own : why);
        return;
    }
    nm_hadoop_call_answer(c->call, answer);
    note_answered(c, above_usec);
    end_call(c);
}

void nm_pipeline_call(struct nm_pipeline *p, enum nm_masters_method method, int32_t key_id, struct nm_hadoop_call *call)
{
    const struct nm_yarn_master_key *key =
        nm_yarn_local_keys_find(p->all->keys, key_id) ?: nm_pipeline_find_key(p, key_id);
    struct nm_stage_call *c = calloc(1, sizeof *c);
    struct nm_exception why;
    int r = 0;

    if (!c) {
        nm_exception_set(&why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_RETRY, "This node has no memory for this call "
            "at the moment.");
        nm_hadoop_call_refuse(call, &why);
        return;
    }
    if (key)
        (void)hold(p, &p->used_key, key); /* if saving fails, the next call tries again */
    c->master = &p->m;
    c->method = method;
    c->request = nm_hadoop_call_request(call);
    c->key_id = key_id;
    c->came_usec = nm_now_usec();
    c->call = call;
    c->account = nm_quota_account_ref(nm_hadoop_call_account(call));
    nm_arena_init(&c->arena, CALL_BYTES, c->account);
    for (; r == 0; c->at += r == 0) {
        assert(c->at < p->all->n_types);
        c->taken_usec = nm_now_usec();
        r = p->all->types[c->at]->request(p->stages[c->at], c, &why);
        if (r == NM_STAGE_E_TAKEN)
            return;
    }
    refuse(c, r, &why);
}
