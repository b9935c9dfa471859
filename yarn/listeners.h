/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where the node listens, in the order in which it opens its ports: of two at the same one the second is kept out. */

#include <sys/socket.h>

#include "util/refusals.h"
#include "yarn/conf/settings.h"

#define NM_YARN_ADDRESS "yarn.nodemanager.address"
#define NM_YARN_WEB_ADDRESS "yarn.nodemanager.webapp.address"

/* The address on which the node listens for the cluster, and the one for its pages. "0.0.0.0" where the configuration
 * sets none. */
const char *nm_yarn_bind_host(const struct nm_yarn_settings *s);
const char *nm_yarn_web_bind_host(const struct nm_yarn_settings *s);
/* The port of the address at which nmd serves HTTP already; 0 where http is NULL, as nmd serves it nowhere then. */
uint16_t nm_yarn_http_port(const struct sockaddr_storage *http);

/* Adds a refusal for each port that an earlier listener takes. For the port of the pages, without which the node goes
 * on, it calls tell instead. 0 or -ENOMEM. */
int nm_yarn_listeners_check(const struct nm_yarn_settings *s, const struct sockaddr_storage *http,
                            void (*tell)(int level, const char *sentence), struct nm_refusals *refusals);
/* Warns that the node goes on without its pages. message says why; it may be NULL. */
void nm_yarn_tell_no_web(void (*tell)(int level, const char *sentence), const char *message);
