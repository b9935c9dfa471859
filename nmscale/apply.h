/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gives nodes back: onto the exclude file, rmadmin -refreshNodes -g, and looks until the ResourceManager says that
 * they are decommissioned. What isn't by then is put back: off the file, refreshed again, running again. That happens
 * when demand comes back, when time is up, when nmscale is to end, when the ResourceManager ends, and when something
 * fails half-way.
 *
 * The exclude file says what is under way, and nmscale's mark in it whose doing it is: an nmscale that finds what a
 * killed one has left takes it over.
 */

#include "nmscale/options.h"
#include "nmscale/plan.h"

struct nm_scale_apply {
    const struct nm_scale_options *options;
    struct nm_scale_rm *rm;
    const volatile bool *stop; /* NULL: nothing interrupts */
};

/* Sleeps, or less when *stop becomes true. */
void nm_scale_sleep(const volatile bool *stop, uint64_t usec);

/* Gives back what the verdicts name, and what an earlier nmscale has left under way. The exclude file's lock is held
 * by the caller. Progress goes to stderr. Always fills *ret, which the caller releases. */
void nm_scale_apply(const struct nm_scale_apply *a, const struct nm_scale_model *model,
                    const struct nm_scale_verdict *verdicts, struct nm_scale_result *ret);

/* Takes hosts off the exclude file and has it read again. 0, or a sentence. */
int nm_scale_readmit(const struct nm_scale_apply *a, char **ret_message);
