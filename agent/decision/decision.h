/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decision records: what was decided about a container, from which figures, compared with which other containers, and
 * with which result. nm_decision_explain() turns a record into plain words; only this module writes these sentences.
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
    NM_OUTCOME_PENDING, /* in progress */
    NM_OUTCOME_DONE,
    NM_OUTCOME_FAILED,  /* `error` has the reason */
    NM_OUTCOME_SHADOW,  /* shadow mode: recorded but not carried out */
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
    uint64_t number;        /* 1, 2, 3, ...; continues across restarts */
    uint64_t realtime_usec; /* time of the decision, for display */
    enum nm_decision_kind kind;
    enum nm_reason reason;
    enum nm_resource resource;
    enum nm_decision_outcome outcome;
    char container_id[NM_ID_SIZE];
    char container_name[NM_NAME_SIZE];
    char on_behalf_of[NM_ID_SIZE]; /* the other container that needs the resources; "" if there is no such container */
    char by_user[33];              /* login or uid of the person who asked for the decision; "" if the policy decided */
    enum nm_execution_type type;
    struct nm_resources request;
    struct nm_resources used;      /* U, the sum of `measured`, `reserved` and `others` */
    struct nm_resources measured;  /* measured use of containers */
    struct nm_resources reserved;  /* reserved for containers beyond their measured use */
    struct nm_resources others;    /* use by the rest of the node; `measured`, `reserved` and `others` are 0 in records
                                      of an older nmd */
    struct nm_resources allocated; /* guaranteed + opportunistic, before this decision */
    struct nm_resources allocated_guaranteed; /* refusals only: sum of the guaranteed promises, including the promises
                                                 of queued containers */
    struct nm_resources waiting;   /* refusals only: sum of the requests of queued containers */
    struct nm_resources capacity;
    uint32_t capacity_vcores_milli; /* capacity.cpu_millicores in vcores; 0: one vcore is one CPU */
    uint32_t n_times;              /* refusals only: number of equal refusals in a row, of which this record is the
                                      newest; 0 counts as 1 */
    uint64_t first_realtime_usec;  /* time of the first of these refusals */
    struct nm_fractions over_allocation_threshold, preemption_threshold;
    uint32_t consecutive_samples, cpu_samples;
    uint32_t queue_length, queue_max_length; /* UINT32_MAX: the sum of the queued requests is limited, but not their
                                                number */
    enum nm_victim_order victim_order;
    struct nm_resources predicted, regained; /* SQUEEZE: predicted.cpu_millicores is the quota. 0: the quota is
                                                lifted. The reason is CPU_OVER_BETA (tightened) or BELOW_THRESHOLD
                                                (loosened) */
    bool regained_known;
    uint32_t stall_permille, stall_base_permille; /* SQUEEZE for a stall: stall of the container on_behalf_of, and
                                                     its stall without opportunistic work */
    uint64_t margin_bytes, margin_left_usec; /* memory kept free for a surge at that time, and the remaining time; 0 if
                                                no memory was kept free */
    uint32_t margin_peak_permille; /* expected surge: use of guaranteed containers as a share of their promised
                                      memory */
    /* times of the phases, CLOCK_BOOTTIME; 0: not reached */
    uint64_t cause_usec;     /* the sample or event that caused the decision */
    uint64_t decided_usec;
    uint64_t acted_usec;     /* the write or call was made */
    uint64_t effective_usec; /* the container was frozen, had ended, or was running */
    /* number of candidates considered; only the first NM_DECISION_CANDIDATES_MAX are kept */
    uint32_t n_candidates_total;
    uint32_t n_candidates;
    struct nm_decision_candidate candidates[NM_DECISION_CANDIDATES_MAX];
    char error[128];
    bool is_unsaved; /* this flag is not stored; true: the record isn't on disk yet, so a crash of nmd could lose it */
};

const char *nm_decision_kind_name(enum nm_decision_kind k); /* "admit", ... */
int nm_decision_kind_from_string(const char *s, enum nm_decision_kind *ret);
const char *nm_decision_outcome_name(enum nm_decision_outcome o);
int nm_decision_outcome_from_string(const char *s, enum nm_decision_outcome *ret);
const char *nm_passed_over_name(enum nm_passed_over p);
int nm_passed_over_from_string(const char *s, enum nm_passed_over *ret);

/* Returns the reason as a clause without numbers ("a guaranteed container is queued, and comes first"), for `hold` and
 * similar fields. */
const char *nm_reason_text(enum nm_reason r);

/* Writes one line for journals and lists: "paused container_1_000002 (hash): CPU was at 98 % of capacity, over the
 * preemption threshold of 95 %, in 4 samples in a row". Returns buf. */
const char *nm_decision_summary(const struct nm_decision *d, char *buf, size_t size);

/* Writes several lines: the action, its reason and figures, the other candidates and why each was passed over, the
 * predicted and the measured gain, and the duration of each phase. The caller frees *ret. */
int nm_decision_explain(const struct nm_decision *d, char **ret);

/* Converts to and from JSON for the store. Members that are zero are absent. nm_decision_to_json() returns a new
 * reference, or NULL if out of memory. nm_decision_from_json() returns -EBADMSG for malformed input. */
json_t *nm_decision_to_json(const struct nm_decision *d);
int nm_decision_from_json(const json_t *j, struct nm_decision *ret);
