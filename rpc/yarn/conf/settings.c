/* SPDX-License-Identifier: Apache-2.0 */

/* See settings.h. */

#include "rpc/yarn/conf/settings.h"

#include <assert.h>

#include "rpc/yarn/conf/defaults.h"
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
    nm_yarn_defaults_free(s->defaults);
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
    if (r == 0)
        r = nm_yarn_rules_set_defaults(c);
    if (r == 0)
        *ret = STEAL_PTR(c);
    return r;
}

static int read_key(const struct nm_yarn_conf *c, size_t i, struct nm_yarn_settings *s, char **ret_message)
{
    const struct nm_yarn_key *k = &nm_yarn_keys[i];
    char shown[SHOWN_SIZE], where[200], what[80];
    const char *file = nm_yarn_conf_find(c, k->name)->file;
    int r = nm_yarn_conf_expand_or_say(c, k->name, &s->values[i], ret_message);

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
    if (r == 0)
        r = nm_yarn_rules_check(c, warn, userdata, ret_message);
    if (r == 0 && s->ha)
        r = nm_yarn_trackers_read(c, s->rm_ids, &s->trackers, &s->n_trackers, ret_message);
    if (r == 0)
        r = nm_yarn_sources_read(c, &s->name_nodes, &s->commands);
    if (r == 0)
        r = nm_yarn_defaults_make(c, s, ret_message);
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
