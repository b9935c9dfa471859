/* SPDX-License-Identifier: Apache-2.0 */

/*
 * libmicrohttpd in the event loop. The library keeps an epoll descriptor of its own, which becomes
 * readable when any of its connections has something to do; it then does all of it in MHD_run().
 * Its timeouts are asked for after each run.
 *
 * Under a flood of requests the node must still be sampled and containers be preempted in time. So
 * all sources here have a low priority, one run spends only RUN_BUDGET_USEC on handlers (the rest
 * is suspended and comes up in later rounds, in order), and memory, places and time are rationed: a
 * client can lose its own request, and no more.
 */

#include "rpc/local/server.h"

#include <stdarg.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "rpc/local/listen.h"
#include "rpc/local/server-internal.h"
#include "rpc/local/stream.h"
#include "util/clock.h"
#include "util/log.h"

#define PRIORITY (SD_EVENT_PRIORITY_NORMAL + 10)
#define MAX_CONNECTIONS 2048u
/* For a request to come in, from its first byte to its last; an answer may take four times as long
 * to be fetched. */
#define TIMEOUT_USEC (30 * NM_USEC_PER_SEC)
#define RUN_BUDGET_USEC (10 * NM_USEC_PER_MSEC)
#define DEFERRED_PER_RUN 8
#define ACCEPTS_PER_RUN 64
/* Request line and headers, the answer's headers and a chunk of its body; the default of 32 KiB is
 * for the web. */
#define CONNECTION_MEMORY 8192u
/* Bodies and answers of all connections together; others than administrators get half. */
#define MEMORY_MAX (UINT64_C(64) << 20)

struct nm_local_server {
    sd_event *event;
    struct nm_manager *manager;
    struct MHD_Daemon *daemon;
    struct nm_streams *streams;
    sd_event_source *accept_unix, *accept_tcp, *run, *timer, *sweep, *resume_deferred;
    int unix_fd, tcp_fd;
    int reserve_fd;     /* given up when there are no others left: see accept_out_of_fds() */
    char *socket_path;  /* to be removed, or NULL */
    ino_t socket_inode; /* tells our socket from a later one at the same path */
    gid_t admin_gid;
    unsigned max_connections, n_connections;
    uint64_t timeout_usec;
    struct nm_connection *first;
    struct nm_connection *accepting; /* on its way through the library: see add_connection() */
    uint64_t memory;                 /* of MEMORY_MAX, what is handed out */
    uint64_t run_started_usec;
    struct nm_call *deferred, **deferred_end; /* whose turn comes in a later run, oldest first */
    bool stopping;
};

/* ---- what handlers ask -------------------------------------------------------------------- */

/* What on_connection() attached to the socket; it stays the same over all requests on it. */
struct nm_connection *nm_local_server_connection(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

sd_event *nm_local_server_event(struct nm_local_server *s)
{
    return s->event;
}

struct nm_manager *nm_local_server_manager(struct nm_local_server *s)
{
    return s->manager;
}

struct nm_streams *nm_local_server_streams(struct nm_local_server *s)
{
    return s->streams;
}

uint64_t nm_local_server_timeout_usec(const struct nm_local_server *s)
{
    return s->timeout_usec;
}

bool nm_local_server_take_memory(struct nm_local_server *s, bool admin, size_t bytes)
{
    if (s->memory + bytes > (admin ? MEMORY_MAX : MEMORY_MAX / 2))
        return false;
    s->memory += bytes;
    return true;
}

void nm_local_server_give_memory(struct nm_local_server *s, size_t bytes)
{
    s->memory -= bytes;
}

/* The library's own wake-up doesn't reach its epoll descriptor when it has no listening socket. */
void nm_local_server_resume(struct nm_local_server *s, struct MHD_Connection *c)
{
    MHD_resume_connection(c);
    (void)sd_event_source_set_enabled(s->resume_deferred, SD_EVENT_ONESHOT);
}

/* ---- rationing time ----------------------------------------------------------------------- */

/* Has this run used up its time? Then the call is suspended and comes again, behind those that were
 * deferred before it: none overtakes, so a queue that is not empty defers as well. */
bool nm_local_server_defer(struct nm_local_server *s, struct nm_call *call)
{
    if (call->deferred || s->stopping) {
        call->deferred = false; /* its turn has come */
        return false;
    }
    if (!s->deferred && nm_now_usec() - s->run_started_usec < RUN_BUDGET_USEC)
        return false;
    call->deferred = true;
    call->next_deferred = NULL;
    *s->deferred_end = call;
    s->deferred_end = &call->next_deferred;
    MHD_suspend_connection(call->connection);
    (void)sd_event_source_set_enabled(s->resume_deferred, SD_EVENT_ONESHOT);
    return true;
}

void nm_local_server_forget(struct nm_local_server *s, struct nm_call *call)
{
    for (struct nm_call **c = &s->deferred; *c; c = &(*c)->next_deferred) {
        if (*c != call)
            continue;
        *c = call->next_deferred;
        if (!*c)
            s->deferred_end = c;
        return;
    }
}

static void resume_deferred(struct nm_local_server *s, unsigned n)
{
    for (; s->deferred && n > 0; n--) {
        struct nm_call *call = s->deferred;
        s->deferred = call->next_deferred;
        if (!s->deferred)
            s->deferred_end = &s->deferred;
        MHD_resume_connection(call->connection);
    }
}

/* ---- the library's turn ------------------------------------------------------------------- */

/* The library reads once from each connection, no more than CONNECTION_MEMORY, and says 0 when that was not all: a long
 * body would take hundreds of turns of the loop, each behind everybody else's work. So it goes on while there is time.
 * What it waits for changes with every request, so its timer is set anew each time. It names none when it waits for
 * bytes alone. */
static void run(struct nm_local_server *s)
{
    MHD_UNSIGNED_LONG_LONG msec;
    bool waits;

    s->run_started_usec = nm_now_usec();
    do {
        (void)MHD_run(s->daemon);
        waits = MHD_get_timeout(s->daemon, &msec) == MHD_YES;
    } while (waits && msec == 0 && nm_now_usec() - s->run_started_usec < RUN_BUDGET_USEC);
    if (!waits) {
        (void)sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
        return;
    }
    (void)sd_event_source_set_time_relative(s->timer, msec * NM_USEC_PER_MSEC);
    (void)sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
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

/* A few at a time, and then back to the loop, where whatever is more urgent comes first. */
static int on_deferred(sd_event_source *source, void *userdata)
{
    struct nm_local_server *s = userdata;

    resume_deferred(s, DEFERRED_PER_RUN);
    run(s);
    if (s->deferred)
        (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

/* An answer without the library, which has no place for this client or no whole request of it. What
 * the socket does not take at once is lost: nobody waits here. */
static void answer_shortly(int fd, const char *status, const char *code, const char *thing,
                           const char *message)
{
    char body[256], answer[512];
    int n = snprintf(body, sizeof body,
                     "{\"error\":{\"code\":\"%s\",\"thing\":\"%s\",\"value\":\"\",\"message\":\"%s\"}}"
                     "\n",
                     code, thing, message);

    n = snprintf(answer, sizeof answer,
                 "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                 "Connection: close\r\n\r\n%s",
                 status, n, body);
    (void)send(fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void give_up(const struct nm_local_server *s, const struct nm_connection *c)
{
    char message[128];

    (void)snprintf(message, sizeof message,
                   "The request was not complete in time; all of it must come within %g s.",
                   (double)s->timeout_usec / NM_USEC_PER_SEC);
    if (!c->heard)
        answer_shortly(c->fd, "408 Request Timeout", "invalid", "request", message);
    (void)shutdown(c->fd, SHUT_RDWR); /* the library sees the end and cleans up */
}

/* The library's own timeout starts anew with every byte: a client that sends one a second would
 * never meet it. */
static int on_sweep(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_local_server *s = userdata;
    uint64_t now = nm_now_usec();

    (void)usec;
    for (struct nm_connection *c = s->first; c; c = c->next)
        if (c->deadline_usec <= now)
            give_up(s, c);
    if (!s->first)
        return 0;
    (void)sd_event_source_set_time_relative(source, s->timeout_usec / 4);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Comes with the first line of a request, ahead of its headers, and is the only place where the
 * target is seen as it was sent: later the library has decoded the path and cut off the query. */
static void *on_target(void *userdata, const char *uri, struct MHD_Connection *c)
{
    struct nm_local_server *s = userdata;

    nm_local_server_connection(c)->deadline_usec = nm_now_usec() + s->timeout_usec;
    nm_local_server_connection(c)->heard = false;
    return nm_call_new(s, uri);
}

/* Comes for the headers, for each piece of the body, and once more, with no bytes, for its end.
 * MHD_NO closes the connection without an answer. */
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
        nm_local_server_connection(c)->heard = true;
        return nm_call_finish(call);
    }
    r = nm_call_take_body(call, data, *size);
    *size = 0;
    return r;
}

/* Also when the client went away in the middle. Else the connection may be used again, and has its
 * time for the next request. */
static void on_request_completed(void *userdata, struct MHD_Connection *c, void **request,
                                 enum MHD_RequestTerminationCode code)
{
    struct nm_local_server *s = userdata;

    (void)code;
    nm_call_free(*request);
    *request = NULL;
    nm_local_server_connection(c)->heard = true; /* until the next one begins */
    nm_local_server_connection(c)->deadline_usec = nm_now_usec() + 2 * s->timeout_usec;
}

/* STARTED comes from within MHD_add_connection(), which has no argument for our own struct: so it
 * is taken from `accepting`. */
static void on_connection(void *userdata, struct MHD_Connection *c, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct nm_local_server *s = userdata;
    struct nm_connection *con = *socket_context;

    (void)c;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *socket_context = STEAL_PTR(s->accepting);
        return;
    }
    *con->prev_next = con->next;
    if (con->next)
        con->next->prev_next = con->prev_next;
    s->n_connections--;
    free(con);
}

nm_printf(2, 0) static void on_library_log(void *userdata, const char *format, va_list ap)
{
    char text[512];

    (void)userdata;
    (void)vsnprintf(text, sizeof text, format, ap);
    nm_debug("libmicrohttpd: %s", text);
}

/* ---- accepting ---------------------------------------------------------------------------- */

/* One user must not take all the places, and an administrator must always find one. */
static bool has_place(const struct nm_local_server *s, const struct nm_connection *new)
{
    unsigned same = 0, max = s->max_connections;

    if (s->n_connections >= max)
        return false;
    if (new->caller.admin && !new->tcp)
        return true;
    for (const struct nm_connection *c = s->first; c; c = c->next)
        same += c->tcp == new->tcp && c->caller.uid == new->caller.uid;
    return s->n_connections < max - max / 16 && same < (new->tcp ? max / 8 : max / 4);
}

static void refuse(int fd)
{
    answer_shortly(fd, "503 Service Unavailable", "unavailable", "connection",
                   "Too many clients are connected to nmd at the moment; try again.");
    (void)shutdown(fd, SHUT_WR);
}

static int connection_new(struct nm_local_server *s, int fd, bool tcp, struct nm_connection **ret)
{
    struct nm_connection *c = calloc(1, sizeof *c);
    int r = 0;

    if (!c)
        return -ENOMEM;
    *c = (struct nm_connection){.server = s, .fd = fd, .tcp = tcp};
    /* Who comes over TCP is nobody in particular: routes and messages decide what everyone may
     * read. */
    if (tcp)
        c->caller = (struct nm_caller){.uid = (uid_t)-1, .gid = (gid_t)-1, .admin = true};
    else
        r = nm_listen_peer(fd, s->admin_gid, &c->caller);
    if (r < 0) {
        free(c);
        return r;
    }
    c->deadline_usec = nm_now_usec() + s->timeout_usec;
    *ret = c;
    return 0;
}

static void add_connection(struct nm_local_server *s, struct nm_connection *c,
                           const struct sockaddr *sa, socklen_t len)
{
    c->next = s->first;
    c->prev_next = &s->first;
    if (c->next)
        c->next->prev_next = &c->next;
    s->first = c;
    s->n_connections++;
    s->accepting = c;
    /* Closes the socket itself when it can't. */
    (void)MHD_add_connection(s->daemon, c->fd, sa, len);
    if (s->accepting) {
        void *context = STEAL_PTR(s->accepting);
        on_connection(s, NULL, &context, MHD_CONNECTION_NOTIFY_CLOSED);
    }
}

/* Out of descriptors: give up the one in reserve, so that a client is told instead of being left in
 * the queue, which would wake the loop for ever. */
static int accept_out_of_fds(struct nm_local_server *s, int listen_fd)
{
    int fd;

    s->reserve_fd = nm_close(s->reserve_fd);
    fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        refuse(fd);
        nm_close(fd);
    }
    s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? 0 : -EAGAIN;
}

/* 0: try the next one. Negative: there is none now. A client that gave up while it waited
 * (ECONNABORTED) is no reason to stop. */
static int accept_one(struct nm_local_server *s, int listen_fd, bool tcp)
{
    struct sockaddr_storage sa = {};
    socklen_t len = sizeof sa;
    _cleanup_close_ int fd =
        accept4(listen_fd, (struct sockaddr *)&sa, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct nm_connection *c;
    int r;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        return accept_out_of_fds(s, listen_fd);
    if (fd < 0)
        return errno == EINTR || errno == ECONNABORTED ? 0 : -errno;
    r = connection_new(s, fd, tcp, &c);
    if (r < 0)
        return 0; /* gone already */
    if (!has_place(s, c)) {
        free(c);
        refuse(fd);
        return 0;
    }
    (void)STEAL_FD(fd);
    add_connection(s, c, (struct sockaddr *)&sa, len);
    return 0;
}

static int on_accept(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_local_server *s = userdata;
    int enabled;

    (void)source, (void)revents;
    for (unsigned i = 0; i < ACCEPTS_PER_RUN; i++)
        if (accept_one(s, fd, fd == s->tcp_fd) < 0)
            break;
    run(s);
    if (sd_event_source_get_enabled(s->sweep, &enabled) == 0 && s->first) {
        (void)sd_event_source_set_time_relative(s->sweep, s->timeout_usec / 4);
        (void)sd_event_source_set_enabled(s->sweep, SD_EVENT_ONESHOT);
    }
    return 0;
}

/* ---- set-up ------------------------------------------------------------------------------- */

static unsigned max_connections(unsigned wanted)
{
    unsigned max = wanted > 0 ? wanted : MAX_CONNECTIONS;
    struct rlimit limit;

    /* The other half of the descriptors is for containers. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 2 < max)
        max = (unsigned)limit.rlim_cur / 2;
    return NM_MAX(max, 16u);
}

static int start_library(struct nm_local_server *s, char **ret_message)
{
    /* A sweep later than ours: who is closed by the library isn't told why. */
    uint64_t timeout_sec = 5 * s->timeout_usec / 4 / NM_USEC_PER_SEC + 1;
    const struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_library_log, s},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)on_target, s},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_request_completed, s},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s},
        {MHD_OPTION_CONNECTION_LIMIT, s->max_connections, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)timeout_sec, NULL},
        {MHD_OPTION_END, 0, NULL},
    };

    s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET |
                                     MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
                                 0, NULL, NULL, on_request, s, MHD_OPTION_ARRAY, options,
                                 MHD_OPTION_END);
    return s->daemon ? 0 : nm_fail(ret_message, -ENOMEM, "the HTTP library could not be started");
}

/* All of them behind what keeps the node in bounds: a higher number is a lower priority. */
static int add_source(int r, sd_event_source *source, const char *description)
{
    if (r >= 0)
        r = sd_event_source_set_priority(source, PRIORITY);
    if (r >= 0)
        r = sd_event_source_set_description(source, description);
    return r;
}

static int add_timers(struct nm_local_server *s)
{
    int r =
        sd_event_add_time(s->event, &s->timer, CLOCK_MONOTONIC, 0, 1, on_timer, s);

    r = add_source(r, s->timer, "http-timer");
    if (r >= 0)
        r = sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time(s->event, &s->sweep, CLOCK_MONOTONIC, 0, 0, on_sweep, s);
    r = add_source(r, s->sweep, "http-sweep");
    if (r >= 0)
        r = sd_event_source_set_enabled(s->sweep, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_defer(s->event, &s->resume_deferred, on_deferred, s);
    r = add_source(r, s->resume_deferred, "http-deferred");
    return r < 0 ? r : sd_event_source_set_enabled(s->resume_deferred, SD_EVENT_OFF);
}

static int add_sources(struct nm_local_server *s)
{
    int fd = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    int r = sd_event_add_io(s->event, &s->run, fd, EPOLLIN, on_run, s);

    r = add_source(r, s->run, "http");
    if (r >= 0)
        r = sd_event_add_io(s->event, &s->accept_unix, s->unix_fd, EPOLLIN, on_accept, s);
    r = add_source(r, s->accept_unix, "http-accept");
    if (r >= 0 && s->tcp_fd >= 0) {
        r = sd_event_add_io(s->event, &s->accept_tcp, s->tcp_fd, EPOLLIN, on_accept, s);
        r = add_source(r, s->accept_tcp, "http-accept-tcp");
    }
    return r < 0 ? r : add_timers(s);
}

static int open_unix(struct nm_local_server *s, const struct nm_local_server_params *p,
                     char **ret_message)
{
    struct stat st;
    int r;

    if (!p->socket_path)
        return nm_fail(ret_message, -EINVAL, "there is neither a socket path nor an inherited socket");
    r = nm_listen_unix(p->socket_path, p->socket_mode, s->admin_gid, &s->unix_fd, ret_message);
    if (r < 0)
        return r;
    s->socket_path = strdup(p->socket_path);
    if (!s->socket_path)
        return nm_fail(ret_message, -ENOMEM, "out of memory");
    s->socket_inode = lstat(s->socket_path, &st) == 0 ? st.st_ino : 0;
    return 0;
}

/* The inherited descriptor stays its giver's until nothing can fail any more. */
static int open_sockets(struct nm_local_server *s, const struct nm_local_server_params *p,
                        char **ret_message)
{
    int r = 0;

    s->admin_gid = nm_listen_group(p->admin_group);
    if (p->listen_fd <= 0)
        r = open_unix(s, p, ret_message);
    if (r >= 0 && p->http_address && *p->http_address)
        r = nm_listen_tcp(p->http_address, &s->tcp_fd, ret_message);
    return r;
}

/* Whether it blocks is the giver's choice, and so is whether children inherit it; here neither may
 * be. */
static int take_inherited(struct nm_local_server *s, int fd, char **ret_message)
{
    int flags = fcntl(fd, F_GETFL);

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
    s->event = sd_event_ref(event);
    s->manager = m;
    s->unix_fd = s->tcp_fd = -EBADF;
    s->deferred_end = &s->deferred;
    s->max_connections = max_connections(p->max_connections);
    s->timeout_usec = p->timeout_usec > 0 ? p->timeout_usec : TIMEOUT_USEC;
    s->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    r = open_sockets(s, p, ret_message);
    if (r < 0)
        return r;
    r = nm_streams_new(event, m, &s->streams);
    if (r < 0)
        return nm_fail(ret_message, r, "no events from the manager: %s", strerror(-r));
    r = start_library(s, ret_message);
    if (r >= 0 && p->listen_fd > 0)
        r = take_inherited(s, p->listen_fd, ret_message);
    if (r < 0)
        return r;
    r = add_sources(s);
    if (r < 0) {
        s->unix_fd = p->listen_fd > 0 ? -EBADF : s->unix_fd;
        return nm_fail(ret_message, r, "the event loop takes no more sources: %s", strerror(-r));
    }
    *ret = STEAL_PTR(s);
    return 0;
}

/* The library aborts when it is stopped with connections suspended. */
static void stop_library(struct nm_local_server *s)
{
    if (!s->daemon)
        return;
    s->stopping = true;
    nm_streams_stop(s->streams);
    resume_deferred(s, UINT32_MAX);
    (void)MHD_run(s->daemon);
    MHD_stop_daemon(s->daemon);
}

/* Nobody new first, then the library with those who are there. The deferred source goes after it,
 * for the streams' farewell still enables that. */
struct nm_local_server *nm_local_server_free(struct nm_local_server *s)
{
    struct stat st;

    if (!s)
        return NULL;
    sd_event_source_disable_unref(s->accept_unix);
    sd_event_source_disable_unref(s->accept_tcp);
    sd_event_source_disable_unref(s->run);
    sd_event_source_disable_unref(s->timer);
    sd_event_source_disable_unref(s->sweep);
    stop_library(s);
    sd_event_source_disable_unref(s->resume_deferred);
    nm_streams_free(s->streams);
    /* Only if it is still ours: another nmd may have replaced it. */
    if (s->socket_path && lstat(s->socket_path, &st) == 0 && st.st_ino == s->socket_inode)
        (void)unlink(s->socket_path);
    nm_close(s->unix_fd);
    nm_close(s->tcp_fd);
    nm_close(s->reserve_fd);
    free(s->socket_path);
    sd_event_unref(s->event);
    free(s);
    return NULL;
}

unsigned nm_local_server_tcp_port(const struct nm_local_server *s)
{
    struct sockaddr_storage sa;
    socklen_t len = sizeof sa;

    if (s->tcp_fd < 0 || getsockname(s->tcp_fd, (struct sockaddr *)&sa, &len) < 0)
        return 0;
    /* The port is at the same place for IPv4 and IPv6. */
    return ntohs(((struct sockaddr_in *)&sa)->sin_port);
}
