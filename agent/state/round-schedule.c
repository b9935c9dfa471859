/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Nobody below a round calls one: they kick it, and it comes in a turn of its own. So whoever noticed something
 * may go on with the pointers that it holds, and what is noticed within one turn becomes one round: a thousand
 * requests cost one decision, not a thousand.
 */

#include "agent/state/round-schedule.h"

#include <assert.h>

#include "util/loop.h"

/* What asks for a fresh sample is next, whatever else is there to be done: a node in trouble must not wait until a
 * flood of requests has been read. A mere change comes behind the work that is due already, so that what came in
 * together is decided together. */
void nm_round_request(struct nm_manager *m, enum nm_policy_trigger trigger)
{
    assert(trigger != NM_TRIGGER_SAMPLE && trigger <= NM_TRIGGER_CHANGE);
    m->round.kicks |= 1U << trigger;
    if (!m->round.source) /* not started yet: its first round comes by itself */
        return;
    (void)sd_event_source_set_priority(m->round.source,
                                       m->round.kicks == 1U << NM_TRIGGER_CHANGE ? NM_LOOP_WORK : NM_LOOP_URGENT);
    (void)nm_loop_want(m->round.source);
}
