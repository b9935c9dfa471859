/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What must outlive nmd and isn't the manager's: that an application has been here, also when none of its containers is
 * known any more, since its outputs may still be fetched and its end is still to come; and containers that ended before
 * the manager had them. Each is a file (note-dir.h).
 */

#include "yarn/containers.pb-c.h"
#include "yarn/note-dir.h"

struct nm_yarn_notes {
    int applications_fd, ends_fd;
};

/* Done with or without success. */
int nm_yarn_notes_open(const char *state_dir, struct nm_yarn_notes *ret);
void nm_yarn_notes_done(struct nm_yarn_notes *notes);

/* Names are ids' texts. What can't be written holds until nmd's end; what isn't there needn't be removed. */
void nm_yarn_notes_put_application(const struct nm_yarn_notes *notes, const char *name, const char *submitter);
void nm_yarn_notes_drop_application(const struct nm_yarn_notes *notes, const char *name);
void nm_yarn_notes_put_end(const struct nm_yarn_notes *notes, const char *name, const Yarn__EarlyEnd *end);
void nm_yarn_notes_drop_end(const struct nm_yarn_notes *notes, const char *name);

/* All that there are. False: it is no such thing, and is removed. */
int nm_yarn_notes_applications(const struct nm_yarn_notes *notes, nm_yarn_note_cb_t cb, void *userdata);
int nm_yarn_notes_ends(const struct nm_yarn_notes *notes, nm_yarn_note_cb_t cb, void *userdata);
