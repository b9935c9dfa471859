/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Implements --check-config (parts.h). Each part of nmd has a check that gives the same messages as its start. All
 * parts are checked, even after an error, so that one run reports every error.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nmd/instance.h"
#include "nmd/parts.h"
#include "util/error.h"

/* Sets *ret to `dir`, or to NULL if `dir` is refused. The contents of a refused directory aren't checked, because nmd
 * can't use them. */
static int check_dir(const char *what, const char *dir, const char **ret)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_instance_check_dir(what, dir, &message);

    *ret = r < 0 ? NULL : dir;
    return nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
}

/* Returns whether the path is below the directory. Neither needs to exist. */
static bool is_below(const char *path, const char *dir)
{
    const size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* Checks the part for YARN. Accepts ports and directories that are in use if another nmd runs with this state
 * directory. */
static int check_yarn(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o,
                      const struct nm_config *config)
{
    struct nm_daemon_yarn_buffers buffers;
    struct nm_yarn_params p = nm_daemon_yarn_params(d, event, o, config, &buffers);
    _cleanup_free_ char *message = NULL;
    int r = d->yarn_settings ? nm_yarn_check(&p, nm_instance_is_running(o->state_dir), &message) : 0;

    return nm_daemon_refuse(NM_DAEMON_NO_NODE, r, message);
}

/* Warns if the host lacks a feature that a node of the cluster needs, but without which nmd still starts. Checks this
 * only for an nmd with the default configuration and state directory, or for the host that --root names. */
static int check_host(const struct nm_daemon *d, const struct nm_daemon_options *o, const struct nm_config *c)
{
    const bool of_host = geteuid() == 0 && !o->config_given && !o->state_given &&
                           access("/run/systemd/system", F_OK) == 0;
    struct nm_yarn_setup_params p = nm_yarn_setup_params_of(&o->setup, NULL, NULL, nm_daemon_warn_of_yarn);

    if (!d->yarn_settings || !c || (!of_host && !o->setup.root))
        return 0;
    p.conf_dir = o->yarn_conf ?: c->upstream.conf_dir;
    return nm_yarn_setup_check(&p, d->yarn_settings);
}

/* Checks nmd's configuration and the cluster's configuration, and continues after an error. *ret is nmd's
 * configuration, with defaults from the cluster's configuration. */
static int check_files(struct nm_daemon *d, const struct nm_daemon_options *o, struct nm_config **ret)
{
    _cleanup_(nm_config_freep) struct nm_config *alone = NULL;
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    _cleanup_free_ char *all = NULL, *no_node = NULL;
    char *message = NULL;
    int also = 0, r = nm_config_examine(o->config, o->config_given, NULL, &alone, &message);

    r = nm_refusals_add(&refusals, r, message);
    if (r == 0 && (o->yarn_conf || alone->upstream.enabled))
        also = nm_yarn_settings_examine(o->yarn_conf ?: alone->upstream.conf_dir, nm_daemon_warn_of_yarn, NULL,
                                        &d->yarn_settings, &no_node);
    if (r == 0 && d->yarn_settings) {
        r = nm_config_examine(o->config, o->config_given, d->yarn_settings->defaults, ret, &message);
        r = nm_refusals_add(&refusals, r, message);
    } else {
        *ret = STEAL_PTR(alone);
    }
    if (r == 0)
        r = nm_refusals_take(&refusals, &all);
    (void)nm_daemon_refuse(NM_DAEMON_NO_CONFIG, r, all);
    (void)nm_daemon_refuse(NM_DAEMON_NO_NODE, also, no_node);
    return NM_MIN(r, also);
}

/* Checks the manager. state_dir: NULL if the directory was refused. */
static int check_manager(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o,
                         struct nm_config *config, const char *state_dir)
{
    _cleanup_free_ char *message = NULL, *no_record = NULL;
    struct nm_manager_params p = nm_daemon_manager_params(d, event, o, config);
    int r, record = o->record ? nm_manager_check_record(o->record, &no_record) : 0;

    p.state_dir = state_dir;
    r = nm_manager_check(&p, &message);
    (void)nm_daemon_refuse(NM_DAEMON_NO_START, r, message);
    return NM_MIN(r, nm_daemon_refuse(NM_DAEMON_NO_START, record, no_record));
}

/* Makes the same checks as nm_daemon_start(), in the same order and with the same messages, but continues after a
 * failure. Creates and starts nothing, and holds no lock afterwards. */
static int check_start(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o)
{
    _cleanup_(nm_config_freep) struct nm_config *config = NULL;
    struct nm_daemon_options rest = *o;
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
        also = nm_daemon_check_server(&rest, config, nm_instance_is_running(o->state_dir));
        r = NM_MIN(r, also);
    }
    also = check_yarn(d, event, o, config);
    r = NM_MIN(r, also);
    also = check_host(d, o, config);
    return NM_MIN(r, also);
}

int nm_daemon_check_config(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o)
{
    int r = check_start(d, event, o);

    if (r >= 0)
        printf("%s: fine\n", o->config);
    return r;
}
