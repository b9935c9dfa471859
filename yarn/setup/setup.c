/* SPDX-License-Identifier: Apache-2.0 */

/* See setup.h. The order of the setup is: determine the facts, make the plan, make the changes, print the output. The
 * output says whether the changes were made. */

#include "yarn/setup/setup.h"

#include <limits.h>
#include <stdarg.h>

#include "util/fileio.h"
#include "yarn/setup/facts.h"
#include "yarn/setup/files.h"
#include "yarn/setup/plan.h"
#include "yarn/setup/print.h"
#include "yarn/setup/undo.h"
#include "yarn/setup/unit.h"

#define UNIT_DIR "/etc/systemd/system/nmd.service.d"
#define ARENA_MAX ((size_t)8 << 20)

static const char *const nothing_more[] = {NULL};

struct setup {
    struct nm_arena arena;
    struct nm_setup_request request;
    char root[PATH_MAX]; /* real path of the root directory; "": the root directory of this host */
};

static void setup_done(struct setup *s)
{
    nm_arena_done(&s->arena);
}

static int take_path(const char *option, const char *path, struct nm_arena *a, const char **ret, char **ret_message)
{
    const char *normal = nm_setup_path_normalize(a, path);

    if (!normal)
        return -ENOMEM;
    if (!nm_setup_is_plain(normal))
        return nm_fail(ret_message, -EINVAL,
                       "%s '%s': must be an absolute path of letters, digits and characters of '/._+@-' without a "
                       "part '..', because it is written to files", option, path);
    *ret = normal;
    return 0;
}

static int read_request(const struct nm_yarn_setup_params *p, struct setup *s, char **ret_message)
{
    const char *config = NULL, *state = NULL, *conf = NULL;
    struct nm_setup_net nets[2];
    int r = take_path("--yarn-setup", p->conf_dir, &s->arena, &conf, ret_message);

    if (r == 0)
        r = take_path("--config", p->config_path, &s->arena, &config, ret_message);
    if (r == 0)
        r = take_path("--state-dir", p->state_dir, &s->arena, &state, ret_message);
    for (size_t i = 0; r == 0 && p->allow && p->allow[i]; i++)
        if (nm_setup_net_parse(p->allow[i], nets) == 0)
            return nm_fail(ret_message, -EINVAL,
                           "--allow '%s': must be an address or a network, such as 10.1.0.0/16, without leading zeros "
                           "in its parts", p->allow[i]);
    if (r < 0)
        return r;
    s->request = (struct nm_setup_request){
        .root = s->root,
        .conf_dir = conf,
        .config_path = nm_arena_print(&s->arena, "%s.d/50-yarn.conf", config),
        .unit_path = UNIT_DIR "/50-yarn.conf",
        .state_dir = state,
        .manifest_path = nm_arena_print(&s->arena, "%s/yarn-setup", state),
        .java_home = p->java_home,
        .allow = p->allow ?: nothing_more,
        .holder = p->holder,
        .progress = p->progress,
    };
    return s->request.config_path && s->request.manifest_path ? 0 : -ENOMEM;
}

/* Returns the text with an option added at the end. NULL: no memory. */
static const char *add_option(struct nm_arena *a, const char *text, const char *option, const char *root,
                              const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+@-,:%";
    const char *quoted = "";

    if (!text)
        return NULL;
    if (root[strspn(root, plain)] == '\0') /* the path itself needs no quotes, because its characters were checked */
        return nm_arena_print(a, "%s %s %s%s", text, option, root, path);
    for (const char *p = root; quoted && *p; p++)
        quoted = *p == '\'' ? nm_arena_print(a, "%s'\\''", quoted) : nm_arena_print(a, "%s%c", quoted, *p);
    return quoted ? nm_arena_print(a, "%s %s '%s%s'", text, option, quoted, path) : NULL;
}

/* Stores the options that other commands need for this setup. With --root, --check-config needs all paths, because it
 * uses the paths of this host. */
static int note_options(struct setup *s, const char *config, const char *state)
{
    const bool has_root = *s->root, own_config = !nm_streq(config, NM_SYSCONFDIR "/nmd/nmd.conf"),
               own_state = !nm_streq(state, NM_LOCALSTATEDIR "/lib/nmd");
    const char *options = "", *check = "", *run = "";

    if (has_root) {
        options = add_option(&s->arena, options, "--root", s->root, "");
        check = add_option(&s->arena, options, "--yarn-conf", s->root, s->request.conf_dir);
    }
    if (own_config)
        options = add_option(&s->arena, options, "--config", "", config);
    if (own_state)
        options = add_option(&s->arena, options, "--state-dir", "", state);
    if (has_root || own_config)
        check = add_option(&s->arena, check, "--config", s->root, config);
    if (has_root || own_state)
        check = add_option(&s->arena, check, "--state-dir", s->root, state);
    if (own_config)
        run = add_option(&s->arena, run, "--config", "", config);
    if (own_state)
        run = add_option(&s->arena, run, "--state-dir", "", state);
    s->request.options = options;
    s->request.check_options = check;
    s->request.run_options = run;
    return options && check && run ? 0 : -ENOMEM;
}

/* Removes the root directory from the start of conf_dir, because the advice of --check-config must name the cluster's
 * files as that host does. */
static void cut_root(struct setup *s)
{
    if (*s->root && nm_setup_is_above(s->root, s->request.conf_dir))
        s->request.conf_dir += strlen(s->root);
}

static int begin(const struct nm_yarn_setup_params *p, struct setup *s, char **ret_message)
{
    int r = read_request(p, s, ret_message);

    if (r < 0)
        return r;
    if (p->root && !realpath(p->root, s->root))
        return nm_fail(ret_message, -errno, "can't use --root '%s': %s", p->root, strerror(errno));
    if (nm_streq(s->root, "/"))
        s->root[0] = '\0';
    return note_options(s, p->config_path, p->state_dir);
}

/* Resolves the path of the directory of the cluster's files. Links in the part below the root directory are resolved
 * within the root directory. */
static int find_conf_dir(const struct setup *s, char ret[PATH_MAX], char **ret_message)
{
    _cleanup_close_ int root = RET_NERRNO(open(*s->root ? s->root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    _cleanup_close_ int fd = root < 0 ? root : nm_open_in_root(root, s->request.conf_dir, O_PATH | O_DIRECTORY);
    char link[40];
    ssize_t n;

    if (fd < 0)
        return nm_fail(ret_message, fd, "can't read the cluster's files: %s%s: %s", s->root, s->request.conf_dir,
                       strerror(-fd));
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, ret, PATH_MAX - 1);
    if (n < 0)
        return -errno;
    ret[n] = '\0';
    return 0;
}

static int decide(struct setup *s, const struct nm_yarn_settings *settings, struct nm_setup_facts *f,
                  struct nm_setup_plan *plan, char **ret_message)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_setup_facts_gather(&s->request, settings, &s->arena, f, &message);

    if (r < 0 && r != -ENOMEM && !message)
        return nm_fail(ret_message, r, "can't examine this host: %s", strerror(-r));
    if (r < 0 && ret_message)
        *ret_message = STEAL_PTR(message);
    if (r < 0)
        return r;
    return nm_setup_plan_make(&s->request, settings, f, &s->arena, plan);
}

int nm_yarn_setup(const struct nm_yarn_setup_params *p, FILE *out, char **ret_message)
{
    _cleanup_(setup_done) struct setup s = {};
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *settings = NULL;
    struct nm_setup_service service;
    struct nm_setup_facts facts;
    struct nm_setup_plan plan;
    char dir[PATH_MAX];
    int r;

    nm_arena_init(&s.arena, ARENA_MAX, NULL);
    r = begin(p, &s, ret_message);
    if (r == 0)
        r = find_conf_dir(&s, dir, ret_message);
    if (r == 0)
        r = nm_yarn_settings_load(dir, p->warn, p->userdata, &settings, ret_message);
    if (r == 0)
        r = decide(&s, settings, &facts, &plan, ret_message);
    if (r < 0)
        return r;
    service = nm_setup_service_examine(&s.request);
    r = p->is_dry ? nm_setup_act_check(&s.request, &plan, ret_message)
                  : nm_setup_act(&s.request, &facts, &plan, &s.arena, ret_message);
    nm_setup_print(out, &s.request, &facts, &service, &plan, !p->is_dry && r == 0);
    return r == 0 && plan.n_left > 0 ? -EEXIST : r;
}

int nm_yarn_setup_undo(const struct nm_yarn_setup_params *p, FILE *out, char **ret_message)
{
    _cleanup_(setup_done) struct setup s = {};
    struct nm_setup_manifest manifest = {};
    struct nm_setup_remaining *left = NULL;
    struct nm_setup_service service;
    struct nm_setup_undo undo = {};
    const char *path = NULL;
    int r;

    nm_arena_init(&s.arena, ARENA_MAX, NULL);
    r = begin(p, &s, ret_message);
    if (r == 0 && !(path = nm_arena_print(&s.arena, "%s%s", s.root, s.request.manifest_path)))
        r = -ENOMEM;
    if (r == 0)
        r = nm_setup_manifest_load(&s.arena, path, &manifest, ret_message);
    if (r == 0)
        r = nm_setup_undo_examine(s.root, &manifest, &s.arena, &left, ret_message);
    if (r == 0)
        r = nm_setup_undo_plan(&manifest, left, geteuid(), getegid(), s.request.manifest_path, &s.arena, &undo);
    if (r < 0)
        return r;
    service = nm_setup_service_examine(&s.request);
    if (manifest.conf_dir)
        r = (p->is_dry ? nm_setup_undo_check : nm_setup_undo_act)(s.root, &undo, s.request.manifest_path, ret_message);
    nm_setup_print_undo(out, &s.request, &service, &manifest, &undo, !p->is_dry && r == 0);
    return r == 0 && undo.kept.n > 0 ? -EEXIST : r;
}

/* ---- missing parts ------------------------------------------------------------------------ */

nm_printf(2, 3) static void warn(const struct nm_yarn_setup_params *p, const char *format, ...)
{
    char text[2800];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    p->warn(text, p->userdata);
}

static void check_hosts(const struct nm_yarn_setup_params *p, const struct nm_setup_facts *f,
                        const struct nm_setup_unit *u)
{
    for (size_t i = 0; i < f->n_hosts; i++) {
        const struct nm_setup_host *h = &f->hosts[i];
        char name[200], why[400];

        nm_yarn_conf_printable(h->name, name, sizeof name);
        for (size_t k = 0; k < h->n_addresses; k++)
            if (!nm_setup_unit_allows(u, h->addresses[k]))
                warn(p, "nmd.service doesn't permit nmd to connect to the %s %s: its address %s is in no "
                     "IPAddressAllow= of a drop-in", nm_setup_role(h->role), name, h->addresses[k]);
        if (h->unresolved == 0 && nm_setup_why_unreached(f, h, why, sizeof why)) /* the advice has the others */
            warn(p, "%s %s:%u: %s", nm_setup_role(h->role), name, h->port, why);
    }
}

static bool is_of_settings(const struct nm_setup_facts *f, const char *path)
{
    for (size_t i = 0; i < f->n_dirs; i++)
        if (nm_streq(f->dirs[i].path, path))
            return true;
    return false;
}

static void check_dirs(const struct nm_yarn_setup_params *p, const struct nm_setup_facts *f,
                       const struct nm_setup_plan *plan, const struct nm_setup_unit *u)
{
    for (size_t i = 0; i < f->n_dirs; i++)
        if (!nm_setup_unit_writes(u, f->dirs[i].path))
            warn(p, "nmd.service can't write to the directory %s: it is protected (ProtectSystem=) and in no "
                 "ReadWritePaths= of a drop-in", f->dirs[i].path);
    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct nm_setup_step *s = &plan->steps[i];

        if (!s->is_dir || nm_streq(s->path, p->state_dir))
            continue;
        if (s->act == NM_SETUP_CHANGE)
            warn(p, "the directory %s has owner %u:%u and mode %04o, but only root may be able to write to it",
                 s->path, s->old_uid, s->old_gid, (unsigned)s->old_mode);
        else if (s->act == NM_SETUP_LEAVE)
            warn(p, "can't use the directory %s: %s", s->path, s->why);
        else if (s->act == NM_SETUP_MAKE && is_of_settings(f, s->path))
            warn(p, "the directory %s doesn't exist", s->path);
    }
}

/* Checks that a drop-in sets the variables that jobs need. If no value was found for a variable, the advice mentions
 * it. JAVA_HOME is checked in any case, because a drop-in may set any path. */
static int check_environment(const struct nm_yarn_setup_params *p, const struct setup *s,
                             const struct nm_yarn_settings *settings, const struct nm_setup_facts *f,
                             const struct nm_setup_unit *u)
{
    _cleanup_free_ char *names = NULL;

    if (!u->has[NM_SETUP_JAVA_HOME])
        warn(p, "JAVA_HOME isn't set for containers: no drop-in of nmd.service has Environment=JAVA_HOME=...%s%s",
             f->java_home ? "; Java is in " : "", f->java_home ?: "");
    for (enum nm_setup_variable v = NM_SETUP_JAVA_HOME + 1; v < NM_SETUP_N_VARIABLES; v++) {
        const char *value = nm_setup_value_of(v, &s->request, settings, f);
        char *more;

        if (u->has[v] || !value)
            continue;
        if (asprintf(&more, "%s%s%s=%s", names ?: "", names ? " " : "", nm_setup_variables[v], value) < 0)
            return -ENOMEM;
        free(names);
        names = more;
    }
    if (names)
        warn(p, "variables that jobs use aren't set for containers: no drop-in of nmd.service has Environment=%s",
             names);
    return 0;
}

/* Returns whether --check-config must also print advice on this subject. */
static bool is_missing(enum nm_setup_subject subject, const struct nm_setup_unit *u)
{
    switch (subject) {
    case NM_SETUP_PROBLEM:
        return true;
    case NM_SETUP_NETWORK:
        return !nm_setup_unit_has_network(u);
    case NM_SETUP_JAVA:
        return !u->has[NM_SETUP_JAVA_HOME];
    case NM_SETUP_HADOOP:
        return !u->has[NM_SETUP_HADOOP_HOME];
    case NM_SETUP_REMINDER:
        break;
    }
    return false;
}

int nm_yarn_setup_check(const struct nm_yarn_setup_params *p, const struct nm_yarn_settings *settings)
{
    _cleanup_(setup_done) struct setup s = {};
    _cleanup_(nm_setup_unit_freep) struct nm_setup_unit *unit = calloc(1, sizeof *unit);
    _cleanup_free_ char *message = NULL, *dir = NULL;
    struct nm_setup_facts f;
    struct nm_setup_plan plan;
    int r;

    nm_arena_init(&s.arena, ARENA_MAX, NULL);
    r = unit ? begin(p, &s, &message) : -ENOMEM;
    if (r == 0)
        cut_root(&s);
    if (r == 0 && asprintf(&dir, "%s" UNIT_DIR, s.root) < 0) {
        dir = NULL;
        r = -ENOMEM;
    }
    if (r == 0)
        r = decide(&s, settings, &f, &plan, &message);
    if (r < 0) {
        warn(p, "can't check this host: %s", message ?: strerror(-r));
        return r == -ENOMEM ? r : 0;
    }
    r = nm_setup_unit_read(dir, unit);
    if (r < 0)
        return r;
    check_hosts(p, &f, unit);
    check_dirs(p, &f, &plan, unit);
    r = check_environment(p, &s, settings, &f, unit);
    for (size_t i = 0; r == 0 && i < plan.n_advice; i++)
        if (is_missing(plan.advice[i].subject, unit))
            warn(p, "%s", plan.advice[i].text);
    return r;
}
