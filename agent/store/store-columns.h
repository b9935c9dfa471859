/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A container's fields that outlive nmd, as one table: rows of the journal (store-container.c) and
 * copies beside it (store-json.c) both follow it, so that neither can forget one.
 */

#include "agent/container.h"

enum nm_store_kind {
    NM_KIND_COUNT, /* uint64_t; larger than INT64_MAX is written as that */
    NM_KIND_BITS,  /* uint64_t, any value (an inode, "never") */
    NM_KIND_U32,
    NM_KIND_ID,  /* uid_t; not -1 */
    NM_KIND_I32, /* int32_t */
    NM_KIND_PID,
    NM_KIND_BOOL,
    NM_KIND_WORD, /* char[]: a valid name */
    NM_KIND_NAME, /* the same, or empty */
    NM_KIND_TEXT, /* char[]: anything that fits */
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
    const char *later; /* NULL: every journal has it; else what rows from before it was added have, in SQL: what
                          nm_container_new() gives */
};

extern const struct nm_store_column nm_store_columns[];
extern const size_t nm_store_n_columns;

static inline bool nm_store_kind_is_text(enum nm_store_kind kind)
{
    return kind >= NM_KIND_WORD;
}

/* Of the column's kind. The text is valid as long as c. */
int64_t nm_store_column_number(const struct nm_store_column *col, const struct nm_container *c);
const char *nm_store_column_text(const struct nm_store_column *col, const struct nm_container *c);

/* Checks and sets. -ENOMEM, -EBADMSG or -EINVAL: out of range, an unknown word, too long, no name. */
int nm_store_column_set_number(const struct nm_store_column *col, int64_t v,
                               struct nm_container *c);
int nm_store_column_set_text(const struct nm_store_column *col, const char *text,
                             struct nm_container *c);
