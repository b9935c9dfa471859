/* SPDX-License-Identifier: Apache-2.0 */

/* See capabilities.h. */

#include "shuffle/capabilities.h"

#include <linux/capability.h>
#include <pwd.h>
#include <string.h>

#include "util/become.h"
#include "util/error.h"
#include "util/macros.h"

int nm_shuffle_drop_capabilities(const char *user, char **ret_message)
{
    const struct nm_become_options options = {.kept_capabilities = UINT64_C(1) << CAP_DAC_READ_SEARCH,
                                              .no_new_privs = true};
    const struct passwd *pw = getpwnam(user);
    _cleanup_free_ gid_t *groups = NULL;
    struct nm_identity who;
    int r;

    if (!pw)
        return nm_fail(ret_message, -EINVAL, "--user '%s': there is no such user", user);
    who = (struct nm_identity){.uid = pw->pw_uid, .gid = pw->pw_gid};
    r = nm_groups_find(user, who.gid, &groups, &who.n_groups);
    who.groups = groups;
    if (r >= 0)
        r = nm_become(&who, &options);
    return r < 0 ? nm_fail(ret_message, r, "Can't switch to the user '%s': %s", user, strerror(-r)) : 0;
}
