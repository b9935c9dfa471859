/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Drift: limits that another process has changed. The text read back can differ from the text written. The kernel
 * rounds memory down to pages, and returns a weight of 0 for an idle group. systemd chooses its own period for a CPU
 * quota. So values are compared by meaning. nmd also sets limits of the slice, of which only the memory limits are
 * compared.
 */

#include "cgroup/cgroup.h"

#include <assert.h>
#include <inttypes.h>

#include "cgroup/attr.h"
#include "cgroup/limits.h"
#include "util/parse.h"

static const char *const drift_files[] = {
    [NM_CGROUP_DRIFT_MEMORY_MAX] = "memory.max", [NM_CGROUP_DRIFT_MEMORY_LOW] = "memory.low",
    [NM_CGROUP_DRIFT_MEMORY_MIN] = "memory.min", [NM_CGROUP_DRIFT_CPU_WEIGHT] = "cpu.weight",
    [NM_CGROUP_DRIFT_CPU_IDLE] = "cpu.idle",     [NM_CGROUP_DRIFT_CPU_QUOTA] = "cpu.max",
    [NM_CGROUP_DRIFT_OOM_GROUP] = "memory.oom.group",
    [NM_CGROUP_DRIFT_IO_WEIGHT] = "io.weight",
};
_Static_assert(NM_ARRAY_SIZE(drift_files) == NM_CGROUP_DRIFT_COUNT, "every drift has a file");

const char *nm_cgroup_drift_file(enum nm_cgroup_drift d)
{
    return (unsigned)d < NM_CGROUP_DRIFT_COUNT ? drift_files[d] : "unknown";
}

static int read_line(const struct nm_cgroup *cg, enum nm_cgroup_drift d, char *buf, size_t size)
{
    int r = nm_attr_read(cg->dir_fd, drift_files[d], buf, size);

    if (r >= 0)
        buf[strcspn(buf, "\n")] = '\0';
    return r;
}

static int parse_maximum(const char *text, uint64_t *ret)
{
    if (nm_streq(text, "max")) {
        *ret = NM_CGROUP_NONE;
        return 0;
    }
    return nm_parse_u64(text, ret) < 0 ? -EBADMSG : 0;
}

int nm_cgroup_read_limit(const struct nm_cgroup *cg, enum nm_cgroup_drift d, uint64_t *ret)
{
    char buf[64];
    int r = read_line(cg, d, buf, sizeof buf);

    return r < 0 ? r : parse_maximum(buf, ret);
}

/* The kernel counts in pages and drops the part beyond the last whole page. */
uint64_t nm_cgroup_round_to_page(uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return bytes == NM_CGROUP_NONE ? bytes : bytes / page * page;
}

/* Each check function returns 0 (as expected), 1 (drifted) or -errno. */
static int check_number(const struct nm_cgroup *cg, enum nm_cgroup_drift d, uint64_t expected)
{
    uint64_t v;
    int r = nm_cgroup_read_limit(cg, d, &v);

    return r < 0 ? r : v != expected;
}

static int check_quota(const struct nm_cgroup *cg, uint64_t millicores)
{
    uint64_t expected = nm_limits_cpu_quota(millicores), v, v_period;
    char buf[64], *blank;
    int r = read_line(cg, NM_CGROUP_DRIFT_CPU_QUOTA, buf, sizeof buf);

    if (r < 0)
        return r;
    blank = strchr(buf, ' ');
    if (!blank)
        return -EBADMSG;
    *blank = '\0';
    if (parse_maximum(buf, &v) < 0 || nm_parse_u64(blank + 1, &v_period) < 0 || v_period == 0)
        return -EBADMSG;
    if (expected == NM_CGROUP_NONE || v == NM_CGROUP_NONE)
        return expected != v;
    /* Compare rates, rounded to a millicore. */
    return (v * 1000 + v_period / 2) / v_period != expected;
}

/* Checks weight or idle. An idle group's weight cannot be read (the kernel returns 0). Without cpu.idle, nmd sets the
 * lowest weight instead of idle. */
static int check_cpu(const struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                     const struct nm_cgroup_limits *l, enum nm_cgroup_drift d)
{
    bool idle_file = b->feature[NM_CGROUP_CPU_IDLE];

    if (!b->feature[NM_CGROUP_CPU_WEIGHT])
        return 0;
    if (d == NM_CGROUP_DRIFT_CPU_QUOTA)
        return check_quota(cg, l->cpu_quota_millicores);
    if (d == NM_CGROUP_DRIFT_CPU_IDLE)
        return idle_file ? check_number(cg, d, l->cpu_idle) : 0;
    if (l->cpu_idle)
        return idle_file ? 0 : check_number(cg, d, 1);
    return check_number(cg, d, nm_limits_cpu_weight(l));
}

/* The first line is "default 100"; the other lines are for single devices, which nmd does not set. systemd writes both
 * io.weight and io.bfq.weight, so each of them shows the value. */
static int check_io(const struct nm_cgroup *cg, uint32_t weight)
{
    const char *file = weight > 0 ? nm_limits_io_file(cg->dir_fd) : NULL;
    char buf[256];
    uint64_t v;
    int r;

    if (!file)
        return 0;
    r = nm_attr_read(cg->dir_fd, file, buf, sizeof buf);
    if (r < 0)
        return r;
    buf[strcspn(buf, "\n")] = '\0';
    if (strncmp(buf, "default ", 8) != 0 || nm_parse_u64(buf + 8, &v) < 0)
        return -EBADMSG;
    return v != weight;
}

static int check_one(const struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                     const struct nm_cgroup_limits *l, enum nm_cgroup_drift d)
{
    bool memory = b->feature[NM_CGROUP_MEMORY_LIMITS];

    switch (d) {
    case NM_CGROUP_DRIFT_MEMORY_MAX:
        return memory ? check_number(cg, d, nm_cgroup_round_to_page(l->memory_max_bytes)) : 0;
    case NM_CGROUP_DRIFT_MEMORY_LOW:
        return memory ? check_number(cg, d, nm_cgroup_round_to_page(l->memory_low_bytes)) : 0;
    case NM_CGROUP_DRIFT_MEMORY_MIN:
        return memory ? check_number(cg, d, nm_cgroup_round_to_page(l->memory_min_bytes)) : 0;
    case NM_CGROUP_DRIFT_OOM_GROUP:
        return memory ? check_number(cg, d, l->oom_group) : 0;
    case NM_CGROUP_DRIFT_CPU_WEIGHT:
    case NM_CGROUP_DRIFT_CPU_IDLE:
    case NM_CGROUP_DRIFT_CPU_QUOTA:
        return check_cpu(b, cg, l, d);
    case NM_CGROUP_DRIFT_IO_WEIGHT:
        return b->feature[NM_CGROUP_IO_WEIGHT] ? check_io(cg, l->io_weight) : 0;
    case NM_CGROUP_DRIFT_COUNT:
        break;
    }
    return 0;
}

int nm_cgroup_check_drift(const struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                          const struct nm_cgroup_limits *expected)
{
    int mask = 0;

    assert(b && cg->dir_fd >= 0 && expected);
    for (enum nm_cgroup_drift d = 0; d < NM_CGROUP_DRIFT_COUNT; d++) {
        int r = check_one(b, cg, expected, d);

        if (r < 0)
            return r;
        if (r > 0)
            mask |= 1 << d;
    }
    return mask;
}

/* ---- the slice's own limits ---------------------------------------------- */

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

    /* the administrator may change weights of the slice, so weights are not reported */
    return r < 0 ? r : r & (1 << NM_CGROUP_DRIFT_MEMORY_MAX | 1 << NM_CGROUP_DRIFT_MEMORY_LOW |
                            1 << NM_CGROUP_DRIFT_MEMORY_MIN);
}
