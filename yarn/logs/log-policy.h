/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Hadoop's policies. A policy decides for each container whether its logs are uploaded. The code is pure: it uses no
 * clock and no I/O. */

#include <stdbool.h>
#include <stdint.h>

#include "yarn/ids.h"

enum nm_yarn_log_policy_kind {
    NM_YARN_LOG_ALL,
    NM_YARN_LOG_NONE,
    NM_YARN_LOG_MASTER_ONLY,
    NM_YARN_LOG_FAILED,           /* containers that failed, but not the killed ones */
    NM_YARN_LOG_FAILED_OR_KILLED,
    NM_YARN_LOG_MASTER_OR_FAILED,
    NM_YARN_LOG_LIMIT_SIZE,       /* all but containers that were killed because of the size of their logs */
    NM_YARN_LOG_SAMPLE,           /* masters, failed and killed containers, and a share of the others */
};

struct nm_yarn_log_policy {
    enum nm_yarn_log_policy_kind kind;
    float sample_rate;       /* NM_YARN_LOG_SAMPLE: this share of the containers beyond the first sample_min */
    int32_t sample_min;
};

/* Chooses the policy. class, parameters: those of the application; NULL: not set. As in Hadoop, the cluster's class is
 * used if the application's class is unknown, and the parameters are chosen separately from the class. */
struct nm_yarn_log_policy nm_yarn_log_policy_choose(const char *class, const char *parameters,
                                                    const char *cluster_class, const char *cluster_parameters);

/* Returns whether the container's logs are uploaded. exit_code: 0 for a running container. */
bool nm_yarn_log_policy_accepts(const struct nm_yarn_log_policy *p, const struct nm_yarn_container_id *id,
                                bool is_master, int32_t exit_code);
