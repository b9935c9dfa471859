/* SPDX-License-Identifier: Apache-2.0 */

/* See server.h. Accepts connections, gives permissions to process frames (turns), and closes connections that exceed
 * their time limits. */

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "rpc/hadoop/server-state.h"
#include "util/accept.h"
#include "util/clock.h"
#include "util/host.h"
#include "util/quota.h"

/* Time per turn of the event loop for accepting clients, and for processing calls, each. */
#define ACCEPT_USEC (2 * NM_USEC_PER_MSEC)
#define TURNS_USEC (5 * NM_USEC_PER_MSEC)
/* Time for a client to close the connection after the server has sent the reason for the end. */
#define ENDING_USEC (2 * NM_USEC_PER_SEC)
#define CROWDED_PART 8

/* ---- frames ------------------------------------------------------------------------------- */

static struct nm_server_connection *of_wire(struct nm_wire *w)
{
    return (struct nm_server_connection *)w;
}

static void schedule_turns(struct nm_hadoop_server *s)
{
    uint64_t due = nm_quota_due_usec(s->quota);

    if (due == UINT64_MAX)
        return;
    (void)sd_event_source_set_time_relative(s->turns, nm_sub_u64(due, nm_now_usec()));
    (void)sd_event_source_set_enabled(s->turns, SD_EVENT_ONESHOT);
}

/* Handles a packet. Packets of the greeting are charged to the address's account, calls to the token's account. */
static int handle(struct nm_server_connection *c, struct nm_bytes packet)
{
    const struct nm_cost begun = nm_cost_now();
    struct nm_quota_account *a = nm_quota_account_ref(c->wire.account);
    struct nm_cost now;
    int r;

    if (c->phase == NM_SERVER_OPEN)
        r = nm_server_packet(c, packet);
    else if (c->phase == NM_SERVER_ENDING)
        r = 0;
    else
        r = nm_greeting_packet(c, packet);
    now = nm_cost_now();
    nm_quota_account_charge(a, nm_cost_usec(&begun, &now), now.wall_usec);
    nm_quota_account_unref(a);
    return r;
}

static void run_turn(struct nm_turn *t)
{
    struct nm_server_connection *c =
        (struct nm_server_connection *)((char *)t - offsetof(struct nm_server_connection, turn));
    int r = handle(c, (struct nm_bytes){c->wire.in.data, c->wire.in.size});

    nm_wire_resume(&c->wire);
    if (r < 0)
        nm_wire_abort(&c->wire, r);
}

static int on_preamble(struct nm_wire *w, struct nm_bytes start)
{
    return nm_greeting_preamble(of_wire(w), start);
}

static int on_frame(struct nm_wire *w, struct nm_bytes packet)
{
    struct nm_server_connection *c = of_wire(w);

    if (nm_quota_account_is_free(w->account, nm_now_usec()))
        return handle(c, packet);
    nm_turn_wait(&c->turn, w->account);
    schedule_turns(c->server);
    return NM_WIRE_E_FRAME_IN_USE;
}

static int on_turns(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_hadoop_server *s = userdata;
    uint64_t begun = nm_now_usec();

    (void)source, (void)usec;
    while (nm_quota_next_turn(s->quota, nm_now_usec()) && nm_now_usec() - begun < TURNS_USEC)
        continue;
    schedule_turns(s);
    return 0;
}

/* ---- connections -------------------------------------------------------------------------- */

static void free_connection(struct nm_server_connection *c)
{
    struct nm_hadoop_server *s = c->server;

    *c->prev_next = c->next;
    if (c->next)
        c->next->prev_next = c->prev_next;
    s->n_connections--;
    s->n_unauthenticated -= c->is_unauthenticated;
    nm_turn_cancel(&c->turn);
    nm_server_orphan_calls(c);
    nm_quota_account_leave(c->wire.account);
    nm_wire_done(&c->wire);
    nm_sasl_server_free(c->sasl);
    free(c->user);
    free(c);
}

static void on_ended(struct nm_wire *w, int error)
{
    (void)error; /* errors aren't logged: the client connects again */
    free_connection(of_wire(w));
}

static const struct nm_wire_ops wire_ops = {.preamble = on_preamble, .frame = on_frame, .ended = on_ended};

/* Returns whether another connection is allowed. Unauthenticated clients may use half of the connections, and one
 * address a quarter, so that clients with a token can still connect. */
static bool has_room(const struct nm_hadoop_server *s, const struct nm_quota_account *peer)
{
    return s->n_connections < s->o.connections_max && s->n_unauthenticated < s->o.connections_max / 2 &&
           nm_quota_account_connections(peer) < NM_MAX(s->o.connections_max / 4, 1u);
}

static void link_connection(struct nm_hadoop_server *s, struct nm_server_connection *c)
{
    c->next = s->connections;
    c->prev_next = &s->connections;
    if (c->next)
        c->next->prev_next = &c->next;
    s->connections = c;
    if (s->n_connections++ == 0) {
        (void)sd_event_source_set_time_relative(s->sweep, 0);
        (void)sd_event_source_set_enabled(s->sweep, SD_EVENT_ONESHOT);
    }
    s->n_unauthenticated++;
    nm_quota_account_enter(c->wire.account);
}

/* Adds a connection and takes fd over. If the limit is reached, closes the connection; Java's clients then try
 * again. */
static int add_connection(struct nm_hadoop_server *s, int fd, const struct sockaddr_storage *sa)
{
    _cleanup_close_ int own = fd;
    struct nm_server_connection *c;
    struct nm_quota_account *account;
    char name[NM_PEER_NAME_SIZE];
    int r, one = 1;

    nm_peer_name(sa, name, sizeof name);
    r = nm_quota_account_of(s->quota, name, false, &account);
    if (r < 0)
        return r;
    c = has_room(s, account) ? calloc(1, sizeof *c) : NULL;
    if (!c) {
        nm_quota_account_unref(account);
        return -EUSERS;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *c = (struct nm_server_connection){
        .server = s, .is_unauthenticated = true, .turn = {.run_turn = run_turn}, .since_usec = nm_now_usec()};
    r = nm_wire_init(&c->wire, &wire_ops, s->event, s->o.priority, STEAL_FD(own), account,
                     NM_PROTOCOL_UNAUTHENTICATED_MAX);
    if (r < 0)
        free(c);
    else
        link_connection(s, c);
    return r;
}

/* Accepts connections. If accept4() fails with an error that affects all connections, disables the source until the
 * next sweep. */
static int on_accept(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_hadoop_server *s = userdata;
    uint64_t begun = nm_now_usec();

    (void)revents;
    do {
        struct sockaddr_storage sa = {};
        socklen_t size = sizeof sa;
        int client = accept4(fd, (struct sockaddr *)&sa, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client >= 0) {
            (void)add_connection(s, client, &sa);
        } else if (errno == EAGAIN) {
            break;
        } else if (!nm_accept_error_is_transient(errno)) {
            (void)sd_event_source_set_time_relative(s->sweep, NM_ACCEPT_PAUSE_USEC);
            (void)sd_event_source_set_enabled(s->sweep, SD_EVENT_ONESHOT);
            return sd_event_source_set_enabled(source, SD_EVENT_OFF);
        }
    } while (nm_now_usec() - begun < ACCEPT_USEC);
    return 0;
}

/* ---- time --------------------------------------------------------------------------------- */

/* Returns how long a client may take from its connection to its context. The time is shorter while more connections
 * have no context than a single host may open. In this case several hosts may be blocking other clients deliberately. A
 * client with a token needs far less time. */
static uint64_t handshake_usec(const struct nm_hadoop_server *s)
{
    bool is_crowded = s->n_unauthenticated > s->o.connections_max / 4;

    return is_crowded ? s->o.handshake_usec / CROWDED_PART : s->o.handshake_usec;
}

static bool is_overdue(const struct nm_server_connection *c, uint64_t now)
{
    const struct nm_hadoop_server_options *o = &c->server->o;
    uint64_t since = nm_sub_u64(now, c->since_usec);

    if (nm_wire_is_sending(&c->wire) && nm_sub_u64(now, c->wire.sent_usec) > o->stall_usec)
        return true;
    if (c->phase == NM_SERVER_ENDING)
        return since > ENDING_USEC + (nm_wire_is_sending(&c->wire) ? o->stall_usec : 0);
    if (c->phase != NM_SERVER_OPEN)
        return since > handshake_usec(c->server);
    if (nm_hadoop_frame_begun(&c->wire.in) && !c->wire.kept && !c->wire.paused)
        return nm_sub_u64(now, c->wire.begun_usec) > o->frame_usec;
    return c->n_calls == 0 && !nm_wire_is_sending(&c->wire) && !c->wire.kept && since > o->idle_usec;
}

static int on_sweep(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_hadoop_server *s = userdata;
    uint64_t now = nm_now_usec(), shortest;

    (void)usec;
    (void)sd_event_source_set_enabled(s->accept, SD_EVENT_ON);
    for (struct nm_server_connection *c = s->connections; c; c = c->next)
        if (is_overdue(c, now))
            nm_wire_abort(&c->wire, -ETIMEDOUT);
    if (!s->connections)
        return 0;
    shortest = NM_MIN(handshake_usec(s), s->o.frame_usec);
    shortest = NM_MIN(shortest, s->o.stall_usec);
    shortest = NM_MIN(shortest, s->o.idle_usec);
    shortest = NM_MIN(shortest, ENDING_USEC);
    (void)sd_event_source_set_time_relative(source, shortest / 4);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- lifetime ----------------------------------------------------------------------------- */

static void set_defaults(struct nm_hadoop_server_options *o)
{
    o->connections_max = o->connections_max ?: 1024;
    o->bytes_max = o->bytes_max ?: 32 * NM_MIB;
    o->frame_max = o->frame_max ?: 4 * NM_MIB;
    o->handshake_usec = o->handshake_usec ?: 30 * NM_USEC_PER_SEC;
    o->frame_usec = o->frame_usec ?: 30 * NM_USEC_PER_SEC;
    o->stall_usec = o->stall_usec ?: 30 * NM_USEC_PER_SEC;
    o->idle_usec = o->idle_usec ?: 120 * NM_USEC_PER_SEC;
}

static int add_timer(struct nm_hadoop_server *s, sd_event_source **ret, sd_event_time_handler_t handler)
{
    int r = sd_event_add_time_relative(s->event, ret, CLOCK_BOOTTIME, 0, NM_USEC_PER_MSEC, handler, s);

    if (r >= 0)
        r = sd_event_source_set_priority(*ret, s->o.priority);
    if (r >= 0)
        r = sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
    return r;
}

static int add_sources(struct nm_hadoop_server *s)
{
    int r = sd_event_add_io(s->event, &s->accept, s->listen_fd, EPOLLIN, on_accept, s);

    if (r >= 0)
        r = sd_event_source_set_priority(s->accept, s->o.priority);
    if (r >= 0)
        r = add_timer(s, &s->sweep, on_sweep);
    if (r >= 0)
        r = add_timer(s, &s->turns, on_turns);
    return NM_MIN(r, 0);
}

int nm_hadoop_server_new(sd_event *event, int listen_fd, const struct nm_hadoop_server_options *options,
                         struct nm_hadoop_server **ret)
{
    _cleanup_(nm_hadoop_server_freep) struct nm_hadoop_server *s = calloc(1, sizeof *s);
    int r;

    if (!s) {
        (void)nm_close(listen_fd);
        return -ENOMEM;
    }
    s->listen_fd = listen_fd;
    s->o = *options;
    set_defaults(&s->o);
    s->event = sd_event_ref(event);
    if (gsasl_init(&s->library) != GSASL_OK)
        return -ENOMEM;
    /* half of the quota is reserved for administrators, and this server has no administrators */
    r = nm_quota_new(2 * s->o.bytes_max, &s->quota);
    if (r >= 0)
        r = add_sources(s);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(s);
    return 0;
}

struct nm_hadoop_server *nm_hadoop_server_free(struct nm_hadoop_server *s)
{
    if (!s)
        return NULL;
    while (s->connections)
        free_connection(s->connections);
    sd_event_source_disable_unref(s->accept);
    sd_event_source_disable_unref(s->sweep);
    sd_event_source_disable_unref(s->turns);
    (void)nm_close_listener(s->listen_fd);
    if (s->library)
        gsasl_done(s->library);
    if (s->quota)
        nm_quota_free(s->quota);
    sd_event_unref(s->event);
    free(s);
    return NULL;
}

unsigned nm_hadoop_server_connections(const struct nm_hadoop_server *s)
{
    return s->n_connections;
}
