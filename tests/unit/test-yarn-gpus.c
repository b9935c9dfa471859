/* SPDX-License-Identifier: Apache-2.0 */

/* GPUs: their properties, the report of nvidia-smi, the registration, and containers that request them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>

#include "agent/journal/containers.h"
#include "tests/unit/tracker-fixture.h"
#include "tests/unit/yarn-starts.h"
#include "yarn/gpu/report.h"
#include "yarn/id-messages.h"
#include "yarn/node/node-state.h"
#include "yarn/yarn-state.h"

#define TYPES "yarn.resource-types"
#define GPU NM_YARN_PLUGINS ".gpu."
#define WITH_GPUS TRACKER_PROPERTY(TYPES, NM_YARN_GPU) TRACKER_PROPERTY(NM_YARN_PLUGINS, NM_YARN_GPU)

/* ---- properties --------------------------------------------------------------------------- */

static struct nm_yarn_settings *settings_of(const char *properties, char **ret_message)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    struct nm_yarn_settings *s = NULL;
    char text[3000];

    (void)snprintf(text, sizeof text, "<configuration>%s</configuration>", properties);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "yarn-site.xml", text, strlen(text), ret_message), 0);
    (void)nm_yarn_settings_read(c, NULL, NULL, &s, ret_message);
    return s;
}

static void test_a_list_is_sorted_by_index(void **state)
{
    char *message = NULL;
    struct nm_yarn_settings *s =
        settings_of(WITH_GPUS TRACKER_PROPERTY(GPU "allowed-gpu-devices", " 7:1, 0:3 ,255:63 "), &message);

    (void)state;
    if (!s)
        fail_msg("%s", message);
    assert_true(s->gpus.enabled && !s->gpus.discovers);
    assert_int_equal(s->gpus.n, 3);
    assert_int_equal(s->gpus.major, 195);
    assert_int_equal(s->gpus.list[0].index, 0);
    assert_int_equal(s->gpus.list[0].minor, 3);
    assert_int_equal(s->gpus.list[2].index, 255);
    assert_int_equal(s->gpus.list[2].minor, 63);
    (void)nm_yarn_settings_free(s);
    s = settings_of(WITH_GPUS, &message);
    assert_true(s->gpus.enabled && s->gpus.discovers && s->gpus.fail_fast);
    assert_int_equal(s->gpus.timeout_usec, 10000000);
    (void)nm_yarn_settings_free(s);
}

static void test_properties_that_are_refused(void **state)
{
#define LIST_IS(list, why) \
    WITH_GPUS TRACKER_PROPERTY(GPU "allowed-gpu-devices", list), \
    "yarn-site.xml: " GPU "allowed-gpu-devices = '" list "': " why
#define LIST(list) LIST_IS(list, "must be auto, or INDEX:MINOR separated by commas")
#define TWICE "an index or a minor number is in the list twice"
    static const struct {
        const char *properties, *why;
    } rows[] = {
        {LIST("")}, {LIST("0")}, {LIST("0:")}, {LIST(":0")}, {LIST("0:0,")}, {LIST("0:0;1:1")}, {LIST("0:0 1:1")},
        {LIST("0:64")}, {LIST("256:0")}, {LIST("-1:0")}, {LIST("autos")}, {LIST(",")}, {LIST("0:0x,1:1")},
        {LIST_IS("0:0,1:0", TWICE)}, {LIST_IS("0:0,0:1", TWICE)},
        {LIST("0:0,0:1,x")},
        {WITH_GPUS TRACKER_PROPERTY(GPU "allowed-gpu-devices", "x,0:0,0:1"), "from 0 to 63; " TWICE},
        {TRACKER_PROPERTY(NM_YARN_PLUGINS, NM_YARN_GPU),
         "yarn-site.xml: " NM_YARN_PLUGINS " = 'yarn.io/gpu': yarn.resource-types (resource-types.xml) doesn't have"},
        {TRACKER_PROPERTY(NM_YARN_PLUGINS, "yarn.io/gpu, yarn.io/fpga"),
         "yarn-site.xml: " NM_YARN_PLUGINS " = 'yarn.io/gpu, yarn.io/fpga': yarn.resource-types (resource-types.xml)"},
        {WITH_GPUS TRACKER_PROPERTY(TYPES ".yarn.io/gpu.units", "k"),
         "yarn-site.xml: " TYPES ".yarn.io/gpu.units = 'k': must be empty"},
        {TRACKER_PROPERTY(TYPES, NM_YARN_GPU) TRACKER_PROPERTY(NM_YARN_PLUGINS, "yarn.io/gpu,yarn.io/fpga"),
         "nmd assigns GPUs to containers, but no other devices"},
        {WITH_GPUS TRACKER_PROPERTY(NM_YARN_PLUGINS ".fail-fast", "2"),
         "yarn-site.xml: " NM_YARN_PLUGINS ".fail-fast = '2': must be"},
        {TRACKER_PROPERTY("yarn.nodemanager.pluggable-device-framework.enabled", "true"), "can't run a device plugin"},
        {TRACKER_PROPERTY("yarn.nodemanager.network-tagging-handler.enabled", "true"), "doesn't tag the network"},
        {TRACKER_PROPERTY("yarn.nodemanager.runtime.linux.type", "runc"), "processes without images"},
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

static void count_sentence(const char *sentence, void *userdata)
{
    unsigned *n = userdata;

    *n += strstr(sentence, "yarn.io/gpu: has no effect") != NULL;
}

static void test_an_amount_of_gpus_in_the_files_has_no_effect(void **state)
{
    static const char text[] = "<configuration>" WITH_GPUS TRACKER_PROPERTY(GPU "allowed-gpu-devices", "0:0")
        TRACKER_PROPERTY(NM_YARN_RESOURCE_PREFIX NM_YARN_GPU, "9") "</configuration>";
    struct nm_yarn_settings *s = NULL;
    struct nm_yarn_conf *c;
    unsigned n = 0;
    char *message = NULL;

    (void)state;
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "yarn-site.xml", text, strlen(text), &message), 0);
    assert_int_equal(nm_yarn_settings_read(c, count_sentence, &n, &s, &message), 0);
    assert_int_equal(n, 1);
    assert_int_equal(s->gpus.n, 1);
    (void)nm_yarn_settings_free(s);
    (void)nm_yarn_conf_free(c);
}

/* ---- the report of nvidia-smi ------------------------------------------------------------- */

/* Reads the report in pieces of one byte. Returns the number of GPUs, or -errno. */
static int read_report(const char *text, struct nm_yarn_gpu *list, const char **ret_why)
{
    _cleanup_(nm_yarn_gpu_report_freep) struct nm_yarn_gpu_report *r = NULL;
    size_t n = 0;
    int e;

    assert_int_equal(nm_yarn_gpu_report_new(&r), 0);
    for (; *text; text++)
        nm_yarn_gpu_report_add(r, text, 1);
    e = nm_yarn_gpu_report_end(r, list, &n, ret_why);
    return e < 0 ? e : (int)n;
}

#define HEAD "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v11.dtd\">\n<nvidia_smi_log>\n"
#define ONE(minor) "<gpu id=\"1\"><name>T4</name><pci><minor_number>9</minor_number></pci><minor_number>" minor \
                   "</minor_number></gpu>"
#define TAIL "</nvidia_smi_log>\n"

static void test_a_report_is_read(void **state)
{
    struct nm_yarn_gpu list[NM_YARN_GPUS_MAX];
    const char *why = NULL;

    (void)state;
    assert_int_equal(read_report(HEAD TAIL, list, &why), 0);
    assert_int_equal(
        read_report(HEAD "<minor_number>5</minor_number>" ONE(" 2\n") "<other/>" ONE("0") TAIL, list, &why), 2);
    assert_int_equal(list[0].index, 0);
    assert_int_equal(list[0].minor, 2);
    assert_int_equal(list[1].index, 1);
    assert_int_equal(list[1].minor, 0);
}

static void test_reports_that_are_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "not well-formed"},
        {"NVIDIA-SMI has failed", "not well-formed"},
        {HEAD ONE("0"), "not well-formed"},
        {"<log>" ONE("0") "</log>", "not a report of nvidia-smi"},
        {HEAD ONE("N/A") TAIL, "no minor number"},
        {HEAD ONE("") TAIL, "no minor number"},
        {HEAD ONE("64") TAIL, "no minor number"},
        {HEAD ONE("-1") TAIL, "no minor number"},
        {HEAD "<gpu/>" TAIL, "no minor number"},
        {HEAD ONE("111111111") TAIL, "too long"},
        {HEAD ONE("1") ONE("1") TAIL, "the same minor number"},
        {HEAD "<gpu><minor_number>1</minor_number><minor_number>2</minor_number></gpu>" TAIL, "no minor number"},
        {"<!DOCTYPE a [<!ENTITY b \"c\">]><nvidia_smi_log/>", "declares an entity"},
        {HEAD "<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>",
         "nested too deeply"},
    };
    struct nm_yarn_gpu list[NM_YARN_GPUS_MAX];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        const char *why = "no reason";
        int r = read_report(rows[i].text, list, &why);

        if (r != -EBADMSG || !strstr(why, rows[i].why))
            fail_msg("row %zu: %d, %s", i, r, why);
    }
}

static void test_a_report_has_at_most_64_gpus(void **state)
{
    struct nm_yarn_gpu list[NM_YARN_GPUS_MAX];
    const char *why = "";
    char text[10000] = HEAD;

    (void)state;
    for (unsigned i = 0; i < 64; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), ONE("%u"), i);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), TAIL);
    assert_int_equal(read_report(text, list, &why), 64);
    (void)snprintf(strstr(text, TAIL), 200, "%s%s", ONE("0"), TAIL);
    assert_int_equal(read_report(text, list, &why), -EBADMSG);
    assert_non_null(strstr(why, "more than 64"));
}

/* ---- containers --------------------------------------------------------------------------- */

#define N_TWO "0:4,1:2"

static void join_with(struct tracker_fixture *w, const char *list)
{
    char text[1000];

    (void)snprintf(text, sizeof text, WITH_GPUS TRACKER_PROPERTY(GPU "allowed-gpu-devices", "%s"), list);
    tracker_configure(w, text);
    tracker_join(w);
    tracker_run_beats(w, 1);
}

static void start_one(struct tracker_fixture *w, struct wanted *a, int64_t number, int64_t gpus, bool opportunistic)
{
    Hadoop__ResourceValue value = HADOOP__RESOURCE_VALUE__INIT, *list[] = {&value};
    struct nm_exception why;

    want(a, number, 64, opportunistic, 0);
    value.name = (char *)(uintptr_t)NM_YARN_GPU;
    value.has_value = 1;
    value.value = gpus;
    value.units = (char *)(uintptr_t) "";
    a->ids.resource.n_values = gpus > 0;
    a->ids.resource.values = list;
    pack(a);
    if (start(w->yarn->services->node, a, "sleep 100", &why) != 0)
        fail_msg("%s", why.message);
    a->ids.resource.n_values = 0; /* the list was on the stack */
}

/* Returns "INDEX=NUMBER" for each assigned GPU, with the number of its container. */
static const char *assigned(const struct tracker_fixture *w)
{
    static const struct nm_yarn_view_rights all = {.all = true};
    json_t *list = nm_yarn_node_show_gpus(w->yarn->services->node, &all), *one;
    static char text[200];
    size_t i;

    text[0] = '\0';
    json_array_foreach(list, i, one) {
        const char *id = json_string_value(json_object_get(one, "container"));

        assert_int_equal(json_is_true(json_object_get(one, "assigned")), id != NULL);
        if (id)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d=%s", *text ? " " : "",
                           (int)json_integer_value(json_object_get(one, "index")), strrchr(id, '_') + 6);
    }
    json_decref(list);
    return text;
}

static struct nm_yarn_container *container_of(const struct tracker_fixture *w, const struct wanted *a)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(a->ids.token.container);

    return nm_yarn_container_table_find(&w->yarn->services->node->containers, &id);
}

static const char *waited_for;

static bool has_assigned(const struct tracker_fixture *w)
{
    return nm_streq(assigned(w), waited_for);
}

static void wait_for(struct tracker_fixture *w, const char *expected)
{
    waited_for = expected;
    tracker_run_until(w, has_assigned);
}

static void stop_one(struct tracker_fixture *w, const struct wanted *a)
{
    struct nm_exception why;

    assert_int_equal(nm_yarn_node_stop(w->yarn->services->node, &a->ids.container, NM_YARN_KILLED_BY_MASTER, "Stop.",
                                       &why), 0);
}

static const struct nm_yarn_container *ending;

static bool has_ended(const struct tracker_fixture *w)
{
    (void)w;
    return ending->completed;
}

/* Waits until the container has ended, and returns its exit status. The manager handles an end in a turn of its own. */
static int32_t end_of(struct tracker_fixture *w, const struct wanted *a)
{
    ending = container_of(w, a);
    tracker_run_until(w, has_ended);
    return ending->exit_status;
}

static const struct nm_cgroup_devices *devices_of(struct tracker_fixture *w, const struct wanted *a)
{
    return &nm_lists_by_id(w->node->m, container_of(w, a)->text)->devices;
}

static void test_a_container_gets_the_free_gpu_with_the_lowest_index(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b, c, none;

    join_with(w, N_TWO);
    assert_string_equal(w->resources, "yarn.io/gpu=2 ");
    start_one(w, &none, 9, 0, false);
    start_one(w, &a, 1, 1, false);
    wait_for(w, "0=1");
    start_one(w, &b, 2, 1, false);
    wait_for(w, "0=1 1=2");
    assert_true(devices_of(w, &a)->restricts && devices_of(w, &b)->restricts && devices_of(w, &none)->restricts);
    assert_int_equal(devices_of(w, &a)->major, 195);
    assert_int_equal(devices_of(w, &a)->minors, 1 << 4);
    assert_int_equal(devices_of(w, &b)->minors, 1 << 2);
    assert_int_equal(devices_of(w, &none)->minors, 0);
    stop_one(w, &a);
    wait_for(w, "1=2");
    start_one(w, &c, 3, 1, false);
    wait_for(w, "0=3 1=2");
}

static void test_a_container_that_requests_more_than_the_node_has_fails(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a;

    join_with(w, N_TWO);
    start_one(w, &a, 1, 3, false);
    assert_true(container_of(w, &a)->completed);
    assert_int_equal(container_of(w, &a)->exit_status, NM_YARN_INVALID);
    assert_non_null(strstr(container_of(w, &a)->diagnostics, "requests 3 of the resource yarn.io/gpu"));
}

static bool is_waiting(const struct tracker_fixture *w)
{
    const struct nm_container *c =
        nm_lists_by_id(w->node->m, w->yarn->services->node->containers.first->next->text);

    return nm_streq(c->progress, "waiting for yarn.io/gpu");
}

static void test_a_guaranteed_container_waits_for_another_guaranteed_one(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b;

    join_with(w, N_TWO);
    start_one(w, &a, 1, 2, false);
    wait_for(w, "0=1 1=1");
    start_one(w, &b, 2, 1, false);
    nm_yarn_node_serve(w->yarn->services->node);
    assert_true(is_waiting(w));
    assert_string_equal(assigned(w), "0=1 1=1");
    stop_one(w, &a);
    wait_for(w, "0=2");
    /* after two minutes of waiting, a container fails */
    start_one(w, &a, 3, 2, false);
    nm_yarn_node_serve(w->yarn->services->node);
    assert_true(container_of(w, &a)->waits);
    container_of(w, &a)->waits_since_usec -= 121 * NM_USEC_PER_SEC;
    nm_yarn_node_serve(w->yarn->services->node);
    assert_int_equal(end_of(w, &a), NM_YARN_INVALID);
}

/* The latest-started one is killed, and as few as needed. */
static void test_a_guaranteed_container_takes_gpus_from_opportunistic_ones(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b, c, d;

    join_with(w, "0:0,1:1,2:2");
    start_one(w, &a, 1, 1, true);
    start_one(w, &b, 2, 1, true);
    start_one(w, &c, 3, 1, true);
    wait_for(w, "0=1 1=2 2=3");
    start_one(w, &d, 4, 2, false);
    wait_for(w, "0=1 1=4 2=4");
    assert_int_equal(end_of(w, &b), NM_YARN_KILLED_BY_NODE);
    assert_int_equal(end_of(w, &c), NM_YARN_KILLED_BY_NODE);
    assert_false(container_of(w, &a)->completed);
}

/* Another one that arrives later does not get the GPU that a guaranteed container waits for. */
static void test_opportunistic_containers_wait_behind_guaranteed_ones(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b, c;

    join_with(w, N_TWO);
    start_one(w, &a, 1, 1, false);
    wait_for(w, "0=1");
    start_one(w, &b, 2, 2, false);
    start_one(w, &c, 3, 1, true);
    nm_yarn_node_serve(w->yarn->services->node); /* the loop doesn't run, so that the first one doesn't start yet */
    assert_string_equal(assigned(w), "0=1");
    stop_one(w, &a);
    wait_for(w, "0=2 1=2");
    assert_true(container_of(w, &c)->waits);
    stop_one(w, &b);
    wait_for(w, "0=3");
    /* one that waits too long is given back */
    start_one(w, &a, 4, 2, true);
    nm_yarn_node_serve(w->yarn->services->node);
    container_of(w, &a)->waits_since_usec -= 61 * NM_USEC_PER_SEC;
    nm_yarn_node_serve(w->yarn->services->node);
    assert_int_equal(end_of(w, &a), NM_YARN_KILLED_BY_NODE);
}

static void test_the_number_of_gpus_cannot_be_changed(void **state)
{
    struct tracker_fixture *w = *state;
    struct nm_exception why;
    struct wanted a;

    join_with(w, N_TWO);
    start_one(w, &a, 1, 1, false);
    wait_for(w, "0=1");
    want(&a, 1, 128, false, 1); /* without a GPU */
    assert_int_equal(nm_yarn_node_update(w->yarn->services->node, (struct nm_bytes){a.bytes, a.size}, &a.ids.token,
                                         &why), NM_YARN_REFUSED);
    assert_non_null(strstr(why.message, "number of GPUs"));
}

static void test_a_restarted_nmd_knows_the_gpus_of_containers(void **state)
{
    struct tracker_fixture *w = *state;
    struct wanted a, b, c;

    join_with(w, N_TWO);
    start_one(w, &a, 1, 1, false);
    wait_for(w, "0=1");
    start_one(w, &b, 2, 1, false);
    wait_for(w, "0=1 1=2");
    start_one(w, &c, 3, 1, false);
    nm_yarn_node_serve(w->yarn->services->node);
    stop_one(w, &a);
    w->yarn = nm_yarn_free(w->yarn); /* before the freed GPU is given to the third one */
    manager_fixture_restart(w->node);
    manager_fixture_start(w->node);
    join_with(w, N_TWO);
    wait_for(w, "0=3 1=2");
    assert_int_equal(devices_of(w, &b)->minors, 1 << 2);
    assert_int_equal(devices_of(w, &c)->minors, 1 << 4);
}

static void test_a_viewer_sees_only_its_own_containers(void **state)
{
    struct tracker_fixture *w = *state;
    const struct nm_caller other = {.uid = 12345, .gid = 12345};
    json_t *details, *one;
    struct wanted a;

    join_with(w, N_TWO);
    start_one(w, &a, 1, 1, false);
    wait_for(w, "0=1");
    details = nm_manager_upstream_details(w->node->m, &other, true);
    one = json_array_get(json_object_get(json_object_get(details, "gpus"), "devices"), 0);
    assert_true(json_is_true(json_object_get(one, "assigned")));
    assert_true(json_is_null(json_object_get(one, "container")));
    json_decref(details);
}

static bool sees_none(void *userdata, const char *id)
{
    (void)userdata, (void)id;
    return false;
}

/* The web service of the resource has the members of Hadoop's class. */
static void test_the_resource_is_described_as_by_hadoop(void **state)
{
    struct tracker_fixture *w = *state;
    const struct nm_yarn_view_rights rights[] = {{.all = true}, {.may_see = sees_none}};
    const struct nm_yarn_node *n;
    struct wanted a;

    join_with(w, N_TWO);
    n = w->yarn->services->node;
    start_one(w, &a, 1, 1, false);
    wait_for(w, "0=1");
    for (size_t i = 0; i < NM_ARRAY_SIZE(rights); i++) {
        json_t *got = nm_yarn_node_show_gpu_resource(n, &rights[i]);
        json_t *wanted = json_pack("{s:n, s:[{s:i, s:i}, {s:i, s:i}], s:[{s:i, s:i, s:s?}]}", "gpuDeviceInformation",
                                   "totalGpuDevices", "index", 0, "minorNumber", 4, "index", 1, "minorNumber",
                                   2, "assignedGpuDevices", "index", 0, "minorNumber", 4, "containerId",
                                   rights[i].all ? container_of(w, &a)->text : NULL);

        assert_non_null(wanted);
        assert_true(json_equal(got, wanted));
        json_decref(got);
        json_decref(wanted);
    }
}

/* ---- discovery ---------------------------------------------------------------------------- */

static void write_program(const struct tracker_fixture *w, const char *lines)
{
    char path[200], new_path[210];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/nvidia-smi", w->node->tree.path);
    (void)snprintf(new_path, sizeof new_path, "%s.new", path);
    f = fopen(new_path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n[ \"$*\" = '-q -x' ] || exit 9\n%s\n", lines);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(new_path, 0755), 0);
    assert_int_equal(rename(new_path, path), 0);
}

static void join_by_discovery(struct tracker_fixture *w, const char *more)
{
    char text[1500];

    (void)snprintf(text, sizeof text, WITH_GPUS TRACKER_PROPERTY(GPU "path-to-discovery-executables", "%s") "%s",
                   w->node->tree.path, more);
    tracker_configure(w, text);
    tracker_join(w);
}

static bool has_gpu_trouble(const struct tracker_fixture *w)
{
    return *w->yarn->gpus.trouble;
}

static void test_the_registration_waits_for_the_discovery(void **state)
{
    struct tracker_fixture *w = *state;

    write_program(w, "sleep 0.3; echo '" HEAD ONE("3") ONE("1") TAIL "'");
    join_by_discovery(w, "");
    tracker_run_beats(w, 1);
    assert_string_equal(w->resources, "yarn.io/gpu=2 ");
    assert_int_equal(w->registrations, 1);
    assert_int_equal(w->yarn->services->node->gpus[0].minor, 3);
    assert_false(has_gpu_trouble(w));
}

static void test_a_failed_discovery_is_repeated(void **state)
{
    struct tracker_fixture *w = *state;

    write_program(w, "exit 3");
    join_by_discovery(w, "");
    tracker_run_until(w, has_gpu_trouble);
    assert_non_null(strstr(w->yarn->gpus.trouble, "nvidia-smi exited with status 3"));
    assert_int_equal(w->registrations, 0);
    write_program(w, "echo '" HEAD ONE("0") TAIL "'");
    tracker_run_beats(w, 1);
    assert_string_equal(w->resources, "yarn.io/gpu=1 ");
    assert_false(has_gpu_trouble(w));
}

static void test_a_node_may_join_without_gpus(void **state)
{
    struct tracker_fixture *w = *state;

    write_program(w, "echo '" HEAD TAIL "'");
    join_by_discovery(w, TRACKER_PROPERTY(NM_YARN_PLUGINS ".fail-fast", "false")
                             TRACKER_PROPERTY(GPU "discovery-max-errors", "1"));
    tracker_run_beats(w, 2);
    assert_string_equal(w->resources, "yarn.io/gpu=0 ");
    assert_non_null(strstr(w->yarn->gpus.trouble, "reports no GPU"));
    assert_int_equal(w->registrations, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tracker_set_up, tracker_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_is_sorted_by_index),
        cmocka_unit_test(test_properties_that_are_refused),
        cmocka_unit_test(test_an_amount_of_gpus_in_the_files_has_no_effect),
        cmocka_unit_test(test_a_report_is_read),
        cmocka_unit_test(test_reports_that_are_refused),
        cmocka_unit_test(test_a_report_has_at_most_64_gpus),
        TEST(test_a_container_gets_the_free_gpu_with_the_lowest_index),
        TEST(test_a_container_that_requests_more_than_the_node_has_fails),
        TEST(test_a_guaranteed_container_waits_for_another_guaranteed_one),
        TEST(test_a_guaranteed_container_takes_gpus_from_opportunistic_ones),
        TEST(test_opportunistic_containers_wait_behind_guaranteed_ones),
        TEST(test_the_number_of_gpus_cannot_be_changed),
        TEST(test_a_restarted_nmd_knows_the_gpus_of_containers),
        TEST(test_a_viewer_sees_only_its_own_containers),
        TEST(test_the_resource_is_described_as_by_hadoop),
        TEST(test_the_registration_waits_for_the_discovery),
        TEST(test_a_failed_discovery_is_repeated),
        TEST(test_a_node_may_join_without_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
