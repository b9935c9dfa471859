/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the one who started nm-shuffle tells it, a line of JSON each on its standard input, and what it answers on its
 * standard output:
 *
 *   {"add": {"job": "job_1410901177871_0001", "user": "alice", "uid": 1000, "key": "00a1..."}}
 *   {"remove": {"job": "job_1410901177871_0001"}}
 *   {"count": {}}
 *
 * uid: whose files the outputs are (where all containers run as one user, that one's); key: the job's, in hexadecimal.
 * Each line is answered by one of {"ok": {}}, {"ok": {figures}} or {"error": "a sentence"}. Its end ends the program.
 */

#include <stdio.h>

#include "shuffle/answer.h"

#define NM_SHUFFLE_LINE_MAX 4096u

/* Does what a line says. The caller frees *ret_reply, one line without its end; NULL: no memory for it. */
void nm_shuffle_control(struct nm_shuffle_service *s, const char *line, size_t size, char **ret_reply);

/* Until `in` ends. 0, or -errno: out can't be written. */
int nm_shuffle_control_run(struct nm_shuffle_service *s, FILE *in, FILE *out);
