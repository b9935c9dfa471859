/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Changes of the type, size or blob of an existing container, requested by users or by the container's owner. All parts
 * of a request are checked before any part is applied. The container keeps running in its cgroup, and only the cgroup's
 * limits change.
 */

#include "agent/requests/requests-internal.h"

#include <assert.h>

#include "agent/problem.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/parse.h"

/* The values that the container is to have after the change, and which of them the request changes. */
struct change_request {
    const struct nm_caller *who; /* NULL if the owner sends the request */
    enum nm_execution_type type;
    struct nm_resources request;
    uint32_t vcores_milli;
    const struct nm_blob *blob;
    bool changes_type, has_size; /* has_size: the request has a size, even if it is the present size */
};

static struct change_request change_request_of(const struct nm_live_container *l, const struct nm_caller *who)
{
    return (struct change_request){.who = who, .type = l->c->view.type, .request = l->c->view.request,
                                   .vcores_milli = l->c->vcores_milli};
}

/* ---- refusals ----------------------------------------------------------------------------- */

static int check_shrink(const struct nm_live_container *l, uint64_t memory_bytes, struct nm_problem *p)
{
    char want[32], has[32];

    /* Accept any size that is not below the present limit: such a change can't cause a kill, however much is used. */
    if (memory_bytes >= l->c->view.request.memory_bytes || memory_bytes >= l->c->view.measured.memory_bytes)
        return 0;
    nm_format_size(memory_bytes, want, sizeof want);
    return nm_problem_set(
        p, NM_AGENT_E_CONFLICT, "memory", want,
        "Container %s uses %s now: with a limit of %s the kernel would kill it at once. Choose a limit above its use.",
        l->c->id, nm_format_size(l->c->view.measured.memory_bytes, has, sizeof has), want);
}

/* Writes to buf what the user can do if the change is refused. For a new request, nm_submit_refuse() has different
 * advice. */
static void advise(const struct nm_live_container *l, const struct change_request *w, char *buf, size_t size)
{
    const char *id = l->c->id;

    if (w->changes_type && w->type == NM_GUARANTEED)
        (void)snprintf(buf, size,
                       "It stays opportunistic. Promote it when other containers have ended ('nmctl list' shows them), "
                       "or make it smaller first ('nmctl update --memory SIZE --vcores N %s').", id);
    else if (w->changes_type)
        (void)snprintf(buf, size,
                       "It stays guaranteed. Demote it when the queue is shorter ('nmctl list --state queued').");
    else
        (void)snprintf(buf, size,
                       "It keeps its present resources. Ask for less, try again when other containers have ended, or "
                       "make it opportunistic first ('nmctl demote %s').", id);
}

/* Checks the changed request like a new request; the container's present request is not counted. The queue's length is
 * checked only if the container enters the queue by this change. */
static int check_room(struct nm_live_container *l, const struct change_request *w, struct nm_problem *p)
{
    static const struct nm_caller owner = {.admin = true};
    struct nm_manager *m = l->m;
    bool queues = w->changes_type && w->type == NM_OPPORTUNISTIC && nm_policy_container_is_waiting(&l->c->view);
    enum nm_reason reason = NM_REASON_NONE;
    char instead[256];

    advise(l, w, instead, sizeof instead);
    if (w->has_size || queues || (w->changes_type && w->type == NM_GUARANTEED))
        reason = nm_policy_check_request(&m->settings, m->live.views, m->live.n, w->type, &w->request,
                                         l->c->view.cpu_is_share, &l->c->view);
    if (reason != NM_REASON_NONE && (reason != NM_REASON_QUEUE_FULL || queues))
        return nm_submit_refuse(m, reason, &w->request, &l->c->view, instead, p);
    return queues ? nm_user_limits_check_queue(m, w->who ?: &owner, p) : 0;
}

static int check_blob(const struct nm_live_container *l, const struct nm_blob *blob, struct nm_problem *p)
{
    int r = nm_submit_check_blob(blob, p);

    if (r == 0 && blob->bytes > l->c->blob.bytes)
        r = nm_user_limits_check_bytes(l->m, blob->bytes - l->c->blob.bytes, p);
    return r;
}

static int check(struct nm_live_container *l, const struct change_request *w, struct nm_problem *p)
{
    int r = check_room(l, w, p);

    if (r == 0 && w->has_size) {
        nm_sample_live(l, nm_now_usec());
        r = check_shrink(l, w->request.memory_bytes, p);
    }
    if (r == 0 && w->blob)
        r = check_blob(l, w->blob, p);
    return r;
}

/* ---- execution ---------------------------------------------------------------------------- */

static int take_blob(struct nm_live_container *l, const struct nm_blob *blob)
{
    int r;

    l->command_bytes -= l->c->blob.bytes;
    r = nm_container_set_blob(l->c, blob->data, blob->bytes);
    l->command_bytes += l->c->blob.bytes;
    return r;
}

static void record(struct nm_live_container *l, enum nm_decision_kind kind, const struct change_request *w)
{
    nm_record_by(l, kind, w->who ? NM_REASON_USER : NM_REASON_OWNER, w->who);
}

/* Records and journals the change. A container has only one open decision, so the decision about the size is closed
 * before the decision about the type is recorded. */
static void commit(struct nm_live_container *l, const struct change_request *w)
{
    struct nm_manager *m = l->m;

    (void)nm_store_begin(m->store);
    if (w->has_size)
        record(l, NM_DECISION_UPDATE, w);
    if (w->has_size && w->changes_type) {
        nm_record_acted(l);
        nm_record_effective(l);
    }
    if (w->changes_type)
        record(l, w->type == NM_GUARANTEED ? NM_DECISION_PROMOTE : NM_DECISION_DEMOTE, w);
    if (w->has_size || w->changes_type)
        (void)nm_persist_journal(l);
    if (w->blob)
        (void)nm_store_put_blob(m->store, l->c);
    nm_record_store_result(m, nm_store_commit(m->store));
    (void)nm_persist_snapshot(l);
    if (w->changes_type)
        NM_FAULT("type-journalled");
    if (w->has_size)
        NM_FAULT("update-journalled");
}

static void carry_out(struct nm_live_container *l, const struct change_request *w)
{
    struct nm_policy_container *v = &l->c->view;

    nm_limits_apply(l);
    if (w->changes_type)
        nm_limits_set_priority(l);
    nm_record_acted(l);
    nm_record_effective(l);
    /* The container becomes guaranteed, and the policy doesn't pause guaranteed containers. Resume it if the policy had
     * paused it before. */
    if (w->changes_type && w->type == NM_GUARANTEED && (v->state == NM_PAUSED || v->state == NM_PAUSING) &&
        !v->user_paused) {
        record(l, NM_DECISION_RESUME, &(struct change_request){.who = w->who});
        nm_act_resume(l);
    }
    nm_round_request(l->m, NM_TRIGGER_CHANGE);
}

/* Makes all changes of the request, or leaves the container unchanged. Steps that may fail for lack of memory come
 * first. */
static int change(struct nm_live_container *l, const struct change_request *w, struct nm_problem *p)
{
    int r = check(l, w, p);

    if (r == 0 && w->blob)
        r = take_blob(l, w->blob);
    if (r != 0)
        return r;
    l->c->view.type = w->type;
    l->c->view.request = w->request;
    l->c->vcores_milli = w->vcores_milli;
    commit(l, w);
    if (w->has_size || w->changes_type)
        carry_out(l, w);
    return 0;
}

/* ---- requests of users -------------------------------------------------------------------- */

static int find(struct nm_manager *m, const struct nm_caller *who, const char *id, struct nm_live_container **ret,
                struct nm_problem *p)
{
    int r = nm_access_find_live(m, who, id, ret, p);

    assert(p);
    return r == 0 ? nm_persist_check(m, p) : r;
}

/* Changes the type. A promotion is refused if the guaranteed requests would exceed the capacity, as at submission. A
 * running container can always be demoted. A waiting container can be demoted only if the queue is not full. */
static int change_type(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       enum nm_execution_type to, struct nm_problem *p)
{
    struct nm_live_container *l;
    struct change_request w;
    int r = find(m, who, id, &l, p);

    if (r != 0)
        return r;
    w = change_request_of(l, who);
    if (w.type == to)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "execution_type", nm_execution_type_name(to),
                              "Container %s is %s already.", l->c->id, nm_execution_type_name(to));
    w.type = to;
    w.changes_type = true;
    r = change(l, &w, p);
    return r == 0 ? nm_persist_answer(m, l->c->id, to == NM_GUARANTEED ? "is promoted" : "is demoted", p) : r;
}

int nm_manager_promote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       struct nm_problem *ret_problem)
{
    return change_type(m, who, id, NM_GUARANTEED, ret_problem);
}

int nm_manager_demote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem)
{
    return change_type(m, who, id, NM_OPPORTUNISTIC, ret_problem);
}

static int set_size(struct nm_manager *m, struct change_request *w, uint64_t memory_bytes, uint32_t vcores_milli,
                    struct nm_problem *p)
{
    int r = memory_bytes ? nm_submit_check_memory(memory_bytes, p) : 0;

    if (r != 0)
        return r;
    if (memory_bytes)
        w->request.memory_bytes = memory_bytes;
    if (vcores_milli) {
        w->request.cpu_millicores = nm_submit_millicores(m, vcores_milli);
        w->vcores_milli = vcores_milli;
    }
    w->has_size = memory_bytes || vcores_milli;
    return 0;
}

int nm_manager_update(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      uint64_t memory_bytes, uint32_t vcores_milli, struct nm_problem *ret_problem)
{
    struct nm_live_container *l;
    struct change_request w;
    int r = find(m, who, id, &l, ret_problem);

    if (r != 0)
        return r;
    if (!memory_bytes && !vcores_milli)
        return nm_problem_set(ret_problem, NM_AGENT_E_INVALID, "memory_bytes", "",
                              "Nothing to change: give memory, vcores, or both.");
    w = change_request_of(l, who);
    r = set_size(m, &w, memory_bytes, vcores_milli, ret_problem);
    if (r == 0)
        r = change(l, &w, ret_problem);
    return r == 0 ? nm_persist_answer(m, l->c->id, "is updated", ret_problem) : r;
}

/* ---- requests of owners ------------------------------------------------------------------- */

/* Returns 0 even if the change could not be journalled, because a result other than 0 means that the container is
 * unchanged. */
int nm_change_owned(struct nm_live_container *l, const struct nm_change *c, struct nm_problem *ret_problem)
{
    struct change_request w = change_request_of(l, NULL);
    int r = nm_persist_check(l->m, ret_problem);

    if (r != 0)
        return r;
    w.blob = c->blob;
    if (c->type) {
        w.type = *c->type;
        w.changes_type = w.type != l->c->view.type;
    }
    r = set_size(l->m, &w, c->memory_bytes, c->vcores_milli, ret_problem);
    if (r == 0 && (w.changes_type || w.has_size) && l->c->view.state == NM_KILLING)
        r = nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "state", nm_state_name(l->c->view.state),
                           "Container %s is being killed.", l->c->id);
    return r == 0 ? change(l, &w, ret_problem) : r;
}

/* Sets the container's directories and blob. Allocates all memory first, so that the container is unchanged if memory
 * is short. */
static int move_to(struct nm_live_container *l, const struct nm_move *move)
{
    _cleanup_free_ char *workdir = strdup(move->workdir), *log_dir = strdup(move->log_dir);
    int r = workdir && log_dir ? take_blob(l, &move->blob) : -ENOMEM;

    if (r < 0)
        return r;
    free(l->c->command.workdir);
    l->c->command.workdir = STEAL_PTR(workdir);
    free(l->c->log_dir);
    l->c->log_dir = STEAL_PTR(log_dir);
    l->command_bytes = nm_command_bytes(&l->c->command) + l->c->blob.bytes;
    return 0;
}

int nm_change_move(struct nm_live_container *l, const struct nm_move *move, struct nm_problem *ret_problem)
{
    struct nm_manager *m = l->m;
    int r = nm_persist_check(m, ret_problem);

    if (r == 0)
        r = nm_submit_check_dirs(move->workdir, move->log_dir, ret_problem);
    if (r == 0)
        r = check_blob(l, &move->blob, ret_problem);
    if (r == 0)
        r = move_to(l, move);
    if (r != 0)
        return r;
    (void)nm_store_begin(m->store);
    (void)nm_persist_journal(l);
    (void)nm_store_put_command(m->store, l->c);
    (void)nm_store_put_blob(m->store, l->c);
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("moved-journalled");
    (void)nm_persist_snapshot(l);
    return 0;
}
