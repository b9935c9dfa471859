/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Namespaces of a container's own, against work that it has started by others. Who talks to its
 * user's service manager (systemd-run --user) has it run anything outside of the container's
 * cgroup; so does who lets logind start such a manager (loginctl enable-linger), or who slips into
 * another process of the user through /proc/PID/root or ptrace(). So
 *
 *   - a mount namespace hides where those sockets are. It goes on receiving what the host mounts
 *     later, since the kernel makes a slave of each mount that a less privileged owner gets;
 *   - a user namespace in which all ids are what they are outside changes nothing about files, but
 *     to the kernel its processes are strangers to those outside: no tracing, no /proc/PID/root.
 *     It also is what allows the mounts, to an nmd that has no CAP_SYS_ADMIN itself.
 *
 * The user namespace belongs to root: its owner could enter it with all capabilities, and with all
 * ids mapped these would count for root's files. None of the container's processes has one, and
 * set-user-ID programs can't give them any, which is why a container that may gain privileges gets no
 * namespaces.
 *
 * Another command in the same container (a session) goes into the same namespaces, lest the two be strangers to each
 * other: no jstack, no debugger. They are taken from the container's shim, which has opened them while its child was
 * still its own program, and never from the command, which may be in some of its own by then: who made a user namespace
 * has all capabilities in it, and so over root's process that enters it.
 *
 * Only somebody outside may write the map of ids: the shim, whom its child asks through their pair
 * of sockets. Used by nmd as well, to find out beforehand whether the kernel allows it all.
 */

#include "agent/launch/shim.h"

#include <assert.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/vfs.h>

#include "util/fileio.h"

/* The users' own runtime directories, with the buses of their service managers; and the system's bus, at which logind
 * and polkit let a user have such a manager started. */
static const char *const hidden[] = {"/run/user", "/run/dbus"};

/*
 * Shared memory and queues of its own: what a command leaves in /dev/shm or as a System V segment goes with its last
 * process, where it else would stay as memory that is nobody's any more.
 */
static int give_shared_memory(void)
{
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0)
        return 0;
    return errno == ENOENT ? 0 : -errno;
}

/* Empty, not to be written to, and over the whole directory: a user who logs in later gets a place below it. */
static int hide(const char *path)
{
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;

    if (mount("tmpfs", path, "tmpfs", flags, "mode=0555,size=4k,nr_inodes=1") == 0)
        return 0;
    return errno == ENOENT ? 0 : -errno; /* a host without systemd */
}

static int ask_for_ids(int channel)
{
    const struct nm_shim_failure request = {.stage = NM_LAUNCH_STAGE_NONE};
    int32_t answer;
    ssize_t n;

    if (send(channel, &request, sizeof request, MSG_NOSIGNAL) != sizeof request)
        return -EPIPE;
    do
        n = recv(channel, &answer, sizeof answer, 0);
    while (n < 0 && errno == EINTR);
    return n == sizeof answer ? answer : -EPIPE;
}

int nm_shim_confine(int channel, bool private_ipc)
{
    int r;

    assert(channel >= 0);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | (private_ipc ? CLONE_NEWIPC : 0)) < 0)
        return -errno;
    r = ask_for_ids(channel);
    for (size_t i = 0; r >= 0 && i < NM_ARRAY_SIZE(hidden); i++)
        r = hide(hidden[i]);
    if (r >= 0 && private_ipc)
        r = give_shared_memory();
    return r;
}

/* ---- those of a container that runs ---------------------------------------------------------- */

void nm_shim_namespaces_hold(pid_t pid, bool private_ipc)
{
    static const char *const names[NM_SHIM_N_NAMESPACES] = {"user", "mnt", "ipc"};

    for (int i = 0; i < NM_SHIM_N_NAMESPACES - !private_ipc; i++) {
        _cleanup_close_ int fd = -EBADF;
        char path[40];

        (void)snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, names[i]);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            (void)dup3(fd, NM_SHIM_FD_NAMESPACES + i, O_CLOEXEC);
    }
}

/* Above the numbers that it is given to a child under. */
static int open_namespace(pid_t shim_pid, int number)
{
    _cleanup_close_ int fd = -EBADF;
    struct statfs st;
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)shim_pid, number);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    if (fstatfs(fd, &st) < 0 || st.f_type != NSFS_MAGIC)
        return -EBADF;
    return RET_NERRNO(fcntl(fd, F_DUPFD_CLOEXEC, NM_SHIM_FD_NAMESPACES));
}

/* The pid was that shim's if it still is when all is open. */
int nm_shim_namespaces_find(pid_t shim_pid, int shim_pidfd, int ret[NM_SHIM_N_NAMESPACES])
{
    struct pollfd p = {.fd = shim_pidfd, .events = POLLIN};
    int fds[NM_SHIM_N_NAMESPACES], r = 0;

    for (int i = 0; i < NM_SHIM_N_NAMESPACES; i++)
        fds[i] = open_namespace(shim_pid, NM_SHIM_FD_NAMESPACES + i);
    if (poll(&p, 1, 0) != 0)
        r = -ESRCH;
    else if (fds[0] < 0 || fds[1] < 0)
        r = fds[0] < 0 ? fds[0] : fds[1];
    for (int i = 0; i < NM_SHIM_N_NAMESPACES; i++)
        if (r < 0)
            (void)nm_close(fds[i]);
        else
            ret[i] = fds[i];
    return r;
}

/* That of users first: it gives the capability for the others, which become() takes away again. */
int nm_shim_join(const int namespaces[NM_SHIM_N_NAMESPACES])
{
    static const int kinds[NM_SHIM_N_NAMESPACES] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWIPC};

    for (int i = 0; i < NM_SHIM_N_NAMESPACES; i++) {
        if (fcntl(namespaces[i], F_GETFD) < 0 && i == NM_SHIM_N_NAMESPACES - 1)
            continue; /* it shares the host's */
        if (setns(namespaces[i], kinds[i]) < 0)
            return -errno;
    }
    return 0;
}

static int map_ids(pid_t pid, const char *file)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    /* all but the last, which is -1 and nobody's */
    return nm_write_file_at(AT_FDCWD, path, "0 0 4294967295");
}

int nm_shim_confine_child(int channel, pid_t pid)
{
    int32_t answer;

    assert(channel >= 0 && pid > 1);
    answer = map_ids(pid, "uid_map");
    if (answer >= 0)
        answer = map_ids(pid, "gid_map");
    return send(channel, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer ? 0 : -EPIPE;
}
