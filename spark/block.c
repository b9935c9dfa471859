/* SPDX-License-Identifier: Apache-2.0 */

/* See block.h. */

#include "spark/block.h"

#include <errno.h>

#include "spark/number.h"
#include "util/macros.h"

/* ---- parsing ------------------------------------------------------------------------------ */

static bool take_text(struct nm_bytes *from, const char *text)
{
    const struct nm_bytes expected = nm_bytes_of(text);

    if (from->size < expected.size || memcmp(from->data, expected.data, expected.size) != 0)
        return false;
    (void)nm_bytes_take(from, expected.size);
    return true;
}

/* Removes "_" and a number. */
static bool take_number(struct nm_bytes *from, uint64_t max, uint64_t *ret)
{
    return take_text(from, "_") && nm_spark_take_number(from, max, ret) == 0;
}

static bool take_set_and_part(struct nm_bytes *from, uint64_t part_max, int32_t *ret_set, int64_t *ret_part)
{
    uint64_t set, part;

    if (!take_number(from, INT32_MAX, &set) || !take_number(from, part_max, &part))
        return false;
    *ret_set = (int32_t)set;
    *ret_part = (int64_t)part;
    return true;
}

int nm_spark_block_parse(struct nm_bytes id, struct nm_spark_block *ret)
{
    struct nm_spark_block b = {.kind = NM_SPARK_BLOCK_SHUFFLE};
    uint64_t reduce;

    if (take_text(&id, "rdd")) {
        b.kind = NM_SPARK_BLOCK_RDD;
        if (!take_set_and_part(&id, INT32_MAX, &b.set, &b.part))
            return -EBADMSG;
    } else {
        if (!take_text(&id, "shuffle") || !take_set_and_part(&id, INT64_MAX, &b.set, &b.part) ||
            !take_number(&id, INT32_MAX - 1, &reduce))
            return -EBADMSG;
        b.first = (int32_t)reduce;
        b.end = b.first + 1;
    }
    if (id.size > 0)
        return -EBADMSG;
    *ret = b;
    return 0;
}

/* ---- names -------------------------------------------------------------------------------- */

static const char *const suffixes[] = {
    [NM_SPARK_FILE_DATA] = "_0.data",
    [NM_SPARK_FILE_INDEX] = "_0.index",
    [NM_SPARK_FILE_ADLER32] = "_0.checksum.ADLER32",
    [NM_SPARK_FILE_CRC32] = "_0.checksum.CRC32",
    [NM_SPARK_FILE_CRC32C] = "_0.checksum.CRC32C",
    [NM_SPARK_FILE_RDD] = "",
};

/* Each block has two names. snprintf() would take longer than the lookup of the name in the kernel. */
void nm_spark_file_name(const struct nm_spark_file *file, char ret[static NM_SPARK_FILE_NAME_SIZE])
{
    char *to = stpcpy(ret, file->kind == NM_SPARK_FILE_RDD ? "rdd_" : "shuffle_");

    to = nm_spark_write_number(file->set, to);
    *to++ = '_';
    to = nm_spark_write_number(file->part, to);
    (void)stpcpy(to, suffixes[file->kind]);
}

int nm_spark_file_parse(struct nm_bytes name, struct nm_spark_file *ret)
{
    struct nm_spark_file f = {.kind = NM_SPARK_FILE_RDD};
    struct nm_bytes rest = name;
    char again[NM_SPARK_FILE_NAME_SIZE];
    const bool is_rdd = take_text(&rest, "rdd");

    if ((!is_rdd && !take_text(&rest, "shuffle")) ||
        !take_set_and_part(&rest, is_rdd ? INT32_MAX : INT64_MAX, &f.set, &f.part))
        return -EBADMSG;
    for (unsigned i = 0; !is_rdd && i < NM_SPARK_FILE_RDD; i++)
        if (nm_bytes_equal(rest, nm_bytes_of(suffixes[i])))
            f.kind = i;
    if (!is_rdd && f.kind == NM_SPARK_FILE_RDD)
        return -EBADMSG;
    nm_spark_file_name(&f, again); /* a number may have had zeros in front */
    if (!nm_bytes_equal(name, nm_bytes_of(again)))
        return -EBADMSG;
    *ret = f;
    return 0;
}

/* ---- places ------------------------------------------------------------------------------- */

/* Computes the hash by which Spark places files (JavaUtils): the absolute value of Java's String.hashCode(), or 0 if
 * the hash code is the smallest int, since that has no absolute value. The names have only characters of ASCII. */
static uint32_t hash_of(const char *name)
{
    uint32_t hash = 0;

    for (; *name; name++)
        hash = 31 * hash + (uint8_t)*name;
    if (hash == UINT32_C(0x80000000))
        return 0;
    return hash > INT32_MAX ? -hash : hash;
}

struct nm_spark_place nm_spark_file_place(const char *name, uint32_t n_dirs, uint32_t n_sub_dirs)
{
    const uint32_t hash = hash_of(name);

    return (struct nm_spark_place){hash % n_dirs, hash / n_dirs % n_sub_dirs};
}
