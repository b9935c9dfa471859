/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The resources of a container that an earlier nmd has started. The container's links lead to files in one or several
 * local directories, which no record names: while a disk was bad or full, resources were fetched to another one, and
 * the same resources may be in both. So the resources are retained in each cache that has them, also in a cache that is
 * opened later. Nothing is fetched.
 */

#include "yarn/launch/caches.h"

struct nm_yarn_retained_in; /* what is retained in one cache */

struct nm_yarn_retention {
    struct nm_localizer_user user; /* only the names are used */
    const struct nm_localizer_resource *resources; /* must be valid until the end */
    size_t n;
    struct nm_yarn_retained_in *in;
    size_t n_in;
};

/* Retains the next resources in each open cache, at most `piece` of them. Returns 1 if resources are left, 0 if all are
 * retained in all open caches, or -ENOMEM. */
int nm_yarn_retention_continue(struct nm_yarn_retention *r, const struct nm_yarn_caches *c, size_t piece);
/* Releases the resources. */
void nm_yarn_retention_done(struct nm_yarn_retention *r);
