/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Since when nothing holds this node: an autoscaler may switch it off. It is a time of day, which people and programs
 * on other hosts read, and it outlives nmd: durable.c writes it with the round that follows.
 *
 * It may therefore be missing in the journal, or be older than the truth, when nmd died in between. That costs
 * nothing: what lives is found by recovery, and what has ended since has left its time.
 */

#include "agent/node/removable.h"

#include "util/clock.h"

/*
 * A container holds the node from its submission until its end, and that is only when its cgroup is empty: what runs,
 * is paused, waits or is being cleaned up. A cgroup that isn't known to the journal holds it, too, while something
 * lives in it. Draining, health and shadow mode are no matter.
 *
 * This is the one place that says so: what else is needed by others after containers have ended (the data of an
 * application that still runs, say) belongs here.
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

/* The newest end of those that are still known. */
static uint64_t newest_end(const struct nm_manager *m)
{
    uint64_t newest = 0;

    for (size_t i = 0; i < m->ended.n; i++)
        newest = NM_MAX(newest, m->ended.all[i]->finished_realtime_usec);
    return newest;
}

/* A journal that isn't whole may have lost a container; and a time to come is none, for the clock was put back. */
void nm_removable_recover(struct nm_manager *m)
{
    bool whole = !m->journal.opened.is_new && !m->journal.opened.was_damaged && !m->journal.opened.was_rolled_back;
    uint64_t since = NM_MAX(m->removable_since_usec, newest_end(m)), now = nm_realtime_usec();

    m->removable_since_usec = whole && m->removable_since_usec > 0 && since <= now ? since : 0;
    nm_removable_look(m);
}
