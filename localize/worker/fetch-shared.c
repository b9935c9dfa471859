/* SPDX-License-Identifier: Apache-2.0 */

/* See fetch.h: code shared by all schemes. */

#include <inttypes.h>
#include <time.h>

#include "localize/worker/fetch.h"
#include "util/clock.h"
#include "util/error.h"

/* Pause after the first failure. Each further failure doubles the pause. */
#define FIRST_PAUSE_USEC NM_USEC_PER_SEC
#define MAX_PAUSE_USEC (16 * NM_USEC_PER_SEC)
/* Attempts with their pauses take seven seconds. If there are several name nodes, they take three minutes, as those of
 * Hadoop's own client: a failover begins when a session of ZooKeeper has expired, and ends when the failed name node is
 * fenced and the other one has read all edits. */
#define ATTEMPTS 4u
#define FAILOVER_ATTEMPTS 15u

/* Compares to the millisecond. Refuses older files as well as newer files, as Hadoop does. */
int nm_fetch_check_time(const struct nm_work_resource *res, uint64_t modified_msec, char **ret_message)
{
    if (modified_msec == res->timestamp_msec)
        return 0;
    return nm_fail(ret_message, -ESTALE,
                   "the file was changed after the job was submitted: its modification time is %" PRIu64 ", expected "
                   "%" PRIu64 " (milliseconds since 1970); submit the job again with the current file",
                   modified_msec, res->timestamp_msec);
}

void nm_fetch_progress(void *userdata, uint64_t bytes, uint64_t total_bytes)
{
    struct nm_fetch *f = userdata;

    nm_worker_report_progress(f->report, "fetching", bytes, total_bytes);
}

static void pause_usec(uint64_t usec)
{
    const struct timespec ts = {.tv_sec = (time_t)(usec / NM_USEC_PER_SEC),
                                .tv_nsec = (long)(usec % NM_USEC_PER_SEC * NM_NSEC_PER_USEC)};

    (void)nanosleep(&ts, NULL);
}

unsigned nm_fetch_attempts(const struct nm_fetch *f, const struct nm_uri *uri)
{
    const bool is_hdfs = uri->scheme == NM_URI_HDFS || uri->scheme == NM_URI_WEBHDFS;

    if (f->work->limits.attempts > 0)
        return f->work->limits.attempts;
    return is_hdfs && nm_hdfs_has_failover(&f->hdfs, uri) ? FAILOVER_ATTEMPTS : ATTEMPTS;
}

/* Repeats the attempt. If the deadline would pass before another attempt, doesn't start it, because its failure would
 * explain less than the failure of the last attempt. */
int nm_fetch_persist(struct nm_fetch *f, nm_fetch_attempt attempt, void *what, char **ret_message)
{
    uint64_t next_usec = FIRST_PAUSE_USEC;

    for (unsigned n = 1;; n++) {
        _cleanup_free_ char *message = NULL;
        int r = attempt(f, what, &message);

        if (r >= 0)
            return r;
        if (!nm_http_may_pass(r) || n >= f->attempts || nm_now_usec() + next_usec >= f->deadline_usec) {
            if (n == 1 || !message)
                *ret_message = STEAL_PTR(message);
            else
                (void)nm_fail(ret_message, r, "%s (attempt %u)", message, n);
            return r;
        }
        pause_usec(next_usec);
        next_usec = NM_MIN(next_usec * 2, MAX_PAUSE_USEC);
    }
}
