/* SPDX-License-Identifier: Apache-2.0 */

/* The files of log aggregation: the bytes of a TFile, what a reader finds in it, and errors. Suites of tests/yarn read
 * both formats with Hadoop. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "aggregate/format/log-buffer.h"
#include "aggregate/format/log-writer.h"
#include "tests/unit/fail-nth.h"
#include "util/error.h"

#define FIRST "container_1_0001_01_000001"
#define SECOND "container_1_0001_01_000002"

static const struct nm_log_params params = {.format = NM_LOG_TFILE, .application = "application_1_0001", .owner = "ada",
    .node = "node01:8041", .view_acl = "", .modify_acl = "bob devs", .upload_msec = 1234,
    .remote_name = "node01_8041"};

/* ---- the output -------------------------------------------------------------------------------- */

/* A sink that keeps everything, and fails at the nth write if fail_at is n. */
struct output {
    uint8_t *data;
    size_t size;
    unsigned n_writes, fail_at;
};

static int keep(void *userdata, const void *data, size_t n, char **ret_message)
{
    struct output *o = userdata;
    unsigned kinds;

    assert_true(n > 0);
    if (++o->n_writes == o->fail_at)
        return nm_fail(ret_message, -ENOSPC, "no room");
    kinds = fail_pause();
    o->data = realloc(o->data, o->size + n);
    fail_resume(kinds);
    assert_non_null(o->data);
    memcpy(o->data + o->size, data, n);
    o->size += n;
    return 0;
}

static void output_done(struct output *o)
{
    free(o->data);
    *o = (struct output){};
}

static struct nm_log_writer *writer(enum nm_log_format format, struct output *o)
{
    struct nm_log_params p = params;
    struct nm_log_sink sink = {keep, o};
    struct nm_log_writer *w = NULL;

    p.format = format;
    assert_int_equal(nm_log_writer_new(&p, &sink, &w), 0);
    return w;
}

static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(i * 7 + i / 251 + i / 65537);
}

/* Writes a log whose bytes are those of byte_at(), in pieces. */
static void write_log(struct nm_log_writer *w, const char *container, const char *name, size_t size, size_t piece)
{
    uint8_t *bytes = malloc(size + 1);

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = byte_at(i);
    assert_int_equal(nm_log_writer_container(w, container, NULL), 0);
    assert_int_equal(nm_log_writer_file(w, name, size, 99, NULL), 0);
    for (size_t at = 0; at < size; at += piece)
        assert_int_equal(nm_log_writer_data(w, bytes + at, NM_MIN(piece, size - at), NULL), 0);
    free(bytes);
}

/* ---- a reader of TFile ------------------------------------------------------------------------- */

struct reader {
    const uint8_t *data;
    size_t size, at;
};

static uint64_t number(struct reader *r, unsigned n)
{
    uint64_t value = 0;

    assert_true(n <= r->size - r->at);
    while (n-- > 0)
        value = value << 8 | r->data[r->at++];
    return value;
}

/* Utils.readVLong() of Hadoop, in its own words: ranges of the first byte. */
static int64_t vlong(struct reader *r)
{
    int first = (int8_t)number(r, 1);

    if (first >= -32)
        return first;
    if (first >= -72)
        return (first + 52) * 256 + (int)number(r, 1);
    if (first >= -104)
        return (first + 88) * 65536 + (int)number(r, 2);
    if (first >= -120)
        return (first + 112) * 16777216LL + (int)number(r, 3);
    unsigned n = (unsigned)(first + 129);
    uint64_t value = number(r, n), sign = UINT64_C(1) << (8 * n - 1);

    return n == 8 ? (int64_t)value : (int64_t)(value ^ sign) - (int64_t)sign;
}

static void assert_bytes(struct reader *r, const void *expected, size_t n)
{
    assert_true(n <= r->size - r->at);
    assert_memory_equal(r->data + r->at, expected, n);
    r->at += n;
}

static void assert_utf(struct reader *r, const char *expected)
{
    assert_int_equal(number(r, 2), strlen(expected));
    assert_bytes(r, expected, strlen(expected));
}

/* Reads a key, and the value of its record, whose chunks it joins. */
static struct reader record(struct reader *r, const char *key)
{
    struct reader value = {};
    uint8_t *joined = NULL;
    int64_t n;

    assert_int_equal(vlong(r), strlen(key) + 2);
    assert_utf(r, key);
    do {
        size_t size;

        n = vlong(r);
        assert_in_range(n < 0 ? -n : n, 0, NM_MIB);
        size = (size_t)(n < 0 ? -n : n);
        assert_true(size <= r->size - r->at);
        joined = realloc(joined, value.size + size + 1);
        assert_non_null(joined);
        memcpy(joined + value.size, r->data + r->at, size);
        value.size += size;
        r->at += size;
    } while (n < 0);
    value.data = joined;
    return value;
}

static void record_done(struct reader *value)
{
    assert_int_equal(value->at, value->size);
    free((uint8_t *)value->data);
}

static void assert_log(struct reader *value, const char *name, size_t size)
{
    char text[24];

    assert_utf(value, name);
    (void)snprintf(text, sizeof text, "%zu", size);
    assert_utf(value, text);
    assert_true(size <= value->size - value->at);
    for (size_t i = 0; i < size; i++)
        if (value->data[value->at++] != byte_at(i))
            fail_msg("byte %zu of %s", i, name);
}

/* Reads the records that precede those of containers. */
static void assert_start(struct reader *r)
{
    struct reader value;

    r->at = 16;
    value = record(r, "VERSION");
    assert_int_equal(number(&value, 4), 1);
    record_done(&value);
    value = record(r, "APPLICATION_ACL");
    assert_utf(&value, "VIEW_APP");
    assert_utf(&value, " ");
    assert_utf(&value, "MODIFY_APP");
    assert_utf(&value, "bob devs");
    record_done(&value);
    value = record(r, "APPLICATION_OWNER");
    assert_utf(&value, "ada");
    record_done(&value);
}

/* ---- the tests --------------------------------------------------------------------------------- */

#define MAGIC "\xd1\x11\xd3\x68\x91\xb5\xd7\xb6\x39\xdf\x41\x40\x92\xba\xe1\x50"

static void test_a_tfile_has_these_bytes(void **state)
{
    static const char expected[] = MAGIC
        "\x09\0\x07VERSION" "\x04\0\0\0\x01"
        "\x11\0\x0f" "APPLICATION_ACL" "\x23\0\x08VIEW_APP\0\x01 \0\x0aMODIFY_APP\0\x08" "bob devs"
        "\x13\0\x11" "APPLICATION_OWNER" "\x05\0\x03" "ada"
        "\x1c\0\x1a" FIRST "\xf5\0\x06stdout\0\x01" "3" "\xfd" "\x00\x07\x0e" "\x00"
        /* at 157: TFile.meta, TFile.index and BCFile.index */
        "\0\x01\0\0\x04\0"
        "\x0a\x09\0\x07VERSION"
        "\x1e\x1c\0\x1a" FIRST "\x04"
        "\x04none\x01\x10\xcc\x8d\xcc\x8d"
        /* at 216: the index of these three */
        "\x03"
        "\x11" "data:BCFile.index" "\x04none" "\xcc\xcd\x0b\x0b"
        "\x10" "data:TFile.index" "\x04none" "\xcc\xa3\x2a\x2a"
        "\x0f" "data:TFile.meta" "\x04none" "\xcc\x9d\x06\x06"
        "\0\0\0\0\0\0\0\xd8" "\0\x01\0\0" MAGIC;
    struct output o = {};
    struct nm_log_writer *w = writer(NM_LOG_TFILE, &o);

    (void)state;
    write_log(w, FIRST, "stdout", 3, 3);
    assert_int_equal(nm_log_writer_end(w, NULL), 0);
    assert_int_equal(o.size, sizeof expected - 1);
    assert_memory_equal(o.data, expected, o.size);
    nm_log_writer_free(w);
    output_done(&o);
}

/* The sizes are the limits of a chunk and of the numbers that announce one. */
static void test_a_reader_finds_logs_of_each_size(void **state)
{
    static const size_t sizes[] = {0, 1, 32, 33, 127, 128, 5120, 5121, NM_MIB - 1, NM_MIB, NM_MIB + 1, 3 * NM_MIB};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++) {
        size_t pieces[] = {NM_MAX(sizes[i], (size_t)1), 65537, sizes[i] > NM_MIB / 2 ? 1000003 : 1};
        struct output first = {};

        for (size_t j = 0; j < NM_ARRAY_SIZE(pieces); j++) {
            struct output o = {};
            struct nm_log_writer *w = writer(NM_LOG_TFILE, &o);
            struct reader r, value;

            write_log(w, FIRST, "a", 2, 1);
            write_log(w, FIRST, "b", sizes[i], pieces[j]);
            write_log(w, SECOND, "a", sizes[i], pieces[j]);
            write_log(w, SECOND, "b", 0, 1);
            assert_int_equal(nm_log_writer_end(w, NULL), 0);
            nm_log_writer_free(w);
            r = (struct reader){o.data, o.size, 0};
            assert_start(&r);
            value = record(&r, FIRST);
            assert_log(&value, "a", 2);
            assert_log(&value, "b", sizes[i]);
            record_done(&value);
            value = record(&r, SECOND);
            assert_log(&value, "a", sizes[i]);
            assert_log(&value, "b", 0);
            record_done(&value);
            if (j == 0) {
                first = o;
                continue;
            }
            assert_int_equal(o.size, first.size); /* the pieces make no difference */
            assert_memory_equal(o.data, first.data, o.size);
            output_done(&o);
        }
        output_done(&first);
    }
}

static void test_a_container_without_logs_is_not_written(void **state)
{
    struct output o = {}, without = {};
    struct nm_log_writer *w = writer(NM_LOG_TFILE, &o);

    (void)state;
    assert_int_equal(nm_log_writer_container(w, SECOND, NULL), 0);
    write_log(w, FIRST, "a", 5, 5);
    assert_int_equal(nm_log_writer_container(w, SECOND, NULL), 0);
    assert_int_equal(nm_log_writer_end(w, NULL), 0);
    nm_log_writer_free(w);
    w = writer(NM_LOG_TFILE, &without);
    write_log(w, FIRST, "a", 5, 5);
    assert_int_equal(nm_log_writer_end(w, NULL), 0);
    nm_log_writer_free(w);
    assert_int_equal(o.size, without.size);
    assert_memory_equal(o.data, without.data, o.size);
    output_done(&o);
    output_done(&without);
}

static void test_numbers_of_each_length_are_read_back(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++)
        for (int64_t near = -40; near <= 40; near++)
            for (int negative = 0; negative < 2; negative++) {
                int64_t magnitude = (int64_t)((UINT64_C(1) << bits) + (uint64_t)near);
                int64_t value = negative ? ~magnitude : magnitude;
                struct nm_log_buffer b = {};
                struct reader r;

                nm_log_buffer_vlong(&b, value);
                assert_int_equal(b.error, 0);
                r = (struct reader){b.data, b.size, 0};
                assert_true(vlong(&r) == value);
                assert_int_equal(r.at, r.size);
                nm_log_buffer_done(&b);
            }
}

/* Java has no shorter form of these than the ones that its own writer uses. */
static void test_numbers_have_the_shortest_form(void **state)
{
    static const struct {
        int64_t value;
        size_t size;
    } values[] = {{-32, 1}, {127, 1}, {-33, 2}, {128, 2}, {5119, 2}, {-5120, 2}, {5120, 3}, {1048575, 3},
                  {-1048576, 3}, {1048576, 4}, {134217727, 4}, {134217728, 5}, {INT32_MAX, 5}, {INT64_C(1) << 31, 6},
                  {INT64_MAX, 9}, {INT64_MIN, 9}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(values); i++) {
        struct nm_log_buffer b = {};

        nm_log_buffer_vlong(&b, values[i].value);
        assert_int_equal(b.size, values[i].size);
        nm_log_buffer_done(&b);
    }
}

static void test_texts_are_written_as_java_reads_them(void **state)
{
    static const struct {
        const char *text, *expected;
    } texts[] = {{"", "\0\0"}, {"a\xc3\xbc", "\0\3a\xc3\xbc"}, {"\xe2\x98\x83", "\0\3\xe2\x98\x83"},
                 {"\xf0\x9f\x98\x80!", "\0\7\xed\xa0\xbd\xed\xb8\x80!"},         /* two surrogates */
                 {"\xf4\x8f\xbf\xbf", "\0\6\xed\xaf\xbf\xed\xbf\xbf"},           /* U+10FFFF */
                 {"x\xff\xc3", "\0\7x\xef\xbf\xbd\xef\xbf\xbd"},                 /* not UTF-8 */
                 {"\xed\xa0\xbd", "\0\x09\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}}; /* a surrogate is not UTF-8 */

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(texts); i++) {
        struct nm_log_buffer b = {};

        nm_log_buffer_utf(&b, texts[i].text);
        assert_int_equal(b.error, 0);
        assert_int_equal(b.size, 2 + (size_t)texts[i].expected[1]);
        assert_int_equal(b.size, 2 + nm_log_buffer_utf_size(texts[i].text));
        assert_memory_equal(b.data, texts[i].expected, b.size);
        nm_log_buffer_done(&b);
    }
}

static void test_a_text_that_java_cannot_read_is_refused(void **state)
{
    static char longest[NM_LOG_TEXT_MAX + 2];
    static const enum nm_log_format formats[] = {NM_LOG_TFILE, NM_LOG_INDEXED};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(formats); i++) {
        struct nm_log_params p = params;
        struct output o = {};
        struct nm_log_sink sink = {keep, &o};
        struct nm_log_writer *w = writer(formats[i], &o);

        memset(longest, 'x', NM_LOG_TEXT_MAX);
        longest[NM_LOG_TEXT_MAX] = '\0';
        write_log(w, FIRST, longest, 1, 1);
        longest[NM_LOG_TEXT_MAX] = 'x';
        assert_int_equal(nm_log_writer_file(w, longest, 1, 0, NULL), -ENAMETOOLONG);
        nm_log_writer_free(w);
        w = writer(formats[i], &o);
        assert_int_equal(nm_log_writer_container(w, longest, NULL), -ENAMETOOLONG);
        nm_log_writer_free(w);
        output_done(&o);
        p.format = formats[i];
        p.view_acl = longest;
        assert_int_equal(nm_log_writer_new(&p, &sink, &w), -ENAMETOOLONG);
    }
}

/* ---- errors ------------------------------------------------------------------------------------ */

/* Writes three logs, and returns the first error. */
static int write_logs(struct nm_log_writer *w, char **ret_message)
{
    static const char *const ids[] = {FIRST, FIRST, SECOND};
    int r = 0;

    for (size_t i = 0; i < NM_ARRAY_SIZE(ids) && r == 0; i++) {
        r = nm_log_writer_container(w, ids[i], ret_message);
        if (r == 0)
            r = nm_log_writer_file(w, i == 0 ? "a" : "b", 10, 0, ret_message);
        if (r == 0)
            r = nm_log_writer_data(w, "01234", 5, ret_message);
        if (r == 0)
            r = nm_log_writer_data(w, "56789", 5, ret_message);
    }
    return r == 0 ? nm_log_writer_end(w, ret_message) : r;
}

static void test_each_failed_write_ends_the_output(void **state)
{
    static const enum nm_log_format formats[] = {NM_LOG_TFILE, NM_LOG_INDEXED};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(formats); i++) {
        struct output whole = {};
        struct nm_log_writer *w = writer(formats[i], &whole);

        assert_int_equal(write_logs(w, NULL), 0);
        nm_log_writer_free(w);
        assert_true(whole.n_writes > 3);
        for (unsigned at = 1; at <= whole.n_writes; at++) {
            struct output o = {.fail_at = at};
            char *message = NULL;

            w = writer(formats[i], &o);
            assert_int_equal(write_logs(w, &message), -ENOSPC);
            assert_string_equal(message, "no room");
            assert_int_equal(o.n_writes, at);
            free(message);
            assert_memory_equal(o.data ? o.data : whole.data, whole.data, o.size);
            /* Each further call fails, and writes nothing. */
            assert_int_equal(nm_log_writer_container(w, SECOND, NULL), -ENOSPC);
            assert_int_equal(nm_log_writer_file(w, "c", 0, 0, NULL), -ENOSPC);
            assert_int_equal(nm_log_writer_data(w, "x", 1, NULL), -ENOSPC);
            assert_int_equal(nm_log_writer_end(w, NULL), -ENOSPC);
            assert_int_equal(o.n_writes, at);
            nm_log_writer_free(w);
            output_done(&o);
        }
        output_done(&whole);
    }
}

static int write_with_new_writer(void *userdata)
{
    enum nm_log_format *format = userdata;
    struct nm_log_params p = params;
    struct output o = {};
    struct nm_log_sink sink = {keep, &o};
    struct nm_log_writer *w = NULL;
    int r;

    p.format = *format;
    r = nm_log_writer_new(&p, &sink, &w);
    if (r == 0)
        r = write_logs(w, NULL);
    nm_log_writer_free(w);
    output_done(&o);
    return r;
}

static void test_each_failed_allocation_is_reported(void **state)
{
    enum nm_log_format formats[] = {NM_LOG_TFILE, NM_LOG_INDEXED};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(formats); i++)
        assert_true(fail_each(write_with_new_writer, &formats[i]) > 8);
}

/* Each function begins with a new writer, and makes one wrong call, which it returns. */
static int log_without_container(struct nm_log_writer *w, char **ret_message)
{
    return nm_log_writer_file(w, "a", 1, 0, ret_message);
}

static int data_without_log(struct nm_log_writer *w, char **ret_message)
{
    return nm_log_writer_data(w, "x", 1, ret_message);
}

static int begin_log(struct nm_log_writer *w)
{
    assert_int_equal(nm_log_writer_container(w, FIRST, NULL), 0);
    assert_int_equal(nm_log_writer_file(w, "a", 3, 0, NULL), 0);
    return nm_log_writer_data(w, "xy", 2, NULL);
}

static int too_many_bytes(struct nm_log_writer *w, char **ret_message)
{
    assert_int_equal(begin_log(w), 0);
    return nm_log_writer_data(w, "zz", 2, ret_message);
}

static int next_log_too_early(struct nm_log_writer *w, char **ret_message)
{
    assert_int_equal(begin_log(w), 0);
    return nm_log_writer_file(w, "b", 1, 0, ret_message);
}

static int next_container_too_early(struct nm_log_writer *w, char **ret_message)
{
    assert_int_equal(begin_log(w), 0);
    return nm_log_writer_container(w, SECOND, ret_message);
}

static int end_too_early(struct nm_log_writer *w, char **ret_message)
{
    assert_int_equal(begin_log(w), 0);
    return nm_log_writer_end(w, ret_message);
}

static int log_after_the_end(struct nm_log_writer *w, char **ret_message)
{
    assert_int_equal(nm_log_writer_end(w, NULL), 0);
    return nm_log_writer_container(w, FIRST, ret_message);
}

static void test_wrong_calls_are_refused(void **state)
{
    static int (*const calls[])(struct nm_log_writer *w, char **ret_message) = {log_without_container,
        data_without_log, too_many_bytes, next_log_too_early, next_container_too_early, end_too_early,
        log_after_the_end};
    static const enum nm_log_format formats[] = {NM_LOG_TFILE, NM_LOG_INDEXED};

    (void)state;
    for (size_t i = 0; i < 2 * NM_ARRAY_SIZE(calls); i++) {
        struct output o = {};
        struct nm_log_writer *w = writer(formats[i % 2], &o);
        char *message = NULL;
        unsigned n;

        assert_int_equal(calls[i / 2](w, &message), -EINVAL);
        assert_non_null(message);
        free(message);
        n = o.n_writes;
        assert_int_equal(nm_log_writer_end(w, NULL), -EINVAL);
        assert_int_equal(o.n_writes, n);
        nm_log_writer_free(w);
        output_done(&o);
    }
}

static void test_sizes_beyond_javas_numbers_are_refused(void **state)
{
    static const uint64_t sizes[] = {INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    static const enum nm_log_format formats[] = {NM_LOG_TFILE, NM_LOG_INDEXED};

    (void)state;
    for (size_t i = 0; i < 2 * NM_ARRAY_SIZE(sizes); i++) {
        struct output o = {};
        struct nm_log_writer *w = writer(formats[i % 2], &o);

        assert_int_equal(nm_log_writer_container(w, FIRST, NULL), 0);
        assert_int_equal(nm_log_writer_file(w, "a", sizes[i / 2], 0, NULL), -EFBIG);
        nm_log_writer_free(w);
        output_done(&o);
    }
}

static void test_contradicting_parameters_are_refused(void **state)
{
    struct nm_log_params p = params;
    struct output o = {};
    struct nm_log_sink sink = {keep, &o};
    struct nm_log_writer *w = NULL;

    (void)state;
    p.offset_bytes = 1; /* nothing is appended to a TFile */
    assert_int_equal(nm_log_writer_new(&p, &sink, &w), -EINVAL);
    p.format = NM_LOG_INDEXED;
    p.offset_bytes = 0; /* a new file has no former index */
    p.former_meta = "x";
    p.former_meta_size = 1;
    assert_int_equal(nm_log_writer_new(&p, &sink, &w), -EINVAL);
    p.offset_bytes = 100;
    assert_int_equal(nm_log_writer_new(&p, &sink, &w), -EBADMSG);
    p.former_meta_size = NM_LOG_INDEXED_META_MAX + 1;
    assert_int_equal(nm_log_writer_new(&p, &sink, &w), -EBADMSG);
    p.former_meta = NULL;
    p.offset_bytes = UINT64_MAX;
    assert_int_equal(nm_log_writer_new(&p, &sink, &w), -EFBIG);
    assert_null(w);
    assert_int_equal(o.n_writes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tfile_has_these_bytes),
        cmocka_unit_test(test_a_reader_finds_logs_of_each_size),
        cmocka_unit_test(test_a_container_without_logs_is_not_written),
        cmocka_unit_test(test_numbers_of_each_length_are_read_back),
        cmocka_unit_test(test_numbers_have_the_shortest_form),
        cmocka_unit_test(test_texts_are_written_as_java_reads_them),
        cmocka_unit_test(test_a_text_that_java_cannot_read_is_refused),
        cmocka_unit_test(test_each_failed_write_ends_the_output),
        cmocka_unit_test(test_each_failed_allocation_is_reported),
        cmocka_unit_test(test_wrong_calls_are_refused),
        cmocka_unit_test(test_sizes_beyond_javas_numbers_are_refused),
        cmocka_unit_test(test_contradicting_parameters_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
