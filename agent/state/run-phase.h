/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The phases of one run of a container, from its shim's birth to the removal of its cgroup. The container's state
 * (container.h) says what clients see; the phase says how far nmd has come with the processes. The one table of
 * transitions is in run-phase.c. Pure: no clock, no I/O.
 */

#include <stdbool.h>

enum nm_run_phase {
    NM_RUN_NONE,             /* there is no shim: the container waits, or its start is due */
    NM_RUN_CREATING,         /* the shim waits at its gate while the backend makes the cgroup */
    NM_RUN_KILL_PENDING,     /* the same, and a kill was asked for meanwhile */
    NM_RUN_AT_GATE,          /* an earlier nmd's shim at its gate: it starts after all, or leaves */
    NM_RUN_LAUNCHED,         /* the gate is open; the shim tells how the command ends */
    NM_RUN_LAUNCHED_KILLED,  /* SIGKILL was sent to the whole cgroup; the shim's end wasn't heard yet */
    NM_RUN_SHIM_GONE,        /* the command is over, or never ran; processes may be left in the cgroup */
    NM_RUN_SHIM_GONE_KILLED, /* the same, and SIGKILL was sent to them */
    NM_RUN_WITHDRAWN,        /* the start was given up before anything ran: the container is queued again */
    NM_RUN_WITHDRAWN_KILLED, /* the same, and SIGKILL was sent to what was left in the cgroup */
    NM_RUN_ENDING,           /* the end is handled in the next turn of the event loop */
    NM_RUN_REQUEUEING,       /* the same, for a start that was given up */
    NM_RUN_ASKING_OWNER,     /* the end is known, and the owner is asked whether the container runs again */
    NM_RUN_REMOVED,          /* out of the lists; the last call under way frees it */
    NM_RUN_PHASE_COUNT
};

/* "launched-killed": for assertions, logs and tests. */
const char *nm_run_phase_name(enum nm_run_phase phase);
bool nm_run_phase_may_become(enum nm_run_phase from, enum nm_run_phase to);
/* Asserts that the table has the transition. */
void nm_run_phase_set(enum nm_run_phase *phase, enum nm_run_phase to);

/* Events that may come in several phases; where one says nothing new, the phase stays. */
/* SIGKILL was sent to the whole cgroup. */
void nm_run_phase_note_sigkill(enum nm_run_phase *phase);
/* has_record: the shim has left a record of how the command ended, or why it never ran. */
void nm_run_phase_note_shim_end(enum nm_run_phase *phase, bool has_record);
/* The cgroup is empty, and the end is handled next. */
void nm_run_phase_note_empty(enum nm_run_phase *phase);

/* The backend is at work on the cgroup. */
bool nm_run_phase_is_creating(enum nm_run_phase phase);
/* SIGKILL was sent to the whole cgroup, and the end isn't handled yet. */
bool nm_run_phase_is_killed(enum nm_run_phase phase);
/* No shim is left that could tell anything, and the end isn't handled yet. */
bool nm_run_phase_is_shim_gone(enum nm_run_phase phase);
/* The end is being handled. */
bool nm_run_phase_is_ending(enum nm_run_phase phase);
