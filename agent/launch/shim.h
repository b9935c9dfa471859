/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What nmd and its shim say to each other, and what the shim's own files share. The shim is started
 * with these descriptors and nothing else: no arguments that matter, no environment, no paths that
 * it would have to trust.
 *
 *   NM_SHIM_FD_SOCKET  a SOCK_SEQPACKET pair: nmd sends one byte to open the gate, the shim
 *                      sends records
 *   NM_SHIM_FD_SPEC    the spec below, a memory file
 *   NM_SHIM_FD_DIR     the container's directory, for the record
 *   NM_SHIM_FD_LOGS    the directory for stdout and stderr
 *   NM_SHIM_FD_INPUT   the connection that carries the command's standard input, if it has one
 *
 * and it has the ends of the pipes out of which it takes the command's output at NM_SHIM_FD_OUTPUT and the number after
 * it, where nmd finds them (output-drain.c), or its end of the command's terminal at the first of them. The namespaces
 * of a command that has its own are at NM_SHIM_FD_NAMESPACES and the numbers after it, where sessions find them
 * (shim-session.c). A session's shim has other descriptors in the place of the directories:
 *
 *   NM_SHIM_FD_CLIENT  the connection of whoever asked for it
 *   NM_SHIM_FD_OWNER   a pidfd of the container's own shim
 *
 * The spec is a sequence of NUL-terminated strings, "key=value" between a head and "end". The shim
 * that runs may be of another version than nmd (a package upgrade replaces the binary under a
 * running daemon): an unknown key is refused, for it may be one that matters for security.
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
    NM_SHIM_FD_END, /* this and all above are closed */
    NM_SHIM_FD_CLIENT = NM_SHIM_FD_DIR,
    NM_SHIM_FD_OWNER = NM_SHIM_FD_LOGS,
    NM_SHIM_FD_OUTPUT = 16,
    NM_SHIM_FD_NAMESPACES = NM_SHIM_FD_OUTPUT + 2,
};

#define NM_SHIM_GATE_BYTE 'G'
#define NM_SHIM_N_NAMESPACES 3 /* of users, of mounts, of IPC; the last may be missing */
/* twice what the kernel takes as arguments and environment */
#define NM_SHIM_SPEC_MAX_BYTES (4U << 20)

/* Who the command runs as, beside its uid and gid: looked up by nmd's child (launch-account.c). */
struct nm_shim_account {
    char *name, *home, *shell;
    gid_t *groups; /* as many as n_groups; none without root, which alone could set them */
    size_t n_groups;
    int error;     /* positive errno: it can't be used, and the rest is only filled in */
};

/* Another command in a container that runs (nmctl exec), which is asked for and streamed over a connection. */
struct nm_shim_session {
    pid_t shim_pid;    /* of the container's own shim; 0: this is no session */
    pid_t command_pid; /* whose environment it is given, as it is now; where that can't be read, the command's own */
    uint32_t n_more;   /* so many of env, the last ones, come on top of that */
    bool input;        /* the connection is its standard input, which else is empty */
};

/* What nmd decides about the command's process, besides what was asked for. */
struct nm_shim_terms {
    int oom_score_adj;
    uint64_t output_max_bytes; /* of each stream; 0: no limit */
    bool confine;     /* namespaces of its own: shim-confine.c */
    bool private_ipc; /* one more, with confine only */
    bool has_input;   /* over NM_SHIM_FD_INPUT */
    uint16_t rows, columns; /* of the command's terminal, whose user is at the other end of the connection; 0: none */
    struct nm_shim_session session;
};

struct nm_shim_spec {
    struct nm_shim_account account; /* the strings lie in the text */
    uid_t uid;
    gid_t gid;
    const char *workdir; /* "" = home */
    struct nm_shim_terms terms;
    bool no_new_privs;
    char **argv, **env;  /* NULL-terminated; strings lie in the text */
    char **vector;       /* the one allocation behind both */
};

/* Turns a command and its account into the spec's text. The caller frees *ret. -EINVAL: a string is missing,
 * -E2BIG: too long. */
int nm_shim_spec_print(const struct nm_command *command, const struct nm_shim_account *account,
                       const struct nm_shim_terms *terms, char **ret, size_t *ret_size);

/* Reads text (which must stay) of `size` bytes. -EBADMSG when it is malformed in any way. */
int nm_shim_spec_parse(char *text, size_t size, struct nm_shim_spec *ret);
void nm_shim_spec_done(struct nm_shim_spec *spec);

/* The cgroup that this process is in, for reading; negative where there is none to be found. */
int nm_shim_cgroup_open(void);
/* Fills in how often the kernel has killed in it for want of memory, and its peak. Leaves what can't be read. */
void nm_shim_cgroup_read(int cgroup_fd, struct nm_launch_record *record);

/* Makes the pipes that are to be the command's standard output and error, or the terminal that is both, and the files
 * behind them. ret_write_fd: the ends that the command gets; the others are kept here. */
int nm_shim_output_open(const struct nm_shim_spec *spec, int ret_write_fd[2]);
/* Makes the pipe that is to be the command's standard input, if that has a connection and isn't its terminal.
 * *ret_read_fd: the command's end. */
int nm_shim_input_open(const struct nm_shim_spec *spec, int *ret_read_fd);
/* What to poll for it, and what to do when that has returned; -1 and nothing where there is no (more) input. */
#define NM_SHIM_INPUT_POLLS 2
void nm_shim_input_poll(struct pollfd p[NM_SHIM_INPUT_POLLS]);
void nm_shim_input_pass(const struct pollfd p[NM_SHIM_INPUT_POLLS]);
bool nm_shim_input_has_client(void);
/* A terminal's output goes to its user as well. Has that one said something, and got all that was shown before; or is
 * nobody there? Only then there may be more: NM_FRAME_MAX bytes at most. */
bool nm_shim_input_may_show(void);
void nm_shim_input_show(const char *data, size_t n);
/* The command has ended: waits until what was shown has been sent, though not for one who doesn't take it. */
void nm_shim_input_flush(void);
/* Passes output on until the process has been reaped; orphans are, too. Returns 0 or -errno: it can't be waited for. */
int nm_shim_output_pump(pid_t pid, int *ret_status, struct rusage *ret_usage);
/* How much could not be written. */
uint64_t nm_shim_output_lost(void);

/* What the child tells the shim when it could not get as far as the command; or, with stage NONE, that it waits in a
 * new user namespace for its ids. */
struct nm_shim_failure {
    int32_t stage; /* enum nm_launch_stage */
    int32_t error; /* errno */
};

/* In the child, still root: goes into namespaces of its own, with the help of who holds the other end of the channel,
 * a SOCK_SEQPACKET pair, and calls nm_shim_confine_child() when it is asked to. 0, or -errno. */
int nm_shim_confine(int channel, bool private_ipc);
/* 0, or -EPIPE when the child has gone; what else went wrong is the child's to tell. */
int nm_shim_confine_child(int channel, pid_t pid);

/* In the child as well: goes into those of the container, which nm_shim_namespaces_find() has found. 0 or -errno. */
int nm_shim_join(const int namespaces[NM_SHIM_N_NAMESPACES]);
/* Those that the container's shim holds for its command. 0, -ENOENT: it has none, or -errno. */
int nm_shim_namespaces_find(pid_t shim_pid, int shim_pidfd, int ret[NM_SHIM_N_NAMESPACES]);
/* Holds those of a child that is still this shim's own program. What can't be opened is left out. */
void nm_shim_namespaces_hold(pid_t pid, bool private_ipc);

/* What the command's first descriptors become. */
struct nm_shim_stdio {
    int fd[3];             /* negative: /dev/null */
    bool is_terminal;      /* all three are one, and it is to control the session */
    const int *namespaces; /* to go into, in place of new ones; or NULL */
};

/* Starts the command and returns when it runs: 0 and *ret_pid. Else a positive enum nm_launch_stage, and *ret_error:
 * why not. The descriptors are closed. */
int nm_shim_start(const struct nm_shim_spec *spec, const struct nm_shim_stdio *io, pid_t *ret_pid, int *ret_error);

/* The child's whole life up to the exec: session, user, directory, environment. report_fd, one of a SOCK_SEQPACKET
 * pair, takes struct nm_shim_failure and closes itself on exec. */
_Noreturn void nm_shim_child(const struct nm_shim_spec *spec, const struct nm_shim_stdio *io, int report_fd,
                             pid_t shim_pid);

/* The environment that the command is given, for a process that is about to become it. 0 or -ENOMEM. */
int nm_shim_env_make(const struct nm_shim_spec *spec, char ***ret);
const char *nm_shim_env_find(char *const *env, const char *name);

/* All capabilities but those: as bits. */
void nm_shim_drop_capabilities(uint32_t keep);

/* A pair of ends of a terminal of that size: the user's, and the one that is its other side. 0 or -errno. */
int nm_shim_terminal_open(const struct nm_shim_spec *spec, int *ret_master, int *ret_slave);
void nm_shim_terminal_resize(int master, uint16_t rows, uint16_t columns);

/* A pipe whose end `ours` (0 or 1) stays here, and whose other one is the command's user's. 0 or -errno. */
int nm_shim_pipe_open(const struct nm_shim_spec *spec, int ours, int *ret_ours, int *ret_other);

/* Reaps all that have ended. Returns 1 when pid is among them, 0, or -errno. */
int nm_shim_reap(pid_t pid, int *ret_status, struct rusage *ret_usage);
/* A descriptor that is readable when a child has ended, and how to make it quiet again. */
int nm_shim_children_open(void);
void nm_shim_children_heard(int fd);

/* The rest of the life of a session's shim, from its gate on. */
_Noreturn void nm_shim_session_run(struct nm_shim_spec *spec);
