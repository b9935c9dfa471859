/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The cluster's hosts: the hosts' names and addresses, and whether the hosts accept connections. These functions wait
 * for answers, and call w->progress every second meanwhile. */

#include "yarn/setup/facts.h"

/* Lists the hosts that the cluster's files name in f->hosts, each once, without addresses. */
int nm_setup_list_hosts(const struct nm_yarn_settings *s, struct nm_arena *a, struct nm_setup_facts *f);
/* Resolves the addresses of all hosts at once, reads the name servers' addresses from /etc/resolv.conf below root, and
 * finds the network of this host that the first ResourceManager is in. */
int nm_setup_resolve(const struct nm_setup_wish *w, struct nm_arena *a, struct nm_setup_facts *f);
/* Opens and closes a connection to each host, all at the same time, in ten seconds at most. */
void nm_setup_try_hosts(const struct nm_setup_wish *w, struct nm_setup_facts *f);

/* Returns the network that contains both addresses, such as "10.1.0.0/16", by the mask of the first address. NULL: no
 * network contains both. The addresses are of one family. */
struct sockaddr;
const char *nm_setup_common_network(struct nm_arena *a, const struct sockaddr *own, const struct sockaddr *mask,
                                    const struct sockaddr *other);
