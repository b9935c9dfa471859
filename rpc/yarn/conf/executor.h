/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * container-executor.cfg, the file of LinuxContainerExecutor's program, beside yarn-site.xml: as whom containers may
 * not run. Hadoop's program obeys it only if nobody but root can write to it. Lines are NAME=VALUE, below [SECTION]s or
 * above the first; '#' begins a comment.
 *
 *   min.user.id            no account with a smaller uid ...
 *   allowed.system.users   ... but these
 *   banned.users           nor these
 *
 * What else would keep containers from something and isn't done here is refused; a name that nobody knows is warned of.
 */

#include <sys/types.h>

#include "rpc/yarn/conf/rules.h"
#include "util/refusals.h"

#define NM_YARN_EXECUTOR_FILE "container-executor.cfg"

/* With the defaults and the meanings of what nm_yarn_executor has. */
struct nm_yarn_executor_name {
    const char *name, *fallback, *allowed, *meaning;
};
extern const struct nm_yarn_executor_name nm_yarn_executor_names[3];

/* Of a text; `file` is what sentences call it. Returns 0 with the refusals added, or -ENOMEM. */
int nm_yarn_executor_parse(const char *file, const char *text, nm_yarn_warn_t warn, void *userdata,
                           struct nm_yarn_executor *ret, struct nm_refusals *refusals);
/* Of the file in that directory, if there is one. One that others than root could write to is refused if
 * `must_be_trusted`, or else warned of and not obeyed. Likewise. */
int nm_yarn_executor_load(const char *dir, bool must_be_trusted, nm_yarn_warn_t warn, void *userdata,
                          struct nm_yarn_executor *ret, struct nm_refusals *refusals);
void nm_yarn_executor_done(struct nm_yarn_executor *e);

/* May containers run as this account? -EINVAL and a sentence for the application. */
int nm_yarn_executor_check(const struct nm_yarn_executor *e, const char *user, uid_t uid, char **ret_message);
