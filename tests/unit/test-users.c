/* SPDX-License-Identifier: Apache-2.0 */

/* agent/users.h: the rules for users as a table, and look-ups of accounts that every Debian system has. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>

#include "agent/users.h"
#include "tests/unit/fail-nth.h"

#define OUR_ADMIN 1001 /* whether the caller is a member of the admin group */
#define ALICE 1002
#define BOB 1003
#define DAEMON 1
#define BANNED 2000
#define BANNED_BY_UID 2001
#define OWN 1500 /* uid of an nmd that doesn't run as root */

static int set_up(void **state)
{
    struct nm_config *c = NULL;

    if (nm_config_new_defaults(&c) < 0)
        return -1;
    c->banned_users[c->n_banned_users++] = strdup("villain");
    c->banned_users[c->n_banned_users++] = strdup("2001");
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    nm_config_free(*state);
    return 0;
}

static const char *name_of(uid_t uid)
{
    return uid == 0 ? "root" : uid == BANNED ? "villain" : "someone";
}

static void test_each_rule_for_users_is_applied(void **state)
{
    static const struct {
        uid_t own, who;
        bool admin, named;
        uid_t as;
        int expected;
        const char *part; /* a part of the message */
    } rows[] = {
        /* Ordinary users can run containers only as themselves. */
        {0, ALICE, false, false, ALICE, 0, NULL},
        {0, ALICE, false, true, ALICE, 0, NULL},
        {0, ALICE, false, true, BOB, NM_AGENT_E_FORBIDDEN,
         "You (uid 1002) may run containers as yourself only"},
        {0, ALICE, false, true, 0, NM_AGENT_E_FORBIDDEN, "as yourself only"},
        {0, ALICE, false, true, BANNED, NM_AGENT_E_FORBIDDEN, "as yourself only"},
        /* A uid that is below the minimum or banned is refused. */
        {0, DAEMON, false, false, DAEMON, NM_AGENT_E_FORBIDDEN,
         "its uid 1 is below [containers] min-uid = 1000"},
        {0, BANNED, false, false, BANNED, NM_AGENT_E_FORBIDDEN, "banned-users"},
        {0, BANNED_BY_UID, false, true, BANNED_BY_UID, NM_AGENT_E_FORBIDDEN, "banned-users"},
        /* Administrators may run containers as any permitted user. */
        {0, OUR_ADMIN, true, false, OUR_ADMIN, 0, NULL},
        {0, OUR_ADMIN, true, true, ALICE, 0, NULL},
        {0, OUR_ADMIN, true, true, 0, NM_AGENT_E_FORBIDDEN,
         "Only root may run containers as this user, and must name the user"},
        {0, OUR_ADMIN, true, true, DAEMON, NM_AGENT_E_FORBIDDEN, "min-uid"},
        {0, OUR_ADMIN, true, true, BANNED, NM_AGENT_E_FORBIDDEN, "banned-users"},
        {0, DAEMON, true, false, DAEMON, NM_AGENT_E_FORBIDDEN, "min-uid"},
        /* Root may run containers as any user, by name. Only root may run containers as root. */
        {0, 0, true, false, 0, NM_AGENT_E_INVALID, "for example \"user\":\"root\""},
        {0, 0, true, true, 0, 0, NULL},
        {0, 0, true, true, DAEMON, 0, NULL},
        {0, 0, true, true, BANNED, 0, NULL},
        /* An nmd that doesn't run as root can run containers only as its own user, for any permitted caller. If this
         * user is a system user, the request must name it. */
        {OWN, OWN, true, false, OWN, 0, NULL},
        {DAEMON, DAEMON, true, false, DAEMON, NM_AGENT_E_INVALID, "its uid 1 is below"},
        {DAEMON, DAEMON, true, true, DAEMON, 0, NULL},
        {BANNED, BANNED, true, false, BANNED, NM_AGENT_E_INVALID, "banned-users"},
        {BANNED, BANNED, true, true, BANNED, 0, NULL},
        {BANNED, 0, true, false, 0, NM_AGENT_E_FORBIDDEN, "not as root"},
        {OWN, OWN, true, true, ALICE, NM_AGENT_E_FORBIDDEN, "as uid 1500, not as root"},
        {OWN, 0, true, false, 0, NM_AGENT_E_FORBIDDEN, "not as root"},
        {OWN, 0, true, true, OWN, 0, NULL},
        {OWN, OUR_ADMIN, true, true, OWN, 0, NULL},
        {OWN, ALICE, false, false, ALICE, NM_AGENT_E_FORBIDDEN, "not as root"},
        {OWN, ALICE, false, true, OWN, NM_AGENT_E_FORBIDDEN, "as yourself only"},
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        struct nm_caller who = {rows[i].who, rows[i].who, 1, rows[i].admin};
        struct nm_user user = {
            .uid = rows[i].as, .gid = rows[i].as, .name = (char *)name_of(rows[i].as)};
        struct nm_problem problem = {0};
        int r = nm_users_may_run(*state, &who, rows[i].own, rows[i].named, &user, &problem);

        if (r != rows[i].expected)
            fail_msg("row %zu: got %d (%s), expected %d", i, r, problem.message, rows[i].expected);
        if (r == 0)
            continue;
        assert_int_equal(problem.outcome, r);
        assert_string_equal(problem.thing, "user");
        assert_string_equal(problem.value, r == NM_AGENT_E_INVALID ? "" : user.name);
        if (!strstr(problem.message, rows[i].part))
            fail_msg("row %zu: \"%s\" lacks \"%s\"", i, problem.message, rows[i].part);
    }
}

static void test_root_and_the_group_are_administrators(void **state)
{
    static const gid_t groups[] = {100, 200, 300};
    gid_t admin = 300;

    (void)state;
    assert_true(nm_users_is_admin(0, 0, NULL, 0, 0, NULL));
    assert_true(nm_users_is_admin(OWN, 5, NULL, 0, OWN, NULL));
    assert_false(nm_users_is_admin(ALICE, 300, groups, 3, 0, NULL)); /* the system has no admin group */
    assert_true(nm_users_is_admin(ALICE, 300, NULL, 0, 0, &admin));
    assert_true(nm_users_is_admin(ALICE, 5, groups, 3, 0, &admin));
    assert_false(nm_users_is_admin(ALICE, 5, groups, 2, 0, &admin));
    admin = 0;
    assert_false(nm_users_is_admin(ALICE, 5, groups, 3, 0, &admin));
}

static void test_names_of_users_are_looked_up(void **state)
{
    static const char *const none[] = {
        "",           "no-such-user", "4294967295", "4294967296", "99999999999999999999",
        "3999999999", "-1",           "0x0",        "root\n",     "../root"};
    _cleanup_(nm_user_done) struct nm_user u = {0};

    (void)state;
    assert_int_equal(nm_users_lookup("root", &u), 0);
    assert_int_equal(u.uid, 0);
    assert_int_equal(u.gid, 0);
    assert_string_equal(u.name, "root");
    assert_int_equal(u.home[0], '/');
    assert_int_equal(u.shell[0], '/');
    nm_user_done(&u);
    assert_int_equal(nm_users_lookup("0", &u), 0);
    assert_string_equal(u.name, "root");
    for (size_t i = 0; i < NM_ARRAY_SIZE(none); i++) {
        struct nm_user untouched = {.uid = 77};
        assert_int_equal(nm_users_lookup(none[i], &untouched), -ENOENT);
        assert_int_equal(untouched.uid, 77);
    }
}

static void test_the_admin_group_is_looked_up(void **state)
{
    gid_t gid = 77;

    (void)state;
    assert_int_equal(nm_users_lookup_group("no-such-group", &gid), -ENOENT);
    assert_int_equal(gid, 77);
    assert_int_equal(nm_users_lookup_group("root", &gid), 0);
    assert_int_equal(gid, 0);
}

static void test_the_check_of_the_configuration_reports_unknown_users(void **state)
{
    struct nm_config *config = *state;
    char own[16];
    struct nm_caller me = {geteuid(), getegid(), getpid(), true};
    struct nm_caller unknown_uid = {3999999999u, 3999999998u, 1, false}; /* there is no account with this uid */
    _cleanup_(nm_user_done) struct nm_user u = {0}, untouched = {.uid = 77};
    struct nm_problem problem = {0};

    /* nmd runs as the user of this test. An empty user name counts as no user name. */
    config->min_uid = geteuid();
    assert_int_equal(nm_users_check(config, &me, NULL, &u, &problem), 0);
    assert_int_equal(u.uid, geteuid());
    nm_user_done(&u);
    assert_int_equal(nm_users_check(config, &me, "", &u, &problem), 0);
    assert_int_equal(u.uid, geteuid());
    nm_user_done(&u);
    config->min_uid = geteuid() + 1;
    (void)snprintf(own, sizeof own, "%" PRIu32, (uint32_t)geteuid());
    assert_int_equal(nm_users_check(config, &me, NULL, &untouched, &problem), NM_AGENT_E_INVALID);
    assert_int_equal(nm_users_check(config, &me, "", &untouched, &problem), NM_AGENT_E_INVALID);
    assert_int_equal(nm_users_check(config, &me, own, &u, &problem), 0);
    nm_user_done(&u);

    assert_int_equal(nm_users_check(*state, &me, "no\x1bsuch", &untouched, &problem),
                     NM_AGENT_E_INVALID);
    assert_string_equal(problem.value, "no?such");
    assert_non_null(strstr(problem.message, "'no?such'"));
    assert_int_equal(nm_users_check(*state, &unknown_uid, "root", &untouched, &problem),
                     NM_AGENT_E_FORBIDDEN);
    assert_int_equal(untouched.uid, 77);

    if (geteuid() == 0) { /* without root nmd can't run as another user */
        assert_int_equal(nm_users_check(*state, &unknown_uid, NULL, &u, &problem), 0);
        assert_string_equal(u.name, "3999999999");
        assert_int_equal(u.gid, 3999999998u);
        assert_string_equal(u.home, "/");
    }
}

/* ---- failing name services -------------------------------------------------------------------- */

static int trouble; /* the error that look-ups return; 0: the real result */

int __real_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **ret);
int __wrap_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **ret);
int __real_getgrnam_r(const char *name, struct group *gr, char *buf, size_t size, struct group **ret);
int __wrap_getgrnam_r(const char *name, struct group *gr, char *buf, size_t size, struct group **ret);

int __wrap_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
    *ret = NULL;
    return trouble ?: __real_getpwnam_r(name, pw, buf, size, ret);
}

int __wrap_getgrnam_r(const char *name, struct group *gr, char *buf, size_t size, struct group **ret)
{
    *ret = NULL;
    return trouble ?: __real_getgrnam_r(name, gr, buf, size, ret);
}

/* Only certain errors mean that an account doesn't exist. If all errors meant this, a user would be refused as unknown
 * while LDAP is unavailable. */
static void test_a_failed_look_up_is_not_reported_as_a_missing_account(void **state)
{
    static const struct {
        int error, becomes;
    } rows[] = {{ENOENT, -ENOENT}, {ESRCH, -ENOENT}, {EBADF, -ENOENT}, {EPERM, -ENOENT},
                {EIO, -EIO},       {ERANGE, -ERANGE}, {ENOMEM, -ENOMEM}};
    struct nm_user untouched = {.uid = 77};
    gid_t gid = 77;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        trouble = rows[i].error;
        assert_int_equal(nm_users_lookup("root", &untouched), rows[i].becomes);
        assert_int_equal(nm_users_lookup_group("root", &gid), rows[i].becomes);
        assert_int_equal(untouched.uid, 77);
        assert_int_equal(gid, 77);
    }
    trouble = 0;
}

static int try_lookups(void *userdata)
{
    _cleanup_(nm_user_done) struct nm_user u = {0}, nobody = {0};
    struct nm_caller unknown_uid = {3999999999u, 3999999998u, 1, true};
    struct nm_problem problem = {0};
    struct nm_config *config = userdata;
    gid_t gid;
    int r = nm_users_lookup("root", &u);

    if (r >= 0)
        r = nm_users_lookup_group("root", &gid);
    if (r >= 0)
        r = nm_users_check(config, &unknown_uid, NULL, &nobody, &problem);
    return r == (geteuid() == 0 ? 0 : NM_AGENT_E_FORBIDDEN) ? 0 : r;
}

static void test_each_failed_allocation_is_an_error(void **state)
{
    assert_true(fail_each(try_lookups, *state) >= 7);
}

int main(void)
{
#define WITH_CONFIG(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_CONFIG(test_each_rule_for_users_is_applied),
        cmocka_unit_test(test_root_and_the_group_are_administrators),
        cmocka_unit_test(test_names_of_users_are_looked_up), cmocka_unit_test(test_the_admin_group_is_looked_up),
        WITH_CONFIG(test_the_check_of_the_configuration_reports_unknown_users),
        cmocka_unit_test(test_a_failed_look_up_is_not_reported_as_a_missing_account),
        WITH_CONFIG(test_each_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
