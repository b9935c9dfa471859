/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The local interface: HTTP and JSON on a UNIX socket. Optionally, a read-only part of the interface, without private
 * data, is also served on a TCP address.
 *
 * libmicrohttpd parses HTTP in the daemon's event loop, without threads. The server itself accepts connections. It
 * therefore knows the client before it spends resources on the connection, and can limit the number of connections of a
 * user.
 */

#include <sys/socket.h>
#include <systemd/sd-event.h>

#include "agent/caller.h"

struct nm_listener;
struct nm_local_server;

struct nm_local_server_params {
    struct nm_listener *listener; /* a socket that is already open (listen.h), taken over on success; or NULL */
    /* path of the socket to create, replacing a stale socket; unused with listener or listen_fd */
    const char *socket_path;
    int listen_fd; /* listening UNIX socket (socket activation), taken over on success; 0 or negative: no such socket */
    mode_t socket_mode;
    const char *admin_group; /* group of administrators; NULL, "" or unknown: only root and nmd's own uid */
    const char
        *http_address; /* "127.0.0.1:8042", "[::1]:8042", "8042" (loopback); NULL or "": no TCP */
    /* additional names by which clients may address this host over TCP (host-names.h); NULL or "": no additional
     * names */
    const char *http_hosts;
    unsigned max_connections; /* 0: 2,048, or half of RLIMIT_NOFILE if this half is lower */
    /* time limit for receiving a request and for idle clients; 0: 30 s. A client has four times this
     * limit to read an answer, or a piece of a stream. Streams of future events or logs have no time limit. */
    uint64_t timeout_usec;
};

/* Starts to serve m, which must outlive the server. On failure returns -errno, and in *ret_message a sentence that the
 * caller frees (NULL when memory ran out). */
int nm_local_server_new(sd_event *event, struct nm_manager *m,
                        const struct nm_local_server_params *p, struct nm_local_server **ret,
                        char **ret_message);
/* Checks whether the server could start, without creating anything. Returns the errors and sentences of
 * nm_local_server_new(). See nm_listen_check_unix(). `socket_path` is NULL if its directory has already been refused;
 * then only the address is checked. */
int nm_local_server_check(const struct nm_local_server_params *p, const char *const *dirs, bool may_be_ours,
                          char **ret_message);
/* Checks whether a process listens on the socket. See nm_listen_probe_unix(). */
int nm_local_server_probe(const char *socket_path, char **ret_message);
/* Ends all streams, closes all connections, and removes the file of the socket unless listen_fd was passed. */
struct nm_local_server *nm_local_server_free(struct nm_local_server *s);
NM_DEFINE_CLEANUP(struct nm_local_server *, nm_local_server_free)

/* Serves the TCP part of the interface on this additional listening socket, and takes the socket over. Returns 0 or
 * -errno. */
int nm_local_server_listen(struct nm_local_server *s, int fd);

/* Adds names by which clients may address this host over TCP, separated by spaces or commas. Returns 0 or -ENOMEM. */
int nm_local_server_add_hosts(struct nm_local_server *s, const char *names);

/* Adds the names by which a cluster knows this host. fd: a listening socket as for nm_local_server_listen(); negative:
 * no socket. */
int nm_local_server_join(struct nm_local_server *s, int fd, const char *host, const char *web_host);

/* Returns the port of the TCP address, for tests that use port 0. Returns 0 if no TCP address is served. */
unsigned nm_local_server_tcp_port(const struct nm_local_server *s);
/* Gets the TCP address. If no TCP address is served, returns false and doesn't change *ret. */
bool nm_local_server_tcp_address(const struct nm_local_server *s, struct sockaddr_storage *ret);
