/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What --apply is about to do: which nodes, and what the exclude file is to say. Nothing is written here; apply.c does
 * it, and notes what becomes of each node.
 */

#include "nmscale/choose.h"
#include "nmscale/model.h"
#include "nmscale/options.h"

enum nm_scale_fate {
    NM_SCALE_WAITING,   /* not decommissioned yet */
    NM_SCALE_GONE,      /* decommissioned: it can be switched off */
    NM_SCALE_BACK,      /* put back, and in use again */
    NM_SCALE_IN_DOUBT,  /* neither: it could not be put back */
};

/* A node that is to go. It has words of its own: it outlives the look that it was found in. */
struct nm_scale_target {
    char *id, *host, *label;
    uint64_t mb, vcores; /* what it could take, if demand comes back; 0: that isn't known */
    enum nm_scale_fate fate;
};

struct nm_scale_result {
    struct nm_scale_target *targets;
    size_t n;
    enum nm_scale_exit exit;
    char *why; /* a sentence, NULL: all went well */
};

void nm_scale_result_done(struct nm_scale_result *r);
const char *nm_scale_fate_name(enum nm_scale_fate fate);

/* The hosts of the targets, of those that wait or of all: a list that the caller frees, of words that aren't its own.
 * NULL: no memory. */
char **nm_scale_target_hosts(const struct nm_scale_result *res, bool waiting_only, size_t *ret_n);

/* Adds to res->targets what the verdicts name and what an earlier nmscale has left under way. *ret_new is the text
 * that the exclude file is to have, NULL where it has it already. 0; otherwise a sentence (or -ENOMEM), and *ret_new
 * is untouched. */
int nm_scale_plan(const char *exclude_file, const struct nm_scale_model *m, const struct nm_scale_verdict *verdicts,
                  struct nm_scale_result *res, char **ret_new, char **ret_message);
