/* SPDX-License-Identifier: Apache-2.0 */

/* See settings.h. */

#include "yarn/conf/settings.h"

#include <assert.h>

#include "util/error.h"
#include "yarn/conf/executor.h"
#include "yarn/conf/native-services.h"
#include "yarn/conf/settings-parts.h"
#include "yarn/conf/spark-site.h"

#define SHOWN_SIZE 120
#define VARIABLE "yarn.nodemanager.admin-env."

static void free_variables(struct nm_yarn_settings *s)
{
    for (size_t i = 0; i < s->n_admin_variables; i++) {
        free(s->admin_variables[i].name);
        free(s->admin_variables[i].value);
        free(s->admin_variables[i].source);
    }
    free(s->admin_variables);
}

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
    free(s->finals);
    free(s->sources);
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        nm_yarn_value_done(&nm_yarn_keys[i], s);
    nm_yarn_lending_done(&s->lending);
    nm_yarn_log_aggregation_done(&s->logs);
    nm_yarn_defaults_free(s->defaults);
    nm_yarn_trackers_free(s->trackers, s->n_trackers);
    nm_yarn_trackers_free(s->schedulers, s->n_schedulers);
    nm_yarn_trackers_free(s->rm_clients, s->n_rm_clients);
    json_decref(s->name_nodes);
    json_decref(s->webhdfs);
    json_decref(s->lacking_name_nodes);
    free(s->default_fs);
    free(s->spark.name);
    free(s->dir);
    json_decref(s->commands);
    free_variables(s);
    nm_yarn_resource_types_done(s);
    nm_yarn_executor_done(&s->executor_rules);
    nm_yarn_aux_services_done(s);
    free(s);
    return NULL;
}

/* ---- files -------------------------------------------------------------------------------- */

int nm_yarn_settings_new_conf(struct nm_yarn_conf **ret)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    int r = nm_yarn_conf_new(&c);

    for (size_t i = 0; r == 0 && i < nm_yarn_n_keys; i++)
        r = nm_yarn_conf_set_default(c, nm_yarn_keys[i].name, nm_yarn_keys[i].fallback);
    if (r == 0)
        r = nm_yarn_rules_set_defaults(c);
    if (r == 0)
        *ret = STEAL_PTR(c);
    return r;
}

/* Sets the default of a property and of all properties that the default refers to. */
static int use_fallback(size_t i, struct nm_yarn_settings *s)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    _cleanup_free_ char *value = NULL;
    int r = nm_yarn_settings_new_conf(&c);

    if (r == 0)
        r = nm_yarn_conf_expand(c, nm_yarn_keys[i].name, &value);
    if (r == 0)
        r = nm_yarn_value_parse(&nm_yarn_keys[i], value, s);
    if (r < 0)
        return r;
    free(s->values[i]);
    s->values[i] = STEAL_PTR(value);
    return 0;
}

static int read_key(const struct nm_yarn_conf *c, size_t i, struct nm_yarn_settings *s, char **ret_message)
{
    const struct nm_yarn_key *k = &nm_yarn_keys[i];
    char shown[SHOWN_SIZE], where[200], what[80];
    const char *file = nm_yarn_conf_find(c, k->name)->file;
    int r = nm_yarn_conf_expand_or_report(c, k->name, &s->values[i], ret_message);

    if (r < 0)
        return r;
    if (file && !(s->sources[i] = strdup(file)))
        return -ENOMEM;
    s->finals[i] = nm_yarn_conf_find(c, k->name)->final;
    /* As in Hadoop, an empty value means the default only for booleans. */
    r = k->type == NM_YARN_BOOL && !*s->values[i] ? use_fallback(i, s) : nm_yarn_value_parse(k, s->values[i], s);
    if (r == -EINVAL || r == -ERANGE)
        return nm_fail(ret_message, r, "%s: %s = '%s': must be %s",
                       nm_yarn_conf_printable(file ?: "by default", where, sizeof where), k->name,
                       nm_yarn_conf_printable(s->values[i], shown, sizeof shown),
                       nm_yarn_value_allowed(k, what, sizeof what));
    return r;
}

static int read_variable(const struct nm_yarn_conf *c, const struct nm_yarn_property *p, struct nm_yarn_settings *s,
                         char **ret_message)
{
    struct nm_yarn_variable *v = &s->admin_variables[s->n_admin_variables];
    int r = nm_yarn_conf_expand_or_report(c, p->name, &v->value, ret_message);

    if (r < 0)
        return r;
    s->n_admin_variables++;
    v->name = strdup(p->name + strlen(VARIABLE));
    v->source = strdup(p->file);
    return v->name && v->source ? 0 : -ENOMEM;
}

/* Reads the properties whose names contain the name of a variable. The table of properties can't contain their
 * names. */
static int read_variables(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, struct nm_refusals *refusals)
{
    int r = 0;

    s->admin_variables = calloc(nm_yarn_conf_count(c) + 1, sizeof *s->admin_variables);
    if (!s->admin_variables)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < nm_yarn_conf_count(c); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(c, i);
        char *message = NULL;

        if (p->file && strncmp(p->name, VARIABLE, strlen(VARIABLE)) == 0)
            r = read_variable(c, p, s, &message);
        r = nm_refusals_add(refusals, r, message);
    }
    return r;
}

/* Reads the keys in the table's order, since a host's field may be a part of an address. A default can be invalid only
 * if it contains a property from a file. In this case the property itself is refused. So failures of defaults are
 * reported only if no property from a file has failed. */
static int read_keys(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, struct nm_refusals *refusals)
{
    _cleanup_(nm_refusals_done) struct nm_refusals of_defaults = {};
    int r = 0;

    for (size_t i = 0; r == 0 && i < nm_yarn_n_keys; i++) {
        const bool of_file = nm_yarn_conf_find(c, nm_yarn_keys[i].name)->file;
        char *message = NULL;

        r = read_key(c, i, s, &message);
        if (r < 0 && r != -ENOMEM && use_fallback(i, s) == -ENOMEM)
            r = -ENOMEM;
        r = nm_refusals_add(of_file ? refusals : &of_defaults, r, message);
    }
    if (r < 0 || refusals->text || !of_defaults.text)
        return r;
    *refusals = of_defaults;
    of_defaults = (struct nm_refusals){};
    return 0;
}

/* Reads the settings that depend on several properties. */
static int read_others(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, struct nm_refusals *refusals)
{
    char *message = NULL;
    int r = read_variables(c, s, refusals);

    if (r == 0)
        r = nm_yarn_resource_types_read(c, s, refusals);
    if (r == 0 && s->ha) {
        r = nm_yarn_trackers_read(c, s->rm_ids, NM_YARN_RM_TRACKER, &s->trackers, &s->n_trackers, &message);
        r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    }
    if (r == 0) {
        r = nm_yarn_lending_read(c, s->distributed, &s->lending, &message);
        r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    }
    if (r == 0) {
        r = nm_yarn_proxying_read(c, s, &message);
        r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    }
    if (r == 0)
        r = nm_yarn_sources_read(c, &s->name_nodes, &s->webhdfs, &s->commands, &s->lacking_name_nodes);
    if (r == 0)
        r = nm_yarn_sources_default(c, &s->default_fs);
    if (r == 0)
        r = nm_yarn_log_aggregation_read(c, s, refusals);
    if (r == 0) {
        r = nm_yarn_defaults_make(c, s, &message);
        r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    }
    return r;
}

/* Reads container-executor.cfg if nmd is root. If nmd isn't root, it runs containers only as its own user, which the
 * file can't forbid. */
static int read_executor(const char *dir, struct nm_yarn_settings *s, nm_yarn_warn_t warn, void *userdata,
                         struct nm_refusals *refusals)
{
    if (!dir || geteuid() != 0)
        return 0;
    return nm_yarn_executor_load(dir, strstr(s->executor, "LinuxContainerExecutor"), warn, userdata,
                                 &s->executor_rules, refusals);
}

/* Sets *ret even if there are refusals. dir: the directory of container-executor.cfg; NULL: ignore that file. */
static int examine(const struct nm_yarn_conf *c, const char *dir, nm_yarn_warn_t warn, void *userdata,
                   struct nm_yarn_settings **ret, struct nm_refusals *refusals)
{
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *s = calloc(1, sizeof *s);
    int r;

    if (s) {
        s->values = calloc(nm_yarn_n_keys, sizeof *s->values);
        s->sources = calloc(nm_yarn_n_keys, sizeof *s->sources);
        s->finals = calloc(nm_yarn_n_keys, sizeof *s->finals);
    }
    if (!s || !s->values || !s->sources || !s->finals)
        return -ENOMEM;
    r = read_keys(c, s, refusals);
    if (r == 0)
        r = nm_yarn_rules_check(c, warn, userdata, refusals);
    if (r == 0)
        r = nm_yarn_native_services_find(c, nm_yarn_rules_report, &(struct nm_yarn_check){warn, userdata, refusals});
    if (r == 0)
        r = nm_yarn_native_services_read(c, s);
    if (r == 0)
        r = nm_yarn_aux_services_read(s);
    if (r == 0)
        r = nm_yarn_spark_site_warn(c, warn, userdata);
    if (r == 0)
        r = read_others(c, s, refusals);
    if (r == 0)
        r = read_executor(dir, s, warn, userdata, refusals);
    if (r == 0)
        r = nm_yarn_gpus_read(c, s, warn, userdata, refusals);
    if (r == 0)
        *ret = STEAL_PTR(s);
    return r;
}

int nm_yarn_settings_read(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata,
                          struct nm_yarn_settings **ret, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *s = NULL;
    int r = examine(c, NULL, warn, userdata, &s, &refusals);

    if (r == 0)
        r = nm_refusals_take(&refusals, ret_message);
    if (r == 0)
        *ret = STEAL_PTR(s);
    return r;
}

/* Adds one refusal for each file that can't be read, and continues with the other files. */
int nm_yarn_settings_examine(const char *dir, nm_yarn_warn_t warn, void *userdata, struct nm_yarn_settings **ret,
                             char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    int r = nm_yarn_settings_new_conf(&c);

    if (r == 0)
        r = nm_yarn_conf_read_dir(c, dir, &refusals, ret_message);
    if (r == 0)
        r = nm_yarn_spark_site_read(c, dir, warn, userdata, &refusals);
    if (r == 0)
        r = examine(c, dir, warn, userdata, ret, &refusals);
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

/* Stores the absolute path of the directory, because fetch commands receive this path and run in another working
 * directory. */
static int keep_dir(struct nm_yarn_settings *s, const char *dir)
{
    s->dir = realpath(dir, NULL);
    return s->dir ? 0 : -errno;
}

int nm_yarn_settings_load(const char *dir, nm_yarn_warn_t warn, void *userdata, struct nm_yarn_settings **ret,
                          char **ret_message)
{
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *s = NULL;
    int r = nm_yarn_settings_examine(dir, warn, userdata, &s, ret_message);

    if (r == 0)
        r = keep_dir(s, dir);
    if (r == 0)
        *ret = STEAL_PTR(s);
    return r;
}

/* ---- display ------------------------------------------------------------------------------ */

const char *nm_yarn_settings_file(const struct nm_yarn_settings *s, const char *name)
{
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        if (nm_streq(nm_yarn_keys[i].name, name))
            return s->sources[i];
    return NULL;
}

static int add_row(json_t *array, const char *key, const char *value, const char *fallback, const char *allowed,
                   const char *meaning, const char *source)
{
    return json_array_append_new(
        array, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:n, s:n}", "section", "yarn", "key", key,
                         "value", value, "default", fallback, "allowed", allowed, "meaning", meaning, "is_default",
                         !source, "applied_by", "restart", "source", source ?: "default", "in_force", "why"));
}

static int add_variable(json_t *array, const struct nm_yarn_variable *v)
{
    _cleanup_free_ char *key = NULL;

    if (asprintf(&key, VARIABLE "%s", v->name) < 0)
        return -1;
    return add_row(array, key, v->value, "", "text", "Variable that is set for all containers.",
                   v->source);
}

static int add_resource_type(json_t *array, const struct nm_yarn_resource_type *t)
{
    _cleanup_free_ char *key = NULL;

    if (asprintf(&key, NM_YARN_RESOURCE_PREFIX "%s", t->name) < 0)
        return -1;
    return add_row(array, key, t->value ?: "0", "0", "a number with units", "Amount of this resource on the node.",
                   t->source);
}

static int add_override(json_t *array, const struct nm_yarn_lending_override *o)
{
    _cleanup_free_ char *key = NULL;

    if (asprintf(&key, "%s%s", nm_yarn_lending_prefix(o->source), o->name) < 0)
        return -1;
    return add_row(array, key, o->value, "", nm_yarn_lending_allowed, "Replaces nmd.lending for some applications.",
                   o->file);
}

/* Adds the values of container-executor.cfg, if that file exists. */
static int add_executor(json_t *array, const struct nm_yarn_executor *e)
{
    int r = 0;

    for (size_t i = 0; e->file && r == 0 && i < NM_ARRAY_SIZE(e->texts); i++) {
        const struct nm_yarn_executor_name *n = &nm_yarn_executor_names[i];

        r = add_row(array, n->name, e->texts[i] ?: n->fallback, n->fallback, n->allowed, n->meaning,
                    e->texts[i] ? e->file : NULL);
    }
    return r;
}

#define HEARTBEAT_MAX_USEC (30 * NM_USEC_PER_SEC) /* with several ResourceManagers */

uint64_t nm_yarn_heartbeat_timeout_usec(const struct nm_yarn_settings *s)
{
    const uint64_t usec = s->rpc_timeout_usec ?: UINT64_MAX;

    return s->ha ? NM_MIN(usec, HEARTBEAT_MAX_USEC) : usec;
}

/* Adds the properties of the cluster's XML files. */
static int add_properties(json_t *array, const struct nm_yarn_settings *s)
{
    int r = array ? 0 : -1;

    for (size_t i = 0; r == 0 && i < nm_yarn_n_keys; i++) {
        const struct nm_yarn_key *k = &nm_yarn_keys[i];
        char what[80];

        r = add_row(array, k->name, s->values[i], k->fallback, nm_yarn_value_allowed(k, what, sizeof what), k->meaning,
                    s->sources[i]);
    }
    for (size_t i = 0; r == 0 && i < s->n_admin_variables; i++)
        r = add_variable(array, &s->admin_variables[i]);
    for (size_t i = 0; r == 0 && i < s->n_resource_types; i++)
        if (!s->gpus.enabled || !nm_streq(s->resource_types[i].name, NM_YARN_GPU))
            r = add_resource_type(array, &s->resource_types[i]);
    for (size_t i = 0; r == 0 && i < s->lending.n_overrides; i++)
        r = add_override(array, &s->lending.overrides[i]);
    return r;
}

static json_t *array_unless(int r, json_t *array)
{
    if (r == 0)
        return array;
    json_decref(array);
    return NULL;
}

json_t *nm_yarn_settings_properties(const struct nm_yarn_settings *s)
{
    json_t *array = json_array();

    return array_unless(add_properties(array, s), array);
}

json_t *nm_yarn_settings_to_json(const struct nm_yarn_settings *s)
{
    json_t *array = json_array();
    int r = add_properties(array, s);

    if (r == 0)
        r = add_executor(array, &s->executor_rules);
    return array_unless(r, array);
}
