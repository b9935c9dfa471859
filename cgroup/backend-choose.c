/* SPDX-License-Identifier: Apache-2.0 */

/* Chooses a backend: the configured one, or the best that this host supports. */

#include "cgroup/backend.h"

#include "util/log.h"
#include "util/parse.h"

/* systemd rejects "a--b" and "a-" as slices, because each "-" separates a parent slice from a child. */
static bool slice_name_is_valid(const char *slice)
{
    size_t len = strlen(slice), suffix = strlen(SLICE_SUFFIX);

    return nm_name_is_valid(slice) && len > suffix &&
           nm_streq(slice + len - suffix, SLICE_SUFFIX) &&
           slice[len - suffix - 1] != '-' && !strstr(slice, "--");
}

static int find_root(const char *given, char **ret, char **ret_message)
{
    int r;

    if (given) {
        *ret = strdup(given);
        return *ret ? 0 : -ENOMEM;
    }
    r = nm_mount_find("/proc/self/mountinfo", ret);
    if (r == -ENOENT)
        return nm_fail(ret_message, r,
                       "no cgroup2 file system is mounted: mount one (mount -t cgroup2 none /sys/fs/cgroup)");
    if (r < 0)
        return nm_fail(ret_message, r, "/proc/self/mountinfo: %s", strerror(-r));
    return 0;
}

/* Tries the systemd backend first if systemd answers. If the manager cannot serve this user, the direct backend is
 * used. */
static int auto_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                    char **ret_message)
{
    if (host->event && nm_cgroup_systemd_is_available() > 0) {
        _cleanup_free_ char *why = NULL;
        int r = nm_cgroup_systemd_new(host, ret, &why);

        if (r >= 0)
            return r;
        nm_debug("cgroup: no systemd backend (%s), trying the direct one",
                 why ? why : strerror(-r));
    }
    return nm_cgroup_direct_new(host, ret, ret_message);
}

static int check_name(const char *slice, char **ret_message)
{
    if (slice_name_is_valid(slice))
        return 0;
    return nm_fail(ret_message, -EINVAL,
                   "slice '%s': must be a name of letters, digits, '.', '_' and "
                   "single '-', at most 63 long, that ends in " SLICE_SUFFIX,
                   slice);
}

/* The fake backend needs no cgroup2 and is therefore made before the mount is searched. */
int nm_cgroup_backend_new(const struct nm_cgroup_backend_params *params,
                          struct nm_cgroup_backend **ret, char **ret_message)
{
    struct nm_backend_host host = {.slice = params->slice, .event = params->event};
    _cleanup_free_ char *root = NULL;
    int r = check_name(params->slice, ret_message);

    if (r < 0)
        return r;
    if (params->kind == NM_CGROUP_BACKEND_FAKE) {
        host.root = params->cgroup_root;
        return nm_fake_new(&host, ret, ret_message);
    }
    r = find_root(params->cgroup_root, &root, ret_message);
    if (r < 0)
        return r;
    host.root = root;
    switch (params->kind) {
    case NM_CGROUP_BACKEND_SYSTEMD:
        return nm_cgroup_systemd_new(&host, ret, ret_message);
    case NM_CGROUP_BACKEND_DIRECT:
        return nm_cgroup_direct_new(&host, ret, ret_message);
    default:
        return auto_new(&host, ret, ret_message);
    }
}

int nm_cgroup_backend_check(const struct nm_cgroup_backend_params *params, char **ret_message)
{
    struct nm_backend_host host = {.slice = params->slice, .event = params->event};
    _cleanup_free_ char *root = NULL;
    int r = check_name(params->slice, ret_message);

    if (r < 0 || params->kind == NM_CGROUP_BACKEND_FAKE)
        return r;
    r = find_root(params->cgroup_root, &root, ret_message);
    if (r < 0)
        return r;
    host.root = root;
    if (params->kind == NM_CGROUP_BACKEND_SYSTEMD)
        return nm_cgroup_systemd_check(&host, ret_message);
    if (params->kind == NM_CGROUP_BACKEND_AUTO && host.event && nm_cgroup_systemd_is_available() > 0 &&
        nm_cgroup_systemd_check(&host, NULL) >= 0)
        return 0;
    return nm_cgroup_direct_check(&host, ret_message);
}
