/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The link sampler against the real kernel, in its own network namespace with a pair of virtual Ethernet links and a
 * default route. The tests are skipped if no namespace may be made. The parsers of the messages have a separate test.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/route.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "monitor/monitor.h"

#define FRAMES 100
#define FRAME_BYTES 1000

static struct nl_sock *sock; /* socket in the namespace; NULL: there is no namespace */

static void bring_up(const char *name)
{
    struct rtnl_link *old = NULL, *change = rtnl_link_alloc();

    assert_int_equal(rtnl_link_get_kernel(sock, 0, name, &old), 0);
    rtnl_link_set_flags(change, IFF_UP);
    assert_int_equal(rtnl_link_change(sock, old, change, 0), 0);
    rtnl_link_put(old);
    rtnl_link_put(change);
}

/* Waits until the link runs, because the kernel notices a carrier only after a delay. */
static void wait_running(const char *name)
{
    struct ifreq ifr = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(ifr.ifr_name, sizeof ifr.ifr_name, "%s", name);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(ioctl(fd, SIOCGIFFLAGS, &ifr), 0);
        if (ifr.ifr_flags & IFF_RUNNING)
            break;
        usleep(10000);
    }
    assert_true(ifr.ifr_flags & IFF_RUNNING);
    fd = nm_close(fd);
}

static void add_address(const char *name, const char *address)
{
    struct rtnl_addr *addr = rtnl_addr_alloc();
    struct nl_addr *local;

    assert_int_equal(nl_addr_parse(address, AF_INET, &local), 0);
    rtnl_addr_set_ifindex(addr, (int)if_nametoindex(name));
    assert_int_equal(rtnl_addr_set_local(addr, local), 0);
    assert_int_equal(rtnl_addr_add(sock, addr, 0), 0);
    nl_addr_put(local);
    rtnl_addr_put(addr);
}

static void add_default_route(const char *name, const char *gateway)
{
    struct rtnl_route *route = rtnl_route_alloc();
    struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
    struct nl_addr *dst, *via;

    assert_int_equal(nl_addr_parse("0.0.0.0/0", AF_INET, &dst), 0);
    assert_int_equal(nl_addr_parse(gateway, AF_INET, &via), 0);
    assert_int_equal(rtnl_route_set_dst(route, dst), 0);
    rtnl_route_nh_set_ifindex(hop, (int)if_nametoindex(name));
    rtnl_route_nh_set_gateway(hop, via);
    rtnl_route_add_nexthop(route, hop);
    assert_int_equal(rtnl_route_add(sock, route, 0), 0);
    nl_addr_put(dst);
    nl_addr_put(via);
    rtnl_route_put(route);
}

static int setup_namespace(void **state)
{
    (void)state;
    if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        return 0;
    sock = nl_socket_alloc();
    assert_int_equal(nl_connect(sock, NETLINK_ROUTE), 0);
    if (rtnl_link_veth_add(sock, "nmv0", "nmv1", getpid()) < 0) {
        nl_socket_free(STEAL_PTR(sock));
        return 0;
    }
    bring_up("nmv0");
    bring_up("nmv1");
    wait_running("nmv0");
    wait_running("nmv1");
    return 0;
}

static int done_namespace(void **state)
{
    (void)state;
    nl_socket_free(sock);
    return 0;
}

static void need_namespace(void)
{
    if (sock)
        return;
    print_message("this process may not make a network namespace with veth links\n");
    skip();
}

static void send_frames(const char *name)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
    char frame[FRAME_BYTES] = {0};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    frame[12] = 0x08; /* an EtherType that no program reads */
    for (int i = 0; i < FRAMES; i++)
        assert_int_equal(sendto(fd, frame, sizeof frame, 0, (struct sockaddr *)&to, sizeof to),
                         sizeof frame);
    fd = nm_close(fd);
}

static const struct nm_link_sample *find(const struct nm_link_sample *links, unsigned n,
                                         const char *name)
{
    for (unsigned i = 0; i < n; i++)
        if (nm_streq(links[i].name, name))
            return &links[i];
    fail_msg("there is no %s among %u links", name, n);
    return NULL;
}

static void test_rates_are_computed_from_the_counters(void **state)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = NULL;
    struct nm_link_sample links[NM_LINKS_MAX];
    const struct nm_link_sample *l;
    uint64_t before;
    unsigned n;

    (void)state;
    need_namespace();
    assert_int_equal(nm_link_sampler_new(10, &s), 0);
    assert_int_equal(nm_link_sampler_sample(s, 1000000, links, &n), 0);
    assert_int_equal(n, 2); /* without lo */
    l = find(links, n, "nmv0");
    assert_true(l->up);
    assert_int_equal(l->tx_bytes_per_sec, 0);
    assert_true(l->utilization == 0);
    before = l->tx_bytes;

    send_frames("nmv0");
    assert_int_equal(nm_link_sampler_sample(s, 2000000, links, &n), 0);
    l = find(links, n, "nmv0");
    /* The kernel itself sends a few bytes when a link comes up. */
    assert_in_range(l->tx_bytes - before, FRAMES * FRAME_BYTES, FRAMES * FRAME_BYTES + 5000);
    assert_int_equal(l->tx_bytes_per_sec, l->tx_bytes - before);
    assert_true(l->utilization >= 0.08 && l->utilization < 0.09); /* a fraction of the configured 10 Mbit/s */
    assert_true(find(links, n, "nmv1")->rx_bytes_per_sec >= FRAMES * FRAME_BYTES);
}

static void test_the_uplink_is_the_link_of_the_default_route(void **state)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = NULL;
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n;

    (void)state;
    need_namespace();
    assert_int_equal(nm_link_sampler_new(0, &s), 0);
    add_address("nmv0", "192.0.2.1/24");
    assert_int_equal(nm_link_sampler_sample(s, 1, links, &n), 0);
    assert_false(find(links, n, "nmv0")->uplink); /* nmv0 has a route to a local network only */
    add_default_route("nmv0", "192.0.2.2");
    assert_int_equal(nm_link_sampler_sample(s, 2, links, &n), 0);
    assert_true(find(links, n, "nmv0")->uplink);
    assert_false(find(links, n, "nmv1")->uplink);
}

/* There are more links than a sample can contain. The uplink, here the last link, must be in the sample. */
static void test_the_uplink_is_sampled_even_if_there_are_too_many_links(void **state)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = NULL;
    struct nm_link_sample links[NM_LINKS_MAX];
    struct rtnl_link *old = NULL;
    unsigned n;

    (void)state;
    need_namespace();
    for (int i = 0; i < NM_LINKS_MAX / 2; i++) {
        char a[16], b[16];

        (void)snprintf(a, sizeof a, "nma%d", i);
        (void)snprintf(b, sizeof b, "nmb%d", i);
        assert_int_equal(rtnl_link_veth_add(sock, a, b, getpid()), 0);
    }
    assert_int_equal(rtnl_link_get_kernel(sock, 0, "nmv0", &old), 0); /* the kernel removes the route together with the
                                                                         link */
    assert_int_equal(rtnl_link_delete(sock, old), 0);
    rtnl_link_put(old);
    assert_int_equal(rtnl_link_veth_add(sock, "nmz0", "nmz1", getpid()), 0);
    bring_up("nmz0");
    bring_up("nmz1");
    wait_running("nmz0");
    add_address("nmz0", "192.0.2.1/24");
    add_default_route("nmz0", "192.0.2.2");

    assert_int_equal(nm_link_sampler_new(0, &s), 0);
    for (uint64_t now = 1000000; now <= 3000000; now += 1000000) {
        assert_int_equal(nm_link_sampler_sample(s, now, links, &n), 0);
        assert_int_equal(n, NM_LINKS_MAX);
        assert_true(find(links, n, "nmz0")->uplink);
    }
    /* To compute a rate, the sampler keeps state between samples. It must also keep this state for the uplink. */
    send_frames("nmz0");
    assert_int_equal(nm_link_sampler_sample(s, 4000000, links, &n), 0);
    assert_true(find(links, n, "nmz0")->tx_bytes_per_sec >= FRAMES * FRAME_BYTES);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_are_computed_from_the_counters),
        cmocka_unit_test(test_the_uplink_is_the_link_of_the_default_route),
        cmocka_unit_test(test_the_uplink_is_sampled_even_if_there_are_too_many_links),
    };

    return cmocka_run_group_tests(tests, setup_namespace, done_namespace);
}
