/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Hosts in the format of URIs: a name, an IPv4 address, or an IPv6 address in brackets. */

#include <stdbool.h>
#include <stddef.h>

#define NM_HOST_IPV6_SIZE 50 /* size of an address in brackets, with the NUL */

/* Prints the IPv6 address in the first `size` bytes of text in its canonical form, because one address can be written
 * in several ways. Omits a zone after '%', because it is only valid on this node. Returns false if the text isn't an
 * IPv6 address. */
bool nm_host_print_ipv6(const char *text, size_t size, char ret[static NM_HOST_IPV6_SIZE]);

/* Returns whether key has the form HOST:PORT with that host, ignoring case. *ret_port is then the port. */
bool nm_host_is_in(const char *key, const char *host, unsigned *ret_port);
