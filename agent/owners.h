/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What an owner may ask of the manager for the containers that it has submitted. */

#include "agent/agent.h"

/*
 * Who submits from inside this process (the local socket, an upstream) is the owner of what it submits, under the name
 * that it gave in nm_submit.owner. It may do more to its own containers than the people who use them: `id` is the whole
 * id of one of those, and anybody else's is not found. How they fare it hears by nm_manager_subscribe(): each change of
 * state, from NEW (from NEW to NEW) to COMPLETED, with the container. What there was before nm_manager_foreach_of()
 * tells.
 */

struct nm_end {
    int32_t code;        /* why, in the owner's own numbers, not 0: owner_code of the container, also after a restart */
    const char *message; /* one sentence for people, or NULL */
    bool now;            /* SIGKILL at once, else SIGTERM and after the grace period SIGKILL */
};
/* Whoever ends a container first has said why: of one that is being killed already only `now` is heeded. */
int nm_manager_end(struct nm_manager *m, const char *owner, const char *id, const struct nm_end *e,
                   struct nm_problem *ret_problem);

/* To each process of a container that runs, as it would come from anybody: nothing is recorded, and what the processes
 * make of it is seen when it is (SIGTERM has no grace here). One that is being killed hears it until its grace is over;
 * one that waits or is paused can't: NM_AGENT_E_CONFLICT. SIGKILL is a kill, in whatever state it is. */
int nm_manager_signal(struct nm_manager *m, const char *owner, const char *id, int signo,
                      struct nm_problem *ret_problem);

/* Another type, size and blob, as nm_manager_promote(), _demote(), _update() and _set_blob() have them: all that is
 * given or, if any of it is refused, nothing. NULL and 0 leave what is there. */
struct nm_change {
    const enum nm_execution_type *type;
    uint64_t memory_bytes;
    uint32_t vcores_milli;
    const struct nm_blob *blob;
};
int nm_manager_change(struct nm_manager *m, const char *owner, const char *id, const struct nm_change *c,
                      struct nm_problem *ret_problem);

/* Another blob in the place of nm_submit's, or none: nm_container's `blob` from then on, also after a restart. */
int nm_manager_set_blob(struct nm_manager *m, const char *owner, const char *id, const struct nm_blob *blob,
                        struct nm_problem *ret_problem);

/*
 * A container that was submitted with `prepare` is there, with its promise if it is guaranteed and with its place in
 * the queue if it isn't, but nothing of it begins until its owner has made ready what it needs. That this has begun, or
 * how far it has come, is told with nm_manager_progress(), in a few words: it is LOCALIZING then. In the end it is
 * queued, or ends with a sentence that says why. Meanwhile it can be ended like any other. After a restart of nmd it is
 * NEW again: what was done for it by then is for the owner to find out.
 */
int nm_manager_progress(struct nm_manager *m, const char *owner, const char *id, const char *text,
                        struct nm_problem *ret_problem);
int nm_manager_prepared(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem);
int nm_manager_prepare_failed(struct nm_manager *m, const char *owner, const char *id, const char *why,
                              struct nm_problem *ret_problem);

/* Gives a container that is NEW or LOCALIZING another working directory, log_dir (both as in nm_submit) and blob,
 * because the former directory can't be used. A restarted nmd knows the new ones. */
struct nm_move {
    const char *workdir, *log_dir;
    struct nm_blob blob;
};
int nm_manager_move(struct nm_manager *m, const char *owner, const char *id, const struct nm_move *move,
                    struct nm_problem *ret_problem);

/*
 * What runs is ended as a stop ends it, and runs again, with another command or the same: with its id, size, type and
 * place among others, and without a result of what was ended. When nothing of that is left it is NEW, as if it had been
 * submitted with `prepare`, and nm_manager_prepared() lets it begin. An end that somebody else makes meanwhile is its
 * end. Only what is RUNNING; also, by nm_manager_ask_at_end(), what has ended by itself.
 */
struct nm_rerun {
    const char *const *argv, *const *env; /* as in nm_submit; argv NULL: what it had, both */
    const struct nm_blob *blob;           /* in the place of what is kept with it; NULL: that */
};
int nm_manager_rerun(struct nm_manager *m, const char *owner, const char *id, const struct nm_rerun *rerun,
                     struct nm_problem *ret_problem);

/* `ask` is called with each container of this owner that has ended by itself while it ran, before anybody hears of
 * that, with its exit_reason and exit_code: nm_manager_rerun() makes the end none. There is one such owner. NULL: no
 * longer. */
void nm_manager_ask_at_end(struct nm_manager *m, const char *owner,
                           void (*ask)(const struct nm_container *c, void *userdata), void *userdata);

/* The owner has told whoever had to know how a container with keep_result ended. Twice is no error. */
int nm_manager_acknowledge(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem);

/* All of the owner's that are known, those that live first, each kind in the order in which it came to be: after
 * nm_manager_new(), what an earlier nmd has left. */
void nm_manager_foreach_of(struct nm_manager *m, const char *owner,
                           void (*cb)(const struct nm_container *c, void *userdata), void *userdata);
