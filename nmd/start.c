/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See start.h. Each step logs why it fails, with words that tell what can't be done: start, open the local interface,
 * or be a node of a cluster.
 */

#include "nmd/start.h"

#include <sys/stat.h>

#include "nmd/instance.h"
#include "nmd/signals.h"
#include "nmd/start-log.h"
#include "util/error.h"
#include "util/log.h"

/* Warns where others cannot reach the socket. The mode of a directory that existed before is left alone. */
static void check_way_to_socket(const struct nm_daemon_options *o, mode_t socket_mode)
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

/* A file that was named must be there; the usual one may be missing, and then the defaults hold. */
static int load_files(const struct nm_daemon_options *o, const struct nm_config_default *defaults,
                      struct nm_config **ret)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_config_load(o->config, o->config_given, defaults, ret, &message);

    return nm_daemon_refuse(NM_DAEMON_NO_CONFIG, r, message);
}

/* Loads the cluster's configuration; the directory of the option goes before that of nmd.conf. */
static int load_yarn(struct nm_daemon *d, const struct nm_daemon_options *o, const struct nm_config *c)
{
    const char *dir = o->yarn_conf ? o->yarn_conf : c->yarn_conf_dir;
    _cleanup_free_ char *message = NULL;
    int r;

    r = nm_yarn_settings_load(dir, nm_daemon_warn_of_yarn, NULL, &d->yarn_settings, &message);
    return nm_daemon_refuse(NM_DAEMON_NO_NODE, r, message);
}

/* nmd's own files say whether a cluster's are read, and go before them then. */
static int load_config(struct nm_daemon *d, const struct nm_daemon_options *o, struct nm_config **ret)
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

static int make_manager(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o,
                        struct nm_config *config)
{
    _cleanup_free_ char *message = NULL;
    struct nm_manager_params p = nm_daemon_manager_params(d, event, o, config);
    int r = nm_manager_new(&p, &d->manager, &message);

    return nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
}

/* A socket that systemd passed has a directory that systemd answers for. */
static int make_server(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o)
{
    const struct nm_config *c = nm_manager_config(d->manager);
    _cleanup_free_ char *message = NULL;
    struct nm_local_server_params p = nm_daemon_server_params(o, c);
    int r = nm_local_server_new(event, d->manager, &p, &d->server, &message);

    if (r >= 0 && p.listen_fd < 0)
        check_way_to_socket(o, c->socket_mode);
    return nm_daemon_refuse(NM_DAEMON_NO_SERVER, r, message);
}

/* Makes the node of the cluster, if there is one, and has the server answer at the addresses of its web services. */
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

/* Begins the trace of --record before the node joins a cluster, so that all of its containers are in it. */
static int record(struct nm_daemon *d, const struct nm_daemon_options *o)
{
    _cleanup_free_ char *message = NULL;
    int r;

    if (!o->record)
        return 0;
    r = nm_manager_record(d->manager, o->record, &message);
    if (r >= 0)
        nm_info("what happens is recorded in %s; nmsim replays it", o->record);
    return nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
}

static struct nm_instance instance_of(const struct nm_daemon_options *o)
{
    return (struct nm_instance){.state_dir = o->state_dir, .runtime_dir = o->runtime_dir, .slice = o->slice};
}

/* The lock comes before the look whether somebody listens there, which finds other programs than nmd, too. Where the
 * lock can't be taken, nm_daemon_check_server() has the better words. An inherited socket belongs to its giver. */
static int lock_socket(const struct nm_daemon_options *o, const struct nm_config *c)
{
    _cleanup_free_ char *message = NULL, *listened = NULL;
    int q, r = o->listen_fd >= 0 ? 0 : nm_instance_lock_socket(o->socket, &message);

    if (r == -EBUSY)
        return nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
    q = nm_daemon_check_server(o, c, false);
    if (q < 0 || r < 0)
        return q < 0 ? q : nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
    r = o->listen_fd >= 0 ? 0 : nm_local_server_look(o->socket, &listened);
    return nm_daemon_refuse(NM_DAEMON_NO_SERVER, r, listened);
}

/* Takes all that one nmd alone may use. */
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
    r = nm_yarn_lock(d->yarn_settings, nm_daemon_tell_yarn, &dirs);
    return nm_daemon_refuse(NM_DAEMON_NO_NODE, r, dirs);
}

/* The locks come before anything that a second nmd could disturb; the interface when there is a
 * manager to answer, and the rounds last: nothing is decided before everything is there. */
int nm_daemon_start(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o)
{
    _cleanup_(nm_config_freep) struct nm_config *config = NULL;
    int r = load_config(d, o, &config);

    if (r >= 0)
        r = lock_all(d, o, config);
    if (r >= 0)
        r = nm_daemon_watch_signals(event, d);
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
