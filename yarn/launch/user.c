/* SPDX-License-Identifier: Apache-2.0 */

/* See user.h. */

#include "yarn/launch/user.h"

#include <pwd.h>

#include "util/parse.h"
#include "yarn/conf/executor.h"

#define PATTERN "yarn.nodemanager.linux-container-executor.nonsecure-mode.user-pattern"

int nm_yarn_user_compile(const struct nm_yarn_settings *s, struct nm_pattern **ret, char **ret_message)
{
    _cleanup_free_ char *why = NULL;
    int r;

    if (nm_streq(s->user_pattern, NM_YARN_USER_PATTERN)) {
        *ret = NULL;
        return 0;
    }
    r = nm_pattern_new(s->user_pattern, ret, &why);
    return r == -EINVAL ? nm_fail(ret_message, r, PATTERN ": %s", why ?: strerror(-r)) : r;
}

/* Looks up an account. The buffer grows as needed, since the account's entry may be long. */
static int look_up(const char *name, uid_t uid, struct passwd *pw, char **ret_buffer)
{
    for (size_t size = 1024; size <= (size_t)1 << 20; size *= 4) {
        _cleanup_free_ char *buffer = malloc(size);
        struct passwd *found = NULL;
        int e;

        if (!buffer)
            return -ENOMEM;
        e = name ? getpwnam_r(name, pw, buffer, size, &found) : getpwuid_r(uid, pw, buffer, size, &found);
        if (found) {
            *ret_buffer = STEAL_PTR(buffer);
            return 0;
        }
        if (e != ERANGE)
            return e == 0 || e == ESRCH || e == EBADF || e == EPERM ? -ENOENT : -e;
    }
    return -ENOENT;
}

int nm_yarn_user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid)
{
    _cleanup_free_ char *buffer = NULL;
    struct passwd pw;
    int r = look_up(name, 0, &pw, &buffer);

    if (r < 0)
        return r;
    *ret_uid = pw.pw_uid;
    *ret_gid = pw.pw_gid;
    return 0;
}

static int copy(const char *name, char **ret)
{
    char *text = strdup(name);

    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

/* Returns the name of nmd's own account. */
static int choose_own(uid_t nmd_uid, char **ret, char **ret_message)
{
    _cleanup_free_ char *buffer = NULL;
    struct passwd pw;
    int r = look_up(NULL, nmd_uid, &pw, &buffer);

    if (r == -ENOENT)
        return nm_fail(ret_message, -EINVAL, "nmd's own account (uid %ju) has no name, so containers can't run as "
                       "this account", (uintmax_t)nmd_uid);
    if (r < 0)
        return r;
    return copy(pw.pw_name, ret);
}

/* Checks the account when the container is accepted, before it is started, so that the answer to the application
 * contains the reason of a refusal. */
static int check_account(const struct nm_yarn_settings *s, const char *name, char **ret_message)
{
    uid_t uid;
    gid_t gid;
    int r = nm_yarn_user_find(name, &uid, &gid);

    if (r == -ENOENT)
        return nm_fail(ret_message, -EINVAL, "Containers would run as the user %s, but this user doesn't exist on "
                                             "this node",
                       name);
    if (r < 0)
        return nm_fail(ret_message, r, "Containers would run as the user %s, but this user can't be looked up at the "
                                       "moment: %s",
                       name, strerror(-r));
    if (uid == 0 && !s->allow_root)
        return nm_fail(ret_message, -EINVAL, "Containers would run as root (user %s), but this node doesn't permit "
                       "that (nmd.yarn.allow-root)", name);
    return nm_yarn_executor_check(&s->executor_rules, name, uid, ret_message);
}

int nm_yarn_user_choose(const struct nm_yarn_settings *s, struct nm_pattern *pattern, uid_t nmd_uid,
                        const char *submitter, char **ret, char **ret_message)
{
    const char *name = s->limit_users ? s->local_user : submitter;
    int r = !nm_user_name_is_valid(submitter) ? 0 : pattern ? nm_pattern_match(pattern, submitter) : 1;

    if (r == -ENOMEM)
        return r;
    if (r <= 0)
        return nm_fail(ret_message, -EINVAL, "'%.64s' is not a valid user name on this node: a name has at most 63 "
                       "letters, digits and characters of '._@-', optionally a '$' at its end, and must "
                       "match " PATTERN,
                       submitter);
    if (nmd_uid != 0)
        return choose_own(nmd_uid, ret, ret_message);
    r = check_account(s, name, ret_message);
    return r < 0 ? r : copy(name, ret);
}
