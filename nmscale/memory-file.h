/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory between two runs: a small JSON file, replaced as a whole, and a lock beside it that one nmscale holds
 * while it runs. An invalid file is an error with a sentence and not an empty memory: the administrator should learn of
 * the damage, and can remove the file. A file of another cluster is refused, too.
 */

#include "nmscale/memory.h"

/* Returns the default path in $XDG_STATE_HOME/nmscale or ~/.local/state/nmscale, for root in /var/lib/nmscale. NULL: no
 * memory. */
char *nm_scale_memory_default_path(void);

/* Loads the memory. If there is no file, it succeeds with an empty *ret. `cluster` is any word that identifies the
 * cluster. */
int nm_scale_memory_load(const char *path, const char *cluster, struct nm_scale_memory *ret, char **ret_message);
int nm_scale_memory_save(const char *path, const char *cluster, const struct nm_scale_memory *m,
                         char **ret_message);

/* Parse and format the text of the file, for load, save and tests. */
int nm_scale_memory_parse(const char *text, size_t size, const char *cluster, struct nm_scale_memory *ret,
                          char **ret_message);
char *nm_scale_memory_format(const struct nm_scale_memory *m, const char *cluster);
