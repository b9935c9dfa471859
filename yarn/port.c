/* SPDX-License-Identifier: Apache-2.0 */

/* See port.h. */

#include "yarn/port.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

#include "util/error.h"
#include "util/parse.h"

#define BACKLOG 1024 /* many application masters may each open a connection per container */

/* Resolves a name. This may block, which is acceptable because it happens only at the start of nmd. */
static int find_address(const char *host, uint16_t port, const char *property, struct addrinfo **ret,
                        char **ret_message)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    char text[8];
    int r;

    (void)snprintf(text, sizeof text, "%u", (unsigned)port);
    r = getaddrinfo(host, text, &hints, ret);
    if (r != 0)
        return nm_fail(ret_message, -EADDRNOTAVAIL, "%s: %s: %s", property, host, gai_strerror(r));
    return 0;
}

static int port_of(int fd, int32_t *ret)
{
    struct sockaddr_storage sa = {};
    socklen_t size = sizeof sa;
    uint64_t port;
    char text[8];

    if (getsockname(fd, (struct sockaddr *)&sa, &size) < 0)
        return -errno;
    if (getnameinfo((struct sockaddr *)&sa, size, NULL, 0, text, sizeof text, NI_NUMERICSERV) != 0 ||
        nm_parse_u64(text, &port) < 0)
        return -EADDRNOTAVAIL;
    *ret = (int32_t)port;
    return 0;
}

static int bind_to(const struct addrinfo *a, int *ret)
{
    _cleanup_close_ int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0)
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) < 0)
        return -errno;
    *ret = STEAL_FD(fd);
    return 0;
}

static int refuse_port(const char *property, uint16_t port, int r, char **ret_message)
{
    return nm_fail(ret_message, r, "%s: port %u: %s", property, (unsigned)port, strerror(-r));
}

int nm_yarn_port_check(const char *host, uint16_t port, const char *host_property, const char *port_property,
                       bool may_be_ours, char **ret_message)
{
    _cleanup_close_ int fd = -EBADF;
    struct addrinfo *list;
    int r = find_address(host, port, host_property, &list, ret_message);

    if (r < 0)
        return r;
    r = bind_to(list, &fd);
    freeaddrinfo(list);
    if (r >= 0 || (r == -EADDRINUSE && may_be_ours))
        return 0;
    return refuse_port(port_property, port, r, ret_message);
}

static bool is_any(const char *host)
{
    return !*host || nm_streq(host, "0.0.0.0") || nm_streq(host, "::");
}

int nm_yarn_port_compare(const char *host, uint16_t port, const char *other_host, uint16_t other_port,
                         const char *other_property, char **ret_message)
{
    if (port == 0 || port != other_port || !(is_any(host) || is_any(other_host) || nm_streq(host, other_host)))
        return 0;
    return refuse_port(other_property, port, -EADDRINUSE, ret_message);
}

int nm_yarn_port_open(const char *host, uint16_t port, const char *host_property, const char *port_property,
                      int *ret_fd, int32_t *ret_port, char **ret_message)
{
    _cleanup_close_ int fd = -EBADF;
    struct addrinfo *list;
    int r = find_address(host, port, host_property, &list, ret_message);

    if (r < 0)
        return r;
    r = bind_to(list, &fd);
    freeaddrinfo(list);
    if (r == 0)
        r = RET_NERRNO(listen(fd, BACKLOG));
    if (r == 0)
        r = port_of(fd, ret_port);
    if (r < 0)
        return refuse_port(port_property, port, r, ret_message);
    *ret_fd = STEAL_FD(fd);
    return 0;
}
