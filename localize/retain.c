/* SPDX-License-Identifier: Apache-2.0 */

/* See localizer.h. nmd doesn't know to which entries the links of a container lead that an earlier nmd has started. The
 * key of a resource doesn't identify one entry: a resource that was found damaged, or whose state could not be stored,
 * has an entry with is_leaving, which the container may still use. All entries with the key are therefore retained. */

#include <stdlib.h>

#include "localize/localizer-state.h"
#include "util/error.h"

static int make_room(struct nm_localizer_retained *retained, size_t n)
{
    uint64_t *larger;
    size_t room;

    if (n <= retained->room - retained->n)
        return 0;
    room = 2 * retained->room + n;
    larger = reallocarray(retained->ids, room, sizeof *larger);
    if (!larger)
        return -ENOMEM;
    retained->ids = larger;
    retained->room = room;
    return 0;
}

static int retain_one(struct nm_cache *cache, const struct nm_cache_key *key, struct nm_localizer_retained *retained)
{
    const size_t n = nm_cache_list(cache, key, NULL, 0);
    int r = make_room(retained, n);

    if (r < 0 || n == 0)
        return r;
    (void)nm_cache_list(cache, key, retained->ids + retained->n, n);
    for (size_t i = 0; i < n; i++)
        nm_cache_use(cache, retained->ids[retained->n++]);
    return 0;
}

int nm_localizer_retain(struct nm_localizer *l, const struct nm_localizer_user *user,
                        const struct nm_localizer_resource *resources, size_t n,
                        struct nm_localizer_retained *retained)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        const struct nm_cache_key key = nm_localizer_key(user, &resources[i]);

        r = retain_one(l->cache, &key, retained);
    }
    return r;
}

void nm_localizer_retained_done(struct nm_localizer *l, struct nm_localizer_retained *retained)
{
    for (size_t i = 0; i < retained->n; i++)
        nm_cache_release(l->cache, retained->ids[i], nm_now_usec());
    if (retained->n > 0)
        (void)nm_localizer_begin_turn(l);
    free(retained->ids);
    *retained = (struct nm_localizer_retained){};
}
