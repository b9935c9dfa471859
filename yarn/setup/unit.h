/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Settings of a node that the drop-ins of nmd.service have, whether --yarn-setup or somebody else wrote these. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/hadoop/arena.h"

#define NM_SETUP_NETS_MAX 512u

struct nm_setup_net {
    int family;
    uint8_t bytes[16];
    unsigned bits;
};

struct nm_setup_unit {
    struct nm_setup_net nets[NM_SETUP_NETS_MAX]; /* IPAddressAllow= */
    size_t n;
    bool has_java; /* JAVA_HOME is set */
};

/* Parses ADDRESS, ADDRESS/BITS, or a symbolic name of systemd (see IPAddressAllow=), which stands for one or two
 * networks. Returns how many; 0: invalid. */
size_t nm_setup_net_parse(const char *word, struct nm_setup_net ret[2]);
/* Applies the text of one drop-in, on top of earlier ones. */
void nm_setup_unit_add(struct nm_setup_unit *u, const char *text, size_t size);
/* Reads all drop-ins of the directory, in the order of their names. Unreadable ones are ignored. */
void nm_setup_unit_read(const char *dir, struct nm_setup_unit *ret);

/* Returns whether nmd may talk to the address. nmd.service itself allows localhost. */
bool nm_setup_unit_allows(const struct nm_setup_unit *u, const char *address);
/* Returns whether a network is allowed that isn't a single host. */
bool nm_setup_unit_has_network(const struct nm_setup_unit *u);
