/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cgroup/ contains all code that accesses cgroup files and systemd units.
 *
 * Each container has one cgroup, "<prefix><container id>.scope" directly below the slice (prefix = the slice's name
 * without ".slice", plus "-"). The layout is the same on all backends:
 *
 *   systemd  transient scopes in the slice, over sd-bus, asynchronously;
 *   direct   cgroupfs directories of the same names, for hosts without systemd as PID 1;
 *   fake     plain files in a temporary directory, for unit tests.
 *
 * The backends differ only in struct nm_cgroup_ops. Operations that are plain file writes (freeze, kill, reclaim) share
 * their code. This folder logs only at debug level.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <systemd/sd-event.h>

#include "util/error.h"
#include "util/macros.h"

#define NM_CGROUP_NONE UINT64_MAX /* no limit */

/* The features of a kernel and backend. A missing feature is reported to the operator with its reason. */
enum nm_cgroup_feature {
    /* memory controller: memory.max, memory.low, memory.min, memory.events, memory.stat */
    NM_CGROUP_MEMORY_LIMITS,
    NM_CGROUP_CPU_WEIGHT,    /* cpu controller: cpu.weight, cpu.max */
    NM_CGROUP_CPU_IDLE,      /* cpu.idle (SCHED_IDLE for a whole cgroup) */
    NM_CGROUP_FREEZE,
    NM_CGROUP_KILL,          /* cgroup.kill; without this file each process is killed through a pidfd */
    NM_CGROUP_PRESSURE,      /* PSI files per cgroup */
    NM_CGROUP_RECLAIM,       /* memory.reclaim */
    NM_CGROUP_SWAP,          /* the host has swap, and the memory controller accounts swap */
    NM_CGROUP_PIDS,          /* pids controller */
    NM_CGROUP_IO_WEIGHT,     /* io controller: io.weight, or io.bfq.weight */
    NM_CGROUP_NET_PRIORITY,  /* priority of sockets created by the cgroup's processes */
    NM_CGROUP_FEATURE_COUNT,
};

/* Returns the name of a feature: "memory limits", "cpu weight", ... */
const char *nm_cgroup_feature_name(enum nm_cgroup_feature f);

#define NM_CGROUP_MINORS 64u /* number of bits of nm_cgroup_devices.minors */

/* The GPUs that a container may use: character devices of one major number, of which only the minor numbers in the mask
 * are accessible, and the control devices of NVIDIA's driver (nvidia-modeset 254, nvidiactl 255). Devices of all other
 * major numbers remain accessible. The rule is set when the cgroup is created, and only by a backend with
 * nm_cgroup_backend.restricts_devices. */
struct nm_cgroup_devices {
    bool restricts; /* false: all devices are accessible, and the other members have no meaning */
    uint32_t major;
    uint64_t minors; /* mask of the accessible minor numbers */
};

/* The limits of one container, in the terms of the kernel's files. */
struct nm_cgroup_limits {
    uint64_t memory_max_bytes; /* NM_CGROUP_NONE: no limit */
    uint64_t memory_low_bytes; /* protected memory, whose page cache may be reclaimed; 0: no protection */
    /* memory that is never reclaimed; 0: no protection. Must stay below memory_max_bytes (decision 0003) */
    uint64_t memory_min_bytes;
    uint32_t cpu_weight;       /* 1 .. 10000; ignored if cpu_idle is true */
    bool cpu_idle;
    /* cpu.max as a rate, rounded up to a multiple of 10; NM_CGROUP_NONE: no limit */
    uint64_t cpu_quota_millicores;
    uint64_t pids_max; /* NM_CGROUP_NONE: no limit */
    uint32_t io_weight; /* 1 .. 100; 0: leave unchanged */
    /* the kernel's OOM killer kills all processes of the container together */
    bool oom_group;
    struct nm_cgroup_devices devices; /* only create() uses it */
};

#define NM_CGROUP_LIMITS_NONE \
    ((struct nm_cgroup_limits){.memory_max_bytes = NM_CGROUP_NONE, .cpu_weight = 100, \
                               .cpu_quota_millicores = NM_CGROUP_NONE, .pids_max = NM_CGROUP_NONE})

/* A container's cgroup, identified by descriptor and inode: the kernel may recycle the path and the descriptor's
 * number, but not the pair (boot, inode). */
struct nm_cgroup {
    char *name;     /* "nm-container_1763769112_000001.scope" */
    char *path;     /* absolute, for messages and for comparison with /proc/PID/cgroup */
    /* the cgroup's directory, opened without O_PATH, because openat() uses this descriptor for reading and writing */
    int dir_fd;
    uint64_t inode;
};

/* Opens the directory path. Returns 0, -ENOENT if the cgroup no longer exists, or -errno. */
int nm_cgroup_open(const char *path, const char *name, struct nm_cgroup **ret);
struct nm_cgroup *nm_cgroup_free(struct nm_cgroup *cg);
NM_DEFINE_CLEANUP(struct nm_cgroup *, nm_cgroup_free)

/* Moves a process into the cgroup. Moving also works for a scope that systemd made: the scope is a leaf, which systemd
 * does not change once the unit runs, and systemd stops the process together with the unit. Returns 0, -ESRCH, -ENOENT
 * or another -errno. */
int nm_cgroup_move_in(const struct nm_cgroup *cg, pid_t pid);

/* The state of a cgroup according to cgroup.events. */
struct nm_cgroup_events {
    bool populated;
    bool frozen;
};

/* The functions below return 0, -ENOENT if the cgroup no longer exists (a normal result), -EOPNOTSUPP if this kernel or
 * mount has no such file, or another -errno. */
int nm_cgroup_read_events(const struct nm_cgroup *cg, struct nm_cgroup_events *ret);
/* nm_cgroup_freeze() only requests the change; cgroup.events shows when it is complete. */
int nm_cgroup_read_freeze(const struct nm_cgroup *cg, bool *ret); /* *ret: whether the last request was to freeze */
int nm_cgroup_freeze(const struct nm_cgroup *cg, bool frozen);
/* Removes CPU quota and idle class and sets the highest CPU weight before a kill. Dying processes release their memory
 * on their own CPU time, which takes idle-class or throttled processes seconds on a busy node (3.5 s were measured for
 * 350 MiB). */
void nm_cgroup_lift_cpu_limits(const struct nm_cgroup *cg);
/* Sends SIGKILL to all processes, even if they are frozen. Without cgroup.kill it freezes the cgroup first, so that no
 * process can fork away, and kills each process through a pidfd. cgroup.events shows when all processes have ended. */
int nm_cgroup_kill(const struct nm_cgroup *cg);
/* Works as nm_cgroup_kill(), but a child process kills a cgroup with many processes or threads: SIGKILL to 8000
 * processes takes some 0.3 s, since the dying processes need the CPUs and the kernel's locks. The child does not end
 * with this process. The event loop reaps the child. failed: called with the cgroup's name if the child can't kill the
 * cgroup; -ECANCELED: the child was killed. */
typedef void (*nm_cgroup_kill_failed_fn_t)(const char *name, int r);
int nm_cgroup_kill_in(sd_event *event, const struct nm_cgroup *cg, nm_cgroup_kill_failed_fn_t failed);
struct nm_procs_pass;
/* Sends the signal to all processes except `except` (0: no exception). The first processes are signalled immediately,
 * the others in later turns of the event loop (procs-pass.c). cg must exist until the pass is over or freed. If a
 * process can't be signalled, the others still get the signal; the error is returned, or passed to the function that is
 * called at the end. */
int nm_cgroup_signal(sd_event *event, const struct nm_cgroup *cg, int sig, pid_t except, struct nm_procs_pass **p);
int nm_cgroup_n_processes(const struct nm_cgroup *cg, unsigned *ret);

#define NM_COMM_SIZE 64
struct nm_cgroup_leftover_procs {
    unsigned n;               /* processes */
    unsigned n_hanging;       /* processes with a thread in uninterruptible sleep, state D */
    pid_t hanging;            /* pid of one hanging process; 0 if no process hangs */
    char comm[NM_COMM_SIZE];  /* name of the process `hanging` */
};

/* Finds the processes that still exist, and the processes that hang in the kernel (cgroup/leftover-procs.c). Returns
 * -ENOENT if the cgroup no longer exists. */
int nm_cgroup_leftover_procs(const struct nm_cgroup *cg, struct nm_cgroup_leftover_procs *ret);
/* Describes the processes in words. The text says "hangs" only of processes in state D. */
void nm_cgroup_leftover_procs_print(const struct nm_cgroup_leftover_procs *s, char *buf, size_t size);
int nm_cgroup_set_oom_group(const struct nm_cgroup *cg, bool on);
struct nm_cgroup_backend;
/* Marks the sockets that the cgroup's processes create from now on as background traffic (SO_PRIORITY 2), or stops
 * marking them. The mark outlives nmd and is removed with the cgroup. Returns -EOPNOTSUPP without
 * NM_CGROUP_NET_PRIORITY. */
int nm_cgroup_set_net_background(const struct nm_cgroup_backend *b, const struct nm_cgroup *cg, bool on);
/* Writes memory.reclaim, which blocks until the kernel is done: call it only in a worker process. Returns -EAGAIN if
 * the kernel reclaimed less than requested. */
int nm_cgroup_reclaim(const struct nm_cgroup *cg, uint64_t bytes);
/* Read the cgroup's swap use, including pages on their way to swap, and set its swap limit (NM_CGROUP_NONE: no
 * limit). */
int nm_cgroup_read_swap(const struct nm_cgroup *cg, uint64_t *ret_bytes);
int nm_cgroup_set_swap_max(const struct nm_cgroup *cg, uint64_t bytes);

/* The kernel's OOM counters from memory.events; all are zero if there is no memory controller. */
struct nm_cgroup_memory_events {
    uint64_t high, max, oom, oom_kill, oom_group_kill;
};
int nm_cgroup_read_memory_events(const struct nm_cgroup *cg, struct nm_cgroup_memory_events *ret);

/* Pure parsers, which tests and fuzzers also call. The parsers take NUL-terminated text, fill a struct, ignore unknown
 * keys and return -EBADMSG for a malformed line. */
int nm_cgroup_parse_events(const char *text, struct nm_cgroup_events *ret);
int nm_cgroup_parse_memory_events(const char *text, struct nm_cgroup_memory_events *ret);

/* ---- watches (cgroup/watch.c, cgroup/psi.c) -------------------------------------------------- */

struct nm_cgroup_watch;
enum nm_cgroup_watch_kind { NM_CGROUP_WATCH_EVENTS, NM_CGROUP_WATCH_MEMORY_EVENTS };

/* Calls cb in the event loop whenever cgroup.events (or memory.events) changes; cb must read the file, and may be
 * called although the file is unchanged. After the cgroup's removal an EVENTS watch calls cb one last time with gone =
 * true and becomes inactive; a MEMORY_EVENTS watch becomes inactive without a call. cb may free the watch. The watch
 * does not report changes from before this call: read the file once afterwards. Returns -ENOENT if the cgroup no longer
 * exists or has no such file. */
typedef void (*nm_cgroup_watch_cb_t)(enum nm_cgroup_watch_kind kind, bool gone, void *userdata);
int nm_cgroup_watch_new(sd_event *event, const struct nm_cgroup *cg, enum nm_cgroup_watch_kind kind,
                        nm_cgroup_watch_cb_t cb, void *userdata, struct nm_cgroup_watch **ret);
struct nm_cgroup_watch *nm_cgroup_watch_free(struct nm_cgroup_watch *w);
NM_DEFINE_CLEANUP(struct nm_cgroup_watch *, nm_cgroup_watch_free)

/* Sets a PSI trigger on a pressure file ("/proc/pressure/memory" with AT_FDCWD, or "memory.pressure" in the slice's
 * dir_fd). Calls cb, at most once per window, when tasks were stalled for stall_usec within window_usec (500 ms .. 10
 * s, else -EINVAL). Without CAP_SYS_RESOURCE the kernel accepts only multiples of 2 s: the next such window is then
 * used, with the same share of stall. Returns -EOPNOTSUPP if PSI is off. cb may free the watch. The watch ends silently
 * with its cgroup; a new cgroup of the same name needs a new watch. */
struct nm_psi_watch;
typedef void (*nm_psi_watch_cb_t)(void *userdata);
int nm_psi_watch_new(sd_event *event, int dir_fd, const char *file, bool full, uint64_t stall_usec,
                     uint64_t window_usec, nm_psi_watch_cb_t cb, void *userdata,
                     struct nm_psi_watch **ret);
struct nm_psi_watch *nm_psi_watch_free(struct nm_psi_watch *w);
NM_DEFINE_CLEANUP(struct nm_psi_watch *, nm_psi_watch_free)

struct nm_psi_line {
    double avg10, avg60, avg300; /* percent */
    uint64_t total_usec;
};
struct nm_psi {
    struct nm_psi_line some, full; /* full is all zero if the kernel has no such line */
};
int nm_psi_parse(const char *text, struct nm_psi *ret);
int nm_psi_read(int dir_fd, const char *file, struct nm_psi *ret);

/* ---- backends -------------------------------------------------------------------------------- */

enum nm_cgroup_backend_kind {
    /* systemd if it is PID 1 (or, for a non-root nmd, if a user manager answers), else direct */
    NM_CGROUP_BACKEND_AUTO,
    NM_CGROUP_BACKEND_SYSTEMD,
    NM_CGROUP_BACKEND_DIRECT,
    NM_CGROUP_BACKEND_FAKE,
};

struct nm_cgroup_backend;

/* Receives the result of an asynchronous operation: 0 or -errno. For create, cg is the new cgroup (ownership passes to
 * the callee) or NULL on failure. message is the reason in plain words on failure (valid during the call), else NULL.
 *
 * An operation that returns 0 calls cb exactly once, on the direct backend before it returns; an operation that returns
 * a negative errno has not begun and does not call cb. cb may be NULL for the set_* operations. cb is not called after
 * the backend was freed, and must not free the backend. Results that callers distinguish: -ENOTCONN no connection to
 * systemd for 60 s (shorter gaps are bridged), -ETIMEDOUT systemd didn't answer in time, -EAGAIN and -ENOSPC the cgroup
 * tree is full, -ESRCH the process has exited, -ENOENT the cgroup no longer exists, -EEXIST a cgroup of that name
 * exists. */
typedef void (*nm_cgroup_done_cb_t)(int result, struct nm_cgroup *cg, const char *message,
                                    void *userdata);

/* Receives each container cgroup that exists below the slice; ownership of cg passes to the callee. */
typedef void (*nm_cgroup_list_cb_t)(struct nm_cgroup *cg, const char *container_id, void *userdata);

struct nm_cgroup_ops {
    const char *name; /* "systemd", "direct", "fake" */
    /* Makes the slice and sets the slice's own limits (memory_max = capacity). nmd repeats the call when these limits
     * change. */
    int (*set_slice_limits)(struct nm_cgroup_backend *b, const struct nm_cgroup_limits *limits,
                            nm_cgroup_done_cb_t cb, void *userdata);
    /* Makes the container's cgroup, still without limits, so that the container's shim can be created in the cgroup
     * (CLONE_INTO_CGROUP), which is faster than moving the shim. The caller frees *ret, and removes the cgroup if no
     * create() follows. The member is NULL if systemd makes the cgroups. */
    int (*prepare)(struct nm_cgroup_backend *b, const char *container_id, struct nm_cgroup **ret);
    /* Makes the container's cgroup with its limits and moves pid (the waiting shim) into it, unless the shim was
     * created in the cgroup. */
    int (*create)(struct nm_cgroup_backend *b, const char *container_id, const char *description,
                  pid_t pid, const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb,
                  void *userdata);
    /* Changes limits in place (promotion, demotion, update, squeeze, drift repair). No process moves. The limits are in
     * force in the kernel when cb is called. */
    int (*set_limits)(struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                      const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb,
                      void *userdata);
    /* Removes an empty cgroup (rmdir, or reset-failed and stop of the unit). Returns 0 also if the cgroup does not
     * exist, and -EBUSY if it is not empty or has too many cgroups below it: repeat the call in a later turn of the
     * event loop. */
    int (*remove)(struct nm_cgroup_backend *b, const struct nm_cgroup *cg);
    int (*list)(struct nm_cgroup_backend *b, nm_cgroup_list_cb_t cb, void *userdata);
    /* Moves a running process of nmd's own into a cgroup beside the slice, "<stem>_<name>.scope", and sets its limits.
     * Reports the result as create() does. list() leaves this cgroup out, as it belongs to no container. */
    int (*attach_helper)(struct nm_cgroup_backend *b, const char *name, pid_t pid,
                         const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata);
    void (*free)(struct nm_cgroup_backend *b);
};

/* Reports that another process has asked the service manager to stop a container's unit (SIGTERM now, SIGKILL later),
 * or with container_id NULL the whole slice. Only the systemd backend calls this function, before the unit is
 * stopped. */
typedef void (*nm_cgroup_stopped_cb_t)(const char *container_id, void *userdata);

struct nm_cgroup_backend {
    const struct nm_cgroup_ops *ops;
    nm_cgroup_stopped_cb_t stopped_cb; /* set by the backend's creator, or NULL */
    void *stopped_userdata;
    bool reports_stops;
    char *slice;        /* "nm.slice" */
    char *prefix;       /* "nm-" */
    char *slice_path;   /* absolute path of the slice's directory */
    int slice_fd;       /* -EBADF until the slice exists */
    int net_priority_fd; /* descriptor of the BPF program for NM_CGROUP_NET_PRIORITY */
    bool user_manager;  /* systemd --user instead of the system manager */
    bool restricts_devices; /* create() applies nm_cgroup_limits.devices */
    bool feature[NM_CGROUP_FEATURE_COUNT];
    /* reason for a missing feature in plain words, or NULL */
    const char *missing[NM_CGROUP_FEATURE_COUNT];
};

struct nm_cgroup_backend_params {
    /* FAKE: cgroup_root is an empty temporary directory, or NULL if the backend shall make such a directory. */
    enum nm_cgroup_backend_kind kind;
    const char *slice;       /* must end in ".slice" */
    const char *cgroup_root; /* the cgroup2 mount; NULL: search /proc/self/mountinfo */
    sd_event *event; /* may be NULL for the direct backend */
};

/* Chooses and opens a backend: finds mount and controllers, fills in the features, makes the slice. Blocks until
 * systemd has started the slice; no later operation blocks. On failure *ret_message (if not NULL) is the reason in
 * plain words, which the caller frees. */
int nm_cgroup_backend_new(const struct nm_cgroup_backend_params *params,
                          struct nm_cgroup_backend **ret, char **ret_message);
/* Checks whether nm_cgroup_backend_new() could succeed, without creating anything. This check does not start the slice,
 * so it cannot detect whether systemd would refuse the start. */
int nm_cgroup_backend_check(const struct nm_cgroup_backend_params *params, char **ret_message);
struct nm_cgroup_backend *nm_cgroup_backend_free(struct nm_cgroup_backend *b);
NM_DEFINE_CLEANUP(struct nm_cgroup_backend *, nm_cgroup_backend_free)

/* Extracts "container_1_000001" from "nm-container_1_000001.scope" into buf. Returns -EINVAL for any other name. */
int nm_cgroup_container_id(const struct nm_cgroup_backend *b, const char *name, char *buf,
                           size_t size);

/* Detects drift: compares the limits that the kernel has for cg with the expected limits. Returns 0 if they are equal,
 * a positive bit mask (1 << enum nm_cgroup_drift) or -errno. Limits without a controller are not compared. */
enum nm_cgroup_drift {
    NM_CGROUP_DRIFT_MEMORY_MAX,
    NM_CGROUP_DRIFT_MEMORY_LOW,
    NM_CGROUP_DRIFT_MEMORY_MIN,
    NM_CGROUP_DRIFT_CPU_WEIGHT,
    NM_CGROUP_DRIFT_CPU_IDLE,
    NM_CGROUP_DRIFT_CPU_QUOTA,
    NM_CGROUP_DRIFT_OOM_GROUP,
    NM_CGROUP_DRIFT_IO_WEIGHT,
    NM_CGROUP_DRIFT_COUNT,
};
const char *nm_cgroup_drift_file(enum nm_cgroup_drift d); /* "memory.max", ... */
int nm_cgroup_check_drift(const struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                          const struct nm_cgroup_limits *expected);
/* Reads one of the memory limits; NM_CGROUP_NONE stands for "max". Returns 0, -EBADMSG, or the error of reading. */
int nm_cgroup_read_limit(const struct nm_cgroup *cg, enum nm_cgroup_drift d, uint64_t *ret);
uint64_t nm_cgroup_round_to_page(uint64_t bytes); /* the kernel stores limits in whole pages */

/* ---- the slice's own limits (cgroup/drift.c) --------------------------------------------------- */

/* Read the slice's memory.max and memory.low. Both functions return -EOPNOTSUPP without a memory controller. */
int nm_cgroup_slice_read_max(const struct nm_cgroup_backend *b, uint64_t *ret); /* NM_CGROUP_NONE: no limit */
int nm_cgroup_slice_read_low(const struct nm_cgroup_backend *b, uint64_t *ret);
/* Returns 100, the kernel's default, if the weight cannot be read. */
uint32_t nm_cgroup_slice_read_cpu_weight(const struct nm_cgroup_backend *b);
/* Works as nm_cgroup_check_drift(), for the memory limits alone. */
int nm_cgroup_slice_check_drift(const struct nm_cgroup_backend *b, const struct nm_cgroup_limits *expected);
