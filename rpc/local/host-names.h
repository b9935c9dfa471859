/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks of names in requests, against attacks through browsers. Over TCP, the server checks the name or address by
 * which a client addresses this node. On the UNIX socket, the server also checks the origin of a request. An attacker's
 * page can make its own name resolve to this node (DNS rebinding). The browser then sends that name in Host, and the
 * server refuses the request.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/macros.h"

struct nm_names;

/* Creates the set with localhost, the host's name with and without its domain, its aliases in /etc/hosts, and its name
 * in the search domains of resolv.conf. Returns 0 or -ENOMEM. */
int nm_names_new(struct nm_names **ret);
struct nm_names *nm_names_free(struct nm_names *n);
NM_DEFINE_CLEANUP(struct nm_names *, nm_names_free)

/* Adds names separated by spaces or commas. Returns 0 or -ENOMEM. */
int nm_names_add(struct nm_names *n, const char *names);
/* Adds the names of a host from files in the format of /etc/hosts and resolv.conf. For tests. */
int nm_names_add_from(struct nm_names *n, const char *host, const char *hosts_file, const char *resolv_file);

/* Extracts the name or address from the value of a Host header, without port, brackets and trailing dot. Returns false
 * if the value is invalid or too long for size. */
bool nm_names_split(const char *value, size_t value_size, char *ret, size_t size);
/* Returns whether the name is in the set or is an address of an interface of this host. Ignores case. */
bool nm_names_have(struct nm_names *n, const char *name);

/* ---- browsers on the UNIX socket ---------------------------------------------------------- */

/*
 * Protection against browsers on the UNIX socket. Browsers can't connect to UNIX sockets, but users forward a local
 * port to the socket (ssh -L 8042:/run/nmd/nmd.sock NODE) to see the page with their containers. Other pages in the
 * same browser can then send requests to that port, and nmd would treat these requests as requests of the user. Pages
 * can't change two headers, which reveal such requests: Origin is the page that sends the request, and Host is the name
 * to which the browser sent it.
 */

enum nm_browser_outcome {
    NM_BROWSER_E_ORIGIN = 1, /* the request comes from a page that isn't nmd's */
    /* the name in Host may belong to an attacker, whose DNS server resolves the name to this host (DNS rebinding) */
    NM_BROWSER_E_HOST,
};

/* Checks the values of both headers; NULL: the header is missing. Programs other than browsers send no Origin, and may
 * use any name without a dot as Host. Returns 0 or an outcome. */
int nm_browser_check(struct nm_names *names, const char *origin, const char *host);
