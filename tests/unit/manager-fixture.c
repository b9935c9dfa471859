/* SPDX-License-Identifier: Apache-2.0 */

/* See manager-fixture.h. */

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "tests/unit/manager-fixture.h"

#include "agent/lifecycle/lifecycle.h"
#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "agent/journal/containers.h"
#include "agent/store/store-internal.h"
#include "cgroup/backend-fake.h"
#include "util/clock.h"
#include "util/log.h"

#define HOUR_USEC (3600 * NM_USEC_PER_SEC)

const struct nm_caller manager_fixture_admin = {.admin = true};

void manager_fixture_node(struct manager_fixture *w, uint64_t mib, unsigned cpus)
{
    char text[1024];
    int n;

    (void)snprintf(text, sizeof text, "MemTotal: %12" PRIu64 " kB\nMemAvailable: %12" PRIu64 " kB\n", mib * 1024,
                   mib * 1024);
    fake_tree_write(&w->tree, "proc/meminfo", text);
    w->n_stat++;
    n = snprintf(text, sizeof text, "cpu  1000 0 0 %u 0 0 0 0 0 0\n", 1000 * w->n_stat * cpus);
    for (unsigned i = 0; i < cpus; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "cpu%u 1000 0 0 %u 0 0 0 0 0 0\n", i, 1000 * w->n_stat);
    fake_tree_write(&w->tree, "proc/stat", text);
}

void manager_fixture_configure(struct manager_fixture *w, const char *text)
{
    fake_tree_write(&w->tree, "nmd.conf", text);
}

void manager_fixture_params(struct manager_fixture *w, struct nm_manager_params *ret)
{
    char *message = NULL;

    (void)snprintf(w->config, sizeof w->config, "%s/nmd.conf", w->tree.path);
    (void)snprintf(w->state, sizeof w->state, "%s/state", w->tree.path);
    (void)snprintf(w->run, sizeof w->run, "%s/run", w->tree.path);
    (void)snprintf(w->proc, sizeof w->proc, "%s/proc", w->tree.path);
    *ret = (struct nm_manager_params){.event = w->event,
                                      .config_path = w->config,
                                      .config_must_exist = true,
                                      .state_dir = w->state,
                                      .runtime_dir = w->run,
                                      .slice = "nmtest.slice",
                                      .backend = NM_CGROUP_BACKEND_FAKE,
                                      .shim_path = getenv("NMD_SHIM") ?: NM_TEST_SHIM,
                                      .proc_root = "/proc",
                                      .node_proc_root = w->proc};
    assert_int_equal(nm_config_load(w->config, true, NULL, &ret->config, &message), 0);
}

void manager_fixture_restart(struct manager_fixture *w)
{
    struct nm_manager_params p;
    char *message = NULL;

    w->m = nm_manager_free(w->m);
    manager_fixture_params(w, &p);
    assert_int_equal(nm_manager_new(&p, &w->m, &message), 0);
    manager_fixture_settle(w);
}

int manager_fixture_set_up(void **state)
{
    struct manager_fixture *w = calloc(1, sizeof *w);
    sigset_t mask;

    assert_non_null(w);
    nm_log_set_level(LOG_CRIT);
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    fake_tree_init(&w->tree);
    fake_tree_write(&w->tree, "run/.keep", "");
    manager_fixture_node(w, 1000, 4);
    manager_fixture_configure(w, "[node]\nsystem-reserved-memory = 200M\n");
    assert_true(sd_event_new(&w->event) >= 0);
    manager_fixture_restart(w);
    *state = w;
    return 0;
}

int manager_fixture_tear_down(void **state)
{
    struct manager_fixture *w = *state;

    w->m = nm_manager_free(w->m);
    sd_event_unref(w->event);
    fake_tree_done(&w->tree);
    free(w);
    return 0;
}

void manager_fixture_die(struct manager_fixture *w, const char *step, void (*story)(struct manager_fixture *w))
{
    int status;
    pid_t pid;

    w->m = nm_manager_free(w->m);
    pid = fork();
    if (pid == 0) {
        if (step)
            (void)setenv("NMD_FAULT", step, 1);
        assert_true(sd_event_new(&w->event) >= 0);
        manager_fixture_restart(w);
        story(w);
        if (step)
            _exit(0);
        (void)kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void manager_fixture_settle(struct manager_fixture *w)
{
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;
    int r = 1;

    while (r > 0 && nm_now_usec() < deadline)
        r = sd_event_run(w->event, 0);
    assert_int_equal(r, 0);
}

void manager_fixture_wait(struct manager_fixture *w, const struct nm_live_container *l, manager_fixture_cond_t is)
{
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    while (!is(l) && nm_now_usec() < deadline)
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_true(is(l));
}

bool manager_fixture_shim_is_gone(const struct nm_live_container *l)
{
    return nm_run_phase_is_shim_gone(l->phase) || nm_run_phase_is_ending(l->phase);
}

static void on_created(int result, struct nm_cgroup *cg, const char *message, void *userdata)
{
    struct nm_live_container *l = userdata;

    (void)message;
    assert_int_equal(result, 0);
    assert_int_equal(nm_container_events_attach(l, cg), 0);
    nm_sample_live(l, nm_now_usec());
}

struct nm_live_container *manager_fixture_add(struct manager_fixture *w, const char *name, enum nm_execution_type type,
                                              enum nm_state state)
{
    struct nm_manager *m = w->m;
    struct nm_container *c;
    struct nm_live_container *l;

    assert_int_equal(nm_container_new(&c), 0);
    c->view.seq = m->journal.next_seq++;
    (void)snprintf(c->id, sizeof c->id, "container_%" PRIu64 "_%06" PRIu64, m->journal.opened.epoch, c->view.seq);
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    (void)snprintf(c->owner, sizeof c->owner, "local");
    c->vcores_milli = 1000;
    c->view.type = type;
    c->view.state = state;
    c->view.admitted = true;
    c->view.request = (struct nm_resources){.memory_bytes = 64 * MIB, .cpu_millicores = 1000};
    c->view.started_usec = c->view.submitted_usec = nm_now_usec();
    c->view.pause_deadline_usec = UINT64_MAX;
    assert_int_equal(nm_lists_add_live(m, c, &l), 0);
    l->limits = nm_cgroup_limits_for_container(m, c);
    nm_run_phase_set(&l->phase, NM_RUN_LAUNCHED);
    assert_int_equal(m->backend->ops->create(m->backend, c->id, name, getpid(), &l->limits, on_created, l), 0);
    manager_fixture_settle(w);
    assert_non_null(l->cg);
    return l;
}

int manager_fixture_try(struct manager_fixture *w, const struct nm_submit *s, const struct nm_container **ret,
                        struct nm_problem *ret_problem)
{
    const struct nm_caller who = {.uid = geteuid(), .gid = getegid(), .pid = getpid(), .admin = true};
    const struct passwd *user = getpwuid(geteuid());
    struct nm_submit mine = *s;

    mine.user = user ? user->pw_name : NULL;
    return nm_manager_submit(w->m, &who, &mine, ret, ret_problem);
}

struct nm_live_container *manager_fixture_submit_as(struct manager_fixture *w, const struct nm_submit *s)
{
    struct nm_problem problem = {0};
    const struct nm_container *c;

    if (manager_fixture_try(w, s, &c, &problem) != 0)
        fail_msg("%s", problem.message);
    return c->view.owner;
}

struct nm_live_container *manager_fixture_submit(struct manager_fixture *w, const char *name,
                                                 enum nm_execution_type type,
                                                 const char *const argv[])
{
    const struct nm_submit s = {
        .type = type, .name = name, .memory_bytes = 64 * MIB, .vcores_milli = 1000, .argv = argv};

    return manager_fixture_submit_as(w, &s);
}

struct nm_live_container *manager_fixture_find(const struct manager_fixture *w, const char *name)
{
    for (size_t i = 0; i < w->m->live.n; i++)
        if (nm_streq(w->m->live.all[i]->c->name, name))
            return w->m->live.all[i];
    return NULL;
}

int64_t manager_fixture_journalled(const struct manager_fixture *w, const char *table, const char *expression,
                                   const char *id)
{
    char *sql = sqlite3_mprintf("SELECT %s FROM %s WHERE id = %Q", expression, table, id);
    int64_t n = -1;

    assert_int_equal(nm_store_query_int64(w->m->store->db, sql, &n), 0);
    sqlite3_free(sql);
    return n;
}

void assert_file(const struct nm_live_container *l, const char *file, const char *expected)
{
    char text[256];

    assert_int_equal(nm_fake_read(l->cg, file, text, sizeof text), 0);
    assert_string_equal(text, expected);
}

void manager_fixture_leave_file(struct manager_fixture *w, const char *id, const char *file, const char *text)
{
    char name[160];

    (void)snprintf(name, sizeof name, "state/containers/%s/%s", id, file);
    fake_tree_write(&w->tree, name, text);
}

/* ---- real processes ----------------------------------------------------------------------- */

int manager_fixture_set_up_real(void **state)
{
    if (manager_fixture_set_up(state) < 0)
        return -1;
    manager_fixture_configure(*state, "[node]\nsystem-reserved-memory = 200M\n[health]\ndisk-min-free = 0\n");
    manager_fixture_restart(*state);
    return 0;
}

/* Returns whether a shim runs, also one that hasn't reported its command yet. */
static bool any_runs(const struct manager_fixture *w)
{
    bool any = false;

    for (size_t i = 0; i < w->m->live.n; i++)
        any = any || (w->m->live.all[i]->c->shim_pid > 0 && !manager_fixture_shim_is_gone(w->m->live.all[i]));
    return any;
}

/* Kills the commands that have started by now. */
static void kill_commands(struct manager_fixture *w)
{
    for (size_t i = 0; w->m && i < w->m->live.n; i++)
        if (w->m->live.all[i]->c->pid > 0)
            (void)kill(w->m->live.all[i]->c->pid, SIGKILL);
}

int manager_fixture_tear_down_real(void **state)
{
    struct manager_fixture *w = *state;
    uint64_t deadline = nm_now_usec() + MANAGER_FIXTURE_DEADLINE_USEC;

    for (kill_commands(w); w->m && any_runs(w) && nm_now_usec() < deadline; kill_commands(w))
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    return manager_fixture_tear_down(state);
}

void manager_fixture_start(struct manager_fixture *w)
{
    w->m->config->period_usec = HOUR_USEC;
    assert_int_equal(nm_manager_start(w->m), 0);
    manager_fixture_node(w, 1000, 4);
    while (w->m->timers.sample_due_usec < nm_now_usec() + HOUR_USEC / 2)
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    manager_fixture_settle(w);
}

int manager_fixture_set_up_started(void **state)
{
    if (manager_fixture_set_up_real(state) < 0)
        return -1;
    manager_fixture_start(*state);
    return 0;
}
