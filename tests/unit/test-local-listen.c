/* SPDX-License-Identifier: Apache-2.0 */

/* Listening sockets: paths that are in use, and system calls that fail. Also the credentials of peers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "fail-nth.h"
#include "remove-tree.h"
#include "rpc/local/listen.h"
#include "rpc/local/server.h"

#define ALICE 54321
#define ALL (FAIL_MEMORY | FAIL_OPEN)
#define N_GROUPS 100 /* more groups than the first buffer has room for */

/* ---- failures of the system ------------------------------------------------------------------ */

#define WRAP_CALL(name, parameters, ...) \
    int __real_##name parameters; \
    int __wrap_##name parameters; \
    int __wrap_##name parameters \
    { \
        if (fail_here(FAIL_OPEN)) { \
            errno = EMFILE; \
            return -1; \
        } \
        return __real_##name(__VA_ARGS__); \
    }

WRAP_CALL(socket, (int domain, int type, int protocol), domain, type, protocol)
WRAP_CALL(listen, (int fd, int backlog), fd, backlog)
WRAP_CALL(chmod, (const char *path, mode_t mode), path, mode)
WRAP_CALL(getsockopt, (int fd, int level, int name, void *value, socklen_t *len), fd, level, name, value, len)
WRAP_CALL(setsockopt, (int fd, int level, int name, const void *value, socklen_t len), fd, level, name, value, len)

/* ---- UNIX sockets ---------------------------------------------------------------------------- */

struct fixture {
    char dir[64], path[96];
};

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    strcpy(w->dir, "/tmp/nm-test-listen-XXXXXX");
    if (!mkdtemp(w->dir) || chmod(w->dir, 0777) < 0)
        return -1;
    (void)snprintf(w->path, sizeof w->path, "%s/nmd.sock", w->dir);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    remove_tree(w->dir);
    free(w);
    return 0;
}

static int bound(const struct fixture *w, int type)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    strcpy(sa.sun_path, w->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    return fd;
}

static void assert_refused(const struct fixture *w, gid_t group, int error, const char *words)
{
    char *message = NULL;
    int fd = -7;

    assert_int_equal(nm_listen_unix(w->path, 0600, group, &fd, &message), error);
    assert_int_equal(fd, -7);
    assert_non_null(message);
    assert_non_null(strstr(message, w->path));
    if (!strstr(message, words))
        fail_msg("\"%s\" doesn't say \"%s\"", message, words);
    free(message);
}

static void assert_listens(const struct fixture *w)
{
    int fd;

    assert_int_equal(nm_listen_unix(w->path, 0600, NM_LISTEN_NO_GROUP, &fd, NULL), 0);
    (void)close(fd);
}

/* The file of a socket isn't replaced if the socket may be in use. */
static void test_a_socket_in_use_is_not_replaced(void **state)
{
    struct fixture *w = *state;
    char words[64];
    struct stat st;
    int fd = bound(w, SOCK_DGRAM);

    assert_refused(w, NM_LISTEN_NO_GROUP, -EPROTOTYPE, "may be in use");
    assert_int_equal(stat(w->path, &st), 0);
    (void)close(fd);
    assert_listens(w);
    assert_int_equal(unlink(w->path), 0);
    fd = bound(w, SOCK_STREAM);
    assert_int_equal(nm_listen_probe_unix(w->path, NULL), 0);
    assert_int_equal(listen(fd, 1), 0);
    (void)snprintf(words, sizeof words, "in use by process %d;", (int)getpid());
    assert_refused(w, NM_LISTEN_NO_GROUP, -EADDRINUSE, words);
    assert_int_equal(nm_listen_probe_unix(w->path, NULL), -EADDRINUSE);
    assert_int_equal(stat(w->path, &st), 0);
    (void)close(fd);
}

/* The socket of a killed nmd may still be open in a process that this nmd had just forked. The new nmd waits for the
 * end of the process. */
static void test_the_socket_of_a_killed_nmd_is_replaced(void **state)
{
    struct fixture *w = *state;
    char c;
    int died[2];
    pid_t nmd;

    assert_int_equal(pipe2(died, O_CLOEXEC), 0);
    nmd = fork();
    if (nmd == 0) {
        int fd = bound(w, SOCK_STREAM);

        if (listen(fd, 64) < 0)
            _exit(1);
        if (fork() == 0)
            (void)usleep(300000);
        _exit(0);
    }
    assert_int_equal(waitpid(nmd, NULL, 0), nmd);
    assert_listens(w);
    (void)close(died[1]);
    assert_int_equal(read(died[0], &c, 1), 0); /* the child has ended */
    (void)close(died[0]);
}

/* If the backlog of a server is full, the server accepts no further client, but counts as alive. */
static void test_a_server_with_a_full_backlog_is_not_replaced(void **state)
{
    struct fixture *w = *state;
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = bound(w, SOCK_STREAM), waits[8], n = 0;

    strcpy(sa.sun_path, w->path);
    assert_int_equal(listen(fd, 1), 0);
    do
        waits[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    while (connect(waits[n++], (struct sockaddr *)&sa, sizeof sa) == 0 && n < 8);
    assert_in_range(n, 2, 7);
    assert_refused(w, NM_LISTEN_NO_GROUP, -EADDRINUSE, "in use by a running nmd");
    while (n > 0)
        (void)close(waits[--n]);
    (void)close(fd);
}

/* A user who is neither root nor in the group can't change the socket's group to this group, and can't replace another
 * user's file. */
static void test_a_user_without_rights_can_not_use_the_group(void **state)
{
    struct fixture *w = *state;
    struct stat st;

    if (geteuid() != 0) {
        print_message("skipped: only root can become another user\n");
        skip();
    }
    assert_int_equal(seteuid(ALICE), 0);
    assert_refused(w, 1, -EPERM, "not permitted");
    assert_int_equal(stat(w->path, &st), -1);
    assert_int_equal(seteuid(0), 0);
    (void)close(bound(w, SOCK_STREAM)); /* the socket is stale, but only root can check this */
    assert_int_equal(chmod(w->path, 0600), 0);
    assert_int_equal(seteuid(ALICE), 0);
    assert_refused(w, NM_LISTEN_NO_GROUP, -EACCES, "may be in use");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(w->path, 0666), 0);
    assert_int_equal(chmod(w->dir, 0755), 0);
    assert_int_equal(seteuid(ALICE), 0);
    assert_refused(w, NM_LISTEN_NO_GROUP, -EACCES, "can't be removed");
    assert_int_equal(seteuid(0), 0);
    assert_listens(w);
}

/* After a failed start, the file at the path is unchanged, except that a stale socket is removed. */
static void test_a_failed_start_leaves_the_path_unchanged(void **state)
{
    enum { NOTHING, STALE, LIVE, N };
    struct fixture *w = *state;

    for (int before = NOTHING; before < N; before++) {
        bool failed = true;
        unsigned n;

        for (n = 1; failed; n++) {
            int live = before == NOTHING ? -EBADF : bound(w, SOCK_STREAM), fd = -7, r;
            char *message = NULL;

            if (before == LIVE)
                assert_int_equal(listen(live, 1), 0);
            if (before == STALE)
                (void)close(live);
            fail_nth(ALL, n);
            r = nm_listen_unix(w->path, 0600, NM_LISTEN_NO_GROUP, &fd, &message);
            failed = fail_stop();
            if (failed || before == LIVE) {
                assert_true(r < 0);
                assert_int_equal(fd, -7);
            } else {
                assert_int_equal(r, 0);
                (void)close(fd);
            }
            if (before == LIVE) {
                assert_int_equal(access(w->path, F_OK), 0);
                (void)close(live);
            }
            free(message);
            (void)unlink(w->path);
        }
        assert_true(n > 3);
    }
}

static void test_the_check_reports_the_error_that_a_start_would_have(void **state)
{
    struct fixture *w = *state;
    const char *made[] = {"/nonexistent", w->dir, NULL}, *const none[] = {NULL};
    char path[128];
    char *message = NULL;

    assert_int_equal(nm_listen_check_unix(w->path, none, &message), 0);
    (void)close(bound(w, SOCK_STREAM));
    assert_int_equal(nm_listen_check_unix(w->path, none, &message), 0); /* the check doesn't test whether a server uses
                                                                           the path */
    assert_int_equal(nm_listen_check_unix("/nonexistent/run/nmd.sock", made, &message), -ENOENT);
    assert_non_null(strstr(message, "socket path /nonexistent/run/nmd.sock: No such file"));
    free(message);
    made[0] = "/nonexistent/run/nmd"; /* the missing directories of the path will be made at the start */
    assert_int_equal(nm_listen_check_unix("/nonexistent/run/nmd.sock", made, &message), 0);
    assert_int_equal(nm_listen_check_unix("/nonexistent/run/nmd/nmd.sock", made, &message), 0);
    assert_int_equal(nm_listen_check_unix("/nonexistent/ru/nmd.sock", made, &message), -ENOENT);
    free(message);
    (void)snprintf(path, sizeof path, "%s/a/nmd.sock", w->path); /* below a file that isn't a directory */
    assert_int_equal(nm_listen_check_unix(path, none, &message), -ENOTDIR);
    assert_non_null(strstr(message, path));
    free(message);
    message = NULL;
    fail_nth(ALL, 1);
    assert_int_equal(nm_listen_check_unix(w->path, none, &message), -ENOMEM);
    assert_true(fail_stop());
    assert_null(message);
}

/* ---- TCP ------------------------------------------------------------------------------------- */

static unsigned port_of(int fd)
{
    struct sockaddr_in sa;
    socklen_t len = sizeof sa;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    return ntohs(sa.sin_port);
}

static void test_errors_of_both_the_path_and_the_address_are_reported(void **state)
{
    static const char *const none[] = {NULL};
    struct nm_local_server_params p = {.socket_path = "/nonexistent/nmd.sock", .listen_fd = -1};
    char address[32], *message = NULL;
    int fd;

    (void)state;
    assert_int_equal(nm_listen_tcp("127.0.0.1:0", &fd, &message), 0);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", port_of(fd));
    p.http_address = address;
    assert_int_equal(nm_local_server_check(&p, none, false, &message), -ENOENT);
    assert_non_null(strstr(message, "/nonexistent/nmd.sock"));
    assert_non_null(strstr(message, address));
    free(STEAL_PTR(message));
    p.socket_path = NULL;
    assert_int_equal(nm_local_server_check(&p, none, false, &message), -EADDRINUSE);
    assert_null(strchr(message, '\n'));
    free(STEAL_PTR(message));
    (void)close(fd);
}

static void test_a_port_in_use_is_reported(void **state)
{
    char address[32], *message = NULL;
    int fd, other = -7;

    (void)state;
    assert_int_equal(nm_listen_tcp("[]:0", &fd, &message), 0); /* an empty address means loopback */
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", port_of(fd));
    assert_int_equal(nm_listen_tcp(address, &other, &message), -EADDRINUSE);
    assert_int_equal(other, -7);
    assert_non_null(strstr(message, address));
    assert_non_null(strstr(message, "in use"));
    free(STEAL_PTR(message));
    assert_int_equal(nm_listen_check_tcp(address, true, &message), 0);
    assert_null(message);
    assert_int_equal(nm_listen_check_tcp(address, false, &message), -EADDRINUSE);
    assert_non_null(strstr(message, address));
    free(STEAL_PTR(message));
    (void)close(fd);
    assert_int_equal(nm_listen_check_tcp(address, false, &message), 0);
    assert_int_equal(nm_listen_check_tcp("[127.0.0.1:80", true, &message), -EINVAL);
    assert_non_null(strstr(message, "[127.0.0.1:80: "));
    free(message);
}

static void test_a_failed_start_leaves_no_port_open(void **state)
{
    bool failed = true;
    unsigned n;

    (void)state;
    for (n = 1; failed; n++) {
        char *message = NULL;
        int fd = -7, r;

        fail_nth(ALL, n);
        r = nm_listen_tcp("localhost:0", &fd, &message);
        failed = fail_stop();
        assert_int_equal(r < 0, failed);
        assert_int_equal(fd == -7, failed);
        if (!failed)
            (void)close(fd);
        free(message);
    }
    assert_true(n > 4);
}

/* ---- peers ----------------------------------------------------------------------------------- */

static void test_the_socket_belongs_to_the_group(void **state)
{
    (void)state;
    assert_int_equal(nm_listen_group(NULL), NM_LISTEN_NO_GROUP);
    assert_int_equal(nm_listen_group(""), NM_LISTEN_NO_GROUP);
    assert_int_equal(nm_listen_group("no-such-group"), NM_LISTEN_NO_GROUP);
    assert_int_equal(nm_listen_group("root"), 0);
}

/* Directory services may give a user very many groups. The kernel saves these groups when the connection is made. */
static void test_a_client_with_many_groups_is_recognized(void **state)
{
    gid_t groups[N_GROUPS], old[N_GROUPS];
    int fds[2], n_old = getgroups(N_GROUPS, old);
    bool failed = true;
    struct nm_caller who;

    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can change its groups\n");
        skip();
    }
    for (gid_t i = 0; i < N_GROUPS; i++)
        groups[i] = 5000 + i;
    assert_int_equal(setgroups(N_GROUPS, groups), 0);
    assert_int_equal(setegid(6000), 0);
    assert_int_equal(seteuid(ALICE), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    assert_int_equal(setgroups((size_t)n_old, old), 0);
    for (unsigned n = 1; failed; n++) {
        struct nm_caller untouched = {.uid = 7};
        int r;

        fail_nth(ALL, n);
        r = nm_listen_peer(fds[0], 5000 + N_GROUPS - 1, &untouched);
        failed = fail_stop();
        assert_int_equal(r < 0, failed);
        assert_int_equal(untouched.uid, failed ? 7 : ALICE);
        assert_int_equal(untouched.admin, !failed);
    }
    assert_int_equal(nm_listen_peer(fds[0], 5000 + N_GROUPS, &who), 0);
    assert_false(who.admin);
    assert_int_equal(nm_listen_peer(fds[0], 6000, &who), 0); /* the primary group counts, too */
    assert_true(who.admin);
    assert_int_equal(nm_listen_peer(fds[0], NM_LISTEN_NO_GROUP, &who), 0);
    assert_false(who.admin);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void test_the_user_of_nmd_is_an_administrator(void **state)
{
    struct nm_caller who;
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(nm_listen_peer(fds[0], NM_LISTEN_NO_GROUP, &who), 0);
    assert_int_equal(who.uid, geteuid());
    assert_int_equal(who.pid, getpid());
    assert_true(who.admin);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_socket_in_use_is_not_replaced),
        TEST(test_a_server_with_a_full_backlog_is_not_replaced),
        TEST(test_the_socket_of_a_killed_nmd_is_replaced),
        TEST(test_a_user_without_rights_can_not_use_the_group),
        TEST(test_a_failed_start_leaves_the_path_unchanged),
        TEST(test_the_check_reports_the_error_that_a_start_would_have),
        cmocka_unit_test(test_errors_of_both_the_path_and_the_address_are_reported),
        cmocka_unit_test(test_a_port_in_use_is_reported),
        cmocka_unit_test(test_a_failed_start_leaves_no_port_open),
        cmocka_unit_test(test_the_socket_belongs_to_the_group),
        cmocka_unit_test(test_a_client_with_many_groups_is_recognized),
        cmocka_unit_test(test_the_user_of_nmd_is_an_administrator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
