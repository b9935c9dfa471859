/* SPDX-License-Identifier: Apache-2.0 */

/* See request.h. */

#include "shuffle/request.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#include "util/error.h"
#include "util/parse.h"

#define EXPECTED_NAME "mapreduce"
#define EXPECTED_VERSION "1.0.0"
#define WORD_MAX 128u

static int refuse(enum nm_shuffle_status status, const char *why, const char **ret_why)
{
    *ret_why = why;
    return (int)status;
}

static bool is(struct nm_bytes b, const char *text)
{
    return nm_bytes_equal(b, nm_bytes_of(text));
}

static bool is_header(struct nm_bytes b, const char *name)
{
    return b.size == strlen(name) && strncasecmp((const char *)b.data, name, b.size) == 0;
}

/* Takes the text before the first `stop` and also removes the `stop`; takes all text if there is no `stop`. */
static struct nm_bytes take_until(struct nm_bytes *from, char stop)
{
    const uint8_t *end = from->size > 0 ? memchr(from->data, stop, from->size) : NULL;
    struct nm_bytes part = nm_bytes_take(from, end ? (size_t)(end - from->data) : from->size);

    if (end)
        (void)nm_bytes_take(from, 1);
    return part;
}

static struct nm_bytes trimmed(struct nm_bytes b)
{
    while (b.size > 0 && (b.data[0] == ' ' || b.data[0] == '\t'))
        (void)nm_bytes_take(&b, 1);
    while (b.size > 0 && strchr(" \t\r", b.data[b.size - 1]))
        b.size--;
    return b;
}

size_t nm_shuffle_head_size(struct nm_bytes received)
{
    const uint8_t *end = received.size > 0 ? memmem(received.data, received.size, "\r\n\r\n", 4) : NULL;

    return end ? (size_t)(end - received.data) + 4 : 0;
}

/* ---- parsing words ------------------------------------------------------------------------ */

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Returns whether a word matches. In a pattern '#' stands for digits and '*' for letters, digits and '_', at least one
 * each. Files are named by such words, so all other characters are refused: dots, slashes, percent signs. */
static bool matches(struct nm_bytes word, const char *pattern)
{
    if (word.size > WORD_MAX)
        return false;
    for (; *pattern; pattern++) {
        size_t n = 0;

        if (*pattern == '#' || *pattern == '*')
            while (n < word.size && (*pattern == '#' ? is_digit(word.data[n]) : is_word(word.data[n])))
                n++;
        else
            n = word.size > 0 && word.data[0] == *pattern;
        if (n == 0)
            return false;
        (void)nm_bytes_take(&word, n);
    }
    return word.size == 0;
}

bool nm_shuffle_is_job(struct nm_bytes word)
{
    return matches(word, "job_#_#");
}

void nm_shuffle_application_of(struct nm_bytes job, char *ret, size_t size)
{
    assert(nm_shuffle_is_job(job));
    snprintf(ret, size, "application%.*s", (int)(job.size - strlen("job")), job.data + strlen("job"));
}

/* Accepts what Java's Integer.parseInt() does, including a plus sign and leading zeros. */
static bool parse_number(struct nm_bytes word, uint32_t *ret)
{
    uint64_t n;

    if (word.size > 0 && word.data[0] == '+')
        (void)nm_bytes_take(&word, 1);
    if (nm_parse_sized((const char *)word.data, word.size, &n) < 0 || n > INT32_MAX)
        return false;
    *ret = (uint32_t)n;
    return true;
}

/* ---- the target --------------------------------------------------------------------------- */

/* Decodes the percent-encoded characters of words, lists and ranges. A plus sign that is not encoded becomes a blank,
 * as in Hadoop's handler. Other encoded characters are not decoded, since no valid name or value contains them. */
static struct nm_bytes decode(struct nm_bytes query, uint8_t *to)
{
    size_t n = 0;

    for (size_t i = 0; i < query.size; i++) {
        const uint8_t *c = query.data + i;
        int high = *c == '%' && i + 2 < query.size ? nm_hex_digit(c[1]) : -1;
        int low = high >= 0 ? nm_hex_digit(c[2]) : -1;
        const uint8_t decoded = (uint8_t)(high * 16 + low);

        if (low < 0 || (!is_word(decoded) && decoded != ',' && decoded != '-' && decoded != '+')) {
            to[n++] = *c == '+' ? ' ' : *c;
            continue;
        }
        to[n++] = decoded;
        i += 2;
    }
    return (struct nm_bytes){to, n};
}

/* Parses maps, which may be given several times, each time as a list, as in Java's handler. Their number is limited,
 * because each map requires reading an index. MapReduce names a map attempt_1410901177871_0001_m_000000_0. Tez names a
 * task's output attempt_1410901177871_0001_1_00_000000_0_10003: DAG, vertex, task, attempt and output; a pipelined
 * output is followed by the number of its spill. Hadoop's handler does not check such names. */
static bool parse_maps(struct nm_bytes list, struct nm_shuffle_request *q)
{
    while (list.size > 0) {
        struct nm_bytes map = take_until(&list, ',');

        if (map.size == 0)
            continue;
        if (q->n_maps == NM_SHUFFLE_MAPS_MAX || !matches(map, "attempt_#_#_*"))
            return false;
        q->maps[q->n_maps++] = map;
    }
    return true;
}

/* Parses N, or N-M, which includes both ends. */
static bool parse_reduces(struct nm_bytes last, struct nm_shuffle_request *q)
{
    const bool is_range = last.size > 0 && memchr(last.data, '-', last.size);
    struct nm_bytes first = take_until(&last, '-');
    uint32_t from, to;

    if (!parse_number(first, &from) || !parse_number(is_range ? last : first, &to) || to < from)
        return false;
    q->reduce = from;
    q->n_reduces = to - from + 1;
    q->is_range = is_range;
    return true;
}

static int parse_parameter(struct nm_bytes name, struct nm_bytes value, struct nm_shuffle_request *q, bool *seen_reduce,
                           const char **ret_why)
{
    if (is(name, "map") && !parse_maps(value, q))
        return refuse(NM_SHUFFLE_BAD_REQUEST,
                      "Bad map parameter: at most 256 ids of attempts, separated by commas", ret_why);
    if (is(name, "reduce") && (*seen_reduce || !parse_reduces(value, q)))
        return refuse(NM_SHUFFLE_BAD_REQUEST, "Bad reduce parameter: one number, or one range such as 0-5", ret_why);
    if (is(name, "job") && (q->job.size > 0 || !nm_shuffle_is_job(value)))
        return refuse(NM_SHUFFLE_BAD_REQUEST, "Bad job parameter: one job, such as job_1410901177871_0001", ret_why);
    if (is(name, "job"))
        q->job = value;
    if (is(name, "reduce"))
        *seen_reduce = true;
    if (is(name, "keepAlive"))
        q->keep_alive = value.size == 4 && strncasecmp((const char *)value.data, "true", 4) == 0;
    return 0;
}

/* Hadoop's handler accepts both characters as separators. */
static struct nm_bytes take_parameter(struct nm_bytes *query)
{
    size_t n = 0;

    while (n < query->size && query->data[n] != '&' && query->data[n] != ';')
        n++;
    return take_until(query, n < query->size ? (char)query->data[n] : '&');
}

static int parse_target(struct nm_shuffle_request *q, uint8_t *decoded, const char **ret_why)
{
    struct nm_bytes query = q->target;
    bool seen_reduce = false;

    /* Hadoop's handler serves any path and ignores unknown parameters, such as Tez' dag. */
    (void)take_until(&query, '?');
    query = take_until(&query, '#');
    query = decode(query, decoded);
    while (query.size > 0) {
        struct nm_bytes value = take_parameter(&query), name = take_until(&value, '=');
        int r = parse_parameter(name, value, q, &seen_reduce, ret_why);

        if (r > 0)
            return r;
    }
    if (q->job.size == 0 || q->n_maps == 0 || !seen_reduce)
        return refuse(NM_SHUFFLE_BAD_REQUEST, "Required param job, map and reduce", ret_why);
    if (q->n_reduces > NM_SHUFFLE_PARTS_MAX)
        return refuse(NM_SHUFFLE_BAD_REQUEST, "Too many parts: a range has at most 4096 reducers", ret_why);
    return 0;
}

/* ---- the head ----------------------------------------------------------------------------- */

struct headers {
    struct nm_bytes name, version, url_hash;
    bool body;
};

static void parse_headers(struct nm_bytes lines, struct headers *h)
{
    while (lines.size > 0) {
        struct nm_bytes value = take_until(&lines, '\n'), name = take_until(&value, ':');

        value = trimmed(value);
        if (is_header(name, "name"))
            h->name = value;
        else if (is_header(name, "version"))
            h->version = value;
        else if (is_header(name, "UrlHash"))
            h->url_hash = value;
        else if (is_header(name, "Transfer-Encoding") || (is_header(name, "Content-Length") && !is(value, "0")))
            h->body = true;
    }
}

int nm_shuffle_request_parse(struct nm_bytes head, uint8_t decoded[static NM_SHUFFLE_HEAD_MAX],
                             struct nm_shuffle_request *ret, const char **ret_why)
{
    struct nm_shuffle_request q = {0};
    struct nm_bytes line = trimmed(take_until(&head, '\n')), method = take_until(&line, ' ');
    struct headers h = {0};
    int r;

    assert(head.size <= NM_SHUFFLE_HEAD_MAX);
    q.target = take_until(&line, ' ');
    if (!is(line, "HTTP/1.1") && !is(line, "HTTP/1.0"))
        return refuse(NM_SHUFFLE_BAD_REQUEST, "Bad request: it is not HTTP/1.1", ret_why);
    if (!is(method, "GET"))
        return refuse(NM_SHUFFLE_BAD_METHOD, "Bad method: only GET is allowed", ret_why);
    parse_headers(head, &h);
    if (!is(h.name, EXPECTED_NAME) || !is(h.version, EXPECTED_VERSION))
        return refuse(NM_SHUFFLE_BAD_REQUEST, "Incompatible shuffle request version", ret_why);
    /* a body would be parsed as the next request */
    if (h.body)
        return refuse(NM_SHUFFLE_BAD_REQUEST, "Bad request: a body is not allowed", ret_why);
    if ((r = parse_target(&q, decoded, ret_why)) > 0)
        return r;
    if (h.url_hash.size == 0)
        return refuse(NM_SHUFFLE_UNAUTHORIZED, "Missing header hash", ret_why);
    q.url_hash = h.url_hash;
    *ret = q;
    return 0;
}
