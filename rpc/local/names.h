/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names and addresses by which clients may address this node over TCP. An attacker's page can make its own name
 * resolve to this node (DNS rebinding). The browser then sends that name in Host, and the request is refused.
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
/* Adds the names of a host from files in the format of /etc/hosts and resolv.conf. Used by tests. */
int nm_names_add_from(struct nm_names *n, const char *host, const char *hosts_file, const char *resolv_file);

/* Extracts the name or address from the value of a Host header, without port, brackets and trailing dot. Returns false
 * if the value is invalid or too long for size. */
bool nm_names_split(const char *value, size_t value_size, char *ret, size_t size);
/* Returns whether the name is in the set or is an address of an interface of this host. Ignores case. */
bool nm_names_have(struct nm_names *n, const char *name);
