/* SPDX-License-Identifier: Apache-2.0 */

/* See config-warnings.h. */

#include "yarn/launch/config-warnings.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "yarn/launch/resources.h"
#include "yarn/launch/user.h"

#define LOCAL_USER "yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user"

struct warnings {
    void (*report_cb)(int level, const char *sentence);
};

nm_printf(2, 3) static void add_warning(const struct warnings *d, const char *format, ...)
{
    char sentence[PATH_MAX + 512];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(sentence, sizeof sentence, format, ap);
    va_end(ap);
    d->report_cb(LOG_WARNING, sentence);
}

/* ---- the containers' user ----------------------------------------------------------------- */

static void check_local_user(const struct warnings *d, const struct nm_yarn_settings *s, uid_t nmd_uid)
{
    uid_t uid;
    gid_t gid;

    if (nmd_uid != 0 || !s->limit_users || !s->local_user)
        return;
    if (nm_yarn_user_find(s->local_user, &uid, &gid) == -ENOENT)
        add_warning(d,
            LOCAL_USER " = '%.100s': this user doesn't exist on this node, and all containers run as this user; "
                 "containers fail until the user exists", s->local_user);
}

/* ---- certificates ------------------------------------------------------------------------- */

/* Checks the file of certificates, which nm-localizer reads as the container's user. */
static void check_certificates(const struct warnings *d, const char *localizer_program, const char *path)
{
    _cleanup_free_ char *unusable = NULL;
    struct stat st;
    const char *why = NULL;

    if (!path || !*path)
        return;
    if (stat(path, &st) < 0)
        why = strerror(errno);
    else if (!S_ISREG(st.st_mode))
        why = "it is not a regular file";
    else if (!(st.st_mode & S_IROTH))
        why = "not all users may read it, but it is read as the user of each container; run chmod o+r on it";
    else
        why = unusable = nm_yarn_certificates_problem(localizer_program, path);
    if (why)
        add_warning(d, "nmd.webhdfs.ca-file = '%s': %s; until this is fixed, nothing is fetched from HDFS with TLS",
                    path, why);
}

/* ---- commands ----------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

static bool is_found(const char *name, const char *dirs)
{
    char path[PATH_MAX];

    if (strchr(name, '/'))
        return is_program(name);
    for (const char *p = dirs; *p; p += strcspn(p, ":"), p += *p == ':') {
        (void)snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(p, ":"), p, name);
        if (is_program(path))
            return true;
    }
    return false;
}

/* Checks that each command exists in one of the directories in which the workers look for commands. */
static void check_commands(const struct warnings *d, json_t *commands)
{
    _cleanup_free_ char *dirs = nm_yarn_fetching_path();
    const char *scheme;
    json_t *words;

    if (!dirs)
        return;
    json_object_foreach(commands, scheme, words) {
        const char *program = json_string_value(json_array_get(words, 0));

        if (program && !is_found(program, dirs))
            add_warning(d,
                "nmd.fetch-command.%.60s: the program '%.500s' doesn't exist%s%.1000s; URIs of this scheme can't "
                     "be fetched until the program exists", scheme, program, strchr(program, '/') ? "" : " in ",
                        strchr(program, '/') ? "" : dirs);
    }
}

/* ---- name nodes --------------------------------------------------------------------------- */

static void warn_address(const struct warnings *d, const char *name, const char *value, const char *why)
{
    if (why)
        add_warning(d, "%.300s = '%.300s': %.300s", name, value, why);
    else
        add_warning(d, "%.300s = '%.300s' is not a valid address (HOST, HOST:PORT with a port from 1 to 65535, or "
                 "[IPv6]:PORT, without a user), and is ignored", name, value);
}

/* Warns of name nodes without an address, because they are not used. If all name nodes of a service lack an address,
 * the service's name is treated as a host name. */
static void check_name_nodes(const struct warnings *d, json_t *lacking)
{
    json_t *item;
    size_t i;

    json_array_foreach(lacking, i, item) {
        const char *node = json_string_value(item), *odd = json_string_value(json_object_get(item, "name"));
        const char *service = json_string_value(json_object_get(item, "service"));

        if (odd)
            warn_address(d, odd, json_string_value(json_object_get(item, "value")),
                         json_string_value(json_object_get(item, "why")));
        else if (service)
            add_warning(d, "The name service '%.300s' has no address: dfs.ha.namenodes.%.300s lists no name node, and "
                     "dfs.namenode.rpc-address.%.300s isn't set, nor is the http-address or https-address that this "
                     "dfs.http.policy requires; hdfs://%.300s is treated as a host of that name",
                        service, service, service, service);
        else
            add_warning(d,
                        "dfs.namenode.rpc-address.%.300s isn't set, nor is the http-address or https-address that this "
                     "dfs.http.policy requires; nothing is fetched from this name node, which is listed in "
                     "dfs.ha.namenodes.%.*s", node,
                        (int)NM_MIN(strcspn(node, "."), 200U), node);
    }
}

/* ---- the default file system -------------------------------------------------------------- */

/* Warns if this node can't fetch from the default file system. Most files of applications are there, so nearly every
 * container would fail. */
static void check_scheme_command(const struct warnings *d, const struct nm_yarn_settings *s)
{
    static const char *const fetched[] = {"file", "http", "https", "hdfs", "webhdfs", "swebhdfs"};
    const char *colon = s->default_fs ? strstr(s->default_fs, ":/") : NULL;
    char scheme[64] = "";

    if (!colon || (size_t)(colon - s->default_fs) >= sizeof scheme)
        return;
    for (size_t i = 0; s->default_fs + i < colon; i++)
        scheme[i] = (char)tolower((unsigned char)s->default_fs[i]);
    for (size_t i = 0; i < NM_ARRAY_SIZE(fetched); i++)
        if (nm_streq(scheme, fetched[i]))
            return;
    if (!json_object_get(s->commands, scheme))
        add_warning(d,
                    "fs.defaultFS = '%.300s': this node can't fetch %s: URIs, so containers with files there fail; to "
                 "fetch them with Hadoop's client, set nmd.fetch-command.%s = hadoop fs -get {uri} {target}",
                    s->default_fs, scheme, scheme);
}

/* ---- lending ------------------------------------------------------------------------------ */

static void check_lending(const struct warnings *d, const struct nm_yarn_lending *l)
{
    if (l->enabled && (!l->types || !l->types[0]))
        add_warning(d,
            "nmd.lending.types is empty: nothing is lent to any application; list the types to which containers may be "
                 "lent, such as MAPREDUCE,SPARK,TEZ (the default), or set nmd.lending = off");
}

void nm_yarn_config_warnings_report(const struct nm_yarn_settings *s, uid_t nmd_uid, const char *localizer_program,
                                    void (*report_cb)(int level, const char *sentence))
{
    const struct warnings d = {report_cb};

    if (!report_cb)
        return;
    check_local_user(&d, s, nmd_uid);
    check_certificates(&d, localizer_program, s->webhdfs_ca_file);
    check_commands(&d, s->commands);
    check_scheme_command(&d, s);
    check_name_nodes(&d, s->lacking_name_nodes);
    check_lending(&d, &s->lending);
}
