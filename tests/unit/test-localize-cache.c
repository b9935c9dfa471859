/* SPDX-License-Identifier: Apache-2.0 */

/* Tests localize/cache.h and cache-file.c with single cases, and with random histories that a simple model checks. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "localize/layout.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"

static struct nm_cache_key key_of(const char *uri)
{
    return (struct nm_cache_key){
        .visibility = NM_VISIBILITY_PRIVATE, .user = "alice", .application = "", .uri = uri, .pattern = ""};
}

/* Asks the cache for the resource, and marks a new resource as fetched. Returns the id of the resource. */
static uint64_t cache_one(struct nm_cache *c, const char *uri, uint64_t bytes, uint64_t now_usec)
{
    const struct nm_cache_key key = key_of(uri);
    uint64_t id;

    if (nm_cache_request(c, &key, now_usec, &id) == NM_CACHE_E_NEW)
        nm_cache_fetched(c, id, bytes);
    return id;
}

static void test_two_requests_for_a_resource_share_one_fetch(void **state)
{
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(100);
    const struct nm_cache_key key = key_of("a");
    uint64_t first, second, third;

    (void)state;
    assert_int_equal(nm_cache_request(c, &key, 1, &first), NM_CACHE_E_NEW);
    assert_int_equal(first, NM_CACHE_FIRST_ID);
    assert_int_equal(nm_cache_request(c, &key, 1, &second), NM_CACHE_E_FETCHING);
    nm_cache_fetched(c, first, 40);
    assert_int_equal(nm_cache_request(c, &key, 1, &third), NM_CACHE_E_READY);
    assert_int_equal(first, second);
    assert_int_equal(first, third);
    assert_int_equal(nm_cache_find(c, first)->users, 3);
    assert_int_equal(nm_cache_bytes(c), 40);
}

/* The entries of a key are listed with those that lookups don't find, and without those that are being removed. */
static void test_all_entries_of_a_key_can_be_kept_in_use(void **state)
{
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(0);
    const struct nm_cache_key a = key_of("a"), none = key_of("none");
    uint64_t ids[3] = {}, old, leaving, now, id;

    (void)state;
    assert_int_equal(nm_cache_list(c, &a, ids, NM_ARRAY_SIZE(ids)), 0);
    leaving = cache_one(c, "a", 1, 1);
    nm_cache_invalidate(c, leaving);
    nm_cache_release(c, leaving, 1);
    assert_int_equal(nm_cache_next_to_evict(c)->id, leaving);
    old = cache_one(c, "a", 1, 1);
    nm_cache_invalidate(c, old);
    now = cache_one(c, "a", 1, 1);
    (void)cache_one(c, "b", 1, 1);
    assert_int_equal(nm_cache_list(c, &none, ids, NM_ARRAY_SIZE(ids)), 0);
    assert_int_equal(nm_cache_list(c, &a, ids, 1), 2);
    assert_int_equal(ids[1], 0); /* not stored */
    assert_int_equal(nm_cache_list(c, &a, ids, NM_ARRAY_SIZE(ids)), 2);
    assert_true((ids[0] == old && ids[1] == now) || (ids[0] == now && ids[1] == old));
    nm_cache_use(c, old);
    nm_cache_use(c, now);
    nm_cache_release(c, old, 2);
    nm_cache_release(c, now, 2);
    assert_null(nm_cache_next_to_evict(c));
    nm_cache_release(c, old, 3);
    assert_int_equal(nm_cache_next_to_evict(c)->id, old);
    nm_cache_release(c, now, 3);
    assert_int_equal(nm_cache_next_to_evict(c)->id, now);

    nm_cache_removed(c, leaving);
    nm_cache_removed(c, old);
    nm_cache_removed(c, now);
    assert_int_equal(nm_cache_request(c, &a, 4, &id), NM_CACHE_E_NEW); /* not fetched yet */
    assert_int_equal(nm_cache_list(c, &a, ids, NM_ARRAY_SIZE(ids)), 0);
}

/* Two keys that differ in any member name different resources. */
static void test_different_keys_name_different_resources(void **state)
{
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(100);
    struct nm_cache_key keys[8];
    uint64_t id;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(keys); i++)
        keys[i] = key_of("a");
    keys[1].visibility = NM_VISIBILITY_APPLICATION;
    keys[2].user = "bob";
    keys[3].application = "x";
    keys[4].uri = "b";
    keys[5].type = 1;
    keys[6].timestamp_msec = 1;
    keys[7].pattern = ".*";
    for (size_t i = 0; i < NM_ARRAY_SIZE(keys); i++)
        assert_int_equal(nm_cache_request(c, &keys[i], 1, &id), NM_CACHE_E_NEW);
    for (size_t i = 0; i < NM_ARRAY_SIZE(keys); i++)
        assert_int_equal(nm_cache_request(c, &keys[i], 1, &id), NM_CACHE_E_FETCHING);
}

static void test_a_failed_fetch_is_repeated(void **state)
{
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(100);
    const struct nm_cache_key key = key_of("a");
    uint64_t first, second;

    (void)state;
    assert_int_equal(nm_cache_request(c, &key, 1, &first), NM_CACHE_E_NEW);
    nm_cache_failed(c, first);
    assert_int_equal(nm_cache_request(c, &key, 1, &second), NM_CACHE_E_NEW);
    assert_int_not_equal(first, second);
    /* the users that waited for the failed fetch haven't released the resource yet */
    assert_null(nm_cache_next_to_evict(c));
    nm_cache_release(c, first, 2);
    assert_int_equal(nm_cache_next_to_evict(c)->id, first);
    nm_cache_removed(c, first);
    assert_null(nm_cache_find(c, first));
    assert_non_null(nm_cache_find(c, second));
}

static void test_the_least_recently_used_resource_is_removed(void **state)
{
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(100);
    uint64_t a = cache_one(c, "a", 60, 1), b = cache_one(c, "b", 60, 2), d = cache_one(c, "d", 60, 3), next;
    const struct nm_cache_key key = key_of("b");

    (void)state;
    assert_null(nm_cache_next_to_evict(c)); /* all resources are in use */
    nm_cache_release(c, a, 10);
    nm_cache_release(c, b, 5);
    nm_cache_release(c, d, 20);
    assert_int_equal(nm_cache_next_to_evict(c)->id, b);
    /* an entry that is being removed isn't found any more */
    assert_int_equal(nm_cache_request(c, &key, 30, &next), NM_CACHE_E_NEW);
    assert_int_equal(nm_cache_next_to_evict(c)->id, a);
    assert_null(nm_cache_next_to_evict(c)); /* the cache has room for d */
    assert_int_equal(nm_cache_bytes(c), 180);
    nm_cache_removed(c, a);
    nm_cache_removed(c, b);
    assert_int_equal(nm_cache_bytes(c), 60);
}

static void test_the_end_of_an_application_removes_its_cached_resources(void **state)
{
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(100);
    struct nm_cache_key own = key_of("a"), other = key_of("a"), same_user = key_of("a");
    uint64_t id, other_id;

    (void)state;
    own.visibility = other.visibility = NM_VISIBILITY_APPLICATION;
    own.application = "app1";
    other.application = "app2";
    assert_int_equal(nm_cache_request(c, &own, 1, &id), NM_CACHE_E_NEW);
    assert_int_equal(nm_cache_request(c, &other, 1, &other_id), NM_CACHE_E_NEW);
    nm_cache_fetched(c, id, 1);
    nm_cache_fetched(c, other_id, 1);
    nm_cache_release(c, other_id, 1);
    nm_cache_end_application(c, "alice", "app1");
    assert_null(nm_cache_next_to_evict(c));
    nm_cache_release(c, id, 2);
    assert_int_equal(nm_cache_next_to_evict(c)->id, id);
    assert_null(nm_cache_next_to_evict(c));
    assert_int_equal(nm_cache_request(c, &same_user, 3, &id), NM_CACHE_E_NEW);
}

/* ---- files ---- */

static char directory[] = "/tmp/nmd-test-cache.XXXXXX";

static void test_each_resource_has_a_separate_path(void **state)
{
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(100), *later = nm_cache_new(100);
    _cleanup_(nm_cache_freep) struct nm_cache *next_boot = nm_cache_new(100);
    _cleanup_close_ int fd = -EBADF;
    const struct nm_cache_key unfinished = key_of("f"), a_key = key_of("a");
    uint64_t a = cache_one(c, "a", 30, 1000001), b = cache_one(c, "b", 30, 2000002), f;

    (void)state;
    assert_non_null(mkdtemp(directory));
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(nm_cache_request(c, &unfinished, 3, &f), NM_CACHE_E_NEW);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(nm_cache_file_save(fd, nm_cache_at(c, i), "boot1"), 0);
    assert_int_equal(nm_cache_file_touch(fd, a, 9000009), 0);
    (void)close(openat(fd, "nonsense", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    (void)close(openat(fd, "77", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));

    assert_int_equal(nm_cache_file_load(fd, "boot1", later), 0);
    assert_int_equal(nm_cache_bytes(later), 60);
    assert_int_equal(nm_cache_find(later, a)->used_usec, 9000009);
    assert_int_equal(nm_cache_find(later, b)->used_usec, 2000002);
    assert_string_equal(nm_cache_find(later, b)->key.uri, "b");
    /* the incomplete entry is still listed and can be removed; the file that isn't a note was removed */
    assert_int_equal(nm_cache_next_to_evict(later)->id, f);
    assert_null(nm_cache_next_to_evict(later));
    assert_int_equal(faccessat(fd, "nonsense", F_OK, 0), -1);
    assert_int_equal(nm_cache_request(later, &a_key, 5, &f), NM_CACHE_E_READY);
    assert_int_equal(f, a);
    assert_int_equal(nm_cache_request(later, &unfinished, 5, &f), NM_CACHE_E_NEW);
    assert_int_equal(f, 78);

    assert_int_equal(nm_cache_file_remove(fd, b), 0);
    assert_int_equal(nm_cache_file_remove(fd, b), 0);
    assert_int_equal(nm_cache_file_load(fd, "boot2", next_boot), 0);
    assert_null(nm_cache_find(next_boot, b));
    assert_int_equal(nm_cache_request(next_boot, &a_key, 5, &f), NM_CACHE_E_NEW);
    /* the ids of the unreadable files aren't used again, because directories with these ids may exist */
    assert_int_equal(f, 78);
    for (int i = 0; i < 2; i++)
        assert_non_null(nm_cache_next_to_evict(next_boot));
    assert_null(nm_cache_next_to_evict(next_boot));
    assert_int_equal(remove_tree(directory), 0);
}

/* Writes a note in the format of an earlier version, in which the members have another order. */
static void write_in_another_order(int fd, const char *name)
{
    _cleanup_close_ int file = openat(fd, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
    const char *text = "{\"boot\":\"boot1\",\"whole\":false,\"visibility\":\"PUBLIC\",\"user\":\"\","
                       "\"application\":\"\",\"uri\":\"a\",\"type\":0,\"timestamp\":0,\"pattern\":\"\",\"bytes\":0}";

    assert_int_equal(nm_write_all(file, text, strlen(text)), 0);
}

static uint64_t bytes_and_use_after_restart(int fd, uint64_t id, uint64_t *ret_used_usec)
{
    _cleanup_(nm_cache_freep) struct nm_cache *later = nm_cache_new(100);
    const struct nm_cache_entry *e;

    assert_int_equal(nm_cache_file_load(fd, "boot1", later), 0);
    e = nm_cache_find(later, id);
    assert_non_null(e);
    *ret_used_usec = e->used_usec;
    return e->is_leaving ? UINT64_MAX : e->bytes;
}

/* nmd keeps the same file for a note as long as the resource exists, because some file systems search long for a free
 * inode after a removal. nmd replaces only the file of an earlier version's note. */
static void test_a_resource_has_the_same_note_file_until_its_removal(void **state)
{
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(100);
    _cleanup_close_ int fd = -EBADF;
    const struct nm_cache_key key = key_of("a");
    struct stat first, st;
    uint64_t id, used;

    (void)state;
    (void)strcpy(directory + strlen(directory) - 6, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int is_old = 0; is_old < 2; is_old++) {
        assert_int_equal(nm_cache_request(c, &key, 7000007, &id), NM_CACHE_E_NEW);
        assert_int_equal(nm_cache_file_note(fd, c, id, "boot1"), 0);
        assert_int_equal(bytes_and_use_after_restart(fd, id, &used), UINT64_MAX);
        if (is_old)
            write_in_another_order(fd, "11");
        assert_int_equal(fstatat(fd, is_old ? "11" : "10", &first, 0), 0);
        nm_cache_fetched(c, id, 42);
        assert_int_equal(nm_cache_file_note(fd, c, id, "boot1"), 0);
        assert_int_equal(fstatat(fd, is_old ? "11" : "10", &st, 0), 0);
        assert_int_equal(st.st_ino == first.st_ino, !is_old);
        assert_int_equal(bytes_and_use_after_restart(fd, id, &used), 42);
        assert_int_equal(used, 7000007);
        nm_cache_invalidate(c, id);
        assert_int_equal(nm_cache_file_note(fd, c, id, "boot1"), 0);
        assert_int_equal(bytes_and_use_after_restart(fd, id, &used), UINT64_MAX);
        nm_cache_release(c, id, 8);
        assert_int_equal(nm_cache_next_to_evict(c)->id, id);
        assert_int_equal(nm_cache_file_remove(fd, id), 0);
        nm_cache_removed(c, id);
    }
    assert_int_equal(remove_tree(directory), 0);
}

/* The note keeps the mark that the resource has a list, whether nmd changes the note in place or writes a new file. */
static void test_a_changed_note_still_records_that_a_list_exists(void **state)
{
    _cleanup_close_ int fd = -EBADF;

    (void)state;
    (void)strcpy(directory + strlen(directory) - 6, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < 4; i++) {
        _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(100), *later = nm_cache_new(100);
        const struct nm_cache_key key = key_of("a");
        uint64_t id;

        assert_int_equal(nm_cache_request(c, &key, 7000007, &id), NM_CACHE_E_NEW);
        assert_int_equal(nm_cache_file_note(fd, c, id, "boot1"), 0);
        if (i & 1)
            write_in_another_order(fd, "10");
        if (i & 2)
            nm_cache_listed(c, id);
        nm_cache_fetched(c, id, 42);
        assert_int_equal(nm_cache_file_note(fd, c, id, "boot1"), 0);
        assert_int_equal(nm_cache_file_load(fd, "boot1", later), 0);
        assert_int_equal(nm_cache_find(later, id)->is_listed, (i & 2) != 0);
        assert_int_equal(nm_cache_find(later, id)->is_leaving, false);
        assert_int_equal(nm_cache_file_remove(fd, id), 0);
    }
    assert_int_equal(remove_tree(directory), 0);
}

/* ---- random histories ---- */

#define N_URIS 12
#define MOST_BYTES 300
#define MAX_USERS 40

/* The model: the entries that are in use, and the entries on the disk. */
struct model {
    struct nm_cache *cache;
    uint64_t in_use[MAX_USERS]; /* ids; 0: no resource */
    uint64_t disk[256], disk_bytes[256];
    size_t n_disk;
    uint64_t now_usec;
    unsigned random;
};

static unsigned draw(struct model *a, unsigned below)
{
    a->random = a->random * 1103515245 + 12345;
    return (a->random >> 16) % below;
}

static bool is_used(const struct model *a, uint64_t id)
{
    for (size_t i = 0; i < MAX_USERS; i++)
        if (a->in_use[i] == id)
            return true;
    return false;
}

static void ask_or_release(struct model *a)
{
    unsigned who = draw(a, MAX_USERS);
    char uri[16];
    struct nm_cache_key key = key_of(uri);
    uint64_t id;
    int r;

    if (a->in_use[who]) {
        nm_cache_release(a->cache, a->in_use[who], a->now_usec);
        a->in_use[who] = 0;
        return;
    }
    (void)snprintf(uri, sizeof uri, "u%u", draw(a, N_URIS));
    if (draw(a, 4) == 0) {
        key.visibility = NM_VISIBILITY_APPLICATION;
        key.application = "app";
    }
    r = nm_cache_request(a->cache, &key, a->now_usec, &id);
    assert_in_range(r, NM_CACHE_E_READY, NM_CACHE_E_NEW);
    for (size_t i = 0; i < NM_ARRAY_SIZE(a->in_use); i++)
        assert_true(r != NM_CACHE_E_NEW || a->in_use[i] != id);
    a->in_use[who] = id;
}

static void end_a_fetch(struct model *a)
{
    const struct nm_cache_entry *e;

    for (size_t i = draw(a, N_URIS); (e = nm_cache_at(a->cache, i)); i++)
        if (e->state == NM_CACHE_FETCHING) {
            uint64_t id = e->id, bytes = draw(a, 120);

            if (draw(a, 5) == 0) {
                nm_cache_failed(a->cache, id);
                return;
            }
            nm_cache_fetched(a->cache, id, bytes);
            assert_true(a->n_disk < NM_ARRAY_SIZE(a->disk));
            a->disk[a->n_disk] = id;
            a->disk_bytes[a->n_disk++] = bytes;
            return;
        }
}

/* The model's rule for removals, without a heap: first the entries with is_leaving; then, while the cache is too large,
 * the least recently used entries. */
static bool has_to_leave(const struct model *a, bool *ret_invalidated, uint64_t *ret_used_usec)
{
    const struct nm_cache_entry *e;
    uint64_t leaving = 0;
    bool found = false;

    *ret_invalidated = false;
    for (size_t i = 0; (e = nm_cache_at(a->cache, i)); i++) {
        if (e->state == NM_CACHE_LEAVING)
            leaving += e->bytes;
        if (e->state != NM_CACHE_READY || e->users > 0)
            continue;
        if (!found || e->is_leaving > *ret_invalidated ||
            (e->is_leaving == *ret_invalidated && e->used_usec < *ret_used_usec)) {
            *ret_invalidated = e->is_leaving;
            *ret_used_usec = e->used_usec;
        }
        found = true;
    }
    return found && (*ret_invalidated || nm_cache_bytes(a->cache) - leaving > MOST_BYTES);
}

static void leave(struct model *a, bool is_at_once)
{
    const struct nm_cache_entry *e;
    uint64_t used_usec;
    bool invalidated;

    for (;;) {
        const bool has_to = has_to_leave(a, &invalidated, &used_usec);
        uint64_t id;

        e = nm_cache_next_to_evict(a->cache);
        assert_int_equal(e != NULL, has_to);
        if (!e)
            return;
        assert_int_equal(e->is_leaving, invalidated);
        assert_int_equal(e->used_usec, used_usec);
        id = e->id;
        assert_false(is_used(a, id));
        if (!is_at_once)
            return;
        nm_cache_removed(a->cache, id);
    }
}

/* Completes all removals that the cache has begun. */
static void finish_leaving(struct model *a)
{
    const struct nm_cache_entry *e;

    for (size_t i = 0; (e = nm_cache_at(a->cache, i));)
        if (e->state == NM_CACHE_LEAVING)
            nm_cache_removed(a->cache, e->id);
        else
            i++;
}

static void check_model(struct model *a)
{
    const struct nm_cache_entry *e;
    uint64_t bytes = 0;

    for (size_t i = 0; (e = nm_cache_at(a->cache, i)); i++) {
        unsigned users = 0;

        bytes += e->bytes;
        assert_ptr_equal(nm_cache_find(a->cache, e->id), e);
        assert_true(e->is_leaving || e->state == NM_CACHE_LEAVING || nm_cache_has(a->cache, &e->key));
        for (size_t k = 0; k < MAX_USERS; k++)
            users += a->in_use[k] == e->id;
        assert_int_equal(e->users, users);
        assert_false(e->state == NM_CACHE_LEAVING && users > 0);
        /* a lookup finds at most one entry of a key, so a resource is fetched only once */
        for (size_t k = 0; k < i; k++) {
            const struct nm_cache_entry *o = nm_cache_at(a->cache, k);

            assert_int_not_equal(o->id, e->id);
            assert_false(o->key.visibility == e->key.visibility && nm_streq(o->key.uri, e->key.uri) && !o->is_leaving &&
                         !e->is_leaving && o->state != NM_CACHE_LEAVING && e->state != NM_CACHE_LEAVING);
        }
    }
    assert_int_equal(nm_cache_bytes(a->cache), bytes);
    for (size_t i = 0; i < a->n_disk;) {
        e = nm_cache_find(a->cache, a->disk[i]);
        if (e) {
            assert_int_equal(e->bytes, a->disk_bytes[i++]);
            continue;
        }
        a->n_disk--;
        a->disk[i] = a->disk[a->n_disk];
        a->disk_bytes[i] = a->disk_bytes[a->n_disk];
    }
    for (size_t k = 0; k < MAX_USERS; k++)
        assert_true(!a->in_use[k] || nm_cache_find(a->cache, a->in_use[k]));
}

/* Checks that the cache is within its limit after all removals, or that all remaining entries are in use. */
static void check_room(struct model *a)
{
    const struct nm_cache_entry *e;

    finish_leaving(a);
    leave(a, true);
    if (nm_cache_bytes(a->cache) <= MOST_BYTES)
        return;
    for (size_t i = 0; (e = nm_cache_at(a->cache, i)); i++)
        assert_true(e->users > 0 || e->state == NM_CACHE_FETCHING);
}

static void test_cache_counts_match_the_model_in_random_histories(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct model a = {.cache = nm_cache_new(MOST_BYTES), .random = seed};

        for (int step = 0; step < 500; step++) {
            unsigned what = draw(&a, 20);

            a.now_usec += draw(&a, 3);
            if (what < 12)
                ask_or_release(&a);
            else if (what < 16)
                end_a_fetch(&a);
            else if (what < 18)
                leave(&a, what == 16);
            else if (what < 19)
                finish_leaving(&a);
            else if (draw(&a, 10) == 0)
                nm_cache_end_application(a.cache, "alice", "app");
            check_model(&a);
        }
        check_room(&a);
        nm_cache_free(a.cache);
    }
}

/* The cache holds the resources of thousands of containers. If each lookup and removal scanned all of them, the test
 * would take minutes. */
static void test_look_ups_among_many_resources_are_fast(void **state)
{
    enum { MANY = 200000 };
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(MANY);
    const clock_t begun = clock();
    char uri[24];

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(uri, sizeof uri, "%u", i);
        assert_int_equal(cache_one(c, uri, 1, i), NM_CACHE_FIRST_ID + i);
    }
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(uri, sizeof uri, "%u", i);
        assert_int_equal(cache_one(c, uri, 1, MANY), NM_CACHE_FIRST_ID + i);
        nm_cache_release(c, NM_CACHE_FIRST_ID + i, MANY);
        nm_cache_release(c, NM_CACHE_FIRST_ID + i, MANY + i);
    }
    assert_int_equal(nm_cache_bytes(c), MANY);
    nm_cache_set_room(c, 0);
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(nm_cache_next_to_evict(c)->id, NM_CACHE_FIRST_ID + i);
        nm_cache_removed(c, NM_CACHE_FIRST_ID + i);
    }
    assert_int_equal(nm_cache_bytes(c), 0);
    assert_true(clock() - begun < 20 * CLOCKS_PER_SEC);
}

/* Empty files use no bytes, so the cache also limits the number of entries. */
static void test_the_number_of_cached_entries_is_limited(void **state)
{
    enum { MORE = 100 };
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(1);
    char uri[24];

    (void)state;
    for (unsigned i = 0; i < NM_CACHE_ENTRIES_MAX + MORE; i++) {
        (void)snprintf(uri, sizeof uri, "%u", i);
        nm_cache_release(c, cache_one(c, uri, 0, i), i);
    }
    for (unsigned i = 0; i < MORE; i++)
        assert_int_equal(nm_cache_next_to_evict(c)->id, NM_CACHE_FIRST_ID + i);
    /* the number is already within the limit, although the removals aren't complete */
    assert_null(nm_cache_next_to_evict(c));
    for (unsigned i = 0; i < MORE; i++)
        nm_cache_removed(c, NM_CACHE_FIRST_ID + i);
    assert_null(nm_cache_next_to_evict(c));
    nm_cache_set_room(c, 0);
    for (unsigned i = 0; i < NM_CACHE_ENTRIES_MAX; i++)
        nm_cache_removed(c, nm_cache_next_to_evict(c)->id);
    assert_null(nm_cache_at(c, 0));
}

/* The end of an application visits only the resources of this application. Otherwise the test would take minutes. */
static void test_the_end_of_an_application_visits_only_its_own_resources(void **state)
{
    enum { MANY = 200000 };
    _cleanup_(nm_cache_freep) struct nm_cache *c = nm_cache_new(MANY);
    struct nm_cache_key key = key_of("a");
    const clock_t begun = clock();
    char application[24];
    uint64_t id;

    (void)state;
    key.visibility = NM_VISIBILITY_APPLICATION;
    key.application = application;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(application, sizeof application, "%u", i / 2);
        key.uri = i % 2 ? "a" : "b";
        assert_int_equal(nm_cache_request(c, &key, i, &id), NM_CACHE_E_NEW);
        nm_cache_fetched(c, id, 0);
        nm_cache_release(c, id, i);
    }
    for (unsigned i = 0; i < MANY / 2; i++) {
        (void)snprintf(application, sizeof application, "%u", i);
        nm_cache_end_application(c, "alice", application);
        for (unsigned k = 0; k < 2; k++) {
            const struct nm_cache_entry *e = nm_cache_next_to_evict(c);

            assert_string_equal(e->key.application, application);
            nm_cache_removed(c, e->id);
        }
    }
    assert_null(nm_cache_at(c, 0));
    assert_true(clock() - begun < 20 * CLOCKS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_requests_for_a_resource_share_one_fetch),
        cmocka_unit_test(test_all_entries_of_a_key_can_be_kept_in_use),
        cmocka_unit_test(test_different_keys_name_different_resources),
        cmocka_unit_test(test_a_failed_fetch_is_repeated),
        cmocka_unit_test(test_the_least_recently_used_resource_is_removed),
        cmocka_unit_test(test_the_end_of_an_application_removes_its_cached_resources),
        cmocka_unit_test(test_each_resource_has_a_separate_path),
        cmocka_unit_test(test_a_resource_has_the_same_note_file_until_its_removal),
        cmocka_unit_test(test_a_changed_note_still_records_that_a_list_exists),
        cmocka_unit_test(test_cache_counts_match_the_model_in_random_histories),
        cmocka_unit_test(test_look_ups_among_many_resources_are_fast),
        cmocka_unit_test(test_the_number_of_cached_entries_is_limited),
        cmocka_unit_test(test_the_end_of_an_application_visits_only_its_own_resources),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
