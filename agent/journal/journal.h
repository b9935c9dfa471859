/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* Replaces a damaged journal: sets it aside and writes all known state to a new one. Within a transaction this call has
 * no effect, and a later call replaces the journal. */
void nm_journal_replace(struct nm_manager *m);
/* Logs that the journal was damaged or removed and how many containers and decisions could be read from it, and
 * sends this as an event of the node. rest: appended to this sentence, such as "; a new one has all containers in it
 * that nmd knows". */
void nm_journal_tell_damage(struct nm_manager *m, const struct nm_store_opened *o, const char *rest);
