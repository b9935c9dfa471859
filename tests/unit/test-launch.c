/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The environment of a started command, the report of each failure, and the end of shims. If the test runs as root,
 * commands run as other users, too. Otherwise the test covers an unprivileged nmd and skips the other cases.
 */

#include "tests/unit/launch-fixture.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cgroup/cgroup.h"
#include "cgroup/procs.h"
#include "util/clock.h"
#include "util/fileio.h"

static void test_the_exit_code_of_a_command_is_reported(void **state)
{
    struct fixture *w = *state;
    struct nm_launch_record r;

    shell(w, "echo out; echo err >&2; exit 42");
    run(w);
    assert_int_equal(w->n_started, 1);
    assert_false(w->without_record);
    assert_int_equal(w->ended.exit_code, 42);
    assert_int_equal(w->ended.exit_signal, 0);
    assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_NONE);
    assert_true(w->started.pid > 1 && w->ended.pid == w->started.pid);
    assert_true(w->ended.started_usec >= 1 && w->ended.ended_usec >= w->ended.started_usec);
    assert_true(w->ended.ended_usec <= nm_now_usec());
    assert_true(w->ended.ended_realtime_usec >= w->ended.started_realtime_usec);
    assert_true(w->ended.max_rss_bytes >= 65536);
    assert_string_equal(output(w, "stdout"), "out\n");
    assert_string_equal(output(w, "stderr"), "err\n");
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_memory_equal(&r, &w->ended, sizeof r);
    /* the shim was this process's child and has been reaped */
    assert_int_equal(waitpid(nm_launch_shim_pid(w->launch), NULL, WNOHANG), -1);
}

static void test_the_signal_that_killed_a_command_is_reported(void **state)
{
    struct fixture *w = *state;

    shell(w, "kill -USR1 $$");
    run(w);
    assert_int_equal(w->ended.exit_code, -1);
    assert_int_equal(w->ended.exit_signal, SIGUSR1);
}

static void check_failure(struct fixture *w, enum nm_launch_stage stage, int error)
{
    struct nm_launch_record r;

    run(w);
    assert_int_equal(w->n_started, 0);
    assert_false(w->without_record);
    assert_int_equal(w->ended.failed_stage, stage);
    assert_int_equal(w->ended.failed_errno, error);
    assert_int_equal(w->ended.exit_code, -1);
    assert_int_equal(w->ended.pid, 0);
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_memory_equal(&r, &w->ended, sizeof r);
}

static void test_a_missing_command_is_reported(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"no-such-program-anywhere");
    check_failure(w, NM_LAUNCH_STAGE_EXEC, ENOENT);
}

static void test_a_command_missing_in_the_path_is_reported(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"/no/such/program");
    check_failure(w, NM_LAUNCH_STAGE_EXEC, ENOENT);
}

static void test_a_command_that_is_not_executable_is_reported(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"/etc/passwd");
    check_failure(w, NM_LAUNCH_STAGE_EXEC, EACCES);
}

/* The command is searched in the container's PATH. The first match can't be executed, so the second match is used. */
static void test_a_command_is_searched_in_the_path_of_the_container(void **state)
{
    struct fixture *w = *state;
    char path[256], file[128];
    const char *const dirs[] = {"a", "b"};

    for (int i = 0; i < 2; i++) {
        (void)snprintf(file, sizeof file, "%s/%s", w->root, dirs[i]);
        assert_int_equal(mkdir(file, 0755), 0);
        (void)snprintf(file, sizeof file, "%s/%s/prog", w->root, dirs[i]);
        assert_int_equal(symlink(i == 0 ? "/etc/passwd" : "/bin/echo", file), 0);
    }
    (void)snprintf(path, sizeof path, "PATH=/nowhere:/etc/passwd:%s/a:%s/b", w->root, w->root);
    w->env[0] = path;
    set_argv(w, (char *)"prog", (char *)"found");
    run(w);
    assert_int_equal(w->ended.exit_code, 0);
    assert_string_equal(output(w, "stdout"), "found\n");
}

static void test_a_command_without_an_executable_match_in_the_path_is_reported(void **state)
{
    struct fixture *w = *state;
    char path[128];

    (void)snprintf(path, sizeof path, "PATH=/etc:/nowhere");
    w->env[0] = path;
    set_argv(w, (char *)"passwd");
    check_failure(w, NM_LAUNCH_STAGE_EXEC, EACCES);
}

static void test_a_file_of_an_unknown_format_is_reported(void **state)
{
    struct fixture *w = *state;
    char file[128];
    int fd;

    (void)snprintf(file, sizeof file, "%s/script", w->root);
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "echo no shell is asked\n", 23), 23);
    (void)close(fd);
    set_argv(w, file);
    check_failure(w, NM_LAUNCH_STAGE_EXEC, ENOEXEC);
}

static void test_a_missing_working_directory_is_reported(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"/bin/true");
    w->command.workdir = (char *)"/no/such/directory";
    check_failure(w, NM_LAUNCH_STAGE_WORKDIR, ENOENT);
}

static void test_the_working_directory_is_entered_as_the_user(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"/bin/true");
    use_user(w, "nobody");
    w->command.workdir = (char *)"/root";
    check_failure(w, NM_LAUNCH_STAGE_WORKDIR, EACCES);
}

static void test_an_unknown_user_is_reported(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"/bin/true");
    free(w->command.user);
    w->command.user = strdup("no-such-user");
    check_failure(w, NM_LAUNCH_STAGE_USER, ENOENT);
}

static void test_a_user_whose_uid_has_changed_is_reported(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"/bin/true");
    use_user(w, "nobody");
    w->command.uid = 0;
    check_failure(w, NM_LAUNCH_STAGE_USER, ESTALE);
}

static void test_a_log_that_can_not_be_opened_is_reported(void **state)
{
    struct fixture *w = *state;
    char path[128];

    set_argv(w, (char *)"/bin/true");
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    assert_int_equal(nm_mkdir_p(w->logs, 0700), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    check_failure(w, NM_LAUNCH_STAGE_LOGS, ELOOP);
}

static void test_the_command_has_its_environment(void **state)
{
    struct fixture *w = *state;
    const struct passwd *pw = getpwuid(geteuid());
    char expected[1024];

    if (!pw)
        skip();
    set_argv(w, (char *)"/usr/bin/env");
    w->env[0] = (char *)"B=two words";
    w->env[1] = (char *)"HOME=/elsewhere";
    w->env[2] = (char *)"EMPTY=";
    assert_int_equal(setenv("LEAK", "1", 1), 0);
    run(w);
    (void)snprintf(expected, sizeof expected,
                   "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
                   "USER=%s\nLOGNAME=%s\nSHELL=%s\nB=two words\nHOME=/elsewhere\nEMPTY=\n",
                   pw->pw_name, pw->pw_name, pw->pw_shell);
    assert_string_equal(output(w, "stdout"), expected);
}

static void test_the_command_runs_as_its_user(void **state)
{
    struct fixture *w = *state;
    char expected[512], path[128];
    struct stat st;

    shell(w, "id -u; id -g; id -G; grep -E '^(Uid|Gid|CapEff|CapPrm|NoNewPrivs):' "
             "/proc/self/status; pwd; umask");
    use_user(w, "nobody");
    run(w);
    (void)snprintf(
        expected, sizeof expected,
        "%u\n%u\n%u\nUid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nCapPrm:\t0000000000000000\n"
        "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n/\n0022\n",
        w->command.uid, w->command.gid, w->command.gid, w->command.uid, w->command.uid,
        w->command.uid, w->command.uid, w->command.gid, w->command.gid, w->command.gid,
        w->command.gid);
    assert_string_equal(output(w, "stdout"), expected);
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(w->logs, &st), 0);
    assert_int_equal(st.st_uid, 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

/* A user with supplementary groups gets them, and none of nmd's groups. */
static void test_the_command_has_its_users_groups(void **state)
{
    struct fixture *w = *state;
    const struct group *g;
    char name[64] = "", expected[64];

    if (geteuid() != 0)
        skip();
    setgrent();
    while (!*name && (g = getgrent()))
        if (g->gr_mem[0] && getpwnam(g->gr_mem[0]))
            (void)snprintf(name, sizeof name, "%s", g->gr_mem[0]);
    endgrent();
    if (!*name)
        (void)snprintf(name, sizeof name, "daemon");
    use_user(w, name);
    set_argv(w, (char *)"/bin/sh", (char *)"-c",
             (char *)"a=$(id -G | tr ' ' '\\n' | sort -u); b=$(id -G \"$USER\" | tr ' ' '\\n' | "
                     "sort -u); "
                     "[ \"$a\" = \"$b\" ] && echo same");
    assert_int_equal(setgroups(3, (gid_t[]){0, 4, 27}), 0);
    run(w);
    assert_int_equal(setgroups(1, (gid_t[]){0}), 0);
    (void)snprintf(expected, sizeof expected, "same\n");
    assert_string_equal(output(w, "stdout"), expected);
}

static void confine(struct fixture *w)
{
    use_user(w, "nobody");
    if (nm_launch_probe_confinement() < 0)
        skip();
    w->confine = true;
}

/* In the user namespace of a confined command, files have the same owners, including root, and the command has no
 * privilege. */
static void test_a_confined_command_has_no_privilege(void **state)
{
    struct fixture *w = *state;
    char expected[256];

    shell(w, "cat /proc/self/uid_map /proc/self/gid_map | tr -s ' '; stat -c %u:%g /etc/passwd .; id -u; id -g;"
             "grep -hE '^Cap(Inh|Prm|Eff|Bnd|Amb):' /proc/self/status | cut -f2 | sort -u;"
             "cat /proc/self/oom_score_adj; ls -A /run/user /run/dbus 2>/dev/null | grep -v : | tr -d '\\n';"
             "grep -E ' / / .* shared:' /proc/self/mountinfo | wc -l");
    confine(w);
    w->oom_score_adj = 1000;
    w->command.workdir = (char *)"/";
    run(w);
    (void)snprintf(expected, sizeof expected,
                   " 0 0 4294967295\n 0 0 4294967295\n0:0\n0:0\n%u\n%u\n0000000000000000\n1000\n0\n",
                   w->command.uid, w->command.gid);
    assert_string_equal(output(w, "stdout"), expected);
}

/* Shared memory that the command does not remove is removed with the IPC namespace of the container. It never exists in
 * the namespace of the host. */
static void test_shared_memory_is_removed_with_the_ipc_namespace(void **state)
{
    struct fixture *w = *state;
    char path[64], ours[64] = "";

    shell(w, "readlink /proc/self/ns/ipc; touch /dev/shm/nm-test-left && ls /dev/shm");
    confine(w);
    run(w);
    (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(output(w, "stdout"), "\n"), output(w, "stdout"));
    assert_true(readlink("/proc/self/ns/ipc", ours, sizeof ours - 1) > 0);
    assert_string_not_equal(path, ours);
    assert_string_equal(strchr(output(w, "stdout"), '\n'), "\nnm-test-left\n");
    assert_int_equal(access("/dev/shm/nm-test-left", F_OK), -1);
}

/* A confined command ends with its shim, although it uses no resource of the shim once it runs. */
static void test_a_confined_command_ends_with_its_shim(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"sleep", (char *)"1000");
    confine(w);
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(kill(nm_launch_shim_pid(w->launch), SIGKILL), 0);
    wait_for(w, &w->n_ended);
    wait_until_dead(w->started.pid);
}

/* A container that may gain privileges, or that runs as root, gets no user namespace, because it would have more rights
 * in a user namespace. */
static void test_a_privileged_container_gets_no_user_namespace(void **state)
{
    struct fixture *w = *state;
    char path[64], ours[64] = "";

    shell(w, "readlink /proc/self/ns/user");
    confine(w);
    w->command.no_new_privs = false;
    run(w);
    (void)snprintf(path, sizeof path, "%s", output(w, "stdout"));
    assert_true(readlink("/proc/self/ns/user", ours, sizeof ours - 1) > 0);
    assert_memory_equal(path, ours, strlen(ours));
    free_launch(w);
    w->n_ended = 0;
    w->command.no_new_privs = true;
    use_user(w, "root");
    run(w);
    assert_memory_equal(output(w, "stdout"), ours, strlen(ours));
}

static void test_new_privileges_can_be_allowed(void **state)
{
    struct fixture *w = *state;

    shell(w, "grep NoNewPrivs /proc/self/status");
    w->command.no_new_privs = false;
    run(w);
    assert_string_equal(output(w, "stdout"), "NoNewPrivs:\t0\n");
}

static void test_the_command_inherits_no_descriptors(void **state)
{
    struct fixture *w = *state;
    int low = open("/dev/null", O_RDONLY), high = fcntl(low, F_DUPFD, 200); /* neither is close-on-exec */

    shell(w, "for f in /proc/$$/fd/*; do readlink $f >/dev/null && echo ${f##*/}; done; readlink "
             "/proc/self/fd/0; exec 0<&-; read x || echo eof");
    run(w);
    (void)close(low);
    (void)close(high);
    assert_string_equal(output(w, "stdout"), "0\n1\n2\n/dev/null\neof\n");
}

static void test_the_command_has_its_own_session_and_default_signals(void **state)
{
    struct fixture *w = *state;
    char expected[64];

    shell(w, "grep -E '^(SigBlk|SigIgn|SigCgt):' /proc/self/status; cut -d' ' -f5,6 /proc/$$/stat; "
             "cat /proc/self/oom_score_adj");
    w->oom_score_adj = 600;
    (void)signal(SIGPIPE, SIG_IGN);
    run(w);
    (void)signal(SIGPIPE, SIG_DFL);
    assert_non_null(
        strstr(output(w, "stdout"), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
    (void)snprintf(expected, sizeof expected, "\n%d %d\n600\n", w->ended.pid, w->ended.pid);
    assert_non_null(strstr(output(w, "stdout"), expected));
}

/* The command can't affect the shim, and the shim has no privileges. */
static void test_the_command_can_not_affect_the_shim(void **state)
{
    struct fixture *w = *state;
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char path[64], text[4096];
    pid_t shim;

    if (geteuid() != 0)
        skip();
    set_argv(w, (char *)"sleep", (char *)"1000");
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    shim = nm_launch_shim_pid(w->launch);
    (void)snprintf(path, sizeof path, "/proc/%d/status", shim);
    do
        assert_int_equal(nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL), 0);
    while (!strstr(text, "CapEff:\t0000000000000000\n") && nm_now_usec() < until);
    assert_non_null(strstr(text, "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"));
    assert_non_null(strstr(text, "SigBlk:\tfffffffe7ffbfeff\n"));
    (void)snprintf(path, sizeof path, "/proc/%d/oom_score_adj", shim);
    assert_int_equal(nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL), 0);
    if (prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE) == 1)
        assert_string_equal(text, "-1000\n");
    assert_int_equal(getsid(shim), shim);
    assert_int_equal(kill(shim, SIGTERM), 0);
    assert_int_equal(kill(shim, SIGINT), 0);
    assert_int_equal(kill(w->started.pid, SIGTERM), 0);
    wait_for(w, &w->n_ended);
    assert_false(w->without_record);
    assert_int_equal(w->ended.exit_signal, SIGTERM);
}

/* A container ends although background processes still run. The shim reaps orphans. */
static void test_a_container_ends_although_background_processes_run(void **state)
{
    struct fixture *w = *state;
    long left;

    shell(w, "(/bin/true &) ; sleep 1000 & echo $!; exit 5");
    run(w);
    assert_int_equal(w->ended.exit_code, 5);
    left = strtol(output(w, "stdout"), NULL, 10);
    assert_true(left > 1);
    assert_int_equal(kill((pid_t)left, SIGKILL), 0);
}

static void test_while_the_gate_is_closed_no_command_runs(void **state)
{
    struct fixture *w = *state;
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    struct nm_launch_record r;
    siginfo_t info;
    pid_t shim;

    shell(w, "echo must not run");
    assert_int_equal(launch(w), 0);
    shim = nm_launch_shim_pid(w->launch);
    free_launch(w);
    wait_until_dead(shim);
    assert_int_equal(nm_launch_record_read(w->dir, &r), -ENOENT);
    assert_false(nm_launch_gate_was_open(w->dir));
    assert_nothing_written(w);
    /* the loop reaps the child of the freed launch */
    while (waitid(P_PID, (id_t)shim, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        assert_true(nm_now_usec() < until);
        assert_true(sd_event_run(w->event, 100000) >= 0);
    }
    assert_int_equal(errno, ECHILD);
}

static void test_a_shim_killed_at_its_gate_has_run_no_command(void **state)
{
    struct fixture *w = *state;

    shell(w, "echo must not run");
    assert_int_equal(launch(w), 0);
    assert_int_equal(kill(nm_launch_shim_pid(w->launch), SIGKILL), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 0);
    assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_SHIM);
    assert_int_equal(w->ended.failed_errno, EPIPE);
    assert_int_equal(nm_launch_open_gate(w->launch), -EPIPE);
}

static void test_a_missing_shim_is_reported(void **state)
{
    struct fixture *w = *state;
    const struct nm_launch_params p = {
        .cgroup_fd = -EBADF,
        .shim_fd = -ENOENT,
        .container_dir = w->dir,
        .log_dir = w->logs,
        .container_id = "x",
        .command = &w->command,
        .event = w->event,
    };

    set_argv(w, (char *)"/bin/true");
    assert_int_equal(nm_launch_new(&p, on_launch, w, &w->launch), -ENOENT);
    assert_null(w->launch);
}

static struct nm_cgroup_backend *make_slice(void)
{
    char slice[64];
    struct nm_cgroup_backend_params params = {.kind = NM_CGROUP_BACKEND_DIRECT, .slice = slice};
    struct nm_cgroup_backend *b = NULL;

    (void)snprintf(slice, sizeof slice, "nmtest-launch%d.slice", (int)getpid());
    (void)nm_cgroup_backend_new(&params, &b, NULL);
    return b;
}

/* The shim is born in its cgroup, so it is there before its gate opens. The children of the shim are born in the
 * cgroup, too. */
static void test_the_shim_is_born_in_its_cgroup(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_cgroup_backend_freep) struct nm_cgroup_backend *b = make_slice();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    pid_t shim;

    if (!b) {
        print_message("this process may not make a cgroup\n");
        skip();
    }
    assert_int_equal(b->ops->prepare(b, "c1", &cg), 0);
    w->cgroup_fd = cg->dir_fd;
    shell(w, "cat /proc/self/cgroup; exit 4");
    assert_int_equal(launch(w), 0);
    shim = nm_launch_shim_pid(w->launch);
    assert_true(nm_procs_is_member(shim, cg->name));
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->ended.exit_code, 4);
    assert_non_null(strstr(output(w, "stdout"), cg->name));
    wait_until_dead(shim);
    assert_int_equal(b->ops->remove(b, cg), 0);
}

/* The caller doesn't wait for the exec of the shim, so a failure of the exec is reported later. */
static void test_a_shim_that_can_not_be_executed_is_reported(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_cgroup_backend_freep) struct nm_cgroup_backend *b = make_slice();
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    _cleanup_close_ int dir = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int shim = -EBADF;
    struct nm_launch_params p = {
        .container_dir = w->dir,
        .log_dir = w->logs,
        .container_id = "container_1_000001",
        .command = &w->command,
        .event = w->event,
    };

    if (!b)
        skip();
    assert_int_equal(nm_write_file_atomic_at(dir, "garbage", "no program", 0755), 0);
    p.shim_fd = shim = openat(dir, "garbage", O_PATH | O_CLOEXEC);
    assert_true(shim >= 0);
    assert_int_equal(b->ops->prepare(b, "c1", &cg), 0);
    p.cgroup_fd = cg->dir_fd;
    set_argv(w, (char *)"true");
    assert_int_equal(nm_launch_new(&p, on_launch, w, &w->launch), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_SHIM);
    assert_int_equal(w->ended.failed_errno, ENOEXEC);
    wait_until_dead(nm_launch_shim_pid(w->launch));
    assert_int_equal(b->ops->remove(b, cg), 0);
}

/* The shim is also started if the descriptor is not of a cgroup, or if the cgroup was removed. */
static void test_a_shim_is_started_although_its_cgroup_is_missing(void **state)
{
    struct fixture *w = *state;
    _cleanup_close_ int fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    w->cgroup_fd = fd;
    shell(w, "exit 4");
    run(w);
    assert_int_equal(w->ended.exit_code, 4);
}

/* The record of an earlier attempt in the same directory is ignored. */
static void test_the_record_of_an_earlier_attempt_is_ignored(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"no-such-program-anywhere");
    run(w);
    free_launch(w);
    w->n_ended = 0;
    shell(w, "exit 3");
    run(w);
    assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_NONE);
    assert_int_equal(w->ended.exit_code, 3);
}

static void test_a_command_ends_with_its_killed_shim(void **state)
{
    struct fixture *w = *state;

    set_argv(w, (char *)"sleep", (char *)"1000");
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(kill(nm_launch_shim_pid(w->launch), SIGKILL), 0);
    wait_for(w, &w->n_ended);
    assert_true(w->without_record);
    wait_until_dead(w->started.pid); /* the command ends with its shim */
}

static struct stat stat_in(const struct fixture *w, const char *name)
{
    struct stat st;
    char path[160];

    (void)snprintf(path, sizeof path, "%s/%s", w->dir, name);
    assert_int_equal(lstat(path, &st), 0);
    return st;
}

/* The record of the start is a second name of the gate's file. So a container creates a file less, and its end deletes
 * no file. */
static void test_the_record_of_the_start_is_in_the_gates_file(void **state)
{
    struct fixture *w = *state;
    struct stat gate, record;
    struct nm_launch_record r;

    set_argv(w, (char *)"sleep", (char *)"1000");
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    gate = stat_in(w, "gate");
    record = stat_in(w, "record");
    assert_int_equal(record.st_ino, gate.st_ino);
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_int_equal(r.phase, NM_LAUNCH_STARTED);
    assert_int_equal(kill(w->started.pid, SIGKILL), 0);
    wait_for(w, &w->n_ended);
    record = stat_in(w, "record");
    assert_int_not_equal(record.st_ino, gate.st_ino);
    assert_int_equal(stat_in(w, "gate").st_ino, gate.st_ino);
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_int_equal(r.phase, NM_LAUNCH_ENDED);
}

#define launch_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

/* Returns the limit of descriptors with which `n_free` numbers are free. */
static rlim_t limit_for(unsigned n_free)
{
    int limit = 0;

    while (n_free > 0)
        n_free -= fcntl(limit++, F_GETFD) < 0;
    return (rlim_t)limit;
}

/* Asks whether `n_free` descriptors are enough. `gap`: the first free numbers are not adjacent. */
static bool enough(unsigned n_free, bool gap)
{
    int low = open("/", O_PATH | O_CLOEXEC), high = gap ? fcntl(low, F_DUPFD_CLOEXEC, low + 4) : -1;
    struct rlimit old, few;
    uint64_t limit = 0;
    bool is_enough;

    assert_true(low >= 0 && close(low) == 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){.rlim_cur = limit_for(n_free), .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    is_enough = nm_launch_has_descriptors(&limit);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(limit, few.rlim_cur);
    assert_int_equal(low, open("/", O_PATH | O_CLOEXEC)); /* the question has left no descriptor open */
    assert_int_equal(close(low), 0);
    if (gap)
        assert_int_equal(close(high), 0);
    return is_enough;
}

/* 32 free descriptors are enough for a launch, wherever their numbers are. */
static void test_free_descriptors_are_counted(void **state)
{
    (void)state;
    for (int gap = 0; gap <= 1; gap++) {
        assert_false(enough(0, gap));
        assert_false(enough(3, gap));
        assert_false(enough(31, gap));
        assert_true(enough(32, gap));
        assert_true(enough(33, gap));
        assert_true(enough(100, gap));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        launch_test(test_the_exit_code_of_a_command_is_reported),
        launch_test(test_the_signal_that_killed_a_command_is_reported),
        launch_test(test_a_missing_command_is_reported),
        launch_test(test_a_command_missing_in_the_path_is_reported),
        launch_test(test_a_command_that_is_not_executable_is_reported),
        launch_test(test_a_command_is_searched_in_the_path_of_the_container),
        launch_test(test_a_command_without_an_executable_match_in_the_path_is_reported),
        launch_test(test_a_file_of_an_unknown_format_is_reported),
        launch_test(test_a_missing_working_directory_is_reported),
        launch_test(test_the_working_directory_is_entered_as_the_user),
        launch_test(test_an_unknown_user_is_reported),
        launch_test(test_a_user_whose_uid_has_changed_is_reported),
        launch_test(test_a_log_that_can_not_be_opened_is_reported),
        launch_test(test_the_command_has_its_environment),
        launch_test(test_the_command_runs_as_its_user),
        launch_test(test_the_command_has_its_users_groups),
        launch_test(test_a_confined_command_has_no_privilege),
        launch_test(test_shared_memory_is_removed_with_the_ipc_namespace),
        launch_test(test_a_confined_command_ends_with_its_shim),
        launch_test(test_a_privileged_container_gets_no_user_namespace),
        launch_test(test_new_privileges_can_be_allowed),
        launch_test(test_the_command_inherits_no_descriptors),
        launch_test(test_the_command_has_its_own_session_and_default_signals),
        launch_test(test_the_command_can_not_affect_the_shim),
        launch_test(test_a_container_ends_although_background_processes_run),
        launch_test(test_while_the_gate_is_closed_no_command_runs),
        launch_test(test_a_shim_killed_at_its_gate_has_run_no_command),
        launch_test(test_a_missing_shim_is_reported),
        launch_test(test_the_shim_is_born_in_its_cgroup),
        launch_test(test_a_shim_that_can_not_be_executed_is_reported),
        launch_test(test_a_shim_is_started_although_its_cgroup_is_missing),
        launch_test(test_the_record_of_an_earlier_attempt_is_ignored),
        launch_test(test_a_command_ends_with_its_killed_shim),
        launch_test(test_the_record_of_the_start_is_in_the_gates_file),
        cmocka_unit_test(test_free_descriptors_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
