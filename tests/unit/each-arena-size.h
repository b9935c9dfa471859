/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Calls try() with larger and larger arenas, so that each allocation from the arena fails once. try() must return
 * -ENOMEM until all allocations fit. Returns the size of the first arena in which all allocations fit. Include it after
 * cmocka.h. */

#include <errno.h>

#include "rpc/hadoop/arena.h"

static inline size_t each_room(int (*try)(struct nm_arena *arena, void *userdata), void *userdata)
{
    for (size_t room = 0;; room += 16) {
        struct nm_arena arena;
        int r;

        nm_arena_init(&arena, room, NULL);
        r = try(&arena, userdata);
        nm_arena_done(&arena);
        if (r == 0)
            return room;
        assert_int_equal(r, -ENOMEM);
        assert_true(room < 1 << 20);
    }
}
