/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of yarn/node/: start requests as application masters send them, and the status of a container in a
 * heartbeat. Include this header after cmocka.h.
 */

#include "tests/unit/yarn-tokens.h"
#include "yarn/node/node.h"

/* The identifier of a container token, and its packed form. */
struct wanted {
    struct tokens_id ids;
    uint8_t bytes[512];
    size_t size;
};

static inline void pack(struct wanted *a)
{
    a->size = hadoop__container_token_identifier__get_packed_size(&a->ids.token);
    assert_in_range(a->size, 1, sizeof a->bytes);
    (void)hadoop__container_token_identifier__pack(&a->ids.token, a->bytes);
}

static inline void want(struct wanted *a, int64_t number, int64_t mib, bool opportunistic, int32_t version)
{
    tokens_ids(&a->ids, 1, 1, number);
    a->ids.token = (Hadoop__ContainerTokenIdentifier)HADOOP__CONTAINER_TOKEN_IDENTIFIER__INIT;
    a->ids.token.container = &a->ids.container;
    a->ids.token.node_address = (char *)(uintptr_t) "node07:4711";
    a->ids.token.submitter = (char *)(uintptr_t) "alice";
    a->ids.resource = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    a->ids.resource.has_memory = a->ids.resource.has_vcores = 1;
    a->ids.resource.memory = mib;
    a->ids.resource.vcores = 1;
    a->ids.token.resource = &a->ids.resource;
    a->ids.token.has_execution_type = a->ids.token.has_version = 1;
    a->ids.token.execution_type = opportunistic ? HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__OPPORTUNISTIC
                                                : HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__GUARANTEED;
    a->ids.token.version = version;
    pack(a);
}

static inline int start(struct nm_yarn_node *n, const struct wanted *a, const char *command, struct nm_exception *why)
{
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    char *words[] = {(char *)(uintptr_t)command};

    context.command = words;
    context.n_command = 1;
    return nm_yarn_node_start(n, (struct nm_bytes){a->bytes, a->size}, &a->ids.token, &context, why);
}

/* Returns the status of the only container, as a heartbeat reports it. */
static inline Yarn__ContainerStatus status_of(struct nm_yarn_node *n, size_t *ret_increased)
{
    Yarn__NodeStatus status = YARN__NODE_STATUS__INIT;
    Yarn__ContainerStatus s;
    struct nm_arena arena;

    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report(n, &arena, &status), 0);
    assert_int_equal(status.n_containers, 1);
    s = *status.containers[0];
    if (ret_increased)
        *ret_increased = status.n_increased;
    nm_arena_done(&arena);
    return s;
}
