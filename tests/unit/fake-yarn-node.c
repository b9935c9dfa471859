/* SPDX-License-Identifier: Apache-2.0 */

/* See fake-yarn-node.h. */

#include "fake-yarn-node.h"

#include <stdarg.h>

#include "yarn/id-messages.h"

nm_printf(3, 4) static int record_request(struct nm_yarn_node *n, struct nm_exception *why, const char *format, ...)
{
    size_t at = strlen(n->calls);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(n->calls + at, sizeof n->calls - at, format, args);
    va_end(args);
    if (n->result > 0 && why)
        *why = n->why;
    return n->result;
}

static const char *name(const Hadoop__ContainerId *m)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(m);
    static char buf[NM_YARN_ID_SIZE];

    return nm_yarn_container_id_format(&id, buf);
}

int nm_yarn_node_start(struct nm_yarn_node *n, struct nm_bytes identifier,
                       const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context,
                       struct nm_exception *why)
{
    return record_request(n, why, "start %s for %s, %zu bytes, %s%s%.*s\n", name(token->container), token->submitter,
                          NM_MIN(identifier.size, (size_t)1), context->n_command > 0 ? context->command[0] : "nothing",
                          context->has_tokens ? " with " : "", (int)context->tokens.len,
                          (const char *)context->tokens.data);
}

bool nm_yarn_node_must_wait(const struct nm_yarn_node *n, uint64_t memory_bytes)
{
    return n->must_wait_bytes > 0 && memory_bytes >= n->must_wait_bytes;
}

int nm_yarn_node_update(struct nm_yarn_node *n, struct nm_bytes identifier,
                        const Hadoop__ContainerTokenIdentifier *token, struct nm_exception *why)
{
    (void)identifier;
    return record_request(n, why, "update %s to %d\n", name(token->container), (int)token->resource->memory);
}

int nm_yarn_node_stop(struct nm_yarn_node *n, const Hadoop__ContainerId *id, enum nm_yarn_exit code,
                      const char *message, struct nm_exception *why)
{
    (void)message;
    return record_request(n, why, "stop %s with %d\n", name(id), code);
}

int nm_yarn_node_signal(struct nm_yarn_node *n, const Hadoop__ContainerId *id, int32_t command,
                        struct nm_exception *why)
{
    return record_request(n, why, "signal %s with %d\n", name(id), command);
}

int nm_yarn_node_status(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_arena *arena,
                        Yarn__ContainerStatus **ret, struct nm_exception *why)
{
    Yarn__ContainerStatus *s = nm_arena_alloc(arena, sizeof *s);
    int r = record_request(n, why, "status %s\n", name(id));

    if (!s)
        return -ENOMEM;
    if (r == 0) {
        *s = (Yarn__ContainerStatus)YARN__CONTAINER_STATUS__INIT;
        s->id = (Hadoop__ContainerId *)id;
        s->has_state = 1;
        s->state = 2;
        *ret = s;
    }
    return r;
}

int nm_yarn_node_localize(struct nm_yarn_node *n, const Yarn__LocalizeRequest *r, struct nm_exception *why)
{
    return record_request(n, why, "localize %s\n", name(r->id));
}

int nm_yarn_node_localization(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_arena *arena,
                              Yarn__ContainerLocalization **ret, struct nm_exception *why)
{
    Yarn__ContainerLocalization *l = nm_arena_alloc(arena, sizeof *l);
    int r = record_request(n, why, "localization %s\n", name(id));

    if (!l)
        return -ENOMEM;
    if (r == 0) {
        *l = (Yarn__ContainerLocalization)YARN__CONTAINER_LOCALIZATION__INIT;
        l->id = (Hadoop__ContainerId *)id;
        *ret = l;
    }
    return r;
}

int nm_yarn_node_restart(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why)
{
    return record_request(n, why, "restart %s\n", name(id));
}

int nm_yarn_node_reinitialize(struct nm_yarn_node *n, const Yarn__ReinitializeRequest *r, struct nm_exception *why)
{
    return record_request(n, why, "reinitialize %s\n", name(r->id));
}

int nm_yarn_node_roll_back(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why)
{
    return record_request(n, why, "roll back %s\n", name(id));
}

int nm_yarn_node_commit(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why)
{
    return record_request(n, why, "commit %s\n", name(id));
}

int nm_yarn_node_services(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__Data ***ret, size_t *ret_n)
{
    static uint8_t port[4] = {0, 0, 0x34, 0xfa};
    Yarn__Data *d = nm_arena_alloc(arena, sizeof *d), **list = nm_arena_alloc(arena, sizeof *list);

    (void)n;
    if (!d || !list)
        return -ENOMEM;
    *d = (Yarn__Data)YARN__DATA__INIT;
    d->key = (char *)"mapreduce_shuffle";
    d->has_value = 1;
    d->value = (ProtobufCBinaryData){sizeof port, port};
    *list = d;
    *ret = list;
    *ret_n = 1;
    return 0;
}

void nm_yarn_node_end_application(struct nm_yarn_node *n, const Hadoop__ApplicationId *id)
{
    (void)record_request(n, NULL, "end application %d\n", id->id);
}

void nm_yarn_node_acknowledge(struct nm_yarn_node *n, const Hadoop__ContainerId *id)
{
    (void)record_request(n, NULL, "acknowledge %s\n", name(id));
}

bool nm_yarn_node_has_adopted(const struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_bytes identifier)
{
    return id->id == n->adopted && identifier.size > 0;
}

void nm_yarn_node_get_room(const struct nm_yarn_node *n, struct nm_yarn_node_room *ret)
{
    *ret = n->room;
}

bool nm_yarn_node_has_container(const struct nm_yarn_node *n, const Hadoop__ContainerId *id, bool *ret_running,
                                bool *ret_guaranteed)
{
    *ret_running = id->id == n->running;
    *ret_guaranteed = *ret_running && n->running_is_guaranteed;
    return id->id == n->running || id->id == n->queued;
}
