/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The interface between backend-choose.c, the backends, and the code that they share: backend.c, mount.c, probe.c and
 * netprio.c. Only these files and the tests of the backends include this header. Functions return 0 or -errno.
 */

#include "cgroup/cgroup.h"

/* The arguments of every backend's constructor. backend-choose.c fills them in; they are borrowed during the call. */
struct nm_backend_host {
    const char *slice;
    const char *root; /* the cgroup2 mount */
    sd_event *event;
};

int nm_cgroup_direct_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                         char **ret_message);
int nm_cgroup_systemd_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                          char **ret_message);
int nm_fake_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                char **ret_message);

/* Check whether the backend could be made, as far as this can be known without creating anything. */
int nm_cgroup_direct_check(const struct nm_backend_host *host, char **ret_message);
int nm_cgroup_systemd_check(const struct nm_backend_host *host, char **ret_message);

/* Returns whether a service manager that can serve this user answers. */
int nm_cgroup_systemd_is_available(void);

/* ---- backend.c ------------------------------------------------------------------------------- */

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

/* ---- mount.c ---------------------------------------------------------------------------------
 *
 * Finds the cgroup2 hierarchy and the cgroup of this process. The /proc files are parameters so that tests can replace
 * them.
 */

/* Finds the cgroup2 mount point: the first mount that has controllers, else the first of all. The caller frees *ret.
 * Returns -ENOENT if cgroup2 is not mounted. */
int nm_mount_find(const char *mountinfo, char **ret);

/* Finds the cgroup of this process (the "0::" line, "/user.slice/..."). The caller frees *ret. Returns -ENOENT if there
 * is no such line. */
int nm_mount_own_cgroup(const char *proc_self_cgroup, char **ret);

/* ---- probe.c ---------------------------------------------------------------------------------
 *
 * Detects the features of kernel, mount and backend in the slice: fills feature[] and missing[].
 */

struct nm_probe_params {
    int root_fd;           /* the cgroup2 mount */
    const char *swaps;     /* "/proc/swaps" */
    bool check_delegation; /* controllers must already be enabled for the slice's children */
    bool has_idle_property; /* false: systemd is older than 252 and cannot set CPUWeight=idle */
};

/* Fills feature[] and missing[]. Requires b->slice_fd. */
void nm_probe_features(struct nm_cgroup_backend *b, const struct nm_probe_params *p);

/* ---- netprio.c -------------------------------------------------------------------------------
 *
 * Sets the priority of a cgroup's sockets. cgroup v2 has no file for this (version 1 had net_prio), so a BPF program of
 * three instructions sets the priority when a socket is created. The priority is a default and not enforced: a program
 * may set SO_PRIORITY or IP_TOS itself.
 */

#define NM_NETPRIO_BACKGROUND 2 /* TC_PRIO_BULK */

/* Loads the program and sets feature[NM_CGROUP_NET_PRIORITY] to whether the program can be used. */
void nm_netprio_probe(struct nm_cgroup_backend *b);
