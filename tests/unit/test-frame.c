/* SPDX-License-Identifier: Apache-2.0 */

/* The frames of a session. Frames are made and parsed in pieces of any size, and invalid frames are refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "util/error.h"
#include "util/frame.h"

/* Feeds the bytes in pieces of at most `piece`. Returns the result of the last piece. */
static int feed(struct nm_frame *f, const void *data, size_t n, size_t piece)
{
    const uint8_t *p = data;
    int r = 0;

    for (size_t at = 0; at < n && r == 0;) {
        size_t part = NM_MIN(nm_frame_missing_bytes(f), piece);

        part = NM_MIN(part, n - at);
        assert_true(part > 0);
        memcpy(f->data + f->len, p + at, part);
        at += part;
        r = nm_frame_received(f, part);
        if (r == NM_FRAME_E_WHOLE)
            assert_int_equal(at, n);
    }
    return r;
}

static void test_a_frame_reads_back_as_written(void **state)
{
    static struct nm_frame f, g;
    uint16_t rows, columns;

    (void)state;
    for (size_t piece = 1; piece < 9; piece++) {
        nm_frame_make_size(&f, 300, 0x1234);
        g.len = 0;
        assert_int_equal(feed(&g, f.data, f.len, piece), NM_FRAME_E_WHOLE);
        assert_int_equal(nm_frame_type(&g), NM_FRAME_SIZE);
        assert_int_equal(nm_frame_parse_size(&g, &rows, &columns), 0);
        assert_int_equal(rows, 300);
        assert_int_equal(columns, 0x1234);
    }
}

static void test_a_frame_that_is_too_large_is_refused(void **state)
{
    static const size_t sizes[] = {0, 1, 255, 256, 257, NM_FRAME_MAX};
    static struct nm_frame f, g;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++) {
        nm_frame_make(&f, NM_FRAME_STDOUT, sizes[i]);
        memset(f.data + NM_FRAME_HEAD, 'x', sizes[i]);
        g.len = 0;
        assert_int_equal(feed(&g, f.data, f.len, 1000), NM_FRAME_E_WHOLE);
        assert_int_equal(nm_frame_size(&g), sizes[i]);
        assert_memory_equal(nm_frame_body(&g), nm_frame_body(&f), sizes[i]);
    }
}

static void test_an_invalid_frame_is_refused(void **state)
{
    static struct nm_frame f;

    (void)state;
    assert_int_equal(feed(&f, "I\1\0\1", 4, 4), -EBADMSG);
    f.len = 0;
    assert_int_equal(feed(&f, "I\0\x40\1", 4, 4), -EBADMSG); /* one byte more than permitted */
    f.len = 0;
    assert_int_equal(feed(&f, "HTTP", 4, 1), -EBADMSG);
}

static void test_a_frame_with_the_end_of_a_command_is_parsed(void **state)
{
    static struct nm_frame f;
    struct nm_frame_end end = {0};
    uint16_t rows, columns;

    (void)state;
    assert_int_equal(feed(&f, "X\0\0\4\6\0\0\2", 8, 3), NM_FRAME_E_WHOLE);
    assert_int_equal(nm_frame_parse_end(&f, &end), 0);
    assert_int_equal(end.stage, 6);
    assert_int_equal(end.error, 2);
    assert_int_equal(nm_frame_parse_size(&f, &rows, &columns), -EBADMSG);
    f.len = 0;
    assert_int_equal(feed(&f, "X\0\0\3\0\1\0", 7, 7), NM_FRAME_E_WHOLE);
    assert_int_equal(nm_frame_parse_end(&f, &end), -EBADMSG);
    f.len = 0;
    assert_int_equal(feed(&f, "O\0\0\4\0\1\0\0", 8, 8), NM_FRAME_E_WHOLE);
    assert_int_equal(nm_frame_parse_end(&f, &end), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame_reads_back_as_written),
        cmocka_unit_test(test_a_frame_that_is_too_large_is_refused),
        cmocka_unit_test(test_an_invalid_frame_is_refused),
        cmocka_unit_test(test_a_frame_with_the_end_of_a_command_is_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
