/* SPDX-License-Identifier: Apache-2.0 */

/* See properties.h. Only tables. */

#include "rpc/yarn/properties.h"

#include "util/macros.h"

#define FIELD(field) .offset = offsetof(struct nm_yarn_settings, field)
#define RANGE(low, high) .min = (low), .max = (high)
#define HOUR_MSEC (3600 * INT64_C(1000))

const struct nm_yarn_key nm_yarn_keys[] = {
    {"yarn.resourcemanager.hostname", NM_YARN_HOST, FIELD(tracker.host), "0.0.0.0",
     .meaning = "The ResourceManager's host, for its addresses that aren't set."},
    {"yarn.resourcemanager.resource-tracker.address", NM_YARN_ADDRESS, FIELD(tracker),
     "${yarn.resourcemanager.hostname}:8031", RANGE(1, 65535),
     .meaning = "Where the ResourceManager hears nodes."},
    {"yarn.resourcemanager.connect.retry-interval.ms", NM_YARN_MSEC, FIELD(retry_usec), "30000", RANGE(10, HOUR_MSEC),
     .meaning = "The longest time between two attempts to reach the ResourceManager; the first ones come sooner, and "
                "they never end."},
    {"ipc.client.connect.timeout", NM_YARN_MSEC, FIELD(connect_usec), "20000", RANGE(10, HOUR_MSEC),
     .meaning = "For so long a connection may take to come about."},
    {"ipc.client.rpc-timeout.ms", NM_YARN_MSEC, FIELD(rpc_timeout_usec), "120000", RANGE(0, 24 * HOUR_MSEC),
     .meaning = "For so long an answer may take before the connection is given up. 0: for as long as it lives."},
    {"yarn.nodemanager.hostname", NM_YARN_HOST, FIELD(node.host), "0.0.0.0",
     .meaning = "The node's name, which everybody in the cluster must be able to resolve. 0.0.0.0: the host's own, as "
                "name services complete it."},
    {"yarn.nodemanager.address", NM_YARN_ADDRESS, FIELD(node), "${yarn.nodemanager.hostname}:0", RANGE(0, 65535),
     .meaning = "Name and port by which the cluster knows the node. Port 0: one that is free."},
    {"yarn.nodemanager.webapp.address", NM_YARN_ADDRESS, FIELD(web), "${yarn.nodemanager.hostname}:8042",
     RANGE(0, 65535),
     .meaning = "The port that the ResourceManager's pages link to; nmd's own is [interface] http-address."},
    {"yarn.nodemanager.resource.memory-mb", NM_YARN_NUMBER, FIELD(memory_mib), "-1", RANGE(-1, INT32_MAX),
     .meaning = "Memory for containers, where nmd.conf doesn't set [node] memory. -1: as the node has."},
    {"yarn.nodemanager.resource.cpu-vcores", NM_YARN_NUMBER, FIELD(vcores), "-1", RANGE(-1, 100000),
     .meaning = "Into how many vcores the CPUs are divided, where nmd.conf doesn't set [node] vcores. -1: one for "
                "each."},
    {"yarn.nodemanager.opportunistic-containers-max-queue-length", NM_YARN_NUMBER, FIELD(queue_max_length), "0",
     RANGE(0, 1000000),
     .meaning = "Opportunistic containers that may wait here, where nmd.conf doesn't set [queue] max-length. 0: the "
                "cluster sends none."},
    {"yarn.nodemanager.recovery.enabled", NM_YARN_BOOL, FIELD(recovery), "false",
     .meaning = "With the next one: nmd comes back after it has left, and so doesn't sign off."},
    {"yarn.nodemanager.recovery.supervised", NM_YARN_BOOL, FIELD(supervised), "false",
     .meaning = "With the former: something starts nmd again when it has left."},
};
const size_t nm_yarn_n_keys = NM_ARRAY_SIZE(nm_yarn_keys);

#define EXECUTOR "org.apache.hadoop.yarn.server.nodemanager."

const struct nm_yarn_rule nm_yarn_rules[] = {
    {"hadoop.security.authentication", "simple", .allowed = "simple", .fatal = true,
     .why = "nmd works in clusters without Kerberos only"},
    {"hadoop.rpc.protection", "authentication", .needed = "authentication", .fatal = true,
     .why = "nmd neither signs nor encrypts what it sends"},
    {"yarn.resourcemanager.ha.enabled", "false", .allowed = "false", .fatal = true,
     .why = "nmd knows one ResourceManager only"},
    {"yarn.nodemanager.container-executor.class", EXECUTOR "DefaultContainerExecutor",
     .allowed = EXECUTOR "DefaultContainerExecutor," EXECUTOR "LinuxContainerExecutor", .fatal = true,
     .why = "nmd starts containers in its own way and can't run an executor written in Java"},
    {"yarn.nodemanager.aux-services", "", .allowed = "mapreduce_shuffle", .fatal = true,
     .why = "an auxiliary service that is written in Java can't run in nmd, and its jobs would fail"},
    {"yarn.nodemanager.aux-services.mapreduce_shuffle.class", "org.apache.hadoop.mapred.ShuffleHandler",
     .allowed = "org.apache.hadoop.mapred.ShuffleHandler", .fatal = true,
     .why = "an auxiliary service that is written in Java can't run in nmd, and its jobs would fail"},
    {"yarn.nodemanager.amrmproxy.enabled", "false", .allowed = "false", .fatal = true,
     .why = "nmd has no proxy for application masters, and theirs would find nobody to talk to"},
    {"yarn.nodemanager.distributed-scheduling.enabled", "false", .allowed = "false", .fatal = true,
     .why = "nmd has no proxy for application masters, and theirs would find nobody to talk to"},
    {"yarn.resource-types", "", .allowed = "memory-mb,vcores", .fatal = true,
     .why = "nmd offers memory and vcores, and no other resource"},
    {"yarn.nodemanager.resource-plugins", "", .allowed = "", .fatal = true,
     .why = "nmd offers memory and vcores, and no other resource"},
    {"yarn.nodemanager.node-labels.provider", "", .allowed = "", .fatal = true,
     .why = "nmd tells the ResourceManager no labels; let it have them centrally"},
    {"yarn.nodemanager.node-attributes.provider", "", .allowed = "", .fatal = true,
     .why = "nmd tells the ResourceManager no attributes; let it have them centrally"},
    {"yarn.nodemanager.runtime.linux.allowed-runtimes", "default", .allowed = "default",
     .why = "containers that ask for another runtime than the default one fail on this node"},
    {"yarn.log-aggregation-enable", "false", .allowed = "false", .why = "the logs of containers stay on this node"},
    {"yarn.timeline-service.enabled", "false", .allowed = "false",
     .why = "this node publishes nothing to the timeline service"},
    {"hadoop.security.authorization", "false", .allowed = "false",
     .why = "this node doesn't read hadoop-policy.xml; tokens alone say who may talk to it"},
};
const size_t nm_yarn_n_rules = NM_ARRAY_SIZE(nm_yarn_rules);
