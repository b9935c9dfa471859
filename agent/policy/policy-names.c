/* SPDX-License-Identifier: Apache-2.0 */

/* Names of the policy's enums in configuration files, JSON and messages. */

#include "agent/policy/policy.h"
#include "util/parse.h"

/* values in nmd.conf */
static const char *const victim_orders[] = {
    [NM_VICTIM_REVERSE_ARRIVAL] = "reverse-arrival",
    [NM_VICTIM_LEAST_WORK_LOST] = "least-work-lost",
    [NM_VICTIM_FEWEST_VICTIMS] = "fewest-victims",
    [NM_VICTIM_APP_FAIR] = "app-fair",
};

static const char *const queue_orders[] = {
    [NM_QUEUE_FIFO] = "fifo",
    [NM_QUEUE_SMALLEST_FIRST] = "smallest-first",
    [NM_QUEUE_SHORTEST_EXPECTED_FIRST] = "shortest-expected-first",
    [NM_QUEUE_NEARLY_DONE_APP_FIRST] = "nearly-done-app-first",
};

static const char *const queue_policies[] = {
    [NM_QUEUE_BY_LENGTH] = "by-length",
    [NM_QUEUE_BY_RESOURCES] = "by-resources",
};

/* Names in the API and in the journal. These names must never change. */
static const char *const reasons[NM_REASON_COUNT] = {
    [NM_REASON_NONE] = "none",
    [NM_REASON_GUARANTEED] = "guaranteed",
    [NM_REASON_WITHIN_ALLOCATION] = "within-allocation",
    [NM_REASON_OVER_ALLOCATION] = "over-allocation",
    [NM_REASON_BEHIND_OTHERS] = "behind-others",
    [NM_REASON_OVER_ALPHA] = "over-alpha",
    [NM_REASON_WOULD_EXCEED_BETA] = "would-exceed-beta",
    [NM_REASON_NEVER_FITS] = "never-fits",
    [NM_REASON_ALLOCATION_FULL] = "allocation-full",
    [NM_REASON_NO_SAMPLE] = "no-sample",
    [NM_REASON_BREAKER] = "breaker",
    [NM_REASON_UPLINK] = "uplink",
    [NM_REASON_DRAINING] = "draining",
    [NM_REASON_UNHEALTHY] = "unhealthy",
    [NM_REASON_WAITING_FOR_VICTIMS] = "waiting-for-victims",
    [NM_REASON_GUARANTEED_FIRST] = "guaranteed-first",
    [NM_REASON_PAUSED_FIRST] = "paused-first",
    [NM_REASON_SURGE_MARGIN] = "surge-margin",
    [NM_REASON_SQUEEZED] = "squeezed",
    [NM_REASON_NEXT_ROUND] = "next-round",
    [NM_REASON_LARGER_THAN_NODE] = "larger-than-node",
    [NM_REASON_GUARANTEED_FULL] = "guaranteed-full",
    [NM_REASON_QUEUE_FULL] = "queue-full",
    [NM_REASON_QUEUE_KEPT] = "queue-kept",
    [NM_REASON_MEMORY_OVER_BETA] = "memory-over-beta",
    [NM_REASON_CPU_OVER_BETA] = "cpu-over-beta",
    [NM_REASON_GUARANTEED_STALLED] = "guaranteed-stalled",
    [NM_REASON_ROOM_FOR_GUARANTEED] = "room-for-guaranteed",
    [NM_REASON_ROOM_FOR_HEAD] = "room-for-head",
    [NM_REASON_PAUSE_DEADLINE] = "pause-deadline",
    [NM_REASON_KILL_BUDGET] = "kill-budget",
    [NM_REASON_SETTLING] = "settling",
    [NM_REASON_SHED] = "shed",
    [NM_REASON_WAITED_TOO_LONG] = "waited-too-long",
    [NM_REASON_DRAIN_DEADLINE] = "drain-deadline",
    [NM_REASON_BELOW_THRESHOLD] = "below-threshold",
    [NM_REASON_PAUSE_EXPIRED] = "pause-expired",
    [NM_REASON_FREEZE_HANGS] = "freeze-hangs",
    [NM_REASON_FROZEN_MEMORY] = "frozen-memory",
    [NM_REASON_RUNNING_MEMORY] = "running-memory",
    [NM_REASON_USER] = "user",
    [NM_REASON_KERNEL_OOM] = "kernel-oom",
    [NM_REASON_OWNER] = "owner",
};

const char *nm_victim_order_name(enum nm_victim_order o)
{
    return victim_orders[o];
}

int nm_victim_order_from_string(const char *s, enum nm_victim_order *ret)
{
    return NM_PARSE_NAME(victim_orders, s, ret);
}

const char *nm_queue_order_name(enum nm_queue_order o)
{
    return queue_orders[o];
}

int nm_queue_order_from_string(const char *s, enum nm_queue_order *ret)
{
    return NM_PARSE_NAME(queue_orders, s, ret);
}

const char *nm_queue_policy_name(enum nm_queue_policy p)
{
    return queue_policies[p];
}

int nm_queue_policy_from_string(const char *s, enum nm_queue_policy *ret)
{
    return NM_PARSE_NAME(queue_policies, s, ret);
}

const char *nm_reason_name(enum nm_reason r)
{
    return reasons[r];
}

int nm_reason_from_string(const char *s, enum nm_reason *ret)
{
    return NM_PARSE_NAME(reasons, s, ret);
}
