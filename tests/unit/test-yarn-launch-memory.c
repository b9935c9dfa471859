/* SPDX-License-Identifier: Apache-2.0 */

/* The functions of yarn/launch/ without I/O, when memory runs out at each allocation. Their results are complete or
 * absent. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fail-nth.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/resources.h"
#include "yarn/launch/script.h"
#include "yarn/launch/user.h"
#include "yarn/launch/variables.h"

#define STEP 16

/* Calls `try` with arenas of increasing size until it succeeds. Returns how many arenas were too small. */
static unsigned with_each_limit(int (*try)(struct nm_arena *arena))
{
    for (unsigned n = 0;; n++) {
        struct nm_arena arena;
        int r;

        nm_arena_init(&arena, (size_t)n * STEP, NULL);
        r = try(&arena);
        nm_arena_done(&arena);
        if (r == 0)
            return n;
        assert_int_equal(r, -ENOMEM);
    }
}

/* ---- resources of containers -------------------------------------------------------------- */

static int convert(struct nm_arena *arena)
{
    Yarn__Url with_host = YARN__URL__INIT, without = YARN__URL__INIT;
    Yarn__LocalResource values[] = {YARN__LOCAL_RESOURCE__INIT, YARN__LOCAL_RESOURCE__INIT};
    Yarn__NamedResource named[] = {YARN__NAMED_RESOURCE__INIT, YARN__NAMED_RESOURCE__INIT};
    Yarn__NamedResource *list[] = {&named[0], &named[1]};
    struct nm_localizer_resource *const untouched = (void *)list, *resources = untouched;
    char *message = NULL;
    int r;

    with_host.scheme = (char *)"hdfs";
    with_host.user_info = (char *)"key";
    with_host.host = (char *)"nn";
    with_host.port = 8020;
    without.scheme = (char *)"file";
    without.file = with_host.file = (char *)"/a b";
    values[0].url = &with_host;
    values[1].url = &without;
    for (size_t i = 0; i < 2; i++) {
        values[i].type = 2;
        values[i].visibility = 1;
        named[i].key = (char *)"key";
        named[i].value = &values[i];
    }
    r = nm_yarn_resources(list, 2, NULL, arena, &resources, &message);
    assert_null(message); /* a lack of memory isn't reported as an error of the application */
    if (r < 0) {
        assert_ptr_equal(resources, untouched);
        return r;
    }
    assert_string_equal(resources[0].uri, "hdfs://key@nn:8020/a%20b");
    assert_string_equal(resources[1].uri, "file:///a%20b");
    return 0;
}

static void test_resources_without_memory_are_an_error(void **state)
{
    (void)state;
    assert_true(with_each_limit(convert) > 10);
}

static void test_too_many_resources_are_refused(void **state)
{
    struct nm_localizer_resource *resources = NULL;
    struct nm_arena arena;
    char *message = NULL;

    (void)state;
    nm_arena_init(&arena, NM_MIB, NULL);
    assert_int_equal(nm_yarn_resources(NULL, 8193, NULL, &arena, &resources, &message), -EINVAL);
    assert_string_equal(message, "The container names 8193 resources, but at most 8192 are allowed");
    assert_null(resources);
    free(message);
    nm_arena_done(&arena);
}

static int make_command(struct nm_arena *arena)
{
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__RetryContext retry = YARN__RETRY_CONTEXT__INIT;
    int32_t codes[] = {3, 255};
    const char *const *argv;

    retry.policy = 2;
    retry.max_retries = 4;
    retry.codes = codes;
    retry.n_codes = 2;
    context.retry = &retry;
    argv = nm_yarn_launcher_command(&context, arena);
    if (!argv)
        return -ENOMEM;
    assert_string_equal(argv[4], "4");
    assert_string_equal(argv[8], "255");
    assert_null(argv[9]);
    return 0;
}

static int encode(struct nm_arena *arena)
{
    const char *text = nm_arena_base64(arena, nm_bytes_of("foobar"));

    if (!text)
        return -ENOMEM;
    assert_string_equal(text, "Zm9vYmFy");
    return 0;
}

static int name_directories(void *userdata)
{
    _cleanup_free_ char *work = nm_yarn_work_dir("/l", "alice", "application_1", "container_1");
    _cleanup_free_ char *log = nm_yarn_log_dir("/l", "application_1", "container_1");

    (void)userdata;
    if (!work || !log)
        return -ENOMEM;
    assert_string_equal(work, "/l/usercache/alice/appcache/application_1/container_1");
    assert_string_equal(log, "/l/application_1/container_1");
    return 0;
}

static void test_each_failed_small_allocation_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(fail_each(name_directories, NULL), 2);
    assert_true(with_each_limit(make_command) > 10);
    assert_true(with_each_limit(encode) > 0);
}

/* ---- the environment ---------------------------------------------------------------------- */

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>"

static struct nm_yarn_settings *settings;

static void read_settings(void)
{
    static const char site[] =
        "<configuration>" P("yarn.nodemanager.local-dirs", "/a,/b") P("yarn.nodemanager.log-dirs", "/l")
        P("yarn.nodemanager.env-whitelist", "NM_TEST_KEPT,NM_TEST_MISSED,no name")
        P("yarn.nodemanager.force.path", "/forced")
        P("yarn.nodemanager.admin-env", "A=admin,nonsense,B=$NM_TEST_KEPT,C=/d:$A,C=more,A=$A")
        P("yarn.nodemanager.admin-env.B", "other") P("yarn.nodemanager.admin-env.E", "own") "</configuration>";
    struct nm_yarn_conf *c;

    assert_int_equal(setenv("NM_TEST_KEPT", "kept", 1), 0);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", site, sizeof site - 1, NULL), 0);
    assert_int_equal(nm_yarn_settings_read(c, NULL, NULL, &settings, NULL), 0);
    (void)nm_yarn_conf_free(c);
}

static const char *value_of(const struct nm_yarn_env *env, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (nm_streq(env[i].name, name))
            return env[i].value;
    fail_msg("the environment has no %s", name);
    return NULL;
}

static void check_launch(const struct nm_yarn_launch *l)
{
    assert_string_equal(value_of(l->node, l->n_node, "CONTAINER_ID"), "container_1");
    assert_string_equal(value_of(l->node, l->n_node, "NM_AUX_SERVICE_tea"), "eA==");
    assert_string_equal(value_of(l->node, l->n_node, "LOCAL_DIRS"),
                        "/a/usercache/alice/appcache/application_1,/b/usercache/alice/appcache/application_1");
    assert_string_equal(value_of(l->inherited, l->n_inherited, "NM_TEST_KEPT"), "kept");
    assert_int_equal(l->n_inherited, 1);
    assert_string_equal(value_of(l->asked, l->n_asked, "PATH"), "/forced:/bin");
    assert_string_equal(value_of(l->asked, l->n_asked, "A"), "own:admin:own");
    assert_string_equal(value_of(l->asked, l->n_asked, "EMPTY"), "");
    assert_string_equal(value_of(l->asked, l->n_asked, "B"), "other");
    assert_string_equal(value_of(l->asked, l->n_asked, "C"), "/d:own:admin:own:more");
    assert_string_equal(l->command[0], "true");
    assert_string_equal(l->lister, "/bin/nm-shim");
}

static int fill(struct nm_arena *arena)
{
    static uint8_t port[] = {'x'};
    struct nm_yarn_dir locals[] = {{.name = "/a", .is_good = true}, {.name = "/b", .is_good = true}},
                       logs[] = {{.name = "/l", .is_good = true}};
    const struct nm_yarn_dirs local = {.all = locals, .n = 2}, log = {.all = logs, .n = 1};
    const struct nm_yarn_variable_sources s = {settings, &local, &log, 17, "0,0,0,0,0", "/bin/nm-shim"};
    Yarn__Text path = YARN__TEXT__INIT, own = YARN__TEXT__INIT, empty = YARN__TEXT__INIT, none = YARN__TEXT__INIT;
    Yarn__Text *environment[] = {&path, &own, &empty, &none};
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__Data service = YARN__DATA__INIT, *services[] = {&service};
    char *command[] = {(char *)"true"};
    const struct nm_yarn_task task = {
        .application = "application_1", .container = "container_1", .user = "nobody", .submitter = "alice",
        .dirs = {"/a", "/l"}, .context = &context, .node_host = "h", .services = services, .n_services = 1};
    struct nm_yarn_launch launch = {.n_links = 77};
    char *message = NULL;
    int r;

    service.key = (char *)"tea";
    service.value = (ProtobufCBinaryData){sizeof port, port};
    path.key = (char *)"PATH", path.value = (char *)"/bin";
    own.key = (char *)"A", own.value = (char *)"own";
    empty.key = (char *)"EMPTY";
    context.environment = environment, context.n_environment = 4;
    context.command = command, context.n_command = 1;
    r = nm_yarn_variables(&s, &task, arena, &launch, &message);
    assert_null(message);
    if (r == 0)
        check_launch(&launch);
    else
        assert_int_equal(launch.n_links, 77);
    return r;
}

static void test_environment_variables_without_memory_are_an_error(void **state)
{
    (void)state;
    read_settings();
    assert_true(with_each_limit(fill) > 50);
    settings = nm_yarn_settings_free(settings);
}

/* ---- the launch script -------------------------------------------------------------------- */

static int write_script(void *userdata)
{
    static const struct nm_yarn_env asked[] = {{"A", "$B"}, {"B", "<LOG_DIR>"}, {"NODE", "x"}};
    static const struct nm_yarn_env node[] = {{"NODE", "n"}};
    static const struct nm_yarn_link links[] = {{"/etc/hostname", "sub/name"}};
    static const char *const command[] = {"echo", "<LOG_DIR>", NULL};
    const struct nm_yarn_launch launch = {
        .markers = {.log_dir = "/logs", .add_opens = ""}, .asked = asked, .n_asked = 3, .node = node, .n_node = 1,
        .links = links, .n_links = 1, .command = command};
    char *script = userdata, *message = NULL;
    int r = nm_yarn_launch_script(&launch, &script, &message);

    assert_null(message);
    if (r < 0) {
        assert_ptr_equal(script, userdata);
        return r;
    }
    assert_non_null(strstr(script, "export B=\"/logs\"\nexport A=\"$B\"\n"));
    assert_non_null(strstr(script, "exec /bin/bash -c \"echo /logs\"\n"));
    free(script);
    return 0;
}

static void test_a_launch_script_without_memory_is_not_written(void **state)
{
    char untouched[1];

    (void)state;
    assert_true(fail_each(write_script, untouched) > 10);
}

/* ---- users -------------------------------------------------------------------------------- */

struct choice {
    struct nm_yarn_settings settings;
    struct nm_pattern *pattern;
};

static int choose(void *userdata)
{
    const struct choice *c = userdata;
    char *user = userdata, *message = NULL;
    int r = nm_yarn_user_choose(&c->settings, c->pattern, 0, "alice", &user, &message);

    free(message);
    if (r < 0) {
        assert_ptr_equal(user, userdata);
        return r;
    }
    assert_string_equal(user, "nobody");
    free(user);
    return 0;
}

/* A failed look-up isn't reported as a missing account, since applications don't retry after that error. */
static void test_a_failed_look_up_is_not_reported_as_a_missing_account(void **state)
{
    struct choice c = {{.user_pattern = (char *)".*", .limit_users = true, .local_user = (char *)"nobody"}, NULL};

    (void)state;
    assert_int_equal(nm_yarn_user_compile(&c.settings, &c.pattern, NULL), 0);
    assert_int_equal(fail_each(choose, &c), 3);
    (void)nm_pattern_free(c.pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resources_without_memory_are_an_error),
        cmocka_unit_test(test_too_many_resources_are_refused),
        cmocka_unit_test(test_each_failed_small_allocation_is_an_error),
        cmocka_unit_test(test_environment_variables_without_memory_are_an_error),
        cmocka_unit_test(test_a_launch_script_without_memory_is_not_written),
        cmocka_unit_test(test_a_failed_look_up_is_not_reported_as_a_missing_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
