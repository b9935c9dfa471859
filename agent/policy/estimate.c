/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The node resources that one container is estimated to use. While the container warms up, its request counts, because
 * its first measurements do not show its later use. After that, its measured use counts. If the container can no longer
 * be measured, its request counts again as soon as its figures are older than a sample may be, since its use may have
 * grown after them.
 *
 *   queued                   no resources
 *   admitted, warming up     at least its request
 *   running                  as measured; at least its request once the measurement is too old
 *   just resumed             CPU: at least its use before the pause, until a whole sampling interval
 *                            was measured. Memory: including its swap, for as long as a warm-up, also after a reclaim
 *                            of the running container's memory
 *   freezing, paused         memory in full; no CPU once it is frozen
 *   ending                   as measured, until its cgroup is empty
 *
 * With over-allocation off only requests count.
 */

#include "agent/policy/round.h"

/* A container makes progress if it releases at least its remaining memory divided by this number. A container that
 * releases its memory ever more slowly is therefore stuck eventually. */
#define PIECE_DIVISOR 256

void nm_policy_container_note_progress(struct nm_policy_container *v, uint64_t now_usec)
{
    uint64_t piece = NM_MAX(v->shrunk_bytes / PIECE_DIVISOR, NM_LEAST_MEMORY_BYTES);

    if (v->state != NM_KILLING) {
        v->shrunk_usec = 0;
        return;
    }
    if (v->shrunk_usec > 0 && v->measured.memory_bytes + piece > v->shrunk_bytes)
        return;
    v->shrunk_usec = v->shrunk_usec > 0 ? now_usec : NM_MAX(v->state_usec, UINT64_C(1));
    v->shrunk_bytes = v->measured.memory_bytes;
}

bool nm_estimate_in_warmup(const struct nm_policy_settings *s, const struct nm_policy_container *v,
                           uint64_t now_usec)
{
    if (!nm_policy_container_placed(v))
        return false;
    return v->state == NM_SCHEDULED || v->n_samples < s->warmup_samples ||
           now_usec < nm_add_u64(v->started_usec, s->warmup_usec);
}

static bool is_stale(const struct nm_policy_settings *s, const struct nm_policy_container *v, uint64_t now_usec)
{
    return v->unread_usec > 0 && nm_sub_u64(now_usec, v->unread_usec) > s->sample_max_age_usec;
}

static bool request_counts(const struct nm_policy_settings *s, const struct nm_policy_container *v,
                           uint64_t now_usec)
{
    if (!s->over_allocation)
        return true;
    /* A container that is being killed will no longer use its request. Before its first sample the request is still the
     * best figure. */
    if (v->state == NM_KILLING)
        return v->n_samples == 0;
    return nm_estimate_in_warmup(s, v, now_usec) || is_stale(s, v, now_usec);
}

static bool just_resumed(const struct nm_policy_container *v)
{
    return v->state == NM_RESUMING ||
           (v->state == NM_RUNNING && v->state_samples < NM_RESUME_SAMPLES);
}

/* Returns whether the container's swap counts as memory. Pages return from swap as fast as the container touches them,
 * and no sample can predict that. */
static bool swap_returns(const struct nm_policy_settings *s, const struct nm_policy_container *v,
                         uint64_t now_usec)
{
    uint64_t since = NM_MAX(v->state_usec, v->reclaimed_usec);

    return v->swapped_bytes > 0 && (just_resumed(v) || (v->state == NM_RUNNING &&
                                                        now_usec < nm_add_u64(since, s->warmup_usec)));
}

struct nm_resources nm_estimate(const struct nm_policy_settings *s, const struct nm_policy_container *v,
                                uint64_t now_usec)
{
    struct nm_resources use = {0};

    if (!nm_policy_container_placed(v))
        return use;
    if (s->over_allocation)
        use = v->measured;
    if (request_counts(s, v, now_usec)) {
        use.memory_bytes = NM_MAX(use.memory_bytes, v->request.memory_bytes);
        use.cpu_millicores = NM_MAX(use.cpu_millicores, v->request.cpu_millicores);
    }
    if (s->over_allocation && swap_returns(s, v, now_usec))
        use.memory_bytes = NM_MAX(use.memory_bytes,
                                  nm_add_u64(v->measured.memory_bytes, nm_policy_container_returning(s, v)));
    if (s->over_allocation && just_resumed(v))
        use.cpu_millicores = NM_MAX(use.cpu_millicores, v->last_cpu_millicores);
    if (v->state == NM_PAUSED)
        use.cpu_millicores = 0;
    return use;
}
