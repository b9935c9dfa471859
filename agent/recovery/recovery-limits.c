/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Restores the limits of adopted containers after the start. The comparison reads several files of each cgroup. It is
 * not urgent, because the limits were the same while no nmd ran. So nmd answers requests and decides first.
 */

#include "agent/recovery/recovery.h"

#include <assert.h>

#include "agent/node/cgroups.h"
#include "util/clock.h"
#include "util/loop.h"

/* Handles containers until `end_usec`. Returns whether some are left. */
static bool restore_some(struct nm_manager *m, uint64_t end_usec)
{
    for (size_t i = 0; i < m->live.n; i++) {
        if (!m->live.all[i]->restore_due)
            continue;
        if (nm_now_usec() >= end_usec)
            return true;
        nm_limits_restore(m->live.all[i]);
    }
    return false;
}

static int on_restore(sd_event_source *s, void *userdata)
{
    struct nm_manager *m = userdata;

    assert(!m->round.is_on);
    if (restore_some(m, nm_now_usec() + NM_LOOP_TURN_USEC))
        return nm_loop_schedule_work(s);
    m->timers.restore = sd_event_source_disable_unref(m->timers.restore);
    return 0;
}

void nm_recovery_restore_limits(struct nm_manager *m)
{
    int r = nm_loop_add_work(m->event, "limits-restore", on_restore, m, &m->timers.restore);

    if (r >= 0)
        r = nm_loop_schedule_work(m->timers.restore);
    if (r < 0)
        (void)restore_some(m, UINT64_MAX);
}
