/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Containers and applications for the web services: see node.h. A container is found by the text of its id and not by
 * number, because clients use the text also for a container with a negative number.
 */

#include "yarn/node/node-state.h"

#include <errno.h>

#include "yarn/launch/log-files.h"
#include "yarn/node/rest.h"

#define LINK_SIZE 512

static const char *state_of(const struct nm_yarn_container *i, const struct nm_container *c)
{
    if (i->completed)
        return "DONE";
    if (!c || c->view.state == NM_COMPLETED) /* the manager still handles the container's end */
        return "CONTAINER_RESOURCES_CLEANINGUP";
    if (c->rerun)
        return "REINITIALIZING_AWAITING_KILL";
    return nm_state_name(c->view.state); /* the names of all other states are the same as Java's */
}

/* Lists the container's log files. This reads directories on disks, so only requests for one container list the files.
 * Without memory, names are missing. */
static json_t *files_of(const struct nm_yarn_container *i)
{
    struct nm_yarn_log_files files = {};
    json_t *names = json_array();

    (void)nm_yarn_log_files_read(i->node->p.launcher, i->app->text, i->text, &files);
    for (size_t k = 0; names && k < files.n; k++)
        (void)json_array_append_new(names, json_string(files.all[k].name)); /* leaves out a name that isn't UTF-8 */
    nm_yarn_log_files_done(&files);
    return names;
}

/* Formats the address of the container's logs. Fails while the node's name is not known yet. */
static const char *link_of(const struct nm_yarn_container *i, char *buf, size_t size)
{
    const struct nm_yarn_node *n = i->node;

    int len = snprintf(buf, size, "http://%s:%d/node/containerlogs/%s/%s", n->host, n->web_port, i->text,
                       i->app->submitter);

    return *n->host && len < (int)size ? buf : NULL;
}

/* Returns whether the viewer may see data of the application's user. The access lists of each application are examined
 * only once for an answer, because applications choose the length of theirs. */
static bool may_view(const struct nm_yarn_view_rights *rights, struct nm_yarn_app *a)
{
    if (!rights->with_users || !rights->may_view)
        return rights->with_users;
    if (a->view == NM_YARN_VIEW_UNKNOWN)
        a->view = rights->may_view(rights->view_userdata, a->submitter, a->view_acl) ? NM_YARN_VIEW_ALLOWED
                                                                                      : NM_YARN_VIEW_REFUSED;
    return a->view == NM_YARN_VIEW_ALLOWED;
}

static void begin_views(const struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights)
{
    for (struct nm_yarn_app *a = n->containers.apps; a && rights->may_view; a = a->next)
        a->view = NM_YARN_VIEW_UNKNOWN;
}

static json_t *show(const struct nm_yarn_container *i, const struct nm_yarn_view_rights *rights, bool listed)
{
    char link[LINK_SIZE];
    const bool with_user = may_view(rights, i->app);
    const struct nm_container *c = i->completed ? NULL : nm_yarn_container_core(i);
    const Hadoop__Resource *size = i->token->resource;
    const struct nm_yarn_rest_container shown = {
        .id = i->text,
        .state = state_of(i, c),
        .exit_code = i->completed ? i->exit_status : NM_YARN_INVALID,
        .user = with_user ? i->app->submitter : NULL,
        .diagnostics = with_user ? (i->completed ? i->diagnostics : i->messages) ?: "" : NULL,
        .memory_mib = size ? size->memory : 0,
        .vcores = size ? size->vcores : 0,
        .opportunistic = nm_yarn_container_is_opportunistic(i, c),
        .logs_link = with_user ? link_of(i, link, sizeof link) : NULL,
        .log_files = listed || !rights->with_log_files ? json_null() : files_of(i),
        .host = i->node->host,
        .port = i->node->port,
    };

    return nm_yarn_rest_container(&shown);
}

static bool sees(const struct nm_yarn_view_rights *rights, const struct nm_yarn_container *i)
{
    return rights->all || rights->may_see(rights->userdata, i->text);
}

/* ---- containers --------------------------------------------------------------------------- */

/* Adds containers to the list. *ret_more: set to true if containers were left out because the list is full. */
static int add_containers(const struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights, bool completed,
                          json_t *list, bool *ret_more)
{
    for (const struct nm_yarn_container *i = n->containers.first; i && !*ret_more; i = i->next) {
        if (i->completed != completed || !sees(rights, i))
            continue;
        if (json_array_size(list) >= NM_YARN_LIST_MAX)
            *ret_more = true;
        else if (json_array_append_new(list, show(i, rights, true)) < 0)
            return -ENOMEM;
    }
    return 0;
}

json_t *nm_yarn_node_show_containers(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights)
{
    json_t *list = json_array();
    bool more = false;
    int r;

    begin_views(n, rights);
    r = list ? add_containers(n, rights, false, list, &more) : -ENOMEM;
    if (r == 0)
        r = add_containers(n, rights, true, list, &more);
    if (r < 0) {
        json_decref(list);
        return NULL;
    }
    return nm_yarn_rest_list("containers", "container", list, more);
}

bool nm_yarn_node_show_container(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights, const char *id,
                                 json_t **ret)
{
    const struct nm_yarn_container *i = nm_yarn_container_table_by_text(&n->containers, id);

    if (!i || !sees(rights, i))
        return false;
    begin_views(n, rights);
    *ret = json_pack("{s:o}", "container", show(i, rights, false));
    return true;
}

/* ---- applications ------------------------------------------------------------------------- */

/* Lists all containers in one pass over the table, because there may be thousands of containers in hundreds of
 * applications. On failure, some applications may have a list already. */
static int list_containers(const struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights)
{
    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next) {
        if (!sees(rights, i))
            continue;
        i->app->listing = i->app->listing ?: json_array();
        if (!i->app->listing || json_array_append_new(i->app->listing, json_string(i->text)) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void drop_lists(const struct nm_yarn_node *n)
{
    for (struct nm_yarn_app *a = n->containers.apps; a; a = a->next)
        json_decref(STEAL_PTR(a->listing));
}

/* Returns whether the viewer may see the application. A viewer without all rights may see it only if it has a container
 * that the viewer may see. */
static bool sees_app(const struct nm_yarn_view_rights *rights, const struct nm_yarn_app *a)
{
    return rights->all || a->listing;
}

static const char *state_of_app(const struct nm_yarn_app *a)
{
    return nm_yarn_rest_application_state(a->ended, a->n_containers > 0);
}

static json_t *show_app(const struct nm_yarn_view_rights *rights, struct nm_yarn_app *a)
{
    json_t *ids = STEAL_PTR(a->listing) ?: json_array();

    return nm_yarn_rest_application(a->text, state_of_app(a), may_view(rights, a) ? a->submitter : NULL, ids);
}

json_t *nm_yarn_node_show_applications(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights,
                                       const char *state, const char *user)
{
    json_t *list = json_array();
    bool more = false;
    int r = list ? list_containers(n, rights) : -ENOMEM;

    begin_views(n, rights);
    for (struct nm_yarn_app *a = n->containers.apps; a && r == 0 && !more; a = a->next) {
        if (!sees_app(rights, a) || (state && !nm_streq(state, state_of_app(a))) ||
            (user && !(nm_streq(user, a->submitter) && may_view(rights, a))))
            continue;
        if (json_array_size(list) >= NM_YARN_LIST_MAX)
            more = true;
        else if (json_array_append_new(list, show_app(rights, a)) < 0)
            r = -ENOMEM;
    }
    drop_lists(n);
    if (r < 0) {
        json_decref(list);
        return NULL;
    }
    return nm_yarn_rest_list("apps", "app", list, more);
}

bool nm_yarn_node_show_application(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights,
                                   const struct nm_yarn_application_id *id, json_t **ret)
{
    struct nm_yarn_app *a = nm_yarn_container_table_app(&n->containers, id);
    bool found = false;

    if (!a)
        return false;
    begin_views(n, rights);
    if (list_containers(n, rights) < 0) {
        *ret = NULL;
        found = true;
    } else if (sees_app(rights, a)) {
        *ret = json_pack("{s:o}", "app", show_app(rights, a));
        found = true;
    }
    drop_lists(n);
    return found;
}
