/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The node's tables of applications and containers, found by id, with the data that the manager doesn't hold. The other
 * files of this folder contain the rules for the life cycle of applications and containers.
 */

#include "rpc/hadoop/arena.h"
#include "yarn/launch/launcher.h"
#include "yarn/node/node.h"

struct nm_yarn_app {
    struct nm_yarn_application_id id;
    char text[NM_YARN_ID_SIZE];
    char *submitter;
    char *view_acl; /* who may read the logs: the first container's ACL; NULL: none */
    size_t n_containers;
    enum { NM_YARN_VIEW_UNKNOWN, NM_YARN_VIEW_ALLOWED, NM_YARN_VIEW_REFUSED } view; /* result of may_view() for the
                                                                             answer that is being made */
    bool ended; /* the ResourceManager has ended the application */
    bool is_noted; /* the application's file in the state directory has been written */
    json_t *listing; /* the application's containers; used only while a list of applications is being made */
    struct nm_yarn_app *next;
};

/* An unpacked record of a container. When a new record replaces it, the old record is kept until preparations no longer
 * point to it. */
struct nm_yarn_record_version {
    struct nm_arena arena;
    const Yarn__Record *record;
    struct nm_yarn_record_version *next; /* the next older record */
};

/* A request for resources of a running container: additional resources, or the resources for its re-initialization. */
struct nm_yarn_extra {
    struct nm_yarn_container *container;
    struct nm_arena arena;
    const Yarn__LaunchContext *context; /* the requested resources */
    struct nm_yarn_preparation *preparation;
    bool auto_commit;
    struct nm_yarn_extra *next; /* the next older entry of `extras` */
};

struct nm_yarn_container {
    struct nm_yarn_node *node;
    struct nm_yarn_container_id id;
    char text[NM_YARN_ID_SIZE];
    struct nm_yarn_app *app;
    /* The unpacked blob: the launch context and the directories. */
    const Yarn__Record *record; /* the newest entry of `records` */
    struct nm_yarn_record_version *records;
    /* The identifier of the newest token. It is part of the record, or has arrived after the record was made. */
    const Hadoop__ContainerTokenIdentifier *token;
    struct nm_arena token_arena;
    bool increased;       /* the container's size was increased, and the ResourceManager has not been informed yet */
    bool increase_reported; /* the heartbeat that is being sent reports the increase */
    struct nm_yarn_preparation *preparation;
    const Yarn__LaunchContext *prepared; /* the context of `preparation` */
    bool waits;           /* the preparation begins when the container has what it requests (node-waiting.c) */
    uint64_t waits_since_usec;
    bool moved;           /* this start uses other directories, since an original directory could not be used */
    struct nm_yarn_extra *extras;
    size_t n_extras;
    const struct nm_yarn_extra *reinit; /* the entry of `extras` whose context is the container's next command */
    bool reinit_pending;   /* the container is being ended to run again, and its next run hasn't started */
    char *messages;        /* the node's messages (node-messages.c); NULL before the first one */
    bool is_adopted; /* an nmd that ran before this one has accepted the container */
    bool completed;
    bool ended_early;     /* the container ended before the manager accepted it */
    int32_t exit_status;  /* valid if the container has ended */
    char *diagnostics;    /* valid if the container has ended */
    bool end_in_heartbeat; /* the heartbeat that is being sent reports the end */
    bool end_reported;    /* the ResourceManager has received a report of the end */
    struct nm_yarn_container *next, *next_in_bucket;
    struct nm_yarn_container **link; /* the pointer to this container in the list of all containers */
};

#define NM_YARN_BUCKETS 512u

struct nm_yarn_container_table {
    struct nm_yarn_container *first, **last; /* list of all containers, in order of arrival */
    struct nm_yarn_container *buckets[NM_YARN_BUCKETS];
    struct nm_yarn_app *apps;
    size_t n;
};

void nm_yarn_container_table_init(struct nm_yarn_container_table *all);
void nm_yarn_container_table_done(struct nm_yarn_container_table *all);

/* Return NULL if the application or container doesn't exist. */
struct nm_yarn_app *nm_yarn_container_table_app(const struct nm_yarn_container_table *all,
                                                const struct nm_yarn_application_id *id);
struct nm_yarn_container *nm_yarn_container_table_find(const struct nm_yarn_container_table *all,
                                                       const struct nm_yarn_container_id *id);
struct nm_yarn_container *nm_yarn_container_table_by_text(const struct nm_yarn_container_table *all, const char *text);

/* Returns the application, and adds it to the table if necessary. -ENOMEM. */
int nm_yarn_container_table_add_app(struct nm_yarn_container_table *all, const struct nm_yarn_application_id *id,
                                    const char *submitter,
                                    struct nm_yarn_app **ret);
/* Adds a container, and its application if necessary. Unpacks the blob and the token's identifier in it. -EBADMSG: the
 * blob or the identifier is invalid; -ENOMEM. */
int nm_yarn_container_table_add(struct nm_yarn_container_table *all, struct nm_bytes blob,
                                struct nm_yarn_container **ret);
/* Removes a container. Its application is kept until nm_yarn_container_table_drop_app() is called. */
void nm_yarn_container_table_remove(struct nm_yarn_container_table *all, struct nm_yarn_container *container);
void nm_yarn_container_table_drop_app(struct nm_yarn_container_table *all, struct nm_yarn_app *app);

enum nm_execution_type nm_yarn_token_type(const Hadoop__ContainerTokenIdentifier *token);

/* nm_yarn_record_version_new() unpacks a record (-EBADMSG, -ENOMEM). nm_yarn_container_take_record() makes an
 * unpacked record the container's newest record. */
int nm_yarn_record_version_new(struct nm_bytes blob, struct nm_yarn_record_version **ret);
void nm_yarn_container_take_record(struct nm_yarn_container *container, struct nm_yarn_record_version *kept);
struct nm_yarn_record_version *nm_yarn_record_version_free(struct nm_yarn_record_version *kept);
NM_DEFINE_CLEANUP(struct nm_yarn_record_version *, nm_yarn_record_version_free)
/* Free all extras, or all records but the newest. The caller ensures that no pointer to the freed objects remains. */
void nm_yarn_container_drop_extras(struct nm_yarn_container *container);
void nm_yarn_container_drop_records(struct nm_yarn_container *container);

/* A token's identifier, as read by nm_yarn_token_read() (-EBADMSG: invalid; -ENOMEM). The caller either calls
 * nm_yarn_container_take_token(), which replaces the container's token by this token, or frees the arena. */
struct nm_yarn_read_token {
    struct nm_arena arena;
    const Hadoop__ContainerTokenIdentifier *token;
};
int nm_yarn_token_read(struct nm_bytes identifier, struct nm_yarn_read_token *ret);
void nm_yarn_container_take_token(struct nm_yarn_container *container, const struct nm_yarn_read_token *token);

/* Packs a record with this identifier into a blob, which the caller frees. */
int nm_yarn_record_pack(const Yarn__Record *record, struct nm_bytes identifier, struct nm_blob *ret);
/* Packs the record with the identifier that it contains, and unpacks the result. *ret is for the manager, *ret_kept for
 * nm_yarn_container_take_record(). The caller frees the bytes of *ret. */
int nm_yarn_record_repack(const Yarn__Record *record, struct nm_blob *ret, struct nm_yarn_record_version **ret_kept);
