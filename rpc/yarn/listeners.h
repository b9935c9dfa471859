/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where the node listens, in the order in which it opens its ports: of two at the same one the second is kept out. */

#include <sys/socket.h>

#include "rpc/yarn/conf/settings.h"
#include "util/refusals.h"

#define NM_YARN_ADDRESS "yarn.nodemanager.address"
#define NM_YARN_WEB_ADDRESS "yarn.nodemanager.webapp.address"

/* "0.0.0.0" where none is set. */
const char *nm_yarn_bind_host(const struct nm_yarn_settings *s);
const char *nm_yarn_web_bind_host(const struct nm_yarn_settings *s);
/* 0: there is none. http: NULL, or where nmd serves HTTP already. */
uint16_t nm_yarn_http_port(const struct sockaddr_storage *http);

/* Adds a refusal for each that another keeps out, or tells it where the node goes on without. 0 or -ENOMEM. */
int nm_yarn_listeners_check(const struct nm_yarn_settings *s, const struct sockaddr_storage *http,
                            void (*tell)(int level, const char *sentence), struct nm_refusals *refusals);
/* That the node goes on without its pages, and why; message may be NULL. */
void nm_yarn_tell_no_web(void (*tell)(int level, const char *sentence), const char *message);
