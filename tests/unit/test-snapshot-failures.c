/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The file with the snapshot of a container when memory, descriptors or the disk fail. The file contains either the old
 * snapshot or the new one.
 */

#include "tests/unit/sqlite-failures.h"

#include <errno.h>
#include <string.h>

#include "agent/store/container-snapshot.h"

/* The file contains the old or the new snapshot, and never an incomplete one. */
static void assert_old_or_new(const char *dir, int written)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    bool same_boot;

    assert_int_equal(nm_container_snapshot_read(dir, "boot", &same_boot, &c), 0);
    assert_true(same_boot);
    assert_int_equal(c->blob.bytes, 4);
    assert_true(nm_streq(c->name, "second") || (written < 0 && nm_streq(c->name, "first")));
}

static void try_to_read(const char *dir, int error)
{
    struct nm_container *c = NULL;
    bool same_boot;
    int r = nm_container_snapshot_read(dir, "boot", &same_boot, &c);

    assert_true(r == 0 || ((r == error || r == -EBADMSG) && !c)); /* jansson returns the same result for both errors */
    nm_container_free(c);
}

/* jansson reports a failed allocation for a string as an error in the text. */
static bool is_expected(const struct failure *f, int r)
{
    return r == 0 || r == -f->error || (f->kind == FAIL_MEMORY && r == -EILSEQ);
}

static void test_a_failed_write_leaves_the_old_snapshot(void **state)
{
    static const struct failure failures[] = {
        {FAIL_MEMORY, NULL, ENOMEM}, {FAIL_OPEN, NULL, EMFILE}, {0, "write", ENOSPC}, {0, "fsync", EIO},
        {0, "renameat", EIO},        {0, "pread", EIO},         {0, "read", EIO},     {0, "fstat", EIO},
    };
    struct fixture *w = *state;
    _cleanup_(nm_container_freep) struct nm_container *c = make(1);
    char dir[160];

    assert_int_equal(nm_container_set_blob(c, "blob", 4), 0);
    (void)snprintf(dir, sizeof dir, "%s/c/%s", w->dir, c->id);
    strcpy(c->name, "first");
    assert_int_equal(nm_container_snapshot_write(dir, "boot", c), 0);
    strcpy(c->name, "second");
    for (size_t i = 0; i < NM_ARRAY_SIZE(failures); i++) {
        bool failed = true;

        for (unsigned n = 1; failed; n++) {
            int r;

            failure_arm(&failures[i], n);
            r = nm_container_snapshot_write(dir, "boot", c);
            try_to_read(dir, -failures[i].error);
            failed = failure_disarm(&failures[i]);

            assert_true(is_expected(&failures[i], r));
            assert_old_or_new(dir, r);
        }
    }
}

static int replace_functions(void **state)
{
    (void)state;
    return sqlite_failures_begin();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_failed_write_leaves_the_old_snapshot, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, replace_functions, NULL);
}
