/* SPDX-License-Identifier: Apache-2.0 */

/* util/fair-queue.h: whose turn it is. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "util/macros.h"
#include "util/fair-queue.h"

static void test_everybody_has_a_turn_after_another(void **state)
{
    struct nm_fair_queue queue = {0};
    struct nm_fair_item many[3] = {0}, few[2] = {0}, late = {0};

    (void)state;
    assert_null(nm_fair_take(&queue));
    for (size_t i = 0; i < 3; i++)
        nm_fair_put(&queue, &many[i], 1);
    for (size_t i = 0; i < 2; i++)
        nm_fair_put(&queue, &few[i], 2);
    assert_ptr_equal(nm_fair_take(&queue), &many[0]);
    assert_false(nm_fair_waits(&many[0]));
    assert_ptr_equal(nm_fair_take(&queue), &few[0]);
    nm_fair_put(&queue, &late, 3); /* behind the other two */
    assert_ptr_equal(nm_fair_take(&queue), &many[1]);
    assert_ptr_equal(nm_fair_take(&queue), &few[1]);
    assert_ptr_equal(nm_fair_take(&queue), &late);
    assert_ptr_equal(nm_fair_take(&queue), &many[2]);
    assert_null(nm_fair_take(&queue));
}

static void test_who_leaves_costs_nobody_a_turn(void **state)
{
    struct nm_fair_queue queue = {0};
    struct nm_fair_item a[2] = {0}, b = {0}, c = {0};

    (void)state;
    nm_fair_put(&queue, &a[0], 1);
    nm_fair_put(&queue, &b, 2);
    nm_fair_put(&queue, &a[1], 1);
    nm_fair_put(&queue, &c, 3);
    nm_fair_leave(&queue, &a[0]); /* its key keeps its place */
    nm_fair_leave(&queue, &b);
    assert_ptr_equal(nm_fair_take(&queue), &a[1]);
    assert_ptr_equal(nm_fair_take(&queue), &c);
    assert_null(nm_fair_take(&queue));
}

/* ---- random histories, beside a list of lists that is written out ---------------------------- */

#define KEYS 4U
#define ITEMS 24U

struct model {
    uint64_t keys[KEYS]; /* in the order of their turns */
    size_t n_keys;
    struct nm_fair_item *items[KEYS][ITEMS]; /* of each key (not of each place in `keys`) */
    size_t n_items[KEYS];
};

static size_t place_of(const struct model *m, uint64_t key)
{
    size_t i = 0;

    while (i < m->n_keys && m->keys[i] != key)
        i++;
    return i;
}

static void drop_item(struct model *m, uint64_t key, size_t at)
{
    m->n_items[key]--;
    memmove(&m->items[key][at], &m->items[key][at + 1], (m->n_items[key] - at) * sizeof m->items[key][0]);
}

static void drop_key(struct model *m, size_t at)
{
    m->n_keys--;
    memmove(&m->keys[at], &m->keys[at + 1], (m->n_keys - at) * sizeof m->keys[0]);
}

static void put(struct model *m, struct nm_fair_item *t, uint64_t key)
{
    if (place_of(m, key) == m->n_keys)
        m->keys[m->n_keys++] = key;
    m->items[key][m->n_items[key]++] = t;
}

static void leave(struct model *m, struct nm_fair_item *t)
{
    const uint64_t key = t->key;
    size_t at = 0;

    while (m->items[key][at] != t)
        at++;
    drop_item(m, key, at);
    if (m->n_items[key] == 0)
        drop_key(m, place_of(m, key));
}

static struct nm_fair_item *take(struct model *m)
{
    const uint64_t key = m->n_keys > 0 ? m->keys[0] : 0;
    struct nm_fair_item *t = m->n_keys > 0 ? m->items[key][0] : NULL;

    if (!t)
        return NULL;
    drop_item(m, key, 0);
    drop_key(m, 0);
    if (m->n_items[key] > 0)
        m->keys[m->n_keys++] = key;
    return t;
}

static void test_random_histories(void **state)
{
    static struct nm_fair_item items[ITEMS];
    unsigned seed = 1;

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        struct nm_fair_queue queue = {0};
        struct model m = {0};

        memset(items, 0, sizeof items);
        for (unsigned step = 0; step < 100; step++) {
            struct nm_fair_item *t = &items[(unsigned)rand_r(&seed) % ITEMS];
            const uint64_t key = (uint64_t)rand_r(&seed) % KEYS;

            if (rand_r(&seed) % 3 == 0)
                assert_ptr_equal(nm_fair_take(&queue), take(&m));
            else if (nm_fair_waits(t)) {
                leave(&m, t);
                nm_fair_leave(&queue, t);
            } else {
                put(&m, t, key);
                nm_fair_put(&queue, t, key);
            }
        }
        while (m.n_keys > 0)
            assert_ptr_equal(nm_fair_take(&queue), take(&m));
        assert_null(nm_fair_take(&queue));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everybody_has_a_turn_after_another),
        cmocka_unit_test(test_who_leaves_costs_nobody_a_turn),
        cmocka_unit_test(test_random_histories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
