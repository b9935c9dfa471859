/* SPDX-License-Identifier: Apache-2.0 */

/* yarn/launch/launcher.h: preparation of the containers that applications request. */

#include "launcher-fixture.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "tests/unit/remove-tree.h"
#include "util/loop.h"

static void test_the_preparation_of_a_container_succeeds(void **state)
{
    struct fixture *w = *state;
    const uid_t own = geteuid();
    struct owner o;
    const char *why;

    add_file(w, "a.txt", "a b%.txt", "hello", 2);
    add_file(w, "deep/er/b", "b", "there", 3);
    set_command(w, "cat a.txt deep/er/b 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr");
    prepare_all(w, &o);
    assert_string_equal(o.message, "");
    assert_int_equal(o.result, 0);
    assert_int_equal(nm_yarn_preparation_state(o.p, 0, &why), 2);
    check_mode(w, "local", own, 0755);
    check_mode(w, "local/usercache", own, 0755);
    check_mode(w, "local/usercache/alice@corp$", w->uid, 0750);
    check_mode(w, APP_DIR, w->uid, 0710);
    check_mode(w, WORK_DIR, w->uid, 0710);
    check_mode(w, WORK_DIR "/tmp", w->uid, 0710);
    check_mode(w, WORK_DIR "/launch_container.sh", w->uid, 0700);
    check_mode(w, WORK_DIR "/container_tokens", w->uid, 0600);
    check_mode(w, "second/usercache/alice@corp$/appcache/" APPLICATION, w->uid, 0710);
    check_mode(w, "logs/" APPLICATION, w->uid, 0710);
    check_mode(w, LOG_DIR, w->uid, 0710);
    assert_int_equal(geteuid(), own);
    assert_int_equal(run(w), 0);
    assert_string_equal(text_of(w, LOG_DIR "/stdout"), "hellothere");
    give_back(&o);
}

/* The script is copied to the logs, with a list of the files in the working directory. Without the copy, or if its
 * place is taken, the container starts as well. */
static void test_debug_information_is_written_to_the_logs(void **state)
{
    struct fixture *w = *state;
    _cleanup_free_ char *script = NULL;
    struct owner o;

    add_file(w, "a.txt", "a.txt", "hello", 2);
    set_command(w, "true");
    prepare_all(w, &o);
    script = strdup(text_of(w, WORK_DIR "/launch_container.sh"));
    assert_true(script && *script);
    assert_string_equal(text_of(w, LOG_DIR "/launch_container.sh"), script);
    check_mode(w, LOG_DIR "/launch_container.sh", w->uid, 0640);
    assert_int_equal(run(w), 0);
    assert_non_null(strstr(text_of(w, LOG_DIR "/directory.info"), "/a.txt\n"));
    give_back(&o);
    assert_int_equal(unlinkat(w->root_fd, LOG_DIR "/launch_container.sh", 0), 0);
    assert_int_equal(mkdirat(w->root_fd, LOG_DIR "/launch_container.sh", 0700), 0);
    prepare_all(w, &o);
    assert_string_equal(o.message, "");
    assert_int_equal(run(w), 0);
    give_back(&o);
    start(w, "<property><name>yarn.nodemanager.log-container-debug-info.enabled</name><value>false</value></property>");
    assert_int_equal(unlinkat(w->root_fd, LOG_DIR "/launch_container.sh", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(w->root_fd, LOG_DIR "/directory.info", 0), 0);
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    assert_false(exists(w, LOG_DIR "/launch_container.sh"));
    assert_false(exists(w, LOG_DIR "/directory.info"));
    give_back(&o);
}

static bool is_link(const struct fixture *w, const char *name)
{
    struct stat st;

    return fstatat(w->root_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* The launcher makes the first 64 symlinks. The script makes the others, and those whose place is taken or outside of
 * the working directory. */
static void test_most_symlinks_exist_before_the_start(void **state)
{
    enum { MANY = 70 };
    struct fixture *w = *state;
    struct owner o;

    add_file(w, "tmp", "t", "t", 2); /* the launcher makes a directory with this name */
    add_file(w, "../beside", "b", "b", 2);
    add_file(w, "launch_container.sh", "c", "c", 2); /* replaces the script when the script runs */
    for (unsigned i = 3; i < MANY; i++) {
        char *name = nm_arena_alloc(&w->arena, 16);

        (void)snprintf(name, 16, "many/%u", i);
        add_file(w, name, name + strlen("many/"), "x", 2);
    }
    set_command(w, "true");
    prepare_all(w, &o);
    assert_string_equal(o.message, "");
    assert_true(is_link(w, WORK_DIR "/many/3") && is_link(w, WORK_DIR "/many/63"));
    assert_false(exists(w, WORK_DIR "/many/64") || exists(w, APP_DIR "/beside") || exists(w, WORK_DIR "/tmp/t"));
    assert_false(is_link(w, WORK_DIR "/launch_container.sh"));
    assert_int_equal(run(w), 0);
    assert_true(is_link(w, WORK_DIR "/many/69") && is_link(w, APP_DIR "/beside") && is_link(w, WORK_DIR "/tmp/t"));
    assert_true(is_link(w, WORK_DIR "/launch_container.sh"));
    give_back(&o);
}

static void test_the_environment_has_hadoops_variables(void **state)
{
    struct fixture *w = *state;
    char line[PATH_MAX];
    const char *text;
    struct owner o;

    set_variable(w, "A", "own");
    set_command(w, "env >env; echo <ADD_OPENS> >opens; od -An -tx1 container_tokens >tokens");
    prepare_all(w, &o);
    assert_int_equal(o.result, 0);
    assert_int_equal(run(w), 0);
    text = text_of(w, WORK_DIR "/env");
    assert_true(has_line(text, "CONTAINER_ID=" CONTAINER));
    assert_true(has_line(text, "NM_HOST=node.example"));
    assert_true(has_line(text, "NM_PORT=8041"));
    assert_true(has_line(text, "NM_HTTP_PORT=8042"));
    assert_true(has_line(text, "USER=alice@corp$"));
    assert_true(has_line(text, "LOGNAME=alice@corp$"));
    assert_true(has_line(text, "HOME=/home/"));
    assert_true(has_line(text, "NM_AUX_SERVICE_mapreduce_shuffle=AAA0+g=="));
    assert_true(has_line(text, "A=own:admin"));
    assert_non_null(strstr(text, "\nPATH=/forced:/"));
    assert_true(has_line(text, "B=kept"));
    assert_true(has_line(text, "D=/d:own:admin/kept/"));
    assert_true(has_line(text, "E=1:2"));
    assert_true(has_line(text, "F=x,y=kept"));
    assert_true(has_line(text, "NMD_KEPT=kept"));
    assert_null(strstr(text, "NMD_MISSED"));
    assert_null(strstr(text, "\nC="));
    (void)snprintf(line, sizeof line, "LOCAL_DIRS=%s/%s,%s/second/usercache/alice@corp$/appcache/%s", w->root, APP_DIR,
                   w->root, APPLICATION);
    assert_true(has_line(text, line));
    (void)snprintf(line, sizeof line, "LOG_DIRS=%s/%s", w->root, LOG_DIR);
    assert_true(has_line(text, line));
    (void)snprintf(line, sizeof line, "HADOOP_TOKEN_FILE_LOCATION=%s/%s/container_tokens", w->root, WORK_DIR);
    assert_true(has_line(text, line));
    assert_non_null(strstr(text_of(w, WORK_DIR "/opens"), "sun.net.util=ALL-UNNAMED"));
    assert_string_equal(text_of(w, WORK_DIR "/tokens"), " 48 44 54 53 00 00 00\n");
    give_back(&o);
}

/* The credentials that an application master sends reach the container unchanged. nmd doesn't interpret them. */
static void test_credentials_reach_the_container_unchanged(void **state)
{
    static uint8_t tokens[] = {'H', 'D', 'T', 'S', 0, 1, 4, 'a', '\n', 0, '\'', 0xff, '"', '$', 'x', 0, 1, 0x8f};
    struct fixture *w = *state;
    struct owner o;

    set_command(w, "od -An -v -tx1 \\$HADOOP_TOKEN_FILE_LOCATION >tokens");
    w->context.tokens = (ProtobufCBinaryData){sizeof tokens, tokens};
    prepare_all(w, &o);
    assert_int_equal(o.result, 0);
    assert_int_equal(run(w), 0);
    assert_string_equal(text_of(w, WORK_DIR "/tokens"), " 48 44 54 53 00 01 04 61 0a 00 27 ff 22 24 78 00\n"
                                                        " 01 8f\n");
    give_back(&o);
}

/* The counters of a container distinguish fetched resources from resources found in the cache. */
static void test_counters_distinguish_fetched_and_cached_resources(void **state)
{
    struct fixture *w = *state;
    struct owner first, o;

    add_file(w, "a", "a", "four", 2);
    set_command(w, "env >env");
    prepare_all(w, &first);
    assert_int_equal(run(w), 0);
    assert_non_null(strstr(text_of(w, WORK_DIR "/env"), "\nLOCALIZATION_COUNTERS=4,0,1,0,"));
    add_file(w, "b", "b", "seven..", 2);
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    assert_non_null(strstr(text_of(w, WORK_DIR "/env"), "\nLOCALIZATION_COUNTERS=7,4,1,1,"));
    give_back(&o);
    give_back(&first);
}

static void remove_cached(struct fixture *w, unsigned id)
{
    char name[100];

    (void)snprintf(name, sizeof name, "local/usercache/alice@corp$/filecache/%u", id);
    assert_int_equal(fchmodat(w->root_fd, name, 0700, 0), 0);
    (void)strcat(name, "/a");
    assert_int_equal(unlinkat(w->root_fd, name, 0), 0);
}

/* A container never gets a dangling symlink to a resource. The cached file may be deleted before the container's
 * request, or while other resources of the container are fetched. */
static void test_no_container_gets_a_dangling_symlink_to_a_resource(void **state)
{
    struct fixture *w = *state;
    struct owner first, second, third;

    add_file(w, "a", "a", "four", 2);
    set_command(w, "cat a >copy");
    prepare_all(w, &first);
    remove_cached(w, 10);
    prepare_all(w, &second);
    assert_string_equal(second.message, "");
    assert_int_equal(run(w), 0);
    assert_string_equal(text_of(w, WORK_DIR "/copy"), "four");
    add_file(w, "b", "b", "more", 2);
    prepare(w, &third);
    assert_true(sd_event_run(w->event, 0) > 0); /* the request has been sent to nm-localizer */
    assert_int_equal(third.ended, 0);
    remove_cached(w, 11);
    RUN_UNTIL(w, third.ended);
    assert_string_equal(third.message, "");
    assert_int_equal(run(w), 0);
    assert_string_equal(text_of(w, WORK_DIR "/copy"), "four");
    give_back(&third);
    give_back(&second);
    give_back(&first);
}

/* A running container gets additional resources, and replacements of existing ones. */
static void test_a_running_container_gets_additional_resources(void **state)
{
    struct fixture *w = *state;
    struct owner first, o;

    add_file(w, "a", "a", "old", 2);
    set_command(w, "true");
    prepare_all(w, &first);
    assert_int_equal(first.result, 0);
    assert_int_equal(run(w), 0);
    assert_string_equal(text_of(w, WORK_DIR "/a"), "old");
    w->context.n_resources = 0;
    add_file(w, "a", "a2", "new", 1);
    add_file(w, "deep/er/b", "b", "more", 3);
    prepare_so(w, &o, LINK);
    RUN_UNTIL(w, o.ended);
    assert_string_equal(o.message, "");
    assert_string_equal(text_of(w, WORK_DIR "/a"), "new");
    assert_string_equal(text_of(w, WORK_DIR "/deep/er/b"), "more");
    give_back(&o);
    w->context.n_resources = 0;
    add_file(w, "../a", "a", "x", 3);
    prepare_so(w, &o, LINK);
    RUN_UNTIL(w, o.ended);
    assert_int_equal(o.result, -EINVAL);
    give_back(&o);
    prepare_so(w, &o, RETAIN);
    RUN_UNTIL(w, o.ended);
    assert_int_equal(o.result, 0);
    give_back(&o);
    give_back(&first);
}

static unsigned count_names(struct fixture *w, const char *path)
{
    int fd = openat(w->root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
    unsigned n = 0;

    while (d && readdir(d))
        n++;
    return n > 2 ? n - 2 : 0;
}

/* If set, each read of the clock advances it by the maximum length of a turn of the event loop. */
static bool turns_are_over;
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
    static long ahead_nsec;
    int r = __real_clock_gettime(clock, ts);

    if (clock != CLOCK_BOOTTIME)
        return r;
    ahead_nsec += turns_are_over ? (long)NM_LOOP_TURN_USEC * 1000 : 0;
    ts->tv_sec += (ts->tv_nsec + ahead_nsec) / 1000000000;
    ts->tv_nsec = (ts->tv_nsec + ahead_nsec) % 1000000000;
    return r;
}

/* A container with many resources gets at most 64 symlinks before the launcher reads the clock. */
static void test_symlinks_to_many_resources_are_made_in_several_turns(void **state)
{
    enum { MANY = 100 };
    struct fixture *w = *state;
    struct owner first, o;
    unsigned before = 0, most = 0;

    set_command(w, "true");
    prepare_all(w, &first);
    for (unsigned i = 0; i < MANY; i++) {
        char *name = nm_arena_alloc(&w->arena, 16);

        (void)snprintf(name, 16, "many/%u", i);
        add_file(w, name, name + strlen("many/"), "x", 2);
    }
    prepare_so(w, &o, LINK);
    turns_are_over = true;
    for (unsigned now; !o.ended; before = now) {
        assert_true(sd_event_run(w->event, 20 * NM_USEC_PER_MSEC) >= 0);
        now = count_names(w, WORK_DIR "/many");
        most = NM_MAX(most, now - before);
    }
    turns_are_over = false;
    assert_string_equal(o.message, "");
    assert_int_equal(before, MANY);
    assert_true(most <= 64);
    give_back(&o);
    give_back(&first);
}

static void test_an_invalid_preparation_is_refused(void **state)
{
    struct fixture *w = *state;
    struct owner o;
    const char *why = NULL;

    prepare_all(w, &o); /* without a command */
    assert_int_equal(o.result, -EINVAL);
    assert_non_null(strstr(o.message, "no command"));
    give_back(&o);
    set_command(w, "true");
    add_file(w, "a", "a", "x", 2);
    w->resources[0]->value->timestamp_msec++;
    prepare_all(w, &o);
    assert_true(o.result < 0);
    assert_int_equal(nm_yarn_preparation_state(o.p, 0, &why), 3);
    assert_string_equal(why, o.message);
    give_back(&o);
    w->resources[0]->value->visibility = 7;
    prepare_all(w, &o);
    assert_int_equal(o.result, -EINVAL);
    assert_non_null(strstr(o.message, "'a'"));
    give_back(&o);
    prepare(w, &o);
    give_back(&o); /* given back before the preparation has made any progress */
    assert_int_equal(o.ended, 0);
}

/* Files that a user puts in the way never affect the files of another user. */
static void test_files_put_in_the_way_do_not_affect_other_users(void **state)
{
    struct fixture *w = *state;
    struct owner o;
    char path[PATH_MAX];

    set_command(w, "true");
    prepare_all(w, &o);
    assert_int_equal(o.result, 0);
    give_back(&o);
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdirat(w->root_fd, "roots", 0755), 0);
    (void)snprintf(path, sizeof path, "%s/" APP_DIR, w->root);
    assert_int_equal(remove_tree(path), 0);
    assert_int_equal(symlinkat("../../../../roots", w->root_fd, APP_DIR), 0);
    prepare_all(w, &o);
    assert_true(o.result < 0);
    give_back(&o);
    assert_int_equal(unlinkat(w->root_fd, APP_DIR, 0), 0);
    /* A directory that the user can't write to is not used for the user's container. */
    assert_int_equal(symlinkat("../../roots", w->root_fd, "local/usercache/alice@corp$/swapped"), 0);
    assert_int_equal(mkdirat(w->root_fd, APP_DIR, 0755), 0);
    prepare_all(w, &o);
    assert_true(o.result < 0);
    give_back(&o);
    check_mode(w, "roots", 0, 0700);
    /* The log directory belongs to another user. */
    assert_int_equal(unlinkat(w->root_fd, APP_DIR, AT_REMOVEDIR), 0);
    assert_int_equal(fchownat(w->root_fd, "logs/" APPLICATION, 1, 1, 0), 0);
    prepare_all(w, &o);
    assert_int_equal(o.result, -EPERM);
    assert_non_null(strstr(o.message, "another user"));
    give_back(&o);
}

static void test_files_are_removed_after_the_end_of_the_application(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    start(w, "<property><name>yarn.nodemanager.log.retain-seconds</name><value>2</value></property>");
    set_command(w, "mkdir -p sub/deep ../output; touch sub/deep/file; chmod 500 sub; echo why >&2");
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    give_back(&o);
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
    RUN_UNTIL(w, !exists(w, WORK_DIR));
    assert_true(exists(w, APP_DIR "/output"));
    assert_true(exists(w, LOG_DIR));
    nm_yarn_launcher_end_application(w->launcher, "alice@corp$", APPLICATION);
    nm_yarn_launcher_end_application(w->launcher, "alice@corp$", APPLICATION);
    assert_true(exists(w, "state/ended/" APPLICATION));
    RUN_UNTIL(w, !exists(w, APP_DIR));
    assert_true(exists(w, LOG_DIR));
    /* The next nmd continues to use the directories. */
    start(w, "<property><name>yarn.nodemanager.log.retain-seconds</name><value>2</value></property>");
    RUN_UNTIL(w, !exists(w, "logs/" APPLICATION));
    RUN_UNTIL(w, !exists(w, "state/ended/" APPLICATION));
    assert_true(exists(w, "local/usercache/alice@corp$"));
}

static void test_the_last_output_of_a_container_is_found(void **state)
{
    struct fixture *w = *state;
    char logs[PATH_MAX], big[PATH_MAX + 100];
    const char *words;
    struct owner o;

    (void)snprintf(logs, sizeof logs, "%s/logs", w->root);
    assert_string_equal(nm_yarn_launcher_diagnostics(w->launcher, logs, APPLICATION, CONTAINER, &w->arena), "");
    set_command(w, "printf 'first\\n' 1><LOG_DIR>/stderr; ln -s /etc/passwd <LOG_DIR>/stderr.2; "
                   "mkfifo <LOG_DIR>/stderr.3; echo early >&2");
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    give_back(&o);
    words = nm_yarn_launcher_diagnostics(w->launcher, logs, APPLICATION, CONTAINER, &w->arena);
    assert_string_equal(words, "Last bytes of prelaunch.err:\nearly\nLast bytes of stderr:\nfirst\n");
    (void)snprintf(big, sizeof big,
                   "cd %s/" LOG_DIR " && { head -c 9000 /dev/zero | tr '\\0' a; printf '\\303'; } >stderr", w->root);
    assert_int_equal(system(big), 0);
    words = nm_yarn_launcher_diagnostics(w->launcher, logs, APPLICATION, CONTAINER, &w->arena);
    assert_int_equal(strlen(strstr(words, "stderr:\n") + 8), 4096 + 1);
    assert_non_null(strstr(words, "aaa?\n"));
    assert_string_equal(nm_yarn_launcher_diagnostics(w->launcher, "/nowhere", APPLICATION, CONTAINER, &w->arena), "");
}

static void test_each_user_has_separate_directories(void **state)
{
    static const char all[] = "<property><name>yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users"
                              "</name><value>false</value></property>";
    struct fixture *w = *state;
    char *user = NULL, *message = NULL;

    assert_int_equal(nm_yarn_launcher_user(w->launcher, "alice@corp$", &user, &message), 0);
    assert_string_equal(user, w->user);
    free(user);
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "../alice@corp$", &user, &message), -EINVAL);
    assert_non_null(strstr(message, "is not a valid user name on this node"));
    free(message);
    message = NULL;
    /* A pattern must match complete names, whatever its form. */
    start(w, "<property><name>yarn.nodemanager.linux-container-executor.nonsecure-mode.user-pattern</name>"
             "<value>bob|b|bo[a-z]{0,1}@x</value></property>");
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "bob", &user, &message), 0);
    free(user);
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "boz@x", &user, &message), 0);
    free(user);
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "bobby", &user, &message), -EINVAL);
    free(message);
    message = NULL;
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "abob", &user, &message), -EINVAL);
    free(message);
    message = NULL;
    start(w, all);
    if (geteuid() != 0) {
        assert_int_equal(nm_yarn_launcher_user(w->launcher, "root", &user, &message), 0);
        assert_string_equal(user, w->user);
        free(user);
        return;
    }
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "nobody", &user, &message), 0);
    assert_string_equal(user, "nobody");
    free(user);
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "no-such-user", &user, &message), -EINVAL);
    assert_non_null(strstr(message, "this user doesn't exist on this node"));
    free(message);
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "root", &user, &message), -EINVAL);
    assert_non_null(strstr(message, "nmd.yarn.allow-root"));
    free(message);
}

/* The two directories are used alternately if both have enough free space. */
static void test_directories_with_free_space_are_used_alternately(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_container_dirs dirs;
    char *message = NULL;
    unsigned first = 0;
    char why[1000];

    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(nm_yarn_launcher_choose_dirs(w->launcher, &dirs, NULL), 0);
        first += nm_streq(dirs.local_dir, w->settings->local_dirs[0]);
    }
    assert_int_equal(first, 5);
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    start(w, "<property><name>yarn.nodemanager.disk-health-checker.enable</name><value>true</value></property>"
             "<property><name>yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb</name>"
             "<value>2147483647</value></property>");
    assert_int_equal(nm_yarn_launcher_choose_dirs(w->launcher, &dirs, NULL), -ENOSPC);
    assert_false(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_non_null(strstr(why, "2/2 local-dirs usable space is below configured utilization percentage/no more usable "
                                "space [ "));
    assert_non_null(strstr(why, " ] ; 1/1 log-dirs usable space is below configured utilization "));
    start(w, "<property><name>yarn.nodemanager.disk-health-checker.enable</name><value>true</value></property>"
             "<property><name>yarn.nodemanager.disk-health-checker.interval-ms</name><value>1000</value></property>"
             "<property><name>yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage</name>"
             "<value>100</value></property>");
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    /* A directory with the name of the file that the check writes makes the check fail, as a failed disk does. */
    assert_int_equal(mkdirat(w->root_fd, "logs/.nmd-probe", 0700), 0);
    assert_int_equal(mkdirat(w->root_fd, "logs/.nmd-probe/x", 0700), 0);
    RUN_UNTIL(w, !nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_non_null(strstr(why, "1/1 log-dirs have errors:  [ "));
    assert_non_null(strstr(why, "can't write to it"));
    assert_int_equal(unlinkat(w->root_fd, "logs/.nmd-probe/x", AT_REMOVEDIR), 0);
    RUN_UNTIL(w, nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    /* One good directory of two is enough, whichever of them it is. Below min-healthy-disks the node is unhealthy. */
    assert_int_equal(mkdirat(w->root_fd, "local/.nmd-probe", 0700), 0);
    assert_int_equal(mkdirat(w->root_fd, "local/.nmd-probe/x", 0700), 0);
    RUN_UNTIL(w, nm_yarn_launcher_choose_dirs(w->launcher, &dirs, NULL) == 0 &&
                     nm_streq(dirs.local_dir, w->settings->local_dirs[1]) &&
                     nm_yarn_launcher_choose_dirs(w->launcher, &dirs, NULL) == 0 &&
                     nm_streq(dirs.local_dir, w->settings->local_dirs[1]));
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_true(strncmp(why, "1/2 local-dirs have errors:  [ ", 31) == 0); /* the report of a healthy node */
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, 8)); /* the report is cut off */
    assert_string_equal(why, "1/2 loc");
    assert_int_equal(mkdirat(w->root_fd, "second/.nmd-probe", 0700), 0);
    assert_int_equal(mkdirat(w->root_fd, "second/.nmd-probe/x", 0700), 0);
    RUN_UNTIL(w, !nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_int_equal(nm_yarn_launcher_choose_dirs(w->launcher, &dirs, &message), -ENOSPC);
    assert_non_null(strstr(message, "directories for containers is good"));
    free(message);
}

/* Directories that another NodeManager has left don't prevent the start. The cache of this node survives a restart. */
static void test_directories_left_by_another_nodemanager_are_replaced(void **state)
{
    struct fixture *w = *state;
    struct owner o;
    char path[PATH_MAX];

    add_file(w, "a", "a", "one", 2);
    set_command(w, "true");
    prepare_all(w, &o);
    assert_int_equal(o.result, 0);
    give_back(&o);
    start(w, "");
    assert_true(exists(w, "local/usercache/alice@corp$/filecache/10/a"));
    (void)snprintf(path, sizeof path, "rm -r %s/state", w->root);
    w->launcher = nm_yarn_launcher_free(w->launcher);
    assert_int_equal(system(path), 0);
    assert_int_equal(mkdirat(w->root_fd, "local/nmPrivate", 0700), 0);
    /* this directory is left from an interrupted removal */
    assert_int_equal(mkdirat(w->root_fd, "local/filecache_DEL_1", 0700), 0);
    assert_int_equal(mkdirat(w->root_fd, "local/other", 0700), 0);
    start(w, "");
    assert_false(exists(w, "local/usercache/alice@corp$"));
    prepare_all(w, &o); /* the numbers in the cache start at 10 again */
    assert_string_equal(o.message, "");
    assert_true(exists(w, "local/usercache/alice@corp$/filecache/10/a"));
    give_back(&o);
    (void)snprintf(path, sizeof path, "ls %s/local %s/second | grep -q _DEL_", w->root, w->root);
    RUN_UNTIL(w, system(path) != 0);
    assert_false(exists(w, "local/nmPrivate"));
    assert_true(exists(w, "local/other"));
}

static void test_directories_that_can_not_be_used_are_reported(void **state)
{
    struct fixture *w = *state;
    char *message = NULL;

    w->launcher = nm_yarn_launcher_free(w->launcher);
    assert_int_equal(fchmodat(w->root_fd, "logs", 0777, 0), 0);
    assert_int_equal(try_start(w, &message), -ENOTDIR);
    assert_non_null(strstr(message, "a user other than root and nmd's own can change it or a directory above it"));
    free(message);
    assert_int_equal(fchmodat(w->root_fd, "logs", 0755, 0), 0);
    assert_int_equal(fchmodat(w->root_fd, ".", 0777, 0), 0);
    assert_int_equal(try_start(w, &message), -ENOTDIR);
    free(message);
}

static void set_retry(struct fixture *w, int32_t policy, int32_t max, int32_t code)
{
    Yarn__RetryContext *r = nm_arena_alloc(&w->arena, sizeof *r);

    yarn__retry_context__init(r);
    r->policy = policy;
    r->max_retries = max;
    r->codes = nm_arena_alloc(&w->arena, sizeof *r->codes);
    r->codes[0] = code;
    r->n_codes = 1;
    w->context.retry = r;
}

static unsigned attempts(struct fixture *w, int expected)
{
    unsigned n = 0;

    (void)unlinkat(w->root_fd, WORK_DIR "/attempts", 0);
    assert_int_equal(run(w), expected);
    for (const char *p = text_of(w, WORK_DIR "/attempts"); *p; p++)
        n += *p == '\n';
    return n;
}

static void test_a_failed_command_is_retried_as_the_context_requests(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    set_command(w, "echo >>attempts; exit 3");
    prepare_all(w, &o);
    assert_int_equal(attempts(w, 3), 1);
    set_retry(w, 0, 5, 3);
    assert_int_equal(attempts(w, 3), 1);
    set_retry(w, 1, 2, 0);
    assert_int_equal(attempts(w, 3), 3);
    set_retry(w, 2, 1, 3);
    assert_int_equal(attempts(w, 3), 2);
    set_retry(w, 2, 1, 4);
    assert_int_equal(attempts(w, 3), 1);
    give_back(&o);
    set_command(w, "echo >>attempts; kill -9 $$");
    prepare_all(w, &o);
    set_retry(w, 1, -1, 0);
    assert_int_equal(attempts(w, 137), 1);
    give_back(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_preparation_of_a_container_succeeds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_debug_information_is_written_to_the_logs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_most_symlinks_exist_before_the_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_environment_has_hadoops_variables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_credentials_reach_the_container_unchanged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counters_distinguish_fetched_and_cached_resources, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_container_gets_a_dangling_symlink_to_a_resource, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_running_container_gets_additional_resources, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_symlinks_to_many_resources_are_made_in_several_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_invalid_preparation_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_put_in_the_way_do_not_affect_other_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_are_removed_after_the_end_of_the_application, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_last_output_of_a_container_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_user_has_separate_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_with_free_space_are_used_alternately, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_left_by_another_nodemanager_are_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_that_can_not_be_used_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_command_is_retried_as_the_context_requests, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
