/* SPDX-License-Identifier: Apache-2.0 */

/* Users of containers: which user is chosen, and how nmd changes to this user and back, also if nmd lacks privileges or
 * memory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fail-nth.h"
#include "tests/unit/dirs-fixture.h"
#include "util/macros.h"
#include "util/parse.h"
#include "yarn/launch/as-user.h"
#include "yarn/launch/user.h"

/* Checks that no user is chosen, and that the message contains these words. */
static void assert_no_user(const struct nm_yarn_settings *s, const char *pattern_text, uid_t own, const char *submitter,
                           const char *words)
{
    struct nm_yarn_settings with_pattern = *s;
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL;
    char *message = NULL, *user = NULL;

    with_pattern.user_pattern = (char *)(uintptr_t)pattern_text;
    assert_int_equal(nm_yarn_user_compile(&with_pattern, &pattern, NULL), 0);
    assert_int_equal(nm_yarn_user_choose(&with_pattern, pattern, own, submitter, &user, &message), -EINVAL);
    if (!strstr(message, words))
        fail_msg("'%s' isn't in '%s'", words, message);
    assert_null(user);
    free(message);
}

static void test_an_invalid_pattern_for_user_names_is_refused(void **state)
{
    const struct nm_yarn_settings s = {.user_pattern = (char *)"[a-z", .limit_users = true};
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL;
    char *message = NULL;

    (void)state;
    assert_int_equal(nm_yarn_user_compile(&s, &pattern, &message), -EINVAL);
    assert_non_null(strstr(message, "nonsecure-mode.user-pattern: "));
    free(message);
}

/* Without an expression for the default, the result must be that of the expression. */
static void test_the_default_pattern_matches_all_valid_names(void **state)
{
    static const char first[] = "aZ0_.", more[] = "aZ0_.-@";
    const struct nm_yarn_settings s = {.user_pattern = (char *)NM_YARN_USER_PATTERN};
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL, *none = NULL;
    char name[3 + 64] = "";

    (void)state;
    assert_int_equal(nm_yarn_user_compile(&s, &none, NULL), 0);
    assert_null(none);
    assert_int_equal(nm_pattern_new(NM_YARN_USER_PATTERN, &pattern, NULL), 0);
    for (int i = 1; i < 256; i++)
        for (int k = 0; k < 256; k++) {
            char pair[] = {(char)i, (char)k, '\0'};

            if (nm_user_name_is_valid(pair))
                assert_int_equal(nm_pattern_match(pattern, pair), 1);
        }
    for (size_t length = 1; length < 66; length++)
        for (size_t i = 0; i < sizeof first + sizeof more; i++) {
            memset(name, more[i % (sizeof more - 1)], length);
            name[0] = first[i % (sizeof first - 1)];
            if (i % 2)
                name[length - 1] = '$';
            name[length] = '\0';
            if (nm_user_name_is_valid(name))
                assert_int_equal(nm_pattern_match(pattern, name), 1);
        }
}

/* The pattern uses Java's syntax, which POSIX regular expressions don't have. */
static void test_the_name_of_a_submitter_must_match_the_pattern(void **state)
{
    static const char pattern[] = "\\w+@(?!evil)[a-z&&[^x]]+", invalid[] = "is not a valid user name on this node",
                      missing[] = "this user doesn't exist on this node";
    const struct nm_yarn_settings s = {.limit_users = true, .local_user = (char *)"none"};

    (void)state;
    assert_no_user(&s, pattern, 0, "al@corp", missing);
    assert_no_user(&s, pattern, 0, "al@evil", invalid);
    assert_no_user(&s, pattern, 0, "al@cxrp", invalid);
}

static void test_a_container_runs_as_an_existing_user_other_than_root(void **state)
{
    struct nm_yarn_settings s = {.limit_users = true, .local_user = (char *)"none"};

    (void)state;
    assert_no_user(&s, ".*", 0, "alice",
                   "Containers would run as the user none, but this user doesn't exist on this node");
    s.local_user = (char *)"root";
    assert_no_user(&s, ".*", 0, "alice", "would run as root");
    s.allow_root = true;
    assert_no_user(&s, ".*", 4000000, "alice",
                   "nmd's own account (uid 4000000) has no name, so containers can't run as this account");
}

static void test_root_is_chosen_if_the_settings_allow_it(void **state)
{
    const struct nm_yarn_settings s = {
        .user_pattern = (char *)".*", .limit_users = true, .local_user = (char *)"root", .allow_root = true};
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL;
    char *user = NULL;

    (void)state;
    assert_int_equal(nm_yarn_user_compile(&s, &pattern, NULL), 0);
    assert_int_equal(nm_yarn_user_choose(&s, pattern, 0, "alice", &user, NULL), 0);
    assert_string_equal(user, "root");
    free(user);
}

static int choose_own(void *userdata)
{
    const struct nm_yarn_settings s = {.user_pattern = (char *)".*"};
    char *user = userdata, *message = NULL;
    int r = nm_yarn_user_choose(&s, userdata, geteuid() ?: 1, "alice", &user, &message);

    assert_null(message);
    if (r == 0)
        free(user);
    else
        assert_ptr_equal(user, userdata);
    return r;
}

static void test_without_memory_no_user_is_chosen(void **state)
{
    const struct nm_yarn_settings s = {.user_pattern = (char *)".*"};
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL;

    (void)state;
    assert_int_equal(nm_yarn_user_compile(&s, &pattern, NULL), 0);
    assert_int_equal(fail_each(choose_own, pattern), 3);
}

/* Drops or restores a capability, since nmd may have fewer capabilities than root. */
static void set_capability(unsigned capability, bool has)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    assert_int_equal(syscall(SYS_capget, &header, data), 0);
    if (has)
        data[0].effective |= 1u << capability;
    else
        data[0].effective &= ~(1u << capability);
    assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* If nmd has no right to become the user, the operation must fail rather than run as root. A change of user that was
 * made partially must be undone. */
static void test_without_the_right_to_become_the_user_no_file_is_made(void **state)
{
    static const unsigned capabilities[] = {CAP_SETGID, CAP_SETUID};
    struct fixture *w = *state;
    struct nm_yarn_saved_identity saved;

    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < NM_ARRAY_SIZE(capabilities); i++) {
        set_capability(capabilities[i], false);
        assert_int_equal(nm_yarn_become(&w->owner.as, &saved), -EPERM);
        assert_int_equal(nm_yarn_dirs_make_log(w->fd, &w->owner), -EPERM);
        assert_int_equal(nm_yarn_dirs_write(w->fd, &w->owner, "file", "x", 1, 0600), -EPERM);
        assert_int_equal(make_one_link(w->fd, &w->owner, "link", "/x"), -EPERM);
        assert_int_equal(nm_yarn_dirs_open_log(w->fd, &w->owner), -EPERM);
        set_capability(capabilities[i], true);
        assert_int_equal(file_uid(), 0);
        nm_yarn_return(&saved);
    }
    assert_false(exists(w, "file"));
    assert_false(exists(w, "link"));
    assert_int_equal(fchmod(w->fd, 0777), 0);
    assert_int_equal(nm_yarn_dirs_write(w->fd, &w->owner, "file", "x", 1, 0600), 0);
}

/* During the operation the groups are those of the user. Afterwards nmd's own groups are restored. */
static void test_the_groups_of_nmd_are_restored_after_an_operation(void **state)
{
    const gid_t groups[] = {54321, 54322}, own[] = {4, 7};
    struct fixture *w = *state;
    struct nm_identity who = w->owner.as;
    gid_t as_user[8] = {0}, afterwards[8] = {0};
    struct nm_yarn_saved_identity saved;
    int n_as_user, n_afterwards;

    if (geteuid() != 0)
        skip();
    who.groups = groups;
    who.n_groups = NM_ARRAY_SIZE(groups);
    assert_int_equal(setgroups(NM_ARRAY_SIZE(own), own), 0);
    assert_int_equal(nm_yarn_become(&who, &saved), 0);
    n_as_user = getgroups(NM_ARRAY_SIZE(as_user), as_user);
    nm_yarn_return(&saved);
    n_afterwards = getgroups(NM_ARRAY_SIZE(afterwards), afterwards);
    assert_int_equal(setgroups(0, NULL), 0);
    assert_int_equal(n_as_user, NM_ARRAY_SIZE(groups));
    assert_memory_equal(as_user, groups, sizeof groups);
    assert_int_equal(n_afterwards, NM_ARRAY_SIZE(own));
    assert_memory_equal(afterwards, own, sizeof own);
}

static void test_a_process_that_is_not_root_can_not_become_another_user(void **state)
{
    struct fixture *w = *state;
    const uid_t own = geteuid();
    struct nm_yarn_saved_identity saved;
    int as_own, as_other;

    assert_int_equal(nm_yarn_become(&(struct nm_identity){.uid = own, .gid = getegid()}, &saved), 0);
    nm_yarn_return(&saved);
    if (own == 0)
        assert_int_equal(seteuid(w->owner.as.uid), 0);
    as_own = nm_yarn_become(&w->owner.as, &saved);
    nm_yarn_return(&saved);
    as_other = nm_yarn_become(&(struct nm_identity){.uid = w->owner.as.uid + 1, .gid = w->owner.as.gid}, &saved);
    nm_yarn_return(&saved);
    if (own == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(as_own, 0);
    assert_int_equal(as_other, -EPERM);
}

static int become(void *userdata)
{
    struct fixture *w = userdata;
    struct nm_yarn_saved_identity saved;
    int r = nm_yarn_become(&w->owner.as, &saved);

    assert_int_equal(file_uid(), r == 0 ? w->owner.as.uid : geteuid());
    nm_yarn_return(&saved);
    assert_int_equal(file_uid(), geteuid());
    return r;
}

static void test_without_memory_the_user_is_not_changed(void **state)
{
    assert_int_equal(fail_each(become, *state), geteuid() == 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dirs_fixture_set_up, dirs_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_invalid_pattern_for_user_names_is_refused),
        TEST(test_the_default_pattern_matches_all_valid_names),
        TEST(test_the_name_of_a_submitter_must_match_the_pattern),
        TEST(test_a_container_runs_as_an_existing_user_other_than_root),
        TEST(test_root_is_chosen_if_the_settings_allow_it),
        TEST(test_without_memory_no_user_is_chosen),
        TEST(test_without_the_right_to_become_the_user_no_file_is_made),
        TEST(test_the_groups_of_nmd_are_restored_after_an_operation),
        TEST(test_a_process_that_is_not_root_can_not_become_another_user),
        TEST(test_without_memory_the_user_is_not_changed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
