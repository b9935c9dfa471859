/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The connection to the service manager. The connection is opened, kept, and reopened when it breaks (after a
 * daemon-reexec or a restart of the bus), without blocking the event loop.
 */

#include <stdbool.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#define NM_SDBUS_NAME "org.freedesktop.systemd1"
#define NM_SDBUS_PATH "/org/freedesktop/systemd1"
#define NM_SDBUS_MANAGER "org.freedesktop.systemd1.Manager"

struct nm_sdbus;

struct nm_sdbus_events {
    /* A job was queued. */
    void (*job_new)(const char *job, const char *unit, void *userdata);
    /* A job has ended; result is "done" or a reason. */
    void (*job_removed)(const char *job, const char *unit, const char *result, void *userdata);
    /* daemon-reload has finished; systemd has rewritten all cgroup files. */
    void (*reloaded)(void *userdata);
    /* The manager answers (again). Calls that were in flight may have been lost. */
    void (*up)(void *userdata);
};

/* Connects to the system manager, or to the user's own manager. The connection is not in the event loop before
 * nm_sdbus_attach(). */
int nm_sdbus_new(sd_event *event, bool user, const struct nm_sdbus_events *events, void *userdata,
                 struct nm_sdbus **ret);
struct nm_sdbus *nm_sdbus_free(struct nm_sdbus *s);

/* Handles messages until *done; used during startup, before nm_sdbus_attach(). Returns -ETIMEDOUT, or -ENOTCONN if the
 * connection broke. */
int nm_sdbus_run_until(struct nm_sdbus *s, const bool *done, uint64_t timeout_usec);
int nm_sdbus_attach(struct nm_sdbus *s);

/* Returns the borrowed bus, or NULL while there is no connection. */
sd_bus *nm_sdbus_get(struct nm_sdbus *s);

/* Converts a method error to -errno. */
int nm_sdbus_errno(const sd_bus_error *e);
/* Returns whether the error only means that the manager did not answer: send the call again when the manager is up. */
bool nm_sdbus_is_transient(const sd_bus_error *e);
