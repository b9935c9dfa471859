/* SPDX-License-Identifier: Apache-2.0 */

/* See run-phase.h. */

#include "agent/state/run-phase.h"

#include <assert.h>

#include "util/log.h"

#define TO(phase) (1u << NM_RUN_##phase)

/*
 * The allowed transitions from each phase, for these cases:
 *
 *  - Before the cgroup is complete, a start may fail permanently (SHIM_GONE), or may be given up because of a temporary
 *    problem (WITHDRAWN).
 *  - A kill during the creation of the cgroup waits until the cgroup is complete (KILL_PENDING), because the backend
 *    can't be interrupted.
 *  - A restarted nmd takes over a run whose shim waits AT_GATE, whose command is LAUNCHED, or whose shim has gone.
 *  - SIGKILL is sent to the whole cgroup, before or after the shim's end is reported. If the cgroup is empty after a
 *    SIGKILL, the shim has gone, and the end is handled without the shim's report. A run whose shim can't be watched is
 *    handled in the same way.
 *  - After the end, the container is removed from the lists, or returns to NONE for another start or another run.
 */
static const unsigned transitions[NM_RUN_PHASE_COUNT] = {
    [NM_RUN_NONE] = TO(CREATING) | TO(SHIM_GONE) | TO(WITHDRAWN) | TO(AT_GATE) | TO(LAUNCHED),
    [NM_RUN_CREATING] = TO(KILL_PENDING) | TO(LAUNCHED) | TO(SHIM_GONE) | TO(WITHDRAWN),
    [NM_RUN_KILL_PENDING] = TO(LAUNCHED) | TO(SHIM_GONE) | TO(WITHDRAWN),
    [NM_RUN_AT_GATE] = TO(LAUNCHED) | TO(LAUNCHED_KILLED) | TO(SHIM_GONE) | TO(WITHDRAWN) | TO(REQUEUEING),
    [NM_RUN_LAUNCHED] = TO(LAUNCHED_KILLED) | TO(SHIM_GONE) | TO(ENDING),
    [NM_RUN_LAUNCHED_KILLED] = TO(SHIM_GONE_KILLED) | TO(ENDING),
    [NM_RUN_SHIM_GONE] = TO(SHIM_GONE_KILLED) | TO(ENDING),
    [NM_RUN_SHIM_GONE_KILLED] = TO(ENDING),
    [NM_RUN_WITHDRAWN] = TO(WITHDRAWN_KILLED) | TO(REQUEUEING),
    [NM_RUN_WITHDRAWN_KILLED] = TO(REQUEUEING),
    [NM_RUN_ENDING] = TO(NONE) | TO(ASKING_OWNER) | TO(REMOVED),
    [NM_RUN_REQUEUEING] = TO(NONE) | TO(REMOVED),
    [NM_RUN_ASKING_OWNER] = TO(ENDING),
    [NM_RUN_REMOVED] = 0,
};

static const char *const names[NM_RUN_PHASE_COUNT] = {
    [NM_RUN_NONE] = "none",
    [NM_RUN_CREATING] = "creating",
    [NM_RUN_KILL_PENDING] = "kill-pending",
    [NM_RUN_AT_GATE] = "at-gate",
    [NM_RUN_LAUNCHED] = "launched",
    [NM_RUN_LAUNCHED_KILLED] = "launched-killed",
    [NM_RUN_SHIM_GONE] = "shim-gone",
    [NM_RUN_SHIM_GONE_KILLED] = "shim-gone-killed",
    [NM_RUN_WITHDRAWN] = "withdrawn",
    [NM_RUN_WITHDRAWN_KILLED] = "withdrawn-killed",
    [NM_RUN_ENDING] = "ending",
    [NM_RUN_REQUEUEING] = "requeueing",
    [NM_RUN_ASKING_OWNER] = "asking-owner",
    [NM_RUN_REMOVED] = "removed",
};

static bool is_one_of(enum nm_run_phase phase, unsigned set)
{
    assert((unsigned)phase < NM_RUN_PHASE_COUNT);
    return set & (1u << phase);
}

const char *nm_run_phase_name(enum nm_run_phase phase)
{
    assert((unsigned)phase < NM_RUN_PHASE_COUNT);
    return names[phase];
}

bool nm_run_phase_may_become(enum nm_run_phase from, enum nm_run_phase to)
{
    if ((unsigned)from >= NM_RUN_PHASE_COUNT || (unsigned)to >= NM_RUN_PHASE_COUNT)
        return false;
    return is_one_of(to, transitions[from]);
}

void nm_run_phase_set(enum nm_run_phase *phase, enum nm_run_phase to)
{
    if (!nm_run_phase_may_become(*phase, to)) { /* the assertion's text does not contain the phases */
        nm_err("invalid phase change of a run from %s to %s", nm_run_phase_name(*phase), nm_run_phase_name(to));
        assert(!"illegal transition of a run's phase");
    }
    *phase = to;
}

static enum nm_run_phase after_sigkill(enum nm_run_phase phase)
{
    switch (phase) {
    case NM_RUN_AT_GATE:
    case NM_RUN_LAUNCHED:
        return NM_RUN_LAUNCHED_KILLED;
    case NM_RUN_SHIM_GONE:
        return NM_RUN_SHIM_GONE_KILLED;
    case NM_RUN_WITHDRAWN:
        return NM_RUN_WITHDRAWN_KILLED;
    default:
        return phase;
    }
}

static enum nm_run_phase after_shim_end(enum nm_run_phase phase, bool has_record)
{
    switch (phase) {
    case NM_RUN_AT_GATE:
        return has_record ? NM_RUN_SHIM_GONE : NM_RUN_WITHDRAWN;
    case NM_RUN_LAUNCHED:
        return NM_RUN_SHIM_GONE;
    case NM_RUN_LAUNCHED_KILLED:
        return NM_RUN_SHIM_GONE_KILLED;
    default: /* created() in container-start.c checks the shim after it has made the cgroup */
        return phase;
    }
}

static void change(enum nm_run_phase *phase, enum nm_run_phase to)
{
    if (to != *phase)
        nm_run_phase_set(phase, to);
}

void nm_run_phase_note_sigkill(enum nm_run_phase *phase)
{
    change(phase, after_sigkill(*phase));
}

void nm_run_phase_note_shim_end(enum nm_run_phase *phase, bool has_record)
{
    change(phase, after_shim_end(*phase, has_record));
}

void nm_run_phase_note_empty(enum nm_run_phase *phase)
{
    bool is_withdrawn = is_one_of(*phase, TO(AT_GATE) | TO(WITHDRAWN) | TO(WITHDRAWN_KILLED));

    nm_run_phase_set(phase, is_withdrawn ? NM_RUN_REQUEUEING : NM_RUN_ENDING);
}

bool nm_run_phase_is_creating(enum nm_run_phase phase)
{
    return is_one_of(phase, TO(CREATING) | TO(KILL_PENDING));
}

bool nm_run_phase_is_killed(enum nm_run_phase phase)
{
    return is_one_of(phase, TO(LAUNCHED_KILLED) | TO(SHIM_GONE_KILLED) | TO(WITHDRAWN_KILLED));
}

bool nm_run_phase_is_shim_gone(enum nm_run_phase phase)
{
    return is_one_of(phase, TO(SHIM_GONE) | TO(SHIM_GONE_KILLED) | TO(WITHDRAWN) | TO(WITHDRAWN_KILLED));
}

bool nm_run_phase_is_ending(enum nm_run_phase phase)
{
    return is_one_of(phase, TO(ENDING) | TO(REQUEUEING) | TO(ASKING_OWNER));
}
