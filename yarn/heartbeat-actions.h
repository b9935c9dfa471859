/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Carries out the requests in the ResourceManager's answer to a heartbeat. */

#include "yarn/cm-protocol/cm-server.h"
#include "yarn/node/node.h"

/* An answer may arrive twice. Requests that were carried out already, or that name unknown objects, are ignored. */
void nm_yarn_apply_response(struct nm_yarn_node *n, struct nm_yarn_cm_server *m, const Yarn__HeartbeatResponse *answer);
