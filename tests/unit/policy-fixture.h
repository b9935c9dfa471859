/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A node for the policy's unit tests. One percent of the node is 100 MiB and 100 millicores, so that a test can give
 * all amounts in percent, as the policy's rules do. alpha is 80 %, beta 95 %. Only node_sample(), node_pressure(),
 * node_extra_sample() and the tests themselves advance the time.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/policy/policy.h"

#define PERCENT_MEMORY (100 * NM_MIB)
#define PERCENT_CPU UINT64_C(100)
#define NODE_MAX 32
#define PERIOD_USEC (3 * NM_USEC_PER_SEC)
#define SECONDS(n) ((n)*NM_USEC_PER_SEC)

struct node {
    struct nm_policy_settings settings;
    struct nm_policy *policy;
    struct nm_policy_container views[NODE_MAX];
    struct nm_policy_container *list[NODE_MAX]; /* in.views */
    size_t n;                       /* containers made so far */
    struct nm_policy_app apps[4];
    double system_memory, system_cpu; /* use besides the containers, in percent */
    struct nm_policy_input in;
    struct nm_policy_verdict verdict;
};

int node_setup(void **state);
int node_teardown(void **state);

/* Adds a queued container. Requests and use are in percent of the node, here and below. */
struct nm_policy_container *node_queue(struct node *n, enum nm_execution_type type, double memory, double cpu);
/* Adds a container that has run for a minute and uses exactly its request. */
struct nm_policy_container *node_run(struct node *n, enum nm_execution_type type, double memory, double cpu);
void node_use(struct nm_policy_container *v, double memory, double cpu);
/* Adds a container that the policy has paused, with a deadline far in the future. */
struct nm_policy_container *node_paused(struct node *n, double memory, double last_cpu);
void node_enter(struct node *n, struct nm_policy_container *v, enum nm_state state);
void node_remove(struct node *n, const struct nm_policy_container *v);

/* Runs a round one period later, with a new sample. */
void node_sample(struct node *n);
/* Runs a round 1 ms later, with a new sample, because of memory pressure. */
void node_pressure(struct node *n);
/* Runs a round after_usec later, with a new sample that was taken because CPU use may be surging. */
void node_extra_sample(struct node *n, uint64_t after_usec);
/* Runs a round without any delay, with the old sample. */
void node_change(struct node *n);
/* Carries out the verdict's actions, which take effect immediately. */
void node_apply_verdict(struct node *n);

const struct nm_policy_action *node_action(const struct node *n, const struct nm_policy_container *v);
size_t node_count(const struct node *n, enum nm_action_type type);

#define assert_action(n, v, kind, why) \
    do { \
        const struct nm_policy_action *action_ = node_action(n, v); \
        assert_non_null(action_); \
        assert_int_equal(action_->type, kind); \
        assert_string_equal(nm_reason_name(action_->reason), nm_reason_name(why)); \
    } while (0)
#define assert_left_alone(n, v) assert_null(node_action(n, v))
#define assert_reason(actual, expected)                                                            \
    assert_string_equal(nm_reason_name(actual), nm_reason_name(expected))
