/* SPDX-License-Identifier: Apache-2.0 */

/* See localizer-state.h: functions on the cache that several files need. */

#include "localize/localizer-state.h"

#include "localize/cache-file.h"

static const char *const types[] = {"FILE", "ARCHIVE", "PATTERN"};

/* Returns the key of a resource. Asks with the same key share an entry; for PUBLIC resources the key has no user. */
struct nm_cache_key nm_localizer_key(const struct nm_localizer_user *user, const struct nm_localizer_resource *res)
{
    struct nm_cache_key key = {
        .visibility = res->visibility,
        .user = res->visibility == NM_VISIBILITY_PUBLIC ? "" : user->name,
        .application = res->visibility == NM_VISIBILITY_APPLICATION ? user->application : "",
        .uri = res->uri,
        .type = UINT32_MAX,
        .timestamp_msec = res->timestamp_msec,
        .pattern = res->pattern ? res->pattern : "",
    };

    for (unsigned i = 0; i < NM_ARRAY_SIZE(types); i++)
        if (nm_streq(res->type, types[i]))
            key.type = i;
    return key;
}

void nm_localizer_doom(struct nm_localizer *l, uint64_t id)
{
    nm_cache_doom(l->cache, id);
    (void)nm_cache_file_note(l->state_fd, l->cache, id, l->boot_id);
}
