/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A container: what was asked for, where it stands, and what it uses. The state machine is the one table in
 * container.c; every change of state goes through nm_container_set_state(), but for what a new nmd finds otherwise
 * than its journal says (recovery.c): that is no change, and in no table.
 */

#include "agent/command.h"
#include "agent/policy/policy.h"
#include "cgroup/cgroup.h"
#include "monitor/monitor.h"

#define NM_BLOB_MAX (1u << 20)

/* What an owner keeps with its container, and nobody else looks into. */
struct nm_blob {
    void *data; /* NULL: nothing */
    size_t bytes;
};

struct nm_container {
    char id[NM_ID_SIZE];
    char name[NM_NAME_SIZE]; /* "" if none was given */
    char app[NM_NAME_SIZE];  /* "" if none */
    char owner[16];          /* who submitted it: "local", later "yarn" */
    uid_t submitter_uid;     /* may see and touch it, beside administrators */
    struct nm_command command;
    struct nm_blob blob;
    char *log_dir;           /* of its owner's, where its command's own "stdout" and "stderr" are; NULL: none */
    struct nm_policy_container view;     /* type, state, request, usage, times: what policy sees */
    uint32_t vcores_milli;   /* as asked; view.request.cpu_millicores is the same in millicores */

    uint64_t submitted_realtime_usec, started_realtime_usec, finished_realtime_usec;
    uint64_t finished_usec;
    uint64_t kill_deadline_usec;     /* KILLING: SIGTERM until then, SIGKILL from then on; 0: SIGKILL at once */
    pid_t shim_pid;              /* 0 before launch */
    uint64_t shim_start_ticks;   /* /proc/PID/stat field 22: tells a recycled pid */
    pid_t pid;                   /* the command's; 0 before it started */
    uint64_t cgroup_inode;       /* with the boot id: identity of the cgroup */
    int32_t exit_code;           /* valid when COMPLETED; 128 + signal for signals; -1 if it never ran */
    int32_t exit_signal;         /* 0 if none */
    enum nm_exit_reason exit_reason;
    enum nm_exit_reason kill_reason; /* why KILLING, before the end is known */
    enum nm_reason exit_cause;   /* what moved whoever took it, when it didn't end by itself; else NM_REASON_NONE */
    uint64_t exit_decision;      /* the number of that decision, whose record has the figures; 0: none */
    int32_t owner_code;          /* what its owner gave as its own reason to end it (nm_manager_end()); 0: nothing */
    bool rerun;                  /* its owner has it run again: its processes are being ended for that */
    bool keep_result;            /* when it has ended, it stays until its owner has acknowledged that */
    uint64_t memory_peak_bytes, swap_bytes, oom_kills;
    uint64_t log_bytes;          /* COMPLETED: what its output takes up on disk; not journalled, but measured */
    bool log_measured;
    char progress[96];           /* LOCALIZING: how far its owner has come, in a few words; not journalled */
    char message[160];           /* one more sentence about the end, "" if there is none */
};

int nm_container_new(struct nm_container **ret);
struct nm_container *nm_container_free(struct nm_container *c);
NM_DEFINE_CLEANUP(struct nm_container *, nm_container_free)

/* A copy in the place of what was there; 0 bytes: nothing. */
int nm_container_set_blob(struct nm_container *c, const void *data, size_t bytes);

/* The same for its log_dir; "": none. */
int nm_container_set_log_dir(struct nm_container *c, const char *dir);

/* Returns 0, or -EPROTO when the table has no such transition (nothing is changed). */
int nm_container_set_state(struct nm_container *c, enum nm_state to);
bool nm_container_may_become(enum nm_state from, enum nm_state to);

/* A start that ran nothing was given up: back to where the container was before it, in the queue. What was measured
 * and heard of that start is not the next one's. */
void nm_container_forget_start(struct nm_container *c);

/* How it has ended, which isn't its end. */
void nm_container_forget_end(struct nm_container *c);
/* All of what it ran is over, and it is NEW: what is known of that run isn't the next one's. */
void nm_container_forget_run(struct nm_container *c);

/* "container_1763769112_000001 (name)", or the id alone. */
const char *nm_container_label(const struct nm_container *c, char *buf, size_t size);

/* How a COMPLETED container ended: "exited, exit code 3", or "drained" alone if it never ran. */
const char *nm_container_end_text(const struct nm_container *c, char *buf, size_t size);

/* The same in one word, for a COMPLETED container: it succeeded, failed by itself, or was ended by nmd or a person. */
enum nm_container_end { NM_END_SUCCEEDED, NM_END_FAILED, NM_END_KILLED };
enum nm_container_end nm_container_end_kind(const struct nm_container *c);

/* Writes the container's state to buf as lists show it, and returns buf: "QUEUED", "RUNNING". For an ended container
 * that is how it ended and, in parentheses, why: "Succeeded" (exit code 0), "Failed (3)" or "Failed (SIGSEGV)" (by
 * itself), "Killed (preempted)" (by nmd or a person). NM_STATE_TEXT_SIZE bytes are enough. */
#define NM_STATE_TEXT_SIZE 48
const char *nm_container_state_text(const struct nm_container *c, char *buf, size_t size);
