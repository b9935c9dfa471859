/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Opens a port on which the node listens. */

#include <stdbool.h>
#include <stdint.h>

/* host and port are the values of the named properties. The caller closes *ret_fd. *ret_port: the port that was opened;
 * if `port` is 0, the kernel has chosen it. *ret_message: the reason for a failure, or NULL. */
int nm_yarn_port_open(const char *host, uint16_t port, const char *host_property, const char *port_property,
                      int *ret_fd, int32_t *ret_port, char **ret_message);
/* Checks whether the port can be opened. may_be_ours: if the port is in use, the check succeeds, because a running nmd
 * may use this port. */
int nm_yarn_port_check(const char *host, uint16_t port, const char *host_property, const char *port_property,
                       bool may_be_ours, char **ret_message);
/* Checks whether a server at the first address prevents a server at the second address. Port 0 never conflicts with
 * another port. -EADDRINUSE: the addresses conflict, and *ret_message has the same text as that of
 * nm_yarn_port_open(). */
int nm_yarn_port_compare(const char *host, uint16_t port, const char *other_host, uint16_t other_port,
                         const char *other_property, char **ret_message);
