/* SPDX-License-Identifier: Apache-2.0 */

/* Countable resources beside memory and vcores: their properties, the registration, and containers that request
 * them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>

#include "tests/unit/tracker-fixture.h"
#include "tests/unit/yarn-starts.h"
#include "yarn/conf/settings-parts.h"
#include "yarn/id-messages.h"
#include "yarn/node/node-state.h"
#include "yarn/yarn-state.h"

#define TYPES "yarn.resource-types"
#define AMOUNT "yarn.nodemanager.resource-type."

static void test_units_are_converted(void **state)
{
    static const struct {
        int64_t amount;
        const char *from, *to;
        int64_t expected; /* -1: an error */
    } rows[] = {
        {5, "", "", 5}, {5, "k", "", 5000}, {5999, "", "k", 5}, {1, "Ki", "", 1024}, {1, "G", "Mi", 953},
        {1, "Gi", "M", 1073}, {7, "m", "u", 7000}, {7, "m", "", 0}, {INT64_MAX, "", "", INT64_MAX},
        {INT64_MAX, "k", "", -1}, {INT64_MAX, "Pi", "p", -1}, {INT64_MAX, "P", "T", -1}, {3, "Pi", "P", 3},
        {-1, "", "", -1}, {1, "x", "", -1}, {1, "", "KI", -1},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        int64_t result = -1;
        int r = nm_yarn_resource_types_convert(rows[i].amount, rows[i].from, rows[i].to, &result);

        if ((r < 0) != (rows[i].expected < 0) || result != rows[i].expected)
            fail_msg("row %zu: %d, %" PRId64, i, r, result);
    }
}

static struct nm_yarn_settings *settings_of(const char *properties, char **ret_message)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    struct nm_yarn_settings *s = NULL;
    char text[2000];

    (void)snprintf(text, sizeof text, "<configuration>%s</configuration>", properties);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "node-resources.xml", text, strlen(text), ret_message), 0);
    (void)nm_yarn_settings_read(c, NULL, NULL, &s, ret_message);
    return s;
}

static void test_amounts_are_in_the_units_of_the_cluster(void **state)
{
    char *message = NULL;
    struct nm_yarn_settings *s =
        settings_of(TRACKER_PROPERTY(TYPES, "license, memory-mb,acme.com/disk , yarn.io/gpu")
                    TRACKER_PROPERTY(TYPES ".acme.com/disk.units", "Mi") TRACKER_PROPERTY(AMOUNT "license", "4")
                    TRACKER_PROPERTY(AMOUNT "acme.com/disk", "2 Gi"), &message);

    (void)state;
    assert_null(message);
    assert_int_equal(s->n_resource_types, 3);
    assert_string_equal(s->resource_types[0].name, "acme.com/disk");
    assert_int_equal(s->resource_types[0].amount, 2048);
    assert_string_equal(s->resource_types[1].name, "license");
    assert_int_equal(s->resource_types[1].amount, 4);
    assert_string_equal(s->resource_types[1].source, "node-resources.xml");
    assert_string_equal(s->resource_types[2].name, "yarn.io/gpu"); /* the cluster has it, this node doesn't */
    assert_int_equal(s->resource_types[2].amount, 0);
    (void)nm_yarn_settings_free(s);
}

/* Each message names the file, the property and its value. */
static void test_properties_that_are_refused(void **state)
{
#define OF_FILE(name, value, why) "node-resources.xml: " name " = '" value "': " why
    static const struct {
        const char *properties, *why;
    } rows[] = {
        {TRACKER_PROPERTY(TYPES, "memory"), OF_FILE(TYPES, "memory", "'memory' is not a valid name")},
        {TRACKER_PROPERTY(TYPES, "a,1license"), OF_FILE(TYPES, "a,1license", "'1license' is not a valid name")},
        {TRACKER_PROPERTY(TYPES, "a/b/c"), "'a/b/c' is not a valid name"},
        {TRACKER_PROPERTY(TYPES, "a,b,a"), OF_FILE(TYPES, "a,b,a", "a is in the list twice")},
        {TRACKER_PROPERTY(TYPES, "a") TRACKER_PROPERTY(TYPES ".a.units", "X"),
         OF_FILE(TYPES ".a.units", "X", "must be one of")},
        {TRACKER_PROPERTY(TYPES, "a") TRACKER_PROPERTY(TYPES ".a.type", "RANGE"),
         OF_FILE(TYPES ".a.type", "RANGE", "must be COUNTABLE")},
        {TRACKER_PROPERTY(AMOUNT "a", "1"), OF_FILE(AMOUNT "a", "1", TYPES " doesn't have this resource")},
        {TRACKER_PROPERTY(AMOUNT "memory-mb", "1"),
         OF_FILE(AMOUNT "memory-mb", "1", "set yarn.nodemanager.resource.memory-mb")},
        {TRACKER_PROPERTY(TYPES, "license") TRACKER_PROPERTY(AMOUNT "license", "many"),
         OF_FILE(AMOUNT "license", "many", "must be a number with units")},
        {TRACKER_PROPERTY(TYPES, "a") TRACKER_PROPERTY(AMOUNT "a", "-1"), "must be a number with units"},
        {TRACKER_PROPERTY(TYPES, "a") TRACKER_PROPERTY(AMOUNT "a", "9223372036854775807k"), "not too large"},
        {TRACKER_PROPERTY(TYPES, "yarn.io/gpu") TRACKER_PROPERTY(AMOUNT "yarn.io/gpu", "2"),
         OF_FILE(AMOUNT "yarn.io/gpu", "2", "this is a device")},
        {TRACKER_PROPERTY(TYPES, "yarn.io/fpga") TRACKER_PROPERTY(AMOUNT "yarn.io/fpga", "2"), "this is a device"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        char *message = NULL;

        assert_null(settings_of(rows[i].properties, &message));
        if (!message || !strstr(message, rows[i].why))
            fail_msg("row %zu: %s", i, message ?: "no message");
        free(message);
    }
}

/* ---- containers --------------------------------------------------------------------------- */

static void join_with_licenses(struct tracker_fixture *w)
{
    tracker_configure(w, TRACKER_PROPERTY(TYPES, "license") TRACKER_PROPERTY(TYPES ".license.units", "k")
                      TRACKER_PROPERTY(AMOUNT "license", "4k"));
    tracker_join(w);
    tracker_run_beats(w, 1);
}

/* Starts a container that requests licenses, in units of one. Returns whether the node has accepted it. */
static bool start_with(struct tracker_fixture *w, struct wanted *a, int64_t number, int64_t licenses,
                       bool opportunistic, int32_t *ret_status)
{
    Hadoop__ResourceValue value = HADOOP__RESOURCE_VALUE__INIT, *list[] = {&value};
    Yarn__ContainerStatus *s = NULL;
    struct nm_exception why;
    struct nm_arena arena;
    bool accepted;

    want(a, number, 64, opportunistic, 0);
    value.name = (char *)"license";
    value.has_value = 1;
    value.value = licenses;
    value.units = (char *)"";
    a->ids.resource.n_values = 1;
    a->ids.resource.values = list;
    pack(a);
    if (start(w->yarn->services->node, a, "true", &why) != 0)
        fail_msg("%s", why.message);
    nm_arena_init(&arena, 1 << 16, NULL);
    assert_int_equal(nm_yarn_node_status(w->yarn->services->node, &a->ids.container, &arena, &s, &why), 0);
    accepted = s->state != 3;
    *ret_status = s->exit_status;
    assert_int_equal(s->capability->n_values, 1); /* the report has what the token has */
    assert_string_equal(s->capability->values[0]->name, "license");
    nm_arena_done(&arena);
    return accepted;
}

static void assert_sums(struct tracker_fixture *w, json_int_t guaranteed, json_int_t opportunistic)
{
    json_t *list = nm_yarn_node_show_resources(w->yarn->services->node), *one = json_array_get(list, 0);

    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(json_integer_value(json_object_get(one, "amount")), 4);
    assert_int_equal(json_integer_value(json_object_get(one, "guaranteed")), guaranteed);
    assert_int_equal(json_integer_value(json_object_get(one, "opportunistic")), opportunistic);
    json_decref(list);
}

static json_int_t wanted_guaranteed, wanted_opportunistic;

static bool has_sums(const struct tracker_fixture *w)
{
    json_t *list = nm_yarn_node_show_resources(w->yarn->services->node), *one = json_array_get(list, 0);
    const bool has = json_integer_value(json_object_get(one, "guaranteed")) == wanted_guaranteed &&
                     json_integer_value(json_object_get(one, "opportunistic")) == wanted_opportunistic;

    json_decref(list);
    return has;
}

/* Runs the event loop until the sums are these, since the manager handles an end in a turn of its own. */
static void wait_for_sums(struct tracker_fixture *w, json_int_t guaranteed, json_int_t opportunistic)
{
    wanted_guaranteed = guaranteed;
    wanted_opportunistic = opportunistic;
    tracker_run_until(w, has_sums);
}

static void test_the_registration_has_the_resources(void **state)
{
    struct tracker_fixture *w = *state;

    join_with_licenses(w);
    assert_string_equal(w->resources, "license=4k ");
    assert_sums(w, 0, 0);
}

static void test_a_container_that_requests_more_than_the_node_has_fails(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b;
    int32_t status;

    join_with_licenses(w);
    assert_true(start_with(w, &a, 1, 4000, false, &status));
    nm_yarn_node_serve(w->yarn->services->node);
    assert_sums(w, 4, 0);
    assert_false(start_with(w, &b, 2, 5000, false, &status));
    assert_int_equal(status, NM_YARN_INVALID);
    assert_sums(w, 4, 0);
}

static struct nm_yarn_container *container_of(const struct tracker_fixture *w, const struct wanted *a)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(a->ids.token.container);

    return nm_yarn_container_table_find(&w->yarn->services->node->containers, &id);
}

/* The ResourceManager doesn't count the resources of opportunistic containers. A container that doesn't fit waits. */
static void test_an_opportunistic_container_that_does_not_fit_waits(void **state)
{
    struct tracker_fixture *w = *state;
    struct nm_exception why;
    struct wanted a, b, c;
    int32_t status;

    join_with_licenses(w);
    assert_true(start_with(w, &a, 1, 3000, false, &status));
    assert_true(start_with(w, &b, 2, 1000, true, &status));
    nm_yarn_node_serve(w->yarn->services->node);
    assert_sums(w, 3, 1);
    assert_true(start_with(w, &c, 3, 2000, true, &status));
    nm_yarn_node_serve(w->yarn->services->node);
    assert_sums(w, 3, 1);
    assert_true(container_of(w, &c)->waits);
    assert_int_equal(nm_yarn_node_stop(w->yarn->services->node, &a.ids.container, NM_YARN_KILLED_BY_MASTER, "Stop.",
                                       &why), 0);
    wait_for_sums(w, 0, 3);
    assert_false(container_of(w, &c)->waits);
}

static void test_a_guaranteed_container_takes_the_resource_of_opportunistic_ones(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b, c, d;
    int32_t status;

    join_with_licenses(w);
    assert_true(start_with(w, &a, 1, 1000, true, &status));
    assert_true(start_with(w, &b, 2, 2000, true, &status));
    assert_true(start_with(w, &c, 3, 1000, true, &status));
    nm_yarn_node_serve(w->yarn->services->node);
    assert_sums(w, 0, 4);
    assert_true(start_with(w, &d, 4, 2000, false, &status));
    wait_for_sums(w, 2, 1);
    assert_true(container_of(w, &c)->completed && container_of(w, &b)->completed);
    assert_int_equal(container_of(w, &b)->exit_status, NM_YARN_KILLED_BY_NODE);
    assert_false(container_of(w, &a)->completed);
}

/* The ResourceManager has counted them: the node doesn't refuse what it has granted. */
static void test_guaranteed_containers_are_not_compared_with_each_other(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b;
    int32_t status;

    join_with_licenses(w);
    assert_true(start_with(w, &a, 1, 3000, false, &status));
    assert_true(start_with(w, &b, 2, 2000, false, &status));
    nm_yarn_node_serve(w->yarn->services->node);
    assert_sums(w, 5, 0);
}

static int update_to(struct tracker_fixture *w, struct wanted *a, int32_t version, int64_t licenses,
                     struct nm_exception *why)
{
    Hadoop__ResourceValue value = HADOOP__RESOURCE_VALUE__INIT, *list[] = {&value};

    want(a, 1, 64, false, version);
    value.name = (char *)"license";
    value.has_value = 1;
    value.value = licenses;
    value.units = (char *)"";
    a->ids.resource.n_values = 1;
    a->ids.resource.values = list;
    pack(a);
    return nm_yarn_node_update(w->yarn->services->node, (struct nm_bytes){a->bytes, a->size}, &a->ids.token, why);
}

static void test_a_container_can_grow_as_far_as_the_resource_is_free(void **state)
{
    struct tracker_fixture *w = *state;
    struct nm_exception why;
    struct wanted a, b;
    int32_t status;

    join_with_licenses(w);
    assert_true(start_with(w, &a, 1, 1000, false, &status));
    assert_true(start_with(w, &b, 2, 1000, true, &status));
    nm_yarn_node_serve(w->yarn->services->node);
    assert_int_equal(update_to(w, &a, 1, 4000, &why), NM_YARN_REFUSED);
    assert_non_null(strstr(why.message, "requests 3k more of the resource license, of which 2k are free"));
    assert_int_equal(update_to(w, &a, 1, 3000, &why), 0);
    assert_sums(w, 3, 1);
    assert_int_equal(update_to(w, &a, 2, 1000, &why), 0);
    assert_sums(w, 1, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tracker_set_up, tracker_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_are_converted),
        cmocka_unit_test(test_amounts_are_in_the_units_of_the_cluster),
        cmocka_unit_test(test_properties_that_are_refused),
        TEST(test_the_registration_has_the_resources),
        TEST(test_a_container_that_requests_more_than_the_node_has_fails),
        TEST(test_an_opportunistic_container_that_does_not_fit_waits),
        TEST(test_a_guaranteed_container_takes_the_resource_of_opportunistic_ones),
        TEST(test_guaranteed_containers_are_not_compared_with_each_other),
        TEST(test_a_container_can_grow_as_far_as_the_resource_is_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
