/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Looks up the command's account. Name services may be slow (sockets, a network), so they are called in the child that
 * becomes the shim, in parallel to nmd's own preparations, and never in nmd's event loop. The lookup precedes the exec
 * of the shim: nmd has the services' libraries loaded already, whereas the shim would have to load these libraries for
 * each container and keep them in memory while the shim runs.
 */

#include <pwd.h>

#include "agent/launch/launch-internal.h"
#include "util/become.h"
#include "util/parse.h"

/* Returns whether the user is given as a number. A uid without an account (on a container's host, or with an
 * unprivileged nmd) may be given in this way. */
static bool is_number_of(const char *user, uid_t uid)
{
    uint64_t v;

    return nm_parse_u64(user, &v) == 0 && v == uid;
}

/* Returns whether the lookup itself failed. "No such user" comes with many errors, depending on the service; these
 * errors mean that no answer was obtained. */
static bool is_trouble(int error)
{
    return error == EIO || error == EMFILE || error == ENFILE || error == ENOMEM;
}

static int find_passwd(const struct nm_command *c, struct passwd **ret)
{
    struct passwd *pw;

    errno = 0;
    pw = getpwnam(c->user);
    if (!pw && is_number_of(c->user, c->uid)) {
        errno = 0;
        pw = getpwuid(c->uid);
        if (!pw)
            return 0;
    }
    if (!pw)
        return is_trouble(errno) ? -errno : -ENOENT;
    /* nmd checked the permission of the uid that nmd had looked up, so a different uid is refused here */
    if (pw->pw_uid != c->uid || pw->pw_gid != c->gid)
        return -ESTALE;
    *ret = pw;
    return 0;
}

static char *given(char *value, char *fallback)
{
    return value && *value ? value : fallback;
}

struct nm_shim_account nm_launch_account_find(const struct nm_command *c)
{
    struct nm_shim_account a = {.name = c->user, .home = (char *)"/", .shell = (char *)"/bin/sh"};
    struct passwd *pw = NULL;
    int r = find_passwd(c, &pw);

    if (pw) {
        a.name = given(pw->pw_name, a.name);
        a.home = given(pw->pw_dir, a.home);
        a.shell = given(pw->pw_shell, a.shell);
    }
    /* only root can change groups */
    if (r >= 0 && geteuid() == 0)
        r = nm_groups_find(a.name, c->gid, &a.groups, &a.n_groups);
    a.error = -r;
    return a;
}
