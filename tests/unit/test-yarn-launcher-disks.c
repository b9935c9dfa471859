/* SPDX-License-Identifier: Apache-2.0 */

/* Tests yarn/launch/dirs.h with the launcher: bad local and log directories are not used until they are good again. */

#include "launcher-fixture.h"
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include "tests/unit/remove-tree.h"

#define QUICK_CHECKS \
    "<property><name>yarn.nodemanager.disk-health-checker.interval-ms</name><value>1000</value></property>" \
    "<property><name>yarn.nodemanager.disk-health-checker.enable</name><value>true</value></property>"

/* Makes a mount namespace. Opens the root directory again, since the old descriptor refers to the old mounts. */
static bool has_own_mounts(struct fixture *w)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    assert_int_equal(close(w->root_fd), 0);
    w->root_fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return w->root_fd >= 0;
}

static void mount_at(struct fixture *w, const char *name, unsigned long flags)
{
    char path[PATH_MAX];

    (void)mkdirat(w->root_fd, name, 0755);
    (void)snprintf(path, sizeof path, "%s/%s", w->root, name);
    if (mount("small", path, "tmpfs", flags, "size=1m,mode=0755") < 0)
        fail_msg("%s: %s", path, strerror(errno));
}

static void fill(struct fixture *w, const char *name)
{
    static const char block[65536];
    int fd = openat(w->root_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    while (write(fd, block, sizeof block) > 0)
        ;
    assert_int_equal(close(fd), 0);
}

/* Returns whether the next three choices are these directories. NULL stands for any directory. */
static bool dirs_are(struct fixture *w, const char *local, const char *log)
{
    struct nm_yarn_container_dirs dirs = {};

    for (int i = 0; i < 3; i++) {
        if (nm_yarn_launcher_choose_dirs(w->launcher, &dirs, NULL) < 0 ||
            (local && !nm_streq(dirs.local_dir + strlen(w->root) + 1, local)) ||
            (log && !nm_streq(dirs.log_dir + strlen(w->root) + 1, log)))
            return false;
    }
    return true;
}

static bool runs_in(struct fixture *w, const char *local_dir, const char *kept)
{
    struct owner o = {};
    bool ok;

    w->local_dir = local_dir;
    prepare_all(w, &o);
    ok = o.result == 0 && exists(w, kept);
    if (!ok)
        print_message("in %s: %d %s\n", local_dir, o.result, o.message);
    give_back(&o);
    return ok;
}

/* Returns whether a container whose disk has just failed may move to these directories. */
static bool may_go_to(struct fixture *w, const char *local, const char *log)
{
    struct nm_yarn_container_dirs dirs = {};
    struct owner o = {};
    bool ok;

    prepare_all(w, &o);
    ok = o.result < 0 && nm_yarn_launcher_choose_other_dirs(w->launcher, o.p, &dirs) == 0 &&
         nm_streq(dirs.local_dir + strlen(w->root) + 1, local) && nm_streq(dirs.log_dir + strlen(w->root) + 1, log);
    if (!ok)
        print_message("%d %s, to %s, %s\n", o.result, o.message, dirs.local_dir ?: "-", dirs.log_dir ?: "-");
    give_back(&o);
    return ok;
}

#define TWO_LOGS(w, text) \
    (void)snprintf(text, sizeof text, \
                   "%s<property><name>yarn.nodemanager.log-dirs</name><value>%s/logs,%s/more</value></property>", \
                   QUICK_CHECKS, (w)->root, (w)->root)

/* A disk has failed since the last check. The container and its resources use the other disk, and each change is
 * reported. */
static void test_a_disk_that_has_just_failed_is_not_used(void **state)
{
    struct fixture *w = *state;
    char text[1000], path[PATH_MAX];

    if (!has_own_mounts(w))
        skip(); /* only root can mount the disks of the test */
    w->launcher = nm_yarn_launcher_free(w->launcher);
    mount_at(w, "local", 0);
    mount_at(w, "second", 0);
    mount_at(w, "logs", 0);
    TWO_LOGS(w, text);
    start(w, text);
    n_happened = 0;
    set_command(w, "true");
    add_file(w, "f", "f", "text", 1);

    mount_at(w, "local", MS_REMOUNT | MS_RDONLY);
    assert_true(may_go_to(w, "second", "logs"));
    RUN_UNTIL(w, dirs_are(w, "second", NULL));
    assert_int_equal(n_happened, 1);
    (void)snprintf(path, sizeof path, "New containers don't use the local directory %s/local any more: its file system "
                   "is read-only", w->root);
    assert_string_equal(last_event, path);
    mount_at(w, "local", MS_REMOUNT);
    RUN_UNTIL(w, !dirs_are(w, "second", NULL));
    assert_int_equal(n_happened, 2);
    assert_non_null(strstr(last_event, "/local is good again"));

    /* If the container runs again, its directory exists already. */
    assert_true(runs_in(w, "local", "local/usercache"));
    mount_at(w, "logs", MS_REMOUNT | MS_RDONLY);
    assert_true(may_go_to(w, "local", "more"));
    RUN_UNTIL(w, dirs_are(w, NULL, "more"));
    assert_int_equal(n_happened, 3);
    w->log_dir = "more";
    assert_true(runs_in(w, "local", "more/" APPLICATION "/" CONTAINER));
    mount_at(w, "logs", MS_REMOUNT);
    RUN_UNTIL(w, !dirs_are(w, NULL, "more"));

    /* The disk with the resources fails instead of the disk with the container's directory. */
    assert_true(runs_in(w, "second", "second/filecache/10/f"));
    w->context.n_resources = 0;
    add_file(w, "g", "g", "text", 1);
    mount_at(w, "second", MS_REMOUNT | MS_RDONLY);
    assert_true(runs_in(w, "local", "local/filecache/10/g"));
    assert_int_equal(n_happened, 5);
    w->launcher = nm_yarn_launcher_free(w->launcher);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", w->root, i == 0 ? "logs" : i == 1 ? "local" : "second");
        assert_int_equal(umount2(path, MNT_DETACH), 0);
    }
}

/* One of two disks is full, read-only, or missing at the start. The node uses the other disk, and later both again. */
static void test_if_one_of_two_disks_is_bad_the_other_one_is_used(void **state)
{
    struct fixture *w = *state;
    char why[300];

    if (!has_own_mounts(w))
        skip(); /* only root can mount the disks of the test */
    w->launcher = nm_yarn_launcher_free(w->launcher);
    mount_at(w, "local", 0);
    mount_at(w, "second", 0);
    start(w, QUICK_CHECKS);
    set_command(w, "true");
    add_file(w, "f", "f", "text", 1);
    assert_true(runs_in(w, "local", "local/filecache/10/f"));

    mount_at(w, "local", MS_REMOUNT | MS_RDONLY);
    RUN_UNTIL(w, dirs_are(w, "second", NULL));
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_true(runs_in(w, "second", "second/filecache/10/f"));

    /* The disk is good again. The resource stays on the other disk. */
    mount_at(w, "local", MS_REMOUNT);
    RUN_UNTIL(w, !dirs_are(w, "second", NULL));
    assert_true(runs_in(w, "local", "second/filecache/10/f"));

    fill(w, "second/large");
    RUN_UNTIL(w, dirs_are(w, "local", NULL));
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_true(runs_in(w, "local", "local/filecache"));
    assert_int_equal(unlinkat(w->root_fd, "second/large", 0), 0);
    RUN_UNTIL(w, !dirs_are(w, "local", NULL));

    /* nmd starts while this disk is read-only. */
    w->launcher = nm_yarn_launcher_free(w->launcher);
    mount_at(w, "local", MS_REMOUNT | MS_RDONLY);
    start(w, QUICK_CHECKS);
    assert_true(dirs_are(w, "second", NULL));
    assert_true(runs_in(w, "second", "second/filecache"));
    mount_at(w, "second", MS_REMOUNT | MS_RDONLY);
    RUN_UNTIL(w, !nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_non_null(strstr(why, "2/2 local-dirs have errors:  [ "));
    mount_at(w, "local", MS_REMOUNT);
    RUN_UNTIL(w, nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    assert_true(dirs_are(w, "local", NULL));
    assert_true(runs_in(w, "local", "local/filecache"));
    w->launcher = nm_yarn_launcher_free(w->launcher);
    w->local_dir = "local";
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];

        (void)snprintf(path, sizeof path, "%s/%s", w->root, i ? "local" : "second");
        assert_int_equal(umount2(path, MNT_DETACH), 0);
    }
}

/* A new nmd starts with a read-only disk that nmd has never used. The disk becomes writable later. */
static void test_a_disk_that_was_bad_at_the_start_is_used_later(void **state)
{
    struct fixture *w = *state;
    char path[PATH_MAX], why[300];

    if (!has_own_mounts(w))
        skip(); /* only root can mount the disks of the test */
    w->launcher = nm_yarn_launcher_free(w->launcher);
    mount_at(w, "local", MS_RDONLY);
    assert_int_equal(renameat(w->root_fd, "state", w->root_fd, "old-state"), 0);
    start(w, QUICK_CHECKS);
    assert_true(nm_yarn_launcher_is_healthy(w->launcher, why, sizeof why));
    set_command(w, "true");
    add_file(w, "f", "f", "text", 1);
    assert_true(dirs_are(w, "second", NULL));
    assert_true(runs_in(w, "second", "second/filecache/10/f"));
    mount_at(w, "local", MS_REMOUNT);
    RUN_UNTIL(w, !dirs_are(w, "second", NULL));
    assert_true(runs_in(w, "local", "second/filecache/10/f"));
    assert_true(exists(w, "local/usercache"));
    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)snprintf(path, sizeof path, "%s/local", w->root);
    assert_int_equal(umount2(path, MNT_DETACH), 0);
}

static bool reports(struct fixture *w, const char *words)
{
    char report[1000];

    (void)nm_yarn_launcher_is_healthy(w->launcher, report, sizeof report);
    return strstr(report, words);
}

static void unmount(struct fixture *w, const char *name, int flags)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/%s", w->root, name);
    if (umount2(path, flags) < 0)
        fail_msg("%s: %s", path, strerror(errno));
}

/* A disk fails, is unmounted and replaced by another one. nmd has no file open on the failed disk, so that it can be
 * unmounted, doesn't use the directory at which it was mounted, and uses the other disk without a restart. */
static void test_a_replaced_disk_is_used_without_a_restart(void **state)
{
    struct fixture *w = *state;
    glob_t found = {};
    char path[PATH_MAX];

    if (!has_own_mounts(w))
        skip(); /* only root can mount the disks of the test */
    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)snprintf(path, sizeof path, "%s/local", w->root);
    assert_int_equal(remove_tree(path), 0); /* the fixture's launcher has used it */
    mount_at(w, "local", 0);
    mount_at(w, "second", 0);
    start(w, QUICK_CHECKS);
    set_command(w, "true");
    add_file(w, "f", "f", "text", 1);
    assert_true(runs_in(w, "local", "local/filecache/10/f"));

    for (int i = 0; i < 2; i++) {
        assert_int_equal(mkdirat(w->root_fd, "local/.nmd-probe", 0700), 0);
        assert_int_equal(mkdirat(w->root_fd, "local/.nmd-probe/x", 0700), 0);
        RUN_UNTIL(w, reports(w, "/local : can't write to it: "));
        unmount(w, "local", 0); /* fails if a file is open */
        RUN_UNTIL(w, reports(w, "/local : its disk isn't mounted"));
        assert_true(dirs_are(w, "second", NULL));
        assert_true(runs_in(w, "second", "second/filecache/10/f"));
        assert_false(exists(w, "local/usercache"));
        if (i == 1)
            mount_at(w, "other", 0); /* takes the device number that the new disk would get */
        mount_at(w, "local", 0);
        RUN_UNTIL(w, !reports(w, "errors"));
        assert_true(runs_in(w, "local", "local/usercache/alice@corp$/appcache"));
        assert_true(exists(w, "second/filecache/10/f")); /* the resources stay where they are */
    }
    assert_non_null(strstr(last_event, "/local is good again"));
    /* The resources are fetched to the new disk if the other disk fails. Their number depends on whether the kernel
     * has given the device number of a former disk to the new one: other programs mount file systems, too. */
    assert_int_equal(mkdirat(w->root_fd, "second/.nmd-probe", 0700), 0);
    assert_int_equal(mkdirat(w->root_fd, "second/.nmd-probe/x", 0700), 0);
    RUN_UNTIL(w, reports(w, "/second : can't write to it: "));
    assert_true(runs_in(w, "local", "local/filecache"));
    (void)snprintf(path, sizeof path, "%s/local/filecache/*/f", w->root);
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    globfree(&found);
    w->launcher = nm_yarn_launcher_free(w->launcher);
    unmount(w, "local", MNT_DETACH);
    unmount(w, "second", MNT_DETACH);
    unmount(w, "other", MNT_DETACH);
}

/* A disk isn't mounted when nmd starts, and is mounted later, with what nmd has on it. */
static void test_a_disk_that_was_away_at_the_start_keeps_its_files(void **state)
{
    struct fixture *w = *state;
    char kept[PATH_MAX], path[PATH_MAX];

    if (!has_own_mounts(w))
        skip(); /* only root can mount the disks of the test */
    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)snprintf(path, sizeof path, "%s/local", w->root);
    (void)snprintf(kept, sizeof kept, "%s/kept", w->root);
    assert_int_equal(remove_tree(path), 0); /* the fixture's launcher has used it */
    mount_at(w, "local", 0);
    start(w, QUICK_CHECKS);
    set_command(w, "true");
    add_file(w, "f", "f", "text", 1);
    assert_true(runs_in(w, "local", "local/filecache/10/f"));
    w->launcher = nm_yarn_launcher_free(w->launcher);
    assert_int_equal(mkdir(kept, 0755), 0);
    assert_int_equal(mount(path, kept, NULL, MS_BIND, NULL), 0);
    unmount(w, "local", 0);

    start(w, QUICK_CHECKS);
    assert_true(reports(w, "/local : its disk isn't mounted"));
    assert_true(dirs_are(w, "second", NULL));
    assert_int_equal(rmdir(path), 0); /* it is empty */
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(mount(kept, path, NULL, MS_BIND, NULL), 0);
    RUN_UNTIL(w, !reports(w, "errors"));
    assert_true(runs_in(w, "local", "local/filecache/10/f")); /* wasn't moved aside as files of another NodeManager */
    w->launcher = nm_yarn_launcher_free(w->launcher);
    unmount(w, "local", MNT_DETACH);
    unmount(w, "kept", MNT_DETACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_disk_that_has_just_failed_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_if_one_of_two_disks_is_bad_the_other_one_is_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_disk_that_was_bad_at_the_start_is_used_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_replaced_disk_is_used_without_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_disk_that_was_away_at_the_start_keeps_its_files, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
