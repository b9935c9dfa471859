/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See parse.h. Decimal numbers are parsed by hand as a whole part and up to nine decimals. strtod() is not used, so
 * that the result is exact and independent of the locale, and "inf", "nan" and "0x10" are rejected.
 */

#include "util/parse.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "util/macros.h"

struct suffix {
    const char *text;
    uint64_t factor;
};

static const struct suffix size_suffixes[] = {
    {"", 1},
    {"B", 1},
    {"K", UINT64_C(1) << 10}, {"KB", UINT64_C(1) << 10}, {"KiB", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20}, {"MB", UINT64_C(1) << 20}, {"MiB", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30}, {"GB", UINT64_C(1) << 30}, {"GiB", UINT64_C(1) << 30},
    {"T", UINT64_C(1) << 40}, {"TB", UINT64_C(1) << 40}, {"TiB", UINT64_C(1) << 40},
};

static const struct suffix duration_suffixes[] = {
    {"", NM_USEC_PER_SEC},          {"us", 1},
    {"ms", NM_USEC_PER_MSEC},       {"s", NM_USEC_PER_SEC},
    {"sec", NM_USEC_PER_SEC},       {"m", 60 * NM_USEC_PER_SEC},
    {"min", 60 * NM_USEC_PER_SEC},  {"h", 3600 * NM_USEC_PER_SEC},
    {"d", 86400 * NM_USEC_PER_SEC},
};

int nm_parse_sized(const char *s, size_t size, uint64_t *ret)
{
    uint64_t v = 0;

    if (size == 0)
        return -EINVAL;
    for (size_t i = 0; i < size; i++) {
        if (!isdigit((unsigned char)s[i]))
            return -EINVAL;
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) || __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
            return -ERANGE;
    }
    *ret = v;
    return 0;
}

int nm_parse_digits(const char **s, uint64_t *ret)
{
    size_t n = 0;
    int r;

    while (isdigit((unsigned char)(*s)[n]))
        n++;
    r = nm_parse_sized(*s, n, ret);
    if (r == 0)
        *s += n;
    return r;
}

size_t nm_parse_numbers(const char *s, uint64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t v;

        while (isspace((unsigned char)*s))
            s++;
        if (nm_parse_digits(&s, &v) < 0 || (*s && !isspace((unsigned char)*s)))
            return i;
        numbers[i] = v;
    }
    return n;
}

/* Splits "12.34" into a whole part and billionths. */
static int take_decimal(const char **s, uint64_t *ret_whole, uint64_t *ret_nano)
{
    uint64_t whole, nano = 0, unit = 100000000;
    const char *p = *s;
    int r = nm_parse_digits(&p, &whole);

    if (r < 0)
        return r;
    if (*p == '.') {
        if (!isdigit((unsigned char)*++p))
            return -EINVAL;
        for (; isdigit((unsigned char)*p); p++, unit /= 10)
            nano += (uint64_t)(*p - '0') * unit;
    }
    *s = p;
    *ret_whole = whole;
    *ret_nano = nano;
    return 0;
}

static int parse_scaled(const char *s, const struct suffix *suffixes, size_t n, uint64_t *ret)
{
    uint64_t whole, nano, v;
    int r = take_decimal(&s, &whole, &nano);

    if (r < 0)
        return r;
    while (*s == ' ')
        s++;
    for (size_t i = 0; i < n; i++) {
        if (!nm_streq(s, suffixes[i].text))
            continue;
        if (__builtin_mul_overflow(whole, suffixes[i].factor, &v))
            return -ERANGE;
        /* 128 bits are necessary: a fraction of 1 TiB in billionths doesn't fit in 64 bits. */
        if (__builtin_add_overflow(v, (uint64_t)((unsigned __int128)nano * suffixes[i].factor / 1000000000u), &v))
            return -ERANGE;
        *ret = v;
        return 0;
    }
    return -EINVAL;
}

int nm_parse_u64(const char *s, uint64_t *ret)
{
    uint64_t v;
    int r = nm_parse_digits(&s, &v);

    if (r < 0)
        return r;
    if (*s)
        return -EINVAL;
    *ret = v;
    return 0;
}

int nm_parse_mode(const char *s, size_t min_digits, size_t max_digits, uint64_t *ret)
{
    size_t n = strspn(s, "01234567");
    uint64_t v = 0;

    assert(min_digits > 0 && max_digits <= 64 / 3);
    if (s[n] || n < min_digits || n > max_digits)
        return -EINVAL;
    for (; *s; s++)
        v = v * 8 + (uint64_t)(*s - '0');
    *ret = v;
    return 0;
}

int nm_parse_bool(const char *s, bool *ret)
{
    static const char *const yes[] = {"yes", "true", "on", "1"}, *const no[] = {"no", "false", "off", "0"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(yes); i++) {
        if (nm_streq(s, yes[i]) || nm_streq(s, no[i])) {
            *ret = nm_streq(s, yes[i]);
            return 0;
        }
    }
    return -EINVAL;
}

int nm_parse_size(const char *s, uint64_t *ret_bytes)
{
    uint64_t v;
    int r = parse_scaled(s, size_suffixes, NM_ARRAY_SIZE(size_suffixes), &v);

    if (r < 0)
        return r;
    if (v == 0 || v > INT64_MAX) /* larger values don't fit into the signed integers of the kernel and of JSON */
        return -ERANGE;
    *ret_bytes = v;
    return 0;
}

int nm_parse_duration(const char *s, uint64_t *ret_usec)
{
    uint64_t v;
    int r = parse_scaled(s, duration_suffixes, NM_ARRAY_SIZE(duration_suffixes), &v);

    if (r < 0)
        return r;
    if (v > INT64_MAX)
        return -ERANGE;
    *ret_usec = v;
    return 0;
}

int nm_parse_fraction(const char *s, double *ret)
{
    uint64_t whole, nano;
    int r = take_decimal(&s, &whole, &nano);
    double v;

    if (r < 0)
        return r;
    v = (double)whole + (double)nano / 1e9;
    if (*s == '%') {
        v /= 100;
        s++;
    }
    if (*s)
        return -EINVAL;
    if (v > 1)
        return -ERANGE;
    *ret = v;
    return 0;
}

int nm_parse_vcores(const char *s, uint32_t *ret_vcores_milli)
{
    const char *point = strchr(s, '.');
    uint64_t whole, nano, v;
    int r = take_decimal(&s, &whole, &nano);

    if (r < 0)
        return r;
    if (*s || (point && strlen(point + 1) > 3))
        return -EINVAL;
    if (whole > 1000000)
        return -ERANGE;
    v = whole * 1000 + nano / 1000000;
    if (v == 0)
        return -ERANGE;
    *ret_vcores_milli = (uint32_t)v;
    return 0;
}

int nm_find_name(const char *const *names, size_t n, const char *s)
{
    assert(s);
    for (size_t i = 0; i < n; i++)
        if (nm_streq(names[i], s))
            return (int)i;
    return -EINVAL;
}

char *nm_strip(char *s)
{
    size_t n;

    assert(s);
    while (isspace((unsigned char)*s))
        s++;
    for (n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]); n--)
        ;
    s[n] = '\0';
    return s;
}

#define NAME_MAX_BYTES 63
#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

bool nm_name_is_valid(const char *s)
{
    size_t n = strlen(s);

    if (n < 1 || n > NAME_MAX_BYTES || *s == '.' || *s == '-')
        return false;
    return strspn(s, NAME_BYTES) == n;
}

bool nm_user_name_is_valid(const char *s)
{
    size_t n = strlen(s), known = strspn(s, NAME_BYTES "@");

    if (known < 1 || n > NAME_MAX_BYTES || *s == '@' || *s == '-' || nm_streq(s, ".") || nm_streq(s, ".."))
        return false;
    return known == n || (known == n - 1 && s[known] == '$');
}

static const char *format_size(uint64_t bytes, bool down, char *buf, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const double next = down ? 1024 : 1023.5; /* the least number that would be printed as 1024 */
    size_t u = 0;
    double v = (double)bytes;

    assert(buf && size > 0);
    for (; v >= next && u + 1 < NM_ARRAY_SIZE(units); u++)
        v /= 1024;
    if (down)
        v = v >= 100 ? (double)(uint64_t)v : (double)(uint64_t)(v * 10) / 10;
    (void)snprintf(buf, size, u == 0 || v >= 99.95 ? "%.0f %s" : "%.1f %s", v, units[u]);
    return buf;
}

const char *nm_format_size(uint64_t bytes, char *buf, size_t size)
{
    return format_size(bytes, false, buf, size);
}

const char *nm_format_size_down(uint64_t bytes, char *buf, size_t size)
{
    return format_size(bytes, true, buf, size);
}

/* Prints "3.0" as "3". */
static void print_seconds(uint64_t tenths, char *buf, size_t size)
{
    if (tenths % 10 == 0)
        (void)snprintf(buf, size, "%" PRIu64 "s", tenths / 10);
    else
        (void)snprintf(buf, size, "%" PRIu64 ".%" PRIu64 "s", tenths / 10, tenths % 10);
}

const char *nm_format_duration(uint64_t usec, char *buf, size_t size)
{
    const uint64_t minute = 59950000; /* the least duration that would be printed as 60 s */
    const uint64_t s = usec < minute ? usec / NM_USEC_PER_SEC : NM_MAX(usec / NM_USEC_PER_SEC, UINT64_C(60));

    assert(buf && size > 0);
    if (usec < NM_USEC_PER_MSEC)
        (void)snprintf(buf, size, "%" PRIu64 "us", usec);
    else if (s < 1)
        (void)snprintf(buf, size, "%" PRIu64 "ms", usec / NM_USEC_PER_MSEC);
    else if (usec < minute)
        print_seconds((usec + 50000) / 100000, buf, size);
    else if (s < 3600)
        (void)snprintf(buf, size, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
    else
        (void)snprintf(buf, size, "%" PRIu64 "h%02" PRIu64 "m", s / 3600, s % 3600 / 60);
    return buf;
}

const char *nm_plural(double n)
{
    return n > 0.9999 && n < 1.0001 ? "" : "s"; /* tolerance, since n may be a double computed from thousandths */
}

/* Prints "95.0" as "95", because numbers in sentences needn't align in columns. */
static void print_percent(double fraction, int decimals, char *buf, size_t size)
{
    size_t n = (size_t)snprintf(buf, size, "%.*f", decimals, fraction * 100);

    if (n >= size)
        return;
    while (buf[n - 1] == '0')
        n--;
    if (buf[n - 1] == '.')
        n--;
    (void)snprintf(buf + n, size - n, " %%");
}

const char *nm_format_percent(double fraction, double beside, char *buf, size_t size)
{
    char other[32];

    assert(buf && size > 0);
    for (int decimals = 1; decimals <= 3; decimals++) {
        print_percent(fraction, decimals, buf, size);
        print_percent(beside, decimals, other, sizeof other);
        if (!nm_streq(buf, other))
            break;
    }
    return buf;
}
