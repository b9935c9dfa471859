/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Samples network links over routing netlink. libnl opens and configures the socket and parses messages. The dump
 * itself is received into this file's own buffer, because libnl's cache allocates an object with some twenty
 * allocations per link each time. The kernel generates answers within the request, so reading them does not block.
 *
 * The uplink is found by a route lookup for an address in the documentation ranges, which only a default route covers.
 * The lookup has the same cost on a host with a full Internet routing table, whose dump would take seconds, and follows
 * policy routing.
 */

#include "monitor/monitor.h"

#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "monitor/parse.h"
#include "monitor/rate.h"
#include "util/fileio.h"
#include "util/parse.h"

/* The kernel makes dump parts of up to 32 KiB if the receiver's buffer has that room. */
#define BUF_SIZE ((size_t)32 << 10)
/* Reading the speed takes the kernel's global network lock and may query the hardware. */
#define SPEED_MAX_AGE_USEC (60 * NM_USEC_PER_SEC)
#define UPLINKS_MAX_AGE_USEC (60 * NM_USEC_PER_SEC) /* while uplinks are kept */

struct link {
    int ifindex; /* 0: this entry is free */
    bool up, fresh;
    uint64_t speed_mbit, speed_usec;
    struct nm_rate rx, tx;
};

struct nm_link_sampler {
    struct nl_sock *sock;
    uint32_t seq;
    uint64_t configured_speed_mbit;
    struct link links[NM_LINKS_MAX];
    int uplink[2 * NM_ROUTE_LINKS_MAX];
    unsigned n_uplinks;
    uint64_t uplinks_usec; /* when the uplinks were found */
    bool keeps_uplinks;
    char *buf;
};

/* Converts libnl's error codes to -errno. */
static int nle_to_errno(int nle)
{
    assert(nle < 0);
    switch (-nle) {
    case NLE_NOMEM:
        return -ENOMEM;
    case NLE_NOACCESS:
    case NLE_PERM:
        return -EPERM;
    case NLE_AGAIN:
        return -EAGAIN;
    case NLE_BUSY:
        return -EBUSY;
    case NLE_AF_NOSUPPORT:
    case NLE_PROTO_MISMATCH:
        return -EAFNOSUPPORT;
    case NLE_OPNOTSUPP:
        return -EOPNOTSUPP;
    case NLE_OBJ_NOTFOUND:
    case NLE_NODEV:
        return -ENODEV;
    case NLE_INVAL:
        return -EINVAL;
    default:
        return -EIO;
    }
}

struct nm_link_sampler *nm_link_sampler_free(struct nm_link_sampler *s)
{
    if (!s)
        return NULL;
    nl_socket_free(s->sock);
    free(s->buf);
    free(s);
    return NULL;
}

int nm_link_sampler_new(uint64_t configured_speed_mbit, struct nm_link_sampler **ret)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->configured_speed_mbit = configured_speed_mbit;
    s->buf = malloc(BUF_SIZE);
    s->sock = nl_socket_alloc();
    if (!s->buf || !s->sock)
        return -ENOMEM;
    r = nl_connect(s->sock, NETLINK_ROUTE); /* sets FD_CLOEXEC */
    if (r < 0)
        return nle_to_errno(r);
    r = nl_socket_set_nonblocking(s->sock);
    if (r < 0)
        return nle_to_errno(r);
    *ret = STEAL_PTR(s);
    return 0;
}

/* ---- requests to the kernel ------------------------------------------------------------------ */

/* A function that is called for each message of the answer. */
typedef void (*message_cb_t)(struct nm_link_sampler *s, const struct nlmsghdr *nlh, size_t size,
                             void *userdata);

static int send_request(struct nm_link_sampler *s, struct nlmsghdr *nlh)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

    nlh->nlmsg_seq = ++s->seq;
    while (sendto(nl_socket_get_fd(s->sock), nlh, nlh->nlmsg_len, 0, (struct sockaddr *)&kernel,
                  sizeof kernel) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

static int receive(struct nm_link_sampler *s, size_t *ret_len)
{
    for (;;) {
        struct sockaddr_nl from = {0};
        socklen_t from_len = sizeof from;
        ssize_t n = recvfrom(nl_socket_get_fd(s->sock), s->buf, BUF_SIZE, MSG_TRUNC,
                             (struct sockaddr *)&from, &from_len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -EIO;
        if ((size_t)n > BUF_SIZE)
            return -E2BIG;
        if (from.nl_pid != 0) /* any process may send to this port; only the kernel has pid 0 */
            continue;
        *ret_len = (size_t)n;
        return 0;
    }
}

static int error_of(const struct nlmsghdr *nlh)
{
    const struct nlmsgerr *err = nlmsg_data(nlh);

    if (nlh->nlmsg_len < NLMSG_HDRLEN + sizeof err->error)
        return -EBADMSG;
    return err->error;
}

/* Handles one received buffer. Returns 1 if the answer is complete, 0 if more will follow, or -errno. */
static int handle_buffer(struct nm_link_sampler *s, size_t len, message_cb_t cb, void *userdata)
{
    int remaining = (int)len;

    assert(cb);
    for (struct nlmsghdr *nlh = (struct nlmsghdr *)s->buf; nlmsg_ok(nlh, remaining);
         nlh = nlmsg_next(nlh, &remaining)) {
        if (nlh->nlmsg_seq != s->seq)
            continue; /* rest of an earlier request that ended with an error */
        if (nlh->nlmsg_type == NLMSG_DONE)
            return 1;
        if (nlh->nlmsg_type == NLMSG_ERROR) {
            int r = error_of(nlh);

            return r < 0 ? r : 1;
        }
        cb(s, nlh, (size_t)remaining, userdata);
        if (!(nlh->nlmsg_flags & NLM_F_MULTI))
            return 1;
    }
    return 0;
}

static int request(struct nm_link_sampler *s, struct nlmsghdr *nlh, message_cb_t cb, void *userdata)
{
    int r = send_request(s, nlh);

    while (r == 0) {
        size_t len = 0;

        r = receive(s, &len);
        if (r >= 0)
            r = handle_buffer(s, len, cb, userdata);
    }
    return r < 0 ? r : 0;
}

/* ---- uplink ---------------------------------------------------------------------------------- */

static void on_route(struct nm_link_sampler *s, const struct nlmsghdr *nlh, size_t size,
                     void *userdata)
{
    struct nm_route_message m;

    (void)userdata;
    if (nm_monitor_parse_route(nlh, size, &m) < 0)
        return;
    for (unsigned i = 0; i < m.n && s->n_uplinks < NM_ARRAY_SIZE(s->uplink); i++)
        s->uplink[s->n_uplinks++] = m.ifindex[i];
}

static void lookup_route(struct nm_link_sampler *s, unsigned char family, const char *address,
                         uint16_t len)
{
    struct {
        struct nlmsghdr nlh;
        struct rtmsg rtm;
        struct rtattr attr;
        unsigned char address[16];
    } req = {
        .nlh = {.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST},
        /* FIB_MATCH returns the route with all its next hops, not the single hop that a packet would take. */
        .rtm = {.rtm_family = family,
                .rtm_dst_len = (unsigned char)(len * 8),
                .rtm_flags = RTM_F_FIB_MATCH},
        .attr = {.rta_type = RTA_DST, .rta_len = (unsigned short)(RTA_LENGTH(0) + len)},
    };

    req.nlh.nlmsg_len = (uint32_t)(offsetof(typeof(req), address) + len);
    (void)inet_pton(family, address, req.address);
    /* ENETUNREACH or EAFNOSUPPORT: this family has no default route. */
    (void)request(s, &req.nlh, on_route, NULL);
}

void nm_link_sampler_keep_uplinks(struct nm_link_sampler *s, bool keep)
{
    s->keeps_uplinks = keep;
}

static void find_uplinks(struct nm_link_sampler *s, uint64_t now_usec)
{
    if (s->keeps_uplinks && s->n_uplinks > 0 && now_usec >= s->uplinks_usec &&
        now_usec - s->uplinks_usec < UPLINKS_MAX_AGE_USEC)
        return;
    s->uplinks_usec = now_usec;
    s->n_uplinks = 0;
    lookup_route(s, AF_INET, "203.0.113.1", sizeof(struct in_addr));
    lookup_route(s, AF_INET6, "2001:db8::1", sizeof(struct in6_addr));
}

static bool is_uplink(const struct nm_link_sampler *s, int ifindex)
{
    for (unsigned i = 0; i < s->n_uplinks; i++)
        if (s->uplink[i] == ifindex)
            return true;
    return false;
}

/* ---- links ----------------------------------------------------------------------------------- */

/* sysfs returns "-1" or fails with EINVAL for links without a speed. */
static uint64_t read_speed(const char *name)
{
    char path[64], buf[32];
    uint64_t v;

    (void)snprintf(path, sizeof path, "/sys/class/net/%.15s/speed", name);
    if (nm_read_file_at(AT_FDCWD, path, buf, sizeof buf, NULL) < 0 ||
        nm_monitor_parse_counter(buf, &v) < 0 || v >= UINT32_MAX)
        return 0;
    return v;
}

/* Returns the state of a link between samples, or a free entry for a new link. An uplink always gets an entry. */
static struct link *find_link(struct nm_link_sampler *s, int ifindex, bool uplink)
{
    struct link *available = NULL;

    for (size_t i = 0; i < NM_ARRAY_SIZE(s->links); i++) {
        if (s->links[i].ifindex == ifindex)
            return &s->links[i];
        if (s->links[i].ifindex == 0 && !available)
            available = &s->links[i];
    }
    for (size_t i = 0; uplink && !available && i < NM_ARRAY_SIZE(s->links); i++)
        if (!is_uplink(s, s->links[i].ifindex))
            available = &s->links[i];
    if (available)
        *available = (struct link){.ifindex = ifindex};
    return available;
}

static void update_speed(struct nm_link_sampler *s, struct link *l, const struct nm_link_message *m,
                         uint64_t now_usec)
{
    bool stale = now_usec < l->speed_usec || now_usec - l->speed_usec >= SPEED_MAX_AGE_USEC;

    if (l->speed_usec == 0 || stale || m->up != l->up) {
        l->speed_mbit = m->up ? read_speed(m->name) : 0;
        if (l->speed_mbit == 0)
            l->speed_mbit = s->configured_speed_mbit;
        l->speed_usec = now_usec;
    }
    l->up = m->up;
}

struct dump {
    uint64_t now_usec;
    struct nm_link_sample *links;
    unsigned n;
};

/* Returns room for one more link. Hosts with many virtual links may have too many links; the uplink must always be
 * included. */
static struct nm_link_sample *next_sample(struct dump *d, bool uplink)
{
    if (d->n < NM_LINKS_MAX)
        return &d->links[d->n++];
    for (unsigned i = d->n; uplink && i-- > 0;)
        if (!d->links[i].uplink)
            return &d->links[i];
    return NULL;
}

static void on_link(struct nm_link_sampler *s, const struct nlmsghdr *nlh, size_t size,
                    void *userdata)
{
    struct dump *d = userdata;
    struct nm_link_sample *out;
    struct nm_link_message m;
    struct link *l;
    bool uplink;

    /* A link whose message cannot be parsed is left out; the other links still count. */
    if (nm_monitor_parse_link(nlh, size, &m) < 0 || m.loopback)
        return;
    uplink = is_uplink(s, m.ifindex);
    out = next_sample(d, uplink);
    if (!out)
        return;
    *out = (struct nm_link_sample){
        .up = m.up, .uplink = uplink, .rx_bytes = m.rx_bytes, .tx_bytes = m.tx_bytes};
    memcpy(out->name, m.name, sizeof out->name);
    l = find_link(s, m.ifindex, uplink);
    if (!l)
        return; /* without room for the link's state, the link has no rate */
    l->fresh = true;
    update_speed(s, l, &m, d->now_usec);
    nm_rate_update(&l->rx, d->now_usec, m.rx_bytes);
    nm_rate_update(&l->tx, d->now_usec, m.tx_bytes);
    out->rx_bytes_per_sec = l->rx.per_sec;
    out->tx_bytes_per_sec = l->tx.per_sec;
    out->speed_mbit = l->speed_mbit;
    if (l->speed_mbit > 0)
        out->utilization =
            (double)NM_MAX(l->rx.per_sec, l->tx.per_sec) * 8 / ((double)l->speed_mbit * 1e6);
}

static int dump_links(struct nm_link_sampler *s, struct dump *d)
{
    struct {
        struct nlmsghdr nlh;
        struct ifinfomsg ifi;
    } req = {
        .nlh = {.nlmsg_len = sizeof req,
                .nlmsg_type = RTM_GETLINK,
                .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .ifi = {.ifi_family = AF_UNSPEC},
    };

    return request(s, &req.nlh, on_link, d);
}

int nm_link_sampler_sample(struct nm_link_sampler *s, uint64_t now_usec,
                           struct nm_link_sample links[NM_LINKS_MAX],
                           unsigned *ret_n)
{
    struct dump d = {.now_usec = now_usec, .links = links};
    int r;

    assert(links && ret_n);
    for (size_t i = 0; i < NM_ARRAY_SIZE(s->links); i++)
        s->links[i].fresh = false;
    find_uplinks(s, now_usec);
    r = dump_links(s, &d);
    if (r < 0)
        return r;
    for (size_t i = 0; i < NM_ARRAY_SIZE(s->links); i++)
        if (!s->links[i].fresh)
            s->links[i].ifindex = 0;
    *ret_n = d.n;
    return 0;
}
