/* SPDX-License-Identifier: Apache-2.0 */

/* The settings of lending: values of properties, and the choice of the rule for an application. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "yarn/conf/lending.h"
#include "yarn/conf/settings.h"

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define DISTRIBUTED P("yarn.nodemanager.distributed-scheduling.enabled", "true")
#define CENTRAL P("nmd.lending.central", "true")
#define SEC NM_USEC_PER_SEC

static void fail_on_warning(const char *sentence, void *userdata)
{
    (void)userdata;
    fail_msg("unexpected warning: %s", sentence);
}

/* Reads a configuration with these properties. */
static int read_text(const char *properties, struct nm_yarn_settings **ret, char **ret_message)
{
    _cleanup_free_ char *text = NULL;
    struct nm_yarn_conf *c;
    int r;

    *ret = NULL;
    *ret_message = NULL;
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    text = nm_strdup_printf("<configuration>%s</configuration>", properties);
    assert_non_null(text);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), ret_message), 0);
    r = nm_yarn_settings_read(c, fail_on_warning, NULL, ret, ret_message);
    nm_yarn_conf_free(c);
    return r;
}

static struct nm_yarn_settings *read_valid(const char *properties)
{
    struct nm_yarn_settings *s;
    char *message;

    if (read_text(properties, &s, &message) < 0)
        fail_msg("%s: %s", properties, message);
    return s;
}

/* ---- the text of a rule -------------------------------------------------------------------- */

static void test_rules_are_parsed_and_written(void **state)
{
    static const struct {
        const char *text;
        struct nm_lend_rule rule;
    } cases[] = {{"off", {NM_LEND_OFF, 0, 0}},
                 {"overflow:1", {NM_LEND_OVERFLOW, SEC, 0}},
                 {"overflow:30", {NM_LEND_OVERFLOW, 30 * SEC, 0}},
                 {"overflow:86400", {NM_LEND_OVERFLOW, 86400 * SEC, 0}},
                 {"percent:1", {NM_LEND_PERCENT, 0, 1}},
                 {"percent:100", {NM_LEND_PERCENT, 0, 100}},
                 {"all", {NM_LEND_ALL, 0, 0}}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_lending_rule rule;
        char text[40];

        assert_int_equal(nm_yarn_lending_parse(cases[i].text, &rule), 0);
        assert_int_equal(rule.rule.mode, cases[i].rule.mode);
        assert_int_equal(rule.rule.after_usec, cases[i].rule.after_usec);
        assert_int_equal(rule.rule.percent, cases[i].rule.percent);
        assert_false(rule.applications_choose);
        nm_yarn_lending_format(&rule.rule, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        assert_true(nm_yarn_lending_is_value(cases[i].text));
    }
}

static void test_allowed_lends_nothing_by_itself(void **state)
{
    struct nm_yarn_lending_rule rule;

    (void)state;
    assert_int_equal(nm_yarn_lending_parse("allowed", &rule), 0);
    assert_true(rule.applications_choose);
    assert_int_equal(rule.rule.mode, NM_LEND_OFF);
}

static void test_other_texts_are_no_rules(void **state)
{
    static const char *const texts[] = {"", "on", "observe", "OFF", "off ", " all", "overflow", "overflow:",
                                        "overflow:0", "overflow:-1", "overflow:86401", "overflow:30s", "overflow:1.5",
                                        "overflow: 3", "percent", "percent:0", "percent:101", "percent:50%",
                                        "percent:5:5", "all:1", "allow", "overflow:18446744073709551617"};
    struct nm_yarn_lending_rule rule = {.rule.percent = 7};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(texts); i++)
        if (nm_yarn_lending_parse(texts[i], &rule) != -EINVAL)
            fail_msg("'%s' is accepted", texts[i]);
    assert_int_equal(rule.rule.percent, 7); /* a failure leaves the output unchanged */
    assert_true(nm_yarn_lending_is_value("observe"));
    assert_false(nm_yarn_lending_is_value("on"));
}

/* ---- properties ---------------------------------------------------------------------------- */

static void test_nothing_is_lent_by_default(void **state)
{
    struct nm_yarn_settings *s = read_valid("");

    (void)state;
    assert_false(s->lending.enabled || s->lending.observes || s->lending.central || s->proxy);
    assert_int_equal(s->lending.cluster.rule.mode, NM_LEND_OFF);
    assert_int_equal(s->lending.application_max_mib, -1);
    assert_int_equal(s->lending.queue_max_mib, -1);
    assert_int_equal(s->lending.node_max_mib, -1);
    assert_string_equal(s->lending.types[0], "MAPREDUCE");
    assert_string_equal(s->lending.types[1], "SPARK");
    assert_string_equal(s->lending.types[2], "TEZ");
    assert_null(s->lending.types[3]);
    nm_yarn_settings_free(s);
}

static void test_all_properties_are_read(void **state)
{
    struct nm_yarn_settings *s = read_valid(
        CENTRAL P("nmd.lending", " overflow:60\n") P("nmd.lending.types", "spark, Apache Flink")
        P("nmd.lending.application-max-mb", "1024") P("nmd.lending.queue-max-mb", "0")
        P("nmd.lending.node-max-mb", "512") P("nmd.lending.user.alice", "percent:20")
        P("nmd.lending.queue.root.batch", "off") P("nmd.lending.type.Apache Flink", "allowed"));
    const struct nm_yarn_lending *l = &s->lending;

    (void)state;
    assert_true(l->enabled && l->central && !l->observes);
    assert_true(s->proxy && !s->distributed);
    assert_int_equal(l->cluster.rule.after_usec, 60 * SEC);
    assert_string_equal(l->types[1], "Apache Flink");
    assert_int_equal(l->application_max_mib, 1024);
    assert_int_equal(l->queue_max_mib, 0);
    assert_int_equal(l->node_max_mib, 512);
    assert_int_equal(l->n_overrides, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct nm_yarn_lending_override *o = &l->overrides[i];
        static const char *const names[] = {[NM_YARN_LENDING_USER] = "alice", [NM_YARN_LENDING_QUEUE] = "root.batch",
                                            [NM_YARN_LENDING_TYPE] = "Apache Flink"};

        assert_string_equal(o->name, names[o->source]);
        assert_int_equal(o->is.rule.percent, o->source == NM_YARN_LENDING_USER ? 20 : 0);
        assert_int_equal(o->is.applications_choose, o->source == NM_YARN_LENDING_TYPE);
        assert_string_equal(o->file, "site.xml");
    }
    nm_yarn_settings_free(s);
}

/* Each combination of the cluster's rule and an override that permits something enables lending. */
static void test_one_rule_that_lends_enables_lending(void **state)
{
    static const struct {
        const char *properties;
        bool enabled, observes;
    } cases[] = {{P("nmd.lending", "off"), false, false},
                 {P("nmd.lending", "allowed"), true, false},
                 {P("nmd.lending", "observe"), true, true},
                 {P("nmd.lending", "all") P("nmd.lending.user.a", "off"), true, false},
                 {P("nmd.lending.user.a", "off"), false, false},
                 {P("nmd.lending.user.a", "all"), true, false},
                 {P("nmd.lending.queue.a", "allowed"), true, false},
                 {P("nmd.lending.type.tez", "percent:5"), true, false},
                 {P("nmd.lending.type.flink", "off"), false, false},
                 {P("nmd.lending", "observe") P("nmd.lending.user.a", "all"), true, true},
                 {P("nmd.lending", "observe") P("nmd.lending.user.a", "off"), true, true}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = nm_strdup_printf(DISTRIBUTED "%s", cases[i].properties);
        struct nm_yarn_settings *s = read_valid(text);

        if (s->lending.enabled != cases[i].enabled || s->lending.observes != cases[i].observes)
            fail_msg("%s: enabled %d, observes %d", text, s->lending.enabled, s->lending.observes);
        nm_yarn_settings_free(s);
    }
}

static void test_observing_has_the_rule_of_thirty_seconds(void **state)
{
    struct nm_yarn_settings *s = read_valid(P("nmd.lending", "observe"));

    (void)state;
    assert_true(s->proxy && !s->distributed); /* nothing is lent, so no scheduler is needed */
    assert_int_equal(s->lending.cluster.rule.mode, NM_LEND_OVERFLOW);
    assert_int_equal(s->lending.cluster.rule.after_usec, 30 * SEC);
    nm_yarn_settings_free(s);
}

/* A refusal names the file, the property, the value and what is allowed. */
static void test_invalid_values_are_refused(void **state)
{
    static const struct {
        const char *properties, *message;
    } cases[] = {
        {P("nmd.lending", "on"), "site.xml: nmd.lending = 'on': must be observe, off, allowed, overflow:SECONDS (1 to "
                                 "86400), percent:N (1 to 100) or all"},
        {P("nmd.lending", ""), "nmd.lending = '': must be observe, off"},
        {DISTRIBUTED P("nmd.lending.user.bob", "observe"), "nmd.lending.user.bob = 'observe': must be off, allowed"},
        {DISTRIBUTED P("nmd.lending.queue.q", "50%"), "nmd.lending.queue.q = '50%': must be off, allowed"},
        {DISTRIBUTED P("nmd.lending.type.SPARK", "true"), "nmd.lending.type.SPARK = 'true': must be off, allowed"},
        {DISTRIBUTED P("nmd.lending.user.", "all"), "nmd.lending.user. = 'all': the name of a user, queue or type is "
                                                    "missing"},
        {DISTRIBUTED P("nmd.lending.type.flink", "all"), "nmd.lending.type.flink = 'all': has no effect, because "
                                                         "nmd.lending.types doesn't list"},
        {P("nmd.lending.application-max-mb", "-2"), "nmd.lending.application-max-mb = '-2': must be a number from -1"},
        {P("nmd.lending.queue-max-mb", "1G"), "nmd.lending.queue-max-mb = '1G': must be a number from -1"},
        {P("nmd.lending.node-max-mb", "-9"), "nmd.lending.node-max-mb = '-9': must be a number from -1"},
        {P("nmd.lending.central", "1"), "nmd.lending.central = '1': must be true or false"},
        {P("nmd.lending", "all"), "site.xml: nmd.lending = 'all': lending needs "
                                  "yarn.nodemanager.distributed-scheduling.enabled = true"},
        {P("nmd.lending.user.carol", "allowed"), "site.xml: nmd.lending.user.carol = 'allowed': lending needs"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_settings *s;
        char *message;

        assert_int_not_equal(read_text(cases[i].properties, &s, &message), 0);
        if (!message || !strstr(message, cases[i].message))
            fail_msg("%s: %s", cases[i].properties, message ?: "no message");
        free(message);
    }
}

static void test_each_invalid_value_is_reported(void **state)
{
    struct nm_yarn_settings *s;
    char *message;

    (void)state;
    assert_int_equal(read_text(DISTRIBUTED P("nmd.lending.user.a", "x") P("nmd.lending.user.b", "y"), &s, &message),
                     -EINVAL);
    assert_non_null(strstr(message, "nmd.lending.user.a = 'x'"));
    assert_non_null(strstr(message, "\nsite.xml: nmd.lending.user.b = 'y'"));
    free(message);
}

/* Lists of callers protect the proxy's service, so they must be checked if lending alone enables the proxy. */
static void test_lending_enables_the_rules_of_the_proxy(void **state)
{
    static const char list[] = P("hadoop.security.authorization", "true")
        P("security.applicationmaster-nodemanager.applicationmaster.protocol.acl", "alice");
    static const struct {
        const char *properties;
        bool refused;
    } cases[] = {{"", false},
                 {P("nmd.lending", "off") P("nmd.lending.user.a", "off"), false},
                 {P("nmd.lending", "observe"), true},
                 {CENTRAL P("nmd.lending.queue.a", "all"), true}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = nm_strdup_printf("%s%s", list, cases[i].properties);
        struct nm_yarn_settings *s;
        char *message;

        assert_int_equal(read_text(text, &s, &message) < 0, cases[i].refused);
        nm_yarn_settings_free(s);
        free(message);
    }
}

static json_t *find_row(json_t *rows, const char *key)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
        if (nm_streq(json_string_value(json_object_get(row, "key")), key))
            return row;
    fail_msg("%s is missing", key);
    return NULL;
}

static void test_the_settings_are_shown(void **state)
{
    struct nm_yarn_settings *s = read_valid(DISTRIBUTED P("nmd.lending", "allowed") P("nmd.lending.queue.q", "off"));
    json_t *rows = nm_yarn_settings_to_json(s), *row = find_row(rows, "nmd.lending");

    (void)state;
    assert_string_equal(json_string_value(json_object_get(row, "value")), "allowed");
    assert_string_equal(json_string_value(json_object_get(row, "default")), "off");
    assert_string_equal(json_string_value(json_object_get(row, "allowed")), nm_yarn_lending_values);
    row = find_row(rows, "nmd.lending.queue.q");
    assert_string_equal(json_string_value(json_object_get(row, "value")), "off");
    assert_string_equal(json_string_value(json_object_get(row, "source")), "site.xml");
    assert_string_equal(json_string_value(json_object_get(row, "allowed")), nm_yarn_lending_allowed);
    (void)find_row(rows, "nmd.lending.node-max-mb");
    json_decref(rows);
    nm_yarn_settings_free(s);
}

/* ---- the choice ---------------------------------------------------------------------------- */

/* Expects this rule for an application of user alice. */
static void expect(const struct nm_yarn_settings *s, const char *queue, const char *type, const char *wish,
                   const char *rule, enum nm_yarn_lending_source source)
{
    const struct nm_yarn_lending_application a = {.user = "alice", .queue = queue, .type = type, .wish = wish};
    struct nm_yarn_lending_choice choice;
    char text[40];

    nm_yarn_lending_choose(&s->lending, &a, &choice);
    nm_yarn_lending_format_choice(&choice, text, sizeof text);
    if (!nm_streq(text, rule) || choice.source != source)
        fail_msg("queue %s, type %s, wish %s: %s from %d instead of %s from %d", queue ?: "-", type ?: "-", wish ?: "-",
                 text, (int)choice.source, rule, (int)source);
}

static void test_user_queue_and_type_precede_the_cluster(void **state)
{
    static const struct {
        const char *properties, *rule;
        enum nm_yarn_lending_source source;
    } cases[] = {
        {"", "percent:50", NM_YARN_LENDING_CLUSTER},
        {P("nmd.lending.type.spark", "overflow:1"), "overflow:1", NM_YARN_LENDING_TYPE},
        {P("nmd.lending.type.spark", "overflow:1") P("nmd.lending.queue.q", "overflow:2"), "overflow:2",
         NM_YARN_LENDING_QUEUE},
        {P("nmd.lending.type.SPARK", "off") P("nmd.lending.queue.q", "off") P("nmd.lending.user.alice", "all"), "all",
         NM_YARN_LENDING_USER},
        {P("nmd.lending.user.alice", "off") P("nmd.lending.queue.q", "all"), "off", NM_YARN_LENDING_USER},
        {P("nmd.lending.user.bob", "all") P("nmd.lending.queue.r", "all") P("nmd.lending.type.TEZ", "all"),
         "percent:50", NM_YARN_LENDING_CLUSTER},
        {P("nmd.lending.user.Alice", "all"), "percent:50", NM_YARN_LENDING_CLUSTER},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = nm_strdup_printf(DISTRIBUTED P("nmd.lending", "percent:50") "%s",
                                                     cases[i].properties);
        struct nm_yarn_settings *s = read_valid(text);

        expect(s, "root.q", "SPARK", NULL, cases[i].rule, cases[i].source);
        nm_yarn_settings_free(s);
    }
}

static void test_queues_match_by_path_and_by_last_part(void **state)
{
    static const struct {
        const char *properties, *queue, *rule;
    } cases[] = {
        {P("nmd.lending.queue.root.a.q", "all"), "root.a.q", "all"},
        {P("nmd.lending.queue.root.a.q", "all"), "root.b.q", "off"},
        {P("nmd.lending.queue.root.a.q", "all"), "q", "all"},
        {P("nmd.lending.queue.root.a.q", "all"), "a", "off"},
        {P("nmd.lending.queue.q", "all"), "root.b.q", "all"},
        {P("nmd.lending.queue.q", "all"), "q", "all"},
        {P("nmd.lending.queue.q", "all"), "root.q.b", "off"},
        {P("nmd.lending.queue.q", "all"), "root.qq", "off"},
        /* the exact name counts, whatever the order */
        {P("nmd.lending.queue.root.a.q", "all") P("nmd.lending.queue.q", "overflow:9"), "root.a.q", "all"},
        {P("nmd.lending.queue.root.a.q", "all") P("nmd.lending.queue.q", "overflow:9"), "q", "overflow:9"},
        /* otherwise the lowest */
        {P("nmd.lending.queue.root.a.q", "percent:3") P("nmd.lending.queue.root.b.q", "all"), "q", "percent:3"},
        {P("nmd.lending.queue.root.a.q", "all") P("nmd.lending.queue.root.b.q", "percent:3"), "q", "percent:3"},
        {P("nmd.lending.queue.root.a.q", "all") P("nmd.lending.queue.root.b.q", "allowed"), "q", "all"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = nm_strdup_printf(DISTRIBUTED "%s", cases[i].properties);
        struct nm_yarn_settings *s = read_valid(text);

        expect(s, cases[i].queue, "TEZ", NULL, cases[i].rule,
               nm_streq(cases[i].rule, "off") ? NM_YARN_LENDING_CLUSTER : NM_YARN_LENDING_QUEUE);
        nm_yarn_settings_free(s);
    }
}

static void test_only_listed_types_are_lent_to(void **state)
{
    struct nm_yarn_settings *s = read_valid(DISTRIBUTED P("nmd.lending", "all") P("nmd.lending.user.bob", "off"));

    (void)state;
    expect(s, "q", "mapreduce", NULL, "all", NM_YARN_LENDING_CLUSTER);
    expect(s, "q", "Apache Flink", NULL, "off", NM_YARN_LENDING_TYPES);
    expect(s, "q", "Apache Flink", "all", "off", NM_YARN_LENDING_TYPES);
    expect(s, "q", "", NULL, "off", NM_YARN_LENDING_TYPES);
    expect(s, "q", NULL, NULL, "off", NM_YARN_LENDING_NO_TYPE);
    expect(s, "q", NULL, "all", "off", NM_YARN_LENDING_NO_TYPE);
    nm_yarn_settings_free(s);
    s = read_valid(DISTRIBUTED P("nmd.lending.user.alice", "all") P("nmd.lending.types", ""));
    expect(s, "q", "SPARK", NULL, "off", NM_YARN_LENDING_TYPES); /* the list also binds overrides */
    nm_yarn_settings_free(s);
}

/* A rule that isn't known yet could be a lower one. */
static void test_an_unknown_queue_or_type_lends_nothing(void **state)
{
    struct nm_yarn_settings *s = read_valid(DISTRIBUTED P("nmd.lending", "all") P("nmd.lending.queue.q", "off"));

    (void)state;
    expect(s, NULL, "SPARK", "all", "off", NM_YARN_LENDING_QUEUE);
    expect(s, "r", "SPARK", NULL, "all", NM_YARN_LENDING_CLUSTER);
    nm_yarn_settings_free(s);
    s = read_valid(DISTRIBUTED P("nmd.lending.type.SPARK", "all"));
    expect(s, "q", NULL, NULL, "off", NM_YARN_LENDING_NO_TYPE);
    expect(s, "q", "TEZ", NULL, "off", NM_YARN_LENDING_CLUSTER);
    nm_yarn_settings_free(s);
    s = read_valid(DISTRIBUTED P("nmd.lending.user.alice", "all") P("nmd.lending.queue.q", "off"));
    expect(s, NULL, "SPARK", NULL, "all", NM_YARN_LENDING_USER); /* the user's rule is independent of the queue */
    nm_yarn_settings_free(s);
}

static void test_a_wish_lowers_the_rule(void **state)
{
    static const struct {
        const char *cluster, *wish, *rule;
    } cases[] = {
        {"all", "all", "all"},                {"all", "percent:99", "percent:99"}, {"all", "overflow:5", "overflow:5"},
        {"all", "on", "overflow:30"},         {"all", "off", "off"},               {"percent:50", "all", "percent:50"},
        {"percent:50", "percent:51", "percent:50"}, {"percent:50", "percent:49", "percent:49"},
        {"percent:50", "overflow:1", "overflow:1"}, {"overflow:60", "all", "overflow:60"},
        {"overflow:60", "percent:1", "overflow:60"}, {"overflow:60", "overflow:59", "overflow:60"},
        {"overflow:60", "overflow:61", "overflow:61"}, {"overflow:60", "on", "overflow:60"},
        {"overflow:10", "on", "overflow:30"}, {"overflow:60", "off", "off"}, {"observe", "off", "off"},
        {"observe", "all", "overflow:30"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = nm_strdup_printf(DISTRIBUTED P("nmd.lending", "%s"), cases[i].cluster);
        struct nm_yarn_settings *s = read_valid(text);
        const char *before = nm_streq(cases[i].cluster, "observe") ? "overflow:30" : cases[i].cluster;

        expect(s, "q", "SPARK", cases[i].wish, cases[i].rule,
               nm_streq(before, cases[i].rule) ? NM_YARN_LENDING_CLUSTER : NM_YARN_LENDING_APPLICATION);
        nm_yarn_settings_free(s);
    }
}

static void test_nothing_raises_off(void **state)
{
    struct nm_yarn_settings *s = read_valid(DISTRIBUTED P("nmd.lending.user.bob", "all"));

    (void)state;
    expect(s, "q", "SPARK", "all", "off", NM_YARN_LENDING_CLUSTER);
    expect(s, "q", "SPARK", "on", "off", NM_YARN_LENDING_CLUSTER);
    nm_yarn_settings_free(s);
}

static void test_allowed_takes_the_wish(void **state)
{
    struct nm_yarn_settings *s = read_valid(DISTRIBUTED P("nmd.lending.queue.q", "allowed"));

    (void)state;
    expect(s, "q", "SPARK", NULL, "allowed", NM_YARN_LENDING_QUEUE); /* the application may choose, and did not */
    expect(s, "q", "SPARK", "all", "all", NM_YARN_LENDING_APPLICATION);
    expect(s, "q", "SPARK", "on", "overflow:30", NM_YARN_LENDING_APPLICATION);
    expect(s, "q", "SPARK", "percent:7", "percent:7", NM_YARN_LENDING_APPLICATION);
    expect(s, "q", "SPARK", "off", "off", NM_YARN_LENDING_APPLICATION);
    expect(s, "r", "SPARK", "all", "off", NM_YARN_LENDING_CLUSTER);
    expect(s, "q", "flink", "all", "off", NM_YARN_LENDING_TYPES);
    nm_yarn_settings_free(s);
}

/* A misspelt wish must not lend more than the application wants. */
static void test_an_invalid_wish_counts_as_off(void **state)
{
    static const char *const wishes[] = {"", "yes", "allowed", "observe", "ON", "overflow", "percent:0", "percent:200"};
    static const char *const rules[] = {"all", "overflow:5", "allowed"};

    (void)state;
    for (size_t k = 0; k < NM_ARRAY_SIZE(rules); k++) {
        _cleanup_free_ char *text = nm_strdup_printf(DISTRIBUTED P("nmd.lending", "%s"), rules[k]);
        struct nm_yarn_settings *s = read_valid(text);
        struct nm_yarn_lending_application a = {"alice", "q", "SPARK", NULL};
        struct nm_yarn_lending_choice choice;

        for (size_t i = 0; i < NM_ARRAY_SIZE(wishes); i++) {
            expect(s, "q", "SPARK", wishes[i], "off", NM_YARN_LENDING_APPLICATION);
            a.wish = wishes[i];
            nm_yarn_lending_choose(&s->lending, &a, &choice);
            assert_true(choice.wish_invalid);
        }
        a.wish = "on";
        nm_yarn_lending_choose(&s->lending, &a, &choice);
        assert_false(choice.wish_invalid);
        nm_yarn_settings_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_are_parsed_and_written),
        cmocka_unit_test(test_allowed_lends_nothing_by_itself),
        cmocka_unit_test(test_other_texts_are_no_rules),
        cmocka_unit_test(test_nothing_is_lent_by_default),
        cmocka_unit_test(test_all_properties_are_read),
        cmocka_unit_test(test_one_rule_that_lends_enables_lending),
        cmocka_unit_test(test_observing_has_the_rule_of_thirty_seconds),
        cmocka_unit_test(test_invalid_values_are_refused),
        cmocka_unit_test(test_each_invalid_value_is_reported),
        cmocka_unit_test(test_lending_enables_the_rules_of_the_proxy),
        cmocka_unit_test(test_the_settings_are_shown),
        cmocka_unit_test(test_user_queue_and_type_precede_the_cluster),
        cmocka_unit_test(test_queues_match_by_path_and_by_last_part),
        cmocka_unit_test(test_only_listed_types_are_lent_to),
        cmocka_unit_test(test_an_unknown_queue_or_type_lends_nothing),
        cmocka_unit_test(test_a_wish_lowers_the_rule),
        cmocka_unit_test(test_nothing_raises_off),
        cmocka_unit_test(test_allowed_takes_the_wish),
        cmocka_unit_test(test_an_invalid_wish_counts_as_off),
    };

    return cmocka_run_group_tests_name("yarn-lending", tests, NULL, NULL);
}
