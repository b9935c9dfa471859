/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Between backend-choose.c, the backends, and what they share (backend.c); nobody else includes this (tests of the
 * fake may).
 */

#include "cgroup/cgroup.h"

/* What every backend begins from: found by backend-choose.c, borrowed during the call. */
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

/* What of that can be known without making anything. */
int nm_direct_check(const struct nm_backend_host *host, char **ret_message);
int nm_systemd_check(const struct nm_backend_host *host, char **ret_message);

/* Does a service manager answer here that could serve this user? Says why not into *ret_message. */
int nm_systemd_available(void);

#define SLICE_SUFFIX ".slice"

/* The part that all share: slice and prefix from the slice's name, slice_fd -EBADF. */
int nm_backend_init(struct nm_cgroup_backend *b, const struct nm_cgroup_ops *ops,
                    const char *slice);
void nm_backend_done(struct nm_cgroup_backend *b);
/* Opens slice_path. */
int nm_backend_open_slice(struct nm_cgroup_backend *b);
/* "<slice_path>/<prefix><container id>.scope" and its last part; buffers of these sizes. */
#define NM_BACKEND_NAME_MAX 256
int nm_backend_scope_name(const struct nm_cgroup_backend *b, const char *container_id,
                          char name[NM_BACKEND_NAME_MAX]);
/* The name of a helper's cgroup; and its directory, opened. That is beside the slice's. */
int nm_backend_helper_name(const struct nm_cgroup_backend *b, const char *helper, char name[NM_BACKEND_NAME_MAX]);
int nm_backend_open_beside(const struct nm_cgroup_backend *b, const char *name, struct nm_cgroup **ret);
int nm_backend_open_scope(const struct nm_cgroup_backend *b, const char *name,
                          struct nm_cgroup **ret);
/* Is there no room for another cgroup below the slice? For where the kernel's answer went to somebody
 * else, as it does when systemd makes the cgroups. */
bool nm_backend_is_full(const struct nm_cgroup_backend *b);
/* ops.list for backends whose cgroups are directories below slice_fd. */
int nm_backend_list(struct nm_cgroup_backend *b, nm_cgroup_list_cb_t cb, void *userdata);
/* Is the slice without processes and without container directories? */
bool nm_backend_slice_is_empty(const struct nm_cgroup_backend *b);

/* In plain words, what -errno means when a cgroup can't be made, or NULL to say it as strerror
 * does. */
const char *nm_backend_explain(int r);
