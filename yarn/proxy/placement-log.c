/* SPDX-License-Identifier: Apache-2.0 */

/* See placement-log.h. */

#include "yarn/proxy/placement-log.h"

#include "util/clock.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/proxy-store.pb-c.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void write_placement(const struct nm_yarn_slot_log *l, const struct nm_yarn_logged_placement *p, uint64_t n)
{
    const struct nm_yarn_alloc_why *why = &p->what.why;
    struct nm_yarn_container_message container, master;
    Yarn__StoredPlacement m = YARN__STORED_PLACEMENT__INIT;
    uint32_t passed[NM_YARN_N_SKIP_REASONS];
    Hadoop__NodeId node = HADOOP__NODE_ID__INIT;

    for (size_t i = 0; i < NM_YARN_N_SKIP_REASONS; i++)
        passed[i] = why->skipped[i];
    node.host = p->host;
    node.has_port = 1;
    node.port = p->port;
    m.number = n;
    m.container = nm_yarn_container_message_set(&container, &p->is.container);
    m.master = nm_yarn_container_message_set(&master, &p->is.master);
    m.node = &node;
    m.rack = p->rack;
    m.realtime_usec = p->realtime_usec;
    m.memory_mib = p->what.size.memory_mib;
    m.vcores = p->what.size.vcores;
    m.priority = p->what.priority;
    m.request_id = p->what.request_id;
    m.rule = why->rule;
    m.listed = why->listed;
    m.position = why->position;
    m.passed = passed;
    m.n_passed = NM_YARN_N_SKIP_REASONS;
    m.hosts = why->hosts;
    m.racks = why->racks;
    m.waited_usec = why->waited_usec;
    nm_yarn_slot_log_write(l, n, &m.base);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_name(const char *text)
{
    return text && strlen(text) <= NM_YARN_ALLOC_NAME_MAX;
}

/* An nmd with fewer reasons may have written the entry. */
static bool is_valid(const Yarn__StoredPlacement *m)
{
    return m->node && is_name(m->node->host) && is_name(m->rack) && m->rule < NM_YARN_ALLOC_N_RULES &&
           m->n_passed <= NM_YARN_N_SKIP_REASONS;
}

static bool load_placement(const ProtobufCMessage *message, struct nm_yarn_slot_head *ret_head, void *entry)
{
    const Yarn__StoredPlacement *m = (const Yarn__StoredPlacement *)message;
    struct nm_yarn_logged_placement *p = entry;

    *ret_head = (struct nm_yarn_slot_head){m->number, m->container, m->master};
    if (!is_valid(m))
        return false;
    p->host = strdup(m->node->host);
    p->rack = strdup(m->rack);
    p->port = m->node->port;
    p->realtime_usec = m->realtime_usec;
    p->what.size = (struct nm_yarn_alloc_size){m->memory_mib, m->vcores};
    p->what.priority = m->priority;
    p->what.request_id = m->request_id;
    p->what.why = (struct nm_yarn_alloc_why){.rule = (enum nm_yarn_alloc_rule)m->rule, .listed = (uint16_t)m->listed,
                                             .position = (uint16_t)m->position, .hosts = m->hosts, .racks = m->racks,
                                             .waited_usec = m->waited_usec};
    for (size_t i = 0; i < m->n_passed; i++)
        p->what.why.skipped[i] = (uint16_t)m->passed[i];
    return p->host && p->rack;
}

static void placement_done(void *entry)
{
    struct nm_yarn_logged_placement *p = entry;

    free(p->host);
    free(p->rack);
}

static const struct nm_yarn_slot_type placements = {
    .file_name = "placements",
    .message = &yarn__stored_placement__descriptor,
    .entry_bytes = sizeof(struct nm_yarn_logged_placement),
    .load = load_placement,
    .done = placement_done,
};

/* ---- interface ------------------------------------------------------------------------------- */

int nm_yarn_placement_log_new(int dir_fd, struct nm_yarn_slot_log **ret)
{
    return nm_yarn_slot_log_new(dir_fd, &placements, ret);
}

void nm_yarn_placement_log_add(struct nm_yarn_slot_log *l, const struct nm_yarn_container_id *container,
                               const struct nm_yarn_container_id *master, const struct nm_yarn_placement *what)
{
    _cleanup_free_ char *host = strdup(what->node->host), *rack = strdup(what->node->rack);
    struct nm_yarn_logged_placement *p;
    uint64_t number;

    if (!host || !rack)
        return;
    p = nm_yarn_slot_log_add(l, container, master, &number);
    p->host = STEAL_PTR(host);
    p->rack = STEAL_PTR(rack);
    p->port = what->node->port;
    p->realtime_usec = nm_realtime_usec();
    p->what = *what;
    p->what.node = NULL;
    write_placement(l, p, number);
}

const struct nm_yarn_logged_placement *nm_yarn_placement_log_find(const struct nm_yarn_slot_log *l,
                                                                  const char *container)
{
    return nm_yarn_slot_log_find(l, container);
}
