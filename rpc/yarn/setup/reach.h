/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The cluster's hosts, as this one gets at them: names, addresses, and whether somebody answers. It waits. */

#include "rpc/yarn/setup/facts.h"

/* The hosts of the cluster's files, each once, into `hosts`, without addresses. */
int nm_setup_list_hosts(const struct nm_yarn_settings *s, struct nm_arena *a, struct nm_setup_facts *f);
/* Their addresses, those of the name servers in /etc/resolv.conf below root, and which of this host's networks the
 * first ResourceManager is in. */
int nm_setup_resolve(const char *root, struct nm_arena *a, struct nm_setup_facts *f);
/* Opens a connection to each ResourceManager, for ten seconds at most with all of them, and closes it. */
void nm_setup_try_hosts(struct nm_setup_facts *f);

/* The network that both are in, "10.1.0.0/16", by the mask of the first; NULL: none. Addresses of one family. */
struct sockaddr;
const char *nm_setup_common_network(struct nm_arena *a, const struct sockaddr *own, const struct sockaddr *mask,
                                    const struct sockaddr *other);
