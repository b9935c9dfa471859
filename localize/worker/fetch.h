/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Gets hold of a resource's bytes, wherever they are, and makes sure that they are those that were meant. */

#include "localize/worker/fetch-schemes.h"

/*
 * The bytes, in a descriptor that the caller owns, at the beginning of which they are. *ret_is_ours: they are in the
 * file `to`, made for this; otherwise they are still where they were, and `to` isn't there. NM_FETCH_E_DIRECTORY: it
 * is one, and `to` isn't there; a descriptor comes of one of this host's only. Else -errno, and a sentence's end.
 */
int nm_fetch(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, const struct nm_fetch_to *to,
             int *ret_fd, bool *ret_is_ours, char **ret_message);

/* All that is in such a directory, into the empty to_fd, whose mode is the caller's to set. fd: nm_fetch()'s. The
 * sentence's end begins with what stands behind the source's own name: "/sub/file: ...", or ": ...". */
int nm_fetch_tree(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, int fd, int to_fd,
                  uint64_t *ret_bytes, char **ret_message);
