/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The functions that the files of the shim share. agent/launch/shim.h has the protocol between nmd and the shim. */

#include <poll.h>
#include <sys/resource.h>

#include "agent/launch/shim.h"

/* ---- shim-cgroup.c --------------------------------------------------------------------------- */

/* Opens the cgroup of this process for reading. Returns a negative value if the cgroup cannot be found. */
int nm_shim_cgroup_open(void);
/* Fills in the cgroup's number of OOM kills and its memory peak. Does not change fields that cannot be read. */
void nm_shim_cgroup_read(int cgroup_fd, struct nm_launch_record *record);

/* ---- shim-env.c ------------------------------------------------------------------------------ */

/* Creates the command's environment. Only for a process that will exec the command, since the memory is not freed.
 * Returns 0 or -ENOMEM. */
int nm_shim_env_make(const struct nm_shim_spec *spec, char ***ret);
const char *nm_shim_env_find(char *const *env, const char *name);

/* ---- shim-stdio.c ---------------------------------------------------------------------------- */

/* Opens a terminal of the spec's size and returns both of its ends. Returns 0 or -errno. */
int nm_shim_terminal_open(const struct nm_shim_spec *spec, int *ret_master, int *ret_slave);
void nm_shim_terminal_resize(int master, uint16_t rows, uint16_t columns);

/* Creates a pipe. This process keeps the end `ours` (0 or 1). The command's user owns the other end. Returns 0 or
 * -errno. */
int nm_shim_pipe_open(const struct nm_shim_spec *spec, int ours, int *ret_ours, int *ret_other);

/* Reaps all exited children. Returns 1 if `pid` is one of them, 0 if not, or -errno. */
int nm_shim_reap(pid_t pid, int *ret_status, struct rusage *ret_usage);
/* nm_shim_children_open() opens a descriptor that is readable when a child has exited. nm_shim_children_drain() resets
 * it. */
int nm_shim_children_open(void);
void nm_shim_children_drain(int fd);

/* ---- shim-namespaces.c ----------------------------------------------------------------------- */

/* Moves the calling child into the container's namespaces, which nm_shim_namespaces_find() has opened. Returns 0 or
 * -errno. */
int nm_shim_join(const int namespaces[NM_SHIM_N_NAMESPACES]);
/* Opens the namespaces whose descriptors the container's shim keeps open. Returns 0, -ENOENT if the shim has no such
 * descriptors, or another -errno. */
int nm_shim_namespaces_find(pid_t shim_pid, int shim_pidfd, int ret[NM_SHIM_N_NAMESPACES]);
/* Opens the namespaces of a child that has not called exec yet, and keeps the descriptors open. Skips namespaces that
 * can't be opened. */
void nm_shim_namespaces_retain(pid_t pid, bool private_ipc);

/* ---- shim-child.c ---------------------------------------------------------------------------- */

/* The command's first three descriptors. */
struct nm_shim_stdio {
    int fd[3];             /* negative: /dev/null */
    bool is_terminal;      /* all three are the same terminal, which becomes the session's controlling terminal */
    const int *namespaces; /* existing namespaces to enter instead of new ones; or NULL */
};

/* Starts the command, and returns after the exec has succeeded or failed. On success, returns 0 and the pid in
 * *ret_pid. On failure, returns a positive enum nm_launch_stage, and the errno in *ret_error. Closes the descriptors of
 * io. */
int nm_shim_start(const struct nm_shim_spec *spec, const struct nm_shim_stdio *io, pid_t *ret_pid, int *ret_error);

/* Drops all capabilities except those in the bit mask. */
void nm_shim_drop_capabilities(uint32_t keep);

/* ---- shim-input.c ---------------------------------------------------------------------------- */

/* Creates the pipe for the command's standard input, if the input comes over a connection and the command has no
 * terminal. *ret_read_fd: the command's end. */
int nm_shim_input_open(const struct nm_shim_spec *spec, int *ret_read_fd);
/* nm_shim_input_poll() fills in the descriptors to poll for the input (-1 if there is no more input).
 * nm_shim_input_pass() handles the result of poll(). */
#define NM_SHIM_INPUT_POLLS 2
void nm_shim_input_poll(struct pollfd p[NM_SHIM_INPUT_POLLS]);
void nm_shim_input_pass(const struct pollfd p[NM_SHIM_INPUT_POLLS]);
bool nm_shim_input_has_client(void);
/* Returns whether more of a terminal's output (at most NM_FRAME_MAX bytes) may be sent to its user. This is the case if
 * the user has sent input and has received all earlier output, or has disconnected. */
bool nm_shim_input_may_show(void);
void nm_shim_input_show(const char *data, size_t n);
/* Waits after the command's end until the terminal's output is sent to the user. Does not wait for a user who does not
 * read. */
void nm_shim_input_flush(void);

/* ---- shim-list.c ----------------------------------------------------------------------------- */

/* Lists the files of a directory on the standard output. Returns an exit status. */
int nm_shim_list(const char *dir);

/* ---- shim-output.c --------------------------------------------------------------------------- */

/* Creates the files of the log, and the pipes for the command's standard output and standard error, or one terminal for
 * both. ret_write_fd: the command's ends. This process keeps the other ends. */
int nm_shim_output_open(const struct nm_shim_spec *spec, int ret_write_fd[2]);
/* Copies output to the log until the command's process has been reaped. Also reaps orphaned processes. Returns 0, or
 * -errno if waiting fails. */
int nm_shim_output_pump(pid_t pid, int *ret_status, struct rusage *ret_usage);
/* Returns the number of output bytes that could not be written. */
uint64_t nm_shim_output_lost(void);

/* ---- shim-session.c -------------------------------------------------------------------------- */

/* Runs the shim of a session: waits at the gate, runs the command, and exits. */
_Noreturn void nm_shim_session_run(struct nm_shim_spec *spec);

/* ---- shim-spawner.c -------------------------------------------------------------------------- */

/* Creates shims until nmd closes the connection. Returns the exit code. */
int nm_shim_spawner(void);
