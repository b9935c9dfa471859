/* SPDX-License-Identifier: Apache-2.0 */

/* See options.h. Each option is first parsed separately. Combinations of options are checked at the end. */

#include "nmscale/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/error.h"
#include "util/macros.h"
#include "util/option.h"

#define MINUTE (60 * NM_USEC_PER_SEC)
#define DAY (86400 * NM_USEC_PER_SEC)

static const char help[] =
"Usage: nmscale --rm URL [OPTION]...\n"
    "Shows which nodes of a YARN cluster can be given back, and decommissions them.\n"
    "\n"
    "  nmscale --rm http://rm:8088              list the nodes that can be given back\n"
    "  nmscale --rm http://rm:8088 --all        also list the other nodes, with the reasons\n"
    "  nmscale --rm http://rm:8088 --apply --exclude-file /etc/hadoop/yarn.exclude\n"
    "                                           decommission the nodes gracefully, and wait\n"
    "\n"
    "Options:\n"
    "  -r, --rm URL         the ResourceManager's address; repeat for each ResourceManager of a pair\n"
    "  -i, --idle-for TIME  how long a node must have been empty (default 5min)\n"
    "  -m, --min-nodes N    keep at least N running nodes (default 5)\n"
    "      --min-per-label N  keep at least N running nodes in each partition with a name (default 1)\n"
    "      --at-most N      give back at most N nodes at once (default: no limit)\n"
    "      --ask-nodes      ask each empty node for which applications it stores data\n"
    "      --trust-rm       rely on the ResourceManager's own check for data that is older than\n"
    "                       nmscale's first run\n"
    "  -a, --all            also list the nodes that stay, each with the reason\n"
    "  -j, --json           print JSON\n"
    "  -w, --watch          repeat until Ctrl-C\n"
    "      --interval TIME  watch: time between two checks (default 30s)\n"
    "      --state FILE     state that is kept between two runs (root: /var/lib/nmscale/state.json)\n"
    "      --max-gap TIME   a longer time between checks restarts all idle times (default 10min)\n"
    "      --http-timeout TIME  limit for one answer (default 10s)\n"
    "\n"
    "Options that change the cluster:\n"
    "      --apply          decommission the nodes gracefully, wait, and put them back if demand returns\n"
    "  -x, --exclude-file FILE  the ResourceManager's exclude file, which --apply and --readmit change\n"
    "      --rmadmin CMD    how to call rmadmin (default 'yarn rmadmin')\n"
    "      --timeout TIME   put back nodes that aren't decommissioned after this time (default 10min)\n"
    "      --force-after TIME  decommission by force after this time (default: never)\n"
    "      --poll TIME      time between two checks while nodes are decommissioned (default 2s)\n"
    "      --readmit HOST   remove a host from the exclude file, and exit\n"
    "\n"
    "  -h, --help           show this help\n"
    "  -V, --version        show the version\n";

/* Takes an http:// or https:// URL of host and port. Removes a final slash. Refuses a user and a password, because they
 * would be visible in the list of processes. */
static int take_rm(void *at, char *value, const struct nm_option *o)
{
    struct nm_scale_options *options = at;
    size_t scheme = strncmp(value, "http://", 7) == 0 ? 7 : strncmp(value, "https://", 8) == 0 ? 8 : 0;
    size_t n = strlen(value);

    if (options->n_rms == o->type->max)
        return -E2BIG;
    if (n > 0 && value[n - 1] == '/')
        value[--n] = '\0';
    if (scheme == 0 || n == scheme || n > NM_SCALE_WORD_MAX || strpbrk(value + scheme, "/?#@ \t\n\\"))
        return -EINVAL;
    options->rms[options->n_rms++] = value;
    return 0;
}

static int take_msec(void *at, char *value, const struct nm_option *o)
{
    uint64_t usec;
    int r = nm_option_take_duration(&usec, value, o);

    if (r >= 0)
        *(uint64_t *)at = usec / NM_USEC_PER_MSEC;
    return r;
}

static int take_host(void *at, char *value, const struct nm_option *o)
{
    struct nm_scale_options *options = at;

    if (!*value || strlen(value) > NM_SCALE_WORD_MAX || strpbrk(value, " \t\n\r\f#"))
        return -EINVAL;
    if (options->n_readmit == o->type->max)
        return -E2BIG;
    options->readmit[options->n_readmit++] = value;
    return 0;
}

#define AT(member) offsetof(struct nm_scale_options, member)
#define TIMES(take, least_text, least) \
    {take, "a time from " least_text " to 365d, such as 30s, 5min or 2h", least, 365 * DAY}
#define TEXT_OF(number) #number
#define NODES_FROM_TO(least, most) \
    NM_OPTION_RANGE(nm_option_take_u64, "a whole number from " #least " to " TEXT_OF(most), least, most)
#define NODES(least) NODES_FROM_TO(least, NM_SCALE_NODES_MAX)

static const struct nm_option_type file = {nm_option_take_text, "the name of a file", 0, 0};
static const struct nm_option_type any_time = TIMES(take_msec, "0s", 0);
static const struct nm_option_type at_least_100ms = TIMES(nm_option_take_duration, "100ms", NM_USEC_PER_SEC / 10);
static const struct nm_option_type at_least_1s = TIMES(nm_option_take_duration, "1s", NM_USEC_PER_SEC);

static const struct nm_option table[] = {
    NM_OPTION_VALUE('r', "rm", "URL",
                    NM_OPTION_RANGE(take_rm, "http://HOST:PORT or https://HOST:PORT, as in http://rm:8088", 0,
                                    NM_SCALE_RMS_MAX), 0),
    NM_OPTION_VALUE('i', "idle-for", "TIME", &any_time, AT(rules.idle_for_msec)),
    NM_OPTION_VALUE('m', "min-nodes", "N", NODES(0), AT(rules.min_nodes)),
    NM_OPTION_VALUE('\0', "min-per-label", "N", NODES(0), AT(rules.min_per_label)),
    NM_OPTION_VALUE('\0', "at-most", "N", NODES(1), AT(rules.at_most)),
    NM_OPTION_FLAG('\0', "ask-nodes", AT(ask_nodes)),
    NM_OPTION_FLAG('\0', "trust-rm", AT(rules.trust_unknown)),
    NM_OPTION_FLAG('a', "all", AT(all)),
    NM_OPTION_FLAG('j', "json", AT(json)),
    NM_OPTION_FLAG('w', "watch", AT(watch)),
    NM_OPTION_VALUE('\0', "interval", "TIME", &at_least_100ms, AT(interval_usec)),
    NM_OPTION_VALUE('\0', "state", "FILE", &file, AT(state)),
    NM_OPTION_VALUE('\0', "max-gap", "TIME", &at_least_1s, AT(max_gap_usec)),
    NM_OPTION_VALUE('\0', "http-timeout", "TIME", &at_least_100ms, AT(http_timeout_usec)),
    NM_OPTION_FLAG('\0', "apply", AT(apply)),
    NM_OPTION_VALUE('x', "exclude-file", "FILE", &file, AT(exclude_file)),
    NM_OPTION_VALUE('\0', "rmadmin", "CMD", NM_OPTION_TYPE(nm_option_take_text, "a command"), AT(rmadmin)),
    NM_OPTION_VALUE('\0', "timeout", "TIME", &at_least_1s, AT(timeout_usec)),
    NM_OPTION_VALUE('\0', "force-after", "TIME", &at_least_1s, AT(force_after_usec)),
    NM_OPTION_VALUE('\0', "poll", "TIME", &at_least_100ms, AT(poll_usec)),
    NM_OPTION_VALUE('\0', "readmit", "HOST",
                    NM_OPTION_RANGE(take_host, "a host as the ResourceManager names it", 0, NM_SCALE_HOSTS_MAX), 0),
    NM_OPTION_PRINT('h', "help", help),
    NM_OPTION_PRINT('V', "version", "nmscale " NM_VERSION "\n"),
    {0},
};

/* Refuses wrong combinations. Also refuses options that would have no effect, because the user expects an effect. */
static int check(const struct nm_scale_options *o)
{
    bool changes = o->apply || o->n_readmit > 0;

    if (o->n_rms == 0)
        return nm_usage_error("--rm is missing: the ResourceManager's address, as in --rm http://rm:8088");
    if (o->apply && o->n_readmit > 0)
        return nm_usage_error("--apply and --readmit can't be combined");
    if (changes && !o->exclude_file)
        return nm_usage_error("%s needs --exclude-file: the file that yarn.resourcemanager.nodes.exclude-path names",
                              o->apply ? "--apply" : "--readmit");
    if (!changes && (o->exclude_file || o->force_after_usec != NM_SCALE_NEVER))
        return nm_usage_error("--exclude-file and --force-after need --apply");
    if (o->n_readmit > 0 && o->watch)
        return nm_usage_error("--watch and --readmit can't be combined");
    if (o->watch && o->interval_usec > o->max_gap_usec)
        return nm_usage_error("--interval is longer than --max-gap: each check would restart all idle times");
    return 0;
}

int nm_scale_parse_argv(int argc, char **argv, struct nm_scale_options *ret)
{
    struct nm_scale_options o = {
        .rules = {.idle_for_msec = 5 * MINUTE / NM_USEC_PER_MSEC,
                  .min_nodes = 5,
                  .min_per_label = 1,
                  .at_most = UINT64_MAX},
        .max_gap_usec = 10 * MINUTE,
        .interval_usec = 30 * NM_USEC_PER_SEC,
        .timeout_usec = 10 * MINUTE,
        .force_after_usec = NM_SCALE_NEVER,
        .poll_usec = 2 * NM_USEC_PER_SEC,
        .http_timeout_usec = 10 * NM_USEC_PER_SEC,
        .rmadmin = "yarn rmadmin",
    };
    const struct nm_option_parser p = {.tables = {{table, &o}}};
    int r, first;

    /* a user who gives no arguments gets the help, and nmscale exits with success */
    if (argc < 2) {
        (void)fputs(help, stdout);
        return 1;
    }
    r = nm_option_parse(&p, argc, argv, &first);
    if (r != 0)
        return r;
    if (first < argc)
        return nm_usage_error("'%s': nmscale takes options only", argv[first]);
    r = check(&o);
    if (r < 0)
        return r;
    *ret = o;
    return 0;
}
