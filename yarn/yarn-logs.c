/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The pages and web services with the logs of containers (node/log-text.h), and who may read them.
 *
 *  - Over the UNIX socket, a user gets the logs of the containers that the user may see, and an administrator all logs.
 *    For other containers the answer is the same as for a container that doesn't exist.
 *  - Over TCP, as with Hadoop's NodeManager without Kerberos, every client gets all logs. If yarn.acl.enable is true, a
 *    request that names a user gets only the logs of applications that this user may view. The name is not verified,
 *    and a request without a name gets all logs. nmd.web.container-logs = false disables the logs over TCP.
 */

#include "yarn/yarn-state.h"

#include <errno.h>
#include <inttypes.h>
#include <strings.h>

#include "util/error.h"
#include "yarn/launch/log-files.h"
#include "yarn/node/acl.h"
#include "yarn/node/local-groups.h"
#include "yarn/node/log-text.h"
#include "yarn/node/rest.h"

#define TEXT "text/plain;charset=utf-8"
#define BYTES "application/octet-stream; charset=utf-8"
#define HTML "text/html; charset=utf-8"
#define UNKNOWN "Unknown container. Container either has not started or has already completed or doesn't belong to " \
                "this node at all."
#define REDIRECTED "redirected_from_node"

struct log_request {
    struct nm_yarn *y;
    const struct nm_upstream_query *q;
    bool is_page; /* the answer is for a browser */
    struct nm_yarn_log_owner of;
    struct nm_yarn_log_text text;
    struct nm_upstream_page *page;
    struct nm_problem *problem;
};

/* ---- who may read ------------------------------------------------------------------------- */

bool nm_yarn_may_see(void *userdata, const char *container)
{
    const struct nm_yarn_viewer *l = userdata;

    return l->who->admin || nm_manager_may_see(l->manager, l->who, container);
}

bool nm_yarn_may_view(void *userdata, const char *submitter, const char *view_acl)
{
    const struct nm_yarn_acl_viewer *v = userdata;
    const char *admin_acl = v->y->settings->admin_acl, *groups;

    if ((submitter && nm_streq(submitter, v->user)) || nm_yarn_acl_has_user(admin_acl, v->user) ||
        nm_yarn_acl_has_user(view_acl, v->user))
        return true;
    if (!nm_yarn_acl_has_groups(admin_acl) && !nm_yarn_acl_has_groups(view_acl))
        return false;
    groups = nm_yarn_local_groups_find(&v->y->local_groups, v->user, "/etc");
    return nm_yarn_acl_has_group_of(admin_acl, groups) || nm_yarn_acl_has_group_of(view_acl, groups);
}

bool nm_yarn_logs_may_read(struct nm_yarn *y, const struct nm_upstream_query *q, const struct nm_yarn_log_owner *of)
{
    const char *user = q->claimed_user;
    struct nm_yarn_viewer viewer = {y->manager, q->who};
    struct nm_yarn_acl_viewer named = {y, user};

    if (q->with_users)
        return nm_yarn_may_see(&viewer, q->id);
    return y->settings->serves_logs &&
           (!y->settings->has_acls || !user || nm_yarn_may_view(&named, of->submitter, of->view_acl));
}

/* ---- answers ------------------------------------------------------------------------------ */

/* Answers with an error. Programs get it in the format of their route: JSON for the list, text for a file. */
static int fail(struct log_request *a, enum nm_agent_outcome outcome, unsigned status, const char *message)
{
    struct nm_upstream_page *p = a->page;

    *a->problem = (struct nm_problem){.outcome = outcome};
    (void)snprintf(a->problem->message, sizeof a->problem->message, "%s", message);
    if (!a->is_page && !a->q->file)
        return (int)outcome;
    p->status = status;
    p->content_type = a->is_page ? HTML : TEXT;
    p->before = a->is_page ? nm_yarn_log_page_message(a->q->id, message) : strdup(message);
    return p->before ? 0 : -ENOMEM;
}

static int not_found(struct log_request *a, const char *message)
{
    return fail(a, NM_AGENT_E_NOT_FOUND, 404, message);
}

static bool has_query(const struct nm_upstream_query *q)
{
    return *q->raw_query != '\0';
}

/* Formats the address where the log server has the logs. The id and the names are escaped as in the request. The
 * JobHistory server has files only below /containerlogs, the timeline's history server also below /containers. */
static char *print_location(const struct log_request *a)
{
    const struct nm_upstream_query *q = a->q;
    const struct nm_yarn_settings *s = a->y->settings;
    _cleanup_free_ char *file = q->file ? nm_yarn_log_segment(q->file) : NULL;
    _cleanup_free_ char *owner = q->owner ? nm_yarn_log_segment(q->owner) : NULL;
    char *text = NULL;
    int n;

    if ((q->file && !file) || (q->owner && !owner))
        return NULL;
    if (a->is_page)
        n = asprintf(&text, "%s/%s:%d/%s/%s/%s%s%s%s%s", s->log_server, a->text.host, a->text.port, q->id, q->id, owner,
                     file ? "/" : "", file ?: "", has_query(q) ? "?" : "", q->raw_query);
    else
        n = asprintf(&text, "%s/%s/%s/%s?%s%s" REDIRECTED "=true", s->log_web_service,
                     file ? "containerlogs" : "containers", q->id, file ?: "logs", q->raw_query,
                     has_query(q) ? "&" : "");
    return n < 0 ? NULL : text;
}

/* Answers a request for logs that aren't on this node: redirects it to the log server, if one is configured. A request
 * that was redirected before isn't redirected again, because the log server may redirect requests to nodes. */
static int elsewhere(struct log_request *a, const char *message)
{
    const struct nm_yarn_settings *s = a->y->settings;
    const char *redirected = a->q->parameter(a->q->request, REDIRECTED);
    struct nm_upstream_page *p = a->page;

    if (!*(a->is_page ? s->log_server : s->log_web_service) || (redirected && strcasecmp(redirected, "true") == 0))
        return not_found(a, message);
    p->location = print_location(a);
    p->before = p->location ? nm_strdup_printf("Redirecting to log server : %s\n", p->location) : NULL;
    if (!p->before)
        return -ENOMEM;
    p->status = 307;
    p->content_type = TEXT;
    return 0;
}

/* ---- lists -------------------------------------------------------------------------------- */

static int answer_list(struct log_request *a)
{
    struct nm_yarn_log_files files = {};
    struct nm_upstream_page *p = a->page;
    int r = nm_yarn_log_files_read(a->y->services->launcher, a->of.application, a->q->id, &files);

    /* If the application is known, the list for a container without a directory is empty. */
    if (r == -ENOENT && !a->of.submitter)
        return elsewhere(a, UNKNOWN);
    if (r < 0 && r != -ENOENT)
        return r;
    p->status = 200;
    if (a->is_page) {
        p->content_type = HTML;
        p->before = nm_yarn_log_page(&a->text, &files);
    } else
        p->json = nm_yarn_log_list(&a->text, &files);
    nm_yarn_log_files_done(&files);
    return p->json || p->before ? 0 : -ENOMEM;
}

/* ---- files -------------------------------------------------------------------------------- */

static int choose_type(struct log_request *a)
{
    const char *format = a->q->parameter(a->q->request, "format");

    if (!format || !*format || nm_streq(format, "text"))
        a->page->content_type = TEXT;
    else if (nm_streq(format, "octet-stream"))
        a->page->content_type = BYTES;
    else
        return -EINVAL;
    return 0;
}

static int answer_part(struct log_request *a, const struct nm_yarn_log_file *f)
{
    struct nm_upstream_page *p = a->page;
    struct nm_yarn_log_part part;

    if (nm_yarn_log_part_by_count(f->size, a->q->parameter(a->q->request, "size"), &part) < 0)
        return fail(a, NM_AGENT_E_INVALID, 400, "The parameter size must be a whole number of 64 bits.");
    p->before = nm_yarn_log_before(&a->text, a->q->file, f);
    p->after = nm_yarn_log_after(&a->text, a->q->file);
    if (!p->before || !p->after)
        return -ENOMEM;
    p->from = part.from;
    p->size = part.size;
    p->status = 200;
    return 0;
}

static int answer_part_of_page(struct log_request *a, const struct nm_yarn_log_file *f)
{
    struct nm_upstream_page *p = a->page;
    struct nm_yarn_log_part part;
    uint64_t start, end;
    char message[120];
    int r = nm_yarn_log_part_by_range(f->size, a->q->parameter(a->q->request, "start"),
                                      a->q->parameter(a->q->request, "end"), &part, &start, &end);

    if (r == -ERANGE) {
        (void)snprintf(message, sizeof message, "Invalid start and end values. Start: [%" PRIu64 "], end[%" PRIu64 "]",
                       start, end);
        return fail(a, NM_AGENT_E_INVALID, 400, message);
    }
    if (r < 0)
        return fail(a, NM_AGENT_E_INVALID, 400, "The parameters start and end must be whole numbers of 64 bits.");
    p->before = nm_yarn_log_page_before(&a->text, a->q->file, f, &part);
    p->after = strdup(NM_YARN_LOG_PAGE_AFTER);
    if (!p->before || !p->after)
        return -ENOMEM;
    p->from = part.from;
    p->size = part.size;
    p->content_type = HTML;
    p->is_html = true;
    p->status = 200;
    return 0;
}

static int answer_file(struct log_request *a)
{
    struct nm_yarn_log_file f;
    int r;

    if (!a->is_page && choose_type(a) < 0)
        return fail(a, NM_AGENT_E_INVALID, 400, "The valid values for the parameter : format are [text, octet-stream]");
    r = nm_yarn_log_files_open(a->y->services->launcher, a->of.application, a->q->id, a->q->file, &a->page->fd, &f);
    if (r == -ENOENT)
        return elsewhere(a, a->of.submitter ? "Cannot find this log on the local disk." : UNKNOWN);
    if (r < 0)
        return r;
    r = a->is_page ? answer_part_of_page(a, &f) : answer_part(a, &f);
    /* an error page contains no part of the file */
    if (r == 0 && a->page->status != 200)
        a->page->fd = nm_close(a->page->fd);
    return r;
}

/* ---- requests ----------------------------------------------------------------------------- */

static int forbidden(struct log_request *a)
{
    char message[400];

    if (a->q->with_users) /* as for a container that doesn't exist */
        return not_found(a, UNKNOWN);
    if (!a->y->settings->serves_logs)
        return fail(a, NM_AGENT_E_FORBIDDEN, 403, "This node doesn't serve the logs of containers over TCP "
                                                  "(nmd.web.container-logs is false).");
    /* As in Hadoop, an unknown application has no ACL that could refuse the request. The log server checks its own. */
    if (!a->of.submitter)
        return elsewhere(a, UNKNOWN);
    (void)snprintf(message, sizeof message, "User [%.100s] is not authorized to view the logs for application %s",
                   a->q->claimed_user ?: "", a->of.application);
    return fail(a, NM_AGENT_E_FORBIDDEN, 403, message);
}

int nm_yarn_logs_page(void *userdata, const struct nm_upstream_query *q, struct nm_upstream_page *ret,
                      struct nm_problem *ret_problem)
{
    struct nm_yarn *y = userdata;
    struct log_request a = {.y = y, .q = q, .is_page = q->owner, .page = ret, .problem = ret_problem};
    char message[200];

    if (!nm_yarn_rest_is_container_id(q->id)) {
        (void)snprintf(message, sizeof message, "invalid container id, %.100s", q->id);
        return fail(&a, NM_AGENT_E_INVALID, 400, message);
    }
    nm_yarn_node_find_log_owner(y->services->node, q->id, &a.of);
    a.text = (struct nm_yarn_log_text){q->id, q->owner, y->host, y->id.port, a.of.is_running};
    if (!nm_yarn_logs_may_read(y, q, &a.of))
        return forbidden(&a);
    return q->file ? answer_file(&a) : answer_list(&a);
}
