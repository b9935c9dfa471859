/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory between two runs: a small JSON file, replaced as a whole, and a lock beside it that one nmscale holds as
 * long as it runs. A file that can't be understood is an error with a sentence, not an empty memory: whoever damaged it
 * should know, and `rm` is the way out. Something of another cluster is refused, too.
 */

#include "nmscale/memory.h"

/* The file at $XDG_STATE_HOME/nmscale or ~/.local/state/nmscale; root's is in /var/lib/nmscale. NULL: no memory. */
char *nm_scale_memory_default_path(void);

/* -ENOENT isn't one: *ret is empty then. `cluster` is any word that tells clusters apart. */
int nm_scale_memory_load(const char *path, const char *cluster, struct nm_scale_memory *ret, char **ret_message);
int nm_scale_memory_save(const char *path, const char *cluster, const struct nm_scale_memory *m,
                         char **ret_message);

/* The text of the file, for load and for tests. */
int nm_scale_memory_parse(const char *text, size_t size, const char *cluster, struct nm_scale_memory *ret,
                          char **ret_message);
char *nm_scale_memory_format(const struct nm_scale_memory *m, const char *cluster);
