/* SPDX-License-Identifier: Apache-2.0 */

/* See cm-call.h. */

#include "yarn/cm-protocol/cm-call.h"

#include <assert.h>
#include <errno.h>

#include "rpc/hadoop/token.h"

void nm_cm_refuse(struct nm_hadoop_call *call, const char *class_name, const char *message)
{
    struct nm_exception why;

    nm_exception_set(&why, NM_EXCEPTION_APPLICATION, class_name, "%s", message);
    nm_hadoop_call_refuse(call, &why);
}

void nm_cm_refuse_answer(struct nm_hadoop_call *call)
{
    nm_cm_refuse(call, NM_EXCEPTION_YARN, "The answer would be too large; name fewer containers in a call.");
}

/* Parses the caller's NMToken identifier again. The server has accepted the identifier when the connection began, so
 * parsing can fail only for lack of memory. */
const Hadoop__NMTokenIdentifier *nm_cm_caller(struct nm_hadoop_call *call)
{
    const Hadoop__NMTokenIdentifier *caller;

    if (nm_token_parse_nm(nm_hadoop_call_arena(call), nm_hadoop_call_identifier(call), &caller) == 0)
        return caller;
    nm_cm_refuse(call, NM_EXCEPTION_RETRY, "There is no memory for this call at the moment; try again.");
    return NULL;
}

bool nm_cm_outcome_init(struct nm_cm_outcome *o, struct nm_hadoop_call *call, size_t n)
{
    struct nm_arena *a = nm_hadoop_call_arena(call);

    if (n > NM_CM_CONTAINERS_MAX) {
        nm_cm_refuse(call, NM_EXCEPTION_YARN, "A call may name at most 1000 containers.");
        return false;
    }
    *o = (struct nm_cm_outcome){.arena = a, .n = n};
    o->done = nm_arena_alloc(a, (n + 1) * sizeof(void *));
    o->refused = nm_arena_alloc(a, (n + 1) * sizeof(void *));
    if (o->done && o->refused)
        return true;
    nm_cm_refuse_answer(call);
    return false;
}

void nm_cm_explain(int r, struct nm_exception *why)
{
    if (r < 0)
        nm_exception_set(why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_YARN, "The node can't carry out the request: %s",
                         strerror(-r));
}

static char *copy_text(struct nm_arena *a, const char *s)
{
    size_t size = strlen(s) + 1;
    char *copy = nm_arena_alloc(a, size);

    return copy ? memcpy(copy, s, size) : NULL;
}

static int add_refused(struct nm_cm_outcome *o, const Hadoop__ContainerId *id, const struct nm_exception *why)
{
    Yarn__Refused *refused = nm_arena_alloc(o->arena, sizeof *refused);
    Yarn__Exception *e = nm_arena_alloc(o->arena, sizeof *e);

    if (!refused || !e)
        return -ENOMEM;
    *refused = (Yarn__Refused)YARN__REFUSED__INIT;
    *e = (Yarn__Exception)YARN__EXCEPTION__INIT;
    e->message = copy_text(o->arena, why->message);
    e->class_name = copy_text(o->arena, why->class_name);
    if (!e->message || !e->class_name)
        return -ENOMEM;
    refused->id = (Hadoop__ContainerId *)id;
    refused->why = e;
    o->refused[o->n_refused++] = refused;
    return 0;
}

int nm_cm_note(struct nm_cm_outcome *o, const Hadoop__ContainerId *id, int r, struct nm_exception *why)
{
    assert(o->n_done + o->n_refused < o->n);
    if (r == 0) {
        o->done[o->n_done++] = (Hadoop__ContainerId *)id;
        return 0;
    }
    nm_cm_explain(r, why);
    return add_refused(o, id, why);
}
