/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of the operator's health script, supervised by the event loop. Only health.c and its tests use this
 * header. */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "util/macros.h"

struct nm_health_verdict {
    bool timed_out;
    bool has_ended; /* false: the script's process still exists after the time-out */
    /* the first line that begins with ERROR, shortened, in printable ASCII; "" if there is no such line */
    char error[128];
    int exit_code;   /* -1 when a signal ended the script or the script timed out */
    int exit_signal;
};

struct nm_health_script;

/* Called when the script has ended, and also when it times out. The callback must not free the nm_health_script. */
typedef void (*nm_health_script_cb_t)(const struct nm_health_verdict *v, void *userdata);

/* Checks whether nmd may run `path`. Returns -EPERM if another user than root and nmd's own could change the script,
 * since nmd may run as root. Returns -ENOENT, -EACCES and the like if the script can't be run. */
int nm_health_script_check(const char *path);

/* Starts `path`, which must be absolute. Returns -ENOENT, -EACCES, -ENOEXEC and the like if the script can't be run. */
int nm_health_script_new(sd_event *event, const char *path, uint64_t timeout_usec,
                         nm_health_script_cb_t cb, void *userdata, struct nm_health_script **ret);
/* Returns whether the script's process still exists. After a time-out it may take a while to end, or hang in the
 * kernel. */
bool nm_health_script_is_running(const struct nm_health_script *s);
/* Kills remaining processes without waiting for them. */
struct nm_health_script *nm_health_script_free(struct nm_health_script *s);
NM_DEFINE_CLEANUP(struct nm_health_script *, nm_health_script_free)
