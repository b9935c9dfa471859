/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The auxiliary service mapreduce_shuffle. It keeps an nm-shuffle process running, and sends the list of jobs to each
 * new nm-shuffle process. nm-shuffle(8) describes the input lines.
 */

#include <systemd/sd-event.h>

#include "agent/upstream.h"
#include "rpc/hadoop/bytes.h"
#include "yarn/conf/native-services.h"
#include "yarn/conf/settings.h"
#include "yarn/launch/shuffle-process.h"

#define NM_YARN_SHUFFLE_PORT "mapreduce.shuffle.port"

struct nm_yarn_shuffle;

struct nm_yarn_shuffle_params {
    sd_event *event;
    struct nm_manager *manager; /* moves nm-shuffle to its own cgroup; must outlive the service */
    const struct nm_yarn_settings *settings;
    const char *program;   /* nm-shuffle's path */
    const char *state_dir; /* nmd's state directory, which contains the files of the jobs */
    void (*report_cb)(int level, const char *sentence);
};

/* Returns whether the configuration lists the service, and it does not run in Java. */
bool nm_yarn_shuffle_is_wanted(const struct nm_yarn_settings *s);
/* Starts the service. When this function returns 0, nm-shuffle is listening. *ret_message: the reason for a failure, or
 * NULL. */
int nm_yarn_shuffle_new(const struct nm_yarn_shuffle_params *params, struct nm_yarn_shuffle **ret, char **ret_message);
/* Checks the program and the port without starting nm-shuffle. may_be_ours: as in port.h. */
int nm_yarn_shuffle_check(const struct nm_yarn_settings *s, const char *program, bool may_be_ours, char **ret_message);
struct nm_yarn_shuffle *nm_yarn_shuffle_free(struct nm_yarn_shuffle *s);
NM_DEFINE_CLEANUP(struct nm_yarn_shuffle *, nm_yarn_shuffle_free)

/* Returns the metadata that reducers need: the port as four bytes. */
struct nm_bytes nm_yarn_shuffle_metadata(const struct nm_yarn_shuffle *s);

/* Returns the figures since nmd was started, as nm-shuffle last reported them. Requests new figures, which arrive
 * later: the figures are up to a minute old, or five seconds if the function was called in the last minute. */
void nm_yarn_shuffle_get_figures(struct nm_yarn_shuffle *s, struct nm_yarn_shuffle_figures *ret);

struct nm_yarn_aux_state; /* aux-server.h */
void nm_yarn_shuffle_get_state(const struct nm_yarn_shuffle *s, struct nm_yarn_aux_state *ret);
/* Returns the number of applications whose outputs are served. */
size_t nm_yarn_shuffle_count(const struct nm_yarn_shuffle *s);

/* Adds a job. data: the container's data for this service, a token whose password is the key of the application's job.
 * As in Hadoop, the application alone identifies the job. The job's map outputs are in the submitter's directory and
 * belong to the user that containers run as. -EBADMSG: data is not a token; -ENOENT: the user doesn't exist. */
int nm_yarn_shuffle_add(struct nm_yarn_shuffle *s, const char *submitter, const char *user, const char *application,
                        struct nm_bytes data);
/* Removes the application's job. */
void nm_yarn_shuffle_end_application(struct nm_yarn_shuffle *s, const char *application);
