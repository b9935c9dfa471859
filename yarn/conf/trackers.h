/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The addresses of several ResourceManagers, of which one at a time is active. Their properties have the ids of
 * yarn.resourcemanager.ha.rm-ids in their names, so that no table has them:
 *
 *   yarn.resourcemanager.resource-tracker.address.ID, scheduler.address.ID   or else
 *   yarn.resourcemanager.hostname.ID                                         with the usual port
 */

enum nm_yarn_rm_service {
    NM_YARN_RM_TRACKER,   /* of nodes */
    NM_YARN_RM_SCHEDULER, /* of application masters */
};

#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* In the order of the ids; the caller frees them with nm_yarn_trackers_free(). -EINVAL and *ret_message, a
 * line for each that isn't there, or is none. */
int nm_yarn_trackers_read(const struct nm_yarn_conf *c, char *const *ids, enum nm_yarn_rm_service service,
                          struct nm_yarn_address **ret, size_t *ret_n, char **ret_message);
void nm_yarn_trackers_free(struct nm_yarn_address *list, size_t n);
