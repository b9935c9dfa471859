/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the ResourceManager wants done here, with its answer to a heartbeat. */

#include "yarn/cm-protocol/manage.h"
#include "yarn/node/node.h"

/* The answer may have been heard before: twice is no error, and neither is what names nothing that is here. */
void nm_yarn_apply_response(struct nm_yarn_node *n, struct nm_yarn_manage *m, const Yarn__HeartbeatResponse *answer);
