/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Parses the JSON of the ResourceManager and of NodeManagers into the model. The text is untrusted: any process may
 * listen at the address. Each function returns 0 or a negative errno with a sentence in *ret_message (freed by the
 * caller).
 *   -EBADMSG  the text is not JSON, or doesn't have the structure of this page
 *   -E2BIG    the text exceeds this program's limits
 */

#include "nmscale/model.h"

/* Parses the page /ws/v1/cluster/nodes. */
int nm_scale_parse_nodes(const char *text, size_t size, struct nm_scale_node **ret, size_t *ret_n,
                         char **ret_message);

/* Parses the page /ws/v1/cluster/apps?states=ACCEPTED,RUNNING. */
int nm_scale_parse_apps(const char *text, size_t size, struct nm_scale_app **ret, size_t *ret_n,
                        char **ret_message);

/* Parses the page /ws/v1/cluster/metrics. */
int nm_scale_parse_demand(const char *text, size_t size, struct nm_scale_demand *ret, char **ret_message);

/* /ws/v1/cluster/scheduler: the waiting requests in partitions with a name. Empty if the scheduler has no
 * partitions. */
int nm_scale_parse_waiting(const char *text, size_t size, struct nm_scale_waiting **ret, size_t *ret_n,
                           char **ret_message);

/* /ws/v1/cluster/apps/ID/appattempts: the ids of the attempts, and the nodes of their masters. */
struct nm_scale_attempts {
    char **ids, **nodes;
    size_t n_ids, n_nodes;
};
int nm_scale_parse_attempts(const char *text, size_t size, struct nm_scale_attempts *ret, char **ret_message);
void nm_scale_attempts_done(struct nm_scale_attempts *a);

/* .../appattempts/ID/containers: the containers' nodes, one for each container. */
int nm_scale_parse_containers(const char *text, size_t size, char ***ret, size_t *ret_n, char **ret_message);

/* /ws/v1/node/apps of a NodeManager: the applications for which the NodeManager still has data. */
int nm_scale_parse_node_apps(const char *text, size_t size, char ***ret, size_t *ret_n, char **ret_message);
