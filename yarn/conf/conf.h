/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hadoop's configuration: properties in XML files. If several files set a property, the value in the last file counts,
 * unless an earlier file declares the property final. A value may refer to other properties as ${name}. It may refer to
 * the environment as ${env.NAME}, ${env.NAME:-text if it is empty} and ${env.NAME-text if it is missing}. It may also
 * contain ${user.name}, ${user.home} and ${java.io.tmpdir}, which are system properties of Java.
 *
 * The files are untrusted input, so sizes, depths, includes and substitutions are limited. A file with a DTD is
 * refused, so files can't define entities. xi:include reads only files beneath the directory of the configuration.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

/* Why a pipe, a socket or a device isn't read as a file of the cluster. */
#define NM_YARN_NOT_REGULAR "it is not a regular file"

struct nm_yarn_property {
    char *name, *value; /* value: the text in the file, before substitutions */
    const char *file;   /* the file that set the value; NULL if the value is the default */
    bool final;
};

struct nm_yarn_conf;

int nm_yarn_conf_new(struct nm_yarn_conf **ret);
struct nm_yarn_conf *nm_yarn_conf_free(struct nm_yarn_conf *c);
NM_DEFINE_CLEANUP(struct nm_yarn_conf *, nm_yarn_conf_free)

/* Sets the default of a property. ${name} in other values refers to the default as well. Must be called before files
 * are read. */
int nm_yarn_conf_set_default(struct nm_yarn_conf *c, const char *name, const char *value);

/* Reads those of the files core-site.xml, hdfs-site.xml, mapred-site.xml, yarn-site.xml, resource-types.xml,
 * node-resources.xml and hadoop-policy.xml that exist in a directory. Returns 0 if at least one file was read. For each
 * file that can't be read, one printable line with the file's name is added to the refusals. Properties before an error
 * in a file are kept in the set. -ENOENT: the directory has none of the files. Each failure except -ENOMEM sets
 * *ret_message. */
int nm_yarn_conf_read_dir(struct nm_yarn_conf *c, const char *dir, struct nm_refusals *refusals, char **ret_message);
/* Reads one file of a directory that is open. Returns 1 if the file doesn't exist. */
int nm_yarn_conf_read_file(struct nm_yarn_conf *c, int dir_fd, const char *dir, const char *name, char **ret_message);
/* Reads the text of one file. dir_fd: the directory of included files; -EBADF: includes are refused. */
int nm_yarn_conf_read_text(struct nm_yarn_conf *c, int dir_fd, const char *file, const char *text, size_t size,
                           char **ret_message);

/* Returns the property. NULL: no file and no default sets the property. The result is valid until another file is
 * read. */
const struct nm_yarn_property *nm_yarn_conf_find(const struct nm_yarn_conf *c, const char *name);
size_t nm_yarn_conf_count(const struct nm_yarn_conf *c);
/* Returns the i-th property, sorted by name. */
const struct nm_yarn_property *nm_yarn_conf_at(const struct nm_yarn_conf *c, size_t i);

/* Returns a property's value after all substitutions and without surrounding blanks. As in Hadoop, an unknown ${...} is
 * kept. -ENOENT: the property isn't set; -ELOOP: the value needs more substitutions than Hadoop makes; -E2BIG: the
 * result is too long. */
int nm_yarn_conf_expand(const struct nm_yarn_conf *c, const char *name, char **ret);

/* Expands a property as nm_yarn_conf_expand() does. The property must exist. If a substitution fails, *ret_message
 * names the property's file. A default can fail as well, since a default may contain substitutions. */
int nm_yarn_conf_expand_or_report(const struct nm_yarn_conf *c, const char *name, char **ret, char **ret_message);

/* Makes untrusted text printable for a message: shortens it, and replaces control characters. Returns the buffer. */
const char *nm_yarn_conf_printable(const char *text, char *buf, size_t size);
