/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The phases of one run of a container, from the start of its shim to the removal of its cgroup. The container's state
 * (container.h) is shown to clients. The phase is internal: the progress of nmd with the run's processes. The only
 * table of transitions is in run-phase.c. Pure functions: no clock, no I/O.
 */

#include <stdbool.h>

enum nm_run_phase {
    NM_RUN_NONE,             /* there is no shim: the container waits in the queue or for its launch */
    NM_RUN_CREATING,         /* the shim waits at its gate while the backend makes the cgroup */
    NM_RUN_KILL_PENDING,     /* like CREATING, and a kill was requested meanwhile */
    NM_RUN_AT_GATE,          /* an earlier nmd's shim waits at its gate; it will start the command or exit */
    NM_RUN_LAUNCHED,         /* the gate is open; the shim will report how the command ends */
    NM_RUN_LAUNCHED_KILLED,  /* SIGKILL was sent to the whole cgroup; the shim's end is not reported yet */
    NM_RUN_SHIM_GONE,        /* the shim has ended; the cgroup may still have processes */
    NM_RUN_SHIM_GONE_KILLED, /* like SHIM_GONE, and SIGKILL was sent to the remaining processes */
    NM_RUN_WITHDRAWN,        /* the start was given up before the command ran; the container will be queued again */
    NM_RUN_WITHDRAWN_KILLED, /* like WITHDRAWN, and SIGKILL was sent to the remaining processes */
    NM_RUN_ENDING,           /* the end is handled in the next turn of the event loop */
    NM_RUN_REQUEUEING,       /* like ENDING, for a start that was given up */
    NM_RUN_ASKING_OWNER,     /* the end is known, and the owner decides whether the container runs again */
    NM_RUN_REMOVED,          /* the container is in no list; the last pending set_limits call frees it */
    NM_RUN_PHASE_COUNT
};

/* Returns the phase's name, such as "launched-killed", for assertions, logs and tests. */
const char *nm_run_phase_name(enum nm_run_phase phase);
bool nm_run_phase_may_become(enum nm_run_phase from, enum nm_run_phase to);
/* Asserts that the table has the transition. */
void nm_run_phase_set(enum nm_run_phase *phase, enum nm_run_phase to);

/* Each of these three functions handles an event that may occur in several phases. nm_run_phase_note_sigkill() and
 * nm_run_phase_note_shim_end() leave the phase unchanged if the event adds no information. */
/* Notes that SIGKILL was sent to the whole cgroup. */
void nm_run_phase_note_sigkill(enum nm_run_phase *phase);
/* Notes that the shim has ended. has_record: the shim left a record of how the command ended, or why the command never
 * ran. */
void nm_run_phase_note_shim_end(enum nm_run_phase *phase, bool has_record);
/* Notes that the cgroup is empty, so that the end is handled next. */
void nm_run_phase_note_empty(enum nm_run_phase *phase);

/* Returns whether the backend is creating the cgroup. */
bool nm_run_phase_is_creating(enum nm_run_phase phase);
/* Returns whether SIGKILL was sent to the whole cgroup and the end isn't handled yet. */
bool nm_run_phase_is_killed(enum nm_run_phase phase);
/* Returns whether the shim has ended, so that it sends no more reports, and the end isn't handled yet. */
bool nm_run_phase_is_shim_gone(enum nm_run_phase phase);
/* Returns whether the end is being handled. */
bool nm_run_phase_is_ending(enum nm_run_phase phase);
