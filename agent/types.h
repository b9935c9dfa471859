/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Types that all of agent/ shares, and other folders through agent.h. Enum-to-name functions return the names that
 * JSON and people use; the _from_string functions return 0 or -EINVAL.
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

/* An amount of both resources. CPU is in physical millicores; requests in vcores are converted when they arrive. */
struct nm_resources {
    uint64_t memory_bytes;
    uint64_t cpu_millicores;
};

enum nm_execution_type { NM_GUARANTEED, NM_OPPORTUNISTIC };

/* YARN's container states. In NEW and LOCALIZING the container's owner prepares it; a container without preparation
 * begins as SCHEDULED. A container remains SCHEDULED after its admission until its command has started. */
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
 * How a container ended, as `exit_reason`. The list is closed, since owners translate each value. If the container was
 * ended from outside (OOM, PREEMPTED to DRAINED), exit_cause and exit_decision give the cause and, for an end that nmd
 * decided, the figures: PREEMPTED has the cause memory-over-beta, cpu-over-beta, room-for-guaranteed or room-for-head.
 * KILLED has the cause user or owner, and owner_code may say more. OOM has the cause kernel-oom unless the container
 * reached its own limit.
 */
enum nm_exit_reason {
    NM_EXIT_NONE,            /* the container has not ended */
    NM_EXIT_EXITED,          /* "exited": the command exited, with exit_code */
    /* "signaled": a signal that nmd did not send ended the command; exit_code = 128 + signal */
    NM_EXIT_SIGNALED,
    NM_EXIT_OOM,             /* "oom-killed": the kernel killed the container, over its own or the slice's limit */
    NM_EXIT_PREEMPTED,       /* "preempted": the policy killed the container to take resources back */
    NM_EXIT_PAUSE_DEADLINE,  /* "pause-deadline": the container was paused for too long */
    NM_EXIT_KILLED,          /* "killed": a user, an administrator or the owner killed the container */
    NM_EXIT_SHED,            /* "shed": the container was discarded from the queue, which was too long or too slow */
    NM_EXIT_DRAINED,         /* "drained": nmctl drain ended the container */
    NM_EXIT_NOT_FOUND,       /* "command-not-found" (exit_code 127) */
    NM_EXIT_NOT_EXECUTABLE,  /* "permission-denied" (exit_code 126) */
    NM_EXIT_BAD_USER,        /* "bad-user" */
    NM_EXIT_BAD_WORKDIR,     /* "bad-workdir" */
    NM_EXIT_LAUNCH_FAILED,   /* "launch-failed": another error before the command ran */
    NM_EXIT_LOST,            /* "lost": the host rebooted, or shim and cgroup vanished without a record */
    NM_EXIT_STOPPED,         /* "stopped": systemd, not nmd, stopped the container's scope or the slice */
    NM_EXIT_LOCALIZATION_FAILED, /* "localization-failed": the owner could not prepare the container */
    NM_EXIT_REASON_COUNT,
};

/*
 * Ids are used as names of directories, scopes and rows: "container_" followed by letters, digits and '_'. nmd's own
 * ids are "container_<epoch>_<6 digits or more>" and are never reused. An owner may use other ids (nm_submit.id).
 */
bool nm_id_is_valid(const char *id);
/* Returns whether the id has the form of nmd's own ids. Sets *ret_epoch and *ret_number only if the id has this
 * form. */
bool nm_id_parse(const char *id, uint64_t *ret_epoch, uint64_t *ret_number);
void nm_id_print(uint64_t epoch, uint64_t number, char buf[NM_ID_SIZE]);

/* Values per resource as fractions of the capacity, such as thresholds. */
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
const char *nm_state_name(enum nm_state s); /* YARN's name, used by programs: "RUNNING", "SCHEDULED" */
/* Returns nmctl's name, shown to people: QUEUED instead of SCHEDULED, ENDED instead of COMPLETED. */
const char *nm_state_word(enum nm_state s);
int nm_state_from_string(const char *s, enum nm_state *ret);
const char *nm_exit_reason_name(enum nm_exit_reason r); /* "exited", ...; "" for NM_EXIT_NONE */
int nm_exit_reason_from_string(const char *s, enum nm_exit_reason *ret);
const char *nm_resource_name(enum nm_resource r); /* "memory", "cpu" */
