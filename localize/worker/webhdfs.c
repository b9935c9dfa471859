/* SPDX-License-Identifier: Apache-2.0 */

/* See webhdfs.h. */

#include "localize/worker/webhdfs.h"

#include <limits.h>

#include <curl/curl.h>

#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"

NM_DEFINE_CLEANUP(char *, curl_free)

/* Encodes all characters except slashes, so that no name can add a query. */
static int print_path(FILE *out, const char *path, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t part = 0;

        while (i + part < len && path[i + part] != '/')
            part++;
        if (part > 0) {
            _cleanup_(curl_freep) char *escaped = curl_easy_escape(NULL, path + i, (int)part);

            if (!escaped)
                return -ENOMEM;
            (void)fputs(escaped, out);
        }
        i += part;
        for (; i < len && path[i] == '/'; i++)
            (void)fputc('/', out);
    }
    return 0;
}

/* Makes the URL. A cluster without Kerberos trusts user.name without proof. */
int nm_webhdfs_url(const char *base, const char *path, size_t path_len, const char *op, const char *user, char **ret)
{
    _cleanup_(curl_freep) char *escaped = user ? curl_easy_escape(NULL, user, 0) : NULL;
    _cleanup_free_ char *url = NULL;
    size_t size;
    FILE *out;
    int r;

    if (user && !escaped)
        return -ENOMEM;
    out = open_memstream(&url, &size);
    if (!out)
        return -ENOMEM;
    (void)fprintf(out, "%s/webhdfs/v1", base);
    r = print_path(out, path, path_len);
    (void)fprintf(out, "?op=%s%s%s", op, user ? "&user.name=" : "", user ? escaped : "");
    if (fclose(out) != 0 || r < 0)
        return -ENOMEM;
    *ret = STEAL_PTR(url);
    return 0;
}

char *nm_webhdfs_argument(const char *key, const char *value)
{
    _cleanup_(curl_freep) char *escaped = curl_easy_escape(NULL, value, 0);

    return escaped ? nm_strdup_printf("&%s=%s", key, escaped) : NULL;
}

int nm_webhdfs_fix_location(const char *location, const char *user, char **ret)
{
    static const char key[] = "user.name=";
    _cleanup_(curl_freep) char *once = user ? curl_easy_escape(NULL, user, 0) : NULL;
    _cleanup_(curl_freep) char *twice = once ? curl_easy_escape(NULL, once, 0) : NULL;
    const char *query = strchr(location, '?'), *at = query ? strstr(query, key) : NULL;
    size_t n;

    if (user && !twice)
        return -ENOMEM;
    n = twice ? strlen(twice) : 0;
    if (!at || !user || nm_streq(once, twice) || strncasecmp(at + strlen(key), twice, n) != 0)
        return 0;
    at += strlen(key);
    if (at[n] && at[n] != '&')
        return 0;
    return asprintf(ret, "%.*s%s%s", (int)(at - location), location, once, at + n) < 0 ? -ENOMEM : 1;
}

/* Reads a status. Ignores other members, because newer name nodes send additional ones. */
static int read_status(json_t *json, struct nm_webhdfs_status *ret)
{
    struct nm_webhdfs_status status = {0};
    json_int_t length, modified;
    const char *type, *permission;
    uint64_t mode;

    if (json_unpack(json, "{s:s, s:I, s:I, s:s}", "type", &type, "length", &length, "modificationTime", &modified,
                    "permission", &permission) < 0)
        return -EBADMSG;
    if (length < 0 || modified < 0 || nm_parse_mode(permission, 1, 4, &mode) < 0)
        return -EBADMSG;
    status.mode = mode & 0777;
    status.is_sticky = mode & 01000;
    status.is_directory = nm_streq(type, "DIRECTORY");
    if (!status.is_directory && !nm_streq(type, "FILE"))
        return -EBADMSG;
    status.length_bytes = (uint64_t)length;
    status.modified_msec = (uint64_t)modified;
    *ret = status;
    return 0;
}

int nm_webhdfs_parse_status(const char *text, size_t size, struct nm_webhdfs_status *ret)
{
    json_auto_t *json =
        size > NM_WEBHDFS_MAX_BYTES ? NULL : json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    json_t *status;

    if (!json || json_unpack(json, "{s:o}", "FileStatus", &status) < 0)
        return -EBADMSG;
    return read_status(status, ret);
}

int nm_webhdfs_parse_owner(const char *text, size_t size, char **ret)
{
    json_auto_t *json =
        size > NM_WEBHDFS_MAX_BYTES ? NULL : json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const char *owner;
    char *copy;

    if (!json || json_unpack(json, "{s:{s:s}}", "FileStatus", "owner", &owner) < 0)
        return -EBADMSG;
    copy = strdup(owner);
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

int nm_webhdfs_parse_boolean(const char *text, size_t size, bool *ret)
{
    json_auto_t *json =
        size > NM_WEBHDFS_MAX_BYTES ? NULL : json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    int value;

    if (!json || json_unpack(json, "{s:b}", "boolean", &value) < 0)
        return -EBADMSG;
    *ret = value;
    return 0;
}

/* Checks a name from an untrusted server before a file of this name is made. */
static bool is_name(const char *name)
{
    return *name && strlen(name) <= NAME_MAX && !strchr(name, '/') && !nm_streq(name, ".") && !nm_streq(name, "..");
}

int nm_webhdfs_parse_list(const char *text, size_t size, struct nm_webhdfs_list *ret)
{
    json_auto_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    _cleanup_free_ struct nm_webhdfs_entry *all = NULL;
    json_t *array, *item;
    size_t i;

    if (!json || json_unpack(json, "{s:{s:o}}", "FileStatuses", "FileStatus", &array) < 0 || !json_is_array(array))
        return -EBADMSG;
    all = calloc(json_array_size(array) + 1, sizeof *all);
    if (!all)
        return -ENOMEM;
    json_array_foreach(array, i, item) {
        all[i].name = json_string_value(json_object_get(item, "pathSuffix"));
        if (!all[i].name || !is_name(all[i].name) || read_status(item, &all[i].status) < 0)
            return -EBADMSG;
    }
    *ret = (struct nm_webhdfs_list){.all = STEAL_PTR(all), .n = json_array_size(array)};
    ret->json = STEAL_PTR(json);
    return 0;
}

void nm_webhdfs_list_done(struct nm_webhdfs_list *list)
{
    free(list->all);
    json_decref(list->json);
    *list = (struct nm_webhdfs_list){};
}

int nm_webhdfs_parse_exception(const char *text, size_t size, char **ret_class, char **ret_text)
{
    json_auto_t *json =
        size > NM_WEBHDFS_MAX_BYTES ? NULL : json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    _cleanup_free_ char *class = NULL, *message = NULL;
    const char *exception, *words = "";

    if (!json ||
        json_unpack(json, "{s:{s:s, s?:s}}", "RemoteException", "exception", &exception, "message", &words) < 0)
        return -EBADMSG;
    class = strdup(exception);
    message = strdup(words);
    if (!class || !message)
        return -ENOMEM;
    *ret_class = STEAL_PTR(class);
    *ret_text = STEAL_PTR(message);
    return 0;
}
