/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of settings.c: each reads some properties from the set of conf.h for the settings. The text in *ret_message
 * is for people; the caller frees it.
 */

#include <jansson.h>

#include "agent/status.h"
#include "yarn/conf/conf.h"
#include "yarn/conf/properties.h"

/* ---- a single value: value.c -------------------------------------------------------------- */

/* Converts the text of a property to the value of its field. */

/* -EINVAL: the text is invalid; -ERANGE: the value is too small or too large. On failure, the field is unchanged. */
int nm_yarn_value_parse(const struct nm_yarn_key *key, const char *text, struct nm_yarn_settings *s);
/* Frees the field's value. */
void nm_yarn_value_done(const struct nm_yarn_key *key, struct nm_yarn_settings *s);

/* Describes the allowed values for people. Returns the buffer or a constant string. */
const char *nm_yarn_value_allowed(const struct nm_yarn_key *key, char *buf, size_t size);

/* ---- addresses of ResourceManagers: trackers.c -------------------------------------------- */

/*
 * The addresses of several ResourceManagers, of which one at a time is active. The names of these properties contain
 * the ids of yarn.resourcemanager.ha.rm-ids, so no table can list them:
 *
 *   yarn.resourcemanager.resource-tracker.address.ID, scheduler.address.ID   if set, else
 *   yarn.resourcemanager.hostname.ID                                         with the default port
 */

enum nm_yarn_rm_service {
    NM_YARN_RM_TRACKER,   /* the address for nodes */
    NM_YARN_RM_SCHEDULER, /* the address for application masters */
};

/* Reads the addresses in the order of the ids. The caller frees them with nm_yarn_trackers_free(). -EINVAL:
 * *ret_message has a line for each address that is missing or invalid. */
int nm_yarn_trackers_read(const struct nm_yarn_conf *c, char *const *ids, enum nm_yarn_rm_service service,
                          struct nm_yarn_address **ret, size_t *ret_n, char **ret_message);
void nm_yarn_trackers_free(struct nm_yarn_address *list, size_t n);

/* ---- the proxy of application masters: proxying.c ----------------------------------------- */

/* Checks the settings of the proxy, which depend on each other. Determines whether there is a proxy and which addresses
 * it forwards to. Call this after the table's properties were read. -EINVAL and *ret_message: the settings contradict
 * each other. */
int nm_yarn_proxying_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message);

/* ---- sources of resources: sources.c ------------------------------------------------------ */

/*
 * The sources of containers' resources, for nm-localizer (localize/work.h). The names of these properties contain other
 * names, so no table can list them.
 *
 *   dfs.nameservices, dfs.ha.namenodes.SERVICE   the name nodes of each name service
 *   dfs.namenode.http-address[.SERVICE[.NODE]]   the name nodes' WebHDFS addresses; if dfs.http.policy is HTTPS_ONLY,
 *                                                dfs.namenode.https-address instead. With HTTP_AND_HTTPS, the latter
 *                                                is used for swebhdfs: URIs and is listed as "swebhdfs://..."
 *   dfs.namenode.rpc-address[.SERVICE[.NODE]]    the host of a name node whose WebHDFS address has no host, and
 *                                                the authority of hdfs: URIs
 *   fs.defaultFS                                 like an RPC address; and the name nodes for URIs without an authority,
 *                                                which are listed as "hdfs:", "webhdfs:" or "swebhdfs:"
 *   nmd.webhdfs.ca-file                          the CA certificates that verify the name nodes
 *   nmd.fetch-command.SCHEME                     a command, as words separated by blanks, that fetches URIs of this
 *                                                scheme. localize/worker/fetch-command.c describes {uri},
 *                                                {encoded-uri} and {target}
 */

/* Reads the sources. *ret_name_nodes and *ret_commands may be empty objects. *ret_lacking is an array. It has a string
 * SERVICE.NODE for each name node without an address, an object with the name of each "service" without any address,
 * and an object with name and value of each property whose address is invalid. If the address is only doubtful, the
 * object has a sentence in "why". */
int nm_yarn_sources_read(const struct nm_yarn_conf *c, json_t **ret_name_nodes, json_t **ret_webhdfs,
                         json_t **ret_commands, json_t **ret_lacking);
/* Returns fs.defaultFS in *ret, with the scheme that Hadoop adds if it is missing. The caller frees *ret. NULL: the
 * property is not set. */
int nm_yarn_sources_default(const struct nm_yarn_conf *c, char **ret);

/* ---- addresses of name nodes: authority.c ------------------------------------------------- */

/* Parses the address of a name node, as the properties of HDFS and URIs contain it. The code is pure. */

#define NM_AUTHORITY_SIZE 300

/* An address: HOST:PORT, HOST, [IPv6]:PORT, [IPv6] or IPv6. The last form is put into brackets. */
struct nm_authority {
    char host[NM_AUTHORITY_SIZE];   /* the host as in nm-localizer's URIs: IPv6 by nm_host_print_ipv6() */
    char target[NM_AUTHORITY_SIZE]; /* the host for nmd's own URLs, with the zone of an IPv6 address */
    unsigned port;                  /* 0: the text has no port */
    bool is_bare;                   /* IPv6 without brackets, whose last part may be meant as a port */
};

/* Returns true for an address that names no particular host: all addresses of a host, or an empty host. */
bool nm_authority_is_wildcard(const struct nm_authority *a);

/* Parses a property's value. As in Hadoop, a scheme before the address and a path after it are ignored. Returns false
 * if the value is not an address. */
bool nm_authority_read(const char *text, struct nm_authority *ret);

/* Parses the authority of SCHEME://[USER@]AUTHORITY[/...]. Returns false if the URI has another scheme. */
bool nm_authority_read_uri(const char *uri, const char *scheme, struct nm_authority *ret);

/* ---- defaults of nmd's own keys: defaults.c ----------------------------------------------- */

/*
 * Values that a cluster's files set for nmd's own keys (nmd.conf(5)), used for the keys that nmd's own files don't set.
 * Some properties of Hadoop have the same meaning as a key of nmd. In addition, each key that controls the node's
 * decisions can be set in the cluster's files by its own name:
 *
 *   nmd.over-allocation.KEY   nmd.queue.KEY   nmd.preemption.KEY
 *
 * Such a name has precedence over Hadoop's property of the same meaning.
 */

/* Fills s->defaults from s and c, in the form that nm_config_load() takes: the list ends with an entry without a
 * section. nm_config_load() checks keys and values. This function only ensures that both are printable text. */
int nm_yarn_defaults_make(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message);
void nm_yarn_defaults_free(struct nm_config_default *list);
