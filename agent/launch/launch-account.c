/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who the command runs as. The name services may take their time (sockets, a network), so they are
 * asked in the child that becomes the shim, never in nmd's loop, and beside nmd's own preparations.
 * Before it is the shim: nmd has their libraries loaded already, which a fresh program would have
 * to do for each container anew, and keep in memory while it runs.
 */

#include <pwd.h>

#include "agent/launch/launch-internal.h"
#include "util/become.h"
#include "util/parse.h"

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
    /* whether this user may be used was decided on the uid that nmd looked up: another one must not
     * slip in */
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
    /* without root there is no changing of groups */
    if (r >= 0 && geteuid() == 0)
        r = nm_groups_find(a.name, c->gid, &a.groups, &a.n_groups);
    a.error = -r;
    return a;
}
