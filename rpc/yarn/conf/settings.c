/* SPDX-License-Identifier: Apache-2.0 */

/* See settings.h. */

#include "rpc/yarn/conf/settings.h"

#include <assert.h>
#include <inttypes.h>

#include "rpc/yarn/conf/sources.h"
#include "rpc/yarn/conf/trackers.h"
#include "rpc/yarn/conf/value.h"

#define SHOWN_SIZE 120

struct nm_yarn_settings *nm_yarn_settings_free(struct nm_yarn_settings *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < nm_yarn_n_keys; i++) {
        if (s->values)
            free(s->values[i]);
        if (s->sources)
            free(s->sources[i]);
    }
    free(s->values);
    free(s->sources);
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        nm_yarn_value_done(&nm_yarn_keys[i], s);
    nm_yarn_trackers_free(s->trackers, s->n_trackers);
    json_decref(s->name_nodes);
    json_decref(s->commands);
    free(s);
    return NULL;
}

/* ---- from the files ----------------------------------------------------------------------- */

int nm_yarn_settings_new_conf(struct nm_yarn_conf **ret)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    int r = nm_yarn_conf_new(&c);

    for (size_t i = 0; r == 0 && i < nm_yarn_n_keys; i++)
        r = nm_yarn_conf_set_default(c, nm_yarn_keys[i].name, nm_yarn_keys[i].fallback);
    for (size_t i = 0; r == 0 && i < nm_yarn_n_rules; i++)
        r = nm_yarn_conf_set_default(c, nm_yarn_rules[i].name, nm_yarn_rules[i].fallback);
    if (r == 0)
        *ret = STEAL_PTR(c);
    return r;
}

/* The expanded value and where it is from. A default, too, may be wrong by what it is made of. */
static int get(const struct nm_yarn_conf *c, const char *name, char **ret, const char **ret_file, char **ret_message)
{
    const struct nm_yarn_property *p = nm_yarn_conf_find(c, name);
    char shown[SHOWN_SIZE], file[200];
    int r = nm_yarn_conf_expand(c, name, ret);

    assert(p);
    *ret_file = p->file;
    if (r == -ELOOP || r == -E2BIG)
        return nm_fail(ret_message, r, "%s: %s = '%s': what it names goes round in circles, or is too much",
                       nm_yarn_conf_shown(p->file ?: "by default", file, sizeof file), name,
                       nm_yarn_conf_shown(p->value, shown, sizeof shown));
    return r;
}

static int read_key(const struct nm_yarn_conf *c, size_t i, struct nm_yarn_settings *s, char **ret_message)
{
    const struct nm_yarn_key *k = &nm_yarn_keys[i];
    char shown[SHOWN_SIZE], where[200], what[80];
    const char *file;
    int r = get(c, k->name, &s->values[i], &file, ret_message);

    if (r < 0)
        return r;
    if (file && !(s->sources[i] = strdup(file)))
        return -ENOMEM;
    r = nm_yarn_value_parse(k, s->values[i], s);
    if (r == -EINVAL || r == -ERANGE)
        return nm_fail(ret_message, r, "%s: %s = '%s': must be %s",
                       nm_yarn_conf_shown(file ?: "by default", where, sizeof where), k->name,
                       nm_yarn_conf_shown(s->values[i], shown, sizeof shown),
                       nm_yarn_value_allowed(k, what, sizeof what));
    return r;
}

/* ---- what the node can't do --------------------------------------------------------------- */

static bool is_listed(const char *word, size_t n, const char *list)
{
    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == n && strncasecmp(p, word, n) == 0)
            return true;
    return false;
}

/* The first word that breaks the rule: in the text, or the one that is missed. NULL: none does. */
static const char *offender(const struct nm_yarn_rule *rule, const char *text)
{
    static const char separators[] = ", \t\r\n";
    bool found = !rule->needed;

    for (const char *p = text + strspn(text, separators); *p; p += strspn(p, separators)) {
        size_t n = strcspn(p, separators);

        if (rule->allowed && !is_listed(p, n, rule->allowed))
            return p;
        found |= rule->needed && strlen(rule->needed) == n && strncasecmp(p, rule->needed, n) == 0;
        p += n;
    }
    return found ? NULL : text;
}

static int check_rule(const struct nm_yarn_conf *c, const struct nm_yarn_rule *rule, nm_yarn_warn_t warn,
                      void *userdata, char **ret_message)
{
    _cleanup_free_ char *text = NULL, *sentence = NULL;
    char shown[SHOWN_SIZE], where[200], hint[300] = "";
    const char *file;
    int r = get(c, rule->name, &text, &file, ret_message);

    if (r < 0 || !offender(rule, text))
        return r;
    if (rule->needed || (rule->allowed && *rule->allowed))
        (void)snprintf(hint, sizeof hint, " (allowed: %s)", rule->needed ?: rule->allowed);
    (void)nm_fail(&sentence, -EOPNOTSUPP, "%s: %s = '%s'%s: %s",
                  nm_yarn_conf_shown(file ?: "by default", where, sizeof where), rule->name,
                  nm_yarn_conf_shown(text, shown, sizeof shown), rule->fatal ? hint : "", rule->why);
    if (!sentence)
        return -ENOMEM;
    if (!rule->fatal) {
        if (warn)
            warn(sentence, userdata);
        return 0;
    }
    if (ret_message)
        *ret_message = STEAL_PTR(sentence);
    return -EOPNOTSUPP;
}

int nm_yarn_settings_read(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata,
                          struct nm_yarn_settings **ret, char **ret_message)
{
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *s = calloc(1, sizeof *s);
    int r = 0;

    if (s) {
        s->values = calloc(nm_yarn_n_keys, sizeof *s->values);
        s->sources = calloc(nm_yarn_n_keys, sizeof *s->sources);
    }
    if (!s || !s->values || !s->sources)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < nm_yarn_n_keys; i++)
        r = read_key(c, i, s, ret_message);
    for (size_t i = 0; r == 0 && i < nm_yarn_n_rules; i++)
        r = check_rule(c, &nm_yarn_rules[i], warn, userdata, ret_message);
    if (r == 0 && s->ha)
        r = nm_yarn_trackers_read(c, s->rm_ids, &s->trackers, &s->n_trackers, ret_message);
    if (r == 0)
        r = nm_yarn_sources_read(c, &s->name_nodes, &s->commands);
    if (r == 0)
        *ret = STEAL_PTR(s);
    return r;
}

int nm_yarn_settings_load(const char *dir, nm_yarn_warn_t warn, void *userdata, struct nm_yarn_settings **ret,
                          char **ret_message)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    int r = nm_yarn_settings_new_conf(&c);

    if (r == 0)
        r = nm_yarn_conf_read_dir(c, dir, ret_message);
    return r < 0 ? r : nm_yarn_settings_read(c, warn, userdata, ret, ret_message);
}

/* ---- for nmd's own keys -------------------------------------------------------------------- */

static void add(struct nm_yarn_defaults *to, size_t *n, const char *section, const char *name, const char *value,
                const char *source)
{
    assert(*n < NM_YARN_DEFAULTS_MAX - 1);
    (void)snprintf(to->values[*n], sizeof to->values[*n], "%s", value);
    to->list[*n] = (struct nm_config_default){section, name, to->values[*n], source};
    ++*n;
}

static void add_default(struct nm_yarn_defaults *to, size_t *n, const char *section, const char *name, int64_t value,
                        const char *unit, const char *source)
{
    char text[24];

    if (value <= 0) /* -1, and no queue for the cluster: nothing is said of the node's own */
        return;
    (void)snprintf(text, sizeof text, "%" PRId64 "%s", value, unit);
    add(to, n, section, name, text, source);
}

static void add_share(struct nm_yarn_defaults *to, size_t *n, const char *section, const char *name, double value,
                      const char *source)
{
    char text[24];

    if (value <= 0)
        return;
    (void)snprintf(text, sizeof text, "%.9f", value);
    add(to, n, section, name, text, source);
}

static const char *source_of(const struct nm_yarn_settings *s, const void *field)
{
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        if ((const char *)s + nm_yarn_keys[i].offset == (const char *)field)
            return s->sources[i] ?: "Hadoop's default";
    assert(false);
    return NULL;
}

/* A threshold that isn't set is the general one. */
static const char *source_of_alpha(const struct nm_yarn_settings *s, const double *field)
{
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        if ((const char *)s + nm_yarn_keys[i].offset == (const char *)field && s->sources[i])
            return s->sources[i];
    return source_of(s, &s->general_alpha);
}

void nm_yarn_settings_defaults(const struct nm_yarn_settings *s, struct nm_yarn_defaults *ret)
{
    size_t n = 0;

    *ret = (struct nm_yarn_defaults){};
    add_default(ret, &n, "node", "memory", s->memory_mib, "M", source_of(s, &s->memory_mib));
    add_default(ret, &n, "node", "vcores", s->vcores, "", source_of(s, &s->vcores));
    add_default(ret, &n, "queue", "max-length", s->queue_max_length, "", source_of(s, &s->queue_max_length));
    if (s->queue_by_resources)
        add(ret, &n, "queue", "policy", "by-resources", source_of(s, &s->queue_by_resources));
    add_share(ret, &n, "over-allocation", "memory-threshold", s->memory_alpha, source_of_alpha(s, &s->memory_alpha));
    add_share(ret, &n, "over-allocation", "cpu-threshold", s->cpu_alpha, source_of_alpha(s, &s->cpu_alpha));
    add_share(ret, &n, "preemption", "memory-threshold", s->memory_beta, source_of(s, &s->memory_beta));
    add_share(ret, &n, "preemption", "cpu-threshold", s->cpu_beta, source_of(s, &s->cpu_beta));
    add_default(ret, &n, "preemption", "cpu-samples", s->cpu_samples, "", source_of(s, &s->cpu_samples));
}

/* ---- for people --------------------------------------------------------------------------- */

json_t *nm_yarn_settings_to_json(const struct nm_yarn_settings *s)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < nm_yarn_n_keys; i++) {
        const struct nm_yarn_key *k = &nm_yarn_keys[i];
        char what[80];
        json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:n, s:n}", "section", "yarn", "key",
                              k->name, "value", s->values[i], "default", k->fallback, "allowed",
                              nm_yarn_value_allowed(k, what, sizeof what), "meaning", k->meaning, "is_default",
                              !s->sources[i], "applied_by", "restart", "source", s->sources[i] ?: "default",
                              "in_force", "why");

        if (!o || json_array_append_new(array, o) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
