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

#include "nmscale/options.h"
#include "nmscale/plan.h"

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
