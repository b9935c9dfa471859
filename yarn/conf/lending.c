/* SPDX-License-Identifier: Apache-2.0 */

/* See lending.h. */

#include "yarn/conf/lending.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/error.h"
#include "util/parse.h"

#define LENDING "nmd.lending"
#define OBSERVE "observe"
#define ALLOWED "allowed"
#define WISH_ON "on"
#define DEFAULT_SEC 30 /* of "observe" and of a wish "on" */
#define SEC_MAX 86400
#define RULES "off, allowed, overflow:SECONDS (1 to 86400), percent:N (1 to 100) or all"
#define SHOWN_SIZE 120

const char nm_yarn_lending_allowed[] = RULES;
const char nm_yarn_lending_values[] = OBSERVE ", " RULES;

static const struct {
    enum nm_yarn_lending_source source;
    const char *prefix;
} families[] = {
    {NM_YARN_LENDING_USER, LENDING ".user."},
    {NM_YARN_LENDING_QUEUE, LENDING ".queue."},
    {NM_YARN_LENDING_TYPE, LENDING ".type."},
};

const char *nm_yarn_lending_prefix(enum nm_yarn_lending_source source)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(families); i++)
        if (families[i].source == source)
            return families[i].prefix;
    return "";
}

/* ---- the text of a rule -------------------------------------------------------------------- */

/* Parses the number after "NAME:", from 1 to max. Returns false if the text is something else. */
static bool parse_number_of(const char *text, const char *name, uint64_t max, uint64_t *ret)
{
    const size_t n = strlen(name);
    uint64_t v;

    if (strncmp(text, name, n) != 0 || text[n] != ':' || nm_parse_u64(text + n + 1, &v) < 0 || v < 1 || v > max)
        return false;
    *ret = v;
    return true;
}

static struct nm_lend_rule overflow_rule(uint64_t sec)
{
    return (struct nm_lend_rule){.mode = NM_LEND_OVERFLOW, .after_usec = sec * NM_USEC_PER_SEC};
}

int nm_yarn_lending_parse(const char *text, struct nm_yarn_lending_rule *ret)
{
    struct nm_yarn_lending_rule parsed = {};
    uint64_t v;

    if (nm_streq(text, ALLOWED))
        parsed.applications_choose = true;
    else if (nm_streq(text, "all"))
        parsed.rule.mode = NM_LEND_ALL;
    else if (parse_number_of(text, "overflow", SEC_MAX, &v))
        parsed.rule = overflow_rule(v);
    else if (parse_number_of(text, "percent", 100, &v))
        parsed.rule = (struct nm_lend_rule){.mode = NM_LEND_PERCENT, .percent = (unsigned)v};
    else if (!nm_streq(text, "off"))
        return -EINVAL;
    *ret = parsed;
    return 0;
}

bool nm_yarn_lending_is_value(const char *text)
{
    struct nm_yarn_lending_rule ignored;

    return nm_streq(text, OBSERVE) || nm_yarn_lending_parse(text, &ignored) == 0;
}

void nm_yarn_lending_format(const struct nm_lend_rule *rule, char *buf, size_t size)
{
    switch (rule->mode) {
    case NM_LEND_OVERFLOW:
        (void)snprintf(buf, size, "overflow:%" PRIu64, rule->after_usec / NM_USEC_PER_SEC);
        break;
    case NM_LEND_PERCENT:
        (void)snprintf(buf, size, "percent:%u", rule->percent);
        break;
    case NM_LEND_ALL:
        (void)snprintf(buf, size, "all");
        break;
    default:
        (void)snprintf(buf, size, "off");
    }
}

/* ---- the properties ------------------------------------------------------------------------ */

static bool permits_something(const struct nm_yarn_lending_rule *rule)
{
    return rule->applications_choose || rule->rule.mode != NM_LEND_OFF;
}

/* Returns the family of a property that a file has set. -1: the property belongs to none. */
static int find_family(const struct nm_yarn_property *p)
{
    for (size_t i = 0; p->file && i < NM_ARRAY_SIZE(families); i++)
        if (strncmp(p->name, families[i].prefix, strlen(families[i].prefix)) == 0)
            return (int)i;
    return -1;
}

int nm_yarn_lending_is_enabled(const struct nm_yarn_conf *c)
{
    for (size_t i = 0; i < nm_yarn_conf_count(c); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(c, i);
        _cleanup_free_ char *value = NULL;
        int r;

        if (!nm_streq(p->name, LENDING) && find_family(p) < 0)
            continue;
        r = nm_yarn_conf_expand(c, p->name, &value);
        if (r == -ENOMEM)
            return r;
        if (r == 0 && !nm_streq(value, "off"))
            return 1;
    }
    return 0;
}

static void free_override(struct nm_yarn_lending_override *o)
{
    free(o->name);
    free(o->value);
    free(o->file);
    *o = (struct nm_yarn_lending_override){};
}

void nm_yarn_lending_done(struct nm_yarn_lending *l)
{
    for (size_t i = 0; i < l->n_overrides; i++)
        free_override(&l->overrides[i]);
    free(l->overrides);
    l->overrides = NULL;
    l->n_overrides = 0;
}

static bool is_listed(char *const *types, const char *type)
{
    for (size_t i = 0; types && types[i]; i++)
        if (strcasecmp(types[i], type) == 0)
            return true;
    return false;
}

static int refuse(const struct nm_yarn_property *p, const char *value, char **ret_message, const char *why)
{
    char where[200], name[SHOWN_SIZE], shown[SHOWN_SIZE];

    return nm_fail(ret_message, -EINVAL, "%s: %s = '%s': %s", nm_yarn_conf_printable(p->file, where, sizeof where),
                   nm_yarn_conf_printable(p->name, name, sizeof name),
                   nm_yarn_conf_printable(value, shown, sizeof shown), why);
}

static int read_override(const struct nm_yarn_conf *c, const struct nm_yarn_property *p, size_t family,
                         struct nm_yarn_lending *l, char **ret_message)
{
    _cleanup_(free_override) struct nm_yarn_lending_override o = {.source = families[family].source};
    const char *name = p->name + strlen(families[family].prefix);
    int r = nm_yarn_conf_expand_or_report(c, p->name, &o.value, ret_message);

    if (r < 0)
        return r;
    if (!*name)
        return refuse(p, o.value, ret_message, "the name of a user, queue or type is missing at the property's end");
    if (nm_yarn_lending_parse(o.value, &o.is) < 0)
        return refuse(p, o.value, ret_message, "must be " RULES);
    if (o.source == NM_YARN_LENDING_TYPE && permits_something(&o.is) && !is_listed(l->types, name))
        return refuse(p, o.value, ret_message, "has no effect, because " LENDING ".types doesn't list this type");
    o.name = strdup(name);
    o.file = strdup(p->file);
    if (!o.name || !o.file)
        return -ENOMEM;
    l->overrides[l->n_overrides++] = o;
    o = (struct nm_yarn_lending_override){};
    return 0;
}

static int read_overrides(const struct nm_yarn_conf *c, struct nm_yarn_lending *l, struct nm_refusals *refusals)
{
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; i < nm_yarn_conf_count(c); i++)
        n += find_family(nm_yarn_conf_at(c, i)) >= 0;
    if (n > 0 && !(l->overrides = calloc(n, sizeof *l->overrides)))
        return -ENOMEM;
    for (size_t i = 0; r == 0 && n > 0 && i < nm_yarn_conf_count(c); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(c, i);
        const int family = find_family(p);
        char *message = NULL;

        if (family >= 0)
            r = read_override(c, p, (size_t)family, l, &message);
        r = nm_refusals_add(refusals, r, message);
    }
    return r;
}

/* Refuses lending without a scheduler that avoids Java NodeManagers. */
static int check_scheduler(const struct nm_yarn_conf *c, bool distributed, const struct nm_yarn_lending *l,
                           char **ret_message)
{
    static const char why[] = "lending needs yarn.nodemanager.distributed-scheduling.enabled = true, because the "
                              "ResourceManager's own scheduler also places lent containers on Java NodeManagers, where "
                              "they only wait. If all nodes run nmd, set " LENDING ".central = true. Without either, "
                              "only off and observe are allowed";
    const struct nm_yarn_property *p = nm_yarn_conf_find(c, LENDING);

    if (!l->enabled || l->observes || distributed || l->central)
        return 0;
    if (permits_something(&l->cluster) && p && p->file)
        return refuse(p, l->text, ret_message, why);
    for (size_t i = 0; i < l->n_overrides; i++) {
        const struct nm_yarn_lending_override *o = &l->overrides[i];
        _cleanup_free_ char *name = NULL;

        if (!permits_something(&o->is))
            continue;
        if (!(name = nm_strdup_printf("%s%s", nm_yarn_lending_prefix(o->source), o->name)))
            return -ENOMEM;
        return refuse(&(struct nm_yarn_property){.name = name, .file = o->file}, o->value, ret_message, why);
    }
    return 0;
}

int nm_yarn_lending_read(const struct nm_yarn_conf *c, bool distributed, struct nm_yarn_lending *l, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r;

    l->observes = nm_streq(l->text, OBSERVE);
    if (l->observes)
        l->cluster = (struct nm_yarn_lending_rule){.rule = overflow_rule(DEFAULT_SEC)};
    else
        (void)nm_yarn_lending_parse(l->text, &l->cluster); /* the table has checked the text */
    l->enabled = permits_something(&l->cluster);
    r = read_overrides(c, l, &refusals);
    for (size_t i = 0; i < l->n_overrides; i++)
        l->enabled |= permits_something(&l->overrides[i].is);
    if (r == 0) {
        r = check_scheduler(c, distributed, l, &message);
        r = nm_refusals_add(&refusals, r, message);
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

/* ---- the choice of the rule ---------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Orders rules by how much they lend: off, overflow (a longer time is lower), percent, all. */
static int compare_rules(const struct nm_lend_rule *a, const struct nm_lend_rule *b)
{
    if (a->mode != b->mode)
        return compare_numbers(a->mode, b->mode);
    if (a->mode == NM_LEND_OVERFLOW)
        return compare_numbers(b->after_usec, a->after_usec);
    return a->mode == NM_LEND_PERCENT ? compare_numbers(a->percent, b->percent) : 0;
}

/* Orders rules of the configuration. A rule by which applications choose is the highest, because an application may
 * choose `all`. */
static bool is_lower(const struct nm_yarn_lending_rule *a, const struct nm_yarn_lending_rule *b)
{
    if (a->applications_choose != b->applications_choose)
        return b->applications_choose;
    return compare_rules(&a->rule, &b->rule) < 0;
}

static const char *last_part(const char *queue)
{
    const char *dot = strrchr(queue, '.');

    return dot ? dot + 1 : queue;
}

/* Returns whether an override applies to an application: 0, 1, or 2 if the name of the queue is the same. */
static int match(const struct nm_yarn_lending_override *o, const struct nm_yarn_lending_application *a)
{
    const bool is_path = strchr(o->name, '.');

    switch (o->source) {
    case NM_YARN_LENDING_USER:
        return a->user && nm_streq(o->name, a->user);
    case NM_YARN_LENDING_TYPE:
        return a->type && strcasecmp(o->name, a->type) == 0;
    default:
        if (!a->queue || nm_streq(o->name, a->queue))
            return a->queue ? 2 : 0;
        /* two different paths are different queues, although their last parts may be the same */
        return !(is_path && strchr(a->queue, '.')) && nm_streq(last_part(o->name), last_part(a->queue));
    }
}

/* Returns the override of this source that applies, or NULL. */
static const struct nm_yarn_lending_override *find_override(const struct nm_yarn_lending *l,
                                                           enum nm_yarn_lending_source source,
                                                           const struct nm_yarn_lending_application *a)
{
    const struct nm_yarn_lending_override *found = NULL;
    int best = 0;

    for (size_t i = 0; i < l->n_overrides; i++) {
        const struct nm_yarn_lending_override *o = &l->overrides[i];
        const int m = o->source == source ? match(o, a) : 0;

        if (m == 0 || m < best || (m == best && !is_lower(&o->is, &found->is)))
            continue;
        found = o;
        best = m;
    }
    return found;
}

static bool has_overrides(const struct nm_yarn_lending *l, enum nm_yarn_lending_source source)
{
    for (size_t i = 0; i < l->n_overrides; i++)
        if (l->overrides[i].source == source)
            return true;
    return false;
}

/* Chooses what the configuration says about the application, before its wish. Returns the rule, or NULL if nothing may
 * be lent. Sets *ret_source in both cases. */
static const struct nm_yarn_lending_rule *choose_configured(const struct nm_yarn_lending *l,
                                                            const struct nm_yarn_lending_application *a,
                                                            enum nm_yarn_lending_source *ret_source)
{
    const struct nm_yarn_lending_override *o = find_override(l, NM_YARN_LENDING_USER, a);
    const struct nm_yarn_lending_rule *rule;

    *ret_source = NM_YARN_LENDING_QUEUE;
    if (!o && !a->queue && has_overrides(l, NM_YARN_LENDING_QUEUE))
        return NULL;
    if (!o)
        o = find_override(l, NM_YARN_LENDING_QUEUE, a);
    *ret_source = NM_YARN_LENDING_NO_TYPE;
    if (!o && !a->type && has_overrides(l, NM_YARN_LENDING_TYPE))
        return NULL;
    if (!o)
        o = find_override(l, NM_YARN_LENDING_TYPE, a);
    *ret_source = o ? o->source : NM_YARN_LENDING_CLUSTER;
    rule = o ? &o->is : &l->cluster;
    if (!permits_something(rule) || (a->type && is_listed(l->types, a->type)))
        return rule;
    *ret_source = a->type ? NM_YARN_LENDING_TYPES : NM_YARN_LENDING_NO_TYPE;
    return NULL;
}

/* Returns whether the wish is a rule. */
static bool parse_wish(const char *text, struct nm_lend_rule *ret)
{
    struct nm_yarn_lending_rule parsed;

    if (nm_streq(text, WISH_ON)) {
        *ret = overflow_rule(DEFAULT_SEC);
        return true;
    }
    if (nm_yarn_lending_parse(text, &parsed) < 0 || parsed.applications_choose)
        return false;
    *ret = parsed.rule;
    return true;
}

void nm_yarn_lending_choose(const struct nm_yarn_lending *l, const struct nm_yarn_lending_application *a,
                            struct nm_yarn_lending_choice *ret)
{
    struct nm_yarn_lending_choice choice = {};
    const struct nm_yarn_lending_rule *rule = choose_configured(l, a, &choice.source);
    struct nm_lend_rule wish = {};

    choice.wish_invalid = a->wish && !parse_wish(a->wish, &wish);
    choice.lacks_wish = rule && rule->applications_choose && !a->wish;
    if (rule)
        choice.rule = rule->rule;
    if (rule && a->wish && (rule->applications_choose || compare_rules(&wish, &rule->rule) < 0)) {
        choice.rule = wish;
        choice.source = NM_YARN_LENDING_APPLICATION;
    }
    *ret = choice;
}

void nm_yarn_lending_format_choice(const struct nm_yarn_lending_choice *c, char *buf, size_t size)
{
    if (c->lacks_wish)
        (void)snprintf(buf, size, ALLOWED);
    else
        nm_yarn_lending_format(&c->rule, buf, size);
}
