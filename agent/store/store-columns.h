/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One table of all fields of a container that outlive nmd. Rows of the journal (store-container.c) and the snapshots of
 * containers (store-json.c) both follow this table, so both always have the same fields.
 */

#include "agent/container.h"

enum nm_store_kind {
    NM_KIND_COUNT, /* uint64_t; values above INT64_MAX are written as INT64_MAX */
    NM_KIND_BITS,  /* uint64_t, any value (an inode, "never") */
    NM_KIND_U32,
    NM_KIND_ID,  /* uid_t; not -1 */
    NM_KIND_I32, /* int32_t */
    NM_KIND_PID,
    NM_KIND_BOOL,
    NM_KIND_WORD, /* char[]: a valid name */
    NM_KIND_NAME, /* char[]: a valid name, or empty */
    NM_KIND_TEXT, /* char[]: any text that fits */
    NM_KIND_PATH, /* char *: an absolute path, or NULL, which is written as "" */
    NM_KIND_TYPE, /* enums, by name */
    NM_KIND_STATE,
    NM_KIND_REASON,
    NM_KIND_CAUSE,
};

struct nm_store_column {
    const char *name;
    enum nm_store_kind kind;
    size_t offset, size;
    const char *later; /* NULL: every journal has the column; else the SQL default for older rows, equal to that of
                        * nm_container_new() */
    bool is_measured;  /* a measurement, which is newer in each sample and is not journalled each time */
};

extern const struct nm_store_column nm_store_columns[];
extern const size_t nm_store_n_columns;

static inline bool nm_store_kind_is_text(enum nm_store_kind kind)
{
    return kind >= NM_KIND_WORD;
}

/* Return the value of a column of c: nm_store_column_text() if nm_store_kind_is_text(col->kind), otherwise
 * nm_store_column_number(). A returned text is valid as long as c exists. */
int64_t nm_store_column_number(const struct nm_store_column *col, const struct nm_container *c);
const char *nm_store_column_text(const struct nm_store_column *col, const struct nm_container *c);

/* Check and set a value. Return -ENOMEM, -EBADMSG or -EINVAL: out of range, an unknown word, too long, not a valid
 * name. */
int nm_store_column_set_number(const struct nm_store_column *col, int64_t v,
                               struct nm_container *c);
int nm_store_column_set_text(const struct nm_store_column *col, const char *text,
                             struct nm_container *c);
