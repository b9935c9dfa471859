/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A decision record in words: the one-line summary and the frame of the explanation (figures, candidates, outcome,
 * phases). The sentences with reasons and advice are in decision-phrases.c.
 */

#include <inttypes.h>
#include <time.h>

#include "agent/decision/decision-internal.h"

#include <assert.h>

#include "util/parse.h"

static const char *const kinds[NM_DECISION_KIND_COUNT] = {
    [NM_DECISION_ADMIT] = "admit",     [NM_DECISION_QUEUE] = "queue",
    [NM_DECISION_REFUSE] = "refuse",   [NM_DECISION_PAUSE] = "pause",
    [NM_DECISION_RESUME] = "resume",   [NM_DECISION_RECLAIM] = "reclaim",
    [NM_DECISION_KILL] = "kill",       [NM_DECISION_SHED] = "shed",
    [NM_DECISION_PROMOTE] = "promote", [NM_DECISION_DEMOTE] = "demote",
    [NM_DECISION_UPDATE] = "update",   [NM_DECISION_SQUEEZE] = "squeeze",
    [NM_DECISION_RESTART] = "restart",
};

/* forms for "paused", "pausing", "could not pause" and "would have paused" */
static const struct {
    const char *done, *doing, *verb, *participle;
} verbs[NM_DECISION_KIND_COUNT] = {
    [NM_DECISION_ADMIT] = {"admitted", "admitting", "admit", "admitted"},
    [NM_DECISION_QUEUE] = {"queued", "queued", "queue", "queued"},
    [NM_DECISION_REFUSE] = {"refused", "refused", "refuse", "refused"},
    [NM_DECISION_PAUSE] = {"paused", "pausing", "pause", "paused"},
    [NM_DECISION_RESUME] = {"resumed", "resuming", "resume", "resumed"},
    [NM_DECISION_RECLAIM] = {"reclaimed memory of", "reclaiming memory of", "reclaim memory of",
                             "reclaimed memory of"},
    [NM_DECISION_KILL] = {"killed", "killing", "kill", "killed"},
    [NM_DECISION_SHED] = {"discarded", "discarding", "discard", "discarded"},
    [NM_DECISION_PROMOTE] = {"promoted", "promoting", "promote", "promoted"},
    [NM_DECISION_DEMOTE] = {"demoted", "demoting", "demote", "demoted"},
    [NM_DECISION_UPDATE] = {"changed the resources of", "changing the resources of",
                            "change the resources of", "changed the resources of"},
    [NM_DECISION_SQUEEZE] = {"set", "setting", "set", "set"},
    [NM_DECISION_RESTART] = {"ended the run of", "ending the run of", "end the run of", "ended the run of"},
};

static const char *const outcomes[] = {
    [NM_OUTCOME_PENDING] = "pending",
    [NM_OUTCOME_DONE] = "done",
    [NM_OUTCOME_FAILED] = "failed",
    [NM_OUTCOME_SHADOW] = "shadow",
};

static const char *const passed_over[] = {
    [NM_PASSED_NOT] = "chosen",
    [NM_PASSED_NOT_NEEDED] = "not-needed",
    [NM_PASSED_EXEMPT] = "exempt",
    [NM_PASSED_MIN_RUNTIME] = "min-runtime",
    [NM_PASSED_GIVES_NOTHING] = "gives-nothing",
    [NM_PASSED_FREEZE_HANGS] = "freeze-hangs",
};

const char *nm_decision_kind_name(enum nm_decision_kind k)
{
    assert((size_t)k < NM_ARRAY_SIZE(kinds));
    return kinds[k];
}

int nm_decision_kind_from_string(const char *s, enum nm_decision_kind *ret)
{
    return NM_PARSE_NAME(kinds, s, ret);
}

const char *nm_decision_outcome_name(enum nm_decision_outcome o)
{
    assert((size_t)o < NM_ARRAY_SIZE(outcomes));
    return outcomes[o];
}

int nm_decision_outcome_from_string(const char *s, enum nm_decision_outcome *ret)
{
    return NM_PARSE_NAME(outcomes, s, ret);
}

const char *nm_passed_over_name(enum nm_passed_over p)
{
    assert((size_t)p < NM_ARRAY_SIZE(passed_over));
    return passed_over[p];
}

int nm_passed_over_from_string(const char *s, enum nm_passed_over *ret)
{
    return NM_PARSE_NAME(passed_over, s, ret);
}

/* ---- summary --------------------------------------------------------------------------------- */

/* Appends "paused", "pausing", "could not pause" or "would have paused". */
static void add_verb(struct nm_text *t, const struct nm_decision *d)
{
    switch (d->outcome) {
    case NM_OUTCOME_PENDING:
        nm_text_add(t, "%s", verbs[d->kind].doing);
        break;
    case NM_OUTCOME_DONE:
        nm_text_add(t, "%s", verbs[d->kind].done);
        break;
    case NM_OUTCOME_FAILED:
        nm_text_add(t, "could not %s", verbs[d->kind].verb);
        break;
    case NM_OUTCOME_SHADOW:
        nm_text_add(t, "would have %s", verbs[d->kind].participle);
        break;
    }
}

/* A squeeze concerns all opportunistic containers: the record has no container, and `predicted` has the quota. */
static void add_object(struct nm_text *t, const struct nm_decision *d)
{
    if (d->kind == NM_DECISION_REFUSE && d->n_times > 1) {
        nm_text_add(t, "%" PRIu32 " requests%s%s", d->n_times, d->container_name[0] != '\0' ? ", the last one " : "",
                    d->container_name);
        return;
    }
    if (d->kind != NM_DECISION_SQUEEZE) {
        nm_text_add_container(t, d->container_id, d->container_name);
        return;
    }
    nm_text_add(t, "the CPU limit of all opportunistic containers together to ");
    if (d->predicted.cpu_millicores == 0)
        nm_text_add(t, "none");
    else
        nm_text_add_amount(t, NM_CPU, d->predicted.cpu_millicores);
}

static void add_what(struct nm_text *t, const struct nm_decision *d)
{
    add_verb(t, d);
    nm_text_add(t, " ");
    add_object(t, d);
    if (d->outcome == NM_OUTCOME_FAILED && d->error[0] != '\0')
        nm_text_add(t, " (%s)", d->error);
}

const char *nm_decision_summary(const struct nm_decision *d, char *buf, size_t size)
{
    struct nm_text t = {.buf = buf, .size = size};

    assert(size > 0);
    add_what(&t, d);
    nm_text_add(&t, ": ");
    nm_decision_phrase_why(&t, d);
    return buf;
}

/* ---- explanation ----------------------------------------------------------------------------- */

/* Appends " at 2025-11-21 23:51:52" or only the time of day. An unknown time is omitted. */
static void add_time(struct nm_text *t, const char *before, uint64_t realtime_usec, bool date)
{
    time_t seconds = (time_t)(realtime_usec / NM_USEC_PER_SEC);
    char when[40] = "";
    struct tm tm;

    if (realtime_usec == 0 || !localtime_r(&seconds, &tm))
        return;
    (void)strftime(when, sizeof(when), date ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &tm);
    nm_text_add(t, "%s%s", before, when);
}

/* Appends the summary's words with a capital letter, as a sentence. */
static void add_heading(struct nm_text *t, const struct nm_decision *d)
{
    size_t start = t->used;

    add_what(t, d);
    if (t->buf[start] >= 'a' && t->buf[start] <= 'z')
        t->buf[start] = (char)(t->buf[start] - 'a' + 'A');
    add_time(t, " at ", d->realtime_usec, true);
    if (d->n_times > 1)
        add_time(t, ", the first at ", d->first_realtime_usec, false);
    if (d->number > 0)
        nm_text_add(t, " (decision %" PRIu64 ")", d->number);
    nm_text_add(t, ".\n  Why: ");
    nm_decision_phrase_why(t, d);
    nm_text_add(t, ".\n");
}

/* Appends "Memory: 0.7 GiB of 2.0 GiB (35 %): 0.2 GiB used by containers, ...; 1.0 GiB of 2.0 GiB allocated; ...". */
static void add_numbers_of(struct nm_text *t, const struct nm_decision *d, enum nm_resource k)
{
    uint64_t used = nm_resources_get(&d->used, k);

    nm_text_add(t, "  %s ", k == NM_MEMORY ? "Memory:" : "CPU:   ");
    if (nm_text_add_parts(t, d, k, true))
        nm_text_add(t, ": together ");
    nm_text_add_amount(t, k, used);
    nm_text_add(t, " of ");
    nm_text_add_amount(t, k, nm_resources_get(&d->capacity, k));
    nm_text_add(t, " (");
    nm_text_add_share(t, d, k, used);
    nm_text_add(t, "); ");
    nm_text_add_asked_of_capacity(t, d, k, nm_resources_get(&d->allocated, k));
    nm_text_add(t, " allocated; over-allocation threshold ");
    nm_text_add_percent(t, nm_fractions_get(&d->over_allocation_threshold, k));
    nm_text_add(t, ", preemption threshold ");
    nm_text_add_percent(t, nm_fractions_get(&d->preemption_threshold, k));
    nm_text_add(t, ".\n");
}

/* Appends only the resources that are not 0: a pause returns no memory, a reclaim no CPU. If both resources are 0,
 * appends 0 of the scarce resource, which caused the decision. */
static void add_resources(struct nm_text *t, const struct nm_decision *d, const struct nm_resources *r)
{
    bool nothing = r->memory_bytes == 0 && r->cpu_millicores == 0;
    bool of_cpu = d->resource == NM_CPU || d->kind == NM_DECISION_PAUSE;

    if (r->memory_bytes > 0 || (nothing && !of_cpu))
        nm_text_add_amount(t, NM_MEMORY, r->memory_bytes);
    if (r->memory_bytes > 0 && r->cpu_millicores > 0)
        nm_text_add(t, " and ");
    if (r->cpu_millicores > 0 || (nothing && of_cpu))
        nm_text_add_amount(t, NM_CPU, r->cpu_millicores);
}

static void add_numbers(struct nm_text *t, const struct nm_decision *d)
{
    if (d->capacity.memory_bytes == 0 && d->capacity.cpu_millicores == 0)
        return;
    add_numbers_of(t, d, NM_MEMORY);
    add_numbers_of(t, d, NM_CPU);
    if (d->request.memory_bytes > 0 || d->request.cpu_millicores > 0) {
        nm_text_add(t, "  It is %s and asks for ",
                    d->type == NM_GUARANTEED ? "guaranteed" : "opportunistic");
        nm_text_add_asked(t, d, NM_MEMORY, d->request.memory_bytes);
        nm_text_add(t, " and ");
        nm_text_add_asked(t, d, NM_CPU, d->request.cpu_millicores);
        nm_text_add(t, ".\n");
    }
    if (d->kind != NM_DECISION_QUEUE && d->kind != NM_DECISION_REFUSE && d->kind != NM_DECISION_SHED)
        return;
    if (d->queue_max_length == UINT32_MAX)
        nm_text_add(t, "  Queue: %" PRIu32 " opportunistic containers.\n", d->queue_length);
    else
        nm_text_add(t, "  Queue: %" PRIu32 " of at most %" PRIu32 " opportunistic containers.\n", d->queue_length,
                    d->queue_max_length);
}

static void add_candidate(struct nm_text *t, const struct nm_decision *d,
                          const struct nm_decision_candidate *c)
{
    char age[32];

    nm_text_add_container(t, c->id, c->name);
    nm_text_add(t, ": ");
    add_resources(t, d, &c->use);
    nm_text_add(t, ", ");
    if (d->decided_usec > c->started_usec && c->started_usec > 0)
        nm_text_add(t, "started %s before, ",
                    nm_format_duration(d->decided_usec - c->started_usec, age, sizeof(age)));
    nm_text_add(t, "%s CPU time so far; ",
                c->cpu_usage_usec < NM_USEC_PER_MSEC
                    ? "no"
                    : nm_format_duration(c->cpu_usage_usec, age, sizeof(age)));
    switch (c->passed_over) {
    case NM_PASSED_NOT:
        nm_text_add(t, "%s.\n",
                    nm_streq(c->id, d->container_id) ? "chosen: this one" : "chosen as well");
        break;
    case NM_PASSED_NOT_NEEDED:
        nm_text_add(t, "spared, the others are enough.\n");
        break;
    case NM_PASSED_EXEMPT:
        nm_text_add(t, "spared, it is an application master.\n");
        break;
    case NM_PASSED_MIN_RUNTIME:
        nm_text_add(t, "spared, it is still within its minimum run time.\n");
        break;
    case NM_PASSED_GIVES_NOTHING:
        nm_text_add(t, "spared, it uses almost nothing of the scarce resource.\n");
        break;
    case NM_PASSED_FREEZE_HANGS:
        nm_text_add(t, "passed over, it could not be frozen a few minutes ago.\n");
        break;
    }
}

static void add_candidates(struct nm_text *t, const struct nm_decision *d)
{
    uint32_t n = NM_MIN(d->n_candidates, (uint32_t)NM_DECISION_CANDIDATES_MAX);

    assert(d->n_candidates <= NM_DECISION_CANDIDATES_MAX && d->n_candidates <= d->n_candidates_total);
    if (n == 0)
        return;
    nm_text_add(t, "  Considered, %s first (%s):\n", nm_decision_phrase_order(d->victim_order),
                nm_victim_order_name(d->victim_order));
    for (uint32_t i = 0; i < n; i++) {
        nm_text_add(t, "   %2" PRIu32 ". ", i + 1);
        add_candidate(t, d, &d->candidates[i]);
    }
    if (d->n_candidates_total > n)
        nm_text_add(t, "       and %" PRIu32 " more.\n", d->n_candidates_total - n);
}

static bool takes_back(enum nm_decision_kind k)
{
    return k == NM_DECISION_PAUSE || k == NM_DECISION_RECLAIM || k == NM_DECISION_KILL;
}

/* Appends prediction and result side by side, so that an operator can judge the predictions. */
static void add_regained(struct nm_text *t, const struct nm_decision *d)
{
    if (!takes_back(d->kind))
        return;
    nm_text_add(t, "  Expected back: ");
    add_resources(t, d, &d->predicted);
    if (d->regained_known) {
        nm_text_add(t, "; really regained: ");
        add_resources(t, d, &d->regained);
        nm_text_add(t, ".\n");
    } else {
        nm_text_add(t, d->outcome == NM_OUTCOME_PENDING || d->outcome == NM_OUTCOME_DONE
                           ? "; the regained amount is not known yet.\n"
                           : ".\n");
    }
}

/* Appends the duration of a phase. Omits phases that were not reached, or whose start is unknown because nmd restarted
 * in between. */
static void add_phase(struct nm_text *t, const char **separator, uint64_t from, uint64_t to,
                      const char *what)
{
    assert(separator);
    if (from == 0 || to < from)
        return;
    nm_text_add(t, "%s", *separator);
    nm_text_add_decimal(t, (double)(to - from) / 1000, to - from < 10000 ? 1 : 0);
    nm_text_add(t, " ms %s", what);
    *separator = ", ";
}

static void add_phases(struct nm_text *t, const struct nm_decision *d)
{
    const char *separator = "  It took ";

    if (d->decided_usec == 0)
        return;
    add_phase(t, &separator, d->cause_usec, d->decided_usec, "from its cause to the decision");
    add_phase(t, &separator, d->decided_usec, d->acted_usec, "until it was carried out");
    add_phase(t, &separator, d->acted_usec, d->effective_usec, "until it was effective");
    if (separator[0] == ',')
        nm_text_add(t, ".\n");
}

/* The text is generated from the figures each time, so that improved wording also applies to old records. */
int nm_decision_explain(const struct nm_decision *d, char **ret)
{
    char buf[16384];
    struct nm_text t = {.buf = buf, .size = sizeof(buf)};
    char *copy;

    assert(d && ret);
    add_heading(&t, d);
    add_numbers(&t, d);
    add_candidates(&t, d);
    add_regained(&t, d);
    add_phases(&t, d);
    if (d->outcome == NM_OUTCOME_SHADOW)
        nm_text_add(&t, "  nmd runs in shadow mode: this decision was recorded, but not carried out.\n");
    if (d->is_unsaved)
        nm_text_add(&t, "  This record is not on disk yet, because nmd's journal can't be written: if nmd is killed "
                        "now, the record is lost, or only an older version of it is left.\n");
    nm_decision_phrase_advice(&t, d);
    copy = strdup(buf);
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}
