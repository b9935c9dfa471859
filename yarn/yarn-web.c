/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The node's pages at the addresses of Hadoop's NodeManager, except the web services (yarn-rest.c): pages for people
 * (web/page.h), logs (yarn-logs.c), figures (yarn-jmx.c) and the configuration (web/conf-dump.h). Over TCP, each client
 * gets them, as with Hadoop's NodeManager without Kerberos. Data of users is subject to the rules of yarn-rest.c.
 */

#include "yarn/yarn-state.h"

#include <errno.h>
#include <string.h>

#include "yarn/web/conf-dump.h"
#include "yarn/web/page.h"

#define TEXT "text/plain; charset=utf-8"
#define HTML "text/html; charset=utf-8"
#define XML "text/xml; charset=utf-8"

static int answer_text(struct nm_upstream_page *page, unsigned status, const char *type, char *text)
{
    page->status = status;
    page->content_type = type;
    page->before = text;
    return text ? 0 : -ENOMEM;
}

/* ---- pages for people --------------------------------------------------------------------- */

static unsigned status_of(enum nm_agent_outcome outcome)
{
    return outcome == NM_AGENT_E_NOT_FOUND ? 404 : outcome == NM_AGENT_E_FORBIDDEN ? 403 : 400;
}

/* Makes the page from the answer of the web service with the same data. */
static int answer_view(struct nm_yarn *y, const struct nm_upstream_query *q, const char *view,
                       char *(*print)(const json_t *answer), struct nm_upstream_page *ret,
                       struct nm_problem *ret_problem)
{
    json_t *answer = NULL;
    size_t i = 0;
    int r;

    while (!nm_streq(nm_yarn_views[i].path, view))
        i++;
    r = nm_yarn_views[i].get(y, q, &answer, ret_problem);
    if (r < 0)
        return r;
    if (r > 0)
        return answer_text(ret, status_of((enum nm_agent_outcome)r), HTML, nm_yarn_page_message(ret_problem->message));
    r = answer_text(ret, 200, HTML, print(answer));
    json_decref(answer);
    return r;
}

/* ---- the configuration -------------------------------------------------------------------- */

/* Hadoop reads the format from the header Accept, and older versions from the parameter. */
static bool wants_json(const struct nm_upstream_query *q, const char *format)
{
    return format ? nm_streq(format, "json") : q->accept && strstr(q->accept, "json");
}

static int answer_conf(struct nm_yarn *y, const struct nm_upstream_query *q, struct nm_upstream_page *ret)
{
    const char *format = q->parameter(q->request, "format"), *name = q->parameter(q->request, "name");
    const bool is_json = wants_json(q, format);
    json_t *dump = NULL;
    int r;

    if (format && !is_json && !nm_streq(format, "xml"))
        return answer_text(ret, 400, TEXT, nm_strdup_printf("Bad format: %s\n", format));
    r = nm_yarn_conf_dump(y->settings, name, !is_json, &dump);
    if (r == -ENOENT)
        return answer_text(ret, 404, TEXT, nm_strdup_printf("Property %s not found. /conf has only the properties that "
                                                            "nmd reads and that are set or have a default of "
                                                            "Hadoop.\n", name));
    if (r < 0)
        return r;
    if (is_json) {
        ret->status = 200;
        ret->json = dump;
        return 0;
    }
    r = answer_text(ret, 200, XML, nm_yarn_conf_dump_xml(dump));
    json_decref(dump);
    return r;
}

/* ---- dispatch ----------------------------------------------------------------------------- */

/* Pages of Hadoop that make no sense without a JVM. */
static const char *why_missing(const char *path)
{
    if (nm_streq(path, "/logLevel"))
        return "nmd has no loggers of Java. Its option --log-level sets the level of its log.\n";
    if (nm_streq(path, "/stacks"))
        return "nmd has no threads of Java. It has one thread, which handles one event after the other.\n";
    return NULL;
}

int nm_yarn_page(void *userdata, const struct nm_upstream_query *q, struct nm_upstream_page *ret,
                 struct nm_problem *ret_problem)
{
    static const struct {
        const char *path, *view;
        char *(*print)(const json_t *answer);
    } pages[] = {
        {"/node", "/ws/v1/node", nm_yarn_page_node},
        {"/node/node", "/ws/v1/node", nm_yarn_page_node},
        {"/node/allApplications", "/ws/v1/node/apps", nm_yarn_page_applications},
        {"/node/allContainers", "/ws/v1/node/containers", nm_yarn_page_containers},
        {"/node/application/{id}", "/ws/v1/node/apps/{id}", nm_yarn_page_application},
        {"/node/container/{id}", "/ws/v1/node/containers/{id}", nm_yarn_page_container},
    };
    const char *missing = why_missing(q->path);

    for (size_t i = 0; i < NM_ARRAY_SIZE(pages); i++)
        if (nm_streq(q->path, pages[i].path))
            return answer_view(userdata, q, pages[i].view, pages[i].print, ret, ret_problem);
    if (nm_streq(q->path, "/jmx"))
        return nm_yarn_jmx(userdata, q, ret);
    if (nm_streq(q->path, "/conf"))
        return answer_conf(userdata, q, ret);
    if (missing)
        return answer_text(ret, 404, TEXT, strdup(missing));
    return nm_yarn_logs_page(userdata, q, ret, ret_problem);
}
