/* SPDX-License-Identifier: Apache-2.0 */

/* See log-policy.h. */

#include "yarn/logs/log-policy.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/macros.h"

#define PREFIX "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation."
#define SAMPLE_RATE 0.2f
#define SAMPLE_MIN 20
/* codes of Hadoop's ContainerExecutor.ExitCode and ContainerExitStatus */
#define FORCE_KILLED 137
#define TERMINATED 143
#define KILLED_FOR_EXCESS_LOGS (-109)
#define NUMBER_MASK INT64_C(0xffffffffff) /* the part of a container's number without the epoch */

/* ---- choice ------------------------------------------------------------------------------- */

static bool find_kind(const char *class, enum nm_yarn_log_policy_kind *ret)
{
    static const char *const names[] = {
        [NM_YARN_LOG_ALL] = "AllContainerLogAggregationPolicy",
        [NM_YARN_LOG_NONE] = "NoneContainerLogAggregationPolicy",
        [NM_YARN_LOG_MASTER_ONLY] = "AMOnlyLogAggregationPolicy",
        [NM_YARN_LOG_FAILED] = "FailedContainerLogAggregationPolicy",
        [NM_YARN_LOG_FAILED_OR_KILLED] = "FailedOrKilledContainerLogAggregationPolicy",
        [NM_YARN_LOG_MASTER_OR_FAILED] = "AMOrFailedContainerLogAggregationPolicy",
        [NM_YARN_LOG_LIMIT_SIZE] = "LimitSizeContainerLogAggregationPolicy",
        [NM_YARN_LOG_SAMPLE] = "SampleContainerLogAggregationPolicy",
    };

    if (!class || strncmp(class, PREFIX, strlen(PREFIX)) != 0)
        return false;
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++)
        if (nm_streq(class + strlen(PREFIX), names[i])) {
            *ret = (enum nm_yarn_log_policy_kind)i;
            return true;
        }
    return false;
}

/* Takes one parameter, NAME:VALUE. As in Hadoop, an invalid value leaves the default. */
static void take_parameter(struct nm_yarn_log_policy *p, const char *text)
{
    char *end;

    if (strncmp(text, "SR:", 3) == 0) {
        float rate = strtof(text + 3, &end);

        if (end > text + 3 && *end == '\0' && rate >= 0 && rate <= 1)
            p->sample_rate = rate;
    } else if (strncmp(text, "MIN:", 4) == 0) {
        long long min;

        errno = 0;
        min = strtoll(text + 4, &end, 10);
        if (errno == 0 && end > text + 4 && *end == '\0' && min >= 0 && min <= INT32_MAX)
            p->sample_min = (int32_t)min;
    }
}

static void take_parameters(struct nm_yarn_log_policy *p, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, ",");
        char parameter[64];

        if (n < sizeof parameter) {
            memcpy(parameter, text, n);
            parameter[n] = '\0';
            take_parameter(p, parameter + strspn(parameter, " "));
        }
        text += n + (text[n] == ',');
    }
}

struct nm_yarn_log_policy nm_yarn_log_policy_choose(const char *class, const char *parameters,
                                                    const char *cluster_class, const char *cluster_parameters)
{
    struct nm_yarn_log_policy p = {NM_YARN_LOG_ALL, SAMPLE_RATE, SAMPLE_MIN};

    if (!find_kind(class, &p.kind))
        (void)find_kind(cluster_class, &p.kind);
    take_parameters(&p, parameters ?: cluster_parameters ?: "");
    return p;
}

/* ---- verdict ------------------------------------------------------------------------------ */

static uint32_t fold(int64_t v)
{
    return (uint32_t)((uint64_t)v ^ (uint64_t)v >> 32);
}

/* Returns ContainerId.hashCode() of Hadoop, so that all nodes of a cluster choose by the same rule. */
static int32_t hash(const struct nm_yarn_container_id *id)
{
    const struct nm_yarn_application_id *application = &id->attempt.application;
    uint32_t h = 371237u * 6521u + fold(application->cluster);

    h = 371237u * h + (uint32_t)application->number;
    h = 347671u * (347671u * 5501u + h) + (uint32_t)id->attempt.number;
    return (int32_t)(31 * fold(id->number) + h);
}

static bool is_sampled(const struct nm_yarn_log_policy *p, const struct nm_yarn_container_id *id)
{
    /* the numbers of an attempt begin with 1, the master */
    if ((id->number & NUMBER_MASK) < (int64_t)p->sample_min + 2)
        return true;
    return p->sample_rate > 0 && fpclassify(fmodf((float)hash(id), 1 / p->sample_rate)) == FP_ZERO;
}

bool nm_yarn_log_policy_accepts(const struct nm_yarn_log_policy *p, const struct nm_yarn_container_id *id,
                                bool is_master, int32_t exit_code)
{
    const bool is_failed = exit_code != 0 && exit_code != FORCE_KILLED && exit_code != TERMINATED;

    switch (p->kind) {
    case NM_YARN_LOG_ALL:
        return true;
    case NM_YARN_LOG_NONE:
        return false;
    case NM_YARN_LOG_MASTER_ONLY:
        return is_master;
    case NM_YARN_LOG_FAILED:
        return is_failed;
    case NM_YARN_LOG_FAILED_OR_KILLED:
        return exit_code != 0;
    case NM_YARN_LOG_MASTER_OR_FAILED:
        return is_master || is_failed;
    case NM_YARN_LOG_LIMIT_SIZE:
        return exit_code != KILLED_FOR_EXCESS_LOGS;
    case NM_YARN_LOG_SAMPLE:
        return is_master || exit_code != 0 || is_sampled(p, id);
    }
    return true;
}
