/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The addresses of several ResourceManagers, of which one at a time is active. The names of these properties contain
 * the ids of yarn.resourcemanager.ha.rm-ids, so no table can list them:
 *
 *   yarn.resourcemanager.resource-tracker.address.ID, scheduler.address.ID   if set, else
 *   yarn.resourcemanager.hostname.ID                                         with the default port
 */

enum nm_yarn_rm_service {
    NM_YARN_RM_TRACKER,   /* the address for nodes */
    NM_YARN_RM_SCHEDULER, /* the address for application masters */
};

#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* Reads the addresses in the order of the ids. The caller frees them with nm_yarn_trackers_free(). -EINVAL:
 * *ret_message has a line for each address that is missing or invalid. */
int nm_yarn_trackers_read(const struct nm_yarn_conf *c, char *const *ids, enum nm_yarn_rm_service service,
                          struct nm_yarn_address **ret, size_t *ret_n, char **ret_message);
void nm_yarn_trackers_free(struct nm_yarn_address *list, size_t n);
