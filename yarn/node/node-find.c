/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds the containers of requests, and refuses requests: see node-state.h. If Hadoop has a text for a refusal, nmd
 * uses Hadoop's text.
 */

#include "yarn/node/node-state.h"

#include <stdarg.h>

#include "util/clock.h"
#include "yarn/id-messages.h"

const struct nm_caller nm_yarn_admin = {.admin = true};

const struct nm_container *nm_yarn_container_core(const struct nm_yarn_container *i)
{
    const struct nm_container *c = NULL;
    struct nm_problem problem;

    return nm_manager_find(i->node->p.manager, &nm_yarn_admin, i->text, &c, &problem) == 0 ? c : NULL;
}

int nm_yarn_container_read_record(const struct nm_yarn_container *i, struct nm_yarn_record_version **ret)
{
    const struct nm_container *c = nm_yarn_container_core(i);

    return c ? nm_yarn_record_version_new((struct nm_bytes){c->blob.data, c->blob.bytes}, ret) : -ESRCH;
}

int nm_yarn_refuse(struct nm_exception *why, const char *format, ...)
{
    char text[sizeof why->message];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    nm_exception_set(why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_YARN, "%s", text);
    return NM_YARN_REFUSED;
}

int nm_yarn_refuse_unknown(const struct nm_yarn_node *n, const char *text, struct nm_exception *why)
{
    if (nm_yarn_recent_has(n, text, nm_now_usec()))
        return nm_yarn_refuse(why, "Container %s was recently stopped on node manager.", text);
    return nm_yarn_refuse(why, "Container %s is not handled by this NodeManager", text);
}

bool nm_yarn_node_has_adopted(const struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_bytes identifier)
{
    const struct nm_yarn_container_id number = nm_yarn_container_of(id);
    const struct nm_yarn_container *i = nm_yarn_container_table_find(&n->containers, &number);

    return i && i->is_adopted && i->record->identifier.len == identifier.size &&
           memcmp(i->record->identifier.data, identifier.data, identifier.size) == 0;
}

void nm_yarn_node_foreach_token(const struct nm_yarn_node *n,
                                void (*cb)(const Hadoop__ContainerTokenIdentifier *token, void *userdata),
                                void *userdata)
{
    for (const struct nm_yarn_container *i = n->containers.first; i; i = i->next)
        cb(i->token, userdata);
}

int nm_yarn_find_live(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_yarn_container **ret,
                      struct nm_exception *why)
{
    struct nm_yarn_container_id number = nm_yarn_container_of(id);
    struct nm_yarn_container *i = nm_yarn_container_table_find(&n->containers, &number);
    char text[NM_YARN_ID_SIZE];

    (void)nm_yarn_container_id_format(&number, text);
    if (!i)
        return nm_yarn_refuse_unknown(n, text, why);
    if (i->completed)
        return nm_yarn_refuse(why, "Container %s has completed already.", text);
    *ret = i;
    return 0;
}
