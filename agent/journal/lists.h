/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Appends c to the list of live containers and adds it to the index. Takes ownership of c on success only. */
int nm_lists_add_live(struct nm_manager *m, struct nm_container *c, struct nm_live_container **ret);
/* Moves the container to the list of ended ones. l is freed now, or when the last call in progress has returned. */
void nm_lists_remove_live(struct nm_live_container *l);
void nm_lists_end_passes(struct nm_live_container *l); /* ends what is still done to each of its processes */
int nm_lists_add_ended(struct nm_manager *m, struct nm_container *c); /* takes ownership of c on success only */
/* Marks the result as no longer kept for the owner (keep_result). */
void nm_lists_release(struct nm_manager *m, struct nm_container *c);
void nm_lists_index(struct nm_manager *m, struct nm_container *c);
struct nm_container *nm_lists_by_id(struct nm_manager *m, const char *id); /* NULL if no container has this id */
struct nm_live_container *nm_lists_live_of(const struct nm_container *c); /* NULL if the container has ended */
/* Returns the application's slot. Slot 0 is for containers without an application, and for new applications when all
 * slots are used. */
uint32_t nm_lists_app(struct nm_manager *m, const char *name);
void nm_lists_tell_unkillable(struct nm_manager *m); /* reports the number of unkillable containers to health */
/* Removes an ended container with its row and its files, even if its result is kept for an owner. */
void nm_lists_remove_ended(struct nm_manager *m, struct nm_container *c);
/* Removes some ended containers that were kept long enough. Returns true if there may be more of them. */
bool nm_lists_forget_ended(struct nm_manager *m, uint64_t now_usec);
int nm_lists_reserve(struct nm_manager *m); /* makes the policies' workspaces as large as the lists */
void nm_lists_done(struct nm_manager *m);
