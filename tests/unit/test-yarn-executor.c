/* SPDX-License-Identifier: Apache-2.0 */

/* container-executor.cfg: accounts that may run containers, settings that are refused, warnings, and the required owner
 * of the file. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "remove-tree.h"
#include "util/fileio.h"
#include "yarn/conf/executor.h"
#include "yarn/conf/settings.h"

static char warned[2000];

static void on_warned(const char *sentence, void *userdata)
{
    (void)userdata;
    (void)strncat(warned, sentence, sizeof warned - strlen(warned) - 2);
    (void)strcat(warned, "\n");
}

/* Returns the error messages, or NULL if there are none. The caller frees them. */
static char *parse(const char *text, struct nm_yarn_executor *ret)
{
    struct nm_refusals refusals = {};
    char *message = NULL;

    warned[0] = '\0';
    assert_int_equal(nm_yarn_executor_parse("x.cfg", text, on_warned, NULL, ret, &refusals), 0);
    (void)nm_refusals_take(&refusals, &message);
    return message;
}

static bool may(const struct nm_yarn_executor *e, const char *user, uid_t uid)
{
    char *message = NULL;
    int r = nm_yarn_executor_check(e, user, uid, &message);

    assert_int_equal(r, message ? -EINVAL : 0);
    free(message);
    return r == 0;
}

/* Reads the file that Hadoop ships. Its values are the defaults of Hadoop 3. */
static void test_the_file_that_hadoop_ships_has_the_defaults(void **state)
{
    static const char stock[] =
        "yarn.nodemanager.linux-container-executor.group=#configured value of it\n"
        "banned.users=#comma separated list of users who can not run applications\n"
        "min.user.id=1000#Prevent other super-users\n"
        "allowed.system.users=##comma separated list of system users who CAN run applications\n"
        "feature.tc.enabled=false\n";
    struct nm_yarn_executor e = {};

    (void)state;
    assert_true(may(&e, "bin", 2)); /* without a configuration file */
    for (int i = 0; i < 2; i++) {
        assert_null(parse(i ? stock : "", &e));
        assert_string_equal(warned, "");
        assert_true(may(&e, "alice", 1000));
        assert_false(may(&e, "games", 999));
        assert_false(may(&e, "root", 0));
        assert_false(may(&e, "yarn", 1001));
        assert_false(may(&e, "mapred", 1001));
        assert_false(may(&e, "hdfs", 1001));
        assert_false(may(&e, "bin", 1001));
        assert_true(may(&e, "bi", 1001));
        nm_yarn_executor_done(&e);
    }
}

static void test_values_of_container_executor_cfg_are_used(void **state)
{
    struct nm_yarn_executor e = {};
    char *message = NULL;

    (void)state;
    assert_null(parse("# first\r\n  banned.users = alice , bob\r\nmin.user.id=500\n\n"
                      "allowed.system.users=games,bob,yarn\n"
                      "[docker]\n  module.enabled=false\n  docker.binary=/usr/bin/docker\n[cgroups]\nroot=/x", &e));
    assert_string_equal(warned, "");
    assert_false(may(&e, "alice", 5000));
    assert_true(may(&e, "games", 5));
    assert_false(may(&e, "bob", 5)); /* this user is both allowed and banned */
    assert_true(may(&e, "yarn", 5));  /* this user is banned only by the default */
    assert_true(may(&e, "carol", 500));
    assert_int_equal(nm_yarn_executor_check(&e, "dave", 499, &message), -EINVAL);
    assert_non_null(strstr(message, "the user dave with the uid 499"));
    assert_non_null(strstr(message, "the minimum uid for containers on this node is 500"));
    free(message);
    assert_int_equal(nm_yarn_executor_check(&e, "alice", 600, &message), -EINVAL);
    assert_non_null(strstr(message, "banned"));
    free(message);
    nm_yarn_executor_done(&e);
}

static void refuses(const char *text, const char *sentence)
{
    struct nm_yarn_executor e = {};
    char *message = parse(text, &e);

    if (!message || !strstr(message, sentence))
        fail_msg("%s: %s", text, message ?: "not refused");
    free(message);
    nm_yarn_executor_done(&e);
}

static void test_unsupported_values_in_container_executor_cfg_are_refused(void **state)
{
    struct nm_yarn_executor e = {};

    (void)state;
    refuses("min.user.id=many\n", "x.cfg, line 1: min.user.id = 'many': must be a uid");
    refuses("min.user.id=-1\n", "must be a uid");
    refuses("min.user.id=4294967295\n", "must be a uid");
    refuses("\nmin.user.id=10\nmin.user.id=20\n", "line 3: min.user.id = '20': set more than once");
    refuses("[gpu]\ngpu.major-device-number=512\n", "[gpu] gpu.major-device-number = '512': must be a major number");
    refuses("[gpu]\ngpu.major-device-number=0\n", "must be a major number");
    refuses("[gpu]\ngpu.allowed-device-minor-numbers=0,64\n", "must be minor numbers from 0 to 63");
    refuses("[gpu]\ngpu.allowed-device-minor-numbers=0,\n", "must be minor numbers from 0 to 63");
    refuses("[gpu]\ngpu.allowed-device-minor-numbers=0-3\n", "must be minor numbers from 0 to 63");
    refuses("[devices]\nmodule.enabled=1\nbanned.users=x", "from using devices");
    refuses("banned.users alice\n", "must be [SECTION] or NAME=VALUE");
    refuses("min.user.id=x\n[fpga]\nmodule.enabled=true", "\n"); /* both errors are reported */
    assert_null(parse("feature.tc.enabled=true\nfeature.docker.enabled=1\nmin.userid=7\n[gpu]\nmodule.enabled=false\n"
                      "[docker]\nmodule.enabled=true\n[other]\nbanned.users=alice", &e));
    assert_non_null(strstr(warned, "line 1: feature.tc.enabled: the network traffic of containers isn't limited"));
    assert_non_null(strstr(warned, "line 2: feature.docker.enabled: containers that request a runtime other than"));
    assert_non_null(strstr(warned, "line 3: min.userid: this name is unknown to Hadoop 3"));
    assert_non_null(strstr(warned, "line 7: [docker] module.enabled: containers that request"));
    assert_non_null(strstr(warned, "line 9: [other] banned.users: this name is unknown"));
    assert_true(may(&e, "alice", 1000));
    nm_yarn_executor_done(&e);
}

static void test_the_devices_of_gpus_are_read(void **state)
{
    struct nm_yarn_executor e = {};

    (void)state;
    assert_null(parse("[gpu]\nmodule.enabled=true\ngpu.major-device-number=7\n"
                      "gpu.allowed-device-minor-numbers= 0, 63 ,2\n", &e));
    assert_string_equal(warned, "");
    assert_int_equal(e.gpu_major, 7);
    assert_true(e.gpu_minors == (UINT64_C(1) << 63 | 5));
    nm_yarn_executor_done(&e);
    assert_null(parse("[gpu]\nmodule.enabled=true\ngpu.allowed-device-minor-numbers=\n", &e));
    assert_int_equal(e.gpu_major, 0);
    assert_int_equal(e.gpu_minors, 0);
    nm_yarn_executor_done(&e);
}

/* ---- reading the file --------------------------------------------------------------------- */

static char *load(const char *dir, bool must_be_trusted, struct nm_yarn_executor *ret)
{
    struct nm_refusals refusals = {};
    char *message = NULL;

    warned[0] = '\0';
    assert_int_equal(nm_yarn_executor_load(dir, must_be_trusted, on_warned, NULL, ret, &refusals), 0);
    (void)nm_refusals_take(&refusals, &message);
    return message;
}

static void put_conf(const char *dir, const char *name, const char *text)
{
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(nm_write_file_atomic_at(fd, name, text, 0644), 0);
}

/* If one of the configuration files can't be read, the errors of the other files are still reported. */
static void test_an_unreadable_file_does_not_hide_other_errors(void **state)
{
    static const char *const parts[] = {
        "/mapred-site.xml", "memory-mb = '8G'", "hadoop.security.authentication = 'kerberos'",
    };
    char dir[] = "/tmp/nmd-test-executor.XXXXXX", *message = NULL;
    struct nm_yarn_settings *s = NULL;

    (void)state;
    assert_non_null(mkdtemp(dir));
    put_conf(dir, "mapred-site.xml", "<configuration><property>");
    assert_true(nm_yarn_settings_examine(dir, on_warned, NULL, &s, &message) < 0);
    assert_non_null(strstr(message, "/mapred-site.xml"));
    assert_null(s); /* none of the files could be read */
    free(message);
    put_conf(dir, "yarn-site.xml",
             "<configuration><property><name>yarn.nodemanager.resource.memory-mb</name><value>8G</value></property>"
             "<property><name>hadoop.security.authentication</name><value>kerberos</value></property></configuration>");
    assert_true(nm_yarn_settings_load(dir, on_warned, NULL, &s, &message) < 0);
    assert_null(s);
    free(message);
    assert_true(nm_yarn_settings_examine(dir, on_warned, NULL, &s, &message) < 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(parts); i++)
        if (!strstr(message, parts[i]))
            fail_msg("%s isn't in: %s", parts[i], message);
    assert_non_null(s);
    nm_yarn_settings_free(s);
    free(message);
    remove_tree(dir);
}

static void test_container_executor_cfg_is_read(void **state)
{
    char dir[] = "/tmp/nmd-test-executor.XXXXXX", path[80], *message;
    _cleanup_close_ int fd = -EBADF, real_fd = -EBADF;
    struct nm_yarn_executor e = {};
    json_t *shown;
    struct nm_yarn_settings *s = NULL;

    (void)state;
    assert_non_null(mkdtemp(dir));
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_null(load(dir, true, &e));
    assert_null(e.file);
    (void)snprintf(path, sizeof path, "%s/real", dir);
    assert_int_equal(mkdir(path, 0755), 0);
    real_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(nm_write_file_atomic_at(real_fd, "container-executor.cfg", "banned.users=alice\n", 0644), 0);
    assert_int_equal(symlinkat("real/container-executor.cfg", fd, "container-executor.cfg"), 0);
    assert_null(load(dir, true, &e));
    assert_string_equal(warned, "");
    assert_non_null(strstr(e.file, "/real/container-executor.cfg"));
    assert_false(may(&e, "alice", 1000));
    nm_yarn_executor_done(&e);

    if (geteuid() == 0) { /* the settings include those of this file */
        assert_int_equal(nm_write_file_atomic_at(fd, "yarn-site.xml", "<configuration/>", 0644), 0);
        assert_int_equal(nm_yarn_settings_load(dir, on_warned, NULL, &s, NULL), 0);
        assert_false(may(&s->executor_rules, "alice", 1000));
        shown = nm_yarn_settings_to_json(s);
        for (size_t i = 0; i < NM_YARN_N_EXECUTOR_NAMES; i++) {
            static const char *const values[] = {"1000", "alice", "", "195", ""};
            const json_t *row = json_array_get(shown, json_array_size(shown) - NM_YARN_N_EXECUTOR_NAMES + i);

            assert_string_equal(json_string_value(json_object_get(row, "key")), nm_yarn_executor_names[i].name);
            assert_string_equal(json_string_value(json_object_get(row, "value")), values[i]);
        }
        json_decref(shown);
        (void)nm_yarn_settings_free(s);
    }

    /* Another user can write to the file, or to a directory above it. The file is refused. */
    for (int i = 0; i < 3; i++) {
        const char *name = i == 0 ? "real/container-executor.cfg" : "real";

        if (i == 2 && geteuid() != 0)
            break;
        assert_int_equal(i == 2 ? fchownat(fd, name, 65534, 65534, 0) : fchmodat(fd, name, 0777, 0), 0);
        message = load(dir, true, &e);
        assert_non_null(message);
        assert_non_null(strstr(message, "users other than root can write to this file"));
        free(message);
        assert_null(e.file);
        assert_null(load(dir, false, &e));
        assert_null(e.file);
        assert_non_null(strstr(warned, "ignored: "));
        assert_int_equal(i == 2 ? fchownat(fd, name, 0, 0, 0) : fchmodat(fd, name, 0755, 0), 0);
    }
    assert_int_equal(nm_write_file_atomic_at(real_fd, "container-executor.cfg", "banned.users=a\n", 0644), 0);
    assert_null(load(dir, true, &e));
    nm_yarn_executor_done(&e);
    assert_int_equal(unlinkat(fd, "container-executor.cfg", 0), 0);
    assert_int_equal(mkdirat(fd, "container-executor.cfg", 0755), 0);
    message = load(dir, true, &e);
    assert_non_null(message);
    free(message);
    assert_int_equal(unlinkat(fd, "container-executor.cfg", AT_REMOVEDIR), 0);
    assert_int_equal(mkfifoat(fd, "container-executor.cfg", 0600), 0);
    alarm(20); /* a reader that waits for a writer would hang */
    message = load(dir, false, &e);
    alarm(0);
    assert_non_null(message);
    assert_non_null(strstr(message, "/container-executor.cfg: it is not a regular file"));
    free(message);
    (void)remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_file_that_hadoop_ships_has_the_defaults),
        cmocka_unit_test(test_values_of_container_executor_cfg_are_used),
        cmocka_unit_test(test_unsupported_values_in_container_executor_cfg_are_refused),
        cmocka_unit_test(test_the_devices_of_gpus_are_read),
        cmocka_unit_test(test_an_unreadable_file_does_not_hide_other_errors),
        cmocka_unit_test(test_container_executor_cfg_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
