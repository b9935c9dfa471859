/* SPDX-License-Identifier: Apache-2.0 */

/*
 * rpc/yarn/launch/launcher.h with real directories and the real nm-localizer. As root containers are nobody's,
 * otherwise they are whoever's runs this.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "rpc/yarn/launch/launcher.h"
#include "tests/unit/remove-tree.h"
#include "util/clock.h"
#include "util/fileio.h"

#define SECONDS 20
#define APPLICATION "application_1700000000000_0001"
#define CONTAINER "container_1700000000000_0001_01_000002"
#define APP_DIR "local/usercache/alice@corp$/appcache/" APPLICATION
#define WORK_DIR APP_DIR "/" CONTAINER
#define LOG_DIR "logs/" APPLICATION "/" CONTAINER

struct world {
    char root[40];
    int root_fd;
    sd_event *event;
    struct nm_yarn_settings *settings;
    struct nm_yarn_launcher *launcher;
    uid_t uid;
    gid_t gid;
    char *user;
    Yarn__LaunchContext context;
    Yarn__NamedResource *resources[4];
    struct nm_arena arena;
};

/* What a preparation's owner hears. */
struct owner {
    struct nm_yarn_preparation *p;
    unsigned ended;
    int result;
    char message[400];
};

/* The loop, until it is so. */
#define RUN_UNTIL(w, condition)                                                                                        \
    do {                                                                                                               \
        uint64_t _end_usec = nm_now_usec() + SECONDS * NM_USEC_PER_SEC;                                                \
        while (!(condition)) {                                                                                         \
            assert_true(nm_now_usec() < _end_usec);                                                                    \
            assert_true(sd_event_run((w)->event, 20000) >= 0);                                                         \
        }                                                                                                              \
    } while (0)

/* ---- the world ---------------------------------------------------------------------------- */

static struct nm_yarn_settings *read_settings(struct world *w, const char *more)
{
    struct nm_yarn_settings *s;
    struct nm_yarn_conf *c;
    char text[2000];
    char *message = NULL;

    (void)snprintf(text, sizeof text,
                   "<configuration><property><name>yarn.nodemanager.local-dirs</name><value>%s/local,%s/second</value>"
                   "</property><property><name>yarn.nodemanager.log-dirs</name><value>file://%s/logs</value></property>"
                   "<property><name>yarn.nodemanager.disk-health-checker.enable</name><value>false</value></property>"
                   "<property><name>nmd.yarn.java-version</name><value>17</value></property>"
                   "<property><name>yarn.nodemanager.env-whitelist</name><value>NMD_KEPT,NMD_MISSED</value></property>"
                   "<property><name>yarn.nodemanager.force.path</name><value>/forced</value></property>"
                   "<property><name>yarn.nodemanager.admin-env</name><value>A=admin,B=$NMD_KEPT,"
                   "C=$NMD_MISSED,D=/d:$A/$NMD_MISSED$NMD_KEPT/$1,E=1,E=2,F=no</value></property>"
                   "<property><name>yarn.nodemanager.admin-env.F</name><value>x,y=$NMD_KEPT</value></property>"
                   "<property><name>yarn.nodemanager.admin-env.1</name><value>no name</value></property>%s"
                   "</configuration>",
                   w->root, w->root, w->root, more);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), &message), 0);
    assert_int_equal(nm_yarn_settings_read(c, NULL, NULL, &s, &message), 0);
    (void)nm_yarn_conf_free(c);
    return s;
}

static int try_start(struct world *w, char **ret_message)
{
    char state[PATH_MAX];
    const struct nm_yarn_launcher_params params = {
        .event = w->event, .settings = w->settings, .localizer_program = "./nm-localizer", .state_dir = state};

    (void)snprintf(state, sizeof state, "%s/state", w->root);
    return nm_yarn_launcher_new(&params, &w->launcher, ret_message);
}

static void start(struct world *w, const char *more)
{
    char *message = NULL;

    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)nm_yarn_settings_free(w->settings);
    w->settings = read_settings(w, more);
    if (try_start(w, &message) < 0)
        fail_msg("%s", message ?: "no message");
    nm_yarn_launcher_tidy(w->launcher);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    const struct passwd *pw;

    assert_non_null(w);
    (void)umask(077); /* nmd's */
    (void)strcpy(w->root, "/tmp/nmd-test-launcher.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(chmod(w->root, 0755), 0);
    w->root_fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pw = geteuid() == 0 ? getpwnam("nobody") : getpwuid(geteuid());
    assert_non_null(pw);
    w->uid = pw->pw_uid;
    w->gid = pw->pw_gid;
    w->user = strdup(pw->pw_name);
    assert_true(sd_event_new(&w->event) >= 0);
    yarn__launch_context__init(&w->context);
    nm_arena_init(&w->arena, NM_MIB, NULL);
    assert_int_equal(setenv("NMD_KEPT", "kept", 1), 0);
    start(w, "");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    (void)nm_yarn_launcher_free(w->launcher);
    (void)nm_yarn_settings_free(w->settings);
    (void)sd_event_unref(w->event);
    nm_arena_done(&w->arena);
    (void)close(w->root_fd);
    (void)remove_tree(w->root);
    free(w->user);
    free(w);
    return 0;
}

static bool is_there(const struct world *w, const char *name)
{
    return faccessat(w->root_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void check_mode(const struct world *w, const char *name, uid_t uid, mode_t mode)
{
    struct stat st;

    if (fstatat(w->root_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        fail_msg("%s isn't there", name);
    if (st.st_uid != uid || (st.st_mode & 07777) != mode)
        fail_msg("%s is %u's with %o", name, st.st_uid, st.st_mode & 07777);
}

static const char *text_of(const struct world *w, const char *name)
{
    static char text[16384];

    text[0] = '\0';
    (void)nm_read_file_at(w->root_fd, name, text, sizeof text, NULL);
    return text;
}

/* ---- what is asked for -------------------------------------------------------------------- */

/* A file among the sources, and a resource of that. */
static void add_file(struct world *w, const char *key, const char *name, const char *text, int32_t visibility)
{
    Yarn__NamedResource *r = nm_arena_alloc(&w->arena, sizeof *r);
    Yarn__LocalResource *v = nm_arena_alloc(&w->arena, sizeof *v);
    Yarn__Url *u = nm_arena_alloc(&w->arena, sizeof *u);
    char *path = nm_arena_alloc(&w->arena, PATH_MAX);
    struct stat st;
    FILE *f;

    (void)mkdirat(w->root_fd, "source", 0755);
    assert_int_equal(fchmodat(w->root_fd, "source", 0755, 0), 0);
    (void)snprintf(path, PATH_MAX, "%s/source/%s", w->root, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(stat(path, &st), 0);
    yarn__named_resource__init(r);
    yarn__local_resource__init(v);
    yarn__url__init(u);
    u->scheme = (char *)"file";
    u->file = path;
    u->port = -1;
    v->url = u;
    v->size = st.st_size;
    v->timestamp_msec = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    v->type = 2;
    v->visibility = visibility;
    r->key = (char *)key;
    r->value = v;
    w->resources[w->context.n_resources++] = r;
    w->context.resources = w->resources;
}

static void set_command(struct world *w, const char *command)
{
    char **words = nm_arena_alloc(&w->arena, sizeof *words);

    words[0] = (char *)command;
    w->context.command = words;
    w->context.n_command = 1;
}

static void set_variable(struct world *w, const char *name, const char *value)
{
    Yarn__Text *t = nm_arena_alloc(&w->arena, sizeof *t), **list = nm_arena_alloc(&w->arena, sizeof *list);

    yarn__text__init(t);
    t->key = (char *)name;
    t->value = (char *)value;
    list[0] = t;
    w->context.environment = list;
    w->context.n_environment = 1;
}

static void on_ended(struct nm_yarn_preparation *p, int result, const char *message, void *userdata)
{
    struct owner *o = userdata;

    assert_ptr_equal(p, o->p);
    o->ended++;
    o->result = result;
    (void)snprintf(o->message, sizeof o->message, "%s", message ?: "");
}

/* How it is asked for: nm_yarn_launcher_prepare()'s two ways, or to be linked. */
enum way { MAKE, HOLD, LINK };

static void prepare_so(struct world *w, struct owner *o, enum way way)
{
    static uint8_t four[] = {0, 0, 0x34, 0xfa};
    const struct nm_yarn_preparation_listener listener = {.ended = on_ended, .userdata = o};
    Yarn__Data service = YARN__DATA__INIT, *services[] = {&service};
    char local[PATH_MAX], logs[PATH_MAX];
    struct nm_yarn_task task = {
        .application = APPLICATION, .container = CONTAINER, .user = w->user, .submitter = "alice@corp$",
        .place = {local, logs}, .context = &w->context, .node_host = "node.example", .node_port = 8041,
        .web_port = 8042, .services = services, .n_services = 1};

    (void)snprintf(local, sizeof local, "%s/local", w->root);
    (void)snprintf(logs, sizeof logs, "%s/logs", w->root);
    service.key = (char *)"mapreduce_shuffle";
    service.value = (ProtobufCBinaryData){sizeof four, four};
    *o = (struct owner){0};
    assert_int_equal(way == LINK ? nm_yarn_launcher_localize(w->launcher, &task, &listener, &o->p)
                                 : nm_yarn_launcher_prepare(w->launcher, &task, way == HOLD, &listener, &o->p), 0);
    assert_int_equal(o->ended, 0);
}

static void prepare(struct world *w, struct owner *o)
{
    prepare_so(w, o, MAKE);
}

static void prepare_all(struct world *w, struct owner *o)
{
    prepare(w, o);
    RUN_UNTIL(w, o->ended);
}

static void give_back(struct owner *o)
{
    o->p = nm_yarn_preparation_free(o->p);
}

/* Its process, as its user in its working directory: the exit status. */
static int run(struct world *w)
{
    const char *const *argv = nm_yarn_launcher_command(&w->context, &w->arena);
    char *work = nm_yarn_work_dir(w->root, "alice@corp$", APPLICATION, CONTAINER);
    pid_t pid = fork();
    int status;

    assert_non_null(argv);
    if (pid == 0) {
        if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(w->gid) < 0 || setuid(w->uid) < 0))
            _exit(120);
        if (fchdir(w->root_fd) < 0 || chdir(WORK_DIR) < 0)
            _exit(121);
        execve(argv[0], (char *const *)argv, (char *const[]){(char *)"PATH=/usr/bin:/bin", NULL});
        _exit(122);
    }
    free(work);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool has_line(const char *text, const char *line)
{
    size_t size = strlen(line);

    for (const char *at = text; (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && at[size] == '\n')
            return true;
    print_message("no line '%s' in:\n%s", line, text);
    return false;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_ready(void **state)
{
    struct world *w = *state;
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

static void test_environment(void **state)
{
    struct world *w = *state;
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

/* What a master sends for its containers is theirs: to the byte, whatever it is, and read by nobody here. */
static void test_tokens(void **state)
{
    static uint8_t tokens[] = {'H', 'D', 'T', 'S', 0, 1, 4, 'a', '\n', 0, '\'', 0xff, '"', '$', 'x', 0, 1, 0x8f};
    struct world *w = *state;
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

/* What was fetched, and what was there: for a task's counters. */
static void test_localization_counters(void **state)
{
    struct world *w = *state;
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

/* Into one that runs: new ones, and others in the place of what was there. */
static void test_more_resources(void **state)
{
    struct world *w = *state;
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
    prepare_so(w, &o, HOLD);
    RUN_UNTIL(w, o.ended);
    assert_int_equal(o.result, 0);
    give_back(&o);
    give_back(&first);
}

static void test_what_cannot_be(void **state)
{
    struct world *w = *state;
    struct owner o;
    const char *why = NULL;

    prepare_all(w, &o); /* no command */
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
    give_back(&o); /* before anything is done */
    assert_int_equal(o.ended, 0);
}

/* Whatever the user puts in the way, nothing of another's is touched. */
static void test_hostile_user(void **state)
{
    struct world *w = *state;
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
    /* a directory that the user can't write to is none for the user's container */
    assert_int_equal(symlinkat("../../roots", w->root_fd, "local/usercache/alice@corp$/swapped"), 0);
    assert_int_equal(mkdirat(w->root_fd, APP_DIR, 0755), 0);
    prepare_all(w, &o);
    assert_true(o.result < 0);
    give_back(&o);
    check_mode(w, "roots", 0, 0700);
    /* another's logs */
    assert_int_equal(unlinkat(w->root_fd, APP_DIR, AT_REMOVEDIR), 0);
    assert_int_equal(fchownat(w->root_fd, "logs/" APPLICATION, 1, 1, 0), 0);
    prepare_all(w, &o);
    assert_int_equal(o.result, -EPERM);
    assert_non_null(strstr(o.message, "another user"));
    give_back(&o);
}

static void test_afterwards(void **state)
{
    struct world *w = *state;
    struct owner o;

    start(w, "<property><name>yarn.nodemanager.log.retain-seconds</name><value>2</value></property>");
    set_command(w, "mkdir -p sub/deep ../output; touch sub/deep/file; chmod 500 sub; echo why >&2");
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    give_back(&o);
    nm_yarn_launcher_end_container(w->launcher, "alice@corp$", APPLICATION, CONTAINER);
    RUN_UNTIL(w, !is_there(w, WORK_DIR));
    assert_true(is_there(w, APP_DIR "/output"));
    assert_true(is_there(w, LOG_DIR));
    nm_yarn_launcher_end_application(w->launcher, "alice@corp$", APPLICATION);
    nm_yarn_launcher_end_application(w->launcher, "alice@corp$", APPLICATION);
    assert_true(is_there(w, "state/ended/" APPLICATION));
    RUN_UNTIL(w, !is_there(w, APP_DIR));
    assert_true(is_there(w, LOG_DIR));
    /* another nmd goes on with it */
    start(w, "<property><name>yarn.nodemanager.log.retain-seconds</name><value>2</value></property>");
    RUN_UNTIL(w, !is_there(w, "logs/" APPLICATION));
    RUN_UNTIL(w, !is_there(w, "state/ended/" APPLICATION));
    assert_true(is_there(w, "local/usercache/alice@corp$"));
}

static void test_last_words(void **state)
{
    struct world *w = *state;
    json_t *files;
    char logs[PATH_MAX], big[PATH_MAX + 100];
    const char *words;
    struct owner o;

    (void)snprintf(logs, sizeof logs, "%s/logs", w->root);
    assert_string_equal(nm_yarn_launcher_last_words(w->launcher, logs, APPLICATION, CONTAINER, &w->arena), "");
    set_command(w, "printf 'first\\n' 1><LOG_DIR>/stderr; ln -s /etc/passwd <LOG_DIR>/stderr.2; "
                   "mkfifo <LOG_DIR>/stderr.3; echo early >&2");
    prepare_all(w, &o);
    assert_int_equal(run(w), 0);
    give_back(&o);
    words = nm_yarn_launcher_last_words(w->launcher, logs, APPLICATION, CONTAINER, &w->arena);
    assert_string_equal(words, "Last bytes of prelaunch.err:\nearly\nLast bytes of stderr:\nfirst\n");
    files = nm_yarn_launcher_log_files(w->launcher, logs, APPLICATION, CONTAINER);
    assert_in_range(json_array_size(files), 3, 5); /* no link, and no pipe */
    json_decref(files);
    (void)snprintf(big, sizeof big,
                   "cd %s/" LOG_DIR " && { head -c 9000 /dev/zero | tr '\\0' a; printf '\\303'; } >stderr", w->root);
    assert_int_equal(system(big), 0);
    words = nm_yarn_launcher_last_words(w->launcher, logs, APPLICATION, CONTAINER, &w->arena);
    assert_int_equal(strlen(strstr(words, "stderr:\n") + 8), 4096 + 1);
    assert_non_null(strstr(words, "aaa?\n"));
    assert_string_equal(nm_yarn_launcher_last_words(w->launcher, "/nowhere", APPLICATION, CONTAINER, &w->arena), "");
}

static void test_users(void **state)
{
    static const char all[] = "<property><name>yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users"
                              "</name><value>false</value></property>";
    struct world *w = *state;
    char *user = NULL, *message = NULL;

    assert_int_equal(nm_yarn_launcher_user(w->launcher, "alice@corp$", &user, &message), 0);
    assert_string_equal(user, w->user);
    free(user);
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "../alice@corp$", &user, &message), -EINVAL);
    assert_non_null(strstr(message, "no name that a user can have"));
    free(message);
    message = NULL;
    /* a pattern is of whole names, however it is written */
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
    assert_non_null(strstr(message, "no such user"));
    free(message);
    assert_int_equal(nm_yarn_launcher_user(w->launcher, "root", &user, &message), -EINVAL);
    assert_non_null(strstr(message, "nmd.yarn.allow-root"));
    free(message);
}

/* In turn, and where there is room. */
static void test_places(void **state)
{
    struct world *w = *state;
    struct nm_yarn_place place;
    char *message = NULL;
    unsigned first = 0;
    char why[300];

    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(nm_yarn_launcher_place(w->launcher, &place, NULL), 0);
        first += nm_streq(place.local_dir, w->settings->local_dirs[0]);
    }
    assert_int_equal(first, 5);
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    start(w, "<property><name>yarn.nodemanager.disk-health-checker.enable</name><value>true</value></property>"
             "<property><name>yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb</name>"
             "<value>2147483647</value></property>");
    assert_int_equal(nm_yarn_launcher_place(w->launcher, &place, NULL), -ENOSPC);
    assert_false(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_non_null(strstr(why, "0 of 2 yarn.nodemanager.local-dirs are good"));
    start(w, "<property><name>yarn.nodemanager.disk-health-checker.enable</name><value>true</value></property>"
             "<property><name>yarn.nodemanager.disk-health-checker.interval-ms</name><value>1000</value></property>"
             "<property><name>yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage</name>"
             "<value>100</value></property>");
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    /* what stands in the way of a probe is as good as a disk that fails */
    assert_int_equal(mkdirat(w->root_fd, "logs/.nmd-probe", 0700), 0);
    assert_int_equal(mkdirat(w->root_fd, "logs/.nmd-probe/x", 0700), 0);
    RUN_UNTIL(w, !nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_non_null(strstr(why, "0 of 1 yarn.nodemanager.log-dirs are good"));
    assert_non_null(strstr(why, "nothing can be made in it"));
    assert_int_equal(unlinkat(w->root_fd, "logs/.nmd-probe/x", AT_REMOVEDIR), 0);
    RUN_UNTIL(w, nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    /* without the one that keeps resources the others are of no use */
    assert_int_equal(mkdirat(w->root_fd, "local/.nmd-probe", 0700), 0);
    assert_int_equal(mkdirat(w->root_fd, "local/.nmd-probe/x", 0700), 0);
    RUN_UNTIL(w, !nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_non_null(strstr(why, "keeps resources"));
    assert_int_equal(nm_yarn_launcher_place(w->launcher, &place, &message), -ENOSPC);
    assert_non_null(strstr(message, "for resources"));
    free(message);
}

/* What another NodeManager has left is in nobody's way; what this one has is kept across a restart. */
static void test_foreign_directories(void **state)
{
    struct world *w = *state;
    struct owner o;
    char path[PATH_MAX];

    add_file(w, "a", "a", "one", 2);
    set_command(w, "true");
    prepare_all(w, &o);
    assert_int_equal(o.result, 0);
    give_back(&o);
    start(w, "");
    assert_true(is_there(w, "local/usercache/alice@corp$/filecache/10/a"));
    (void)snprintf(path, sizeof path, "rm -r %s/state", w->root);
    w->launcher = nm_yarn_launcher_free(w->launcher);
    assert_int_equal(system(path), 0);
    assert_int_equal(mkdirat(w->root_fd, "local/nmPrivate", 0700), 0);
    assert_int_equal(mkdirat(w->root_fd, "local/filecache_DEL_1", 0700), 0); /* of one that has died over it */
    assert_int_equal(mkdirat(w->root_fd, "local/other", 0700), 0);
    start(w, "");
    assert_false(is_there(w, "local/usercache/alice@corp$"));
    prepare_all(w, &o); /* 10 again */
    assert_string_equal(o.message, "");
    assert_true(is_there(w, "local/usercache/alice@corp$/filecache/10/a"));
    give_back(&o);
    (void)snprintf(path, sizeof path, "ls %s/local %s/second | grep -q _DEL_", w->root, w->root);
    RUN_UNTIL(w, system(path) != 0);
    assert_false(is_there(w, "local/nmPrivate"));
    assert_true(is_there(w, "local/other"));
}

static void test_bad_directories(void **state)
{
    struct world *w = *state;
    char *message = NULL;

    w->launcher = nm_yarn_launcher_free(w->launcher);
    assert_int_equal(fchmodat(w->root_fd, "logs", 0777, 0), 0);
    assert_int_equal(try_start(w, &message), -ENOTDIR);
    assert_non_null(strstr(message, "not root's or nmd's alone"));
    free(message);
    assert_int_equal(fchmodat(w->root_fd, "logs", 0755, 0), 0);
    assert_int_equal(fchmodat(w->root_fd, ".", 0777, 0), 0);
    assert_int_equal(try_start(w, &message), -ENOTDIR);
    free(message);
}

static void set_retry(struct world *w, int32_t policy, int32_t max, int32_t code)
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

static unsigned attempts(struct world *w, int expected)
{
    unsigned n = 0;

    (void)unlinkat(w->root_fd, WORK_DIR "/attempts", 0);
    assert_int_equal(run(w), expected);
    for (const char *p = text_of(w, WORK_DIR "/attempts"); *p; p++)
        n += *p == '\n';
    return n;
}

static void test_retries(void **state)
{
    struct world *w = *state;
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
        cmocka_unit_test_setup_teardown(test_ready, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_environment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tokens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_localization_counters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_resources, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_user, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_afterwards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_last_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_users, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_directories, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_retries, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
