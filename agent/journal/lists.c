/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The containers of the node: the list of live containers in order of arrival, the list of ended containers, the index
 * over both lists, and the containers' applications. The policy's workspaces grow with the lists.
 */

#include "agent/journal/containers.h"

#include <assert.h>
#include <search.h>

#include "agent/journal/records.h"
#include "cgroup/procs.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

#define DROP_PER_TURN 32u

struct nm_lists {
    size_t live_size, ended_size, apps_size; /* allocated elements of m->live, m->ended and m->apps */
    void *by_id;                             /* tsearch tree of struct nm_container, live and ended */
    bool apps_full_logged;
};

static int by_id_cmp(const void *a, const void *b)
{
    return strcmp(((const struct nm_container *)a)->id, ((const struct nm_container *)b)->id);
}

static void keep_node(void *node)
{
    (void)node; /* containers are owned by the two lists */
}

void nm_lists_index(struct nm_manager *m, struct nm_container *c)
{
    assert(c->id[0]);
    (void)tsearch(c, &m->lists->by_id, by_id_cmp);
}

struct nm_container *nm_lists_by_id(struct nm_manager *m, const char *id)
{
    struct nm_container key, **found;

    if ((size_t)snprintf(key.id, sizeof key.id, "%s", id) >= sizeof key.id)
        return NULL;
    found = tfind(&key, &m->lists->by_id, by_id_cmp);
    return found ? *found : NULL;
}

struct nm_live_container *nm_lists_live_of(const struct nm_container *c)
{
    assert(c->view.state == NM_COMPLETED || c->view.owner);
    return c->view.state == NM_COMPLETED ? NULL : c->view.owner;
}

static int reserve(struct nm_manager *m, size_t live_size, size_t apps_size)
{
    size_t n_views = NM_MAX(live_size, (size_t)1), n_apps = NM_MAX(apps_size, (size_t)1);
    int r = nm_policy_reserve(m->policy, n_views, n_apps);

    return r < 0 ? r : nm_policy_reserve(m->shadow_policy, n_views, n_apps);
}

struct nm_lists *nm_lists_new(void)
{
    return calloc(1, sizeof(struct nm_lists));
}

int nm_lists_begin(struct nm_manager *m)
{
    (void)nm_lists_app(m, ""); /* slot 0 is for containers without an application */
    return m->apps.n > 0 ? 0 : -ENOMEM;
}

/* Grows the policy's workspaces with the lists, so that decisions need no allocation. */
int nm_lists_reserve(struct nm_manager *m)
{
    return reserve(m, m->lists->live_size, m->lists->apps_size);
}

static int grow_apps(struct nm_manager *m)
{
    size_t n = m->lists->apps_size ? m->lists->apps_size * 2 : 16;
    struct nm_policy_app *views;
    struct nm_app *apps;
    int r;

    assert(n <= NM_APPS_MAX);
    apps = reallocarray(m->apps.all, n, sizeof *apps);
    if (apps)
        m->apps.all = apps;
    views = reallocarray(m->apps.views, n, sizeof *views);
    if (views)
        m->apps.views = views;
    if (!apps || !views)
        return -ENOMEM;
    r = m->policy ? reserve(m, m->lists->live_size, n) : 0;
    if (r >= 0)
        m->lists->apps_size = n;
    return r;
}

/* Returns the slot of the application without live containers that was used least recently. Returns 0, the slot for
 * containers without an application, if all applications have live containers. */
static uint32_t least_recently_used_app(const struct nm_manager *m)
{
    _cleanup_free_ bool *has_live = calloc(m->apps.n, sizeof *has_live);
    uint32_t least = 0;

    if (!has_live)
        return 0;
    for (size_t i = 0; i < m->live.n; i++)
        has_live[m->live.views[i]->app] = true;
    for (uint32_t a = 1; a < m->apps.n; a++)
        if (!has_live[a] && (least == 0 || m->apps.all[a].seen_usec < m->apps.all[least].seen_usec))
            least = a;
    return least;
}

static void report_apps_full(struct nm_manager *m, const char *name)
{
    if (!m->lists->apps_full_logged)
        nm_notice("%u applications have live containers, which is the maximum that nmd distinguishes: containers of %s "
                  "and of other new applications count as without an application, so their usual run time is not "
                  "learnt",
                  NM_APPS_MAX - 1, name);
    m->lists->apps_full_logged = true;
}

/* Returns the slot for a new application, or 0 if all slots are in use. The figures about a replaced application are
 * lost. */
static uint32_t find_slot(struct nm_manager *m, const char *name)
{
    char key[NM_STORE_KEY_SIZE];
    uint32_t slot;

    if (m->apps.n < m->lists->apps_size || (m->lists->apps_size < NM_APPS_MAX && grow_apps(m) >= 0))
        return (uint32_t)m->apps.n++;
    slot = least_recently_used_app(m);
    if (slot == 0) {
        if (m->apps.n == NM_APPS_MAX)
            report_apps_full(m, name);
        return 0;
    }
    m->lists->apps_full_logged = false;
    (void)snprintf(key, sizeof key, NM_APP_KEY "%s", m->apps.all[slot].name);
    (void)nm_store_delete_value(m->store, key);
    return slot;
}

uint32_t nm_lists_app(struct nm_manager *m, const char *name)
{
    uint32_t slot;

    assert(name);
    assert(m->apps.n == 0 || m->apps.all[0].name[0] == '\0');
    for (size_t i = 0; i < m->apps.n; i++)
        if (nm_streq(m->apps.all[i].name, name)) {
            m->apps.all[i].seen_usec = nm_realtime_usec();
            return (uint32_t)i;
        }
    slot = find_slot(m, name);
    if (slot == 0 && (*name || m->apps.n == 0))
        return 0; /* applications without a slot share slot 0 */
    m->apps.all[slot] = (struct nm_app){.seen_usec = nm_realtime_usec()};
    m->apps.views[slot] = (struct nm_policy_app){0};
    (void)snprintf(m->apps.all[slot].name, NM_NAME_SIZE, "%s", name);
    return slot;
}

uint64_t nm_lists_mean_run(const struct nm_manager *m, const char *name)
{
    for (size_t i = 0; i < m->apps.n; i++)
        if (nm_streq(m->apps.all[i].name, name))
            return m->apps.all[i].mean_run_usec;
    return 0;
}

static int grow_live(struct nm_manager *m)
{
    size_t n = m->lists->live_size ? m->lists->live_size * 2 : 32;
    struct nm_live_container **live;
    struct nm_policy_container **views;
    int r;

    live = reallocarray(m->live.all, n, sizeof *live);
    if (!live)
        return -ENOMEM;
    m->live.all = live;
    views = reallocarray(m->live.views, n, sizeof *views);
    if (!views)
        return -ENOMEM;
    m->live.views = views;
    r = reserve(m, n, m->lists->apps_size);
    if (r >= 0)
        m->lists->live_size = n;
    return r;
}

int nm_lists_add_live(struct nm_manager *m, struct nm_container *c, struct nm_live_container **ret)
{
    struct nm_live_container *l;
    int r = 0;

    assert(c->view.state != NM_COMPLETED);
    if (m->live.n == m->lists->live_size)
        r = grow_live(m);
    if (r < 0)
        return r;
    assert(m->live.n < m->lists->live_size);
    l = calloc(1, sizeof *l);
    if (!l)
        return -ENOMEM;
    l->m = m;
    l->c = c;
    l->command_bytes = nm_command_bytes(&c->command) + c->blob.bytes;
    c->view.owner = l;
    c->view.limited = nm_streq(c->owner, m->owners.limited);
    m->live.all[m->live.n] = l;
    m->live.views[m->live.n++] = &c->view;
    nm_lists_index(m, c);
    *ret = l;
    return 0;
}

/* Detaches a worker that is still reclaiming. The worker exits when the reclaim is complete, and nmd then only reaps
 * it. */
static void detach_worker(struct nm_live_container *l)
{
    if (l->reclaim_worker.child) {
        (void)sd_event_source_set_userdata(l->reclaim_worker.child, NULL);
        (void)sd_event_source_set_floating(l->reclaim_worker.child, true);
    }
    l->reclaim_worker.child = sd_event_source_unref(l->reclaim_worker.child);
    l->reclaim_worker.timer = sd_event_source_disable_unref(l->reclaim_worker.timer);
}

void nm_lists_end_passes(struct nm_live_container *l)
{
    l->priority_pass = nm_procs_pass_free(l->priority_pass);
    l->signals.pass = nm_procs_pass_free(l->signals.pass);
    l->signals.due = 0;
}

static void live_done(struct nm_live_container *l)
{
    l->kill.timer = sd_event_source_disable_unref(l->kill.timer);
    l->end_source = sd_event_source_disable_unref(l->end_source);
    detach_worker(l);
    l->events_watch = nm_cgroup_watch_free(l->events_watch);
    l->memory_watch = nm_cgroup_watch_free(l->memory_watch);
    l->sampler = nm_cgroup_sampler_free(l->sampler);
    l->launch = nm_launch_free(l->launch);
    if (l->input_fd > 0)
        l->input_fd = nm_close(l->input_fd);
    nm_lists_end_passes(l);
    free(l->recorded);
    l->recorded = NULL;
    l->cg = nm_cgroup_free(l->cg);
}

static void drop_blob(struct nm_manager *m, struct nm_container *c)
{
    if (c->blob.bytes == 0)
        return;
    (void)nm_container_set_blob(c, NULL, 0);
    nm_record_store_result(m, nm_store_put_blob(m->store, c));
}

int nm_lists_add_ended(struct nm_manager *m, struct nm_container *c)
{
    assert(c->view.state == NM_COMPLETED);
    if (m->ended.n == m->lists->ended_size) {
        size_t n = m->lists->ended_size ? m->lists->ended_size * 2 : 64;
        struct nm_container **p = reallocarray(m->ended.all, n, sizeof *p);

        if (!p)
            return -ENOMEM;
        m->ended.all = p;
        m->lists->ended_size = n;
    }
    nm_command_shorten(&c->command, NM_ENDED_COMMAND_BYTES);
    c->view.owner = NULL;
    m->ended.all[m->ended.n++] = c;
    m->ended.log_bytes += c->log_bytes;
    if (c->keep_result) {
        m->ended.n_results++;
        m->ended.results_bytes += c->blob.bytes;
    } else {
        drop_blob(m, c);
    }
    return 0;
}

void nm_lists_release(struct nm_manager *m, struct nm_container *c)
{
    assert(c->view.state == NM_COMPLETED && c->keep_result && m->ended.n_results > 0);
    c->keep_result = false;
    m->ended.n_results--;
    m->ended.results_bytes -= c->blob.bytes;
    drop_blob(m, c);
}

void nm_lists_report_unkillable(struct nm_manager *m)
{
    unsigned n = 0;

    for (size_t i = 0; i < m->live.n; i++)
        n += m->live.all[i]->run.unkillable;
    nm_health_set_unkillable(m->health, n);
}

void nm_lists_remove_live(struct nm_live_container *l)
{
    struct nm_manager *m = l->m;
    struct nm_container *c = l->c;
    bool was_unkillable = l->run.unkillable;
    size_t i = 0;

    assert(l->phase != NM_RUN_REMOVED && c->view.state == NM_COMPLETED);
    while (i < m->live.n && m->live.all[i] != l)
        i++;
    memmove(&m->live.all[i], &m->live.all[i + 1], (m->live.n - i - 1) * sizeof *m->live.all);
    memmove(&m->live.views[i], &m->live.views[i + 1], (m->live.n - i - 1) * sizeof *m->live.views);
    m->live.n--;
    live_done(l);
    if (m->round.verdict.queue_head == &c->view)
        m->round.verdict.queue_head = NULL;
    if (m->round.verdict.queue_next == &c->view)
        m->round.verdict.queue_next = NULL;
    if (m->round.verdict.guaranteed_head == &c->view)
        m->round.verdict.guaranteed_head = NULL;
    l->c = NULL;
    nm_run_phase_set(&l->phase, NM_RUN_REMOVED);
    if (!l->limits_in_flight)
        free(l);
    if (nm_lists_add_ended(m, c) < 0) {
        (void)tdelete(c, &m->lists->by_id, by_id_cmp);
        nm_container_free(c);
    }
    if (was_unkillable)
        nm_lists_report_unkillable(m);
}

/* How many ended containers of each user exceed NM_ENDED_PER_USER. At most NM_ENDED_MAX / NM_ENDED_PER_USER users can
 * reach this limit, and a few more users whose containers were added since the last check. Containers whose results are
 * kept for an owner do not count here: they are limited when a container is submitted (user-limits.c). */
struct excess {
    struct {
        uid_t uid;
        size_t n;
    } of[2 * NM_ENDED_MAX / NM_ENDED_PER_USER];
    size_t n;
};

static int by_uid(const void *a, const void *b)
{
    uid_t x = *(const uid_t *)a, y = *(const uid_t *)b;

    return x < y ? -1 : x > y;
}

static void find_excess(const struct nm_manager *m, struct excess *ret)
{
    _cleanup_free_ uid_t *uids =
        m->ended.n > NM_ENDED_PER_USER ? reallocarray(NULL, m->ended.n, sizeof *uids) : NULL;
    size_t n = 0;

    ret->n = 0;
    if (!uids)
        return;
    for (size_t i = 0; i < m->ended.n; i++)
        if (!m->ended.all[i]->keep_result)
            uids[n++] = m->ended.all[i]->submitter_uid;
    qsort(uids, n, sizeof *uids, by_uid);
    for (size_t i = 0, end; i < n && ret->n < NM_ARRAY_SIZE(ret->of); i = end) {
        for (end = i; end < n && uids[end] == uids[i];)
            end++;
        if (uids[i] == 0 || end - i <= NM_ENDED_PER_USER)
            continue;
        ret->of[ret->n].uid = uids[i];
        ret->of[ret->n++].n = end - i - NM_ENDED_PER_USER;
    }
}

static bool is_excess(struct excess *e, uid_t uid)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->of[i].uid == uid && e->of[i].n > 0) {
            e->of[i].n--;
            return true;
        }
    return false;
}

static void drop(struct nm_manager *m, struct nm_container *const *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        (void)nm_store_delete_container(m->store, c[i]->id);
        NM_FAULT("row-deleted");
        (void)tdelete(c[i], &m->lists->by_id, by_id_cmp);
        nm_files_drop(m, c[i]->id);
        m->ended.log_bytes -= c[i]->log_bytes;
        nm_container_free(c[i]);
    }
}

void nm_lists_remove_ended(struct nm_manager *m, struct nm_container *c)
{
    size_t i = 0;

    assert(c->view.state == NM_COMPLETED && !c->keep_result);
    while (m->ended.all[i] != c)
        i++;
    memmove(m->ended.all + i, m->ended.all + i + 1, (--m->ended.n - i) * sizeof *m->ended.all);
    drop(m, &c, 1);
}

/* Removes the oldest ended containers first, and few at a time: each container has files to remove, and a user may have
 * run thousands of containers. */
bool nm_lists_drop_ended(struct nm_manager *m, uint64_t now_usec)
{
    struct nm_container *gone[DROP_PER_TURN];
    struct excess excess;
    size_t n_gone = 0, kept = 0;

    find_excess(m, &excess);
    for (size_t i = 0; i < m->ended.n; i++) {
        struct nm_container *c = m->ended.all[i];
        bool over = c->finished_usec + m->config->keep_ended_usec <= now_usec ||
                    m->ended.n - n_gone > NM_ENDED_MAX;

        if (!c->keep_result && (over || is_excess(&excess, c->submitter_uid)) && n_gone < DROP_PER_TURN)
            gone[n_gone++] = c;
        else
            m->ended.all[kept++] = c;
    }
    m->ended.n = kept;
    if (n_gone > 0)
        drop(m, gone, n_gone);
    return n_gone == DROP_PER_TURN;
}

void nm_lists_done(struct nm_manager *m)
{
    for (size_t i = 0; i < m->live.n; i++) {
        live_done(m->live.all[i]);
        nm_container_free(m->live.all[i]->c);
        free(m->live.all[i]);
    }
    for (size_t i = 0; i < m->ended.n; i++)
        nm_container_free(m->ended.all[i]);
    free(m->live.all);
    free(m->live.views);
    free(m->ended.all);
    free(m->apps.all);
    free(m->apps.views);
}

struct nm_lists *nm_lists_free(struct nm_lists *lists)
{
    if (lists)
        tdestroy(lists->by_id, keep_node);
    free(lists);
    return NULL;
}
