/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one look at the ResourceManager can't say and several can: since when a node has been Low, and where an
 * application has been seen that still runs. Pure; memory-file.c keeps it between two runs.
 *
 * Looks that are farther apart than a given time don't make one stretch: what happened meanwhile is unknown, so all
 * begins anew, and applications that were known are no longer known from their beginning.
 */

#include "nmscale/model.h"

struct nm_scale_idle {
    char *node;
    uint64_t since_msec; /* CLOCK_REALTIME: runs may be on both sides of a reboot */
};

struct nm_scale_known_app {
    char *id;
    bool followed; /* looked at since before its first container */
    char **nodes;  /* where it had containers at a look; sorted */
    size_t n_nodes;
};

struct nm_scale_memory {
    uint64_t looked_msec; /* 0: never */
    struct nm_scale_idle *idle; /* sorted by node */
    size_t n_idle;
    struct nm_scale_known_app *apps; /* sorted by id */
    size_t n_apps;
};

void nm_scale_memory_done(struct nm_scale_memory *m);

/* Brings what was filled in by hand into the order that the others rely on. */
void nm_scale_memory_sort(struct nm_scale_memory *m);

/* Adds a look. On failure (-ENOMEM) the memory is as it was. */
int nm_scale_memory_look(struct nm_scale_memory *m, const struct nm_scale_model *model, uint64_t now_msec,
                         uint64_t max_gap_msec);

/* Since when, 0: not Low at the last look. */
uint64_t nm_scale_memory_idle_since(const struct nm_scale_memory *m, const char *node);

/* The node's time begins anew: it was tried, and put back. */
void nm_scale_memory_restart(struct nm_scale_memory *m, const char *node, uint64_t now_msec);

const struct nm_scale_known_app *nm_scale_memory_app(const struct nm_scale_memory *m, const char *id);
bool nm_scale_memory_was_on(const struct nm_scale_known_app *app, const char *node);
