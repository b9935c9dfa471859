/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Birth and death of the manager, its indexes, timers and watches. A round (manager-round.c) is
 * started by the sampling timer, by a pressure event, or, through nm_manager_kick(), by anything
 * that changed; kicks within one turn of the event loop become one round, so that a thousand
 * requests cost one decision, not a thousand.
 */

#include "agent/manager/manager.h"

#include <limits.h>
#include <search.h>
#include <sys/stat.h>

#include "agent/message-ids.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"
#include "util/log.h"

#define HOUSEKEEPING_USEC (10 * NM_USEC_PER_SEC)
/* CPU use is known from the second sample on, and until then nothing opportunistic starts: no reason
 * to let those who wait at a start wait for a whole period. Short of this, ticks would be too coarse. */
#define FIRST_SAMPLE_USEC (NM_USEC_PER_SEC / 2)
#define CPU_PSI_STALL_SHARE 4 /* of the window: idle-class work always waits a little */

/* ---- indexes ------------------------------------------------------------- */

static int by_id_cmp(const void *a, const void *b)
{
    return strcmp(((const struct nm_container *)a)->id, ((const struct nm_container *)b)->id);
}

static void by_id_keep(void *node)
{
    (void)node; /* containers are owned by the two lists */
}

void nm_manager_index(struct nm_manager *m, struct nm_container *c)
{
    (void)tsearch(c, &m->by_id, by_id_cmp);
}

struct nm_container *nm_manager_by_id(struct nm_manager *m, const char *id)
{
    struct nm_container key, **found;

    if ((size_t)snprintf(key.id, sizeof key.id, "%s", id) >= sizeof key.id)
        return NULL;
    found = tfind(&key, &m->by_id, by_id_cmp);
    return found ? *found : NULL;
}

struct nm_live *nm_manager_live_of(struct nm_manager *m, const struct nm_container *c)
{
    (void)m;
    return c->view.state == NM_COMPLETED ? NULL : c->view.owner;
}

/* The policy's workspaces follow the sizes of the lists, so that deciding never allocates. */
static int reserve(struct nm_manager *m)
{
    size_t n_views = NM_MAX(m->live_size, (size_t)1), n_apps = NM_MAX(m->apps_size, (size_t)1);
    int r = nm_policy_reserve(m->policy, n_views, n_apps);

    return r < 0 ? r : nm_policy_reserve(m->shadow_policy, n_views, n_apps);
}

uint32_t nm_manager_app(struct nm_manager *m, const char *name)
{
    struct nm_app *apps;
    struct nm_policy_app *views;
    size_t n;

    for (size_t i = 0; i < m->n_apps; i++)
        if (nm_streq(m->apps[i].name, name))
            return (uint32_t)i;
    if (m->n_apps == m->apps_size) {
        n = m->apps_size ? m->apps_size * 2 : 16;
        if (n > NM_APPS_MAX)
            return 0; /* strangers share the slot of those without a name */
        apps = reallocarray(m->apps, n, sizeof *apps);
        if (apps)
            m->apps = apps;
        views = reallocarray(m->app_views, n, sizeof *views);
        if (views)
            m->app_views = views;
        if (!apps || !views)
            return 0;
        m->apps_size = n;
        if (m->policy && reserve(m) < 0)
            return 0;
    }
    m->apps[m->n_apps] = (struct nm_app){0};
    m->app_views[m->n_apps] = (struct nm_policy_app){0};
    (void)snprintf(m->apps[m->n_apps].name, NM_NAME_SIZE, "%s", name);
    return (uint32_t)m->n_apps++;
}

static int grow_live(struct nm_manager *m)
{
    size_t n = m->live_size ? m->live_size * 2 : 32;
    struct nm_live **live;
    struct nm_view **views;

    live = reallocarray(m->live, n, sizeof *live);
    if (!live)
        return -ENOMEM;
    m->live = live;
    views = reallocarray(m->views, n, sizeof *views);
    if (!views)
        return -ENOMEM;
    m->views = views;
    m->live_size = n;
    return reserve(m);
}

int nm_manager_add_live(struct nm_manager *m, struct nm_container *c, struct nm_live **ret)
{
    struct nm_live *l;
    int r = 0;

    if (m->n_live == m->live_size)
        r = grow_live(m);
    if (r < 0)
        return r;
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->m = m;
    l->c = c;
    c->view.owner = l;
    m->live[m->n_live] = l;
    m->views[m->n_live++] = &c->view;
    nm_manager_index(m, c);
    *ret = l;
    return 0;
}

static void live_done(struct nm_live *l)
{
    l->kill_timer = sd_event_source_disable_unref(l->kill_timer);
    l->end_source = sd_event_source_disable_unref(l->end_source);
    l->reclaim_child = sd_event_source_disable_unref(l->reclaim_child);
    l->events_watch = nm_cgroup_watch_free(l->events_watch);
    l->memory_watch = nm_cgroup_watch_free(l->memory_watch);
    l->sampler = nm_cgroup_sampler_free(l->sampler);
    l->launch = nm_launch_free(l->launch);
    l->cg = nm_cgroup_free(l->cg);
}

int nm_manager_add_ended(struct nm_manager *m, struct nm_container *c)
{
    if (m->n_ended == m->ended_size) {
        size_t n = m->ended_size ? m->ended_size * 2 : 64;
        struct nm_container **p = reallocarray(m->ended, n, sizeof *p);

        if (!p)
            return -ENOMEM;
        m->ended = p;
        m->ended_size = n;
    }
    c->view.owner = NULL;
    m->ended[m->n_ended++] = c;
    return 0;
}

void nm_manager_tell_unkillable(struct nm_manager *m)
{
    unsigned n = 0;

    for (size_t i = 0; i < m->n_live; i++)
        n += m->live[i]->unkillable;
    nm_health_set_unkillable(m->health, n);
}

void nm_manager_remove_live(struct nm_live *l)
{
    struct nm_manager *m = l->m;
    struct nm_container *c = l->c;
    bool was_unkillable = l->unkillable;
    size_t i = 0;

    while (i < m->n_live && m->live[i] != l)
        i++;
    memmove(&m->live[i], &m->live[i + 1], (m->n_live - i - 1) * sizeof *m->live);
    memmove(&m->views[i], &m->views[i + 1], (m->n_live - i - 1) * sizeof *m->views);
    m->n_live--;
    live_done(l);
    if (m->verdict.hold_view == &c->view)
        m->verdict.hold_view = NULL;
    if (m->verdict.guaranteed_hold_view == &c->view)
        m->verdict.guaranteed_hold_view = NULL;
    l->c = NULL;
    l->removed = true;
    if (!l->limits_in_flight)
        free(l);
    if (nm_manager_add_ended(m, c) < 0) {
        (void)tdelete(c, &m->by_id, by_id_cmp);
        nm_container_free(c);
    }
    if (was_unkillable)
        nm_manager_tell_unkillable(m);
}

static void forget_ended(struct nm_manager *m, uint64_t now_usec)
{
    size_t n = 0;

    while (n < m->n_ended && (m->ended[n]->finished_usec + m->config->keep_ended_usec <= now_usec ||
                              m->n_ended - n > NM_ENDED_MAX)) {
        struct nm_container *c = m->ended[n++];

        (void)nm_store_delete_container(m->store, c->id);
        NM_FAULT("row-deleted");
        (void)tdelete(c, &m->by_id, by_id_cmp);
        nm_files_forget(m, c->id);
        nm_container_free(c);
    }
    if (n == 0) /* there may be no array yet, and memmove() wants one */
        return;
    memmove(m->ended, m->ended + n, (m->n_ended - n) * sizeof *m->ended);
    m->n_ended -= n;
}

/* ---- timers and watches -------------------------------------------------- */

static int on_round(sd_event_source *s, void *userdata)
{
    (void)s;
    nm_manager_round(userdata, NM_TRIGGER_CHANGE);
    return 0;
}

void nm_manager_kick(struct nm_manager *m)
{
    if (m->round_source)
        (void)sd_event_source_set_enabled(m->round_source, SD_EVENT_ONESHOT);
}

static int on_wake(sd_event_source *s, uint64_t usec, void *userdata)
{
    (void)s, (void)usec;
    nm_manager_round(userdata, NM_TRIGGER_CHANGE);
    return 0;
}

static int on_sample(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;
    uint64_t now = nm_now_usec();

    if (now > usec + m->config->period_usec / 2)
        m->counters.late_samples++;
    nm_manager_round(m, NM_TRIGGER_SAMPLE);
    /* From the time that was due, so that periods don't drift; but never a burst of make-up
     * samples. */
    m->sample_due_usec = NM_MAX(usec + m->config->period_usec, now + m->config->period_usec / 4);
    (void)sd_event_source_set_time(s, m->sample_due_usec);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

/* A stall event is only a hint: it is the fresh sample that decides. */
static void on_memory_pressure(void *userdata)
{
    struct nm_manager *m = userdata;

    m->counters.pressure_events++;
    nm_manager_round(m, NM_TRIGGER_PRESSURE);
}

static void on_cpu_pressure(void *userdata)
{
    struct nm_manager *m = userdata;

    m->counters.pressure_events++;
    nm_glance_look_at_cpu(m);
}

static int on_housekeeping(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_manager *m = userdata;

    forget_ended(m, usec);
    nm_record_store_result(m, nm_store_flush(m->store));
    if (m->store_error == -EUCLEAN)
        nm_recovery_replace_journal(m);
    nm_memory_save(m);
    nm_recovery_check_orphans(m);
    (void)nm_store_trim_decisions(m->store, NM_DECISIONS_KEPT);
    nm_act_check_drift(m);
    (void)sd_event_source_set_time(s, usec + HOUSEKEEPING_USEC);
    return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static void watch_pressure(struct nm_manager *m)
{
    uint64_t stall = m->config->pressure_stall_usec, window = m->config->pressure_window_usec;
    char path[PATH_MAX];

    m->node_memory_psi = nm_psi_watch_free(m->node_memory_psi);
    m->slice_memory_psi = nm_psi_watch_free(m->slice_memory_psi);
    m->cpu_psi = nm_psi_watch_free(m->cpu_psi);
    (void)snprintf(path, sizeof path, "%s/pressure/memory", m->proc_root);
    if (nm_psi_watch_new(m->event, AT_FDCWD, path, false, stall, window, on_memory_pressure, m,
                         &m->node_memory_psi) < 0)
        nm_info("no memory pressure events from %s: sampling every period only", path);
    if (m->backend->slice_fd < 0)
        return;
    (void)nm_psi_watch_new(m->event, m->backend->slice_fd, "memory.pressure", false, stall, window,
                           on_memory_pressure, m, &m->slice_memory_psi);
    (void)nm_psi_watch_new(m->event, m->backend->slice_fd, "cpu.pressure", false,
                           window / CPU_PSI_STALL_SHARE, window, on_cpu_pressure, m, &m->cpu_psi);
}

static int start_timers(struct nm_manager *m)
{
    uint64_t now = nm_now_usec();
    int r;

    m->sample_due_usec = now + NM_MIN(m->config->period_usec, FIRST_SAMPLE_USEC);
    r = sd_event_add_time(m->event, &m->sample_timer, CLOCK_BOOTTIME, m->sample_due_usec, 1000,
                          on_sample, m);
    if (r >= 0)
        r = nm_glance_start(m);
    if (r >= 0)
        r = sd_event_add_time(m->event, &m->wake_timer, CLOCK_BOOTTIME, UINT64_MAX, 1000, on_wake,
                              m);
    if (r >= 0)
        r = sd_event_add_time(m->event, &m->housekeeping_timer, CLOCK_BOOTTIME,
                              now + HOUSEKEEPING_USEC, 0, on_housekeeping, m);
    if (r >= 0)
        r = sd_event_add_defer(m->event, &m->round_source, on_round, m);
    if (r < 0)
        return r;
    /* After all I/O of the same turn, so that what came in together is decided together. */
    (void)sd_event_source_set_priority(m->round_source, SD_EVENT_PRIORITY_NORMAL + 10);
    (void)sd_event_source_set_description(m->sample_timer, "sample");
    (void)sd_event_source_set_description(m->round_source, "round");
    return sd_event_source_set_enabled(m->round_source, SD_EVENT_ONESHOT);
}

static int on_state_dir(sd_event_source *s, const struct inotify_event *ev, void *userdata)
{
    const struct nm_manager *m = userdata;

    (void)s;
    if (ev->mask & (IN_DELETE_SELF | IN_MOVE_SELF))
        nm_err("the state directory %s was %s: what happens now is not there for the next start; put it back "
               "and restart nmd",
               m->state_dir, ev->mask & IN_MOVE_SELF ? "moved" : "removed");
    return 0;
}

/*
 * The other use of this watch is to be there. sd-event has one inotify descriptor for all of its
 * watches, and closes it with the last one: the kernel then waits for an SRCU grace period, 8 to 15
 * ms in which nmd would see nothing, at each end of the only container that runs.
 */
static void watch_state_dir(struct nm_manager *m)
{
    int r = sd_event_add_inotify(m->event, &m->state_dir_watch, m->state_dir,
                                 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR, on_state_dir, m);

    if (r < 0)
        nm_debug("can't watch %s: %s", m->state_dir, strerror(-r));
}

int nm_manager_start(struct nm_manager *m)
{
    int r = start_timers(m);

    if (r < 0)
        return r;
    watch_state_dir(m);
    watch_pressure(m);
    return 0;
}

/* ---- settings ------------------------------------------------------------ */

static void slice_limits_set(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    (void)userdata;
    nm_cgroup_free(cg);
    if (result < 0)
        nm_warning("could not set the slice's limits: %s; ignoring",
                   message ? message : strerror(-result));
}

void nm_manager_slice_limits(struct nm_manager *m)
{
    struct nm_cgroup_limits limits = NM_CGROUP_LIMITS_NONE;
    int r;

    limits.memory_max_bytes = m->settings.capacity.memory_bytes;
    r = m->backend->ops->set_slice_limits(m->backend, &limits, slice_limits_set, m);
    if (r < 0)
        slice_limits_set(r, NULL, NULL, m);
}

int nm_manager_resettle(struct nm_manager *m, struct nm_config *c, char **ret_message)
{
    struct nm_policy_settings s;
    bool period_changed, pressure_changed;
    int r = nm_config_policy_settings(c, &m->node, m->backend, &s, ret_message);

    if (r < 0)
        return r;
    period_changed = m->config && (m->config->period_usec != c->period_usec ||
                                   m->config->history_usec != c->history_usec);
    pressure_changed = m->config && (m->config->pressure_stall_usec != c->pressure_stall_usec ||
                                     m->config->pressure_window_usec != c->pressure_window_usec);
    if (m->config != c)
        nm_config_free(m->config);
    m->config = c;
    m->settings = s;
    m->shed_due = true;
    if (m->history && period_changed)
        (void)nm_history_resize(m->history, c->history_usec, c->period_usec);
    if (m->sample_timer && period_changed) {
        m->sample_due_usec = nm_now_usec() + c->period_usec;
        (void)sd_event_source_set_time(m->sample_timer, m->sample_due_usec);
        (void)sd_event_source_set_enabled(m->sample_timer, SD_EVENT_ONESHOT);
    }
    if (m->sample_timer && pressure_changed)
        watch_pressure(m);
    return 0;
}

/* ---- birth and death ----------------------------------------------------- */

/* Whoever can put a file or a link into these could make nmd, which is root, write and remove where they like. */
static int make_private_dir(const char *what, const char *path, char **ret_message)
{
    _cleanup_close_ int fd = -EBADF;
    int r = nm_mkdir_p(path, 0700);

    if (r >= 0) {
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = fd < 0 ? -errno : nm_check_private_dir(fd);
    }
    if (r == -EPERM)
        return nm_fail(ret_message, r,
                       "the %s directory %s belongs to somebody else, or others may write to it; it must be nmd's or "
                       "root's, without write permission for group and others",
                       what, path);
    return r < 0 ? nm_fail(ret_message, r, "the %s directory %s can't be used: %s", what, path, strerror(-r))
                 : r;
}

static int fill_paths(struct nm_manager *m, const struct nm_manager_params *p, char **ret_message)
{
    int r;

    m->config_path = p->config_path ? strdup(p->config_path) : NULL;
    m->state_dir = strdup(p->state_dir);
    m->runtime_dir = strdup(p->runtime_dir);
    m->shim_path = strdup(p->shim_path);
    m->proc_root = strdup(p->proc_root);
    m->node_proc_root = strdup(p->node_proc_root);
    if (p->config->log_dir && p->config->log_dir[0])
        m->log_dir = strdup(p->config->log_dir);
    else if (asprintf(&m->log_dir, "%s/logs", p->state_dir) < 0)
        m->log_dir = NULL;
    if (!m->state_dir || !m->runtime_dir || !m->shim_path || !m->proc_root || !m->node_proc_root ||
        !m->log_dir)
        return -ENOMEM;
    r = make_private_dir("state", m->state_dir, ret_message);
    return r < 0 ? r : make_private_dir("log", m->log_dir, ret_message);
}

int nm_manager_open_shim(struct nm_manager *m)
{
    if (m->shim_fd < 0)
        m->shim_fd = RET_NERRNO(open(m->shim_path, O_PATH | O_CLOEXEC));
    return m->shim_fd;
}

static int open_store(struct nm_manager *m, char **ret_message)
{
    char path[PATH_MAX];
    int r;

    strcpy(m->boot_id, "unknown");
    (void)snprintf(path, sizeof path, "%s/sys/kernel/random/boot_id", m->proc_root);
    (void)nm_read_file_at(AT_FDCWD, path, m->boot_id, sizeof m->boot_id, NULL);
    m->boot_id[strcspn(m->boot_id, "\n")] = '\0';
    r = nm_store_open(m->state_dir, m->boot_id, &m->store, &m->opened);
    if (r < 0)
        return nm_fail(ret_message, r, "can't open the journal in %s: %s", m->state_dir, strerror(-r));
    nm_record_store_result(m, m->opened.problem);
    m->next_seq = m->opened.last_seq + 1;
    m->next_decision = m->opened.last_decision + 1;
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
        (void)snprintf(text, sizeof text, "the node is unhealthy and admits nothing: %s", reason);
    nm_record_node_event(m, text);
    nm_manager_kick(m);
}

static int open_samplers(struct nm_manager *m, char **ret_message)
{
    int r = nm_node_sampler_new(m->node_proc_root, &m->node_sampler);

    if (r < 0)
        return nm_fail(ret_message, r, "the node's figures in %s can't be read: %s", m->node_proc_root, strerror(-r));
    if (nm_link_sampler_new(m->config->uplink_speed_mbit, &m->link_sampler) < 0)
        nm_info("network links can't be read; ignoring");
    r = nm_history_new(m->config->history_usec, m->config->period_usec, &m->history);
    if (r >= 0)
        r = nm_policy_new(&m->policy);
    if (r >= 0)
        r = nm_policy_new(&m->shadow_policy);
    if (r >= 0)
        r = reserve(m);
    if (r < 0)
        return r;
    /* The first sample settles "auto" capacity; CPU use needs a second one. */
    r = nm_node_sampler_sample(m->node_sampler, nm_now_usec(), &m->node);
    return r;
}

static int open_backend(struct nm_manager *m, const struct nm_manager_params *p, char **ret_message)
{
    struct nm_cgroup_backend_params bp = {.kind = p->backend, .slice = p->slice, .event = m->event};

    return nm_cgroup_backend_new(&bp, &m->backend, ret_message);
}

static int manager_fill(struct nm_manager *m, const struct nm_manager_params *p, char **ret_message)
{
    struct nm_config *config = p->config;
    int r = fill_paths(m, p, ret_message);

    m->config = config;
    if (r >= 0)
        r = open_store(m, ret_message);
    if (r >= 0)
        r = open_backend(m, p, ret_message);
    if (r >= 0)
        r = open_samplers(m, ret_message);
    if (r >= 0)
        r = nm_manager_resettle(m, config, ret_message);
    if (r >= 0)
        r = nm_health_new(m->event, m->config, m->state_dir, m->log_dir, on_health, m, &m->health);
    if (r < 0)
        return r;
    m->events = calloc(NM_EVENT_RING, sizeof *m->events);
    if (!m->events)
        return -ENOMEM;
    r = nm_manager_open_shim(m);
    if (r < 0)
        nm_err("the shim %s can't be opened: %s; nothing can be started until it is there", m->shim_path, strerror(-r));
    nm_manager_slice_limits(m);
    nm_memory_load(m);
    return nm_recovery_run(m, ret_message);
}

int nm_manager_new(const struct nm_manager_params *p, struct nm_manager **ret, char **ret_message)
{
    _cleanup_(nm_manager_freep) struct nm_manager *m = calloc(1, sizeof *m);
    _cleanup_free_ char *message = NULL;
    int r;

    if (!m)
        return -ENOMEM;
    m->slice_cpu_fd = m->slice_memory_fd = m->shim_fd = -EBADF;
    m->event = sd_event_ref(p->event);
    m->config_must_exist = p->config_must_exist;
    m->drain_deadline_usec = UINT64_MAX;
    m->squeeze_millicores = NM_NO_SQUEEZE;
    m->next_event = 1;
    m->started_realtime_usec = nm_realtime_usec();
    (void)nm_manager_app(m, ""); /* slot 0 */
    r = manager_fill(m, p, &message);
    if (r < 0) {
        *ret_message = STEAL_PTR(message);
        return r;
    }
    *ret = STEAL_PTR(m);
    return 0;
}

static void stop_watching(struct nm_manager *m)
{
    m->sample_timer = sd_event_source_disable_unref(m->sample_timer);
    m->close_timer = sd_event_source_disable_unref(m->close_timer);
    m->cpu_look_timer = sd_event_source_disable_unref(m->cpu_look_timer);
    m->wake_timer = sd_event_source_disable_unref(m->wake_timer);
    m->round_source = sd_event_source_disable_unref(m->round_source);
    m->drain_timer = sd_event_source_disable_unref(m->drain_timer);
    m->housekeeping_timer = sd_event_source_disable_unref(m->housekeeping_timer);
    m->state_dir_watch = sd_event_source_disable_unref(m->state_dir_watch);
    m->node_memory_psi = nm_psi_watch_free(m->node_memory_psi);
    m->slice_memory_psi = nm_psi_watch_free(m->slice_memory_psi);
    m->cpu_psi = nm_psi_watch_free(m->cpu_psi);
    m->health = nm_health_free(m->health);
}

struct nm_manager *nm_manager_free(struct nm_manager *m)
{
    if (!m)
        return NULL;
    if (m->store && m->policy)
        nm_memory_save(m);
    stop_watching(m);
    m->recorder = nm_recorder_free(m->recorder);
    while (m->subscriptions)
        (void)nm_subscription_free(m->subscriptions);
    tdestroy(m->by_id, by_id_keep);
    for (size_t i = 0; i < m->n_live; i++) {
        live_done(m->live[i]);
        nm_container_free(m->live[i]->c);
        free(m->live[i]);
    }
    for (size_t i = 0; i < m->n_ended; i++)
        nm_container_free(m->ended[i]);
    for (size_t i = 0; i < m->n_orphans; i++)
        nm_cgroup_free(m->orphans[i]);
    free(m->orphans);
    free(m->live);
    free(m->views);
    free(m->ended);
    free(m->apps);
    free(m->app_views);
    free(m->events);
    nm_policy_free(m->policy);
    nm_policy_free(m->shadow_policy);
    nm_history_free(m->history);
    nm_link_sampler_free(m->link_sampler);
    nm_node_sampler_free(m->node_sampler);
    (void)nm_close(m->slice_cpu_fd);
    (void)nm_close(m->slice_memory_fd);
    (void)nm_close(m->shim_fd);
    nm_store_free(m->store);
    nm_cgroup_backend_free(m->backend);
    if (m->config)
        nm_config_free(m->config);
    free(m->config_path);
    free(m->state_dir);
    free(m->runtime_dir);
    free(m->log_dir);
    free(m->shim_path);
    free(m->proc_root);
    free(m->node_proc_root);
    sd_event_unref(m->event);
    free(m);
    return NULL;
}
