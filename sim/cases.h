/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The configurations to replay: nmd.conf files, with assignments on top of them. An assignment is
 * "section.key=value" with the keys of nmd.conf(5), where '_' is the same as '-'. The most frequent
 * assignments have short forms:
 *
 *   alpha=...    both over-allocation thresholds
 *   beta=...     both preemption thresholds
 *   victims=...  preemption.victim-order
 *
 * A function that returns -EINVAL sets *ret_message, which the caller frees.
 */

#include "agent/config/config.h"

struct nm_sim_case {
    char name[64];
    char sets[160]; /* the assignments that the name stands for; "" if the case has no assignments or the name shows
                       them */
    struct nm_config *config;
};

struct nm_sim_cases {
    struct nm_sim_case *list;
    size_t n, size;
    unsigned n_skipped; /* invalid combinations in sweeps: alpha not below beta */
};

void nm_cases_done(struct nm_sim_cases *s);
/* Adds a case. Takes ownership of the configuration, also on failure. `sets`: as in struct nm_sim_case. */
int nm_cases_add(struct nm_sim_cases *s, const char *name, const char *sets, struct nm_config *config);
/* Adds the case "name: a=b, c=d" or "a=b, c=d". These assignments are applied after base and the assignments in
 * `set`. */
int nm_cases_add_spec(struct nm_sim_cases *s, const struct nm_config *base, const char *spec,
                      const char *const *set, size_t n_set, char **ret_message);
/* Adds every combination of the values in "key=value,value,..." */
int nm_cases_add_sweep(struct nm_sim_cases *s, const struct nm_config *base,
                       const char *const *sweeps, size_t n_sweeps, const char *const *set, size_t n_set,
                       char **ret_message);

/* Copies the keys that affect decisions. Other keys, such as the containers' user account, have their defaults in the
 * copy. */
int nm_case_copy(const struct nm_config *c, struct nm_config **ret);
int nm_case_assign(struct nm_config *c, const char *assignment, char **ret_message);
