/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes the files that containers and applications leave behind, after the configured delay. nm-localizer does the
 * removal with the rights of the files' owner, since there may be a million files. An application that has ended is
 * noted in a file of its own in nmd's state directory until its files are removed, so that a restarted nmd continues.
 */

#include <systemd/sd-event.h>

#include "localize/localizer.h"
#include "yarn/launch/dirs.h"

struct nm_yarn_cleanup_queue;

/* All arguments must outlive the queue, but for the localizer, which must be freed first. state_dir: a directory for
 * the queue alone. */
int nm_yarn_cleanup_queue_new(sd_event *event, const struct nm_yarn_settings *settings, struct nm_localizer *localizer,
                              const struct nm_yarn_dirs *local, const struct nm_yarn_dirs *log, const char *state_dir,
                              struct nm_yarn_cleanup_queue **ret);
struct nm_yarn_cleanup_queue *nm_yarn_cleanup_queue_free(struct nm_yarn_cleanup_queue *q);
NM_DEFINE_CLEANUP(struct nm_yarn_cleanup_queue *, nm_yarn_cleanup_queue_free)

/* Queues a removal. container == NULL: all files of the application, and later its logs. Adding an entry twice
 * succeeds. */
int nm_yarn_cleanup_queue_add(struct nm_yarn_cleanup_queue *q, const char *submitter, const char *application,
                              const char *container);
