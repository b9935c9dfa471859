/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The cgroup limits, weights and priorities of each container, computed from its type, its request and the capacity.
 * nmd changes these values on the running container, and restores them if another process has changed them.
 */

#include "agent/node/cgroups.h"

#include <assert.h>

#include "agent/message-ids.h"
#include "agent/journal/records.h"
#include "util/fileio.h"
#include "util/log.h"

int nm_limits_oom_score_adj(const struct nm_container *c)
{
    return c->view.type == NM_OPPORTUNISTIC ? 1000 : 0;
}

/* Opportunistic containers get the minimum IO weight on a shared disk: a hundred of them get as much as one guaranteed
 * container. They must still make progress, because other processes may wait for a resource that an opportunistic
 * container holds, such as the commit of a file system's journal. */
#define GUARANTEED_IO_WEIGHT 100
#define OPPORTUNISTIC_IO_WEIGHT 1

struct nm_cgroup_limits nm_cgroup_limits_for_container(const struct nm_manager *m, const struct nm_container *c)
{
    struct nm_cgroup_limits limits = NM_CGROUP_LIMITS_NONE;
    const struct nm_policy_container *v = &c->view;
    uint64_t weight;

    assert(m->settings.capacity.cpu_millicores > 0);
    limits.memory_max_bytes = v->request.memory_bytes;
    limits.oom_group = true;
    limits.io_weight = GUARANTEED_IO_WEIGHT;
    limits.pids_max = m->tasks.container;
    limits.devices = c->devices;
    if (v->type == NM_OPPORTUNISTIC) {
        limits.cpu_idle = true;
        limits.io_weight = OPPORTUNISTIC_IO_WEIGHT;
        return limits;
    }
    limits.memory_low_bytes = v->request.memory_bytes;
    /* The range of weights (1 .. 10000) represents the whole node, so shares are in proportion to vcores. */
    weight = 10000 * v->request.cpu_millicores /
             NM_MAX(m->settings.capacity.cpu_millicores, (uint64_t)1);
    limits.cpu_weight = (uint32_t)NM_MIN(NM_MAX(weight, (uint64_t)1), (uint64_t)10000);
    return limits;
}

static void limits_set(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct nm_live_container *l = userdata;

    assert(l->limits_in_flight > 0);
    nm_cgroup_free(cg);
    l->limits_in_flight--;
    if (l->phase == NM_RUN_REMOVED) {
        if (!l->limits_in_flight)
            free(l);
        return;
    }
    if (result < 0 && result != -ENOENT)
        nm_warning("%s: limits can't be changed: %s; ignoring", l->c->id,
                   message ? message : strerror(-result));
}

static void set_limits(struct nm_live_container *l)
{
    int r;

    assert(l->phase != NM_RUN_REMOVED);
    if (!l->cg) { /* A cgroup that is created later gets the new limits. A cgroup that is being created now gets the
                     old limits, so nm_limits_created() must set them again. */
        l->limits_due = nm_run_phase_is_creating(l->phase);
        return;
    }
    l->limits_in_flight++;
    r = l->m->backend->ops->set_limits(l->m->backend, l->cg, &l->limits, limits_set, l);
    if (r < 0)
        limits_set(r, NULL, NULL, l);
}

void nm_limits_apply(struct nm_live_container *l)
{
    uint64_t quota = l->c->view.type == NM_OPPORTUNISTIC && l->cg ? l->limits.cpu_quota_millicores
                                                                  : NM_CGROUP_NONE;

    l->limits = nm_cgroup_limits_for_container(l->m, l->c);
    l->limits.cpu_quota_millicores = quota;
    set_limits(l);
    nm_limits_set_network(l);
}

void nm_limits_created(struct nm_live_container *l)
{
    assert(l->cg && !nm_run_phase_is_creating(l->phase));
    if (l->limits_due)
        set_limits(l);
    l->limits_due = false;
}

/* Sets the network priority. The drift check does not include the network priority, because no other process changes it
 * and existing sockets keep their priority. */
void nm_limits_set_network(struct nm_live_container *l)
{
    const struct nm_cgroup_backend *b = l->m->backend;
    int r = l->cg && b->feature[NM_CGROUP_NET_PRIORITY]
                ? nm_cgroup_set_net_background(b, l->cg, l->c->view.type == NM_OPPORTUNISTIC)
                : 0;

    if (r < 0 && r != -ENOENT)
        nm_debug("%s: can't set the network priority: %s", l->c->id, strerror(-r));
}

/* Returns whether the process still has the initial oom_score_adj of the other type. This happens if nmd died while it
 * changed the container's type. Other values are valid, since an unprivileged process may raise its own score. */
static bool has_oom_score_of_other_type(const struct nm_live_container *l)
{
    char path[48], text[16];
    bool opportunistic = l->c->view.type == NM_OPPORTUNISTIC;
    long score;

    (void)snprintf(path, sizeof path, "/proc/%d/oom_score_adj", l->c->pid);
    if (l->c->pid <= 0 || nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0)
        return false;
    score = strtol(text, NULL, 10);
    return opportunistic ? score < nm_limits_oom_score_adj(l->c) : score == 1000;
}

struct nm_priority nm_limits_priority_of(const struct nm_live_container *l)
{
    return (struct nm_priority){
        .oom_score_adj = nm_limits_oom_score_adj(l->c),
        .schedule = !l->m->backend->feature[NM_CGROUP_CPU_WEIGHT],
        .background = l->c->view.type == NM_OPPORTUNISTIC,
    };
}

void nm_limits_set_priority(struct nm_live_container *l)
{
    struct nm_priority p = nm_limits_priority_of(l);

    l->priority_due = l->c->view.state <= NM_SCHEDULED;
    if (l->cg)
        nm_priority_set_all(&l->priority_pass, l->m->event, l->cg, l->c->shim_pid, &p);
}

void nm_limits_started(struct nm_live_container *l)
{
    struct nm_priority p = nm_limits_priority_of(l);

    if (l->cg && (l->priority_due || (p.schedule && p.background)))
        nm_priority_set_all(&l->priority_pass, l->m->event, l->cg, l->c->shim_pid, &p);
    l->priority_due = false;
}

void nm_limits_adopt(struct nm_live_container *l)
{
    l->limits = nm_cgroup_limits_for_container(l->m, l->c);
    l->restore_due = true;
}

void nm_limits_restore(struct nm_live_container *l)
{
    l->restore_due = false;
    /* A reclaim's worker that died together with nmd has not removed its limit (swap-reclaim.c). A worker of this nmd
     * removes its limit itself. */
    if (l->cg && !l->reclaim_worker.child)
        (void)nm_cgroup_set_swap_max(l->cg, NM_CGROUP_NONE);
    if (!l->cg || l->c->view.state == NM_KILLING)
        return;
    if (!l->limits_in_flight && nm_cgroup_check_drift(l->m->backend, l->cg, &l->limits) > 0) {
        nm_debug("%s: restored limits that had changed while nmd was down", l->c->id);
        (void)nm_cgroup_set_oom_group(l->cg, l->limits.oom_group);
        set_limits(l);
    }
    if (!l->m->backend->feature[NM_CGROUP_CPU_WEIGHT] || l->c->view.state == NM_SCHEDULED ||
        has_oom_score_of_other_type(l))
        nm_limits_set_priority(l);
}

/* ---- squeeze --------------------------------------------------------------- */

/* The squeeze of the newest round. */
struct nm_squeeze {
    uint64_t millicores; /* NM_NO_SQUEEZE: there is no squeeze */
    enum nm_reason reason;
};

struct nm_squeeze *nm_squeeze_new(void)
{
    struct nm_squeeze *s = calloc(1, sizeof *s);

    if (s)
        s->millicores = NM_NO_SQUEEZE;
    return s;
}

struct nm_squeeze *nm_squeeze_free(struct nm_squeeze *s)
{
    free(s);
    return NULL;
}

uint64_t nm_squeeze_millicores(const struct nm_squeeze *s)
{
    return s->millicores;
}

static bool differs_much(uint64_t a, uint64_t b)
{
    if (a == NM_CGROUP_NONE || b == NM_CGROUP_NONE)
        return a != b;
    return a * 20 < b * 19 || a * 19 > b * 20;
}

static uint64_t sum_of_squeezed(const struct nm_manager *m)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < m->live.n; i++)
        if (m->live.views[i]->type == NM_OPPORTUNISTIC && m->live.views[i]->state == NM_RUNNING)
            sum += m->live.views[i]->request.cpu_millicores;
    return sum;
}

/* Records the begin and the end of a squeeze, and a change of its reason. */
static void report_squeeze(struct nm_manager *m, const struct nm_policy_verdict *v)
{
    struct nm_squeeze *s = m->round.squeeze;
    bool same = (s->millicores == NM_NO_SQUEEZE) == (v->squeeze_millicores == NM_NO_SQUEEZE) &&
                s->reason == v->squeeze_reason;

    s->millicores = v->squeeze_millicores;
    s->reason = v->squeeze_reason;
    if (!same)
        nm_record_squeeze(m, v);
}

/* Returns whether the container's quota must be set. A paused container gets no part of a squeeze's quota. When the
 * squeeze ends (lifted), the quota of a paused container is removed, too, since the container is resumed only
 * afterwards. A container that is being killed is left unchanged: its kill has removed its CPU limits. */
static bool is_squeezed(const struct nm_live_container *l, bool lifted)
{
    const struct nm_policy_container *v = &l->c->view;

    return l->cg && v->type == NM_OPPORTUNISTIC &&
           (lifted ? v->state != NM_KILLING : v->state == NM_RUNNING);
}

/* Divides the squeeze's quota among the containers in proportion to their requests. A change of a container's quota
 * below 5 % is not written. */
void nm_limits_squeeze(struct nm_manager *m, const struct nm_policy_verdict *verdict)
{
    uint64_t total = verdict->squeeze_millicores, sum;

    assert(total > 0);
    if (total == NM_NO_SQUEEZE && m->round.squeeze->millicores == NM_NO_SQUEEZE)
        return;
    sum = NM_MAX(sum_of_squeezed(m), (uint64_t)1);
    for (size_t i = 0; i < m->live.n; i++) {
        struct nm_live_container *l = m->live.all[i];
        const struct nm_policy_container *v = &l->c->view;
        uint64_t quota = NM_CGROUP_NONE;

        if (!is_squeezed(l, total == NM_NO_SQUEEZE))
            continue;
        if (total != NM_NO_SQUEEZE)
            quota = NM_MAX(m->settings.squeeze_floor_millicores,
                           total * v->request.cpu_millicores / sum);
        if (!differs_much(quota, l->limits.cpu_quota_millicores))
            continue;
        l->limits.cpu_quota_millicores = quota;
        set_limits(l);
    }
    report_squeeze(m, verdict);
}

/* ---- drift ----------------------------------------------------------------- */

/* Restores limits of nmd's cgroups that an administrator or another program has changed, and logs each change. */
void nm_limits_check_drift(struct nm_manager *m)
{
    nm_slice_check_drift(m);
    for (size_t i = 0; i < m->live.n; i++) {
        struct nm_live_container *l = m->live.all[i];
        int drift;

        if (!l->cg || l->limits_in_flight || l->c->view.state == NM_KILLING)
            continue;
        drift = nm_cgroup_check_drift(m->backend, l->cg, &l->limits);
        if (drift <= 0)
            continue;
        for (int d = 0; d < NM_CGROUP_DRIFT_COUNT; d++) {
            if (!(drift & 1 << d))
                continue;
            m->counters.drift_repairs++;
            nm_log_container(LOG_WARNING, l->c->id, NULL, NM_MESSAGE_DRIFT,
                             "%s of %s was changed by another process; nmd has restored it",
                             nm_cgroup_drift_file((enum nm_cgroup_drift)d), l->c->id);
        }
        (void)nm_cgroup_set_oom_group(l->cg, l->limits.oom_group);
        set_limits(l);
    }
}
