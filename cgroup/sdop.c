/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Operations of the systemd backend. An operation exists from the call until its callback.
 *
 * The start of a unit ends with its job: the JobRemoved signal is matched by unit, because it may come before the reply
 * that names the job. The setting of properties ends one round trip after its reply: systemd answers first and writes
 * the cgroup's files in the next turn of its loop, before it serves the next message.
 *
 * Operations outlive a lost connection. When the manager is available again, each operation is sent again. Setting
 * properties twice is harmless. A scope that already exists is recognized by its process, the waiting shim. An
 * operation that has not ended by its deadline fails.
 */

#include <assert.h>
#include <signal.h>

#include "cgroup/attr.h"
#include "cgroup/procs.h"
#include "cgroup/sdcall.h"
#include "cgroup/systemd.h"
#include "util/clock.h"
#include "util/log.h"

/* A daemon-reexec on a loaded machine makes PID 1 unavailable for many seconds. */
#define OP_TIMEOUT_USEC (60 * NM_USEC_PER_SEC)
#define TAKEN_USEC (3 * NM_USEC_PER_SEC) /* systemd unloads a scope soon after its end */
#define TICK_USEC (500 * NM_USEC_PER_MSEC)

/* systemd's root slice. nmd's slice is directly below it, since its name has no "-". */
#define ROOT_SLICE "-.slice"

enum op_kind { OP_START_SLICE, OP_CREATE, OP_SET };
enum op_state {
    OP_SENT,     /* the operation waits for the reply */
    OP_JOB,      /* the operation waits for JobRemoved */
    OP_SETTLING, /* systemd has accepted the properties; the operation waits for one more round trip */
    OP_AGAIN,    /* the message is sent when the manager is up */
    OP_TAKEN,    /* the message is sent again, because the name was taken */
};

struct nm_sdop {
    struct nm_sdop *next;
    struct nm_systemd *s;
    enum op_kind kind;
    enum op_state state;
    char unit[NM_BACKEND_NAME_MAX];
    char *description;
    pid_t pid;
    struct nm_cgroup_limits limits;
    struct nm_cgroup cg; /* OP_SET on a container: a descriptor owned by the operation, for memory.oom.group */
    bool exists;   /* OP_START_SLICE: the unit exists and only has to be started */
    bool repeated; /* systemd may have received an earlier message */
    bool slice_started; /* OP_CREATE: the slice was missing and has been started */
    bool is_helper;     /* OP_CREATE: the scope is beside the slice, not in the slice */
    bool simplified;    /* OP_CREATE: systemd did not know a property, which is left out */
    uint64_t deadline_usec;
    sd_bus_slot *slot;
    char *job;
    char early_job[64], early_result[24]; /* latest removed job whose name was not known yet */
    nm_cgroup_done_cb_t cb;
    void *userdata;
};

static void op_free(struct nm_sdop *op)
{
    struct nm_sdop **link = &op->s->ops;

    while (*link && *link != op)
        link = &(*link)->next;
    if (*link)
        *link = op->next;
    sd_bus_slot_unref(op->slot);
    nm_close(op->cg.dir_fd);
    free(op->description);
    free(op->job);
    free(op);
}

static struct nm_sdop *op_new(struct nm_systemd *s, enum op_kind kind, const char *unit,
                              nm_cgroup_done_cb_t cb,
                         void *userdata)
{
    struct nm_sdop *op = calloc(1, sizeof *op);

    assert(unit && strlen(unit) < NM_BACKEND_NAME_MAX);
    if (!op)
        return NULL;
    op->s = s;
    op->kind = kind;
    op->cg.dir_fd = -EBADF;
    op->cb = cb;
    op->userdata = userdata;
    op->deadline_usec = nm_now_usec() + OP_TIMEOUT_USEC;
    (void)snprintf(op->unit, sizeof op->unit, "%s", unit);
    op->next = s->ops;
    s->ops = op;
    return op;
}

/* Ends the operation: it is freed before the callback runs, because the callback may begin new operations. */
static void op_finish(struct nm_sdop *op, int r, struct nm_cgroup *cg, const char *why)
{
    nm_cgroup_done_cb_t cb = op->cb;
    void *userdata = op->userdata;
    char message[512];

    assert(op->kind == OP_CREATE ? (r >= 0) == (cg != NULL) : !cg);
    if (r < 0)
        (void)snprintf(message, sizeof message, "%s: %s", op->unit, why ? why : strerror(-r));
    op_free(op);
    if (cb)
        cb(r, cg, r < 0 ? message : NULL, userdata);
    else
        nm_cgroup_free(cg);
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error);

static int op_build(const struct nm_sdop *op, sd_bus *bus, sd_bus_message **ret)
{
    const struct nm_sdcall_scope scope = {.unit = op->unit,
                                          .slice = op->is_helper ? ROOT_SLICE : op->s->base.slice,
                                          .description = op->description,
                                          .pid = op->pid,
                                          .limits = &op->limits};

    if (op->state == OP_SETTLING)
        return nm_sdcall_ping(bus, ret);
    switch (op->kind) {
    case OP_SET:
        return nm_sdcall_set_limits(bus, op->unit, &op->limits, &op->s->properties, ret);
    case OP_CREATE:
        return nm_sdcall_start_scope(bus, &scope, &op->s->properties, ret);
    case OP_START_SLICE:
        break;
    }
    if (op->exists)
        return nm_sdcall_start_unit(bus, op->unit, ret);
    return nm_sdcall_start_slice(bus, op->unit, ret);
}

static int op_try_send(struct nm_sdop *op)
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
    /* The operation's own deadline applies; sd-bus only needs a longer one. */
    return sd_bus_call_async(bus, &op->slot, m, on_reply, op, 2 * OP_TIMEOUT_USEC);
}

/* Without a connection, the operation waits until its deadline for a connection. A lost connection may become visible
 * only here, when writing fails with ECONNRESET. */
static int op_send(struct nm_sdop *op)
{
    int r = op_try_send(op);

    if (r == -ENOTCONN || r == -ECONNRESET || r == -EPIPE || r == -ESHUTDOWN) {
        op->state = OP_AGAIN;
        return 0;
    }
    if (r < 0)
        return r;
    op->repeated = op->repeated || op->state == OP_AGAIN;
    if (op->state == OP_AGAIN || op->state == OP_TAKEN)
        op->state = OP_SENT;
    return 0;
}

/* ---- ends of operations ---------------------------------------------------------------------- */

/* Sets the slice's limits again: the whole slice may have been stopped and restarted by systemd without nmd's
 * limits. */
static void revive_slice(struct nm_systemd *s)
{
    if (!s->base.slice_path || nm_attr_cgroup_exists(s->base.slice_fd))
        return;
    if (nm_backend_open_slice(&s->base) < 0 || !s->has_slice_limits)
        return;
    (void)nm_sdop_set(s, NULL, s->base.slice, &s->slice_limits, NULL, NULL);
}

static void finish_create(struct nm_sdop *op)
{
    struct nm_cgroup *cg = NULL;
    int r = op->is_helper ? nm_backend_open_beside(&op->s->base, op->unit, &cg)
                          : nm_backend_open_scope(&op->s->base, op->unit, &cg);

    assert(op->kind == OP_CREATE && op->pid > 1);
    if (r == -ENOENT) /* the scope was started and has already ended */
        r = -ESRCH;
    if (r >= 0 && !op->is_helper) {
        nm_sdoom_set(op->s, cg, op->limits.oom_group);
        revive_slice(op->s);
    }
    op_finish(op, r, cg, r < 0 ? nm_backend_explain(r) : NULL);
}

static void process_all_ops(struct nm_systemd *s);

static void finish_slice(struct nm_sdop *op)
{
    struct nm_systemd *s = op->s;

    revive_slice(s);
    op_finish(op, 0, NULL, NULL);
    process_all_ops(s); /* continue containers that waited for the slice */
}

/* systemd unloads a transient slice that was stopped, and does not make a new slice without a request. */
static int restart_slice(struct nm_systemd *s)
{
    for (struct nm_sdop *op = s->ops; op; op = op->next)
        if (op->kind == OP_START_SLICE)
            return 0;
    return nm_sdop_start_slice(s, NULL, NULL);
}

static void finish_job(struct nm_sdop *op, const char *result)
{
    static const struct {
        const char *result;
        int r;
    } reasons[] = {{"timeout", -ETIMEDOUT}, {"canceled", -ECANCELED}, {"dependency", -EIO},
                   {"failed", -EIO}};
    int r = -EIO;
    char why[192];

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
    else if (op->kind == OP_CREATE && r == -EIO && nm_backend_is_full(&op->s->base))
        r = -EAGAIN;
    (void)snprintf(why, sizeof why, "systemd couldn't start it (job result: %s); the system journal has the "
                                    "reason", result);
    op_finish(op, r, NULL, r == -EIO ? why : nm_backend_explain(r) ?: why);
}

static void on_create_error(struct nm_sdop *op, const sd_bus_error *e, int r)
{
    struct nm_systemd *s = op->s;
    /* systemd reports an unknown property with this error */
    bool unknown = sd_bus_error_has_name(e, SD_BUS_ERROR_PROPERTY_READ_ONLY);

    if (unknown && !op->simplified) {
        s->properties.has_scope_oom_policy = false;
        op->simplified = true;
        op->state = OP_AGAIN;
        process_all_ops(s);
    } else if (r == -EEXIST && op->repeated) {
        op->state = OP_JOB; /* the scope exists already; the tick checks whether the process is in it */
    } else if (r == -EEXIST && nm_now_usec() < op->deadline_usec - OP_TIMEOUT_USEC + TAKEN_USEC) {
        /* Most likely an nmd that died has left the scope from an earlier attempt to start the same container. The
         * scope is empty, and systemd has not unloaded it yet. */
        op->state = OP_TAKEN;
    } else if (r == -ENOENT && !op->slice_started && restart_slice(s) >= 0) {
        op->slice_started = true;
        op->state = OP_AGAIN;
    } else if (kill(op->pid, 0) < 0 && errno == ESRCH) {
        op_finish(op, -ESRCH, NULL, nm_backend_explain(-ESRCH));
    } else {
        op_finish(op, r, NULL, e->message);
    }
}

static void on_error(struct nm_sdop *op, const sd_bus_error *e)
{
    int r = nm_sdbus_errno(e);

    nm_debug("cgroup: %s: %s: %s", op->unit, e->name, e->message ? e->message : "");
    if (nm_sdbus_is_transient(e)) {
        op->state = OP_AGAIN;
        return;
    }
    if (op->kind == OP_START_SLICE && r == -EEXIST && !op->exists) {
        op->exists = true; /* the unit is installed, or was left by an earlier nmd */
        r = op_send(op);
        if (r < 0)
            op_finish(op, r, NULL, NULL);
        return;
    }
    if (op->kind == OP_CREATE)
        on_create_error(op, e, r);
    else
        op_finish(op, r, NULL, e->message);
}

static void on_started(struct nm_sdop *op, sd_bus_message *m)
{
    const char *job;
    int r = sd_bus_message_read(m, "o", &job);

    assert(op->kind != OP_SET);
    if (r < 0) {
        op_finish(op, r, NULL, NULL);
        return;
    }
    if (nm_streq(op->early_job, job)) {
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
    struct nm_sdop *op = userdata;
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
        if (r < 0)
            op_finish(op, r, NULL, NULL);
    } else {
        if (op->cg.name)
            nm_sdoom_set(op->s, &op->cg, op->limits.oom_group);
        op_finish(op, 0, NULL, NULL);
    }
    return 0;
}

void nm_sdop_job_removed(struct nm_systemd *s, const char *job, const char *unit,
                         const char *result)
{
    for (struct nm_sdop *op = s->ops; op; op = op->next) {
        if (op->kind == OP_SET || !nm_streq(op->unit, unit))
            continue;
        if (!op->job) {
            (void)snprintf(op->early_job, sizeof op->early_job, "%s", job);
            (void)snprintf(op->early_result, sizeof op->early_result, "%s", result);
        } else if (nm_streq(op->job, job)) {
            finish_job(op, result);
        }
        return; /* the list may have changed */
    }
}

/* ---- the tick: deadlines, retries, lost signals ---------------------------------------------- */

/* Does the due work of one operation. Returns true if the list may have changed. */
static bool process_op(struct nm_sdop *op, uint64_t now)
{
    if (now >= op->deadline_usec) {
        if (nm_sdbus_get(op->s->bus))
            op_finish(op, -ETIMEDOUT, NULL, "systemd didn't answer in time");
        else
            op_finish(op, -ENOTCONN, NULL, "no connection to systemd");
        return true;
    }
    if (op->kind == OP_CREATE && op->state != OP_SENT && nm_procs_is_member(op->pid, op->unit)) {
        finish_create(op);
        return true;
    }
    if (op->state == OP_AGAIN || op->state == OP_TAKEN)
        (void)op_send(op);
    return false;
}

static void process_all_ops(struct nm_systemd *s)
{
    uint64_t now = nm_now_usec();
    struct nm_sdop *op = s->ops;

    while (op) {
        struct nm_sdop *next = op->next;

        op = process_op(op, now) ? s->ops : next;
    }
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_systemd *s = userdata;
    int r;

    (void)usec;
    process_all_ops(s);
    if (!s->ops)
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
    r = sd_event_source_set_time_relative(source, TICK_USEC);
    return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void start_ticking(struct nm_systemd *s)
{
    int enabled = SD_EVENT_OFF;

    if (!s->tick) /* without a timer, at startup, backend-systemd.c waits with a deadline of its own */
        return;
    (void)sd_event_source_get_enabled(s->tick, &enabled);
    if (enabled != SD_EVENT_OFF)
        return;
    (void)sd_event_source_set_time_relative(s->tick, TICK_USEC);
    (void)sd_event_source_set_enabled(s->tick, SD_EVENT_ONESHOT);
}

/* Operations sent over the old connection will not receive a reply. */
void nm_sdop_manager_available(struct nm_systemd *s)
{
    sd_bus *bus = nm_sdbus_get(s->bus);

    for (struct nm_sdop *op = s->ops; op; op = op->next) {
        if (op->slot && sd_bus_slot_get_bus(op->slot) != bus)
            op->slot = sd_bus_slot_unref(op->slot);
        if (!op->slot && op->state != OP_JOB)
            op->state = OP_AGAIN;
    }
    process_all_ops(s);
}

/* ---- starting operations --------------------------------------------------------------------- */

static int op_begin(struct nm_sdop *op)
{
    struct nm_systemd *s = op->s;
    int r = op_send(op);

    if (r < 0) {
        op_free(op);
        return r;
    }
    start_ticking(s);
    return 0;
}

/* D-Bus accepts only valid UTF-8, and descriptions are shown on terminals. */
static char *printable(const char *text)
{
    char *copy = strndup(text, 200);

    for (char *p = copy; p && *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    return copy;
}

static int create(struct nm_systemd *s, const char *unit, const char *description, pid_t pid, bool is_helper,
                  const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata)
{
    struct nm_sdop *op = op_new(s, OP_CREATE, unit, cb, userdata);

    if (!op)
        return -ENOMEM;
    op->pid = pid;
    op->is_helper = is_helper;
    op->limits = *limits;
    op->description = printable(description);
    if (!op->description) {
        op_free(op);
        return -ENOMEM;
    }
    return op_begin(op);
}

int nm_sdop_create(struct nm_systemd *s, const char *unit, const char *description, pid_t pid,
                   const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata)
{
    return create(s, unit, description, pid, false, limits, cb, userdata);
}

int nm_sdop_attach_helper(struct nm_systemd *s, const char *unit, pid_t pid, const struct nm_cgroup_limits *limits,
                          nm_cgroup_done_cb_t cb, void *userdata)
{
    return create(s, unit, "Helper of nmd", pid, true, limits, cb, userdata);
}

int nm_sdop_set(struct nm_systemd *s, const struct nm_cgroup *cg, const char *unit,
                const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata)
{
    struct nm_sdop *op = op_new(s, OP_SET, unit, cb, userdata);

    if (!op)
        return -ENOMEM;
    op->limits = *limits;
    if (cg) { /* the caller may free cg before the operation ends */
        op->cg.name = op->unit;
        op->cg.dir_fd = fcntl(cg->dir_fd, F_DUPFD_CLOEXEC, 3);
        if (op->cg.dir_fd < 0) {
            int r = -errno;
            op_free(op);
            return r;
        }
    }
    return op_begin(op);
}

int nm_sdop_start_slice(struct nm_systemd *s, nm_cgroup_done_cb_t cb, void *userdata)
{
    struct nm_sdop *op = op_new(s, OP_START_SLICE, s->base.slice, cb, userdata);

    return op ? op_begin(op) : -ENOMEM;
}

bool nm_sdop_is_pending(const struct nm_systemd *s, const char *unit)
{
    for (const struct nm_sdop *op = s->ops; op; op = op->next)
        if (op->kind != OP_SET && nm_streq(op->unit, unit))
            return true;
    return false;
}

void nm_sdop_cancel_all(struct nm_systemd *s)
{
    while (s->ops)
        op_free(s->ops);
}

int nm_sdop_attach(struct nm_systemd *s)
{
    int r = sd_event_add_time_relative(s->event, &s->tick, CLOCK_MONOTONIC, TICK_USEC, 0, on_tick,
                                       s);

    if (r < 0)
        return r;
    return sd_event_source_set_description(s->tick, "systemd-operations");
}
