/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The systemd backend: every container is a transient scope in the slice.
 *
 * Limits are set as systemd's properties, because systemd overwrites other values, at daemon-reload at the latest.
 * Operations for which systemd has no property (freeze, kill, reclaim) write the files directly, in cgroup.c and
 * kill.c.
 *
 * Startup is synchronous, because all other operations need the slice. No later operation blocks.
 */

#include <assert.h>
#include <systemd/sd-daemon.h>

#include "cgroup/sdcall.h"
#include "cgroup/systemd.h"
#include "util/log.h"
#include "util/parse.h"

#define START_TIMEOUT_USEC (30 * NM_USEC_PER_SEC) /* the machine may be booting */
#define STOP_TIMEOUT_USEC (5 * NM_USEC_PER_SEC)

static struct nm_systemd *systemd_of(const struct nm_cgroup_backend *b)
{
    return (struct nm_systemd *)b; /* base is the first member */
}

/* ---- the ops table --------------------------------------------------------------------------- */

static int systemd_create(struct nm_cgroup_backend *b, const char *container_id,
                          const char *description, pid_t pid,
                          const struct nm_cgroup_limits *limits,
                          nm_cgroup_done_cb_t cb, void *userdata)
{
    char unit[NM_BACKEND_NAME_MAX];
    int r = nm_backend_scope_name(b, container_id, unit);

    assert(pid > 1 && limits && cb);
    return r < 0 ? r : nm_sdop_create(systemd_of(b), unit, description, pid, limits, cb, userdata);
}

static int systemd_set_limits(struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                              const struct nm_cgroup_limits *limits,
                              nm_cgroup_done_cb_t cb, void *userdata)
{
    assert(cg && cg->dir_fd >= 0 && limits);
    return nm_sdop_set(systemd_of(b), cg, cg->name, limits, cb, userdata);
}

static int systemd_set_slice_limits(struct nm_cgroup_backend *b,
                                    const struct nm_cgroup_limits *limits,
                                    nm_cgroup_done_cb_t cb, void *userdata)
{
    struct nm_systemd *s = systemd_of(b);

    s->slice_limits = *limits;
    s->has_slice_limits = true;
    return nm_sdop_set(s, NULL, b->slice, limits, cb, userdata);
}

typedef int (*build_t)(sd_bus *bus, const char *unit, sd_bus_message **ret);

/* Sends a call to the manager and ignores the answer. */
static int send_call(struct nm_systemd *s, build_t build, const char *unit)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);
    int r = bus ? build(bus, unit, &m) : -ENOTCONN;

    if (r >= 0)
        r = sd_bus_message_set_expect_reply(m, false);
    if (r >= 0)
        r = sd_bus_send(bus, m, NULL);
    return r < 0 ? r : 0;
}

/* systemd removes an empty scope without a request, and CollectMode= makes systemd unload a failed scope. A scope that
 * still exists either waits for systemd to notice that it is empty, or became empty while systemd was not watching. */
static int systemd_remove(struct nm_cgroup_backend *b, const struct nm_cgroup *cg)
{
    struct nm_systemd *s = systemd_of(b);
    struct nm_cgroup_events events;
    int r;

    assert(cg && cg->dir_fd >= 0);
    r = nm_cgroup_read_events(cg, &events);
    if (r < 0 && r != -ENOENT)
        return r;
    if (r >= 0 && events.populated)
        return -EBUSY;
    nm_sdoom_release(s, cg->name);
    if (r == -ENOENT)
        return 0;
    r = send_call(s, nm_sdcall_stop_unit, cg->name);
    return r < 0 ? r : send_call(s, nm_sdcall_reset_failed, cg->name);
}

struct list_call {
    struct nm_systemd *s;
    nm_cgroup_list_cb_t cb;
    void *userdata;
};

static void on_listed(struct nm_cgroup *cg, const char *container_id, void *userdata)
{
    struct list_call *call = userdata;

    nm_sdoom_adopt(call->s, cg);
    call->cb(cg, container_id, call->userdata);
}

static int systemd_list(struct nm_cgroup_backend *b, nm_cgroup_list_cb_t cb, void *userdata)
{
    struct list_call call = {.s = systemd_of(b), .cb = cb, .userdata = userdata};

    return nm_backend_list(b, on_listed, &call);
}

/* Waits for the reply: before systemd acts it asks the bus for the sender's identity, and the sender must still be
 * connected at that time. */
static void stop_slice(struct nm_systemd *s)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);

    if (bus && nm_sdcall_stop_unit(bus, s->base.slice, &m) >= 0)
        (void)sd_bus_call(bus, m, STOP_TIMEOUT_USEC, NULL, NULL);
}

static void systemd_free(struct nm_cgroup_backend *b)
{
    struct nm_systemd *s = systemd_of(b);

    nm_sdop_cancel_all(s);
    if (s->is_transient && b->slice_fd >= 0 && nm_backend_slice_is_empty(b))
        stop_slice(s);
    sd_event_source_disable_unref(s->tick);
    nm_sdbus_free(s->bus);
    nm_sdoom_free_all(s);
    sd_event_unref(s->event);
    free(s->root);
    nm_backend_done(b);
    free(s);
}

static int systemd_attach_helper(struct nm_cgroup_backend *b, const char *name, pid_t pid,
                                 const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata)
{
    char unit[NM_BACKEND_NAME_MAX];
    int r = nm_backend_helper_name(b, name, unit);

    assert(pid > 1 && limits && cb);
    return r < 0 ? r : nm_sdop_attach_helper(systemd_of(b), unit, pid, limits, cb, userdata);
}

static const struct nm_cgroup_ops systemd_ops = {
    .name = "systemd",
    .set_slice_limits = systemd_set_slice_limits,
    .create = systemd_create,
    .set_limits = systemd_set_limits,
    .remove = systemd_remove,
    .list = systemd_list,
    .attach_helper = systemd_attach_helper,
    .free = systemd_free,
};

/*
 * ---- stops by other programs -----------------------------------------------------------------
 *
 * Detects when other programs make systemd stop nmd's units. To the shim a stopped scope looks like a command that
 * received a SIGTERM; only systemd knows who requested it. systemd emits the signal JobNew before a job runs. nmd's own
 * jobs start units, or remove empty units; nm_sdop_is_pending() recognizes the starts. Any other job on the scope of a
 * live container is a stop: `systemctl stop`, or a shutdown of the host. A job on the slice can also be a start,
 * requested by a unit that depends on the slice. Therefore nmd reads the type of such a job. The job still exists then,
 * because systemd completes it only after all scopes have stopped.
 */

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

static void read_job_type(struct nm_systemd *s, const char *job, const char *unit)
{
    char id[NM_BACKEND_NAME_MAX];

    assert(job && unit);
    if (nm_sdop_is_pending(s, unit))
        return;
    if (nm_streq(unit, s->base.slice))
        ask_for_type(s, job);
    else if (nm_cgroup_container_id(&s->base, unit, id, sizeof id) >= 0)
        report_stop(s, id);
}

/* ---- synchronous opening --------------------------------------------------------------------- */

static void on_job_new(const char *job, const char *unit, void *userdata)
{
    read_job_type(userdata, job, unit);
}

static void on_job_removed(const char *job, const char *unit, const char *result, void *userdata)
{
    nm_sdop_job_removed(userdata, job, unit, result);
}

static void on_reloaded(void *userdata)
{
    nm_sdoom_restore(userdata);
}

static void on_up(void *userdata)
{
    nm_sdoom_restore(userdata); /* a different systemd may be running now */
    nm_sdop_manager_available(userdata);
}

struct startup {
    bool done;
    int result;
    char *message;
};

static void on_slice_started(int r, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct startup *st = userdata;

    (void)cg;
    st->done = true;
    st->result = r;
    st->message = message ? strdup(message) : NULL;
}

static int start_slice(struct nm_systemd *s, char **ret_message)
{
    struct startup st = {0};
    _cleanup_free_ char *message = NULL;
    int r = nm_sdop_start_slice(s, on_slice_started, &st);

    if (r >= 0)
        r = nm_sdbus_run_until(s->bus, &st.done, START_TIMEOUT_USEC);
    nm_sdop_cancel_all(s); /* ends the operation that uses st */
    message = st.message;
    if (st.done)
        r = st.result;
    if (r < 0)
        return nm_fail(ret_message, r, "can't start %s: %s", s->base.slice,
                       message ? message : strerror(-r));
    return 0;
}

/* An installed slice may lack the properties that make systemd enable the controllers. Reading a property afterwards
 * (find_slice) is a round trip, after which systemd has written the files that the probe reads. */
static int enable_controllers(struct nm_systemd *s)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);
    int r = bus ? nm_sdcall_set_limits(bus, s->base.slice, NULL, &s->properties, &m) : -ENOTCONN;

    return r < 0 ? r : sd_bus_call(bus, m, START_TIMEOUT_USEC, NULL, NULL);
}

static int find_slice(struct nm_systemd *s)
{
    _cleanup_free_ char *path = NULL, *group = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);
    int transient = 0;
    int r;

    if (!bus)
        return -ENOTCONN;
    r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", s->base.slice, &path);
    if (r >= 0)
        r = sd_bus_get_property_string(bus, NM_SDBUS_NAME, path, "org.freedesktop.systemd1.Slice",
                                       "ControlGroup", NULL, &group);
    if (r >= 0)
        r = sd_bus_get_property_trivial(bus, NM_SDBUS_NAME, path, "org.freedesktop.systemd1.Unit",
                                        "Transient", NULL, 'b', &transient);
    if (r < 0)
        return r;
    s->is_transient = transient != 0;
    if (asprintf(&s->base.slice_path, "%s%s", s->root, group) < 0) {
        s->base.slice_path = NULL;
        return -ENOMEM;
    }
    return nm_backend_open_slice(&s->base);
}

/* Determines the supported properties from systemd's version, such as "252.36-1~deb12u1" or "255". A version without a
 * number counts as old. */
static int choose_properties(struct nm_systemd *s)
{
    _cleanup_free_ char *text = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);
    uint64_t version = 0;
    const char *digits;
    int r = bus ? sd_bus_get_property_string(bus, NM_SDBUS_NAME, NM_SDBUS_PATH, NM_SDBUS_MANAGER,
                                             "Version", NULL, &text)
                : -ENOTCONN;

    if (r < 0)
        return r;
    digits = text + strcspn(text, "0123456789");
    (void)nm_parse_digits(&digits, &version);
    s->properties.has_cpu_idle = version >= 252;
    s->properties.has_scope_oom_policy = true; /* assumed until systemd rejects the property */
    return 0;
}

static int probe(struct nm_systemd *s)
{
    struct nm_probe_params params = {.swaps = "/proc/swaps",
                                     .has_idle_property = s->properties.has_cpu_idle};
    _cleanup_close_ int root_fd = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (root_fd < 0)
        return -errno;
    params.root_fd = root_fd;
    nm_probe_features(&s->base, &params);
    nm_netprio_probe(&s->base);
    return 0;
}

static int open_connection(struct nm_systemd *s, char **ret_message)
{
    static const struct nm_sdbus_events events = {
        .job_new = on_job_new, .job_removed = on_job_removed, .reloaded = on_reloaded, .up = on_up};
    int r = nm_sdbus_new(s->event, s->base.user_manager, &events, s, &s->bus);

    if (r >= 0)
        r = choose_properties(s);
    if (r < 0)
        return nm_fail(ret_message, r, "no connection to the systemd %s manager: %s",
                       s->base.user_manager ? "user" : "system", strerror(-r));
    return 0;
}

static int open_slice(struct nm_systemd *s, char **ret_message)
{
    int r = start_slice(s, ret_message);

    if (r < 0)
        return r;
    r = enable_controllers(s);
    if (r >= 0)
        r = find_slice(s);
    if (r >= 0)
        r = probe(s);
    if (r < 0)
        return nm_fail(ret_message, r, "can't set up the cgroup of %s: %s", s->base.slice, strerror(-r));
    return 0;
}

static void cleanup_systemd(struct nm_systemd **s)
{
    if (*s)
        systemd_free(&(*s)->base);
}

int nm_cgroup_systemd_is_available(void)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    _cleanup_free_ char *path = NULL;

    if (sd_booted() <= 0)
        return 0;
    if (geteuid() == 0)
        return 1;
    if (!runtime || asprintf(&path, "%s/systemd/private", runtime) < 0)
        return 0;
    return access(path, F_OK) == 0;
}

/* Connects to systemd. The connection does not change the host. */
static int connect_for(const struct nm_backend_host *host, struct nm_systemd **ret, char **ret_message)
{
    _cleanup_(cleanup_systemd) struct nm_systemd *s = NULL;
    int r;

    assert(host->slice && host->root);
    if (!host->event)
        return nm_fail(ret_message, -EINVAL, "the systemd backend needs an event loop");
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->event = sd_event_ref(host->event);
    s->base.user_manager = geteuid() != 0;
    s->base.restricts_devices = !s->base.user_manager; /* only root may load the BPF program that filters devices */
    s->base.reports_stops = true;
    r = nm_backend_init(&s->base, &systemd_ops, host->slice);
    if (r < 0)
        return r;
    s->root = strdup(host->root);
    if (!s->root)
        return -ENOMEM;
    r = open_connection(s, ret_message);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(s);
    return 0;
}

int nm_cgroup_systemd_check(const struct nm_backend_host *host, char **ret_message)
{
    _cleanup_(cleanup_systemd) struct nm_systemd *s = NULL;

    return connect_for(host, &s, ret_message);
}

int nm_cgroup_systemd_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                          char **ret_message)
{
    _cleanup_(cleanup_systemd) struct nm_systemd *s = NULL;
    int r = connect_for(host, &s, ret_message);

    assert(ret);
    if (r >= 0)
        r = open_slice(s, ret_message);
    if (r >= 0)
        r = nm_sdop_attach(s);
    if (r >= 0)
        r = nm_sdbus_attach(s->bus);
    if (r < 0)
        return r;
    *ret = &STEAL_PTR(s)->base;
    return 0;
}
