/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Listening sockets, and the identity of clients. */

#include <sys/socket.h>
#include <sys/types.h>

#include "agent/caller.h"
#include "util/macros.h"

#define NM_LISTEN_NO_GROUP ((gid_t)-1)

/* Creates a listening UNIX socket at path. Replaces a socket on which no process listens. Returns -EADDRINUSE if a
 * process listens on it, or -EEXIST if path isn't a socket. On failure *ret_message is a sentence that the caller
 * frees. */
int nm_listen_unix(const char *path, mode_t mode, gid_t group, int *ret_fd, char **ret_message);

/* A listening UNIX socket with its file. Clients can connect to it before a server exists (nm_local_server_new()): the
 * kernel keeps their connections and requests in its queue. */
struct nm_listener {
    int fd;
    gid_t group; /* see nm_listen_group() */
    char *path;
    ino_t inode; /* distinguishes this socket from a later socket at the same path */
};

/* Creates the socket as nm_listen_unix() does. `group`: name of the group of the socket, or NULL. */
int nm_listener_open(const char *path, mode_t mode, const char *group, struct nm_listener **ret, char **ret_message);
/* Closes the socket, and removes its file if the file is still this socket. */
struct nm_listener *nm_listener_free(struct nm_listener *l);
NM_DEFINE_CLEANUP(struct nm_listener *, nm_listener_free)

/* Checks whether a process listens on the socket. If so, returns -EADDRINUSE and the sentence of nm_listen_unix().
 * Creates and removes no file. */
int nm_listen_probe_unix(const char *path, char **ret_message);

/* Creates a listening TCP socket on "ADDRESS:PORT", "[ADDRESS]:PORT" or "PORT" (loopback). ADDRESS is numeric or
 * "localhost". */
int nm_listen_tcp(const char *address, int *ret_fd, char **ret_message);

/* Parses an address in the format of nm_listen_tcp(). Returns 0, or -EINVAL if it is invalid. */
int nm_listen_parse_tcp(const char *address, struct sockaddr_storage *ret);

/* Check whether these sockets could be created, without creating anything. An nmd that already listens on the path
 * isn't an error. A port in use is accepted if nmd itself may be using it (may_be_ours). `dirs`: directories that nmd
 * will create before it creates the socket, ending with NULL. */
int nm_listen_check_unix(const char *path, const char *const *dirs, char **ret_message);
int nm_listen_check_tcp(const char *address, bool may_be_ours, char **ret_message);

/* Returns the gid of a group, or NM_LISTEN_NO_GROUP if the group doesn't exist. */
gid_t nm_listen_group(const char *name);

/* Fills in the identity of the client (SO_PEERCRED). admin is true for root, for nmd's own uid, and for users whose
 * primary group or supplementary group (SO_PEERGROUPS) is admin_gid. */
int nm_listen_peer(int fd, gid_t admin_gid, struct nm_caller *ret);
