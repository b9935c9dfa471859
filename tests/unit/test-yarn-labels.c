/* SPDX-License-Identifier: Apache-2.0 */

/* A complete node and its ResourceManager: labels and attributes from properties and scripts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <syslog.h>
#include <sys/stat.h>

#include "tests/unit/tracker-fixture.h"
#include "util/clock.h"
#include "yarn/yarn-state.h"

#define LABELS "yarn.nodemanager.node-labels."
#define ATTRIBUTES "yarn.nodemanager.node-attributes."

static json_t *details_of(const struct tracker_fixture *w, const char *member)
{
    static const struct nm_caller root = {.admin = true};
    json_t *details = nm_manager_upstream_details(w->node->m, &root, true);
    json_t *one = json_incref(json_object_get(details, member));

    json_decref(details);
    return one;
}

/* Compares a member of the details as JSON. */
static void assert_shown(const struct tracker_fixture *w, const char *kind, const char *member, const char *expected)
{
    json_t *one = details_of(w, kind);
    char *text = json_dumps(json_object_get(one, member), JSON_ENCODE_ANY | JSON_COMPACT);

    assert_string_equal(text, expected);
    free(text);
    json_decref(one);
}

static void test_a_node_without_a_provider_reports_nothing(void **state)
{
    struct tracker_fixture *w = *state;
    json_t *shown;

    tracker_join(w);
    tracker_run_beats(w, 3);
    assert_int_equal(w->n_labels + w->n_attributes, 0);
    shown = details_of(w, "node_labels");
    assert_true(json_is_null(shown));
    json_decref(shown);
}

static void test_configured_sets_are_in_the_registration(void **state)
{
    struct tracker_fixture *w = *state;

    tracker_configure(w, TRACKER_PROPERTY(LABELS "provider", " Config ")
                      TRACKER_PROPERTY(LABELS "provider.configured-node-partition", "gpu")
                      TRACKER_PROPERTY(ATTRIBUTES "provider", "config")
                      TRACKER_PROPERTY(ATTRIBUTES "provider.configured-node-attributes", "a,STRING,1:b,STRING,2"));
    tracker_join(w);
    tracker_run_beats(w, 3);
    assert_string_equal(w->labels, "gpu ");
    assert_string_equal(w->attributes, "nm.yarn.io/a=1 nm.yarn.io/b=2 ");
    assert_int_equal(w->n_labels, 1); /* the heartbeats repeat nothing */
    assert_int_equal(w->n_attributes, 1);
    assert_shown(w, "node_labels", "labels", "[\"gpu\"]");
    assert_shown(w, "node_labels", "state", "\"accepted\"");
    assert_shown(w, "node_attributes", "attributes", "{\"a\":\"1\",\"b\":\"2\"}");
    /* after a restart of the ResourceManager */
    w->action = YARN__ACTION__RESYNC;
    while (w->registrations < 2)
        tracker_run_beats(w, 1);
    assert_int_equal(w->n_labels, 2);
}

static void test_a_refusal_is_shown_with_its_reason(void **state)
{
    struct tracker_fixture *w = *state;

    tracker_configure(w, TRACKER_PROPERTY(LABELS "provider", "config")
                      TRACKER_PROPERTY(LABELS "provider.configured-node-partition", "gpu")
                      TRACKER_PROPERTY(LABELS "resync-interval-ms", "0"));
    w->refuses_labels = true;
    tracker_join(w);
    tracker_run_beats(w, 1);
    assert_shown(w, "node_labels", "state", "\"refused\"");
    assert_shown(w, "node_labels", "refusal", "null");
    w->why = "no label gpu";
    tracker_run_beats(w, 3);
    assert_shown(w, "node_labels", "refusal", "\"no label gpu\"");
    w->refuses_labels = false;
    tracker_run_beats(w, 3);
    assert_shown(w, "node_labels", "state", "\"accepted\"");
    assert_shown(w, "node_labels", "refusal", "null");
}

/* ---- scripts ------------------------------------------------------------------------------ */

static void write_script(const struct tracker_fixture *w, const char *lines)
{
    char path[200], new_path[210];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/label.sh", w->node->tree.path);
    (void)snprintf(new_path, sizeof new_path, "%s.new", path); /* the file of a running script can't be written */
    f = fopen(new_path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", lines);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(new_path, 0755), 0);
    assert_int_equal(rename(new_path, path), 0);
}

static void configure_script(struct tracker_fixture *w, const char *more)
{
    char text[1500];

    (void)snprintf(text, sizeof text, TRACKER_PROPERTY(LABELS "provider", "script")
                   TRACKER_PROPERTY(LABELS "provider.script.path", "%s/label.sh")
                   TRACKER_PROPERTY(LABELS "provider.script.opts", "gpu, more")
                   TRACKER_PROPERTY(LABELS "provider.fetch-interval-ms", "1") "%s", w->node->tree.path, more);
    tracker_configure(w, text);
}

static bool has_label(const struct tracker_fixture *w)
{
    return nm_streq(w->labels, "gpu ") && w->n_labels > 0;
}

static bool has_other_label(const struct tracker_fixture *w)
{
    return nm_streq(w->labels, "more ");
}

static bool has_trouble(const struct tracker_fixture *w)
{
    return *nm_yarn_provider_trouble(w->yarn->described[NM_YARN_LABEL].provider);
}

static bool has_failed_with_3(const struct tracker_fixture *w)
{
    return strstr(nm_yarn_provider_trouble(w->yarn->described[NM_YARN_LABEL].provider), "exited with status 3");
}

static bool has_no_trouble(const struct tracker_fixture *w)
{
    return !has_trouble(w);
}

static void test_the_registration_waits_for_the_script(void **state)
{
    struct tracker_fixture *w = *state;
    char lines[300];

    (void)snprintf(lines, sizeof lines, "until [ -e %s/go ]; do sleep 0.01; done; echo NODE_PARTITION:$1",
                   w->node->tree.path);
    write_script(w, lines);
    configure_script(w, "");
    tracker_join(w);
    for (unsigned i = 0; i < 20; i++)
        assert_true(sd_event_run(w->node->event, 10 * NM_USEC_PER_MSEC) >= 0);
    assert_int_equal(w->registrations, 0);
    assert_shown(w, "node_labels", "labels", "null");
    assert_shown(w, "node_labels", "state", "\"unreported\"");
    (void)snprintf(lines, sizeof lines, "%s/go", w->node->tree.path);
    assert_int_equal(mkdir(lines, 0755), 0);
    tracker_run_until(w, has_label);
    assert_int_equal(w->registrations, 1);
}

static void test_a_changed_output_is_reported(void **state)
{
    struct tracker_fixture *w = *state;

    write_script(w, "echo NODE_PARTITION:$1");
    configure_script(w, "");
    tracker_join(w);
    tracker_run_until(w, has_label);
    write_script(w, "echo NODE_PARTITION:$2");
    tracker_run_until(w, has_other_label);
    write_script(w, "echo NODE_PARTITION:bad label");
    tracker_run_until(w, has_trouble);
    assert_shown(w, "node_labels", "labels", "[\"more\"]"); /* an invalid output changes nothing */
    write_script(w, "echo NODE_PARTITION:$1; exit 3");
    tracker_run_until(w, has_failed_with_3);
    write_script(w, "echo NODE_PARTITION:$2");
    tracker_run_until(w, has_no_trouble);
    tracker_run_beats(w, 2);
    assert_int_equal(w->n_labels, 2);
}

static void test_a_script_that_hangs_delays_nothing_else(void **state)
{
    struct tracker_fixture *w = *state;

    write_script(w, "sleep 600");
    configure_script(w, TRACKER_PROPERTY(LABELS "provider.fetch-timeout-ms", "100"));
    tracker_join(w);
    tracker_run_beats(w, 2); /* after the time-out, the node registers without a label */
    assert_int_equal(w->n_labels, 0);
    assert_true(has_trouble(w));
}

/* ---- refusals ----------------------------------------------------------------------------- */

static void assert_refused(struct tracker_fixture *w, const char *properties, const char *why)
{
    struct nm_yarn_params p;
    char *message = NULL;

    tracker_configure(w, properties);
    p = tracker_params(w);
    assert_true(nm_yarn_check(&p, false, &message) < 0);
    if (!message || !strstr(message, why))
        fail_msg("%s", message ?: "no message");
    free(message);
    message = NULL;
    assert_true(nm_yarn_new(&p, &w->yarn, &message) < 0);
    assert_non_null(strstr(message, why));
    free(message);
}

static void test_settings_that_are_refused(void **state)
{
    struct tracker_fixture *w = *state;

    assert_refused(w, TRACKER_PROPERTY(LABELS "provider", "org.example.Provider"), "must be config or script");
    assert_refused(w, TRACKER_PROPERTY(LABELS "provider", "config")
                   TRACKER_PROPERTY(LABELS "provider.fetch-interval-ms", "0"), "must be positive");
    assert_refused(w, TRACKER_PROPERTY(LABELS "provider", "config")
                   TRACKER_PROPERTY(LABELS "provider.configured-node-partition", "a b"), "yarn-site.xml: "
                   LABELS "provider.configured-node-partition = 'a b': the label 'a b' must begin");
    assert_refused(w, TRACKER_PROPERTY(ATTRIBUTES "provider", "config")
                   TRACKER_PROPERTY(ATTRIBUTES "provider.configured-node-attributes", "a"), "yarn-site.xml: "
                   ATTRIBUTES "provider.configured-node-attributes = 'a': 'a' is not NAME,STRING,VALUE");
    assert_refused(w, TRACKER_PROPERTY(ATTRIBUTES "provider", "script"), "must be the absolute path of a script");
    assert_refused(w, TRACKER_PROPERTY(ATTRIBUTES "provider", "script")
                   TRACKER_PROPERTY(ATTRIBUTES "provider.script.path", "/nowhere/x"), "No such file");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, tracker_set_up, tracker_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_node_without_a_provider_reports_nothing),
        TEST(test_configured_sets_are_in_the_registration),
        TEST(test_a_refusal_is_shown_with_its_reason),
        TEST(test_the_registration_waits_for_the_script),
        TEST(test_a_changed_output_is_reported),
        TEST(test_a_script_that_hangs_delays_nothing_else),
        TEST(test_settings_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
