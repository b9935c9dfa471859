/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The private state that the files behind pipeline.h share. */

#include "yarn/proxy/pipeline.h"

struct nm_pipeline {
    struct nm_stage_master m; /* first member: a pointer to `m` is also a pointer to the pipeline */
    struct nm_pipelines *all;
    void *stages[NM_STAGES_MAX];
    /* used_key: the key of the token that the master used last. given_key: the key of the token that the proxy gave the
     * master last. An open connection keeps using the former token, and the next connection uses the latter token.
     * Tokens with either key are accepted at any age, because the master can't get a new token while the
     * ResourceManager is unreachable. */
    struct nm_yarn_master_key used_key, given_key;
    const char *state; /* name of the state (see proxy-stats.h) */
    uint64_t since_realtime_usec, last_allocate_realtime_usec;
    struct nm_pipeline *next;
};

struct nm_pipelines {
    struct nm_stage_context *context;
    const struct nm_yarn_local_keys *keys;
    const struct nm_stage_type *types[NM_STAGES_MAX];
    size_t n_types;
    struct nm_pipeline *first;
};

/* ---- pipeline-call.c ---- */
/* Saves the pipeline. Each stage adds its state, and the whole state is written with one write. */
int nm_pipeline_save(struct nm_stage_master *m);
