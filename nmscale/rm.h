/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fetches the model of the cluster (model.h) from the ResourceManager once. Several addresses may be given, for a
 * high-availability pair. The first address that answers as active is used until it no longer answers as active. Then
 * the other addresses are tried.
 */

#include "nmscale/http.h"
#include "nmscale/model.h"

#define NM_SCALE_RMS_MAX 8

struct nm_scale_rm {
    struct nm_scale_http *http;
    const char *const *urls; /* http://host:port, without a trailing slash */
    size_t n_urls;
    size_t active; /* index of the address that answered last */
    bool ask_nodes; /* whether the NodeManagers of Low nodes (nm_scale_is_low()) are queried, too: /ws/v1/node/apps */
};

/* The parts of the model to fetch. */
enum nm_scale_depth {
    NM_SCALE_BRIEF, /* fetch nodes and demand */
    NM_SCALE_FULL,  /* fetch applications, their containers' nodes, and the NodeManagers' answers, too */
};

int nm_scale_rm_query(struct nm_scale_rm *rm, enum nm_scale_depth depth, struct nm_scale_model *ret,
                      char **ret_message);
