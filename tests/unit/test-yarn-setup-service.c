/* SPDX-License-Identifier: Apache-2.0 */

/* The commands that a setup and its undo advise, with and without systemd. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>

#include "setup-root.h"
#include "setup-settings.h"

static int set_up(void **state)
{
    static const char *const dirs[] = {"/etc", "/etc/hadoop", "/etc/hadoop/conf", "/etc/systemd", "/opt", "/opt/java",
                                       "/opt/java/bin", "/run", "/run/systemd"};

    (void)state;
    make_root(dirs, NM_ARRAY_SIZE(dirs));
    put("/etc/hadoop/conf/hadoop-env.sh", "export JAVA_HOME=/opt/java\n");
    put("/etc/hadoop/conf/yarn-site.xml",
        "<configuration>" PROPERTY("yarn.resourcemanager.resource-tracker.address", "127.0.0.1:1")
        PROPERTY("yarn.nodemanager.local-dirs", "/data/local") PROPERTY("yarn.nodemanager.log-dirs", "/data/logs")
        "</configuration>");
    make_hadoop();
    return 0;
}

static pid_t lock_holder;

static pid_t holder(const char *state_dir)
{
    char path[PATH_MAX];

    assert_non_null(realpath(state_dir, path));
    assert_string_equal(path, in_root("/var/lib/nmd"));
    return lock_holder;
}

static void assert_next(int (*what)(const struct nm_yarn_setup_params *, FILE *, char **), pid_t pid,
                        const char *words)
{
    struct nm_yarn_setup_params p = params(false);
    char *printed = NULL, *message = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);

    lock_holder = pid;
    p.holder = holder;
    assert_int_equal(what(&p, out, &message), 0);
    fclose(out);
    assert_prints(printed, words);
    if (!strstr(words, "systemctl"))
        assert_null(strstr(printed, "systemctl"));
    free(printed);
}

#define BY_HAND "\nsystemd doesn't run on this host. Stop Hadoop's NodeManager, and check the setup:\n"
#define START "Start nmd as a node on that host:\n  JAVA_HOME=/opt/java HADOOP_HOME=/opt/hadoop "
#define DECOMMISSION "If the node isn't decommissioned in the ResourceManager yet, decommission the node now,"

/* On a host without systemd, the user must stop and start nmd manually. */
static void test_without_systemd_the_advice_is_to_start_nmd_manually(void **state)
{
    char check[800];

    (void)state;
    (void)snprintf(check, sizeof check, BY_HAND "  nmd --check-config --root %s", root);
    assert_next(nm_yarn_setup, 0, check);
    assert_next(nm_yarn_setup, 0, START);
    assert_next(nm_yarn_setup, 0, " HADOOP_CONF_DIR=/etc/hadoop/conf nmd");
    assert_next(nm_yarn_setup, 0, " 2>>/var/log/nmd.log &\n");
    assert_next(nm_yarn_setup, 4711, "\nStop the running nmd, and wait until it has exited:\n  kill 4711\n" START);
    assert_next(nm_yarn_setup, -EACCES, "\nStop the running nmd, if there is one, and wait until it has exited:\n"
                "  kill \"$(nmctl version --json | sed -n 's/^ *\"pid\": \\([0-9]*\\).*/\\1/p')\"\n" START);
    assert_next(nm_yarn_setup_undo, 0, DECOMMISSION " and wait until its\ncontainers have ended.\nAfter the undo, "
                "before Hadoop's NodeManager starts, start nmd again on that host if you still need it:\n  nmd");
    assert_next(nm_yarn_setup, 0, START);
    assert_next(nm_yarn_setup_undo, 4711, DECOMMISSION " wait until its\ncontainers have ended, and stop the running "
                "nmd:\n  kill 4711\nAfter the undo, ");
    assert_next(nm_yarn_setup, 0, START);
    assert_next(nm_yarn_setup_undo, 0, " 2>>/var/log/nmd.log &\n");
}

/* If the root directory is that of a host that isn't running, /run/systemd/system doesn't exist. The target of
 * /sbin/init shows whether the host will run systemd. */
static void test_for_a_host_that_is_not_running_init_shows_whether_it_has_systemd(void **state)
{
    static const char *const ways[][2] = {{"/usr/lib/systemd/systemd", "/sbin/init"}, {"usr/sbin", "/sbin"}};

    (void)state;
    make_dir("/usr", 0755);
    make_dir("/usr/lib", 0755);
    make_dir("/usr/lib/systemd", 0755);
    make_dir("/usr/sbin", 0755);
    put("/usr/lib/systemd/systemd", "");
    assert_int_equal(symlink(ways[1][0], in_root(ways[1][1])), 0);
    assert_next(nm_yarn_setup, 0, BY_HAND);
    assert_int_equal(symlink(ways[0][0], in_root(ways[0][1])), 0);
    assert_next(nm_yarn_setup, 0, "systemctl restart nmd.service");
    make_dir("/run/systemd/system", 0755);
    assert_next(nm_yarn_setup, 4711, "systemctl restart nmd.service");
    assert_int_equal(rmdir(in_root("/run/systemd/system")), 0);
    assert_next(nm_yarn_setup, 4711, BY_HAND); /* nmd runs without systemd, for example in a container */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_systemd_the_advice_is_to_start_nmd_manually, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_for_a_host_that_is_not_running_init_shows_whether_it_has_systemd,
                                        set_up, remove_root),
    };

    (void)umask(022);
    (void)unsetenv("JAVA_HOME");
    (void)unsetenv("HADOOP_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
