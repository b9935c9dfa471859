/* SPDX-License-Identifier: Apache-2.0 */

/* See node-state.h: rings, in which the oldest makes room. */

#include "rpc/yarn/node/node-state.h"

#include "rpc/yarn/message-ids.h"

/* Sixty-four bits: that two of a few thousand share one is nothing to provide for. */
static uint64_t hash_of(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */

    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(1099511628211);
    return h;
}

void nm_yarn_recent_note(struct nm_yarn_node *n, const char *text, uint64_t now_usec)
{
    n->recent[n->next_recent] = (struct nm_yarn_recent){hash_of(text), now_usec};
    n->next_recent = (n->next_recent + 1) % NM_YARN_RECENT_MAX;
}

bool nm_yarn_recent_has(const struct nm_yarn_node *n, const char *text, uint64_t now_usec)
{
    uint64_t hash = hash_of(text);

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
