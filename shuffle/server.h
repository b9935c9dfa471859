/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The two inputs of nm-shuffle: connections of reducers, and commands of nmd.
 *
 * One thread accepts connections and waits for all of them: for whole requests, for reducers that read slowly, and for
 * the shares of jobs. Answers are made by a few other threads, because the disk blocks (shuffle/connection.h).
 */

#include <stdio.h>

#include "shuffle/answer.h"

struct nm_shuffle_server;

/* Listens at "ADDRESS:PORT", "[V6]:PORT" or "PORT" (all addresses), port 0: a free port, and sets s->port. The service
 * and the objects to which it points must exist until the server is freed. Returns -EINVAL if the address is not valid,
 * else -errno; *ret_message as in nm_fail(). */
int nm_shuffle_server_new(struct nm_shuffle_service *s, const char *address, struct nm_shuffle_server **ret,
                          char **ret_message);
/* Shuts down the connections and frees the server. */
struct nm_shuffle_server *nm_shuffle_server_free(struct nm_shuffle_server *server);
NM_DEFINE_CLEANUP(struct nm_shuffle_server *, nm_shuffle_server_free)

/* ---- control.c ------------------------------------------------------------------------------- */

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

/* Executes a command line. The caller frees *ret_reply, one line without newline; NULL: out of memory. */
void nm_shuffle_control(struct nm_shuffle_service *s, const char *line, size_t size, char **ret_reply);

/* Executes commands until `in` ends. Returns 0, or -errno if out cannot be written. */
int nm_shuffle_control_run(struct nm_shuffle_service *s, FILE *in, FILE *out);
