/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The settings in the drop-ins of nmd.service that a node needs. --yarn-setup or an administrator has written them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/hadoop/arena.h"

#define NM_SETUP_NETS_MAX 512u
#define NM_SETUP_WRITABLE_MAX 128u

/* Variables that a drop-in sets and containers inherit. */
enum nm_setup_variable {
    NM_SETUP_JAVA_HOME,
    NM_SETUP_HADOOP_HOME,
    NM_SETUP_HADOOP_COMMON_HOME,
    NM_SETUP_HADOOP_HDFS_HOME,
    NM_SETUP_HADOOP_YARN_HOME,
    NM_SETUP_HADOOP_MAPRED_HOME,
    NM_SETUP_HADOOP_CONF_DIR,
    NM_SETUP_N_VARIABLES,
};

extern const char *const nm_setup_variables[NM_SETUP_N_VARIABLES]; /* the variables' names */

/* The values of systemd's ProtectSystem=. */
enum nm_setup_protect {
    NM_SETUP_PROTECT_FULL, /* the value in nmd.service */
    NM_SETUP_PROTECT_NO,
    NM_SETUP_PROTECT_YES,
    NM_SETUP_PROTECT_STRICT,
};

struct nm_setup_net {
    int family;
    uint8_t bytes[16];
    unsigned bits;
};

struct nm_setup_unit {
    struct nm_setup_net nets[NM_SETUP_NETS_MAX]; /* networks of IPAddressAllow= */
    size_t n;
    bool has[NM_SETUP_N_VARIABLES]; /* a drop-in sets the variable */
    enum nm_setup_protect protect;
    char *writable[NM_SETUP_WRITABLE_MAX]; /* paths of ReadWritePaths= */
    size_t n_writable;
};

/* Parses ADDRESS, ADDRESS/BITS, or a symbolic name of systemd (see IPAddressAllow=), which stands for one or two
 * networks. Returns the number of networks; 0: the word is invalid. BITS must not have a leading zero, because systemd
 * would read it as octal. */
size_t nm_setup_net_parse(const char *word, struct nm_setup_net ret[2]);
/* Applies the text of one drop-in, after those that were applied before. -ENOMEM: *u doesn't contain all settings of
 * the text. */
int nm_setup_unit_add(struct nm_setup_unit *u, const char *text, size_t size);
/* Reads all drop-ins in the directory, in the order of their names. Skips drop-ins that can't be read. The caller sets
 * *ret to {} before, and calls nm_setup_unit_free() afterwards, even after a failure (-ENOMEM). */
int nm_setup_unit_read(const char *dir, struct nm_setup_unit *ret);
struct nm_setup_unit *nm_setup_unit_free(struct nm_setup_unit *u);
static inline void nm_setup_unit_freep(struct nm_setup_unit **u)
{
    nm_setup_unit_free(*u);
}

/* Returns whether the unit permits nmd to connect to the address. nmd.service itself permits localhost. */
bool nm_setup_unit_allows(const struct nm_setup_unit *u, const char *address);
/* Returns whether the unit permits nmd to write below the path. {} stands for a unit without drop-ins. */
bool nm_setup_unit_writes(const struct nm_setup_unit *u, const char *path);
/* Returns whether the unit allows a network that is larger than a single host. */
bool nm_setup_unit_has_network(const struct nm_setup_unit *u);
