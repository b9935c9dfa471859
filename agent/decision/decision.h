/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decision records: what was decided about a container, on which numbers, against which others, and
 * what came of it. nm_decision_explain() puts one into plain words; it is the only place where
 * these sentences are written.
 */

#include <jansson.h>

#include "agent/policy/policy.h"

enum nm_decision_kind {
    NM_DECISION_ADMIT,
    NM_DECISION_QUEUE,
    NM_DECISION_REFUSE,
    NM_DECISION_PAUSE,
    NM_DECISION_RESUME,
    NM_DECISION_RECLAIM,
    NM_DECISION_KILL,
    NM_DECISION_SHED,
    NM_DECISION_PROMOTE,
    NM_DECISION_DEMOTE,
    NM_DECISION_UPDATE,
    NM_DECISION_SQUEEZE,
    NM_DECISION_RESTART,
    NM_DECISION_KIND_COUNT,
};

enum nm_decision_outcome {
    NM_OUTCOME_PENDING, /* being carried out */
    NM_OUTCOME_DONE,
    NM_OUTCOME_FAILED,  /* error says how */
    NM_OUTCOME_SHADOW,  /* recorded only */
};

#define NM_DECISION_CANDIDATES_MAX 12

struct nm_decision_candidate {
    char id[NM_ID_SIZE];
    char name[NM_NAME_SIZE];
    uint64_t started_usec;
    struct nm_resources use;
    uint64_t cpu_usage_usec;
    enum nm_passed_over passed_over;
};

struct nm_decision {
    uint64_t number;        /* 1, 2, 3, ...; goes on across restarts */
    uint64_t realtime_usec; /* when decided, for people */
    enum nm_decision_kind kind;
    enum nm_reason reason;
    enum nm_resource resource;
    enum nm_decision_outcome outcome;
    char container_id[NM_ID_SIZE];
    char container_name[NM_NAME_SIZE];
    char on_behalf_of[NM_ID_SIZE]; /* "" if nobody */
    char by_user[33];              /* login or uid of the person who asked, "" for policy */
    enum nm_execution_type type;
    struct nm_resources request;
    struct nm_resources used;      /* U, which is made of ... */
    struct nm_resources measured;  /* ... what containers used, as measured, */
    struct nm_resources reserved;  /* what was reserved for them beyond that, */
    struct nm_resources others;    /* and what others on the node used. All 0 in records of an older nmd */
    struct nm_resources allocated; /* guaranteed + opportunistic, before this decision */
    struct nm_resources allocated_guaranteed; /* of a refusal: what was promised, to those that wait as well */
    struct nm_resources waiting;   /* of a refusal: what those that waited had asked for */
    struct nm_resources capacity;
    uint32_t capacity_vcores_milli; /* the same CPUs, as they are asked for; 0: a vcore is one */
    uint32_t n_times;              /* of a refusal: so many in a row, of which this is the last; 0 and 1: one */
    uint64_t first_realtime_usec;  /* and when the first was */
    struct nm_fractions over_allocation_threshold, preemption_threshold;
    uint32_t consecutive_samples, cpu_samples;
    uint32_t queue_length, queue_max_length; /* UINT32_MAX: their number has no limit, but what they ask for */
    enum nm_victim_order victim_order;
    struct nm_resources predicted, regained; /* of a SQUEEZE: predicted.cpu_millicores is the limit,
                                                0: lifted, with the reason CPU_OVER_BETA (tightened)
                                                or BELOW_THRESHOLD (loosened) */
    bool regained_known;
    uint32_t stall_permille, stall_base_permille; /* of a SQUEEZE for a stall: on_behalf_of's, and what it
                                                     is without opportunistic work */
    uint64_t margin_bytes, margin_left_usec; /* what was kept free for a surge then, and for how long yet; 0: nothing */
    uint32_t margin_peak_permille; /* the surge: of what guaranteed containers were promised, what they use in it */
    /* CLOCK_BOOTTIME of the phases; 0: not reached */
    uint64_t cause_usec;     /* the sample or event that set it off */
    uint64_t decided_usec;
    uint64_t acted_usec;     /* the write or call was made */
    uint64_t effective_usec; /* frozen, gone, or running */
    uint32_t n_candidates_total; /* considered; only the first NM_DECISION_CANDIDATES_MAX are
                                    kept */
    uint32_t n_candidates;
    struct nm_decision_candidate candidates[NM_DECISION_CANDIDATES_MAX];
    char error[128];
    bool is_unsaved; /* not in the record: it isn't on disk yet, and a restart of nmd could lose it */
};

const char *nm_decision_kind_name(enum nm_decision_kind k); /* "admit", ... */
int nm_decision_kind_from_string(const char *s, enum nm_decision_kind *ret);
const char *nm_decision_outcome_name(enum nm_decision_outcome o);
int nm_decision_outcome_from_string(const char *s, enum nm_decision_outcome *ret);
const char *nm_passed_over_name(enum nm_passed_over p);
int nm_passed_over_from_string(const char *s, enum nm_passed_over *ret);

/* The reason as a clause without numbers ("a guaranteed container is queued, and comes first"),
 * for `hold` and the like. */
const char *nm_reason_text(enum nm_reason r);

/* One line, for journals and lists: "paused container_1_000002 (hash): CPU was at 98 % of capacity,
 * over the preemption threshold of 95 %, in 4 samples in a row". The buffer is returned. */
const char *nm_decision_summary(const struct nm_decision *d, char *buf, size_t size);

/* Several lines: what, why, with which numbers, who else was considered and why not, what was
 * predicted and really regained, and how long each phase took. *ret is the caller's to free. */
int nm_decision_explain(const struct nm_decision *d, char **ret);

/* JSON for store and clients; NULL: out of memory. from_json refuses what is malformed with
 * -EBADMSG. The caller owns the reference. */
json_t *nm_decision_to_json(const struct nm_decision *d);
int nm_decision_from_json(const json_t *j, struct nm_decision *ret);
