/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What nmd and its shim say to each other, and what the shim's own files share. The shim is started
 * with four descriptors and nothing else: no arguments that matter, no environment, no paths that
 * it would have to trust.
 *
 *   NM_SHIM_FD_SOCKET  a SOCK_SEQPACKET pair: nmd sends one byte to open the gate, the shim
 *                      sends records
 *   NM_SHIM_FD_SPEC    the spec below, a memory file
 *   NM_SHIM_FD_DIR     the container's directory, for the record
 *   NM_SHIM_FD_LOGS    the directory for stdout and stderr
 *
 * The spec is a sequence of NUL-terminated strings, "key=value" between a head and "end". The shim
 * that runs may be of another version than nmd (a package upgrade replaces the binary under a
 * running daemon): an unknown key is refused, for it may be one that matters for security.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
    NM_SHIM_FD_END, /* this and all above are closed */
};

#define NM_SHIM_GATE_BYTE 'G'
/* twice what the kernel takes as arguments and environment */
#define NM_SHIM_SPEC_MAX_BYTES (4U << 20)

/* Who the command runs as, beside its uid and gid: looked up by nmd's child (launch-account.c). */
struct nm_shim_account {
    char *name, *home, *shell;
    gid_t *groups; /* as many as n_groups; none without root, which alone could set them */
    size_t n_groups;
    int error;     /* positive errno: it can't be used, and the rest is only filled in */
};

struct nm_shim_spec {
    struct nm_shim_account account; /* the strings lie in the text */
    uid_t uid;
    gid_t gid;
    const char *workdir; /* "" = home */
    int oom_score_adj;
    bool no_new_privs;
    char **argv, **env;  /* NULL-terminated; strings lie in the text */
    char **vector;       /* the one allocation behind both */
};

/* Turns a command and its account into the spec's text. The caller frees *ret. -EINVAL: a string is missing,
 * -E2BIG: too long. */
int nm_shim_spec_print(const struct nm_command *command, const struct nm_shim_account *account, int oom_score_adj,
                       char **ret, size_t *ret_size);

/* Reads text (which must stay) of `size` bytes. -EBADMSG when it is malformed in any way. */
int nm_shim_spec_parse(char *text, size_t size, struct nm_shim_spec *ret);
void nm_shim_spec_done(struct nm_shim_spec *spec);

/* The cgroup that this process is in, for reading; negative where there is none to be found. */
int nm_shim_cgroup_open(void);
/* Fills in how often the kernel has killed in it for want of memory, and its peak. Leaves what can't be read. */
void nm_shim_cgroup_read(int cgroup_fd, struct nm_launch_record *record);

/* What the child tells the shim when it could not get as far as the command. */
struct nm_shim_failure {
    int32_t stage; /* enum nm_launch_stage */
    int32_t error; /* errno */
};

/* The child's whole life up to the exec: session, user, directory, environment. report_fd takes a
 * struct nm_shim_failure and closes itself on exec; log_fd are stdout's and stderr's. */
_Noreturn void nm_shim_child(const struct nm_shim_spec *spec, const int log_fd[2], int report_fd, pid_t shim_pid);
