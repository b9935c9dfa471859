/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a caller (the local socket) may ask of the manager. Requests come in with who asks; answers are plain structs.
 * Everything runs in the event loop's thread. The other audiences have headers of their own: owners.h for who submits
 * from inside this process, upstream.h for who speaks with a cluster, status.h for what there is to see, daemon.h for
 * the program that puts all together.
 */

#include "agent/caller.h"
#include "agent/container.h"

/* Strings are the caller's and only read. NULL or 0 = not given. */
struct nm_submit {
    enum nm_execution_type type;
    const char *name, *app;  /* the name: none that a live one has which the same user has submitted by the same owner,
                                unless there is an id as well */
    uint64_t memory_bytes;
    uint32_t vcores_milli;
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated, or NULL */
    const char *workdir, *user;
    uint64_t min_runtime_usec;
    uint64_t expected_usec;
    bool exempt;             /* application master: administrators only */
    bool allow_new_privs;    /* administrators only */
    const char *owner;       /* "local" */
    const char *id;          /* the owner's own, which no container has that is still known; NULL: one of nmd's */
    struct nm_blob blob;     /* the owner's as well: journalled with the container, for as long as that lives or is kept
                                for the owner */
    const char *log_dir;     /* of the owner's, absolute and without links: in it the command itself writes the plain
                                files "stdout" and "stderr", as its user. They are what nm_manager_open_log()
                                opens; nmd neither makes, shortens nor deletes what is in there */
    bool cpu_is_share;       /* while it is guaranteed, it is promised its memory only: its CPU is a share of what there
                                is, by weight, and no reason to refuse it or to let it wait */
    bool prepare;            /* it is NEW until nm_manager_prepared() */
    bool replace;            /* see nm_manager_replace_begin() */
    bool keep_result;        /* how it ended is kept until nm_manager_acknowledge(), whatever else is forgotten */
    int input_fd;            /* a connection that carries its standard input (util/frame.h), which stays the caller's;
                                0: none. It isn't kept over a restart of nmd while the container waits */
    uint16_t rows, columns;  /* of a terminal that it is given, with input_fd only: whoever is there uses it; 0: none */
};

/* All: 0, a positive nm_agent_outcome with *ret_problem filled, or -errno. `id` is an id, or a name
 * that is unique among the live containers that the caller may see (else the newest ended one of
 * that name). */
int nm_manager_submit(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                      const struct nm_container **ret, struct nm_problem *ret_problem);
/* The first half of a submission with `replace`, which takes the name over: if everything else speaks for it, the live
 * container that has the name is ended as nm_manager_kill() does it. ret_id: that one's, whose end is to be waited for;
 * "": the name is free, so that it can be submitted. */
int nm_manager_replace_begin(struct nm_manager *m, const struct nm_caller *who, const struct nm_submit *s,
                             char ret_id[NM_ID_SIZE], struct nm_problem *ret_problem);
int nm_manager_pause(struct nm_manager *m, const struct nm_caller *who, const char *id,
                     struct nm_problem *ret_problem);
int nm_manager_resume(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
/* now: SIGKILL at once, else SIGTERM and after the grace period SIGKILL. */
int nm_manager_kill(struct nm_manager *m, const struct nm_caller *who, const char *id, bool now,
                    struct nm_problem *ret_problem);

/* Another command in a container that runs: in its cgroup, with its user, directory, environment and namespaces. */
struct nm_exec {
    const char *const *argv; /* NULL-terminated, at least one */
    const char *const *env;  /* "NAME=value", NULL-terminated, or NULL: on top of the container's */
    bool input;              /* what comes over the connection is its standard input, which else is empty */
    uint16_t rows, columns;  /* of the terminal that it is given; 0: none */
};
/*
 * Makes ready what runs it and speaks over client_fd from then on (util/frame.h); the descriptor itself stays the
 * caller's. nm_manager_exec_begin() lets it begin, or nm_manager_exec_drop() gives it up, with that number. Whether it
 * is still there by then is no matter.
 */
int nm_manager_exec(struct nm_manager *m, const struct nm_caller *who, const char *id, const struct nm_exec *e,
                    int client_fd, uint64_t *ret_number, struct nm_problem *ret_problem);
void nm_manager_exec_begin(struct nm_manager *m, uint64_t number);
void nm_manager_exec_drop(struct nm_manager *m, uint64_t number);
/* Of what has ended: its record and its logs go. */
int nm_manager_remove(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
int nm_manager_promote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                       struct nm_problem *ret_problem);
int nm_manager_demote(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      struct nm_problem *ret_problem);
/* memory_bytes and vcores_milli: 0 = leave. */
int nm_manager_update(struct nm_manager *m, const struct nm_caller *who, const char *id,
                      uint64_t memory_bytes, uint32_t vcores_milli, struct nm_problem *ret_problem);
struct nm_drain_order {
    uint64_t deadline_usec;  /* from now; what still lives then is killed. UINT64_MAX: never */
    bool kill_opportunistic; /* those at once */
    bool until_restart;      /* nm_manager_leave() ends it; else nm_manager_undrain() alone */
};
/* Administrators only. No admissions from now on. Draining again changes the deadline; a drain that wasn't until a
 * restart doesn't become such a one. */
int nm_manager_drain(struct nm_manager *m, const struct nm_caller *who, const struct nm_drain_order *order,
                     struct nm_problem *ret_problem);
int nm_manager_undrain(struct nm_manager *m, const struct nm_caller *who,
                       struct nm_problem *ret_problem);
/* Opportunistic admissions go on at once, though containers were killed for want of room a moment ago. Also fine
 * if nothing held them. */
int nm_manager_close_breaker(struct nm_manager *m, const struct nm_caller *who,
                             struct nm_problem *ret_problem);
/* To be called when nmd was told to end, before nm_manager_free(): nothing is admitted any more, and a drain that holds
 * until nmd ends is forgotten. */
void nm_manager_leave(struct nm_manager *m);
/* SIGHUP or an administrator's request: reads the configuration files anew. Refused whole on any
 * error. */
int nm_manager_reload(struct nm_manager *m, struct nm_problem *ret_problem);
