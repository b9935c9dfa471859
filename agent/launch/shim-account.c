/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who the command runs as. The name services may take their time (libraries, sockets, a network),
 * so they are asked by the shim, never in nmd's loop, and while it waits at its gate: beside nmd's
 * own preparations, not after them.
 */

#include "agent/launch/shim.h"

#include <grp.h>
#include <pwd.h>

#include "util/parse.h"

#define GROUPS_MAX 65536 /* the kernel's NGROUPS_MAX */

/* A uid without an account (a container's host, an unprivileged nmd) may be used by its number. */
static bool is_number_of(const char *user, uid_t uid)
{
    uint64_t v;

    return nm_parse_u64(user, &v) == 0 && v == uid;
}

/* "No such user" comes with many errors, depending on the service; these mean that it could not be
 * asked. */
static bool is_trouble(int error)
{
    return error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM;
}

static int find_passwd(const struct nm_shim_spec *spec, const struct passwd **ret)
{
    const struct passwd *pw;

    errno = 0;
    pw = getpwnam(spec->user);
    if (!pw && is_number_of(spec->user, spec->uid)) {
        errno = 0;
        pw = getpwuid(spec->uid);
        if (!pw) {
            *ret = NULL;
            return 0;
        }
    }
    if (!pw)
        return is_trouble(errno) ? -errno : -ENOENT;
    /* whether this user may be used was decided on the uid that nmd looked up: another one must not
     * slip in */
    if (pw->pw_uid != spec->uid || pw->pw_gid != spec->gid)
        return -ESTALE;
    *ret = pw;
    return 0;
}

static int find_groups(const char *name, gid_t gid, struct nm_shim_account *a)
{
    for (int n = 16; n <= GROUPS_MAX; n *= 4) {
        gid_t *groups = reallocarray(a->groups, (size_t)n, sizeof *groups);

        if (!groups)
            return -ENOMEM;
        a->groups = groups;
        a->n_groups = n;
        if (getgrouplist(name, gid, groups, &a->n_groups) >= 0)
            return 0;
    }
    return -E2BIG;
}

static int copy(const char *value, const char *fallback, char **ret)
{
    *ret = strdup(value && *value ? value : fallback);
    return *ret ? 0 : -ENOMEM;
}

int nm_shim_account_find(const struct nm_shim_spec *spec, struct nm_shim_account *ret)
{
    struct nm_shim_account a = {0};
    const struct passwd *pw = NULL;
    int r = find_passwd(spec, &pw);

    if (r >= 0)
        r = copy(pw ? pw->pw_name : NULL, spec->user, &a.name);
    if (r >= 0)
        r = copy(pw ? pw->pw_dir : NULL, "/", &a.home);
    if (r >= 0)
        r = copy(pw ? pw->pw_shell : NULL, "/bin/sh", &a.shell);
    /* without root there is no changing of groups */
    if (r >= 0 && geteuid() == 0)
        r = find_groups(a.name, spec->gid, &a);
    if (r < 0) {
        nm_shim_account_done(&a);
        return r;
    }
    *ret = a;
    return 0;
}

void nm_shim_account_done(struct nm_shim_account *a)
{
    free(a->name);
    free(a->home);
    free(a->shell);
    free(a->groups);
    *a = (struct nm_shim_account){0};
}
