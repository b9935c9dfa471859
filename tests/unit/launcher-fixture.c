/* SPDX-License-Identifier: Apache-2.0 */

/* See launcher-fixture.h. */

#include "launcher-fixture.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>

#include "tests/unit/remove-tree.h"
#include "util/fileio.h"

/* ---- the fixture -------------------------------------------------------------------------- */

struct nm_yarn_settings *read_settings(struct fixture *w, const char *more)
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

char reported[600];

static void on_reported(int level, const char *sentence)
{
    assert_true(level == LOG_WARNING || level == LOG_NOTICE);
    (void)snprintf(reported, sizeof reported, "%s", sentence);
}

char last_event[600];
unsigned n_happened;

static void on_event(int level, const char *sentence, void *userdata)
{
    (void)userdata;
    assert_true(level == LOG_WARNING || level == LOG_NOTICE);
    (void)snprintf(last_event, sizeof last_event, "%s", sentence);
    n_happened++;
}

int try_start(struct fixture *w, char **ret_message)
{
    char program[] = "./nm-localizer"; /* as in nmd, it isn't valid any more when a directory is opened later */
    const struct nm_yarn_launcher_params params = {
        .event = w->event, .settings = w->settings, .localizer_program = program, .shim_program = NM_TEST_SHIM,
        .state_dir = w->state, .report_cb = on_reported, .on_event = on_event};
    int r;

    (void)snprintf(w->state, sizeof w->state, "%s/state", w->root);
    r = nm_yarn_launcher_new(&params, &w->launcher, ret_message);
    memset(program, 0, sizeof program);
    return r;
}

void start(struct fixture *w, const char *more)
{
    char *message = NULL;

    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)nm_yarn_settings_free(w->settings);
    w->settings = read_settings(w, more);
    if (try_start(w, &message) < 0)
        fail_msg("%s", message ?: "no message");
    nm_yarn_launcher_allow_removals(w->launcher);
}

int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);
    const struct passwd *pw;

    assert_non_null(w);
    (void)umask(077); /* as in nmd */
    w->local_dir = "local";
    w->log_dir = "logs";
    w->service_size = 4;
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

int tear_down(void **state)
{
    struct fixture *w = *state;

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

bool exists(const struct fixture *w, const char *name)
{
    return faccessat(w->root_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void check_mode(const struct fixture *w, const char *name, uid_t uid, mode_t mode)
{
    struct stat st;

    if (fstatat(w->root_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        fail_msg("%s doesn't exist", name);
    if (st.st_uid != uid || (st.st_mode & 07777) != mode)
        fail_msg("%s has the owner %u and the mode %o", name, st.st_uid, st.st_mode & 07777);
}

const char *text_of(const struct fixture *w, const char *name)
{
    static char text[16384];

    text[0] = '\0';
    (void)nm_read_file_at(w->root_fd, name, text, sizeof text, NULL);
    return text;
}

/* ---- requests ----------------------------------------------------------------------------- */

void add_file(struct fixture *w, const char *key, const char *name, const char *text, int32_t visibility)
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

void set_command(struct fixture *w, const char *command)
{
    char **words = nm_arena_alloc(&w->arena, sizeof *words);

    words[0] = (char *)command;
    w->context.command = words;
    w->context.n_command = 1;
}

void set_variable(struct fixture *w, const char *name, const char *value)
{
    Yarn__Text *t = nm_arena_alloc(&w->arena, sizeof *t), **list = nm_arena_alloc(&w->arena, sizeof *list);

    yarn__text__init(t);
    t->key = (char *)name;
    t->value = (char *)value;
    list[0] = t;
    w->context.environment = list;
    w->context.n_environment = 1;
}

static void on_progress(struct nm_yarn_preparation *p, const char *text, void *userdata)
{
    struct owner *o = userdata;

    assert_ptr_equal(p, o->p);
    (void)snprintf(o->progress, sizeof o->progress, "%s", text);
}

static void on_ended(struct nm_yarn_preparation *p, int result, const char *message, void *userdata)
{
    struct owner *o = userdata;

    assert_ptr_equal(p, o->p);
    o->ended++;
    o->result = result;
    (void)snprintf(o->message, sizeof o->message, "%s", message ?: "");
}

int try_to_prepare(struct fixture *w, struct owner *o, enum way way)
{
    static uint8_t reported_by_service[4000] = {0, 0, 0x34, 0xfa};
    const struct nm_yarn_preparation_listener listener = {.progress = on_progress, .ended = on_ended, .userdata = o};
    Yarn__Data service = YARN__DATA__INIT, *services[] = {&service};
    char local[PATH_MAX], logs[PATH_MAX];
    struct nm_yarn_task task = {
        .application = APPLICATION, .container = CONTAINER, .user = w->user, .submitter = "alice@corp$",
        .dirs = {local, logs}, .context = w->other ?: &w->context, .node_host = "node.example", .node_port = 8041,
        .web_port = 8042, .services = services, .n_services = 1};

    (void)snprintf(local, sizeof local, "%s/%s", w->root, w->local_dir);
    (void)snprintf(logs, sizeof logs, "%s/%s", w->root, w->log_dir);
    service.key = (char *)"mapreduce_shuffle";
    service.value = (ProtobufCBinaryData){w->service_size, reported_by_service};
    *o = (struct owner){0};
    if (way == LINK)
        return nm_yarn_launcher_localize(w->launcher, &task, &listener, &o->p);
    return way == RETAIN ? nm_yarn_launcher_retain(w->launcher, &task, &listener, &o->p)
                         : nm_yarn_launcher_prepare(w->launcher, &task, &listener, &o->p);
}

void prepare_so(struct fixture *w, struct owner *o, enum way way)
{
    assert_int_equal(try_to_prepare(w, o, way), 0);
    assert_int_equal(o->ended, 0);
}

void prepare(struct fixture *w, struct owner *o)
{
    prepare_so(w, o, MAKE);
}

void prepare_all(struct fixture *w, struct owner *o)
{
    prepare(w, o);
    RUN_UNTIL(w, o->ended);
}

void give_back(struct owner *o)
{
    o->p = nm_yarn_preparation_free(o->p);
}

int run(struct fixture *w)
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

bool has_line(const char *text, const char *line)
{
    size_t size = strlen(line);

    for (const char *at = text; (at = strstr(at, line)); at++)
        if ((at == text || at[-1] == '\n') && at[size] == '\n')
            return true;
    print_message("no line '%s' in:\n%s", line, text);
    return false;
}
