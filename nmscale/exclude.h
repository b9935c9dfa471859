/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ResourceManager's exclude file (yarn.resourcemanager.nodes.exclude-path): hosts, divided by blanks and lines;
 * what follows a # is a comment. nmscale puts each host of its own on a line that ends in its mark, and takes only
 * such lines away again: what an administrator has written stays to the byte.
 */

#include <stdbool.h>
#include <stddef.h>

#define NM_SCALE_EXCLUDE_MARK "# nmscale"
#define NM_SCALE_EXCLUDE_MOST (4 << 20)

/* Is the host excluded, by anybody? */
bool nm_scale_exclude_has(const char *text, const char *host);

/* The text with the hosts added that it doesn't have, or without those that nmscale has added. NULL: no memory. */
char *nm_scale_exclude_add(const char *text, char *const *hosts, size_t n);
char *nm_scale_exclude_remove(const char *text, char *const *hosts, size_t n);

/* The hosts that nmscale has added; the caller frees them. */
int nm_scale_exclude_marked(const char *text, char ***ret, size_t *ret_n);

/* The text of the file ("" if it isn't there); -EPROTO: it is one of the XML kind, which nmscale doesn't write. */
int nm_scale_exclude_read(const char *path, char **ret, char **ret_message);
