/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gives nodes back: adds them to the exclude file, runs rmadmin -refreshNodes -g, and polls until the ResourceManager
 * reports them as decommissioned. Nodes that aren't decommissioned by then are put back: removed from the file,
 * refreshed again, running again. They are put back when demand returns, when the time is up, when nmscale is to end,
 * when the ResourceManager ends, and when a step fails.
 *
 * The exclude file records the nodes that are under way, and nmscale's mark shows which of them nmscale has added. An
 * nmscale that finds nodes of a killed one takes them over.
 */

#include "nmscale/choose.h"
#include "nmscale/model.h"
#include "nmscale/options.h"

/* ---- plan.c ---------------------------------------------------------------------------------- */

/*
 * The plan of --apply: the nodes to give back, and the new text of the exclude file. This code doesn't write the file:
 * apply.c carries the plan out, and records the result of each node.
 */

enum nm_scale_fate {
    NM_SCALE_WAITING,   /* the node isn't decommissioned yet */
    NM_SCALE_GONE,      /* the node is decommissioned and can be switched off */
    NM_SCALE_BACK,      /* the node was put back and is in use again */
    NM_SCALE_IN_DOUBT,  /* the node isn't decommissioned and could not be put back */
};

/* A node to be given back. It owns its strings, since it outlives the look that found it. */
struct nm_scale_target {
    char *id, *host, *label;
    uint64_t mb, vcores; /* the node's room for demand that returns; 0: not known */
    enum nm_scale_fate fate;
};

struct nm_scale_result {
    struct nm_scale_target *targets;
    size_t n;
    enum nm_scale_exit exit;
    char *why; /* a sentence; NULL: success */
};

void nm_scale_result_done(struct nm_scale_result *r);
const char *nm_scale_fate_name(enum nm_scale_fate fate);

/* Returns the hosts of all targets, or only of those that wait. The caller frees the list, but not its strings. NULL:
 * no memory. */
char **nm_scale_target_hosts(const struct nm_scale_result *res, bool waiting_only, size_t *ret_n);

/* Adds the nodes that the verdicts name, and those that an earlier nmscale has left under way, to res->targets.
 * *ret_new is the new text of the exclude file; NULL: the file needs no change. Returns 0, or an error with a sentence
 * (or -ENOMEM without one), and *ret_new is untouched then. */
int nm_scale_plan(const char *exclude_file, const struct nm_scale_model *m, const struct nm_scale_verdict *verdicts,
                  struct nm_scale_result *res, char **ret_new, char **ret_message);

/* ---- apply.c --------------------------------------------------------------------------------- */

struct nm_scale_apply {
    const struct nm_scale_options *options;
    struct nm_scale_rm *rm;
    const volatile bool *stop; /* NULL: the functions below can't be interrupted */
};

/* Sleeps, and returns early when *stop becomes true. */
void nm_scale_sleep(const volatile bool *stop, uint64_t usec);

/* Gives back the nodes that the verdicts name, and those that an earlier nmscale has left under way. The caller holds
 * the exclude file's lock. Progress goes to stderr. Always fills *ret, which the caller releases. */
void nm_scale_apply(const struct nm_scale_apply *a, const struct nm_scale_model *model,
                    const struct nm_scale_verdict *verdicts, struct nm_scale_result *ret);

/* Removes hosts from the exclude file and has the ResourceManager read it again. Returns 0, or an error with a
 * sentence. */
int nm_scale_readmit(const struct nm_scale_apply *a, char **ret_message);
