/* SPDX-License-Identifier: Apache-2.0 */

/* The priority of sockets, with a real cgroup on the running kernel if the host allows both. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroup/backend.h"
#include "tests/unit/own-cgroup.h"

/* Returns SO_PRIORITY of a socket that a process in the cgroup creates, or 255. */
static int priority_in(const struct nm_cgroup *cg)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = openat(cg->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC), s, value = 255;
        socklen_t size = sizeof value;

        if (write(fd, "0", 1) != 1)
            _exit(255);
        s = socket(AF_INET, SOCK_DGRAM, 0);
        _exit(s < 0 || getsockopt(s, SOL_SOCKET, SO_PRIORITY, &value, &size) < 0 ? 255 : value);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_a_background_cgroup_sends_with_low_priority(void **state)
{
    struct nm_cgroup_backend first = {.slice_fd = -EBADF}, second = {.slice_fd = -EBADF};
    char path[64];
    struct nm_cgroup cg = {.dir_fd = -EBADF};

    (void)state;
    make_own_cgroup(path, sizeof path);
    cg.dir_fd = first.slice_fd = second.slice_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(cg.dir_fd >= 0);
    nm_netprio_probe(&first);
    if (!first.feature[NM_CGROUP_NET_PRIORITY]) {
        assert_non_null(first.missing[NM_CGROUP_NET_PRIORITY]);
        assert_int_equal(nm_cgroup_set_net_background(&first, &cg, true), -EOPNOTSUPP);
        print_message("network priority: %s\n", first.missing[NM_CGROUP_NET_PRIORITY]);
        (void)close(cg.dir_fd);
        (void)rmdir(path);
        skip();
    }
    assert_int_equal(priority_in(&cg), 0);
    assert_int_equal(nm_cgroup_set_net_background(&first, &cg, false), 0); /* no program has been attached */
    assert_int_equal(nm_cgroup_set_net_background(&first, &cg, true), 0);
    assert_int_equal(priority_in(&cg), NM_NETPRIO_BACKGROUND);
    (void)close(first.net_priority_fd);
    /* the program stays attached when its file descriptor is closed */
    assert_int_equal(priority_in(&cg), NM_NETPRIO_BACKGROUND);
    /* A later nmd attaches no second program. It can detach a program that a former nmd attached. */
    nm_netprio_probe(&second);
    assert_true(second.feature[NM_CGROUP_NET_PRIORITY]);
    assert_int_equal(nm_cgroup_set_net_background(&second, &cg, true), 0);
    assert_int_equal(nm_cgroup_set_net_background(&second, &cg, true), 0);
    assert_int_equal(priority_in(&cg), NM_NETPRIO_BACKGROUND);
    assert_int_equal(nm_cgroup_set_net_background(&second, &cg, false), 0);
    assert_int_equal(priority_in(&cg), 0);
    (void)close(second.net_priority_fd);
    (void)close(cg.dir_fd);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_background_cgroup_sends_with_low_priority),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
