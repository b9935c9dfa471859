/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The process of an auxiliary service, which is started again whenever it ends. It is a program like nm-shuffle: it
 * reads lines from its standard input, and reports that it is listening.
 */

#include "agent/upstream.h"
#include "yarn/conf/settings.h"
#include "yarn/launch/shuffle-process.h"

struct nm_yarn_aux_server;

struct nm_yarn_aux_server_params {
    sd_event *event;
    struct nm_manager *manager; /* moves the process to its own cgroup; must outlive the server; NULL: no cgroups */
    const char *name;           /* of the program, for messages */
    const char *helper;         /* name of the cgroup */
    const char *program;        /* the program's path */
    const char *const *options; /* after --listen and --user, NULL-terminated; at most NM_YARN_AUX_OPTIONS_MAX */
    uint64_t most_files;        /* limit of open files */
    bool may_wait;              /* if the first process can't listen, nmd starts nevertheless */
    int64_t port;               /* 0: any free port, the same one at each start */
    int state_fd;               /* directory with the file of the port; must outlive the server */
    void (*report_cb)(int level, const char *sentence);
    /* Called when a process is listening: the owner sends what the process must know. */
    void (*listening)(uint16_t port, void *userdata);
    void *userdata;
};

#define NM_YARN_AUX_OPTIONS_MAX 80u

#define NM_YARN_AUX_LOCAL_DIRS_MAX 64u
/* Adds the local directories of the node behind the first n options, and NULL. */
void nm_yarn_aux_add_local_dirs(const struct nm_yarn_settings *settings, const char **options, size_t n);

/* Creates the server in *server, and starts its process. When the function returns 0, the process is listening, or with
 * may_wait, will be started again until it is. *server is set when listening() is called for the first time, and NULL
 * after a failure. The strings of params must outlive the server. *ret_message: the reason for a failure, or NULL. */
int nm_yarn_aux_server_start(const struct nm_yarn_aux_server_params *params, struct nm_yarn_aux_server **server,
                             char **ret_message);
struct nm_yarn_aux_server *nm_yarn_aux_server_free(struct nm_yarn_aux_server *s);
NM_DEFINE_CLEANUP(struct nm_yarn_aux_server *, nm_yarn_aux_server_free)

/* Sends a line if a process is listening. If no process is listening or sending fails, listening() is called for the
 * next process: a process that can't be written to is killed and restarted. */
void nm_yarn_aux_server_send(struct nm_yarn_aux_server *s, const char *line);

/* Returns the figures since nmd was started, as the process last reported them. Requests new figures, which arrive
 * later: the figures are up to a minute old, or five seconds if the function was called in the last minute. */
void nm_yarn_aux_server_get_figures(struct nm_yarn_aux_server *s, struct nm_yarn_shuffle_figures *ret);

/* Returns the applications that the process has last reported, valid until the next event. */
size_t nm_yarn_aux_server_get_top(const struct nm_yarn_aux_server *s, const struct nm_yarn_shuffle_usage **ret);

/* What a server reports about its process. */
struct nm_yarn_aux_state {
    const char *program;          /* name of the program */
    bool is_up;                   /* a process is listening */
    uint16_t port;
    uint64_t restarts;            /* number of processes that have ended since nmd was started */
    uint64_t since_realtime_usec; /* time since which is_up has its value */
    const char *trouble;          /* why the newest process has ended, or "". Valid until the next event. */
};
void nm_yarn_aux_server_get_state(const struct nm_yarn_aux_server *s, struct nm_yarn_aux_state *ret);

/* Returns the account that runs such processes: a dedicated account, or if it doesn't exist, an account that runs no
 * containers. Containers of the same account could send signals to them. NULL: the account of nmd. */
const char *nm_yarn_aux_account(void);
