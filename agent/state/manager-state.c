/* SPDX-License-Identifier: Apache-2.0 */

/* Functions on the manager's state that all rooms above use: the use of the node by containers, and the request for a
 * round. */

#include "agent/state/manager-state.h"

#include <assert.h>

#include "util/clock.h"
#include "util/loop.h"

/*
 * ---- current use -------------------------------------------------------------------------------
 *
 * The status and the history show the current use in three parts: measured use of containers, reservations for
 * warm-ups, and use by the rest of the node. The sum of these parts is U of the policy's last round, so the figures
 * shown are those of the decisions.
 */

/* Counts containers and their use. A container counts as allocated from its admission on, even before its command
 * starts. */
static void fill_containers(const struct nm_manager *m, struct nm_status *ret)
{
    for (size_t i = 0; i < m->live.n; i++) {
        const struct nm_container *c = m->live.all[i]->c;
        const struct nm_policy_container *v = &c->view;

        if (nm_policy_container_in_preparation(v)) {
            ret->preparing++;
            continue;
        }
        if (nm_policy_container_is_waiting(v)) {
            ret->queued++;
            ret->queue_length += v->type == NM_OPPORTUNISTIC;
            continue;
        }
        if (v->state == NM_PAUSED || v->state == NM_PAUSING)
            ret->paused++;
        else if (v->type == NM_GUARANTEED)
            ret->guaranteed_running++;
        else
            ret->opportunistic_running++;
        ret->allocated[v->type].memory_bytes += v->request.memory_bytes;
        ret->allocated[v->type].cpu_millicores += v->request.cpu_millicores;
        ret->allocated_vcores_milli[v->type] += c->vcores_milli;
        ret->used_by[v->type].memory_bytes += v->measured.memory_bytes;
        if (v->state != NM_PAUSED) /* the last sample may be from before the pause */
            ret->used_by[v->type].cpu_millicores += v->measured.cpu_millicores;
    }
    ret->completed = (uint32_t)m->ended.n;
    ret->kept_results = (uint32_t)m->ended.n_results;
}

/* Computes the reserved part of U: U minus the measured use. The difference may be negative, because containers may
 * have started or ended since the round that computed U. Then the reserved part is 0. */
static void fill_reserved(struct nm_status *ret)
{
    const struct nm_resources *by = ret->used_by, *others = &ret->used_by_others;

    ret->reserved.memory_bytes =
        nm_sub_u64(ret->used.memory_bytes, by[0].memory_bytes + by[1].memory_bytes + others->memory_bytes);
    ret->reserved.cpu_millicores =
        nm_sub_u64(ret->used.cpu_millicores, by[0].cpu_millicores + by[1].cpu_millicores + others->cpu_millicores);
}

void nm_usage_fill(const struct nm_manager *m, struct nm_status *ret)
{
    assert(m && ret);
    ret->used = m->round.verdict.used;
    ret->used_by_others = m->round.verdict.others;
    fill_containers(m, ret);
    fill_reserved(ret);
}

/*
 * ---- since when the node is removable ----------------------------------------------------------
 *
 * An autoscaler reads since when the node is removable, and may then switch the node off. The value is a time of day
 * (CLOCK_REALTIME), because people and programs on other hosts read it. durable.c writes the value to the journal in
 * the next round, so that it survives a restart of nmd. If nmd dies before that round, the value in the journal may be
 * missing or outdated. Recovery corrects it: live containers are found, and the journal has the time of each
 * container's end.
 */

/*
 * Returns whether a container or an orphan requires the node. A container requires the node from its submission until
 * its cgroup is empty: while the container waits, runs, is paused or is being cleaned up. An orphan requires the node
 * while it has processes. Draining, health and shadow mode do not matter.
 *
 * This function is the only place for this condition. Add further conditions here, for example data of ended containers
 * that a running application still needs.
 */
static bool is_in_use(const struct nm_manager *m)
{
    return m->live.n > 0 || m->unowned.orphans.n > 0;
}

void nm_removable_update(struct nm_manager *m)
{
    if (is_in_use(m))
        m->removable_since_usec = 0;
    else if (m->removable_since_usec == 0)
        m->removable_since_usec = nm_realtime_usec();
}

/* Returns the newest end of all containers that are still known. */
static uint64_t newest_end(const struct nm_manager *m)
{
    uint64_t newest = 0;

    for (size_t i = 0; i < m->ended.n; i++)
        newest = NM_MAX(newest, m->ended.all[i]->finished_realtime_usec);
    return newest;
}

/* Determines the initial value. The stored time is discarded if the journal is incomplete, since the end of a container
 * may be missing. A time in the future is also discarded, since the clock was set back. */
void nm_removable_recover(struct nm_manager *m)
{
    bool whole = !m->journal.opened.is_new && !m->journal.opened.was_damaged && !m->journal.opened.was_rolled_back;
    uint64_t since = NM_MAX(m->removable_since_usec, newest_end(m)), now = nm_realtime_usec();

    m->removable_since_usec = whole && m->removable_since_usec > 0 && since <= now ? since : 0;
    nm_removable_update(m);
}

/*
 * ---- the request for a round -------------------------------------------------------------------
 *
 * Code that runs inside a round must not start another round directly. It requests a round, which runs in a separate
 * turn of the event loop. So the code's pointers to containers stay valid, and all requests made within one turn lead
 * to a single round.
 */

/* An EXTRA_SAMPLE or PRESSURE round takes a fresh sample. It runs before all other work, because a node short of memory
 * or CPU must not wait until nmd has read hundreds of requests. A CHANGE round runs after work that is already due, so
 * that one round decides on all requests that arrive together. */
void nm_round_request(struct nm_manager *m, enum nm_policy_trigger trigger)
{
    assert(trigger != NM_TRIGGER_SAMPLE && trigger <= NM_TRIGGER_CHANGE);
    m->round.triggers |= 1U << trigger;
    if (!m->round.source) /* the manager has not started yet; the first round is scheduled at the start */
        return;
    (void)sd_event_source_set_priority(m->round.source,
                                       m->round.triggers == 1U << NM_TRIGGER_CHANGE ? NM_LOOP_WORK : NM_LOOP_URGENT);
    (void)nm_loop_schedule_work(m->round.source);
}
