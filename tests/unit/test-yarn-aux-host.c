/* SPDX-License-Identifier: Apache-2.0 */

/* Auxiliary services that are written in Java. A shell script takes the place of java, and speaks the protocol of
 * aux-host/README. tests/yarn/59-java-services.sh has the real services. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/remove-tree.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/launch/aux-access.h"
#include "yarn/launch/aux-dirs.h"
#include "yarn/launch/aux-host.h"

#define APPLICATION "application_1700000000000_0001"
#define OTHER "application_1700000000000_0002"
#define CONTAINER "container_1700000000000_0001_01_000002"
#define ROUND_SECONDS 20

struct fixture {
    char root[64], state[96], out[96];
    sd_event *event;
    struct nm_yarn_settings *settings;
    struct nm_yarn_aux_host *host;
};

static char last_event[900], all_events[4000];

static void on_reported(int level, const char *sentence)
{
    (void)level;
    assert_true(*sentence);
}

static void on_event(int level, const char *sentence, void *userdata)
{
    (void)level, (void)userdata;
    (void)snprintf(last_event, sizeof last_event, "%s", sentence);
    (void)strncat(all_events, sentence, sizeof all_events - 1 - strlen(all_events));
}

nm_printf(4, 5) static void write_file(const struct fixture *w, const char *name, mode_t mode, const char *format, ...)
{
    char path[200], text[2000];
    va_list ap;
    int fd;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    (void)snprintf(path, sizeof path, "%s/%s", w->root, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    nm_close(fd);
}

/* Returns the contents of a file of the script. "": the file doesn't exist. */
static const char *contents(const struct fixture *w, const char *name)
{
    static char text[8192];
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", w->root, name);
    return nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0 ? "" : text;
}

/* mode: what the script does at its start */
static void write_script(const struct fixture *w, const char *mode)
{
    write_file(w, "mode", 0644, "%s", mode);
    write_file(w, "java", 0755,
               "#!/bin/sh\n"
               "cd %s || exit 9\n"
               "echo \"$*\" >out/args; id -u >out/uid; env >out/env; echo $$ >>out/pids\n"
               "case $(cat mode) in\n"
               "fail) echo '{\"failed\": \"the class x.Y was not found on the class path\"}'; exit 1 ;;\n"
               "busy) [ $(wc -l <out/pids) -gt 1 ] || { echo '{\"failed\": \"Address already in use\"}'; exit 1; } ;;\n"
               "die) echo 'Error: no such virtual machine' >&2; exit 3 ;;\n"
               "slow) exec sleep 100 ;;\n"
               "esac\n"
               "echo '{\"metadata\": {\"service\": \"tez_shuffle\", \"data\": \"0000350a\"}}'\n"
               "echo '{\"listening\": 1}'\n"
               "while read -r line; do\n"
               "    echo \"$line\" >>out/lines\n"
               "    case $line in\n"
               "    *application_stop*)\n"
               "        echo \"$line\" | sed 's/.*\\(application_[0-9_]*\\)\".*/{\"stopped\": \"\\1\"}/' ;;\n"
               "    *vendor*) echo '{\"error\": \"not today\"}' ;;\n"
               "    *) echo '{\"ok\": {}}' ;;\n"
               "    esac\n"
               "done\n", w->root);
}

#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"

static int read_settings(const char *text, struct nm_yarn_settings **ret, char **ret_message)
{
    struct nm_yarn_conf *c;
    int r;

    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
    r = nm_yarn_settings_read(c, NULL, NULL, ret, ret_message);
    (void)nm_yarn_conf_free(c);
    return r;
}

static void make_settings(struct fixture *w, const char *java, const char *class_path, const char *jar)
{
    char text[3000];

    (void)snprintf(text, sizeof text,
                   "<configuration>" PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle,tez_shuffle,vendor")
                   PROPERTY("yarn.nodemanager.aux-services.tez_shuffle.class", "a.B")
                   PROPERTY("yarn.nodemanager.aux-services.vendor.class", "x.Y")
                   PROPERTY("yarn.nodemanager.local-dirs", "%s/local1,%s/local2")
                   PROPERTY("nmd.aux-host.java", "%s") PROPERTY("nmd.aux-host.class-path", "%s")
                   PROPERTY("nmd.aux-host.jar", "%s") PROPERTY("nmd.aux-host.heap-mb", "64")
                   PROPERTY("nmd.aux-host.java-options", " -Da=b  -Dc=d ")
                   PROPERTY("nmd.aux-host.start-timeout-ms", "%s") "</configuration>",
                   w->root, w->root, java, class_path, jar, nm_streq(contents(w, "mode"), "slow") ? "1000" : "20000");
    w->settings = nm_yarn_settings_free(w->settings);
    assert_int_equal(read_settings(text, &w->settings, NULL), 0);
}

/* Uses the script, and the files that stand for jars. */
static void use_files(struct fixture *w)
{
    char java[100], classes[200], jar[100];

    (void)snprintf(java, sizeof java, "%s/java", w->root);
    (void)snprintf(classes, sizeof classes, "/no/such/dir:%s/lib/*", w->root);
    (void)snprintf(jar, sizeof jar, "%s/host.jar", w->root);
    make_settings(w, java, classes, jar);
}

static int make_host(struct fixture *w, char **ret_message)
{
    const struct nm_yarn_aux_host_params params = {
        .event = w->event, .settings = w->settings, .state_dir = w->state, .report_cb = on_reported,
        .on_event = on_event};
    int r = nm_yarn_aux_host_new(&params, &w->host, ret_message);

    return r < 0 ? r : nm_yarn_aux_host_wait(w->host, ret_message);
}

static void start_host(struct fixture *w)
{
    char *message = NULL;

    if (make_host(w, &message) < 0)
        fail_msg("%s", message ?: "no message");
}

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)strcpy(w->root, "/tmp/nmd-test-aux.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(chmod(w->root, 0755), 0);
    (void)snprintf(w->state, sizeof w->state, "%s/state", w->root);
    (void)snprintf(w->out, sizeof w->out, "%s/out", w->root);
    assert_int_equal(mkdir(w->state, 0700), 0);
    assert_int_equal(mkdir(w->out, 0777), 0);
    assert_int_equal(chmod(w->out, 0777), 0);
    (void)snprintf(w->out, sizeof w->out, "%s/lib", w->root);
    assert_int_equal(mkdir(w->out, 0755), 0);
    write_file(w, "lib/hadoop-yarn-server-nodemanager-3.4.2.jar", 0644, "jar");
    write_file(w, "host.jar", 0644, "jar");
    write_script(w, "");
    assert_true(sd_event_new(&w->event) >= 0);
    use_files(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    (void)nm_yarn_aux_host_free(w->host);
    (void)nm_yarn_settings_free(w->settings);
    (void)sd_event_unref(w->event);
    (void)remove_tree(w->root);
    free(w);
    return 0;
}

/* Runs the event loop until the file contains the text. */
static void wait_for(struct fixture *w, const char *name, const char *text)
{
    const uint64_t end_usec = nm_now_usec() + ROUND_SECONDS * NM_USEC_PER_SEC;

    while (!strstr(contents(w, name), text)) {
        if (nm_now_usec() >= end_usec)
            fail_msg("%s has no '%s': %s", name, text, contents(w, name));
        (void)sd_event_run(w->event, 20 * NM_USEC_PER_MSEC);
    }
}

static bool is_saved(const struct fixture *w, const char *application)
{
    char path[200];

    (void)snprintf(path, sizeof path, "%s/aux/%s", w->state, application);
    return access(path, F_OK) == 0;
}

static void wait_until_forgotten(struct fixture *w, const char *application)
{
    const uint64_t end_usec = nm_now_usec() + ROUND_SECONDS * NM_USEC_PER_SEC;

    while (is_saved(w, application)) {
        assert_true(nm_now_usec() < end_usec);
        (void)sd_event_run(w->event, 20 * NM_USEC_PER_MSEC);
    }
}

static void begin(struct fixture *w)
{
    const struct nm_yarn_aux_container c = {.container = CONTAINER, .application = APPLICATION, .submitter = "alice",
                                            .memory_mib = 512, .vcores = 2, .is_master = true};

    nm_yarn_aux_host_begin_container(w->host, &c);
    nm_yarn_aux_host_add_data(w->host, APPLICATION, "alice", "tez_shuffle", nm_bytes_of("key"));
}

static unsigned count(const char *text, const char *part)
{
    unsigned n = 0;

    while ((text = strstr(text, part))) {
        n++;
        text++;
    }
    return n;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_the_settings_tell_which_services_need_java(void **state)
{
    static const struct {
        const char *properties, *names, *why;
    } cases[] = {
        {PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle,spark_shuffle"), "", NULL},
        {PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle,spark_shuffle")
         PROPERTY("nmd.aux-host.services", "mapreduce_shuffle"), "mapreduce_shuffle ", NULL},
        {PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle")
         PROPERTY("yarn.nodemanager.aux-services.mapreduce_shuffle.class", "x.Y"), "mapreduce_shuffle ", NULL},
        {PROPERTY("yarn.nodemanager.aux-services", "b,a,b") PROPERTY("yarn.nodemanager.aux-services.a.class", "x.Y")
         PROPERTY("yarn.nodemanager.aux-services.b.class", "x.Y"), "b a ", NULL},
        {PROPERTY("yarn.nodemanager.aux-services", "tez_shuffle"), NULL,
         "site.xml: yarn.nodemanager.aux-services = 'tez_shuffle': the service 'tez_shuffle' has no class"},
        {PROPERTY("yarn.nodemanager.aux-services", "a/b"), NULL, "'a/b' is not a valid name"},
        {PROPERTY("yarn.nodemanager.aux-services", "1a"), NULL, "'1a' is not a valid name"},
        {PROPERTY("yarn.nodemanager.aux-services.manifest.enabled", "true"), NULL, "not from a manifest"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_settings *s = NULL;
        char text[1000], names[200] = "", *message = NULL;
        int r;

        (void)snprintf(text, sizeof text, "<configuration>%s</configuration>", cases[i].properties);
        r = read_settings(text, &s, &message);
        if (cases[i].why) {
            assert_int_equal(r, -EOPNOTSUPP);
            if (!message || !strstr(message, cases[i].why))
                fail_msg("%s", message ?: "no message");
            free(message);
            continue;
        }
        assert_int_equal(r, 0);
        for (size_t k = 0; s->aux.names[k]; k++)
            (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", s->aux.names[k]);
        assert_string_equal(names, cases[i].names);
        assert_int_equal(nm_yarn_aux_host_is_wanted(s), *names != '\0');
        nm_yarn_settings_free(s);
    }
}

static void test_what_is_missing_is_said(void **state)
{
    struct fixture *w = *state;
    char java[100], classes[100], jar[100], *message = NULL;

    (void)snprintf(java, sizeof java, "%s/java", w->root);
    (void)snprintf(classes, sizeof classes, "%s/lib/*", w->root);
    (void)snprintf(jar, sizeof jar, "%s/host.jar", w->root);
    assert_int_equal(nm_yarn_aux_host_check(w->settings, &message), 0);
    make_settings(w, "/no/such/java", classes, jar);
    assert_int_equal(nm_yarn_aux_host_check(w->settings, &message), -ENOENT);
    assert_string_equal(message, "nmd.aux-host.java = '/no/such/java': must be the absolute path of a program");
    free(STEAL_PTR(message));
    make_settings(w, java, classes, "/no/such.jar");
    assert_int_equal(nm_yarn_aux_host_check(w->settings, &message), -ENOENT);
    assert_non_null(strstr(message, "/no/such.jar: No such file or directory; install the package nmd-aux-host"));
    free(STEAL_PTR(message));
    make_settings(w, java, "/no/such/*:/etc", jar);
    assert_int_equal(nm_yarn_aux_host_check(w->settings, &message), -ENOENT);
    assert_non_null(strstr(message, "is in the class path /no/such/*:/etc; set nmd.aux-host.class-path"));
    free(STEAL_PTR(message));
    make_settings(w, "", classes, jar);
    assert_int_equal(setenv("JAVA_HOME", "/no/such", 1), 0);
    assert_int_equal(nm_yarn_aux_host_check(w->settings, &message), -ENOENT);
    assert_non_null(strstr(message, "the auxiliary service 'tez_shuffle' is written in Java, but this host has no java "
                                    "program in $JAVA_HOME/bin: JAVA_HOME is /no/such; install Java"));
    free(STEAL_PTR(message));
    assert_int_equal(unsetenv("JAVA_HOME"), 0);
    make_settings(w, java, "", jar);
    assert_int_equal(unsetenv("HADOOP_HOME") + unsetenv("HADOOP_COMMON_HOME"), 0);
    assert_int_equal(nm_yarn_aux_host_check(w->settings, &message), -ENOENT);
    assert_non_null(strstr(message, "neither nmd.aux-host.class-path nor HADOOP_HOME"));
    free(message);
}

static void test_services_get_containers_and_applications(void **state)
{
    struct fixture *w = *state;
    struct nm_bytes metadata;
    bool was_running;
    const char *name;

    start_host(w);
    assert_true(nm_yarn_aux_host_has(w->host, "tez_shuffle", &was_running));
    assert_true(was_running);
    assert_false(nm_yarn_aux_host_has(w->host, "mapreduce_shuffle", &was_running));
    assert_int_equal(nm_yarn_aux_host_count(w->host), 2);
    assert_true(nm_yarn_aux_host_metadata(w->host, 0, &name, &metadata));
    assert_string_equal(name, "tez_shuffle");
    assert_true(nm_bytes_equal(metadata, (struct nm_bytes){(const uint8_t *)"\0\0\x35\x0a", 4}));
    assert_false(nm_yarn_aux_host_metadata(w->host, 1, &name, &metadata));
    begin(w);
    begin(w); /* again, as for another container with the same data */
    nm_yarn_aux_host_add_data(w->host, APPLICATION, "alice", "vendor", (struct nm_bytes){});
    nm_yarn_aux_host_end_container(w->host, CONTAINER);
    nm_yarn_aux_host_end_container(w->host, CONTAINER);
    assert_true(is_saved(w, APPLICATION));
    nm_yarn_aux_host_end_application(w->host, APPLICATION);
    nm_yarn_aux_host_end_application(w->host, APPLICATION);
    wait_until_forgotten(w, APPLICATION);
    assert_string_equal(contents(w, "out/lines"),
                        "{\"container_init\":{\"container\":\"" CONTAINER "\",\"user\":\"alice\",\"memory_mb\":512,"
                        "\"vcores\":2,\"master\":true}}\n"
                        "{\"application_init\":{\"application\":\"" APPLICATION "\",\"user\":\"alice\",\"service\":"
                        "\"tez_shuffle\",\"data\":\"6b6579\"}}\n"
                        "{\"application_init\":{\"application\":\"" APPLICATION "\",\"user\":\"alice\",\"service\":"
                        "\"tez_shuffle\",\"data\":\"6b6579\"}}\n"
                        "{\"application_init\":{\"application\":\"" APPLICATION "\",\"user\":\"alice\",\"service\":"
                        "\"vendor\",\"data\":\"\"}}\n"
                        "{\"container_stop\":{\"container\":\"" CONTAINER "\",\"user\":\"alice\",\"memory_mb\":512,"
                        "\"vcores\":2,\"master\":true}}\n"
                        "{\"application_stop\":{\"application\":\"" APPLICATION "\"}}\n");
}

static void test_the_process_has_its_own_directories_and_account(void **state)
{
    struct fixture *w = *state;
    struct nm_identity account = {.uid = geteuid()};
    char path[200], target[200], expected[600];
    bool changes;
    ssize_t n;

    assert_int_equal(nm_yarn_aux_find_account(&account, &changes, NULL), 0);
    start_host(w);
    (void)snprintf(expected, sizeof expected, "%u\n", (unsigned)account.uid);
    assert_string_equal(contents(w, "out/uid"), expected);
    (void)snprintf(expected, sizeof expected, " -Da=b -Dc=d -cp /no/such/dir:%s/lib/*:%s/host.jar nmd.auxhost.Main "
                   "%s-aux 2 tez_shuffle vendor\n", w->root, w->root, w->state);
    assert_non_null(strstr(contents(w, "out/args"), expected));
    assert_int_equal(strncmp(contents(w, "out/args"), "-Xmx64m ", 8), 0);
    assert_non_null(strstr(contents(w, "out/env"), "HADOOP_USER_NAME=yarn\n"));
    (void)snprintf(path, sizeof path, "%s-aux/local/1/usercache", w->state);
    n = readlink(path, target, sizeof target - 1);
    assert_true(n > 0);
    target[n] = '\0';
    (void)snprintf(expected, sizeof expected, "%s/local2/usercache", w->root);
    assert_string_equal(target, expected);
}

static void test_a_killed_process_is_restarted_with_everything(void **state)
{
    struct fixture *w = *state;
    struct nm_bytes metadata;
    const char *name;
    json_t *shown;
    pid_t pid;

    start_host(w);
    begin(w);
    nm_yarn_aux_host_add_data(w->host, OTHER, "bob", "tez_shuffle", nm_bytes_of("x"));
    wait_for(w, "out/lines", OTHER);
    write_file(w, "out/lines", 0666, "%s", "");
    shown = nm_yarn_aux_host_to_json(w->host);
    assert_string_equal(json_string_value(json_object_get(shown, "state")), "running");
    assert_int_equal(json_integer_value(json_object_get(shown, "applications")), 2);
    assert_true(json_integer_value(json_object_get(shown, "memory_bytes")) > 0);
    assert_int_equal(json_integer_value(json_object_get(shown, "memory_max_bytes")), 0); /* without cgroups */
    assert_int_equal(json_integer_value(json_object_get(shown, "heap_max_bytes")), 64 << 20);
    pid = (pid_t)json_integer_value(json_object_get(shown, "pid"));
    json_decref(shown);
    assert_int_equal(kill(pid, SIGKILL), 0);
    while (!strstr(last_event, "are away"))
        assert_true(sd_event_run(w->event, ROUND_SECONDS * NM_USEC_PER_SEC) >= 0);
    assert_non_null(strstr(last_event, "the auxiliary services tez_shuffle, vendor are away: the process of the "
                                       "auxiliary services was killed by signal 9; nmd starts them again in 1 s"));
    nm_yarn_aux_host_end_application(w->host, OTHER); /* while no process is running */
    assert_true(is_saved(w, OTHER));
    shown = nm_yarn_aux_host_to_json(w->host);
    assert_string_equal(json_string_value(json_object_get(shown, "state")), "away");
    assert_int_equal(json_integer_value(json_object_get(shown, "restarts")), 1);
    json_decref(shown);
    assert_true(nm_yarn_aux_host_metadata(w->host, 0, &name, &metadata)); /* that of the former process */
    wait_until_forgotten(w, OTHER);
    wait_for(w, "out/lines", "container_init");
    assert_non_null(strstr(contents(w, "out/lines"), "\"data\":\"6b6579\""));
    assert_null(strstr(contents(w, "out/lines"), "bob"));
    assert_true(is_saved(w, APPLICATION));
}

static bool is_first(void *userdata, const char *application)
{
    (void)userdata;
    return nm_streq(application, APPLICATION);
}

/* An application that has ended while no nmd was running is ended for the services, too. */
static void test_a_restarted_nmd_knows_the_applications(void **state)
{
    struct fixture *w = *state;

    start_host(w);
    begin(w);
    nm_yarn_aux_host_add_data(w->host, OTHER, "bob", "tez_shuffle", nm_bytes_of("x"));
    w->host = nm_yarn_aux_host_free(w->host);
    write_file(w, "out/lines", 0666, "%s", "");
    start_host(w);
    nm_yarn_aux_host_end_strays(w->host, is_first, NULL);
    wait_until_forgotten(w, OTHER);
    assert_true(is_saved(w, APPLICATION));
    assert_int_equal(count(contents(w, "out/lines"), "\"application_init\":{\"application\":\"" APPLICATION "\""), 1);
    assert_int_equal(count(contents(w, "out/lines"), "application_stop"), 1);
    assert_null(strstr(contents(w, "out/lines"), "container")); /* the node begins those that are left */
}

static void test_a_failed_start_is_refused_in_the_services_words(void **state)
{
    struct fixture *w = *state;
    char *message = NULL;

    write_script(w, "fail");
    assert_int_equal(make_host(w, &message), -ENOEXEC);
    assert_non_null(strstr(message, "services tez_shuffle, vendor can't be started: the class x.Y was not "
                                    "found on the class path; their log is "));
    free(STEAL_PTR(message));
    w->host = nm_yarn_aux_host_free(w->host);
    write_script(w, "die");
    assert_int_equal(make_host(w, &message), -ENOEXEC);
    assert_non_null(strstr(message, "can't be started: Error: no such virtual machine; their log is "));
    free(message);
}

/* The process of an nmd that has just ended may still hold a port. */
static void test_a_port_in_use_is_tried_again(void **state)
{
    struct fixture *w = *state;

    write_script(w, "busy");
    start_host(w);
    assert_non_null(strstr(all_events, "can't be started yet: Address already in use; nmd tries again"));
    assert_int_equal(count(contents(w, "out/pids"), "\n"), 2);
}

static void test_slow_services_dont_stop_nmd(void **state)
{
    struct fixture *w = *state;
    bool was_running = true;
    json_t *shown;

    write_script(w, "slow");
    use_files(w);
    start_host(w);
    assert_non_null(strstr(last_event, "aren't running yet"));
    assert_true(nm_yarn_aux_host_has(w->host, "tez_shuffle", &was_running));
    assert_false(was_running);
    shown = nm_yarn_aux_host_to_json(w->host);
    assert_string_equal(json_string_value(json_object_get(shown, "state")), "starting");
    json_decref(shown);
}

/* ---- access ------------------------------------------------------------------------------- */

static mode_t mode_of(int fd, const char *path, gid_t *ret_gid)
{
    struct stat st;

    assert_int_equal(fstatat(fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    *ret_gid = st.st_gid;
    return st.st_mode & 07777;
}

static void test_the_group_gets_access_to_an_application(void **state)
{
    struct fixture *w = *state;
    const struct nm_yarn_dirs_owner owner = {.submitter = "alice", .application = APPLICATION, .container = CONTAINER,
                                             .as = {.uid = 64321, .gid = 64321}};
    _cleanup_close_ int fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gid_t gid;

    if (geteuid() != 0)
        skip();
    assert_int_equal(nm_yarn_dirs_make_local(fd, &owner, true), 0);
    assert_int_equal(nm_yarn_aux_access_grant(fd, &owner, 64400), 0);
    assert_int_equal(nm_yarn_aux_access_grant(fd, &owner, 64400), 0);
    assert_int_equal(mode_of(fd, "usercache/alice", &gid), 0751);
    assert_int_equal(gid, 64321);
    assert_int_equal(mode_of(fd, "usercache/alice/appcache", &gid), 0711);
    assert_int_equal(mode_of(fd, "usercache/alice/appcache/" APPLICATION, &gid), 02710);
    assert_int_equal(gid, 64400);
    assert_int_equal(nm_yarn_dirs_make_local(fd, &owner, true), 0); /* the next container */
    assert_int_equal(mode_of(fd, "usercache/alice/appcache/" APPLICATION, &gid), 02710);
}

/* A link of the user doesn't lead to a directory of another user. */
static void test_links_of_users_are_not_followed(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_dirs_owner owner = {.submitter = "alice", .application = APPLICATION, .container = CONTAINER,
                                       .as = {.uid = 64321, .gid = 64321}};
    _cleanup_close_ int fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    gid_t gid;

    if (geteuid() != 0)
        skip();
    assert_int_equal(nm_yarn_dirs_make_local(fd, &owner, false), 0);
    owner.application = OTHER;
    assert_int_equal(symlinkat("/etc", fd, "usercache/alice/appcache/" OTHER), 0);
    assert_true(nm_yarn_aux_access_grant(fd, &owner, 64400) < 0);
    assert_int_equal(unlinkat(fd, "usercache/alice/appcache/" OTHER, 0), 0);
    assert_int_equal(mkdirat(fd, "usercache/alice/appcache/" OTHER, 0755), 0); /* belongs to root */
    assert_int_equal(nm_yarn_aux_access_grant(fd, &owner, 64400), -EPERM);
    assert_int_equal(mode_of(fd, "usercache/alice/appcache/" OTHER, &gid) & 02000, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_settings_tell_which_services_need_java),
        cmocka_unit_test_setup_teardown(test_what_is_missing_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_services_get_containers_and_applications, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_process_has_its_own_directories_and_account, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_killed_process_is_restarted_with_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_restarted_nmd_knows_the_applications, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_start_is_refused_in_the_services_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_port_in_use_is_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow_services_dont_stop_nmd, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_group_gets_access_to_an_application, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_of_users_are_not_followed, set_up, tear_down),
    };

    (void)signal(SIGPIPE, SIG_IGN); /* as in nmd */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
