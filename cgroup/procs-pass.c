/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See procs.h. cgroup.procs stays open between the turns. With the descriptor, the kernel keeps a position in its list
 * of tasks and advances the position when the task at the position ends. So the end of visited processes does not make
 * the pass skip others. An index into a list that is read again in each turn would skip processes, because a signal
 * ends the processes that were visited first.
 */

#include "cgroup/procs.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

/* A turn that visits the maximum number of processes takes some 3 ms, but several times as long while many of the
 * processes end, because they all need the same locks of the kernel. So the time of a turn is limited, too. Other
 * events get at least as much time between two turns. */
#define TURN_USEC (3 * NM_USEC_PER_MSEC)
#define PAUSE_USEC (5 * NM_USEC_PER_MSEC)

struct nm_procs_pass {
    sd_event_source *timer;
    int dir_fd, procs_fd;   /* procs_fd: cgroup.procs of the current cgroup; -EBADF: the pass is over */
    unsigned rounds;        /* remaining rounds, including the current round */
    unsigned nth;           /* index of the current cgroup: 0 for dir_fd, then the cgroups below */
    char text[512];
    size_t at, len;         /* the part of the text that was not parsed yet */
    nm_procs_fn_t fn;
    int error; /* first error of fn; 0: no error */
    void (*ended)(int r, void *userdata);
    void *ended_userdata;
    bool ending; /* ended() is being called: its turn has visited enough processes */
    _Alignas(max_align_t) char userdata[NM_PROCS_PASS_DATA_MAX];
};

bool nm_procs_pass_is_on(const struct nm_procs_pass *p)
{
    return p && p->procs_fd >= 0;
}

void nm_procs_pass_set_ended(struct nm_procs_pass *p, void (*ended)(int r, void *userdata), void *userdata)
{
    p->ended = ended;
    p->ended_userdata = userdata;
}

static void end(struct nm_procs_pass *p)
{
    p->timer = sd_event_source_disable_unref(p->timer);
    p->procs_fd = nm_close(p->procs_fd);
    p->dir_fd = nm_close(p->dir_fd);
}

struct nm_procs_pass *nm_procs_pass_free(struct nm_procs_pass *p)
{
    if (!p)
        return NULL;
    end(p);
    free(p);
    return NULL;
}

static int read_more(struct nm_procs_pass *p)
{
    ssize_t n;

    do
        n = read(p->procs_fd, p->text, sizeof p->text);
    while (n < 0 && errno == EINTR);
    /* A threaded cgroup has no list (EOPNOTSUPP), and a removed cgroup has no processes. */
    if (n < 0)
        return errno == ENODEV || errno == EOPNOTSUPP ? 0 : -errno;
    p->at = 0;
    p->len = (size_t)n;
    return n > 0;
}

/* Returns 1 and the next process of the current cgroup, or 0 at its end. */
static int next_pid(struct nm_procs_pass *p, pid_t *ret)
{
    uint64_t pid = 0;

    for (;;) {
        char c;

        if (p->at == p->len) {
            int r = read_more(p);

            if (r <= 0) {
                *ret = (pid_t)pid;
                return r < 0 ? r : pid > 0;
            }
        }
        c = p->text[p->at++];
        if (c == '\n' && pid > 0)
            break;
        if (c != '\n' && (c < '0' || c > '9' || pid > (INT_MAX - 9) / 10))
            return -EBADMSG;
        pid = c == '\n' ? 0 : pid * 10 + (uint64_t)(c - '0');
    }
    *ret = (pid_t)pid;
    return 1;
}

/* Opens the list of the nth cgroup. Returns 1, or 0 if there are no more cgroups. */
static int open_nth(struct nm_procs_pass *p, unsigned nth)
{
    int fd = nm_procs_open_nth(p->dir_fd, nth);

    if (fd < 0)
        return fd == -ENOENT && nth > 0 ? 0 : fd;
    (void)nm_close(p->procs_fd);
    p->procs_fd = fd;
    p->nth = nth;
    p->at = p->len = 0;
    return 1;
}

/* Advances to the next cgroup, or to the next round. Returns 0 at the end of the pass. */
static int continue_pass(struct nm_procs_pass *p)
{
    int r = open_nth(p, p->nth + 1);

    return r != 0 ? r : --p->rounds > 0 ? open_nth(p, 0) : 0;
}

/* Calls fn and stores its first error. Returns 0, or NM_PROCS_CUT to end the pass. */
static int visit_one(struct nm_procs_pass *p, pid_t pid)
{
    int r = p->fn(pid, p->userdata);

    if (r < 0 && p->error == 0)
        p->error = r;
    return NM_MAX(r, 0);
}

/* Returns 1 if there are more processes, 0 at the end of the pass, or an error. The nth cgroup is found by opening all
 * cgroups before it, so a cgroup counts like several processes. */
static int visit_some(struct nm_procs_pass *p)
{
    uint64_t begun_usec = nm_now_usec();

    for (unsigned n = 0; n < NM_PROCS_PASS_PER_TURN && nm_now_usec() - begun_usec < TURN_USEC; n++) {
        pid_t pid;
        int r = next_pid(p, &pid);

        if (r == 0) {
            r = continue_pass(p);
            if (r <= 0)
                return r;
            n += p->nth / 4;
            continue;
        }
        if (r > 0)
            r = visit_one(p, pid);
        if (r != 0)
            return NM_MIN(r, 0);
    }
    return 1;
}

static int on_turn(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_procs_pass *p = userdata;
    int r = visit_some(p);

    (void)usec;
    if (r > 0) {
        r = sd_event_source_set_time_relative(s, PAUSE_USEC);
        if (r >= 0)
            r = sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        if (r >= 0)
            return 0;
    }
    end(p);
    p->ending = true;
    if (p->ended)
        p->ended(r < 0 ? r : p->error, p->ended_userdata);
    p->ending = false;
    return 0;
}

int nm_procs_pass_begin(struct nm_procs_pass **p, sd_event *event, int dir_fd, unsigned rounds, nm_procs_fn_t fn,
                        const void *userdata, size_t size)
{
    struct nm_procs_pass *q = *p ?: calloc(1, sizeof *q);
    int r;

    assert(event && dir_fd >= 0 && rounds > 0 && fn && size <= NM_PROCS_PASS_DATA_MAX);
    if (!q)
        return -ENOMEM;
    if (*p)
        end(q);
    *p = q;
    q->fn = fn;
    q->rounds = rounds;
    q->error = 0;
    q->ended = NULL;
    memcpy(q->userdata, userdata, size);
    q->procs_fd = -EBADF;
    q->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
    r = q->dir_fd < 0 ? -errno : open_nth(q, 0);
    if (r > 0 && !q->ending)
        r = visit_some(q);
    if (r > 0)
        r = sd_event_add_time_relative(event, &q->timer, CLOCK_MONOTONIC, PAUSE_USEC, 1000, on_turn, q);
    if (r < 0 || !q->timer)
        end(q);
    return r < 0 ? r : q->error;
}
