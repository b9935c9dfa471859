/* SPDX-License-Identifier: Apache-2.0 */

/* See memory.h. */

#include "nmscale/memory.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <sys/stat.h>

#include "nmscale/system.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/json-text.h"

#define FORMAT 1 /* must be increased when an older nmscale would misread the file */
#define FILE_MOST (64 << 20) /* 50,000 applications on thirty nodes each need less */

static inline void json_freep(json_t **j)
{
    json_decref(*j);
}
#define _cleanup_json_ _cleanup_(json_freep)

/* Returns the default path. For root the path is fixed: HOME may differ between cron and a shell, and nmscale would
 * then use different files. */
char *nm_scale_memory_default_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int n;

    if (geteuid() == 0)
        return strdup("/var/lib/nmscale/state.json");
    if (state && *state == '/')
        n = asprintf(&path, "%s/nmscale/state.json", state);
    else if (home && *home == '/')
        n = asprintf(&path, "%s/.local/state/nmscale/state.json", home);
    else
        return NULL;
    return n < 0 ? NULL : path;
}

static json_t *words_to_json(char *const *words, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < n; i++)
        if (json_array_append_new(list, json_string(words[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* Formats the memory, sorted and indented, so that a person can compare two files. The setters of jansson fail for a
 * NULL value, so one check at the end is enough. Each object is added to the root immediately, so freeing the root
 * frees all objects. */
char *nm_scale_memory_format(const struct nm_scale_memory *m, const char *cluster)
{
    _cleanup_json_ json_t *root = json_object();
    json_t *idle = json_object(), *apps = json_object();
    int r = json_object_set_new(root, "format", json_integer(FORMAT));

    r |= json_object_set_new(root, "cluster", json_string(cluster));
    r |= json_object_set_new(root, "looked_msec", json_integer((json_int_t)m->looked_msec));
    r |= json_object_set_new(root, "low_since_msec", idle);
    r |= json_object_set_new(root, "applications", apps);
    for (size_t i = 0; r == 0 && i < m->n_idle; i++)
        r = json_object_set_new(idle, m->idle[i].node, json_integer((json_int_t)m->idle[i].since_msec));
    for (size_t i = 0; r == 0 && i < m->n_apps; i++) {
        const struct nm_scale_known_app *a = &m->apps[i];

        r = json_object_set_new(apps, a->id, json_pack("{s:b, s:o}", "followed", a->followed, "nodes",
                                                       words_to_json(a->nodes, a->n_nodes)));
    }
    return r == 0 ? nm_json_text(root, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
}

/* Reports a damaged file. A damaged file isn't treated as an empty memory, because this would silently discard the data
 * about nodes and applications. */
static int damaged(char **ret_message, const char *what)
{
    return nm_fail(ret_message, -EBADMSG, "%s; remove the file to restart all idle times", what);
}

/* Reads the idle times. Refuses zero, which would mean "not Low". A time in the future is discarded at the next poll
 * (memory.c). */
static int take_idle(json_t *list, struct nm_scale_memory *m, char **ret_message)
{
    const char *node;
    json_t *since;

    m->idle = calloc(json_object_size(list) + 1, sizeof *m->idle);
    if (!m->idle)
        return -ENOMEM;
    json_object_foreach(list, node, since) {
        if (!json_is_integer(since) || json_integer_value(since) <= 0)
            return damaged(ret_message, "\"low_since_msec\" has an invalid time");
        m->idle[m->n_idle].node = strdup(node);
        if (!m->idle[m->n_idle].node)
            return -ENOMEM;
        m->idle[m->n_idle++].since_msec = (uint64_t)json_integer_value(since);
    }
    return 0;
}

static int take_app(const char *id, const json_t *entry, struct nm_scale_known_app *a, char **ret_message)
{
    const json_t *nodes = json_object_get(entry, "nodes"), *followed = json_object_get(entry, "followed");

    if (!json_is_array(nodes) || !json_is_boolean(followed))
        return damaged(ret_message, "\"applications\" has an invalid entry");
    a->followed = json_is_true(followed);
    a->id = strdup(id);
    a->nodes = calloc(json_array_size(nodes) + 1, sizeof *a->nodes);
    if (!a->id || !a->nodes)
        return -ENOMEM;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const char *node = json_string_value(json_array_get(nodes, i));

        if (!node)
            return damaged(ret_message, "\"applications\" has a node that is not a string");
        a->nodes[i] = strdup(node);
        if (!a->nodes[i])
            return -ENOMEM;
        a->n_nodes++;
    }
    return 0;
}

static int take_apps(json_t *list, struct nm_scale_memory *m, char **ret_message)
{
    const char *id;
    json_t *entry;
    int r = 0;

    m->apps = calloc(json_object_size(list) + 1, sizeof *m->apps);
    if (!m->apps)
        return -ENOMEM;
    json_object_foreach(list, id, entry) {
        /* counted before the call, so that a partly read entry is released on failure */
        r = take_app(id, entry, &m->apps[m->n_apps++], ret_message);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Reads the whole file. Checks its structure before the cluster's name: a file with missing members is damaged, even if
 * it belongs to another cluster. */
static int take_all(json_t *root, const char *cluster, struct nm_scale_memory *m, char **ret_message)
{
    json_t *idle = json_object_get(root, "low_since_msec"), *apps = json_object_get(root, "applications");
    const json_t *looked = json_object_get(root, "looked_msec");
    const char *of = json_string_value(json_object_get(root, "cluster"));
    int r;

    if (json_integer_value(json_object_get(root, "format")) != FORMAT)
        return damaged(ret_message, "this nmscale doesn't support its format");
    if (!of || !json_is_integer(looked) || json_integer_value(looked) < 0 || !json_is_object(idle) ||
        !json_is_object(apps))
        return damaged(ret_message, "a member is missing or invalid");
    if (!nm_streq(of, cluster))
        return nm_fail(ret_message, -EBADMSG, "it belongs to %s, not to %s: name another file with --state", of,
                       cluster);
    m->looked_msec = (uint64_t)json_integer_value(looked);
    r = take_idle(idle, m, ret_message);
    return r < 0 ? r : take_apps(apps, m, ret_message);
}

/* Parses the file, which may have been edited, truncated or replaced. Sorts the entries afterwards, because look-ups
 * require the order. */
int nm_scale_memory_parse(const char *text, size_t size, const char *cluster, struct nm_scale_memory *ret,
                          char **ret_message)
{
    _cleanup_(nm_scale_memory_done) struct nm_scale_memory m = {0};
    _cleanup_json_ json_t *root = json_loadb(text, size, 0, NULL);
    int r;

    if (!json_is_object(root))
        return damaged(ret_message, "it is not JSON");
    r = take_all(root, cluster, &m, ret_message);
    if (r < 0)
        return r;
    nm_scale_memory_sort(&m);
    *ret = m;
    m = (struct nm_scale_memory){0};
    return 0;
}

int nm_scale_memory_load(const char *path, const char *cluster, struct nm_scale_memory *ret, char **ret_message)
{
    _cleanup_free_ char *text = NULL, *message = NULL;
    size_t size;
    int r = nm_scale_read_file(path, FILE_MOST, &text, &size);

    if (r == -ENOENT) {
        *ret = (struct nm_scale_memory){0};
        return 0;
    }
    if (r >= 0)
        r = nm_scale_memory_parse(text, size, cluster, ret, &message);
    return r < 0 ? nm_fail(ret_message, r, "%s: %s", path, message ? message : strerror(-r)) : 0;
}

/* Saves the memory. Only the owner can read the file, because it contains names of applications and nodes. */
int nm_scale_memory_save(const char *path, const char *cluster, const struct nm_scale_memory *m,
                         char **ret_message)
{
    _cleanup_free_ char *text = nm_scale_memory_format(m, cluster);
    int r = text ? nm_scale_replace_file(path, text, 0600) : -ENOMEM;

    return r < 0 ? nm_fail(ret_message, r, "%s can't be written: %s", path, strerror(-r)) : 0;
}
