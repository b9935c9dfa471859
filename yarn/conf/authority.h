/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where a name node is, as the properties of HDFS and its URIs say it (pure). */

#include <stdbool.h>
#include <stddef.h>

#define NM_AUTHORITY_SIZE 300

/* HOST:PORT, HOST, [IPv6]:PORT, [IPv6] or IPv6, of which the last is put into brackets. */
struct nm_authority {
    char host[NM_AUTHORITY_SIZE];   /* as nm-localizer has it of a URI: IPv6 by nm_host_print_ipv6() */
    char target[NM_AUTHORITY_SIZE]; /* the same for our own URLs: with the zone, if there is one */
    unsigned port;                  /* 0: it has none */
    bool is_bare;                   /* IPv6 without brackets, in which a port may be meant to stand */
};

/* Whether it says nothing of where it is: all addresses of a host, or no host at all. */
bool nm_authority_is_wildcard(const struct nm_authority *a);

/* The value of a property: as in Hadoop a scheme before it, and a path behind that, say nothing. False: it is none. */
bool nm_authority_read(const char *text, struct nm_authority *ret);

/* Of SCHEME://[USER@]AUTHORITY[/...], where it has that scheme. */
bool nm_authority_read_uri(const char *uri, const char *scheme, struct nm_authority *ret);
