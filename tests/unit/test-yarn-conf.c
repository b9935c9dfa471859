/* SPDX-License-Identifier: Apache-2.0 */

/* Hadoop's configuration files: their meaning, and contents that are refused. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "remove-tree.h"
#include "yarn/conf/conf-set.h"
#include "yarn/conf/properties.h"
#include "yarn/conf/settings.h"

#define CONF(inside) "<?xml version=\"1.0\"?>\n<configuration>\n" inside "</configuration>\n"
#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"

static struct nm_yarn_conf *read_all(const char *const *texts)
{
    struct nm_yarn_conf *c;
    char *message = NULL, file[] = "file-0.xml";

    assert_int_equal(nm_yarn_conf_new(&c), 0);
    for (; *texts; texts++, file[5]++) {
        int r = nm_yarn_conf_read_text(c, -EBADF, file, *texts, strlen(*texts), &message);
        if (r != 0)
            fail_msg("%s", message);
    }
    return c;
}

#define READ(...) read_all((const char *const[]){__VA_ARGS__, NULL})

static void assert_value(const struct nm_yarn_conf *c, const char *name, const char *value, const char *file)
{
    const struct nm_yarn_property *p = nm_yarn_conf_find(c, name);

    assert_non_null(p);
    assert_string_equal(p->value, value);
    assert_string_equal(p->file, file);
}

static void test_later_files_override_earlier_files_except_final_values(void **state)
{
    struct nm_yarn_conf *c = READ(
        CONF(PROPERTY("a", "1") "<!-- no --><property><name>\n b </name><value> two\n</value><final> true </final>"
             "<description>x</description></property>"),
        CONF(PROPERTY("a", "3") PROPERTY("b", "4") PROPERTY("empty", "") "<property><name>none</name></property>"
             "<property name='c' value='&lt;5&#62;' final='true'/><other><property name='d' value='6'/></other>"));

    (void)state;
    assert_value(c, "a", "3", "file-1.xml");
    assert_value(c, "b", " two\n", "file-0.xml");
    assert_value(c, "c", "<5>", "file-1.xml");
    assert_value(c, "empty", "", "file-1.xml");
    assert_null(nm_yarn_conf_find(c, "none"));
    assert_null(nm_yarn_conf_find(c, "d"));
    assert_int_equal(nm_yarn_conf_count(c), 4);
    for (size_t i = 1; i < nm_yarn_conf_count(c); i++)
        assert_true(strcmp(nm_yarn_conf_at(c, i - 1)->name, nm_yarn_conf_at(c, i)->name) < 0);
    nm_yarn_conf_free(c);
}

/* ---- substitution of variables ------------------------------------------------------------ */

static void test_variables_are_substituted(void **state)
{
    static const struct {
        const char *name, *value;
    } cases[] = {
        {"plain", "x"},
        {"address", "rm.example:8031"},
        {"nested", "deep"},
        /* as in Hadoop, no further variable is substituted after an unknown one */
        {"unknown", "a ${no.such} x ${plain}"},
        {"no-variable", "${} ${a b} $x {y}"},
        {"set", "value"},
        {"set-else", "value"},
        {"missing", "else"},
        {"empty", "[]"},
        {"empty-else", "other-one"},
        {"tmp", "/tmp/x"},
    };
    struct nm_yarn_conf *c = READ(CONF(
        PROPERTY("plain", " x\n") PROPERTY("host", "rm.example") PROPERTY("address", "${host}:8031")
        PROPERTY("which", "inner") PROPERTY("key.inner", "deep") PROPERTY("nested", "${key.${which}}")
        PROPERTY("unknown", "a ${no.such} x ${plain}") PROPERTY("no-variable", "${} ${a b} $x {y}")
        PROPERTY("set", "${env.NMD_TEST_SET}") PROPERTY("set-else", "${env.NMD_TEST_SET:-else}")
        PROPERTY("missing", "${env.NMD_TEST_MISSING-else}") PROPERTY("empty", "[${env.NMD_TEST_EMPTY-else}]")
        PROPERTY("empty-else", "${env.NMD_TEST_EMPTY:-other-one}") PROPERTY("tmp", "${java.io.tmpdir}/x")
        PROPERTY("self", "${self}") PROPERTY("to", "${fro}") PROPERTY("fro", "${to}")
        PROPERTY("user", "${user.name}")));
    char *value;

    (void)state;
    setenv("NMD_TEST_SET", "value", 1);
    setenv("NMD_TEST_EMPTY", "", 1);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        assert_int_equal(nm_yarn_conf_expand(c, cases[i].name, &value), 0);
        assert_string_equal(value, cases[i].value);
        free(value);
    }
    assert_int_equal(nm_yarn_conf_expand(c, "user", &value), 0);
    assert_true(*value && *value != '$');
    free(value);
    value = NULL;
    assert_int_equal(nm_yarn_conf_expand(c, "self", &value), -ELOOP);
    assert_int_equal(nm_yarn_conf_expand(c, "to", &value), -ELOOP);
    assert_int_equal(nm_yarn_conf_expand(c, "no.such", &value), -ENOENT);
    assert_null(value);
    nm_yarn_conf_free(c);
}

/* At most twenty substitutions are made. A substitution that makes a value grow without limit is not made. */
static void test_substitutions_are_limited(void **state)
{
    char fine[120] = "", many[120] = "", large[60000];
    struct nm_yarn_conf *c;
    char *value;

    (void)state;
    for (unsigned i = 0; i < 20; i++)
        strcat(fine, "${x}");
    strcat(strcpy(many, fine), "${x}");
    memset(large, 'y', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    assert_int_equal(nm_yarn_conf_new(&c), 0);
    assert_int_equal(nm_yarn_conf_put(c, NULL, "x", "1", false), 0);
    assert_int_equal(nm_yarn_conf_put(c, NULL, "fine", fine, false), 0);
    assert_int_equal(nm_yarn_conf_put(c, NULL, "many", many, false), 0);
    assert_int_equal(nm_yarn_conf_expand(c, "fine", &value), 0);
    assert_string_equal(value, "11111111111111111111");
    free(value);
    assert_int_equal(nm_yarn_conf_expand(c, "many", &value), -ELOOP);
    assert_int_equal(nm_yarn_conf_put(c, NULL, "x", large, false), 0);
    assert_int_equal(nm_yarn_conf_expand(c, "fine", &value), -E2BIG);
    nm_yarn_conf_free(c);
}

/* ---- refused files ------------------------------------------------------------------------ */

static void assert_refused(const char *text, size_t size, int error, const char *part)
{
    struct nm_yarn_conf *c;
    char *message = NULL;

    assert_int_equal(nm_yarn_conf_new(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "a\033.xml", text, size, &message), error);
    assert_non_null(message);
    if (strncmp(message, "a?.xml:", 7) != 0 || !strstr(message, part))
        fail_msg("%s", message);
    free(message);
    nm_yarn_conf_free(c);
}

static void test_files_with_invalid_xml_are_refused(void **state)
{
    static const struct {
        const char *text, *part;
        int error;
    } cases[] = {
        {"", "1: invalid XML", -EBADMSG},
        {"key = value", "1: invalid XML", -EBADMSG},
        {"<configuration>\n<property>", "2: invalid XML", -EBADMSG},
        {"<configuration>\n\xff</configuration>", "2: invalid XML", -EBADMSG},
        {"<html/>", "1: the root element is <html>", -EINVAL},
        {"<!DOCTYPE configuration [<!ENTITY a 'b'>]>\n<configuration>&a;</configuration>", "1: DTDs are not supported",
         -EINVAL},
        {"<!DOCTYPE configuration SYSTEM 'file:///etc/passwd'>\n<configuration/>", "1: DTDs are not supported",
         -EINVAL},
        {"<configuration>&unknown;</configuration>", "1: invalid XML", -EBADMSG},
        {"<configuration>\n<include/></configuration>", "2: an include has no \"href\"", -EINVAL},
        {"<configuration>\n<include href='x.xml'/></configuration>", "2: the included file doesn't exist", -ENOENT},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].error, cases[i].part);
}

static void test_files_that_exceed_a_limit_are_refused(void **state)
{
    static char text[NM_YARN_CONF_FILE_MAX + 1];
    char *p;

    (void)state;
    memset(text, ' ', sizeof text);
    assert_refused(text, sizeof text, -E2BIG, "larger than 1024 KiB");
    p = stpcpy(text, "<configuration>");
    for (unsigned i = 0; i < 40; i++)
        p = stpcpy(p, "<a>");
    assert_refused(text, (size_t)(p - text), -E2BIG, "more than 16 levels deep");
    p = stpcpy(text, "<configuration><property><name>");
    memset(p, 'n', 600);
    assert_refused(text, (size_t)(p - text) + 600, -E2BIG, "a name is longer than 512");
    p = stpcpy(text, "<configuration><property><value>");
    memset(p, 'v', 70000);
    assert_refused(text, (size_t)(p - text) + 70000, -E2BIG, "a value is longer than 65536");
    p = stpcpy(text, "<configuration>");
    for (unsigned i = 0; i < NM_YARN_CONF_PROPERTIES_MAX + 1; i++)
        p += sprintf(p, "<property name='%u' value=''/>", i);
    assert_refused(text, (size_t)(p - text), -E2BIG, "there are more than 4096 properties");
}

/* ---- directories -------------------------------------------------------------------------- */

static char dir[] = "/tmp/nmd-test-conf.XXXXXX";

static int set_up(void **state)
{
    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    remove_tree(dir);
    return 0;
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

static int read_dir(struct nm_yarn_conf **ret, char **ret_message)
{
    struct nm_refusals refusals = {};
    int r;

    *ret_message = NULL;
    assert_int_equal(nm_yarn_conf_new(ret), 0);
    r = nm_yarn_conf_read_dir(*ret, dir, &refusals, ret_message);
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

static void test_a_directory_in_place_of_a_file_is_an_error(void **state)
{
    struct nm_yarn_conf *c;
    char *message, path[200];

    (void)state;
    assert_int_equal(read_dir(&c, &message), -ENOENT);
    assert_non_null(strstr(message, "contains neither yarn-site.xml nor"));
    free(message);
    nm_yarn_conf_free(c);
    write_file("core-site.xml", CONF(PROPERTY("a", "core") PROPERTY("b", "core")));
    write_file("yarn-site.xml", CONF(PROPERTY("b", "yarn")));
    assert_int_equal(read_dir(&c, &message), 0);
    (void)snprintf(path, sizeof path, "%s/core-site.xml", dir);
    assert_value(c, "a", "core", path);
    (void)snprintf(path, sizeof path, "%s/yarn-site.xml", dir);
    assert_value(c, "b", "yarn", path);
    nm_yarn_conf_free(c);
}

#define INCLUDE(href, inside) "<xi:include href='" href "' xmlns:xi='http://www.w3.org/2001/XInclude'>" inside \
    "</xi:include>\n"

static void test_included_files_are_read(void **state)
{
    struct nm_yarn_conf *c;
    char *message, path[200];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/sub", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file("sub/more.xml", CONF(PROPERTY("a", "included") PROPERTY("b", "included")));
    write_file("yarn-site.xml",
               CONF(PROPERTY("a", "before")
                    INCLUDE("sub/more.xml", "<xi:fallback>" PROPERTY("no", "1") "</xi:fallback>")
                    PROPERTY("b", "after")
                    INCLUDE("gone.xml", "<xi:fallback>" PROPERTY("c", "else") "</xi:fallback>")));
    assert_int_equal(read_dir(&c, &message), 0);
    assert_value(c, "a", "included", "sub/more.xml");
    assert_string_equal(nm_yarn_conf_find(c, "b")->value, "after");
    assert_string_equal(nm_yarn_conf_find(c, "c")->value, "else");
    assert_null(nm_yarn_conf_find(c, "no"));
    nm_yarn_conf_free(c);
}

static void assert_include_refused(const char *text, int error, const char *part)
{
    struct nm_yarn_conf *c;
    char *message;

    write_file("yarn-site.xml", text);
    assert_int_equal(read_dir(&c, &message), error);
    if (!message || !strstr(message, part))
        fail_msg("%s", message ?: "no message");
    free(message);
    nm_yarn_conf_free(c);
}

static void test_an_invalid_include_is_refused(void **state)
{
    char path[200];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/link.xml", dir);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    write_file("bad.xml", "<configuration>\n\n<");
    assert_include_refused(CONF(INCLUDE("/etc/passwd", "")), -EXDEV,
                           "yarn-site.xml:3: include of '/etc/passwd': the included file must be below");
    assert_include_refused(CONF(INCLUDE("../x.xml", "")), -EXDEV, "must be below");
    assert_include_refused(CONF(INCLUDE("link.xml", "")), -EXDEV, "must be below");
    assert_include_refused(CONF(INCLUDE("gone.xml", "")), -ENOENT, "yarn-site.xml:3: the included file doesn't exist");
    assert_include_refused(CONF(INCLUDE("bad.xml", "")), -EBADMSG, "bad.xml:3: invalid XML");
    assert_include_refused(CONF(INCLUDE("yarn-site.xml", "")), -ELOOP, "they form a circle");
    assert_include_refused(CONF(INCLUDE(".", "")), -EISDIR, "Is a directory");
}

/* nmd must not wait for a writer of a pipe, at its start or in the child that reads the files again. */
static void test_a_pipe_in_place_of_a_file_is_refused(void **state)
{
    struct nm_yarn_conf *c;
    char *message, path[200];

    (void)state;
    alarm(20);
    (void)snprintf(path, sizeof path, "%s/pipe.xml", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_include_refused(CONF(INCLUDE("pipe.xml", "")), -EBADMSG,
                           "yarn-site.xml:3: include of 'pipe.xml': it is not a regular file");
    (void)snprintf(path, sizeof path, "%s/yarn-site.xml", dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_dir(&c, &message), -EBADMSG);
    assert_non_null(strstr(message, "/yarn-site.xml: can't read: it is not a regular file"));
    alarm(0);
    free(message);
    nm_yarn_conf_free(c);
}

#define SINGLE(host, port, base) \
    "{\"" host "\": [\"" base "\"], \"" host ":" port "\": [\"" base "\"], \"hdfs:\": [\"" base "\"]}"

/* The settings for name nodes and fetch commands, in the form in which nm-localizer receives them. */
static void test_settings_for_fetching_are_passed_to_nm_localizer(void **state)
{
    static const struct {
        const char *properties, *name_nodes, *commands;
    } cases[] = {
        {"", "{}", "{}"},
        {"fs.defaultFS=file:///", "{}", "{}"},
        {"fs.defaultFS=hdfs://nn:9000", SINGLE("nn", "9000", "http://nn:9870"), "{}"},
        {"fs.defaultFS=hdfs://nn:8020 dfs.namenode.http-address=0.0.0.0:50070",
         SINGLE("nn", "8020", "http://nn:50070"), "{}"},
        {"fs.defaultFS=hdfs://u@[::1]:8020/ dfs.namenode.http-address=[::]:50070",
         SINGLE("[::1]", "8020", "http://[::1]:50070"), "{}"},
        {"fs.defaultFS=hdfs://nn dfs.namenode.rpc-address=::2", "{\"[::2]\": [\"http://[::2]:9870\"], "
         "\"[::2]:8020\": [\"http://[::2]:9870\"], \"hdfs:\": [\"http://nn:9870\"]}", "{}"},
        {"fs.defaultFS=HDFS://nn dfs.namenode.http-address=[fe80::1]:81", SINGLE("nn", "8020", "http://[fe80::1]:81"),
         "{}"},
        {"fs.defaultFS=hdfs://nn: dfs.namenode.http-address=http://web_1:81/x", SINGLE("nn", "8020", "http://web_1:81"),
         "{}"},
        {"fs.defaultFS=hdfs://nn dfs.namenode.http-address=https://0.0.0.0:", SINGLE("nn", "8020", "http://nn:9870"),
         "{}"},
        {"fs.defaultFS=hdfs://[fe80::1%eth0]:9000 dfs.namenode.rpc-address=hdfs://0.0.0.0:8020 "
         "dfs.namenode.http-address=::", SINGLE("[fe80::1]", "9000", "http://[fe80::1%eth0]:9870"), "{}"},
        {"fs.defaultFS=hdfs://[0:0:0:0:0:0:0:1]:9000 dfs.namenode.http-address=[2001:DB8:0::2]:81 "
         "dfs.namenode.rpc-address=[0:0::1]:9000", SINGLE("[::1]", "9000", "http://[2001:db8::2]:81"), "{}"},
        {"fs.defaultFS=hdfs://nn dfs.namenode.rpc-address=[0:0::0]:9000 dfs.namenode.http-address=0:0::0",
         SINGLE("nn", "8020", "http://nn:9870"), "{}"},
        {"fs.defaultFS=hdfs://NN:9000 dfs.namenode.rpc-address=nn:9000 dfs.namenode.http-address=nn:00000081",
         SINGLE("nn", "9000", "http://nn:81"), "{}"},
        {"fs.defaultFS=hdfs://NS dfs.nameservices=ns dfs.namenode.http-address.ns=h:81",
         "{\"ns\": [\"http://h:81\"], \"hdfs:\": [\"http://NS:9870\"]}", "{}"},
        {"dfs.nameservices=a dfs.ha.namenodes.a=, dfs.namenode.http-address.a=h:81", "{\"a\": [\"http://h:81\"]}",
         "{}"},
        {"fs.defaultFS=hdfs://nn dfs.namenode.rpc-address=nn:8020:9000 dfs.namenode.http-address=w:0",
         SINGLE("nn", "8020", "http://nn:9870"), "{}"},
        {"fs.defaultFS=hdfs://nn1:8020,nn2:8020", "{}", "{}"},
        {"fs.defaultFS=hdfs://nn dfs.namenode.http-address=web.example:81 dfs.namenode.https-address=s:82 "
         "dfs.http.policy=HTTPS_ONLY", SINGLE("nn", "8020", "https://s:82"), "{}"},
        {"fs.defaultFS=hdfs://nn dfs.http.policy=HTTPS_ONLY", SINGLE("nn", "8020", "https://nn:9871"), "{}"},
        {"fs.defaultFS=webhdfs://nn:81", "{\"webhdfs:\": [\"http://nn:81\"]}", "{}"},
        {"fs.defaultFS=hdfsx://nn", "{}", "{}"},
        {"fs.defaultFS=nn:9000", SINGLE("nn", "9000", "http://nn:9870"), "{}"},
        {"fs.defaultFS=local", "{}", "{}"},
        {"fs.default.name=hdfs://nn:9000 dfs.http.address=nn:50070", SINGLE("nn", "9000", "http://nn:50070"), "{}"},
        {"fs.default.name=hdfs://old fs.defaultFS=nn dfs.http.policy=HTTPS_ONLY dfs.https.address=nn:82",
         SINGLE("nn", "8020", "https://nn:82"), "{}"},
        {"dfs.federation.nameservices=a dfs.namenode.http-address.a=h:81", "{\"a\": [\"http://h:81\"]}", "{}"},
        {"fs.defaultFS=swebhdfs://nn", "{\"swebhdfs:\": [\"https://nn:9871\"]}", "{}"},
        {"fs.defaultFS=swebhdfs://u@nn:82/ dfs.http.policy=HTTPS_ONLY", "{\"swebhdfs:\": [\"https://nn:82\"]}", "{}"},
        {"fs.defaultFS=swebhdfs://a dfs.nameservices=a dfs.ha.namenodes.a=n1,n2 dfs.namenode.https-address.a.n1=h1:1 "
         "dfs.namenode.rpc-address.a.n2=h2 dfs.namenode.http-address.a.n1=h1:3",
         "{\"a\": [\"http://h1:3\", \"http://h2:9870\"], \"h2\": [\"http://h2:9870\"], "
         "\"h2:8020\": [\"http://h2:9870\"], \"swebhdfs://a\": [\"https://h1:1\", \"https://h2:9871\"], "
         "\"swebhdfs://h2\": [\"https://h2:9871\"], \"swebhdfs://h2:8020\": [\"https://h2:9871\"], "
         "\"swebhdfs:\": [\"https://h1:1\", \"https://h2:9871\"]}", "{}"},
        {"fs.defaultFS=swebhdfs://a dfs.http.policy=HTTPS_ONLY dfs.nameservices=a dfs.namenode.https-address.a=h:1",
         "{\"a\": [\"https://h:1\"], \"swebhdfs:\": [\"https://h:1\"]}", "{}"},
        {"fs.defaultFS=hdfs://nn dfs.http.policy=HTTP_AND_HTTPS",
         "{\"nn\": [\"http://nn:9870\"], \"nn:8020\": [\"http://nn:9870\"], \"hdfs:\": [\"http://nn:9870\"], "
         "\"swebhdfs://nn\": [\"https://nn:9871\"], \"swebhdfs://nn:8020\": [\"https://nn:9871\"]}", "{}"},
        {"fs.defaultFS=hdfs://a dfs.nameservices=a,b dfs.ha.namenodes.a=n1,n2 dfs.namenode.rpc-address.a.n1=h1:1 "
         "dfs.namenode.rpc-address.a.n2=[::1]:2 dfs.namenode.http-address.a.n2=0.0.0.0:81 "
         "dfs.namenode.rpc-address.b=h1:3",
         "{\"a\": [\"http://h1:9870\", \"http://[::1]:81\"], \"b\": [\"http://h1:9870\"], "
         "\"h1\": [\"http://h1:9870\"], \"h1:1\": [\"http://h1:9870\"], \"h1:3\": [\"http://h1:9870\"], "
         "\"[::1]\": [\"http://[::1]:81\"], \"[::1]:2\": [\"http://[::1]:81\"], "
         "\"hdfs:\": [\"http://h1:9870\", \"http://[::1]:81\"]}", "{}"},
        {"dfs.nameservices=a,b dfs.ha.namenodes.a=n1,n2 dfs.namenode.http-address.a.n1=h1:1 "
         "dfs.namenode.http-address.a.n2=h2:2 dfs.namenode.http-address.b=h3:3",
         "{\"a\": [\"http://h1:1\", \"http://h2:2\"], \"b\": [\"http://h3:3\"]}", "{}"},
        {"dfs.nameservices=a", "{}", "{}"},
        {"nmd.fetch-command.s3a=/bin/get&#32;{uri}&#32;&#32;{target} nmd.fetch-command.x=", "{}",
         "{\"s3a\": [\"/bin/get\", \"{uri}\", \"{target}\"]}"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *name_nodes = json_loads(cases[i].name_nodes, 0, NULL);
        json_t *commands = json_loads(cases[i].commands, 0, NULL);
        char text[1500] = "<configuration>", all[600], *at = all, *word;
        struct nm_yarn_settings *s;
        struct nm_yarn_conf *c;

        (void)snprintf(all, sizeof all, "%s", cases[i].properties);
        while ((word = strsep(&at, " ")))
            if (strchr(word, '=')) {
                char *value = strchr(word, '=');

                *value++ = '\0';
                (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                               "<property><name>%s</name><value>%s</value></property>", word, value);
            }
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "</configuration>");
        assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
        assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
        assert_int_equal(nm_yarn_settings_read(c, NULL, NULL, &s, NULL), 0);
        if (!json_equal(s->name_nodes, name_nodes) || !json_equal(s->commands, commands))
            fail_msg("%s: %s %s", cases[i].properties, json_dumps(s->name_nodes, 0), json_dumps(s->commands, 0));
        nm_yarn_settings_free(s);
        nm_yarn_conf_free(c);
        json_decref(name_nodes);
        json_decref(commands);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_later_files_override_earlier_files_except_final_values),
        cmocka_unit_test(test_settings_for_fetching_are_passed_to_nm_localizer),
        cmocka_unit_test(test_variables_are_substituted),
        cmocka_unit_test(test_substitutions_are_limited),
        cmocka_unit_test(test_files_with_invalid_xml_are_refused),
        cmocka_unit_test(test_files_that_exceed_a_limit_are_refused),
        cmocka_unit_test_setup_teardown(test_a_directory_in_place_of_a_file_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_included_files_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_invalid_include_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_pipe_in_place_of_a_file_is_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("yarn-conf", tests, NULL, NULL);
}
