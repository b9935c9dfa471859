/* SPDX-License-Identifier: Apache-2.0 */

/* localize/user-queue.h: the order in which items start. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "localize/user-queue.h"
#include "util/macros.h"

#define N 40

struct fixture {
    struct nm_user_queue queue;
    struct nm_user_queue_item items[N];
    size_t n;
};

static struct nm_user_queue_item *put(struct fixture *w, const char *user)
{
    struct nm_user_queue_item *item = &w->items[w->n++];

    assert_true(w->n <= N);
    assert_int_equal(nm_user_queue_put(&w->queue, item, user), 0);
    return item;
}

static void done(struct fixture *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->items[i].user)
            nm_user_queue_remove(&w->queue, &w->items[i]);
    assert_int_equal(w->queue.n_running, 0);
    assert_true(TAILQ_EMPTY(&w->queue.users));
}

/* A user whose items fill the common slots leaves one slot for other users, who also have the extra slots. */
static void test_a_user_leaves_one_slot_for_other_users(void **state)
{
    struct fixture w = {0};
    struct nm_user_queue_item *hog[6], *others[4];

    (void)state;
    nm_user_queue_init(&w.queue, 4, 2, 12);
    for (size_t i = 0; i < NM_ARRAY_SIZE(hog); i++)
        hog[i] = put(&w, "mallory");
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal(nm_user_queue_next(&w.queue), hog[i]);
    assert_null(nm_user_queue_next(&w.queue));
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++) {
        others[i] = put(&w, i % 2 == 0 ? "alice" : "bob");
        assert_ptr_equal(nm_user_queue_next(&w.queue), others[i]);
    }
    assert_int_equal(w.queue.n_running, 7);
    assert_null(nm_user_queue_next(&w.queue));
    done(&w);
}

/* The next item is that of the user with the fewest running items. Among users with equally many running items, the
 * first arrival starts first, whatever the length of the users' queues. */
static void test_the_next_item_is_of_the_user_with_the_fewest_running_items(void **state)
{
    struct fixture w = {0};
    struct nm_user_queue_item *a[3], *b, *c;

    (void)state;
    nm_user_queue_init(&w.queue, 2, 1, 3);
    for (size_t i = 0; i < NM_ARRAY_SIZE(a); i++)
        a[i] = put(&w, "alice");
    b = put(&w, "bob");
    c = put(&w, "carol");
    assert_ptr_equal(nm_user_queue_next(&w.queue), a[0]);
    assert_ptr_equal(nm_user_queue_next(&w.queue), b);
    assert_ptr_equal(nm_user_queue_next(&w.queue), c);
    assert_null(nm_user_queue_next(&w.queue));
    nm_user_queue_remove(&w.queue, a[0]);
    assert_ptr_equal(nm_user_queue_next(&w.queue), a[1]);
    nm_user_queue_remove(&w.queue, a[2]); /* a[2] doesn't wait any more */
    nm_user_queue_remove(&w.queue, a[1]);
    assert_null(nm_user_queue_next(&w.queue));
    done(&w);
}

/* At most as many items run as the third limit permits, however many users there are. */
static void test_running_items_of_many_users_are_limited(void **state)
{
    struct fixture w = {0};
    char user[16];
    unsigned n = 0;

    (void)state;
    nm_user_queue_init(&w.queue, 2, 2, 5);
    for (unsigned i = 0; i < N; i++) {
        (void)snprintf(user, sizeof user, "user%u", i % 20);
        (void)put(&w, user);
    }
    while (nm_user_queue_next(&w.queue))
        n++;
    assert_int_equal(n, 5);
    done(&w);
}

/* The slot of a written-off item is free for other users. Its own user can't start another item with it. */
static void test_the_slot_of_a_written_off_item_is_free_for_other_users(void **state)
{
    struct fixture w = {0};
    struct nm_user_queue_item *a, *b, *c, *d;

    (void)state;
    nm_user_queue_init(&w.queue, 1, 1, 2);
    a = put(&w, "alice");
    b = put(&w, "alice");
    c = put(&w, "carol");
    d = put(&w, "dave");
    assert_ptr_equal(nm_user_queue_next(&w.queue), a);
    assert_ptr_equal(nm_user_queue_next(&w.queue), c);
    assert_null(nm_user_queue_next(&w.queue));
    nm_user_queue_release_slot(&w.queue, a);
    assert_ptr_equal(nm_user_queue_next(&w.queue), d);
    assert_null(nm_user_queue_next(&w.queue));
    nm_user_queue_remove(&w.queue, c);
    assert_null(nm_user_queue_next(&w.queue));
    nm_user_queue_remove(&w.queue, a);
    assert_ptr_equal(nm_user_queue_next(&w.queue), b);
    done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_user_leaves_one_slot_for_other_users),
        cmocka_unit_test(test_the_next_item_is_of_the_user_with_the_fewest_running_items),
        cmocka_unit_test(test_running_items_of_many_users_are_limited),
        cmocka_unit_test(test_the_slot_of_a_written_off_item_is_free_for_other_users),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
