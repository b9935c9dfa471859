/* SPDX-License-Identifier: Apache-2.0 */

/* Figures of the proxy of application masters, and the explanation of the placement of a container. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy-stats-expected.h"
#include "remove-tree.h"
#include "rpc/local/messages.h"
#include "rpc/local/metrics.h"
#include "tests/unit/described.h"
#include "yarn/allocator/allocator.h"
#include "yarn/id-messages.h"
#include "yarn/proxy/placement-log.h"
#include "yarn/proxy/proxy-stats.h"

static const struct nm_yarn_container_id master = {{{1410901177871, 1}, 1}, 1};

/* ---- explanation of a placement -------------------------------------------------------------------- */

static void test_the_explanation_of_a_placement_contains_its_facts(void **state)
{
    static const struct nm_yarn_alloc_node node = {"n7", 45454, "n7:8042", "/left", "", -1};
    static const struct {
        struct nm_yarn_alloc_why why;
        const char *summary, *explanation;
    } cases[] = {
        {{.rule = NM_YARN_ALLOC_NODE_LOCAL, .listed = 10, .position = 1, .hosts = 1},
         "placed on n7:45454, node-local",
         "It was placed on n7 because the application requested this host (1 host in all).\n"
         "The node was number 1 of the 10 nodes that the ResourceManager had listed, the least loaded first.\n"
         "The container has 1024 MiB and 1 vcore at priority 20. Its request waited for 0.000 s.\n"},
        {{.rule = NM_YARN_ALLOC_RACK_LOCAL, .listed = 3, .position = 3, .hosts = 2, .racks = 1,
          .skipped = {[NM_YARN_SKIP_BLACKLISTED] = 1, [NM_YARN_SKIP_USED] = 1}, .waited_usec = 1500000},
         "placed on n7:45454, rack-local",
         "It was placed on n7 because the application requested its rack, /left; none of the 2 hosts that it requested "
         "was available.\n"
         "The node was number 3 of the 3 nodes that the ResourceManager had listed, the least loaded first; passed "
         "over: 1 on the application's blacklist; 1 with a container from the same heartbeat (at most one per host).\n"
         "The container has 1024 MiB and 1 vcore at priority 20. Its request waited for 1.500 s.\n"},
        {{.rule = NM_YARN_ALLOC_RACK_LOCAL, .listed = 1, .position = 1, .racks = 1}, "placed on n7:45454, rack-local",
         "It was placed on n7 because the application requested its rack, /left.\n"
         "The node was number 1 of the 1 node that the ResourceManager had listed, the least loaded first.\n"
         "The container has 1024 MiB and 1 vcore at priority 20. Its request waited for 0.000 s.\n"},
        {{.rule = NM_YARN_ALLOC_ANY, .listed = 9, .position = 5,
          .skipped = {[NM_YARN_SKIP_OTHER_PARTITION] = 2, [NM_YARN_SKIP_FULL] = 1, [NM_YARN_SKIP_BUSIER] = 1}},
         "placed on n7:45454, any",
         "It was placed on n7 because the application accepts any host.\n"
         "The node was number 5 of the 9 nodes that the ResourceManager had listed, the least loaded first; passed "
         "over: 2 in another partition; 1 with a full queue, as far as this node knows; 1 with more containers from "
         "the same heartbeat.\n"
         "The container has 1024 MiB and 1 vcore at priority 20. Its request waited for 0.000 s.\n"},
        {{.rule = NM_YARN_ALLOC_ANY, .listed = 1, .position = 1, .hosts = 1, .racks = 2}, "placed on n7:45454, any",
         "It was placed on n7 because none of the 1 host and 2 racks that the application requested was available, and "
         "the application accepts any host.\n"
         "The node was number 1 of the 1 node that the ResourceManager had listed, the least loaded first.\n"
         "The container has 1024 MiB and 1 vcore at priority 20. Its request waited for 0.000 s.\n"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        const struct nm_yarn_placement p = {&node, {1024, 1}, 20, -1, cases[i].why};
        char text[NM_YARN_WHY_SIZE];

        nm_yarn_placement_summary(&p, text, sizeof text);
        assert_string_equal(text, cases[i].summary);
        nm_yarn_placement_explain(&p, text, sizeof text);
        assert_string_equal(text, cases[i].explanation);
    }
}

/* The longest possible explanation fits into the buffer. */
static void test_the_longest_explanation_fits_into_the_buffer(void **state)
{
    char name[NM_YARN_ALLOC_NAME_MAX + 1], text[NM_YARN_WHY_SIZE];
    struct nm_yarn_alloc_node node = {name, 65535, NULL, name, NULL, -1};
    const struct nm_yarn_alloc_why why = {
        NM_YARN_ALLOC_RACK_LOCAL, 256, 256, {40, 40, 40, 40, 40, 55}, 8192, 8192, UINT64_MAX};
    const struct nm_yarn_placement p = {&node, {INT64_MAX, INT32_MAX}, INT32_MIN, INT64_MIN, why};

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    nm_yarn_placement_explain(&p, text, sizeof text);
    assert_true(strlen(text) < sizeof text - 1);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

/* ---- remembered placements ------------------------------------------------------------------------- */

static void add_placement(struct nm_yarn_proxy_stats *s, int64_t number, enum nm_yarn_alloc_rule rule)
{
    const struct nm_yarn_alloc_node node = {"n7", 45454, "", "/left", "", -1};
    const struct nm_yarn_placement p = {&node, {1024, 1}, 20, -1, {.rule = rule, .listed = 3, .position = 2, .racks = 1,
                                         .skipped = {[NM_YARN_SKIP_BLACKLISTED] = 1}, .waited_usec = 1500000}};
    struct nm_yarn_container_id id = master;

    id.number = number;
    nm_yarn_proxy_stats_placed(s, &id, &master, &p);
}

static int dir_fd;

static int set_up(void **state)
{
    char path[] = "/tmp/nmd-test-proxy-stats.XXXXXX";

    assert_non_null(mkdtemp(path));
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir_fd >= 0);
    *state = strdup(path);
    return 0;
}

static int tear_down(void **state)
{
    (void)close(dir_fd);
    remove_tree(*state);
    free(*state);
    return 0;
}

/* Returns the placement of container number -n after a restart, or NULL if it isn't remembered. The caller owns the
 * result. */
static json_t *placement_after_restart(struct nm_yarn_proxy_stats **s, int64_t n)
{
    struct nm_yarn_container_id id = master, whose = {};
    char text[NM_YARN_ID_SIZE];
    json_t *j;

    *s = nm_yarn_proxy_stats_free(*s);
    assert_int_equal(nm_yarn_proxy_stats_new(dir_fd, s), 0);
    id.number = -n;
    j = nm_yarn_proxy_stats_placement(*s, nm_yarn_container_id_format(&id, text), &whose);
    assert_true(!j || nm_yarn_same_container(&whose, &master));
    return j;
}

/* The newest placements are restored after a restart. Further placements follow them. */
static void test_placements_survive_a_restart(void **state)
{
    _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = NULL;
    char before[NM_YARN_WHY_SIZE];
    json_t *j;

    (void)state;
    j = placement_after_restart(&s, 1);
    assert_null(j);
    add_placement(s, -1, NM_YARN_ALLOC_NODE_LOCAL);
    add_placement(s, -1, NM_YARN_ALLOC_RACK_LOCAL); /* this placement had not been delivered when nmd was killed */
    j = placement_after_restart(&s, 1);
    assert_described("Placement", j);
    assert_string_equal(json_string_value(json_object_get(j, "rule")), "rack-local");
    (void)snprintf(before, sizeof before, "%s", json_string_value(json_object_get(j, "explanation")));
    assert_string_equal(before,
                        "It was placed on n7 because the application requested its rack, /left.\n"
                        "The node was number 2 of the 3 nodes that the ResourceManager had listed, the least loaded "
                        "first; passed over: 1 on the application's blacklist.\n"
                        "The container has 1024 MiB and 1 vcore at priority 20. Its request waited for 1.500 s.\n");
    json_decref(j);
    for (int64_t i = 2; i < NM_YARN_SLOTS; i++)
        add_placement(s, -i, NM_YARN_ALLOC_ANY);
    j = placement_after_restart(&s, 1);
    assert_non_null(j);
    json_decref(j);
    for (int64_t i = 0; i < 2; i++)
        add_placement(s, -(int64_t)NM_YARN_SLOTS - i, NM_YARN_ALLOC_ANY);
    assert_null(placement_after_restart(&s, 1));
    j = placement_after_restart(&s, 2);
    assert_non_null(j);
    json_decref(j);
}

/* ---- damaged files --------------------------------------------------------------------------------- */

#define SLOT 1024
#define HEAD 6 /* the header of a slot: a checksum and the size of the contents */

static bool is_placed(struct nm_yarn_proxy_stats **s, int64_t n)
{
    json_t *j = placement_after_restart(s, n);
    bool is = j;

    json_decref(j);
    return is;
}

/* Writes the placements of -1 and -2 into the first two slots. *ret_sizes gets the number of bytes of each. */
static int begin_damage(struct nm_yarn_proxy_stats **s, off_t ret_sizes[2])
{
    int fd;

    assert_false(is_placed(s, 1));
    add_placement(*s, -1, NM_YARN_ALLOC_ANY);
    add_placement(*s, -2, NM_YARN_ALLOC_NODE_LOCAL);
    fd = openat(dir_fd, "placements", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t head[HEAD];

        assert_int_equal(pread(fd, head, HEAD, (off_t)i * SLOT), HEAD);
        ret_sizes[i] = HEAD + (head[4] << 8 | head[5]);
        assert_in_range(ret_sizes[i], HEAD + 1, SLOT);
    }
    return fd;
}

static void test_a_flipped_byte_makes_only_its_own_slot_invalid(void **state)
{
    _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = NULL;
    off_t sizes[2];
    int fd = begin_damage(&s, sizes);

    (void)state;
    for (off_t at = 0; at < sizes[0]; at++) {
        uint8_t byte, other;

        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = byte ^ 0x10;
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        assert_false(is_placed(&s, 1));
        assert_true(is_placed(&s, 2));
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_true(is_placed(&s, 1));
    (void)close(fd);
}

/* The file may be cut at any position, as on a full disk. Later placements are written again. */
static void test_a_truncated_file_loses_only_its_end(void **state)
{
    _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = NULL;
    off_t sizes[2];
    int fd = begin_damage(&s, sizes);

    (void)state;
    for (off_t size = SLOT + sizes[1] - 1; size >= 0; size--) {
        assert_int_equal(ftruncate(fd, size), 0);
        assert_false(is_placed(&s, 2));
        assert_int_equal(is_placed(&s, 1), size >= sizes[0]);
    }
    add_placement(s, -3, NM_YARN_ALLOC_ANY);
    assert_true(is_placed(&s, 3));
    (void)close(fd);
}

/* A valid slot at the position of another slot is ignored. */
static void test_a_slot_at_another_position_is_ignored(void **state)
{
    _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = NULL;
    uint8_t slot[SLOT];
    off_t sizes[2];
    int fd = begin_damage(&s, sizes);

    (void)state;
    assert_int_equal(pread(fd, slot, (size_t)sizes[0], 0), sizes[0]);
    assert_int_equal(pwrite(fd, slot, (size_t)sizes[0], SLOT), sizes[0]);
    assert_int_equal(ftruncate(fd, SLOT + sizes[0]), 0);
    assert_false(is_placed(&s, 2));
    assert_true(is_placed(&s, 1));
    add_placement(s, -4, NM_YARN_ALLOC_ANY); /* written to the second slot again */
    assert_true(is_placed(&s, 4));
    assert_true(is_placed(&s, 1));
    (void)close(fd);
}

static void make_fifo(void)
{
    assert_int_equal(mkfifoat(dir_fd, "placements", 0600), 0);
}

static void make_directory(void)
{
    assert_int_equal(mkdirat(dir_fd, "placements", 0700), 0);
}

static void make_link(void)
{
    int fd = openat(dir_fd, "elsewhere", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(close(fd), 0);
    assert_int_equal(symlinkat("elsewhere", dir_fd, "placements"), 0);
}

/* An existing file in another format with this name is not changed. In this case placements are lost when nmd exits. */
static void test_a_file_in_another_format_is_not_changed(void **state)
{
    static const struct {
        void (*make)(void);
        int error, flags;
    } cases[] = {{make_fifo, -EBADMSG, 0}, {make_directory, -EISDIR, AT_REMOVEDIR}, {make_link, -ELOOP, 0}};
    struct nm_yarn_container_id id = master, whose = {};
    char text[NM_YARN_ID_SIZE];
    struct stat st;

    (void)state;
    id.number = -1;
    (void)nm_yarn_container_id_format(&id, text);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = NULL;
        json_t *j;

        cases[i].make();
        assert_false(is_placed(&s, 1));
        assert_int_equal(nm_yarn_proxy_stats_error(s), cases[i].error);
        add_placement(s, -1, NM_YARN_ALLOC_ANY);
        j = nm_yarn_proxy_stats_placement(s, text, &whose);
        assert_non_null(j);
        json_decref(j);
        assert_false(is_placed(&s, 1));
        assert_int_equal(unlinkat(dir_fd, "placements", cases[i].flags), 0);
    }
    assert_int_equal(fstatat(dir_fd, "elsewhere", &st, 0), 0);
    assert_int_equal(st.st_size, 0);
}

static void test_placements_are_reported_as_json(void **state)
{
    _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = NULL;
    struct nm_yarn_container_id whose = {};
    json_t *j;

    (void)state;
    assert_int_equal(nm_yarn_proxy_stats_new(dir_fd, &s), 0);
    assert_null(nm_yarn_proxy_stats_placement(s, "container_1410901177871_0001_01_1099511627775", &whose));
    add_placement(s, -1, NM_YARN_ALLOC_RACK_LOCAL);
    j = nm_yarn_proxy_stats_placement(s, "container_1410901177871_0001_01_1099511627775", &whose);
    assert_described("Placement", j);
    assert_int_equal(whose.number, 1);
    assert_int_equal(whose.attempt.application.cluster, master.attempt.application.cluster);
    assert_string_equal(json_string_value(json_object_get(j, "node")), "n7:45454");
    assert_string_equal(json_string_value(json_object_get(j, "attempt_id")), "appattempt_1410901177871_0001_000001");
    assert_string_equal(json_string_value(json_object_get(j, "rule")), "rack-local");
    json_decref(j);
    assert_null(nm_yarn_proxy_stats_placement(s, "container_1410901177871_0001_01_1099511627774", &whose));

    /* With too many placements, the oldest placement is dropped. */
    for (int64_t i = 2; i <= NM_YARN_SLOTS; i++)
        add_placement(s, -i, NM_YARN_ALLOC_ANY);
    j = nm_yarn_proxy_stats_placement(s, "container_1410901177871_0001_01_1099511627775", &whose);
    assert_non_null(j);
    json_decref(j);
    add_placement(s, -2000, NM_YARN_ALLOC_ANY);
    assert_null(nm_yarn_proxy_stats_placement(s, "container_1410901177871_0001_01_1099511627775", &whose));
}

static void test_pipelines_are_reported_as_json(void **state)
{
    struct nm_yarn_pipeline_view v = {.attempt = "appattempt_1_0001_000001", .master = "container_1_0001_01_000001",
                                      .user = "alice", .state = "starting",
                                      .figures = {.asks = 2, .blacklisted = 1, .nodes = 10, .outstanding = 7},
                                      .since_realtime_usec = 5};
    json_t *j = nm_yarn_proxy_stats_pipeline(&v);
    struct nm_yarn_master_stats m = {};

    (void)state;
    assert_described("Pipeline", j);
    assert_string_equal(json_string_value(json_object_get(j, "user")), "alice");
    assert_true(json_is_null(json_object_get(j, "last_allocate_usec")));
    json_decref(j);
    v.user = NULL;
    v.last_allocate_realtime_usec = 9;
    v.state = "running";
    j = nm_yarn_proxy_stats_pipeline(&v);
    assert_described("Pipeline", j);
    assert_true(json_is_null(json_object_get(j, "user")));
    assert_int_equal(json_integer_value(json_object_get(j, "last_allocate_usec")), 9);
    nm_yarn_proxy_stats_sum(&v, &m);
    nm_yarn_proxy_stats_sum(&v, &m);
    j = nm_yarn_proxy_stats_to_json(&m, json_pack("[o]", j));
    assert_described("Masters", j);
    json_decref(j);
    m.outstanding = UINT64_MAX; /* more than the largest integer in JSON */
    j = nm_yarn_proxy_stats_to_json(&m, json_array());
    assert_int_equal(json_integer_value(json_object_get(j, "outstanding")), INT64_MAX);
    json_decref(j);
    m.outstanding = 14;
    assert_int_equal(m.pipelines, 2);
    assert_int_equal(m.outstanding, 14);
}

/* The figures of lending are shown only where the chain of stages contains the one that lends. */
static void test_lending_is_reported_as_json(void **state)
{
    _cleanup_(nm_lend_freep) struct nm_lend *books = NULL;
    struct nm_yarn_pipeline_view v = {.attempt = "appattempt_1_0001_000001", .master = "container_1_0001_01_000001",
                                      .user = "alice", .state = "running"};
    const struct nm_lend_ask ask = {.key = {20, 0}, .size = {1024, 1}, .count = 3, .any = true, .relax = true};
    struct nm_yarn_master_stats m = {.lending.exists = true};
    json_t *j;

    (void)state;
    assert_int_equal(nm_lend_new(&books), 0);
    assert_int_equal(nm_lend_ask(books, &ask, 1, 1), 0);
    v.lending = (struct nm_yarn_lend_view){.books = books, .queue = "root.q", .now_usec = 2};
    nm_yarn_proxy_stats_sum(&v, &m);
    j = nm_yarn_proxy_stats_pipeline(&v);
    assert_described("Pipeline", j);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "lending"), "wanted")), 3);
    assert_string_equal(json_string_value(json_object_get(json_object_get(j, "lending"), "queue")), "root.q");
    j = nm_yarn_proxy_stats_to_json(&m, json_pack("[o]", j));
    assert_described("Masters", j);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "lending"), "wanted")), 3);
    json_decref(j);
    v.user = NULL; /* over TCP, where queues aren't shown either */
    j = nm_yarn_proxy_stats_pipeline(&v);
    assert_described("Pipeline", j);
    assert_true(json_is_null(json_object_get(json_object_get(j, "lending"), "queue")));
    json_decref(j);
}

static void test_counters_are_reported_as_json(void **state)
{
    _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = NULL;
    struct nm_yarn_master_stats m = {.pipelines = 3};

    (void)state;
    assert_int_equal(nm_yarn_proxy_stats_new(dir_fd, &s), 0);
    nm_yarn_proxy_stats_answered(s, NM_MASTER_ALLOCATE, 1500);
    nm_yarn_proxy_stats_answered(s, NM_MASTER_ALLOCATE, 500);
    nm_yarn_proxy_stats_failed(s, NM_MASTER_START);
    nm_yarn_proxy_stats_added(s, 100);
    add_placement(s, -1, NM_YARN_ALLOC_NODE_LOCAL);
    add_placement(s, -2, NM_YARN_ALLOC_ANY);
    add_placement(s, -3, NM_YARN_ALLOC_ANY);
    nm_yarn_proxy_stats_fill(s, &m);
    assert_int_equal(m.pipelines, 3);
    assert_int_equal(m.took[NM_MASTER_ALLOCATE].n, 2);
    assert_int_equal(m.took[NM_MASTER_ALLOCATE].sum_usec, 2000);
    assert_int_equal(m.took[NM_MASTER_START].n, 0);
    assert_int_equal(m.failed[NM_MASTER_START], 1);
    assert_int_equal(m.added.n, 1);
    assert_int_equal(m.placed_node_local, 1);
    assert_int_equal(m.placed_rack_local, 0);
    assert_int_equal(m.placed_anywhere, 2);
}

/* Only the metrics that the proxy writes. */
static void write_metrics(void *userdata, const struct nm_metric_writer *w)
{
    nm_yarn_proxy_stats_write_metrics(userdata, w);
}

static void test_the_web_page_has_all_parts(void **state)
{
    struct nm_yarn_master_stats m = {.address = "n1:8049", .pipelines = 2, .outstanding = 14, .placed_node_local = 1,
                                     .placed_rack_local = 1, .placed_anywhere = 2};
    struct nm_status none = {};
    char *text, *own, *end, *status;
    size_t len;
    json_t *j;

    (void)state;
    for (unsigned c = 0; c < NM_MASTER_N_CALLS; c++) {
        m.failed[c] = c * 3;
        for (unsigned i = 0; i <= c; i++)
            nm_histogram_add(&m.took[c], (uint64_t)700 << (4 * i));
    }
    nm_histogram_add(&m.added, 100);
    nm_histogram_add(&m.added, 99000000);
    assert_int_equal(nm_metrics_format(&none, write_metrics, &m, &text, &len), 0);
    own = strstr(text, "# HELP nm_amrmproxy_");
    end = strstr(text, "# HELP nm_process_");
    assert_true(own && end && own < end);
    *end = '\0';
    assert_string_equal(own, MASTERS_METRICS);
    free(text);
    j = nm_yarn_proxy_stats_to_json(&m, json_pack("[{s:s}]", "attempt_id", "a"));
    status = json_dumps(j, NM_MESSAGES_DUMP_FLAGS);
    assert_string_equal(status, MASTERS_STATUS);
    free(status);
    json_decref(j);
}

/* When an attempt ends, its lent containers are recorded. Those of an attempt that is restored are in its books. */
static void test_lent_containers_are_recorded_at_the_end_of_an_attempt(void **state)
{
    _cleanup_(nm_yarn_proxy_stats_freep) struct nm_yarn_proxy_stats *s = NULL;
    _cleanup_(nm_lend_freep) struct nm_lend *books = NULL;
    const struct nm_lend_grant g = {.id = {master.attempt, 2}, .key = {20, 0}, .size = {1024, 1},
                                    .opportunistic = true};
    struct nm_yarn_lend_view v = {.user = "alice", .queue = "root.q", .master = master,
                                  .now_usec = 9 * NM_USEC_PER_SEC};
    struct nm_yarn_container_id whose = {};
    char text[NM_YARN_ID_SIZE];
    json_t *j;

    (void)state;
    (void)nm_yarn_container_id_format(&g.id, text);
    assert_int_equal(nm_lend_new(&books), 0);
    assert_int_equal(nm_lend_adopt(books, &g, 4 * NM_USEC_PER_SEC), 0);
    v.books = books;
    assert_int_equal(nm_yarn_proxy_stats_new(dir_fd, &s), 0);
    assert_int_equal(nm_yarn_proxy_stats_lent_error(s), 0);
    nm_yarn_proxy_stats_lending(s, &v, true);
    assert_null(nm_yarn_proxy_stats_lent(s, text, true, &whose));
    nm_yarn_proxy_stats_lending(s, &v, false);
    j = nm_yarn_proxy_stats_lent(s, text, true, &whose);
    assert_described("Lending", j);
    assert_true(nm_yarn_same_container(&whose, &master));
    assert_string_equal(json_string_value(json_object_get(j, "attempt_id")), "appattempt_1410901177871_0001_000001");
    assert_string_equal(json_string_value(json_object_get(json_object_get(j, "container"), "state")), "ended");
    assert_string_equal(json_string_value(json_object_get(j, "explanation")),
                        "Asked for as guaranteed; lent to an earlier attempt of the application; the application's "
                        "attempt ended 5s after it was lent.\nThe container has 1024 MiB and 1 vcore at priority 20.\n"
                        "It was lent to appattempt_1410901177871_0001_000001 of the user alice in the queue root.q.\n");
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_explanation_of_a_placement_contains_its_facts),
        cmocka_unit_test(test_the_longest_explanation_fits_into_the_buffer),
        cmocka_unit_test_setup_teardown(test_placements_are_reported_as_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_placements_survive_a_restart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_flipped_byte_makes_only_its_own_slot_invalid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_truncated_file_loses_only_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_slot_at_another_position_is_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_in_another_format_is_not_changed, set_up, tear_down),
        cmocka_unit_test(test_pipelines_are_reported_as_json),
        cmocka_unit_test(test_lending_is_reported_as_json),
        cmocka_unit_test_setup_teardown(test_lent_containers_are_recorded_at_the_end_of_an_attempt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_counters_are_reported_as_json, set_up, tear_down),
        cmocka_unit_test(test_the_web_page_has_all_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
