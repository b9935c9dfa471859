/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/systemd-fixture.h"

#include <stdlib.h>

#include "util/clock.h"
#include "util/error.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)

static uid_t euid;
static int booted;

uid_t __wrap_geteuid(void);
int __wrap_sd_booted(void);

/* The uid decides whether the backend uses the system's manager or the user's. */
uid_t __wrap_geteuid(void)
{
    return euid;
}

int __wrap_sd_booted(void)
{
    return booted;
}

void fixture_set_booted(int r)
{
    booted = r;
}

void fixture_set_user(uid_t uid)
{
    euid = uid;
}

static struct fixture *fixture_new(bool is_bus)
{
    struct fixture *w = calloc(1, sizeof *w);
    char text[160];

    assert_non_null(w);
    fake_tree_init(&w->dir);
    fake_tree_write(&w->dir, "root/cgroup.controllers", "cpu memory pids\n");
    fake_tree_write(&w->dir, "run/systemd/here", "");
    (void)snprintf(w->root, sizeof w->root, "%s/root", w->dir.path);
    (void)snprintf(w->socket, sizeof w->socket, "%s/run/systemd/private", w->dir.path);
    (void)snprintf(text, sizeof text, "%s/run", w->dir.path);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", text, 1), 0);
    (void)snprintf(text, sizeof text, "unix:path=%s", is_bus ? w->socket : "/nonexistent/bus");
    assert_int_equal(setenv("DBUS_SYSTEM_BUS_ADDRESS", text, 1), 0);
    assert_int_equal(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1), 0);
    euid = is_bus ? 0 : 1000;
    fake_systemd_set_clock_ahead(0);
    assert_true(sd_event_new(&w->event) >= 0);
    w->systemd = fake_systemd_new(w->root, w->socket, is_bus ? FAKE_SPEAKS_AS_BUS : FAKE_SPEAKS_PRIVATELY);
    return w;
}

int fixture_start(struct fixture *w)
{
    const struct nm_cgroup_backend_params params = {
        .kind = NM_CGROUP_BACKEND_SYSTEMD, .slice = SLICE, .cgroup_root = w->root, .event = w->event};

    return nm_cgroup_backend_new(&params, &w->b, &w->message);
}

int fixture_alone(void **state)
{
    *state = fixture_new(false);
    return 0;
}

static int started(struct fixture *w)
{
    int r = fixture_start(w);

    if (r < 0)
        fail_msg("the backend doesn't start: %d, %s", r, w->message);
    return 0;
}

int fixture_private(void **state)
{
    *state = fixture_new(false);
    return started(*state);
}

int fixture_bus(void **state)
{
    *state = fixture_new(true);
    return started(*state);
}

int fixture_teardown(void **state)
{
    struct fixture *w = *state;

    nm_cgroup_backend_free(w->b);
    fake_systemd_free(w->systemd);
    sd_event_unref(w->event);
    fake_tree_done(&w->dir);
    free(w->message);
    free(w);
    return 0;
}

/* Returns the time of the loop's clock, because a test may put the backend's clock forward. */
static uint64_t now(struct fixture *w)
{
    uint64_t usec;

    assert_true(sd_event_now(w->event, CLOCK_MONOTONIC, &usec) >= 0);
    return usec;
}

void run_until_called(struct fixture *w, const struct answer *a)
{
    uint64_t deadline = now(w) + DEADLINE_USEC;

    while (a->n_calls == 0 && now(w) < deadline)
        assert_true(sd_event_run(w->event, 50 * NM_USEC_PER_MSEC) >= 0);
    assert_int_equal(a->n_calls, 1);
}

void run_until_received(struct fixture *w, const char *text, unsigned n)
{
    uint64_t deadline = now(w) + DEADLINE_USEC;

    while (fake_systemd_count(w->systemd, text) < n && now(w) < deadline)
        assert_true(sd_event_run(w->event, 10 * NM_USEC_PER_MSEC) >= 0);
    assert_true(fake_systemd_count(w->systemd, text) >= n);
}

void run_a_while(struct fixture *w)
{
    while (sd_event_run(w->event, 30 * NM_USEC_PER_MSEC) > 0)
        continue;
}

int create(struct fixture *w, const char *id, struct answer *a)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    int r;

    *a = (struct answer){0};
    l.oom_group = true;
    r = w->b->ops->create(w->b, id, "a test", getpid(), &l, on_done, a);
    if (r < 0)
        return r;
    run_until_called(w, a);
    return a->result;
}

struct nm_cgroup *created(struct fixture *w, const char *id)
{
    struct answer a;

    assert_int_equal(create(w, id, &a), 0);
    assert_non_null(a.cg);
    return a.cg;
}

bool file_contains(const struct nm_cgroup *cg, const char *file, const char *text)
{
    char buf[256];

    assert_true(nm_read_file_at(cg->dir_fd, file, buf, sizeof buf, NULL) >= 0);
    return strncmp(buf, text, strlen(text)) == 0;
}

void drop_cgroup(struct fixture *w, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s%s%s", w->root, SLICE, *name ? "/" : "", name);
    assert_int_equal(remove_tree(path), 0);
}
