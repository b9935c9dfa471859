/* SPDX-License-Identifier: Apache-2.0 */

/* See parts.h. */

#include "nmd/parts.h"

#include <string.h>

#include "agent/status.h"
#include "rpc/local/listen.h"
#include "util/log.h"

/* Frees each part before the parts to which it has pointers. */
void nm_daemon_done(struct nm_daemon *d)
{
    nm_local_server_free(d->server);
    nm_listener_free(d->listener);
    nm_yarn_free(d->yarn);
    nm_manager_free(d->manager);
    nm_yarn_settings_free(d->yarn_settings);
}

struct nm_manager_params nm_daemon_manager_params(struct nm_daemon *d, sd_event *event,
                                                  const struct nm_daemon_options *o, struct nm_config *config)
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

struct nm_local_server_params nm_daemon_server_params(const struct nm_daemon_options *o, const struct nm_config *c)
{
    return (struct nm_local_server_params){.socket_path = o->socket, .listen_fd = o->listen_fd,
                                           .socket_mode = c->socket_mode, .admin_group = c->admin_group,
                                           .http_address = c->http_address, .http_hosts = c->http_hosts};
}

/* Returns whether nmd serves HTTP over TCP, and gets the address from the configuration c, or from the server if c is
 * NULL. */
static bool find_http(const struct nm_daemon *d, const struct nm_config *c, struct sockaddr_storage *ret)
{
    if (c)
        return *c->http_address && nm_listen_parse_tcp(c->http_address, ret) == 0;
    return d->server && nm_local_server_tcp_address(d->server, ret);
}

struct nm_yarn_params nm_daemon_yarn_params(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o,
                                            const struct nm_config *config, struct nm_daemon_yarn_buffers *buffers)
{
    return (struct nm_yarn_params){
        .event = event,
        .manager = d->manager,
        .settings = d->yarn_settings,
        .localizer_program = nm_daemon_find_program("nm-localizer", buffers->localizer),
        .uploader_program = nm_daemon_find_program("nm-log-uploader", buffers->uploader),
        .shuffle_program = nm_daemon_find_program("nm-shuffle", buffers->shuffle),
        .spark_program = nm_daemon_find_program("nm-spark-shuffle", buffers->spark),
        .shim_program = o->shim,
        .state_dir = o->state_dir,
        .runtime_dir = o->runtime_dir,
        .report_cb = nm_daemon_report_yarn,
        .http_address = find_http(d, config, &buffers->http) ? &buffers->http : NULL,
    };
}

int nm_daemon_refuse(const char *what, int r, const char *message)
{
    const char *p = r < 0 ? message ?: strerror(-r) : "";

    for (size_t n; *p; p += n + (p[n] == '\n')) {
        n = strcspn(p, "\n");
        nm_err("%s: %.*s", what, (int)n, p);
    }
    return r;
}

void nm_daemon_report_yarn(int level, const char *sentence)
{
    nm_log(level, "YARN: %s", sentence);
}

void nm_daemon_warn_of_yarn(const char *sentence, void *userdata)
{
    (void)userdata;
    nm_daemon_report_yarn(LOG_WARNING, sentence);
}

int nm_daemon_check_server(const struct nm_daemon_options *o, const struct nm_config *c, bool beside_another)
{
    const char *const dirs[] = {o->runtime_dir, o->state_dir, NULL};
    struct nm_local_server_params p = nm_daemon_server_params(o, c);
    _cleanup_free_ char *message = NULL;
    int r = nm_local_server_check(&p, dirs, beside_another, &message);

    return nm_daemon_refuse(NM_DAEMON_NO_SERVER, r, message);
}
