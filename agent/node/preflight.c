/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks the node before a start, and for nmd --check-config (see node-settings.h). nmd --check-config may run while
 * another nmd is running. It reports the same errors as a start, and makes no changes. It does not detect errors that
 * occur only during the start itself, such as a failing disk, a damaged journal, or a slice that systemd can't start.
 * Except for a missing shim, which nmd would only report at its start, the check fails only if a start would fail.
 */

#include "agent/node/node-settings.h"

#include <assert.h>
#include <limits.h>

#include "agent/daemon.h"
#include "agent/config/settings.h"
#include "agent/admin-script.h"
#include "agent/store/store.h"
#include "monitor/monitor.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/log.h"

/* ---- directories ----------------------------------------------------------------------------- */

static int check_private(const char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? -errno : nm_check_private_dir(fd);
}

/* Checks a directory. Only nmd's user and root may write to the directory. Another user could create links in it, and
 * so make nmd, which may be root, write and delete files elsewhere. */
int nm_preflight_dir(const char *what, const char *path, bool make, char **ret_message)
{
    int r = make ? nm_mkdir_p(path, 0700) : nm_check_mkdir_p(path);

    assert(path && *path);
    if (r >= 0)
        r = check_private(path);
    if (r == -ENOENT && !make)
        r = 0; /* the directory can be created */
    if (r == -EPERM)
        return nm_fail(ret_message, r,
                       "the %s directory %s belongs to another user, or other users may write to it; it must belong to "
                       "nmd's user or to root, without write permission for group and others",
                       what, path);
    return r < 0 ? nm_fail(ret_message, r, "the %s directory %s can't be used: %s", what, path, strerror(-r))
                 : r;
}

int nm_preflight_script(const char *path, bool warn, char **ret_message)
{
    int r = path && *path ? nm_admin_script_check(path) : 0;

    if (r == -EPERM)
        return nm_fail(ret_message, r,
                       "the health script %s, or a directory above it, belongs to another user, or other users may "
                       "write to it: they could make nmd run any program; make root its owner, without write "
                       "permission for group and others",
                       path);
    if (warn && r < 0 && r != -ENOMEM)
        nm_warning("the health script %s can't be run: %s; without it the node counts as healthy", path, strerror(-r));
    return r == -ENOMEM ? r : 0;
}

int nm_preflight_refuse_journal(const char *state_dir, int r, char **ret_message)
{
    return nm_fail(ret_message, r, "can't open the journal in %s: %s", state_dir, strerror(-r));
}

int nm_preflight_refuse_figures(const char *proc_root, int r, char **ret_message)
{
    return nm_fail(ret_message, r, "the node's figures in %s can't be read: %s", proc_root, strerror(-r));
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Checks the journal's file. A file that nmd may not write to is an error. A missing file is created at the start, and
 * a damaged file is replaced. */
static int check_journal(const char *state_dir, char **ret_message)
{
    char path[PATH_MAX];
    int r;

    (void)snprintf(path, sizeof path, "%.4080s/" NM_STORE_FILE, state_dir);
    r = RET_NERRNO(faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS));
    return r == -EACCES || r == -EROFS ? nm_preflight_refuse_journal(state_dir, r, ret_message) : 0;
}

/* Checks the directories and the journal. The journal, and the default log directory in the state directory, are
 * checked only if the state directory can be used. */
static int check_dirs(const struct nm_manager_params *p, struct nm_refusals *refusals)
{
    const bool configured = p->config->log_dir && p->config->log_dir[0];
    _cleanup_free_ char *logs = NULL;
    char *message = NULL;
    int q = p->state_dir ? nm_preflight_dir("state", p->state_dir, false, &message) : -ENOENT;
    const bool has_state = q >= 0;
    int r = p->state_dir ? nm_refusals_add(refusals, q, STEAL_PTR(message)) : 0;

    if (configured)
        logs = strdup(p->config->log_dir);
    else if (has_state && asprintf(&logs, "%s/logs", p->state_dir) < 0)
        logs = NULL;
    if (!logs && (configured || has_state))
        return -ENOMEM;
    if (r == 0 && logs) {
        q = nm_preflight_dir("log", logs, false, &message);
        r = nm_refusals_add(refusals, q, STEAL_PTR(message));
    }
    if (r == 0 && has_state) {
        q = check_journal(p->state_dir, &message);
        r = nm_refusals_add(refusals, q, STEAL_PTR(message));
    }
    return r;
}

/* Checks the settings against the node's size. The kernel's features are not checked, since a missing feature never
 * makes a setting invalid. */
static int check_settings(const struct nm_manager_params *p, char **ret_message)
{
    static const struct nm_cgroup_backend none;
    _cleanup_(nm_node_sampler_freep) struct nm_node_sampler *sampler = NULL;
    struct nm_node_sample node = {0};
    struct nm_policy_settings s;
    int r = nm_node_sampler_new(p->node_proc_root, &sampler);

    if (r < 0)
        return nm_preflight_refuse_figures(p->node_proc_root, r, ret_message);
    r = nm_node_sampler_sample(sampler, nm_now_usec(), &node);
    return r < 0 ? r : nm_config_policy_settings(p->config, &node, &none, &s, ret_message);
}

int nm_manager_check(const struct nm_manager_params *p, char **ret_message)
{
    const struct nm_cgroup_backend_params backend = {.kind = p->backend, .slice = p->slice, .event = p->event};
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r;

    assert(p->event && p->config && ret_message);
    *ret_message = NULL;
    r = check_dirs(p, &refusals);
    if (r == 0)
        r = nm_cgroup_backend_check(&backend, &message);
    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0)
        r = check_settings(p, &message);
    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0)
        r = nm_preflight_script(p->config->health_script, true, &message);
    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0 && (r = RET_NERRNO(faccessat(AT_FDCWD, p->shim_path, X_OK, AT_EACCESS))) < 0)
        r = nm_fail(&message, r, NM_READY_NO_SHIM, p->shim_path, strerror(-r));
    r = nm_refusals_add(&refusals, r, message);
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}
