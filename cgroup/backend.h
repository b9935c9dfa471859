/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interface between backend-choose.c, the backends, and the code that they share (backend.c). Only these files and
 * the tests of the fake backend include this header.
 */

#include "cgroup/cgroup.h"

/* The arguments of every backend's constructor. backend-choose.c fills them in; they are borrowed during the call. */
struct nm_backend_host {
    const char *slice;
    const char *root; /* the cgroup2 mount */
    sd_event *event;
};

int nm_direct_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                  char **ret_message);
int nm_systemd_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                   char **ret_message);
int nm_fake_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                char **ret_message);

/* Check whether the backend could be made, as far as this can be known without creating anything. */
int nm_direct_check(const struct nm_backend_host *host, char **ret_message);
int nm_systemd_check(const struct nm_backend_host *host, char **ret_message);

/* Returns whether a service manager that can serve this user answers. */
int nm_systemd_available(void);

#define SLICE_SUFFIX ".slice"

/* Initializes the fields that all backends share: slice and prefix from the slice's name, and slice_fd as -EBADF. */
int nm_backend_init(struct nm_cgroup_backend *b, const struct nm_cgroup_ops *ops,
                    const char *slice);
void nm_backend_done(struct nm_cgroup_backend *b);
/* Opens slice_path. */
int nm_backend_open_slice(struct nm_cgroup_backend *b);
/* Writes the name of a container's scope, "<prefix><container id>.scope". */
#define NM_BACKEND_NAME_MAX 256
int nm_backend_scope_name(const struct nm_cgroup_backend *b, const char *container_id,
                          char name[NM_BACKEND_NAME_MAX]);
/* Write the name of a helper's cgroup, and open the directory of such a cgroup. A helper's cgroup lies beside the
 * slice. */
int nm_backend_helper_name(const struct nm_cgroup_backend *b, const char *helper, char name[NM_BACKEND_NAME_MAX]);
int nm_backend_open_beside(const struct nm_cgroup_backend *b, const char *name, struct nm_cgroup **ret);
int nm_backend_open_scope(const struct nm_cgroup_backend *b, const char *name,
                          struct nm_cgroup **ret);
/* Returns whether the slice has no room for another cgroup. The systemd backend needs this check, because there systemd
 * makes the cgroups and receives the kernel's error instead of nmd. */
bool nm_backend_is_full(const struct nm_cgroup_backend *b);
/* Implements ops.list for backends whose cgroups are directories below slice_fd. */
int nm_backend_list(struct nm_cgroup_backend *b, nm_cgroup_list_cb_t cb, void *userdata);
/* Returns whether the slice has neither processes nor container directories. */
bool nm_backend_slice_is_empty(const struct nm_cgroup_backend *b);

/* Returns an explanation of -errno for a cgroup that could not be made, or NULL if the text of strerror() is enough. */
const char *nm_backend_explain(int r);
