/* SPDX-License-Identifier: Apache-2.0 */

/* The newest events on disk: what is written is what is read, and nothing else is taken for an event. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "agent/manager/event-file.h"
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

/* The longest there can be of everything, and a text with all that a log line may have in it. */
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

static void test_there_and_back(void **state)
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

/* Each byte of a slot counts, and what is refused leaves the record alone. */
static void test_damage(void **state)
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

static void put(int fd, uint64_t number)
{
    struct nm_event_record e = longest(number);

    assert_int_equal(nm_event_file_put(fd, &e), 0);
}

static void test_a_ring(void **state)
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
    assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 1), 0); /* the newest of the first round */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_ring, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
