/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of settings.c. Each part reads some properties from the set of conf.h into the settings. *ret_message is a
 * text for the operator, which the caller frees.
 */

#include <jansson.h>

#include "agent/status.h"
#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"
#include "yarn/conf/rules.h"

/* ---- a single value: value.c -------------------------------------------------------------- */

/* Converts the text of a property to the value of its field. */

/* -EINVAL: the text is invalid; -ERANGE: the value is too small or too large. On failure, the field is unchanged. */
int nm_yarn_value_parse(const struct nm_yarn_key *key, const char *text, struct nm_yarn_settings *s);
/* Frees the field's value. */
void nm_yarn_value_done(const struct nm_yarn_key *key, struct nm_yarn_settings *s);

/* Describes the allowed values for a message. Returns the buffer or a constant string. */
const char *nm_yarn_value_allowed(const struct nm_yarn_key *key, char *buf, size_t size);

/* ---- addresses of ResourceManagers: trackers.c -------------------------------------------- */

/*
 * The addresses of several ResourceManagers. Only one of the ResourceManagers is active at a time. The names of these
 * properties contain the ids of yarn.resourcemanager.ha.rm-ids, so the table of properties can't contain them:
 *
 *   yarn.resourcemanager.resource-tracker.address.ID, scheduler.address.ID, address.ID   if set; otherwise
 *   yarn.resourcemanager.hostname.ID                                                     with the default port
 */

enum nm_yarn_rm_service {
    NM_YARN_RM_TRACKER,   /* the address for nodes */
    NM_YARN_RM_SCHEDULER, /* the address for application masters */
    NM_YARN_RM_CLIENT,    /* the address for clients; an id without this address is left out */
};

/* Reads the addresses in the order of the ids. The caller frees them with nm_yarn_trackers_free(). -EINVAL:
 * *ret_message has one line for each address that is missing or invalid. */
int nm_yarn_trackers_read(const struct nm_yarn_conf *c, char *const *ids, enum nm_yarn_rm_service service,
                          struct nm_yarn_address **ret, size_t *ret_n, char **ret_message);
void nm_yarn_trackers_free(struct nm_yarn_address *list, size_t n);

/* ---- the proxy of application masters: proxying.c ----------------------------------------- */

/* Checks the settings of the proxy, which depend on each other. Determines whether the proxy is enabled and to which
 * addresses it forwards. Must be called after the table's properties were read. -EINVAL and *ret_message: the settings
 * contradict each other. */
int nm_yarn_proxying_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message);

/* ---- sources of resources: sources.c ------------------------------------------------------ */

/*
 * The sources of containers' resources, for nm-localizer (localize/worker/work.h). The names of these properties
 * contain other names, so the table of properties can't contain them.
 *
 *   dfs.nameservices, dfs.ha.namenodes.SERVICE   the name nodes of each name service
 *   dfs.namenode.http-address[.SERVICE[.NODE]]   the name nodes' WebHDFS addresses; if dfs.http.policy is HTTPS_ONLY,
 *                                                dfs.namenode.https-address instead. With HTTP_AND_HTTPS, the
 *                                                https-address is used for swebhdfs: URIs, and is listed as
 *                                                "swebhdfs://..."
 *   dfs.namenode.rpc-address[.SERVICE[.NODE]]    the host of a name node whose WebHDFS address has no host, and
 *                                                the authority of hdfs: URIs
 *   fs.defaultFS                                 like an RPC address; and the name nodes for URIs without an authority,
 *                                                which are listed as "hdfs:", "webhdfs:" or "swebhdfs:"
 *   nmd.webhdfs.ca-file                          the CA certificates that verify the name nodes
 *   nmd.fetch-command.SCHEME                     a command, as words separated by blanks, that fetches URIs of this
 *                                                scheme. localize/worker/fetch-command.c describes {uri},
 *                                                {encoded-uri} and {target}
 */

/* Reads the sources. *ret_name_nodes and *ret_commands may be empty objects. *ret_lacking is an array. It contains:
 * - a string SERVICE.NODE for each name node without an address
 * - an object with the member "service" for each service without any address
 * - an object with "name" and "value" for each property whose address is invalid; if the address is only doubtful, the
 *   object also has "why", a sentence */
int nm_yarn_sources_read(const struct nm_yarn_conf *c, json_t **ret_name_nodes, json_t **ret_webhdfs,
                         json_t **ret_commands, json_t **ret_lacking);
/* Returns fs.defaultFS in *ret. If it has no scheme, the scheme is added as in Hadoop. The caller frees *ret. NULL: the
 * property is not set. */
int nm_yarn_sources_default(const struct nm_yarn_conf *c, char **ret);

/* ---- further resources: resource-types.c -------------------------------------------------- */

/*
 * The countable resources beside memory and vcores. The names of these properties contain the names of the resources,
 * so the table of properties can't contain them.
 *
 *   yarn.resource-types                        the names of the cluster's types (resource-types.xml)
 *   yarn.resource-types.NAME.units             the units in which the cluster counts
 *   yarn.resource-types.NAME.type              only COUNTABLE
 *   yarn.nodemanager.resource-type.NAME        the node's amount, a number with units (node-resources.xml)
 */

/* Reads the types and amounts, and converts the amounts to the units of the types. Adds a refusal for each invalid
 * property. */
int nm_yarn_resource_types_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, struct nm_refusals *refusals);
void nm_yarn_resource_types_done(struct nm_yarn_settings *s);
/* Converts an amount between units, and rounds down, as Hadoop's UnitsConversionUtil does. -EINVAL: unknown units;
 * -ERANGE: the result is too large. */
int nm_yarn_resource_types_convert(int64_t amount, const char *from, const char *to, int64_t *ret);

/* ---- GPUs: gpus.c ------------------------------------------------------------------------- */

/*
 *   yarn.nodemanager.resource-plugins                         enables GPUs if it contains yarn.io/gpu
 *   yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices auto, or INDEX:MINOR,...
 */

bool nm_yarn_gpus_are_wanted(const struct nm_yarn_settings *s);
/* Fills in the derived fields of s->gpus. Must be called after the table's properties, the types of resources and
 * container-executor.cfg were read. Adds a refusal for each invalid property. */
int nm_yarn_gpus_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, nm_yarn_warn_t warn, void *userdata,
                      struct nm_refusals *refusals);

/* ---- auxiliary services: aux-services.c --------------------------------------------------- */

/*
 *   yarn.nodemanager.aux-services             the names of the services
 *   yarn.nodemanager.aux-services.NAME.class  the class of a service; native-services.h has those that need no Java
 *   nmd.aux-host.services                     names of services that run in Java although nmd has a program for them
 */

/* Determines which services run in the process of Java (s->aux.names): those for which nmd has no program, and those of
 * nmd.aux-host.services. Must be called after nm_yarn_native_services_read(), whose result it may change. */
int nm_yarn_aux_services_read(struct nm_yarn_settings *s);
void nm_yarn_aux_services_done(struct nm_yarn_settings *s);

/* ---- addresses of name nodes: authority.c ------------------------------------------------- */

/* Parses the address of a name node. Properties of HDFS and URIs contain such addresses. The code is pure. */

#define NM_AUTHORITY_SIZE 300

/* An address in one of the forms HOST:PORT, HOST, [IPv6]:PORT, [IPv6] or IPv6. IPv6 without brackets is put into
 * brackets. */
struct nm_authority {
    char host[NM_AUTHORITY_SIZE];   /* the host as in nm-localizer's URIs: IPv6 as written by nm_host_print_ipv6() */
    char target[NM_AUTHORITY_SIZE]; /* the host as in nmd's own URLs: IPv6 with its zone */
    unsigned port;                  /* 0: the text has no port */
    bool is_bare;                   /* IPv6 without brackets; its last part may have been intended as a port */
};

/* Returns true for an address that doesn't identify a host: all addresses of a host, or an empty host. */
bool nm_authority_is_wildcard(const struct nm_authority *a);

/* Parses a property's value. As in Hadoop, a scheme before the address and a path after it are ignored. Returns false
 * if the value is not an address. */
bool nm_authority_read(const char *text, struct nm_authority *ret);

/* Parses the authority of SCHEME://[USER@]AUTHORITY[/...]. Returns false if the URI has another scheme. */
bool nm_authority_read_uri(const char *uri, const char *scheme, struct nm_authority *ret);

/* ---- the aggregation of logs: log-aggregation.c ------------------------------------------- */

/*
 * The format and the remote directory of uploaded logs. The names of these properties contain the name of a format, so
 * the table of properties can't contain them:
 *
 *   yarn.log-aggregation.file-controller.NAME.class     the class of a format; by default TFile is known
 *   yarn.log-aggregation.NAME.remote-app-log-dir        instead of yarn.nodemanager.remote-app-log-dir
 *   yarn.log-aggregation.NAME.remote-app-log-dir-suffix instead of yarn.nodemanager.remote-app-log-dir-suffix
 */

/* Fills in the derived fields of s->logs if logs are aggregated. Must be called after the table's properties and
 * s->default_fs were read. Adds a refusal for each reason why nmd can't upload logs in this way. Returns 0 or
 * -ENOMEM. */
int nm_yarn_log_aggregation_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s,
                                 struct nm_refusals *refusals);
void nm_yarn_log_aggregation_done(struct nm_yarn_log_settings *logs);

/* ---- defaults of nmd's own keys: defaults.c ----------------------------------------------- */

/*
 * The cluster's files can set values for nmd's own keys (nmd.conf(5)). Such a value is used for a key that nmd's own
 * files don't set. Some properties of Hadoop have the same meaning as a key of nmd. In addition, each key that controls
 * the node's decisions can be set in the cluster's files by its own name:
 *
 *   nmd.over-allocation.KEY   nmd.queue.KEY   nmd.preemption.KEY
 *
 * If both a property of Hadoop and nmd's own name are set, nmd's own name takes precedence.
 */

/* Fills s->defaults from s and c, in the form that nm_config_load() takes: an entry without a section ends the list.
 * nm_config_load() checks keys and values. This function ensures only that keys and values are printable text. */
int nm_yarn_defaults_make(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message);
void nm_yarn_defaults_free(struct nm_config_default *list);
