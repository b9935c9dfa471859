/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The local interface: HTTP and JSON on a UNIX socket, and, if wanted, the harmless part of it on a
 * TCP address.
 *
 * libmicrohttpd parses HTTP inside the event loop of the daemon: no threads. Connections are
 * accepted here, not by the library, so that who connects is known before anything is spent on it,
 * and one user can't take all the places.
 */

#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "agent/caller.h"

struct nm_local_server;

struct nm_local_server_params {
    const char *socket_path; /* made here, a stale one replaced; unused with listen_fd */
    int listen_fd; /* a listening UNIX socket (socket activation), taken on success; 0 or negative:
                      none */
    mode_t socket_mode;
    const char *admin_group; /* its members administer; NULL, "" or unknown: nobody but root and our
                                own uid */
    const char
        *http_address; /* "127.0.0.1:8042", "[::1]:8042", "8042" (loopback); NULL or "": no TCP */
    const char *http_hosts; /* more names by which this host may be asked over TCP (names.h); NULL or "": none */
    unsigned max_connections; /* 0: 2,048, or as many as half of RLIMIT_NOFILE allows */
    uint64_t timeout_usec; /* for a request to be complete, or an idle client; 0: 30 s. Streams have
                              none */
};

/* Starts to serve m. On failure returns -errno and *ret_message, a sentence that the caller frees
 * (NULL when memory ran out). m must outlive the server. */
int nm_local_server_new(sd_event *event, struct nm_manager *m,
                        const struct nm_local_server_params *p, struct nm_local_server **ret,
                        char **ret_message);
/* Would it be refused? The same sentences then, and nothing is made. See nm_listen_check_unix(). With `socket_path`
 * NULL, which is for one in a directory that is refused already, the address alone is looked at. */
int nm_local_server_check(const struct nm_local_server_params *p, const char *const *dirs, bool may_be_ours,
                          char **ret_message);
/* Would it be refused because somebody listens at the path of its socket? See nm_listen_look_unix(). */
int nm_local_server_look(const char *socket_path, char **ret_message);
/* Ends all streams, closes all connections and removes the socket that new() made. */
struct nm_local_server *nm_local_server_free(struct nm_local_server *s);
NM_DEFINE_CLEANUP(struct nm_local_server *, nm_local_server_free)

/* Serves what it does on its TCP address also where this socket listens, which is its own from now on. 0 or -errno. */
int nm_local_server_listen(struct nm_local_server *s, int fd);

/* More names by which this host may be asked over TCP, with spaces or commas between them. 0 or -ENOMEM. */
int nm_local_server_add_hosts(struct nm_local_server *s, const char *names);

/* In a cluster that knows this host by those names; fd: as above, or negative: there is no such socket. */
int nm_local_server_join(struct nm_local_server *s, int fd, const char *host, const char *web_host);

/* The port that the TCP address got, for tests with port 0; 0 without TCP. */
unsigned nm_local_server_tcp_port(const struct nm_local_server *s);
/* Of which *ret is the address, or unchanged. */
bool nm_local_server_tcp_address(const struct nm_local_server *s, struct sockaddr_storage *ret);
