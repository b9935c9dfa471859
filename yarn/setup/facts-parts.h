/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of facts.c: each finds some facts. Texts are in the arena. */

#include "yarn/setup/facts.h"

/* ---- Java and Hadoop: programs.c ---------------------------------------------------------- */

/* Finds Java and Hadoop on this host. Succeeds also if there is no Java or Hadoop. -EINVAL and *ret_message:
 * --java-home names a Java that doesn't exist. */
int nm_setup_find_programs(const struct nm_setup_wish *w, struct nm_arena *a, struct nm_setup_facts *f,
                           char **ret_message);

/* ---- assignments in shell scripts: script.c ----------------------------------------------- */

/* Finds assignments in a shell script without running it. Pure. */

enum nm_setup_line {
    NM_SETUP_LINE_OTHER,   /* the line doesn't change the variable */
    NM_SETUP_LINE_VALUE,   /* the line sets the variable */
    NM_SETUP_LINE_DEFAULT, /* the line sets the variable if it isn't set: ${NAME:-VALUE} */
    NM_SETUP_LINE_UNCLEAR, /* the line may set the variable, but only a shell can determine whether, or the value */
};

/* Examines a line without its newline. *ret is a part of the line, of *ret_size bytes. */
enum nm_setup_line nm_setup_script_line(const char *line, size_t size, const char *name, const char **ret,
                                        size_t *ret_size);

/* ---- the cluster's hosts: reach.c --------------------------------------------------------- */

/* The cluster's hosts: the hosts' names and addresses, and whether the hosts accept connections. These functions wait
 * for answers, and call w->progress every second meanwhile. */

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
