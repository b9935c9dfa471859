/* SPDX-License-Identifier: Apache-2.0 */

/* Keys and tokens that nmd still knows after a restart. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fail-nth.h"
#include "remove-tree.h"
#include "util/fileio.h"
#include "yarn-tokens.h"
#include "yarn/cm-protocol/key-store.h"
#include "yarn/id-messages.h"

struct fixture {
    char dir[64], file[96];
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_keyring *keyring;
    struct nm_yarn_used *used;
    struct nm_yarn_key_store *key_store;
};

static void begin(struct fixture *w)
{
    w->keys = (struct nm_yarn_cluster_keys){};
    assert_int_equal(nm_yarn_keyring_new(&w->keys, &w->keyring), 0);
    assert_int_equal(nm_yarn_used_new(&w->used), 0);
    assert_int_equal(nm_yarn_key_store_new(w->dir, &w->keys, w->keyring, w->used, &w->key_store), 0);
}

static void end(struct fixture *w)
{
    w->key_store = nm_yarn_key_store_free(w->key_store);
    w->used = nm_yarn_used_free(w->used);
    w->keyring = nm_yarn_keyring_free(w->keyring);
}

static void set_up(struct fixture *w)
{
    *w = (struct fixture){.dir = "/tmp/nmd-test-key-store.XXXXXX"};
    assert_non_null(mkdtemp(w->dir));
    (void)snprintf(w->file, sizeof w->file, "%s/" NM_YARN_KEY_STORE_FILE, w->dir);
    begin(w);
}

static void tear_down(struct fixture *w)
{
    end(w);
    remove_tree(w->dir);
}

/* Adds the keys of a cluster, an attempt whose key is older than the last two keys, and a container that this attempt
 * has started. */
static void fill(struct fixture *w, struct tokens_id *t)
{
    struct nm_yarn_container_id id;

    tokens_make(t, 1, 2, 3, 1000);
    id = nm_yarn_container_of(&t->container);
    tokens_cluster(&w->keys);
    assert_int_equal(nm_yarn_keyring_add(w->keyring, &t->nm), 0);
    w->keys.nm.previous = tokens_key(100, 100);
    w->keys.nm.current = tokens_key(101, 110);
    assert_int_equal(nm_yarn_used_make_room(w->used, 0), 0);
    nm_yarn_used_add(w->used, &id, 1000);
}

static void assert_known(struct fixture *w, const struct tokens_id *t)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(&t->container);
    const struct nm_yarn_master_key *key = nm_yarn_keyring_for_attempt(w->keyring, &t->nm);

    assert_non_null(key);
    assert_int_equal(key->bytes[0], 50);
    assert_int_equal(key->size, 8);
    assert_int_equal(w->keys.nm.current.id, 101);
    assert_int_equal(w->keys.nm.previous.id, 100);
    assert_int_equal(w->keys.container.current.id, TOKENS_CONTAINER_KEY);
    assert_int_equal(w->keys.container.previous.size, 0);
    assert_true(nm_yarn_used_has(w->used, &id));
}

static void test_keys_survive_a_restart(void **state)
{
    struct tokens_id t;
    struct fixture w;
    struct stat st;

    (void)state;
    set_up(&w);
    assert_int_equal(access(w.file, F_OK), -1);
    fill(&w, &t);
    nm_yarn_key_store_save(w.key_store);
    assert_int_equal(stat(w.file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    for (int i = 0; i < 3; i++) {
        end(&w);
        begin(&w);
        assert_known(&w, &t);
    }
    tear_down(&w);
}

/* The file is written only when a key or token has changed. */
static void test_the_file_of_keys_is_written_only_after_a_change(void **state)
{
    struct nm_yarn_application_id application;
    struct tokens_id t;
    struct fixture w;

    (void)state;
    set_up(&w);
    nm_yarn_key_store_save(w.key_store);
    assert_int_equal(access(w.file, F_OK), -1);
    fill(&w, &t);
    nm_yarn_key_store_save(w.key_store);
    assert_int_equal(unlink(w.file), 0);
    nm_yarn_key_store_save(w.key_store);
    assert_int_equal(access(w.file, F_OK), -1);
    application = nm_yarn_application_of(&t.application);
    nm_yarn_keyring_drop(w.keyring, &application);
    nm_yarn_key_store_save(w.key_store);
    assert_int_equal(access(w.file, F_OK), 0);
    assert_int_equal(unlink(w.file), 0);
    w.keys.container.current.bytes[7]++;
    nm_yarn_key_store_save(w.key_store);
    assert_int_equal(access(w.file, F_OK), 0);
    end(&w);
    begin(&w);
    assert_null(nm_yarn_keyring_for_attempt(w.keyring, &t.nm));
    tear_down(&w);
}

static void put(const struct fixture *w, const char *data, size_t size)
{
    _cleanup_close_ int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(nm_write_bytes_atomic_at(fd, NM_YARN_KEY_STORE_FILE, data, size, 0600), 0);
}

static void test_a_damaged_file_of_keys_does_not_prevent_a_start(void **state)
{
    struct tokens_id t;
    char data[2000];
    struct fixture w;
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
    w.keys = (struct nm_yarn_cluster_keys){};
    assert_int_equal(nm_yarn_keyring_new(&w.keys, &w.keyring), 0);
    assert_int_equal(nm_yarn_used_new(&w.used), 0);
    assert_true(nm_yarn_key_store_new(w.dir, &w.keys, w.keyring, w.used, &w.key_store) < 0);
    tear_down(&w);
}

/* ---- failed writes ------------------------------------------------------------------------ */

#define MANY 300

static void fill_much(struct fixture *w, struct tokens_id *t)
{
    struct nm_yarn_container_id id;

    fill(w, t);
    for (int i = 0; i < MANY; i++) {
        t->attempt.attempt = 100 + i;
        t->nm.key_id = 101;
        assert_int_equal(nm_yarn_keyring_add(w->keyring, &t->nm), 0);
        t->container.id = 100 + i;
        id = nm_yarn_container_of(&t->container);
        assert_int_equal(nm_yarn_used_make_room(w->used, 0), 0);
        nm_yarn_used_add(w->used, &id, 1000 + i);
    }
}

/* Reads the file as the next nmd does. Returns the last byte of the current key, and checks that all other data is
 * complete. */
static uint8_t look(const struct fixture *w)
{
    const struct nm_yarn_master_key *key;
    struct fixture other = *w;
    struct nm_yarn_container_id id;
    struct nm_yarn_attempt_id attempt;
    int64_t expires_msec;
    uint8_t last;

    begin(&other);
    last = other.keys.nm.current.bytes[7];
    assert_true(nm_yarn_keyring_get(other.keyring, MANY, &attempt, &key));
    assert_true(nm_yarn_used_get(other.used, MANY, &id, &expires_msec));
    end(&other);
    return last;
}

static void save_with_failures(void *userdata)
{
    struct fixture *w = userdata;
    uint8_t *last = &w->keys.nm.current.bytes[7], seen;
    unsigned kinds;

    ++*last;
    nm_yarn_key_store_save(w->key_store);
    kinds = fail_pause();
    seen = look(w);
    assert_true(seen == *last || (uint8_t)(seen + 1) == *last);
    nm_yarn_key_store_save(w->key_store); /* the next attempt succeeds */
    assert_int_equal(look(w), *last);
    fail_resume(kinds);
}

/* Runs `try` with a large file. At least these numbers of allocations and file operations must be able to fail. */
static void try_with_failures(void (*try)(void *userdata), unsigned memory_least, unsigned files_least)
{
    struct tokens_id t;
    struct fixture w;

    set_up(&w);
    fill_much(&w, &t);
    nm_yarn_key_store_save(w.key_store);
    assert_true(fail_each_of(FAIL_MEMORY, try, &w) >= memory_least);
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, try, &w) >= files_least);
    tear_down(&w);
}

/* After any failure the file contains either the old or the new data. Saving is repeated later. */
static void test_saving_the_keys_is_repeated_after_a_failure(void **state)
{
    (void)state;
    try_with_failures(save_with_failures, 21, 3);
}

/* Starts an nmd. If the file can't be read, nmd doesn't remove it. */
static void take_over_with_failures(void *userdata)
{
    struct fixture *w = userdata, other = *w;
    unsigned kinds = fail_pause();
    int r;

    other.keys = (struct nm_yarn_cluster_keys){};
    assert_int_equal(nm_yarn_keyring_new(&other.keys, &other.keyring), 0);
    assert_int_equal(nm_yarn_used_new(&other.used), 0);
    other.key_store = NULL;
    fail_resume(kinds);
    r = nm_yarn_key_store_new(w->dir, &other.keys, other.keyring, other.used, &other.key_store);
    kinds = fail_pause();
    if (r < 0)
        assert_null(other.key_store);
    end(&other);
    assert_int_equal(look(w), w->keys.nm.current.bytes[7]);
    fail_resume(kinds);
}

static void test_a_file_of_keys_that_could_not_be_read_is_not_removed(void **state)
{
    (void)state;
    try_with_failures(take_over_with_failures, 11, 3);
}

/* Incomplete entries are skipped, and complete ones are restored. */
static void test_incomplete_entries_of_the_file_are_skipped(void **state)
{
    Yarn__StoredKeys m = YARN__STORED_KEYS__INIT;
    Yarn__KnownAttempt bare = YARN__KNOWN_ATTEMPT__INIT, no_key = bare, good = bare;
    Yarn__KnownAttempt *attempts[] = {&bare, &no_key, &good};
    Yarn__UsedToken nothing = YARN__USED_TOKEN__INIT, used = nothing, *tokens[] = {&nothing, &used};
    struct nm_yarn_master_key key = tokens_key(9, 9);
    Yarn__MasterKey message = nm_yarn_key_message(&key), empty = YARN__MASTER_KEY__INIT;
    Yarn__MasterKey *bad_first[] = {&empty, &message}, *bad_last[] = {&message, &empty};
    const struct nm_yarn_master_key *found;
    struct nm_yarn_attempt_id id;
    struct nm_yarn_container_id container;
    struct tokens_id t;
    int64_t expires_msec;
    uint8_t packed[500];
    struct fixture w;

    (void)state;
    tokens_ids(&t, 1, 2, 3);
    no_key.attempt = good.attempt = &t.attempt;
    good.key = &message;
    used.container = &t.container;
    m.attempts = attempts, m.n_attempts = 3;
    m.used = tokens, m.n_used = 2;
    m.container_keys = bad_first, m.n_container_keys = 2;
    m.nm_keys = bad_last, m.n_nm_keys = 2;
    set_up(&w);
    end(&w);
    assert_true(yarn__stored_keys__get_packed_size(&m) <= sizeof packed);
    put(&w, (char *)packed, yarn__stored_keys__pack(&m, packed));
    begin(&w);
    assert_true(nm_yarn_keyring_get(w.keyring, 0, &id, &found));
    assert_int_equal(found->id, 9);
    assert_false(nm_yarn_keyring_get(w.keyring, 1, &id, &found));
    assert_true(nm_yarn_used_get(w.used, 0, &container, &expires_msec));
    assert_int_equal(container.number, 3);
    assert_false(nm_yarn_used_get(w.used, 1, &container, &expires_msec));
    assert_int_equal(w.keys.container.current.size, 0);
    assert_int_equal(w.keys.nm.current.id, 9);
    assert_int_equal(w.keys.nm.previous.size, 0);
    tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_survive_a_restart),
        cmocka_unit_test(test_the_file_of_keys_is_written_only_after_a_change),
        cmocka_unit_test(test_a_damaged_file_of_keys_does_not_prevent_a_start),
        cmocka_unit_test(test_saving_the_keys_is_repeated_after_a_failure),
        cmocka_unit_test(test_a_file_of_keys_that_could_not_be_read_is_not_removed),
        cmocka_unit_test(test_incomplete_entries_of_the_file_are_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
