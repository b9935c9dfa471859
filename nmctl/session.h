/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmctl's end of a session (util/frame.h): its standard descriptors are the command's, until that has ended. */

#include "nmctl/nmctl.h"
#include "util/frame.h"

/* The size of the terminal that is here, or that of a terminal where there is none. */
void nm_session_size(uint16_t *ret_rows, uint16_t *ret_columns);

/* The first word on a connection that is to be a terminal's: its size. 0 or -errno. */
int nm_session_greet(int fd);

struct nm_session_params {
    int fd;        /* the connection */
    bool input;    /* standard input is the command's */
    bool terminal; /* the command has one, and so ours passes everything on to it as it is typed */
    bool leaves;   /* a signal, or a reader of our output that goes, is not told but ends this */
};

/* 0 and *ret_end; or -ECONNRESET, the connection has ended without a word of the command's end; -EINTR, a third signal
 * came (or the first), which is *ret_signal; or another -errno. The terminal is as it was before. */
int nm_session_run(const struct nm_session_params *p, struct nm_frame_end *ret_end, int *ret_signal);
