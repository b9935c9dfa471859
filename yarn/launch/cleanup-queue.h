/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is left of containers and applications that have ended: removed by nm-localizer, with the rights of whose it is,
 * since it may be a million files, and only when it has been kept for as long as it is to be. Applications that have
 * ended are noted in nmd's state directory, a file for each, until nothing is left of them; a restarted nmd goes on
 * with them.
 */

#include <systemd/sd-event.h>

#include "localize/localizer.h"
#include "yarn/launch/dirs.h"

struct nm_yarn_cleanup_queue;

/* All of these must outlive it, but for the localizer, which is to be freed first. state_dir: its own. */
int nm_yarn_cleanup_queue_new(sd_event *event, const struct nm_yarn_settings *settings, struct nm_localizer *localizer,
                              const struct nm_yarn_dirs *local, const struct nm_yarn_dirs *log, const char *state_dir,
                              struct nm_yarn_cleanup_queue **ret);
struct nm_yarn_cleanup_queue *nm_yarn_cleanup_queue_free(struct nm_yarn_cleanup_queue *e);
NM_DEFINE_CLEANUP(struct nm_yarn_cleanup_queue *, nm_yarn_cleanup_queue_free)

/* container: NULL: all of the application, and in its time its logs. One that is known already is no error. */
int nm_yarn_cleanup_queue_add(struct nm_yarn_cleanup_queue *e, const char *submitter, const char *application,
                              const char *container);
