/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. The rules are those of Hadoop's ResourceUtils and UnitsConversionUtil. */

#include "yarn/conf/settings-parts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"

#define TYPES "yarn.resource-types"
#define NAME_MAX_SIZE 128u

/* ---- units -------------------------------------------------------------------------------- */

/* Units as fractions of integers, so that conversions are exact. */
static const struct {
    const char *name;
    int64_t numerator, denominator;
} units[] = {
    {"p", 1, INT64_C(1000000000000)}, {"n", 1, 1000000000}, {"u", 1, 1000000}, {"m", 1, 1000}, {"", 1, 1},
    {"k", 1000, 1}, {"M", 1000000, 1}, {"G", 1000000000, 1}, {"T", INT64_C(1000000000000), 1},
    {"P", INT64_C(1000000000000000), 1}, {"Ki", INT64_C(1) << 10, 1}, {"Mi", INT64_C(1) << 20, 1},
    {"Gi", INT64_C(1) << 30, 1}, {"Ti", INT64_C(1) << 40, 1}, {"Pi", INT64_C(1) << 50, 1},
};

static int find_unit(const char *name, size_t *ret)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(units); i++) {
        if (nm_streq(units[i].name, name)) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

int nm_yarn_resource_types_convert(int64_t amount, const char *from, const char *to, int64_t *ret)
{
    unsigned __int128 v;
    size_t f, t;

    if (amount < 0 || find_unit(from, &f) < 0 || find_unit(to, &t) < 0)
        return -EINVAL;
    /* Only conversions from the largest to the smallest units exceed 128 bits. Their results are too large anyway. */
    if (__builtin_mul_overflow((unsigned __int128)amount, (unsigned __int128)units[f].numerator, &v) ||
        __builtin_mul_overflow(v, (unsigned __int128)units[t].denominator, &v))
        return -ERANGE;
    v /= (unsigned __int128)units[t].numerator * (unsigned __int128)units[f].denominator;
    if (v > INT64_MAX)
        return -ERANGE;
    *ret = (int64_t)v;
    return 0;
}

/* ---- types -------------------------------------------------------------------------------- */

static bool is_builtin(const char *name)
{
    return nm_streq(name, "memory-mb") || nm_streq(name, "vcores");
}

/* Returns whether the word has only letters, digits and `more`, and begins with a letter or, if `digit`, with a
 * digit. */
static bool is_word(const char *text, size_t n, const char *more, bool digit)
{
    if (n == 0 || !(isalpha((unsigned char)*text) || (digit && isdigit((unsigned char)*text))))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isascii((unsigned char)text[i]) || (!isalnum((unsigned char)text[i]) && !strchr(more, text[i])))
            return false;
    return true;
}

/* Returns whether the name is valid: a word, with a domain and '/' before it or without. */
static bool is_name(const char *name)
{
    const char *slash = strchr(name, '/');

    return strlen(name) <= NAME_MAX_SIZE && !nm_streq(name, "memory") &&
           (!slash || is_word(name, (size_t)(slash - name), "-.", true)) &&
           is_word(slash ? slash + 1 : name, strlen(slash ? slash + 1 : name), "_.-", false);
}

void nm_yarn_resource_types_done(struct nm_yarn_settings *s)
{
    for (size_t i = 0; i < s->n_resource_types; i++) {
        free(s->resource_types[i].name);
        free(s->resource_types[i].units);
        free(s->resource_types[i].value);
        free(s->resource_types[i].source);
    }
    free(s->resource_types);
    s->resource_types = NULL;
    s->n_resource_types = 0;
}

static struct nm_yarn_resource_type *find(const struct nm_yarn_settings *s, const char *name)
{
    for (size_t i = 0; i < s->n_resource_types; i++)
        if (nm_streq(s->resource_types[i].name, name))
            return &s->resource_types[i];
    return NULL;
}

/* Returns the file that sets the property, for a message. */
static const char *file_of(const struct nm_yarn_conf *c, const char *name, char *buf, size_t size)
{
    const struct nm_yarn_property *p = nm_yarn_conf_find(c, name);

    return nm_yarn_conf_printable(p && p->file ? p->file : "by default", buf, size);
}

/* Refuses the value of a property. */
nm_printf(6, 7) static int refuse(const struct nm_yarn_conf *c, const char *name, const char *value, int error,
                                  char **ret_message, const char *why, ...)
{
    _cleanup_free_ char *reason = NULL;
    char file[200], shown_name[NAME_MAX_SIZE + 64], shown[120];
    va_list ap;

    va_start(ap, why);
    reason = nm_strdup_vprintf(why, ap);
    va_end(ap);
    return nm_fail(ret_message, error, "%s: %s = '%s': %s", file_of(c, name, file, sizeof file),
                   nm_yarn_conf_printable(name, shown_name, sizeof shown_name),
                   nm_yarn_conf_printable(value, shown, sizeof shown), reason ?: strerror(ENOMEM));
}

/* Refuses a property of a type. */
static int refuse_member(const struct nm_yarn_conf *c, const char *name, const char *member, const char *value,
                         int error, char **ret_message, const char *why)
{
    char whole[NAME_MAX_SIZE + 64];

    (void)snprintf(whole, sizeof whole, TYPES ".%s.%s", name, member);
    return refuse(c, whole, value, error, ret_message, "%s", why);
}

/* Returns the value of a property of a type in *ret, or a copy of the default. */
static int get(const struct nm_yarn_conf *c, const char *name, const char *member, const char *fallback, char **ret,
               char **ret_message)
{
    char whole[NAME_MAX_SIZE + 64];

    (void)snprintf(whole, sizeof whole, TYPES ".%s.%s", name, member);
    if (nm_yarn_conf_find(c, whole))
        return nm_yarn_conf_expand_or_report(c, whole, ret, ret_message);
    *ret = strdup(fallback);
    return *ret ? 0 : -ENOMEM;
}

/* Adds a type that the list names. list: the value of the property. */
static int add_type(const struct nm_yarn_conf *c, const char *list, const char *name, struct nm_yarn_settings *s,
                    char **ret_message)
{
    _cleanup_free_ char *unit = NULL, *type = NULL;
    struct nm_yarn_resource_type *t = &s->resource_types[s->n_resource_types];
    char shown[120];
    size_t unused;
    int r;

    nm_yarn_conf_printable(name, shown, sizeof shown);
    if (!is_name(name))
        return refuse(c, TYPES, list, -EINVAL, ret_message, "'%s' is not a valid name of a resource; a name begins "
                      "with a letter and has letters, digits, -, _ and dots, after an optional domain and /", shown);
    if (is_builtin(name))
        return 0;
    if (find(s, name))
        return refuse(c, TYPES, list, -EINVAL, ret_message, "%s is in the list twice", shown);
    if (s->n_resource_types == NM_YARN_RESOURCE_TYPES_MAX)
        return refuse(c, TYPES, list, -E2BIG, ret_message, "more than %u types", NM_YARN_RESOURCE_TYPES_MAX);
    r = get(c, name, "units", "", &unit, ret_message);
    if (r == 0)
        r = get(c, name, "type", "COUNTABLE", &type, ret_message);
    if (r < 0)
        return r;
    if (find_unit(unit, &unused) < 0)
        return refuse_member(c, name, "units", unit, -EINVAL, ret_message,
                             "must be one of p, n, u, m, k, M, G, T, P, Ki, Mi, Gi, Ti and Pi, or empty");
    if (!nm_streq(type, "COUNTABLE"))
        return refuse_member(c, name, "type", type, -EOPNOTSUPP, ret_message, "must be COUNTABLE");
    *t = (struct nm_yarn_resource_type){.name = strdup(name), .units = STEAL_PTR(unit)};
    s->n_resource_types++;
    return t->name ? 0 : -ENOMEM;
}

static int read_types(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, struct nm_refusals *refusals)
{
    _cleanup_free_ char *list = NULL, *words = NULL;
    char *rest, *name, *message = NULL;
    int r;

    s->resource_types = calloc(NM_YARN_RESOURCE_TYPES_MAX + 1, sizeof *s->resource_types);
    if (!s->resource_types)
        return -ENOMEM;
    if (!nm_yarn_conf_find(c, TYPES))
        return 0;
    r = nm_yarn_conf_expand_or_report(c, TYPES, &list, &message);
    if (r < 0)
        return nm_refusals_add(refusals, r, message);
    words = strdup(list);
    if (!words)
        return -ENOMEM;
    for (name = strtok_r(words, ", \t\r\n", &rest); r == 0 && name; name = strtok_r(NULL, ", \t\r\n", &rest)) {
        message = NULL;
        r = add_type(c, list, name, s, &message);
        r = nm_refusals_add(refusals, r, message);
    }
    return r;
}

/* ---- amounts ------------------------------------------------------------------------------ */

/* Parses a number with units, which a blank may separate. */
static int parse_amount(const char *text, const char *to, int64_t *ret)
{
    const size_t n = strspn(text, "0123456789");
    char digits[24] = "";
    uint64_t number;

    if (n == 0 || n >= sizeof digits)
        return -EINVAL;
    memcpy(digits, text, n);
    if (nm_parse_u64(digits, &number) < 0 || number > INT64_MAX)
        return -ERANGE;
    text += n + (text[n] == ' ');
    return nm_yarn_resource_types_convert((int64_t)number, text, to, ret);
}

/* Reads the node's amount of one resource. A GPU or FPGA is a device, which a plugin of Hadoop's NodeManager assigns to
 * containers. The plugin replaces the amount in the file by the number of devices. */
static int read_amount(const struct nm_yarn_conf *c, const struct nm_yarn_property *p, struct nm_yarn_settings *s,
                       char **ret_message)
{
    const char *name = p->name + strlen(NM_YARN_RESOURCE_PREFIX);
    struct nm_yarn_resource_type *t = find(s, name);
    _cleanup_free_ char *value = NULL;
    int r = nm_yarn_conf_expand_or_report(c, p->name, &value, ret_message);

    if (r < 0)
        return r;
    if (is_builtin(name))
        return refuse(c, p->name, value, -EINVAL, ret_message,
                      "set yarn.nodemanager.resource.memory-mb and cpu-vcores instead");
    if (!t)
        return refuse(c, p->name, value, -ENOENT, ret_message, TYPES " doesn't have this resource");
    if (nm_streq(name, NM_YARN_GPU) && nm_yarn_gpus_are_wanted(s))
        return 0;
    if (nm_streq(name, NM_YARN_GPU) || nm_streq(name, "yarn.io/fpga"))
        return refuse(c, p->name, value, -EOPNOTSUPP, ret_message,
                      "this is a device, and nmd offers devices only by a resource plugin; for GPUs, set "
                      NM_YARN_PLUGINS " = " NM_YARN_GPU " instead");
    r = parse_amount(value, t->units, &t->amount);
    if (r < 0)
        return refuse(c, p->name, value, r, ret_message,
                      "must be a number with units, such as 5 or 10Gi, which is not too large");
    free(t->value);
    free(t->source);
    t->value = STEAL_PTR(value);
    t->source = p->file ? strdup(p->file) : NULL;
    return t->source || !p->file ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct nm_yarn_resource_type *)a)->name, ((const struct nm_yarn_resource_type *)b)->name);
}

int nm_yarn_resource_types_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, struct nm_refusals *refusals)
{
    int r = read_types(c, s, refusals);

    for (size_t i = 0; r == 0 && i < nm_yarn_conf_count(c); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(c, i);
        char *message = NULL;

        if (strncmp(p->name, NM_YARN_RESOURCE_PREFIX, strlen(NM_YARN_RESOURCE_PREFIX)) == 0)
            r = read_amount(c, p, s, &message);
        r = nm_refusals_add(refusals, r, message);
    }
    if (r == 0 && s->n_resource_types > 0)
        qsort(s->resource_types, s->n_resource_types, sizeof *s->resource_types, compare);
    return r;
}
