/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The manager's interface for callers, that is, clients of the local socket. Each request names its caller; answers are
 * plain structs. All functions run in the event loop's thread. Other users of the manager have other headers: owners.h
 * is for the parts of nmd that submit containers, upstream.h for the parts that connect to a cluster, status.h for the
 * parts that show the node's state, and daemon.h for the program that creates the manager.
 */

#include "agent/caller.h"
#include "agent/container.h"

/* A request for a new container. The caller owns the strings; the manager only reads them. NULL or 0 = not given. */
struct nm_submit {
    enum nm_execution_type type;
    const char *name, *app;  /* name: without `id`, the name must not be in use by a live container of the same user and
                                owner */
    uint64_t memory_bytes;
    uint32_t vcores_milli;
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated, or NULL */
    const char *workdir, *user;
    uint64_t min_runtime_usec;
    uint64_t expected_usec;
    bool exempt;             /* application master, never a victim; only administrators may set this */
    bool allow_new_privs;    /* only administrators may set this */
    const char *owner;       /* the submitting part of nmd: "local" or an upstream's name */
    const char *id;          /* id for the new container, chosen by the owner and not used by a known container; NULL:
                                nmd makes an id */
    struct nm_blob blob;     /* opaque data of the owner, journalled for as long as the container is known */
    const char *log_dir;     /* the owner's directory, absolute and without symbolic links, or NULL. The command, as its
                                user, writes the plain files "stdout" and "stderr" there, which nm_manager_open_log()
                                opens. nmd never creates, truncates or deletes files in this directory */
    bool cpu_is_share;       /* a guaranteed container is promised its memory only. Its CPU is a share by weight, so a
                                lack of CPU neither refuses nor delays the container */
    bool prepare;            /* the container stays NEW until nm_manager_prepared() */
    bool replace;            /* the name is taken over from a live container: see nm_manager_replace_begin() */
    bool keep_result;        /* keep the result until nm_manager_acknowledge(), even if other ended containers are
                                dropped */
    int input_fd;            /* connection that carries the standard input (util/frame.h), owned by the caller; 0: the
                                input is empty. A container that is still queued loses its input when nmd restarts */
    uint16_t rows, columns;  /* size of the terminal that the command gets, only with input_fd; the attached user uses
                                the terminal; 0: the command gets no terminal */
};

/* All functions below return 0, a positive nm_agent_outcome with *ret_problem filled, or -errno. `id` is an id or a
 * name. A name selects the live container of that name that the caller may see, provided that there is only one such
 * container. Without a live container of that name, the name selects the newest ended container. */
int nm_manager_submit(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                      const struct nm_container **ret, struct nm_problem *ret_problem);
/* Begins a submission with `replace`, which takes a name over from a live container. If the submission is valid
 * otherwise, kills the container that has the name, as nm_manager_kill() does. *ret_id is the id of the killed
 * container, and the caller must wait for that container's end before it submits. If *ret_id is "", the name is free
 * and the caller can submit immediately. */
int nm_manager_replace_begin(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                             char ret_id[NM_ID_SIZE], struct nm_problem *ret_problem);
int nm_manager_pause(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_problem *ret_problem);
int nm_manager_resume(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
/* Kills a container. now: sends SIGKILL immediately; otherwise sends SIGTERM, and SIGKILL after the grace period. */
int nm_manager_kill(struct nm_manager *m, const struct nm_caller *who, const char *id, bool now,
                    struct nm_problem *ret_problem);

/* Another command for a running container. The command runs in the container's cgroup, with the user, working
 * directory, environment and namespaces of the container. */
struct nm_exec {
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated, or NULL: added to the container's environment */
    /* the connection carries the command's standard input; otherwise the standard input is empty */
    bool input;
    uint16_t rows, columns;  /* size of the command's terminal; 0 if the command has no terminal */
};
/*
 * Prepares a session for the command. The session communicates over client_fd (util/frame.h); the caller keeps
 * ownership of the descriptor. Sets *ret_number, the argument of nm_manager_exec_begin(), which starts the command, and
 * of nm_manager_exec_drop(), which cancels the session. The caller must call one of the two. Both have no effect if the
 * session has ended in the meantime.
 */
int nm_manager_exec(struct nm_manager *m, const struct nm_caller *who, const char *id, const struct nm_exec *e,
                    int client_fd, uint64_t *ret_number, struct nm_problem *ret_problem);
void nm_manager_exec_begin(struct nm_manager *m, uint64_t number);
void nm_manager_exec_drop(struct nm_manager *m, uint64_t number);
/* Deletes the record and the logs of an ended container. */
int nm_manager_remove(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
int nm_manager_promote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       struct nm_problem *ret_problem);
int nm_manager_demote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
/* memory_bytes and vcores_milli: 0 leaves the value as it is. */
int nm_manager_update(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      uint64_t memory_bytes, uint32_t vcores_milli, struct nm_problem *ret_problem);
struct nm_drain_order {
    uint64_t deadline_usec;  /* time from now after which live containers are killed. UINT64_MAX: no deadline */
    bool kill_opportunistic; /* kill opportunistic containers immediately */
    bool until_restart;      /* nm_manager_prepare_exit() ends the drain; otherwise only nm_manager_undrain() does */
};
/* Stops admissions. Only administrators may start a drain. A second call changes the deadline, but it can't turn a
 * permanent drain into a drain that ends at a restart. */
int nm_manager_drain(struct nm_manager *m, const struct nm_caller *who, const struct nm_drain_order *order,
                     struct nm_problem *ret_problem);
int nm_manager_undrain(struct nm_manager *m, const struct nm_caller *who,
                       struct nm_problem *ret_problem);
/* Closes the breaker, which stops opportunistic admissions after recent kills for lack of resources. Admissions are
 * allowed again immediately. Also succeeds if the breaker does not stop admissions. */
int nm_manager_close_breaker(struct nm_manager *m, const struct nm_caller *who,
                             struct nm_problem *ret_problem);
/* Prepares the end of nmd; call this function before nm_manager_free(). Stops admissions and ends a drain that lasts
 * only until a restart. */
void nm_manager_prepare_exit(struct nm_manager *m);
/* Reads the configuration files again, after SIGHUP or at an administrator's request. On any error the whole new
 * configuration is refused. */
int nm_manager_reload(struct nm_manager *m, struct nm_problem *ret_problem);
