/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Hadoop's access control lists: "user,user group,group", or "*" for all users. A list that begins with a space has
 * only groups. */

#include <stdbool.h>

/* Returns whether the list names the user or is "*". acl NULL: false. */
bool nm_yarn_acl_has_user(const char *acl, const char *user);

/* Returns whether the list names a group of the user. acl NULL: false. Reads only the host's own accounts, in the files
 * passwd and group of the directory `etc`, because a query to a name service could block the event loop. */
bool nm_yarn_acl_has_local_group(const char *acl, const char *user, const char *etc);
