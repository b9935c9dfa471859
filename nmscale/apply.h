/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gives nodes back: adds them to the exclude file, runs rmadmin -refreshNodes -g, and polls until the ResourceManager
 * reports the nodes as decommissioned. Otherwise the nodes are put back: they are removed from the file, rmadmin runs
 * again, and the nodes return to the state RUNNING. Nodes are put back when demand returns, when the time is up, when
 * nmscale is told to end, when the ResourceManager ends, and when a step fails.
 *
 * The exclude file records the nodes that are being decommissioned. nmscale marks the hosts that it has added. If an
 * earlier nmscale was killed, a new nmscale continues with the nodes that have the mark.
 */

#include "nmscale/choose.h"
#include "nmscale/model.h"
#include "nmscale/options.h"

/* ---- apply-plan.c ---------------------------------------------------------------------------- */

/*
 * The plan of --apply: the nodes to give back, and the new text of the exclude file. The code for the plan doesn't
 * write the file. apply.c executes the plan, and records the result of each node.
 */

enum nm_scale_outcome {
    NM_SCALE_WAITING,   /* the node isn't decommissioned yet */
    NM_SCALE_GONE,      /* the node is decommissioned and can be switched off */
    NM_SCALE_BACK,      /* the node was put back and is in use again */
    NM_SCALE_IN_DOUBT,  /* the node isn't decommissioned and could not be put back */
};

/* A node to be given back. This struct owns its strings, because it is used longer than the model of the poll that
 * found the node. */
struct nm_scale_target {
    char *id, *host, *label;
    uint64_t mb, vcores; /* the node's capacity for demand that returns; 0: not known */
    enum nm_scale_outcome outcome;
};

struct nm_scale_result {
    struct nm_scale_target *targets;
    size_t n;
    enum nm_scale_exit exit;
    char *why; /* a sentence; NULL: success */
};

void nm_scale_result_done(struct nm_scale_result *r);
const char *nm_scale_outcome_name(enum nm_scale_outcome outcome);

/* Returns the hosts of all targets, or only of the waiting targets. The caller frees the list, but not its strings.
 * NULL: no memory. */
char **nm_scale_target_hosts(const struct nm_scale_result *res, bool waiting_only, size_t *ret_n);

/* Adds the following nodes to res->targets: the nodes that the verdicts name, and the nodes that an earlier nmscale was
 * decommissioning. *ret_new is the new text of the exclude file; NULL: the file needs no change. Returns 0. On an error
 * returns -errno and a sentence (no sentence for -ENOMEM), and *ret_new is unchanged. */
int nm_scale_plan(const char *exclude_file, const struct nm_scale_model *m, const struct nm_scale_verdict *verdicts,
                  struct nm_scale_result *res, char **ret_new, char **ret_message);

/* ---- apply.c --------------------------------------------------------------------------------- */

struct nm_scale_apply {
    const struct nm_scale_options *options;
    struct nm_scale_rm *rm;
    const volatile bool *stop; /* becomes true when nmscale is to end; not NULL */
};

/* Sleeps. Returns early when *stop becomes true. */
void nm_scale_sleep(const volatile bool *stop, uint64_t usec);

/* Gives back the nodes that the verdicts name, and the nodes that an earlier nmscale was decommissioning. The caller
 * holds the exclude file's lock. Progress goes to stderr. Always sets *ret, which the caller releases. */
void nm_scale_apply(const struct nm_scale_apply *a, const struct nm_scale_model *model,
                    const struct nm_scale_verdict *verdicts, struct nm_scale_result *ret);

/* Removes hosts from the exclude file and makes the ResourceManager read the file again. Returns 0, or -errno and a
 * sentence. */
int nm_scale_readmit(const struct nm_scale_apply *a, char **ret_message);
