/* SPDX-License-Identifier: Apache-2.0 */

/* See cli.h. */

#include "shuffle/cli.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "shuffle/capabilities.h"
#include "shuffle/map-output.h"
#include "shuffle/server.h"
#include "util/error.h"
#include "util/option.h"

/* ---- options --------------------------------------------------------------------------------- */

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
    "  --keep-page-cache        do not remove outputs that were read from a disk from the page cache\n"
    "  --help, --version\n";

#define AT(member) offsetof(struct nm_shuffle_options, member)

/* only -h is a short option: nmd starts this program, and long options make the command line readable */
static const struct nm_option table[] = {
    NM_OPTION_VALUE('\0', "listen", "ADDRESS:PORT", &nm_option_any, AT(listen)),
    NM_OPTION_VALUE('\0', "max-connections", "N",
                    NM_OPTION_RANGE(nm_option_take_u32, "a whole number from 1 to 8192", 1, 8192), AT(max_connections)),
    NM_OPTION_VALUE('\0', "user", "NAME", &nm_option_any, AT(user)),
    NM_OPTION_FLAG('\0', "keep-page-cache", AT(keeps_cache)),
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

/* ---- run ------------------------------------------------------------------------------------- */

static void service_done(struct nm_shuffle_service *s)
{
    nm_shuffle_jobs_free(s->jobs);
    nm_shuffle_connections_free(s->connections);
    nm_shuffle_index_cache_free(s->dirs.index_cache);
}

/* Returns how many files may be kept open in addition to the descriptors that all connections together may need. */
static unsigned max_kept_files(uint32_t max_connections)
{
    const uint64_t needed = (uint64_t)NM_SHUFFLE_CONNECTION_FILES * max_connections + NM_SHUFFLE_OTHER_FILES;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    return (unsigned)NM_MIN(nm_sub_u64(limit.rlim_cur, needed), (uint64_t)NM_SHUFFLE_KEPT_FILES_MAX);
}

static int serve(const struct nm_shuffle_options *o, FILE *in, FILE *out, char **ret_message)
{
    _cleanup_(service_done) struct nm_shuffle_service s = {
        .request_usec = NM_SHUFFLE_REQUEST_USEC,
        .drops_cache = !o->keeps_cache,
        .max_kept_files = max_kept_files(o->max_connections),
    };
    _cleanup_(nm_shuffle_server_freep) struct nm_shuffle_server *server = NULL;
    int r;

    for (char **name = o->dirs; *name; name++)
        s.dirs.names[s.dirs.n++] = *name;
    if ((o->user && (r = nm_shuffle_drop_capabilities(o->user, ret_message)) < 0) ||
        (r = nm_shuffle_jobs_new(&s.jobs)) < 0 ||
        (r = nm_shuffle_index_cache_new(&s.dirs.index_cache)) < 0 ||
        (r = nm_shuffle_connections_new(o->max_connections, &s.connections)) < 0 ||
        (r = nm_shuffle_server_new(&s, o->listen, &server, ret_message)) < 0)
        return r;
    nm_shuffle_jobs_share(s.jobs, nm_shuffle_share_of_node());
    if (fprintf(out, "{\"listening\": %u}\n", s.port) < 0 || fflush(out) != 0)
        return nm_fail(ret_message, -errno, "Can't write to standard output: %m");
    return nm_shuffle_control_run(&s, in, out);
}

int nm_shuffle_run(const struct nm_shuffle_options *o, FILE *in, FILE *out)
{
    _cleanup_free_ char *message = NULL;
    int r = serve(o, in, out, &message);

    if (r < 0)
        nm_diag("%s", message ? message : strerror(-r));
    return r;
}
