/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Functions that only the files of agent/requests use. A function with a parameter p or ret_problem returns 0, or fills
 * in the problem and returns its outcome (NM_AGENT_E_*).
 */

#include "agent/requests/requests.h"

/*
 * ---- user-limits.c ---------------------------------------------------------------------------
 *
 * Limits for each user, for requests over any interface: number of live containers, number of queued containers, and
 * total size of commands. For administrators, only the limits of the whole node apply.
 */

/* Checks one additional container. command_bytes: size of its command and blob. An opportunistic container also counts
 * as queued. */
int nm_user_limits_check(const struct nm_manager *m, const struct nm_caller *who, enum nm_execution_type type,
                         uint64_t command_bytes, struct nm_problem *ret_problem);
/* Checks one additional container whose result nmd must keep until its owner acknowledges it. */
int nm_user_limits_check_results(const struct nm_manager *m, struct nm_problem *ret_problem);
/* Checks more_bytes of additional data of an existing container. */
int nm_user_limits_check_bytes(const struct nm_manager *m, uint64_t more_bytes, struct nm_problem *ret_problem);
/* Checks whether an existing container may enter the queue. */
int nm_user_limits_check_queue(const struct nm_manager *m, const struct nm_caller *who,
                               struct nm_problem *ret_problem);

/* ---- room-record.c --------------------------------------------------------------------------- */

struct nm_room_limits {
    uint64_t memory_bytes;   /* request of the container */
    uint64_t admit_below;    /* over-allocation threshold, in bytes */
    uint64_t kill_above;     /* preemption threshold, in bytes */
    uint64_t within_usec;
};
/* Counts the starts of nm_manager_get_room_record() in a history. Pure. */
void nm_room_record_count(const struct nm_history *h, const struct nm_room_limits *l, struct nm_room_record *ret);

/* ---- access.c -------------------------------------------------------------------------------- */

/* Finds a container by id, by number or by name. A name selects the live container with this name, and is refused if
 * there are several. If there is no such live container, the name selects the newest ended container with this name. */
int nm_access_find(struct nm_manager *m, const struct nm_caller *who, const char *ref, struct nm_container **ret,
                   struct nm_problem *p);
/* Finds a container that can be changed. Refuses a container that has ended or is being killed, with its state in the
 * message. */
int nm_access_find_live(struct nm_manager *m, const struct nm_caller *who, const char *id,
                        struct nm_live_container **ret,
                        struct nm_problem *p);
int nm_access_want_admin(const struct nm_caller *who, const char *thing, struct nm_problem *p);

/* ---- submit.c: checks that change.c and rerun.c use, too ------------------------------------- */

uint64_t nm_submit_millicores(const struct nm_manager *m, uint32_t vcores_milli);
int nm_submit_check_memory(uint64_t bytes, struct nm_problem *p);
/* *ret_bytes: size of the command and the environment in memory. */
int nm_submit_check_command(const char *const *argv, const char *const *env, uint64_t *ret_bytes,
                            struct nm_problem *p);
/* Checks the two directories of a request. NULL: the request has no such directory. */
int nm_submit_check_dirs(const char *workdir, const char *log_dir, struct nm_problem *p);
int nm_submit_check_blob(const struct nm_blob *blob, struct nm_problem *p);
/* Fills in *p for a request that the policy has refused, and returns the outcome. `self`: the container that the policy
 * did not count, because the request replaces its present request; or NULL. `instead`: a sentence that says what to do
 * instead. NULL: the advice for a new request. */
int nm_submit_refuse(struct nm_manager *m, enum nm_reason reason, const struct nm_resources *request,
                     const struct nm_policy_container *self, const char *instead, struct nm_problem *p);

/* ---- change.c and rerun.c: parts of owner-requests.c ----------------------------------------- */

/* Implements nm_manager_change(). The caller has checked the container's owner. */
int nm_change_owned(struct nm_live_container *l, const struct nm_change *c, struct nm_problem *ret_problem);
/* Implements nm_manager_move(). The caller has checked the container's owner. */
int nm_change_move(struct nm_live_container *l, const struct nm_move *move, struct nm_problem *ret_problem);
/* Implements nm_manager_rerun(). The caller has checked the container's owner. */
int nm_rerun_owned(struct nm_live_container *l, const struct nm_rerun *rerun, struct nm_problem *ret_problem);
