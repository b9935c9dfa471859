/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The configurations that are tried: nmd.conf files, and assignments on top of them. An assignment
 * is "section.key=value" with the keys of nmd.conf(5), '_' being as good as '-'; and, for what is
 * tried most,
 *
 *   alpha=...    both over-allocation thresholds
 *   beta=...     both preemption thresholds
 *   victims=...  preemption.victim-order
 *
 * Every function that can refuse gives *ret_message, the caller's to free, with -EINVAL.
 */

#include "agent/config/config.h"

struct nm_sim_case {
    char name[64];
    char sets[160]; /* what a name stands for; "" where the name says it, or there is nothing to say */
    struct nm_config *config;
};

struct nm_sim_cases {
    struct nm_sim_case *list;
    size_t n, size;
    unsigned n_skipped; /* of sweeps: alpha not below beta */
};

void nm_cases_done(struct nm_sim_cases *s);
/* Takes the configuration, also on failure. `sets` as above. */
int nm_cases_add(struct nm_sim_cases *s, const char *name, const char *sets, struct nm_config *config);
/* "name: a=b, c=d" or "a=b, c=d" on top of base and the assignments in `set`, over which it wins. */
int nm_cases_add_spec(struct nm_sim_cases *s, const struct nm_config *base, const char *spec,
                      const char *const *set, size_t n_set, char **ret_message);
/* Every combination of the values in "key=value,value,..." */
int nm_cases_add_sweep(struct nm_sim_cases *s, const struct nm_config *base,
                       const char *const *sweeps, size_t n_sweeps, const char *const *set, size_t n_set,
                       char **ret_message);

/* The part that decides; whom the containers run as, say, is at its default in the copy. */
int nm_case_copy(const struct nm_config *c, struct nm_config **ret);
int nm_case_assign(struct nm_config *c, const char *assignment, char **ret_message);
