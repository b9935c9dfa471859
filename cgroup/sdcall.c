/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See sdcall.h. UINT64_MAX means "infinity" to systemd in all number properties, as NM_CGROUP_NONE
 * does here.
 */

#include "cgroup/sdcall.h"

#include <assert.h>
#include <fcntl.h>

#include "cgroup/devices.h"
#include "cgroup/limits.h"
#include "cgroup/sdbus.h"
#include "util/fileio.h"

#define PROC_DEVICES_MAX (16u << 10)

static int append_string(sd_bus_message *m, const char *name, const char *value)
{
    return sd_bus_message_append(m, "(sv)", name, "s", value);
}

static int append_u64(sd_bus_message *m, const char *name, uint64_t value)
{
    return sd_bus_message_append(m, "(sv)", name, "t", value);
}

static int append_bool(sd_bus_message *m, const char *name, bool value)
{
    return sd_bus_message_append(m, "(sv)", name, "b", (int)value);
}

static int append_pid(sd_bus_message *m, pid_t pid)
{
    /* PIDs is the only way to put a process into a scope */
    return sd_bus_message_append(m, "(sv)", "PIDs", "au", 1, (uint32_t)pid);
}

static int accounting(sd_bus_message *m)
{
    int r = append_bool(m, "MemoryAccounting", true);

    if (r >= 0)
        r = append_bool(m, "CPUAccounting", true);
    if (r >= 0)
        r = append_bool(m, "TasksAccounting", true);
    if (r >= 0)
        r = append_bool(m, "IOAccounting", true);
    return r;
}

/* CPUAccounting alone does not enable the cpu controller (cpu.stat exists without it), but a weight does. */
static int append_controllers(sd_bus_message *m)
{
    int r = accounting(m);

    return r < 0 ? r : append_u64(m, "CPUWeight", 100);
}

static uint64_t cpu_weight(const struct nm_cgroup_limits *l,
                           const struct nm_sdcall_properties *properties)
{
    if (l->cpu_idle)
        return properties->has_cpu_idle ? 0 : 1; /* 0 means CPUWeight=idle */
    return nm_limits_cpu_weight(l);
}

static uint64_t cpu_quota_usec_per_sec(const struct nm_cgroup_limits *l)
{
    uint64_t millicores = nm_limits_cpu_quota(l->cpu_quota_millicores);

    return millicores == NM_CGROUP_NONE ? UINT64_MAX : millicores * 1000;
}

/* Appends all limits, and the accounting properties without which systemd would not enable the controllers. */
static int append_limits(sd_bus_message *m, const struct nm_cgroup_limits *l,
                         const struct nm_sdcall_properties *properties)
{
    const struct {
        const char *name;
        uint64_t value;
    } props[] = {
        {"MemoryMax", l->memory_max_bytes},
        {"MemoryLow", l->memory_low_bytes},
        {"MemoryMin", l->memory_min_bytes},
        {"CPUWeight", cpu_weight(l, properties)},
        {"CPUQuotaPerSecUSec", cpu_quota_usec_per_sec(l)},
        {"TasksMax", l->pids_max},
    };
    int r = accounting(m);

    assert(l && properties);
    for (size_t i = 0; r >= 0 && i < NM_ARRAY_SIZE(props); i++)
        r = append_u64(m, props[i].name, props[i].value);
    if (r >= 0 && l->io_weight > 0)
        r = append_u64(m, "IOWeight", l->io_weight);
    return r;
}

static int new_call(sd_bus *bus, const char *method, sd_bus_message **ret)
{
    return sd_bus_message_new_method_call(bus, ret, NM_SDBUS_NAME, NM_SDBUS_PATH, NM_SDBUS_MANAGER,
                                          method);
}

static int append_device(void *userdata, const char *device, const char *permissions)
{
    return sd_bus_message_append(userdata, "(ss)", device, permissions);
}

/* Appends the list of accessible devices. The policy "closed" denies all devices that are not in the list, except
 * /dev/null and similar ones. */
static int append_devices(sd_bus_message *m, const struct nm_cgroup_devices *d)
{
    char drivers[PROC_DEVICES_MAX];
    size_t size;
    int r = nm_read_file_at(AT_FDCWD, "/proc/devices", drivers, sizeof drivers, &size);

    if (r >= 0)
        r = append_string(m, "DevicePolicy", "closed");
    if (r >= 0)
        r = sd_bus_message_open_container(m, SD_BUS_TYPE_STRUCT, "sv");
    if (r >= 0)
        r = sd_bus_message_append(m, "s", "DeviceAllow");
    if (r >= 0)
        r = sd_bus_message_open_container(m, SD_BUS_TYPE_VARIANT, "a(ss)");
    if (r >= 0)
        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "(ss)");
    if (r >= 0)
        r = nm_devices_list(d, drivers, append_device, m);
    for (unsigned i = 0; r >= 0 && i < 3; i++)
        r = sd_bus_message_close_container(m);
    return r;
}

static int append_scope(sd_bus_message *m, const struct nm_sdcall_scope *scope,
                        const struct nm_sdcall_properties *properties)
{
    int r = append_string(m, "Description", scope->description);

    if (r >= 0)
        r = append_string(m, "Slice", scope->slice);
    if (r >= 0)
        r = append_pid(m, scope->pid);
    /* Unload the unit when its last process ends, even if the OOM killer ended this process, because nmd keeps its own
     * records. */
    if (r >= 0)
        r = append_string(m, "CollectMode", "inactive-or-failed");
    /* The default ("stop") would stop the shim when one process of its scope was killed. nmd needs only the kernel's
     * group kill. */
    if (r >= 0 && properties->has_scope_oom_policy)
        r = append_string(m, "OOMPolicy", "continue");
    if (r >= 0)
        r = append_limits(m, scope->limits, properties);
    if (r >= 0 && scope->limits->devices.restricts)
        r = append_devices(m, &scope->limits->devices);
    return r;
}

/* Starts a transient unit: the scope, or with scope NULL the slice. */
static int start_transient(sd_bus *bus, const char *unit, const struct nm_sdcall_scope *scope,
                           const struct nm_sdcall_properties *properties, sd_bus_message **ret)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    int r = new_call(bus, "StartTransientUnit", &m);

    if (r >= 0)
        r = sd_bus_message_append(m, "ss", unit, "fail");
    if (r >= 0)
        r = sd_bus_message_open_container(m, 'a', "(sv)");
    if (r >= 0)
        r = scope ? append_scope(m, scope, properties) : append_controllers(m);
    if (r >= 0 && !scope)
        r = append_string(m, "Description", "Containers of nmd");
    if (r >= 0)
        r = sd_bus_message_close_container(m);
    if (r >= 0)
        r = sd_bus_message_append(m, "a(sa(sv))", 0);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(m);
    return 0;
}

int nm_sdcall_start_scope(sd_bus *bus, const struct nm_sdcall_scope *scope,
                          const struct nm_sdcall_properties *properties, sd_bus_message **ret)
{
    assert(scope->pid > 1 && scope->unit && scope->slice && scope->description && scope->limits && properties);
    return start_transient(bus, scope->unit, scope, properties, ret);
}

int nm_sdcall_start_slice(sd_bus *bus, const char *slice, sd_bus_message **ret)
{
    return start_transient(bus, slice, NULL, NULL, ret);
}

/* Builds a call of a method for a unit. With mode NULL the method takes only the unit. */
static int unit_call(sd_bus *bus, const char *method, const char *unit, const char *mode,
                     sd_bus_message **ret)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    int r = new_call(bus, method, &m);

    if (r >= 0)
        r = sd_bus_message_append(m, "s", unit);
    if (r >= 0 && mode)
        r = sd_bus_message_append(m, "s", mode);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(m);
    return 0;
}

int nm_sdcall_start_unit(sd_bus *bus, const char *unit, sd_bus_message **ret)
{
    return unit_call(bus, "StartUnit", unit, "fail", ret);
}

int nm_sdcall_stop_unit(sd_bus *bus, const char *unit, sd_bus_message **ret)
{
    return unit_call(bus, "StopUnit", unit, "fail", ret);
}

int nm_sdcall_reset_failed(sd_bus *bus, const char *unit, sd_bus_message **ret)
{
    return unit_call(bus, "ResetFailedUnit", unit, NULL, ret);
}

/* runtime = true keeps the values in /run, where daemon-reload finds them. */
int nm_sdcall_set_limits(sd_bus *bus, const char *unit, const struct nm_cgroup_limits *limits,
                         const struct nm_sdcall_properties *properties, sd_bus_message **ret)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    int r = new_call(bus, "SetUnitProperties", &m);

    if (r >= 0)
        r = sd_bus_message_append(m, "sb", unit, true);
    if (r >= 0)
        r = sd_bus_message_open_container(m, 'a', "(sv)");
    if (r >= 0)
        r = limits ? append_limits(m, limits, properties) : append_controllers(m);
    if (r >= 0)
        r = sd_bus_message_close_container(m);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(m);
    return 0;
}

int nm_sdcall_ping(sd_bus *bus, sd_bus_message **ret)
{
    return sd_bus_message_new_method_call(bus, ret, NM_SDBUS_NAME, NM_SDBUS_PATH,
                                          "org.freedesktop.DBus.Peer", "Ping");
}
