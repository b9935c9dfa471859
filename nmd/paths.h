/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Default paths of nmd's directories, socket and programs. */

#include <limits.h>

#include "nmd/options.h"

/* Holds the defaults that depend on the user and on where nmd is installed. */
struct nm_daemon_paths {
    char state_dir[PATH_MAX], runtime_dir[PATH_MAX], shim[PATH_MAX], socket[PATH_MAX];
};

/* Sets the options that are not given. They point into `paths`, which must last as long. */
void nm_daemon_fill_defaults(struct nm_daemon_paths *paths, struct nm_daemon_options *o);
/* Stores the path of another program of nmd, such as "nm-localizer", in `buf` and returns it. The program may be
 * missing. */
const char *nm_daemon_find_program(const char *name, char buf[static PATH_MAX]);
