/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the node keeps of applications and containers beside what the manager does, and finds by their ids. No rule of
 * what happens to them is here; the other files of this folder have those.
 */

#include "rpc/hadoop/arena.h"
#include "yarn/launch/launcher.h"
#include "yarn/node/node.h"

struct nm_yarn_app {
    struct nm_yarn_application_id id;
    char text[NM_YARN_ID_SIZE];
    char *submitter;
    size_t n_items;
    bool ended; /* the ResourceManager said so */
    bool is_noted; /* on the disk */
    json_t *listing; /* of its containers, while a list of applications is made */
    struct nm_yarn_app *next;
};

/* A record; one that was replaced lasts for as long as preparations may point to it. */
struct nm_yarn_held {
    struct nm_arena arena;
    const Yarn__Record *record;
    struct nm_yarn_held *next; /* older */
};

/* Resources for a container that runs: more of them, or those of what it is to be re-initialized with. */
struct nm_yarn_extra {
    struct nm_yarn_container *item;
    struct nm_arena arena;
    const Yarn__LaunchContext *context; /* what was asked for */
    struct nm_yarn_preparation *preparation;
    bool auto_commit;
    struct nm_yarn_extra *next; /* that was asked for before */
};

struct nm_yarn_container {
    struct nm_yarn_node *node;
    struct nm_yarn_container_id id;
    char text[NM_YARN_ID_SIZE];
    struct nm_yarn_app *app;
    /* The blob, unpacked: what is launched, and where. */
    const Yarn__Record *record; /* the newest of ... */
    struct nm_yarn_held *records;
    /* Of the newest token, whose identifier is in the record or has come since. */
    const Hadoop__ContainerTokenIdentifier *token;
    struct nm_arena token_arena;
    bool increased;       /* it has grown, and the ResourceManager wasn't told yet */
    bool increase_told;   /* that is in the heartbeat that is on its way */
    struct nm_yarn_preparation *preparation;
    const Yarn__LaunchContext *prepared; /* what that is of */
    bool moved;           /* for this start it has got other directories, since one of its own could not be used */
    struct nm_yarn_extra *extras;
    size_t n_extras;
    const struct nm_yarn_extra *reinit; /* that one decides what it runs next */
    bool again;           /* it is being ended to run again, and doesn't yet */
    char *said;           /* of all that, by the node; NULL: nothing */
    bool completed;
    bool ended_early;     /* the manager never had it */
    int32_t exit_status;  /* once it is completed */
    char *diagnostics;    /* likewise */
    bool end_telling;     /* its end is in the heartbeat that is on its way */
    bool end_told;        /* the ResourceManager has heard of it */
    struct nm_yarn_container *next, *next_in_bucket;
    struct nm_yarn_container **link; /* what points to it in the list of all */
};

#define NM_YARN_BUCKETS 512u

struct nm_yarn_container_table {
    struct nm_yarn_container *first, **last; /* in the order in which they came */
    struct nm_yarn_container *buckets[NM_YARN_BUCKETS];
    struct nm_yarn_app *apps;
    size_t n;
};

void nm_yarn_container_table_init(struct nm_yarn_container_table *all);
void nm_yarn_container_table_done(struct nm_yarn_container_table *all);

/* NULL: there is none. */
struct nm_yarn_app *nm_yarn_container_table_app(const struct nm_yarn_container_table *all,
                                                const struct nm_yarn_application_id *id);
struct nm_yarn_container *nm_yarn_container_table_find(const struct nm_yarn_container_table *all,
                                                       const struct nm_yarn_container_id *id);
struct nm_yarn_container *nm_yarn_container_table_by_text(const struct nm_yarn_container_table *all, const char *text);

/* The application, which is made if it has to be. -ENOMEM. */
int nm_yarn_container_table_add_app(struct nm_yarn_container_table *all, const struct nm_yarn_application_id *id,
                                    const char *submitter,
                                    struct nm_yarn_app **ret);
/* A new one, in its application, which is made if it has to be. blob and identifier are unpacked, and must be what they
 * are to be: -EBADMSG. -ENOMEM. */
int nm_yarn_container_table_add(struct nm_yarn_container_table *all, struct nm_bytes blob,
                                struct nm_yarn_container **ret);
/* An application without items goes when nm_yarn_container_table_drop_app() says so. */
void nm_yarn_container_table_remove(struct nm_yarn_container_table *all, struct nm_yarn_container *item);
void nm_yarn_container_table_drop_app(struct nm_yarn_container_table *all, struct nm_yarn_app *app);

enum nm_execution_type nm_yarn_token_type(const Hadoop__ContainerTokenIdentifier *token);

/* A record that may take the place of the one that it has, and does. The first: -EBADMSG, -ENOMEM. */
int nm_yarn_held_new(struct nm_bytes blob, struct nm_yarn_held **ret);
void nm_yarn_container_take_record(struct nm_yarn_container *item, struct nm_yarn_held *kept);
struct nm_yarn_held *nm_yarn_held_free(struct nm_yarn_held *kept);
NM_DEFINE_CLEANUP(struct nm_yarn_held *, nm_yarn_held_free)
/* Whatever points to an older record, or to an extra, has gone or goes with them. */
void nm_yarn_container_drop_extras(struct nm_yarn_container *item);
void nm_yarn_container_drop_records(struct nm_yarn_container *item);

/* A token's identifier. -EBADMSG: it isn't one; or -ENOMEM. Then it takes the place of that which an item has, or its
 * arena is let go. */
struct nm_yarn_read_token {
    struct nm_arena arena;
    const Hadoop__ContainerTokenIdentifier *token;
};
int nm_yarn_token_read(struct nm_bytes identifier, struct nm_yarn_read_token *ret);
void nm_yarn_container_take_token(struct nm_yarn_container *item, const struct nm_yarn_read_token *token);

/* The record of an item as a blob with this identifier, for the caller to free. */
int nm_yarn_record_pack(const Yarn__Record *record, struct nm_bytes identifier, struct nm_blob *ret);
/* Packs the record with its own identifier, and unpacks it again: the manager keeps *ret, and then the item takes
 * *ret_kept. The caller frees the bytes of *ret. */
int nm_yarn_record_repack(const Yarn__Record *record, struct nm_blob *ret, struct nm_yarn_held **ret_kept);
