/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Account names (quota.h) for TCP clients. An account represents a host, not a single address. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define NM_PEER_NAME_SIZE (sizeof "host " + INET6_ADDRSTRLEN)

/* Prints a name such as "host 192.0.2.1". For IPv6 the name is that of the /64 network, because a host can use any
 * address in it. An IPv4-mapped IPv6 address has the same name as the IPv4 address. */
void nm_peer_name(const struct sockaddr_storage *sa, char *name, size_t size);
/* Prints the name as nm_peer_name() does, but uses "host 127.0.0.1" for all loopback addresses, because every local
 * process may bind any address of 127.0.0.0/8. This function is for servers that drop a connection of the same host to
 * make room for a new one. */
void nm_peer_host_name(const struct sockaddr_storage *sa, char *name, size_t size);
bool nm_peer_is_loopback(const struct sockaddr_storage *sa);
