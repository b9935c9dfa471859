/* SPDX-License-Identifier: Apache-2.0 */

/* Values of properties, and configurations that the node refuses. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "agent/status.h"
#include "yarn-default.h"
#include "yarn/conf/settings.h"

static void count_warning(const char *sentence, void *userdata)
{
    assert_true(*sentence);
    ++*(unsigned *)userdata;
}

/* Reads a configuration with this property. */
static int read_with(const char *name, const char *value, struct nm_yarn_settings **ret, char **ret_message,
                     unsigned *warnings)
{
    struct nm_yarn_conf *c;
    char text[2000];
    int r;

    *ret_message = NULL;
    *warnings = 0;
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    (void)snprintf(text, sizeof text, "<configuration><property><name>%s</name><value>%s</value></property>"
                   "</configuration>", name, value);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), ret_message), 0);
    r = nm_yarn_settings_read(c, count_warning, warnings, ret, ret_message);
    nm_yarn_conf_free(c);
    return r;
}

static void test_an_empty_configuration_has_the_default_values(void **state)
{
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    assert_int_equal(read_with("some.other", "x", &s, &message, &warnings), 0);
    assert_int_equal(warnings, 0);
    assert_string_equal(s->tracker.host, "0.0.0.0");
    assert_int_equal(s->tracker.port, 8031);
    assert_string_equal(s->node.host, "0.0.0.0");
    assert_int_equal(s->node.port, 0);
    assert_int_equal(s->web.port, 8042);
    assert_int_equal(s->retry_usec, 30 * NM_USEC_PER_SEC);
    assert_int_equal(s->memory_mib, -1);
    assert_false(s->recovery);
    nm_yarn_settings_free(s);
}

static void test_values_of_properties_are_used(void **state)
{
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    assert_int_equal(read_with("yarn.resourcemanager.hostname", " rm.example\n", &s, &message, &warnings), 0);
    assert_string_equal(s->tracker.host, "rm.example");
    assert_int_equal(s->tracker.port, 8031);
    nm_yarn_settings_free(s);
    assert_int_equal(read_with("yarn.nodemanager.address", "[::1]:45454", &s, &message, &warnings), 0);
    assert_string_equal(s->node.host, "::1");
    assert_int_equal(s->node.port, 45454);
    nm_yarn_settings_free(s);
    assert_int_equal(read_with("yarn.resourcemanager.connect.retry-interval.ms", "5s", &s, &message, &warnings), 0);
    assert_int_equal(s->retry_usec, 5 * NM_USEC_PER_SEC);
    nm_yarn_settings_free(s);
    assert_int_equal(read_with("yarn.nodemanager.recovery.enabled", "TRUE", &s, &message, &warnings), 0);
    assert_true(s->recovery);
    nm_yarn_settings_free(s);
}

static void test_lists_of_directories_are_used(void **state)
{
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    assert_int_equal(read_with("yarn.nodemanager.local-dirs", " /a, file:///b/c ,\n,/d", &s, &message, &warnings), 0);
    assert_string_equal(s->local_dirs[0], "/a");
    assert_string_equal(s->local_dirs[1], "/b/c");
    assert_string_equal(s->local_dirs[2], "/d");
    assert_null(s->local_dirs[3]);
    assert_string_equal(s->env_whitelist[0], "JAVA_HOME");
    assert_string_equal(s->env_whitelist[9], "TZ");
    assert_null(s->env_whitelist[10]);
    assert_true(s->max_disk_percent > 89.9 && s->max_disk_percent < 90.1);
    assert_int_equal(s->log_retain_sec, 10800);
    assert_string_equal(s->local_user, "nobody");
    assert_string_equal(s->stderr_pattern, "{*stderr*,*STDERR*}");
    nm_yarn_settings_free(s);
    assert_int_equal(read_with("hadoop.tmp.dir", "/var/h", &s, &message, &warnings), 0);
    assert_string_equal(s->local_dirs[0], "/var/h/nm-local-dir");
    assert_string_equal(s->log_dirs[0], "/var/h/logs/userlogs");
    nm_yarn_settings_free(s);
    assert_int_equal(read_with("yarn.nodemanager.env-whitelist", "", &s, &message, &warnings), 0);
    assert_null(s->env_whitelist[0]);
    nm_yarn_settings_free(s);
}

#define AND(name, value) "</value></property><property><name>yarn.resourcemanager." name "</name><value>" value
#define HA_IDS(ids) "true" AND("ha.rm-ids", ids)

/* There are several ResourceManagers. Each has an address, or only a host name. */
static void test_several_resourcemanagers_have_their_addresses(void **state)
{
    static const struct {
        const char *value, *part;
    } wrong[] = {
        {"true", "ha.rm-ids has no id"},
        {HA_IDS("a,b") AND("hostname.a", "x"), "has 'b', but neither"},
        {HA_IDS("a") AND("resource-tracker.address.a", "x"), "resource-tracker.address.a = 'x': must be HOST:PORT"},
        {HA_IDS("a") AND("hostname.a", "x y"), "must be HOST:PORT"},
    };
    struct nm_yarn_settings *s = NULL;
    unsigned warnings;
    char *message;

    (void)state;
    assert_int_equal(read_with("yarn.resourcemanager.ha.enabled",
                               HA_IDS("a, b") AND("hostname.a", "one") AND("resource-tracker.address.b", "two:9"),
                               &s, &message, &warnings), 0);
    assert_int_equal(s->n_trackers, 2);
    assert_string_equal(s->trackers[0].host, "one");
    assert_int_equal(s->trackers[0].port, 8031);
    assert_int_equal(s->trackers[1].port, 9);
    nm_yarn_settings_free(s);
    for (size_t i = 0; i < NM_ARRAY_SIZE(wrong); i++) {
        assert_true(read_with("yarn.resourcemanager.ha.enabled", wrong[i].value, &s, &message, &warnings) < 0);
        if (!message || !strstr(message, wrong[i].part))
            fail_msg("%s: %s", wrong[i].value, message ?: "no message");
        free(message);
    }
}

/* The addresses to which the proxy of application masters forwards calls, and invalid settings of the proxy. */
static void test_invalid_proxy_settings_are_refused(void **state)
{
    static const char *const on = "yarn.nodemanager.amrmproxy.enabled";
    static const struct {
        const char *value, *part;
    } wrong[] = {
        {"true" AND("am-rm-tokens.master-key-rolling-interval-secs", "1800"),
         "must be more than three times yarn.am.liveness-monitor.expiry-interval-ms, which is 600000 ms"},
        {"true" AND("scheduler.address", "127.0.0.1:8049"),
         "this is yarn.nodemanager.amrmproxy.address, the proxy's own address"},
        {"true" AND("ha.enabled", HA_IDS("a") AND("hostname.a", "x") AND("scheduler.address.a", "localhost:8049")),
         "scheduler.address = localhost:8049"},
        {"true" AND("ha.enabled", HA_IDS("a") AND("resource-tracker.address.a", "x:1")),
         "neither yarn.resourcemanager.scheduler.address.a nor"},
        {"true" AND("scheduler.address", "x"), "must be"},
    };
    struct nm_yarn_settings *s = NULL;
    unsigned warnings;
    char *message;

    (void)state;
    assert_int_equal(read_with("some.other", "x", &s, &message, &warnings), 0);
    assert_false(s->proxy);
    nm_yarn_settings_free(s);
    assert_int_equal(read_with("yarn.nodemanager.distributed-scheduling.enabled", "true" AND("hostname", "rm"), &s,
                               &message, &warnings), 0);
    assert_true(s->proxy && s->distributed && !s->fill_nodes);
    assert_string_equal(s->scheduler.host, "rm");
    assert_int_equal(s->scheduler.port, 8030);
    assert_int_equal(s->proxy_address.port, 8049);
    assert_non_null(strstr(s->proxy_stages[0], "DefaultRequestInterceptor"));
    assert_null(s->proxy_stages[1]);
    assert_int_equal(s->per_am_heartbeat, -1);
    nm_yarn_settings_free(s);
    assert_int_equal(read_with(on, "true" AND("ha.enabled", HA_IDS("a,b") AND("hostname.a", "one")
                                              AND("hostname.b", "two") AND("scheduler.address.b", "two:9")),
                               &s, &message, &warnings), 0);
    assert_true(s->proxy && !s->distributed);
    assert_int_equal(s->n_schedulers, 2);
    assert_int_equal(s->schedulers[0].port, 8030);
    assert_int_equal(s->schedulers[1].port, 9);
    nm_yarn_settings_free(s);
    for (size_t i = 0; i < NM_ARRAY_SIZE(wrong); i++) {
        assert_true(read_with(on, wrong[i].value, &s, &message, &warnings) < 0);
        if (!message || !strstr(message, wrong[i].part))
            fail_msg("%s: %s", wrong[i].value, message ?: "no message");
        free(message);
    }
}

static void test_invalid_values_are_refused(void **state)
{
    static const struct {
        const char *name, *value, *part;
    } cases[] = {
        {"yarn.resourcemanager.resource-tracker.address", "rm.example", "must be HOST:PORT with port 1 to 65535"},
        {"yarn.resourcemanager.resource-tracker.address", "rm.example:0", "must be HOST:PORT"},
        {"yarn.resourcemanager.resource-tracker.address", "rm.example:65536", "must be HOST:PORT"},
        {"yarn.resourcemanager.resource-tracker.address", "a:b:1", "must be HOST:PORT"},
        {"yarn.resourcemanager.resource-tracker.address", ":1", "must be HOST:PORT"},
        {"yarn.resourcemanager.hostname", "two words", "must be a host name or an address"},
        {"yarn.resourcemanager.hostname", "${no.such}", "'${no.such}': must be"},
        {"yarn.resourcemanager.hostname", "${yarn.resourcemanager.hostname}", "refer to each other in a circle"},
        {"yarn.nodemanager.resource.memory-mb", "8G", "must be a number from -1 to 2147483647"},
        {"yarn.nodemanager.resource.memory-mb", "-2", "must be a number from -1"},
        {"yarn.nodemanager.resource.memory-mb", "--1", "must be a number from -1"},
        {"yarn.nodemanager.resource.memory-mb", "99999999999999999999", "must be a number from -1"},
        {"yarn.nodemanager.recovery.enabled", "yes", "must be true or false"},
        {"ipc.client.connect.timeout", "1ms", "must be milliseconds from 10 to 3600000"},
        {"ipc.client.connect.timeout", "soon", "must be milliseconds"},
        {"ipc.client.connect.timeout", "99999999999999d", "must be milliseconds"},
        {"yarn.nodemanager.local-dirs", "relative", "must be absolute paths of directories"},
        {"yarn.nodemanager.local-dirs", "", "must be absolute paths"},
        {"yarn.nodemanager.local-dirs", " , ", "must be absolute paths"},
        {"yarn.nodemanager.local-dirs", "/a,/b\"c", "must be absolute paths"},
        {"yarn.nodemanager.local-dirs", "/a/${no.such}", "must be absolute paths"},
        {"yarn.nodemanager.log-dirs", "/a b", "must be absolute paths"},
        {"yarn.nodemanager.local-dirs", "/data/my dir", "'/data/my dir': must be absolute paths of directories "
         "separated by commas (at most 64), each of up to 512 ASCII characters without blanks, quotes, $, ` and \\"},
        {"yarn.nodemanager.log-dirs", "hdfs://h/logs", "must be absolute paths"},
        {"yarn.nodemanager.disk-health-checker.min-healthy-disks", "1.5", "must be a number from 0 to 1"},
        {"yarn.nodemanager.disk-health-checker.min-healthy-disks", "nan", "must be a number from 0 to 1"},
        {"yarn.nodemanager.disk-health-checker.min-healthy-disks", "0x1", "must be a number from 0 to 1"},
        {"yarn.nodemanager.disk-health-checker.min-healthy-disks", "-0.5", "must be a number from 0 to 1"},
        {"yarn.nodemanager.user-home-dir", "/a\nb", "must be one line of text"},
        {"mapreduce.shuffle.port", "65536", "must be a number from 0 to 65535"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_settings *s = NULL;
        unsigned warnings;
        char *message;

        assert_true(read_with(cases[i].name, cases[i].value, &s, &message, &warnings) < 0);
        assert_null(s);
        if (!message || !strstr(message, cases[i].part))
            fail_msg("%s: %s", cases[i].name, message ?: "no message");
        free(message);
    }
}

static void test_unsupported_values_are_refused(void **state)
{
    static const struct {
        const char *name, *value;
        int error;
        unsigned warnings;
    } cases[] = {
        {"hadoop.security.authentication", "kerberos", -EOPNOTSUPP, 0},
        {"hadoop.security.authentication", " SIMPLE ", 0, 0},
        {"hadoop.rpc.protection", "privacy", -EOPNOTSUPP, 0},
        {"hadoop.rpc.protection", "privacy,authentication", 0, 0},
        {"hadoop.security.sasl.mechanism", "digest-md5", 0, 0},
        {"hadoop.security.secret-manager.key-generator.algorithm", "HmacSHA1", 0, 0},
        {"hadoop.security.secret-manager.key-length", "512", 0, 0},
        {"hadoop.security.secret-manager.key-length", "", 0, 0},
        {"hadoop.rpc.socket.factory.class.default", "org.apache.hadoop.net.StandardSocketFactory", 0, 0},
        {"hadoop.rpc.socket.factory.class.default", "", 0, 0},
        {"yarn.ipc.rpc.class", "org.apache.hadoop.yarn.ipc.HadoopYarnProtoRPC", 0, 0},
        {"yarn.ipc.client.factory.class", "org.apache.hadoop.yarn.factories.impl.pb.RpcClientFactoryPBImpl", 0, 0},
        {"yarn.ipc.server.factory.class", "org.apache.hadoop.yarn.factories.impl.pb.RpcServerFactoryPBImpl", 0, 0},
        {"yarn.ipc.record.factory.class", "org.apache.hadoop.yarn.factories.impl.pb.RecordFactoryPBImpl", 0, 0},
        {"yarn.nodemanager.default-container-executor.log-dirs.permissions", "0710", 0, 0},
        {"yarn.nodemanager.default-container-executor.log-dirs.permissions", "755", 0, 1},
        {"hadoop.http.filter.initializers", "org.apache.hadoop.security.AuthenticationFilterInitializer", 0, 0},
        {"yarn.nodemanager.recovery.enabled", "", 0, 0}, /* Hadoop uses its default for this value */
        {"dfs.client.https.need-auth", "true", 0, 0}, /* dfs.http.policy is HTTP_ONLY here */
        {"yarn.nodemanager.aux-services", "mapreduce_shuffle, spark_shuffle", 0, 0},
        {"yarn.nodemanager.aux-services", "mapreduce_shuffle, spark2_shuffle", -EOPNOTSUPP, 0},
        {"yarn.nodemanager.aux-services", "mapreduce_shuffle2", -EOPNOTSUPP, 0},
        {"yarn.nodemanager.resource-plugins", "", 0, 0},
        {"yarn.nodemanager.resource-plugins", "yarn.io/fpga", -EOPNOTSUPP, 0},
        {"yarn.nodemanager.amrmproxy.ha.enable", "true", 0, 1},
        {"yarn.log-aggregation-enable", "true", 0, 0},
        {"yarn.nodemanager.runtime.linux.type", "docker", -EOPNOTSUPP, 0},
        {"yarn.nodemanager.runtime.linux.sandbox-mode", "enforcing", -EOPNOTSUPP, 0},
        {"yarn.nodemanager.csi-driver.names", "some-driver", -EOPNOTSUPP, 0},
        {"yarn.nodemanager.pmem-check-enabled", "false", 0, 1},
        {"yarn.nodemanager.vmem-check-enabled", "false", 0, 0},
        {"yarn.nodemanager.amrmproxy.address", "0.0.0.0:1", 0, 0},
        {"yarn.nodemanager.amrmproxy", "x", 0, 1},
        {"yarn.nodemanager.resource.memory-gb", "8", 0, 1},
        {"yarn.nodemanager.health-checker.script.opts", "-v", 0, 1},
        {"yarn.nodemanager.runtime.linux.allowed-runtimes", "default,docker", 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_settings *s = NULL;
        unsigned warnings;
        char *message;

        assert_int_equal(read_with(cases[i].name, cases[i].value, &s, &message, &warnings), cases[i].error);
        assert_int_equal(warnings, cases[i].warnings);
        if (cases[i].error < 0) {
            assert_non_null(strstr(message, "site.xml: "));
            assert_non_null(strstr(message, cases[i].name));
        }
        free(message);
        nm_yarn_settings_free(s);
    }
}

/* A property that promises a protection which nmd lacks is refused. The last column is the setting with which the
 * property is accepted. */
static void test_a_property_that_promises_missing_protection_is_refused(void **state)
{
    static const struct {
        const char *name, *value, *lifts;
    } cases[] = {
        {"hadoop.security.saslproperties.resolver.class", "org.apache.hadoop.security.WhitelistBasedResolver", NULL},
        {"hadoop.security.sasl.mechanism", "SCRAM-SHA-512", NULL},
        {"dfs.http.policy", "HTTPS", NULL},
        {"hadoop.security.sasl.CustomizedCallbackHandler.class", "x.Handler", NULL},
        {"hadoop.security.secret-manager.key-generator.algorithm", "HmacSHA256", NULL},
        {"hadoop.security.secret-manager.key-length", "1024", NULL},
        {"hadoop.security.secret-manager.key-length", "long", NULL},
        {"hadoop.rpc.socket.factory.class.default", "org.apache.hadoop.net.SocksSocketFactory", NULL},
        {"yarn.ipc.rpc.class", "x.Rpc", NULL},
        {"yarn.ipc.client.factory.class", "x.Factory", NULL},
        {"yarn.ipc.server.factory.class", "x.Factory", NULL},
        {"yarn.ipc.record.factory.class", "x.Factory", NULL},
        {"hadoop.ssl.enabled", "true", "nmd.yarn.webapp=false"},
        {"yarn.http.policy", "HTTPS_ONLY", "nmd.yarn.webapp=false"},
        {"yarn.http.policy", "HTTP_AND_HTTPS", "nmd.yarn.webapp=false"},
        {"hadoop.http.authentication.type", "kerberos", "nmd.yarn.webapp=false"},
        {"hadoop.http.authentication.simple.anonymous.allowed", "false", "nmd.yarn.webapp=false"},
        {"hadoop.http.filter.initializers", "org.apache.hadoop.security.http.XFrameOptionsFilter",
         "nmd.yarn.webapp=false"},
        {"hadoop.security.instrumentation.requires.admin", "true", "nmd.yarn.webapp=false"},
        {"yarn.webapp.filter-entity-list-by-user", "true", "nmd.yarn.webapp=false"},
        {"yarn.resourcemanager.application-https.policy", "STRICT", NULL},
        {"yarn.intermediate-data-encryption.enable", "true", NULL},
        {"mapreduce.shuffle.ssl.enabled", "true", "yarn.nodemanager.aux-services="},
        {"dfs.encrypt.data.transfer", "true", "dfs.http.policy=HTTPS_ONLY"},
        {"dfs.data.transfer.protection", "privacy", "dfs.http.policy=HTTPS_ONLY"},
        {"dfs.data.transfer.saslproperties.resolver.class", "x", "dfs.http.policy=HTTPS_ONLY"},
        {"hadoop.security.key.provider.path", "kms://https@h:9600/kms", "dfs.http.policy=HTTPS_ONLY"},
        {"dfs.encryption.key.provider.uri", "kms://https@h:9600/kms", "dfs.http.policy=HTTPS_ONLY"},
        {"yarn.nodemanager.network-tagging-handler.enabled", "true", NULL},
        {"yarn.nodemanager.default-container-executor.log-dirs.permissions", "700", NULL},
        {"yarn.nodemanager.default-container-executor.log-dirs.permissions", "640", NULL},
        {"yarn.nodemanager.default-container-executor.log-dirs.permissions", "u=rwx", NULL},
        {"security.containermanagement.protocol.acl", "alice staff", "hadoop.security.authorization=false"},
        {"security.containermanagement.protocol.acl.blocked", "bob", "hadoop.security.authorization=false"},
        {"security.service.authorization.default.acl", "alice", "hadoop.security.authorization=false"},
        /* A list without names permits no callers. */
        {"security.containermanagement.protocol.acl", " ", "hadoop.security.authorization=false"},
        {"security.containermanagement.protocol.acl", "", "hadoop.security.authorization=false"},
        {"security.containermanagement.protocol.acl", " , ", "hadoop.security.authorization=false"},
        {"security.containermanagement.protocol.hosts", "", "hadoop.security.authorization=false"},
        {"security.service.authorization.default.acl", " ", "hadoop.security.authorization=false"},
        {"security.service.authorization.default.hosts", "", "hadoop.security.authorization=false"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        const char *lifts = cases[i].lifts ?: "some.other=x", *equals = strchr(lifts, '=');
        struct nm_yarn_settings *s = NULL;
        unsigned warnings;
        char value[500], *message;

        /* Adds the setting without which the property would have no effect. */
        (void)snprintf(value, sizeof value, "%s</value></property><property><name>%s</name><value>%s", cases[i].value,
                       strncmp(lifts, "hadoop.security.auth", 20) == 0 ? "hadoop.security.authorization"
                                                                       : "yarn.nodemanager.aux-services",
                       strncmp(lifts, "hadoop.security.auth", 20) == 0 ? "true" : "mapreduce_shuffle");
        assert_int_equal(read_with(cases[i].name, value, &s, &message, &warnings), -EOPNOTSUPP);
        if (!message || !strstr(message, cases[i].name) || strchr(message, '\n'))
            fail_msg("%s: %s", cases[i].name, message ?: "no message");
        free(message);
        if (!cases[i].lifts)
            continue;
        (void)snprintf(value, sizeof value, "%s</value></property><property><name>%.*s</name><value>%s",
                       cases[i].value, (int)(equals - lifts), lifts, equals + 1);
        if (read_with(cases[i].name, value, &s, &message, &warnings) != 0)
            fail_msg("%s with %s: %s", cases[i].name, lifts, message);
        assert_int_equal(warnings, strstr(lifts, "HTTPS_ONLY") ? 1 : 0); /* one warning, about certificates */
        nm_yarn_settings_free(s);
    }
}

/* All errors are reported once, in one message. Errors that only follow from other errors are not reported. */
static void test_all_errors_are_reported_in_one_message(void **state)
{
    static const char *const parts[] = {
        "site.xml: yarn.resourcemanager.hostname = 'two words': must be",
        "site.xml: yarn.nodemanager.resource.memory-mb = '8G': must be",
        "site.xml: yarn.nodemanager.local-dirs = 'x': must be",
        "site.xml: hadoop.security.authentication = 'kerberos'",
        "site.xml: yarn.nodemanager.runtime.linux.type = 'docker'",
    };
    static const char properties[] = "two words"
        AND("ha.enabled", "true") AND("ha.rm-ids", "a,b")
        "</value></property><property><name>yarn.nodemanager.resource.memory-mb</name><value>8G"
        "</value></property><property><name>yarn.nodemanager.local-dirs</name><value>x"
        "</value></property><property><name>hadoop.security.authentication</name><value>kerberos"
        "</value></property><property><name>yarn.nodemanager.runtime.linux.type</name><value>docker"
        "</value></property><property><name>yarn.nodemanager.memroy</name><value>1"
        "</value></property><property><name>yarn.shedule</name><value>1"
        "</value></property><property><name>nmd.yarn.webap</name><value>1";
    struct nm_yarn_settings *s = NULL;
    unsigned warnings, lines = 1;
    char *message;

    (void)state;
    assert_true(read_with("yarn.resourcemanager.hostname", properties, &s, &message, &warnings) < 0);
    assert_null(s);
    assert_int_equal(warnings, 3);
    for (size_t i = 0; i < NM_ARRAY_SIZE(parts); i++)
        if (!strstr(message, parts[i]))
            fail_msg("%s isn't in: %s", parts[i], message);
    assert_non_null(strstr(message, "has 'a', but neither"));
    assert_non_null(strstr(message, "has 'b', but neither"));
    assert_null(strstr(message, "by default"));
    for (const char *p = message; (p = strchr(p, '\n')); p++)
        lines++;
    assert_int_equal(lines, NM_ARRAY_SIZE(parts) + 2);
    free(message);
}

/* The known names include those of all parts of YARN, of any release, and of the ResourceManager. */
static void test_known_names_are_accepted(void **state)
{
    static const char *const known[] = {
        "yarn.nodemanager.linux-container-executor.group",
        "yarn.nodemanager.linux-container-executor.cgroups.v2.enabled",
        "yarn.nodemanager.resource.disk.enabled", "yarn.nodemanager.resource.cpu.enabled",
        "yarn.nodemanager.resource.network.interface", "yarn.nodemanager.network-tagging",
        "yarn.nodemanager.resource-plugins.gpu.discovery-timeout",
        "yarn.nodemanager.disk-health-checker.working-dir-content-accessibility-validation.enabled",
        "yarn.nodemanager.aux-services.x.remote-classpath", "yarn.nodemanager.health-checker.x.path",
        "yarn.nodemanager.csi-driver.x.org.endpoint", "yarn.nodemanager.csi-driver-adaptor.x.org.address",
        "yarn.nodemanager.duration-to-track-stopped-containers", "yarn.nodemanager.good-local-dirs",
        "yarn.nodemanager.amrmproxy.address.splitmerge.printmaxrrcount", "yarn.client.max-nodemanagers-proxies",
        "yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor",
        "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round",
        "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled",
        "yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval",
        "yarn.resourcemanager.invariant-checker.file", "yarn.resourcemanager.system-credentials.valid-time-remaining",
        "yarn.resourcemanager.reservation-system.smoothness-factor", "yarn.rpc.nm-command-timeout",
        "yarn.scheduler.queue-placement-rules.app-name", "yarn.scheduler.reservation-threshold.increment-multiple",
        "yarn.application.admin.client.class.x", "yarn.resource.dynamic.nodes",
        "yarn.acl.enable", "yarn.resourcemanager.address", "yarn.resourcemanager.address.rm1",
        "yarn.resourcemanager.webapp.address.rm-2",
        "yarn.timeline-service.version", "yarn.scheduler.minimum-allocation-mb", "yarn.scheduler.capacity.root.queues",
        "yarn.scheduler.fair.allocation.file", "yarn.scheduler.increment-allocation-mb",
        "yarn.webapp.ui2.enable",
        "yarn.app.mapreduce.am.resource.mb", "yarn.resource-types.yarn.io/gpu.units",
        "yarn.cluster.max-application-priority",
        "yarn.client.failover-proxy-provider", "yarn.nodemanager.recovery.dir", "nmd.fetch-command.s3a",
        "nmd.queue.x",
        "nmd.yarn.webapp", "yarn.nodemanager.admin-env.LD_LIBRARY_PATH",
    };
    static const char *const unknown[] = {
        "yarn.nodemanager.linux-container-executor.groups", "yarn.nodmanager.address", "yarn.acl.enabled",
        "yarn.resourcemanager.adress.rm1",
        "yarn.", "yarn", "nmd.yarn.web", "nmd.", "yarn.resourcemanager.", "yarn.acl.enable.rm1",
        "yarn.webapp.filter-entity-list-by-usr", "yarn.scheduler.minimum-alocation-mb", "yarn.scheduler.capacty.x",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(known); i++)
        if (nm_yarn_rules_support(known[i]) == NM_YARN_PROPERTY_UNKNOWN)
            fail_msg("%s is unknown", known[i]);
    for (size_t i = 0; i < NM_ARRAY_SIZE(unknown); i++)
        if (nm_yarn_rules_support(unknown[i]) != NM_YARN_PROPERTY_UNKNOWN)
            fail_msg("%s is known", unknown[i]);
}

static void assert_same_defaults(const struct nm_yarn_settings *a, const struct nm_yarn_settings *b)
{
    for (size_t i = 0; a->defaults[i].section || b->defaults[i].section; i++) {
        assert_true(a->defaults[i].section && b->defaults[i].section);
        assert_string_equal(a->defaults[i].section, b->defaults[i].section);
        assert_string_equal(a->defaults[i].name, b->defaults[i].name);
        assert_string_equal(a->defaults[i].value, b->defaults[i].value);
    }
}

/* All of Hadoop's properties are known. Files with Hadoop's default values cause neither errors nor warnings. */
static void test_all_properties_of_hadoop_are_known(void **state)
{
    struct nm_yarn_settings *unexpanded;
    unsigned none;
    char *why;

    (void)state;
    assert_int_equal(read_with("some.other", "x", &unexpanded, &why, &none), 0);
    assert_int_equal(NM_ARRAY_SIZE(yarn_default), 231);
    for (size_t i = 0; i < NM_ARRAY_SIZE(yarn_default); i++) {
        struct nm_yarn_settings *s = NULL;
        unsigned warnings;
        char *message, name[200];

        (void)snprintf(name, sizeof name, "yarn.nodemanager.%s", yarn_default[i].name);
        if (nm_yarn_rules_support(name) == NM_YARN_PROPERTY_UNKNOWN)
            fail_msg("%s: neither supported nor refused nor without effect", name);
        if (!*yarn_default[i].value) /* Hadoop treats an empty value as if it were not set */
            continue;
        if (read_with(name, yarn_default[i].value, &s, &message, &warnings) != 0 || warnings != 0)
            fail_msg("%s = %s: %s", name, yarn_default[i].value, message ?: "a warning");
        /* The default values of nmd's own properties are the same as without the properties. */
        assert_same_defaults(s, unexpanded);
        nm_yarn_settings_free(s);
    }
    nm_yarn_settings_free(unexpanded);
}

/* The default value of each property is that of Hadoop, with exceptions that properties.c explains. */
static void test_the_default_values_are_those_of_hadoop(void **state)
{
    static const char *const others[] = {
        /* These properties have the value of another property if they are not set. */
        "resourcemanager.connect.retry-interval.ms",
        "disk-health-checker.disk-utilization-watermark-low-per-disk-percentage"};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(yarn_default); i++) {
        bool is_other = false;

        for (size_t k = 0; k < NM_ARRAY_SIZE(others); k++)
            is_other |= nm_streq(others[k], yarn_default[i].name);
        for (size_t k = 0; k < nm_yarn_n_keys && !is_other; k++)
            if (strncmp(nm_yarn_keys[k].name, "yarn.nodemanager.", 17) == 0 &&
                nm_streq(nm_yarn_keys[k].name + 17, yarn_default[i].name))
                assert_string_equal(nm_yarn_keys[k].fallback, yarn_default[i].value);
    }
}

static const struct nm_config_default *find_default(const struct nm_yarn_settings *s, const char *section,
                                                    const char *name)
{
    for (const struct nm_config_default *d = s->defaults; d->section; d++)
        if (nm_streq(d->section, section) && nm_streq(d->name, name))
            return d;
    return NULL;
}

static void assert_default(const struct nm_yarn_settings *s, const char *section, const char *name, const char *value)
{
    const struct nm_config_default *d = find_default(s, section, name);

    assert_non_null(d);
    assert_string_equal(d->value, value);
    assert_string_equal(d->source, "Hadoop's default");
}

static void test_properties_of_nmd_are_used(void **state)
{
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    /* The values that follow from Hadoop's default values. */
    assert_int_equal(read_with("some.other", "x", &s, &message, &warnings), 0);
    assert_default(s, "node", "vcores", "8");
    assert_default(s, "preemption", "pause", "no");
    assert_default(s, "preemption", "kill-grace", "250ms");
    if (sysconf(_SC_PHYS_PAGES) / ((long)NM_MIB / sysconf(_SC_PAGESIZE)) >= 10240)
        assert_default(s, "node", "memory", "8192M");
    else
        assert_null(find_default(s, "node", "memory"));
    nm_yarn_settings_free(s);
    assert_int_equal(read_with("yarn.nodemanager.resource.detect-hardware-capabilities", "true", &s, &message,
                               &warnings), 0);
    assert_null(find_default(s, "node", "memory"));
    assert_null(find_default(s, "node", "vcores"));
    nm_yarn_settings_free(s);
}

/* Checks that exactly these entries (section, name, value) come from the file. */
static void assert_defaults(const char *name, const char *value, const char *const expected[][3], size_t n)
{
    struct nm_yarn_settings *s;
    unsigned warnings;
    size_t found = 0;
    char *message;

    assert_int_equal(read_with(name, value, &s, &message, &warnings), 0);
    for (size_t i = 0; i < n; i++) {
        const struct nm_config_default *d = find_default(s, expected[i][0], expected[i][1]);

        assert_non_null(d);
        assert_string_equal(d->value, expected[i][2]);
        assert_string_equal(d->source, "site.xml");
    }
    for (const struct nm_config_default *d = s->defaults; d->section; d++)
        found += nm_streq(d->source, "site.xml");
    assert_int_equal(found, n);
    nm_yarn_settings_free(s);
}

static void test_thresholds_of_the_policy_are_read(void **state)
{
    static const char *const both[][3] = {{"over-allocation", "memory-threshold", "0.700000000"},
                                          {"over-allocation", "cpu-threshold", "0.700000000"}};
    static const char *const memory[][3] = {{"over-allocation", "memory-threshold", "0.600000000"}};
    static const char *const beta[][3] = {{"preemption", "memory-threshold", "0.900000000"}};
    static const char *const cpu[][3] = {{"preemption", "cpu-threshold", "0.990000000"}};
    static const char *const samples[][3] = {{"preemption", "cpu-samples", "3"}};

    (void)state;
    assert_defaults("yarn.nodemanager.overallocation.general-utilization-threshold", "0.7", both, 2);
    assert_defaults("yarn.nodemanager.overallocation.memory-utilization-threshold", "0.6", memory, 1);
    assert_defaults("yarn.nodemanager.overallocation.preemption.memory", "0.9", beta, 1);
    assert_defaults("yarn.nodemanager.overallocation.preemption.cpu", "0.99", cpu, 1);
    assert_defaults("yarn.nodemanager.overallocation.preemption.cpu.count", "3", samples, 1);
    assert_defaults("yarn.nodemanager.overallocation.general-utilization-threshold", "-1.0", NULL, 0);
    assert_defaults("yarn.nodemanager.overallocation.cpu-utilization-threshold", "0", NULL, 0);
}

static void test_policies_of_nmd_are_set(void **state)
{
    static const char *const yes[][3] = {{"preemption", "pause", "yes"}};
    static const char *const no[][3] = {{"preemption", "pause", "no"}};
    static const char *const grace[][3] = {{"preemption", "kill-grace", "250ms"}};
    static const char *const memory[][3] = {{"node", "memory", "8192M"}};
    static const char *const reserved[][3] = {{"node", "system-reserved-memory", "512M"}};
    static const char *const own[][3] = {{"queue", "order", "smallest-first"}};
    static const char pause[] = "yarn.nodemanager.opportunistic-containers-use-pause-for-preemption";

    (void)state;
    assert_defaults(pause, "true", yes, 1);
    assert_defaults(pause, "false", no, 1);
    assert_defaults("yarn.nodemanager.sleep-delay-before-sigkill.ms", "250", grace, 1);
    assert_defaults("yarn.nodemanager.resource.memory-mb", "8192", memory, 1);
    assert_defaults("yarn.nodemanager.resource.system-reserved-memory-mb",
                    "512</value></property><property><name>yarn.nodemanager.resource.detect-hardware-capabilities"
                    "</name><value>true", reserved, 1);
    assert_defaults("nmd.queue.order", "smallest-first", own, 1);
    assert_defaults("nmd.paths.log-dir", "/tmp", NULL, 0);
    assert_defaults("nmd.queue", "x", NULL, 0);
}

/* A health script of the cluster is used with the cluster's times, also if these times are Hadoop's default values. */
static void test_the_health_script_is_used(void **state)
{
    static const char *const expected[][3] = {{"script", "/usr/bin/check", "site.xml"},
                                              {"period", "600000ms", "Hadoop's default"},
                                              {"timeout", "1200000ms", "Hadoop's default"}};
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    assert_int_equal(read_with("yarn.nodemanager.health-checker.script.path", "/usr/bin/check", &s, &message,
                               &warnings), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(expected); i++) {
        const struct nm_config_default *d = find_default(s, "health", expected[i][0]);

        assert_non_null(d);
        assert_string_equal(d->value, expected[i][1]);
        assert_string_equal(d->source, expected[i][2]);
    }
    nm_yarn_settings_free(s);
}

/* If a property is set with both of its names, the value with nmd's own name takes precedence. */
static void test_the_name_of_nmd_takes_precedence_over_that_of_hadoop(void **state)
{
    const struct nm_config_default *last;
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    assert_int_equal(read_with("nmd.preemption.memory-threshold",
                               "0.91</value></property><property><name>"
                               "yarn.nodemanager.overallocation.preemption.memory</name><value>0.9",
                               &s, &message, &warnings), 0);
    last = find_default(s, "preemption", "memory-threshold");
    assert_string_equal(last->value, "0.900000000");
    while (last[1].section)
        last++;
    assert_string_equal(last->name, "memory-threshold");
    assert_string_equal(last->value, "0.91");
    nm_yarn_settings_free(s);
    assert_int_equal(read_with("nmd.queue.order", "fifo\nx", &s, &message, &warnings), -EINVAL);
    assert_non_null(strstr(message, "site.xml: nmd.queue.order"));
    free(message);
}

static void test_the_policy_of_the_queue_is_read(void **state)
{
    static const char name[] = "yarn.nodemanager.opportunistic-containers-queue-policy";
    static const char *const expected[][3] = {{"queue", "policy", "by-resources"}};
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    assert_defaults(name, "BY_RESOURCES", expected, 1);
    assert_defaults(name, "BY_QUEUE_LEN", NULL, 0);
    assert_int_equal(read_with(name, "BY_LENGTH", &s, &message, &warnings), -EINVAL);
    assert_non_null(strstr(message, "must be BY_QUEUE_LEN or BY_RESOURCES"));
    free(message);
}

static void test_invalid_thresholds_are_refused(void **state)
{
    static const char *const bad[] = {"1.5", "-2", "80%", "-", "inf", "- 1", ""};
    static const char name[] = "yarn.nodemanager.overallocation.preemption.memory";
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        assert_true(read_with(name, bad[i], &s, &message, &warnings) < 0);
        assert_ptr_equal(strstr(message, "site.xml: "), message);
        assert_non_null(strstr(message, name));
        free(message);
    }
}

/* The settings as nmctl config shows them. The test also checks that each default value in the tables is valid. */
static void test_the_json_contains_each_property(void **state)
{
    struct nm_yarn_settings *s;
    unsigned warnings, n_set = 0;
    char *message;
    json_t *j, *o;
    size_t i;

    (void)state;
    assert_int_equal(read_with("yarn.nodemanager.hostname", "node7", &s, &message, &warnings), 0);
    j = nm_yarn_settings_to_json(s);
    assert_int_equal(json_array_size(j), nm_yarn_n_keys);
    json_array_foreach(j, i, o) {
        if (json_is_true(json_object_get(o, "is_default")))
            continue;
        n_set++;
        assert_string_equal(json_string_value(json_object_get(o, "key")), "yarn.nodemanager.hostname");
        assert_string_equal(json_string_value(json_object_get(o, "value")), "node7");
        assert_string_equal(json_string_value(json_object_get(o, "source")), "site.xml");
    }
    assert_int_equal(n_set, 1);
    json_decref(j);
    assert_string_equal(s->node.host, "node7");
    nm_yarn_settings_free(s);
}

/* Properties with variable parts in their names come after the other properties. */
static void test_properties_with_variable_names_are_listed(void **state)
{
    struct nm_yarn_settings *s;
    unsigned warnings;
    char *message;
    json_t *j, *o;

    (void)state;
    assert_int_equal(read_with("yarn.nodemanager.admin-env.LANG", "a,${yarn.nodemanager.vmem-pmem-ratio}", &s, &message,
                               &warnings), 0);
    assert_int_equal(s->n_admin_variables, 1);
    assert_string_equal(s->admin_variables[0].name, "LANG");
    j = nm_yarn_settings_to_json(s);
    assert_int_equal(json_array_size(j), nm_yarn_n_keys + 1);
    o = json_array_get(j, nm_yarn_n_keys);
    assert_string_equal(json_string_value(json_object_get(o, "key")), "yarn.nodemanager.admin-env.LANG");
    assert_string_equal(json_string_value(json_object_get(o, "value")), s->admin_variables[0].value);
    assert_string_equal(json_string_value(json_object_get(o, "source")), "site.xml");
    assert_false(json_is_true(json_object_get(o, "is_default")));
    json_decref(j);
    nm_yarn_settings_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_configuration_has_the_default_values),
        cmocka_unit_test(test_values_of_properties_are_used),
        cmocka_unit_test(test_several_resourcemanagers_have_their_addresses),
        cmocka_unit_test(test_invalid_values_are_refused), cmocka_unit_test(test_lists_of_directories_are_used),
        cmocka_unit_test(test_unsupported_values_are_refused),
        cmocka_unit_test(test_a_property_that_promises_missing_protection_is_refused),
        cmocka_unit_test(test_all_errors_are_reported_in_one_message),
        cmocka_unit_test(test_known_names_are_accepted), cmocka_unit_test(test_the_json_contains_each_property),
        cmocka_unit_test(test_properties_with_variable_names_are_listed),
        cmocka_unit_test(test_properties_of_nmd_are_used), cmocka_unit_test(test_all_properties_of_hadoop_are_known),
        cmocka_unit_test(test_the_default_values_are_those_of_hadoop),
        cmocka_unit_test(test_invalid_proxy_settings_are_refused), cmocka_unit_test(test_policies_of_nmd_are_set),
        cmocka_unit_test(test_the_name_of_nmd_takes_precedence_over_that_of_hadoop),
        cmocka_unit_test(test_the_health_script_is_used), cmocka_unit_test(test_thresholds_of_the_policy_are_read),
        cmocka_unit_test(test_invalid_thresholds_are_refused), cmocka_unit_test(test_the_policy_of_the_queue_is_read),
    };

    return cmocka_run_group_tests_name("yarn-settings", tests, NULL, NULL);
}
