/* SPDX-License-Identifier: Apache-2.0 */

/* See become.h. This file is separate because nm-shim doesn't link the name services. */

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "util/become.h"
#include "util/error.h"

#define GROUPS_MAX 65536 /* the kernel's NGROUPS_MAX */
#define GROUPS_USUAL 32

/* Retries with at least double the size, because the account may get more groups between two calls. */
int nm_groups_find(const char *account, gid_t gid, gid_t **ret, size_t *ret_n)
{
    _cleanup_free_ gid_t *groups = NULL;

    for (int room = GROUPS_USUAL, n = room; room <= GROUPS_MAX; n = room = NM_MAX(n, 2 * room)) {
        gid_t *larger = reallocarray(groups, (size_t)room, sizeof *groups);

        if (!larger)
            return -ENOMEM;
        groups = larger;
        if (getgrouplist(account, gid, groups, &n) >= 0) { /* on failure, n is the required number */
            *ret = STEAL_PTR(groups);
            *ret_n = (size_t)n;
            return 0;
        }
    }
    return -E2BIG;
}

int nm_groups_find_uid(uid_t uid, gid_t gid, gid_t **ret, size_t *ret_n)
{
    const struct passwd *pw = getpwuid(uid);
    gid_t *one;

    if (pw)
        return nm_groups_find(pw->pw_name, gid, ret, ret_n);
    one = malloc(sizeof *one);
    if (!one)
        return -ENOMEM;
    *one = gid;
    *ret = one;
    *ret_n = 1;
    return 0;
}
