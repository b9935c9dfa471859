/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hadoop's configuration: properties in XML files. The last file that sets a property determines its value, unless an
 * earlier file declares it final. A value may refer to other properties as ${name}, to the environment as ${env.NAME},
 * ${env.NAME:-text if it is empty} and ${env.NAME-text if it is missing}, and to ${user.name}, ${user.home} and
 * ${java.io.tmpdir}, which Java defines itself.
 *
 * The files are untrusted input, so sizes, depths, includes and substitutions are bounded. A DTD, and so any custom
 * entity, is refused. xi:include reads only files beneath the directory of the configuration.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct nm_yarn_property {
    char *name, *value; /* value: as written in the file */
    const char *file;   /* the file that set the value; NULL if the value is the default */
    bool final;
};

struct nm_yarn_conf;

int nm_yarn_conf_new(struct nm_yarn_conf **ret);
struct nm_yarn_conf *nm_yarn_conf_free(struct nm_yarn_conf *c);
NM_DEFINE_CLEANUP(struct nm_yarn_conf *, nm_yarn_conf_free)

/* Sets the default of a property, which ${name} refers to as well. Call this before reading files. */
int nm_yarn_conf_set_default(struct nm_yarn_conf *c, const char *name, const char *value);

/* Reads core-site.xml, hdfs-site.xml, mapred-site.xml, yarn-site.xml and hadoop-policy.xml of a directory, as far as
 * they exist. -ENOENT: the directory has no such file. All failures but -ENOMEM set *ret_message. Returns 0 if at least
 * one file was read. Each failure of another file adds one printable line with the file's name to the refusals.
 * Properties before an error in a file are kept in the set. */
int nm_yarn_conf_read_dir(struct nm_yarn_conf *c, const char *dir, struct nm_refusals *refusals, char **ret_message);
/* Reads the text of one file. dir_fd: the directory for includes; -EBADF: includes are refused. */
int nm_yarn_conf_read_text(struct nm_yarn_conf *c, int dir_fd, const char *file, const char *text, size_t size,
                           char **ret_message);

/* Returns NULL if neither a file nor a default sets the property. The result is valid until another file is read. */
const struct nm_yarn_property *nm_yarn_conf_find(const struct nm_yarn_conf *c, const char *name);
size_t nm_yarn_conf_count(const struct nm_yarn_conf *c);
/* Returns the i-th property, sorted by name. */
const struct nm_yarn_property *nm_yarn_conf_at(const struct nm_yarn_conf *c, size_t i);

/* Returns a property's value with all substitutions made and surrounding blanks removed. As in Hadoop, an unknown
 * ${...} is kept. -ENOENT: the property isn't set; -ELOOP: more substitutions than Hadoop makes; -E2BIG: the result is
 * too long. */
int nm_yarn_conf_expand(const struct nm_yarn_conf *c, const char *name, char **ret);

/* Expands a property as nm_yarn_conf_expand() does. The property must exist. A failed substitution sets *ret_message,
 * which names the property's file. Defaults can fail as well, since they may contain substitutions. */
int nm_yarn_conf_expand_or_say(const struct nm_yarn_conf *c, const char *name, char **ret, char **ret_message);

/* Makes untrusted text safe for a message: shortens it, and replaces control characters. Returns the buffer. */
const char *nm_yarn_conf_shown(const char *text, char *buf, size_t size);
