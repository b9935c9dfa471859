/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The shim's record: the state of the command. See launch.h for the files in the container's directory. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The step at which a launch failed. There is a separate message for each step. */
enum nm_launch_stage {
    NM_LAUNCH_STAGE_NONE,
    NM_LAUNCH_STAGE_SHIM,    /* the shim could not be started, or ended before the gate opened */
    NM_LAUNCH_STAGE_LOGS,
    NM_LAUNCH_STAGE_USER,    /* setgroups, setgid, setuid */
    NM_LAUNCH_STAGE_WORKDIR,
    NM_LAUNCH_STAGE_CONFINE, /* separate namespaces */
    NM_LAUNCH_STAGE_EXEC,    /* error: ENOENT not found, EACCES not executable, ENOEXEC, ... */
    NM_LAUNCH_STAGE_COUNT,
};
const char *nm_launch_stage_name(enum nm_launch_stage s);

enum nm_launch_phase { NM_LAUNCH_WAITING, NM_LAUNCH_STARTED, NM_LAUNCH_ENDED };

/* The present state of a command, as recorded by its shim. */
struct nm_launch_record {
    enum nm_launch_phase phase;
    pid_t pid;                      /* pid of the command */
    uint64_t started_usec, started_realtime_usec;
    uint64_t ended_usec, ended_realtime_usec;
    enum nm_launch_stage failed_stage; /* NONE: the command ran */
    int failed_errno;
    int exit_code;                  /* -1 if a signal ended the command */
    int exit_signal;                /* 0 if the command exited */
    uint64_t max_rss_bytes;         /* highest RSS of one process of the command's tree, from wait4 */
    /* Counters of the whole cgroup, or 0 without a memory controller. The shim reads them, because systemd may remove
     * the cgroup before nmd can read them. */
    uint64_t oom_kills, memory_peak_bytes;
    uint64_t ooms; /* how often the cgroup reached its own limit and the kernel could reclaim no memory */
/* value of `ooms` if the number is unknown: older shims do not record it, and the cgroup may already be removed */
#define NM_LAUNCH_OOMS_UNKNOWN UINT64_MAX
    uint64_t output_max_bytes;      /* limit of each stream's log; 0: no limit, or an older shim */
    uint64_t output_lost_bytes;     /* output that could not be written */
};

#define NM_LAUNCH_RECORD_FILE "record"
#define NM_LAUNCH_GATE_FILE "gate"
#define NM_LAUNCH_RECORD_SIZE 1024 /* larger than any record, NUL included */

/* These functions parse and print the record's text. The text is not trusted, so the parser is a pure function and
 * tests/fuzz tests it. Returns -EBADMSG if the text is malformed. */
int nm_launch_record_parse(const char *text, struct nm_launch_record *ret);
int nm_launch_record_print(const struct nm_launch_record *r, char *buf, size_t size);
/* Reads <dir>/record. Returns -ENOENT if the shim has not written it yet. */
int nm_launch_record_read(const char *container_dir, struct nm_launch_record *ret);
