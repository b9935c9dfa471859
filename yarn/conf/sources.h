/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

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

#include <jansson.h>

#include "yarn/conf/conf.h"

/* Reads the sources. *ret_name_nodes and *ret_commands may be empty objects. *ret_lacking is an array. It has a string
 * SERVICE.NODE for each name node without an address, an object with the name of each "service" without any address,
 * and an object with name and value of each property whose address is invalid. If the address is only doubtful, the
 * object has a sentence in "why". */
int nm_yarn_sources_read(const struct nm_yarn_conf *c, json_t **ret_name_nodes, json_t **ret_webhdfs,
                         json_t **ret_commands, json_t **ret_lacking);
/* Returns fs.defaultFS in *ret, with the scheme that Hadoop adds if it is missing. The caller frees *ret. NULL: the
 * property is not set. */
int nm_yarn_sources_default(const struct nm_yarn_conf *c, char **ret);
