/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See target.h. HDFS through WebHDFS. A request may be executed although no answer arrives, and hdfs.h then asks
 * another name node. All operations can therefore be repeated, except for RENAME, whose caller looks at the result.
 */

#include <inttypes.h>

#include "aggregate/worker/target.h"
#include "localize/worker/hdfs.h"
#include "localize/worker/webhdfs.h"
#include "util/error.h"

#define MAX_LIST_BYTES (16 * NM_MIB) /* about 40,000 files */

struct hdfs_target {
    struct nm_target target;
    struct nm_hdfs hdfs;
};

static struct hdfs_target *of(struct nm_target *t)
{
    return NM_CONTAINER_OF(t, struct hdfs_target, target);
}

/* Returns a request whose answer stays in memory. */
static struct nm_hdfs_query query_of(const struct nm_target *t, const char *path, const char *method, const char *op,
                                     const char *arguments)
{
    return (struct nm_hdfs_query){
        .path = path,
        .path_len = strlen(path),
        .op = op,
        .method = method,
        .arguments = arguments,
        .fd = -EBADF,
        .most_bytes = NM_WEBHDFS_MAX_BYTES,
        .deadline_usec = t->deadline_usec,
    };
}

/* Makes a request. The answer is valid until the next request. */
static int ask_at_most(struct nm_target *t, const char *path, const char *method, const char *op,
                       const char *arguments, uint64_t most_bytes, struct nm_http_answer *ret, char **ret_message)
{
    struct nm_hdfs_query q = query_of(t, path, method, op, arguments);

    q.most_bytes = most_bytes;
    return nm_hdfs_query(&of(t)->hdfs, &t->work->remote, &q, ret, ret_message);
}

static int ask(struct nm_target *t, const char *path, const char *method, const char *op, const char *arguments,
               struct nm_http_answer *ret, char **ret_message)
{
    return ask_at_most(t, path, method, op, arguments, NM_WEBHDFS_MAX_BYTES, ret, ret_message);
}

static int unreadable(const char *op, char **ret_message)
{
    return nm_fail(ret_message, -EREMOTEIO, "the name node's answer to %s is not that of WebHDFS", op);
}

/* Makes a request whose answer is a boolean. */
static int ask_boolean(struct nm_target *t, const char *path, const char *method, const char *op,
                       const char *arguments, bool *ret, char **ret_message)
{
    struct nm_http_answer answer;
    int r = ask(t, path, method, op, arguments, &answer, ret_message);

    if (r < 0)
        return r;
    r = nm_webhdfs_parse_boolean(answer.text, answer.text_size, ret);
    return r < 0 ? unreadable(op, ret_message) : 0;
}

static int hdfs_stat(struct nm_target *t, const char *path, struct nm_target_status *ret, char **ret_message)
{
    _cleanup_free_ char *owner = NULL;
    struct nm_webhdfs_status status;
    struct nm_http_answer answer;
    int r = ask(t, path, NULL, "GETFILESTATUS", NULL, &answer, ret_message);

    if (r < 0)
        return r;
    if (nm_webhdfs_parse_status(answer.text, answer.text_size, &status) < 0 ||
        nm_webhdfs_parse_owner(answer.text, answer.text_size, &owner) < 0)
        return unreadable("GETFILESTATUS", ret_message);
    *ret = (struct nm_target_status){.is_directory = status.is_directory,
                                     .mode = status.mode | (status.is_sticky ? 01000U : 0U),
                                     .bytes = status.length_bytes,
                                     .is_owned = of(t)->hdfs.user && nm_streq(owner, of(t)->hdfs.user)};
    return 0;
}

static int hdfs_set_mode(struct nm_target *t, const char *path, unsigned mode, char **ret_message)
{
    struct nm_http_answer answer;
    char arguments[32];

    (void)snprintf(arguments, sizeof arguments, "&permission=%o", mode);
    return ask(t, path, "PUT", "SETPERMISSION", arguments, &answer, ret_message);
}

/* MKDIRS ignores the sticky bit. */
static int hdfs_make_dir(struct nm_target *t, const char *path, unsigned mode, char **ret_message)
{
    char arguments[32];
    bool is_made = false;
    int r;

    (void)snprintf(arguments, sizeof arguments, "&permission=%o", mode & 0777);
    r = ask_boolean(t, path, "PUT", "MKDIRS", arguments, &is_made, ret_message);
    if (r < 0)
        return r;
    if (!is_made)
        return nm_fail(ret_message, -EREMOTEIO, "the name node didn't make the directory");
    return mode & 01000 ? hdfs_set_mode(t, path, mode, ret_message) : 0;
}

static int hdfs_set_owner(struct nm_target *t, const char *path, const char *owner, const char *group,
                          char **ret_message)
{
    _cleanup_free_ char *for_owner = *owner ? nm_webhdfs_argument("owner", owner) : NULL;
    _cleanup_free_ char *for_group = *group ? nm_webhdfs_argument("group", group) : NULL;
    _cleanup_free_ char *arguments = nm_strdup_printf("%s%s", for_owner ?: "", for_group ?: "");
    struct nm_http_answer answer;

    if (!arguments || (*owner && !for_owner) || (*group && !for_group))
        return -ENOMEM;
    return ask(t, path, "PUT", "SETOWNER", arguments, &answer, ret_message);
}

/* Sends bytes. The message of the source explains more than that of the HTTP client. */
static int send_bytes(struct nm_target *t, const char *path, const char *method, const char *op,
                      const char *arguments, const struct nm_target_source *source, char **ret_message)
{
    struct nm_hdfs_query q = query_of(t, path, method, op, arguments);
    const char *own;
    _cleanup_free_ char *message = NULL;
    struct nm_http_answer answer;
    int r;

    q.body = &source->body;
    q.sends_once = nm_streq(op, "APPEND");
    q.progress = source->progress;
    q.userdata = source->body.userdata;
    r = nm_hdfs_query(&of(t)->hdfs, &t->work->remote, &q, &answer, &message);
    if (r >= 0)
        return 0;
    own = source->message ? source->message(source->body.userdata) : NULL;
    return nm_fail(ret_message, r, "%s", own ?: message ?: strerror(-r));
}

static int hdfs_create(struct nm_target *t, const char *path, const struct nm_target_source *source,
                       char **ret_message)
{
    return send_bytes(t, path, "PUT", "CREATE", "&overwrite=true&permission=640", source, ret_message);
}

/* If a data node fails, the bytes that it has stored remain, so another one must not get them again. */
static int hdfs_append(struct nm_target *t, const char *path, const struct nm_target_source *source,
                       char **ret_message)
{
    return send_bytes(t, path, "POST", "APPEND", NULL, source, ret_message);
}

static int hdfs_read(struct nm_target *t, const char *path, uint64_t offset, void *buf, size_t size,
                     char **ret_message)
{
    struct nm_http_answer answer;
    char arguments[80];
    int r;

    (void)snprintf(arguments, sizeof arguments, "&offset=%" PRIu64 "&length=%zu", offset, size);
    r = ask_at_most(t, path, NULL, "OPEN", arguments, size, &answer, ret_message);
    if (r < 0)
        return r;
    if (answer.text_size != size)
        return nm_fail(ret_message, -EBADMSG, "%s is shorter than expected", path);
    memcpy(buf, answer.text, size);
    return 0;
}

static int hdfs_rename(struct nm_target *t, const char *from, const char *to, char **ret_message)
{
    _cleanup_free_ char *arguments = nm_webhdfs_argument("destination", to);
    bool is_renamed = false;
    int r = arguments ? ask_boolean(t, from, "PUT", "RENAME", arguments, &is_renamed, ret_message) : -ENOMEM;

    return r < 0 || is_renamed ? r : nm_fail(ret_message, -EEXIST, "the name node can't rename it to %s", to);
}

static int hdfs_remove(struct nm_target *t, const char *path, char **ret_message)
{
    bool is_removed;

    return ask_boolean(t, path, "DELETE", "DELETE", "&recursive=false", &is_removed, ret_message);
}

static int hdfs_list(struct nm_target *t, const char *path, int (*found)(void *userdata, const char *name),
                     void *userdata, char **ret_message)
{
    struct nm_webhdfs_list list;
    struct nm_http_answer answer;
    int r = ask_at_most(t, path, NULL, "LISTSTATUS", NULL, MAX_LIST_BYTES, &answer, ret_message);

    if (r < 0)
        return r;
    if (nm_webhdfs_parse_list(answer.text, answer.text_size, &list) < 0)
        return unreadable("LISTSTATUS", ret_message);
    for (size_t i = 0; i < list.n && r >= 0; i++)
        if (!list.all[i].status.is_directory)
            r = found(userdata, list.all[i].name);
    nm_webhdfs_list_done(&list);
    return r;
}

static void hdfs_free(struct nm_target *t)
{
    nm_http_free(of(t)->hdfs.http);
    free(of(t));
}

static const struct nm_target_ops hdfs_ops = {
    .stat = hdfs_stat,
    .make_dir = hdfs_make_dir,
    .set_mode = hdfs_set_mode,
    .set_owner = hdfs_set_owner,
    .create = hdfs_create,
    .append = hdfs_append,
    .read = hdfs_read,
    .rename = hdfs_rename,
    .remove = hdfs_remove,
    .list = hdfs_list,
    .free = hdfs_free,
};

int nm_target_hdfs_new(const struct nm_upload_work *work, const char *user, uint64_t deadline_usec,
                       struct nm_target **ret, char **ret_message)
{
    struct hdfs_target *t = calloc(1, sizeof *t);
    int r;

    if (!t)
        return -ENOMEM;
    t->target = (struct nm_target){.ops = &hdfs_ops, .work = work, .deadline_usec = deadline_usec};
    t->hdfs = (struct nm_hdfs){.name_nodes = work->name_nodes, .user = user, .https = work->https,
                               .ca_file = work->ca_file, .idle_usec = work->idle_usec};
    r = nm_http_new("nm-log-uploader/" NM_VERSION, &t->hdfs.http);
    if (r < 0) {
        free(t);
        return nm_fail(ret_message, r, "can't set up the HTTP client: %s", strerror(-r));
    }
    *ret = &t->target;
    return 0;
}
