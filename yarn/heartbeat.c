/* SPDX-License-Identifier: Apache-2.0 */

/* See heartbeat.h. The units are YARN's: memory is in MiB, but in GiB for opportunistic containers. CPU is a number of
 * vcores. */

#include "yarn/heartbeat.h"

#include <math.h>

#define NEWEST_RUN_SHARE 0.125

void nm_yarn_heartbeat_note_run(struct nm_yarn_heartbeat_memory *m, uint64_t usec)
{
    double share = NM_MAX(1.0 / (double)(m->n_runs + 1), NEWEST_RUN_SHARE);

    m->run_usec += ((double)usec - m->run_usec) * share;
    m->n_runs++;
}

void nm_yarn_heartbeat_note_given_back(struct nm_yarn_heartbeat_memory *m, uint64_t now_usec, uint64_t usec)
{
    if (now_usec >= m->no_room_until_usec)
        m->no_room_reported_usec = 0;
    m->no_room_until_usec = NM_MAX(m->no_room_until_usec, now_usec + usec);
}

bool nm_yarn_heartbeat_note_refused(struct nm_yarn_heartbeat_memory *m, uint64_t now_usec)
{
    nm_yarn_heartbeat_note_given_back(m, now_usec, NM_YARN_HEARTBEAT_NO_ROOM_USEC);
    return m->no_room_reported_usec > 0 && now_usec - m->no_room_reported_usec >= NM_YARN_HEARTBEAT_IN_FLIGHT_USEC;
}

void nm_yarn_heartbeat_note_start(struct nm_yarn_heartbeat_memory *m)
{
    m->no_room_until_usec = 0;
}

int32_t nm_yarn_heartbeat_wait_msec(const struct nm_yarn_heartbeat_memory *m, uint32_t queued, uint32_t running)
{
    double msec;

    if (queued == 0)
        return 0;
    if (m->n_runs == 0)
        return -1;
    msec = ceil(m->run_usec / 1000 * queued / NM_MAX(running, 1u));
    return msec < INT32_MAX ? (int32_t)msec : INT32_MAX;
}

uint32_t nm_yarn_heartbeat_queue_limit(const struct nm_yarn_heartbeat_memory *m, int32_t max_length,
                                       int32_t max_wait_msec, uint32_t running)
{
    double n;

    if (max_length >= 0)
        return (uint32_t)max_length;
    if (max_wait_msec < 0 || m->n_runs == 0)
        return UINT32_MAX;
    n = max_wait_msec * 1000.0 * NM_MAX(running, 1u) / NM_MAX(m->run_usec, 1.0);
    return n < (double)UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

uint64_t nm_yarn_early_due(const struct nm_yarn_early *e, uint64_t now_usec)
{
    return NM_MAX(now_usec, nm_sub_u64(e->full_usec, (NM_YARN_EARLY_BURST - 1) * NM_YARN_EARLY_USEC));
}

void nm_yarn_early_use(struct nm_yarn_early *e, uint64_t now_usec)
{
    e->full_usec = NM_MAX(e->full_usec, now_usec) + NM_YARN_EARLY_USEC;
}

static int32_t whole(uint64_t v)
{
    return (int32_t)NM_MIN(v, (uint64_t)INT32_MAX);
}

static int32_t mib(uint64_t bytes)
{
    return whole(bytes / NM_MIB);
}

static void make_health(struct nm_yarn_heartbeat *r, struct nm_yarn_heartbeat_memory *m, const struct nm_status *s,
                        uint64_t now_usec, uint64_t realtime_usec)
{
    bool healthy = s->healthy;

    if (healthy)
        m->unhealthy_since_usec = 0;
    else if (m->unhealthy_since_usec == 0)
        m->unhealthy_since_usec = now_usec;
    if (!healthy && now_usec - m->unhealthy_since_usec < NM_YARN_HEARTBEAT_UNHEALTHY_USEC)
        healthy = true;
    (void)snprintf(r->health_text, sizeof r->health_text, "%s", healthy ? "" : s->health_reason);
    r->health = (Yarn__Health)YARN__HEALTH__INIT;
    r->health.has_healthy = r->health.has_reported_msec = 1;
    r->health.healthy = healthy;
    r->health.report = r->health_text;
    r->health.reported_msec = (int64_t)(realtime_usec / 1000);
}

static void make_use(Yarn__Utilization *u, uint64_t memory_bytes, uint64_t virtual_bytes, double cpu)
{
    *u = (Yarn__Utilization)YARN__UTILIZATION__INIT;
    u->has_memory_mib = u->has_virtual_mib = u->has_cpu = 1;
    u->memory_mib = mib(memory_bytes);
    u->virtual_mib = mib(virtual_bytes);
    u->cpu = (float)cpu;
}

/* Fills in the use of the node and of the containers. The virtual memory in the report is the RAM and swap in use.
 * Reserved address space isn't included, because it uses no memory. */
static void make_uses(struct nm_yarn_heartbeat *r, const struct nm_status *s)
{
    const struct nm_node_sample *n = &s->node;
    const struct nm_resources *by = s->used_by;
    uint64_t memory = nm_sub_u64(n->memory_total_bytes, n->memory_available_bytes);
    uint64_t containers = by[NM_GUARANTEED].memory_bytes + by[NM_OPPORTUNISTIC].memory_bytes;
    double share = (double)(by[NM_GUARANTEED].cpu_millicores + by[NM_OPPORTUNISTIC].cpu_millicores) /
                   (double)NM_MAX(s->capacity.cpu_millicores, (uint64_t)1);

    make_use(&r->node_use, memory, memory + nm_sub_u64(n->swap_total_bytes, n->swap_free_bytes),
             n->cpu_valid ? n->cpu_busy_millicores / 1000.0 : -1);
    make_use(&r->containers_use, containers, containers, share * s->capacity_vcores_milli / 1000.0);
}

static void make_opportunistic(struct nm_yarn_heartbeat *r, struct nm_yarn_heartbeat_memory *m,
                               const struct nm_status *s, uint32_t queue_capacity, uint64_t now_usec)
{
    const bool has_no_room = now_usec < m->no_room_until_usec;
    const bool takes_none = s->state == NM_NODE_DRAINING || has_no_room;
    const uint64_t gib = UINT64_C(1) << 30;
    Yarn__OpportunisticStatus *o = &r->opportunistic;

    if (has_no_room && m->no_room_reported_usec == 0)
        m->no_room_reported_usec = now_usec;
    *o = (Yarn__OpportunisticStatus)YARN__OPPORTUNISTIC_STATUS__INIT;
    o->has_running = o->has_memory_gib = o->has_vcores = o->has_queued = o->has_wait_queue_length = 1;
    o->has_wait_msec = o->has_queue_capacity = 1;
    o->running = whole(s->opportunistic_running);
    o->memory_gib = (int64_t)((s->allocated[NM_OPPORTUNISTIC].memory_bytes + gib - 1) / gib);
    o->vcores = whole((s->allocated_vcores_milli[NM_OPPORTUNISTIC] + 999) / 1000);
    o->queued = whole(s->queue_length);
    /* If the node accepts no containers, the report says that its queue is full. The ResourceManager reads the capacity
     * only once and sends at most capacity minus queue length. */
    o->wait_queue_length = whole(takes_none ? NM_MAX(s->queued, queue_capacity) : s->queued);
    o->wait_msec = nm_yarn_heartbeat_wait_msec(m, s->queued, s->opportunistic_running);
    o->queue_capacity = whole(queue_capacity);
}

static void make_resource(Hadoop__Resource *r, uint64_t memory_bytes, uint64_t vcores)
{
    *r = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    r->has_memory = r->has_vcores = 1;
    r->memory = (int64_t)(memory_bytes / NM_MIB);
    r->vcores = whole(vcores);
}

void nm_yarn_heartbeat_make(struct nm_yarn_heartbeat *r, struct nm_yarn_heartbeat_memory *m, const struct nm_status *s,
                            uint32_t queue_capacity, uint64_t now_usec, uint64_t realtime_usec)
{
    r->status = (Yarn__NodeStatus)YARN__NODE_STATUS__INIT;
    make_health(r, m, s, now_usec, realtime_usec);
    make_uses(r, s);
    make_opportunistic(r, m, s, queue_capacity, now_usec);
    make_resource(&r->offered, s->configured.memory_bytes, s->configured_vcores_milli / 1000);
    r->own_memory_mib = r->offered.memory;
    r->own_vcores = r->offered.vcores;
    make_resource(&r->physical, s->node.memory_total_bytes, s->node.n_cpus);
    r->status.health = &r->health;
    r->status.containers_use = &r->containers_use;
    r->status.node_use = &r->node_use;
    r->status.opportunistic = &r->opportunistic;
}

/* If the directories are the reason, the health report begins like the report about the directories, but may be cut off
 * earlier. */
void nm_yarn_heartbeat_add_report(struct nm_yarn_heartbeat *r, const char *disks_report)
{
    size_t n = strlen(r->health_text);

    if (strncmp(disks_report, r->health_text, n) == 0)
        (void)snprintf(r->health_text, sizeof r->health_text, "%s", disks_report);
    else if (*disks_report)
        (void)snprintf(r->health_text + n, sizeof r->health_text - n, ";%s", disks_report);
}

void nm_yarn_heartbeat_set_out(struct nm_yarn_heartbeat *r, const char *why)
{
    (void)snprintf(r->health_text, sizeof r->health_text, "%s", why);
    r->health.healthy = false;
}
