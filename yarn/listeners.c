/* SPDX-License-Identifier: Apache-2.0 */

/* See listeners.h. */

#include "yarn/listeners.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <syslog.h>

#include "util/error.h"
#include "yarn/launch/shuffle-service.h"
#include "yarn/launch/spark-service.h"
#include "yarn/port.h"
#include "yarn/proxy/proxy.h"

struct listener {
    const char *property, *host;
    uint16_t port;
    bool is_optional;
};

struct listeners {
    struct listener all[5];
    size_t n;
    char http_host[INET6_ADDRSTRLEN];
};

static void add(struct listeners *l, const char *property, const char *host, uint16_t port, bool is_optional)
{
    l->all[l->n++] = (struct listener){property, host, port, is_optional};
}

const char *nm_yarn_bind_host(const struct nm_yarn_settings *s)
{
    return *s->bind_host ? s->bind_host : "0.0.0.0";
}

/* Returns the bind address of the web pages. A numeric address is returned unchanged. A name is ignored, since it is
 * meant for other hosts, and on this host it may resolve to 127.0.1.1. */
const char *nm_yarn_web_bind_host(const struct nm_yarn_settings *s)
{
    struct in6_addr address;

    if (*s->bind_host)
        return s->bind_host;
    return inet_pton(AF_INET, s->web.host, &address) == 1 || inet_pton(AF_INET6, s->web.host, &address) == 1
               ? s->web.host
               : "0.0.0.0";
}

/* Reads the port. Its offset is the same in the structures of IPv4 and IPv6. */
uint16_t nm_yarn_http_port(const struct sockaddr_storage *http)
{
    return http ? ntohs(((const struct sockaddr_in *)http)->sin_port) : 0;
}

static void add_http(struct listeners *l, const struct sockaddr_storage *http)
{
    const void *address = NULL;

    if (http && http->ss_family == AF_INET)
        address = &((const struct sockaddr_in *)http)->sin_addr;
    else if (http && http->ss_family == AF_INET6)
        address = &((const struct sockaddr_in6 *)http)->sin6_addr;
    if (address && inet_ntop(http->ss_family, address, l->http_host, sizeof l->http_host))
        add(l, "http-address", l->http_host, nm_yarn_http_port(http), false);
}

/* Lists the listeners. If nmd's own HTTP server uses the port of the node's web pages, that server serves the web pages
 * too. */
static void list(const struct nm_yarn_settings *s, const struct sockaddr_storage *http, struct listeners *l)
{
    add_http(l, http);
    add(l, NM_YARN_ADDRESS, nm_yarn_bind_host(s), s->node.port, false);
    if (nm_yarn_shuffle_is_wanted(s))
        add(l, NM_YARN_SHUFFLE_PORT, "0.0.0.0", (uint16_t)s->shuffle_port, false);
    if (nm_yarn_spark_is_wanted(s))
        add(l, NM_YARN_SPARK_PORT, "0.0.0.0", (uint16_t)s->spark.port, false);
    if (s->proxy)
        add(l, NM_YARN_PROXY_ADDRESS, s->proxy_address.host, s->proxy_address.port, false);
    if (s->serves_web && s->web.port != nm_yarn_http_port(http))
        add(l, NM_YARN_WEB_ADDRESS, nm_yarn_web_bind_host(s), s->web.port, true);
}

void nm_yarn_report_no_web(void (*report_cb)(int level, const char *sentence), const char *message)
{
    _cleanup_free_ char *sentence = NULL;

    if (asprintf(&sentence, "%s; nmd continues without its page and its web services there",
                 message ?: NM_YARN_WEB_ADDRESS ": out of memory") < 0)
        sentence = NULL;
    else
        report_cb(LOG_WARNING, sentence);
}

/* Compares the listener `at` with all earlier listeners. *ret_message: the reason why this listener can't be opened, or
 * NULL if its port is free. */
static void compare_with_earlier(const struct listeners *l, size_t at, char **ret_message)
{
    *ret_message = NULL;
    for (size_t i = 0; i < at && !*ret_message; i++)
        (void)nm_yarn_port_compare(l->all[i].host, l->all[i].port, l->all[at].host, l->all[at].port,
                                   l->all[at].property, ret_message);
}

int nm_yarn_listeners_check(const struct nm_yarn_settings *s, const struct sockaddr_storage *http,
                            void (*report_cb)(int level, const char *sentence), struct nm_refusals *refusals)
{
    struct listeners l = {.n = 0};
    int r = 0;

    list(s, http, &l);
    for (size_t i = 1; r >= 0 && i < l.n; i++) {
        _cleanup_free_ char *message = NULL;

        compare_with_earlier(&l, i, &message);
        if (message && l.all[i].is_optional)
            nm_yarn_report_no_web(report_cb, message);
        else if (message)
            r = nm_refusals_add(refusals, -EADDRINUSE, STEAL_PTR(message));
    }
    return r;
}
