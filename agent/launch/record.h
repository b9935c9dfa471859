/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a shim has seen of its command, and the files that say so; see launch.h. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where a launch failed, so that each case gets its own message. */
enum nm_launch_stage {
    NM_LAUNCH_STAGE_NONE,
    NM_LAUNCH_STAGE_SHIM,    /* the shim itself could not be started, or went before the gate opened */
    NM_LAUNCH_STAGE_LOGS,
    NM_LAUNCH_STAGE_USER,    /* setgroups, setgid, setuid */
    NM_LAUNCH_STAGE_WORKDIR,
    NM_LAUNCH_STAGE_CONFINE, /* namespaces of its own */
    NM_LAUNCH_STAGE_EXEC,    /* error: ENOENT not found, EACCES not executable, ENOEXEC, ... */
    NM_LAUNCH_STAGE_COUNT,
};
const char *nm_launch_stage_name(enum nm_launch_stage s);

enum nm_launch_phase { NM_LAUNCH_WAITING, NM_LAUNCH_STARTED, NM_LAUNCH_ENDED };

/* What the shim has recorded so far. */
struct nm_launch_record {
    enum nm_launch_phase phase;
    pid_t pid;                      /* the command's */
    uint64_t started_usec, started_realtime_usec;
    uint64_t ended_usec, ended_realtime_usec;
    enum nm_launch_stage failed_stage; /* NONE: the command ran */
    int failed_errno;
    int exit_code;                  /* -1 when ended by a signal */
    int exit_signal;                /* 0 when it exited */
    uint64_t max_rss_bytes;         /* of the command's process tree's largest, from wait4 */
    /* Of the whole cgroup, which is gone when nobody looks before systemd does; 0 where there is no
     * memory controller. */
    uint64_t oom_kills, memory_peak_bytes;
    uint64_t ooms; /* how often its own limit was reached, with nothing left to reclaim */
#define NM_LAUNCH_OOMS_UNKNOWN UINT64_MAX /* an older shim doesn't say, and the cgroup may be gone */
    uint64_t output_max_bytes;      /* limit of each stream's log; 0: none, or an older shim's */
    uint64_t output_lost_bytes;     /* could not be written */
};

#define NM_LAUNCH_RECORD_FILE "record"
#define NM_LAUNCH_GATE_FILE "gate"
#define NM_LAUNCH_RECORD_SIZE 1024 /* more than any record needs, NUL included */

/* The record's text form, a pure parser and printer (foreign bytes: it is fuzzed). -EBADMSG when malformed. */
int nm_launch_record_parse(const char *text, struct nm_launch_record *ret);
int nm_launch_record_print(const struct nm_launch_record *r, char *buf, size_t size);
/* Reads <dir>/record. -ENOENT: the shim has written nothing yet. */
int nm_launch_record_read(const char *container_dir, struct nm_launch_record *ret);
