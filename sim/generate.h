/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Made-up workloads. The same parameters always make exactly the same workload: the random generator is part of nmsim,
 * and no function of libm is called.
 *
 * All kinds have guaranteed services that request most of the node and use a part of it, guaranteed jobs that are
 * submitted and end, and more opportunistic jobs than fit beside them. The kinds differ in the behaviour of services:
 *
 *   steady       40 % of the request, with a little noise
 *   diurnal      25 % at night, 85 % by day
 *   bursty       25 %, and bursts to nearly 100 %, of each service separately and sometimes of all at
 *                the same time; jobs are submitted in groups
 *   adversarial  all services repeatedly change from little use to full use within seconds; CPU crosses
 *                the preemption threshold at the interval of the samples; the queue is flooded; some
 *                jobs use more than they requested, or begin to use much only after their warm-up
 */

#include "sim/workload.h"

enum nm_generate_kind {
    NM_GENERATE_STEADY,
    NM_GENERATE_DIURNAL,
    NM_GENERATE_BURSTY,
    NM_GENERATE_ADVERSARIAL,
    NM_GENERATE_COUNT,
};

struct nm_generate_params {
    enum nm_generate_kind kind;
    uint64_t seed;
    uint64_t duration_usec;
    uint64_t memory_bytes; /* memory of the node */
    uint32_t n_cpus;
    uint32_t services; /* number of guaranteed services, which also determines the number and size of jobs */
};

#define NM_GENERATE_DEFAULTS \
    { \
        .seed = 1, .duration_usec = UINT64_C(86400) * NM_USEC_PER_SEC, \
        .memory_bytes = UINT64_C(64) << 30, .n_cpus = 16, .services = 24, \
    }

const char *nm_generate_kind_name(enum nm_generate_kind k);
int nm_generate_kind_from_string(const char *s, enum nm_generate_kind *ret);

int nm_generate(const struct nm_generate_params *p, struct nm_workload **ret);
