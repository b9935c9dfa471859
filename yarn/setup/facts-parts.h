/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of facts.c. Each part determines some of the facts. Texts are in the arena. */

#include "yarn/setup/facts.h"

/* ---- Java and Hadoop: programs.c ---------------------------------------------------------- */

/* Finds Java and Hadoop on this host. If they don't exist, the function succeeds nevertheless. -EINVAL and
 * *ret_message: --java-home names a Java that doesn't exist. */
int nm_setup_find_programs(const struct nm_setup_request *w, struct nm_arena *a, struct nm_setup_facts *f,
                           char **ret_message);

/* ---- assignments in shell scripts: script-variables.c ------------------------------------- */

/* Finds assignments in a shell script without executing the script. The code is pure. */

enum nm_setup_line {
    NM_SETUP_LINE_OTHER,   /* the line doesn't change the variable */
    NM_SETUP_LINE_VALUE,   /* the line sets the variable */
    NM_SETUP_LINE_DEFAULT, /* the line sets the variable if it isn't set: ${NAME:-VALUE} */
    NM_SETUP_LINE_UNCLEAR, /* the line may set the variable, but only a shell can determine this or the value */
};

/* Examines a line without its newline. *ret points into the line, and has *ret_size bytes. */
enum nm_setup_line nm_setup_script_line(const char *line, size_t size, const char *name, const char **ret,
                                        size_t *ret_size);

/* ---- the cluster's hosts: reach.c --------------------------------------------------------- */

/* The hosts that the cluster's files name: their names and addresses, and whether they accept connections. These
 * functions wait for answers. While they wait, they call w->progress every second. */

/* Fills f->hosts with the hosts that the cluster's files name, each once, without addresses. */
int nm_setup_list_hosts(const struct nm_yarn_settings *s, struct nm_arena *a, struct nm_setup_facts *f);
/* Resolves the names of all hosts in parallel. Reads the name servers' addresses from /etc/resolv.conf below root.
 * Finds the network that this host shares with the first ResourceManager. */
int nm_setup_resolve(const struct nm_setup_request *w, struct nm_arena *a, struct nm_setup_facts *f);
/* Connects to each host and closes the connection, to all hosts in parallel. Takes ten seconds at most. */
void nm_setup_try_hosts(const struct nm_setup_request *w, struct nm_setup_facts *f);

/* Returns the network that contains both addresses, such as "10.1.0.0/16". mask: the mask of the first address. NULL:
 * the addresses are in different networks. The addresses must be of one family. */
struct sockaddr;
const char *nm_setup_common_network(struct nm_arena *a, const struct sockaddr *own, const struct sockaddr *mask,
                                    const struct sockaddr *other);
