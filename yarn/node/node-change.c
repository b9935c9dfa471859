/* SPDX-License-Identifier: Apache-2.0 */

/* Requests from masters and from the ResourceManager that change running containers: see node.h. */

#include "yarn/node/node-state.h"

#include <signal.h>

#include "util/error.h"
#include "yarn/id-messages.h"

/* ---- size and type ------------------------------------------------------------------------ */

static bool same_size(const Hadoop__Resource *a, const Hadoop__Resource *b)
{
    return a->memory == b->memory && a->vcores == b->vcores;
}

/* Applies the new token and saves it, so that a restarted nmd restores this token. On failure, the container keeps its
 * former token. */
static int apply(struct nm_yarn_container *i, struct nm_bytes identifier, const Hadoop__ContainerTokenIdentifier *token,
                 struct nm_problem *problem)
{
    const Hadoop__Resource *to = token->resource, *old = i->token->resource;
    const enum nm_execution_type type = nm_yarn_token_type(token);
    bool grows = to->memory > old->memory || to->vcores > old->vcores, sized = !same_size(to, old);
    _cleanup_free_ void *data = NULL;
    struct nm_yarn_read_token read;
    Yarn__Record record = *i->record;
    struct nm_blob blob;
    struct nm_change c = {.type = type != nm_yarn_token_type(i->token) ? &type : NULL,
                          .memory_bytes = sized ? (uint64_t)to->memory * NM_MIB : 0,
                          .vcores_milli = sized ? (uint32_t)to->vcores * 1000 : 0,
                          .blob = &blob};
    int r;

    record.has_increased = 1;
    record.increased = i->increased || grows;
    r = nm_yarn_record_pack(&record, identifier, &blob);
    if (r < 0)
        return r;
    data = blob.data;
    r = nm_yarn_token_read(identifier, &read);
    if (r < 0)
        return r;
    r = nm_manager_change(i->node->p.manager, NM_YARN_OWNER, i->text, &c, problem);
    if (r != 0) {
        nm_arena_done(&read.arena);
        return r;
    }
    if (grows) {
        i->increased = true;
        i->increase_reported = false;
    }
    nm_yarn_container_take_token(i, &read);
    return 0;
}

int nm_yarn_node_update(struct nm_yarn_node *n, struct nm_bytes identifier,
                        const Hadoop__ContainerTokenIdentifier *token, struct nm_exception *why)
{
    _cleanup_free_ char *conflict = NULL;
    struct nm_problem problem = {0};
    struct nm_yarn_container *i;
    int r = nm_yarn_find_live(n, token->container, &i, why);

    if (r != 0)
        return r;
    if (token->version <= i->token->version)
        return nm_yarn_refuse(why, "Container %s has update version [%d] >= requested version [%d]", i->text,
                              i->token->version, token->version);
    if (!token->resource || token->resource->memory <= 0 || token->resource->memory > INT32_MAX ||
        token->resource->vcores <= 0 || token->resource->vcores > 100000)
        return nm_yarn_refuse(why, "The resource in the token is not valid for a container.");
    conflict = nm_yarn_resource_find_conflict(i, token);
    if (conflict)
        return nm_yarn_refuse(why, "%s", conflict);
    r = apply(i, identifier, token, &problem);
    return r > 0 ? nm_yarn_refuse(why, "%s", problem.message) : r;
}

/* ---- signals ------------------------------------------------------------------------------ */

enum command { THREAD_DUMP = 1, GRACEFUL_SHUTDOWN, FORCEFUL_SHUTDOWN }; /* values of SignalContainerCommand */

/* Kills a container immediately. The exit status is that of SIGKILL, because the end is the effect of a signal and not
 * a decision of the node. */
static int kill_now(struct nm_yarn_container *i, struct nm_problem *problem)
{
    const struct nm_end e = {.code = 128 + SIGKILL, .message = "Container killed by a request for a forceful shutdown.",
                             .now = true};

    return nm_manager_end(i->node->p.manager, NM_YARN_OWNER, i->text, &e, problem);
}

/* Adds Hadoop's message about a signal that was sent. */
static void note_signal(struct nm_yarn_container *i, int32_t command)
{
    static const char *const names[][2] = {
        [THREAD_DUMP] = {"OUTPUT_THREAD_DUMP", "SIGQUIT"},
        [GRACEFUL_SHUTDOWN] = {"GRACEFUL_SHUTDOWN", "SIGTERM"},
        [FORCEFUL_SHUTDOWN] = {"FORCEFUL_SHUTDOWN", "SIGKILL"},
    };
    const struct nm_container *c = nm_yarn_container_core(i);

    if (c && c->pid > 0)
        nm_yarn_container_add_message(i, "Sent signal %s (%s) to pid %d as user %s for container %s, result=success",
                                      names[command][0], names[command][1], (int)c->pid, i->app->submitter, i->text);
}

/* Sends a signal. The call succeeds even if no process receives the signal. MapReduce requests a thread dump of a task
 * that hangs, and stops the container only if that request succeeds. */
int nm_yarn_node_signal(struct nm_yarn_node *n, const Hadoop__ContainerId *id, int32_t command,
                        struct nm_exception *why)
{
    struct nm_yarn_container_id number = nm_yarn_container_of(id);
    struct nm_yarn_container *i = nm_yarn_container_table_find(&n->containers, &number);
    struct nm_problem problem = {0};
    int r;

    if (command < THREAD_DUMP || command > FORCEFUL_SHUTDOWN)
        return nm_yarn_refuse(why, "Invalid signal command %d: use 1 (thread dump), 2 (graceful shutdown) or 3 "
                              "(forceful shutdown).", command);
    if (!i || i->completed)
        return 0;
    if (command == FORCEFUL_SHUTDOWN)
        r = kill_now(i, &problem);
    else /* a JVM dumps its threads on SIGQUIT */
        r = nm_manager_signal(n->p.manager, NM_YARN_OWNER, i->text, command == THREAD_DUMP ? SIGQUIT : SIGTERM,
                              &problem);
    if (r == 0 && !i->completed)
        note_signal(i, command);
    return NM_MIN(r, 0);
}
