/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/manager/manager-state.h"

/* When nmd ends: what has begun goes on without it. */
void nm_session_forget_all(struct nm_manager *m);
