/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How nmd is started and stopped on the host: the setup's output names the commands for this. */

#include "yarn/setup/facts.h"

struct nm_setup_service {
    bool by_systemd;
    pid_t pid; /* pid of the nmd that uses the state directory; 0: no nmd uses it; negative errno: unknown */
};

/* Examines the host that the request's root directory belongs to. Uncertainty is a value of the result. */
struct nm_setup_service nm_setup_service_look(const struct nm_setup_wish *w);
