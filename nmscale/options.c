/* SPDX-License-Identifier: Apache-2.0 */

/* See options.h. All options are taken first, each by itself; what goes with what is asked in the end. */

#include "nmscale/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>

#include "util/parse.h"
#include "util/diag.h"

#define MINUTE (60 * NM_USEC_PER_SEC)
#define DAY (86400 * NM_USEC_PER_SEC)

static void usage(FILE *f)
{
    fputs(
        "Usage: nmscale --rm URL [OPTION]...\n"
        "Name the nodes of a YARN cluster that can be given back, and give them back.\n"
        "\n"
        "  nmscale --rm http://rm:8088              which nodes could go\n"
        "  nmscale --rm http://rm:8088 --all        and why the others stay\n"
        "  nmscale --rm http://rm:8088 --apply --exclude-file /etc/hadoop/yarn.exclude\n"
        "                                           decommission them gracefully, and wait\n"
        "\n"
        "Options:\n"
        "  -r, --rm URL         the ResourceManager's address; again for each one of a pair\n"
        "  -i, --idle-for TIME  a node can go when it has been empty for so long (default 5min)\n"
        "  -m, --min-nodes N    so many running nodes stay (default 5)\n"
        "      --min-per-label N  and so many in each partition that has a name (default 1)\n"
        "      --at-most N      so many go in one go (default: no limit)\n"
        "      --ask-nodes      ask each empty node which applications it keeps data for\n"
        "      --trust-rm       leave data from before nmscale looked to the ResourceManager's own check\n"
        "  -a, --all            list the nodes that stay, too, each with the reason\n"
        "  -j, --json           print JSON\n"
        "  -w, --watch          go on looking until Ctrl-C\n"
        "      --interval TIME  watch: between two looks (default 30s)\n"
        "      --state FILE     what is remembered between two runs (root: /var/lib/nmscale/state.json)\n"
        "      --max-gap TIME   looks farther apart than this start all times anew (default 10min)\n"
        "      --http-timeout TIME  for one answer (default 10s)\n"
        "\n"
        "Options that change something:\n"
        "      --apply          decommission the nodes gracefully, wait, and undo it when demand comes back\n"
        "  -x, --exclude-file FILE  the ResourceManager's, where --apply and --readmit write\n"
        "      --rmadmin CMD    how to call rmadmin (default 'yarn rmadmin')\n"
        "      --timeout TIME   put back what isn't decommissioned by then (default 10min)\n"
        "      --force-after TIME  let the ResourceManager decommission by force then (default: never)\n"
        "      --poll TIME      between two looks while nodes go (default 2s)\n"
        "      --readmit HOST   take a host that was given back off the exclude file, and do no more\n"
        "\n"
        "  -h, --help           this text\n"
        "  -V, --version        the version\n",
        f);
}

/* Without a letter: beyond any character, with which getopt_long() answers for the others. */
enum {
    OPT_MIN_PER_LABEL = 256,
    OPT_AT_MOST,
    OPT_ASK_NODES,
    OPT_TRUST_RM,
    OPT_INTERVAL,
    OPT_STATE,
    OPT_MAX_GAP,
    OPT_HTTP_TIMEOUT,
    OPT_APPLY,
    OPT_RMADMIN,
    OPT_TIMEOUT,
    OPT_FORCE_AFTER,
    OPT_POLL,
    OPT_READMIT,
};

static const struct option long_options[] = {
    {"rm", required_argument, NULL, 'r'},
    {"idle-for", required_argument, NULL, 'i'},
    {"min-nodes", required_argument, NULL, 'm'},
    {"min-per-label", required_argument, NULL, OPT_MIN_PER_LABEL},
    {"at-most", required_argument, NULL, OPT_AT_MOST},
    {"ask-nodes", no_argument, NULL, OPT_ASK_NODES},
    {"trust-rm", no_argument, NULL, OPT_TRUST_RM},
    {"all", no_argument, NULL, 'a'},
    {"json", no_argument, NULL, 'j'},
    {"watch", no_argument, NULL, 'w'},
    {"interval", required_argument, NULL, OPT_INTERVAL},
    {"state", required_argument, NULL, OPT_STATE},
    {"max-gap", required_argument, NULL, OPT_MAX_GAP},
    {"http-timeout", required_argument, NULL, OPT_HTTP_TIMEOUT},
    {"apply", no_argument, NULL, OPT_APPLY},
    {"exclude-file", required_argument, NULL, 'x'},
    {"rmadmin", required_argument, NULL, OPT_RMADMIN},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"force-after", required_argument, NULL, OPT_FORCE_AFTER},
    {"poll", required_argument, NULL, OPT_POLL},
    {"readmit", required_argument, NULL, OPT_READMIT},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {0},
};

/* "http://host:port", with nothing behind it but a slash, which is cut off. No user, no password: they would be seen
 * in the list of processes. */
static int take_rm(struct nm_scale_options *o, char *word)
{
    size_t scheme = strncmp(word, "http://", 7) == 0 ? 7 : strncmp(word, "https://", 8) == 0 ? 8 : 0;
    size_t n = strlen(word);

    if (o->n_rms == NM_SCALE_RMS_MAX)
        return nm_usage_error("--rm is given more than %d times", NM_SCALE_RMS_MAX);
    if (n > 0 && word[n - 1] == '/')
        word[--n] = '\0';
    if (scheme == 0 || n == scheme || n > NM_SCALE_WORD_MAX || strpbrk(word + scheme, "/?#@ \t\n\\"))
        return nm_usage_error("--rm '%s': it must be http://HOST:PORT or https://HOST:PORT, as in http://rm:8088",
                              word);
    o->rms[o->n_rms++] = word;
    return 0;
}

static int take_time(const char *option, const char *word, uint64_t least, uint64_t *ret)
{
    uint64_t v;
    char a[32];

    if (nm_parse_duration(word, &v) < 0 || v < least || v > 365 * DAY)
        return nm_usage_error("--%s '%s': it must be a time from %s to 365d, such as 30s, 5min or 2h", option, word,
                              least == 0 ? "0s" : nm_format_duration(least, a, sizeof a));
    *ret = v;
    return 0;
}

static int take_number(const char *option, const char *word, uint64_t least, uint64_t *ret)
{
    uint64_t v;

    if (nm_parse_u64(word, &v) < 0 || v < least || v > NM_SCALE_NODES_MAX)
        return nm_usage_error("--%s '%s': it must be a whole number from %" PRIu64 " to %d", option, word, least,
                              NM_SCALE_NODES_MAX);
    *ret = v;
    return 0;
}

static int take_file(const char *option, const char *word, const char **ret)
{
    if (!*word)
        return nm_usage_error("--%s: the name of the file is empty", option);
    *ret = word;
    return 0;
}

static int take_host(struct nm_scale_options *o, const char *word)
{
    if (!*word || strlen(word) > NM_SCALE_WORD_MAX || strpbrk(word, " \t\n\r\f#"))
        return nm_usage_error("--readmit '%s': it must be a host as the ResourceManager names it", word);
    if (o->n_readmit == NM_SCALE_HOSTS_MAX)
        return nm_usage_error("--readmit is given more than %d times", NM_SCALE_HOSTS_MAX);
    o->readmit[o->n_readmit++] = word;
    return 0;
}

static int take_flag(int c, struct nm_scale_options *o)
{
    switch (c) {
    case 'a':
        o->all = true;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case 'w':
        o->watch = true;
        return 0;
    case OPT_APPLY:
        o->apply = true;
        return 0;
    case OPT_ASK_NODES:
        o->ask_nodes = true;
        return 0;
    case OPT_TRUST_RM:
        o->rules.trust_unknown = true;
        return 0;
    default:
        fputs("Try 'nmscale --help'.\n", stderr);
        return -EINVAL;
    }
}

static int take_option(int c, struct nm_scale_options *o)
{
    uint64_t usec;
    int r;

    switch (c) {
    case 'r':
        return take_rm(o, optarg);
    case 'i':
        r = take_time("idle-for", optarg, 0, &usec);
        if (r >= 0)
            o->rules.idle_for_msec = usec / NM_USEC_PER_MSEC;
        return r;
    case 'm':
        return take_number("min-nodes", optarg, 0, &o->rules.min_nodes);
    case OPT_MIN_PER_LABEL:
        return take_number("min-per-label", optarg, 0, &o->rules.min_per_label);
    case OPT_AT_MOST:
        return take_number("at-most", optarg, 1, &o->rules.at_most);
    case OPT_INTERVAL:
        return take_time("interval", optarg, NM_USEC_PER_SEC / 10, &o->interval_usec);
    case OPT_STATE:
        return take_file("state", optarg, &o->state);
    case OPT_MAX_GAP:
        return take_time("max-gap", optarg, NM_USEC_PER_SEC, &o->max_gap_usec);
    case OPT_HTTP_TIMEOUT:
        return take_time("http-timeout", optarg, NM_USEC_PER_SEC / 10, &o->http_timeout_usec);
    case 'x':
        return take_file("exclude-file", optarg, &o->exclude_file);
    case OPT_RMADMIN:
        o->rmadmin = optarg;
        return *optarg ? 0 : nm_usage_error("--rmadmin: the command is empty");
    case OPT_TIMEOUT:
        return take_time("timeout", optarg, NM_USEC_PER_SEC, &o->timeout_usec);
    case OPT_FORCE_AFTER:
        return take_time("force-after", optarg, NM_USEC_PER_SEC, &o->force_after_usec);
    case OPT_POLL:
        return take_time("poll", optarg, NM_USEC_PER_SEC / 10, &o->poll_usec);
    case OPT_READMIT:
        return take_host(o, optarg);
    default:
        return take_flag(c, o);
    }
}

/* Options that would be without effect are refused: who gives one believes that it has one. */
static int check(const struct nm_scale_options *o)
{
    bool changes = o->apply || o->n_readmit > 0;

    if (o->n_rms == 0)
        return nm_usage_error("--rm is missing: the ResourceManager's address, as in --rm http://rm:8088");
    if (o->apply && o->n_readmit > 0)
        return nm_usage_error("--apply and --readmit: either one or the other");
    if (changes && !o->exclude_file)
        return nm_usage_error("%s needs --exclude-file: the file that yarn.resourcemanager.nodes.exclude-path names",
                              o->apply ? "--apply" : "--readmit");
    if (!changes && (o->exclude_file || o->force_after_usec != NM_SCALE_NEVER))
        return nm_usage_error("--exclude-file and --force-after go with --apply");
    if (o->n_readmit > 0 && o->watch)
        return nm_usage_error("--watch and --readmit: either one or the other");
    if (o->watch && o->interval_usec > o->max_gap_usec)
        return nm_usage_error("--interval is longer than --max-gap: no node would ever have been empty for long");
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
    int c, r;

    /* who calls it bare wants to know what it is, and has done nothing wrong */
    if (argc < 2) {
        usage(stdout);
        return 1;
    }
    while ((c = getopt_long(argc, argv, "r:i:m:ajwx:hV", long_options, NULL)) >= 0) {
        if (c == 'h') {
            usage(stdout);
            return 1;
        }
        if (c == 'V') {
            puts("nmscale " NM_VERSION);
            return 1;
        }
        r = take_option(c, &o);
        if (r < 0)
            return r;
    }
    if (optind < argc)
        return nm_usage_error("'%s': nmscale takes options only", argv[optind]);
    r = check(&o);
    if (r < 0)
        return r;
    *ret = o;
    return 0;
}
