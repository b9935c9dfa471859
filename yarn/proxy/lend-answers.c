/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The answers of the ResourceManager, and what the master sees of them: see lend-stage.h. Containers are changed in
 * place. So an answer is not lost if there is no memory for copies.
 */

#include "yarn/proxy/lend-stage.h"

#include <errno.h>
#include <syslog.h>

#include "util/clock.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/placement-asks.h"

/* Values of ContainerExitStatus. Frameworks don't count a preempted container as a failure. */
#define EXIT_PREEMPTED (-102)
#define EXIT_KILLED_BY_SCHEDULER (-108)
#define OUTSTANDING "UPDATE_OUTSTANDING_ERROR"
#define INCORRECT_VERSION "INCORRECT_CONTAINER_VERSION_ERROR"
#define CPU 1 /* value of SchedulerResourceTypes */

static void show_as_guaranteed(Masters__Container *m)
{
    m->has_execution_type = 1;
    m->execution_type = NM_LENDER_GUARANTEED;
}

static struct nm_lend_size size_of(const Hadoop__Resource *m)
{
    return m ? (struct nm_lend_size){m->memory, m->vcores} : (struct nm_lend_size){};
}

static struct nm_lend_grant grant_of(const Masters__Container *m)
{
    return (struct nm_lend_grant){
        .id = nm_yarn_container_of(m->id), .key = {m->priority ? m->priority->priority : 0, m->request_id},
        .size = size_of(m->resource), .host = m->node ? m->node->host : NULL, .port = m->node ? m->node->port : 0,
        .version = m->version, .opportunistic = m->execution_type == NM_LENDER_OPPORTUNISTIC};
}

/* ---- containers from before the registration ------------------------------------------------------ */

/* Returns whether a container was lent, but is opportunistic now because its master has asked for this. */
static bool was_demoted(const struct nm_lender *l, const struct nm_yarn_container_id *id)
{
    return nm_lend_was_demoted(l->books, id) || (l->former && nm_lend_was_demoted(l->former, id));
}

/* Returns whether an opportunistic container was lent. The books know all that was lent to this attempt. If an earlier
 * attempt ran on another node, its books are there. Its containers are taken for lent then, unless it is known that
 * nothing is lent. */
static bool was_lent(const struct nm_lender *l, const struct nm_yarn_container_id *id)
{
    if (was_demoted(l, id))
        return false;
    if (nm_lend_knows(l->books, id) || (l->former && nm_lend_knows(l->former, id)))
        return true;
    if (nm_yarn_same_attempt(&id->attempt, &l->m->attempt) ||
        (l->former && id->attempt.number >= l->former_since))
        return false;
    return (l->choice.rule.mode != NM_LEND_OFF && !l->labelled) || l->choice.source == NM_YARN_LENDING_NO_TYPE;
}

static int take_previous(struct nm_lender *l, Masters__Container *const *list, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        struct nm_lend_grant g;

        if (!nm_yarn_is_container(list[i]->id))
            continue;
        g = grant_of(list[i]);
        if (!g.opportunistic || !was_lent(l, &g.id))
            continue;
        show_as_guaranteed(list[i]);
        if (nm_lend_adopt(l->books, &g, nm_steady_usec()) < 0)
            r = -ENOMEM;
        else if (l->former)
            nm_lend_set_past(l->books, &g.id, l->former);
    }
    return r;
}

/* ---- registration --------------------------------------------------------------------------------- */

static bool counts_memory_only(const Masters__RegisterMasterAnswer *m)
{
    for (size_t i = 0; i < m->n_resource_types; i++)
        if (m->resource_types[i] == CPU)
            return false;
    return m->n_resource_types > 0;
}

/* Drops the updates of containers that are lent again: their nodes refuse tokens of the former ResourceManager. */
static void drop_void_updates(struct nm_lender *l)
{
    for (size_t i = l->n_updates; i > 0; i--)
        if (nm_lend_is_lent(l->books, &l->updates[i - 1].id))
            nm_lender_drop_update(l, &l->updates[i - 1].id);
}

/* The ResourceManager has accepted the registration, so the answer must not be refused: the master could not repeat
 * it. */
void nm_lender_answer_register(struct nm_lender *l, const Masters__RegisterMasterAnswer *answer)
{
    nm_lender_replace_queue(l, answer->queue);
    l->memory_only = counts_memory_only(answer);
    nm_lend_registered(l->books);
    drop_void_updates(l);
    nm_lender_drop_asks(l);
    l->n_hidden = l->n_promotions = 0;
    l->has_headroom = l->in_flight = l->uncertain = false;
    l->dirty = true;
    nm_lender_choose_rule(l);
    (void)take_previous(l, answer->previous, answer->n_previous);
    nm_lender_count(l);
    nm_lender_save(l);
}

/* ---- granted containers --------------------------------------------------------------------------- */

static void report_first(struct nm_lender *l, const struct nm_lend_grant *g)
{
    char text[NM_YARN_ID_SIZE], rule[64];

    nm_yarn_lending_format(&l->choice.rule, rule, sizeof rule);
    nm_lender_report(l, NM_LENDER_FIRST, LOG_INFO, "Lends to %s (queue %s): the first container is %s with %lld MiB "
                     "on %s. The rule is %s.", l->m->name, l->queue ?: "unknown",
                     nm_yarn_container_id_format(&g->id, text), (long long)g->size.memory_mib, g->host ?: "?", rule);
}

/* Counts a container. Returns whether the master sees it. A surplus container that can't be released for lack of memory
 * is shown: the master then releases it. */
static bool take_container(struct nm_lender *l, Masters__Container *m, bool *is_first, int *error)
{
    enum nm_lend_verdict verdict = NM_LEND_PASS;
    struct nm_lend_grant g;
    int r;

    if (!nm_yarn_is_container(m->id))
        return true;
    g = grant_of(m);
    if (nm_lender_is_hidden(l, &g.id, false))
        return false;
    r = nm_lend_granted(l->books, &g, nm_steady_usec(), &verdict);
    if (r < 0)
        *error = r;
    if (verdict == NM_LEND_RELEASE && nm_lender_hide(l, &g.id) == 0)
        return false;
    if (verdict != NM_LEND_PASS)
        show_as_guaranteed(m);
    if (verdict == NM_LEND_SHOW && *is_first) {
        report_first(l, &g);
        *is_first = false;
    }
    return true;
}

/* Handles the containers of one type, and removes those that the master doesn't see from the list. */
static void take_type(struct nm_lender *l, Masters__AllocateAnswer *answer, bool opportunistic, int *error)
{
    bool is_first = nm_lend_figures(l->books).granted == 0;

    for (size_t i = 0; i < answer->n_containers; i++) {
        Masters__Container *m = answer->containers[i];

        if (m && m->node)
            nm_lenders_note_node(l->m->context, m->node->host, m->node->port);
        if (m && (m->execution_type == NM_LENDER_OPPORTUNISTIC) == opportunistic &&
            !take_container(l, m, &is_first, error))
            answer->containers[i] = NULL;
    }
}

/* Handles the guaranteed containers first: if there are too many containers, the opportunistic ones are surplus. */
static int take_containers(struct nm_lender *l, Masters__AllocateAnswer *answer)
{
    size_t n = 0;
    int r = 0;

    take_type(l, answer, false, &r);
    take_type(l, answer, true, &r);
    for (size_t i = 0; i < answer->n_containers; i++)
        if (answer->containers[i])
            answer->containers[n++] = answer->containers[i];
    answer->n_containers = n;
    return r;
}

/* Without memory, the status shows a request for too long: until the master asks with this key again. */
static void take_rejected(struct nm_lender *l, const struct nm_stage_call *c, const Masters__AllocateAnswer *answer)
{
    for (size_t i = 0; i < answer->n_rejected; i++) {
        const struct nm_bytes packed = {answer->rejected[i].data, answer->rejected[i].len};
        struct nm_lend_ask ask;

        if (nm_placement_ask_parse_rejected(packed, c->account, &ask) == 0 && ask.count > 0)
            nm_lend_rejected(l->books, &ask.key, (uint32_t)ask.count);
    }
}

static void find_refused(const struct nm_lend_key_view *v, void *userdata)
{
    if (v->reason == NM_LEND_REFUSED)
        *(bool *)userdata = true;
}

static void report_refused(struct nm_lender *l)
{
    bool refused = false;

    if (l->refused || nm_lend_figures(l->books).lent > 0)
        return;
    nm_lend_each_key(l->books, find_refused, &refused);
    if (refused)
        nm_lender_report(l, NM_LENDER_REFUSED, LOG_WARNING,
                         "Nothing can be lent to %s: the ResourceManager grants guaranteed containers only. Set "
                         "yarn.resourcemanager.opportunistic-container-allocation.enabled to true in its "
                         "configuration, or enable distributed scheduling.", l->m->name);
    l->refused = refused;
}

/* ---- ended containers ----------------------------------------------------------------------------- */

/* Changes the end of a lent container. A promoted container is changed too: its node may have ended it before the new
 * token arrived. */
static void show_end(struct nm_stage_call *c, Masters__Ended *m)
{
    const bool preempted = m->exit_status == EXIT_KILLED_BY_SCHEDULER;
    char *text = NULL;

    m->has_execution_type = 1;
    m->execution_type = NM_LENDER_GUARANTEED;
    if (!preempted)
        return;
    m->exit_status = EXIT_PREEMPTED;
    text = nm_arena_print(&c->arena, "Lent by nmd: %s", m->diagnostics ?: "");
    if (text)
        m->diagnostics = text;
}

/* Notes the end of a container of an earlier attempt that this attempt hasn't taken over: it ended between the
 * attempts, or its end was reported to the earlier attempt, which ended before it could acknowledge the answer. Returns
 * whether it was lent. */
static bool take_former_end(struct nm_lender *l, const Masters__Ended *m, const struct nm_yarn_container_id *id,
                            bool preempted)
{
    if (nm_yarn_same_attempt(&id->attempt, &l->m->attempt))
        return false;
    if (l->former) /* also of a container that was promoted */
        (void)nm_lend_ended(l->former, id, preempted, nm_steady_usec());
    l->dirty |= l->former && l->former_revision != nm_lend_revision(l->former);
    return m->execution_type == NM_LENDER_OPPORTUNISTIC && was_lent(l, id);
}

/* Returns whether the node has taken the resources of a lent container back. If the node's memory is exhausted before
 * nmd can kill a container, the kernel does so, and the status is -102. For a guaranteed container, this status says
 * that the ResourceManager's scheduler has preempted it. */
static bool is_preempted(const Masters__Ended *m, bool is_lent)
{
    return m->exit_status == EXIT_KILLED_BY_SCHEDULER || (is_lent && m->exit_status == EXIT_PREEMPTED);
}

/* Handles an end. Returns whether the master sees it. These books don't know the containers that were promoted for the
 * attempt before, but the lender has their updates. */
static bool take_end(struct nm_lender *l, struct nm_stage_call *c, Masters__Ended *m)
{
    struct nm_yarn_container_id id;
    char text[NM_YARN_ID_SIZE];
    bool is_new, preempted, has_update;

    if (!nm_yarn_is_container(m->id))
        return true;
    id = nm_yarn_container_of(m->id);
    if (nm_lender_is_hidden(l, &id, true))
        return false;
    is_new = nm_lend_is_lent(nm_lend_knows(l->books, &id) || !l->former ? l->books : l->former, &id);
    preempted = is_preempted(m, is_new);
    has_update = nm_lender_find_update(l, &id);
    nm_lender_drop_update(l, &id);
    if (!nm_lend_ended(l->books, &id, preempted, nm_steady_usec()) && !take_former_end(l, m, &id, preempted) &&
        !has_update)
        return true;
    if (was_demoted(l, &id))
        return true;
    if (is_new && preempted)
        nm_lender_report(l, NM_LENDER_PREEMPTED, LOG_INFO, "The lent container %s of %s was preempted by its node.",
                         nm_yarn_container_id_format(&id, text), l->m->name);
    show_end(c, m);
    return true;
}

static void take_ends(struct nm_lender *l, struct nm_stage_call *c, Masters__AllocateAnswer *answer)
{
    size_t n = 0;

    for (size_t i = 0; i < answer->n_ended; i++)
        if (take_end(l, c, answer->ended[i]))
            answer->ended[n++] = answer->ended[i];
    answer->n_ended = n;
}

/* ---- promotions ----------------------------------------------------------------------------------- */

/* Changes a lent container that the master itself has updated: the master takes it for a guaranteed one. */
static void show_updated(struct nm_lender *l, Masters__Container *m)
{
    struct nm_lend_grant g;

    if (!m || !nm_yarn_is_container(m->id))
        return;
    g = grant_of(m);
    if (nm_lend_updated(l->books, &g.id, g.version, &g.size))
        show_as_guaranteed(m);
}

/* Notes that the ResourceManager has demoted a container, as its master has asked for. */
static void take_demoted(struct nm_lender *l, const Masters__Container *m)
{
    struct nm_yarn_container_id id;

    if (!m || !nm_yarn_is_container(m->id))
        return;
    id = nm_yarn_container_of(m->id);
    nm_lend_demoted(l->books, &id, nm_steady_usec());
    if (l->former)
        nm_lend_demoted(l->former, &id, nm_steady_usec());
    l->dirty |= l->former && l->former_revision != nm_lend_revision(l->former);
    if (was_demoted(l, &id))
        nm_lender_drop_update(l, &id);
}

static int take_updated(struct nm_lender *l, Masters__AllocateAnswer *answer)
{
    size_t n = 0;
    int error = 0;

    for (size_t i = 0; i < answer->n_updated; i++) {
        const Masters__Updated *m = answer->updated[i];
        int r = m->type == NM_LENDER_PROMOTE ? nm_lender_handle_promoted(l, m->container) : 0;

        if (r < 0)
            error = r;
        if (m->type == NM_LENDER_DEMOTE)
            take_demoted(l, m->container);
        if (r == 0)
            show_updated(l, m->container);
        if (r == 0)
            answer->updated[n++] = answer->updated[i];
    }
    answer->n_updated = n;
    return error;
}

static bool is_own_error(struct nm_lender *l, const Masters__UpdateError *m)
{
    struct nm_yarn_container_id id;

    if (!m->ask || m->ask->type != NM_LENDER_PROMOTE || !nm_yarn_is_container(m->ask->id))
        return false;
    id = nm_yarn_container_of(m->ask->id);
    return nm_lend_promotion_refused(l->books, &id, m->reason && nm_streq(m->reason, OUTSTANDING), nm_steady_usec());
}

/* A restarted ResourceManager has the version that it learns from the node, which may not know of an update yet. */
static void note_version(struct nm_lender *l, const Masters__UpdateError *m)
{
    struct nm_yarn_container_id id;

    if (!m->has_current_version || !m->reason || !nm_streq(m->reason, INCORRECT_VERSION) || !m->ask ||
        !nm_yarn_is_container(m->ask->id))
        return;
    id = nm_yarn_container_of(m->ask->id);
    nm_lend_set_version(l->books, &id, m->current_version);
}

static void take_errors(struct nm_lender *l, Masters__AllocateAnswer *answer)
{
    size_t n = 0;

    for (size_t i = 0; i < answer->n_update_errors; i++)
        note_version(l, answer->update_errors[i]);
    for (size_t i = 0; i < answer->n_update_errors; i++)
        if (!is_own_error(l, answer->update_errors[i]))
            answer->update_errors[n++] = answer->update_errors[i];
    answer->n_update_errors = n;
}

/* ---- the call ------------------------------------------------------------------------------------- */

static void note_headroom(struct nm_lender *l, const Hadoop__Resource *m)
{
    l->has_headroom = m;
    l->headroom = size_of(m);
    if (l->memory_only)
        l->headroom.vcores = INT32_MAX;
}

/* Notes that the ResourceManager has read the call, unless its answer is a repeated one. */
static void confirm(struct nm_lender *l, bool repeated)
{
    const bool is_read = !repeated && !l->uncertain;

    l->in_flight = l->uncertain = false;
    if (!repeated)
        nm_lender_settle_asks(l);
    if (!is_read)
        return;
    nm_lender_confirm_hidden(l);
    l->dirty |= l->n_promotions > 0;
    l->n_promotions = 0;
}

/* Without memory the call is refused. The master then repeats it, and the ResourceManager repeats the answer, in which
 * the rest is counted. */
int nm_lender_answer_allocate(struct nm_lender *l, struct nm_stage_call *c, const ProtobufCMessage **answer)
{
    const Masters__AllocateRequest *request = (const Masters__AllocateRequest *)nm_hadoop_call_request(c->call);
    Masters__AllocateAnswer *copy = nm_arena_alloc(&c->arena, sizeof *copy);
    int r, error;

    if (!copy)
        return -ENOMEM;
    *copy = *(const Masters__AllocateAnswer *)*answer;
    if (!l->m->context->settings->lending.observes)
        nm_lend_set_queue_left(l->books, nm_lender_queue_left(l));
    confirm(l, nm_lend_begin_answer(l->books, request->response_id));
    note_headroom(l, copy->headroom);
    error = take_previous(l, copy->previous, copy->n_previous);
    r = take_containers(l, copy);
    error = error ?: r;
    take_ends(l, c, copy);
    r = take_updated(l, copy);
    error = error ?: r;
    take_errors(l, copy);
    take_rejected(l, c, copy);
    report_refused(l);
    nm_lender_count(l);
    nm_lender_save(l);
    *answer = &copy->base;
    return error;
}

/* If the master has made another call since then, it isn't known which of its asks the ResourceManager has read. */
bool nm_lender_handle_refused(struct nm_lender *l, const struct nm_stage_call *c)
{
    if (c != l->called)
        return false;
    nm_lend_refused(l->books, nm_steady_usec());
    nm_lender_take_back_asks(l);
    nm_lender_count(l);
    nm_lender_save(l);
    return l->has_changed;
}
