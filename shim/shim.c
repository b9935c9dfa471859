/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nm-shim: the parent of one container's command. nmd may be restarted, upgraded or crash; a
 * process has one parent that can learn its exit status, so that parent is this small program,
 * which does that and passes the command's output on (shim-output.c), and nothing else. See shim.h
 * for what it is given and launch.h for what it promises.
 *
 * It lives in the container's cgroup: frozen and killed with it, and its memory is the container's.
 * It stays root with no capability left, so that the container's user can neither signal nor trace
 * it; all signals are blocked for its whole life (SIGKILL ends it, and then its command too), and
 * as leader of its own session it never hears a terminal. OOM score -1000 spares it even when the
 * kernel kills a whole group (memory.oom.group), so the end is recorded.
 *
 * The container ends when its command ends. Descendants that stay behind are not waited for: nmd
 * kills them with the cgroup. Orphans are reaped here meanwhile, since not every host's PID 1 does
 * so.
 */

#include "agent/launch/shim.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "util/clock.h"
#include "util/fault.h"
#include "util/fileio.h"

#define SPARE_FILE ".record.end"
#define SHUT_GATE_FILE ".gate"

static struct nm_launch_record record;
static int spare_fd = -EBADF, cgroup_fd = -EBADF;

/* A second file of a record's size, made while there is room, so that a disk which fills up later
 * can't swallow the end. */
static void reserve_record(void)
{
    char blank[NM_LAUNCH_RECORD_SIZE];

    spare_fd = openat(NM_SHIM_FD_DIR, SPARE_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (spare_fd < 0)
        return;
    memset(blank, '\n', sizeof blank);
    if (pwrite(spare_fd, blank, sizeof blank, 0) != (ssize_t)sizeof blank)
        spare_fd = nm_close(spare_fd);
}

static int write_spare(const char *text)
{
    size_t len = strlen(text);

    if (spare_fd < 0)
        return -EBADF;
    if (pwrite(spare_fd, text, len, 0) != (ssize_t)len || ftruncate(spare_fd, (off_t)len) < 0)
        return -EIO;
    return RET_NERRNO(renameat(NM_SHIM_FD_DIR, SPARE_FILE, NM_SHIM_FD_DIR, NM_LAUNCH_RECORD_FILE));
}

static int write_record(const char *text)
{
    if (record.phase == NM_LAUNCH_ENDED && write_spare(text) == 0)
        return 0;
    return nm_write_file_atomic_at(NM_SHIM_FD_DIR, NM_LAUNCH_RECORD_FILE, text, 0600);
}

/* For whoever comes later, then for the nmd that is there now. Fails when it is not written; *ret_told: nmd has it. */
static int publish(bool *ret_told)
{
    char text[NM_LAUNCH_RECORD_SIZE];
    int r = nm_launch_record_print(&record, text, sizeof text);

    if (r < 0)
        return r;
    r = write_record(text);
    if (record.phase == NM_LAUNCH_ENDED)
        NM_FAULT("shim-end-recorded");
    *ret_told = send(NM_SHIM_FD_SOCKET, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
    return r;
}

/*
 * The last thing a shim does. With no nmd there and no room on the disk it stays until one of them is back: an exit
 * status is kept in a living process rather than lost. A directory that was removed means that nobody wants it.
 */
static _Noreturn void end(void)
{
    bool told = false;

    nm_shim_cgroup_read(cgroup_fd, &record);
    record.phase = NM_LAUNCH_ENDED;
    record.ended_usec = nm_now_usec();
    record.ended_realtime_usec = nm_realtime_usec();
    for (;;) {
        int r = publish(&told);

        if (r == 0 || r == -ENOENT || told)
            _exit(0);
        (void)sleep(1);
    }
}

static _Noreturn void end_failed(enum nm_launch_stage stage, int error)
{
    record.pid = 0;
    record.failed_stage = stage;
    record.failed_errno = error < 0 ? -error : error;
    end();
}

static void set_up_self(void)
{
    sigset_t all;

    nm_closefrom(NM_SHIM_FD_END);
    for (int fd = NM_SHIM_FD_SOCKET; fd < NM_SHIM_FD_END; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)sigfillset(&all);
    /* beside those that nmd's child has blocked: each libc leaves out of "all" what it keeps for itself */
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)setsid(); /* nmd's child has done it already */
    (void)chdir("/");
    (void)umask(077);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    /* who is executed by descriptor is named after its number */
    (void)prctl(PR_SET_NAME, NM_SHIM_NAME);
    /* nmd's raised priority is nmd's. Its own reset-on-fork is refused by systemd's
     * RestrictRealtime=, whose filter takes the flag for a policy. */
    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) < 0 && errno == 0)
        (void)setpriority(PRIO_PROCESS, 0, 0);
    /* may be refused to an unprivileged nmd: then the shim is as good a victim as its command */
    (void)nm_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "-1000");
}

/* Reads the spec. *ret points into *ret_text, which the caller frees after *ret. */
static int read_spec(char **ret_text, struct nm_shim_spec *ret)
{
    _cleanup_free_ char *text = NULL;
    size_t size, done = 0;
    struct stat st;
    int r;

    if (fstat(NM_SHIM_FD_SPEC, &st) < 0)
        return -errno;
    if (st.st_size <= 0 || st.st_size > NM_SHIM_SPEC_MAX_BYTES)
        return -EBADMSG;
    size = (size_t)st.st_size;
    text = calloc(1, size);
    if (!text)
        return -ENOMEM;
    while (done < size) {
        ssize_t n = pread(NM_SHIM_FD_SPEC, text + done, size - done, (off_t)done);
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        done += (size_t)n;
    }
    (void)close(NM_SHIM_FD_SPEC);
    r = nm_shim_spec_parse(text, size, ret);
    if (r < 0)
        return r;
    *ret_text = STEAL_PTR(text);
    return 0;
}

static void wait_at_gate(void)
{
    char byte = 0;
    ssize_t n;

    do
        n = recv(NM_SHIM_FD_SOCKET, &byte, 1, 0);
    while (n < 0 && errno == EINTR);
    if (n != 1 || byte != NM_SHIM_GATE_BYTE)
        _exit(0);
}

/*
 * Blocks until nmd says go. Anything else is its end, before anything has run, and that leaves no
 * word: the directory may be the same container's next shim's by now. Once through, a file says so,
 * before anything is done that must not be done twice: an nmd that finds neither shim nor file may
 * start the container again. The word is the file's name; it was made under another beforehand.
 */
static int pass_gate(void)
{
    wait_at_gate();
    NM_FAULT("shim-let-in");
    return RET_NERRNO(renameat(NM_SHIM_FD_DIR, SHUT_GATE_FILE, NM_SHIM_FD_DIR, NM_LAUNCH_GATE_FILE));
}

static int make_gate(void)
{
    _cleanup_close_ int fd = openat(NM_SHIM_FD_DIR, SHUT_GATE_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? -errno : 0;
}

static void start_command(const struct nm_shim_spec *spec, const int log_fd[2])
{
    bool is_terminal = spec->terms.rows > 0;
    struct nm_shim_stdio io = {.fd = {is_terminal ? log_fd[0] : -EBADF, log_fd[0], log_fd[1]},
                               .is_terminal = is_terminal};
    int failed, error = nm_shim_input_open(spec, &io.fd[0]);

    if (error < 0)
        end_failed(NM_LAUNCH_STAGE_LOGS, error);
    failed = nm_shim_start(spec, &io, &record.pid, &error);
    if (failed != NM_LAUNCH_STAGE_NONE)
        end_failed((enum nm_launch_stage)failed, error);
    record.output_max_bytes = spec->terms.output_max_bytes;
    record.phase = NM_LAUNCH_STARTED;
    record.started_usec = nm_now_usec();
    record.started_realtime_usec = nm_realtime_usec();
}

static void wait_for_end(void)
{
    struct rusage usage = {0};
    int status = 0, r = nm_shim_output_pump(record.pid, &status, &usage);

    record.output_lost_bytes = nm_shim_output_lost();
    if (r < 0) /* can't be: nobody else reaps our child */
        end_failed(NM_LAUNCH_STAGE_SHIM, r);
    NM_FAULT("shim-command-ended");
    record.max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    record.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    record.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* All that is needed before the gate opens is done before: beside nmd's own preparations, and not in the command's
 * way. What has failed is told when it would have been needed. */
static enum nm_launch_stage get_ready(int spec_error, const struct nm_shim_spec *spec, int log_fd[2], int *ret_error)
{
    *ret_error = spec_error ?: make_gate();
    if (*ret_error < 0)
        return NM_LAUNCH_STAGE_SHIM;
    *ret_error = spec->account.error;
    if (*ret_error > 0)
        return NM_LAUNCH_STAGE_USER;
    *ret_error = nm_shim_output_open(spec, log_fd);
    return *ret_error < 0 ? NM_LAUNCH_STAGE_LOGS : NM_LAUNCH_STAGE_NONE;
}

int main(void)
{
    enum nm_launch_stage failed;
    struct nm_shim_spec spec;
    char *text = NULL;
    int log_fd[2], error, r;
    bool told;

    set_up_self();
    r = read_spec(&text, &spec);
    if (r == 0 && spec.terms.session.shim_pid > 0) {
        wait_at_gate();
        nm_shim_session_run(&spec);
    }
    failed = get_ready(r, &spec, log_fd, &error);
    NM_FAULT("shim-at-gate");
    r = pass_gate();
    NM_FAULT("shim-past-gate");
    if (failed != NM_LAUNCH_STAGE_NONE)
        end_failed(failed, error);
    if (r < 0)
        end_failed(NM_LAUNCH_STAGE_SHIM, r);
    start_command(&spec, log_fd);
    cgroup_fd = nm_shim_cgroup_open();
    (void)publish(&told); /* a failure here is made up for by the end's record */
    reserve_record();
    nm_shim_spec_done(&spec);
    free(text);
    nm_shim_drop_capabilities(0);
    wait_for_end();
    end();
}
