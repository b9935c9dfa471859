/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The choice of the user that containers run as:
 *
 * - An nmd that isn't root runs all containers as its own user, whoever has submitted them.
 * - An nmd that is root uses the nonsecure-mode settings of LinuxContainerExecutor for both executor classes. All
 *   containers run as local-user, or each container runs as its submitter. Hadoop's DefaultContainerExecutor would run
 *   all containers as root, which an administrator who keeps the default class doesn't intend.
 * - If the cluster's files include container-executor.cfg, the accounts that this file bans are excluded (executor.h).
 * - Containers run as root only if nmd.yarn.allow-root is true, because without Kerberos the submitter's name is not
 *   verified.
 *
 * The names of submitters become components of paths, so these names are checked in all cases.
 */

#include <sys/types.h>

#include "localize/pattern/pattern.h"
#include "util/error.h"
#include "yarn/conf/properties.h"

/* Compiles user-pattern. It matches as in Java. *ret is NULL if the pattern is the default, which matches all valid
 * names: a pattern makes 250 KiB of the library for regular expressions resident. -EINVAL and *ret_message: the pattern
 * is not a regular expression, or uses a construct of java.util.regex that nmd doesn't implement. */
int nm_yarn_user_compile(const struct nm_yarn_settings *s, struct nm_pattern **ret, char **ret_message);

/* Chooses the user. pattern: see nm_yarn_user_compile(). nmd_uid: the user that nmd runs as. The caller frees *ret.
 * -EINVAL: no user is allowed; *ret_message is a text for the application. */
int nm_yarn_user_choose(const struct nm_yarn_settings *s, struct nm_pattern *pattern, uid_t nmd_uid,
                        const char *submitter, char **ret, char **ret_message);

/* Looks up the user's ids. -ENOENT: the user doesn't exist. */
int nm_yarn_user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid);
