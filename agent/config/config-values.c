/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Converts the value of any key from text to the field of struct nm_config, and back. All numbers, whatever their unit
 * and width, are first converted to uint64_t, so that one function checks ranges and special words. Fractions are
 * converted to billionths, which represent the decimal text exactly.
 */

#include "agent/config/config-keys.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>

#include "util/parse.h"

#define BILLION 1e9
#define USER_NAME_MAX 32 /* maximum length of a login name in utmp and useradd */

static bool is_number(enum nm_config_type t)
{
    return t <= NM_CONFIG_QUEUE_ORDER;
}

static void *field_of(struct nm_config *c, const struct nm_config_key *k)
{
    assert(k->offset < sizeof *c);
    return (char *)c + k->offset;
}

static const void *const_field_of(const struct nm_config *c, const struct nm_config_key *k)
{
    assert(k->offset < sizeof *c);
    return (const char *)c + k->offset;
}

/* ---- from text to numbers ---- */

static int parse_small(enum nm_config_type type, const char *s, uint64_t *ret)
{
    enum nm_victim_order victim_order;
    enum nm_queue_order queue_order;
    enum nm_queue_policy queue_policy;
    uint32_t vcores_milli;
    double fraction;
    bool b;
    int r;

    switch (type) {
    case NM_CONFIG_VCORES:
        r = nm_parse_vcores(s, &vcores_milli);
        if (r >= 0)
            *ret = vcores_milli;
        return r;
    case NM_CONFIG_FRACTION:
        r = nm_parse_fraction(s, &fraction);
        if (r >= 0)
            *ret = (uint64_t)(fraction * BILLION + 0.5);
        return r;
    case NM_CONFIG_BOOL:
        r = nm_parse_bool(s, &b);
        if (r >= 0)
            *ret = b;
        return r;
    case NM_CONFIG_VICTIM_ORDER:
        r = nm_victim_order_from_string(s, &victim_order);
        if (r >= 0)
            *ret = victim_order;
        return r;
    case NM_CONFIG_QUEUE_ORDER:
        r = nm_queue_order_from_string(s, &queue_order);
        if (r >= 0)
            *ret = queue_order;
        return r;
    case NM_CONFIG_QUEUE_POLICY:
        r = nm_queue_policy_from_string(s, &queue_policy);
        if (r >= 0)
            *ret = queue_policy;
        return r;
    default:
        return -EINVAL;
    }
}

static int parse_number(enum nm_config_type type, const char *s, uint64_t *ret)
{
    /* nm_parse_size() and nm_parse_vcores() refuse 0, because a request is never 0. But a reserve may be 0. */
    if (nm_streq(s, "0") && (type == NM_CONFIG_SIZE || type == NM_CONFIG_VCORES)) {
        *ret = 0;
        return 0;
    }
    switch (type) {
    case NM_CONFIG_SIZE:
        return nm_parse_size(s, ret);
    case NM_CONFIG_DURATION:
        return nm_parse_duration(s, ret);
    case NM_CONFIG_COUNT:
    case NM_CONFIG_COUNT64:
        return nm_parse_u64(s, ret);
    case NM_CONFIG_MODE:
        return nm_parse_mode(s, 3, 5, ret);
    default:
        return parse_small(type, s, ret);
    }
}

/* Checks the range of a value. The table has the bounds as text in the unit of the key. The bounds are converted by the
 * same parser as values, so the range in messages is the range that is checked. */
static int check_range(const struct nm_config_key *k, uint64_t v)
{
    uint64_t min, max;

    assert(is_number(k->type));
    if (!k->min)
        return 0;
    if (parse_number(k->type, k->min, &min) < 0 || parse_number(k->type, k->max, &max) < 0)
        return -EINVAL;
    return v < min || v > max || (k->min_exclusive && v == min) ? -ERANGE : 0;
}

static void store_number(const struct nm_config_key *k, void *field, uint64_t v)
{
    assert(is_number(k->type));
    switch (k->type) {
    case NM_CONFIG_SIZE:
    case NM_CONFIG_DURATION:
    case NM_CONFIG_COUNT64:
        *(uint64_t *)field = v;
        break;
    case NM_CONFIG_FRACTION:
        *(double *)field = (double)v / BILLION;
        break;
    case NM_CONFIG_BOOL:
        *(bool *)field = v != 0;
        break;
    case NM_CONFIG_VICTIM_ORDER:
        *(enum nm_victim_order *)field = (enum nm_victim_order)v;
        break;
    case NM_CONFIG_QUEUE_ORDER:
        *(enum nm_queue_order *)field = (enum nm_queue_order)v;
        break;
    case NM_CONFIG_QUEUE_POLICY:
        *(enum nm_queue_policy *)field = (enum nm_queue_policy)v;
        break;
    default: /* COUNT, VCORES, MODE: each has 32 bits */
        *(uint32_t *)field = (uint32_t)v;
        break;
    }
}

static uint64_t fetch_number(const struct nm_config_key *k, const void *field)
{
    assert(is_number(k->type));
    switch (k->type) {
    case NM_CONFIG_SIZE:
    case NM_CONFIG_DURATION:
    case NM_CONFIG_COUNT64:
        return *(const uint64_t *)field;
    case NM_CONFIG_FRACTION:
        return (uint64_t)(*(const double *)field * BILLION + 0.5);
    case NM_CONFIG_BOOL:
        return *(const bool *)field;
    case NM_CONFIG_VICTIM_ORDER:
        return *(const enum nm_victim_order *)field;
    case NM_CONFIG_QUEUE_ORDER:
        return *(const enum nm_queue_order *)field;
    case NM_CONFIG_QUEUE_POLICY:
        return *(const enum nm_queue_policy *)field;
    default:
        return *(const uint32_t *)field;
    }
}

static int set_number(struct nm_config *c, const struct nm_config_key *k, const char *text)
{
    uint64_t v;
    int r;

    if (k->word && nm_streq(text, k->word)) {
        v = k->word_value;
    } else if (k->other && nm_streq(text, k->other)) {
        v = k->other_value;
    } else {
        r = parse_number(k->type, text, &v);
        if (r >= 0)
            r = check_range(k, v);
        if (r < 0)
            return r;
    }
    store_number(k, field_of(c, k), v);
    return 0;
}

/* ---- from text to strings ---- */

/* Returns whether the text is an address such as "192.0.2.1:80" or "[2001:db8::1]:80". Names are not accepted, since
 * their lookup could delay the start of nmd. */
static bool address_is_valid(const char *s)
{
    const char *colon = strrchr(s, ':');
    struct in6_addr any;
    char host[INET6_ADDRSTRLEN + 2];
    uint64_t port;
    size_t n;

    if (!colon || (size_t)(colon - s) >= sizeof host)
        return false;
    n = (size_t)(colon - s);
    memcpy(host, s, n);
    host[n] = '\0';
    if (nm_parse_u64(colon + 1, &port) < 0 || port < 1 || port > 65535)
        return false;
    if (host[0] != '[')
        return inet_pton(AF_INET, host, &any) == 1;
    if (n < 2 || host[n - 1] != ']')
        return false;
    host[n - 1] = '\0';
    return inet_pton(AF_INET6, host + 1, &any) == 1;
}

/* Requires an absolute path, because administrators don't know a daemon's working directory. */
static bool path_is_valid(const char *s)
{
    return s[0] == '/' && strlen(s) < 4096;
}

static bool hosts_are_valid(const char *s)
{
    return strlen(s) < 4096 &&
           s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._: ,\t")] == '\0';
}

/* Replaces the string. An empty string is always allowed, and means that there is no path, group or address. This
 * function does not check whether a path exists. */
static int set_string(struct nm_config *c, const struct nm_config_key *k, const char *text)
{
    char **field = field_of(c, k), *copy;

    if (*text && ((k->type == NM_CONFIG_PATH && !path_is_valid(text)) ||
                  (k->type == NM_CONFIG_GROUP &&
                   (!nm_name_is_valid(text) || strlen(text) > USER_NAME_MAX)) ||
                  (k->type == NM_CONFIG_ADDRESS && !address_is_valid(text)) ||
                  (k->type == NM_CONFIG_HOSTS && !hosts_are_valid(text))))
        return -EINVAL;
    copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    free(*field);
    *field = copy;
    return 0;
}

/* Adds one name to the list of banned users. A login name may contain '_' and '.', and, except as the first character,
 * '-' and '$'. */
static int add_user(struct nm_config *c, const char *s, size_t n)
{
    char *name;

    assert(n > 0);
    if (n > USER_NAME_MAX)
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !(strchr("_.", s[i])) &&
            !(i > 0 && strchr("-$", s[i])))
            return -EINVAL;
    if (c->n_banned_users == NM_BANNED_USERS_MAX)
        return -ERANGE;
    name = strndup(s, n);
    if (!name)
        return -ENOMEM;
    c->banned_users[c->n_banned_users++] = name;
    return 0;
}

/* Adds all names of a line to the list of banned users. If one name is refused, the list is unchanged. Several lines of
 * a file may add names to the list. */
static int add_users(struct nm_config *c, const char *text)
{
    unsigned n_before = c->n_banned_users;

    for (const char *s = text; *(s += strspn(s, " ,\t"));) {
        size_t n = strcspn(s, " ,\t");
        int r = add_user(c, s, n);
        if (r < 0) {
            while (c->n_banned_users > n_before)
                free(c->banned_users[--c->n_banned_users]);
            return r;
        }
        s += n;
    }
    return 0;
}

void nm_config_clear_list(struct nm_config *c, const struct nm_config_key *key)
{
    if (key->type != NM_CONFIG_USERS)
        return;
    while (c->n_banned_users > 0)
        free(c->banned_users[--c->n_banned_users]);
}

int nm_config_set(struct nm_config *c, const struct nm_config_key *key, const char *text)
{
    assert(key && text);
    if (is_number(key->type))
        return set_number(c, key, text);
    if (key->type == NM_CONFIG_USERS)
        return add_users(c, text);
    return set_string(c, key, text);
}

/* ---- from values to text ---- */

struct unit {
    uint64_t factor;
    const char *text;
};

static const struct unit size_units[] = {
    {UINT64_C(1) << 40, "T"},
    {UINT64_C(1) << 30, "G"},
    {UINT64_C(1) << 20, "M"},
    {UINT64_C(1) << 10, "K"},
    {1, ""},
};
static const struct unit duration_units[] = {
    {86400 * NM_USEC_PER_SEC, "d"}, {3600 * NM_USEC_PER_SEC, "h"}, {60 * NM_USEC_PER_SEC, "min"},
    {NM_USEC_PER_SEC, "s"},         {NM_USEC_PER_MSEC, "ms"},      {1, "us"},
};

/* Prints a number exactly: without decimals, in the largest unit that divides it. */
static void print_units(uint64_t v, const struct unit *u, const char *zero, char *buf, size_t size)
{
    assert(u && size > 0);
    if (v == 0) {
        (void)snprintf(buf, size, "%s", zero);
        return;
    }
    while (v % u->factor != 0)
        u++;
    (void)snprintf(buf, size, "%" PRIu64 "%s", v / u->factor, u->text);
}

/* Prints v / 10^digits without trailing zeros. */
static void print_decimal(uint64_t v, int digits, char *buf, size_t size)
{
    uint64_t one = 1;

    for (int i = 0; i < digits; i++)
        one *= 10;
    while (digits > 0 && v % 10 == 0) {
        v /= 10;
        one /= 10;
        digits--;
    }
    if (digits == 0)
        (void)snprintf(buf, size, "%" PRIu64, v);
    else
        (void)snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64, v / one, digits, v % one);
}

static void print_number(const struct nm_config_key *k, uint64_t v, char *buf, size_t size)
{
    if (k->word && v == k->word_value) {
        (void)snprintf(buf, size, "%s", k->word);
        return;
    }
    if (k->other && v == k->other_value) {
        (void)snprintf(buf, size, "%s", k->other);
        return;
    }
    switch (k->type) {
    case NM_CONFIG_SIZE:
        print_units(v, size_units, "0", buf, size);
        break;
    case NM_CONFIG_DURATION:
        print_units(v, duration_units, "0s", buf, size);
        break;
    case NM_CONFIG_VCORES:
        print_decimal(v, 3, buf, size);
        break;
    case NM_CONFIG_FRACTION:
        print_decimal(v, 9, buf, size);
        break;
    case NM_CONFIG_BOOL:
        (void)snprintf(buf, size, "%s", v ? "yes" : "no");
        break;
    case NM_CONFIG_MODE:
        (void)snprintf(buf, size, "%04" PRIo64, v);
        break;
    case NM_CONFIG_VICTIM_ORDER:
        (void)snprintf(buf, size, "%s", nm_victim_order_name((enum nm_victim_order)v));
        break;
    case NM_CONFIG_QUEUE_ORDER:
        (void)snprintf(buf, size, "%s", nm_queue_order_name((enum nm_queue_order)v));
        break;
    case NM_CONFIG_QUEUE_POLICY:
        (void)snprintf(buf, size, "%s", nm_queue_policy_name((enum nm_queue_policy)v));
        break;
    default:
        (void)snprintf(buf, size, "%" PRIu64, v);
        break;
    }
}

static void print_users(const struct nm_config *c, char *buf, size_t size)
{
    size_t at = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < c->n_banned_users; i++) {
        int n = snprintf(buf + at, size - at, "%s%s", i ? " " : "", c->banned_users[i]);
        if (n < 0 || (size_t)n >= size - at) {
            if (size >= 4)
                memcpy(buf + size - 4, "...", 4);
            return;
        }
        at += (size_t)n;
    }
}

const char *nm_config_get(const struct nm_config *c, const struct nm_config_key *key, char *buf,
                          size_t size)
{
    const void *field = const_field_of(c, key);

    assert(size > 0);
    if (is_number(key->type))
        print_number(key, fetch_number(key, field), buf, size);
    else if (key->type == NM_CONFIG_USERS)
        print_users(c, buf, size);
    else
        (void)snprintf(buf, size, "%s", *(char *const *)field ? *(char *const *)field : "");
    return buf;
}

/* Prints the allowed words as "a, b or c". */
static void print_orders(const struct nm_config_key *k, char *buf, size_t size)
{
    const uint64_t last = k->type == NM_CONFIG_QUEUE_POLICY ? 1 : 3; /* both orders have four words */
    size_t at = 0;

    for (uint64_t v = 0; v <= last && at < size; v++) {
        char name[48];
        const char *glue = v == 0 ? "" : v == last ? " or " : ", ";
        print_number(k, v, name, sizeof name);
        at += (size_t)snprintf(buf + at, size - at, "%s%s", glue, name);
    }
}

const char *nm_config_allowed(const struct nm_config_key *key, char *buf, size_t size)
{
    static const char *const nouns[] = {
        [NM_CONFIG_SIZE] = "a size",
        [NM_CONFIG_DURATION] = "a duration",
        [NM_CONFIG_COUNT] = "a whole number",
        [NM_CONFIG_COUNT64] = "a whole number",
        [NM_CONFIG_VCORES] = "a number with at most 3 decimals",
        [NM_CONFIG_FRACTION] = "a fraction or percentage",
        [NM_CONFIG_MODE] = "an octal mode",
        [NM_CONFIG_BOOL] = "yes or no",
        [NM_CONFIG_PATH] = "an absolute path, or nothing",
        [NM_CONFIG_GROUP] = "a group's name, or nothing",
        [NM_CONFIG_ADDRESS] =
            "ADDRESS:PORT with a numeric address, such as 127.0.0.1:8042 or [::1]:8042, or nothing",
        [NM_CONFIG_HOSTS] = "hosts' names or addresses, without ports, with spaces or commas between them, or nothing",
        [NM_CONFIG_USERS] = "at most 32 login names or uids with spaces or commas between them",
    };

    assert(size > 0);
    if (key->type == NM_CONFIG_VICTIM_ORDER || key->type == NM_CONFIG_QUEUE_ORDER ||
        key->type == NM_CONFIG_QUEUE_POLICY)
        print_orders(key, buf, size);
    else if (!key->min)
        (void)snprintf(buf, size, "%s", nouns[key->type]);
    else
        (void)snprintf(buf, size, "%s%s%s%s%s %s %s %s %s", key->word ? key->word : "",
                       key->other ? ", " : "", key->other ? key->other : "",
                       key->word ? ", or " : "", nouns[key->type],
                       key->min_exclusive ? "above" : "from", key->min,
                       key->min_exclusive ? "and at most" : "to", key->max);
    return buf;
}
