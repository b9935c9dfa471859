/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An application master that only requests containers and measures how long that takes. bench.sh makes nodes start it
 * as the master of an application. It behaves the same with any server, on one connection, with the token with which it
 * was started.
 *
 *   master-probe HOST PORT measure WARM ROUNDS ASKS INTERVAL-MS   prints a line for each figure, in microseconds
 *   master-probe HOST PORT hold INTERVAL-MS FILE                  prints the wait for its first
 *                                     container, then "holds", and ends when FILE exists
 *
 * A round requests ASKS opportunistic containers on any node, in one heartbeat, and sends further heartbeats until it
 * has all of them. The next heartbeat releases them, and an empty heartbeat follows. WARM rounds precede the others,
 * four times as fast, and are not printed. The figures are
 *   first T, last T    from the request to the answer with the round's first and last container
 *   ask T, rest T      duration of the requesting heartbeat, and of every other one
 */

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpc/hadoop/client.h"
#include "rpc/hadoop/token.h"
#include "tests/bench/masters/master.pb-c.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/id-messages.h"

#define PROTOCOL "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"
#define MANY 4096u /* the most containers in one response */
#define PATIENCE_USEC (20 * NM_USEC_PER_SEC)
#define OPPORTUNISTIC 2
#define SUCCEEDED 1

struct probe {
    sd_event *event;
    struct nm_hadoop_client *client;
    uint64_t interval_usec, sent_usec, answered_usec;
    bool answered;
    int32_t response_id;
    struct nm_yarn_container_id got[MANY]; /* from the last response, and not released yet */
    size_t n_got;
};

static void fail(const char *what, int r, const struct nm_exception *why)
{
    fprintf(stderr, "master-probe: %s: %s\n", what, why ? why->message : strerror(-r));
    exit(1);
}

/* ---- calls -------------------------------------------------------------------------------------- */

static void on_answer(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct probe *p = userdata;
    const Bench__Allocated *m;

    if (error < 0)
        fail("a call has failed", error, why);
    p->answered = true;
    p->answered_usec = nm_now_usec();
    if (answer->descriptor != &bench__allocated__descriptor)
        return;
    m = (const Bench__Allocated *)answer;
    p->response_id = m->response_id;
    for (p->n_got = 0; p->n_got < NM_MIN(m->n_containers, (size_t)MANY); p->n_got++)
        p->got[p->n_got] = nm_yarn_container_of(m->containers[p->n_got]->id);
}

/* Makes a call and returns its duration. */
static uint64_t call(struct probe *p, const char *method, const ProtobufCMessage *request,
                     const ProtobufCMessageDescriptor *answer)
{
    int r;

    p->answered = false;
    p->sent_usec = nm_now_usec();
    r = nm_hadoop_client_call(p->client, method, request, answer, 0, PATIENCE_USEC, on_answer, p);
    while (r >= 0 && !p->answered)
        r = sd_event_run(p->event, UINT64_MAX);
    if (r < 0)
        fail(method, r, NULL);
    return p->answered_usec - p->sent_usec;
}

static void wait_until(uint64_t usec)
{
    const struct timespec at = {(time_t)(usec / NM_USEC_PER_SEC), (long)(usec % NM_USEC_PER_SEC * 1000)};

    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

/* Sends a heartbeat an interval after the previous one and releases the containers that the previous one returned.
 * count: -1 requests nothing. */
static uint64_t beat(struct probe *p, int32_t count)
{
    Hadoop__Priority priority = {PROTOBUF_C_MESSAGE_INIT(&hadoop__priority__descriptor), 1, 1};
    Hadoop__Resource resource = HADOOP__RESOURCE__INIT;
    Bench__ExecutionType type = BENCH__EXECUTION_TYPE__INIT;
    Bench__Ask ask = BENCH__ASK__INIT, *asks = &ask;
    Bench__Allocate m = BENCH__ALLOCATE__INIT;
    static struct nm_yarn_container_message ids[MANY];
    static Hadoop__ContainerId *release[MANY];

    resource.has_memory = resource.has_vcores = type.has_type = type.has_enforce = ask.has_count = ask.has_relax = 1;
    resource.memory = 128;
    resource.vcores = 1;
    type.type = OPPORTUNISTIC;
    type.enforce = ask.relax = 1;
    ask.priority = &priority;
    ask.where = (char *)"*";
    ask.resource = &resource;
    ask.count = count;
    ask.type = &type;
    m.asks = &asks;
    m.n_asks = count >= 0;
    m.has_response_id = 1;
    m.response_id = p->response_id;
    m.release = release;
    for (; m.n_release < p->n_got; m.n_release++)
        release[m.n_release] = nm_yarn_container_message_set(&ids[m.n_release], &p->got[m.n_release]);
    wait_until(p->sent_usec + p->interval_usec);
    return call(p, "allocate", &m.base, &bench__allocated__descriptor);
}

/* ---- the measurements --------------------------------------------------------------------------- */

static void print(const char *what, uint64_t usec, bool quiet)
{
    if (!quiet)
        printf("%s %llu\n", what, (unsigned long long)usec);
}

/* Runs a round and returns the time to its first container. */
static uint64_t allocation_pass(struct probe *p, int32_t asks, bool quiet)
{
    uint64_t took_usec = beat(p, asks), begun_usec = p->sent_usec, first_usec = 0;
    int32_t left = asks;

    print("ask", took_usec, quiet);
    for (;;) {
        if (left == asks && p->n_got > 0) {
            first_usec = p->answered_usec - begun_usec;
            print("first", first_usec, quiet);
        }
        left -= (int32_t)p->n_got;
        if (left <= 0)
            break;
        print("rest", beat(p, -1), quiet);
    }
    print("last", p->answered_usec - begun_usec, quiet);
    (void)beat(p, -1); /* releases */
    print("rest", beat(p, -1), quiet);
    return first_usec;
}

static void measure(struct probe *p, char **argv)
{
    const int32_t asks = (int32_t)strtol(argv[2], NULL, 10);
    const uint64_t interval_usec = strtoull(argv[3], NULL, 10) * NM_USEC_PER_MSEC;

    p->interval_usec = interval_usec / 4;
    for (long warm = strtol(argv[0], NULL, 10); warm > 0; warm--)
        (void)allocation_pass(p, asks, true);
    p->interval_usec = interval_usec;
    for (long rounds = strtol(argv[1], NULL, 10); rounds > 0; rounds--)
        (void)allocation_pass(p, asks, false);
}

static void hold(struct probe *p, const char *interval_msec, const char *path)
{
    p->interval_usec = strtoull(interval_msec, NULL, 10) * NM_USEC_PER_MSEC;
    print("fresh", allocation_pass(p, 1, true), false);
    printf("holds\n");
    fflush(stdout);
    while (access(path, F_OK) != 0)
        (void)beat(p, -1);
}

static void enter(struct probe *p)
{
    Bench__Register m = BENCH__REGISTER__INIT;

    m.host = m.tracking_url = (char *)"";
    m.has_port = 1;
    m.port = -1;
    (void)call(p, "registerApplicationMaster", &m.base, &bench__nothing__descriptor);
}

static void leave(struct probe *p)
{
    Bench__Finish m = BENCH__FINISH__INIT;

    m.diagnostics = m.tracking_url = (char *)"";
    m.has_status = 1;
    m.status = SUCCEEDED;
    (void)call(p, "finishApplicationMaster", &m.base, &bench__nothing__descriptor);
}

/* ---- the connection ----------------------------------------------------------------------------- */

static struct nm_token *read_token(void)
{
    const char *path = getenv("HADOOP_TOKEN_FILE_LOCATION");
    struct nm_credentials c;
    struct nm_token *token;
    struct nm_arena a;
    uint8_t *data;
    size_t size;
    int r = path ? nm_read_regular_at(AT_FDCWD, path, 1 << 20, &data, &size) : -ENOENT;

    if (r < 0)
        fail("the file of HADOOP_TOKEN_FILE_LOCATION can't be read", r, NULL);
    nm_arena_init(&a, nm_arena_limit(size), NULL);
    r = nm_credentials_parse(&a, (struct nm_bytes){data, size}, &c);
    if (r < 0)
        fail(path, r, NULL);
    for (size_t i = 0; i < c.n_tokens; i++)
        if (nm_bytes_equal(c.tokens[i].token.kind, nm_bytes_of(NM_TOKEN_KIND_AMRM)) &&
            nm_token_copy(&c.tokens[i].token, &token) == 0)
            return token;
    fail(path, -ENOKEY, NULL);
    return NULL;
}

static void connect_to(struct probe *p, const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct nm_hadoop_client_options o = {.protocol = PROTOCOL, .version = 1, .token = read_token()};
    struct addrinfo *list;
    int r = getaddrinfo(host, port, &hints, &list);

    if (r != 0) {
        fprintf(stderr, "master-probe: %s: %s\n", host, gai_strerror(r));
        exit(1);
    }
    o.address = list->ai_addr;
    o.address_size = list->ai_addrlen;
    r = sd_event_new(&p->event);
    if (r >= 0)
        r = nm_hadoop_client_new(p->event, &o, &p->client);
    if (r < 0)
        fail(host, r, NULL);
}

int main(int argc, char **argv)
{
    const bool measures = argc == 8 && nm_streq(argv[3], "measure");
    static struct probe p;

    if (!measures && (argc != 6 || !nm_streq(argv[3], "hold")))
        return 2;
    connect_to(&p, argv[1], argv[2]);
    enter(&p);
    if (measures)
        measure(&p, &argv[4]);
    else
        hold(&p, argv[4], argv[5]);
    leave(&p);
    printf("done\n");
    return 0;
}
