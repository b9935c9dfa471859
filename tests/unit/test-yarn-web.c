/* SPDX-License-Identifier: Apache-2.0 */

/* yarn/web/: the pages of a NodeManager, its JMX beans and its properties. */

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
#include "yarn/web/beans.h"
#include "yarn/web/conf-dump.h"
#include "yarn/web/object-name.h"
#include "yarn/web/page.h"

#define BEAN "Hadoop:service=NodeManager,name=JvmMetrics"

/* ---- names of beans ----------------------------------------------------------------------- */

static void test_a_pattern_matches_as_in_java(void **state)
{
    static const struct {
        const char *pattern;
        bool matches;
    } cases[] = {
        {"*:*", true},
        {"", true},
        {BEAN, true},
        {"Hadoop:name=JvmMetrics,service=NodeManager", true},
        {"Hadoop:service=NodeManager,name=*", true},
        {"Hadoop:service=NodeManager,name=J*M?trics*", true},
        {"Hadoop:service=NodeManager,*", true},
        {"Hadoop:*,name=JvmMetrics", true},
        {"Hadoop:*", true},
        {"H?do*:*", true},
        {"*:name=JvmMetrics", false}, /* without "*", the names must have the same properties */
        {"Hadoop:service=NodeManager", false},
        {"Hadoop:service=NodeManager,name=JvmMetric", false},
        {"Hadoop:service=NodeManager,name=JvmMetrics?", false},
        {"Hadoop:service=NodeManager,name=jvmMetrics", false},
        {"Hadoop:service=NodeManager,name=JvmMetrics,sub=x", false},
        {"Hadoop:other=NodeManager,name=JvmMetrics", false},
        {"java.lang:*", false},
        {":*", false},
        {"Hadoop:service=NodeManager,name=\"JvmMetrics\"", false},
        {"Hadoop:service=NodeManager,name=********************************x", false},
    };
    static const char *const invalid[] = {
        "*", "Hadoop", "Hadoop:", "Hadoop:service", "Hadoop:service=", "Hadoop:=x", "Hadoop:service=a,",
        "Hadoop:,service=a", "Hadoop:service=a,service=b", "Hadoop:*,*", "Hadoop:serv*=a", "Hadoop:s=a=b",
        "Hadoop:s=a:b",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        if (!nm_yarn_object_name_is_valid(cases[i].pattern))
            fail_msg("%s is valid", cases[i].pattern);
        if (nm_yarn_object_name_matches(cases[i].pattern, BEAN) != cases[i].matches)
            fail_msg("%s", cases[i].pattern);
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(invalid); i++)
        if (nm_yarn_object_name_is_valid(invalid[i]))
            fail_msg("%s is invalid", invalid[i]);
}

/* The time of the check grows with the square of the number of properties. */
static void test_the_number_of_properties_is_limited(void **state)
{
    char name[400] = "Hadoop:";
    size_t used = strlen(name);

    (void)state;
    for (int i = 0; i < 33; i++) {
        used += (size_t)snprintf(name + used, sizeof name - used, "%s%c%d=x", i > 0 ? "," : "", 'a' + i % 26, i / 26);
        assert_int_equal(nm_yarn_object_name_is_valid(name), i < 32);
    }
}

/* ---- beans -------------------------------------------------------------------------------- */

static struct nm_status status;
static struct nm_yarn_node_figures node;
static struct nm_yarn_launcher_figures launcher;
static struct nm_yarn_shuffle_figures shuffle, spark;
static struct nm_yarn_beans all;

static int set_up_beans(void **state)
{
    const uint64_t gib = UINT64_C(1) << 30;

    (void)state;
    status = (struct nm_status){.capacity = {8 * gib, 4000}, .capacity_vcores_milli = 8000, .sample_cost_usec = 2500,
                                .started_realtime_usec = 1000000};
    status.node = (struct nm_node_sample){.memory_total_bytes = 16 * gib, .memory_available_bytes = 5 * gib + 1,
                                          .swap_total_bytes = 2 * gib, .n_cpus = 4, .cpu_busy_millicores = 1500,
                                          .cpu_valid = true};
    node = (struct nm_yarn_node_figures){.launched = 7, .succeeded = 1, .failed = 2, .killed = 3, .n = 4, .running = 2,
                                         .memory_mib = 9217, .vcores = 9, .used_bytes = 3 * gib - 1,
                                         .swapped_bytes = 1, .cpu_millicores = 1000};
    nm_yarn_rate_add(&node.launch, 5000, 1);
    nm_yarn_rate_add(&node.launch, 10000, 2);
    launcher = (struct nm_yarn_launcher_figures){.n_fetched = 1, .n_cached = 2, .fetched_bytes = 100, .n_bad_log = 1,
                                                 .local_use = 0.759};
    shuffle = (struct nm_yarn_shuffle_figures){.outputs_ok = 5, .sent_bytes = 1234, .connections = 1};
    spark = (struct nm_yarn_shuffle_figures){.outputs_ok = 6, .sent_bytes = 99, .connections = 2};
    all = (struct nm_yarn_beans){.host = "node07", .memory_mib = 8192, .vcores = 8, .status = &status, .node = &node,
                                 .launcher = &launcher, .shuffle = &shuffle, .spark = &spark,
                                 .spark_name = "sparkShuffleService",
                                 .realtime_usec = 3000000,
                                 .process = {.pid = 5, .anonymous_bytes = 1 << 20, .log_warn = 4}};
    return 0;
}

/* Returns the only bean that matches. The caller drops the answer. */
static const json_t *bean_of(const json_t *answer)
{
    assert_described("HadoopBeans", answer);
    assert_int_equal(json_array_size(json_object_get(answer, "beans")), 1);
    return json_array_get(json_object_get(answer, "beans"), 0);
}

static void assert_members(const char *name, const char *members)
{
    json_t *answer = nm_yarn_beans_query(&all, name), *wanted = json_loads(members, 0, NULL), *value;
    const json_t *bean = bean_of(answer);
    const char *member;

    assert_non_null(wanted);
    assert_string_equal(json_string_value(json_object_get(bean, "name")), name);
    json_object_foreach(wanted, member, value)
        if (!json_equal(json_object_get(bean, member), value))
            fail_msg("%s: %f", member, json_number_value(json_object_get(bean, member)));
    json_decref(wanted);
    json_decref(answer);
}

static void test_the_beans_have_nmds_figures(void **state)
{
    (void)state;
    assert_members("Hadoop:service=NodeManager,name=NodeManagerMetrics",
                   "{\"modelerType\":\"NodeManagerMetrics\",\"tag.Context\":\"yarn\",\"tag.Hostname\":\"node07\","
                   "\"ContainersLaunched\":7,\"ContainersCompleted\":1,\"ContainersFailed\":2,\"ContainersKilled\":3,"
                   "\"ContainersRunning\":2,\"AllocatedContainers\":4,\"AllocatedGB\":10,\"AvailableGB\":-2,"
                   "\"AllocatedVCores\":9,\"AvailableVCores\":-1,\"ContainerLaunchDurationNumOps\":2,"
                   "\"ContainerLaunchDurationAvgTime\":7.5,\"ContainerUsedMemGB\":2,\"ContainerUsedVMemGB\":3,"
                   "\"ContainerCpuUtilization\":2.0,\"NodeUsedMemGB\":10,\"NodeUsedVMemGB\":12,"
                   "\"NodeCpuUtilization\":1.5,\"ContainersMonitorCostTime\":2,\"BadLocalDirs\":0,\"BadLogDirs\":1,"
                   "\"GoodLocalDirsDiskUtilizationPerc\":75,\"LocalizedCacheMissBytes\":100,"
                   "\"LocalizedCacheHitBytesRatio\":0,\"LocalizedCacheHitFilesRatio\":66,"
                   "\"LocalizationDurationMillisNumOps\":0,\"LocalizationDurationMillisAvgTime\":0.0}");
    assert_members("Hadoop:service=NodeManager,name=ShuffleMetrics",
                   "{\"tag.Context\":\"mapred\",\"ShuffleOutputBytes\":1234,\"ShuffleOutputsFailed\":0,"
                   "\"ShuffleOutputsOK\":5,\"ShuffleConnections\":1}");
    assert_members("Hadoop:service=NodeManager,name=sparkShuffleService",
                   "{\"blockTransferRate_count\":6,\"blockTransferRateBytes_count\":99,\"numActiveConnections\":2}");
    assert_members(BEAN, "{\"tag.SessionId\":null,\"MemHeapUsedM\":1.0,\"MemHeapMaxM\":-1.0,\"GcCount\":0,"
                         "\"ThreadsRunnable\":1,\"LogWarn\":4}");
    assert_members("java.lang:type=Runtime", "{\"Name\":\"5@node07\",\"StartTime\":1000,\"Uptime\":2000}");
    assert_members("java.lang:type=OperatingSystem", "{\"AvailableProcessors\":4,\"SystemCpuLoad\":0.375}");
    assert_members("java.lang:type=Memory",
                   "{\"HeapMemoryUsage\":{\"committed\":0,\"max\":-1,\"used\":1048576}}");
    assert_members("java.lang:type=Threading", "{\"ThreadCount\":1}");
    assert_members("Hadoop:service=NodeManager,name=NodeManager", "{\"SecurityEnabled\":false}");
}

/* A mean is that of the newest interval, and the number that of all. */
static void test_a_mean_is_of_the_newest_durations(void **state)
{
    struct nm_yarn_rate r = {};

    (void)state;
    assert_true(nm_yarn_rate_mean_msec(&r) == 0);
    nm_yarn_rate_add(&r, 9000, 100);
    nm_yarn_rate_add(&r, 1000, 100 + NM_YARN_RATE_INTERVAL_USEC - 1);
    assert_true(nm_yarn_rate_mean_msec(&r) == 5);
    nm_yarn_rate_add(&r, 2000, 100 + NM_YARN_RATE_INTERVAL_USEC);
    assert_true(nm_yarn_rate_mean_msec(&r) == 2);
    assert_int_equal(r.n, 3);
}

static void test_a_query_selects_beans(void **state)
{
    json_t *j = nm_yarn_beans_query(&all, "*:*");

    (void)state;
    assert_int_equal(json_array_size(json_object_get(j, "beans")), 9);
    assert_answer("HadoopBeans", j, NULL);
    all.shuffle = all.spark = NULL; /* the cluster uses neither nm-shuffle nor nm-spark-shuffle */
    j = nm_yarn_beans_query(&all, "Hadoop:service=NodeManager,name=*");
    assert_int_equal(json_array_size(json_object_get(j, "beans")), 3);
    json_decref(j);
    assert_answer("HadoopBeans", nm_yarn_beans_query(&all, "Hadoop:service=NodeManager,name=ShuffleMetrics"),
                  "{\"beans\":[]}");
}

static void test_a_request_gets_one_attribute(void **state)
{
    (void)state;
    assert_answer("HadoopBeans", nm_yarn_beans_get(&all, BEAN, "LogWarn"),
                  "{\"beans\":[{\"name\":\"" BEAN "\",\"modelerType\":\"JvmMetrics\",\"LogWarn\":4}]}");
    assert_answer("HadoopBeans", nm_yarn_beans_get(&all, "java.lang:type=*", "ThreadCount"),
                  "{\"beans\":[{\"name\":\"java.lang:type=Memory\",\"modelerType\":\"sun.management.MemoryImpl\","
                  "\"result\":\"ERROR\",\"message\":\"No attribute with name ThreadCount was found.\"}]}");
    assert_answer("HadoopBeans", nm_yarn_beans_get(&all, "other:*", "x"), "{\"beans\":[]}");
    assert_answer("HadoopBeans", nm_yarn_beans_get(&all, BEAN, "tag.SessionId"), /* null is no value, as in Hadoop */
                  "{\"beans\":[{\"name\":\"" BEAN "\",\"modelerType\":\"JvmMetrics\",\"result\":\"ERROR\","
                  "\"message\":\"No attribute with name tag.SessionId was found.\"}]}");
    json_decref(nm_yarn_beans_get(&all, BEAN, "\xff"));
}

/* ---- properties --------------------------------------------------------------------------- */

static struct nm_yarn_settings *settings_of(const char *text)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    _cleanup_free_ char *message = NULL;
    struct nm_yarn_settings *s = NULL;

    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "/etc/hadoop/conf/yarn-site.xml", text, strlen(text), &message),
                     0);
    if (nm_yarn_settings_read(c, NULL, NULL, &s, &message) < 0)
        fail_msg("%s", message);
    return s;
}

#define PROPERTY(name, value, more) "<property><name>" name "</name><value>" value "</value>" more "</property>"
#define FINAL "<final>true</final>"
#define ENV "yarn.nodemanager.admin-env."

static void assert_property(const struct nm_yarn_settings *s, const char *name, const char *expected)
{
    json_t *dump = NULL;

    assert_int_equal(nm_yarn_conf_dump(s, name, false, &dump), 0);
    assert_answer("HadoopConf", dump, expected);
}

static size_t count_unlisted(void)
{
    size_t n = 0;

    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        n += nm_yarn_keys[i].unlisted;
    return n;
}

static void test_the_configuration_has_the_properties_that_nmd_reads(void **state)
{
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *s = settings_of(
        "<configuration>" PROPERTY("yarn.nodemanager.hostname", "n7", FINAL)
            PROPERTY("yarn.nodemanager.user-home-dir", "/h", "") PROPERTY(ENV "A", "&lt;b&gt;", "")
            PROPERTY(ENV "A_password", "top", "") "</configuration>");
    _cleanup_free_ char *xml = NULL;
    json_t *dump = NULL;

    (void)state;
    assert_property(s, "yarn.nodemanager.hostname",
                    "{\"property\":{\"key\":\"yarn.nodemanager.hostname\",\"value\":\"n7\",\"isFinal\":true,"
                    "\"resource\":\"yarn-site.xml\"}}");
    assert_property(s, "yarn.acl.enable", "{\"property\":{\"key\":\"yarn.acl.enable\",\"value\":\"false\","
                                          "\"isFinal\":false,\"resource\":\"yarn-default.xml\"}}");
    assert_property(s, "nmd.web.container-logs", "{\"property\":{\"key\":\"nmd.web.container-logs\",\"value\":\"true\","
                                                 "\"isFinal\":false,\"resource\":\"nmd\"}}");
    assert_property(s, "ipc.client.connect.timeout",
                    "{\"property\":{\"key\":\"ipc.client.connect.timeout\",\"value\":\"20000\",\"isFinal\":false,"
                    "\"resource\":\"core-default.xml\"}}");
    assert_property(s, ENV "A_password", "{\"property\":{\"key\":\"" ENV "A_password\",\"value\":\"<redacted>\","
                                         "\"isFinal\":false,\"resource\":\"yarn-site.xml\"}}");
    assert_int_equal(nm_yarn_conf_dump(s, "yarn.no.such.name", false, &dump), -ENOENT);
    assert_null(dump);
    /* Hadoop's files of defaults have neither of these properties. The first one is set. */
    assert_property(s, "yarn.nodemanager.user-home-dir",
                    "{\"property\":{\"key\":\"yarn.nodemanager.user-home-dir\",\"value\":\"/h\",\"isFinal\":false,"
                    "\"resource\":\"yarn-site.xml\"}}");
    assert_int_equal(nm_yarn_conf_dump(s, "yarn.log.dir", false, &dump), -ENOENT);
    assert_int_equal(nm_yarn_conf_dump(s, "", false, &dump), 0);
    assert_int_equal(json_array_size(json_object_get(dump, "properties")), nm_yarn_n_keys - count_unlisted() + 1 + 2);
    assert_answer("HadoopConf", dump, NULL);
    assert_int_equal(nm_yarn_conf_dump(s, NULL, true, &dump), 0);
    xml = nm_yarn_conf_dump_xml(dump);
    json_decref(dump);
    assert_non_null(strstr(xml, "<property><name>" ENV "A</name><value>&#60;b&#62;</value><final>false</final>"
                                "<source>yarn-site.xml</source></property>"));
    assert_non_null(strstr(xml, "<name>" ENV "A_password</name><value>******</value>"));
    assert_null(strstr(xml, "top"));
}

/* If the cluster's list has an expression that nmd can't match as Java does, no value is shown. */
static void test_the_cluster_chooses_the_sensitive_properties(void **state)
{
    static const char *const lists[] = {"hostname", "yarn.*host", "a,^yarn", "(", ""};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(lists); i++) {
        _cleanup_free_ char *text = NULL;
        _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *s = NULL;
        json_t *dump = NULL;

        assert_true(asprintf(&text, "<configuration>" PROPERTY("yarn.nodemanager.hostname", "n7", "") PROPERTY(
                                        "hadoop.security.sensitive-config-keys", "%s", "") "</configuration>",
                             lists[i]) > 0);
        s = settings_of(text);
        assert_int_equal(nm_yarn_conf_dump(s, "yarn.nodemanager.hostname", false, &dump), 0);
        assert_string_equal(json_string_value(json_object_get(json_object_get(dump, "property"), "value")),
                            *lists[i] ? "<redacted>" : "n7");
        json_decref(dump);
    }
}

/* ---- pages -------------------------------------------------------------------------------- */

#define HOSTILE "<script>alert('x')</script>&\"\xff"
#define ESCAPED "&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#38;&#34;"
#define ID "container_e17_1410901177871_0001_01_000005"

static void assert_page(char *page, const char *const *parts)
{
    assert_non_null(page);
    assert_null(strstr(page, "<script"));
    assert_non_null(strstr(page, "</html>\n"));
    for (; *parts; parts++)
        if (!strstr(page, *parts))
            fail_msg("%s is not in %s", *parts, page);
    free(page);
}
#define PAGE(print, answer, ...) \
    do { \
        json_t *answer_ = (answer); \
        assert_non_null(answer_); \
        assert_page(print(answer_), (const char *const[]){__VA_ARGS__, NULL}); \
        json_decref(answer_); \
    } while (0)

static void test_pages_show_the_answers_of_the_web_services(void **state)
{
    const struct nm_yarn_rest_node n = {.host = "node07", .port = 45454, .report = "a <b>", .memory_mib = 8192,
                                        .vcores = 8, .resource_types = "memory-mb", .yarn_version = "3.4.2",
                                        .version = "nmd 1"};
    struct nm_yarn_rest_container c = {.id = ID, .state = "RUNNING", .user = "o.neil$", .diagnostics = HOSTILE "x",
                                       .memory_mib = 64, .vcores = 2, .opportunistic = true,
                                       .logs_link = "http://node07:8042/node/containerlogs/" ID "/o.neil$",
                                       .log_files = json_null(), .host = "node07", .port = 45454};

    (void)state;
    PAGE(nm_yarn_page_node, nm_yarn_rest_node(&n), "<th>Node</th><td>node07:45454</td>", "a &#60;b&#62;", "8192 MiB",
         "<th>Healthy</th><td>no</td>", "href=\"/node/allApplications\"", "href=\"/node/allContainers\"");
    PAGE(nm_yarn_page_container, json_pack("{s:o}", "container", nm_yarn_rest_container(&c)), ID, ESCAPED, "64 MiB",
         "OPPORTUNISTIC", "href=\"http://node07:8042/node/containerlogs/" ID "/o.neil$\"");
    PAGE(nm_yarn_page_containers,
         nm_yarn_rest_list("containers", "container", json_pack("[o]", nm_yarn_rest_container(&c)), true),
         "<a href=\"/node/container/" ID "\">" ID "</a>", "There are more. The page has the first 1.");
    c.user = c.diagnostics = c.logs_link = NULL; /* the viewer may not see them */
    PAGE(nm_yarn_page_container, json_pack("{s:o}", "container", nm_yarn_rest_container(&c)),
         "<th>User</th><td>-</td>", "<th>Logs</th><td>-</td>");
    PAGE(nm_yarn_page_containers, nm_yarn_rest_list("containers", "container", json_array(), false), "<p>None.</p>");
    PAGE(nm_yarn_page_applications,
         nm_yarn_rest_list("apps", "app",
                           json_pack("[o]", nm_yarn_rest_application("application_1_0001", "RUNNING", "a<",
                                                                     json_pack("[s, s]", ID, ID))), false),
         "<a href=\"/node/application/application_1_0001\">application_1_0001</a>", "<td>RUNNING</td><td>a&#60;</td>"
         "<td>2</td>");
    PAGE(nm_yarn_page_application,
         json_pack("{s:o}", "app", nm_yarn_rest_application("application_1_0001", "RUNNING", NULL,
                                                            json_pack("[s]", ID))),
         "<th>User</th><td>-</td>", "<li><a href=\"/node/container/" ID "\">" ID "</a></li>");
    assert_page(nm_yarn_page_message(HOSTILE), (const char *const[]){ESCAPED "\xef\xbf\xbd", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pattern_matches_as_in_java),
        cmocka_unit_test(test_the_number_of_properties_is_limited),
        cmocka_unit_test_setup(test_the_beans_have_nmds_figures, set_up_beans),
        cmocka_unit_test(test_a_mean_is_of_the_newest_durations),
        cmocka_unit_test_setup(test_a_query_selects_beans, set_up_beans),
        cmocka_unit_test_setup(test_a_request_gets_one_attribute, set_up_beans),
        cmocka_unit_test(test_the_configuration_has_the_properties_that_nmd_reads),
        cmocka_unit_test(test_the_cluster_chooses_the_sensitive_properties),
        cmocka_unit_test(test_pages_show_the_answers_of_the_web_services),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
