/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store-state.h"

/* Copies the readable rows of a damaged database into s, whose file is new. `old` stays open and is not written. */
void nm_store_salvage(struct nm_store *s, sqlite3 *old, struct nm_store_saved *ret);
/* Opens a file that has no log (WAL) without making one: no file is written beside it. */
int nm_store_open_closed(const char *path, sqlite3 **ret);
void nm_store_salvage_file(struct nm_store *s, const char *path, struct nm_store_saved *ret);
