/* SPDX-License-Identifier: Apache-2.0 */

/* See migrate.h. */

#include "yarn/migrate/migrate.h"

#include <fcntl.h>
#include <limits.h>

#include "util/fileio.h"
#include "yarn/conf/executor.h"
#include "yarn/conf/native-services.h"
#include "yarn/conf/settings-parts.h"
#include "yarn/conf/settings.h"
#include "yarn/conf/spark-site.h"
#include "yarn/conf/suggestions.h"
#include "yarn/labels/provider.h"
#include "yarn/migrate/behaviour.h"

#define EXECUTOR_FILE_MAX (64u << 10)
#define NODE "yarn.nodemanager."

struct gather {
    const struct nm_yarn_conf *conf;
    struct nm_yarn_settings *settings;
    struct nm_migrate_report *report;
    int error; /* of a callback that can't return it */
};

static int add(struct gather *g, const struct nm_migrate_entry *e)
{
    return nm_migrate_report_add(g->report, e);
}

/* Adds an entry about a property with the value and the file of the configuration. */
static int add_property(struct gather *g, enum nm_migrate_group group, const char *name, const char *sentence)
{
    const struct nm_yarn_property *p = nm_yarn_conf_find(g->conf, name);
    _cleanup_free_ char *value = NULL;
    int r = nm_yarn_conf_expand(g->conf, name, &value);

    if (r == -ENOMEM)
        return r;
    return add(g, &(struct nm_migrate_entry){.group = group, .name = (char *)(uintptr_t)name,
                                             .value = value ?: (p ? p->value : NULL),
                                             .file = p ? (char *)(uintptr_t)p->file : NULL,
                                             .sentence = (char *)(uintptr_t)sentence});
}

/* ---- refusals and warnings ---------------------------------------------------------------- */

static int add_violation(const struct nm_yarn_violation *v, void *userdata)
{
    struct gather *g = userdata;
    _cleanup_free_ char *sentence = v->fatal && *v->allowed
                                        ? nm_strdup_printf("%s. Allowed: %s.", v->why, v->allowed)
                                        : strdup(v->why);

    if (!sentence)
        return -ENOMEM;
    return add(g, &(struct nm_migrate_entry){.group = v->fatal ? NM_MIGRATE_SET : NM_MIGRATE_DIFFERS,
                                             .need = NM_MIGRATE_REFUSED, .name = (char *)(uintptr_t)v->name,
                                             .value = (char *)(uintptr_t)v->value,
                                             .file = (char *)(uintptr_t)v->file, .sentence = sentence});
}

static int check_key(struct gather *g, const struct nm_yarn_key *k)
{
    _cleanup_free_ struct nm_yarn_settings *scratch = calloc(1, sizeof *scratch);
    _cleanup_free_ char *value = NULL, *sentence = NULL;
    char what[80];
    int r = nm_yarn_conf_expand(g->conf, k->name, &value);

    if (!scratch || r == -ENOMEM)
        return -ENOMEM;
    if (r < 0 || (k->type == NM_YARN_BOOL && !*value)) /* the caller reports values that can't be expanded */
        return 0;
    r = nm_yarn_value_parse(k, value, scratch);
    nm_yarn_value_done(k, scratch);
    if (r != -EINVAL && r != -ERANGE)
        return r;
    sentence = nm_strdup_printf("The value must be %s.", nm_yarn_value_allowed(k, what, sizeof what));
    if (!sentence)
        return -ENOMEM;
    return add(g, &(struct nm_migrate_entry){.group = NM_MIGRATE_SET, .need = NM_MIGRATE_REFUSED,
                                             .name = (char *)(uintptr_t)k->name, .value = value,
                                             .file = (char *)(uintptr_t)nm_yarn_conf_find(g->conf, k->name)->file,
                                             .sentence = sentence});
}

static int check_keys(struct gather *g)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < nm_yarn_n_keys; i++)
        if (nm_yarn_conf_find(g->conf, nm_yarn_keys[i].name)->file)
            r = check_key(g, &nm_yarn_keys[i]);
    return r;
}

/* Finds the property that a sentence "FILE: NAME = 'VALUE': WHY" or "FILE: NAME: WHY" is about. "FILE: " may be
 * missing. Returns WHY, or the sentence if it has other words after the value. NULL: the sentence has no such start. */
static const char *find_property(const struct gather *g, const char *line, const struct nm_yarn_property **ret)
{
    for (size_t i = 0; i < nm_yarn_conf_count(g->conf); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(g->conf, i);
        const char *at = strstr(line, p->name), *end;

        if (!at || (at > line && (at - line < 2 || strncmp(at - 2, ": ", 2) != 0)))
            continue;
        at += strlen(p->name);
        if (strncmp(at, ": ", 2) == 0) {
            *ret = p;
            return at + 2;
        }
        if (strncmp(at, " = '", 4) != 0)
            continue;
        *ret = p;
        end = strstr(at + 4, "': ");
        return end ? end + 3 : line;
    }
    return NULL;
}

/* Adds a refusal of settings.h, unless the report already has a refusal of the property. */
static int add_refusal(struct gather *g, const char *line)
{
    const struct nm_yarn_property *p = NULL;
    const char *why = find_property(g, line, &p);
    _cleanup_free_ char *value = NULL;
    int r;

    if (!why)
        return add(g, &(struct nm_migrate_entry){.group = NM_MIGRATE_SET, .need = NM_MIGRATE_REFUSED,
                                                 .sentence = (char *)(uintptr_t)line});
    if (nm_migrate_report_has(g->report, p->name, true))
        return 0;
    r = nm_yarn_conf_expand(g->conf, p->name, &value);
    if (r == -ENOMEM)
        return r;
    return add(g, &(struct nm_migrate_entry){.group = NM_MIGRATE_SET, .need = NM_MIGRATE_REFUSED, .name = p->name,
                                             .value = value ?: p->value, .file = (char *)(uintptr_t)p->file,
                                             .sentence = (char *)(uintptr_t)why});
}

/* Adds the refusals that are not about the value of a single property alone, such as contradictions of properties. */
static int add_refusals(struct gather *g, const char *text)
{
    _cleanup_free_ char *copy = strdup(text ?: "");
    char *at = copy, *line;
    int r = copy ? 0 : -ENOMEM;

    while (r == 0 && (line = strsep(&at, "\n")))
        if (*line && !strstr(line, "/" NM_YARN_EXECUTOR_FILE)) /* read_executor() reports that file */
            r = add_refusal(g, line);
    return r;
}

/* Adds the refusals of labels and attributes. It doesn't examine their scripts, which are on the nodes. */
static int add_providers(struct gather *g)
{
    int r = 0;

    for (unsigned kind = 0; r == 0 && kind < NM_YARN_N_DESCRIPTOR_KINDS; kind++) {
        _cleanup_free_ char *message = NULL;

        r = nm_yarn_provider_check_files(kind, g->settings, &message);
        if (message)
            r = add_refusals(g, message);
    }
    return r;
}

/* ---- container-executor.cfg --------------------------------------------------------------- */

/* Adds one entry for each line of the text. */
static int add_lines(struct gather *g, enum nm_migrate_group group, const char *text)
{
    _cleanup_free_ char *copy = strdup(text ?: "");
    char *at = copy, *line;
    int r = copy ? 0 : -ENOMEM;

    while (r == 0 && (line = strsep(&at, "\n")))
        if (*line)
            r = add(g, &(struct nm_migrate_entry){.group = group, .need = NM_MIGRATE_REFUSED, .sentence = line,
                                                  .file = (char *)(uintptr_t)NM_YARN_EXECUTOR_FILE});
    return r;
}

static void take_warning(const char *sentence, void *userdata)
{
    struct gather *g = userdata;

    if (g->error == 0)
        g->error = add_lines(g, NM_MIGRATE_DIFFERS, sentence);
}

/* Adds the values in the file. */
static int add_accounts(struct gather *g, const struct nm_yarn_executor *e)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < NM_ARRAY_SIZE(e->texts); i++)
        if (e->texts[i])
            r = add(g, &(struct nm_migrate_entry){.group = NM_MIGRATE_SAME,
                                                  .name = (char *)(uintptr_t)nm_yarn_executor_names[i].name,
                                                  .value = e->texts[i], .file = e->file,
                                                  .sentence = (char *)(uintptr_t)nm_yarn_executor_names[i].meaning});
    return r;
}

/* Reads the file even if other users can write to it, because the report starts no container. A node checks who can
 * write to the file. */
static int read_executor(struct gather *g, const char *dir)
{
    _cleanup_(nm_yarn_executor_done) struct nm_yarn_executor e = {};
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    _cleanup_free_ char *text = malloc(EXECUTOR_FILE_MAX);
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t size;
    int r = fd < 0 ? -errno : 0;

    if (!text)
        return -ENOMEM;
    if (r == 0)
        r = nm_read_plain_file_at(fd, NM_YARN_EXECUTOR_FILE, text, EXECUTOR_FILE_MAX, &size);
    if (r == -EBADMSG)
        return add_lines(g, NM_MIGRATE_SET, NM_YARN_EXECUTOR_FILE ": " NM_YARN_NOT_REGULAR);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    r = nm_yarn_executor_parse(NM_YARN_EXECUTOR_FILE, text, take_warning, g, &e, &refusals);
    if (r == 0)
        r = g->error;
    if (r == 0)
        r = add_lines(g, NM_MIGRATE_SET, refusals.text);
    if (r == 0)
        r = add_accounts(g, &e);
    if (r == 0 && g->settings && !g->settings->executor_rules.file) {
        g->settings->executor_rules = e;
        e = (struct nm_yarn_executor){};
    }
    return r;
}

/* ---- all other properties ----------------------------------------------------------------- */

/* Returns whether the property belongs to the ResourceManager, although nmd uses properties of this kind: only the
 * proxy for application masters uses it, and the proxy is off; or it is a limit of a resource type. */
static bool is_of_rm_only(const struct gather *g, const char *name)
{
    static const char *const of_proxy[] = {
        "yarn.resourcemanager.scheduler.address", "yarn.resourcemanager.address",
        "yarn.resourcemanager.opportunistic.max.container-allocation.per.am.heartbeat",
        "yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs",
        "yarn.am.liveness-monitor.expiry-interval-ms"};
    static const char types[] = "yarn.resource-types.";
    const char *last = strrchr(name, '.');

    if (strncmp(name, types, strlen(types)) == 0)
        return !nm_streq(last, ".units") && !nm_streq(last, ".type");
    for (size_t i = 0; !g->settings->proxy && i < NM_ARRAY_SIZE(of_proxy); i++)
        if (nm_streq(of_proxy[i], name))
            return true;
    return false;
}

/* Returns whether a NodeManager uses properties of this name. The other services of a cluster share its files. */
static bool is_of_node(const struct gather *g, const char *name, enum nm_yarn_property_support support)
{
    if (strncmp(name, NODE, strlen(NODE)) == 0)
        return true;
    return support != NM_YARN_PROPERTY_WITHOUT_EFFECT && !is_of_rm_only(g, name);
}

static bool is_checked_name(const char *name)
{
    return strncmp(name, "yarn.", 5) == 0 || strncmp(name, "nmd.", 4) == 0;
}

static const char *meaning_of(const char *name)
{
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        if (nm_streq(nm_yarn_keys[i].name, name))
            return nm_yarn_keys[i].meaning;
    return NULL;
}

/* Returns the row about a property that a file sets. A prefix doesn't apply to a property that has its own meaning. */
static const struct nm_migrate_behaviour *behaviour_of(const char *name, enum nm_yarn_property_support support)
{
    const struct nm_migrate_behaviour *b = nm_migrate_find_behaviour(name);
    const bool has_meaning = support == NM_YARN_PROPERTY_REFUSED || support == NM_YARN_PROPERTY_WARNED ||
                             meaning_of(name);

    return b && b->when != NM_MIGRATE_IF_UNSET && (nm_streq(b->name, name) || !has_meaning) ? b : NULL;
}

/* Adds an entry about a property of Spark's service that has no effect. */
static int add_idle(struct gather *g, const char *name, const char *why)
{
    _cleanup_free_ char *sentence = nm_strdup_printf("No effect, because %s.", why);

    return sentence ? add_property(g, NM_MIGRATE_DIFFERS, name, sentence) : -ENOMEM;
}

/* Adds an entry about a property that a file sets, and that is neither refused nor requests a missing function. */
static int add_other(struct gather *g, const char *name)
{
    const enum nm_yarn_property_support support = nm_yarn_rules_support(name);
    const struct nm_migrate_behaviour *b = behaviour_of(name, support);
    const char *why_idle = g->settings->spark.name ? nm_yarn_spark_site_why_idle(name) : NULL;

    if (support == NM_YARN_PROPERTY_UNKNOWN && is_checked_name(name))
        return add_property(g, NM_MIGRATE_DIFFERS, name,
                            "Unknown to Hadoop 3.3, 3.4 and 3.5 and to nmd, so it has no effect. Check its spelling.");
    if (b)
        return add_property(g, b->differs ? NM_MIGRATE_DIFFERS : NM_MIGRATE_SAME, name, b->why);
    if (why_idle)
        return add_idle(g, name, why_idle);
    if (support == NM_YARN_PROPERTY_UNKNOWN || !is_of_node(g, name, support)) {
        g->report->n_others++;
        return 0;
    }
    if (support == NM_YARN_PROPERTY_WITHOUT_EFFECT)
        return add_property(g, NM_MIGRATE_DIFFERS, name, "nmd doesn't use this property.");
    return add_property(g, NM_MIGRATE_SAME, name, meaning_of(name) ?: "nmd behaves as this value requests.");
}

static int add_others(struct gather *g)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < nm_yarn_conf_count(g->conf); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(g->conf, i);

        if (p->file && !nm_migrate_report_has(g->report, p->name, false))
            r = add_other(g, p->name);
    }
    for (size_t i = 0; r == 0 && i < nm_migrate_n_behaviours; i++) {
        const struct nm_migrate_behaviour *b = &nm_migrate_behaviours[i];

        if (b->when != NM_MIGRATE_IF_SET && !nm_migrate_report_has(g->report, b->name, false))
            r = add_property(g, b->differs ? NM_MIGRATE_DIFFERS : NM_MIGRATE_SAME, b->name, b->why);
    }
    return r;
}

/* ---- suggestions -------------------------------------------------------------------------- */

static int add_suggestion(struct gather *g, const struct nm_yarn_suggestion *s)
{
    const struct nm_yarn_property *p = nm_yarn_conf_find(g->conf, s->name);
    _cleanup_free_ char *text = nm_yarn_suggestion_text(s, g->settings, false), *value = NULL;
    int r = text ? nm_yarn_conf_expand(g->conf, s->name, &value) : -ENOMEM;

    if (r == -ENOMEM)
        return r;
    return add(g, &(struct nm_migrate_entry){.group = NM_MIGRATE_SET,
                                             .need = s->is_needed ? NM_MIGRATE_NEEDED : NM_MIGRATE_SUGGESTED,
                                             .name = (char *)(uintptr_t)s->name, .value = value,
                                             .file = p ? (char *)(uintptr_t)p->file : NULL,
                                             .set_to = *s->value ? (char *)(uintptr_t)s->value : NULL,
                                             .sentence = text});
}

/* A refused value is no longer a matter of suggestions. */
static int add_suggestions(struct gather *g)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < nm_yarn_n_suggestions; i++) {
        const struct nm_yarn_suggestion *s = &nm_yarn_suggestions[i];

        if (s->applies(g->settings) && !nm_migrate_report_has(g->report, s->name, true))
            r = add_suggestion(g, s);
    }
    return r;
}

/* ---- the report --------------------------------------------------------------------------- */

/* Adds a warning about spark-shuffle-site.xml, which is about several properties. */
static void take_unused(const char *sentence, void *userdata)
{
    struct gather *g = userdata;

    if (g->error == 0)
        g->error = add(g, &(struct nm_migrate_entry){.group = NM_MIGRATE_DIFFERS,
                                                     .sentence = (char *)(uintptr_t)sentence});
}

static int fill(struct gather *g, const char *dir, const char *refused)
{
    _cleanup_(nm_refusals_done) struct nm_refusals unexpanded = {};
    int r = nm_yarn_rules_find(g->conf, add_violation, g, &unexpanded);

    if (r == 0)
        r = nm_yarn_native_services_find(g->conf, add_violation, g);
    if (r == 0)
        r = check_keys(g);
    if (r == 0)
        r = read_executor(g, dir);
    if (r == 0)
        r = add_refusals(g, refused);
    if (r == 0)
        r = add_providers(g);
    if (r == 0)
        r = add_others(g);
    return r == 0 ? add_suggestions(g) : r;
}

int nm_migrate_gather(const char *dir, struct nm_migrate_report *ret, char **ret_message)
{
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *settings = NULL;
    _cleanup_(nm_migrate_report_done) struct nm_migrate_report report = {};
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *conf = NULL;
    _cleanup_(nm_refusals_done) struct nm_refusals unread = {};
    _cleanup_free_ char *refused = NULL;
    struct gather g = {.report = &report};
    int r = nm_yarn_settings_new_conf(&conf);

    if (r == 0)
        r = nm_yarn_conf_read_dir(conf, dir, &unread, ret_message);
    if (r == 0)
        r = nm_yarn_spark_site_read(conf, dir, take_unused, &g, &unread);
    if (r == 0) /* a report about a part of the files would be wrong */
        r = nm_refusals_take(&unread, ret_message);
    if (r == 0)
        r = g.error;
    if (r < 0)
        return r;
    r = nm_yarn_settings_examine(dir, NULL, NULL, &settings, &refused);
    if (!settings)
        return nm_fail(ret_message, r, "%s: %s", dir, refused ?: strerror(-r));
    g.conf = conf;
    g.settings = settings;
    r = fill(&g, dir, refused);
    if (r < 0)
        return nm_fail(ret_message, r, "%s: %s", dir, strerror(-r));
    nm_migrate_report_sort(&report);
    *ret = report;
    report = (struct nm_migrate_report){};
    return 0;
}
