/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A manager without containers behind it: rows that a test puts in, the same filtering by caller,
 * and events on demand. It stands where agent/manager/ would be linked, so that the HTTP server
 * can be driven alone.
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
    struct nm_event_record ring[FAKE_RING]; /* number n is at n % FAKE_RING */
    uint64_t last_event;
    nm_event_cb_t cb;
    void *cb_userdata;
    struct nm_status status;
    json_t *details;     /* the upstream's own part of the status, for administrators; or NULL: an empty one */
    bool details_with_users; /* as it was asked for last */
    json_t *placement;   /* the one that there is, for administrators; or NULL */
    json_t *of_upstream; /* its other answers by path, whatever is asked beside that; or NULL */
    char asked[200];              /* the last that it was asked: path, id, state, user, whether with users */
    struct nm_history *history;
    struct nm_ended_app ended_app; /* name "": none */
    struct nm_config *config;
    const char *log_dir;
    bool log_is_strange, times_are_strange;
    uint64_t slow_usec;       /* nm_manager_foreach() takes so long */
    unsigned n_listed;        /* how often it was called */
    struct nm_caller caller;  /* who asked last */
    char last_id[NM_ID_SIZE]; /* of what */
    bool last_now, last_until_restart;
    unsigned n_done;          /* how many things it has done, sessions aside */
    uint64_t last_u64;
    uint32_t last_u32;
    int client_fd;            /* of the command that waits to begin, or -EBADF */
    bool had_input;           /* the newest container came with a connection for its standard input */
    uint16_t rows, columns;   /* and a terminal of that size */
    char exec_words[128];     /* what was asked for last */
    struct nm_problem refusal; /* answered to every request while outcome isn't 0 */
};

struct nm_manager *fake_manager_new(void);
struct nm_manager *fake_manager_free(struct nm_manager *m);

/* A container named `name` with id container_1_<n>, in arrival order. It is in the state RUNNING. NULL: no memory. */
struct nm_container *fake_manager_add(struct nm_manager *m, const char *name, uid_t uid);
/* Changes its state and tells the subscriber. */
void fake_manager_set_state(struct nm_manager *m, struct nm_container *c, enum nm_state to);
/* A NODE event. */
void fake_manager_note(struct nm_manager *m, const char *text);
