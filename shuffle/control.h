/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands that nm-shuffle reads from its standard input, each a line of JSON; it writes the answers to its
 * standard output:
 *
 *   {"add": {"job": "job_1410901177871_0001", "user": "alice", "uid": 1000, "key": "00a1..."}}
 *   {"remove": {"job": "job_1410901177871_0001"}}
 *   {"count": {}}
 *
 * uid: the owner of the output files (if all containers run as one user, the uid of that user); key: the job's key in
 * hexadecimal. Each line is answered by one of {"ok": {}}, {"ok": {figures}} or {"error": "a sentence"}. The end of the
 * input ends the program.
 */

#include <stdio.h>

#include "shuffle/answer.h"

#define NM_SHUFFLE_LINE_MAX 4096u

/* Executes a command line. The caller frees *ret_reply, one line without newline; NULL: out of memory. */
void nm_shuffle_control(struct nm_shuffle_service *s, const char *line, size_t size, char **ret_reply);

/* Executes commands until `in` ends. Returns 0, or -errno if out cannot be written. */
int nm_shuffle_control_run(struct nm_shuffle_service *s, FILE *in, FILE *out);
