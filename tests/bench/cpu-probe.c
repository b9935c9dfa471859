/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Measures CPU latency as a guaranteed container experiences it. The program wakes up every PERIOD ms, does the same
 * piece of work each time, and records how late it woke up and when the work was done. At its start, the program
 * calibrates the number of iterations that take WORK ms of CPU time. This number then stays the same, so that the work
 * takes longer on a slower CPU (caches, SMT, a busy host).
 *
 * cpu-probe PERIOD-MS WORK-MS SECONDS FILE: writes one line for each period, "due-ns late-us done-us". Both durations
 * begin when the wake-up was due, so the second one includes the first.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NSEC_PER_SEC UINT64_C(1000000000)

static uint64_t now_nsec(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t nsec)
{
    const struct timespec t = {.tv_sec = (time_t)(nsec / NSEC_PER_SEC), .tv_nsec = (long)(nsec % NSEC_PER_SEC)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static void work(uint64_t turns)
{
    static volatile uint64_t sink;
    uint64_t x = sink | 1;

    for (uint64_t i = 0; i < turns; i++)
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    sink = x;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

#define TRIES 7

/* Calibrates by CPU time, which other processes cannot lengthen (but an emulator's host can). Uses the second-fastest
 * try. Each try is long compared to a tick, which is the resolution of the clock on some hosts. */
static uint64_t turns_for(uint64_t work_nsec)
{
    const uint64_t turns = 10000000;
    uint64_t took[TRIES];

    for (int i = 0; i < TRIES; i++) {
        uint64_t begun = now_nsec(CLOCK_THREAD_CPUTIME_ID);

        work(turns);
        took[i] = now_nsec(CLOCK_THREAD_CPUTIME_ID) - begun;
    }
    qsort(took, TRIES, sizeof took[0], compare);
    return turns * work_nsec / (took[1] > 0 ? took[1] : 1);
}

struct note {
    uint64_t due_nsec;
    uint32_t late_usec, done_usec;
};

/* Runs the periods. Skips each period that begins before the work of an earlier one is done. */
static size_t probe(uint64_t period_nsec, uint64_t turns, struct note *notes, size_t max)
{
    uint64_t due = now_nsec(CLOCK_MONOTONIC) + period_nsec, end = due + max * period_nsec;
    size_t n = 0;

    while (due < end && n < max) {
        uint64_t woke, done;

        sleep_until(due);
        woke = now_nsec(CLOCK_MONOTONIC);
        work(turns);
        done = now_nsec(CLOCK_MONOTONIC);
        notes[n++] = (struct note){due, (uint32_t)((woke - due) / 1000), (uint32_t)((done - due) / 1000)};
        for (due += period_nsec; due < done; due += period_nsec)
            ;
    }
    return n;
}

int main(int argc, char **argv)
{
    uint64_t period_nsec, work_nsec;
    struct note *notes;
    size_t max, n;
    FILE *f;

    if (argc != 5)
        return 2;
    period_nsec = strtoull(argv[1], NULL, 10) * 1000000;
    work_nsec = strtoull(argv[2], NULL, 10) * 1000000;
    max = period_nsec ? strtoull(argv[3], NULL, 10) * NSEC_PER_SEC / period_nsec : 0;
    notes = calloc(max + 1, sizeof *notes); /* allocated now: a later fault would look like a late wake-up */
    f = fopen(argv[4], "w");
    if (!notes || !f || max == 0)
        return 1;
    for (size_t i = 0; i < max; i++)
        notes[i].late_usec = 1;
    n = probe(period_nsec, turns_for(work_nsec), notes, max);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(f, "%" PRIu64 " %" PRIu32 " %" PRIu32 "\n", notes[i].due_nsec, notes[i].late_usec,
                      notes[i].done_usec);
    free(notes);
    return fclose(f) == 0 ? 0 : 1;
}
