/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stores the histories of the newest lent containers of attempts that have ended. While an attempt's master runs, its
 * books have them. The entries survive a restart of nmd (slot-file.h). If the file can't be used, entries are kept in
 * memory only.
 */

#include "yarn/proxy/lend-view.h"

#define NM_YARN_LENT_MAX 1024u

struct nm_yarn_lend_log;

/* Opens or creates the file in that directory, and reads the entries that an earlier nmd has written. Returns 0 or
 * -ENOMEM. */
int nm_yarn_lend_log_new(int dir_fd, struct nm_yarn_lend_log **ret);
/* Returns 0 if the log has a file. Otherwise returns the reason, as nm_yarn_placement_log_error() does. */
int nm_yarn_lend_log_error(const struct nm_yarn_lend_log *l);
struct nm_yarn_lend_log *nm_yarn_lend_log_free(struct nm_yarn_lend_log *l);

/* Adds the histories of the containers of an attempt that ends now. The books don't see later ends, so a container that
 * is lent or promoted now ends with the attempt. Of more than NM_YARN_LENT_MAX entries, the newest are kept. Without
 * memory, entries are lost. */
void nm_yarn_lend_log_add(struct nm_yarn_lend_log *l, const struct nm_yarn_lend_view *v);
/* Sets *ret to the newest entry of a container, which is found by the text of its id, and *ret_v to what is known of
 * its application. Both are valid until entries are added. Returns whether the log has an entry. */
bool nm_yarn_lend_log_find(const struct nm_yarn_lend_log *l, const char *container, struct nm_lend_history *ret,
                           struct nm_yarn_lend_view *ret_v);
