/* SPDX-License-Identifier: Apache-2.0 */

/* Texts of labels and attributes, and the choice of when they are reported. The expected results are those of Hadoop's
 * ConfigurationNodeAttributesProvider, ScriptBasedNode*Provider and NodeLabelUtil. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yarn/labels/descriptor-report.h"

#define SEC UINT64_C(1000000)

/* Compares the set of a text with `expected`; NULL: the text is invalid, with a reason. */
static void assert_read(enum nm_yarn_descriptor_kind kind, const char *text, const char *expected)
{
    struct nm_yarn_descriptors d = {};
    char *message = NULL, shown[600];
    int r = nm_yarn_descriptors_read(kind, text, &d, &message);

    if (r != (expected ? 0 : -EINVAL))
        fail_msg("'%s': %d %s", text, r, message ?: "");
    if (expected)
        assert_string_equal(nm_yarn_descriptors_print(&d, shown, sizeof shown), expected);
    else
        assert_non_null(message);
    nm_yarn_descriptors_done(&d);
    free(message);
}

static void test_a_configured_label(void **state)
{
    char long_name[NM_YARN_DESCRIPTOR_MAX + 2] = "";

    (void)state;
    assert_read(NM_YARN_LABEL, "", "none");
    assert_read(NM_YARN_LABEL, " \t", "none");
    assert_read(NM_YARN_LABEL, " gpu_1-A ", "gpu_1-A");
    assert_read(NM_YARN_LABEL, "9", "9");
    assert_read(NM_YARN_LABEL, "-gpu", NULL);
    assert_read(NM_YARN_LABEL, "_gpu", NULL);
    assert_read(NM_YARN_LABEL, "a.b", NULL);
    assert_read(NM_YARN_LABEL, "a b", NULL);
    assert_read(NM_YARN_LABEL, "a,b", NULL); /* a node has only one label */
    assert_read(NM_YARN_LABEL, "gr\xc3\xb6\xc3\x9f", NULL);
    memset(long_name, 'x', NM_YARN_DESCRIPTOR_MAX);
    assert_read(NM_YARN_LABEL, long_name, long_name);
    long_name[NM_YARN_DESCRIPTOR_MAX] = 'x';
    assert_read(NM_YARN_LABEL, long_name, NULL);
}

static void test_configured_attributes(void **state)
{
    (void)state;
    assert_read(NM_YARN_ATTRIBUTE, "", "none");
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING,linux-6.1:disk,STRING,ssd", "disk=ssd, os=linux-6.1");
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING,linux:::", "os=linux"); /* Java drops empty parts at the end */
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING,linux,,", "os=linux");
    assert_read(NM_YARN_ATTRIBUTE, " os ,STRING, linux ", "os=linux");
    assert_read(NM_YARN_ATTRIBUTE, ":os,STRING,linux", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING,", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING, :a,STRING,1", "a=1, os="); /* a blank value is empty */
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING,a,b", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os,string,linux", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os, STRING,linux", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "nm.yarn.io/os,STRING,linux", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "o.s,STRING,linux", NULL); /* dots only in values */
    assert_read(NM_YARN_ATTRIBUTE, ",STRING,linux", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING,.5", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING,a b", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os,STRING,a:os,STRING,b", NULL);
    assert_read(NM_YARN_ATTRIBUTE, "os", NULL);
}

/* Compares the set of a script's lines, which are separated by newlines, with `expected`. */
static void assert_lines(enum nm_yarn_descriptor_kind kind, const char *text, const char *expected)
{
    struct nm_yarn_descriptors d = {};
    char *copy = strdup(text), *rest = copy, *line, *message = NULL, shown[600];
    int r = 0;

    while (r == 0 && (line = strsep(&rest, "\n")))
        r = nm_yarn_descriptors_add_line(kind, line, &d, &message);
    if (r == 0)
        r = nm_yarn_descriptors_finish(kind, &d, &message);
    if (r != (expected ? 0 : -EINVAL))
        fail_msg("'%s': %d %s", text, r, message ?: "");
    if (expected)
        assert_string_equal(nm_yarn_descriptors_print(&d, shown, sizeof shown), expected);
    nm_yarn_descriptors_done(&d);
    free(message);
    free(copy);
}

static void test_the_output_of_scripts(void **state)
{
    (void)state;
    assert_lines(NM_YARN_LABEL, "", "none");
    assert_lines(NM_YARN_LABEL, "hello\nNODE_ATTRIBUTE:os,STRING,x", "none");
    assert_lines(NM_YARN_LABEL, "  NODE_PARTITION: gpu \r", "gpu");
    assert_lines(NM_YARN_LABEL, "NODE_PARTITION:-a\nNODE_PARTITION:b", "b"); /* the last line counts */
    assert_lines(NM_YARN_LABEL, "NODE_PARTITION:b\nNODE_PARTITION:-a", NULL);
    assert_lines(NM_YARN_LABEL, "NODE_PARTITION:", NULL);
    assert_lines(NM_YARN_LABEL, "x NODE_PARTITION:a", "none");
    assert_lines(NM_YARN_ATTRIBUTE, "NODE_ATTRIBUTE:b,STRING,2\nx\n\tNODE_ATTRIBUTE:a,STRING,1", "a=1, b=2");
    assert_lines(NM_YARN_ATTRIBUTE, "NODE_ATTRIBUTE:a,STRING,1\nNODE_ATTRIBUTE:a", NULL);
    assert_lines(NM_YARN_ATTRIBUTE, "NODE_ATTRIBUTE:a,STRING,1\nNODE_ATTRIBUTE:a,STRING,1", NULL);
    assert_lines(NM_YARN_ATTRIBUTE, "NODE_ATTRIBUTE:x/a,STRING,1", NULL);
    assert_lines(NM_YARN_ATTRIBUTE, "", "none");
}

static void test_the_number_of_attributes_is_limited(void **state)
{
    struct nm_yarn_descriptors d = {};
    char line[64], *message = NULL;
    int r = 0;

    (void)state;
    for (unsigned i = 0; r == 0 && i <= NM_YARN_DESCRIPTORS_MAX; i++) {
        (void)snprintf(line, sizeof line, "NODE_ATTRIBUTE:a%u,STRING,1", i);
        r = nm_yarn_descriptors_add_line(NM_YARN_ATTRIBUTE, line, &d, &message);
    }
    assert_int_equal(r, -EINVAL);
    assert_int_equal(d.n, NM_YARN_DESCRIPTORS_MAX);
    assert_non_null(strstr(message, "more than 256"));
    nm_yarn_descriptors_done(&d);
    free(message);
}

static void test_sets_are_printed_within_the_buffer(void **state)
{
    struct nm_yarn_descriptors d = {};
    char shown[12];
    json_t *j;

    (void)state;
    assert_int_equal(nm_yarn_descriptors_read(NM_YARN_ATTRIBUTE, "aaaa,STRING,bbbb:c,STRING,d", &d, NULL), 0);
    assert_string_equal(nm_yarn_descriptors_print(&d, shown, sizeof shown), "aaaa=bbbb, ");
    j = nm_yarn_descriptors_to_json(NM_YARN_ATTRIBUTE, &d);
    assert_string_equal(json_string_value(json_object_get(j, "c")), "d");
    json_decref(j);
    nm_yarn_descriptors_done(&d);
}

/* ---- reports ------------------------------------------------------------------------------ */

static struct nm_yarn_descriptors label(const char *name)
{
    struct nm_yarn_descriptors d;

    assert_int_equal(nm_yarn_descriptors_read(NM_YARN_LABEL, name, &d, NULL), 0);
    return d;
}

static void test_a_heartbeat_contains_a_set_only_if_it_is_due(void **state)
{
    struct nm_yarn_descriptors a = label("a"), b = label("b");
    struct nm_yarn_descriptor_report r = {.resync_usec = 120 * SEC};

    (void)state;
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, NULL, true, 0), 0); /* the provider has no set yet */
    assert_false(nm_yarn_descriptor_report_answer(&r, false, true, NULL));
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &a, true, 1 * SEC), 1);
    assert_true(nm_yarn_descriptor_report_answer(&r, false, true, NULL));
    assert_int_equal(r.state, NM_YARN_DESCRIPTORS_ACCEPTED);
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &a, false, 121 * SEC), 0);
    assert_false(nm_yarn_descriptor_report_answer(&r, false, false, NULL)); /* the request contained no set */
    assert_int_equal(r.state, NM_YARN_DESCRIPTORS_ACCEPTED);
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &a, false, 121 * SEC + 1), 1);
    assert_false(nm_yarn_descriptor_report_answer(&r, false, true, NULL)); /* the same outcome */
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &b, false, 122 * SEC), 1);
    assert_true(nm_yarn_descriptor_report_answer(&r, false, true, NULL));
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &b, true, 122 * SEC), 1);
    nm_yarn_descriptor_report_done(&r);
    nm_yarn_descriptors_done(&a);
    nm_yarn_descriptors_done(&b);
}

static void test_a_set_without_an_answer_is_reported_again(void **state)
{
    struct nm_yarn_descriptors a = label("a"), b = label("b");
    struct nm_yarn_descriptor_report r = {.resync_usec = 120 * SEC};

    (void)state;
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &a, true, 0), 1);
    assert_true(nm_yarn_descriptor_report_answer(&r, false, true, NULL));
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &b, false, 1), 1);
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &b, false, 2), 1); /* the heartbeat before has failed */
    /* The answer may be the repeated one to the first heartbeat. */
    assert_false(nm_yarn_descriptor_report_answer(&r, true, true, NULL));
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &b, false, 3), 1);
    assert_true(nm_yarn_descriptor_report_answer(&r, false, false, "no\nsuch label"));
    assert_int_equal(r.state, NM_YARN_DESCRIPTORS_REFUSED);
    assert_string_equal(r.why, "no such label");
    assert_int_equal(nm_yarn_descriptor_report_choose(&r, &b, false, 4), 0); /* a refused set waits for the interval */
    nm_yarn_descriptor_report_done(&r);
    nm_yarn_descriptors_done(&a);
    nm_yarn_descriptors_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_configured_label),
        cmocka_unit_test(test_configured_attributes),
        cmocka_unit_test(test_the_output_of_scripts),
        cmocka_unit_test(test_the_number_of_attributes_is_limited),
        cmocka_unit_test(test_sets_are_printed_within_the_buffer),
        cmocka_unit_test(test_a_heartbeat_contains_a_set_only_if_it_is_due),
        cmocka_unit_test(test_a_set_without_an_answer_is_reported_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
