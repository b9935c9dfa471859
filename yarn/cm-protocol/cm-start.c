/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See cm-call.h. All tokens of a call are checked before the first container is started, because a single forged token
 * makes the whole call untrustworthy.
 */

#include "yarn/cm-protocol/cm-call.h"

#include <errno.h>

#include "rpc/hadoop/token.h"
#include "util/clock.h"
#include "util/fault.h"
#include "yarn/id-messages.h"

/* Refuses starts while the node is registering, because its registration might not list the new containers. */
static bool is_ready(const struct nm_yarn_cm_server *m, struct nm_hadoop_call *call)
{
    if (m->gate.rm_identifier != 0)
        return true;
    nm_cm_refuse(call, NM_EXCEPTION_NOT_YET_READY,
                 "Rejecting new containers as NodeManager has not yet connected with ResourceManager");
    return false;
}

/* Reads the container tokens of the call. Returns NULL after it has refused the call, because a token was not issued by
 * the ResourceManager. */
static const Hadoop__ContainerTokenIdentifier **read_tokens(struct nm_yarn_cm_server *m, struct nm_hadoop_call *call,
                                                            Hadoop__Token *const *tokens, size_t n)
{
    struct nm_arena *a = nm_hadoop_call_arena(call);
    const Hadoop__ContainerTokenIdentifier **list = nm_arena_alloc(a, (n + 1) * sizeof *list);
    struct nm_exception why;

    if (!list) {
        nm_cm_refuse_answer(call);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (nm_yarn_check_container(&m->gate, tokens[i], a, &list[i], &why) != 0) {
            nm_hadoop_call_refuse(call, &why);
            return NULL;
        }
    return list;
}

static struct nm_bytes identifier_of(const Hadoop__Token *t)
{
    return nm_token_from_message(t).identifier;
}

/* ---- starts ------------------------------------------------------------------------------- */

static bool is_master(const struct nm_yarn_cm_server *m, const Hadoop__ContainerTokenIdentifier *token)
{
    return m->masters.begin &&
           token->container_type == HADOOP__CONTAINER_TOKEN_IDENTIFIER__CONTAINER_TYPE__APPLICATION_MASTER;
}

/* Starts a container. If the proxy is enabled, an application's master is started with the launch context that the
 * proxy returns. */
static int start_container(struct nm_yarn_cm_server *m, const Yarn__StartOne *start,
                           const Hadoop__ContainerTokenIdentifier *token, struct nm_arena *a, struct nm_exception *why)
{
    const Yarn__LaunchContext *context = start->context;
    int r = is_master(m, token) ? m->masters.begin(m->masters.userdata, token, context, a, &context, why) : 0;

    if (r != 0)
        return r;
    r = nm_yarn_node_start(m->node, identifier_of(start->token), token, context, why);
    if (r != 0 && is_master(m, token))
        m->masters.abandon(m->masters.userdata, token);
    return r;
}

/* Returns whether a master of the application repeats a start that an earlier nmd has accepted. Masters repeat a call
 * if the connection ends before its answer, as it does if nmd dies. Without this rule, the container would run, but the
 * master would count its start as failed. */
static bool is_repeated(const struct nm_yarn_cm_server *m, const Hadoop__NMTokenIdentifier *caller,
                        const Yarn__StartOne *start, const Hadoop__ContainerTokenIdentifier *token)
{
    struct nm_exception why;

    return nm_yarn_node_has_adopted(m->node, token->container, identifier_of(start->token)) &&
           nm_yarn_check_owner(caller, token->container, "start", &why) == 0;
}

static int start_one(struct nm_yarn_cm_server *m, const Hadoop__NMTokenIdentifier *caller, const Yarn__StartOne *start,
                     const Hadoop__ContainerTokenIdentifier *token, struct nm_arena *a, struct nm_exception *why)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(token->container);
    int64_t now = nm_realtime_msec();
    int r;

    if (is_repeated(m, caller, start, token))
        return 0;
    r = nm_yarn_check_start(&m->gate, caller, token, now, why);
    if (r != 0)
        return r;
    if (!start->context) {
        nm_exception_set(why, 0, NM_EXCEPTION_YARN, "The container has no launch context.");
        return NM_YARN_REFUSED;
    }
    r = nm_yarn_used_make_room(m->used, now);
    if (r == 0)
        r = start_container(m, start, token, a, why);
    if (r != 0)
        return r;
    nm_yarn_used_add(m->used, &id, token->expires_msec); /* a restarted nmd takes it from the container */
    /* The container is started. If the keyring can't remember the attempt's key, the container keeps running. The
     * attempt's token is then refused when its key is neither the current nor the previous key any more. */
    (void)nm_yarn_keyring_add(m->keyring, caller);
    return 0;
}

static bool is_opportunistic(const Hadoop__ContainerTokenIdentifier *token)
{
    return token->execution_type == HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__OPPORTUNISTIC;
}

/* Asks the caller to repeat the call if its containers have no room before others have ended that the ResourceManager
 * has given up. Otherwise they would fail, although the ResourceManager has found room for them. */
static bool has_room(const struct nm_yarn_cm_server *m, struct nm_hadoop_call *call,
                     const Hadoop__ContainerTokenIdentifier *const *tokens, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        if (tokens[i]->resource && tokens[i]->resource->memory > 0 && !is_opportunistic(tokens[i]))
            bytes = nm_add_u64(bytes, (uint64_t)NM_MIN(tokens[i]->resource->memory, (int64_t)INT32_MAX) * NM_MIB);
    if (bytes == 0 || !nm_yarn_node_must_wait(m->node, bytes))
        return true;
    nm_cm_refuse(call, NM_EXCEPTION_NOT_YET_READY,
                 "The node has just registered again, and has no room before it has ended the containers that the "
                 "ResourceManager has given up");
    return false;
}

/* Saves the key of an attempt that has its first container here, before the master gets the answer. The attempt may use
 * its token after the ResourceManager's keys have changed twice. */
static void save_new_key(const struct nm_yarn_cm_server *m, uint64_t changes_before)
{
    if (m->key_store && nm_yarn_keyring_changes(m->keyring) != changes_before)
        nm_yarn_key_store_save(m->key_store);
}

static int start_all(struct nm_yarn_cm_server *m, const Hadoop__NMTokenIdentifier *caller,
                     const Yarn__StartRequest *request, const Hadoop__ContainerTokenIdentifier *const *tokens,
                     struct nm_cm_outcome *o)
{
    struct nm_exception why;

    for (size_t i = 0; i < request->n_starts; i++) {
        int r = start_one(m, caller, request->starts[i], tokens[i], o->arena, &why);

        r = nm_cm_note(o, tokens[i]->container, r, &why);
        if (r < 0)
            return r;
    }
    return 0;
}

static Hadoop__Token **list_tokens(const Yarn__StartRequest *request, struct nm_arena *a)
{
    Hadoop__Token **list = nm_arena_alloc(a, (request->n_starts + 1) * sizeof *list);

    for (size_t i = 0; list && i < request->n_starts; i++)
        list[i] = request->starts[i]->token;
    return list;
}

static void answer_start(struct nm_yarn_cm_server *m, struct nm_hadoop_call *call, const struct nm_cm_outcome *o)
{
    Yarn__StartAnswer answer = YARN__START_ANSWER__INIT;

    answer.done = o->done;
    answer.n_done = o->n_done;
    answer.refused = o->refused;
    answer.n_refused = o->n_refused;
    if (nm_yarn_node_services(m->node, o->arena, &answer.services, &answer.n_services) < 0)
        nm_cm_refuse_answer(call);
    else
        nm_hadoop_call_answer(call, &answer.base);
}

void nm_cm_start(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__StartRequest *request = (const Yarn__StartRequest *)nm_hadoop_call_request(call);
    const Hadoop__NMTokenIdentifier *caller = nm_cm_caller(call);
    const Hadoop__ContainerTokenIdentifier **tokens;
    struct nm_yarn_cm_server *m = userdata;
    const uint64_t changes = nm_yarn_keyring_changes(m->keyring);
    struct nm_cm_outcome o;
    Hadoop__Token **list;
    int r;

    if (!caller || !is_ready(m, call) || !nm_cm_outcome_init(&o, call, request->n_starts))
        return;
    list = list_tokens(request, o.arena);
    if (!list) {
        nm_cm_refuse_answer(call);
        return;
    }
    tokens = read_tokens(m, call, list, request->n_starts);
    if (!tokens || !has_room(m, call, tokens, request->n_starts))
        return;
    r = start_all(m, caller, request, tokens, &o);
    NM_FAULT("start-accepted");
    save_new_key(m, changes);
    NM_FAULT("start-saved");
    if (r < 0)
        nm_cm_refuse_answer(call);
    else
        answer_start(m, call, &o);
}

/* ---- updates ------------------------------------------------------------------------------ */

static int update_one(struct nm_yarn_cm_server *m, const Hadoop__NMTokenIdentifier *caller,
                      const Hadoop__Token *message, const Hadoop__ContainerTokenIdentifier *token,
                      struct nm_exception *why)
{
    int r = nm_yarn_check_update(&m->gate, caller, token, nm_realtime_msec(), why);

    return r == 0 ? nm_yarn_node_update(m->node, identifier_of(message), token, why) : r;
}

void nm_cm_update(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__UpdateRequest *request = (const Yarn__UpdateRequest *)nm_hadoop_call_request(call);
    const Hadoop__NMTokenIdentifier *caller = nm_cm_caller(call);
    const Hadoop__ContainerTokenIdentifier **tokens;
    Yarn__Outcome answer = YARN__OUTCOME__INIT;
    struct nm_yarn_cm_server *m = userdata;
    struct nm_cm_outcome o;
    struct nm_exception why;
    int r = 0;

    if (!caller || !is_ready(m, call) || !nm_cm_outcome_init(&o, call, request->n_tokens))
        return;
    tokens = read_tokens(m, call, request->tokens, request->n_tokens);
    if (!tokens)
        return;
    for (size_t i = 0; r == 0 && i < request->n_tokens; i++) {
        r = update_one(m, caller, request->tokens[i], tokens[i], &why);
        r = nm_cm_note(&o, tokens[i]->container, r, &why);
    }
    answer.done = o.done;
    answer.n_done = o.n_done;
    answer.refused = o.refused;
    answer.n_refused = o.n_refused;
    if (r < 0)
        nm_cm_refuse_answer(call);
    else
        nm_hadoop_call_answer(call, &answer.base);
}

int nm_cm_update_one(struct nm_yarn_cm_server *m, const Hadoop__Token *message, struct nm_arena *a,
                     struct nm_exception *why)
{
    const Hadoop__ContainerTokenIdentifier *token;
    int r = nm_yarn_check_container(&m->gate, message, a, &token, why);

    return r == 0 ? nm_yarn_node_update(m->node, identifier_of(message), token, why) : r;
}
