/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Two local directories with the files of an executor of application_1_0001, which belong to the user of the test. */

#include <limits.h>

#include "spark/block-file.h"
#include "spark/primitive.h"

struct spark_fixture {
    char dir[64];
    char local_names[2][128];
    struct nm_spark_local_dirs locals;
    struct nm_spark_application application;
    struct nm_spark_dir dirs[2];
    struct nm_spark_lookup lookup;
};

#define SPARK_APP "application_1_0001"

void spark_fixture_new(struct spark_fixture *f);
void spark_fixture_done(struct spark_fixture *f);

/* Returns the path that the executor registers in this local directory; valid until the next call. */
const char *spark_fixture_registered(const struct spark_fixture *f, unsigned local);
/* Returns the path of a file, and makes its subdirectory; valid until the next call. */
const char *spark_fixture_path(const struct spark_fixture *f, const char *name);
/* Appends a registration of an executor with these directories, which end with NULL. */
void spark_fixture_registration(struct nm_writer *w, const char *app, const char *exec, const char *const *dirs);
/* Writes a file of the executor. */
void spark_fixture_write(const struct spark_fixture *f, const char *name, const void *bytes, size_t size);
/* Writes an index with these offsets. */
void spark_fixture_index(const struct spark_fixture *f, const char *name, const int64_t *offsets, size_t n);
/* Writes the index and the data of map 0 of shuffle 0. parts ends with NULL. */
void spark_fixture_map(const struct spark_fixture *f, const char *const *parts);
