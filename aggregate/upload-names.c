/* SPDX-License-Identifier: Apache-2.0 */

/* See upload-names.h. */

#include "aggregate/upload-names.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>

#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"

#define BUCKETS 10000U

/* Reads the number of "application_TIME_NUMBER". */
static int read_number(const char *application, uint64_t *ret)
{
    static const char prefix[] = "application_";
    uint64_t time, number;
    const char *p;

    if (strncmp(application, prefix, strlen(prefix)) != 0)
        return -EINVAL;
    p = application + strlen(prefix);
    if (nm_parse_digits(&p, &time) < 0 || *p++ != '_' || nm_parse_digits(&p, &number) < 0 || *p)
        return -EINVAL;
    *ret = number;
    return 0;
}

bool nm_upload_names_is_application(const char *text)
{
    uint64_t number;

    return strlen(text) < NAME_MAX && read_number(text, &number) == 0;
}

bool nm_upload_names_is_node(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%";
    const char *colon = strrchr(text, ':');
    uint64_t port;

    return colon && colon > text && nm_parse_u64(colon + 1, &port) == 0 && port <= UINT16_MAX &&
           strspn(text, allowed) == strlen(text) && strlen(text) < NM_UPLOAD_NODE_MAX - strlen("_.tmp") && *text != '.';
}

bool nm_upload_names_is_suffix(const char *text)
{
    return *text && strlen(text) < NAME_MAX - strlen("bucket-") && !strchr(text, '/');
}

char *nm_upload_names_dir(const char *remote, const char *user, const char *suffix, const char *application,
                          unsigned depth)
{
    uint64_t number = 0;
    const int r = read_number(application, &number);
    size_t n = strlen(remote);

    assert(r == 0 && depth <= NM_UPLOAD_DEPTH);
    (void)r;
    while (n > 1 && remote[n - 1] == '/')
        n--;
    if (n == 1 && depth > 0)
        n = 0; /* the root directory */
    switch (depth) {
    case 0:
        return nm_strdup_printf("%.*s", (int)n, remote);
    case 1:
        return nm_strdup_printf("%.*s/%s", (int)n, remote, user);
    case 2:
        return nm_strdup_printf("%.*s/%s/bucket-%s", (int)n, remote, user, suffix);
    case 3:
        return nm_strdup_printf("%.*s/%s/bucket-%s/%04u", (int)n, remote, user, suffix, (unsigned)(number % BUCKETS));
    default:
        return nm_strdup_printf("%.*s/%s/bucket-%s/%04u/%s", (int)n, remote, user, suffix,
                                (unsigned)(number % BUCKETS), application);
    }
}

char *nm_upload_names_file(const char *node, uint64_t upload_msec)
{
    char *name = upload_msec > 0 ? nm_strdup_printf("%s_%" PRIu64, node, upload_msec) : strdup(node);

    for (char *p = name; p && *p; p++)
        if (*p == ':')
            *p = '_';
    return name;
}

bool nm_upload_names_is_file_of(const char *name, const char *node, uint64_t *ret_msec)
{
    uint64_t msec = 0;

    for (; *node; node++, name++)
        if (*name != (*node == ':' ? '_' : *node))
            return false;
    if (*name && (*name != '_' || nm_parse_u64(name + 1, &msec) < 0))
        return false;
    *ret_msec = msec;
    return true;
}
