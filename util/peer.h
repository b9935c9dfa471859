/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The name of an account (ration.h) for who connects over TCP: one for each host, and not for each address. */

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#define NM_PEER_NAME_SIZE (sizeof "host " + INET6_ADDRSTRLEN)

/* "host 192.0.2.1"; of an IPv6 address its network of 64 bits, in which a host has as many addresses as it likes. */
void nm_peer_name(const struct sockaddr_storage *sa, char *name, size_t size);
