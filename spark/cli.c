/* SPDX-License-Identifier: Apache-2.0 */

/* See cli.h. */

#include "spark/cli.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "shuffle/capabilities.h"
#include "shuffle/share.h"
#include "spark/control.h"
#include "spark/server.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/option.h"

/* ---- options --------------------------------------------------------------------------------- */

static const char help[] =
    "nm-spark-shuffle [OPTION...] LOCAL-DIR...\n"
    "\n"
    "Serves the shuffle files of Spark's executors, as the auxiliary service spark_shuffle.\n"
    "LOCAL-DIR: the node's local directories (yarn.nodemanager.local-dirs), at most 64.\n"
    "nmd starts nm-spark-shuffle and sends the applications to its standard input. It exits when its standard input\n"
    "is closed.\n"
    "\n"
    "  --listen=ADDRESS:PORT    listen here; PORT alone: at all addresses (default 7337)\n"
    "  --max-connections=N      maximum, 1 to 8192 (default 4096); one user gets at most half\n"
    "  --max-chunks=N           send at most N blocks at the same time (spark.shuffle.maxChunksBeingTransferred)\n"
    "  --timeout=SECONDS        close a connection on which nothing is sent or received for this time, 1 to 86400\n"
    "                           (spark.shuffle.io.connectionTimeout; default 240, or 60 if the client doesn't read)\n"
    "  --backlog=N              connections that may wait to be accepted, 1 to 65535 (spark.shuffle.io.backLog,\n"
    "                           default 512)\n"
    "  --keep-alive             check whether idle clients are still there (spark.shuffle.io.enableTcpKeepAlive)\n"
    "  --authenticate           clients must know the secret of their application (spark.authenticate)\n"
    "  --crypto                 allow Spark's own handshake, with encryption (spark.network.crypto.enabled)\n"
    "  --crypto-version=N       its version, 1 or 2 (spark.network.crypto.authEngineVersion, default 1)\n"
    "  --no-sasl                with --crypto: refuse SASL (spark.network.crypto.saslFallback)\n"
    "  --sasl-encrypt           refuse SASL without encryption (spark.network.sasl.serverAlwaysEncrypt)\n"
    "  --state=DIRECTORY        keep the registered executors here; the directory belongs to the user of --user\n"
    "  --user=NAME              run as this user, with only the capability to read all files\n"
    "  --help, --version\n";

#define AT(member) offsetof(struct nm_spark_options, member)

/* only -h is a short option: nmd starts this program, and long options make the command line readable */
static const struct nm_option table[] = {
    NM_OPTION_VALUE('\0', "listen", "ADDRESS:PORT", &nm_option_any, AT(listen)),
    NM_OPTION_VALUE('\0', "max-connections", "N",
                    NM_OPTION_RANGE(nm_option_take_u32, "a whole number from 1 to 8192", 1, 8192), AT(max_connections)),
    NM_OPTION_VALUE('\0', "max-chunks", "N",
                    NM_OPTION_RANGE(nm_option_take_u64, "a whole number above 0", 1, INT64_MAX), AT(max_chunks)),
    NM_OPTION_VALUE('\0', "timeout", "SECONDS",
                    NM_OPTION_RANGE(nm_option_take_u32, "a whole number from 1 to 86400", 1, 86400), AT(timeout_sec)),
    NM_OPTION_VALUE('\0', "backlog", "N",
                    NM_OPTION_RANGE(nm_option_take_u32, "a whole number from 1 to 65535", 1, 65535), AT(backlog)),
    NM_OPTION_FLAG('\0', "keep-alive", AT(keeps_alive)),
    NM_OPTION_FLAG('\0', "authenticate", AT(authenticates)),
    NM_OPTION_FLAG('\0', "crypto", AT(has_engine)),
    NM_OPTION_VALUE('\0', "crypto-version", "N", NM_OPTION_RANGE(nm_option_take_u32, "1 or 2", 1, 2),
                    AT(engine_version)),
    NM_OPTION_FLAG('\0', "no-sasl", AT(refuses_sasl)),
    NM_OPTION_FLAG('\0', "sasl-encrypt", AT(must_encrypt)),
    NM_OPTION_VALUE('\0', "state", "DIRECTORY", &nm_option_any, AT(state)),
    NM_OPTION_VALUE('\0', "user", "NAME", &nm_option_any, AT(user)),
    NM_OPTION_PRINT('h', "help", help),
    NM_OPTION_PRINT('\0', "version", "nm-spark-shuffle " NM_VERSION "\n"),
    {0},
};

int nm_spark_parse_argv(int argc, char **argv, struct nm_spark_options *ret)
{
    struct nm_spark_options o = {.listen = "7337", .max_connections = 4096, .engine_version = 1};
    const struct nm_option_parser p = {.tables = {{table, &o}}};
    int first, r = nm_option_parse(&p, argc, argv, &first);

    if (r != 0)
        return r;
    if (argc == first)
        return nm_usage_error("LOCAL-DIR is missing: name at least one directory with files of executors (see --help)");
    if ((unsigned)(argc - first) > NM_SPARK_LOCAL_DIRS_MAX)
        return nm_usage_error("too many LOCAL-DIRs: at most 64 are allowed");
    o.dirs = argv + first;
    *ret = o;
    return 0;
}

/* ---- run ------------------------------------------------------------------------------------- */

static void service_done(struct nm_spark_service *s)
{
    nm_spark_applications_free(s->applications);
    nm_shuffle_connections_free(s->connections);
    nm_shuffle_index_cache_free(s->index_cache);
    nm_spark_data_files_free(s->data_files);
    nm_spark_memory_free(s->memory);
    nm_spark_guests_free(s->guests);
}

/* Opens the directory of the registrations, as the user that the server has become. */
static int open_state(const char *path, int *ret_fd, char **ret_message)
{
    int fd = path ? RET_NERRNO(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) : -EBADF;

    if (path && fd < 0)
        return nm_fail(ret_message, fd, "--state %s: %s", path, strerror(-fd));
    *ret_fd = fd;
    return 0;
}

/* Returns how many data files may be open for further blocks: a part of the descriptors that this process may have,
 * because connections need most of them. */
static unsigned max_data_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    return (unsigned)NM_MIN(limit.rlim_cur / 16, (rlim_t)NM_SPARK_DATA_FILES_MAX);
}

static int serve(const struct nm_spark_options *o, FILE *in, FILE *out, char **ret_message)
{
    const struct nm_spark_listen listen = {o->listen, o->backlog, o->keeps_alive};
    struct nm_spark_local_dirs locals = {};
    _cleanup_close_ int state = -EBADF;
    _cleanup_(service_done) struct nm_spark_service s = {
        .auth = {o->authenticates, o->has_engine, !o->refuses_sasl, o->must_encrypt, o->engine_version},
        .limits = {o->max_chunks, o->timeout_sec * NM_USEC_PER_SEC},
    };
    _cleanup_(nm_spark_server_freep) struct nm_spark_server *server = NULL;
    int r;

    for (char **name = o->dirs; *name; name++)
        locals.names[locals.n++] = *name;
    if ((o->user && (r = nm_shuffle_drop_capabilities(o->user, ret_message)) < 0) ||
        (r = open_state(o->state, &state, ret_message)) < 0 ||
        (r = nm_spark_applications_new(&locals, state, &s.applications)) < 0 ||
        (r = nm_shuffle_connections_new(o->max_connections, &s.connections)) < 0 ||
        (r = nm_shuffle_index_cache_new(&s.index_cache)) < 0 ||
        (r = nm_spark_memory_new(NM_SPARK_MEMORY_MAX, &s.memory)) < 0 || (r = nm_spark_guests_new(&s.guests)) < 0 ||
        (r = nm_spark_data_files_new(max_data_files(), &s.data_files)) < 0 ||
        (r = nm_spark_server_new(&s, &listen, &server, ret_message)) < 0)
        return r;
    nm_shuffle_connections_limit_guests(s.connections, o->max_connections / 8, o->max_connections / 2);
    nm_spark_applications_share(s.applications, nm_shuffle_share_of_node());
    if (fprintf(out, "{\"listening\": %u}\n", nm_spark_server_port(server)) < 0 || fflush(out) != 0)
        return nm_fail(ret_message, -errno, "Can't write to standard output: %m");
    return nm_spark_control_run(&s, in, out);
}

int nm_spark_run(const struct nm_spark_options *o, FILE *in, FILE *out)
{
    _cleanup_free_ char *message = NULL;
    int r = serve(o, in, out, &message);

    if (r < 0)
        nm_diag("%s", message ? message : strerror(-r));
    return r;
}
