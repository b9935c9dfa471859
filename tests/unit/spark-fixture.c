/* SPDX-License-Identifier: Apache-2.0 */

/* See spark-fixture.h. */

#include "spark-fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <endian.h>
#include <stdio.h>

#include <cmocka.h>

#include "remove-tree.h"
#include "util/fileio.h"
#include "util/macros.h"

void spark_fixture_new(struct spark_fixture *f)
{
    *f = (struct spark_fixture){.dir = "/tmp/nmd-spark.XXXXXX",
                                .application = {.id = SPARK_APP, .user = "alice", .uid = geteuid()},
                                .dirs = {{1, "blockmgr-one"}, {0, "blockmgr-two"}}};
    assert_non_null(mkdtemp(f->dir));
    f->locals.n = 2;
    for (unsigned i = 0; i < 2; i++) {
        snprintf(f->local_names[i], sizeof f->local_names[i], "%s/%c", f->dir, 'a' + i);
        f->locals.names[i] = f->local_names[i];
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(nm_mkdir_p(spark_fixture_registered(f, i), 0755), 0);
    f->lookup = (struct nm_spark_lookup){&f->locals, &f->application, {f->dirs, 2, 64}, {}};
}

void spark_fixture_done(struct spark_fixture *f)
{
    assert_int_equal(remove_tree(f->dir), 0);
}

const char *spark_fixture_registered(const struct spark_fixture *f, unsigned local)
{
    static char path[PATH_MAX];
    char below[NM_SPARK_PATH_SIZE];

    nm_spark_dir_path(&f->application, &f->dirs[f->dirs[0].local == local ? 0 : 1], below);
    snprintf(path, sizeof path, "%s/%s", f->locals.names[local], below);
    return path;
}

const char *spark_fixture_path(const struct spark_fixture *f, const char *name)
{
    static char path[PATH_MAX];
    const struct nm_spark_place place = nm_spark_file_place(name, 2, 64);
    int n = snprintf(path, sizeof path, "%s/%02x", spark_fixture_registered(f, f->dirs[place.dir].local),
                     place.sub_dir);

    assert_int_equal(nm_mkdir_p(path, 0755), 0);
    snprintf(path + n, sizeof path - (size_t)n, "/%s", name);
    return path;
}

void spark_fixture_registration(struct nm_writer *w, const char *app, const char *exec, const char *const *dirs)
{
    int32_t n = 0;

    while (dirs[n])
        n++;
    nm_spark_put_u8(w, 2);
    nm_spark_put_text(w, nm_bytes_of(app));
    nm_spark_put_text(w, nm_bytes_of(exec));
    nm_spark_put_i32(w, n);
    for (int32_t i = 0; i < n; i++)
        nm_spark_put_text(w, nm_bytes_of(dirs[i]));
    nm_spark_put_i32(w, 64);
    nm_spark_put_text(w, nm_bytes_of("org.apache.spark.shuffle.sort.SortShuffleManager"));
}

void spark_fixture_write(const struct spark_fixture *f, const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(spark_fixture_path(f, name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void spark_fixture_index(const struct spark_fixture *f, const char *name, const int64_t *offsets, size_t n)
{
    uint64_t index[64];

    assert_true(n <= NM_ARRAY_SIZE(index));
    for (size_t i = 0; i < n; i++)
        index[i] = htobe64((uint64_t)offsets[i]);
    spark_fixture_write(f, name, index, n * sizeof index[0]);
}

void spark_fixture_map(const struct spark_fixture *f, const char *const *parts)
{
    int64_t offsets[64] = {0};
    char data[1024] = "";
    size_t n = 0;

    for (; parts[n]; n++) {
        strcat(data, parts[n]);
        offsets[n + 1] = (int64_t)strlen(data);
    }
    spark_fixture_index(f, "shuffle_0_0_0.index", offsets, n + 1);
    spark_fixture_write(f, "shuffle_0_0_0.data", data, strlen(data));
}
