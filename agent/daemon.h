/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the program that puts all together makes a manager, starts it and ends it. */

#include <systemd/sd-event.h>

#include "agent/config/config.h"
#include "agent/caller.h"
#include "cgroup/cgroup.h"

struct nm_manager_params {
    sd_event *event;
    struct nm_config *config;      /* ownership passes */
    const char *config_path;       /* for reload */
    bool config_must_exist;
    const struct nm_config_default *config_defaults; /* of nm_config_load(); they last as long as the manager */
    const char *state_dir;
    const char *runtime_dir;
    const char *slice;
    enum nm_cgroup_backend_kind backend;
    const char *shim_path;
    const char *proc_root;         /* "/proc" */
    const char *node_proc_root; /* meminfo, stat and pressure are read here; "/proc" but in tests */
};

/* Opens store and backend, adopts what lives, takes the first sample. *ret_message: why not, the
 * caller's to free. */
int nm_manager_new(const struct nm_manager_params *p, struct nm_manager **ret, char **ret_message);
/* Checks whether nm_manager_new() would be refused, with the same message, and makes, opens for writing and starts
 * nothing. `config` stays the caller's. A shim that is missing is refused here as well, since without it nothing
 * starts. `state_dir` NULL stands for a directory that was refused already: its contents aren't checked then. */
int nm_manager_check(const struct nm_manager_params *p, char **ret_message);
int nm_manager_check_record(const char *path, char **ret_message); /* of nm_manager_record() */
/* Starts timers and watches. */
int nm_manager_start(struct nm_manager *m);
/* Writes a trace of all that happens from now on, for nmsim, until the manager is freed. An earlier
 * trace of that name becomes FILE.1. *ret_message: why not, the caller's to free. Once it is begun,
 * whatever hinders it ends the recording alone. */
int nm_manager_record(struct nm_manager *m, const char *path, char **ret_message);
struct nm_manager *nm_manager_free(struct nm_manager *m);
NM_DEFINE_CLEANUP(struct nm_manager *, nm_manager_free)
