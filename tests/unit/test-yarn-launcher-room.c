/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests yarn/launch/caches.h: resources are placed on a disk with enough free space. The first local directory is on a
 * disk of 2 MiB, the second local directory on a disk of 8 MiB.
 */

#include "launcher-fixture.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define SMALL "local/filecache"
#define LARGE "second/filecache"
#define PUBLIC 1
#define PRIVATE 2

static void mount_at(struct fixture *w, const char *name, const char *options)
{
    char path[PATH_MAX];

    (void)mkdirat(w->root_fd, name, 0755);
    (void)snprintf(path, sizeof path, "%s/%s", w->root, name);
    if (mount("small", path, "tmpfs", 0, options) < 0)
        fail_msg("%s: %s", path, strerror(errno));
}

static int set_up_disks(void **state)
{
    struct fixture *w;

    (void)set_up(state);
    w = *state;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 0; /* only root can mount the disks of the test */
    w->launcher = nm_yarn_launcher_free(w->launcher);
    (void)close(w->root_fd);
    w->root_fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    mount_at(w, "local", "size=2m,mode=0755");
    mount_at(w, "second", "size=8m,mode=0755");
    start(w, "");
    w->local_dir = "second";
    set_command(w, "true");
    return 0;
}

static int tear_down_disks(void **state)
{
    struct fixture *w = *state;
    char path[PATH_MAX];

    w->launcher = nm_yarn_launcher_free(w->launcher);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", w->root, i == 0 ? "local" : "second");
        (void)umount2(path, MNT_DETACH);
    }
    return tear_down(state);
}

static bool has_disks(const struct fixture *w)
{
    struct stat a, b;

    return fstatat(w->root_fd, "local", &a, 0) == 0 && fstatat(w->root_fd, "second", &b, 0) == 0 &&
           a.st_dev != b.st_dev;
}

/* Replaces the list of resources by one file of this size. The request claims another size. */
static void name_file(struct fixture *w, const char *name, off_t bytes, int64_t declared_bytes, int32_t visibility)
{
    char path[PATH_MAX];

    w->context.n_resources = 0;
    add_file(w, name, name, "text", visibility);
    (void)snprintf(path, sizeof path, "%s/source/%s", w->root, name);
    assert_int_equal(truncate(path, bytes), 0);
    /* Writes data, since a hole in the file would use no space on the disk. */
    if (bytes > 0) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        static char block[1 << 16];

        memset(block, 'x', sizeof block);
        for (off_t at = 0; at < bytes; at += (off_t)sizeof block)
            assert_int_equal(write(fd, block, sizeof block), sizeof block);
        (void)close(fd);
    }
    {
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        w->resources[0]->value->timestamp_msec =
            (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    }
    w->resources[0]->value->size = declared_bytes;
}

/* Returns whether the container's preparation succeeds and its resource is below this directory. */
static bool is_placed_below(struct fixture *w, const char *dir, const char *name)
{
    struct owner o;
    char path[100];
    bool ok = false;

    prepare_all(w, &o);
    for (int i = 10; i < 20 && !ok; i++) {
        (void)snprintf(path, sizeof path, "%s/%d/%s", dir, i, name);
        ok = o.result == 0 && exists(w, path);
    }
    if (!ok)
        print_message("%d %s\n", o.result, o.message);
    give_back(&o);
    return ok;
}

/* A resource of known size is placed on a disk with enough free space. A resource that is already cached needs no
 * further space. */
static void test_a_resource_of_known_size_is_placed_on_a_disk_with_enough_space(void **state)
{
    struct fixture *w = *state;

    if (!has_disks(w))
        skip();
    name_file(w, "a", 1 << 20, 1 << 20, PUBLIC);
    assert_true(is_placed_below(w, SMALL, "a"));
    assert_true(is_placed_below(w, SMALL, "a"));
    name_file(w, "b", 3 << 20, 3 << 20, PUBLIC);
    assert_true(is_placed_below(w, LARGE, "b"));
    /* The unpacked files of the archive need more space. */
    name_file(w, "c", 1 << 16, 1 << 18, PUBLIC);
    w->resources[0]->value->type = 1;
    assert_true(is_placed_below(w, LARGE, "c"));
    w->resources[0]->value->type = 2;
    name_file(w, "d", 1 << 16, 1 << 18, PUBLIC);
    assert_true(is_placed_below(w, SMALL, "d"));
    /* The claimed size is larger than each disk. nmd tries the directory that it uses for new resources. */
    name_file(w, "e", 1 << 16, INT64_MAX, PUBLIC);
    assert_true(is_placed_below(w, SMALL, "e"));
    name_file(w, "f", 1 << 16, INT64_MIN, PUBLIC);
    assert_true(is_placed_below(w, SMALL, "f"));
}

/* The size of the resource is unknown. The first disk becomes full, the incomplete file is removed, and the next disk
 * is tried. */
static void test_when_a_disk_becomes_full_the_next_disk_is_tried(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    if (!has_disks(w))
        skip();
    for (int i = 0; i < 2; i++) {
        name_file(w, i == 0 ? "a" : "b", 3 << 20, 0, PUBLIC);
        assert_true(is_placed_below(w, LARGE, i == 0 ? "a" : "b"));
    }
    name_file(w, "c", 3 << 20, 0, PRIVATE);
    prepare_all(w, &o);
    assert_string_equal(o.message, "");
    assert_int_equal(o.result, 0);
    assert_true(exists(w, "second/usercache/alice@corp$/filecache"));
    give_back(&o);
    /* A small resource is still placed on the first disk. */
    name_file(w, "d", 1 << 16, 0, PUBLIC);
    assert_true(is_placed_below(w, SMALL, "d"));
}

/* A resource that a running container uses needs no further space, however little free space is left. */
static void share(struct fixture *w, int64_t declared_bytes)
{
    struct owner first;

    if (!has_disks(w))
        skip();
    name_file(w, "a", 7 << 20, declared_bytes, PUBLIC);
    prepare_all(w, &first);
    assert_int_equal(first.result, 0);
    assert_true(is_placed_below(w, LARGE, "a"));
    give_back(&first);
}

static void test_a_cached_resource_needs_no_further_space(void **state)
{
    share(*state, 7 << 20);
}

static void test_a_cached_resource_of_unknown_size_needs_no_further_space(void **state)
{
    share(*state, 0);
}

/* The resource is larger than each disk. Each disk is tried once, and the message states the reason. */
static void test_a_resource_larger_than_each_disk_is_refused(void **state)
{
    struct fixture *w = *state;
    struct owner o;

    if (!has_disks(w))
        skip();
    name_file(w, "a", 16 << 20, 0, PUBLIC);
    prepare_all(w, &o);
    assert_int_equal(o.ended, 1);
    assert_true(o.result < 0);
    assert_non_null(strstr(o.message, "No space left on device"));
    assert_non_null(strstr(o.message, "/second/"));
    give_back(&o);
    name_file(w, "b", 1 << 16, 0, PUBLIC);
    assert_true(is_placed_below(w, SMALL, "b"));
}

/* The first disk has by far more free bytes, but few free inodes. */
static void test_a_disk_without_free_inodes_is_not_used(void **state)
{
    struct fixture *w = *state;
    char path[PATH_MAX], name[20];
    struct owner o;

    if (!has_disks(w))
        skip();
    (void)snprintf(path, sizeof path, "%s/local", w->root);
    assert_int_equal(mount(NULL, path, NULL, MS_REMOUNT, "size=64m,nr_inodes=60"), 0);
    w->context.n_resources = 0;
    for (unsigned i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "f%u", i);
        add_file(w, name, name, "text", PUBLIC);
    }
    prepare_all(w, &o);
    assert_string_equal(o.message, "");
    assert_int_equal(o.result, 0);
    assert_true(exists(w, LARGE "/10/f0") || exists(w, LARGE "/11/f0"));
    give_back(&o);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_disks, tear_down_disks)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_resource_of_known_size_is_placed_on_a_disk_with_enough_space),
        TEST(test_when_a_disk_becomes_full_the_next_disk_is_tried),
        TEST(test_a_cached_resource_needs_no_further_space),
        TEST(test_a_cached_resource_of_unknown_size_needs_no_further_space),
        TEST(test_a_resource_larger_than_each_disk_is_refused),
        TEST(test_a_disk_without_free_inodes_is_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
