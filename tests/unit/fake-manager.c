/* SPDX-License-Identifier: Apache-2.0 */

#include "fake-manager.h"

#include "agent/launch/output-read.h"
#include "agent/problem.h"
#include "rpc/local/messages.h"
#include "util/clock.h"

const uint64_t nm_histogram_bounds_usec[NM_HISTOGRAM_BUCKETS] = {
    1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000, 5000000, 30000000,
};

const char *nm_node_state_name(enum nm_node_state s)
{
    static const char *const names[] = {"running", "draining", "shadow"};

    return names[s];
}

struct nm_subscription {
    struct nm_manager *m;
};

struct nm_manager *fake_manager_new(void)
{
    struct nm_manager *m = calloc(1, sizeof *m);

    m->client_fd = -EBADF;
    m->status.healthy = true;
    m->status.capacity = (struct nm_resources){8 * UINT64_C(1073741824), 4000};
    m->status.capacity_vcores_milli = 4000;
    m->status.utilization = (struct nm_fractions){0.25, 0.5};
    m->status.settings.over_allocation_threshold = (struct nm_fractions){0.8, 0.8};
    m->status.settings.preemption_threshold = (struct nm_fractions){0.95, 0.95};
    m->status.settings.queue_max_length = 10;
    m->status.squeeze_millicores = NM_NO_SQUEEZE;
    m->status.sample_period_usec = 3000000;
    if (nm_history_new(600 * NM_USEC_PER_SEC, &m->history) < 0 ||
        nm_config_new_defaults(&m->config) < 0)
        abort();
    return m;
}

struct nm_manager *fake_manager_free(struct nm_manager *m)
{
    for (size_t i = 0; i < m->n_containers; i++)
        nm_container_free(m->containers[i]);
    free(m->containers);
    nm_history_free(m->history);
    nm_config_free(m->config);
    json_decref(m->details);
    json_decref(m->placement);
    json_decref(m->of_upstream);
    free(m);
    return NULL;
}

struct nm_container *fake_manager_add(struct nm_manager *m, const char *name, uid_t uid)
{
    struct nm_container *c, **all = reallocarray(m->containers, m->n_containers + 1, sizeof *all);

    if (all)
        m->containers = all;
    if (!all || nm_container_new(&c) < 0)
        return NULL;
    m->containers[m->n_containers++] = c;
    (void)snprintf(c->id, sizeof c->id, "container_1_%06zu", m->n_containers);
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    strcpy(c->owner, "local");
    c->submitter_uid = uid;
    c->view.seq = m->n_containers;
    c->view.state = NM_RUNNING;
    c->view.request.memory_bytes = 64 * NM_MIB;
    c->vcores_milli = 500;
    c->view.request.cpu_millicores = 250; /* as on a node with twice as many vcores as CPUs */
    c->submitted_realtime_usec = nm_realtime_usec();
    return c;
}

/* ---- events ------------------------------------------------------------------------------- */

static void emit(struct nm_manager *m, const struct nm_event *e)
{
    struct nm_event_record *r = &m->ring[e->number % FAKE_RING];

    *r = (struct nm_event_record){.number = e->number,
                                  .realtime_usec = e->realtime_usec,
                                  .kind = e->kind,
                                  .from = e->from,
                                  .to = e->to};
    if (e->container) {
        memcpy(r->container_id, e->container->id, sizeof r->container_id);
        memcpy(r->container_name, e->container->name, sizeof r->container_name);
        r->submitter_uid = e->container->submitter_uid;
    }
    (void)snprintf(r->text, sizeof r->text, "%s", e->text ? e->text : "");
    if (m->cb)
        m->cb(e, m->cb_userdata);
}

void fake_manager_set_state(struct nm_manager *m, struct nm_container *c, enum nm_state to)
{
    struct nm_event e = {.number = ++m->last_event,
                         .realtime_usec = nm_realtime_usec(),
                         .kind = NM_EVENT_STATE,
                         .container = c,
                         .from = c->view.state,
                         .to = to};

    c->view.state = to;
    if (to == NM_COMPLETED) {
        c->exit_reason = NM_EXIT_EXITED;
        c->finished_realtime_usec = nm_realtime_usec();
    }
    emit(m, &e);
}

void fake_manager_note(struct nm_manager *m, const char *text)
{
    struct nm_event e = {.number = ++m->last_event,
                         .realtime_usec = nm_realtime_usec(),
                         .kind = NM_EVENT_NODE,
                         .text = text};

    emit(m, &e);
}

int nm_manager_subscribe(struct nm_manager *m, nm_event_cb_t cb, void *userdata,
                         struct nm_subscription **ret)
{
    struct nm_subscription *s = malloc(sizeof *s);

    if (!s)
        return -ENOMEM;
    s->m = m;
    m->cb = cb;
    m->cb_userdata = userdata;
    *ret = s;
    return 0;
}

struct nm_subscription *nm_subscription_free(struct nm_subscription *s)
{
    if (s)
        s->m->cb = NULL;
    free(s);
    return NULL;
}

void nm_manager_foreach_event(struct nm_manager *m, const struct nm_caller *who, uint64_t after,
                              nm_manager_event_cb_t cb, void *userdata)
{
    uint64_t first = m->last_event > FAKE_RING ? m->last_event - FAKE_RING + 1 : 1;

    for (uint64_t n = NM_MAX(first, after + 1); n <= m->last_event; n++) {
        const struct nm_event_record *r = &m->ring[n % FAKE_RING];
        if (who->admin || r->kind == NM_EVENT_NODE || r->submitter_uid == who->uid)
            cb(r, userdata);
    }
}

/* ---- queries ------------------------------------------------------------------------------ */

static bool may(const struct nm_caller *who, const struct nm_container *c)
{
    return who->admin || c->submitter_uid == who->uid;
}

void nm_manager_get_status(struct nm_manager *m, struct nm_status *ret)
{
    *ret = m->status;
}

void nm_manager_get_summary(struct nm_manager *m, struct nm_status *ret)
{
    *ret = m->status;
}

int nm_manager_foreach(struct nm_manager *m, const struct nm_caller *who, const struct nm_page *page,
                       nm_manager_container_cb_t cb, void *userdata, bool *ret_more)
{
    _cleanup_free_ void *sorted = malloc(1); /* the real function allocates memory, too */
    unsigned n = 0;
    uint64_t until = nm_now_usec() + m->slow_usec;

    if (!sorted)
        return -ENOMEM;
    m->caller = *who;
    m->n_listed++;
    while (m->slow_usec > 0 && nm_now_usec() < until)
        ;
    *ret_more = false;
    for (size_t i = page->after; i < m->n_containers; i++) {
        if (!may(who, m->containers[i]) ||
            (!page->all && m->containers[i]->view.state == NM_COMPLETED))
            continue;
        if (n++ == page->limit) {
            *ret_more = true;
            break;
        }
        cb(m->containers[i], userdata);
    }
    return 0;
}

bool nm_manager_may_see(struct nm_manager *m, const struct nm_caller *who, const char *id)
{
    for (size_t i = 0; i < m->n_containers; i++)
        if (nm_streq(m->containers[i]->id, id))
            return may(who, m->containers[i]);
    return false;
}

int nm_manager_find(struct nm_manager *m, const struct nm_caller *who, const char *id,
                    const struct nm_container **ret, struct nm_problem *p)
{
    for (size_t i = 0; i < m->n_containers; i++) {
        struct nm_container *c = m->containers[i];
        if (may(who, c) && (nm_streq(c->id, id) || nm_streq(c->name, id))) {
            *ret = c;
            return 0;
        }
    }
    return nm_messages_problem(p, NM_AGENT_E_NOT_FOUND, "id", id, "There is no container %s.", id);
}

uint32_t nm_manager_queue_position(struct nm_manager *m, const struct nm_container *c)
{
    (void)m;
    return c->view.state == NM_SCHEDULED ? 1 : 0;
}

enum nm_reason nm_manager_queue_reason(struct nm_manager *m, const struct nm_container *c)
{
    if (c->view.state != NM_SCHEDULED)
        return NM_REASON_NONE;
    return nm_streq(c->id, m->status.queue_head_id) ? m->status.queue_reason : NM_REASON_BEHIND_OTHERS;
}

int nm_manager_foreach_decision(struct nm_manager *m, const struct nm_caller *who, const char *id,
                                uint64_t before, unsigned max, nm_manager_decision_cb_t cb,
                                void *userdata, struct nm_problem *p)
{
    const struct nm_container *c;
    int r = id ? nm_manager_find(m, who, id, &c, p) : 0;

    if (r != 0)
        return r;
    for (size_t i = m->n_decisions - NM_MIN(m->n_decisions, (size_t)max); i < m->n_decisions; i++)
        if ((!id || nm_streq(m->decisions[i].container_id, c->id)) && m->decisions[i].number < before)
            cb(&m->decisions[i], userdata);
    return 0;
}

/* Opens the file "ID.STREAM". All logs are in one directory here. */
int nm_manager_open_log(struct nm_manager *m, const struct nm_caller *who, const char *id, const char *stream,
                        uint64_t from, struct nm_output_piece *ret, struct nm_problem *p)
{
    const struct nm_container *c;
    _cleanup_close_ int dir_fd = -EBADF;
    char name[NM_ID_SIZE + 16];
    int r = nm_manager_find(m, who, id, &c, p);

    if (r != 0)
        return r;
    if (m->log_is_strange)
        return nm_messages_problem(p, NM_AGENT_E_CONFLICT, "stream", stream, "It is not read.");
    (void)snprintf(name, sizeof name, "%s.%s", c->id, stream);
    dir_fd = open(m->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -errno : nm_output_piece_open(dir_fd, name, from, ret);
}

int nm_manager_open_log_times(struct nm_manager *m, const struct nm_caller *who, const char *id, const char *stream,
                              int *ret_fd, struct nm_problem *p)
{
    const struct nm_container *c;
    char path[256];
    int r = nm_manager_find(m, who, id, &c, p);

    if (r != 0)
        return r;
    if (m->times_are_strange)
        return nm_messages_problem(p, NM_AGENT_E_CONFLICT, "stream", stream, "It has no times.");
    (void)snprintf(path, sizeof path, "%s/%s.%s.times", m->log_dir, c->id, stream);
    r = open(path, O_RDONLY | O_CLOEXEC);
    if (r < 0)
        return -errno;
    *ret_fd = r;
    return 0;
}

/* Returns the same history for every span. */
const struct nm_history *nm_manager_history(const struct nm_manager *m, uint64_t span_usec)
{
    (void)span_usec;
    return m->history;
}

void nm_manager_foreach_ended_app(struct nm_manager *m, const struct nm_caller *who, nm_manager_app_cb_t cb,
                                  void *userdata)
{
    if (m->ended_app.name[0] && (who->admin || who->uid == m->ended_app.submitter_uid))
        cb(&m->ended_app, userdata);
}

json_t *nm_manager_config_to_json(const struct nm_manager *m)
{
    return nm_config_to_json(m->config, NULL, 0);
}

json_t *nm_manager_upstream_details(struct nm_manager *m, const struct nm_caller *who, bool with_users)
{
    m->details_with_users = with_users;
    return m->details && who->admin ? json_deep_copy(m->details) : json_object();
}

void nm_manager_write_upstream_metrics(struct nm_manager *m, const struct nm_metric_writer *w)
{
    if (!m->details)
        return;
    w->family(w->to, "nm_details", NM_METRIC_GAUGE, "Members of its own.");
    w->sample(w->to, "nm_details", NULL, (double)json_object_size(m->details));
}

void nm_manager_get_upstream(struct nm_manager *m, struct nm_upstream *ret)
{
    (void)m;
    *ret = (struct nm_upstream){.kind = "yarn", .state = "running", .node = "node.of.the.cluster:8041"};
}

int nm_manager_query_upstream(struct nm_manager *m, const struct nm_upstream_query *q, json_t **ret,
                              struct nm_problem *ret_problem)
{
    json_t *answer = json_object_get(m->of_upstream, q->path);

    if (m->placement && q->who->admin && nm_streq(q->path, "/v1/placements/{id}") &&
        nm_streq(json_string_value(json_object_get(m->placement, "container_id")), q->id))
        answer = m->placement;
    (void)snprintf(m->last_query, sizeof m->last_query, "%s %s %s %s %d", q->path, q->id ?: "-", q->state ?: "-",
                   q->user ?: "-", q->with_users);
    if (!answer)
        return nm_problem_set(ret_problem, NM_AGENT_E_NOT_FOUND, "path", q->path, "nothing at %s", q->path);
    *ret = json_incref(answer);
    return 0;
}

int nm_manager_query_upstream_page(struct nm_manager *m, const struct nm_upstream_query *q,
                                   struct nm_upstream_page *ret, struct nm_problem *ret_problem)
{
    (void)snprintf(m->last_query, sizeof m->last_query, "%s %s %s %s %s %d", q->path, q->id ?: "-", q->owner ?: "-",
                   q->file ?: "-", q->parameter(q->request, "size") ?: "-", q->with_users);
    if (!m->page)
        return nm_problem_set(ret_problem, NM_AGENT_E_NOT_FOUND, "path", q->path, "nothing at %s", q->path);
    return m->page(q, ret);
}

const struct nm_config *nm_manager_config(const struct nm_manager *m)
{
    return m->config;
}

/* ---- requests ----------------------------------------------------------------------------- */

static int record(struct nm_manager *m, const struct nm_caller *who, const char *id,
                  struct nm_problem *p)
{
    m->caller = *who;
    (void)snprintf(m->last_id, sizeof m->last_id, "%s", id);
    if (m->refusal.outcome != 0)
        *p = m->refusal;
    return (int)m->refusal.outcome;
}

static int record_done(struct nm_manager *m, const struct nm_caller *who, const char *id, struct nm_problem *p)
{
    int r = record(m, who, id, p);

    m->n_done += r == 0;
    return r;
}

int nm_manager_submit(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                      const struct nm_container **ret, struct nm_problem *p)
{
    struct nm_container *c;
    int r = record(m, who, s->name ? s->name : "", p);

    m->had_input = s->input_fd > 0;
    m->rows = s->rows;
    m->columns = s->columns;
    if (r != 0)
        return r;
    c = fake_manager_add(m, s->name ? s->name : "", who->uid);
    if (!c)
        return -ENOMEM;
    m->n_done++;
    c->view.type = s->type;
    c->view.request.memory_bytes = s->memory_bytes;
    c->vcores_milli = s->vcores_milli;
    c->command.argv = nm_strv_pack(s->argv, 1);
    *ret = c;
    return 0;
}

/* Finds the container that has the name of s, unless this container is COMPLETED. */
int nm_manager_replace_begin(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                             char ret_id[NM_ID_SIZE], struct nm_problem *p)
{
    int r = record(m, who, s->name ? s->name : "", p);

    ret_id[0] = '\0';
    for (size_t i = 0; r == 0 && i < m->n_containers; i++)
        if (s->name && nm_streq(m->containers[i]->name, s->name) && m->containers[i]->view.state != NM_COMPLETED)
            memcpy(ret_id, m->containers[i]->id, NM_ID_SIZE);
    return r;
}

int nm_manager_pause(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_problem *p)
{
    return record_done(m, who, id, p);
}

int nm_manager_resume(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *p)
{
    return record_done(m, who, id, p);
}

int nm_manager_promote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       struct nm_problem *p)
{
    return record_done(m, who, id, p);
}

int nm_manager_demote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *p)
{
    return record_done(m, who, id, p);
}

int nm_manager_kill(struct nm_manager *m, const struct nm_caller *who, const char *id, bool now,
                    struct nm_problem *p)
{
    m->last_now = now;
    return record_done(m, who, id, p);
}

int nm_manager_remove(struct nm_manager *m, const struct nm_caller *who, const char *id, struct nm_problem *p)
{
    return record_done(m, who, id, p);
}

int nm_manager_exec(struct nm_manager *m, const struct nm_caller *who, const char *id, const struct nm_exec *e,
                    int client_fd, uint64_t *ret_number, struct nm_problem *p)
{
    int r = record(m, who, id, p);

    if (r != 0)
        return r;
    (void)snprintf(m->exec_words, sizeof m->exec_words, "%s %s %d %ux%u", e->argv[0], e->env ? e->env[0] : "-",
                   e->input, e->rows, e->columns);
    m->client_fd = dup(client_fd);
    *ret_number = 7;
    return 0;
}

/* Sends immediately the message that the command has exited with status 3. */
void nm_manager_exec_begin(struct nm_manager *m, uint64_t number)
{
    const char end[] = {'X', 0, 0, 4, 0, 3, 0, 0};

    if (number == 7 && m->client_fd >= 0)
        (void)!write(m->client_fd, end, sizeof end);
    m->client_fd = nm_close(m->client_fd);
}

void nm_manager_exec_drop(struct nm_manager *m, uint64_t number)
{
    if (number == 7)
        m->client_fd = nm_close(m->client_fd);
}

int nm_manager_update(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      uint64_t memory_bytes, uint32_t vcores_milli, struct nm_problem *p)
{
    m->last_u64 = memory_bytes;
    m->last_u32 = vcores_milli;
    return record_done(m, who, id, p);
}

int nm_manager_drain(struct nm_manager *m, const struct nm_caller *who, const struct nm_drain_order *order,
                     struct nm_problem *p)
{
    m->last_u64 = order->deadline_usec;
    m->last_now = order->kill_opportunistic;
    m->last_until_restart = order->until_restart;
    return record_done(m, who, "drain", p);
}

int nm_manager_undrain(struct nm_manager *m, const struct nm_caller *who, struct nm_problem *p)
{
    return record_done(m, who, "undrain", p);
}

int nm_manager_close_breaker(struct nm_manager *m, const struct nm_caller *who,
                             struct nm_problem *p)
{
    return record_done(m, who, "close-breaker", p);
}

int nm_manager_reload(struct nm_manager *m, struct nm_problem *p)
{
    return record_done(m, &m->caller, "reload", p);
}
