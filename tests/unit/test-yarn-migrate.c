/* SPDX-License-Identifier: Apache-2.0 */

/* The report of nmd --migrate-check: each property of a NodeManager is in one group, with a sentence. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fileio.h"
#include "yarn-default.h"
#include "yarn/conf/settings.h"
#include "yarn/conf/suggestions.h"
#include "yarn/migrate/behaviour.h"
#include "yarn/migrate/migrate.h"

#define NM "yarn.nodemanager."

static char dir[] = "/tmp/nmd-migrate.XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static void write_file(const char *name, const char *text)
{
    char path[200];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"yarn-site.xml", "container-executor.cfg"};
    char path[200];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    return rmdir(dir);
}

static void gather(const char *properties, struct nm_migrate_report *ret)
{
    static char text[64 << 10];
    char *message = NULL;

    (void)snprintf(text, sizeof text, "<configuration>%s</configuration>", properties);
    write_file("yarn-site.xml", text);
    *ret = (struct nm_migrate_report){};
    if (nm_migrate_gather(dir, ret, &message) != 0)
        fail_msg("%s", message);
}

static void append(char *text, size_t size, const char *name, const char *value)
{
    const size_t n = strlen(text);

    assert_true(snprintf(text + n, size - n, "<property><name>%s</name><value>%s</value></property>", name, value) <
                (int)(size - n));
}

static const struct nm_migrate_entry *find(const struct nm_migrate_report *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->entries[i].name && nm_streq(r->entries[i].name, name))
            return &r->entries[i];
    return NULL;
}

/* A sentence begins with a capital letter or a name, and ends with a full stop. */
static void assert_sentences(const char *name, const char *text)
{
    const size_t n = strlen(text);

    if (n < 10 || text[n - 1] != '.' || strstr(text, "  ") || (!isupper((unsigned char)*text) &&
                                                               strncmp(text, "nm", 2) != 0))
        fail_msg("%s: '%s'", name, text);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* Without a row, the report could say only that nmd doesn't use the property. */
static void test_each_property_without_effect_has_a_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(yarn_default); i++) {
        char name[200];

        (void)snprintf(name, sizeof name, NM "%s", yarn_default[i].name);
        if (nm_yarn_rules_support(name) == NM_YARN_PROPERTY_WITHOUT_EFFECT && !nm_migrate_find_behaviour(name))
            fail_msg("%s has no row", name);
    }
}

static void test_the_texts_of_all_tables_are_sentences(void **state)
{
    (void)state;
    for (size_t i = 0; i < nm_migrate_n_behaviours; i++)
        assert_sentences(nm_migrate_behaviours[i].name, nm_migrate_behaviours[i].why);
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        if (!strchr(nm_yarn_keys[i].meaning, ':'))
            assert_sentences(nm_yarn_keys[i].name, nm_yarn_keys[i].meaning);
}

/* A row for a name that Hadoop doesn't define would never be printed. */
static void test_each_row_is_about_a_known_property(void **state)
{
    (void)state;
    for (size_t i = 0; i < nm_migrate_n_behaviours; i++) {
        const char *name = nm_migrate_behaviours[i].name;
        char any[200];

        (void)snprintf(any, sizeof any, "%s%s", name, strchr(".-", name[strlen(name) - 1]) ? "x" : "");
        if (strncmp(name, "yarn.", 5) == 0 && nm_yarn_rules_support(any) == NM_YARN_PROPERTY_UNKNOWN)
            fail_msg("%s is unknown", any);
        assert_ptr_equal(nm_migrate_find_behaviour(name), &nm_migrate_behaviours[i]);
    }
}

/* ---- groups --------------------------------------------------------------------------------- */

/* All of Hadoop's own properties with their defaults: none is refused, and each is in one of the groups. */
static void test_each_property_of_hadoop_is_in_a_group(void **state)
{
    static char text[60 << 10];
    struct nm_migrate_report r;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(yarn_default); i++) {
        char name[200];

        (void)snprintf(name, sizeof name, NM "%s", yarn_default[i].name);
        if (!strchr(name, '%') && *yarn_default[i].value)
            append(text, sizeof text, name, yarn_default[i].value);
    }
    gather(text, &r);
    for (size_t i = 0; i < NM_ARRAY_SIZE(yarn_default); i++) {
        const struct nm_migrate_entry *e;
        char name[200];

        (void)snprintf(name, sizeof name, NM "%s", yarn_default[i].name);
        if (strchr(name, '%') || !*yarn_default[i].value)
            continue;
        e = find(&r, name);
        if (!e)
            fail_msg("%s is in no group", name);
        if (e->need == NM_MIGRATE_REFUSED || strstr(e->sentence, "doesn't use this property") ||
            strstr(e->sentence, "Unknown"))
            fail_msg("%s: %s", name, e->sentence);
    }
    for (size_t i = 0; i < nm_migrate_n_behaviours; i++)
        if (nm_migrate_behaviours[i].when == NM_MIGRATE_ALWAYS)
            assert_non_null(find(&r, nm_migrate_behaviours[i].name));
    nm_migrate_report_done(&r);
}

static void test_each_supported_property_is_in_a_group(void **state)
{
    static char text[60 << 10];
    struct nm_migrate_report r;

    (void)state;
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        append(text, sizeof text, nm_yarn_keys[i].name, "?");
    gather(text, &r);
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        assert_non_null(find(&r, nm_yarn_keys[i].name));
    assert_int_equal(nm_migrate_report_status(&r), 1);
    nm_migrate_report_done(&r);
}

#define SET(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define LIMIT NM "linux-container-executor.nonsecure-mode.limit-users"

static void test_each_group_has_its_reason(void **state)
{
    struct nm_migrate_report r;
    const struct nm_migrate_entry *e;

    (void)state;
    gather(SET(NM "resource-plugins", "yarn.io/fpga") SET(NM "resource.memory-mb", "4x")
               SET(NM "vmem-pmem-ratio", "2.1")
               SET("yarn.timeline-service.enabled", "true") SET(NM "bind-host", "::") SET(NM "odd", "a&#233;")
               SET("yarn.scheduler.minimum-allocation-mb", "1") SET(NM "local-dirs", "/data/1,/tmp/x"), &r);
    e = find(&r, NM "resource-plugins");
    assert_int_equal(e->need, NM_MIGRATE_REFUSED);
    assert_string_equal(e->value, "yarn.io/fpga");
    assert_string_equal(strrchr(e->file, '/'), "/yarn-site.xml");
    assert_int_equal(find(&r, NM "resource.memory-mb")->need, NM_MIGRATE_REFUSED);
    e = find(&r, LIMIT);
    assert_int_equal(e->need, NM_MIGRATE_NEEDED);
    assert_null(e->file);
    assert_string_equal(e->set_to, "false");
    e = find(&r, NM "local-dirs");
    assert_int_equal(e->need, NM_MIGRATE_SUGGESTED);
    assert_int_equal(find(&r, NM "vmem-pmem-ratio")->group, NM_MIGRATE_DIFFERS);
    assert_int_equal(find(&r, "yarn.timeline-service.enabled")->group, NM_MIGRATE_DIFFERS);
    assert_non_null(strstr(find(&r, NM "odd")->sentence, "Unknown to Hadoop"));
    assert_string_equal(find(&r, NM "odd")->value, "a??"); /* é in UTF-8 */
    assert_int_equal(find(&r, NM "bind-host")->group, NM_MIGRATE_SAME);
    assert_null(find(&r, "yarn.scheduler.minimum-allocation-mb"));
    assert_int_equal(r.n_others, 1);
    for (size_t i = 1; i < r.n; i++)
        assert_true(r.entries[i - 1].group <= r.entries[i].group);
    nm_migrate_report_done(&r);
}

/* Their names aren't in the table of properties, or they are checked outside of yarn/conf. */
static void test_refusals_of_labels_and_resources_have_their_property(void **state)
{
    static const char *const names[] = {NM "node-labels.provider",
                                        NM "node-attributes.provider.configured-node-attributes",
                                        NM "resource-type.license", NM "resource-type.yarn.io/gpu"};
    struct nm_migrate_report r;

    (void)state;
    gather(SET(NM "node-labels.provider", "org.example.Labels") SET(NM "node-attributes.provider", "config")
               SET(NM "node-attributes.provider.configured-node-attributes", "a")
               SET("yarn.resource-types", "license,yarn.io/gpu") SET(NM "resource-type.license", "x")
               SET(NM "resource-type.yarn.io/gpu", "2"), &r);
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        size_t n = 0;

        for (size_t k = 0; k < r.n; k++) {
            if (!r.entries[k].name || !nm_streq(r.entries[k].name, names[i]))
                continue;
            assert_int_equal(r.entries[k].need, NM_MIGRATE_REFUSED);
            n++;
        }
        if (n != 1)
            fail_msg("%s has %zu entries", names[i], n);
    }
    assert_int_equal(find(&r, "yarn.resource-types")->group, NM_MIGRATE_SAME);
    nm_migrate_report_done(&r);
}

/* Properties that only the ResourceManager uses are left out, even if nmd uses properties of the same kind. */
static void test_properties_of_the_resource_manager_are_left_out(void **state)
{
    static const char *const names[] = {"yarn.resourcemanager.scheduler.address",
                                        "yarn.resource-types.license.maximum-allocation",
                                        "yarn.am.liveness-monitor.expiry-interval-ms"};
    struct nm_migrate_report r;

    (void)state;
    gather(SET("yarn.resource-types", "license") SET("yarn.resource-types.license.units", "k")
               SET("yarn.resourcemanager.scheduler.address", "rm:8030")
               SET("yarn.resource-types.license.maximum-allocation", "4")
               SET("yarn.am.liveness-monitor.expiry-interval-ms", "600000"), &r);
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++)
        assert_null(find(&r, names[i]));
    assert_int_equal(r.n_others, 3);
    assert_int_equal(find(&r, "yarn.resource-types.license.units")->group, NM_MIGRATE_SAME);
    nm_migrate_report_done(&r);
    gather(SET(NM "amrmproxy.enabled", "true") SET("yarn.resourcemanager.scheduler.address", "rm:8030"), &r);
    assert_int_equal(find(&r, "yarn.resourcemanager.scheduler.address")->group, NM_MIGRATE_SAME);
    nm_migrate_report_done(&r);
}

static void test_gpus_are_a_difference(void **state)
{
    struct nm_migrate_report r;

    (void)state;
    gather(SET("yarn.resource-types", "yarn.io/gpu") SET(NM "resource-plugins", "yarn.io/gpu")
               SET(NM "resource-plugins.gpu.allowed-gpu-devices", "0:0") SET(NM "resource-plugins.fpga.x", "y"), &r);
    assert_int_equal(find(&r, NM "resource-plugins")->group, NM_MIGRATE_DIFFERS);
    assert_non_null(strstr(find(&r, NM "resource-plugins")->sentence, "DeviceAllow"));
    assert_int_equal(find(&r, NM "resource-plugins.gpu.allowed-gpu-devices")->group, NM_MIGRATE_SAME);
    assert_int_equal(find(&r, NM "resource-plugins.fpga.x")->group, NM_MIGRATE_DIFFERS);
    nm_migrate_report_done(&r);
}

static void test_a_cluster_without_needs_has_status_0(void **state)
{
    struct nm_migrate_report r;

    (void)state;
    gather(SET(LIMIT, "false"), &r);
    assert_int_equal(nm_migrate_report_status(&r), 0);
    nm_migrate_report_done(&r);
    gather(SET(LIMIT, "true"), &r);
    assert_int_equal(nm_migrate_report_status(&r), 1);
    nm_migrate_report_done(&r);
}

/* The file counts whoever can write to it, also without root. */
static void test_container_executor_cfg_is_read(void **state)
{
    struct nm_migrate_report r;
    bool refused = false, warned = false;

    (void)state;
    write_file("container-executor.cfg", "min.user.id=500\n[fpga]\nmodule.enabled=1\n[docker]\nmodule.enabled=1\n");
    gather(SET(LIMIT, "false"), &r);
    assert_string_equal(find(&r, "min.user.id")->value, "500");
    assert_int_equal(find(&r, "min.user.id")->group, NM_MIGRATE_SAME);
    for (size_t i = 0; i < r.n; i++) {
        const struct nm_migrate_entry *e = &r.entries[i];

        refused |= !e->name && e->need == NM_MIGRATE_REFUSED && strstr(e->sentence, "[fpga] module.enabled");
        warned |= !e->name && e->group == NM_MIGRATE_DIFFERS && strstr(e->sentence, "[docker] module.enabled");
    }
    assert_true(refused && warned);
    nm_migrate_report_done(&r);
    write_file("container-executor.cfg", "");
}

/* ---- output --------------------------------------------------------------------------------- */

static void test_the_json_has_each_entry_in_its_group(void **state)
{
    static const char *const groups[] = {"set", "differs", "same"};
    struct nm_migrate_report r;
    size_t n = 0;
    json_t *j;

    (void)state;
    gather(SET(NM "aux-services", "spark2_shuffle") SET(NM "bind-host", "::"), &r);
    j = nm_migrate_to_json(dir, &r);
    assert_non_null(j);
    for (size_t i = 0; i < NM_ARRAY_SIZE(groups); i++) {
        const json_t *list = json_object_get(j, groups[i]);
        size_t k;
        json_t *e;

        n += json_array_size(list);
        json_array_foreach(list, k, e) {
            assert_true(json_is_string(json_object_get(e, "property")));
            assert_true(json_is_string(json_object_get(e, "sentence")));
            assert_int_equal(json_is_string(json_object_get(e, "need")), i == 0);
        }
    }
    assert_int_equal(n, r.n);
    assert_int_equal(json_integer_value(json_object_get(j, "status")), 1);
    json_decref(j);
    nm_migrate_report_done(&r);
}

static void test_files_that_cannot_be_read_have_a_message(void **state)
{
    struct nm_migrate_report r = {};
    char *message = NULL;

    (void)state;
    write_file("yarn-site.xml", "<configuration><property>");
    assert_true(nm_migrate_gather(dir, &r, &message) < 0);
    assert_non_null(strstr(message, "yarn-site.xml"));
    free(message);
    message = NULL;
    assert_true(nm_migrate_gather("/nonexistent/conf", &r, &message) < 0);
    assert_non_null(strstr(message, "can't open"));
    free(message);
    assert_int_equal(r.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_property_without_effect_has_a_row),
        cmocka_unit_test(test_the_texts_of_all_tables_are_sentences),
        cmocka_unit_test(test_each_row_is_about_a_known_property),
        cmocka_unit_test(test_each_property_of_hadoop_is_in_a_group),
        cmocka_unit_test(test_each_supported_property_is_in_a_group),
        cmocka_unit_test(test_each_group_has_its_reason),
        cmocka_unit_test(test_refusals_of_labels_and_resources_have_their_property),
        cmocka_unit_test(test_properties_of_the_resource_manager_are_left_out),
        cmocka_unit_test(test_gpus_are_a_difference),
        cmocka_unit_test(test_a_cluster_without_needs_has_status_0),
        cmocka_unit_test(test_container_executor_cfg_is_read),
        cmocka_unit_test(test_the_json_has_each_entry_in_its_group),
        cmocka_unit_test(test_files_that_cannot_be_read_have_a_message),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
