/* SPDX-License-Identifier: Apache-2.0 */

/* The owner of a container's logs: see node.h. The logs stay on the node after the container and its application have
 * ended, until the launcher removes them. */

#include "yarn/node/node-state.h"

#include "yarn/launch/log-files.h"
#include "yarn/node/rest.h"

static const struct nm_yarn_app *find_app(const struct nm_yarn_node *n, const char *text)
{
    const struct nm_yarn_app *a = n->containers.apps;

    while (a && !nm_streq(a->text, text))
        a = a->next;
    return a;
}

void nm_yarn_node_find_log_owner(struct nm_yarn_node *n, const char *container, struct nm_yarn_log_owner *ret)
{
    const struct nm_yarn_container *i = nm_yarn_container_table_by_text(&n->containers, container);
    const struct nm_yarn_app *app;
    struct nm_yarn_log_owner o = {.is_running = i && !i->completed};

    if (nm_yarn_rest_application_of(container, o.application, sizeof o.application) == 0) {
        app = find_app(n, o.application);
        o.submitter = app ? app->submitter
                          : nm_yarn_log_files_submitter(n->p.launcher, o.application, &o.view_acl);
        o.view_acl = app ? app->view_acl : o.view_acl;
    } else
        *o.application = '\0';
    *ret = o;
}
