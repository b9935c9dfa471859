/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See settings.h. Only this file combines the configuration, the node's size and the kernel's features. The policy gets
 * plain numbers and booleans. The policy does not know "auto", nor the features of the backend.
 */

#include "agent/config/settings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>

#include "util/error.h"
#include "util/parse.h"

/* The default reserve: memory for a Debian host with sshd, journald and nmd, and for growth of the kernel's own memory.
 * It grows with the node's memory, since large hosts run larger agents. */
#define RESERVE_DIVISOR 20
#define RESERVE_MIN (256 * NM_MIB)
#define RESERVE_MAX (2048 * NM_MIB)

/* A sample is stale after this number of periods, but not before this time. With a short period on a loaded node, a
 * sample may be some hundred milliseconds late, and this should not stop admissions. */
#define STALE_PERIODS 3
#define STALE_MIN_USEC (2 * NM_USEC_PER_SEC)

/* Sufficient for a Java service with many threads. */
#define PIDS_MAX_DEFAULT 16384

struct nm_task_limits nm_settings_tasks(const struct nm_config *c, uint64_t node_tasks)
{
    struct nm_task_limits l = {.slice = NM_CGROUP_NONE, .container = c->pids_max};

    if (node_tasks > 0)
        l.slice = NM_MAX(node_tasks - node_tasks / 4, UINT64_C(1));
    /* At most half of the slice's limit, so that one container can't use up the tasks of all containers. */
    if (c->pids_max == 0)
        l.container = NM_MIN(NM_MAX(l.slice / 2, UINT64_C(1)), (uint64_t)PIDS_MAX_DEFAULT);
    return l;
}

/* By default, one user may have a quarter of max-containers, but at least one container. */
uint32_t nm_settings_containers_per_user(const struct nm_config *c)
{
    return c->max_per_user ? c->max_per_user : NM_MAX(c->max_containers / 4, 1u);
}

/* By default, one user may have three quarters of the queue, so that a single user can't fill the queue. */
uint32_t nm_settings_queue_per_user(const struct nm_config *c)
{
    return c->queue_max_per_user ? c->queue_max_per_user
                                 : NM_MAX(c->queue_max_length - c->queue_max_length / 4, 1u);
}

/* Returns the number of vcores of the node. If an upstream has set more vcores than configured, each vcore is a smaller
 * part of a CPU. */
static uint64_t vcores_of(const struct nm_config *c, const struct nm_node_sample *node)
{
    uint64_t reserved = (c->system_reserved_vcores_milli + UINT64_C(999)) / 1000;
    uint64_t configured = c->vcores ? c->vcores : node->n_cpus;

    return c->wanted_vcores ? NM_MAX(configured, c->wanted_vcores + reserved) : configured;
}

/* Returns at least 1 for a request above 0, because the policy would treat 0 as a container that uses no CPU. */
uint64_t nm_settings_vcore_millicores(const struct nm_config *c, const struct nm_node_sample *node,
                                      uint32_t vcores_milli)
{
    uint64_t vcores = vcores_of(c, node), v;

    assert(node->n_cpus > 0);
    if (vcores == 0 || vcores_milli == 0)
        return 0;
    v = (uint64_t)vcores_milli * node->n_cpus / vcores;
    return NM_MAX(v, UINT64_C(1));
}

/* Rounds to the nearest integer, so that a conversion to millicores and back returns the original value. */
uint32_t nm_settings_millicores_vcores(const struct nm_config *c, const struct nm_node_sample *node,
                                       uint64_t millicores)
{
    if (node->n_cpus == 0)
        return 0;
    return (uint32_t)((millicores * vcores_of(c, node) + node->n_cpus / 2) / node->n_cpus);
}

/* Returns the reserve of memory. A configured reserve and a configured capacity must fit into the node together, and
 * this is checked at the start and not only under load. If only the capacity is configured, the automatic reserve is
 * reduced. */
static uint64_t reserve_of(const struct nm_config *c, uint64_t total, bool shrink)
{
    uint64_t reserve = c->system_reserved_memory_bytes;

    if (reserve == UINT64_MAX) {
        reserve = NM_MIN(NM_MAX(total / RESERVE_DIVISOR, RESERVE_MIN), RESERVE_MAX);
        return NM_MIN(reserve, total / 2);
    }
    return shrink ? NM_MIN(reserve, total / 2) : reserve;
}

static int resolve_memory(const struct nm_config *c, uint64_t total, bool shrink, uint64_t *ret_capacity,
                          char **ret_message)
{
    bool auto_reserve = c->system_reserved_memory_bytes == UINT64_MAX;
    uint64_t reserve = reserve_of(c, total, shrink);
    char a[32], b[32], t[32];

    if (reserve >= total)
        return nm_fail(ret_message, -ERANGE,
                       "[node] system-reserved-memory = %s: leaves nothing for containers, this node has %s",
                       nm_format_size(reserve, a, sizeof a), nm_format_size(total, t, sizeof t));
    if (c->memory_bytes == 0) {
        *ret_capacity = total - reserve;
        return 0;
    }
    if (shrink) {
        *ret_capacity = NM_MIN(c->memory_bytes, total - reserve);
        return 0;
    }
    if (c->memory_bytes > total)
        return nm_fail(ret_message, -ERANGE, "[node] memory = %s: larger than this node's %s",
                       nm_format_size(c->memory_bytes, a, sizeof a), nm_format_size(total, t, sizeof t));
    if (!auto_reserve && c->memory_bytes > total - reserve)
        return nm_fail(ret_message, -ERANGE,
                       "[node] memory = %s: with system-reserved-memory = %s larger than this node's %s",
                       nm_format_size(c->memory_bytes, a, sizeof a), nm_format_size(reserve, b, sizeof b),
                       nm_format_size(total, t, sizeof t));
    *ret_capacity = c->memory_bytes;
    return 0;
}

static int resolve_cpu(const struct nm_config *c, const struct nm_node_sample *node, bool shrink,
                       uint64_t *ret_capacity, char **ret_message)
{
    uint64_t total = (uint64_t)node->n_cpus * 1000;
    uint64_t reserve = nm_settings_vcore_millicores(c, node, c->system_reserved_vcores_milli);

    if (shrink)
        reserve = NM_MIN(reserve, total / 2);
    if (reserve >= total)
        return nm_fail(ret_message, -ERANGE,
                       "[node] system-reserved-vcores = %g: leaves nothing for containers, this node has "
                       "%" PRIu64 " vcores on %" PRIu32 " CPUs",
                       c->system_reserved_vcores_milli / 1000.0, vcores_of(c, node), node->n_cpus);
    *ret_capacity = total - reserve;
    return 0;
}

bool nm_settings_cpu_is_guarded(const struct nm_config *c, const struct nm_cgroup_backend *backend,
                                const char **ret_why)
{
    const char *missing = NULL, *ignored;

    if (!backend->feature[NM_CGROUP_CPU_WEIGHT])
        missing = "low: without a cpu controller the kernel doesn't prefer guaranteed containers to "
                  "opportunistic containers";
    else if (!backend->feature[NM_CGROUP_CPU_IDLE])
        missing = "low: without cpu.idle opportunistic containers take CPU from guaranteed containers";
    else if (!backend->feature[NM_CGROUP_PRESSURE])
        missing = "low: without cpu.pressure nmd can't see whether guaranteed containers wait for CPUs";
    else if (!c->squeeze)
        missing = "low: with [preemption] squeeze = no, nmd does nothing when guaranteed containers wait for CPUs";
    else if (c->stall_margin >= 1)
        missing = "low: with [preemption] stall-margin = 1, nmd does nothing when guaranteed containers wait for "
                  "CPUs";
    *(ret_why ? ret_why : &ignored) =
        missing ? missing
                : "high: the kernel gives opportunistic containers only the CPU that others leave (cpu.idle), "
                  "and nmd squeezes them when guaranteed containers wait for CPUs (cpu.pressure)";
    return !missing;
}

static void copy_policy(const struct nm_config *c, struct nm_policy_settings *s)
{
    s->over_allocation = c->over_allocation;
    s->over_allocation_threshold = c->over_allocation_threshold;
    s->preemption_threshold = c->preemption_threshold;
    s->warmup_usec = c->warmup_usec;
    s->warmup_samples = c->warmup_samples;
    s->queue_max_length = c->queue_max_length;
    s->queue_policy = c->queue_policy;
    s->queue_order = c->queue_order;
    s->give_back_usec = c->give_back_usec;
    s->backfill_usec = c->backfill_usec;
    s->victim_order = c->victim_order;
    s->pause_enabled = c->pause;
    s->pause_deadline_usec = c->pause_deadline_usec;
    s->cpu_samples = c->cpu_samples;
    s->settle_samples = c->settle_samples;
    s->kills_per_minute = c->kills_per_minute;
    s->breaker_usec = c->breaker_usec;
    s->period_usec = c->period_usec;
    s->sample_max_age_usec = NM_MAX(STALE_PERIODS * c->period_usec, STALE_MIN_USEC);
    s->uplink_threshold = c->uplink_threshold;
    s->margin_usec = c->margin_usec;
}

/* Applies the size that an upstream has set. The capacity never exceeds the node's memory minus the reserve. */
static void follow_upstream(const struct nm_config *c, const struct nm_node_sample *node, bool shrink,
                            struct nm_policy_settings *s)
{
    uint64_t total = node->memory_total_bytes, wanted = c->wanted_memory_bytes;

    if (wanted > s->capacity.memory_bytes)
        s->capacity.memory_bytes =
            NM_MAX(s->capacity.memory_bytes, NM_MIN(wanted, nm_sub_u64(total, reserve_of(c, total, shrink))));
    s->offered = s->capacity;
    if (wanted > 0)
        s->offered.memory_bytes = NM_MIN(s->offered.memory_bytes, wanted);
    if (c->wanted_vcores > 0)
        s->offered.cpu_millicores =
            NM_MIN(s->offered.cpu_millicores, nm_settings_vcore_millicores(c, node, c->wanted_vcores * 1000));
}

int nm_settings_configured(const struct nm_config *c, const struct nm_node_sample *node, struct nm_resources *ret,
                           uint32_t *ret_vcores_milli)
{
    _cleanup_free_ char *message = NULL;
    struct nm_config keys = *c;
    int r;

    keys.wanted_memory_bytes = 0;
    keys.wanted_vcores = 0;
    if (node->memory_total_bytes == 0 || node->n_cpus == 0)
        return -ENODATA;
    r = resolve_memory(&keys, node->memory_total_bytes, false, &ret->memory_bytes, NULL);
    if (r < 0) /* the node has become smaller than the configured size */
        r = resolve_memory(&keys, node->memory_total_bytes, true, &ret->memory_bytes, &message);
    if (r >= 0)
        r = resolve_cpu(&keys, node, true, &ret->cpu_millicores, &message);
    if (r >= 0)
        *ret_vcores_milli = nm_settings_millicores_vcores(&keys, node, ret->cpu_millicores);
    return r;
}

/* Computes the capacity of memory and of CPU. If both are wrong, the message has both errors. */
static int resolve_both(const struct nm_config *c, const struct nm_node_sample *node, bool shrink,
                        struct nm_resources *ret, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r = resolve_memory(c, node->memory_total_bytes, shrink, &ret->memory_bytes, &message);

    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0) {
        r = resolve_cpu(c, node, shrink, &ret->cpu_millicores, &message);
        r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

/* Computes all settings. The reserve is always the memory outside of the capacity, since use of the system that exceeds
 * the reserve counts against containers. */
static int compute_settings(const struct nm_config *c, const struct nm_node_sample *node,
                            const struct nm_cgroup_backend *backend, bool shrink, struct nm_policy_settings *ret,
                            char **ret_message)
{
    struct nm_policy_settings s = {0};
    struct nm_fractions_cpu cpu;
    int r;

    *ret_message = NULL;
    if (node->memory_total_bytes == 0 || node->n_cpus == 0)
        return -ENODATA;
    r = resolve_both(c, node, shrink, &s.capacity, ret_message);
    if (r < 0)
        return r;
    follow_upstream(c, node, shrink, &s);
    s.reserve.memory_bytes = node->memory_total_bytes - s.capacity.memory_bytes;
    s.reserve.cpu_millicores = (uint64_t)node->n_cpus * 1000 - s.capacity.cpu_millicores;
    copy_policy(c, &s);
    s.squeeze_floor_millicores =
        nm_settings_vcore_millicores(c, node, c->squeeze_floor_vcores_milli);
    s.can_freeze = backend->feature[NM_CGROUP_FREEZE];
    s.can_reclaim =
        c->reclaim && backend->feature[NM_CGROUP_RECLAIM] && backend->feature[NM_CGROUP_SWAP];
    s.reclaim_usec = s.can_reclaim ? c->reclaim_running_usec : 0;
    s.memory_limits = backend->feature[NM_CGROUP_MEMORY_LIMITS];
    s.can_squeeze = c->squeeze && backend->feature[NM_CGROUP_CPU_WEIGHT];
    s.guard_stall = nm_settings_cpu_is_guarded(c, backend, NULL);
    s.stall_margin = c->stall_margin;
    cpu = nm_config_cpu_thresholds(c, s.guard_stall);
    s.over_allocation_threshold.cpu = cpu.alpha;
    s.preemption_threshold.cpu = cpu.beta;
    *ret = s;
    return 0;
}

int nm_config_policy_settings(const struct nm_config *c, const struct nm_node_sample *node,
                              const struct nm_cgroup_backend *backend,
                              struct nm_policy_settings *ret, char **ret_message)
{
    assert(c && node && backend && ret);
    return compute_settings(c, node, backend, false, ret, ret_message);
}

int nm_config_follow_node(const struct nm_config *c, const struct nm_node_sample *node,
                          const struct nm_cgroup_backend *backend, struct nm_policy_settings *ret)
{
    _cleanup_free_ char *message = NULL; /* unused: callers of this function need no message */

    return compute_settings(c, node, backend, true, ret, &message);
}

/* ---- values of "auto" ------------------------------------------------------------------------ */

static struct nm_config_note *add_note(struct nm_config_note *notes, size_t *n, const char *section,
                                       const char *name, const char *why)
{
    notes[*n] = (struct nm_config_note){.section = section, .name = name, .why = why};
    return &notes[(*n)++];
}

static void add_counts(const struct nm_config *c, const struct nm_task_limits *tasks, struct nm_config_note *notes,
                       size_t *n)
{
    struct nm_config_note *note;

    if (c->queue_max_per_user == 0) {
        note = add_note(notes, n, "queue", "max-per-user", "three quarters of max-length");
        (void)snprintf(note->value, sizeof note->value, "%" PRIu32, nm_settings_queue_per_user(c));
    }
    if (c->max_per_user == 0) {
        note = add_note(notes, n, "containers", "max-per-user", "a quarter of max-containers");
        (void)snprintf(note->value, sizeof note->value, "%" PRIu32, nm_settings_containers_per_user(c));
    }
    if (c->pids_max == 0) {
        note = add_note(notes, n, "containers", "pids-max",
                        tasks->container < PIDS_MAX_DEFAULT ? "three eighths of the kernel's limit on this node"
                                                            : "enough for programs with many threads");
        (void)snprintf(note->value, sizeof note->value, "%" PRIu64, tasks->container);
    }
}

size_t nm_settings_notes(const struct nm_config *c, const struct nm_node_sample *node,
                         const struct nm_cgroup_backend *backend, const struct nm_policy_settings *s,
                         const struct nm_task_limits *tasks,
                         struct nm_config_note notes[NM_SETTINGS_NOTES_MAX])
{
    struct nm_config_note *note;
    const char *why;
    size_t n = 0;

    (void)nm_settings_cpu_is_guarded(c, backend, &why);
    if (c->memory_bytes == 0) {
        note = add_note(notes, &n, "node", "memory", "the node's memory, less system-reserved-memory");
        nm_format_size(s->capacity.memory_bytes, note->value, sizeof note->value);
    }
    if (c->vcores == 0) {
        note = add_note(notes, &n, "node", "vcores", "the number of online CPUs");
        (void)snprintf(note->value, sizeof note->value, "%" PRIu32, node->n_cpus);
    }
    if (c->system_reserved_memory_bytes == UINT64_MAX) {
        note = add_note(notes, &n, "node", "system-reserved-memory", "the node's memory, less the capacity");
        nm_format_size(s->reserve.memory_bytes, note->value, sizeof note->value);
    }
    if (c->over_allocation_threshold.cpu == 0) {
        note = add_note(notes, &n, "over-allocation", "cpu-threshold", why);
        (void)snprintf(note->value, sizeof note->value, "%.4g", s->over_allocation_threshold.cpu);
    }
    if (c->preemption_threshold.cpu == 0) {
        note = add_note(notes, &n, "preemption", "cpu-threshold", why);
        (void)snprintf(note->value, sizeof note->value, "%.4g", s->preemption_threshold.cpu);
    }
    add_counts(c, tasks, notes, &n);
    assert(n <= NM_SETTINGS_NOTES_MAX);
    return n;
}
