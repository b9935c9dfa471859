/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. */

#include "yarn/conf/settings-parts.h"

#include "localize/name-nodes.h"
#include "util/macros.h"
#include "util/utf8.h"

#define COMMAND "nmd.fetch-command."
#define RPC_PORT 8020U
#define HTTP_PORT 9870U
#define HTTPS_PORT 9871U
#define SEPARATORS ", \t\r\n"
#define NAME_SIZE NM_AUTHORITY_SIZE
#define PROVIDER "dfs.client.failover.proxy.provider."

struct reader {
    const struct nm_yarn_conf *conf;
    bool https;
    const char *prefix; /* this text is prepended to each name in name_nodes */
    const char *file_system; /* the URI of the default file system; NULL: not set */
    json_t *name_nodes, *webhdfs, *commands, *lacking;
};

static void reader_done(struct reader *r)
{
    json_decref(r->name_nodes);
    json_decref(r->webhdfs);
    json_decref(r->commands);
    json_decref(r->lacking);
}

/* Returns the deprecated name of a property, according to the tables of Hadoop's classes Configuration and
 * HdfsConfiguration. These tables don't contain names with a service suffix. NULL: the property has no deprecated
 * name. */
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

/* Reads a property. *ret is NULL if the property isn't set or can't be expanded. *ret is also NULL if the value isn't
 * valid UTF-8, which an environment variable may cause. Returns -ENOMEM if there is no memory. The caller must not
 * treat this as an unset property, because without HTTPS_ONLY data would be sent in the clear. */
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

/* Reads the default file system. As in Hadoop, an address without a scheme is an address of HDFS, and "local" means the
 * node's own file system. */
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

/* ---- name nodes --------------------------------------------------------------------------- */

/* Adds an authority that URIs may contain. If the authority exists already, it is kept: if two name nodes run on one
 * host, the host name without a port stands for the first name node. */
static int put_key(const struct reader *r, const char *name, const char *base)
{
    char key[NAME_SIZE + 40];

    (void)snprintf(key, sizeof key, "%s%s", r->prefix, name);
    if (json_object_get(r->name_nodes, key))
        return 0;
    return json_object_set_new(r->name_nodes, key, json_pack("[s]", base)) < 0 ? -ENOMEM : 0;
}

static int put_keys(const struct reader *r, const struct nm_authority *rpc, const char *base)
{
    char key[NAME_SIZE + 12];
    int e;

    if (nm_authority_is_wildcard(rpc))
        return 0;
    (void)snprintf(key, sizeof key, "%s:%u", rpc->host, rpc->port > 0 ? rpc->port : RPC_PORT);
    e = put_key(r, key, base);
    return e < 0 ? e : put_key(r, rpc->host, base);
}

/* Adds a doubtful property to `lacking`. why NULL: the value is not an address. Adds it in the first pass only, because
 * the properties are read a second time for swebhdfs:. */
static int warn_address(const struct reader *r, const char *name, const char *value, const char *why)
{
    json_t *item;

    if (*r->prefix)
        return 0;
    item = json_pack("{s:s, s:s, s:s*}", "name", name, "value", value, "why", why);
    return json_array_append_new(r->lacking, item) < 0 ? -ENOMEM : 0;
}

/* Reports an IPv6 address without brackets, which Hadoop refuses. */
static int warn_bare(const struct reader *r, const char *name, const char *value, const struct nm_authority *a)
{
    if (!a->is_bare || nm_authority_is_wildcard(a))
        return 0;
    return warn_address(r, name, value, "this is taken for an IPv6 address without a port; write [IPv6]:PORT");
}

static int get_address(const struct reader *r, const char *what, const char *suffix, struct nm_authority *ret)
{
    _cleanup_free_ char *text = NULL;
    struct nm_authority address;
    char name[2 * NAME_SIZE];
    int e;

    (void)snprintf(name, sizeof name, "dfs.namenode.%s-address%s", what, suffix);
    e = get(r->conf, name, &text);
    if (e < 0 || !text || !*text)
        return e;
    if (!nm_authority_read(text, &address))
        return warn_address(r, name, text, NULL);
    *ret = address;
    return warn_bare(r, name, text, &address);
}

/* Reports a wildcard address of a service's name node if no other property contains the host of this name node. */
static int warn_wildcard(const struct reader *r, const char *what, const char *suffix, const struct nm_authority *a)
{
    char name[2 * NAME_SIZE];

    if (!*suffix || !*a->host)
        return 0;
    (void)snprintf(name, sizeof name, "dfs.namenode.%s-address%s", what, suffix);
    return warn_address(r, name, a->host,
                        "a wildcard address doesn't identify a host; nothing is fetched from this name node");
}

/* Adds a name node. suffix: "", ".SERVICE" or ".SERVICE.NODE". fallback: the address that is used if no property sets
 * the name node's RPC address. As in Hadoop, the host of the RPC address is used if the web address is missing or a
 * wildcard. */
static int add_name_node(const struct reader *r, json_t *list, const char *suffix, const struct nm_authority *fallback)
{
    const char *what = r->https ? "https" : "http", *host;
    struct nm_authority web = {0}, rpc = {0};
    char base[NAME_SIZE + 20];
    int e = get_address(r, what, suffix, &web);

    if (e == 0)
        e = get_address(r, "rpc", suffix, &rpc);
    if (e < 0)
        return e;
    if (nm_authority_is_wildcard(&rpc) && fallback)
        rpc = *fallback;
    host = nm_authority_is_wildcard(&web) ? rpc.target : web.target;
    if (nm_authority_is_wildcard(&web) && nm_authority_is_wildcard(&rpc))
        return *rpc.host ? warn_wildcard(r, "rpc", suffix, &rpc) : warn_wildcard(r, what, suffix, &web);
    if (web.port == 0)
        web.port = r->https ? HTTPS_PORT : HTTP_PORT;
    (void)snprintf(base, sizeof base, "%s://%s:%u", what, host, web.port);
    e = append(list, base, strlen(base));
    return e < 0 ? e : put_keys(r, &rpc, base);
}

/* Fills the list of a service: several name nodes, or a single name node whose property names contain the service's
 * name. */
static int fill_service(const struct reader *r, json_t *list, const char *service, size_t size)
{
    _cleanup_free_ char *nodes = NULL;
    char name[NAME_SIZE], suffix[NAME_SIZE];
    int e;

    (void)snprintf(name, sizeof name, "dfs.ha.namenodes.%.*s", (int)size, service);
    e = get(r->conf, name, &nodes);
    if (e < 0)
        return e;
    if (!nodes || !nodes[strspn(nodes, SEPARATORS)]) {
        (void)snprintf(suffix, sizeof suffix, ".%.*s", (int)size, service);
        return add_name_node(r, list, suffix, NULL);
    }
    for (const char *p = nodes + strspn(nodes, SEPARATORS); e == 0 && *p; p += strspn(p, SEPARATORS)) {
        const size_t length = strcspn(p, SEPARATORS), n = json_array_size(list),
        n_warnings = json_array_size(r->lacking);

        (void)snprintf(suffix, sizeof suffix, ".%.*s.%.*s", (int)size, service, (int)length, p);
        e = add_name_node(r, list, suffix, NULL);
        if (e == 0 && !*r->prefix && json_array_size(list) == n && json_array_size(r->lacking) == n_warnings)
            e = append(r->lacking, suffix + 1, strlen(suffix + 1));
        p += length;
    }
    return e;
}

/* Adds the list to the object, and takes ownership of the list. An empty list is not added, so that nm-localizer uses
 * its default: the host of the URI. */
static int put_list(json_t *object, const char *key, size_t size, json_t *list)
{
    if (json_array_size(list) > 0)
        return json_object_setn_new(object, key, size, list) < 0 ? -ENOMEM : 0;
    json_decref(list);
    return 0;
}

/* Returns whether clients of this cluster address the service by its name. A cluster may list services that its clients
 * don't use. */
static int is_asked_by_name(const struct reader *r, const char *service, bool *ret)
{
    static const char *const schemes[] = {"hdfs", "webhdfs", "swebhdfs"};
    _cleanup_free_ char *provider = NULL, *nodes = NULL;
    char name[NAME_SIZE + sizeof PROVIDER];
    struct nm_authority a;
    bool is_asked;
    int e;

    (void)snprintf(name, sizeof name, PROVIDER "%s", service);
    if ((e = get(r->conf, name, &provider)) < 0)
        return e;
    (void)snprintf(name, sizeof name, "dfs.ha.namenodes.%s", service);
    if ((e = get(r->conf, name, &nodes)) < 0)
        return e;
    is_asked = provider || nodes;
    for (size_t i = 0; r->file_system && i < NM_ARRAY_SIZE(schemes); i++)
        is_asked = is_asked || (nm_authority_read_uri(r->file_system, schemes[i], &a) && nm_streq(a.host, service));
    *ret = is_asked;
    return 0;
}

/* Reports a service that has no address, because clients would use the service's name as a host name. */
static int warn_service(const struct reader *r, const char *service)
{
    bool is_asked = false;
    int e = *r->prefix ? 0 : is_asked_by_name(r, service, &is_asked);

    if (e < 0 || !is_asked)
        return e;
    return json_array_append_new(r->lacking, json_pack("{s:s}", "service", service)) < 0 ? -ENOMEM : 0;
}

static int read_service(const struct reader *r, const char *service, size_t size)
{
    const size_t n_warnings = json_array_size(r->lacking);
    json_t *list = json_array();
    char key[NAME_SIZE];
    const int n = snprintf(key, sizeof key, "%s%.*s", r->prefix, (int)NM_MIN(size, sizeof key), service);
    int e = list ? fill_service(r, list, service, size) : -ENOMEM;

    if (e == 0 && json_array_size(list) == 0 && json_array_size(r->lacking) == n_warnings)
        e = warn_service(r, key + strlen(r->prefix));
    if (e == 0)
        return put_list(r->name_nodes, key, NM_MIN((size_t)n, sizeof key - 1), list);
    json_decref(list);
    return e;
}

static int read_services(struct reader *r, const char *services)
{
    int e = 0;

    for (const char *p = services + strspn(services, SEPARATORS); e == 0 && *p; p += strspn(p, SEPARATORS)) {
        const size_t size = strcspn(p, SEPARATORS);

        e = read_service(r, p, size);
        p += size;
    }
    return e;
}

/* Reads the addresses of a cluster that has only one name node, whose property names have no suffix. */
static int read_single(const struct reader *r, const struct nm_authority *of_file_system)
{
    json_t *list = json_array();
    int e = list ? add_name_node(r, list, "", of_file_system) : -ENOMEM;

    json_decref(list);
    return e;
}

/* If the default file system is HDFS, adds the entry "hdfs:", which is used for hdfs:///PATH. */
static int put_default(const struct reader *r, const struct nm_authority *authority)
{
    json_t *list = nm_name_nodes_find(r->name_nodes, r->prefix, authority->host, authority->port, false);
    char base[NAME_SIZE + 20];

    if (list)
        return json_object_set(r->name_nodes, "hdfs:", list) < 0 ? -ENOMEM : 0;
    (void)snprintf(base, sizeof base, "%s://%s:%u", r->https ? "https" : "http", authority->target,
                   r->https ? HTTPS_PORT : HTTP_PORT);
    return put_key(r, "hdfs:", base);
}

/* Adds the entry for URIs without an authority. scheme: includes the colon. */
static int put_webhdfs_default(const struct reader *r, const char *scheme, const struct nm_authority *authority)
{
    unsigned port = authority->port > 0 ? authority->port : r->https ? HTTPS_PORT : HTTP_PORT;
    char base[NAME_SIZE + 20];
    json_t *list = authority->port > 0
                       ? NULL
                       : json_incref(nm_name_nodes_find(r->name_nodes, r->prefix, authority->host, 0, false));

    (void)snprintf(base, sizeof base, "%s://%s:%u", r->https ? "https" : "http", authority->target, port);
    list = list ?: json_pack("[s]", base);
    return json_object_set_new(r->name_nodes, scheme, list) < 0 ? -ENOMEM : 0;
}

static int read_all(struct reader *r, const char *services, const struct nm_authority *of_file_system)
{
    if (services && services[strspn(services, SEPARATORS)])
        return read_services(r, services);
    return read_single(r, of_file_system);
}

/* Reads the name nodes for swebhdfs:. With HTTPS_ONLY, they are the same as for the other schemes. */
static int read_swebhdfs(struct reader *r, const char *services, const char *policy, const char *file_system)
{
    struct nm_authority authority;
    const bool is_default = file_system && nm_authority_read_uri(file_system, "swebhdfs", &authority);
    struct nm_authority of_hdfs;
    const bool is_hdfs = file_system && nm_authority_read_uri(file_system, "hdfs", &of_hdfs);
    const bool has_own = !r->https && (is_default || (policy && strcasecmp(policy, "HTTP_AND_HTTPS") == 0));
    struct reader tls = *r;
    int e = 0;

    tls.https = true;
    tls.prefix = has_own ? "swebhdfs://" : "";
    if (has_own)
        e = read_all(&tls, services, is_hdfs ? &of_hdfs : NULL);
    return e == 0 && is_default ? put_webhdfs_default(&tls, "swebhdfs:", &authority) : e;
}

/* Reports a default file system of this scheme whose address is missing or doubtful. */
static int warn_uri(const struct reader *r, const char *file_system, const char *scheme)
{
    static const char none[] = "the URI has no name node, so nothing is fetched from the default file system";
    const size_t n = strlen(scheme);
    struct nm_authority a;

    if (strncasecmp(file_system, scheme, n) != 0 || file_system[n] != ':')
        return 0;
    if (strncmp(file_system + n, "://", 3) != 0 || file_system[n + 3] == '/' || file_system[n + 3] == '\0')
        return warn_address(r, "fs.defaultFS", file_system, none);
    /* Hadoop interprets SCHEME: without more text as a host of that name with an empty port */
    if (strncasecmp(file_system + n + 3, scheme, n) == 0 && nm_streq(file_system + n + 3 + n, ":"))
        return warn_address(r, "fs.defaultFS", file_system + n + 3, none);
    if (!nm_authority_read_uri(file_system, scheme, &a))
        return warn_address(r, "fs.defaultFS", file_system, NULL);
    return warn_bare(r, "fs.defaultFS", file_system, &a);
}

static int warn_file_system(const struct reader *r, const char *file_system)
{
    static const char *const schemes[] = {"hdfs", "webhdfs", "swebhdfs"};
    int e = 0;

    for (size_t i = 0; e == 0 && file_system && i < NM_ARRAY_SIZE(schemes); i++)
        e = warn_uri(r, file_system, schemes[i]);
    return e;
}

static int read_name_nodes(struct reader *r)
{
    _cleanup_free_ char *services = NULL, *policy = NULL, *file_system = NULL;
    struct nm_authority authority;
    bool is_hdfs;
    int e;

    if ((e = get(r->conf, "dfs.nameservices", &services)) < 0 || (e = get(r->conf, "dfs.http.policy", &policy)) < 0 ||
        (e = get_default_fs(r->conf, &file_system)) < 0)
        return e;
    if ((e = warn_file_system(r, file_system)) < 0)
        return e;
    r->file_system = file_system;
    r->https = policy && strcasecmp(policy, "HTTPS_ONLY") == 0;
    is_hdfs = file_system && nm_authority_read_uri(file_system, "hdfs", &authority);
    e = read_all(r, services, is_hdfs ? &authority : NULL);
    if (e == 0 && is_hdfs)
        e = put_default(r, &authority);
    else if (e == 0 && file_system && nm_authority_read_uri(file_system, "webhdfs", &authority))
        e = put_webhdfs_default(r, "webhdfs:", &authority);
    e = e == 0 ? read_swebhdfs(r, services, policy, file_system) : e;
    r->file_system = NULL;
    return e;
}

/* Reads the TLS settings. They also apply to name nodes that aren't in the list. */
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
