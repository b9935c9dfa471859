/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * As whom containers run.
 *
 *  - An nmd that isn't root can run them as itself only, whoever has submitted them.
 *  - nmd as root goes by the nonsecure-mode settings of LinuxContainerExecutor, with either executor: all run as
 *    local-user, or each as who submitted it. Hadoop's DefaultContainerExecutor would run them as root then; nobody who
 *    sets nothing means that.
 *  - Where the cluster's files have a container-executor.cfg, that says as whom none runs (executor.h).
 *  - As root one runs only if nmd.yarn.allow-root says so. Without Kerberos a submitter is who he says.
 *
 * Submitters' names become parts of paths, so they are checked in any case.
 */

#include <sys/types.h>

#include "localize/pattern/pattern.h"
#include "util/error.h"
#include "yarn/conf/properties.h"

/* Compiles user-pattern, which matches as in Java. -EINVAL and *ret_message: it is no regular expression, or has
 * something that can't be matched as in Java. */
int nm_yarn_user_compile(const struct nm_yarn_settings *s, struct nm_pattern **ret, char **ret_message);

/* nmd_uid: as whom nmd runs. -EINVAL: not as anybody; *ret_message is for the application. The caller frees *ret. */
int nm_yarn_user_choose(const struct nm_yarn_settings *s, struct nm_pattern *pattern, uid_t nmd_uid,
                        const char *submitter, char **ret, char **ret_message);

/* -ENOENT: there is no such user. */
int nm_yarn_user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid);
