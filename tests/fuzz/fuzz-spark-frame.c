/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes frames of Spark's executors and the messages in them. Each accepted block must be in range, and each accepted
 * name must be safe as a part of a path. */

#include <errno.h>
#include <stdlib.h>

#include "spark/frame.h"
#include "spark/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right)
{
    if (!is_right)
        abort();
}

static void check_name(struct nm_bytes name)
{
    struct nm_spark_file file;
    struct nm_spark_place place;
    char text[NM_SPARK_FILE_NAME_SIZE];

    if (nm_spark_file_parse(name, &file) < 0)
        return;
    nm_spark_file_name(&file, text);
    check(nm_bytes_equal(name, nm_bytes_of(text)));
    check(!strchr(text, '/') && text[0] != '.');
    place = nm_spark_file_place(text, 3, 64);
    check(place.dir < 3 && place.sub_dir < 64);
}

static void check_blocks(struct nm_spark_blocks blocks)
{
    while (blocks.n_chunks > 0) {
        const struct nm_spark_block b = nm_spark_blocks_next(&blocks);

        check(b.set >= 0 && b.part >= 0 && b.first >= 0 && b.first <= b.end);
    }
}

static void check_message(struct nm_bytes bytes)
{
    struct nm_spark_message m;
    const char *why = NULL;
    int r = nm_spark_message_parse(bytes, &m, &why);

    check((r == -EOPNOTSUPP) == (why != NULL));
    if (r < 0)
        return;
    while (m.texts.n > 0)
        check_name(nm_spark_texts_next(&m.texts));
    if (m.code == NM_SPARK_OPEN_BLOCKS || m.code == NM_SPARK_FETCH_BLOCKS) {
        check(m.blocks.n_chunks > 0 && m.blocks.n_chunks <= bytes.size / sizeof(int32_t));
        check_blocks(m.blocks);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_spark_frame frame;
    struct nm_writer w = {};

    while (size >= NM_SPARK_FRAME_SIZE_BYTES) {
        const uint64_t frame_size = nm_spark_frame_size(data);

        if (frame_size == 0 || frame_size > size ||
            nm_spark_frame_parse((struct nm_bytes){data, frame_size}, &frame) < 0)
            break;
        if (frame.type == NM_SPARK_FRAME_RPC || frame.type == NM_SPARK_FRAME_ONE_WAY)
            check_message(frame.body);
        nm_spark_put_failure(&w, &frame, "no");
        check(w.size == 0 || nm_spark_frame_size(w.data) == w.size);
        nm_writer_done(&w);
        data += frame_size;
        size -= frame_size;
    }
    return 0;
}
