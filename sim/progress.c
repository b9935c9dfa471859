/* SPDX-License-Identifier: Apache-2.0 */

/* See progress.h. The mutex protects the name of the step and the stream. The counters are atomic instead, because they
 * change too often for a mutex. */

#include "sim/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "util/clock.h"

#define SILENCE_USEC (1900 * NM_USEC_PER_MSEC) /* below two seconds with the thread's wake-up latency */
#define REDRAW_USEC (500 * NM_USEC_PER_MSEC)

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t ends;
    pthread_t thread;
    bool runs, stop, terminal, drawn;
    uint64_t begun_usec, reported_usec;
    char step[160];
    _Atomic uint64_t done, whole;
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER, .ends = PTHREAD_COND_INITIALIZER};

/* ---- with the mutex held ------------------------------------------------- */

static void how_far(char *buf, size_t size)
{
    uint64_t done = atomic_load_explicit(&progress.done, memory_order_relaxed);
    uint64_t whole = atomic_load_explicit(&progress.whole, memory_order_relaxed);

    if (whole > 0)
        (void)snprintf(buf, size, ": %.0f %%", 100 * (double)NM_MIN(done, whole) / (double)whole);
    else if (done > 0)
        (void)snprintf(buf, size, ": line %" PRIu64, done);
    else
        buf[0] = '\0';
}

static void erase(void)
{
    if (progress.drawn)
        fputs("\r\033[K", stderr);
    progress.drawn = false;
}

static void print_progress(uint64_t now_usec)
{
    unsigned seconds = (unsigned)((now_usec - progress.begun_usec) / NM_USEC_PER_SEC);
    char far[48];

    how_far(far, sizeof far);
    erase();
    fprintf(stderr, "nmsim: %u:%02u  %s%s%s", seconds / 60, seconds % 60, progress.step, far,
            progress.terminal ? "" : "\n");
    (void)fflush(stderr);
    progress.drawn = progress.terminal;
    progress.reported_usec = now_usec;
}

/* Returns whether the progress should be printed now. A line that is already on the terminal is printed again more
 * often than every SILENCE_USEC. */
static bool is_due(uint64_t now_usec)
{
    uint64_t silent = now_usec - progress.reported_usec;

    return progress.step[0] && (silent >= SILENCE_USEC || (progress.drawn && silent >= REDRAW_USEC));
}

/* ---- the thread ---------------------------------------------------------- */

static void *watch(void *unused)
{
    (void)unused;
    (void)pthread_mutex_lock(&progress.mutex);
    while (!progress.stop) {
        uint64_t now_usec = nm_clock_usec(CLOCK_MONOTONIC);
        struct timespec until;

        if (is_due(now_usec))
            print_progress(now_usec);
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&progress.ends, &progress.mutex, &until);
    }
    (void)pthread_mutex_unlock(&progress.mutex);
    return NULL;
}

void nm_progress_start(void)
{
    progress.begun_usec = progress.reported_usec = nm_clock_usec(CLOCK_MONOTONIC);
    progress.terminal = isatty(STDERR_FILENO);
    progress.stop = false;
    progress.runs = pthread_create(&progress.thread, NULL, watch, NULL) == 0;
}

void nm_progress_stop(void)
{
    if (!progress.runs)
        return;
    (void)pthread_mutex_lock(&progress.mutex);
    progress.stop = true;
    erase();
    (void)fflush(stderr);
    (void)pthread_cond_signal(&progress.ends);
    (void)pthread_mutex_unlock(&progress.mutex);
    (void)pthread_join(progress.thread, NULL);
    progress.runs = false;
}

/* ---- called by the work -------------------------------------------------- */

void nm_progress_step(const char *format, ...)
{
    va_list ap;

    (void)pthread_mutex_lock(&progress.mutex);
    va_start(ap, format);
    (void)vsnprintf(progress.step, sizeof progress.step, format, ap);
    va_end(ap);
    nm_progress_at(0, 0);
    (void)pthread_mutex_unlock(&progress.mutex);
}

void nm_progress_pause(void)
{
    (void)pthread_mutex_lock(&progress.mutex);
    progress.step[0] = '\0';
    erase();
    (void)fflush(stderr);
    (void)pthread_mutex_unlock(&progress.mutex);
}

void nm_progress_at(uint64_t done, uint64_t whole)
{
    atomic_store_explicit(&progress.done, done, memory_order_relaxed);
    atomic_store_explicit(&progress.whole, whole, memory_order_relaxed);
}
