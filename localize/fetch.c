/* SPDX-License-Identifier: Apache-2.0 */

/* See fetch.h. */

#include "localize/fetch.h"

#include <assert.h>
#include <time.h>

#include "util/clock.h"
#include "util/error.h"

/* After the first failure, then twice as long each time: a name node that fails over needs half a minute or so. */
#define FIRST_PAUSE_USEC NM_USEC_PER_SEC
#define MAX_PAUSE_USEC (16 * NM_USEC_PER_SEC)

static int attempt(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, int fd,
                   char **ret_message)
{
    /* nothing of an earlier attempt may be left */
    if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return nm_fail(ret_message, -errno, "can't write here: %s", strerror(errno));
    return uri->scheme == NM_URI_HTTP ? nm_fetch_http(f, res, fd, ret_message)
                                      : nm_fetch_hdfs(f, res, uri, fd, ret_message);
}

static void pause_usec(uint64_t usec)
{
    const struct timespec ts = {.tv_sec = (time_t)(usec / NM_USEC_PER_SEC),
                                .tv_nsec = (long)(usec % NM_USEC_PER_SEC * NM_NSEC_PER_USEC)};

    (void)nanosleep(&ts, NULL);
}

/* An attempt that can't be finished before the deadline isn't begun: its failure would say less than the last one's. */
static int fetch_from_servers(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, int fd,
                              char **ret_message)
{
    uint64_t next_usec = FIRST_PAUSE_USEC;

    for (unsigned n = 1;; n++) {
        _cleanup_free_ char *message = NULL;
        int r = attempt(f, res, uri, fd, &message);

        if (r >= 0)
            return 0;
        if (!nm_http_may_pass(r) || n >= f->work->limits.attempts || nm_now_usec() + next_usec >= f->deadline_usec) {
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

/* O_EXCL: the directory is new and ours, so whatever stands there already is a mistake. */
static int fetch_file(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri,
                      const struct nm_fetch_to *to, int *ret_fd, char **ret_message)
{
    _cleanup_close_ int fd = openat(to->dir_fd, to->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r;

    if (fd < 0)
        return nm_fail(ret_message, -errno, "can't make its file: %s", strerror(errno));
    r = fetch_from_servers(f, res, uri, fd, ret_message);
    if (r < 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    *ret_fd = STEAL_FD(fd);
    return 0;
}

int nm_fetch(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, const struct nm_fetch_to *to,
             int *ret_fd, bool *ret_is_ours, char **ret_message)
{
    int r;

    assert(f->work && f->http && f->report && to->dir_fd >= 0);
    if (uri->scheme == NM_URI_FILE)
        r = nm_fetch_local(res, uri, ret_fd, ret_message);
    else if (uri->scheme == NM_URI_OTHER)
        r = nm_fetch_command(f, res, uri, to, ret_fd, ret_message);
    else
        r = fetch_file(f, res, uri, to, ret_fd, ret_message);
    if (r < 0)
        return r;
    *ret_is_ours = uri->scheme != NM_URI_FILE;
    return 0;
}
