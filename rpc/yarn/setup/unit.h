/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the drop-ins of nmd's unit say already, whoever has written them, as far as a node needs it. */

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
    struct nm_setup_net nets[NM_SETUP_NETS_MAX]; /* of IPAddressAllow= */
    size_t n;
    bool has_java; /* JAVA_HOME is set */
};

/* ADDRESS, ADDRESS/BITS, or a word that systemd has for one or two of these. Returns how many, 0: it is none. */
size_t nm_setup_net_parse(const char *word, struct nm_setup_net ret[2]);
/* One drop-in's text, after those that come before it. */
void nm_setup_unit_add(struct nm_setup_unit *u, const char *text, size_t size);
/* All in the directory, in the order of their names. What can't be read says nothing. */
void nm_setup_unit_read(const char *dir, struct nm_setup_unit *ret);

/* localhost is allowed by the unit itself. */
bool nm_setup_unit_allows(const struct nm_setup_unit *u, const char *address);
/* Is there more than single hosts? */
bool nm_setup_unit_has_network(const struct nm_setup_unit *u);
