/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Log messages about a refused start, and log messages with the sentences of yarn/. */

#include "util/error.h"

#define NM_DAEMON_NO_START "can't start"
#define NM_DAEMON_NO_SERVER "can't open the local interface"
#define NM_DAEMON_NO_NODE "can't be a node of a YARN cluster"
#define NM_DAEMON_NO_CONFIG "the configuration is refused"

/* If r is negative, logs each line of the message with the prefix `what`, one of the above. Without a message, logs
 * strerror() of r. Returns r. */
int nm_daemon_refuse(const char *what, int r, const char *message);

void nm_daemon_tell_yarn(int level, const char *sentence);
void nm_daemon_warn_of_yarn(const char *sentence, void *userdata);
