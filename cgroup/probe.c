/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See backend.h. A feature exists if its file exists in the slice. Version numbers are not used, since vendors backport
 * features and administrators disable them. `nmctl status` prints the reasons after the feature's name and a colon.
 */

#include "cgroup/backend.h"

#include <assert.h>

#include "cgroup/attr.h"
#include "cgroup/limits.h"
#include "util/fileio.h"

struct probe {
    struct nm_cgroup_backend *b;
    char root_controllers[512];
    char slice_controllers[512];
    char enabled[512]; /* enabled for the slice's children */
    bool check_delegation;
};

static void set(struct nm_cgroup_backend *b, enum nm_cgroup_feature f, const char *missing)
{
    assert((unsigned)f < NM_CGROUP_FEATURE_COUNT);
    b->feature[f] = !missing;
    b->missing[f] = missing;
}

static void set_by_file(struct nm_cgroup_backend *b, enum nm_cgroup_feature f, const char *file,
                        const char *missing)
{
    set(b, f, nm_attr_exists(b->slice_fd, file) ? NULL : missing);
}

enum where { HERE, NOT_MOUNTED, NOT_DELEGATED };

static enum where find_controller(const struct probe *p, const char *name)
{
    if (!nm_attr_has_word(p->root_controllers, name))
        return NOT_MOUNTED;
    if (!nm_attr_has_word(p->slice_controllers, name))
        return NOT_DELEGATED;
    if (p->check_delegation && !nm_attr_has_word(p->enabled, name))
        return NOT_DELEGATED;
    return HERE;
}

/* /proc/swaps has one header line, then one line per device. */
static bool has_swap(const char *swaps)
{
    char text[4096];
    const char *second;
    int r = nm_read_file_at(AT_FDCWD, swaps, text, sizeof text, NULL);

    if (r < 0)
        return r == -E2BIG;
    second = strchr(text, '\n');
    return second && second[1] != '\0';
}

static void probe_memory(struct probe *p, const char *swaps)
{
    struct nm_cgroup_backend *b = p->b;
    enum where where = find_controller(p, "memory");

    if (where != HERE) {
        bool mounted = where != NOT_MOUNTED;

        set(b, NM_CGROUP_MEMORY_LIMITS,
            mounted ? "not enforced, because the memory controller isn't enabled for the slice; memory is measured "
                      "from /proc, without the memory that only sockets, memfd and tmpfs hold"
                    : "not enforced, because this cgroup2 mount has no memory controller; memory is measured from "
                      "/proc, without the memory that only sockets, memfd and tmpfs hold");
        set(b, NM_CGROUP_RECLAIM, "needs the memory controller");
        set(b, NM_CGROUP_SWAP, "needs the memory controller");
        return;
    }
    set(b, NM_CGROUP_MEMORY_LIMITS, NULL);
    set_by_file(b, NM_CGROUP_RECLAIM, "memory.reclaim",
                "this kernel has no memory.reclaim (needs Linux 5.19)");
    if (!has_swap(swaps))
        set(b, NM_CGROUP_SWAP, "no swap is configured");
    else
        set_by_file(b, NM_CGROUP_SWAP, "memory.swap.max",
                    "the kernel doesn't account swap to cgroups");
}

static void probe_cpu(struct probe *p, bool has_idle_property)
{
    struct nm_cgroup_backend *b = p->b;
    enum where where = find_controller(p, "cpu");

    if (where != HERE) {
        set(b, NM_CGROUP_CPU_WEIGHT,
            where == NOT_MOUNTED ? "not enforced, because this cgroup2 mount has no cpu controller"
                                 : "not enforced, because the cpu controller isn't enabled for the slice");
        set(b, NM_CGROUP_CPU_IDLE, "needs the cpu controller");
        return;
    }
    set(b, NM_CGROUP_CPU_WEIGHT, NULL);
    if (!nm_attr_exists(b->slice_fd, "cpu.idle"))
        set(b, NM_CGROUP_CPU_IDLE,
            "this kernel has no cpu.idle (needs Linux 5.15); weight 1 is used");
    else
        set(b, NM_CGROUP_CPU_IDLE,
            has_idle_property ? NULL
                              : "this systemd has no CPUWeight=idle (needs systemd 252); weight 1 is used");
}

static void probe_io(struct probe *p)
{
    switch (find_controller(p, "io")) {
    case HERE:
        set(p->b, NM_CGROUP_IO_WEIGHT,
            nm_limits_io_file(p->b->slice_fd) ? NULL
                                              : "this kernel has neither io.weight nor io.bfq.weight");
        break;
    case NOT_MOUNTED:
        set(p->b, NM_CGROUP_IO_WEIGHT, "not set, because this cgroup2 mount has no io controller");
        break;
    case NOT_DELEGATED:
        set(p->b, NM_CGROUP_IO_WEIGHT, "not set, because the io controller isn't enabled for the slice");
        break;
    }
    set(p->b, NM_CGROUP_NET_PRIORITY, "not set here");
}

static void probe_core(struct probe *p)
{
    struct nm_cgroup_backend *b = p->b;

    set_by_file(b, NM_CGROUP_FREEZE, "cgroup.freeze",
                "this kernel has no cgroup.freeze (needs Linux 5.2)");
    set_by_file(b, NM_CGROUP_KILL, "cgroup.kill",
                "this kernel has no cgroup.kill (needs Linux 5.14); processes are killed one by one");
    set_by_file(b, NM_CGROUP_PRESSURE, "memory.pressure",
                "pressure stall information is off (boot with psi=1)");
    switch (find_controller(p, "pids")) {
    case HERE:
        set(b, NM_CGROUP_PIDS, NULL);
        break;
    case NOT_MOUNTED:
        set(b, NM_CGROUP_PIDS, "not enforced, because this cgroup2 mount has no pids controller");
        break;
    case NOT_DELEGATED:
        set(b, NM_CGROUP_PIDS, "not enforced, because the pids controller isn't enabled for the slice");
        break;
    }
}

/* Reads a file. A missing file counts as a file that lists no controllers. */
static void read_or_empty(int dir_fd, const char *file, char *buf, size_t size)
{
    if (nm_read_file_at(dir_fd, file, buf, size, NULL) < 0)
        buf[0] = '\0';
}

void nm_probe_features(struct nm_cgroup_backend *b, const struct nm_probe_params *params)
{
    struct probe p = {.b = b, .check_delegation = params->check_delegation};

    assert(b->slice_fd >= 0 && params->root_fd >= 0 && params->swaps);
    read_or_empty(params->root_fd, "cgroup.controllers", p.root_controllers,
                  sizeof p.root_controllers);
    read_or_empty(b->slice_fd, "cgroup.controllers", p.slice_controllers,
                  sizeof p.slice_controllers);
    read_or_empty(b->slice_fd, "cgroup.subtree_control", p.enabled, sizeof p.enabled);
    probe_memory(&p, params->swaps);
    probe_cpu(&p, params->has_idle_property);
    probe_io(&p);
    probe_core(&p);
}
