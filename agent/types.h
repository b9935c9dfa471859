/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The words that all of agent/ (and, through agent.h, rpc/ and yarn/) share. Enum-to-name functions give the names
 * that JSON and people see; the _from_string functions return 0 or -EINVAL.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/macros.h"

#define NM_ID_SIZE 64   /* container id with its NUL: nm_id_is_valid() */
#define NM_NAME_SIZE 64 /* name, application: nm_name_is_valid() */

enum nm_resource { NM_MEMORY, NM_CPU, NM_RESOURCE_COUNT };

/* An amount of both resources. CPU is in physical millicores; vcores are turned into them at the edge. */
struct nm_resources {
    uint64_t memory_bytes;
    uint64_t cpu_millicores;
};

enum nm_execution_type { NM_GUARANTEED, NM_OPPORTUNISTIC };

/* YARN's container states. In NEW and LOCALIZING its owner makes ready what it needs; one that needs nothing begins as
 * SCHEDULED. A container that was admitted but whose command has not started yet is still SCHEDULED. */
enum nm_state {
    NM_NEW,
    NM_LOCALIZING,
    NM_SCHEDULED,
    NM_RUNNING,
    NM_PAUSING,
    NM_PAUSED,
    NM_RESUMING,
    NM_KILLING,
    NM_COMPLETED,
    NM_STATE_COUNT,
};

/*
 * How a container ended, as `exit_reason`. The list is closed: an owner has a word of its own for each. Where somebody
 * took it (OOM, PREEMPTED to DRAINED), exit_cause and exit_decision beside it say what for and on which figures, as far
 * as that was decided here: PREEMPTED is for memory-over-beta, cpu-over-beta, room-for-guaranteed or room-for-head,
 * KILLED for a user or the owner, whose owner_code says more; OOM has the cause kernel-oom if it was not for its own
 * limit.
 */
enum nm_exit_reason {
    NM_EXIT_NONE,            /* still alive */
    NM_EXIT_EXITED,          /* "exited": by itself, exit_code says how */
    NM_EXIT_SIGNALED,        /* "signaled": by a signal that nmd did not send; exit_code = 128 + signal */
    NM_EXIT_OOM,             /* "oom-killed": by the kernel, over its own or the slice's limit */
    NM_EXIT_PREEMPTED,       /* "preempted": killed by policy to give resources back */
    NM_EXIT_PAUSE_DEADLINE,  /* "pause-deadline": paused for too long */
    NM_EXIT_KILLED,          /* "killed": by a user, an administrator or its owner */
    NM_EXIT_SHED,            /* "shed": discarded from the queue: it was longer than its limit, or moved too slowly */
    NM_EXIT_DRAINED,         /* "drained": ended by nmctl drain */
    NM_EXIT_NOT_FOUND,       /* "command-not-found" (exit_code 127) */
    NM_EXIT_NOT_EXECUTABLE,  /* "permission-denied" (exit_code 126) */
    NM_EXIT_BAD_USER,        /* "bad-user" */
    NM_EXIT_BAD_WORKDIR,     /* "bad-workdir" */
    NM_EXIT_LAUNCH_FAILED,   /* "launch-failed": anything else before the command ran */
    NM_EXIT_LOST,            /* "lost": the host rebooted, or shim and cgroup vanished without a word */
    NM_EXIT_STOPPED,         /* "stopped": through systemd (its scope, or the slice), from outside nmd */
    NM_EXIT_LOCALIZATION_FAILED, /* "localization-failed": its owner could not make ready what it needs */
    NM_EXIT_REASON_COUNT,
};

/*
 * Ids are names of directories, scopes and rows: "container_" and more letters, digits and '_'. nmd's own are
 * "container_<epoch>_<6 digits or more>" and never come twice; an owner may bring others (nm_submit.id).
 */
bool nm_id_is_valid(const char *id);
/* Is it of the form of nmd's own? Only then the numbers are set. */
bool nm_id_parse(const char *id, uint64_t *ret_epoch, uint64_t *ret_number);
void nm_id_print(uint64_t epoch, uint64_t number, char buf[NM_ID_SIZE]);

/* How often one of the thresholds is named: fraction of capacity, per resource. */
struct nm_fractions {
    double memory, cpu;
};

static inline uint64_t nm_resources_get(const struct nm_resources *r, enum nm_resource which)
{
    return which == NM_MEMORY ? r->memory_bytes : r->cpu_millicores;
}

static inline double nm_fractions_get(const struct nm_fractions *f, enum nm_resource which)
{
    return which == NM_MEMORY ? f->memory : f->cpu;
}

const char *nm_execution_type_name(enum nm_execution_type t); /* "GUARANTEED", "OPPORTUNISTIC" */
int nm_execution_type_from_string(const char *s, enum nm_execution_type *ret); /* any case */
const char *nm_state_name(enum nm_state s); /* YARN's name, for programs: "RUNNING", "SCHEDULED" */
/* Returns nmctl's name, for people: QUEUED instead of SCHEDULED, ENDED instead of COMPLETED. */
const char *nm_state_word(enum nm_state s);
int nm_state_from_string(const char *s, enum nm_state *ret);
const char *nm_exit_reason_name(enum nm_exit_reason r); /* "exited", ...; "" for NM_EXIT_NONE */
int nm_exit_reason_from_string(const char *s, enum nm_exit_reason *ret);
const char *nm_resource_name(enum nm_resource r); /* "memory", "cpu" */
