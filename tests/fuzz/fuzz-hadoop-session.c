/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes whole connections with sockets and the event loop. The input is sent as the bytes of a client to a server that
 * requires tokens and to a server that doesn't. It is also sent as the bytes of a server to a client with a token and
 * to a client without a token. */

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "rpc/hadoop/client.h"
#include "rpc/hadoop/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void echo(struct nm_hadoop_call *call, void *userdata)
{
    (void)userdata;
    if (!nm_hadoop_call_user(call))
        abort();
    nm_hadoop_call_answer(call, nm_hadoop_call_request(call));
}

static const struct nm_hadoop_method method = {"echo", &hadoop__node_id__descriptor, echo};
static const struct nm_hadoop_protocol protocol = {"P", 1, &method, 1};

static int lookup(void *userdata, struct nm_bytes id, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    (void)userdata, (void)id, (void)ret;
    nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_INVALID_TOKEN, "no");
    return -EKEYREJECTED;
}

/* Listens on a UNIX address that the kernel chooses. */
static int listen_somewhere(struct sockaddr_un *sa, socklen_t *size)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *sa = (struct sockaddr_un){.sun_family = AF_UNIX};
    *size = sizeof *sa;
    if (fd < 0 || bind(fd, (struct sockaddr *)sa, sizeof sa->sun_family) < 0 || listen(fd, 4) < 0 ||
        getsockname(fd, (struct sockaddr *)sa, size) < 0)
        abort();
    return fd;
}

/* Sends the data that the socket accepts without blocking, and then shuts down the sending side. */
static void send_all(int fd, const uint8_t *data, size_t size)
{
    (void)send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(fd, SHUT_WR);
}

static void to_server(sd_event *event, const uint8_t *data, size_t size, bool secure)
{
    struct nm_hadoop_server_options o = {.protocols = &protocol, .n_protocols = 1, .lookup = secure ? lookup : NULL};
    struct nm_hadoop_server *s;
    struct sockaddr_un sa;
    socklen_t sa_size;
    int listener = listen_somewhere(&sa, &sa_size), fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (nm_hadoop_server_new(event, listener, &o, &s) < 0 || connect(fd, (struct sockaddr *)&sa, sa_size) < 0)
        abort();
    send_all(fd, data, size);
    do
        if (sd_event_run(event, UINT64_MAX) < 0)
            abort();
    while (nm_hadoop_server_connections(s) > 0);
    (void)close(fd);
    nm_hadoop_server_free(s);
}

static void on_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    unsigned *n = userdata;

    if ((error == 0) != (answer != NULL) || (error == -EREMOTEIO && !why) || ++*n > 1)
        abort();
}

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    (void)error, (void)why;
    *(bool *)userdata = true;
}

static void to_client(sd_event *event, const uint8_t *data, size_t size, const struct nm_token *token)
{
    Hadoop__NodeId request = HADOOP__NODE_ID__INIT;
    struct nm_hadoop_client *c;
    struct sockaddr_un sa;
    socklen_t sa_size;
    int listener = listen_somewhere(&sa, &sa_size), fd;
    unsigned n_replies = 0;
    bool closed = false;
    struct nm_hadoop_client_options o = {
        .address = (struct sockaddr *)&sa, .address_size = sa_size, .protocol = "P", .version = 1, .user = "u",
        .token = token, .accepts_simple_auth = true, .closed = on_closed, .userdata = &closed};

    if (nm_hadoop_client_new(event, &o, &c) < 0 || (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0 ||
        nm_hadoop_client_call(c, "echo", &request.base, &hadoop__node_id__descriptor, 0, NM_USEC_PER_SEC, on_reply,
                              &n_replies) < 0)
        abort();
    send_all(fd, data, size);
    while (!closed)
        if (sd_event_run(event, UINT64_MAX) < 0)
            abort();
    if (n_replies != 1)
        abort();
    nm_hadoop_client_free(c);
    (void)close(fd);
    (void)close(listener);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct nm_token token = {.identifier = {(const uint8_t *)"id", 2},
                                          .password = {(const uint8_t *)"p", 1}};
    sd_event *event;

    if (sd_event_new(&event) < 0)
        abort();
    to_server(event, data, size, false);
    to_server(event, data, size, true);
    to_client(event, data, size, NULL);
    to_client(event, data, size, &token);
    sd_event_unref(event);
    return 0;
}
