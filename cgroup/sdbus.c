/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See sdbus.h. The bus is preferred. Without a bus (a minimal host) root talks to systemd's own socket, as systemctl
 * does. Both connections break from time to time: daemon-reexec drops connections to the socket, and removes systemd's
 * name from the bus for a moment. During this moment the bus itself answers calls with errors.
 *
 * The connection is reported as up only when the manager has answered Subscribe: a connected socket does not show that
 * the manager works.
 */

#include "cgroup/sdbus.h"

#include <assert.h>
#include <errno.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/macros.h"

#define RETRY_MIN_USEC (50 * NM_USEC_PER_MSEC)
#define RETRY_MAX_USEC (5 * NM_USEC_PER_SEC)

struct nm_sdbus {
    sd_event *event;
    bool user;
    bool attached; /* connections are attached to the event loop */
    sd_bus *bus;   /* the slots of the bus are floating: they are freed with the bus */
    sd_event_source *retry; /* timer, which is off unless a retry is due */
    uint64_t retry_usec;
    const struct nm_sdbus_events *events;
    void *userdata;
};

static const struct {
    const char *name;
    int r;
} error_names[] = {
    {"org.freedesktop.systemd1.UnitExists", -EEXIST},
    {"org.freedesktop.systemd1.NoSuchUnit", -ENOENT},
    {"org.freedesktop.systemd1.UnitMasked", -EPERM},
    {"org.freedesktop.systemd1.ShuttingDown", -ESHUTDOWN},
    {"org.freedesktop.systemd1.TransactionIsDestructive", -ESHUTDOWN},
    {"org.freedesktop.DBus.Error.LimitsExceeded", -EAGAIN},
    {"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", -EACCES},
};

/* Maps the error names that need special treatment; sd-bus maps the names of errno values. */
int nm_sdbus_errno(const sd_bus_error *e)
{
    int n;

    for (size_t i = 0; i < NM_ARRAY_SIZE(error_names); i++)
        if (sd_bus_error_has_name(e, error_names[i].name))
            return error_names[i].r;
    n = sd_bus_error_get_errno(e);
    return n > 0 ? -n : -EIO;
}

bool nm_sdbus_is_transient(const sd_bus_error *e)
{
    static const char *const names[] = {
        SD_BUS_ERROR_NO_REPLY,          SD_BUS_ERROR_DISCONNECTED, SD_BUS_ERROR_SERVICE_UNKNOWN,
        SD_BUS_ERROR_NAME_HAS_NO_OWNER, SD_BUS_ERROR_NO_SERVER,    SD_BUS_ERROR_TIMEOUT,
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++)
        if (sd_bus_error_has_name(e, names[i]))
            return true;
    /* The bus tries to "start" systemd while systemd's name is missing. */
    return e->name && strncmp(e->name, "org.freedesktop.DBus.Error.Spawn.", 33) == 0;
}

static int on_job_new(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct nm_sdbus *s = userdata;
    const char *job, *unit;
    uint32_t id;
    int r = sd_bus_message_read(m, "uos", &id, &job, &unit);

    (void)error;
    if (r >= 0)
        s->events->job_new(job, unit, s->userdata);
    return 0;
}

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct nm_sdbus *s = userdata;
    const char *job, *unit, *result;
    uint32_t id;
    int r = sd_bus_message_read(m, "uoss", &id, &job, &unit, &result);

    (void)error;
    if (r >= 0)
        s->events->job_removed(job, unit, result, s->userdata);
    return 0;
}

/* systemd sends the signal at the beginning and at the end of a daemon-reload. Only at the end has systemd written the
 * properties again. */
static int on_reloading(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct nm_sdbus *s = userdata;
    int active = 1;

    (void)error;
    if (sd_bus_message_read(m, "b", &active) >= 0 && !active)
        s->events->reloaded(s->userdata);
    return 0;
}

/* Doubles the delay each time, since systemd may be busy with its start. This function cannot fail: if a retry was lost
 * for lack of memory, no other retry would follow. */
static void retry_later(struct nm_sdbus *s)
{
    int enabled = SD_EVENT_OFF;

    (void)sd_event_source_get_enabled(s->retry, &enabled);
    if (enabled != SD_EVENT_OFF)
        return;
    (void)sd_event_source_set_time_relative(s->retry, s->retry_usec);
    (void)sd_event_source_set_enabled(s->retry, SD_EVENT_ONESHOT);
    s->retry_usec = NM_MIN(s->retry_usec * 2, RETRY_MAX_USEC);
}

static int on_subscribed(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct nm_sdbus *s = userdata;
    const sd_bus_error *e = sd_bus_message_get_error(m);

    (void)error;
    if (e && nm_sdbus_is_transient(e)) {
        /* the return of systemd's name also causes a retry, but the name never disappears if systemd was only slow */
        retry_later(s);
        return 0;
    }
    /* The manager itself sent any other error, such as "already subscribed". */
    (void)sd_event_source_set_enabled(s->retry, SD_EVENT_OFF);
    s->retry_usec = RETRY_MIN_USEC;
    s->events->up(s->userdata);
    return 0;
}

static int subscribe(struct nm_sdbus *s)
{
    return sd_bus_call_method_async(s->bus, NULL, NM_SDBUS_NAME, NM_SDBUS_PATH, NM_SDBUS_MANAGER,
                                    "Subscribe", on_subscribed, s, NULL);
}

static int on_owner_changed(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    const char *name, *old, *new;
    int r = sd_bus_message_read(m, "sss", &name, &old, &new);

    (void)error;
    if (r >= 0 && *new && subscribe(userdata) < 0)
        retry_later(userdata);
    return 0;
}

/* ---- opening and reopening ------------------------------------------------------------------- */

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    (void)m;
    (void)error;
    /* Do not close the connection here: a function further up the stack still uses it. */
    retry_later(userdata);
    return 0;
}

/* systemd's own socket is open only to root, and exists without a bus daemon. */
static int open_private(bool user, sd_bus **ret)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
    _cleanup_free_ char *address = NULL;
    int r;

    if (user && !runtime)
        return -ENOENT;
    if (asprintf(&address, "unix:path=%s/systemd/private", user ? runtime : "/run") < 0) {
        address = NULL;
        return -ENOMEM;
    }
    r = sd_bus_new(&bus);
    if (r >= 0)
        r = sd_bus_set_address(bus, address);
    if (r >= 0)
        r = sd_bus_start(bus);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(bus);
    return 0;
}

static int set_up(struct nm_sdbus *s)
{
    /* messages on the private socket have no sender and no names */
    bool has_names = sd_bus_is_bus_client(s->bus) > 0;
    const char *sender = has_names ? NM_SDBUS_NAME : NULL;
    int r;

    (void)sd_bus_set_exit_on_disconnect(s->bus, false);
    r = sd_bus_match_signal(s->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                            "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, s);
    if (r >= 0)
        r = sd_bus_match_signal_async(s->bus, NULL, sender, NM_SDBUS_PATH, NM_SDBUS_MANAGER,
                                      "JobNew", on_job_new, NULL, s);
    if (r >= 0)
        r = sd_bus_match_signal_async(s->bus, NULL, sender, NM_SDBUS_PATH, NM_SDBUS_MANAGER,
                                      "JobRemoved", on_job_removed, NULL, s);
    if (r >= 0)
        r = sd_bus_match_signal_async(s->bus, NULL, sender, NM_SDBUS_PATH, NM_SDBUS_MANAGER,
                                      "Reloading", on_reloading, NULL, s);
    if (r >= 0 && has_names)
        r = sd_bus_add_match_async(s->bus, NULL,
                                   "type='signal',sender='org.freedesktop.DBus',"
                                   "path='/org/freedesktop/DBus',"
                                   "interface='org.freedesktop.DBus',member='NameOwnerChanged',"
                                   "arg0='" NM_SDBUS_NAME "'",
                                   on_owner_changed, NULL, s);
    if (r >= 0)
        r = subscribe(s);
    if (r >= 0 && s->attached)
        r = sd_bus_attach_event(s->bus, s->event, SD_EVENT_PRIORITY_NORMAL);
    return r;
}

static int connect_bus(struct nm_sdbus *s)
{
    int r = s->user ? sd_bus_open_user(&s->bus) : sd_bus_open_system(&s->bus);

    if (r < 0)
        r = open_private(s->user, &s->bus);
    if (r >= 0)
        r = set_up(s);
    if (r < 0)
        s->bus = sd_bus_close_unref(s->bus);
    return r;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_sdbus *s = userdata;
    int r;

    (void)source;
    (void)usec;
    s->bus = sd_bus_close_unref(s->bus);
    r = connect_bus(s);
    if (r < 0) {
        nm_debug("cgroup: no connection to systemd yet: %s", strerror(-r));
        retry_later(s);
    }
    return 0;
}

/* The timer is off until a retry is due. */
static int make_retry(struct nm_sdbus *s)
{
    int r = sd_event_add_time_relative(s->event, &s->retry, CLOCK_MONOTONIC, 0, 0, on_retry, s);

    if (r < 0)
        return r;
    (void)sd_event_source_set_description(s->retry, "systemd-reconnect");
    return sd_event_source_set_enabled(s->retry, SD_EVENT_OFF);
}

int nm_sdbus_new(sd_event *event, bool user, const struct nm_sdbus_events *events, void *userdata,
                 struct nm_sdbus **ret)
{
    struct nm_sdbus *s = calloc(1, sizeof *s);
    int r;

    assert(event && events->job_new && events->job_removed && events->reloaded && events->up);
    if (!s)
        return -ENOMEM;
    s->event = sd_event_ref(event);
    s->user = user;
    s->events = events;
    s->userdata = userdata;
    s->retry_usec = RETRY_MIN_USEC;
    r = make_retry(s);
    if (r >= 0)
        r = connect_bus(s);
    if (r < 0) {
        nm_sdbus_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct nm_sdbus *nm_sdbus_free(struct nm_sdbus *s)
{
    if (!s)
        return NULL;
    sd_event_source_disable_unref(s->retry);
    sd_bus_flush_close_unref(s->bus);
    sd_event_unref(s->event);
    free(s);
    return NULL;
}

/* This function is used at startup, before the event loop runs, so blocking delays no other work. */
int nm_sdbus_run_until(struct nm_sdbus *s, const bool *done, uint64_t timeout_usec)
{
    uint64_t deadline = nm_now_usec() + timeout_usec;

    assert(!s->attached && done);
    while (!*done) {
        uint64_t now = nm_now_usec();
        int r;

        if (now >= deadline)
            return -ETIMEDOUT;
        r = sd_bus_process(s->bus, NULL);
        if (r == 0)
            r = sd_bus_wait(s->bus, NM_MIN(deadline - now, 100 * NM_USEC_PER_MSEC));
        if (r < 0 && r != -EINTR)
            return r == -ECONNRESET ? -ENOTCONN : r;
    }
    return 0;
}

int nm_sdbus_attach(struct nm_sdbus *s)
{
    s->attached = true;
    return sd_bus_attach_event(s->bus, s->event, SD_EVENT_PRIORITY_NORMAL);
}

sd_bus *nm_sdbus_get(struct nm_sdbus *s)
{
    return s->bus && sd_bus_is_open(s->bus) > 0 ? s->bus : NULL;
}
