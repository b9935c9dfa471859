/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The node's tables of applications and containers, found by id, with the data that the manager doesn't hold. The rules
 * for their life cycle are in the other files of this folder.
 */

#include "rpc/hadoop/arena.h"
#include "yarn/launch/launcher.h"
#include "yarn/node/node.h"

struct nm_yarn_app {
    struct nm_yarn_application_id id;
    char text[NM_YARN_ID_SIZE];
    char *submitter;
    size_t n_containers;
    bool ended; /* the ResourceManager has ended the application */
    bool is_noted; /* the application is saved on the disk */
    json_t *listing; /* the application's containers, while a list of applications is made */
    struct nm_yarn_app *next;
};

/* A record. A replaced record is kept while preparations may point to it. */
struct nm_yarn_held {
    struct nm_arena arena;
    const Yarn__Record *record;
    struct nm_yarn_held *next; /* the next older record */
};

/* Resources for a running container: additional resources, or the resources for the container's re-initialization. */
struct nm_yarn_extra {
    struct nm_yarn_container *container;
    struct nm_arena arena;
    const Yarn__LaunchContext *context; /* the requested resources */
    struct nm_yarn_preparation *preparation;
    bool auto_commit;
    struct nm_yarn_extra *next; /* the next older extra */
};

struct nm_yarn_container {
    struct nm_yarn_node *node;
    struct nm_yarn_container_id id;
    char text[NM_YARN_ID_SIZE];
    struct nm_yarn_app *app;
    /* The unpacked blob: the launch context and the directories. */
    const Yarn__Record *record; /* the newest entry of `records` */
    struct nm_yarn_held *records;
    /* The identifier of the newest token, which is in the record or has arrived since. */
    const Hadoop__ContainerTokenIdentifier *token;
    struct nm_arena token_arena;
    bool increased;       /* the container has grown, and the ResourceManager doesn't know yet */
    bool increase_told;   /* the growth is in the heartbeat that is being sent */
    struct nm_yarn_preparation *preparation;
    const Yarn__LaunchContext *prepared; /* the context of `preparation` */
    bool moved;           /* this start uses other directories, since an original directory could not be used */
    struct nm_yarn_extra *extras;
    size_t n_extras;
    const struct nm_yarn_extra *reinit; /* the extra that determines what runs next */
    bool reinit_pending;   /* the container is being ended to run again, and hasn't started yet */
    char *reinit_messages; /* the node's messages about re-initialization; NULL before the first one */
    bool completed;
    bool ended_early;     /* the manager never had the container */
    int32_t exit_status;  /* valid if completed */
    char *diagnostics;    /* valid if completed */
    bool end_telling;     /* the end is in the heartbeat that is being sent */
    bool end_told;        /* the ResourceManager has received the end */
    struct nm_yarn_container *next, *next_in_bucket;
    struct nm_yarn_container **link; /* the pointer to this container in the list of all */
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
/* Removes a container. Its application stays until nm_yarn_container_table_drop_app() is called. */
void nm_yarn_container_table_remove(struct nm_yarn_container_table *all, struct nm_yarn_container *container);
void nm_yarn_container_table_drop_app(struct nm_yarn_container_table *all, struct nm_yarn_app *app);

enum nm_execution_type nm_yarn_token_type(const Hadoop__ContainerTokenIdentifier *token);

/* The first function unpacks a record (-EBADMSG, -ENOMEM). The second function makes an unpacked record the container's
 * newest record. */
int nm_yarn_held_new(struct nm_bytes blob, struct nm_yarn_held **ret);
void nm_yarn_container_take_record(struct nm_yarn_container *container, struct nm_yarn_held *kept);
struct nm_yarn_held *nm_yarn_held_free(struct nm_yarn_held *kept);
NM_DEFINE_CLEANUP(struct nm_yarn_held *, nm_yarn_held_free)
/* Free the extras or the older records. The caller ensures that no pointer to them remains. */
void nm_yarn_container_drop_extras(struct nm_yarn_container *container);
void nm_yarn_container_drop_records(struct nm_yarn_container *container);

/* A token's identifier, read by nm_yarn_token_read() (-EBADMSG: invalid; -ENOMEM). nm_yarn_container_take_token() then
 * replaces the container's token with it; otherwise the caller frees the arena. */
struct nm_yarn_read_token {
    struct nm_arena arena;
    const Hadoop__ContainerTokenIdentifier *token;
};
int nm_yarn_token_read(struct nm_bytes identifier, struct nm_yarn_read_token *ret);
void nm_yarn_container_take_token(struct nm_yarn_container *container, const struct nm_yarn_read_token *token);

/* Packs a record with this identifier into a blob, which the caller frees. */
int nm_yarn_record_pack(const Yarn__Record *record, struct nm_bytes identifier, struct nm_blob *ret);
/* Packs the record with its own identifier, and unpacks the result. The manager keeps *ret, and after that the
 * container takes *ret_kept. The caller frees the bytes of *ret. */
int nm_yarn_record_repack(const Yarn__Record *record, struct nm_blob *ret, struct nm_yarn_held **ret_kept);
