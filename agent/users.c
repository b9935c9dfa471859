/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See users.h. Accounts are looked up with the reentrant functions and growing buffers, since an LDAP group can exceed
 * any fixed size. The rules themselves (nm_users_may_run()) make no look-ups, so a test can cover all of them.
 */

#include "agent/users.h"

#include <assert.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>

#include "agent/problem.h"
#include "util/parse.h"

#define NSS_BUFFER_MAX (1 << 20) /* enough for a group with tens of thousands of members */

nm_printf(4, 5) static int refuse(struct nm_problem *p, enum nm_agent_outcome outcome,
                                  const char *value, const char *format, ...)
{
    va_list ap;
    int r;

    va_start(ap, format);
    r = nm_problem_vset(p, outcome, "user", value, format, ap);
    va_end(ap);
    return r;
}

void nm_user_done(struct nm_user *u)
{
    free(u->name);
    free(u->home);
    free(u->shell);
    *u = (struct nm_user){0};
}

/* Copies an account. Home and shell become environment variables, so values that are not absolute paths are
 * replaced. */
static int user_from_passwd(const struct passwd *pw, struct nm_user *ret)
{
    _cleanup_(nm_user_done) struct nm_user u = {
        .uid = pw->pw_uid,
        .gid = pw->pw_gid,
        .name = strdup(pw->pw_name),
        .home = strdup(pw->pw_dir && pw->pw_dir[0] == '/' ? pw->pw_dir : "/"),
        .shell = strdup(pw->pw_shell && pw->pw_shell[0] == '/' ? pw->pw_shell : "/bin/sh"),
    };

    if (!u.name || !u.home || !u.shell)
        return -ENOMEM;
    *ret = u;
    u = (struct nm_user){0};
    return 0;
}

/* Translates the result of a get*_r function. NSS modules return different errors for "not found"; getpwnam(3) lists
 * the errors handled here. */
static int nss_result(int error, const void *found)
{
    if (found)
        return 0;
    if (error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM)
        return -ENOENT;
    return -error;
}

/* Looks an account up by name, or by uid if name is NULL. */
static int lookup_passwd(const char *name, uid_t uid, struct nm_user *ret)
{
    for (size_t size = 1024; size <= NSS_BUFFER_MAX; size *= 4) {
        _cleanup_free_ char *buf = malloc(size);
        struct passwd pw, *found = NULL;
        int r;

        if (!buf)
            return -ENOMEM;
        r = name ? getpwnam_r(name, &pw, buf, size, &found)
                 : getpwuid_r(uid, &pw, buf, size, &found);
        if (r == ERANGE)
            continue;
        r = nss_result(r, found);
        return r < 0 ? r : user_from_passwd(found, ret);
    }
    return -ERANGE;
}

int nm_users_lookup_uid(uid_t uid, struct nm_user *ret)
{
    return lookup_passwd(NULL, uid, ret);
}

int nm_users_lookup(const char *name, struct nm_user *ret)
{
    uint64_t uid;

    assert(name);
    /* A string of digits is always a uid, never a name: a login "0" must not bypass the rules for root. */
    if (strspn(name, "0123456789") < strlen(name))
        return lookup_passwd(name, 0, ret);
    if (nm_parse_u64(name, &uid) < 0 ||
        uid >= UINT32_MAX) /* (uid_t)-1 means "unchanged" to setresuid() and similar calls */
        return -ENOENT;
    return lookup_passwd(NULL, (uid_t)uid, ret);
}

int nm_users_lookup_group(const char *name, gid_t *ret)
{
    for (size_t size = 1024; size <= NSS_BUFFER_MAX; size *= 4) {
        _cleanup_free_ char *buf = malloc(size);
        struct group gr, *found = NULL;
        int r;

        if (!buf)
            return -ENOMEM;
        r = getgrnam_r(name, &gr, buf, size, &found);
        if (r == ERANGE)
            continue;
        r = nss_result(r, found);
        if (r >= 0)
            *ret = found->gr_gid;
        return r;
    }
    return -ERANGE;
}

bool nm_users_is_admin(uid_t uid, gid_t gid, const gid_t *groups, size_t n_groups, uid_t own_uid,
                       const gid_t *admin_gid)
{
    assert(groups || n_groups == 0);
    if (uid == 0 || uid == own_uid)
        return true;
    if (!admin_gid)
        return false;
    if (gid == *admin_gid)
        return true;
    for (size_t i = 0; i < n_groups; i++)
        if (groups[i] == *admin_gid)
            return true;
    return false;
}

/* Compares name and uid, since one account may have several names. */
static bool is_banned(const struct nm_config *c, const struct nm_user *u)
{
    char digits[16];

    (void)snprintf(digits, sizeof digits, "%" PRIu32, (uint32_t)u->uid);
    for (unsigned i = 0; i < c->n_banned_users; i++)
        if (nm_streq(c->banned_users[i], u->name) || nm_streq(c->banned_users[i], digits))
            return true;
    return false;
}

/* Returns why this user is not allowed, in words that follow the user's name, or NULL if the user is allowed. */
static const char *why_not_allowed(const struct nm_config *c, const struct nm_user *u, char *buf,
                                   size_t size)
{
    if (u->uid < c->min_uid) {
        (void)snprintf(buf, size, "its uid %" PRIu32 " is below [containers] min-uid = %" PRIu32,
                       (uint32_t)u->uid, (uint32_t)c->min_uid);
        return buf;
    }
    return is_banned(c, u) ? "it is on the list of [containers] banned-users" : NULL;
}

/* First checks the general rule, that is, whether the caller may use another user. Then checks whether this nmd is able
 * to start processes as the user, and the rules for system accounts. Only root may override the rules for system
 * accounts, and only by naming the user. */
int nm_users_may_run(const struct nm_config *c, const struct nm_caller *who, uid_t own_uid,
                     bool named, const struct nm_user *u, struct nm_problem *ret_problem)
{
    bool is_root = who->uid == 0 || who->uid == own_uid;
    const char *why;
    char buf[96];

    assert(c && who);
    if (u->uid != who->uid && !who->admin)
        return refuse(ret_problem, NM_AGENT_E_FORBIDDEN, u->name,
                      "You (uid %" PRIu32
                      ") may run containers as yourself only; running as %s is for administrators.",
                      (uint32_t)who->uid, u->name);
    if (own_uid != 0 && u->uid != own_uid)
        return refuse(ret_problem, NM_AGENT_E_FORBIDDEN, u->name,
                      "This nmd runs as uid %" PRIu32 ", not as root, and can't start containers as %s (uid "
                      "%" PRIu32 ").",
                      (uint32_t)own_uid, u->name, (uint32_t)u->uid);
    why = why_not_allowed(c, u, buf, sizeof buf);
    if (!why || (is_root && named))
        return 0;
    if (is_root)
        return refuse(ret_problem, NM_AGENT_E_INVALID, "",
                      "No user is named, and containers do not run as %s by default: %s. Name the user that the "
                      "container is to run as, for example \"user\":\"%s\" (nmctl run -u %s).",
                      u->name, why, u->name, u->name);
    return refuse(ret_problem, NM_AGENT_E_FORBIDDEN, u->name,
                  "No container runs as %s: %s. Only root may run containers as this user, and must name the user.",
                  u->name, why);
}

/* Makes a user for a peer without an account: the peer's uid may be from a container, or of a removed user. */
static int nameless(const struct nm_caller *who, struct nm_user *ret)
{
    _cleanup_(nm_user_done) struct nm_user u = {.uid = who->uid, .gid = who->gid};

    if (asprintf(&u.name, "%" PRIu32, (uint32_t)who->uid) < 0)
        u.name = NULL;
    u.home = strdup("/");
    u.shell = strdup("/bin/sh");
    if (!u.name || !u.home || !u.shell)
        return -ENOMEM;
    *ret = u;
    u = (struct nm_user){0};
    return 0;
}

/* Finds and checks the user of a request. A request without a user runs as the caller. */
int nm_users_check(const struct nm_config *c, const struct nm_caller *who, const char *requested,
                   struct nm_user *ret, struct nm_problem *ret_problem)
{
    _cleanup_(nm_user_done) struct nm_user u = {0};
    bool named = requested && *requested;
    int r;

    assert(c && who && ret);
    r = named ? nm_users_lookup(requested, &u) : nm_users_lookup_uid(who->uid, &u);
    if (r == -ENOENT && named)
        return refuse(
            ret_problem, NM_AGENT_E_INVALID, requested,
            "There is no user '%s' on this node; give a login name or the uid of an account.",
            requested);
    if (r == -ENOENT)
        r = nameless(who, &u);
    if (r < 0)
        return r;
    r = nm_users_may_run(c, who, geteuid(), named, &u, ret_problem);
    if (r != 0)
        return r;
    *ret = u;
    u = (struct nm_user){0};
    return 0;
}
