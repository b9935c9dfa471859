/* SPDX-License-Identifier: Apache-2.0 */

/* See paths.h. */

#include "nmd/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the option if it is given. Otherwise returns the system's directory for root, and for other users one below
 * the user's directory that the environment variable names, or a name with the uid below `fallback`. */
static const char *fill_path(char buf[static PATH_MAX], const char *given, const char *root_default,
                             const char *variable, const char *fallback)
{
    const char *base = getenv(variable);

    if (given)
        return given;
    if (geteuid() == 0)
        return root_default;
    if (base && *base)
        (void)snprintf(buf, PATH_MAX, "%s/nmd", base);
    else
        (void)snprintf(buf, PATH_MAX, "%s/nmd-%u", fallback, geteuid());
    return buf;
}

/* Looks beside nmd first, where a build tree has links to its other programs, then in the installation directory. */
const char *nm_daemon_find_program(const char *name, char buf[static PATH_MAX])
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

/* Places the socket in the runtime directory unless an option names it. */
void nm_daemon_fill_defaults(struct nm_daemon_paths *paths, struct nm_daemon_options *o)
{
    o->config = o->config ? o->config : NM_SYSCONFDIR "/nmd/nmd.conf";
    o->slice = o->slice ? o->slice : "nm.slice";
    o->node_proc = o->node_proc ? o->node_proc : "/proc";
    o->state_dir = fill_path(paths->state_dir, o->state_dir, NM_LOCALSTATEDIR "/lib/nmd", "XDG_STATE_HOME", "/var/tmp");
    o->runtime_dir = fill_path(paths->runtime_dir, o->runtime_dir, "/run/nmd", "XDG_RUNTIME_DIR", "/tmp");
    o->shim = o->shim ? o->shim : nm_daemon_find_program("nm-shim", paths->shim);
    if (!o->socket) {
        (void)snprintf(paths->socket, PATH_MAX, "%.4080s/nmd.sock", o->runtime_dir);
        o->socket = paths->socket;
    }
}
