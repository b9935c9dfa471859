/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store-state.h"

/* Runs a bound writing statement and resets it. A write that fails for want of room is queued under `kind` and `key`;
 * only the newest write of each row is kept. */
int nm_store_write(struct nm_store *s, enum nm_store_stmt which, const char *kind, const char *key);
