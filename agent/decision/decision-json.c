/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Decision records as JSON, for the store, from one table of members. Reading is strict about types and ranges, but an
 * absent number is zero, so records of an older nmd stay readable after new members were added. Zeros are not written
 * either: most of the figures of an admission are zero, and the command waits for its record. The members that identify
 * a record (number, kind, reason, outcome, container) are required.
 */

#include <stddef.h>

#include "agent/decision/decision.h"

#include <assert.h>

#include "util/utf8.h"

enum member_type { NUMBER64, NUMBER32, TEXT, RESOURCES, FRACTIONS };

struct member {
    const char *name;
    enum member_type type;
    size_t offset, size; /* size: size of the buffer of a TEXT */
    bool required;
};

#define MEMBER(kind, field)                                                                        \
    {                                                                                              \
#field, kind, offsetof(struct nm_decision, field),                                         \
            sizeof(((struct nm_decision *)NULL)->field), false                                     \
    }
#define REQUIRED(kind, field)                                                                      \
    {                                                                                              \
#field, kind, offsetof(struct nm_decision, field),                                         \
            sizeof(((struct nm_decision *)NULL)->field), true                                      \
    }

static const struct member members[] = {
    REQUIRED(NUMBER64, number),
    REQUIRED(NUMBER64, realtime_usec),
    REQUIRED(TEXT, container_id),
    MEMBER(TEXT, container_name),
    MEMBER(TEXT, on_behalf_of),
    MEMBER(TEXT, by_user),
    MEMBER(RESOURCES, request),
    MEMBER(RESOURCES, used),
    MEMBER(RESOURCES, measured),
    MEMBER(RESOURCES, reserved),
    MEMBER(RESOURCES, others),
    MEMBER(RESOURCES, allocated),
    MEMBER(RESOURCES, allocated_guaranteed),
    MEMBER(RESOURCES, waiting),
    MEMBER(RESOURCES, capacity),
    MEMBER(NUMBER32, capacity_vcores_milli),
    MEMBER(NUMBER32, n_times),
    MEMBER(NUMBER64, first_realtime_usec),
    MEMBER(FRACTIONS, over_allocation_threshold),
    MEMBER(FRACTIONS, preemption_threshold),
    MEMBER(NUMBER32, consecutive_samples),
    MEMBER(NUMBER32, cpu_samples),
    MEMBER(NUMBER32, queue_length),
    MEMBER(NUMBER32, queue_max_length),
    MEMBER(RESOURCES, predicted),
    MEMBER(NUMBER32, stall_permille),
    MEMBER(NUMBER32, stall_base_permille),
    MEMBER(NUMBER64, margin_bytes),
    MEMBER(NUMBER64, margin_left_usec),
    MEMBER(NUMBER32, margin_peak_permille),
    MEMBER(NUMBER64, cause_usec),
    MEMBER(NUMBER64, decided_usec),
    MEMBER(NUMBER64, acted_usec),
    MEMBER(NUMBER64, effective_usec),
    MEMBER(NUMBER32, n_candidates_total),
    MEMBER(TEXT, error),
};

/* ---- writing --------------------------------------------------------------------------------- */

/* JSON integers are signed in jansson; real values are far below the limit. */
static json_t *number(uint64_t n)
{
    return json_integer((json_int_t)NM_MIN(n, (uint64_t)INT64_MAX));
}

static json_t *resources_to_json(const struct nm_resources *r)
{
    return json_pack("{s:o, s:o}", "memory_bytes", number(r->memory_bytes), "cpu_millicores",
                     number(r->cpu_millicores));
}

static json_t *fractions_to_json(const struct nm_fractions *f)
{
    return json_pack("{s:f, s:f}", "memory", f->memory, "cpu", f->cpu);
}

static json_t *member_to_json(const struct member *m, const struct nm_decision *d)
{
    const void *at = (const char *)d + m->offset;

    switch (m->type) {
    case NUMBER64:
        return number(*(const uint64_t *)at);
    case NUMBER32:
        return number(*(const uint32_t *)at);
    case TEXT:
        return json_stringn(at, nm_utf8_prefix(at)); /* the text may have been cut inside a character */
    case RESOURCES:
        return resources_to_json(at);
    case FRACTIONS:
        return fractions_to_json(at);
    }
    return NULL;
}

static bool is_zero(const struct member *m, const struct nm_decision *d)
{
    const void *at = (const char *)d + m->offset;
    const struct nm_fractions *f = at;
    const struct nm_resources *r = at;

    switch (m->type) {
    case NUMBER64:
        return *(const uint64_t *)at == 0;
    case NUMBER32:
        return *(const uint32_t *)at == 0;
    case TEXT:
        return *(const char *)at == '\0';
    case RESOURCES:
        return r->memory_bytes == 0 && r->cpu_millicores == 0;
    case FRACTIONS:
        return f->memory <= 0 && f->cpu <= 0;
    }
    return false;
}

static json_t *candidate_to_json(const struct nm_decision_candidate *c)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s}", "id", c->id, "name", c->name, "started_usec",
                     number(c->started_usec), "use", resources_to_json(&c->use), "cpu_usage_usec",
                     number(c->cpu_usage_usec), "passed_over", nm_passed_over_name(c->passed_over));
}

static json_t *candidates_to_json(const struct nm_decision *d)
{
    json_t *array = json_array();

    assert(d->n_candidates <= NM_DECISION_CANDIDATES_MAX);
    for (uint32_t i = 0; i < d->n_candidates && i < NM_DECISION_CANDIDATES_MAX; i++)
        if (json_array_append_new(array, candidate_to_json(&d->candidates[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *enums_to_json(const struct nm_decision *d)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "kind", nm_decision_kind_name(d->kind),
                     "reason", nm_reason_name(d->reason), "resource", nm_resource_name(d->resource),
                     "outcome", nm_decision_outcome_name(d->outcome), "execution_type",
                     nm_execution_type_name(d->type), "victim_order",
                     nm_victim_order_name(d->victim_order));
}

json_t *nm_decision_to_json(const struct nm_decision *d)
{
    json_t *j = enums_to_json(d);
    int r = j ? 0 : -1;

    for (size_t i = 0; r >= 0 && i < NM_ARRAY_SIZE(members); i++)
        if (members[i].required || !is_zero(&members[i], d))
            r = json_object_set_new(j, members[i].name, member_to_json(&members[i], d));
    if (r >= 0 && d->regained_known)
        r = json_object_set_new(j, "regained", resources_to_json(&d->regained));
    if (r >= 0 && d->n_candidates > 0)
        r = json_object_set_new(j, "candidates", candidates_to_json(d));
    if (r < 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_number(const json_t *j, uint64_t max, uint64_t *ret)
{
    json_int_t n = json_integer_value(j);

    if (!json_is_integer(j) || n < 0 || (uint64_t)n > max)
        return -EBADMSG;
    *ret = (uint64_t)n;
    return 0;
}

static int read_text(const json_t *j, char *buf, size_t size)
{
    size_t n = json_string_length(j);

    assert(size > 0);
    if (!json_is_string(j) || n >= size || strlen(json_string_value(j)) != n)
        return -EBADMSG;
    memcpy(buf, json_string_value(j), n + 1);
    return 0;
}

static int read_resources(const json_t *j, struct nm_resources *ret)
{
    int r;

    if (!json_is_object(j))
        return -EBADMSG;
    r = read_number(json_object_get(j, "memory_bytes"), INT64_MAX, &ret->memory_bytes);
    return r < 0
               ? r
               : read_number(json_object_get(j, "cpu_millicores"), INT64_MAX, &ret->cpu_millicores);
}

static int read_fractions(const json_t *j, struct nm_fractions *ret)
{
    const json_t *memory = json_object_get(j, "memory"), *cpu = json_object_get(j, "cpu");

    if (!json_is_number(memory) || !json_is_number(cpu))
        return -EBADMSG;
    ret->memory = json_number_value(memory);
    ret->cpu = json_number_value(cpu);
    return ret->memory >= 0 && ret->memory <= 1 && ret->cpu >= 0 && ret->cpu <= 1 ? 0 : -EBADMSG;
}

static int read_member(const struct member *m, const json_t *j, struct nm_decision *d)
{
    void *at = (char *)d + m->offset;
    uint64_t n;
    int r;

    if (!j)
        return m->required ? -EBADMSG : 0;
    switch (m->type) {
    case NUMBER64:
        return read_number(j, INT64_MAX, at);
    case NUMBER32:
        r = read_number(j, UINT32_MAX, &n);
        if (r >= 0)
            *(uint32_t *)at = (uint32_t)n;
        return r;
    case TEXT:
        return read_text(j, at, m->size);
    case RESOURCES:
        return read_resources(j, at);
    case FRACTIONS:
        return read_fractions(j, at);
    }
    return -EBADMSG;
}

/* Reads an enum with a name-to-value function that returns -EINVAL for unknown names. */
#define READ_ENUM(j, from_string, ret) \
    (json_is_string(j) && from_string(json_string_value(j), ret) >= 0 ? 0 : -EBADMSG)

static int resource_from_string(const char *s, enum nm_resource *ret)
{
    for (enum nm_resource k = NM_MEMORY; k < NM_RESOURCE_COUNT; k++)
        if (nm_streq(s, nm_resource_name(k))) {
            *ret = k;
            return 0;
        }
    return -EINVAL;
}

static int read_enums(const json_t *j, struct nm_decision *d)
{
    int r = READ_ENUM(json_object_get(j, "kind"), nm_decision_kind_from_string, &d->kind);

    if (r >= 0)
        r = READ_ENUM(json_object_get(j, "reason"), nm_reason_from_string, &d->reason);
    if (r >= 0)
        r = READ_ENUM(json_object_get(j, "resource"), resource_from_string, &d->resource);
    if (r >= 0)
        r = READ_ENUM(json_object_get(j, "outcome"), nm_decision_outcome_from_string, &d->outcome);
    if (r >= 0)
        r = READ_ENUM(json_object_get(j, "execution_type"), nm_execution_type_from_string,
                      &d->type);
    if (r >= 0)
        r = READ_ENUM(json_object_get(j, "victim_order"), nm_victim_order_from_string,
                      &d->victim_order);
    return r;
}

static int read_candidate(const json_t *j, struct nm_decision_candidate *c)
{
    int r = read_text(json_object_get(j, "id"), c->id, sizeof(c->id));

    if (r >= 0)
        r = read_text(json_object_get(j, "name"), c->name, sizeof(c->name));
    if (r >= 0)
        r = read_number(json_object_get(j, "started_usec"), INT64_MAX, &c->started_usec);
    if (r >= 0)
        r = read_resources(json_object_get(j, "use"), &c->use);
    if (r >= 0)
        r = read_number(json_object_get(j, "cpu_usage_usec"), INT64_MAX, &c->cpu_usage_usec);
    if (r >= 0)
        r = READ_ENUM(json_object_get(j, "passed_over"), nm_passed_over_from_string,
                      &c->passed_over);
    return r;
}

static int read_candidates(const json_t *j, struct nm_decision *d)
{
    size_t n = json_array_size(j);

    if (!j)
        return 0;
    if (!json_is_array(j) || n > NM_DECISION_CANDIDATES_MAX)
        return -EBADMSG;
    for (size_t i = 0; i < n; i++) {
        int r = read_candidate(json_array_get(j, i), &d->candidates[i]);

        if (r < 0)
            return r;
    }
    d->n_candidates = (uint32_t)n;
    return d->n_candidates_total >= d->n_candidates ? 0 : -EBADMSG;
}

int nm_decision_from_json(const json_t *j, struct nm_decision *ret)
{
    struct nm_decision d = {0};
    const json_t *regained = json_object_get(j, "regained");
    int r;

    assert(ret);
    if (!json_is_object(j))
        return -EBADMSG;
    r = read_enums(j, &d);
    for (size_t i = 0; r >= 0 && i < NM_ARRAY_SIZE(members); i++)
        r = read_member(&members[i], json_object_get(j, members[i].name), &d);
    if (r >= 0 && regained && !json_is_null(regained)) {
        d.regained_known = true;
        r = read_resources(regained, &d.regained);
    }
    if (r >= 0)
        r = read_candidates(json_object_get(j, "candidates"), &d);
    if (r < 0)
        return r;
    *ret = d;
    return 0;
}
