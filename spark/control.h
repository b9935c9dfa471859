/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The commands that nm-spark-shuffle reads from its standard input (shuffle/command.h):
 *
 *   {"add": {"application": "application_1410901177871_0001", "user": "alice", "uid": 1000, "secret": "00a1...",
 *            "stored": true}}
 *   {"remove": {"application": "application_1410901177871_0001"}}
 *   {"count": {}}   in the answer, an output is a block, as nmd knows the figures of nm-shuffle by these names
 *
 * The answer to "count" has the figures of all applications together, and in "top" those of at most 32 applications:
 * first those with clients that have read nothing for 10 s ("stalled"), then those that were sent most. The answer to
 * "remove" has the figures of the application in "ended".
 *
 * uid: the owner of the files (if all containers run as one user, the uid of that user); secret: the application's
 * secret in hexadecimal, empty without authentication; stored: false if the application asks that its executors are not
 * stored (spark.yarn.shuffle.server.recovery.disabled).
 */

#include <stdio.h>

#include "spark/service.h"

/* Executes a command line. The caller frees *ret_reply, one line without newline; NULL: out of memory. */
void nm_spark_control(struct nm_spark_service *s, const char *line, size_t size, char **ret_reply);

/* Executes commands until `in` ends. Returns 0, or -errno if out cannot be written. */
int nm_spark_control_run(struct nm_spark_service *s, FILE *in, FILE *out);
