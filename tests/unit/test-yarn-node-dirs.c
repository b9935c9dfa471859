/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The directories of a node: their checks at the start and later, with disks that fail, and directories of another
 * NodeManager.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail-nth.h"
#include "tests/unit/dirs-fixture.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "yarn/launch/caches.h"

static void count_bad(const struct nm_yarn_dir *d, void *userdata)
{
    assert_non_null(d->name);
    assert_int_not_equal(*d->why, '\0');
    (*(unsigned *)userdata)++;
}

/* Returns how many of the directories are reported as bad. */
static unsigned count_reported(const char *first, const char *second)
{
    char *const names[] = {(char *)first, (char *)second, NULL};
    unsigned n = 0;

    (void)nm_yarn_dirs_examine(names, count_bad, &n, NULL);
    return n;
}

static int look(const char *first, const char *second, char **ret_message)
{
    char *const names[] = {(char *)first, (char *)second, NULL};

    return nm_yarn_dirs_examine(names, NULL, NULL, ret_message);
}

/* nmd --check-config reports the same errors as a start, and creates no file. */
static void test_a_check_reports_bad_directories_and_creates_no_file(void **state)
{
    struct fixture *w = *state;
    char *message = NULL, other[PATH_MAX], file[PATH_MAX];

    (void)strcpy(file, path_in(w, "file"));
    assert_int_equal(nm_write_file_atomic_at(w->fd, "file", "x", 0600), 0);
    (void)strcpy(other, path_in(w, "file/below"));
    assert_int_equal(look(file, other, &message), -ENOTDIR);
    assert_non_null(strstr(message, file));
    assert_non_null(strstr(message, "Not a directory"));
    free(message);
    assert_int_equal(look(file, path_in(w, "new/deep"), NULL), 0); /* one usable directory is enough to start */
    /* two bad directories are an error, without a message for each directory */
    assert_int_equal(count_reported(file, other), 0);
    assert_int_equal(count_reported(other, w->root), 1);
    assert_int_equal(count_reported(w->root, other), 1);
    assert_int_equal(count_reported(w->root, path_in(w, "new/deep")), 0);
    assert_false(exists(w, "new"));
    assert_int_equal(look(w->root, NULL, NULL), 0);
    assert_int_equal(look(NULL, NULL, NULL), 0);
    assert_int_equal(mkdir(path_in(w, "open"), 0700), 0);
    assert_int_equal(chmod(w->path, 0777), 0);
    assert_int_equal(look(w->path, NULL, &message), -ENOTDIR);
    assert_non_null(strstr(message, "a user other than root and nmd's own can change it or a directory above it"));
    free(message);
}

/* Opens the directories. This also checks the directories. */
static int open_dirs(const char *first, const char *second, struct nm_yarn_dirs *ret, char **ret_message)
{
    static const struct nm_yarn_settings settings;
    char *const names[] = {(char *)first, (char *)second, NULL};

    return nm_yarn_dirs_open(&settings, names, NULL, false, ret, ret_message);
}

static void test_one_good_directory_is_enough_to_start(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_dirs dirs = {.n = 7};
    char file[PATH_MAX], *message = NULL;
    struct stat st;

    (void)umask(077);
    (void)strcpy(file, path_in(w, "file/below"));
    assert_int_equal(nm_write_file_atomic_at(w->fd, "file", "x", 0600), 0);
    assert_int_equal(open_dirs(file, NULL, &dirs, &message), -ENOTDIR);
    assert_non_null(strstr(message, "file/below can't be used: Not a directory"));
    free(message);
    assert_int_equal(dirs.n, 7);
    assert_int_equal(open_dirs(file, path_in(w, "good/deep"), &dirs, NULL), 0);
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

/* Other users could replace a directory whose parent directory they can write to. */
static void test_a_directory_that_others_can_replace_is_refused(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_dirs dirs;
    char deep[PATH_MAX], *message = NULL;

    assert_int_equal(mkdir(path_in(w, "shared"), 0700), 0);
    assert_int_equal(mkdir(path_in(w, "shared/own"), 0755), 0);
    assert_int_equal(chmod(path_in(w, "shared"), 0777), 0);
    assert_int_equal(open_dirs(path_in(w, "shared/own"), NULL, &dirs, &message), -ENOTDIR);
    assert_non_null(strstr(message, "a user other than root and nmd's own can change it or a directory above it"));
    free(message);
    /* as /tmp has, where the sticky bit prevents that other users replace the directory */
    assert_int_equal(chmod(path_in(w, "shared"), 01777), 0);
    assert_int_equal(open_dirs(path_in(w, "shared/own"), NULL, &dirs, NULL), 0);
    nm_yarn_dirs_done(&dirs);
    if (geteuid() == 0) {
        assert_int_equal(chown(path_in(w, "shared"), w->owner.as.uid, w->owner.as.gid), 0);
        assert_int_equal(open_dirs(path_in(w, "shared/own"), NULL, &dirs, NULL), -ENOTDIR);
    }
    (void)strcpy(deep, w->root);
    for (int i = 0; i < 64; i++)
        (void)strcat(deep, "/x");
    assert_int_equal(open_dirs(deep, NULL, &dirs, &message), -ENOTDIR);
    assert_non_null(strstr(message, "Too many levels"));
    free(message);
}

/* Each attempt uses a new name, since a directory that exists already isn't created. */
struct opening {
    struct fixture *w;
    unsigned n;
};

static int open_one(struct opening *o)
{
    struct nm_yarn_dirs dirs = {.n = 7};
    char *message = NULL;
    char name[40];
    int r;

    (void)snprintf(name, sizeof name, "dir-%u/deep", o->n++);
    r = open_dirs(path_in(o->w, name), NULL, &dirs, &message);
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

/* If a disk fails, the other disks are used. A temporary lack of memory doesn't count as a failed disk. */
static void test_a_failing_disk_is_left_out_and_a_lack_of_memory_is_an_error(void **state)
{
    struct opening o = {.w = *state};

    assert_true(fail_each(open_without_memory, &o) >= 2);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, open_with_failures, &o) > 10);
}

static void check_again(struct nm_yarn_dirs *dirs)
{
    dirs->checked_usec = 0;
    nm_yarn_dirs_check(dirs);
}

/* A disk that was good at the start fails later. After each error the directory is closed, so that the disk can be
 * unmounted, and the next check opens it again. */
static void test_a_disk_that_fails_later_is_reported_as_bad(void **state)
{
    struct nm_yarn_settings s = {.checks_disks = true};
    struct fixture *w = *state;
    struct nm_yarn_dir dir = {.name = w->root, .fd = -EBADF};
    struct nm_yarn_dirs dirs = {.all = &dir, .n = 1, .settings = &s};
    unsigned failures = 0;

    for (;; failures++) {
        check_again(&dirs);
        assert_true(dir.is_good);
        assert_true(dir.fd >= 0);
        fail_nth(FAIL_FILES, failures + 1);
        check_again(&dirs);
        if (!fail_stop())
            break;
        assert_false(dir.is_good);
        assert_non_null(strstr(dir.why, "Input/output error"));
        assert_true(dir.fd < 0);
        assert_null(nm_yarn_dirs_next(&dirs, NULL));
    }
    assert_int_equal(failures, 3);
    /* The directory can't be opened again because of an error of the disk, or because too many files are open. */
    for (failures = 0;; failures++) {
        dir.fd = nm_close(dir.fd);
        fail_nth(FAIL_FILES, failures + 1);
        check_again(&dirs);
        if (!fail_stop())
            break;
        assert_false(dir.is_good);
        assert_true(strstr(dir.why, "Input/output error") || strstr(dir.why, "Too many open files"));
        assert_true(dir.fd < 0);
    }
    assert_true(failures > 6);
    assert_true(dir.is_good); /* the check succeeds again after the failures */
    /* /proc can't store files of users. The changed reason is reported. */
    assert_int_equal(close(dir.fd), 0);
    dir.fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_again(&dirs);
    assert_true(dir.fd < 0); /* the check has closed it */
    assert_false(dir.is_good);
    assert_string_equal(dir.why, "its file system can't store files");
    free(dir.mount);
}

static char last_message[400];

static void keep_message(int level, const char *sentence)
{
    (void)level;
    (void)snprintf(last_message, sizeof last_message, "%s", sentence);
}

/* Starts a process that locks the directory until this process is killed. */
static pid_t lock_elsewhere(const char *name)
{
    char *const names[] = {(char *)name, NULL};
    int ready[2];
    char byte = 0;
    pid_t pid;

    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        byte = nm_yarn_dirs_lock(names, NULL, keep_message, NULL) == 0;
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

struct report {
    unsigned n;
    bool is_good;
    char why[200];
};

static void on_report(const struct nm_yarn_dir *d, void *userdata)
{
    struct report *t = userdata;

    t->n++;
    t->is_good = d->is_good;
    (void)snprintf(t->why, sizeof t->why, "%s", d->why);
}

static unsigned check_now(struct nm_yarn_dirs *dirs, struct report *t)
{
    t->n = 0;
    dirs->checked_usec = 0;
    nm_yarn_dirs_check(dirs);
    nm_yarn_dirs_report(dirs, on_report, t);
    return t->n;
}

/* A directory whose disk appears later is locked at that time. Each change is reported once. */
static void test_a_directory_that_appears_later_is_locked_and_reported_once(void **state)
{
    const struct nm_yarn_settings s = {.checks_disks = true};
    struct fixture *w = *state;
    char late[PATH_MAX], first[PATH_MAX], *names[] = {first, late, NULL}, *message = NULL;
    struct nm_yarn_dirs dirs;
    struct report t;
    pid_t other;

    (void)strcpy(first, path_in(w, "first"));
    (void)strcpy(late, path_in(w, "late"));
    assert_int_equal(nm_write_file_atomic_at(w->fd, "late", "x", 0600), 0);
    assert_int_equal(nm_yarn_dirs_open(&s, names, NULL, true, &dirs, NULL), 0);
    assert_int_equal(check_now(&dirs, &t), 1);
    assert_string_equal(t.why, "Not a directory");
    assert_int_equal(check_now(&dirs, &t), 0);
    assert_int_equal(unlink(late), 0);
    other = lock_elsewhere(late);
    assert_int_equal(check_now(&dirs, &t), 0); /* the directory is still bad, for another reason */
    (void)snprintf(t.why, sizeof t.why, "another nmd (pid %d) uses it", (int)other);
    assert_ptr_equal(strstr(dirs.all[1].why, t.why), dirs.all[1].why);
    assert_true(dirs.all[1].fd < 0);
    end_elsewhere(other);
    assert_int_equal(check_now(&dirs, &t), 1);
    assert_true(t.is_good);
    other = fork(); /* from now on no other process can lock the directory */
    if (other == 0)
        _exit(nm_yarn_dirs_lock(names + 1, NULL, keep_message, &message) == -EBUSY && strstr(message, late) &&
                      strstr(last_message, "waiting 2 s") && strstr(last_message, late) ? 0 : 1);
    assert_int_equal(waitpid(other, (int *)(void *)&t.n, 0), other);
    assert_int_equal(t.n, 0);
    /* A directory may also be replaced by a mount, or be moved. One on the disk of "/" isn't made again. */
    free(STEAL_PTR(dirs.all[1].mount));
    assert_int_equal(rename(late, path_in(w, "away")), 0);
    assert_int_equal(check_now(&dirs, &t), 1);
    assert_false(t.is_good);
    assert_string_equal(t.why, "No such file or directory");
    assert_true(dirs.all[1].fd < 0); /* so that its disk can be unmounted */
    assert_int_equal(rename(path_in(w, "away"), late), 0);
    assert_int_equal(check_now(&dirs, &t), 1);
    assert_true(t.is_good);
    nm_yarn_dirs_done(&dirs);
}

/* The new disk is mounted at the place of the old one and is empty: as with Hadoop, the directories below that place
 * are made there. Without a disk, they aren't. */
static void test_directories_below_the_place_of_a_new_disk_are_made(void **state)
{
    const struct nm_yarn_settings s = {.checks_disks = true};
    struct fixture *w = *state;
    char disk[PATH_MAX], own[PATH_MAX + 20], other[PATH_MAX], *names[] = {own, other, NULL};
    struct nm_yarn_dirs dirs;
    struct report t;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip(); /* only root can mount the disks of the test */
    (void)strcpy(disk, path_in(w, "disk"));
    (void)strcpy(other, path_in(w, "other"));
    (void)snprintf(own, sizeof own, "%s/yarn/local", disk);
    assert_int_equal(mkdir(disk, 0755), 0);
    assert_int_equal(mount("old", disk, "tmpfs", 0, "size=1m,mode=0755"), 0);
    assert_int_equal(nm_yarn_dirs_open(&s, names, NULL, true, &dirs, NULL), 0);
    assert_int_equal(check_now(&dirs, &t), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mount("old", disk, "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
        assert_int_equal(check_now(&dirs, &t), 1);
        assert_string_equal(t.why, "its file system is read-only");
        assert_int_equal(umount2(disk, 0), 0);
        if (i == 0) { /* the second time the disk is replaced between two checks */
            assert_int_equal(check_now(&dirs, &t), 0);
            assert_string_equal(dirs.all[0].why, "its disk isn't mounted");
            assert_int_equal(rmdir(disk), 0); /* it is empty */
            assert_int_equal(mkdir(disk, 0755), 0);
        }
        assert_int_equal(mount("new", disk, "tmpfs", 0, "size=1m,mode=0755"), 0);
        assert_int_equal(check_now(&dirs, &t), 1);
        assert_true(t.is_good);
        assert_int_equal(access(own, F_OK), 0);
    }
    nm_yarn_dirs_done(&dirs);
    assert_int_equal(umount2(disk, MNT_DETACH), 0);
}

/* ---- identity ------------------------------------------------------------------------------- */

static void copy_id(const struct fixture *w, const char *from, const char *to)
{
    int root = open(w->root, O_PATH | O_CLOEXEC), source = openat(root, from, O_PATH | O_CLOEXEC);
    int target = openat(root, to, O_PATH | O_CLOEXEC);
    char text[100];

    assert_int_equal(nm_read_file_at(source, NM_YARN_DIR_ID_FILE, text, sizeof text, NULL), 0);
    assert_int_equal(nm_write_file_atomic_at(target, NM_YARN_DIR_ID_FILE, text, 0600), 0);
    assert_int_equal(close(root), 0);
    assert_int_equal(close(source), 0);
    assert_int_equal(close(target), 0);
}

/* A directory keeps its id. A copy of a directory beside the original gets its own one. */
static void test_a_directory_keeps_its_id(void **state)
{
    const struct nm_yarn_settings s = {.checks_disks = true};
    struct fixture *w = *state;
    char first[PATH_MAX], second[PATH_MAX], *names[] = {first, second, NULL};
    char ids[2][NM_YARN_DIR_ID_SIZE], id[NM_YARN_DIR_ID_SIZE];
    struct nm_yarn_dirs dirs;

    (void)strcpy(first, path_in(w, "first"));
    (void)strcpy(second, path_in(w, "second"));
    assert_int_equal(nm_yarn_dirs_open(&s, names, NULL, false, &dirs, NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        (void)strcpy(ids[i], dirs.all[i].id);
        assert_int_equal(strlen(ids[i]), 32);
        assert_int_equal(nm_yarn_dir_id_read(dirs.all[i].fd, id), 0);
        assert_string_equal(id, ids[i]);
    }
    assert_string_not_equal(ids[0], ids[1]);
    nm_yarn_dirs_done(&dirs);
    copy_id(w, "first", "second");
    assert_int_equal(nm_yarn_dirs_open(&s, names, NULL, false, &dirs, NULL), 0);
    assert_string_equal(dirs.all[0].id, ids[0]);
    assert_string_not_equal(dirs.all[1].id, ids[0]);
    (void)strcpy(ids[1], dirs.all[1].id);
    nm_yarn_dirs_done(&dirs);
    /* a damaged file is replaced */
    assert_int_equal(truncate(path_in(w, "first/" NM_YARN_DIR_ID_FILE), 7), 0);
    assert_int_equal(nm_yarn_dirs_open(&s, names, NULL, false, &dirs, NULL), 0);
    assert_int_equal(strlen(dirs.all[0].id), 32);
    assert_string_not_equal(dirs.all[0].id, ids[0]);
    assert_string_equal(dirs.all[1].id, ids[1]);
    nm_yarn_dirs_done(&dirs);
}

static void count_replaced(size_t i, void *userdata)
{
    assert_int_equal(i, 0);
    (*(unsigned *)userdata)++;
}

/* A disk that was connected again has another device number. It is the same disk. */
static void test_a_disk_with_another_device_number_is_the_same_disk(void **state)
{
    const struct nm_yarn_settings s = {.checks_disks = true};
    struct fixture *w = *state;
    char disk[PATH_MAX], other[PATH_MAX], *names[] = {disk, other, NULL};
    struct nm_yarn_dirs dirs;
    unsigned n_replaced = 0;
    struct report t;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip(); /* only root can mount the disks of the test */
    (void)strcpy(disk, path_in(w, "disk"));
    (void)strcpy(other, path_in(w, "other"));
    assert_int_equal(mkdir(disk, 0755), 0);
    assert_int_equal(mkdir(path_in(w, "copy"), 0755), 0);
    assert_int_equal(mount("old", disk, "tmpfs", 0, "size=1m,mode=0755"), 0);
    assert_int_equal(nm_yarn_dirs_open(&s, names, NULL, true, &dirs, NULL), 0);
    dirs.replaced_cb = count_replaced;
    dirs.userdata = &n_replaced;
    assert_int_equal(check_now(&dirs, &t), 0);
    /* the former disk stays mounted elsewhere, so that the new one has another number */
    assert_int_equal(mount(disk, path_in(w, "copy"), NULL, MS_BIND, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(umount2(disk, MNT_DETACH), 0);
        assert_int_equal(mount("new", disk, "tmpfs", 0, "size=1m,mode=0755"), 0);
        if (i == 0)
            copy_id(w, "copy", "disk");
        (void)check_now(&dirs, &t);
        assert_true(dirs.all[0].is_good);
        assert_int_equal(n_replaced, i);
    }
    nm_yarn_dirs_done(&dirs);
    assert_int_equal(umount2(disk, MNT_DETACH), 0);
    assert_int_equal(umount2(path_in(w, "copy"), MNT_DETACH), 0);
}

static void make_state(struct fixture *w, char buf[static PATH_MAX])
{
    (void)strcpy(buf, path_in(w, "state"));
    (void)mkdir(buf, 0700);
}

/* The disk isn't mounted when nmd starts. nmd remembers where it was mounted, and doesn't use the disk of "/" in its
 * place. */
static void test_a_disk_that_is_away_at_the_start_is_awaited(void **state)
{
    const struct nm_yarn_settings s = {.checks_disks = true};
    struct fixture *w = *state;
    char disk[PATH_MAX], own[PATH_MAX + 20], other[PATH_MAX], dir[PATH_MAX], *names[] = {own, other, NULL};
    char id[NM_YARN_DIR_ID_SIZE];
    struct nm_yarn_dirs dirs;
    struct report t;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip(); /* only root can mount the disks of the test */
    (void)strcpy(disk, path_in(w, "disk"));
    (void)strcpy(other, path_in(w, "other"));
    (void)snprintf(own, sizeof own, "%s/local", disk);
    make_state(w, dir);
    assert_int_equal(mkdir(disk, 0755), 0);
    assert_int_equal(mkdir(path_in(w, "kept"), 0755), 0);
    assert_int_equal(mount("old", disk, "tmpfs", 0, "size=1m,mode=0755"), 0);
    assert_int_equal(nm_yarn_dirs_open(&s, names, dir, true, &dirs, NULL), 0);
    (void)strcpy(id, dirs.all[0].id);
    nm_yarn_dirs_done(&dirs);
    assert_int_equal(mount(disk, path_in(w, "kept"), NULL, MS_BIND, NULL), 0);
    assert_int_equal(umount2(disk, 0), 0);

    assert_int_equal(nm_yarn_dirs_lock(names, dir, keep_message, NULL), 0);
    assert_int_not_equal(access(own, F_OK), 0);
    assert_int_equal(nm_yarn_dirs_open(&s, names, dir, true, &dirs, NULL), 0);
    assert_int_not_equal(access(own, F_OK), 0);
    assert_false(dirs.all[0].is_good);
    assert_string_equal(dirs.all[0].why, "its disk isn't mounted");
    assert_int_equal(nm_yarn_dirs_is_in_place(&dirs.all[0]), 0);
    assert_string_equal(nm_yarn_dirs_id(&dirs.all[0]), "");
    assert_int_equal(check_now(&dirs, &t), 1);
    assert_int_equal(mount(path_in(w, "kept"), disk, NULL, MS_BIND, NULL), 0);
    assert_int_equal(check_now(&dirs, &t), 1);
    assert_true(t.is_good);
    assert_string_equal(nm_yarn_dirs_id(&dirs.all[0]), id);
    nm_yarn_dirs_done(&dirs);

    /* An administrator has copied the directory to the disk of "/". */
    assert_int_equal(umount2(disk, 0), 0);
    assert_int_equal(mkdir(own, 0755), 0);
    assert_int_equal(nm_yarn_dirs_open(&s, names, dir, true, &dirs, NULL), 0);
    assert_false(dirs.all[0].is_good);
    nm_yarn_dirs_done(&dirs);
    copy_id(w, "kept/local", "disk/local");
    assert_int_equal(nm_yarn_dirs_open(&s, names, dir, true, &dirs, NULL), 0);
    assert_true(dirs.all[0].is_good);
    assert_string_equal(dirs.all[0].id, id);
    nm_yarn_dirs_done(&dirs);
    assert_int_equal(umount2(path_in(w, "kept"), MNT_DETACH), 0);
}

/* What nmd remembers can be damaged: it then counts as unknown. */
static void test_a_damaged_memory_of_a_directory_is_ignored(void **state)
{
    static const struct nm_yarn_dir_memory known = {.id = "0123", .mount = (char *)"/disk"};
    static const char *const bad[] = {"", "/a\n", "/a\n0123\n", "/b\n0123\n/disk\n", "/a\n0123\ndisk\n",
                                      "/a\n0123\n/disk", "/a\n0123456789012345678901234567890123456789\n/disk\n"};
    struct fixture *w = *state;
    struct nm_yarn_dir_memory m;
    char dir[PATH_MAX], file[PATH_MAX], text[200];
    glob_t found = {};
    int fd;

    make_state(w, dir);
    assert_int_equal(nm_yarn_dir_memory_load(dir, "/a", &m), 0);
    assert_string_equal(m.id, "");
    assert_null(m.mount);
    nm_yarn_dir_memory_save(dir, "/a", &known);
    assert_int_equal(nm_yarn_dir_memory_load(dir, "/a", &m), 0);
    assert_string_equal(m.id, "0123");
    assert_string_equal(m.mount, "/disk");
    free(m.mount);
    (void)snprintf(file, sizeof file, "%.3000s/directories/*", dir);
    assert_int_equal(glob(file, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        fd = open(found.gl_pathv[0], O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_true(fd >= 0);
        (void)snprintf(text, sizeof text, "%s", bad[i]);
        assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
        assert_int_equal(close(fd), 0);
        assert_int_equal(nm_yarn_dir_memory_load(dir, "/a", &m), 0);
        assert_string_equal(m.id, "");
        assert_null(m.mount);
    }
    globfree(&found);
}

/* An earlier version of nmd has named its list of resources after the directory's device and inode. */
static void test_the_list_of_an_earlier_version_is_kept(void **state)
{
    struct fixture *w = *state;
    struct nm_yarn_dir dir = {.name = w->root, .fd = w->fd, .id = "0123"};
    char path[PATH_MAX], *claimed = NULL, name[100];
    struct stat st;

    make_state(w, path);
    assert_int_equal(fstat(w->fd, &st), 0);
    (void)snprintf(name, sizeof name, "state/local-%jx-%jx", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    assert_int_equal(mkdirat(w->fd, name, 0700), 0);
    assert_int_equal(mkdirat(w->fd, "filecache", 0700), 0);
    assert_int_equal(nm_yarn_claim(path, &dir, &claimed), 0);
    assert_true(exists(w, "filecache")); /* otherwise it would have been moved aside */
    assert_false(exists(w, name));
    assert_true(exists(w, "state/local-0123"));
    free(claimed);
}

static void claim_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    struct nm_yarn_dir dir = {.name = w->root, .fd = w->fd, .id = "0123"};
    char state[PATH_MAX], *const untouched = w->root, *path = untouched;
    unsigned kinds = fail_pause();
    int r;

    (void)mkdirat(w->fd, "filecache", 0700);
    (void)strcpy(state, path_in(w, "state"));
    fail_resume(kinds);
    r = nm_yarn_claim(state, &dir, &path);
    kinds = fail_pause();
    if (r < 0) {
        assert_ptr_equal(path, untouched);
    } else {
        /* nmd's state directory exists, and directories of the other NodeManager have been removed. */
        assert_int_equal(access(path, F_OK), 0);
        assert_false(exists(w, "filecache"));
        free(path);
        (void)remove_tree(state);
    }
    fail_resume(kinds);
}

static void test_if_a_directory_can_not_be_claimed_its_path_is_unchanged(void **state)
{
    assert_true(fail_each_of(FAIL_FILES | FAIL_MEMORY, claim_with_failures, *state) > 5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, dirs_fixture_set_up, dirs_fixture_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_check_reports_bad_directories_and_creates_no_file),
        TEST(test_one_good_directory_is_enough_to_start),
        TEST(test_a_directory_that_others_can_replace_is_refused),
        TEST(test_a_failing_disk_is_left_out_and_a_lack_of_memory_is_an_error),
        TEST(test_a_disk_that_fails_later_is_reported_as_bad),
        TEST(test_a_directory_that_appears_later_is_locked_and_reported_once),
        TEST(test_directories_below_the_place_of_a_new_disk_are_made),
        TEST(test_a_directory_keeps_its_id),
        TEST(test_a_disk_with_another_device_number_is_the_same_disk),
        TEST(test_a_disk_that_is_away_at_the_start_is_awaited),
        TEST(test_a_damaged_memory_of_a_directory_is_ignored),
        TEST(test_the_list_of_an_earlier_version_is_kept),
        TEST(test_if_a_directory_can_not_be_claimed_its_path_is_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
