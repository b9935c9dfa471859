/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hadoop's configuration: properties in XML files. The last file that has a property gives it its value, unless an
 * earlier one calls it final. A value may name other properties as ${name}, the environment as ${env.NAME},
 * ${env.NAME:-text if it is empty} and ${env.NAME-text if it is missing}, and ${user.name}, ${user.home} and
 * ${java.io.tmpdir}, which Java knows by itself.
 *
 * Files are somebody's, so all is bounded: sizes, depths, includes, substitutions. A DTD, and with it every entity of
 * one's own, is refused; xi:include reads what lies beneath the directory of the files and nothing else.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/refusals.h"

struct nm_yarn_property {
    char *name, *value; /* value: as it stands in the file */
    const char *file;   /* which gave the value, NULL: the default holds */
    bool final;
};

struct nm_yarn_conf;

int nm_yarn_conf_new(struct nm_yarn_conf **ret);
struct nm_yarn_conf *nm_yarn_conf_free(struct nm_yarn_conf *c);
NM_DEFINE_CLEANUP(struct nm_yarn_conf *, nm_yarn_conf_free)

/* What holds where no file says anything, and what ${name} is then. Before any file is read. */
int nm_yarn_conf_set_default(struct nm_yarn_conf *c, const char *name, const char *value);

/* Reads core-site.xml, hdfs-site.xml, mapred-site.xml, yarn-site.xml and hadoop-policy.xml of a directory, those of
 * them that are there. -ENOENT: none is. Failures come with *ret_message but for -ENOMEM. 0: one was read, at least;
 * the others' failures are among the refusals, one printable line for each, which names the file. What comes before
 * the place where a file is wrong is in the set. */
int nm_yarn_conf_read_dir(struct nm_yarn_conf *c, const char *dir, struct nm_refusals *refusals, char **ret_message);
/* One file's text. dir_fd: where what it includes lies; -EBADF: nowhere. */
int nm_yarn_conf_read_text(struct nm_yarn_conf *c, int dir_fd, const char *file, const char *text, size_t size,
                           char **ret_message);

/* NULL: neither a file nor a default has it. Lasts until more is read. */
const struct nm_yarn_property *nm_yarn_conf_find(const struct nm_yarn_conf *c, const char *name);
size_t nm_yarn_conf_count(const struct nm_yarn_conf *c);
/* In the order of their names. */
const struct nm_yarn_property *nm_yarn_conf_at(const struct nm_yarn_conf *c, size_t i);

/* A property's value with all substitutions, and without blanks around it. What nothing is known of stays ${...}, as it
 * does in Hadoop. -ENOENT: there is no such property; -ELOOP: more substitutions than Hadoop makes; -E2BIG. */
int nm_yarn_conf_expand(const struct nm_yarn_conf *c, const char *name, char **ret);

/* The same of a property that is there; what goes wrong with its substitutions comes with *ret_message, which names its
 * file. A default, too, may be wrong by what it is made of. */
int nm_yarn_conf_expand_or_say(const struct nm_yarn_conf *c, const char *name, char **ret, char **ret_message);

/* Foreign text for a message: shortened, and nothing in it that a terminal would obey. The buffer is returned. */
const char *nm_yarn_conf_shown(const char *text, char *buf, size_t size);
