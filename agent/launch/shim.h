/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The protocol between nmd and its shim, and the functions that the shim's files share. The shim is started with these
 * descriptors only. It has no significant arguments, no environment and no paths that it would have to trust.
 *
 *   NM_SHIM_FD_SOCKET  a SOCK_SEQPACKET pair: nmd sends one byte to open the gate, the shim
 *                      sends records
 *   NM_SHIM_FD_SPEC    the spec below, a memory file
 *   NM_SHIM_FD_DIR     the container's directory, for the record
 *   NM_SHIM_FD_LOGS    the directory for stdout and stderr
 *   NM_SHIM_FD_INPUT   the connection that carries the command's standard input, if it has one
 *
 * The shim holds its ends of the command's output pipes at NM_SHIM_FD_OUTPUT and the next number, where nmd finds them
 * (output-drain.c). For a command with a terminal, it holds its end of the terminal at NM_SHIM_FD_OUTPUT. The
 * namespaces of a confined command are at NM_SHIM_FD_NAMESPACES and the next numbers, where sessions find them
 * (shim-session.c). A session's shim has other descriptors in place of the directories:
 *
 *   NM_SHIM_FD_CLIENT  the connection of the session's client
 *   NM_SHIM_FD_OWNER   a pidfd of the container's own shim
 *
 * The spec is a sequence of NUL-terminated strings, "key=value" between a head and "end". The shim's version may differ
 * from nmd's, because a package upgrade replaces the binary under a running daemon. The shim refuses an unknown key,
 * since the key may be relevant to security.
 */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "agent/command.h"
#include "agent/launch/record.h"
#include "util/error.h"

#define NM_SHIM_NAME "nm-shim"

enum {
    NM_SHIM_FD_SOCKET = 3,
    NM_SHIM_FD_SPEC,
    NM_SHIM_FD_DIR,
    NM_SHIM_FD_LOGS,
    NM_SHIM_FD_INPUT,
    NM_SHIM_FD_END, /* first of the descriptors that the shim closes */
    NM_SHIM_FD_CLIENT = NM_SHIM_FD_DIR,
    NM_SHIM_FD_OWNER = NM_SHIM_FD_LOGS,
    NM_SHIM_FD_OUTPUT = 16,
    NM_SHIM_FD_NAMESPACES = NM_SHIM_FD_OUTPUT + 2,
};

#define NM_SHIM_GATE_BYTE 'G'
#define NM_SHIM_N_NAMESPACES 3 /* user, mount and IPC namespace; the last may be missing */
/* twice the kernel's limit of arguments and environment */
#define NM_SHIM_SPEC_MAX_BYTES (4U << 20)

/* The account of the command's user, beside uid and gid. nmd's child looks it up (launch-spawn.c). */
struct nm_shim_account {
    char *name, *home, *shell;
    gid_t *groups; /* supplementary groups, n_groups entries; empty if nmd is not root, since only root can set them */
    size_t n_groups;
    int error;     /* positive errno: the account cannot be used, and the other fields are defaults */
};

/* A session (nmctl exec): another command in a running container, requested and streamed over a connection. */
struct nm_shim_session {
    pid_t shim_pid;    /* pid of the container's own shim; 0: not a session */
    pid_t command_pid; /* process whose current environment the session gets; if that environment is unreadable, the
                          session gets the environment in the spec */
    uint32_t n_more;   /* number of entries at the end of env that are added to that environment */
    bool input;        /* the connection is the standard input; else the input is empty */
};

/* Properties of the command's process that nmd decides, beside those that were requested. */
struct nm_shim_terms {
    int oom_score_adj;
    uint64_t output_max_bytes; /* limit of each stream; 0: no limit */
    bool confine;     /* use separate namespaces: shim-confine.c */
    bool private_ipc; /* with confine: use one more namespace */
    bool has_input;   /* the input comes over NM_SHIM_FD_INPUT */
    uint16_t rows, columns; /* size of the terminal, whose user is at the other end of the connection; 0: no terminal */
    struct nm_shim_session session;
};

struct nm_shim_spec {
    struct nm_shim_account account; /* strings of the account lie in the spec's text */
    uid_t uid;
    gid_t gid;
    const char *workdir; /* "" = home */
    struct nm_shim_terms terms;
    bool no_new_privs;
    char **argv, **env;  /* NULL-terminated; strings lie in the spec's text */
    char **vector;       /* the allocation that holds argv and env */
};

/* Prints the spec of a command and its account. The caller frees *ret. Returns -EINVAL if a string is missing, -E2BIG
 * if the spec is too long. */
int nm_shim_spec_print(const struct nm_command *command, const struct nm_shim_account *account,
                       const struct nm_shim_terms *terms, char **ret, size_t *ret_size);

/* Parses text of `size` bytes, which must outlive *ret. Returns -EBADMSG if the text is malformed in any way. */
int nm_shim_spec_parse(char *text, size_t size, struct nm_shim_spec *ret);
void nm_shim_spec_done(struct nm_shim_spec *spec);

/* Opens the cgroup of this process for reading. Returns a negative value if the cgroup cannot be found. */
int nm_shim_cgroup_open(void);
/* Fills in the cgroup's number of OOM kills and its memory peak. Does not change fields that cannot be read. */
void nm_shim_cgroup_read(int cgroup_fd, struct nm_launch_record *record);

/* Makes the files of the log, and the pipes that become the command's standard output and error, or the terminal that
 * becomes both. ret_write_fd: the command's ends; the other ends stay in this process. */
int nm_shim_output_open(const struct nm_shim_spec *spec, int ret_write_fd[2]);
/* Makes the pipe that becomes the command's standard input, if the input comes over a connection and not from the
 * terminal. *ret_read_fd: the command's end. */
int nm_shim_input_open(const struct nm_shim_spec *spec, int *ret_read_fd);
/* The following functions fill in the descriptors to poll for the input (-1 if there is no more input) and handle the
 * result of poll(). */
#define NM_SHIM_INPUT_POLLS 2
void nm_shim_input_poll(struct pollfd p[NM_SHIM_INPUT_POLLS]);
void nm_shim_input_pass(const struct pollfd p[NM_SHIM_INPUT_POLLS]);
bool nm_shim_input_has_client(void);
/* Returns whether more of a terminal's output (at most NM_FRAME_MAX bytes) may be sent to its user: the user has sent
 * input and received all earlier output, or has gone. */
bool nm_shim_input_may_show(void);
void nm_shim_input_show(const char *data, size_t n);
/* Waits after the command's end until the shown output is sent, but not for a user who does not read it. */
void nm_shim_input_flush(void);
/* Passes output on until the process has been reaped. It also reaps orphans. Returns 0, or -errno if waiting fails. */
int nm_shim_output_pump(pid_t pid, int *ret_status, struct rusage *ret_usage);
/* Returns the number of output bytes that could not be written. */
uint64_t nm_shim_output_lost(void);

/* Message from the child to the shim. The child sends it if it can't execute the command; `stage` then names the step
 * that failed. With stage NONE the child asks the shim to write the id mappings of its new user namespace. */
struct nm_shim_failure {
    int32_t stage; /* enum nm_launch_stage */
    int32_t error; /* errno */
};

/* Moves the child, which is still root, into namespaces of its own. The process at the other end of the channel (a
 * SOCK_SEQPACKET pair) helps: it calls nm_shim_confine_child() when asked. Returns 0 or -errno. */
int nm_shim_confine(int channel, bool private_ipc);
/* Returns 0, or -EPIPE if the child has gone; the child reports other errors. */
int nm_shim_confine_child(int channel, pid_t pid);

/* Moves the child into the container's namespaces, which nm_shim_namespaces_find() has found. Returns 0 or -errno. */
int nm_shim_join(const int namespaces[NM_SHIM_N_NAMESPACES]);
/* Opens the namespaces that the container's shim holds for its command. Returns 0, -ENOENT if the shim holds no
 * namespaces, or -errno. */
int nm_shim_namespaces_find(pid_t shim_pid, int shim_pidfd, int ret[NM_SHIM_N_NAMESPACES]);
/* Holds the namespaces of a child that has not yet called exec. Namespaces that cannot be opened are left out. */
void nm_shim_namespaces_hold(pid_t pid, bool private_ipc);

/* The command's first three descriptors. */
struct nm_shim_stdio {
    int fd[3];             /* negative: /dev/null */
    bool is_terminal;      /* all three are the same terminal, which becomes the session's controlling terminal */
    const int *namespaces; /* existing namespaces to enter instead of new ones; or NULL */
};

/* Starts the command and returns once it runs: 0, and its pid in *ret_pid. On failure returns a positive enum
 * nm_launch_stage, and the reason in *ret_error. Closes the descriptors. */
int nm_shim_start(const struct nm_shim_spec *spec, const struct nm_shim_stdio *io, pid_t *ret_pid, int *ret_error);

/* Makes the command's environment; only for a process that is about to exec the command. Returns 0 or -ENOMEM. */
int nm_shim_env_make(const struct nm_shim_spec *spec, char ***ret);
const char *nm_shim_env_find(char *const *env, const char *name);

/* Drops all capabilities except those in the bit mask. */
void nm_shim_drop_capabilities(uint32_t keep);

/* Opens a terminal of the spec's size and returns both of its ends. Returns 0 or -errno. */
int nm_shim_terminal_open(const struct nm_shim_spec *spec, int *ret_master, int *ret_slave);
void nm_shim_terminal_resize(int master, uint16_t rows, uint16_t columns);

/* Makes a pipe whose end `ours` (0 or 1) stays in this process; the command's user owns the other end. Returns 0 or
 * -errno. */
int nm_shim_pipe_open(const struct nm_shim_spec *spec, int ours, int *ret_ours, int *ret_other);

/* Reaps all ended children. Returns 1 if pid is among them, 0 if not, or -errno. */
int nm_shim_reap(pid_t pid, int *ret_status, struct rusage *ret_usage);
/* Open a descriptor that is readable when a child has ended, and reset it. */
int nm_shim_children_open(void);
void nm_shim_children_heard(int fd);

/* Runs a session's shim from its gate to its end. */
_Noreturn void nm_shim_session_run(struct nm_shim_spec *spec);
