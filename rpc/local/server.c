/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs libmicrohttpd in the event loop. libmicrohttpd has its own epoll descriptor, which becomes readable when a
 * connection needs work. MHD_run() does all of this work. The next timeout of libmicrohttpd is queried after each run.
 *
 * During a flood of requests nmd must still sample the node and preempt containers in time, and one user's flood must
 * not delay other users. All sources here therefore have a low priority. One run spends at most NM_HOST_RUN_USEC on
 * requests. The remaining requests are suspended and continue in later runs: the requests of each user in their order,
 * with users taking turns. Memory, connections and time are limited (util/quota.h), so that a client can only delay or
 * lose its own requests.
 */

#include "rpc/local/server.h"

#include <assert.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "rpc/local/connections.h"
#include "rpc/local/handlers.h"
#include "rpc/local/listen.h"
#include "rpc/local/host-names.h"
#include "rpc/local/stream.h"
#include "util/accept.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/host.h"
#include "util/log.h"
#include "util/loop.h"

#define MAX_CONNECTIONS 2048u
/* Time limit for receiving a request, from its first byte to its last. Sending an answer may take four times as
 * long. */
#define TIMEOUT_USEC (30 * NM_USEC_PER_SEC)
/* Time for accepting new clients in one turn of the event loop, so that a flood doesn't delay other work for longer. */
#define ACCEPT_USEC (2 * NM_USEC_PER_MSEC)
/* Buffer per connection for the request line and headers, the answer's headers and a chunk of its body.
 * libmicrohttpd's default is 32 KiB. */
#define CONNECTION_MEMORY 8192u
/* Limit for the bodies, parsed trees and answers of all connections. Half of it is reserved for administrators. */
#define MEMORY_MAX (UINT64_C(48) << 20)

struct nm_local_server {
    struct nm_local_state host;
    struct nm_connections connections;
    struct MHD_Daemon *daemon;
    sd_event_source *accept_unix, *accept_tcp, *accept_more, *accept_again, *run, *timer, *sweep;
    sd_event_source *inotify; /* see keep_inotify() */
    int unix_fd, tcp_fd;
    int more_fd; /* an additional TCP socket */
    int reserve_fd;     /* closed in order to accept a connection when no descriptors are left: see
                           accept_out_of_fds() */
    struct nm_listener *listener; /* owns unix_fd; NULL: the server owns unix_fd, which was passed by systemd */
    struct nm_connection *accepting; /* connection that is being added to libmicrohttpd: see add_connection() */
};

/* ---- runs of libmicrohttpd ------------------------------------------------------------------- */

/* Sets the timer after each run, because libmicrohttpd's timeout changes with every request. libmicrohttpd has no
 * timeout while it only waits for data. */
static void rearm(struct nm_local_server *s)
{
    MHD_UNSIGNED_LONG_LONG msec;

    if (MHD_get_timeout(s->daemon, &msec) != MHD_YES) {
        (void)sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
        return;
    }
    (void)sd_event_source_set_time_relative(s->timer, msec * NM_USEC_PER_MSEC);
    (void)sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

static bool has_time(const struct nm_local_server *s)
{
    return nm_now_usec() - s->host.run_started_usec < NM_HOST_RUN_USEC;
}

/* Runs libmicrohttpd. Repeats the run after a connection was upgraded, because libmicrohttpd releases the connection
 * only in another run. Without the repetition the release would wait until the next client connects. */
static void run_library(struct nm_local_server *s)
{
    do {
        s->host.handed_over = false;
        (void)MHD_run(s->daemon);
    } while (s->host.handed_over);
}

/* Runs libmicrohttpd while time is left. libmicrohttpd reads at most CONNECTION_MEMORY from each connection per run,
 * and reports timeout 0 if more data is available. With one run per turn of the event loop, a long body would need
 * hundreds of turns, each after all other work. */
static void run(struct nm_local_server *s)
{
    MHD_UNSIGNED_LONG_LONG msec;

    assert(s->daemon && !s->host.stopping);
    s->host.run_started_usec = nm_now_usec();
    do
        run_library(s);
    while (has_time(s) && MHD_get_timeout(s->daemon, &msec) == MHD_YES && msec == 0);
    rearm(s);
}

static int on_run(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)source, (void)fd, (void)revents;
    run(userdata);
    return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source, (void)usec;
    run(userdata);
    return 0;
}

/* Resumes waiting requests one by one while time is left. Then returns to the event loop, so that more urgent sources
 * run first. */
static int on_turns(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_local_server *s = userdata;

    (void)source, (void)usec;
    s->host.run_started_usec = nm_now_usec();
    while (nm_quota_next_turn(s->host.quota, nm_now_usec())) {
        run_library(s);
        if (!has_time(s))
            break;
    }
    rearm(s);
    nm_call_schedule_turns(&s->host);
    return 0;
}

/* Closes connections whose deadline has passed. libmicrohttpd's own timeout restarts with every byte, so a client that
 * sends one byte per second would never reach that timeout. */
static int on_sweep(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_local_server *s = userdata;

    (void)usec;
    nm_connections_sweep(&s->connections, nm_now_usec());
    if (!s->connections.first)
        return 0;
    (void)sd_event_source_set_time_relative(source, s->host.timeout_usec / 4);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* libmicrohttpd calls this function for the first line of a request, before the headers. Only here is the raw target
 * available: later libmicrohttpd has decoded the path and removed the query. */
static void *on_target(void *userdata, const char *uri, struct MHD_Connection *c)
{
    struct nm_local_server *s = userdata;

    nm_connection_of(c)->deadline_usec = nm_now_usec() + s->host.timeout_usec;
    nm_connection_of(c)->has_request = false;
    return nm_call_new(&s->host, uri);
}

/* libmicrohttpd calls this function for the headers, for each piece of the body, and once without bytes for the end of
 * the body. Returning MHD_NO closes the connection without an answer. */
static enum MHD_Result on_request(void *userdata, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **request)
{
    struct nm_call *call = *request;
    enum MHD_Result r;

    (void)userdata, (void)url, (void)version;
    if (!call)
        return MHD_NO;
    if (!call->started)
        return nm_call_begin(call, c, method);
    if (*size == 0) {
        nm_connection_of(c)->has_request = true;
        return nm_call_finish(call);
    }
    r = nm_call_take_body(call, data, *size);
    *size = 0;
    return r;
}

/* libmicrohttpd calls this function at the end of a request, also if the client disconnected before. The connection may
 * stay open. libmicrohttpd's own timeout normally ends an idle connection before this deadline. The deadline is for a
 * next request whose first line arrives byte by byte, because each byte restarts that timeout, and for a connection
 * without that timeout after an endless stream. In all these cases the connection is closed without an answer such as
 * 408: a client that sends a request at the same moment would read it as the answer to its request. */
static void on_request_completed(void *userdata, struct MHD_Connection *c, void **request,
                                 enum MHD_RequestTerminationCode code)
{
    struct nm_local_server *s = userdata;

    (void)code;
    nm_call_free(*request);
    *request = NULL;
    nm_connection_of(c)->has_request = true; /* the request counts as received until the next request begins */
    nm_connection_of(c)->deadline_usec = nm_now_usec() + 2 * s->host.timeout_usec;
}

/* Attaches nm_connection to the socket. MHD_add_connection() calls this function with STARTED and has no argument for
 * the struct, so the struct is passed in `accepting`. */
static void on_connection(void *userdata, struct MHD_Connection *c, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct nm_local_server *s = userdata;
    (void)c;
    assert((code == MHD_CONNECTION_NOTIFY_STARTED) == !*socket_context);
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *socket_context = STEAL_PTR(s->accepting);
    else
        nm_connections_remove(&s->connections, *socket_context);
}

nm_printf(2, 0) static void on_library_log(void *userdata, const char *format, va_list ap)
{
    char text[512];

    (void)userdata;
    (void)vsnprintf(text, sizeof text, format, ap);
    nm_debug("libmicrohttpd: %s", text);
}

/* ---- accepting ---------------------------------------------------------------------------- */

static void add_connection(struct nm_local_server *s, struct nm_connection *c)
{
    struct sockaddr_storage sa = {.ss_family = AF_UNIX};
    socklen_t len = sizeof sa;

    assert(!s->accepting);
    s->accepting = c;
    if (getpeername(c->fd, (struct sockaddr *)&sa, &len) < 0)
        len = sizeof sa.ss_family;
    /* MHD_add_connection() closes the socket if it fails. */
    (void)MHD_add_connection(s->daemon, c->fd, (struct sockaddr *)&sa, len);
    if (s->accepting)
        nm_connections_remove(&s->connections, STEAL_PTR(s->accepting));
}

static void admit_connection(struct nm_local_server *s, struct nm_connection *c, int r)
{
    if (r == 0) {
        add_connection(s, c);
        return;
    }
    (void)nm_close(c->fd);
    nm_connections_remove(&s->connections, c);
}

static void on_passed(struct nm_connection *c, int r)
{
    struct nm_local_server *s = (struct nm_local_server *)((char *)c->host - offsetof(struct nm_local_server, host));

    admit_connection(s, c, r);
    if (r == 0)
        run(s);
}

/* Closes the reserve descriptor when no other descriptors are left, so that the client can be accepted and sent an
 * answer. A client that stays in the backlog would wake the event loop continuously. */
static int accept_out_of_fds(struct nm_local_server *s, int listen_fd)
{
    int fd;

    s->reserve_fd = nm_close(s->reserve_fd);
    fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        nm_answer_busy(fd);
        nm_close(fd);
    }
    s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? 0 : -EMFILE;
}

/* Accepts a connection. Returns 0 to continue with the next connection, -EAGAIN if no connection is waiting, or an
 * error that affects all connections. */
static int accept_one(struct nm_local_server *s, int listen_fd, bool tcp)
{
    struct sockaddr_storage sa = {};
    socklen_t len = sizeof sa;
    _cleanup_close_ int fd =
        accept4(listen_fd, (struct sockaddr *)&sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct nm_connection *c;
    char byte;
    int r;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        return accept_out_of_fds(s, listen_fd);
    if (fd < 0)
        return nm_accept_error_is_transient(errno) ? 0 : -errno;
    /* In a flood, the client may have already disconnected. Skip it before libmicrohttpd spends work on it. */
    if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
        return 0;
    r = nm_connections_add(&s->connections, fd, &sa, tcp, &c);
    if (r < 0)
        return 0;
    (void)STEAL_FD(fd);
    r = tcp ? nm_gate_enter(c, on_passed) : 0;
    if (r != -EINPROGRESS)
        admit_connection(s, c, r);
    return 0;
}

static void set_accepting(struct nm_local_server *s, int enabled)
{
    sd_event_source *const sources[] = {s->accept_unix, s->accept_tcp, s->accept_more};

    for (size_t i = 0; i < NM_ARRAY_SIZE(sources); i++)
        if (sources[i])
            (void)sd_event_source_set_enabled(sources[i], enabled);
}

static int on_accept_again(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source, (void)usec;
    set_accepting(userdata, SD_EVENT_ON);
    return 0;
}

/* Disables all listeners: a resource that is missing for one listener is missing for all. */
static void pause_accepting(struct nm_local_server *s)
{
    if (sd_event_source_set_time_relative(s->accept_again, NM_ACCEPT_PAUSE_USEC) >= 0 &&
        sd_event_source_set_enabled(s->accept_again, SD_EVENT_ONESHOT) >= 0)
        set_accepting(s, SD_EVENT_OFF);
}

static int on_accept(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_local_server *s = userdata;
    uint64_t end = nm_now_usec() + ACCEPT_USEC;
    int r;

    (void)source, (void)revents;
    do
        r = accept_one(s, fd, fd != s->unix_fd);
    while (r == 0 && nm_now_usec() < end);
    if (r < 0 && r != -EAGAIN)
        pause_accepting(s);
    run(s);
    /* New connections don't restart the timer: otherwise a flood would delay it indefinitely. */
    if (s->connections.first && sd_event_source_get_enabled(s->sweep, NULL) == 0) {
        (void)sd_event_source_set_time_relative(s->sweep, s->host.timeout_usec / 4);
        (void)sd_event_source_set_enabled(s->sweep, SD_EVENT_ONESHOT);
    }
    return 0;
}

/* ---- set-up ------------------------------------------------------------------------------- */

static unsigned max_connections(unsigned wanted)
{
    unsigned max = wanted > 0 ? wanted : MAX_CONNECTIONS;
    struct rlimit limit;

    /* The other half of the descriptors is reserved for containers. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < max)
        max = (unsigned)limit.rlim_cur / 2;
    return NM_MAX(max, 16u);
}

static int start_library(struct nm_local_server *s, char **ret_message)
{
    /* This timeout exceeds the time limit for a request plus the interval of the sweep, because the sweep sends a
     * reason before it closes a connection, and libmicrohttpd doesn't. The three seconds ensure that the sweep is
     * first even after the event loop was blocked for a short time. An idle connection needs no reason. */
    uint64_t timeout_sec = 5 * s->host.timeout_usec / 4 / NM_USEC_PER_SEC + 3;
    const struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_library_log, s},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_target, s},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_request_completed, s},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s},
        {MHD_OPTION_CONNECTION_LIMIT, s->connections.max, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)timeout_sec, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
        {MHD_OPTION_END, 0, NULL},
    };

    s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
                                     MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE | MHD_USE_ERROR_LOG,
                                 0, NULL, NULL, on_request, s, MHD_OPTION_ARRAY, options,
                                 MHD_OPTION_END);
    return s->daemon ? 0 : nm_fail(ret_message, -ENOMEM, "the HTTP library could not be started");
}

static int add_source(int r, sd_event_source *source, const char *description)
{
    if (r >= 0)
        r = sd_event_source_set_priority(source, NM_LOOP_WORK);
    if (r >= 0)
        r = sd_event_source_set_description(source, description);
    return r;
}

static int add_timers(struct nm_local_server *s)
{
    int r =
        sd_event_add_time(s->host.event, &s->timer, CLOCK_MONOTONIC, 0, 1, on_timer, s);

    r = add_source(r, s->timer, "http-timer");
    if (r >= 0)
        r = sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(s->host.event, &s->sweep, CLOCK_MONOTONIC, 0, 0, on_sweep, s);
    r = add_source(r, s->sweep, "http-sweep");
    if (r >= 0)
        r = sd_event_source_set_enabled(s->sweep, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(s->host.event, &s->accept_again, CLOCK_MONOTONIC, 0, 0, on_accept_again, s);
    r = add_source(r, s->accept_again, "http-accept-again");
    if (r >= 0)
        r = sd_event_source_set_enabled(s->accept_again, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(s->host.event, &s->host.turns, CLOCK_MONOTONIC, 0, 1, on_turns, s);
    r = add_source(r, s->host.turns, "http-turns");
    return r < 0 ? r : sd_event_source_set_enabled(s->host.turns, SD_EVENT_OFF);
}

static int on_root_removed(sd_event_source *source, const struct inotify_event *e, void *userdata)
{
    (void)source, (void)e, (void)userdata;
    return 0;
}

/*
 * Keeps sd-event's inotify descriptor for the priority of followed logs (stream-logs.c) open, with a watch that never
 * reports an event. sd-event has a descriptor for each priority, and closes it with the last watch. The kernel then
 * waits for an SRCU grace period, which would block nmd for 8 to 19 ms at the end of each `nmctl run`.
 */
static void keep_inotify(struct nm_local_server *s)
{
    int r = sd_event_add_inotify(s->host.event, &s->inotify, "/", IN_DELETE_SELF | IN_ONLYDIR, on_root_removed, NULL);

    r = add_source(r, s->inotify, "http-inotify");
    if (r < 0)
        nm_debug("can't keep an inotify watch: %s", strerror(-r));
}

static int add_sources(struct nm_local_server *s)
{
    int fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int r = sd_event_add_io(s->host.event, &s->run, fd, EPOLLIN, on_run, s);

    r = add_source(r, s->run, "http");
    if (r >= 0)
        r = sd_event_add_io(s->host.event, &s->accept_unix, s->unix_fd, EPOLLIN, on_accept, s);
    r = add_source(r, s->accept_unix, "http-accept");
    if (r >= 0 && s->tcp_fd >= 0) {
        r = sd_event_add_io(s->host.event, &s->accept_tcp, s->tcp_fd, EPOLLIN, on_accept, s);
        r = add_source(r, s->accept_tcp, "http-accept-tcp");
    }
    if (r >= 0)
        keep_inotify(s);
    return r < 0 ? r : add_timers(s);
}

static int open_unix(struct nm_local_server *s, const struct nm_local_server_params *p, char **ret_message)
{
    int r = p->socket_path ? nm_listener_open(p->socket_path, p->socket_mode, p->admin_group, &s->listener, ret_message)
                           : nm_fail(ret_message, -EINVAL, "neither a socket path nor an inherited socket is given");

    if (r < 0)
        return r;
    s->unix_fd = s->listener->fd;
    s->connections.admin_gid = s->listener->group;
    return 0;
}

static bool has_open_socket(const struct nm_local_server_params *p)
{
    return p->listener || p->listen_fd > 0;
}

/* Opens the sockets. On failure, the caller keeps the socket that was open before. */
static int open_sockets(struct nm_local_server *s, const struct nm_local_server_params *p, char **ret_message)
{
    int r = 0;

    if (!has_open_socket(p))
        r = open_unix(s, p, ret_message);
    else
        s->connections.admin_gid = p->listener ? p->listener->group : nm_listen_group(p->admin_group);
    if (r >= 0 && p->http_address && *p->http_address)
        r = nm_listen_tcp(p->http_address, &s->tcp_fd, ret_message);
    return r;
}

int nm_local_server_check(const struct nm_local_server_params *p, const char *const *dirs, bool may_be_ours,
                          char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r = p->listen_fd > 0 || !p->socket_path ? 0 : nm_listen_check_unix(p->socket_path, dirs, &message);

    r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    if (r == 0 && p->http_address && *p->http_address) {
        r = nm_listen_check_tcp(p->http_address, may_be_ours, &message);
        r = nm_refusals_add(&refusals, r, STEAL_PTR(message));
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

int nm_local_server_probe(const char *socket_path, char **ret_message)
{
    return nm_listen_probe_unix(socket_path, ret_message);
}

/* Takes over a socket that is already open. Makes an inherited socket non-blocking and close-on-exec, because its
 * previous owner may have set neither flag. */
static int take_open_socket(struct nm_local_server *s, const struct nm_local_server_params *p, char **ret_message)
{
    int fd = p->listener ? p->listener->fd : p->listen_fd, flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return nm_fail(ret_message, -errno, "inherited socket %d: %m", fd);
    s->unix_fd = fd;
    return 0;
}

int nm_local_server_new(sd_event *event, struct nm_manager *m,
                        const struct nm_local_server_params *p, struct nm_local_server **ret,
                        char **ret_message)
{
    _cleanup_(nm_local_server_freep) struct nm_local_server *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return nm_fail(ret_message, -ENOMEM, "out of memory");
    s->host = (struct nm_local_state){
        .event = sd_event_ref(event),
        .manager = m,
        .routes = nm_routes,
        .n_routes = nm_n_routes,
    };
    s->connections.host = &s->host;
    s->unix_fd = s->tcp_fd = s->more_fd = -EBADF;
    s->connections.max = max_connections(p->max_connections);
    s->host.timeout_usec = p->timeout_usec > 0 ? p->timeout_usec : TIMEOUT_USEC;
    s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    r = open_sockets(s, p, ret_message);
    if (r < 0)
        return r;
    r = nm_quota_new(MEMORY_MAX, &s->host.quota);
    if (r >= 0)
        r = nm_names_new(&s->host.names);
    if (r >= 0)
        r = nm_names_add(s->host.names, p->http_hosts ?: "");
    if (r < 0)
        return nm_fail(ret_message, r, "out of memory");
    r = nm_streams_new(event, m, &s->host.streams);
    if (r < 0)
        return nm_fail(ret_message, r, "can't subscribe to the manager's events: %s", strerror(-r));
    r = start_library(s, ret_message);
    if (r >= 0 && has_open_socket(p))
        r = take_open_socket(s, p, ret_message);
    if (r < 0)
        return r;
    r = add_sources(s);
    if (r < 0) {
        s->unix_fd = has_open_socket(p) ? -EBADF : s->unix_fd;
        return nm_fail(ret_message, r, "can't add an event source: %s", strerror(-r));
    }
    s->listener = s->listener ?: p->listener;
    *ret = STEAL_PTR(s);
    return 0;
}

int nm_local_server_listen(struct nm_local_server *s, int fd)
{
    int r;

    assert(s->more_fd < 0 && fd >= 0);
    s->more_fd = fd;
    r = sd_event_add_io(s->host.event, &s->accept_more, fd, EPOLLIN, on_accept, s);
    return NM_MIN(add_source(r, s->accept_more, "http-accept-more"), 0);
}

/* Stops libmicrohttpd. No connection may be suspended at this time, because libmicrohttpd would abort. */
static void stop_library(struct nm_local_server *s)
{
    if (!s->daemon)
        return;
    s->host.stopping = true;
    nm_streams_stop(s->host.streams);
    while (nm_quota_next_turn(s->host.quota, UINT64_MAX))
        continue;
    run_library(s);
    MHD_stop_daemon(s->daemon);
    while (s->connections.first) { /* these connections haven't been added to libmicrohttpd yet */
        nm_gate_leave(s->connections.first);
        admit_connection(s, s->connections.first, -ECONNRESET);
    }
}

/* Stops accepting first, then ends libmicrohttpd with the existing connections. The timer of turns is released last,
 * because streams that end still enable it (nm_call_schedule_turns()). */
struct nm_local_server *nm_local_server_free(struct nm_local_server *s)
{
    if (!s)
        return NULL;
    sd_event_source_disable_unref(s->accept_unix);
    sd_event_source_disable_unref(s->accept_tcp);
    sd_event_source_disable_unref(s->accept_more);
    sd_event_source_disable_unref(s->accept_again);
    sd_event_source_disable_unref(s->run);
    sd_event_source_disable_unref(s->inotify);
    sd_event_source_disable_unref(s->timer);
    sd_event_source_disable_unref(s->sweep);
    stop_library(s);
    sd_event_source_disable_unref(s->host.turns);
    nm_streams_free(s->host.streams);
    nm_quota_free(s->host.quota);
    nm_names_free(s->host.names);
    if (!s->listener)
        nm_close(s->unix_fd);
    nm_listener_free(s->listener);
    nm_close_listener(s->tcp_fd);
    nm_close_listener(s->more_fd);
    nm_close(s->reserve_fd);
    sd_event_unref(s->host.event);
    free(s);
    return NULL;
}

int nm_local_server_add_hosts(struct nm_local_server *s, const char *names)
{
    return nm_names_add(s->host.names, names);
}

int nm_local_server_join(struct nm_local_server *s, int fd, const char *host, const char *web_host)
{
    int r = fd >= 0 ? nm_local_server_listen(s, fd) : 0;

    if (r == 0)
        r = nm_names_add(s->host.names, host);
    return r < 0 ? r : nm_names_add(s->host.names, web_host);
}

bool nm_local_server_tcp_address(const struct nm_local_server *s, struct sockaddr_storage *ret)
{
    socklen_t len = sizeof *ret;

    return s->tcp_fd >= 0 && getsockname(s->tcp_fd, (struct sockaddr *)ret, &len) >= 0;
}

unsigned nm_local_server_tcp_port(const struct nm_local_server *s)
{
    struct sockaddr_storage sa;

    if (!nm_local_server_tcp_address(s, &sa))
        return 0;
    /* IPv4 and IPv6 addresses have the port at the same offset. */
    return ntohs(((struct sockaddr_in *)&sa)->sin_port);
}
