/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The name of an account (quota.h) for who connects over TCP: one for each host, and not for each address. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define NM_PEER_NAME_SIZE (sizeof "host " + INET6_ADDRSTRLEN)

/* Prints "host 192.0.2.1". An IPv6 address is named by its network of 64 bits, since a host has as many addresses in it
 * as it likes. An IPv4 address has the same name when it comes mapped to IPv6. */
void nm_peer_name(const struct sockaddr_storage *sa, char *name, size_t size);
/* The same, but all loopback addresses are "host 127.0.0.1", since every process of this host may bind any of
 * 127.0.0.0/8: for a server where one that is served makes way for the next. */
void nm_peer_host_name(const struct sockaddr_storage *sa, char *name, size_t size);
bool nm_peer_is_loopback(const struct sockaddr_storage *sa);
