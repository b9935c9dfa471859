/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. */

#include "yarn/conf/settings-parts.h"

#include <ctype.h>
#include <errno.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"

#define ENABLE "yarn.log-aggregation-enable"
#define FORMATS "yarn.log-aggregation.file-formats"
#define REMOTE "yarn.nodemanager.remote-app-log-dir"
#define CONTROLLERS "org.apache.hadoop.yarn.logaggregation.filecontroller."
#define TFILE CONTROLLERS "tfile.LogAggregationTFileController"
#define INDEXED CONTROLLERS "ifile.LogAggregationIndexedFileController"
#define STAY "; to keep the logs on the nodes, set " ENABLE " = false"
#define SHOWN_SIZE 120
#define NAME_SIZE 300
#define PATH_MAX_BYTES 512u

void nm_yarn_log_aggregation_done(struct nm_yarn_log_settings *logs)
{
    free(logs->remote);
    free(logs->suffix);
}

/* Expands the property whose name is made of three parts. *ret NULL: it isn't set, or is empty. */
static int find(const struct nm_yarn_conf *c, const char *before, const char *format, const char *after, char **ret,
                char **ret_message)
{
    char name[NAME_SIZE];
    int r;

    *ret = NULL;
    (void)snprintf(name, sizeof name, "%s%s%s", before, format, after);
    if (!nm_yarn_conf_find(c, name))
        return 0;
    r = nm_yarn_conf_expand_or_report(c, name, ret, ret_message);
    if (r == 0 && !**ret) {
        free(*ret);
        *ret = NULL;
    }
    return r;
}

/* ---- format ------------------------------------------------------------------------------- */

/* Checks the name of the format. It becomes a part of the names of properties and of a directory. As in Hadoop, it
 * begins with a letter. */
static int check_format(const char *format, char **ret_message)
{
    char shown[SHOWN_SIZE];

    if (format && isalpha((unsigned char)*format) && nm_name_is_valid(format))
        return 0;
    return nm_fail(ret_message, -EINVAL, FORMATS " = '%s': must begin with the name of a format: letters, digits and "
                   "underscores", nm_yarn_conf_printable(format ?: "", shown, sizeof shown));
}

static int read_class(const struct nm_yarn_conf *c, const char *format, bool *ret_is_indexed, char **ret_message)
{
    _cleanup_free_ char *class = NULL;
    char shown[SHOWN_SIZE];
    int r = find(c, "yarn.log-aggregation.file-controller.", format, ".class", &class, ret_message);

    if (r < 0)
        return r;
    if (!class && !nm_streq(format, "TFile"))
        return nm_fail(ret_message, -EINVAL,
                       FORMATS " = %s: yarn.log-aggregation.file-controller.%s.class isn't set; it must be " TFILE
                       " or " INDEXED, format, format);
    if (class && !nm_streq(class, TFILE) && !nm_streq(class, INDEXED))
        return nm_fail(ret_message, -EOPNOTSUPP,
                       "yarn.log-aggregation.file-controller.%s.class = '%s': nmd can't run a file controller written "
                       "in Java, and writes the formats of " TFILE " and " INDEXED STAY, format,
                       nm_yarn_conf_printable(class, shown, sizeof shown));
    *ret_is_indexed = class && nm_streq(class, INDEXED);
    return 0;
}

/* ---- remote directory --------------------------------------------------------------------- */

static bool has_scheme(const char *text)
{
    size_t n = strcspn(text, ":/");

    return n > 0 && text[n] == ':';
}

/* Returns the length of scheme:[//authority] at the beginning of a URI, which must have a scheme. */
static size_t root_length(const char *uri)
{
    const char *rest = strchr(uri, ':') + 1;

    if (strncmp(rest, "//", 2) == 0)
        rest += 2 + strcspn(rest + 2, "/");
    return (size_t)(rest - uri);
}

/* Returns whether nm-log-uploader can write to the file system of a URI. */
static bool is_supported(const char *uri)
{
    static const char *const schemes[] = {"hdfs:", "webhdfs:", "swebhdfs:", "file:"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(schemes); i++)
        if (strncasecmp(uri, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

/* Checks the path of the remote directory. A path with blanks, "%" or "?" would have to be encoded in requests, and no
 * cluster uses one. */
static bool is_path(const char *path)
{
    const size_t n = strlen(path);

    if (*path != '/' || n > PATH_MAX_BYTES || strstr(path, "/../") || strstr(path, "//"))
        return false;
    if (n >= 3 && nm_streq(path + n - 3, "/.."))
        return false;
    for (const char *p = path; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("/._-=@+", *p))
            return false;
    return path[strspn(path, "/")] != '\0';
}

/* Returns the directory as a URI without a slash at its end. `dir` or default_fs must have a scheme. NULL: no
 * memory. */
static char *make_uri(const char *dir, const char *default_fs)
{
    const char *root = has_scheme(dir) ? dir : default_fs, *path = has_scheme(dir) ? dir + root_length(dir) : dir;
    size_t n = root_length(root), n_path = strlen(path);
    const bool lacks_slashes = strncmp(strchr(root, ':') + 1, "//", 2) != 0; /* "file:/srv/logs" */

    while (n_path > 1 && path[n_path - 1] == '/')
        n_path--;
    return nm_strdup_printf("%.*s%s%.*s", (int)n, root, lacks_slashes ? "//" : "", (int)n_path, path);
}

static int read_remote(const struct nm_yarn_conf *c, const char *format, struct nm_yarn_settings *s,
                       char **ret_message)
{
    struct nm_yarn_log_settings *logs = &s->logs;
    const char *default_fs = s->default_fs && *s->default_fs ? s->default_fs : "file://";
    _cleanup_free_ char *own = NULL, *uri = NULL;
    char shown[SHOWN_SIZE];
    int r = find(c, "yarn.log-aggregation.", format, ".remote-app-log-dir", &own, ret_message);

    if (r < 0)
        return r;
    if (!has_scheme(own ?: logs->base_dir) && !has_scheme(default_fs))
        return nm_fail(ret_message, -EINVAL, "fs.defaultFS = '%s': must be a URI, because logs are uploaded to this "
                       "file system" STAY, nm_yarn_conf_printable(default_fs, shown, sizeof shown));
    uri = make_uri(own ?: logs->base_dir, default_fs);
    if (!uri)
        return -ENOMEM;
    (void)nm_yarn_conf_printable(own ?: logs->base_dir, shown, sizeof shown);
    if (!is_supported(uri))
        return nm_fail(ret_message, -EOPNOTSUPP,
                       REMOTE " = '%s': nmd uploads logs only to HDFS and to file: directories" STAY, shown);
    if (!is_path(uri + root_length(uri)))
        return nm_fail(ret_message, -EINVAL, REMOTE " = '%s': must be an absolute path below the root, or a URI with "
                       "such a path, of letters, digits and / . _ - = @ +", shown);
    logs->remote = STEAL_PTR(uri);
    return 0;
}

static int read_suffix(const struct nm_yarn_conf *c, const char *format, struct nm_yarn_log_settings *logs,
                       char **ret_message)
{
    _cleanup_free_ char *suffix = NULL;
    char shown[SHOWN_SIZE];
    int r = find(c, "yarn.log-aggregation.", format, ".remote-app-log-dir-suffix", &suffix, ret_message);

    if (r < 0)
        return r;
    if (!suffix) {
        suffix = nm_strdup_printf("%s-%s", logs->base_suffix, format);
        if (!suffix)
            return -ENOMEM;
        for (char *p = suffix + strlen(logs->base_suffix); *p; p++)
            *p = (char)tolower((unsigned char)*p);
    }
    if (!nm_name_is_valid(suffix))
        return nm_fail(ret_message, -EINVAL, REMOTE "-suffix: '%s' must be a name of letters, digits and . _ -",
                       nm_yarn_conf_printable(suffix, shown, sizeof shown));
    logs->suffix = STEAL_PTR(suffix);
    return 0;
}

/* ---- other values ------------------------------------------------------------------------- */

static int check_owner(const struct nm_yarn_log_settings *logs, char **ret_message)
{
    char shown[SHOWN_SIZE];

    if (!nm_user_name_is_valid(logs->owner))
        return nm_fail(ret_message, -EINVAL, "nmd.log-aggregation.owner = '%s': must be the name of a user",
                       nm_yarn_conf_printable(logs->owner, shown, sizeof shown));
    if (*logs->group && !nm_user_name_is_valid(logs->group))
        return nm_fail(ret_message, -EINVAL, REMOTE ".groupname = '%s': must be the name of a group",
                       nm_yarn_conf_printable(logs->group, shown, sizeof shown));
    return 0;
}

/* Reads what depends on the format. */
static int read_format(const struct nm_yarn_conf *c, struct nm_yarn_log_settings *logs, struct nm_refusals *refusals)
{
    const char *format = logs->formats ? logs->formats[0] : NULL;
    char *message = NULL;
    int r = check_format(format, &message);

    if (r < 0)
        return nm_refusals_add(refusals, r, message);
    r = read_class(c, format, &logs->is_indexed, &message);
    r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    if (r < 0)
        return r;
    r = read_suffix(c, format, logs, &message);
    return nm_refusals_add(refusals, r, message);
}

int nm_yarn_log_aggregation_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s,
                                 struct nm_refusals *refusals)
{
    struct nm_yarn_log_settings *logs = &s->logs;
    char *message = NULL;
    int r;

    if (!logs->enabled)
        return 0;
    if (logs->roll_sec > 0)
        logs->roll_usec = (uint64_t)NM_MAX(logs->roll_sec, logs->roll_min_sec) * NM_USEC_PER_SEC;
    r = read_format(c, logs, refusals);
    if (r == 0) {
        r = read_remote(c, logs->formats && logs->formats[0] ? logs->formats[0] : "", s, &message);
        r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    }
    if (r == 0) {
        r = check_owner(logs, &message);
        r = nm_refusals_add(refusals, r, message);
    }
    return r;
}
