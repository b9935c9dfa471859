/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Gives containers namespaces of their own, so that containers cannot have other processes start work for them. A
 * process that talks to its user's service manager (systemd-run --user) can let this manager run commands outside of
 * the container's cgroup. So can a process that makes logind start such a manager (loginctl enable-linger), or that
 * enters another process of the user through /proc/PID/root or ptrace(). Therefore:
 *
 *   - a mount namespace hides the sockets' directories. This namespace still receives later mounts of the host, since
 *     the kernel makes each mount a slave if the owner is less privileged;
 *   - a user namespace that maps all ids to themselves does not affect access to files. But the kernel denies processes
 *     in it tracing and /proc/PID/root of processes outside. The user namespace also permits the mounts to an nmd that
 *     has no CAP_SYS_ADMIN itself.
 *
 * The user namespace belongs to root: the namespace's owner could enter it with all capabilities, and as all ids are
 * mapped, these would apply to root's files. No process of the container has a capability, and set-user-ID programs
 * cannot gain capabilities. For this reason a container that may gain privileges gets no namespaces.
 *
 * A session in the container enters the same namespaces; otherwise its processes and the container's could not trace
 * each other (jstack, debuggers). The namespaces come from the container's shim, which has opened them before its
 * child's exec. The command may be in namespaces of its own by then, and these are not used: the creator of a user
 * namespace has all capabilities in it, and thus over root's process that enters it.
 *
 * Only a process outside of the user namespace can write the map of ids: the child asks the shim to do so through their
 * socket pair. nmd also uses this code, to test whether the kernel permits it.
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

/* The users' runtime directories, with the buses of their service managers, and the system bus, through which logind
 * and polkit allow a user to start such a manager. */
static const char *const hidden[] = {"/run/user", "/run/dbus"};

/*
 * Gives the container its own shared memory and queues: data in /dev/shm or System V segments then disappears with the
 * last process. Otherwise this data would remain as memory without an owner.
 */
static int give_shared_memory(void)
{
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0)
        return 0;
    return errno == ENOENT ? 0 : -errno;
}

/* Mounts an empty, read-only directory over the whole path: directories of users who log in later are also below it. */
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

/* ---- namespaces of a running container ------------------------------------------------------- */

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

/* Opens the namespace's file at a number above the numbers that a child receives. */
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

/* Finds the namespaces. The pid still belonged to the container's shim if the shim exists after all files
 * were opened. */
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

/* Enters the user namespace first: this gives the capability for the other namespaces. become() drops the capability
 * again. */
int nm_shim_join(const int namespaces[NM_SHIM_N_NAMESPACES])
{
    static const int kinds[NM_SHIM_N_NAMESPACES] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWIPC};

    for (int i = 0; i < NM_SHIM_N_NAMESPACES; i++) {
        if (fcntl(namespaces[i], F_GETFD) < 0 && i == NM_SHIM_N_NAMESPACES - 1)
            continue; /* the session shares the host's namespace */
        if (setns(namespaces[i], kinds[i]) < 0)
            return -errno;
    }
    return 0;
}

static int map_ids(pid_t pid, const char *file)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    /* Map all ids except the last, -1, which is not a user. */
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
