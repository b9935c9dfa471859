/* SPDX-License-Identifier: Apache-2.0 */

/*
 * main() of the daemon: argv, configuration, manager, interface, sd_notify, loop. The one file that
 * knows every folder. Containers outlive it: leaving the loop ends nmd, never them.
 */

#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <systemd/sd-daemon.h>

#include "agent/agent.h"
#include "agent/daemon.h"
#include "agent/status.h"
#include "agent/instance.h"
#include "rpc/local/listen.h"
#include "rpc/local/server.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/inherited.h"
#include "util/log.h"
#include "util/refusals.h"
#include "yarn/setup/command.h"
#include "yarn/yarn.h"

struct options {
    const char *config, *socket, *state_dir, *runtime_dir, *slice, *shim, *node_proc, *record, *yarn_conf;
    struct nm_yarn_setup_options setup;
    enum nm_cgroup_backend_kind backend;
    bool check_config, config_given, state_given;
    int listen_fd; /* what systemd listens on for us, or negative */
};

struct daemon {
    struct nm_manager *manager;
    struct nm_local_server *server;
    struct nm_yarn_settings *yarn_settings; /* or NULL, as the next; the node's, once there is one */
    struct nm_yarn *yarn;
    bool signs_off; /* from the cluster, before nmd ends */
    char paths[4][PATH_MAX];
};

static void usage(void)
{
    puts("Usage: nmd [OPTION]...\n"
         "Run containers on this node: guaranteed ones as promised, opportunistic ones in what "
         "those leave unused.\n"
         "\n"
         "  -c, --config FILE       configuration, with drop-ins in FILE.d/ (default " NM_SYSCONFDIR
         "/nmd/nmd.conf)\n"
         "  -s, --socket PATH       where nmctl finds it (default RUNTIME-DIR/nmd.sock)\n"
         "      --state-dir DIR     journal, logs and container records (default /var/lib/nmd)\n"
         "      --runtime-dir DIR   socket, and what lasts no longer than a boot (default /run/nmd)\n"
         "      --backend KIND      auto, systemd or direct (default auto)\n"
         "      --slice NAME        slice that holds the containers (default nm.slice)\n"
         "      --shim PATH         the nm-shim program (default: beside nmd, then " NM_LIBEXECDIR
         ")\n"
         "      --node-proc DIR     read the node's meminfo, stat and pressure below DIR (default "
         "/proc)\n"
         "      --yarn-conf DIR     be a node of the YARN cluster whose configuration is in DIR\n"
         NM_YARN_SETUP_USAGE
         "      --record FILE       write a trace of all that happens, for nmsim\n"
         "      --check-config      print what a start would refuse on this node, and exit\n"
         "      --log-level LEVEL   err, warning, notice, info or debug (default info)\n"
         "  -h, --help              this text\n"
         "  -V, --version           the version\n"
         "\n"
         "Signals: HUP reads the configuration again; TERM and INT end nmd, not the containers.");
}

static int parse_backend(const char *s, enum nm_cgroup_backend_kind *ret)
{
    static const char *const names[] = {
        [NM_CGROUP_BACKEND_AUTO] = "auto",
        [NM_CGROUP_BACKEND_SYSTEMD] = "systemd",
        [NM_CGROUP_BACKEND_DIRECT] = "direct",
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++)
        if (nm_streq(s, names[i])) {
            *ret = (enum nm_cgroup_backend_kind)i;
            return 0;
        }
    fprintf(stderr, "nmd: --backend '%s': it must be auto, systemd or direct\n", s);
    return -EINVAL;
}

static int parse_log_level(const char *s)
{
    int level, r = nm_log_level_from_string(s, &level);

    if (r < 0)
        fprintf(stderr, "nmd: --log-level '%s': it must be err, warning, notice, info or debug\n",
                s);
    else
        nm_log_set_level(level);
    return r;
}

static bool slice_is_valid(const char *s)
{
    size_t n = strlen(s);

    /* '-' in a slice's name means nesting to systemd. */
    return n > 6 && n < 64 && nm_streq(s + n - 6, ".slice") &&
           strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == n - 6;
}

enum {
    OPT_STATE = 256,
    OPT_RUNTIME,
    OPT_BACKEND,
    OPT_SLICE,
    OPT_SHIM,
    OPT_NODE_PROC,
    OPT_RECORD,
    OPT_YARN_CONF,
    OPT_CHECK,
    OPT_LEVEL
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"socket", required_argument, NULL, 's'},
    {"state-dir", required_argument, NULL, OPT_STATE},
    {"runtime-dir", required_argument, NULL, OPT_RUNTIME},
    {"backend", required_argument, NULL, OPT_BACKEND},
    {"slice", required_argument, NULL, OPT_SLICE},
    {"shim", required_argument, NULL, OPT_SHIM},
    {"node-proc", required_argument, NULL, OPT_NODE_PROC},
    {"record", required_argument, NULL, OPT_RECORD},
    {"yarn-conf", required_argument, NULL, OPT_YARN_CONF},
    NM_YARN_SETUP_LONG_OPTIONS,
    {"check-config", no_argument, NULL, OPT_CHECK},
    {"log-level", required_argument, NULL, OPT_LEVEL},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

/* What an option says is checked here if it can be without a node; the rest fails in start(), with
 * the reason. */
static int parse_option(int c, struct options *o)
{
    switch (c) {
    case 'c':
        o->config = optarg;
        o->config_given = true;
        return 0;
    case 's':
        o->socket = optarg;
        return 0;
    case OPT_STATE:
        o->state_dir = optarg;
        o->state_given = true;
        return 0;
    case OPT_RUNTIME:
        o->runtime_dir = optarg;
        return 0;
    case OPT_BACKEND:
        return parse_backend(optarg, &o->backend);
    case OPT_SLICE:
        o->slice = optarg;
        if (slice_is_valid(optarg))
            return 0;
        fprintf(stderr,
                "nmd: --slice '%s': it must be letters, digits and '_' followed by .slice, 63 "
                "characters at most\n",
                optarg);
        return -EINVAL;
    case OPT_SHIM:
        o->shim = optarg;
        return 0;
    case OPT_NODE_PROC:
        o->node_proc = optarg;
        return 0;
    case OPT_RECORD:
        o->record = optarg;
        return 0;
    case OPT_YARN_CONF:
        o->yarn_conf = optarg;
        return 0;
    case OPT_CHECK:
        o->check_config = true;
        return 0;
    case OPT_LEVEL:
        return parse_log_level(optarg);
    case 'h':
        usage();
        exit(EXIT_SUCCESS);
    case 'V':
        puts("nmd " NM_VERSION);
        exit(EXIT_SUCCESS);
    default:
        fputs("Try 'nmd --help'.\n", stderr);
        return -EINVAL;
    }
}

static int parse_argv(int argc, char **argv, struct options *o)
{
    int c, r;

    while ((c = getopt_long(argc, argv, "c:s:hV", long_options, NULL)) >= 0) {
        r = nm_yarn_setup_take(c, optarg, &o->setup);
        if (r > 0)
            r = parse_option(c, o);
        if (r < 0)
            return r;
    }
    if (nm_yarn_setup_options_check(&o->setup, o->check_config) < 0)
        return -EINVAL;
    if (optind < argc) {
        fprintf(stderr, "nmd: '%s': nmd takes options only. Try 'nmd --help'.\n", argv[optind]);
        return -EINVAL;
    }
    return 0;
}

/* ---- paths --------------------------------------------------------------- */

/* The option, else the system's place, else for a user one below the variable that names the user's
 * own. */
static const char *fill_path(char buf[PATH_MAX], const char *given, const char *root_default,
                             const char *variable, const char *fallback)
{
    const char *base = getenv(variable);

    if (given)
        return given;
    if (geteuid() == 0)
        return root_default;
    /* A user's own nmd keeps to the user's directories. */
    if (base && *base)
        (void)snprintf(buf, PATH_MAX, "%s/nmd", base);
    else
        (void)snprintf(buf, PATH_MAX, "%s/nmd-%u", fallback, geteuid());
    return buf;
}

/* From a build tree nmd's other programs lie beside it; installed ones are found where they were
 * installed. */
static const char *find_program(const char *name, char buf[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", buf, PATH_MAX - 1);
    char *slash;

    if (n > 0) {
        buf[n] = '\0';
        slash = strrchr(buf, '/');
        if (slash && (size_t)(slash - buf) + strlen(name) + 2 <= PATH_MAX) {
            strcpy(slash + 1, name);
            if (access(buf, X_OK) == 0)
                return buf;
        }
    }
    (void)snprintf(buf, PATH_MAX, NM_LIBEXECDIR "/%s", name);
    return buf;
}

static void fill_defaults(struct daemon *d, struct options *o)
{
    o->config = o->config ? o->config : NM_SYSCONFDIR "/nmd/nmd.conf";
    o->slice = o->slice ? o->slice : "nm.slice";
    o->node_proc = o->node_proc ? o->node_proc : "/proc";
    o->state_dir = fill_path(d->paths[0], o->state_dir, NM_LOCALSTATEDIR "/lib/nmd",
                             "XDG_STATE_HOME", "/var/tmp");
    o->runtime_dir = fill_path(d->paths[1], o->runtime_dir, "/run/nmd", "XDG_RUNTIME_DIR", "/tmp");
    o->shim = o->shim ? o->shim : find_program("nm-shim", d->paths[2]);
    if (!o->socket) {
        (void)snprintf(d->paths[3], PATH_MAX, "%.4080s/nmd.sock", o->runtime_dir);
        o->socket = d->paths[3];
    }
}

/* A directory that was there already stays as it is. */
static void check_way_to_socket(const struct options *o, mode_t socket_mode)
{
    _cleanup_free_ char *dir = strdup(o->socket);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    struct stat st;

    if (!slash || !(socket_mode & 0006))
        return;
    slash[slash == dir] = '\0';
    if (stat(dir, &st) == 0 && !(st.st_mode & 0001))
        nm_warning("socket-mode = %04o lets every user in, but %s (mode %04o) doesn't let them through to the "
                   "socket; chmod o+x does",
                   (unsigned)socket_mode, dir, (unsigned)st.st_mode & 07777);
}

static void raise_file_limit(void)
{
    struct rlimit rl;

    /* About six descriptors a container, and one a client. */
    if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
        rl.rlim_cur = rl.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &rl);
    }
}

/* On a node in trouble nmd must be heard among its containers. They don't inherit this:
 * reset-on-fork takes a raised priority off every child, whether it was raised here or by the
 * unit's Nice=. Under RestrictRealtime= the flag is refused, and the shim takes it off itself. Where
 * the rest isn't allowed, nothing is lost. */
static void raise_priority(void)
{
    const struct sched_param zero = {0};

    (void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &zero);
    (void)setpriority(PRIO_PROCESS, 0, -10);
    /* With autogroups nice counts inside a session only; a session of our own may be raised as a whole. */
    if (getsid(0) == getpid())
        (void)nm_write_file_at(AT_FDCWD, "/proc/self/autogroup", "-10");
}

/* ---- signals ------------------------------------------------------------- */

static int on_hup(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
    struct daemon *d = userdata;
    struct nm_problem problem;

    (void)s, (void)si;
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
                     (unsigned long long)nm_clock_usec(CLOCK_MONOTONIC));
    (void)nm_manager_reload(d->manager, &problem); /* logs what was wrong; the old settings stay */
    (void)sd_notify(0, "READY=1");
    return 0;
}

static void leave_loop(void *userdata)
{
    (void)sd_event_exit(userdata, 0);
}

/* SIGTERM and SIGINT end nmd, at once or when the cluster has heard of it. */
static int on_term(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
    struct daemon *d = userdata;
    sd_event *event = sd_event_source_get_event(s);

    (void)si;
    d->signs_off = d->yarn && nm_yarn_leave(d->yarn, leave_loop, event);
    if (!d->signs_off)
        leave_loop(event);
    return 0;
}

/* The children of nmd are watched through pidfds; blocked, their SIGCHLD interrupts nothing. A
 * client that hangs up is told by write(), and not by SIGPIPE. */
static int watch_signals(sd_event *event, struct daemon *d)
{
    sigset_t mask;
    int r;

    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return -errno;
    r = sd_event_add_signal(event, NULL, SIGTERM, on_term, d);
    if (r >= 0)
        r = sd_event_add_signal(event, NULL, SIGINT, on_term, d);
    return r < 0 ? r : sd_event_add_signal(event, NULL, SIGHUP, on_hup, d);
}

/* ---- run ----------------------------------------------------------------- */

/* "can't start: ...", or what else can't be done, for each line of the message. Returns r. */
static int refuse(const char *what, int r, const char *message)
{
    const char *p = r < 0 ? message ?: strerror(-r) : "";

    for (size_t n; *p; p += n + (p[n] == '\n')) {
        n = strcspn(p, "\n");
        nm_err("%s: %.*s", what, (int)n, p);
    }
    return r;
}

#define NO_START "can't start"
#define NO_SERVER "can't open the local interface"
#define NO_NODE "can't be a node of a YARN cluster"
#define NO_CONFIG "the configuration is refused"

/* A file that was named must be there; the usual one may be missing, and then the defaults hold. */
static int load_files(const struct options *o, const struct nm_config_default *defaults, struct nm_config **ret)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_config_load(o->config, o->config_given, defaults, ret, &message);

    return refuse(NO_CONFIG, r, message);
}

static void tell_yarn(int level, const char *sentence)
{
    nm_log(level, "YARN: %s", sentence);
}

static void warn_of_yarn(const char *sentence, void *userdata)
{
    (void)userdata;
    tell_yarn(LOG_WARNING, sentence);
}

static int load_yarn(struct daemon *d, const struct options *o, const struct nm_config *c)
{
    const char *dir = o->yarn_conf ? o->yarn_conf : c->yarn_conf_dir;
    _cleanup_free_ char *message = NULL;
    int r;

    r = nm_yarn_settings_load(dir, warn_of_yarn, NULL, &d->yarn_settings, &message);
    return refuse(NO_NODE, r, message);
}

/* nmd's own files say whether a cluster's are read, and go before them then. */
static int load_config(struct daemon *d, const struct options *o, struct nm_config **ret)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    int r = load_files(o, NULL, &c);

    if (r >= 0 && (o->yarn_conf || c->yarn)) {
        r = load_yarn(d, o, c);
        if (r >= 0) {
            c = nm_config_free(c);
            r = load_files(o, d->yarn_settings->defaults, &c);
        }
    }
    if (r >= 0)
        *ret = STEAL_PTR(c);
    return r;
}

static struct nm_manager_params manager_params(struct daemon *d, sd_event *event, const struct options *o,
                                               struct nm_config *config)
{
    return (struct nm_manager_params){
        .event = event,
        .config = config,
        .config_path = o->config,
        .config_must_exist = o->config_given,
        .config_defaults = d->yarn_settings ? d->yarn_settings->defaults : NULL,
        .state_dir = o->state_dir,
        .runtime_dir = o->runtime_dir,
        .slice = o->slice,
        .backend = o->backend,
        .shim_path = o->shim,
        .proc_root = "/proc",
        .node_proc_root = o->node_proc,
    };
}

static int make_manager(struct daemon *d, sd_event *event, const struct options *o,
                        struct nm_config *config)
{
    _cleanup_free_ char *message = NULL;
    struct nm_manager_params p = manager_params(d, event, o, config);
    int r = nm_manager_new(&p, &d->manager, &message);

    return refuse(NO_START, r, message);
}

static struct nm_local_server_params server_params(const struct options *o, const struct nm_config *c)
{
    return (struct nm_local_server_params){.socket_path = o->socket, .listen_fd = o->listen_fd,
                                           .socket_mode = c->socket_mode, .admin_group = c->admin_group,
                                           .http_address = c->http_address, .http_hosts = c->http_hosts};
}

static int make_server(struct daemon *d, sd_event *event, const struct options *o)
{
    const struct nm_config *c = nm_manager_config(d->manager);
    _cleanup_free_ char *message = NULL;
    struct nm_local_server_params p = server_params(o, c);
    int r = nm_local_server_new(event, d->manager, &p, &d->server, &message);

    if (r >= 0 && p.listen_fd < 0)
        check_way_to_socket(o, c->socket_mode);
    return refuse(NO_SERVER, r, message);
}

struct yarn_parts {
    char localizer[PATH_MAX], shuffle[PATH_MAX];
    struct sockaddr_storage http;
};

/* Where nmd serves HTTP: by the configuration c for --check-config, which starts no server; c is NULL at a start, and
 * the server knows its address. */
static bool find_http(const struct daemon *d, const struct nm_config *c, struct sockaddr_storage *ret)
{
    if (c)
        return *c->http_address && nm_listen_parse_tcp(c->http_address, ret) == 0;
    return d->server && nm_local_server_tcp_address(d->server, ret);
}

static struct nm_yarn_params yarn_params(struct daemon *d, sd_event *event, const struct options *o,
                                         const struct nm_config *config, struct yarn_parts *parts)
{
    return (struct nm_yarn_params){
        .event = event,
        .manager = d->manager,
        .settings = d->yarn_settings,
        .localizer_program = find_program("nm-localizer", parts->localizer),
        .shuffle_program = find_program("nm-shuffle", parts->shuffle),
        .state_dir = o->state_dir,
        .runtime_dir = o->runtime_dir,
        .tell = tell_yarn,
        .http_address = find_http(d, config, &parts->http) ? &parts->http : NULL,
    };
}

static int join_yarn(struct daemon *d, sd_event *event, const struct options *o)
{
    struct yarn_parts parts;
    struct nm_yarn_params p = yarn_params(d, event, o, NULL, &parts);
    _cleanup_free_ char *message = NULL;
    int r = d->yarn_settings ? nm_yarn_new(&p, &d->yarn, &message) : 0;

    if (r < 0 || !d->yarn)
        return refuse(NO_NODE, r, message);
    return refuse(NO_SERVER, nm_local_server_join(d->server, nm_yarn_take_web(d->yarn), d->yarn_settings->node.host,
                                                  d->yarn_settings->web.host), NULL);
}

static int record(struct daemon *d, const struct options *o)
{
    _cleanup_free_ char *message = NULL;
    int r;

    if (!o->record)
        return 0;
    r = nm_manager_record(d->manager, o->record, &message);
    if (r >= 0)
        nm_info("what happens is recorded in %s; nmsim replays it", o->record);
    return refuse(NO_START, r, message);
}

static struct nm_instance instance_of(const struct options *o)
{
    return (struct nm_instance){.state_dir = o->state_dir, .runtime_dir = o->runtime_dir, .slice = o->slice};
}

static int check_server(const struct options *o, const struct nm_config *c, bool beside_another)
{
    const char *const dirs[] = {o->runtime_dir, o->state_dir, NULL};
    struct nm_local_server_params p = server_params(o, c);
    _cleanup_free_ char *message = NULL;
    int r = nm_local_server_check(&p, dirs, beside_another, &message);

    return refuse(NO_SERVER, r, message);
}

/* The lock comes before the look whether somebody listens there, which finds other programs than nmd, too. Where the
 * lock can't be taken, check_server() has the better words. A socket that is inherited belongs to its giver. */
static int lock_socket(const struct options *o, const struct nm_config *c)
{
    _cleanup_free_ char *message = NULL, *listened = NULL;
    int q, r = o->listen_fd >= 0 ? 0 : nm_instance_lock_socket(o->socket, &message);

    if (r == -EBUSY)
        return refuse(NO_START, r, message);
    q = check_server(o, c, false);
    if (q < 0 || r < 0)
        return q < 0 ? q : refuse(NO_START, r, message);
    r = o->listen_fd >= 0 ? 0 : nm_local_server_look(o->socket, &listened);
    return refuse(NO_SERVER, r, listened);
}

/* Takes all that one nmd alone may use. */
static int lock_all(struct daemon *d, const struct options *o, const struct nm_config *c)
{
    const struct nm_instance i = instance_of(o);
    _cleanup_free_ char *message = NULL, *dirs = NULL;
    int r = nm_instance_lock(&i, &message);

    if (refuse(NO_START, r, message) >= 0) {
        nm_instance_end_children(&i);
        r = lock_socket(o, c);
    }
    if (r < 0 || !d->yarn_settings)
        return r;
    r = nm_yarn_lock(d->yarn_settings, tell_yarn, &dirs);
    return refuse(NO_NODE, r, dirs);
}

/* The locks come before anything that a second nmd could disturb; the interface when there is a
 * manager to answer, and the rounds last: nothing is decided before everything is there. */
static int start(struct daemon *d, sd_event *event, const struct options *o)
{
    _cleanup_(nm_config_freep) struct nm_config *config = NULL;
    int r = load_config(d, o, &config);

    if (r >= 0)
        r = lock_all(d, o, config);
    if (r >= 0)
        r = watch_signals(event, d);
    if (r >= 0)
        r = make_manager(d, event, o, STEAL_PTR(config));
    if (r >= 0)
        r = make_server(d, event, o);
    if (r >= 0)
        r = record(d, o);
    if (r >= 0)
        r = join_yarn(d, event, o);
    return r < 0 ? r : nm_manager_start(d->manager);
}

/* What this kernel or host doesn't offer is in the log from the start on: who reads that later can't
 * ask for the status of then. */
static void tell_limits(struct nm_manager *m)
{
    struct nm_status s;

    nm_manager_get_status(m, &s);
    for (unsigned i = 0; i < s.n_notes; i++)
        nm_notice("limits: %s", s.notes[i]);
}

/* READY only now: units that are ordered after nmd find an nmd that answers. */
static int run(struct daemon *d, sd_event *event, const struct options *o)
{
    int r;

    raise_file_limit();
    raise_priority();
    r = start(d, event, o);
    if (r < 0)
        return r;
    (void)sd_event_set_watchdog(event, true); /* does nothing unless systemd asked for it */
    (void)sd_notifyf(0, "READY=1\nSTATUS=containers are admitted; nmctl talks to %s", o->socket);
    nm_info("nmd " NM_VERSION " is ready: nmctl talks to %s", o->socket);
    tell_limits(d->manager);
    r = sd_event_loop(event);
    (void)sd_notify(0, "STOPPING=1");
    if (r >= 0)
        nm_manager_leave(d->manager);
    nm_info("nmd leaves; %s", d->signs_off ? "the node has signed off from its cluster, whose containers end, and "
                                             "others go on" : "containers go on");
    return r;
}

/* ---- --check-config ------------------------------------------------------ */

/* *ret is `dir`, or NULL where it is refused: what is in it isn't looked at then, since it couldn't be used either. */
static int check_dir(const char *what, const char *dir, const char **ret)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_instance_check_dir(what, dir, &message);

    *ret = r < 0 ? NULL : dir;
    return refuse(NO_START, r, message);
}

/* Whether it is in there, or would be. */
static bool is_below(const char *path, const char *dir)
{
    const size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

static int check_yarn(struct daemon *d, sd_event *event, const struct options *o, const struct nm_config *config)
{
    struct yarn_parts parts;
    struct nm_yarn_params p = yarn_params(d, event, o, config, &parts);
    _cleanup_free_ char *message = NULL;
    int r = d->yarn_settings ? nm_yarn_check(&p, nm_instance_is_running(o->state_dir), &message) : 0;

    return refuse(NO_NODE, r, message);
}

/* Warns of what the host lacks to be a node of the cluster but no start is refused for. Done for the host's own
 * nmd, not for one with a configuration or state directory of its own, or for the host that --root names. */
static int check_host(const struct daemon *d, const struct options *o, const struct nm_config *c)
{
    const bool of_host = geteuid() == 0 && !o->config_given && !o->state_given &&
                           access("/run/systemd/system", F_OK) == 0;
    struct nm_yarn_setup_params p = nm_yarn_setup_params_of(&o->setup, NULL, NULL, warn_of_yarn);

    if (!d->yarn_settings || !c || (!of_host && !o->setup.root))
        return 0;
    p.conf_dir = o->yarn_conf ?: c->yarn_conf_dir;
    return nm_yarn_setup_check(&p, d->yarn_settings);
}

/* Both configurations, whatever is wrong with one of them. *ret has what they come to. */
static int check_files(struct daemon *d, const struct options *o, struct nm_config **ret)
{
    _cleanup_(nm_config_freep) struct nm_config *alone = NULL;
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    _cleanup_free_ char *all = NULL, *no_node = NULL;
    char *message = NULL;
    int also = 0, r = nm_config_examine(o->config, o->config_given, NULL, &alone, &message);

    r = nm_refusals_add(&refusals, r, message);
    if (r == 0 && (o->yarn_conf || alone->yarn))
        also = nm_yarn_settings_examine(o->yarn_conf ?: alone->yarn_conf_dir, warn_of_yarn, NULL, &d->yarn_settings,
                                        &no_node);
    if (r == 0 && d->yarn_settings) {
        r = nm_config_examine(o->config, o->config_given, d->yarn_settings->defaults, ret, &message);
        r = nm_refusals_add(&refusals, r, message);
    } else {
        *ret = STEAL_PTR(alone);
    }
    if (r == 0)
        r = nm_refusals_take(&refusals, &all);
    (void)refuse(NO_CONFIG, r, all);
    (void)refuse(NO_NODE, also, no_node);
    return NM_MIN(r, also);
}

static int check_manager(struct daemon *d, sd_event *event, const struct options *o, struct nm_config *config,
                         const char *state_dir)
{
    _cleanup_free_ char *message = NULL, *no_record = NULL;
    struct nm_manager_params p = manager_params(d, event, o, config);
    int r, record = o->record ? nm_manager_check_record(o->record, &no_record) : 0;

    p.state_dir = state_dir;
    r = nm_manager_check(&p, &message);
    (void)refuse(NO_START, r, message);
    return NM_MIN(r, refuse(NO_START, record, no_record));
}

/* Makes the checks of start(), in its order and with its messages, but goes on after a failure. It creates and starts
 * nothing, and keeps no lock. */
static int check_start(struct daemon *d, sd_event *event, const struct options *o)
{
    _cleanup_(nm_config_freep) struct nm_config *config = NULL;
    struct options rest = *o;
    const char *runtime_dir, *state_dir;
    int r = check_files(d, o, &config), also = check_dir("runtime", o->runtime_dir, &runtime_dir);

    r = NM_MIN(r, also);
    also = check_dir("state", o->state_dir, &state_dir);
    r = NM_MIN(r, also);
    if ((!runtime_dir && is_below(o->socket, o->runtime_dir)) || (!state_dir && is_below(o->socket, o->state_dir)))
        rest.socket = NULL;
    if (config) {
        also = check_manager(d, event, o, config, state_dir);
        r = NM_MIN(r, also);
        also = check_server(&rest, config, nm_instance_is_running(o->state_dir));
        r = NM_MIN(r, also);
    }
    also = check_yarn(d, event, o, config);
    r = NM_MIN(r, also);
    also = check_host(d, o, config);
    return NM_MIN(r, also);
}

static int check_config(struct daemon *d, sd_event *event, const struct options *o)
{
    int r = check_start(d, event, o);

    if (r >= 0)
        printf("%s: fine\n", o->config);
    return r;
}

int main(int argc, char **argv)
{
    struct options o = {.backend = NM_CGROUP_BACKEND_AUTO, .listen_fd = -1};
    static struct daemon d;
    sd_event *event = NULL;
    int r;

    nm_inherited_reset();
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on file size is an error of a write, EFBIG, and not our end */
    nm_log_init(NM_LOG_AUTO);
    if (parse_argv(argc, argv, &o) < 0)
        return 2;
    if (o.setup.conf_dir)
        return nm_yarn_setup_run(&o.setup, o.config, o.state_dir, nm_instance_holder, warn_of_yarn) < 0 ? EXIT_FAILURE
                                                                                                        : EXIT_SUCCESS;
    fill_defaults(&d, &o);
    if (sd_listen_fds(1) >= 1) /* forgets the variables, so that this is the only call */
        o.listen_fd = SD_LISTEN_FDS_START;
    (void)umask(077);
    r = sd_event_default(&event);
    if (r >= 0 && o.check_config)
        r = check_config(&d, event, &o);
    else if (r >= 0)
        r = run(&d, event, &o);
    nm_local_server_free(d.server);
    nm_yarn_free(d.yarn);
    nm_manager_free(d.manager);
    nm_yarn_settings_free(d.yarn_settings);
    sd_event_unref(event);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
