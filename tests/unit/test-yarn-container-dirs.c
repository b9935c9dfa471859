/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The environment of containers: their users and their directories. With disks that fail at each place, missing users,
 * directories of other users, and missing privileges of nmd.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fail-nth.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "yarn/launch/as-user.h"
#include "yarn/launch/caches.h"
#include "yarn/launch/container-dirs.h"
#include "yarn/launch/user.h"

struct world {
    char root[40], path[PATH_MAX];
    int fd;
    struct nm_yarn_tenant tenant;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    const struct passwd *pw = geteuid() == 0 ? getpwnam("nobody") : getpwuid(geteuid());

    assert_non_null(w);
    assert_non_null(pw);
    (void)strcpy(w->root, "/tmp/nmd-test-place.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(chmod(w->root, 0755), 0);
    w->fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->tenant = (struct nm_yarn_tenant){"alice", "application_1", "container_1", {pw->pw_uid, pw->pw_gid, NULL, 0}};
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    (void)close(w->fd);
    (void)remove_tree(w->root);
    free(w);
    return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static const char *in(struct world *w, const char *name)
{
    (void)snprintf(w->path, sizeof w->path, "%s/%s", w->root, name);
    return w->path;
}

static bool is_there(const struct world *w, const char *name)
{
    return faccessat(w->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- users of containers ------------------------------------------------------------------ */

static void test_accounts(void **state)
{
    struct nm_yarn_settings s = {.user_pattern = (char *)"[a-z", .limit_users = true, .local_user = (char *)"none"};
    char *message = NULL, *user = NULL;
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL;

    (void)state;
    assert_int_equal(nm_yarn_user_compile(&s, &pattern, &message), -EINVAL);
    assert_non_null(strstr(message, "nonsecure-mode.user-pattern: "));
    free(message);
    s.user_pattern = (char *)"\\w+@(?!evil)[a-z&&[^x]]+"; /* a Java pattern that POSIX's syntax doesn't have */
    assert_int_equal(nm_yarn_user_compile(&s, &pattern, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"al@corp", "al@evil", "al@cxrp"};

        assert_int_equal(nm_yarn_user_choose(&s, pattern, 0, names[i], &user, &message), -EINVAL);
        assert_int_equal(!strstr(message, "is not a valid user name on this node"), i == 0);
        free(message);
    }
    pattern = nm_pattern_free(pattern);
    s.user_pattern = (char *)".*";
    assert_int_equal(nm_yarn_user_compile(&s, &pattern, NULL), 0);
    assert_int_equal(nm_yarn_user_choose(&s, pattern, 0, "alice", &user, &message), -EINVAL);
    assert_string_equal(message, "Containers would run as the user none, but this user doesn't exist on this node");
    free(message);
    s.local_user = (char *)"root";
    assert_int_equal(nm_yarn_user_choose(&s, pattern, 0, "alice", &user, &message), -EINVAL);
    assert_non_null(strstr(message, "would run as root"));
    free(message);
    assert_null(user);
    s.allow_root = true;
    assert_int_equal(nm_yarn_user_choose(&s, pattern, 0, "alice", &user, NULL), 0);
    assert_string_equal(user, "root");
    free(user);
    user = NULL;
    assert_int_equal(nm_yarn_user_choose(&s, pattern, 4000000, "alice", &user, &message), -EINVAL);
    assert_string_equal(message,
                        "nmd's own account (uid 4000000) has no name, so containers can't run as this account");
    free(message);
    assert_null(user);
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

static void test_own_account(void **state)
{
    const struct nm_yarn_settings s = {.user_pattern = (char *)".*"};
    _cleanup_(nm_pattern_freep) struct nm_pattern *pattern = NULL;

    (void)state;
    assert_int_equal(nm_yarn_user_compile(&s, &pattern, NULL), 0);
    assert_int_equal(fail_each(choose_own, pattern), 3);
}

/* Drops or restores a capability, since nmd may have fewer of them than root. */
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

static uid_t file_uid(void)
{
    return (uid_t)setfsuid((uid_t)-1);
}

static unsigned n_become; /* changes of the file system uid */

int __real_setfsuid(uid_t uid);
int __wrap_setfsuid(uid_t uid);

int __wrap_setfsuid(uid_t uid)
{
    n_become++;
    return __real_setfsuid(uid);
}

static int place_link(int dir_fd, const struct nm_yarn_tenant *t, const char *name, const char *target)
{
    size_t made;

    return nm_yarn_dirs_links(dir_fd, t, &(struct nm_yarn_link){target, name}, 1, &made);
}

/* Without the right to become the user, the operation must fail instead of running as root, and a partial change
 * must be undone. */
static void test_no_right_to_become(void **state)
{
    static const unsigned capabilities[] = {CAP_SETGID, CAP_SETUID};
    struct world *w = *state;
    struct nm_yarn_self self;

    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < NM_ARRAY_SIZE(capabilities); i++) {
        set_capability(capabilities[i], false);
        assert_int_equal(nm_yarn_become(&w->tenant.as, &self), -EPERM);
        assert_int_equal(nm_yarn_dirs_make_log(w->fd, &w->tenant), -EPERM);
        assert_int_equal(nm_yarn_dirs_write(w->fd, &w->tenant, "file", "x", 1, 0600), -EPERM);
        assert_int_equal(place_link(w->fd, &w->tenant, "link", "/x"), -EPERM);
        assert_int_equal(nm_yarn_dirs_open_log(w->fd, &w->tenant), -EPERM);
        set_capability(capabilities[i], true);
        assert_int_equal(file_uid(), 0);
        nm_yarn_return(&self);
    }
    assert_false(is_there(w, "file"));
    assert_false(is_there(w, "link"));
    assert_int_equal(fchmod(w->fd, 0777), 0);
    assert_int_equal(nm_yarn_dirs_write(w->fd, &w->tenant, "file", "x", 1, 0600), 0);
}

/* The user's groups are set for the operation, and nmd's own groups are restored. */
static void test_groups(void **state)
{
    const gid_t groups[] = {54321, 54322}, own[] = {4, 7};
    struct world *w = *state;
    struct nm_identity who = w->tenant.as;
    gid_t as_user[8] = {0}, afterwards[8] = {0};
    struct nm_yarn_self self;
    int n_as_user, n_afterwards;

    if (geteuid() != 0)
        skip();
    who.groups = groups;
    who.n_groups = NM_ARRAY_SIZE(groups);
    assert_int_equal(setgroups(NM_ARRAY_SIZE(own), own), 0);
    assert_int_equal(nm_yarn_become(&who, &self), 0);
    n_as_user = getgroups(NM_ARRAY_SIZE(as_user), as_user);
    nm_yarn_return(&self);
    n_afterwards = getgroups(NM_ARRAY_SIZE(afterwards), afterwards);
    assert_int_equal(setgroups(0, NULL), 0);
    assert_int_equal(n_as_user, NM_ARRAY_SIZE(groups));
    assert_memory_equal(as_user, groups, sizeof groups);
    assert_int_equal(n_afterwards, NM_ARRAY_SIZE(own));
    assert_memory_equal(afterwards, own, sizeof own);
}

/* A process without root can't become another user. */
static void test_not_root(void **state)
{
    struct world *w = *state;
    const uid_t own = geteuid();
    struct nm_yarn_self self;
    int as_own, as_other;

    assert_int_equal(nm_yarn_become(&(struct nm_identity){.uid = own, .gid = getegid()}, &self), 0);
    nm_yarn_return(&self);
    if (own == 0)
        assert_int_equal(seteuid(w->tenant.as.uid), 0);
    as_own = nm_yarn_become(&w->tenant.as, &self);
    nm_yarn_return(&self);
    as_other = nm_yarn_become(&(struct nm_identity){.uid = w->tenant.as.uid + 1, .gid = w->tenant.as.gid}, &self);
    nm_yarn_return(&self);
    if (own == 0)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(as_own, 0);
    assert_int_equal(as_other, -EPERM);
}

static int become(void *userdata)
{
    struct world *w = userdata;
    struct nm_yarn_self self;
    int r = nm_yarn_become(&w->tenant.as, &self);

    assert_int_equal(file_uid(), r == 0 ? w->tenant.as.uid : geteuid());
    nm_yarn_return(&self);
    assert_int_equal(file_uid(), geteuid());
    return r;
}

static void test_no_memory_to_become(void **state)
{
    assert_int_equal(fail_each(become, *state), geteuid() == 0);
}

/* ---- the directories of a node ------------------------------------------------------------ */

static void count_bad(const struct nm_yarn_dir *d, void *userdata)
{
    assert_non_null(d->name);
    assert_int_not_equal(*d->why, '\0');
    (*(unsigned *)userdata)++;
}

/* Returns how many of the directories are reported as bad. */
static unsigned look_told(const char *first, const char *second)
{
    char *const names[] = {(char *)first, (char *)second, NULL};
    unsigned n = 0;

    (void)nm_yarn_dirs_look(names, count_bad, &n, NULL);
    return n;
}

static int look(const char *first, const char *second, char **ret_message)
{
    char *const names[] = {(char *)first, (char *)second, NULL};

    return nm_yarn_dirs_look(names, NULL, NULL, ret_message);
}

/* The check reports the result of a start without creating anything. */
static void test_look(void **state)
{
    struct world *w = *state;
    char *message = NULL, other[PATH_MAX], file[PATH_MAX];

    (void)strcpy(file, in(w, "file"));
    assert_int_equal(nm_write_file_atomic_at(w->fd, "file", "x", 0600), 0);
    (void)strcpy(other, in(w, "file/below"));
    assert_int_equal(look(file, other, &message), -ENOTDIR);
    assert_non_null(strstr(message, file));
    assert_non_null(strstr(message, "Not a directory"));
    free(message);
    assert_int_equal(look(file, in(w, "new/deep"), NULL), 0); /* one usable directory is enough */
    assert_int_equal(look_told(file, other), 0); /* two bad ones are an error, without a report per directory */
    assert_int_equal(look_told(other, w->root), 1);
    assert_int_equal(look_told(w->root, other), 1);
    assert_int_equal(look_told(w->root, in(w, "new/deep")), 0);
    assert_false(is_there(w, "new"));
    assert_int_equal(look(w->root, NULL, NULL), 0);
    assert_int_equal(look(NULL, NULL, NULL), 0);
    assert_int_equal(mkdir(in(w, "open"), 0700), 0);
    assert_int_equal(chmod(w->path, 0777), 0);
    assert_int_equal(look(w->path, NULL, &message), -ENOTDIR);
    assert_non_null(strstr(message, "a user other than root and nmd's own can change it or a directory above it"));
    free(message);
}

/* Opens the directories, which also checks them. */
static int open_dirs(const char *first, const char *second, struct nm_yarn_dirs *ret, char **ret_message)
{
    static const struct nm_yarn_settings settings;
    char *const names[] = {(char *)first, (char *)second, NULL};

    return nm_yarn_dirs_open(&settings, names, false, ret, ret_message);
}

static void test_open(void **state)
{
    struct world *w = *state;
    struct nm_yarn_dirs dirs = {.n = 7};
    char file[PATH_MAX], *message = NULL;
    struct stat st;

    (void)umask(077);
    (void)strcpy(file, in(w, "file/below"));
    assert_int_equal(nm_write_file_atomic_at(w->fd, "file", "x", 0600), 0);
    assert_int_equal(open_dirs(file, NULL, &dirs, &message), -ENOTDIR);
    assert_non_null(strstr(message, "file/below can't be used: Not a directory"));
    free(message);
    assert_int_equal(dirs.n, 7);
    assert_int_equal(open_dirs(file, in(w, "good/deep"), &dirs, NULL), 0);
    assert_int_equal(stat(w->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_false(dirs.all[0].is_good);
    assert_string_equal(dirs.all[0].why, "Not a directory");
    assert_true(dirs.all[1].is_good);
    assert_int_equal(nm_yarn_dirs_count_good(&dirs), 1);
    assert_ptr_equal(nm_yarn_dirs_next(&dirs, NULL), &dirs.all[1]);
    assert_null(nm_yarn_dirs_next(&dirs, dirs.all[1].name));
    nm_yarn_dirs_done(&dirs);
}

/* Other users could replace a directory below one that they can write to. */
static void test_open_below_strangers(void **state)
{
    struct world *w = *state;
    struct nm_yarn_dirs dirs;
    char deep[PATH_MAX], *message = NULL;

    assert_int_equal(mkdir(in(w, "shared"), 0700), 0);
    assert_int_equal(mkdir(in(w, "shared/own"), 0755), 0);
    assert_int_equal(chmod(in(w, "shared"), 0777), 0);
    assert_int_equal(open_dirs(in(w, "shared/own"), NULL, &dirs, &message), -ENOTDIR);
    assert_non_null(strstr(message, "a user other than root and nmd's own can change it or a directory above it"));
    free(message);
    assert_int_equal(chmod(in(w, "shared"), 01777), 0); /* as in /tmp, where the sticky bit prevents that */
    assert_int_equal(open_dirs(in(w, "shared/own"), NULL, &dirs, NULL), 0);
    nm_yarn_dirs_done(&dirs);
    if (geteuid() == 0) {
        assert_int_equal(chown(in(w, "shared"), w->tenant.as.uid, w->tenant.as.gid), 0);
        assert_int_equal(open_dirs(in(w, "shared/own"), NULL, &dirs, NULL), -ENOTDIR);
    }
    (void)strcpy(deep, w->root);
    for (int i = 0; i < 64; i++)
        (void)strcat(deep, "/x");
    assert_int_equal(open_dirs(deep, NULL, &dirs, &message), -ENOTDIR);
    assert_non_null(strstr(message, "Too many levels"));
    free(message);
}

/* Each attempt uses a new directory, since an existing one isn't created. */
struct opening {
    struct world *w;
    unsigned n;
};

static int open_one(struct opening *o)
{
    struct nm_yarn_dirs dirs = {.n = 7};
    char *message = NULL;
    char name[40];
    int r;

    (void)snprintf(name, sizeof name, "dir-%u/deep", o->n++);
    r = open_dirs(in(o->w, name), NULL, &dirs, &message);
    assert_true(r == -ENOTDIR || !message);
    free(message);
    if (r < 0) {
        assert_int_equal(dirs.n, 7);
        return r;
    }
    assert_int_equal(dirs.n, 1);
    assert_true(dirs.all[0].fd >= 0);
    assert_true(dirs.all[0].is_good || *dirs.all[0].why);
    nm_yarn_dirs_done(&dirs);
    return 0;
}

static int open_without_memory(void *userdata)
{
    return open_one(userdata);
}

static void open_with_failures(void *userdata)
{
    int r = open_one(userdata);

    assert_true(r == 0 || r == -ENOTDIR);
}

/* A disk may fail, and the others are used. A temporary lack of memory doesn't count as a failed disk. */
static void test_open_failures(void **state)
{
    struct opening o = {.w = *state};

    assert_true(fail_each(open_without_memory, &o) >= 2);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, open_with_failures, &o) > 10);
}

/* A disk fails after it was good. */
static void test_disk_fails(void **state)
{
    struct nm_yarn_settings s = {.checks_disks = true};
    struct world *w = *state;
    struct nm_yarn_dir dir = {.name = w->root, .fd = w->fd};
    struct nm_yarn_dirs dirs = {.all = &dir, .n = 1, .settings = &s};
    unsigned failures = 0;

    for (;; failures++) {
        dirs.checked_usec = 0;
        fail_nth(FAIL_FILES, failures + 1);
        nm_yarn_dirs_check(&dirs);
        if (!fail_stop())
            break;
        assert_false(dir.is_good);
        assert_non_null(strstr(dir.why, "Input/output error"));
        assert_null(nm_yarn_dirs_next(&dirs, NULL));
    }
    assert_int_equal(failures, 4);
    assert_true(dir.is_good); /* after the failures */
    /* /proc holds no files of users. The change is reported, whatever the former reason was. */
    dir.fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dirs.checked_usec = 0;
    nm_yarn_dirs_check(&dirs);
    assert_int_equal(close(dir.fd), 0);
    assert_false(dir.is_good);
    assert_string_equal(dir.why, "its file system can't store files");
}

static char said[400];

static void keep_said(int level, const char *sentence)
{
    (void)level;
    (void)snprintf(said, sizeof said, "%s", sentence);
}

/* Starts a process that locks the directory until that process ends. */
static pid_t lock_elsewhere(const char *name)
{
    char *const names[] = {(char *)name, NULL};
    int ready[2];
    char byte = 0;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        byte = nm_yarn_dirs_lock(names, keep_said, NULL) == 0;
        (void)!write(ready[1], &byte, 1);
        (void)alarm(60);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void end_elsewhere(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct telling {
    unsigned n;
    bool is_good;
    char why[200];
};

static void on_told(const struct nm_yarn_dir *d, void *userdata)
{
    struct telling *t = userdata;

    t->n++;
    t->is_good = d->is_good;
    (void)snprintf(t->why, sizeof t->why, "%s", d->why);
}

static unsigned look_now(struct nm_yarn_dirs *dirs, struct telling *t)
{
    t->n = 0;
    dirs->checked_usec = 0;
    nm_yarn_dirs_check(dirs);
    nm_yarn_dirs_tell(dirs, on_told, t);
    return t->n;
}

/* A disk that appears later is locked at that time. Each change is reported once. */
static void test_joins_later(void **state)
{
    const struct nm_yarn_settings s = {.checks_disks = true};
    struct world *w = *state;
    char late[PATH_MAX], first[PATH_MAX], *names[] = {first, late, NULL}, *message = NULL;
    struct nm_yarn_dirs dirs;
    struct telling t;
    pid_t other;

    (void)strcpy(first, in(w, "first"));
    (void)strcpy(late, in(w, "late"));
    assert_int_equal(nm_write_file_atomic_at(w->fd, "late", "x", 0600), 0);
    assert_int_equal(nm_yarn_dirs_open(&s, names, true, &dirs, NULL), 0);
    assert_int_equal(look_now(&dirs, &t), 1);
    assert_string_equal(t.why, "Not a directory");
    assert_int_equal(look_now(&dirs, &t), 0);
    assert_int_equal(unlink(late), 0);
    other = lock_elsewhere(late);
    assert_int_equal(look_now(&dirs, &t), 0); /* the directory is still bad, for another reason */
    (void)snprintf(t.why, sizeof t.why, "another nmd (pid %d) uses it", (int)other);
    assert_ptr_equal(strstr(dirs.all[1].why, t.why), dirs.all[1].why);
    assert_true(dirs.all[1].fd < 0);
    end_elsewhere(other);
    assert_int_equal(look_now(&dirs, &t), 1);
    assert_true(t.is_good);
    other = fork(); /* another process can't lock it from now on */
    if (other == 0)
        _exit(nm_yarn_dirs_lock(names + 1, keep_said, &message) == -EBUSY && strstr(message, late) &&
                      strstr(said, "waiting 2 s") && strstr(said, late) ? 0 : 1);
    assert_int_equal(waitpid(other, (int *)(void *)&t.n, 0), other);
    assert_int_equal(t.n, 0);
    /* The directory may also be replaced by a mount or be moved. */
    assert_int_equal(rename(late, in(w, "away")), 0);
    assert_int_equal(look_now(&dirs, &t), 1);
    assert_false(t.is_good);
    assert_non_null(strstr(t.why, "it was removed"));
    assert_int_equal(rename(in(w, "away"), late), 0);
    assert_int_equal(look_now(&dirs, &t), 1);
    assert_true(t.is_good);
    nm_yarn_dirs_done(&dirs);
}

/* ---- the directories of a container ------------------------------------------------------- */

/* Makes all directories and files as for the start of a container. Returns 0 or the first error. */
static int make(struct world *w)
{
    int r = nm_yarn_dirs_make_local(w->fd, &w->tenant, true);
    _cleanup_close_ int work = r < 0 ? r : nm_yarn_dirs_open_work(w->fd, &w->tenant);

    if (work < 0)
        return work;
    r = nm_yarn_dirs_write(work, &w->tenant, "script", "words", 5, 0700);
    if (r >= 0)
        r = place_link(work, &w->tenant, "sub/link", "/target");
    if (r >= 0)
        r = nm_yarn_dirs_make_log(w->fd, &w->tenant);
    return r;
}

#define WORK "usercache/alice/appcache/application_1/container_1"

static void check_made(struct world *w)
{
    char text[20];
    struct stat st;

    assert_int_equal(fstatat(w->fd, WORK "/tmp", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_uid, w->tenant.as.uid);
    assert_int_equal(fstatat(w->fd, "application_1/container_1", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_uid, w->tenant.as.uid);
    assert_int_equal(nm_read_file_at(w->fd, WORK "/script", text, sizeof text, NULL), 0);
    assert_string_equal(text, "words");
    assert_int_equal(fstatat(w->fd, WORK "/script", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_true(is_there(w, WORK "/sub/link"));
}

static void clear(struct world *w)
{
    (void)remove_tree(in(w, "usercache"));
    (void)remove_tree(in(w, "application_1"));
}

/* Without an error, all must have been created. */
static void make_with_failures(void *userdata)
{
    struct world *w = userdata;
    int r = make(w);
    unsigned kinds = fail_pause();

    assert_int_equal(file_uid(), geteuid()); /* the identity is restored after each failure */
    if (r >= 0)
        check_made(w);
    clear(w);
    fail_resume(kinds);
}

static void test_make_failures(void **state)
{
    struct world *w = *state;

    assert_int_equal(make(w), 0);
    check_made(w);
    assert_int_equal(make(w), 0); /* the existing files are replaced */
    clear(w);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN | FAIL_MEMORY, make_with_failures, w) > 20);
}

static void test_links(void **state)
{
    struct world *w = *state;
    char target[PATH_MAX];
    ssize_t n;

    assert_int_equal(fchmod(w->fd, 0777), 0);
    assert_int_equal(place_link(w->fd, &w->tenant, "/etc/x", "/t"), -EINVAL);
    assert_int_equal(place_link(w->fd, &w->tenant, "..", "/t"), -EINVAL);
    assert_int_equal(place_link(w->fd, &w->tenant, "a/../b", "/t"), -EINVAL);
    assert_int_equal(place_link(w->fd, &w->tenant, "..a/b..//c", "/t"), 0);
    assert_true(is_there(w, "..a/b../c"));
    assert_int_equal(place_link(w->fd, &w->tenant, "..a/b../c", "/other"), 0);
    n = readlinkat(w->fd, "..a/b../c", target, sizeof target - 1);
    target[NM_MAX(n, 0)] = '\0';
    assert_string_equal(target, "/other");
    /* A directory isn't replaced, and no temporary file is left. */
    assert_int_equal(place_link(w->fd, &w->tenant, "..a", "/t"), -EISDIR);
    assert_int_equal(place_link(w->fd, &w->tenant, "..a/b../c/d", "/t"), -ENOTDIR);
    assert_int_equal(unlinkat(w->fd, "..a/b../c", 0), 0);
    assert_int_equal(unlinkat(w->fd, "..a/b..", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(w->fd, "..a", AT_REMOVEDIR), 0);
    assert_int_equal(rmdir(w->root), 0);
    assert_int_equal(mkdir(w->root, 0755), 0);
}

/* nmd becomes the user once for all links, and stops at the first invalid one. */
static void test_many_links(void **state)
{
    enum { MANY = 100 };
    struct world *w = *state;
    struct nm_yarn_link links[MANY];
    char names[MANY][8];
    size_t made;

    assert_int_equal(fchmod(w->fd, 0777), 0);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "%zu", i);
        links[i] = (struct nm_yarn_link){"/t", names[i]};
    }
    n_become = 0;
    assert_int_equal(nm_yarn_dirs_links(w->fd, &w->tenant, links, MANY, &made), 0);
    assert_int_equal(made, MANY);
    if (geteuid() == 0)
        assert_int_equal(n_become, 3); /* become, query, return */
    assert_true(is_there(w, "99"));
    links[7].name = "../7";
    assert_int_equal(nm_yarn_dirs_links(w->fd, &w->tenant, links, MANY, &made), -EINVAL);
    assert_int_equal(made, 7);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(unlinkat(w->fd, names[i], 0), 0);
}

static void test_owners(void **state)
{
    struct world *w = *state;
    uid_t uid = 7;
    gid_t gid = 7;

    assert_int_equal(nm_yarn_dirs_owner(w->fd, "none", &uid, &gid), -ENOENT);
    assert_int_equal(uid, 7);
    assert_int_equal(nm_yarn_dirs_owner(w->fd, ".", &uid, &gid), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(nm_yarn_dirs_open_work(w->fd, &w->tenant), -ENOENT);
    /* A file is in the place of a log directory. */
    assert_int_equal(nm_write_file_atomic_at(w->fd, "application_1", "x", 0600), 0);
    assert_int_equal(nm_yarn_dirs_make_log(w->fd, &w->tenant), -ENOTDIR);
    assert_int_equal(nm_write_file_atomic_at(w->fd, "usercache", "x", 0600), 0);
    assert_int_equal(nm_yarn_dirs_make_local(w->fd, &w->tenant, true), -ENOTDIR);
}

/* ---- directories of another NodeManager --------------------------------------------------- */

static void claim_with_failures(void *userdata)
{
    struct world *w = userdata;
    struct nm_yarn_dir dir = {.name = w->root, .fd = w->fd};
    char state[PATH_MAX], *const untouched = w->root, *path = untouched;
    unsigned kinds = fail_pause();
    int r;

    (void)mkdirat(w->fd, "filecache", 0700);
    (void)strcpy(state, in(w, "state"));
    fail_resume(kinds);
    r = nm_yarn_claim(state, &dir, &path);
    kinds = fail_pause();
    if (r < 0) {
        assert_ptr_equal(path, untouched);
    } else {
        /* nmd's state directory exists, and no foreign directory is left. */
        assert_int_equal(access(path, F_OK), 0);
        assert_false(is_there(w, "filecache"));
        free(path);
        (void)remove_tree(state);
    }
    fail_resume(kinds);
}

static void test_claim_failures(void **state)
{
    assert_true(fail_each_of(FAIL_FILES | FAIL_MEMORY, claim_with_failures, *state) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_accounts), TEST(test_own_account), TEST(test_no_right_to_become), TEST(test_groups),
        TEST(test_not_root), TEST(test_no_memory_to_become), TEST(test_look), TEST(test_open),
        TEST(test_open_below_strangers),
        TEST(test_open_failures), TEST(test_disk_fails), TEST(test_joins_later),
        TEST(test_make_failures), TEST(test_links),
        TEST(test_many_links), TEST(test_owners), TEST(test_claim_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
