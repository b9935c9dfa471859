/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See hdfs.h. The name nodes are asked one after the other, beginning with the one that answered last. A name node
 * redirects to a data node for the bytes. If a data node runs on this host, the redirect is always to this data node. A
 * data node that fails is excluded in the next request (excludedatanodes), so that another replica is read, or another
 * data node gets the bytes.
 */

#include "localize/worker/hdfs.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <netdb.h>

#include "localize/name-nodes.h"
#include "localize/worker/webhdfs.h"
#include "util/clock.h"
#include "util/error.h"

#define HTTP_PORT 9870U
#define HTTPS_PORT 9871U
#define SECOND_ANSWER_USEC (5 * NM_USEC_PER_SEC)

/* Finds the name nodes of a host. A WebHDFS port identifies one of several name nodes on its host. */
static json_t *find_host(json_t *name_nodes, const char *prefix, const struct nm_uri *uri)
{
    return nm_name_nodes_find(name_nodes, prefix, uri->host, uri->port,
                              uri->scheme == NM_URI_WEBHDFS && uri->port > 0);
}

static bool has_tls(const struct nm_hdfs *h, const struct nm_uri *uri)
{
    return h->https || uri->has_tls;
}

/* Finds the name nodes that are configured for the URI. If the URI has no host, finds those for the URI's scheme. NULL:
 * no name node is configured. If TLS isn't the policy for all requests, swebhdfs: has separate addresses. */
static json_t *find_name_nodes(const struct nm_hdfs *h, const struct nm_uri *uri)
{
    char key[64];
    json_t *list = NULL;

    if (!uri->host) {
        (void)snprintf(key, sizeof key, "%.60s:", uri->word);
        return json_object_get(h->name_nodes, key);
    }
    if (uri->has_tls)
        list = find_host(h->name_nodes, "swebhdfs://", uri);
    return list || (uri->has_tls && !h->https) ? list : find_host(h->name_nodes, "", uri);
}

bool nm_hdfs_has_failover(const struct nm_hdfs *h, const struct nm_uri *uri)
{
    return json_array_size(find_name_nodes(h, uri)) > 1;
}

/* Prints the default address. The port in an hdfs: URI is for Hadoop's RPC, so the WebHDFS port can't be derived from
 * it. */
static void print_default_base(const struct nm_hdfs *h, const struct nm_uri *uri, char *buf, size_t size)
{
    unsigned port = has_tls(h, uri) ? HTTPS_PORT : HTTP_PORT;

    if (uri->scheme == NM_URI_WEBHDFS && uri->port > 0)
        port = uri->port;
    (void)snprintf(buf, size, "%s://%s:%u", has_tls(h, uri) ? "https" : "http", uri->host, port);
}

/* Returns whether the name node refused the user's name. By default a name node accepts any name through RPC, but
 * through WebHDFS it accepts only names that begin with a letter. */
static bool is_refused_name(const char *user, const char *text)
{
    return user && strstr(text, "does not belong to the domain") && strstr(text, user);
}

/* Converts an exception to the errors of hdfs.h. -EIO: another name node may answer, or this name node may answer a
 * later attempt. HDFS reports a lack of space on all data nodes only in the text of an IOException. */
static int classify(const char *class, const char *text, long status)
{
    if (nm_streq(class, "StandbyException") || nm_streq(class, "RetriableException") ||
        nm_streq(class, "SafeModeException") || status >= 500)
        return -EIO;
    if (nm_streq(class, "FileNotFoundException"))
        return -ENOENT;
    if (nm_streq(class, "AccessControlException"))
        return -EACCES;
    if (strstr(class, "QuotaExceeded"))
        return -EDQUOT;
    if (strstr(text, "could only be written to") || strstr(text, "could only be replicated to"))
        return -ENOSPC;
    return -EREMOTEIO;
}

static int refused(const struct nm_http_answer *answer, const char *user, const char *base, char **ret_message)
{
    _cleanup_free_ char *class = NULL, *text = NULL;
    int r = -EREMOTEIO;

    if (nm_webhdfs_parse_exception(answer->text, answer->text_size, &class, &text) < 0)
        return nm_fail(ret_message, answer->status >= 500 ? -EIO : r, "%s answered with HTTP %ld", base,
                       answer->status);
    r = classify(class, text, answer->status);
    text[strcspn(text, "\n")] = '\0'; /* removes the Java stack trace that follows */
    if (is_refused_name(user, text))
        return nm_fail(ret_message, r,
                       "%s refused the user's name: %s: %s; dfs.webhdfs.user.provider.user.pattern in hdfs-site.xml "
                       "of its name nodes and data nodes sets which names WebHDFS accepts", base, class, text);
    return nm_fail(ret_message, r, "%s refused the request: %s: %s", base, class, text);
}

/* Follows a redirect to a data node. curl doesn't follow it, because the user name in the location may need
 * correction. A body is sent to the data node only, and from its start, because another data node may have failed after
 * it had received a part. */
static int follow(struct nm_hdfs *h, const struct nm_hdfs_query *q, struct nm_http_request *request,
                  struct nm_http_answer *answer, char **ret_message)
{
    _cleanup_free_ char *mended = NULL, *as_is = NULL;
    int r = nm_webhdfs_fix_location(answer->location, h->user, &mended);

    if (r == 0)
        as_is = strdup(answer->location); /* curl's string is valid only until the next request */
    if (r < 0 || (r == 0 && !as_is))
        return -ENOMEM;
    if (q->body) {
        r = q->body->restart(q->body->userdata);
        if (r < 0)
            return r;
    }
    request->url = mended ?: as_is;
    request->body = q->body;
    request->returns_redirect = q->body != NULL;
    r = nm_http_perform(h->http, request, answer, ret_message);
    request->url = NULL;
    return r;
}

/* ---- data nodes that fail ----------------------------------------------------------------- */

/* Reads the host of a URL. Returns "?" for a host that a name node can't exclude, such as an IPv6 address, which the
 * name node would split into host and port. The result is never "", which means that there was no redirect. */
static void read_host(const char *url, char *buf, size_t size)
{
    const char *host = strstr(url, "://");
    size_t n;

    (void)snprintf(buf, size, "?");
    if (!host)
        return;
    host += strlen("://");
    n = strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
    if (n > 0 && n < size && strchr(":/?", host[n]))
        (void)snprintf(buf, size, "%.*s", (int)n, host);
}

static bool is_dead(const struct nm_hdfs *h, const char *host)
{
    const size_t n = strlen(host);

    for (const char *p = h->dead_nodes; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && strncmp(p, host, n) == 0)
            return true;
    return false;
}

static bool add_dead(struct nm_hdfs *h, const char *host)
{
    const size_t n = strlen(h->dead_nodes), most = sizeof h->dead_nodes - n;

    if (is_dead(h, host))
        return true;
    if (strlen(host) + 2 > most)
        return false;
    (void)snprintf(h->dead_nodes + n, most, "%s%s", n > 0 ? "," : "", host);
    return true;
}

/* Excludes a data node by its addresses, because name nodes redirect to names but identify data nodes by addresses.
 * Returns false if the data node is already excluded or can't be excluded, so that another request would not help. */
static bool exclude(struct nm_hdfs *h, const char *host)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    bool ok = !nm_streq(host, "?") && !is_dead(h, host) && add_dead(h, host);

    if (!ok || getaddrinfo(host, NULL, &hints, &all) != 0)
        return ok;
    for (const struct addrinfo *a = all; ok && a; a = a->ai_next) {
        struct sockaddr_in in;
        char text[INET_ADDRSTRLEN];

        memcpy(&in, a->ai_addr, sizeof in);
        ok = inet_ntop(AF_INET, &in.sin_addr, text, sizeof text) && add_dead(h, text);
    }
    freeaddrinfo(all);
    return ok;
}

/* ---- requests ---------------------------------------------------------------------------- */

/* Empties the file, because a data node may have failed after it sent a part. */
static int empty(int fd)
{
    return fd < 0 || (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0) ? 0 : -errno;
}

static bool has_bytes(const struct nm_hdfs_query *q)
{
    return q->body || nm_streq(q->op, "OPEN");
}

static int make_url(const struct nm_hdfs *h, const struct nm_hdfs_query *q, const char *base, char **ret)
{
    _cleanup_free_ char *url = NULL;
    const bool excludes = has_bytes(q) && *h->dead_nodes;
    int r = nm_webhdfs_url(base, q->path, q->path_len, q->op, h->user, &url);

    if (r < 0)
        return r;
    *ret = nm_strdup_printf("%s%s%s%s", url, q->arguments ?: "", excludes ? "&excludedatanodes=" : "",
                            excludes ? h->dead_nodes : "");
    return *ret ? 0 : -ENOMEM;
}

static bool is_success(long status)
{
    return status == 200 || status == 201;
}

/* Makes one request. node: the host of the data node to which the request was redirected, if it was redirected. */
static int ask_once(struct nm_hdfs *h, const struct nm_hdfs_query *q, const char *base, uint64_t deadline_usec,
                    struct nm_http_answer *ret, char *node, size_t node_size, char **ret_message)
{
    _cleanup_free_ char *url = NULL, *message = NULL;
    struct nm_http_request request = {
        .method = q->method,
        .most_bytes = q->most_bytes,
        .deadline_usec = deadline_usec,
        .idle_usec = h->idle_usec,
        .fd = q->fd,
        .ca_file = h->ca_file,
        .returns_redirect = true,
        .progress = q->progress,
        .userdata = q->userdata,
    };
    struct nm_http_answer answer;
    int r = empty(q->fd);

    if (r >= 0)
        r = make_url(h, q, base, &url);
    if (r < 0)
        return r;
    request.url = url;
    r = nm_http_perform(h->http, &request, &answer, &message);
    if (r >= 0 && answer.location) {
        read_host(answer.location, node, node_size);
        r = follow(h, q, &request, &answer, &message);
    } else if (r >= 0 && q->body && is_success(answer.status)) {
        r = nm_fail(&message, -EREMOTEIO, "the answer is not a redirect to a data node");
    }
    if (r < 0)
        return nm_fail(ret_message, r, "%s: %s", base, message ? message : strerror(-r));
    if (!is_success(answer.status))
        return refused(&answer, h->user, base, ret_message);
    *ret = answer;
    return 0;
}

/* Returns whether a data node that failed with r may have stored a part of a body that must not be sent twice. */
static bool is_sent_partly(const struct nm_hdfs_query *q, int r)
{
    return q->sends_once && nm_http_may_pass(r) && r != -ECONNREFUSED && r != -EHOSTUNREACH;
}

/* Asks one name node, and each data node to which the name node redirects. If all data nodes have failed, reports the
 * failure of the last data node instead of the name node's answer that no other data node exists. Then clears the list
 * of failed data nodes for the next attempt. */
static int ask_one(struct nm_hdfs *h, const struct nm_hdfs_query *q, const char *base, uint64_t deadline_usec,
                   struct nm_http_answer *ret, char **ret_message)
{
    char *failure = NULL;
    int failed = 0;

    for (;;) {
        const bool excludes = has_bytes(q) && *h->dead_nodes;
        char node[256] = "", *message = NULL;
        int r = ask_once(h, q, base, deadline_usec, ret, node, sizeof node, &message);

        if (r == -EREMOTEIO && excludes && !*node) {
            *h->dead_nodes = '\0';
            free(message);
            if (failed < 0) {
                *ret_message = failure;
                return failed;
            }
            continue;
        }
        free(failure);
        failure = message;
        if (*node && is_sent_partly(q, r))
            r = -EPROTO;
        failed = r;
        if (r >= 0 || !*node || !nm_http_may_pass(r))
            break;
        if (!exclude(h, node)) {
            *h->dead_nodes = '\0';
            break;
        }
    }
    *ret_message = failure;
    return failed;
}

/* Returns the deadline for another name node after one name node has answered. It is shorter, because the other name
 * node may hang. */
static uint64_t second_deadline(const struct nm_hdfs_query *q)
{
    return has_bytes(q) ? q->deadline_usec : NM_MIN(q->deadline_usec, nm_add_u64(nm_now_usec(), SECOND_ANSWER_USEC));
}

/* Asks each name node once. If all fail, the caller's next attempt asks them again. A permanent refusal (no
 * permission) is final, because the other name nodes would refuse too. An answer that the file doesn't exist may
 * come from a name node with outdated data, such as an observer. This answer is therefore final only if no other
 * name node has the file. */
int nm_hdfs_query(struct nm_hdfs *h, const struct nm_uri *uri, const struct nm_hdfs_query *q,
                  struct nm_http_answer *ret, char **ret_message)
{
    json_t *list = find_name_nodes(h, uri);
    size_t n = list ? json_array_size(list) : 1;
    _cleanup_free_ char *missing = NULL;
    char base[320];
    int r = -EIO;

    assert(h->http && uri->word && q->path && q->op && q->deadline_usec > 0);
    if (!list && !uri->host)
        return nm_fail(ret_message, -EINVAL,
                       "the URI has no name node, and the default file system of the cluster (fs.defaultFS) has none "
                       "for %s:",
                       uri->word);
    print_default_base(h, uri, base, sizeof base);
    for (size_t i = 0; i < n; i++) {
        size_t which = (h->active + i) % n;
        const char *node = list ? json_string_value(json_array_get(list, which)) : base;
        char *message = NULL;

        r = ask_one(h, q, node, missing ? second_deadline(q) : q->deadline_usec, ret, &message);
        if (r >= 0) {
            h->active = which;
            free(message);
            return 0;
        }
        if (r == -ENOENT && !missing) {
            missing = message;
            continue;
        }
        if ((!nm_http_may_pass(r) && r != -ENOENT) || (i + 1 == n && !missing)) {
            *ret_message = message;
            return r;
        }
        free(message);
    }
    *ret_message = STEAL_PTR(missing);
    return *ret_message ? -ENOENT : r;
}
