/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Fetches a resource's bytes from any scheme, and verifies that the source is the one that was submitted. */

#include "localize/worker/fetch-schemes.h"

/*
 * Returns the bytes in a descriptor that the caller owns, positioned at the first byte. *ret_is_ours: the bytes are in
 * the new file `to`; otherwise they are in the source itself, and `to` doesn't exist. NM_FETCH_E_DIRECTORY: the source
 * is a directory, and `to` doesn't exist; *ret_fd is set only for a directory of this host. Otherwise -errno, and the
 * end of a sentence.
 */
int nm_fetch(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, const struct nm_fetch_to *to,
             int *ret_fd, bool *ret_is_ours, char **ret_message);

/* Copies the contents of a source that is a directory into the empty directory to_fd, whose mode the caller sets. fd:
 * the descriptor of nm_fetch(). *ret_message continues the source's name: "/sub/file: ...", or ": ...". */
int nm_fetch_tree(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, int fd, int to_fd,
                  uint64_t *ret_bytes, char **ret_message);
