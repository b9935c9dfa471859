/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs containers in separate namespaces, so that a container can't run commands outside of its cgroup. A process of
 * the container could connect to its user's service manager (systemd-run --user), and the manager would run a command
 * outside of the cgroup. The process could also make logind start such a manager (loginctl enable-linger), or use
 * another process of the user through /proc/PID/root or ptrace(). Therefore:
 *
 *   - A mount namespace hides the directories of these managers' sockets. Later mounts of the host still appear in it,
 *     since the kernel makes each mount a slave mount if the namespace's owner is less privileged.
 *   - A user namespace maps all ids to themselves, so access to files does not change. But the kernel does not permit
 *     processes in the namespace to trace processes outside, or to use their /proc/PID/root. With the user namespace,
 *     an nmd without CAP_SYS_ADMIN can also make the mounts.
 *
 * The owner of the user namespace is root. An owner can enter its namespace with all capabilities. Because all ids are
 * mapped, these capabilities would apply to root's files. No process of the container has a capability, and
 * no_new_privs keeps set-user-ID programs from gaining capabilities. So a container that is allowed to gain privileges
 * gets no separate namespaces.
 *
 * A session in the container enters the same namespaces. Otherwise the session's processes and the container's
 * processes could not trace each other (jstack, debuggers). The session gets the namespaces from the container's shim,
 * which has opened them before its child's exec. The session must not use the present namespaces of the command,
 * because the command may have created others: the creator of a user namespace has all capabilities in it, and so could
 * control root's process that enters the namespace.
 *
 * Only a process outside of the user namespace can write the uid and gid maps. So the child asks the shim through a
 * socket pair to write them. nmd also uses this code, to test whether the kernel permits these namespaces
 * (launch-probe.c).
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

/* /run/user has the users' runtime directories with the sockets of their service managers. /run/dbus has the socket of
 * the system bus, through which logind and polkit allow a user to start a service manager. */
static const char *const hidden[] = {"/run/user", "/run/dbus"};

/*
 * Mounts a separate /dev/shm for the container. The kernel frees its data, and the System V segments of the separate
 * IPC namespace, when the container's last process exits. On the host's /dev/shm, this data would remain in memory
 * after the container's end.
 */
static int give_shared_memory(void)
{
    if (mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0)
        return 0;
    return errno == ENOENT ? 0 : -errno;
}

/* Mounts an empty, read-only directory over the path. So directories of users who log in later are hidden, too. */
static int hide(const char *path)
{
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;

    if (mount("tmpfs", path, "tmpfs", flags, "mode=0555,size=4k,nr_inodes=1") == 0)
        return 0;
    return errno == ENOENT ? 0 : -errno; /* the directory is missing on a host without systemd */
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

void nm_shim_namespaces_retain(pid_t pid, bool private_ipc)
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

/* Opens a namespace that the shim keeps open. The new descriptor's number is above the numbers that a shim's child
 * uses. */
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

/* Opens the namespaces. The pid may have been reused, so the shim's pidfd is checked afterwards: if the shim has not
 * exited, all files were those of the shim. */
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

/* Enters the user namespace first, because this gives the process the capability to enter the other namespaces.
 * become() in shim-child.c drops the capability. */
int nm_shim_join(const int namespaces[NM_SHIM_N_NAMESPACES])
{
    static const int kinds[NM_SHIM_N_NAMESPACES] = {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWIPC};

    for (int i = 0; i < NM_SHIM_N_NAMESPACES; i++) {
        if (fcntl(namespaces[i], F_GETFD) < 0 && i == NM_SHIM_N_NAMESPACES - 1)
            continue; /* the container has no separate IPC namespace */
        if (setns(namespaces[i], kinds[i]) < 0)
            return -errno;
    }
    return 0;
}

static int map_ids(pid_t pid, const char *file)
{
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    /* Map all ids except the last, 4294967295 (-1), which is not a valid id. */
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
