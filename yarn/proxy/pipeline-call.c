/* SPDX-License-Identifier: Apache-2.0 */

/* The course of a call through the stages of a pipeline: see pipeline.h and stage.h. */

#include "yarn/proxy/pipeline-state.h"

#include <assert.h>
#include <errno.h>
#include <syslog.h>

#include "util/clock.h"

/* Limit of a call's arena. It must hold the containers of a heartbeat, each with its tokens. */
#define CALL_BYTES (8 * NM_MIB)
#define INVALID_REQUEST "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
#define INVALID_LABEL "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"

/* ---- state ------------------------------------------------------------------------------------ */

int nm_pipeline_save(struct nm_stage_master *m)
{
    struct nm_pipeline *p = (struct nm_pipeline *)m;
    struct nm_yarn_stored_master kept = {
        .attempt = m->attempt, .submitter = m->submitter, .wish = m->wish, .token = *m->token,
        .master_number = m->container.number,
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

const struct nm_yarn_master_key *nm_pipeline_find_key(const struct nm_pipeline *p, int32_t id)
{
    if (p->used_key.size > 0 && p->used_key.id == id)
        return &p->used_key;
    return p->given_key.size > 0 && p->given_key.id == id ? &p->given_key : NULL;
}

/* Stores the key of a token. Returns false if the key couldn't be saved. In this case the stored key is unchanged. */
static bool store_key(struct nm_pipeline *p, struct nm_yarn_master_key *as, const struct nm_yarn_master_key *key)
{
    const struct nm_yarn_master_key before = *as;

    if (before.size > 0 && before.id == key->id)
        return true;
    *as = *key;
    if (nm_pipeline_save(&p->m) == 0)
        return true;
    *as = before;
    return false;
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
        nm_exception_set(&own, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_RETRY,
                         "This node can't process the call at the moment: %s", strerror(r < 0 ? -r : EIO));
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
    if (nm_pipeline_save(&p->m) < 0)
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

    if (key->id == c->key_id || !store_key(p, &p->given_key, key))
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

/* Passes a call through the stages, from the current one on. */
static void pass_on(struct nm_pipeline *p, struct nm_stage_call *c)
{
    struct nm_exception why;
    int r = 0;

    for (; r == 0; c->at += r == 0) {
        assert(c->at < p->all->n_types);
        c->taken_usec = nm_now_usec();
        r = p->all->types[c->at]->request(p->stages[c->at], c, &why);
        if (r == NM_STAGE_E_TAKEN)
            return;
    }
    refuse(c, r, &why);
}

/* Returns whether the ResourceManager refuses an ask, and not the master. */
static bool is_about_asks(const struct nm_exception *why)
{
    return why && (nm_exception_is(why, INVALID_REQUEST) || nm_exception_is(why, INVALID_LABEL));
}

/* The master may end at an exception that it has not caused. */
void nm_stage_refuse(struct nm_stage_call *c, const struct nm_exception *why)
{
    struct nm_pipeline *p = pipeline_of(c);
    bool has_additions = false;

    while (c->at-- > 0) {
        const struct nm_stage_type *type = p->all->types[c->at];

        if (type->refused)
            has_additions |= type->refused(p->stages[c->at], c);
    }
    if (!has_additions || c->is_repeated || !is_about_asks(why)) {
        refuse(c, 0, why);
        return;
    }
    c->at = 0;
    c->is_repeated = true;
    c->request = nm_hadoop_call_request(c->call);
    pass_on(p, c);
}

void nm_pipeline_call(struct nm_pipeline *p, enum nm_masters_method method, int32_t key_id, struct nm_hadoop_call *call)
{
    const struct nm_yarn_master_key *key =
        nm_yarn_local_keys_find(p->all->keys, key_id) ?: nm_pipeline_find_key(p, key_id);
    struct nm_stage_call *c = calloc(1, sizeof *c);
    struct nm_exception why;

    if (!c) {
        nm_exception_set(&why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_RETRY, "This node has no memory for this call "
            "at the moment.");
        nm_hadoop_call_refuse(call, &why);
        return;
    }
    if (key)
        (void)store_key(p, &p->used_key, key); /* if saving fails, the next call tries again */
    c->master = &p->m;
    c->method = method;
    c->request = nm_hadoop_call_request(call);
    c->key_id = key_id;
    c->came_usec = nm_now_usec();
    c->call = call;
    c->account = nm_quota_account_ref(nm_hadoop_call_account(call));
    nm_arena_init(&c->arena, CALL_BYTES, c->account);
    pass_on(p, c);
}
