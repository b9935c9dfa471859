/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A container's cgroup as an open directory, and the plain file operations on it. These operations are the same on all
 * backends: systemd neither uses nor resets cgroup.freeze, cgroup.kill and memory.reclaim.
 */

#include "cgroup/cgroup.h"

#include <assert.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "cgroup/attr.h"
#include "util/fileio.h"
#include "util/parse.h"

static const char *const feature_names[] = {
    [NM_CGROUP_MEMORY_LIMITS] = "memory limits",
    [NM_CGROUP_CPU_WEIGHT] = "cpu weight",
    [NM_CGROUP_CPU_IDLE] = "cpu idle",
    [NM_CGROUP_FREEZE] = "freeze",
    [NM_CGROUP_KILL] = "kill",
    [NM_CGROUP_PRESSURE] = "pressure",
    [NM_CGROUP_RECLAIM] = "reclaim",
    [NM_CGROUP_SWAP] = "swap",
    [NM_CGROUP_PIDS] = "pids",
    [NM_CGROUP_IO_WEIGHT] = "io weight",
    [NM_CGROUP_NET_PRIORITY] = "network priority",
};
_Static_assert(NM_ARRAY_SIZE(feature_names) == NM_CGROUP_FEATURE_COUNT, "every feature has a name");

const char *nm_cgroup_feature_name(enum nm_cgroup_feature f)
{
    return (unsigned)f < NM_CGROUP_FEATURE_COUNT ? feature_names[f] : "unknown";
}

int nm_cgroup_open(const char *path, const char *name, struct nm_cgroup **ret)
{
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = calloc(1, sizeof *cg);
    struct stat st;

    assert(path && name && ret);
    if (!cg)
        return -ENOMEM;
    cg->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (cg->dir_fd < 0)
        return -errno;
    if (fstat(cg->dir_fd, &st) < 0)
        return -errno;
    cg->inode = st.st_ino;
    cg->name = strdup(name);
    cg->path = strdup(path);
    if (!cg->name || !cg->path)
        return -ENOMEM;
    *ret = STEAL_PTR(cg);
    return 0;
}

struct nm_cgroup *nm_cgroup_free(struct nm_cgroup *cg)
{
    if (!cg)
        return NULL;
    nm_close(cg->dir_fd);
    free(cg->name);
    free(cg->path);
    free(cg);
    return NULL;
}

int nm_cgroup_read_events(const struct nm_cgroup *cg, struct nm_cgroup_events *ret)
{
    char buf[256];
    int r;

    assert(cg->dir_fd >= 0);
    r = nm_attr_read(cg->dir_fd, "cgroup.events", buf, sizeof buf);
    return r < 0 ? r : nm_cgroup_parse_events(buf, ret);
}

/* Returns zeroes without a memory controller, since no limit of memory can then be hit. */
int nm_cgroup_read_memory_events(const struct nm_cgroup *cg, struct nm_cgroup_memory_events *ret)
{
    char buf[512];
    int r = nm_attr_read(cg->dir_fd, "memory.events", buf, sizeof buf);

    if (r == -EOPNOTSUPP) {
        *ret = (struct nm_cgroup_memory_events){0};
        return 0;
    }
    return r < 0 ? r : nm_cgroup_parse_memory_events(buf, ret);
}

int nm_cgroup_read_freeze(const struct nm_cgroup *cg, bool *ret)
{
    char buf[8];
    int r = nm_attr_read(cg->dir_fd, "cgroup.freeze", buf, sizeof buf);

    if (r < 0)
        return r;
    *ret = buf[0] == '1';
    return 0;
}

/* Returns when the kernel has accepted the request. "frozen 1" in cgroup.events shows that all processes have
 * stopped. */
int nm_cgroup_freeze(const struct nm_cgroup *cg, bool frozen)
{
    assert(cg->dir_fd >= 0);
    return nm_attr_write(cg->dir_fd, "cgroup.freeze", frozen ? "1" : "0");
}

int nm_cgroup_move_in(const struct nm_cgroup *cg, pid_t pid)
{
    char text[16];

    assert(pid > 1);
    (void)snprintf(text, sizeof text, "%d", (int)pid);
    return nm_attr_write(cg->dir_fd, "cgroup.procs", text);
}

int nm_cgroup_set_oom_group(const struct nm_cgroup *cg, bool on)
{
    return nm_attr_write(cg->dir_fd, "memory.oom.group", on ? "1" : "0");
}

/*
 * The kernel reclaims within write() and returns EAGAIN if it reclaimed less than requested. By default the kernel
 * takes page cache first, which is not scarce. Since Linux 6.8 the file accepts a swappiness.
 */
int nm_cgroup_reclaim(const struct nm_cgroup *cg, uint64_t bytes)
{
    char text[48];
    int r;

    (void)snprintf(text, sizeof text, "%" PRIu64 " swappiness=200", bytes);
    r = nm_attr_write(cg->dir_fd, "memory.reclaim", text);
    if (r != -EINVAL)
        return r;
    (void)snprintf(text, sizeof text, "%" PRIu64, bytes);
    return nm_attr_write(cg->dir_fd, "memory.reclaim", text);
}

int nm_cgroup_read_swap(const struct nm_cgroup *cg, uint64_t *ret_bytes)
{
    char text[32];
    uint64_t v;
    int r = nm_attr_read(cg->dir_fd, "memory.swap.current", text, sizeof text);

    if (r < 0)
        return r;
    text[strcspn(text, "\n")] = '\0';
    if (nm_parse_u64(text, &v) < 0)
        return -EBADMSG;
    *ret_bytes = v;
    return 0;
}

int nm_cgroup_set_swap_max(const struct nm_cgroup *cg, uint64_t bytes)
{
    char text[32] = "max";

    if (bytes != NM_CGROUP_NONE)
        (void)snprintf(text, sizeof text, "%" PRIu64, bytes);
    return nm_attr_write(cg->dir_fd, "memory.swap.max", text);
}
