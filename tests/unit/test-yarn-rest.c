/* SPDX-License-Identifier: Apache-2.0 */

/* yarn/node/rest.c: conversions for the answers of a NodeManager's web services. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "tests/unit/described.h"
#include "util/macros.h"
#include "yarn/node/rest.h"

/* ---- answers about the node --------------------------------------------------------------- */

static void test_the_page_of_the_node_is_complete(void **state)
{
    struct nm_yarn_rest_node n = {"node07", 45454, false, "no disk \xff", 1500, 500, 8192, 10240, 8, true,
                                  "memory-mb (unit=Mi), vcores",
                                  "3.4.2", "nmd 1"};

    (void)state;
    assert_answer("HadoopNode", nm_yarn_rest_node(&n),
                  "{\"nodeInfo\":{\"healthReport\":\"no disk \",\"totalVmemAllocatedContainersMB\":10240,"
                  "\"totalPmemAllocatedContainersMB\":8192,\"totalVCoresAllocatedContainers\":8,"
                  "\"vmemCheckEnabled\":false,\"pmemCheckEnabled\":true,\"lastNodeUpdateTime\":1500,"
                  "\"resourceTypes\":\"memory-mb (unit=Mi), vcores\",\"nodeHealthy\":false,"
                  "\"nodeManagerVersion\":\"3.4.2\",\"nodeManagerBuildVersion\":\"nmd 1\","
                  "\"nodeManagerVersionBuiltOn\":null,\"hadoopVersion\":\"3.4.2\",\"hadoopBuildVersion\":\"nmd 1\","
                  "\"hadoopVersionBuiltOn\":null,\"id\":\"node07:45454\",\"nodeHostName\":\"node07\","
                  "\"nmStartupTime\":500}}");
    n.host = "";
    assert_answer("HadoopNode", nm_yarn_rest_node(&n), NULL);
}

static void test_only_valid_ids_name_a_container(void **state)
{
    static const char *const ids[] = {"container_1_1_1_1", "container_e17_1_0001_01_000001",
                                      "container_1410901177871_0001_01_1099511627775"};
    static const char *const applications[] = {"application_1_1", "application_1_0001",
                                               "application_1410901177871_0001"};
    char application[64];
    static const char *const none[] = {
        "", "container_", "container_1_1_1", "container_1_1_1_1_1", "container_1_1_1_", "container_1_1_1_1 ",
        "container_e_1_1_1_1", "container_e1", "container_1__1_1", "container_x_1_1_1", "container_1_1_1_-1",
        "application_1_1", "Container_1_1_1_1", "container_e1_1_1_1"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(ids); i++)
        assert_true(nm_yarn_rest_is_container_id(ids[i]));
    for (size_t i = 0; i < NM_ARRAY_SIZE(none); i++)
        assert_false(nm_yarn_rest_is_container_id(none[i]));
    for (size_t i = 0; i < NM_ARRAY_SIZE(ids); i++) {
        assert_int_equal(nm_yarn_rest_application_of(ids[i], application, sizeof application), 0);
        assert_string_equal(application, applications[i]);
        assert_int_equal(nm_yarn_rest_application_of(ids[i], application, strlen(applications[i])), -ENAMETOOLONG);
    }
    assert_string_equal(nm_yarn_rest_application_state(false, false), "RUNNING");
    assert_string_equal(nm_yarn_rest_application_state(true, true), "FINISHING_CONTAINERS_WAIT");
    assert_string_equal(nm_yarn_rest_application_state(true, false), "APPLICATION_RESOURCES_CLEANINGUP");
    assert_true(nm_yarn_rest_is_application_state("INITING"));
    assert_false(nm_yarn_rest_is_application_state("running"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_page_of_the_node_is_complete),
        cmocka_unit_test(test_only_valid_ids_name_a_container),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
