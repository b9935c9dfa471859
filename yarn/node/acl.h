/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Hadoop's access control lists: "user,user group,group", or "*" for everybody. A list that begins with a space has
 * only groups. */

#include <stdbool.h>

/* Returns whether the list names the user, or everybody. acl NULL: nobody. */
bool nm_yarn_acl_has_user(const char *acl, const char *user);

/* Returns whether the list names a group of the user. Looks only into the files of the host's own accounts, passwd and
 * group in the directory etc, because a name service may block for any time. */
bool nm_yarn_acl_has_local_group(const char *acl, const char *user, const char *etc);
