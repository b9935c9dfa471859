/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Code that runs inside a round must not start another round directly. It requests a round, which runs in a separate
 * turn of the event loop. So the code's pointers to containers stay valid, and all requests made within one turn lead
 * to a single round.
 */

#include "agent/state/manager-state.h"

#include <assert.h>

#include "util/loop.h"

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
