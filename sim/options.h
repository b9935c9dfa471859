/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmsim's command line. One set of options; each sub-command says which of them it takes. */

#include "sim/generate.h"

enum nm_sim_verb { NM_SIM_RUN, NM_SIM_COMPARE, NM_SIM_GENERATE };

#define NM_SIM_WORDS_MAX 64

/* Words as they were given, in order. */
struct nm_sim_words {
    const char *list[NM_SIM_WORDS_MAX];
    size_t n;
};

struct nm_sim_options {
    enum nm_sim_verb verb;
    const char *trace; /* NULL: generate */
    bool generate;
    struct nm_generate_params params;
    struct nm_sim_words configs, cases, sweeps, set;
    const char *plot, *output;
    double interference;
    bool json, jobs;
    bool modelled; /* something was said about the model of the node */
    bool made_up; /* something was said that only a made-up workload has */
};

/* 0; 1 when all is said and done (--help, --version); -EINVAL after an error message. */
int nm_sim_parse_argv(int argc, char **argv, struct nm_sim_options *ret);
