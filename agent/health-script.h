/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One run of the operator's health script, watched by the event loop. Internal to health.c and its
 * tests. */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "util/macros.h"

struct nm_health_verdict {
    bool timed_out;
    char error[128]; /* the first line that begins with ERROR, shortened, printable ASCII; "" if
                        none */
    int exit_code;   /* -1 when ended by a signal or timed out */
    int exit_signal;
};

struct nm_health_script;

/* Called once, when the script has ended or its time has. Don't free it in here. */
typedef void (*nm_health_script_cb_t)(const struct nm_health_verdict *v, void *userdata);

/* What keeps path from being run: -EPERM: somebody else than root and nmd could change what it does, and nmd may be
 * root; -ENOENT, -EACCES and the like. */
int nm_health_script_check(const char *path);

/* Starts path, which must be absolute. -ENOENT, -EACCES, -ENOEXEC and the like when it can't be
 * run. */
int nm_health_script_new(sd_event *event, const char *path, uint64_t timeout_usec,
                         nm_health_script_cb_t cb, void *userdata, struct nm_health_script **ret);
/* Whether its process is still there: after a time-out it may take a while to go, or be stuck in
 * the kernel. */
bool nm_health_script_is_running(const struct nm_health_script *s);
/* Kills what still runs, and doesn't wait for it. */
struct nm_health_script *nm_health_script_free(struct nm_health_script *s);
NM_DEFINE_CLEANUP(struct nm_health_script *, nm_health_script_free)
