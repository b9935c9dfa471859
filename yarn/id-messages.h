/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Conversions between the ids in protobuf messages and the ids of ids.h. */

#include <stdbool.h>

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/security.pb-c.h"
#include "yarn/ids.h"

/* Return true if the id has all its parts. An incomplete id doesn't identify an application or a container. */
static inline bool nm_yarn_is_application(const Hadoop__ApplicationId *m)
{
    return m && m->has_id && m->has_cluster_timestamp;
}

static inline bool nm_yarn_is_attempt(const Hadoop__AttemptId *m)
{
    return m && m->has_attempt && nm_yarn_is_application(m->application);
}

static inline bool nm_yarn_is_container(const Hadoop__ContainerId *m)
{
    return m && m->has_id && nm_yarn_is_attempt(m->attempt);
}

/* Convert an id from a message. The id must be complete. */
static inline struct nm_yarn_application_id nm_yarn_application_of(const Hadoop__ApplicationId *m)
{
    return (struct nm_yarn_application_id){m->cluster_timestamp, m->id};
}

static inline struct nm_yarn_attempt_id nm_yarn_attempt_of(const Hadoop__AttemptId *m)
{
    return (struct nm_yarn_attempt_id){nm_yarn_application_of(m->application), m->attempt};
}

static inline struct nm_yarn_container_id nm_yarn_container_of(const Hadoop__ContainerId *m)
{
    return (struct nm_yarn_container_id){nm_yarn_attempt_of(m->attempt), m->id};
}

static inline void nm_yarn_application_message_set(Hadoop__ApplicationId *m, const struct nm_yarn_application_id *id)
{
    *m = (Hadoop__ApplicationId)HADOOP__APPLICATION_ID__INIT;
    m->has_id = m->has_cluster_timestamp = 1;
    m->id = id->number;
    m->cluster_timestamp = id->cluster;
}

/* Storage for the conversion to a message. The message points into this struct, so the struct must not be copied. */
struct nm_yarn_attempt_message {
    Hadoop__ApplicationId application;
    Hadoop__AttemptId attempt;
};

static inline Hadoop__AttemptId *nm_yarn_attempt_message_set(struct nm_yarn_attempt_message *m,
                                                             const struct nm_yarn_attempt_id *id)
{
    nm_yarn_application_message_set(&m->application, &id->application);
    m->attempt = (Hadoop__AttemptId)HADOOP__ATTEMPT_ID__INIT;
    m->attempt.application = &m->application;
    m->attempt.has_attempt = 1;
    m->attempt.attempt = id->number;
    return &m->attempt;
}

/* Storage for the conversion of a container's id to a message. */
struct nm_yarn_container_message {
    struct nm_yarn_attempt_message of;
    Hadoop__ContainerId container;
};

static inline Hadoop__ContainerId *nm_yarn_container_message_set(struct nm_yarn_container_message *m,
                                                                 const struct nm_yarn_container_id *id)
{
    m->container = (Hadoop__ContainerId)HADOOP__CONTAINER_ID__INIT;
    m->container.attempt = nm_yarn_attempt_message_set(&m->of, &id->attempt);
    m->container.has_id = 1;
    m->container.id = id->number;
    return &m->container;
}

/* Makes a message with a container's id in the arena. Returns NULL without memory. */
static inline Hadoop__ContainerId *nm_yarn_container_message_new(struct nm_arena *a,
                                                                 const struct nm_yarn_container_id *id)
{
    struct nm_yarn_container_message *m = nm_arena_alloc(a, sizeof *m);

    return m ? nm_yarn_container_message_set(m, id) : NULL;
}

static inline bool nm_yarn_same_application(const struct nm_yarn_application_id *a,
                                            const struct nm_yarn_application_id *b)
{
    return a->cluster == b->cluster && a->number == b->number;
}

static inline bool nm_yarn_same_attempt(const struct nm_yarn_attempt_id *a, const struct nm_yarn_attempt_id *b)
{
    return nm_yarn_same_application(&a->application, &b->application) && a->number == b->number;
}

static inline bool nm_yarn_same_container(const struct nm_yarn_container_id *a, const struct nm_yarn_container_id *b)
{
    return nm_yarn_same_attempt(&a->attempt, &b->attempt) && a->number == b->number;
}
