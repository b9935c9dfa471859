/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The stored state of a live container: its row in the journal, the copy beside its shim's records
 * (container-snapshot.h), and its state, which is journalled and reported at each change.
 */

#include "agent/journal/persist.h"

#include <assert.h>

#include "agent/problem.h"
#include "agent/store/container-snapshot.h"
#include "agent/journal/container-files.h"
#include "agent/journal/event-ring.h"
#include "agent/journal/decision-record.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

int nm_persist_journal(struct nm_live_container *l)
{
    int r = nm_store_put_container(l->m->store, l->c);

    nm_record_store_result(l->m, r);
    return r;
}

int nm_persist_write_snapshot(struct nm_live_container *l)
{
    char dir[NM_DIR_SIZE];
    int r;

    assert(l->c->view.state != NM_COMPLETED);
    nm_files_container_dir(l->m, l->c->id, dir);
    r = nm_container_snapshot_write(dir, l->m->journal.boot_id, l->c);
    l->has_snapshot = l->has_snapshot || r >= 0;
    if (r < 0)
        nm_debug("%s: can't write container.json: %s", l->c->id, strerror(-r));
    return r;
}

int nm_persist_snapshot(struct nm_live_container *l)
{
    int r;

    if (l->c->shim_pid == 0 && !l->has_snapshot)
        return 0; /* the round writes the copy, if the container has to wait */
    r = nm_persist_write_snapshot(l);
    NM_FAULT("snapshot-written");
    return r;
}

void nm_persist_snapshot_waiting(struct nm_live_container *l)
{
    if (l->has_snapshot || !nm_policy_container_is_waiting(&l->c->view))
        return;
    (void)nm_persist_write_snapshot(l);
    NM_FAULT("waiting-snapshot-written");
}

void nm_persist_set_state(struct nm_live_container *l, enum nm_state to)
{
    enum nm_state from = l->c->view.state;

    assert(l->phase != NM_RUN_REMOVED);
    if (from == to)
        return;
    if (nm_container_set_state(l->c, to) < 0) {
        nm_err("%s: invalid state change from %s to %s; the state stays", l->c->id, nm_state_name(from),
               nm_state_name(to));
        return;
    }
    l->c->view.state_usec = nm_now_usec();
    l->c->view.state_samples = 0;
    (void)nm_persist_journal(l);
    nm_events_tell_state(l, from, to);
}

int nm_persist_refuse(const struct nm_manager *m, int error, struct nm_problem *ret_problem)
{
    const char *advice = nm_store_advice(error);

    assert(error < 0);
    return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "journal", strerror(-error),
                          "Nothing was changed, because the journal in %s can't be written (%s)%s%s.",
                          m->state_dir, strerror(-error), advice ? ": " : "", advice ?: "");
}

int nm_persist_check(struct nm_manager *m, struct nm_problem *ret_problem)
{
    int r = m->journal.error;

    if (r < 0)
        r = nm_store_flush(m->store);
    nm_record_store_result(m, r);
    if (r >= 0 || r == -EUCLEAN) /* -EUCLEAN: the journal is replaced soon, with all known state */
        return 0;
    return nm_persist_refuse(m, r, ret_problem);
}

int nm_persist_answer(const struct nm_manager *m, const char *id, const char *done, struct nm_problem *ret_problem)
{
    int r = m->journal.error;

    if (r >= 0 || r == -EUCLEAN)
        return 0;
    return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "journal", strerror(-r),
                          "%s %s, but this isn't saved yet, because the journal in %s can't be written (%s). If nmd "
                          "restarts before it can be written, the change may be "
                          "lost.", id, done, m->state_dir, strerror(-r));
}
