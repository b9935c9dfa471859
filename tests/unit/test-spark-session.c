/* SPDX-License-Identifier: Apache-2.0 */

/* Sessions of clients: whole conversations, without a connection. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>

#include <cmocka.h>

#include "open-descriptors.h"
#include "spark-fixture.h"
#include "spark/session.h"
#include "util/macros.h"

static struct spark_fixture fixture;
static struct nm_spark_applications *applications;
static struct nm_spark_session session;
static struct nm_spark_auth_settings settings;
static struct nm_spark_answer answer;
static struct nm_writer message, frame, sent;
static unsigned n_open;

static int set_up(void **state)
{
    (void)state;
    spark_fixture_new(&fixture);
    spark_fixture_map(&fixture, (const char *const[]){"first", "", "the third", NULL});
    assert_int_equal(nm_spark_applications_new(&fixture.locals, -EBADF, &applications), 0);
    assert_int_equal(nm_spark_applications_add(applications, &fixture.application, (struct nm_bytes){}, true), 0);
    nm_spark_session_init(&session, applications, &settings);
    answer.part.fd = -EBADF;
    n_open = open_descriptors();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    answer.part.fd = nm_close(answer.part.fd);
    assert_int_equal(open_descriptors(), n_open);
    nm_spark_session_done(&session);
    applications = nm_spark_applications_free(applications);
    nm_writer_done(&message);
    nm_writer_done(&frame);
    nm_writer_done(&sent);
    spark_fixture_done(&fixture);
    return 0;
}

/* ---- the client ----------------------------------------------------------------------------- */

/* Sends a frame of this type, whose content is in `frame`. The answer is in `sent`. */
static int send_frame(uint8_t type)
{
    struct nm_writer whole = {};
    int r;

    nm_spark_put_i64(&whole, (int64_t)(9 + frame.size));
    nm_spark_put_u8(&whole, type);
    nm_writer_put(&whole, (struct nm_bytes){frame.data, frame.size});
    nm_writer_done(&sent);
    answer.part.fd = nm_close(answer.part.fd);
    r = nm_spark_session_answer(&session, (struct nm_bytes){whole.data, whole.size}, &sent, &answer);
    nm_writer_done(&whole);
    nm_writer_done(&frame);
    return r;
}

/* Sends the message in `message` as request 9. */
static int call(void)
{
    nm_spark_put_i64(&frame, 9);
    nm_spark_put_text(&frame, (struct nm_bytes){message.data, message.size});
    nm_writer_done(&message);
    return send_frame(3);
}

static int request_chunk(int64_t stream, int32_t chunk)
{
    nm_spark_put_i64(&frame, stream);
    nm_spark_put_i32(&frame, chunk);
    return send_frame(0);
}

/* Checks the type of the answer, and returns what follows the number of the request. */
static struct nm_bytes answered(uint8_t type)
{
    struct nm_bytes rest = {sent.data, sent.size};

    assert_true(sent.size >= 17);
    assert_int_equal(nm_spark_frame_size(sent.data), sent.size + (type == 1 ? answer.part.bytes : 0));
    assert_int_equal(sent.data[8], type);
    (void)nm_bytes_take(&rest, 17);
    return rest;
}

static void assert_refused(uint8_t type, const char *expected)
{
    struct nm_bytes rest = answered(type), why;

    if (type == 2)
        (void)nm_bytes_take(&rest, 4); /* the chunk */
    assert_int_equal(nm_spark_take_text(&rest, &why), 0);
    assert_int_equal(rest.size, 0);
    if (!nm_bytes_equal(why, nm_bytes_of(expected)))
        fail_msg("'%.*s' should be '%s'", (int)why.size, (const char *)why.data, expected);
}

static void begin_message(uint8_t code, const char *app, const char *exec)
{
    nm_spark_put_u8(&message, code);
    nm_spark_put_text(&message, nm_bytes_of(app));
    if (exec)
        nm_spark_put_text(&message, nm_bytes_of(exec));
}

static void register_executor(void)
{
    char *b = strdup(spark_fixture_registered(&fixture, 1));

    assert_non_null(b);
    spark_fixture_registration(&message, SPARK_APP, "1",
                               (const char *const[]){b, spark_fixture_registered(&fixture, 0), NULL});
    assert_int_equal(call(), 0);
    assert_int_equal(answered(4).size, 4); /* an empty message */
    free(b);
}

/* Asks for the blocks of map 0 for the reducers 0 to n - 1, and returns the stream. */
static int64_t open_blocks(const char *exec, int32_t n)
{
    struct nm_bytes rest;
    int64_t stream = -1;
    int32_t n_chunks;
    uint8_t code;

    begin_message(9, SPARK_APP, exec);
    nm_spark_put_i32(&message, 0);
    nm_spark_put_i32(&message, 1);
    nm_spark_put_i64(&message, 0);
    nm_spark_put_i32(&message, 1);
    nm_spark_put_i32(&message, n);
    for (int32_t i = 0; i < n; i++)
        nm_spark_put_i32(&message, i);
    nm_spark_put_u8(&message, 0);
    assert_int_equal(call(), 0);
    rest = answered(4);
    (void)nm_bytes_take(&rest, 4); /* its size */
    assert_int_equal(nm_spark_take_u8(&rest, &code), 0);
    assert_int_equal(code, 3);
    assert_int_equal(nm_spark_take_i64(&rest, &stream), 0);
    assert_int_equal(nm_spark_take_i32(&rest, &n_chunks), 0);
    assert_int_equal(n_chunks, n);
    return stream;
}

static void assert_part(const char *expected)
{
    char text[64] = "";

    assert_int_equal(answer.part.bytes, strlen(expected));
    assert_int_equal(pread(answer.part.fd, text, answer.part.bytes, (off_t)answer.part.start), answer.part.bytes);
    assert_string_equal(text, expected);
}

/* ---- conversations -------------------------------------------------------------------------- */

static void test_blocks_are_fetched(void **state)
{
    int64_t stream;

    (void)state;
    register_executor();
    stream = open_blocks("1", 3);
    assert_int_equal(request_chunk(stream, 0), 0);
    assert_int_equal(answered(1).size, 4);
    assert_part("first");
    assert_int_equal(request_chunk(stream, 1), 0);
    assert_int_equal(sent.size, 21);
    assert_int_equal(answer.part.bytes, 0);
    assert_int_equal(request_chunk(stream, 2), 0);
    assert_part("the third");
    assert_int_equal(request_chunk(stream, 3), 0);
    assert_refused(2, "Stream not found: it has ended, or belongs to another connection");
}

static uint64_t reserved_bytes, most_bytes;

static int reserve(uint64_t bytes, void *userdata)
{
    (void)userdata;
    if (reserved_bytes + bytes > most_bytes)
        return -EBUSY;
    reserved_bytes += bytes;
    return 0;
}

static void ask_for_dirs(int32_t n)
{
    begin_message(10, SPARK_APP, NULL);
    nm_spark_put_i32(&message, n);
    for (int32_t i = 0; i < n; i++)
        nm_spark_put_text(&message, nm_bytes_of("1"));
}

/* Memory is taken before it is used: for the copy of a request, and for the directories of many executors. */
static void test_memory_is_taken_before_an_answer_is_made(void **state)
{
    static const struct nm_spark_reserve limit = {.take = reserve};
    const int32_t n = 1000;

    (void)state;
    register_executor();
    session.reserve = &limit;
    reserved_bytes = 0;
    most_bytes = 4 << 20;
    (void)open_blocks("1", n);
    assert_true(reserved_bytes >= (uint64_t)n * 4 && reserved_bytes < (uint64_t)n * 5);
    reserved_bytes = 0;
    ask_for_dirs(1);
    assert_int_equal(call(), 0);
    assert_true(reserved_bytes > 0 && reserved_bytes <= 64 << 10);
    reserved_bytes = 0;
    ask_for_dirs(n);
    assert_int_equal(call(), 0);
    assert_true(reserved_bytes >= 2 * sent.size);
    most_bytes = reserved_bytes - 1;
    reserved_bytes = 0;
    ask_for_dirs(n);
    assert_int_equal(call(), -EBUSY);
    most_bytes = 1000;
    begin_message(9, SPARK_APP, "1");
    nm_spark_put_i32(&message, 0);
    nm_spark_put_i32(&message, 1);
    nm_spark_put_i64(&message, 0);
    nm_spark_put_i32(&message, 1);
    nm_spark_put_i32(&message, n);
    for (int32_t i = 0; i < n; i++)
        nm_spark_put_i32(&message, i);
    nm_spark_put_u8(&message, 0);
    reserved_bytes = 0;
    assert_int_equal(call(), -EBUSY);
}

static void test_blocks_are_fetched_as_streams(void **state)
{
    char name[64];
    struct nm_bytes rest, repeated;
    int64_t size;

    (void)state;
    register_executor();
    snprintf(name, sizeof name, "%jd_0", (intmax_t)open_blocks("1", 1));
    nm_spark_put_text(&frame, nm_bytes_of(name));
    assert_int_equal(send_frame(6), 0);
    assert_part("first");
    assert_int_equal(nm_spark_frame_size(sent.data), sent.size); /* the block is not in the frame */
    rest = (struct nm_bytes){sent.data + 9, sent.size - 9};
    assert_int_equal(nm_spark_take_text(&rest, &repeated), 0);
    assert_true(nm_bytes_equal(repeated, nm_bytes_of(name)));
    assert_int_equal(nm_spark_take_i64(&rest, &size), 0);
    assert_int_equal(size, 5);
}

static void test_missing_data_is_a_failure(void **state)
{
    int64_t stream;

    (void)state;
    register_executor();
    stream = open_blocks("1", 5);
    for (int32_t i = 0; i < 3; i++)
        assert_int_equal(request_chunk(stream, i), 0);
    assert_int_equal(request_chunk(stream, 3), 0);
    assert_refused(2, "Failed to open file: shuffle_0_0_0.data of executor 1: the map has no such reducer");
    assert_int_equal(unlink(spark_fixture_path(&fixture, "shuffle_0_0_0.index")), 0);
    assert_int_equal(request_chunk(stream, 4), 0);
    assert_refused(2, "Failed to open file: shuffle_0_0_0.data of executor 1: there is no such file");
    assert_true(answer.has_failed);
}

static void test_chunks_must_be_in_order(void **state)
{
    int64_t stream;

    (void)state;
    register_executor();
    stream = open_blocks("1", 2);
    assert_int_equal(request_chunk(stream, 1), 0);
    assert_refused(2, "Chunks must be requested in their order, each once");
    assert_int_equal(request_chunk(stream, 0), 0);
    assert_part("first");
    assert_int_equal(request_chunk(stream ^ 1, 1), 0);
    assert_refused(2, "Stream not found: it has ended, or belongs to another connection");
}

static void test_an_unknown_executor_has_no_blocks(void **state)
{
    int64_t stream;

    (void)state;
    stream = open_blocks("7", 1);
    assert_int_equal(request_chunk(stream, 0), 0);
    assert_refused(2, "Executor is not registered (appId=application_1_0001, execId=7)");
}

static void test_a_session_belongs_to_one_application(void **state)
{
    (void)state;
    begin_message(10, "application_1_0002", NULL);
    nm_spark_put_i32(&message, 0);
    assert_int_equal(call(), 0);
    assert_refused(5, "The application is not known to this node");
    register_executor();
    snprintf(fixture.application.id, sizeof fixture.application.id, "application_1_0002");
    assert_int_equal(nm_spark_applications_add(applications, &fixture.application, (struct nm_bytes){}, true), 0);
    begin_message(10, "application_1_0002", NULL);
    nm_spark_put_i32(&message, 0);
    assert_int_equal(call(), 0);
    assert_refused(5, "Client is not authorized for this application: its connection belongs to another one");
}

static void test_the_end_of_the_application_ends_its_streams(void **state)
{
    int64_t stream;

    (void)state;
    register_executor();
    stream = open_blocks("1", 1);
    assert_int_equal(nm_spark_applications_remove(applications, SPARK_APP), 0);
    assert_int_equal(request_chunk(stream, 0), 0);
    assert_refused(2, "Executor is not registered (appId=application_1_0001, execId=1)");
}

static void test_directories_are_told(void **state)
{
    struct nm_bytes rest, dir;
    char *b = strdup(spark_fixture_registered(&fixture, 1));

    (void)state;
    assert_non_null(b);
    register_executor();
    begin_message(10, SPARK_APP, NULL);
    nm_spark_put_i32(&message, 1);
    nm_spark_put_text(&message, nm_bytes_of("1"));
    assert_int_equal(call(), 0);
    rest = answered(4);
    (void)nm_bytes_take(&rest, 4 + 1 + 4 + 5 + 4 + 4 + 4); /* size, code, "1", [2], number of directories */
    assert_int_equal(nm_spark_take_text(&rest, &dir), 0);
    assert_true(nm_bytes_equal(dir, nm_bytes_of(b)));
    assert_int_equal(nm_spark_take_text(&rest, &dir), 0);
    assert_true(nm_bytes_equal(dir, nm_bytes_of(spark_fixture_registered(&fixture, 0))));
    assert_int_equal(rest.size, 0);
    free(b);
    begin_message(10, SPARK_APP, NULL);
    nm_spark_put_i32(&message, 2);
    nm_spark_put_text(&message, nm_bytes_of("1"));
    nm_spark_put_text(&message, nm_bytes_of("2"));
    assert_int_equal(call(), 0);
    assert_refused(5, "Executor is not registered (appId=application_1_0001, execId=2)");
}

static void test_push_based_shuffle_is_refused(void **state)
{
    (void)state;
    nm_spark_put_i64(&frame, 9);
    nm_spark_put_text(&frame, nm_bytes_of("meta"));
    nm_spark_put_i64(&frame, 5);
    assert_int_equal(send_frame(10), 0);
    assert_refused(5, "Cannot handle shuffle block merge");
    assert_int_equal(answer.skipped_bytes, 5);
    nm_spark_put_i64(&frame, 9);
    nm_spark_put_text(&frame, nm_bytes_of("meta"));
    nm_spark_put_i64(&frame, NM_SPARK_SKIPPED_MAX + 1);
    assert_int_equal(send_frame(10), -EMSGSIZE);
    begin_message(13, SPARK_APP, NULL);
    assert_int_equal(call(), 0);
    assert_refused(5, "Cannot handle shuffle block merge");
    nm_spark_put_i64(&frame, 9);
    assert_int_equal(send_frame(11), 0);
    assert_refused(5, "Cannot handle shuffle block merge");
    nm_spark_put_text(&frame, nm_bytes_of("\x13"));
    assert_int_equal(send_frame(9), 0);
    assert_int_equal(sent.size, 0);
}

static void test_other_messages_are_answered(void **state)
{
    struct nm_bytes rest;

    (void)state;
    begin_message(7, SPARK_APP, "1");
    nm_spark_put_i32(&message, 1);
    nm_spark_put_text(&message, nm_bytes_of("rdd_7_8"));
    assert_int_equal(call(), 0);
    rest = answered(4);
    assert_memory_equal(rest.data, "\0\0\0\5\10\0\0\0\0", 9);
    begin_message(16, SPARK_APP, "1");
    nm_spark_put_i32(&message, 0);
    nm_spark_put_i64(&message, 0);
    nm_spark_put_i32(&message, 0);
    nm_spark_put_i64(&message, 0);
    nm_spark_put_text(&message, nm_bytes_of("ADLER32"));
    assert_int_equal(call(), 0);
    rest = answered(4);
    assert_memory_equal(rest.data, "\0\0\0\2\21\2", 6);
    nm_spark_put_u8(&message, 0xea);
    assert_int_equal(call(), 0);
    assert_refused(5, "Unexpected message: this server does not handle it");
}

static void test_invalid_frames_end_the_connection(void **state)
{
    (void)state;
    assert_int_equal(send_frame(1), -EBADMSG);
    assert_int_equal(send_frame(0), -EBADMSG);
    assert_int_equal(call(), 0);
    assert_refused(5, "The message is not valid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_blocks_are_fetched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blocks_are_fetched_as_streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_memory_is_taken_before_an_answer_is_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_data_is_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_chunks_must_be_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_unknown_executor_has_no_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_session_belongs_to_one_application, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_end_of_the_application_ends_its_streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_push_based_shuffle_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_messages_are_answered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_frames_end_the_connection, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
