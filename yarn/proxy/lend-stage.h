/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The state that the files of the stage for lending share: the lender of one application master. stage-lend.c handles
 * the calls, and the books (lend/lend.h) decide. The files are layers: tests/style has their order.
 *
 * The ResourceManager may not have read a call: it may have been unreachable, nmd may have been killed meanwhile, or
 * the answer was a repeated one, for which the ResourceManager ignores the call. The master then repeats what it has
 * asked for itself. The next call repeats what was added: the books repeat shares, and the lender repeats releases and
 * promotions. This is harmless if the ResourceManager did read the call.
 */

#include "yarn/lend/lend.h"
#include "yarn/proxy/stage.h"

#define NM_LENDER_GUARANTEED 1 /* values of ExecutionType */
#define NM_LENDER_OPPORTUNISTIC 2
#define NM_LENDER_PROMOTE 2 /* values of ContainerUpdateType */
#define NM_LENDER_DEMOTE 3

#define NM_LENDER_PROMOTIONS_MAX 16u /* promotions asked for in one call, and nodes asked at a time */
#define NM_LENDER_UPDATES_MAX 1024u
#define NM_LENDER_HIDDEN_MAX 1024u
#define NM_LENDER_ASK_MAX_BYTES 2048u /* a larger ask can't be kept, and its key is left alone */

/* The master's ask for "*" of one key. The books may change its shares when the master doesn't send it. */
struct nm_lender_ask {
    struct nm_lend_ask is, was;
    struct nm_bytes packed; /* owned by this struct */
    /* `was` and `former` are those of the last answered call. former.data NULL: the key had none. */
    bool is_new; /* since that call */
    struct nm_bytes former; /* owned by this struct */
};

/* A container beyond what the master asked for. The master doesn't see it. */
struct nm_lender_hidden {
    struct nm_yarn_container_id id;
    enum { NM_LENDER_KNOWN, NM_LENDER_SENT, NM_LENDER_RELEASED, NM_LENDER_ENDED } is;
};

/* A container that would be lent now ("observe"), with the node that would run it. */
struct nm_lender_observed {
    struct nm_lend_key key;
    char *host;
    int32_t port;
    int64_t memory_mib;
};

/* A promoted container whose node doesn't have the new token yet. */
struct nm_lender_update {
    struct nm_yarn_container_id id;
    char *host;
    int32_t port;
    struct nm_token *token;
    bool in_progress;
    unsigned failures, refusals;
    uint64_t next_usec; /* the next try, by nm_now_usec() */
};

struct nm_lender {
    struct nm_stage_master *m;
    struct nm_lender *next; /* in the list of the context */
    struct nm_lend *books;
    struct nm_lend *former;        /* the containers of earlier attempts: those that were lent then, and the history of
                                      the others; NULL: the attempt before this one ran on another node. If the books
                                      began late, these are empty: opportunistic containers from before are those of
                                      the application itself */
    int32_t former_since;          /* the first attempt from which on `former` has all that was lent */
    struct nm_bytes former_packed; /* owned by this struct */
    uint64_t former_revision;      /* of `former` when it was packed */
    char *queue, *type;            /* NULL: not known yet */
    struct nm_yarn_lending_choice choice;
    bool labelled;      /* the application or its queue has a node label; known as soon as the type is known */
    bool memory_only;   /* the ResourceManager doesn't count vcores */
    int64_t memory_mib; /* lent, asked for as opportunistic, or observed */

    struct nm_lender_observed *observed; /* oldest first */
    size_t n_observed, observed_size;
    uint64_t settled_revision; /* of the books, when `observed` was changed last */
    bool has_rooms;            /* what the nodes have said was looked up for the present plan */

    struct nm_lender_ask *asks;
    size_t n_asks;
    struct nm_lender_hidden *hidden;
    size_t n_hidden;
    struct nm_lender_update *updates;
    size_t n_updates;
    struct nm_lend_promotion promotions[NM_LENDER_PROMOTIONS_MAX]; /* those that no answer has confirmed yet */
    size_t n_promotions;
    bool in_flight;    /* a call was forwarded, and no answer came */
    bool uncertain;    /* the ResourceManager may answer an earlier call with the response id of the last call */
    int32_t called_id; /* the response id of the last call */
    const struct nm_stage_call *called; /* the last call; only to be compared, since it may have ended */
    bool has_changed;                   /* the lender has changed asks of that call */

    bool has_headroom;
    struct nm_lend_size headroom; /* that of the last answer */

    sd_event_source *timer;
    bool asks_type;         /* a question for the type and the label is in progress */
    bool has_moved;         /* to another queue, whose label is not known yet */
    uint64_t ask_type_usec; /* the next question, by nm_now_usec() */

    struct nm_bytes packed; /* the state as last saved; owned by this struct */
    uint64_t saved_revision;
    bool dirty;   /* other members have changed since the last save */
    bool unsaved; /* the last save has failed; nothing is lent until a save succeeds */
    bool refused; /* the log says that the ResourceManager grants guaranteed containers only */
};

/* ---- lend-state.c ---- */
static inline bool nm_lender_same_key(const struct nm_lend_key *a, const struct nm_lend_key *b)
{
    return a->priority == b->priority && a->request_id == b->request_id;
}

/* Adds a lender to the list of the context, or removes it. */
void nm_lender_enlist(struct nm_lender *l);
void nm_lender_delist(struct nm_lender *l);
/* Returns what the limit of the queue leaves to the masters of this queue on this node: it counts what is lent, asked
 * for, and observed. At least 0; -1: there is no limit. */
int64_t nm_lender_queue_left(const struct nm_lender *l);
/* Updates memory_mib. Must be called after the books have changed. */
void nm_lender_count(struct nm_lender *l);

/* Logs a sentence, unless the same kind of event was logged a short time ago. */
nm_printf(4, 5) void nm_lender_report(struct nm_lender *l, enum nm_lender_event event, int level, const char *format,
                                      ...);

/* Sets the queue or the type, if it isn't known yet. Without memory it stays unknown. */
void nm_lender_set_queue(struct nm_lender *l, const char *queue);
void nm_lender_set_type(struct nm_lender *l, const char *type);
/* Notes the queue that the ResourceManager has named now: the application may have been moved. NULL or "": it has named
 * none. */
void nm_lender_replace_queue(struct nm_lender *l, const char *queue);
/* Applies the settings to what is known of the application, and passes the rule to the books. */
void nm_lender_choose_rule(struct nm_lender *l);
/* Returns whether lending needs distributed scheduling, which isn't enabled. */
bool nm_lender_needs_distributed(const struct nm_lender *l);

/* Finds the ask for "*" of a key. Returns NULL if the lender has none. */
const struct nm_lender_ask *nm_lender_find_ask(const struct nm_lender *l, const struct nm_lend_key *key);
/* Keeps a master's ask for "*". If there are too many, it isn't kept. -ENOMEM. */
int nm_lender_keep_ask(struct nm_lender *l, const struct nm_lend_ask *ask, const Masters__Ask *m);
/* Converts a master's ask. */
struct nm_lend_ask nm_lender_ask_of(const Masters__Ask *m);
void nm_lender_drop_asks(struct nm_lender *l);
/* Notes that the ResourceManager has read the asks so far, or takes back those that it hasn't read. */
void nm_lender_settle_asks(struct nm_lender *l);
void nm_lender_take_back_asks(struct nm_lender *l);

/* Returns whether a container is hidden from the master. ended: the container has ended. */
bool nm_lender_is_hidden(struct nm_lender *l, const struct nm_yarn_container_id *id, bool ended);
/* Hides a container, which is then released. -ENOMEM. */
int nm_lender_hide(struct nm_lender *l, const struct nm_yarn_container_id *id);
/* Notes that the ResourceManager has read the releases of the last call. */
void nm_lender_confirm_hidden(struct nm_lender *l);

/* Adds a promoted container whose node needs the token. -ENOMEM. */
int nm_lender_add_update(struct nm_lender *l, const struct nm_yarn_container_id *id, const char *host, int32_t port,
                         const struct nm_token *token);
struct nm_lender_update *nm_lender_find_update(struct nm_lender *l, const struct nm_yarn_container_id *id);
void nm_lender_drop_update(struct nm_lender *l, const struct nm_yarn_container_id *id);

/* ---- lend-observe.c ---- */
/* Adds the limits that come from the nodes, if their room is known. They are valid for one plan. */
void nm_lender_limit_by_nodes(struct nm_lender *l, struct nm_lend_limits *limits);
/* Returns the memory in MiB of the containers that the node would run. */
int64_t nm_lender_observed_on(const void *lender, const char *host, int32_t port);
/* Gives the containers that would be lent their nodes. Must be called after a plan that only observes. */
void nm_lender_settle_observed(struct nm_lender *l);
void nm_lender_drop_observed(struct nm_lender *l);

/* ---- lend-store.c ---- */
/* Saves the state if it has changed. If this fails, nothing is lent until a save succeeds. */
void nm_lender_save(struct nm_lender *l);
int nm_lender_persist(void *stage, struct nm_yarn_stored_master *m);
/* Restores the state. -EBADMSG: nmd has not saved these bytes. */
int nm_lender_restore(struct nm_lender *l, struct nm_bytes kept);
/* Begins books for a master that may have registered before. -ENOMEM. */
int nm_lender_begin_late(struct nm_lender *l);
/* Drops the state, except the list of the context and the timer. */
void nm_lender_clear(struct nm_lender *l);
/* Takes over what was lent to the attempt before this one and to earlier ones, and their updates. */
void nm_lender_inherit(void *stage, const void *former);
struct nm_lender *nm_lender_free(struct nm_lender *l);
NM_DEFINE_CLEANUP(struct nm_lender *, nm_lender_free)

/* ---- lend-promotions.c ---- */
/* Adds promotions to a call, and gives the master's own requests for updates the versions that the ResourceManager has
 * since promotions that the master hasn't seen. */
int nm_lender_add_promotions(struct nm_lender *l, struct nm_stage_call *c, Masters__AllocateRequest *copy);
/* Handles a promoted container of an answer. Returns 1 if it is hidden from the master, 0 if the master itself has
 * asked for it, or -ENOMEM. */
int nm_lender_handle_promoted(struct nm_lender *l, const Masters__Container *m);
/* Asks what is due: the type of the application, the rooms of nodes, and updates of containers. */
void nm_lender_step(struct nm_lender *l);
int nm_lender_on_timer(sd_event_source *source, uint64_t usec, void *userdata);

/* ---- lend-asks.c ---- */
/* Replaces the request of a call. Returns 0 or -errno. */
int nm_lender_change_request(struct nm_lender *l, struct nm_stage_call *c);

/* ---- lend-answers.c ---- */
void nm_lender_answer_register(struct nm_lender *l, const Masters__RegisterMasterAnswer *answer);
int nm_lender_answer_allocate(struct nm_lender *l, struct nm_stage_call *c, const ProtobufCMessage **answer);
/* Handles a call that the ResourceManager has answered with an exception. Returns whether the lender had changed the
 * asks of the call. */
bool nm_lender_handle_refused(struct nm_lender *l, const struct nm_stage_call *c);
