/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Gives nodes back: onto the exclude file, rmadmin -refreshNodes -g, and looks until the ResourceManager says that
 * they are decommissioned. What isn't by then is put back: off the file, refreshed again, running again. That happens
 * when demand comes back, when time is up, when nmscale is to end, and when something fails half-way.
 *
 * The exclude file says what is under way, and nmscale's mark in it whose doing it is: an nmscale that finds what a
 * killed one has left takes it over.
 */

#include "nmscale/options.h"

enum nm_scale_fate {
    NM_SCALE_WAITING,   /* not decommissioned yet */
    NM_SCALE_GONE,      /* decommissioned: it can be switched off */
    NM_SCALE_BACK,      /* put back, and in use again */
    NM_SCALE_IN_DOUBT,  /* neither: it could not be put back */
};

struct nm_scale_target {
    char *id, *host;
    uint64_t mb, vcores; /* what it could take */
    bool labelled;
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

struct nm_scale_apply {
    const struct nm_scale_options *options;
    struct nm_scale_rm *rm;
    const volatile bool *stop; /* NULL: nothing interrupts */
};

/* Sleeps, or less when *stop becomes true. */
void nm_scale_sleep(const volatile bool *stop, uint64_t usec);

/* Gives back what the verdicts name, and what an earlier nmscale has left under way. The exclude file's lock is held by
 * the caller. Progress goes to stderr. Always fills *ret, which the caller releases. */
void nm_scale_apply(const struct nm_scale_apply *a, const struct nm_scale_model *model,
                    const struct nm_scale_verdict *verdicts, struct nm_scale_result *ret);

/* Takes hosts off the exclude file and has it read again. 0, or a sentence. */
int nm_scale_readmit(const struct nm_scale_apply *a, char **ret_message);
