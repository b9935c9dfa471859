/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The node's port, on which it listens. */

#include "rpc/yarn/conf/settings.h"

/* The caller closes *ret_fd. *ret_message: why not, or NULL. */
int nm_yarn_port_open(const struct nm_yarn_settings *settings, int *ret_fd, int32_t *ret_port, char **ret_message);
