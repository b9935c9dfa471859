/* SPDX-License-Identifier: Apache-2.0 */

/* See parts.h. */

#include "nmd/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/error.h"
#include "util/log.h"
#include "util/macros.h"
#include "util/option.h"

static const char help[] =
    "Usage: nmd [OPTION]...\n"
    "Runs containers on this node: guaranteed containers with the resources that they request,\n"
    "opportunistic containers with unused resources.\n"
    "\n"
    "  -c, --config FILE       configuration, with drop-ins in FILE.d/ (default " NM_SYSCONFDIR
    "/nmd/nmd.conf)\n"
    "  -s, --socket PATH       local socket for nmctl (default RUNTIME-DIR/nmd.sock)\n"
    "      --state-dir DIR     journal, logs and container records (default /var/lib/nmd)\n"
    "      --runtime-dir DIR   socket, and files for this boot only (default /run/nmd)\n"
    "      --backend KIND      auto, systemd or direct (default auto)\n"
    "      --slice NAME        slice that holds the containers (default nm.slice)\n"
    "      --shim PATH         the nm-shim program (default: beside nmd, then " NM_LIBEXECDIR
    ")\n"
    "      --node-proc DIR     read the node's meminfo, stat and pressure below DIR (default "
    "/proc)\n"
    "      --yarn-conf DIR     join the YARN cluster whose configuration is in DIR\n"
    NM_YARN_SETUP_USAGE
    "      --migrate-check DIR report what differs from Hadoop's NodeManager with the cluster's files in DIR,\n"
    "                          and what to set; exit with 0 (nothing to set), 1 or 2 (can't read)\n"
    "      --json              with --migrate-check: print JSON\n"
    "      --record FILE       write a trace of all events, for nmsim\n"
    "      --check-config      check whether nmd can start on this node, and exit\n"
    "      --log-level LEVEL   err, warning, notice, info or debug (default info)\n"
    "  -h, --help              this text\n"
    "  -V, --version           the version\n"
    "\n"
    "Signals: HUP reads the configuration again; TERM and INT end nmd, but not the containers.\n";

static int take_backend(void *at, char *value, const struct nm_option *o)
{
    static const char *const names[] = {
        [NM_CGROUP_BACKEND_AUTO] = "auto",
        [NM_CGROUP_BACKEND_SYSTEMD] = "systemd",
        [NM_CGROUP_BACKEND_DIRECT] = "direct",
    };

    (void)o;
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++)
        if (nm_streq(value, names[i])) {
            *(enum nm_cgroup_backend_kind *)at = (enum nm_cgroup_backend_kind)i;
            return 0;
        }
    return -EINVAL;
}

/* Sets the log level immediately, so that it applies to messages about later options. */
static int take_log_level(void *at, char *value, const struct nm_option *o)
{
    int level, r = nm_log_level_from_string(value, &level);

    (void)at, (void)o;
    if (r >= 0)
        nm_log_set_level(level);
    return r;
}

static bool slice_is_valid(const char *s)
{
    size_t n = strlen(s);

    /* systemd interprets '-' in the name of a slice as nesting. */
    return n > 6 && n < 64 && nm_streq(s + n - 6, ".slice") &&
           strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == n - 6;
}

static int take_slice(void *at, char *value, const struct nm_option *o)
{
    (void)o;
    if (!slice_is_valid(value))
        return -EINVAL;
    *(const char **)at = value;
    return 0;
}

#define AT(member) offsetof(struct nm_daemon_options, member)

static const struct nm_option table[] = {
    NM_OPTION_VALUE('c', "config", "FILE", &nm_option_any, AT(config)),
    NM_OPTION_VALUE('s', "socket", "PATH", &nm_option_any, AT(socket)),
    NM_OPTION_VALUE('\0', "state-dir", "DIR", &nm_option_any, AT(state_dir)),
    NM_OPTION_VALUE('\0', "runtime-dir", "DIR", &nm_option_any, AT(runtime_dir)),
    NM_OPTION_VALUE('\0', "backend", "KIND", NM_OPTION_TYPE(take_backend, "auto, systemd or direct"), AT(backend)),
    NM_OPTION_VALUE('\0', "slice", "NAME",
                    NM_OPTION_TYPE(take_slice, "letters, digits and '_' followed by .slice, 63 characters at most"),
                    AT(slice)),
    NM_OPTION_VALUE('\0', "shim", "PATH", &nm_option_any, AT(shim)),
    NM_OPTION_VALUE('\0', "node-proc", "DIR", &nm_option_any, AT(node_proc)),
    NM_OPTION_VALUE('\0', "record", "FILE", &nm_option_any, AT(record)),
    NM_OPTION_VALUE('\0', "yarn-conf", "DIR", &nm_option_any, AT(yarn_conf)),
    NM_OPTION_FLAG('\0', "check-config", AT(check_config)),
    NM_OPTION_VALUE('\0', "migrate-check", "DIR", &nm_option_any, AT(migrate_dir)),
    NM_OPTION_FLAG('\0', "json", AT(as_json)),
    NM_OPTION_VALUE('\0', "log-level", "LEVEL",
                    NM_OPTION_TYPE(take_log_level, "err, warning, notice, info or debug"), 0),
    NM_OPTION_PRINT('h', "help", help),
    NM_OPTION_PRINT('V', "version", "nmd " NM_VERSION "\n"),
    {0},
};

int nm_daemon_parse_argv(int argc, char **argv, struct nm_daemon_options *o)
{
    const struct nm_option_parser p = {.tables = {{table, o}, {nm_yarn_setup_option_table, &o->setup}}};
    int first, r = nm_option_parse(&p, argc, argv, &first);

    if (r != 0)
        return r;
    o->config_given = o->config;
    o->state_given = o->state_dir;
    if (nm_yarn_setup_options_check(&o->setup, o->check_config) < 0)
        return -EINVAL;
    if (o->as_json && !o->migrate_dir)
        return nm_usage_error("--json requires --migrate-check DIR. Try 'nmd --help'.");
    if (o->migrate_dir && (o->check_config || o->setup.conf_dir))
        return nm_usage_error("--migrate-check can't be combined with --check-config or --yarn-setup. Try 'nmd "
                              "--help'.");
    if (first < argc)
        return nm_usage_error("'%s': nmd takes options only. Try 'nmd --help'.", argv[first]);
    return 0;
}

/* ---- default paths --------------------------------------------------------------------------- */

/* Returns the option's value if the option is given. Otherwise returns the system's directory for root. For other users
 * returns a directory below the user's directory that the environment variable names, or a directory with the uid in
 * its name below `fallback`. */
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

/* Searches the directory of nmd's program file first, where a build tree has links to the other programs, and then the
 * installation directory. */
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
