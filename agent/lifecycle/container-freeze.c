/* SPDX-License-Identifier: Apache-2.0 */

/* Carries out a pause or a resume: freezes or thaws the cgroup. */

#include "agent/lifecycle/lifecycle-internal.h"

#include <assert.h>

#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

void nm_freeze_set(struct nm_live_container *l, bool frozen)
{
    int r;

    assert(l->c->view.state == (frozen ? NM_PAUSING : NM_RESUMING));
    NM_FAULT(frozen ? "before-freeze" : "before-thaw");
    r = l->cg ? nm_cgroup_freeze(l->cg, frozen) : -ENOENT;
    NM_FAULT(frozen ? "after-freeze" : "after-thaw");
    nm_record_acted(l);
    if (r == -ENOENT) {
        nm_end_check(l);
        return;
    }
    if (r < 0) {
        nm_warning("%s: can't be %s: %s", l->c->id, frozen ? "paused" : "resumed", strerror(-r));
        nm_record_failed(l, strerror(-r));
        if (frozen) {
            l->c->view.pause_deadline_usec = UINT64_MAX;
            l->c->view.freeze_failed_usec = nm_now_usec();
        }
        nm_persist_set_state(l, frozen ? NM_RUNNING : NM_PAUSED);
        return;
    }
    /* A small cgroup is already frozen when the write returns. The event of cgroup.events would arrive only in a later
     * turn. */
    nm_container_events_observe(l);
}

void nm_freeze_given_up(struct nm_live_container *l)
{
    struct nm_cgroup_leftover_procs s = {0};
    char why[160] = "it was not frozen within 10 s";

    l->c->view.freeze_failed_usec = nm_now_usec();
    if (l->cg && nm_cgroup_leftover_procs(l->cg, &s) >= 0 && s.n_hanging > 0)
        (void)snprintf(why, sizeof why,
                       "it was not frozen within 10 s: process %d (%s) hangs in the kernel (state D)",
                       (int)s.hanging, s.comm);
    nm_warning("%s: can't be paused: %s; it keeps running", l->c->id, why);
    if (l->decision_open && l->decision.kind == NM_DECISION_PAUSE)
        nm_record_failed(l, why);
}
