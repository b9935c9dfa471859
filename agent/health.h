/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Health of the node: an unhealthy node admits nothing and says why. Four things are looked at:
 *
 *  - space and inodes of the file systems that hold state and logs;
 *  - the operator's script, by YARN's convention: a line on its standard output that begins with
 *    ERROR, or a time-out, makes the node unhealthy. A script that can't be run, or ends with
 *    another status than 0, does not: a broken script must not stop a cluster (it is logged).
 *    Until it has answered for the first time, a new nmd admits nothing;
 *  - containers that could not be killed, counted by the manager;
 *  - whether the journal can be written, which the manager finds out: what is admitted without
 *    being journalled would be forgotten, or started twice, by the next nmd.
 *
 * The script runs as nmd's own user, with a cleared environment, in a process group of its own that
 * is killed as a whole when the script has ended or run out of time.
 */

#include <systemd/sd-event.h>

#include "agent/config/config.h"

#define NM_HEALTH_REASON_SIZE 200

struct nm_health;

/* What is wrong has changed. Called from the event loop, not from nm_health_new() or
 * nm_health_reconfigure(). reason: one sentence, "" when healthy; valid during the call. */
typedef void (*nm_health_cb_t)(bool healthy, const char *reason, void *userdata);

/* Looks at the disks at once, and runs the script as soon as the event loop does. The configuration
 * and paths are copied. */
int nm_health_new(sd_event *event, const struct nm_config *config, const char *state_dir,
                  const char *log_dir, nm_health_cb_t cb, void *userdata, struct nm_health **ret);
/* Applies [health] of a new configuration and checks anew. What an old script said is forgotten if
 * it is another one. */
int nm_health_reconfigure(struct nm_health *h, const struct nm_config *config);
/* May call the callback. */
void nm_health_set_unkillable(struct nm_health *h, unsigned n);
/* reason: a sentence while the journal can't be written, "" when it can. May call the callback. */
void nm_health_set_journal(struct nm_health *h, const char *reason);
/* *ret_reason stays valid until the event loop runs again. */
bool nm_health_get(const struct nm_health *h, const char **ret_reason);
struct nm_health *nm_health_free(struct nm_health *h);
NM_DEFINE_CLEANUP(struct nm_health *, nm_health_free)
