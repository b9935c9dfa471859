/* SPDX-License-Identifier: Apache-2.0 */

/* See sources.h. */

#include "yarn/conf/sources.h"

#include <arpa/inet.h>

#include "util/macros.h"
#include "util/parse.h"
#include "util/utf8.h"

#define COMMAND "nmd.fetch-command."
#define RPC_PORT 8020U
#define HTTP_PORT 9870U
#define HTTPS_PORT 9871U
#define SEPARATORS ", \t\r\n"
#define NAME_SIZE 300
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct reader {
    const struct nm_yarn_conf *conf;
    bool https;
    const char *prefix; /* of names in name_nodes */
    json_t *name_nodes, *webhdfs, *commands, *lacking;
};

static void reader_done(struct reader *r)
{
    json_decref(r->name_nodes);
    json_decref(r->webhdfs);
    json_decref(r->commands);
    json_decref(r->lacking);
}

/* By the tables of Hadoop's Configuration and HdfsConfiguration, in which names with a service behind them aren't.
 * NULL: it has no older name. */
static const char *older_name(const char *name)
{
    static const struct {
        const char *name, *older;
    } all[] = {
        {"fs.defaultFS", "fs.default.name"},
        {"dfs.nameservices", "dfs.federation.nameservices"},
        {"dfs.namenode.http-address", "dfs.http.address"},
        {"dfs.namenode.https-address", "dfs.https.address"},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(all); i++)
        if (nm_streq(name, all[i].name))
            return all[i].older;
    return NULL;
}

/* *ret is NULL where it isn't set, or can't be made sense of: a part of it is the environment's, which may be no text.
 * Without memory nothing is known: to take HTTPS_ONLY for unset would send data in the clear. */
static int get(const struct nm_yarn_conf *c, const char *name, char **ret)
{
    _cleanup_free_ char *value = NULL;
    int e = nm_yarn_conf_expand(c, name, &value);

    if (e == -ENOENT && older_name(name))
        e = nm_yarn_conf_expand(c, older_name(name), &value);
    if (e == -ENOMEM)
        return e;
    *ret = e < 0 || value[nm_utf8_prefix(value)] != '\0' ? NULL : STEAL_PTR(value);
    return 0;
}

/* As in Hadoop, an address alone is that of HDFS, and "local" means the node's own file system. */
static int get_default_fs(const struct nm_yarn_conf *c, char **ret)
{
    _cleanup_free_ char *value = NULL;
    int e = get(c, "fs.defaultFS", &value);

    if (e < 0)
        return e;
    if (!value || !*value || strchr(value, '/')) {
        *ret = STEAL_PTR(value);
        return 0;
    }
    if (nm_streq(value, "local"))
        *ret = strdup("file:///");
    else if (asprintf(ret, "hdfs://%s", value) < 0)
        *ret = NULL;
    return *ret ? 0 : -ENOMEM;
}

static int append(json_t *list, const char *text, size_t size)
{
    return json_array_append_new(list, json_stringn(text, size)) < 0 ? -ENOMEM : 0;
}

/* ---- addresses ---------------------------------------------------------------------------- */

/* HOST:PORT, HOST, [IPv6]:PORT, [IPv6] or IPv6, of which the last is put into brackets. */
struct address {
    char host[NAME_SIZE];
    unsigned port; /* 0: it has none */
};

static bool is_wildcard(const char *host)
{
    static const char *const words[] = {"", "0.0.0.0", "[::]", "[0:0:0:0:0:0:0:0]"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        if (nm_streq(host, words[i]))
            return true;
    return false;
}

/* Its first `size` bytes, which are a part of a longer text or all of it. */
static bool is_name(const char *text, size_t size)
{
    return size > 0 && strspn(text, LETTERS "0123456789.-_") >= size;
}

/* As Java's URI has it: the name or number of a network interface may follow a '%'. */
static bool is_ipv6(const char *text, size_t size)
{
    const char *zone = memchr(text, '%', size);
    const size_t length = zone ? (size_t)(zone - text) : size;
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (length >= sizeof copy || (zone && !is_name(zone + 1, size - length - 1)))
        return false;
    *(char *)mempcpy(copy, text, length) = '\0';
    return inet_pton(AF_INET6, copy, &address) == 1;
}

static bool is_host(const char *text, size_t size, bool is_bare)
{
    if (*text == '[')
        return size > 2 && text[size - 1] == ']' && is_ipv6(text + 1, size - 2);
    return is_bare ? is_ipv6(text, size) : is_name(text, size);
}

/* Behind the colon. Java's URI takes "HOST:", too, which has none. */
static bool read_port(const char *text, size_t size, unsigned *ret)
{
    char digits[8] = "";
    uint64_t port = 0;

    if (size >= sizeof digits)
        return false;
    memcpy(digits, text, size);
    if (size > 0 && (nm_parse_u64(digits, &port) < 0 || port == 0 || port > UINT16_MAX))
        return false;
    *ret = (unsigned)port;
    return true;
}

/* Of its first `size` bytes. False: it is none. URLs are made of its host, so that one with other characters than
 * hosts have would fail each container that needs a file from there, and not be told before. */
static bool read_address(const char *text, size_t size, struct address *ret)
{
    const char *end = text + size, *bracket = size > 0 && *text == '[' ? memchr(text, ']', size) : NULL;
    const char *colon = memchr(bracket ?: text, ':', (size_t)(end - (bracket ?: text)));
    const bool is_bare = !bracket && colon && memchr(colon + 1, ':', (size_t)(end - colon - 1));
    const char *host_end = is_bare || !colon ? end : colon;
    const size_t n = (size_t)(host_end - text);
    unsigned port = 0;

    if (!is_host(text, n, is_bare) || n + strlen("[]") >= sizeof ret->host)
        return false;
    if (host_end < end && !read_port(host_end + 1, size - n - 1, &port))
        return false;
    (void)snprintf(ret->host, sizeof ret->host, "%s%.*s%s", is_bare ? "[" : "", (int)n, text, is_bare ? "]" : "");
    ret->port = port;
    return true;
}

/* The value of a property: as in Hadoop a scheme before it, and a path behind that, say nothing. */
static bool read_plain(const char *text, struct address *ret)
{
    const size_t scheme = strspn(text, LETTERS "0123456789+.-");
    const bool has_scheme = scheme > 0 && strchr(LETTERS, *text) && strncmp(text + scheme, "://", 3) == 0;

    text += has_scheme ? scheme + 3 : 0;
    return read_address(text, has_scheme ? strcspn(text, "/") : strlen(text), ret);
}

/* Of SCHEME://[USER@]AUTHORITY[/...], where it has that scheme. */
static bool read_authority(const char *uri, const char *scheme, struct address *ret)
{
    const size_t n = strlen(scheme);
    const char *at, *start;

    if (strncasecmp(uri, scheme, n) != 0 || strncmp(uri + n, "://", 3) != 0)
        return false;
    start = uri + n + 3;
    at = memchr(start, '@', strcspn(start, "/"));
    start = at ? at + 1 : start;
    return read_address(start, strcspn(start, "/"), ret);
}

/* ---- name nodes --------------------------------------------------------------------------- */

/* What a URI's authority may be. What is there already stays: two name nodes of one host share its bare name, and the
 * first has it. */
static int put_key(const struct reader *r, const char *name, const char *base)
{
    char key[NAME_SIZE + 40];

    (void)snprintf(key, sizeof key, "%s%s", r->prefix, name);
    if (json_object_get(r->name_nodes, key))
        return 0;
    return json_object_set_new(r->name_nodes, key, json_pack("[s]", base)) < 0 ? -ENOMEM : 0;
}

static int put_keys(const struct reader *r, const struct address *rpc, const char *base)
{
    char key[NAME_SIZE + 12];
    int e;

    if (is_wildcard(rpc->host))
        return 0;
    (void)snprintf(key, sizeof key, "%s:%u", rpc->host, rpc->port > 0 ? rpc->port : RPC_PORT);
    e = put_key(r, key, base);
    return e < 0 ? e : put_key(r, rpc->host, base);
}

/* Once: the properties are read a second time for swebhdfs:. */
static int doubt_address(const struct reader *r, const char *name, const char *value)
{
    if (*r->prefix)
        return 0;
    return json_array_append_new(r->lacking, json_pack("{s:s, s:s}", "name", name, "value", value)) < 0 ? -ENOMEM : 0;
}

static int get_address(const struct reader *r, const char *what, const char *suffix, struct address *ret)
{
    _cleanup_free_ char *text = NULL;
    struct address address;
    char name[2 * NAME_SIZE];
    int e;

    (void)snprintf(name, sizeof name, "dfs.namenode.%s-address%s", what, suffix);
    e = get(r->conf, name, &text);
    if (e < 0 || !text || !*text)
        return e;
    if (read_plain(text, &address))
        *ret = address;
    else
        e = doubt_address(r, name, text);
    return e;
}

/* suffix: "", ".SERVICE" or ".SERVICE.NODE"; fallback: where its RPC is, if nothing else says so. As Hadoop has it, one
 * whose web address is none or all addresses answers where its RPC does. */
static int add_name_node(const struct reader *r, json_t *list, const char *suffix, const struct address *fallback)
{
    struct address web = {0}, rpc = {0};
    char base[NAME_SIZE + 20];
    int e = get_address(r, r->https ? "https" : "http", suffix, &web);

    if (e == 0)
        e = get_address(r, "rpc", suffix, &rpc);
    if (e < 0)
        return e;
    if (is_wildcard(rpc.host) && fallback)
        rpc = *fallback;
    if (is_wildcard(web.host))
        (void)snprintf(web.host, sizeof web.host, "%s", rpc.host);
    if (is_wildcard(web.host))
        return 0;
    if (web.port == 0)
        web.port = r->https ? HTTPS_PORT : HTTP_PORT;
    (void)snprintf(base, sizeof base, "%s://%s:%u", r->https ? "https" : "http", web.host, web.port);
    e = append(list, base, strlen(base));
    return e < 0 ? e : put_keys(r, &rpc, base);
}

/* With several name nodes, or with one whose address has the service's name in it. */
static int fill_service(const struct reader *r, json_t *list, const char *service, size_t size)
{
    _cleanup_free_ char *nodes = NULL;
    char name[NAME_SIZE], suffix[NAME_SIZE];
    int e;

    (void)snprintf(name, sizeof name, "dfs.ha.namenodes.%.*s", (int)size, service);
    e = get(r->conf, name, &nodes);
    if (e < 0)
        return e;
    if (!nodes) {
        (void)snprintf(suffix, sizeof suffix, ".%.*s", (int)size, service);
        return add_name_node(r, list, suffix, NULL);
    }
    for (const char *p = nodes + strspn(nodes, SEPARATORS); e == 0 && *p; p += strspn(p, SEPARATORS)) {
        const size_t length = strcspn(p, SEPARATORS), n = json_array_size(list), n_doubts = json_array_size(r->lacking);

        (void)snprintf(suffix, sizeof suffix, ".%.*s.%.*s", (int)size, service, (int)length, p);
        e = add_name_node(r, list, suffix, NULL);
        if (e == 0 && !*r->prefix && json_array_size(list) == n && json_array_size(r->lacking) == n_doubts)
            e = append(r->lacking, suffix + 1, strlen(suffix + 1));
        p += length;
    }
    return e;
}

/* Takes the list over. Where there is nothing in it the worker goes by its own default: the host of the URI. */
static int put_list(json_t *object, const char *key, size_t size, json_t *list)
{
    if (json_array_size(list) > 0)
        return json_object_setn_new(object, key, size, list) < 0 ? -ENOMEM : 0;
    json_decref(list);
    return 0;
}

static int read_services(struct reader *r, const char *services)
{
    int e = 0;

    for (const char *p = services + strspn(services, SEPARATORS); e == 0 && *p; p += strspn(p, SEPARATORS)) {
        size_t size = strcspn(p, SEPARATORS);
        json_t *list = json_array();
        char key[NAME_SIZE];
        int n = snprintf(key, sizeof key, "%s%.*s", r->prefix, (int)NM_MIN(size, sizeof key), p);

        e = list ? fill_service(r, list, p, size) : -ENOMEM;
        if (e == 0)
            e = put_list(r->name_nodes, key, NM_MIN((size_t)n, sizeof key - 1), list);
        else
            json_decref(list);
        p += size;
    }
    return e;
}

/* The only name node, whose properties have no name in them. */
static int read_single(const struct reader *r, const struct address *of_file_system)
{
    json_t *list = json_array();
    int e = list ? add_name_node(r, list, "", of_file_system) : -ENOMEM;

    json_decref(list);
    return e;
}

/* hdfs:///PATH is in the default file system, if that is HDFS. */
static int put_default(const struct reader *r, const struct address *authority)
{
    char key[NAME_SIZE + 12], base[NAME_SIZE + 20];
    json_t *list = NULL;

    if (authority->port > 0) {
        (void)snprintf(key, sizeof key, "%s:%u", authority->host, authority->port);
        list = json_object_get(r->name_nodes, key);
    }
    list = list ?: json_object_get(r->name_nodes, authority->host);
    if (list)
        return json_object_set(r->name_nodes, "hdfs:", list) < 0 ? -ENOMEM : 0;
    (void)snprintf(base, sizeof base, "%s://%s:%u", r->https ? "https" : "http", authority->host,
                   r->https ? HTTPS_PORT : HTTP_PORT);
    return put_key(r, "hdfs:", base);
}

/* scheme: with its colon. */
static int put_webhdfs_default(const struct reader *r, const char *scheme, const struct address *authority)
{
    unsigned port = authority->port > 0 ? authority->port : r->https ? HTTPS_PORT : HTTP_PORT;
    char base[NAME_SIZE + 20], key[NAME_SIZE + 12];
    json_t *list;

    (void)snprintf(key, sizeof key, "%s%s", r->prefix, authority->host);
    list = authority->port > 0 ? NULL : json_incref(json_object_get(r->name_nodes, key));
    (void)snprintf(base, sizeof base, "%s://%s:%u", r->https ? "https" : "http", authority->host, port);
    list = list ?: json_pack("[s]", base);
    return json_object_set_new(r->name_nodes, scheme, list) < 0 ? -ENOMEM : 0;
}

static int read_all(struct reader *r, const char *services, const struct address *of_file_system)
{
    if (services && services[strspn(services, SEPARATORS)])
        return read_services(r, services);
    return read_single(r, of_file_system);
}

/* Where the policy is TLS for all, they are those of the other schemes. */
static int read_swebhdfs(struct reader *r, const char *services, const char *policy, const char *file_system)
{
    struct address authority;
    const bool is_default = file_system && read_authority(file_system, "swebhdfs", &authority);
    const bool has_own = !r->https && (is_default || (policy && strcasecmp(policy, "HTTP_AND_HTTPS") == 0));
    struct reader tls = *r;
    struct address of_hdfs;
    int e = 0;

    tls.https = true;
    tls.prefix = has_own ? "swebhdfs://" : "";
    if (has_own)
        e = read_all(&tls, services, file_system && read_authority(file_system, "hdfs", &of_hdfs) ? &of_hdfs : NULL);
    return e == 0 && is_default ? put_webhdfs_default(&tls, "swebhdfs:", &authority) : e;
}

/* Returns whether the URI has this scheme and an authority that is no valid address. */
static bool is_odd(const char *file_system, const char *scheme)
{
    struct address address;
    const size_t n = strlen(scheme);

    return strncasecmp(file_system, scheme, n) == 0 && strncmp(file_system + n, "://", 3) == 0 &&
           file_system[n + 3] != '/' && file_system[n + 3] != '\0' && !read_authority(file_system, scheme, &address);
}

static int doubt_file_system(const struct reader *r, const char *file_system)
{
    const bool is_any = file_system && (is_odd(file_system, "hdfs") || is_odd(file_system, "webhdfs") ||
                                        is_odd(file_system, "swebhdfs"));

    return is_any ? doubt_address(r, "fs.defaultFS", file_system) : 0;
}

static int read_name_nodes(struct reader *r)
{
    _cleanup_free_ char *services = NULL, *policy = NULL, *file_system = NULL;
    struct address authority;
    bool is_hdfs;
    int e;

    if ((e = get(r->conf, "dfs.nameservices", &services)) < 0 || (e = get(r->conf, "dfs.http.policy", &policy)) < 0 ||
        (e = get_default_fs(r->conf, &file_system)) < 0)
        return e;
    if ((e = doubt_file_system(r, file_system)) < 0)
        return e;
    r->https = policy && strcasecmp(policy, "HTTPS_ONLY") == 0;
    is_hdfs = file_system && read_authority(file_system, "hdfs", &authority);
    e = read_all(r, services, is_hdfs ? &authority : NULL);
    if (e == 0 && is_hdfs)
        e = put_default(r, &authority);
    else if (e == 0 && file_system && read_authority(file_system, "webhdfs", &authority))
        e = put_webhdfs_default(r, "webhdfs:", &authority);
    return e == 0 ? read_swebhdfs(r, services, policy, file_system) : e;
}

/* How name nodes are asked that aren't among those, too. */
static int read_tls(const struct reader *r, json_t **ret)
{
    _cleanup_free_ char *ca_file = NULL;
    int e = get(r->conf, "nmd.webhdfs.ca-file", &ca_file);

    if (e < 0)
        return e;
    *ret = ca_file && *ca_file ? json_pack("{s:b, s:s}", "https", r->https, "ca_file", ca_file)
                               : json_pack("{s:b}", "https", r->https);
    return *ret ? 0 : -ENOMEM;
}

/* ---- commands ----------------------------------------------------------------------------- */

static int read_command(struct reader *r, const char *scheme, const char *words)
{
    json_t *list = json_array();
    int e = list ? 0 : -ENOMEM;

    for (const char *p = words + strspn(words, " \t\r\n"); e == 0 && *p; p += strspn(p, " \t\r\n")) {
        e = append(list, p, strcspn(p, " \t\r\n"));
        p += strcspn(p, " \t\r\n");
    }
    if (e == 0)
        return put_list(r->commands, scheme, strlen(scheme), list);
    json_decref(list);
    return e;
}

static int read_commands(struct reader *r)
{
    int e = 0;

    for (size_t i = 0; e == 0 && i < nm_yarn_conf_count(r->conf); i++) {
        const char *name = nm_yarn_conf_at(r->conf, i)->name;
        _cleanup_free_ char *words = NULL;

        if (strncmp(name, COMMAND, strlen(COMMAND)) == 0)
            e = get(r->conf, name, &words);
        if (e == 0 && words)
            e = read_command(r, name + strlen(COMMAND), words);
    }
    return e;
}

int nm_yarn_sources_default(const struct nm_yarn_conf *c, char **ret)
{
    return get_default_fs(c, ret);
}

int nm_yarn_sources_read(const struct nm_yarn_conf *c, json_t **ret_name_nodes, json_t **ret_webhdfs,
                         json_t **ret_commands, json_t **ret_lacking)
{
    _cleanup_(reader_done) struct reader r = {.conf = c,
                                              .prefix = "",
                                              .name_nodes = json_object(),
                                              .commands = json_object(),
                                              .lacking = json_array()};
    int e;

    if (!r.name_nodes || !r.commands || !r.lacking)
        return -ENOMEM;
    e = read_name_nodes(&r);
    if (e == 0)
        e = read_commands(&r);
    if (e == 0)
        e = read_tls(&r, &r.webhdfs);
    if (e < 0)
        return e;
    *ret_webhdfs = STEAL_PTR(r.webhdfs);
    *ret_name_nodes = STEAL_PTR(r.name_nodes);
    *ret_commands = STEAL_PTR(r.commands);
    *ret_lacking = STEAL_PTR(r.lacking);
    return 0;
}
