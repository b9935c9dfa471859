/* SPDX-License-Identifier: Apache-2.0 */

/* util/fair-queue.h: the order of turns. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "util/macros.h"
#include "util/fair-queue.h"

static void test_keys_take_turns(void **state)
{
    struct nm_fair_queue queue = {0};
    struct nm_fair_item many[3] = {0}, few[2] = {0}, late = {0};

    (void)state;
    assert_null(nm_fair_take(&queue));
    for (size_t i = 0; i < 3; i++)
        nm_fair_put(&queue, &many[i], 1, 0);
    for (size_t i = 0; i < 2; i++)
        nm_fair_put(&queue, &few[i], 2, 0);
    assert_ptr_equal(nm_fair_take(&queue), &many[0]);
    assert_false(nm_fair_waits(&many[0]));
    assert_ptr_equal(nm_fair_take(&queue), &few[0]);
    nm_fair_put(&queue, &late, 3, 0); /* behind the items of the other two keys */
    assert_ptr_equal(nm_fair_take(&queue), &many[1]);
    assert_ptr_equal(nm_fair_take(&queue), &few[1]);
    assert_ptr_equal(nm_fair_take(&queue), &late);
    assert_ptr_equal(nm_fair_take(&queue), &many[2]);
    assert_null(nm_fair_take(&queue));
}

static void test_a_removed_key_does_not_delay_other_keys(void **state)
{
    struct nm_fair_queue queue = {0};
    struct nm_fair_item a[2] = {0}, b = {0}, c = {0};

    (void)state;
    nm_fair_put(&queue, &a[0], 1, 0);
    nm_fair_put(&queue, &b, 2, 0);
    nm_fair_put(&queue, &a[1], 1, 0);
    nm_fair_put(&queue, &c, 3, 0);
    nm_fair_remove(&queue, &a[0]); /* the key keeps its position */
    nm_fair_remove(&queue, &b);
    assert_ptr_equal(nm_fair_take(&queue), &a[1]);
    assert_ptr_equal(nm_fair_take(&queue), &c);
    assert_null(nm_fair_take(&queue));
}

/* A key with several parts gets no more turns than other keys. The parts take turns among themselves. */
static void test_parts_share_the_turns_of_their_key(void **state)
{
    struct nm_fair_queue queue = {0};
    struct nm_fair_item a[3] = {0}, b = {0}, other[3] = {0};

    (void)state;
    nm_fair_put(&queue, &a[0], 1, 10);
    nm_fair_put(&queue, &a[1], 1, 10);
    nm_fair_put(&queue, &a[2], 1, 10);
    nm_fair_put(&queue, &b, 1, 20);
    for (size_t i = 0; i < 3; i++)
        nm_fair_put(&queue, &other[i], 2, 10);
    assert_ptr_equal(nm_fair_take(&queue), &a[0]);
    assert_ptr_equal(nm_fair_take(&queue), &other[0]);
    assert_ptr_equal(nm_fair_take(&queue), &b);
    assert_ptr_equal(nm_fair_take(&queue), &other[1]);
    assert_ptr_equal(nm_fair_take(&queue), &a[1]);
    assert_ptr_equal(nm_fair_take(&queue), &other[2]);
    assert_ptr_equal(nm_fair_take(&queue), &a[2]);
    assert_null(nm_fair_take(&queue));
}

/* ---- random histories, compared with plain lists --------------------------------------------- */

#define KEYS 4U
#define PARTS 3U
#define ITEMS 24U

/* The waiting keys or parts, in the order of turns. */
struct row {
    uint64_t all[ITEMS];
    size_t n;
};

struct model {
    struct row keys, parts[KEYS];
    struct nm_fair_item *items[KEYS][PARTS][ITEMS];
    size_t n_items[KEYS][PARTS];
};

static void remove_at(void *all, size_t size, size_t *n, size_t at)
{
    (*n)--;
    memmove((char *)all + at * size, (char *)all + (at + 1) * size, (*n - at) * size);
}

static void add(struct row *row, uint64_t x)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->all[i] == x)
            return;
    row->all[row->n++] = x;
}

static void drop(struct row *row, uint64_t x)
{
    for (size_t i = 0; i < row->n; i++)
        if (row->all[i] == x) {
            remove_at(row->all, sizeof row->all[0], &row->n, i);
            return;
        }
}

static void put(struct model *m, struct nm_fair_item *t, uint64_t key, uint64_t part)
{
    add(&m->keys, key);
    add(&m->parts[key], part);
    m->items[key][part][m->n_items[key][part]++] = t;
}

static void leave(struct model *m, struct nm_fair_item *t)
{
    const uint64_t key = t->key, part = t->part;
    size_t at = 0;

    while (m->items[key][part][at] != t)
        at++;
    remove_at(m->items[key][part], sizeof t, &m->n_items[key][part], at);
    if (m->n_items[key][part] == 0)
        drop(&m->parts[key], part);
    if (m->parts[key].n == 0)
        drop(&m->keys, key);
}

static struct nm_fair_item *take(struct model *m)
{
    uint64_t key, part;
    struct nm_fair_item *t;

    if (m->keys.n == 0)
        return NULL;
    key = m->keys.all[0];
    part = m->parts[key].all[0];
    t = m->items[key][part][0];
    remove_at(m->items[key][part], sizeof t, &m->n_items[key][part], 0);
    drop(&m->parts[key], part);
    if (m->n_items[key][part] > 0)
        add(&m->parts[key], part);
    drop(&m->keys, key);
    if (m->parts[key].n > 0)
        add(&m->keys, key);
    return t;
}

static void run_history(unsigned *seed, unsigned n_parts)
{
    static struct nm_fair_item items[ITEMS];
    struct nm_fair_queue queue = {0};
    struct model m = {0};

    memset(items, 0, sizeof items);
    for (unsigned step = 0; step < 100; step++) {
        struct nm_fair_item *t = &items[(unsigned)rand_r(seed) % ITEMS];
        const uint64_t key = (uint64_t)rand_r(seed) % KEYS, part = (uint64_t)rand_r(seed) % n_parts;

        if (rand_r(seed) % 3 == 0)
            assert_ptr_equal(nm_fair_take(&queue), take(&m));
        else if (nm_fair_waits(t)) {
            leave(&m, t);
            nm_fair_remove(&queue, t);
        } else {
            put(&m, t, key, part);
            nm_fair_put(&queue, t, key, part);
        }
    }
    while (m.keys.n > 0)
        assert_ptr_equal(nm_fair_take(&queue), take(&m));
    assert_null(nm_fair_take(&queue));
}

static void test_the_queue_has_the_order_of_plain_lists_in_random_histories(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (unsigned round = 0; round < 4000; round++)
        run_history(&seed, round % 2 ? PARTS : 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_take_turns),
        cmocka_unit_test(test_a_removed_key_does_not_delay_other_keys),
        cmocka_unit_test(test_parts_share_the_turns_of_their_key),
        cmocka_unit_test(test_the_queue_has_the_order_of_plain_lists_in_random_histories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
