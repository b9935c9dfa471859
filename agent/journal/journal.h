/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/state/manager-state.h"

/* The journal in use is damaged: it is set aside, and a new one has all that is known. Within a transaction
 * nothing happens yet. */
void nm_journal_replace(struct nm_manager *m);
/* rest: what else is to be said of it, as the end of a sentence */
void nm_journal_tell_damage(struct nm_manager *m, const struct nm_store_opened *o, const char *rest);
