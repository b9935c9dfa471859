/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The labels and attributes of a node, which YARN calls its descriptors: their texts in the cluster's files and in the
 * output of scripts, and the rules for their names. The code is pure.
 *
 *   labels       A node has at most one label, the name of its partition of the cluster. In a script's output: the last
 *                line NODE_PARTITION:NAME. No such line: no label.
 *   attributes   Pairs of a name and a value. In the cluster's files: NAME,STRING,VALUE[:NAME,STRING,VALUE...]. In a
 *                script's output: one line NODE_ATTRIBUTE:NAME,STRING,VALUE for each attribute.
 */

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "util/error.h"

enum nm_yarn_descriptor_kind { NM_YARN_LABEL, NM_YARN_ATTRIBUTE };
#define NM_YARN_N_DESCRIPTOR_KINDS 2

/* Limits of the lengths of a name and of a value are Hadoop's. Hadoop has no limit of the number. */
#define NM_YARN_DESCRIPTOR_MAX 255u
#define NM_YARN_DESCRIPTORS_MAX 256u

struct nm_yarn_descriptor {
    char *name;
    char *value; /* of an attribute; NULL: a label */
};

/* A set that is initialized with {} is empty. */
struct nm_yarn_descriptors {
    struct nm_yarn_descriptor *items;
    size_t n;
};

void nm_yarn_descriptors_done(struct nm_yarn_descriptors *d);

/* Reads the value of a property. An empty text is an empty set. -EINVAL: *ret_message is a sentence that the caller
 * frees. */
int nm_yarn_descriptors_read(enum nm_yarn_descriptor_kind kind, const char *text, struct nm_yarn_descriptors *ret,
                             char **ret_message);

/* Adds what a line of a script's output declares. Other lines are ignored. On failure, as above, the whole output is
 * invalid. */
int nm_yarn_descriptors_add_line(enum nm_yarn_descriptor_kind kind, const char *line, struct nm_yarn_descriptors *d,
                                 char **ret_message);
/* Must be called after the last line: checks names and values, which add_line() doesn't do, and sorts the set. */
int nm_yarn_descriptors_finish(enum nm_yarn_descriptor_kind kind, struct nm_yarn_descriptors *d, char **ret_message);

/* Both sets must be sorted. */
bool nm_yarn_descriptors_equal(const struct nm_yarn_descriptors *a, const struct nm_yarn_descriptors *b);
int nm_yarn_descriptors_copy(const struct nm_yarn_descriptors *from, struct nm_yarn_descriptors *ret);

/* Writes the set as a text: "NAME" or "NAME=VALUE, NAME=VALUE"; "none" if it is empty. A long text is cut. Returns the
 * buffer. */
const char *nm_yarn_descriptors_print(const struct nm_yarn_descriptors *d, char *buf, size_t size);
/* Returns a new reference: an array of names, or an object of names and values. NULL: out of memory. */
json_t *nm_yarn_descriptors_to_json(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_descriptors *d);
