/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "monitor/monitor.h"
#include "tests/unit/fake-netlink.h"

struct fake_netlink fake_netlink;

int fake_netlink_reset(void **state)
{
    (void)state;
    memset(&fake_netlink, 0, sizeof fake_netlink);
    return 0;
}

/* ---- libnl and the socket -------------------------------------------------------------------- */

struct nl_sock *__real_nl_socket_alloc(void);
struct nl_sock *__wrap_nl_socket_alloc(void);
int __wrap_nl_connect(struct nl_sock *s, int protocol);
int __wrap_nl_socket_set_nonblocking(const struct nl_sock *s);
ssize_t __wrap_sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t len);
ssize_t __wrap_recvfrom(int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *len);

struct nl_sock *__wrap_nl_socket_alloc(void)
{
    return fake_netlink.alloc_fails ? NULL : __real_nl_socket_alloc();
}

int __wrap_nl_connect(struct nl_sock *s, int protocol)
{
    assert_non_null(s);
    assert_int_equal(protocol, NETLINK_ROUTE);
    return fake_netlink.connect_fails;
}

int __wrap_nl_socket_set_nonblocking(const struct nl_sock *s)
{
    assert_non_null(s);
    return fake_netlink.nonblocking_fails;
}

ssize_t __wrap_sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t len)
{
    const struct nlmsghdr *nlh = data;

    (void)fd;
    (void)flags;
    assert_int_equal(to->sa_family, AF_NETLINK);
    assert_int_equal(len, sizeof(struct sockaddr_nl));
    assert_int_equal(size, nlh->nlmsg_len);
    if (fake_netlink.send_interrupted > 0 || fake_netlink.send_fails) {
        errno = fake_netlink.send_interrupted > 0 ? EINTR : fake_netlink.send_fails;
        fake_netlink.send_interrupted -= fake_netlink.send_interrupted > 0;
        return -1;
    }
    fake_netlink.type = nlh->nlmsg_type;
    fake_netlink.seq = nlh->nlmsg_seq;
    fake_netlink.is_second = false;
    return (ssize_t)size;
}

int __wrap_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);

int __wrap_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len)
{
    (void)dir_fd;
    (void)ret_len;
    assert_int_equal(strncmp(name, "/sys/class/net/", 15), 0);
    if (!fake_netlink.speed)
        return -EINVAL; /* as the kernel does for links without a speed */
    (void)snprintf(buf, size, "%s", fake_netlink.speed);
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

struct packet {
    char *data;
    size_t len;
};

static struct nlmsghdr *begin(struct packet *p, uint16_t type, uint16_t flags)
{
    struct nlmsghdr *nlh = (struct nlmsghdr *)(p->data + p->len);

    *nlh = (struct nlmsghdr){
        .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = fake_netlink.seq};
    return nlh;
}

static void *append(struct nlmsghdr *nlh, const void *data, size_t size)
{
    void *to = (char *)nlh + nlh->nlmsg_len;

    memset(to, 0, NLMSG_ALIGN(size));
    if (size > 0)
        memcpy(to, data, size);
    nlh->nlmsg_len += (uint32_t)NLMSG_ALIGN(size);
    return to;
}

static void attribute(struct nlmsghdr *nlh, uint16_t type, const void *data, size_t size)
{
    struct rtattr attr = {.rta_type = type, .rta_len = (uint16_t)RTA_LENGTH(size)};

    (void)append(nlh, &attr, sizeof attr);
    (void)append(nlh, data, size);
}

static void add_link(struct packet *p, int ifindex, const char *name, uint16_t flags)
{
    struct ifinfomsg ifi = {.ifi_index = ifindex, .ifi_flags = fake_netlink.is_down ? IFF_UP : IFF_UP | IFF_RUNNING};
    struct rtnl_link_stats64 stats = {.rx_bytes = fake_netlink.bytes, .tx_bytes = fake_netlink.bytes};
    struct nlmsghdr *nlh = begin(p, RTM_NEWLINK, flags);

    (void)append(nlh, &ifi, sizeof ifi);
    if (name)
        attribute(nlh, IFLA_IFNAME, name, strlen(name) + 1);
    attribute(nlh, IFLA_STATS64, &stats, sizeof stats);
    p->len += nlh->nlmsg_len;
}

static void add_end(struct packet *p)
{
    p->len += begin(p, NLMSG_DONE, NLM_F_MULTI)->nlmsg_len;
}

static void add_error(struct packet *p, int error, bool is_short)
{
    struct nlmsgerr e = {.error = error};
    struct nlmsghdr *nlh = begin(p, NLMSG_ERROR, 0);

    (void)append(nlh, &e, is_short ? 0 : sizeof e);
    p->len += nlh->nlmsg_len;
}

/* Adds a default route over the first link. */
static void add_route(struct packet *p)
{
    struct rtmsg rtm = {.rtm_type = RTN_UNICAST, .rtm_family = AF_INET};
    struct nlmsghdr *nlh = begin(p, RTM_NEWROUTE, 0);
    uint32_t ifindex = 2;

    (void)append(nlh, &rtm, sizeof rtm);
    attribute(nlh, RTA_OIF, &ifindex, sizeof ifindex);
    p->len += nlh->nlmsg_len;
}

static void add_links(struct packet *p)
{
    add_link(p, 2, "one", NLM_F_MULTI);
    if (fake_netlink.answer == WITH_UNNAMED_LINK)
        add_link(p, 4, NULL, NLM_F_MULTI);
    add_link(p, 3, "two", NLM_F_MULTI);
    add_end(p);
}

/* Adds the message that the fake kernel sends before the answer or in its place. Returns false if the kernel sends only
 * the answer. */
static bool answer_first(struct packet *p, struct sockaddr_nl *from)
{
    switch (fake_netlink.answer) {
    case OF_ANOTHER_PROCESS:
        from->nl_pid = 4711;
        add_error(p, -EPERM, false);
        return true;
    case OF_EARLIER_REQUEST:
        fake_netlink.seq--;
        add_error(p, -EPERM, false);
        fake_netlink.seq++;
        return true;
    case REFUSED:
        add_error(p, -EBUSY, false);
        return true;
    case REFUSED_TOO_SHORT:
        add_error(p, 0, true);
        return true;
    case ACKNOWLEDGED:
        add_error(p, 0, false);
        return true;
    case LINK_ALONE:
        add_link(p, 2, "one", 0);
        return true;
    default:
        return false;
    }
}

static ssize_t with_errno(int error)
{
    errno = error;
    return -1;
}

ssize_t __wrap_recvfrom(int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *len)
{
    struct packet p = {.data = data};
    bool first = !fake_netlink.is_second;

    (void)fd;
    assert_int_equal(flags, MSG_TRUNC);
    assert_int_equal(*len, sizeof(struct sockaddr_nl));
    fake_netlink.is_second = true;
    if (fake_netlink.type == RTM_GETROUTE) {
        if (fake_netlink.has_routes)
            add_route(&p);
        else
            add_error(&p, -ENETUNREACH, false);
        return (ssize_t)p.len;
    }
    if (first && fake_netlink.answer == INTERRUPTED)
        return with_errno(EINTR);
    if (fake_netlink.answer == FAILS)
        return with_errno(ENOBUFS);
    if (fake_netlink.answer == EMPTY)
        return 0;
    if (fake_netlink.answer == TOO_LONG)
        return (ssize_t)size + 1;
    if (!first || !answer_first(&p, (struct sockaddr_nl *)from))
        add_links(&p);
    return (ssize_t)p.len;
}
