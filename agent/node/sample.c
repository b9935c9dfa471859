/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Takes the samples of the node and of all containers, and stores the measurements in the policy's views. This file
 * makes no decisions. The samplers of monitor/ keep their descriptors open, so that a sample allocates no memory when
 * the node is short of memory.
 */

#include "agent/node/sampling.h"

#include <assert.h>

#include "agent/message-ids.h"
#include "agent/journal/records.h"
#include "monitor/parse.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "util/log.h"

#define SAMPLING_SHARE 20

struct nm_sampling {
    struct nm_node_sampler *node;
    struct nm_link_sampler *links;      /* NULL: links can't be read */
    int slice_cpu_fd, slice_memory_fd; /* the slice's cpu.stat and memory.stat */
    unsigned n_slices;                  /* how often the slice was opened, since it may be recreated */
    bool exact;                         /* false during a full sample that follows no sign of growth */
    size_t n_samplers;                  /* number of container samplers at the last full sample */
};

int nm_sampling_new(const char *proc_root, uint64_t uplink_speed_mbit, struct nm_sampling **ret)
{
    _cleanup_(nm_sampling_freep) struct nm_sampling *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->slice_cpu_fd = s->slice_memory_fd = -EBADF;
    s->exact = true;
    r = nm_node_sampler_new(proc_root, &s->node);
    if (r < 0)
        return r;
    r = nm_link_sampler_new(uplink_speed_mbit, &s->links);
    if (r < 0)
        nm_info("can't read the network links: %s; the uplink's use is unknown", strerror(-r));
    *ret = STEAL_PTR(s);
    return 0;
}

struct nm_sampling *nm_sampling_free(struct nm_sampling *s)
{
    if (!s)
        return NULL;
    nm_link_sampler_free(s->links);
    nm_node_sampler_free(s->node);
    (void)nm_close(s->slice_cpu_fd);
    (void)nm_close(s->slice_memory_fd);
    free(s);
    return NULL;
}

/* Counts each killed process, but reports the container once, because the kernel kills all processes of the container.
 * The kernel counts `oom` in the memory.events of the cgroup whose limit was reached. If the container's own count is
 * 0, the slice or the node was out of memory. */
void nm_sample_count_oom_kills(struct nm_live_container *l, uint64_t n, uint64_t ooms)
{
    if (n > l->c->oom_kills) {
        l->m->counters.kernel_oom_kills += n - l->c->oom_kills;
        l->c->oom_kills = n;
        l->run.oom_kill_usec = nm_now_usec();
    }
    if (n == 0 || l->run.oom_reported || ooms == NM_LAUNCH_OOMS_UNKNOWN)
        return;
    l->run.oom_reported = true;
    if (ooms > 0 || l->c->view.state == NM_KILLING)
        return;
    l->run.global_oom = true;
    l->m->sampled.kernel_kills++;
    nm_record_kernel_kill(l);
}

bool nm_sample_find_oom_kill(struct nm_live_container *l)
{
    struct nm_cgroup_memory_events e;

    if (!l->cg || nm_cgroup_read_memory_events(l->cg, &e) < 0 || e.oom_kill <= l->c->oom_kills)
        return false;
    nm_sample_count_oom_kills(l, e.oom_kill, e.oom);
    return true;
}

/* Usually the kernel kills all processes of the container. If some processes still exist after this time, the policy
 * may choose the container as a victim again. */
#define DYING_USEC NM_USEC_PER_SEC

bool nm_sample_was_oom_killed(struct nm_live_container *l)
{
    (void)nm_sample_find_oom_kill(l);
    return l->run.oom_kill_usec > 0 && nm_now_usec() - l->run.oom_kill_usec < DYING_USEC;
}

static uint64_t read_ooms(const struct nm_live_container *l)
{
    struct nm_cgroup_memory_events e;

    return l->cg && nm_cgroup_read_memory_events(l->cg, &e) >= 0 ? e.oom : NM_LAUNCH_OOMS_UNKNOWN;
}

/* Notes that a container can't be measured. Usually the container has just ended. Other causes are a lack of
 * descriptors or memory, or a file that is too long. The last measurements then become outdated, and the policy must
 * know their age. */
static void note_unread(struct nm_live_container *l, uint64_t now_usec, int error)
{
    struct nm_policy_container *v = &l->c->view;

    if (v->unread_usec == 0)
        /* for a container that was never measured, the time is 1, which counts as very old */
        v->unread_usec = NM_MAX(l->run.sample.at_usec, UINT64_C(1));
    if (l->run.unread_logged || error == -ENODEV || error == -ENOENT ||
        nm_sub_u64(now_usec, v->unread_usec) <= l->m->settings.sample_max_age_usec)
        return;
    l->run.unread_logged = true;
    nm_log_container(LOG_WARNING, l->c->id, NULL, NM_MESSAGE_NO_SAMPLE,
                     "%s: its memory and CPU can't be read (%s); until they can be read, it counts with at least its "
                     "request",
                     l->c->id, strerror(-error));
}

static void note_read(struct nm_live_container *l)
{
    l->c->view.unread_usec = 0;
    if (!l->run.unread_logged)
        return;
    l->run.unread_logged = false;
    nm_log_container(LOG_NOTICE, l->c->id, NULL, NM_MESSAGE_NO_SAMPLE, "%s: its memory and CPU can be read again",
                     l->c->id);
}

void nm_sample_live(struct nm_live_container *l, uint64_t now_usec)
{
    struct nm_policy_container *v = &l->c->view;
    struct nm_cgroup_sample s;
    int r;

    assert(l->phase != NM_RUN_REMOVED && now_usec != 0);
    if (l->sampler && l->cg)
        (void)nm_cgroup_sampler_watch_stall(l->sampler, l->cg,
                                            v->type == NM_GUARANTEED && l->m->settings.guard_stall);
    v->stall_known = false;
    if (!l->sampler)
        return; /* the container has not started, or has ended */
    nm_cgroup_sampler_set_n_samplers(l->sampler, l->m->sampling->n_samplers);
    nm_cgroup_sampler_set_exact(l->sampler, l->m->sampling->exact);
    r = nm_cgroup_sampler_sample(l->sampler, now_usec, &s);
    if (r < 0) {
        note_unread(l, now_usec, r);
        return;
    }
    note_read(l);
    l->run.sample = s;
    v->measured.memory_bytes = s.memory_bytes;
    v->swapped_bytes = nm_sub_u64(s.swap_bytes, s.zswap_bytes);
    if (s.cpu_valid) {
        v->measured.cpu_millicores = s.cpu_millicores;
        v->n_samples++;
    }
    v->cpu_usage_usec = s.cpu_usage_usec;
    nm_policy_container_note_progress(v, now_usec);
    v->stall_known = s.stall_known;
    v->stall_permille = s.stall_permille;
    l->c->memory_peak_bytes = NM_MAX(l->c->memory_peak_bytes, s.memory_peak_bytes);
    l->c->swap_bytes = s.swap_bytes;
    if (s.oom_kills > 0 && !l->run.oom_reported)
        nm_sample_count_oom_kills(l, s.oom_kills, read_ooms(l));
    else
        nm_sample_count_oom_kills(l, s.oom_kills, NM_LAUNCH_OOMS_UNKNOWN);
}

/* ---- the slice's own files ------------------------------------------------- */

/* Closes the files of a slice that was removed. The slice may be recreated later. */
static void close_slice(struct nm_sampling *s)
{
    s->slice_cpu_fd = nm_close(s->slice_cpu_fd);
    s->slice_memory_fd = nm_close(s->slice_memory_fd);
}

/* Opens the slice's files at the start, so that the number of nmd's descriptors is constant. Opens them again after the
 * slice was recreated. */
void nm_sample_open_slice(struct nm_manager *m)
{
    struct nm_sampling *s = m->sampling;

    if (s->slice_cpu_fd >= 0 || m->backend->slice_fd < 0)
        return;
    s->slice_cpu_fd = openat(m->backend->slice_fd, "cpu.stat", O_RDONLY | O_CLOEXEC);
    s->n_slices += s->slice_cpu_fd >= 0;
    if (s->slice_cpu_fd >= 0 && m->backend->feature[NM_CGROUP_MEMORY_LIMITS])
        s->slice_memory_fd = openat(m->backend->slice_fd, "memory.stat", O_RDONLY | O_CLOEXEC);
}

int nm_sample_slice_cpu(struct nm_manager *m, uint64_t *ret_usec, unsigned *ret_slice)
{
    struct nm_sampling *s = m->sampling;
    struct nm_cpu_stat cpu;
    char buf[1024];

    if (s->slice_cpu_fd < 0)
        return -ENOENT;
    if (nm_pread_file(s->slice_cpu_fd, buf, sizeof buf, NULL) < 0 || nm_monitor_parse_cpu_stat(buf, &cpu) < 0) {
        close_slice(s);
        return -ENODEV;
    }
    *ret_usec = cpu.usage_usec;
    *ret_slice = s->n_slices;
    return 0;
}

/* Collects the statistics of the slice's cgroups before the samples. Returns the memory charged to the whole slice, or
 * 0 if unknown. */
static uint64_t collect(const struct nm_manager *m)
{
    struct nm_sampling *s = m->sampling;
    uint64_t used_bytes = 0;

    if (s->slice_cpu_fd < 0)
        return 0;
    if ((m->live.n >= 2 && nm_cgroup_collect(s->slice_cpu_fd) < 0) ||
        (s->slice_memory_fd >= 0 && nm_cgroup_read_used(s->slice_memory_fd, &used_bytes) < 0))
        close_slice(s);
    return used_bytes;
}

/* ---- a full sample --------------------------------------------------------- */

static void record_regained(struct nm_live_container *l)
{
    struct nm_resources regained;

    assert(l->c);
    if (!l->regain_due)
        return;
    l->regain_due = false;
    regained.memory_bytes =
        nm_sub_u64(l->use_before.memory_bytes, l->c->view.measured.memory_bytes);
    regained.cpu_millicores =
        nm_sub_u64(l->use_before.cpu_millicores, l->c->view.measured.cpu_millicores);
    nm_record_regained(l, &regained);
}

static size_t count_samplers(const struct nm_manager *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->live.n; i++)
        n += m->live.all[i]->sampler != NULL;
    return n;
}

static void sample_links(struct nm_manager *m, uint64_t now)
{
    struct nm_sampled *to = &m->sampled;

    to->uplink_utilization = 0;
    if (!m->sampling->links)
        return;
    /* A node without containers looks for its uplinks less often, unless the next admission depends on them. */
    nm_link_sampler_keep_uplinks(m->sampling->links, m->live.n == 0 && m->settings.uplink_threshold <= 0);
    if (nm_link_sampler_sample(m->sampling->links, now, to->links, &to->n_links) < 0)
        return;
    for (unsigned i = 0; i < to->n_links; i++)
        if (to->links[i].uplink)
            to->uplink_utilization = NM_MAX(to->uplink_utilization, to->links[i].utilization);
}

/* Discards the node's CPU use if the host was suspended since the previous sample. CPU use is computed over the elapsed
 * time, and a suspended host uses no CPU, so the first sample after a resume would show an idle node. */
static void notice_sleep(struct nm_manager *m, uint64_t now)
{
    struct nm_sampled *to = &m->sampled;
    uint64_t before = to->suspended_usec;

    to->suspended_usec = nm_sub_u64(now, nm_clock_usec(CLOCK_MONOTONIC)) + NM_FAULT_ASLEEP_USEC;
    to->woke = to->at_usec > 0 && to->suspended_usec > before + NM_USEC_PER_SEC;
    if (to->woke)
        m->sampled.node.cpu_valid = false;
}

bool nm_sample_is_affordable(const struct nm_manager *m, uint64_t now_usec)
{
    return nm_sub_u64(now_usec, m->sampled.at_usec) >= SAMPLING_SHARE * m->sampled.cost_usec;
}

int nm_sample_memory(const struct nm_manager *m, uint64_t now_usec, struct nm_node_sample *ret)
{
    return nm_node_sampler_sample_memory(m->sampling->node, now_usec, ret);
}

int nm_sample_node(struct nm_manager *m)
{
    return nm_node_sampler_sample(m->sampling->node, nm_now_usec(), &m->sampled.node);
}

int nm_sample_all(struct nm_manager *m, bool exact)
{
    uint64_t now = nm_now_usec();
    struct nm_node_sample node;
    uint64_t used_bytes;
    int r = nm_node_sampler_sample(m->sampling->node, now, &node);

    nm_cgroup_sampler_reap();
    /* After a failed sample of the node, the policy has only the previous sample. When that sample is stale, no
     * container is admitted or killed. */
    if (r >= 0) {
        m->sampled.node = node;
        m->sampled.node_valid = true;
    } else {
        if (m->sampled.node_valid)
            nm_log_container(
                LOG_ERR, NULL, NULL, NM_MESSAGE_NO_SAMPLE,
                "the node's memory and CPU can't be read (%s): no container is admitted, and no resources are taken "
                "back",
                strerror(-r));
        m->sampled.node_valid = false;
    }
    notice_sleep(m, now);
    used_bytes = collect(m);
    m->sampling->n_samplers = count_samplers(m);
    m->sampling->exact = exact;
    for (size_t i = 0; i < m->live.n; i++) {
        nm_sample_live(m->live.all[i], now);
        used_bytes = nm_sub_u64(used_bytes, m->live.all[i]->run.sample.memory_bytes);
        m->live.views[i]->state_samples++;
        record_regained(m->live.all[i]);
    }
    m->sampling->exact = true; /* for samples of single containers, which precede or follow an action */
    m->sampled.slice_unowned_bytes = used_bytes;
    sample_links(m, now);
    m->sampled.at_usec = now;
    m->sampled.cost_usec = nm_now_usec() - now;
    m->counters.samples++;
    return r;
}
