/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shims that the spawner creates. They are the same as forked shims. A launch succeeds whatever happens to the spawner,
 * and a known account is used only while it is fresh.
 */

#include "tests/unit/launch-fixture.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "agent/launch/launch-internal.h"
#include "cgroup/cgroup.h"
#include "cgroup/procs.h"
#include "util/clock.h"
#include "util/fileio.h"

static struct nm_cgroup_backend *make_slice(void)
{
    char slice[64];
    struct nm_cgroup_backend_params params = {.kind = NM_CGROUP_BACKEND_DIRECT, .slice = slice};
    struct nm_cgroup_backend *b = NULL;

    (void)snprintf(slice, sizeof slice, "nmtest-spawner%d.slice", (int)getpid());
    (void)nm_cgroup_backend_new(&params, &b, NULL);
    return b;
}

static int set_up_spawner(void **state)
{
    int r = set_up(state);
    struct fixture *w = *state;

    if (r == 0)
        w->spawner = nm_spawner_new();
    return r < 0 || !w->spawner ? -1 : 0;
}

/* Runs a command, and forgets its events. */
static void run_once(struct fixture *w, const char *script, int code)
{
    shell(w, script);
    w->n_started = w->n_ended = 0;
    run(w);
    assert_int_equal(w->n_started, 1);
    assert_false(w->without_record);
    assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_NONE);
    assert_int_equal(w->ended.exit_code, code);
    free_launch(w);
}

/* Runs commands until the spawner's process exists. The first launch looks the account up. */
static pid_t begin_spawner(struct fixture *w)
{
    run_once(w, "exit 1", 1);
    assert_int_equal(nm_spawner_pid(w->spawner), 0);
    run_once(w, "exit 2", 2);
    assert_true(nm_spawner_pid(w->spawner) > 0);
    return nm_spawner_pid(w->spawner);
}

static void read_proc(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    size_t n = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    assert_true(nm_read_file_at(AT_FDCWD, path, text, size, &n) >= 0);
    for (size_t i = 0; i + 1 < n; i++)
        if (!text[i])
            text[i] = ' ';
}

/* Writes what the kernel shows of a shim that waits at its gate. */
static void describe(pid_t shim, char *text, size_t size)
{
    static const char *const lines[] = {"PPid:", "Uid:", "Groups:", "SigBlk:", "SigIgn:", "SigCgt:", "Umask:"};
    char status[4096], command[256], fds[256] = "";
    size_t at = 0;

    read_proc(shim, "status", status, sizeof status);
    read_proc(shim, "cmdline", command, sizeof command);
    for (int fd = 0; fd < 64; fd++) {
        char path[64], target[256] = "";

        (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", shim, fd);
        if (readlink(path, target, sizeof target - 1) > 0)
            at += (size_t)snprintf(fds + at, sizeof fds - at, "%d:%.6s ", fd, target);
    }
    at = (size_t)snprintf(text, size, "%s\n%s\nsession %d\n", command, fds, getsid(shim) == shim);
    for (size_t i = 0; i < NM_ARRAY_SIZE(lines); i++) {
        const char *line = strstr(status, lines[i]);

        at += (size_t)snprintf(text + at, size - at, "%.*s\n", line ? (int)strcspn(line, "\n") : 0, line ?: "");
    }
}

/* Launches a shim, waits until it is at its gate, and describes it. */
static void describe_next(struct fixture *w, char *text, size_t size)
{
    const uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char gate[128];

    (void)snprintf(gate, sizeof gate, "%s/.gate", w->dir);
    (void)unlink(gate);
    w->n_started = w->n_ended = 0;
    shell(w, "true");
    assert_int_equal(launch(w), 0);
    while (access(gate, F_OK) < 0 && nm_now_usec() < until)
        (void)poll(NULL, 0, 1);
    (void)poll(NULL, 0, 50); /* the shim opens its logs, and then only waits */
    describe(nm_launch_shim_pid(w->launch), text, size);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_ended);
    free_launch(w);
}

static void test_the_shim_is_the_same_as_a_forked_one(void **state)
{
    struct fixture *w = *state;
    char forked[2048], spawned[2048];

    describe_next(w, forked, sizeof forked);
    assert_int_equal(nm_spawner_pid(w->spawner), 0);
    describe_next(w, spawned, sizeof spawned);
    assert_true(nm_spawner_pid(w->spawner) > 0);
    assert_string_equal(spawned, forked);
    assert_non_null(strstr(forked, "nm-shim container_1_000001"));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* only the spawner is left, and it runs */
}

static void test_a_command_has_its_account_and_its_input(void **state)
{
    struct fixture *w = *state;
    char first[256];
    int pair[2];

    if (geteuid() == 0)
        use_user(w, "daemon");
    run_once(w, "id -un; id -G; echo $HOME $SHELL $USER", 0);
    (void)snprintf(first, sizeof first, "%s", output(w, "stdout"));
    (void)snprintf(w->logs, sizeof w->logs, "%s/l/2", w->root);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    w->input_fd = pair[0];
    (void)close(pair[1]);
    run_once(w, "id -un; id -G; echo $HOME $SHELL $USER; cat", 0);
    assert_true(nm_spawner_pid(w->spawner) > 0);
    assert_string_equal(output(w, "stdout"), first);
    (void)close(pair[0]);
}

static void test_the_shim_is_born_in_its_cgroup(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_cgroup_backend_freep) struct nm_cgroup_backend *b = make_slice();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    pid_t shim;

    if (!b)
        skip();
    (void)begin_spawner(w);
    assert_int_equal(b->ops->prepare(b, "c1", &cg), 0);
    w->cgroup_fd = cg->dir_fd;
    w->n_started = w->n_ended = 0;
    shell(w, "exit 4");
    assert_int_equal(launch(w), 0);
    shim = nm_launch_shim_pid(w->launch);
    assert_true(nm_launch_started_in_cgroup(w->launch));
    assert_true(nm_procs_is_member(shim, cg->name));
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->ended.exit_code, 4);
    wait_until_dead(shim);
    assert_int_equal(b->ops->remove(b, cg), 0);
}

/* The spawner is in another cgroup, so nmd doesn't wait for a frozen shim. */
static void test_a_launch_into_a_frozen_cgroup_returns(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_cgroup_backend_freep) struct nm_cgroup_backend *b = make_slice();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;

    if (!b)
        skip();
    (void)begin_spawner(w);
    assert_int_equal(b->ops->prepare(b, "c2", &cg), 0);
    assert_int_equal(nm_write_file_at(cg->dir_fd, "cgroup.freeze", "1"), 0);
    w->cgroup_fd = cg->dir_fd;
    for (int i = 0; i < 2; i++) { /* the second one finds the spawner usable */
        w->n_started = w->n_ended = 0;
        shell(w, "exit 5");
        assert_int_equal(launch(w), 0);
        assert_int_equal(nm_launch_open_gate(w->launch), 0);
        assert_int_equal(nm_write_file_at(cg->dir_fd, "cgroup.freeze", "0"), 0);
        wait_for(w, &w->n_ended);
        assert_int_equal(w->ended.exit_code, 5);
        wait_until_dead(nm_launch_shim_pid(w->launch));
        free_launch(w);
        assert_int_equal(nm_write_file_at(cg->dir_fd, "cgroup.freeze", "1"), 0);
    }
    assert_int_equal(b->ops->remove(b, cg), 0);
}

static void test_a_killed_spawner_is_replaced(void **state)
{
    struct fixture *w = *state;
    pid_t old = begin_spawner(w);

    assert_int_equal(kill(old, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)old, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    run_once(w, "exit 3", 3);
    assert_int_equal(waitpid(old, NULL, WNOHANG), -1); /* it was reaped */
    run_once(w, "exit 4", 4);
    assert_true(nm_spawner_pid(w->spawner) > 0);
}

/* A stopped spawner delays one launch by a second, and is killed. */
static void test_a_spawner_that_does_not_answer_is_killed(void **state)
{
    struct fixture *w = *state;
    pid_t old = begin_spawner(w);
    char ran[128], script[192];

    (void)snprintf(ran, sizeof ran, "%s/ran", w->root);
    (void)snprintf(script, sizeof script, "echo ran >>%s; exit 3", ran);
    assert_int_equal(kill(old, SIGSTOP), 0);
    run_once(w, script, 3);
    assert_int_equal(waitpid(old, NULL, WNOHANG), -1);
    assert_true(nm_read_file_at(AT_FDCWD, ran, script, sizeof script, NULL) >= 0);
    assert_string_equal(script, "ran\n");
}

/* A shim that is no program can't be the spawner either. After three failures nmd stops trying. */
static void test_a_spawner_that_can_not_start_is_given_up(void **state)
{
    struct fixture *w = *state;

    run_once(w, "exit 1", 1);
    w->shim = "/bin/false";
    for (int i = 0; i < 5; i++) {
        w->n_started = w->n_ended = 0;
        assert_int_equal(launch(w), 0);
        wait_for(w, &w->n_ended);
        free_launch(w);
        assert_int_equal(nm_spawner_pid(w->spawner), 0);
    }
    assert_int_equal(w->spawner->n_failures, 3);
    w->shim = NULL;
    run_once(w, "exit 2", 2);
    assert_int_equal(nm_spawner_pid(w->spawner), 0);
}

/* A launcher that is killed leaves no spawner. */
static void test_the_spawner_ends_with_its_parent(void **state)
{
    struct fixture *w = *state;
    int pair[2];
    pid_t parent, spawner = 0;
    char byte;

    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    parent = fork();
    if (parent == 0) {
        (void)close(pair[0]);
        sd_event_unref(w->event); /* belongs to the other process */
        (void)sd_event_new(&w->event);
        spawner = begin_spawner(w);
        (void)write(pair[1], &spawner, sizeof spawner);
        (void)pause();
        _exit(1);
    }
    (void)close(pair[1]);
    assert_int_equal(read(pair[0], &spawner, sizeof spawner), sizeof spawner);
    assert_int_equal(kill(spawner, 0), 0);
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    wait_until_dead(spawner);
    assert_int_equal(read(pair[0], &byte, 1), 0);
    (void)close(pair[0]);
}

/* ---- accounts ---------------------------------------------------------------------------------- */

static void put(struct nm_accounts *a, const char *user, uid_t uid, gid_t group, const struct nm_accounts_stamp *stamp)
{
    const struct nm_shim_spec spec = {
        .account = {.name = (char *)user, .home = (char *)"/h", .shell = (char *)"/s", .groups = &group, .n_groups = 1},
        .uid = uid,
        .gid = 7,
    };

    nm_accounts_put(a, user, &spec, stamp);
}

static const struct nm_shim_account *find(const struct nm_accounts *a, const char *user, uid_t uid, gid_t gid,
                                          const struct nm_accounts_stamp *stamp)
{
    return nm_accounts_find(a, &(struct nm_command){.user = (char *)user, .uid = uid, .gid = gid}, stamp);
}

static void test_an_account_is_known_while_it_is_fresh(void **state)
{
    struct nm_accounts a = {0};
    struct nm_accounts_stamp s = nm_accounts_stamp(), later = s;
    const struct nm_shim_account *found;

    (void)state;
    put(&a, "u", 5, 50, &s);
    found = find(&a, "u", 5, 7, &s);
    assert_non_null(found);
    assert_string_equal(found->name, "u");
    assert_string_equal(found->home, "/h");
    assert_string_equal(found->shell, "/s");
    assert_true(found->n_groups == 1 && found->groups[0] == 50 && found->error == 0);
    assert_null(find(&a, "v", 5, 7, &s));
    assert_null(find(&a, "u", 6, 7, &s));
    assert_null(find(&a, "u", 5, 8, &s));
    later.begun_usec = s.begun_usec + 10 * NM_USEC_PER_SEC - 1;
    assert_non_null(find(&a, "u", 5, 7, &later));
    later.begun_usec++;
    assert_null(find(&a, "u", 5, 7, &later));
    put(&a, "u", 5, 51, &later); /* the same entry */
    assert_int_equal(find(&a, "u", 5, 7, &later)->groups[0], 51);
    for (size_t i = 0; i < NM_ACCOUNTS_N_FILES; i++) {
        struct nm_accounts_stamp changed = later;

        changed.file[i].nanoseconds++;
        assert_null(find(&a, "u", 5, 7, &changed));
    }
    nm_accounts_done(&a);
}

static void test_only_good_accounts_are_kept_and_the_oldest_makes_room(void **state)
{
    struct nm_accounts a = {0};
    struct nm_accounts_stamp s = nm_accounts_stamp();
    struct nm_shim_spec spec = {
        .account = {.name = (char *)"u", .home = (char *)"/", .shell = (char *)"/", .error = ENOENT}};
    char name[16];

    (void)state;
    nm_accounts_put(&a, "u", &spec, &s);
    assert_null(find(&a, "u", 0, 0, &s));
    spec.account.error = 0;
    spec.account.n_groups = NM_ACCOUNTS_GROUPS_MAX + 1;
    nm_accounts_put(&a, "u", &spec, &s);
    assert_null(find(&a, "u", 0, 0, &s));
    for (unsigned i = 0; i <= NM_ACCOUNTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "u%u", i);
        s.begun_usec++;
        put(&a, name, i, i, &s);
    }
    assert_null(find(&a, "u0", 0, 7, &s));
    for (unsigned i = 1; i <= NM_ACCOUNTS_MAX; i++) {
        (void)snprintf(name, sizeof name, "u%u", i);
        assert_int_equal(find(&a, name, i, 7, &s)->groups[0], i);
    }
    nm_accounts_done(&a);
}

#define spawner_test(f) cmocka_unit_test_setup_teardown(f, set_up_spawner, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        spawner_test(test_the_shim_is_the_same_as_a_forked_one),
        spawner_test(test_a_command_has_its_account_and_its_input),
        spawner_test(test_the_shim_is_born_in_its_cgroup),
        spawner_test(test_a_launch_into_a_frozen_cgroup_returns),
        spawner_test(test_a_killed_spawner_is_replaced),
        spawner_test(test_a_spawner_that_does_not_answer_is_killed),
        spawner_test(test_a_spawner_that_can_not_start_is_given_up),
        spawner_test(test_the_spawner_ends_with_its_parent),
        cmocka_unit_test(test_an_account_is_known_while_it_is_fresh),
        cmocka_unit_test(test_only_good_accounts_are_kept_and_the_oldest_makes_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
