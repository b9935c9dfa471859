/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nm-shim: the parent of one container's command. nmd may be restarted, upgraded or crash, but only the parent of a
 * process can read its exit status. So this parent is a small program, which only records the status and copies the
 * command's output (shim-output.c). See shim.h for its descriptors and launch.h for its files.
 *
 * The shim lives in the container's cgroup: it is frozen and killed with the container, and its memory is charged to
 * the container. The shim stays root without capabilities, so that the container's user can neither signal nor trace
 * it. All signals are blocked (SIGKILL ends the shim and thus also its command), and as leader of its own session it
 * gets no signals from a terminal. OOM score -1000 spares the shim even if the kernel kills a whole group
 * (memory.oom.group), so the end is recorded.
 *
 * The container ends when its command ends. The shim does not wait for remaining descendants: nmd kills them with the
 * cgroup. Until then it reaps orphans, since not every host's PID 1 reaps orphans.
 */

#include "shim/shim-internal.h"

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

/* Makes a second file of a record's size while the disk has space, so that the end can be recorded even if the disk
 * fills up later. */
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

/* Writes the record of the start into the gate's file, and gives the complete file a second name. So this record needs
 * no file of its own, and the record of the end replaces only a name. If each container deleted a file, all starts
 * would become slower: for each new file, ext4 skips the inodes that were freed in the last minutes, one by one. */
static int write_started(const char *text)
{
    int r = nm_write_file_at(NM_SHIM_FD_DIR, NM_LAUNCH_GATE_FILE, text);

    if (r < 0)
        return r;
    return RET_NERRNO(linkat(NM_SHIM_FD_DIR, NM_LAUNCH_GATE_FILE, NM_SHIM_FD_DIR, NM_LAUNCH_RECORD_FILE, 0));
}

/* Uses a new file if the reserved file or the gate's file can't be used, for example if the file system has no hard
 * links. */
static int write_record(const char *text)
{
    if ((record.phase == NM_LAUNCH_ENDED ? write_spare(text) : write_started(text)) == 0)
        return 0;
    return nm_write_file_atomic_at(NM_SHIM_FD_DIR, NM_LAUNCH_RECORD_FILE, text, 0600);
}

/* Writes the record for a later nmd, then sends it to the running nmd. Fails if the file is not written;
 * *ret_reported: the running nmd has received the record. */
static int publish(bool *ret_reported)
{
    char text[NM_LAUNCH_RECORD_SIZE];
    int r = nm_launch_record_print(&record, text, sizeof text);

    if (r < 0)
        return r;
    r = write_record(text);
    if (record.phase == NM_LAUNCH_ENDED)
        NM_FAULT("shim-end-recorded");
    *ret_reported = send(NM_SHIM_FD_SOCKET, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
    return r;
}

/*
 * Records the end and exits. If no nmd is running and the disk is full, the shim keeps running until it can send or
 * write the record, so that the exit status is not lost. If the directory was removed, the record is no longer needed.
 */
static _Noreturn void end(void)
{
    bool reported = false;

    nm_shim_cgroup_read(cgroup_fd, &record);
    record.phase = NM_LAUNCH_ENDED;
    record.ended_usec = nm_now_usec();
    record.ended_realtime_usec = nm_realtime_usec();
    for (;;) {
        int r = publish(&reported);

        if (r == 0 || r == -ENOENT || reported)
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
    /* nmd's child has blocked signals, too, but each libc excludes its internal signals from "all" */
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    (void)setsid(); /* nmd's child has already called setsid() */
    (void)chdir("/");
    (void)umask(077);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    /* a program executed by descriptor is named after the descriptor's number */
    (void)prctl(PR_SET_NAME, NM_SHIM_NAME);
    /* Resets nmd's raised priority. SCHED_RESET_ON_FORK cannot do it, because systemd's RestrictRealtime= takes the
     * flag for a policy and refuses it. */
    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) < 0 && errno == 0)
        (void)setpriority(PRIO_PROCESS, 0, 0);
    /* an unprivileged nmd may be refused: the shim is then as likely an OOM victim as its command */
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
 * Blocks until nmd opens the gate. Any other event ends the shim before it has run a command, without a record, since a
 * new shim of the container may already use the directory. After the gate the shim first creates a file, before any
 * step that must not be done twice: if neither shim nor file exists, nmd may start the container again. Only the file's
 * name matters; the file was made beforehand under another name.
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
    bool is_terminal = spec->options.rows > 0;
    struct nm_shim_stdio io = {.fd = {is_terminal ? log_fd[0] : -EBADF, log_fd[0], log_fd[1]},
                               .is_terminal = is_terminal};
    int failed, error = nm_shim_input_open(spec, &io.fd[0]);

    if (error < 0)
        end_failed(NM_LAUNCH_STAGE_LOGS, error);
    failed = nm_shim_start(spec, &io, &record.pid, &error);
    if (failed != NM_LAUNCH_STAGE_NONE)
        end_failed((enum nm_launch_stage)failed, error);
    record.output_max_bytes = spec->options.output_max_bytes;
    record.phase = NM_LAUNCH_STARTED;
    record.started_usec = nm_now_usec();
    record.started_realtime_usec = nm_realtime_usec();
}

static void wait_for_end(void)
{
    struct rusage usage = {0};
    int status = 0, r = nm_shim_output_pump(record.pid, &status, &usage);

    record.output_lost_bytes = nm_shim_output_lost();
    if (r < 0) /* cannot happen: only this shim reaps its child */
        end_failed(NM_LAUNCH_STAGE_SHIM, r);
    NM_FAULT("shim-command-ended");
    record.max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    record.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    record.exit_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* Prepares everything before the gate opens: in parallel to nmd's preparations, and without delay for the command.
 * Failures are reported when the command would start. */
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

/* nmd starts a shim with one argument, which the shim doesn't evaluate. */
int main(int argc, char **argv)
{
    enum nm_launch_stage failed;
    struct nm_shim_spec spec;
    char *text = NULL;
    int log_fd[2], error, r;
    bool reported;

    if (argc == 3 && nm_streq(argv[1], "--list-files"))
        return nm_shim_list(argv[2]);
    if (argc == 3 && nm_streq(argv[1], NM_SPAWNER_ARG))
        return nm_shim_spawner();
    set_up_self();
    r = read_spec(&text, &spec);
    if (r == 0 && spec.options.session.shim_pid > 0) {
        (void)close(NM_SHIM_FD_SPEC);
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
    (void)publish(&reported); /* if publishing fails, the record of the end replaces this record */
    reserve_record();
    (void)close(NM_SHIM_FD_SPEC); /* frees the file, so the command does not wait for it */
    nm_shim_spec_done(&spec);
    free(text);
    nm_shim_drop_capabilities(0);
    wait_for_end();
    end();
}
