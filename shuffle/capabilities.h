/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Becomes the user permanently and keeps one capability of root, CAP_DAC_READ_SEARCH (read all files), because without
 * this capability only the users of applications can read their files. The change applies only to the calling thread
 * and the threads that it starts later, so call this function first. Returns -EINVAL if the user does not exist. */
int nm_shuffle_drop_capabilities(const char *user, char **ret_message);
