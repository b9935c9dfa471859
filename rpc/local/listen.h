/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Listening sockets, and who is at the other end of an accepted one. */

#include <sys/socket.h>

#include "agent/caller.h"

#define NM_LISTEN_NO_GROUP ((gid_t)-1)

/* Makes a listening UNIX socket at path. A path where nobody answers any more is replaced; one
 * where somebody does is -EADDRINUSE; one that is no socket is -EEXIST. On failure *ret_message is
 * a sentence that the caller frees. */
int nm_listen_unix(const char *path, mode_t mode, gid_t group, int *ret_fd, char **ret_message);

/* Does somebody listen there? -EADDRINUSE and the same sentence then; nothing is made or removed. */
int nm_listen_look_unix(const char *path, char **ret_message);

/* Makes a listening TCP socket on "ADDRESS:PORT", "[ADDRESS]:PORT" or "PORT" (loopback); numeric,
 * or "localhost". */
int nm_listen_tcp(const char *address, int *ret_fd, char **ret_message);

/* Reads an address as nm_listen_tcp() takes it. -EINVAL: the text is not such an address. */
int nm_listen_parse_tcp(const char *address, struct sockaddr_storage *ret);

/* Would that be possible? Nothing is made, and nobody is disturbed: whether a nmd answers at the path isn't asked, and
 * that a port is taken is no obstacle where nmd itself may have it. `dirs`: those that nmd makes before, NULL at the
 * end. */
int nm_listen_check_unix(const char *path, const char *const *dirs, char **ret_message);
int nm_listen_check_tcp(const char *address, bool may_be_ours, char **ret_message);

/* The gid of a group, or NM_LISTEN_NO_GROUP when there is none of that name. */
gid_t nm_listen_group(const char *name);

/* Fills in who connected (SO_PEERCRED): admin is root, our own uid, or a member of admin_gid, be it
 * as primary or as supplementary group (SO_PEERGROUPS). */
int nm_listen_peer(int fd, gid_t admin_gid, struct nm_caller *ret);
