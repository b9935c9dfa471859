/* SPDX-License-Identifier: Apache-2.0 */

/* See head.h. Implements RFC 9112 with two stricter rules. Lines must end in CR LF. Each header that determines the
 * destination or the end of the request may occur only once. */

#include "rpc/local/head.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct head_check {
    struct nm_head *head;
    bool version_1_1, length, encoding;
};

static int bad(struct head_check *j, const char *why)
{
    j->head->why = why;
    return NM_HEAD_E_BAD;
}

static bool is_token(const char *s, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (s[i] <= ' ' || s[i] == 0x7f || strchr("\"(),/:;<=>?@[\\]{}", s[i]))
            return false;
    return size > 0;
}

static bool is(const char *s, size_t size, const char *name)
{
    return size == strlen(name) && strncasecmp(s, name, size) == 0;
}

/* Parses Content-Length. Refuses a number that overflows: other parsers may read another value, and libmicrohttpd would
 * send two answers. */
static int check_length(struct head_check *j, const char *value, size_t size)
{
    int64_t length = 0;

    if (j->length)
        return bad(j, "The request has more than one Content-Length.");
    j->length = true;
    for (size_t i = 0; i < size; i++) {
        if (value[i] < '0' || value[i] > '9')
            return bad(j, "The request's Content-Length is not a number.");
        if (length > (INT64_MAX - (value[i] - '0')) / 10)
            return bad(j, "The request's Content-Length is too large a number.");
        length = 10 * length + (value[i] - '0');
    }
    return size > 0 ? 0 : bad(j, "The request's Content-Length is empty.");
}

static int check_encoding(struct head_check *j, const char *value, size_t size)
{
    if (j->encoding || !is(value, size, "chunked"))
        return bad(j, "The only accepted Transfer-Encoding is chunked, and it may be given only once.");
    j->encoding = true;
    return 0;
}

static int check_host(struct head_check *j, const char *value, size_t size)
{
    if (j->head->host)
        return bad(j, "The request has more than one Host.");
    j->head->host = value;
    j->head->host_size = size;
    return 0;
}

static int check_header(struct head_check *j, const char *line, size_t size)
{
    const char *colon = memchr(line, ':', size), *value;
    size_t name_size = colon ? (size_t)(colon - line) : 0;

    if (*line == ' ' || *line == '\t')
        return bad(j, "A header of the request is folded over two lines.");
    if (!is_token(line, name_size))
        return bad(j, "A header of the request has no name, or one with spaces or other separators in it.");
    value = colon + 1;
    size -= name_size + 1;
    for (; size > 0 && (*value == ' ' || *value == '\t'); size--)
        value++;
    while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t'))
        size--;
    if (is(line, name_size, "Content-Length"))
        return check_length(j, value, size);
    if (is(line, name_size, "Transfer-Encoding"))
        return check_encoding(j, value, size);
    return is(line, name_size, "Host") ? check_host(j, value, size) : 0;
}

/* Checks the request line. libmicrohttpd would skip empty lines before it and multiple spaces in it, and would
 * therefore parse another line than the one checked here. */
static int check_first_line(struct head_check *j, const char *line, size_t size)
{
    const char *target = memchr(line, ' ', size), *version;
    size_t method_size = target ? (size_t)(target - line) : 0, target_size;

    if (!is_token(line, method_size))
        return bad(j, "The request does not begin with a method.");
    target++;
    version = memchr(target, ' ', size - method_size - 1);
    target_size = version ? (size_t)(version - target) : 0;
    if (target_size == 0)
        return bad(j, "The request's first line is not a method, a target and a version with one space between them.");
    version++;
    size -= method_size + target_size + 2;
    j->version_1_1 = size == 8 && memcmp(version, "HTTP/1.1", size) == 0;
    if (!j->version_1_1 && !(size == 8 && memcmp(version, "HTTP/1.0", size) == 0))
        return bad(j, "The request's version is neither HTTP/1.0 nor HTTP/1.1.");
    return 0;
}

static int check_end(struct head_check *j)
{
    if (j->length && j->encoding)
        return bad(j, "The request has both Content-Length and Transfer-Encoding.");
    if (j->encoding && !j->version_1_1)
        return bad(j, "The request has a Transfer-Encoding, which HTTP/1.0 doesn't have.");
    if (!j->head->host && j->version_1_1)
        return bad(j, "The request has no Host.");
    return 0;
}

/* Takes the next line without its end of line. Refuses NUL and other control characters immediately. */
static int take_line(struct head_check *j, const char *data, size_t size, size_t *at, size_t *ret_size)
{
    for (size_t i = *at; i < size; i++) {
        char c = data[i];

        if (c == '\r' && i + 1 == size)
            return NM_HEAD_E_PARTIAL;
        if (c == '\r' && data[i + 1] == '\n') {
            *ret_size = i - *at;
            *at = i + 2;
            return 0;
        }
        if ((c >= 0 && c < ' ' && c != '\t') || c == 0x7f)
            return bad(j, "The request has a control character in its head; lines end in CR LF.");
    }
    return NM_HEAD_E_PARTIAL;
}

int nm_head_check(const char *data, size_t size, struct nm_head *ret)
{
    struct nm_head head = {};
    struct head_check j = {.head = &head};
    size_t at = 0, line_size;
    int r = take_line(&j, data, size, &at, &line_size);

    if (r == 0)
        r = check_first_line(&j, data, line_size);
    while (r == 0) {
        size_t begin = at;

        r = take_line(&j, data, size, &at, &line_size);
        if (r == 0 && line_size == 0) {
            r = check_end(&j);
            break;
        }
        if (r == 0)
            r = check_header(&j, data + begin, line_size);
    }
    *ret = head;
    return r;
}
