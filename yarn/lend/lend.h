/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The books of lending for one application master. The proxy lends unused resources to applications that ask only for
 * guaranteed containers: it moves a part of an ask, whose containers the ResourceManager doesn't grant, to an ask for
 * opportunistic containers. The master sees guaranteed containers only. Later, when there is room, a lent container is
 * promoted: it becomes guaranteed.
 *
 * The code is pure: its input is the master's asks, the ResourceManager's answers, what is known of nodes, and the
 * time. Its output is the asks to send, what the master is shown, and which container to promote next.
 *
 * Asks are keyed by (priority, allocation request id), as in the ResourceManager. Within a key only the ask for "*"
 * has the number of containers; counts are absolute. `wanted` of a key is the number that the master still waits for.
 * The books send the count wanted - lent_asked as guaranteed, and lent_asked as opportunistic. The ResourceManager
 * keeps the two apart (docs/lending-yarn.md has the facts), so each is set absolutely.
 *
 * Counts are kept over repeated answers: a container is counted once, by its id if it is lent, and by the response id
 * of the answer if it is guaranteed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"
#include "yarn/ids.h"

#define NM_LEND_KEYS_MAX 256u       /* asks with further keys are left alone */
#define NM_LEND_CONTAINERS_MAX 4096u /* nothing more is lent */
#define NM_LEND_BATCHES_MAX 8u      /* times at which a key's count rose; the newest are merged */
#define NM_LEND_NAME_MAX 255u       /* length of a host's name; a container on another host is not promoted */
#define NM_LEND_STARTABLE_UNKNOWN UINT32_MAX

/* ---- what may be lent ------------------------------------------------------------------------- */

enum nm_lend_mode {
    NM_LEND_OFF,
    NM_LEND_OVERFLOW, /* lends what was not granted for after_usec */
    NM_LEND_PERCENT,  /* lends at most `percent` of the containers of each key, at once */
    NM_LEND_ALL,      /* lends everything, at once */
    NM_LEND_N_MODES,
};

struct nm_lend_rule {
    enum nm_lend_mode mode;
    uint64_t after_usec; /* of NM_LEND_OVERFLOW */
    unsigned percent;    /* of NM_LEND_PERCENT, 1 to 100 */
};

struct nm_lend_size {
    int64_t memory_mib;
    int32_t vcores;
};

/* The limits that hold at the moment of a plan. They are compared with the memory that is lent and asked for. */
struct nm_lend_limits {
    int64_t application_memory_mib; /* maximum memory that is lent to this application; 0: nothing, -1: no limit */
    int64_t queue_memory_left_mib;  /* maximum of the queue, less lent_memory_mib, asked_memory_mib and
                                       observed_now_memory_mib of all masters of the queue, this one included, but at
                                       least 0; -1: no limit */
    int64_t node_memory_mib;        /* maximum memory lent to this application on one node; -1: no limit */
    int64_t node_memory_left_mib;   /* with a limit for nodes: the largest container that it allows on the nodes that
                                       may get the next one; -1: these nodes aren't known, so nothing more is lent while
                                       all nodes with lent containers have reached the limit */
    /* Only counts what would be lent ("observe"); the asks stay as they are. The decisions are the same: a container
     * that would have been lent counts for all limits until the ResourceManager grants one of its key, or the master
     * doesn't want it any more. The other limits and `startable` must take these containers into account. */
    bool observes;
    /* Returns how many containers of the size can start as opportunistic ones now, as the nodes have said. What can't
     * start stays in the line for guaranteed containers, where it may be granted earlier. It is called only if there is
     * something to lend. NM_LEND_STARTABLE_UNKNOWN: it isn't known at the moment, so each key keeps its share. NULL:
     * the ResourceManager chooses the nodes, so it is never known. */
    uint32_t (*startable)(void *userdata, const struct nm_lend_size *size);
    void *userdata; /* of startable */
};

/* Why a key, or the rest of it, is not lent. The order is that in which reasons are checked. */
enum nm_lend_reason {
    NM_LEND_LENT,              /* no reason: everything that the mode allows is lent */
    NM_LEND_IS_OFF,            /* the mode is off */
    NM_LEND_REGISTERED_BEFORE, /* the master had registered before the books began (nm_lend_begin_late()) */
    NM_LEND_LABEL,             /* asks for a node label */
    NM_LEND_STRICT,            /* asks for certain nodes or racks only (the ask for "*" does not relax locality) */
    NM_LEND_PLACEMENT,         /* asks by placement constraints */
    NM_LEND_OTHER_RESOURCES,   /* asks for other resources than memory and vcores */
    NM_LEND_OWN_OPPORTUNISTIC, /* has opportunistic asks of its own */
    NM_LEND_TOO_MANY_KEYS,
    NM_LEND_WAITS,             /* has not waited for after_usec yet */
    NM_LEND_BACKS_OFF,         /* a short time ago, a lent container of this key was preempted or was too small, or no
                                  opportunistic container was granted for a minute */
    NM_LEND_QUEUED,            /* a lent container still waits in a node's queue */
    NM_LEND_APPLICATION_LIMIT,
    NM_LEND_QUEUE_LIMIT,
    NM_LEND_NODE_LIMIT,        /* all nodes have reached the limit: see nm_lend_limits.node_memory_left_mib */
    NM_LEND_NO_ROOM,           /* no node is known to start more opportunistic containers now: see `startable` */
    NM_LEND_REFUSED,           /* the ResourceManager grants guaranteed containers only (no opportunistic allocation) */
    NM_LEND_N_REASONS,
};

/* Returns the name as a member of JSON ("own_opportunistic"), or a sentence's end after "it" ("asks for a node
 * label"). */
const char *nm_lend_reason_name(enum nm_lend_reason r);
const char *nm_lend_reason_text(enum nm_lend_reason r);
const char *nm_lend_mode_name(enum nm_lend_mode m); /* "off", "overflow", "percent", "all" */

/* ---- messages --------------------------------------------------------------------------------- */

struct nm_lend_key {
    int32_t priority;
    int64_t request_id;
};

/* One ResourceRequest of the master, or one SchedulingRequest with placement constraints. The ResourceManager has one
 * of both for a key. */
struct nm_lend_ask {
    struct nm_lend_key key;
    struct nm_lend_size size;
    int32_t count;        /* a negative one is 0, as for the ResourceManager */
    bool any;             /* the name is "*"; other asks of the key only say where */
    bool relax;
    bool labelled;        /* has a node label other than "" */
    bool placement;       /* has placement constraints; the books never send it */
    bool other_resources; /* more than memory and vcores */
    bool opportunistic;   /* the master itself asks for opportunistic containers */
};

/*
 * An ask for "*" that must be sent to the ResourceManager. The changes precede all other asks of the call, in their
 * order: a key may have several, because the ResourceManager counts opportunistic asks of each size separately.
 *
 * Without opportunistic allocation, the ResourceManager keeps only the later one of two asks of a key. So within a
 * change, an opportunistic count of 0 precedes the guaranteed ask, and another opportunistic count follows it.
 *
 * The master's own guaranteed asks for "*" of a key are removed from the call if there is a change of the key without
 * only_opportunistic. All other asks of the master pass unchanged: those for hosts and racks, opportunistic ones, and
 * those of keys without a change, which are left alone or are sent as they are.
 */
struct nm_lend_change {
    struct nm_lend_key key;
    struct nm_lend_size size;
    int32_t guaranteed, opportunistic; /* absolute counts */
    bool with_opportunistic; /* the opportunistic count must be sent too (also if it is 0: it was not before) */
    bool only_opportunistic; /* the guaranteed count must not be sent */
};

/* A container in an answer. */
struct nm_lend_grant {
    struct nm_yarn_container_id id;
    struct nm_lend_key key;
    struct nm_lend_size size;
    const char *host; /* NULL: unknown */
    int32_t port, version;
    bool opportunistic;
};

/* What to do with a granted container. */
enum nm_lend_verdict {
    NM_LEND_PASS,    /* show it unchanged: guaranteed, or the master's own opportunistic one */
    NM_LEND_SHOW,    /* a lent container: show it as guaranteed */
    NM_LEND_RELEASE, /* more than the master asked for, or too small: hide it, and release it with the next call */
};

struct nm_lend;

int nm_lend_new(struct nm_lend **ret);
/* Notes that the master may have registered before these new books began, so that they don't know what it has asked
 * for. Until nm_lend_registered(), nothing is lent or observed, no ask is changed, and all granted containers pass. */
void nm_lend_begin_late(struct nm_lend *l);
bool nm_lend_is_late(const struct nm_lend *l);
struct nm_lend *nm_lend_free(struct nm_lend *l);
NM_DEFINE_CLEANUP(struct nm_lend *, nm_lend_free)

/* Sets the rule, for example after the application's type or queue became known. The next plan applies it: with a
 * lower mode, opportunistic asks that were not granted become guaranteed again. Lent containers stay lent. The rule
 * of new and of restored books is NM_LEND_OFF. */
void nm_lend_set_rule(struct nm_lend *l, const struct nm_lend_rule *rule);

/* Notes whether the application has a node label: the ResourceManager adds it to asks without one, so all are left
 * alone, as with a lower mode. New and restored books assume that it has none. */
void nm_lend_set_labelled(struct nm_lend *l, bool labelled);

/* Notes the asks of a call. Returns 0 or -ENOMEM. */
int nm_lend_ask(struct nm_lend *l, const struct nm_lend_ask *asks, size_t n, uint64_t now_usec);

/* Decides how much of each key is lent, and returns the asks for "*" that must be sent with this call: those of
 * keys whose shares the plan changes, of keys that are lent and whose counts the master has set in this call, and
 * those that an earlier call may not have taken to the ResourceManager, because that call was not answered. A key
 * has no changes before a plan was allowed to lend. *ret is valid until the next call of a function of these books.
 * now_usec: time of a clock that continues over a restart of nmd. Returns 0 or -ENOMEM. */
int nm_lend_plan(struct nm_lend *l, const struct nm_lend_limits *limits, uint64_t now_usec,
                 const struct nm_lend_change **ret, size_t *ret_n);

/* Notes that the ResourceManager has answered the call of the last plan with an exception, for example because an ask
 * is larger than its largest container. What the master has set since the last answer counts as never set: a further
 * call must not repeat it, because then the ResourceManager would refuse this call as well. Keys that the call asked
 * for as opportunistic back off for a minute, or until a registration. For 10 seconds, counts of guaranteed containers
 * are sent with the master's own asks only: one of those that the books had added to the call may be the reason. */
void nm_lend_refused(struct nm_lend *l, uint64_t now_usec);
/* Notes that the call was refused because of an ask, and that the next plan repeats it without what the books had
 * added. If the repeated call is answered, each addition is sent alone once, and one that is refused alone is sent
 * again after 10, 10, 20, 40 ... 640 seconds. So an ask that the ResourceManager has never accepted doesn't keep others
 * back, for example one of a call that was answered with the answer to an earlier call, or during which nmd was
 * restarted. */
void nm_lend_repeated(struct nm_lend *l);
/* Notes what the queue's limit leaves now, for the containers of the answer that follows: other masters of the queue
 * may have taken memory since the plan. left_mib: the limit less lent_memory_mib and asked_memory_mib of all masters of
 * the queue, this one included, but at least 0; -1: no limit. */
void nm_lend_set_queue_left(struct nm_lend *l, int64_t left_mib);
/* Begins the handling of an answer. Returns whether the answer was handled before: then nothing is counted again. */
bool nm_lend_begin_answer(struct nm_lend *l, int32_t response_id);
/* Counts a granted container, unless the answer is repeated. The guaranteed containers of an answer come first: if
 * there are too many containers, the opportunistic ones are then released. -ENOMEM. */
int nm_lend_granted(struct nm_lend *l, const struct nm_lend_grant *g, uint64_t now_usec, enum nm_lend_verdict *ret);
/* Notes that the ResourceManager gives up n containers that the master has asked for by placement constraints. */
void nm_lend_rejected(struct nm_lend *l, const struct nm_lend_key *key, uint32_t n);
/* Notes an opportunistic container of an earlier attempt as lent, and counts it as adopted. Containers that the books
 * know are left as they are. Returns 0, also if there are NM_LEND_CONTAINERS_MAX already, or -ENOMEM. */
int nm_lend_adopt(struct nm_lend *l, const struct nm_lend_grant *g, uint64_t now_usec);
/* Completes the history of a container that was adopted just now by what the books of earlier attempts know of it. */
void nm_lend_set_past(struct nm_lend *l, const struct nm_yarn_container_id *id, const struct nm_lend *earlier);
/* Notes that a container has ended. Returns whether it was lent, also if it was promoted since, or if its end was
 * noted before. preempted: the node has ended it to take resources back (exit status -108), or the kernel has killed it
 * because the node was out of memory (-102); all keys of its priority then back off for 1, 2, 4 ... 16 minutes, also
 * those that the master asks for with a further request id. A preemption during the back-off starts its time again. The
 * back-off begins with 1 minute again after 30 minutes without a preemption. Until then, one key of the priority keeps
 * its place in the table. */
bool nm_lend_ended(struct nm_lend *l, const struct nm_yarn_container_id *id, bool preempted, uint64_t now_usec);
bool nm_lend_is_lent(const struct nm_lend *l, const struct nm_yarn_container_id *id);
/* Returns whether the books have a place for this key. They have NM_LEND_KEYS_MAX. */
bool nm_lend_knows_key(const struct nm_lend *l, const struct nm_lend_key *key);
/* Returns whether opportunistic containers are asked for with this key in order to lend them. Otherwise, the master
 * itself asks for them. */
bool nm_lend_is_asked(const struct nm_lend *l, const struct nm_lend_key *key);

/* Returns whether the ResourceManager may have opportunistic counts of this key. A later plan sets them to 0. */
bool nm_lend_has_counts(const struct nm_lend *l, const struct nm_lend_key *key);

/* Notes a registration: the ResourceManager has forgotten asks and pending promotions, and the master sends its asks
 * again. So the books know all asks from then on, also if they began late. Response ids begin again. What the master
 * asks for again has waited since it was first asked for. */
void nm_lend_registered(struct nm_lend *l);

/* ---- nodes and promotion ---------------------------------------------------------------------- */

/* What a node has told of itself. */
struct nm_lend_node_room {
    const char *host;
    int32_t port;
    struct nm_lend_size guaranteed_free; /* capacity that no guaranteed container is allocated; INT32_MAX vcores if
                                            the ResourceManager's scheduler doesn't count them */
    uint64_t at_usec;                    /* when the node said this */
};

/* Notes what is known of a node. Only the newest 256 nodes are kept. */
int nm_lend_set_room(struct nm_lend *l, const struct nm_lend_node_room *room);
/* Notes that a node runs the lent container, or still has it in its queue. */
void nm_lend_set_running(struct nm_lend *l, const struct nm_yarn_container_id *id, bool running);
/* Notes that a node has answered that it doesn't know the container: it wasn't launched yet, or has ended. A restarted
 * ResourceManager learns of containers from their nodes only, so it doesn't report the end of one that was never
 * launched, and nodes refuse to launch it with a token from before. So if the container was lent before the last
 * registration, and its node has given this answer for 2 minutes, it counts as ended. Answers that are more than 90
 * seconds apart don't count together: the node may have been down in between. Returns whether the container counts as
 * ended now. */
bool nm_lend_set_unknown(struct nm_lend *l, const struct nm_yarn_container_id *id, uint64_t now_usec);
/* Notes that the node of a lent container has it as guaranteed: the container is promoted, whatever the ResourceManager
 * has answered. Returns whether it was lent. */
bool nm_lend_set_guaranteed(struct nm_lend *l, const struct nm_yarn_container_id *id, uint64_t now_usec);

/* Returns nodes with lent containers whose room or containers' states should be asked for now, at most n, the longest
 * unasked first. A node is asked at most once in 5 seconds. */
struct nm_lend_node {
    char host[NM_LEND_NAME_MAX + 1];
    int32_t port;
};
size_t nm_lend_nodes_to_ask(struct nm_lend *l, uint64_t now_usec, struct nm_lend_node *ret, size_t n);
/* Notes that a node has answered a question in another way than by its room. A node that leaves all questions without
 * an answer for 90 seconds may be dead: the containers in its queue don't keep others from being lent. */
void nm_lend_set_answered(const struct nm_lend *l, const char *host, int32_t port);
/* Returns the ids of the lent containers on that node, at most n: first those that aren't known to run, the oldest ones
 * of each kind first. */
size_t nm_lend_containers_on(const struct nm_lend *l, const char *host, int32_t port, struct nm_yarn_container_id *ret,
                             size_t n);

/* Returns the memory in MiB that is lent on that node. */
int64_t nm_lend_memory_on(const struct nm_lend *l, const char *host, int32_t port);

/* Notes the version and the size of a container that the master itself has updated. The master sees them. An invalid
 * size is ignored. Returns whether the container is lent, or was lent until it ended. */
bool nm_lend_updated(struct nm_lend *l, const struct nm_yarn_container_id *id, int32_t version,
                     const struct nm_lend_size *size);
/* Notes that the ResourceManager has another version of a container than was assumed, and that the master hasn't seen
 * this version in an update. */
void nm_lend_set_version(struct nm_lend *l, const struct nm_yarn_container_id *id, int32_t version);

/* Returns the promotion to ask for now: the container that has been lent for the longest time, runs, and is on a node
 * whose room is known and suffices, while no other promotion is outstanding on this node and the queue's headroom, less
 * all outstanding promotions, suffices. The room must be in the last two answers of the node, which are 4 to 90 seconds
 * apart, and the last one is not older than 15 seconds. Marks the promotion as outstanding. A promotion that was
 * neither granted nor refused for 5 minutes is returned again: the call with it may have been lost. Returns 1, or 0 if
 * there is none. */
struct nm_lend_promotion {
    struct nm_yarn_container_id id;
    int32_t version;
    struct nm_lend_size size;
};
int nm_lend_next_promotion(struct nm_lend *l, const struct nm_lend_size *headroom, uint64_t now_usec,
                           struct nm_lend_promotion *ret);
/* Notes that a call repeats a promotion. Returns false if it must not be asked for any more: it was refused, the
 * container isn't lent any more, or the master itself has asked for an update since then. */
bool nm_lend_repeat_promotion(struct nm_lend *l, const struct nm_yarn_container_id *id);
/* Notes that the master itself asks for an update of a container. The ResourceManager accepts one update of a container
 * at a time, so a promotion isn't asked for in this call and for 5 seconds. An outstanding one doesn't count as such
 * any more: the master's update may have cancelled it. */
void nm_lend_own_update(struct nm_lend *l, const struct nm_yarn_container_id *id, uint64_t now_usec);
/* Notes the ResourceManager's new version of a lent container, which is now guaranteed. The master doesn't see this
 * version. Returns whether it was lent, also if the books have noted this before. */
bool nm_lend_promoted(struct nm_lend *l, const struct nm_yarn_container_id *id, int32_t version, uint64_t now_usec);
/* Notes that the node of a promoted container has the promotion. If this isn't known at a registration, the container
 * is lent again: a restarted ResourceManager takes over from the nodes what containers are. */
void nm_lend_set_applied(struct nm_lend *l, const struct nm_yarn_container_id *id);
/* Notes that the master itself has demoted a container that was promoted, or wants to demote one that is lent. From
 * then on the container is what the master asks for: it is not promoted, and its updates and its end are the master's.
 * It is counted as before. */
void nm_lend_demoted(struct nm_lend *l, const struct nm_yarn_container_id *id, uint64_t now_usec);
/* Returns whether the master has demoted the container at any time. */
bool nm_lend_was_demoted(const struct nm_lend *l, const struct nm_yarn_container_id *id);
/* Notes that the ResourceManager refuses the promotion. outstanding: it says that an earlier request is outstanding. If
 * that can be a promotion of these books, it is outstanding for another 5 minutes. Otherwise it is an update that the
 * master has asked for. Then, and after other refusals, the promotion is asked for again after a minute, at the
 * earliest. Returns whether these books have ever asked for it. */
bool nm_lend_promotion_refused(struct nm_lend *l, const struct nm_yarn_container_id *id, bool outstanding,
                               uint64_t now_usec);

/* ---- figures ---------------------------------------------------------------------------------- */

struct nm_lend_figures {
    uint32_t keys;
    uint32_t lent, waiting, asked; /* lent now; of these waiting in a node's queue; asked for and not yet granted */
    int64_t lent_memory_mib, asked_memory_mib;
    /* Counts since new() or the first start before a restore: granted + adopted + lent_again = lent + promoted +
     * preempted + ended. A container that outlives its attempt is granted once, and adopted by each later attempt that
     * takes it over. It is lent again if the ResourceManager was restarted before the node had the promotion. */
    uint64_t granted, adopted, lent_again, promoted, preempted, ended, released;
    uint64_t wanted;                                        /* containers that the master waits for */
    uint64_t observed;                /* with limits.observes: containers that would have been lent */
    uint64_t observed_memory_mib;     /* their memory */
    uint64_t observed_memory_mib_sec; /* their memory times the time that their asks still waited */
    uint32_t observed_now;            /* of them, those whose asks still wait */
    int64_t observed_now_memory_mib;
    uint64_t oldest_since_usec; /* when the oldest container that is lent now was granted; 0: none */
};
struct nm_lend_figures nm_lend_figures(const struct nm_lend *l);

/* The history of one container that is or was lent. The newest 1024 that are not lent any more are kept. */
struct nm_lend_history {
    struct nm_yarn_container_id id;
    struct nm_lend_key key;
    struct nm_lend_size size;
    uint64_t asked_usec, lent_usec, promoted_usec, ended_usec; /* 0: it hasn't happened */
    uint64_t demoted_usec; /* when its master demoted it; 0: never. A later promoted_usec: the master has promoted it */
    uint64_t adopted_usec; /* when the last attempt that has taken it over did so; 0: it belongs to its own attempt. If
                              the books of its own attempt aren't known, asked_usec is 0, and lent_usec is this time */
    uint32_t adoptions;    /* number of attempts that have taken it over */
    bool preempted;
    bool with_attempt; /* ended_usec is the end of the attempt, after which no end is reported; not set by the books */
    bool running, queued; /* as its node has said last; both false: the node has said nothing yet, or it has ended */
    int32_t version;        /* the ResourceManager's; it refuses an update request with another one */
    int32_t master_version; /* the version that the master knows: it doesn't see promotions */
    enum nm_lend_mode mode; /* the mode that has asked for it as opportunistic; NM_LEND_OFF: not known */
};
/* Compares ids for sorting: less than, equal to, or greater than 0. */
int nm_lend_compare(const struct nm_yarn_container_id *a, const struct nm_yarn_container_id *b);
/* Returns whether the books know the container: it is lent, or its history is kept. */
bool nm_lend_knows(const struct nm_lend *l, const struct nm_yarn_container_id *id);
/* Sets *ret to the history of a container. Returns whether the books know it. */
bool nm_lend_find_history(const struct nm_lend *l, const struct nm_yarn_container_id *id, struct nm_lend_history *ret);
/* Calls cb for each container that is lent, or whose history is kept. */
typedef void (*nm_lend_history_cb_t)(const struct nm_lend_history *h, void *userdata);
void nm_lend_each_history(const struct nm_lend *l, nm_lend_history_cb_t cb, void *userdata);
/* Copies the containers of `from` that neither these books nor `newer` know. newer: may be NULL. What is lent in `from`
 * is also lent here, but without its node. If NM_LEND_CONTAINERS_MAX are lent already, and for the rest, only the
 * history is kept. Returns 0, or -ENOMEM if not all were copied. */
int nm_lend_copy_containers(struct nm_lend *l, const struct nm_lend *from, const struct nm_lend *newer);

/* Calls cb for each key with its state, for the status. The last one may be the newest of the keys that are left alone
 * because there are too many. */
struct nm_lend_key_view {
    struct nm_lend_key key;
    struct nm_lend_size size;
    uint32_t wanted, lent_asked, lent;
    uint32_t observed;   /* of `wanted`, containers that would be lent now; with limits.observes */
    uint64_t since_usec; /* when the oldest of `wanted` was asked for */
    enum nm_lend_reason reason;
    uint64_t backs_off_until_usec;
};
typedef void (*nm_lend_key_cb_t)(const struct nm_lend_key_view *v, void *userdata);
void nm_lend_each_key(const struct nm_lend *l, nm_lend_key_cb_t cb, void *userdata);

/* ---- state that survives a restart of nmd ------------------------------------------------------ */

/* Packs the books without rule, limits and nodes' room. Equal books are packed to equal bytes. */
int nm_lend_pack(const struct nm_lend *l, uint8_t **ret, size_t *ret_size);
/* -EBADMSG: the bytes were not made by pack(). */
int nm_lend_restore(struct nm_bytes packed, struct nm_lend **ret);
/* Corrects the times of restored books: the clock may have been set back since they were packed. Without that, asks,
 * back-offs and promotions would wait until the clock reaches these times again. */
void nm_lend_limit_times(struct nm_lend *l, uint64_t now_usec);
/* Returns a counter that changes whenever the result of pack() changes. */
uint64_t nm_lend_revision(const struct nm_lend *l);
