/* SPDX-License-Identifier: Apache-2.0 */

/* Reclaims a cgroup's memory with memory.reclaim, and limits how much of it may go to swap. */

#include "cgroup/cgroup.h"

#include <inttypes.h>

#include "cgroup/attr.h"
#include "util/parse.h"

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
