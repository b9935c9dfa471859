/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nm-spark-shuffle without main(): its command line, and its run. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct nm_spark_options {
    const char *listen;
    uint32_t max_connections, backlog; /* backlog, timeout_sec, max_chunks: 0: the server's own */
    uint32_t timeout_sec;
    uint64_t max_chunks;
    const char *user;  /* NULL: keep the current user */
    bool keeps_alive, authenticates, has_engine, refuses_sasl, must_encrypt;
    uint32_t engine_version;
    const char *state; /* directory for the registrations; NULL: they are not stored */
    char **dirs;       /* local directories, NULL-terminated, at least one directory */
};

/* Returns 0 to continue; 1 after help or version was printed; -EINVAL after an error was printed on stderr. */
int nm_spark_parse_argv(int argc, char **argv, struct nm_spark_options *ret);

/* Serves until `in` ends; first writes {"listening": PORT} to `out`. Returns 0 or -errno, after the error was printed
 * on stderr. */
int nm_spark_run(const struct nm_spark_options *o, FILE *in, FILE *out);
