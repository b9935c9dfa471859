/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Prepares the files that a container needs before it can run: its directories, its resources, the file with its
 * tokens, and the script that runs its command. Removes the files when the container has ended. All of these files
 * belong to the container's user, who can replace any of them. So nmd doesn't follow links when it opens the files.
 * nmd uses its root rights on these files only for operations that this user could do as well.
 *
 *   LOCAL-DIR/usercache/SUBMITTER/appcache/APPLICATION/CONTAINER   the working directory, in one local directory
 *   LOCAL-DIR/usercache/SUBMITTER/appcache/APPLICATION             in each LOCAL-DIR; output/ holds MapReduce's outputs
 *   LOG-DIR/APPLICATION/CONTAINER                                  in each LOG-DIR; the container uses one of them
 *
 * As in Hadoop, the directories are named after the application's submitter. If containers run as another user
 * (nm_yarn_launcher_user()), the directories belong to that user.
 */

#include <systemd/sd-event.h>

#include "rpc/hadoop/arena.h"
#include "yarn/conf/settings.h"
#include "yarn/containers.pb-c.h"
#include "yarn/launch/rate.h"

struct nm_yarn_launcher;
struct nm_yarn_preparation;

struct nm_yarn_launcher_params {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    const char *localizer_program; /* nm-localizer's path; copied */
    const char *shim_program;      /* nm-shim's absolute path; without it, containers get no directory.info */
    const char *state_dir;         /* nmd's state directory */
    void (*report_cb)(int level, const char *sentence);
    /* Records an event of the node, and logs it. May be NULL. */
    void (*on_event)(int level, const char *sentence, void *userdata);
    void *userdata;
};

/* *ret_message: the reason for a failure, or NULL. */
int nm_yarn_launcher_new(const struct nm_yarn_launcher_params *params, struct nm_yarn_launcher **ret,
                         char **ret_message);
/* Checks whether nm_yarn_launcher_new() would fail, without side effects. */
int nm_yarn_launcher_check(const struct nm_yarn_settings *s, const char *localizer_program,
                           void (*report_cb)(int level, const char *sentence), char **ret_message);
/* All preparations must have been freed. */
struct nm_yarn_launcher *nm_yarn_launcher_free(struct nm_yarn_launcher *l);
NM_DEFINE_CLEANUP(struct nm_yarn_launcher *, nm_yarn_launcher_free)

/* ---- before submission ---- */

/* Returns the name of the user that containers of this submitter run as, which the caller frees. The user must exist,
 * and is root only if nmd's configuration allows it. -EINVAL: no user is allowed; *ret_message is a text for the
 * application. */
int nm_yarn_launcher_user(struct nm_yarn_launcher *l, const char *submitter, char **ret, char **ret_message);

/* The local directory and the log directory of a container. */
struct nm_yarn_container_dirs {
    const char *local_dir, *log_dir; /* owned by the settings, and valid as long as the settings exist */
};

/* Chooses the container's directories. -ENOSPC and *ret_message: no directory is good. */
int nm_yarn_launcher_choose_dirs(struct nm_yarn_launcher *l, struct nm_yarn_container_dirs *ret, char **ret_message);

/* Chooses other directories for a container whose preparation has failed, in place of the directories that caused the
 * failure. The container must not be running. -ENOENT: no directory has caused the failure, or no other directory is
 * good. */
int nm_yarn_launcher_choose_other_dirs(struct nm_yarn_launcher *l, const struct nm_yarn_preparation *p,
                                       struct nm_yarn_container_dirs *ret);

/* Returns true if enough directories are good. If false, the node is unhealthy. report: a list of the directories that
 * are not good, also if the node is healthy. It is cut off if `size` is too small. "": all directories are good. */
bool nm_yarn_launcher_is_healthy(struct nm_yarn_launcher *l, char *report, size_t size);
/* Checks the directories now, for instance because a disk may be back. */
void nm_yarn_launcher_recheck_dirs(struct nm_yarn_launcher *l);
/* Returns true if the last check found a good local directory and a good log directory. Without both, no container can
 * start. */
bool nm_yarn_launcher_has_good_dirs(const struct nm_yarn_launcher *l);

/* Return the path of the container's working directory or of its log directory, which the caller frees. NULL: no
 * memory. */
char *nm_yarn_work_dir(const char *local_dir, const char *submitter, const char *application, const char *container);
char *nm_yarn_log_dir(const char *log_dir, const char *application, const char *container);

/* Returns the command of the container's process. It is bash with the script's name relative to the working directory
 * (nm_submit.workdir). If the retry context requires it, a loop in bash repeats the script. The array is
 * NULL-terminated and in the arena. NULL: no memory. */
const char *const *nm_yarn_launcher_command(const Yarn__LaunchContext *context, struct nm_arena *arena);

/* ---- preparation ---- */

/* The GPUs that a container may use, for its environment. */
struct nm_yarn_gpu_set {
    bool is_set;     /* false: this node has no GPUs, and the environment gets no variables for them */
    bool isolated;   /* the container can't open the other GPUs */
    uint8_t indexes[NM_YARN_GPUS_MAX];
    size_t n;
};

/* The preparation copies the strings. The context must live until the container has ended. */
struct nm_yarn_task {
    const char *application, *container; /* ids as text */
    const char *user, *submitter;        /* the account that runs the container; the application's owner */
    struct nm_yarn_container_dirs dirs;
    const Yarn__LaunchContext *context;
    const char *node_host;
    int32_t node_port, web_port;
    Yarn__Data *const *services; /* data of the auxiliary services, for the variables NM_AUX_SERVICE_name */
    size_t n_services;
    struct nm_yarn_gpu_set gpus;
};

/* `ended` is called once, but never from within nm_yarn_launcher_prepare(). It may free the preparation. `result` is 0,
 * or -errno with `message`, a sentence for the application. `progress` must not free the preparation. */
struct nm_yarn_preparation_listener {
    void (*progress)(struct nm_yarn_preparation *p, const char *text, void *userdata);
    void (*ended)(struct nm_yarn_preparation *p, int result, const char *message, void *userdata);
    void *userdata;
};

int nm_yarn_launcher_prepare(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                             const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret);
/* Keeps the resources of a container that an earlier nmd has prepared, and that may be running. They are kept in every
 * local directory that has them. Nothing is fetched. If this fails, the launcher removes no resources any more. */
int nm_yarn_launcher_retain(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                            const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret);
/* Fetches the resources of the task's context for the next run of a running container. */
int nm_yarn_launcher_fetch(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                           const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret);
/* Adds resources to a running container. Uses only the resources of the task's context. When the resources are
 * available, the launcher links them into the working directory, and replaces files of the same names. */
int nm_yarn_launcher_localize(struct nm_yarn_launcher *l, const struct nm_yarn_task *task,
                              const struct nm_yarn_preparation_listener *listener, struct nm_yarn_preparation **ret);
/* Releases the container's resources. Must be called when the container has ended or will not run. */
struct nm_yarn_preparation *nm_yarn_preparation_free(struct nm_yarn_preparation *p);
NM_DEFINE_CLEANUP(struct nm_yarn_preparation *, nm_yarn_preparation_free)

/* Returns the state of the i-th resource: 1 pending, 2 completed, 3 failed with *ret_why. */
int32_t nm_yarn_preparation_state(const struct nm_yarn_preparation *p, size_t i, const char **ret_why);

/* Removes unused files. Must be called after a restart of nmd, after nm_yarn_launcher_retain() for all containers that
 * may be running. Removals begin when the resources of these containers are retained. */
void nm_yarn_launcher_allow_removals(struct nm_yarn_launcher *l);
/* Sets who knows the applications of this node. Files of other applications in the local directories are then removed
 * (strays.h). NULL: such files stay. Must be set before nm_yarn_launcher_allow_removals(). */
void nm_yarn_launcher_set_known(struct nm_yarn_launcher *l, bool (*is_known)(const char *application, void *userdata),
                                void *userdata);

/* ---- figures ---- */

/* Figures for monitoring. */
struct nm_yarn_launcher_figures {
    /* Since nmd was started. Resources of containers that began to run: fetched for the container, or already on this
     * host. Each resource counts once for each container. */
    uint64_t n_fetched, n_cached, fetched_bytes, cached_bytes;
    struct nm_yarn_rate localization; /* time until all resources of a container were available */
    /* By the last check. The uses are shares of the disks of all good directories, from 0 to 1. */
    size_t n_bad_local, n_bad_log;
    double local_use, log_use;
};
void nm_yarn_launcher_get_figures(const struct nm_yarn_launcher *l, struct nm_yarn_launcher_figures *ret);

/* ---- after the end ---- */

/* Returns the last output of a failed container: the end of prelaunch.err, and the end of the newest log file that
 * matches stderr_pattern, each with a heading line. The text is in the arena. "": the container has written no
 * output. */
const char *nm_yarn_launcher_diagnostics(struct nm_yarn_launcher *l, const char *log_dir, const char *application,
                                         const char *container, struct nm_arena *arena);
/* Removes the container's working directory after the configured delay. */
void nm_yarn_launcher_end_container(struct nm_yarn_launcher *l, const char *submitter, const char *application,
                                    const char *container);
/* Removes the application's files, and its log files after the configured time, or as nm_yarn_launcher_release_logs()
 * decides. */
void nm_yarn_launcher_end_application(struct nm_yarn_launcher *l, const char *submitter, const char *application);
/* When the logs of an application are removed. */
enum nm_yarn_logs_end {
    NM_YARN_LOGS_BY_TIME, /* after yarn.nodemanager.log.retain-seconds */
    NM_YARN_LOGS_REMOVE,  /* without this delay, because they were uploaded */
    NM_YARN_LOGS_KEEP,    /* never */
};
/* Both as in cleanup-queue.h: the logs of an application are kept while keeps_logs() returns true. */
void nm_yarn_launcher_set_log_keeper(struct nm_yarn_launcher *l,
                                     bool (*keeps_logs)(const char *application, void *userdata), void *userdata);
void nm_yarn_launcher_release_logs(struct nm_yarn_launcher *l, const char *application, enum nm_yarn_logs_end end);
/* nm_yarn_dirs_is_in_place() and nm_yarn_dirs_id() for the i-th directory of yarn.nodemanager.log-dirs. */
int nm_yarn_launcher_has_log_dir(const struct nm_yarn_launcher *l, size_t i);
const char *nm_yarn_launcher_log_dir_id(const struct nm_yarn_launcher *l, size_t i);
/* Keeps the application's view ACL until its logs are removed. Must be called after nm_yarn_launcher_end_application().
 * An ACL of more than 512 bytes is not kept. */
void nm_yarn_launcher_keep_view_acl(struct nm_yarn_launcher *l, const char *application, const char *view_acl);
