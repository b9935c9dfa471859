/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs containers in separate namespaces, so that a container can't run commands outside of its cgroup. A process of
 * the container could connect to its user's service manager (systemd-run --user), and the manager would run a command
 * outside of the cgroup. The process could also make logind start such a manager (loginctl enable-linger), or use
 * another process of the user through /proc/PID/root or ptrace(). Therefore:
 *
 *   - A mount namespace hides the directories of these managers' sockets. Later mounts and unmounts of the host still
 *     take effect in it, since the kernel makes each shared mount a slave mount if the namespace's owner is less
 *     privileged. systemd makes all mounts of the host shared. On a host with private mounts, a disk that is unmounted
 *     stays in use until the containers that were started before have ended.
 *   - A user namespace maps all ids to themselves, so access to files does not change. But the kernel does not permit
 *     processes in the namespace to trace processes outside, or to use their /proc/PID/root. With the user namespace,
 *     an nmd without CAP_SYS_ADMIN can also make the mounts.
 *
 * The owner of the user namespace is root. An owner can enter its namespace with all capabilities. Because all ids are
 * mapped, these capabilities would apply to root's files. No process of the container has a capability, and
 * no_new_privs keeps set-user-ID programs from gaining capabilities. So a container that is allowed to gain privileges
 * gets no separate namespaces.
 *
 * Only a process outside of the user namespace can write the uid and gid maps. So the child asks the shim through a
 * socket pair to write them. nmd also uses this code, to test whether the kernel permits these namespaces
 * (launch-probe.c).
 */

#include "agent/launch/shim.h"

#include <assert.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>

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
