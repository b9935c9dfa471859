/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The manager's interface for owners: requests about containers that they have submitted. */

#include "agent/agent.h"

/*
 * The part of this process that submits a container (the local socket, an upstream) owns it, under the name that it
 * gave in nm_submit.owner. Only owners may use the functions below. In the functions below, `id` is the full id of a
 * container of this owner; containers of other owners are not found. nm_manager_subscribe() reports each change of
 * state together with the container. The first reported change is from NEW to NEW, the last one is to COMPLETED.
 * nm_manager_foreach_of() lists containers that existed before the subscription.
 */

struct nm_end {
    int32_t code;        /* reason, as a number that the owner defines, not 0; persisted as nm_container.owner_code */
    const char *message; /* one sentence for people, or NULL */
    bool now;            /* send SIGKILL immediately; otherwise SIGTERM, and SIGKILL after the grace period */
};
/* Ends a container. If the container is already being killed, its first reason remains, and only e->now has an
 * effect. */
int nm_manager_end(struct nm_manager *m, const char *owner, const char *id, const struct nm_end *e,
                   struct nm_problem *ret_problem);

/* Sends a signal to each process of a running container. The signal is not recorded, and SIGTERM begins no grace
 * period; the manager handles the effects when they occur. A container that is being killed receives signals until its
 * grace period is over. A waiting or paused container returns NM_AGENT_E_CONFLICT. SIGKILL kills the container in any
 * state. */
int nm_manager_signal(struct nm_manager *m, const char *owner, const char *id, int signo,
                      struct nm_problem *ret_problem);

/* Changes type, size and blob as nm_manager_promote(), _demote(), _update() and _set_blob() do. If any part is refused,
 * the container stays unchanged. NULL and 0 leave a value as it is. */
struct nm_change {
    const enum nm_execution_type *type;
    uint64_t memory_bytes;
    uint32_t vcores_milli;
    const struct nm_blob *blob;
};
int nm_manager_change(struct nm_manager *m, const char *owner, const char *id, const struct nm_change *c,
                      struct nm_problem *ret_problem);

/* Replaces the blob that nm_submit gave, or removes it (0 bytes). The new blob is journalled. */
int nm_manager_set_blob(struct nm_manager *m, const char *owner, const char *id, const struct nm_blob *blob,
                        struct nm_problem *ret_problem);

/*
 * A container that was submitted with nm_submit.prepare already has its promise (guaranteed) or its position in the
 * queue (opportunistic), but does not start until its owner has prepared it. nm_manager_progress() reports the progress
 * in a few words and moves the container to LOCALIZING. Then nm_manager_prepared() queues the container, or
 * nm_manager_prepare_failed() ends it with a sentence that says why. During its preparation the container can be ended
 * like any other container. After a restart of nmd the container is NEW again, and the owner must check what was
 * already prepared.
 */
int nm_manager_progress(struct nm_manager *m, const char *owner, const char *id, const char *text,
                        struct nm_problem *ret_problem);
int nm_manager_prepared(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem);
int nm_manager_prepare_failed(struct nm_manager *m, const char *owner, const char *id, const char *why,
                              struct nm_problem *ret_problem);

/* Sets the GPUs that the container may use: of the character devices with this major number, those whose minor numbers
 * are bits of the mask (struct nm_cgroup_devices). The rule applies from the next start of the container, and is not
 * journalled: after a restart of nmd, the owner must set it again before the event loop runs. */
int nm_manager_set_devices(struct nm_manager *m, const char *owner, const char *id, uint32_t major, uint64_t minors,
                           struct nm_problem *ret_problem);
/* Returns whether nmd can enforce such rules. If not, they have no effect. */
bool nm_manager_restricts_devices(const struct nm_manager *m);

/* Gives a container that is NEW or LOCALIZING another working directory, log_dir (both as in nm_submit) and blob,
 * because the former directory can't be used. The new values are journalled. */
struct nm_move {
    const char *workdir, *log_dir;
    struct nm_blob blob;
};
int nm_manager_move(struct nm_manager *m, const char *owner, const char *id, const struct nm_move *move,
                    struct nm_problem *ret_problem);

/*
 * Restarts a RUNNING container, with the same or another command. Its processes are ended as by a stop. The container
 * keeps its id, size, type and order of arrival, and the ended run leaves no result. When all its processes have
 * exited, the container is NEW, as if submitted with `prepare`, and nm_manager_prepared() starts it. If the container
 * is killed before that, it ends as usual. The callback of nm_manager_set_end_callback() may also restart a container
 * whose command has exited without a stop.
 */
struct nm_rerun {
    const char *const *argv, *const *env; /* new command, as in nm_submit; argv NULL: keep both */
    const struct nm_blob *blob;           /* replaces the container's blob; NULL: keep it */
};
int nm_manager_rerun(struct nm_manager *m, const char *owner, const char *id, const struct nm_rerun *rerun,
                     struct nm_problem *ret_problem);

/* Sets a callback for running containers of this owner that end without a request to end them. The manager calls `ask`
 * with exit_reason and exit_code set, before it reports the end. If `ask` calls nm_manager_rerun(), the container runs
 * again and the end is not reported. Only one owner at a time can have a callback; NULL removes the callback. */
void nm_manager_set_end_callback(struct nm_manager *m, const char *owner,
                                 void (*ask)(const struct nm_container *c, void *userdata), void *userdata);

/* Releases the result of a container with keep_result, after the owner has passed the result on. A second call
 * succeeds, too. */
int nm_manager_acknowledge(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem);

/* Calls cb with all known containers of the owner: first the live ones, then the ended ones, each in order of arrival.
 * After nm_manager_new() these are the containers that an earlier nmd has left. */
void nm_manager_foreach_of(struct nm_manager *m, const char *owner,
                           void (*cb)(const struct nm_container *c, void *userdata), void *userdata);
