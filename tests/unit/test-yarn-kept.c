/* SPDX-License-Identifier: Apache-2.0 */

/* What a restarted nmd still knows of keys and tokens. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "remove-tree.h"
#include "rpc/yarn/manage/kept-keys.h"
#include "rpc/yarn/message-ids.h"
#include "util/fileio.h"
#include "yarn-tokens.h"

struct world {
    char dir[64], file[96];
    struct nm_yarn_state state;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_kept *kept;
};

static void begin(struct world *w)
{
    nm_yarn_state_init(&w->state, NM_USEC_PER_SEC);
    assert_int_equal(nm_yarn_keyring_new(&w->state, &w->keyring), 0);
    assert_int_equal(nm_yarn_used_new(&w->used), 0);
    assert_int_equal(nm_yarn_kept_new(w->dir, &w->state, w->keyring, w->used, &w->kept), 0);
}

static void end(struct world *w)
{
    w->kept = nm_yarn_kept_free(w->kept);
    w->used = nm_yarn_used_free(w->used);
    w->keyring = nm_yarn_keyring_free(w->keyring);
}

static void set_up(struct world *w)
{
    *w = (struct world){.dir = "/tmp/nmd-test-kept.XXXXXX"};
    assert_non_null(mkdtemp(w->dir));
    (void)snprintf(w->file, sizeof w->file, "%s/" NM_YARN_KEPT_FILE, w->dir);
    begin(w);
}

static void tear_down(struct world *w)
{
    end(w);
    remove_tree(w->dir);
}

/* A cluster's keys, an attempt that was here before the last two of them, and a container that it has started. */
static void fill(struct world *w, struct tokens_id *t)
{
    struct nm_yarn_container_id id;

    tokens_make(t, 1, 2, 3, 1000);
    id = nm_yarn_container_of(&t->container);
    tokens_state(&w->state);
    assert_int_equal(nm_yarn_keyring_remember(w->keyring, &t->nm), 0);
    w->state.nm_keys.previous = tokens_key(100, 100);
    w->state.nm_keys.current = tokens_key(101, 110);
    assert_int_equal(nm_yarn_used_make_room(w->used, 0), 0);
    nm_yarn_used_add(w->used, &id, 1000);
}

static void assert_known(struct world *w, const struct tokens_id *t)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(&t->container);
    const struct nm_yarn_master_key *key = nm_yarn_keyring_for_attempt(w->keyring, &t->nm);

    assert_non_null(key);
    assert_int_equal(key->bytes[0], 50);
    assert_int_equal(key->size, 8);
    assert_int_equal(w->state.nm_keys.current.id, 101);
    assert_int_equal(w->state.nm_keys.previous.id, 100);
    assert_int_equal(w->state.container_keys.current.id, TOKENS_CONTAINER_KEY);
    assert_int_equal(w->state.container_keys.previous.size, 0);
    assert_true(nm_yarn_used_has(w->used, &id));
}

static void test_restart(void **state)
{
    struct tokens_id t;
    struct world w;
    struct stat st;

    (void)state;
    set_up(&w);
    assert_int_equal(access(w.file, F_OK), -1);
    fill(&w, &t);
    nm_yarn_kept_save(w.kept);
    assert_int_equal(stat(w.file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    for (int i = 0; i < 3; i++) {
        end(&w);
        begin(&w);
        assert_known(&w, &t);
    }
    tear_down(&w);
}

/* It is written when there is something new, and then alone. */
static void test_when(void **state)
{
    struct nm_yarn_application_id application;
    struct tokens_id t;
    struct world w;

    (void)state;
    set_up(&w);
    nm_yarn_kept_save(w.kept);
    assert_int_equal(access(w.file, F_OK), -1);
    fill(&w, &t);
    nm_yarn_kept_save(w.kept);
    assert_int_equal(unlink(w.file), 0);
    nm_yarn_kept_save(w.kept);
    assert_int_equal(access(w.file, F_OK), -1);
    application = nm_yarn_application_of(&t.application);
    nm_yarn_keyring_forget(w.keyring, &application);
    nm_yarn_kept_save(w.kept);
    assert_int_equal(access(w.file, F_OK), 0);
    assert_int_equal(unlink(w.file), 0);
    w.state.container_keys.current.bytes[7]++;
    nm_yarn_kept_save(w.kept);
    assert_int_equal(access(w.file, F_OK), 0);
    end(&w);
    begin(&w);
    assert_null(nm_yarn_keyring_for_attempt(w.keyring, &t.nm));
    tear_down(&w);
}

static void put(const struct world *w, const char *data, size_t size)
{
    _cleanup_close_ int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(nm_write_bytes_atomic_at(fd, NM_YARN_KEPT_FILE, data, size, 0600), 0);
}

/* A file that is damaged in any way is no reason not to start. */
static void test_damage(void **state)
{
    struct tokens_id t;
    char data[2000];
    struct world w;
    size_t size;

    (void)state;
    set_up(&w);
    fill(&w, &t);
    end(&w);
    assert_int_equal(nm_read_file_at(AT_FDCWD, w.file, data, sizeof data, &size), 0);
    for (size_t i = 0; i < size; i++) {
        data[i] ^= (char)0x81;
        put(&w, data, size);
        begin(&w);
        end(&w);
        data[i] ^= (char)0x81;
        put(&w, data, i);
        begin(&w);
        end(&w);
    }
    put(&w, data, size);
    begin(&w);
    assert_known(&w, &t);
    end(&w);
    assert_int_equal(unlink(w.file), 0);
    assert_int_equal(symlink("/etc/passwd", w.file), 0);
    w.state = (struct nm_yarn_state){};
    assert_int_equal(nm_yarn_keyring_new(&w.state, &w.keyring), 0);
    assert_int_equal(nm_yarn_used_new(&w.used), 0);
    assert_true(nm_yarn_kept_new(w.dir, &w.state, w.keyring, w.used, &w.kept) < 0);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_when),
        cmocka_unit_test(test_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
