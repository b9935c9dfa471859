/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A port on which the node listens. */

#include <stdbool.h>
#include <stdint.h>

/* host and port: as the properties of these names say. The caller closes *ret_fd. *ret_port: of 0, which one was free.
 * *ret_message: why not, or NULL. */
int nm_yarn_port_open(const char *host, uint16_t port, const char *host_property, const char *port_property,
                      int *ret_fd, int32_t *ret_port, char **ret_message);
/* Would that be possible? may_be_ours: a port that is taken may be so by an nmd that runs. */
int nm_yarn_port_check(const char *host, uint16_t port, const char *host_property, const char *port_property,
                       bool may_be_ours, char **ret_message);
/* Tells whether a server at the first address keeps another from the second; port 0 never does. -EADDRINUSE and
 * *ret_message, in the words of nm_yarn_port_open(). */
int nm_yarn_port_compare(const char *host, uint16_t port, const char *other_host, uint16_t other_port,
                         const char *other_property, char **ret_message);
