/* SPDX-License-Identifier: Apache-2.0 */

/* See uri.h. libcurl's parser is used for URIs that the worker fetches itself. */

#include "localize/worker/uri.h"

#include <ctype.h>
#include <curl/curl.h>
#include <limits.h>

#include "util/error.h"
#include "util/host.h"
#include "util/parse.h"

NM_DEFINE_CLEANUP(char *, curl_free)

static void url_cleanup(CURLU **url)
{
    curl_url_cleanup(*url);
}

/* Reads the scheme, which is case-insensitive (RFC 3986). Commands are configured for the lower-case form. */
static int get_scheme(const char *text, struct nm_uri *uri)
{
    static const struct {
        const char *word;
        enum nm_uri_scheme scheme;
    } known[] = {
        {"file", NM_URI_FILE}, {"http", NM_URI_HTTP},       {"https", NM_URI_HTTP},
        {"hdfs", NM_URI_HDFS}, {"webhdfs", NM_URI_WEBHDFS}, {"swebhdfs", NM_URI_WEBHDFS},
    };
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");

    if (len == 0 || text[len] != ':' || !isalpha((unsigned char)*text))
        return -EINVAL;
    uri->word = strndup(text, len);
    if (!uri->word)
        return -ENOMEM;
    for (char *p = uri->word; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    uri->scheme = NM_URI_OTHER;
    for (size_t i = 0; i < NM_ARRAY_SIZE(known); i++)
        if (nm_streq(uri->word, known[i].word))
            uri->scheme = known[i].scheme;
    uri->has_tls = nm_streq(uri->word, "swebhdfs");
    return 0;
}

/* Gets one part of a URL. *ret is unchanged if the part is missing. */
static int get_part(CURLU *url, CURLUPart part, unsigned flags, char **ret)
{
    _cleanup_(curl_freep) char *value = NULL;
    CURLUcode code = curl_url_get(url, part, &value, flags);

    if (code == CURLUE_NO_HOST || code == CURLUE_NO_PORT)
        return 0;
    if (code == CURLUE_OUT_OF_MEMORY)
        return -ENOMEM;
    if (code != CURLUE_OK)
        return -EINVAL; /* for instance because of an encoded control character */
    if (!*value)
        return 0;
    *ret = strdup(value);
    return *ret ? 0 : -ENOMEM;
}

/* Returns the path of SCHEME:/PATH or SCHEME:///PATH. NULL: the URI has an authority. This function is needed because
 * curl would interpret the first name of the path as an authority. */
static const char *path_alone(const char *text, const struct nm_uri *uri)
{
    const char *rest = text + strlen(uri->word) + 1;

    if (strncmp(rest, "//", 2) != 0)
        return rest;
    return rest[2] == '/' ? rest + 2 : NULL;
}

/* Parses the parts. PATH_AS_IS: HDFS and web servers interpret ".." themselves. NON_SUPPORT_SCHEME: curl doesn't
 * support hdfs. */
static int get_parts(const char *text, struct nm_uri *uri)
{
    _cleanup_(url_cleanup) CURLU *url = curl_url();
    _cleanup_free_ char *port = NULL, *alone = NULL;
    const char *path = path_alone(text, uri);
    uint64_t number = 0;
    int r;

    if (!url)
        return -ENOMEM;
    if (path && uri->scheme == NM_URI_HTTP)
        return -EINVAL;
    if (path && asprintf(&alone, "file://%s", path) < 0) {
        alone = NULL;
        return -ENOMEM;
    }
    text = alone ?: text;
    if (curl_url_set(url, CURLUPART_URL, text,
                     CURLU_NON_SUPPORT_SCHEME | CURLU_NO_AUTHORITY | CURLU_PATH_AS_IS) != CURLUE_OK)
        return -EINVAL;
    r = get_part(url, CURLUPART_HOST, 0, &uri->host);
    if (r >= 0)
        r = get_part(url, CURLUPART_PORT, 0, &port);
    if (r >= 0)
        r = get_part(url, CURLUPART_PATH, CURLU_URLDECODE, &uri->path);
    if (r < 0)
        return r;
    if (!uri->path || *uri->path != '/' || (port && (nm_parse_u64(port, &number) < 0 || number > UINT16_MAX)))
        return -EINVAL;
    if (!uri->host && !path && uri->scheme != NM_URI_FILE)
        return -EINVAL;
    uri->port = (unsigned)number;
    return 0;
}

/* Normalizes an IPv6 address, for which curl leaves several spellings. */
static int normalize_host(struct nm_uri *uri)
{
    const size_t n = uri->host ? strlen(uri->host) : 0;
    char text[NM_HOST_IPV6_SIZE], *host;

    if (n < 2 || *uri->host != '[' || !nm_host_print_ipv6(uri->host + 1, n - 2, text))
        return 0;
    host = strdup(text);
    if (!host)
        return -ENOMEM;
    free(uri->host);
    uri->host = host;
    return 0;
}

/* Gets the name, which is used as a file name on this host. */
static int get_name(const char *text, struct nm_uri *uri)
{
    const char *slash = strrchr(uri->path ? uri->path : text, '/');
    const char *name = slash ? slash + 1 : text + strlen(uri->word) + 1;
    int len = 0;

    if (uri->path) {
        uri->name = strdup(name);
    } else {
        _cleanup_(curl_freep) char *decoded = curl_easy_unescape(NULL, name, 0, &len);

        if (decoded && strlen(decoded) != (size_t)len)
            return -EINVAL; /* the decoded text contains a NUL */
        uri->name = decoded ? strdup(decoded) : NULL;
    }
    if (!uri->name)
        return -ENOMEM;
    if (!*uri->name || strchr(uri->name, '/') || strlen(uri->name) > NAME_MAX || nm_streq(uri->name, ".") ||
        nm_streq(uri->name, ".."))
        return -EINVAL;
    return 0;
}

int nm_uri_parse(const char *text, struct nm_uri *ret, char **ret_message)
{
    _cleanup_(nm_uri_done) struct nm_uri uri = {0};
    int r = get_scheme(text, &uri);

    if (r >= 0 && uri.scheme != NM_URI_OTHER)
        r = get_parts(text, &uri);
    if (r >= 0)
        r = normalize_host(&uri);
    if (r >= 0)
        r = get_name(text, &uri);
    if (r == -EINVAL)
        return nm_fail(ret_message, r, "%s: invalid URI of a file; use for example hdfs://host/folder/name", text);
    if (r < 0)
        return r;
    *ret = uri;
    uri = (struct nm_uri){0};
    return 0;
}

void nm_uri_done(struct nm_uri *uri)
{
    free(uri->word);
    free(uri->host);
    free(uri->path);
    free(uri->name);
    *uri = (struct nm_uri){0};
}
