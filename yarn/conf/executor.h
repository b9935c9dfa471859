/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * container-executor.cfg, the configuration of LinuxContainerExecutor's setuid program, beside yarn-site.xml. It says
 * which accounts may not run containers. Hadoop's program uses the file only if no other user than root can write to
 * it. Lines are NAME=VALUE, below [SECTION]s or above the first one. '#' begins a comment.
 *
 *   min.user.id            the smallest uid of an account that may run containers
 *   allowed.system.users   accounts that may run containers although their uid is smaller
 *   banned.users           accounts that may not run containers
 *
 * Settings that would restrict containers in a way that nmd doesn't have are refused. Unknown names are warned of.
 */

#include <sys/types.h>

#include "util/error.h"
#include "yarn/conf/rules.h"

#define NM_YARN_EXECUTOR_FILE "container-executor.cfg"

/* The names in the file that nmd supports, with defaults and meanings. */
struct nm_yarn_executor_name {
    const char *name, *fallback, *allowed, *meaning;
};
extern const struct nm_yarn_executor_name nm_yarn_executor_names[3];

/* Reads a text; messages call it `file`. Returns 0 with the refusals added, or -ENOMEM. */
int nm_yarn_executor_parse(const char *file, const char *text, nm_yarn_warn_t warn, void *userdata,
                           struct nm_yarn_executor *ret, struct nm_refusals *refusals);
/* Reads the file in that directory, if the file exists. If other users than root could write to the file, the function
 * refuses the file with `must_be_trusted`. Otherwise it warns, and doesn't use the file. Returns 0 with the refusals
 * added, or -ENOMEM. */
int nm_yarn_executor_load(const char *dir, bool must_be_trusted, nm_yarn_warn_t warn, void *userdata,
                          struct nm_yarn_executor *ret, struct nm_refusals *refusals);
void nm_yarn_executor_done(struct nm_yarn_executor *e);

/* Checks whether containers may run as this account. -EINVAL: the account may not run containers; *ret_message is for
 * the application. */
int nm_yarn_executor_check(const struct nm_yarn_executor *e, const char *user, uid_t uid, char **ret_message);
