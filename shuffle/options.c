/* SPDX-License-Identifier: Apache-2.0 */

/* See options.h. */

#include "shuffle/options.h"

#include <getopt.h>
#include <stdio.h>

#include "shuffle/output.h"
#include "util/error.h"
#include "util/parse.h"
#include "util/diag.h"

#define MAX_CONNECTIONS 8192u

static const char help[] =
    "nm-shuffle [OPTION...] LOCAL-DIR...\n"
    "\n"
    "Serves the outputs of MapReduce's maps to reducers, as the auxiliary service mapreduce_shuffle.\n"
    "LOCAL-DIR: the node's local directories (yarn.nodemanager.local-dirs), 64 at most.\n"
    "nmd starts it and tells it on its standard input which jobs there are; its end ends it.\n"
    "\n"
    "  --listen=ADDRESS:PORT    where; or PORT alone, at all addresses (13562)\n"
    "  --max-connections=N      at most so many at once, 1 to 8192 (1024); half of them for one user\n"
    "  --user=NAME              becomes that user, and keeps of root's powers only that of reading\n"
    "  --help, --version\n";

static int set_max(const char *text, unsigned *ret)
{
    uint64_t n;

    if (nm_parse_u64(text, &n) < 0 || n < 1 || n > MAX_CONNECTIONS)
        return nm_usage_error("--max-connections '%s': it is a number from 1 to %u", text, MAX_CONNECTIONS);
    *ret = (unsigned)n;
    return 0;
}

int nm_shuffle_parse_argv(int argc, char **argv, struct nm_shuffle_options *ret)
{
    static const struct option options[] = {
        {"listen", required_argument, NULL, 'l'}, {"max-connections", required_argument, NULL, 'm'},
        {"user", required_argument, NULL, 'u'},   {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},      {0},
    };
    struct nm_shuffle_options o = {.listen = "13562", .max_connections = 1024};
    int c, r = 0;

    /* no short options except -h: a daemon starts this program, and long ones are readable */
    while (r == 0 && (c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
        switch (c) {
        case 'l': o.listen = optarg; break;
        case 'm': r = set_max(optarg, &o.max_connections); break;
        case 'u': o.user = optarg; break;
        case 'h': fputs(help, stdout); return 1;
        case 'V': puts("nm-shuffle " NM_VERSION); return 1;
        default: return -EINVAL; /* getopt has printed the error */
        }
    if (r < 0)
        return r;
    if (argc == optind)
        return nm_usage_error("no LOCAL-DIR: one at least, in which map outputs lie (--help has more)");
    if ((unsigned)(argc - optind) > NM_SHUFFLE_DIRS_MAX)
        return nm_usage_error("too many LOCAL-DIRs: 64 at most");
    o.dirs = argv + optind;
    *ret = o;
    return 0;
}
