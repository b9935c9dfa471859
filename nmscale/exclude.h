/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ResourceManager's exclude file (yarn.resourcemanager.nodes.exclude-path). It contains hosts, separated by blanks
 * and newlines. A # begins a comment. nmscale writes each of its hosts on a separate line that ends in nmscale's mark,
 * and removes only such lines. It preserves an administrator's lines byte for byte.
 */

#include <stdbool.h>
#include <stddef.h>

#define NM_SCALE_EXCLUDE_MARK "# nmscale"
#define NM_SCALE_EXCLUDE_MOST (4 << 20)

/* Returns whether the host is excluded, either by nmscale or by an administrator. */
bool nm_scale_exclude_has(const char *text, const char *host);

/* Return the text with the missing hosts added, or without the hosts that nmscale has added. NULL: no memory. */
char *nm_scale_exclude_add(const char *text, char *const *hosts, size_t n);
char *nm_scale_exclude_remove(const char *text, char *const *hosts, size_t n);

/* Returns the hosts that nmscale has added; the caller frees them. */
int nm_scale_exclude_marked(const char *text, char ***ret, size_t *ret_n);

/* Reads the file ("" if it doesn't exist). -EPROTO: the file is in XML format, which nmscale doesn't write. */
int nm_scale_exclude_read(const char *path, char **ret, char **ret_message);
