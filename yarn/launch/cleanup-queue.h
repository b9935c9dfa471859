/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Removes the files of containers and applications after the configured delay. nm-localizer removes them in a separate
 * process, since there may be a million files. This process has the rights of the files' owner. For each application
 * that has ended, a file in nmd's state directory exists until the application's files are removed, so that a restarted
 * nmd continues the removal.
 */

#include <systemd/sd-event.h>

#include "localize/localizer.h"
#include "yarn/launch/dirs.h"
#include "yarn/launch/launcher.h"

struct nm_yarn_cleanup_queue;

/* All arguments must outlive the queue, except the localizer, which must be freed before the queue. state_dir: a
 * directory that only this queue uses. report_cb: writes to the node's log; may be NULL. */
int nm_yarn_cleanup_queue_new(sd_event *event, const struct nm_yarn_settings *settings, struct nm_localizer *localizer,
                              const struct nm_yarn_dirs *local, const struct nm_yarn_dirs *log, const char *state_dir,
                              void (*report_cb)(int level, const char *sentence), struct nm_yarn_cleanup_queue **ret);
struct nm_yarn_cleanup_queue *nm_yarn_cleanup_queue_free(struct nm_yarn_cleanup_queue *q);
NM_DEFINE_CLEANUP(struct nm_yarn_cleanup_queue *, nm_yarn_cleanup_queue_free)

/* While keeps_logs() returns true for an application, its logs aren't removed. NULL: there is no such condition. Must
 * be set before the event loop runs. */
void nm_yarn_cleanup_queue_set_keeper(struct nm_yarn_cleanup_queue *q,
                                      bool (*keeps_logs)(const char *application, void *userdata), void *userdata);
/* Decides about the logs of an application, for which keeps_logs() now returns false. The decision is saved. Has no
 * effect if the queue has no entry of the application. */
void nm_yarn_cleanup_queue_release_logs(struct nm_yarn_cleanup_queue *q, const char *application,
                                        enum nm_yarn_logs_end end);

/* Queues a removal. container == NULL: remove all files of the application, and later its logs. If the entry exists
 * already, the call succeeds. The removal of an application's files then begins again, with a new time of its end. */
int nm_yarn_cleanup_queue_add(struct nm_yarn_cleanup_queue *q, const char *submitter, const char *application,
                              const char *container);
/* Queues the removal of an application's files that were found in a directory, although no part of nmd knows the
 * application, or although they had been removed. -EINVAL: a name isn't valid, or the submitter is another one.
 * -ENOMEM. */
int nm_yarn_cleanup_queue_add_stray(struct nm_yarn_cleanup_queue *q, const char *submitter, const char *application,
                                    uint64_t ended_realtime_usec);
/* Returns whether the files of an application are in the queue and haven't been removed. */
bool nm_yarn_cleanup_queue_will_remove(const struct nm_yarn_cleanup_queue *q, const char *application);

/* Sets the list of those who may read the logs of an application that has been added: an ACL in Hadoop's format. */
void nm_yarn_cleanup_queue_set_view_acl(struct nm_yarn_cleanup_queue *q, const char *application, const char *view_acl);
/* Returns the submitter of an application whose files or logs haven't been removed yet, and its ACL in *ret_view_acl
 * (NULL: none). Both are valid until the next call. NULL: there is no such application. */
const char *nm_yarn_cleanup_queue_submitter(struct nm_yarn_cleanup_queue *q, const char *application,
                                            const char **ret_view_acl);
