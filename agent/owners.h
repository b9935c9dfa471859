/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What an owner may ask of the manager for the containers that it has submitted. */

#include "agent/agent.h"

/*
 * The part of this process that submits a container (the local socket, an upstream) owns it, under the name that it
 * gave in nm_submit.owner. An owner may do more to its containers than the people who use them. `id` is the whole id of
 * one of them; the container of another owner is not found. An owner hears of each change of state through
 * nm_manager_subscribe(), with the container: the first is from NEW to NEW, the last to COMPLETED. Containers that were
 * there before are listed by nm_manager_foreach_of().
 */

struct nm_end {
    int32_t code;        /* why, in the owner's own numbers, not 0: owner_code of the container, also after a restart */
    const char *message; /* one sentence for people, or NULL */
    bool now;            /* SIGKILL at once, else SIGTERM and after the grace period SIGKILL */
};
/* Ends a container. If it is being killed already, the reason given first stays, and only `now` has an effect. */
int nm_manager_end(struct nm_manager *m, const char *owner, const char *id, const struct nm_end *e,
                   struct nm_problem *ret_problem);

/* Sends a signal to each process of a running container. Nothing is recorded, and SIGTERM begins no grace period: what
 * the processes do then is noticed when it happens. A container that is being killed gets the signal until its grace
 * period is over; for one that waits or is paused the answer is NM_AGENT_E_CONFLICT. SIGKILL kills it in any state. */
int nm_manager_signal(struct nm_manager *m, const char *owner, const char *id, int signo,
                      struct nm_problem *ret_problem);

/* Changes type, size and blob as nm_manager_promote(), _demote(), _update() and _set_blob() do. Either all that is
 * given is changed or, if any part is refused, nothing. NULL and 0 leave a value as it is. */
struct nm_change {
    const enum nm_execution_type *type;
    uint64_t memory_bytes;
    uint32_t vcores_milli;
    const struct nm_blob *blob;
};
int nm_manager_change(struct nm_manager *m, const char *owner, const char *id, const struct nm_change *c,
                      struct nm_problem *ret_problem);

/* Replaces the blob that nm_submit gave, or removes it (0 bytes). The new one is journalled. */
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

/* The manager calls `ask` with each container of this owner that ended by itself while it ran, with its exit_reason and
 * exit_code, before anybody hears of the end. If `ask` calls nm_manager_rerun(), the container runs again and nobody
 * hears of it. One owner at a time can have this; NULL ends it. */
void nm_manager_ask_at_end(struct nm_manager *m, const char *owner,
                           void (*ask)(const struct nm_container *c, void *userdata), void *userdata);

/* The owner needs the result of a container with keep_result no longer, since it has passed it on. To acknowledge twice
 * is no error. */
int nm_manager_acknowledge(struct nm_manager *m, const char *owner, const char *id, struct nm_problem *ret_problem);

/* Calls cb with all known containers of the owner: first those that live, then those that have ended, each in the order
 * of arrival. After nm_manager_new() these are the ones that an earlier nmd has left. */
void nm_manager_foreach_of(struct nm_manager *m, const char *owner,
                           void (*cb)(const struct nm_container *c, void *userdata), void *userdata);
