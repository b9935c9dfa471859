/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmsim's command line. All commands share one set of options, and each command refuses options without effect. */

#include "sim/generate.h"

enum nm_sim_verb { NM_SIM_RUN, NM_SIM_COMPARE, NM_SIM_GENERATE };

#define NM_SIM_WORDS_MAX 64

/* The values of a repeatable option, in the order of the command line. */
struct nm_sim_words {
    const char *list[NM_SIM_WORDS_MAX];
    size_t n;
};

struct nm_sim_options {
    enum nm_sim_verb verb;
    const char *trace; /* path of the trace; NULL: a workload is generated */
    bool generate;
    struct nm_generate_params params;
    struct nm_sim_words configs, cases, sweeps, set;
    const char *plot, *output;
    double interference;
    bool json, jobs;
    bool modelled; /* an option for the model of the node was given */
    bool made_up; /* an option for made-up workloads was given */
};

/* Returns 0 to continue, 1 after the help or the version was printed, or -EINVAL after an error message. */
int nm_sim_parse_argv(int argc, char **argv, struct nm_sim_options *ret);
