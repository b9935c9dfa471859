/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nm-shuffle without main(): its command line, and its run. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct nm_shuffle_options {
    const char *listen;
    uint32_t max_connections;
    const char *user; /* NULL: keep the current user */
    bool keeps_cache; /* parts of files stay in the page cache after they are sent */
    char **dirs;      /* local directories, NULL-terminated, at least one directory */
};

/* Returns 0 to continue; 1 after help or version was printed; -EINVAL after an error was printed on stderr. */
int nm_shuffle_parse_argv(int argc, char **argv, struct nm_shuffle_options *ret);

/* Serves until `in` ends; first writes {"listening": PORT} to `out`. Returns 0 or -errno, after the error was printed
 * on stderr. */
int nm_shuffle_run(const struct nm_shuffle_options *o, FILE *in, FILE *out);
