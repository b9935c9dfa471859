/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stores the histories of the newest lent containers of attempts that have ended: a log of slot-log.h. While an
 * attempt's master runs, its books have them.
 */

#include "yarn/proxy/lend-view.h"
#include "yarn/proxy/slot-log.h"

/* Opens or creates the file in that directory: see nm_yarn_slot_log_new(). */
int nm_yarn_lend_log_new(int dir_fd, struct nm_yarn_slot_log **ret);

/* Adds the histories of the containers of an attempt that ends now. The books don't see later ends, so a container that
 * is lent or promoted now ends with the attempt. If a container of an earlier attempt has outlived that one, and this
 * attempt has noted its end, its entry is corrected. Of more than NM_YARN_SLOTS entries, the newest are kept. Without
 * memory, entries are lost. */
void nm_yarn_lend_log_add(struct nm_yarn_slot_log *l, const struct nm_yarn_lend_view *v);
/* Sets *ret to the newest entry of a container, which is found by the text of its id, and *ret_v to what is known of
 * its application. Both are valid until entries are added. Returns whether the log has an entry. */
bool nm_yarn_lend_log_find(const struct nm_yarn_slot_log *l, const char *container, struct nm_lend_history *ret,
                           struct nm_yarn_lend_view *ret_v);
