/* SPDX-License-Identifier: Apache-2.0 */

/*
 * TFile, the default format of log aggregation (org.apache.hadoop.io.file.tfile):
 *
 *   magic, block, TFile.meta, TFile.index, BCFile.index, index of the last three, its offset, version, magic
 *
 * The block has a record for each container, after three records for the file. A record is a key and a value, and a
 * value is a series of chunks. Hadoop begins a new block after 256 KiB, but readers accept a block of any size. With a
 * single block, the writer keeps no list of blocks.
 */

#include "aggregate/format/tfile.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/error.h"

static const uint8_t magic[] = {0xd1, 0x11, 0xd3, 0x68, 0x91, 0xb5, 0xd7, 0xb6,
                                0x39, 0xdf, 0x41, 0x40, 0x92, 0xba, 0xe1, 0x50};
#define FIRST_KEY "VERSION"
#define VERSION 1
#define CHUNK_MAX NM_MIB /* Hadoop's default, tfile.io.chunk.size */
#define LAST_CHUNK 0

/* A part of the file, as in Hadoop's class BlockRegion. Without compression, its two sizes are equal. */
struct region {
    uint64_t start, size;
};

static void put_region(struct nm_log_buffer *b, struct region region)
{
    nm_log_buffer_vlong(b, (int64_t)region.start);
    nm_log_buffer_vlong(b, (int64_t)region.size);
    nm_log_buffer_vlong(b, (int64_t)region.size);
}

/* Announces a chunk after which more chunks follow: its length is negative. */
static void put_chunk(struct nm_log_writer *w, uint64_t size)
{
    nm_log_buffer_vlong(&w->head, -(int64_t)size);
}

/* The keys are Java's texts in a TFile's byte strings, so there are two lengths. */
static void put_key(struct nm_log_writer *w, const char *text)
{
    struct nm_log_buffer *key = &w->tfile.key;

    key->size = 0;
    nm_log_buffer_utf(key, text);
    nm_log_buffer_vlong(&w->head, (int64_t)key->size);
    nm_log_buffer_put(&w->head, key->data, key->size);
    w->tfile.n_records++;
}

/* Writes a record with a small value, and empties the value. */
static void put_record(struct nm_log_writer *w, const char *key, struct nm_log_buffer *value)
{
    put_key(w, key);
    nm_log_buffer_vlong(&w->head, (int64_t)value->size);
    nm_log_buffer_put(&w->head, value->data, value->size);
    if (value->error < 0 && w->head.error == 0)
        w->head.error = value->error;
    value->size = 0;
}

static int begin(struct nm_log_writer *w, char **ret_message)
{
    struct nm_log_buffer value = {};

    nm_log_buffer_put(&w->head, magic, sizeof magic);
    nm_log_buffer_number(&value, VERSION, 4);
    put_record(w, FIRST_KEY, &value);
    nm_log_buffer_utf(&value, "VIEW_APP");
    nm_log_buffer_utf(&value, w->view_acl);
    nm_log_buffer_utf(&value, "MODIFY_APP");
    nm_log_buffer_utf(&value, w->modify_acl);
    put_record(w, "APPLICATION_ACL", &value);
    nm_log_buffer_utf(&value, w->owner);
    put_record(w, "APPLICATION_OWNER", &value);
    nm_log_buffer_done(&value);
    return nm_log_state_flush(w, ret_message);
}

/* The length of a container's value is unknown until its last file has ended, so an empty chunk ends the value. */
static void end_record(struct nm_log_writer *w)
{
    if (w->tfile.in_record)
        nm_log_buffer_vlong(&w->head, LAST_CHUNK);
    w->tfile.in_record = false;
}

static int file(struct nm_log_writer *w, const char *name, uint64_t size_bytes, uint64_t modified_msec,
                char **ret_message)
{
    struct nm_log_buffer start = {};
    char size_text[24];

    (void)modified_msec; /* readers show the time of the whole file */
    if (w->container_is_new) {
        end_record(w);
        put_key(w, w->container);
        w->tfile.in_record = true;
    }
    (void)snprintf(size_text, sizeof size_text, "%" PRIu64, size_bytes);
    nm_log_buffer_utf(&start, name);
    nm_log_buffer_utf(&start, size_text);
    put_chunk(w, start.size);
    nm_log_buffer_put(&w->head, start.data, start.size);
    if (start.error < 0 && w->head.error == 0)
        w->head.error = start.error;
    nm_log_buffer_done(&start);
    return nm_log_state_flush(w, ret_message);
}

/* The chunks depend only on the sizes of files, not on the pieces in which the caller has their bytes. */
static int data(struct nm_log_writer *w, const void *data, size_t n, char **ret_message)
{
    const uint8_t *from = data;
    uint64_t left = w->left_bytes;

    while (n > 0) {
        size_t part;
        int r = 0;

        if (w->tfile.chunk_left == 0) {
            w->tfile.chunk_left = NM_MIN(left, CHUNK_MAX);
            put_chunk(w, w->tfile.chunk_left);
            r = nm_log_state_flush(w, ret_message);
        }
        part = (size_t)NM_MIN((uint64_t)n, w->tfile.chunk_left);
        if (r == 0)
            r = nm_log_state_write(w, from, part, ret_message);
        if (r < 0)
            return r;
        w->tfile.chunk_left -= part;
        left -= part;
        from += part;
        n -= part;
    }
    return 0;
}

/* ---- the indexes ------------------------------------------------------------------------------- */

/* The indexes are collected in w->head and written at once, so the position includes what is there. */
static uint64_t position(const struct nm_log_writer *w)
{
    return w->offset_bytes + w->head.size;
}

static struct region region_from(const struct nm_log_writer *w, uint64_t start)
{
    return (struct region){start, position(w) - start};
}

static struct region put_tfile_meta(struct nm_log_writer *w)
{
    uint64_t start = position(w);

    nm_log_buffer_number(&w->head, 1, 2); /* version 1.0 */
    nm_log_buffer_number(&w->head, 0, 2);
    nm_log_buffer_vlong(&w->head, (int64_t)w->tfile.n_records);
    nm_log_buffer_word(&w->head, ""); /* no comparator: the keys are not sorted */
    return region_from(w, start);
}

/* Writes an entry of TFile.index: its length, and the key, with the number of records if it is the last one. */
static void put_index_entry(struct nm_log_writer *w, const struct nm_log_buffer *key, uint64_t n_records)
{
    struct nm_log_buffer entry = {};

    nm_log_buffer_vlong(&entry, (int64_t)key->size);
    nm_log_buffer_put(&entry, key->data, key->size);
    if (n_records > 0)
        nm_log_buffer_vlong(&entry, (int64_t)n_records);
    nm_log_buffer_vlong(&w->head, (int64_t)entry.size);
    nm_log_buffer_put(&w->head, entry.data, entry.size);
    if ((key->error < 0 || entry.error < 0) && w->head.error == 0)
        w->head.error = key->error < 0 ? key->error : entry.error;
    nm_log_buffer_done(&entry);
}

static struct region put_tfile_index(struct nm_log_writer *w)
{
    uint64_t start = position(w);
    struct nm_log_buffer first = {};

    nm_log_buffer_utf(&first, FIRST_KEY);
    put_index_entry(w, &first, 0);
    put_index_entry(w, &w->tfile.key, w->tfile.n_records);
    nm_log_buffer_done(&first);
    return region_from(w, start);
}

/* The index of the lower layer, BCFile, which has the blocks. The TFile above it has the keys. */
static struct region put_bcfile_index(struct nm_log_writer *w, struct region block)
{
    uint64_t start = position(w);

    nm_log_buffer_word(&w->head, "none");
    nm_log_buffer_vlong(&w->head, 1); /* one block */
    put_region(&w->head, block);
    return region_from(w, start);
}

static void put_meta_index(struct nm_log_writer *w, const char *name, struct region region)
{
    nm_log_buffer_word(&w->head, name);
    nm_log_buffer_word(&w->head, "none");
    put_region(&w->head, region);
}

/* Readers look up the last three parts by name. The order in the index is the one that Hadoop writes: sorted. */
static int end(struct nm_log_writer *w, char **ret_message)
{
    struct region block, tfile_meta, tfile_index, bcfile_index;
    uint64_t meta_index;

    end_record(w);
    block = region_from(w, sizeof magic);
    tfile_meta = put_tfile_meta(w);
    tfile_index = put_tfile_index(w);
    bcfile_index = put_bcfile_index(w, block);
    meta_index = position(w);
    nm_log_buffer_vlong(&w->head, 3);
    put_meta_index(w, "data:BCFile.index", bcfile_index);
    put_meta_index(w, "data:TFile.index", tfile_index);
    put_meta_index(w, "data:TFile.meta", tfile_meta);
    nm_log_buffer_number(&w->head, meta_index, 8);
    nm_log_buffer_number(&w->head, 1, 2); /* version 1.0 of BCFile */
    nm_log_buffer_number(&w->head, 0, 2);
    nm_log_buffer_put(&w->head, magic, sizeof magic);
    return nm_log_state_flush(w, ret_message);
}

const struct nm_log_format_ops nm_tfile_ops = {begin, file, data, end};
