/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The private declarations of the books of lending behind lend.h. The files are layers: tests/style has their
 * order. */

#include "yarn/lend/lend.h"

/* How long an opportunistic container may wait in its node's queue before nothing more is lent. A start takes a second
 * or two. */
#define NM_LEND_START_USEC (3 * NM_USEC_PER_SEC)
/* A key that is asked for as opportunistic isn't in the line for guaranteed containers. So it goes back into that line
 * for a minute if no opportunistic container was granted for a minute. */
#define NM_LEND_UNGRANTED_USEC (60 * NM_USEC_PER_SEC)
#define NM_LEND_MINUTE_USEC (60 * NM_USEC_PER_SEC)
#define NM_LEND_BACK_OFF_STEPS 5u /* 1, 2, 4, 8, 16 minutes */
#define NM_LEND_BACK_OFF_RESET_USEC (30 * NM_LEND_MINUTE_USEC)
/* As long as it isn't known whether the ResourceManager grants opportunistic containers, asks are sent again after
 * this time: without opportunistic allocation, the ResourceManager has dropped the guaranteed part of a key. */
#define NM_LEND_RESEND_USEC (30 * NM_USEC_PER_SEC)
#define NM_LEND_ROOM_USEC (15 * NM_USEC_PER_SEC)      /* how long the room of a node is believed */
/* Two answers of a node confirm each other if they are this far apart. The ResourceManager allocates room that another
 * application waits for within a heartbeat of the node, but the node knows of a container only after its master has
 * launched it: two or three seconds later. */
#define NM_LEND_CONFIRM_USEC (4 * NM_USEC_PER_SEC)
#define NM_LEND_CONFIRM_MAX_USEC (90 * NM_USEC_PER_SEC) /* a round of questions to 1000 nodes takes a minute */
#define NM_LEND_ASK_NODE_USEC (5 * NM_USEC_PER_SEC)  /* if a container is not known to run, or room isn't confirmed */
#define NM_LEND_ASK_ROOM_USEC (10 * NM_USEC_PER_SEC) /* otherwise */
#define NM_LEND_REFUSED_USEC (60 * NM_USEC_PER_SEC)   /* after a refused promotion */
/* After an update that the master has asked for. The ResourceManager grants it with a heartbeat of the node, if it
 * can. */
#define NM_LEND_OWN_UPDATE_USEC (5 * NM_USEC_PER_SEC)
#define NM_LEND_PENDING_USEC (300 * NM_USEC_PER_SEC)  /* after a promotion that was neither granted nor refused */
#define NM_LEND_UNKNOWN_USEC (120 * NM_USEC_PER_SEC)  /* see nm_lend_set_unknown() */
/* How long a node may leave questions without an answer until its queue doesn't count any more. A round of questions to
 * 1000 nodes takes a minute, so one lost answer of a node that lives is not enough. */
#define NM_LEND_UNRESPONSIVE_USEC (90 * NM_USEC_PER_SEC)
#define NM_LEND_UNKNOWN_GAP_USEC (90 * NM_USEC_PER_SEC) /* a round of questions to 1000 nodes takes a minute */
#define NM_LEND_OBSERVE_USEC (60 * NM_USEC_PER_SEC)   /* observed time is packed once in this time */
#define NM_LEND_HELD_USEC (10 * NM_USEC_PER_SEC)      /* see nm_lend_refused() */
#define NM_LEND_HELD_STEPS 8u /* a refused count is held for 10, 10, 20, 40 ... 640 seconds */
#define NM_LEND_ROOMS_MAX 256u
#define NM_LEND_ENDED_MAX 1024u
#define NM_LEND_UNAPPLIED_MAX 1024u
#define NM_LEND_SIZES_MAX 4u
#define NM_LEND_MARKS 4096u /* a multiple of 64 */

/* ---- lend-keys.c ------------------------------------------------------------------------------ */

/* Containers that the master began to ask for at the same time. */
struct nm_lend_batch {
    uint64_t since_usec;
    uint32_t n;
};

/* Who has set the counts that a call takes to the ResourceManager. NM_LEND_SENT_WITHDRAWALS: the call has no guaranteed
 * count of the key, because the books don't know how to send it or the ResourceManager has refused it, and sets
 * opportunistic counts to 0. */
enum nm_lend_sender { NM_LEND_NOT_SENT, NM_LEND_SENT_BY_MASTER, NM_LEND_SENT_BY_BOOKS, NM_LEND_SENT_WITHDRAWALS };

/* What a key had before the asks of the first call that isn't answered. */
struct nm_lend_former {
    uint64_t call; /* the number of this call, by nm_lend.n_calls; nothing is kept if it is at most settled_call */
    struct nm_lend_size size;
    int64_t granted_mib;
    uint32_t wanted;
    struct nm_lend_batch batches[NM_LEND_BATCHES_MAX];
    uint32_t n_batches;
    bool labelled, strict, placement, other_resources, forgotten, unsent;
    uint64_t granted_total, lent_total; /* what these asks have subtracted from the sums of the key */
};

/* A key. `wanted` is the sum of its batches, and lent_asked is at most `wanted`: the oldest ones are lent first. */
struct nm_lend_entry {
    struct nm_lend_key key;
    struct nm_lend_size size;
    int64_t granted_mib; /* memory of the last opportunistic container that was granted for this size: the
                            ResourceManager rounds sizes up. 0: not known. Not packed. */
    uint32_t wanted, lent_asked;
    enum nm_lend_mode mode; /* of the last plan that lent something of this key; NM_LEND_OFF: not known */
    uint32_t observed; /* with limits.observes: how many of `wanted` would be lent now */
    struct nm_lend_batch batches[NM_LEND_BATCHES_MAX]; /* oldest first */
    uint32_t n_batches;
    bool labelled, strict, placement, other_resources, own_opportunistic;
    bool forgotten; /* the ResourceManager has forgotten the ask, and the master hasn't repeated it yet */
    /* Containers granted since the key is known, or since the master has withdrawn all that it waited for, and the lent
     * part of them. */
    uint64_t granted_total, lent_total;
    uint64_t asked_usec; /* when lent_asked rose from 0, or when the last opportunistic container was granted */
    uint64_t preempted_usec, backs_off_until_usec;
    uint32_t back_off_step; /* how often the priority has backed off since the last reset. One key of the priority has
                               this number, and the others have 0 */

    /* Sizes for which the ResourceManager may have an opportunistic count: it has a count for each size. A size is
     * removed when the ResourceManager has read that its count is 0. */
    struct nm_lend_size sizes[NM_LEND_SIZES_MAX];
    uint32_t n_sizes;
    bool unsent; /* the ResourceManager may have other counts than these books */
    bool touched; /* since the registration, a plan was allowed to lend. Before that, the ResourceManager has the
                     master's counts only, which are the master's affair, also if a call is lost. */

    /* The number of guaranteed containers that the ResourceManager may grant beyond what these books ask for. A count
     * that the books send is absolute, so it asks again for containers that were granted just before. The books
     * correct it with the next call, and release what was granted in between. */
    uint32_t surplus;
    uint32_t in_last_answer; /* containers that the last answer granted; a call that repeats its call asks for them */

    /* ---- not packed ---- */
    uint32_t former_surplus; /* the surplus when the ResourceManager made the grants of this answer */
    enum nm_lend_sender sent;     /* in the call that isn't answered yet */
    enum nm_lend_sender answered; /* in the call whose answer is handled */
    uint32_t sent_guaranteed, sent_opportunistic;
    bool held; /* that call has no guaranteed count, because counts are held back */
    bool withdrawn; /* that call sets all opportunistic counts but sent_opportunistic to 0 */
    uint32_t guaranteed_max; /* the ResourceManager has at most this guaranteed count */
    bool guesses;            /* since a restart of nmd: guaranteed_max is a guess */
    uint64_t sent_usec;
    bool is_late;      /* the answer is repeated, but the books have counted nothing of the first one for this key */
    bool in_call;      /* the master sets the count in this call */
    bool set;          /* the master has set the count since the last answer */
    bool refused;      /* since the last answer, a call that had an opportunistic count was refused */
    uint64_t backed_off_until_usec; /* backs_off_until_usec before that */
    struct nm_lend_former former;
    /* A count that the books have added to a call. added: the last call that was refused had it. accused: that call is
     * repeated without what was added. suspect: the repeated call was answered, so this count may be the reason, and is
     * sent alone. refusals: number of calls that were refused because of it. */
    bool added, accused, suspect;
    uint32_t refusals;
    uint64_t held_until_usec; /* a suspect count is not sent before */
    bool own_in_call;  /* the master asks for opportunistic containers in this call */
    uint64_t own_call; /* the number of the call that has set own_opportunistic; 0: an answered one, or none */
    uint32_t target;   /* of the present plan */
    enum nm_lend_reason reason;
};

struct nm_lend_entry *nm_lend_keys_find(const struct nm_lend *l, const struct nm_lend_key *key);
/* Inserts an entry that isn't there yet. -ENOMEM, or NM_LEND_KEYS_E_FULL. */
enum { NM_LEND_KEYS_E_FULL = 1 };
int nm_lend_keys_insert(struct nm_lend *l, const struct nm_lend_key *key, struct nm_lend_entry **ret);

/* Returns whether counts and sizes are in the range that the books handle. */
bool nm_lend_keys_size_is_valid(const struct nm_lend_size *size);
bool nm_lend_keys_same_size(const struct nm_lend_size *a, const struct nm_lend_size *b);
/* Returns the memory of a container that is lent for this key, as far as it is known; at least 1. */
int64_t nm_lend_keys_memory_mib(const struct nm_lend_entry *e);
/* Notes the memory of an opportunistic container that was granted. */
void nm_lend_keys_learn_memory(struct nm_lend_entry *e, int64_t granted_mib);
/* Returns what the master waits for: 0 if the ResourceManager has forgotten it. */
uint32_t nm_lend_keys_wanted(const struct nm_lend_entry *e);
/* Returns whether the key has properties of asks for "*" that the books don't know how to send. */
bool nm_lend_keys_is_special(const struct nm_lend_entry *e);
/* Returns how many were asked for at this time or earlier. */
uint32_t nm_lend_keys_count_since(const struct nm_lend_entry *e, uint64_t usec);
/* Removes one container after the `skip` oldest ones (at most wanted - 1), and returns since when it was wanted. */
uint64_t nm_lend_keys_take(struct nm_lend_entry *e, uint32_t skip);
/* Removes the newest ones. */
void nm_lend_keys_lower(struct nm_lend_entry *e, uint32_t n);
/* Takes back what the master has set since the last answer. */
void nm_lend_keys_take_back(struct nm_lend_entry *e);
/* Takes back that the master asks for opportunistic containers. Otherwise, those that were asked for in order to lend
 * them could not be withdrawn until the master asks again. */
void nm_lend_keys_take_back_own(struct nm_lend_entry *e);
/* Adds the key's size to its sizes. */
void nm_lend_keys_add_size(struct nm_lend_entry *e);
bool nm_lend_keys_has_size(const struct nm_lend_entry *e, const struct nm_lend_size *size);
/* Returns the first key of a priority, if it has one. The keys of a priority follow each other. */
struct nm_lend_entry *nm_lend_keys_first_of(const struct nm_lend *l, int32_t priority);
/* Returns until when all keys of a priority back off after the preemption of a container; 0: they don't. */
uint64_t nm_lend_keys_preempted_until(const struct nm_lend *l, int32_t priority);
/* Notes that a container of this key was preempted. Several containers of a priority are usually preempted at the same
 * time. They count as one preemption. */
void nm_lend_keys_back_off(struct nm_lend *l, const struct nm_lend_key *key, uint64_t now_usec);
/* Notes that a container was granted for a key that has no place. */
void nm_lend_keys_lower_left_out(struct nm_lend *l, const struct nm_lend_key *key);
/* Notes that the ResourceManager has one guaranteed ask too many, of `most`. */
void nm_lend_keys_add_surplus(struct nm_lend_entry *e, uint32_t most);

/* ---- lend-nodes.c ----------------------------------------------------------------------------- */

/* A node that has lent containers, or whose room is known. */
struct nm_lend_place {
    char *host;
    int32_t port;
    uint32_t lent, not_running, promoting;
    uint32_t unapplied;         /* promoted containers in the list of nm_lend.unapplied */
    uint64_t lent_usec;         /* when the newest container was lent there */
    uint64_t unanswered_usec;   /* when nmd first asked the node after its last answer; 0: none waits; not packed */
    int64_t lent_memory_mib;
    uint64_t asked_usec; /* 0: not asked yet */
    bool has_room;
    struct nm_lend_size room;      /* of the last answer, less what was promoted since */
    struct nm_lend_size confirmed; /* the part of it that an earlier answer had as well */
    uint64_t room_usec;
};

struct nm_lend_place *nm_lend_nodes_find(const struct nm_lend *l, const char *host, int32_t port);
/* Finds or makes a node. *ret is NULL if the host's name is unknown or too long. Returns 0 or -ENOMEM. */
int nm_lend_nodes_get(struct nm_lend *l, const char *host, int32_t port, struct nm_lend_place **ret);
/* Frees a node without lent containers and room. */
void nm_lend_nodes_drop_unused(struct nm_lend *l, struct nm_lend_place *node);
void nm_lend_nodes_done(struct nm_lend *l);

/* ---- lend-containers.c ------------------------------------------------------------------------ */

enum nm_lend_state { NM_LEND_STATE_UNKNOWN, NM_LEND_STATE_QUEUED, NM_LEND_STATE_RUNNING };

struct nm_lend_container {
    struct nm_lend_history is;
    struct nm_lend_place *node; /* NULL: unknown */
    enum nm_lend_state state;
    bool promoting;             /* a promotion is outstanding */
    bool was_asked;             /* a promotion has been asked for, at any time */
    /* Calls with a promotion that the ResourceManager may have read, since it can have no outstanding one of these
     * books. Not packed. */
    unsigned asks;
    uint64_t promote_after_usec; /* when the promotion may be asked for again */
    bool unconfirmed; /* lent before the last registration, and neither its node nor the ResourceManager has reported it
                         since */
    /* The first and the last of successive answers that the node doesn't know it; 0: none. Not packed. */
    uint64_t unknown_since_usec, unknown_at_usec;
};

struct nm_lend_container *nm_lend_containers_find(const struct nm_lend *l, const struct nm_yarn_container_id *id);
/* Adds a container that isn't in the table, and takes it over: *from is NULL afterwards. Also reserves its place in
 * the history, so that its end cannot fail. Returns 0 or -ENOMEM. */
int nm_lend_containers_add(struct nm_lend *l, struct nm_lend_container **from);
void nm_lend_containers_resize(struct nm_lend *l, struct nm_lend_container *c, const struct nm_lend_size *size);
/* Changes the time since which a container is lent: the oldest one is promoted first. */
void nm_lend_containers_set_lent(struct nm_lend *l, struct nm_lend_container *c, uint64_t lent_usec);
/* Moves a container to the history. */
void nm_lend_containers_end(struct nm_lend *l, struct nm_lend_container *c);
/* Moves a promoted container to the history, and remembers it until its node has the promotion. */
void nm_lend_containers_promote(struct nm_lend *l, struct nm_lend_container *c);
/* Forgets a promoted container: its node has the promotion, or it doesn't matter any more. */
void nm_lend_containers_drop_unapplied(struct nm_lend *l, const struct nm_yarn_container_id *id);
/* Lends the containers again whose nodes aren't known to have their promotion. */
void nm_lend_containers_return_unapplied(struct nm_lend *l);
/* Adds a promoted container to those of which this is remembered, and takes it over. Returns 0 or -ENOMEM. */
int nm_lend_containers_add_unapplied(struct nm_lend *l, struct nm_lend_container **from);
void nm_lend_containers_set_state(struct nm_lend *l, struct nm_lend_container *c, enum nm_lend_state state);
/* Notes that the ResourceManager knows the container, and will report its end. */
void nm_lend_containers_confirm(struct nm_lend *l, struct nm_lend_container *c);
void nm_lend_containers_set_promoting(struct nm_lend *l, struct nm_lend_container *c, bool promoting);
/* Reserves memory for n further containers of the history. Returns 0 or -ENOMEM. */
int nm_lend_containers_reserve_ended(struct nm_lend *l, size_t n);
/* Returns the i-th container of the history, the oldest first. */
struct nm_lend_history *nm_lend_containers_ended(const struct nm_lend *l, size_t i);
struct nm_lend_history *nm_lend_containers_find_ended(const struct nm_lend *l, const struct nm_yarn_container_id *id);
void nm_lend_containers_append_ended(struct nm_lend *l, const struct nm_lend_history *h);
void nm_lend_containers_done(struct nm_lend *l);
bool nm_lend_containers_equal(const struct nm_yarn_container_id *a, const struct nm_yarn_container_id *b);

/* ---- lend.c ----------------------------------------------------------------------------------- */

struct nm_lend {
    struct nm_lend_rule rule;
    bool labelled; /* the application has a node label */
    struct nm_lend_entry *keys; /* sorted by priority and request id */
    size_t n_keys, keys_size;
    struct nm_lend_key_view left_out; /* the newest ask for which there was no key; wanted 0: none */
    /* Keys with opportunistic asks of the master that have got no place, or have given it to another key: one bit for
     * all keys with the same hash. A key that gets a place is taken for one of them if its bit is set. */
    uint64_t own_marks[NM_LEND_MARKS / 64];
    uint16_t *order;                  /* the keys of the present plan, the longest waiting first */
    size_t order_size;

    struct nm_lend_container **by_age, **by_id; /* the lent containers */
    size_t n_lent, lent_size;
    size_t n_queued;
    int64_t lent_memory_mib;
    int64_t promoting_memory_mib, promoting_vcores; /* sums of the outstanding promotions */

    struct nm_lend_history *ended; /* a ring */
    size_t n_ended, ended_size, ended_at;

    /* Promoted containers whose nodes aren't known to have the promotion, the oldest promotion first. A restarted
     * ResourceManager takes over from the nodes what containers are. */
    struct nm_lend_container **unapplied;
    size_t n_unapplied, unapplied_size;

    struct nm_lend_place **nodes; /* sorted by host and port */
    size_t n_nodes, nodes_size, n_rooms;
    uint64_t newest_room_usec;

    struct nm_lend_change *changes;
    size_t n_changes, changes_size;

    /* The limits for what the next answer grants: that of the application, or -1, and what is left of the queue's after
     * the last plan has asked for its part (nm_lend_set_queue_left()), or INT64_MAX. The latter is negative if what was
     * asked for turns out to be larger. Not packed. */
    int64_t application_mib, left_mib;

    /* in_flight: the last plan has no answer yet. uncertain: a plan before it had no answer, or nmd was restarted.
     * Then the ResourceManager may have read another call than the one that it answers. */
    bool in_flight, uncertain;
    uint64_t n_calls, settled_call; /* number of plans; the last one that was answered. Not packed. */
    uint64_t full_call; /* the call in which a place was looked for, and all keys needed theirs. Not packed. */
    uint64_t held_until_usec; /* counts are held back after a refused call. Not packed. */
    const struct nm_lend_entry *trial; /* during a plan: the only key whose count the books add to the call, or NULL */
    bool tried;                        /* the last plan had a trial. Not packed. */
    bool answered;   /* an answer was handled since the last plan */
    bool incomplete; /* not all containers of the last answer were counted, for lack of memory */
    bool has_response, has_counted;
    int32_t response_id, counted_id; /* of the last answer, and of the last answer that granted something */
    bool repeated;
    struct nm_yarn_container_id *released; /* containers of the last answer that the master must not see */
    size_t n_released, released_size;

    bool refused; /* NM_LEND_REFUSED */
    bool proven;  /* the ResourceManager has granted an opportunistic container */
    bool late;    /* nm_lend_begin_late() */

    struct nm_lend_figures counts; /* its counters; the other figures are computed */
    uint64_t observed_at_usec, observed_mib_usec; /* the end of the observed time, and the part that isn't in counts */
    uint64_t packed_observed_usec;
    uint64_t revision;
};
