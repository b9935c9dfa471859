/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See sim-node.h. This file has the life cycle of simulated containers, and the order within one step.
 *
 * The states are those of nmd, and views are filled in as nmd's manager does, because the policy uses no other data of
 * containers. A temporary state (launch, freeze, thaw, death) has the time of its end in change_usec. For a running
 * container, change_usec is the time of the next point of its curve. Other states last until the policy acts.
 */

#include "sim/sim-node.h"

#include <assert.h>

#include "agent/config/settings.h"

#define NEVER UINT64_MAX
#define STEP_MAX_USEC (100 * NM_USEC_PER_MSEC)
#define STEPS_PER_PERIOD 10
/* Pages are read back by one page fault after the other, with little read-ahead. This is much slower than a sequential
 * read. */
#define SWAP_IN_PER_SEC (100 * NM_MIB)
/* Pages are written in batches. The policy also gets this rate as input, because a replay doesn't measure it. */
#define SWAP_OUT_PER_SEC (200 * NM_MIB)
#define COLD_PART 2 /* one in COLD_PART pages that are taken from a running container is not needed again */

/* ---- birth and death ----------------------------------------------------- */

/* Computes the settings as nmd does, for the trace's node. The settings need only the kernel features of a backend, so
 * no backend exists here. */
static int resolve(struct nm_sim_node *w, const struct nm_config *c, char **ret_message)
{
    const struct nm_trace_header *h = &w->load->header;
    struct nm_cgroup_backend backend = {.slice_fd = -EBADF};
    struct nm_node_sample node = {
        .memory_total_bytes = h->memory_bytes,
        .n_cpus = h->n_cpus,
        .swap_total_bytes = h->swap_bytes,
    };

    memcpy(backend.feature, h->feature, sizeof backend.feature);
    return nm_config_policy_settings(c, &node, &backend, &w->settings, ret_message);
}

static uint64_t longest_run(const struct nm_workload *load)
{
    uint64_t longest = 0;

    for (size_t i = 0; i < load->n_jobs && load->jobs[i].present; i++)
        longest = NM_MAX(longest, load->jobs[i].ran_usec);
    return longest;
}

/* Converts a time of the workload to a time of the simulated clock. */
static uint64_t clock_of(const struct nm_sim_node *w, uint64_t t_usec)
{
    return nm_sim_node_on_grid(w, w->begin_usec + t_usec);
}

/* Makes room for one more container. Also enlarges the policy's workspace, so that a decision never allocates
 * memory. */
static int make_room(struct nm_sim_node *w)
{
    size_t size = NM_MAX(2 * w->live_size, (size_t)64);
    struct nm_policy_container **views;
    struct nm_cpu_claim *claims;
    uint64_t *change_usec;

    if (w->n_live < w->live_size)
        return 0;
    views = reallocarray(w->views, size, sizeof *views);
    if (!views)
        return -ENOMEM;
    w->views = views;
    change_usec = reallocarray(w->change_usec, size, sizeof *change_usec);
    if (!change_usec)
        return -ENOMEM;
    w->change_usec = change_usec;
    claims = reallocarray(w->claims, size, sizeof *claims);
    if (!claims)
        return -ENOMEM;
    w->claims = claims;
    w->live_size = size;
    return nm_policy_reserve(w->policy, size, w->load->n_apps);
}

static int allocate_arrays(struct nm_sim_node *w)
{
    const struct nm_workload *load = w->load;
    int r;

    w->all = calloc(load->n_jobs + 1, sizeof *w->all);
    w->apps = calloc(load->n_apps + 1, sizeof *w->apps);
    if (!w->all || !w->apps)
        return -ENOMEM;
    for (size_t i = 0; i < load->n_jobs; i++) {
        struct nm_sim_container *c = &w->all[i];
        const struct nm_sim_job *job = &load->jobs[i];

        c->job = job;
        c->view = (struct nm_policy_container){
            .seq = i + 1,
            .type = job->type,
            .state = NM_NEW,
            .exempt = job->exempt,
            .cpu_is_share = job->cpu_is_share,
            .request = job->request,
            .pause_deadline_usec = NEVER,
            .min_runtime_usec = job->min_runtime_usec,
            .expected_usec = job->expected_usec,
            .app = job->app,
            .owner = c,
        };
    }
    /* each replay begins with an empty policy, without the kills or the breaker that nmd had before the trace */
    r = nm_policy_new(&w->policy);
    return r < 0 ? r : make_room(w);
}

int nm_sim_node_new(const struct nm_workload *load, const struct nm_config *c, struct nm_sim_node **ret,
                    char **ret_message)
{
    _cleanup_(nm_sim_node_freep) struct nm_sim_node *w = calloc(1, sizeof *w);
    int r;

    *ret_message = NULL;
    if (!w)
        return -ENOMEM;
    w->load = load;
    r = resolve(w, c, ret_message);
    if (r >= 0)
        r = allocate_arrays(w);
    if (r < 0)
        return r;
    w->period_usec = c->period_usec;
    w->step_usec = NM_MIN(c->period_usec / STEPS_PER_PERIOD, STEP_MAX_USEC);
    w->growth_probe = c->growth_probe;
    w->speed = 1;
    w->interference = load->interference;
    /* The clock doesn't begin at 0, because some containers were started before the trace. */
    w->begin_usec = w->now_usec = longest_run(load) + NM_USEC_PER_SEC * 3600;
    w->end_usec = w->begin_usec + load->duration_usec;
    w->next_sample_usec = clock_of(w, load->first_sample_usec % w->period_usec);
    w->wake_usec = w->first_change_usec = NEVER;
    w->squeeze_millicores = NM_NO_SQUEEZE;
    w->system = load->system.points[0];
    *ret = STEAL_PTR(w);
    return 0;
}

struct nm_sim_node *nm_sim_node_free(struct nm_sim_node *w)
{
    if (!w)
        return NULL;
    nm_policy_free(w->policy);
    free(w->all);
    free(w->views);
    free(w->change_usec);
    free(w->claims);
    free(w->apps);
    free(w);
    return NULL;
}

/* ---- states -------------------------------------------------------------- */

static void set_state(struct nm_sim_node *w, struct nm_sim_container *c, enum nm_state to)
{
    c->view.state = to;
    c->view.state_usec = w->now_usec;
    c->view.state_samples = 0;
}

/* Begins a temporary state. Memory is constant during this state: a process that is being frozen or killed keeps its
 * pages. For this reason the policy waits for samples after a kill (settling). */
static void pass_through(struct nm_sim_node *w, struct nm_sim_container *c, enum nm_state to)
{
    nm_sim_node_settle_one(w, c);
    nm_sim_node_set_use(w, c, c->memory_bytes, 0);
    set_state(w, c, to);
    nm_sim_node_set_change(w, c, w->now_usec + w->step_usec);
}

/* Removes memory that the container has freed from swap, too. */
static void trim_swap(struct nm_sim_node *w, struct nm_sim_container *c, uint64_t needs_bytes)
{
    uint64_t gone = nm_sub_u64(c->cold_bytes, needs_bytes);

    assert(c->cold_bytes <= c->swapped_bytes && c->swapped_bytes <= w->swapped_bytes);
    c->cold_bytes -= gone;
    c->swapped_bytes -= gone;
    w->swapped_bytes -= gone;
}

/* Advances in the curve from its current point. Progress never decreases, so the cursor never decreases either. */
static void follow_curve(struct nm_sim_node *w, struct nm_sim_container *c)
{
    const struct nm_curve *curve = &c->job->curve;
    const struct nm_use *u;

    while (c->cursor + 1 < curve->n && curve->points[c->cursor + 1].at_usec <= c->progress_usec)
        c->cursor++;
    u = &curve->points[c->cursor];
    if (w->settings.memory_limits && u->memory_bytes > c->view.request.memory_bytes) {
        c->at_limit = true; /* memory.oom.group kills the whole container */
        pass_through(w, c, NM_KILLING);
        return;
    }
    trim_swap(w, c, u->memory_bytes);
    nm_sim_node_set_use(w, c, u->memory_bytes - c->cold_bytes, u->cpu_millicores);
    nm_sim_node_schedule(w, c);
}

/* Reads one step's amount of memory back from swap. */
static void swap_in(struct nm_sim_node *w, struct nm_sim_container *c)
{
    uint64_t bytes = NM_MIN(c->swapped_bytes - c->cold_bytes, SWAP_IN_PER_SEC * w->step_usec / NM_USEC_PER_SEC);

    assert(c->view.state == NM_RUNNING && c->swapped_bytes > c->cold_bytes);
    c->swapping_in_usec += w->step_usec;
    c->swapped_bytes -= bytes;
    w->swapped_bytes -= bytes;
    nm_sim_node_set_use(w, c, c->memory_bytes + bytes, 0);
    if (c->swapped_bytes > c->cold_bytes)
        nm_sim_node_set_change(w, c, w->now_usec + w->step_usec);
    else
        follow_curve(w, c);
}

/* Starts running after a start or a thaw. All memory in swap is needed immediately. */
static void begin_running(struct nm_sim_node *w, struct nm_sim_container *c)
{
    set_state(w, c, NM_RUNNING);
    c->settled_usec = w->now_usec;
    if (c->running_usec == 0) {
        c->running_usec = w->now_usec;
        c->sampled_usec = w->now_usec;
    }
    if (c->swapped_bytes > c->cold_bytes)
        nm_sim_node_set_change(w, c, w->now_usec + w->step_usec);
    else
        follow_curve(w, c);
}

static void leave(struct nm_sim_node *w, struct nm_sim_container *c, enum nm_sim_end end)
{
    size_t i = c->slot;
    struct nm_policy_app *app = &w->apps[c->view.app];

    assert(i < w->n_live && w->views[i] == &c->view);
    assert(w->swapped_bytes >= c->swapped_bytes && app->running > 0);
    nm_sim_node_settle_one(w, c);
    nm_sim_node_set_use(w, c, 0, 0);
    w->swapped_bytes -= c->swapped_bytes;
    c->swapped_bytes = 0;
    if (c->view.paused_usec > 0) /* the container ended during a pause, so no resume has added the pause to the total */
        c->paused_total_usec += w->now_usec - c->view.paused_usec;
    c->end = end;
    c->ended_usec = w->now_usec;
    app->running--;
    app->completed++;
    set_state(w, c, NM_COMPLETED);
    /* Preserve the order of arrival, which oom_victim() uses for containers that started at the same time. */
    w->n_live--;
    memmove(&w->views[i], &w->views[i + 1], (w->n_live - i) * sizeof *w->views);
    memmove(&w->change_usec[i], &w->change_usec[i + 1], (w->n_live - i) * sizeof *w->change_usec);
    for (; i < w->n_live; i++)
        nm_sim_container_of(w->views[i])->slot = i;
    w->changed = true;
}

/* Executes a container's event. Returns whether the container still exists. */
static bool process_event(struct nm_sim_node *w, struct nm_sim_container *c)
{
    struct nm_policy_container *v = &c->view;

    switch (v->state) {
    case NM_SCHEDULED:
        begin_running(w, c);
        return true;
    case NM_RUNNING:
        nm_sim_node_settle_one(w, c);
        if (c->swapped_bytes > c->cold_bytes) {
            swap_in(w, c);
            return true;
        }
        if (c->progress_usec >= c->job->run_usec) {
            leave(w, c, NM_SIM_DONE);
            return false;
        }
        follow_curve(w, c);
        return true;
    case NM_PAUSING:
        set_state(w, c, NM_PAUSED);
        nm_sim_node_set_change(w, c, NEVER);
        w->changed = true;
        return true;
    case NM_RESUMING:
        /* state_usec is the start of the current state; the pause began earlier, when it was decided */
        c->paused_total_usec += w->now_usec - v->paused_usec;
        v->pause_deadline_usec = NEVER;
        v->paused_usec = 0;
        begin_running(w, c);
        w->changed = true;
        return true;
    case NM_KILLING:
        leave(w, c, c->at_limit                        ? NM_SIM_LIMIT
                    : c->killed_for == NM_REASON_NONE ? NM_SIM_OOM
                                                      : NM_SIM_PREEMPTED);
        return false;
    default:
        nm_sim_node_set_change(w, c, NEVER);
        return true;
    }
}

/* ---- arrivals and changes ------------------------------------------------ */

static bool is_refused(const struct nm_sim_node *w, const struct nm_policy_container *v)
{
    /* nm_policy_queue_takes() is only for containers that would wait in the queue */
    return nm_policy_check_request(&w->settings, w->views, w->n_live, v->type, &v->request, v->cpu_is_share, NULL) !=
               NM_REASON_NONE ||
           (v->type == NM_OPPORTUNISTIC &&
            !nm_policy_queue_takes(w->policy, &w->settings, w->views, w->n_live, &v->request, v->expected_usec,
                                   w->now_usec));
}

static int arrive(struct nm_sim_node *w, struct nm_sim_container *c)
{
    const struct nm_sim_job *job = c->job;
    int r;

    /* A job that was running at the start of the trace was accepted before. A second check could refuse it. */
    if (!job->present && is_refused(w, &c->view)) {
        c->end = NM_SIM_REFUSED;
        c->ended_usec = w->now_usec;
        set_state(w, c, NM_COMPLETED);
        return 0;
    }
    r = make_room(w);
    if (r < 0)
        return r;
    c->slot = w->n_live;
    w->change_usec[w->n_live] = NEVER; /* the container has no event until the policy admits it */
    w->views[w->n_live++] = &c->view;
    c->view.submitted_usec = c->settled_usec = w->now_usec;
    w->changed = true;
    set_state(w, c, NM_SCHEDULED);
    if (!job->present) {
        w->apps[job->app].queued++;
        return 0;
    }
    /* A job that was paused when the recording began starts as running, because the policy makes its own decisions
     * about pauses. */
    w->apps[job->app].running++;
    c->view.admitted = true;
    c->view.started_usec = w->now_usec - job->ran_usec;
    begin_running(w, c);
    /* the container counts as already measured for long enough */
    c->view.measured = (struct nm_resources){c->memory_bytes, c->wanted};
    c->view.n_samples = w->settings.warmup_samples;
    return 0;
}

/* Executes a change that a user requested in the recording. In the replay the container may already be done, or the
 * node may have no room. In these cases the change is refused, as nmd would do, and the container is unchanged. */
static void apply_change(struct nm_sim_node *w, const struct nm_sim_job_change *change)
{
    struct nm_sim_container *c = &w->all[change->job];
    struct nm_policy_container *v = &c->view;

    if (v->state < NM_SCHEDULED || v->state > NM_RESUMING ||
        nm_policy_check_request(&w->settings, w->views, w->n_live, change->type,
                                &change->request, v->cpu_is_share, v) != NM_REASON_NONE) {
        w->ignored_changes++;
        return;
    }
    /* move the container's demand from one type's sum to the other's */
    w->wanted[v->type] -= c->wanted;
    v->type = change->type;
    v->request = change->request;
    w->wanted[v->type] += c->wanted;
    w->stale_shares = w->changed = true;
}

static int process_arrivals(struct nm_sim_node *w)
{
    const struct nm_workload *load = w->load;
    uint64_t t = w->now_usec - w->begin_usec;
    int r = 0;

    while (r >= 0 && w->next_job < load->n_jobs && load->jobs[w->next_job].submit_usec <= t)
        r = arrive(w, &w->all[w->next_job++]);
    while (w->next_change < load->n_changes && load->changes[w->next_change].at_usec <= t)
        apply_change(w, &load->changes[w->next_change++]);
    return r;
}

static void follow_system(struct nm_sim_node *w)
{
    const struct nm_curve *curve = &w->load->system;
    uint64_t t = w->now_usec - w->begin_usec, cpu = w->system.cpu_millicores;

    while (w->next_system < curve->n && curve->points[w->next_system].at_usec <= t) {
        /* the system, like a container, may exceed the node's limit */
        if (curve->points[w->next_system].memory_bytes > w->system.memory_bytes)
            w->memory_grew = true;
        w->system = curve->points[w->next_system++];
    }
    if (w->system.cpu_millicores != cpu)
        w->stale_shares = true;
}

/* ---- the kernel ---------------------------------------------------------- */

/* Returns the OOM killer's victim. Because of nmd's oom_score_adj, the kernel first kills opportunistic containers. The
 * real kernel chooses the largest of them. The model chooses the container that was started last, which the default
 * victim order would also choose. */
static struct nm_sim_container *oom_victim(const struct nm_sim_node *w)
{
    struct nm_sim_container *victim = NULL;

    for (size_t i = 0; i < w->n_live; i++) {
        struct nm_sim_container *c = nm_sim_container_of(w->views[i]);
        bool better;

        if (c->memory_bytes == 0 || c->view.state == NM_KILLING)
            continue;
        if (!victim || c->view.type != victim->view.type)
            better = !victim || c->view.type == NM_OPPORTUNISTIC;
        else if (c->view.type == NM_OPPORTUNISTIC)
            better = c->view.started_usec >= victim->view.started_usec;
        else
            better = c->memory_bytes > victim->memory_bytes;
        if (better)
            victim = c;
    }
    return victim;
}

/* Kills containers above the limit. The limit changes only with the system's use, so the check is needed only after
 * growth. A container that is being killed doesn't count, because the kernel, too, waits for its victim before it
 * chooses another one. */
static void kill_over_limit(struct nm_sim_node *w)
{
    uint64_t excess, dying = 0;

    if (!w->memory_grew || !nm_sim_node_over_limit(w, &excess))
        return;
    for (size_t i = 0; i < w->n_live; i++)
        if (w->views[i]->state == NM_KILLING)
            dying += nm_sim_container_of(w->views[i])->memory_bytes;
    while (dying < excess) {
        struct nm_sim_container *c = oom_victim(w);

        if (!c)
            return; /* the system alone exceeds the limit */
        if (c->view.type == NM_GUARANTEED)
            w->guaranteed_oom++;
        w->kernel_kills++;
        dying += c->memory_bytes;
        c->killed_for = NM_REASON_NONE;
        pass_through(w, c, NM_KILLING);
    }
}

/* ---- time ---------------------------------------------------------------- */

uint64_t nm_sim_node_next(const struct nm_sim_node *w)
{
    const struct nm_workload *load = w->load;
    uint64_t next = NM_MIN(w->next_sample_usec, w->wake_usec);

    if (w->next_job < load->n_jobs)
        next = NM_MIN(next, clock_of(w, load->jobs[w->next_job].submit_usec));
    if (w->next_change < load->n_changes)
        next = NM_MIN(next, clock_of(w, load->changes[w->next_change].at_usec));
    if (w->next_system < load->system.n)
        next = NM_MIN(next, clock_of(w, load->system.points[w->next_system].at_usec));
    next = NM_MIN(next, w->first_change_usec);
    next = NM_MAX(next, w->now_usec);
    return NM_MIN(next, w->end_usec);
}

static void fill_input(struct nm_sim_node *w, enum nm_policy_trigger trigger)
{
    w->input = (struct nm_policy_input){
        .trigger = trigger,
        .now_usec = w->now_usec,
        .node = w->node,
        .reclaim_bytes_per_sec = SWAP_OUT_PER_SEC,
        .views = w->views,
        .n_views = w->n_live,
        .apps = w->apps,
        .n_apps = w->load->n_apps,
        .kernel_kills = w->kernel_kills,
        .shed_to = UINT32_MAX,
        .shed_limited_to = UINT32_MAX,
    };
    w->kernel_kills = 0;
}

static void process_events(struct nm_sim_node *w)
{
    uint64_t first = NEVER;

    /* a container that ends is removed from the array, so i isn't advanced */
    for (size_t i = 0; i < w->n_live;)
        i += w->change_usec[i] > w->now_usec || process_event(w, nm_sim_container_of(w->views[i]));
    for (size_t i = 0; i < w->n_live; i++)
        first = NM_MIN(first, w->change_usec[i]);
    w->first_change_usec = first;
}

/* Advances one step. Ended containers are handled before arrivals, because they make room. The kernel kills after the
 * new demand of all containers is known, and before the CPU is divided, because containers that are being killed want
 * no CPU. A sample is taken last, so that it contains all changes. */
int nm_sim_node_advance(struct nm_sim_node *w, uint64_t to_usec)
{
    int r;

    assert(to_usec >= w->now_usec);
    w->now_usec = to_usec;
    follow_system(w);
    if (to_usec >= w->first_change_usec)
        process_events(w);
    r = process_arrivals(w);
    if (r < 0)
        return r;
    kill_over_limit(w);
    nm_sim_node_share_cpu(w);
    if (to_usec >= w->next_sample_usec) {
        w->next_sample_usec += w->period_usec;
        nm_sim_node_sample(w);
        fill_input(w, NM_TRIGGER_SAMPLE);
        /* an extra sample doesn't change the times of periodic samples; nmd gets kills from memory.events */
    } else if (w->kernel_kills > 0 || nm_sim_node_needs_sample(w)) {
        nm_sim_node_sample(w);
        fill_input(w, NM_TRIGGER_PRESSURE);
    } else if (w->changed || to_usec >= w->wake_usec) {
        fill_input(w, NM_TRIGGER_CHANGE);
    } else {
        w->memory_grew = false;
        return 0;
    }
    w->memory_grew = w->changed = false;
    w->wake_usec = NEVER;
    return 1;
}

/* ---- actions ------------------------------------------------------------- */

static void admit(struct nm_sim_node *w, struct nm_sim_container *c)
{
    assert(c->view.state == NM_SCHEDULED && !c->view.admitted && w->apps[c->view.app].queued > 0);
    c->view.admitted = true;
    c->view.started_usec = w->now_usec;
    w->apps[c->view.app].queued--;
    w->apps[c->view.app].running++;
    nm_sim_node_set_change(w, c, w->now_usec + w->step_usec);
}

/* Pauses a container. Stores its last CPU use, which the policy needs to find room for a resume. */
static void pause_container(struct nm_sim_node *w, struct nm_sim_container *c)
{
    struct nm_policy_container *v = &c->view;

    v->paused_usec = w->now_usec;
    v->pause_deadline_usec = w->now_usec + w->settings.pause_deadline_usec;
    v->last_cpu_millicores = v->measured.cpu_millicores;
    v->reclaimed = false;
    pass_through(w, c, NM_PAUSING);
}

/* Reclaims memory immediately. The real kernel needs some time, so the policy never sees `reclaiming` here. Memory that
 * doesn't fit in swap isn't reclaimed, and the reclaim isn't repeated in the same pause. */
static void reclaim(struct nm_sim_node *w, struct nm_sim_container *c, uint64_t bytes)
{
    uint64_t most = nm_sub_u64(w->load->header.swap_bytes, w->swapped_bytes);

    bytes = NM_MIN(bytes, most);
    bytes = NM_MIN(bytes, c->memory_bytes);
    c->view.reclaimed = true;
    nm_sim_node_settle_one(w, c);
    c->swapped_bytes += bytes;
    w->swapped_bytes += bytes;
    nm_sim_node_set_use(w, c, c->memory_bytes - bytes, 0);
    if (c->view.state != NM_RUNNING)
        return;
    c->view.reclaimed = false;
    c->view.reclaimed_usec = w->now_usec;
    c->cold_bytes += bytes / COLD_PART;
    nm_sim_node_set_change(w, c, w->now_usec + w->step_usec);
}

static void kill_container(struct nm_sim_node *w, struct nm_sim_container *c, enum nm_reason reason)
{
    c->killed_for = reason;
    pass_through(w, c, NM_KILLING);
}

static void act(struct nm_sim_node *w, const struct nm_policy_action *a)
{
    struct nm_sim_container *c = nm_sim_container_of(a->target);

    switch (a->type) {
    case NM_ACTION_ADMIT:
        c->view.passed = a->on_behalf_of != NULL;
        admit(w, c);
        break;
    case NM_ACTION_PAUSE:
        pause_container(w, c);
        break;
    case NM_ACTION_RESUME:
        pass_through(w, c, NM_RESUMING);
        break;
    case NM_ACTION_RECLAIM:
        reclaim(w, c, a->predicted.memory_bytes);
        break;
    case NM_ACTION_KILL:
        kill_container(w, c, a->reason);
        break;
    case NM_ACTION_SHED: /* the simulation has no shedding */
        break;
    }
}

/* Executes a verdict. Actions change states, but not the array of views, so the verdict's pointers stay valid. */
void nm_sim_node_act(struct nm_sim_node *w, const struct nm_policy_verdict *v)
{
    w->in_use_bytes = v->in_use.memory_bytes;
    w->opportunistic_bytes = v->allocated_opportunistic.memory_bytes;
    w->wake_usec = v->wake_usec == NEVER ? NEVER : nm_sim_node_on_grid(w, v->wake_usec);
    for (size_t i = 0; i < v->n_actions; i++)
        act(w, &v->actions[i]);
    if (v->squeeze_millicores != w->squeeze_millicores) {
        w->squeeze_millicores = v->squeeze_millicores;
        w->stale_shares = true;
    }
    nm_sim_node_share_cpu(w);
}
