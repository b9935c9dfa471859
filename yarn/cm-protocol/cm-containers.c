/* SPDX-License-Identifier: Apache-2.0 */

/* See cm-call.h. */

#include "yarn/cm-protocol/cm-call.h"

#include <errno.h>

/* Handles one container of a list, and adds its outcome to the answer. */
typedef int (*for_one)(struct nm_yarn_cm_server *m, const Hadoop__ContainerId *id, struct nm_arena *a, void *answer,
                       struct nm_exception *why);

/* Calls the function for each container of the list. Returns false if the call was refused. */
static bool for_all(struct nm_hadoop_call *call, struct nm_yarn_cm_server *m, const char *operation, for_one one,
                    void *answer, struct nm_cm_outcome *o)
{
    const Yarn__Ids *request = (const Yarn__Ids *)nm_hadoop_call_request(call);
    const Hadoop__NMTokenIdentifier *caller = nm_cm_caller(call);
    struct nm_exception why;

    if (!caller || !nm_cm_outcome_init(o, call, request->n_ids))
        return false;
    for (size_t i = 0; i < request->n_ids; i++) {
        const Hadoop__ContainerId *id = request->ids[i];
        int r = nm_yarn_check_owner(caller, id, operation, &why);

        if (r == 0)
            r = one(m, id, o->arena, answer, &why);
        if (nm_cm_note(o, id, r, &why) < 0) {
            nm_cm_refuse_answer(call);
            return false;
        }
    }
    return true;
}

/* ---- lists -------------------------------------------------------------------------------- */

static int stop_one(struct nm_yarn_cm_server *m, const Hadoop__ContainerId *id, struct nm_arena *a, void *answer,
                    struct nm_exception *why)
{
    (void)a, (void)answer;
    return nm_yarn_node_stop(m->node, id, NM_YARN_KILLED_BY_MASTER, "Container killed by the ApplicationMaster.", why);
}

void nm_cm_stop(struct nm_hadoop_call *call, void *userdata)
{
    Yarn__Outcome answer = YARN__OUTCOME__INIT;
    struct nm_cm_outcome o;

    if (!for_all(call, userdata, "stop", stop_one, NULL, &o))
        return;
    answer.done = o.done;
    answer.n_done = o.n_done;
    answer.refused = o.refused;
    answer.n_refused = o.n_refused;
    nm_hadoop_call_answer(call, &answer.base);
}

static int status_of_one(struct nm_yarn_cm_server *m, const Hadoop__ContainerId *id, struct nm_arena *a, void *answer,
                         struct nm_exception *why)
{
    Yarn__StatusAnswer *to = answer;
    int r = nm_yarn_node_status(m->node, id, a, &to->statuses[to->n_statuses], why);

    to->n_statuses += r == 0;
    return r;
}

void nm_cm_statuses(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__Ids *request = (const Yarn__Ids *)nm_hadoop_call_request(call);
    Yarn__StatusAnswer answer = YARN__STATUS_ANSWER__INIT;
    struct nm_cm_outcome o;

    answer.statuses = nm_arena_alloc(nm_hadoop_call_arena(call), (request->n_ids + 1) * sizeof(void *));
    if (!answer.statuses) {
        nm_cm_refuse_answer(call);
    } else if (for_all(call, userdata, "get status for", status_of_one, &answer, &o)) {
        answer.refused = o.refused;
        answer.n_refused = o.n_refused;
        nm_hadoop_call_answer(call, &answer.base);
    }
}

static int localization_of_one(struct nm_yarn_cm_server *m, const Hadoop__ContainerId *id, struct nm_arena *a,
                               void *answer, struct nm_exception *why)
{
    Yarn__LocalizationAnswer *to = answer;
    int r = nm_yarn_node_localization(m->node, id, a, &to->containers[to->n_containers], why);

    to->n_containers += r == 0;
    return r;
}

void nm_cm_localizations(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__Ids *request = (const Yarn__Ids *)nm_hadoop_call_request(call);
    Yarn__LocalizationAnswer answer = YARN__LOCALIZATION_ANSWER__INIT;
    struct nm_cm_outcome o;

    answer.containers = nm_arena_alloc(nm_hadoop_call_arena(call), (request->n_ids + 1) * sizeof(void *));
    if (!answer.containers) {
        nm_cm_refuse_answer(call);
    } else if (for_all(call, userdata, "get localization status for", localization_of_one, &answer, &o)) {
        answer.refused = o.refused;
        answer.n_refused = o.n_refused;
        nm_hadoop_call_answer(call, &answer.base);
    }
}

/* ---- one container ------------------------------------------------------------------------ */

/* Checks that the caller may manage the container. Returns false if the call was refused. */
static bool may(struct nm_hadoop_call *call, const Hadoop__ContainerId *id, const char *operation)
{
    const Hadoop__NMTokenIdentifier *caller = nm_cm_caller(call);
    struct nm_exception why;

    if (!caller)
        return false;
    if (nm_yarn_check_owner(caller, id, operation, &why) == 0)
        return true;
    nm_hadoop_call_refuse(call, &why);
    return false;
}

/* Ends the call. r: the result of a function of node.h. */
static void finish(struct nm_hadoop_call *call, int r, struct nm_exception *why)
{
    const Yarn__Nothing nothing = YARN__NOTHING__INIT;

    if (r == 0) {
        nm_hadoop_call_answer(call, &nothing.base);
    } else {
        nm_cm_explain(r, why);
        nm_hadoop_call_refuse(call, why);
    }
}

void nm_cm_signal(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__SignalRequest *r = (const Yarn__SignalRequest *)nm_hadoop_call_request(call);
    struct nm_yarn_cm_server *m = userdata;
    struct nm_exception why;

    if (may(call, r->id, "signal"))
        finish(call, nm_yarn_node_signal(m->node, r->id, r->command, &why), &why);
}

void nm_cm_localize(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__LocalizeRequest *r = (const Yarn__LocalizeRequest *)nm_hadoop_call_request(call);
    struct nm_yarn_cm_server *m = userdata;
    struct nm_exception why;

    if (may(call, r->id, "localize resources for"))
        finish(call, nm_yarn_node_localize(m->node, r, &why), &why);
}

void nm_cm_reinitialize(struct nm_hadoop_call *call, void *userdata)
{
    const Yarn__ReinitializeRequest *r = (const Yarn__ReinitializeRequest *)nm_hadoop_call_request(call);
    struct nm_yarn_cm_server *m = userdata;
    struct nm_exception why;

    if (!may(call, r->id, "re-initialize"))
        return;
    if (r->context)
        finish(call, nm_yarn_node_reinitialize(m->node, r, &why), &why);
    else
        nm_cm_refuse(call, NM_EXCEPTION_YARN, "The request has no launch context.");
}

static void with_id(struct nm_hadoop_call *call, struct nm_yarn_cm_server *m, const char *operation,
                    int (*one)(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why))
{
    const Hadoop__ContainerId *id = (const Hadoop__ContainerId *)nm_hadoop_call_request(call);
    struct nm_exception why;

    if (may(call, id, operation))
        finish(call, one(m->node, id, &why), &why);
}

void nm_cm_restart(struct nm_hadoop_call *call, void *userdata)
{
    with_id(call, userdata, "restart", nm_yarn_node_restart);
}

void nm_cm_roll_back(struct nm_hadoop_call *call, void *userdata)
{
    with_id(call, userdata, "roll back", nm_yarn_node_roll_back);
}

void nm_cm_commit(struct nm_hadoop_call *call, void *userdata)
{
    with_id(call, userdata, "commit", nm_yarn_node_commit);
}
