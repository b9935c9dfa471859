/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The protocol between nmd and its shim, and the code that both use. nmd starts the shim with these descriptors only.
 * The shim gets no environment, no paths, and no arguments that it evaluates, so it has no such input to check. (A user
 * may call the program with two arguments; then it isn't a shim, but lists files, shim/shim-list.c. nmd itself starts
 * the spawner with two arguments: see the end of this file.)
 *
 *   NM_SHIM_FD_SOCKET  a SOCK_SEQPACKET pair: nmd sends one byte to open the gate, the shim
 *                      sends records
 *   NM_SHIM_FD_SPEC    the spec (see below), a memfd
 *   NM_SHIM_FD_DIR     the container's directory, for the record
 *   NM_SHIM_FD_LOGS    the directory for stdout and stderr
 *   NM_SHIM_FD_INPUT   the connection that carries the command's standard input, if it has one
 *
 * The shim keeps its ends of the command's output pipes at NM_SHIM_FD_OUTPUT and the next number, so that nmd can open
 * them there (output-drain.c). For a command with a terminal, the shim keeps its end of the terminal at
 * NM_SHIM_FD_OUTPUT. The namespaces of a confined command are at NM_SHIM_FD_NAMESPACES and the next numbers, so that
 * sessions can open them there (shim-session.c). The shim of a session has two other descriptors in place of the
 * directories:
 *
 *   NM_SHIM_FD_CLIENT  the connection of the session's client
 *   NM_SHIM_FD_OWNER   a pidfd of the container's shim
 *
 * The spec is a sequence of NUL-terminated strings: a head, strings "key=value", and "end". The versions of the shim
 * and of nmd may differ, because a package upgrade replaces the shim's file while nmd is running. The shim refuses an
 * unknown key, since the key may be relevant to security.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/command.h"
#include "agent/launch/record.h"
#include "agent/types.h"
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
#define NM_SHIM_N_NAMESPACES 3 /* user, mount and IPC namespace; the IPC namespace is optional */
/* twice the kernel's limit of arguments and environment */
#define NM_SHIM_SPEC_MAX_BYTES (4U << 20)

/* The account of the command's user, except uid and gid. The child process that becomes the shim looks it up
 * (launch-spawn.c). */
struct nm_shim_account {
    char *name, *home, *shell;
    gid_t *groups; /* supplementary groups, n_groups entries; empty if nmd is not root, since only root can set them */
    size_t n_groups;
    int error;     /* positive errno: the account cannot be used, and the other fields are defaults */
};

/* A session (nmctl exec): another command in a running container. A connection to the client transmits its input and
 * output. */
struct nm_shim_session {
    pid_t shim_pid;    /* pid of the container's own shim; 0: not a session */
    pid_t command_pid; /* process whose present environment the session gets; if that can't be read, the session gets
                          the environment in the spec */
    uint32_t n_more;   /* number of entries at the end of env that are added to the process's environment */
    bool input;        /* the connection transmits the standard input; otherwise the input is empty */
};

/* Properties of the command's process that nmd sets. They are not in the user's request. */
struct nm_shim_options {
    int oom_score_adj;
    uint64_t output_max_bytes; /* limit of each stream; 0: no limit */
    bool confine;     /* use separate namespaces: shim-confine.c */
    bool private_ipc; /* with confine: also use a separate IPC namespace */
    bool has_input;   /* the input comes over NM_SHIM_FD_INPUT */
    uint16_t rows, columns; /* size of the terminal, whose user is the connection's client; 0: no terminal */
    struct nm_shim_session session;
};

struct nm_shim_spec {
    struct nm_shim_account account; /* the account's strings are in the spec's text */
    uid_t uid;
    gid_t gid;
    const char *workdir; /* "" = home */
    struct nm_shim_options options;
    bool no_new_privs;
    char **argv, **env;  /* NULL-terminated; the strings are in the spec's text */
    char **vector;       /* the allocation that holds argv and env */
};

/* Prints the spec of a command and its account. The caller frees *ret. Returns -EINVAL if a string is missing, -E2BIG
 * if the spec is too long. */
int nm_shim_spec_print(const struct nm_command *command, const struct nm_shim_account *account,
                       const struct nm_shim_options *options, char **ret, size_t *ret_size);

/* Parses text of `size` bytes, which must outlive *ret. Returns -EBADMSG if the text is malformed in any way. */
int nm_shim_spec_parse(char *text, size_t size, struct nm_shim_spec *ret);
void nm_shim_spec_done(struct nm_shim_spec *spec);

/* A message from the child to the shim. The child sends it if it can't execute the command. `stage` is then the step
 * that failed. With the stage NONE, the child asks the shim to write the uid and gid maps of the child's new user
 * namespace. */
struct nm_shim_failure {
    int32_t stage; /* enum nm_launch_stage */
    int32_t error; /* errno */
};

/* Moves the calling child, which is still root, into new namespaces. The process at the other end of the channel (a
 * SOCK_SEQPACKET pair) must call nm_shim_confine_child() when it receives the child's request. Returns 0 or -errno. */
int nm_shim_confine(int channel, bool private_ipc);
/* Writes the uid and gid maps of the child's user namespace. Returns 0, or -EPIPE if the child has exited. The child
 * reports other errors. */
int nm_shim_confine_child(int channel, pid_t pid);

/*
 * ---- the spawner -----------------------------------------------------------------------------
 *
 * The spawner (shim/shim-spawner.c) creates shims for nmd. It is the same program, started once with the arguments
 * NM_SPAWNER_ARG and "1", with these descriptors and no others:
 *
 *   NM_SPAWNER_FD_SOCKET   a SOCK_SEQPACKET pair. A request is one message with a struct nm_spawn_request and the new
 *                          shim's descriptors. The answer is an int32_t: the shim's pid, or -errno if there is no shim.
 *   NM_SPAWNER_FD_PROGRAM  the shim's program
 *
 * The kernel gives received descriptors the lowest free numbers, in their order. The spawner keeps the numbers from
 * NM_SHIM_FD_SOCKET on free, so the descriptors of a request get the numbers that the shim needs. Their order is that
 * of the numbers: socket, spec, directory, logs, then the connection of the input and the directory of the cgroup, as
 * far as the request has them.
 */

#define NM_SPAWNER_NAME "nm-spawner"
#define NM_SPAWNER_ARG "--spawner"

enum {
    NM_SPAWNER_FD_SOCKET = 16, /* above all numbers of a request's descriptors */
    NM_SPAWNER_FD_PROGRAM,
    NM_SPAWNER_FD_END,
};
#define NM_SPAWN_FDS_MIN 4
#define NM_SPAWN_FDS_MAX 6

struct nm_spawn_request {
    bool has_input, has_cgroup; /* without a cgroup, the shim is created in nmd's cgroup, and nmd moves it later */
    char id[NM_ID_SIZE]; /* the container's id, which is only shown in process lists */
};
