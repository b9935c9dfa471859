/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures how much slower work on one CPU is while all other CPUs are busy. The result is the value for nmsim's
 * --interference. It includes caches, memory bandwidth, clock rates and CPUs that share a core. It includes neither the
 * scheduler (the work has its own CPU, the neighbours are SCHED_IDLE on others, and CPU time is measured) nor memory
 * pressure. The program measures the work alone and beside the neighbours in turns, and compares each stretch with the
 * previous one. It prints the median of the pairs, and the range of the middle half. It needs two CPUs or more and no
 * other load on the host. It does not need root.
 *
 *   interference-bench [PAIRS]      default: 21
 */

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "util/clock.h"
#include "util/macros.h"
#include "util/parse.h"

#define NEIGHBOURS_MAX 256
#define PAIRS_MAX 999
#define STRETCH_USEC (60 * NM_USEC_PER_MSEC)

/* ---- kinds of work: each function does the same piece at every call ----------------------------- */

static volatile uint64_t sink; /* keeps the compiler from removing the work */

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void *area(size_t bytes)
{
    void *p = malloc(bytes);

    if (!p)
        _exit(1);
    memset(p, 1, bytes);
    return p;
}

static void do_arithmetic(void)
{
    uint64_t x = sink;

    for (unsigned i = 0; i < 2000000; i++)
        (void)random_next(&x);
    sink = x;
}

/* Each step depends on the one before, so it measures the latency of the memory level that holds `bytes`. */
static void walk(uint32_t **cells, size_t bytes, unsigned steps)
{
    size_t n = bytes / sizeof **cells;
    uint32_t at = 0;

    if (!*cells) {
        uint64_t state = 1;

        *cells = area(bytes);
        for (uint32_t i = 0; i < n; i++)
            (*cells)[i] = i;
        for (size_t i = n - 1; i > 0; i--) { /* a single cycle through all cells (Sattolo) */
            size_t k = random_next(&state) % i;
            uint32_t cell = (*cells)[i];

            (*cells)[i] = (*cells)[k];
            (*cells)[k] = cell;
        }
    }
    for (unsigned i = 0; i < steps; i++)
        at = (*cells)[at];
    sink = at;
}

static void do_cache(void)
{
    static uint32_t *cells;

    walk(&cells, NM_MIB, 500000);
}

static void do_memory(void)
{
    static uint32_t *cells;

    walk(&cells, 128 * NM_MIB, 50000);
}

static int compare_words(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Mixes the most common operations of programs: compare, branch and copy. */
static void do_sort(void)
{
    static uint32_t *words;
    const size_t n = 100000;
    uint64_t state = 1;

    if (!words)
        words = area(n * sizeof *words);
    for (size_t i = 0; i < n; i++)
        words[i] = (uint32_t)random_next(&state);
    qsort(words, n, sizeof *words, compare_words);
}

static void do_stream(void)
{
    static char *from, *to;
    const size_t bytes = 64 * NM_MIB;

    if (!from) {
        from = area(bytes);
        to = area(bytes);
    }
    memcpy(to, from, bytes);
}

struct work {
    const char *name;
    void (*piece)(void);
};

static const struct work works[] = {
    {"arithmetic", do_arithmetic},
    {"sorting", do_sort},
    {"1 MiB at random", do_cache},
    {"128 MiB at random", do_memory},
};
static const struct work neighbours[] = {
    {"arithmetic", do_arithmetic}, {"sorting", do_sort}, {"copying memory", do_stream}};

/* ---- neighbours --------------------------------------------------------------------------------- */

static pid_t pids[NEIGHBOURS_MAX];
static unsigned n_pids;

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static _Noreturn void live(int cpu, void (*piece)(void))
{
    const struct sched_param none = {0};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin(cpu);
    (void)sched_setscheduler(0, SCHED_IDLE, &none);
    for (;;)
        piece();
}

static void stop_neighbours(void)
{
    for (unsigned i = 0; i < n_pids; i++)
        (void)kill(pids[i], SIGSTOP);
    for (unsigned i = 0; i < n_pids; i++)
        (void)waitpid(pids[i], NULL, WUNTRACED);
}

static void resume_neighbours(void)
{
    for (unsigned i = 0; i < n_pids; i++)
        (void)kill(pids[i], SIGCONT);
}

static int start_neighbours(const cpu_set_t *allowed, int own, void (*piece)(void))
{
    n_pids = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && n_pids < NEIGHBOURS_MAX; cpu++) {
        pid_t pid;

        if (cpu == own || !CPU_ISSET(cpu, allowed))
            continue;
        pid = fork();
        if (pid < 0)
            return -errno;
        if (pid == 0)
            live(cpu, piece);
        pids[n_pids++] = pid;
    }
    stop_neighbours();
    return 0;
}

static void end_neighbours(void)
{
    for (unsigned i = 0; i < n_pids; i++)
        (void)kill(pids[i], SIGKILL);
    for (unsigned i = 0; i < n_pids; i++)
        (void)waitpid(pids[i], NULL, 0);
    n_pids = 0;
}

/* ---- measuring ---------------------------------------------------------------------------------- */

/* Returns the mean CPU time of one piece. The first piece is not counted, because it fills the caches. */
static double piece_usec(void (*piece)(void))
{
    uint64_t end = nm_clock_usec(CLOCK_MONOTONIC) + STRETCH_USEC, cpu;
    unsigned n = 0;

    piece();
    cpu = nm_clock_usec(CLOCK_THREAD_CPUTIME_ID);
    do {
        piece();
        n++;
    } while (nm_clock_usec(CLOCK_MONOTONIC) < end);
    return (double)(nm_clock_usec(CLOCK_THREAD_CPUTIME_ID) - cpu) / n;
}

static int compare_shares(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int compare(const struct work *w, const struct work *beside, const cpu_set_t *allowed, int own, unsigned pairs)
{
    double slower[PAIRS_MAX];
    int r = start_neighbours(allowed, own, beside->piece);

    for (unsigned i = 0; r >= 0 && i < pairs; i++) {
        double alone = piece_usec(w->piece), together;

        resume_neighbours();
        together = piece_usec(w->piece);
        stop_neighbours();
        slower[i] = 100 * (together / alone - 1);
    }
    end_neighbours();
    if (r < 0)
        return r;
    qsort(slower, pairs, sizeof *slower, compare_shares);
    printf("%-20s %-18s %9.1f %% %9.1f to %.1f %%\n", w->name, beside->name, slower[pairs / 2], slower[pairs / 4],
           slower[pairs * 3 / 4]);
    (void)fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    cpu_set_t allowed;
    uint64_t pairs = 21;
    int own = 0;

    if (argc > 1 && (nm_parse_u64(argv[1], &pairs) < 0 || pairs < 1 || pairs > PAIRS_MAX)) {
        fprintf(stderr, "interference-bench: \"%s\" is not a number from 1 to %d\n", argv[1], PAIRS_MAX);
        return 2;
    }
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0 || CPU_COUNT(&allowed) < 2) {
        fprintf(stderr, "interference-bench: two CPUs are required\n");
        return 77;
    }
    while (!CPU_ISSET(own, &allowed))
        own++;
    pin(own);
    printf("CPU time of work on one CPU, with %d others busy\n%-20s %-18s %11s %11s\n", CPU_COUNT(&allowed) - 1, "work",
           "beside", "slower by", "middle half");
    for (size_t i = 0; i < NM_ARRAY_SIZE(works); i++)
        for (size_t k = 0; k < NM_ARRAY_SIZE(neighbours); k++)
            if (compare(&works[i], &neighbours[k], &allowed, own, (unsigned)pairs) < 0) {
                perror("interference-bench");
                return 1;
            }
    return 0;
}
