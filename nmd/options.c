/* SPDX-License-Identifier: Apache-2.0 */

/* See options.h. */

#include "nmd/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "util/log.h"

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
static int parse_option(int c, struct nm_daemon_options *o)
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

int nm_daemon_parse_argv(int argc, char **argv, struct nm_daemon_options *o)
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
