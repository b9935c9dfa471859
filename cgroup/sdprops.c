/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See sdprops.h. UINT64_MAX means "infinity" to systemd in all of these, as NM_CGROUP_NONE does here.
 */

#include "cgroup/sdprops.h"

#include "cgroup/limits.h"

int nm_sdprops_string(sd_bus_message *m, const char *name, const char *value)
{
    return sd_bus_message_append(m, "(sv)", name, "s", value);
}

int nm_sdprops_u64(sd_bus_message *m, const char *name, uint64_t value)
{
    return sd_bus_message_append(m, "(sv)", name, "t", value);
}

int nm_sdprops_bool(sd_bus_message *m, const char *name, bool value)
{
    return sd_bus_message_append(m, "(sv)", name, "b", (int)value);
}

int nm_sdprops_pid(sd_bus_message *m, pid_t pid)
{
    return sd_bus_message_append(m, "(sv)", "PIDs", "au", 1, (uint32_t)pid);
}

static int accounting(sd_bus_message *m)
{
    int r = nm_sdprops_bool(m, "MemoryAccounting", true);

    if (r >= 0)
        r = nm_sdprops_bool(m, "CPUAccounting", true);
    if (r >= 0)
        r = nm_sdprops_bool(m, "TasksAccounting", true);
    return r;
}

/* CPUAccounting alone doesn't bring the cpu controller (cpu.stat exists without): a weight does. */
int nm_sdprops_controllers(sd_bus_message *m)
{
    int r = accounting(m);

    return r < 0 ? r : nm_sdprops_u64(m, "CPUWeight", 100);
}

static uint64_t cpu_weight(const struct nm_cgroup_limits *l, unsigned systemd_version)
{
    if (l->cpu_idle)
        return systemd_version >= 252 ? 0 : 1; /* 0 is CPUWeight=idle */
    return nm_limits_cpu_weight(l);
}

static uint64_t cpu_quota(const struct nm_cgroup_limits *l)
{
    uint64_t usec_per_sec;

    if (l->cpu_quota_millicores == NM_CGROUP_NONE ||
        __builtin_mul_overflow(l->cpu_quota_millicores, UINT64_C(1000), &usec_per_sec))
        return UINT64_MAX;
    return NM_MAX(usec_per_sec, UINT64_C(1000)); /* 0 is refused; 1 millicore is the kernel's least */
}

int nm_sdprops_limits(sd_bus_message *m, const struct nm_cgroup_limits *l, unsigned systemd_version)
{
    const struct {
        const char *name;
        uint64_t value;
    } props[] = {
        {"MemoryMax", l->memory_max_bytes},
        {"MemoryMin", l->memory_min_bytes},
        {"CPUWeight", cpu_weight(l, systemd_version)},
        {"CPUQuotaPerSecUSec", cpu_quota(l)},
        {"TasksMax", l->pids_max},
    };
    int r = accounting(m);

    for (size_t i = 0; r >= 0 && i < NM_ARRAY_SIZE(props); i++)
        r = nm_sdprops_u64(m, props[i].name, props[i].value);
    return r;
}
