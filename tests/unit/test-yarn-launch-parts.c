/* SPDX-License-Identifier: Apache-2.0 */

/* Functions of yarn/launch/ without I/O on containers: resources, commands and small functions. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "yarn/launch/dirs.h"
#include "yarn/conf/settings-parts.h"
#include "yarn/launch/config-warnings.h"
#include "yarn/launch/resources.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/variables.h"

/* ---- resources ---------------------------------------------------------------------------- */

struct sample {
    Yarn__NamedResource named;
    Yarn__LocalResource value;
    Yarn__Url url;
};

static void sample_init(struct sample *s)
{
    yarn__named_resource__init(&s->named);
    yarn__local_resource__init(&s->value);
    yarn__url__init(&s->url);
    s->named.key = (char *)"key";
    s->named.value = &s->value;
    s->value.url = &s->url;
    s->value.type = 2;
    s->value.visibility = 3;
    s->value.timestamp_msec = 5;
    s->url.scheme = (char *)"hdfs";
    s->url.host = (char *)"nn";
    s->url.port = 8020;
    s->url.file = (char *)"/user/alice/a b%.jar";
}

static const char *cluster_fs;

static int convert(struct sample *s, struct nm_arena *arena, struct nm_localizer_resource *ret)
{
    Yarn__NamedResource *list[] = {&s->named};
    struct nm_localizer_resource *resources;
    char *message = NULL;
    int r = nm_yarn_resources(list, 1, cluster_fs, arena, &resources, &message);

    assert_true(r == 0 || message);
    free(message);
    if (r == 0)
        *ret = resources[0];
    return r;
}

static void test_resources_of_each_kind_are_accepted(void **state)
{
    struct nm_localizer_resource res;
    struct nm_arena arena;
    struct sample s;

    (void)state;
    nm_arena_init(&arena, NM_MIB, NULL);
    sample_init(&s);
    assert_int_equal(convert(&s, &arena, &res), 0);
    assert_string_equal(res.uri, "hdfs://nn:8020/user/alice/a%20b%25.jar");
    assert_string_equal(res.type, "FILE");
    assert_int_equal(res.visibility, NM_VISIBILITY_APPLICATION);
    assert_int_equal(res.timestamp_msec, 5);
    assert_string_equal(nm_yarn_resource_name(&s.named), "a b%.jar");
    s.url.port = -1;
    s.url.user_info = (char *)"key:secret";
    s.value.type = 3;
    s.value.pattern = (char *)"(?:classes/|lib/).*";
    assert_int_equal(convert(&s, &arena, &res), 0);
    assert_string_equal(res.uri, "hdfs://key:secret@nn/user/alice/a%20b%25.jar");
    s.url.host = NULL;
    assert_int_equal(convert(&s, &arena, &res), 0);
    assert_string_equal(res.uri, "hdfs:///user/alice/a%20b%25.jar");
    assert_string_equal(res.pattern, "(?:classes/|lib/).*");
    s.url = (Yarn__Url)YARN__URL__INIT;
    s.url.scheme = (char *)"file";
    s.url.file = (char *)"/\xc3\xa4";
    assert_int_equal(convert(&s, &arena, &res), 0);
    assert_string_equal(res.uri, "file:///%C3%A4");
    nm_arena_done(&arena);
}

static void test_a_resource_without_a_scheme_is_on_the_default_file_system(void **state)
{
    static const struct {
        const char *default_fs, *uri;
    } cases[] = {
        {NULL, "file:///d/a%20b"}, {"file:///", "file:///d/a%20b"}, {"hdfs://nn:9000/", "hdfs://nn:9000/d/a%20b"},
        {"viewfs://c", "viewfs://c/d/a%20b"}, {"viewfs:///", "viewfs:///d/a%20b"}, {"file:/", "file:/d/a%20b"},
    };
    struct nm_localizer_resource res;
    struct nm_arena arena;
    struct sample s;

    (void)state;
    nm_arena_init(&arena, NM_MIB, NULL);
    sample_init(&s);
    s.url = (Yarn__Url)YARN__URL__INIT;
    s.url.file = (char *)"/d/a b";
    for (size_t i = 0; i < 2 * NM_ARRAY_SIZE(cases); i++) {
        cluster_fs = cases[i / 2].default_fs;
        s.url.scheme = i % 2 ? (char *)"" : NULL;
        assert_int_equal(convert(&s, &arena, &res), 0);
        assert_string_equal(res.uri, cases[i / 2].uri);
    }
    cluster_fs = NULL;
    nm_arena_done(&arena);
}

/* The settings for Hadoop's client programs come from nmd's configuration or from the cluster's. */
static void test_settings_for_hadoops_fetch_commands_are_found(void **state)
{
    struct nm_yarn_settings s = {.dir = (char *)"/etc/hadoop/conf", .localizer_memory_mib = 512,
                                 .command_memory_mib = 2048};
    const char *java, *conf, *heap, *path;
    json_int_t most_bytes;
    json_t *work;

    (void)state;
    s.name_nodes = s.webhdfs = s.commands = json_object();
    assert_int_equal(setenv("JAVA_HOME", "/j", 1), 0);
    assert_int_equal(setenv("HADOOP_HOME", "/h", 1), 0);
    assert_int_equal(unsetenv("HADOOP_CONF_DIR") | unsetenv("HADOOP_HEAPSIZE_MAX"), 0);
    work = nm_yarn_fetching(&s);
    assert_int_equal(json_unpack(work, "{s:{s:s, s:s, s:s, s:s}, s:{s:I}}", "environment", "JAVA_HOME", &java,
                                 "HADOOP_CONF_DIR", &conf, "HADOOP_HEAPSIZE_MAX", &heap, "PATH", &path, "limits",
                                 "command_memory_bytes", &most_bytes), 0);
    assert_string_equal(java, "/j");
    assert_string_equal(conf, "/etc/hadoop/conf");
    assert_string_equal(heap, "512m");
    assert_ptr_equal(strstr(path, "/h/bin:"), path);
    assert_int_equal(most_bytes, INT64_C(2048) << 20);
    json_decref(work);
    json_decref(s.name_nodes);
}

static char printed[4096]; /* the warnings of the last call */

static void note_warning(int level, const char *sentence)
{
    assert_int_equal(level, LOG_WARNING);
    assert_string_equal(printed, "");
    (void)snprintf(printed, sizeof printed, "%s", sentence);
}

static void report_warnings(const struct nm_yarn_settings *s)
{
    *printed = '\0';
    nm_yarn_config_warnings_report(s, 1000, "./nm-localizer", note_warning);
}

/* Where lending is enabled, an empty list of types is an error of the operator. It is read as a list without words. */
static void test_an_empty_list_of_types_for_lending_is_reported(void **state)
{
    char *none[] = {NULL}, *some[] = {(char[]){"SPARK"}, NULL};
    struct nm_yarn_settings s = {.lending = {.enabled = true, .types = none}};

    (void)state;
    report_warnings(&s);
    assert_string_equal(printed, "nmd.lending.types is empty: nothing is lent to any application; list the types to "
                        "which containers may be lent, such as MAPREDUCE,SPARK,TEZ (the default), or set nmd.lending = "
                        "off");
    s.lending.types = NULL;
    report_warnings(&s);
    assert_non_null(strstr(printed, "nmd.lending.types is empty"));
    s.lending.enabled = false;
    report_warnings(&s);
    assert_string_equal(printed, "");
    s.lending = (struct nm_yarn_lending){.enabled = true, .types = some};
    report_warnings(&s);
    assert_string_equal(printed, "");
}

/* A command is searched in the directories in which nm-localizer searches it, beginning with $HADOOP_HOME/bin. */
static void test_a_missing_fetch_command_is_reported(void **state)
{
    char home[] = "/tmp/nmd-test-parts.XXXXXX", bin[64], program[128];
    struct nm_yarn_settings s = {.commands = json_pack("{s:[s]}", "s3a", "no-such-hadoop")};
    _cleanup_close_ int fd = -EBADF;

    (void)state;
    assert_non_null(mkdtemp(home));
    (void)snprintf(bin, sizeof bin, "%s/bin", home);
    (void)snprintf(program, sizeof program, "%s/no-such-hadoop", bin);
    assert_int_equal(unsetenv("HADOOP_HOME"), 0);
    report_warnings(&s);
    assert_non_null(strstr(printed, "nmd.fetch-command.s3a: the program 'no-such-hadoop' doesn't exist in "
                                 "/usr/local/sbin:"));
    assert_int_equal(setenv("HADOOP_HOME", home, 1), 0);
    report_warnings(&s);
    assert_non_null(strstr(printed, "the program 'no-such-hadoop' doesn't exist in /tmp/nmd-test-parts."));
    assert_non_null(strstr(printed, "/bin:/usr/local/sbin:"));
    assert_int_equal(mkdir(bin, 0755), 0);
    fd = open(program, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    report_warnings(&s);
    assert_string_equal(printed, "");
    assert_int_equal(unlink(program) | rmdir(bin) | rmdir(home), 0);
    json_decref(s.commands);
}

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END "-----END CERTIFICATE-----\n"
#define FIRST_LINES \
    "MIIBbzCCARWgAwIBAgIUBhE0lfhJk50/Z16ulG+OOTofb94wCgYIKoZIzj0EAwIw\n" \
    "DDEKMAgGA1UEAwwBeDAgFw0yNjExMjYyMzE1NTJaGA8yMTI2MTEwMjIzMTU1Mlow\n" \
    "DDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJMWbLKTO+Le\r\n" \
    "oomY4br1fkFuEJJv2zBxRSaOW3nFmFmqrB0UIgnZzqcLE1U2mfEQkC6+mvlAhRQ/\n" \
    "GsWi2UxDBoGjUzBRMB0GA1UdDgQWBBT3FeC3t5ZZTiMFrf9BAoy+i5iVDjAfBgNV\n" \
    "HSMEGDAWgBT3FeC3t5ZZTiMFrf9BAoy+i5iVDjAPBgNVHRMBAf8EBTADAQH/MAoG\n"
#define LAST_LINES \
    "CCqGSM49BAMCA0gAMEUCIQD1X06WEJ/sBkp0zu/daBha+ePAZatR2TXpo8cs6vSb\n" \
    "rAIgVqQm2lwzg/Bzrm79N8m0LwwEwJfIcCTguDOEFHevLwY=\n"

/* Each certificate of the file must be complete and valid. */
static void test_an_invalid_certificate_is_reported(void **state)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"", false},
        {BEGIN, false},
        {BEGIN END, false},
        {BEGIN FIRST_LINES LAST_LINES, false},
        {FIRST_LINES LAST_LINES END, false},
        {BEGIN FIRST_LINES END, false},
        {BEGIN FIRST_LINES "*\n" LAST_LINES END, false},
        {BEGIN "garbage!\n" END, false},
        {BEGIN "aGVsbG8gd29ybGQ=\n" END, false},
        {BEGIN "MA==\n" END, false},
        {BEGIN "MAA=\n" END, false},
        {BEGIN "MIX/////\n" END, false},
        {BEGIN "MIT/////\n" END, false},
        {"-----BEGIN CERTIFICATE REQUEST-----\n" FIRST_LINES LAST_LINES "-----END CERTIFICATE REQUEST-----\n", false},
        {BEGIN FIRST_LINES LAST_LINES END, true},
        {"the root of all\n" BEGIN "\n" FIRST_LINES LAST_LINES "-----END CERTIFICATE-----", true},
        {"\xef\xbb\xbf" BEGIN FIRST_LINES LAST_LINES END, true},
        /* One damaged certificate makes all other certificates of the file unusable. */
        {BEGIN "garbage!\n" END BEGIN FIRST_LINES LAST_LINES END, false},
        {BEGIN FIRST_LINES LAST_LINES END BEGIN FIRST_LINES END, false},
        {BEGIN FIRST_LINES END BEGIN FIRST_LINES LAST_LINES END, false},
        {BEGIN "MAA=\n" BEGIN FIRST_LINES LAST_LINES END, false},
        {BEGIN "MAIFAA==\n" END, false}, /* an ASN.1 sequence that is not a certificate */
        {"-----BEGIN TRUSTED CERTIFICATE-----\n" FIRST_LINES LAST_LINES "-----END TRUSTED CERTIFICATE-----\n", true},
    };
    char path[] = "/tmp/nmd-test-parts.XXXXXX";
    const struct nm_yarn_settings s = {.webhdfs_ca_file = path};
    _cleanup_close_ int fd = mkstemp(path);

    (void)state;
    assert_int_equal(fchmod(fd, 0644), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        const size_t size = strlen(cases[i].text);

        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, cases[i].text, size, 0), size);
        report_warnings(&s);
        if (cases[i].good ? *printed : !strstr(printed, "it contains no certificate in PEM format"))
            fail_msg("%s: %s", cases[i].text, printed);
    }
    assert_int_equal(unlink(path), 0);
}

static void write_certificate(const char *path)
{
    static const char text[] = BEGIN FIRST_LINES LAST_LINES END;
    _cleanup_close_ int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, 0644), 0);
}

/* The file is readable for all users, but a directory above it isn't. The same error is reported if the path is a
 * symlink. */
static void test_a_certificate_in_a_private_directory_is_reported(void **state)
{
    char dir[] = "/tmp/nmd-test-parts.XXXXXX", path[64], link[64], words[128];
    struct nm_yarn_settings s = {.webhdfs_ca_file = path};

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/ca.pem", dir);
    (void)snprintf(link, sizeof link, "%s.pem", dir);
    (void)snprintf(words, sizeof words, "not all users may enter %s, but the file is read as the user of each", dir);
    write_certificate(path);
    assert_int_equal(symlink(path, link), 0);
    report_warnings(&s);
    assert_non_null(strstr(printed, words));
    s.webhdfs_ca_file = link;
    report_warnings(&s);
    assert_non_null(strstr(printed, words));
    assert_int_equal(chmod(dir, 0711), 0);
    report_warnings(&s);
    assert_string_equal(printed, "");
    assert_int_equal(unlink(link) | unlink(path) | rmdir(dir), 0);
}

/* Returns whether a warning says that resources in the default file system can't be fetched. */
static bool is_suspected(const char *default_fs, json_t *commands, const char *scheme)
{
    const struct nm_yarn_settings s = {.default_fs = (char *)default_fs, .commands = commands};
    char words[200];

    report_warnings(&s);
    (void)snprintf(words, sizeof words, "fs.defaultFS = '%s': this node can't fetch %s: URIs, so containers with files "
                   "there fail; to fetch them with Hadoop's client, set nmd.fetch-command.%s = hadoop fs", default_fs,
                   scheme, scheme);
    assert_true(!*printed || strstr(printed, words) == printed);
    return *printed;
}

static void test_the_default_file_system_is_used(void **state)
{
    static const char *const fetched[] = {
        "hdfs://nn", "file:///", "HDFS://nn:8020/", "webhdfs://nn", "swebhdfs://nn", "http://h/", "nn:8020", "local",
        "",
    };
    json_t *commands = json_pack("{s:[s]}", "s3a", "/bin/sh");

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(fetched); i++)
        assert_false(is_suspected(fetched[i], NULL, ""));
    assert_true(is_suspected("viewfs://cluster/", commands, "viewfs"));
    assert_true(is_suspected("S3A://bucket", NULL, "s3a"));
    assert_false(is_suspected("S3A://bucket", commands, "s3a"));
    assert_false(is_suspected(NULL, commands, ""));
    json_decref(commands);
}

/* Each name node without an address is reported once. The parser of the configuration supplies the list of name
 * nodes. */
static void test_a_name_node_without_an_address_is_reported_once(void **state)
{
    static const char sites[] =
        "<configuration><property><name>dfs.nameservices</name><value>a,b</value></property>"
        "<property><name>dfs.ha.namenodes.a</name><value>n1,n2</value></property>"
        "<property><name>dfs.http.policy</name><value>HTTP_AND_HTTPS</value></property>"
        "<property><name>dfs.namenode.%s-address.a.n1</name><value>h1:1</value></property></configuration>";
    static const char *const kinds[] = {"rpc", "http"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(kinds); i++) {
        json_t *name_nodes = NULL, *webhdfs = NULL, *commands = NULL;
        struct nm_yarn_settings s = {};
        struct nm_yarn_conf *c;
        char text[1000], *message = NULL;

        (void)snprintf(text, sizeof text, sites, kinds[i]);
        assert_int_equal(nm_yarn_conf_new(&c), 0);
        assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), &message), 0);
        assert_int_equal(nm_yarn_sources_read(c, &name_nodes, &webhdfs, &commands, &s.lacking_name_nodes), 0);
        assert_int_equal(json_array_size(s.lacking_name_nodes), 1);
        report_warnings(&s);
        assert_non_null(strstr(printed, "dfs.namenode.rpc-address.a.n2 isn't set"));
        assert_non_null(strstr(printed, "which is listed in dfs.ha.namenodes.a"));
        json_decref(name_nodes);
        json_decref(webhdfs);
        json_decref(commands);
        json_decref(s.lacking_name_nodes);
        nm_yarn_conf_free(c);
    }
}

/* An invalid address is reported with its value, and not as a missing address. */
static void test_an_invalid_address_is_reported_with_its_value(void **state)
{
    static const struct {
        const char *name, *value;
        bool odd;
    } cases[] = {
        {"fs.defaultFS", "hdfs://[::1", true},
        {"fs.defaultFS", "hdfs://h:99999", true},
        {"fs.defaultFS", "webhdfs://h:x/", true},
        {"fs.defaultFS", "hdfs://h:8020/", false},
        {"fs.defaultFS", "hdfs:///", false},
        {"fs.defaultFS", "file:///", false},
        {"dfs.namenode.rpc-address", "[::1:8020", true},
        {"dfs.namenode.http-address", "h:99999", true},
        {"dfs.namenode.http-address", "[::1]:9870", false},
        {"dfs.namenode.rpc-address.a.n1", "h:99999", true},
        {"dfs.namenode.rpc-address", "nn:8020:9000", true},
        {"fs.defaultFS", "hdfs://nn:80:20", true},
        {"fs.defaultFS", "hdfs://nn1:8020,nn2:8020", true},
        {"dfs.namenode.rpc-address", "h1,h2", true},
        {"dfs.namenode.rpc-address", "h2/x:8020", true},
        {"dfs.namenode.rpc-address", "h_1%20:8020", true},
        {"dfs.namenode.rpc-address", "u@h2:8020", true},
        {"dfs.namenode.rpc-address", "h2:0", true},
        {"fs.defaultFS", "hdfs://h2:0", true},
        {"dfs.namenode.http-address", "http://:9870", true},
        {"dfs.namenode.http-address", "1http://nn:9870", true},
        {"dfs.namenode.http-address", "http://", true},
        {"dfs.namenode.http-address", ":9870", true},
        {"dfs.namenode.http-address", "[nn]:9870", true},
        {"dfs.namenode.http-address", "[]:9870", true},
        {"dfs.namenode.http-address", "[::1]x:9870", true},
        {"dfs.namenode.http-address", "[1.2.3.4]:9870", true},
        {"dfs.namenode.http-address", "[fe80::1%]:9870", true},
        {"dfs.namenode.http-address", "[fe80::1%a/b]:9870", true},
        {"dfs.namenode.http-address", "1:2:3:4:5:6:7:8:9", true},
        {"dfs.namenode.http-address", "[fe80::1%eth0]:9870", false},
        {"dfs.namenode.http-address", "http://nn:9870/", false},
        {"dfs.namenode.rpc-address", "h_1.a-b:", false},
        {"fs.defaultFS", "hdfs://u@nn:", false},
        {"fs.defaultFS", "u@nn:8020", false},
        {"fs.defaultFS", "hdfs://a@b@nn", true},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *name_nodes = NULL, *webhdfs = NULL, *commands = NULL;
        const bool is_ha = strstr(cases[i].name, ".a.");
        struct nm_yarn_settings s = {};
        struct nm_yarn_conf *c;
        char text[700], part[200];

        (void)snprintf(text, sizeof text,
                       "<configuration><property><name>%s</name><value>%s</value></property><property><name>%s</name>"
                       "<value>a</value></property><property><name>dfs.ha.namenodes.a</name><value>n1</value>"
                       "</property></configuration>", cases[i].name, cases[i].value,
                       is_ha ? "dfs.nameservices" : "some.other");
        (void)snprintf(part, sizeof part, "%s = '%s' is not a valid address", cases[i].name, cases[i].value);
        assert_int_equal(nm_yarn_conf_new(&c), 0);
        assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
        assert_int_equal(nm_yarn_sources_read(c, &name_nodes, &webhdfs, &commands, &s.lacking_name_nodes), 0);
        report_warnings(&s);
        if ((strstr(printed, part) != NULL) != cases[i].odd)
            fail_msg("%s = %s: %s", cases[i].name, cases[i].value, printed);
        assert_null(strstr(printed, "isn't set"));
        json_decref(name_nodes);
        json_decref(webhdfs);
        json_decref(commands);
        json_decref(s.lacking_name_nodes);
        nm_yarn_conf_free(c);
    }
}

/* Parses "NAME=VALUE NAME=VALUE" as a configuration, and collects the warnings. */
static void report_warnings_of(const char *properties)
{
    json_t *name_nodes = NULL, *webhdfs = NULL, *commands = NULL;
    char text[2000] = "<configuration>", all[600], *at = all, *word;
    struct nm_yarn_settings s = {};
    struct nm_yarn_conf *c;

    (void)snprintf(all, sizeof all, "%s", properties);
    while ((word = strsep(&at, " "))) {
        char *value = strchr(word, '=');

        *value++ = '\0';
        (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                       "<property><name>%s</name><value>%s</value></property>", word, value);
    }
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "</configuration>");
    assert_int_equal(nm_yarn_conf_new(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
    assert_int_equal(nm_yarn_sources_read(c, &name_nodes, &webhdfs, &commands, &s.lacking_name_nodes), 0);
    report_warnings(&s);
    json_decref(name_nodes);
    json_decref(webhdfs);
    json_decref(commands);
    json_decref(s.lacking_name_nodes);
    nm_yarn_conf_free(c);
}

/* Settings that make each container with files in this file system fail, for other reasons than a single address. */
static void test_settings_that_make_containers_fail_are_reported(void **state)
{
    static const struct {
        const char *properties, *part; /* "": no warning is expected */
    } cases[] = {
        {"fs.defaultFS=hdfs://ns1 dfs.nameservices=ns1", "The name service 'ns1' has no address"},
        {"fs.defaultFS=hdfs://ns1 dfs.nameservices=ns1,ns2 dfs.namenode.rpc-address.ns2=nn2:8020",
         "The name service 'ns1' has no address"},
        {"dfs.nameservices=ns1,ns2 dfs.namenode.rpc-address.ns2=nn2:8020 "
         "dfs.client.failover.proxy.provider.ns1=some.Provider", "The name service 'ns1' has no address"},
        {"dfs.nameservices=ns1 dfs.ha.namenodes.ns1=,", "The name service 'ns1' has no address"},
        {"fs.defaultFS=hdfs://nn1:8020 dfs.nameservices=ns1", ""},
        {"fs.defaultFS=hdfs://ns1 dfs.nameservices=ns1 dfs.namenode.rpc-address.ns1=h:x",
         "ns1 = 'h:x' is not a valid address"},
        {"fs.defaultFS=hdfs:///", "fs.defaultFS = 'hdfs:///': the URI has no name node"},
        {"fs.defaultFS=hdfs:/nn1:8020", "fs.defaultFS = 'hdfs:/nn1:8020': the URI has no name node"},
        {"fs.defaultFS=hdfs:", "fs.defaultFS = 'hdfs:': the URI has no name node"},
        {"fs.defaultFS=webhdfs://", "the URI has no name node"},
        {"fs.defaultFS=nn1:", ""},
        {"fs.defaultFS=file:///", ""},
        {"dfs.nameservices=a dfs.ha.namenodes.a=n1 dfs.namenode.rpc-address.a.n1=0.0.0.0:8020",
         "dfs.namenode.rpc-address.a.n1 = '0.0.0.0': a wildcard address doesn't identify a host"},
        {"dfs.nameservices=a dfs.ha.namenodes.a=n1 dfs.namenode.http-address.a.n1=[0::0]:9870",
         "dfs.namenode.http-address.a.n1 = '[::]': a wildcard address doesn't identify a host"},
        {"fs.defaultFS=hdfs://nn dfs.namenode.rpc-address=0.0.0.0:8020", ""},
        {"fs.defaultFS=hdfs://nn dfs.namenode.http-address=nn:00009870", ""},
        {"fs.defaultFS=hdfs://nn dfs.namenode.http-address=user@nn:9870", "without a user"},
        {"fs.defaultFS=hdfs://nn dfs.namenode.http-address=2001:db8::1:9870",
         "this is taken for an IPv6 address without a port; write [IPv6]:PORT"},
        {"fs.defaultFS=2001:db8::1:8020", "this is taken for an IPv6 address without a port; write [IPv6]:PORT"},
        {"fs.defaultFS=hdfs://nn dfs.namenode.http-address=::", ""},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        report_warnings_of(cases[i].properties);
        if (*cases[i].part ? !strstr(printed, cases[i].part) : *printed)
            fail_msg("%s: %s", cases[i].properties, printed);
    }
}

static void test_invalid_resources_are_refused(void **state)
{
    struct nm_localizer_resource res;
    struct nm_arena arena;
    struct sample s;

    (void)state;
    nm_arena_init(&arena, NM_MIB, NULL);
#define REFUSED(change)                                                                                                \
    do {                                                                                                               \
        sample_init(&s);                                                                                               \
        change;                                                                                                        \
        assert_int_equal(convert(&s, &arena, &res), -EINVAL);                                                          \
    } while (0)
    REFUSED(s.named.key = NULL);
    REFUSED(s.named.key = (char *)"");
    REFUSED(s.named.value = NULL);
    REFUSED(s.value.url = NULL);
    REFUSED(s.value.type = 0);
    REFUSED(s.value.type = 4);
    REFUSED(s.value.type = -1);
    REFUSED(s.value.visibility = 0);
    REFUSED(s.value.visibility = 4);
    REFUSED(s.value.timestamp_msec = -1);
    REFUSED(s.url.scheme = NULL); /* with a host in the URI */
    REFUSED(s.url.scheme = (char *)"");
    REFUSED(s.url.scheme = (char *)"a/b");
    REFUSED(s.url.file = NULL);
    REFUSED(s.url.file = (char *)"relative");
    REFUSED(s.url.file = (char *)"/");
    REFUSED(s.url.file = (char *)"/directory/");
    REFUSED(s.url.host = (char *)"a/b");
    REFUSED(s.url.host = (char *)"a b");
    REFUSED(s.url.user_info = (char *)"a@b");
    nm_arena_done(&arena);
}

/* ---- the command of a container ----------------------------------------------------------- */

static void test_the_command_has_the_retries_of_the_launch_context(void **state)
{
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__RetryContext retry = YARN__RETRY_CONTEXT__INIT;
    int32_t codes[] = {3, 255};
    const char *const *argv;
    struct nm_arena arena;

    (void)state;
    nm_arena_init(&arena, NM_MIB, NULL);
    argv = nm_yarn_launcher_command(&context, &arena);
    assert_string_equal(argv[0], "/bin/bash");
    assert_string_equal(argv[1], "launch_container.sh");
    assert_null(argv[2]);
    context.retry = &retry;
    retry.policy = 2;
    retry.max_retries = 4;
    assert_null(nm_yarn_launcher_command(&context, &arena)[2]); /* without a list of exit codes there is no retry */
    retry.codes = codes;
    retry.n_codes = 2;
    retry.interval_msec = 10;
    retry.validity_msec = 1500;
    argv = nm_yarn_launcher_command(&context, &arena);
    assert_string_equal(argv[1], "-c");
    assert_string_equal(argv[4], "4");
    assert_string_equal(argv[5], "1.000");
    assert_string_equal(argv[6], "2");
    assert_string_equal(argv[7], "3");
    assert_string_equal(argv[8], "255");
    assert_null(argv[9]);
    retry.policy = 1;
    retry.max_retries = -7;
    retry.interval_msec = 2500;
    retry.validity_msec = -1;
    argv = nm_yarn_launcher_command(&context, &arena);
    assert_string_equal(argv[4], "-1");
    assert_string_equal(argv[5], "2.500");
    assert_string_equal(argv[6], "0");
    assert_null(argv[7]);
    nm_arena_done(&arena);
}

/* Codes that no process can exit with are omitted, and each other code occurs once, however long the list is. */
static void test_the_command_retries_each_listed_exit_code(void **state)
{
    static int32_t codes[3000];
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__RetryContext retry = YARN__RETRY_CONTEXT__INIT;
    const char *const *argv;
    struct nm_arena arena;

    (void)state;
    nm_arena_init(&arena, NM_MIB, NULL);
    context.retry = &retry;
    retry.policy = 2;
    retry.max_retries = 4;
    retry.codes = codes;
    retry.n_codes = NM_ARRAY_SIZE(codes);
    for (size_t i = 0; i < NM_ARRAY_SIZE(codes); i++)
        codes[i] = (int32_t)i - 2000;
    codes[1] = codes[2999] = 7;
    argv = nm_yarn_launcher_command(&context, &arena);
    assert_string_equal(argv[7], "7");
    for (int code = 1; code < 7; code++)
        assert_int_equal(strtol(argv[7 + code], NULL, 10), code);
    for (int code = 8; code <= 255; code++)
        assert_int_equal(strtol(argv[6 + code], NULL, 10), code);
    assert_null(argv[262]);
    retry.n_codes = 1;
    assert_null(nm_yarn_launcher_command(&context, &arena)[2]); /* only an impossible code: no retry */
    nm_arena_done(&arena);
}

/* ---- small functions ---------------------------------------------------------------------- */

static void test_the_version_of_java_is_found(void **state)
{
    (void)state;
    assert_int_equal(nm_yarn_java_version("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.10\"\nX=1\n"), 17);
    assert_int_equal(nm_yarn_java_version("JAVA_VERSION=\"1.8.0_392\""), 8);
    assert_int_equal(nm_yarn_java_version("JAVA_VERSION=\"21\""), 21);
    assert_int_equal(nm_yarn_java_version("JAVA_VERSION=\"x\""), 0);
    assert_int_equal(nm_yarn_java_version("JAVA_VERSION=17"), 0);
    assert_int_equal(nm_yarn_java_version(""), 0);
}

static void test_base64_is_encoded(void **state)
{
    static const char *const cases[][2] = {
        {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}};
    struct nm_arena arena;

    (void)state;
    nm_arena_init(&arena, NM_MIB, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        assert_string_equal(nm_arena_base64(&arena, nm_bytes_of(cases[i][0])), cases[i][1]);
    nm_arena_done(&arena);
}

/* ---- disks -------------------------------------------------------------------------------- */

/* Checks the directory. Returns whether the check reports it as good. */
static bool is_good(struct nm_yarn_dirs *dirs, const struct nm_yarn_settings *s)
{
    dirs->settings = s;
    nm_yarn_dirs_check(dirs);
    return dirs->all[0].is_good;
}

/* The test doesn't know how full this disk is. It is more than -1 % and at most 100 % full. */
static void test_a_disk_above_its_use_limit_is_bad(void **state)
{
    char name[] = "/tmp/nmd-yarn-disk.XXXXXX";
    struct nm_yarn_dir dir = {.name = mkdtemp(name), .fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    struct nm_yarn_dirs dirs = {.all = &dir, .n = 1};
    struct nm_yarn_settings s = {.checks_disks = true, .checks_disk_use = true, .checks_disk_room = true,
                                 .max_disk_percent = 100, .low_disk_percent = -1, .high_free_disk_mib = INT64_MAX};

    (void)state;
    assert_true(dir.fd >= 0);
    assert_true(is_good(&dirs, &s));
    s.max_disk_percent = -1;
    assert_false(is_good(&dirs, &s));
    assert_non_null(strstr(dir.why, "used space above threshold of -1.0% ("));
    assert_true(dir.lacks_room);
    s.max_disk_percent = 100;
    /* use is above the low mark of the limits, and free space is below the high mark */
    assert_false(is_good(&dirs, &s));
    s.low_disk_percent = 100;
    assert_false(is_good(&dirs, &s));
    assert_non_null(strstr(dir.why, "free space below limit of 9223372036854775807MB ("));
    s.high_free_disk_mib = 0;
    assert_true(is_good(&dirs, &s));
    s.min_free_disk_mib = INT64_MAX;
    assert_false(is_good(&dirs, &s));
    s.checks_disk_room = false;
    assert_true(is_good(&dirs, &s));
    s.max_disk_percent = -1;
    assert_false(is_good(&dirs, &s));
    s.checks_disk_use = false;
    assert_true(is_good(&dirs, &s));
    assert_int_equal(close(dir.fd), 0);
    assert_int_equal(rmdir(name), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resources_of_each_kind_are_accepted),
        cmocka_unit_test(test_a_resource_without_a_scheme_is_on_the_default_file_system),
        cmocka_unit_test(test_settings_for_hadoops_fetch_commands_are_found),
        cmocka_unit_test(test_a_missing_fetch_command_is_reported),
        cmocka_unit_test(test_an_empty_list_of_types_for_lending_is_reported),
        cmocka_unit_test(test_a_certificate_in_a_private_directory_is_reported),
        cmocka_unit_test(test_an_invalid_certificate_is_reported),
        cmocka_unit_test(test_the_default_file_system_is_used),
        cmocka_unit_test(test_a_name_node_without_an_address_is_reported_once),
        cmocka_unit_test(test_an_invalid_address_is_reported_with_its_value),
        cmocka_unit_test(test_invalid_resources_are_refused),
        cmocka_unit_test(test_settings_that_make_containers_fail_are_reported),
        cmocka_unit_test(test_the_command_has_the_retries_of_the_launch_context),
        cmocka_unit_test(test_the_command_retries_each_listed_exit_code),
        cmocka_unit_test(test_the_version_of_java_is_found), cmocka_unit_test(test_base64_is_encoded),
        cmocka_unit_test(test_a_disk_above_its_use_limit_is_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
