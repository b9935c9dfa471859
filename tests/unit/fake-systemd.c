/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/fake-systemd.h"

#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "cgroup/sdbus.h"
#include "tests/unit/fake-tree.h"
#include "util/clock.h"
#include "util/error.h"

#define ANSWERS_MAX 32
#define CALLS_MAX 65536

struct task {
    void (*fn)(struct fake_systemd *f, const void *arg);
    const void *arg;
};

struct fake_systemd {
    char root[PATH_MAX], socket[PATH_MAX];
    enum fake_speech speech;
    pthread_t thread;
    sd_event *event;
    sd_bus *bus; /* the latest connection */
    int listen_fd, wake_fd;
    sem_t task_done;
    struct task task;
    /* protects the members below, which the test's thread uses, too */
    pthread_mutex_t lock;
    struct fake_answer answers[ANSWERS_MAX];
    size_t n_answers;
    const char *version, *job_type;
    char slice[64];
    bool is_installed;
    unsigned n_jobs;
    char calls[CALLS_MAX];
    size_t calls_size;
};

/* ---- the clock ------------------------------------------------------------------------------- */

static _Atomic uint64_t clock_ahead;

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

/* Puts the clock forward, so that tests need not wait for deadlines of a minute. sd-event's timers use the real time,
 * because the calls in libsystemd are not wrapped. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    int r = __real_clock_gettime(clock, ts);

    ts->tv_sec += (time_t)(atomic_load(&clock_ahead) / NM_USEC_PER_SEC);
    return r;
}

void fake_systemd_set_clock_ahead(uint64_t usec)
{
    atomic_store(&clock_ahead, usec);
}

/* ---- the list of calls ----------------------------------------------------------------------- */

static void nm_printf(2, 3) note(struct fake_systemd *f, const char *format, ...)
{
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(f->calls + f->calls_size, CALLS_MAX - f->calls_size, format, ap);
    va_end(ap);
    assert_true(n >= 0 && f->calls_size + (size_t)n < CALLS_MAX);
    f->calls_size += (size_t)n;
}

static void note_property(struct fake_systemd *f, sd_bus_message *m)
{
    const char *name, *type, *s;
    uint32_t pid;
    uint64_t v;
    int b;

    assert_true(sd_bus_message_read(m, "s", &name) > 0);
    assert_true(sd_bus_message_peek_type(m, NULL, &type) > 0);
    assert_true(sd_bus_message_enter_container(m, 'v', type) > 0);
    if (nm_streq(type, "s") && sd_bus_message_read(m, "s", &s) > 0)
        note(f, " %s=%s", name, s);
    else if (nm_streq(type, "t") && sd_bus_message_read(m, "t", &v) > 0)
        note(f, " %s=%" PRIu64, name, v);
    else if (nm_streq(type, "b") && sd_bus_message_read(m, "b", &b) > 0)
        note(f, " %s=%s", name, b ? "yes" : "no");
    else if (nm_streq(type, "au") && sd_bus_message_read(m, "au", 1, &pid) > 0)
        note(f, " %s=%u", name, pid);
    else
        fail_msg("property %s is of type %s", name, type);
    assert_true(sd_bus_message_exit_container(m) >= 0);
}

static void note_properties(struct fake_systemd *f, sd_bus_message *m)
{
    assert_true(sd_bus_message_enter_container(m, 'a', "(sv)") >= 0);
    while (sd_bus_message_enter_container(m, 'r', "sv") > 0) {
        note_property(f, m);
        assert_true(sd_bus_message_exit_container(m) >= 0);
    }
    assert_true(sd_bus_message_exit_container(m) >= 0);
}

/* ---- cgroups --------------------------------------------------------------------------------- */

static void unit_path(const struct fake_systemd *f, const char *unit, char path[2 * PATH_MAX])
{
    const size_t stem = strcspn(f->slice, ".");

    if (!strstr(unit, ".scope"))
        (void)snprintf(path, 2 * PATH_MAX, "%s/%s", f->root, f->slice);
    else if (strncmp(unit, f->slice, stem) == 0 && unit[stem] == '-')
        (void)snprintf(path, 2 * PATH_MAX, "%s/%s/%s", f->root, f->slice, unit);
    else
        (void)snprintf(path, 2 * PATH_MAX, "%s/%s", f->root, unit); /* a helper's scope */
}

static bool unit_exists(const struct fake_systemd *f, const char *unit)
{
    char path[2 * PATH_MAX];

    unit_path(f, unit, path);
    return access(path, F_OK) == 0;
}

static void make_cgroup(const struct fake_systemd *f, const char *unit)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"cgroup.procs", ""},         {"cgroup.events", "populated 1\nfrozen 0\n"}, {"cgroup.freeze", "0\n"},
        {"memory.oom.group", "0\n"},  {"cgroup.controllers", "cpu memory pids\n"},
        {"cpu.idle", "0\n"},          {"cgroup.subtree_control", "cpu memory pids\n"},
    };
    char path[2 * PATH_MAX];
    _cleanup_close_ int fd = -EBADF;

    unit_path(f, unit, path);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < NM_ARRAY_SIZE(files); i++) {
        _cleanup_close_ int file = openat(fd, files[i].name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_int_equal(write(file, files[i].text, strlen(files[i].text)), strlen(files[i].text));
    }
}

/* ---- signals and replies --------------------------------------------------------------------- */

static void send_message(struct fake_systemd *f, sd_bus_message *m)
{
    if (f->speech == FAKE_SPEAKS_AS_BUS && !sd_bus_message_get_sender(m))
        assert_true(sd_bus_message_set_sender(m, NM_SDBUS_NAME) >= 0);
    (void)sd_bus_send(f->bus, m, NULL);
}

static sd_bus_message *new_signal(struct fake_systemd *f, const char *member)
{
    sd_bus_message *m = NULL;

    assert_true(sd_bus_message_new_signal(f->bus, &m, NM_SDBUS_PATH, NM_SDBUS_MANAGER, member) >= 0);
    return m;
}

static void send_job(struct fake_systemd *f, const char *signal, unsigned id, const char *unit, const char *result)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = new_signal(f, signal);
    char path[80];

    (void)snprintf(path, sizeof path, NM_SDBUS_PATH "/job/%u", id);
    assert_true(sd_bus_message_append(m, "uos", id, path, unit) >= 0);
    if (result)
        assert_true(sd_bus_message_append(m, "s", result) >= 0);
    send_message(f, m);
}

static void nm_printf(3, 4) reply(struct fake_systemd *f, sd_bus_message *call, const char *format, ...)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    char text[512];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    assert_true(sd_bus_message_new_method_return(call, &m) >= 0);
    if (text[0] == '/')
        assert_true(sd_bus_message_append(m, "o", text) >= 0);
    else if (*text)
        assert_true(sd_bus_message_append(m, "s", text) >= 0);
    (void)sd_bus_send(f->bus, m, NULL);
}

static void reply_error(sd_bus_message *call, const char *name)
{
    if (sd_bus_message_get_expect_reply(call))
        assert_true(sd_bus_reply_method_errorf(call, name, "told to") >= 0);
}

/* ---- methods --------------------------------------------------------------------------------- */

static struct fake_answer take_answer(struct fake_systemd *f, const char *method)
{
    struct fake_answer a = {0};

    for (size_t i = 0; i < f->n_answers; i++) {
        if (!nm_streq(f->answers[i].method, method))
            continue;
        a = f->answers[i];
        memmove(&f->answers[i], &f->answers[i + 1], (--f->n_answers - i) * sizeof a);
        break;
    }
    return a;
}

static void hang_up(struct fake_systemd *f)
{
    (void)sd_bus_flush(f->bus);
    f->bus = sd_bus_close_unref(f->bus);
}

static void start(struct fake_systemd *f, sd_bus_message *m, const char *unit, const struct fake_answer *a)
{
    const char *result = a->job_result ? a->job_result : "done";
    unsigned id = ++f->n_jobs;

    send_job(f, "JobNew", id, unit, NULL);
    if (nm_streq(result, "done") && !a->makes_nothing)
        make_cgroup(f, unit);
    if (a->hangs_up) {
        hang_up(f);
        return;
    }
    if (a->job_is_early)
        send_job(f, "JobRemoved", id, unit, result);
    if (a->is_garbage)
        reply(f, m, "not an object");
    else
        reply(f, m, NM_SDBUS_PATH "/job/%u", id);
    if (!a->job_is_early && !a->job_is_endless)
        send_job(f, "JobRemoved", id, unit, result);
}

static void get_property(struct fake_systemd *f, sd_bus_message *call, const struct fake_answer *a)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
    const char *interface, *name;
    char group[80];

    assert_true(sd_bus_message_read(call, "ss", &interface, &name) > 0);
    note(f, "Get %s\n", name);
    if (a->error) {
        reply_error(call, a->error);
        return;
    }
    (void)snprintf(group, sizeof group, "/%s", f->slice);
    assert_true(sd_bus_message_new_method_return(call, &m) >= 0);
    if (nm_streq(name, "Version"))
        assert_true(sd_bus_message_append(m, "v", "s", f->version) >= 0);
    else if (nm_streq(name, "JobType"))
        assert_true(sd_bus_message_append(m, "v", "s", f->job_type) >= 0);
    else if (nm_streq(name, "Transient"))
        assert_true(sd_bus_message_append(m, "v", "b", (int)!f->is_installed) >= 0);
    else
        assert_true(nm_streq(name, "ControlGroup") && sd_bus_message_append(m, "v", "s", group) >= 0);
    (void)sd_bus_send(f->bus, m, NULL);
}

static void transient(struct fake_systemd *f, sd_bus_message *m, const struct fake_answer *a)
{
    const char *unit, *mode;

    assert_true(sd_bus_message_read(m, "ss", &unit, &mode) > 0);
    note(f, "StartTransientUnit %s", unit);
    note_properties(f, m);
    note(f, "\n");
    if (!strstr(unit, ".scope"))
        (void)snprintf(f->slice, sizeof f->slice, "%s", unit);
    if (a->error)
        reply_error(m, a->error);
    else if (unit_exists(f, unit))
        reply_error(m, "org.freedesktop.systemd1.UnitExists");
    else
        start(f, m, unit, a);
}

/* Serves methods whose first argument is a unit. */
static void unit_method(struct fake_systemd *f, sd_bus_message *m, const char *method, const struct fake_answer *a)
{
    const char *unit;
    int runtime;

    assert_true(sd_bus_message_read(m, "s", &unit) > 0);
    note(f, "%s %s", method, unit);
    if (nm_streq(method, "SetUnitProperties") && sd_bus_message_read(m, "b", &runtime) > 0)
        note_properties(f, m);
    note(f, "\n");
    if (a->error)
        reply_error(m, a->error);
    else if (nm_streq(method, "StartUnit"))
        start(f, m, unit, a);
    else if (sd_bus_message_get_expect_reply(m))
        reply(f, m, "%s", nm_streq(method, "StopUnit") ? NM_SDBUS_PATH "/job/1" : "");
}

/* Returns whether the call gets no answer. Advances the clock and closes the connection, if the test has set this. */
static bool is_ignored(struct fake_systemd *f, const struct fake_answer *a, const char *method)
{
    if (a->takes_usec > 0)
        (void)atomic_fetch_add(&clock_ahead, a->takes_usec);
    if (a->runs_call_first || (!a->is_silent && !a->hangs_up))
        return false;
    note(f, "%s\n", method);
    if (a->hangs_up)
        hang_up(f);
    return true;
}

static void serve(struct fake_systemd *f, sd_bus_message *m, const char *method)
{
    struct fake_answer a = take_answer(f, method);

    if (is_ignored(f, &a, method))
        return;
    if (nm_streq(method, "StartTransientUnit")) {
        transient(f, m, &a);
    } else if (nm_streq(method, "Get")) {
        get_property(f, m, &a);
    } else if (strstr("Subscribe Ping AddMatch RemoveMatch Hello", method)) {
        note(f, "%s\n", method);
        if (a.error)
            reply_error(m, a.error);
        else
            reply(f, m, "%s", nm_streq(method, "Hello") ? ":1.1" : "");
    } else {
        unit_method(f, m, method, &a);
    }
}

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
    struct fake_systemd *f = userdata;

    (void)error;
    if (!sd_bus_message_is_method_call(m, NULL, NULL))
        return 0;
    (void)pthread_mutex_lock(&f->lock);
    serve(f, m, sd_bus_message_get_member(m));
    (void)pthread_mutex_unlock(&f->lock);
    return 1;
}

/* ---- thread ---------------------------------------------------------------------------------- */

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct fake_systemd *f = userdata;
    int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    sd_id128_t id = {.bytes = {1}};

    (void)source;
    (void)revents;
    assert_true(connection >= 0);
    f->bus = sd_bus_close_unref(f->bus);
    assert_true(sd_bus_new(&f->bus) >= 0);
    assert_true(sd_bus_set_fd(f->bus, connection, connection) >= 0);
    assert_true(sd_bus_set_server(f->bus, true, id) >= 0);
    assert_true(sd_bus_set_trusted(f->bus, true) >= 0);
    assert_true(sd_bus_start(f->bus) >= 0);
    assert_true(sd_bus_add_filter(f->bus, NULL, on_message, f) >= 0);
    assert_true(sd_bus_attach_event(f->bus, f->event, SD_EVENT_PRIORITY_NORMAL) >= 0);
    return 0;
}

static int on_task(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct fake_systemd *f = userdata;
    uint64_t n;

    (void)source;
    (void)revents;
    assert_int_equal(read(fd, &n, sizeof n), sizeof n);
    (void)pthread_mutex_lock(&f->lock);
    f->task.fn(f, f->task.arg);
    if (f->bus)
        (void)sd_bus_flush(f->bus);
    (void)pthread_mutex_unlock(&f->lock);
    (void)sem_post(&f->task_done);
    return 0;
}

static void listen_here(struct fake_systemd *f)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    assert_true(strlen(f->socket) < sizeof address.sun_path);
    memcpy(address.sun_path, f->socket, strlen(f->socket));
    f->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(f->listen_fd, 8), 0);
    assert_true(sd_event_add_io(f->event, NULL, f->listen_fd, EPOLLIN, on_connection, f) >= 0);
}

static void *run(void *userdata)
{
    struct fake_systemd *f = userdata;

    assert_true(sd_event_loop(f->event) >= 0);
    f->bus = sd_bus_close_unref(f->bus);
    return NULL;
}

/* Runs fn in the service manager's thread, because only that thread may use the connection. */
static void in_thread(struct fake_systemd *f, void (*fn)(struct fake_systemd *f, const void *arg), const void *arg)
{
    uint64_t one = 1;

    f->task = (struct task){.fn = fn, .arg = arg};
    assert_int_equal(write(f->wake_fd, &one, sizeof one), sizeof one);
    assert_int_equal(sem_wait(&f->task_done), 0);
}

struct fake_systemd *fake_systemd_new(const char *root, const char *socket, enum fake_speech speech)
{
    struct fake_systemd *f = calloc(1, sizeof *f);

    assert_non_null(f);
    (void)snprintf(f->root, sizeof f->root, "%s", root);
    (void)snprintf(f->socket, sizeof f->socket, "%s", socket);
    f->speech = speech;
    f->version = "252.36-1~deb12u1";
    f->job_type = "start";
    f->wake_fd = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(sem_init(&f->task_done, 0, 0), 0);
    assert_int_equal(pthread_mutex_init(&f->lock, NULL), 0);
    assert_true(sd_event_new(&f->event) >= 0);
    assert_true(sd_event_add_io(f->event, NULL, f->wake_fd, EPOLLIN, on_task, f) >= 0);
    listen_here(f);
    assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
    return f;
}

static void stop(struct fake_systemd *f, const void *arg)
{
    (void)arg;
    (void)sd_event_exit(f->event, 0);
}

struct fake_systemd *fake_systemd_free(struct fake_systemd *f)
{
    if (!f)
        return NULL;
    in_thread(f, stop, NULL);
    assert_int_equal(pthread_join(f->thread, NULL), 0);
    sd_event_unref(f->event);
    (void)nm_close(f->listen_fd);
    (void)nm_close(f->wake_fd);
    (void)unlink(f->socket);
    (void)sem_destroy(&f->task_done);
    (void)pthread_mutex_destroy(&f->lock);
    free(f);
    return NULL;
}

/* ---- requests of the test -------------------------------------------------------------------- */

void fake_systemd_answer(struct fake_systemd *f, const struct fake_answer *a)
{
    (void)pthread_mutex_lock(&f->lock);
    assert_true(f->n_answers < ANSWERS_MAX);
    f->answers[f->n_answers++] = *a;
    (void)pthread_mutex_unlock(&f->lock);
}

void fake_systemd_set_version(struct fake_systemd *f, const char *version)
{
    f->version = version;
}

void fake_systemd_set_job_type(struct fake_systemd *f, const char *type)
{
    (void)pthread_mutex_lock(&f->lock);
    f->job_type = type;
    (void)pthread_mutex_unlock(&f->lock);
}

void fake_systemd_install_slice(struct fake_systemd *f, const char *slice)
{
    (void)snprintf(f->slice, sizeof f->slice, "%s", slice);
    f->is_installed = true;
    make_cgroup(f, slice);
}

static void do_emit_job(struct fake_systemd *f, const void *unit)
{
    send_job(f, "JobNew", 4711, unit, NULL);
}

void fake_systemd_emit_job(struct fake_systemd *f, const char *unit)
{
    in_thread(f, do_emit_job, unit);
}

static void do_emit_reloading(struct fake_systemd *f, const void *begins)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = new_signal(f, "Reloading");

    assert_true(sd_bus_message_append(m, "b", (int)*(const bool *)begins) >= 0);
    send_message(f, m);
}

void fake_systemd_emit_reloading(struct fake_systemd *f, bool begins)
{
    in_thread(f, do_emit_reloading, &begins);
}

static void do_emit_owner(struct fake_systemd *f, const void *owner)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

    assert_true(sd_bus_message_new_signal(f->bus, &m, "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                          "NameOwnerChanged") >= 0);
    assert_true(sd_bus_message_append(m, "sss", NM_SDBUS_NAME, "", owner) >= 0);
    assert_true(sd_bus_message_set_sender(m, "org.freedesktop.DBus") >= 0);
    send_message(f, m);
}

void fake_systemd_emit_owner(struct fake_systemd *f, const char *owner)
{
    in_thread(f, do_emit_owner, owner);
}

static void do_emit_invalid_signal(struct fake_systemd *f, const void *signal)
{
    _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = new_signal(f, signal);

    assert_true(sd_bus_message_append(m, "s", "nonsense") >= 0);
    send_message(f, m);
}

void fake_systemd_emit_invalid_signal(struct fake_systemd *f, const char *signal)
{
    in_thread(f, do_emit_invalid_signal, signal);
}

static void do_disconnect(struct fake_systemd *f, const void *arg)
{
    char away[PATH_MAX + 8];

    (void)arg;
    (void)snprintf(away, sizeof away, "%s.away", f->socket);
    assert_int_equal(rename(f->socket, away), 0);
    hang_up(f);
}

void fake_systemd_disconnect(struct fake_systemd *f)
{
    in_thread(f, do_disconnect, NULL);
}

void fake_systemd_reconnect(struct fake_systemd *f)
{
    char away[PATH_MAX + 8];

    (void)snprintf(away, sizeof away, "%s.away", f->socket);
    assert_int_equal(rename(away, f->socket), 0);
}

/* ---- searches in the list of calls ----------------------------------------------------------- */

unsigned fake_systemd_count(struct fake_systemd *f, const char *text)
{
    unsigned n = 0;

    (void)pthread_mutex_lock(&f->lock);
    for (const char *p = f->calls; (p = strstr(p, text)); p += strlen(text))
        n++;
    (void)pthread_mutex_unlock(&f->lock);
    return n;
}

bool fake_systemd_was_called(struct fake_systemd *f, const char *text)
{
    return fake_systemd_count(f, text) > 0;
}

void fake_systemd_clear_calls(struct fake_systemd *f)
{
    (void)pthread_mutex_lock(&f->lock);
    f->calls_size = 0;
    f->calls[0] = '\0';
    (void)pthread_mutex_unlock(&f->lock);
}
