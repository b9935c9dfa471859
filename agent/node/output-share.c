/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The disk share of all containers' output. Each container gets a part of the share when it starts, as a limit that the
 * shim enforces (output.h), because a disk fills up faster than periodic checks could react. The limit for each of the
 * container's two streams is output-max (and a sixteenth of output-max for the times of the output). If less than 32
 * times output-max is left of the share, the limit is a thirty-second of the rest, so that a part of the share is
 * always left for the next container. Logs of ended containers don't reduce these limits. When a new container needs
 * the space, or the disk of the journal is nearly full, the logs of ended containers are truncated to their last
 * KEPT_BYTES, the oldest first.
 */

#include "agent/node/node-settings.h"

#include <assert.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/launch/output-read.h"
#include "util/log.h"

#define SHARE_OF_REST 32      /* a stream gets at most 1/32 of the remaining share, both streams 1/16 */
#define KEPT_BYTES (16 << 10) /* per stream of a truncated log */
#define LEAST_GAIN (48 << 10) /* shorter logs are not truncated */
/* per turn of the event loop: maximum number of logs that are truncated, and of logs that are measured */
#define SHORTEN_AT_ONCE 16
#define MEASURE_AT_ONCE 100

static int open_dir(const struct nm_manager *m, const char *id)
{
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof path, "%s/%s", m->log_dir, id) >= sizeof path)
        return -ENAMETOOLONG;
    return RET_NERRNO(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static uint64_t measure(const struct nm_manager *m, const char *id)
{
    _cleanup_close_ int dir = open_dir(m, id);

    return dir < 0 ? 0 : nm_output_disk_bytes(dir);
}

/* Sets the size of a container's log, and updates the sum of the containers in the list of ended containers. */
static void set_log_bytes(struct nm_manager *m, struct nm_container *c, uint64_t bytes)
{
    if (!c->view.owner) /* the container is in that list; lists.c adds the log of a container that it puts there */
        m->ended.log_bytes = m->ended.log_bytes - c->log_bytes + bytes;
    c->log_bytes = bytes;
}

void nm_output_ended(struct nm_manager *m, struct nm_container *c)
{
    set_log_bytes(m, c, measure(m, c->id));
    c->log_measured = true;
}

/* Returns the maximum size of a container's log: both streams, and the recorded times of their output. */
static uint64_t whole_log(uint64_t output_max_bytes)
{
    return NM_OUTPUT_N_STREAMS * (output_max_bytes + output_max_bytes / NM_OUTPUT_TIMES_SHARE);
}

static uint64_t promised(const struct nm_manager *m)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < m->live.n; i++)
        sum += whole_log(m->live.all[i]->run.output_max_bytes);
    return sum;
}

/* Truncates one log. Returns the number of freed bytes. */
static uint64_t shorten_one(struct nm_manager *m, struct nm_container *c)
{
    uint64_t before = c->log_bytes;
    _cleanup_close_ int dir = open_dir(m, c->id);
    int64_t r = dir < 0 ? dir : nm_output_shorten(dir, KEPT_BYTES);

    if (r < 0 && r != -ENOENT)
        nm_debug("%s: its log could not be shortened: %s", c->id, strerror((int)-r));
    if (r > 0)
        nm_info("%s has ended, and only the end of its log was kept, because the disk's share for output is needed",
                c->id);
    /* Truncation of a log is not retried after a failure. */
    set_log_bytes(m, c, r < 0 ? NM_MIN(c->log_bytes, (uint64_t)LEAST_GAIN) : nm_output_disk_bytes(dir));
    return nm_sub_u64(before, c->log_bytes);
}

/* Truncates logs, the oldest first, until `bytes` are free or the limit of one turn is reached. */
static void shorten(struct nm_manager *m, uint64_t bytes)
{
    uint64_t gained = 0;

    for (size_t i = 0, n = 0; i < m->ended.n && n < SHORTEN_AT_ONCE && gained < bytes; i++)
        if (m->ended.all[i]->log_bytes > LEAST_GAIN) {
            gained += shorten_one(m, m->ended.all[i]);
            n++;
        }
}

static uint64_t share_bytes(const struct nm_manager *m, struct nm_disk_sample *ret_disk)
{
    *ret_disk = (struct nm_disk_sample){0};
    if (nm_disk_sample(m->log_dir, ret_disk) < 0 && nm_disk_sample(m->state_dir, ret_disk) < 0)
        return 0;
    return (uint64_t)((double)ret_disk->total_bytes * m->config->output_share);
}

uint64_t nm_output_allowance(struct nm_manager *m)
{
    struct nm_disk_sample disk;
    uint64_t share = share_bytes(m, &disk), taken = promised(m), rest = nm_sub_u64(share, taken), all;
    uint64_t each = NM_MIN(m->config->output_max_bytes, rest / SHARE_OF_REST);

    each = NM_MAX(each, (uint64_t)NM_OUTPUT_MIN_BYTES);
    all = taken + whole_log(each) + m->ended.log_bytes;
    if (all > share)
        shorten(m, all - share);
    return each;
}

static bool shares_disk_with_journal(const struct nm_manager *m)
{
    struct stat logs, state;

    return stat(m->log_dir, &logs) == 0 && stat(m->state_dir, &state) == 0 && logs.st_dev == state.st_dev;
}

/* Returns whether disk space is short: less than half of [health] disk-min-free is free, or a write of the journal
 * failed for lack of space and the journal is on the disk of the logs. */
static bool has_no_room(const struct nm_manager *m, const struct nm_disk_sample *disk)
{
    double least = (double)disk->total_bytes * m->config->disk_min_free / 2;

    return (disk->total_bytes > 0 && (double)disk->available_bytes < least) ||
           ((m->journal.error == -ENOSPC || m->journal.error == -EDQUOT) && shares_disk_with_journal(m));
}

void nm_output_truncate_logs(struct nm_manager *m)
{
    struct nm_disk_sample disk;
    uint64_t share = share_bytes(m, &disk), all;

    for (size_t i = m->ended.n, n = 0; i-- > 0 && n < MEASURE_AT_ONCE;) /* logs from before nmd's start */
        if (!m->ended.all[i]->log_measured) {
            nm_output_ended(m, m->ended.all[i]);
            n++;
        }
    all = promised(m) + m->ended.log_bytes;
    if (has_no_room(m, &disk))
        shorten(m, UINT64_MAX);
    else if (all > share)
        shorten(m, all - share);
}

void nm_output_read_last(struct nm_live_container *l)
{
    char dir[PATH_MAX];

    if (l->launch && (size_t)snprintf(dir, sizeof dir, "%s/%s", l->m->log_dir, l->c->id) < sizeof dir)
        nm_launch_open_output(l->launch, dir);
}
