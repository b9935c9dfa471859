/* SPDX-License-Identifier: Apache-2.0 */

/* The requests that only read. They copy the manager's state into plain structs and leave the state unchanged. Also the
 * registration of an upstream, whose data these requests show. */

#include "agent/requests/requests.h"

#include <assert.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "agent/journal/containers.h"
#include "agent/journal/journal.h"
#include "agent/journal/records.h"
#include "agent/journal/slot-file.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/node/cgroups.h"
#include "agent/node/node-settings.h"
#include "agent/node/over-beta.h"
#include "agent/policy/ordering.h"
#include "agent/problem.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/parse.h"

const char *nm_node_state_name(enum nm_node_state s)
{
    static const char *const names[] = {
        [NM_NODE_RUNNING] = "running",
        [NM_NODE_DRAINING] = "draining",
        [NM_NODE_SHADOW] = "shadow",
    };

    return names[s];
}

static nm_printf(2, 3) void note(struct nm_status *s, const char *format, ...)
{
    va_list ap;

    if (s->n_notes == NM_ARRAY_SIZE(s->notes))
        return;
    va_start(ap, format);
    (void)vsnprintf(s->notes[s->n_notes++], sizeof s->notes[0], format, ap);
    va_end(ap);
}

/* Memory of the slice that belongs to no container is reported only from this size on. The kernel's structures for
 * recently removed cgroups take less. */
#define UNOWNED_WORTH_REPORTING (32 * NM_MIB)

static void note_size(const struct nm_manager *m, struct nm_status *ret)
{
    char wanted[32], capacity[32], total[32];

    if (m->config->wanted_memory_bytes > m->settings.capacity.memory_bytes)
        note(ret, "the upstream expects %s of memory here, but this host has %s and can offer %s: containers beyond "
                  "that are refused",
             nm_format_size(m->config->wanted_memory_bytes, wanted, sizeof wanted),
             nm_format_size(m->sampled.node.memory_total_bytes, total, sizeof total),
             nm_format_size(m->settings.capacity.memory_bytes, capacity, sizeof capacity));
}

/* Adds notes on features that the node lacks and settings that have no effect, because an administrator may expect them
 * to work. */
static void fill_notes(const struct nm_manager *m, struct nm_status *ret)
{
    const struct nm_cgroup_backend *b = m->backend;
    int confinement = nm_starts_confinement(m->starts);
    const char *advice = m->journal.error < 0 ? nm_store_error_advice(m->journal.error) : NULL;
    char unowned[32];

    for (int f = 0; f < NM_CGROUP_FEATURE_COUNT; f++)
        if (!b->feature[f])
            note(ret, "%s: %s", nm_cgroup_feature_name((enum nm_cgroup_feature)f),
                 b->missing[f] ? b->missing[f] : "the kernel does not offer it");
    if (!b->feature[NM_CGROUP_CPU_WEIGHT])
        note(ret, "instead of cpu weights, opportunistic processes run in the kernel's background "
                  "class (SCHED_IDLE)");
    if (m->config->confine && confinement < 0 && geteuid() == 0)
        note(ret, "confine: containers have no namespaces of their own, because %s; a user's service manager "
                  "(systemd-run --user) can start processes for them outside of their limits",
             nm_launch_no_confinement(confinement));
    if (m->sampled.slice_unowned_bytes >= UNOWNED_WORTH_REPORTING)
        note(ret, "%s in %s belong to no container (for example data that ended containers left in /dev/shm, another "
                  "tmpfs or System V segments) and count as used",
             nm_format_size(m->sampled.slice_unowned_bytes, unowned, sizeof unowned), b->slice);
    note_size(m, ret);
    if (m->journal.note[0])
        note(ret, "%s", m->journal.note);
    if (m->unowned.orphans.n)
        note(ret, "orphans: %zu cgroup%s in %s, not in the journal; nmd does not kill %s: %s%s", m->unowned.orphans.n,
             m->unowned.orphans.n > 1 ? "s" : "", m->backend->slice, m->unowned.orphans.n > 1 ? "them" : "it",
             m->unowned.orphans.all[0]->name, m->unowned.orphans.n > 1 ? ", ..." : "");
    if (m->journal.error < 0)
        note(ret, "journal: %s can't be written (%s); new containers are refused until it can be "
                  "written%s%s", m->state_dir,
             strerror(-m->journal.error), advice ? ": " : "", advice ?: "");
}

/* Fills in the memory and CPU time that nmd uses. The second number of /proc/self/statm is VmRSS of /proc/self/status,
 * but the file is shorter. */
static void fill_self(struct nm_status *ret)
{
    char text[256];
    struct rusage ru;
    unsigned long size, resident;

    if (nm_read_file_at(AT_FDCWD, "/proc/self/statm", text, sizeof text, NULL) >= 0 &&
        sscanf(text, "%lu %lu", &size, &resident) == 2)
        ret->own_rss_bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
    if (getrusage(RUSAGE_SELF, &ru) == 0)
        ret->own_cpu_usec = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * NM_USEC_PER_SEC +
                            (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
}

static void fill_capacity(const struct nm_manager *m, struct nm_status *ret)
{
    ret->capacity = m->settings.capacity;
    ret->capacity_vcores_milli =
        nm_settings_millicores_vcores(m->config, &m->sampled.node, m->settings.capacity.cpu_millicores);
    ret->offered = m->settings.offered;
    ret->offered_vcores_milli =
        nm_settings_millicores_vcores(m->config, &m->sampled.node, ret->offered.cpu_millicores);
    (void)nm_settings_configured(m->config, &m->sampled.node, &ret->configured, &ret->configured_vcores_milli);
    ret->utilization.memory =
        (double)ret->used.memory_bytes / (double)NM_MAX(ret->capacity.memory_bytes, (uint64_t)1);
    ret->utilization.cpu = (double)ret->used.cpu_millicores /
                           (double)NM_MAX(ret->capacity.cpu_millicores, (uint64_t)1);
}

#define MINUTE_USEC (60 * NM_USEC_PER_SEC)

/* Sums memory that may be taken back, and memory that is being freed already. */
static void sum_takeable(const struct nm_manager *m, struct nm_over_beta *o)
{
    for (size_t i = 0; i < m->live.n; i++) {
        const struct nm_policy_container *v = m->live.views[i];
        bool is_ending = v->state == NM_KILLING || v->reclaiming;

        if (nm_policy_container_is_waiting(v))
            continue;
        if (is_ending)
            o->ending_bytes += v->measured.memory_bytes;
        else if (v->type == NM_GUARANTEED)
            o->guaranteed_bytes += v->measured.memory_bytes;
        else if (!v->exempt)
            o->takeable_bytes += v->measured.memory_bytes;
    }
}

static void fill_over_beta(const struct nm_manager *m, const struct nm_policy_memory *memory, struct nm_status *ret)
{
    uint64_t now = nm_now_usec();
    struct nm_over_beta o = {
        .settings = &m->settings,
        .shadow = m->config->shadow,
        .stale = !m->sampled.node_valid || now > nm_add_u64(m->sampled.node.at_usec, m->settings.sample_max_age_usec),
        .used_bytes = m->round.verdict.used.memory_bytes,
        .in_use_bytes = m->round.verdict.in_use.memory_bytes,
        .others_bytes = m->round.verdict.others.memory_bytes,
        .preempt_wait_reason = m->round.preempt_wait_reason,
    };

    sum_takeable(m, &o);
    for (size_t i = 0; i < NM_ARRAY_SIZE(memory->kills_usec); i++)
        o.kills_last_minute += memory->kills_usec[i] > 0 && now < nm_add_u64(memory->kills_usec[i], MINUTE_USEC);
    (void)nm_over_beta_explain(&o, ret->over_beta, sizeof ret->over_beta);
}

/* Reads no file and makes no system call, because a heartbeat needs only these members, and a host may run a thousand
 * nodes. */
void nm_manager_get_summary(struct nm_manager *m, struct nm_status *ret)
{
    const char *reason = "";

    assert(ret);
    memset(ret, 0, NM_STATUS_SUMMARY_SIZE);
    ret->state = m->drain.is_on         ? NM_NODE_DRAINING
                 : m->config->shadow ? NM_NODE_SHADOW
                                     : NM_NODE_RUNNING;
    ret->drained = m->drain.is_on && m->live.n == 0;
    ret->drain_until_restart = m->drain.until_restart;
    ret->removable_since_realtime_usec = m->removable_since_usec;
    ret->healthy = nm_health_get(m->health, &reason);
    (void)snprintf(ret->health_reason, sizeof ret->health_reason, "%s", ret->healthy ? "" : reason);
    ret->backend = m->backend;
    nm_usage_fill(m, ret);
    fill_capacity(m, ret);
    ret->settings = m->settings;
    ret->queue_limit = m->owners.queue_limit;
    ret->node = m->sampled.node;
    ret->started_realtime_usec = m->timers.started_realtime_usec;
}

static void fill_sample(const struct nm_manager *m, uint64_t now_usec, struct nm_status *ret)
{
    ret->sample_age_usec = nm_sub_u64(now_usec, m->sampled.at_usec);
    ret->sample_period_usec = m->config->period_usec;
    ret->sample_cost_usec = m->sampled.cost_usec;
    memcpy(ret->links, m->sampled.links, sizeof ret->links);
    ret->n_links = m->sampled.n_links;
}

static void fill_policy(const struct nm_manager *m, uint64_t now_usec, struct nm_status *ret)
{
    struct nm_policy_memory memory;

    ret->queue_reason = m->round.queue_reason;
    memcpy(ret->queue_head_id, m->round.queue_head_id, sizeof ret->queue_head_id);
    ret->squeeze_millicores = nm_squeeze_millicores(m->round.squeeze);
    nm_policy_get_memory(m->policy, &memory);
    ret->breaker_until_usec = memory.breaker_until_usec > now_usec ? memory.breaker_until_usec : 0;
    ret->surge_margin_until_usec = memory.margin.until_usec > now_usec ? memory.margin.until_usec : 0;
    fill_over_beta(m, &memory, ret);
}

/* Copies the state, so that a slow reader gets a consistent state. */
void nm_manager_get_status(struct nm_manager *m, struct nm_status *ret)
{
    uint64_t now = nm_now_usec();

    *ret = (struct nm_status){0};
    nm_manager_get_summary(m, ret);
    if (gethostname(ret->host, sizeof ret->host - 1) < 0)
        ret->host[0] = '\0';
    nm_settings_restart_keys(m, ret->restart_keys, sizeof ret->restart_keys);
    if (m->drain.is_on && m->drain.deadline_usec != UINT64_MAX)
        ret->drain_deadline_realtime_usec =
            nm_realtime_usec() + nm_sub_u64(m->drain.deadline_usec, now);
    fill_notes(m, ret);
    fill_sample(m, now, ret);
    fill_policy(m, now, ret);
    ret->counters = m->counters;
    nm_decisions_fill(m->decisions, ret);
    fill_self(ret);
    nm_manager_get_upstream(m, &ret->upstream);
}

/* ---- room for further containers -------------------------------------------------------------- */

static uint32_t queue_max(const struct nm_manager *m)
{
    uint32_t most = m->settings.queue_policy == NM_QUEUE_BY_LENGTH ? m->settings.queue_max_length : UINT32_MAX;

    return NM_MIN(most, m->owners.queue_limit);
}

void nm_manager_get_room(const struct nm_manager *m, struct nm_room *ret)
{
    const struct nm_policy_verdict *v = &m->round.verdict;
    uint64_t waiting_bytes = 0;

    *ret = (struct nm_room){.offered = m->settings.offered, .queue_max = queue_max(m)};
    for (size_t i = 0; i < m->live.n; i++) {
        const struct nm_policy_container *c = m->live.views[i];

        if (c->type == NM_GUARANTEED)
            ret->guaranteed_memory_bytes = nm_add_u64(ret->guaranteed_memory_bytes, c->request.memory_bytes);
        if (nm_policy_container_is_waiting(c)) {
            waiting_bytes = nm_add_u64(waiting_bytes, c->request.memory_bytes);
            ret->queue_length += c->type == NM_OPPORTUNISTIC;
        }
    }
    ret->admits = m->round.decided_usec > 0 && v->hold_reason == NM_REASON_NONE && !m->drain.is_on;
    ret->unused_memory_bytes = nm_sub_u64(v->room_bytes, waiting_bytes);
}

/* ---- the upstream --------------------------------------------------------------------------- */

struct nm_registered_upstream {
    const struct nm_upstream_ops *ops; /* functions that show the upstream; NULL if there is no upstream */
    void *userdata;
};

struct nm_registered_upstream *nm_registered_upstream_new(void)
{
    return calloc(1, sizeof(struct nm_registered_upstream));
}

struct nm_registered_upstream *nm_registered_upstream_free(struct nm_registered_upstream *u)
{
    free(u);
    return NULL;
}

void nm_manager_get_upstream(struct nm_manager *m, struct nm_upstream *ret)
{
    const struct nm_registered_upstream *u = m->owners.upstream;

    *ret = (struct nm_upstream){.kind = "none", .state = "none"};
    if (u->ops && u->ops->status)
        u->ops->status(u->userdata, ret);
}

void nm_manager_set_upstream(struct nm_manager *m, const struct nm_upstream_ops *ops, void *userdata)
{
    *m->owners.upstream = (struct nm_registered_upstream){.ops = ops, .userdata = userdata};
}

json_t *nm_manager_upstream_details(struct nm_manager *m, const struct nm_caller *who, bool with_users)
{
    const struct nm_registered_upstream *u = m->owners.upstream;

    return u->ops && u->ops->details ? u->ops->details(u->userdata, who, with_users) : json_object();
}

void nm_manager_write_upstream_metrics(struct nm_manager *m, const struct nm_metric_writer *w)
{
    const struct nm_registered_upstream *u = m->owners.upstream;

    if (u->ops && u->ops->metrics)
        u->ops->metrics(u->userdata, w);
}

int nm_manager_query_upstream(struct nm_manager *m, const struct nm_upstream_query *q, json_t **ret,
                              struct nm_problem *ret_problem)
{
    const struct nm_registered_upstream *u = m->owners.upstream;

    for (size_t i = 0; u->ops && i < u->ops->n_views; i++)
        if (nm_streq(u->ops->views[i].path, q->path))
            return u->ops->views[i].get(u->userdata, q, ret, ret_problem);
    return nm_problem_set(ret_problem, NM_AGENT_E_NOT_FOUND, "path", q->path, "%s: there is no such path", q->path);
}

int nm_manager_query_upstream_page(struct nm_manager *m, const struct nm_upstream_query *q,
                                   struct nm_upstream_page *ret, struct nm_problem *ret_problem)
{
    const struct nm_registered_upstream *u = m->owners.upstream;

    if (!u->ops || !u->ops->page)
        return nm_problem_set(ret_problem, NM_AGENT_E_NOT_FOUND, "path", q->path,
                              "This node doesn't belong to a YARN cluster, so it has no pages of YARN.");
    return u->ops->page(u->userdata, q, ret, ret_problem);
}

/* ---- containers, decisions, logs and history ------------------------------------------------- */

static int by_arrival(const void *a, const void *b)
{
    const struct nm_container *x = *(struct nm_container *const *)a,
                              *y = *(struct nm_container *const *)b;

    return x->view.seq < y->view.seq ? -1 : x->view.seq > y->view.seq;
}

static bool on_page(const struct nm_page *page, const struct nm_caller *who,
                    const struct nm_container *c)
{
    return c->view.seq > page->after && nm_access_may_touch(who, c);
}

/* Sorts the list for each page, since ended containers are stored in the order of their ends. */
int nm_manager_foreach(struct nm_manager *m, const struct nm_caller *who, const struct nm_page *page,
                       nm_manager_container_cb_t cb, void *userdata, bool *ret_more)
{
    size_t size = m->live.n + (page->all ? m->ended.n : 0), n = 0;
    _cleanup_free_ struct nm_container **list = reallocarray(NULL, size + 1, sizeof *list);

    if (!list)
        return -ENOMEM;
    for (size_t i = 0; page->all && i < m->ended.n; i++)
        if (on_page(page, who, m->ended.all[i]))
            list[n++] = m->ended.all[i];
    for (size_t i = 0; i < m->live.n; i++)
        if (on_page(page, who, m->live.all[i]->c))
            list[n++] = m->live.all[i]->c;
    qsort(list, n, sizeof *list, by_arrival);
    for (size_t i = 0; i < n && i < page->limit; i++)
        cb(list[i], userdata);
    *ret_more = n > page->limit;
    return 0;
}

bool nm_manager_may_see(struct nm_manager *m, const struct nm_caller *who, const char *id)
{
    const struct nm_container *c = nm_lists_by_id(m, id);

    return c && nm_access_may_touch(who, c);
}

/* Uses the policy's sort keys, so that the positions shown are the order of starts. */
static bool queued_before(const struct nm_manager *m, const struct nm_policy_container *a,
                          const struct nm_policy_container *b)
{
    const struct nm_policy_input in = {.apps = m->apps.views, .n_apps = m->apps.n};
    uint64_t ka[3], kb[3];

    nm_queue_keys(&m->settings, &in, a, ka);
    nm_queue_keys(&m->settings, &in, b, kb);
    return ka[0] != kb[0] ? ka[0] < kb[0] : ka[1] < kb[1];
}

enum nm_reason nm_manager_queue_reason(struct nm_manager *m, const struct nm_container *c)
{
    const struct nm_live_container *l = c->view.owner;

    /* There is no reason in two cases. Either the container is newer than the last round, and the next round will
     * probably start it. Or the container's last start failed, so it does not wait because of the policy. */
    if (c->view.submitted_usec >= m->round.decided_usec || (l && l->retry_usec > m->round.decided_usec))
        return NM_REASON_NONE;
    return nm_policy_queue_reason(&m->round.verdict, &c->view);
}

/* Computes the position for each call, because stored positions would have to be updated with each change of the
 * queue. */
uint32_t nm_manager_queue_position(struct nm_manager *m, const struct nm_container *c)
{
    uint32_t position = 1;

    assert(c);
    if (c->view.state != NM_SCHEDULED || c->view.admitted)
        return 0;
    for (size_t i = 0; i < m->live.n; i++) {
        const struct nm_policy_container *v = m->live.views[i];

        if (v->state != NM_SCHEDULED || v->admitted || v == &c->view)
            continue;
        /* Guaranteed containers come first, then the queue's order applies. */
        if (v->type != c->view.type ? v->type == NM_GUARANTEED
                                    : queued_before(m, v, &c->view))
            position++;
    }
    return position;
}

/* Calls cb for decisions. Without an id, the list has decisions about the containers of all users, so only
 * administrators may call this function without an id. */
int nm_manager_foreach_decision(struct nm_manager *m, const struct nm_caller *who, const char *id,
                                uint64_t before, unsigned max, nm_manager_decision_cb_t cb,
                                void *userdata, struct nm_problem *ret_problem)
{
    const struct nm_container *c;
    int r;

    if (!id) {
        if (who && !who->admin)
            return nm_problem_set(ret_problem, NM_AGENT_E_FORBIDDEN, "decisions", "",
                                  "Only administrators may see the decisions about all containers; name one of your "
                                  "containers.");
        return nm_store_load_decisions(m->store, NULL, before, max, cb, userdata);
    }
    r = nm_manager_find(m, who, id, &c, ret_problem);
    return r != 0 ? r : nm_store_load_decisions(m->store, c->id, before, max, cb, userdata);
}

/* Opens output that the shim has captured. nmd may be root, so it must only open files in the container's log
 * directory. */
static int open_captured(const struct nm_manager *m, const char *id, const char *stream, uint64_t from,
                         struct nm_output_piece *ret)
{
    _cleanup_close_ int root = open(m->log_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), dir = -EBADF;

    assert(ret);
    if (root < 0)
        return -errno;
    dir = nm_open_beneath(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    return dir < 0 ? dir : nm_output_piece_open(dir, stream, from, ret);
}

static int open_times(const struct nm_manager *m, const char *id, const char *stream, int *ret_fd)
{
    _cleanup_close_ int root = open(m->log_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), dir = -EBADF;

    if (root < 0)
        return -errno;
    dir = nm_open_beneath(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    return dir < 0 ? dir : nm_output_times_open(dir, stream, ret_fd);
}

/* Opens a file in the log directory that the request for the container named. The container's user may write to this
 * directory, and perhaps to the directories above it, so links are refused. */
static int open_own(const struct nm_container *c, const char *stream, struct nm_output_piece *ret)
{
    _cleanup_close_ int dir = nm_open_no_links(c->log_dir, O_RDONLY | O_DIRECTORY);

    return dir < 0 ? dir : nm_output_own_open(dir, stream, c->command.uid, ret);
}

/* Opens a container's output. If the container has its own log directory and its command could not start, the error
 * message is only in the output that the shim has captured. */
static int open_log(const struct nm_manager *m, const struct nm_container *c, const char *stream, uint64_t from,
                    struct nm_output_piece *ret)
{
    int r = c->log_dir ? open_own(c, stream, ret) : -ENOENT;

    if (r != -ENOENT || (c->log_dir && c->view.state != NM_COMPLETED))
        return r;
    return open_captured(m, c->id, stream, from, ret);
}

int nm_manager_open_log(struct nm_manager *m, const struct nm_caller *who, const char *id, const char *stream,
                        uint64_t from, struct nm_output_piece *ret, struct nm_problem *ret_problem)
{
    const struct nm_container *c;
    int r = nm_manager_find(m, who, id, &c, ret_problem);

    if (r != 0)
        return r;
    if (!nm_streq(stream, "stdout") && !nm_streq(stream, "stderr"))
        return nm_problem_set(ret_problem, NM_AGENT_E_INVALID, "stream", stream,
                              "A log stream is 'stdout' or 'stderr'.");
    r = open_log(m, c, stream, from, ret);
    if (r == -ELOOP || r == -EXDEV || r == -EBADMSG || r == -ENOTDIR || r == -ENXIO || r == -EPERM)
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "stream", stream,
                              "The %s of container %s is no%s plain file that %s made; nmd does not read links and "
                              "other special files.",
                              stream, c->id, c->log_dir ? "" : " longer the",
                              c->log_dir ? "its user" : "nmd");
    return r;
}

int nm_manager_open_log_times(struct nm_manager *m, const struct nm_caller *who, const char *id, const char *stream,
                              int *ret_fd, struct nm_problem *ret_problem)
{
    const struct nm_container *c;
    int r = nm_manager_find(m, who, id, &c, ret_problem);

    assert(nm_streq(stream, "stdout") || nm_streq(stream, "stderr"));
    if (r != 0)
        return r;
    if (c->log_dir)
        return nm_problem_set(ret_problem, NM_AGENT_E_CONFLICT, "stream", stream,
                              "Container %s writes its %s itself, so the time of each line is not known.", c->id,
                              stream);
    return open_times(m, c->id, stream, ret_fd);
}

const struct nm_history *nm_manager_history(const struct nm_manager *m, uint64_t span_usec)
{
    return nm_saved_history_get(m, span_usec);
}

void nm_manager_foreach_ended_app(struct nm_manager *m, const struct nm_caller *who, nm_manager_app_cb_t cb,
                                  void *userdata)
{
    uint64_t since = nm_sub_u64(nm_realtime_usec(), NM_ENDED_APPS_USEC);

    for (unsigned i = 0; i < NM_ENDED_APPS; i++) {
        const struct nm_ended_app *e = nm_saved_history_ended_app(m->saved_history, i, since);

        if (e && (!who || who->admin || who->uid == e->submitter_uid))
            cb(e, userdata);
    }
}

/* ---- the configuration ----------------------------------------------------------------------- */

json_t *nm_manager_config_to_json(const struct nm_manager *m)
{
    const struct nm_registered_upstream *u = m->owners.upstream;
    struct nm_config_note notes[NM_SETTINGS_NOTES_MAX];
    size_t n = nm_settings_notes(m->config, &m->sampled.node, m->backend, &m->settings, &m->tasks, notes);
    json_t *all = nm_config_to_json(m->config, notes, n), *more;

    if (!all || !u->ops || !u->ops->config)
        return all;
    more = u->ops->config(u->userdata);
    if (json_array_extend(all, more) < 0) {
        json_decref(all);
        all = NULL;
    }
    json_decref(more);
    return all;
}

const struct nm_config *nm_manager_config(const struct nm_manager *m)
{
    return m->config;
}
