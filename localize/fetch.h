/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Gets hold of a resource's bytes, wherever they are, and makes sure that they are those that were meant. */

#include "localize/fetch-schemes.h"

/*
 * The bytes, in a descriptor that the caller owns, at the beginning of which they are. *ret_is_ours: they are in the
 * file `to`, made for this; otherwise they are still where they were, and `to` isn't there. Else -errno, and a
 * sentence's end.
 */
int nm_fetch(struct nm_fetch *f, const struct nm_resource *res, const struct nm_uri *uri, const struct nm_fetch_to *to,
             int *ret_fd, bool *ret_is_ours, char **ret_message);
