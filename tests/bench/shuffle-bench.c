/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures nm-shuffle: CPU time of the server for a GiB and for a part, and throughput over loopback to one client that
 * discards the data. The reference is a process that opens each file, sends the same bytes with one sendfile(), and
 * closes the file, without a path to check, an index or HTTP.
 *
 *   shuffle-bench [--dir DIR] [--large MIB] [NM-SHUFFLE-OPTION...]
 *                  default: /var/tmp and 500 MiB; run it with other options of nm-shuffle to compare them
 *
 * "small": parts of 10 KiB of 20 maps in each request, whose indexes are for 5,000 reducers. 900 of them fetch.
 * "idle": threads and memory of the server with 1,000 connections that wait for their next request.
 * "fresh": one part of 125 MiB of each of four maps that have just been written, twice: the second is a retry.
 * "cold": the same after the files were written back and dropped from the page cache. Afterwards it prints how much of
 * them is in the page cache.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/shuffle/load.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"
#include "util/parse.h"

#define SMALL_BYTES 10240u
#define SMALL_MAPS 20u
#define SMALL_REDUCERS 900u /* so many that the work stays below NM_SHUFFLE_BURST_USEC of their job */
#define LARGE_MAPS 4u
#define SMALL_JOB 1u
#define LARGE_JOB 2u
#define IDLE_CONNECTIONS 1000u

struct bench {
    char dir[256];
    uint64_t large_bytes; /* of each map */
    int control[2];       /* nm-shuffle's standard input and output */
    uint16_t port;
    pid_t pid;
};

/* ---- outputs of maps ------------------------------------------------------------------------- */

/* Writes the files of the large job back, and drops them from the page cache. */
static void make_cold(const struct bench *b)
{
    for (unsigned map = 0; map < LARGE_MAPS; map++) {
        char path[PATH_MAX];
        int fd;

        path_of(b->dir, LARGE_JOB, map, "file.out", path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
            die(path);
        (void)close(fd);
    }
}

/* Returns how many percent of the large files are in the page cache. */
static double resident_percent(const struct bench *b)
{
    const size_t n = (b->large_bytes + 4095) / 4096;
    unsigned char *pages = malloc(n);
    size_t n_resident = 0;

    for (unsigned map = 0; pages && map < LARGE_MAPS; map++) {
        char path[PATH_MAX];
        int fd;
        void *at;

        path_of(b->dir, LARGE_JOB, map, "file.out", path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        at = mmap(NULL, b->large_bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (at == MAP_FAILED || mincore(at, b->large_bytes, pages) < 0)
            die(path);
        for (size_t i = 0; i < n; i++)
            n_resident += pages[i] & 1;
        (void)munmap(at, b->large_bytes);
        (void)close(fd);
    }
    free(pages);
    return 100.0 * (double)n_resident / ((double)n * LARGE_MAPS);
}

/* ---- nm-shuffle ------------------------------------------------------------------------------ */

static void start(struct bench *b, char **options)
{
    int in[2], out[2];
    char text[200];
    unsigned port;
    ssize_t n;

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || (b->pid = fork()) < 0)
        die("nm-shuffle");
    if (b->pid == 0) {
        char *argv[20] = {(char *)"nm-shuffle", (char *)"--listen=127.0.0.1:0",
                          (char *)"--max-connections=2700"};
        size_t k = 3;

        while (*options && k < NM_ARRAY_SIZE(argv) - 2)
            argv[k++] = *options++;
        argv[k] = b->dir;
        if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
            (void)execv("./nm-shuffle", argv);
        perror("./nm-shuffle");
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    b->control[0] = in[1];
    b->control[1] = out[0];
    n = read(out[0], text, sizeof text - 1);
    text[NM_MAX(n, 0)] = '\0';
    if (sscanf(text, "{\"listening\": %u}", &port) != 1)
        die("nm-shuffle does not listen");
    b->port = (uint16_t)port;
    for (unsigned job = 1; job <= LARGE_JOB; job++) {
        int size = snprintf(text, sizeof text,
                            "{\"add\": {\"job\": \"job_1_%04u\", \"user\": \"bench\", \"uid\": %u, \"key\": "
                            "\"386c657474657273\"}}\n", job, (unsigned)geteuid());

        if (nm_write_all(b->control[0], text, (size_t)size) < 0 || read(b->control[1], text, sizeof text) < 8)
            die("nm-shuffle refused a job");
    }
}

static void stop(struct bench *b)
{
    (void)close(b->control[0]);
    (void)close(b->control[1]);
    (void)waitpid(b->pid, NULL, 0);
}

/* ---- the reference --------------------------------------------------------------------------- */

/* Sends the parts as the client of nm-shuffle receives them, without anything else. */
static _Noreturn void send_plainly(const struct bench *b, int fd, unsigned job, unsigned n_reducers, unsigned n_maps,
                                   uint64_t part_bytes)
{
    for (unsigned reduce = 0; reduce < n_reducers; reduce++)
        for (unsigned map = 0; map < n_maps; map++) {
            char path[PATH_MAX];
            off_t at = (off_t)(reduce * part_bytes), end = at + (off_t)part_bytes;
            int file;

            path_of(b->dir, job, map, "file.out", path);
            file = open(path, O_RDONLY | O_CLOEXEC);
            while (at < end)
                if (sendfile(fd, file, &at, (size_t)(end - at)) <= 0)
                    _exit(1);
            (void)close(file);
        }
    _exit(0);
}

/* ---- measuring ------------------------------------------------------------------------------- */

struct cost {
    uint64_t cpu_usec, wall_usec, bytes, n_parts;
};

static void print(const char *what, const char *who, const struct cost *c)
{
    const double gib = (double)c->bytes / (double)(1 << 30);

    printf("%-8s %-10s %8.0f MiB/s %8.3f s of CPU/GiB %8.1f us of CPU/part\n", what, who,
           gib * 1024 * NM_USEC_PER_SEC / (double)c->wall_usec, (double)c->cpu_usec / NM_USEC_PER_SEC / gib,
           (double)c->cpu_usec / (double)c->n_parts);
    (void)fflush(stdout);
}

static void measure(const struct bench *b, const char *what, unsigned job, unsigned n_reducers, unsigned n_maps,
                    unsigned maps_at_once)
{
    struct cost c = {.cpu_usec = cpu_of(b->pid), .wall_usec = nm_clock_usec(CLOCK_MONOTONIC)};
    int fd = dial(b->port);

    for (unsigned reduce = 0; reduce < n_reducers; reduce++)
        for (unsigned map = 0; map < n_maps; map += maps_at_once)
            c.bytes += fetch(b->port, fd, job, reduce, map, maps_at_once);
    (void)close(fd);
    c.wall_usec = nm_clock_usec(CLOCK_MONOTONIC) - c.wall_usec;
    c.cpu_usec = cpu_of(b->pid) - c.cpu_usec;
    c.n_parts = (uint64_t)n_reducers * n_maps;
    print(what, "nm-shuffle", &c);
}

static void measure_plain(const struct bench *b, const char *what, unsigned job, unsigned n_reducers, unsigned n_maps,
                          uint64_t part_bytes)
{
    struct cost c = {.n_parts = (uint64_t)n_reducers * n_maps, .bytes = n_reducers * n_maps * part_bytes};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, accepted;
    struct rusage used;
    pid_t pid;

    if (bind(listener, (const struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) < 0)
        die("listen");
    fd = dial(ntohs(at.sin_port));
    accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    c.wall_usec = nm_clock_usec(CLOCK_MONOTONIC);
    pid = fork();
    if (pid == 0)
        send_plainly(b, accepted, job, n_reducers, n_maps, part_bytes);
    (void)close(accepted);
    discard(fd, c.bytes);
    c.wall_usec = nm_clock_usec(CLOCK_MONOTONIC) - c.wall_usec;
    (void)wait4(pid, NULL, 0, &used);
    c.cpu_usec = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * NM_USEC_PER_SEC +
                 (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    (void)close(fd);
    (void)close(listener);
    print(what, "reference", &c);
}

/* Prints the threads and the memory of the server while connections wait for their next request. */
static void measure_idle(const struct bench *b)
{
    static int fds[IDLE_CONNECTIONS];
    char path[64], text[4096];
    unsigned n_threads = 0, kib = 0;
    const char *at;

    for (unsigned i = 0; i < IDLE_CONNECTIONS; i++) {
        fds[i] = dial(b->port);
        (void)fetch(b->port, fds[i], SMALL_JOB, i % SMALL_REDUCERS, 0, 1);
    }
    (void)usleep(1000000); /* the last connections become idle, and the threads of the pool end */
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)b->pid);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0)
        die(path);
    if ((at = strstr(text, "VmRSS:")))
        (void)sscanf(at, "VmRSS: %u", &kib);
    if ((at = strstr(text, "Threads:")))
        (void)sscanf(at, "Threads: %u", &n_threads);
    printf("%-8s %-10s %u threads and %.1f MiB for %u idle connections\n", "idle", "nm-shuffle", n_threads,
           kib / 1024.0, IDLE_CONNECTIONS);
    for (unsigned i = 0; i < IDLE_CONNECTIONS; i++)
        (void)close(fds[i]);
}

static void run(struct bench *b, char **options)
{
    start(b, options);
    for (unsigned map = 0; map < SMALL_MAPS; map++)
        write_output(b->dir, SMALL_JOB, map, SMALL_REDUCERS, SMALL_BYTES);
    measure(b, "small", SMALL_JOB, SMALL_REDUCERS, SMALL_MAPS, SMALL_MAPS);
    measure_plain(b, "small", SMALL_JOB, SMALL_REDUCERS, SMALL_MAPS, SMALL_BYTES);
    measure_idle(b);
    for (unsigned map = 0; map < LARGE_MAPS; map++)
        write_output(b->dir, LARGE_JOB, map, 1, b->large_bytes);
    measure(b, "fresh", LARGE_JOB, 1, LARGE_MAPS, 1);
    measure(b, "retry", LARGE_JOB, 1, LARGE_MAPS, 1);
    measure_plain(b, "retry", LARGE_JOB, 1, LARGE_MAPS, b->large_bytes);
    make_cold(b);
    measure(b, "cold", LARGE_JOB, 1, LARGE_MAPS, 1);
    printf("%.0f %% of the files are in the page cache now\n", resident_percent(b));
    make_cold(b);
    measure_plain(b, "cold", LARGE_JOB, 1, LARGE_MAPS, b->large_bytes);
    stop(b);
}

static struct bench bench;

/* Is called when the benchmark exits, also after a failure. The command rm removes the benchmark's directory with all
 * files in it: the benchmark has made all of them. */
static void clean_up(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)execlp("rm", "rm", "-rf", "--", bench.dir, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *dir = "/var/tmp";
    uint64_t large_mib = 500;
    char **options = argv + 1;
    struct rlimit files;

    for (; *options; options += 2) {
        if (nm_streq(*options, "--dir") && options[1])
            dir = options[1];
        else if (!nm_streq(*options, "--large") || !options[1] || nm_parse_u64(options[1], &large_mib) < 0)
            break;
    }
    if (large_mib < 4 || large_mib > 4096 || argc > 10) {
        fprintf(stderr, "shuffle-bench [--dir DIR] [--large MIB (4 to 4096)] [NM-SHUFFLE-OPTION...]\n");
        return 2;
    }
    bench.large_bytes = large_mib * NM_MIB / LARGE_MAPS;
    (void)snprintf(bench.dir, sizeof bench.dir, "%s/nmd-shuffle-bench.XXXXXX", dir);
    if (!mkdtemp(bench.dir))
        die(dir);
    (void)atexit(clean_up);
    (void)signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    run(&bench, options);
    return 0;
}
