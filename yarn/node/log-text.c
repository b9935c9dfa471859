/* SPDX-License-Identifier: Apache-2.0 */

/* See log-text.h. The names of files are chosen by the container and may be any bytes. */

#include "yarn/node/log-text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/macros.h"
#include "util/parse.h"
#include "util/utf8.h"
#include "yarn/node/html.h"

#define SHOWN_BYTES "-4096" /* default of the parameter start: the last 4096 bytes */
#define STARS_MORE 50 /* stars after the trailer in addition to its length, as in Hadoop */

/* ---- parts -------------------------------------------------------------------------------- */

/* Parses a number with an optional sign. Numbers beyond 64 bits are errors, as in Hadoop. */
static int parse_number(const char *text, bool *ret_negative, uint64_t *ret)
{
    const bool negative = *text == '-';
    uint64_t value;

    if (nm_parse_u64(text + negative, &value) < 0 || value > (uint64_t)INT64_MAX + negative)
        return -EINVAL;
    *ret_negative = negative;
    *ret = value;
    return 0;
}

int nm_yarn_log_part_by_count(uint64_t size, const char *count, struct nm_yarn_log_part *ret)
{
    uint64_t n = size;
    bool is_end = false;

    if (count && *count && parse_number(count, &is_end, &n) < 0)
        return -EINVAL;
    n = NM_MIN(n, size);
    *ret = (struct nm_yarn_log_part){is_end ? size - n : 0, n};
    return 0;
}

/* Converts a position. A negative one counts from the end. before: the result for a position before the start. */
static int position(uint64_t size, const char *text, uint64_t before, uint64_t *ret)
{
    bool negative;
    uint64_t n;

    if (parse_number(text, &negative, &n) < 0)
        return -EINVAL;
    *ret = !negative ? n : n > size ? before : size - n;
    return 0;
}

int nm_yarn_log_part_by_range(uint64_t size, const char *start, const char *end, struct nm_yarn_log_part *ret,
                              uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t from, to = size;

    if (position(size, start && *start ? start : SHOWN_BYTES, 0, &from) < 0 ||
        (end && *end && position(size, end, size, &to) < 0))
        return -EINVAL;
    to = NM_MIN(to, size);
    if (from > to) {
        *ret_start = from;
        *ret_end = to;
        return -ERANGE;
    }
    *ret = (struct nm_yarn_log_part){from, to - from};
    return 0;
}

/* ---- pieces ------------------------------------------------------------------------------- */

/* Prints a time as Hadoop does, in the node's time zone. */
static const char *print_time(int64_t sec, char *buf, size_t size)
{
    const time_t t = (time_t)sec;
    struct tm tm;

    if (!localtime_r(&t, &tm) || strftime(buf, size, "%a %b %d %H:%M:%S %z %Y", &tm) == 0)
        (void)snprintf(buf, size, "N/A");
    return buf;
}

/* Returns the length of a name as Java counts it, in UTF-16 units. */
static size_t java_length(const char *name)
{
    size_t units = 0;

    while (*name) {
        size_t n = nm_utf8_size(name);

        units += n == 4 ? 2 : 1;
        name += NM_MAX(n, (size_t)1);
    }
    return units;
}

char *nm_yarn_log_segment(const char *name)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    nm_yarn_put_segment(f, name);
    return nm_yarn_end_text(f, &text);
}

/* ---- web services ------------------------------------------------------------------------- */

static json_t *list_files(const struct nm_yarn_log_files *files)
{
    json_t *list = json_array();
    char size[24], at[64];

    for (size_t i = 0; list && i < files->n; i++) {
        const struct nm_yarn_log_file *f = &files->all[i];
        json_t *one;

        if (f->name[nm_utf8_prefix(f->name)] != '\0')
            continue;
        (void)snprintf(size, sizeof size, "%" PRIu64, f->size);
        one = json_pack("{s:s, s:s, s:s}", "fileName", f->name, "fileSize", size, "lastModifiedTime",
                        print_time(f->modified_sec, at, sizeof at));
        if (json_array_append_new(list, one) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *nm_yarn_log_list(const struct nm_yarn_log_text *t, const struct nm_yarn_log_files *files)
{
    json_t *list = files ? list_files(files) : json_array(), *info;
    char node[280];
    const bool has_any = json_array_size(list) > 0;

    (void)snprintf(node, sizeof node, "%s:%d", t->host, t->port);
    info = list ? json_object() : NULL;
    if (!info || (has_any && json_object_set(info, "containerLogInfo", list) < 0) ||
        json_object_set_new(info, "logAggregationType", json_string("LOCAL")) < 0 ||
        json_object_set_new(info, "containerId", json_string(t->container)) < 0 ||
        json_object_set_new(info, "nodeId", json_string(node)) < 0 ||
        (files && files->more && json_object_set_new(info, "more", json_true()) < 0)) {
        json_decref(info);
        info = NULL;
    }
    json_decref(list);
    return info ? json_pack("{s:o}", "containerLogsInfo", info) : NULL;
}

char *nm_yarn_log_before(const struct nm_yarn_log_text *t, const char *name, const struct nm_yarn_log_file *f)
{
    char *text = NULL, at[64];

    return asprintf(&text,
                    "Container: %s on %s:%d\n"
                    "LogAggregationType: LOCAL\n"
                    "================================================================\n"
                    "LogType:%s\n"
                    "LogLastModifiedTime:%s\n"
                    "LogLength:%" PRIu64 "\n"
                    "LogContents:\n",
                    t->container, t->host, t->port, name, print_time(f->modified_sec, at, sizeof at), f->size) < 0
               ? NULL
               : text;
}

char *nm_yarn_log_after(const struct nm_yarn_log_text *t, const char *name)
{
    const size_t n_stars = strlen("End of LogType:") + java_length(name) + STARS_MORE;
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    (void)fprintf(f, "End of LogType:%s.", name);
    if (t->is_running)
        (void)fprintf(f, "This log file belongs to a running container (%s) and so may not be complete.", t->container);
    (void)fputc('\n', f);
    for (size_t i = 0; i < n_stars; i++)
        (void)fputc('*', f);
    (void)fputs("\n\n", f);
    return nm_yarn_end_text(f, &text);
}

/* ---- pages -------------------------------------------------------------------------------- */

static void begin_page(FILE *f, const char *container)
{
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Logs for ", f);
    nm_yarn_put_html(f, container);
    (void)fputs("</title>\n<style>body{font-family:sans-serif}h1{font-size:120%}</style>\n</head>\n<body>\n"
                "<h1>Logs for ", f);
    nm_yarn_put_html(f, container);
    (void)fputs("</h1>\n", f);
}

/* Begins a link to a file. */
static void begin_link(FILE *f, const struct nm_yarn_log_text *t, const char *name, const char *start)
{
    (void)fputs("<a href=\"/node/containerlogs/", f);
    nm_yarn_put_segment(f, t->container);
    (void)fputc('/', f);
    nm_yarn_put_segment(f, t->owner);
    (void)fputc('/', f);
    nm_yarn_put_segment(f, name);
    (void)fprintf(f, "/?start=%s\">", start);
}

char *nm_yarn_log_page(const struct nm_yarn_log_text *t, const struct nm_yarn_log_files *files)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    begin_page(f, t->container);
    (void)fputs("<h2>Local Logs:</h2>\n", f);
    for (size_t i = 0; files && i < files->n; i++) {
        (void)fputs("<p>\n", f);
        begin_link(f, t, files->all[i].name, SHOWN_BYTES);
        nm_yarn_put_html(f, files->all[i].name);
        (void)fprintf(f, " : Total file length is %" PRIu64 " bytes.</a>\n", files->all[i].size);
    }
    if (!files || files->n == 0)
        (void)fprintf(f, "<p>No logs available for container %s</p>\n", t->container);
    if (files && files->more)
        (void)fprintf(f, "<p>There are more files. The page has the first %zu that were found.</p>\n", files->n);
    (void)fputs("</body>\n</html>\n", f);
    return nm_yarn_end_text(f, &text);
}

char *nm_yarn_log_page_before(const struct nm_yarn_log_text *t, const char *name, const struct nm_yarn_log_file *f,
                              const struct nm_yarn_log_part *part)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    begin_page(out, t->container);
    if (part->size < f->size) {
        (void)fprintf(out, "<p>\nShowing %" PRIu64 " bytes. Click\n", part->size);
        begin_link(out, t, name, "0");
        (void)fputs("here</a>\nfor full log\n", out);
    }
    (void)fputs("<pre>", out);
    /* A newline directly after <pre> is dropped by browsers. This one is in place of the file's own. */
    (void)fputc('\n', out);
    return nm_yarn_end_text(out, &text);
}

char *nm_yarn_log_page_message(const char *container, const char *message)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    begin_page(f, container);
    (void)fputs("<p>", f);
    nm_yarn_put_html(f, message);
    (void)fputs("</p>\n</body>\n</html>\n", f);
    return nm_yarn_end_text(f, &text);
}
