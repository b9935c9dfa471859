/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From where containers' resources come, for nm-localizer (localize/work.h): properties whose names have a name in
 * them, so that no table has them.
 *
 *   dfs.nameservices, dfs.ha.namenodes.SERVICE   the name nodes of each name service
 *   dfs.namenode.http-address[.SERVICE[.NODE]]   where they answer WebHDFS; with dfs.http.policy = HTTPS_ONLY
 *                                                dfs.namenode.https-address, which with HTTP_AND_HTTPS is for
 *                                                swebhdfs: URIs and listed as "swebhdfs://..."
 *   dfs.namenode.rpc-address[.SERVICE[.NODE]]    where a name node is whose former address doesn't say it; and what
 *                                                hdfs: URIs have as their authority
 *   fs.defaultFS                                 likewise; and the name nodes of URIs without an authority, which are
 *                                                listed as "hdfs:", "webhdfs:" or "swebhdfs:"
 *   nmd.webhdfs.ca-file                          who vouches for them
 *   nmd.fetch-command.SCHEME                     the words of a command, with blanks between them, that fetches what
 *                                                has such a URI: {uri}, {encoded-uri} and {target} stand
 *                                                for what localize/worker/fetch-command.c says
 */

#include <jansson.h>

#include "yarn/conf/conf.h"

/* The first and the third may come back as empty objects. *ret_lacking: an array of the SERVICE.NODEs that have no
 * address, of objects with the name of each "service" that has none at all, and of objects with the name and value of
 * each property whose address is none, or, with a sentence on "why", one to doubt. */
int nm_yarn_sources_read(const struct nm_yarn_conf *c, json_t **ret_name_nodes, json_t **ret_webhdfs,
                         json_t **ret_commands, json_t **ret_lacking);
/* *ret: fs.defaultFS, with the scheme that Hadoop adds where it is left out, for the caller to free; NULL: it isn't
 * set. */
int nm_yarn_sources_default(const struct nm_yarn_conf *c, char **ret);
