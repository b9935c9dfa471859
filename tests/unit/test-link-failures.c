/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The link sampler when its socket can't be made, and when it receives unexpected answers. The test imitates the
 * kernel, answer by answer. After any failure the caller's figures are unchanged, and the next sample is complete.
 */

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/errno.h>
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
#include "tests/unit/fail-nth.h"
#include "util/macros.h"

#define SPEED_MBIT 10

enum answer {
    LINKS,       /* two links and the end */
    LINK_ALONE,  /* one link, not part of a multipart message */
    INTERRUPTED, /* interrupted by a signal, then correct */
    FAILS,       /* recvfrom() */
    NOTHING,
    TOO_LONG,
    OF_A_STRANGER, /* from another process, then correct */
    OF_YESTERDAY,  /* for an earlier request, then correct */
    UNREADABLE,    /* a link without a name among others */
    REFUSED,       /* by the kernel */
    REFUSED_BADLY, /* refused in a message that is too short */
    ACKNOWLEDGED,  /* only an acknowledgement */
};

static struct {
    int alloc_fails, connect_fails, nonblocking_fails;
    unsigned send_interrupted;
    int send_fails;
    bool has_routes;
    enum answer answer; /* answer to the request for links */
    bool is_second;     /* the next call continues the answer */
    uint16_t type;      /* type and number of the request */
    uint32_t seq;
    uint64_t bytes; /* value of the counters of links */
    bool is_down;
    const char *speed; /* speed in /sys; NULL: no file */
} kernel;

/* ---- libnl and the socket -------------------------------------------------------------------- */

struct nl_sock *__real_nl_socket_alloc(void);
struct nl_sock *__wrap_nl_socket_alloc(void);
int __wrap_nl_connect(struct nl_sock *s, int protocol);
int __wrap_nl_socket_set_nonblocking(const struct nl_sock *s);
ssize_t __wrap_sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t len);
ssize_t __wrap_recvfrom(int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *len);

struct nl_sock *__wrap_nl_socket_alloc(void)
{
    return kernel.alloc_fails ? NULL : __real_nl_socket_alloc();
}

int __wrap_nl_connect(struct nl_sock *s, int protocol)
{
    assert_non_null(s);
    assert_int_equal(protocol, NETLINK_ROUTE);
    return kernel.connect_fails;
}

int __wrap_nl_socket_set_nonblocking(const struct nl_sock *s)
{
    assert_non_null(s);
    return kernel.nonblocking_fails;
}

ssize_t __wrap_sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t len)
{
    const struct nlmsghdr *nlh = data;

    (void)fd;
    (void)flags;
    assert_int_equal(to->sa_family, AF_NETLINK);
    assert_int_equal(len, sizeof(struct sockaddr_nl));
    assert_int_equal(size, nlh->nlmsg_len);
    if (kernel.send_interrupted > 0 || kernel.send_fails) {
        errno = kernel.send_interrupted > 0 ? EINTR : kernel.send_fails;
        kernel.send_interrupted -= kernel.send_interrupted > 0;
        return -1;
    }
    kernel.type = nlh->nlmsg_type;
    kernel.seq = nlh->nlmsg_seq;
    kernel.is_second = false;
    return (ssize_t)size;
}

int __wrap_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);

int __wrap_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len)
{
    (void)dir_fd;
    (void)ret_len;
    assert_int_equal(strncmp(name, "/sys/class/net/", 15), 0);
    if (!kernel.speed)
        return -EINVAL; /* as the kernel does for links without a speed */
    (void)snprintf(buf, size, "%s", kernel.speed);
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
        .nlmsg_len = NLMSG_HDRLEN, .nlmsg_type = type, .nlmsg_flags = flags, .nlmsg_seq = kernel.seq};
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
    struct ifinfomsg ifi = {.ifi_index = ifindex, .ifi_flags = kernel.is_down ? IFF_UP : IFF_UP | IFF_RUNNING};
    struct rtnl_link_stats64 stats = {.rx_bytes = kernel.bytes, .tx_bytes = kernel.bytes};
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
    if (kernel.answer == UNREADABLE)
        add_link(p, 4, NULL, NLM_F_MULTI);
    add_link(p, 3, "two", NLM_F_MULTI);
    add_end(p);
}

/* Adds a message that comes before or instead of the answer. Returns false if there is none. */
static bool answer_first(struct packet *p, struct sockaddr_nl *from)
{
    switch (kernel.answer) {
    case OF_A_STRANGER:
        from->nl_pid = 4711;
        add_error(p, -EPERM, false);
        return true;
    case OF_YESTERDAY:
        kernel.seq--;
        add_error(p, -EPERM, false);
        kernel.seq++;
        return true;
    case REFUSED:
        add_error(p, -EBUSY, false);
        return true;
    case REFUSED_BADLY:
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
    bool first = !kernel.is_second;

    (void)fd;
    assert_int_equal(flags, MSG_TRUNC);
    assert_int_equal(*len, sizeof(struct sockaddr_nl));
    kernel.is_second = true;
    if (kernel.type == RTM_GETROUTE) {
        if (kernel.has_routes)
            add_route(&p);
        else
            add_error(&p, -ENETUNREACH, false);
        return (ssize_t)p.len;
    }
    if (first && kernel.answer == INTERRUPTED)
        return with_errno(EINTR);
    if (kernel.answer == FAILS)
        return with_errno(ENOBUFS);
    if (kernel.answer == NOTHING)
        return 0;
    if (kernel.answer == TOO_LONG)
        return (ssize_t)size + 1;
    if (!first || !answer_first(&p, (struct sockaddr_nl *)from))
        add_links(&p);
    return (ssize_t)p.len;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static int reset(void **state)
{
    (void)state;
    memset(&kernel, 0, sizeof kernel);
    return 0;
}

static struct nm_link_sampler *new_sampler(void)
{
    struct nm_link_sampler *s = NULL;

    assert_int_equal(nm_link_sampler_new(SPEED_MBIT, &s), 0);
    return s;
}

static void test_no_socket(void **state)
{
    static const struct {
        int nle, expected;
    } cases[] = {
        {NLE_NOMEM, -ENOMEM},         {NLE_NOACCESS, -EPERM},   {NLE_PERM, -EPERM},
        {NLE_AGAIN, -EAGAIN},         {NLE_BUSY, -EBUSY},       {NLE_AF_NOSUPPORT, -EAFNOSUPPORT},
        {NLE_PROTO_MISMATCH, -EAFNOSUPPORT}, {NLE_OPNOTSUPP, -EOPNOTSUPP}, {NLE_OBJ_NOTFOUND, -ENODEV},
        {NLE_NODEV, -ENODEV},         {NLE_INVAL, -EINVAL},     {NLE_FAILURE, -EIO},
    };
    struct nm_link_sampler *s = NULL;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        kernel.connect_fails = -cases[i].nle;
        assert_int_equal(nm_link_sampler_new(0, &s), cases[i].expected);
        kernel.connect_fails = 0;
        kernel.nonblocking_fails = -cases[i].nle;
        assert_int_equal(nm_link_sampler_new(0, &s), cases[i].expected);
        kernel.nonblocking_fails = 0;
    }
    kernel.alloc_fails = true;
    assert_int_equal(nm_link_sampler_new(0, &s), -ENOMEM);
    assert_null(s);
    assert_null(nm_link_sampler_free(NULL));
}

static int make_one(void *userdata)
{
    struct nm_link_sampler *s = NULL;
    int r = nm_link_sampler_new(0, &s);

    (void)userdata;
    assert_true((s != NULL) == (r == 0));
    (void)nm_link_sampler_free(s);
    return r;
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_int_equal(fail_each(make_one, NULL), 2); /* the sampler and its buffer; libnl allocates the socket */
}

/* Messages that don't belong to the answer are skipped, and all links are found. */
static void test_disturbed(void **state)
{
    static const enum answer answers[] = {LINKS, INTERRUPTED, OF_A_STRANGER, OF_YESTERDAY, UNREADABLE};
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(answers); i++) {
        kernel.answer = answers[i];
        kernel.send_interrupted = (unsigned)i;
        kernel.bytes += 1000;
        n = 0;
        assert_int_equal(nm_link_sampler_sample(s, (i + 1) * NM_USEC_PER_SEC, links, &n), 0);
        assert_int_equal(n, 2);
        assert_string_equal(links[0].name, "one");
        assert_string_equal(links[1].name, "two");
        assert_false(links[0].uplink);
        assert_int_equal(links[0].rx_bytes_per_sec, i == 0 ? 0 : 1000);
        assert_int_equal(links[0].speed_mbit, SPEED_MBIT);
    }
    kernel.has_routes = true;
    assert_int_equal(nm_link_sampler_sample(s, 10 * NM_USEC_PER_SEC, links, &n), 0);
    assert_true(links[0].uplink);
    assert_false(links[1].uplink);
}

static void test_no_answer(void **state)
{
    static const struct {
        enum answer answer;
        int expected;
    } cases[] = {
        {FAILS, -ENOBUFS}, {NOTHING, -EIO}, {TOO_LONG, -E2BIG}, {REFUSED, -EBUSY}, {REFUSED_BADLY, -EBADMSG},
    };
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n = 77;

    (void)state;
    assert_int_equal(nm_link_sampler_sample(s, 1 * NM_USEC_PER_SEC, links, &n), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        kernel.answer = cases[i].answer;
        n = 77;
        assert_int_equal(nm_link_sampler_sample(s, 2 * NM_USEC_PER_SEC, links, &n), cases[i].expected);
        assert_int_equal(n, 77);
    }
    kernel.send_fails = ECONNREFUSED;
    assert_int_equal(nm_link_sampler_sample(s, 2 * NM_USEC_PER_SEC, links, &n), -ECONNREFUSED);
    assert_int_equal(n, 77);
    /* The sampler's data about the links has survived all failures. */
    kernel.send_fails = 0;
    kernel.answer = LINKS;
    kernel.bytes = 4000;
    assert_int_equal(nm_link_sampler_sample(s, 3 * NM_USEC_PER_SEC, links, &n), 0);
    assert_int_equal(links[1].tx_bytes_per_sec, 2000);
    assert_true(links[1].utilization > 0.0015 && links[1].utilization < 0.0017);
}

/* The answer may have fewer links than expected. */
static void test_few_links(void **state)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n;

    (void)state;
    kernel.answer = ACKNOWLEDGED;
    assert_int_equal(nm_link_sampler_sample(s, 1 * NM_USEC_PER_SEC, links, &n), 0);
    assert_int_equal(n, 0);
    kernel.answer = LINK_ALONE;
    kernel.bytes = 1000;
    assert_int_equal(nm_link_sampler_sample(s, 2 * NM_USEC_PER_SEC, links, &n), 0);
    assert_int_equal(n, 1);
    kernel.answer = ACKNOWLEDGED; /* it goes, */
    assert_int_equal(nm_link_sampler_sample(s, 3 * NM_USEC_PER_SEC, links, &n), 0);
    kernel.answer = LINK_ALONE; /* the link counts as a new one when it returns */
    kernel.bytes = 2000;
    assert_int_equal(nm_link_sampler_sample(s, 4 * NM_USEC_PER_SEC, links, &n), 0);
    assert_int_equal(links[0].rx_bytes_per_sec, 0);
}

/* A clock that was set back gives no rate until the next sample. */
static void test_clock_goes_back(void **state)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n;

    (void)state;
    assert_int_equal(nm_link_sampler_sample(s, 100 * NM_USEC_PER_SEC, links, &n), 0);
    kernel.bytes = 5000;
    assert_int_equal(nm_link_sampler_sample(s, 50 * NM_USEC_PER_SEC, links, &n), 0);
    assert_int_equal(links[0].rx_bytes_per_sec, 0);
    kernel.bytes = 5500;
    assert_int_equal(nm_link_sampler_sample(s, 51 * NM_USEC_PER_SEC, links, &n), 0);
    assert_int_equal(links[0].rx_bytes_per_sec, 500);
}

/* The configured speed is used if the kernel doesn't know one. The kernel's speed is read when a link comes up, and
 * once a minute. */
static void test_speed(void **state)
{
    static const struct {
        const char *speed;
        uint64_t after_sec;
        bool is_down;
        uint64_t expected_mbit;
    } steps[] = {
        {"-1\n", 1, false, SPEED_MBIT},   {"25000\n", 59, false, SPEED_MBIT}, {"25000\n", 1, false, 25000},
        {"1000\n", 1, false, 25000},      {"1000\n", 1, true, SPEED_MBIT},    {"1000\n", 1, false, 1000},
        {"4294967295\n", 60, false, SPEED_MBIT}, {"fast\n", 60, false, SPEED_MBIT},  {NULL, 60, false, SPEED_MBIT},
    };
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    uint64_t now = NM_USEC_PER_SEC;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(steps); i++) {
        struct nm_link_sample links[NM_LINKS_MAX];
        unsigned n;

        kernel.speed = steps[i].speed;
        kernel.is_down = steps[i].is_down;
        now += steps[i].after_sec * NM_USEC_PER_SEC;
        assert_int_equal(nm_link_sampler_sample(s, now, links, &n), 0);
        assert_int_equal(links[0].up, !steps[i].is_down);
        if (links[0].speed_mbit != steps[i].expected_mbit)
            fail_msg("step %zu: %u Mbit/s", i, (unsigned)links[0].speed_mbit);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_socket, reset),
        cmocka_unit_test_setup(test_no_memory, reset),
        cmocka_unit_test_setup(test_disturbed, reset),
        cmocka_unit_test_setup(test_no_answer, reset),
        cmocka_unit_test_setup(test_few_links, reset),
        cmocka_unit_test_setup(test_clock_goes_back, reset),
        cmocka_unit_test_setup(test_speed, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
