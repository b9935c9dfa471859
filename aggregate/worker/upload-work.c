/* SPDX-License-Identifier: Apache-2.0 */

/* See upload-work.h. */

#include "aggregate/worker/upload-work.h"

#include <limits.h>

#include "aggregate/upload-names.h"
#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"

#define TIME_USEC (3600 * NM_USEC_PER_SEC)
#define IDLE_USEC (60 * NM_USEC_PER_SEC)
#define MAX_LOG_DIRS 64U
#define MAX_CONTAINER_ID 128U

#define REFUSE(...) nm_fail(ret_message, -EBADMSG, __VA_ARGS__)

/* Checks the lists of name nodes. The strings are interpreted only by the code that uses them. */
static int check_name_nodes(json_t *lists, char **ret_message)
{
    const char *service;
    json_t *list, *word;
    size_t i;

    if (lists && !json_is_object(lists))
        return REFUSE("\"name_nodes\" is not an object");
    json_object_foreach(lists, service, list) {
        if (!json_is_array(list) || json_array_size(list) == 0)
            return REFUSE("\"name_nodes\" has no list of strings for %s", service);
        json_array_foreach(list, i, word)
            if (!json_is_string(word) || json_string_length(word) == 0)
                return REFUSE("\"name_nodes\" has no list of strings for %s", service);
    }
    return 0;
}

static int get_limit(json_int_t seconds, const char *key, uint64_t *ret, char **ret_message)
{
    if (seconds == 0)
        return 0;
    if (seconds < 0 || (uint64_t)seconds > INT64_MAX / NM_USEC_PER_SEC)
        return REFUSE("the limit \"%s\" must be a whole number above 0", key);
    *ret = (uint64_t)seconds * NM_USEC_PER_SEC;
    return 0;
}

/* Parses the remote directory. Commands of other schemes can't write. */
static int get_remote(const char *text, struct nm_upload_work *work, char **ret_message)
{
    size_t n = strlen(text);
    _cleanup_free_ char *plain = NULL;
    int r;

    while (n > 0 && text[n - 1] == '/')
        n--;
    plain = strndup(text, n);
    if (!plain)
        return -ENOMEM;
    r = nm_uri_parse(plain, &work->remote, ret_message);
    if (r < 0)
        return r == -ENOMEM ? r : -EBADMSG;
    if (work->remote.scheme == NM_URI_HTTP || work->remote.scheme == NM_URI_OTHER)
        return REFUSE("logs can't be uploaded to %s: use hdfs:, webhdfs:, swebhdfs: or file:", text);
    return 0;
}

static int check_identity(const struct nm_upload_work *work, char **ret_message)
{
    if (!nm_upload_names_is_application(work->application))
        return REFUSE("\"application\" is not the id of an application: %s", work->application);
    if (!nm_user_name_is_valid(work->user))
        return REFUSE("\"user\" is not a user's name: %s", work->user);
    if (!nm_upload_names_is_node(work->node))
        return REFUSE("\"node\" is not HOST:PORT: %s", work->node);
    if (!nm_upload_names_is_suffix(work->suffix))
        return REFUSE("\"suffix\" is not a part of a path: %s", work->suffix);
    return 0;
}

static int get_log_dirs(json_t *list, struct nm_upload_work *work, char **ret_message)
{
    json_t *dir;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) > MAX_LOG_DIRS)
        return REFUSE("\"log_dirs\" must be a list of at most %u paths", MAX_LOG_DIRS);
    work->log_dirs = calloc(json_array_size(list) + 1, sizeof *work->log_dirs);
    if (!work->log_dirs)
        return -ENOMEM;
    json_array_foreach(list, i, dir) {
        const char *path = json_string_value(dir);

        if (!path || *path != '/' || strlen(path) >= PATH_MAX)
            return REFUSE("an item of \"log_dirs\" is not an absolute path");
        work->log_dirs[work->n_log_dirs++] = path;
    }
    return 0;
}

/* A container's id is also the name of a directory. */
static bool is_container_id(const char *id)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

    return *id && strlen(id) <= MAX_CONTAINER_ID && strspn(id, allowed) == strlen(id);
}

static int get_containers(json_t *list, struct nm_upload_work *work, char **ret_message)
{
    json_error_t error;
    json_t *one;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) > NM_UPLOAD_WORK_MAX_CONTAINERS)
        return REFUSE("\"containers\" must be a list of at most %u items", NM_UPLOAD_WORK_MAX_CONTAINERS);
    work->containers = calloc(json_array_size(list) + 1, sizeof *work->containers);
    if (!work->containers)
        return -ENOMEM;
    json_array_foreach(list, i, one) {
        struct nm_upload_container *c = &work->containers[work->n_containers];
        int is_running = 0;

        if (json_unpack_ex(one, &error, JSON_STRICT, "{s:s, s?b}", "id", &c->id, "running", &is_running) < 0)
            return REFUSE("a container is invalid: %s", error.text);
        if (!is_container_id(c->id))
            return REFUSE("\"id\" is not the id of a container: %s", c->id);
        c->is_running = is_running;
        work->n_containers++;
    }
    return 0;
}

/* Reads the members that only an upload has. */
static int get_upload(json_t *json, struct nm_upload_work *work, char **ret_message)
{
    json_t *log_dirs, *containers;
    json_int_t upload_msec, max_files = 0;
    const char *format;
    json_error_t error;
    int rolling = 0, final = 0, abandoned = 0, r;

    if (json_unpack_ex(json, &error, 0,
                       "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s?I, s?s, s?s, s?s, s?s, s?s, s?s, s?b, s?b, s?b}",
                       "application", &work->application, "user", &work->user, "node", &work->node, "suffix",
                       &work->suffix, "format", &format, "log_dirs", &log_dirs, "containers", &containers,
                       "upload_msec", &upload_msec, "max_files", &max_files, "include", &work->include, "exclude",
                       &work->exclude, "rolled_include", &work->rolled_include, "rolled_exclude",
                       &work->rolled_exclude, "view_acl", &work->view_acl, "modify_acl", &work->modify_acl, "rolling",
                       &rolling, "final", &final, "abandoned", &abandoned) < 0)
        return REFUSE("the input of nm-log-uploader is invalid: %s", error.text);
    work->is_indexed = nm_streq(format, "IndexedFile");
    if (!work->is_indexed && !nm_streq(format, "TFile"))
        return REFUSE("\"format\" is %s, but must be TFile or IndexedFile", format);
    if (upload_msec <= 0 || max_files < 0)
        return REFUSE("\"upload_msec\" must be above 0, and \"max_files\" must not be negative");
    work->upload_msec = (uint64_t)upload_msec;
    work->max_files = (uint64_t)max_files;
    work->is_rolling = rolling;
    work->is_final = final;
    work->is_abandoned = abandoned;
    r = check_identity(work, ret_message);
    if (r >= 0)
        r = get_log_dirs(log_dirs, work, ret_message);
    return r < 0 ? r : get_containers(containers, work, ret_message);
}

/* nmd and its worker have the same version, so an unknown member is an error. */
static int check_members(json_t *json, char **ret_message)
{
    static const char *const names[] = {
        "application", "user", "node", "format", "remote", "suffix", "prepare", "remote_owner", "remote_group",
        "name_nodes", "webhdfs", "log_dirs", "containers", "include", "exclude", "rolled_include", "rolled_exclude",
        "rolling", "final", "abandoned", "upload_msec", "max_files", "view_acl", "modify_acl", "limits"};
    const char *name;
    json_t *value;

    json_object_foreach(json, name, value)
        if (nm_find_name(names, NM_ARRAY_SIZE(names), name) < 0)
            return REFUSE("the input of nm-log-uploader has an unknown member: %s", name);
    return 0;
}

static int get_all(struct nm_upload_work *work, char **ret_message)
{
    json_int_t seconds = 0, idle_seconds = 0;
    const char *remote;
    json_error_t error;
    int https = 0, prepares = 0, r;

    if (json_unpack_ex(work->json, &error, 0,
                       "{s:s, s?b, s?s, s?s, s?o, s?{s?b, s?s !}, s?{s?I, s?I !}}", "remote", &remote, "prepare",
                       &prepares, "remote_owner", &work->remote_owner, "remote_group", &work->remote_group,
                       "name_nodes", &work->name_nodes, "webhdfs", "https", &https, "ca_file", &work->ca_file,
                       "limits", "seconds", &seconds, "idle_seconds", &idle_seconds) < 0)
        return REFUSE("the input of nm-log-uploader is invalid: %s", error.text);
    work->prepares = prepares;
    work->https = https;
    r = check_members(work->json, ret_message);
    if (r >= 0)
        r = check_name_nodes(work->name_nodes, ret_message);
    if (r >= 0)
        r = get_limit(seconds, "seconds", &work->time_usec, ret_message);
    if (r >= 0)
        r = get_limit(idle_seconds, "idle_seconds", &work->idle_usec, ret_message);
    if (r >= 0)
        r = get_remote(remote, work, ret_message);
    if (r < 0 || prepares)
        return r;
    return get_upload(work->json, work, ret_message);
}

int nm_upload_work_parse(const char *text, size_t size, struct nm_upload_work *ret, char **ret_message)
{
    _cleanup_(nm_upload_work_done) struct nm_upload_work work = {
        .remote_owner = "", .remote_group = "", .include = "", .exclude = "", .rolled_include = "",
        .rolled_exclude = "", .view_acl = "", .modify_acl = "", .time_usec = TIME_USEC, .idle_usec = IDLE_USEC};
    json_error_t error;
    int r;

    if (size > NM_UPLOAD_WORK_MAX_BYTES)
        return REFUSE("the input of nm-log-uploader is larger than %u MiB", NM_UPLOAD_WORK_MAX_BYTES >> 20);
    work.json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!work.json)
        return REFUSE("the input of nm-log-uploader is not valid JSON: %s (line %d)", error.text, error.line);
    r = get_all(&work, ret_message);
    if (r < 0)
        return r;
    *ret = work;
    work = (struct nm_upload_work){0};
    return 0;
}

void nm_upload_work_done(struct nm_upload_work *work)
{
    json_decref(work->json);
    nm_uri_done(&work->remote);
    free(work->log_dirs);
    free(work->containers);
    *work = (struct nm_upload_work){0};
}
