/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log aggregation: uploads the logs of the cluster's containers to the remote directory, in processes of the logs'
 * owners (nm-log-uploader), and reports this to the ResourceManager. The logs on this node are removed only after they
 * have been uploaded, or after yarn.nodemanager.log.retain-seconds if the upload was given up. A file in nmd's state
 * directory exists for each application until the ResourceManager has received its last report, so that a restarted nmd
 * continues.
 */

#include <jansson.h>
#include <systemd/sd-event.h>

#include "agent/upstream.h"
#include "rpc/hadoop/arena.h"
#include "yarn/conf/settings.h"
#include "yarn/containers.pb-c.h"
#include "yarn/ids.h"
#include "yarn/launch/launcher.h"
#include "yarn/tracker.pb-c.h"

struct nm_yarn_logs;

struct nm_yarn_logs_params {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_launcher *launcher;
    const char *program;   /* nm-log-uploader's path */
    const char *state_dir; /* nmd's state directory */
    void (*report_cb)(int level, const char *sentence);
    /* Records an event of the node, and logs it. May be NULL. */
    void (*on_event)(int level, const char *sentence, void *userdata);
    void *event_userdata;
    /* Called when the ResourceManager should get a heartbeat with new reports. */
    void (*on_change)(void *userdata);
    void *userdata;
    uint64_t silent_usec; /* a worker that reports nothing for this time is killed; 0: five minutes */
};

static inline bool nm_yarn_logs_are_wanted(const struct nm_yarn_settings *s)
{
    return s->logs.enabled;
}
/* Checks whether nm_yarn_logs_new() would fail, without side effects. */
int nm_yarn_logs_check(const char *program, char **ret_message);
/* All objects that params point to must outlive the result. */
int nm_yarn_logs_new(const struct nm_yarn_logs_params *params, struct nm_yarn_logs **ret, char **ret_message);
struct nm_yarn_logs *nm_yarn_logs_free(struct nm_yarn_logs *l);
NM_DEFINE_CLEANUP(struct nm_yarn_logs *, nm_yarn_logs_free)

/* Sets the node's id. Nothing is uploaded before, because the remote files have this name. */
void nm_yarn_logs_set_address(struct nm_yarn_logs *l, const char *host, int32_t port);

/* ---- containers and applications ---------------------------------------------------------- */

struct nm_yarn_log_container {
    struct nm_yarn_container_id id;
    const char *text;      /* the id as text */
    const char *submitter;
    const char *account;   /* the account that the container runs as; NULL: it has no directory */
    bool is_master;
    struct nm_bytes context; /* the field log_aggregation of its token */
    const Yarn__LaunchContext *launch; /* its access lists are used; may be NULL */
};

/* Adds a container, and its application if necessary. Succeeds if the container is there already. */
void nm_yarn_logs_begin_container(struct nm_yarn_logs *l, const struct nm_yarn_log_container *c);
/* Records that the container has ended with this code. has_run: it may have written logs. */
void nm_yarn_logs_end_container(struct nm_yarn_logs *l, const struct nm_yarn_log_container *c, int32_t exit_code,
                                bool has_run);
/* Records that the application has ended and has no more containers. Its last upload begins. */
void nm_yarn_logs_end_application(struct nm_yarn_logs *l, const struct nm_yarn_application_id *id);
/* Ends the applications that the node no longer has, after a restart of nmd. */
void nm_yarn_logs_end_strays(struct nm_yarn_logs *l,
                             bool (*is_here)(void *userdata, const struct nm_yarn_application_id *id), void *userdata);

/* ---- the ResourceManager ------------------------------------------------------------------ */

int nm_yarn_logs_report(struct nm_yarn_logs *l, struct nm_arena *arena, Yarn__HeartbeatRequest *request);
int nm_yarn_logs_report_all(struct nm_yarn_logs *l, struct nm_arena *arena, Yarn__RegisterRequest *request);
/* Records that the ResourceManager has answered the heartbeat. */
void nm_yarn_logs_reported(struct nm_yarn_logs *l);

/* ---- status ------------------------------------------------------------------------------- */

#define NM_YARN_LOGS_SHOWN_MAX 100u
/* Returns a new reference to an object. NULL: no memory. with_users: the viewer may see the users and the errors of all
 * applications. At most NM_YARN_LOGS_SHOWN_MAX applications are listed. */
json_t *nm_yarn_logs_to_json(const struct nm_yarn_logs *l, bool with_users);
void nm_yarn_logs_write_metrics(const struct nm_yarn_logs *l, const struct nm_metric_writer *w);
