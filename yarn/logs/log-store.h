/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The files of the applications whose logs are not uploaded yet, in nmd's state directory. log-state.h describes their
 * contents. */

#include "yarn/logs/log-book.h"

/* Opens the directory. *ret: a descriptor, which the caller closes. */
int nm_yarn_log_store_open(const char *state_dir, int *ret);
/* Calls cb for the books of each file. cb takes ownership. Removes invalid files. */
int nm_yarn_log_store_load(int fd, void (*cb)(struct nm_yarn_log_book *b, void *userdata), void *userdata);

/* Writes all data of the books. Clears b->is_unsaved, or sets it if the file can't be written. */
void nm_yarn_log_store_save(int fd, struct nm_yarn_log_book *b);
/* Appends a line, and frees it. Saves all data if an earlier line is missing. line NULL: no memory for the line. */
void nm_yarn_log_store_append(int fd, struct nm_yarn_log_book *b, char *line);
void nm_yarn_log_store_drop(int fd, const struct nm_yarn_log_book *b);
