/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parses routing netlink messages, see parse.h. The sender chose the lengths in a message. libnl's nlmsg_parse checks
 * each attribute against the message, and this file checks the message against the received bytes.
 */

#include "monitor/parse.h"

#include <assert.h>
#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "util/macros.h"

/* Returns whether nlh is a whole message of this type with a family header of hdr_size bytes. */
static bool is_whole(const struct nlmsghdr *nlh, size_t size, uint16_t type, size_t hdr_size)
{
    return size >= sizeof *nlh && nlh->nlmsg_len <= size && nlh->nlmsg_type == type &&
           nlh->nlmsg_len >= NLMSG_HDRLEN + NLMSG_ALIGN(hdr_size);
}

/* libnl does not write through this pointer; its type merely lacks the const. */
static int parse_attributes(const struct nlmsghdr *nlh, size_t hdr_size, struct nlattr **tb,
                            int max, const struct nla_policy *policy)
{
    return nlmsg_parse((struct nlmsghdr *)nlh, (int)hdr_size, tb, max, policy) < 0 ? -EBADMSG : 0;
}

/* Applies the kernel's own rule, because the name becomes part of a path in /sys. */
static bool name_is_valid(const char *name)
{
    return *name && !strchr(name, '/') && !nm_streq(name, ".") && !nm_streq(name, "..");
}

int nm_monitor_parse_link(const struct nlmsghdr *nlh, size_t size, struct nm_link_message *ret)
{
    static const struct nla_policy policy[IFLA_MAX + 1] = {
        [IFLA_IFNAME] = {.type = NLA_STRING, .minlen = 2, .maxlen = IFNAMSIZ},
        /* Only the part of the attribute that is read is required: newer kernels append counters. */
        [IFLA_STATS64] = {.minlen = offsetof(struct rtnl_link_stats64, rx_errors)},
    };
    struct nm_link_message m = {0};
    struct nlattr *tb[IFLA_MAX + 1];
    const struct ifinfomsg *ifi;
    int r;

    assert(nlh && ret);
    if (!is_whole(nlh, size, RTM_NEWLINK, sizeof *ifi))
        return -EBADMSG;
    r = parse_attributes(nlh, sizeof *ifi, tb, IFLA_MAX, policy);
    if (r < 0)
        return r;
    ifi = nlmsg_data(nlh);
    if (!tb[IFLA_IFNAME] || !tb[IFLA_STATS64] || ifi->ifi_index <= 0)
        return -EBADMSG;
    (void)nla_strlcpy(m.name, tb[IFLA_IFNAME], sizeof m.name);
    if (!name_is_valid(m.name))
        return -EBADMSG;
    m.ifindex = ifi->ifi_index;
    /* IFF_RUNNING is the operational state; IFF_UP alone only means that the link is administratively up. */
    m.up = (ifi->ifi_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
    m.loopback = (ifi->ifi_flags & IFF_LOOPBACK) != 0;
    /* The numbers are copied, because attributes are aligned to 4 bytes, and 64-bit numbers need 8. */
    memcpy(&m.rx_bytes,
           (const char *)nla_data(tb[IFLA_STATS64]) + offsetof(struct rtnl_link_stats64, rx_bytes),
           sizeof m.rx_bytes);
    memcpy(&m.tx_bytes,
           (const char *)nla_data(tb[IFLA_STATS64]) + offsetof(struct rtnl_link_stats64, tx_bytes),
           sizeof m.tx_bytes);
    *ret = m;
    return 0;
}

static void add_link(struct nm_route_message *m, int ifindex)
{
    if (ifindex > 0 && m->n < NM_ROUTE_LINKS_MAX)
        m->ifindex[m->n++] = ifindex;
}

/* Adds the next hops of a route over several links, an array of variable-sized structs within one attribute. */
static void add_next_hops(struct nm_route_message *m, const struct nlattr *attr)
{
    const char *p = nla_data(attr);
    size_t left = (size_t)nla_len(attr);
    struct rtnexthop hop;

    while (left >= sizeof hop) {
        size_t step;

        memcpy(&hop, p, sizeof hop);
        if (hop.rtnh_len < sizeof hop || hop.rtnh_len > left)
            break;
        add_link(m, hop.rtnh_ifindex);
        step = NM_MIN((size_t)RTNH_ALIGN(hop.rtnh_len), left);
        p += step;
        left -= step;
    }
}

int nm_monitor_parse_route(const struct nlmsghdr *nlh, size_t size, struct nm_route_message *ret)
{
    static const struct nla_policy policy[RTA_MAX + 1] = {
        [RTA_OIF] = {.type = NLA_U32},
    };
    struct nm_route_message m = {0};
    struct nlattr *tb[RTA_MAX + 1];
    const struct rtmsg *rtm;
    int r;

    assert(nlh && ret);
    if (!is_whole(nlh, size, RTM_NEWROUTE, sizeof *rtm))
        return -EBADMSG;
    r = parse_attributes(nlh, sizeof *rtm, tb, RTA_MAX, policy);
    if (r < 0)
        return r;
    rtm = nlmsg_data(nlh);
    if (rtm->rtm_type == RTN_UNICAST) { /* blackhole and unreachable routes use no link */
        if (tb[RTA_OIF])
            add_link(&m, (int)nla_get_u32(tb[RTA_OIF]));
        if (tb[RTA_MULTIPATH])
            add_next_hops(&m, tb[RTA_MULTIPATH]);
    }
    *ret = m;
    return 0;
}
