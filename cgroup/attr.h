/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Access to one attribute file of a cgroup. For a removed cgroup the kernel returns ENOENT (open) or ENODEV (read or
 * write of a file that was open before). For a missing controller it also returns ENOENT. The functions below
 * distinguish the two cases:
 *   -ENOENT      the cgroup no longer exists, which is a normal result;
 *   -EOPNOTSUPP  the cgroup exists, but this kernel or mount has no such file.
 */

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the cgroup that dir_fd was opened on still exists. */
bool nm_attr_cgroup_exists(int dir_fd);
/* Returns whether the cgroup has this file. */
bool nm_attr_exists(int dir_fd, const char *file);

int nm_attr_read(int dir_fd, const char *file, char *buf, size_t size);
int nm_attr_write(int dir_fd, const char *file, const char *text);

/* Returns whether `word` is one of the blank-separated words of text ("cpu memory pids"). */
bool nm_attr_has_word(const char *text, const char *word);
