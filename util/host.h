/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Hosts as URIs name them: a name, an IPv4 address, or an IPv6 address in brackets. */

#include <stdbool.h>
#include <stddef.h>

#define NM_HOST_IPV6_SIZE 50 /* in brackets, with its NUL */

/* Prints an address of IPv6, the first `size` bytes of text, in the one way in which all of us write it: several
 * texts name the same address. The zone behind a '%' is left out: it is this node's and not a part of the address.
 * False: it is none. */
bool nm_host_print_ipv6(const char *text, size_t size, char ret[static NM_HOST_IPV6_SIZE]);

/* Returns whether key is HOST:PORT with that host, in any case. */
bool nm_host_is_in(const char *key, const char *host, unsigned *ret_port);
