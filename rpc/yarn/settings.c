/* SPDX-License-Identifier: Apache-2.0 */

/* See settings.h. */

#include "rpc/yarn/settings.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>

#include "util/parse.h"

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
    free(s->tracker.host);
    free(s->node.host);
    free(s->web.host);
    free(s);
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------- */

/* Hadoop knows these two words alone. */
static int parse_bool(const char *text, bool *ret)
{
    if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0)
        return -EINVAL;
    *ret = strcasecmp(text, "true") == 0;
    return 0;
}

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

/* "30000", "30s", "10m". */
static int parse_msec(const char *text, int64_t min, int64_t max, uint64_t *ret_usec)
{
    static const struct {
        const char *unit;
        uint64_t nsec;
    } units[] = {{"", 1000000}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000},
                 {"m", UINT64_C(60000000000)}, {"h", UINT64_C(3600000000000)}, {"d", UINT64_C(86400000000000)}};
    char digits[24];
    size_t n = strspn(text, "0123456789");
    uint64_t v, nsec;

    if (n == 0 || n >= sizeof digits)
        return -EINVAL;
    memcpy(digits, text, n);
    digits[n] = '\0';
    for (size_t i = 0; i < NM_ARRAY_SIZE(units); i++) {
        if (strcasecmp(text + n, units[i].unit) != 0)
            continue;
        if (nm_parse_u64(digits, &v) < 0 || __builtin_mul_overflow(v, units[i].nsec, &nsec) ||
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

/* "name:8031" or "[::1]:8031". */
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

static int parse_host(const char *text, char **ret)
{
    char *copy;

    if (!is_host(text, strlen(text)))
        return -EINVAL;
    copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    free(*ret);
    *ret = copy;
    return 0;
}

static int parse_value(const struct nm_yarn_key *k, const char *text, struct nm_yarn_settings *s)
{
    void *field = (char *)s + k->offset;

    switch (k->type) {
    case NM_YARN_BOOL:
        return parse_bool(text, field);
    case NM_YARN_NUMBER:
        return parse_number(text, k->min, k->max, field);
    case NM_YARN_MSEC:
        return parse_msec(text, k->min, k->max, field);
    case NM_YARN_HOST:
        return parse_host(text, field);
    default:
        return parse_address(text, k->min, k->max, field);
    }
}

static const char *allowed(const struct nm_yarn_key *k, char *buf, size_t size)
{
    switch (k->type) {
    case NM_YARN_BOOL:
        return "true or false";
    case NM_YARN_HOST:
        return "a host's name or address";
    case NM_YARN_NUMBER:
        (void)snprintf(buf, size, "a number from %" PRId64 " to %" PRId64, k->min, k->max);
        return buf;
    case NM_YARN_MSEC:
        (void)snprintf(buf, size, "milliseconds from %" PRId64 " to %" PRId64 ", or a time such as 30s", k->min,
                       k->max);
        return buf;
    default:
        (void)snprintf(buf, size, "HOST:PORT, the port from %" PRId64 " to %" PRId64, k->min, k->max);
        return buf;
    }
}

/* ---- from the files ----------------------------------------------------------------------- */

int nm_yarn_settings_new_conf(struct nm_yarn_conf **ret)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    int r = nm_yarn_conf_new(&c);

    for (size_t i = 0; r == 0 && i < nm_yarn_n_keys; i++)
        r = nm_yarn_conf_set_default(c, nm_yarn_keys[i].name, nm_yarn_keys[i].fallback);
    for (size_t i = 0; r == 0 && i < nm_yarn_n_rules; i++)
        r = nm_yarn_conf_set_default(c, nm_yarn_rules[i].name, nm_yarn_rules[i].fallback);
    if (r == 0)
        *ret = STEAL_PTR(c);
    return r;
}

/* The expanded value and where it is from. A default, too, may be wrong by what it is made of. */
static int get(const struct nm_yarn_conf *c, const char *name, char **ret, const char **ret_file, char **ret_message)
{
    const struct nm_yarn_property *p = nm_yarn_conf_find(c, name);
    char shown[SHOWN_SIZE], file[200];
    int r = nm_yarn_conf_expand(c, name, ret);

    assert(p);
    *ret_file = p->file;
    if (r == -ELOOP || r == -E2BIG)
        return nm_fail(ret_message, r, "%s: %s = '%s': what it names goes round in circles, or is too much",
                       nm_yarn_conf_shown(p->file ?: "by default", file, sizeof file), name,
                       nm_yarn_conf_shown(p->value, shown, sizeof shown));
    return r;
}

static int read_key(const struct nm_yarn_conf *c, size_t i, struct nm_yarn_settings *s, char **ret_message)
{
    const struct nm_yarn_key *k = &nm_yarn_keys[i];
    char shown[SHOWN_SIZE], where[200], what[80];
    const char *file;
    int r = get(c, k->name, &s->values[i], &file, ret_message);

    if (r < 0)
        return r;
    if (file && !(s->sources[i] = strdup(file)))
        return -ENOMEM;
    r = parse_value(k, s->values[i], s);
    if (r == -EINVAL || r == -ERANGE)
        return nm_fail(ret_message, r, "%s: %s = '%s': must be %s",
                       nm_yarn_conf_shown(file ?: "by default", where, sizeof where), k->name,
                       nm_yarn_conf_shown(s->values[i], shown, sizeof shown), allowed(k, what, sizeof what));
    return r;
}

/* ---- what the node can't do --------------------------------------------------------------- */

static bool is_listed(const char *word, size_t n, const char *list)
{
    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == n && strncasecmp(p, word, n) == 0)
            return true;
    return false;
}

/* The first word that breaks the rule: in the text, or the one that is missed. NULL: none does. */
static const char *offender(const struct nm_yarn_rule *rule, const char *text)
{
    static const char separators[] = ", \t\r\n";
    bool found = !rule->needed;

    for (const char *p = text + strspn(text, separators); *p; p += strspn(p, separators)) {
        size_t n = strcspn(p, separators);

        if (rule->allowed && !is_listed(p, n, rule->allowed))
            return p;
        found |= rule->needed && strlen(rule->needed) == n && strncasecmp(p, rule->needed, n) == 0;
        p += n;
    }
    return found ? NULL : text;
}

static int check_rule(const struct nm_yarn_conf *c, const struct nm_yarn_rule *rule, nm_yarn_warn_t warn,
                      void *userdata, char **ret_message)
{
    _cleanup_free_ char *text = NULL, *sentence = NULL;
    char shown[SHOWN_SIZE], where[200], hint[300] = "";
    const char *file;
    int r = get(c, rule->name, &text, &file, ret_message);

    if (r < 0 || !offender(rule, text))
        return r;
    if (rule->needed || (rule->allowed && *rule->allowed))
        (void)snprintf(hint, sizeof hint, " (allowed: %s)", rule->needed ?: rule->allowed);
    (void)nm_fail(&sentence, -EOPNOTSUPP, "%s: %s = '%s'%s: %s",
                  nm_yarn_conf_shown(file ?: "by default", where, sizeof where), rule->name,
                  nm_yarn_conf_shown(text, shown, sizeof shown), rule->fatal ? hint : "", rule->why);
    if (!sentence)
        return -ENOMEM;
    if (!rule->fatal) {
        if (warn)
            warn(sentence, userdata);
        return 0;
    }
    if (ret_message)
        *ret_message = STEAL_PTR(sentence);
    return -EOPNOTSUPP;
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
    for (size_t i = 0; r == 0 && i < nm_yarn_n_rules; i++)
        r = check_rule(c, &nm_yarn_rules[i], warn, userdata, ret_message);
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

/* ---- for nmd's own keys -------------------------------------------------------------------- */

static void add_default(struct nm_yarn_defaults *to, size_t *n, const char *section, const char *name, int64_t value,
                        const char *unit, const char *source)
{
    if (value <= 0) /* -1, and no queue for the cluster: nothing is said of the node's own */
        return;
    assert(*n < NM_YARN_DEFAULTS_MAX - 1);
    (void)snprintf(to->values[*n], sizeof to->values[*n], "%" PRId64 "%s", value, unit);
    to->list[*n] = (struct nm_config_default){section, name, to->values[*n], source};
    ++*n;
}

static const char *source_of(const struct nm_yarn_settings *s, const void *field)
{
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        if ((const char *)s + nm_yarn_keys[i].offset == (const char *)field)
            return s->sources[i] ?: "Hadoop's default";
    assert(false);
    return NULL;
}

void nm_yarn_settings_defaults(const struct nm_yarn_settings *s, struct nm_yarn_defaults *ret)
{
    size_t n = 0;

    *ret = (struct nm_yarn_defaults){};
    add_default(ret, &n, "node", "memory", s->memory_mib, "M", source_of(s, &s->memory_mib));
    add_default(ret, &n, "node", "vcores", s->vcores, "", source_of(s, &s->vcores));
    add_default(ret, &n, "queue", "max-length", s->queue_max_length, "", source_of(s, &s->queue_max_length));
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
                              allowed(k, what, sizeof what), "meaning", k->meaning, "is_default", !s->sources[i],
                              "applied_by", "restart", "source", s->sources[i] ?: "default", "in_force", "why");

        if (!o || json_array_append_new(array, o) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}
