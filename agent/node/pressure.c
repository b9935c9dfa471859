/* SPDX-License-Identifier: Apache-2.0 */

/* Pressure events (PSI) of the node and of the slice. An event only requests a round with a fresh sample. The policy
 * decides on the sample, not on the event. */

#include "agent/node/sampling.h"

#include <assert.h>
#include <limits.h>
#include <sys/stat.h>

#include "util/log.h"

#define CPU_PSI_STALL_SHARE 4 /* fraction of the window; shorter stalls are normal, since idle-class tasks often wait */

struct nm_pressure {
    uint64_t slice_inode; /* inode of the watched slice */
    struct nm_psi_watch *node_memory, *slice_memory, *slice_cpu;
};

struct nm_pressure *nm_pressure_new(void)
{
    return calloc(1, sizeof(struct nm_pressure));
}

struct nm_pressure *nm_pressure_free(struct nm_pressure *p)
{
    if (!p)
        return NULL;
    (void)nm_psi_watch_free(p->node_memory);
    (void)nm_psi_watch_free(p->slice_memory);
    (void)nm_psi_watch_free(p->slice_cpu);
    free(p);
    return NULL;
}

static void on_memory_pressure(void *userdata)
{
    struct nm_manager *m = userdata;

    m->counters.pressure_events++;
    nm_round_request(m, NM_TRIGGER_PRESSURE);
}

static void on_cpu_pressure(void *userdata)
{
    struct nm_manager *m = userdata;

    m->counters.pressure_events++;
    nm_growth_probe_check_cpu(m);
}

static uint64_t inode_of(int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static void watch_slice(struct nm_manager *m)
{
    uint64_t stall = m->config->pressure_stall_usec, window = m->config->pressure_window_usec;

    m->pressure->slice_memory = nm_psi_watch_free(m->pressure->slice_memory);
    m->pressure->slice_cpu = nm_psi_watch_free(m->pressure->slice_cpu);
    m->pressure->slice_inode = inode_of(m->backend->slice_fd);
    if (m->backend->slice_fd < 0)
        return;
    (void)nm_psi_watch_new(m->event, m->backend->slice_fd, "memory.pressure", false, stall, window,
                           on_memory_pressure, m, &m->pressure->slice_memory);
    (void)nm_psi_watch_new(m->event, m->backend->slice_fd, "cpu.pressure", false,
                           window / CPU_PSI_STALL_SHARE, window, on_cpu_pressure, m, &m->pressure->slice_cpu);
}

/* Watches the pressure files of the new slice if the slice was recreated. A watch on a removed slice sends no more
 * events (psi.c). */
void nm_pressure_follow_slice(struct nm_manager *m)
{
    uint64_t inode = inode_of(m->backend->slice_fd);

    if (inode == 0 || inode == m->pressure->slice_inode)
        return;
    nm_debug("the slice was recreated: watching the pressure files of the new slice");
    watch_slice(m);
}

void nm_pressure_watch(struct nm_manager *m)
{
    uint64_t stall = m->config->pressure_stall_usec, window = m->config->pressure_window_usec;
    char path[PATH_MAX];

    m->pressure->node_memory = nm_psi_watch_free(m->pressure->node_memory);
    (void)snprintf(path, sizeof path, "%s/pressure/memory", m->proc_root);
    if (nm_psi_watch_new(m->event, AT_FDCWD, path, false, stall, window, on_memory_pressure, m,
                         &m->pressure->node_memory) < 0)
        nm_info("no memory pressure events from %s: nmd samples only once per period", path);
    watch_slice(m);
}
