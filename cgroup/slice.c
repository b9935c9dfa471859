/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The slice itself, as far as it has limits of nmd's.
 */

#include "cgroup/cgroup.h"

static struct nm_cgroup slice_of(const struct nm_cgroup_backend *b)
{
    return (struct nm_cgroup){.name = b->slice, .path = b->slice_path, .dir_fd = b->slice_fd, .inode = 0};
}

int nm_cgroup_slice_read_low(const struct nm_cgroup_backend *b, uint64_t *ret)
{
    const struct nm_cgroup slice = slice_of(b);

    return nm_cgroup_read_limit(&slice, NM_CGROUP_DRIFT_MEMORY_LOW, ret);
}

int nm_cgroup_slice_read_max(const struct nm_cgroup_backend *b, uint64_t *ret)
{
    const struct nm_cgroup slice = slice_of(b);

    return nm_cgroup_read_limit(&slice, NM_CGROUP_DRIFT_MEMORY_MAX, ret);
}

int nm_cgroup_slice_check_drift(const struct nm_cgroup_backend *b, const struct nm_cgroup_limits *expected)
{
    const struct nm_cgroup slice = slice_of(b);
    int r = nm_cgroup_check_drift(b, &slice, expected);

    /* its weight and the like are the administrator's */
    return r < 0 ? r : r & (1 << NM_CGROUP_DRIFT_MEMORY_MAX | 1 << NM_CGROUP_DRIFT_MEMORY_LOW |
                            1 << NM_CGROUP_DRIFT_MEMORY_MIN);
}
