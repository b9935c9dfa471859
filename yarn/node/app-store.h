/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What must outlive nmd and isn't the manager's: that an application has been here, also when none of its containers is
 * known any more, since its outputs may still be fetched and its end is still to come; and containers that ended before
 * the manager had them. Each is a file (state-dir.h).
 */

#include "yarn/containers.pb-c.h"
#include "yarn/state-dir.h"

struct nm_yarn_app_store {
    int applications_fd, ends_fd;
};

/* Done with or without success. */
int nm_yarn_app_store_open(const char *state_dir, struct nm_yarn_app_store *ret);
void nm_yarn_app_store_done(struct nm_yarn_app_store *notes);

/* Names are ids' texts. What can't be written holds until nmd's end; what isn't there needn't be removed. */
void nm_yarn_app_store_put_application(const struct nm_yarn_app_store *notes, const char *name, const char *submitter);
void nm_yarn_app_store_drop_application(const struct nm_yarn_app_store *notes, const char *name);
void nm_yarn_app_store_put_end(const struct nm_yarn_app_store *notes, const char *name, const Yarn__EarlyEnd *end);
void nm_yarn_app_store_drop_end(const struct nm_yarn_app_store *notes, const char *name);

/* All that there are. False: it is no such thing, and is removed. */
int nm_yarn_app_store_applications(const struct nm_yarn_app_store *notes, nm_yarn_note_cb_t cb, void *userdata);
int nm_yarn_app_store_ends(const struct nm_yarn_app_store *notes, nm_yarn_note_cb_t cb, void *userdata);
