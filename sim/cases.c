/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See cases.h. All assignments use the table with which nmd itself reads nmd.conf. A new key of nmd can therefore be
 * used here without further code, with the same limits and error messages. Each case is a complete and checked
 * configuration.
 */

#include "sim/cases.h"

#include <stdarg.h>

#include "agent/config/config-keys.h"
#include "agent/trace.h"
#include "util/parse.h"

#define SWEEPS_MAX 8
#define CASES_MAX 200 /* limit for one sweep, because a person can't compare more cases */

void nm_cases_done(struct nm_sim_cases *s)
{
    for (size_t i = 0; i < s->n; i++)
        nm_config_free(s->list[i].config);
    free(s->list);
    *s = (struct nm_sim_cases){0};
}

int nm_cases_add(struct nm_sim_cases *s, const char *name, const char *sets, struct nm_config *config)
{
    if (s->n == s->size) {
        size_t size = NM_MAX(2 * s->size, (size_t)8);
        struct nm_sim_case *list = reallocarray(s->list, size, sizeof *list);

        if (!list) {
            nm_config_free(config);
            return -ENOMEM;
        }
        s->list = list;
        s->size = size;
    }
    s->list[s->n].config = config;
    (void)snprintf(s->list[s->n].name, sizeof s->list[s->n].name, "%s", name);
    (void)snprintf(s->list[s->n].sets, sizeof s->list[s->n].sets, "%s", sets);
    s->n++;
    return 0;
}

int nm_case_copy(const struct nm_config *c, struct nm_config **ret)
{
    _cleanup_(nm_config_freep) struct nm_config *copy = NULL;
    int r = nm_config_new_defaults(&copy);

    for (size_t i = 0; r >= 0 && i < nm_config_n_keys; i++) {
        char value[NM_CONFIG_VALUE_SIZE];
        const struct nm_config_key *k = &nm_config_keys[i];

        if (nm_trace_has_section(k->section))
            r = nm_config_set(copy, k, nm_config_get(c, k, value, sizeof value));
    }
    if (r < 0)
        return r;
    *ret = STEAL_PTR(copy);
    return 0;
}

/* ---- assignments --------------------------------------------------------- */

/* Short forms of frequent assignments. Memory and CPU have separate thresholds, and a comparison of policies usually
 * changes both thresholds. */
static const struct {
    const char *word, *section[2], *key[2];
} aliases[] = {
    {"alpha", {"over-allocation", "over-allocation"}, {"memory-threshold", "cpu-threshold"}},
    {"beta", {"preemption", "preemption"}, {"memory-threshold", "cpu-threshold"}},
    {"victims", {"preemption", NULL}, {"victim-order", NULL}},
};

static int set_key(struct nm_config *c, const char *section, const char *name, const char *value,
                   char **ret_message)
{
    const struct nm_config_key *key = nm_config_find_key(section, name), *near;
    char allowed[320];
    int r;

    if (!key) {
        near = nm_config_nearest_key(section, name);
        return nm_fail(ret_message, -EINVAL, "%s.%s: there is no such key%s%s%s%s%s; see nmd.conf(5)",
                       section, name, near ? ", did you mean " : "", near ? near->section : "",
                       near ? "." : "", near ? near->name : "", near ? "?" : "");
    }
    if (!nm_trace_has_section(section))
        return nm_fail(ret_message, -EINVAL,
                       "%s.%s: [%s] does not affect decisions and can't be simulated; allowed are keys of [node], "
                       "[over-allocation], [queue], [preemption] and [sampling]",
                       section, name, section);
    r = nm_config_set(c, key, value);
    if (r == -ENOMEM)
        return r;
    return r < 0 ? nm_fail(ret_message, -EINVAL, "%s.%s=%s: allowed is %s", section, name, value,
                           nm_config_allowed(key, allowed, sizeof allowed))
                 : 0;
}

static int assign(struct nm_config *c, char *text, char **ret_message)
{
    char *equals = strchr(text, '='), *name, *value, *dot;

    if (!equals)
        return nm_fail(ret_message, -EINVAL, "'%s': it must be section.key=value", text);
    *equals = '\0';
    name = nm_strip(text);
    value = nm_strip(equals + 1);
    /* replaces '_' in section and key, because no key of nmd.conf has an underscore */
    for (char *p = name; *p; p++)
        *p = *p == '_' ? '-' : *p;
    for (size_t i = 0; i < NM_ARRAY_SIZE(aliases); i++) {
        int r = 0;

        if (!nm_streq(name, aliases[i].word))
            continue;
        for (size_t k = 0; r >= 0 && k < 2 && aliases[i].key[k]; k++)
            r = set_key(c, aliases[i].section[k], aliases[i].key[k], value, ret_message);
        return r;
    }
    dot = strchr(name, '.');
    if (!dot)
        return nm_fail(ret_message, -EINVAL,
                       "'%s=%s': it must be section.key=value, or alpha, beta or victims", name,
                       value);
    *dot = '\0';
    return set_key(c, name, dot + 1, value, ret_message);
}

int nm_case_assign(struct nm_config *c, const char *assignment, char **ret_message)
{
    _cleanup_free_ char *text = strdup(assignment);

    return text ? assign(c, text, ret_message) : -ENOMEM;
}

static int assign_all(struct nm_config *c, const char *const *set, size_t n, char **ret_message)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n; i++)
        r = nm_case_assign(c, set[i], ret_message);
    return r;
}

/* Makes all assignments of a list. Accepts empty parts, because users easily leave a trailing comma. */
static int assign_list(struct nm_config *c, char *text, char **ret_message)
{
    char *rest = text, *part;
    int r = 0;

    while (r >= 0 && (part = strsep(&rest, ",")))
        if (*nm_strip(part))
            r = assign(c, part, ret_message);
    return r;
}

int nm_cases_add_spec(struct nm_sim_cases *s, const struct nm_config *base, const char *spec,
                      const char *const *set, size_t n_set, char **ret_message)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *text = strdup(spec);
    const char *name = spec, *sets = "";
    char *colon, *list = text;
    int r = text ? nm_case_copy(base, &c) : -ENOMEM;

    if (r < 0)
        return r;
    /* A colon after the first '=' belongs to a value. If the text has no name, the text itself is the name. */
    colon = strchr(text, ':');
    if (colon && (!strchr(text, '=') || colon < strchr(text, '='))) {
        *colon = '\0';
        name = nm_strip(text);
        list = colon + 1;
        sets = spec + (list - text);
        sets += strspn(sets, " ");
    }
    r = assign_all(c, set, n_set, ret_message);
    if (r >= 0)
        r = assign_list(c, list, ret_message);
    if (r >= 0)
        r = nm_config_check(c, NULL, ret_message);
    return r < 0 ? r : nm_cases_add(s, *name ? name : spec, *name ? sets : "", STEAL_PTR(c));
}

/* ---- sweeps -------------------------------------------------------------- */

struct sweep {
    char key[96];
    char *values[64];
    size_t n;
    char *text; /* the memory of the values */
};

static void sweeps_done(struct sweep (*sweeps)[SWEEPS_MAX])
{
    for (size_t i = 0; i < SWEEPS_MAX; i++)
        free((*sweeps)[i].text);
}

static int parse_sweep(const char *spec, struct sweep *w, char **ret_message)
{
    char *equals, *rest, *part;

    w->text = strdup(spec);
    if (!w->text)
        return -ENOMEM;
    equals = strchr(w->text, '=');
    if (!equals || equals == w->text || (size_t)(equals - w->text) >= sizeof w->key)
        return nm_fail(ret_message, -EINVAL, "--sweep '%s': it must be key=value,value,...", spec);
    *equals = '\0';
    (void)snprintf(w->key, sizeof w->key, "%s", nm_strip(w->text));
    for (rest = equals + 1; (part = strsep(&rest, ","));) {
        if (!*nm_strip(part))
            return nm_fail(ret_message, -EINVAL, "--sweep '%s': a value is empty", spec);
        if (w->n == NM_ARRAY_SIZE(w->values))
            return nm_fail(ret_message, -EINVAL, "--sweep '%s': more than %zu values", spec,
                           NM_ARRAY_SIZE(w->values));
        w->values[w->n++] = nm_strip(part);
    }
    return 0;
}

/* Adds the combination with this number. The value of the last sweep changes fastest. */
static int add_combination(struct nm_sim_cases *s, const struct nm_config *base,
                           const struct sweep *sweeps, size_t n_sweeps, size_t number,
                           const char *const *set, size_t n_set, char **ret_message)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *why = NULL;
    char name[64] = "";
    size_t at = 0, every = 1;
    int r = nm_case_copy(base, &c);

    if (r >= 0)
        r = assign_all(c, set, n_set, ret_message);
    for (size_t i = 0; i < n_sweeps; i++)
        every *= sweeps[i].n;
    for (size_t i = 0; r >= 0 && i < n_sweeps; i++) {
        const struct sweep *w = &sweeps[i];
        const char *dot = strrchr(w->key, '.');
        _cleanup_free_ char *text = NULL;

        every /= w->n;
        if (asprintf(&text, "%s=%s", w->key, w->values[number / every % w->n]) < 0) {
            text = NULL;
            return -ENOMEM;
        }
        r = nm_case_assign(c, text, ret_message);
        if (at < sizeof name)
            at += (size_t)snprintf(name + at, sizeof name - at, "%s%s=%s", at ? " " : "",
                                   dot ? dot + 1 : w->key, w->values[number / every % w->n]);
    }
    if (r < 0)
        return r;
    /* A grid may contain invalid combinations, such as alpha above beta. Skip them. */
    if (nm_config_check(c, NULL, &why) < 0) {
        s->n_skipped++;
        return 0;
    }
    return nm_cases_add(s, name, "", STEAL_PTR(c));
}

int nm_cases_add_sweep(struct nm_sim_cases *s, const struct nm_config *base,
                       const char *const *specs, size_t n_sweeps, const char *const *set, size_t n_set,
                       char **ret_message)
{
    _cleanup_(sweeps_done) struct sweep sweeps[SWEEPS_MAX] = {0};
    size_t n = 1;
    int r = 0;

    if (n_sweeps > SWEEPS_MAX)
        return nm_fail(ret_message, -EINVAL, "--sweep is given %zu times: at most %d", n_sweeps,
                       SWEEPS_MAX);
    /* The factors are multiplied and checked one by one, so that the product can't overflow. */
    for (size_t i = 0; r >= 0 && i < n_sweeps; i++) {
        r = parse_sweep(specs[i], &sweeps[i], ret_message);
        n *= NM_MAX(sweeps[i].n, (size_t)1);
        if (r >= 0 && n > CASES_MAX)
            r = nm_fail(ret_message, -EINVAL, "--sweep: more than %d combinations", CASES_MAX);
    }
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = add_combination(s, base, sweeps, n_sweeps, i, set, n_set, ret_message);
    return r;
}
