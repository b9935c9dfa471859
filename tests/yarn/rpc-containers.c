/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A server for Hadoop's own client of nodes: the server of rpc/hadoop/ with ContainerManagementProtocol. It reports
 * every container as running, and accepts only clients with an NMToken that is signed with the key.
 *   rpc-containers KEY      (the key's bytes as text)
 * Prints its port, and then a line for each call. Ends at the end of its standard input.
 */

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/server.h"
#include "rpc/hadoop/token.h"
#include "tests/yarn/nodes.pb-c.h"

#define RUNNING 2

static int lookup(void *userdata, struct nm_bytes identifier, struct nm_sasl_bearer *ret, struct nm_exception *why)
{
    const Hadoop__NMTokenIdentifier *id;
    const char *key = userdata;
    struct nm_arena a;
    int r;

    nm_arena_init(&a, nm_arena_limit(identifier.size), NULL);
    r = nm_token_parse_nm(&a, identifier, &id);
    if (r == 0)
        r = nm_digest_hmac((const uint8_t *)key, strlen(key), identifier.data, identifier.size, ret->password);
    if (r == 0) {
        ret->password_size = NM_DIGEST_SIZE;
        (void)snprintf(ret->user, sizeof ret->user, "appattempt_%lld_%04d_%06d",
                       (long long)id->attempt->application->cluster_timestamp, id->attempt->application->id,
                       id->attempt->attempt);
        if (id->key_id != 1) {
            nm_exception_set(why, NM_EXCEPTION_FATAL_UNAUTHORIZED, NM_EXCEPTION_INVALID_TOKEN,
                             "Given NMToken for application : %s seems to have been generated illegally.", ret->user);
            r = -EKEYREJECTED;
        }
    }
    nm_arena_done(&a);
    return r;
}

static void get_statuses(struct nm_hadoop_call *call, void *userdata)
{
    const YarnTest__StatusesRequest *request = (const YarnTest__StatusesRequest *)nm_hadoop_call_request(call);
    YarnTest__StatusesResponse answer = YARN_TEST__STATUSES_RESPONSE__INIT;
    struct nm_arena *a = nm_hadoop_call_arena(call);

    (void)userdata;
    printf("%s asks for %zu\n", nm_hadoop_call_user(call), request->n_containers);
    answer.statuses = nm_arena_alloc(a, request->n_containers * sizeof *answer.statuses);
    for (; answer.statuses && answer.n_statuses < request->n_containers; answer.n_statuses++) {
        YarnTest__ContainerStatus *s = nm_arena_alloc(a, sizeof *s);

        if (!s)
            break;
        *s = (YarnTest__ContainerStatus)YARN_TEST__CONTAINER_STATUS__INIT;
        s->container = request->containers[answer.n_statuses];
        s->has_state = s->has_exit_status = 1;
        s->state = RUNNING;
        s->exit_status = -1000;
        s->diagnostics = (char *)"all is well";
        answer.statuses[answer.n_statuses] = s;
    }
    nm_hadoop_call_answer(call, &answer.base);
}

static void refuse_to_stop(struct nm_hadoop_call *call, void *userdata)
{
    struct nm_exception why;

    (void)userdata;
    nm_exception_set(&why, NM_EXCEPTION_APPLICATION, "org.apache.hadoop.yarn.exceptions.InvalidContainerException",
                     "Nothing is stopped here.");
    nm_hadoop_call_refuse(call, &why);
}

static const struct nm_hadoop_method methods[] = {
    {"getContainerStatuses", &yarn_test__statuses_request__descriptor, get_statuses},
    {"stopContainers", &yarn_test__statuses_request__descriptor, refuse_to_stop},
};

static const struct nm_hadoop_protocol protocol = {"org.apache.hadoop.yarn.api.ContainerManagementProtocolPB", 1,
                                                   methods, NM_ARRAY_SIZE(methods)};

static int on_input(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    char waste[64];

    (void)revents, (void)userdata;
    if (read(fd, waste, sizeof waste) <= 0)
        return sd_event_exit(sd_event_source_get_event(source), 0);
    return 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct nm_hadoop_server_options options = {.protocols = &protocol, .n_protocols = 1, .lookup = lookup};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct nm_hadoop_server *s;
    socklen_t size = sizeof sa;
    sd_event *event;

    if (argc != 2)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    options.userdata = argv[1];
    if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof sa) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, (struct sockaddr *)&sa, &size) < 0 || sd_event_new(&event) < 0 ||
        sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL) < 0 ||
        nm_hadoop_server_new(event, fd, &options, &s) < 0)
        return 1;
    printf("%d\n", ntohs(sa.sin_port));
    (void)sd_event_loop(event);
    nm_hadoop_server_free(s);
    sd_event_unref(event);
    return 0;
}
