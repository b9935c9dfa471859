/* SPDX-License-Identifier: Apache-2.0 */

/* See options.h. */

#include "shuffle/options.h"

#include "shuffle/output.h"
#include "util/error.h"
#include "util/option.h"

static const char help[] =
    "nm-shuffle [OPTION...] LOCAL-DIR...\n"
    "\n"
    "Serves the outputs of MapReduce's maps to reducers, as the auxiliary service mapreduce_shuffle.\n"
    "LOCAL-DIR: the node's local directories (yarn.nodemanager.local-dirs), at most 64.\n"
    "nmd starts nm-shuffle and sends the jobs to its standard input. It exits when its standard input is closed.\n"
    "\n"
    "  --listen=ADDRESS:PORT    listen here; PORT alone: at all addresses (default 13562)\n"
    "  --max-connections=N      maximum, 1 to 8192 (default 1024); one user gets at most half\n"
    "  --user=NAME              run as this user, with only the capability to read all files\n"
    "  --help, --version\n";

#define AT(member) offsetof(struct nm_shuffle_options, member)

/* only -h is a short option: nmd starts this program, and long options make the command line readable */
static const struct nm_option table[] = {
    NM_OPTION_VALUE('\0', "listen", "ADDRESS:PORT", &nm_option_any, AT(listen)),
    NM_OPTION_VALUE('\0', "max-connections", "N",
                    NM_OPTION_RANGE(nm_option_take_u32, "a whole number from 1 to 8192", 1, 8192), AT(max_connections)),
    NM_OPTION_VALUE('\0', "user", "NAME", &nm_option_any, AT(user)),
    NM_OPTION_PRINT('h', "help", help),
    NM_OPTION_PRINT('\0', "version", "nm-shuffle " NM_VERSION "\n"),
    {0},
};

int nm_shuffle_parse_argv(int argc, char **argv, struct nm_shuffle_options *ret)
{
    struct nm_shuffle_options o = {.listen = "13562", .max_connections = 1024};
    const struct nm_option_parser p = {.tables = {{table, &o}}};
    int first, r = nm_option_parse(&p, argc, argv, &first);

    if (r != 0)
        return r;
    if (argc == first)
        return nm_usage_error("LOCAL-DIR is missing: name at least one directory with map outputs (see --help)");
    if ((unsigned)(argc - first) > NM_SHUFFLE_DIRS_MAX)
        return nm_usage_error("too many LOCAL-DIRs: at most 64 are allowed");
    o.dirs = argv + first;
    *ret = o;
    return 0;
}
