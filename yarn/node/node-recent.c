/* SPDX-License-Identifier: Apache-2.0 */

/* See node-state.h. The lists are rings, in which a new entry replaces the oldest entry. Containers are found by a
 * hash. With 64 bits, a collision among a few thousand ids is too unlikely to handle. */

#include "yarn/node/node-state.h"

#include "util/fnv1a.h"
#include "yarn/message-ids.h"

void nm_yarn_recent_note(struct nm_yarn_node *n, const char *text, uint64_t now_usec)
{
    n->recent[n->next_recent] = (struct nm_yarn_recent){nm_fnv1a_64(text), now_usec};
    n->next_recent = (n->next_recent + 1) % NM_YARN_RECENT_MAX;
}

bool nm_yarn_recent_has(const struct nm_yarn_node *n, const char *text, uint64_t now_usec)
{
    const uint64_t hash = nm_fnv1a_64(text);

    for (size_t i = 0; i < NM_YARN_RECENT_MAX; i++)
        if (n->recent[i].hash == hash && n->recent[i].usec > 0 && now_usec - n->recent[i].usec < NM_YARN_RECENT_USEC)
            return true;
    return false;
}

void nm_yarn_recent_note_app(struct nm_yarn_node *n, const struct nm_yarn_application_id *id)
{
    if (nm_yarn_recent_has_app(n, id))
        return;
    n->ended[n->next_ended] = *id;
    n->next_ended = (n->next_ended + 1) % NM_YARN_ENDED_APPS_MAX;
}

bool nm_yarn_recent_has_app(const struct nm_yarn_node *n, const struct nm_yarn_application_id *id)
{
    for (size_t i = 0; i < NM_YARN_ENDED_APPS_MAX; i++)
        if (nm_yarn_same_application(&n->ended[i], id))
            return true;
    return false;
}
