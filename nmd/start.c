/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Starts the parts (parts.h), and handles the signals of nmd. Each step logs the reason of its failure with a prefix
 * that names the failed action: starting, opening the local interface, or joining a cluster.
 */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include <systemd/sd-daemon.h>

#include "agent/agent.h"
#include "nmd/instance.h"
#include "nmd/parts.h"
#include "rpc/local/listen.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/log.h"

/* Warns if the socket's mode allows all users to connect, but the mode of its directory doesn't. The mode of an
 * existing directory isn't changed. */
static void check_socket_dirs(const struct nm_daemon_options *o, mode_t socket_mode)
{
    _cleanup_free_ char *dir = strdup(o->socket);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    struct stat st;

    if (!slash || !(socket_mode & 0006))
        return;
    slash[slash == dir] = '\0';
    if (stat(dir, &st) == 0 && !(st.st_mode & 0001))
        nm_warning("socket-mode = %04o permits all users to connect, but they can't reach the socket because of %s "
                   "(mode %04o); run chmod o+x on it",
                   (unsigned)socket_mode, dir, (unsigned)st.st_mode & 07777);
}

/* Loads nmd.conf and its drop-ins. A file that --config names must exist. If the default file is missing, the built-in
 * defaults apply. */
static int load_files(const struct nm_daemon_options *o, const struct nm_config_default *defaults,
                      struct nm_config **ret)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_config_load(o->config, o->config_given, defaults, ret, &message);

    return nm_daemon_refuse(NM_DAEMON_NO_CONFIG, r, message);
}

/* Loads the cluster's configuration. The option --yarn-conf takes precedence over the directory in nmd.conf. */
static int load_yarn(struct nm_daemon *d, const struct nm_daemon_options *o, const struct nm_config *c)
{
    const char *dir = o->yarn_conf ? o->yarn_conf : c->upstream.conf_dir;
    _cleanup_free_ char *message = NULL;
    int r;

    r = nm_yarn_settings_load(dir, nm_daemon_warn_of_yarn, NULL, &d->yarn_settings, &message);
    return nm_daemon_refuse(NM_DAEMON_NO_NODE, r, message);
}

/* Loads nmd.conf, which can name a cluster's configuration. Values of nmd.conf take precedence over values of the
 * cluster. Therefore nmd.conf is loaded a second time, with the cluster's values as defaults. */
static int load_config(struct nm_daemon *d, const struct nm_daemon_options *o, struct nm_config **ret)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    int r = load_files(o, NULL, &c);

    if (r >= 0 && (o->yarn_conf || c->upstream.enabled)) {
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

static int make_manager(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o,
                        struct nm_config *config)
{
    _cleanup_free_ char *message = NULL;
    struct nm_manager_params p = nm_daemon_manager_params(d, event, o, config);
    int r = nm_manager_new(&p, &d->manager, &message);

    return nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
}

/* Opens the socket of the local interface, unless systemd passed it. systemd is then responsible for the directory,
 * too. The adoption of many containers takes time. A request that arrives meanwhile waits in the kernel's queue, which
 * is bounded, and is answered afterwards. Without the socket, it would fail like a request to a node without nmd. */
static int open_socket(struct nm_daemon *d, const struct nm_daemon_options *o, const struct nm_config *c)
{
    const struct nm_local_server_params p = nm_daemon_server_params(o, c);
    _cleanup_free_ char *message = NULL;
    int r = 0;

    if (p.listen_fd >= 0)
        return 0;
    r = nm_listener_open(p.socket_path, p.socket_mode, p.admin_group, &d->listener, &message);
    if (r >= 0)
        check_socket_dirs(o, p.socket_mode);
    return nm_daemon_refuse(NM_DAEMON_NO_SERVER, r, message);
}

/* Starts the local interface. */
static int make_server(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o)
{
    const struct nm_config *c = nm_manager_config(d->manager);
    _cleanup_free_ char *message = NULL;
    struct nm_local_server_params p = nm_daemon_server_params(o, c);
    int r;

    p.listener = d->listener;
    r = nm_local_server_new(event, d->manager, &p, &d->server, &message);
    if (r >= 0)
        d->listener = NULL;
    return nm_daemon_refuse(NM_DAEMON_NO_SERVER, r, message);
}

/* Creates the node of the cluster, if a cluster is configured. The server then also answers at the addresses of the
 * node's web services. */
static int join_yarn(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o)
{
    struct nm_daemon_yarn_buffers buffers;
    struct nm_yarn_params p = nm_daemon_yarn_params(d, event, o, NULL, &buffers);
    _cleanup_free_ char *message = NULL;
    int r = d->yarn_settings ? nm_yarn_new(&p, &d->yarn, &message) : nm_yarn_none(d->manager);

    if (r < 0 || !d->yarn)
        return nm_daemon_refuse(NM_DAEMON_NO_NODE, r, message);
    r = nm_local_server_join(d->server, nm_yarn_take_web(d->yarn), d->yarn_settings->node.host,
                             d->yarn_settings->web.host);
    return nm_daemon_refuse(NM_DAEMON_NO_SERVER, r, NULL);
}

/* Starts the trace of --record before the node joins a cluster, so that the trace contains all of the cluster's
 * containers. */
static int record(struct nm_daemon *d, const struct nm_daemon_options *o)
{
    _cleanup_free_ char *message = NULL;
    int r;

    if (!o->record)
        return 0;
    r = nm_manager_record(d->manager, o->record, &message);
    if (r >= 0)
        nm_info("recording all events in %s; nmsim can replay them", o->record);
    return nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
}

static struct nm_instance instance_of(const struct nm_daemon_options *o)
{
    return (struct nm_instance){
        .state_dir = o->state_dir, .runtime_dir = o->runtime_dir, .slice = o->slice, .socket = o->socket};
}

/* Locks the socket, then checks whether any program listens on it, which may be a program without nmd's lock. If the
 * lock fails with an error other than -EBUSY, nm_daemon_check_server() usually logs a more specific reason. A socket
 * that systemd passed isn't locked, because it belongs to systemd. */
static int lock_socket(const struct nm_daemon_options *o, const struct nm_config *c)
{
    _cleanup_free_ char *message = NULL, *listened = NULL;
    int q, r = o->listen_fd >= 0 ? 0 : nm_instance_lock_socket(o->socket, &message);

    if (r == -EBUSY)
        return nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
    q = nm_daemon_check_server(o, c, false);
    if (q < 0 || r < 0)
        return q < 0 ? q : nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
    r = o->listen_fd >= 0 ? 0 : nm_local_server_probe(o->socket, &listened);
    return nm_daemon_refuse(NM_DAEMON_NO_SERVER, r, listened);
}

/* Locks everything that only one nmd may use, and kills the remaining children of an earlier nmd. */
static int lock_all(struct nm_daemon *d, const struct nm_daemon_options *o, const struct nm_config *c)
{
    const struct nm_instance i = instance_of(o);
    _cleanup_free_ char *message = NULL, *dirs = NULL;
    int r = nm_instance_lock(&i, &message);

    if (nm_daemon_refuse(NM_DAEMON_NO_START, r, message) >= 0) {
        nm_instance_end_children(&i);
        r = lock_socket(o, c);
    }
    if (r < 0 || !d->yarn_settings)
        return r;
    r = nm_yarn_lock(d->yarn_settings, o->state_dir, nm_daemon_report_yarn, &dirs);
    return nm_daemon_refuse(NM_DAEMON_NO_NODE, r, dirs);
}

/* Reloads the configuration. systemd shows the unit as reloading between RELOADING=1 and READY=1. */
static int on_hup(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
    struct nm_daemon *d = userdata;
    struct nm_problem problem;

    (void)s, (void)si;
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
                     (unsigned long long)nm_clock_usec(CLOCK_MONOTONIC));
    (void)nm_manager_reload(d->manager, &problem); /* on failure, the manager logs the reason and keeps the old
                                                      settings */
    (void)sd_notify(0, "READY=1");
    return 0;
}

static void leave_loop(void *userdata)
{
    (void)sd_event_exit(userdata, 0);
}

/* Ends nmd after SIGTERM or SIGINT, either immediately or when the node has left its cluster. */
static int on_term(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
    struct nm_daemon *d = userdata;
    sd_event *event = sd_event_source_get_event(s);

    (void)si;
    d->signs_off = d->yarn && nm_yarn_unregister(d->yarn, leave_loop, event);
    if (!d->signs_off)
        leave_loop(event);
    return 0;
}

/* Blocks SIGHUP, which reloads the configuration, and SIGTERM and SIGINT, which end the event loop. The event loop
 * receives these signals. Also blocks SIGCHLD, because nmd watches its children through pidfds, and the signal would
 * interrupt system calls. Ignores SIGPIPE, so that write() returns an error if a client has closed its connection. */
static int watch_signals(sd_event *event, struct nm_daemon *d)
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

/* Takes the locks before all steps that a second nmd could disturb. Opens the local interface in two steps: the socket
 * before the manager adopts containers, and the server afterwards, because the manager answers the requests. Starts the
 * rounds last, so that no decision is made before all parts exist. */
int nm_daemon_start(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o)
{
    _cleanup_(nm_config_freep) struct nm_config *config = NULL;
    int r = load_config(d, o, &config);

    if (r >= 0)
        r = lock_all(d, o, config);
    if (r >= 0)
        r = watch_signals(event, d);
    if (r >= 0)
        r = open_socket(d, o, config);
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
