/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See limits.h. Quirks of the cpu controller: cpu.weight cannot be written while cpu.idle is 1 (EINVAL), so idle is
 * switched first, and an idle group gets no weight at all. A quota below 1 ms, which is 1 % of the period, is EINVAL.
 */

#include "cgroup/limits.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>

#include "cgroup/attr.h"

#define PERIOD_USEC (100 * NM_USEC_PER_MSEC) /* the kernel's own default */
#define QUOTA_STEP_MILLICORES 10

uint64_t nm_limits_cpu_quota(uint64_t millicores)
{
    uint64_t steps;

    /* No machine has 2^40 millicores; a larger value means no limit and must not overflow. */
    if (millicores >= UINT64_C(1) << 40)
        return NM_CGROUP_NONE;
    steps = (millicores + QUOTA_STEP_MILLICORES - 1) / QUOTA_STEP_MILLICORES;
    return NM_MAX(steps, UINT64_C(1)) * QUOTA_STEP_MILLICORES;
}

uint32_t nm_limits_cpu_weight(const struct nm_cgroup_limits *l)
{
    return NM_MIN(NM_MAX(l->cpu_weight, UINT32_C(1)), UINT32_C(10000));
}

struct list {
    struct nm_limits_file *out;
    size_t n;
};

static void nm_printf(4, 5)
    add(struct list *l, const char *controller, const char *file, const char *format, ...)
{
    struct nm_limits_file *f = &l->out[l->n++];
    va_list ap;

    assert(l->n <= NM_LIMITS_MAX_FILES);
    f->controller = controller;
    f->file = file;
    va_start(ap, format);
    (void)vsnprintf(f->text, sizeof f->text, format, ap);
    va_end(ap);
}

static void add_maximum(struct list *l, const char *controller, const char *file, uint64_t v)
{
    if (v == NM_CGROUP_NONE)
        add(l, controller, file, "max");
    else
        add(l, controller, file, "%" PRIu64, v);
}

static void add_cpu(struct list *list, const struct nm_cgroup_limits *l, bool has_idle)
{
    uint64_t millicores = nm_limits_cpu_quota(l->cpu_quota_millicores);

    if (has_idle)
        add(list, "cpu", "cpu.idle", "%d", l->cpu_idle);
    if (!l->cpu_idle)
        add(list, "cpu", "cpu.weight", "%" PRIu32, nm_limits_cpu_weight(l));
    else if (!has_idle)
        add(list, "cpu", "cpu.weight", "1"); /* the closest approximation of idle on an older kernel */
    if (millicores == NM_CGROUP_NONE)
        add(list, "cpu", "cpu.max", "max %" PRIu64, PERIOD_USEC);
    else
        add(list, "cpu", "cpu.max", "%" PRIu64 " %" PRIu64, millicores * PERIOD_USEC / 1000,
            PERIOD_USEC);
}

size_t nm_limits_files(const struct nm_cgroup_limits *l, bool has_idle,
                       struct nm_limits_file out[NM_LIMITS_MAX_FILES])
{
    struct list list = {.out = out};

    assert(l && out);
    add_maximum(&list, "memory", "memory.low", l->memory_low_bytes);
    add_maximum(&list, "memory", "memory.min", l->memory_min_bytes);
    add_maximum(&list, "memory", "memory.max", l->memory_max_bytes);
    add(&list, "memory", "memory.oom.group", "%d", l->oom_group);
    add_cpu(&list, l, has_idle);
    add_maximum(&list, "pids", "pids.max", l->pids_max);
    return list.n;
}

/* io.weight and io.bfq.weight have the same format and, up to 100, the same scale. io.weight works only with io.cost,
 * io.bfq.weight only with the BFQ scheduler. */
const char *nm_limits_io_file(int dir_fd)
{
    static const char *const files[] = {"io.weight", "io.bfq.weight"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(files); i++)
        if (nm_attr_exists(dir_fd, files[i]))
            return files[i];
    return NULL;
}
