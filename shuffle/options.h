/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nm-shuffle's command line. */

#include <sys/types.h>

struct nm_shuffle_options {
    const char *listen;
    unsigned max_connections;
    const char *user; /* NULL: stay who one is */
    char **dirs;      /* NULL-terminated, at least one */
};

/* 0: go on; 1: help or the version was asked for and printed; -EINVAL: said on stderr what is wrong. */
int nm_shuffle_parse_argv(int argc, char **argv, struct nm_shuffle_options *ret);
