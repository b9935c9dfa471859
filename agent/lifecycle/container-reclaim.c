/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Carries out a reclaim: the kernel moves memory of a container to swap. A write to memory.reclaim blocks until the
 * kernel has finished, which may take seconds. So a worker process makes the write. The worker exits at its time limit.
 * nmd kills a worker that exceeds the limit by LATE_USEC.
 *
 * memory.high would also slow down a container that grows, but is not used, for two reasons. First, the container's own
 * tasks would have to reclaim, and idle-class tasks on a busy node do so too late. Second, the limit would remain if
 * nmd died.
 */

#include "agent/lifecycle/lifecycle-internal.h"

#include <assert.h>
#include <signal.h>
#include <sys/wait.h>

#include "agent/journal/records.h"
#include "agent/node/cgroups.h"
#include "agent/node/sampling.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/inherited.h"
#include "util/log.h"
#include "util/parse.h"

/* A worker that exceeds its time limit by this time hangs in the kernel, usually in a write to a slow disk. */
#define LATE_USEC (500 * NM_USEC_PER_MSEC)
/* The speed of a shorter reclaim is not recorded, since the kernel may not have begun to write. */
#define REPORT_MIN_USEC (200 * NM_USEC_PER_MSEC)
/* Maximum age of a recorded speed, since the disk's speed may have changed. So after this time, nmd tries a reclaim
 * again even if the last one was slow. */
#define SPEED_AGE_USEC (600 * NM_USEC_PER_SEC)

/* The recent speed of reclaims. */
struct nm_reclaim {
    uint64_t bytes_per_sec, measured_usec;
};

struct nm_reclaim *nm_reclaim_new(void)
{
    return calloc(1, sizeof(struct nm_reclaim));
}

struct nm_reclaim *nm_reclaim_free(struct nm_reclaim *r)
{
    free(r);
    return NULL;
}

/* ---- the worker ------------------------------------------------------------ */

/* Runs in the worker process. The worker exits when nmd exits, and must not keep nmd's descriptors open (the lock, the
 * gates of shims). */
static _Noreturn void worker(const struct nm_live_container *l, pid_t nmd)
{
    struct nm_cgroup cg = {.dir_fd = STDERR_FILENO + 1};

    nm_inherited_end_with(nmd);
    if (dup2(l->cg->dir_fd, cg.dir_fd) < 0)
        _exit(errno & 0xff);
    closefrom(cg.dir_fd + 1);
    _exit(-nm_swap_reclaim(&cg, l->reclaim_worker.bytes, l->reclaim_worker.within_usec) & 0xff);
}

/* ---- the end of the worker ------------------------------------------------- */

static void measure_speed(struct nm_live_container *l, uint64_t gained)
{
    struct nm_manager *m = l->m;
    uint64_t now = nm_now_usec(), took = NM_MAX(now - l->reclaim_worker.begun_usec, NM_USEC_PER_MSEC);
    uint64_t speed = gained * NM_USEC_PER_SEC / took, old = nm_reclaim_bytes_per_sec(m);

    m->reclaim->bytes_per_sec = NM_MAX(old ? (old + speed) / 2 : speed, UINT64_C(1));
    m->reclaim->measured_usec = now;
}

uint64_t nm_reclaim_bytes_per_sec(const struct nm_manager *m)
{
    bool known = m->reclaim->measured_usec > 0 && nm_now_usec() - m->reclaim->measured_usec < SPEED_AGE_USEC;

    return known ? m->reclaim->bytes_per_sec : 0;
}

/* Returns how much memory the reclaim has freed. A part counts, too, even if the worker was killed. */
static uint64_t note_gain(struct nm_live_container *l)
{
    uint64_t gained;

    nm_sample_live(l, nm_now_usec());
    gained = nm_sub_u64(l->use_before.memory_bytes, l->c->view.measured.memory_bytes);
    l->m->counters.reclaimed_bytes += gained;
    measure_speed(l, gained);
    return gained;
}

/* Records a slow reclaim as failed, with its speed. There is no errno that would show that the disk is slow. */
static void note_lateness(struct nm_live_container *l)
{
    char got[32], asked[32], took[32], why[160];

    (void)snprintf(why, sizeof why, "swap is too slow: %s of %s in %s",
                   nm_format_size(note_gain(l), got, sizeof got),
                   nm_format_size(l->reclaim_worker.bytes, asked, sizeof asked),
                   nm_format_duration(nm_now_usec() - l->reclaim_worker.begun_usec, took, sizeof took));
    nm_record_failed(l, why);
}

static void kill_worker(struct nm_live_container *l)
{
    pid_t pid;

    if (l->reclaim_worker.child && sd_event_source_get_child_pid(l->reclaim_worker.child, &pid) >= 0)
        (void)kill(pid, SIGKILL);
}

void nm_reclaim_supersede(struct nm_live_container *l)
{
    bool open = l->decision_open && l->decision.kind == NM_DECISION_RECLAIM;

    if (!l->reclaim_worker.child || !open)
        return;
    if (nm_now_usec() - l->reclaim_worker.begun_usec >= REPORT_MIN_USEC)
        note_lateness(l);
    kill_worker(l);
}

static int ended(sd_event_source *s, const siginfo_t *si, void *userdata)
{
    struct nm_live_container *l = userdata;
    bool worked = si->si_code == CLD_EXITED && (si->si_status == 0 || si->si_status == EAGAIN), open;

    if (!l) { /* the container was removed from the lists meanwhile (lists.c); release the floating reference */
        (void)sd_event_source_set_floating(s, false);
        return 0;
    }
    open = l->decision_open && l->decision.kind == NM_DECISION_RECLAIM; /* false if another decision has replaced the
                                                                           decision to reclaim */
    l->reclaim_worker.child = sd_event_source_disable_unref(l->reclaim_worker.child);
    l->reclaim_worker.timer = sd_event_source_disable_unref(l->reclaim_worker.timer);
    l->c->view.reclaiming = false;
    if (l->cg) /* a killed worker has not removed its limit in memory.swap.max */
        (void)nm_cgroup_set_swap_max(l->cg, NM_CGROUP_NONE);
    if (open && worked) {
        (void)note_gain(l);
        nm_record_effective(l);
    } else if (open && l->reclaim_worker.late) {
        note_lateness(l);
    } else if (open) {
        measure_speed(l, 0);
        nm_record_failed(l, si->si_code == CLD_EXITED ? strerror(si->si_status) : "the worker was killed");
    }
    /* If the container is running, request a round with a sample now: memory may still be above the threshold, and the
     * policy should not wait for the next period to kill a container. */
    nm_round_request(l->m, l->reclaim_worker.within_usec > 0 ? NM_TRIGGER_PRESSURE : NM_TRIGGER_CHANGE);
    return 0;
}

static int on_late(sd_event_source *s, uint64_t usec, void *userdata)
{
    struct nm_live_container *l = userdata;

    (void)s, (void)usec;
    l->reclaim_worker.late = true;
    kill_worker(l);
    return 0;
}

void nm_reclaim_start(struct nm_live_container *l)
{
    const pid_t self = getpid();
    pid_t pid;
    int r;

    assert(l->reclaim_worker.bytes > 0);
    if (!l->cg || l->reclaim_worker.child)
        return;
    l->reclaim_worker.late = false;
    NM_FAULT("before-reclaim");
    pid = fork();
    if (pid == 0)
        worker(l, self);
    NM_FAULT("after-reclaim");
    r = pid < 0 ? -errno
                : sd_event_add_child(l->m->event, &l->reclaim_worker.child, pid, WEXITED, ended, l);
    if (pid > 0 && r < 0) { /* the worker's exit can't be watched, so kill the worker */
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
    l->c->view.reclaiming = r >= 0;
    l->reclaim_worker.begun_usec = nm_now_usec();
    nm_record_acted(l);
    if (r < 0)
        nm_record_failed(l, strerror(-r));
    else if (l->reclaim_worker.within_usec > 0)
        (void)sd_event_add_time_relative(l->m->event, &l->reclaim_worker.timer, CLOCK_BOOTTIME,
                                         l->reclaim_worker.within_usec + LATE_USEC, 1000, on_late, l);
}
