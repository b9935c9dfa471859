/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmctl's side of a session (util/frame.h): connects nmctl's standard descriptors to the command until the command has
 * ended. If attach.h follows the output of a container, only standard input is connected. */

#include <stddef.h>
#include <sys/types.h>

#include "nmctl/nmctl.h"
#include "rpc/local/client/request-body.h"
#include "util/frame.h"

/* Returns the part of a request that `run` and `exec` have in common. argv: the command, ends with NULL. */
struct nm_client_command nm_session_command(const struct nm_args *a, char **argv);
/* Prints why a request could not be made. r and bad: results of rpc/local/client/request-body.h. */
void nm_session_report_unsendable(const char *verb, int r, const struct nm_client_bad_string *bad);

/* Sends the terminal size. This must be the first frame on a connection for a terminal. Returns 0 or -errno. */
int nm_session_greet(int fd);

struct nm_session_params {
    int fd;        /* the connection */
    bool input;    /* copy standard input to the command */
    bool terminal; /* the command has a terminal, so nmctl sets its own terminal to raw mode and sends every byte as it
                      is typed */
    bool leaves;   /* a signal, or a closed reader of nmctl's output, ends the session instead of being sent to the
                      command */
};

/* Runs the session. Returns 0 and *ret_end when the command has ended. Returns -ECONNRESET if the connection ended
 * before the command. Returns -EINTR and *ret_signal after a third signal (with `leaves` after the first), or another
 * -errno. Restores the terminal. */
int nm_session_run(const struct nm_session_params *p, struct nm_frame_end *ret_end, int *ret_signal);

/* Blocks the signals and returns a signalfd for them, or -errno. Signals that are read from a descriptor don't
 * interrupt system calls. Signals that are ignored (nohup) stay ignored. Also ignores SIGPIPE, so that write() fails
 * with EPIPE if the reader has closed the pipe. */
int nm_signals_block(const int *signals, size_t n);

/* Starts a child process that copies standard input to a container, while the parent follows the container's output.
 * `fd` is the connection, which the caller continues to own. Returns the child's pid or -errno. */
pid_t nm_input_start(int fd);
void nm_input_stop(pid_t pid);
