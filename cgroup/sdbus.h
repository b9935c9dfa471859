/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The connection to the service manager: opened, kept, and opened again when it breaks (a new
 * systemd after daemon-reexec, a restarted bus), without ever blocking the loop.
 */

#include <stdbool.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#define NM_SDBUS_NAME "org.freedesktop.systemd1"
#define NM_SDBUS_PATH "/org/freedesktop/systemd1"
#define NM_SDBUS_MANAGER "org.freedesktop.systemd1.Manager"

struct nm_sdbus;

struct nm_sdbus_events {
    /* A job will be run. */
    void (*job_new)(const char *job, const char *unit, void *userdata);
    /* A job has ended; result is "done" or a reason. */
    void (*job_removed)(const char *job, const char *unit, const char *result, void *userdata);
    /* daemon-reload is over: all cgroup files have been written anew. */
    void (*reloaded)(void *userdata);
    /* The manager answers (again): what was in flight may have been lost. */
    void (*up)(void *userdata);
};

/* The system manager, or the user's own. Connects at once, but is in the loop only after
 * nm_sdbus_attach. */
int nm_sdbus_new(sd_event *event, bool user, const struct nm_sdbus_events *events, void *userdata,
                 struct nm_sdbus **ret);
struct nm_sdbus *nm_sdbus_free(struct nm_sdbus *s);

/* For starting up, before nm_sdbus_attach: handles messages until *done. -ETIMEDOUT; -ENOTCONN: it
 * broke. */
int nm_sdbus_run_until(struct nm_sdbus *s, const bool *done, uint64_t timeout_usec);
int nm_sdbus_attach(struct nm_sdbus *s);

/* NULL while there is no connection. Borrowed. */
sd_bus *nm_sdbus_get(struct nm_sdbus *s);

/* A method error in our terms. */
int nm_sdbus_errno(const sd_bus_error *e);
/* An error that says nothing about the call but that nobody answered it: send it again when the
 * manager is up. */
bool nm_sdbus_is_transient(const sd_bus_error *e);
