/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Into the list of the living, last, and into the index. Takes c, on success only. */
int nm_lists_add_live(struct nm_manager *m, struct nm_container *c, struct nm_live_container **ret);
/* Its container goes to the ended ones; l is gone after this, or when the last call under way has returned. */
void nm_lists_remove_live(struct nm_live_container *l);
int nm_lists_add_ended(struct nm_manager *m, struct nm_container *c); /* takes c, on success only */
/* What was kept for its owner (keep_result) is so no longer. */
void nm_lists_release(struct nm_manager *m, struct nm_container *c);
void nm_lists_index(struct nm_manager *m, struct nm_container *c);
struct nm_container *nm_lists_by_id(struct nm_manager *m, const char *id); /* NULL: no such one */
struct nm_live_container *nm_lists_live_of(const struct nm_container *c); /* NULL: it has ended */
/* The application's slot. Slot 0 is for those without a name, and for strangers when there are too many. */
uint32_t nm_lists_app(struct nm_manager *m, const char *name);
void nm_lists_tell_unkillable(struct nm_manager *m); /* health hears how many there are now */
/* One that has ended goes, with its row and its files; its result isn't kept for anybody. */
void nm_lists_remove_ended(struct nm_manager *m, struct nm_container *c);
/* Some of those that were kept long enough. True: there may be more of them. */
bool nm_lists_forget_ended(struct nm_manager *m, uint64_t now_usec);
int nm_lists_reserve(struct nm_manager *m); /* the policies' workspaces are made as large as the lists */
void nm_lists_done(struct nm_manager *m);
