/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * State that must survive a restart of nmd and that the manager doesn't keep: an application's presence on the node,
 * and containers that ended before the manager had them. An application is kept even after all its containers were
 * removed, since its outputs may still be fetched and its end is still to come. Each entry is a file (state-dir.h).
 */

#include "yarn/containers.pb-c.h"
#include "yarn/state-dir.h"

struct nm_yarn_app_store {
    int applications_fd, ends_fd;
};

/* Opens the store. The caller calls nm_yarn_app_store_done() whether or not the opening succeeds. */
int nm_yarn_app_store_open(const char *state_dir, struct nm_yarn_app_store *ret);
void nm_yarn_app_store_done(struct nm_yarn_app_store *store);

/* Names are ids as text. An entry that can't be written is only kept in memory. Removing a missing entry is allowed. */
void nm_yarn_app_store_put_application(const struct nm_yarn_app_store *store, const char *name, const char *submitter);
void nm_yarn_app_store_drop_application(const struct nm_yarn_app_store *store, const char *name);
void nm_yarn_app_store_put_end(const struct nm_yarn_app_store *store, const char *name, const Yarn__EarlyEnd *end);
void nm_yarn_app_store_drop_end(const struct nm_yarn_app_store *store, const char *name);

/* Call cb for each entry. If cb returns false, the entry is invalid and is removed. */
int nm_yarn_app_store_applications(const struct nm_yarn_app_store *store, nm_yarn_state_file_cb_t cb, void *userdata);
int nm_yarn_app_store_ends(const struct nm_yarn_app_store *store, nm_yarn_state_file_cb_t cb, void *userdata);
