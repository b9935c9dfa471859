/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The containers' use of the simulated node: memory, shares of the CPU, and their samples. While the demand is below
 * the number of CPUs, each container gets what it wants, and a change affects only one container.
 *
 * Progress and CPU time of a container are computed when they are needed, or when the speed of the container changes.
 * This computation up to the current time, at the old speed, is called settling. Code that changes what a container
 * wants or gets must settle the container first. Otherwise the new speed would be applied to past time too.
 *
 * The model ignores the cost of page faults (except for swap) and CPUs that wait for I/O. All work is CPU-bound: half
 * the CPU means half the speed.
 */

#include "sim/sim-node-use.h"

#include <assert.h>

#define NEVER UINT64_MAX
#define STALL_SHARE 0.99 /* share of the capacity at which tasks begin to wait for memory */

void nm_sim_node_settle_one(struct nm_sim_node *w, struct nm_sim_container *c)
{
    uint64_t elapsed = w->now_usec - c->settled_usec;

    assert(w->now_usec >= c->settled_usec && c->got <= c->wanted);
    c->settled_usec = w->now_usec;
    if (elapsed == 0 || c->view.state != NM_RUNNING || c->swapped_bytes > c->cold_bytes)
        return;
    c->cpu_work += elapsed * c->got;
    /* rounded down, so that no job ends too early */
    if (c->view.type == NM_GUARANTEED && w->speed < 1)
        elapsed = (uint64_t)((double)elapsed * w->speed);
    c->progress_usec += c->got == c->wanted ? elapsed : elapsed * c->got / c->wanted;
}

void nm_sim_node_settle(struct nm_sim_node *w)
{
    for (size_t i = 0; i < w->n_live; i++)
        nm_sim_node_settle_one(w, nm_sim_container_of(w->views[i]));
}

/* Rounds to steps, so that all events within one step are handled in one round. Traces have microseconds, and a round
 * for each event would be too slow. */
uint64_t nm_sim_node_on_grid(const struct nm_sim_node *w, uint64_t at_usec)
{
    uint64_t since = at_usec - w->begin_usec, rest = since % w->step_usec;

    assert(at_usec >= w->begin_usec);
    return rest == 0 ? at_usec : at_usec + (w->step_usec - rest);
}

/* Schedules a running container's next event: the next point of its curve, or its end. A container without CPU makes no
 * progress until the shares change, and is scheduled again then. */
void nm_sim_node_schedule(struct nm_sim_node *w, struct nm_sim_container *c)
{
    const struct nm_curve *curve = &c->job->curve;
    uint64_t next = c->job->run_usec, left;

    /* First the container's memory is read back from swap in steps. The next change of its curve is scheduled only
     * afterwards. Until then, scheduling the curve with each new speed would only delay the next step. */
    if (c->swapped_bytes > c->cold_bytes)
        return;
    if (c->cursor + 1 < curve->n)
        next = NM_MIN(next, curve->points[c->cursor + 1].at_usec);
    if (next == NEVER || (c->got == 0 && c->wanted > 0)) {
        nm_sim_node_set_change(w, c, NEVER);
        return;
    }
    left = nm_sub_u64(next, c->progress_usec);
    if (c->got != c->wanted || (c->view.type == NM_GUARANTEED && w->speed < 1)) {
        /* a double, because ten years times a thousand CPUs don't fit in 64 bits */
        double slowly = c->got == c->wanted ? (double)left : (double)left * c->wanted / c->got;

        if (c->view.type == NM_GUARANTEED)
            slowly /= w->speed;

        left = (uint64_t)NM_MIN(slowly, 1e17) + 1;
    }
    nm_sim_node_set_change(w, c, nm_sim_node_on_grid(w, w->now_usec + NM_MAX(left, UINT64_C(1))));
}

/* Sets the memory that a container has and the CPU that it wants. The container must be settled. The sums are updated
 * by differences, which may be negative. Unsigned arithmetic wraps and gives the right result. */
void nm_sim_node_set_use(struct nm_sim_node *w, struct nm_sim_container *c, uint64_t memory_bytes,
                         uint32_t wanted)
{
    if (memory_bytes > c->memory_bytes)
        w->memory_grew = true;
    w->memory_bytes += memory_bytes - c->memory_bytes;
    c->memory_bytes = memory_bytes;
    if (wanted == c->wanted)
        return;
    w->wanted[c->view.type] += (uint64_t)wanted - c->wanted;
    w->got_millicores += (uint64_t)wanted - c->got;
    c->wanted = c->got = wanted; /* the container gets what it wants until the shares are computed */
    w->stale_shares = true;
}

/* ---- shares of the CPU --------------------------------------------------- */

static void set_cpu(struct nm_sim_node *w, struct nm_sim_container *c, uint64_t got)
{
    uint32_t g = (uint32_t)NM_MIN(got, (uint64_t)c->wanted);

    if (g == c->got)
        return;
    nm_sim_node_settle_one(w, c);
    w->got_millicores += (uint64_t)g - c->got;
    c->got = g;
    nm_sim_node_schedule(w, c);
}

/* Returns the kernel's weight: all containers of the idle class have the same weight, others have a weight by their
 * request. */
static uint64_t weight_of(const struct nm_sim_container *c)
{
    return c->view.type == NM_GUARANTEED ? NM_MAX(c->view.request.cpu_millicores, UINT64_C(1)) : 1;
}

/* Returns a container's part of the squeeze. nmd divides the squeeze by requests (agent/node/container-limits.c), with
 * a minimum for each container that allows progress. The sum of the parts may therefore exceed the squeeze. */
static uint64_t quota_of(const struct nm_sim_node *w, const struct nm_sim_container *c,
                         uint64_t requests)
{
    uint64_t quota;

    if (w->squeeze_millicores == NM_NO_SQUEEZE || c->view.type == NM_GUARANTEED || requests == 0)
        return UINT64_MAX;
    quota = w->squeeze_millicores * c->view.request.cpu_millicores / requests;
    return NM_MAX(w->settings.squeeze_floor_millicores, quota);
}

/* Returns whether a container gets CPU. A container that is being launched, frozen or killed wants no CPU, and gets no
 * part of the quota. */
static bool takes_part(const struct nm_policy_container *v, enum nm_execution_type type)
{
    return v->type == type && v->state == NM_RUNNING;
}

/*
 * Returns the level of a fair division: each container gets at most `level` per weight, and all containers together get
 * `available`. The level is found by bisection to a thousandth of a millicore, because the part of each container
 * increases with the level. The simulator spends most of its time here, so the loop reads only an array of numbers.
 */
static double fair_level(const struct nm_cpu_claim *claims, size_t n, uint64_t available)
{
    double low = 0, high = (double)available + 1;

    for (int i = 0; i < 40 && high - low > high * 1e-6; i++) {
        double level = low + (high - low) / 2, sum = 0;

        for (size_t k = 0; k < n; k++)
            sum += NM_MIN(level * claims[k].weight, claims[k].most);
        if (sum > (double)available)
            high = level;
        else
            low = level;
    }
    return low;
}

/* Collects for each running container of a type the most CPU that it may get. Returns the number of containers. */
static size_t collect_claims(struct nm_sim_node *w, enum nm_execution_type type, uint64_t *ret_wanted)
{
    uint64_t requests = 0, wanted = 0;
    size_t n = 0;

    for (size_t i = 0; i < w->n_live; i++)
        if (takes_part(w->views[i], type))
            requests += w->views[i]->request.cpu_millicores;
    for (size_t i = 0; i < w->n_live; i++) {
        struct nm_sim_container *c = nm_sim_container_of(w->views[i]);
        uint64_t most;

        if (!takes_part(&c->view, type))
            continue;
        most = NM_MIN((uint64_t)c->wanted, quota_of(w, c, requests));
        wanted += most;
        w->claims[n++] = (struct nm_cpu_claim){
            .container = c,
            .weight = (double)weight_of(c),
            .most = (double)most,
        };
    }
    *ret_wanted = wanted;
    return n;
}

/* Divides the available CPU among the containers of a type by weight, within their quotas. Returns the sum of their
 * CPU. */
static uint64_t share_among(struct nm_sim_node *w, enum nm_execution_type type, uint64_t available)
{
    uint64_t wanted, given = 0;
    size_t n = collect_claims(w, type, &wanted);
    double level = -1;

    /* level < 0: the CPU is enough for all containers, and only quotas limit them */
    if (wanted > available)
        level = fair_level(w->claims, n, available);
    for (size_t i = 0; i < n; i++) {
        const struct nm_cpu_claim *claim = &w->claims[i];
        uint64_t got = (uint64_t)claim->most;

        if (level >= 0)
            got = NM_MIN(got, (uint64_t)(level * claim->weight));
        set_cpu(w, claim->container, got);
        given += claim->container->got;
    }
    return given;
}

#define SPEED_STEP 0.0025 /* small enough for precise figures, and large enough to avoid frequent recomputation */

/* Computes the slowdown of guaranteed containers by the CPU use of opportunistic ones. */
static void interfere(struct nm_sim_node *w)
{
    double cpus = (double)w->load->header.n_cpus * 1000, used = 0, speed;

    for (size_t i = 0; i < w->n_live; i++)
        if (takes_part(w->views[i], NM_OPPORTUNISTIC))
            used += nm_sim_container_of(w->views[i])->got;
    speed = 1 - w->interference * NM_MIN(used / cpus, 1.0);
    if (speed < w->speed + SPEED_STEP && speed > w->speed - SPEED_STEP)
        return;
    for (size_t i = 0; i < w->n_live; i++)
        if (takes_part(w->views[i], NM_GUARANTEED))
            nm_sim_node_settle_one(w, nm_sim_container_of(w->views[i]));
    w->speed = speed;
    for (size_t i = 0; i < w->n_live; i++)
        if (takes_part(w->views[i], NM_GUARANTEED))
            nm_sim_node_schedule(w, nm_sim_container_of(w->views[i]));
}

/* Divides the CPU, first among guaranteed containers, then among opportunistic ones. The kernel gives idle-class
 * cgroups a small part beside busy cgroups (their weight is 3); the model gives them no CPU in this case. */
void nm_sim_node_share_cpu(struct nm_sim_node *w)
{
    uint64_t cpus = (uint64_t)w->load->header.n_cpus * 1000;
    uint64_t left = nm_sub_u64(cpus, w->system.cpu_millicores);
    bool squeezed = w->squeeze_millicores != NM_NO_SQUEEZE;
    bool contended = w->wanted[0] + w->wanted[1] > left || squeezed;

    if (!w->stale_shares)
        return;
    w->stale_shares = false;
    /* the CPU is also divided once after contention, to restore full shares */
    if (contended || w->contended) {
        left -= NM_MIN(left, share_among(w, NM_GUARANTEED, left));
        (void)share_among(w, NM_OPPORTUNISTIC, left);
    }
    w->contended = contended;
    interfere(w);
}

/* ---- samples ------------------------------------------------------------- */

static void sample_one(struct nm_sim_node *w, struct nm_sim_container *c, uint64_t *cpu)
{
    struct nm_policy_container *v = &c->view;
    uint64_t elapsed;

    /* state_samples also counts while the container waits; only containers that run or have run are measured */
    v->state_samples++;
    if (v->state < NM_RUNNING)
        return;
    nm_sim_node_settle_one(w, c);
    elapsed = w->now_usec - c->sampled_usec;
    v->measured.memory_bytes = c->memory_bytes;
    v->swapped_bytes = c->swapped_bytes;
    v->stall_known = w->load->header.feature[NM_CGROUP_PRESSURE];
    v->stall_permille = c->wanted > c->got ? (c->wanted - c->got) * 1000 / c->wanted : 0;
    nm_policy_container_note_progress(v, w->now_usec);
    if (elapsed > 0) {
        /* precise enough, and much faster than a 64-bit division */
        v->measured.cpu_millicores =
            (uint64_t)((double)(c->cpu_work - c->sampled_work) / (double)elapsed);
        v->n_samples++;
    }
    c->sampled_work = c->cpu_work;
    c->sampled_usec = w->now_usec;
    v->cpu_usage_usec = c->cpu_work / 1000;
    *cpu += v->measured.cpu_millicores;
}

void nm_sim_node_sample(struct nm_sim_node *w)
{
    uint64_t cpu = 0;

    for (size_t i = 0; i < w->n_live; i++)
        sample_one(w, nm_sim_container_of(w->views[i]), &cpu);
    /* Samples are always complete and in time. A replay therefore doesn't cover the policy's behaviour without a
     * sample, or with a busy uplink. */
    w->node = (struct nm_policy_node){
        .valid = true,
        .cpu_valid = true,
        .at_usec = w->now_usec,
        .used = {.memory_bytes = w->system.memory_bytes + w->memory_bytes,
                 .cpu_millicores = w->system.cpu_millicores + cpu},
        .swap_free_bytes = nm_sub_u64(w->load->header.swap_bytes, w->swapped_bytes),
    };
}

/*
 * Returns whether nmd would take an extra sample now. As in agent/node/growth-probe.c, nmd takes an extra sample if
 * memory can be taken back from a container and has grown enough since the last sample. Here this condition is checked
 * at the end of each step with growth, while nmd's growth probe checks it every 20 ms. The probe's checks of the CPU
 * are omitted: between two samples only memory triggers a round.
 */
bool nm_sim_node_needs_sample(const struct nm_sim_node *w)
{
    uint64_t capacity = w->settings.capacity.memory_bytes;
    uint64_t used = w->system.memory_bytes + w->memory_bytes;
    uint64_t grown = nm_sub_u64(used, w->node.used.memory_bytes);

    if (!w->memory_grew || grown == 0 || w->opportunistic_bytes == 0 ||
        !w->settings.over_allocation)
        return false;
    /* the kernel's pressure event, which doesn't depend on the growth probe */
    if ((double)w->memory_bytes > STALL_SHARE * (double)capacity)
        return true;
    return w->growth_probe && nm_policy_classify_growth(&w->settings, w->in_use_bytes, grown) != NM_GROWTH_SMALL;
}

/* Returns whether memory exceeds a limit. The first limit is memory.max of nm.slice, the capacity, if the kernel
 * supports it. It applies only to containers. The second limit is the node's memory, which containers share with the
 * system. */
bool nm_sim_node_over_limit(const struct nm_sim_node *w, uint64_t *ret_excess)
{
    uint64_t slice = w->load->header.feature[NM_CGROUP_MEMORY_LIMITS]
                         ? w->settings.capacity.memory_bytes
                         : UINT64_MAX;
    uint64_t node = nm_sub_u64(w->load->header.memory_bytes, w->system.memory_bytes);

    *ret_excess = nm_sub_u64(w->memory_bytes, NM_MIN(slice, node));
    return *ret_excess > 0;
}
