/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. */

#include "yarn/conf/settings-parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <unistd.h>

#include "util/error.h"
#include "util/parse.h"

#define PREFIX "nmd."
#define HADOOPS_MAX 20 /* number of Hadoop's properties that have the same meaning as a key of nmd */
#define OWN_MAX 200

static const char *const sections[] = {"over-allocation", "queue", "preemption"};

struct list {
    struct nm_config_default *all; /* has room for all items and the entry that ends the list */
    size_t n;
};

void nm_yarn_defaults_free(struct nm_config_default *list)
{
    for (struct nm_config_default *d = list; d && d->section; d++) {
        free((char *)(uintptr_t)d->section);
        free((char *)(uintptr_t)d->name);
        free((char *)(uintptr_t)d->value);
        free((char *)(uintptr_t)d->source);
    }
    free(list);
}

/* Adds an item. The item is freed with the list, even if only some of its strings could be allocated. */
static int add(struct list *to, const char *section, const char *name, const char *value, const char *source)
{
    struct nm_config_default *d = &to->all[to->n];

    *d = (struct nm_config_default){strdup(section), strdup(name), strdup(value), strdup(source)};
    if (d->section)
        to->n++;
    if (d->section && d->name && d->value && d->source)
        return 0;
    if (!d->section) {
        free((char *)(uintptr_t)d->name);
        free((char *)(uintptr_t)d->value);
        free((char *)(uintptr_t)d->source);
        *d = (struct nm_config_default){};
    }
    return -ENOMEM;
}

nm_printf(5, 6) static int add_print(struct list *to, const char *section, const char *name, const char *source,
                                     const char *format, ...)
{
    char text[40];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return add(to, section, name, text, source);
}

/* ---- Hadoop's properties ------------------------------------------------------------------ */

/* Returns the file that has set the property of this field, or NULL. */
static const char *file_of(const struct nm_yarn_settings *s, const void *field)
{
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        if ((const char *)s + nm_yarn_keys[i].offset == (const char *)field)
            return s->sources[i];
    assert(false);
    return NULL;
}

static const char *source_of(const struct nm_yarn_settings *s, const void *field)
{
    return file_of(s, field) ?: "Hadoop's default";
}

/* Adds a number if it is set. Not set: -1, or 0 for a cluster without a queue. If there is no item, nmd's own setting
 * applies. */
static int add_number(struct list *to, const char *section, const char *name, const struct nm_yarn_settings *s,
                      const int64_t *field, const char *unit)
{
    return *field > 0 ? add_print(to, section, name, source_of(s, field), "%" PRId64 "%s", *field, unit) : 0;
}

static int add_time(struct list *to, const char *section, const char *name, const struct nm_yarn_settings *s,
                    const uint64_t *field)
{
    return add_print(to, section, name, source_of(s, field), "%" PRIu64 "ms", *field / 1000);
}

static int add_share(struct list *to, const char *section, const char *name, double value, const char *source)
{
    return value > 0 ? add_print(to, section, name, source, "%.9f", value) : 0;
}

/* Hadoop's default for the memory of a node. nmd uses it only on clearly larger hosts. Otherwise the host would offer
 * memory that it doesn't have. */
#define USUAL_MEMORY_MIB 8192
#define USUAL_VCORES 8

static bool has_usual_memory(void)
{
    const int64_t mib = (int64_t)sysconf(_SC_PHYS_PAGES) / ((int64_t)NM_MIB / sysconf(_SC_PAGESIZE));

    return mib >= USUAL_MEMORY_MIB + USUAL_MEMORY_MIB / 4;
}

/* Returns true if nmd measures the node's memory. This is the case if no size is set, and detection is on or the host
 * is too small for Hadoop's default. */
static bool is_measured(const struct nm_yarn_settings *s)
{
    return s->memory_mib < 0 && (s->detects_hardware || !has_usual_memory());
}

/* Adds the node's size. In Hadoop, -1 means a fixed default size unless hardware detection is on. This default size
 * must be added here explicitly, because nmd measures the host if no size is set. */
static int add_size(struct list *to, const struct nm_yarn_settings *s)
{
    int r = add_number(to, "node", "memory", s, &s->memory_mib, "M");

    if (r == 0 && s->memory_mib < 0 && !is_measured(s))
        r = add_print(to, "node", "memory", source_of(s, &s->memory_mib), "%dM", USUAL_MEMORY_MIB);
    if (r == 0)
        r = add_number(to, "node", "vcores", s, &s->vcores, "");
    if (r == 0 && s->vcores < 0 && !s->detects_hardware)
        r = add_print(to, "node", "vcores", source_of(s, &s->vcores), "%d", USUAL_VCORES);
    return r;
}

static int add_node(struct list *to, const struct nm_yarn_settings *s)
{
    int r = add_size(to, s);

    if (r == 0 && s->reserved_memory_mib >= 0 && is_measured(s))
        r = add_print(to, "node", "system-reserved-memory", source_of(s, &s->reserved_memory_mib), "%" PRId64 "M",
                      s->reserved_memory_mib);
    if (r == 0)
        r = add_number(to, "queue", "max-length", s, &s->queue_max_length, "");
    if (r == 0 && s->queue_by_resources)
        r = add(to, "queue", "policy", "by-resources", source_of(s, &s->queue_by_resources));
    if (r < 0 || !*s->health_script)
        return r;
    r = add(to, "health", "script", s->health_script, source_of(s, &s->health_script));
    if (r == 0)
        r = add_time(to, "health", "period", s, &s->health_period_usec);
    return r == 0 ? add_time(to, "health", "timeout", s, &s->health_timeout_usec) : r;
}

/* Adds the thresholds. If a threshold isn't set, it takes the value of the general threshold. */
static int add_thresholds(struct list *to, const struct nm_yarn_settings *s)
{
    const char *general = source_of(s, &s->general_alpha);
    int r = add_share(to, "over-allocation", "memory-threshold", s->memory_alpha,
                      file_of(s, &s->memory_alpha) ?: general);

    if (r == 0)
        r = add_share(to, "over-allocation", "cpu-threshold", s->cpu_alpha, file_of(s, &s->cpu_alpha) ?: general);
    if (r == 0)
        r = add_share(to, "preemption", "memory-threshold", s->memory_beta, source_of(s, &s->memory_beta));
    if (r == 0)
        r = add_share(to, "preemption", "cpu-threshold", s->cpu_beta, source_of(s, &s->cpu_beta));
    return r == 0 ? add_number(to, "preemption", "cpu-samples", s, &s->cpu_samples, "") : r;
}

static int add_policies(struct list *to, const struct nm_yarn_settings *s)
{
    int r = add(to, "preemption", "pause", s->pauses ? "yes" : "no", source_of(s, &s->pauses));

    return r == 0 ? add_time(to, "preemption", "kill-grace", s, &s->term_usec) : r;
}

/* ---- nmd's own keys ----------------------------------------------------------------------- */

/* Splits a property nmd.SECTION.KEY into section and key. Returns false for any other property. */
static bool is_own(const char *property, char *section, size_t size, const char **ret_key)
{
    const char *rest = property + strlen(PREFIX), *dot;

    if (strncmp(property, PREFIX, strlen(PREFIX)) != 0 || !(dot = strchr(rest, '.')))
        return false;
    for (size_t i = 0; i < NM_ARRAY_SIZE(sections); i++)
        if (strlen(sections[i]) == (size_t)(dot - rest) && strncmp(sections[i], rest, strlen(sections[i])) == 0) {
            (void)snprintf(section, size, "%s", sections[i]);
            *ret_key = dot + 1;
            return true;
        }
    return false;
}

static bool can_be_shown(const char *text)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] <= '~')
        n++;
    return !text[n] && n <= OWN_MAX;
}

static int add_own_key(struct list *to, const struct nm_yarn_conf *c, const struct nm_yarn_property *p,
                       const char *section, const char *key, char **ret_message)
{
    _cleanup_free_ char *value = NULL;
    char name[120], text[120], file[200];
    int r = nm_yarn_conf_expand_or_report(c, p->name, &value, ret_message);

    if (r < 0)
        return r;
    if (!can_be_shown(key) || !can_be_shown(value))
        return nm_fail(ret_message, -EINVAL, "%s: %s = '%s': must be one line of at most %d ASCII characters",
                       nm_yarn_conf_printable(p->file, file, sizeof file),
                       nm_yarn_conf_printable(p->name, name, sizeof name),
                       nm_yarn_conf_printable(value, text, sizeof text), OWN_MAX);
    return add(to, section, key, value, p->file);
}

static int add_own(struct list *to, const struct nm_yarn_conf *c, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};

    for (size_t i = 0; i < nm_yarn_conf_count(c); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(c, i);
        char section[40];
        const char *key;
        char *message = NULL;
        int r = 0;

        if (p->file && is_own(p->name, section, sizeof section, &key))
            r = add_own_key(to, c, p, section, key, &message);
        r = nm_refusals_add(&refusals, r, message);
        if (r < 0)
            return r;
    }
    return nm_refusals_take(&refusals, ret_message);
}

int nm_yarn_defaults_make(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message)
{
    struct list list = {.all = calloc(nm_yarn_conf_count(c) + HADOOPS_MAX, sizeof *list.all)};
    int r = list.all ? add_node(&list, s) : -ENOMEM;

    if (r == 0)
        r = add_thresholds(&list, s);
    if (r == 0)
        r = add_policies(&list, s);
    assert(r < 0 || list.n < HADOOPS_MAX);
    if (r == 0)
        r = add_own(&list, c, ret_message);
    if (r == 0)
        s->defaults = list.all;
    else
        nm_yarn_defaults_free(list.all);
    return r;
}
