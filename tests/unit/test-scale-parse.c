/* SPDX-License-Identifier: Apache-2.0 */

/* nmscale/parse.h: answers that a ResourceManager 3.4.2 gives, and answers that it never gives. */

#include <errno.h>

#include "nmscale/parse.h"
#include "tests/unit/scale-model.h"

#define NODE(id, more) \
    "{\"id\":\"" id "\",\"nodeHostName\":\"h\",\"nodeHTTPAddress\":\"h:8042\",\"state\":\"RUNNING\"," \
    "\"numContainers\":2,\"usedMemoryMB\":2048,\"availMemoryMB\":6144,\"usedVirtualCores\":2," \
    "\"availableVirtualCores\":-1" more "}"

struct parsed {
    struct nm_scale_model m;
    char *message;
};

static void parsed_done(struct parsed *p)
{
    nm_scale_model_done(&p->m);
    free(p->message);
}

static int parse_nodes(struct parsed *p, const char *text)
{
    return nm_scale_parse_nodes(text, strlen(text), &p->m.nodes, &p->m.n_nodes, &p->message);
}

static void test_a_list_of_nodes_is_parsed(void **state)
{
    _cleanup_(parsed_done) struct parsed p = {0};
    const struct nm_scale_node *n;

    (void)state;
    assert_int_equal(parse_nodes(&p, "{\"nodes\":{\"node\":[" NODE("a:1", "") ","
                                     NODE("b:1", ",\"nodeLabels\":[\"gpu\"],\"numQueuedContainers\":3") "]}}"), 0);
    assert_int_equal(p.m.n_nodes, 2);
    n = nm_scale_find_node(&p.m, "a:1");
    assert_non_null(n);
    assert_string_equal(n->host, "h");
    assert_string_equal(n->http, "h:8042");
    assert_string_equal(n->label, "");
    assert_int_equal(n->containers, 2);
    assert_int_equal(n->free_mb, 6144);
    /* the answer contains a negative value if the scheduler considers only memory */
    assert_int_equal(n->free_vcores, 0);
    n = nm_scale_find_node(&p.m, "b:1");
    assert_string_equal(n->label, "gpu");
    assert_int_equal(n->queued, 3);
    assert_null(nm_scale_find_node(&p.m, "c:1"));
}

/* A single node may be an object or a list with one element. An empty list has several representations. */
static void test_lists_of_each_form_are_parsed(void **state)
{
    static const char *const empty[] = {"{\"nodes\":null}", "{\"nodes\":{}}", "{\"nodes\":{\"node\":null}}",
                                        "{\"nodes\":{\"node\":[]}}"};
    _cleanup_(parsed_done) struct parsed one = {0};

    (void)state;
    assert_int_equal(parse_nodes(&one, "{\"nodes\":{\"node\":" NODE("a:1", "") "}}"), 0);
    assert_int_equal(one.m.n_nodes, 1);
    for (size_t i = 0; i < NM_ARRAY_SIZE(empty); i++) {
        _cleanup_(parsed_done) struct parsed p = {.m.n_nodes = 7};

        assert_int_equal(parse_nodes(&p, empty[i]), 0);
        assert_int_equal(p.m.n_nodes, 0);
    }
}

/* The error names the invalid value, and the output stays empty. */
static void test_the_error_names_the_invalid_value_of_a_node(void **state)
{
    static const struct {
        const char *text, *named;
    } rows[] = {
        {"", "JSON"},
        {"<html>", "JSON"},
        {"{\"nodes\":", "JSON"},
        {"[]", "object"},
        {"{}", "nodes"},
        {"{\"apps\":{}}", "nodes"},
        {"{\"nodes\":7}", "nodes"},
        {"{\"nodes\":{\"node\":\"x\"}}", "node"},
        {"{\"nodes\":{\"node\":[1]}}", "node"},
        {"{\"nodes\":{\"node\":[{}]}}", "id"},
        {"{\"nodes\":{\"node\":[" NODE("", "") "]}}", "id"},
        {"{\"nodes\":{\"node\":[" NODE("a b", "") "]}}", "id"},
        {"{\"nodes\":{\"node\":[" NODE("a\\u001b[31m", "") "]}}", "id"},
        {"{\"nodes\":{\"node\":[" NODE("a#", "") "]}}", "id"},
        {"{\"nodes\":{\"node\":[" NODE("a:1", ",\"nodeLabels\":[\"x y\"]") "]}}", "nodeLabels"},
        {"{\"nodes\":{\"node\":[" NODE("a:1", ",\"numQueuedContainers\":\"3\"") "]}}", "numQueuedContainers"},
        {"{\"nodes\":{\"node\":[" NODE("a:1", "") "," NODE("b:1", ",\"numContainers\":1.5") "]}}", "numContainers"},
        {"{\"nodes\":{\"node\":[{\"id\":\"a\",\"nodeHostName\":\"h\",\"state\":\"RUNNING\"}]}}", "numContainers"},
        {"{\"nodes\":{\"node\":[{\"id\":\"a\",\"nodeHostName\":\"h\",\"state\":7}]}}", "state"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        _cleanup_(parsed_done) struct parsed p = {0};

        assert_int_equal(parse_nodes(&p, rows[i].text), -EBADMSG);
        assert_null(p.m.nodes);
        assert_non_null(p.message);
        if (!strstr(p.message, rows[i].named))
            fail_msg("%s: \"%s\" doesn't name %s", rows[i].text, p.message, rows[i].named);
    }
}

static void test_too_many_nodes_are_refused(void **state)
{
    _cleanup_(parsed_done) struct parsed p = {0};
    _cleanup_free_ char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    (void)state;
    fputs("{\"nodes\":{\"node\":[{}", f);
    for (int i = 0; i < NM_SCALE_NODES_MAX; i++)
        fputs(",{}", f);
    fputs("]}}", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(parse_nodes(&p, text), -E2BIG);
    assert_non_null(strstr(p.message, "20001"));
}

static void test_a_list_of_applications_is_parsed(void **state)
{
    static const char text[] = "{\"apps\":{\"app\":[{\"id\":\"application_1_1\",\"state\":\"RUNNING\"},"
                               "{\"id\":\"application_1_2\",\"state\":\"ACCEPTED\"}]}}";
    _cleanup_(parsed_done) struct parsed p = {0};

    (void)state;
    assert_int_equal(nm_scale_parse_apps(text, strlen(text), &p.m.apps, &p.m.n_apps, &p.message), 0);
    assert_int_equal(p.m.n_apps, 2);
    assert_string_equal(p.m.apps[1].id, "application_1_2");
    assert_false(p.m.apps[0].accepted);
    assert_true(p.m.apps[1].accepted);
    assert_false(p.m.apps[0].seen);
}

static void test_the_demand_for_resources_is_parsed(void **state)
{
    static const char text[] = "{\"clusterMetrics\":"
                               "{\"containersPending\":3,\"pendingMB\":3072,\"pendingVirtualCores\":6}}";
    static const char *const wrong[] = {"{}", "{\"clusterMetrics\":[]}", "{\"clusterMetrics\":{}}",
                                        "{\"clusterMetrics\":{\"containersPending\":true}}"};
    struct nm_scale_demand d = {0}, untouched = {.containers = 9};

    (void)state;
    assert_int_equal(nm_scale_parse_demand(text, strlen(text), &d, NULL), 0);
    assert_int_equal(d.containers, 3);
    assert_int_equal(d.mb, 3072);
    assert_int_equal(d.vcores, 6);
    for (size_t i = 0; i < NM_ARRAY_SIZE(wrong); i++) {
        assert_int_equal(nm_scale_parse_demand(wrong[i], strlen(wrong[i]), &untouched, NULL), -EBADMSG);
        assert_int_equal(untouched.containers, 9);
    }
}

static void test_a_list_of_attempts_is_parsed(void **state)
{
    static const char text[] = "{\"appAttempts\":{\"appAttempt\":["
                               "{\"appAttemptId\":\"appattempt_1_1_1\",\"nodeId\":\"a:1\"},"
                               "{\"appAttemptId\":\"appattempt_1_1_2\",\"nodeId\":\"\"}]}}";
    struct nm_scale_attempts a;

    (void)state;
    assert_int_equal(nm_scale_parse_attempts(text, strlen(text), &a, NULL), 0);
    assert_int_equal(a.n_ids, 2);
    assert_int_equal(a.n_nodes, 1);
    assert_string_equal(a.ids[1], "appattempt_1_1_2");
    assert_string_equal(a.nodes[0], "a:1");
    nm_scale_attempts_done(&a);
}

static void test_a_list_of_containers_is_parsed(void **state)
{
    static const char text[] = "{\"containers\":{\"container\":[{\"nodeId\":\"a:1\"},{\"assignedNodeId\":\"b:1\"}]}}";
    /* as a ResourceManager 3.4.2 formats this value */
    static const char bare[] = "{\"container\":[{\"nodeId\":\"a:1\"}]}";
    static const char *const none[] = {"{\"containers\":{}}", "{}"};
    char **nodes;
    size_t n;

    (void)state;
    assert_int_equal(nm_scale_parse_containers(bare, strlen(bare), &nodes, &n, NULL), 0);
    assert_int_equal(n, 1);
    nm_scale_words_free(nodes, n);
    assert_int_equal(nm_scale_parse_containers(text, strlen(text), &nodes, &n, NULL), 0);
    assert_int_equal(n, 2);
    assert_string_equal(nodes[0], "a:1");
    assert_string_equal(nodes[1], "b:1");
    nm_scale_words_free(nodes, n);
    for (size_t i = 0; i < NM_ARRAY_SIZE(none); i++) {
        assert_int_equal(nm_scale_parse_containers(none[i], strlen(none[i]), &nodes, &n, NULL), 0);
        assert_int_equal(n, 0);
        nm_scale_words_free(nodes, n);
    }
}

#define USAGE(partition, mb, vcores) \
    "{\"partitionName\":\"" partition "\",\"pending\":{\"memory\":" mb ",\"vCores\":" vcores "}}"
#define LEAF(usages) "{\"resources\":{\"resourceUsagesByPartition\":[" usages "]}}"

static int parse_waiting(struct parsed *p, const char *text)
{
    return nm_scale_parse_waiting(text, strlen(text), &p->m.waiting, &p->m.n_waiting, &p->message);
}

static void test_pending_requests_are_parsed(void **state)
{
    static const char *const none[] = {"{\"scheduler\":{\"schedulerInfo\":{\"rootQueue\":{\"queueName\":\"root\"}}}}",
                                       "{\"scheduler\":{\"schedulerInfo\":{\"queues\":null}}}"};
    _cleanup_(parsed_done) struct parsed p = {0}, wrong = {0};

    (void)state;
    assert_int_equal(
        parse_waiting(&p, "{\"scheduler\":{\"schedulerInfo\":{\"queues\":{\"queue\":["
                          "{\"queues\":{\"queue\":[" LEAF(USAGE("", "9", "9") "," USAGE("gpu", "1024", "1")) "]},"
                          "\"resources\":{\"resourceUsagesByPartition\":[" USAGE("gpu", "1024", "1") "]}},"
                          LEAF(USAGE("gpu", "2048", "3") "," USAGE("ssd", "0", "0")) "]}}}}"), 0);
    assert_int_equal(p.m.n_waiting, 1); /* neither the default partition nor a partition without demand is counted */
    assert_string_equal(p.m.waiting[0].label, "gpu");
    /* the sum of the leaf queues, since a parent queue's figure includes its leaf queues */
    assert_int_equal(p.m.waiting[0].mb, 3072);
    assert_int_equal(p.m.waiting[0].vcores, 4);
    for (size_t i = 0; i < NM_ARRAY_SIZE(none); i++) {
        _cleanup_(parsed_done) struct parsed q = {.m.n_waiting = 7};

        assert_int_equal(parse_waiting(&q, none[i]), 0);
        assert_int_equal(q.m.n_waiting, 0);
    }
    assert_int_equal(parse_waiting(&wrong, "{\"scheduler\":{}}"), -EBADMSG);
    assert_non_null(strstr(wrong.message, "schedulerInfo"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_of_nodes_is_parsed),
        cmocka_unit_test(test_lists_of_each_form_are_parsed),
        cmocka_unit_test(test_the_error_names_the_invalid_value_of_a_node),
        cmocka_unit_test(test_too_many_nodes_are_refused),
        cmocka_unit_test(test_a_list_of_applications_is_parsed),
        cmocka_unit_test(test_the_demand_for_resources_is_parsed),
        cmocka_unit_test(test_a_list_of_attempts_is_parsed), cmocka_unit_test(test_a_list_of_containers_is_parsed),
        cmocka_unit_test(test_pending_requests_are_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
