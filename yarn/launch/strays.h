/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds files of applications in the local directories that no part of nmd knows, and queues their removal
 * (cleanup-queue.h). Examples: the disk was away when the application's files were removed; nmd could not save that the
 * application had containers; a process wrote a file after the removal.
 *
 * The search takes place when nmd has adopted the containers of an earlier nmd, and in each directory that is opened
 * later. Users can make any directories in their own ones, so the number of entries that are examined is limited.
 */

#include <systemd/sd-event.h>

#include "yarn/launch/cleanup-queue.h"
#include "yarn/launch/dirs.h"

struct nm_yarn_strays;

/* All arguments must outlive the object. report_cb: writes to the node's log; may be NULL. */
int nm_yarn_strays_new(sd_event *event, const struct nm_yarn_dirs *local, struct nm_yarn_cleanup_queue *queue,
                       void (*report_cb)(int level, const char *sentence), struct nm_yarn_strays **ret);
struct nm_yarn_strays *nm_yarn_strays_free(struct nm_yarn_strays *s);
NM_DEFINE_CLEANUP(struct nm_yarn_strays *, nm_yarn_strays_free)

/* is_known: returns whether files of the application may be in use. NULL: they all may. */
void nm_yarn_strays_set_known(struct nm_yarn_strays *s, bool (*is_known)(const char *application, void *userdata),
                              void *userdata);
/* Searches all directories, in later turns of the event loop. */
void nm_yarn_strays_search(struct nm_yarn_strays *s);
/* Searches the directories that were opened since they were searched last. */
void nm_yarn_strays_search_new(struct nm_yarn_strays *s);
