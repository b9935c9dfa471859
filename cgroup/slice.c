/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The slice itself, as far as nmd sets its limits.
 */

#include "cgroup/cgroup.h"

#include "cgroup/attr.h"
#include "util/parse.h"

#define USUAL_CPU_WEIGHT 100

static struct nm_cgroup slice_of(const struct nm_cgroup_backend *b)
{
    return (struct nm_cgroup){.name = b->slice, .path = b->slice_path, .dir_fd = b->slice_fd, .inode = 0};
}

int nm_cgroup_slice_read_low(const struct nm_cgroup_backend *b, uint64_t *ret)
{
    const struct nm_cgroup slice = slice_of(b);

    return nm_cgroup_read_limit(&slice, NM_CGROUP_DRIFT_MEMORY_LOW, ret);
}

uint32_t nm_cgroup_slice_read_cpu_weight(const struct nm_cgroup_backend *b)
{
    char text[32];
    uint64_t v;

    if (b->slice_fd < 0 || nm_attr_read(b->slice_fd, "cpu.weight", text, sizeof text) < 0)
        return USUAL_CPU_WEIGHT;
    text[strcspn(text, "\n")] = '\0';
    return nm_parse_u64(text, &v) < 0 || v < 1 || v > 10000 ? USUAL_CPU_WEIGHT : (uint32_t)v;
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

    /* weights are left to the administrator */
    return r < 0 ? r : r & (1 << NM_CGROUP_DRIFT_MEMORY_MAX | 1 << NM_CGROUP_DRIFT_MEMORY_LOW |
                            1 << NM_CGROUP_DRIFT_MEMORY_MIN);
}
