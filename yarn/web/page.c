/* SPDX-License-Identifier: Apache-2.0 */

/* See page.h. */

#include "yarn/web/page.h"

#include <time.h>

#include "util/macros.h"
#include "yarn/node/html.h"

enum kind { TEXT, MIB, MSEC, LOGS };

/* A row of a page about one thing, or a column of a list. */
struct cell {
    const char *member, *label;
    enum kind kind;
};

/* ---- parts -------------------------------------------------------------------------------- */

static void begin_page(FILE *f, const char *title)
{
    (void)fprintf(f,
                  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>%s</title>\n<style>"
                  "body{font-family:sans-serif;margin:1em}h1{font-size:120%%}table{border-collapse:collapse}"
                  "th,td{border:1px solid #ccc;padding:.25em .6em;text-align:left;vertical-align:top}"
                  "th{background:#eee}td{white-space:pre-wrap;overflow-wrap:anywhere}nav a{margin-right:1.2em}"
                  "</style>\n</head>\n<body>\n"
                  "<nav><a href=\"/node\">Node</a> <a href=\"/node/allApplications\">Applications</a> "
                  "<a href=\"/node/allContainers\">Containers</a> <a href=\"/\">nmd</a></nav>\n<h1>%s</h1>\n",
                  title, title);
}

static char *end_page(FILE *f, char **text)
{
    (void)fputs("</body>\n</html>\n", f);
    return nm_yarn_end_text(f, text);
}

static void put_time(FILE *f, int64_t msec)
{
    const time_t t = (time_t)(msec / 1000);
    char text[64] = "";
    struct tm tm;

    if (localtime_r(&t, &tm))
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &tm);
    (void)fputs(text, f);
}

/* Writes a link to the page of an application or a container: kind is the name of the page. */
static void put_link(FILE *f, const char *kind, const char *id)
{
    (void)fprintf(f, "<a href=\"/node/%s/", kind);
    nm_yarn_put_segment(f, id);
    (void)fputs("\">", f);
    nm_yarn_put_html(f, id);
    (void)fputs("</a>", f);
}

static void put_logs(FILE *f, const char *address)
{
    (void)fputs("<a href=\"", f);
    nm_yarn_put_html(f, address);
    (void)fputs("\">logs</a>", f);
}

/* Writes a value. The value of a member that the viewer may not see is null. */
static void put_value(FILE *f, const json_t *value, enum kind kind)
{
    const char *text = json_string_value(value);

    if (kind == LOGS && text)
        put_logs(f, text);
    else if (text)
        nm_yarn_put_html(f, text);
    else if (kind == MSEC)
        put_time(f, json_integer_value(value));
    else if (json_is_integer(value))
        (void)fprintf(f, "%" JSON_INTEGER_FORMAT "%s", json_integer_value(value), kind == MIB ? " MiB" : "");
    else if (json_is_boolean(value))
        (void)fputs(json_is_true(value) ? "yes" : "no", f);
    else if (json_is_array(value))
        (void)fprintf(f, "%zu", json_array_size(value));
    else
        (void)fputs("-", f);
}

static void put_rows(FILE *f, const json_t *thing, const struct cell *rows, size_t n)
{
    (void)fputs("<table>\n", f);
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(f, "<tr><th>%s</th><td>", rows[i].label);
        put_value(f, json_object_get(thing, rows[i].member), rows[i].kind);
        (void)fputs("</td></tr>\n", f);
    }
    (void)fputs("</table>\n", f);
}

/* Makes the page about one thing. */
static FILE *begin_thing(const char *title, const json_t *thing, const struct cell *rows, size_t n, char **text,
                         size_t *size)
{
    FILE *f = open_memstream(text, size);

    if (!f)
        return NULL;
    begin_page(f, title);
    put_rows(f, thing, rows, n);
    return f;
}

/* Writes a list of applications or containers. An empty list has no array. */
static void put_list(FILE *f, const json_t *list, const char *page, const struct cell *columns, size_t n)
{
    const json_t *item;
    size_t i;

    (void)fputs("<table>\n<tr><th>Id</th>", f);
    for (size_t k = 0; k < n; k++)
        (void)fprintf(f, "<th>%s</th>", columns[k].label);
    (void)fputs("</tr>\n", f);
    json_array_foreach(list, i, item) {
        (void)fputs("<tr><td>", f);
        put_link(f, page, json_string_value(json_object_get(item, "id")) ?: "");
        (void)fputs("</td>", f);
        for (size_t k = 0; k < n; k++) {
            (void)fputs("<td>", f);
            put_value(f, json_object_get(item, columns[k].member), columns[k].kind);
            (void)fputs("</td>", f);
        }
        (void)fputs("</tr>\n", f);
    }
    (void)fputs("</table>\n", f);
}

static char *make_list(const char *title, const json_t *all, const char *member, const char *page,
                       const struct cell *columns, size_t n)
{
    const json_t *list = json_object_get(all, member);
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    begin_page(f, title);
    if (json_array_size(list) > 0)
        put_list(f, list, page, columns, n);
    else
        (void)fputs("<p>None.</p>\n", f);
    if (json_is_true(json_object_get(all, "more")))
        (void)fprintf(f, "<p>There are more. The page has the first %zu.</p>\n", json_array_size(list));
    return end_page(f, &text);
}

/* ---- pages -------------------------------------------------------------------------------- */

char *nm_yarn_page_node(const json_t *answer)
{
    static const struct cell rows[] = {
        {"id", "Node", TEXT},
        {"nodeHealthy", "Healthy", TEXT},
        {"healthReport", "Health report", TEXT},
        {"lastNodeUpdateTime", "Health reported", MSEC},
        {"totalPmemAllocatedContainersMB", "Memory for containers", MIB},
        {"totalVmemAllocatedContainersMB", "Memory and swap", MIB},
        {"totalVCoresAllocatedContainers", "Vcores for containers", TEXT},
        {"resourceTypes", "Resource types", TEXT},
        {"pmemCheckEnabled", "Memory is limited", TEXT},
        {"vmemCheckEnabled", "Address space is limited", TEXT},
        {"nmStartupTime", "Started", MSEC},
        {"nodeManagerBuildVersion", "Version", TEXT},
        {"hadoopVersion", "Behaves as Hadoop", TEXT},
    };
    char *text = NULL;
    size_t size;
    FILE *f = begin_thing("Node", json_object_get(answer, "nodeInfo"), rows, NM_ARRAY_SIZE(rows), &text, &size);

    return f ? end_page(f, &text) : NULL;
}

char *nm_yarn_page_applications(const json_t *answer)
{
    static const struct cell columns[] = {
        {"state", "State", TEXT}, {"user", "User", TEXT}, {"containerids", "Containers", TEXT},
    };

    return make_list("Applications", json_object_get(answer, "apps"), "app", "application", columns,
                     NM_ARRAY_SIZE(columns));
}

char *nm_yarn_page_application(const json_t *answer)
{
    static const struct cell rows[] = {{"id", "Application", TEXT}, {"state", "State", TEXT}, {"user", "User", TEXT}};
    const json_t *app = json_object_get(answer, "app"), *ids = json_object_get(app, "containerids"), *id;
    char *text = NULL;
    size_t size, i;
    FILE *f = begin_thing("Application", app, rows, NM_ARRAY_SIZE(rows), &text, &size);

    if (!f)
        return NULL;
    (void)fputs("<h1>Containers</h1>\n<ul>\n", f);
    json_array_foreach(ids, i, id) {
        (void)fputs("<li>", f);
        put_link(f, "container", json_string_value(id) ?: "");
        (void)fputs("</li>\n", f);
    }
    (void)fputs("</ul>\n", f);
    return end_page(f, &text);
}

char *nm_yarn_page_containers(const json_t *answer)
{
    static const struct cell columns[] = {
        {"executionType", "Type", TEXT},          {"state", "State", TEXT},
        {"user", "User", TEXT},                   {"totalMemoryNeededMB", "Memory", MIB},
        {"totalVCoresNeeded", "Vcores", TEXT},    {"containerLogsLink", "Logs", LOGS},
    };

    return make_list("Containers", json_object_get(answer, "containers"), "container", "container", columns,
                     NM_ARRAY_SIZE(columns));
}

char *nm_yarn_page_container(const json_t *answer)
{
    static const struct cell rows[] = {
        {"id", "Container", TEXT},
        {"state", "State", TEXT},
        {"exitCode", "Exit status", TEXT},
        {"diagnostics", "Diagnostics", TEXT},
        {"user", "User", TEXT},
        {"totalMemoryNeededMB", "Memory", MIB},
        {"totalVCoresNeeded", "Vcores", TEXT},
        {"executionType", "Type", TEXT},
        {"containerLogsLink", "Logs", LOGS},
    };
    char *text = NULL;
    size_t size;
    FILE *f = begin_thing("Container", json_object_get(answer, "container"), rows, NM_ARRAY_SIZE(rows), &text, &size);

    return f ? end_page(f, &text) : NULL;
}

char *nm_yarn_page_message(const char *message)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    begin_page(f, "Node");
    (void)fputs("<p>", f);
    nm_yarn_put_html(f, message);
    (void)fputs("</p>\n", f);
    return end_page(f, &text);
}
