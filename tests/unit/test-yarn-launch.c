/* SPDX-License-Identifier: Apache-2.0 */

/* Runs the launch script with bash. tests/yarn/35-launch compares it with Hadoop's own script. */

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "remove-tree.h"
#include "util/error.h"
#include "yarn/launch/script.h"

#define MARKERS {.log_dir = "/logs/c_1", .add_opens = "--add-opens=x"}

static char dir[32]; /* the working directory of the script; its logs are below this directory */
static struct nm_yarn_launch launch;

static int set_up(void **state)
{
    static const char *const print[] = {"env", "1><LOG_DIR>/stdout", NULL};

    (void)state;
    snprintf(dir, sizeof dir, "/tmp/nmd-yarn-launch.XXXXXX");
    assert_non_null(mkdtemp(dir));
    launch = (struct nm_yarn_launch){.markers = {.log_dir = dir, .add_opens = ""}, .command = print};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return remove_tree(dir);
}

/* Runs the script with an environment of only PATH and INHERITED=bash's own. Returns the script's exit status. */
static int run(void)
{
    _cleanup_free_ char *script = NULL;
    char path[PATH_MAX];
    int status;
    FILE *f;

    assert_int_equal(nm_yarn_launch_script(&launch, &script, NULL), 0);
    snprintf(path, sizeof path, "%s/launch_container.sh", dir);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(script, f) >= 0);
    assert_int_equal(fclose(f), 0);
    snprintf(path, sizeof path, "cd %s && exec env -i PATH=/usr/bin:/bin INHERITED=own bash launch_container.sh", dir);
    status = system(path);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const char *text_of(const char *name)
{
    static char text[8192];
    char path[PATH_MAX];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

static bool has_line(const char *name, const char *line)
{
    const char *text = text_of(name), *at = text;
    size_t size = strlen(line);

    for (; (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && at[size] == '\n')
            return true;
    print_message("there is no line '%s' in:\n%s", line, text);
    return false;
}

/* ---- expansion markers -------------------------------------------------------------------- */

static void test_expansion_markers_are_replaced(void **state)
{
    static const char *const texts[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"<LOG_DIR>/stdout", "/logs/c_1/stdout"},
        {"a<CPS>b<CPS>{{HOME}}/c", "a:b:$HOME/c"},
        {"java <ADD_OPENS> -cp", "java --add-opens=x -cp"},
        {"{{A}}{{B}}", "$A$B"},
        {"1<2 <LOG_DIR {a}", "1<2 <LOG_DIR {a}"},
        {"{{{", "${"},
        {"<<CPS>>", "<:>"},
    };
    const struct nm_yarn_markers markers = MARKERS;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(texts); i++) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(nm_yarn_expand(texts[i][0], &markers, &text), 0);
        assert_string_equal(text, texts[i][1]);
    }
}

/* ---- order of variables ------------------------------------------------------------------- */

/* Returns the names of the variables in their resulting order, separated by blanks. */
static const char *ordered(struct nm_yarn_env *env, size_t n)
{
    static char names[256];

    names[0] = '\0';
    assert_int_equal(nm_yarn_env_order(env, n), 0);
    for (size_t i = 0; i < n; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? " " : "", env[i].name);
    return names;
}
#define ORDERED(...)                                                                                                   \
    ordered((struct nm_yarn_env[]){__VA_ARGS__},                                                                       \
            sizeof((struct nm_yarn_env[]){__VA_ARGS__}) / sizeof(struct nm_yarn_env))

static void test_a_variable_comes_after_the_variables_that_it_uses(void **state)
{
    (void)state;
    assert_string_equal(ORDERED({"A", "x"}, {"B", "y"}, {"C", ""}), "A B C");
    assert_string_equal(ORDERED({"A", "$C/$B"}, {"B", "y"}, {"C", "${B}"}), "B C A");
    assert_string_equal(ORDERED({"A", "x${C:-$B}"}, {"B", "y"}, {"C", "z"}), "C B A");
    assert_string_equal(ORDERED({"A", "\\$B '$C'"}, {"B", "y"}, {"C", "z"}), "C A B");
    assert_string_equal(ORDERED({"A", "$BB $ $$ ${ $1"}, {"B", "y"}), "A B");
    assert_string_equal(ORDERED({"A", "$A:$PATH"}, {"PATH", "$PATH:x"}), "PATH A");
    assert_string_equal(ORDERED({"A", "$B"}, {"B", "$C"}, {"C", "$A"}), "C B A"); /* circular references */
    assert_string_equal(ORDERED({"A", "$B"}, {"B", "1"}, {"B", "2"}), "B A B");
}

/* Sorts thousands of variables, each of which refers to the next one. */
static void test_a_long_chain_of_variables_is_sorted(void **state)
{
    enum { N = 20000 };
    struct nm_yarn_env *env = calloc(N, sizeof *env);
    char(*text)[2][16] = calloc(N, sizeof *text);

    (void)state;
    assert_true(env && text);
    for (int i = 0; i < N; i++) {
        snprintf(text[i][0], 16, "V%d", i);
        snprintf(text[i][1], 16, "$V%d", i + 1);
        env[i] = (struct nm_yarn_env){text[i][0], text[i][1]};
    }
    assert_int_equal(nm_yarn_env_order(env, N), 0);
    assert_string_equal(env[0].name, "V19999");
    assert_string_equal(env[N - 1].name, "V0");
    free(text);
    free(env);
}

/* ---- the script --------------------------------------------------------------------------- */

static void test_the_script_sets_the_environment(void **state)
{
    const struct nm_yarn_env inherited[] = {{"JAVA_HOME", "/node/java"}, {"LANG", "C"}, {"INHERITED", "node"}},
                             node[] = {{"CONTAINER_ID", "c_1"}, {"USER", "alice"}, {"JVM_PID", "$$"}},
                             asked[] = {{"JAVA_HOME", "/app/java"},
                                        {"USER", "root"},
                                        {"CLASSPATH", "{{BASE}}/x<CPS>$JAVA_HOME/y"},
                                        {"BASE", "/opt/$CONTAINER_ID"},
                                        {"WORDS", "a  b 'c' \\\"d\\\""}};

    (void)state;
    launch.inherited = inherited;
    launch.n_inherited = NM_ARRAY_SIZE(inherited);
    launch.node = node;
    launch.n_node = NM_ARRAY_SIZE(node);
    launch.asked = asked;
    launch.n_asked = NM_ARRAY_SIZE(asked);
    assert_int_equal(run(), 0);
    assert_true(has_line("stdout", "JAVA_HOME=/app/java"));
    assert_true(has_line("stdout", "LANG=C"));
    /* the inherited environment takes precedence over the environment of the node */
    assert_true(has_line("stdout", "INHERITED=own"));
    assert_true(has_line("stdout", "USER=alice"));
    assert_true(has_line("stdout", "CLASSPATH=/opt/c_1/x:/app/java/y"));
    assert_true(has_line("stdout", "WORDS=a  b 'c' \"d\""));
    assert_null(strstr(text_of("stdout"), "JVM_PID=$$"));
}

static void test_the_script_makes_the_symlinks(void **state)
{
    const struct nm_yarn_link links[] = {
        {"/etc/hostname", "plain"}, {"/etc/passwd", "sub/dir/file"}, {"/x $(touch bad)'", "it's $(touch bad)"}};
    static const char *const list[] = {"ls", "-l", "*", "sub/dir", ">out", NULL};

    (void)state;
    launch.links = links;
    launch.n_links = NM_ARRAY_SIZE(links);
    launch.command = list;
    assert_int_equal(run(), 0);
    assert_non_null(strstr(text_of("out"), "plain -> /etc/hostname\n"));
    assert_non_null(strstr(text_of("out"), "file -> /etc/passwd\n"));
    assert_non_null(strstr(text_of("out"), "it's $(touch bad) -> /x $(touch bad)'\n"));
    assert_null(strstr(text_of("out"), " bad\n"));
}

static void test_a_failed_step_of_the_script_has_its_exit_code(void **state)
{
    static const char *const fails[] = {"exit", "7", NULL}, *const pipe[] = {"false", "|", "true", NULL},
                      *const none[] = {"/no/such/command", NULL};

    (void)state;
    launch.command = fails;
    assert_int_equal(run(), 7);
    launch.command = pipe; /* the pipefail option of the script doesn't apply to the command */
    assert_int_equal(run(), 0);
    launch.command = none;
    assert_int_equal(run(), 127);
    assert_non_null(strstr(text_of("prelaunch.err"), "/no/such/command: No such file or directory"));
}

/* If a step before the command fails, the script doesn't run the command. */
static void test_after_a_failed_symlink_the_command_is_not_run(void **state)
{
    const struct nm_yarn_link links[] = {{"/etc/hostname", "plain"}, {"/etc/hostname", "plain/below"}};

    (void)state;
    launch.links = links;
    launch.n_links = NM_ARRAY_SIZE(links);
    assert_int_not_equal(run(), 0);
    assert_true(strlen(text_of("prelaunch.err")) > 0);
}

static ino_t inode_of(const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(lstat(path, &st), 0);
    return st.st_ino;
}

/* nmd makes links before the start. The script keeps these links, replaces links that lead to other files, and makes
 * missing links. */
static void test_existing_symlinks_are_kept(void **state)
{
    const struct nm_yarn_link links[] = {{"/etc/hostname", "kept"},
                                         {"/etc/passwd", "changed"},
                                         {"/usr", "sub/changed-dir"},
                                         {"/etc/passwd", "-f"},
                                         {"/no/such/file", "dangling"}};
    static const char *const list[] = {"readlink kept changed sub/changed-dir ./-f dangling", ">out", NULL};
    char path[PATH_MAX];
    ino_t kept;

    (void)state;
    snprintf(path, sizeof path, "%s/kept", dir);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    kept = inode_of("kept");
    snprintf(path, sizeof path, "%s/changed", dir);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    snprintf(path, sizeof path, "%s/sub", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/sub/changed-dir", dir);
    assert_int_equal(symlink("/etc", path), 0);
    launch.links = links;
    launch.n_links = NM_ARRAY_SIZE(links);
    launch.command = list;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(), 0);
        assert_string_equal(text_of("out"), "/etc/hostname\n/etc/passwd\n/usr\n/etc/passwd\n/no/such/file\n");
        assert_int_equal(inode_of("kept"), kept);
    }
}

/* The list of files is written to the log directory. Neither circular symlinks nor a failure prevent the start. */
static void test_the_files_are_listed(void **state)
{
    const struct nm_yarn_link links[] = {{"/etc/hostname", "plain"}, {".", "circle"}};
    char logs[PATH_MAX], info[PATH_MAX];

    (void)state;
    snprintf(logs, sizeof logs, "%s/logs", dir);
    snprintf(info, sizeof info, "%s/logs/directory.info", dir);
    assert_int_equal(mkdir(logs, 0700), 0);
    launch.links = links;
    launch.n_links = NM_ARRAY_SIZE(links);
    launch.markers.log_dir = logs;
    assert_int_equal(run(), 0);
    assert_int_not_equal(access(info, F_OK), 0);
    launch.lister = NM_TEST_SHIM;
    assert_int_equal(run(), 0);
    assert_non_null(strstr(text_of("logs/directory.info"), "plain -> /etc/hostname\n"));
    assert_non_null(strstr(text_of("logs/directory.info"), "./launch_container.sh\n"));
    assert_non_null(strstr(text_of("logs/directory.info"), "broken symlinks(find -L . -maxdepth 5 -type l -ls):\n"));
    launch.lister = "/no/it's lister"; /* an upgrade has removed the program */
    assert_int_equal(run(), 0);
    assert_non_null(strstr(text_of("logs/directory.info"), "/no/it's lister: No such file or directory"));
    assert_int_equal(unlink(info), 0);
    assert_int_equal(mkdir(info, 0700), 0);
    assert_int_equal(run(), 0);
}

static void test_invalid_names_of_variables_are_refused(void **state)
{
    static const char *const bad[] = {"", "a.b", "1a", "a=b", "a b", "a;id", "$x", "\xc3\xa4"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        const struct nm_yarn_env asked[] = {{bad[i], "x"}};
        _cleanup_free_ char *script = NULL, *message = NULL;

        launch.asked = asked;
        launch.n_asked = 1;
        assert_int_equal(nm_yarn_launch_script(&launch, &script, &message), -EINVAL);
        assert_non_null(strstr(message, "The environment variable '"));
        assert_null(script);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_expansion_markers_are_replaced),
        TEST(test_a_variable_comes_after_the_variables_that_it_uses),
        TEST(test_a_long_chain_of_variables_is_sorted),
        TEST(test_the_script_sets_the_environment),
        TEST(test_the_script_makes_the_symlinks),
        TEST(test_a_failed_step_of_the_script_has_its_exit_code),
        TEST(test_after_a_failed_symlink_the_command_is_not_run),
        TEST(test_invalid_names_of_variables_are_refused),
        TEST(test_existing_symlinks_are_kept),
        TEST(test_the_files_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
