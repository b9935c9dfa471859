/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Creates and frees the manager, its timers and its watches. The sampling timer starts a round once per period. All
 * other rounds are requested with nm_round_request() (manager-state.c).
 */

#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "agent/node/node-settings.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/state/manager-state.h"

#include <assert.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/message-ids.h"
#include "agent/requests/requests.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "agent/journal/journal.h"
#include "agent/manager/manager-internal.h"
#include "agent/recovery/recovery.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/loop.h"

#define HOUSEKEEPING_USEC (10 * NM_USEC_PER_SEC)
#define REMOVAL_USEC (50 * NM_USEC_PER_MSEC) /* interval of removals while more ended containers must be removed */
/* Time of the second sample after the start. CPU use is known from the second sample on, and no opportunistic container
 * starts before it. So the second sample is taken before the end of the period. In a shorter time, the kernel counts
 * too few ticks for an accurate value. */
#define FIRST_SAMPLE_USEC (100 * NM_USEC_PER_MSEC)

/* Time between two samples of a node without containers, in periods. Such a node has no container that nmd could pause
 * or kill, and its newest sample never becomes stale (STALE_PERIODS in settings.c). When the first container arrives,
 * nmd samples in each period again (manager-round.c). */
#define IDLE_PERIODS 2

/* ---- timers and watches ---------------------------------------------------- */

static int on_round(sd_event_source *s, void *userdata)
{
    struct nm_manager *m = userdata;

    (void)s;
    if (m->drain.due && m->drain.is_on)
        nm_drain_carry_out(m, NULL);
    m->drain.due = false;
    nm_round_run_requested(m);
    return 0;
}

static int on_sample(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;
    uint64_t now = nm_now_usec(), ended, pause, period;

    if (now > usec + m->config->period_usec / 2)
        m->counters.late_samples++;
    nm_pressure_follow_slice(m);
    nm_round(m, NM_TRIGGER_SAMPLE);
    nm_settings_follow_node(m);
    m->timers.is_idle = m->live.n == 0;
    period = m->config->period_usec * (m->timers.is_idle ? IDLE_PERIODS : 1);
    /* Set the next sample to one period after the time at which this sample was due, so that delays don't add up. After
     * a long delay, don't take the missed samples. If a sample takes long (thousands of processes, a busy host), the
     * pause until the next sample is at least as long. */
    ended = nm_now_usec();
    pause = NM_MAX(m->config->period_usec / 4, ended - now);
    m->timers.sample_due_usec = NM_MAX(usec + period, ended + pause);
    if (m->sampled.woke)
        m->timers.sample_due_usec = now + NM_MIN(m->config->period_usec, FIRST_SAMPLE_USEC);
    (void)sd_event_source_set_time(s, m->timers.sample_due_usec);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static void run_housekeeping(struct nm_manager *m)
{
    nm_record_store_result(m, nm_store_flush(m->store));
    if (m->journal.error == -EUCLEAN)
        nm_journal_replace(m);
    nm_durable_save(m);
    nm_store_checkpoint(m->store);
    nm_end_check_all(m);
    nm_recovery_check_orphans(m);
    nm_cgroups_remove_leftovers(m);
    (void)nm_store_trim_decisions(m->store, NM_DECISIONS_MAX);
    nm_limits_check_drift(m);
    nm_output_truncate_logs(m);
}

static int on_housekeeping(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;
    uint64_t now = nm_now_usec(); /* housekeeping that was due several times during a suspend runs only once */
    bool more = nm_lists_drop_ended(m, now);

    (void)usec;
    if (now >= m->timers.upkeep->housekeeping_due_usec) {
        run_housekeeping(m);
        m->timers.upkeep->housekeeping_due_usec = now + HOUSEKEEPING_USEC;
    }
    (void)sd_event_source_set_time(s, more ? now + REMOVAL_USEC : m->timers.upkeep->housekeeping_due_usec);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static int start_timers(struct nm_manager *m)
{
    uint64_t now = nm_now_usec();
    int r;

    m->timers.sample_due_usec = now + NM_MIN(m->config->period_usec, FIRST_SAMPLE_USEC);
    r = sd_event_add_time(m->event, &m->timers.sample, CLOCK_BOOTTIME, m->timers.sample_due_usec, 1000,
                          on_sample, m);
    if (r >= 0)
        r = nm_growth_probe_start(m);
    if (r >= 0)
        r = nm_round_add_wake_timer(m);
    if (r >= 0)
        r = sd_event_add_time(m->event, &m->timers.upkeep->housekeeping, CLOCK_BOOTTIME,
                              now + HOUSEKEEPING_USEC, 0, on_housekeeping, m);
    if (r >= 0)
        r = nm_loop_add_work(m->event, "round", on_round, m, &m->round.source);
    if (r >= 0)
        r = nm_starts_begin(m);
    if (r >= 0)
        r = sd_event_source_set_priority(m->timers.sample, NM_LOOP_WATCH);
    if (r < 0)
        return r;
    (void)sd_event_source_set_description(m->timers.sample, "sample");
    nm_round_request(m, NM_TRIGGER_CHANGE);
    return 0;
}

static int on_state_dir(sd_event_source *s, const struct inotify_event *ev, void *userdata)
{
    const struct nm_manager *m = userdata;

    (void)s;
    if (ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF))
        nm_err("the state directory %s was %s: changes from now on are lost at the next start; restore the directory "
               "and restart nmd",
               m->state_dir, ev->mask & IN_MOVE_SELF ? "moved" : "removed");
    return 0;
}

/*
 * Watches the state directory. This watch has a second purpose: it keeps the inotify descriptor of sd-event open.
 * sd-event closes this descriptor when the last watch is removed. The kernel then waits for an SRCU grace period, and
 * nmd would be blocked for 8 to 15 ms each time the only running container ends.
 */
static void watch_state_dir(struct nm_manager *m)
{
    int r = sd_event_add_inotify(m->event, &m->timers.upkeep->state_dir, m->state_dir,
                                 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR, on_state_dir, m);

    if (r < 0)
        nm_debug("can't watch %s: %s", m->state_dir, strerror(-r));
}

int nm_manager_start(struct nm_manager *m)
{
    int r = start_timers(m);

    assert(m->policy && m->store);
    if (r < 0)
        return r;
    watch_state_dir(m);
    nm_pressure_watch(m);
    return 0;
}

/* ---- creation and end ------------------------------------------------------ */

static int fill_paths(struct nm_manager *m, const struct nm_manager_params *p, char **ret_message)
{
    int r;

    m->state_dir = strdup(p->state_dir);
    m->runtime_dir = strdup(p->runtime_dir);
    m->proc_root = strdup(p->proc_root);
    if (p->config->log_dir && p->config->log_dir[0])
        m->log_dir = strdup(p->config->log_dir);
    else if (asprintf(&m->log_dir, "%s/logs", p->state_dir) < 0)
        m->log_dir = NULL;
    if (!m->state_dir || !m->runtime_dir || !m->proc_root || !m->log_dir)
        return -ENOMEM;
    r = nm_preflight_dir("state", m->state_dir, true, ret_message);
    return r < 0 ? r : nm_preflight_dir("log", m->log_dir, true, ret_message);
}

/* Reads the boot id. An error is fatal: with an unknown boot id, recovery would assume a reboot and mark all running
 * containers as lost. */
static int read_boot_id(struct nm_manager *m, char **ret_message)
{
    char path[PATH_MAX];
    int r;

    (void)snprintf(path, sizeof path, "%s/sys/kernel/random/boot_id", m->proc_root);
    r = nm_read_file_at(AT_FDCWD, path, m->journal.boot_id, sizeof m->journal.boot_id, NULL);
    if (r == -ENOENT)
        strcpy(m->journal.boot_id, "unknown");
    else if (r < 0)
        return nm_fail(ret_message, r, "can't read the boot id of the host in %s: %s", path, strerror(-r));
    m->journal.boot_id[strcspn(m->journal.boot_id, "\n")] = '\0';
    return 0;
}

static int open_store(struct nm_manager *m, char **ret_message)
{
    int r = read_boot_id(m, ret_message);

    if (r < 0)
        return r;
    r = nm_store_open(m->state_dir, m->journal.boot_id, &m->store, &m->journal.opened);
    if (r < 0)
        return nm_preflight_refuse_journal(m->state_dir, r, ret_message);
    nm_record_store_result(m, m->journal.opened.problem);
    m->journal.next_seq = m->journal.opened.last_seq + 1;
    nm_record_begin_after(m, m->journal.opened.last_decision);
    return 0;
}

static void on_health(bool healthy, const char *reason, void *userdata)
{
    struct nm_manager *m = userdata;
    char text[300];

    nm_log_container(healthy ? LOG_NOTICE : LOG_ERR, NULL, NULL,
                     healthy ? NM_MESSAGE_HEALTHY : NM_MESSAGE_UNHEALTHY,
                     healthy ? "the node is healthy again%s" : "the node is unhealthy: %s", reason);
    if (healthy)
        (void)snprintf(text, sizeof text, "the node is healthy again");
    else
        (void)snprintf(text, sizeof text, "the node is unhealthy and admits no containers: %s", reason);
    nm_events_publish_node(m, text);
    nm_round_request(m, NM_TRIGGER_CHANGE);
}

static int open_samplers(struct nm_manager *m, const char *node_proc_root, char **ret_message)
{
    int r = nm_sampling_new(node_proc_root, m->config->uplink_speed_mbit, &m->sampling);

    if (r < 0)
        return nm_preflight_refuse_figures(node_proc_root, r, ret_message);
    r = nm_saved_history_load(m);
    if (r >= 0)
        r = nm_policy_new(&m->policy);
    if (r >= 0)
        r = nm_policy_new(&m->shadow_policy);
    if (r >= 0)
        r = nm_lists_reserve(m);
    if (r < 0)
        return r;
    /* The first sample determines "auto" capacity. CPU use needs a second sample. */
    return nm_sample_node(m);
}

static int open_backend(struct nm_manager *m, const struct nm_manager_params *p, char **ret_message)
{
    struct nm_cgroup_backend_params bp = {.kind = p->backend, .slice = p->slice, .event = m->event};
    int r = nm_cgroup_backend_new(&bp, &m->backend, ret_message);

    if (r < 0)
        return r;
    m->backend->stopped_cb = nm_container_events_stopped;
    m->backend->stopped_userdata = m;
    return 0;
}

/* Allocates the structures that only one source file uses. */
static int make_parts(struct nm_manager *m, const struct nm_manager_params *p)
{
    m->decisions = nm_decisions_new();
    m->durable = nm_durable_new();
    m->events = nm_events_new();
    m->growth_probe = nm_growth_probe_new();
    m->helper = nm_helper_new();
    m->lists = nm_lists_new();
    m->pressure = nm_pressure_new();
    m->reclaim = nm_reclaim_new();
    m->round.internal = nm_round_internal_new();
    m->round.squeeze = nm_squeeze_new();
    m->sessions = nm_sessions_new();
    m->settings_basis = nm_settings_basis_new(p);
    m->slice = nm_slice_new();
    m->starts = nm_starts_new(p->shim_path);
    m->timers.upkeep = calloc(1, sizeof *m->timers.upkeep);
    m->owners.upstream = nm_registered_upstream_new();
    if (!m->decisions || !m->durable || !m->events || !m->growth_probe || !m->helper || !m->lists || !m->pressure ||
        !m->reclaim || !m->round.internal || !m->round.squeeze || !m->sessions || !m->settings_basis || !m->slice ||
        !m->starts || !m->timers.upkeep || !m->owners.upstream)
        return -ENOMEM;
    return 0;
}

static int manager_fill(struct nm_manager *m, const struct nm_manager_params *p, char **ret_message)
{
    int r = fill_paths(m, p, ret_message);

    if (r >= 0)
        r = open_store(m, ret_message);
    if (r >= 0)
        r = open_backend(m, p, ret_message);
    if (r >= 0)
        r = open_samplers(m, p->node_proc_root, ret_message);
    if (r >= 0)
        r = nm_settings_resettle(m, m->config, ret_message);
    if (r >= 0)
        r = nm_preflight_script(m->config->health_script, false, ret_message);
    if (r >= 0)
        r = nm_health_new(m->event, m->config, m->state_dir, m->log_dir, on_health, m, &m->health);
    if (r < 0)
        return r;
    nm_files_prepare(m);
    nm_record_begin_after(m, nm_events_load(m));
    nm_record_report_health(m);
    r = nm_start_open_shim(m);
    if (r < 0)
        nm_err(NM_READY_NO_SHIM, p->shim_path, strerror(-r));
    nm_durable_load(m);
    nm_slice_begin(m);
    r = nm_recovery_run(m, ret_message);
    if (r >= 0)
        nm_slice_set(m);
    return r;
}

int nm_manager_new(const struct nm_manager_params *p, struct nm_manager **ret, char **ret_message)
{
    _cleanup_(nm_manager_freep) struct nm_manager *m = calloc(1, sizeof *m);
    _cleanup_free_ char *message = NULL;
    int r;

    assert(p->event && p->config && p->state_dir && ret && ret_message);
    if (!m) {
        nm_config_free(p->config);
        return -ENOMEM;
    }
    m->event = sd_event_ref(p->event);
    m->drain.deadline_usec = UINT64_MAX;
    m->owners.queue_limit = UINT32_MAX;
    m->timers.started_realtime_usec = nm_realtime_usec();
    m->config = p->config;
    r = make_parts(m, p);
    if (r >= 0)
        r = nm_lists_begin(m);
    if (r >= 0)
        r = manager_fill(m, p, &message);
    if (r < 0) {
        *ret_message = STEAL_PTR(message);
        return r;
    }
    *ret = STEAL_PTR(m);
    return 0;
}

static struct nm_upkeep *upkeep_free(struct nm_upkeep *u)
{
    if (!u)
        return NULL;
    sd_event_source_disable_unref(u->housekeeping);
    sd_event_source_disable_unref(u->state_dir);
    free(u);
    return NULL;
}

static void stop_watching(struct nm_manager *m)
{
    m->timers.sample = sd_event_source_disable_unref(m->timers.sample);
    m->growth_probe = nm_growth_probe_free(m->growth_probe);
    m->round.internal = nm_round_internal_free(m->round.internal);
    m->round.source = sd_event_source_disable_unref(m->round.source);
    m->starts = nm_starts_free(m->starts);
    m->drain.timer = sd_event_source_disable_unref(m->drain.timer);
    m->timers.restore = sd_event_source_disable_unref(m->timers.restore);
    m->timers.upkeep = upkeep_free(m->timers.upkeep);
    m->pressure = nm_pressure_free(m->pressure);
    m->health = nm_health_free(m->health);
}

struct nm_manager *nm_manager_free(struct nm_manager *m)
{
    if (!m)
        return NULL;
    if (m->store && m->policy)
        nm_durable_save(m);
    stop_watching(m);
    m->recorder = nm_recorder_free(m->recorder);
    m->sessions = nm_sessions_free(m->sessions);
    m->owners.upstream = nm_registered_upstream_free(m->owners.upstream);
    nm_lists_done(m);
    m->lists = nm_lists_free(m->lists);
    m->decisions = nm_decisions_free(m->decisions);
    m->durable = nm_durable_free(m->durable);
    m->round.squeeze = nm_squeeze_free(m->round.squeeze);
    m->reclaim = nm_reclaim_free(m->reclaim);
    m->slice = nm_slice_free(m->slice);
    nm_cgroups_free_unowned(m);
    nm_policy_free(m->policy);
    nm_policy_free(m->shadow_policy);
    m->saved_history = nm_saved_history_free(m->saved_history);
    m->events = nm_events_free(m->events);
    nm_sampling_free(m->sampling);
    nm_store_free(m->store);
    m->helper = nm_helper_free(m->helper);
    nm_cgroup_backend_free(m->backend);
    if (m->config)
        nm_config_free(m->config);
    m->settings_basis = nm_settings_basis_free(m->settings_basis);
    free(m->state_dir);
    free(m->runtime_dir);
    free(m->log_dir);
    free(m->proc_root);
    sd_event_unref(m->event);
    free(m);
    return NULL;
}
