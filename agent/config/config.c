/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See config.h. This file finds the configuration files, checks the relations between keys, and compares two
 * configurations. Files are read into a new struct whose fields have the defaults. So a refused file leaves the current
 * configuration unchanged, and a key that was removed from a file has its default after a reload.
 */

#include "agent/config/config-keys.h"

#include <assert.h>
#include <dirent.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"

#define FILE_MAX (256 * 1024) /* a configuration has some kilobytes; a larger file is a mistake */

struct nm_config *nm_config_free(struct nm_config *c)
{
    if (!c)
        return NULL;
    while (c->n_banned_users > 0)
        free(c->banned_users[--c->n_banned_users]);
    free(c->admin_group);
    free(c->http_address);
    free(c->http_hosts);
    free(c->upstream.conf_dir);
    free(c->health_script);
    free(c->log_dir);
    for (size_t i = 0; c->sources && i < nm_config_n_keys; i++)
        free(c->sources[i]);
    free(c->sources);
    free(c);
    return NULL;
}

int nm_config_new_defaults(struct nm_config **ret)
{
    _cleanup_(nm_config_freep) struct nm_config *c = calloc(1, sizeof *c);

    assert(ret);
    if (!c)
        return -ENOMEM;
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        int r = nm_config_set(c, &nm_config_keys[i], nm_config_keys[i].fallback);
        if (r < 0)
            return r;
    }
    *ret = STEAL_PTR(c);
    return 0;
}

/* ---- relations between keys ---- */

/* Pairs of keys. The value of the first key must be smaller than the value of the second key. */
static const struct {
    const char *section[2], *name[2];
    const char *why;
} ordered[] = {
    {{"over-allocation", "preemption"},
     {"memory-threshold", "memory-threshold"},
     "or containers would be started and killed alternately"},
    {{"over-allocation", "preemption"},
     {"cpu-threshold", "cpu-threshold"},
     "or containers would be started and paused alternately"},
    {{"sampling", "sampling"},
     {"pressure-stall", "pressure-window"},
     "the kernel refuses the trigger otherwise"},
};

#define HIGH_ALPHA 0.99 /* for the reasons, see docs/decisions/0007-bold-cpu-thresholds.md */
#define HIGH_BETA 1.0
#define LOW_ALPHA 0.8
#define LOW_BETA 0.95

struct nm_fractions_cpu nm_config_cpu_thresholds(const struct nm_config *c, bool guarded)
{
    struct nm_fractions_cpu f = {c->over_allocation_threshold.cpu, c->preemption_threshold.cpu};
    bool auto_alpha = f.alpha == 0, auto_beta = f.beta == 0; /* 0 means auto; 0 cannot be configured as a number */

    if (auto_alpha)
        f.alpha = guarded ? HIGH_ALPHA : LOW_ALPHA;
    if (auto_beta)
        f.beta = guarded ? HIGH_BETA : LOW_BETA;
    if (f.alpha < f.beta)
        return f;
    if (auto_alpha)
        f.alpha = f.beta > LOW_ALPHA ? LOW_ALPHA : f.beta * LOW_ALPHA / LOW_BETA;
    else if (auto_beta)
        f.beta = f.alpha + (1 - f.alpha) / 2;
    return f;
}

static double as_number(const struct nm_config *c, const struct nm_config_key *k)
{
    const void *field = (const char *)c + k->offset;

    if (field == &c->over_allocation_threshold.cpu)
        return nm_config_cpu_thresholds(c, false).alpha;
    if (field == &c->preemption_threshold.cpu)
        return nm_config_cpu_thresholds(c, false).beta;
    return k->type == NM_CONFIG_FRACTION ? *(const double *)field
                                         : (double)*(const uint64_t *)field;
}

/* Checks that the first key's value is smaller than the second key's value. The message names the file and line of a
 * key that a file sets. If files set both keys, it names those of the first key. */
static int check_pair(const struct nm_config *c, const struct nm_config_source *sources,
                      const struct nm_config_key *const k[2], const char *why, char **ret_message)
{
    char value[2][32], where[4200] = "";
    unsigned at = 0;

    assert(k[0] && k[1]);
    if (sources && (sources[k[0] - nm_config_keys].is_unknown || sources[k[1] - nm_config_keys].is_unknown))
        return 0;
    if (as_number(c, k[0]) < as_number(c, k[1]))
        return 0;
    if (sources) {
        const struct nm_config_source *p = &sources[k[0] - nm_config_keys];
        if (!p->line) {
            at = 1;
            p = &sources[k[1] - nm_config_keys];
        }
        if (p->line)
            (void)snprintf(where, sizeof where, "%s:%u: ", p->file, p->line);
    }
    for (unsigned i = 0; i < 2 && !*where && c->sources; i++) /* no file of nmd sets a key: name the source of a
                                                                 replaced default */
        if (c->sources[k[i] - nm_config_keys]) {
            (void)snprintf(where, sizeof where, "%s: ", c->sources[k[i] - nm_config_keys]);
            at = i;
        }
    for (unsigned i = 0; i < 2; i++)
        nm_config_get(c, k[i], value[i], sizeof value[i]);
    return nm_fail(ret_message, -EINVAL, "%s[%s] %s = %s: must be %s [%s] %s, which is %s, %s",
                   where, k[at]->section, k[at]->name, value[at], at == 0 ? "below" : "above",
                   k[!at]->section, k[!at]->name, value[!at], why);
}

int nm_config_check(const struct nm_config *c, const struct nm_config_source *sources,
                    char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};

    for (size_t i = 0; i < NM_ARRAY_SIZE(ordered); i++) {
        char *message = NULL;
        const struct nm_config_key *k[2] = {
            nm_config_find_key(ordered[i].section[0], ordered[i].name[0]),
            nm_config_find_key(ordered[i].section[1], ordered[i].name[1]),
        };
        int r = check_pair(c, sources, k, ordered[i].why, &message);

        r = nm_refusals_add(&refusals, r, message);
        if (r < 0)
            return r;
    }
    return nm_refusals_take(&refusals, ret_message);
}

/* ---- files ---- */

/* Marks the values of all keys as unknown, because the file that can't be read may set any key. If a later file sets a
 * key, its value is known again. */
static void drop_all(struct nm_config_source *sources)
{
    for (size_t i = 0; i < nm_config_n_keys; i++)
        sources[i].is_unknown = true;
}

static int read_one(struct nm_config *c, int dir_fd, const char *name, const char *shown_path,
                    struct nm_config_source *sources, char **ret_message)
{
    _cleanup_free_ char *text = malloc(FILE_MAX);
    size_t len = 0;
    int r;

    if (!text)
        return -ENOMEM;
    r = nm_read_file_at(dir_fd, name, text, FILE_MAX, &len);
    if (r == -ENOENT)
        return r; /* the caller decides whether a missing file is an error */
    if (r < 0)
        drop_all(sources);
    if (r == -E2BIG)
        return nm_fail(ret_message, r, "%s: larger than %d KiB, which is too large for a configuration",
                       shown_path, FILE_MAX / 1024);
    if (r < 0)
        return nm_fail(ret_message, r, "%s: can't be read: %s", shown_path, strerror(-r));
    return nm_config_read_text(c, shown_path, text, len, sources, ret_message);
}

/* Accepts "*.conf", except hidden files and editors' backup files. */
static int is_drop_in(const struct dirent *d)
{
    size_t n = strlen(d->d_name);

    return n > 5 && d->d_name[0] != '.' && nm_streq(d->d_name + n - 5, ".conf");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* unlike alphasort(), independent of the locale */
}

/* The paths of the drop-ins. `sources` points to these paths, so the paths must exist until the whole configuration was
 * checked. */
struct names {
    struct dirent **entries;
    char **paths;
    int n;
};

static void names_done(struct names *s)
{
    for (int i = 0; i < s->n; i++) {
        free(s->entries[i]);
        if (s->paths)
            free(s->paths[i]);
    }
    free(s->entries);
    free(s->paths);
}

static int read_drop_ins(struct nm_config *c, const char *dir, struct names *names,
                         struct nm_config_source *sources, struct nm_refusals *refusals)
{
    char *message = NULL;

    names->n = scandir(dir, &names->entries, is_drop_in, by_name);
    if (names->n < 0) {
        int error = errno;
        names->n = 0;
        if (error == ENOENT)
            return 0;
        drop_all(sources);
        error = nm_fail(&message, -error, "%s: can't be read: %s", dir, strerror(error));
        return nm_refusals_add(refusals, error, message);
    }
    names->paths = calloc((size_t)names->n + 1, sizeof *names->paths);
    if (!names->paths)
        return -ENOMEM;
    for (int i = 0; i < names->n; i++) {
        int r;
        if (asprintf(&names->paths[i], "%s/%s", dir, names->entries[i]->d_name) < 0) {
            names->paths[i] = NULL;
            return -ENOMEM;
        }
        r = read_one(c, AT_FDCWD, names->paths[i], names->paths[i], sources, &message);
        if (r == -ENOENT) /* the file was removed after the directory was read; ignore it */
            free(STEAL_PTR(message));
        else
            r = nm_refusals_add(refusals, r, STEAL_PTR(message));
        if (r == -ENOMEM)
            return r;
    }
    return 0;
}

/* Stores the file and line of each key, for `nmctl config`. */
static int keep_sources(struct nm_config *c, const struct nm_config_source *sources)
{
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        char *source;

        if (!sources[i].line)
            continue;
        if (asprintf(&source, "%s:%u", sources[i].file, sources[i].line) < 0)
            return -ENOMEM;
        free(c->sources[i]);
        c->sources[i] = source;
    }
    return 0;
}

static int take_default(struct nm_config *c, const struct nm_config_default *d, struct nm_config_source *sources,
                        char **ret_message)
{
    const struct nm_config_key *k = nm_config_find_key(d->section, d->name);
    char allowed[320], *source;
    int r;

    if (!k)
        return nm_fail(ret_message, -EINVAL, "%s: there is no key %.80s in [%s]", d->source, d->name, d->section);
    r = nm_config_set(c, k, d->value);
    sources[k - nm_config_keys].is_unknown = r < 0;
    if (r == -EINVAL || r == -ERANGE)
        return nm_fail(ret_message, r, "%s: as [%s] %s = %s: must be %s", d->source, k->section, k->name, d->value,
                       nm_config_allowed(k, allowed, sizeof allowed));
    if (r < 0)
        return r;
    source = strdup(d->source);
    if (!source)
        return -ENOMEM;
    free(c->sources[k - nm_config_keys]);
    c->sources[k - nm_config_keys] = source;
    return 0;
}

static int take_defaults(struct nm_config *c, const struct nm_config_default *d, struct nm_config_source *sources,
                         struct nm_refusals *refusals)
{
    int r = 0;

    c->sources = calloc(nm_config_n_keys, sizeof *c->sources);
    if (!c->sources)
        return -ENOMEM;
    for (; r == 0 && d && d->section; d++) {
        char *message = NULL;

        r = take_default(c, d, sources, &message);
        r = nm_refusals_add(refusals, r, message);
    }
    return r;
}

int nm_config_examine(const char *path, bool must_exist, const struct nm_config_default *defaults,
                      struct nm_config **ret, char **ret_message)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ struct nm_config_source *sources = calloc(nm_config_n_keys, sizeof *sources);
    _cleanup_free_ char *dir = NULL;
    _cleanup_(names_done) struct names names = {0};
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r;

    assert(path && ret);
    *ret_message = NULL;
    if (!sources || asprintf(&dir, "%s.d", path) < 0) {
        dir = NULL;
        return -ENOMEM;
    }
    r = nm_config_new_defaults(&c);
    if (r >= 0)
        r = take_defaults(c, defaults, sources, &refusals);
    if (r < 0)
        return r;
    r = read_one(c, AT_FDCWD, path, path, sources, &message);
    if (r == -ENOENT && must_exist) {
        free(message);
        r = nm_fail(&message, r, "%s: no such file; leave out --config to run with the defaults", path);
    }
    r = nm_refusals_add(&refusals, r == -ENOENT && !must_exist ? 0 : r, message);
    if (r == 0)
        r = read_drop_ins(c, dir, &names, sources, &refusals);
    if (r == 0) {
        message = NULL;
        r = nm_config_check(c, sources, &message);
        r = nm_refusals_add(&refusals, r, message);
    }
    if (r == 0)
        r = keep_sources(c, sources);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(c);
    return nm_refusals_take(&refusals, ret_message);
}

int nm_config_load(const char *path, bool must_exist, const struct nm_config_default *defaults, struct nm_config **ret,
                   char **ret_message)
{
    struct nm_config *c = NULL;
    int r = nm_config_examine(path, must_exist, defaults, &c, ret_message);

    if (r == 0)
        *ret = c;
    else
        nm_config_free(c);
    return r;
}


/* ---- comparison ---- */

const char *nm_config_needs_restart(const struct nm_config *a, const struct nm_config *b, char *buf,
                                    size_t size)
{
    size_t at = 0;

    assert(a && b && size > 0);
    buf[0] = '\0';
    for (size_t i = 0; i < nm_config_n_keys && at < size; i++) {
        const struct nm_config_key *k = &nm_config_keys[i];
        char value[2][NM_CONFIG_VALUE_SIZE];
        if (!k->restart)
            continue;
        if (nm_streq(nm_config_get(a, k, value[0], sizeof value[0]),
                     nm_config_get(b, k, value[1], sizeof value[1])))
            continue;
        at +=
            (size_t)snprintf(buf + at, size - at, "%s[%s] %s", at ? ", " : "", k->section, k->name);
    }
    return buf;
}
