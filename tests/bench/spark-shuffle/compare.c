/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compares nm-spark-shuffle with another server of Spark's shuffle files. Both run all the time and take turns, each in
 * the other order in every second turn. Prints lines of samples for tests/bench/yarn/table.py: row, nmd or java, value.
 *
 *   spark-shuffle-compare DIR FIGURE COMMAND [TURNS]
 *
 * DIR: an empty directory for the files. COMMAND: a command of the shell that starts the other server, which serves the
 * directories DIR/1 to DIR/4 and stores its executors. Default: 3 turns after one that does not count.
 *
 * small   blocks of 10 KiB: a reducer fetches one block of each of 100 maps, whose indexes are for 1,000 reducers.
 *         Throughput and CPU time of the server, with one client and with four. All is one application's, as on a node
 *         that a large job uses.
 * large   blocks of 50 MB, one at a time, in the same way
 * memory  of servers that have just started, have 2,000 executors, and 1,000 connections that wait after a fetch
 * slow    latency of the fetch of one block of 10 KiB, alone, and while clients that read slowly hold 500 streams
 *
 * The client takes 0.3 s of CPU time for a GiB of small blocks, and less than 0.1 s for large ones, which it discards
 * in the kernel. Loopback is the network.
 */

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/shuffle/load.h"
#include "tests/bench/shuffle/servers.h"
#include "tests/bench/spark-shuffle/client.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/macros.h"
#include "util/parse.h"

#define TURNS_MAX 9u
#define CLIENTS_MAX 4u
#define SMALL_BYTES 10240u
#define SMALL_MAPS 100u
#define SMALL_REDUCERS 1000u
#define LARGE_BYTES UINT64_C(50000000)
#define LARGE_MAPS 5u
#define LARGE_REDUCERS 4u
#define APPLICATIONS 20u
#define EXECUTORS 100u /* of each application */
#define IDLE_CONNECTIONS 1000u
#define SETTLED_USEC (2 * NM_USEC_PER_SEC)
#define SLOW_READERS 500u
#define SLOW_READ_BYTES 16384u
#define SLOW_APPLICATION 2u
#define FETCHES 4000u

enum { NM, OTHER, SERVERS };
enum { SMALL_SHUFFLE, LARGE_SHUFFLE };
static const char *const server_names[] = {"nmd", "java"};

static struct {
    const char *dir, *command;
    struct bench_server servers[SERVERS];
} bench;

/* ---- servers --------------------------------------------------------------------------------- */

static void add_applications(const struct bench_server *s)
{
    for (unsigned app = 1; app <= APPLICATIONS; app++) {
        char text[300];
        int size = snprintf(text, sizeof text,
                            "{\"add\": {\"application\": \"application_1_%04u\", \"user\": \"bench\", \"uid\": %u, "
                            "\"secret\": \"\", \"stored\": true}}\n", app, (unsigned)geteuid());

        command_server(s, text, (size_t)size);
    }
}

static void start_nm(struct bench_server *s)
{
    char state[PATH_MAX], option[PATH_MAX + 16], dirs[LOCAL_DIRS][PATH_MAX];
    char *argv[4 + LOCAL_DIRS + 1] = {(char *)"./nm-spark-shuffle", (char *)"--listen=127.0.0.1:0",
                                      (char *)"--max-connections=8192", option};

    (void)snprintf(state, sizeof state, "%s/state", bench.dir);
    (void)snprintf(option, sizeof option, "--state=%s", state);
    if (nm_mkdir_p(state, 0700) < 0)
        die(state);
    for (unsigned i = 0; i < LOCAL_DIRS; i++) {
        local_dir(bench.dir, i, dirs[i], sizeof dirs[i]);
        argv[4 + i] = dirs[i];
    }
    start_server(s, argv);
    add_applications(s);
}

/* Starts both servers. Application 1 has an executor with files, and so has the application of the slow readers. */
static void start_both(void)
{
    start_nm(&bench.servers[NM]);
    start_server_command(&bench.servers[OTHER], bench.command);
}

static void register_with_files(const struct bench_server *s, unsigned app)
{
    int fd = dial(s->port);

    register_executor(fd, bench.dir, app, 1);
    (void)close(fd);
}

static void stop_both(void)
{
    for (unsigned i = 0; i < SERVERS; i++)
        stop_server(&bench.servers[i]);
}

static void print_sample(const char *row, unsigned server, unsigned turn, double value)
{
    fprintf(stderr, "turn %u: %-22s %-4s %10.4g%s\n", turn, row, server_names[server], value,
            turn == 0 ? " (does not count)" : "");
    if (turn > 0)
        printf("%s\t%s\t%.6g\n", row, server_names[server], value);
    (void)fflush(stdout);
}

/* ---- throughput ------------------------------------------------------------------------------ */

struct client {
    pthread_t thread;
    const struct bench_server *server;
    bool is_small;
    unsigned n_clients, number;
    uint64_t bytes;
};

static uint64_t fetch_small(int fd, unsigned reduce)
{
    return fetch_blocks(fd, &(struct bench_blocks){{1, 1, SMALL_SHUFFLE, 0}, SMALL_MAPS, reduce, SMALL_BYTES});
}

static uint64_t fetch_large(int fd, unsigned number)
{
    const struct bench_map m = {1, 1, LARGE_SHUFFLE, number / LARGE_REDUCERS};

    return fetch_blocks(fd, &(struct bench_blocks){m, 1, number % LARGE_REDUCERS, LARGE_BYTES});
}

/* All clients together fetch the same amount as one client alone. */
static void *fetch_all(void *arg)
{
    struct client *c = arg;
    int fd = dial(c->server->port);

    for (unsigned i = c->number; i < (c->is_small ? SMALL_REDUCERS : LARGE_MAPS * LARGE_REDUCERS); i += c->n_clients)
        c->bytes += c->is_small ? fetch_small(fd, i) : fetch_large(fd, i);
    (void)close(fd);
    return NULL;
}

static void measure_throughput(unsigned server, bool is_small, unsigned n_clients, unsigned turn)
{
    const struct bench_server *s = &bench.servers[server];
    struct client clients[CLIENTS_MAX];
    const uint64_t begun_usec = nm_clock_usec(CLOCK_MONOTONIC), cpu_usec = cpu_of(s->pid);
    const char *what = is_small ? "small" : "large";
    uint64_t wall_usec, bytes = 0;
    char row[32];
    double gib;

    for (unsigned i = 0; i < n_clients; i++) {
        clients[i] = (struct client){.server = s, .is_small = is_small, .n_clients = n_clients, .number = i};
        if (pthread_create(&clients[i].thread, NULL, fetch_all, &clients[i]) != 0)
            die("pthread_create");
    }
    for (unsigned i = 0; i < n_clients; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        bytes += clients[i].bytes;
    }
    wall_usec = nm_clock_usec(CLOCK_MONOTONIC) - begun_usec;
    gib = (double)bytes / (double)(1 << 30);
    (void)snprintf(row, sizeof row, "spark-%s-%u", what, n_clients);
    print_sample(row, server, turn, gib * 1024 * NM_USEC_PER_SEC / (double)wall_usec);
    (void)snprintf(row, sizeof row, "spark-%s-%u-cpu", what, n_clients);
    print_sample(row, server, turn, (double)(cpu_of(s->pid) - cpu_usec) / NM_USEC_PER_SEC / gib);
}

static void compare_throughput(bool is_small, unsigned turns)
{
    for (unsigned map = 0; map < (is_small ? SMALL_MAPS : LARGE_MAPS); map++)
        write_map(bench.dir, &(struct bench_map){1, 1, is_small ? SMALL_SHUFFLE : LARGE_SHUFFLE, map},
                  is_small ? SMALL_REDUCERS : LARGE_REDUCERS, is_small ? SMALL_BYTES : LARGE_BYTES);
    start_both();
    for (unsigned i = 0; i < SERVERS; i++)
        register_with_files(&bench.servers[i], 1);
    for (unsigned turn = 0; turn <= turns; turn++)
        for (unsigned n_clients = 1; n_clients <= CLIENTS_MAX; n_clients += CLIENTS_MAX - 1)
            for (unsigned i = 0; i < SERVERS; i++)
                measure_throughput(turn % 2 == 0 ? i : SERVERS - 1 - i, is_small, n_clients, turn);
    stop_both();
}

static void compare_small(unsigned turns)
{
    compare_throughput(true, turns);
}

static void compare_large(unsigned turns)
{
    compare_throughput(false, turns);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Waits until the process has ended its idle threads, and returns its resident memory in MiB. */
static double resident_mib(pid_t pid)
{
    char path[64], text[256];
    unsigned long pages = 0;
    size_t length;

    (void)usleep(SETTLED_USEC);
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, &length) < 0 || sscanf(text, "%*u %lu", &pages) != 1)
        die(path);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (double)NM_MIB;
}

static void measure_memory(unsigned server, unsigned turn)
{
    const struct bench_server *s = &bench.servers[server];
    const double first = resident_mib(s->pid);
    int connections[IDLE_CONNECTIONS];
    double last;

    for (unsigned app = 1; app <= APPLICATIONS; app++) {
        int fd = dial(s->port);

        for (unsigned exec = 1; exec <= EXECUTORS; exec++)
            register_executor(fd, bench.dir, app, exec);
        (void)close(fd);
    }
    for (unsigned i = 0; i < IDLE_CONNECTIONS; i++) {
        connections[i] = dial(s->port);
        (void)fetch_small(connections[i], i % SMALL_REDUCERS);
    }
    last = resident_mib(s->pid);
    print_sample("spark-memory-start", server, turn, first);
    print_sample("spark-memory", server, turn, last);
    print_sample("spark-memory-growth", server, turn, last - first);
    for (unsigned i = 0; i < IDLE_CONNECTIONS; i++)
        (void)close(connections[i]);
}

/* Each turn has new servers. */
static void compare_memory(unsigned turns)
{
    for (unsigned map = 0; map < SMALL_MAPS; map++)
        write_map(bench.dir, &(struct bench_map){1, 1, SMALL_SHUFFLE, map}, SMALL_REDUCERS, SMALL_BYTES);
    for (unsigned turn = 1; turn <= turns; turn++) {
        start_both();
        for (unsigned i = 0; i < SERVERS; i++)
            measure_memory(i, turn);
        stop_both();
    }
}

/* ---- slow readers ---------------------------------------------------------------------------- */

struct readers {
    pthread_t thread;
    int fds[SLOW_READERS];
    atomic_bool is_over;
};

/* Reads a little from each connection in turn: more than a server requires, which closes connections otherwise. */
static void *read_slowly(void *arg)
{
    struct readers *r = arg;

    for (unsigned i = 0; !atomic_load(&r->is_over); i = (i + 1) % SLOW_READERS) {
        if (recv(r->fds[i], NULL, SLOW_READ_BYTES, MSG_TRUNC | MSG_DONTWAIT) == 0)
            die("the server has closed the connection of a slow reader");
        (void)usleep(NM_USEC_PER_SEC / 2 / SLOW_READERS);
    }
    return NULL;
}

static void begin_readers(struct readers *r, const struct bench_server *s)
{
    const struct bench_map m = {SLOW_APPLICATION, 1, LARGE_SHUFFLE, 0};

    atomic_init(&r->is_over, false);
    for (unsigned i = 0; i < SLOW_READERS; i++) {
        r->fds[i] = dial(s->port);
        ask_for_blocks(r->fds[i], &(struct bench_blocks){m, 1, i % LARGE_REDUCERS, LARGE_BYTES});
    }
    if (pthread_create(&r->thread, NULL, read_slowly, r) != 0)
        die("pthread_create");
}

static void end_readers(struct readers *r)
{
    atomic_store(&r->is_over, true);
    (void)pthread_join(r->thread, NULL);
    for (unsigned i = 0; i < SLOW_READERS; i++)
        (void)close(r->fds[i]);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Prints the latency of fetches one after the other, in ms. */
static void measure_latency(unsigned server, unsigned turn, const char *name)
{
    static uint64_t nsec[FETCHES];
    int fd = dial(bench.servers[server].port);
    char row[64];

    for (unsigned i = 0; i < FETCHES; i++) {
        struct timespec begun, ended;

        clock_gettime(CLOCK_MONOTONIC, &begun);
        (void)fetch_blocks(fd, &(struct bench_blocks){{1, 1, SMALL_SHUFFLE, i % SMALL_MAPS}, 1, i % SMALL_REDUCERS,
                                                      SMALL_BYTES});
        clock_gettime(CLOCK_MONOTONIC, &ended);
        nsec[i] = (uint64_t)((ended.tv_sec - begun.tv_sec) * 1000000000 + ended.tv_nsec - begun.tv_nsec);
    }
    (void)close(fd);
    qsort(nsec, FETCHES, sizeof nsec[0], by_value);
    (void)snprintf(row, sizeof row, "spark-%s-p50", name);
    print_sample(row, server, turn, (double)nsec[FETCHES / 2] / 1e6);
    (void)snprintf(row, sizeof row, "spark-%s-p99", name);
    print_sample(row, server, turn, (double)nsec[FETCHES * 99 / 100] / 1e6);
}

static void measure_slow(unsigned server, unsigned turn)
{
    static struct readers readers;

    measure_latency(server, turn, "alone");
    begin_readers(&readers, &bench.servers[server]);
    (void)usleep(SETTLED_USEC);
    measure_latency(server, turn, "slow");
    end_readers(&readers);
}

static void compare_slow(unsigned turns)
{
    for (unsigned map = 0; map < SMALL_MAPS; map++)
        write_map(bench.dir, &(struct bench_map){1, 1, SMALL_SHUFFLE, map}, SMALL_REDUCERS, SMALL_BYTES);
    write_map(bench.dir, &(struct bench_map){SLOW_APPLICATION, 1, LARGE_SHUFFLE, 0}, LARGE_REDUCERS, LARGE_BYTES);
    start_both();
    for (unsigned i = 0; i < SERVERS; i++) {
        register_with_files(&bench.servers[i], 1);
        register_with_files(&bench.servers[i], SLOW_APPLICATION);
    }
    for (unsigned turn = 0; turn <= turns; turn++)
        for (unsigned i = 0; i < SERVERS; i++)
            measure_slow(turn % 2 == 0 ? i : SERVERS - 1 - i, turn);
    stop_both();
}

static const struct {
    const char *name;
    void (*compare)(unsigned turns);
} figures[] = {{"small", compare_small}, {"large", compare_large}, {"memory", compare_memory}, {"slow", compare_slow}};

int main(int argc, char **argv)
{
    uint64_t turns = 3;

    if (argc >= 4 && argc <= 5 &&
        (argc == 4 || (nm_parse_u64(argv[4], &turns) == 0 && turns >= 1 && turns <= TURNS_MAX))) {
        bench.dir = argv[1];
        bench.command = argv[3];
        (void)signal(SIGPIPE, SIG_IGN);
        for (unsigned i = 0; i < NM_ARRAY_SIZE(figures); i++)
            if (nm_streq(argv[2], figures[i].name)) {
                figures[i].compare((unsigned)turns);
                return 0;
            }
    }
    fprintf(stderr, "spark-shuffle-compare DIR small|large|memory|slow COMMAND [TURNS (1 to %u)]\n", TURNS_MAX);
    return 2;
}
