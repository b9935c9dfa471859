/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * container-executor.cfg, the configuration of LinuxContainerExecutor's setuid program, in the same directory as
 * yarn-site.xml. It lists accounts that may not run containers. Hadoop's program uses the file only if no user but root
 * can write to it. Each line is NAME=VALUE. A line [SECTION] starts a section; the lines before the first section
 * belong to no section. '#' begins a comment.
 *
 *   min.user.id            the smallest uid of an account that may run containers
 *   allowed.system.users   accounts that may run containers although their uid is smaller
 *   banned.users           accounts that may not run containers
 *
 * The section [gpu] describes the devices of GPUs:
 *
 *   gpu.major-device-number            major number of the devices
 *   gpu.allowed-device-minor-numbers   minor numbers of the devices that may be offered
 *
 * A setting that would restrict containers in a way that nmd doesn't support is refused. An unknown name causes a
 * warning.
 */

#include <sys/types.h>

#include "util/error.h"
#include "yarn/conf/rules.h"

#define NM_YARN_EXECUTOR_FILE "container-executor.cfg"

/* The names in the file that nmd supports, with defaults and meanings. */
struct nm_yarn_executor_name {
    const char *section, *name, *fallback, *allowed, *meaning;
};
extern const struct nm_yarn_executor_name nm_yarn_executor_names[NM_YARN_N_EXECUTOR_NAMES];

/* Parses a text. `file` is its name in messages. Returns 0 with the refusals added, or -ENOMEM. */
int nm_yarn_executor_parse(const char *file, const char *text, nm_yarn_warn_t warn, void *userdata,
                           struct nm_yarn_executor *ret, struct nm_refusals *refusals);
/* Reads the file in that directory, if it exists. If users other than root could write to the file, the function
 * refuses the file if `must_be_trusted` is true. Otherwise it warns and ignores the file. Returns 0 with the refusals
 * added, or -ENOMEM. */
int nm_yarn_executor_load(const char *dir, bool must_be_trusted, nm_yarn_warn_t warn, void *userdata,
                          struct nm_yarn_executor *ret, struct nm_refusals *refusals);
void nm_yarn_executor_done(struct nm_yarn_executor *e);

/* Checks whether containers may run as this account. -EINVAL: the account may not run containers; *ret_message is a
 * text for the application. */
int nm_yarn_executor_check(const struct nm_yarn_executor *e, const char *user, uid_t uid, char **ret_message);
