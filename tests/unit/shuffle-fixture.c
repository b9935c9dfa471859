/* SPDX-License-Identifier: Apache-2.0 */

/* See shuffle-fixture.h. */

#include "shuffle-fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <limits.h>

#include <cmocka.h>
#include <endian.h>
#include <zlib.h>

#include "remove-tree.h"
#include "util/fileio.h"

void shuffle_fixture_new(struct shuffle_fixture *w)
{
    *w = (struct shuffle_fixture){.dir = "/tmp/nmd-shuffle.XXXXXX"};
    assert_non_null(mkdtemp(w->dir));
    w->job = (struct nm_shuffle_job){.id = JOB, .user = "alice", .uid = geteuid(), .key = "8letters", .key_size = 8};
}

void shuffle_fixture_done(struct shuffle_fixture *w)
{
    assert_int_equal(remove_tree(w->dir), 0);
}

char *shuffle_fixture_local(const struct shuffle_fixture *w, const char *name)
{
    char *path;

    assert_true(asprintf(&path, "%s/%s", w->dir, name) > 0);
    assert_int_equal(nm_mkdir_p(path, 0755), 0);
    return path;
}

const char *shuffle_fixture_path(const struct shuffle_fixture *w, const char *local, const char *attempt,
                                 const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s/usercache/alice/appcache/application_1410901177871_0001/output/%s%s%s", w->dir,
             local, attempt, *name ? "/" : "", name);
    return path;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

void shuffle_fixture_output(const struct shuffle_fixture *w, const char *local, const char *attempt,
                            const char *const *parts)
{
    uint64_t index[3 * 3001 + 1], start = 0;
    size_t n = 0, total = 0;
    char *data;

    for (const char *const *p = parts; *p; p++)
        total += strlen(*p);
    data = calloc(1, total + 1);
    assert_non_null(data);
    for (; parts[n / 3]; n += 3) {
        size_t size = strlen(parts[n / 3]);

        assert_true(n + 4 <= sizeof index / sizeof index[0]);
        memcpy(data + start, parts[n / 3], size);
        index[n] = htobe64(start);
        index[n + 1] = htobe64(2 * size);
        index[n + 2] = htobe64(size);
        start += size;
    }
    index[n] = htobe64(crc32(0, (const Bytef *)index, (uInt)(n * 8)));
    assert_int_equal(nm_mkdir_p(shuffle_fixture_path(w, local, attempt, ""), 0755), 0);
    write_file(shuffle_fixture_path(w, local, attempt, "file.out"), data, total);
    write_file(shuffle_fixture_path(w, local, attempt, "file.out.index"), index, (n + 1) * 8);
    free(data);
}

void shuffle_fixture_empty_index(const struct shuffle_fixture *w, const char *local, const char *attempt, uint32_t n)
{
    const size_t records = (size_t)n * NM_SHUFFLE_RECORD_BYTES;
    uint8_t *index = calloc(1, records + 8);
    uint64_t crc;

    assert_non_null(index);
    crc = htobe64(crc32(0, index, (uInt)records));
    memcpy(index + records, &crc, sizeof crc);
    write_file(shuffle_fixture_path(w, local, attempt, "file.out.index"), index, records + 8);
    free(index);
}

void shuffle_fixture_poke(const char *path, long at, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "r+");

    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}
