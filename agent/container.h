/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A container: its request, its state and its use of resources. The state machine is the table in container.c, and
 * every change of state goes through nm_container_set_state(). The only exception is recovery.c: when a new nmd finds a
 * container in another state than the journal says, recovery.c sets the state without a transition of the table.
 */

#include "agent/command.h"
#include "agent/policy/policy.h"
#include "cgroup/cgroup.h"
#include "monitor/monitor.h"

#define NM_BLOB_MAX (1u << 20)

/* Opaque data that an owner keeps with its container. Only the owner interprets it. */
struct nm_blob {
    void *data; /* NULL: no data */
    size_t bytes;
};

struct nm_container {
    char id[NM_ID_SIZE];
    char name[NM_NAME_SIZE]; /* "" if the request has no name */
    char app[NM_NAME_SIZE];  /* "" if the request names no application */
    char owner[16];          /* the part of nmd that submitted the container: "local", or an upstream's name */
    uid_t submitter_uid;     /* user who submitted the container and may see and control it, as administrators may */
    struct nm_command command;
    struct nm_blob blob;
    char *log_dir;           /* directory of the owner with the command's "stdout" and "stderr"; NULL if the owner gave
                                no directory */
    struct nm_policy_container view;     /* the policy's view: type, state, request, usage, times */
    uint32_t vcores_milli;   /* CPU as requested; view.request.cpu_millicores is the same in millicores */

    uint64_t submitted_realtime_usec, started_realtime_usec, finished_realtime_usec;
    uint64_t finished_usec;
    pid_t shim_pid;              /* 0 before launch */
    uint64_t shim_start_ticks;   /* /proc/PID/stat field 22: detects a reused pid */
    pid_t pid;                   /* pid of the command; 0 before the command has started */
    uint64_t cgroup_inode;       /* identifies the cgroup, together with the boot id */
    int32_t exit_code;           /* valid when COMPLETED; 128 + signal for signals; -1 if the command never ran */
    int32_t exit_signal;         /* signal that ended the command; 0 if no signal ended it */
    enum nm_exit_reason exit_reason;
    enum nm_exit_reason kill_reason; /* KILLING: becomes exit_reason at the end */
    enum nm_reason exit_cause;   /* why nmd, an owner or the kernel ended the container; NM_REASON_NONE if the command
                                    exited without such a cause */
    uint64_t exit_decision;      /* number of the decision to end the container; 0 if no decision ended it */
    int32_t owner_code;          /* the owner's own reason code from nm_manager_end(); 0 if the owner did not end the
                                    container */
    /* The owner's request to run the container again: its processes are being ended, and NEW follows instead of
     * COMPLETED. This is not a state, because clients see RUNNING meanwhile, and not a phase of the run, because the
     * phases are those of a kill. A kill withdraws the request. Only container.c and the readers of rows change it. */
    bool rerun;
    bool keep_result;            /* keep the ended container until its owner has acknowledged the result */
    uint64_t memory_peak_bytes, swap_bytes, oom_kills;
    uint64_t log_bytes;          /* COMPLETED: size of the container's output on disk; measured, not journalled */
    bool log_measured;
    char progress[96];           /* LOCALIZING: the owner's progress in a few words; not journalled */
    char message[160];           /* a further sentence about the container's end, or "" */
    struct nm_cgroup_devices devices; /* set by the owner; not journalled */
};

int nm_container_new(struct nm_container **ret);
struct nm_container *nm_container_free(struct nm_container *c);
NM_DEFINE_CLEANUP(struct nm_container *, nm_container_free)

/* Replaces the blob by a copy of `data`; 0 bytes: removes the blob. */
int nm_container_set_blob(struct nm_container *c, const void *data, size_t bytes);

/* Replaces log_dir by a copy of `dir`; "": sets log_dir to NULL. */
int nm_container_set_log_dir(struct nm_container *c, const char *dir);

/* Changes the state. Returns 0, or -EPROTO if the table has no such transition. On failure the state stays
 * unchanged. */
int nm_container_set_state(struct nm_container *c, enum nm_state to);
bool nm_container_may_become(enum nm_state from, enum nm_state to);

/* Notes the owner's request to run the container again. The container must have started and must not be KILLING. */
void nm_container_request_rerun(struct nm_container *c);
/* Returns whether the container's processes are being ended: because the container is in state KILLING, or because its
 * owner runs it again (nm_container.rerun). */
bool nm_container_is_being_ended(const struct nm_container *c);

/* Resets a container whose start was withdrawn before its command ran. The container returns to the queue without the
 * measurements and results of that start. */
void nm_container_drop_start(struct nm_container *c);

/* Clears the data on how the container ended, but leaves the container's state unchanged. */
void nm_container_drop_end(struct nm_container *c);
/* Resets a container to NEW after its run is over, so that it can run again. Clears all data of the previous run. */
void nm_container_drop_run(struct nm_container *c);

/* Writes "container_1763769112_000001 (name)", or the id alone, to buf, and returns buf. */
const char *nm_container_label(const struct nm_container *c, char *buf, size_t size);

/* Describes how a COMPLETED container ended: "exited, exit code 3", or only "drained" if it never ran. */
const char *nm_container_end_text(const struct nm_container *c, char *buf, size_t size);

/* Classifies the end of a COMPLETED container: it succeeded, failed without being killed by nmd or a person, or was
 * killed by nmd or a person. */
enum nm_container_end { NM_END_SUCCEEDED, NM_END_FAILED, NM_END_KILLED };
enum nm_container_end nm_container_end_kind(const struct nm_container *c);

#define NM_STATE_TEXT_SIZE 48
/* Writes the container's state to buf as lists show it, and returns buf: "QUEUED", "RUNNING". For an ended container,
 * writes the result and, in parentheses, the cause: "Succeeded" for exit code 0, "Failed (3)" or "Failed (SIGSEGV)" for
 * other ends of the command, "Killed (preempted)" for a kill by nmd or a person. NM_STATE_TEXT_SIZE bytes are
 * enough. */
const char *nm_container_state_text(const struct nm_container *c, char *buf, size_t size);
