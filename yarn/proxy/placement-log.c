/* SPDX-License-Identifier: Apache-2.0 */

/* See placement-log.h. The file is a copy of the ring in memory. Each entry contains its number in the sequence of all
 * entries. A restarted nmd finds the newest entry by this number. */

#include "yarn/proxy/placement-log.h"

#include <errno.h>

#include "util/clock.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/proxy-store.pb-c.h"
#include "yarn/proxy/slot-file.h"

#define PLACEMENTS_FILE "placements"

_Static_assert(NM_YARN_PLACEMENTS_MAX == NM_YARN_SLOTS, "the file is a copy of the ring");

struct nm_yarn_placement_log {
    struct nm_yarn_slot_file file;
    uint64_t count; /* number of all entries that were ever added */
    struct nm_yarn_logged_placement ring[NM_YARN_PLACEMENTS_MAX]; /* host NULL: the slot is empty */
};

static void placement_done(struct nm_yarn_logged_placement *p)
{
    free(p->host);
    free(p->rack);
    *p = (struct nm_yarn_logged_placement){};
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_slot(const struct nm_yarn_placement_log *all, uint64_t n)
{
    const struct nm_yarn_logged_placement *p = &all->ring[n % NM_YARN_PLACEMENTS_MAX];
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
    m.container = nm_yarn_container_message_set(&container, &p->container);
    m.master = nm_yarn_container_message_set(&master, &p->master);
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
    nm_yarn_slot_file_write(&all->file, n, &m.base);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_name(const char *text)
{
    return text && strlen(text) <= NM_YARN_ALLOC_NAME_MAX;
}

/* Checks an entry. An nmd with fewer reasons may have written it. An entry with the maximum number is refused, because
 * no newer entry could have a higher number. */
static bool is_whole(const Yarn__StoredPlacement *m, size_t slot)
{
    return m->number < INT64_MAX && m->number % NM_YARN_PLACEMENTS_MAX == slot &&
           nm_yarn_is_container(m->container) && nm_yarn_is_container(m->master) && m->node && is_name(m->node->host) &&
           is_name(m->rack) && m->rule < NM_YARN_ALLOC_N_RULES && m->n_passed <= NM_YARN_N_SKIP_REASONS;
}

static void load_placement(const ProtobufCMessage *message, size_t slot, void *userdata)
{
    const Yarn__StoredPlacement *m = (const Yarn__StoredPlacement *)message;
    struct nm_yarn_placement_log *all = userdata;
    struct nm_yarn_logged_placement *p = &all->ring[slot];
    _cleanup_free_ char *host = NULL, *rack = NULL;
    struct nm_yarn_alloc_why *why = &p->what.why;

    if (!is_whole(m, slot))
        return;
    host = strdup(m->node->host);
    rack = strdup(m->rack);
    if (!host || !rack)
        return;
    *p = (struct nm_yarn_logged_placement){nm_yarn_container_of(m->container), nm_yarn_container_of(m->master),
                                           STEAL_PTR(host), STEAL_PTR(rack), m->node->port, m->realtime_usec, {}};
    p->what.size = (struct nm_yarn_alloc_size){m->memory_mib, m->vcores};
    p->what.priority = m->priority;
    p->what.request_id = m->request_id;
    *why = (struct nm_yarn_alloc_why){.rule = (enum nm_yarn_alloc_rule)m->rule, .listed = (uint16_t)m->listed,
                                      .position = (uint16_t)m->position, .hosts = m->hosts, .racks = m->racks,
                                      .waited_usec = m->waited_usec};
    for (size_t i = 0; i < m->n_passed; i++)
        why->skipped[i] = (uint16_t)m->passed[i];
    if (m->number >= all->count)
        all->count = m->number + 1;
}

/* ---- interface ------------------------------------------------------------------------------- */

int nm_yarn_placement_log_new(int dir_fd, struct nm_yarn_placement_log **ret)
{
    struct nm_yarn_placement_log *p = calloc(1, sizeof *p);

    if (!p)
        return -ENOMEM;
    nm_yarn_slot_file_open(dir_fd, PLACEMENTS_FILE, &p->file);
    nm_yarn_slot_file_read(&p->file, &yarn__stored_placement__descriptor, load_placement, p);
    *ret = p;
    return 0;
}

int nm_yarn_placement_log_error(const struct nm_yarn_placement_log *p)
{
    return p->file.error;
}

struct nm_yarn_placement_log *nm_yarn_placement_log_free(struct nm_yarn_placement_log *p)
{
    if (!p)
        return NULL;
    for (size_t i = 0; i < NM_YARN_PLACEMENTS_MAX; i++)
        placement_done(&p->ring[i]);
    nm_yarn_slot_file_done(&p->file);
    free(p);
    return NULL;
}

void nm_yarn_placement_log_add(struct nm_yarn_placement_log *p, const struct nm_yarn_container_id *container,
                               const struct nm_yarn_container_id *master, const struct nm_yarn_placement *what)
{
    _cleanup_free_ char *host = strdup(what->node->host), *rack = strdup(what->node->rack);
    struct nm_yarn_logged_placement *placement = &p->ring[p->count % NM_YARN_PLACEMENTS_MAX];

    if (!host || !rack)
        return;
    placement_done(placement);
    *placement = (struct nm_yarn_logged_placement){*container, *master, STEAL_PTR(host), STEAL_PTR(rack),
                                                   what->node->port, nm_realtime_usec(), *what};
    placement->what.node = NULL;
    write_slot(p, p->count++);
}

const struct nm_yarn_logged_placement *nm_yarn_placement_log_find(const struct nm_yarn_placement_log *p,
                                                                  const char *container)
{
    const uint64_t n = NM_MIN(p->count, (uint64_t)NM_YARN_PLACEMENTS_MAX);
    char text[NM_YARN_ID_SIZE];

    for (uint64_t i = 1; i <= n; i++) {
        const struct nm_yarn_logged_placement *placement = &p->ring[(p->count - i) % NM_YARN_PLACEMENTS_MAX];

        if (placement->host && nm_streq(nm_yarn_container_id_format(&placement->container, text), container))
            return placement;
    }
    return NULL;
}
