/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Data that only several polls of the ResourceManager together can provide: since when a node has been Low, and on
 * which nodes a running application has been seen. memory.c does no I/O; memory-file.c stores the memory between two
 * runs.
 *
 * Two polls with more than a given time between them aren't connected, because the changes in between are unknown. In
 * this case all idle times start again, and no application counts as known from its beginning.
 */

#include "nmscale/model.h"

struct nm_scale_idle {
    char *node;
    uint64_t since_msec; /* CLOCK_REALTIME, because the host may reboot between runs */
};

struct nm_scale_known_app {
    char *id;
    bool followed; /* the application's nodes have been read at each poll since before its first container */
    char **nodes;  /* nodes where a poll has found containers of the application; sorted */
    size_t n_nodes;
};

struct nm_scale_memory {
    uint64_t looked_msec; /* time of the last poll; 0: no poll has been made */
    struct nm_scale_idle *idle; /* sorted by node */
    size_t n_idle;
    struct nm_scale_known_app *apps; /* sorted by id */
    size_t n_apps;
};

void nm_scale_memory_done(struct nm_scale_memory *m);

/* Sorts a memory that was filled without this file's functions, for instance from a file. The other functions require
 * the order. */
void nm_scale_memory_sort(struct nm_scale_memory *m);

/* Adds the results of a poll. On failure (-ENOMEM) the memory is unchanged. */
int nm_scale_memory_update(struct nm_scale_memory *m, const struct nm_scale_model *model, uint64_t now_msec,
                           uint64_t max_gap_msec);

/* Returns since when the node has been Low; 0: the node was not Low at the last poll. */
uint64_t nm_scale_memory_idle_since(const struct nm_scale_memory *m, const char *node);

/* Restarts the node's idle time after an attempt to give it back has failed. */
void nm_scale_memory_restart(struct nm_scale_memory *m, const char *node, uint64_t now_msec);

const struct nm_scale_known_app *nm_scale_memory_app(const struct nm_scale_memory *m, const char *id);
bool nm_scale_memory_was_on(const struct nm_scale_known_app *app, const char *node);

/* ---- memory-file.c --------------------------------------------------------------------------- */

/*
 * The memory between two runs is stored in a small JSON file. A write always replaces the whole file. An nmscale holds
 * a lock beside the file while it runs. An invalid file is an error and isn't treated as an empty memory: the
 * administrator should know about the damage, and can remove the file. A file of another cluster is refused too.
 */

/* Returns the default path: $XDG_STATE_HOME/nmscale or ~/.local/state/nmscale, for root /var/lib/nmscale. NULL: no
 * memory. */
char *nm_scale_memory_default_path(void);

/* Loads the memory. If the file doesn't exist, succeeds with an empty *ret. `cluster` is any word that identifies the
 * cluster. */
int nm_scale_memory_load(const char *path, const char *cluster, struct nm_scale_memory *ret, char **ret_message);
int nm_scale_memory_save(const char *path, const char *cluster, const struct nm_scale_memory *m,
                         char **ret_message);

/* Parse and format the text of the file, for load, save and tests. */
int nm_scale_memory_parse(const char *text, size_t size, const char *cluster, struct nm_scale_memory *ret,
                          char **ret_message);
char *nm_scale_memory_format(const struct nm_scale_memory *m, const char *cluster);
