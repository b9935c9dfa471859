/* SPDX-License-Identifier: Apache-2.0 */

/* util/become.h. Each change of user is made in a child process, which returns its /proc/self/status. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "util/become.h"
#include "util/fileio.h"
#include "util/macros.h"

#define USER 65534
#define GROUP 65533
#define KEPT (UINT64_C(1) << CAP_DAC_READ_SEARCH)

static const gid_t two_groups[] = {GROUP, 54321};
static const struct nm_identity other = {USER, GROUP, two_groups, NM_ARRAY_SIZE(two_groups)};

/* Returns the number of the session keyring, which only its possessor can read. -1: the kernel has no keys. */
static long session_keyring(void)
{
    return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
}

/* Calls nm_become() in a child that has other groups than the user, as nmd has, and returns the result. *status: the
 * child's /proc/self/status after the call, and a line KeepCaps with the value of PR_GET_KEEPCAPS. */
static int in_child(const struct nm_identity *who, const struct nm_become_options *options, char status[4096])
{
    int pair[2], code;
    ssize_t n, size = 0;
    pid_t pid;

    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char text[4096] = "";
        size_t used;
        int r;

        if (geteuid() == 0)
            (void)setgroups(1, (gid_t[]){4});
        r = nm_become(who, options);
        (void)nm_read_file_at(AT_FDCWD, "/proc/self/status", text, sizeof text, NULL);
        used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "KeepCaps:\t%d\n", prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0));
        (void)nm_write_all(pair[1], text, strlen(text));
        _exit(-r & 0xff);
    }
    (void)close(pair[1]);
    while (size < 4095 && (n = read(pair[0], status + size, 4095 - (size_t)size)) > 0)
        size += n;
    status[size] = '\0';
    (void)close(pair[0]);
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_true(WIFEXITED(code));
    return -WEXITSTATUS(code);
}

static void assert_line(const char *status, const char *line)
{
    if (!strstr(status, line))
        fail_msg("no line '%s' in\n%s", line, status);
}

/* The child has all ids and groups of the user, and no privilege of root. */
static void test_a_child_has_all_ids_of_the_user_and_no_privilege(void **state)
{
    char status[4096];

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(in_child(&other, &(struct nm_become_options){.no_new_privs = true}, status), 0);
    assert_line(status, "\nUid:\t65534\t65534\t65534\t65534\n");
    assert_line(status, "\nGid:\t65533\t65533\t65533\t65533\n");
    assert_line(status, "\nGroups:\t54321 65533 \n");
    assert_line(status, "\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                        "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n");
    /* set-user-ID programs still work without no_new_privs */
    assert_int_equal(in_child(&other, &(struct nm_become_options){0}, status), 0);
    assert_line(status, "\nCapEff:\t0000000000000000\n");
    assert_line(status, "\nNoNewPrivs:\t0\n");
    assert_null(strstr(status, "\nCapBnd:\t0000000000000000\n"));
}

static void test_a_capability_that_is_listed_as_kept_is_kept(void **state)
{
    char status[4096];

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(
        in_child(&other, &(struct nm_become_options){.no_new_privs = true, .kept_capabilities = KEPT}, status), 0);
    assert_line(status, "\nUid:\t65534\t65534\t65534\t65534\n");
    assert_line(status, "\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000004\nCapEff:\t0000000000000004\n");
    assert_line(status, "\nKeepCaps:\t0\n"); /* nm-shuffle executes no program afterwards */
}

/* A capability that doesn't exist can't be kept, so the call fails. */
static void test_a_capability_that_does_not_exist_can_not_be_kept(void **state)
{
    const struct nm_become_options options = {.kept_capabilities = UINT64_C(1) << 62};
    char status[4096];

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(in_child(&other, &options, status), -EPERM);
}

static void test_root_can_become_root(void **state)
{
    const struct nm_identity root = {0, 0, (const gid_t[]){0}, 1};
    char status[4096];

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(in_child(&root, &(struct nm_become_options){.no_new_privs = true}, status), 0);
    assert_line(status, "\nGroups:\t0 \n");
    assert_null(strstr(status, "\nCapEff:\t0000000000000000\n"));
}

/* Becomes that user in a child. A seccomp filter refuses the system calls for keys with this errno (0: no filter).
 * Returns the child's session keyring; -2: the change of user failed. */
static long keyring_of(const struct nm_identity *who, unsigned refusal)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* loads the number of the system call */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refusal),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {NM_ARRAY_SIZE(lines), lines};
    long number = 0;
    int pair[2];
    pid_t pid;

    assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (refusal && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) < 0)
            _exit(1);
        number = nm_become(who, &(struct nm_become_options){.no_new_privs = true}) < 0 ? -2 : session_keyring();
        _exit(write(pair[1], &number, sizeof number) != sizeof number);
    }
    assert_int_equal(read(pair[0], &number, sizeof number), sizeof number);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(pair[0]);
    (void)close(pair[1]);
    return number;
}

/* Each change of user makes a new session keyring, also for root. The change succeeds also if the kernel has no
 * keyrings. */
static void test_each_change_of_user_makes_a_session_keyring(void **state)
{
    const struct nm_identity root = {0, 0, (const gid_t[]){0}, 1};
    long before, users, roots;

    (void)state;
    if (geteuid() != 0 || syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
        skip();
    before = session_keyring();
    users = keyring_of(&other, 0);
    roots = keyring_of(&root, 0);
    assert_true(before > 0 && users > 0 && roots > 0);
    assert_true(users != before && roots != before);
    assert_int_equal(session_keyring(), before);
    assert_int_equal(keyring_of(&other, ENOSYS), -1);
    assert_int_equal(keyring_of(&other, EPERM), -1);
    assert_int_equal(keyring_of(&root, EDQUOT), -1);
}

/* Without root, a process can only become the user that it already runs as. */
static void test_without_root_a_process_can_only_become_its_own_user(void **state)
{
    struct nm_identity self = {geteuid() == 0 ? USER : geteuid(), getegid(), NULL, 0}, others_group = self;
    const bool is_root = geteuid() == 0;
    int as_self, as_other, with_other_group;
    char status[4096];

    (void)state;
    others_group.gid++;
    if (is_root)
        assert_int_equal(seteuid(USER), 0);
    as_self = in_child(&self, &(struct nm_become_options){.no_new_privs = true}, status);
    with_other_group = in_child(&others_group, &(struct nm_become_options){0}, (char[4096]){0});
    self.uid++;
    as_other = in_child(&self, &(struct nm_become_options){0}, (char[4096]){0});
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(as_self, 0);
    assert_line(status, "\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
    assert_line(status, "\nNoNewPrivs:\t1\n");
    assert_int_equal(with_other_group, -EPERM);
    assert_int_equal(as_other, -EPERM);
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

static int n_in_file = -1; /* number of groups that the name service returns; -1: the real groups */

int __real_getgrouplist(const char *user, gid_t group, gid_t *groups, int *n);
int __wrap_getgrouplist(const char *user, gid_t group, gid_t *groups, int *n);

int __wrap_getgrouplist(const char *user, gid_t group, gid_t *groups, int *n)
{
    const int room = *n;

    if (n_in_file < 0)
        return __real_getgrouplist(user, group, groups, n);
    *n = n_in_file;
    for (int i = 0; i < n_in_file && i < room; i++)
        groups[i] = group + (gid_t)i;
    return room < n_in_file ? -1 : n_in_file;
}

static void test_the_groups_of_a_user_are_set(void **state)
{
    _cleanup_free_ gid_t *root = NULL, *unknown = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal(nm_groups_find("root", 0, &root, &n), 0);
    assert_true(n >= 1);
    assert_int_equal(root[0], 0);
    assert_int_equal(nm_groups_find_uid(3999999999u, 77, &unknown, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(unknown[0], 77);
}

/* All groups of a user are found, also if they exceed the size of the first buffer. */
static void test_all_groups_of_a_user_are_found(void **state)
{
    static const unsigned numbers[] = {31, 32, 33, 640, 65536};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(numbers); i++) {
        _cleanup_free_ gid_t *groups = NULL;
        size_t n = 0;

        n_in_file = (int)numbers[i];
        assert_int_equal(nm_groups_find("root", 7, &groups, &n), 0);
        assert_int_equal(n, numbers[i]);
        assert_int_equal(groups[n - 1], 7 + n - 1);
    }
    n_in_file = -1;
}

static void test_more_than_65536_groups_of_a_user_are_an_error(void **state)
{
    gid_t *groups = NULL;
    size_t n = 7;

    (void)state;
    n_in_file = 65537;
    assert_int_equal(nm_groups_find("root", 0, &groups, &n), -E2BIG);
    n_in_file = -1;
    assert_null(groups);
    assert_int_equal(n, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_has_all_ids_of_the_user_and_no_privilege),
        cmocka_unit_test(test_a_capability_that_is_listed_as_kept_is_kept),
        cmocka_unit_test(test_without_root_a_process_can_only_become_its_own_user),
        cmocka_unit_test(test_a_capability_that_does_not_exist_can_not_be_kept),
        cmocka_unit_test(test_root_can_become_root), cmocka_unit_test(test_the_groups_of_a_user_are_set),
        cmocka_unit_test(test_all_groups_of_a_user_are_found),
        cmocka_unit_test(test_more_than_65536_groups_of_a_user_are_an_error),
        cmocka_unit_test(test_each_change_of_user_makes_a_session_keyring),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
