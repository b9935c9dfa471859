/* SPDX-License-Identifier: Apache-2.0 */

/* See resources.h. */

#include "yarn/launch/resources.h"

#include <ctype.h>

#define MOST 8192 /* limit of nm-localizer */
#define SHOWN 100
#define UNPACKED_TIMES 5

/* Encodes each byte of a URL's path that isn't safe in all parts of a URI. This is necessary because Hadoop passes the
 * path decoded. */
static char *encode(struct nm_arena *arena, const char *path)
{
    static const char digits[] = "0123456789ABCDEF";
    char *text = nm_arena_alloc(arena, 3 * strlen(path) + 1), *out = text;

    for (const char *p = path; text && *p; p++)
        if (isalnum((unsigned char)*p) || strchr("/-._~", *p)) {
            *out++ = *p;
        } else {
            *out++ = '%';
            *out++ = digits[(unsigned char)*p >> 4];
            *out++ = digits[(unsigned char)*p & 15];
        }
    if (text)
        *out = '\0';
    return text;
}

/* Checks a part of an authority. The part must not contain delimiters, because it is copied to a URI without
 * encoding. */
static bool is_part(const char *text)
{
    for (; *text; text++)
        if (!isgraph((unsigned char)*text) || strchr("/?#@\\\"<>", *text))
            return false;
    return true;
}

static bool has_scheme(const Yarn__Url *url)
{
    return url->scheme && *url->scheme;
}

/* Returns the length of the default file system's URI up to its path. */
static size_t root_length(const char *default_fs)
{
    const char *authority = strstr(default_fs, "://");
    const char *path = strchr(authority ? authority + strlen("://") : default_fs, '/');

    return path ? (size_t)(path - default_fs) : strlen(default_fs);
}

/* Makes SCHEME://[[USER@]HOST[:PORT]]/PATH. As in Java, a URL without a scheme refers to the default file system. A
 * URL without a host does the same, and its user and port are left out. NULL: no memory. */
static char *make_uri(const Yarn__Url *url, const char *default_fs, struct nm_arena *arena)
{
    const char *path = encode(arena, url->file), *host = url->host ?: "";
    const char *user = *host && url->user_info ? url->user_info : "";
    const char *port = url->port > 0 && *host ? nm_arena_print(arena, ":%d", url->port) : "";

    if (!path || !port)
        return NULL;
    if (!has_scheme(url))
        return nm_arena_print(arena, "%.*s%s", (int)root_length(default_fs), default_fs, path);
    return nm_arena_print(arena, "%s://%s%s%s%s%s", url->scheme, user, *user ? "@" : "", host, port, path);
}

/* Checks the scheme. A URL with a host but without a scheme is refused, because the kind of server is unknown. */
static bool is_scheme(const Yarn__Url *url)
{
    if (!has_scheme(url))
        return !url->host || !*url->host;
    return isalpha((unsigned char)*url->scheme) && is_part(url->scheme);
}

/* Checks a URL. The URL must end in a file name, which is the resource's file name on this node. */
static bool is_url(const Yarn__Url *url)
{
    return url && is_scheme(url) && url->file &&
           *url->file == '/' && url->file[1] && url->file[strlen(url->file) - 1] != '/' &&
           (!url->host || is_part(url->host)) && (!url->user_info || is_part(url->user_info));
}

/* Returns the name for YARN's number of a resource type. NULL: unknown. */
static const char *type_of(int32_t type)
{
    static const char *const names[] = {NULL, "ARCHIVE", "FILE", "PATTERN"};

    return type > 0 && (size_t)type < NM_ARRAY_SIZE(names) ? names[type] : NULL;
}

/* Returns the space that a resource needs. As in Hadoop, an archive needs five times its size. */
static uint64_t room_of(const Yarn__LocalResource *v)
{
    const uint64_t size = (uint64_t)NM_MAX(v->size, 0);

    return nm_streq(type_of(v->type), "FILE") ? size : NM_MIN(size, UINT64_MAX / UNPACKED_TIMES) * UNPACKED_TIMES;
}

static int convert(const Yarn__NamedResource *from, const char *default_fs, struct nm_arena *arena,
                   struct nm_localizer_resource *ret, char **ret_message)
{
    static const enum nm_visibility visibilities[] = {NM_VISIBILITY_PUBLIC, NM_VISIBILITY_PRIVATE,
                                                      NM_VISIBILITY_APPLICATION};
    const Yarn__LocalResource *v = from->value;
    struct nm_localizer_resource res = {0};

    if (!from->key || !*from->key)
        return nm_fail(ret_message, -EINVAL,
                       "A local resource has no link name (an empty key in the map of local resources)");
    if (!v || !is_url(v->url) || !type_of(v->type) || v->timestamp_msec < 0 || v->visibility < 1 ||
        v->visibility > (int32_t)NM_ARRAY_SIZE(visibilities))
        return nm_fail(ret_message, -EINVAL, "The resource '%.*s' has a missing or invalid URL, type, visibility or "
                       "timestamp", SHOWN, from->key);
    res.type = type_of(v->type);
    /* as in Java, a missing pattern selects all files, and an empty pattern selects none; so the cache must distinguish
     * the two */
    if (nm_streq(res.type, "PATTERN") && v->pattern)
        res.pattern = *v->pattern ? v->pattern : "(?:)";
    res.visibility = visibilities[v->visibility - 1];
    res.timestamp_msec = (uint64_t)v->timestamp_msec;
    res.name = nm_yarn_resource_name(from);
    res.room_bytes = room_of(v);
    res.uri = make_uri(v->url, default_fs, arena);
    if (!res.uri)
        return -ENOMEM;
    *ret = res;
    return 0;
}

int nm_yarn_resources(Yarn__NamedResource *const *from, size_t n, const char *default_fs, struct nm_arena *arena,
                      struct nm_localizer_resource **ret, char **ret_message)
{
    struct nm_localizer_resource *list;

    if (n > MOST)
        return nm_fail(ret_message, -EINVAL, "The container names %zu resources, but at most %d are allowed", n, MOST);
    list = nm_arena_alloc(arena, (n + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int r = convert(from[i], default_fs ?: "file://", arena, &list[i], ret_message);

        if (r < 0)
            return r;
    }
    *ret = list;
    return 0;
}

const char *nm_yarn_resource_name(const Yarn__NamedResource *resource)
{
    return strrchr(resource->value->url->file, '/') + 1;
}
