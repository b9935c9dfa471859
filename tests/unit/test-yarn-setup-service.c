/* SPDX-License-Identifier: Apache-2.0 */

/* The commands that a setup and its undo name, with and without systemd. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>

#include "remove-tree.h"
#include "yarn/setup/setup.h"

#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"

static char root[] = "/tmp/nmd-setup.XXXXXX";

static const char *in_root(const char *path)
{
    static char full[4][300];
    static unsigned n;

    n = (n + 1) % 4;
    (void)snprintf(full[n], sizeof full[n], "%s%s", root, path);
    return full[n];
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(in_root(path), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}

static void make_dir(const char *path, mode_t mode)
{
    assert_int_equal(mkdir(in_root(path), 0700), 0);
    assert_int_equal(chmod(in_root(path), mode), 0);
}

static void make_hadoop(void)
{
    make_dir("/opt/hadoop", 0755);
    make_dir("/opt/hadoop/bin", 0755);
    put("/opt/hadoop/bin/hadoop", "");
    assert_int_equal(chmod(in_root("/opt/hadoop/bin/hadoop"), 0755), 0);
}

static int set_up(void **state)
{
    static const char *const dirs[] = {"/etc", "/etc/hadoop", "/etc/hadoop/conf", "/etc/systemd", "/opt", "/opt/java",
                                       "/opt/java/bin", "/run", "/run/systemd"};

    (void)state;
    strcpy(root + strlen(root) - 6, "XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < NM_ARRAY_SIZE(dirs); i++)
        make_dir(dirs[i], 0755);
    put("/opt/java/bin/java", "");
    assert_int_equal(chmod(in_root("/opt/java/bin/java"), 0755), 0);
    put("/etc/hadoop/conf/hadoop-env.sh", "export JAVA_HOME=/opt/java\n");
    put("/etc/hadoop/conf/yarn-site.xml",
        "<configuration>" PROPERTY("yarn.resourcemanager.resource-tracker.address", "127.0.0.1:1")
        PROPERTY("yarn.nodemanager.local-dirs", "/data/local") PROPERTY("yarn.nodemanager.log-dirs", "/data/logs")
        "</configuration>");
    make_hadoop();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return remove_tree(root);
}

static struct nm_yarn_setup_params params(bool is_dry)
{
    return (struct nm_yarn_setup_params){.conf_dir = "/etc/hadoop/conf", .config_path = "/etc/nmd/nmd.conf",
                                         .state_dir = "/var/lib/nmd", .root = root, .is_dry = is_dry};
}

static void assert_says(const char *said, const char *words)
{
    if (!strstr(said, words))
        fail_msg("'%s' isn't in\n%s", words, said);
}

static pid_t held_by;

static pid_t holder(const char *state_dir)
{
    char path[PATH_MAX];

    assert_non_null(realpath(state_dir, path));
    assert_string_equal(path, in_root("/var/lib/nmd"));
    return held_by;
}

static void assert_next(int (*what)(const struct nm_yarn_setup_params *, FILE *, char **), pid_t pid,
                        const char *words)
{
    struct nm_yarn_setup_params p = params(false);
    char *said = NULL, *message = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);

    held_by = pid;
    p.holder = holder;
    assert_int_equal(what(&p, out, &message), 0);
    fclose(out);
    assert_says(said, words);
    if (!strstr(words, "systemctl"))
        assert_null(strstr(said, "systemctl"));
    free(said);
}

#define BY_HAND "\nsystemd doesn't run on this host. Stop Hadoop's own NodeManager, and check what was set up:\n"
#define START "Start nmd as a node on that host:\n  JAVA_HOME=/opt/java HADOOP_HOME=/opt/hadoop "
#define DECOMMISSION "Before this command, or now at the latest, decommission the node in the ResourceManager,"

/* Without systemd, nmd is stopped and started by hand. */
static void test_without_systemd(void **state)
{
    char check[800];

    (void)state;
    (void)snprintf(check, sizeof check, BY_HAND "  nmd --check-config --root %s", root);
    assert_next(nm_yarn_setup, 0, check);
    assert_next(nm_yarn_setup, 0, START);
    assert_next(nm_yarn_setup, 0, " HADOOP_CONF_DIR=/etc/hadoop/conf nmd");
    assert_next(nm_yarn_setup, 4711, "\nStop the nmd that runs, and wait until it has ended:\n  kill 4711\n" START);
    assert_next(nm_yarn_setup, -EACCES, "\nStop the nmd that runs, if there is one, and wait until it has ended:\n"
                "  kill PID ");
    assert_next(nm_yarn_setup_undo, 0, DECOMMISSION " and wait until its\ncontainers have ended.\nAfter it, before "
                "Hadoop's own NodeManager starts, start nmd again on that host if it is still to run:\n  nmd");
    assert_next(nm_yarn_setup, 0, START);
    assert_next(nm_yarn_setup_undo, 4711, DECOMMISSION " wait until its\ncontainers have ended, and stop the nmd that "
                "runs:\n  kill 4711\nAfter it, ");
}

/* A host that doesn't run has no /run/systemd/system yet. Its init says what it will have. */
static void test_host_at_rest(void **state)
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
    assert_next(nm_yarn_setup, 4711, BY_HAND); /* it does run, in a container for instance */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_systemd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_host_at_rest, set_up, tear_down),
    };

    (void)umask(022);
    (void)unsetenv("JAVA_HOME");
    (void)unsetenv("HADOOP_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
