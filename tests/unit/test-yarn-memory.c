/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of yarn/ when memory runs out: the error is reported, outputs stay unchanged, and no operation is done
 * partially. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail-nth.h"
#include "remove-tree.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/allocator/allocator.h"
#include "yarn/conf/settings.h"
#include "yarn/conf/settings-parts.h"
#include "yarn/cm-protocol/key-store.h"
#include "yarn/node/container-table.h"
#include "yarn/proxy/proxy-store.h"

/* ---- a cluster's configuration --------------------------------------------------------------- */

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"

static const char site[] =
    "<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n"
    "<xi:include href=\"more.xml\"/>\n"
    P("yarn.resourcemanager.ha.enabled", "true")
    P("yarn.resourcemanager.ha.rm-ids", "one,two")
    P("yarn.resourcemanager.hostname.one", "rm1.${domain}")
    P("yarn.resourcemanager.hostname.two", "rm2.${domain}")
    P("yarn.nodemanager.local-dirs", "/a,/b/${env.NM_TEST_NOTHING:-c}")
    P("yarn.nodemanager.opportunistic-containers-max-queue-length", "30")
    P("nmd.queue.max", "20")
    P("fs.defaultFS", "hdfs://names")
    P("dfs.nameservices", "names")
    P("dfs.ha.namenodes.names", "n1,n2")
    P("dfs.namenode.http-address.names.n1", "h1:1")
    P("dfs.namenode.http-address.names.n2", "h2:2")
    P("nmd.webhdfs.ca-file", "/ca.pem")
    P("nmd.fetch-command.s3a", "/bin/get {uri} {target}")
    "</configuration>\n";
static const char more[] = "<configuration>" P("domain", "example") "</configuration>\n";

static void put_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

static void no_warning(const char *sentence, void *userdata)
{
    (void)sentence, (void)userdata;
}

static int load(void *userdata)
{
    struct nm_yarn_settings *const untouched = userdata, *s = untouched;
    char *message = NULL;
    int r = nm_yarn_settings_load(userdata, no_warning, NULL, &s, &message);

    free(message);
    if (r < 0) {
        assert_ptr_equal(s, untouched);
        return r;
    }
    assert_int_equal(s->n_trackers, 2);
    assert_string_equal(s->trackers[1].host, "rm2.example");
    assert_string_equal(s->local_dirs[1], "/b/c");
    nm_yarn_settings_free(s);
    return 0;
}

/* Converts the settings for nmctl config, either completely or not at all. */
static int show(void *userdata)
{
    json_t *shown = nm_yarn_settings_to_json(userdata);
    size_t n = json_array_size(shown);

    if (!shown)
        return -ENOMEM;
    json_decref(shown);
    assert_true(n > 20);
    return 0;
}

static int find_sources(void *userdata)
{
    json_t *const untouched = userdata, *name_nodes = untouched, *webhdfs = untouched, *commands = untouched,
           *lacking = untouched;
    int r = nm_yarn_sources_read(userdata, &name_nodes, &webhdfs, &commands, &lacking);

    if (r < 0) {
        assert_ptr_equal(name_nodes, untouched);
        assert_ptr_equal(webhdfs, untouched);
        assert_ptr_equal(commands, untouched);
        assert_ptr_equal(lacking, untouched);
        return r;
    }
    assert_int_equal(json_array_size(json_object_get(name_nodes, "names")), 2);
    assert_int_equal(json_array_size(json_object_get(commands, "s3a")), 3);
    json_decref(name_nodes);
    assert_string_equal(json_string_value(json_object_get(webhdfs, "ca_file")), "/ca.pem");
    json_decref(webhdfs);
    json_decref(commands);
    json_decref(lacking);
    return 0;
}

static void test_a_configuration_without_memory_is_an_error(void **state)
{
    char dir[] = "/tmp/nmd-test-memory.XXXXXX", *message = NULL;
    struct nm_refusals refusals = {};
    struct nm_yarn_settings *s;
    struct nm_yarn_conf *c;

    (void)state;
    assert_non_null(mkdtemp(dir));
    put_file(dir, "yarn-site.xml", site);
    put_file(dir, "more.xml", more);
    assert_true(fail_each(load, dir) > 50);

    assert_int_equal(nm_yarn_settings_load(dir, no_warning, NULL, &s, &message), 0);
    assert_true(fail_each(show, s) > 50);
    nm_yarn_settings_free(s);

    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_dir(c, dir, &refusals, &message), 0);
    assert_true(fail_each(find_sources, c) > 10);
    nm_yarn_conf_free(c);
    remove_tree(dir);
}

/* ---- placement of containers ----------------------------------------------------------------- */

static const struct nm_yarn_alloc_node nodes[] = {
    {.host = "a", .port = 1, .web_address = "a:2", .rack = "/r", .room = 5},
    {.host = "b", .port = 1, .web_address = "b:2", .rack = "/r", .room = 5},
};
static const struct nm_yarn_ask asks[] = {
    {.priority = 1, .size = {512, 1}, .count = 3, .where = "*", .relax = true},
    {.priority = 1, .size = {512, 1}, .count = 3, .where = "/r", .relax = true},
    {.priority = 1, .size = {512, 1}, .count = 1, .where = "b", .relax = true},
    {.priority = 2, .size = {1024, 1}, .count = 1, .where = "*", .relax = true},
};
static const char *const blacklist[] = {"c", "d"};
static const struct nm_yarn_alloc_request request = {asks, NM_ARRAY_SIZE(asks), blacklist, NULL, 2, 0};

static int heartbeat(struct nm_yarn_allocator *a)
{
    const struct nm_yarn_placement *placed;
    size_t n = 0;
    int r = nm_yarn_allocator_set_nodes(a, nodes, NM_ARRAY_SIZE(nodes));

    if (r == 0)
        r = nm_yarn_allocator_ask(a, &request, NM_USEC_PER_SEC);
    if (r == 0)
        r = nm_yarn_allocator_allocate(a, NM_USEC_PER_SEC, &placed, &n);
    if (r == 0)
        assert_int_equal(n, 4);
    return r;
}

static int try_to_allocate(void *userdata)
{
    const struct nm_yarn_alloc_limits limits = {
        .min = {256, 1}, .max = {4096, 4}, .increment = {256, 1}, .fill = true, .queue_length = 10, .window_usec = 1,
    };
    struct nm_yarn_allocator *a;
    int r = nm_yarn_allocator_new(&a);

    (void)userdata;
    if (r < 0)
        return r;
    nm_yarn_allocator_set_limits(a, &limits);
    r = heartbeat(a);
    /* A repeated request has the same effect as one request. No container is lost or placed twice. */
    if (r < 0)
        assert_int_equal(heartbeat(a), 0);
    assert_int_equal(nm_yarn_allocator_figures(a).outstanding, 0);
    assert_int_equal(nm_yarn_allocator_figures(a).blacklisted, 2);
    nm_yarn_allocator_free(a);
    return r;
}

static int keep(void *userdata)
{
    struct nm_yarn_allocator *again = userdata;
    uint8_t *packed = NULL;
    size_t size = 0;
    int r = nm_yarn_allocator_pack(userdata, &packed, &size);

    if (r == 0)
        r = nm_yarn_allocator_restore((struct nm_bytes){packed, size}, &again);
    if (r == 0) {
        assert_int_equal(nm_yarn_allocator_figures(again).outstanding, 4);
        nm_yarn_allocator_free(again);
    }
    free(packed);
    return r;
}

static void test_an_ask_without_memory_has_no_effect(void **state)
{
    struct nm_yarn_allocator *a;

    (void)state;
    assert_true(fail_each(try_to_allocate, NULL) > 10);
    assert_int_equal(nm_yarn_allocator_new(&a), 0);
    assert_int_equal(nm_yarn_allocator_ask(a, &request, 1), 0);
    assert_true(fail_each(keep, a) > 5);
    nm_yarn_allocator_free(a);
}

/* ---- used tokens ----------------------------------------------------------------------------- */

static int use(void *userdata)
{
    struct nm_yarn_container_id id = {.number = 7};
    struct nm_yarn_used *u;
    int r = nm_yarn_used_new(&u);

    (void)userdata;
    if (r < 0)
        return r;
    r = nm_yarn_used_make_room(u, 0);
    if (r == 0) {
        nm_yarn_used_add(u, &id, 1000);
        assert_true(nm_yarn_used_has(u, &id));
    } else {
        assert_false(nm_yarn_used_has(u, &id));
    }
    nm_yarn_used_free(u);
    return r;
}

static void test_each_failed_allocation_of_used_tokens_is_an_error(void **state)
{
    (void)state;
    assert_true(fail_each(use, NULL) >= 2);
}

/* ---- state that survives a restart of nmd ---------------------------------------------------- */

/* Starts as an nmd does that finds the keys of a former nmd. */
static int take_over_keys(void *userdata)
{
    struct nm_yarn_cluster_keys cluster = {};
    struct nm_yarn_keyring *ring = NULL;
    struct nm_yarn_used *used = NULL;
    struct nm_yarn_key_store *key_store = NULL;
    int r = nm_yarn_keyring_new(&cluster, &ring);

    if (r == 0)
        r = nm_yarn_used_new(&used);
    if (r == 0)
        r = nm_yarn_key_store_new(userdata, &cluster, ring, used, &key_store);
    if (r == 0) {
        struct nm_yarn_container_id id = {.number = 7};

        assert_true(nm_yarn_used_has(used, &id));
        nm_yarn_key_store_free(key_store);
    }
    nm_yarn_used_free(used);
    nm_yarn_keyring_free(ring);
    return r;
}

static void count_master(const struct nm_yarn_stored_master *m, void *userdata)
{
    assert_string_equal(m->submitter, "alice");
    ++*(unsigned *)userdata;
}

static unsigned masters_kept(const char *dir)
{
    struct nm_yarn_proxy_store k;
    unsigned n = 0;

    assert_int_equal(nm_yarn_proxy_store_open(dir, dir, &k), 0);
    assert_int_equal(nm_yarn_proxy_store_load_masters(&k, count_master, &n), 0);
    nm_yarn_proxy_store_done(&k);
    return n;
}

/* An application master that couldn't be restored is still in its file for the next attempt. */
static int take_over_proxy(void *userdata)
{
    struct nm_yarn_local_keys keys = {};
    struct nm_yarn_proxy_store k;
    unsigned n = 0, kinds;
    int r = nm_yarn_proxy_store_open(userdata, userdata, &k);

    if (r < 0)
        return r;
    r = nm_yarn_proxy_store_load_keys(&k, &keys);
    if (r == 0)
        assert_int_equal(keys.current.size, 3); /* a new key would invalidate the tokens of application masters */
    if (r == 0)
        r = nm_yarn_proxy_store_load_masters(&k, count_master, &n);
    if (r == 0 && n == 0)
        r = -ENOMEM; /* an application master whose file can't be read is reported separately */
    nm_yarn_proxy_store_done(&k);
    kinds = fail_pause();
    assert_int_equal(masters_kept(userdata), 1);
    fail_resume(kinds);
    return r;
}

static void leave_behind(const char *dir)
{
    static const struct nm_bytes no_container;
    const struct nm_yarn_stored_node node = {"a.host", 1};
    const struct nm_yarn_stored_master m = {
        .attempt = {{.cluster = 1, .number = 2}, 1}, .submitter = "alice",
        .token = {.identifier = nm_bytes_of("id"), .password = nm_bytes_of("pw"), .kind = nm_bytes_of("k")},
        .placed = &no_container, .known_nodes = &node, .n_known_nodes = 1,
    };
    const struct nm_yarn_local_keys keys = {.current = {.id = 1, .bytes = "key", .size = 3}};
    struct nm_yarn_container_id id = {.number = 7};
    struct nm_yarn_cluster_keys cluster = {};
    struct nm_yarn_keyring *ring;
    struct nm_yarn_used *used;
    struct nm_yarn_key_store *key_store;
    struct nm_yarn_proxy_store k;

    assert_int_equal(nm_yarn_keyring_new(&cluster, &ring), 0);
    assert_int_equal(nm_yarn_used_new(&used), 0);
    assert_int_equal(nm_yarn_key_store_new(dir, &cluster, ring, used, &key_store), 0);
    assert_int_equal(nm_yarn_used_make_room(used, 0), 0);
    nm_yarn_used_add(used, &id, INT64_MAX);
    nm_yarn_key_store_free(key_store);
    nm_yarn_used_free(used);
    nm_yarn_keyring_free(ring);
    assert_int_equal(nm_yarn_proxy_store_open(dir, dir, &k), 0);
    assert_int_equal(nm_yarn_proxy_store_keys(&k, &keys), 0);
    assert_int_equal(nm_yarn_proxy_store_master(&k, &m), 0);
    nm_yarn_proxy_store_done(&k);
}

/* A lack of memory must not be returned as -EBADMSG, since nmd would then end the container as unreadable. */
static int read_record(void *userdata)
{
    struct nm_yarn_record_version *held = NULL;
    int r = nm_yarn_record_version_new(*(const struct nm_bytes *)userdata, &held);

    if (r == 0)
        assert_string_equal(held->record->context->command[0], "true");
    else
        assert_null(held);
    nm_yarn_record_version_free(held);
    return r;
}

static void test_a_record_of_a_container_without_memory_is_not_made(void **state)
{
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__Record record = YARN__RECORD__INIT;
    char *words[] = {(char *)(uintptr_t) "true"};
    uint8_t packed[256];
    struct nm_bytes blob = {packed, 0};

    (void)state;
    context.command = words;
    context.n_command = 1;
    record.context = &context;
    record.has_identifier = 1;
    record.identifier = (ProtobufCBinaryData){2, (uint8_t *)(uintptr_t) "id"};
    assert_true(yarn__record__get_packed_size(&record) <= sizeof packed);
    blob.size = yarn__record__pack(&record, packed);
    assert_true(fail_each(read_record, &blob) >= 2);
    blob.size--;
    assert_int_equal(read_record(&blob), -EBADMSG);
}

static void test_restoring_a_container_without_memory_is_an_error(void **state)
{
    char dir[] = "/tmp/nmd-test-memory.XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(dir));
    leave_behind(dir);
    assert_true(fail_each(take_over_keys, dir) >= 5);
    assert_true(fail_each(take_over_proxy, dir) >= 5);
    remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_configuration_without_memory_is_an_error),
        cmocka_unit_test(test_an_ask_without_memory_has_no_effect),
        cmocka_unit_test(test_each_failed_allocation_of_used_tokens_is_an_error),
        cmocka_unit_test(test_a_record_of_a_container_without_memory_is_not_made),
        cmocka_unit_test(test_restoring_a_container_without_memory_is_an_error),
    };

    json_set_alloc_funcs(malloc, free); /* fail-nth.c doesn't wrap calls of libraries, so jansson would never fail */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
