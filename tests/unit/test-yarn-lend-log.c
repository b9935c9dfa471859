/* SPDX-License-Identifier: Apache-2.0 */

/* The histories of lent containers after the end of their attempts, made from the real books. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remove-tree.h"
#include "util/clock.h"
#include "yarn/proxy/lend-log.h"

#define SEC NM_USEC_PER_SEC
#define BEGIN (1000 * SEC)
#define SLOT 1024

struct world {
    int dir_fd;
    char path[40];
    struct nm_yarn_slot_log *log;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)snprintf(w->path, sizeof w->path, "/tmp/nmd-test-lend-log.XXXXXX");
    assert_non_null(mkdtemp(w->path));
    w->dir_fd = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(w->dir_fd >= 0);
    assert_int_equal(nm_yarn_lend_log_new(w->dir_fd, &w->log), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    nm_yarn_slot_log_free(w->log);
    (void)close(w->dir_fd);
    remove_tree(w->path);
    free(w);
    return 0;
}

static void restart(struct world *w)
{
    nm_yarn_slot_log_free(w->log);
    assert_int_equal(nm_yarn_lend_log_new(w->dir_fd, &w->log), 0);
}

/* ---- an attempt ------------------------------------------------------------------------------ */

static struct nm_yarn_container_id container_of(int32_t application, int64_t number)
{
    return (struct nm_yarn_container_id){{{1410901177871, application}, 1}, number};
}

/* Returns books to which n containers were lent, one each second, the first 31 s after the ask. */
static struct nm_lend *make_books(int32_t application, int32_t n)
{
    const struct nm_lend_rule rule = {.mode = NM_LEND_OVERFLOW, .after_usec = 30 * SEC};
    const struct nm_lend_limits limits = {-1, -1, -1, -1, false, NULL, NULL};
    const struct nm_lend_ask ask = {.key = {20, 0}, .size = {1024, 1}, .count = n, .any = true, .relax = true};
    const struct nm_lend_change *changes;
    struct nm_lend *books;
    size_t n_changes;

    assert_int_equal(nm_lend_new(&books), 0);
    nm_lend_set_rule(books, &rule);
    assert_int_equal(nm_lend_ask(books, &ask, 1, BEGIN), 0);
    assert_int_equal(nm_lend_plan(books, &limits, BEGIN + 31 * SEC, &changes, &n_changes), 0);
    assert_false(nm_lend_begin_answer(books, 1));
    for (int32_t i = 0; i < n; i++) {
        const struct nm_lend_grant g = {.id = container_of(application, 2 + i), .key = {20, 0}, .size = {1024, 1},
                                        .host = "n7", .port = 45454, .opportunistic = true};
        enum nm_lend_verdict verdict;

        assert_int_equal(nm_lend_granted(books, &g, BEGIN + (31 + (uint64_t)i) * SEC, &verdict), 0);
        assert_int_equal(verdict, NM_LEND_SHOW);
    }
    return books;
}

/* Ends the attempt whose books these are. */
static void end(struct world *w, struct nm_lend *books, int32_t application, uint64_t now_usec)
{
    const struct nm_yarn_lend_view v = {.books = books, .queue = "root.batch", .user = "ada",
                                        .master = container_of(application, 1), .now_usec = now_usec};

    nm_yarn_lend_log_add(w->log, &v);
    nm_lend_free(books);
}

static bool find(const struct world *w, int32_t application, int64_t number, struct nm_lend_history *ret,
                 struct nm_yarn_lend_view *ret_v)
{
    const struct nm_yarn_container_id id = container_of(application, number);
    char text[NM_YARN_ID_SIZE];

    return nm_yarn_lend_log_find(w->log, nm_yarn_container_id_format(&id, text), ret, ret_v);
}

static bool is_known(const struct world *w, int32_t application, int64_t number)
{
    struct nm_yarn_lend_view v;
    struct nm_lend_history h;

    return find(w, application, number, &h, &v);
}

/* ---- histories ------------------------------------------------------------------------------- */

/* One container is promoted and ends, one is preempted, and one is lent when the attempt ends. */
static void test_histories_survive_the_attempt_and_a_restart(void **state)
{
    struct world *w = *state;
    struct nm_lend *books = make_books(1, 3);
    const struct nm_yarn_container_id first = container_of(1, 2), second = container_of(1, 3);
    struct nm_yarn_lend_view v;
    struct nm_lend_history h;

    assert_true(nm_lend_promoted(books, &first, 1, BEGIN + 100 * SEC));
    assert_true(nm_lend_ended(books, &first, false, BEGIN + 110 * SEC));
    assert_true(nm_lend_ended(books, &second, true, BEGIN + 120 * SEC));
    assert_false(is_known(w, 1, 2));
    end(w, books, 1, BEGIN + 130 * SEC);
    for (int i = 0; i < 2; i++) {
        assert_true(find(w, 1, 2, &h, &v));
        assert_int_equal(h.asked_usec, BEGIN);
        assert_int_equal(h.lent_usec, BEGIN + 31 * SEC);
        assert_int_equal(h.promoted_usec, BEGIN + 100 * SEC);
        assert_int_equal(h.ended_usec, BEGIN + 110 * SEC);
        assert_int_equal(h.mode, NM_LEND_OVERFLOW);
        assert_int_equal(h.key.priority, 20);
        assert_int_equal(h.size.memory_mib, 1024);
        assert_int_equal(h.size.vcores, 1);
        assert_false(h.preempted || h.with_attempt);
        assert_string_equal(v.user, "ada");
        assert_string_equal(v.queue, "root.batch");
        assert_int_equal(v.master.number, 1);
        assert_int_equal(v.master.attempt.application.number, 1);
        assert_true(find(w, 1, 3, &h, &v));
        assert_true(h.preempted);
        assert_int_equal(h.ended_usec, BEGIN + 120 * SEC);
        assert_true(find(w, 1, 4, &h, &v));
        assert_true(h.with_attempt);
        assert_int_equal(h.ended_usec, BEGIN + 130 * SEC);
        assert_false(is_known(w, 1, 5));
        assert_false(is_known(w, 2, 2));
        restart(w);
    }
}

/* The limit holds for all attempts together, and of one attempt the newest containers are kept. */
static void test_the_newest_histories_are_kept(void **state)
{
    const int32_t max = (int32_t)NM_YARN_SLOTS;
    struct world *w = *state;

    end(w, make_books(1, 2), 1, BEGIN + 5000 * SEC);
    end(w, make_books(2, max - 1), 2, BEGIN + 5000 * SEC);
    for (int i = 0; i < 2; i++) {
        assert_false(is_known(w, 1, 2));
        assert_true(is_known(w, 1, 3));
        assert_true(is_known(w, 2, 2));
        assert_true(is_known(w, 2, max));
        restart(w);
    }
    end(w, make_books(3, max + 2), 3, BEGIN + 5000 * SEC);
    assert_false(is_known(w, 1, 3));
    assert_false(is_known(w, 2, max));
    assert_false(is_known(w, 3, 3));
    assert_true(is_known(w, 3, 4));
    assert_true(is_known(w, 3, max + 3));
}

/* A killed nmd may have written the histories of an attempt that the next one ends again. */
static void test_the_newest_entry_of_a_container_is_found(void **state)
{
    struct world *w = *state;
    struct nm_yarn_lend_view v;
    struct nm_lend_history h;

    end(w, make_books(1, 1), 1, BEGIN + 40 * SEC);
    restart(w);
    end(w, make_books(1, 1), 1, BEGIN + 50 * SEC);
    assert_true(find(w, 1, 2, &h, &v));
    assert_int_equal(h.ended_usec, BEGIN + 50 * SEC);
}

/* An attempt to which nothing was lent costs no entry, and long or unknown names still fit. */
static void test_names_are_cut_or_left_out(void **state)
{
    struct world *w = *state;
    struct nm_lend *books = make_books(1, 1);
    struct nm_yarn_lend_view v = {.books = books, .master = container_of(1, 1), .now_usec = BEGIN + 50 * SEC};
    char name[3000];
    struct nm_lend_history h;

    memset(name, 'q', sizeof name - 1);
    name[sizeof name - 1] = 0;
    v.queue = name;
    nm_yarn_lend_log_add(w->log, &v);
    nm_lend_free(books);
    end(w, make_books(2, 0), 2, BEGIN + 50 * SEC);
    restart(w);
    assert_true(find(w, 1, 2, &h, &v));
    assert_null(v.user);
    assert_int_equal(strlen(v.queue), 255);
}

/* The first attempt leaves two containers behind. The second one takes one over, and sees the end of the other one,
 * which was promoted. */
static void test_a_container_that_outlives_its_attempt_has_one_story(void **state)
{
    const struct nm_yarn_container_id first = container_of(1, 2), second = container_of(1, 3);
    const struct nm_lend_grant g = {.id = first, .key = {20, 0}, .size = {1024, 1}, .opportunistic = true};
    struct world *w = *state;
    struct nm_lend *former = make_books(1, 2), *books;
    struct nm_yarn_lend_view v = {.queue = "root.batch", .master = container_of(1, 1)}, found;
    struct nm_lend_history h;

    assert_true(nm_lend_promoted(former, &second, 1, BEGIN + 40 * SEC));
    v.books = former;
    v.now_usec = BEGIN + 50 * SEC;
    nm_yarn_lend_log_add(w->log, &v);
    assert_int_equal(nm_lend_new(&books), 0);
    assert_int_equal(nm_lend_adopt(books, &g, BEGIN + 60 * SEC), 0);
    nm_lend_set_past(books, &first, former);
    nm_lend_demoted(former, &second, BEGIN + 65 * SEC);
    assert_true(nm_lend_ended(former, &second, false, BEGIN + 70 * SEC));
    assert_true(nm_lend_ended(books, &first, true, BEGIN + 80 * SEC));
    v = (struct nm_yarn_lend_view){.books = books, .former = former, .queue = "root.batch",
                                   .master = container_of(1, 1), .now_usec = BEGIN + 90 * SEC};
    v.master.attempt.number = 2;
    nm_yarn_lend_log_add(w->log, &v);
    nm_lend_free(books);
    nm_lend_free(former);
    for (int i = 0; i < 2; i++) {
        assert_true(find(w, 1, 2, &h, &found));
        assert_int_equal(found.master.attempt.number, 2);
        assert_int_equal(h.asked_usec, BEGIN);
        assert_int_equal(h.lent_usec, BEGIN + 31 * SEC);
        assert_int_equal(h.mode, NM_LEND_OVERFLOW);
        assert_int_equal(h.adopted_usec, BEGIN + 60 * SEC);
        assert_int_equal(h.adoptions, 1);
        assert_true(h.preempted && !h.with_attempt);
        assert_int_equal(h.ended_usec, BEGIN + 80 * SEC);
        assert_true(find(w, 1, 3, &h, &found));
        assert_int_equal(h.promoted_usec, BEGIN + 40 * SEC);
        assert_int_equal(h.demoted_usec, BEGIN + 65 * SEC);
        assert_int_equal(h.ended_usec, BEGIN + 70 * SEC);
        assert_false(h.with_attempt);
        restart(w);
    }
}

/* ---- damaged files ---------------------------------------------------------------------------- */

static void test_a_flipped_byte_makes_only_its_own_slot_invalid(void **state)
{
    struct world *w = *state;
    uint8_t head[6], byte, other;
    off_t size;
    int fd;

    end(w, make_books(1, 2), 1, BEGIN + 50 * SEC);
    fd = openat(w->dir_fd, "lent", O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, head, sizeof head, 0), sizeof head);
    size = (off_t)sizeof head + (head[4] << 8 | head[5]);
    assert_in_range(size, sizeof head + 1, SLOT);
    for (off_t at = 0; at < size; at++) {
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = byte ^ 0x10;
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        restart(w);
        assert_false(is_known(w, 1, 2));
        assert_true(is_known(w, 1, 3));
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    restart(w);
    assert_true(is_known(w, 1, 2));
    (void)close(fd);
}

static void test_a_slot_at_another_position_is_ignored(void **state)
{
    struct world *w = *state;
    uint8_t slot[SLOT];
    int fd;

    end(w, make_books(1, 1), 1, BEGIN + 50 * SEC);
    fd = openat(w->dir_fd, "lent", O_RDWR | O_CLOEXEC);
    assert_in_range(pread(fd, slot, sizeof slot, 0), 1, SLOT);
    assert_int_equal(pwrite(fd, slot, sizeof slot, SLOT), sizeof slot);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, slot, sizeof slot, SLOT), sizeof slot);
    (void)close(fd);
    restart(w);
    assert_false(is_known(w, 1, 2));
}

/* The histories are kept in memory then, and the directory stays as it is. */
static void test_a_file_that_cannot_be_used_is_not_changed(void **state)
{
    struct world *w = *state;

    assert_int_equal(nm_yarn_slot_log_error(w->log), 0);
    assert_int_equal(unlinkat(w->dir_fd, "lent", 0), 0);
    assert_int_equal(mkdirat(w->dir_fd, "lent", 0700), 0);
    restart(w);
    assert_int_equal(nm_yarn_slot_log_error(w->log), -EISDIR);
    end(w, make_books(1, 1), 1, BEGIN + 50 * SEC);
    assert_true(is_known(w, 1, 2));
    restart(w);
    assert_false(is_known(w, 1, 2));
    assert_int_equal(unlinkat(w->dir_fd, "lent", AT_REMOVEDIR), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_histories_survive_the_attempt_and_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_newest_histories_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_newest_entry_of_a_container_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_container_that_outlives_its_attempt_has_one_story, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_are_cut_or_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_flipped_byte_makes_only_its_own_slot_invalid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slot_at_another_position_is_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_cannot_be_used_is_not_changed, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("yarn-lend-log", tests, NULL, NULL);
}
