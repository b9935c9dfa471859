/* SPDX-License-Identifier: Apache-2.0 */

/* See sources.h. */

#include "rpc/yarn/conf/sources.h"

#include "util/utf8.h"

#define COMMAND "nmd.fetch-command."
#define HTTP_PORT "9870"
#define HTTPS_PORT "9871"
#define SEPARATORS ", \t\r\n"
#define NAME_SIZE 300

struct reader {
    const struct nm_yarn_conf *conf;
    bool https;
    char *default_host; /* of fs.defaultFS; NULL: it is no HDFS */
    json_t *name_nodes, *commands;
};

static void reader_done(struct reader *r)
{
    free(r->default_host);
    json_decref(r->name_nodes);
    json_decref(r->commands);
}

/* *ret is NULL where it isn't set, or can't be made sense of: a part of it is the environment's, which may be no text.
 * Without memory nothing is known: to take HTTPS_ONLY for unset would send data in the clear. */
static int get(const struct nm_yarn_conf *c, const char *name, char **ret)
{
    _cleanup_free_ char *value = NULL;
    int e = nm_yarn_conf_expand(c, name, &value);

    if (e == -ENOMEM)
        return e;
    *ret = e < 0 || value[nm_utf8_prefix(value)] != '\0' ? NULL : STEAL_PTR(value);
    return 0;
}

static int append(json_t *list, const char *text, size_t size)
{
    return json_array_append_new(list, json_stringn(text, size)) < 0 ? -ENOMEM : 0;
}

/* ---- name nodes --------------------------------------------------------------------------- */

/* The host of hdfs://HOST[:PORT][/...], or none. */
static int host_of(const char *uri, char **ret)
{
    const char *host = strstr(uri, "://");

    if (!host || strncmp(uri, "hdfs", 4) != 0 || strcspn(host + 3, ":/") == 0)
        return 0;
    *ret = strndup(host + 3, strcspn(host + 3, ":/"));
    return *ret ? 0 : -ENOMEM;
}

/* One that is bound to all addresses is found where its file system is. */
static int add_address(const struct reader *r, json_t *list, const char *address, const char *host)
{
    const char *port = strrchr(address, ':') ?: r->https ? ":" HTTPS_PORT : ":" HTTP_PORT;
    size_t size = strcspn(address, ":");
    char base[2 * NAME_SIZE];
    int n;

    if (size == 0 || (size == 7 && memcmp(address, "0.0.0.0", 7) == 0)) {
        if (!host)
            return 0;
        n = snprintf(base, sizeof base, "%s://%s%s", r->https ? "https" : "http", host, port);
    } else {
        n = snprintf(base, sizeof base, "%s://%.*s%s", r->https ? "https" : "http", (int)size, address, port);
    }
    return n < 0 || (size_t)n >= sizeof base ? 0 : append(list, base, (size_t)n);
}

/* suffix: "", ".SERVICE" or ".SERVICE.NODE". */
static int add_name_node(const struct reader *r, json_t *list, const char *suffix, const char *host)
{
    _cleanup_free_ char *address = NULL;
    char name[2 * NAME_SIZE];
    int e;

    (void)snprintf(name, sizeof name, "dfs.namenode.%s-address%s", r->https ? "https" : "http", suffix);
    e = get(r->conf, name, &address);
    return e == 0 && address ? add_address(r, list, address, host) : e;
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
        size_t length = strcspn(p, SEPARATORS);

        (void)snprintf(suffix, sizeof suffix, ".%.*s.%.*s", (int)size, service, (int)length, p);
        e = add_name_node(r, list, suffix, NULL);
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

        e = list ? fill_service(r, list, p, size) : -ENOMEM;
        if (e == 0)
            e = put_list(r->name_nodes, p, size, list);
        else
            json_decref(list);
        p += size;
    }
    return e;
}

static int read_name_nodes(struct reader *r)
{
    _cleanup_free_ char *services = NULL, *policy = NULL, *file_system = NULL;
    json_t *list;
    int e;

    if ((e = get(r->conf, "dfs.nameservices", &services)) < 0 || (e = get(r->conf, "dfs.http.policy", &policy)) < 0 ||
        (e = get(r->conf, "fs.defaultFS", &file_system)) < 0)
        return e;
    r->https = policy && strcasecmp(policy, "HTTPS_ONLY") == 0;
    if (file_system && (e = host_of(file_system, &r->default_host)) < 0)
        return e;
    if (services && *services)
        return read_services(r, services);
    if (!r->default_host)
        return 0;
    list = json_array();
    e = list ? add_name_node(r, list, "", r->default_host) : -ENOMEM;
    if (e == 0)
        return put_list(r->name_nodes, r->default_host, strlen(r->default_host), list);
    json_decref(list);
    return e;
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

int nm_yarn_sources_read(const struct nm_yarn_conf *c, json_t **ret_name_nodes, json_t **ret_commands)
{
    _cleanup_(reader_done) struct reader r = {.conf = c, .name_nodes = json_object(), .commands = json_object()};
    int e;

    if (!r.name_nodes || !r.commands)
        return -ENOMEM;
    e = read_name_nodes(&r);
    if (e == 0)
        e = read_commands(&r);
    if (e < 0)
        return e;
    *ret_name_nodes = STEAL_PTR(r.name_nodes);
    *ret_commands = STEAL_PTR(r.commands);
    return 0;
}
