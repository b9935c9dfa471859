/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Hadoop's access control lists: "user,user group,group", or "*" for all users. A list that begins with a space has
 * only groups. A list that is NULL names nobody. */

#include <stdbool.h>

/* Returns whether the list names the user or is "*". */
bool nm_yarn_acl_has_user(const char *acl, const char *user);

/* Returns whether the list names any group, so that the groups of a user matter. */
bool nm_yarn_acl_has_groups(const char *acl);
/* Returns whether the list names one of the groups, which are separated by commas. */
bool nm_yarn_acl_has_group_of(const char *acl, const char *groups);
