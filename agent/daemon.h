/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The interface for the program that creates, starts and ends a manager. */

#include <systemd/sd-event.h>

#include "agent/config/config.h"
#include "agent/caller.h"
#include "cgroup/cgroup.h"

struct nm_manager_params {
    sd_event *event;
    struct nm_config *config;      /* the manager takes ownership */
    const char *config_path;       /* read again by nm_manager_reload() */
    bool config_must_exist;
    const struct nm_config_default *config_defaults; /* passed to nm_config_load(); must outlive the manager */
    const char *state_dir;
    const char *runtime_dir;
    const char *slice;
    enum nm_cgroup_backend_kind backend;
    const char *shim_path;
    const char *proc_root;         /* "/proc" */
    const char *node_proc_root; /* directory of meminfo, stat and pressure; differs from "/proc" only in tests */
};

/* Opens the store and the cgroup backend, adopts live containers and takes the first sample. On failure *ret_message
 * says why; the caller frees it. */
int nm_manager_new(const struct nm_manager_params *p, struct nm_manager **ret, char **ret_message);
/* Checks whether nm_manager_new() would fail, and if so returns the message that nm_manager_new() would return. The
 * check creates no file, starts no process and opens no file for writing. The caller keeps ownership of `config`.
 * Unlike nm_manager_new(), refuses a missing shim, since no container could start without it. `state_dir` NULL means
 * that the caller has already refused the directory, so its contents are not checked. */
int nm_manager_check(const struct nm_manager_params *p, char **ret_message);
int nm_manager_check_record(const char *path, char **ret_message); /* checks the file for nm_manager_record() */
/* Starts the timers and watches. */
int nm_manager_start(struct nm_manager *m);
/* Writes a trace of all further events for nmsim, until the manager is freed. An existing trace FILE is renamed to
 * FILE.1. On failure *ret_message says why; the caller frees it. A later write error ends the recording only, not
 * nmd. */
int nm_manager_record(struct nm_manager *m, const char *path, char **ret_message);
struct nm_manager *nm_manager_free(struct nm_manager *m);
NM_DEFINE_CLEANUP(struct nm_manager *, nm_manager_free)
