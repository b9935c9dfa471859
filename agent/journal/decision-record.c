/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decision records. A decision is written to the store when it is taken and again when its outcome is known.
 * Subscribers to events receive both.
 */

#include "agent/journal/decision-record.h"

#include <assert.h>
#include <inttypes.h>
#include <pwd.h>

#include "agent/config/settings.h"
#include "agent/message-ids.h"
#include "util/clock.h"
#include "util/log.h"

#define NAME_CACHE_USEC (10 * NM_USEC_PER_SEC)

/* Refusals for one reason share a record while each follows the previous one within this time, up to a total time. */
#define REFUSALS_APART_USEC (60 * NM_USEC_PER_SEC)
#define REFUSALS_TOGETHER_USEC (600 * NM_USEC_PER_SEC)

struct nm_decisions *nm_decisions_new(void)
{
    return calloc(1, sizeof(struct nm_decisions));
}

struct nm_decisions *nm_decisions_free(struct nm_decisions *d)
{
    free(d);
    return NULL;
}

void nm_decisions_fill(const struct nm_decisions *d, struct nm_status *ret)
{
    ret->reaction_pause = d->reaction_pause;
    ret->reaction_kill = d->reaction_kill;
}

/* ---- decisions ----------------------------------------------------------- */

/* An unwritable journal makes the node unhealthy, because no action may begin that cannot be journalled. */
void nm_record_report_health(struct nm_manager *m)
{
    char reason[NM_HEALTH_REASON_SIZE] = "";

    assert(m->health);
    if (m->journal.error == -EUCLEAN)
        return; /* nm_journal_replace() repairs the damage and reports it */
    if (m->journal.error < 0)
        (void)snprintf(reason, sizeof reason, "the journal in %.100s can't be written (%s)", m->state_dir,
                       strerror(-m->journal.error));
    nm_health_set_journal(m->health, reason);
}

/* Reports only changes, since a log line per write would fill a full disk further. */
void nm_record_store_result(struct nm_manager *m, int r)
{
    assert(r <= 0);
    nm_events_write_unsaved(m);
    if (r == m->journal.error)
        return;
    m->journal.error = r;
    if (r == -EUCLEAN)
        return;
    if (r < 0) {
        const char *advice = nm_store_error_advice(r);

        nm_log_container(LOG_ERR, NULL, NULL, NM_MESSAGE_STORE,
                         "the journal in %s can't be written (%s): containers keep running, but changes from now on "
                         "may be lost if nmd restarts%s%s",
                         m->state_dir, strerror(-r), advice ? "; " : "", advice ?: "");
    } else {
        nm_info("the journal can be written again");
    }
    if (m->health)
        nm_record_report_health(m);
}

/* A decision may have been reported and then lost with its journal; its number must not be used for another
 * decision. */
void nm_record_begin_after(struct nm_manager *m, uint64_t number)
{
    m->decisions->next = NM_MAX(m->decisions->next, number + 1);
}

static void save(struct nm_manager *m, const struct nm_decision *d)
{
    nm_record_store_result(m, nm_store_put_decision(m->store, d));
}

/* Copies the figures on which the decision was based: thresholds may change, and records are read much later. */
static void fill_node(struct nm_manager *m, struct nm_decision *d)
{
    const struct nm_policy_settings *s = &m->settings;

    d->number = m->decisions->next++;
    d->realtime_usec = nm_realtime_usec();
    d->decided_usec = nm_now_usec();
    d->cause_usec = m->round.cause_usec;
    d->capacity = s->capacity;
    d->capacity_vcores_milli = nm_settings_millicores_vcores(m->config, &m->sampled.node, s->capacity.cpu_millicores);
    d->over_allocation_threshold = s->over_allocation_threshold;
    d->preemption_threshold = s->preemption_threshold;
    d->cpu_samples = s->cpu_samples;
    d->queue_max_length = s->queue_policy == NM_QUEUE_BY_LENGTH ? s->queue_max_length : UINT32_MAX;
    d->victim_order = s->victim_order;
    for (size_t i = 0; i < m->live.n; i++) {
        const struct nm_policy_container *v = m->live.views[i];

        if (v->state == NM_SCHEDULED && !v->admitted && v->type == NM_OPPORTUNISTIC)
            d->queue_length++;
    }
}

static void fill_container(struct nm_decision *d, const struct nm_container *c)
{
    (void)snprintf(d->container_id, sizeof d->container_id, "%s", c->id);
    (void)snprintf(d->container_name, sizeof d->container_name, "%s", c->name);
    d->type = c->view.type;
    d->request = c->view.request;
}

/* Counts the difference between estimate and measured use as reserved: this difference belongs to containers that warm
 * up, were just resumed, or start in the same round. */
static void fill_used(struct nm_decision *d, const struct nm_policy_verdict *v, const struct nm_resources *used)
{
    d->used = *used;
    d->measured = v->measured;
    d->others = v->others;
    d->reserved.memory_bytes =
        nm_sub_u64(nm_sub_u64(used->memory_bytes, v->measured.memory_bytes), v->others.memory_bytes);
    d->reserved.cpu_millicores =
        nm_sub_u64(nm_sub_u64(used->cpu_millicores, v->measured.cpu_millicores), v->others.cpu_millicores);
}

static void fill_verdict(struct nm_decision *d, const struct nm_policy_verdict *v)
{
    fill_used(d, v, &v->used);
    d->resource = v->queue_resource;
    d->margin_bytes = v->margin_bytes;
    d->margin_left_usec = nm_sub_u64(v->margin_until_usec, d->decided_usec);
    d->margin_peak_permille = (uint32_t)v->margin_peak_permille;
    d->allocated_guaranteed = v->allocated_guaranteed;
    d->allocated.memory_bytes =
        v->allocated_guaranteed.memory_bytes + v->allocated_opportunistic.memory_bytes;
    d->allocated.cpu_millicores =
        v->allocated_guaranteed.cpu_millicores + v->allocated_opportunistic.cpu_millicores;
}

/* Records only the first candidates, because with thousands of candidates the record would become too long to read.
 * Their total number is kept. */
static void fill_candidates(struct nm_decision *d, const struct nm_policy_action *a,
                            const struct nm_policy_verdict *v)
{
    assert(a->first_candidate + a->n_candidates <= v->n_candidates);
    d->n_candidates_total = a->n_candidates;
    for (uint32_t i = 0; i < a->n_candidates && d->n_candidates < NM_DECISION_CANDIDATES_MAX; i++) {
        const struct nm_policy_candidate *from = &v->candidates[a->first_candidate + i];
        struct nm_decision_candidate *to = &d->candidates[d->n_candidates++];
        const struct nm_live_container *l = from->view->owner;

        (void)snprintf(to->id, sizeof to->id, "%s", l->c->id);
        (void)snprintf(to->name, sizeof to->name, "%s", l->c->name);
        to->started_usec = from->view->started_usec;
        to->use = from->use;
        to->cpu_usage_usec = from->view->cpu_usage_usec;
        to->passed_over = from->passed_over;
    }
}

static void fill_action(struct nm_decision *d, const struct nm_policy_action *a,
                        const struct nm_policy_verdict *v)
{
    fill_used(d, v, &a->used);
    d->resource = a->resource;
    d->predicted = a->predicted;
    d->consecutive_samples = a->consecutive_samples;
    if (a->on_behalf_of) {
        const struct nm_live_container *g = a->on_behalf_of->owner;

        (void)snprintf(d->on_behalf_of, sizeof d->on_behalf_of, "%s", g->c->id);
    }
    fill_candidates(d, a, v);
}

/* Fills in the reason why a container waits. Containers admitted in the same round were ahead of this container. */
static void fill_queue_reason(struct nm_decision *d, const struct nm_policy_verdict *v)
{
    d->resource = v->queue_resource;
    if (v->queue_used.memory_bytes || v->queue_used.cpu_millicores)
        fill_used(d, v, &v->queue_used);
}

/* Closes the container's open record, because a container has only one open record at a time. The outcome of the closed
 * record can no longer be measured. */
static void supersede(struct nm_live_container *l)
{
    if (l->decision_open)
        nm_record_failed(l, "superseded by the next decision");
    l->regain_due = false;
}

/* Journals the decision before it is carried out; recovery-decide.c closes records that a crash left open. */
static void announce(struct nm_live_container *l)
{
    const struct nm_decision *d = &l->decision;
    char text[400];

    save(l->m, d);
    nm_events_publish_decision(l->m, l->c, d);
    nm_log_container(d->kind == NM_DECISION_KILL ? LOG_NOTICE : LOG_INFO, l->c->id,
                     nm_decision_kind_name(d->kind), nm_message_id_of_decision(d->kind), "%s",
                     nm_decision_summary(d, text, sizeof text));
}

void nm_record_begin(struct nm_live_container *l, enum nm_decision_kind kind,
                     const struct nm_policy_action *a, const struct nm_policy_verdict *v,
                     enum nm_reason reason)
{
    struct nm_decision *d = &l->decision;

    assert(v && (a || reason != NM_REASON_NONE));
    supersede(l);
    *d = (struct nm_decision){.kind = kind, .reason = reason};
    fill_node(l->m, d);
    fill_container(d, l->c);
    fill_verdict(d, v);
    if (a)
        fill_action(d, a, v);
    else
        fill_queue_reason(d, v);
    l->decision_open = true;
    announce(l);
}

/* Returns the user's name if the user has one, because a uid has no meaning on another host. The last name is kept,
 * because a drain needs the same name repeatedly and name services may be slow. */
static const char *user_name(struct nm_decisions *d, uid_t uid)
{
    uint64_t now = nm_now_usec();
    char scratch[4096];
    struct passwd pw, *found = NULL;

    if (d->name_usec && uid == d->name_uid && now - d->name_usec < NAME_CACHE_USEC)
        return d->name;
    if (getpwuid_r(uid, &pw, scratch, sizeof scratch, &found) == 0 && found)
        (void)snprintf(d->name, sizeof d->name, "%s", found->pw_name);
    else
        (void)snprintf(d->name, sizeof d->name, "%u", uid);
    d->name_uid = uid;
    d->name_usec = now;
    return d->name;
}

/* Returns the resources that the action should free. A pause frees no memory, and actions other than pause and kill
 * free no resources. */
static struct nm_resources expected_back(enum nm_decision_kind kind, const struct nm_policy_container *v)
{
    struct nm_resources use = v->measured;

    if (kind != NM_DECISION_PAUSE && kind != NM_DECISION_KILL)
        return (struct nm_resources){0};
    if (kind == NM_DECISION_PAUSE)
        use.memory_bytes = 0;
    if (v->state == NM_PAUSED)
        use.cpu_millicores = 0;
    return use;
}

/* Records a decision by a person. The person is the cause, so the reaction time starts with the decision. */
void nm_record_by(struct nm_live_container *l, enum nm_decision_kind kind, enum nm_reason reason,
                  const struct nm_caller *who)
{
    struct nm_decision *d = &l->decision;

    assert(reason != NM_REASON_NONE);
    supersede(l);
    *d = (struct nm_decision){.kind = kind, .reason = reason};
    fill_node(l->m, d);
    d->cause_usec = d->decided_usec;
    fill_container(d, l->c);
    fill_verdict(d, &l->m->round.verdict);
    d->predicted = expected_back(kind, &l->c->view);
    if (who)
        (void)snprintf(d->by_user, sizeof d->by_user, "%s", user_name(l->m->decisions, who->uid));
    l->decision_open = true;
    announce(l);
}

void nm_record_kernel_kill(struct nm_live_container *l)
{
    struct nm_decision *d = &l->decision;

    supersede(l);
    *d = (struct nm_decision){.kind = NM_DECISION_KILL, .reason = NM_REASON_KERNEL_OOM};
    fill_node(l->m, d);
    d->cause_usec = d->acted_usec = d->decided_usec;
    fill_container(d, l->c);
    fill_verdict(d, &l->m->round.verdict);
    d->resource = NM_MEMORY;
    d->predicted = l->use_before = l->c->view.measured;
    l->decision_open = true;
    announce(l);
}

/* Writes and reports a record in shadow mode. The record is closed immediately, because no action follows. */
void nm_record_shadow(struct nm_live_container *l, enum nm_decision_kind kind,
                      const struct nm_policy_action *a, const struct nm_policy_verdict *v)
{
    struct nm_decision d = {.kind = kind, .reason = a->reason, .outcome = NM_OUTCOME_SHADOW};
    char text[400];

    fill_node(l->m, &d);
    fill_container(&d, l->c);
    fill_verdict(&d, v);
    fill_action(&d, a, v);
    save(l->m, &d);
    nm_events_publish_decision(l->m, l->c, &d);
    nm_log_container(LOG_INFO, l->c->id, nm_decision_kind_name(kind), NULL, "shadow: %s",
                     nm_decision_summary(&d, text, sizeof text));
}

/* Computes the claims against which the request was checked. The sums of the last round cannot be used, because they do
 * not include later changes. */
static void fill_claims(const struct nm_manager *m, struct nm_decision *d)
{
    struct nm_policy_claims claims;

    nm_policy_get_claims(m->live.views, m->live.n, NULL, &claims);
    d->allocated_guaranteed = claims.guaranteed;
    d->waiting = claims.waiting;
    d->queue_length = claims.queued;
}

/* Joins repeated refusals into one record with a count: a refused client often retries many times a second, and so many
 * records would hide pauses and kills. The record has the figures of the last refusal. */
static void join_refusals(const struct nm_decision *last, struct nm_decision *d)
{
    d->n_times = 1;
    d->first_realtime_usec = d->realtime_usec;
    if (last->number == 0 || last->reason != d->reason || last->type != d->type ||
        nm_sub_u64(d->decided_usec, last->decided_usec) > REFUSALS_APART_USEC ||
        nm_sub_u64(d->realtime_usec, last->first_realtime_usec) > REFUSALS_TOGETHER_USEC)
        return;
    d->number = last->number;
    d->n_times = last->n_times + (last->n_times < UINT32_MAX);
    d->first_realtime_usec = last->first_realtime_usec;
}

/* Returns true for the first, the tenth, the hundredth, ... time: repeated refusals must not fill events and the
 * log. */
static bool is_worth_reporting(uint32_t n_times)
{
    while (n_times >= 10 && n_times % 10 == 0)
        n_times /= 10;
    return n_times == 1;
}

/* Records a refused request. No container exists, so the record has the name that the container would have had. */
void nm_record_refusal(struct nm_manager *m, const struct nm_submit *s,
                       const struct nm_resources *request, enum nm_reason reason)
{
    struct nm_decision d = {
        .kind = NM_DECISION_REFUSE, .reason = reason, .outcome = NM_OUTCOME_DONE};
    char text[400];

    assert(reason != NM_REASON_NONE);
    fill_node(m, &d);
    d.cause_usec = d.decided_usec;
    fill_verdict(&d, &m->round.verdict);
    fill_claims(m, &d);
    d.type = s->type;
    d.request = *request;
    if (s->name)
        (void)snprintf(d.container_name, sizeof d.container_name, "%s", s->name);
    join_refusals(&m->decisions->refusal, &d);
    if (d.n_times > 1)
        m->decisions->next--; /* fill_node() took a number for d, which no reader has seen */
    m->decisions->refusal = d;
    nm_record_count(m, NM_COUNT_REFUSED, reason);
    save(m, &d);
    if (!is_worth_reporting(d.n_times))
        return;
    nm_events_publish_decision(m, NULL, &d);
    nm_info("%s", nm_decision_summary(&d, text, sizeof text));
}

/* Records a squeeze. A squeeze concerns all opportunistic containers, so the record names no container. `predicted` has
 * the limit, which is 0 when the squeeze is lifted. Every subscriber is notified of the squeeze. The container that
 * benefits is only in the record, which only administrators may read. */
void nm_record_squeeze(struct nm_manager *m, const struct nm_policy_verdict *v)
{
    struct nm_decision d = {.kind = NM_DECISION_SQUEEZE,
                            .reason = v->squeeze_reason,
                            .outcome = NM_OUTCOME_DONE,
                            .resource = NM_CPU,
                            .type = NM_OPPORTUNISTIC};
    char text[400];

    fill_node(m, &d);
    fill_verdict(&d, v);
    d.resource = NM_CPU;
    fill_used(&d, v, &v->in_use);
    d.acted_usec = d.effective_usec = d.decided_usec;
    if (v->squeeze_millicores == NM_NO_SQUEEZE)
        d.reason = NM_REASON_BELOW_THRESHOLD;
    else
        d.predicted.cpu_millicores = v->squeeze_millicores;
    if (v->squeeze_reason == NM_REASON_GUARANTEED_STALLED && v->stall_view) {
        const struct nm_live_container *g = v->stall_view->owner;

        (void)snprintf(d.on_behalf_of, sizeof d.on_behalf_of, "%s", g->c->id);
        d.stall_permille = v->stall_permille;
        d.stall_base_permille = v->stall_base_permille;
    }
    save(m, &d);
    nm_events_publish_decision(m, NULL, &d);
    nm_info("%s", nm_decision_summary(&d, text, sizeof text));
    if (v->squeeze_millicores == NM_NO_SQUEEZE)
        (void)snprintf(text, sizeof text, "opportunistic containers may use all free CPU again");
    else
        (void)snprintf(text, sizeof text, "opportunistic containers together are limited to %.2f CPUs: %s",
                       (double)v->squeeze_millicores / 1000, nm_reason_text(d.reason));
    nm_events_publish_node(m, text);
}

void nm_record_count(struct nm_manager *m, enum nm_counted what, enum nm_reason why)
{
    struct nm_counters *c = &m->counters;
    uint64_t *const sums[NM_COUNTED] = {
        [NM_COUNT_ADMITTED] = &c->admitted, [NM_COUNT_REFUSED] = &c->refused, [NM_COUNT_PAUSED] = &c->paused,
        [NM_COUNT_RESUMED] = &c->resumed,   [NM_COUNT_KILLED] = &c->killed,   [NM_COUNT_SHED] = &c->shed,
    };

    assert((size_t)what < NM_COUNTED && (size_t)why < NM_REASON_COUNT);
    ++*sums[what];
    c->by_reason[what][why]++;
}

void nm_record_acted(struct nm_live_container *l)
{
    if (l->decision_open && !l->decision.acted_usec)
        l->decision.acted_usec = nm_now_usec();
}

void nm_record_commit(struct nm_live_container *l)
{
    if (!l->decision_open)
        return;
    nm_record_acted(l);
    save(l->m, &l->decision);
}

/* Excludes pauses and kills by people, owners and the kernel from the reaction times, which measure how fast nmd brings
 * the node back below its threshold. Reclaimed memory appears with the next sample. */
void nm_record_effective(struct nm_live_container *l)
{
    struct nm_decision *d = &l->decision;
    uint64_t reaction;

    if (!l->decision_open)
        return;
    l->decision_open = false;
    d->effective_usec = nm_now_usec();
    d->outcome = NM_OUTCOME_DONE;
    reaction = nm_sub_u64(d->effective_usec, d->cause_usec);
    if (d->kind == NM_DECISION_PAUSE && d->reason != NM_REASON_USER)
        nm_histogram_add(&l->m->decisions->reaction_pause, reaction);
    else if (d->kind == NM_DECISION_KILL && d->reason != NM_REASON_USER && d->reason != NM_REASON_OWNER &&
             d->reason != NM_REASON_KERNEL_OOM)
        nm_histogram_add(&l->m->decisions->reaction_kill, reaction);
    save(l->m, d);
    if (d->kind == NM_DECISION_RECLAIM)
        l->regain_due = true;
}

void nm_record_regained(struct nm_live_container *l, const struct nm_resources *regained)
{
    if (l->decision.number == 0) /* the record of an earlier nmd was lost with its journal */
        return;
    l->decision.regained = *regained;
    l->decision.regained_known = true;
    save(l->m, &l->decision);
}

/* Records a failure. A failure is an outcome, too, and is stored in the record for later queries. */
void nm_record_failed(struct nm_live_container *l, const char *why)
{
    struct nm_decision *d = &l->decision;

    assert(why);
    if (!l->decision_open)
        return;
    l->decision_open = false;
    d->outcome = NM_OUTCOME_FAILED;
    (void)snprintf(d->error, sizeof d->error, "%s", why);
    save(l->m, d);
}
