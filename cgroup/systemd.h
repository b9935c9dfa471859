/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Inside the systemd backend: backend-systemd.c (the table, starting up), sdop.c (operations in
 * flight), sdoom.c (memory.oom.group, which systemd resets), sdstop.c (what others have systemd do),
 * over sdbus.c (the connection) and sdcall.c (its messages).
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
    sd_event_source *tick; /* runs while there are operations */
    struct nm_sdcall_dialect dialect;
    char *root;            /* the cgroup2 mount */
    bool is_transient;     /* the slice is ours to stop */
    bool has_slice_limits;
    struct nm_cgroup_limits slice_limits;
    struct nm_sdop *ops;
    struct nm_sdoom *oom_groups;
};

/* ---- sdop.c ---------------------------------------------------------------------------------- */

/* Begins an operation, which ends with cb as struct nm_cgroup_ops says. While there is no
 * connection it waits for one. */
int nm_sdop_create(struct nm_systemd *s, const char *unit, const char *description, pid_t pid,
                   const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata);
/* The same for a process of nmd's own, in a scope beside the slice. */
int nm_sdop_place_helper(struct nm_systemd *s, const char *unit, pid_t pid, const struct nm_cgroup_limits *limits,
                         nm_cgroup_done_cb_t cb, void *userdata);
/* cg NULL: the unit is the slice. */
int nm_sdop_set(struct nm_systemd *s, const struct nm_cgroup *cg, const char *unit,
                const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata);
int nm_sdop_start_slice(struct nm_systemd *s, nm_cgroup_done_cb_t cb, void *userdata);
/* Forgets all without a word. */
void nm_sdop_cancel_all(struct nm_systemd *s);
/* What the connection says. */
void nm_sdop_job_removed(struct nm_systemd *s, const char *job, const char *unit,
                         const char *result);
void nm_sdop_up(struct nm_systemd *s);
/* Is it ourselves who have systemd start or change this unit at the moment? */
bool nm_sdop_is_under_way(const struct nm_systemd *s, const char *unit);
/* The time source behind deadlines and repetitions, once there is a loop to run it. */
int nm_sdop_attach(struct nm_systemd *s);

/* ---- sdstop.c -------------------------------------------------------------------------------- */

/* A job was announced. */
void nm_sdstop_job_new(struct nm_systemd *s, const char *job, const char *unit);

/* ---- sdoom.c --------------------------------------------------------------------------------- */

/* Writes memory.oom.group and remembers it until the unit is forgotten. */
void nm_sdoom_set(struct nm_systemd *s, const struct nm_cgroup *cg, bool on);
/* Remembers what an earlier nmd has set. */
void nm_sdoom_adopt(struct nm_systemd *s, const struct nm_cgroup *cg);
void nm_sdoom_forget(struct nm_systemd *s, const char *unit);
/* Writes all of them again: systemd has been reloaded. */
void nm_sdoom_restore(struct nm_systemd *s);
void nm_sdoom_free_all(struct nm_systemd *s);
