/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Real shims and real commands in a temporary directory. As root the commands run as other users too; otherwise the
 * program tests what an unprivileged nmd can do and skips the rest. NMD_SHIM names another shim binary.
 */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/launch.h"
#include "util/clock.h"
#include "util/fileio.h"

#define DEADLINE_USEC (10 * NM_USEC_PER_SEC)

struct world {
    char root[64], dir[96], logs[96], cgroup[128];
    sd_event *event;
    struct nm_launch *launch;
    struct nm_command command;
    char *argv[16], *env[16];
    int oom_score_adj;
    /* what was heard */
    unsigned n_started, n_ended;
    bool without_record;
    struct nm_launch_record started, ended;
};

static const char *shim_path(void)
{
    return getenv("NMD_SHIM") ?: NM_TEST_SHIM;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    strcpy(w->root, "/tmp/nm-test-launch-XXXXXX");
    if (!mkdtemp(w->root) || chmod(w->root, 0755) < 0)
        return -1;
    (void)snprintf(w->dir, sizeof w->dir, "%s/c/1", w->root);
    (void)snprintf(w->logs, sizeof w->logs, "%s/l/1", w->root);
    w->command = (struct nm_command){
        .argv = w->argv, .env = w->env, .workdir = (char *)"", .uid = geteuid(), .gid = getegid(), .no_new_privs = true,
    };
    w->command.user = strdup(getpwuid(geteuid()) ? getpwuid(geteuid())->pw_name : "0");
    *state = w;
    return sd_event_new(&w->event);
}

static int tear_down(void **state)
{
    struct world *w = *state;

    nm_launch_free(w->launch);
    sd_event_unref(w->event);
    if (*w->cgroup) {
        char path[192];

        (void)snprintf(path, sizeof path, "%s/cgroup.kill", w->cgroup);
        (void)nm_write_file_at(AT_FDCWD, path, "1");
        for (int i = 0; i < 1000 && rmdir(w->cgroup) < 0 && errno == EBUSY; i++)
            (void)poll(NULL, 0, 5);
    }
    (void)nftw(w->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(w->command.user);
    free(w);
    return 0;
}

static void on_launch(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r, void *userdata)
{
    struct world *w = userdata;

    assert_true(!w->launch || l == w->launch);
    assert_int_equal(w->n_ended, 0);
    if (phase == NM_LAUNCH_STARTED) {
        assert_non_null(r);
        w->n_started++;
        w->started = *r;
    } else {
        w->n_ended++;
        w->without_record = !r;
        if (r)
            w->ended = *r;
    }
}

#define set_argv(w, ...) \
    memcpy((w)->argv, ((char *[16]){__VA_ARGS__, NULL}), sizeof(w)->argv)
#define shell(w, script) set_argv(w, (char *)"/bin/sh", (char *)"-c", (char *)(script))

static int launch(struct world *w)
{
    const struct nm_launch_params p = {
        .shim_path = shim_path(), .container_dir = w->dir, .log_dir = w->logs, .container_id = "container_1_000001",
        .command = &w->command, .oom_score_adj = w->oom_score_adj, .event = w->event,
    };

    return nm_launch_new(&p, on_launch, w, &w->launch);
}

static void forget(struct world *w)
{
    w->launch = nm_launch_free(w->launch);
}

/* Runs the loop until *counter is not zero. */
static void wait_for(struct world *w, const unsigned *counter)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;

    while (*counter == 0) {
        if (nm_now_usec() > until)
            fail_msg("nothing was heard from the shim in time");
        assert_true(sd_event_run(w->event, 100000) >= 0);
    }
}

static void run(struct world *w)
{
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_ended);
}

/* What the command wrote; a static buffer. */
static const char *output(const struct world *w, const char *stream)
{
    static char buf[65536];
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", w->logs, stream);
    assert_int_equal(nm_read_file_at(AT_FDCWD, path, buf, sizeof buf, NULL), 0);
    return buf;
}

static void use_user(struct world *w, const char *name)
{
    const struct passwd *pw = getpwnam(name);

    if (geteuid() != 0 || !pw)
        skip();
    free(w->command.user);
    w->command.user = strdup(name);
    w->command.uid = pw->pw_uid;
    w->command.gid = pw->pw_gid;
}

static void wait_until_dead(pid_t pid)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char path[32], text[1024];

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    /* a zombie that PID 1 does not reap is dead enough */
    while (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) == 0 && !strstr(text, ") Z ")) {
        assert_true(nm_now_usec() < until);
        (void)poll(NULL, 0, 5);
    }
}

static void test_exit_code(void **state)
{
    struct world *w = *state;
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
    /* the shim was our child and has been reaped */
    assert_int_equal(waitpid(nm_launch_shim_pid(w->launch), NULL, WNOHANG), -1);
}

static void test_signal(void **state)
{
    struct world *w = *state;

    shell(w, "kill -USR1 $$");
    run(w);
    assert_int_equal(w->ended.exit_code, -1);
    assert_int_equal(w->ended.exit_signal, SIGUSR1);
}

static void check_failure(struct world *w, enum nm_launch_stage stage, int error)
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

static void test_not_found(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"no-such-program-anywhere");
    check_failure(w, NM_LAUNCH_STAGE_EXEC, ENOENT);
}

static void test_path_not_found(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"/no/such/program");
    check_failure(w, NM_LAUNCH_STAGE_EXEC, ENOENT);
}

static void test_permission_denied(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"/etc/passwd");
    check_failure(w, NM_LAUNCH_STAGE_EXEC, EACCES);
}

/* A PATH of the container's own, in which the first match may not be executed and a later one may. */
static void test_path_lookup(void **state)
{
    struct world *w = *state;
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

static void test_path_permission_denied(void **state)
{
    struct world *w = *state;
    char path[128];

    (void)snprintf(path, sizeof path, "PATH=/etc:/nowhere");
    w->env[0] = path;
    set_argv(w, (char *)"passwd");
    check_failure(w, NM_LAUNCH_STAGE_EXEC, EACCES);
}

static void test_bad_format(void **state)
{
    struct world *w = *state;
    char file[128];
    int fd;

    (void)snprintf(file, sizeof file, "%s/script", w->root);
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "echo no shell is asked\n", 23), 23);
    (void)close(fd);
    set_argv(w, file);
    check_failure(w, NM_LAUNCH_STAGE_EXEC, ENOEXEC);
}

static void test_bad_workdir(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"/bin/true");
    w->command.workdir = (char *)"/no/such/directory";
    check_failure(w, NM_LAUNCH_STAGE_WORKDIR, ENOENT);
}

static void test_workdir_as_user(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"/bin/true");
    use_user(w, "nobody");
    w->command.workdir = (char *)"/root";
    check_failure(w, NM_LAUNCH_STAGE_WORKDIR, EACCES);
}

static void test_bad_user(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"/bin/true");
    free(w->command.user);
    w->command.user = strdup("no-such-user");
    check_failure(w, NM_LAUNCH_STAGE_USER, ENOENT);
}

static void test_user_changed(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"/bin/true");
    use_user(w, "nobody");
    w->command.uid = 0;
    check_failure(w, NM_LAUNCH_STAGE_USER, ESTALE);
}

static void test_logs_refused(void **state)
{
    struct world *w = *state;
    char path[128];

    set_argv(w, (char *)"/bin/true");
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    assert_int_equal(nm_mkdir_p(w->logs, 0700), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    check_failure(w, NM_LAUNCH_STAGE_LOGS, ELOOP);
}

static void test_environment(void **state)
{
    struct world *w = *state;
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

static void test_nobody(void **state)
{
    struct world *w = *state;
    char expected[512], path[128];
    struct stat st;

    shell(w, "id -u; id -g; id -G; grep -E '^(Uid|Gid|CapEff|CapPrm|NoNewPrivs):' /proc/self/status; pwd; umask");
    use_user(w, "nobody");
    run(w);
    (void)snprintf(expected, sizeof expected,
                   "%u\n%u\n%u\nUid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nCapPrm:\t0000000000000000\n"
                   "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n/\n0022\n",
                   w->command.uid, w->command.gid, w->command.gid, w->command.uid, w->command.uid, w->command.uid,
                   w->command.uid, w->command.gid, w->command.gid, w->command.gid, w->command.gid);
    assert_string_equal(output(w, "stdout"), expected);
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, w->command.uid);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(w->logs, &st), 0);
    assert_int_equal(st.st_uid, 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

/* A member of further groups gets them, and nothing of nmd's own. */
static void test_supplementary_groups(void **state)
{
    struct world *w = *state;
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
             (char *)"a=$(id -G | tr ' ' '\\n' | sort -u); b=$(id -G \"$USER\" | tr ' ' '\\n' | sort -u); "
                     "[ \"$a\" = \"$b\" ] && echo same");
    assert_int_equal(setgroups(3, (gid_t[]){0, 4, 27}), 0);
    run(w);
    assert_int_equal(setgroups(1, (gid_t[]){0}), 0);
    (void)snprintf(expected, sizeof expected, "same\n");
    assert_string_equal(output(w, "stdout"), expected);
}

static void test_new_privs_allowed(void **state)
{
    struct world *w = *state;

    shell(w, "grep NoNewPrivs /proc/self/status");
    w->command.no_new_privs = false;
    run(w);
    assert_string_equal(output(w, "stdout"), "NoNewPrivs:\t0\n");
}

static void test_descriptors(void **state)
{
    struct world *w = *state;
    int low = open("/dev/null", O_RDONLY), high = fcntl(low, F_DUPFD, 200); /* neither is CLOEXEC */

    shell(w, "for f in /proc/$$/fd/*; do readlink $f >/dev/null && echo ${f##*/}; done; readlink /proc/self/fd/0; exec 0<&-; read x || echo eof");
    run(w);
    (void)close(low);
    (void)close(high);
    assert_string_equal(output(w, "stdout"), "0\n1\n2\n/dev/null\neof\n");
}

static void test_signals_and_session(void **state)
{
    struct world *w = *state;
    char expected[64];

    shell(w, "grep -E '^(SigBlk|SigIgn|SigCgt):' /proc/self/status; cut -d' ' -f5,6 /proc/$$/stat; cat /proc/self/oom_score_adj");
    w->oom_score_adj = 600;
    (void)signal(SIGPIPE, SIG_IGN);
    run(w);
    (void)signal(SIGPIPE, SIG_DFL);
    assert_non_null(strstr(output(w, "stdout"), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
    (void)snprintf(expected, sizeof expected, "\n%d %d\n600\n", w->ended.pid, w->ended.pid);
    assert_non_null(strstr(output(w, "stdout"), expected));
}

/* The shim itself: out of reach, and without rights. */
static void test_shim_is_hardened(void **state)
{
    struct world *w = *state;
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

/* Background processes don't keep a container alive, and orphans are reaped by the shim. */
static void test_background_processes(void **state)
{
    struct world *w = *state;
    long left;

    shell(w, "(/bin/true &) ; sleep 1000 & echo $!; exit 5");
    run(w);
    assert_int_equal(w->ended.exit_code, 5);
    left = strtol(output(w, "stdout"), NULL, 10);
    assert_true(left > 1);
    assert_int_equal(kill((pid_t)left, SIGKILL), 0);
}

static void test_gate_stays_shut(void **state)
{
    struct world *w = *state;
    struct nm_launch_record r;
    char path[128];
    pid_t shim;

    shell(w, "echo must not run");
    assert_int_equal(launch(w), 0);
    shim = nm_launch_shim_pid(w->launch);
    forget(w);
    wait_until_dead(shim);
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_int_equal(r.failed_stage, NM_LAUNCH_STAGE_SHIM);
    assert_int_equal(r.failed_errno, ECANCELED);
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    assert_int_equal(access(path, F_OK), -1);
    /* the loop reaps what was forgotten */
    for (int i = 0; i < 10 && waitpid(shim, NULL, WNOHANG | WNOWAIT) == 0; i++)
        (void)sd_event_run(w->event, 100000);
    (void)sd_event_run(w->event, 0);
    assert_int_equal(waitpid(shim, NULL, WNOHANG), -1);
}

static void test_shim_killed_at_gate(void **state)
{
    struct world *w = *state;

    shell(w, "echo must not run");
    assert_int_equal(launch(w), 0);
    assert_int_equal(kill(nm_launch_shim_pid(w->launch), SIGKILL), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 0);
    assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_SHIM);
    assert_int_equal(w->ended.failed_errno, EPIPE);
    assert_int_equal(nm_launch_open_gate(w->launch), -EPIPE);
}

static void test_shim_missing(void **state)
{
    struct world *w = *state;
    const struct nm_launch_params p = {
        .shim_path = "/no/such/shim", .container_dir = w->dir, .log_dir = w->logs, .container_id = "x",
        .command = &w->command, .event = w->event,
    };

    set_argv(w, (char *)"/bin/true");
    assert_int_equal(nm_launch_new(&p, on_launch, w, &w->launch), -ENOENT);
    assert_null(w->launch);
}

/* A stale record of an earlier attempt in the same directory is not believed. */
static void test_second_attempt(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"no-such-program-anywhere");
    run(w);
    forget(w);
    w->n_ended = 0;
    shell(w, "exit 3");
    run(w);
    assert_int_equal(w->ended.failed_stage, NM_LAUNCH_STAGE_NONE);
    assert_int_equal(w->ended.exit_code, 3);
}

static void test_shim_killed_alone(void **state)
{
    struct world *w = *state;

    set_argv(w, (char *)"sleep", (char *)"1000");
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(kill(nm_launch_shim_pid(w->launch), SIGKILL), 0);
    wait_for(w, &w->n_ended);
    assert_true(w->without_record);
    wait_until_dead(w->started.pid); /* it goes with its shim */
}

/* ---- restarts ------------------------------------------------------------------------------------------------- */

struct handed_over {
    pid_t shim, pid;
    uint64_t ticks;
};

/* An nmd that dies by SIGKILL: a process of its own launches, waits for STARTED if `until_started`, and goes. */
static struct handed_over launch_and_die(struct world *w, bool open_gate, bool until_started)
{
    struct handed_over h = {0};
    int fds[2], status;
    pid_t nmd;

    assert_int_equal(pipe(fds), 0);
    nmd = fork();
    assert_true(nmd >= 0);
    if (nmd == 0) {
        w->event = NULL; /* a loop does not survive a fork */
        if (sd_event_new(&w->event) < 0 || launch(w) < 0 || (open_gate && nm_launch_open_gate(w->launch) < 0))
            _exit(1);
        if (until_started)
            wait_for(w, &w->n_started);
        h.shim = nm_launch_shim_pid(w->launch);
        h.ticks = nm_launch_shim_start_ticks(w->launch);
        h.pid = w->started.pid;
        if (write(fds[1], &h, sizeof h) == sizeof h)
            (void)kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(read(fds[0], &h, sizeof h), sizeof h);
    assert_int_equal(waitpid(nmd, &status, 0), nmd);
    assert_true(WIFSIGNALED(status));
    (void)close(fds[0]);
    (void)close(fds[1]);
    /* the forked copy did the work, this process's own loop is untouched */
    return h;
}

static int adopt(struct world *w, const struct handed_over *h)
{
    return nm_launch_adopt(w->dir, h->shim, h->ticks, w->event, on_launch, w, &w->launch);
}

static void release_command(const struct world *w)
{
    char path[128];
    int fd;

    (void)snprintf(path, sizeof path, "%s/go", w->root);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    (void)close(fd);
}

/* A command that ends with 17 when release_command() says so. */
static void use_waiting_command(struct world *w, char *script, size_t size)
{
    (void)snprintf(script, size, "while [ ! -e %s/go ]; do sleep 0.02; done; exit 17", w->root);
    shell(w, script);
}

static void test_adopt_running(void **state)
{
    struct world *w = *state;
    struct handed_over h;
    char script[160];

    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    assert_int_equal(adopt(w, &h), 0);
    assert_int_equal(w->n_started, 0); /* not inside the call */
    wait_for(w, &w->n_started);
    assert_int_equal(w->started.pid, h.pid);
    assert_int_equal(nm_launch_open_gate(w->launch), -EPIPE);
    release_command(w);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 1);
    assert_int_equal(w->ended.exit_code, 17);
}

/* Adopted between the gate and the start: STARTED is heard through the directory. */
static void test_adopt_early(void **state)
{
    struct world *w = *state;
    struct handed_over h;
    char script[160];

    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, false);
    assert_int_equal(adopt(w, &h), 0);
    wait_for(w, &w->n_started);
    assert_true(w->started.pid > 1);
    release_command(w);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->ended.exit_code, 17);
}

static void test_die_before_gate(void **state)
{
    struct world *w = *state;
    struct nm_launch_record r;
    struct handed_over h;
    char path[128];

    shell(w, "echo must not run");
    h = launch_and_die(w, false, false);
    wait_until_dead(h.shim);
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_int_equal(r.phase, NM_LAUNCH_ENDED);
    assert_int_equal(r.failed_stage, NM_LAUNCH_STAGE_SHIM);
    assert_int_equal(r.failed_errno, ECANCELED);
    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    assert_int_equal(access(path, F_OK), -1);
}

static void test_ended_meanwhile(void **state)
{
    struct world *w = *state;
    struct nm_launch_record r;
    struct handed_over h;

    shell(w, "exit 9");
    h = launch_and_die(w, true, false);
    wait_until_dead(h.shim);
    if (adopt(w, &h) == 0) { /* a zombie, if PID 1 has not reaped it yet */
        wait_for(w, &w->n_ended);
        assert_int_equal(w->n_started, 1);
        assert_int_equal(w->ended.exit_code, 9);
    }
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_int_equal(r.exit_code, 9);
}

static void test_adopt_killed(void **state)
{
    struct world *w = *state;
    struct handed_over h;

    set_argv(w, (char *)"sleep", (char *)"1000");
    h = launch_and_die(w, true, true);
    assert_int_equal(adopt(w, &h), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(kill(h.shim, SIGKILL), 0);
    wait_for(w, &w->n_ended);
    assert_true(w->without_record);
}

static void test_adopt_stranger(void **state)
{
    struct world *w = *state;
    struct handed_over h = {.shim = getpid(), .ticks = 1};

    assert_int_equal(nm_mkdir_p(w->dir, 0700), 0);
    assert_int_equal(adopt(w, &h), -ESRCH);
    h.shim = 0;
    assert_int_equal(adopt(w, &h), -ESRCH);
    h.shim = INT32_MAX;
    assert_int_equal(adopt(w, &h), -ESRCH);
    assert_null(w->launch);
}

/* What something else has done to the record is survived: the end comes anyway. */
static void test_garbage_record(void **state)
{
    struct world *w = *state;
    struct handed_over h;
    char path[128], script[160];
    int fd;

    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    (void)snprintf(path, sizeof path, "%s/record", w->dir);
    fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, "rubbish", 7), 7);
    (void)close(fd);
    assert_int_equal(adopt(w, &h), 0);
    release_command(w);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 1);
    assert_int_equal(w->ended.exit_code, 17);
}

/* ---- a full disk ---------------------------------------------------------------------------------------------- */

/* Puts the container's directory on a file system of 64 KiB, in a mount namespace of this process's own. */
static void use_small_disk(struct world *w)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0)
        skip();
    assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal(nm_mkdir_p(w->dir, 0700), 0);
    assert_int_equal(mount("none", w->dir, "tmpfs", 0, "size=64k"), 0);
}

static void fill_disk(const struct world *w)
{
    static const char page[4096];
    char path[128];
    int fd;

    (void)snprintf(path, sizeof path, "%s/filler", w->dir);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    while (write(fd, page, sizeof page) > 0)
        ;
    assert_int_equal(errno, ENOSPC);
    (void)close(fd);
}

static void free_disk(struct world *w)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/filler", w->dir);
    (void)unlink(path);
}

static void wait_for_reserve(const struct world *w)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char path[128];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/.record.end", w->dir);
    while (stat(path, &st) < 0 || st.st_size == 0) {
        assert_true(nm_now_usec() < until);
        (void)poll(NULL, 0, 5);
    }
}

/* The disk fills up while the command runs, and no nmd is there when it ends: the reserved file takes the record. */
static void test_disk_full_at_end(void **state)
{
    struct world *w = *state;
    struct nm_launch_record r;
    struct handed_over h;
    char script[160];

    use_small_disk(w);
    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    wait_for_reserve(w);
    fill_disk(w);
    release_command(w);
    wait_until_dead(h.shim);
    assert_int_equal(nm_launch_record_read(w->dir, &r), 0);
    assert_int_equal(r.exit_code, 17);
    (void)umount2(w->dir, MNT_DETACH);
}

/* Full from the start: the shim stays, with the exit status, until there is room or somebody who listens. */
static void test_disk_full_all_along(void **state)
{
    struct world *w = *state;
    struct nm_launch_record r;
    struct handed_over h;
    char script[160];

    use_small_disk(w);
    fill_disk(w);
    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    assert_int_equal(nm_launch_record_read(w->dir, &r), -ENOENT);
    assert_int_equal(adopt(w, &h), 0);
    release_command(w);
    wait_until_dead(h.pid);
    free_disk(w);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 1);
    assert_int_equal(w->ended.exit_code, 17);
    (void)umount2(w->dir, MNT_DETACH);
}

/* With an nmd that listens, a full disk changes nothing. */
static void test_disk_full_but_heard(void **state)
{
    struct world *w = *state;

    use_small_disk(w);
    fill_disk(w);
    shell(w, "exit 17");
    run(w);
    assert_int_equal(w->n_started, 1);
    assert_int_equal(w->ended.exit_code, 17);
    (void)umount2(w->dir, MNT_DETACH);
}

/* ---- in a cgroup ---------------------------------------------------------------------------------------------- */

static int write_cgroup(const struct world *w, const char *file, const char *text)
{
    char path[192];

    (void)snprintf(path, sizeof path, "%s/%s", w->cgroup, file);
    return nm_write_file_at(AT_FDCWD, path, text);
}

/* A cgroup of this test's own, removed at the end. */
static void make_cgroup(struct world *w)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(mounts); i++) {
        char path[192];

        (void)snprintf(path, sizeof path, "%s/cgroup.procs", mounts[i]);
        if (access(path, W_OK) < 0)
            continue;
        (void)snprintf(w->cgroup, sizeof w->cgroup, "%s/nm-test-launch-%d", mounts[i], getpid());
        if (mkdir(w->cgroup, 0755) == 0 && write_cgroup(w, "cgroup.freeze", "0") == 0)
            return;
        (void)rmdir(w->cgroup);
    }
    w->cgroup[0] = '\0';
    skip();
}

static void enter_cgroup(struct world *w, pid_t pid)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d", pid);
    assert_int_equal(write_cgroup(w, "cgroup.procs", text), 0);
}

static void wait_for_event(const struct world *w, const char *line)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char path[192], text[256];

    (void)snprintf(path, sizeof path, "%s/cgroup.events", w->cgroup);
    do {
        assert_true(nm_now_usec() < until);
        assert_int_equal(nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL), 0);
    } while (!strstr(text, line));
}

/* Everything in the cgroup is killed at once, the shim too: the end is known, its kind is not. */
static void test_cgroup_killed(void **state)
{
    struct world *w = *state;

    make_cgroup(w);
    shell(w, "sleep 1000 & sleep 1000");
    assert_int_equal(launch(w), 0);
    enter_cgroup(w, nm_launch_shim_pid(w->launch));
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(write_cgroup(w, "cgroup.kill", "1"), 0);
    wait_for(w, &w->n_ended);
    assert_true(w->without_record);
    wait_for_event(w, "populated 0");
}

/* nmd dies while the container is frozen; it is adopted frozen, and thawed by the next one. */
static void test_adopt_frozen(void **state)
{
    struct world *w = *state;
    struct handed_over h;
    char script[160];

    make_cgroup(w);
    use_waiting_command(w, script, sizeof script);
    h = launch_and_die(w, true, true);
    enter_cgroup(w, h.shim);
    enter_cgroup(w, h.pid);
    assert_int_equal(write_cgroup(w, "cgroup.freeze", "1"), 0);
    wait_for_event(w, "frozen 1");
    release_command(w);
    assert_int_equal(adopt(w, &h), 0);
    wait_for(w, &w->n_started);
    assert_int_equal(w->started.pid, h.pid);
    assert_int_equal(w->n_ended, 0);
    assert_int_equal(write_cgroup(w, "cgroup.freeze", "0"), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->ended.exit_code, 17);
}

/* Frozen at its gate, and killed like that. */
static void test_killed_frozen_at_gate(void **state)
{
    struct world *w = *state;

    make_cgroup(w);
    shell(w, "echo must not run");
    assert_int_equal(launch(w), 0);
    enter_cgroup(w, nm_launch_shim_pid(w->launch));
    assert_int_equal(write_cgroup(w, "cgroup.freeze", "1"), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    assert_int_equal(write_cgroup(w, "cgroup.kill", "1"), 0);
    wait_for(w, &w->n_ended);
    assert_int_equal(w->n_started, 0);
    wait_for_event(w, "populated 0");
}

#define launch_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        launch_test(test_exit_code),
        launch_test(test_signal),
        launch_test(test_not_found),
        launch_test(test_path_not_found),
        launch_test(test_permission_denied),
        launch_test(test_path_lookup),
        launch_test(test_path_permission_denied),
        launch_test(test_bad_format),
        launch_test(test_bad_workdir),
        launch_test(test_workdir_as_user),
        launch_test(test_bad_user),
        launch_test(test_user_changed),
        launch_test(test_logs_refused),
        launch_test(test_environment),
        launch_test(test_nobody),
        launch_test(test_supplementary_groups),
        launch_test(test_new_privs_allowed),
        launch_test(test_descriptors),
        launch_test(test_signals_and_session),
        launch_test(test_shim_is_hardened),
        launch_test(test_background_processes),
        launch_test(test_gate_stays_shut),
        launch_test(test_shim_killed_at_gate),
        launch_test(test_shim_missing),
        launch_test(test_second_attempt),
        launch_test(test_shim_killed_alone),
        launch_test(test_adopt_running),
        launch_test(test_adopt_early),
        launch_test(test_die_before_gate),
        launch_test(test_ended_meanwhile),
        launch_test(test_adopt_killed),
        launch_test(test_adopt_stranger),
        launch_test(test_garbage_record),
        launch_test(test_disk_full_at_end),
        launch_test(test_disk_full_all_along),
        launch_test(test_disk_full_but_heard),
        launch_test(test_cgroup_killed),
        launch_test(test_adopt_frozen),
        launch_test(test_killed_frozen_at_gate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
