/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The time since which the node is removable, so that an autoscaler may switch it off. This is a time of day, because
 * people and programs on other hosts read it. The time is kept across restarts of nmd: durable.c writes it with the
 * next round.
 *
 * If nmd died before that round, the journal may lack the time or have an outdated time. That does no harm: recovery
 * finds live containers, and ended containers have recorded their end.
 */

#include "agent/node/removable.h"

#include "util/clock.h"

/*
 * Returns whether a container or an orphan requires the node. A container requires the node from its submission until
 * its end, that is, until its cgroup is empty: while the container waits, runs, is paused or is being cleaned up. An
 * orphan requires the node while the orphan has processes. Draining, health and shadow mode do not matter.
 *
 * This function is the only place for this condition. Further reasons belong here, such as data of ended containers
 * that a running application still needs.
 */
static bool is_held(const struct nm_manager *m)
{
    return m->lives.n > 0 || m->orphans.n > 0;
}

void nm_removable_look(struct nm_manager *m)
{
    if (is_held(m))
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

/* Determines the initial value. An incomplete journal may have lost a container. A time in the future is discarded,
 * since the clock was set back. */
void nm_removable_recover(struct nm_manager *m)
{
    bool whole = !m->journal.opened.is_new && !m->journal.opened.was_damaged && !m->journal.opened.was_rolled_back;
    uint64_t since = NM_MAX(m->removable_since_usec, newest_end(m)), now = nm_realtime_usec();

    m->removable_since_usec = whole && m->removable_since_usec > 0 && since <= now ? since : 0;
    nm_removable_look(m);
}
