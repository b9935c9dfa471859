/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The systemd backend: every container is a transient scope in the slice.
 *
 * An operation (struct op) lives from the call until its callback. Starting a unit ends when its job does: the
 * JobRemoved signal, matched by unit, because it may come before the reply that names the job. Setting properties
 * ends one round trip later than its reply: systemd answers first and writes the cgroup's files in its next turn,
 * and it serves that before the next message.
 *
 * Operations outlive a lost connection. When the manager is back, each is sent again: setting properties twice does
 * no harm, and a scope that was made nevertheless is recognized by its process, which is ours and waits. An operation
 * that has found no end by its deadline fails.
 *
 * The limits are systemd's properties: it would overwrite what it didn't set itself, at daemon-reload at the latest.
 * Not so memory.oom.group before version 253, which is written directly; since 253 it is OOMPolicy=.
 */

#include "cgroup/backend.h"

#include <inttypes.h>
#include <signal.h>

#include <systemd/sd-daemon.h>

#include "cgroup/attr.h"
#include "cgroup/probe.h"
#include "cgroup/procs.h"
#include "cgroup/sdbus.h"
#include "cgroup/sdprops.h"
#include "util/clock.h"
#include "util/log.h"

#define OP_TIMEOUT_USEC (20 * NM_USEC_PER_SEC)
#define START_TIMEOUT_USEC (30 * NM_USEC_PER_SEC) /* at start-up, when the machine may be booting */
#define TICK_USEC (500 * NM_USEC_PER_MSEC)

enum op_kind { OP_START_SLICE, OP_CREATE, OP_SET };
enum op_state {
    OP_SENT,     /* waits for the reply */
    OP_JOB,      /* waits for JobRemoved */
    OP_SETTLING, /* the properties are taken; waits for one more round trip */
    OP_AGAIN,    /* to be sent when the manager is up */
};

struct op {
    struct op *next;
    struct systemd *s;
    enum op_kind kind;
    enum op_state state;
    char unit[NM_BACKEND_NAME_MAX];
    char *description;
    pid_t pid;
    struct nm_cgroup_limits limits;
    int dir_fd; /* of an OP_SET on a container: for memory.oom.group */
    bool exists;   /* OP_START_SLICE: the unit is there already, just start it */
    bool repeated; /* an earlier sending may have been heard */
    bool slice_started; /* OP_CREATE: the slice was missing and has been started */
    uint64_t deadline_usec;
    sd_bus_slot *slot;
    char *job, *early_job, *early_result; /* early: removed before we knew its name */
    nm_cgroup_done_cb_t cb;
    void *userdata;
};

struct systemd {
    struct nm_cgroup_backend base;
    sd_event *event;
    struct nm_sdbus *bus;
    sd_event_source *tick; /* while there are operations */
    unsigned version;
    char *root;
    bool is_transient; /* the slice is ours to stop */
    bool has_slice_limits;
    struct nm_cgroup_limits slice_limits;
    struct op *ops;
};

static struct systemd *systemd_of(const struct nm_cgroup_backend *b)
{
    return (struct systemd *)b; /* base is its first member */
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

static void op_free(struct op *op)
{
    struct op **link = &op->s->ops;

    while (*link && *link != op)
        link = &(*link)->next;
    if (*link)
        *link = op->next;
    sd_bus_slot_unref(op->slot);
    nm_close(op->dir_fd);
    free(op->description);
    free(op->job);
    free(op->early_job);
    free(op->early_result);
    free(op);
}

static struct op *op_new(struct systemd *s, enum op_kind kind, const char *unit, nm_cgroup_done_cb_t cb,
                         void *userdata)
{
    struct op *op = calloc(1, sizeof *op);

    if (!op)
        return NULL;
    op->s = s;
    op->kind = kind;
    op->dir_fd = -EBADF;
    op->cb = cb;
    op->userdata = userdata;
    op->deadline_usec = nm_now_usec() + OP_TIMEOUT_USEC;
    (void)snprintf(op->unit, sizeof op->unit, "%s", unit);
    op->next = s->ops;
    s->ops = op;
    return op;
}

/* The end: the operation is gone before the callback runs, which may begin new ones. */
static void op_finish(struct op *op, int r, struct nm_cgroup *cg, const char *why)
{
    nm_cgroup_done_cb_t cb = op->cb;
    void *userdata = op->userdata;
    char message[512];

    if (r < 0)
        (void)snprintf(message, sizeof message, "%s: %s", op->unit, why ? why : strerror(-r));
    op_free(op);
    if (cb)
        cb(r, cg, r < 0 ? message : NULL, userdata);
    else
        nm_cgroup_free(cg);
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error);

static int new_call(sd_bus *bus, const char *method, sd_bus_message **ret)
{
    return sd_bus_message_new_method_call(bus, ret, NM_SDBUS_NAME, NM_SDBUS_PATH, NM_SDBUS_MANAGER, method);
}

static int append_scope(sd_bus_message *m, const struct op *op)
{
    struct systemd *s = op->s;
    int r = nm_sdprops_string(m, "Description", op->description);

    if (r >= 0)
        r = nm_sdprops_string(m, "Slice", s->base.slice);
    if (r >= 0)
        r = nm_sdprops_pid(m, op->pid);
    /* Gone with its last process, even when that was killed for want of memory: the records are ours to keep. */
    if (r >= 0)
        r = nm_sdprops_string(m, "CollectMode", "inactive-or-failed");
    if (r >= 0 && s->version >= 253)
        r = nm_sdprops_string(m, "OOMPolicy", op->limits.oom_group ? "kill" : "continue");
    if (r >= 0)
        r = nm_sdprops_limits(m, &op->limits, s->version);
    return r;
}

static int build_start(sd_bus *bus, const struct op *op, sd_bus_message **ret)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    int r = new_call(bus, "StartTransientUnit", &m);

    if (r >= 0)
        r = sd_bus_message_append(m, "ss", op->unit, "fail");
    if (r >= 0)
        r = sd_bus_message_open_container(m, 'a', "(sv)");
    if (r >= 0)
        r = op->kind == OP_CREATE ? append_scope(m, op) : nm_sdprops_controllers(m);
    if (r >= 0 && op->kind == OP_START_SLICE)
        r = nm_sdprops_string(m, "Description", "Containers of nmd");
    if (r >= 0)
        r = sd_bus_message_close_container(m);
    if (r >= 0)
        r = sd_bus_message_append(m, "a(sa(sv))", 0);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(m);
    return 0;
}

static int build_start_existing(sd_bus *bus, const struct op *op, sd_bus_message **ret)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    int r = new_call(bus, "StartUnit", &m);

    if (r >= 0)
        r = sd_bus_message_append(m, "ss", op->unit, "fail");
    if (r < 0)
        return r;
    *ret = STEAL_PTR(m);
    return 0;
}

/* runtime = true: kept in /run, so that daemon-reload finds the values again. */
static int build_set(sd_bus *bus, const char *unit, const struct nm_cgroup_limits *l, unsigned version,
                     sd_bus_message **ret)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    int r = new_call(bus, "SetUnitProperties", &m);

    if (r >= 0)
        r = sd_bus_message_append(m, "sb", unit, true);
    if (r >= 0)
        r = sd_bus_message_open_container(m, 'a', "(sv)");
    if (r >= 0)
        r = l ? nm_sdprops_limits(m, l, version) : nm_sdprops_controllers(m);
    if (r >= 0)
        r = sd_bus_message_close_container(m);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(m);
    return 0;
}

static int op_build(const struct op *op, sd_bus *bus, sd_bus_message **ret)
{
    if (op->state == OP_SETTLING)
        return sd_bus_message_new_method_call(bus, ret, NM_SDBUS_NAME, NM_SDBUS_PATH, "org.freedesktop.DBus.Peer",
                                              "Ping");
    if (op->kind == OP_SET)
        return build_set(bus, op->unit, &op->limits, op->s->version, ret);
    return op->exists ? build_start_existing(bus, op, ret) : build_start(bus, op, ret);
}

static int op_send(struct op *op)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    sd_bus *bus = nm_sdbus_get(op->s->bus);
    int r;

    if (!bus)
        return -ENOTCONN;
    r = op_build(op, bus, &m);
    if (r < 0)
        return r;
    op->slot = sd_bus_slot_unref(op->slot);
    /* Our own deadline rules; sd-bus must only not be shorter. */
    r = sd_bus_call_async(bus, &op->slot, m, on_reply, op, 2 * OP_TIMEOUT_USEC);
    if (r < 0)
        return r;
    if (op->state == OP_AGAIN) {
        op->state = OP_SENT;
        op->repeated = true;
    }
    return 0;
}

/* ---- their ends ------------------------------------------------------------------------------------------------- */

/* The whole slice may have been stopped and have come back, made by systemd without our limits. */
static void revive_slice(struct systemd *s)
{
    struct op *op;

    if (!s->base.slice_path || nm_attr_cgroup_exists(s->base.slice_fd))
        return;
    if (nm_backend_open_slice(&s->base) < 0 || !s->has_slice_limits)
        return;
    op = op_new(s, OP_SET, s->base.slice, NULL, NULL);
    if (!op)
        return;
    op->limits = s->slice_limits;
    if (op_send(op) < 0)
        op_free(op);
}

static void set_oom_group(int dir_fd, bool on)
{
    const struct nm_cgroup cg = {.dir_fd = dir_fd};
    int r = dir_fd >= 0 ? nm_cgroup_set_oom_group(&cg, on) : 0;

    if (r < 0 && r != -ENOENT && r != -EOPNOTSUPP)
        nm_debug("cgroup: memory.oom.group: %s", strerror(-r));
}

static void finish_create(struct op *op)
{
    struct nm_cgroup *cg = NULL;
    int r = nm_backend_open_scope(&op->s->base, op->unit, &cg);

    if (r == -ENOENT) /* started, and over already */
        r = -ESRCH;
    if (r >= 0) {
        set_oom_group(cg->dir_fd, op->limits.oom_group);
        revive_slice(op->s);
    }
    op_finish(op, r, cg, r < 0 ? nm_backend_explain(r) : NULL);
}

static void attend_all(struct systemd *s);

static void finish_slice(struct op *op)
{
    struct systemd *s = op->s;

    revive_slice(s);
    op_finish(op, 0, NULL, NULL);
    attend_all(s); /* containers that waited for it */
}

/* A transient slice that somebody stopped is forgotten, and systemd makes none by itself. */
static int restart_slice(struct systemd *s)
{
    struct op *start;
    int r;

    for (struct op *op = s->ops; op; op = op->next)
        if (op->kind == OP_START_SLICE)
            return 0;
    start = op_new(s, OP_START_SLICE, s->base.slice, NULL, NULL);
    if (!start)
        return -ENOMEM;
    r = op_send(start);
    if (r < 0)
        op_free(start);
    return r;
}

static void finish_job(struct op *op, const char *result)
{
    static const struct {
        const char *result;
        int r;
    } reasons[] = {{"timeout", -ETIMEDOUT}, {"canceled", -ECANCELED}, {"dependency", -EIO}, {"failed", -EIO}};
    int r = -EIO;
    char why[128];

    if (nm_streq(result, "done")) {
        if (op->kind == OP_CREATE)
            finish_create(op);
        else
            finish_slice(op);
        return;
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(reasons); i++)
        if (nm_streq(result, reasons[i].result))
            r = reasons[i].r;
    if (op->kind == OP_CREATE && kill(op->pid, 0) < 0 && errno == ESRCH)
        r = -ESRCH;
    (void)snprintf(why, sizeof why, "systemd couldn't start it (job result: %s)", result);
    op_finish(op, r, NULL, r == -ESRCH ? nm_backend_explain(r) : why);
}

static void on_error(struct op *op, const sd_bus_error *e)
{
    int r = nm_sdbus_errno(e);

    if (nm_sdbus_is_transient(e)) {
        op->state = OP_AGAIN;
        return;
    }
    if (op->kind == OP_START_SLICE && r == -EEXIST && !op->exists) {
        op->exists = true; /* installed, or left by an nmd before us */
        r = op_send(op);
        if (r < 0)
            op_finish(op, r, NULL, NULL);
        return;
    }
    if (op->kind == OP_CREATE && r == -EEXIST && op->repeated) {
        op->state = OP_JOB; /* that is our own; the tick sees when the process is in it */
        return;
    }
    if (op->kind == OP_CREATE && r == -ENOENT && !op->slice_started && restart_slice(op->s) >= 0) {
        op->slice_started = true;
        op->state = OP_AGAIN;
        return;
    }
    if (op->kind == OP_CREATE && kill(op->pid, 0) < 0 && errno == ESRCH) {
        op_finish(op, -ESRCH, NULL, nm_backend_explain(-ESRCH));
        return;
    }
    op_finish(op, r, NULL, e->message);
}

static void on_started(struct op *op, sd_bus_message *m)
{
    const char *job;
    int r = sd_bus_message_read(m, "o", &job);

    if (r < 0) {
        op_finish(op, r, NULL, NULL);
        return;
    }
    if (op->early_job && nm_streq(op->early_job, job)) {
        finish_job(op, op->early_result);
        return;
    }
    free(op->job);
    op->job = strdup(job);
    if (op->job)
        op->state = OP_JOB;
    else
        op_finish(op, -ENOMEM, NULL, NULL);
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct op *op = userdata;
    const sd_bus_error *e = sd_bus_message_get_error(m);
    int r;

    (void)error;
    op->slot = sd_bus_slot_unref(op->slot);
    if (e) {
        on_error(op, e);
    } else if (op->kind != OP_SET) {
        on_started(op, m);
    } else if (op->state == OP_SENT) {
        op->state = OP_SETTLING;
        r = op_send(op);
        if (r == -ENOTCONN)
            op->state = OP_AGAIN;
        else if (r < 0)
            op_finish(op, r, NULL, NULL);
    } else {
        set_oom_group(op->dir_fd, op->limits.oom_group);
        op_finish(op, 0, NULL, NULL);
    }
    return 0;
}

static void on_job_removed(const char *job, const char *unit, const char *result, void *userdata)
{
    struct systemd *s = userdata;

    for (struct op *op = s->ops; op; op = op->next) {
        if (op->kind == OP_SET || !nm_streq(op->unit, unit))
            continue;
        if (!op->job) {
            free(op->early_job);
            free(op->early_result);
            op->early_job = strdup(job);
            op->early_result = strdup(result);
        } else if (nm_streq(op->job, job)) {
            finish_job(op, result);
        }
        return; /* the list may be another one now */
    }
}

/* ---- the tick: deadlines, repetitions, lost signals ------------------------------------------------------------- */

/* Does what is due for one operation. True when the list may have changed. */
static bool attend(struct op *op, uint64_t now)
{
    if (now >= op->deadline_usec) {
        op_finish(op, -ETIMEDOUT, NULL, "systemd didn't answer in time");
        return true;
    }
    if (op->kind == OP_CREATE && op->state != OP_SENT && nm_procs_is_member(op->pid, op->unit)) {
        finish_create(op);
        return true;
    }
    if (op->state == OP_AGAIN)
        (void)op_send(op);
    return false;
}

static void attend_all(struct systemd *s)
{
    uint64_t now = nm_now_usec();
    struct op *op = s->ops;

    while (op) {
        struct op *next = op->next;

        op = attend(op, now) ? s->ops : next;
    }
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct systemd *s = userdata;
    int r;

    (void)usec;
    attend_all(s);
    if (!s->ops)
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    r = sd_event_source_set_time_relative(source, TICK_USEC);
    return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void start_ticking(struct systemd *s)
{
    int enabled = SD_EVENT_OFF;

    (void)sd_event_source_get_enabled(s->tick, &enabled);
    if (enabled != SD_EVENT_OFF)
        return;
    (void)sd_event_source_set_time_relative(s->tick, TICK_USEC);
    (void)sd_event_source_set_enabled(s->tick, SD_EVENT_ONESHOT);
}

/* What was in flight over the old connection has no reply to hope for. */
static void on_up(void *userdata)
{
    struct systemd *s = userdata;
    sd_bus *bus = nm_sdbus_get(s->bus);

    for (struct op *op = s->ops; op; op = op->next) {
        if (op->slot && sd_bus_slot_get_bus(op->slot) != bus)
            op->slot = sd_bus_slot_unref(op->slot);
        if (!op->slot && op->state != OP_JOB)
            op->state = OP_AGAIN;
    }
    attend_all(s);
}

/* Sends a new operation; on failure it never was. */
static int op_begin(struct op *op)
{
    struct systemd *s = op->s;
    int r = op_send(op);

    if (r < 0) {
        op_free(op);
        return r;
    }
    start_ticking(s);
    return 0;
}

/* D-Bus takes valid UTF-8 only, and a description ends up on terminals. */
static char *printable(const char *text)
{
    char *copy = strndup(text, 200);

    for (char *p = copy; p && *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    return copy;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

static int systemd_create(struct nm_cgroup_backend *b, const char *container_id, const char *description, pid_t pid,
                          const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata)
{
    char unit[NM_BACKEND_NAME_MAX];
    struct op *op;
    int r = nm_backend_scope_name(b, container_id, unit);

    if (r < 0)
        return r;
    op = op_new(systemd_of(b), OP_CREATE, unit, cb, userdata);
    if (!op)
        return -ENOMEM;
    op->pid = pid;
    op->limits = *limits;
    op->description = printable(description);
    if (!op->description) {
        op_free(op);
        return -ENOMEM;
    }
    return op_begin(op);
}

static int systemd_set_limits(struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                              const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata)
{
    struct op *op = op_new(systemd_of(b), OP_SET, cg->name, cb, userdata);

    if (!op)
        return -ENOMEM;
    op->limits = *limits;
    /* The caller may free cg meanwhile. */
    op->dir_fd = fcntl(cg->dir_fd, F_DUPFD_CLOEXEC, 3);
    if (op->dir_fd < 0) {
        int r = -errno;
        op_free(op);
        return r;
    }
    return op_begin(op);
}

static int systemd_set_slice_limits(struct nm_cgroup_backend *b, const struct nm_cgroup_limits *limits,
                                    nm_cgroup_done_cb_t cb, void *userdata)
{
    struct systemd *s = systemd_of(b);
    struct op *op = op_new(s, OP_SET, b->slice, cb, userdata);

    if (!op)
        return -ENOMEM;
    op->limits = s->slice_limits = *limits;
    s->has_slice_limits = true;
    return op_begin(op);
}

/* Tells the manager something that needs no answer. */
static int send_unit_call(struct systemd *s, const char *method, const char *unit, const char *mode)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);
    int r;

    if (!bus)
        return -ENOTCONN;
    r = new_call(bus, method, &m);
    if (r >= 0)
        r = sd_bus_message_append(m, "s", unit);
    if (r >= 0 && mode)
        r = sd_bus_message_append(m, "s", mode);
    if (r >= 0)
        r = sd_bus_message_set_expect_reply(m, false);
    if (r >= 0)
        r = sd_bus_send(bus, m, NULL);
    return r < 0 ? r : 0;
}

/* systemd takes an empty scope away by itself, and CollectMode= forgets a failed one. What is still there is waiting for
 * the notification of its emptiness, or its last process went while systemd wasn't looking. */
static int systemd_remove(struct nm_cgroup_backend *b, const struct nm_cgroup *cg)
{
    struct systemd *s = systemd_of(b);
    struct nm_cgroup_events events;
    int r = nm_cgroup_read_events(cg, &events);

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    if (events.populated)
        return -EBUSY;
    r = send_unit_call(s, "StopUnit", cg->name, "fail");
    return r < 0 ? r : send_unit_call(s, "ResetFailedUnit", cg->name, NULL);
}

static void systemd_free(struct nm_cgroup_backend *b)
{
    struct systemd *s = systemd_of(b);

    while (s->ops)
        op_free(s->ops);
    if (s->is_transient && b->slice_fd >= 0 && nm_backend_slice_is_empty(b))
        (void)send_unit_call(s, "StopUnit", b->slice, "fail");
    sd_event_source_disable_unref(s->tick);
    nm_sdbus_free(s->bus);
    sd_event_unref(s->event);
    free(s->root);
    nm_backend_done(b);
    free(s);
}

static const struct nm_cgroup_ops systemd_ops = {
    .name = "systemd",
    .set_slice_limits = systemd_set_slice_limits,
    .create = systemd_create,
    .set_limits = systemd_set_limits,
    .remove = systemd_remove,
    .list = nm_backend_list,
    .free = systemd_free,
};

/* ---- opening, synchronously ------------------------------------------------------------------------------------- */

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

static int start_slice(struct systemd *s, char **ret_message)
{
    struct op *op = op_new(s, OP_START_SLICE, s->base.slice, NULL, NULL);
    struct startup st = {0};
    _cleanup_free_ char *message = NULL;
    int r;

    if (!op)
        return -ENOMEM;
    op->cb = on_slice_started;
    op->userdata = &st;
    r = op_send(op);
    if (r >= 0)
        r = nm_sdbus_run_until(s->bus, &st.done, START_TIMEOUT_USEC);
    if (!st.done)
        op_free(op);
    message = st.message;
    if (st.done)
        r = st.result;
    if (r < 0)
        return nm_backend_fail(ret_message, r, "starting %s: %s", s->base.slice, message ? message : strerror(-r));
    return 0;
}

/* An installed slice may lack what makes systemd enable the controllers. Reading a property afterwards (find_slice) is
 * the round trip that lets systemd write it all down before the files are probed. */
static int enable_controllers(struct systemd *s)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);
    int r = bus ? build_set(bus, s->base.slice, NULL, s->version, &m) : -ENOTCONN;

    return r < 0 ? r : sd_bus_call(bus, m, START_TIMEOUT_USEC, NULL, NULL);
}

static int find_slice(struct systemd *s)
{
    _cleanup_free_ char *path = NULL, *group = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);
    int transient = 0;
    int r;

    if (!bus)
        return -ENOTCONN;
    r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", s->base.slice, &path);
    if (r >= 0)
        r = sd_bus_get_property_string(bus, NM_SDBUS_NAME, path, "org.freedesktop.systemd1.Slice", "ControlGroup",
                                       NULL, &group);
    if (r >= 0)
        r = sd_bus_get_property_trivial(bus, NM_SDBUS_NAME, path, "org.freedesktop.systemd1.Unit", "Transient", NULL,
                                        'b', &transient);
    if (r < 0)
        return r;
    s->is_transient = transient != 0;
    if (asprintf(&s->base.slice_path, "%s%s", s->root, group) < 0) {
        s->base.slice_path = NULL;
        return -ENOMEM;
    }
    return nm_backend_open_slice(&s->base);
}

/* "252.36-1~deb12u1", "255". */
static int read_version(struct systemd *s)
{
    _cleanup_free_ char *text = NULL;
    sd_bus *bus = nm_sdbus_get(s->bus);
    const char *digits;
    int r = bus ? sd_bus_get_property_string(bus, NM_SDBUS_NAME, NM_SDBUS_PATH, NM_SDBUS_MANAGER, "Version", NULL,
                                             &text)
                : -ENOTCONN;

    if (r < 0)
        return r;
    digits = text + strcspn(text, "0123456789");
    s->version = (unsigned)strtoul(digits, NULL, 10);
    return 0;
}

static int probe(struct systemd *s)
{
    _cleanup_close_ int root_fd = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (root_fd < 0)
        return -errno;
    nm_probe_features(&s->base, &(struct nm_probe_params){.root_fd = root_fd,
                                                          .swaps = "/proc/swaps",
                                                          .has_idle_property = s->version >= 252});
    return 0;
}

static int open_connection(struct systemd *s, char **ret_message)
{
    static const struct nm_sdbus_events events = {.job_removed = on_job_removed, .up = on_up};
    int r = nm_sdbus_new(s->event, s->base.user_manager, &events, s, &s->bus);

    if (r >= 0)
        r = read_version(s);
    if (r < 0)
        return nm_backend_fail(ret_message, r, "no connection to the systemd %s manager: %s",
                               s->base.user_manager ? "user" : "system", strerror(-r));
    return 0;
}

static int open_slice(struct systemd *s, char **ret_message)
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
        return nm_backend_fail(ret_message, r, "the cgroup of %s: %s", s->base.slice, strerror(-r));
    return 0;
}

static int enter_loop(struct systemd *s)
{
    int r = sd_event_add_time_relative(s->event, &s->tick, CLOCK_MONOTONIC, TICK_USEC, 0, on_tick, s);

    if (r < 0)
        return r;
    (void)sd_event_source_set_description(s->tick, "systemd-operations");
    return nm_sdbus_attach(s->bus);
}

static void cleanup_systemd(struct systemd **s)
{
    if (*s)
        systemd_free(&(*s)->base);
}

int nm_systemd_available(void)
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

int nm_systemd_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret, char **ret_message)
{
    _cleanup_(cleanup_systemd) struct systemd *s = NULL;
    int r;

    if (!host->event)
        return nm_backend_fail(ret_message, -EINVAL, "the systemd backend needs an event loop");
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->event = sd_event_ref(host->event);
    s->base.user_manager = geteuid() != 0;
    r = nm_backend_init(&s->base, &systemd_ops, host->slice);
    if (r < 0)
        return r;
    s->root = strdup(host->root);
    if (!s->root)
        return -ENOMEM;
    r = open_connection(s, ret_message);
    if (r >= 0)
        r = open_slice(s, ret_message);
    if (r >= 0)
        r = enter_loop(s);
    if (r < 0)
        return r;
    *ret = &STEAL_PTR(s)->base;
    return 0;
}
