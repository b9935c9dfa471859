/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Watches one shim, which was started by this nmd (launch-spawn.c) or adopted from an earlier nmd. Calls the callback
 * once for STARTED and then once for ENDED. There are three sources of information, and each of them may be missing:
 *
 *   socket   the shim's messages, the fastest source. There is no socket to an adopted shim, because the
 *            earlier nmd's exit has closed it.
 *   record   the file in the container's directory, with the same content as the messages. It is watched
 *            with inotify after an adoption.
 *   pidfd    readable when the shim has exited. Messages and record are then read a last time before
 *            ENDED is reported. If there is no record of the command's end, the shim was killed, and the
 *            caller must kill the container's remaining processes through the cgroup. (The kernel kills
 *            the command when its shim exits, see shim-child.c.)
 *
 * The shim's pid may be reused, so nmd uses a pidfd, and checks the process's start time after it has opened the pidfd.
 */

#include "agent/launch/launch.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/launch/launch-internal.h"
#include "agent/launch/shim.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "util/log.h"
#include "util/parse.h"

/* Number of free descriptors that a launch requires. nmd uses about eight descriptors for a running container, and a
 * few more while the container starts. */
#define RESERVE 32
#define LOOKUP_SPEC_MAX (64 << 10)

int nm_launch_read_start_ticks(pid_t pid, uint64_t *ret)
{
    char path[32], text[2048];
    char *p, *save = NULL;
    int r;

    assert(pid > 0 && ret);
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    r = nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL);
    if (r < 0)
        return r == -ENOENT ? -ESRCH : r;
    /* Field 2, the command's name, is in parentheses and may contain any character, even ')'. So the next fields begin
     * after the last ')'. */
    p = strrchr(text, ')');
    if (!p)
        return -EBADMSG;
    p = strtok_r(p + 1, " ", &save);
    for (int field = 3; p && field < 22; field++)
        p = strtok_r(NULL, " ", &save);
    return p && nm_parse_u64(p, ret) >= 0 ? 0 : -EBADMSG;
}

void nm_launch_advance(struct nm_launch *l, enum nm_shim_progress to)
{
    assert(to > l->progress);
    l->progress = to;
}

/* Keeps the account that the shim's process has looked up. A spec with a long command is not read for it. */
static void keep_account(struct nm_launch *l)
{
    _cleanup_free_ char *text = NULL;
    struct nm_shim_spec spec = {0};
    struct stat st;

    if (l->lookup.spec_fd < 0)
        return;
    if (fcntl(l->lookup.spec_fd, F_GET_SEALS) == NM_LAUNCH_SPEC_SEALS &&
        fstat(l->lookup.spec_fd, &st) == 0 && st.st_size > 0 && st.st_size <= LOOKUP_SPEC_MAX)
        text = malloc((size_t)st.st_size);
    if (text && pread(l->lookup.spec_fd, text, (size_t)st.st_size, 0) == st.st_size &&
        nm_shim_spec_parse(text, (size_t)st.st_size, &spec) == 0) {
        nm_accounts_put(&l->lookup.spawner->accounts, l->lookup.user, &spec, &l->lookup.stamp);
        nm_shim_spec_done(&spec);
    }
    l->lookup.spec_fd = nm_close(l->lookup.spec_fd);
}

static void report_started(struct nm_launch *l)
{
    if (l->progress >= NM_SHIM_REPORTED_START)
        return;
    keep_account(l);
    nm_launch_advance(l, NM_SHIM_REPORTED_START);
    l->inotify_source = sd_event_source_disable_unref(l->inotify_source);
    l->cb(l, NM_LAUNCH_STARTED, &l->record, l->userdata);
}

/* Replaces the launch's record if `r` is newer. The shim writes each record to a file and then sends it. nmd may read
 * the two in either order. */
static void take_record(struct nm_launch *l, const struct nm_launch_record *r)
{
    if (r->phase > l->record.phase)
        l->record = *r;
}

static bool has_run(const struct nm_launch_record *r)
{
    return r->phase >= NM_LAUNCH_STARTED && r->failed_stage == NM_LAUNCH_STAGE_NONE;
}

/* Reads the shim's messages. Returns 0, or -EPIPE if no more messages can come. */
static int drain_socket(struct nm_launch *l)
{
    while (l->socket >= 0) {
        char text[NM_LAUNCH_RECORD_SIZE];
        struct nm_launch_record r;
        ssize_t n = recv(l->socket, text, sizeof text - 1, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            break;
        text[n] = '\0';
        if (strlen(text) == (size_t)n && nm_launch_record_parse(text, &r) == 0)
            take_record(l, &r);
        else
            nm_warning("shim %d sent an invalid record; ignoring it", l->pid);
    }
    return -EPIPE;
}

static void read_record_file(struct nm_launch *l)
{
    struct nm_launch_record r;
    int k = nm_launch_record_read(l->dir, &r);

    if (k == 0)
        take_record(l, &r);
    else if (k != -ENOENT)
        nm_warning("%s/" NM_LAUNCH_RECORD_FILE " can't be read, ignoring it: %s", l->dir, strerror(-k));
}

static int on_socket(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_launch *l = userdata;

    (void)fd;
    (void)revents;
    if (drain_socket(l) < 0)
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    if (has_run(&l->record))
        report_started(l);
    return 0;
}

static int on_inotify(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
    struct nm_launch *l = userdata;

    (void)source;
    /* An overflow event has no name. Events may be lost then, so read the record. */
    if (event->len > 0 && !nm_streq(event->name, NM_LAUNCH_RECORD_FILE))
        return 0;
    read_record_file(l);
    if (has_run(&l->record))
        report_started(l);
    return 0;
}

static int on_adopted(sd_event_source *source, void *userdata)
{
    struct nm_launch *l = userdata;

    (void)source;
    if (has_run(&l->record))
        report_started(l);
    return 0;
}

static void reap(int pidfd)
{
    siginfo_t si;

    (void)waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED | WNOHANG);
}

/* Completes the record of a shim that has exited. Reports the start if it was not reported before. */
static void end_record(struct nm_launch *l)
{
    nm_output_drain_write(&l->output_drain, l->record.output_max_bytes);
    if (l->record.phase != NM_LAUNCH_ENDED && l->progress == NM_SHIM_AT_GATE)
        l->record = nm_launch_never_ran(EPIPE);
    if (has_run(&l->record))
        report_started(l);
}

static int on_gone(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    struct nm_launch *l = userdata;

    (void)revents;
    (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    l->socket_source = sd_event_source_disable_unref(l->socket_source);
    (void)drain_socket(l);
    if (l->record.phase != NM_LAUNCH_ENDED && !l->is_session)
        read_record_file(l);
    if (l->is_child)
        reap(fd);
    if (!l->is_session)
        end_record(l);
    nm_launch_advance(l, NM_SHIM_GONE);
    l->cb(l, NM_LAUNCH_ENDED, !l->is_session && l->record.phase == NM_LAUNCH_ENDED ? &l->record : NULL, l->userdata);
    return 0;
}

struct nm_launch_record nm_launch_never_ran(int error)
{
    return (struct nm_launch_record){
        .phase = NM_LAUNCH_ENDED,
        .ended_usec = nm_now_usec(),
        .ended_realtime_usec = nm_realtime_usec(),
        .failed_stage = NM_LAUNCH_STAGE_SHIM,
        .failed_errno = error,
        .exit_code = -1,
    };
}

int nm_launch_watch(struct nm_launch *l)
{
    int r = sd_event_add_io(l->event, &l->pid_source, l->pidfd, EPOLLIN, on_gone, l);

    assert(l->pidfd >= 0);
    if (r < 0)
        return r;
    (void)sd_event_source_set_description(l->pid_source, "shim");
    if (l->socket < 0)
        return 0;
    r = sd_event_add_io(l->event, &l->socket_source, l->socket, EPOLLIN, on_socket, l);
    if (r < 0)
        return r;
    return sd_event_source_set_description(l->socket_source, "shim-messages");
}

static void watch_dir(struct nm_launch *l)
{
    /* the shim makes the record by a hard link to a complete file, or by a rename */
    int r = sd_event_add_inotify(l->event, &l->inotify_source, l->dir, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR, on_inotify,
                                 l);

    if (r < 0)
        nm_warning("%s can't be watched: %s; ignoring", l->dir, strerror(-r));
    else
        (void)sd_event_source_set_description(l->inotify_source, "shim-record");
}

/*
 * Reads the record of an adopted shim. If the record does not show that the command has run, sets a watch, and reads
 * the record again, so that no change is missed. Without a watch (the directory was removed, or the user's limit of
 * inotify watches is reached), STARTED may be reported only together with ENDED.
 *
 * Usually the record shows that the command has run, and no watch is needed. A watch that is set and removed again is
 * expensive: sd-event closes its inotify descriptor with the last watch, and the kernel then waits for an SRCU grace
 * period, 8 ms for each container.
 */
static int follow_record(struct nm_launch *l)
{
    int r;

    read_record_file(l);
    if (!has_run(&l->record)) {
        watch_dir(l);
        read_record_file(l);
    }
    if (!has_run(&l->record))
        return 0;
    l->inotify_source = sd_event_source_disable_unref(l->inotify_source);
    r = sd_event_add_defer(l->event, &l->defer_source, on_adopted, l);
    if (r < 0)
        return r;
    return sd_event_source_set_description(l->defer_source, "shim-adopted");
}

int nm_launch_alloc(const char *container_dir, sd_event *event, nm_launch_cb_t cb, void *userdata,
                    struct nm_launch **ret)
{
    _cleanup_(nm_launch_freep) struct nm_launch *l = calloc(1, sizeof *l);

    assert(container_dir && event && cb);
    if (!l)
        return -ENOMEM;
    l->pidfd = l->socket = l->lookup.spec_fd = -EBADF;
    l->output_drain = NM_OUTPUT_DRAIN_NONE;
    l->event = sd_event_ref(event);
    l->cb = cb;
    l->userdata = userdata;
    l->dir = strdup(container_dir);
    if (!l->dir)
        return -ENOMEM;
    *ret = STEAL_PTR(l);
    return 0;
}

bool nm_launch_shim_exists(pid_t shim_pid, uint64_t shim_start_ticks)
{
    uint64_t ticks;

    return shim_pid > 1 && nm_launch_read_start_ticks(shim_pid, &ticks) >= 0 &&
           ticks == shim_start_ticks;
}

void nm_launch_open_output(struct nm_launch *l, const char *log_dir)
{
    if (l->progress != NM_SHIM_NO_GATE && l->progress != NM_SHIM_REPORTED_START)
        return;
    nm_output_drain_open(&l->output_drain, l->pid, log_dir);
    /* If the shim has exited meanwhile, the pid may belong to another process, and the pipes may be those of that
     * process. */
    if (!nm_launch_shim_exists(l->pid, l->start_ticks))
        nm_output_drain_close(&l->output_drain);
}

int nm_launch_adopt(const char *container_dir, pid_t shim_pid, uint64_t shim_start_ticks, sd_event *event,
                    nm_launch_cb_t cb, void *userdata, struct nm_launch **ret)
{
    _cleanup_(nm_launch_freep) struct nm_launch *l = NULL;
    uint64_t ticks;
    int r;

    assert(container_dir && cb);
    if (shim_pid <= 1)
        return -ESRCH;
    r = nm_launch_alloc(container_dir, event, cb, userdata, &l);
    if (r < 0)
        return r;
    l->pidfd = pidfd_open(shim_pid, 0);
    if (l->pidfd < 0)
        return errno == EINVAL ? -ESRCH : -errno; /* EINVAL: a thread of another process */
    r = nm_launch_read_start_ticks(shim_pid, &ticks);
    if (r < 0)
        return r;
    if (ticks != shim_start_ticks)
        return -ESRCH;
    l->pid = shim_pid;
    l->start_ticks = ticks;
    nm_launch_advance(l, NM_SHIM_NO_GATE);
    r = nm_launch_watch(l);
    if (r < 0)
        return r;
    r = follow_record(l);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(l);
    return 0;
}

bool nm_launch_gate_was_open(const char *container_dir)
{
    _cleanup_close_ int fd = open(container_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && faccessat(fd, NM_LAUNCH_GATE_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int nm_launch_drop(const char *container_dir)
{
    _cleanup_close_ int fd = open(container_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 ? nm_launch_drop_at(fd) : errno == ENOENT ? 0 : -errno;
}

int nm_launch_drop_at(int dir_fd)
{
    if (unlinkat(dir_fd, NM_LAUNCH_RECORD_FILE, 0) < 0 && errno != ENOENT)
        return -errno;
    return unlinkat(dir_fd, NM_LAUNCH_GATE_FILE, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* Returns the number of open descriptors, which Linux 6.2 and later show as the size of this directory, or else 0. */
static uint64_t count_open(void)
{
    struct stat st;

    return stat("/proc/self/fd", &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* Tries to use the whole reserve. */
static bool can_duplicate(int fd)
{
    int fds[RESERVE] = {fd}, n = 1;

    while (n < RESERVE && (fds[n] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0)
        n++;
    for (int i = 1; i < n; i++)
        (void)close(fds[i]);
    return n == RESERVE;
}

bool nm_launch_has_descriptors(uint64_t *ret_limit)
{
    _cleanup_close_ int fd = open("/", O_PATH | O_CLOEXEC);
    const uint64_t n_open = count_open();
    struct rlimit rl = {0};

    (void)getrlimit(RLIMIT_NOFILE, &rl);
    *ret_limit = rl.rlim_cur;
    if (fd < 0)
        return false;
    /* n_open includes fd, which is closed again */
    return (n_open > 0 && n_open + RESERVE - 1 <= rl.rlim_cur) || can_duplicate(fd);
}

int nm_launch_open_gate(struct nm_launch *l)
{
    const char byte = NM_SHIM_GATE_BYTE;

    assert(l->pidfd >= 0);
    if (l->progress != NM_SHIM_AT_GATE)
        return -EPIPE;
    if (send(l->socket, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    nm_launch_advance(l, NM_SHIM_NO_GATE);
    return 0;
}

static int on_unwatched_exit(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    (void)revents;
    (void)userdata;
    reap(fd);
    (void)sd_event_source_set_floating(source, false);
    return 0;
}

/* Leaves the child to a floating event source, which owns the pidfd and reaps the child when it exits. */
static void detach_shim(struct nm_launch *l)
{
    _cleanup_(sd_event_source_unrefp) sd_event_source *source = NULL;

    if (sd_event_add_io(l->event, &source, l->pidfd, EPOLLIN, on_unwatched_exit, NULL) < 0)
        return;
    if (sd_event_source_set_io_fd_own(source, true) < 0)
        return;
    l->pidfd = -EBADF;
    (void)sd_event_source_set_floating(source, true);
}

struct nm_launch *nm_launch_free(struct nm_launch *l)
{
    if (!l)
        return NULL;
    sd_event_source_disable_unref(l->pid_source);
    sd_event_source_disable_unref(l->socket_source);
    sd_event_source_disable_unref(l->inotify_source);
    sd_event_source_disable_unref(l->defer_source);
    if (l->is_child && l->progress != NM_SHIM_GONE) {
        /* without SIGKILL, a shim at its gate would exit only after a slow name service has answered */
        if (l->progress == NM_SHIM_AT_GATE)
            (void)pidfd_send_signal(l->pidfd, SIGKILL, NULL, 0);
        detach_shim(l);
    }
    (void)nm_close(l->pidfd);
    (void)nm_close(l->socket);
    nm_output_drain_close(&l->output_drain);
    (void)nm_close(l->lookup.spec_fd);
    free(l->lookup.user);
    sd_event_unref(l->event);
    free(l->dir);
    free(l);
    return NULL;
}

pid_t nm_launch_shim_pid(const struct nm_launch *l)
{
    return l->pid;
}

int nm_launch_shim_pidfd(const struct nm_launch *l)
{
    return l->pidfd;
}

bool nm_launch_is_gone(const struct nm_launch *l)
{
    return l->progress == NM_SHIM_GONE;
}

bool nm_launch_started_in_cgroup(const struct nm_launch *l)
{
    return l->started_in_cgroup;
}

uint64_t nm_launch_shim_start_ticks(const struct nm_launch *l)
{
    return l->start_ticks;
}
