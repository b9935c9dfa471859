/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. The rules are those of Hadoop's GpuDiscoverer. */

#include "yarn/conf/settings-parts.h"

#include <stdlib.h>
#include <strings.h>

#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"

#define LIST NM_YARN_PLUGINS ".gpu.allowed-gpu-devices"
#define AMOUNT NM_YARN_RESOURCE_PREFIX NM_YARN_GPU
#define BLANKS " \t\r\n"

bool nm_yarn_gpus_are_wanted(const struct nm_yarn_settings *s)
{
    for (size_t i = 0; s->gpus.plugins && s->gpus.plugins[i]; i++)
        if (strcasecmp(s->gpus.plugins[i], NM_YARN_GPU) == 0)
            return true;
    return false;
}

/* ---- the list ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct nm_yarn_gpu *x = a, *y = b;

    return x->index != y->index ? x->index - y->index : x->minor - y->minor;
}

static bool read_number(const char **at, uint64_t max, uint8_t *ret)
{
    uint64_t number;

    *at += strspn(*at, BLANKS);
    if (nm_parse_digits(at, &number) < 0 || number > max)
        return false;
    *at += strspn(*at, BLANKS);
    *ret = (uint8_t)number;
    return true;
}

/* Adds one GPU, unless its index or its minor number is in the list already. Hadoop refuses only equal pairs, but two
 * GPUs with one minor number are one device. */
static bool add(struct nm_yarn_gpu_settings *g, struct nm_yarn_gpu one)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->list[i].index == one.index || g->list[i].minor == one.minor)
            return false;
    g->list[g->n++] = one; /* minor numbers differ, so there are at most NM_YARN_GPUS_MAX */
    return true;
}

/* Reads INDEX:MINOR up to the next comma or the end. In any case, moves *at there. */
static bool read_item(const char **at, struct nm_yarn_gpu *ret)
{
    bool is_item = read_number(at, NM_YARN_GPU_INDEX_MAX, &ret->index) && **at == ':';

    *at += is_item;
    is_item = is_item && read_number(at, NM_YARN_GPUS_MAX - 1, &ret->minor) && (!**at || **at == ',');
    if (!is_item)
        *at += strcspn(*at, ",");
    return is_item;
}

enum { MALFORMED, FORBIDDEN, REPEATED, N_FAULTS };

/* Reads the list. Finds all of its faults, because an operator corrects them one after the other otherwise. */
static void read_list(const char *text, struct nm_yarn_gpu_settings *g, bool faults[N_FAULTS])
{
    struct nm_yarn_gpu one;

    for (;; text++) {
        if (!read_item(&text, &one)) {
            faults[MALFORMED] = true;
        } else {
            faults[FORBIDDEN] |= !(g->minors >> one.minor & 1);
            faults[REPEATED] |= !add(g, one);
        }
        if (!*text)
            return;
    }
}

/* Describes the faults. Returns the buffer; "" means that the list is valid. */
static const char *describe(const bool faults[N_FAULTS], char *buf, size_t size)
{
    static const char *const texts[N_FAULTS] = {
        [MALFORMED] = "must be auto, or INDEX:MINOR separated by commas, with indexes from 0 to 255 and minor numbers "
                      "from 0 to 63",
        [FORBIDDEN] = "container-executor.cfg has a list gpu.allowed-device-minor-numbers, without one of these minor "
                      "numbers",
        [REPEATED] = "an index or a minor number is in the list twice, but each must be there once",
    };
    size_t n = 0;

    *buf = '\0';
    for (size_t i = 0; i < N_FAULTS; i++)
        if (faults[i])
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n > 0 ? "; " : "", texts[i]);
    return buf;
}

/* ---- settings ----------------------------------------------------------------------------- */

static const struct nm_yarn_resource_type *find_type(const struct nm_yarn_settings *s)
{
    for (size_t i = 0; i < s->n_resource_types; i++)
        if (nm_streq(s->resource_types[i].name, NM_YARN_GPU))
            return &s->resource_types[i];
    return NULL;
}

/* Refuses the value of a property. */
static int refuse(const struct nm_yarn_conf *c, const char *name, int error, const char *why, char **ret_message)
{
    _cleanup_free_ char *value = NULL;
    const struct nm_yarn_property *p = nm_yarn_conf_find(c, name);
    char file[200], shown[120];
    int r = nm_yarn_conf_expand_or_report(c, name, &value, ret_message);

    if (r < 0)
        return r;
    return nm_fail(ret_message, error, "%s: %s = '%s': %s",
                   nm_yarn_conf_printable(p->file ?: "by default", file, sizeof file), name,
                   nm_yarn_conf_printable(value, shown, sizeof shown), why);
}

static int check_type(const struct nm_yarn_conf *c, const struct nm_yarn_settings *s, char **ret_message)
{
    const struct nm_yarn_resource_type *t = find_type(s);

    if (!t)
        return refuse(c, NM_YARN_PLUGINS, -ENOENT, "yarn.resource-types (resource-types.xml) doesn't have " NM_YARN_GPU,
                      ret_message);
    if (*t->units)
        return refuse(c, "yarn.resource-types." NM_YARN_GPU ".units", -EINVAL,
                      "must be empty, because GPUs are counted one by one", ret_message);
    return 0;
}

static int read_devices(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message)
{
    struct nm_yarn_gpu_settings *g = &s->gpus;
    bool faults[N_FAULTS] = {};
    char why[400];

    g->discovers = strcasecmp(g->allowed, "auto") == 0;
    if (!g->discovers)
        read_list(g->allowed, g, faults);
    if (*describe(faults, why, sizeof why)) {
        g->n = 0;
        return refuse(c, LIST, -EINVAL, why, ret_message);
    }
    if (g->n > 0)
        qsort(g->list, g->n, sizeof *g->list, compare);
    return 0;
}

/* Hadoop's file of defaults leaves the value empty, and its code then takes true. */
static int read_fail_fast(const struct nm_yarn_conf *c, struct nm_yarn_gpu_settings *g, char **ret_message)
{
    g->fail_fast = strcasecmp(g->fail_fast_text, "false") != 0;
    if (!g->fail_fast || !*g->fail_fast_text || strcasecmp(g->fail_fast_text, "true") == 0)
        return 0;
    return refuse(c, NM_YARN_PLUGINS ".fail-fast", -EINVAL, "must be true or false", ret_message);
}

int nm_yarn_gpus_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, nm_yarn_warn_t warn, void *userdata,
                      struct nm_refusals *refusals)
{
    struct nm_yarn_gpu_settings *g = &s->gpus;
    char *message = NULL;
    int r;

    if (!nm_yarn_gpus_are_wanted(s))
        return 0;
    g->enabled = true;
    g->major = s->executor_rules.gpu_major ?: NM_YARN_GPU_MAJOR;
    g->minors = s->executor_rules.gpu_minors ?: UINT64_MAX;
    if (warn && nm_yarn_conf_find(c, AMOUNT))
        warn(AMOUNT ": has no effect, because the node offers the GPUs of " LIST, userdata);
    r = check_type(c, s, &message);
    r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    if (r == 0) {
        r = read_fail_fast(c, g, &message);
        r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    }
    if (r == 0) {
        r = read_devices(c, s, &message);
        r = nm_refusals_add(refusals, r, message);
    }
    return r;
}
