/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Internal to the systemd backend: backend-systemd.c (the ops table, startup, stops by other processes), sdop.c
 * (operations in flight) and sdoom.c (memory.oom.group, which systemd resets). These files use sdbus.c (the connection)
 * and sdcall.c (its messages).
 */

#include "cgroup/backend.h"
#include "cgroup/sdbus.h"
#include "cgroup/sdcall.h"

struct nm_sdop;
struct nm_sdoom;

struct nm_systemd {
    struct nm_cgroup_backend base;
    sd_event *event;
    struct nm_sdbus *bus;
    sd_event_source *tick; /* timer that runs while operations exist */
    struct nm_sdcall_properties properties;
    char *root;            /* the cgroup2 mount */
    bool is_transient;     /* nmd started the slice and stops it */
    bool has_slice_limits;
    struct nm_cgroup_limits slice_limits;
    struct nm_sdop *ops;
    struct nm_sdoom *oom_groups;
};

/* ---- sdop.c ---------------------------------------------------------------------------------- */

/* Starts an operation, which calls cb at its end as struct nm_cgroup_ops describes. Without a connection the operation
 * waits for a connection. */
int nm_sdop_create(struct nm_systemd *s, const char *unit, const char *description, pid_t pid,
                   const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata);
/* Starts an operation like that of nm_sdop_create() for a helper process of nmd, in a scope beside the slice. */
int nm_sdop_attach_helper(struct nm_systemd *s, const char *unit, pid_t pid, const struct nm_cgroup_limits *limits,
                          nm_cgroup_done_cb_t cb, void *userdata);
/* Sets limits. With cg NULL the unit is the slice. */
int nm_sdop_set(struct nm_systemd *s, const struct nm_cgroup *cg, const char *unit,
                const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata);
int nm_sdop_start_slice(struct nm_systemd *s, nm_cgroup_done_cb_t cb, void *userdata);
/* Drops all operations without calling their callbacks. */
void nm_sdop_cancel_all(struct nm_systemd *s);
/* Handle the events of the connection. */
void nm_sdop_job_removed(struct nm_systemd *s, const char *job, const char *unit,
                         const char *result);
void nm_sdop_manager_available(struct nm_systemd *s);
/* Returns whether an operation of nmd that starts or changes this unit is in progress. */
bool nm_sdop_is_pending(const struct nm_systemd *s, const char *unit);
/* Adds the timer for deadlines and retries to the event loop, once the loop exists. */
int nm_sdop_attach(struct nm_systemd *s);

/* ---- sdoom.c --------------------------------------------------------------------------------- */

/* Writes memory.oom.group and remembers the value until nm_sdoom_release() for the unit. */
void nm_sdoom_set(struct nm_systemd *s, const struct nm_cgroup *cg, bool on);
/* Remembers the value that an earlier nmd has set. */
void nm_sdoom_adopt(struct nm_systemd *s, const struct nm_cgroup *cg);
void nm_sdoom_release(struct nm_systemd *s, const char *unit);
/* Writes all remembered values again after systemd was reloaded. */
void nm_sdoom_restore(struct nm_systemd *s);
void nm_sdoom_free_all(struct nm_systemd *s);
