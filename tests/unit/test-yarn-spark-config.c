/* SPDX-License-Identifier: Apache-2.0 */

/* Auxiliary services of the configuration, and spark-shuffle-site.xml. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "remove-tree.h"
#include "yarn/conf/settings.h"
#include "yarn/migrate/migrate.h"

#define CLASS(name) "yarn.nodemanager.aux-services." name ".class"
#define SPARK_CLASS "org.apache.spark.network.yarn.YarnShuffleService"
#define SHUFFLE_CLASS "org.apache.hadoop.mapred.ShuffleHandler"
#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define FINAL(name, value) "<property><name>" name "</name><value>" value "</value><final>true</final></property>"
#define LIST(names) PROPERTY("yarn.nodemanager.aux-services", names)
#define TWO_KINDS LIST("mapreduce_shuffle,my_spark") PROPERTY(CLASS("my_spark"), SPARK_CLASS)

struct fixture {
    char dir[40];
    struct nm_yarn_settings *settings;
    char *message;
    char warnings[4000]; /* lines */
    unsigned n_warnings;
};

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)strcpy(w->dir, "/tmp/nmd-spark-config.XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    *state = w;
    return 0;
}

static void forget(struct fixture *w)
{
    w->settings = nm_yarn_settings_free(w->settings);
    free(w->message);
    w->message = NULL;
    *w->warnings = '\0';
    w->n_warnings = 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    forget(w);
    assert_int_equal(remove_tree(w->dir), 0);
    free(w);
    return 0;
}

static const char *path_of(const struct fixture *w, const char *name)
{
    static char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", w->dir, name);
    return path;
}

/* Writes a file with these properties, in the directory of the cluster's files or in a directory below it. */
static void write_file(const struct fixture *w, const char *name, const char *properties)
{
    FILE *f = fopen(path_of(w, name), "w");

    assert_non_null(f);
    assert_true(fprintf(f, "<configuration>%s</configuration>", properties) > 0);
    assert_int_equal(fclose(f), 0);
}

static void take_warning(const char *sentence, void *userdata)
{
    struct fixture *w = userdata;
    const size_t n = strlen(w->warnings);

    assert_true(snprintf(w->warnings + n, sizeof w->warnings - n, "%s\n", sentence) < (int)(sizeof w->warnings - n));
    w->n_warnings++;
}

static int load(struct fixture *w)
{
    forget(w);
    return nm_yarn_settings_load(w->dir, take_warning, w, &w->settings, &w->message);
}

static void load_well(struct fixture *w)
{
    if (load(w) != 0)
        fail_msg("%s", w->message);
}

static void assert_contains(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text ?: "no text");
}

static unsigned count_lines(const char *text)
{
    unsigned n = 1;

    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* ---- names and classes --------------------------------------------------------------------- */

static void test_the_class_decides_what_a_service_is(void **state)
{
    static const struct {
        const char *properties;
        bool has_shuffle;
        const char *spark;
    } cases[] = {
        {"", false, NULL},
        {LIST("mapreduce_shuffle"), true, NULL},
        {LIST("mapreduce_shuffle") PROPERTY(CLASS("mapreduce_shuffle"), SHUFFLE_CLASS), true, NULL},
        {LIST("spark_shuffle, mapreduce_shuffle"), true, "spark_shuffle"},
        {LIST("spark_shuffle") PROPERTY(CLASS("spark_shuffle"), " " SPARK_CLASS " "), false, "spark_shuffle"},
        {LIST("spark_shuffle,spark_shuffle"), false, "spark_shuffle"},
        {TWO_KINDS, true, "my_spark"},
        {LIST("my_spark") PROPERTY("x", SPARK_CLASS) PROPERTY(CLASS("my_spark"), "${x}"), false, "my_spark"},
        {PROPERTY(CLASS("my_spark"), SPARK_CLASS), false, NULL}, /* not in the list */
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        write_file(w, "yarn-site.xml", cases[i].properties);
        load_well(w);
        assert_string_equal(w->warnings, "");
        assert_int_equal(w->settings->has_shuffle, cases[i].has_shuffle);
        assert_int_equal(!w->settings->spark.name, !cases[i].spark);
        if (cases[i].spark)
            assert_string_equal(w->settings->spark.name, cases[i].spark);
    }
}

#define LONG_NAME "a1234567890123456789012345678901234567890123456789012345678901234"

static void test_other_services_are_refused(void **state)
{
    static const struct {
        const char *properties, *why;
    } cases[] = {
        {LIST("my_spark"), "yarn-site.xml: yarn.nodemanager.aux-services = 'my_spark': the service 'my_spark' has no "
                           "class; set yarn.nodemanager.aux-services.my_spark.class, or remove the service"},
        {LIST("mapreduce_shuffle") PROPERTY(CLASS("mapreduce_shuffle"), SPARK_CLASS), "list Spark's service under "
                                                                                      "another name"},
        {LIST("2spark") PROPERTY(CLASS("2spark"), SPARK_CLASS), "'2spark' is not a valid name"},
        {LIST(LONG_NAME) PROPERTY(CLASS(LONG_NAME), SPARK_CLASS), "at most 64 characters"},
        {LIST("spark-3") PROPERTY(CLASS("spark-3"), SPARK_CLASS), "'spark-3' is not a valid name"},
        {LIST("my_spark,spark_shuffle") PROPERTY(CLASS("my_spark"), SPARK_CLASS),
         "'my_spark' and 'spark_shuffle' are both Spark's service, and a node has only one"},
        {LIST("a,b") PROPERTY(CLASS("a"), "${a") PROPERTY(CLASS("b"), "${b}"),
         CLASS("b") " = '${b}': refers to a property that no file sets"},
    };
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        write_file(w, "yarn-site.xml", cases[i].properties);
        assert_int_equal(load(w), -EOPNOTSUPP);
        assert_null(w->settings);
        assert_contains(w->message, cases[i].why);
    }
    assert_int_equal(count_lines(w->message), 2); /* the last case has two reasons */
}

/* ---- spark-shuffle-site.xml ----------------------------------------------------------------- */

static void test_properties_of_the_site_are_obeyed(void **state)
{
    struct fixture *w = *state;
    const json_t *row = NULL;
    json_t *rows;
    size_t i;

    write_file(w, "yarn-site.xml", TWO_KINDS FINAL("spark.authenticate", "true") PROPERTY("base", "11")
               PROPERTY("spark.shuffle.service.port", "7447"));
    write_file(w, "spark-shuffle-site.xml",
               PROPERTY("spark.shuffle.service.port", "7${base}") PROPERTY("spark.authenticate", "false")
               PROPERTY("spark.network.crypto.enabled", "true")
               PROPERTY("spark.yarn.shuffle.service.metrics.namespace", "spark3"));
    load_well(w);
    assert_string_equal(w->warnings, "");
    assert_int_equal(w->settings->spark.port, 711);
    assert_true(w->settings->spark.authenticates); /* yarn-site.xml declares it final */
    assert_true(w->settings->spark.has_crypto);
    assert_string_equal(w->settings->spark.bean, "spark3");
    rows = nm_yarn_settings_properties(w->settings);
    json_array_foreach(rows, i, row)
        if (nm_streq(json_string_value(json_object_get(row, "key")), "spark.shuffle.service.port"))
            assert_string_equal(json_string_value(json_object_get(row, "source")),
                                path_of(w, "spark-shuffle-site.xml"));
    json_decref(rows);
    write_file(w, "yarn-site.xml", LIST("mapreduce_shuffle"));
    load_well(w);
    assert_int_equal(w->settings->spark.port, 7337); /* without the service, its file is not read */
}

#define TIMEOUT "spark.shuffle.io.connectionTimeout"

static void test_limits_of_the_site_are_obeyed(void **state)
{
    static const struct {
        const char *text;
        uint64_t sec; /* 0: refused */
    } times[] = {{"300", 300}, {"5s", 5}, {"1500ms", 1}, {"2min", 120}, {"2m", 120}, {"1h", 3600}, {"1d", 86400},
                 {"1000000us", 1}, {"500ms", 0}, {"0", 0}, {"2d", 0}, {"-1", 0}, {"1ns", 0}, {"1.5s", 0}, {"", 0}};
    struct fixture *w = *state;
    char text[400];

    write_file(w, "yarn-site.xml", TWO_KINDS);
    load_well(w);
    assert_int_equal(w->settings->spark.max_chunks, INT64_MAX);
    assert_int_equal(w->settings->spark.timeout_usec, 120000000);
    assert_true(w->settings->spark.must_start && !w->settings->spark.keeps_alive);
    write_file(w, "spark-shuffle-site.xml", PROPERTY("spark.shuffle.maxChunksBeingTransferred", "100")
               PROPERTY("spark.network.timeout", "10min") PROPERTY("spark.shuffle.io.backLog", "9")
               PROPERTY("spark.shuffle.io.enableTcpKeepAlive", "true")
               PROPERTY("spark.yarn.shuffle.stopOnFailure", "false"));
    load_well(w);
    assert_string_equal(w->warnings, "");
    assert_int_equal(w->settings->spark.max_chunks, 100);
    assert_int_equal(w->settings->spark.timeout_usec, 600000000);
    assert_int_equal(w->settings->spark.backlog, 9);
    assert_true(w->settings->spark.keeps_alive && !w->settings->spark.must_start);
    for (size_t i = 0; i < NM_ARRAY_SIZE(times); i++) {
        (void)snprintf(text, sizeof text, PROPERTY(TIMEOUT, "%s"), times[i].text);
        write_file(w, "spark-shuffle-site.xml", text);
        if (times[i].sec > 0) {
            load_well(w);
            assert_int_equal(w->settings->spark.timeout_usec / 1000000, times[i].sec);
        } else {
            assert_true(load(w) < 0);
            assert_contains(w->message, "must be seconds from 1 to 86400, or a time such as 2min");
        }
    }
}

static void test_the_first_site_in_the_class_path_is_used(void **state)
{
    struct fixture *w = *state;
    char properties[600];

    assert_int_equal(mkdir(path_of(w, "empty"), 0755), 0);
    assert_int_equal(mkdir(path_of(w, "first"), 0755), 0);
    assert_int_equal(mkdir(path_of(w, "second"), 0755), 0);
    write_file(w, "service.jar", "");
    write_file(w, "first/spark-shuffle-site.xml", PROPERTY("spark.shuffle.service.port", "1001"));
    write_file(w, "second/spark-shuffle-site.xml", PROPERTY("spark.shuffle.service.port", "1002"));
    write_file(w, "spark-shuffle-site.xml", PROPERTY("spark.shuffle.service.port", "1003"));
    (void)snprintf(properties, sizeof properties,
                   TWO_KINDS PROPERTY("yarn.nodemanager.aux-services.my_spark.classpath",
                                      "relative:/no/such:%s/service.jar:%s/first/*:%s/empty:%s/first:%s/second"),
                   w->dir, w->dir, w->dir, w->dir, w->dir);
    write_file(w, "yarn-site.xml", properties);
    load_well(w);
    assert_string_equal(w->warnings, "");
    assert_int_equal(w->settings->spark.port, 1001);
    assert_int_equal(remove(path_of(w, "first/spark-shuffle-site.xml")), 0);
    load_well(w);
    assert_int_equal(w->settings->spark.port, 1002);
    assert_int_equal(remove(path_of(w, "second/spark-shuffle-site.xml")), 0);
    load_well(w);
    assert_int_equal(w->settings->spark.port, 1003);
}

static void test_a_site_that_cannot_be_read_is_refused(void **state)
{
    struct fixture *w = *state;
    FILE *f;

    write_file(w, "yarn-site.xml", TWO_KINDS);
    write_file(w, "spark-shuffle-site.xml", PROPERTY("spark.shuffle.service.port", "70000"));
    assert_int_equal(load(w), -ERANGE);
    assert_contains(w->message, "spark-shuffle-site.xml: spark.shuffle.service.port = '70000': must be");
    write_file(w, "spark-shuffle-site.xml", PROPERTY("spark.ssl.rpc.enabled", "true"));
    assert_int_equal(load(w), -EOPNOTSUPP);
    assert_contains(w->message, "spark-shuffle-site.xml: spark.ssl.rpc.enabled = 'true'");
    f = fopen(path_of(w, "spark-shuffle-site.xml"), "w");
    assert_non_null(f);
    assert_true(fputs("<configuration><property>", f) >= 0);
    fclose(f);
    assert_true(load(w) < 0);
    assert_contains(w->message, "/spark-shuffle-site.xml");
}

/* ---- properties without effect -------------------------------------------------------------- */

#define IDLE \
    PROPERTY("spark.shuffle.io.serverThreads", "8") PROPERTY("spark.shuffle.io.sendBuffer", "9") \
    PROPERTY("spark.shuffle.service.db.backend", "ROCKSDB") \
    PROPERTY("spark.shuffle.service.index.cache.size", "1g") \
    PROPERTY("spark.yarn.shuffle.service.logs.namespace", "x") \
    PROPERTY("spark.shuffle.push.server.mergedIndexCacheSize", "1m")
#define MERGER PROPERTY("spark.shuffle.push.server.mergedShuffleFileManagerImpl", "x.Merger")

static void test_properties_without_effect_are_named(void **state)
{
    static const char *const parts[] = {
        "no effect, because nm-spark-shuffle has its own threads",
        "/spark-shuffle-site.xml), spark.shuffle.io.serverThreads (", "spark.shuffle.io.sendBuffer (",
        "no effect, because nm-spark-shuffle always stores",
        "no effect, because nm-spark-shuffle keeps at most 16 MiB of indexes in its memory: ",
        "no effect, because messages about nm-spark-shuffle are in the log of nmd: "
        "spark.yarn.shuffle.service.logs.namespace",
        "no effect, because nm-spark-shuffle doesn't merge blocks: spark.shuffle.push.server.mergedIndexCacheSize",
    };
    struct fixture *w = *state;

    write_file(w, "yarn-site.xml", TWO_KINDS);
    write_file(w, "spark-shuffle-site.xml", IDLE);
    load_well(w);
    assert_int_equal(w->n_warnings, 5); /* one for each reason */
    for (size_t i = 0; i < NM_ARRAY_SIZE(parts); i++)
        assert_contains(w->warnings, parts[i]);
    write_file(w, "spark-shuffle-site.xml", MERGER);
    load_well(w);
    assert_int_equal(w->n_warnings, 1);
    assert_contains(w->warnings, "mergedShuffleFileManagerImpl = 'x.Merger': nm-spark-shuffle doesn't merge blocks");
    write_file(w, "yarn-site.xml", LIST("mapreduce_shuffle") IDLE);
    load_well(w);
    assert_int_equal(w->n_warnings, 0); /* the properties may be those of jobs */
}

static void test_other_properties_of_the_site_are_named(void **state)
{
    struct fixture *w = *state;
    char *names = calloc(1, 60000);

    write_file(w, "yarn-site.xml", TWO_KINDS
               PROPERTY("yarn.nodemanager.aux-services.my_spark.remote-classpath", "/apps/spark.jar"));
    write_file(w, "spark-shuffle-site.xml", PROPERTY("spark.shuffle.service.prot", "1")
               PROPERTY("yarn.nodemanager.local-dirs", "/x") PROPERTY("spark.authenticate", "true"));
    load_well(w);
    assert_int_equal(w->n_warnings, 2);
    assert_contains(w->warnings, "/spark-shuffle-site.xml: not used, because nm-spark-shuffle doesn't read these "
                                 "properties from this file: spark.shuffle.service.prot, "
                                 "yarn.nodemanager.local-dirs\n");
    assert_contains(w->warnings, "yarn.nodemanager.aux-services.my_spark.remote-classpath: no effect");
    assert_string_not_equal(w->settings->local_dirs[0], "/x");
    assert_true(w->settings->spark.authenticates);

    assert_non_null(names);
    for (size_t i = 0, n = 0; i < 500; i++)
        n += (size_t)sprintf(names + n, PROPERTY("some.name.%zu", "1"), i);
    write_file(w, "spark-shuffle-site.xml", names);
    load_well(w);
    assert_contains(w->warnings, "some.name.0, "); /* the list is cut */
    assert_contains(w->warnings, "...\n");
    free(names);
}

static void test_the_report_of_a_migration_has_the_site(void **state)
{
    struct nm_migrate_report r = {};
    struct fixture *w = *state;
    bool has_idle = false, has_unused = false, has_port = false;

    write_file(w, "yarn-site.xml", TWO_KINDS);
    write_file(w, "spark-shuffle-site.xml", IDLE PROPERTY("x.y", "1") PROPERTY("spark.shuffle.service.port", "7447"));
    assert_int_equal(nm_migrate_gather(w->dir, &r, &w->message), 0);
    for (size_t i = 0; i < r.n; i++) {
        const struct nm_migrate_entry *e = &r.entries[i];
        const bool is_different = e->group == NM_MIGRATE_DIFFERS;

        has_idle |= is_different && e->name && nm_streq(e->name, "spark.shuffle.io.sendBuffer") &&
                    strstr(e->sentence, "No effect, because nm-spark-shuffle has its own");
        has_unused |= is_different && !e->name && strstr(e->sentence, "from this file: x.y");
        has_port |= e->group == NM_MIGRATE_SAME && e->name && nm_streq(e->name, "spark.shuffle.service.port") &&
                    nm_streq(e->value, "7447");
    }
    assert_true(has_idle && has_unused && has_port);
    nm_migrate_report_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_class_decides_what_a_service_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_services_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_properties_of_the_site_are_obeyed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_of_the_site_are_obeyed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_first_site_in_the_class_path_is_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_site_that_cannot_be_read_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_properties_without_effect_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_properties_of_the_site_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_report_of_a_migration_has_the_site, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
