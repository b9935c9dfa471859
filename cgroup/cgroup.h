/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cgroup/: everything that touches cgroup files and systemd units.
 *
 * One container = one cgroup, "<prefix><container id>.scope" directly below the slice (prefix = the
 * slice's name without ".slice", plus "-"). The layout is the same on both backends:
 *
 *   systemd  transient scopes in the slice, over sd-bus, asynchronously;
 *   direct   cgroupfs directories of the same names, for hosts without systemd as PID 1;
 *   fake     plain files in a temporary directory, for unit tests.
 *
 * What differs between backends is behind struct nm_cgroup_ops; what is a plain file write (freeze,
 * kill, reclaim) is the same code for all. Nothing here logs above debug.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <systemd/sd-event.h>

#include "util/error.h"
#include "util/macros.h"

#define NM_CGROUP_NONE UINT64_MAX /* no limit */

/* What a kernel and backend can do here; what's missing is told to the operator with its reason. */
enum nm_cgroup_feature {
    /* memory controller: memory.max, memory.low, memory.min, memory.events, memory.stat */
    NM_CGROUP_MEMORY_LIMITS,
    NM_CGROUP_CPU_WEIGHT,    /* cpu controller: cpu.weight, cpu.max */
    NM_CGROUP_CPU_IDLE,      /* cpu.idle (SCHED_IDLE for a whole cgroup) */
    NM_CGROUP_FREEZE,
    NM_CGROUP_KILL,          /* cgroup.kill; without it each process is killed through a pidfd */
    NM_CGROUP_PRESSURE,      /* PSI files per cgroup */
    NM_CGROUP_RECLAIM,       /* memory.reclaim */
    NM_CGROUP_SWAP,          /* swap is configured and the memory controller accounts it */
    NM_CGROUP_PIDS,          /* pids controller */
    NM_CGROUP_IO_WEIGHT,     /* io controller: io.weight, or io.bfq.weight */
    NM_CGROUP_NET_PRIORITY,  /* priority of the sockets that are made in a cgroup */
    NM_CGROUP_FEATURE_COUNT,
};

/* "memory limits", "cpu weight", ... */
const char *nm_cgroup_feature_name(enum nm_cgroup_feature f);

/* The limits of one container, in the kernel's own terms. */
struct nm_cgroup_limits {
    uint64_t memory_max_bytes; /* NM_CGROUP_NONE: no limit */
    uint64_t memory_low_bytes; /* taken from others first, page cache lent out; 0: no protection */
    uint64_t memory_min_bytes; /* never taken; 0: nothing is. Must stay below the maximum (docs/decisions/0003) */
    uint32_t cpu_weight;       /* 1 .. 10000; ignored when cpu_idle */
    bool cpu_idle;
    /* cpu.max as a rate, rounded up to a multiple of 10; NM_CGROUP_NONE: none */
    uint64_t cpu_quota_millicores;
    uint64_t pids_max; /* NM_CGROUP_NONE: none */
    uint32_t io_weight; /* 1 .. 100; 0: whatever it is */
    /* the kernel's OOM killer takes the whole container or nothing */
    bool oom_group;
};

#define NM_CGROUP_LIMITS_NONE \
    ((struct nm_cgroup_limits){.memory_max_bytes = NM_CGROUP_NONE, .cpu_weight = 100, \
                               .cpu_quota_millicores = NM_CGROUP_NONE, .pids_max = NM_CGROUP_NONE})

/* A container's cgroup, held by descriptor and inode: its path and the descriptor's number may be
 * recycled, the pair (boot, inode) is not. */
struct nm_cgroup {
    char *name;     /* "nm-container_1763769112_000001.scope" */
    char *path;     /* absolute, for messages and for reading /proc/PID/cgroup */
    /* O_DIRECTORY|O_PATH is not enough: it is used with openat for reading and writing */
    int dir_fd;
    uint64_t inode;
};

/* Opens the directory path. Returns 0, -ENOENT when it has gone, or -errno. */
int nm_cgroup_open(const char *path, const char *name, struct nm_cgroup **ret);
struct nm_cgroup *nm_cgroup_free(struct nm_cgroup *cg);
NM_DEFINE_CLEANUP(struct nm_cgroup *, nm_cgroup_free)

/* Moves a process into it, whoever made the cgroup: a scope's is a leaf, which systemd leaves alone once the unit runs,
 * and takes the process along when the unit is stopped. 0, -ESRCH, -ENOENT or another -errno. */
int nm_cgroup_move_in(const struct nm_cgroup *cg, pid_t pid);

/* State of a cgroup as cgroup.events has it. */
struct nm_cgroup_events {
    bool populated;
    bool frozen;
};

/* All of these return 0, -ENOENT when the cgroup has gone (a normal result), -EOPNOTSUPP when this
 * kernel or mount has no such file, or another -errno. */
int nm_cgroup_read_events(const struct nm_cgroup *cg, struct nm_cgroup_events *ret);
/* Asks; cgroup.events tells when it is done. */
int nm_cgroup_read_freeze(const struct nm_cgroup *cg, bool *ret); /* what was asked for last */
int nm_cgroup_freeze(const struct nm_cgroup *cg, bool frozen);
/* SIGKILL to all, also when frozen. Where cgroup.kill is missing: frozen first, so that nothing can
 * fork away, then one by one through pidfds. cgroup.events tells when all are gone. */
/* Before a kill: memory is given back by the dying processes themselves, on their own CPU time.
 * Idle-class or throttled ones on a busy node would take seconds for it (3.5 s were seen for 350
 * MiB), so quota and idle class are taken off. */
void nm_cgroup_hasten(const struct nm_cgroup *cg);
int nm_cgroup_kill(const struct nm_cgroup *cg);
/* To all processes but `except` (0: none). */
int nm_cgroup_signal(const struct nm_cgroup *cg, int sig, pid_t except);
int nm_cgroup_n_processes(const struct nm_cgroup *cg, unsigned *ret);

/* Who is still there, and does it hang in the kernel (cgroup/leftover-procs.c)? -ENOENT: the cgroup has gone. */
#define NM_COMM_SIZE 64
struct nm_cgroup_leftover_procs {
    unsigned n;               /* processes */
    unsigned n_hanging;       /* those of them with a thread in uninterruptible sleep, state D */
    pid_t hanging;            /* one of these, 0: none */
    char comm[NM_COMM_SIZE];  /* its name */
};
int nm_cgroup_leftover_procs(const struct nm_cgroup *cg, struct nm_cgroup_leftover_procs *ret);
/* In words: only of what is in state D is it said that it hangs. */
void nm_cgroup_leftover_procs_print(const struct nm_cgroup_leftover_procs *s, char *buf, size_t size);
int nm_cgroup_set_oom_group(const struct nm_cgroup *cg, bool on);
/* Sockets that are made in it from now on send as background traffic (SO_PRIORITY 2), or as any other
 * again. It stays when nmd ends, and goes with the cgroup. -EOPNOTSUPP without NM_CGROUP_NET_PRIORITY. */
struct nm_cgroup_backend;
int nm_cgroup_set_net_background(const struct nm_cgroup_backend *b, const struct nm_cgroup *cg, bool on);
/* memory.reclaim, which blocks until done: call it in a worker process only. -EAGAIN: less than
 * asked was reclaimed. */
int nm_cgroup_reclaim(const struct nm_cgroup *cg, uint64_t bytes);
/* What of it is in swap, or on its way there; and the most that may be, NM_CGROUP_NONE for any amount. */
int nm_cgroup_read_swap(const struct nm_cgroup *cg, uint64_t *ret_bytes);
int nm_cgroup_set_swap_max(const struct nm_cgroup *cg, uint64_t bytes);

/* Kernel OOM counters of memory.events; all zero where there is no memory controller. */
struct nm_cgroup_memory_events {
    uint64_t high, max, oom, oom_kill, oom_group_kill;
};
int nm_cgroup_read_memory_events(const struct nm_cgroup *cg, struct nm_cgroup_memory_events *ret);

/* Parsers, pure, for tests and fuzzers: text in (NUL-terminated), struct out. Unknown keys are
 * ignored, a malformed line is -EBADMSG. */
int nm_cgroup_parse_events(const char *text, struct nm_cgroup_events *ret);
int nm_cgroup_parse_memory_events(const char *text, struct nm_cgroup_memory_events *ret);

/* ---- watches (cgroup/watch.c, cgroup/psi.c) -------------------------------------------------- */

struct nm_cgroup_watch;
enum nm_cgroup_watch_kind { NM_CGROUP_WATCH_EVENTS, NM_CGROUP_WATCH_MEMORY_EVENTS };

/* Calls cb in the event loop whenever cgroup.events (or memory.events) changes; cb reads the file
 * itself and may be called once too often. After the cgroup's removal the EVENTS kind calls cb one
 * last time with gone = true and is dead; the MEMORY_EVENTS kind just falls silent. cb may free the
 * watch. Changes from before the call are not told: read the file once after it. -ENOENT: the
 * cgroup has gone, or there is no such file. */
typedef void (*nm_cgroup_watch_cb_t)(enum nm_cgroup_watch_kind kind, bool gone, void *userdata);
int nm_cgroup_watch_new(sd_event *event, const struct nm_cgroup *cg, enum nm_cgroup_watch_kind kind,
                        nm_cgroup_watch_cb_t cb, void *userdata, struct nm_cgroup_watch **ret);
struct nm_cgroup_watch *nm_cgroup_watch_free(struct nm_cgroup_watch *w);
NM_DEFINE_CLEANUP(struct nm_cgroup_watch *, nm_cgroup_watch_free)

/* PSI trigger on a pressure file ("/proc/pressure/memory" with AT_FDCWD, or "memory.pressure" in
 * the slice's dir_fd): cb when tasks were stalled for stall_usec within window_usec (500 ms ..
 * 10 s, else -EINVAL). Fires at most once per window. Without CAP_SYS_RESOURCE the kernel only
 * takes windows of whole 2 s: then the next such window is used, with the same share. -EOPNOTSUPP:
 * PSI is off. cb may free the watch. Falls silent when the cgroup goes: one of the same name is another
 * one, and needs a watch of its own. */
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
    struct nm_psi_line some, full; /* full is all zero where the kernel has no such line */
};
int nm_psi_parse(const char *text, struct nm_psi *ret);
int nm_psi_read(int dir_fd, const char *file, struct nm_psi *ret);

/* ---- backends -------------------------------------------------------------------------------- */

enum nm_cgroup_backend_kind {
    /* systemd if it is PID 1 (or a user manager answers, for a non-root nmd), else direct */
    NM_CGROUP_BACKEND_AUTO,
    NM_CGROUP_BACKEND_SYSTEMD,
    NM_CGROUP_BACKEND_DIRECT,
    NM_CGROUP_BACKEND_FAKE,
};

struct nm_cgroup_backend;

/* The end of an asynchronous operation: result 0 or -errno. For create, cg is the new cgroup
 * (ownership passes to the callee) or NULL on failure. message: a plain-words reason on failure
 * (valid during the call), else NULL.
 *
 * An operation that returns 0 calls cb exactly once, on the direct backend before it returns; one
 * that returns a negative errno hasn't begun and doesn't call cb. cb may be NULL for the set_*
 * operations. cb isn't called any more once the backend is freed, which must not happen inside a
 * cb. Codes worth telling apart: -ENOTCONN no connection to systemd for 60 s (shorter gaps are
 * bridged), -ETIMEDOUT systemd didn't answer in time, -EAGAIN and -ENOSPC the cgroup tree is full,
 * -ESRCH the process has gone, -ENOENT the cgroup has gone, -EEXIST that name is taken. */
typedef void (*nm_cgroup_done_cb_t)(int result, struct nm_cgroup *cg, const char *message,
                                    void *userdata);

/* Called for each container cgroup that exists below the slice; ownership of cg passes to the
 * callee. */
typedef void (*nm_cgroup_list_cb_t)(struct nm_cgroup *cg, const char *container_id, void *userdata);

struct nm_cgroup_ops {
    const char *name; /* "systemd", "direct", "fake" */
    /* Makes the slice and sets its own limits (memory_max = capacity), now and again at reload. */
    int (*set_slice_limits)(struct nm_cgroup_backend *b, const struct nm_cgroup_limits *limits,
                            nm_cgroup_done_cb_t cb, void *userdata);
    /* Makes the container's cgroup, still without limits, so that its shim can be born in it, which
     * is faster than to be moved. The caller frees *ret, and removes it if no create() follows. The
     * member is NULL where somebody else (systemd) makes the cgroups. */
    int (*prepare)(struct nm_cgroup_backend *b, const char *container_id, struct nm_cgroup **ret);
    /* Makes the container's cgroup with its limits and moves pid (the waiting shim) into it, unless
     * it is there already. */
    int (*create)(struct nm_cgroup_backend *b, const char *container_id, const char *description,
                  pid_t pid, const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb,
                  void *userdata);
    /* Changes limits in place (promotion, demotion, update, squeeze, drift repair). No process
     * moves. When cb is called, the kernel has them. */
    int (*set_limits)(struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                      const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb,
                      void *userdata);
    /* Takes away what is left of an empty cgroup (rmdir, or reset-failed and stop of the unit). 0
     * also when it has gone already; -EBUSY: not empty. */
    int (*remove)(struct nm_cgroup_backend *b, const struct nm_cgroup *cg);
    int (*list)(struct nm_cgroup_backend *b, nm_cgroup_list_cb_t cb, void *userdata);
    /* Moves a running process of nmd's own into a cgroup beside the slice, "<stem>_<name>.scope", and sets its limits.
     * Reports the result as create() does. list() leaves this cgroup out, as it belongs to no container. */
    int (*place_helper)(struct nm_cgroup_backend *b, const char *name, pid_t pid,
                        const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata);
    void (*free)(struct nm_cgroup_backend *b);
};

/* Somebody else has the service manager stop a container's unit (SIGTERM now, SIGKILL later), or with NULL the whole
 * slice. Told before it happens, by the systemd backend only. */
typedef void (*nm_cgroup_stopped_cb_t)(const char *container_id, void *userdata);

struct nm_cgroup_backend {
    const struct nm_cgroup_ops *ops;
    nm_cgroup_stopped_cb_t stopped_cb; /* set by whoever made the backend, or NULL */
    void *stopped_userdata;
    bool tells_of_stops;
    char *slice;        /* "nm.slice" */
    char *prefix;       /* "nm-" */
    char *slice_path;   /* absolute path of the slice's directory */
    int slice_fd;       /* -EBADF until the slice exists */
    int net_priority_fd; /* the program behind NM_CGROUP_NET_PRIORITY */
    bool user_manager;  /* systemd --user instead of the system manager */
    bool feature[NM_CGROUP_FEATURE_COUNT];
    /* why a feature is missing, plain words, or NULL */
    const char *missing[NM_CGROUP_FEATURE_COUNT];
};

struct nm_cgroup_backend_params {
    /* FAKE: cgroup_root is an empty temporary directory, or NULL for one of its own. */
    enum nm_cgroup_backend_kind kind;
    const char *slice;       /* must end in ".slice" */
    const char *cgroup_root; /* the cgroup2 mount; NULL: found in /proc/self/mountinfo */
    sd_event *event; /* direct works without */
};

/* Picks and opens a backend: mount and controllers are found, features filled in, the slice made.
 * Blocks for as long as systemd takes to start the slice (nothing later does). On failure
 * *ret_message (if not NULL) is a plain-words reason that the caller frees. */
int nm_cgroup_backend_new(const struct nm_cgroup_backend_params *params,
                          struct nm_cgroup_backend **ret, char **ret_message);
/* Would that be possible? Nothing is made, and the slice isn't started: what systemd says to that is not known yet. */
int nm_cgroup_backend_check(const struct nm_cgroup_backend_params *params, char **ret_message);
struct nm_cgroup_backend *nm_cgroup_backend_free(struct nm_cgroup_backend *b);
NM_DEFINE_CLEANUP(struct nm_cgroup_backend *, nm_cgroup_backend_free)

/* "nm-container_1_000001.scope" -> "container_1_000001" (into buf); -EINVAL if it is none of
 * ours. */
int nm_cgroup_container_id(const struct nm_cgroup_backend *b, const char *name, char *buf,
                           size_t size);

/* Drift: reads back what the kernel has for cg and compares it with what was set. Returns 0: as
 * set; a positive bit mask (1 << enum nm_cgroup_drift); or -errno. Only limits whose controller is
 * there are compared. */
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
/* What one of the memory files has, NM_CGROUP_NONE for "max". 0, -EBADMSG, or what reading returns. */
int nm_cgroup_read_limit(const struct nm_cgroup *cg, enum nm_cgroup_drift d, uint64_t *ret);
uint64_t nm_cgroup_round_to_page(uint64_t bytes); /* as the kernel keeps it */

/* ---- the slice's own protection (cgroup/slice.c) ----------------------------------------------- */

/* -EOPNOTSUPP: no memory controller. */
int nm_cgroup_slice_read_max(const struct nm_cgroup_backend *b, uint64_t *ret); /* NM_CGROUP_NONE: there is no limit */
/* Returns 100, the kernel's default, where it can't be read. */
uint32_t nm_cgroup_slice_read_cpu_weight(const struct nm_cgroup_backend *b);
int nm_cgroup_slice_read_low(const struct nm_cgroup_backend *b, uint64_t *ret);
/* nm_cgroup_check_drift() of the limits of memory alone. */
int nm_cgroup_slice_check_drift(const struct nm_cgroup_backend *b, const struct nm_cgroup_limits *expected);
