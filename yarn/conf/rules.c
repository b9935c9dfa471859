/* SPDX-License-Identifier: Apache-2.0 */

/* See rules.h. The rules apply only to properties whose value is a comma-separated list of words, a file mode or a
 * number. */

#include "yarn/conf/rules.h"

#include <assert.h>

#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"
#include "yarn/conf/lending.h"
#include "yarn/master-key.h"

#define SHOWN_SIZE 120
#define NODE "yarn.nodemanager."
#define OWN "nmd."
#define YARN "yarn."
#define EXECUTOR "org.apache.hadoop.yarn.server.nodemanager."
#define LAUNCHER EXECUTOR "containermanager.launcher.ContainersLauncher"
#define LOG_POLICIES EXECUTOR "containermanager.logaggregation."
#define STATIC_USER "org.apache.hadoop.http.lib.StaticUserWebFilter"
#define CROSS_ORIGIN "org.apache.hadoop.security.HttpCrossOriginFilterInitializer"
#define ASKS_NAME "org.apache.hadoop.security.AuthenticationFilterInitializer"
#define ASKS_PROXY_NAME "org.apache.hadoop.security.authentication.server.ProxyUserAuthenticationFilterInitializer"
#define LOG_MODE NODE "default-container-executor.log-dirs.permissions", "710"
#define SOCKETS "org.apache.hadoop.net.StandardSocketFactory"
#define IPC "org.apache.hadoop.yarn."
#define FACTORY(what) "", .allowed = IPC "factories.impl.pb." what "FactoryPBImpl"
#define ALWAYS_LIMITED \
    "the kernel enforces the memory limit of each container on this node, and kills a container that exceeds it"

/* A rule about a list of words. If a value contains a word that isn't allowed, or lacks the needed word, the value
 * requests a function that the node doesn't have. */
struct rule {
    const char *name, *fallback;
    const char *allowed; /* allowed words, separated by commas; NULL: any */
    const char *needed;  /* word that must be in the list; NULL: no word is needed */
    unsigned mode;       /* if not 0, the value must be a file mode in octal with all these bits */
    unsigned most;       /* if not 0, the value must be a number from 1 to this limit */
    bool not_blank;      /* an empty list also breaks the rule */
    bool fatal;
    const char *why; /* reason for a refusal or warning: a sentence */
    bool of_proxy; /* applies only if application masters connect to the ResourceManager through nmd */
    struct {
        const char *name, *value;
    } unless; /* the rule doesn't apply if property `name` has this value (NULL: any value but "") */
};

#define PAGES_IN_CLEAR \
    "nmd serves its pages without TLS and without authentication (to disable the pages, set nmd.yarn.webapp = false)"
#define NO_PAGES .unless = {"nmd.yarn.webapp", "false"}
#define HDFS_IN_CLEAR "nmd reads HDFS by WebHDFS, which is encrypted only with dfs.http.policy = HTTPS_ONLY"
#define NO_OWN_CERTIFICATE \
    "nmd has no client certificate for HDFS's servers, and can't fetch from servers that require one"
#define WITHOUT_TLS .unless = {"dfs.http.policy", "HTTP_ONLY"}
#define HDFS_BY_TLS .unless = {"dfs.http.policy", "HTTPS_ONLY"}
#define OWN_PROTOCOL "nmd supports only Hadoop's own RPC protocol, not protocols implemented by Java classes"
#define NO_POLICY "nmd doesn't check access lists of services; clients are authenticated only by their tokens"
#define NO_AUTHORIZATION .unless = {"hadoop.security.authorization", "false"}
#define MANIFEST NODE "aux-services.manifest"
#define WITH_SERVICES .unless = {"yarn.nodemanager.aux-services", ""}
#define NO_MERGE "org.apache.spark.network.shuffle.NoOpMergedShuffleFileManager"
/* Prefixes of the names of access lists. Hadoop's NodeManager has several services with access lists
 * (NMPolicyProvider). nmd has the first of these services, and also the second if masters connect to their
 * ResourceManager through nmd. */
#define NODES "security.containermanagement.protocol."
#define MASTERS "security.applicationmaster-nodemanager.applicationmaster.protocol."
#define OTHERS "security.service.authorization.default."
/* An empty list of allowed callers refuses all callers. An empty list of blocked callers accepts all callers. */
#define EVERYBODY "*", .allowed = "*", .not_blank = true, .fatal = true, .why = NO_POLICY, NO_AUTHORIZATION
#define NOBODY "", .allowed = "", .fatal = true, .why = NO_POLICY, NO_AUTHORIZATION

static const struct rule rules[] = {
    {"hadoop.security.authentication", "simple", .allowed = "simple", .fatal = true,
     .why = "nmd supports only clusters without Kerberos"},
    {"hadoop.rpc.protection", "authentication", .needed = "authentication", .fatal = true,
     .why = "nmd neither signs nor encrypts the data that it sends"},
    {"hadoop.security.saslproperties.resolver.class", "",
     .allowed = "org.apache.hadoop.security.SaslPropertiesResolver", .fatal = true,
     .why = "nmd neither signs nor encrypts the data that it sends to any peer"},
    {"hadoop.security.sasl.mechanism", "DIGEST-MD5", .allowed = "DIGEST-MD5", .fatal = true,
     .why = "nmd and its peers authenticate with DIGEST-MD5"},
    {"hadoop.security.sasl.CustomizedCallbackHandler.class", "", .allowed = "", .fatal = true,
     .why = "nmd can't run a SASL handler written in Java"},
    {"hadoop.security.secret-manager.key-generator.algorithm", "HmacSHA1", .allowed = "HmacSHA1", .fatal = true,
     .why = "nmd signs and checks tokens with HMAC-SHA1, and would refuse tokens of this cluster"},
    {"hadoop.security.secret-manager.key-length", "64", .most = 8 * NM_YARN_KEY_MAX, .fatal = true,
     .why = "nmd doesn't support longer keys for tokens"},
    {"hadoop.rpc.socket.factory.class.default", SOCKETS, .allowed = SOCKETS, .fatal = true,
     .why = "nmd can't run a socket factory written in Java; it connects directly and without encryption"},
    {"yarn.ipc.rpc.class", IPC "ipc.HadoopYarnProtoRPC", .allowed = IPC "ipc.HadoopYarnProtoRPC", .fatal = true,
     .why = OWN_PROTOCOL},
    {"yarn.ipc.client.factory.class", FACTORY("RpcClient"), .fatal = true, .why = OWN_PROTOCOL},
    {"yarn.ipc.server.factory.class", FACTORY("RpcServer"), .fatal = true, .why = OWN_PROTOCOL},
    {"yarn.ipc.record.factory.class", FACTORY("Record"), .fatal = true, .why = OWN_PROTOCOL},
    /* If all lists in hadoop-policy.xml are "*", they allow all callers, as nmd does. */
    {"hadoop.security.authorization", "false", .allowed = "true,false", .fatal = true, .why = "must be true or false"},
    {NODES "acl", EVERYBODY},
    {NODES "acl.blocked", NOBODY},
    {NODES "hosts", EVERYBODY},
    {NODES "hosts.blocked", NOBODY},
    {MASTERS "acl", EVERYBODY, .of_proxy = true},
    {MASTERS "acl.blocked", NOBODY, .of_proxy = true},
    {MASTERS "hosts", EVERYBODY, .of_proxy = true},
    {MASTERS "hosts.blocked", NOBODY, .of_proxy = true},
    {OTHERS "acl", EVERYBODY},
    {OTHERS "acl.blocked", NOBODY},
    {OTHERS "hosts", EVERYBODY},
    {OTHERS "hosts.blocked", NOBODY},
    {"yarn.http.policy", "HTTP_ONLY", .allowed = "HTTP_ONLY", .fatal = true, .why = PAGES_IN_CLEAR, NO_PAGES},
    {"hadoop.ssl.enabled", "false", .allowed = "false", .fatal = true, .why = PAGES_IN_CLEAR, NO_PAGES},
    {"hadoop.http.authentication.type", "simple", .allowed = "simple", .fatal = true, .why = PAGES_IN_CLEAR, NO_PAGES},
    {"hadoop.http.authentication.simple.anonymous.allowed", "true", .allowed = "true", .fatal = true,
     .why = PAGES_IN_CLEAR, NO_PAGES},
    /* If the two properties above have their defaults, filters that require names allow all callers, as nmd does. */
    {"hadoop.http.filter.initializers", STATIC_USER,
     .allowed = STATIC_USER "," CROSS_ORIGIN "," ASKS_NAME "," ASKS_PROXY_NAME, .fatal = true,
     .why = "nmd can't run a request filter written in Java, so requests would not be filtered (to disable the pages, "
            "set nmd.yarn.webapp = false)", NO_PAGES},
    {"hadoop.security.instrumentation.requires.admin", "false", .allowed = "false", .fatal = true,
     .why = PAGES_IN_CLEAR, NO_PAGES},
    {"yarn.webapp.filter-entity-list-by-user", "false", .allowed = "false", .fatal = true, .why = PAGES_IN_CLEAR,
     NO_PAGES},
    {"yarn.resourcemanager.application-https.policy", "NONE", .allowed = "NONE", .fatal = true,
     .why = "nmd doesn't provide application masters with TLS keys"},
    {"yarn.intermediate-data-encryption.enable", "false", .allowed = "false", .fatal = true,
     .why = "nmd doesn't encrypt the files of containers; to let jobs encrypt their data themselves, set "
            "mapreduce.job.encrypted-intermediate-data"},
    {"mapreduce.shuffle.ssl.enabled", "false", .allowed = "false", .fatal = true,
     .why = "nm-shuffle serves map outputs without TLS", .unless = {"yarn.nodemanager.aux-services", ""}},
    {"dfs.encrypt.data.transfer", "false", .allowed = "false", .fatal = true, .why = HDFS_IN_CLEAR, HDFS_BY_TLS},
    {"dfs.data.transfer.protection", "", .allowed = "", .fatal = true, .why = HDFS_IN_CLEAR, HDFS_BY_TLS},
    {"dfs.data.transfer.saslproperties.resolver.class", "", .allowed = "", .fatal = true, .why = HDFS_IN_CLEAR,
     HDFS_BY_TLS},
    {"hadoop.security.key.provider.path", "", .allowed = "", .fatal = true, .why = HDFS_IN_CLEAR, HDFS_BY_TLS},
    {"dfs.encryption.key.provider.uri", "", .allowed = "", .fatal = true, .why = HDFS_IN_CLEAR, HDFS_BY_TLS},
    {"dfs.http.policy", "HTTP_ONLY", .allowed = "HTTP_ONLY,HTTP_AND_HTTPS,HTTPS_ONLY", .fatal = true,
     .why = "Hadoop doesn't define this policy"},
    {"dfs.client.https.need-auth", "false", .allowed = "false", .why = NO_OWN_CERTIFICATE, WITHOUT_TLS},
    {"dfs.https.need.client.auth", "false", .allowed = "false", .why = NO_OWN_CERTIFICATE, WITHOUT_TLS},
    {"dfs.http.policy", "HTTP_ONLY", .allowed = "HTTP_ONLY,HTTP_AND_HTTPS",
     .why = "the certificates of HDFS's servers must be valid by the system's store, because nmd can't read the Java "
            "truststore of ssl-client.xml; nmd.webhdfs.ca-file can name a PEM file with other CA certificates",
     .unless = {"nmd.webhdfs.ca-file", NULL}},
    {"yarn.nodemanager.network-tagging-handler.enabled", "false", .allowed = "false", .fatal = true,
     .why = "nmd doesn't tag the network traffic of containers, so a firewall that filters by tags would let it pass"},
    /* If the mode allows less than the node's mode, nmd refuses to start. If the mode allows more, a rule below only
     * warns. */
    {LOG_MODE, .mode = 0710, .fatal = true,
     .why = "the directories of containers' logs have mode 710 on this node, which permits the group to enter them"},
    {"yarn.nodemanager.container-executor.class", EXECUTOR "DefaultContainerExecutor",
     .allowed = EXECUTOR "DefaultContainerExecutor," EXECUTOR "LinuxContainerExecutor", .fatal = true,
     .why = "nmd starts containers itself and can't run an executor written in Java"},
    {"spark.network.crypto.cipher", "AES/CTR/NoPadding", .allowed = "AES/CTR/NoPadding", .fatal = true,
     .why = "nm-spark-shuffle encrypts connections only with AES/CTR/NoPadding", WITH_SERVICES},
    {"spark.ssl.rpc.enabled", "false", .allowed = "false", .fatal = true,
     .why = "nm-spark-shuffle serves shuffle files without TLS", WITH_SERVICES},
    {"spark.shuffle.push.server.mergedShuffleFileManagerImpl", NO_MERGE, .allowed = NO_MERGE,
     .why = "nm-spark-shuffle doesn't merge blocks; executors fetch the original blocks instead", WITH_SERVICES},
    {NM_YARN_PLUGINS, "", .allowed = NM_YARN_GPU, .fatal = true,
     .why = "nmd assigns GPUs to containers, but no other devices; it also counts resources of node-resources.xml"},
    {"yarn.nodemanager.aux-services.manifest.enabled", "false", .allowed = "false", .fatal = true,
     .why = "nmd reads the auxiliary services from yarn.nodemanager.aux-services and not from a manifest"},
    {"yarn.nodemanager.containers-launcher.class", LAUNCHER, .allowed = LAUNCHER, .fatal = true,
     .why = "nmd starts containers itself and can't run a launcher written in Java"},
    {"yarn.nodemanager.pluggable-device-framework.enabled", "false", .allowed = "false", .fatal = true,
     .why = "nmd can't run a device plugin written in Java; it assigns GPUs (yarn.nodemanager.resource-plugins) and "
            "counts resources of node-resources.xml"},
    {"yarn.nodemanager.csi-driver.names", "", .allowed = "", .fatal = true,
     .why = "nmd doesn't support volumes for containers"},
    {"yarn.nodemanager.csi-driver-adaptor.addresses", "", .allowed = "", .fatal = true,
     .why = "nmd doesn't support volumes for containers"},
    {"yarn.nodemanager.runtime.linux.type", "", .allowed = "default", .fatal = true,
     .why = "nmd runs containers as processes without images"},
    {"yarn.nodemanager.runtime.linux.sandbox-mode", "disabled", .allowed = "disabled", .fatal = true,
     .why = "nmd doesn't support the Java sandbox, so containers would have more permissions than intended"},
    {"yarn.nodemanager.runtime.linux.allowed-runtimes", "default", .allowed = "default",
     .why = "containers that request a runtime other than the default fail on this node"},
    {"yarn.nodemanager.log-aggregation.compression-type", "none", .allowed = "none", .fatal = true,
     .why = "nmd uploads the logs of containers without compression; all readers can read them",
     .unless = {"yarn.log-aggregation-enable", "false"}},
    {"yarn.nodemanager.log-aggregation.policy.class", LOG_POLICIES "AllContainerLogAggregationPolicy",
     .allowed = LOG_POLICIES "AllContainerLogAggregationPolicy," LOG_POLICIES "NoneContainerLogAggregationPolicy,"
                LOG_POLICIES "AMOnlyLogAggregationPolicy," LOG_POLICIES "FailedContainerLogAggregationPolicy,"
                LOG_POLICIES "FailedOrKilledContainerLogAggregationPolicy,"
                LOG_POLICIES "AMOrFailedContainerLogAggregationPolicy,"
                LOG_POLICIES "LimitSizeContainerLogAggregationPolicy,"
                LOG_POLICIES "SampleContainerLogAggregationPolicy",
     .fatal = true, .why = "nmd can't run a policy written in Java, and would upload the logs of other containers",
     .unless = {"yarn.log-aggregation-enable", "false"}},
    {"yarn.timeline-service.enabled", "false", .allowed = "false",
     .why = "this node publishes nothing to the timeline service, and runs no collector for applications"},
    {"yarn.nodemanager.amrmproxy.ha.enable", "false", .allowed = "false",
     .why = "the state of the proxy for application masters is kept only on this node"},
    {"yarn.nodemanager.container-state-transition-listener.classes", "", .allowed = "",
     .why = "nmd can't run a listener written in Java, so it would not be informed about this node"},
    {LOG_MODE, .allowed = "710,0710",
     .why = "the directories of containers' logs have mode 710 on this node"},
    {"yarn.nodemanager.log-container-debug-info-on-error.enabled", "false", .allowed = "false",
     .why = "launch scripts are copied to the logs either for all containers or for none"},
    {"yarn.nodemanager.pmem-check-enabled", "true", .allowed = "true", .why = ALWAYS_LIMITED},
    {"yarn.nodemanager.resource.memory.enforced", "true", .allowed = "true", .why = ALWAYS_LIMITED},
    {"yarn.nodemanager.elastic-memory-control.enabled", "false", .allowed = "false", .why = ALWAYS_LIMITED},
    {"yarn.nodemanager.linux-container-executor.cgroups.strict-resource-usage", "false", .allowed = "false",
     .why = "a container can use idle CPU beyond its request"},
    {"yarn.nodemanager.resource.disk.enabled", "false", .allowed = "false",
     .why = "nmd divides disk bandwidth between containers by their execution type"},
    {"yarn.nodemanager.resource.network.enabled", "false", .allowed = "false",
     .why = "the network traffic of containers isn't limited on this node"},
    {"yarn.nodemanager.resource.percentage-physical-cpu-limit", "100", .allowed = "100",
     .why = "containers share all CPUs of this node; [node] system-reserved-vcores in nmd.conf reserves some for the "
            "system"},
    {"yarn.nodemanager.resource.pcores-vcores-multiplier", "1.0", .allowed = "1.0,1",
     .why = "one CPU is one vcore on this node, unless yarn.nodemanager.resource.cpu-vcores sets the number of "
            "vcores"},
    {"yarn.nodemanager.container-executor.os.sched.priority.adjustment", "", .allowed = "0",
     .why = "nmd sets the priorities of containers by their execution type"},
    {"yarn.nodemanager.container-retry-minimum-interval-ms", "1000", .allowed = "1000",
     .why = "the minimum delay before a container is restarted is one second on this node"},
    {"yarn.nodemanager.numa-awareness.enabled", "false", .allowed = "false",
     .why = "the kernel chooses the CPUs and NUMA nodes of containers"},
    {"yarn.nodemanager.container-log-monitor.enable", "false", .allowed = "false",
     .why = "the size of a container's logs isn't limited on this node"},
    {"yarn.nodemanager.log.trigger.delete.by-size.enabled", "false", .allowed = "false",
     .why = "this node keeps logs for yarn.nodemanager.log.retain-seconds, regardless of their size"},
    {"yarn.nodemanager.health-checker.scripts", "script", .allowed = "script",
     .why = "nmd runs only one health script, yarn.nodemanager.health-checker.script.path"},
    {"yarn.nodemanager.health-checker.script.opts", "", .allowed = "",
     .why = "nmd runs the health script without arguments"},
    {"yarn.nodemanager.health-checker.run-before-startup", "false", .allowed = "false",
     .why = "the node registers before the first run of its health script"},
    {"yarn.nodemanager.resourcemanager.minimum.version", "NONE", .allowed = "NONE",
     .why = "this node accepts a ResourceManager of any version"},
    {"yarn.nodemanager.webapp.cross-origin.enabled", "false", .allowed = "false",
     .why = "pages of other hosts can't read this node's pages"},
};

/* Names without effect on this node, without the prefix "yarn.nodemanager.". A name that ends with '.' or '-' stands
 * for all names with that prefix. */
static const char *const idle[] = {
    /* threads, intervals and JVMs of a NodeManager that is written in Java */
    "container-manager.thread-count", "amrmproxy.client.thread-count", "collector-service.", "delete.thread-count",
    "container-executor.exit-code-file.timeout-ms", "process-kill-wait.ms", "log.deletion-threads-count",
    "localizer.client.thread-count", "localizer.cache.cleanup.interval-ms", "container-localizer.", "recovery.dir",
    "recovery.compaction-interval-secs", "container-metrics.", "dispatcher.metric.enable",
    "resourcemanager.connect.max-wait.ms", "duration-to-track-stopped-containers",
    /* resources that nmd always measures and limits with cgroups, in its own slice */
    "resource.count-logical-processors-as-cores", "resource.memory.enabled",
    "resource.memory.cgroups.", "resource.cpu.enabled", "linux-container-executor.group",
    "vmem-check-enabled", "vmem-pmem-ratio", "resource-monitor.interval-ms",
    "resource-calculator.class", "container-monitor.", "linux-container-executor.path",
    "linux-container-executor.resources-handler.class", "linux-container-executor.cgroups.",
    "elastic-memory-control.", "windows-",
    /* details of functions that a rule refuses or warns of; without that function they have no effect */
    "amrmproxy.wait.uam-register.done", "amrmproxy.address.splitmerge.printmaxrrcount", "least-load-policy-selector.",
    "aux-services.manifest", "aux-services.manifest.", "csi-driver.", "csi-driver-adaptor.",
    "numa-awareness.", "resource-plugins.", "pluggable-device-framework.", "runtime.linux.",
    "network-tagging.", "network-tagging", "resource.disk.", "resource.network.",
    "container-log-monitor.", "log.delete.threshold", "emit-container-events", "remote-app-log-dir",
    "remote-app-log-dir-", "remote-app-log-dir.", "log-aggregation.", "logaggregation.", "health-checker.",
    /* Kerberos, and functions that require Kerberos */
    "keytab", "principal", "webapp.spnego-", "webapp.https.address",
    /* protection against forged writes and framing; nmd's pages permit neither */
    "webapp.rest-csrf.", "webapp.xfs-filter.",
    /* details of Java's NodeManager only: layout and checks of directories, and truncation of texts */
    "disk-health-checker.working-dir-content-accessibility-validation.enabled",
    "local-cache.max-files-per-directory", "disk-validator", "container-diagnostics-maximum-size",
    "localizer.address",
    /* properties that Java's NodeManager sets itself and doesn't read from files */
    "good-local-dirs", "good-log-dirs",
};

/* ---- names -------------------------------------------------------------------------------- */

static bool is_without_effect(const char *rest)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(idle); i++) {
        const size_t n = strlen(idle[i]);
        const bool is_front = strchr(".-", idle[i][n - 1]);

        if (strncmp(rest, idle[i], n) == 0 && (is_front || !rest[n]))
            return true;
    }
    return false;
}

/* Returns true for names of families: the operator chooses a part of the name. defaults.c, sources.c, lending.c,
 * aux-services.c and settings.c read these properties. */
static bool is_of_family(const char *name)
{
    static const char *const families[] = {OWN "over-allocation.", OWN "queue.", OWN "preemption.",
                                           OWN "fetch-command.", OWN "lending.user.", OWN "lending.queue.",
                                           OWN "lending.type.", NODE "admin-env.", NODE "aux-services.",
                                           NM_YARN_RESOURCE_PREFIX,
                                           "yarn.resource-types."};

    if (strncmp(name, MANIFEST, strlen(MANIFEST)) == 0)
        return false;
    for (size_t i = 0; i < NM_ARRAY_SIZE(families); i++)
        if (strncmp(name, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

/* Returns true for the class of an auxiliary service, whose name the operator chooses. native-services.c reads it. */
static bool is_class_of_service(const char *name)
{
    static const char prefix[] = NODE "aux-services.", suffix[] = ".class";
    const size_t n = strlen(name);

    return strncmp(name, prefix, strlen(prefix)) == 0 && n > strlen(prefix) + strlen(suffix) &&
           nm_streq(name + n - strlen(suffix), suffix);
}

enum nm_yarn_property_support nm_yarn_rules_support(const char *name)
{
    for (size_t i = 0; i < nm_yarn_n_keys; i++)
        if (nm_streq(nm_yarn_keys[i].name, name))
            return NM_YARN_PROPERTY_SUPPORTED;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rules); i++)
        if (nm_streq(rules[i].name, name))
            return rules[i].fatal ? NM_YARN_PROPERTY_REFUSED : NM_YARN_PROPERTY_WARNED;
    if (is_of_family(name) || nm_streq(name, "yarn.resource-types"))
        return NM_YARN_PROPERTY_SUPPORTED;
    if (is_class_of_service(name))
        return NM_YARN_PROPERTY_REFUSED;
    if (strncmp(name, NODE, strlen(NODE)) == 0)
        return is_without_effect(name + strlen(NODE)) ? NM_YARN_PROPERTY_WITHOUT_EFFECT : NM_YARN_PROPERTY_UNKNOWN;
    return nm_yarn_is_hadoop_name(name) ? NM_YARN_PROPERTY_WITHOUT_EFFECT : NM_YARN_PROPERTY_UNKNOWN;
}

int nm_yarn_rules_set_defaults(struct nm_yarn_conf *c)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < NM_ARRAY_SIZE(rules); i++)
        r = nm_yarn_conf_set_default(c, rules[i].name, rules[i].fallback);
    return r;
}

/* ---- values ------------------------------------------------------------------------------- */

static bool is_listed(const char *word, size_t n, const char *list)
{
    for (const char *p = list; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strcspn(p, ",") == n && strncasecmp(p, word, n) == 0)
            return true;
    return false;
}

static bool is_number_up_to(const char *word, size_t n, uint64_t most)
{
    char digits[24] = "";
    uint64_t number;

    if (n >= sizeof digits)
        return false;
    memcpy(digits, word, n);
    return nm_parse_u64(digits, &number) >= 0 && number >= 1 && number <= most;
}

static bool is_mode_with(const char *word, size_t n, unsigned bits)
{
    unsigned mode = 0;

    if (n == 0 || n > 5)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (word[i] < '0' || word[i] > '7')
            return false;
        mode = mode << 3 | (unsigned)(word[i] - '0');
    }
    return (mode & bits) == bits;
}

/* Returns the first word that breaks the rule, or the whole text if the needed word is missing. NULL: the value
 * complies with the rule. */
static const char *find_violation(const struct rule *rule, const char *text)
{
    static const char separators[] = ", \t\r\n";
    bool found = !rule->needed && !(rule->not_blank && text[strspn(text, separators)] == '\0');

    for (const char *p = text + strspn(text, separators); *p; p += strspn(p, separators)) {
        size_t n = strcspn(p, separators);

        if (rule->allowed && !is_listed(p, n, rule->allowed))
            return p;
        if (rule->mode > 0 && !is_mode_with(p, n, rule->mode))
            return p;
        if (rule->most > 0 && !is_number_up_to(p, n, rule->most))
            return p;
        found |= rule->needed && strlen(rule->needed) == n && strncasecmp(p, rule->needed, n) == 0;
        p += n;
    }
    return found ? NULL : text;
}

/* Returns whether the property has this value. value NULL: any value except "". */
static int has_value(const struct nm_yarn_conf *c, const char *name, const char *value)
{
    _cleanup_free_ char *text = NULL;
    int r = nm_yarn_conf_expand(c, name, &text);

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    return value ? strcasecmp(text, value) == 0 : *text != '\0';
}

/* Returns whether the proxy is enabled. Distributed scheduling and lending need the proxy and imply it. */
static int has_proxy(const struct nm_yarn_conf *c)
{
    int r = has_value(c, NODE "amrmproxy.enabled", "true");

    if (r == 0)
        r = has_value(c, NODE "distributed-scheduling.enabled", "true");
    return r == 0 ? nm_yarn_lending_is_enabled(c) : r;
}

/* Returns 1 if another property has a value that makes the rule unnecessary. */
static int is_lifted(const struct nm_yarn_conf *c, const struct rule *rule)
{
    int r = rule->unless.name ? has_value(c, rule->unless.name, rule->unless.value) : 0;

    if (r != 0 || !rule->of_proxy)
        return r;
    r = has_proxy(c);
    return r < 0 ? r : r == 0;
}

static const char *allowed_of(const struct rule *rule, char *buf, size_t size)
{
    *buf = '\0';
    if (rule->needed || (rule->allowed && *rule->allowed))
        return rule->needed ?: rule->allowed;
    if (rule->mode > 0)
        (void)snprintf(buf, size, "octal modes with all bits of %o", rule->mode);
    else if (rule->most > 0)
        (void)snprintf(buf, size, "1 to %u", rule->most);
    return buf;
}

static int check_rule(const struct nm_yarn_conf *c, const struct rule *rule, nm_yarn_violation_t found_cb,
                      void *userdata, char **ret_message)
{
    _cleanup_free_ char *text = NULL;
    char allowed[60];
    int r = nm_yarn_conf_expand_or_report(c, rule->name, &text, ret_message);

    if (r < 0 || !find_violation(rule, text))
        return r;
    r = is_lifted(c, rule);
    if (r != 0)
        return NM_MIN(r, 0);
    return found_cb(&(struct nm_yarn_violation){.name = rule->name, .value = text,
                                                .file = nm_yarn_conf_find(c, rule->name)->file,
                                                .allowed = allowed_of(rule, allowed, sizeof allowed),
                                                .why = rule->why, .fatal = rule->fatal}, userdata);
}

int nm_yarn_rules_find(const struct nm_yarn_conf *c, nm_yarn_violation_t found_cb, void *userdata,
                       struct nm_refusals *refusals)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < NM_ARRAY_SIZE(rules); i++) {
        char *message = NULL;

        r = check_rule(c, &rules[i], found_cb, userdata, &message);
        if (message)
            r = nm_refusals_add(refusals, r, message);
    }
    return r;
}

/* ---- sentences ---------------------------------------------------------------------------- */

int nm_yarn_rules_report(const struct nm_yarn_violation *v, void *userdata)
{
    const struct nm_yarn_check *check = userdata;
    char shown[SHOWN_SIZE], where[200], hint[1200] = "", *sentence = NULL;

    if (*v->allowed)
        (void)snprintf(hint, sizeof hint, " (allowed: %s)", v->allowed);
    (void)nm_fail(&sentence, -EOPNOTSUPP, "%s: %s = '%s'%s: %s",
                  nm_yarn_conf_printable(v->file ?: "by default", where, sizeof where), v->name,
                  nm_yarn_conf_printable(v->value, shown, sizeof shown), v->fatal ? hint : "", v->why);
    if (!sentence)
        return -ENOMEM;
    if (v->fatal)
        return nm_refusals_add(check->refusals, -EOPNOTSUPP, sentence);
    if (check->warn)
        check->warn(sentence, check->userdata);
    free(sentence);
    return 0;
}

/* Warns of names that have Hadoop's or nmd's prefix, but that neither Hadoop nor nmd defines. Such a name may be
 * misspelt. Names with other prefixes belong to other programs. */
static int warn_of_unknown(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata)
{
    for (size_t i = 0; i < nm_yarn_conf_count(c); i++) {
        const struct nm_yarn_property *p = nm_yarn_conf_at(c, i);
        _cleanup_free_ char *sentence = NULL;
        char shown[SHOWN_SIZE], where[200];

        if (!p->file || (strncmp(p->name, YARN, strlen(YARN)) != 0 && strncmp(p->name, OWN, strlen(OWN)) != 0) ||
            nm_yarn_rules_support(p->name) != NM_YARN_PROPERTY_UNKNOWN)
            continue;
        (void)nm_fail(&sentence, -ENOENT, "%s: %s: unknown property, defined neither by Hadoop 3.3, 3.4 or 3.5 nor by "
                                          "nmd",
                      nm_yarn_conf_printable(p->file, where, sizeof where),
                      nm_yarn_conf_printable(p->name, shown, sizeof shown));
        if (!sentence)
            return -ENOMEM;
        warn(sentence, userdata);
    }
    return 0;
}

int nm_yarn_rules_check(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata,
                        struct nm_refusals *refusals)
{
    struct nm_yarn_check check = {warn, userdata, refusals};
    int r = nm_yarn_rules_find(c, nm_yarn_rules_report, &check, refusals);

    return r == 0 && warn ? warn_of_unknown(c, warn, userdata) : r;
}
