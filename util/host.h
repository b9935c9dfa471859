/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Texts for hosts. In URIs and lists, a host is a name, an IPv4 address, or an IPv6 address in brackets. For the TCP
 * clients of a server, the text is the name of an account (quota.h). */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define NM_HOST_IPV6_SIZE 50 /* size of an address in brackets, with the NUL */

/* Prints the IPv6 address in the first `size` bytes of text in its canonical form, because one address can be written
 * in several ways. Omits a zone after '%', because it is only valid on this node. Returns false if the text isn't an
 * IPv6 address. */
bool nm_host_print_ipv6(const char *text, size_t size, char ret[static NM_HOST_IPV6_SIZE]);

/* Returns whether key has the form HOST:PORT with that host, ignoring case. *ret_port is then the port. */
bool nm_host_is_in(const char *key, const char *host, unsigned *ret_port);

#define NM_PEER_NAME_SIZE (sizeof "host " + INET6_ADDRSTRLEN)

/* Prints the name of a client's account, such as "host 192.0.2.1". An account represents a host, not a single address.
 * For IPv6 the name contains the /64 network, because a host can use any address of the network. An IPv4-mapped IPv6
 * address has the same name as the IPv4 address. */
void nm_peer_name(const struct sockaddr_storage *sa, char *name, size_t size);
/* Prints the name as nm_peer_name() does, but uses "host 127.0.0.1" for all loopback addresses, because every local
 * process may bind any address of 127.0.0.0/8. This function is for servers that drop a connection of the same host to
 * make room for a new connection. */
void nm_peer_host_name(const struct sockaddr_storage *sa, char *name, size_t size);
bool nm_peer_is_loopback(const struct sockaddr_storage *sa);
