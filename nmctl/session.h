/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmctl's side of a session (util/frame.h): connects its standard descriptors to the command until the command has
 * ended. A container whose output is followed elsewhere (attach.h) gets standard input alone. */

#include <stddef.h>
#include <sys/types.h>

#include "nmctl/nmctl.h"
#include "util/frame.h"

/* Returns the size of nmctl's terminal, or a default size if nmctl has no terminal. */
void nm_session_size(uint16_t *ret_rows, uint16_t *ret_columns);

/* Sends the terminal size, the first frame on a connection for a terminal. Returns 0 or -errno. */
int nm_session_greet(int fd);

struct nm_session_params {
    int fd;        /* the connection */
    bool input;    /* copy standard input to the command */
    bool terminal; /* the command has a terminal, so nmctl's terminal passes on every byte as it is typed (raw mode) */
    bool leaves;   /* a signal or a closed reader of nmctl's output ends the session instead of being passed on */
};

/* Runs the session. Returns 0 and *ret_end; -ECONNRESET if the connection ended without the command's end; -EINTR
 * after a third signal (with `leaves` the first), which is *ret_signal; or another -errno. Restores the terminal. */
int nm_session_run(const struct nm_session_params *p, struct nm_frame_end *ret_end, int *ret_signal);

/* Blocks the signals and returns a signalfd for them, or -errno. Signals from a descriptor don't interrupt system
 * calls. Signals that are ignored (nohup) stay ignored. Also ignores SIGPIPE: write() then fails with EPIPE if the
 * reader has gone. */
int nm_signals_hold(const int *signals, size_t n);

/* Starts a child process that copies standard input to a container, while the parent follows the container's output.
 * `fd` is the connection, which stays the caller's. Returns the child's pid or -errno. */
pid_t nm_input_start(int fd);
void nm_input_stop(pid_t pid);
