/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Starts commands. nmd forks one shim per container (nm-shim, shim/shim.c). The shim waits at its gate while nmd puts
 * it into the container's cgroup. When nmd opens the gate, the shim forks a child, which drops privileges and executes
 * the command. The shim waits for the command's end, and records it in the container's directory. The shim outlives
 * nmd: a restarted nmd finds the shim by pid, start time and record. If nmd dies before it opens the gate, the shim
 * exits without running the command.
 *
 * The container's directory <state>/containers/<id>/ belongs to root and holds the shim's files. The shim creates the
 * file `gate` when its gate opens and before it starts the command. nmd checks only whether `gate` exists. The shim
 * writes `record` (see struct nm_launch_record) atomically, first with the phase "started", usually as a hard link to
 * `gate`, then with "ended". If the shim has exited and neither file exists, the command did not run. Only then may the
 * container be started again. The logs are <logs>/<id>/stdout and stderr (see output.h).
 */

#include <systemd/sd-event.h>

#include "agent/container.h"
#include "agent/launch/record.h"

/* Returns whether the newest shim of this container directory has passed its gate. A shim that has exited without
 * passing its gate has not run the command. */
bool nm_launch_gate_was_open(const char *container_dir);
/* Removes the files of a shim that has ended, before a new shim uses the directory. Returns 0 or -errno. */
int nm_launch_drop(const char *container_dir);

/* Creates shims as children of nmd with a small process, because a fork of nmd takes longer, and keeps accounts that
 * were looked up before. */
struct nm_spawner;
struct nm_spawner *nm_spawner_new(void); /* NULL: out of memory */
/* Ends the process. Launches that used the spawner may only be freed afterwards. */
struct nm_spawner *nm_spawner_free(struct nm_spawner *s);
/* Returns 0 if the process does not exist: it is started when it is needed. */
pid_t nm_spawner_pid(const struct nm_spawner *s);

struct nm_launch_params {
    struct nm_spawner *spawner; /* must outlive the launch; NULL: nmd forks the shim */
    int shim_fd;               /* the shim's program, open (O_PATH); negative: the error of opening it */
    const char *container_dir; /* made (0700) if missing */
    const char *log_dir;       /* <logs>/<id>, made (0700, root) if missing; for its contents see output.h */
    uint64_t output_max_bytes; /* limit of each of the two streams, at least NM_OUTPUT_MIN_BYTES; 0: no limit */
    const char *container_id;
    const struct nm_command *command;
    int cgroup_fd;             /* directory of the cgroup in which the shim is created; -EBADF: the cgroup of nmd */
    int input_fd;              /* connection that transmits the command's standard input; 0: the input is empty */
    uint16_t rows, columns;    /* size of the command's terminal, whose client is connected to input_fd; 0: no
                                  terminal */
    int oom_score_adj;         /* value of the command; the shim itself gets -1000 if permitted */
    bool confine;              /* use separate namespaces, unless the command is root's or may gain privileges */
    bool private_ipc;          /* with confine: use separate shared memory, too */
    sd_event *event;
};

/* Tests in a child process whether this host supports `confine`, and waits for the child. Returns 0, or -errno if the
 * host does not support `confine`. */
int nm_launch_probe_confinement(void);
/* Returns a text that says why confinement is not possible. error: negative result of nm_launch_probe_confinement(). */
const char *nm_launch_no_confinement(int error);

struct nm_launch;
struct nm_shim_session; /* shim.h */

/*
 * Is called from the event loop. r is valid only during the call.
 *   STARTED  the command is running (r->pid), or has already ended (then ENDED follows)
 *   ENDED    the shim has exited. r has the result of the command, or the reason why the command never ran
 *            (failed_stage != NONE). r = NULL: the shim was killed and left no ENDED record.
 * The launch must not be freed inside the callback.
 */
typedef void (*nm_launch_cb_t)(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
                               void *userdata);

/* Returns whether enough descriptors are free for another launch. A reserve remains, so that nmd can still pause and
 * kill running containers. *ret_limit: nmd's limit of descriptors. */
bool nm_launch_has_descriptors(uint64_t *ret_limit);
/* Creates the shim, which waits at its gate. Errors such as an invalid user are not detected here: the shim reports
 * them after its gate has opened. */
int nm_launch_new(const struct nm_launch_params *p, nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/*
 * Starts a session (shim-session.c): another command in a running container, for the client connected to `client_fd`.
 * shim_pidfd: the shim of the running container. The caller keeps client_fd. The directories and the output limit of p
 * are not used. nm_launch_open_gate() opens the session's gate, too. The only callback is ENDED with r = NULL. After
 * its gate has opened, a session does not need nmd any more.
 */
int nm_launch_session_new(const struct nm_launch_params *p, const struct nm_shim_session *session, int shim_pidfd,
                          int client_fd, nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/* Opens the gate. Returns 0, or -EPIPE if the shim has exited. */
int nm_launch_open_gate(struct nm_launch *l);
/* Returns whether the process with this pid and start time still exists. */
bool nm_launch_shim_exists(pid_t shim_pid, uint64_t shim_start_ticks);
/* Takes over a shim of an earlier nmd. Returns 0, or -ESRCH if the shim has exited (then the caller reads the
 * record). */
int nm_launch_adopt(const char *container_dir, pid_t shim_pid, uint64_t shim_start_ticks, sd_event *event,
                    nm_launch_cb_t cb, void *userdata, struct nm_launch **ret);
/* Opens the shim's output pipes before its cgroup is killed. The killed shim may have left output in the pipes, and nmd
 * copies this output to the log. */
void nm_launch_open_output(struct nm_launch *l, const char *log_dir);
/* Returns whether the shim has exited: the ENDED callback was called or is being called. */
bool nm_launch_is_gone(const struct nm_launch *l);
/* Returns whether the kernel has created the shim in its cgroup. If not, the code that creates the cgroup must move the
 * shim there. */
bool nm_launch_started_in_cgroup(const struct nm_launch *l);
/* Frees the launch. A shim that waits at its gate exits. A shim whose command is running keeps running. */
struct nm_launch *nm_launch_free(struct nm_launch *l);
NM_DEFINE_CLEANUP(struct nm_launch *, nm_launch_free)

pid_t nm_launch_shim_pid(const struct nm_launch *l);
int nm_launch_shim_pidfd(const struct nm_launch *l); /* owned by the launch */
uint64_t nm_launch_shim_start_ticks(const struct nm_launch *l);
