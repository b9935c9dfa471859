/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Makes ready what a container needs before it can run: its directories, the resources that it names, the file of its
 * tokens and the script that is its command; and clears away what is left when it has ended. All of that belongs to the
 * container's user and lies where that user can put anything in its place: so nothing is opened through a link, and
 * nothing is done as root that this user couldn't do.
 *
 *   LOCAL-DIR/usercache/SUBMITTER/appcache/APPLICATION/CONTAINER   the working directory, in one of them
 *   LOCAL-DIR/usercache/SUBMITTER/appcache/APPLICATION             in each; MapReduce's outputs lie in its output/
 *   LOG-DIR/APPLICATION/CONTAINER                                  in each; one is the container's own
 *
 * As in Hadoop, directories have the name of who submitted the application, also where its containers run as somebody
 * else (nm_yarn_launcher_user()), whose they are then.
 */

#include <systemd/sd-event.h>

#include "rpc/hadoop/arena.h"
#include "yarn/conf/settings.h"
#include "yarn/containers.pb-c.h"

struct nm_yarn_launcher;
struct nm_yarn_preparation;

struct nm_yarn_launcher_params {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    const char *localizer_program; /* nm-localizer's path */
    const char *state_dir;         /* nmd's */
    void (*tell)(int level, const char *sentence);
    /* Records an event of the node, and logs it. May be NULL. */
    void (*happened)(int level, const char *sentence, void *userdata);
    void *userdata;
};

/* *ret_message: why not, or NULL. */
int nm_yarn_launcher_new(const struct nm_yarn_launcher_params *params, struct nm_yarn_launcher **ret,
                         char **ret_message);
/* Would it be refused? Nothing is made. */
int nm_yarn_launcher_check(const struct nm_yarn_settings *s, const char *localizer_program,
                           void (*tell)(int level, const char *sentence), char **ret_message);
/* All preparations have been freed. */
struct nm_yarn_launcher *nm_yarn_launcher_free(struct nm_yarn_launcher *l);
NM_DEFINE_CLEANUP(struct nm_yarn_launcher *, nm_yarn_launcher_free)

/* ---- before it is submitted ----------------------------------------------------------------------------------- */

/* As whom a container of this submitter's runs: the name's owner must exist, and is root only if nmd's configuration
 * says so. -EINVAL and *ret_message, as the application is to see it. The caller frees *ret. */
int nm_yarn_launcher_user(struct nm_yarn_launcher *l, const char *submitter, char **ret, char **ret_message);

/* Where it is to be. -ENOSPC and *ret_message: no directory is good. */
struct nm_yarn_place {
    const char *local_dir, *log_dir; /* of the settings: they last as long as those */
};
int nm_yarn_launcher_place(struct nm_yarn_launcher *l, struct nm_yarn_place *ret, char **ret_message);

/* Chooses other directories for a container whose preparation (not is_running) has failed, in place of those that
 * caused the failure. -ENOENT: no directory has caused it, or no other one is good. */
int nm_yarn_launcher_place_elsewhere(struct nm_yarn_launcher *l, const struct nm_yarn_preparation *p,
                                     struct nm_yarn_place *ret);

/* Are there directories enough? False, and why: the node is unhealthy. */
bool nm_yarn_launcher_is_healthy(struct nm_yarn_launcher *l, char *why, size_t size);
/* Has the last look left a directory of each kind? Without one no container can start. */
bool nm_yarn_launcher_has_place(const struct nm_yarn_launcher *l);

/* Its working directory, and its own directory of logs; the caller frees them. NULL: no memory. */
char *nm_yarn_work_dir(const char *local_dir, const char *submitter, const char *application, const char *container);
char *nm_yarn_log_dir(const char *log_dir, const char *application, const char *container);

/* What its process is: bash with the script, which is named as it stands in the working directory (nm_submit.workdir);
 * and again as often as its retry context has it. NULL-terminated, in the arena. NULL: no memory. */
const char *const *nm_yarn_launcher_command(const Yarn__LaunchContext *context, struct nm_arena *arena);

/* ---- making it ready ------------------------------------------------------------------------------------------ */

/* Strings are copied; the context must last until it has ended. */
struct nm_yarn_task {
    const char *application, *container; /* their texts */
    const char *user, *submitter;        /* as whom it runs (nm_yarn_launcher_user()); whose it is */
    struct nm_yarn_place place;
    const Yarn__LaunchContext *context;
    const char *node_host;
    int32_t node_port, web_port;
    Yarn__Data *const *services; /* for NM_AUX_SERVICE_name */
    size_t n_services;
};

/* `ended` comes once, never from within nm_yarn_launcher_prepare(), and may free the preparation; result is 0, or
 * -errno and a sentence for the application. `progress` may not free it. */
struct nm_yarn_preparation_listener {
    void (*progress)(struct nm_yarn_preparation *p, const char *text, void *userdata);
    void (*ended)(struct nm_yarn_preparation *p, int result, const char *message, void *userdata);
    void *userdata;
};

/* is_running: it runs already (nmd was started anew): only its resources are asked for, so that they are kept. */
int nm_yarn_launcher_prepare(struct nm_yarn_launcher *l, const struct nm_yarn_task *task, bool is_running,
                             const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret);
/* It runs, and wants more: of the task's context only the resources are heeded. They are linked into its working
 * directory when they are there, in the place of those that had their names. */
int nm_yarn_launcher_localize(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                              const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret);
/* Once the container has ended, or is not to be: gives its resources back. */
struct nm_yarn_preparation *nm_yarn_preparation_free(struct nm_yarn_preparation *p);
NM_DEFINE_CLEANUP(struct nm_yarn_preparation *, nm_yarn_preparation_free)

/* How it stands with its i-th resource: 1 pending, 2 completed, 3 failed, and then why. */
int32_t nm_yarn_preparation_state(const struct nm_yarn_preparation *p, size_t i, const char **ret_why);

/* After a restart, when all that run have been prepared again. */
void nm_yarn_launcher_tidy(struct nm_yarn_launcher *l);

/* ---- afterwards ----------------------------------------------------------------------------------------------- */

/* What a container that failed has said: the end of prelaunch.err and of its newest *stderr*, for people, with a line
 * above each. In the arena; "" when there is nothing. */
const char *nm_yarn_launcher_diagnostics(struct nm_yarn_launcher *l, const char *log_dir, const char *application,
                                         const char *container, struct nm_arena *arena);
/* Which files its logs are: those of the first 200 names that are regular files', an array; empty if there are none or
 * they can't be seen. NULL: no memory. */
json_t *nm_yarn_launcher_log_files(struct nm_yarn_launcher *l, const char *log_dir, const char *application,
                                   const char *container);
/* Its working directory is removed, some time after its end. */
void nm_yarn_launcher_end_container(struct nm_yarn_launcher *l, const char *submitter, const char *application,
                                    const char *container);
/* All that is left of it but its logs, and these when they have been kept for as long as they are to be. */
void nm_yarn_launcher_end_application(struct nm_yarn_launcher *l, const char *submitter, const char *application);
