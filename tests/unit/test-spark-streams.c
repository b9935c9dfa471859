/* SPDX-License-Identifier: Apache-2.0 */

/* Streams of a connection. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "spark/streams.h"
#include "util/macros.h"

static struct nm_spark_streams streams;
static struct nm_spark_request request;

static int tear_down(void **state)
{
    (void)state;
    nm_spark_streams_done(&streams);
    assert_int_equal(streams.n, 0);
    assert_int_equal(streams.bytes, 0);
    return 0;
}

/* Opens a stream with the blocks of map 4 for the reducers 0 to n - 1, in a message of at least `size` bytes. */
static int open_stream(const char *exec, int32_t n, size_t size, int64_t *ret_id)
{
    struct nm_spark_message message;
    struct nm_writer w = {};
    struct nm_bytes bytes;
    const char *why;
    uint8_t *memory;
    int r;

    nm_spark_put_u8(&w, NM_SPARK_FETCH_BLOCKS);
    nm_spark_put_text(&w, nm_bytes_of("application_1_0001"));
    nm_spark_put_text(&w, nm_bytes_of(exec));
    nm_spark_put_i32(&w, 3);
    nm_spark_put_i32(&w, 1);
    nm_spark_put_i64(&w, 4);
    nm_spark_put_i32(&w, 1);
    nm_spark_put_i32(&w, n);
    for (int32_t i = 0; i < n; i++)
        nm_spark_put_i32(&w, i);
    nm_spark_put_u8(&w, 0);
    assert_int_equal(nm_writer_result(&w, &bytes), 0);
    size = NM_MAX(size, bytes.size);
    memory = malloc(size);
    assert_non_null(memory);
    memcpy(memory, bytes.data, bytes.size);
    assert_int_equal(nm_spark_message_parse((struct nm_bytes){memory, bytes.size}, &message, &why), 0);
    nm_writer_done(&w);
    r = nm_spark_streams_open(&streams, &message, memory, size, ret_id);
    if (r < 0)
        free(memory);
    return r;
}

static void test_chunks_are_taken_in_order(void **state)
{
    int64_t id;

    (void)state;
    assert_int_equal(open_stream("2", 3, 0, &id), 0);
    assert_true(id >= 0);
    assert_int_equal(nm_spark_streams_take(&streams, id, 1, &request), -EINVAL);
    assert_int_equal(nm_spark_streams_take(&streams, id, -1, &request), -EINVAL);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(nm_spark_streams_take(&streams, id, i, &request), 0);
        assert_string_equal(request.app, "application_1_0001");
        assert_string_equal(request.exec, "2");
        assert_int_equal(request.block.set, 3);
        assert_int_equal(request.block.part, 4);
        assert_int_equal(request.block.first, i);
        assert_int_equal(nm_spark_streams_take(&streams, id, i, &request), i < 2 ? -EINVAL : -ENOENT);
    }
    assert_int_equal(streams.n, 0);
    assert_int_equal(streams.bytes, 0);
}

static void test_several_streams_are_open(void **state)
{
    int64_t a, b;

    (void)state;
    assert_int_equal(open_stream("1", 1, 0, &a), 0);
    assert_int_equal(open_stream("2", 1, 0, &b), 0);
    assert_true(a != b);
    assert_int_equal(nm_spark_streams_take(&streams, a, 0, &request), 0);
    assert_string_equal(request.exec, "1");
    assert_int_equal(nm_spark_streams_take(&streams, a, 0, &request), -ENOENT);
    assert_int_equal(nm_spark_streams_take(&streams, b, 0, &request), 0);
    assert_string_equal(request.exec, "2");
}

static void test_streams_have_limits(void **state)
{
    int64_t id;

    (void)state;
    for (unsigned i = 0; i < NM_SPARK_STREAMS_MAX; i++)
        assert_int_equal(open_stream("1", 1, 0, &id), 0);
    assert_int_equal(open_stream("1", 1, 0, &id), -EBUSY);
    assert_int_equal(nm_spark_streams_take(&streams, id, 0, &request), 0);
    assert_int_equal(open_stream("1", 1, 0, &id), 0);
    nm_spark_streams_done(&streams);
    assert_int_equal(open_stream("1", 1, NM_SPARK_STREAMS_BYTES_MAX / 2, &id), 0);
    assert_int_equal(open_stream("1", 1, NM_SPARK_STREAMS_BYTES_MAX / 2, &id), -EBUSY);
}

static void test_ids_are_checked(void **state)
{
    static const char *const invalid[] = {"", ".", "..", "a/b", "-1", "_1", "1 ", "1\n", "\xc3\xa4"};
    char id[NM_SPARK_ID_SIZE], longest[NM_SPARK_ID_SIZE + 1];
    int64_t stream;

    (void)state;
    assert_true(nm_spark_copy_id(nm_bytes_of("application_1_0001"), id));
    assert_string_equal(id, "application_1_0001");
    assert_true(nm_spark_copy_id(nm_bytes_of("driver.1-x"), id));
    for (size_t i = 0; i < NM_ARRAY_SIZE(invalid); i++)
        if (nm_spark_copy_id(nm_bytes_of(invalid[i]), id))
            fail_msg("'%s' should be refused", invalid[i]);
    assert_false(nm_spark_copy_id((struct nm_bytes){(const uint8_t *)"1\0", 2}, id));
    memset(longest, 'x', sizeof longest);
    assert_true(nm_spark_copy_id((struct nm_bytes){(uint8_t *)longest, NM_SPARK_ID_SIZE - 1}, id));
    assert_false(nm_spark_copy_id((struct nm_bytes){(uint8_t *)longest, NM_SPARK_ID_SIZE}, id));
    assert_int_equal(open_stream("", 1, 0, &stream), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_chunks_are_taken_in_order, tear_down),
        cmocka_unit_test_teardown(test_several_streams_are_open, tear_down),
        cmocka_unit_test_teardown(test_streams_have_limits, tear_down),
        cmocka_unit_test_teardown(test_ids_are_checked, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
