/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See listen.h. A UNIX socket gets its owner and mode between bind() and listen(). Clients can't connect before
 * listen(), so the socket is never accessible with wrong permissions.
 */

#include "rpc/local/listen.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <libgen.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "util/clock.h"
#include "util/parse.h"

/* Length of the queue of unaccepted connections. When it is full, clients block in connect(). */
#define BACKLOG 1024
#define FORKED_CHILD_WAIT_USEC (2 * NM_USEC_PER_SEC)

/* Returns whether a process listens on the socket. *ret_pid is the pid of this process, or 0 if unknown. Returns -errno
 * if the function can't determine this, for instance for a socket of another type or without permission to connect. */
static int is_live(const struct sockaddr_un *sa, pid_t *ret_pid)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int r = fd < 0 ? -errno : RET_NERRNO(connect(fd, (const struct sockaddr *)sa, sizeof *sa));
    struct ucred cred;
    socklen_t len = sizeof cred;

    *ret_pid = r == 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 ? cred.pid : 0;
    /* EAGAIN: a process listens, and its queue is full. */
    return r == 0 || r == -EAGAIN ? true : r == -ECONNREFUSED ? false : r;
}

/* Returns 0 if path doesn't exist, or 1 if it is a socket. */
static int check_socket(const char *path, char **ret_message)
{
    struct stat st;

    if (strlen(path) >= sizeof ((struct sockaddr_un *)NULL)->sun_path)
        return nm_fail(ret_message, -ENAMETOOLONG,
                       "socket path %s has %zu bytes; at most %zu are allowed", path, strlen(path),
                       sizeof ((struct sockaddr_un *)NULL)->sun_path - 1);
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : nm_fail(ret_message, -errno, "socket path %s: %m", path);
    if (!S_ISSOCK(st.st_mode))
        return nm_fail(ret_message, -EEXIST,
                       "socket path %s exists and is not a socket; remove it or choose another with --socket",
                       path);
    return 1;
}

static int refuse_live(const char *path, pid_t pid, char **ret_message)
{
    char holder[32] = "a running nmd";

    if (pid > 0)
        (void)snprintf(holder, sizeof holder, "process %d", (int)pid);
    return nm_fail(ret_message, -EADDRINUSE, "socket path %s in use by %s; stop it or choose another with --socket",
                   path, holder);
}

/* Waits while the only process that holds the listening socket is a child that nmd forked just before nmd was killed.
 * Such a child holds a copy of the socket for a short time and never accepts a connection. */
static int wait_for_forked_child(const struct sockaddr_un *sa, pid_t *ret_pid)
{
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    const uint64_t until = nm_now_usec() + FORKED_CHILD_WAIT_USEC;
    int r;

    while ((r = is_live(sa, ret_pid)) > 0 && *ret_pid > 0 && kill(*ret_pid, 0) < 0 && errno == ESRCH &&
           nm_now_usec() < until)
        (void)nanosleep(&pause, NULL);
    return r;
}

static int find_listener(const struct sockaddr_un *sa, char **ret_message)
{
    pid_t pid;
    int r = wait_for_forked_child(sa, &pid);

    if (r < 0 && r != -ENOENT)
        return nm_fail(ret_message, r,
                       "socket path %s may be in use: %s; remove it or choose another with --socket", sa->sun_path,
                       strerror(-r));
    return r > 0 ? refuse_live(sa->sun_path, pid, ret_message) : 0;
}

int nm_listen_probe_unix(const char *path, char **ret_message)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int r = check_socket(path, ret_message);

    if (r <= 0)
        return r;
    strcpy(sa.sun_path, path);
    return find_listener(&sa, ret_message);
}

static int make_room(const struct sockaddr_un *sa, char **ret_message)
{
    int r = find_listener(sa, ret_message);

    if (r < 0)
        return r;
    if (unlink(sa->sun_path) < 0 && errno != ENOENT)
        return nm_fail(ret_message, -errno, "stale socket %s can't be removed: %m", sa->sun_path);
    return 0;
}

int nm_listen_unix(const char *path, mode_t mode, gid_t group, int *ret_fd, char **ret_message)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int r;

    if (fd < 0)
        return nm_fail(ret_message, -errno, "can't create a socket: %m");
    r = check_socket(path, ret_message);
    if (r < 0)
        return r;
    strcpy(sa.sun_path, path);
    if (r > 0)
        r = make_room(&sa, ret_message);
    if (r < 0)
        return r;
    if (bind(fd, (struct sockaddr *)&sa, sizeof sa) < 0)
        return nm_fail(ret_message, -errno, "socket path %s: %m", path);
    if ((group != NM_LISTEN_NO_GROUP && chown(path, (uid_t)-1, group) < 0) ||
        chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0) {
        r = nm_fail(ret_message, -errno, "socket path %s: %m", path);
        (void)unlink(path);
        return r;
    }
    *ret_fd = STEAL_FD(fd);
    return 0;
}

int nm_listener_open(const char *path, mode_t mode, const char *group, struct nm_listener **ret, char **ret_message)
{
    _cleanup_(nm_listener_freep) struct nm_listener *l = calloc(1, sizeof *l);
    /* copied before the socket is created, because an error after its creation would leave the file behind */
    _cleanup_free_ char *copy = strdup(path);
    struct stat st;
    int r;

    if (l)
        l->fd = -EBADF;
    if (!l || !copy)
        return nm_fail(ret_message, -ENOMEM, "out of memory");
    l->group = nm_listen_group(group);
    r = nm_listen_unix(path, mode, l->group, &l->fd, ret_message);
    if (r < 0)
        return r;
    l->path = STEAL_PTR(copy);
    l->inode = lstat(l->path, &st) == 0 ? st.st_ino : 0;
    *ret = STEAL_PTR(l);
    return 0;
}

struct nm_listener *nm_listener_free(struct nm_listener *l)
{
    struct stat st;

    if (!l)
        return NULL;
    /* another nmd may have replaced the file */
    if (l->path && lstat(l->path, &st) == 0 && st.st_ino == l->inode)
        (void)unlink(l->path);
    (void)nm_close(l->fd);
    free(l->path);
    free(l);
    return NULL;
}

/* Returns whether dir will exist after nmd has created dirs. */
static bool is_made(const char *dir, const char *const *dirs)
{
    size_t n = strlen(dir);

    for (; *dirs; dirs++)
        if (strncmp(*dirs, dir, n) == 0 && ((*dirs)[n] == '\0' || (*dirs)[n] == '/'))
            return true;
    return false;
}

int nm_listen_check_unix(const char *path, const char *const *dirs, char **ret_message)
{
    _cleanup_free_ char *copy = strdup(path);
    const char *dir;
    int r;

    if (!copy)
        return -ENOMEM;
    r = check_socket(path, ret_message);
    if (r < 0)
        return r;
    dir = dirname(copy);
    r = RET_NERRNO(faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS));
    if (r == 0 || (r == -ENOENT && is_made(dir, dirs)))
        return 0;
    return nm_fail(ret_message, r, "socket path %s: %s", path, strerror(-r));
}

/* Splits "[::1]:8042" into "::1" and "8042", in place. A port without an address means a port on the loopback address,
 * so that omitting the address doesn't expose the host to the network. */
static void split_address(char *s, const char **ret_host, const char **ret_port)
{
    char *colon = strrchr(s, ':');

    *ret_host = "127.0.0.1";
    *ret_port = s;
    if (!colon)
        return;
    *colon = '\0';
    *ret_port = colon + 1;
    if (*s == '[' && colon > s + 1 && colon[-1] == ']') {
        colon[-1] = '\0';
        s++;
    }
    if (*s && !nm_streq(s, "localhost"))
        *ret_host = s;
}

static int find_address(const char *address, struct addrinfo **ret, char **ret_message)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    _cleanup_free_ char *copy = strdup(address);
    const char *host, *port;
    uint64_t number;
    int r;

    if (!copy)
        return nm_fail(ret_message, -ENOMEM, "out of memory");
    split_address(copy, &host, &port);
    /* getaddrinfo() accepts 99999 and truncates it to 16 bits. */
    r = nm_parse_u64(port, &number) < 0 || number > UINT16_MAX
            ? EAI_SERVICE
            : getaddrinfo(host, port, &hints, ret);
    if (r != 0)
        return nm_fail(ret_message, -EINVAL,
                       "http address %s: %s; write it as 127.0.0.1:8042 or [::1]:8042", address,
                       r == EAI_SERVICE ? "the port must be a number up to 65535" : gai_strerror(r));
    return 0;
}

int nm_listen_parse_tcp(const char *address, struct sockaddr_storage *ret)
{
    struct addrinfo *ai;
    int r = find_address(address, &ai, NULL);

    if (r < 0)
        return r;
    *ret = (struct sockaddr_storage){};
    memcpy(ret, ai->ai_addr, ai->ai_addrlen);
    freeaddrinfo(ai);
    return 0;
}

/* Creates and binds a socket that doesn't listen yet. */
static int bind_tcp(const char *address, int *ret_fd, char **ret_message)
{
    _cleanup_close_ int fd = -EBADF;
    struct addrinfo *ai;
    int r = find_address(address, &ai, ret_message), one = 1;

    if (r < 0)
        return r;
    fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, ai->ai_addr, ai->ai_addrlen) < 0)
        r = nm_fail(ret_message, -errno, "http address %s: %m", address);
    freeaddrinfo(ai);
    if (r == 0)
        *ret_fd = STEAL_FD(fd);
    return r;
}

int nm_listen_tcp(const char *address, int *ret_fd, char **ret_message)
{
    _cleanup_close_ int fd = -EBADF;
    int r = bind_tcp(address, &fd, ret_message);

    if (r < 0)
        return r;
    if (listen(fd, BACKLOG) < 0)
        return nm_fail(ret_message, -errno, "http address %s: %m", address);
    *ret_fd = STEAL_FD(fd);
    return 0;
}

int nm_listen_check_tcp(const char *address, bool may_be_ours, char **ret_message)
{
    _cleanup_free_ char *message = NULL;
    _cleanup_close_ int fd = -EBADF;
    int r = bind_tcp(address, &fd, &message);

    if (r >= 0 || (r == -EADDRINUSE && may_be_ours))
        return 0;
    *ret_message = STEAL_PTR(message);
    return r;
}

/* Looks up the group once at the start. The look-up may block in a directory service, which isn't allowed in the event
 * loop. A group that doesn't exist has no members, so only root and nmd's own uid are administrators. */
gid_t nm_listen_group(const char *name)
{
    const struct group *g = name && *name ? getgrnam(name) : NULL;

    return g ? g->gr_gid : NM_LISTEN_NO_GROUP;
}

/* Checks whether the group was among the peer's supplementary groups when it connected. */
static int in_peer_groups(int fd, gid_t gid, bool *ret)
{
    socklen_t len = 64 * sizeof(gid_t);
    _cleanup_free_ gid_t *groups = malloc(len);
    int r;

    if (!groups)
        return -ENOMEM;
    r = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len);
    if (r < 0 && errno == ERANGE) { /* len is now the required size */
        free(groups);
        groups = malloc(len);
        if (!groups)
            return -ENOMEM;
        r = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len);
    }
    if (r < 0)
        return -errno;
    *ret = false;
    for (size_t i = 0; i < len / sizeof(gid_t); i++)
        if (groups[i] == gid)
            *ret = true;
    return 0;
}

/* Returns the identity that the kernel recorded when the client connected. This identity doesn't change if the process
 * changes its user later or passes the socket to another process. */
int nm_listen_peer(int fd, gid_t admin_gid, struct nm_caller *ret)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    bool member = false;

    assert(fd >= 0);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -errno;
    if (admin_gid != NM_LISTEN_NO_GROUP) {
        int r = in_peer_groups(fd, admin_gid, &member);
        if (r < 0)
            return r;
        member = member || cred.gid == admin_gid;
    }
    *ret = (struct nm_caller){
        .uid = cred.uid,
        .gid = cred.gid,
        .pid = cred.pid,
        .admin = cred.uid == 0 || cred.uid == geteuid() || member,
    };
    return 0;
}
