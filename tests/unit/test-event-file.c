/* SPDX-License-Identifier: Apache-2.0 */

/* The newest events on disk. Written records are read back, and other data in the file is not accepted as an event. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/journal/slot-file.h"
#include "agent/state/manager-state.h"
#include "tests/unit/limit-files.h"
#include "tests/unit/remove-tree.h"

static char dir[64];
static struct nm_event_record ring[NM_EVENT_RING];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/nm-event-file.XXXXXX");
    memset(ring, 0, sizeof ring);
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(dir);
    return 0;
}

/* Returns the longest possible event, with all characters that a log line may have. */
static struct nm_event_record longest(uint64_t number)
{
    struct nm_event_record e = {.number = number,
                                .realtime_usec = UINT64_MAX,
                                .kind = NM_EVENT_DECISION,
                                .submitter_uid = UINT32_MAX,
                                .type = NM_OPPORTUNISTIC,
                                .from = NM_SCHEDULED,
                                .to = NM_COMPLETED,
                                .decision_number = UINT64_MAX,
                                .decision_kind = NM_DECISION_RECLAIM};

    (void)snprintf(e.container_id, sizeof e.container_id, "container_%053d", 7);
    memset(e.container_name, 'n', sizeof e.container_name - 1);
    memset(e.text, 'x', sizeof e.text - 1);
    memcpy(e.text, "a\nb\tc \"\x1b[31m\xff", 14);
    return e;
}

static void assert_same(const struct nm_event_record *a, const struct nm_event_record *b)
{
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->realtime_usec, b->realtime_usec);
    assert_int_equal(a->kind, b->kind);
    assert_string_equal(a->container_id, b->container_id);
    assert_string_equal(a->container_name, b->container_name);
    assert_int_equal(a->submitter_uid, b->submitter_uid);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->from, b->from);
    assert_int_equal(a->to, b->to);
    assert_int_equal(a->decision_number, b->decision_number);
    assert_int_equal(a->decision_kind, b->decision_kind);
    assert_string_equal(a->text, b->text);
}

static void test_events_read_back_as_written(void **state)
{
    struct nm_event_record plain = {.number = 1, .kind = NM_EVENT_NODE, .text = "hello"};
    struct nm_event_record e = longest(INT64_MAX - 1), got;
    char slot[NM_EVENT_SLOT_BYTES];

    (void)state;
    nm_event_print(&e, slot);
    assert_int_equal(nm_event_parse(slot, &got), 0);
    assert_same(&e, &got);
    nm_event_print(&plain, slot);
    assert_int_equal(nm_event_parse(slot, &got), 0);
    assert_same(&plain, &got);
}

/* A change of any byte of a slot is detected. Reading a damaged slot does not change the caller's record. */
static void test_a_damaged_slot_of_the_event_file_is_refused(void **state)
{
    struct nm_event_record e = longest(9), got = {.number = 77};
    char slot[NM_EVENT_SLOT_BYTES], zeroes[NM_EVENT_SLOT_BYTES] = "";

    (void)state;
    assert_int_equal(nm_event_parse(zeroes, &got), -EBADMSG);
    for (size_t i = 0; i < sizeof slot; i++) {
        nm_event_print(&e, slot);
        slot[i] ^= 0x10;
        assert_int_equal(nm_event_parse(slot, &got), -EBADMSG);
    }
    assert_int_equal(got.number, 77);
}

#define BODY(words) "nm-event-1 " words "\nhello"

static void test_invalid_values_are_refused(void **state)
{
    static const char good[] = BODY("7 8 state container_1_000001 - 1000 GUARANTEED NEW SCHEDULED 0 admit");
    static const char *const bad[] = {
        "", "nm-event-1", "nm-event-1\n", "nm-event-1 7 8 state\nhello",
        "nm-event-2 7 8 state - - 1 GUARANTEED NEW SCHEDULED 0 admit\nhello",
        BODY("x 8 state - - 1 GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("0 8 state - - 1 GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("9223372036854775807 8 state - - 1 GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("7 x state - - 1 GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("7 8 other - - 1 GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("7 8 state ../passwd - 1 GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("7 8 state - .name 1 GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("7 8 state - - x GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("7 8 state - - 4294967296 GUARANTEED NEW SCHEDULED 0 admit"),
        BODY("7 8 state - - 1 OTHER NEW SCHEDULED 0 admit"),
        BODY("7 8 state - - 1 GUARANTEED OLD SCHEDULED 0 admit"),
        BODY("7 8 state - - 1 GUARANTEED NEW OLD 0 admit"),
        BODY("7 8 state - - 1 GUARANTEED NEW SCHEDULED x admit"),
        BODY("7 8 state - - 1 GUARANTEED NEW SCHEDULED 0 other"),
    };
    struct nm_event_record got = {.number = 77};
    char body[NM_EVENT_SLOT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)snprintf(body, sizeof body, "%s", bad[i]);
        if (nm_event_parse_body(body, &got) != -EBADMSG)
            fail_msg("row %zu", i);
        assert_int_equal(got.number, 77);
    }
    (void)snprintf(body, sizeof body, "%s%0*d", good, (int)sizeof got.text, 0); /* longer than a record's text may be */
    assert_int_equal(nm_event_parse_body(body, &got), -EBADMSG);
    (void)snprintf(body, sizeof body, "%s", good);
    assert_int_equal(nm_event_parse_body(body, &got), 0);
    assert_int_equal(got.number, 7);
    assert_string_equal(got.text, "hello");
}

static void put(int fd, uint64_t number)
{
    struct nm_event_record e = longest(number);

    assert_int_equal(nm_event_file_put(fd, &e), 0);
}

static void test_the_newest_events_replace_the_oldest(void **state)
{
    char path[96];
    uint64_t next = 0;
    int fd = nm_event_file_open(dir, ring, &next);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(next, 1);
    for (uint64_t n = 1; n <= NM_EVENT_RING + 10; n++)
        put(fd, n);
    assert_int_equal(lseek(fd, 0, SEEK_END), (off_t)NM_EVENT_RING * NM_EVENT_SLOT_BYTES);
    assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 1), 0); /* cuts the last slot, the newest event of the
                                                                       first pass over the ring */
    assert_int_equal(close(fd), 0);
    fd = nm_event_file_open(dir, ring, &next);
    assert_true(fd >= 0);
    assert_int_equal(next, NM_EVENT_RING + 11);
    for (uint64_t n = 11; n < next; n++)
        assert_int_equal(ring[n % NM_EVENT_RING].number, n == NM_EVENT_RING - 1 ? 0 : n);
    assert_int_equal(close(fd), 0);

    (void)snprintf(path, sizeof path, "%s/events", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(nm_event_file_open(dir, ring, &next), -ELOOP);
}

/* Without a file, events are kept in memory, and their numbers continue. */
static void test_without_a_file_events_are_kept_in_memory(void **state)
{
    char path[PATH_MAX + 8];
    uint64_t next = 5;

    (void)state;
    (void)snprintf(path, sizeof path, "%s/events", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(nm_event_file_open(dir, ring, &next), -EBADMSG);
    assert_int_equal(unlink(path), 0);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(nm_event_file_open(path, ring, &next), -ENAMETOOLONG);
    assert_int_equal(nm_event_file_open("/nowhere", ring, &next), -ENOENT);
    assert_int_equal(next, 5);
}

/* A record is refused if it is in the slot of another record. Another program may have copied it there. */
static void test_an_event_in_the_slot_of_another_event_is_refused(void **state)
{
    struct nm_event_record e = longest(9);
    char slot[NM_EVENT_SLOT_BYTES];
    uint64_t next = 0;
    int fd = nm_event_file_open(dir, ring, &next);

    (void)state;
    assert_true(fd >= 0);
    nm_event_print(&e, slot);
    assert_int_equal(pwrite(fd, slot, sizeof slot, 3 * (off_t)sizeof slot), sizeof slot);
    assert_int_equal(close(fd), 0);
    fd = nm_event_file_open(dir, ring, &next);
    assert_int_equal(next, 1);
    assert_int_equal(ring[3].number, 0);
    assert_int_equal(close(fd), 0);
}

/* A limit on the size of files ends within a slot, so only a part of the slot is written. nmd reports this limit as the
 * reason, not a full disk. */
static void test_a_limit_on_file_sizes_is_reported_as_the_reason_of_a_short_write(void **state)
{
    static char text[NM_SLOT_BYTES_MAX];
    struct nm_event_record e = longest(1);
    uint64_t next = 0;
    int fd = nm_event_file_open(dir, ring, &next), slots = nm_slot_file_open(dir, "slots");

    (void)state;
    assert_true(fd >= 0 && slots >= 0);
    limit_files(NM_EVENT_SLOT_BYTES + 100);
    assert_int_equal(nm_event_file_put(fd, &e), -EFBIG);
    assert_int_equal(lseek(fd, 0, SEEK_END), NM_EVENT_SLOT_BYTES + 100);
    limit_files(100);
    assert_int_equal(nm_slot_file_put(slots, 0, NM_SLOT_BYTES_MAX, text), -EFBIG);
    assert_int_equal(lseek(slots, 0, SEEK_END), 100);
    limit_files(RLIM_INFINITY);
    assert_int_equal(nm_event_file_put(fd, &e), 0);
    assert_int_equal(nm_slot_file_put(slots, 0, NM_SLOT_BYTES_MAX, text), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(close(slots), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_events_read_back_as_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_slot_of_the_event_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_values_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_newest_events_replace_the_oldest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_a_file_events_are_kept_in_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_event_in_the_slot_of_another_event_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_limit_on_file_sizes_is_reported_as_the_reason_of_a_short_write,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
