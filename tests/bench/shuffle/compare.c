/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Compares nm-shuffle with another server of map outputs: throughput over loopback, and CPU time of the server for a
 * GiB. Both servers run all the time and take turns, each in the other order in every second turn. Clients discard the
 * data.
 *
 *   shuffle-compare DIR COMMAND [TURNS [MIB]]
 *
 * DIR: an empty directory for the outputs. COMMAND: starts the other server; it must print {"listening": PORT} when it
 * serves DIR and knows the jobs 1 to 64, and exit at the end of its standard input. Default: 5 turns after one that
 * does not count, and 500 MiB.
 *
 * "small": parts of 10 KiB of 20 maps in each request, whose indexes are for 5,000 reducers. Each client has its own
 * job. "fresh": four large parts, of files that have just been written. "retry": the same parts again. "cold": the same
 * after the files were written back and dropped from the page cache.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/shuffle/load.h"
#include "tests/bench/shuffle/servers.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/macros.h"
#include "util/parse.h"

#define SMALL_BYTES 10240u
#define SMALL_MAPS 20u
#define SMALL_REDUCERS REDUCERS
#define LARGE_MAPS 4u
#define CLIENTS_MAX 4u
#define TURNS_MAX 7u
#define LARGE_JOB 64u
#define FIRST_LARGE_MAP SMALL_MAPS

enum { NM, OTHER, SERVERS };
enum { SMALL, FRESH, RETRY, COLD, CASES };
static const char *const case_names[] = {"small", "fresh", "retry", "cold"};

struct result {
    double mib_per_sec, cpu_sec_per_gib;
};

static struct {
    const char *dir;
    uint64_t part_bytes; /* of each large map */
    unsigned turns;
    struct bench_server servers[SERVERS];
    struct result results[CASES][2][SERVERS][TURNS_MAX]; /* with one client, and with CLIENTS_MAX */
} bench;

/* ---- servers --------------------------------------------------------------------------------- */

static void add_jobs(const struct bench_server *s)
{
    for (unsigned job = 1; job <= LARGE_JOB; job++) {
        char text[300];
        int size = snprintf(text, sizeof text,
                            "{\"add\": {\"job\": \"job_1_%04u\", \"user\": \"bench\", \"uid\": %u, \"key\": "
                            "\"386c657474657273\"}}\n", job, (unsigned)geteuid());

        command_server(s, text, (size_t)size);
    }
}

static void stop_all(void)
{
    for (unsigned i = 0; i < SERVERS; i++)
        stop_server(&bench.servers[i]);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static unsigned small_job(unsigned turn, unsigned n_clients, unsigned client)
{
    return 1 + (turn * 2 + (n_clients > 1)) * CLIENTS_MAX + client;
}

/* All small jobs have links to the same files. Each turn uses jobs of its own, because a job's share is limited. */
static void write_small(void)
{
    static const char *const names[] = {"file.out", "file.out.index"};
    char from[PATH_MAX], to[PATH_MAX];

    for (unsigned map = 0; map < SMALL_MAPS; map++) {
        write_output(bench.dir, 1, map, SMALL_REDUCERS, SMALL_BYTES);
        for (unsigned job = 2; job < LARGE_JOB; job++) {
            path_of(bench.dir, job, map, "", to);
            if (nm_mkdir_p(to, 0755) < 0)
                die(to);
            for (unsigned i = 0; i < NM_ARRAY_SIZE(names); i++) {
                path_of(bench.dir, 1, map, names[i], from);
                path_of(bench.dir, job, map, names[i], to);
                if (link(from, to) < 0)
                    die(to);
            }
        }
    }
}

static void prepare_large(unsigned what)
{
    for (unsigned map = FIRST_LARGE_MAP; map < FIRST_LARGE_MAP + LARGE_MAPS; map++) {
        char path[PATH_MAX];
        int fd;

        path_of(bench.dir, LARGE_JOB, map, "file.out", path);
        if (what == FRESH) {
            (void)unlink(path);
            write_output(bench.dir, LARGE_JOB, map, 1, bench.part_bytes);
        } else if (what == COLD) {
            fd = open(path, O_RDONLY | O_CLOEXEC);
            if (fd < 0 || fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
                die(path);
            (void)close(fd);
        }
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

struct client {
    pthread_t thread;
    const struct bench_server *server;
    unsigned what, turn, n_clients, number;
    uint64_t bytes;
};

/* All clients together fetch the same amount as one client alone. */
static void *fetch_all(void *arg)
{
    struct client *c = arg;
    int fd = dial(c->server->port);

    for (unsigned i = c->number; c->what == SMALL && i < SMALL_REDUCERS; i += c->n_clients)
        c->bytes += fetch(c->server->port, fd, small_job(c->turn, c->n_clients, c->number), i, 0, SMALL_MAPS);
    for (unsigned i = c->number; c->what != SMALL && i < LARGE_MAPS; i += c->n_clients)
        c->bytes += fetch(c->server->port, fd, LARGE_JOB, 0, FIRST_LARGE_MAP + i, 1);
    (void)close(fd);
    return NULL;
}

static struct result measure(const struct bench_server *s, unsigned what, unsigned turn, unsigned n_clients)
{
    struct client clients[CLIENTS_MAX];
    const uint64_t begun_usec = nm_clock_usec(CLOCK_MONOTONIC), cpu_usec = cpu_of(s->pid);
    uint64_t wall_usec, bytes = 0;
    double gib;

    for (unsigned i = 0; i < n_clients; i++) {
        clients[i] = (struct client){.server = s, .what = what, .turn = turn, .n_clients = n_clients, .number = i};
        if (pthread_create(&clients[i].thread, NULL, fetch_all, &clients[i]) != 0)
            die("pthread_create");
    }
    for (unsigned i = 0; i < n_clients; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        bytes += clients[i].bytes;
    }
    wall_usec = nm_clock_usec(CLOCK_MONOTONIC) - begun_usec;
    gib = (double)bytes / (double)(1 << 30);
    return (struct result){gib * 1024 * NM_USEC_PER_SEC / (double)wall_usec,
                           (double)(cpu_of(s->pid) - cpu_usec) / NM_USEC_PER_SEC / gib};
}

static void measure_all(unsigned turn, unsigned what, unsigned many)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        const unsigned server = turn % 2 == 0 ? i : SERVERS - 1 - i;

        /* a retry follows the fetch of fresh files, which is not measured here */
        prepare_large(what == SMALL || what == RETRY ? CASES : what);
        bench.results[what][many][server][turn] =
            measure(&bench.servers[server], what, turn, many ? CLIENTS_MAX : 1);
    }
}

/* tests/bench/yarn/run reads these lines. */
static void print_turn(unsigned turn, unsigned what, unsigned many)
{
    const struct result *ours = &bench.results[what][many][NM][turn], *theirs = &bench.results[what][many][OTHER][turn];

    printf("turn %u of %u: %s, %s: nm-shuffle %.1f MiB/s %.4f s/GiB, other %.1f MiB/s %.4f s/GiB\n", turn, bench.turns,
           case_names[what], many ? "4 clients" : "1 client", ours->mib_per_sec, ours->cpu_sec_per_gib,
           theirs->mib_per_sec, theirs->cpu_sec_per_gib);
    (void)fflush(stdout);
}

/* ---- the table ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(unsigned what, unsigned many, unsigned server, bool cpu)
{
    double values[TURNS_MAX];

    for (unsigned turn = 1; turn <= bench.turns; turn++) {
        const struct result *r = &bench.results[what][many][server][turn];

        values[turn - 1] = cpu ? r->cpu_sec_per_gib : r->mib_per_sec;
    }
    qsort(values, bench.turns, sizeof values[0], compare);
    return values[bench.turns / 2];
}

static void print_table(void)
{
    printf("%-6s %7s %12s %12s %7s %16s %16s %7s\n", "parts", "clients", "nm-shuffle", "other", "ratio", "nm-shuffle",
           "other", "ratio");
    for (unsigned what = 0; what < CASES; what++)
        for (unsigned many = 0; many < 2; many++) {
            const double ours = median(what, many, NM, false), theirs = median(what, many, OTHER, false);
            const double our_cpu = median(what, many, NM, true), their_cpu = median(what, many, OTHER, true);

            printf("%-6s %7u %6.0f MiB/s %6.0f MiB/s %7.2f %9.3f s/GiB %9.3f s/GiB %7.2f\n", case_names[what],
                   many ? CLIENTS_MAX : 1, ours, theirs, ours / theirs, our_cpu, their_cpu, our_cpu / their_cpu);
        }
}

int main(int argc, char **argv)
{
    uint64_t turns = 5, large_mib = 500;

    if (argc < 3 || (argc > 3 && (nm_parse_u64(argv[3], &turns) < 0 || turns == 0 || turns >= TURNS_MAX)) ||
        (argc > 4 && (nm_parse_u64(argv[4], &large_mib) < 0 || large_mib < 4 || large_mib > 4096))) {
        fprintf(stderr, "shuffle-compare DIR COMMAND [TURNS (1 to 6) [MIB (4 to 4096)]]\n");
        return 2;
    }
    bench.dir = argv[1];
    bench.turns = (unsigned)turns;
    bench.part_bytes = large_mib * NM_MIB / LARGE_MAPS;
    (void)signal(SIGPIPE, SIG_IGN);
    write_small();
    start_server(&bench.servers[NM], (char *[]){(char *)"./nm-shuffle", (char *)"--listen=127.0.0.1:0",
                                                (char *)"--max-connections=64", argv[1], NULL});
    add_jobs(&bench.servers[NM]);
    start_server_command(&bench.servers[OTHER], argv[2]);
    for (unsigned turn = 0; turn <= bench.turns; turn++)
        for (unsigned what = 0; what < CASES; what++)
            for (unsigned many = 0; many < 2; many++) {
                measure_all(turn, what, many);
                print_turn(turn, what, many);
            }
    print_table();
    stop_all();
    return 0;
}
