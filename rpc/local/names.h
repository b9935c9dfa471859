/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * By which names and addresses this node may be asked over TCP. A page of a stranger's can make its own name lead to
 * this node (DNS rebinding), and what a browser then sends here has that name in Host: it is refused.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/macros.h"

struct nm_names;

/* localhost, the host's name with and without its domain, what /etc/hosts calls it, and its name in the domains that
 * resolv.conf searches. 0 or -ENOMEM. */
int nm_names_new(struct nm_names **ret);
struct nm_names *nm_names_free(struct nm_names *n);
NM_DEFINE_CLEANUP(struct nm_names *, nm_names_free)

/* Adds names with spaces or commas between them. 0 or -ENOMEM. */
int nm_names_add(struct nm_names *n, const char *names);
/* For tests: adds what such files say of that host. */
int nm_names_add_from(struct nm_names *n, const char *host, const char *hosts_file, const char *resolv_file);

/* Takes the name or address out of a Host header's value, without port, brackets and a dot at its end. False: it is
 * none, or too long for size. */
bool nm_names_split(const char *value, size_t value_size, char *ret, size_t size);
/* Is it one of the names, or an address of an interface of this host's? Names are compared without regard to case. */
bool nm_names_have(struct nm_names *n, const char *name);
