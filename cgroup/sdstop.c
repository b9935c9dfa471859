/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Detects when other programs make systemd stop nmd's units. To the shim a stopped scope looks like a command that
 * received a SIGTERM; only systemd knows who requested it. systemd announces each job before it runs it. nmd itself
 * makes jobs only to start units (each has an operation then) and to remove empty units. So any other job on the scope
 * of a living container is a stop: `systemctl stop`, or a shutdown of the host. The slice may also be started, by a
 * unit that depends on it. For the slice the type of the job is therefore read; the job exists until all scopes have
 * been stopped.
 */

#include <assert.h>

#include "cgroup/systemd.h"
#include "util/log.h"

static void report_stop(const struct nm_systemd *s, const char *container_id)
{
    if (s->base.stopped_cb)
        s->base.stopped_cb(container_id, s->base.stopped_userdata);
}

static int on_job_type(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    const char *type;

    (void)error;
    if (!sd_bus_message_is_method_error(m, NULL) && sd_bus_message_read(m, "v", "s", &type) >= 0 &&
        (nm_streq(type, "stop") || nm_streq(type, "restart")))
        report_stop(userdata, NULL);
    return 0;
}

static void ask_for_type(struct nm_systemd *s, const char *job)
{
    sd_bus *bus = nm_sdbus_get(s->bus);
    int r = bus ? sd_bus_call_method_async(bus, NULL, NM_SDBUS_NAME, job, "org.freedesktop.DBus.Properties", "Get",
                                           on_job_type, s, "ss", NM_SDBUS_NAME ".Job", "JobType")
                : -ENOTCONN;

    if (r < 0)
        nm_debug("cgroup: can't ask systemd for the type of job %s: %s", job, strerror(-r));
}

void nm_sdstop_job_new(struct nm_systemd *s, const char *job, const char *unit)
{
    char id[NM_BACKEND_NAME_MAX];

    assert(job && unit);
    if (nm_sdop_is_under_way(s, unit))
        return;
    if (nm_streq(unit, s->base.slice))
        ask_for_type(s, job);
    else if (nm_cgroup_container_id(&s->base, unit, id, sizeof id) >= 0)
        report_stop(s, id);
}
