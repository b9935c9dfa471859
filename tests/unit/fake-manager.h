/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A manager without real containers. A test adds the rows and emits the events. The rows are filtered by caller as in
 * the real manager. This manager is linked instead of the rooms of agent/, so that tests can drive the HTTP server
 * alone.
 */

#include "agent/daemon.h"
#include "agent/owners.h"
#include "agent/status.h"
#include "agent/upstream.h"

#define FAKE_RING 100

struct nm_manager {
    struct nm_container **containers;
    size_t n_containers;
    struct nm_decision decisions[4];
    size_t n_decisions;
    struct nm_event_record ring[FAKE_RING]; /* event number n is at n % FAKE_RING */
    uint64_t last_event;
    nm_event_cb_t cb;
    void *cb_userdata;
    struct nm_status status;
    json_t *details;         /* the upstream's own part of the status, for administrators; NULL: an empty object */
    bool details_with_users; /* with_users of the last request for details */
    json_t *placement;       /* the only placement, for administrators; NULL if there is no placement */
    json_t *of_upstream;     /* the upstream's other answers by path; the other parameters of a request are ignored; may
                                be NULL */
    int (*page)(const struct nm_upstream_query *q, struct nm_upstream_page *ret); /* NULL: there are no pages */
    char last_query[200];    /* last request to the upstream: path, id, state, user, with_users */
    struct nm_history *history;
    struct nm_ended_app ended_app; /* the only ended application; name "": no application has ended */
    struct nm_config *config;
    const char *log_dir;
    bool log_is_strange, times_are_strange;
    uint64_t slow_usec;       /* how long nm_manager_foreach() takes */
    unsigned n_listed;        /* number of calls of nm_manager_foreach() */
    struct nm_caller caller;  /* caller of the last request */
    char last_id[NM_ID_SIZE]; /* container or verb of the last request */
    bool last_now, last_until_restart;
    unsigned n_done;          /* number of requests that succeeded, except exec */
    uint64_t last_u64;
    uint32_t last_u32;
    int client_fd;            /* connection of the exec that waits to begin, or -EBADF */
    bool had_input;           /* the newest container has a connection as standard input */
    uint16_t rows, columns;   /* size of the newest container's terminal */
    char exec_words[128];     /* last request to execute a command */
    struct nm_problem refusal; /* the answer to every request, unless refusal.outcome is 0 */
};

struct nm_manager *fake_manager_new(void);
struct nm_manager *fake_manager_free(struct nm_manager *m);

/* Adds a RUNNING container with this name. Its id is container_1_<n>, in arrival order. Returns NULL if an allocation
 * fails. */
struct nm_container *fake_manager_add(struct nm_manager *m, const char *name, uid_t uid);
/* Changes the container's state and calls the subscriber. */
void fake_manager_set_state(struct nm_manager *m, struct nm_container *c, enum nm_state to);
/* Emits a NODE event. */
void fake_manager_note(struct nm_manager *m, const char *text);
