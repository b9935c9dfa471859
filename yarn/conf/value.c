/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. */

#include "yarn/conf/settings-parts.h"

#include <ctype.h>
#include <inttypes.h>

#include "util/error.h"
#include "util/parse.h"

#define DIRS_MAX 64      /* limit of nm-shuffle */
#define DIR_MAX_SIZE 512 /* the text of nm_yarn_value_allowed() contains both limits */

/* Parses a boolean. As in Hadoop, only "true" and "false" are valid. */
static int parse_bool(const char *text, bool *ret)
{
    if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0)
        return -EINVAL;
    *ret = strcasecmp(text, "true") == 0;
    return 0;
}

static int parse_queue_policy(const char *text, bool *ret)
{
    if (!nm_streq(text, "BY_QUEUE_LEN") && !nm_streq(text, "BY_RESOURCES"))
        return -EINVAL;
    *ret = nm_streq(text, "BY_RESOURCES");
    return 0;
}

/* Parses an optional sign and decimal digits, without blanks. */
static int parse_number(const char *text, int64_t min, int64_t max, int64_t *ret)
{
    bool negative = *text == '-';
    uint64_t v;
    int64_t signed_v;

    if (nm_parse_u64(text + negative, &v) < 0 || v > INT64_MAX)
        return -EINVAL;
    signed_v = negative ? -(int64_t)v : (int64_t)v;
    if (signed_v < min || signed_v > max)
        return -ERANGE;
    *ret = signed_v;
    return 0;
}

struct unit {
    const char *name; /* NULL: the end of a list */
    uint64_t nsec;
};

#define MINUTE_NSEC UINT64_C(60000000000)
#define SECOND_AND_LONGER {"s", 1000000000}, {"m", MINUTE_NSEC}, {"h", 60 * MINUTE_NSEC}, {"d", 1440 * MINUTE_NSEC}
static const struct unit hadoop_units[] = {{"", 1000000}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, SECOND_AND_LONGER,
                                           {NULL, 0}};
static const struct unit spark_units[] = {{"", 1000000000}, {"us", 1000}, {"ms", 1000000}, {"min", MINUTE_NSEC},
                                          SECOND_AND_LONGER, {NULL, 0}};

/* Parses a time such as "30000", "30s" or "10m". The limits are in milliseconds. */
static int parse_time(const char *text, const struct unit *units, int64_t min, int64_t max, uint64_t *ret_usec)
{
    char digits[24];
    size_t n = strspn(text, "0123456789");
    uint64_t v, nsec;

    if (n == 0 || n >= sizeof digits)
        return -EINVAL;
    memcpy(digits, text, n);
    digits[n] = '\0';
    for (const struct unit *u = units; u->name; u++) {
        if (strcasecmp(text + n, u->name) != 0)
            continue;
        if (nm_parse_u64(digits, &v) < 0 || __builtin_mul_overflow(v, u->nsec, &nsec) ||
            nsec < (uint64_t)min * 1000000 || nsec > (uint64_t)max * 1000000)
            return -ERANGE;
        *ret_usec = nsec / 1000;
        return 0;
    }
    return -EINVAL;
}

static bool is_host(const char *text, size_t n)
{
    if (n == 0 || n > 253)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr(".-_:", text[i]))
            return false;
    return true;
}

/* Parses an address such as "name:8031" or "[::1]:8031". */
static int parse_address(const char *text, int64_t min, int64_t max, struct nm_yarn_address *ret)
{
    const char *colon = strrchr(text, ':'), *host = text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    int64_t port;
    int r;

    if (!colon)
        return -EINVAL;
    if (n > 2 && text[0] == '[' && text[n - 1] == ']') {
        host++;
        n -= 2;
    } else if (memchr(text, ':', n)) {
        return -EINVAL;
    }
    if (!is_host(host, n))
        return -EINVAL;
    r = parse_number(colon + 1, min, max, &port);
    if (r < 0)
        return r;
    host = strndup(host, n);
    if (!host)
        return -ENOMEM;
    free(ret->host);
    *ret = (struct nm_yarn_address){(char *)host, (uint16_t)port};
    return 0;
}

/* Replaces *ret by a copy of the text, and frees the former text. */
static int take_copy(const char *text, char **ret)
{
    char *copy = strdup(text);

    if (!copy)
        return -ENOMEM;
    free(*ret);
    *ret = copy;
    return 0;
}

static int parse_host(const char *text, char **ret)
{
    return is_host(text, strlen(text)) ? take_copy(text, ret) : -EINVAL;
}

static int parse_share(const char *text, int64_t min, int64_t max, double *ret)
{
    bool negative = *text == '-' && min < 0;
    char *end;
    double v;

    if (!isdigit((unsigned char)text[negative])) /* strtod() would also accept blanks, signs, "inf" and "nan" */
        return -EINVAL;
    errno = 0;
    v = strtod(text, &end);
    if (*end || errno != 0 || strpbrk(text, "xXpP"))
        return -EINVAL;
    if (v < (double)min || v > (double)max)
        return -ERANGE;
    *ret = v;
    return 0;
}

/* Parses a text. Control characters are invalid, since the value may be copied to a script, a log or a terminal. */
static int parse_text(const char *text, char **ret)
{
    for (const char *p = text; *p; p++)
        if (iscntrl((unsigned char)*p))
            return -EINVAL;
    return take_copy(text, ret);
}

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}
NM_DEFINE_CLEANUP(char **, free_list)

/* Parses words separated by commas. As in Hadoop, blanks around words and empty words are ignored. */
static int parse_list(const char *text, char ***ret)
{
    static const char separators[] = ",\n", blanks[] = " \t\r,\n";
    _cleanup_(free_listp) char **list = calloc(strlen(text) / 2 + 2, sizeof *list);
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    for (const char *p = text + strspn(text, blanks); *p; p += strspn(p, blanks)) {
        const char *end = p + strcspn(p, separators), *last = end;

        while (strchr(blanks, last[-1]))
            last--;
        if (!(list[n++] = strndup(p, (size_t)(last - p))))
            return -ENOMEM;
        p = end;
    }
    free_list(*ret);
    *ret = STEAL_PTR(list);
    return 0;
}

/* Checks a path. It must not need quotes, because it is copied to scripts, with or without double quotes, and to
 * comma-separated lists. */
static bool is_dir(const char *name)
{
    if (*name != '/' || strlen(name) > DIR_MAX_SIZE)
        return false;
    for (const char *p = name; *p; p++)
        if (!isgraph((unsigned char)*p) || strchr("\"$`\\'", *p))
            return false;
    return true;
}

/* Parses paths. As in Hadoop, file: URIs are allowed. */
static int parse_dirs(const char *text, char ***ret)
{
    _cleanup_(free_listp) char **list = NULL;
    size_t n;
    int r = parse_list(text, &list);

    if (r < 0)
        return r;
    for (n = 0; list[n]; n++) {
        if (strncmp(list[n], "file://", 7) == 0)
            memmove(list[n], list[n] + 7, strlen(list[n] + 7) + 1);
        if (n == DIRS_MAX || !is_dir(list[n]))
            return -EINVAL;
    }
    if (n == 0)
        return -EINVAL;
    free_list(*ret);
    *ret = STEAL_PTR(list);
    return 0;
}

int nm_yarn_value_parse(const struct nm_yarn_key *k, const char *text, struct nm_yarn_settings *s)
{
    void *field = (char *)s + k->offset;

    switch (k->type) {
    case NM_YARN_BOOL:
        return parse_bool(text, field);
    case NM_YARN_NUMBER:
        return parse_number(text, k->min, k->max, field);
    case NM_YARN_MSEC:
        return parse_time(text, hadoop_units, k->min, k->max, field);
    case NM_YARN_SPARK_TIME:
        return parse_time(text, spark_units, k->min, k->max, field);
    case NM_YARN_HOST:
        return parse_host(text, field);
    case NM_YARN_SHARE:
        return parse_share(text, k->min, k->max, field);
    case NM_YARN_QUEUE_POLICY:
        return parse_queue_policy(text, field);
    case NM_YARN_TEXT:
        return parse_text(text, field);
    case NM_YARN_LIST:
        return parse_list(text, field);
    case NM_YARN_DIRS:
        return parse_dirs(text, field);
    case NM_YARN_LENDING_TEXT:
        return nm_yarn_lending_is_value(text) ? take_copy(text, field) : -EINVAL;
    default:
        return parse_address(text, k->min, k->max, field);
    }
}

const char *nm_yarn_value_allowed(const struct nm_yarn_key *k, char *buf, size_t size)
{
    switch (k->type) {
    case NM_YARN_BOOL:
        return "true or false";
    case NM_YARN_QUEUE_POLICY:
        return "BY_QUEUE_LEN or BY_RESOURCES";
    case NM_YARN_HOST:
        return "a host name or an address";
    case NM_YARN_TEXT:
        return "one line of text";
    case NM_YARN_LIST:
        return "words separated by commas";
    case NM_YARN_DIRS:
        return "absolute paths of directories separated by commas (at most 64), each of up to 512 ASCII characters "
               "without blanks, quotes, $, ` and \\";
    case NM_YARN_LENDING_TEXT:
        return nm_yarn_lending_values;
    case NM_YARN_SHARE:
    case NM_YARN_NUMBER:
        (void)snprintf(buf, size, "a number from %" PRId64 " to %" PRId64, k->min, k->max);
        return buf;
    case NM_YARN_MSEC:
        (void)snprintf(buf, size, "milliseconds from %" PRId64 " to %" PRId64 ", or a time such as 30s", k->min,
                       k->max);
        return buf;
    case NM_YARN_SPARK_TIME:
        (void)snprintf(buf, size, "seconds from %" PRId64 " to %" PRId64 ", or a time such as 2min", k->min / 1000,
                       k->max / 1000);
        return buf;
    default:
        (void)snprintf(buf, size, "HOST:PORT with port %" PRId64 " to %" PRId64, k->min, k->max);
        return buf;
    }
}

void nm_yarn_value_done(const struct nm_yarn_key *k, struct nm_yarn_settings *s)
{
    void *field = (char *)s + k->offset;

    switch (k->type) {
    case NM_YARN_HOST:
    case NM_YARN_TEXT:
    case NM_YARN_LENDING_TEXT:
        free(*(char **)field);
        *(char **)field = NULL; /* the field of a host may be a part of the field of an address */
        break;
    case NM_YARN_LIST:
    case NM_YARN_DIRS:
        free_list(*(char ***)field);
        *(char ***)field = NULL;
        break;
    case NM_YARN_ADDRESS:
        free(((struct nm_yarn_address *)field)->host);
        ((struct nm_yarn_address *)field)->host = NULL;
        break;
    default:
        break;
    }
}
