/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Health of the node. An unhealthy node admits no containers and reports the reason. Four things are checked:
 *
 *  - space and inodes of the file systems that hold state and logs;
 *  - the operator's script, by YARN's convention: a line on its standard output that begins with ERROR, or a time-out,
 *    makes the node unhealthy. If the script can't be run, or exits with another status than 0, nmd only logs a
 *    warning: a broken script must not stop a cluster. A new nmd admits no container until the script has finished for
 *    the first time;
 *  - containers that could not be killed, counted by the manager;
 *  - whether the journal can be written, as reported by the manager: after a restart nmd would not know containers that
 *    were admitted without being journalled, or would start such containers twice.
 *
 * The script runs as nmd's own user, with a cleared environment, in a process group of its own. The whole
 * group is killed when the script has ended or timed out.
 */

#include <systemd/sd-event.h>

#include "agent/config/config.h"

#define NM_HEALTH_REASON_SIZE 200

struct nm_health;

/* Called when the health or its reason has changed. The callback is called from the event loop, never from
 * nm_health_new() or nm_health_reconfigure(). reason: one sentence, "" when healthy; valid during the call. */
typedef void (*nm_health_cb_t)(bool healthy, const char *reason, void *userdata);

/* Checks the disks immediately, and runs the script in the next turn of the event loop. Copies the configuration and
 * the paths. */
int nm_health_new(sd_event *event, const struct nm_config *config, const char *state_dir,
                  const char *log_dir, nm_health_cb_t cb, void *userdata, struct nm_health **ret);
/* Applies [health] of a new configuration and checks again. If the configuration names another script, drops the result
 * of the old script. */
int nm_health_reconfigure(struct nm_health *h, const struct nm_config *config);
/* Sets the number of unkillable containers. May call the callback. */
void nm_health_set_unkillable(struct nm_health *h, unsigned n);
/* Sets whether the journal can be written. reason: a sentence while it can't be written, "" while it can. May call the
 * callback. */
void nm_health_set_journal(struct nm_health *h, const char *reason);
/* Returns whether the node is healthy. *ret_reason stays valid until the event loop runs again. */
bool nm_health_get(const struct nm_health *h, const char **ret_reason);
struct nm_health *nm_health_free(struct nm_health *h);
NM_DEFINE_CLEANUP(struct nm_health *, nm_health_free)
