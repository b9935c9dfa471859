/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parses the address of a name node, as the properties of HDFS and URIs contain it. The code is pure. */

#include <stdbool.h>
#include <stddef.h>

#define NM_AUTHORITY_SIZE 300

/* An address: HOST:PORT, HOST, [IPv6]:PORT, [IPv6] or IPv6. The last form is put into brackets. */
struct nm_authority {
    char host[NM_AUTHORITY_SIZE];   /* the host as in nm-localizer's URIs: IPv6 by nm_host_print_ipv6() */
    char target[NM_AUTHORITY_SIZE]; /* the host for nmd's own URLs, with the zone of an IPv6 address */
    unsigned port;                  /* 0: the text has no port */
    bool is_bare;                   /* IPv6 without brackets, whose last part may be meant as a port */
};

/* Returns true for an address that names no particular host: all addresses of a host, or an empty host. */
bool nm_authority_is_wildcard(const struct nm_authority *a);

/* Parses a property's value. As in Hadoop, a scheme before the address and a path after it are ignored. Returns false
 * if the value is not an address. */
bool nm_authority_read(const char *text, struct nm_authority *ret);

/* Parses the authority of SCHEME://[USER@]AUTHORITY[/...]. Returns false if the URI has another scheme. */
bool nm_authority_read_uri(const char *uri, const char *scheme, struct nm_authority *ret);
