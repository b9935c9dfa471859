/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Lists of processes, and the operations on their members, if the kernel refuses: each system call fails with its
 * possible errors. Processes that have ended meanwhile are not a failure, and no other process is signalled.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <linux/bpf.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup/cgroup.h"
#include "cgroup/backend.h"
#include "cgroup/procs.h"
#include "tests/unit/fake-tree.h"
#include "util/error.h"
#include "util/fileio.h"

#define NAME "nmtest-c1.scope"

static struct {
    const char *member; /* content of /proc/PID/cgroup for any process */
    const char *stat;   /* content of the stat file of any thread */
    int read_fails[4];  /* errors of reads of lists, in order; 0: success */
    unsigned n_reads;
    int fdopendir_fails;
    int pidfd_open_fails, send_fails;
    unsigned n_signals; /* number of signals; none is delivered */
    int bpf_fails[2];   /* errors of loading the program, and of the next call */
} kernel;

int __real_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);
int __wrap_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);
ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);
DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
long __wrap_syscall(long number, ...);

int __wrap_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len)
{
    const char *text = strncmp(name, "/proc/", 6) == 0 ? kernel.member : strstr(name, "/stat") ? kernel.stat : NULL;

    if (!text)
        return __real_nm_read_file_at(dir_fd, name, buf, size, ret_len);
    (void)snprintf(buf, size, "%s", text);
    return 0;
}

static long with_errno(int error)
{
    errno = error;
    return -1;
}

ssize_t __wrap_read(int fd, void *buf, size_t size)
{
    int error = kernel.n_reads < NM_ARRAY_SIZE(kernel.read_fails) ? kernel.read_fails[kernel.n_reads] : 0;

    kernel.n_reads++;
    return error ? with_errno(error) : __real_read(fd, buf, size);
}

DIR *__wrap_fdopendir(int fd)
{
    if (!kernel.fdopendir_fails)
        return __real_fdopendir(fd);
    errno = kernel.fdopendir_fails;
    return NULL;
}

static long bpf(enum bpf_cmd cmd)
{
    int error = kernel.bpf_fails[0];

    kernel.bpf_fails[0] = kernel.bpf_fails[1];
    if (error)
        return with_errno(error);
    return cmd == BPF_PROG_LOAD ? open("/dev/null", O_RDONLY | O_CLOEXEC) : 0;
}

/* Replaces the system calls. Counts signals instead of sending them. */
long __wrap_syscall(long number, ...)
{
    va_list ap;
    int first;

    va_start(ap, number);
    first = va_arg(ap, int);
    va_end(ap);
    switch (number) {
    case SYS_pidfd_open:
        return kernel.pidfd_open_fails ? with_errno(kernel.pidfd_open_fails) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    case SYS_pidfd_send_signal:
        if (kernel.send_fails)
            return with_errno(kernel.send_fails);
        kernel.n_signals++;
        return 0;
    case SYS_bpf:
        return bpf((enum bpf_cmd)first);
    default:
        fail_msg("system call %ld", number);
        return with_errno(ENOSYS);
    }
}

/* ---- the world ------------------------------------------------------------------------------- */

struct world {
    struct fake_tree dir;
    struct nm_cgroup *cg;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    memset(&kernel, 0, sizeof kernel);
    fake_tree_init(&w->dir);
    fake_tree_write(&w->dir, "cgroup.procs", "100\n200\n");
    assert_int_equal(nm_cgroup_open(w->dir.path, NAME, &w->cg), 0);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    memset(&kernel, 0, sizeof kernel);
    nm_cgroup_free(w->cg);
    fake_tree_done(&w->dir);
    free(w);
    return 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void test_lists_that_cannot_be_read(void **state)
{
    static const struct {
        int fails[4], r;
        unsigned n;
    } cases[] = {
        {{EINTR, EINTR}, 0, 2},
        {{0, EINTR}, 0, 2},
        {{ENODEV}, -ENOENT, 77},  /* the cgroup was removed */
        {{EOPNOTSUPP}, 0, 0},     /* it is threaded, so cgroup.procs can't be read */
        {{EIO}, -EIO, 77},
        {{0, EIO}, -EIO, 77},
    };
    struct world *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        unsigned n = 77;

        memcpy(kernel.read_fails, cases[i].fails, sizeof kernel.read_fails);
        kernel.n_reads = 0;
        assert_int_equal(nm_cgroup_n_processes(w->cg, &n), cases[i].r);
        assert_int_equal(n, cases[i].n);
    }
    memset(kernel.read_fails, 0, sizeof kernel.read_fails);
    kernel.fdopendir_fails = ENOMEM;
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), -ENOMEM);
}

static int refuse(pid_t pid, void *userdata)
{
    pid_t *last = userdata;

    *last = pid;
    return pid == 200 ? -ECANCELED : 0;
}

static void test_who_walks_may_stop(void **state)
{
    struct world *w = *state;
    pid_t last = 0;

    assert_int_equal(nm_procs_walk(w->cg->dir_fd, refuse, &last), -ECANCELED);
    assert_int_equal(last, 200);
    fake_tree_write(&w->dir, "cgroup.procs", "100\n200"); /* without the newline at the end, which the kernel always
                                                             writes */
    assert_int_equal(nm_procs_walk(w->cg->dir_fd, refuse, &last), -ECANCELED);
    fake_tree_write(&w->dir, "cgroup.procs", "0\n300\n"); /* a process of another PID namespace is listed as 0 */
    assert_int_equal(nm_procs_walk(w->cg->dir_fd, refuse, &last), 0);
    assert_int_equal(last, 300);
    fake_tree_write(&w->dir, "below/cgroup.procs", "200\n300\n");
    assert_int_equal(nm_procs_walk(w->cg->dir_fd, refuse, &last), -ECANCELED);
    assert_int_equal(last, 200);
    fake_tree_unlink(&w->dir, "below/cgroup.procs"); /* a removed cgroup has no processes */
    assert_int_equal(nm_procs_walk(w->cg->dir_fd, refuse, &last), 0);
}

static void test_lists_of_nonsense(void **state)
{
    static const char *const lists[] = {"1\n-2\n", "1 2\n", "99999999999999999999\n", "2147483650\n", "x\n"};
    struct world *w = *state;
    unsigned n = 77;

    for (size_t i = 0; i < NM_ARRAY_SIZE(lists); i++) {
        fake_tree_write(&w->dir, "cgroup.procs", lists[i]);
        assert_int_equal(nm_cgroup_n_processes(w->cg, &n), -EBADMSG);
        assert_int_equal(n, 77);
    }
}

/* A deep tree is counted only to a certain depth, but removed completely. */
static void test_deep_trees(void **state)
{
    struct world *w = *state;
    char name[128] = "", file[160];
    unsigned n = 0;

    for (int depth = 1; depth <= 20; depth++) {
        (void)strcat(name, depth == 1 ? "d" : "/d");
        (void)snprintf(file, sizeof file, "%s/cgroup.procs", name);
        fake_tree_write(&w->dir, file, "7\n");
    }
    assert_int_equal(nm_cgroup_n_processes(w->cg, &n), 0);
    assert_int_equal(n, 2 + 16);
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), -EBUSY); /* plain directories with files in them can't be removed */
    assert_true(fake_tree_has(&w->dir, name));
    for (; *name; *(strrchr(name, '/') ? strrchr(name, '/') : name) = '\0') {
        (void)snprintf(file, sizeof file, "%s/cgroup.procs", name);
        fake_tree_unlink(&w->dir, file);
    }
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), 0);
    assert_false(fake_tree_has(&w->dir, "d"));
}

static void test_prune(void **state)
{
    static const char *const names[] = {"a/b/c", "a/d", "e", "f/g/h", "f/g/i"};
    struct world *w = *state;
    char path[128];

    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", w->dir.path, names[i]);
        assert_int_equal(nm_mkdir_p(path, 0700), 0);
    }
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), 0);
    assert_false(fake_tree_has(&w->dir, "a"));
    assert_false(fake_tree_has(&w->dir, "e"));
    assert_false(fake_tree_has(&w->dir, "f"));
    assert_true(fake_tree_has(&w->dir, "cgroup.procs"));
}

/* One call removes a limited number of cgroups, because nmd has other work. The next call removes the rest. */
static void test_prune_in_pieces(void **state)
{
    enum { N = 1100 };
    struct world *w = *state;
    char path[128];

    for (int i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "%s/d%d/in", w->dir.path, i);
        assert_int_equal(nm_mkdir_p(path, 0700), 0);
    }
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), -EBUSY);
    assert_int_equal(nm_procs_prune(w->cg->dir_fd), 0);
    for (int i = 0; i < N; i++) {
        (void)snprintf(path, sizeof path, "d%d", i);
        assert_false(fake_tree_has(&w->dir, path));
    }
}

/* ---- members --------------------------------------------------------------------------------- */

static void test_members(void **state)
{
    static const struct {
        const char *text;
        bool is_member;
    } cases[] = {
        {"0::/nmtest.slice/" NAME "\n", true},
        {"0::/nmtest.slice/" NAME, true},
        {"0::/nmtest.slice/" NAME "/sub\n", true},
        {"1:cpu:/\n0::/" NAME "\n", true},
        {"1:name=0::/" NAME "\n0::/\n", false}, /* the name of a version 1 hierarchy */
        {"1:cpu:/" NAME "\n", false},
        {"0::/other\n1:cpu:/" NAME "\n", false},
        {"0::/x" NAME "\n", false},
        {"0::/" NAME "x\n", false},
        {"0::/x" NAME "/" NAME "\n", true},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        kernel.member = cases[i].text;
        if (nm_procs_is_member(100, NAME) != cases[i].is_member)
            fail_msg("%s", cases[i].text);
    }
    kernel.member = NULL;
    assert_false(nm_procs_is_member(4194303, NAME)); /* there is none */
}

/* Sends SIGTERM to the few processes of the world, which takes one turn. */
static int signal_all(struct world *w)
{
    struct nm_procs_pass *p = NULL;
    sd_event *event = NULL;
    int r;

    assert_true(sd_event_new(&event) >= 0);
    r = nm_cgroup_signal(event, w->cg, SIGTERM, 0, &p);
    assert_false(nm_procs_pass_is_on(p));
    nm_procs_pass_free(p);
    sd_event_unref(event);
    return r;
}

static void test_signals(void **state)
{
    struct world *w = *state;

    kernel.member = "0::/" NAME "\n";
    assert_int_equal(signal_all(w), 0);
    assert_int_equal(kernel.n_signals, 2);
    kernel.pidfd_open_fails = ESRCH; /* the processes have ended */
    assert_int_equal(signal_all(w), 0);
    kernel.pidfd_open_fails = EMFILE;
    assert_int_equal(signal_all(w), -EMFILE);
    assert_int_equal(nm_cgroup_kill(w->cg), -EMFILE);
    kernel.pidfd_open_fails = 0;
    kernel.send_fails = ESRCH; /* the processes end just now */
    assert_int_equal(signal_all(w), 0);
    kernel.send_fails = EPERM;
    assert_int_equal(signal_all(w), -EPERM);
    kernel.send_fails = 0;
    kernel.member = "0::/somewhere-else\n";
    assert_int_equal(signal_all(w), 0);
    assert_int_equal(kernel.n_signals, 2);
}

/* Without cgroup.kill: processes that keep being listed are killed a few times. Then the caller, who waits for the
 * end, has to repeat the call. */
static void test_a_list_without_end(void **state)
{
    struct world *w = *state;

    kernel.member = "0::/" NAME "\n";
    assert_int_equal(nm_cgroup_kill(w->cg), 0);
    assert_int_equal(kernel.n_signals, 8 * 2);
    fake_tree_write(&w->dir, "cgroup.procs", "");
    assert_int_equal(nm_cgroup_kill(w->cg), 0);
    assert_int_equal(kernel.n_signals, 8 * 2);
    fake_tree_write(&w->dir, "cgroup.kill", "");
    fake_tree_write(&w->dir, "cgroup.procs", "100\n");
    assert_int_equal(nm_cgroup_kill(w->cg), 0);
    assert_int_equal(kernel.n_signals, 8 * 2); /* the kernel kills with cgroup.kill */
}

/* ---- passes over many processes ---------------------------------------------------------------- */

static void write_processes(struct world *w, const char *name, int first, int n)
{
    char *text = malloc(8 * (size_t)n + 1);
    size_t len = 0;

    assert_non_null(text);
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, 8, "%d\n", first + i);
    fake_tree_write(&w->dir, name, text);
    free(text);
}

enum { VISITED_MAX = 2000 };
static unsigned visits[VISITED_MAX], n_visits, n_ended;

static int visit(pid_t pid, void *userdata)
{
    assert_int_equal(*(int *)userdata, 4711); /* a copy */
    assert_in_range(pid, 1, VISITED_MAX - 1);
    visits[pid]++;
    n_visits++;
    return 0;
}

static void count_end(int r, void *userdata)
{
    assert_int_equal(r, 0);
    (void)userdata;
    n_ended++;
}

/* Runs the loop until the pass is over. Returns the number of turns. */
static unsigned run_pass(sd_event *event, const struct nm_procs_pass *p)
{
    unsigned n = 0, before;

    for (; nm_procs_pass_is_on(p); n++) {
        before = n_visits;
        assert_true(sd_event_run(event, UINT64_MAX) >= 0);
        assert_true(n_visits - before <= NM_PROCS_PASS_PER_TURN);
    }
    return n;
}

/* One turn visits a limited number. In the end each process was visited in each round, also those in cgroups below. */
static void test_a_pass(void **state)
{
    enum { N = 1000, BELOW = 300 };
    struct world *w = *state;
    struct nm_procs_pass *p = NULL;
    sd_event *event = NULL;
    int data = 4711;

    memset(visits, 0, sizeof visits);
    n_visits = n_ended = 0;
    write_processes(w, "cgroup.procs", 1, N);
    write_processes(w, "below/cgroup.procs", 1 + N, BELOW);
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(nm_procs_pass_begin(&p, event, w->cg->dir_fd, 2, visit, &data, sizeof data), 0);
    data = 0;
    assert_in_range(n_visits, 1, NM_PROCS_PASS_PER_TURN);
    assert_true(nm_procs_pass_is_on(p));
    nm_procs_pass_set_ended(p, count_end, NULL);
    assert_true(run_pass(event, p) >= 2 * (N + BELOW) / NM_PROCS_PASS_PER_TURN);
    assert_int_equal(n_ended, 1);
    for (int pid = 1; pid <= N + BELOW; pid++)
        if (visits[pid] != 2)
            fail_msg("process %d was visited %u times", pid, visits[pid]);
    assert_int_equal(n_visits, 2 * (N + BELOW));

    /* A second pass replaces the first one. A small one needs no other turn. */
    data = 4711;
    assert_int_equal(nm_procs_pass_begin(&p, event, w->cg->dir_fd, 1, visit, &data, sizeof data), 0);
    fake_tree_unlink(&w->dir, "below/cgroup.procs");
    write_processes(w, "cgroup.procs", 7, 1);
    n_visits = visits[7] = 0;
    assert_int_equal(nm_procs_pass_begin(&p, event, w->cg->dir_fd, 1, visit, &data, sizeof data), 0);
    assert_false(nm_procs_pass_is_on(p));
    assert_true(n_visits == 1 && visits[7] == 1);
    fake_tree_unlink(&w->dir, "cgroup.procs");
    assert_int_equal(nm_procs_pass_begin(&p, event, w->cg->dir_fd, 1, visit, &data, sizeof data), -ENOENT);
    assert_false(nm_procs_pass_is_on(p));
    assert_null(nm_procs_pass_free(p));
    sd_event_unref(event);
}

static int end_result;

static void note_end(int r, void *userdata)
{
    (void)userdata;
    end_result = r;
}

static void test_a_signal_to_many(void **state)
{
    enum { N = 500 };
    struct world *w = *state;
    struct nm_procs_pass *p = NULL;
    sd_event *event = NULL;

    kernel.member = "0::/" NAME "\n";
    write_processes(w, "cgroup.procs", 1, N);
    assert_true(sd_event_new(&event) >= 0);
    assert_int_equal(nm_cgroup_signal(event, w->cg, SIGTERM, 3, &p), 0);
    assert_in_range(kernel.n_signals, 1, NM_PROCS_PASS_PER_TURN);
    (void)run_pass(event, p);
    assert_int_equal(kernel.n_signals, N - 1);
    /* The first error is told. It does not keep the signal from the others. */
    kernel.send_fails = EPERM;
    assert_int_equal(nm_cgroup_signal(event, w->cg, SIGTERM, 0, &p), -EPERM);
    kernel.send_fails = 0;
    kernel.n_signals = 0;
    nm_procs_pass_set_ended(p, note_end, NULL);
    (void)run_pass(event, p);
    assert_in_range(kernel.n_signals, N - NM_PROCS_PASS_PER_TURN, N - 1);
    assert_int_equal(end_result, -EPERM);
    nm_procs_pass_free(p);
    sd_event_unref(event);
}

static int kill_error;

static void kill_has_failed(const char *name, int r)
{
    assert_string_equal(name, NAME);
    kill_error = r;
}

/* A child process kills a cgroup with many tasks. It reaches the same file, and is reaped. */
static void test_a_kill_of_many(void **state)
{
    struct world *w = *state;
    sigset_t child, old;
    sd_event *event = NULL;
    char text[8];

    assert_int_equal(sigemptyset(&child), 0);
    assert_int_equal(sigaddset(&child, SIGCHLD), 0);
    assert_int_equal(sigprocmask(SIG_BLOCK, &child, &old), 0);
    assert_true(sd_event_new(&event) >= 0);
    fake_tree_write(&w->dir, "cgroup.kill", "");
    fake_tree_write(&w->dir, "cgroup.threads", "100\n200\n");
    assert_int_equal(nm_cgroup_kill_in(event, w->cg, kill_has_failed), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* a small one is killed at once */
    assert_int_equal(nm_read_file_at(w->cg->dir_fd, "cgroup.kill", text, sizeof text, NULL), 0);
    assert_string_equal(text, "1");
    fake_tree_write(&w->dir, "cgroup.kill", "");
    write_processes(w, "cgroup.threads", 1, 1000);
    assert_int_equal(nm_cgroup_kill_in(event, w->cg, kill_has_failed), 0);
    assert_true(sd_event_run(event, UINT64_MAX) >= 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(nm_read_file_at(w->cg->dir_fd, "cgroup.kill", text, sizeof text, NULL), 0);
    assert_string_equal(text, "1");
    assert_int_equal(kill_error, 0);
    fake_tree_unlink(&w->dir, "cgroup.kill");
    fake_tree_write(&w->dir, "cgroup.kill/is-a-directory", "");
    assert_int_equal(nm_cgroup_kill_in(event, w->cg, kill_has_failed), 0);
    assert_true(sd_event_run(event, UINT64_MAX) >= 0);
    assert_int_equal(kill_error, -EISDIR);
    sd_event_unref(event);
    assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
}

static void test_states(void **state)
{
    static const struct {
        const char *stat;
        bool hangs;
        const char *comm;
    } cases[] = {
        {"1 (a) D 1", true, "a"}, {"1 (a) b) D 1", true, "a) b"}, {"1 (a) S 1", false, ""}, {"1 (D) R 1", false, ""},
        {"1 a D 1", false, ""},   {"1 (a D 1", false, ""},        {"1 )a( D", false, ""},   {"1 (a)D 1", false, ""},
        {"1 a) D", false, ""},
    };
    struct world *w = *state;
    char text[16];

    (void)snprintf(text, sizeof text, "%d\n", (int)getpid()); /* the state of this process's threads is read */
    fake_tree_write(&w->dir, "cgroup.procs", text);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_cgroup_leftover_procs s;

        kernel.stat = cases[i].stat;
        assert_int_equal(nm_cgroup_leftover_procs(w->cg, &s), 0);
        assert_int_equal(s.n, 1);
        if (s.n_hanging != cases[i].hangs)
            fail_msg("%s", cases[i].stat);
        assert_string_equal(s.comm, cases[i].comm);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

static void test_network_priority(void **state)
{
    static const struct {
        int fails[2];
        const char *missing; /* NULL: nothing */
    } cases[] = {
        {{0, 0}, NULL},
        {{EPERM, 0}, "CAP_BPF"},
        {{EACCES, 0}, "CAP_BPF"},
        {{0, EPERM}, "CAP_BPF"},
        {{ENOSYS, 0}, "CONFIG_CGROUP_BPF"},
        {{0, EINVAL}, "CONFIG_CGROUP_BPF"},
    };
    struct world *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_cgroup_backend b = {.slice_fd = w->cg->dir_fd, .net_priority_fd = -EBADF};

        memcpy(kernel.bpf_fails, cases[i].fails, sizeof kernel.bpf_fails);
        nm_netprio_probe(&b);
        memset(kernel.bpf_fails, 0, sizeof kernel.bpf_fails);
        assert_int_equal(b.feature[NM_CGROUP_NET_PRIORITY], !cases[i].missing);
        if (cases[i].missing) {
            assert_non_null(strstr(b.missing[NM_CGROUP_NET_PRIORITY], cases[i].missing));
            assert_true(b.net_priority_fd < 0);
            assert_int_equal(nm_cgroup_set_net_background(&b, w->cg, true), -EOPNOTSUPP);
            continue;
        }
        kernel.bpf_fails[0] = ENOENT;
        assert_int_equal(nm_cgroup_set_net_background(&b, w->cg, true), -ENOENT); /* the program was removed */
        kernel.bpf_fails[0] = ENOENT;
        assert_int_equal(nm_cgroup_set_net_background(&b, w->cg, false), 0); /* no program was attached */
        kernel.bpf_fails[0] = EPERM;
        assert_int_equal(nm_cgroup_set_net_background(&b, w->cg, false), -EPERM);
        b.net_priority_fd = nm_close(b.net_priority_fd);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_lists_that_cannot_be_read),
        TEST(test_who_walks_may_stop),
        TEST(test_lists_of_nonsense),
        TEST(test_deep_trees),
        TEST(test_prune),
        TEST(test_prune_in_pieces),
        TEST(test_members),
        TEST(test_signals),
        TEST(test_a_list_without_end),
        TEST(test_a_pass),
        TEST(test_a_signal_to_many),
        TEST(test_a_kill_of_many),
        TEST(test_states),
        TEST(test_network_priority),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
