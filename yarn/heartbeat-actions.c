/* SPDX-License-Identifier: Apache-2.0 */

/* See heartbeat-actions.h. */

#include "yarn/heartbeat-actions.h"

#include "yarn/message-ids.h"

/* Ends containers. Requests for unknown or ended containers are ignored. */
static void end_containers(struct nm_yarn_node *n, const Yarn__HeartbeatResponse *answer)
{
    struct nm_exception why;

    for (size_t i = 0; i < answer->n_containers_to_end; i++)
        if (nm_yarn_is_container(answer->containers_to_end[i]))
            (void)nm_yarn_node_stop(n, answer->containers_to_end[i], NM_YARN_KILLED_BY_RM,
                                    "Container killed by the ResourceManager.", &why);
}

static void signal_containers(struct nm_yarn_node *n, const Yarn__HeartbeatResponse *answer)
{
    struct nm_exception why;

    for (size_t i = 0; i < answer->n_containers_to_signal; i++)
        if (nm_yarn_is_container(answer->containers_to_signal[i]->id))
            (void)nm_yarn_node_signal(n, answer->containers_to_signal[i]->id,
                                      answer->containers_to_signal[i]->command, &why);
}

/* Updates containers. The application's master may have sent the same token before. */
static void update_containers(struct nm_yarn_cm_server *m, const Yarn__HeartbeatResponse *answer)
{
    struct nm_exception why;

    for (size_t i = 0; i < answer->n_containers_to_update; i++) {
        const Hadoop__Token *token = answer->containers_to_update[i]->token;
        struct nm_arena a;

        if (!token)
            continue;
        nm_arena_init(&a, nm_arena_limit(token->identifier.len), NULL);
        (void)nm_yarn_cm_server_update(m, token, &a, &why);
        nm_arena_done(&a);
    }
}

void nm_yarn_apply_response(struct nm_yarn_node *n, struct nm_yarn_cm_server *m, const Yarn__HeartbeatResponse *answer)
{
    for (size_t i = 0; i < answer->n_containers_acknowledged; i++)
        if (nm_yarn_is_container(answer->containers_acknowledged[i]))
            nm_yarn_node_acknowledge(n, answer->containers_acknowledged[i]);
    end_containers(n, answer);
    for (size_t i = 0; i < answer->n_applications_to_end; i++)
        if (nm_yarn_is_application(answer->applications_to_end[i]))
            nm_yarn_node_end_application(n, answer->applications_to_end[i]);
    signal_containers(n, answer);
    update_containers(m, answer);
}
