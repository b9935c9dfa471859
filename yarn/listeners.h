/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The ports on which the node listens, in the order in which the node opens them. If two listeners have the same port
 * number, the second listener can't be opened. */

#include <sys/socket.h>

#include "util/error.h"
#include "yarn/conf/settings.h"

#define NM_YARN_ADDRESS "yarn.nodemanager.address"
#define NM_YARN_WEB_ADDRESS "yarn.nodemanager.webapp.address"

/* Return the bind addresses for the cluster's requests and for the web pages. If the configuration sets no bind
 * address, the result is "0.0.0.0". */
const char *nm_yarn_bind_host(const struct nm_yarn_settings *s);
const char *nm_yarn_web_bind_host(const struct nm_yarn_settings *s);
/* Returns the port of nmd's own HTTP server. 0: http is NULL, because nmd has no HTTP server. */
uint16_t nm_yarn_http_port(const struct sockaddr_storage *http);

/* Adds a refusal for each listener whose port an earlier listener uses. For the port of the web pages, calls report_cb
 * instead, because the node can run without web pages. Returns 0 or -ENOMEM. */
int nm_yarn_listeners_check(const struct nm_yarn_settings *s, const struct sockaddr_storage *http,
                            void (*report_cb)(int level, const char *sentence), struct nm_refusals *refusals);
/* Warns that the node runs without its web pages. message: the reason, or NULL. */
void nm_yarn_report_no_web(void (*report_cb)(int level, const char *sentence), const char *message);
